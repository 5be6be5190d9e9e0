"""`%catalog` and `%%describe`: short commands for the catalog's methods.

%load_ext explorer.notebook
%catalog search orders --platform snowflake
"""

import argparse
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from IPython import display
from IPython.core.error import UsageError

from explorer import client, config
from explorer.client.display import line
from explorer.client.editable import TextConflict, stored_description
from explorer.client.entity import Entity
from explorer.errors import CatalogError, Conflict, InvalidInput, NotFound
from explorer.metadata.urn import Urn
from explorer.notebook.catalog import NotebookCatalog
from explorer.notebook.entity import edited_text
from explorer.notebook.schema import SchemaTable
from explorer.notebook.view import Shown, ShownTable
from explorer.views.diff import text_diff
from explorer.views.parts import Cell, Difference, Grid, Part, Prose, Say, Title
from explorer.views.table import Table, attributes, to_frame

if TYPE_CHECKING:
    import pandas as pd
    from IPython.core.interactiveshell import InteractiveShell

State = Literal["saved", "unchanged", "tried", "conflict"]

_WORDS: dict[State, str] = {
    "saved": "saved",
    "unchanged": "the text is already the same; nothing was written",
    "tried": "not saved: this was a dry run",
    "conflict": "not saved: somebody else changed it meanwhile",
}


@dataclass(frozen=True, slots=True, repr=False)
class Described(Shown):
    """The outcome of writing a description, and the difference.

    `before` is the text in the catalog right before, `after` the text to write. `base` is the text
    that this session had read, if it differs from `before`.
    """

    urn: Urn
    name: str
    column: str | None
    state: State
    before: str
    after: str
    base: str | None = None

    def parts(self) -> Iterator[Part]:
        column = f".{self.column}" if self.column else ""
        yield Title(f"Description of {self.name}{column}", _WORDS[self.state])
        if self.state == "conflict":
            yield Say("what they changed:", "loud")
            yield Difference(text_diff(self.base, self.before, context=2))
            yield Say("yours against theirs:", "loud")
        if self.before != self.after:
            yield Difference(text_diff(self.before, self.after, context=2))
        if self.state == "conflict":
            yield Say("merge yours into theirs and run again with --force to save")
        elif self.state != "unchanged" and self.after:
            yield Prose(self.after, label="it reads")


def describe(
    catalog: "NotebookCatalog",
    urn: Urn,
    column: str | None,
    text: str,
    *,
    dry_run: bool = False,
    force: bool = False,
) -> Described:
    """Write the description of an entity or of its column, by its path, exact or in its short form;
    with `dry_run`, only return the difference.

    The present text is overwritten only if this session last read this text (`Catalog.last_seen`),
    or never read any; else the state is `conflict`, unless `force` is set. One request, and four
    more to write. Raises `NotFound` or `UnknownName` if the entity or column does not exist.
    """
    text = stored_description(text)
    entity = client.Catalog.entity(catalog, urn)
    if not entity.exists:
        raise NotFound(f"{urn} is not in this catalog")
    path = None if column is None else _exact(entity, column)
    now = edited_text(entity, path)
    base = catalog.last_seen(urn, path)
    name = entity.name

    def outcome_as(state: State, before: str = now) -> Described:
        return Described(urn, name, column, state, before, text, base)

    if now == text:
        return outcome_as("unchanged")
    if base is not None and now != base and not force:
        return outcome_as("conflict")
    if dry_run:
        return outcome_as("tried")
    try:
        catalog.describe(urn, text, column=path, instead_of=now, force=force)
    except TextConflict as conflict:
        return outcome_as("conflict", conflict.theirs)
    catalog.entity(urn)
    return outcome_as("saved")


def _exact(entity: Entity, column: str) -> str:
    schema = entity.schema
    return SchemaTable(schema.name, schema.columns)[column].path.raw


_COLUMNS = (*attributes("name", "place"), *attributes("read_only", "in_use", dtype="bool"))


