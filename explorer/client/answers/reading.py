"""Entities, aspects and their points in time."""

from datetime import datetime
from typing import Any

import orjson

from explorer.client.answers.shape import Json, as_object
from explorer.client.entity import AspectRead, Entity
from explorer.client.records import ServerInfo
from explorer.errors import InvalidUrn, ServerFault, UnknownName, Unreadable
from explorer.metadata.registry import Registry
from explorer.metadata.urn import Urn

__all__ = [
    "parse_aspect",
    "parse_config",
    "parse_entities",
    "parse_entity",
    "parse_legacy_entity",
    "parse_value",
    "parse_wrapper",
    "whole_number",
]


def parse_config(body: Any, address: str) -> ServerInfo:
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


def parse_entity(body: Any, as_of: datetime | None = None) -> Entity:
    """Endpoint 3. A null stands for an aspect that is not there."""
    answer = as_object(body, "an entity")
    held = answer.get("aspects")
    wrappers = {} if held is None else as_object(held, "an entity's aspects")
    return Entity(
        _urn(answer.get("urn")),
        {
            name: parse_wrapper(name, wrapper)
            for name, wrapper in wrappers.items()
            if wrapper is not None
        },
        as_of,
    )


def parse_entities(body: Any, as_of: datetime | None = None) -> dict[Urn, Entity]:
    """The batch form of endpoint 3, by URN; those that could not be read are left out."""
    results = as_object(body, "entities").get("results")
    found = [
        parse_entity(answer, as_of)
        for answer in as_object(results, "entities").values()
        if answer is not None
    ]
    return {one.urn: one for one in found}


def parse_legacy_entity(body: Any, registry: Registry, as_of: datetime | None = None) -> Entity:
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
            found[name] = AspectRead(name, 0, parse_value(value, name))
    return Entity(_urn(snapshot.get("urn")), found, as_of)


def parse_aspect(body: Any, name: str, as_of: datetime | None = None) -> AspectRead:
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
        name,
        whole_number(answer.get("version"), 0),
        value,
        None,
        answer.get("systemMetadata"),
        as_of,
    )


def parse_wrapper(name: str, wrapper: Any) -> AspectRead:
    if not isinstance(wrapper, dict):
        raise Unreadable(f"the server's aspect {name} is not of the shape expected")
    # Written out and by place: a page of entities has thousands of these.
    told = wrapper.get
    value, version = told("value"), told("version")
    return AspectRead(
        name,
        version if type(version) is int else 0,
        value if type(value) is dict else parse_value(value, name),
        told("created"),
        told("systemMetadata"),
    )


def parse_value(value: Any, what: str) -> Json:
    """A value as it is, or out of its envelope's text; nothing is an empty one."""
    if value is None:
        return {}
    if isinstance(value, str):
        try:
            value = orjson.loads(value)
        except orjson.JSONDecodeError as error:
            raise Unreadable(f"the server's {what} is not JSON: {error}") from error
    return as_object(value, what)


def _member(union: Any, what: str) -> tuple[str, Json]:
    members = as_object(union, what)
    if len(members) != 1:
        raise Unreadable(f"the server's answer to {what} names {len(members)} records, not one")
    ((record, value),) = members.items()
    return record, parse_value(value, what)


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


def whole_number(value: Any, default: int) -> int:
    # Not isinstance: a boolean is no number here.
    return value if type(value) is int else default
