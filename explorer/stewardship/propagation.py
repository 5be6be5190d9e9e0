"""Propagation: proposing descriptions for undocumented columns from the columns that they are
derived from or that have the same name.

Nothing is written. A proposal is a staged edit, to be reviewed, with the source of its text and how
the source was found.
"""

import asyncio
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Final, Literal, TypeAlias
from urllib.parse import unquote

from explorer.client.connection import gather_limited
from explorer.client.entity import Entity
from explorer.client.transport import REFUSALS
from explorer.errors import InvalidInput, ServerFault
from explorer.metadata.fieldpath import ColumnPaths, FieldPath, column_edges, split_column
from explorer.metadata.urn import Urn
from explorer.query.filters import Criterion, Filter
from explorer.stewardship.concepts import columns_filter
from explorer.stewardship.documentation import TEXT_ASPECTS, Progress, read_datasets
from explorer.stewardship.staging import StagedEdit, TextSource

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog

ColumnKey: TypeAlias = tuple[str, str]
"""The URN of a dataset and the field path of one of its columns."""

_ASPECTS: Final = (*TEXT_ASPECTS, "upstreamLineage")
_JOB_ASPECTS: Final = ("dataJobInputOutput", "status")
_MOST_SOURCES: Final = 5
_AT_ONCE: Final = 4
_TABLES_A_SEARCH: Final = 100
_NAMES_A_SEARCH: Final = 25
_MOST_SEARCHES: Final = 24
_DATASETS_A_SEARCH: Final = 50

# Sized for the names of all tables, which mostly repeat.
_MOST_NAMES: Final = 16_384

_PLACEHOLDERS: Final = frozenset(
    (
        *("na", "none", "null", "nil", "tbd", "tba", "tbc", "todo", "fixme", "xxx", "test"),
        *("unknown", "undefined", "undocumented", "notdocumented", "notavailable"),
        *("notapplicable", "description", "nodescription", "nodescriptionavailable"),
    )
)
_NO_LETTERS = re.compile(r"[\W_]+")


@dataclass(frozen=True, slots=True)
class KnownColumn:
    """A column with its ingested and edited description, which may be empty."""

    path: str
    ingested: str = ""
    edited: str = ""

    @property
    def documented(self) -> bool:
        """Whether there is a description, even a placeholder."""
        return bool(self.edited.strip() or self.ingested.strip())

    @property
    def text(self) -> str:
        """The text that can be proposed for other columns: the edited description, else the
        ingested one.

        Stripped of white space; empty if it is a placeholder.
        """
        text = self.edited.strip() or self.ingested.strip()
        return "" if is_placeholder(text, self.path) else text


@dataclass(frozen=True)
class KnownTable:
    """The properties of a dataset that are needed to propose descriptions.

    `columns` are in schema order, `upstreams` the datasets it is derived from, `made_from` the
    columns that each of its columns is derived from. For a dataset that does not exist they are
    empty.
    """

    urn: str
    name: str = ""
    columns: tuple[KnownColumn, ...] = ()
    upstreams: tuple[str, ...] = ()
    made_from: Mapping[str, tuple[ColumnKey, ...]] = field(default_factory=dict)
    removed: bool = False
    description: str = ""

    @cached_property
    def paths(self) -> ColumnPaths:
        """The columns by path and by name."""
        return ColumnPaths.of(column.path for column in self.columns)

    @cached_property
    def texts(self) -> Mapping[str, str]:
        """The descriptions that can be proposed for other columns, by path; empty if
        soft-deleted."""
        columns = () if self.removed else self.columns
        return {column.path: column.text for column in columns if column.text}

    @cached_property
    def _by_last_name(self) -> Mapping[str, tuple[str, ...]]:
        paths_by_name: dict[str, list[str]] = {}
        for column in self.columns:
            paths_by_name.setdefault(_last_name(column.path), []).append(column.path)
        return {name: tuple(paths) for name, paths in paths_by_name.items()}

    def columns_named_like(self, path: str) -> tuple[str, ...]:
        """Return the columns that have the name of a column of another table.

        The name is the path without types, ignoring case. If no column has it, the last part of the
        name is compared, if only one column has it and one of the two columns is not nested: a
        flattened table has `zip` for `address.zip`, but `billing.zip` is not `shipping.zip`.
        """
        same_names = self.paths.by_name.get(name_of(path), ())
        if same_names:
            return same_names
        last = self._by_last_name.get(_last_name(path), ())
        is_flat = len(last) == 1 and (_is_top(path) or _is_top(last[0]))
        return last if is_flat else ()


