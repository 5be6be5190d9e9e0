"""Edges between entities, and lineage."""

import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import get_args

from explorer.client.answers.relating import (
    LineageMap,
    LineagePage,
    add_lineage_page,
    choose_reached,
    parse_lineage,
    parse_lineage_page,
    parse_relationships,
)
from explorer.client.parts.part import CatalogMethods, together
from explorer.client.records import Direction, Edge, Edges, Flow, Lineage, Way
from explorer.client.requests.relating import (
    carries_lineage,
    lineage_edges,
    lineage_names,
    lineage_page_request,
    lineage_request,
    relationships_request,
)
from explorer.errors import InvalidInput, NotFound, ServerFault
from explorer.metadata.urn import Urn

__all__ = ["LineageMethods"]

_EVERYTHING = 10_000
_PAGE = 1_000
_AT_ONCE = 8
# In the order in which they are tried: fastest first, and the last is known to every server.
_WAYS: tuple[Way, ...] = ("server", "graphql", "relationships")
_FLOWS: tuple[Flow, ...] = get_args(Flow)
# What a walk of many requests is held to where nothing was said.
_MOST_ENTITIES = 10_000
_MOST_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class _Walk:
    """What is asked for, and when to stop."""

    root: Urn
    direction: Flow
    hops: int
    limit: int | None
    budget_seconds: float | None
    deadline: float

    @property
    def most(self) -> int:
        return _MOST_ENTITIES if self.limit is None else self.limit

    @property
    def is_over(self) -> bool:
        return time.monotonic() >= self.deadline

    @property
    def too_many(self) -> str:
        return f"only the nearest {self.most} entities were walked to"

    @property
    def too_long(self) -> str:
        seconds = _MOST_SECONDS if self.budget_seconds is None else self.budget_seconds
        return f"the walk was ended after {seconds:g} seconds"


