"""GraphML read back into a graph."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from xml.parsers import expat

from explorer.errors import InvalidInput
from explorer.graph.export.graphml import NAMESPACE, OWN_NAMESPACE
from explorer.graph.export.xmltext import decode

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["from_graphml"]

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