@dataclass(frozen=True, slots=True, repr=False)
class ProfilesTable(ShownTable):
    """The profiles: name, address, read-only, in use."""

    rows: tuple[tuple[str, str, bool, bool], ...]

    @classmethod
    def read(cls) -> "ProfilesTable":
        """Return the configured profiles. Reads a file, sends no request."""
        profiles_file = config.read_profiles()
        profiles = {config.EMBEDDED: profiles_file.named(config.EMBEDDED), **profiles_file.by_name}
        current = profiles_file.current or config.EMBEDDED
        return cls(
            tuple(
                (name, profile.url or profile.data_dir or "", profile.read_only, name == current)
                for name, profile in profiles.items()
            )
        )

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[str]:
        return (name for name, *_ in self.rows)

    def to_frame(self) -> "pd.DataFrame":
        """Return a row for each profile: `name`, `place` (an address or a directory), `read_only`,
        `in_use`."""
        return to_frame(Table(_COLUMNS, self.rows))

    def parts(self) -> Iterator[Part]:
        yield Title("Profiles", f"{len(self):,}")
        rows = [
            (
                Cell(name, tone="loud"),
                Cell("this machine" if name == config.EMBEDDED else place),
                Cell(", ".join(word for word in (("in use" * used), "read-only" * reads) if word)),
            )
            for name, place, reads, used in self.rows
        ]
        yield Grid(("name", "catalog", ""), rows)


_VARIABLE = "cat"
_CATALOG = """\
Query the catalog in one line. Commands return what they show: `found = %catalog search orders`.

  %catalog connect [URL|PROFILE]   use this catalog from now on; without a name, the local one
  %catalog info                    what the server says of itself
  %catalog search TEXT … [--type TYPE] [--platform NAME] [--filter FILTER] [--sort ORDER]
                         [--count N] [--columns]
  %catalog open NAME|URN           one entity
  %catalog browse [PATH] [--type TYPE]
  %catalog names [TEXT …]          read names, so that cat["ord<TAB>"] completes
  %catalog profile list            the servers kept by name

Without `connect` it asks the variable `cat`, where that is a Catalog, else this machine's own.
"""
_DESCRIBE = """\
Write a description: the cell below the line is the text, markdown.

  %%describe URN|NAME [COLUMN] [--dry-run] [--force] [--clear]

The difference is shown. If somebody else changed the text since this session read it, nothing is
saved and both changes are shown; --force saves anyway. --dry-run saves nothing. With --clear, an
empty cell removes the description.
"""


class CatalogMagics:
    """The two magics of one shell, and their catalog."""

    def __init__(self, shell: "InteractiveShell") -> None:
        self._shell = shell
        self._catalog: NotebookCatalog | None = None

    def register(self) -> None:
        """Register the magics in the shell."""
        manager: Any = self._shell.magics_manager
        manager.register_function(_with_help(self.catalog, _CATALOG), "line", "catalog")
        manager.register_function(_with_help(self.describe, _DESCRIBE), "cell", "describe")

    def catalog(self, typed: str) -> Any:
        """Run the command in the line, and return its result."""
        options = _commands().parse_args(_words(typed))
        return options.do(self, options)

    def describe(self, typed: str, text: str = "") -> Described:
        """Write the description, and return the outcome. Raises `Conflict` after showing both
        changes."""
        options = _describing().parse_args(_words(typed))
        text = text.removesuffix("\n")
        if not text.strip() and not options.clear:
            raise InvalidInput("the cell is empty; --clear removes the description")
        urn = self._urn(options.what)
        outcome = describe(
            self._get_catalog(),
            urn,
            options.column,
            "" if options.clear else text,
            dry_run=options.dry_run,
            force=options.force,
        )
        if outcome.state == "conflict":
            _show(outcome)
            raise Conflict("not saved: somebody else changed it meanwhile; --force saves yours")
        return outcome

    def connect(self, options: argparse.Namespace) -> NotebookCatalog:
        """Use another catalog from now on."""
        if options.server is None:
            self._catalog = NotebookCatalog()
        elif "://" in options.server or options.server.startswith("unix:"):
            self._catalog = NotebookCatalog(options.server)
        else:
            self._catalog = NotebookCatalog(profile=options.server)
        return self._catalog

    def info(self, options: argparse.Namespace) -> Any:
        """Return the server's description."""
        del options
        return self._get_catalog().info()

    def search(self, options: argparse.Namespace) -> Any:
        """Return a page of results."""
        terms = [f"platform:{shlex.quote(platform)}" for platform in options.platform]
        if len(terms) > 1:
            terms = [f"({' OR '.join(terms)})"]
        if options.filter:
            terms.append(f"({options.filter})" if terms else options.filter)
        return self._get_catalog().search(
            " ".join(options.text) or "*",
            entity=options.type or None,
            filter=" AND ".join(terms) or None,
            sort=options.sort,
            count=options.count,
            columns=options.columns,
        )

    def open(self, options: argparse.Namespace) -> Any:
        """Return an entity."""
        return self._get_catalog().entity(self._urn(options.what))

    def browse(self, options: argparse.Namespace) -> Any:
        """Return a folder."""
        return self._get_catalog().browse(options.path, entity=options.type)

    def names(self, options: argparse.Namespace) -> Any:
        """Return names for completion."""
        return self._get_catalog().names(" ".join(options.text) or "*")

    def profiles(self, options: argparse.Namespace) -> Any:
        """Return the profiles."""
        del options
        return ProfilesTable.read()

    def _get_catalog(self) -> NotebookCatalog:
        if self._catalog is not None:
            return self._catalog
        variable = self._shell.user_ns.get(_VARIABLE)
        if isinstance(variable, NotebookCatalog):
            return variable
        self._catalog = NotebookCatalog()
        return self._catalog

    def _urn(self, what: str) -> Urn:
        return self._get_catalog().urn_of(what)


