"""Graphs as node-link JSON, the form that networkx, D3 and others read."""

import json
from typing import TYPE_CHECKING, Any

from explorer.errors import InvalidInput
from explorer.graph.export.parts import as_json, check_directed, sorted_edges, sorted_nodes

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["from_node_link", "to_node_link"]

_TAKEN = {"id", "key", "source", "target"}


def to_node_link(graph: "nx.DiGraph | nx.MultiDiGraph") -> str:
    """The graph as JSON: `directed`, `multigraph`, `graph`, `nodes` by URN, `edges` by their ends.

    Equal graphs give equal texts, a line for each node and edge. Attributes stand beside `id`,
    `source`, `target` and `key`; one of such a name is written with an `@` before it.

    Raises InvalidInput for what JSON cannot hold: half characters, sets, numbers that are none.
    """
    check_directed(graph)
    head = as_json(dict(graph.graph), "the graph's own attributes")
    nodes = [
        as_json({"id": node, **_escaped(attributes)}, f"the node {node}")
        for node, attributes in sorted_nodes(graph)
    ]
    edges = []
    for edge in sorted_edges(graph):
        ends: dict[str, Any] = {"source": edge.source, "target": edge.target}
        if edge.key is not None:
            ends["key"] = edge.key
        place = f"the edge from {edge.source} to {edge.target}"
        edges.append(as_json(ends | _escaped(edge.attributes), place))
    multi = "true" if graph.is_multigraph() else "false"
    return (
        f'{{"directed": true,\n"multigraph": {multi},\n"graph": {head},\n'
        f'"nodes": [{_lines(nodes)}],\n"edges": [{_lines(edges)}]}}\n'
    )


def from_node_link(text: str | bytes) -> "nx.DiGraph | nx.MultiDiGraph":
    """The graph that `to_node_link` wrote, or that another program did (`links` for `edges` too).

    Raises InvalidInput for a text that is no such JSON.
    """
    import networkx as nx

    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as problem:
        raise InvalidInput(f"this is no JSON: {problem}") from problem
    if not isinstance(value, dict) or value.get("directed") is False:
        raise InvalidInput("this is no directed node-link graph; write it with to_node_link")
    graph = nx.MultiDiGraph() if value.get("multigraph") else nx.DiGraph()
    try:
        graph.graph.update(value.get("graph") or {})
        for node in value["nodes"]:
            graph.add_node(_text(node["id"]))
            graph.nodes[node["id"]].update(_plain(node))
        for edge in value["edges"] if "edges" in value else value["links"]:
            ends = _text(edge["source"]), _text(edge["target"])
            if graph.is_multigraph():
                key = graph.add_edge(*ends, edge.get("key"))
                graph.edges[*ends, key].update(_plain(edge))
            else:
                graph.add_edge(*ends)
                graph.edges[ends].update(_plain(edge))
    except (AttributeError, KeyError, TypeError, ValueError) as problem:
        raise InvalidInput(
            "this is no node-link graph: it takes `nodes`, each with an `id`, and `edges`, each "
            f"with `source` and `target` ({type(problem).__name__}: {problem})"
        ) from problem
    return graph


def _escaped(attributes: Any) -> dict[str, Any]:
    return {
        f"@{name}" if name.lstrip("@") in _TAKEN else name: value
        for name, value in attributes.items()
    }


def _plain(written: dict[str, Any]) -> dict[str, Any]:
    return {
        name[1:] if name.startswith("@") and name.lstrip("@") in _TAKEN else name: value
        for name, value in written.items()
        if name not in _TAKEN
    }


def _text(node: object) -> str:
    if not isinstance(node, str):
        raise TypeError(f"{node!r} is no text")
    return node


def _lines(items: list[str]) -> str:
    return "\n" + ",\n".join(items) + "\n" if items else ""
