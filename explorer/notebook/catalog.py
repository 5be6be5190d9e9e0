"""`explorer.Catalog` and `explorer.AsyncCatalog`: clients whose results render themselves in a
notebook."""

import asyncio
from collections.abc import (
    AsyncIterator,
    Callable,
    Coroutine,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from concurrent import futures
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, cast
from weakref import ref

from explorer import client
from explorer.client import entity as read
from explorer.client.completion import CompletionMethods
from explorer.client.connection import Connection
from explorer.client.editable import OWNERS, TAGS, TERMS, listed, urns_of
from explorer.client.journal import JournalSave
from explorer.client.naming import takes_names
from explorer.client.records import ChangePage, Edit, Measures, ServerInfo
from explorer.errors import CatalogError, InvalidUrn, Misuse, NotFound
from explorer.metadata.names import singular
from explorer.metadata.proposal import Proposal
from explorer.metadata.urn import Urn
from explorer.notebook.entity import (
    Blame,
    ChangesTable,
    ColumnChanges,
    EditsTable,
    EntityPage,
    JournalTable,
    Runs,
    SaveTable,
    Waiting,
    names_of,
    names_of_existing,
    to_undoable,
)
from explorer.notebook.progress import counting, each, steps, with_progress
from explorer.notebook.schema import ColumnsTable, read_columns_named
from explorer.notebook.search import (
    SearchCatalog,
    SearchReader,
)
from explorer.notebook.view import (
    Shown,
    ShownTable,
    table_parts,
    values_of,
)
from explorer.query.filters import Filter
from explorer.views.history import actors_of
from explorer.views.parts import Cell, Facts, Part, Say, Title
from explorer.views.search import meaning_label
from explorer.views.sources import (
    counts_text,
    drift_text,
    effects_text,
    options_sentence,
    plan_table,
)
from explorer.views.table import Table, TableColumn, to_frame

if TYPE_CHECKING:
    import pandas as pd

    from explorer.notebook.drafts import DraftsTable
    from explorer.notebook.explorer import Explorer
    from explorer.notebook.stewardship import Documentation, LoadTable, NotebookStewardship
    from explorer.sources.run import RunOutcome, RunPlan

_P = ParamSpec("_P")
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, repr=False)
class Server(Shown, ServerInfo):
    """The description that a server gives of itself."""

    def parts(self) -> Iterator[Part]:
        kind = "the local catalog" if self.embedded else ""
        sample = "contains the sample" if self.sample else ""
        facts = (self.product, self.version, kind, sample)
        yield Title("Server", " · ".join(filter(None, facts)))
        rows = [("address", Cell(self.address))]
        if self.entities is not None:
            rows.append(("entities", Cell(f"{self.entities:,}")))
        if meaning := meaning_label(self):
            rows.append(("search", Cell(meaning)))
        yield Facts(rows)


def to_server(info: ServerInfo) -> Server:
    """Return a server description that renders itself."""
    return Server(**values_of(info))


_MOST_REMARKS = 20


@dataclass(frozen=True, slots=True, repr=False)
class AddedTable(ShownTable):
    """The changes that adding a source made in the catalog; without `outcome`, the planned ones.

    `kept_options` are the names of options that were not given again, and keep the values with
    which the source was added before.
    """

    plan: "RunPlan"
    outcome: "RunOutcome | None" = None
    kept_options: tuple[str, ...] = ()

    def to_frame(self) -> "pd.DataFrame":
        """Return a row for each entity that is new, changed, restored or gone: `effect`, `type`,
        `name`, `urn`. No request."""
        return to_frame(plan_table(self.plan))

    def parts(self) -> Iterator[Part]:
        plan = self.plan
        done = "nothing was written" if self.outcome is None else effects_text(plan.counts)
        yield Title(plan.source.name, f"{counts_text(plan.inventory.kinds)} · {done}")
        if self.kept_options:
            yield Say(options_sentence(self.kept_options))
        table = plan_table(plan)
        if table.rows:
            yield from table_parts(table)
        for change in plan.drift[:_MOST_REMARKS]:
            yield Say(drift_text(change))
        refused = self.outcome.refused if self.outcome else ()
        remarks = [f"refused {change.urn} {change.aspect}: {change.reason}" for change in refused]
        remarks += plan.inventory.notes
        remarks += [f"skipped {part.subject}: {part.reason}" for part in plan.inventory.skipped]
        for remark in remarks[:_MOST_REMARKS]:
            yield Say(remark)
        if len(remarks) > _MOST_REMARKS:
            yield Say(f"and {len(remarks) - _MOST_REMARKS:,} more, in .plan.inventory.skipped")


