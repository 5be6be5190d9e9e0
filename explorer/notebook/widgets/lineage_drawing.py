"""What the lineage widget draws: the graph read so far, the entities and columns that are shown,
and the layout of their boxes and lines.
"""

import asyncio
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import networkx as nx

from explorer.client.display import line
from explorer.client.records import Flow
from explorer.errors import InvalidInput
from explorer.graph.layout import Box, Layout, Point, Spacing, lay_out_pairs
from explorer.graph.lineage import COLUMN_ASPECTS, column_graph, merged, read_columns
from explorer.graph.nodes import contracted, distinguish_names, identity
from explorer.graph.pictures import COLOURS, State, box_size, label, state, text_width
from explorer.metadata.names import singular
from explorer.metadata.urn import Urn
from explorer.notebook.markup import plain_markdown
from explorer.views.lineage import (
    MAX_DRAWN,
    MAX_NEIGHBOURS_DRAWN,
    NEIGHBOURS_UNFOLDED,
    distance,
    hop_count,
    is_indirect,
)

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog
    from explorer.graph import Extent

__all__ = [
    "SIDES",
    "ColumnChoices",
    "DrawnColumns",
    "KnownLineage",
    "LineageWidgetState",
    "ShownLineage",
    "count_hidden",
    "draw",
    "first",
    "nodes_to_fold",
    "nodes_to_unfold",
    "read_between",
    "read_from",
    "read_names",
]

SIDES: tuple[Flow, Flow] = ("UPSTREAM", "DOWNSTREAM")


class KnownLineage:
    """The graph of everything read, with the nodes and sides whose neighbours are known.

    The attribute `hops` of a node is its distance from the root, negative upstream; it is missing
    for nodes that are neither upstream nor downstream of the root.
    """

    def __init__(self, root: str) -> None:
        self.graph: nx.DiGraph = nx.DiGraph(root=root, direction="BOTH", truncated=None)
        self.detailed: set[str] = set()
        self._read_sides: set[tuple[str, Flow]] = set()

    @property
    def root(self) -> str:
        """Return the root entity."""
        return str(self.graph.graph["root"])

    def turn_to(self, root: str) -> None:
        """Set another root."""
        self.graph.graph["root"] = root
        self._measure()

    def absorb(self, graph: "nx.DiGraph", extent: "Extent", hops: int) -> None:
        """Add a graph that was read up to `hops` from its root."""
        cut = graph.graph.get("truncated")
        self.graph.graph["truncated"] = cut or self.graph.graph["truncated"]
        for node, attributes in graph.nodes(data=True):
            if node not in self.graph:
                self.graph.add_node(node, **attributes)
            for side in SIDES:
                far = attributes.get("hops", hops) * (-1 if side == "UPSTREAM" else 1)
                if extent in ("BOTH", side) and 0 <= far < hops and not cut:
                    self._read_sides.add((node, side))
        self.graph.add_edges_from(graph.edges(data=True))
        self._measure()

    def has_neighbours(self, node: str, side: Flow) -> bool:
        """Return whether all neighbours of a node on one side were read."""
        return (node, side) in self._read_sides

    def without_details(self, nodes: Iterable[str]) -> list[str]:
        """Return the nodes of which only the URN is known."""
        return [node for node in nodes if node in self.graph and node not in self.detailed]

    def _measure(self) -> None:
        root = self.root
        if root not in self.graph:
            return
        below = nx.single_source_shortest_path_length(self.graph, root)
        above = nx.single_source_shortest_path_length(self.graph.reverse(copy=False), root)
        for node, attributes in self.graph.nodes(data=True):
            down, up = below.get(node), above.get(node)
            if down is not None and (up is None or down <= up):
                attributes["hops"] = down
            elif up is not None:
                attributes["hops"] = -up
            else:
                attributes.pop("hops", None)


def near(graph: "nx.DiGraph", node: str, side: Flow) -> Iterable[str]:
    """Return the neighbours of a node on one side, in graph order."""
    neighbours: Iterable[str] = graph.pred[node] if side == "UPSTREAM" else graph.succ[node]
    return neighbours


