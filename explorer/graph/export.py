"""Exporting graphs to other programs, and importing them: functions from and to text, without
files.

GraphML (for Gephi, yEd, Cytoscape and networkx) and node-link JSON preserve a graph completely. CSV
is a list of its edges for a spreadsheet; Mermaid, DOT and SVG are pictures.

GraphML only has types for text, numbers and booleans. Any other value (lists, mappings, `None`,
integers beyond 64 bits, text that XML cannot represent) is written as JSON, under the attribute's
name followed by " (JSON)": other programs see text, and `from_graphml` returns the value.
"""

import csv
import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from xml.parsers import expat

from explorer.errors import InvalidInput
from explorer.graph.nodes import NOT_XML, check_directed
from explorer.graph.pictures import to_dot, to_mermaid, to_svg

if TYPE_CHECKING:
    import networkx as nx

__all__ = [
    "from_graphml",
    "from_node_link",
    "to_csv",
    "to_dot",
    "to_graphml",
    "to_mermaid",
    "to_node_link",
    "to_svg",
]

_Attributes = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _ExportedEdge:
    """An edge; `key` distinguishes parallel edges, and is `None` if the graph cannot have any."""

    source: str
    target: str
    key: str | int | None
    attributes: _Attributes


def _sort_nodes(graph: "nx.DiGraph | nx.MultiDiGraph") -> Iterator[tuple[str, _Attributes]]:
    """Yield nodes with their attributes, sorted by URN."""
    check_directed(graph)
    for node in graph.nodes:
        if not isinstance(node, str):
            raise InvalidInput(f"the node {node!r} is not text; nodes must be URNs as text")
    for node in sorted(graph.nodes):
        yield _encodable(node, "a URN"), _name_attributes(graph.nodes[node])


def _sort_edges(graph: "nx.DiGraph | nx.MultiDiGraph") -> Iterator[_ExportedEdge]:
    """Yield edges sorted by source, target and key."""
    if not graph.is_multigraph():
        for source, target in sorted(graph.edges()):
            yield _ExportedEdge(source, target, None, _name_attributes(graph.edges[source, target]))
        return
    edges = list(graph.edges(keys=True))
    for source, target, key in edges:
        if not isinstance(key, str | int) or isinstance(key, bool):
            raise InvalidInput(
                f"the edge from {source} to {target} has the key {key!r}; use text or an integer"
            )
    edges.sort(key=lambda edge: (edge[0], edge[1], isinstance(edge[2], str), edge[2]))
    for source, target, key in edges:
        if isinstance(key, str):
            _encodable(key, "the key of an edge")
        yield _ExportedEdge(source, target, key, _name_attributes(graph.edges[source, target, key]))


