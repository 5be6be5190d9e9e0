"""Coverage: how many tables and columns are documented, in total and by group."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Final, Literal, get_args

from explorer.client.entity import Entity
from explorer.client.records import DescribedCount, DescribedSeries
from explorer.errors import InvalidInput
from explorer.metadata.names import NAME_ASPECTS
from explorer.metadata.urn import Urn
from explorer.stewardship.documentation import (
    TEXT_ASPECTS,
    DatasetSelection,
    Progress,
    read_datasets,
)

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog

Grouping = Literal["domain", "folder", "owner", "platform", "tag"]
GROUPINGS: Final[tuple[Grouping, ...]] = get_args(Grouping)
"""The properties that coverage can be grouped by."""

Part = Literal["columns", "tables"]

_FOR_GROUPING: Final[dict[Grouping, tuple[str, ...]]] = {
    "domain": ("domains",),
    "folder": ("browsePaths", "browsePathsV2"),
    "owner": ("ownership",),
    "platform": ("dataPlatformInstance",),
    "tag": ("globalTags",),
}


@dataclass(frozen=True, slots=True)
class Count:
    """The number of documented tables or columns among `total`.

    `edited` is the number with an edited description, `ingested` with an ingested one. Some have
    both, so these may add up to more than `documented`.
    """

    total: int = 0
    documented: int = 0
    edited: int = 0
    ingested: int = 0

    def __add__(self, other: "Count") -> "Count":
        return Count(
            self.total + other.total,
            self.documented + other.documented,
            self.edited + other.edited,
            self.ingested + other.ingested,
        )

    @property
    def undocumented(self) -> int:
        """The number without a description."""
        return self.total - self.documented

    @property
    def percent(self) -> float | None:
        """The documented share in percent, rounded down to one decimal, so that 100 means all;
        `None` if `total` is 0."""
        return self.documented * 1000 // self.total / 10 if self.total else None

    def reaches(self, percent: float) -> bool:
        """Return whether at least this share is documented; true if `total` is 0."""
        return self.documented * 100 >= percent * self.total


@dataclass(frozen=True, slots=True)
class Group:
    """The counts for the datasets that have one property in common.

    `key` is the URN, path or word that they share, empty for datasets without one; `name` is its
    display name.
    """

    key: str
    name: str
    tables: Count = Count()
    columns: Count = Count()

    def of(self, part: Part) -> Count:
        """Return the counts of tables or of columns."""
        return self.tables if part == "tables" else self.columns


@dataclass(frozen=True, slots=True)
class Coverage:
    """The counts for all datasets, and for each group.

    Groups with the most undocumented columns come first, then by key. A dataset with several
    owners, tags or folders counts in each group, so groups may add up to more than the total.
    """

    tables: Count = Count()
    columns: Count = Count()
    by: Grouping | None = None
    groups: tuple[Group, ...] = ()

    def of(self, part: Part) -> Count:
        """Return the counts of tables or of columns."""
        return self.tables if part == "tables" else self.columns

    def reaches(self, percent: float, parts: Iterable[Part] = ("tables", "columns")) -> bool:
        """Return whether each of the parts is documented to at least this share."""
        return all(self.of(part).reaches(percent) for part in parts)


def cover(
    entities: Iterable[Entity],
    by: Grouping | None = None,
    names: Mapping[str, str] | None = None,
) -> Coverage:
    """Return the coverage of some datasets. No requests.

    `names` are the display names of owners, tags and domains by URN; without one, a group gets its
    name from the URN. A description of only white space does not count. Raises `ServerFault` if an
    aspect does not fit its record.
    """
    tables, columns = Count(), Count()
    sums: dict[str, tuple[Count, Count]] = {}
    for entity in entities:
        table = _to_count(entity.ingested_description, entity.edited_description)
        below = sum(
            (_to_count(column.ingested, column.edited) for column in entity.schema), start=Count()
        )
        tables, columns = tables + table, columns + below
        for key in keys_of(entity, by) if by else ():
            counts_before = sums.get(key, (Count(), Count()))
            sums[key] = (counts_before[0] + table, counts_before[1] + below)
    groups = [
        Group(key, (names or {}).get(key) or Urn.label(key), *counts)
        for key, counts in sums.items()
    ]
    groups.sort(key=lambda group: (-group.columns.undocumented, group.key))
    return Coverage(tables, columns, by, tuple(groups))


async def read_coverage(
    catalog: "AsyncCatalog",
    urns: Sequence[Urn],
    by: Grouping | None = None,
    progress: Progress | None = None,
) -> Coverage:
    """Return the coverage of the datasets among `urns` that exist.

    Costs the requests of `AsyncCatalog.entities` for them and for the entities that groups are
    named after.
    """
    aspects = (*TEXT_ASPECTS, *(_FOR_GROUPING[by] if by else ()))
    entities = [entity async for entity in read_datasets(catalog, urns, aspects, progress)]
    keys = {key for entity in entities for key in (keys_of(entity, by) if by else ())}
    urn_keys = [key for key in sorted(keys) if key.startswith("urn:li:")]
    entities_by_urn = await catalog.entities(urn_keys, NAME_ASPECTS) if urn_keys else {}
    return cover(entities, by, {str(urn): entity.name for urn, entity in entities_by_urn.items()})


async def ask_coverage(
    catalog: "AsyncCatalog", datasets: DatasetSelection, by: Grouping | None = None
) -> Coverage:
    """Return the coverage as computed by a server with `Abilities.stewardship`. One request."""
    counts = await catalog.described(**datasets, by=by)
    groups = [
        Group(group.key, group.name, _count_of(group.tables), _count_of(group.columns))
        for group in counts.groups
    ]
    return Coverage(_count_of(counts.tables), _count_of(counts.columns), by, tuple(groups))


Every = Literal["day", "week"]

_NO_TREND: Final = (
    "this server cannot say how much was documented on earlier days: DataHub returns the versions "
    "of an aspect one by one and drops old ones; use the catalog's own server for that"
)


@dataclass(frozen=True, slots=True)
class DayCount:
    """The number of documented tables or columns among `total` at the end of a day."""

    total: int = 0
    documented: int = 0

    @property
    def percent(self) -> float | None:
        """The documented share in percent, rounded down to one decimal, so that 100 means all;
        `None` if `total` is 0."""
        return self.documented * 1000 // self.total / 10 if self.total else None


@dataclass(frozen=True, slots=True)
class GroupTrend:
    """The counts for one group of datasets on each day; `key` and `name` are as in `Group`."""

    key: str
    name: str
    tables: tuple[DayCount, ...]
    columns: tuple[DayCount, ...]

    def of(self, part: Part) -> tuple[DayCount, ...]:
        """Return the series of tables or of columns."""
        return self.tables if part == "tables" else self.columns


@dataclass(frozen=True, slots=True)
class CoverageTrend:
    """How much was documented at the end of each of `days` (UTC), oldest first; the last is now.

    Only datasets that exist now are counted, in their present groups. `since` is the first day with
    data, `None` if there is none; `days` do not begin before it. `groups` are those with the most
    undocumented columns, at most 50 of `group_total`. Permanently deleted datasets are not counted
    on any day.
    """

    days: tuple[date, ...] = ()
    tables: tuple[DayCount, ...] = ()
    columns: tuple[DayCount, ...] = ()
    by: Grouping | None = None
    groups: tuple[GroupTrend, ...] = ()
    group_total: int = 0
    since: date | None = None
    every: Every = "day"
    datasets: int = 0

    def of(self, part: Part) -> tuple[DayCount, ...]:
        """Return the series of tables or of columns."""
        return self.tables if part == "tables" else self.columns


async def ask_trend(
    catalog: "AsyncCatalog",
    datasets: DatasetSelection,
    by: Grouping | None = None,
    *,
    days: int = 90,
    every: Every = "day",
) -> CoverageTrend:
    """Return the trend as computed by a server with `Abilities.coverage_trend`. One request.

    Raises `InvalidInput` if the server does not compute trends, as DataHub's do not.
    """
    if not (await catalog.abilities()).coverage_trend:
        raise InvalidInput(_NO_TREND)
    trend = await catalog.described_trend(**datasets, by=by, days=days, every=every)
    groups = [
        GroupTrend(group.key, group.name, _days_of(group.tables), _days_of(group.columns))
        for group in trend.groups
    ]
    return CoverageTrend(
        tuple(map(_day, trend.days)),
        _days_of(trend.tables),
        _days_of(trend.columns),
        by,
        tuple(groups),
        trend.group_total,
        None if trend.since_millis is None else _day(trend.since_millis),
        every,
        trend.datasets,
    )


def _day(millis: int) -> date:
    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=millis)).date()


def _days_of(series: DescribedSeries) -> tuple[DayCount, ...]:
    return tuple(
        DayCount(total, documented)
        for total, documented in zip(series.total, series.documented, strict=True)
    )


def _count_of(count: DescribedCount) -> Count:
    return Count(count.total, count.documented, count.edited, count.ingested)


def keys_of(entity: Entity, by: Grouping) -> tuple[str, ...]:
    """Return the keys of the groups that a dataset belongs to; one empty key if there are none."""
    match by:
        case "platform":
            keys = [entity.platform or ""]
        case "owner":
            keys = [owner.owner for owner in entity.owners]
        case "domain":
            keys = list(map(str, entity.domains))
        case "tag":
            # Tags of columns count too, as they do in a filter on tags.
            columns = (tag for column in entity.schema for tag in column.tags)
            keys = list(map(str, (*entity.tags, *columns)))
        case "folder":
            keys = list(entity.browse_paths)
    return tuple(dict.fromkeys(keys)) or ("",)


def _to_count(ingested: str | None, edited: str | None) -> Count:
    is_ingested, is_edited = bool((ingested or "").strip()), bool((edited or "").strip())
    return Count(1, int(is_ingested or is_edited), int(is_edited), int(is_ingested))
