"""Graphs as pictures: Graphviz DOT, Mermaid and SVG, with the labels of their nodes."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, Literal
from unicodedata import east_asian_width

from explorer.client.display import line
from explorer.graph.layout import Box, Layout, Point, Size, Spacing, lay_out_pairs
from explorer.graph.nodes import check_directed, named_apart
from explorer.metadata.names import singular

if TYPE_CHECKING:
    import networkx as nx

__all__ = [
    "COLOURS",
    "PictureContent",
    "State",
    "box_size",
    "label",
    "nearest",
    "state",
    "text_width",
    "to_dot",
    "to_mermaid",
    "to_svg",
]

State = Literal["plain", "removed", "ghost"]

_NO_CHARACTER = re.compile("[\ud800-\udfff\ufffe\uffff]")


@dataclass(frozen=True, slots=True)
class PictureContent:
    """The nodes and edges of a picture, in the graph's order, and a sentence on what is missing.

    Nodes of one name are told apart in it. Parallel edges that say the same are one.
    """

    nodes: list[tuple[str, Mapping[str, Any]]]
    edges: list[tuple[str, str, bool]]
    cut: str


def choose(
    graph: "nx.DiGraph | nx.MultiDiGraph", most_nodes: int, most_edges: int
) -> PictureContent:
    """Return the first nodes and the first edges between them; of an edge whether it is only
    guessed."""
    check_directed(graph)
    nodes = list(named_apart(graph.nodes(data=True)).items())
    kept = {node for node, _ in nodes[:most_nodes]}
    edges = dict.fromkeys(
        (source, target, attributes.get("guess") is True)
        for source, target, attributes in graph.edges(data=True)
    )
    inside = [edge for edge in edges if edge[0] in kept and edge[1] in kept]
    cut = ""
    if len(nodes) > most_nodes or len(inside) > most_edges:
        cut = (
            f"cut: {min(most_nodes, len(nodes)):,} of {len(nodes):,} nodes and "
            f"{min(most_edges, len(inside)):,} of {len(edges):,} edges are shown"
        )
    return PictureContent(nodes[:most_nodes], inside[:most_edges], cut)


def label(node: str, attributes: Mapping[str, Any], limit: int) -> str:
    """Return the name of a node as it is shown, else its URN; never empty."""
    name = attributes.get("name")
    shown = line(name, limit) if isinstance(name, str) else ""
    text = shown or line(str(node), limit) or "unnamed"
    # Half characters cannot be written at all, nor these two in SVG; a mark stands for each.
    return _NO_CHARACTER.sub("\N{REPLACEMENT CHARACTER}", text)


def state(attributes: Mapping[str, Any]) -> State:
    """Return whether a node was soft-deleted, or is only named by others."""
    if attributes.get("removed") is True:
        return "removed"
    return "ghost" if attributes.get("exists") is False else "plain"


_DOT_LABEL = 200
_TOOLTIP = 2_000
_DOT_STYLES = {
    "plain": "",
    "removed": ', style=dashed, color="#888888", fontcolor="#888888"',
    "ghost": ", style=dotted",
}


def to_dot(
    graph: "nx.DiGraph | nx.MultiDiGraph", *, most_nodes: int = 5_000, most_edges: int = 20_000
) -> str:
    """Return the graph as Graphviz DOT, from left to right, names on its nodes and URNs as their
    tooltips.

    No name is read as an escape, an entity or an HTML-like label of Graphviz. Soft-deleted nodes
    are dashed, nodes only named by others and guessed edges are dotted. A comment says what was
    left out. This is written here rather than by networkx, which writes DOT only with pydot or
    pygraphviz installed: another dependency, or a build against Graphviz, in place of a line for
    each node and edge, whose labels would have to be escaped here all the same.
    """
    shown = choose(graph, most_nodes, most_edges)
    ids = {node: f"n{at}" for at, (node, _) in enumerate(shown.nodes)}
    lines = ["digraph lineage {"]
    if shown.cut:
        lines.append(f"  // {shown.cut}")
    lines.append('  graph [rankdir=LR, charset="UTF-8"];')
    lines.append("  node [shape=box];")
    for node, attributes in shown.nodes:
        name = _quote(label(node, attributes, _DOT_LABEL))
        urn = _quote(label(node, {}, _TOOLTIP))
        style = _DOT_STYLES[state(attributes)]
        lines.append(f"  {ids[node]} [label={name}, tooltip={urn}{style}];")
    for source, target, guess in shown.edges:
        style = " [style=dotted]" if guess else ""
        lines.append(f"  {ids[source]} -> {ids[target]}{style};")
    lines.append("}")
    return "\n".join(lines) + "\n"


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;")
    return f'"{escaped}"'


_MERMAID_LABEL = 60
_PLAIN = frozenset(" _.,-/")
_SHAPES = {
    "dashboard": ("([", "])"),
    "chart": ("(", ")"),
    "dataJob": ("[[", "]]"),
    "dataFlow": ("[[", "]]"),
}
_MERMAID_STYLES = {
    "removed": "stroke-dasharray:4 3,opacity:0.6,color:#888888",
    "ghost": "stroke-dasharray:1 3,fill:none",
}


def to_mermaid(
    graph: "nx.DiGraph | nx.MultiDiGraph", *, most_nodes: int = 150, most_edges: int = 400
) -> str:
    """Return a flow chart from left to right, of the graph's first nodes.

    Names are shown, never URNs; no character of one is markup. Soft-deleted nodes and those that
    are only named by others have classes, `removed` and `ghost`; guessed edges are dotted. What
    was left out is said in a comment. The limits are what Mermaid draws without being told to.
    """
    shown = choose(graph, most_nodes, most_edges)
    ids = {node: f"n{at}" for at, (node, _) in enumerate(shown.nodes)}
    lines = ["flowchart LR"]
    if shown.cut:
        lines.append(f"  %% {shown.cut}")
    used = set()
    for node, attributes in shown.nodes:
        opening, closing = _SHAPES.get(str(attributes.get("type")), ("[", "]"))
        text = _escape(label(node, attributes, _MERMAID_LABEL))
        kind = state(attributes)
        if kind != "plain":
            used.add(kind)
        mark = "" if kind == "plain" else f":::{kind}"
        lines.append(f'  {ids[node]}{opening}"{text}"{closing}{mark}')
    lines += [
        f"  {ids[source]} {'-.->' if guess else '-->'} {ids[target]}"
        for source, target, guess in shown.edges
    ]
    lines += [f"  classDef {kind} {_MERMAID_STYLES[kind]}" for kind in sorted(used)]
    return "\n".join(lines) + "\n"


def _escape(text: str) -> str:
    """Return everything but letters, digits and a few marks as a numbered character of Mermaid."""
    return "".join(char if char.isalnum() or char in _PLAIN else f"#{ord(char)};" for char in text)


COLOURS: Mapping[str, str] = {
    "dataset": "#0072B2",
    "dataJob": "#D55E00",
    "dataFlow": "#E69F00",
    "chart": "#009E73",
    "dashboard": "#CC79A7",
}
"""The colour of each entity type, of those that Okabe and Ito found told apart by everybody; any
other type is grey. A box says its type in words as well."""

_OTHER = "#56646F"
_NAME_LIMIT = 30
_HEIGHT = 40.0
_NARROWEST, _WIDEST = 96.0, 330.0
_ROOM = Spacing(layer=44, node=14, edge=10)
_MARGIN = 8.0
# The sizes in pixels of a box's two lines, as a front end may write them; a picture's are smaller.
_NAME_SIZE, _FACTS_SIZE = 12.5, 10.5
# How wide letters are in DejaVu Sans Bold, in parts of the font's size: of the fonts named below
# the widest, so that any other has room left. Its regular letters are a tenth narrower.
_LETTERS = {
    **dict.fromkeys("ijlI'|./\\,:; J", 0.4),
    **dict.fromkeys('ftr-!()[]_`"', 0.5),
    **dict.fromkeys("acesvxyzkEFLT?*", 0.68),
    **dict.fromkeys("ABCDGHKNOPQRSUVXYZ#&+<=>^~", 0.84),
    **dict.fromkeys("mMwW%@…", 1.04),
}
_LETTER, _CAPITAL, _REGULAR = 0.72, 0.9, 0.9
_FONT = "system-ui,-apple-system,'Segoe UI','DejaVu Sans',sans-serif"


def to_svg(
    graph: "nx.DiGraph | nx.MultiDiGraph",
    *,
    focus: str | None = None,
    most_nodes: int = 60,
    most_edges: int = 400,
    layout: Layout[str] | None = None,
) -> str:
    """Return a picture of the nodes nearest to the root, data flowing to the right.

    A box holds a node's name, its type and platform in words; `focus` (the graph's root unless
    given) has a thick frame, what was soft-deleted is struck through, what is only named by others
    has a dashed frame, guessed edges are dashed. What was left out is said below the boxes. With
    the `layout` of a front end (boxes by URN, made with `box_size`) its places are kept and only
    its nodes drawn. Colours are the same in light and in dark: boxes bring their own ground.

    The text is one `<svg>` with no script, no reference to anything outside, and no style sheet.
    """
    chosen = _choose(graph, most_nodes, most_edges, layout)
    sizes = {urn: box_size(urn, attributes) for urn, attributes in chosen.nodes}
    drawn = layout or lay_out_pairs(
        sizes, [(source, target) for source, target, _ in chosen.edges], spacing=_ROOM
    )
    root = focus or graph.graph.get("root")
    width = max(drawn.width, 7 * len(chosen.cut)) + 2 * _MARGIN
    height = drawn.height + 2 * _MARGIN + (20 if chosen.cut else 0)
    guesses = {(source, target): guess for source, target, guess in chosen.edges}
    pieces = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="{-_MARGIN:g} {-_MARGIN:g} {width:.0f} {height:.0f}" '
        f'font-family="{_FONT}" font-size="12">',
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7.5" refY="4" markerWidth="8" '
        'markerHeight="8" orient="auto" markerUnits="userSpaceOnUse">'
        '<path d="M0 0.8L8 4L0 7.2z" fill="#8A949C"/></marker></defs>',
    ]
    for route in drawn.routes:
        pair = (route.source, route.target)
        if pair in guesses:
            dashes = ' stroke-dasharray="4 4"' if guesses[pair] else ""
            pieces.append(
                f'<path d="{_curve(route.points)}" fill="none" stroke="#8A949C" '
                f'stroke-width="1.3" marker-end="url(#tip)"{dashes}/>'
            )
    pieces += [
        _boxed(drawn.positions[urn], urn, attributes, urn == root)
        for urn, attributes in chosen.nodes
        if urn in drawn.positions
    ]
    if chosen.cut:
        pieces.append(f'<text x="0" y="{drawn.height + 18:.0f}" fill="#808080">{chosen.cut}</text>')
    return "".join((*pieces, "</svg>"))


def box_size(urn: str, attributes: Mapping[str, Any]) -> Size:
    """Return how large the box of a node is, in pixels, by what is written in it."""
    name, below = _words(urn, attributes)
    wide = max(text_width(name, _NAME_SIZE), _REGULAR * text_width(below, _FACTS_SIZE)) + 24
    return (min(max(wide, _NARROWEST), _WIDEST), _HEIGHT)


def text_width(text: str, size: float) -> float:
    """Return how wide a bold text of this size in pixels is at most, in the fonts of a picture."""
    each = (
        1.8 * _LETTER
        if east_asian_width(char) in "WF"
        else _LETTERS.get(char, _CAPITAL if char.isupper() else _LETTER)
        for char in text
    )
    return size * sum(each)


def nearest(graph: "nx.DiGraph | nx.MultiDiGraph") -> list[str]:
    """Return the nodes by how far they are from the root, else in the graph's order."""
    return sorted(graph.nodes, key=lambda urn: abs(graph.nodes[urn].get("hops") or 0))