_MOST_ROWS = 20


@dataclass(frozen=True, repr=False)
class Names(ShownTable):
    """The entities whose names completion knows now: iterates over their names."""

    entries: tuple[tuple[Urn, str], ...]
    total: int | None
    known_count: int

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[str]:
        return (name for _, name in self.entries)

    def to_frame(self) -> "pd.DataFrame":
        """Return a row for each entity: `urn`, `name`, `type`, `platform`. No request."""
        return to_frame(replace(self._table(), title="Names", total=self.total))

    def parts(self) -> Iterator[Part]:
        of = f" of {self.total:,}" if self.total and self.total > len(self) else ""
        yield Title("Names", f"{len(self):,}{of} read, {self.known_count:,} to complete from")
        yield from table_parts(self._table(), _MOST_ROWS)

    def _table(self) -> Table:
        columns = (
            TableColumn("urn", None, lambda entry: str(entry[0]), "programs"),
            TableColumn("name", read=lambda entry: entry[1], style="bold", detail="urn"),
            TableColumn("type", None, lambda entry: entry[0].entity_type, "programs"),
            TableColumn("type", None, lambda entry: singular(entry[0].entity_type), "people"),
            TableColumn("platform", read=lambda entry: entry[0].platform),
        )
        return Table.from_records(self.entries, columns)


_NAMES_AT_ONCE = 200
# How many names the first completion of a session reads, and for how long it may block.
_NAMES_AT_FIRST = 2_000
_COMPLETION_SECONDS = 1.0