def is_placeholder(text: str, path: str = "") -> bool:
    """Return whether a text does not describe the column with that path.

    It is empty, has no letters, is a common placeholder (`n/a`, `TBD`), or repeats the column's
    name.
    """
    letters = _letters(text)
    names = {_letters(FieldPath(path).name), _letters(FieldPath(path).simple)}
    return not letters or letters in _PLACEHOLDERS or letters in names


def table_of(entity: Entity) -> KnownTable:
    """Return a table from the dataset's own aspects. No requests.

    Raises `ServerFault` if an aspect does not fit its record.
    """
    urn = str(entity.urn)
    columns = {
        column.path.raw: KnownColumn(column.path.raw, column.ingested or "", column.edited or "")
        for column in entity.schema
    }
    lineage = entity.raw("upstreamLineage") or {}
    upstreams = _urns(lineage.get("upstreams"), "dataset")
    table = KnownTable(
        urn,
        entity.name,
        tuple(columns.values()),
        removed=entity.removed,
        description=entity.description,
    )
    return _with_lineage(table, upstreams, lineage)


def add_jobs(table: KnownTable, jobs: Iterable[Entity]) -> KnownTable:
    """Return the table with the lineage of the data jobs that write it added.

    The jobs' inputs are upstream of it. Jobs that do not write it, or are soft-deleted, are
    ignored. No requests.
    """
    for job in jobs:
        lineage = job.raw("dataJobInputOutput") or {}
        inputs, outputs = (
            (
                *_urns(lineage.get(f"{side}Datasets")),
                *_urns(lineage.get(f"{side}DatasetEdges"), "destinationUrn"),
            )
            for side in ("input", "output")
        )
        if table.urn in outputs and not job.removed:
            table = _with_lineage(table, inputs, lineage)
    return table


def propose(
    tables: Mapping[str, KnownTable], urns: Iterable[str], *, most_hops: int = 5
) -> tuple[StagedEdit, ...]:
    """Return a description for each undocumented column of some datasets, if `tables` have one.

    Proposals are in the order of the datasets and their schemas. No requests. The first of these
    methods that finds a description is used:

    `lineage`    The description of the nearest documented columns that it is derived from, at most
                 `most_hops` columns away, through undocumented ones. A column derived from several
                 columns of different names is computed, so no single source describes it: only
                 sources with its own name are followed.
    `name`       A guess: as `lineage`, but a step may also lead to the column of the same name
                 (`KnownTable.columns_named_like`) in an upstream table, and through tables with
                 unknown columns.
    `elsewhere`  The most frequent description of columns of the same name anywhere in `tables`; the
                 name is the path without types, ignoring case.

    The nearest is proposed; of equally near ones a column of the same name, then the most frequent
    description, then the first by URN and path. `sources` has it and the next best, at most five,
    one for each description. Placeholders (`is_placeholder`) and soft-deleted datasets are no
    sources, but are passed through. No description is proposed for a column that has one.
    """
    return tuple(ColumnSearch(tables, most_hops).edits(urns))


async def propose_descriptions(
    catalog: "AsyncCatalog",
    urns: Sequence[Urn],
    *,
    most_hops: int = 5,
    progress: Progress | None = None,
) -> tuple[StagedEdit, ...]:
    """Return a proposed description for each undocumented column of the datasets that exist, if one
    is found.

    See `propose` for the method. The datasets considered are: those given; those upstream, as far
    as undocumented columns lead, also through data jobs that write them (but not from job to job);
    and for columns without an upstream description up to 1,200 datasets with columns of that name,
    found by search. `agreeing` counts only columns of these.

    Costs the requests of `AsyncCatalog.entities` for these datasets, hop by hop; one request to
    count jobs and datasets; one or two for each 100 datasets if there are jobs; and at most 24
    searches. If the server refuses to search, no jobs and no columns elsewhere are found.
    `progress` is called with the number of datasets read and the number known to be needed, which
    grows. Raises `InvalidInput` for less than one hop.
    """
    if most_hops < 1:
        raise InvalidInput(f"most_hops must be at least 1, not {most_hops}")
    reading = TableReader(catalog, progress)
    datasets = [str(urn) for urn in urns]
    await reading.read(datasets, is_lineage_followed=True)
    search = ColumnSearch(reading.tables, most_hops)
    undocumented = [(urn, column.path) for urn, column in search.undocumented(datasets)]
    reached = await read_upstream(reading, search, undocumented)
    lacking = [path for (_, path), columns in reached.items() if not columns.columns]
    await reading.read_elsewhere(lacking)
    return await asyncio.to_thread(propose, reading.tables, datasets, most_hops=most_hops)


