"""Entities, aspects and their points in time."""

from typing import Any

import orjson

from explorer.client.answers.shape import Json, as_object, value_of
from explorer.client.entity import AspectRead, Entity
from explorer.client.records import ServerInfo, Timeseries
from explorer.errors import ServerFault
from explorer.metadata.aspects import AuditStamp, read_aspect
from explorer.metadata.urn import Urn

__all__ = ["aspect", "config", "entities", "entity", "timeseries"]


def config(body: Any, address: str) -> ServerInfo:
    """`GET /config`."""
    answer = as_object(body, "the server's /config")
    if answer.get("noCode") != "true":
        raise ServerFault(f"{address} answers, but is no metadata service (its /config says so)")
    versions = answer.get("versions")
    ours = answer.get("catalogExplorer")
    if isinstance(ours, dict):
        return ServerInfo(
            address,
            "catalog",
            str(ours.get("version", "")),
            address.startswith("unix:"),
            bool(ours.get("sample")),
            ours.get("entities"),
        )
    known = versions.get("acryldata/datahub", {}) if isinstance(versions, dict) else {}
    return ServerInfo(address, "datahub", str(known.get("version") or ""))


def entity(body: Any) -> Entity:
    """Endpoint 3."""
    answer = as_object(body, "an entity")
    return Entity(
        Urn.parse(answer["urn"]),
        {name: _aspect(name, wrapper) for name, wrapper in (answer.get("aspects") or {}).items()},
    )


def entities(body: Any) -> dict[Urn, Entity]:
    """The batch form of endpoint 3, by URN; those that could not be read are left out."""
    results = as_object(body, "entities").get("results")
    found = [entity(answer) for answer in as_object(results, "entities").values()]
    return {one.urn: one for one in found}


def aspect(body: Any, name: str) -> AspectRead:
    """Endpoint 8."""
    answer = as_object(body, "an aspect")
    value: Json = next(iter(as_object(answer.get("aspect"), "an aspect").values()), {})
    return AspectRead(name, int(answer.get("version", 0)), value)


def timeseries(body: Any, name: str) -> Timeseries:
    """Endpoint 9; servers send the newest first, charts want the oldest first."""
    value = value_of(body, "timeseries")
    points = [_point(entry) for entry in value.get("values") or ()]
    points.sort(key=lambda point: point.get("timestampMillis", 0))
    return Timeseries(name, int(value.get("limit", 10_000)), tuple(points))


def _aspect(name: str, wrapper: Any) -> AspectRead:
    held = as_object(wrapper, f"the aspect {name}")
    created = held.get("created")
    return AspectRead(
        name,
        int(held.get("version", 0)),
        held.get("value") or {},
        read_aspect(created, AuditStamp) if created else None,
    )


def _point(entry: Any) -> Json:
    text = entry["aspect"]["value"]
    try:
        return as_object(orjson.loads(text), "a timeseries value")
    except orjson.JSONDecodeError as error:
        raise ServerFault(f"a timeseries value is not JSON: {error}") from error
