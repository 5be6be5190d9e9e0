"""Graphs as GraphML, for Gephi, yEd, Cytoscape and networkx."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from xml.parsers import expat

from explorer.errors import InvalidInput
from explorer.graph.export.tables import as_json, check_directed, sorted_edges, sorted_nodes

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["from_graphml", "to_graphml"]

_UNSPEAKABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_CONTENT = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"})
_ATTRIBUTE = _CONTENT | str.maketrans({'"': "&quot;", "\t": "&#9;", "\n": "&#10;"})


def speaks_xml(text: str) -> bool:
    """Whether every character may stand in XML 1.0."""
    return _UNSPEAKABLE.search(text) is None


def encode(text: str) -> str:
    """An identifier for an XML attribute: a text XML cannot hold, or that begins as JSON would,
    becomes JSON in plain ASCII."""
    return text if speaks_xml(text) and not text.startswith('"') else json.dumps(text)


def decode(text: str) -> str:
    """What `encode` was given."""
    if not text.startswith('"'):
        return text
    try:
        value = json.loads(text)
    except ValueError:
        return text
    if not isinstance(value, str):
        raise InvalidInput(f"{text!r:.200} is no text")
    return value


def quote_content(text: str) -> str:
    """Between two tags; line ends come back as they were."""
    return text.translate(_CONTENT)


def quote_attribute(text: str) -> str:
    """Between two double quotes; white space comes back as it was."""
    return text.translate(_ATTRIBUTE)


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


_SPACE = "\n"
_TRUE = ("true", "1")
_TYPES: dict[str, Callable[[str], Any]] = {
    "boolean": lambda text: text.strip().lower() in _TRUE,
    "int": int,
    "long": int,
    "float": float,
    "double": float,
    "string": str,
    "json": json.loads,
}
_UNDRAWN = ("hyperedge", "port")


def from_graphml(text: str | bytes) -> "nx.DiGraph | nx.MultiDiGraph":
    """The graph that `to_graphml` wrote, or that another program did.

    It is a `MultiDiGraph` when it was one, or has parallel edges. Nothing outside the text is ever
    read: document types, and with them entities, are refused.

    Raises InvalidInput for a text that is no GraphML, is undirected, or nests graphs.
    """
    reader = _Reader()
    # A text was decoded already, whatever encoding it still declares.
    parser = expat.ParserCreate("utf-8" if isinstance(text, str) else None, _SPACE)
    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = _refuse_doctype
    parser.StartElementHandler = reader.open
    parser.EndElementHandler = reader.close
    parser.CharacterDataHandler = reader.read
    try:
        parser.Parse(text.encode() if isinstance(text, str) else text, True)
        return reader.graph()
    except expat.ExpatError as problem:
        raise InvalidInput(f"this is no GraphML: {problem}") from problem
    except (KeyError, ValueError, RecursionError) as problem:
        raise InvalidInput(
            f"this GraphML cannot be read: {type(problem).__name__}: {problem}"
        ) from problem


@dataclass(slots=True)
class _Key:
    name: str
    kind: str
    default: str | None = None


@dataclass(slots=True)
class _Item:
    """A graph, node or edge being read, and its attributes."""

    element: str
    given: dict[str, str]
    domain: str
    values: dict[str, Any] = field(default_factory=dict)


class _Reader:
    def __init__(self) -> None:
        self.keys: dict[str, _Key] = {}
        self.domains: dict[str, str] = {}
        self.open_items: list[_Item] = []
        self.items: list[_Item] = []
        self.key: _Key | None = None
        self.data: str | None = None
        self.text: list[str] = []

    def open(self, name: str, given: dict[str, str]) -> None:
        space, _, element = name.rpartition(_SPACE)
        if space not in ("", NAMESPACE):
            return
        self.text.clear()
        if element == "key":
            kind = given.get("attr.type", "string")
            if given.get(f"{OWN_NAMESPACE}{_SPACE}json") == "true":
                kind = "json"
            self.key = self.keys[given["id"]] = _Key(
                decode(given.get("attr.name", given["id"])), kind
            )
            self.domains[given["id"]] = given.get("for", "all")
        elif element == "data":
            self.data = given["key"]
        elif element in ("graph", "node", "edge"):
            if element == "graph" and any(one.element == "graph" for one in self.items):
                raise InvalidInput("this GraphML nests graphs; give one without groups")
            if element == "graph" and given.get("edgedefault") == "undirected":
                raise InvalidInput("this GraphML is undirected; give a directed graph")
            item = _Item(element, given, element)
            self.items.append(item)
            self.open_items.append(item)
        elif element in _UNDRAWN:
            raise InvalidInput(f"this GraphML has a {element}, which a graph here cannot hold")

    def read(self, text: str) -> None:
        self.text.append(text)

    def close(self, name: str) -> None:
        space, _, element = name.rpartition(_SPACE)
        if space not in ("", NAMESPACE):
            return
        if element == "default" and self.key:
            self.key.default = "".join(self.text)
        elif element == "key":
            self.key = None
        elif element == "data" and self.data is not None and self.open_items:
            key = self.keys[self.data]
            self.open_items[-1].values[key.name] = _value(key, "".join(self.text))
            self.data = None
        elif element in ("graph", "node", "edge"):
            item = self.open_items.pop()
            for number, key in self.keys.items():
                wanted = self.domains[number] in ("all", element)
                if wanted and key.default is not None and key.name not in item.values:
                    item.values[key.name] = _value(key, key.default)

    def graph(self) -> "nx.DiGraph | nx.MultiDiGraph":
        import networkx as nx

        whole = next((item for item in self.items if item.element == "graph"), None)
        if whole is None:
            raise InvalidInput("this XML holds no graph; give GraphML")
        nodes = [item for item in self.items if item.element == "node"]
        edges = [item for item in self.items if item.element == "edge"]
        ends = [(decode(one.given["source"]), decode(one.given["target"])) for one in edges]
        multi = whole.given.get(f"{OWN_NAMESPACE}{_SPACE}multi") == "true"
        graph = nx.MultiDiGraph() if multi or len(set(ends)) < len(ends) else nx.DiGraph()
        graph.graph.update(whole.values)
        for node in nodes:
            graph.add_node(decode(node.given["id"]))
            graph.nodes[decode(node.given["id"])].update(node.values)
        for (source, target), edge in zip(ends, edges, strict=True):
            if graph.is_multigraph():
                written = edge.given.get(f"{OWN_NAMESPACE}{_SPACE}key")
                key = edge.given.get("id") if written is None else json.loads(written)
                key = graph.add_edge(source, target, key)
                graph.edges[source, target, key].update(edge.values)
            else:
                graph.add_edge(source, target)
                graph.edges[source, target].update(edge.values)
        return graph


def _value(key: _Key, text: str) -> Any:
    read = _TYPES.get(key.kind)
    if read is None:
        raise InvalidInput(f"the attribute {key.name!r} has the type {key.kind!r}, which is none")
    return read(text)


def _refuse_doctype(*_: object) -> None:
    raise InvalidInput("this GraphML declares a document type, which is not read; take it out")
