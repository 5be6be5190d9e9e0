"""Entities, aspects and their points in time."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import orjson

from explorer.client.answers.shape import Json, as_object, value_of
from explorer.client.entity import AspectRead, Entity
from explorer.client.records import Measures, ServerInfo, Timeseries
from explorer.client.records.history import Version, Versions
from explorer.errors import InvalidUrn, ServerFault, UnknownName, Unreadable
from explorer.metadata.aspects import moment_of
from explorer.metadata.registry import Registry
from explorer.metadata.urn import Urn

__all__ = [
    "aspect",
    "config",
    "entities",
    "entity",
    "legacy_entity",
    "measures",
    "millis_of",
    "timeseries",
    "version_of",
    "versions",
]

_LIMIT = 10_000


def config(body: Any, address: str) -> ServerInfo:
    """`GET /config`."""
    answer = as_object(body, "the server's /config")
    if answer.get("noCode") != "true":
        raise ServerFault(f"{address} answers, but is no metadata service (its /config says so)")
    versions = answer.get("versions")
    ours = answer.get("catalogExplorer")
    if isinstance(ours, dict):
        held = ours.get("entities")
        return ServerInfo(
            address,
            "catalog",
            str(ours.get("version", "")),
            address.startswith("unix:"),
            bool(ours.get("sample")),
            held if isinstance(held, int) else None,
            str(ours.get("user") or ""),
        )
    known = versions.get("acryldata/datahub") if isinstance(versions, dict) else None
    version = known.get("version") if isinstance(known, dict) else None
    return ServerInfo(address, "datahub", str(version or ""))


def entity(body: Any, as_of: datetime | None = None) -> Entity:
    """Endpoint 3. A null stands for an aspect that is not there."""
    answer = as_object(body, "an entity")
    held = answer.get("aspects")
    wrappers = {} if held is None else as_object(held, "an entity's aspects")
    return Entity(
        _urn(answer.get("urn")),
        {name: _aspect(name, wrapper) for name, wrapper in wrappers.items() if wrapper is not None},
        as_of,
    )


def entities(body: Any, as_of: datetime | None = None) -> dict[Urn, Entity]:
    """The batch form of endpoint 3, by URN; those that could not be read are left out."""
    results = as_object(body, "entities").get("results")
    found = [
        entity(answer, as_of)
        for answer in as_object(results, "entities").values()
        if answer is not None
    ]
    return {one.urn: one for one in found}


def legacy_entity(body: Any, registry: Registry, as_of: datetime | None = None) -> Entity:
    """Endpoint 4: aspects by the names of their records, whatever their prefix. One that the
    model does not have is kept under its record's short name."""
    answer = as_object(body, "an entity")
    _, snapshot = _member(answer.get("value", answer), "a snapshot")
    listed = snapshot.get("aspects") or []
    if not isinstance(listed, list):
        raise Unreadable("the server's snapshot has no list of aspects")
    found: dict[str, AspectRead] = {}
    # Some aspects stand beside the list, or several under one head.
    beside = {name: snapshot[name] for name in snapshot if name in registry.aspects}
    for held in (*listed, beside):
        for record, value in as_object(held, "a snapshot's aspect").items():
            name = _named(record, registry)
            found[name] = AspectRead(name, 0, _value(value, name))
    return Entity(_urn(snapshot.get("urn")), found, as_of)


def aspect(body: Any, name: str, as_of: datetime | None = None) -> AspectRead:
    """Endpoint 8."""
    answer = as_object(body, "an aspect")
    members = as_object(answer.get("aspect"), f"the aspect {name}")
    if len(members) > 1:
        named = {
            record: value
            for record, value in members.items()
            if record.rpartition(".")[2].casefold() == name.casefold()
        }
        members = named or members
    _, value = _member(members, f"the aspect {name}")
    return AspectRead(
        name, _whole(answer.get("version"), 0), value, None, answer.get("systemMetadata"), as_of
    )


def version_of(read: AspectRead) -> Version:
    """An aspect at one version as one of its versions."""
    return Version(read.version, read.value, read.created, read.run_id)


def versions(body: Any, urn: Urn, name: str, as_of: datetime | None = None) -> Versions:
    """The versions that our own service tells at once."""
    answer = as_object(body, "versions")
    listed = answer.get("versions")
    if not isinstance(listed, list):
        raise Unreadable("the server's answer to versions lists none")
    found = tuple(version_of(_aspect(name, wrapper)) for wrapper in listed)
    start = _whole(answer.get("start"), 0)
    total = _whole(answer.get("total"), start + len(found))
    return Versions(urn, name, found, start, total, start + len(found) < total, as_of)


def timeseries(body: Any, name: str, as_of: datetime | None = None) -> Timeseries:
    """Endpoint 9; servers send the newest first, charts want the oldest first."""
    value = value_of(body, "timeseries")
    listed = value.get("values") or []
    if not isinstance(listed, list):
        raise Unreadable("the server's answer to timeseries has no list of values")
    points = [_point(entry) for entry in listed]
    points.sort(key=millis_of)
    return Timeseries(name, _whole(value.get("limit"), _LIMIT), tuple(points), as_of)


def millis_of(point: Json) -> int:
    """When a point stands, in milliseconds since 1970; 0 where it does not say."""
    return _whole(point.get("timestampMillis"), 0)


def _aspect(name: str, wrapper: Any) -> AspectRead:
    if not isinstance(wrapper, dict):
        raise Unreadable(f"the server's aspect {name} is not of the shape expected")
    # Written out and by place: a page of entities has thousands of these.
    told = wrapper.get
    value, version = told("value"), told("version")
    return AspectRead(
        name,
        version if type(version) is int else 0,
        value if type(value) is dict else _value(value, name),
        told("created"),
        told("systemMetadata"),
    )


def _value(value: Any, what: str) -> Json:
    """A value as it is, or out of its envelope's text; nothing is an empty one."""
    if value is None:
        return {}
    if isinstance(value, str):
        try:
            value = orjson.loads(value)
        except orjson.JSONDecodeError as error:
            raise Unreadable(f"the server's {what} is not JSON: {error}") from error
    return as_object(value, what)


def measures(body: Any, urns: Sequence[Urn]) -> dict[Urn, Measures]:
    """What GraphQL says of datasets, asked for as `d0`, `d1`, …, where it says anything."""
    data = as_object(body, "measures").get("data")
    found = data if isinstance(data, dict) else {}
    read = ((urn, _measures(found.get(f"d{at}"))) for at, urn in enumerate(urns))
    return {urn: said for urn, said in read if said != Measures()}


def _measures(said: Any) -> Measures:
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
    return _value(envelope["value"], "timeseries value")


def _member(union: Any, what: str) -> tuple[str, Json]:
    members = as_object(union, what)
    if len(members) != 1:
        raise Unreadable(f"the server's answer to {what} names {len(members)} records, not one")
    ((record, value),) = members.items()
    return record, _value(value, what)


def _named(record: str, registry: Registry) -> str:
    if record in registry.aspects:
        return record
    try:
        return registry.aspect_named_by(record)
    except UnknownName:
        return record.rpartition(".")[2]


def _urn(text: Any) -> Urn:
    try:
        if isinstance(text, str):
            return Urn.parse(text)
    except InvalidUrn as error:
        raise Unreadable(f"the server names an entity by what is no URN: {error}") from error
    raise Unreadable("the server's entity has no URN")


def _whole(value: Any, default: int) -> int:
    # Not isinstance: a boolean is no number here.
    return value if type(value) is int else default
