"""Graphs as pictures: Graphviz DOT, Mermaid and SVG, and the labels of their nodes."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from math import fsum
from typing import TYPE_CHECKING, Any, Literal
from unicodedata import east_asian_width

from explorer.client.display import line
from explorer.graph.layout import Box, Point, Size, Spacing, lay_out_pairs
from explorer.graph.nodes import check_directed, distinguish_names, kind_and_platform

if TYPE_CHECKING:
    import networkx as nx

State = Literal["plain", "removed", "ghost"]

_NO_CHARACTER = re.compile("[\ud800-\udfff\ufffe\uffff]")


@dataclass(frozen=True, slots=True)
class PictureContent:
    """The nodes and edges of a picture, in the graph's order, and a sentence on what is missing.

    Nodes of the same name get distinguishing names. Equal parallel edges are merged.
    """

    nodes: list[tuple[str, Mapping[str, Any]]]
    edges: list[tuple[str, str, bool]]
    cut: str


def choose(
    graph: "nx.DiGraph | nx.MultiDiGraph", most_nodes: int, most_edges: int
) -> PictureContent:
    """Return the first nodes and the first edges between them, with whether each edge is a
    guess."""
    check_directed(graph)
    nodes = list(distinguish_names(graph.nodes(data=True)).items())
    first_nodes = {node for node, _ in nodes[:most_nodes]}
    edges = dict.fromkeys(
        (source, target, attributes.get("guess") is True)
        for source, target, attributes in graph.edges(data=True)
    )
    inside = [edge for edge in edges if edge[0] in first_nodes and edge[1] in first_nodes]
    cut = ""
    if len(nodes) > most_nodes or len(inside) > most_edges:
        cut = (
            f"cut: {min(most_nodes, len(nodes)):,} of {len(nodes):,} nodes and "
            f"{min(most_edges, len(inside)):,} of {len(edges):,} edges are shown"
        )
    return PictureContent(nodes[:most_nodes], inside[:most_edges], cut)


def label(node: str, attributes: Mapping[str, Any], limit: int) -> str:
    """Return the display name of a node, else its URN; never empty."""
    name = attributes.get("name")
    short_name = line(name, limit) if isinstance(name, str) else ""
    text = short_name or line(str(node), limit) or "unnamed"
    # Unpaired surrogates cannot be encoded, and U+FFFE and U+FFFF are not allowed in SVG.
    return _NO_CHARACTER.sub("\N{REPLACEMENT CHARACTER}", text)


def state(attributes: Mapping[str, Any]) -> State:
    """Return whether a node is soft-deleted (`removed`) or only referenced by others (`ghost`)."""
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
    """Return the graph as Graphviz DOT, from left to right, with names as labels and URNs as
    tooltips.

    Names are escaped, so that none is read as an escape, an entity or an HTML-like label.
    Soft-deleted nodes are dashed, nodes that are only referenced and guessed edges are dotted. A
    comment says what was left out. networkx writes DOT only with pydot or pygraphviz, which is a
    further dependency or a build against Graphviz, and labels would still have to be escaped here.
    """
    picture = choose(graph, most_nodes, most_edges)
    ids = {node: f"n{at}" for at, (node, _) in enumerate(picture.nodes)}
    lines = ["digraph lineage {"]
    if picture.cut:
        lines.append(f"  // {picture.cut}")
    lines.append('  graph [rankdir=LR, charset="UTF-8"];')
    lines.append("  node [shape=box];")
    for node, attributes in picture.nodes:
        name = _quote(label(node, attributes, _DOT_LABEL))
        urn = _quote(label(node, {}, _TOOLTIP))
        style = _DOT_STYLES[state(attributes)]
        lines.append(f"  {ids[node]} [label={name}, tooltip={urn}{style}];")
    for source, target, guess in picture.edges:
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
    """Return the graph as a Mermaid flow chart, from left to right, of its first nodes.

    Nodes show names, not URNs, with markup escaped. Soft-deleted nodes have the class `removed`,
    nodes that are only referenced `ghost`; guessed edges are dotted. A comment says what was left
    out. The default limits are those up to which Mermaid draws without being configured.
    """
    picture = choose(graph, most_nodes, most_edges)
    ids = {node: f"n{at}" for at, (node, _) in enumerate(picture.nodes)}
    lines = ["flowchart LR"]
    if picture.cut:
        lines.append(f"  %% {picture.cut}")
    used_types = set()
    for node, attributes in picture.nodes:
        opening, closing = _SHAPES.get(str(attributes.get("type")), ("[", "]"))
        text = _escape(label(node, attributes, _MERMAID_LABEL))
        kind = state(attributes)
        if kind != "plain":
            used_types.add(kind)
        mark = "" if kind == "plain" else f":::{kind}"
        lines.append(f'  {ids[node]}{opening}"{text}"{closing}{mark}')
    lines += [
        f"  {ids[source]} {'-.->' if guess else '-->'} {ids[target]}"
        for source, target, guess in picture.edges
    ]
    lines += [f"  classDef {kind} {_MERMAID_STYLES[kind]}" for kind in sorted(used_types)]
    return "\n".join(lines) + "\n"


def _escape(text: str) -> str:
    """Return the text with all but letters, digits and a few marks as numeric Mermaid entities."""
    return "".join(char if char.isalnum() or char in _PLAIN else f"#{ord(char)};" for char in text)


COLOURS: Mapping[str, str] = {
    "dataset": "#0072B2",
    "dataJob": "#D55E00",
    "dataFlow": "#E69F00",
    "chart": "#009E73",
    "dashboard": "#CC79A7",
}
"""The colour of each entity type, from the palette of Okabe and Ito for colour-blind readers.