def first(graph: "nx.DiGraph", extent: "Extent", hops: int, most: int) -> dict[str, None]:
    """Return the nodes up to `hops` from the graph's root, up and down, nearest first: at most
    `most`, and at most a dozen neighbours of each. If only one neighbour would be left out, it is
    returned too, because a note that it is missing takes as much room."""
    root = graph.graph["root"]
    chosen: dict[str, None] = {root: None}
    sides = [side for side in SIDES if extent in ("BOTH", side)]
    frontiers = {side: [root] for side in sides}
    for _ in range(hops):
        for side in sides:
            following: list[str] = []
            for node in frontiers[side]:
                remaining = [
                    neighbour for neighbour in near(graph, node, side) if neighbour not in chosen
                ]
                fits = len(remaining) <= MAX_NEIGHBOURS_DRAWN + 1
                room = len(remaining) if fits else MAX_NEIGHBOURS_DRAWN
                additional = remaining[: max(min(room, most - len(chosen)), 0)]
                following += additional
                chosen |= dict.fromkeys(additional)
            frontiers[side] = following
    return chosen


def count_hidden(graph: "nx.DiGraph", nodes: Collection[str], node: str, side: Flow) -> int:
    """Return how many known neighbours of a node on one side are not drawn."""
    return sum(1 for neighbour in near(graph, node, side) if neighbour not in nodes)


def nodes_to_unfold(
    graph: "nx.DiGraph", nodes: Collection[str], node: str, side: Flow, most: int
) -> list[str]:
    """Return the additional nodes when a node is expanded on one side, up to `most` in all."""
    remaining = [neighbour for neighbour in near(graph, node, side) if neighbour not in nodes]
    return remaining[: max(min(NEIGHBOURS_UNFOLDED, most - len(nodes)), 0)]


def nodes_to_fold(graph: "nx.DiGraph", nodes: Collection[str], node: str, side: Flow) -> set[str]:
    """Return the nodes hidden when a node is collapsed on one side: those connected to the root
    only through it. Never the root or the node itself."""
    inside = set(nodes) - {node}
    beside: Flow = "DOWNSTREAM" if side == "UPSTREAM" else "UPSTREAM"
    root = graph.graph["root"]
    away = _connected_nodes(graph, inside, near(graph, node, side))
    ends = (root,) if node != root else near(graph, node, beside)
    return away - _connected_nodes(graph, inside, ends)


def _connected_nodes(
    graph: "nx.DiGraph", inside: Collection[str], starts: Iterable[str]
) -> set[str]:
    """Return the nodes of `inside` that are connected to one of the starts, in any direction."""
    undirected = graph.subgraph(inside).to_undirected(as_view=True)
    connected: set[str] = set()
    for start in starts:
        if start in undirected and start not in connected:
            connected |= nx.node_connected_component(undirected, start)
    return connected


MOST_PORTS = 12
"""How many columns are drawn in one box."""


@dataclass(frozen=True, slots=True)
class ColumnLink:
    """A link between columns in the direction of the data flow; an end without a column is a whole
    entity."""

    source: str
    source_column: str
    target: str
    target_column: str
    guess: bool


@dataclass(frozen=True, slots=True)
class DrawnColumns:
    """A graph of columns seen from the entities drawn: the columns in each box, and the lines."""

    graph: "nx.DiGraph | None" = None
    about: str = ""

    def links(self, nodes: Collection[str]) -> tuple[ColumnLink, ...]:
        """Return the lines between drawn columns, in graph order."""
        if self.graph is None:
            return ()
        return tuple(self._links(nodes))

    def ports(self, nodes: Collection[str]) -> Mapping[str, tuple[str, ...]]:
        """Return the columns that are drawn in each box, most to least connected where not all
        are."""
        counts_by_node: dict[str, dict[str, int]] = {}
        for link in self.links(nodes):
            for node, column in (
                (link.source, link.source_column),
                (link.target, link.target_column),
            ):
                if column:
                    counts = counts_by_node.setdefault(node, {})
                    counts[column] = counts.get(column, 0) + 1
        return {
            node: tuple(sorted(counts, key=lambda column: -counts[column]))
            for node, counts in counts_by_node.items()
        }

    def _links(self, drawn_nodes: Collection[str]) -> Iterator[ColumnLink]:
        if self.graph is None:
            return
        nodes = self.graph.nodes
        for up, down, guess in self.graph.edges.data("guess"):
            above, below = nodes[up], nodes[down]
            source, target = above.get("dataset", up), below.get("dataset", down)
            if source in drawn_nodes and target in drawn_nodes and source != target:
                yield ColumnLink(
                    source, above.get("column", ""), target, below.get("column", ""), bool(guess)
                )