async def read_upstream(
    reading: "TableReader", search: "ColumnSearch", columns: Sequence[ColumnKey]
) -> "dict[ColumnKey, ReachedColumns]":
    """Return, by column, the documented columns upstream of some columns, whose tables were read.

    The upstream tables needed are read hop by hop.
    """
    reached: dict[ColumnKey, ReachedColumns] = {}
    waiting = list(columns)
    while waiting:
        # Run in a thread, because tens of thousands of columns take seconds.
        latest = await asyncio.to_thread(search.upstream_of_each, waiting)
        unread = (urn for columns in latest.values() for urn in columns.unread)
        await reading.read(unread, is_lineage_followed=True)
        waiting = [column for column, columns in latest.items() if columns.unread]
        reached |= latest
    return reached


_UpstreamSource = Literal["lineage", "name"]
_Step: TypeAlias = Callable[[ColumnKey], Iterable[ColumnKey]]


@dataclass(frozen=True, slots=True)
class ReachedColumns:
    """The documented columns that a search upstream found, with their distances in hops, and the
    tables that the search needs but that were not read."""

    source: _UpstreamSource
    columns: dict[ColumnKey, int] = field(default_factory=dict)
    unread: dict[str, None] = field(default_factory=dict)


class ColumnSearch:
    """The search for descriptions in tables. Tables may be added while it is used, but not
    changed."""

    def __init__(self, tables: Mapping[str, KnownTable], most_hops: int) -> None:
        self._tables = tables
        self._most_hops = most_hops

    def undocumented(self, urns: Iterable[str]) -> Iterator[tuple[str, KnownColumn]]:
        """Yield the undocumented columns of some datasets, with their datasets, in order."""
        for urn in dict.fromkeys(urns):
            table = self._tables.get(urn)
            for column in table.columns if table else ():
                if not column.documented:
                    yield urn, column

    def upstream(self, column: ColumnKey) -> ReachedColumns:
        """Return the documented columns upstream of a column, by lineage, else by name.

        If none was found by lineage yet, the unread tables are those that either method needs.
        """
        walk = self._walk(column, self._source_columns, "lineage")
        if walk.columns:
            return walk
        guessed = self._walk(column, self._guess_sources, "name")
        return replace(guessed, unread=walk.unread | guessed.unread)

    def upstream_of_each(self, columns: Iterable[ColumnKey]) -> dict[ColumnKey, ReachedColumns]:
        """Return the result of `upstream` for each column."""
        return {column: self.upstream(column) for column in columns}

    def edits(self, urns: Iterable[str]) -> Iterator[StagedEdit]:
        """Yield the proposals for the undocumented columns of some datasets."""
        elsewhere = self.sources_by_name()
        for urn, column in self.undocumented(urns):
            columns = self.upstream((urn, column.path))
            sources = self._sources(columns, column.path) or elsewhere.get(name_of(column.path))
            if not sources:
                continue
            first = sources[0]
            yield StagedEdit(
                urn,
                self._tables[urn].name,
                column.path,
                before=column.edited,
                text=self._tables[first.urn].texts[first.column],
                ingested=column.ingested,
                sources=sources,
            )

    def _walk(self, start: ColumnKey, step: _Step, source: _UpstreamSource) -> ReachedColumns:
        """Return the columns that a breadth-first search reaches. The search does not continue
        beyond documented columns."""
        columns = ReachedColumns(source)
        passed = {start}
        level = [start]
        for hops in range(1, self._most_hops + 1):
            following: list[ColumnKey] = []
            for upper in (source_column for column in level for source_column in step(column)):
                if upper in passed:
                    continue
                passed.add(upper)
                urn, path = upper
                table = self._tables.get(urn)
                if table is None:
                    columns.unread[urn] = None
                elif path in table.texts:
                    columns.columns[upper] = hops
                else:
                    following.append(upper)
            level = following
        return columns

    def _source_columns(self, column: ColumnKey) -> Iterable[ColumnKey]:
        """Return the columns that a column is derived from and whose descriptions apply to it."""
        urn, path = column
        stated = self._tables[urn].made_from.get(path)
        if not stated:
            return ()
        sources = [
            source_key
            for source_key in dict.fromkeys(map(self._exact, stated))
            if source_key != column
        ]
        called_so = [source for source in sources if _last_name(source[1]) == _last_name(path)]
        if called_so:
            return called_so
        return sources if len({_last_name(source[1]) for source in sources}) == 1 else ()

    def _guess_sources(self, column: ColumnKey) -> Iterator[ColumnKey]:
        """Yield the columns of `_source_columns`, then the columns of the same name in upstream
        tables."""
        yield from self._source_columns(column)
        urn, path = column
        for upstream in self._tables[urn].upstreams:
            table = self._tables.get(upstream)
            if table is None or not table.columns:
                yield upstream, path
            else:
                yield from ((upstream, same_name) for same_name in table.columns_named_like(path))

    def _exact(self, column: ColumnKey) -> ColumnKey:
        table = self._tables.get(column[0])
        path = column[1]
        return column[0], table.paths.exact(path) if table else unquote(path)

    def _sources(self, reached: ReachedColumns, path: str) -> tuple[TextSource, ...]:
        """Return the best sources for a column among those reached."""
        by_text: dict[str, list[tuple[int, bool, ColumnKey]]] = {}
        for (urn, source), hops in reached.columns.items():
            text = self._tables[urn].texts[source]
            is_renamed = _last_name(source) != _last_name(path)
            by_text.setdefault(text, []).append((hops, is_renamed, (urn, source)))
        best = [(min(group), len(group)) for group in by_text.values()]
        best.sort(
            key=lambda candidate: (candidate[0][0], candidate[0][1], -candidate[1], candidate[0][2])
        )
        return tuple(
            self._source_of(reached.source, key, hops=hops, agreeing=agreeing)
            for (hops, _, key), agreeing in best[:_MOST_SOURCES]
        )

    def sources_by_name(self) -> dict[str, tuple[TextSource, ...]]:
        """Return the sources by column name (see `name_of`), most frequent description first, at
        most five."""
        by_name: dict[str, dict[str, list[ColumnKey]]] = {}
        for urn, table in self._tables.items():
            for path, text in table.texts.items():
                by_name.setdefault(name_of(path), {}).setdefault(text, []).append((urn, path))
        sources_by_column: dict[str, tuple[TextSource, ...]] = {}
        for name, by_text in by_name.items():
            best = sorted((-len(keys), min(keys)) for keys in by_text.values())
            sources_by_column[name] = tuple(
                self._source_of("elsewhere", key, agreeing=-count)
                for count, key in best[:_MOST_SOURCES]
            )
        return sources_by_column

    def _source_of(
        self,
        source: Literal[_UpstreamSource, "elsewhere"],
        key: ColumnKey,
        *,
        hops: int = 0,
        agreeing: int = 1,
    ) -> TextSource:
        return TextSource(source, key[0], self._tables[key[0]].name, key[1], hops, agreeing)