@takes_names
class CatalogReader(SearchReader):
    """The methods of both notebook catalogs that read the catalog or add labels, implemented with a
    client."""

    async def info(self) -> Server:
        """Return the server's description of itself. One request.

        Example: `cat.info()`
        """
        return to_server(await self._plain.info())

    async def blame(self, urn: str | Urn) -> Blame:
        """Return for each documented column, in schema order, the change that set its current
        description: the edited one if there is one, else the ingested one.

        Two requests if the latest 20 versions suffice, else more, and one for the authors' names.

        Example: `cat.blame(urn).df`
        """
        changes = await self._plain.blame(urn)
        actors = actors_of(change.created for change in changes.values())
        return Blame.of(changes, names_of(await self._plain.summaries(actors)))

    async def column_history(self, urn: str | Urn, column: str) -> ColumnChanges:
        """Return every change of a column's description by ingestion and by people, newest first;
        empty if the column never had a description. `column` is its exact field path.

        One request per 20 versions of the ingested and of the edited schema aspect if the server
        returns several versions at once, else one per version; and one for the names.

        Example: `cat.column_history(urn, "order_id").df`
        """
        changes = await self._plain.column_history(urn, column)
        actors = actors_of(change.created for change in changes)
        return ColumnChanges(changes, names_of(await self._plain.summaries(actors)))

    async def journal(self, words: str = "") -> JournalTable:
        """Return the edits made from this machine on every server, with the previous values; with
        `words`, only edits of saves that contain all the words in a name, a text, a label, or the
        date (`2030-01-31`). `undo_save` undoes one of its `saves`. No request.

        Example: `cat.journal("orders").df`
        """
        return JournalTable(await self._plain.journal(words))

    async def changes(
        self,
        after: int | None = None,
        *,
        limit: int = 100,
        urns: Iterable[str | Urn] | None = None,
        aspects: Iterable[str] | None = None,
        entities: Iterable[str] | None = None,
        values: bool = True,
    ) -> ChangesTable:
        """Return a page of the changes after an offset of the log, or from the oldest change kept,
        at most `limit` (a server may return fewer, this project's at most 1,000); `values=False`
        leaves out the written values. One request, one more the first time, and one per hundred
        names. `changes(limit=0).head` is the offset at the end of the log.

        Example: `cat.changes(limit=10).df`
        """
        page = await self._plain.changes(
            after, limit=limit, urns=urns, aspects=aspects, entities=entities, values=values
        )
        return _changes(page, await self._plain.summaries(_urns_in(page)))

    async def runs(
        self, *, start: int = 0, count: int = 100, include_removed: bool = False
    ) -> Runs:
        """Return the ingestion runs whose metadata is still stored, newest first; with
        `include_removed`, metadata of soft-deleted entities counts too. One request.

        Example: `cat.runs(count=5).df`
        """
        first_runs = await self._plain.runs(
            start=start, count=count + 1, include_removed=include_removed
        )
        runs = Runs(first_runs[:count])
        runs.truncated = len(first_runs) > count
        return runs

    async def measures(self, urns: Iterable[str | Urn]) -> dict[Urn, Measures]:
        """Return the number of rows, the use and the last change of the datasets among these
        entities; datasets with none of them are left out. One request per 25; can be interrupted.

        Example: `cat.measures([urn])[Urn.parse(urn)].rows`
        """
        return await self._plain.measures(urns)

    async def add_tags(
        self,
        urn: str | Urn,
        tags: str | Urn | Iterable[str | Urn],
        *,
        column: str | None = None,
        instead_of: str | Urn | Iterable[str | Urn] | None = None,
    ) -> Edit:
        """Add tags, given by id, name or URN, to an entity, or to a dataset's column at an exact
        path; present ones are kept.

        Two requests, one if there is nothing to change. Raises `NotFound`, naming similar tags, for
        a tag that does not exist; `TextConflict` if the entity no longer has the tags `instead_of`.

        Example: `cat.add_tags(urn, "PII", column="order_id")`
        """
        labels = TAGS.urns(tags := tuple(listed(tags, "names, ids or URNs")))
        async with self._suggest_similar(labels, TAGS.entity_types):
            return await self._plain.add_tags(urn, tags, column=column, instead_of=instead_of)

    async def add_terms(
        self,
        urn: str | Urn,
        terms: str | Urn | Iterable[str | Urn],
        *,
        column: str | None = None,
        instead_of: str | Urn | Iterable[str | Urn] | None = None,
    ) -> Edit:
        """Add glossary terms to an entity or a column. Names, requests and errors are as for
        `add_tags`.

        Example: `cat.add_terms(urn, "Finance.NetRevenue", column="net_amount")`
        """
        labels = TERMS.urns(terms := tuple(listed(terms, "names, ids or URNs")))
        async with self._suggest_similar(labels, TERMS.entity_types):
            return await self._plain.add_terms(urn, terms, column=column, instead_of=instead_of)

    async def add_owners(
        self,
        urn: str | Urn,
        owners: str | Urn | Iterable[str | Urn],
        *,
        ownership: str = "TECHNICAL_OWNER",
        instead_of: Iterable[str] | None = None,
    ) -> Edit:
        """Add owners to an entity: people by id, people and groups by name or URN. `ownership` is a
        word such as `DATA_STEWARD`, or the URN of an ownership type. Requests and errors are as for
        `add_tags`.

        Example: `cat.add_owners(urn, "jdoe", ownership="DATA_STEWARD")`
        """
        labels = OWNERS.urns(owners := tuple(listed(owners, "names, ids or URNs")))
        async with self._suggest_similar(labels, OWNERS.entity_types):
            return await self._plain.add_owners(
                urn, owners, ownership=ownership, instead_of=instead_of
            )

    async def set_domain(
        self,
        urn: str | Urn,
        domain: str | Urn | None,
        *,
        instead_of: str | Urn | Iterable[str | Urn] | None = None,
    ) -> Edit:
        """Set the domain of an entity, given by id, name or URN, replacing any other; None removes
        it. Requests and errors are as for `add_tags`.

        Example: `cat.set_domain(urn, "finance")`
        """
        labels = () if domain is None else tuple(map(str, urns_of(domain, "domain")))
        async with self._suggest_similar(labels, ("domain",)):
            return await self._plain.set_domain(urn, domain, instead_of=instead_of)

    @asynccontextmanager
    async def _suggest_similar(
        self, labels: Iterable[str], types: Sequence[str]
    ) -> AsyncIterator[None]:
        """If the `with` block raises `NotFound` because one of these labels, given as URNs, does
        not exist, raise a `NotFound` that names similar labels instead."""
        try:
            yield
        except NotFound:
            for label in map(Urn.parse, labels):
                if not (await self._plain.entity(label)).exists:
                    raise await self.unknown_label(label.name, types) from None
            raise

    async def learn_names(self) -> None:
        """Read the names of up to 2,000 datasets."""
        async with self._plain.hits(entity="dataset", limit=_NAMES_AT_FIRST) as pages:
            while page := await pages.page():
                await self.summed_up([hit.urn for hit in page])