class LineageMethods(CatalogMethods):
    """How entities hang together."""

    # What was found out of the server.
    _names_edges = True
    _lineage_marks = True
    _lineage_way: Way | None = None

    async def relationships(
        self,
        urn: str | Urn,
        direction: Direction,
        types: Sequence[str] | None = None,
        *,
        start: int = 0,
        count: int = _EVERYTHING,
    ) -> Edges:
        """Edges of an entity: OUTGOING those it declares, INCOMING those that lead to it.

        Of the relationships named, or of every one the model allows; `count` of them from `start`
        on, in the server's order, 10,000 at most from most servers. One request. A server that
        does not name the relationships it gives is asked for one at a time, a request each.

        Example: `cat.relationships(urn, "INCOMING", ["DownstreamOf"])`
        """
        source = Urn.parse(urn)
        names = tuple(types or self.relationship_names(source.entity_type, direction))
        if not names:
            return Edges(direction, 0, start=start)
        if self._names_edges or len(names) == 1:
            found = await self._relationship_page(source, direction, names, start, count)
            if all(edge.relationship for edge in found.edges):
                return found
            self._names_edges = False
        return await self._relationships_by_name(source, direction, names, start, count)

    async def related(
        self,
        urn: str | Urn,
        direction: Direction,
        types: Sequence[str] | None = None,
        *,
        page_size: int = _PAGE,
    ) -> AsyncIterator[Edge]:
        """Every edge of an entity, one after another, however many there are.

        Of the relationships named, or of every one the model allows, in the server's order. One
        request a page, sent when its first edge is asked for. A server that does not name the
        relationships it gives is asked for one at a time.

        Example: `list(cat.related(urn, "OUTGOING", ["OwnedBy"]))`
        """
        source = Urn.parse(urn)
        names = tuple(types or self.relationship_names(source.entity_type, direction))
        groups = [names] if names else []
        while groups:
            asked, start = groups.pop(0), 0
            while True:
                found = await self._relationship_page(source, direction, asked, start, page_size)
                if not all(edge.relationship for edge in found.edges):
                    groups = [(name,) for name in asked]
                    break
                for edge in found.edges:
                    yield edge
                # By what was given: servers give fewer at once than they are asked for.
                start = found.end
                if start == found.start or not found.truncated:
                    break

    async def lineage(
        self,
        urn: str | Urn,
        direction: Flow = "DOWNSTREAM",
        *,
        hops: int = 1,
        entities: Sequence[str] | None = None,
        platforms: Sequence[str] | None = None,
        limit: int | None = None,
        budget_seconds: float | None = None,
        way: Way | None = None,
    ) -> Lineage:
        """What an entity's data is made of (UPSTREAM) or what is made of it (DOWNSTREAM), as far
        away as `hops`, nearest first. A column is asked about by its schemaField URN.

        `entities` and `platforms` (`hive`, as the URN names it) choose among what is reached; the
        walk goes through the others and `edges` has them all. `limit` is how many entities are
        walked to, `budget_seconds` for how long; what ended a walk early is said in `truncated`.

        One request to this package's own service, of 250,000 entities and 25 seconds at most. One
        for a thousand entities through the GraphQL of a current DataHub. One or two for every
        entity passed, eight at a time, from anything else; the last two take 10,000 entities and
        60 seconds unless told otherwise. Which of these a server has is found out by the first
        question and remembered; `way` asks for one of them. Raises `InvalidInput` for fewer than
        one hop, `UnknownName` for an entity type that is none.

        Example: `cat.lineage(urn, "UPSTREAM", hops=2)`
        """
        root = Urn.parse(urn)
        if direction not in _FLOWS:
            raise InvalidInput(f"lineage runs {' or '.join(_FLOWS)}, not {direction!r}")
        if hops < 1:
            raise InvalidInput(f"lineage is walked one hop or more, not {hops}")
        if limit is not None and limit < 0:
            raise InvalidInput(f"a limit is a number of entities from 0 up, not {limit}")
        if budget_seconds is not None and budget_seconds < 0:
            raise InvalidInput(f"a budget is a number of seconds from 0 up, not {budget_seconds}")
        for name in entities or ():
            self.registry.entity(name)
        seconds = _MOST_SECONDS if budget_seconds is None else budget_seconds
        walk = _Walk(root, direction, hops, limit, budget_seconds, time.monotonic() + seconds)
        found = await self._lineage_walked(walk, way or self._lineage_way)
        chosen = choose_reached(found, entities or (), platforms or ())
        return found if chosen is None else replace(found, total=len(chosen), chosen=chosen)

    def relationship_names(self, entity_type: str, direction: Direction) -> tuple[str, ...]:
        """The relationships that an entity of a type may have in a direction, sorted.

        Example: `cat.relationship_names("dataset", "OUTGOING")`
        """
        registry = self.registry
        if direction == "INCOMING":
            found = {
                edge.name
                for aspect in registry.aspects.values()
                for edge in aspect.relationships
                if not edge.to or entity_type in edge.to
            }
        else:
            names = registry.aspects_of(entity_type) if entity_type in registry.entities else ()
            found = {
                edge.name
                for name in names
                if name in registry.aspects
                for edge in registry.aspects[name].relationships
            }
        return tuple(sorted(found))

    async def _relationship_page(
        self, source: Urn, direction: Direction, names: Sequence[str], start: int, count: int
    ) -> Edges:
        request = relationships_request(source, direction, names, start, count)
        reply = await self._connection.ask(request)
        found = parse_relationships(reply.body, direction, names, start, count)
        return found if reply.as_of is None else replace(found, as_of=reply.as_of)

    async def _relationships_by_name(
        self, source: Urn, direction: Direction, names: Sequence[str], start: int, count: int
    ) -> Edges:
        end = start + count
        parts = await together(
            (self._first_relationships(source, direction, (name,), end) for name in names), _AT_ONCE
        )
        edges = [edge for part in parts for edge in part.edges]
        total = sum(part.total for part in parts)
        as_of = _oldest(*(part.as_of for part in parts))
        # They stand behind no place of their own, so they are told with the last page.
        unreadable = [text for part in parts for text in part.unreadable] if end >= total else ()
        return Edges(direction, total, tuple(edges[start:end]), start, as_of, tuple(unreadable))

    async def _first_relationships(
        self, source: Urn, direction: Direction, names: Sequence[str], count: int
    ) -> Edges:
        """The first edges, page after page."""
        found = await self._relationship_page(source, direction, names, 0, min(count, _EVERYTHING))
        edges, unreadable, page = list(found.edges), list(found.unreadable), found
        while page.end > page.start and page.end < min(count, page.total):
            room = min(count - page.end, _EVERYTHING)
            page = await self._relationship_page(source, direction, names, page.end, room)
            edges += page.edges
            unreadable += page.unreadable
        as_of = _oldest(found.as_of, page.as_of)
        return Edges(direction, found.total, tuple(edges), 0, as_of, tuple(unreadable))

    async def _lineage_walked(self, walk: _Walk, known: Way | None) -> Lineage:
        ways = _WAYS if known is None else (known,)
        for way in ways:
            try:
                match way:
                    case "server":
                        found = await self._lineage_by_server(walk)
                    case "graphql":
                        found = await self._lineage_by_graphql(walk)
                    case "relationships":
                        found = await self._lineage_by_relationships(walk)
            except (InvalidInput, NotFound, ServerFault):
                # Other servers refuse what they do not know in many ways.
                if way == ways[-1]:
                    raise
                continue
            if found is not None:
                if known is None:
                    self._lineage_way = way
                return found
        raise ServerFault("the server does not give lineage in the form that was asked for")

    async def _lineage_by_server(self, walk: _Walk) -> Lineage | None:
        request = lineage_request(
            walk.root, walk.direction, walk.hops, walk.limit, walk.budget_seconds
        )
        reply = await self._connection.ask(request)
        found = parse_lineage(reply.body, walk.root, walk.direction, walk.hops)
        return found if found is None else replace(found, as_of=reply.as_of)

    async def _lineage_by_graphql(self, walk: _Walk) -> Lineage:
        found, truncated = LineageMap(walk.root, walk.direction), None
        page = await self._first_lineage_page(walk)
        while True:
            found.as_of = _oldest(found.as_of, page.as_of)
            took_all = add_lineage_page(page, found, walk.hops, walk.most, self._lineage_edge_name)
            if not took_all:
                truncated = walk.too_many
            elif page.next_id is not None and walk.is_over:
                truncated = walk.too_long
            if truncated is not None or page.next_id is None or not page.results:
                break
            page = await self._lineage_page(walk, page.next_id)
        return found.drawn(walk.hops, "graphql", marked=self._lineage_marks, truncated=truncated)

    async def _first_lineage_page(self, walk: _Walk) -> LineagePage:
        """The first page; finds out whether the server can say what exists and what is removed."""
        try:
            return await self._lineage_page(walk, None)
        except InvalidInput:
            if not self._lineage_marks:
                raise
        self._lineage_marks = False
        try:
            return await self._lineage_page(walk, None)
        except BaseException:
            self._lineage_marks = True
            raise

    async def _lineage_page(self, walk: _Walk, scroll_id: str | None) -> LineagePage:
        request = lineage_page_request(
            walk.root, walk.direction, walk.hops, _PAGE, scroll_id, marked=self._lineage_marks
        )
        reply = await self._connection.ask(request)
        if not isinstance(reply.body, dict):
            raise ServerFault("the server's GraphQL answer is not an object")
        return parse_lineage_page(reply.body.get("data") or {}, reply.as_of)

    def _lineage_edge_name(self, upstream: str, downstream: str) -> str:
        """What an edge between two types is called, where the model leaves no choice."""
        names = lineage_edges(self.registry, upstream, downstream)
        return names[0] if len(names) == 1 else ""

    async def _lineage_by_relationships(self, walk: _Walk) -> Lineage:
        found, truncated = LineageMap(walk.root, walk.direction), None
        frontier, degree = [walk.root], 0
        while frontier and degree < walk.hops and truncated is None:
            degree += 1
            hop = await together(
                (self._lineage_further(urn, walk, found) for urn in frontier), _AT_ONCE
            )
            fresh: list[Urn] = []
            for near, edges in zip(frontier, hop, strict=True):
                if edges is None:
                    truncated = walk.too_long
                    continue
                for edge in edges:
                    far = str(edge.urn)
                    if far not in found.places:
                        if len(found.places) > walk.most:
                            truncated = walk.too_many
                            continue
                        found.add(far, degree)
                        fresh.append(edge.urn)
                    found.join(str(near), far, edge.relationship)
            frontier = fresh
        return found.drawn(walk.hops, "relationships", marked=False, truncated=truncated)

    async def _lineage_further(self, urn: Urn, walk: _Walk, found: LineageMap) -> list[Edge] | None:
        """The edges that lead on from an entity; None when the time is over."""
        further: list[Edge] = []
        leading = lineage_names(self.registry, urn.entity_type, walk.direction)
        for direction, names in leading:
            if walk.is_over:
                return None
            source_is_upstream = (walk.direction == "UPSTREAM") == (direction == "INCOMING")
            page = await self._lineage_edges(urn, direction, names)
            found.as_of = _oldest(found.as_of, page.as_of)
            for edge in page.edges:
                ends = (urn.entity_type, edge.urn.entity_type)
                declaring, target = ends if direction == "OUTGOING" else reversed(ends)
                if carries_lineage(
                    self.registry,
                    declaring,
                    edge.relationship,
                    target,
                    source_is_upstream=source_is_upstream,
                ):
                    further.append(edge)
        return further

    async def _lineage_edges(self, urn: Urn, direction: Direction, names: Sequence[str]) -> Edges:
        page = await self.relationships(urn, direction, names)
        if not page.truncated:
            return page
        return replace(
            page, edges=tuple([edge async for edge in self.related(urn, direction, names)])
        )


def _oldest(*moments: datetime | None) -> datetime | None:
    """The oldest of the moments; what was read now has none."""
    return min((one for one in moments if one is not None), default=None)
