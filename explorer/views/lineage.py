"""Lineage, impact and paths, to be shown: entities in words, trees, tables and steps; and the
schema changes between two commits with their impact, as a table and as a comment on a pull request.

The records are built from the node attributes of `explorer.graph`, which give owners and domains by
URN.
"""

from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, get_args

from explorer.client.display import counted, line
from explorer.client.records import Direction, Flow
from explorer.metadata.names import plural, singular
from explorer.metadata.urn import Urn
from explorer.views.parts import Chain, Fitted, Note, Report, ReportPart
from explorer.views.table import (
    LIST,
    Row,
    Table,
    TableColumn,
    attributes,
    domain_columns,
    label_columns,
    markdown_cell,
    markdown_table,
)
from explorer.views.text import Piece, TextLine, text_line
from explorer.views.tree import draw_tree

if TYPE_CHECKING:
    import networkx as nx

    from explorer.client.entity import Entity
    from explorer.graph.analysis import Affected, Certainty, Grouping, Impact, Paths
    from explorer.sources.schema_changes import ChangedSchemas, SchemaChange
    from explorer.sources.script_lineage import CatalogTables, StatementLineage
    from explorer.sources.sql_lineage import Path as TablePath

Attributes = Mapping[str, Any]
"""The attributes of a node in a graph; see `explorer.graph.nodes`."""

MAX_DRAWN: Final = 150
"""The number of entities that a picture shows at first."""

MAX_NEIGHBOURS_DRAWN: Final = 12
"""The number of neighbours of one entity that a picture shows on one side at first."""

NEIGHBOURS_UNFOLDED: Final = 50
"""The number of further neighbours of one entity that are shown with each request for more."""

_USUAL_ENVIRONMENT: Final = "PROD"


def is_indirect(edge: Attributes) -> bool:
    """Return whether an edge is a guess, or stands for a path over nodes that are left out."""
    return bool(edge.get("over") or edge.get("guess"))


@dataclass(frozen=True, slots=True)
class LineageEntity:
    """An entity or column in a lineage, in words that are safe to show.

    `name` is the display name, for a column preceded by that of its dataset. `distinction` tells it
    from others of the same name in the list, and is empty if there are none. `environment` is empty
    for the usual one. `states` are unusual states, such as being deprecated. `hops` is the
    distance, negative for upstream; `None` if unknown. `owners` and `domain` are names.
    """

    urn: str
    name: str
    kind: str
    platform: str = ""
    environment: str = ""
    distinction: str = ""
    states: tuple[str, ...] = ()
    hops: int | None = None
    owners: tuple[str, ...] = ()
    domain: str = ""

    @property
    def full_name(self) -> str:
        """The name with its distinction: `orders (analytics.staging)`."""
        return f"{self.name} ({self.distinction})" if self.distinction else self.name

    @property
    def type(self) -> str:
        """The kind, platform and environment, where known: `View · hive`."""
        parts = (self.kind, self.platform, self.environment)
        return " · ".join(part for part in parts if part)

    @property
    def state(self) -> str:
        """The states as one text."""
        return ", ".join(self.states)


def lineage_entity(
    urn: str,
    attributes: Attributes,
    names: Mapping[str, str] | None = None,
    distinction: str = "",
) -> LineageEntity:
    """Return a node of a graph in words; `names` are the names of owners and domains, by URN."""
    name = line(str(attributes.get("name") or "")) or line(urn)
    kind = singular(str(attributes.get("kind") or attributes.get("type") or ""))
    if "column" in attributes:
        name, kind = f"{name}.{line(attributes['column'])}", "column"
    environment = line(attributes.get("origin"))
    domain = attributes.get("domain")
    names_by_urn = names or {}
    return LineageEntity(
        urn,
        name,
        line(kind),
        line(attributes.get("platform")),
        "" if environment == _USUAL_ENVIRONMENT else environment,
        line(distinction),
        states(attributes),
        attributes.get("hops"),
        tuple(label_name(owner, names_by_urn) for owner in attributes.get("owners") or ()),
        label_name(domain, names_by_urn) if domain else "",
    )


def lineage_entities(
    nodes: Iterable[tuple[str, Attributes]], names: Mapping[str, str] | None = None
) -> dict[str, LineageEntity]:
    """Return nodes of a graph in words, by URN; nodes with the same name get a distinction."""
    from explorer.graph.nodes import distinctions

    node_list = list(nodes)
    distinction_by_urn = distinctions(node_list)
    return {
        urn: lineage_entity(urn, attributes, names, distinction_by_urn.get(urn, ""))
        for urn, attributes in node_list
    }


def states(attributes: Attributes) -> tuple[str, ...]:
    """Return the unusual states of a node, in words."""
    words = []
    if attributes.get("removed"):
        words.append("removed")
    elif attributes.get("exists") is False:
        words.append("not in the schema" if "column" in attributes else "only named by others")
    if attributes.get("deprecated"):
        words.append("deprecated")
    return tuple(words)


def label_name(urn: str, names: Mapping[str, str]) -> str:
    """Return the name of an owner or a domain, or the id in its URN if the name was not read."""
    return line(names.get(urn) or Urn.label(urn))


def hop_count(hops: int) -> str:
    """Return a number of hops in words: `1 hop`."""
    return counted(hops, "hop")


def distance(hops: int | None) -> str:
    """Return the distance of a node and its side: `2 hops upstream`; empty for the root."""
    if not hops:
        return ""
    return f"{hop_count(abs(hops))} {'upstream' if hops < 0 else 'downstream'}"


def nearest(graph: "nx.DiGraph", roots: Collection[str]) -> tuple[str, ...]:
    """Return the nodes of a lineage graph without its roots, nearest first."""
    far = [(abs(hops or 0), node) for node, hops in graph.nodes.data("hops") if node not in roots]
    return tuple(node for _, node in sorted(far, key=lambda pair: pair[0]))


def lineage_table(title: str, graph: "nx.DiGraph") -> Table:
    """Return a row for each node of a lineage graph, with the URNs directly upstream; `hops` is
    negative for upstream."""
    columns = (
        TableColumn("urn", read=lambda node: node[0]),
        TableColumn("name", read=lambda node: node[1].get("column") or node[1].get("name")),
        TableColumn("type", read=lambda node: node[1].get("kind") or node[1].get("type")),
        TableColumn("platform", read=lambda node: node[1].get("platform")),
        TableColumn("hops", read=lambda node: node[1].get("hops")),
        TableColumn("made_from", read=lambda node: tuple(graph.predecessors(node[0]))),
    )
    return Table.from_records(graph.nodes(data=True), columns, title)


class _Edge(Protocol):
    """A lineage edge: any object with these attributes."""

    @property
    def upstream(self) -> str | Urn: ...

    @property
    def downstream(self) -> str | Urn: ...

    @property
    def relationship(self) -> str: ...


