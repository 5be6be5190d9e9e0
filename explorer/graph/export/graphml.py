"""Graphs as GraphML, for Gephi, yEd, Cytoscape and networkx, which writes and reads it.

GraphML has types for texts, numbers and truth values alone. Any other value (lists, mappings,
None, whole numbers beyond 64 bits, texts with characters that XML lacks or changes) is written as
JSON, under the attribute's name with " (JSON)" after it: other programs see a text, and
`from_graphml` returns the value.
"""

import io
import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final
from xml.parsers import expat

from explorer.errors import InvalidInput
from explorer.graph.export.tables import as_json, check_directed, sorted_edges, sorted_nodes

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["from_graphml", "to_graphml"]

# XML has no other characters, and reads a carriage return as a line feed.
_NOT_XML: Final = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_LONG: Final = 2**63
_JSON: Final = " (JSON)"
_MULTIGRAPH: Final = "multigraph"
# networkx takes these attributes of a graph for something else.
_TAKEN: Final = frozenset({_MULTIGRAPH, "edge_default", "id", "node_default"})
_DECLARATION: Final = '<?xml version="1.0" encoding="UTF-8"?>'
_NAMESPACE: Final = "http://graphml.graphdrawing.org/xmlns"


def to_graphml(graph: "nx.DiGraph | nx.MultiDiGraph") -> str:
    """Return the graph as GraphML, nodes by URN and edges by their ends.

    Equal graphs give equal texts. Raises `InvalidInput` for what JSON cannot hold: half
    characters, sets, numbers that are not finite.
    """
    import networkx as nx

    check_directed(graph)
    written = nx.MultiDiGraph() if graph.is_multigraph() else nx.DiGraph()
    written.graph.update(_written(dict(sorted(graph.graph.items())), "the graph", _TAKEN))
    if graph.is_multigraph():
        written.graph[_MULTIGRAPH] = True
    for node, attributes in sorted_nodes(graph):
        written.add_node(_encoded(node))
        written.nodes[_encoded(node)].update(_written(attributes, f"the node {node}"))
    for edge in sorted_edges(graph):
        ends = _encoded(edge.source), _encoded(edge.target)
        held = _written(edge.attributes, f"the edge from {edge.source} to {edge.target}")
        if edge.key is None:
            written.add_edge(*ends)
            written.edges[ends].update(held)
        else:
            key = _encoded_key(edge.key)
            written.add_edge(*ends, key)
            written.edges[*ends, key].update(held)
    return "\n".join((_DECLARATION, *nx.generate_graphml(written), ""))


def from_graphml(text: str | bytes) -> "nx.DiGraph | nx.MultiDiGraph":
    """Return the graph that `to_graphml` wrote, or that another program did.

    It is a `MultiDiGraph` when it was one, or has parallel edges. Document types, and with them
    entities, are refused. Raises `InvalidInput` for a text that is no GraphML, is undirected, or
    nests graphs.
    """
    import networkx as nx

    try:
        _check(text)
        given = {"node_type": _decoded, "edge_key_type": _decoded_key, "force_multigraph": True}
        if isinstance(text, str):
            read = nx.parse_graphml(text, **given)
        else:
            read = nx.read_graphml(io.BytesIO(text), **given)
        if not read.is_directed():
            raise InvalidInput("this GraphML is undirected; give a directed graph")
        return _restored(read)
    except (expat.ExpatError, nx.NetworkXException, SyntaxError) as problem:
        raise InvalidInput(f"this is no GraphML: {problem}") from problem
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError) as problem:
        raise InvalidInput(
            f"this GraphML cannot be read: {type(problem).__name__}: {problem}"
        ) from problem