@dataclass(frozen=True, slots=True)
class ColumnChoices:
    """The columns of one dataset, to choose one from."""

    urn: str = ""
    paths: tuple[str, ...] = field(default=())


async def read_names(catalog: "AsyncCatalog", urn: str) -> ColumnChoices:
    """Return the columns of a dataset in the order of its schema. One request."""
    target = Urn.parse(urn)
    entity = (await catalog.entities([target], ("schemaMetadata",))).get(target)
    columns = entity.schema.columns if entity is not None else ()
    return ColumnChoices(urn, tuple(dict.fromkeys(column.path.simple for column in columns)))


async def read_from(
    catalog: "AsyncCatalog", urn: str, column: str, extent: "Extent", hops: int
) -> "nx.DiGraph":
    """Read the upstream and downstream columns of a column. Costs what `read_columns` does, in each
    direction."""
    if extent != "BOTH":
        return await read_columns(catalog, urn, column, extent, hops=hops)
    upper, lower = await asyncio.gather(
        read_columns(catalog, urn, column, "UPSTREAM", hops=hops),
        read_columns(catalog, urn, column, "DOWNSTREAM", hops=hops),
    )
    return merged(upper, lower)


async def read_between(
    catalog: "AsyncCatalog", tables: "nx.DiGraph", source: str, target: str
) -> "nx.DiGraph":
    """Read the column lineage of one edge between tables. If one end is a job, that of the tables
    it connects is included. One request."""
    near = {source, target}
    if tables.nodes[source].get("type") == "dataJob":
        near.update(tables.pred[source])
    if tables.nodes[target].get("type") == "dataJob":
        near.update(tables.succ[target])
    entities = await catalog.entities(Urn.parse_all(near), COLUMN_ASPECTS)
    columns = column_graph(tables.subgraph(near), entities)
    ends = {source, target} if near == {source, target} else near
    edges = [
        (up, down)
        for up, down in columns.edges
        if {columns.nodes[end].get("dataset", end) for end in (up, down)} <= ends
    ]
    part: nx.DiGraph = columns.edge_subgraph(edges).copy()
    return part


_ROOM = Spacing(layer=64, node=18, edge=10)
_NAME = 30
_COLUMN = 32
_TEXT = 280
_PORT_TOP, _PORT = 44.0, 18.0
_WIDE = 240.0
_NAME_SIZE = 12.5
_OTHER = "#56646F"
_TIP = 5.0
# Colour never says it alone: the sign before a name does, and a word below it.
_SIGNS: Mapping[State, str] = {"plain": "", "removed": "✗ ", "ghost": "? "}
_STATES: Mapping[State, str] = {"plain": "", "removed": "removed", "ghost": "not in the catalog"}


@dataclass(frozen=True, slots=True)
class ShownLineage:
    """The view of the lineage: expanded entities, hidden types and platforms, and column lineage if
    it is shown."""

    nodes: Collection[str]
    without: frozenset[tuple[str, str]] = frozenset()
    columns: DrawnColumns = field(default_factory=DrawnColumns)


@dataclass(frozen=True, slots=True)
class DrawnGraph:
    """The drawn graph, its layout, and both in the form for the page."""

    graph: "nx.DiGraph"
    layout: Layout[str]
    page_state: Mapping[str, Any]


