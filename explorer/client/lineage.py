"""Reading relationships between entities, and lineage over any number of hops."""

import time
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import lru_cache
from typing import Any, get_args
from urllib.parse import quote

from explorer.client.connection import CatalogMethods, gather_limited
from explorer.client.records import Direction, Edge, Edges, Flow, Lineage, Way
from explorer.client.transport import (
    GRAPHQL_PATH,
    REFUSALS,
    Json,
    Request,
    action,
    as_object,
    read_as,
    rest_list,
    value_of,
)
from explorer.errors import InvalidInput, InvalidUrn, ServerFault
from explorer.metadata.registry import Registry, Relationship
from explorer.metadata.urn import Urn

# A little less than the client's timeout of 30 seconds.
_SERVER_SECONDS = 25.0
_MOST_EDGES = 2_000_000
_SERVER_ENTITIES = 250_000
_MARKED = ("Dataset", "DataJob", "Chart", "Dashboard", "MLModel", "MLModelGroup", "MLFeature")
_MARKS = "".join(f" ... on {kind} {{ exists status {{ removed }} }}" for kind in _MARKED)
_SCROLL = """query lineage($input: ScrollAcrossLineageInput!) { scrollAcrossLineage(input: $input) {
  nextScrollId total
  searchResults { degree entity { urn type%s } paths { path { urn } } } } }"""
_FAR = 3


def relationships_request(
    urn: Urn, direction: str, types: Sequence[str], start: int, count: int
) -> Request:
    """Return a request for a page of relationships."""
    names = rest_list(types) if len(types) != 1 else quote(types[0], safe="")
    return Request(
        "GET",
        f"/relationships?direction={direction}&urn={urn.encoded}&types={names}"
        f"&start={start}&count={count}",
    )


def lineage_request(
    urn: Urn, direction: Flow, hops: int, limit: int | None, budget_seconds: float | None
) -> Request:
    """Return a request to our own service for lineage over several hops in one answer."""
    body: dict[str, Any] = {
        "urn": str(urn),
        "direction": direction,
        "maxHops": hops,
        "form": "lists",
        "maxEntities": _SERVER_ENTITIES if limit is None else limit,
        "maxEdges": _MOST_EDGES,
        # Another server may take this for a request for relationships: keep its answer small.
        "count": 1,
    }
    if budget_seconds is not None:
        body["maxMillis"] = round(min(budget_seconds, _SERVER_SECONDS) * 1000)
    return action("/relationships", "getLineage", body)


def lineage_page_request(
    urn: Urn, direction: Flow, hops: int, count: int, scroll_id: str | None, *, marked: bool
) -> Request:
    """Return a GraphQL request for a page of lineage.

    `marked` includes soft-deleted entities and asks whether each exists and is removed, which older
    servers do not support. Servers leave out entities that were never stored.
    """
    degrees = [str(degree) for degree in range(1, min(hops, _FAR - 1) + 1)]
    if hops >= _FAR:
        degrees.append(f"{_FAR}+")
    degree = {"field": "degree", "condition": "EQUAL", "values": degrees, "negated": False}
    fields: dict[str, Any] = {
        "urn": str(urn),
        "direction": direction,
        "query": "*",
        "count": count,
        "orFilters": [{"and": [degree]}],
    }
    if marked:
        fields["searchFlags"] = {"includeSoftDeleted": True}
    if scroll_id is not None:
        fields["scrollId"] = scroll_id
    body = {"query": _SCROLL % (_MARKS if marked else ""), "variables": {"input": fields}}
    return Request("POST", GRAPHQL_PATH, body)


