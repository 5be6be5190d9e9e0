"""Entities, aspects and their points in time."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from urllib.parse import quote

from explorer.client.requests.request import Request, action, millis, of_aspects
from explorer.metadata.filters import Filter
from explorer.metadata.urn import Urn

__all__ = [
    "aspect",
    "config",
    "entities",
    "entity",
    "legacy_entity",
    "timeseries",
    "versions",
]


def config() -> Request:
    """What the server is and can do."""
    return Request("GET", "/config")


def entity(urn: Urn, aspects: Sequence[str] | None) -> Request:
    """Endpoint 3; all aspects when none are named."""
    return Request("GET", f"/entitiesV2/{urn.encoded}{of_aspects('?', aspects)}")


def legacy_entity(urn: Urn) -> Request:
    """Endpoint 4."""
    return Request("GET", f"/entities/{urn.encoded}")


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
    return Request("GET", f"/aspects/{urn.encoded}?aspect={quote(name, safe='')}&version={version}")


def versions(urn: Urn, name: str, newest: int, start: int, count: int) -> Request:
    """The versions of an aspect up to one number, newest first: what our own service offers."""
    return Request(
        "GET",
        f"/versions/{urn.encoded}?aspect={quote(name, safe='')}"
        f"&from=1&to={newest}&start={start}&count={count}",
    )


def timeseries(
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
