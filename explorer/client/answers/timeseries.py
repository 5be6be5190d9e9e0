"""Points in time, and the latest measures of datasets."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from explorer.client.answers.reading import parse_value, whole_number
from explorer.client.answers.shape import Json, as_object, value_of
from explorer.client.records import Measures, Timeseries
from explorer.errors import Unreadable
from explorer.metadata.aspects import moment_of
from explorer.metadata.urn import Urn

__all__ = ["parse_measures", "parse_timeseries", "point_millis"]

_LIMIT = 10_000


def parse_timeseries(body: Any, name: str, as_of: datetime | None = None) -> Timeseries:
    """Endpoint 9; servers send the newest first, charts want the oldest first."""
    value = value_of(body, "timeseries")
    listed = value.get("values") or []
    if not isinstance(listed, list):
        raise Unreadable("the server's answer to timeseries has no list of values")
    points = [_point(entry) for entry in listed]
    points.sort(key=point_millis)
    return Timeseries(name, whole_number(value.get("limit"), _LIMIT), tuple(points), as_of)


def point_millis(point: Json) -> int:
    """When a point stands, in milliseconds since 1970; 0 where it does not say."""
    return whole_number(point.get("timestampMillis"), 0)


def parse_measures(body: Any, urns: Sequence[Urn]) -> dict[Urn, Measures]:
    """What GraphQL says of datasets, asked for as `d0`, `d1`, …, where it says anything."""
    data = as_object(body, "measures").get("data")
    found = data if isinstance(data, dict) else {}
    read = ((urn, _dataset_measures(found.get(f"d{at}"))) for at, urn in enumerate(urns))
    return {urn: said for urn, said in read if said != Measures()}


def _dataset_measures(said: Any) -> Measures:
    summary = _inside(said, "statsSummary")
    changes = (
        _count(_inside(said, "operations"), "lastUpdatedTimestamp"),
        _count(_inside(_inside(said, "properties"), "lastModified"), "time"),
    )
    known = [one for one in changes if one]
    return Measures(
        _count(_inside(said, "datasetProfiles"), "rowCount"),
        _count(summary, "queryCountLast30Days"),
        _count(summary, "uniqueUserCountLast30Days"),
        moment_of(max(known)) if known else None,
    )


def _inside(said: Any, field: str) -> Any:
    """What a field holds, the first where it holds several."""
    held = said.get(field) if isinstance(said, dict) else None
    return next(iter(held), None) if isinstance(held, list) else held


def _count(said: Any, field: str) -> int | None:
    held = said.get(field) if isinstance(said, dict) else None
    return int(held) if isinstance(held, int | float) and not isinstance(held, bool) else None


def _point(entry: Any) -> Json:
    envelope = as_object(as_object(entry, "timeseries").get("aspect"), "timeseries")
    if envelope.get("value") is None:
        raise Unreadable("a timeseries point of the server has no value")
    return parse_value(envelope["value"], "timeseries value")
