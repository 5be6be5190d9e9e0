"""The root command, and the outermost error handler: exceptions become messages and exit codes."""

import errno
import io
import logging
import os
import sys
from collections.abc import Sequence
from typing import Final

import click

from explorer import config
from explorer.cli.sections import find_command, sections
from explorer.errors import CatalogError, MissingExtra, StorageFault, Unreachable, Unusable
from explorer.version import __version__


class Commands(click.Group):
    """A group that imports a command's module only when the command is run or its help shown."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Return the arguments for the command. Raises `click.NoSuchOption` for an option of a
        command that comes before its name."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            message = f"No option {error.option_name} here: options stand after the command."
            raise click.NoSuchOption(error.option_name, message, ctx=ctx) from None

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands, sorted."""
        return sorted(
            {*super().list_commands(ctx), *(name for part in sections() for name in part.commands)}
        )

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command with this name, importing its module if needed."""
        return super().get_command(ctx, cmd_name) or find_command(cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands under the headings of their sections."""
        del ctx
        widest = max(len(name) for section in sections() for name in section.commands)
        for section in sections():
            with formatter.section(section.heading):
                formatter.write_dl(
                    [
                        (name.ljust(widest), command.get_short_help_str(100))
                        for name, command in section.commands.items()
                    ]
                )


_REFUSED: Final = 1
_UNAVAILABLE: Final = 3
_INTERNAL_ERROR: Final = 4
_INTERRUPTED: Final = 130
_PIPE_CLOSED: Final = 141

# Set by the scripts that `catalog completion` prints.
_COMPLETION: Final = "_CATALOG_COMPLETE"

_logger = logging.getLogger("explorer.cli")

_EPILOG = """
\b
Environment
  CATALOG_URL        URL of the server; by default the local catalog is used
  CATALOG_PROFILE    name of the profile to use; see catalog profile
  CATALOG_TOKEN      access token for the server
  CATALOG_DATA_DIR   directory of the local catalog
  CATALOG_USER       author of edits to the local catalog, unless one is set
                     with catalog profile
  CATALOG_TIMEOUT_SECONDS
                     how long to wait for an answer, 30 seconds by default
  NO_COLOR           if set, output has no colours

\b
Exit codes
  0  success
  1  refused or not found, or an optional dependency is not installed
  2  usage error
  3  the server cannot be reached, or a directory or port cannot be used
  4  internal error; the message names the file that has the traceback

Results go to standard output, everything else to standard error.
"""


@click.command(
    cls=Commands,
    epilog=_EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="catalog")
def catalog() -> None:
    """Search, read, document and load a metadata catalog.

    By default every command uses the local catalog. It starts when a command needs it and stops
    when it has been idle for some minutes. A new one contains a sample to try:

    \b
      catalog search orders
      catalog get 'urn:li:tag:PII'
      catalog sample remove
    """


def run(arguments: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit code.

    By default the arguments are those of the process. Errors are printed to standard error.
    """
    _prepare_streams()
    if shell := os.environ.get(_COMPLETION):
        from explorer.cli.shell_completion import answer

        answer(catalog, shell)
        return 0
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
        return _report(error)
    except Exception:
        where = _open_log()
        _logger.exception("catalog %s", __version__)
        click.echo(f"error: unexpected error; this is a bug; {where}", err=True)
        return _INTERNAL_ERROR


def _invoke(arguments: list[str]) -> int:
    # Not `catalog.main`, which would exit with 1 when the reader of the output closes the pipe.
    code = 0
    try:
        try:
            with catalog.make_context("catalog", arguments) as context:
                catalog.invoke(context)
        except click.exceptions.Exit as exiting:
            code = exiting.exit_code
        sys.stdout.flush()
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        _forget_stdout()
        raise StorageFault("cannot write the output: no space left on the device") from error
    return code


def _prepare_streams() -> None:
    """Prepare standard output and standard error.

    A stream that is closed is replaced by the null device. Characters that the encoding of a
    stream lacks are written as escapes.
    """
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            null_device = io.BufferedWriter(io.FileIO(os.devnull, "w"))
            setattr(sys, name, io.TextIOWrapper(null_device, "utf-8"))
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _report(error: CatalogError) -> int:
    from explorer.client.display import line
    from explorer.query.tokens import FilterSyntax

    click.echo(f"error: {line(str(error))}", err=True)
    if isinstance(error, FilterSyntax):
        click.echo(error.pointer(), err=True)
    if isinstance(error, Unreachable | Unusable) and not isinstance(error, MissingExtra):
        return _UNAVAILABLE
    return _REFUSED


def _forget_stdout() -> None:
    """Redirect file descriptor 1 to the null device, so that the final flush does not fail."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _open_log() -> str:
    """Direct the log to its file, and return a phrase that says where the traceback is."""
    path = config.state_dir() / "catalog.log"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handler = logging.FileHandler(path, encoding="utf-8")
    except OSError:
        return f"the traceback is above, because {path} cannot be written"
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    _logger.handlers = [handler]
    _logger.propagate = False
    return f"the traceback is in {path}"