def _choose(
    graph: "nx.DiGraph | nx.MultiDiGraph",
    most_nodes: int,
    most_edges: int,
    layout: Layout[str] | None,
) -> PictureContent:
    every = choose(graph, len(graph), graph.number_of_edges())
    kept = [urn for urn in nearest(graph) if layout is None or urn in layout.positions]
    if layout is None:
        kept = kept[:most_nodes]
    inside = set(kept)
    edges = [edge for edge in every.edges if edge[0] in inside and edge[1] in inside]
    cut = ""
    if len(kept) < len(graph):
        cut = f"{len(kept):,} of {len(graph):,} are drawn, the nearest"
    elif len(edges) > most_edges:
        cut = f"{most_edges:,} of {len(edges):,} edges are drawn"
    named = dict(every.nodes)
    nodes = [(urn, named[urn]) for urn in kept]
    return PictureContent(nodes, edges if layout else edges[:most_edges], cut)


def _words(urn: str, attributes: Mapping[str, Any]) -> tuple[str, str]:
    name = label(urn, attributes, 400)
    if len(name) > _NAME_LIMIT:
        # The end of a dotted name tells more than its beginning.
        name = "…" + name[1 - _NAME_LIMIT :]
    kinds = (
        singular(str(attributes.get("kind") or attributes.get("type") or "")),
        attributes.get("platform"),
    )
    facts = [line(kind, _NAME_LIMIT) for kind in kinds if isinstance(kind, str) and kind]
    if state(attributes) != "plain":
        facts.append("removed" if state(attributes) == "removed" else "only named by others")
    elif attributes.get("deprecated") is True:
        facts.append("deprecated")
    return name, " · ".join(facts)


