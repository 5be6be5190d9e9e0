"""What is worth documenting first: by how much it is used and how much is made from it."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal, get_args

from explorer.client.entity import Entity
from explorer.client.records import Timeseries, Undescribed
from explorer.errors import InvalidAspect, InvalidInput, NotFound, ServerFault
from explorer.metadata.aspects import DatasetUsageStatistics, read_aspect
from explorer.metadata.fieldpath import FieldPath
from explorer.metadata.urn import Urn
from explorer.query.filters import Filter
from explorer.stewardship.documentation import read_datasets

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog
    from explorer.client.entity import Column
    from explorer.stewardship.documentation import Progress

__all__ = [
    "Item",
    "Reach",
    "TableUse",
    "UseSource",
    "Worklist",
    "ask_worklist",
    "rank",
    "read_worklist",
    "use_of",
]

UseSource = Literal["column", "table", "none"]

_ASPECTS: Final = (
    "datasetKey",
    "datasetProperties",
    "editableDatasetProperties",
    "schemaMetadata",
    "editableSchemaMetadata",
    "ownership",
    "status",
    "subTypes",
)
_EVERY_HOP: Final = 50
_MOST_REACHED: Final = 10_000
_AT_ONCE: Final = 8
_PAGE: Final = 10_000
_REFUSALS: Final = (InvalidInput, NotFound, ServerFault)


@dataclass(frozen=True, slots=True)
class TableUse:
    """The use of a dataset in some days: its queries, and how often each column was used by the
    path that was counted; no columns where they are not counted apart."""

    queries: int = 0
    columns: Mapping[str, int] | None = None


@dataclass(frozen=True, slots=True)
class Reach:
    """How many entities are made from a dataset, at any distance; `at_least` where the count was
    ended early."""

    downstream: int = 0
    at_least: bool = False


@dataclass(frozen=True, slots=True)
class Item:
    """A column, or a table where `column` is None, that nobody has documented.

    `use` is how often it was used, told by `use_of`: counted for the column, or the queries of its
    table where columns are not counted apart. `downstream` counts the entities made from its table.
    `place` is where the column stands in its schema, from 1; 0 for a table.
    """

    urn: str
    table: str
    platform: str | None
    column: FieldPath | None
    type: str
    use: int
    use_of: UseSource
    downstream: int
    at_least: bool = False
    place: int = 0

    @property
    def weight(self) -> int:
        """What the order goes by: (use + 1) × (downstream + 1)."""
        return (self.use + 1) * (self.downstream + 1)


@dataclass(frozen=True, slots=True)
class Worklist:
    """Undocumented tables and columns, heaviest first: by (use + 1) × (downstream + 1); equal ones
    by use, then by downstream, then by URN, a table before its columns and these as in the schema.

    `total` counts all of them, `items` are the first. `days` is over how many days use was counted,
    `datasets` how many datasets were looked at.
    """

    items: tuple[Item, ...]
    total: int
    days: int
    datasets: int = 0

    def __len__(self) -> int:
        return len(self.items)

    @property
    def truncated(self) -> bool:
        """Whether there is more to do than is listed."""
        return len(self.items) < self.total


def use_of(series: Timeseries) -> TableUse:
    """The windows of a dataset's usage together. Pure."""
    queries = 0
    columns: dict[str, int] = {}
    for value in series.values:
        try:
            point = read_aspect(value, DatasetUsageStatistics)
        except (InvalidAspect, ServerFault):
            continue
        queries += point.total_sql_queries or 0
        for field in point.field_counts:
            columns[field.field_path] = columns.get(field.field_path, 0) + field.count
    return TableUse(queries, columns or None)


def rank(
    entities: Iterable[Entity],
    use: Mapping[Urn, TableUse],
    reach: Mapping[Urn, Reach],
    *,
    top: int | None = None,
    days: int = 30,
) -> Worklist:
    """The worklist of some datasets; what `use` and `reach` lack counts as none. Pure.

    A column is known by its exact path, or by the path without types, as usage is often counted.
    Raises `ServerFault` when an aspect has another shape than its record.
    """
    items: list[Item] = []
    for entity in entities:
        used = use.get(entity.urn, TableUse())
        reached = reach.get(entity.urn, Reach())
        items.extend(_items(entity, used, reached))
    items.sort(key=lambda one: (-one.weight, -one.use, -one.downstream, one.urn, one.place))
    return Worklist(tuple(items[:top]), len(items), days)


