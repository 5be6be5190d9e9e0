"""Graphs in the language of Graphviz."""

from typing import TYPE_CHECKING

from explorer.graph.export.labels import choose, label, state

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["to_dot"]

_LABEL = 200
_TOOLTIP = 2_000
_STYLES = {
    "plain": "",
    "removed": ', style=dashed, color="#888888", fontcolor="#888888"',
    "ghost": ", style=dotted",
}


def to_dot(
    graph: "nx.DiGraph | nx.MultiDiGraph", *, most_nodes: int = 5_000, most_edges: int = 20_000
) -> str:
    """The graph from left to right, names on its nodes and URNs as their tooltips.

    Both are shown as they are, whatever is in them: no escape, entity or HTML-like label of
    Graphviz is taken for one. Soft-deleted nodes are dashed, nodes only named by others and guessed
    edges are dotted. What was left out is said in a comment.
    """
    shown = choose(graph, most_nodes, most_edges)
    ids = {node: f"n{at}" for at, (node, _) in enumerate(shown.nodes)}
    lines = ["digraph lineage {"]
    if shown.cut:
        lines.append(f"  // {shown.cut}")
    lines.append('  graph [rankdir=LR, charset="UTF-8"];')
    lines.append("  node [shape=box];")
    for node, attributes in shown.nodes:
        name = _quote(label(node, attributes, _LABEL))
        urn = _quote(label(node, {}, _TOOLTIP))
        style = _STYLES[state(attributes)]
        lines.append(f"  {ids[node]} [label={name}, tooltip={urn}{style}];")
    for source, target, guess in shown.edges:
        style = " [style=dotted]" if guess else ""
        lines.append(f"  {ids[source]} -> {ids[target]}{style};")
    lines.append("}")
    return "\n".join(lines) + "\n"


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;")
    return f'"{escaped}"'
