"""What comes back: every answer read by a pure function, from old servers and new ones.

The specification's shapes and those of a current DataHub differ in places (search hits are URNs
or objects, relationships carry types or not); both are read here, nowhere else.
"""

from collections.abc import Sequence
from typing import Any

import orjson

from explorer.client.entity import AspectRead, Entity
from explorer.client.records import (
    BrowsePage,
    Direction,
    Edge,
    Edges,
    Facet,
    FacetValue,
    Folder,
    Hit,
    Match,
    Named,
    Rollback,
    SearchPage,
    ServerInfo,
    Timeseries,
)
from explorer.errors import ServerFault
from explorer.metadata.aspects import AuditStamp, read_aspect
from explorer.metadata.urn import Urn

_Json = dict[str, Any]


def config(body: Any, address: str) -> ServerInfo:
    """`GET /config`."""
    answer = _object(body, "the server's /config")
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


def search(body: Any, text: str) -> SearchPage:
    """Endpoint 6, in either shape."""
    value = _value(body, "search")
    metadata = value.get("metadata") or {}
    matches = [_matches(entry) for entry in metadata.get("matches") or ()]
    hits = []
    for at, entry in enumerate(value.get("entities") or ()):
        if isinstance(entry, str):
            matched = matches[at] if at < len(matches) else ()
            hits.append(Hit(Urn.parse(entry), matched))
        else:
            hits.append(Hit(Urn.parse(entry["entity"]), _matches(entry), entry.get("score")))
    facets = metadata.get("searchResultMetadatas") or metadata.get("aggregations") or ()
    return SearchPage(
        text,
        int(value.get("from", 0)),
        int(value.get("numEntities", 0)),
        tuple(hits),
        tuple(_facet(entry) for entry in facets),
    )


def suggestions(body: Any) -> tuple[str, ...]:
    """Endpoint 7."""
    found = _value(body, "autocomplete").get("suggestions") or ()
    return tuple(text for text in found if isinstance(text, str))


def browse(body: Any) -> BrowsePage:
    """Endpoint 5; folders stand at one of two places."""
    value = _value(body, "browse")
    metadata = value.get("metadata") or {}
    folders = value.get("groups") or metadata.get("groups") or ()
    here = int(value.get("numEntities", 0))
    return BrowsePage(
        metadata.get("path", ""),
        int(value.get("from", 0)),
        here,
        int(metadata.get("totalNumEntities", 0)),
        # Servers that do not count them give every folder on each page.
        int(value.get("numElements", here + len(folders))),
        tuple(Folder(entry["name"], int(entry["count"])) for entry in folders),
        tuple(
            Named(Urn.parse(entry["urn"]), entry.get("name") or Urn.parse(entry["urn"]).name)
            for entry in value.get("entities") or ()
        ),
    )


def entity(body: Any) -> Entity:
    """Endpoint 3."""
    answer = _object(body, "an entity")
    return Entity(
        Urn.parse(answer["urn"]),
        {name: _aspect(name, wrapper) for name, wrapper in (answer.get("aspects") or {}).items()},
    )


def entities(body: Any) -> dict[Urn, Entity]:
    """The batch form of endpoint 3, by URN; those that could not be read are left out."""
    results = _object(body, "entities").get("results")
    found = [entity(answer) for answer in _object(results, "entities").values()]
    return {one.urn: one for one in found}


def aspect(body: Any, name: str) -> AspectRead:
    """Endpoint 8."""
    answer = _object(body, "an aspect")
    value: _Json = next(iter(_object(answer.get("aspect"), "an aspect").values()), {})
    return AspectRead(name, int(answer.get("version", 0)), value)


def timeseries(body: Any, name: str) -> Timeseries:
    """Endpoint 9; servers send the newest first, charts want the oldest first."""
    value = _value(body, "timeseries")
    points = [_point(entry) for entry in value.get("values") or ()]
    points.sort(key=lambda point: point.get("timestampMillis", 0))
    return Timeseries(name, int(value.get("limit", 10_000)), tuple(points))


def relationships(body: Any, direction: Direction, types: Sequence[str]) -> Edges:
    """Endpoint 10: with types where the server gives them, else those asked for."""
    answer = _object(body, "relationships")
    listed = answer.get("relationships")
    if isinstance(listed, list):
        edges = [Edge(entry["type"], Urn.parse(entry["entity"])) for entry in listed]
    else:
        name = types[0] if len(types) == 1 else ""
        edges = [Edge(name, Urn.parse(text)) for text in answer.get("entities") or ()]
    return Edges(direction, int(answer.get("total", len(edges))), tuple(edges))


def rollback(body: Any) -> Rollback:
    """What undoing a run did."""
    value = _value(body, "rollback")
    return Rollback(
        int(value.get("aspectsReverted", 0)),
        int(value.get("entitiesDeleted", 0)),
        int(value.get("unsafeEntitiesCount", 0)),
    )


def _aspect(name: str, wrapper: Any) -> AspectRead:
    held = _object(wrapper, f"the aspect {name}")
    created = held.get("created")
    return AspectRead(
        name,
        int(held.get("version", 0)),
        held.get("value") or {},
        read_aspect(created, AuditStamp) if created else None,
    )


def _point(entry: Any) -> _Json:
    text = entry["aspect"]["value"]
    try:
        return _object(orjson.loads(text), "a timeseries value")
    except orjson.JSONDecodeError as error:
        raise ServerFault(f"a timeseries value is not JSON: {error}") from error


def _matches(entry: Any) -> tuple[Match, ...]:
    fields = entry.get("matchedFields") or ()
    return tuple(Match(found["name"], str(found["value"])) for found in fields)


def _facet(entry: _Json) -> Facet:
    counts = entry.get("aggregations") or {}
    values = tuple(FacetValue(value, int(count)) for value, count in counts.items())
    ordered = sorted(values, key=lambda one: (-one.count, one.value))
    name = entry["name"]
    return Facet(name, entry.get("displayName") or _words(name), tuple(ordered))


def _words(name: str) -> str:
    """`glossaryTerms` as people write it: `glossary terms`."""
    spaced = "".join(f" {char.lower()}" if char.isupper() else char for char in name.lstrip("_"))
    return spaced.strip()


def _value(body: Any, what: str) -> _Json:
    return _object(_object(body, what).get("value"), what)


def _object(body: Any, what: str) -> _Json:
    if not isinstance(body, dict):
        raise ServerFault(f"the server's answer to {what} is not of the shape expected")
    return body
