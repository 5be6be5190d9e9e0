"""Edges between entities, and lineage."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any
from urllib.parse import quote

from explorer.client.records import Direction, Flow
from explorer.client.requests.request import GRAPHQL_PATH, Request, action
from explorer.metadata.registry import Registry, Relationship
from explorer.metadata.urn import Urn

__all__ = [
    "carries_lineage",
    "lineage_edges",
    "lineage_names",
    "lineage_page_request",
    "lineage_request",
    "relationships_request",
]

# The server has a little less time than whoever waits for its answer.
_MOST_SECONDS = 25.0
_MOST_EDGES = 2_000_000
_MOST_ENTITIES = 250_000
_MARKED = ("Dataset", "DataJob", "Chart", "Dashboard", "MLModel", "MLModelGroup", "MLFeature")
_MARKS = "".join(f" ... on {kind} {{ exists status {{ removed }} }}" for kind in _MARKED)
_PAGE = """query lineage($input: ScrollAcrossLineageInput!) { scrollAcrossLineage(input: $input) {
  nextScrollId total
  searchResults { degree entity { urn type%s } paths { path { urn } } } } }"""
_FAR = 3


def relationships_request(
    urn: Urn, direction: str, types: Sequence[str], start: int, count: int
) -> Request:
    """Endpoint 10."""
    names = ",".join(quote(name, safe="") for name in types)
    listed = f"List({names})" if len(types) != 1 else names
    return Request(
        "GET",
        f"/relationships?direction={direction}&urn={urn.encoded}&types={listed}"
        f"&start={start}&count={count}",
    )


def lineage_request(
    urn: Urn, direction: Flow, hops: int, limit: int | None, budget_seconds: float | None
) -> Request:
    """Lineage over several hops in one answer, as this package's own service gives it."""
    body: dict[str, Any] = {
        "urn": str(urn),
        "direction": direction,
        "maxHops": hops,
        "form": "lists",
        "maxEntities": _MOST_ENTITIES if limit is None else limit,
        "maxEdges": _MOST_EDGES,
        # What another server makes of these words should cost it little.
        "count": 1,
    }
    if budget_seconds is not None:
        body["maxMillis"] = round(min(budget_seconds, _MOST_SECONDS) * 1000)
    return action("/relationships", "getLineage", body)


def lineage_page_request(
    urn: Urn, direction: Flow, hops: int, count: int, scroll_id: str | None, *, marked: bool
) -> Request:
    """A page of lineage through GraphQL; `marked` asks what exists and what is removed too, and for
    what is removed at all, which servers of some years ago cannot say. What was never stored is
    left out by servers."""
    degrees = [str(one) for one in range(1, min(hops, _FAR - 1) + 1)]
    if hops >= _FAR:
        degrees.append(f"{_FAR}+")
    degree = {"field": "degree", "condition": "EQUAL", "values": degrees, "negated": False}
    asked: dict[str, Any] = {
        "urn": str(urn),
        "direction": direction,
        "query": "*",
        "count": count,
        "orFilters": [{"and": [degree]}],
    }
    if marked:
        asked["searchFlags"] = {"includeSoftDeleted": True}
    if scroll_id is not None:
        asked["scrollId"] = scroll_id
    body = {"query": _PAGE % (_MARKS if marked else ""), "variables": {"input": asked}}
    return Request("POST", GRAPHQL_PATH, body)


def lineage_names(
    registry: Registry, entity_type: str, direction: Flow
) -> tuple[tuple[Direction, tuple[str, ...]], ...]:
    """The relationships that lead on from an entity of a type: those it declares (OUTGOING) and
    those declared to it (INCOMING), names sorted, a direction without any left out."""
    return _leading(registry, entity_type, direction == "UPSTREAM")


def carries_lineage(
    registry: Registry, declaring: str, name: str, target: str, *, source_is_upstream: bool
) -> bool:
    """Whether data flows along a relationship of that name, declared by an entity of the type
    `declaring` to one of the type `target`. Of a name that is lineage to some types alone, a type
    that nothing is said of counts as one of them."""
    found = [edge for edge in _declared(registry, declaring) if edge.name == name]
    flowing = [
        edge for edge in found if edge.lineage and edge.source_is_upstream == source_is_upstream
    ]
    if any(target in edge.to or not edge.to for edge in flowing):
        return True
    return bool(flowing) and not any(target in edge.to for edge in found)


def lineage_edges(registry: Registry, upstream: str, downstream: str) -> tuple[str, ...]:
    """The names of the relationships by which data may flow between two types, sorted."""
    found = {
        edge.name
        for edge in _declared(registry, downstream)
        if edge.lineage and not edge.source_is_upstream and upstream in edge.to
    }
    found |= {
        edge.name
        for edge in _declared(registry, upstream)
        if edge.lineage and edge.source_is_upstream and downstream in edge.to
    }
    return tuple(sorted(found))


@lru_cache(maxsize=256)
def _leading(
    registry: Registry, entity_type: str, upstream: bool
) -> tuple[tuple[Direction, tuple[str, ...]], ...]:
    # What an entity declares leads upstream unless the entity itself is upstream, and the other
    # way round.
    outgoing = {
        edge.name
        for edge in _declared(registry, entity_type)
        if edge.lineage and edge.source_is_upstream != upstream
    }
    incoming = {
        edge.name
        for aspect in registry.aspects.values()
        for edge in aspect.relationships
        if edge.lineage
        and edge.source_is_upstream == upstream
        and (not edge.to or entity_type in edge.to)
    }
    both: tuple[tuple[Direction, set[str]], ...] = (("OUTGOING", outgoing), ("INCOMING", incoming))
    return tuple((way, tuple(sorted(names))) for way, names in both if names)


@lru_cache(maxsize=256)
def _declared(registry: Registry, entity_type: str) -> tuple[Relationship, ...]:
    names = registry.aspects_of(entity_type) if entity_type in registry.entities else ()
    return tuple(
        edge
        for name in names
        if name in registry.aspects
        for edge in registry.aspects[name].relationships
    )