def edges_table(edges: "Iterable[_Edge]", summaries: "Mapping[Urn, Entity] | None" = None) -> Table:
    """Return a row for each lineage edge, in the given order.

    upstream, downstream              string   URNs; data flows from upstream to downstream
    relationship                      string   DownstreamOf, Consumes, …
    upstream_name, downstream_name    string   from `summaries`, else from the URN
    upstream_type, downstream_type    string   the platform's name for it from `summaries`, such as
                                               View, else the entity type
    """
    from explorer.client.entity import Entity

    def entity_of(end: str | Urn) -> "Entity | None":
        for urn in Urn.parse_all([str(end)]):
            return (summaries or {}).get(urn) or Entity(urn, {})
        return None

    def name_of_end(end: str | Urn) -> str:
        entity = entity_of(end)
        return str(end) if entity is None else entity.name

    def kind_of_end(end: str | Urn) -> str | None:
        entity = entity_of(end)
        return None if entity is None else entity.kind

    columns = (
        TableColumn("upstream", read=lambda edge: str(edge.upstream)),
        TableColumn("downstream", read=lambda edge: str(edge.downstream)),
        TableColumn("relationship", read=lambda edge: edge.relationship or None),
        TableColumn("upstream_name", read=lambda edge: name_of_end(edge.upstream)),
        TableColumn("upstream_type", read=lambda edge: kind_of_end(edge.upstream)),
        TableColumn("downstream_name", read=lambda edge: name_of_end(edge.downstream)),
        TableColumn("downstream_type", read=lambda edge: kind_of_end(edge.downstream)),
    )
    return Table.from_records(edges, columns, "lineage")


NodeState = Literal["plain", "root", "ghost", "removed", "more"]
Edge = tuple[str, str]
SIDES: Final[tuple[Flow, Flow]] = ("UPSTREAM", "DOWNSTREAM")
FACETS: Final = ("type", "platform")
"""The properties by which nodes can be left out."""

FACT_SEPARATOR: Final = " · "


@dataclass(frozen=True, slots=True)
class LineageNode:
    """A node of a drawing: an entity, a column, or a placeholder for `hidden` neighbours of
    `owner`."""

    id: str
    name: str
    fact: str = ""
    state: NodeState = "plain"
    hidden: int = 0
    owner: str = ""
    upstream: bool = False


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """The part of a lineage graph that is drawn. `indirect` edges are guesses, or stand for paths
    over nodes that are left out. `count` of the `total` entities are drawn.

    `graph` has the drawn nodes in the order of `nodes`, but no placeholders. `chosen` are these
    nodes and those that were left out by type or platform.
    """

    nodes: Mapping[str, LineageNode]
    edges: tuple[Edge, ...]
    indirect: frozenset[Edge]
    count: int
    total: int
    graph: "nx.DiGraph"
    chosen: tuple[str, ...]

    def hidden(self, node: str, side: Flow) -> int:
        """Return how many known neighbours of a node on one side are not drawn."""
        more = self.nodes.get(_placeholder(node, side))
        return more.hidden if more else 0


def _placeholder(node: str, side: Flow) -> str:
    return f"{'<' if side == 'UPSTREAM' else '>'}{node}"


def near(graph: "nx.DiGraph", node: str, side: Flow) -> Collection[str]:
    """Return the neighbours of a node on one side, in graph order."""
    neighbours: Collection[str] = graph.pred[node] if side == "UPSTREAM" else graph.succ[node]
    return neighbours


def choose_nodes(
    graph: "nx.DiGraph",
    roots: Collection[str],
    *,
    sides: Collection[Flow] = SIDES,
    hops: int | None = None,
    expanded: Mapping[tuple[str, Flow], int] | None = None,
    folded: Collection[tuple[str, Flow]] = (),
    wanted: Collection[str] = (),
    without: AbstractSet[tuple[str, str]] = frozenset(),
    most: int = MAX_DRAWN,
    neighbours: int = MAX_NEIGHBOURS_DRAWN,
) -> Neighbourhood:
    """Return the part of the graph to draw: at most `most` nodes upstream and downstream of the
    roots, nearest first, with at most `neighbours` neighbours of each node on each side. Pure.

    `expanded` allows more neighbours for some nodes and sides, even beyond `hops`. Nodes connected
    only through a `folded` node and side are left out. `wanted` nodes are always included. Nodes
    with a property in `without`, such as ("type", "Table"), are left out, and their neighbours are
    connected directly.
    """
    extra = expanded or {}
    chosen = dict.fromkeys(root for root in roots if root in graph)
    chosen |= dict.fromkeys(node for node in wanted if node in graph)
    limit = most + sum(extra.values())
    frontier = [(node, side) for side in SIDES for node in chosen]
    visited = set(frontier)
    far = 0
    while frontier:
        following: list[tuple[str, Flow]] = []
        for node, reached in frontier:
            for side in SIDES:
                further = reached == side and side in sides and (hops is None or far < hops)
                room = (neighbours if further else 0) + extra.get((node, side), 0)
                if not room or (node, side) in folded:
                    continue
                beside = near(graph, node, side)
                more_nodes = [neighbour for neighbour in beside if neighbour not in chosen]
                free = max(room - (len(beside) - len(more_nodes)), 0)
                # A single node takes no more room than the placeholder for it.
                free = len(more_nodes) if len(more_nodes) == free + 1 else free
                chosen |= dict.fromkeys(more_nodes[: max(min(free, limit - len(chosen)), 0)])
                following += [(neighbour, side) for neighbour in beside if neighbour in chosen]
        frontier = [step for step in dict.fromkeys(following) if step not in visited]
        visited.update(frontier)
        far += 1
    return _neighbourhood(graph, chosen, roots, without)


def _neighbourhood(
    graph: "nx.DiGraph",
    chosen: Collection[str],
    roots: Collection[str],
    without: AbstractSet[tuple[str, str]],
) -> Neighbourhood:
    from networkx import DiGraph

    from explorer.graph.nodes import contracted, distinctions, distinguish_names, kind_and_platform

    inside = graph.subgraph(chosen)
    kept_nodes = [
        node
        for node in chosen
        if node in roots
        or without.isdisjoint(zip(FACETS, kind_and_platform(graph.nodes[node]), strict=True))
    ]
    if len(kept_nodes) < len(inside):
        inside = contracted(inside, kept_nodes)
    distinction_by_urn = distinctions((node, inside.nodes[node]) for node in kept_nodes)
    nodes = {
        node: _node(
            node, inside.nodes[node], distinction_by_urn.get(node, ""), is_root=node in roots
        )
        for node in kept_nodes
    }
    picture: nx.DiGraph = DiGraph(**inside.graph)
    distinct_names = distinguish_names((node, inside.nodes[node]) for node in kept_nodes)
    picture.add_nodes_from(distinct_names.items())
    picture.add_edges_from(inside.edges(data=True))
    edges = list(inside.edges)
    indirect = frozenset(edge for edge in edges if is_indirect(inside.edges[edge]))
    for node in kept_nodes:
        for side in SIDES:
            hidden = sum(1 for neighbour in near(graph, node, side) if neighbour not in chosen)
            if hidden:
                more, upstream = _placeholder(node, side), side == "UPSTREAM"
                nodes[more] = LineageNode(
                    more, f"+{hidden:,} more", "", "more", hidden, node, upstream=upstream
                )
                edges.append((more, node) if upstream else (node, more))
    return Neighbourhood(
        nodes, tuple(edges), indirect, len(kept_nodes), len(graph), picture, tuple(chosen)
    )


def _node(urn: str, attributes: Attributes, distinction: str, *, is_root: bool) -> LineageNode:
    entity = lineage_entity(urn, attributes)
    # The distinction comes first, because facts at the end are left out for lack of room.
    name, facts = entity.name, [distinction, entity.kind, entity.platform]
    if "column" in attributes:
        name = line(attributes["column"]) or urn
        facts = [line(attributes.get("name") or ""), distinction]
    state: NodeState = "root" if is_root else "plain"
    if attributes.get("exists") is False:
        state = "ghost"
    elif attributes.get("removed"):
        state = "removed"
    return LineageNode(urn, name, FACT_SEPARATOR.join(filter(None, dict.fromkeys(facts))), state)