def _as_json(value: Any, place: str) -> str:
    """Return a value as ASCII JSON with sorted keys; `place` names it in errors."""
    try:
        _check(value)
        return json.dumps(value, sort_keys=True, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as problem:
        raise InvalidInput(
            f"{place} cannot be written: {problem}; use text without unpaired surrogates, finite "
            "numbers, lists, and mappings with text as keys"
        ) from problem


def _check(value: Any) -> None:
    """Raise for values that JSON cannot represent, or would not return unchanged."""
    match value:
        case str():
            value.encode()
        case dict():
            for key, inner in value.items():
                if not isinstance(key, str):
                    raise TypeError(f"{key!r} is not a text, but a key of a mapping")
                key.encode()
                _check(inner)
        case list() | tuple():
            for inner in value:
                _check(inner)
        case None | bool() | int() | float():
            pass
        case _:
            raise TypeError(f"a {type(value).__name__} cannot be represented in JSON")


def _name_attributes(attributes: Mapping[Any, Any]) -> _Attributes:
    for name in attributes:
        if not isinstance(name, str):
            raise InvalidInput(f"the attribute name {name!r} is not text; use text")
        _encodable(name, "the name of an attribute")
    return dict(sorted(attributes.items()))


def _encodable(text: str, what: str) -> str:
    """Return the text unchanged. Raises `InvalidInput` for unpaired surrogates, which no encoding
    can represent."""
    try:
        text.encode()
    except UnicodeEncodeError as problem:
        raise InvalidInput(
            f"{what} contains an unpaired surrogate, which cannot be written to a file: "
            f"{text!r:.200}"
        ) from problem
    return text


_FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠", "|", "%")


def to_csv(graph: "nx.DiGraph | nx.MultiDiGraph") -> str:
    """Return a CSV table with a row for each edge, sorted by source and target.

    source, target              URNs
    source_name, target_name    the names of the nodes
    key                         only for graphs with parallel edges

    There is a further column for each edge attribute, by name; one with a name from above is called
    `edge_…`. Lists and mappings are written as JSON; a missing attribute is empty. Text that a
    spreadsheet would take for a formula gets an apostrophe in front; numbers are not changed.
    Raises `InvalidInput` as `to_node_link` does.
    """
    names = {node: attributes.get("name") for node, attributes in _sort_nodes(graph)}
    edges = list(_sort_edges(graph))
    columns = sorted({name for edge in edges for name in edge.attributes})
    head = ["source", "source_name", "target", "target_name"]
    if graph.is_multigraph():
        head.append("key")
    head_names = {"key", *head}
    edge_headers = [f"edge_{name}" if name in head_names else name for name in columns]
    page = io.StringIO()
    # With \r\n as line end the csv module quotes cells that contain either character.
    rows = csv.writer(page, lineterminator="\r\n")
    rows.writerow([_cell(name) for name in (*head, *edge_headers)])
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
        return _as_json(value, "an attribute")
    _as_json(value, "an attribute")
    text = value.replace("\0", "")
    if text.lstrip().startswith(_FORMULA) or text.startswith(("\t", "\r", "\n")):
        return f"'{text}"
    return text


_NODE_LINK_KEYS = {"id", "key", "source", "target"}


def to_node_link(graph: "nx.DiGraph | nx.MultiDiGraph") -> str:
    """Return the graph as JSON: `directed`, `multigraph`, `graph`, `nodes` by URN, `edges` by their
    ends.

    Equal graphs give equal texts, with one line for each node and edge. Attributes are next to
    `id`, `source`, `target` and `key`; an attribute with one of these names is written with an `@`
    in front. Raises `InvalidInput` for values that JSON cannot represent: unpaired surrogates,
    sets, numbers that are not finite.
    """
    check_directed(graph)
    head = _as_json(dict(graph.graph), "the graph's own attributes")
    nodes = [
        _as_json({"id": node, **_escape(attributes)}, f"the node {node}")
        for node, attributes in _sort_nodes(graph)
    ]
    edges = []
    for edge in _sort_edges(graph):
        ends: dict[str, Any] = {"source": edge.source, "target": edge.target}
        if edge.key is not None:
            ends["key"] = edge.key
        place = f"the edge from {edge.source} to {edge.target}"
        edges.append(_as_json(ends | _escape(edge.attributes), place))
    multi = "true" if graph.is_multigraph() else "false"
    return (
        f'{{"directed": true,\n"multigraph": {multi},\n"graph": {head},\n'
        f'"nodes": [{_lines(nodes)}],\n"edges": [{_lines(edges)}]}}\n'
    )


def from_node_link(text: str | bytes) -> "nx.DiGraph | nx.MultiDiGraph":
    """Parse the JSON that `to_node_link` or another program wrote (with `edges` or `links`).

    Raises `InvalidInput` for text that is not such JSON.
    """
    import networkx as nx

    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as problem:
        raise InvalidInput(f"this is not valid JSON: {problem}") from problem
    if not isinstance(value, dict) or value.get("directed") is False:
        raise InvalidInput("this is not a directed node-link graph; write it with to_node_link")
    graph = nx.MultiDiGraph() if value.get("multigraph") else nx.DiGraph()
    try:
        graph.graph.update(value.get("graph") or {})
        for node in value["nodes"]:
            graph.add_node(_text(node["id"]))
            graph.nodes[node["id"]].update(_without_structure(node))
        for edge in value["edges"] if "edges" in value else value["links"]:
            ends = _text(edge["source"]), _text(edge["target"])
            if graph.is_multigraph():
                key = graph.add_edge(*ends, edge.get("key"))
                graph.edges[*ends, key].update(_without_structure(edge))
            else:
                graph.add_edge(*ends)
                graph.edges[ends].update(_without_structure(edge))
    except (AttributeError, KeyError, TypeError, ValueError) as problem:
        raise InvalidInput(
            "this is not a node-link graph: it needs `nodes`, each with an `id`, and `edges`, each "
            f"with `source` and `target` ({type(problem).__name__}: {problem})"
        ) from problem
    return graph


def _escape(attributes: Any) -> dict[str, Any]:
    return {
        f"@{name}" if name.lstrip("@") in _NODE_LINK_KEYS else name: value
        for name, value in attributes.items()
    }


def _without_structure(attributes: dict[str, Any]) -> dict[str, Any]:
    return {
        name[1:] if name.startswith("@") and name.lstrip("@") in _NODE_LINK_KEYS else name: value
        for name, value in attributes.items()
        if name not in _NODE_LINK_KEYS
    }


def _text(node: object) -> str:
    if not isinstance(node, str):
        raise TypeError(f"{node!r} is not text")
    return node


def _lines(items: list[str]) -> str:
    return "\n" + ",\n".join(items) + "\n" if items else ""


_INTEGER_END: Final = 2**63
_JSON: Final = " (JSON)"
_MULTIGRAPH: Final = "multigraph"
# Graph attributes with these names have a special meaning to networkx.
_NETWORKX_KEYS: Final = frozenset({_MULTIGRAPH, "edge_default", "id", "node_default"})
_DECLARATION: Final = '<?xml version="1.0" encoding="UTF-8"?>'
_NAMESPACE: Final = "http://graphml.graphdrawing.org/xmlns"


def to_graphml(graph: "nx.DiGraph | nx.MultiDiGraph") -> str:
    """Return the graph as GraphML, nodes by URN and edges by their ends.

    Equal graphs give equal texts. Raises `InvalidInput` for values that JSON cannot represent:
    unpaired surrogates, sets, numbers that are not finite.
    """
    import networkx as nx

    check_directed(graph)
    graphml_graph = nx.MultiDiGraph() if graph.is_multigraph() else nx.DiGraph()
    graphml_graph.graph.update(
        _to_graphml_values(dict(sorted(graph.graph.items())), "the graph", _NETWORKX_KEYS)
    )
    if graph.is_multigraph():
        graphml_graph.graph[_MULTIGRAPH] = True
    for node, attributes in _sort_nodes(graph):
        graphml_graph.add_node(_encode(node))
        graphml_graph.nodes[_encode(node)].update(
            _to_graphml_values(attributes, f"the node {node}")
        )
    for edge in _sort_edges(graph):
        ends = _encode(edge.source), _encode(edge.target)
        attributes_in_graphml = _to_graphml_values(
            edge.attributes, f"the edge from {edge.source} to {edge.target}"
        )
        if edge.key is None:
            graphml_graph.add_edge(*ends)
            graphml_graph.edges[ends].update(attributes_in_graphml)
        else:
            key = _encode_key(edge.key)
            graphml_graph.add_edge(*ends, key)
            graphml_graph.edges[*ends, key].update(attributes_in_graphml)
    return "\n".join((_DECLARATION, *nx.generate_graphml(graphml_graph), ""))


def from_graphml(text: str | bytes) -> "nx.DiGraph | nx.MultiDiGraph":
    """Parse the GraphML that `to_graphml` or another program wrote.

    Returns a `MultiDiGraph` if one was written, or if there are parallel edges. Document types, and
    so XML entities, are rejected. Raises `InvalidInput` for text that is not GraphML, is
    undirected, or has nested graphs.
    """
    import networkx as nx

    try:
        _check_graphml(text)
        options = {"node_type": _decode, "edge_key_type": _decode_key, "force_multigraph": True}
        if isinstance(text, str):
            graphml = nx.parse_graphml(text, **options)
        else:
            graphml = nx.read_graphml(io.BytesIO(text), **options)
        if not graphml.is_directed():
            raise InvalidInput("this GraphML is undirected; give a directed graph")
        return _parse_json_values(graphml)
    except (expat.ExpatError, nx.NetworkXException, SyntaxError) as problem:
        raise InvalidInput(f"this is not GraphML: {problem}") from problem
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError) as problem:
        raise InvalidInput(
            f"this GraphML cannot be read: {type(problem).__name__}: {problem}"
        ) from problem