Other types are grey. A box also shows its type in words.
"""

_OTHER = "#56646F"
_NAME_LIMIT = 30
_HEIGHT = 40.0
_NARROWEST, _WIDEST = 96.0, 330.0
_ROOM = Spacing(layer=44, node=14, edge=10)
_MARGIN = 8.0
# The font sizes of a box's two lines in front ends, in pixels; those in a picture are smaller.
_NAME_SIZE, _FACTS_SIZE = 12.5, 10.5
# The widths of letters in DejaVu Sans Bold, relative to the font size. It is the widest of the
# fonts used, so that text in any other fits. Its regular letters are a tenth narrower.
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
    most_nodes: int = 60,
    most_edges: int = 400,
) -> str:
    """Return the graph as the text of an SVG picture; see `draw_picture`."""
    return draw_picture(graph, most_nodes=most_nodes, most_edges=most_edges).svg


@dataclass(frozen=True, slots=True)
class SvgPicture:
    """A picture of a graph, its size in pixels, the middle of each box in it, by URN, and what was
    left out, in words."""

    svg: str
    width: float
    height: float
    middles: Mapping[str, Point]
    cut: str


def draw_picture(
    graph: "nx.DiGraph | nx.MultiDiGraph",
    *,
    most_nodes: int = 60,
    most_edges: int = 400,
) -> SvgPicture:
    """Return an SVG picture of the nodes nearest to the root, with data flowing to the right.

    A box has a node's name, its type and its platform; the graph's root has a thick frame,
    soft-deleted nodes are struck through, nodes that are only referenced have a dashed
    frame, guessed edges are dashed. A line below says what was left out. Boxes
    have their own background, so that the picture works on light and dark pages. The result is one
    `<svg>` element without scripts, external references or style sheets.
    """
    chosen = _choose(graph, most_nodes, most_edges)
    sizes = {urn: box_size(urn, attributes) for urn, attributes in chosen.nodes}
    drawing = lay_out_pairs(
        sizes, [(source, target) for source, target, _ in chosen.edges], spacing=_ROOM
    )
    root = graph.graph.get("root")
    width = max(drawing.width, 7 * len(chosen.cut)) + 2 * _MARGIN
    height = drawing.height + 2 * _MARGIN + (20 if chosen.cut else 0)
    guesses = {(source, target): guess for source, target, guess in chosen.edges}
    pieces = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="{-_MARGIN:g} {-_MARGIN:g} {width:.0f} {height:.0f}" '
        f'font-family="{_FONT}" font-size="12">',
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7.5" refY="4" markerWidth="8" '
        'markerHeight="8" orient="auto" markerUnits="userSpaceOnUse">'
        '<path d="M0 0.8L8 4L0 7.2z" fill="#8A949C"/></marker></defs>',
    ]
    for route in drawing.routes:
        pair = (route.source, route.target)
        if pair in guesses:
            dashes = ' stroke-dasharray="4 4"' if guesses[pair] else ""
            pieces.append(
                f'<path d="{curve(route.points)}" fill="none" stroke="#8A949C" '
                f'stroke-width="1.3" marker-end="url(#tip)"{dashes}/>'
            )
    pieces += [
        _draw_box(drawing.positions[urn], urn, attributes, urn == root)
        for urn, attributes in chosen.nodes
    ]
    if chosen.cut:
        pieces.append(
            f'<text x="0" y="{drawing.height + 18:.0f}" fill="#808080">{chosen.cut}</text>'
        )
    middles = {
        urn: (_MARGIN + box.x + box.width / 2, _MARGIN + box.y + box.height / 2)
        for urn, box in drawing.positions.items()
    }
    return SvgPicture("".join((*pieces, "</svg>")), width, height, middles, chosen.cut)


def box_size(urn: str, attributes: Mapping[str, Any]) -> Size:
    """Return the size of a node's box in pixels, from its text."""
    name, below = _words(urn, attributes)
    wide = max(text_width(name, _NAME_SIZE), _REGULAR * text_width(below, _FACTS_SIZE)) + 24
    return (min(max(wide, _NARROWEST), _WIDEST), _HEIGHT)