def _restored(read: "nx.MultiDiGraph") -> "nx.DiGraph | nx.MultiDiGraph":
    """Return the graph with the values that were written as JSON and the defaults of its keys."""
    import networkx as nx

    defaults = {name: read.graph.pop(f"{name}_default") for name in ("node", "edge")}
    multi = read.graph.pop(_MULTIGRAPH, False) is True
    if not multi and all(len(keys) == 1 for _, near in read.adjacency() for keys in near.values()):
        read = nx.DiGraph(read)
    views = (("node", read.nodes.values()), ("edge", read.edges.values()), ("", [read.graph]))
    for domain, every in views:
        for attributes in every:
            held = _read(defaults.get(domain, {}) | attributes)
            attributes.clear()
            attributes.update(held)
    return read


def _written(
    attributes: Mapping[str, Any], place: str, taken: frozenset[str] = frozenset()
) -> dict[str, Any]:
    """Return the attributes under names and with values that GraphML has."""
    found: dict[str, Any] = {}
    for name, value in attributes.items():
        is_taken = name in taken or name.endswith(_JSON)
        text = as_json(value, f"{name!r} of {place}")
        if is_taken or not _has_type(value):
            found[_encoded(name + _JSON)] = text
        else:
            found[_encoded(name)] = value
    return found


def _read(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return what `_written` was given."""
    found: dict[str, Any] = {}
    for encoded, value in attributes.items():
        name = _decoded(encoded)
        if name.endswith(_JSON) and isinstance(value, str):
            found[name.removesuffix(_JSON)] = json.loads(value)
        else:
            found[name] = value
    return found


def _has_type(value: Any) -> bool:
    """Return whether GraphML has a type for the value, and returns it unchanged."""
    match value:
        case bool() | float():
            return True
        case int():
            return -_LONG <= value < _LONG
        case str():
            return not _NOT_XML.search(value)
        case _:
            return False


def _encoded(text: str) -> str:
    """Return an identifier or a name as XML can hold it: as JSON in ASCII where it cannot hold
    the text itself, or where the text begins as JSON would."""
    return json.dumps(text) if text.startswith('"') or _NOT_XML.search(text) else text


def _decoded(text: str | None) -> str:
    """Return what `_encoded` was given. Raises `InvalidInput` where there is none."""
    if text is None:
        raise InvalidInput("a node in this GraphML has no identifier, or an edge lacks an end")
    if not text.startswith('"'):
        return text
    try:
        value = json.loads(text)
    except ValueError:
        return text
    if not isinstance(value, str):
        raise InvalidInput(f"{text!r:.200} is no identifier in this GraphML")
    return value


def _encoded_key(key: str | int) -> str:
    """Return the key of an edge as a text from which `_decoded_key` reads it."""
    if isinstance(key, str) and key and not _NOT_XML.search(key) and _decoded_key(key) == key:
        return key
    return json.dumps(key)


def _decoded_key(text: str) -> str | int:
    """Return a number or a text written as JSON, and any other text as it is."""
    try:
        value = json.loads(text)
    except (RecursionError, ValueError):
        return text
    is_key = isinstance(value, str | int) and not isinstance(value, bool)
    return value if is_key else text


def _check(text: str | bytes) -> None:
    """Refuse document types, nested graphs and ports, which networkx reads or passes over."""
    graphs = 0

    def refuse_doctype(*_: object) -> None:
        raise InvalidInput("this GraphML declares a document type, which is not read; take it out")

    def open_element(name: str, _: object) -> None:
        nonlocal graphs
        element = name.rpartition("\n")[2] if name.startswith(_NAMESPACE) else name
        graphs += element == "graph"
        if graphs > 1:
            raise InvalidInput("this GraphML nests graphs; give one without groups")
        if element == "port":
            raise InvalidInput("this GraphML has a port, which a graph here cannot hold")

    # A text was decoded already, whatever encoding it still declares.
    parser = expat.ParserCreate("utf-8" if isinstance(text, str) else None, "\n")
    parser.StartDoctypeDeclHandler = refuse_doctype
    parser.StartElementHandler = open_element
    parser.Parse(text.encode() if isinstance(text, str) else text, True)