def _parse_json_values(graph: "nx.MultiDiGraph") -> "nx.DiGraph | nx.MultiDiGraph":
    """Return the graph with JSON values parsed and default values of keys applied."""
    import networkx as nx

    defaults = {name: graph.graph.pop(f"{name}_default") for name in ("node", "edge")}
    multi = graph.graph.pop(_MULTIGRAPH, False) is True
    if not multi and all(len(keys) == 1 for _, near in graph.adjacency() for keys in near.values()):
        graph = nx.DiGraph(graph)
    views = (("node", graph.nodes.values()), ("edge", graph.edges.values()), ("", [graph.graph]))
    for domain, every in views:
        for attributes in every:
            plain_attributes = _from_graphml_values(defaults.get(domain, {}) | attributes)
            attributes.clear()
            attributes.update(plain_attributes)
    return graph


def _to_graphml_values(
    attributes: Mapping[str, Any], place: str, reserved_names: frozenset[str] = frozenset()
) -> dict[str, Any]:
    """Return the attributes with names and values that GraphML can represent."""
    values: dict[str, Any] = {}
    for name, value in attributes.items():
        is_taken = name in reserved_names or name.endswith(_JSON)
        text = _as_json(value, f"{name!r} of {place}")
        if is_taken or not _has_type(value):
            values[_encode(name + _JSON)] = text
        else:
            values[_encode(name)] = value
    return values


