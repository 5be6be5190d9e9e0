"""Walking the lineage of an entity: reading and drawing its lineage or that of a column, its
impact, and paths."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar

from explorer.client.display import line
from explorer.client.records import Direction, Flow
from explorer.client.search import missing_entity
from explorer.errors import CatalogError, InvalidInput, Superseded, UnknownName
from explorer.metadata.fieldpath import FieldPath
from explorer.metadata.registry import load_registry
from explorer.metadata.urn import Urn
from explorer.query import read_filter
from explorer.sessions.base import Session, SessionState, action
from explorer.views.lineage import (
    FACETS,
    MAX_DRAWN,
    MAX_NEIGHBOURS_DRAWN,
    NEIGHBOURS_UNFOLDED,
    SIDES,
    Edge,
    ImpactView,
    LineageListing,
    LineageNode,
    Neighbourhood,
    PathsView,
    RelatedEntities,
    RelationshipGroup,
    choose_nodes,
    hop_count,
    path_edges,
)

if TYPE_CHECKING:
    import networkx as nx

    from explorer.client import AsyncCatalog
    from explorer.graph import Extent, Paths
    from explorer.metadata.registry import Registry
    from explorer.query.filters import Filter

MOST_HOPS: Final = 20
"""The maximum number of hops that are drawn."""

_READ_WHOLE: Final = 1_000
_MOST_READ: Final = 2_000
_LONGEST_NAME: Final = 60
_SHOWN_PER_NAME: Final = 20
_DATASET_ATTRIBUTES: Final = ("name", "platform", "removed", "deprecated")
_COLUMNS: Final = ("follow_column", "follow_edge", "forget_columns")
_DRAWING: Final = ("read", "draw", "unfold", "look_at", "show_paths", "offer_columns", *_COLUMNS)

_ALL: Final = (*_DRAWING, "list_impact")

_T = TypeVar("_T")

Fits = Callable[[Neighbourhood], Awaitable[bool]]


@dataclass(frozen=True, slots=True)
class LineageQuery:
    """A request for the lineage of an entity or a column, in a direction and over a number of
    hops."""

    urn: Urn
    extent: "Extent" = "BOTH"
    hops: int = 2
    column: str | None = None

    @property
    def sides(self) -> tuple[Flow, ...]:
        """Return the directions to follow."""
        return tuple(side for side in SIDES if self.extent in ("BOTH", side))

    def widened(self, hops: int) -> "LineageQuery":
        """Return the query with more hops, from 1 to the maximum."""
        return replace(self, hops=max(1, min(MOST_HOPS, self.hops + hops)))

    def check(self) -> None:
        """Raise `InvalidInput` if the number of hops is not between 1 and `MOST_HOPS`."""
        if not 1 <= self.hops <= MOST_HOPS:
            raise InvalidInput(f"hops must be from 1 to {MOST_HOPS}, not {self.hops}")


async def read_graph(
    catalog: "AsyncCatalog", query: LineageQuery, limit: int | None = None
) -> "nx.DiGraph":
    """Return the lineage of an entity or a column; the graph attribute `roots` lists the nodes
    where it starts.

    Costs the requests of `read_lineage` or `read_columns` of `explorer.graph.lineage`.
    """
    lineage = await asyncio.to_thread(_load_graphs)
    urn, column, extent, hops = query.urn, query.column, query.extent, query.hops
    if column is not None:
        return await lineage.read_columns(catalog, urn, column, extent, hops=hops, limit=limit)
    graph = await lineage.read_lineage(catalog, urn, extent, hops=hops, limit=limit)
    graph.graph["roots"] = [str(urn)]
    return graph


def _load_graphs() -> Any:
    # networkx takes a while to import.
    from explorer.graph import lineage

    return lineage


async def read_described_graph(
    catalog: "AsyncCatalog", query: LineageQuery, limit: int | None = None
) -> "tuple[nx.DiGraph, dict[str, str]]":
    """Return the graph of `read_graph`, with the catalog's details of each node, and the names of
    owners and domains by URN. One more request for each hundred nodes."""
    graph = await read_graph(catalog, query, limit)
    from explorer.graph.nodes import read_details

    await read_details(catalog, graph)
    return graph, await read_label_names(catalog, graph.nodes.values())


async def read_label_names(
    catalog: "AsyncCatalog", attributes: Iterable[Mapping[str, Any]]
) -> dict[str, str]:
    """Return the names of the owners and domains of nodes, by URN. One request per hundred."""
    urns = chain.from_iterable((*(a.get("owners") or ()), a.get("domain")) for a in attributes)
    entities = await catalog.summaries(Urn.parse_all(dict.fromkeys(filter(None, urns))))
    return {str(urn): entity.name for urn, entity in entities.items()}


async def read_impact(
    catalog: "AsyncCatalog",
    urn: str | Urn,
    column: str | None = None,
    *,
    name: str = "",
    filter: "Filter | None" = None,
    with_usage: bool = True,
) -> ImpactView:
    """Return the impact of an entity or a column: the entities that depend on it and match a
    filter, with the names of owners and domains. See `find_impact` of `explorer.graph` for the
    requests and errors."""
    await asyncio.to_thread(_load_graphs)
    from explorer.graph.analysis import find_impact
    from explorer.graph.nodes import matches

    impact = await find_impact(catalog, urn, column, with_usage=with_usage)
    nodes = {
        affected.urn: {
            **impact.nodes[affected.urn],
            "queries": affected.queries,
            "users": affected.users,
        }
        for affected in impact.affected
    }
    affected = tuple(
        a for a in impact.affected if not filter or matches(a.urn, nodes[a.urn], filter)
    )
    names = await read_label_names(catalog, (nodes[entity.urn] for entity in affected))
    return ImpactView.of(replace(impact, affected=affected), names, name)


async def read_paths(
    catalog: "AsyncCatalog", source: str | Urn, target: str | Urn, **limits: Any
) -> PathsView:
    """Return all shortest paths between two entities. `limits` are passed to `find_paths` of
    `explorer.graph`. One more request for each hundred entities on the paths."""
    await asyncio.to_thread(_load_graphs)
    from explorer.graph.analysis import find_paths
    from explorer.graph.nodes import DETAIL_ASPECTS

    paths = await find_paths(catalog, source, target, **limits)
    urns = dict.fromkeys((paths.source, paths.target, *chain.from_iterable(paths.node_paths)))
    return PathsView.of(paths, await catalog.entities(Urn.parse_all(urns), DETAIL_ASPECTS))


async def read_attributes(
    catalog: "AsyncCatalog", urns: Iterable[str]
) -> dict[str, dict[str, Any]]:
    """Return the attributes of each entity; see `explorer.graph.nodes.attributes_of`.

    A column has its simple path as `column` and the name of its dataset, but no `exists`. One
    request for each 150 entities.
    """
    from explorer.graph import split_column
    from explorer.graph.nodes import DETAIL_ASPECTS, attributes_of

    unique_urns = list(dict.fromkeys(urns))
    columns = {urn: parts for urn in unique_urns if (parts := split_column(urn))}
    tables = sorted({columns[urn][0] if urn in columns else urn for urn in unique_urns})
    entities = await catalog.entities(Urn.parse_all(tables), DETAIL_ASPECTS)
    attributes = attributes_of(tables, entities)
    for urn, (dataset, path) in columns.items():
        attribute = attributes[dataset]
        attributes[urn] = {
            **{name: attribute[name] for name in _DATASET_ATTRIBUTES if name in attribute},
            "type": "schemaField",
            "column": FieldPath(path).simple,
        }
    return {urn: attributes[urn] for urn in unique_urns}


async def require_entity(catalog: "AsyncCatalog", urn: str | Urn) -> None:
    """Raise the error of `missing_entity` if the catalog does not have the entity. Makes one
    request.

    A mistyped URN would otherwise look like an entity without lineage or relationships.
    """
    if not await catalog.exists(urn):
        raise await missing_entity(catalog, urn)


def read_choice(texts: Iterable[str], registry: "Registry") -> "Filter":
    """Parse filters on the attributes of graph nodes, and return one that requires all of them.

    Raises `UnknownName` for a field that graph nodes do not have.
    """
    from explorer.graph.nodes import FIELDS
    from explorer.query.filters import Filter

    chosen = Filter()
    for text in texts:
        # Not strict, because hops, queries and users are not fields of the metadata model.
        parsed = read_filter(text, registry, strict=False)
        for criterion in (criterion for group in parsed.any_of for criterion in group):
            name = criterion.field.removesuffix(".keyword")
            if name not in FIELDS:
                names = {"type" if field == "_entityType" else field for field in FIELDS}
                raise UnknownName("field of entities in lineage", name, names)
        chosen = chosen.and_(parsed)
    return chosen


async def read_nearest(
    catalog: "AsyncCatalog",
    query: LineageQuery,
    *,
    filter: "Filter",
    limit: int | None,
    with_next_hop: bool = False,
    start: int = 0,
) -> LineageListing:
    """Return lineage to list: the `limit` nearest nodes after the first `start`, with their
    details.

    With `with_next_hop` the graph includes one more hop, which is not shown. Nodes that do not
    match the filter are contracted. Raises `NotFound` if there is no such entity, and `UnknownName`
    if there is no such column.
    """
    further = replace(query, hops=query.hops + with_next_hop)
    graph = await read_existing(catalog, query.urn, read_graph(catalog, further))
    from explorer.graph import contracted, matches

    root = graph.graph["roots"][0]
    if filter:
        await _add_details(catalog, graph, graph)
        matching = {
            node for node, attributes in graph.nodes(data=True) if matches(node, attributes, filter)
        }
        graph = contracted(graph, matching | {root})
    listing = LineageListing(root, query.hops, graph, query.sides, ())
    far = dict(graph.nodes.data("hops"))
    by_distance = sorted(listing.within(), key=lambda node: (abs(far[node]), node))
    nearest = by_distance[start:][:limit]
    if not filter:
        await _add_details(catalog, graph, (root, *nearest))
    if len(graph) == 1:
        await require_entity(catalog, query.urn)
    return replace(listing, nearest=tuple(nearest))


async def read_existing(catalog: "AsyncCatalog", urn: str | Urn, reading: Awaitable[_T]) -> _T:
    """Await a reading and return its result; raise `NotFound` instead of `UnknownName` if the
    entity itself, not only its column, is missing."""
    try:
        return await reading
    except UnknownName:
        await require_entity(catalog, urn)
        raise


async def _add_details(catalog: "AsyncCatalog", graph: "nx.DiGraph", urns: Iterable[str]) -> None:
    """Add attributes of the entities to the nodes, except `exists` if lineage has set it."""
    for urn, attributes in (await read_attributes(catalog, urns)).items():
        node = graph.nodes[urn]
        exists = node.get("exists")
        node.update(attributes)
        if exists is not None:
            node["exists"] = exists


async def read_relationships(
    catalog: "AsyncCatalog",
    urn: str,
    directions: Iterable[Direction],
    names: Sequence[str],
    *,
    limit: int | None,
    read_all: bool,
) -> RelatedEntities:
    """Return the relationships of an entity with these names, or all; at most `limit` are shown per
    name.

    With `read_all` all are read, and shown unless there is a limit; otherwise the first 10,000 per
    direction are read. Raises `NotFound` if there is no such entity, and `UnknownName` for a
    relationship that does not exist.
    """
    check_relationships(names, catalog.registry)
    groups: list[RelationshipGroup] = []
    totals: dict[Direction, int] = {}
    most = limit or (None if read_all else _SHOWN_PER_NAME)
    for direction in directions:
        edges = await catalog.relationships(urn, direction, names or None)
        totals[direction] = edges.total
        urns_by_name: dict[str, list[Urn]] = {
            name: list(urns) for name, urns in edges.by_relationship().items()
        }
        if read_all and edges.truncated:
            urns_by_name = {}
            async for edge in catalog.related(urn, direction, names or None):
                urns_by_name.setdefault(edge.relationship, []).append(edge.urn)
        groups += [
            RelationshipGroup(direction, name, len(urns), tuple(urns[:most]))
            for name, urns in sorted(urns_by_name.items())
        ]
    if not groups:
        await require_entity(catalog, urn)
    urns = [urn, *(str(urn) for group in groups for urn in group.urns)]
    return RelatedEntities(urn, tuple(groups), totals, await read_attributes(catalog, urns))


def check_relationships(names: Sequence[str], registry: "Registry") -> None:
    """Raise `UnknownName` for a relationship that the metadata model does not have."""
    relationships = {
        edge.name for aspect in registry.aspects.values() for edge in aspect.relationships
    }
    for name in names:
        if name not in relationships:
            raise UnknownName("relationship", name, relationships)


@dataclass(frozen=True, slots=True)
class ColumnChoices:
    """The columns of one dataset, from which one can be chosen."""

    urn: str = ""
    paths: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LineageState(SessionState):
    """The state of a walk through lineage.

    `full_graph` is everything read, `graph` the part that matches the filter, and `hood` the part
    of `graph` that is drawn. `reading` is "over" while these are the result of `query`.
    `current_node` is the node to which the last action led. `further_count` is the number of nodes
    with one more hop, if that hop was left out for lack of room. `columns` is the column lineage
    drawn in `hood`, and `columns_of` describes it in words. `label_names` are the names of owners
    and domains, by URN.
    """

    name: str = ""
    query: LineageQuery | None = None
    reading: Literal["under way", "over", "failed"] = "under way"
    full_graph: "nx.DiGraph | None" = None
    graph: "nx.DiGraph | None" = None
    hood: Neighbourhood | None = None
    current_node: str = ""
    further_count: int = 0
    filter: str = ""
    without: frozenset[tuple[str, str]] = frozenset()
    path_edges: frozenset[Edge] = frozenset()
    columns: "nx.DiGraph | None" = None
    columns_of: str = ""
    choices: ColumnChoices = field(default_factory=ColumnChoices)
    back: tuple[Urn, ...] = ()
    has_more: bool = False
    impact: ImpactView | None = None
    label_names: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_current(self) -> bool:
        """Whether the drawing shows the result of the last query."""
        return self.reading == "over"

    @property
    def extent(self) -> tuple[str, ...]:
        """The directions and hops, and how many of the known nodes are drawn, in words."""
        if self.query is None:
            return ()
        words = [f"{side.lower()} {hop_count(self.query.hops)}" for side in self.query.sides]
        if self.hood is not None and self.is_current:
            count, total = self.hood.count, self.hood.total
            is_whole = count == total
            words.append(f"all {total:,} shown" if is_whole else f"{count:,} of {total:,} shown")
        return tuple(words)

    @property
    def truncated(self) -> str | None:
        """The reason why the lineage is incomplete, in words; None if it is complete up to the
        number of hops."""
        return self.full_graph.graph["truncated"] if self.full_graph is not None else None

    def attributes_of(self, node: str) -> Mapping[str, Any]:
        """Return the known attributes of a node."""
        for graph in (self.graph, self.full_graph):
            if graph is not None and node in graph:
                attributes: Mapping[str, Any] = graph.nodes[node]
                return attributes
        from explorer.graph.nodes import identity

        return identity(node)

    def name_of(self, node: str) -> str:
        """Return the name of a node, short enough for a sentence."""
        from explorer.graph.pictures import label

        return label(node, self.attributes_of(node), _LONGEST_NAME)


class LineageSession(Session[LineageState]):
    """The lineage around an entity, walked by one person.

    By default exactly the requested hops are read. A session that `explores` reads one hop more, to
    count the neighbours that are left out, and the neighbours of the selected node; it keeps
    everything that was read, and reads the names of the drawn nodes only.
    """

    def __init__(self, catalog: "AsyncCatalog", *, explores: bool = False) -> None:
        super().__init__(catalog, LineageState())
        self._explores = explores
        self._filter: Filter | None = None
        self._expanded: dict[tuple[str, Flow], int] = {}
        self._folded: set[tuple[str, Flow]] = set()
        self._most = MAX_DRAWN
        self._path_names: dict[str, str] = {}
        self._detailed: set[str] = set()
        self._read_sides: set[tuple[str, Flow]] = set()
        self._is_read = False
        self._looked_at = ""
        self._fits: Fits | None = None
        # A drawing opens with as many hops as fit; hops requested before are added to those.
        self._more_hops = 0

    def begin(self, query: LineageQuery, name: str, fits: Fits | None = None) -> None:
        """Choose the entity whose lineage `read` then reads. If `fits` is given and returns false
        for the drawing, only one hop is drawn."""
        query.check()
        self.supersede(_ALL)
        self._fits, self._more_hops, self._filter = fits, 0, None
        self._show_usual()
        self._path_names = {}
        self._is_read = False
        old = self.state
        state = LineageState(name=name, query=query, label_names=old.label_names, back=old.back)
        if self._explores:
            state = replace(
                state,
                full_graph=old.full_graph,
                hood=old.hood,
                current_node=old.current_node,
                without=old.without,
            )
        self._state = state
        self.replace()

    def _show_usual(self) -> None:
        """Reset the number of nodes to draw to the default."""
        self._expanded.clear()
        self._folded.clear()
        self._most = MAX_DRAWN

    def close(self) -> None:
        """Cancel reading, and unsubscribe all listeners."""
        super().close()
        self.supersede(_ALL)

    def forget_read(self) -> None:
        """Make the next `read` read everything again."""
        self._is_read = False
        self.replace(
            full_graph=self.state.full_graph if self._explores else None, reading="under way"
        )

    @action("Read the lineage, and draw it", supersedes=_DRAWING)
    async def read(self) -> None:
        """Read the missing part of the query's lineage, and draw it. One request per direction, and
        one per hundred nodes; in a graph of more than a thousand nodes, details are read only for
        the nodes drawn."""
        try:
            await self._draw()
            fits, query = self._fits, self.state.query
            if fits is not None and query is not None and self.state.hood is not None:
                self._fits = None
                opening = query if await fits(self.state.hood) else replace(query, hops=1)
                opening = opening.widened(self._more_hops)
                if opening != query:
                    node_count = len(self.state.graph or ())
                    self.replace(query=opening)
                    self.forget_read()
                    await self._draw(further=0 if self._more_hops else node_count)
        except CatalogError:
            self.replace(reading="failed")
            raise
        self.replace(reading="over")

    @action("Draw it again", supersedes=("draw",))
    async def draw(self) -> None:
        """Draw the lineage again with the present settings; reads missing names."""
        await self._draw()
        self.replace(reading="over")

    @action("Read another extent, number of hops, or column", in_turn=False)
    async def ask(self, query: LineageQuery) -> None:
        """Read the lineage for another extent, number of hops, or column."""
        query.check()
        if query != self.state.query or self.state.reading == "failed":
            self.replace(query=query, further_count=0)
            self.forget_read()
            await self.read()

    @action("Show one direction, or both", in_turn=False)
    async def turn(self, extent: "Extent") -> None:
        """Read the lineage in one direction, or in both."""
        if self.state.query is not None:
            await self.ask(replace(self.state.query, extent=extent))

    @action("Show so many hops", in_turn=False)
    async def reach(self, hops: int) -> None:
        """Read the lineage over this number of hops."""
        if self.state.query is not None:
            await self.ask(replace(self.state.query, hops=hops))

    @action("Show more or fewer hops", in_turn=False)
    async def widen(self, hops: int) -> None:
        """Read `hops` more hops than are drawn or about to be drawn; a negative number reads
        fewer."""
        if self._fits is not None:
            self._more_hops += hops
        elif self.state.query is not None:
            await self.ask(self.state.query.widened(hops))

    @action("Draw the lineage around another entity", in_turn=False)
    async def turn_to(self, urn: Urn) -> None:
        """Read the lineage around another entity."""
        query = self.state.query
        if query is not None and urn != query.urn:
            await self._read_around(urn, (*self.state.back, query.urn))

    @action("Draw the lineage around the entity before", in_turn=False)
    async def go_back(self) -> None:
        """Read the lineage around the previous entity."""
        if self.state.back:
            await self._read_around(self.state.back[-1], self.state.back[:-1])

    async def _read_around(self, urn: Urn, back: tuple[Urn, ...]) -> None:
        before = self.state
        if before.query is None:
            return
        self.replace(back=back)
        query = replace(before.query, urn=urn, column=None)
        self.begin(query, before.name_of(str(urn)))
        try:
            await self.read()
        except Superseded:
            raise
        except CatalogError:
            self.replace(query=before.query, name=before.name, back=before.back)
            raise

    @action("Draw a graph that was read before")
    async def take(self, graph: "nx.DiGraph") -> None:
        """Draw lineage from a graph that was already read for the query."""
        nodes = graph.nodes.data("description")
        self._detailed.update(node for node, text in nodes if text is not None)
        known_graph = self._absorb(graph, graph.graph["direction"], graph.graph["hops"])
        self._is_read = True
        self.replace(full_graph=known_graph, reading="over", current_node=str(graph.graph["root"]))
        await self._draw()

    @action("Show more neighbours, or the usual number", in_turn=False)
    async def toggle(self, node: str) -> None:
        """Draw more neighbours of a node on both sides, or the usual number again."""
        hood = self.state.hood
        if hood is None:
            return
        hidden = [(node, side) for side in SIDES if hood.hidden(node, side)]
        for place in hidden:
            self._expanded[place] = self._expanded.get(place, 0) + NEIGHBOURS_UNFOLDED
        reset = [] if hidden else [self._expanded.pop((node, side), 0) for side in SIDES]
        if not hidden and not any(reset):
            self.say(f"Nothing around {hood.nodes[node].name} is hidden.")
            return
        self.replace(current_node=node)
        await self.draw()

    @action("Show the neighbours of an entity on one side", supersedes=())
    async def unfold(self, node: str, side: Flow) -> None:
        """Draw more neighbours of a node on one side, after reading them if needed."""
        if not self._knows(node, [side]):
            about = f"reading the neighbours of {self.state.name_of(node)}"
            await self.work(about, self._read_neighbours(node, side))
        if (node, side) in self._folded:
            self._folded.remove((node, side))
        else:
            self._expanded[node, side] = self._expanded.get((node, side), 0) + NEIGHBOURS_UNFOLDED
        await self._draw()

    @action("Hide what is connected only through an entity")
    async def fold(self, node: str, side: Flow) -> None:
        """Leave out the nodes that are connected only through a node on one side."""
        self._folded.add((node, side))
        self._expanded.pop((node, side), None)
        await self._draw()
        if self.state.hood is not None and self._looked_at not in self.state.hood.nodes:
            self.replace(current_node=node)

    @action("Look at an entity", supersedes=("look_at",))
    async def look_at(self, node: str) -> None:
        """Select a node, and read its neighbours, so that they can be counted."""
        self._looked_at = node
        query, known_graph = self.state.query, self.state.full_graph
        if (
            query is None
            or known_graph is None
            or node not in known_graph
            or self._knows(node, query.sides)
        ):
            return
        await self._read_neighbours(node, query.extent)
        await self._draw()

    @action("Draw more of what was read", in_turn=False)
    async def draw_more(self) -> None:
        """Draw more nodes."""
        self._most += MAX_DRAWN
        await self.draw()

    def check_filter(self, text: str) -> "Filter | None":
        """Parse a filter; return None for an empty text. Raises `InvalidInput` if the filter is
        invalid."""
        return read_filter(text, load_registry(), strict=False) if text else None

    @action("Draw only what matches a filter", in_turn=False)
    async def narrow(self, text: str) -> None:
        """Draw only the nodes that match a filter; with an empty text, all nodes."""
        self._filter = self.check_filter(text)
        self.replace(filter=text)
        await self.draw()

    @action("Step over types and platforms", in_turn=False)
    async def leave_out(self, without: Mapping[str, Iterable[str]]) -> None:
        """Leave out entities by `type` and `platform`, and connect their neighbours directly. The
        values are lists of the words in the drawn boxes."""
        pairs = ((name, word) for name in FACETS for word in without.get(name, ()))
        self.replace(without=frozenset(pairs))
        await self.draw()

    @action("Read the lineage of a column", in_turn=False)
    async def follow(self, column: str | None) -> None:
        """Read the lineage of a column in place of that of its table; None returns to the
        table's."""
        query = self.state.query
        if query is None:
            return
        self._expanded.clear()
        self.replace(path_edges=frozenset())
        await self.ask(replace(query, column=column))

    @action("Draw the columns that a column is made from and feeds", supersedes=_COLUMNS)
    async def follow_column(self, urn: Urn, column: str) -> None:
        """Draw the lineage of a column inside the boxes of the tables."""
        query, known_graph = self.state.query, self.state.full_graph
        if query is None:
            return
        reached = (
            [abs(far) for _, far in known_graph.nodes.data("hops") if far] if known_graph else []
        )
        hops = min(2 * max(reached, default=1) + 1, MOST_HOPS)
        about = f"column {line(column, _LONGEST_NAME)} of {self.state.name_of(str(urn))}"
        reading = read_graph(self.catalog, LineageQuery(urn, query.extent, hops, column))
        self._show_columns(await self.work(f"reading {about}", reading), about)

    @action("Draw the columns that flow along an edge", supersedes=_COLUMNS)
    async def follow_edge(self, source: str, target: str) -> None:
        """Draw the columns whose data flows along an edge. One request."""
        hood = self.state.hood
        if hood is None or not hood.graph.has_edge(source, target):
            return
        from explorer.graph.lineage import read_columns_between

        about = f"columns from {self.state.name_of(source)} to {self.state.name_of(target)}"
        reading = read_columns_between(self.catalog, hood.graph, source, target)
        self._show_columns(await self.work(f"reading {about}", reading), about)

    def _show_columns(self, columns: "nx.DiGraph", about: str) -> None:
        self.replace(columns=columns, columns_of=about)
        nodes, hood = columns.nodes, self.state.hood
        boxes = hood.graph if hood else ()
        pairs = (tuple(nodes[end].get("dataset", end) for end in edge) for edge in columns.edges)
        if not any(up != down and up in boxes and down in boxes for up, down in pairs):
            self.say(f"no lineage is known for {about}", is_error=True)

    @action("Draw only tables", supersedes=_COLUMNS)
    async def forget_columns(self) -> None:
        """Stop drawing columns."""
        self.replace(columns=None, columns_of="", choices=ColumnChoices())

    @action("Offer the columns of a dataset", supersedes=("offer_columns",))
    async def offer_columns(self, urn: Urn) -> None:
        """Read the columns of a dataset, in schema order, into `choices`. One request."""
        name = self.state.name_of(str(urn))
        reading = self.catalog.entities([urn], ("schemaMetadata",))
        entity = (await self.work(f"reading the columns of {name}", reading)).get(urn)
        columns = entity.schema.columns if entity is not None else ()
        paths = tuple(dict.fromkeys(column.path.simple for column in columns))
        self.replace(choices=ColumnChoices(str(urn), paths))
        if not paths:
            self.say(f"no columns are known for {name}", is_error=True)

    @action("Show the paths between two entities", supersedes=("show_paths", "draw"))
    async def show_paths(self, source: str, node: LineageNode, between: str) -> None:
        """Draw all shortest paths from one node to another; `between` names the ends in a sentence.
        Paths between columns are searched only in the lineage that was read."""
        query, known_graph = self.state.query, self.state.full_graph
        if query is None or known_graph is None:
            return
        names: dict[str, str] = {}
        if query.column is not None:
            paths = _paths_in(known_graph, source, node.id)
        else:
            view = await read_paths(self.catalog, source, node.id)
            paths = view.paths
            names = {urn: attributes["name"] for urn, attributes in view.nodes.items()}
        if paths.node_paths:
            self._path_names = names
            self.replace(path_edges=path_edges(paths), current_node=node.id)
            await self._draw()
        self.say(_describe_paths(paths, between, names.get(node.id, node.name)))

    @action("Draw no paths any more", in_turn=False)
    async def forget_paths(self) -> None:
        """Stop drawing paths."""
        self.replace(path_edges=frozenset())
        await self.draw()

    @action(
        "List what depends on an entity or a column", in_turn=False, supersedes=("list_impact",)
    )
    async def list_impact(self, urn: Urn, column: str | None, name: str) -> None:
        """Read the impact of an entity or a column into `impact`."""
        self.replace(impact=None)
        self.replace(impact=await read_impact(self.catalog, urn, column, name=name))

    async def _draw(self, further: int = 0) -> None:
        query, known_graph = self.state.query, self.state.full_graph
        if query is None:
            return
        if known_graph is None or not self._is_read:
            known_graph = await self._read_known(query)
        if self._filter is not None:
            # A filter may test owners, tags and texts, so the details of all nodes are needed.
            known_graph = await self._read_details(known_graph, known_graph)
        await self._choose(known_graph, query, further)
        hood = self.state.hood
        if hood is not None and self._lacking(known_graph, hood.chosen):
            known_graph = await self._read_details(known_graph, hood.chosen)
            await self._choose(known_graph, query, further)
        if not self._explores and self.state.hood is not None:
            names = self.state.label_names
            nodes = self.state.hood.graph.nodes.values()
            unknown = [
                urn for node in nodes for urn in node.get("owners") or () if urn not in names
            ]
            more = await read_label_names(self.catalog, [{"owners": unknown}])
            self.replace(label_names={**names, **more})

    async def _read_known(self, query: LineageQuery) -> "nx.DiGraph":
        limit, wider = None, query
        if self._explores:
            limit, wider = _MOST_READ, replace(query, hops=query.hops + 1)
        about = f"reading the lineage of {self.state.name_of(str(query.urn))}"
        graph = await self.work(about, read_graph(self.catalog, wider, limit))
        known_graph = self._absorb(graph, query.extent, wider.hops)
        if not self._explores and len(known_graph) <= _READ_WHOLE:
            await self._read_details(known_graph, known_graph)
        root = str(query.urn)
        cleared = {"columns": None, "columns_of": "", "choices": ColumnChoices()}
        if self._explores:
            self._show_usual()
        self._is_read = True
        self.replace(
            full_graph=known_graph,
            current_node=root if self._explores else self.state.current_node,
            **cleared,
        )
        return known_graph

    async def _read_neighbours(self, node: str, extent: "Extent") -> None:
        query = LineageQuery(Urn.parse(node), extent, 1)
        graph = await read_graph(self.catalog, query, _MOST_READ)
        self.replace(full_graph=self._absorb(graph, extent, 1))

    def _knows(self, node: str, sides: Iterable[Flow]) -> bool:
        """Return whether all neighbours of a node on these sides were read."""
        return all((node, side) in self._read_sides for side in sides)

    def knows(self, node: str, side: Flow) -> bool:
        """Return whether all neighbours of a node on a side were read."""
        return (node, side) in self._read_sides

    def _absorb(self, graph: "nx.DiGraph", extent: "Extent", hops: int) -> "nx.DiGraph":
        """Return the known lineage, extended by a graph that was read up to `hops` from its root;
        without exploring, the graph alone. When exploring, known graphs are copied rather than
        changed, so that any thread can read one."""
        query, known_graph = self.state.query, self.state.full_graph
        if not self._explores or query is None:
            self._detailed.clear()
            return graph
        cut = graph.graph.get("truncated")
        for node, attributes in graph.nodes(data=True):
            for side in SIDES:
                far = attributes.get("hops", hops) * (-1 if side == "UPSTREAM" else 1)
                if extent in ("BOTH", side) and 0 <= far < hops and not cut:
                    self._read_sides.add((node, side))
        merged = graph.copy()
        if known_graph is not None:
            merged = known_graph.copy()
            merged.add_nodes_from(
                node for node in graph.nodes.items() if node[0] not in known_graph
            )
            merged.add_edges_from(graph.edges(data=True))
            cut = known_graph.graph["truncated"] or cut
        root = str(query.urn)
        merged.graph.update(root=root, roots=[root], truncated=cut)
        _measure(merged, root)
        return merged

    def _lacking(self, known: "nx.DiGraph", nodes: Iterable[str]) -> list[str]:
        return [node for node in nodes if node in known and node not in self._detailed]

    async def _read_details(self, known_graph: "nx.DiGraph", nodes: Iterable[str]) -> "nx.DiGraph":
        """Return the graph with the names and states of the nodes, after reading those that are
        missing."""
        from explorer.graph.nodes import read_details

        lacking, query = self._lacking(known_graph, nodes), self.state.query
        if lacking and query is not None and query.column is not None:
            holders = {node: known_graph.nodes[node].get("dataset", node) for node in lacking}
            entities = await self.catalog.summaries(Urn.parse_all(dict.fromkeys(holders.values())))
            names = {str(urn): entity.name for urn, entity in entities.items()}
            for node, holder in holders.items():
                known_graph.nodes[node]["name"] = names.get(
                    holder, known_graph.nodes[node].get("name")
                )
        elif lacking:
            details = known_graph.subgraph(lacking).copy()
            await self.work("reading names", read_details(self.catalog, details))
            if self._explores:
                known_graph = known_graph.copy()
            for node, attributes in details.nodes.items():
                known_graph.nodes[node].update(attributes)
        self._detailed.update(lacking)
        return known_graph

    async def _choose(self, known: "nx.DiGraph", query: LineageQuery, further: int) -> None:
        """Filter the known lineage and choose the nodes to draw; put both into the state."""
        roots = known.graph["roots"]
        if self._explores:
            widened = self._most > MAX_DRAWN
            limits: dict[str, Any] = {
                "hops": None if widened else query.hops,
                "neighbours": self._most if widened else MAX_NEIGHBOURS_DRAWN,
            }
        else:
            limits = {"wanted": {node for edge in self.state.path_edges for node in edge}}

        # Copied, because a key press may change them meanwhile.
        expanded, folded = dict(self._expanded), frozenset(self._folded)

        def choose() -> "tuple[nx.DiGraph, Neighbourhood]":
            graph = _filter_graph(known, self._filter, self.state.path_edges, self._path_names)
            return graph, choose_nodes(
                graph,
                roots,
                sides=query.sides,
                expanded=expanded,
                folded=folded,
                without=self.state.without,
                most=self._most,
                **limits,
            )

        graph, hood = await asyncio.to_thread(choose)
        has_more = len(hood.chosen) >= self._most and len(known) > len(hood.chosen)
        changes = {"full_graph": known, "graph": graph, "hood": hood, "has_more": has_more}
        self.replace(further_count=further or self.state.further_count, **changes)


