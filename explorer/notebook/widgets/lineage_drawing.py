"""The drawing of the lineage widget: the layout of the boxes, columns and lines of a lineage."""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from explorer.client.display import line
from explorer.client.records import Flow
from explorer.graph.layout import Box, Layout, Spacing, lay_out_pairs
from explorer.graph.nodes import kind_and_platform
from explorer.graph.pictures import State, box_size, colour, curve, label, shorten_name, text_width
from explorer.graph.pictures import state as state_of
from explorer.notebook.markup import plain_markdown
from explorer.sessions.lineage import LineageState
from explorer.views.lineage import (
    FACETS,
    SIDES,
    Neighbourhood,
    distance,
    near,
    states,
)

if TYPE_CHECKING:
    import networkx as nx

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


_ROOM = Spacing(layer=64, node=18, edge=10)
_COLUMN = 32
_TEXT = 280
_PORT_TOP, _PORT = 44.0, 18.0
_WIDE = 240.0
_NAME_SIZE = 12.5
_TIP = 5.0
# The sign before a name and the word below it say the same as the colour.
_SIGNS: Mapping[State, str] = {"plain": "", "removed": "✗ ", "ghost": "? "}
_LONG = 200


@dataclass(frozen=True, slots=True)
class DrawnLineage:
    """A layout of a lineage, a sentence on it, and both in the form for the page."""

    hood: Neighbourhood
    layout: Layout[str]
    sentence: str
    page_state: Mapping[str, Any]


def draw(
    state: LineageState, knows: Callable[[str, Flow], bool], previous: DrawnLineage | None
) -> DrawnLineage | None:
    """Return the drawing of a state, if there is anything to draw; nodes drawn before keep their
    order. `knows` says whether all neighbours of a node on a side were read."""
    hood, known, query = state.hood, state.full_graph, state.query
    if hood is None or known is None or query is None:
        return None
    graph, columns = hood.graph, DrawnColumns(state.columns)
    ports = columns.ports(graph.nodes)
    sizes = {node: _size(node, graph.nodes[node], ports.get(node, ())) for node in graph}
    before = previous.layout if previous and str(query.urn) in previous.hood.graph else None
    layout = lay_out_pairs(sizes, graph.edges, spacing=_ROOM, previous=before)
    root = str(graph.graph["root"])
    chosen = set(hood.chosen)
    page_state = {
        "root": root,
        "width": round(layout.width, 1),
        "height": round(layout.height, 1),
        "nodes": [
            _box(
                hood,
                node,
                layout.positions[node],
                ports.get(node, ()),
                {side: _side(known, hood, chosen, node, side, knows) for side in SIDES},
            )
            for node in graph
        ],
        "edges": [
            {
                "s": route.source,
                "t": route.target,
                "d": curve(route.points, tip=_TIP),
                "indirect": (route.source, route.target) in hood.indirect,
            }
            for route in layout.routes
        ],
        "links": _links(columns, graph, layout, ports),
        "hops": query.hops,
        "direction": query.extent,
        "more": state.has_more,
        "back": bool(state.back),
        "about": state.columns_of,
        "names": {
            "urn": state.choices.urn,
            "columns": [line(path, _LONG) for path in state.choices.paths],
        },
    }
    for at, facet in enumerate(FACETS):
        words = Counter(kind_and_platform(known.nodes[node])[at] for node in hood.chosen)
        page_state[f"{facet}s"] = [
            {"name": word, "count": words[word], "on": (facet, word) not in state.without}
            for word in sorted(words)
            if word
        ]
    cut = [f"cut: {line(state.truncated)}"] if state.truncated else []
    sentence = " · ".join((state.name_of(root), *state.extent, *cut))
    return DrawnLineage(hood, layout, sentence, page_state)


def _side(
    known: "nx.DiGraph",
    hood: Neighbourhood,
    chosen: Collection[str],
    node: str,
    side: Flow,
    knows: Callable[[str, Flow], bool],
) -> dict[str, Any]:
    """Return the data for the page on the neighbours of a node on one side."""
    far = known.nodes[node].get("hops")
    # Folding leads away from the root.
    leads_away = far is None or (far <= 0 if side == "UPSTREAM" else far >= 0)
    return {
        "hidden": hood.hidden(node, side),
        "open": leads_away and any(neighbour in chosen for neighbour in near(known, node, side)),
        "known": knows(node, side),
    }


def _size(node: str, attributes: Mapping[str, Any], columns: Sequence[str]) -> tuple[float, float]:
    width, height = box_size(node, attributes)
    width += text_width(_SIGNS[state_of(attributes)], _NAME_SIZE)
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
    hood: Neighbourhood,
    node: str,
    box: Box,
    columns: Sequence[str],
    sides: Mapping[Flow, Mapping[str, Any]],
) -> dict[str, Any]:
    attributes = hood.graph.nodes[node]
    full_name = label(node, attributes, 400)
    far, kind = attributes.get("hops"), state_of(attributes)
    words = _sound(" · ".join(filter(None, (*kind_and_platform(attributes), *states(attributes)))))
    distant = "the starting entity" if node == hood.graph.graph["root"] else distance(far)
    ports = [_sound(line(column, _COLUMN)) for column in _rows(columns)]
    if len(columns) > MOST_PORTS:
        ports[-1] = f"+{len(columns) - MOST_PORTS + 1:,} more columns"
    more = [f"{s['hidden']:,} more {side.lower()}" for side, s in sides.items() if s["hidden"]]
    return {
        "id": node,
        "name": shorten_name(full_name),
        "whole": full_name,
        "entity": line(str(attributes.get("type") or "")),
        "state": kind,
        "sign": _SIGNS[kind],
        "words": words,
        "far": distant,
        "text": _sound(plain_markdown(attributes.get("description") or "", _TEXT)),
        "hops": far,
        "colour": colour(attributes),
        "x": round(box.x, 1),
        "y": round(box.y, 1),
        "w": round(box.width, 1),
        "h": round(box.height, 1),
        "ports": ports,
        "up": sides["UPSTREAM"],
        "down": sides["DOWNSTREAM"],
        "spoken": ", ".join(filter(None, (full_name, words, distant, *more))),
    }


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
        # Around the boxes in between, along the line between the tables.
        bends = routes.get((link.source, link.target), ())[1:-1]
        path = curve((start, *bends, end), tip=_TIP)
        links[path, str(link.guess)] = {
            "d": path,
            "guess": link.guess,
            "s": link.source,
            "t": link.target,
        }
    return list(links.values())
