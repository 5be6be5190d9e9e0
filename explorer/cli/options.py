"""The options and arguments that commands share: the catalog to ask, output formats, URNs,
datasets, periods, columns; and what they name, read.
"""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import wraps
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypedDict, get_args

import click

from explorer.cli.shell_completion import complete_urns
from explorer.errors import CatalogError, NotFound, UnknownName

if TYPE_CHECKING:
    from explorer.client import Catalog
    from explorer.client.entity import AspectRead, Column, Entity
    from explorer.metadata.aspects import AuditStamp
    from explorer.metadata.urn import Urn
    from explorer.query.filters import Criterion, Filter

__all__ = [
    "WORDS",
    "DatasetChoice",
    "OutputFormat",
    "Period",
    "Target",
    "aspects_named",
    "catalog_options",
    "check_forms",
    "column_at",
    "column_option",
    "complete_profiles",
    "counted",
    "dataset_options",
    "dry_run",
    "filter_option",
    "format_options",
    "kept_in",
    "own_urn",
    "period_options",
    "progress_bar",
    "read_actor_names",
    "read_existing",
    "read_filters",
    "read_known_names",
    "read_names",
    "read_urn",
    "registry_file",
    "require_any",
    "token_file",
    "urns",
    "warn_of_password",
]

OutputFormat = Literal["csv", "json", "urns"]

_SAYS: Final[dict[OutputFormat, str]] = {
    "json": "Print one JSON value.",
    "csv": "Print CSV with a line of headings.",
    "urns": "Print URNs only, one a line.",
}


