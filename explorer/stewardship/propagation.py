"""Propagation: texts proposed for undocumented columns, out of the columns that they are made from
or that have their name.

Nothing is written here. A proposal is a staged edit that says whose text it is and how that was
found, and somebody reviews it.
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
from explorer.client.responses import REFUSALS
from explorer.errors import InvalidInput, ServerFault
from explorer.metadata.column_lineage import ColumnPaths, column_edges, split_column
from explorer.metadata.fieldpath import FieldPath
from explorer.metadata.urn import Urn
from explorer.query.filters import Criterion, Filter
from explorer.stewardship.concepts import columns_filter
from explorer.stewardship.documentation import TEXT_ASPECTS, read_datasets
from explorer.stewardship.staging import StagedEdit, TextSource

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog
    from explorer.stewardship.documentation import Progress

__all__ = [
    "ColumnKey",
    "ColumnSearch",
    "KnownColumn",
    "KnownTable",
    "ReachedColumns",
    "TableReader",
    "add_jobs",
    "is_placeholder",
    "name_of",
    "propose",
    "propose_descriptions",
    "read_upstream",
    "table_of",
]

ColumnKey: TypeAlias = tuple[str, str]
"""The URN of a dataset and the exact path of one of its columns."""

_ASPECTS: Final = (*TEXT_ASPECTS, "upstreamLineage")
_JOB_ASPECTS: Final = ("dataJobInputOutput", "status")
_MOST_SOURCES: Final = 5
_AT_ONCE: Final = 4
_TABLES_A_SEARCH: Final = 100
_NAMES_A_SEARCH: Final = 25
_MOST_SEARCHES: Final = 24
_DATASETS_A_SEARCH: Final = 50

# The same names occur in table after table.
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
    """A column with what ingestion and people wrote of it; either may be empty."""

    path: str
    ingested: str = ""
    edited: str = ""

    @property
    def documented(self) -> bool:
        """Whether anything is written of it, be it a placeholder."""
        return bool(self.edited.strip() or self.ingested.strip())

    @property
    def text(self) -> str:
        """What can be proposed for others: the edited text, else the ingested one, without white
        space around it; empty where that is a placeholder."""
        text = self.edited.strip() or self.ingested.strip()
        return "" if is_placeholder(text, self.path) else text


@dataclass(frozen=True)
class KnownTable:
    """What is known of a dataset: its columns in the order of its schema, the datasets that it is
    made from, the columns that each of its columns is made from, and what is written of it. A
    dataset that does not exist has none of them."""

    urn: str
    name: str = ""
    columns: tuple[KnownColumn, ...] = ()
    upstreams: tuple[str, ...] = ()
    made_from: Mapping[str, tuple[ColumnKey, ...]] = field(default_factory=dict)
    removed: bool = False
    description: str = ""

    @cached_property
    def paths(self) -> ColumnPaths:
        """Its columns by path and by name."""
        return ColumnPaths.of(column.path for column in self.columns)

    @cached_property
    def texts(self) -> Mapping[str, str]:
        """The texts that its columns have for others, by path; none of a soft-deleted dataset."""
        columns = () if self.removed else self.columns
        return {column.path: column.text for column in columns if column.text}

    @cached_property
    def _by_last_name(self) -> Mapping[str, tuple[str, ...]]:
        found: dict[str, list[str]] = {}
        for column in self.columns:
            found.setdefault(_last_name(column.path), []).append(column.path)
        return {name: tuple(paths) for name, paths in found.items()}

    def called_like(self, path: str) -> tuple[str, ...]:
        """Return its columns that have the name of a column of another table.

        The name is the whole path without types, whatever the case. Where there is none, it is the
        last name, if one column alone has that and one of the two lies in no record: tables are
        made flat, `address.zip` becomes `zip`, but `billing.zip` is not `shipping.zip`.
        """
        alike = self.paths.by_name.get(name_of(path), ())
        if alike:
            return alike
        last = self._by_last_name.get(_last_name(path), ())
        is_flat = len(last) == 1 and (_is_top(path) or _is_top(last[0]))
        return last if is_flat else ()


def is_placeholder(text: str, path: str = "") -> bool:
    """Return whether a text says nothing of the column at that path: it is empty or has no letter,
    it is one of the usual placeholders (`n/a`, `TBD`), or the column's own name again."""
    letters = _letters(text)
    names = {_letters(FieldPath(path).name), _letters(FieldPath(path).simple)}
    return not letters or letters in _PLACEHOLDERS or letters in names