class NotebookCatalog(SearchCatalog):
    """A blocking catalog for a notebook or a script.

        cat = Catalog()
        cat.search("orders platform:snowflake")   # a table; .df is a DataFrame
        orders = cat["fct_orders"]                # by name or URN; TAB completes names
        orders.schema, orders.usage(), orders.lineage(), orders.impact(), orders.history()
        orders = orders.describe("One row an order.").add_tags("PII")
        cat.undo_save()                           # undoes the last save
        cat.explore()                             # a widget to browse and edit
        cat.drafts                                # texts that were typed and not saved
        cat.docs("orders")                        # descriptions to edit in a DataFrame
        cat.stewardship.worklist()                # what to document next

    An error is shown in one line; `%tb` shows its traceback. The results of `search`, `entity`,
    `dataset` and `browse` are shown as tables and can be converted to DataFrames; the other methods
    are those of `explorer.client.Catalog`.

    Edits are recorded in the same journal as those of the terminal and the command line:
    `cat.undo_save()` undoes the last save of this notebook, `cat.redo()` repeats it.

    `cat["fct_orders"]` is the entity with that name or URN; completion offers the names read so
    far, and `cat.names()` reads more.
    """

    reader: CatalogReader
    _keeps_journal = True
    _reading_names: "futures.Future[None] | None" = None

    def _start(self, connection: Connection) -> None:
        super()._start(connection)
        # A weak reference: a catalog ends its thread when it is garbage-collected.
        own = ref(self)

        def catalog() -> NotebookCatalog:
            catalog = own()
            if catalog is None:
                raise Misuse("this client is closed; create a new one")
            return catalog

        self.reader = CatalogReader()
        self.reader.read_with(self.core, catalog)

    def __repr__(self) -> str:
        # People know it as `explorer.Catalog`. The embedded one has no address before it is found.
        text = super().__repr__().replace("NotebookCatalog", "Catalog", 1)
        return "Catalog(embedded, not asked yet)" if text == "Catalog('')" else text

    add_tags = Waiting(CatalogReader.add_tags).call
    add_terms = Waiting(CatalogReader.add_terms).call
    add_owners = Waiting(CatalogReader.add_owners).call
    set_domain = Waiting(CatalogReader.set_domain).call
    info = Waiting(CatalogReader.info).call
    blame = Waiting(CatalogReader.blame).call
    column_history = Waiting(CatalogReader.column_history).call
    changes = Waiting(CatalogReader.changes).call
    journal = Waiting(CatalogReader.journal).call
    runs = Waiting(CatalogReader.runs).call
    measures = Waiting(CatalogReader.measures, "reading sizes and use").call

    def wait(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Run work on the client's thread, and return its result; see `client.Catalog.wait`. Edits,
        tuples of edits and saves of the journal are returned as objects that render themselves. If
        a name was given instead of a URN, the error says how to find its URN.

        Example: `cat.wait(cat.core.info())`
        """
        try:
            return cast("_T", _to_display(super().wait(work), self))
        except InvalidUrn as error:
            if not str(error).startswith("position 0:"):
                raise
            raise InvalidUrn(f"{error}; cat[NAME].urn is the URN of a name") from None

    def _ipython_key_completions_(self) -> list[str]:
        """Return the names and URNs that complete `cat["…"]`, those read last first.

        The first completion of a session reads the names of up to 2,000 datasets, on the client's
        thread, and waits at most one second; the next completion has the rest. Later completions
        send no request unless the first failed.
        """
        reading = self._reading_names
        if reading is None or (
            reading.done() and (reading.cancelled() or reading.exception() is not None)
        ):
            reading = self._reading_names = self.begin(self.reader.learn_names())
        with suppress(CatalogError, futures.TimeoutError, futures.CancelledError):
            reading.result(_COMPLETION_SECONDS)
        return self.reader.known_names.offered()

    def explore(
        self, text: str = "", *, filter: str = "", urn: str | Urn | None = None
    ) -> "Explorer":
        """Return a widget to browse, search, read and document this catalog in the page, starting
        with a search for `text`, a filter, and an open entity, given by its URN or name.

        Its attributes `selected`, `results`, `entity` and `df` follow what the reader does on the
        page. A cell that is run again keeps its drafts and, unless the call gives another search or
        entity, its search. Returns at once, except that an entity's name is searched for first; the
        page is read in the background, with about six requests at first.

        Example: `explorer = cat.explore("orders", filter="platform:snowflake")`
        """
        from explorer.notebook.explorer import explore

        opened = self.urn_of(urn) if urn else None
        return explore(self, text, filter=filter, urn=opened)

    def names(
        self,
        text: str = "*",
        *,
        entity: str | Sequence[str] | None = None,
        filter: Filter | str | None = None,
        limit: int = 10_000,
    ) -> Names:
        """Return names and URNs of at most `limit` search results, and remember them for
        completion: `cat["ord<TAB>"]`.

        One request per 200 entities and two for their names; shows its progress, and can be
        interrupted: the names read by then are kept.

        Example: `cat.names("revenue", limit=500)`
        """
        pages = self.hits(text, entity=entity, filter=filter, limit=limit)

        def total() -> int | None:
            return None if pages.total is None else min(limit, pages.total)

        entries: list[tuple[Urn, str]] = []
        waiting: list[Urn] = []

        def learn() -> None:
            fresh = list(names_of_existing(self.summaries(waiting).values()))
            self.reader.known_names.learn(fresh)
            entries.extend(fresh)
            waiting.clear()

        with pages:
            for hit in each(pages, "reading names", total=total):
                waiting.append(hit.urn)
                if len(waiting) == _NAMES_AT_ONCE:
                    learn()
        learn()
        total_found = pages.total if pages.truncated else len(entries)
        return Names(tuple(entries), total_found, len(self.reader.known_names))

    def columns(
        self, name: str, *, filter: Filter | str | None = None, limit: int = 1_000
    ) -> ColumnsTable:
        """Return the columns with a name in all tables or in those that match a filter, for at most
        `limit` tables: their types and descriptions side by side.

        `name` is the path of a column, or the end of the path of a nested one, in upper or lower
        case; `*` and `?` are wildcards: `*_id`. One request per 200 tables, one per hundred tables
        for their columns, and one per hundred names of tags and terms; shows its progress, and can
        be interrupted.

        Example: `cat.columns("customer_id", filter="platform:snowflake").df`
        """
        return read_columns_named(self, name, filter, limit)

    @property
    def drafts(self) -> "DraftsTable":
        """Return the drafts: the descriptions that were typed in a terminal or a widget on this
        machine and are not saved, newest first. `drafts[0].widget()` opens one in its editor,
        `save()` saves it, `discard()` discards it. No request.

        Example: `cat.drafts.df`
        """
        from explorer.notebook.drafts import read_drafts

        return read_drafts(self)

    @property
    def stewardship(self) -> "NotebookStewardship":
        """Return the interface for coverage, worklist, and bulk changes; no request."""
        from explorer.notebook.stewardship import NotebookStewardship

        return NotebookStewardship(self)

    def docs(
        self,
        text: str = "*",
        *,
        filter: Filter | str | None = None,
        folder: str | None = None,
    ) -> "Documentation":
        """Return the descriptions of the datasets that a search finds, or that are in and below a
        folder, and of their columns, for editing as a DataFrame; see `stewardship.documentation`.

        `docs.df` is the frame, `docs.diff()` shows the changes that its texts would make, and
        `docs.apply()` writes them. Requests of the search, and of reading the datasets found.

        Example: `cat.docs("orders").df`
        """
        return self.stewardship.documentation(text=text, filter=filter, folder=folder)

    def add(
        self,
        what: object,
        name: str | None = None,
        *,
        env: str | None = None,
        instance: str | None = None,
        schemas: Sequence[str] | None = None,
        dialect: str | None = None,
        stats: bool | None = None,
        values: bool | None = None,
        encoding: str | None = None,
        patterns: Sequence[str] | None = None,
        accept_removals: bool = False,
        dry_run: bool = False,
    ) -> AddedTable:
        """Add your own data to the catalog, like the command `catalog add`: a path or URL, an
        SQLAlchemy engine, a DuckDB connection or relation, or a data frame; data in memory needs a
        `name`.

        With `stats`, the values in columns are measured; with `values`, also those in columns that
        look personal. With `dialect`, a file is read as a log of queries in that SQL dialect.
        `encoding` is the encoding of text files, by default detected, and `patterns` match files
        that form one table, such as `["orders_*.csv"]`. With `dry_run`, nothing is written. Adding
        data again under its name updates the catalog; options that are not given keep their values,
        and `instance=""` removes the instance. Requests are those of `plan_run` and `run_source`,
        and one more.

        Example: `cat.add(cat.names("orders").df, "names_of_orders", stats=True, dry_run=True)`
        """
        from explorer.sessions.sources import CallerRunner, SourceSession
        from explorer.sources.source import SourceOptions

        options = SourceOptions(
            env or "PROD",
            instance or None,
            tuple(schemas or ()),
            dialect or None,
            bool(stats),
            bool(values),
            encoding=encoding or None,
            patterns=tuple(patterns or ()),
        )
        arguments = {
            "env": env,
            "instance": instance,
            "schemas": schemas,
            "dialect": dialect,
            "profile": stats,
            "values": values,
            "encoding": encoding,
            "patterns": patterns,
        }
        option_names = {option for option, value in arguments.items() if value is not None}
        runner = CallerRunner(self)
        session = SourceSession(self.core, runner)
        with steps() as session.progress:
            opened = runner.wait(session.open(what, name or "", options, option_names))
            table = AddedTable(
                runner.wait(session.plan(dry_run=dry_run)), kept_options=opened.kept_options
            )
            if dry_run:
                return table
            writing = session.write(table.plan, accept_removals=accept_removals)
            return replace(table, outcome=runner.wait(writing))

    def ingest_batch(self, proposals: Iterable[Proposal]) -> "LoadTable":
        """Write many aspects, as many as possible; see `client.Catalog.ingest_batch`. Shows a
        progress bar, and can be interrupted.

        Example: `cat.ingest_batch([Proposal(Urn.parse(urn), "status", {"removed": False})])`
        """
        from explorer.notebook.stewardship import load_table

        return load_table(
            with_progress(
                self, lambda tell: self.core.ingest_batch(counting(proposals, tell)), "loading"
            )
        )

    def last_seen(self, urn: str | Urn, column: str | None = None) -> str | None:
        """Return the edited description of an entity, or of its column at an exact path, as this
        session last read it: "" if there was none, None if it was not read. No request.

        Example: `cat.last_seen(urn, column="order_id")`
        """
        return self.reader.seen_texts.of(Urn.parse(urn), column)


def _in_thread(
    method: "Callable[Concatenate[NotebookCatalog, _P], _T]",
) -> "Callable[Concatenate[AsyncNotebookCatalog, _P], Coroutine[Any, Any, _T]]":
    """Return an awaitable method that runs a method of the blocking catalog in a thread."""

    @wraps(method)
    async def call(catalog: "AsyncNotebookCatalog", /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        return await asyncio.to_thread(method, catalog.blocking, *args, **kwargs)

    call.__doc__ = f"As `Catalog.{method.__name__}`."
    return call


class AsyncNotebookCatalog(CatalogReader, client.AsyncCatalog):
    """A catalog whose methods are awaited, in a cell or in a program.

        cat = AsyncCatalog()
        page, orders = await asyncio.gather(cat.search("orders"), cat["fct_orders"])
        page.df

    It has the parameters and methods of `Catalog`. Its results render themselves like those of
    `Catalog`, and their methods block: `orders.lineage()` is not awaited. `blocking` is the
    `Catalog` through which results send their requests.
    """

    _keeps_journal = True

    def __repr__(self) -> str:
        # People know it as `explorer.AsyncCatalog`.
        return super().__repr__().replace("AsyncNotebookCatalog", "AsyncCatalog", 1)

    def _start(self, connection: Connection) -> None:
        super()._start(connection)
        # Another client on the same connection, whose methods are not overridden.
        plain = client.AsyncCatalog.__new__(client.AsyncCatalog)
        CompletionMethods.__init__(plain, connection)
        self.read_with(plain, lambda: self.blocking)

    @cached_property
    def blocking(self) -> "NotebookCatalog":
        """Return a blocking catalog that shares the names and texts read by this one. No
        request."""
        catalog = NotebookCatalog.__new__(NotebookCatalog)
        catalog._open(self._connect)  # noqa: SLF001 - the two faces of one client
        catalog.reader.known_names, catalog.reader.seen_texts = self.known_names, self.seen_texts
        return catalog

    async def close(self) -> None:
        """Close the connection, here and in `blocking`."""
        blocking = vars(self).get("blocking")
        if blocking is not None:
            await asyncio.to_thread(blocking.close)
        await super().close()

    def __getitem__(self, name: str | Urn) -> "asyncio.Future[EntityPage]":
        """Return the entity with a name or URN: `await cat["fct_orders"]`; see `Catalog`."""
        return asyncio.ensure_future(self.read_named(name))

    # Without this, Python would iterate over it by asking for the items 0, 1, 2, …
    __iter__ = None

    def _ipython_key_completions_(self) -> list[str]:
        return self.blocking._ipython_key_completions_()

    names = _in_thread(NotebookCatalog.names)
    columns = _in_thread(NotebookCatalog.columns)
    docs = _in_thread(NotebookCatalog.docs)
    add = _in_thread(NotebookCatalog.add)

    def explore(
        self, text: str = "", *, filter: str = "", urn: str | Urn | None = None
    ) -> "Explorer":
        """Return the explorer widget at once, without `await`; see `Catalog.explore`."""
        return self.blocking.explore(text, filter=filter, urn=urn)

    @property
    def drafts(self) -> "DraftsTable":
        """Return the drafts on this machine; see `Catalog.drafts`. No request."""
        return self.blocking.drafts

    @property
    def stewardship(self) -> "NotebookStewardship":
        """Return the interface for coverage, worklist, and bulk changes, whose methods block."""
        return self.blocking.stewardship

    def last_seen(self, urn: str | Urn, column: str | None = None) -> str | None:
        """Return the edited description as this session last read it; see `Catalog.last_seen`. No
        request."""
        return self.seen_texts.of(Urn.parse(urn), column)


def _to_display(result: object, catalog: NotebookCatalog) -> object:
    match result:
        case Edit():
            return to_undoable(result, catalog)
        case (Edit(), *_) if isinstance(result, tuple):
            return EditsTable(to_undoable(edit, catalog) for edit in result)
        case JournalSave():
            return SaveTable(**values_of(result))
        case _:
            return result


def _changes(page: ChangePage, entities: Mapping[Urn, read.Entity]) -> ChangesTable:
    return ChangesTable(page.changes, page.next, page.head, names_of(entities))


def _urns_in(page: ChangePage) -> tuple[Urn, ...]:
    """Return the URNs of the changed entities and their authors, each once."""
    actors = Urn.parse_all(event.actor for event in page)
    return tuple(dict.fromkeys((*(event.urn for event in page), *actors)))
