"""Options and arguments shared by several commands, and functions that read the things they refer
to: the catalog, output formats, URNs, datasets, periods and columns."""

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
    from explorer.sessions.base import Session, SessionState

OutputFormat = Literal["csv", "json", "urns"]

_FORMAT_HELP: Final[dict[OutputFormat, str]] = {
    "json": "Print one JSON value.",
    "csv": "Print CSV with a header row.",
    "urns": "Print only URNs, one per line.",
}


def format_options(
    *forms: OutputFormat, **help_texts: str
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that adds the options `--json`, `--csv` and `--urns`, or some of them.

    They exclude each other. The command gets the one given as `shown_as`, or None for output that
    people read. `help_texts` replaces the help of an option.
    """

    def with_forms(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def with_one_form(*args: object, **kwargs: object) -> None:
            formats = [form for form in get_args(OutputFormat) if kwargs.pop(f"as_{form}", False)]
            if len(formats) > 1:
                options = " and ".join(f"--{form}" for form in formats)
                raise click.UsageError(f"{options} cannot be combined; give only one of them")
            command(*args, shown_as=formats[0] if formats else None, **kwargs)

        decorated: Callable[..., None] = with_one_form
        for form in reversed(forms):
            option = click.option(
                f"--{form}",
                f"as_{form}",
                is_flag=True,
                help=help_texts.get(form, _FORMAT_HELP[form]),
            )
            decorated = option(decorated)
        return decorated

    return with_forms


def budget_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add `--budget` and `--cursor`, which limit `--json` to a page with at most that many tokens.
    Must be placed above `format_options`."""

    @click.option(
        "--budget",
        type=click.IntRange(1),
        metavar="TOKENS",
        help="With --json, print at most so many tokens, and how to go on.",
    )
    @click.option("--cursor", type=WORDS, help="With --budget, continue from here.")
    @wraps(command)
    def with_budget(
        *args: object, budget: int | None, cursor: str | None, **kwargs: object
    ) -> None:
        if (budget or cursor) and not (budget and kwargs.get("as_json")):
            raise click.UsageError("--budget needs --json, and --cursor needs --budget")
        if budget:
            from explorer.cli.output import PAGE_OF_JSON

            click.get_current_context().meta[PAGE_OF_JSON] = (budget, cursor or "")
        command(*args, **kwargs)

    return with_budget


_NUMBERS: Final = {2: "two", 3: "three"}


def complete_profiles(
    _context: click.Context, _parameter: click.Parameter, incomplete: str
) -> list[str]:
    """Return the names of profiles that begin with `incomplete`, for shell completion."""
    from explorer import config

    try:
        names = (config.EMBEDDED, *config.read_profiles().by_name)
    except CatalogError:
        return []
    return [name for name in names if name.startswith(incomplete)]


@dataclass(frozen=True, slots=True)
class Target:
    """The catalog named on the command line; fields left out are taken from the environment."""

    url: str | None
    data_dir: Path | None
    token: str | None = field(repr=False)
    profile: str | None = None
    offline: bool = False

    def open(self) -> "Catalog":
        """Return a client of this catalog; no request is sent yet.

        Prompts for the access token if the profile says so: later the prompt would run on a thread
        of the client, where Ctrl-C does not interrupt it.
        """
        # Imported late: this imports httpx, which --help and usage errors do not need.
        from rich.text import Text

        from explorer import config
        from explorer.cli.output import note
        from explorer.client import Catalog
        from explorer.client.display import line

        token = self.token
        if token is None:
            settings = config.server(self.url, profile=self.profile, data_dir=self.data_dir)
            token = settings.token() if settings.token.asks else None
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
    """Add the options that name a catalog; the command gets a `Target` as its first argument."""

    @click.option(
        "--url",
        metavar="URL",
        help="URL of the server.  [default: the local catalog; env: CATALOG_URL]",
    )
    @click.option(
        "--profile",
        metavar="NAME",
        shell_complete=complete_profiles,
        help="Profile of the server; see catalog profile.  [env: CATALOG_PROFILE]",
    )
    @click.option(
        "--data-dir",
        type=click.Path(file_okay=False, path_type=Path),
        help="Directory of the local catalog.  [env: CATALOG_DATA_DIR]",
    )
    @click.option(
        "--token",
        "asks_for_token",
        is_flag=True,
        help="Prompt for an access token.  [env: CATALOG_TOKEN]",
    )
    @click.option(
        "--offline",
        is_flag=True,
        help="Send no requests; show cached responses.",
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
        catalogs = {"--url": url, "--data-dir": data_dir, "--profile": profile}
        chosen = [option for option, value in catalogs.items() if value]
        if len(chosen) > 1:
            raise click.UsageError(
                f"{' and '.join(chosen)} name {_NUMBERS[len(chosen)]} catalogs; give one of them"
            )
        token = click.prompt("Access token", hide_input=True, err=True) if asks_for_token else None
        target = Target(url, data_dir, token, profile, offline)
        for parameter in click.get_current_context().command.params:
            if parameter.type is ENTITY and parameter.nargs == 1 and parameter.name:
                kwargs[parameter.name] = _with_urn(target, kwargs[parameter.name])
        command(target, *args, **kwargs)

    return with_target


_MAX_NAMES: Final = 500

STDIN: Final = "-"
"""Given as a URN, it stands for the URNs on standard input, one per line."""


def warn_of_password(option: str, address: str | None) -> None:
    """Print a warning if the database URL given to an option contains a password."""
    from urllib.parse import parse_qs, urlsplit

    from explorer.cli.output import note

    parts = urlsplit(address or "")
    if parts.password or "password" in parse_qs(parts.query):
        note(
            f"{option}: every user of this machine can read the password in this URL; put it in "
            "PGPASSWORD or ~/.pgpass instead"
        )


def read_urns(texts: Sequence[str]) -> list[str]:
    """Return the URNs given on the command line, without duplicates; `-` is replaced by those on
    standard input, one per line. Blank lines are skipped."""
    names: list[str] = []
    for text in texts:
        names += _read_lines() if text == STDIN else [text]
    return list(dict.fromkeys(names))


def read_urn(catalog: "Catalog", text: str) -> str:
    """Return one URN; for `-`, the URN or name is read from standard input. Raises
    `click.UsageError` if standard input does not have exactly one."""
    names = read_urns((text,))
    if len(names) != 1:
        number = f"{len(names):,} URNs" if names else "no URN"
        raise click.UsageError(f"{number} on standard input; give exactly one, as in: … | head -1")
    return str(catalog.urn_of(names[0])) if text == STDIN else text


def _read_lines() -> list[str]:
    lines = sys.stdin.buffer.read().decode("utf-8-sig", errors="replace").splitlines()
    return [line.strip() for line in lines if line.strip()]


def read_existing(catalog: "Catalog", urn: str) -> "Entity":
    """Return the entity with all its aspects. Raises `NotFound` if the entity has no aspects."""
    entity = catalog.entity(urn)
    if not entity.exists:
        from explorer.client.search import missing_entity

        raise catalog.wait(missing_entity(catalog.core, urn))
    return entity


def find_aspects(entity: "Entity", names: Sequence[str]) -> "list[AspectRead]":
    """Return the aspects with these names, or all of them if `names` is empty. Raises
    `UnknownName` for an aspect that the entity does not have."""
    for name in names:
        if name not in entity.aspects:
            raise UnknownName("aspect of this entity", name, entity.aspects)
    return [entity.aspects[name] for name in names or sorted(entity.aspects)]


def column_at(entity: "Entity", path: str) -> "Column":
    """Return the column with this exact path, or the only one with this simple path (`a.b.c`).

    Raises `UnknownName`, with similar paths, if there is none or more than one.
    """
    exact = entity.schema.column(path)
    if exact is not None:
        return exact
    same = [column for column in entity.schema if column.path.simple == path]
    if len(same) == 1:
        return same[0]
    columns = same or entity.schema.columns
    raise UnknownName("column", path, (column.path.raw for column in columns))


def read_names(catalog: "Catalog", entity: "Entity") -> "Mapping[Urn, str]":
    """Return the names of the entities mentioned on an entity's page, at most 500. Makes one
    request per hundred."""
    from explorer.metadata.urn import Urn
    from explorer.views.entity import detail_parts, folder_facts, mention_name
    from explorer.views.history import actors_of
    from explorer.views.parts import mentions_of

    owners = Urn.parse_all(owner.owner for owner in entity.owners)
    labels = (*owners, *entity.tags, *entity.terms, *entity.domains)
    authors = actors_of(
        (
            *(link.create_stamp for link in entity.links),
            *(aspect.created for aspect in entity.aspects.values()),
        )
    )
    urns = dict.fromkeys(
        (*labels, *authors, *mentions_of((*folder_facts(entity), *detail_parts(entity))))
    )
    summaries = catalog.summaries(islice(urns, _MAX_NAMES))
    return {urn: mention_name(summary) for urn, summary in summaries.items()}


def read_label_names(catalog: "Catalog", columns: "Iterable[Column]") -> "Mapping[Urn, str]":
    """Return the names of the tags and glossary terms of columns, or an empty mapping if the server
    does not return them. Makes one request per hundred."""
    labels = dict.fromkeys(urn for column in columns for urn in (*column.tags, *column.terms))
    return try_read_names(catalog, list(labels))


def read_actor_names(
    catalog: "Catalog", stamps: "Iterable[AuditStamp | None]"
) -> "Mapping[Urn, str]":
    """Return the names of the actors in the audit stamps, or an empty mapping if the server does
    not return them. Makes one request per hundred."""
    from explorer.views.history import actors_of

    return try_read_names(catalog, actors_of(stamps))


def try_read_names(catalog: "Catalog", urns: "Sequence[Urn]") -> "Mapping[Urn, str]":
    """Return the names of entities, or an empty mapping if the server does not return them. Makes
    one request per hundred."""
    try:
        summaries = catalog.summaries(urns[:_MAX_NAMES]) if urns else {}
    except CatalogError:
        # The caller shows the URNs instead.
        return {}
    return {urn: summary.name for urn, summary in summaries.items()}


class _Words(click.ParamType[str]):
    """A text parameter in UTF-8. Rejects other bytes, which a shell may pass on but no server
    accepts."""

    name = "text"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        text = str(value)
        try:
            text.encode()
        except UnicodeEncodeError:
            self.fail("the value is not UTF-8 text", param, ctx)
        return text


WORDS = _Words()
"""The type of every argument and option that is text rather than a file name."""

ENTITY = _Words()
"""The type of arguments that take a URN, or the name of an entity if no other has it. In a command
with `catalog_options` the name of a single entity is replaced by its URN; several are passed on,
for `edits.go_through`."""


def _with_urn(target: Target, text: Any) -> Any:
    if text is None or text == STDIN or text.startswith("urn:"):
        return text
    with target.open() as catalog:
        return str(catalog.urn_of(text))


def env_option(
    name: str, *names: str, **attributes: Any
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that adds an option which can also be set by an environment variable,
    named in its help: `CATALOG_DATA_DIR` for `--data-dir`. `attributes` are passed to
    `click.option`."""
    variable = f"CATALOG_{name.removeprefix('--').replace('-', '_').upper()}"
    return click.option(name, *names, envvar=variable, show_envvar=True, **attributes)


kept_in = env_option(
    "--data-dir",
    type=click.Path(file_okay=False, path_type=Path),
    help="Directory of the catalog.",
)
"""`--data-dir`: the directory of a catalog on this machine."""

registry_file = env_option(
    "--registry",
    "registry_file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="File that defines additional entities and aspects.",
)
"""`--registry`: the registry file that a deployment adds."""

token_file = env_option(
    "--token-file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File with the access tokens, if it is not in the data directory.",
)
"""`--token-file`: the file with access tokens, if it is outside the data directory."""


urns = click.argument(
    "urns", nargs=-1, required=True, type=WORDS, metavar="URN...", shell_complete=complete_urns
)
"""`URN...`: the entities; `-` stands for those on standard input."""

entity = click.argument("urn", type=ENTITY, metavar="URN|NAME", shell_complete=complete_urns)
"""`URN|NAME`: one entity."""

optional_entity = click.argument(
    "urn", type=ENTITY, metavar="[URN|NAME]", shell_complete=complete_urns, required=False
)
"""`[URN|NAME]`: one entity, which may be left out."""

entities = click.argument(
    "urns",
    nargs=-1,
    required=True,
    type=ENTITY,
    metavar="URN|NAME...",
    shell_complete=complete_urns,
)
"""`URN|NAME...`: the entities; `-` stands for the URNs on standard input, one per line."""

column_option = click.option(
    "--column",
    type=WORDS,
    metavar="PATH",
    help="Apply to this column, given by its path in the schema, or as a.b.c if that is unique.",
)
"""`--column`: a column instead of the entity itself."""

dry_run = click.option(
    "--dry-run", is_flag=True, help="Show what would change, without writing anything."
)
"""`--dry-run`: show the changes and write nothing."""

encoding = click.option(
    "--encoding",
    type=WORDS,
    help="The encoding of the file, such as cp1252, unless it is UTF-8 or UTF-16.",
)
"""`--encoding`: that of a file whose texts are written into the catalog."""


def new_file(*names: str, text: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that adds an option for a file to write; the command gets its path."""
    return click.option(
        *names, type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help=text
    )


propose = new_file(
    "--propose",
    text="Save the changes to this new file, for catalog docs review, instead of applying them.",
)
"""`--propose`: stage the changes in a changeset instead of applying them."""


def check_forms(
    shown_as: str | None, *, dry_run: bool, writes: bool, propose: Path | None = None
) -> None:
    """Raise `click.UsageError` if an option that only shows is combined with one that writes, or if
    `--dry-run` or `--propose` is given without a change."""
    if propose is not None and not writes:
        raise click.UsageError("--propose needs a change: give an option that makes one")
    if propose is not None and dry_run:
        raise click.UsageError("--propose never writes to the catalog; leave out --dry-run")
    if writes and shown_as in ("csv", "urns"):
        raise click.UsageError(
            f"--{shown_as} only shows the current state; use --json to report a change"
        )
    if dry_run and not writes:
        raise click.UsageError("--dry-run needs a change: give an option that makes one")


_DATE = click.DateTime(["%Y-%m-%d"])
_MAX_DAYS = 36_500


@dataclass(frozen=True, slots=True)
class Period:
    """The time from `start` to `end`, inclusive. None leaves that side open."""

    start: datetime | None = None
    end: datetime | None = None

    @property
    def phrase(self) -> str:
        """The period with a leading space, such as ` since 2026-01-31`; empty if unlimited."""
        match self.start, self.end:
            case None, None:
                return ""
            case start, None:
                return f" since {start:%Y-%m-%d}"
            case None, end:
                return f" until {end:%Y-%m-%d}"
            case start, end:
                return f" from {start:%Y-%m-%d} to {end:%Y-%m-%d}"


def period_options(
    days: int | None,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that adds `--days`, `--from` and `--to`; the command gets a `period`.

    By default the period is the last `days` days, or unlimited if `days` is None.
    """

    def with_period(command: Callable[..., None]) -> Callable[..., None]:
        @click.option(
            "--days",
            type=click.IntRange(1, _MAX_DAYS),
            help="Number of days to show, up to now or --to."
            + (f"  [default: {days}]" if days else ""),
        )
        @click.option("--from", "start", type=_DATE, metavar="DATE", help="First day to show.")
        @click.option("--to", "end", type=_DATE, metavar="DATE", help="Last day to show.")
        @wraps(command)
        def with_options(
            *args: object,
            days: int | None,
            start: datetime | None,
            end: datetime | None,
            **kwargs: object,
        ) -> None:
            command(*args, period=_read(days, start, end), **kwargs)

        return with_options

    def _read(given_days: int | None, start: datetime | None, end: datetime | None) -> Period:
        if given_days is not None and start is not None:
            raise click.UsageError("--days and --from both set the first day; give only one")
        if start is not None and end is not None and end < start:
            raise click.UsageError("--to is before --from")
        last = None
        if end is not None:
            last = end.replace(tzinfo=UTC) + timedelta(days=1) - timedelta(milliseconds=1)
        if start is not None:
            return Period(start.replace(tzinfo=UTC), last)
        back = given_days if given_days is not None else days
        if back is None:
            return Period(None, last)
        # Usage is counted by whole days; today is the last of them.
        today = (last or datetime.now(UTC)).replace(hour=0, minute=0, second=0, microsecond=0)
        return Period(today - timedelta(days=back - 1), last)

    return with_period


_OWNERS: Final = ("corpuser", "corpGroup")


def read_filters(texts: Sequence[str], catalog: "Catalog") -> "Filter":
    """Parse filters and return one that matches only entities that match all of them."""
    from explorer.query import read_filter
    from explorer.query.filters import Filter

    combined = Filter()
    for text in texts:
        combined = combined.and_(read_filter(text, catalog.registry))
    return combined


class DatasetArguments(TypedDict):
    """The keyword arguments that select datasets in the methods of `Stewardship`."""

    urns: Sequence[str]
    text: str
    filter: "Filter"
    folder: str | None


@dataclass(frozen=True, slots=True)
class DatasetChoice:
    """Datasets selected by URN, by folder, or by search and filters; by default all of them."""

    urns: tuple[str, ...] = ()
    text: str = ""
    filters: tuple[str, ...] = ()
    folder: str | None = None

    def words(self) -> str:
        """Return a phrase that says which datasets are selected."""
        datasets = f"{len(self.urns):,} datasets" if len(self.urns) > 1 else "".join(self.urns)
        parts = (datasets, self.text, *self.filters, self.folder or "")
        return " ".join(filter(None, parts)) or "the whole catalog"

    def read(self, catalog: "Catalog", owners: Sequence[str] = ()) -> "tuple[Urn, ...]":
        """Return the URNs of the datasets; with `owners`, only those that one of them owns.

        Raises `NotFound` if there is no such dataset.
        """
        from explorer.stewardship import Stewardship

        datasets = Stewardship(catalog).datasets(**self.selection(catalog, owners))
        require_any(len(datasets))
        return datasets

    def selection(self, catalog: "Catalog", owners: Sequence[str] = ()) -> "DatasetArguments":
        """Return the arguments for `Stewardship`; with `owners`, only datasets that one of them
        owns."""
        from explorer.errors import InvalidInput
        from explorer.query.filters import all_of

        filter = read_filters(self.filters, catalog)
        if owners:
            filter = filter.and_(all_of(_owner_criterion(owners)))
        names = read_urns(self.urns)
        if self.urns and not names:
            raise InvalidInput("no URN on standard input; give one per line")
        return {
            "urns": [str(catalog.urn_of(dataset, "dataset")) for dataset in names],
            "text": self.text or "*",
            "filter": filter,
            "folder": self.folder,
        }


def own_urn(catalog: "Catalog") -> str:
    """Return the URN of the user that the server has authenticated.

    Raises `InvalidInput` if the server does not say.
    """
    from explorer.errors import InvalidInput

    user = catalog.me()
    if user is None:
        raise InvalidInput("this server does not know who you are; give your name with --owner")
    return str(user)


def _owner_criterion(owners: Sequence[str]) -> "Criterion":
    """Return the criterion that matches entities owned by one of the owners. A text that is not a
    URN is the id or name of a person or group, such as `Nina Weber`."""
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
    """Raise `NotFound` if the number of datasets is 0."""

    if not datasets:
        raise NotFound("no dataset matches")


filter_option = click.option(
    "--filter",
    "filters",
    type=WORDS,
    metavar="FILTER",
    multiple=True,
    help="Only what matches this filter; if repeated, all must match.",
)
"""`--filter`: filters in the query language, all of which must match."""


def dataset_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add URNs or names, `--search`, `--filter` and `--folder`; the command gets a `choice`."""

    @click.argument(
        "urns", nargs=-1, type=ENTITY, metavar="[URN|NAME]...", shell_complete=complete_urns
    )
    @click.option("--search", "text", type=WORDS, default="", help="The datasets that match TEXT.")
    @filter_option
    @click.option(
        "--folder", type=WORDS, metavar="PATH", help="The datasets in this folder and below it."
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
            raise click.UsageError("URNs, --folder and a search cannot be combined; give only one")
        command(*args, choice=DatasetChoice(urns, text, filters, folder), **kwargs)

    return with_choice


@contextmanager
def progress_bar(name: str) -> Iterator[Callable[[int, int], None]]:
    """Show a progress bar on standard error, if that is a terminal, until the block ends.

    Yields a function to call with the number of items done and the total.
    """
    from explorer.cli.output import progress_bars

    with progress_bars() as bars:
        task = bars.add_task(name, total=None)
        yield lambda done, total: bars.update(task, completed=done, total=total)


@contextmanager
def session_progress(session: "Session[Any]", name: str) -> Iterator[None]:
    """Show the work of a session as a progress bar until the block ends; see `progress_bar`."""
    with progress_bar(name) as show:

        def tell(state: "SessionState") -> None:
            if state.work is not None and state.work.total:
                show(state.work.done, state.work.total)

        end = session.subscribe(tell)
        try:
            yield
        finally:
            end()