@lru_cache(maxsize=256)
def lineage_names(
    registry: Registry, entity_type: str, direction: Flow
) -> tuple[tuple[Direction, tuple[str, ...]], ...]:
    """Return the relationships that continue the lineage of an entity of some type.

    OUTGOING are those that the entity declares, INCOMING those that other entities declare to it.
    Names are sorted; a direction without names is left out.
    """
    # A declared relationship leads upstream, unless the registry says that its source is upstream;
    # an incoming one the other way round.
    upstream = direction == "UPSTREAM"
    outgoing = {
        edge.name
        for edge in _find_relationships(registry, entity_type)
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
    name_sets: tuple[tuple[Direction, set[str]], ...] = (
        ("OUTGOING", outgoing),
        ("INCOMING", incoming),
    )
    return tuple((side, tuple(sorted(names))) for side, names in name_sets if names)


def carries_lineage(
    registry: Registry, declaring: str, name: str, target: str, *, source_is_upstream: bool
) -> bool:
    """Return whether a relationship carries lineage between two entity types.

    `declaring` is the type of the entity that declares the relationship, `target` the type of the
    other entity. If a relationship is lineage only for some target types, a type that the registry
    does not know counts as one of them.
    """
    relationships = [edge for edge in _find_relationships(registry, declaring) if edge.name == name]
    flowing = [
        edge
        for edge in relationships
        if edge.lineage and edge.source_is_upstream == source_is_upstream
    ]
    if any(target in edge.to or not edge.to for edge in flowing):
        return True
    return bool(flowing) and not any(target in edge.to for edge in relationships)


def lineage_edges(registry: Registry, upstream: str, downstream: str) -> tuple[str, ...]:
    """Return the names of the relationships by which data can flow between two types, sorted."""
    names = {
        edge.name
        for edge in _find_relationships(registry, downstream)
        if edge.lineage and not edge.source_is_upstream and upstream in edge.to
    }
    names |= {
        edge.name
        for edge in _find_relationships(registry, upstream)
        if edge.lineage and edge.source_is_upstream and downstream in edge.to
    }
    return tuple(sorted(names))


@lru_cache(maxsize=256)
def _find_relationships(registry: Registry, entity_type: str) -> tuple[Relationship, ...]:
    names = registry.aspects_of(entity_type) if entity_type in registry.entities else ()
    return tuple(
        edge
        for name in names
        if name in registry.aspects
        for edge in registry.aspects[name].relationships
    )


_PLATFORM = "urn:li:dataPlatform:"
_COLUMN = "schemaField"


@read_as("relationships")
def parse_relationships(
    body: Any, direction: Direction, types: Sequence[str], start: int = 0, count: int | None = None
) -> Edges:
    """Parse a page of relationships.

    If the server does not name them, they get the requested name, or no name if several were
    requested. Entities without a valid URN are in `unreadable`.
    """
    answer = as_object(body, "relationships")
    name = types[0] if len(types) == 1 else ""
    typed = answer.get("relationships")
    if isinstance(typed, list):
        pairs = [(entry.get("type") or name, entry.get("entity")) for entry in typed]
    else:
        pairs = [
            (entry.get("relationshipType") or name, entry.get("urn"))
            if isinstance(entry, dict)
            else (name, entry)
            for entry in answer.get("entities") or ()
        ]
    total = answer.get("total")
    if total is None:
        # A server that sends no total returns all of them.
        total, pairs = len(pairs), pairs[start : None if count is None else start + count]
    edges, unreadable = [], []
    for relationship, text in pairs:
        urns = Urn.parse_all((text,))
        edges += [Edge(relationship, urn) for urn in urns]
        unreadable += [] if urns else [str(text)]
    return Edges(direction, int(total), tuple(edges), start, unreadable=tuple(unreadable))


@read_as("lineage")
def parse_lineage(body: Any, root: Urn, direction: Flow, hops: int) -> Lineage | None:
    """Parse lineage in our own service's form; `None` if the answer is in another form."""
    value = value_of(body, "lineage")
    if "names" not in value:
        return None
    if not _is_consistent(value):
        raise ServerFault(
            "the server's answer to lineage is inconsistent: an edge refers to a missing entity"
        )
    return Lineage(
        root,
        direction,
        hops,
        int(value["total"]),
        "server",
        urns=value["entities"],
        degrees=value["degrees"],
        upstream=value["upstream"],
        downstream=value["downstream"],
        kinds=value["types"],
        relationships=value["names"],
        missing=frozenset(value["missing"]),
        removed=frozenset(value["removed"]),
        truncated=value.get("truncated"),
    )


def _is_consistent(value: Json) -> bool:
    """Return whether the lists have matching lengths and all indexes are in range."""
    urns, names = value["entities"], value["names"]
    ends = (value["upstream"], value["downstream"], value["types"])
    if not all(isinstance(array, list) for array in (urns, names, value["degrees"], *ends)):
        return False
    return len(value["degrees"]) == len(urns) and all(
        len(places) == len(ends[0])
        and (not places or 0 <= min(places) <= max(places) < len(entries))
        for places, entries in zip(ends, (urns, urns, names), strict=True)
    )


@dataclass(slots=True)
class LineageBuilder:
    """A lineage result under construction: entities and edges are added without duplicates."""

    root: Urn
    direction: Flow
    places: dict[str, int] = field(default_factory=dict)
    degrees: list[int] = field(default_factory=list)
    edges: dict[tuple[int, int, str], None] = field(default_factory=dict)
    missing: set[int] = field(default_factory=set)
    removed: set[int] = field(default_factory=set)
    paths: dict[int, tuple[tuple[str, ...], ...]] = field(default_factory=dict)
    as_of: datetime | None = None

    def __post_init__(self) -> None:
        self.add(str(self.root), 0)

    def add(self, urn: str, degree: int) -> int:
        """Return the index of an entity, adding it if it is new."""
        place = self.places.setdefault(urn, len(self.degrees))
        if place == len(self.degrees):
            self.degrees.append(degree)
        elif degree < self.degrees[place]:
            # The entity was reached before, on a longer path.
            self.degrees[place] = degree
        return place

    def join(self, near: str, far: str, relationship: str) -> None:
        """Add the edge from an entity (`near`) to the next one (`far`); both must have been
        added."""
        near_index, far_index = self.places[near], self.places[far]
        ends = (far_index, near_index) if self.direction == "UPSTREAM" else (near_index, far_index)
        self.edges[*ends, relationship] = None

    def build(self, hops: int, way: Way, *, marked: bool, truncated: str | None) -> Lineage:
        """Return the lineage collected so far, nearest first, then in the order added.

        `marked` is true if it is known which entities are missing and which are soft-deleted.
        """
        names = sorted({name for _, _, name in self.edges})
        kinds = {name: at for at, name in enumerate(names)}
        order = sorted(range(len(self.degrees)), key=self.degrees.__getitem__)
        moved = {old: new for new, old in enumerate(order)}
        urns = list(self.places)
        return Lineage(
            self.root,
            self.direction,
            hops,
            len(urns) - 1,
            way,
            urns=[urns[old] for old in order],
            degrees=[self.degrees[old] for old in order],
            upstream=[moved[source] for source, _, _ in self.edges],
            downstream=[moved[target] for _, target, _ in self.edges],
            kinds=[kinds[name] for _, _, name in self.edges],
            relationships=names,
            missing=frozenset(moved[place] for place in self.missing) if marked else None,
            removed=frozenset(moved[place] for place in self.removed) if marked else None,
            paths={moved[old]: paths for old, paths in self.paths.items()},
            truncated=truncated,
            as_of=self.as_of,
        )


@dataclass(frozen=True, slots=True)
class LineagePage:
    """A page of lineage from GraphQL; `next_id` is the scroll id of the next page."""

    results: Sequence[Json]
    next_id: str | None
    as_of: datetime | None = None


@read_as("lineage")
def parse_lineage_page(data: Mapping[str, Any], as_of: datetime | None = None) -> LineagePage:
    """Parse the `data` of a GraphQL answer."""
    page = as_object(data.get("scrollAcrossLineage"), "lineage")
    return LineagePage(page.get("searchResults") or (), page.get("nextScrollId"), as_of)


@read_as("lineage")
def add_lineage_page(
    page: LineagePage,
    into: LineageBuilder,
    hops: int,
    most: int,
    name_edge: Callable[[str, str], str],
) -> bool:
    """Add a page, up to `most` entities without the root; return whether the whole page was added.

    The edges are those on the paths that the server sent. `name_edge` returns the name of an edge
    from the types of its upstream and downstream entity. For the lineage of a column, DataHub lists
    the entities that the columns belong to; the columns are then read from the paths.
    """
    of_columns = into.root.entity_type == _COLUMN
    for result in page.results:
        entity, degree = result["entity"], int(result["degree"])
        if degree > hops:
            continue
        paths = tuple(
            tuple(node["urn"] for node in path["path"] if node)
            for path in result.get("paths") or ()
            if path
        )
        ends: dict[str, list[tuple[str, ...]]] = {entity["urn"]: list(paths)}
        if of_columns:
            paths = tuple(dict.fromkeys(_columns_of(path) for path in paths))
            ends = {}
            for path in paths:
                if 1 < len(path) <= hops + 1:
                    ends.setdefault(path[-1], []).append(path)
        for urn, led in ends.items():
            if urn not in into.places and len(into.degrees) > most:
                return False
            place = into.add(urn, min(len(path) - 1 for path in led) if of_columns else degree)
            # The listed entity may be a job between columns; its status is not that of the column.
            if not of_columns or _belongs(urn, entity["urn"]):
                if entity.get("exists") is False:
                    into.missing.add(place)
                if (entity.get("status") or {}).get("removed") is True:
                    into.removed.add(place)
                into.paths[place] = tuple(led)
        for near, far, at in _lineage_steps(paths):
            # An entity on a path may not be listed as a result itself.
            into.add(near, at)
            into.add(far, at + 1)
            flow = (far, near) if into.direction == "UPSTREAM" else (near, far)
            into.join(near, far, name_edge(*map(type_of, flow)))
    return True


def _columns_of(path: Sequence[str]) -> tuple[str, ...]:
    return tuple(urn for urn in path if type_of(urn) == _COLUMN)


def _belongs(column: str, urn: str) -> bool:
    return column == urn or column.startswith(f"urn:li:{_COLUMN}:({urn},")


def choose_reached(
    lineage: Lineage, types: Iterable[str], platforms: Iterable[str]
) -> list[int] | None:
    """Return the indexes of the entities of some types and platforms; `None` if neither is
    given."""
    wanted_types = frozenset(types)
    wanted_platforms = {platform.removeprefix(_PLATFORM) for platform in platforms}
    if not wanted_types and not wanted_platforms:
        return None
    # The part of a URN before the first comma decides the platform; parsing every URN is slow.
    verdicts: dict[str, bool] = {}
    chosen = []
    for place, urn in enumerate(lineage.urns):
        beginning = urn.partition(",")[0]
        verdict = verdicts.get(beginning)
        if verdict is None:
            verdict = not wanted_types or type_of(urn) in wanted_types
            if verdict and wanted_platforms:
                verdict = _platform_of(urn) in wanted_platforms
            verdicts[beginning] = verdict
        if verdict and place:
            chosen.append(place)
    return chosen


def type_of(urn: str) -> str:
    """Return the entity type in a URN's text, which need not be a valid URN otherwise."""
    return urn.removeprefix("urn:li:").partition(":")[0]


def _platform_of(urn: str) -> str | None:
    try:
        return Urn.parse(urn).platform
    except InvalidUrn:
        return None


def _lineage_steps(paths: Sequence[Sequence[str]]) -> Iterator[tuple[str, str, int]]:
    for path in paths:
        for at in range(len(path) - 1):
            yield path[at], path[at + 1], at


_EVERYTHING = 10_000
_PAGE = 1_000
_AT_ONCE = 8
# In the order in which they are tried: fastest first; every server supports the last.
_WAYS: tuple[Way, ...] = ("server", "graphql", "relationships")
_FLOWS: tuple[Flow, ...] = get_args(Flow)
# The default limits of a traversal that takes many requests.
_MOST_ENTITIES = 10_000
_MOST_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class _LineageWalk:
    """The parameters of a traversal, and when it has to stop."""

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
        return f"the walk stopped after the nearest {self.most} entities"

    @property
    def too_long(self) -> str:
        seconds = _MOST_SECONDS if self.budget_seconds is None else self.budget_seconds
        return f"the walk stopped after {seconds:g} seconds"


class LineageMethods(CatalogMethods):
    """Methods that read relationships and lineage."""

    # Features of the server that earlier answers revealed.
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
        """Return relationships of an entity: OUTGOING are those that it declares, INCOMING those
        that other entities declare to it.

        Only the given relationship types, or all that the model allows. Returns `count` of them
        from position `start`, in the server's order; most servers return at most 10,000. One
        request; if the server does not name the relationships in its answer, one for each type.

        Example: `cat.relationships(urn, "INCOMING", ["DownstreamOf"])`
        """
        source = Urn.parse(urn)
        names = tuple(types or self.relationship_names(source.entity_type, direction))
        if not names:
            return Edges(direction, 0, start=start)
        if self._names_edges or len(names) == 1:
            edges = await self._relationship_page(source, direction, names, start, count)
            if all(edge.relationship for edge in edges.edges):
                return edges
            self._names_edges = False
        return await self._relationships_by_name(source, direction, names, start, count)

    async def related(
        self,
        urn: str | Urn,
        direction: Direction,
        types: Sequence[str] | None = None,
        *,
        page_size: int = _PAGE,
    ) -> AsyncGenerator[Edge, None]:
        """Yield all relationships of an entity, in the server's order.

        Only the given relationship types, or all that the model allows. One request for each page,
        sent when its first item is needed. If the server does not name the relationships in its
        answer, the types are requested one by one.

        Example: `list(cat.related(urn, "OUTGOING", ["OwnedBy"]))`
        """
        source = Urn.parse(urn)
        names = tuple(types or self.relationship_names(source.entity_type, direction))
        groups = [names] if names else []
        while groups:
            chosen_names, start = groups.pop(0), 0
            while True:
                edges = await self._relationship_page(
                    source, direction, chosen_names, start, page_size
                )
                if not all(edge.relationship for edge in edges.edges):
                    groups = [(name,) for name in chosen_names]
                    break
                for edge in edges.edges:
                    yield edge
                # Servers may return fewer than requested, so this counts what they returned.
                start = edges.end
                if start == edges.start or not edges.truncated:
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
        """Return the entities that an entity is derived from (UPSTREAM) or that are derived from it
        (DOWNSTREAM).

        They are at most `hops` away, nearest first. A column is given by its `schemaField` URN.
        `entities` and `platforms` (`hive`, as in the URN) filter the entities in `reached`; the
        traversal also passes through the others, and `edges` has all edges. `limit` is the maximum
        number of entities to traverse, `budget_seconds` the maximum time; if either stopped the
        traversal, `truncated` says so.

        On our own service one request, for at most 250,000 entities and 25 seconds. On a current
        DataHub one GraphQL request for each thousand entities. On other servers one or two requests
        for each entity passed, eight at a time. The last two stop at 10,000 entities and 60 seconds
        unless limits are given. The first call finds out which of them the server supports, and
        later calls reuse it; `way` selects one. Raises `InvalidInput` for less than one hop,
        `UnknownName` for an unknown entity type.

        Example: `cat.lineage(urn, "UPSTREAM", hops=2)`
        """
        root = Urn.parse(urn)
        if direction not in _FLOWS:
            raise InvalidInput(f"direction must be {' or '.join(_FLOWS)}, not {direction!r}")
        if hops < 1:
            raise InvalidInput(f"hops must be at least 1, not {hops}")
        if limit is not None and limit < 0:
            raise InvalidInput(f"limit must be at least 0, not {limit}")
        if budget_seconds is not None and budget_seconds < 0:
            raise InvalidInput(f"budget_seconds must be at least 0, not {budget_seconds}")
        for name in entities or ():
            self.registry.entity(name)
        seconds = _MOST_SECONDS if budget_seconds is None else budget_seconds
        walk = _LineageWalk(
            root, direction, hops, limit, budget_seconds, time.monotonic() + seconds
        )
        lineage = await self._walk_lineage(walk, way or self._lineage_way)
        chosen = choose_reached(lineage, entities or (), platforms or ())
        return lineage if chosen is None else replace(lineage, total=len(chosen), chosen=chosen)

    def relationship_names(self, entity_type: str, direction: Direction) -> tuple[str, ...]:
        """Return the relationships that an entity of a type can have in a direction, sorted.

        Example: `cat.relationship_names("dataset", "OUTGOING")`
        """
        registry = self.registry
        if direction == "INCOMING":
            names = {
                edge.name
                for aspect in registry.aspects.values()
                for edge in aspect.relationships
                if not edge.to or entity_type in edge.to
            }
        else:
            names = {edge.name for edge in _find_relationships(registry, entity_type)}
        return tuple(sorted(names))

    async def _relationship_page(
        self, source: Urn, direction: Direction, names: Sequence[str], start: int, count: int
    ) -> Edges:
        request = relationships_request(source, direction, names, start, count)
        reply = await self._connection.ask(request)
        edges = parse_relationships(reply.body, direction, names, start, count)
        return edges if reply.as_of is None else replace(edges, as_of=reply.as_of)

    async def _relationships_by_name(
        self, source: Urn, direction: Direction, names: Sequence[str], start: int, count: int
    ) -> Edges:
        end = start + count
        parts = await gather_limited(
            (self._first_relationships(source, direction, (name,), end) for name in names), _AT_ONCE
        )
        edges = [edge for part in parts for edge in part.edges]
        total = sum(part.total for part in parts)
        as_of = _oldest(*(part.as_of for part in parts))
        # Unreadable entities have no position among the edges, so they are returned with the last
        # page.
        unreadable = [text for part in parts for text in part.unreadable] if end >= total else ()
        return Edges(direction, total, tuple(edges[start:end]), start, as_of, tuple(unreadable))

    async def _first_relationships(
        self, source: Urn, direction: Direction, names: Sequence[str], count: int
    ) -> Edges:
        """Return the first `count` relationships, read page by page."""
        relationship_page = await self._relationship_page(
            source, direction, names, 0, min(count, _EVERYTHING)
        )
        edges, unreadable, page = (
            list(relationship_page.edges),
            list(relationship_page.unreadable),
            relationship_page,
        )
        while page.end > page.start and page.end < min(count, page.total):
            room = min(count - page.end, _EVERYTHING)
            page = await self._relationship_page(source, direction, names, page.end, room)
            edges += page.edges
            unreadable += page.unreadable
        as_of = _oldest(relationship_page.as_of, page.as_of)
        return Edges(direction, relationship_page.total, tuple(edges), 0, as_of, tuple(unreadable))

    async def _walk_lineage(self, walk: _LineageWalk, known_way: Way | None) -> Lineage:
        ways = _WAYS if known_way is None else (known_way,)
        for source in ways:
            try:
                match source:
                    case "server":
                        lineage = await self._lineage_by_server(walk)
                    case "graphql":
                        lineage = await self._lineage_by_graphql(walk)
                    case "relationships":
                        lineage = await self._lineage_by_relationships(walk)
            except REFUSALS:
                # Servers refuse calls that they do not support with various errors.
                if source == ways[-1]:
                    raise
                continue
            if lineage is not None:
                if known_way is None:
                    self._lineage_way = source
                return lineage
        raise ServerFault("the server does not return lineage in the requested way; try another")

    async def _lineage_by_server(self, walk: _LineageWalk) -> Lineage | None:
        request = lineage_request(
            walk.root, walk.direction, walk.hops, walk.limit, walk.budget_seconds
        )
        reply = await self._connection.ask(request)
        lineage = parse_lineage(reply.body, walk.root, walk.direction, walk.hops)
        return lineage if lineage is None else replace(lineage, as_of=reply.as_of)

    async def _lineage_by_graphql(self, walk: _LineageWalk) -> Lineage:
        builder, truncated = LineageBuilder(walk.root, walk.direction), None
        page = await self._first_lineage_page(walk)
        while True:
            builder.as_of = _oldest(builder.as_of, page.as_of)
            took_all = add_lineage_page(
                page, builder, walk.hops, walk.most, self._lineage_edge_name
            )
            if not took_all:
                truncated = walk.too_many
            elif page.next_id is not None and walk.is_over:
                truncated = walk.too_long
            if truncated is not None or page.next_id is None or not page.results:
                break
            page = await self._lineage_page(walk, page.next_id)
        return builder.build(walk.hops, "graphql", marked=self._lineage_marks, truncated=truncated)

    async def _first_lineage_page(self, walk: _LineageWalk) -> LineagePage:
        """Return the first page, and record whether the server reports which entities exist and
        which are soft-deleted."""
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

    async def _lineage_page(self, walk: _LineageWalk, scroll_id: str | None) -> LineagePage:
        request = lineage_page_request(
            walk.root, walk.direction, walk.hops, _PAGE, scroll_id, marked=self._lineage_marks
        )
        reply = await self._connection.ask(request)
        if not isinstance(reply.body, dict):
            raise ServerFault("the server's GraphQL answer is not an object")
        return parse_lineage_page(reply.body.get("data") or {}, reply.as_of)

    def _lineage_edge_name(self, upstream: str, downstream: str) -> str:
        """Return the name of an edge between two types; empty if the model has several or none."""
        names = lineage_edges(self.registry, upstream, downstream)
        return names[0] if len(names) == 1 else ""

    async def _lineage_by_relationships(self, walk: _LineageWalk) -> Lineage:
        builder, truncated = LineageBuilder(walk.root, walk.direction), None
        frontier, degree = [walk.root], 0
        while frontier and degree < walk.hops and truncated is None:
            degree += 1
            hop = await gather_limited(
                (self._lineage_further(urn, walk, builder) for urn in frontier), _AT_ONCE
            )
            fresh: list[Urn] = []
            for near, edges in zip(frontier, hop, strict=True):
                if edges is None:
                    truncated = walk.too_long
                    continue
                for edge in edges:
                    far = str(edge.urn)
                    if far not in builder.places:
                        if len(builder.places) > walk.most:
                            truncated = walk.too_many
                            continue
                        builder.add(far, degree)
                        fresh.append(edge.urn)
                    builder.join(str(near), far, edge.relationship)
            frontier = fresh
        return builder.build(walk.hops, "relationships", marked=False, truncated=truncated)

    async def _lineage_further(
        self, urn: Urn, walk: _LineageWalk, found: LineageBuilder
    ) -> list[Edge] | None:
        """Return the edges that continue the lineage of an entity; `None` if the time limit is
        reached."""
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
    """Return the earliest of the times, or `None` if all are `None`."""
    return min((moment for moment in moments if moment is not None), default=None)