def facts(attributes: Mapping[str, Any]) -> tuple[str, str]:
    """Return the type and the platform of a node, in words; both may be empty."""
    kind = singular(str(attributes.get("kind") or attributes.get("type") or ""))
    return line(kind, _NAME), line(str(attributes.get("platform") or ""), _NAME)


def words(attributes: Mapping[str, Any]) -> str:
    """Return the text below a node's name."""
    deprecated = "deprecated" if attributes.get("deprecated") is True else ""
    phrases = (*facts(attributes), _STATES[state(attributes)], deprecated)
    return _sound(" · ".join(word for word in phrases if word))


def draw(lineage: KnownLineage, view: ShownLineage, previous: Layout[str] | None) -> DrawnGraph:
    """Return the layout of the view; nodes drawn before keep their order. Has no side effects."""
    inside = lineage.graph.subgraph(node for node in view.nodes if node in lineage.graph)
    passing = {
        node for node, attributes in inside.nodes(data=True) if _passes(attributes, view.without)
    }
    graph = contracted(inside, passing | {lineage.root})
    for node, attributes in distinguish_names(graph.nodes(data=True)).items():
        graph.nodes[node]["name"] = attributes.get("name")
    ports = view.columns.ports(graph.nodes)
    # In the order of reading, on which the layout depends.
    order = [node for node in view.nodes if node in graph]
    sizes = {node: _size(node, graph.nodes[node], ports.get(node, ())) for node in order}
    layout = lay_out_pairs(sizes, graph.edges, spacing=_ROOM, previous=previous)
    boxes = [_box(lineage, view, graph, node, layout.positions[node], ports) for node in order]
    lines = [
        {
            "s": route.source,
            "t": route.target,
            "d": _curve(route.points),
            "indirect": is_indirect(graph.edges[route.source, route.target]),
        }
        for route in layout.routes
    ]
    page_state = {
        "root": lineage.root,
        "width": round(layout.width, 1),
        "height": round(layout.height, 1),
        "nodes": boxes,
        "edges": lines,
        "links": _links(view.columns, graph, layout, ports),
        "types": _count(inside, 0, view.without, "type"),
        "platforms": _count(inside, 1, view.without, "platform"),
    }
    return DrawnGraph(graph, layout, page_state)


def _passes(attributes: Mapping[str, Any], without: Collection[tuple[str, str]]) -> bool:
    kind, platform = facts(attributes)
    return ("type", kind) not in without and ("platform", platform) not in without


def _count(
    graph: "nx.DiGraph", which: int, without: Collection[tuple[str, str]], name: str
) -> list[dict[str, Any]]:
    counts: dict[str, int] = {}
    for _, attributes in graph.nodes(data=True):
        word = facts(attributes)[which]
        if word:
            counts[word] = counts.get(word, 0) + 1
    return [
        {"name": word, "count": counts[word], "on": (name, word) not in without}
        for word in sorted(counts)
    ]


def _size(node: str, attributes: Mapping[str, Any], columns: Sequence[str]) -> tuple[float, float]:
    width, height = box_size(node, attributes)
    width += text_width(_SIGNS[state(attributes)], _NAME_SIZE)
    if not columns:
        return width, height
    rows = len(_rows(columns))
    return max(width, _WIDE), _PORT_TOP + rows * _PORT + 4


def _rows(columns: Sequence[str]) -> Sequence[str]:
    """Return the columns that have a row of their own; the last row says how many have none."""
    return columns if len(columns) <= MOST_PORTS else columns[:MOST_PORTS]


def _port(box: Box, columns: Sequence[str], column: str) -> float:
    """Return the vertical position where the line of a column meets its box."""
    if not column or column not in columns:
        return box.y + min(box.height, 40) / 2
    at = min(columns.index(column), MOST_PORTS - 1)
    return box.y + _PORT_TOP + at * _PORT + _PORT / 2


