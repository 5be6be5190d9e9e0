"""Entities, aspects and their points in time."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from urllib.parse import quote

from explorer.client.requests.request import Request, action, millis, of_aspects
from explorer.metadata.urn import Urn

__all__ = ["aspect", "config", "entities", "entity", "timeseries"]


def config() -> Request:
    """What the server is and can do."""
    return Request("GET", "/config")


def entity(urn: Urn, aspects: Sequence[str] | None) -> Request:
    """Endpoint 3; all aspects when none are named."""
    return Request("GET", f"/entitiesV2/{urn.encoded}{of_aspects('?', aspects)}")


def entities(urns: Sequence[Urn], aspects: Sequence[str] | None) -> Request:
    """The batch form of endpoint 3."""
    ids = ",".join(urn.encoded for urn in urns)
    return Request(
        "GET",
        f"/entitiesV2?ids=List({ids}){of_aspects('&', aspects)}",
        headers=(("X-RestLi-Method", "batch_get"),),
    )


def aspect(urn: Urn, name: str, version: int) -> Request:
    """Endpoint 8."""
    return Request("GET", f"/aspects/{urn.encoded}?aspect={quote(name)}&version={version}")


def timeseries(
    urn: Urn, name: str, start: datetime | None, end: datetime | None, limit: int | None
) -> Request:
    """Endpoint 9; both ends inclusive."""
    body: dict[str, Any] = {"urn": str(urn), "entity": urn.entity_type, "aspect": name}
    if start is not None:
        body["startTimeMillis"] = millis(start)
    if end is not None:
        body["endTimeMillis"] = millis(end)
    if limit is not None:
        body["limit"] = limit
    return action("/aspects", "getTimeseriesAspectValues", body)