def _boxed(box: Box, urn: str, attributes: Mapping[str, Any], is_root: bool) -> str:
    name, below = _words(urn, attributes)
    kind = state(attributes)
    colour = COLOURS.get(str(attributes.get("type")), _OTHER)
    frame = "#1B1F23" if is_root else colour
    thick = "2.5" if is_root else "1.2"
    dashes = ' stroke-dasharray="4 3"' if kind == "ghost" else ""
    struck = ' text-decoration="line-through"' if kind == "removed" else ""
    room = box.width - 20
    fit_name = _fit(text_width(name, 12), room)
    fit_below = _fit(_REGULAR * text_width(below, 10), room)
    return (
        f'<g transform="translate({box.x:.1f} {box.y:.1f})">'
        f"<title>{_written(line(urn))}</title>"
        f'<rect width="{box.width:.1f}" height="{box.height:.1f}" rx="5" fill="#FBFCFD" '
        f'stroke="{frame}" stroke-width="{thick}"{dashes}/>'
        f'<rect x="1.5" y="5" width="4" height="{box.height - 10:.1f}" rx="2" fill="{colour}"/>'
        f'<text x="12" y="17" font-weight="600" fill="#1B1F23"{struck}{fit_name}>'
        f"{_written(name)}</text>"
        f'<text x="12" y="32" font-size="10" fill="#56646F"{fit_below}>'
        f"{_written(below)}</text></g>"
    )


def _written(text: str) -> str:
    """Text that XML takes: two characters are none of it, nor are halves of them."""
    sound = text.encode(errors="replace").decode()
    return escape(sound.replace("\ufffe", "\ufffd").replace("\uffff", "\ufffd"))


def _fit(wide: float, room: float) -> str:
    """Return the attributes that fit a text into its box, whatever the font; none where it fits."""
    return f' textLength="{room:.0f}" lengthAdjust="spacingAndGlyphs"' if wide > room else ""


def _curve(points: Sequence[Point]) -> str:
    """Return the line through the points, curved where it goes from layer to layer."""
    (x, y), *rest = points
    drawn = [f"M{x:.1f} {y:.1f}"]
    for to_x, to_y in rest:
        if to_y == y:
            drawn.append(f"H{to_x:.1f}")
        elif to_x == x:
            drawn.append(f"V{to_y:.1f}")
        else:
            middle = (x + to_x) / 2
            drawn.append(f"C{middle:.1f} {y:.1f} {middle:.1f} {to_y:.1f} {to_x:.1f} {to_y:.1f}")
        x, y = to_x, to_y
    return "".join(drawn)