def _box(
    lineage: KnownLineage,
    view: ShownLineage,
    graph: "nx.DiGraph",
    node: str,
    box: Box,
    ports: Mapping[str, Sequence[str]],
) -> dict[str, Any]:
    attributes = graph.nodes[node]
    full_name = label(node, attributes, 400)
    name = full_name if len(full_name) <= _NAME else "…" + full_name[1 - _NAME :]
    columns = ports.get(node, ())
    far = attributes.get("hops")
    nodes = view.nodes
    fields: dict[str, Any] = {
        "id": node,
        "name": name,
        "whole": full_name,
        "entity": line(str(attributes.get("type") or "")),
        "state": state(attributes),
        "sign": _SIGNS[state(attributes)],
        "words": words(attributes),
        "far": "the starting entity" if node == lineage.root else distance(far),
        "text": _sound(plain_markdown(attributes.get("description") or "", _TEXT)),
        "hops": far,
        "colour": COLOURS.get(str(attributes.get("type")), _OTHER),
        "x": round(box.x, 1),
        "y": round(box.y, 1),
        "w": round(box.width, 1),
        "h": round(box.height, 1),
        "ports": [_sound(line(column, _COLUMN)) for column in _rows(columns)],
    }
    if len(columns) > MOST_PORTS:
        fields["ports"][-1] = f"+{len(columns) - MOST_PORTS + 1:,} more columns"
    for side, short in zip(SIDES, ("up", "down"), strict=True):
        # Folding leads away from the root.
        away = far is None or (far <= 0 if side == "UPSTREAM" else far >= 0)
        fields[short] = {
            "hidden": count_hidden(lineage.graph, nodes, node, side),
            "open": away
            and any(neighbour in nodes for neighbour in near(lineage.graph, node, side)),
            "known": lineage.has_neighbours(node, side),
        }
    more = [f"{fields[side]['hidden']:,} more {side}stream" for side in ("up", "down")]
    spoken = [full_name, fields["words"], fields["far"], *(text for text in more if text[0] != "0")]
    fields["spoken"] = ", ".join(part for part in spoken if part)
    return fields


def _sound(text: str) -> str:
    """Return the text without lone surrogates, which a message cannot encode."""
    return text.encode(errors="replace").decode()


def _links(
    columns: DrawnColumns,
    graph: "nx.DiGraph",
    layout: Layout[str],
    ports: Mapping[str, Sequence[str]],
) -> list[dict[str, Any]]:
    routes = {(route.source, route.target): route.points for route in layout.routes}
    links: dict[tuple[str, str], dict[str, Any]] = {}
    for link in columns.links(graph.nodes):
        above, below = layout.positions[link.source], layout.positions[link.target]
        start = (
            above.x + above.width,
            _port(above, ports.get(link.source, ()), link.source_column),
        )
        end = (below.x, _port(below, ports.get(link.target, ()), link.target_column))
        # Round the boxes between, the way the line between the tables goes.
        bends = routes.get((link.source, link.target), ())[1:-1]
        path = _curve((start, *bends, end))
        links[path, str(link.guess)] = {
            "d": path,
            "guess": link.guess,
            "s": link.source,
            "t": link.target,
        }
    return list(links.values())


def _curve(points: Sequence[Point]) -> str:
    """Return the path through the points, curved from layer to layer, with an open arrow head."""
    (x, y), *rest = points
    commands = [f"M{x:.1f} {y:.1f}"]
    towards = 1.0
    for to_x, to_y in rest:
        if to_y == y or to_x == x:
            commands.append(f"L{to_x:.1f} {to_y:.1f}")
        else:
            middle = (x + to_x) / 2
            commands.append(f"C{middle:.1f} {y:.1f} {middle:.1f} {to_y:.1f} {to_x:.1f} {to_y:.1f}")
        if to_x != x:
            towards = 1.0 if to_x > x else -1.0
        x, y = to_x, to_y
    back = x - towards * _TIP
    commands.append(f"M{back:.1f} {y - 3.5:.1f}L{x:.1f} {y:.1f}L{back:.1f} {y + 3.5:.1f}")
    return "".join(commands)


MOST_HOPS = 20
_SHORT = 60
_LONG = 200


