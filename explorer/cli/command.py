"""The root of the command, and its outermost edge: where errors become sentences and exit codes."""

import errno
import io
import logging
import os
import sys
from collections.abc import Sequence
from typing import Final

import click

from explorer import __version__, config
from explorer.cli.commands import Commands
from explorer.errors import CatalogError, MissingExtra, Unreachable, Unusable

__all__ = ["catalog", "run"]

_REFUSED: Final = 1
_NOT_THERE: Final = 3
_BROKEN: Final = 4
_INTERRUPTED: Final = 130
_PIPE_CLOSED: Final = 141

_logger = logging.getLogger("explorer.cli")

_EPILOG = """
\b
Environment
  CATALOG_URL        the server to ask; without it, this machine's own catalog
  CATALOG_PROFILE    or that server by the name of its profile; see catalog profile
  CATALOG_TOKEN      the access token shown to that server
  CATALOG_DATA_DIR   where this machine's own catalog is kept
  CATALOG_USER       whom edits of it are by where catalog profile names nobody
  NO_COLOR           set to anything: no colours

\b
Exit codes
  0  done
  1  refused, not found, or an extra is not installed: the message says which and why
  2  wrong use of the command
  3  the server cannot be reached, or a directory or port cannot be used
  4  a fault in the program; the message names the file with the trace

Results are written to standard output, everything else to standard error.
"""


@click.command(
    cls=Commands,
    epilog=_EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="catalog")
def catalog() -> None:
    """Find, read, document and load what a metadata catalog holds.

    Without a server's address the commands use a catalog of this machine's own. It starts when it
    is needed, leaves when nobody asks any more, and on its first start holds a sample:

    \b
      catalog search orders
      catalog get 'urn:li:tag:PII'
      catalog sample remove
    """


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command line given, or the process's own, and give the exit code.

    What went wrong stands on standard error when this returns.
    """
    _prepare_streams()
    try:
        return _invoke(sys.argv[1:] if arguments is None else list(arguments))
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return _INTERRUPTED
    except BrokenPipeError:
        _forget_stdout()
        return _PIPE_CLOSED
    except CatalogError as error:
        return _tell(error)
    except Exception:
        kept = _open_log()
        _logger.exception("catalog %s", __version__)
        click.echo(f"error: the program failed in a way that was not foreseen; {kept}", err=True)
        return _BROKEN


def _invoke(arguments: list[str]) -> int:
    # Not `catalog.main`, which would end the process as failed when whoever reads has left.
    code = 0
    try:
        try:
            with catalog.make_context("catalog", arguments) as context:
                catalog.invoke(context)
        except click.exceptions.Exit as leaving:
            code = leaving.exit_code
        sys.stdout.flush()
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        _forget_stdout()
        raise Unusable("the output cannot be written: no space is left for it") from error
    return code


def _prepare_streams() -> None:
    """Let output be written wherever it goes: to nobody, or in an encoding that lacks letters."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            nowhere = io.BufferedWriter(io.FileIO(os.devnull, "w"))
            setattr(sys, name, io.TextIOWrapper(nowhere, "utf-8"))
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _tell(error: CatalogError) -> int:
    from explorer.client.display import line
    from explorer.query.tokens import FilterSyntax

    click.echo(f"error: {line(str(error))}", err=True)
    if isinstance(error, FilterSyntax):
        click.echo(error.pointer(), err=True)
    if isinstance(error, Unreachable | Unusable) and not isinstance(error, MissingExtra):
        return _NOT_THERE
    return _REFUSED


def _forget_stdout() -> None:
    """What is left of the output goes nowhere, so that nothing complains at the process's end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _open_log() -> str:
    """Make the log write to its file; gives the words that say where the trace is."""
    path = config.state_dir() / "catalog.log"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handler = logging.FileHandler(path, encoding="utf-8")
    except OSError:
        return f"the trace is above, because {path} cannot be written"
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    _logger.handlers = [handler]
    _logger.propagate = False
    return f"the trace is in {path}"
