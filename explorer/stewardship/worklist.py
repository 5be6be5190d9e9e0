"""The worklist: undocumented tables and columns, ranked by use and by the number of entities
derived from them."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal, get_args

from explorer.client.connection import gather_limited
from explorer.client.entity import Entity
from explorer.client.records import Undescribed, usage_windows
from explorer.client.transport import REFUSALS
from explorer.metadata.aspects import DatasetUsageStatistics
from explorer.metadata.fieldpath import FieldPath
from explorer.metadata.urn import Urn
from explorer.stewardship.documentation import (
    TEXT_ASPECTS,
    DatasetSelection,
    Progress,
    read_datasets,
)

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog
    from explorer.client.entity import Column

UseSource = Literal["column", "table", "none"]

_ASPECTS: Final = (*TEXT_ASPECTS, "ownership", "subTypes")
_EVERY_HOP: Final = 50
_MOST_REACHED: Final = 10_000
_AT_ONCE: Final = 8
_PAGE: Final = 10_000

Key = tuple[str, str | None]
"""Identifies a description: the URN of a table, and the field path of its column or `None`."""


@dataclass(frozen=True, slots=True)
class TableUse:
    """The usage of a dataset over some days: its number of queries, and the uses of each column.

    `columns` is by the path that was counted, `None` if columns are not counted separately.
    """

    queries: int = 0
    columns: Mapping[str, int] | None = None


@dataclass(frozen=True, slots=True)
class Reach:
    """The number of entities derived from a dataset, at any distance.

    `at_least` is true if counting stopped early.
    """

    downstream: int = 0
    at_least: bool = False


@dataclass(frozen=True, slots=True)
class Item:
    """An undocumented column, or a table if `column` is `None`.

    `use` is the number of uses; `use_of` says whether they are uses of the column, or of the table
    because columns are not counted separately. `downstream` is the number of entities derived from
    its table. `place` is the position of the column in the schema, from 1; 0 for a table.
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
    def key(self) -> Key:
        """The key of the missing description: the URN of the table, and the field path or
        `None`."""
        return self.urn, self.column.raw if self.column else None

    @property
    def weight(self) -> int:
        """The rank in the worklist: (use + 1) × (downstream + 1)."""
        return (self.use + 1) * (self.downstream + 1)


@dataclass(frozen=True, slots=True)
class Worklist:
    """Undocumented tables and columns, highest rank first: by (use + 1) × (downstream + 1).

    Ties are ordered by use, then by downstream, then by URN, a table before its columns in schema
    order. `items` are the first of `total`. `days` is the period of the usage counts, `datasets`
    the number of datasets examined.
    """

    items: tuple[Item, ...]
    total: int
    days: int
    datasets: int = 0

    def __len__(self) -> int:
        return len(self.items)

    @property
    def truncated(self) -> bool:
        """Whether there are more items than listed."""
        return len(self.items) < self.total


async def documented_meanwhile(catalog: "AsyncCatalog", keys: Sequence[Key]) -> list[Key]:
    """Return the keys that are documented by now, or whose column or table no longer exists.

    Costs the requests of `AsyncCatalog.entities` for the tables.
    """
    urns = Urn.parse_all(dict.fromkeys(urn for urn, _ in keys))
    entities = {entity.urn: entity async for entity in read_datasets(catalog, urns, _ASPECTS)}
    missing = {
        (str(urn), column.path.raw if column else None)
        for urn, entity in entities.items()
        if not entity.removed
        for column in _places_to_document(entity)
    }
    return [key for key in keys if key not in missing]


async def read_use(catalog: "AsyncCatalog", urn: str | Urn, days: int) -> TableUse:
    """Return the total usage of a dataset in the last `days` days; none if the server does not know
    it. One request."""
    try:
        series = await catalog.usage(urn, days=days)
    except REFUSALS:
        return TableUse()
    columns = Counter[str]()
    windows = usage_windows(series.readable(DatasetUsageStatistics))
    for window in windows:
        columns.update({field.field_path: field.count for field in window.field_counts})
    queries = sum(window.total_sql_queries or 0 for window in windows)
    return TableUse(queries, dict(columns) or None)


