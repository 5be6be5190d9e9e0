"""The root of the command, and its outermost edge: where errors become sentences and exit codes."""

import errno
import io
import logging
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Final

import click

from explorer import __version__, config
from explorer.errors import CatalogError, MissingExtra, StorageFault, Unreachable, Unusable

__all__ = ["SECTIONS", "catalog", "run"]

SECTIONS: Final[dict[str, dict[str, str]]] = {
    "Find and read": {
        "search": "Find what matches TEXT, best first.",
        "get": "Show one entity: owners, what is wrong, description, columns, links.",
        "browse": "Walk the folders: those at PATH, and what lies in it.",
        "schema": "Show the columns of a dataset as a tree.",
        "usage": "Show how much something is used, day by day, and by whom.",
        "profile-stats": "Show what profiling measured of a dataset and its columns.",
        "history": "List what was changed of an entity, when and by whom.",
        "blame": "Show who gave each column its description, and when.",
        "diff": "Show what differs between two versions of an aspect.",
    },
    "See what hangs together": {
        "lineage": "Show what an entity is made from, and what is made from it.",
        "impact": "Show what breaks downstream when an entity or a column goes.",
        "path": "Show every shortest way from SOURCE to TARGET.",
        "relationships": "Show what an entity points at, and what points at it.",
    },
    "Bring in your own data": {
        "add": "Put a database, files, a dbt project or a log of queries into the catalog.",
        "sources": "List the sources that were added, run them again, or remove them.",
    },
    "Write": {
        "describe": "Write a description of a dataset, column or container.",
        "new": "Make a tag, a glossary term or group, a domain or a data product.",
        "rename": "Give a tag, term, group, domain or data product another name.",
        "move": "Put terms and groups under another group, domains under another.",
        "tag": "Show, put on and take off tags of entities and columns.",
        "term": "Show, put on and take off glossary terms, also of columns.",
        "own": "Show who owns entities, give and take ownership.",
        "domain": "Show the domain of entities, or put them into one.",
        "link": "Show, add and remove links to documents about an entity.",
        "deprecate": "Say that entities should no longer be used, and why.",
        "delete": "Take entities away: to be restored, or for good.",
        "restore": "Bring back entities that were deleted with --soft, or go back to a backup.",
        "undo": "Take back what the last save did, or the edit with this ID.",
        "redo": "Do again what the last undo took back.",
        "load": "Load metadata FILEs; - is standard input.",
        "export": "Write everything the catalog holds to FILE, or to standard output.",
    },
    "Care for documentation": {
        "coverage": "Show how much is documented: tables and columns apart.",
        "worklist": "Show what is worth documenting next, the most used first.",
        "changes": "Show what others and ingestion changed since the last visit.",
        "docs": "Take descriptions out as files, and bring them in again.",
        "glossary": "Take the glossary out as a file, and bring it in again.",
    },
    "Choose a server": {
        "login": "Sign in to a server, and keep that in the keyring.",
        "profile": "Keep servers by name, and where their access tokens are.",
    },
    "Serve and keep": {
        "serve": "Serve a catalog to this machine or to a team.",
        "token": "Make, list and revoke the access tokens of a served catalog.",
        "audit": "Show who changed what in a served catalog, and who was refused.",
        "backup": "Copy the catalog, as it is at one moment, to the new directory DEST.",
        "check": "Prove that a catalog on this machine's disk agrees with itself.",
        "reindex": "Make the search index anew from what is stored.",
        "migrate": "Copy a catalog between a data directory and a PostgreSQL database.",
        "compact": "Give back the disk that what was removed from a catalog took.",
        "sample": "A made-up company's catalog, to try things on.",
    },
    "In the shell": {
        "completion": "Print the script that makes a shell complete what is typed.",
    },
}
"""Under each heading, in the order shown: a command and its sentence."""

# The modules of the click commands.
_FAMILIES: Final = {
    "commands.search": ("search", "browse"),
    "commands.entity": ("get", "schema", "usage", "profile-stats", "history", "blame", "diff"),
    "commands.lineage": ("lineage", "impact", "path", "relationships"),
    "commands.documentation": ("describe", "link", "coverage", "worklist", "changes", "docs"),
    "commands.labels": ("tag", "term", "own", "domain", "deprecate"),
    "commands.governance": ("new", "rename", "move", "glossary"),
    "commands.undo": ("delete", "restore", "undo", "redo"),
    "commands.maintenance": (
        "load",
        "export",
        "backup",
        "check",
        "reindex",
        "compact",
        "migrate",
        "sample",
    ),
    "commands.profile": ("login", "profile"),
    "commands.sources": ("add", "sources"),
    "commands.server": ("audit", "serve", "token"),
    "shell_completion": ("completion",),
}
_HOMES: Final = {
    name: f"explorer.cli.{module}" for module, names in _FAMILIES.items() for name in names
}


class Commands(click.Group):
    """A group that imports a command's module only when that command is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return every command, by name."""
        return sorted({*super().list_commands(ctx), *_HOMES})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of that name, imported now."""
        if cmd_name in _HOMES and cmd_name not in self.commands:
            module = import_module(_HOMES[cmd_name])
            self.add_command(getattr(module, cmd_name.replace("-", "_")))
        return super().get_command(ctx, cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands under their headings."""
        del ctx
        widest = max(map(len, _HOMES))
        for heading, commands in SECTIONS.items():
            with formatter.section(heading):
                rows = [(name.ljust(widest), sentence) for name, sentence in commands.items()]
                formatter.write_dl(rows)


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
        raise StorageFault("the output cannot be written: no space is left for it") from error
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