def table_of(entity: Entity) -> KnownTable:
    """Return what is known of a dataset by its own aspects. Pure. Raises `ServerFault` when an
    aspect has another shape than its record."""
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
    """Return a dataset with the lineage of the jobs that write it: what they read is upstream.
    Jobs that do not write it, or are soft-deleted, change nothing. Pure."""
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
    """Return a description for each undocumented column of some datasets for which `tables` have
    one, in the order of the datasets and of their schemas. Pure.

    It is the first of these that there is:

    `lineage`    The text of the nearest documented columns that it is made from, at most
                 `most_hops` columns away, through undocumented ones. A column that is made from
                 several of different names is a computation, and no source describes it: of
                 these only those are followed that have its own name.
    `name`       A guess: the same, where a step may also lead to the column of the same name
                 (`KnownTable.called_like`) in a table upstream, and past a table whose columns are
                 not known.
    `elsewhere`  The text that most columns of the same name have, anywhere in `tables`; the name
                 is the whole path without types, whatever the case.

    The nearest is proposed; of equally near ones that of a column of the same name, then what most
    of them agree on, then by URN and path. The sources list it and the next best, five in all,
    one for each text. Placeholders (`is_placeholder`) and soft-deleted datasets are no sources,
    but are passed through. A column that has any text is never proposed another.
    """
    return tuple(ColumnSearch(tables, most_hops).edits(urns))


async def propose_descriptions(
    catalog: "AsyncCatalog",
    urns: Sequence[Urn],
    *,
    most_hops: int = 5,
    progress: "Progress | None" = None,
) -> tuple[StagedEdit, ...]:
    """Return a proposed description for each undocumented column of the datasets among `urns` that
    exist, where one is found: see `propose` for what is proposed.

    These datasets are looked at: those named; what they are made from, as far as the walk from an
    undocumented column leads, also through data jobs that write them (lineage from job to job is
    not followed); and for columns without a text upstream up to 1,200 datasets with columns of
    that name, found by search; not the whole catalog. `agreeing` counts columns of these alone.

    Costs what `AsyncCatalog.entities` of these datasets costs, read hop by hop; one request to
    count jobs and datasets; one or two for every 100 datasets where there are any jobs; and 24
    searches at most. A server that refuses to search finds no jobs and nothing elsewhere.
    `progress` is called with how many datasets were read and how many are known to be needed; the
    latter grows. Raises `InvalidInput` for fewer than one hop.
    """
    if most_hops < 1:
        raise InvalidInput(f"lineage is walked one hop or more, not {most_hops}")
    reading = TableReader(catalog, progress)
    named = [str(urn) for urn in urns]
    await reading.read(named, is_lineage_followed=True)
    search = ColumnSearch(reading.tables, most_hops)
    undocumented = [(urn, column.path) for urn, column in search.undocumented(named)]
    reached = await read_upstream(reading, search, undocumented)
    lacking = [path for (_, path), one in reached.items() if not one.columns]
    await reading.read_elsewhere(lacking)
    return await asyncio.to_thread(propose, reading.tables, named, most_hops=most_hops)


async def read_upstream(
    reading: "TableReader", search: "ColumnSearch", columns: Sequence[ColumnKey]
) -> "dict[ColumnKey, ReachedColumns]":
    """Return the documented columns upstream of each of some columns of tables that were read; the
    tables that the walks lead to are read hop by hop."""
    reached: dict[ColumnKey, ReachedColumns] = {}
    waiting = list(columns)
    while waiting:
        # In a thread: tens of thousands of columns take seconds.
        latest = await asyncio.to_thread(search.upstream_of_each, waiting)
        unread = (urn for one in latest.values() for urn in one.unread)
        await reading.read(unread, is_lineage_followed=True)
        waiting = [column for column, one in latest.items() if one.unread]
        reached |= latest
    return reached


_UpstreamSource = Literal["lineage", "name"]
_Step: TypeAlias = Callable[[ColumnKey], Iterable[ColumnKey]]


@dataclass(frozen=True, slots=True)
class ReachedColumns:
    """The documented columns that a walk led to, with how many hops away each is, and the tables
    that it could not look at because they were not read."""

    source: _UpstreamSource
    columns: dict[ColumnKey, int] = field(default_factory=dict)
    unread: dict[str, None] = field(default_factory=dict)


