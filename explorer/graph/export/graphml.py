"""Graphs as GraphML, for Gephi, yEd, Cytoscape and networkx."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from explorer.graph.export.parts import as_json, check_directed, sorted_edges, sorted_nodes
from explorer.graph.export.xmltext import encode, quote_attribute, quote_content, speaks_xml

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["NAMESPACE", "OWN_NAMESPACE", "to_graphml"]

NAMESPACE = "http://graphml.graphdrawing.org/xmlns"
OWN_NAMESPACE = "urn:catalog-explorer:graphml"

_LONG = 2**63


def to_graphml(graph: "nx.DiGraph | nx.MultiDiGraph") -> str:
    """The graph as GraphML, nodes by URN and edges by their ends: equal graphs give equal texts.

    Texts, numbers and truth values are written as such. What GraphML has no type for (lists,
    mappings, None, numbers beyond 64 bits, texts with control characters) is written as JSON
    under a key of its own, so that other programs see a text and `from_graphml` the value.

    Raises InvalidInput for what JSON cannot hold: half characters, sets, numbers that are none.
    """
    check_directed(graph)
    keys = _Keys()
    body = list(_body(graph, keys))
    return "\n".join(
        [
            '<?xml version="1.0" encoding="UTF-8"?>',
            f'<graphml xmlns="{NAMESPACE}" xmlns:c="{OWN_NAMESPACE}">',
            *keys.lines,
            f'<graph edgedefault="directed" c:multi="{_truth(graph.is_multigraph())}">',
            *body,
            "</graph>",
            "</graphml>\n",
        ]
    )


def _body(graph: "nx.DiGraph | nx.MultiDiGraph", keys: "_Keys") -> Iterator[str]:
    yield from keys.data("graph", dict(sorted(graph.graph.items())), "the graph")
    for node, attributes in sorted_nodes(graph):
        yield f'<node id="{quote_attribute(encode(node))}">'
        yield from keys.data("node", attributes, f"the node {node}")
        yield "</node>"
    for edge in sorted_edges(graph):
        ends = [quote_attribute(encode(end)) for end in (edge.source, edge.target)]
        key = ""
        if edge.key is not None:
            key = f' c:key="{quote_attribute(as_json(edge.key, "the key of an edge"))}"'
        yield f'<edge source="{ends[0]}" target="{ends[1]}"{key}>'
        place = f"the edge from {edge.source} to {edge.target}"
        yield from keys.data("edge", edge.attributes, place)
        yield "</edge>"


class _Keys:
    """The declared attributes: one for each name and type met, numbered as they come."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._ids: dict[tuple[str, str, str], str] = {}

    def data(self, domain: str, attributes: Mapping[str, Any], place: str) -> Iterator[str]:
        for name, value in attributes.items():
            kind, text = _typed(value, f"{name!r} of {place}")
            yield f'  <data key="{self._id(domain, name, kind)}">{quote_content(text)}</data>'

    def _id(self, domain: str, name: str, kind: str) -> str:
        known = self._ids.get((domain, name, kind))
        if known:
            return known
        new = self._ids[domain, name, kind] = f"d{len(self._ids)}"
        type_name, mark = ("string", ' c:json="true"') if kind == "json" else (kind, "")
        shown = quote_attribute(encode(name))
        self.lines.append(
            f'<key id="{new}" for="{domain}" attr.name="{shown}" attr.type="{type_name}"{mark}/>'
        )
        return new


def _typed(value: Any, place: str) -> tuple[str, str]:
    """The type GraphML has for a value, else "json", and the value's text."""
    match value:
        case bool():
            return "boolean", _truth(value)
        case int() if -_LONG <= value < _LONG:
            return "long", str(int(value))
        case str() if speaks_xml(value):
            return "string", value
        case _:
            text = as_json(value, place)
            return ("double", text) if isinstance(value, float) else ("json", text)


def _truth(value: bool) -> str:
    return "true" if value else "false"
