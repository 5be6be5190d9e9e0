"""What is drawn, laid out: boxes with their words and columns, and lines as paths of SVG."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from explorer.client.display import line
from explorer.graph.export.pictures import COLOURS, State, box_size, label, state, text_width
from explorer.graph.layout import Box, Layout, Point, Spacing, lay_out_pairs
from explorer.graph.selection import contracted
from explorer.metadata.names import singular
from explorer.notebook.safe_markdown import plain_markdown
from explorer.notebook.widgets.lineage.choosing import hidden
from explorer.notebook.widgets.lineage.columns import MOST_PORTS, Columns
from explorer.notebook.widgets.lineage.held import SIDES, Held, near

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["Drawing", "Shown", "draw", "facts", "words"]

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
class Shown:
    """What of an answer is looked at: the entities unfolded so far, the types and platforms that
    are switched off, and lineage of columns where it was asked for."""

    nodes: Collection[str]
    without: frozenset[tuple[str, str]] = frozenset()
    columns: Columns = field(default_factory=Columns)


@dataclass(frozen=True, slots=True)
class Drawing:
    """The graph that is drawn, its layout, and both as the page is told of them."""

    graph: "nx.DiGraph"
    layout: Layout[str]
    told: Mapping[str, Any]


def facts(said: Mapping[str, Any]) -> tuple[str, str]:
    """The type and the platform of a node, in words; both may be empty."""
    kind = singular(str(said.get("kind") or said.get("type") or ""))
    return line(kind, _NAME), line(str(said.get("platform") or ""), _NAME)


def words(said: Mapping[str, Any]) -> str:
    """What is written under a node's name."""
    deprecated = "deprecated" if said.get("deprecated") is True else ""
    told = (*facts(said), _STATES[state(said)], deprecated)
    return _sound(" · ".join(word for word in told if word))


def draw(held: Held, shown: Shown, previous: Layout[str] | None) -> Drawing:
    """Lay out what is looked at; what was drawn before stays in its order. Pure."""
    inside = held.graph.subgraph(node for node in shown.nodes if node in held.graph)
    passing = {node for node, said in inside.nodes(data=True) if _passes(said, shown.without)}
    graph = contracted(inside, passing | {held.root})
    ports = shown.columns.ports(graph.nodes)
    # In the order of reading, which the layout leans on.
    order = [node for node in shown.nodes if node in graph]
    sizes = {node: _size(node, graph.nodes[node], ports.get(node, ())) for node in order}
    layout = lay_out_pairs(sizes, graph.edges, spacing=_ROOM, previous=previous)
    boxes = [_box(held, shown, graph, node, layout.positions[node], ports) for node in order]
    lines = [
        {
            "s": route.source,
            "t": route.target,
            "d": _curve(route.points),
            "indirect": _indirect(graph.edges[route.source, route.target]),
        }
        for route in layout.routes
    ]
    told = {
        "root": held.root,
        "width": round(layout.width, 1),
        "height": round(layout.height, 1),
        "nodes": boxes,
        "edges": lines,
        "links": _links(shown.columns, graph, layout, ports),
        "types": _counted(inside, 0, shown.without, "type"),
        "platforms": _counted(inside, 1, shown.without, "platform"),
    }
    return Drawing(graph, layout, told)


def _passes(said: Mapping[str, Any], without: Collection[tuple[str, str]]) -> bool:
    kind, platform = facts(said)
    return ("type", kind) not in without and ("platform", platform) not in without


def _indirect(said: Mapping[str, Any]) -> bool:
    return bool(said.get("over") or said.get("guess"))


def _counted(
    graph: "nx.DiGraph", which: int, without: Collection[tuple[str, str]], name: str
) -> list[dict[str, Any]]:
    counts: dict[str, int] = {}
    for _, said in graph.nodes(data=True):
        word = facts(said)[which]
        if word:
            counts[word] = counts.get(word, 0) + 1
    return [
        {"name": word, "count": counts[word], "on": (name, word) not in without}
        for word in sorted(counts)
    ]


def _size(node: str, said: Mapping[str, Any], columns: Sequence[str]) -> tuple[float, float]:
    width, height = box_size(node, said)
    width += text_width(_SIGNS[state(said)], _NAME_SIZE)
    if not columns:
        return width, height
    rows = len(_rows(columns))
    return max(width, _WIDE), _PORT_TOP + rows * _PORT + 4