def edges_between(edges: Iterable[Edge], source: str, target: str) -> frozenset[Edge]:
    """Return the edges of all shortest paths from one node to the other, or, if there are none, in
    the opposite direction. Pure."""
    import networkx as nx

    graph = nx.DiGraph(edges)
    for first, last in ((source, target), (target, source)):
        if first in graph and last in graph and nx.has_path(graph, first, last):
            hops_from_first = nx.single_source_shortest_path_length(graph, first)
            hops_to_last = nx.single_source_shortest_path_length(graph.reverse(copy=False), last)
            return frozenset(
                (up, down)
                for up, down in graph.edges
                if up in hops_from_first
                and down in hops_to_last
                and hops_from_first[up] + 1 + hops_to_last[down] == hops_from_first[last]
            )
    return frozenset()


def path_edges(paths: "Paths") -> frozenset[Edge]:
    """Return the edges of paths in the direction of the data flow."""
    steps = [step for node_path in paths.node_paths for step in pairwise(node_path)]
    turned = paths.direction == "upstream"
    return frozenset((down, up) if turned else (up, down) for up, down in steps)


# The maximum number of references below one entity that get lines of their own.
_MOST_REFERENCES: Final = 5


@dataclass(frozen=True, slots=True)
class TreeLine:
    """A line of a tree of the entities upstream or downstream of an entity.

    `depth` counts from 1; `prefix` are the drawn lines before the text. `note` describes the edge
    to the entity. A line with a `reference` only points to the entity's own line, or, without an
    entity, counts such lines. `hidden` is the number of neighbours of the entity that have no line.
    """

    depth: int
    prefix: str
    entity: LineageEntity | None
    note: str = ""
    reference: str = ""
    hidden: int = 0


@dataclass(slots=True)
class _Branch:
    urn: str
    """Empty for a line that is only a reference or a count."""

    entity: LineageEntity | None
    note: str = ""
    reference: str = ""
    hidden: int = 0
    below: list["_Branch"] = field(default_factory=list)


def lineage_tree(
    graph: "nx.DiGraph",
    root: str,
    entities: Mapping[str, LineageEntity],
    *,
    side: Literal["upstream", "downstream"],
    upward: bool = False,
) -> list[TreeLine]:
    """Return the lines of one side of a lineage graph, without the root.

    The tree follows the shortest paths from the root; only `entities` have lines. Where an entity
    occurs again, there is a reference to its line. With `upward` the tree grows upwards from the
    root.
    """
    near = graph.predecessors if side == "upstream" else graph.successors
    further: dict[str, list[str]] = {}
    for node in graph:
        neighbours = [
            (entities[neighbour].name.casefold() if neighbour in entities else "", neighbour)
            for neighbour in near(node)
        ]
        # In a tree that grows upwards, lines are read from the bottom.
        further[node] = [neighbour for _, neighbour in sorted(neighbours, reverse=upward)]

    def edge(node: str, neighbour: str) -> str:
        ends = (neighbour, node) if side == "upstream" else (node, neighbour)
        return _edge_note(graph.edges[ends])

    top = _grow_tree(root, further, entities, edge, upward=upward)
    drawn_branches = draw_tree(top.below, lambda branch: branch.below, "┌─ " if upward else "└─ ")
    lines = [
        TreeLine(depth, prefix, branch.entity, branch.note, branch.reference, branch.hidden)
        for depth, prefix, branch in drawn_branches
    ]
    return lines[::-1] if upward else lines


def _edge_note(edge: Attributes) -> str:
    marks = []
    if edge.get("guess"):
        marks.append("guess: same name")
    elif edge.get("transform"):
        marks.append(line(str(edge["transform"]), 60))
    if edge.get("over"):
        over = edge["over"]
        marks.append(f"through {counted(over, 'other')}")
    return "  ".join(marks)


def _parents(
    root: str, further: Mapping[str, Sequence[str]], entities: Collection[str]
) -> dict[str, str]:
    """Return for each entity the one from which it is first reached (breadth first)."""
    parents = {root: ""}
    waiting = deque([root])
    while waiting:
        urn = waiting.popleft()
        for neighbour in further.get(urn, ()):
            if neighbour in entities and neighbour not in parents:
                parents[neighbour] = urn
                waiting.append(neighbour)
    return parents


def _grow_tree(
    root: str,
    further: Mapping[str, Sequence[str]],
    entities: Mapping[str, LineageEntity],
    edge: Callable[[str, str], str],
    *,
    upward: bool,
) -> _Branch:
    parents = _parents(root, further, entities)
    places: dict[str, int] = {}
    waiting = [root]
    while waiting:
        urn = waiting.pop()
        places[urn] = len(places)
        below = further.get(urn, ())
        waiting += [
            neighbour
            for neighbour in reversed(below)
            if neighbour != root and parents.get(neighbour) == urn
        ]
    top = _Branch(root, None)
    growing = [top]
    while growing:
        branch = growing.pop()
        references: list[_Branch] = []
        for neighbour in further.get(branch.urn, ()):
            if neighbour not in places:
                branch.hidden += 1
            elif neighbour != root and parents[neighbour] == branch.urn:
                note = edge(branch.urn, neighbour)
                branch.below.append(_Branch(neighbour, entities[neighbour], note))
            else:
                where = _reference(branch.urn, neighbour, parents, places, upward=upward)
                references.append(_Branch("", entities.get(neighbour), reference=where))
        growing += branch.below
        branch.below += references[:_MOST_REFERENCES]
        if len(references) > _MOST_REFERENCES:
            more = f"… {len(references) - _MOST_REFERENCES:,} that have lines elsewhere"
            branch.below.append(_Branch("", None, reference=more))
    return top


def _reference(
    urn: str, target: str, parents: Mapping[str, str], places: Mapping[str, int], *, upward: bool
) -> str:
    at = urn
    while at:
        if at == target:
            return "↺ a cycle, back to itself" if target == urn else "↺ a cycle, back to this"
        at = parents.get(at, "")
    before = places[target] < places[urn]
    return "↑ above" if before != upward else "↓ below"


_SIDES: Final[Mapping[Flow, Literal["upstream", "downstream"]]] = {
    "UPSTREAM": "upstream",
    "DOWNSTREAM": "downstream",
}
_MAX_CYCLES: Final = 3


@dataclass(frozen=True, slots=True)
class LineageListing:
    """The lineage of an entity or column, `root`, on some sides.

    `nearest` are the URNs to show, within `hops`, nearest first, without the root. The graph may
    reach one hop further.
    """

    root: str
    hops: int
    graph: "nx.DiGraph"
    sides: tuple[Flow, ...]
    nearest: tuple[str, ...]

    @property
    def total(self) -> int:
        """The number of nodes within `hops`, without the root."""
        return sum(map(self.count, self.sides))

    def count(self, flow: Flow) -> int:
        """Return the number of nodes on one side within `hops`."""
        far = [self.graph.nodes[node]["hops"] for node in self.within()]
        return sum((hops < 0) == (flow == "UPSTREAM") for hops in far)

    def within(self) -> Iterator[str]:
        """Yield the nodes within `hops`, without the root."""
        for node, far in self.graph.nodes.data("hops"):
            if node != self.root and abs(far) <= self.hops:
                yield node

    def drawn_graph(self) -> "nx.DiGraph":
        """Return the graph of the root and the nodes shown."""
        if len(self.nearest) == len(self.graph) - 1:
            return self.graph
        return self.graph.subgraph({self.root, *self.nearest}).copy()