class LineageWidgetState:
    """The state of one lineage widget.

    One thread at a time changes what is drawn; any thread may ask meanwhile, and never waits for a
    layout to be made.
    """

    def __init__(self, root: str, hops: int, extent: "Extent") -> None:
        self._lock = threading.RLock()
        self._lineage = KnownLineage(root)
        self._hops, self._extent, self._most = _far_enough(hops), extent, MAX_DRAWN
        self._nodes: dict[str, None] = {}
        self._without: frozenset[tuple[str, str]] = frozenset()
        self._columns, self._names = DrawnColumns(), ColumnChoices()
        self._back: list[str] = []
        self._drawing: DrawnGraph | None = None

    @property
    def root(self) -> str:
        """Return the URN of the root."""
        with self._lock:
            return self._lineage.root

    @property
    def drawing(self) -> DrawnGraph | None:
        """Return the last drawing."""
        return self._drawing

    @property
    def reach(self) -> "tuple[int, Extent]":
        """Return the number of hops and the direction drawn."""
        with self._lock:
            return self._hops, self._extent

    @property
    def tables(self) -> "nx.DiGraph":
        """Return the graph between the boxes, as it was drawn last."""
        with self._lock:
            return self._drawing.graph if self._drawing else self._lineage.graph

    def copy(self) -> "nx.DiGraph":
        """Return a copy of everything read so far."""
        with self._lock:
            return self._lineage.graph.copy()

    def name(self, urn: str) -> str:
        """Return the name of an entity for messages."""
        with self._lock:
            attributes = self._lineage.graph.nodes.get(urn) or identity(urn)
        return label(urn, attributes, _SHORT)

    def has_neighbours(self, urn: str, *sides: Flow) -> bool:
        """Return whether all neighbours of an entity on these sides were read."""
        with self._lock:
            return all(self._lineage.has_neighbours(urn, side) for side in sides)

    def has_node(self, urn: str) -> bool:
        """Return whether an entity was read."""
        with self._lock:
            return urn in self._lineage.graph

    def span(self) -> int:
        """Return the number of hops between the ends of the graph read."""
        with self._lock:
            hops = [abs(far) for _, far in self._lineage.graph.nodes.data("hops") if far]
        return min(2 * max(hops, default=1) + 1, MOST_HOPS)

    def set_reach(self, hops: int | None, extent: "Extent | None") -> None:
        """Set the number of hops or the direction for the next drawing."""
        with self._lock:
            self._hops = self._hops if hops is None else _far_enough(hops)
            self._extent = extent or self._extent

    def leave(self, urn: str) -> None:
        """Remember the present root before another one is set."""
        with self._lock:
            if urn != self._lineage.root:
                self._back.append(self._lineage.root)

    def returning(self) -> str | None:
        """Return the previous root, and remove it from the list."""
        with self._lock:
            return self._back.pop() if self._back else None

    def take(self, graph: "nx.DiGraph", root: str, extent: "Extent", hops: int) -> None:
        """Replace the root by that of a graph that was read up to `hops`."""
        with self._lock:
            self._lineage.absorb(graph, extent, hops)
            self._hold(root)
            self._lineage.turn_to(root)
            self._columns, self._names = DrawnColumns(), ColumnChoices()
            self._most = MAX_DRAWN
            self._nodes = first(self._lineage.graph, self._extent, self._hops, self._most)
            if self._drawing and root not in self._drawing.graph:
                self._drawing = None

    def add(self, neighbours: "nx.DiGraph", extent: "Extent") -> None:
        """Add the neighbours of one entity."""
        with self._lock:
            self._lineage.absorb(neighbours, extent, 1)

    def unfold(self, node: str, side: Flow) -> str:
        """Draw the neighbours of an entity on one side. Return a sentence if there is no room for
        all."""
        with self._lock:
            graph = self._lineage.graph
            more = nodes_to_unfold(graph, self._nodes, node, side, self._most)
            hidden_count = count_hidden(graph, self._nodes, node, side)
            self._nodes.update(dict.fromkeys(more))
            if hidden_count == len(more) or len(self._nodes) < self._most:
                return ""
            return f"{self._most:,} are drawn; “Show more” draws more"

    def fold(self, node: str, side: Flow) -> set[str]:
        """Hide the nodes that depend on an entity on one side, and return them."""
        with self._lock:
            folded_nodes = nodes_to_fold(self._lineage.graph, self._nodes, node, side)
            self._nodes = {node: None for node in self._nodes if node not in folded_nodes}
            return folded_nodes

    def widen(self) -> None:
        """Raise the limit, and draw more of what was read, nearest first."""
        with self._lock:
            self._most += MAX_DRAWN
            graph = self._lineage.graph
            wider = first(graph, self._extent, self._hops, self._most)
            room = max(self._most - len(self._nodes), 0)
            new = [node for node in wider if node not in self._nodes]
            farther = [node for node in graph if node not in self._nodes and node not in wider]
            self._nodes.update(dict.fromkeys([*new, *farther][:room]))

    def narrow(self, without: Mapping[str, "list[str]"]) -> None:
        """Leave out entities by `type` and `platform`."""
        with self._lock:
            self._without = frozenset(
                (name, word) for name in ("type", "platform") for word in without.get(name, ())
            )

    def follow(self, columns: DrawnColumns) -> bool:
        """Draw column lineage; return whether there is any between the drawn entities."""
        with self._lock:
            self._columns = columns
            return bool(columns.links(self._nodes))

    def offer(self, names: ColumnChoices) -> None:
        """Offer the columns of a dataset, to choose one from."""
        with self._lock:
            self._names = names

    def bare(self) -> "nx.DiGraph":
        """Return the drawn nodes of which only the URN is known, as a graph."""
        with self._lock:
            return self._lineage.graph.subgraph(self._lineage.without_details(self._nodes)).copy()

    def describe(self, details: "nx.DiGraph") -> None:
        """Add names and states that were read."""
        with self._lock:
            for node, attributes in details.nodes(data=True):
                # How far it is may have changed meanwhile.
                attributes.pop("hops", None)
                self._lineage.graph.nodes[node].update(attributes)
            self._lineage.detailed.update(details)

    def know(self, nodes: "list[str]") -> None:
        """Record that names and states of these need not be read."""
        with self._lock:
            self._lineage.detailed.update(nodes)

    def lay_out(self) -> tuple[str, dict[str, Any]]:
        """Lay out the view; return a sentence on it, and the state for the page."""
        with self._lock:
            self._hold(self._lineage.root)
        lineage = ShownLineage(self._nodes, self._without, self._columns)
        before = self._drawing
        # Only the drawing thread changes the graph, so it is read here without the lock.
        drawing = draw(self._lineage, lineage, before.layout if before else None)
        with self._lock:
            self._drawing = drawing
            node_count = len(self._lineage.graph)
            page_state = {
                **drawing.page_state,
                "hops": self._hops,
                "direction": self._extent,
                "more": len(self._nodes) >= self._most and node_count > len(self._nodes),
                "back": bool(self._back),
                "about": self._columns.about,
                "names": {
                    "urn": self._names.urn,
                    "columns": [line(path, _LONG) for path in self._names.paths],
                },
            }
            return self._sentence(len(drawing.graph), node_count), page_state

    def _sentence(self, drawn_count: int, known_count: int) -> str:
        far = hop_count(self._hops)
        parts = [self.name(self._lineage.root)]
        parts += [f"{side.lower()} {far}" for side in SIDES if self._extent in ("BOTH", side)]
        parts.append(
            f"all {drawn_count:,} shown"
            if drawn_count == known_count
            else f"{drawn_count:,} of {known_count:,} shown"
        )
        cut = self._lineage.graph.graph["truncated"]
        parts += [f"cut: {line(cut)}"] if cut else []
        return " · ".join(parts)

    def _hold(self, root: str) -> None:
        """Ensure that the root is in the graph, even if nothing was read of it."""
        if root not in self._lineage.graph:
            self._lineage.graph.add_node(root, **identity(root), hops=0)


def _far_enough(hops: int) -> int:
    if 1 <= hops <= MOST_HOPS:
        return hops
    raise InvalidInput(f"hops must be from 1 to {MOST_HOPS}, not {hops}")