class ColumnSearch:
    """The search for texts in tables. Tables may be added while it is used, not changed."""

    def __init__(self, tables: Mapping[str, KnownTable], most_hops: int) -> None:
        self._tables = tables
        self._most_hops = most_hops

    def undocumented(self, urns: Iterable[str]) -> Iterator[tuple[str, KnownColumn]]:
        """Yield the undocumented columns of some datasets, each with its dataset, in their
        order."""
        for urn in dict.fromkeys(urns):
            table = self._tables.get(urn)
            for column in table.columns if table else ():
                if not column.documented:
                    yield urn, column

    def upstream(self, column: ColumnKey) -> ReachedColumns:
        """Return the documented columns upstream of one: by lineage, else by name. Unread tables
        are those of both where lineage has led to no text yet."""
        found = self._walk(column, self._made_from, "lineage")
        if found.columns:
            return found
        guessed = self._walk(column, self._guessed, "name")
        return replace(guessed, unread=found.unread | guessed.unread)

    def upstream_of_each(self, columns: Iterable[ColumnKey]) -> dict[ColumnKey, ReachedColumns]:
        """Return what `upstream` does for each column."""
        return {column: self.upstream(column) for column in columns}

    def edits(self, urns: Iterable[str]) -> Iterator[StagedEdit]:
        """Yield the proposals for the undocumented columns of some datasets."""
        elsewhere = self.sources_by_name()
        for urn, column in self.undocumented(urns):
            found = self.upstream((urn, column.path))
            sources = self._sources(found, column.path) or elsewhere.get(name_of(column.path))
            if not sources:
                continue
            first = sources[0]
            yield StagedEdit(
                urn,
                self._tables[urn].name,
                column.path,
                before=column.edited,
                text=self._tables[first.urn].texts[first.column],
                shown=column.ingested,
                sources=sources,
            )

    def _walk(self, start: ColumnKey, step: _Step, source: _UpstreamSource) -> ReachedColumns:
        """Return what a walk reaches that goes breadth first and ends at documented columns, so
        that the hops are the fewest."""
        found = ReachedColumns(source)
        passed = {start}
        level = [start]
        for hops in range(1, self._most_hops + 1):
            following: list[ColumnKey] = []
            for upper in (one for column in level for one in step(column)):
                if upper in passed:
                    continue
                passed.add(upper)
                urn, path = upper
                table = self._tables.get(urn)
                if table is None:
                    found.unread[urn] = None
                elif path in table.texts:
                    found.columns[upper] = hops
                else:
                    following.append(upper)
            level = following
        return found

    def _made_from(self, column: ColumnKey) -> Iterable[ColumnKey]:
        """Return the columns that one is made from and whose texts describe it."""
        urn, path = column
        stated = self._tables[urn].made_from.get(path)
        if not stated:
            return ()
        sources = [one for one in dict.fromkeys(map(self._exact, stated)) if one != column]
        called_so = [one for one in sources if _last_name(one[1]) == _last_name(path)]
        if called_so:
            return called_so
        return sources if len({_last_name(one[1]) for one in sources}) == 1 else ()

    def _guessed(self, column: ColumnKey) -> Iterator[ColumnKey]:
        """Yield what `_made_from` does, then the columns of the same name upstream."""
        yield from self._made_from(column)
        urn, path = column
        for upstream in self._tables[urn].upstreams:
            table = self._tables.get(upstream)
            if table is None or not table.columns:
                yield upstream, path
            else:
                yield from ((upstream, alike) for alike in table.called_like(path))

    def _exact(self, column: ColumnKey) -> ColumnKey:
        table = self._tables.get(column[0])
        path = column[1]
        return column[0], table.paths.exact(path) if table else unquote(path)

    def _sources(self, found: ReachedColumns, path: str) -> tuple[TextSource, ...]:
        """Return the best sources for a column at that path out of what a walk reached."""
        by_text: dict[str, list[tuple[int, bool, ColumnKey]]] = {}
        for (urn, source), hops in found.columns.items():
            text = self._tables[urn].texts[source]
            is_renamed = _last_name(source) != _last_name(path)
            by_text.setdefault(text, []).append((hops, is_renamed, (urn, source)))
        best = [(min(group), len(group)) for group in by_text.values()]
        best.sort(key=lambda one: (one[0][0], one[0][1], -one[1], one[0][2]))
        return tuple(
            self._source_of(found.source, key, hops=hops, agreeing=agreeing)
            for (hops, _, key), agreeing in best[:_MOST_SOURCES]
        )

    def sources_by_name(self) -> dict[str, tuple[TextSource, ...]]:
        """Return the sources that columns of a name are anywhere in the tables, by `name_of` of
        their paths: what most columns have first, five texts at most."""
        by_name: dict[str, dict[str, list[ColumnKey]]] = {}
        for urn, table in self._tables.items():
            for path, text in table.texts.items():
                by_name.setdefault(name_of(path), {}).setdefault(text, []).append((urn, path))
        found: dict[str, tuple[TextSource, ...]] = {}
        for name, by_text in by_name.items():
            best = sorted((-len(keys), min(keys)) for keys in by_text.values())
            found[name] = tuple(
                self._source_of("elsewhere", key, agreeing=-count)
                for count, key in best[:_MOST_SOURCES]
            )
        return found

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
    """Reads what is known of tables, each table once."""

    def __init__(self, catalog: "AsyncCatalog", progress: "Progress | None") -> None:
        self.tables: dict[str, KnownTable] = {}
        self._catalog = catalog
        self._progress = progress
        self._jobs: dict[Urn, Entity] = {}
        self._counts: Mapping[str, int] | None = None

    async def read(self, urns: Iterable[str], *, is_lineage_followed: bool = False) -> None:
        """Read tables that were not read yet; also the jobs that write them, where lineage is
        followed. Those that do not exist, or cannot be understood, are known as having nothing."""
        fresh = [urn for urn in dict.fromkeys(urns) if urn not in self.tables]
        before = len(self.tables)

        def report(done: int, total: int) -> None:
            if self._progress is not None:
                self._progress(before + done, before + total)

        found: dict[str, KnownTable] = {}
        targets = [urn for urn in Urn.parse_all(fresh) if urn.entity_type == "dataset"]
        async for entity in read_datasets(self._catalog, targets, _ASPECTS, report):
            try:
                found[str(entity.urn)] = table_of(entity)
            except (InvalidInput, ServerFault):
                continue
        jobs = await self._jobs_writing(list(found)) if is_lineage_followed else ()
        for urn in fresh:
            table = found.get(urn)
            self.tables[urn] = KnownTable(urn) if table is None else add_jobs(table, jobs)

    async def read_elsewhere(self, paths: Iterable[str]) -> None:
        """Read datasets that have documented columns and a column of these names: some for each
        handful of names, then again some for the names that have no text in those."""
        by_last_name: dict[str, set[str]] = {}
        for path in paths:
            by_last_name.setdefault(FieldPath(path).name, set()).add(name_of(path))
        if not by_last_name or await self._is_all_read():
            return
        names, searches = list(by_last_name), _MOST_SEARCHES
        while names and searches:
            batches = list(_batched(names, _NAMES_A_SEARCH))[:searches]
            searches -= len(batches)
            pages = await gather_limited(map(self._having_columns, batches), _AT_ONCE)
            await self.read(urn for page in pages for urn in page)
            texts = {name_of(path) for table in self.tables.values() for path in table.texts}
            left = [
                name
                for batch, page in zip(batches, pages, strict=True)
                if len(page) == _DATASETS_A_SEARCH
                for name in batch
                if not by_last_name[name] <= texts
            ]
            # A search for the same names would find the same datasets.
            names = left if len(left) < len(names) else []

    async def _having_columns(self, names: Sequence[str]) -> list[str]:
        having = columns_filter(names, documented=True)
        pages = self._catalog.urns("dataset", narrowed_by=having, limit=_DATASETS_A_SEARCH)
        try:
            return [str(urn) async for urn in pages]
        except REFUSALS:
            return []

    async def _jobs_writing(self, urns: Sequence[str]) -> list[Entity]:
        """Return the jobs that write some of these datasets."""
        if not urns or not (await self._count("dataJob")):
            return []
        batches = _batched(urns, _TABLES_A_SEARCH)
        found = await gather_limited(map(self._writing, batches), _AT_ONCE)
        jobs = list(dict.fromkeys(job for part in found for job in part))
        self._jobs |= await self._catalog.entities(
            [job for job in jobs if job not in self._jobs], _JOB_ASPECTS
        )
        return [self._jobs[job] for job in jobs if job in self._jobs]

    async def _writing(self, urns: Sequence[str]) -> list[Urn]:
        fields = ("outputs", "outputDatasetEdges")
        writing = Filter(tuple((Criterion(name, tuple(urns)),) for name in fields))
        try:
            return [urn async for urn in self._catalog.urns("dataJob", narrowed_by=writing)]
        except REFUSALS:
            return []

    async def _is_all_read(self) -> bool:
        """Return whether there are no datasets beside those that were read."""
        read = sum(bool(table.name) and not table.removed for table in self.tables.values())
        return read >= await self._count("dataset")

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
        upstreams=tuple(one for one in dict.fromkeys(datasets) if one != table.urn),
        made_from={path: tuple(dict.fromkeys(sources)) for path, sources in made_from.items()},
    )


def _urns(listed: object, key: str | None = None) -> tuple[str, ...]:
    """Return the texts of a list, or those that its objects hold under a key."""
    items = listed if isinstance(listed, list) else ()
    if key is not None:
        items = [item.get(key) for item in items if isinstance(item, dict)]
    return tuple(item for item in items if isinstance(item, str))


def _batched(items: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    return (items[at : at + size] for at in range(0, len(items), size))


def _letters(text: str) -> str:
    return _NO_LETTERS.sub("", text.casefold())


@lru_cache(maxsize=_MOST_NAMES)
def name_of(path: str) -> str:
    """Return by what columns of one name are found: the path without types, whatever the case."""
    return FieldPath(path).simple.casefold()


@lru_cache(maxsize=_MOST_NAMES)
def _last_name(path: str) -> str:
    return FieldPath(path).name.casefold()


def _is_top(path: str) -> bool:
    return len(FieldPath(path).names) == 1