def rank(
    entities: Iterable[Entity],
    use: Mapping[Urn, TableUse],
    reach: Mapping[Urn, Reach],
    *,
    top: int | None = None,
    days: int = 30,
) -> Worklist:
    """Return the worklist of some datasets. No requests.

    Datasets that are missing in `use` or `reach` count as unused. A column's use is found by its
    field path, or by the path without types, as usage is often counted. Raises `ServerFault` if an
    aspect does not fit its record.
    """
    items: list[Item] = []
    for entity in entities:
        table_use = use.get(entity.urn, TableUse())
        reached = reach.get(entity.urn, Reach())
        items.extend(_items(entity, table_use, reached))
    items.sort(key=lambda item: (-item.weight, -item.use, -item.downstream, item.urn, item.place))
    return Worklist(tuple(items[:top]), len(items), days)


async def read_worklist(
    catalog: "AsyncCatalog",
    urns: Sequence[Urn],
    *,
    top: int | None = None,
    days: int = 30,
    progress: Progress | None = None,
) -> Worklist:
    """Return the worklist of the datasets among `urns` that exist, for the last `days` days.

    Costs the requests of `AsyncCatalog.entities`, and for each dataset with undocumented parts one
    for its usage and those of `AsyncCatalog.lineage` for the downstream entities, of which at most
    10,000 are counted. `progress` is called for these datasets. Without usage or lineage
    on the server the counts are 0.
    """
    entities = [entity async for entity in read_datasets(catalog, urns, _ASPECTS)]
    lacking = [entity for entity in entities if any(_places_to_document(entity))]
    use: dict[Urn, TableUse] = {}
    reach: dict[Urn, Reach] = {}

    async def measure(urn: Urn) -> None:
        use[urn] = await read_use(catalog, urn, days)
        reach[urn] = await _reach(catalog, urn)
        if progress is not None:
            progress(len(reach), len(lacking))

    await gather_limited((measure(entity.urn) for entity in lacking), _AT_ONCE)
    worklist = rank(lacking, use, reach, top=top, days=days)
    return replace(worklist, datasets=len(entities))


async def ask_worklist(
    catalog: "AsyncCatalog",
    datasets: DatasetSelection,
    *,
    top: int | None = None,
    days: int = 30,
) -> Worklist:
    """Return the worklist as computed by a server with `Abilities.stewardship`.

    One request for each 10,000 items.
    """
    items: list[Item] = []
    while True:
        count = _PAGE if top is None else min(top - len(items), _PAGE)
        page = await catalog.undescribed(**datasets, start=len(items), count=count, days=days)
        items += map(_item_of, page.items)
        if len(page.items) < count or len(items) in (page.total, top):
            return Worklist(tuple(items), page.total, days, page.datasets)


def _item_of(undescribed: Undescribed) -> Item:
    source: UseSource = "none"
    for arg in get_args(UseSource):
        if undescribed.used_of == arg:
            source = arg
    return Item(
        undescribed.urn,
        undescribed.table,
        undescribed.platform,
        FieldPath(undescribed.column) if undescribed.column else None,
        undescribed.type,
        undescribed.used,
        source,
        undescribed.downstream,
        undescribed.at_least,
        undescribed.place,
    )


async def _reach(catalog: "AsyncCatalog", urn: Urn) -> Reach:
    try:
        lineage = await catalog.lineage(urn, "DOWNSTREAM", hops=_EVERY_HOP, limit=_MOST_REACHED)
    except REFUSALS:
        return Reach()
    return Reach(lineage.total, lineage.truncated is not None)


def _places_to_document(entity: Entity) -> "Iterable[Column | None]":
    """Yield `None` if the dataset itself is undocumented, then its undocumented columns."""
    if not entity.description.strip():
        yield None
    yield from (column for column in entity.schema if not column.documented)


def _items(entity: Entity, table_use: TableUse, reached: Reach) -> Iterable[Item]:
    places = {column.path.raw: at for at, column in enumerate(entity.schema, start=1)}
    for column in _places_to_document(entity):
        use, source = _use_of_column(column, table_use) if column else _use_of_table(table_use)
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


def _use_of_table(table_use: TableUse) -> tuple[int, UseSource]:
    if table_use.queries:
        return table_use.queries, "table"
    most = max((table_use.columns or {}).values(), default=0)
    return (most, "column") if most else (0, "none")


def _use_of_column(column: "Column", table_use: TableUse) -> tuple[int, UseSource]:
    if table_use.columns is None:
        return (table_use.queries, "table") if table_use.queries else (0, "none")
    queries = table_use.columns.get(column.path.raw)
    if queries is None:
        queries = table_use.columns.get(column.path.simple, 0)
    return queries, "column"
