"""What a picture of a graph shows: names cleaned and cut, the first so many nodes, and a word on
what was left out."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from explorer.client.display import line
from explorer.graph.export.parts import check_directed

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["Shown", "State", "choose", "label", "state"]

State = Literal["plain", "removed", "ghost"]

_NO_CHARACTER = re.compile("[\ud800-\udfff\ufffe\uffff]")


@dataclass(frozen=True, slots=True)
class Shown:
    """The nodes and edges of a picture, in the graph's order, and a sentence on what is missing.

    Parallel edges that say the same are one.
    """

    nodes: list[tuple[str, Mapping[str, Any]]]
    edges: list[tuple[str, str, bool]]
    cut: str


def choose(graph: "nx.DiGraph | nx.MultiDiGraph", most_nodes: int, most_edges: int) -> Shown:
    """The first nodes and the first edges between them; of an edge whether it is only guessed."""
    check_directed(graph)
    nodes = list(graph.nodes(data=True))
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
    return Shown(nodes[:most_nodes], inside[:most_edges], cut)


def label(node: str, attributes: Mapping[str, Any], limit: int) -> str:
    """The name of a node as it is shown, else its URN; never empty."""
    name = attributes.get("name")
    shown = line(name, limit) if isinstance(name, str) else ""
    text = shown or line(str(node), limit) or "unnamed"
    # Half characters cannot be written at all, nor these two in SVG; a mark stands for each.
    return _NO_CHARACTER.sub("\N{REPLACEMENT CHARACTER}", text)


def state(attributes: Mapping[str, Any]) -> State:
    """Whether a node was soft-deleted, or is only named by others."""
    if attributes.get("removed") is True:
        return "removed"
    return "ghost" if attributes.get("exists") is False else "plain"