def _from_graphml_values(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes that were given to `_to_graphml_values`."""
    values: dict[str, Any] = {}
    for encoded, value in attributes.items():
        name = _decode(encoded)
        if name.endswith(_JSON) and isinstance(value, str):
            values[name.removesuffix(_JSON)] = json.loads(value)
        else:
            values[name] = value
    return values


def _has_type(value: Any) -> bool:
    """Return whether GraphML has a type for the value that preserves it."""
    match value:
        case bool() | float():
            return True
        case int():
            return -_INTEGER_END <= value < _INTEGER_END
        case str():
            return not NOT_XML.search(value)
        case _:
            return False


def _encode(text: str) -> str:
    """Return an identifier or a name in a form that XML can represent.

    It is ASCII JSON if XML cannot represent the text, or if the text looks like such JSON.
    """
    return json.dumps(text) if text.startswith('"') or NOT_XML.search(text) else text


def _decode(text: str | None) -> str:
    """Return the text that was given to `_encode`. Raises `InvalidInput` for `None`."""
    if text is None:
        raise InvalidInput("a node in this GraphML has no identifier, or an edge lacks an end")
    if not text.startswith('"'):
        return text
    try:
        value = json.loads(text)
    except ValueError:
        return text
    if not isinstance(value, str):
        raise InvalidInput(f"{text!r:.200} is not a valid identifier in this GraphML")
    return value


def _encode_key(key: str | int) -> str:
    """Return the key of an edge as text from which `_decode_key` restores it."""
    if isinstance(key, str) and key and not NOT_XML.search(key) and _decode_key(key) == key:
        return key
    return json.dumps(key)


def _decode_key(text: str) -> str | int:
    """Parse a number or text written as JSON; return any other text unchanged."""
    try:
        value = json.loads(text)
    except (RecursionError, ValueError):
        return text
    is_key = isinstance(value, str | int) and not isinstance(value, bool)
    return value if is_key else text


def _check_graphml(text: str | bytes) -> None:
    """Raise `InvalidInput` for document types, nested graphs and ports, which networkx would read
    or ignore."""
    graphs = 0

    def refuse_doctype(*_: object) -> None:
        raise InvalidInput("this GraphML declares a document type, which is not allowed; remove it")

    def open_element(name: str, _: object) -> None:
        nonlocal graphs
        element = name.rpartition("\n")[2] if name.startswith(_NAMESPACE) else name
        graphs += element == "graph"
        if graphs > 1:
            raise InvalidInput("this GraphML has nested graphs; use a graph without groups")
        if element == "port":
            raise InvalidInput("this GraphML has a port, which is not supported; remove it")

    # A str is already decoded, whatever encoding it declares.
    parser = expat.ParserCreate("utf-8" if isinstance(text, str) else None, "\n")
    parser.StartDoctypeDeclHandler = refuse_doctype
    parser.StartElementHandler = open_element
    parser.Parse(text.encode() if isinstance(text, str) else text, True)
