"""Points in time."""

from datetime import datetime
from typing import Any

from explorer.client.requests.request import Request, action, millis
from explorer.metadata.filters import Filter
from explorer.metadata.urn import Urn

__all__ = ["timeseries_request"]


def timeseries_request(
    urn: Urn,
    name: str,
    start: datetime | None,
    end: datetime | None,
    limit: int | None,
    *,
    latest: bool = False,
    narrowed_by: Filter | None = None,
) -> Request:
    """Endpoint 9; both ends inclusive."""
    body: dict[str, Any] = {"urn": str(urn), "entity": urn.entity_type, "aspect": name}
    if start is not None:
        body["startTimeMillis"] = millis(start)
    if end is not None:
        body["endTimeMillis"] = millis(end)
    if limit is not None:
        body["limit"] = limit
    if latest:
        body["latestValue"] = True
    if narrowed_by:
        body["filter"] = narrowed_by.to_wire()
    return action("/aspects", "getTimeseriesAspectValues", body)