class _LineParser(argparse.ArgumentParser):
    """An argument parser that raises its errors instead of ending the kernel."""

    def error(self, message: str) -> NoReturn:
        """Raise the error."""
        problem = message.removeprefix("argument command: ")
        raise InvalidInput(f"{problem}; {self.prog}? shows the commands")


def _commands() -> _LineParser:
    parser = _LineParser("%catalog", add_help=False, allow_abbrev=False)
    parsers = parser.add_subparsers(dest="command", required=True, parser_class=_LineParser)

    def add(name: str, do: Callable[[CatalogMagics, argparse.Namespace], Any]) -> _LineParser:
        parser = parsers.add_parser(name, add_help=False, allow_abbrev=False)
        parser.prog = "%catalog"
        parser.set_defaults(do=do)
        return parser

    add("connect", CatalogMagics.connect).add_argument("server", nargs="?")
    add("info", CatalogMagics.info)
    search = add("search", CatalogMagics.search)
    search.add_argument("text", nargs="*")
    search.add_argument("--type", action="append", default=[])
    search.add_argument("--platform", action="append", default=[])
    search.add_argument("--filter", default="")
    search.add_argument("--sort")
    search.add_argument("--count", type=int, default=20)
    search.add_argument("--columns", action="store_true")
    add("open", CatalogMagics.open).add_argument("what")
    browse = add("browse", CatalogMagics.browse)
    browse.add_argument("path", nargs="?", default="/")
    browse.add_argument("--type", default="dataset")
    add("names", CatalogMagics.names).add_argument("text", nargs="*")
    add("profile", CatalogMagics.profiles).add_argument("what", choices=["list"])
    return parser


def _describing() -> _LineParser:
    parser = _LineParser("%%describe", add_help=False, allow_abbrev=False)
    parser.add_argument("what")
    parser.add_argument("column", nargs="?")
    for flag in ("--dry-run", "--force", "--clear"):
        parser.add_argument(flag, action="store_true")
    return parser


def _show(description: Described) -> None:
    show: Callable[[object], object] = display.display
    show(description)


def _words(typed: str) -> list[str]:
    try:
        return shlex.split(typed)
    except ValueError as problem:
        raise InvalidInput(f"the line cannot be read: {str(problem).lower()}") from None


def _with_help(magic: Callable[..., Any], help_text: str) -> Callable[..., Any]:
    """Return the magic with its help, with catalog errors shown without a traceback."""

    @wraps(magic)
    def call(*typed: str) -> Any:
        try:
            return magic(*typed)
        except CatalogError as error:
            problem = "\n".join(map(line, str(error).split("\n")))
        raise UsageError(problem)

    call.__doc__ = help_text
    return call
