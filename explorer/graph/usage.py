"""How much datasets are used, asked for many at once."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from explorer.client.parts.part import in_chunks, together
from explorer.client.records import Timeseries
from explorer.errors import InvalidAspect, InvalidInput, NotFound, ServerFault
from explorer.metadata.aspects import DatasetUsageStatistics, read_aspect
from explorer.metadata.urn import Urn

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog

__all__ = ["Usage", "read_usage", "total_usage"]

_ASPECT = "datasetUsageStatistics"
_AT_ONCE = 16


@dataclass(frozen=True, slots=True)
class Usage:
    """Queries that read a dataset in some days, and the most different users of any one of the
    windows in which that was counted: servers count users a window, so that adding them up would
    count the same person again."""

    queries: int
    users: int


def total_usage(series: Timeseries) -> Usage | None:
    """The windows of a series together; nothing where nothing was counted. Pure."""
    points = []
    for value in series.values:
        try:
            points.append(read_aspect(value, DatasetUsageStatistics))
        except (InvalidAspect, ServerFault):
            continue
    if not points:
        return None
    return Usage(
        sum(point.total_sql_queries or 0 for point in points),
        max(point.unique_user_count or 0 for point in points),
    )


async def read_usage(
    catalog: "AsyncCatalog", urns: Iterable[str | Urn], *, days: int = 30
) -> Mapping[Urn, Usage]:
    """The usage of the datasets among `urns` over the last days; those never counted are left
    out. One request for each dataset, a few at once."""
    datasets = [urn for urn in map(Urn.parse, urns) if urn.entity_type == "dataset"]
    begin = datetime.now(UTC) - timedelta(days=days)
    found: dict[Urn, Usage] = {}
    for chunk in in_chunks(datasets, _AT_ONCE):
        counts = await together((_one(catalog, urn, begin) for urn in chunk), _AT_ONCE)
        counted = zip(chunk, counts, strict=True)
        found |= {urn: usage for urn, usage in counted if usage is not None}
    return found


async def _one(catalog: "AsyncCatalog", urn: Urn, begin: datetime) -> Usage | None:
    try:
        return total_usage(await catalog.timeseries(urn, _ASPECT, start=begin))
    except (InvalidInput, NotFound, ServerFault):
        # A server without usage counts nothing.
        return None
