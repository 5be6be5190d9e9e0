"""What a lineage widget is where it cannot live: a picture and an indented tree."""

import base64
from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING

from explorer.client.records import Flow
from explorer.graph.export.pictures import label, to_svg
from explorer.notebook.markup import AS_WRITTEN
from explorer.notebook.widgets.lineage.drawing import words
from explorer.notebook.widgets.lineage.held import near

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["as_html", "as_tree"]

_NAME = 60
_MOST_PICTURED = 60


def as_html(graph: "nx.DiGraph", said: str) -> str:
    """The lineage as a picture under a sentence, in elements that survive in any notebook."""
    root = graph.graph["root"]
    svg = to_svg(graph, most_nodes=_MOST_PICTURED)
    encoded = base64.b64encode(svg.encode()).decode()
    name = label(root, graph.nodes[root], _NAME)
    alternative = escape(f"Lineage of {name}: {', '.join(_listed(graph))}")
    return (
        f'<div class="{AS_WRITTEN}" style="color:inherit;background:transparent">'
        f'<div style="opacity:.75">{escape(said)}</div>'
        f'<img alt="{alternative}" style="max-width:100%;height:auto" '
        f'src="data:image/svg+xml;base64,{encoded}"/></div>'
    )


def as_tree(graph: "nx.DiGraph", said: str) -> str:
    """The lineage as text: what is upstream, then what is downstream, each entity once."""
    root = graph.graph["root"]
    rows = [said, _row(graph, root)]
    for side, title in (("UPSTREAM", "upstream"), ("DOWNSTREAM", "downstream")):
        below = list(_branch(graph, root, "UPSTREAM" if side == "UPSTREAM" else "DOWNSTREAM"))
        rows += [f"  {title}", *below] if below else [f"  {title}: nothing"]
    return "\n".join(rows)


def _branch(graph: "nx.DiGraph", root: str, side: Flow) -> Iterator[str]:
    seen = {root}
    stack = [(one, 2) for one in reversed(list(near(graph, root, side)))]
    while stack:
        node, depth = stack.pop()
        again = node in seen
        yield "  " * depth + _row(graph, node) + ("  ↑ above" if again else "")
        if not again:
            seen.add(node)
            stack += [(one, depth + 1) for one in reversed(list(near(graph, node, side)))]


def _row(graph: "nx.DiGraph", node: str) -> str:
    attributes = graph.nodes[node]
    return f"{label(node, attributes, _NAME)}  {words(attributes)}".rstrip()


def _listed(graph: "nx.DiGraph") -> Iterator[str]:
    """In a few words what an alternative text says; the tree says it all."""
    hops = [far for _, far in graph.nodes.data("hops") if far]
    yield f"{sum(far < 0 for far in hops):,} upstream"
    yield f"{sum(far > 0 for far in hops):,} downstream"