class TableReader:
    """Reads the tables that are needed, each once."""

    def __init__(self, catalog: "AsyncCatalog", progress: Progress | None) -> None:
        self.tables: dict[str, KnownTable] = {}
        self._catalog = catalog
        self._progress = progress
        self._jobs: dict[Urn, Entity] = {}
        self._counts: Mapping[str, int] | None = None

    async def read(self, urns: Iterable[str], *, is_lineage_followed: bool = False) -> None:
        """Read tables that were not read yet, and with `is_lineage_followed` the jobs that write
        them.

        Tables that do not exist, or cannot be parsed, are recorded as empty.
        """
        fresh = [urn for urn in dict.fromkeys(urns) if urn not in self.tables]
        before = len(self.tables)

        def report(done: int, total: int) -> None:
            if self._progress is not None:
                self._progress(before + done, before + total)

        tables: dict[str, KnownTable] = {}
        targets = [urn for urn in Urn.parse_all(fresh) if urn.entity_type == "dataset"]
        async for entity in read_datasets(self._catalog, targets, _ASPECTS, report):
            try:
                tables[str(entity.urn)] = table_of(entity)
            except (InvalidInput, ServerFault):
                continue
        jobs = await self._jobs_writing(list(tables)) if is_lineage_followed else ()
        for urn in fresh:
            table = tables.get(urn)
            self.tables[urn] = KnownTable(urn) if table is None else add_jobs(table, jobs)

    async def read_elsewhere(self, paths: Iterable[str]) -> None:
        """Read datasets that have documented columns with these names.

        Some are read first for each group of names, then more for the names without a description
        so far.
        """
        by_last_name: dict[str, set[str]] = {}
        for path in paths:
            by_last_name.setdefault(FieldPath(path).name, set()).add(name_of(path))
        if not by_last_name or await self._is_all_read():
            return
        names, searches = list(by_last_name), _MOST_SEARCHES
        while names and searches:
            batches = list(_batch(names, _NAMES_A_SEARCH))[:searches]
            searches -= len(batches)
            pages = await gather_limited(map(self._having_columns, batches), _AT_ONCE)
            await self.read(urn for page in pages for urn in page)
            texts = {name_of(path) for table in self.tables.values() for path in table.texts}
            unresolved = [
                name
                for batch, page in zip(batches, pages, strict=True)
                if len(page) == _DATASETS_A_SEARCH
                for name in batch
                if not by_last_name[name] <= texts
            ]
            # A search for the same names would find the same datasets.
            names = unresolved if len(unresolved) < len(names) else []

    async def _having_columns(self, names: Sequence[str]) -> list[str]:
        having = columns_filter(names, documented=True)
        pages = self._catalog.urns("dataset", filter=having, limit=_DATASETS_A_SEARCH)
        try:
            return [str(urn) async for urn in pages]
        except REFUSALS:
            return []

    async def _jobs_writing(self, urns: Sequence[str]) -> list[Entity]:
        """Return the jobs that write any of these datasets."""
        if not urns or not (await self._count("dataJob")):
            return []
        batches = _batch(urns, _TABLES_A_SEARCH)
        batches_of_urns = await gather_limited(map(self._writing, batches), _AT_ONCE)
        jobs = list(dict.fromkeys(job for part in batches_of_urns for job in part))
        self._jobs |= await self._catalog.entities(
            [job for job in jobs if job not in self._jobs], _JOB_ASPECTS
        )
        return [self._jobs[job] for job in jobs if job in self._jobs]

    async def _writing(self, urns: Sequence[str]) -> list[Urn]:
        fields = ("outputs", "outputDatasetEdges")
        writing = Filter(tuple((Criterion(name, tuple(urns)),) for name in fields))
        try:
            return [urn async for urn in self._catalog.urns("dataJob", filter=writing)]
        except REFUSALS:
            return []

    async def _is_all_read(self) -> bool:
        """Return whether all datasets of the catalog have been read."""
        dataset_count = sum(
            bool(table.name) and not table.removed for table in self.tables.values()
        )
        return dataset_count >= await self._count("dataset")

    async def _count(self, entity: str) -> int:
        if self._counts is None:
            try:
                self._counts = await self._catalog.counts(["dataset", "dataJob"])
            except REFUSALS:
                self._counts = {}
        return self._counts.get(entity, 0)