def _rows(columns: Sequence[str]) -> Sequence[str]:
    """The columns that have a row of their own; the last row says how many have none."""
    return columns if len(columns) <= MOST_PORTS else columns[:MOST_PORTS]


def _port(box: Box, columns: Sequence[str], column: str) -> float:
    """How far down the line of a column meets its box."""
    if not column or column not in columns:
        return box.y + min(box.height, 40) / 2
    at = min(columns.index(column), MOST_PORTS - 1)
    return box.y + _PORT_TOP + at * _PORT + _PORT / 2


def _box(
    held: Held,
    shown: Shown,
    graph: "nx.DiGraph",
    node: str,
    box: Box,
    ports: Mapping[str, Sequence[str]],
) -> dict[str, Any]:
    said = graph.nodes[node]
    whole = label(node, said, 400)
    name = whole if len(whole) <= _NAME else "…" + whole[1 - _NAME :]
    columns = ports.get(node, ())
    far = said.get("hops")
    drawn = shown.nodes
    told: dict[str, Any] = {
        "id": node,
        "name": name,
        "whole": whole,
        "entity": line(str(said.get("type") or "")),
        "state": state(said),
        "sign": _SIGNS[state(said)],
        "words": words(said),
        "far": "where it starts" if node == held.root else _far(far),
        "text": _sound(plain_markdown(said.get("description") or "", _TEXT)),
        "hops": far,
        "colour": COLOURS.get(str(said.get("type")), _OTHER),
        "x": round(box.x, 1),
        "y": round(box.y, 1),
        "w": round(box.width, 1),
        "h": round(box.height, 1),
        "ports": [_sound(line(column, _COLUMN)) for column in _rows(columns)],
    }
    if len(columns) > MOST_PORTS:
        told["ports"][-1] = f"+{len(columns) - MOST_PORTS + 1:,} more columns"
    for side, short in zip(SIDES, ("up", "down"), strict=True):
        # Folding leads away from the root.
        away = far is None or (far <= 0 if side == "UPSTREAM" else far >= 0)
        told[short] = {
            "hidden": hidden(held.graph, drawn, node, side),
            "open": away and any(one in drawn for one in near(held.graph, node, side)),
            "known": held.knows(node, side),
        }
    more = [f"{told[side]['hidden']:,} more {side}stream" for side in ("up", "down")]
    spoken = [whole, told["words"], told["far"], *(text for text in more if text[0] != "0")]
    told["spoken"] = ", ".join(part for part in spoken if part)
    return told


def _far(hops: int | None) -> str:
    if not hops:
        return ""
    way = "upstream" if hops < 0 else "downstream"
    return f"{abs(hops)} hop{'s' if abs(hops) != 1 else ''} {way}"


def _sound(text: str) -> str:
    """Without halves of characters, which no message can carry."""
    return text.encode(errors="replace").decode()


def _links(
    columns: Columns,
    graph: "nx.DiGraph",
    layout: Layout[str],
    ports: Mapping[str, Sequence[str]],
) -> list[dict[str, Any]]:
    routes = {(route.source, route.target): route.points for route in layout.routes}
    told: dict[tuple[str, str], dict[str, Any]] = {}
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
        told[path, str(link.guess)] = {
            "d": path,
            "guess": link.guess,
            "s": link.source,
            "t": link.target,
        }
    return list(told.values())


def _curve(points: Sequence[Point]) -> str:
    """The line through the points, curved from layer to layer, with an open tip at its end."""
    (x, y), *rest = points
    drawn = [f"M{x:.1f} {y:.1f}"]
    towards = 1.0
    for to_x, to_y in rest:
        if to_y == y or to_x == x:
            drawn.append(f"L{to_x:.1f} {to_y:.1f}")
        else:
            middle = (x + to_x) / 2
            drawn.append(f"C{middle:.1f} {y:.1f} {middle:.1f} {to_y:.1f} {to_x:.1f} {to_y:.1f}")
        if to_x != x:
            towards = 1.0 if to_x > x else -1.0
        x, y = to_x, to_y
    back = x - towards * _TIP
    drawn.append(f"M{back:.1f} {y - 3.5:.1f}L{x:.1f} {y:.1f}L{back:.1f} {y + 3.5:.1f}")
    return "".join(drawn)