def lineage_report(listing: LineageListing, *, as_tree: bool = True) -> Report:
    """Return a report on lineage: a tree, in which the root is below its upstream and above its
    downstream, or a line for each entity, nearest first."""
    parts = _tree_parts(listing) if as_tree else [_nearest_table(listing)]
    return Report(parts=parts, urns=listing.nearest, notes=tuple(_lineage_notes(listing)))


def _tree_parts(listing: LineageListing) -> Iterator[TextLine]:
    nodes = listing.graph.nodes
    entities = lineage_entities((urn, nodes[urn]) for urn in (listing.root, *listing.nearest))
    trees = {
        flow: lineage_tree(
            listing.graph, listing.root, entities, side=_SIDES[flow], upward=flow == "UPSTREAM"
        )
        for flow in listing.sides
    }
    yield from map(_tree_line, trees.get("UPSTREAM", ()))
    root = _entity_pieces(entities[listing.root], "bold underline")
    yield text_line("● ", *root, wraps=True)
    yield from map(_tree_line, trees.get("DOWNSTREAM", ()))


def _tree_line(tree_line: TreeLine) -> TextLine:
    pieces: list[Piece] = [(tree_line.prefix, "dim")]
    match tree_line:
        case TreeLine(entity=LineageEntity() as entity, reference=""):
            pieces += _entity_pieces(entity, "bold")
            pieces.append((f"  {tree_line.note}" if tree_line.note else "", "italic"))
        case TreeLine(entity=LineageEntity() as entity):
            pieces += [entity.full_name, (f"  {tree_line.reference}", "dim italic")]
        case _:
            pieces.append((tree_line.reference, "dim"))
    if tree_line.hidden:
        pieces.append((f"  … {tree_line.hidden:,} more", "dim"))
    return text_line(*pieces, wraps=True)


def _entity_pieces(entity: LineageEntity, style: str) -> tuple[Piece, ...]:
    state = f"  {entity.state}" if entity.state else ""
    return (entity.full_name, style), (f"  {entity.type}", "dim"), (state, "italic")


def _nearest_table(listing: LineageListing) -> Table:
    columns: Sequence[TableColumn[LineageEntity]] = (
        TableColumn(
            "name", read=lambda entity: entity.full_name, max_width=48, folds=True, style="bold"
        ),
        TableColumn("type"),
        TableColumn("hops", read=lambda entity: abs(entity.hops or 0)),
        TableColumn(
            "side", read=lambda entity: "upstream" if (entity.hops or 0) < 0 else "downstream"
        ),
        TableColumn("state", style="italic"),
    )
    nodes = listing.graph.nodes
    entities = lineage_entities((urn, nodes[urn]) for urn in listing.nearest)
    return Table.from_records(entities.values(), columns).without_empty_columns()


def _lineage_notes(listing: LineageListing) -> Iterator[Note]:
    """Yield notes on the totals, on what was left out and how to see it, and on cycles."""
    total, hops = listing.total, hop_count(listing.hops)
    counts = ", ".join(f"{listing.count(flow):,} {_SIDES[flow]}" for flow in _in_order(listing))
    if not total:
        yield f"nothing {' or '.join(_SIDES[flow] for flow in listing.sides)} within {hops}"
    elif len(listing.nearest) < total:
        shown_count = f"{len(listing.nearest):,} of {total:,} shown ({counts})"
        yield f"{shown_count} within {hops}; --limit shows more"
    else:
        yield f"{counts} within {hops}"
    if total < len(listing.graph) - 1:
        yield f"there is more lineage; --hops {listing.hops + 1} shows it"
    if guesses := listing.graph.graph.get("guesses"):
        edges = (
            "1 column edge is a guess" if guesses == 1 else f"{guesses:,} column edges are guesses"
        )
        yield f"{edges}: only their tables are known to be connected"
    yield from _cycle_notes(listing)
    if cut := listing.graph.graph["truncated"]:
        yield incomplete_note(cut)


def _in_order(listing: LineageListing) -> Iterator[Flow]:
    return (flow for flow in _SIDES if flow in listing.sides)


def _cycle_notes(listing: LineageListing) -> Iterator[str]:
    from explorer.graph import cycles

    graph = listing.drawn_graph()
    all_cycles = cycles(graph, limit=_MAX_CYCLES + 1)
    for cycle in all_cycles[:_MAX_CYCLES]:
        names = [lineage_entity(urn, graph.nodes[urn]).name for urn in (*cycle, cycle[0])]
        yield f"cycle: {' → '.join(names)}"
    if len(all_cycles) > _MAX_CYCLES:
        yield "there are more cycles"


def incomplete_sentence(reason: str | None) -> str:
    """Return a sentence that the data is incomplete, with the reason; empty without a reason."""
    return f"incomplete: {reason}" if reason else ""


def incomplete_note(reason: str, hint: str = "") -> TextLine:
    """Return a note that the data is incomplete, with the reason."""
    return text_line(("incomplete: ", "bold"), reason, hint)


CERTAINTY: "Final[Mapping[Certainty, str]]" = {
    "said": "said",
    "guessed": "guess: same name",
    "table": "the table only",
}
"""Labels for how certain it is that a column's change affects an entity."""

CERTAINTY_NOTES: "Final[Mapping[Certainty, str]]" = {
    "table": "the table only: it uses an affected table; which of its columns, nobody said",
    "guessed": "guess: a column of the same name is all there is for a part of the way",
}


