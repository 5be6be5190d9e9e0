"""Graphs as CSV lists of edges and as node-link JSON, and the rows that all formats share."""

import csv
import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from explorer.errors import InvalidInput

if TYPE_CHECKING:
    import networkx as nx

__all__ = [
    "as_json",
    "check_directed",
    "from_node_link",
    "sorted_edges",
    "sorted_nodes",
    "to_csv",
    "to_node_link",
]

Attributes = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ExportedEdge:
    """An edge; `key` tells parallel ones apart, and is None where there can be none."""

    source: str
    target: str
    key: str | int | None
    attributes: Attributes


def check_directed(graph: "nx.DiGraph | nx.MultiDiGraph") -> None:
    """Refuse graphs whose edges have no direction."""
    if not graph.is_directed():
        raise InvalidInput("the graph is undirected; give a DiGraph or a MultiDiGraph")


def sorted_nodes(graph: "nx.DiGraph | nx.MultiDiGraph") -> Iterator[tuple[str, Attributes]]:
    """Nodes and their attributes by URN."""
    check_directed(graph)
    for node in graph.nodes:
        if not isinstance(node, str):
            raise InvalidInput(f"the node {node!r} is no text; nodes must be URNs as text")
    for node in sorted(graph.nodes):
        yield _whole(node, "a URN"), _named(graph.nodes[node])


def sorted_edges(graph: "nx.DiGraph | nx.MultiDiGraph") -> Iterator[ExportedEdge]:
    """Edges by source, target and key."""
    if not graph.is_multigraph():
        for source, target in sorted(graph.edges()):
            yield ExportedEdge(source, target, None, _named(graph.edges[source, target]))
        return
    found = list(graph.edges(keys=True))
    for source, target, key in found:
        if not isinstance(key, str | int) or isinstance(key, bool):
            raise InvalidInput(
                f"the edge from {source} to {target} has the key {key!r}; give it a text or a "
                "whole number"
            )
    found.sort(key=lambda edge: (edge[0], edge[1], isinstance(edge[2], str), edge[2]))
    for source, target, key in found:
        if isinstance(key, str):
            _whole(key, "the key of an edge")
        yield ExportedEdge(source, target, key, _named(graph.edges[source, target, key]))


def as_json(value: Any, place: str) -> str:
    """A value as JSON in plain ASCII, keys sorted; `place` names it where it is refused."""
    try:
        _check(value)
        return json.dumps(value, sort_keys=True, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as problem:
        raise InvalidInput(
            f"{place} cannot be written: {problem}; give texts of whole characters, finite "
            "numbers, lists, and mappings with texts as keys"
        ) from problem


def _check(value: Any) -> None:
    """Refuse what JSON has no place for, or would give back as something else."""
    match value:
        case str():
            value.encode()
        case dict():
            for key, inner in value.items():
                if not isinstance(key, str):
                    raise TypeError(f"{key!r} is a key of a mapping")
                key.encode()
                _check(inner)
        case list() | tuple():
            for inner in value:
                _check(inner)
        case None | bool() | int() | float():
            pass
        case _:
            raise TypeError(f"a {type(value).__name__} is no JSON")


def _named(attributes: Mapping[Any, Any]) -> Attributes:
    for name in attributes:
        if not isinstance(name, str):
            raise InvalidInput(f"the attribute {name!r} is no text; give attributes names")
        _whole(name, "the name of an attribute")
    return dict(sorted(attributes.items()))


def _whole(text: str, what: str) -> str:
    """Half characters (lone surrogates) have no place in any encoding."""
    try:
        text.encode()
    except UnicodeEncodeError as problem:
        raise InvalidInput(
            f"{what} holds half a character, which no file can keep: {text!r:.200}"
        ) from problem
    return text


_FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠", "|", "%")


def to_csv(graph: "nx.DiGraph | nx.MultiDiGraph") -> str:
    """A row for each edge, by source and target, under a row of headings.

    source, target              URNs
    source_name, target_name    what the nodes are named
    key                         only of graphs with parallel edges
    and a column for each attribute any edge has, by name; one with a name from above is
    written as `edge_…`

    Lists and mappings are written as JSON; what an edge lacks is empty. A text that a spreadsheet
    would take for a formula has an apostrophe before it, numbers are left as they are.

    Raises InvalidInput as `to_node_link` does.
    """
    names = {node: attributes.get("name") for node, attributes in sorted_nodes(graph)}
    edges = list(sorted_edges(graph))
    columns = sorted({name for edge in edges for name in edge.attributes})
    head = ["source", "source_name", "target", "target_name"]
    if graph.is_multigraph():
        head.append("key")
    taken = {"key", *head}
    shown = [f"edge_{name}" if name in taken else name for name in columns]
    page = io.StringIO()
    # With these line ends a cell that has either character in it is quoted.
    rows = csv.writer(page, lineterminator="\r\n")
    rows.writerow([_cell(name) for name in (*head, *shown)])
    for edge in edges:
        row = [edge.source, names[edge.source], edge.target, names[edge.target]]
        if graph.is_multigraph():
            row.append(edge.key)
        row += [edge.attributes.get(name) for name in columns]
        rows.writerow([_cell(value) for value in row])
    return page.getvalue()


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        return as_json(value, "an attribute")
    as_json(value, "an attribute")
    text = value.replace("\0", "")
    if text.lstrip().startswith(_FORMULA) or text.startswith(("\t", "\r", "\n")):
        return f"'{text}"
    return text


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