def format_options(
    *forms: OutputFormat, **says: str
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command `--json`, `--csv` or `--urns`, of which one may be given; it gets the one as
    `shown_as`, and None for people. `says` has other words for an option's help."""

    def with_forms(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def checked(*args: object, **kwargs: object) -> None:
            given = [form for form in get_args(OutputFormat) if kwargs.pop(f"as_{form}", False)]
            if len(given) > 1:
                options = " and ".join(f"--{form}" for form in given)
                raise click.UsageError(f"{options} exclude each other; give one of them")
            command(*args, shown_as=given[0] if given else None, **kwargs)

        decorated: Callable[..., None] = checked
        for form in reversed(forms):
            option = click.option(
                f"--{form}", f"as_{form}", is_flag=True, help=says.get(form, _SAYS[form])
            )
            decorated = option(decorated)
        return decorated

    return with_forms


_NUMBERS: Final = {2: "two", 3: "three"}


def complete_profiles(
    _context: click.Context, _parameter: click.Parameter, begun: str
) -> list[str]:
    """Return the names of profiles that begin so, for the shell."""
    from explorer import config

    try:
        names = (config.EMBEDDED, *config.read_profiles().by_name)
    except CatalogError:
        return []
    return [name for name in names if name.startswith(begun)]


@dataclass(frozen=True, slots=True)
class Target:
    """What the command line says of the catalog; what it leaves out the environment says."""

    url: str | None
    data_dir: Path | None
    token: str | None = field(repr=False)
    profile: str | None = None
    offline: bool = False

    def open(self) -> "Catalog":
        """Return a client of it; nothing is sent yet.

        A token that a person is asked for is asked for here: later it would be on a thread of the
        client's, which an interrupt does not reach.
        """
        # Brings httpx, which neither --help nor a usage error should wait for.
        from rich.text import Text

        from explorer import config
        from explorer.cli.output import note
        from explorer.client import Catalog
        from explorer.client.display import line

        token = self.token
        if token is None:
            named = config.server(self.url, profile=self.profile, data_dir=self.data_dir)
            token = named.token() if named.token.asks else None
        catalog = Catalog(
            self.url,
            profile=self.profile,
            data_dir=self.data_dir,
            token=token,
            offline="only" if self.offline else "keep",
        )
        catalog.on_warning(lambda sentence: note(Text(f"warning: {line(sentence)}")))
        return catalog


def catalog_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options that name a catalog; it gets them as its first argument."""

    @click.option(
        "--url",
        metavar="URL",
        help="The server to ask; without one, this machine's own catalog.  [env: CATALOG_URL]",
    )
    @click.option(
        "--profile",
        metavar="NAME",
        shell_complete=complete_profiles,
        help="The server to ask, by its profile: see catalog profile.  [env: CATALOG_PROFILE]",
    )
    @click.option(
        "--data-dir",
        type=click.Path(file_okay=False, path_type=Path),
        help="The directory of this machine's own catalog.  [env: CATALOG_DATA_DIR]",
    )
    @click.option(
        "--token",
        "asks_for_token",
        is_flag=True,
        help="Ask for an access token, unseen.  [env: CATALOG_TOKEN]",
    )
    @click.option(
        "--offline",
        is_flag=True,
        help="Send nothing: show what was kept of earlier answers.",
    )
    @wraps(command)
    def with_target(
        *args: object,
        url: str | None,
        profile: str | None,
        data_dir: Path | None,
        asks_for_token: bool,
        offline: bool,
        **kwargs: object,
    ) -> None:
        given = {"--url": url, "--data-dir": data_dir, "--profile": profile}
        named = [option for option, value in given.items() if value]
        if len(named) > 1:
            raise click.UsageError(
                f"{' and '.join(named)} name {_NUMBERS[len(named)]} catalogs; give one of them"
            )
        token = click.prompt("Access token", hide_input=True, err=True) if asks_for_token else None
        command(Target(url, data_dir, token, profile, offline), *args, **kwargs)

    return with_target


_MOST_NAMES: Final = 500

STDIN: Final = "-"
"""Stands for URNs on standard input, one a line."""


def warn_of_password(option: str, address: str | None) -> None:
    """Say so where the address of a database that was given to an option holds a password."""
    from urllib.parse import parse_qs, urlsplit

    from explorer.cli.output import note

    parts = urlsplit(address or "")
    if parts.password or "password" in parse_qs(parts.query):
        note(
            f"{option}: everybody on this machine can read the password in it; give it in "
            "PGPASSWORD or ~/.pgpass"
        )


def counted(number: int, noun: str) -> str:
    """Return how many there are of something, in words: `1 column`, `2,000 columns`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def read_urns(given: Sequence[str]) -> list[str]:
    """URNs as the command line has them, each once; those on standard input in the place of `-`.
    Lines that hold nothing are passed over."""
    found: list[str] = []
    for text in given:
        found += _read_lines() if text == STDIN else [text]
    return list(dict.fromkeys(found))


def read_urn(given: str) -> str:
    """Return one URN; for `-` the only one on standard input. Raises `click.UsageError` where there
    is another number of them."""
    found = read_urns((given,))
    if len(found) != 1:
        number = f"{len(found):,} URNs stand" if found else "no URN stands"
        raise click.UsageError(f"{number} on standard input; one is wanted, as in: … | head -1")
    return found[0]


def _read_lines() -> list[str]:
    lines = sys.stdin.buffer.read().decode("utf-8-sig", errors="replace").splitlines()
    return [line.strip() for line in lines if line.strip()]


def read_existing(catalog: "Catalog", urn: str) -> "Entity":
    """Return the entity with all its aspects; raises `NotFound` where nothing is stored of it."""
    entity = catalog.entity(urn)
    if not entity.exists:
        raise NotFound(f"there is no {urn} in this catalog")
    return entity


def aspects_named(entity: "Entity", names: Sequence[str]) -> "list[AspectRead]":
    """Return the aspects of those names, or all where none is named; raises `UnknownName` for one
    that the entity lacks."""
    for name in names:
        if name not in entity.aspects:
            raise UnknownName("aspect of this entity", name, entity.aspects)
    return [entity.aspects[name] for name in names or sorted(entity.aspects)]


def column_at(entity: "Entity", path: str) -> "Column":
    """Return the column of that exact path, or the only one that people would write so.

    Raises `UnknownName` where there is none or more than one, naming the near ones.
    """
    exact = entity.schema.column(path)
    if exact is not None:
        return exact
    same = [column for column in entity.schema if column.path.simple == path]
    if len(same) == 1:
        return same[0]
    known = same or entity.schema.columns
    raise UnknownName("column", path, (column.path.raw for column in known))


def read_names(catalog: "Catalog", entity: "Entity") -> "Mapping[Urn, str]":
    """Return the names of the entities that the page of an entity mentions; at most 500 of them.
    One request for a hundred."""
    from explorer.metadata.urn import Urn
    from explorer.views.entity import detail_parts
    from explorer.views.history import actors_of
    from explorer.views.parts import mentioned

    owners = Urn.parse_all(owner.owner for owner in entity.owners)
    labels = (*owners, *entity.tags, *entity.terms, *entity.domains)
    authors = actors_of(
        (
            *(link.create_stamp for link in entity.links),
            *(aspect.created for aspect in entity.aspects.values()),
        )
    )
    urns = dict.fromkeys((*labels, *authors, *mentioned(detail_parts(entity))))
    found = catalog.summaries(islice(urns, _MOST_NAMES))
    return {urn: one.name for urn, one in found.items()}


def read_actor_names(
    catalog: "Catalog", stamps: "Iterable[AuditStamp | None]"
) -> "Mapping[Urn, str]":
    """Return the names of those who wrote; none where the server does not tell them. One request
    for a hundred."""
    from explorer.views.history import actors_of

    return read_known_names(catalog, actors_of(stamps))


def read_known_names(catalog: "Catalog", urns: "Sequence[Urn]") -> "Mapping[Urn, str]":
    """Return the names of entities; none where the server does not tell them. One request for a
    hundred."""
    try:
        found = catalog.summaries(urns[:_MOST_NAMES]) if urns else {}
    except CatalogError:
        # Their URNs will do.
        return {}
    return {urn: one.name for urn, one in found.items()}


class _Words(click.ParamType[str]):
    """Text that can be sent to a server: a shell also passes on bytes that are no text."""

    name = "text"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        text = str(value)
        try:
            text.encode()
        except UnicodeEncodeError:
            self.fail("it is not UTF-8 text", param, ctx)
        return text


WORDS = _Words()
"""The type of every argument and option that holds text rather than a file's name."""

kept_in = click.option(
    "--data-dir",
    type=click.Path(file_okay=False, path_type=Path),
    envvar="CATALOG_DATA_DIR",
    show_envvar=True,
    help="Where the catalog is kept.",
)
"""The directory of a catalog on this machine."""

registry_file = click.option(
    "--registry",
    "registry_file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    envvar="CATALOG_REGISTRY",
    show_envvar=True,
    help="A file with entities and aspects of your own, added to those that ship.",
)
"""The registry that a deployment adds."""

token_file = click.option(
    "--token-file",
    type=click.Path(dir_okay=False, path_type=Path),
    envvar="CATALOG_TOKEN_FILE",
    show_envvar=True,
    help="The access tokens, when they are not kept in the data directory.",
)
"""Where access tokens are kept beside the data directory."""


urns = click.argument(
    "urns", nargs=-1, required=True, type=WORDS, metavar="URN...", shell_complete=complete_urns
)
"""The entities; `-` stands for those on standard input."""

column_option = click.option(
    "--column",
    type=WORDS,
    metavar="PATH",
    help="Of this column: its path as the schema has it, or a.b.c where that is unmistakable.",
)
"""A column instead of the entity itself."""

dry_run = click.option("--dry-run", is_flag=True, help="Say what would change; write nothing.")
"""Nothing is written."""


propose = click.option(
    "--propose",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write the changes to this new file, for catalog docs review; write nothing else.",
)
"""Changes are staged in a changeset."""


def check_forms(
    shown_as: str | None, *, dry_run: bool, writes: bool, propose: Path | None = None
) -> None:
    """Raises a usage error for what goes with showing alone, or with writing alone."""
    if propose is not None and not writes:
        raise click.UsageError("--propose needs something to be changed")
    if propose is not None and dry_run:
        raise click.UsageError("--propose writes nothing into the catalog; leave --dry-run out")
    if writes and shown_as in ("csv", "urns"):
        raise click.UsageError(f"--{shown_as} shows what is there; a change is told by --json")
    if dry_run and not writes:
        raise click.UsageError("--dry-run needs something to be changed")


_DATE = click.DateTime(["%Y-%m-%d"])
_MOST_DAYS = 36_500


@dataclass(frozen=True, slots=True)
class Period:
    """From `start` up to and including `end`; without an end up to now, without both ever."""

    start: datetime | None = None
    end: datetime | None = None

    @property
    def said(self) -> str:
        """The period in words."""
        match self.start, self.end:
            case None, None:
                return "ever"
            case start, None:
                return f"since {start:%Y-%m-%d}"
            case None, end:
                return f"up to {end:%Y-%m-%d}"
            case start, end:
                return f"from {start:%Y-%m-%d} to {end:%Y-%m-%d}"


def period_options(
    days: int | None,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command `--days`, `--from` and `--to`; it gets a `period`, the last `days` where the
    command line says nothing."""

    def with_period(command: Callable[..., None]) -> Callable[..., None]:
        @click.option(
            "--days",
            type=click.IntRange(1, _MOST_DAYS),
            help=f"The last so many days.  [default: {days}]" if days else "The last so many days.",
        )
        @click.option("--from", "start", type=_DATE, metavar="DATE", help="From this day on.")
        @click.option("--to", "end", type=_DATE, metavar="DATE", help="Up to the end of this day.")
        @wraps(command)
        def given(
            *args: object,
            days: int | None,
            start: datetime | None,
            end: datetime | None,
            **kwargs: object,
        ) -> None:
            command(*args, period=_read(days, start, end), **kwargs)

        return given

    def _read(asked: int | None, start: datetime | None, end: datetime | None) -> Period:
        if asked is not None and start is not None:
            raise click.UsageError("--days and --from both say where to begin; give one of them")
        if start is not None and end is not None and end < start:
            raise click.UsageError("--to lies before --from")
        last = None
        if end is not None:
            last = end.replace(tzinfo=UTC) + timedelta(days=1) - timedelta(milliseconds=1)
        if start is not None:
            return Period(start.replace(tzinfo=UTC), last)
        back = asked if asked is not None else days
        if back is None:
            return Period(None, last)
        # Whole days, as they are counted: today is the last of them.
        today = (last or datetime.now(UTC)).replace(hour=0, minute=0, second=0, microsecond=0)
        return Period(today - timedelta(days=back - 1), last)

    return with_period


_OWNERS: Final = ("corpuser", "corpGroup")


def read_filters(texts: Sequence[str], catalog: "Catalog") -> "Filter":
    """Return the filter of texts that must all be met."""
    from explorer.query import read_filter
    from explorer.query.filters import Filter

    found = Filter()
    for text in texts:
        found = found.narrowed_by(read_filter(text, catalog.registry))
    return found


class DatasetArguments(TypedDict):
    """The datasets that stewardship is asked about, as its methods take them."""

    urns: Sequence[str]
    text: str
    narrowed_by: "Filter"
    folder: str | None


@dataclass(frozen=True, slots=True)
class DatasetChoice:
    """Datasets by their URNs, or those in a folder, or those that a search finds; all of them
    where nothing is said."""

    urns: tuple[str, ...] = ()
    text: str = ""
    filters: tuple[str, ...] = ()
    folder: str | None = None

    def words(self) -> str:
        """Return in words which datasets are meant."""
        named = f"{len(self.urns):,} datasets" if len(self.urns) > 1 else "".join(self.urns)
        parts = (named, self.text, *self.filters, self.folder or "")
        return " ".join(filter(None, parts)) or "the whole catalog"

    def read(self, catalog: "Catalog", owners: Sequence[str] = ()) -> "tuple[Urn, ...]":
        """Their URNs; with `owners` only of what one of them owns.

        Raises `NotFound` where a search or a folder has none.
        """
        from explorer.stewardship import Stewardship

        found = Stewardship(catalog).datasets(**self.selection(catalog, owners))
        require_any(len(found))
        return found

    def selection(self, catalog: "Catalog", owners: Sequence[str] = ()) -> "DatasetArguments":
        """Return what stewardship is asked about; with `owners` only what one of them owns."""
        from explorer.errors import InvalidInput
        from explorer.query.filters import all_of

        narrowed_by = read_filters(self.filters, catalog)
        if owners:
            narrowed_by = narrowed_by.narrowed_by(all_of(_owned_by(owners)))
        urns = read_urns(self.urns)
        if self.urns and not urns:
            raise InvalidInput("there is no URN on standard input; give one a line")
        return {
            "urns": urns,
            "text": self.text or "*",
            "narrowed_by": narrowed_by,
            "folder": self.folder,
        }


def own_urn(catalog: "Catalog") -> str:
    """Return the URN of the user that the catalog takes the caller for.

    Raises `InvalidInput` where it does not say.
    """
    from explorer.errors import InvalidInput

    user = catalog.me()
    if user is None:
        raise InvalidInput("this server does not say who you are; use --owner with your name")
    return str(user)


def _owned_by(owners: Sequence[str]) -> "Criterion":
    """Return the test for what one of them owns; a text that is no URN is the id or the name of a
    person or group, as in `owner:"Nina Weber"`."""
    from explorer.client.editable import urns_of
    from explorer.query.filters import Criterion

    values: list[str] = []
    names = [owner for owner in owners if not owner.startswith("urn:")]
    for owner in owners:
        (user,) = urns_of(owner, *_OWNERS)
        values.append(str(user))
        if owner in names:
            values.append(f"urn:li:corpGroup:{owner}")
    return Criterion("owners", tuple(values), names=tuple(names))


def require_any(datasets: int) -> None:
    """Raise `NotFound` where no dataset is meant."""
    from explorer.errors import NotFound

    if not datasets:
        raise NotFound("no dataset is found so")


filter_option = click.option(
    "--filter",
    "filters",
    type=WORDS,
    metavar="FILTER",
    multiple=True,
    help="Only what matches; given several times, all must be met.",
)


def dataset_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command URNs, `--search`, `--filter` and `--folder`; it gets a `choice`."""

    @click.argument("urns", nargs=-1, type=WORDS, metavar="[URN]...")
    @click.option("--search", "text", type=WORDS, default="", help="The datasets found so.")
    @filter_option
    @click.option(
        "--folder", type=WORDS, metavar="PATH", help="The datasets in and below this folder."
    )
    @wraps(command)
    def with_choice(
        *args: object,
        urns: tuple[str, ...],
        text: str,
        filters: tuple[str, ...],
        folder: str | None,
        **kwargs: object,
    ) -> None:
        searched = text or filters or kwargs.get("owners") or kwargs.get("is_mine")
        if sum(map(bool, (urns, searched, folder))) > 1:
            raise click.UsageError("give URNs, a folder or a search, not several of them")
        command(*args, choice=DatasetChoice(urns, text, filters, folder), **kwargs)

    return with_choice


@contextmanager
def progress_bar(name: str) -> Iterator[Callable[[int, int], None]]:
    """A bar on standard error, where that is a terminal, gone when the work is done; what is given
    is told how many are done of how many."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    from explorer.cli.output import notes

    console = notes()
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn())
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bars:
        task = bars.add_task(name, total=None)
        yield lambda done, total: bars.update(task, completed=done, total=total)