@dataclass(frozen=True, slots=True)
class ImpactView:
    """The entities affected by a change of an entity or a column, most used first.

    `names` are the names of owners and domains, by URN; `name` is the display name of the changed
    entity.
    """

    impact: "Impact"
    name: str
    names: Mapping[str, str]
    entities: Mapping[str, LineageEntity]

    @classmethod
    def of(
        cls, impact: "Impact", names: Mapping[str, str] | None = None, name: str = ""
    ) -> "ImpactView":
        """Return the view of an impact; `name` defaults to the entity's own."""
        names_by_urn = names or {}
        root = lineage_entity(impact.root, impact.nodes.get(impact.root, {}))
        nodes: dict[str, Attributes] = {
            affected.urn: _attributes(affected) for affected in impact.affected
        }
        nodes[impact.root] = impact.nodes.get(impact.root, {})
        return cls(
            impact, name or root.name, names_by_urn, lineage_entities(nodes.items(), names_by_urn)
        )

    @property
    def title(self) -> str:
        """The display name of the changed entity or column."""
        column = self.impact.column
        return f"{line(self.name)}.{line(column)}" if column else line(self.name)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The number of affected entities of each type, highest first: `2 charts`."""
        counts = Counter(affected.type for affected in self.impact.affected)
        return tuple(
            counted(count, singular(kind), plural(kind)) for kind, count in counts.most_common()
        )

    @property
    def queries(self) -> str:
        """The number of queries of the affected entities; empty if none were counted."""
        return f"{self.impact.queries:,} queries in 30 days" if self.impact.queries else ""

    @property
    def notes(self) -> tuple[str, ...]:
        """Explanations of the certainties that occur."""
        certainties = (
            {affected.certainty for affected in self.impact.affected}
            if self.impact.column
            else set()
        )
        return tuple(
            note for certainty, note in CERTAINTY_NOTES.items() if certainty in certainties
        )

    def groups(self, by: "Grouping") -> "list[tuple[str, str, tuple[Affected, ...]]]":
        """Return the key, name and members of each group, largest first; the key "" is for entities
        without a group."""
        items = self.impact.by(by).items()
        return [(key, label_name(key, self.names) if key else "", some) for key, some in items]

    def table(self, top: int | None = None) -> Table:
        """Return a row for each affected entity, at most `top`.

        `certainty` is `None` for the impact of a whole table; queries and users are of the last 30
        days.
        """
        is_of_column = bool(self.impact.column)
        columns = (
            *attributes("urn", "name", "type"),
            TableColumn("kind", None, lambda affected: affected.kind or affected.type, "files"),
            TableColumn("platform"),
            TableColumn("hops", dtype="int64"),
            *attributes("queries", "users", audience="files"),
            TableColumn(
                "certainty",
                None,
                lambda affected: affected.certainty if is_of_column else None,
                "files",
            ),
            *attributes("columns", "owners", "domain", audience="files"),
            *label_columns("owner", lambda affected: affected.owners, self.names),
            *domain_columns(lambda affected: affected.domain, self.names),
            TableColumn("columns", None, lambda affected: affected.columns, "frames", dtype=LIST),
            TableColumn("certainty", audience="frames"),
            *attributes("queries", "users", audience="frames", dtype="Int64"),
            *attributes("exists", "removed", "deprecated", dtype="bool"),
        )
        return replace(
            Table.from_records(self.impact.affected[:top], columns, f"what depends on {self.name}"),
            incomplete=incomplete_sentence(self.impact.truncated),
        )


_WIDE: Final = 110
_WIDEST: Final = 140


def impact_report(view: ImpactView, grouping: "Grouping | None", top: int | None) -> Report:
    """Return a report on the affected entities, at most `top`, most used first. People see one
    table, or with `grouping` a table for each group with at most `top` lines."""
    impact = view.impact
    most = len(impact.affected) if top is None else top
    parts: list[ReportPart] = []
    for key, name, group in view.groups(grouping) if grouping else ():
        title = (name, "bold underline") if key else (f"no {grouping}", "italic")
        queries = sum(node.queries or 0 for node in group)
        counts = f"  {len(group):,}" + (f" · {queries:,} queries" if queries else "")
        parts += [TextLine(())] if parts else []
        parts += [text_line(title, (counts, "dim"), wraps=True)]
        parts.append(_affected_table(view, group[:most]))
        if len(group) > most:
            parts.append(text_line((f"… {len(group) - most:,} more", "dim")))
    if not grouping and impact.affected:
        parts = [_affected_table(view, impact.affected[:most])]
    # Each group says how many of its entities it leaves out.
    notes = tuple(_impact_notes(view, len(impact) if grouping else most))
    return Report(view.table(top), parts, _impact_value(view), "affected", notes=notes)


def _affected_table(view: ImpactView, affected: "Sequence[Affected]") -> ReportPart:
    """Return a table of affected entities, with fewer columns on a narrow page."""
    is_of_column = bool(view.impact.column)

    def entity(node: "Affected") -> LineageEntity:
        return view.entities[node.urn]

    def known(node: "Affected") -> str | None:
        return CERTAINTY[node.certainty] if is_of_column else None

    def table(*left_out: str, has_short_type: bool = False) -> Table:
        columns: Sequence[TableColumn[Affected]] = (
            TableColumn(
                "name",
                None,
                lambda node: entity(node).full_name,
                max_width=36,
                folds=True,
                style="bold",
            ),
            TableColumn(
                "type",
                None,
                lambda node: entity(node).kind if has_short_type else entity(node).type,
            ),
            *attributes("queries", "users", "hops"),
            TableColumn("columns", max_width=20, folds=True),
            TableColumn("known", read=known, folds=True),
            TableColumn(
                "owners", None, lambda node: entity(node).owners, max_width=24, style="dim"
            ),
            TableColumn("state", None, lambda node: entity(node).state, style="italic"),
        )
        columns = [column for column in columns if column.name not in left_out]
        return Table.from_records(affected, columns).without_empty_columns()

    if not is_of_column:
        return Fitted(_WIDE, [table()], [table("owners")])
    middle = table("owners", has_short_type=True)
    narrow = table("owners", "users", "hops", has_short_type=True)
    return Fitted(_WIDEST, [table()], [Fitted(_WIDE, [middle], [narrow])])


def _impact_value(view: ImpactView) -> dict[str, Any]:
    """Return the entries of the JSON object except `affected`: `groups` has the counts for each
    type, platform, owner and domain; the key "" is for entities without one."""
    impact = view.impact
    from explorer.graph.analysis import Grouping

    groups = {
        grouping: [
            {
                "key": key,
                "name": name,
                "count": len(group),
                "queries": sum(node.queries or 0 for node in group),
            }
            for key, name, group in view.groups(grouping)
        ]
        for grouping in get_args(Grouping)
    }
    return {
        "urn": impact.root,
        "column": impact.column,
        "total": len(impact),
        "queries": impact.queries,
        "truncated": impact.truncated,
        "uncounted": impact.uncounted,
        "affected": None,
        "groups": groups,
    }


def _impact_notes(view: ImpactView, most: int) -> Iterator[Note]:
    impact = view.impact
    if impact.affected:
        yield f"{len(impact):,} affected by {view.title}"
        yield "; ".join(filter(None, (", ".join(view.kinds), view.queries)))
    else:
        yield f"nothing is affected by {view.title}"
    if most < len(impact):
        yield f"{most:,} of {len(impact):,} shown; --top shows more"
    if impact.truncated:
        yield incomplete_note(impact.truncated)
    if impact.uncounted:
        yield impact.uncounted


def _attributes(affected: "Affected") -> dict[str, Any]:
    origin = next((urn.origin for urn in Urn.parse_all([affected.urn])), None)
    return {
        name: getattr(affected, name)
        for name in ("name", "type", "kind", "platform", "hops", "owners", "domain")
    } | {
        "origin": origin,
        "exists": affected.exists,
        "removed": affected.removed,
        "deprecated": affected.deprecated,
    }


_ARROWS: Final = {"any": "—", "downstream": "→", "upstream": "←"}


@dataclass(frozen=True, slots=True)
class PathStep:
    """An entity on a path, and the relationships that lead to it from the previous entity."""

    entity: LineageEntity
    relationship: str = ""


@dataclass(frozen=True, slots=True)
class PathsView:
    """All shortest paths between two entities, each from the source to the target.

    `nodes` are the attributes of the entities on them, by URN.
    """

    paths: "Paths"
    nodes: Mapping[str, Attributes]
    source: LineageEntity
    target: LineageEntity
    steps: tuple[tuple[PathStep, ...], ...]

    @classmethod
    def of(cls, paths: "Paths", entities: "Mapping[Urn, Entity]") -> "PathsView":
        """Return the view of paths; `entities` are the stored entities on them, with the aspects of
        `explorer.graph.nodes.details`."""
        from explorer.graph.nodes import attributes_of

        met = dict.fromkeys(
            (
                paths.source,
                paths.target,
                *(urn for node_path in paths.node_paths for urn in node_path),
            )
        )
        nodes = attributes_of(met, entities)
        entities_by_urn = lineage_entities(nodes.items())
        steps = []
        for at, node_path in enumerate(paths.node_paths):
            reasons = (
                "",
                *(paths.joined_by[at] if paths.joined_by else [""] * (len(node_path) - 1)),
            )
            pairs = zip(node_path, reasons, strict=True)
            steps.append(tuple(PathStep(entities_by_urn[urn], reason) for urn, reason in pairs))
        return cls(
            paths, nodes, entities_by_urn[paths.source], entities_by_urn[paths.target], tuple(steps)
        )

    @property
    def arrow(self) -> str:
        """The arrow between two steps, in the direction of the data."""
        return _ARROWS[self.paths.direction]

    @property
    def counts(self) -> str:
        """The number of paths and their length: `2 shortest ways, 3 hops`."""
        count = len(self.paths)
        ways = "1 way" if count == 1 else f"{count:,} shortest ways"
        return f"{ways}, {hop_count(self.paths.hops or 0)}"

    def table(self) -> Table:
        """Return a row for each step of each path; `step` 0 is the source."""
        columns = (
            TableColumn("way", read=lambda place: place[0], dtype="int64"),
            TableColumn("step", read=lambda place: place[1], dtype="int64"),
            TableColumn("urn", read=lambda place: place[2].entity.urn),
            TableColumn("name", read=lambda place: place[2].entity.name),
            TableColumn("type", read=lambda place: _type_of(place[2].entity.urn)),
            TableColumn("platform", read=lambda place: place[2].entity.platform or None),
            TableColumn("relationship", read=lambda place: place[2].relationship or None),
        )
        places = [
            (path_number, number, step)
            for path_number, steps in enumerate(self.steps)
            for number, step in enumerate(steps)
        ]
        return replace(
            Table.from_records(places, columns, "paths"),
            incomplete=incomplete_sentence(self.paths.truncated),
        )


# The number of further hops that is suggested after a search of paths has stopped.
_FURTHER: Final = 4


def paths_report(view: PathsView, relationships: Sequence[str], most_hops: int) -> Report:
    """Return a report with a line for each path, numbered if there are several; as URNs only the
    first path. If the paths do not follow lineage, each arrow has the name of its relationship. If
    the search stopped early, a note suggests another with at most `most_hops`."""
    paths = view.paths
    widest = len(str(len(view.steps)))
    parts = [
        Chain(
            f"{number:>{widest}}  " if len(view.steps) > 1 else "",
            [_path_step(view, step, is_first=at == 0) for at, step in enumerate(steps)],
        )
        for number, steps in enumerate(view.steps, 1)
    ]
    document = {
        "source": paths.source,
        "target": paths.target,
        "direction": paths.direction if paths.node_paths else None,
        "hops": paths.hops,
        "joined_by": paths.joined_by,
        "truncated": paths.truncated,
        "ways": [
            [_node_value(urn, view.nodes[urn]) for urn in node_path]
            for node_path in paths.node_paths
        ],
    }
    urns = paths.node_paths[0] if paths.node_paths else ()
    notes = tuple(_path_notes(view, relationships, most_hops))
    return Report(parts=parts, document=document, urns=urns, notes=notes)


def _path_step(view: PathsView, step: PathStep, *, is_first: bool) -> TextLine:
    entity, arrow = step.entity, (f"{view.arrow} ", "dim")
    pieces: list[Piece] = [] if is_first else [arrow]
    if pieces and view.paths.direction == "any" and step.relationship:
        pieces += [(step.relationship, "dim"), " ", arrow]
    state = f" {entity.state}" if entity.state else ""
    return text_line(
        *pieces, (entity.full_name, "bold"), (f" ({entity.type})", "dim"), (state, "italic")
    )


def _node_value(urn: str, node: Attributes) -> dict[str, Any]:
    return {
        "urn": urn,
        "name": node["name"],
        "type": node["type"],
        "kind": node.get("kind", node["type"]),
        "platform": node.get("platform"),
        "exists": node.get("exists"),
        "removed": node.get("removed", False),
    }


def _path_notes(view: PathsView, relationships: Sequence[str], most_hops: int) -> Iterator[Note]:
    paths, source, target = view.paths, view.source.full_name, view.target.full_name
    if not paths.node_paths:
        along = f"along {', '.join(relationships) or 'lineage'}"
        if paths.within:
            along += f" within {hop_count(paths.within)}"
        yield f"there is no path from {source} to {target} {along}"
    elif paths.source == paths.target:
        yield f"{source} is both ends"
    elif paths.direction == "any":
        yield view.counts
    else:
        ends = (target, source) if paths.direction == "downstream" else (source, target)
        yield f"{view.counts}, {paths.direction}: {ends[0]} is downstream of {ends[1]}"
    if paths.truncated:
        further = min((paths.within or most_hops) * _FURTHER, most_hops)
        hint = f"; --hops {further} looks further" if (paths.within or further) < further else ""
        yield incomplete_note(paths.truncated, hint)


@dataclass(frozen=True, slots=True)
class RelationshipGroup:
    """The entities of one relationship in one direction: their number, and those to show."""

    direction: Direction
    name: str
    count: int
    urns: tuple[Urn, ...]


@dataclass(frozen=True, slots=True)
class RelatedEntities:
    """The relationships of an entity in groups, outgoing ones first, with attributes of the
    entities shown.

    `totals` are the server's counts. The counts of the groups cover only what was read.
    """

    urn: str
    groups: tuple[RelationshipGroup, ...]
    totals: Mapping[Direction, int]
    nodes: Mapping[str, Attributes]


def relationships_report(related: RelatedEntities) -> Report:
    """Return a report with a heading and count for each relationship, and its entities below."""
    parts: list[ReportPart] = []
    for group in related.groups:
        is_outgoing = group.direction == "OUTGOING"
        parts += [TextLine(())] if parts else []
        name = (group.name, "bold underline") if group.name else ("unnamed", "dim italic")
        count = f"  {group.count:,} {'outgoing' if is_outgoing else 'incoming'}"
        arrow = ("→ " if is_outgoing else "← ", "dim")
        parts += [text_line(arrow, name, (count, "dim"), wraps=True), _group_table(related, group)]
        if len(group.urns) < group.count:
            parts.append(text_line((f"… {group.count - len(group.urns):,} more", "dim")))
    counts: dict[str, dict[str, int]] = {side.lower(): {} for side in related.totals}
    for group in related.groups:
        counts[group.direction.lower()][group.name] = group.count
    document = {"urn": related.urn, "total": sum(related.totals.values()), "counts": counts}
    notes = tuple(_relationship_notes(related))
    return Report(_relationships_table(related), parts, document, "edges", notes=notes)


def _group_table(related: RelatedEntities, group: RelationshipGroup) -> Table:
    columns: Sequence[TableColumn[LineageEntity]] = (
        TableColumn("name", read=lambda entity: entity.full_name, max_width=60, folds=True),
        TableColumn("type", style="dim"),
        TableColumn("state", style="italic"),
    )
    entities = lineage_entities((str(urn), related.nodes[str(urn)]) for urn in group.urns)
    records = [entities[str(urn)] for urn in group.urns]
    return Table.from_records(records, columns, is_list=True)


def _relationships_table(related: RelatedEntities) -> Table:
    nodes = related.nodes
    columns = (
        TableColumn("direction", read=lambda edge: edge[0].direction.lower()),
        TableColumn("relationship", read=lambda edge: edge[0].name),
        TableColumn("urn", read=lambda edge: edge[1]),
        TableColumn("name", read=lambda edge: lineage_entity(edge[1], nodes[edge[1]]).name),
        TableColumn("type", read=lambda edge: nodes[edge[1]]["type"]),
        TableColumn("kind", read=lambda edge: nodes[edge[1]].get("kind", nodes[edge[1]]["type"])),
        TableColumn("platform", read=lambda edge: nodes[edge[1]].get("platform")),
        TableColumn("exists", read=lambda edge: nodes[edge[1]].get("exists")),
    )
    edges = [(group, str(urn)) for group in related.groups for urn in group.urns]
    return Table.from_records(edges, columns)


def _relationship_notes(related: RelatedEntities) -> Iterator[str]:
    total = sum(related.totals.values())
    if not total:
        sides = " or ".join(direction.lower() for direction in related.totals)
        name = lineage_entity(related.urn, related.nodes[related.urn]).name
        yield f"no {sides} relationships of {name}"
        return
    counts = ", ".join(f"{count:,} {side.lower()}" for side, count in related.totals.items())
    shown_count = sum(len(group.urns) for group in related.groups)
    is_whole = shown_count >= total
    yield (
        counts if is_whole else f"{shown_count:,} of {total:,} shown ({counts}); --limit shows more"
    )
    read_count = sum(group.count for group in related.groups)
    if read_count < total:
        yield f"the counts per relationship cover only the first {read_count:,}"


def script_report(
    statements: "Sequence[StatementLineage]", catalog_tables: "CatalogTables"
) -> Report:
    """Return a report on the statements of a SQL script: the target, upstream tables and column
    lineage of each, or the reason why it could not be parsed."""
    parts: list[ReportPart] = []
    notes: list[str] = []
    for statement in statements:
        problem = statement.problem
        if problem is not None:
            reason_start = "" if statement.lineage.problem is None else "cannot be parsed: "
            notes.append(f"line {statement.line}: {reason_start}{problem} ({statement.text})")
        if statement.lineage.problem is not None:
            continue
        target = ".".join(statement.target) if statement.target else "query"
        tables = (_script_table(path, catalog_tables) for path in statement.lineage.tables)
        upstreams = ", ".join(tables) or "nothing"
        head = (f"{statement.line:>5}  ", "dim"), (target, "bold"), f" from {upstreams}"
        parts.append(text_line(*head, wraps=True))
        traced = zip(statement.target_columns, statement.lineage.columns, strict=True)
        for at, (name, sources) in enumerate(traced):
            columns = ", ".join(f"{path[-1]}.{column}" for path, column in sources)
            if (gap := statement.lineage.gaps.get(at)) is not None:
                columns += f"{'; ' if sources else ''}not traced: {gap}"
            columns = columns or "no column"
            parts.append(text_line("       ", name, (" ← ", "dim"), columns, wraps=True))
    parsed = f"{len(statements) - len(notes):,} of {len(statements):,} statements parsed"
    if not statements:
        parsed = "the script has no statement that reads or writes tables"
    document = [_statement_value(statement, catalog_tables) for statement in statements]
    return Report(parts=parts, document=document, notes=(*notes, parsed))


def _script_table(path: "TablePath", catalog_tables: "CatalogTables") -> str:
    return ".".join(path) + ("" if path in catalog_tables.urns else " (created by the script)")


def _statement_value(
    statement: "StatementLineage", catalog_tables: "CatalogTables"
) -> dict[str, Any]:
    def label(path: "TablePath") -> str:
        return str(catalog_tables.urns.get(path) or ".".join(path))

    columns = zip(statement.target_columns, statement.lineage.columns, strict=False)
    return {
        "line": statement.line,
        "text": statement.text,
        "target": label(statement.target) if statement.target else None,
        "upstreams": [label(path) for path in statement.lineage.tables],
        "columns": {
            name: [{"urn": label(path), "column": column} for path, column in sources]
            for name, sources in columns
        },
        "untraced": {
            statement.target_columns[at]: reason for at, reason in statement.lineage.gaps.items()
        },
        "problem": statement.problem,
    }


def _type_of(text: str) -> str:
    return next((urn.entity_type for urn in Urn.parse_all([text])), "")


_COMMENT_MARK: Final = "<!-- catalog impact -->"
_MOST_AFFECTED: Final = 20
_MOST_OWNERS: Final = 5


@dataclass(frozen=True, slots=True)
class ChangeImpact:
    """A schema change and its impacts, one for each dataset of the catalog with the table's name.

    `problem` is the reason if the impact is unknown.
    """

    change: "SchemaChange"
    impacts: tuple[ImpactView, ...] = ()
    problem: str | None = None

    @property
    def affected(self) -> "tuple[Affected, ...]":
        """The affected entities, without duplicates, most used first."""
        own = {view.impact.root for view in self.impacts}
        affected_by_urn = {
            affected.urn: affected
            for view in self.impacts
            for affected in view.impact.affected
            if affected.urn not in own
        }
        return tuple(
            sorted(
                affected_by_urn.values(),
                key=lambda affected: (
                    -(affected.queries or 0),
                    -(affected.users or 0),
                    affected.urn,
                ),
            )
        )

    @property
    def queries(self) -> int:
        """The number of queries of the affected entities in the last 30 days."""
        return sum(affected.queries or 0 for affected in self.affected)

    @property
    def owners(self) -> tuple[str, ...]:
        """The names of the owners of the affected entities, those of the most used entities
        first."""
        names = {key: name for view in self.impacts for key, name in view.names.items()}
        return tuple(
            dict.fromkeys(
                label_name(urn, names) for affected in self.affected for urn in affected.owners
            )
        )

    @property
    def truncated(self) -> tuple[str, ...]:
        """The reasons why impacts are incomplete, in words."""
        cuts = (view.impact.truncated for view in self.impacts)
        return tuple(dict.fromkeys(cut for cut in cuts if cut))


def change_text(change: "SchemaChange") -> str:
    """Return a change in words: `orders.amount dropped`."""
    table = ".".join(change.table)
    subject = line(f"{table}.{change.column}" if change.column else table)
    match change.kind:
        case "renamed":
            return f"{subject} renamed to {line(change.after)}"
        case "moved":
            return f"{subject} moved from {line(change.before)} to {line(change.after)}"
        case "logic":
            return f"{subject}: {change.part} changed"
        case "retyped":
            before = f" from {line(change.before)}" if change.before else ""
            after = f" to {line(change.after)}" if change.after else ""
            return f"{subject} changed{before}{after}"
        case _:
            return f"{subject} {change.kind}"


@dataclass(frozen=True, slots=True)
class SchemaChangesView:
    """The changes between two commits with their impacts: most used first, then in the order of the
    files. Changes of logic come last: they break nothing, but change the values or rows of
    dependent entities."""

    schemas: "ChangedSchemas"
    impacts: tuple[ChangeImpact, ...]

    @classmethod
    def of(cls, schemas: "ChangedSchemas", impacts: Sequence[ChangeImpact]) -> "SchemaChangesView":
        """Return the view of changes and their impacts."""
        order = sorted(
            impacts,
            key=lambda impact: (
                impact.change.kind == "logic",
                -impact.queries,
                -len(impact.affected),
            ),
        )
        return cls(schemas, tuple(order))

    @property
    def affecting(self) -> tuple[ChangeImpact, ...]:
        """The changes of tables and columns that affect at least one entity."""
        return tuple(
            impact for impact in self.impacts if impact.affected and impact.change.is_breaking
        )

    @property
    def logic(self) -> tuple[ChangeImpact, ...]:
        """The changes of expressions, filters and joins."""
        return tuple(impact for impact in self.impacts if impact.change.kind == "logic")

    @property
    def may_break(self) -> bool:
        """Whether a change affects any entity, or might, because something could not be
        examined."""
        breaking = [impact for impact in self.impacts if impact.change.kind != "logic"]
        return bool(
            self.affecting or self.schemas.skipped or any(impact.truncated for impact in breaking)
        )

    @property
    def title(self) -> str:
        """The number of changes and of affected entities, in words."""
        entities = {affected.urn for impact in self.affecting for affected in impact.affected}
        changes = len(self.affecting)
        structural = len(self.schemas.changes) - len(self.logic)
        if changes:
            text = (
                f"{counted(changes, 'change')} {'affects' if changes == 1 else 'affect'} "
                f"{counted(len(entities), 'entity', 'entities')}"
            )
        elif structural:
            text = f"{counted(structural, 'change')}, and nothing depends on what is changed"
        else:
            text = "no column or table is changed"
        if not self.logic:
            return text
        tables = {impact.change.table for impact in self.logic}
        return f"{text}; expression, filter or join changed in {counted(len(tables), 'table')}"

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences on what could not be examined."""
        skipped = (
            f"{line(part.subject)}: {line(part.reason, 400)}" for part in self.schemas.skipped
        )
        problems = (
            (impact, word)
            for impact in self.impacts
            for word in (impact.problem, *impact.truncated)
        )
        return (
            *skipped,
            *(f"{change_text(impact.change)}: {word}" for impact, word in problems if word),
        )

    def table(self) -> Table:
        """Return a row for each change; queries are of the last 30 days."""
        columns = (
            TableColumn(
                "change", read=lambda impact: change_text(impact.change), style="bold", folds=True
            ),
            TableColumn("kind", None, lambda impact: impact.change.kind, "programs"),
            TableColumn("table", None, lambda impact: ".".join(impact.change.table), "programs"),
            TableColumn("column", None, lambda impact: impact.change.column, "programs"),
            TableColumn("before", None, lambda impact: impact.change.before, "programs"),
            TableColumn("after", None, lambda impact: impact.change.after, "programs"),
            TableColumn("part", None, lambda impact: impact.change.part, "programs"),
            TableColumn("file", read=lambda impact: impact.change.file, folds=True, style="dim"),
            TableColumn("affects", read=lambda impact: len(impact.affected)),
            TableColumn("queries", read=lambda impact: impact.queries or None),
            TableColumn(
                "owned_by", None, lambda impact: _first_owners(impact.owners), "people", folds=True
            ),
            TableColumn("owners", audience="programs"),
            TableColumn(
                "datasets",
                None,
                lambda impact: [view.impact.root for view in impact.impacts],
                "programs",
            ),
            TableColumn(
                "affected", None, lambda impact: [node.urn for node in impact.affected], "programs"
            ),
            TableColumn("problem", audience="programs"),
        )
        return Table.from_records(self.impacts, columns, self.title)

    def report(self) -> Report:
        """Return a report on the changes; as URNs those of the affected entities."""
        skipped = [
            {"subject": part.subject, "reason": part.reason} for part in self.schemas.skipped
        ]
        document = {
            "base": self.schemas.base,
            "head": self.schemas.head,
            "changes": None,
            "skipped": skipped,
        }
        urns = dict.fromkeys(node.urn for impact in self.impacts for node in impact.affected)
        unchecked = (text_line(("not checked: ", "bold"), note) for note in self.notes)
        return Report(
            self.table(),
            document=document,
            rows_name="changes",
            urns=urns,
            notes=(self.title, *unchecked),
        )

    def markdown(self) -> str:
        """Return a comment in Markdown.

        It has a heading, a row for each change that affects anything, the affected entities below
        each, and what could not be examined. Its first line is a marker by which the comment is
        found and updated.
        """
        return "\n".join((_COMMENT_MARK, *self._markdown())) + "\n"

    def _markdown(self) -> Iterator[str]:
        yield f"### {self.title[0].upper()}{self.title[1:]}"
        if self.affecting:
            columns = [TableColumn(name) for name in ("change", "affects", "queries", "owners")]
            rows: list[Row] = [
                (
                    change_text(impact.change),
                    f"{len(impact.affected):,}",
                    f"{impact.queries:,}" if impact.queries else None,
                    _first_owners(impact.owners),
                )
                for impact in self.affecting
            ]
            yield from ("", *markdown_table(Table(columns, rows)))
            yield from ("", "Queries are of the last 30 days.")
        for impact in self.affecting:
            yield from _markdown_of_affected(impact)
        if self.logic:
            yield from ("", "**Expression, filter or join changed**", "")
            for impact in self.logic:
                names = [line(affected.name) for affected in impact.affected[:_MOST_AFFECTED]]
                readers = f" (read by {', '.join(names)})" if names else ""
                yield f"- {markdown_cell(change_text(impact.change) + readers)}"
        harmless = [
            impact
            for impact in self.impacts
            if not impact.affected and not impact.problem and impact.change.kind != "logic"
        ]
        if self.affecting and harmless:
            subjects = ", ".join(markdown_cell(change_text(impact.change)) for impact in harmless)
            yield from ("", f"Nothing depends on: {subjects}.")
        if self.notes:
            yield from ("", "**Not looked at**", "")
            yield from (f"- {markdown_cell(note)}" for note in self.notes)


