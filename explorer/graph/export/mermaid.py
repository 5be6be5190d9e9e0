"""Graphs as Mermaid flow charts, for wikis and README files."""

from typing import TYPE_CHECKING

from explorer.graph.export.labels import choose, label, state

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["to_mermaid"]

_LABEL = 60
_PLAIN = frozenset(" _.,-/")
_SHAPES = {
    "dashboard": ("([", "])"),
    "chart": ("(", ")"),
    "dataJob": ("[[", "]]"),
    "dataFlow": ("[[", "]]"),
}
_STYLES = {
    "removed": "stroke-dasharray:4 3,opacity:0.6,color:#888888",
    "ghost": "stroke-dasharray:1 3,fill:none",
}


def to_mermaid(
    graph: "nx.DiGraph | nx.MultiDiGraph", *, most_nodes: int = 150, most_edges: int = 400
) -> str:
    """A flow chart from left to right, of the graph's first nodes.

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
        text = _escape(label(node, attributes, _LABEL))
        kind = state(attributes)
        if kind != "plain":
            used.add(kind)
        mark = "" if kind == "plain" else f":::{kind}"
        lines.append(f'  {ids[node]}{opening}"{text}"{closing}{mark}')
    lines += [
        f"  {ids[source]} {'-.->' if guess else '-->'} {ids[target]}"
        for source, target, guess in shown.edges
    ]
    lines += [f"  classDef {kind} {_STYLES[kind]}" for kind in sorted(used)]
    return "\n".join(lines) + "\n"


def _escape(text: str) -> str:
    """Everything but letters, digits and a few marks as a numbered character of Mermaid."""
    return "".join(char if char.isalnum() or char in _PLAIN else f"#{ord(char)};" for char in text)