def _measure(graph: "nx.DiGraph", root: str) -> None:
    """Set `hops` of each node to its distance from the root; a node that is neither upstream nor
    downstream has no `hops`."""
    import networkx as nx

    if root not in graph:
        return
    below = nx.single_source_shortest_path_length(graph, root)
    above = nx.single_source_shortest_path_length(graph.reverse(copy=False), root)
    for node, attributes in graph.nodes(data=True):
        down, up = below.get(node), above.get(node)
        attributes["hops"] = down if up is None or (down is not None and down <= up) else -up
        if attributes["hops"] is None:
            del attributes["hops"]


def _filter_graph(
    known: "nx.DiGraph",
    condition: "Filter | None",
    shown_edges: Collection[Edge],
    names: Mapping[str, str],
) -> "nx.DiGraph":
    """Return the nodes that match a filter, connected across those that do not; the roots and the
    edges of the shown paths are always included."""
    from explorer.graph.nodes import contracted, identity, matches

    graph = known
    if condition is not None:
        nodes = {
            node for node, details in graph.nodes(data=True) if matches(node, details, condition)
        }
        nodes |= {node for edge in shown_edges for node in edge if node in graph}
        graph = contracted(graph, nodes.union(known.graph["roots"]))
    if any(not graph.has_edge(*edge) for edge in shown_edges):
        graph = graph.copy()
        for node in dict.fromkeys(chain.from_iterable(shown_edges)):
            if node in known:
                graph.add_node(node, **known.nodes[node])
            else:
                attributes = identity(node)
                graph.add_node(node, **attributes | {"name": names.get(node, attributes["name"])})
        graph.add_edges_from(edge for edge in shown_edges if not graph.has_edge(*edge))
    return graph


def _paths_in(known: "nx.DiGraph", source: str, target: str) -> "Paths":
    """Return all shortest paths between two nodes as far as the graph goes."""
    from explorer.graph.analysis import Paths, shortest_paths

    paths, _ = shortest_paths(known, source, target)
    if paths:
        return Paths(source, target, "downstream", paths)
    back, _ = shortest_paths(known, target, source)
    return Paths(source, target, "upstream", tuple(path[::-1] for path in back))


def _describe_paths(paths: "Paths", between: str, name: str) -> str:
    """Return a sentence with the number and length of the paths, and what was not searched."""
    cut = f"; {paths.truncated}" if paths.truncated else ""
    if paths.hops is None:
        return f"No lineage path leads {between} {name}{cut}."
    many = f"{len(paths)} paths" if len(paths) > 1 else "One path"
    return f"{many} {between} {name}, {hop_count(paths.hops)} {paths.direction}{cut}."