def _markdown_of_affected(impact: ChangeImpact) -> Iterator[str]:
    names = {key: name for view in impact.impacts for key, name in view.names.items()}
    columns = [
        TableColumn(name)
        for name in ("name", "type", "columns", "queries", "users", "owners", "known")
    ]
    by_column = impact.change.column is not None
    rows: list[Row] = [
        (
            line(affected.name),
            affected.kind or affected.type,
            affected.columns,
            affected.queries,
            affected.users,
            tuple(label_name(urn, names) for urn in affected.owners),
            CERTAINTY[affected.certainty] if by_column else None,
        )
        for affected in impact.affected[:_MOST_AFFECTED]
    ]
    used = [at for at in range(len(columns)) if any(row[at] not in (None, ()) for row in rows)]
    used_rows: list[Row] = [tuple(row[at] for at in used) for row in rows]
    yield from ("", "<details>")
    subject = markdown_cell(change_text(impact.change))
    yield f"<summary>{subject}: {len(impact.affected):,} affected</summary>"
    yield from ("", *markdown_table(Table([columns[at] for at in used], used_rows)))
    if len(impact.affected) > _MOST_AFFECTED:
        yield from ("", f"{len(impact.affected) - _MOST_AFFECTED:,} more are not listed.")
    certainties = {affected.certainty for affected in impact.affected} if by_column else set()
    for certainty, words in CERTAINTY_NOTES.items():
        if certainty in certainties:
            yield from ("", markdown_cell(words))
    yield from ("", "</details>")


def _first_owners(names: Sequence[str]) -> str:
    more = len(names) - _MOST_OWNERS
    first_names = ", ".join(names[:_MOST_OWNERS])
    return f"{first_names} and {more:,} more" if more > 0 else first_names
