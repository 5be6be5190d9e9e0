"""A graph taken apart into nodes and edges that can be written down, or a sentence why not."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from explorer.errors import InvalidInput

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["Edge", "as_json", "check_directed", "sorted_edges", "sorted_nodes"]

Attributes = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Edge:
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


def sorted_edges(graph: "nx.DiGraph | nx.MultiDiGraph") -> Iterator[Edge]:
    """Edges by source, target and key."""
    if not graph.is_multigraph():
        for source, target in sorted(graph.edges()):
            yield Edge(source, target, None, _named(graph.edges[source, target]))
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
        yield Edge(source, target, key, _named(graph.edges[source, target, key]))


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