def text_width(text: str, size: float) -> float:
    """Return the maximum width of bold text of this size in pixels, in any of the fonts used."""
    each = (
        1.8 * _LETTER
        if east_asian_width(char) in "WF"
        else _LETTERS.get(char, _CAPITAL if char.isupper() else _LETTER)
        for char in text
    )
    # `sum` rounds otherwise from Python 3.12 on, and pictures of all versions are the same.
    return size * fsum(each)


def nearest(graph: "nx.DiGraph | nx.MultiDiGraph") -> list[str]:
    """Return the nodes by their distance from the root, else in the graph's order."""
    return sorted(graph.nodes, key=lambda urn: abs(graph.nodes[urn].get("hops") or 0))


def _choose(
    graph: "nx.DiGraph | nx.MultiDiGraph", most_nodes: int, most_edges: int
) -> PictureContent:
    every = choose(graph, len(graph), graph.number_of_edges())
    urns = nearest(graph)[:most_nodes]
    inside = set(urns)
    edges = [edge for edge in every.edges if edge[0] in inside and edge[1] in inside]
    cut = ""
    if len(urns) < len(graph):
        cut = f"{len(urns):,} of {len(graph):,} are drawn, the nearest"
    elif len(edges) > most_edges:
        cut = f"{most_edges:,} of {len(edges):,} edges are drawn"
    attributes_by_urn = dict(every.nodes)
    nodes = [(urn, attributes_by_urn[urn]) for urn in urns]
    return PictureContent(nodes, edges[:most_edges], cut)


def shorten_name(name: str) -> str:
    """Return a name that fits a box. Of a dotted name, the end is kept, which says more."""
    return name if len(name) <= _NAME_LIMIT else "…" + name[1 - _NAME_LIMIT :]


def colour(attributes: Mapping[str, Any]) -> str:
    """Return the colour of a node's type."""
    return COLOURS.get(str(attributes.get("type")), _OTHER)


def _words(urn: str, attributes: Mapping[str, Any]) -> tuple[str, str]:
    facts = list(filter(None, kind_and_platform(attributes)))
    if state(attributes) != "plain":
        facts.append("removed" if state(attributes) == "removed" else "only named by others")
    elif attributes.get("deprecated") is True:
        facts.append("deprecated")
    return shorten_name(label(urn, attributes, 400)), " · ".join(facts)


def _draw_box(box: Box, urn: str, attributes: Mapping[str, Any], is_root: bool) -> str:
    name, below = _words(urn, attributes)
    kind = state(attributes)
    tint = colour(attributes)
    frame = "#1B1F23" if is_root else tint
    thick = "2.5" if is_root else "1.2"
    dashes = ' stroke-dasharray="4 3"' if kind == "ghost" else ""
    struck = ' text-decoration="line-through"' if kind == "removed" else ""
    room = box.width - 20
    fit_name = _fit(text_width(name, 12), room)
    fit_below = _fit(_REGULAR * text_width(below, 10), room)
    return (
        f'<g transform="translate({box.x:.1f} {box.y:.1f})">'
        f"<title>{_escape_xml(line(urn))}</title>"
        f'<rect width="{box.width:.1f}" height="{box.height:.1f}" rx="5" fill="#FBFCFD" '
        f'stroke="{frame}" stroke-width="{thick}"{dashes}/>'
        f'<rect x="1.5" y="5" width="4" height="{box.height - 10:.1f}" rx="2" fill="{tint}"/>'
        f'<text x="12" y="17" font-weight="600" fill="#1B1F23"{struck}{fit_name}>'
        f"{_escape_xml(name)}</text>"
        f'<text x="12" y="32" font-size="10" fill="#56646F"{fit_below}>'
        f"{_escape_xml(below)}</text></g>"
    )


def _escape_xml(text: str) -> str:
    """Escape text for XML, replacing characters that XML cannot represent."""
    sound = text.encode(errors="replace").decode()
    return escape(sound.replace("\ufffe", "\ufffd").replace("\uffff", "\ufffd"))


def _fit(wide: float, room: float) -> str:
    """Return SVG attributes that make text fit into its box in any font; empty if it fits
    already."""
    return f' textLength="{room:.0f}" lengthAdjust="spacingAndGlyphs"' if wide > room else ""


def curve(points: Sequence[Point], tip: float = 0) -> str:
    """Return the path through the points, curved between layers, with an open arrow head of the
    size `tip`."""
    (x, y), *rest = points
    commands = [f"M{x:.1f} {y:.1f}"]
    back = -tip
    for to_x, to_y in rest:
        if to_y == y:
            commands.append(f"H{to_x:.1f}")
        elif to_x == x:
            commands.append(f"V{to_y:.1f}")
        else:
            middle = (x + to_x) / 2
            commands.append(f"C{middle:.1f} {y:.1f} {middle:.1f} {to_y:.1f} {to_x:.1f} {to_y:.1f}")
        back = back if to_x == x else tip if to_x < x else -tip
        x, y = to_x, to_y
    if tip:
        commands.append(
            f"M{x + back:.1f} {y - 3.5:.1f}L{x:.1f} {y:.1f}L{x + back:.1f} {y + 3.5:.1f}"
        )
    return "".join(commands)
