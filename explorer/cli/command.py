"""The root command, and the outermost error handler: exceptions become messages and exit codes."""

import errno
import io
import logging
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Final

import click

from explorer import config
from explorer.errors import CatalogError, MissingExtra, StorageFault, Unreachable, Unusable
from explorer.version import __version__

SECTIONS: Final[dict[str, dict[str, tuple[str, str]]]] = {
    "Find and read": {
        "search": (".entities", "Search the catalog for TEXT; the best matches come first."),
        "get": (".entities", "Show one entity: health, owners, description, columns and links."),
        "browse": (".entities", "List the folders and entities at PATH."),
        "schema": (".entities", "Show the columns of a dataset as a tree."),
        "usage": (".entities", "Show daily usage of an entity, and who uses it."),
        "profile-stats": (
            ".entities",
            "Show the profiling statistics of a dataset and its columns.",
        ),
        "history": (".entities", "List the changes to an entity, with date and author."),
        "blame": (".entities", "Show who wrote each column's description, and when."),
        "diff": (".entities", "Show the differences between two versions of an aspect."),
    },
    "Explore lineage and relationships": {
        "lineage": (".lineage", "Show the upstream and downstream lineage of an entity."),
        "impact": (
            ".lineage",
            "Show what is affected downstream when an entity or column changes.",
        ),
        "path": (".lineage", "Show every shortest path from SOURCE to TARGET."),
        "relationships": (".lineage", "List the incoming and outgoing relationships of an entity."),
    },
    "Bring in your own data": {
        "add": (
            ".sources",
            "Put a database, files, a dbt project or a log of queries into the catalog.",
        ),
        "sources": (
            ".sources",
            "List the sources that were added, run them again, or remove them.",
        ),
    },
    "Edit": {
        "describe": (
            ".documentation",
            "Show or edit the description of a dataset, column or container.",
        ),
        "new": (".edits", "Create a tag, glossary term or group, domain or data product."),
        "rename": (".edits", "Rename a tag, glossary term or group, domain or data product."),
        "move": (".edits", "Move glossary terms, term groups or domains to another parent."),
        "tag": (".edits", "Show, add or remove tags on entities and columns."),
        "term": (".edits", "Show, add or remove glossary terms on entities and columns."),
        "own": (".edits", "Show, add or remove the owners of entities."),
        "domain": (".edits", "Show, set or remove the domain of entities."),
        "link": (".documentation", "Show, add or remove an entity's links to documents."),
        "deprecate": (".edits", "Mark entities as deprecated, with a note and a replacement."),
        "delete": (".edits", "Delete entities, permanently or so that they can be restored."),
        "restore": (".edits", "Restore soft-deleted entities, or a catalog from a backup."),
        "undo": (".edits", "Undo the last save, or the edit with this ID."),
        "redo": (".edits", "Redo what the last undo reverted."),
        "load": (".maintenance", "Load metadata from FILEs; - reads standard input."),
        "export": (".maintenance", "Export the whole catalog to FILE, or to standard output."),
    },
    "Maintain documentation": {
        "coverage": (".documentation", "Show how much of the catalog is documented."),
        "worklist": (".documentation", "Show what to document next, the most used first."),
        "changes": (
            ".documentation",
            "Show what other people and ingestion changed since your last visit.",
        ),
        "docs": (".documentation", "Export, import, review and propagate descriptions."),
        "glossary": (".edits", "Export and import the business glossary."),
    },
    "Configure servers": {
        "login": (".profile", "Sign in to a server, and keep that in the keyring."),
        "profile": (".profile", "Manage named connections to servers and their access tokens."),
    },
    "Run and maintain a catalog": {
        "serve": (".server", "Serve a catalog to this machine or to a team."),
        "token": (".server", "Make, list and revoke the access tokens of a served catalog."),
        "audit": (".server", "Show who changed what in a served catalog, and who was refused."),
        "backup": (".maintenance", "Back up the catalog to the new directory DEST."),
        "check": (".maintenance", "Check the integrity of a catalog on this machine."),
        "reindex": (".maintenance", "Rebuild the search index from the stored metadata."),
        "migrate": (
            ".maintenance",
            "Copy a catalog between a data directory and a PostgreSQL database.",
        ),
        "compact": (".maintenance", "Free the disk space of data deleted from a catalog."),
        "sample": (".maintenance", "Load or remove the sample catalog of a fictional company."),
    },
    "Shell": {
        "completion": ("..shell_completion", "Print a shell completion script."),
    },
}
"""For each heading of the help, in the order shown: the commands, each with its module, as a name
relative to `explorer.cli.commands`, and its summary."""

_MODULES: Final = {
    name: module for commands in SECTIONS.values() for name, (module, _) in commands.items()
}


class Commands(click.Group):
    """A group that imports a command's module only when the command is run or its help shown."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Return the arguments for the command; options of commands do not stand before it."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            message = f"No option {error.option_name} here: options stand after the command."
            raise click.NoSuchOption(error.option_name, message, ctx=ctx) from None

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands, sorted."""
        return sorted({*super().list_commands(ctx), *_MODULES})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command with this name, importing its module if needed."""
        if cmd_name in _MODULES and cmd_name not in self.commands:
            module = import_module(_MODULES[cmd_name], "explorer.cli.commands")
            self.add_command(getattr(module, cmd_name.replace("-", "_")))
        return super().get_command(ctx, cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands under the headings of `SECTIONS`."""
        del ctx
        widest = max(map(len, _MODULES))
        for heading, commands in SECTIONS.items():
            with formatter.section(heading):
                rows = [(name.ljust(widest), summary) for name, (_, summary) in commands.items()]
                formatter.write_dl(rows)


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