async def read_worklist(
    catalog: "AsyncCatalog",
    urns: Sequence[Urn],
    *,
    top: int | None = None,
    days: int = 30,
    progress: "Progress | None" = None,
) -> Worklist:
    """The worklist of the datasets among `urns` that exist, over the last days.

    Costs what `AsyncCatalog.entities` of them costs, and for each that lacks documentation one
    request for its usage and what `AsyncCatalog.lineage` costs for what is downstream: 10,000
    entities are counted at most. `progress` is told of those. A server without usage or lineage
    counts none.
    """
    entities = [entity async for entity in read_datasets(catalog, urns, _ASPECTS)]
    lacking = [entity for entity in entities if any(_undocumented(entity))]
    use: dict[Urn, TableUse] = {}
    reach: dict[Urn, Reach] = {}
    turns = asyncio.Semaphore(_AT_ONCE)

    async def measure(urn: Urn) -> None:
        async with turns:
            use[urn] = await _use(catalog, urn, days)
            reach[urn] = await _reach(catalog, urn)
        if progress is not None:
            progress(len(reach), len(lacking))

    try:
        async with asyncio.TaskGroup() as group:
            for entity in lacking:
                group.create_task(measure(entity.urn))
    except BaseExceptionGroup as failures:
        raise failures.exceptions[0] from None
    found = rank(lacking, use, reach, top=top, days=days)
    return replace(found, datasets=len(entities))


async def ask_worklist(
    catalog: "AsyncCatalog",
    urns: Sequence[Urn],
    *,
    text: str = "*",
    narrowed_by: Filter | str | None = None,
    folder: str | None = None,
    top: int | None = None,
    days: int = 30,
) -> Worklist:
    """The worklist as a server with `Abilities.stewardship` counts it, of the datasets that
    `AsyncCatalog.undescribed` takes for these. One request for 10,000 items."""
    items: list[Item] = []
    while True:
        left = _PAGE if top is None else min(top - len(items), _PAGE)
        page = await catalog.undescribed(
            urns,
            text=text,
            narrowed_by=narrowed_by,
            folder=folder,
            start=len(items),
            count=left,
            days=days,
        )
        items += map(_item_of, page.items)
        if len(page.items) < left or len(items) in (page.total, top):
            return Worklist(tuple(items), page.total, days, page.datasets)


def _item_of(found: Undescribed) -> Item:
    source: UseSource = "none"
    for known in get_args(UseSource):
        if found.used_of == known:
            source = known
    return Item(
        found.urn,
        found.table,
        found.platform,
        FieldPath(found.column) if found.column else None,
        found.type,
        found.used,
        source,
        found.downstream,
        found.at_least,
        found.place,
    )


async def _use(catalog: "AsyncCatalog", urn: Urn, days: int) -> TableUse:
    try:
        return use_of(await catalog.usage(urn, days=days))
    except _REFUSALS:
        return TableUse()


async def _reach(catalog: "AsyncCatalog", urn: Urn) -> Reach:
    try:
        found = await catalog.lineage(urn, "DOWNSTREAM", hops=_EVERY_HOP, limit=_MOST_REACHED)
    except _REFUSALS:
        return Reach()
    return Reach(found.total, found.truncated is not None)


def _undocumented(entity: Entity) -> "Iterable[Column | None]":
    """None for the dataset itself, then its columns; those that nobody has documented."""
    if not entity.description.strip():
        yield None
    yield from (column for column in entity.schema if not column.documented)


def _items(entity: Entity, used: TableUse, reached: Reach) -> Iterable[Item]:
    places = {column.path.raw: at for at, column in enumerate(entity.schema, start=1)}
    for column in _undocumented(entity):
        use, source = _use_of_column(column, used) if column else _use_of_table(used)
        yield Item(
            str(entity.urn),
            entity.name,
            entity.platform,
            column.path if column else None,
            (column.native_type or column.type) if column else entity.kind,
            use,
            source,
            reached.downstream,
            reached.at_least,
            places[column.path.raw] if column else 0,
        )


def _use_of_table(used: TableUse) -> tuple[int, UseSource]:
    if used.queries:
        return used.queries, "table"
    most = max((used.columns or {}).values(), default=0)
    return (most, "column") if most else (0, "none")


def _use_of_column(column: "Column", used: TableUse) -> tuple[int, UseSource]:
    if used.columns is None:
        return (used.queries, "table") if used.queries else (0, "none")
    found = used.columns.get(column.path.raw)
    if found is None:
        found = used.columns.get(column.path.simple, 0)
    return found, "column"