def _with_lineage(
    table: KnownTable, upstreams: Iterable[str], lineage: Mapping[str, object]
) -> KnownTable:
    made_from = {path: list(sources) for path, sources in table.made_from.items()}
    datasets = [*table.upstreams, *upstreams]
    for edge in column_edges(lineage):
        source, target = split_column(edge.upstream), split_column(edge.downstream)
        if source and target and target[0] == table.urn:
            made_from.setdefault(table.paths.exact(target[1]), []).append(source)
            datasets.append(source[0])
    return replace(
        table,
        upstreams=tuple(dataset for dataset in dict.fromkeys(datasets) if dataset != table.urn),
        made_from={path: tuple(dict.fromkeys(sources)) for path, sources in made_from.items()},
    )


def _urns(listed: object, key: str | None = None) -> tuple[str, ...]:
    """Return the strings in a list, or those under a key of its objects."""
    items = listed if isinstance(listed, list) else ()
    if key is not None:
        items = [item.get(key) for item in items if isinstance(item, dict)]
    return tuple(item for item in items if isinstance(item, str))


def _batch(items: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    return (items[at : at + size] for at in range(0, len(items), size))


def _letters(text: str) -> str:
    return _NO_LETTERS.sub("", text.casefold())


@lru_cache(maxsize=_MOST_NAMES)
def name_of(path: str) -> str:
    """Return the name for comparing columns: the path without types, in lower case."""
    return FieldPath(path).simple.casefold()


@lru_cache(maxsize=_MOST_NAMES)
def _last_name(path: str) -> str:
    return FieldPath(path).name.casefold()


def _is_top(path: str) -> bool:
    return len(FieldPath(path).names) == 1
