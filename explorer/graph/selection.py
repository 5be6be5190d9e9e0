"""Parts of a graph, chosen by the attributes of its nodes."""

from collections.abc import Callable, Collection, Iterable
from typing import Any

import networkx as nx

from explorer.errors import InvalidInput, UnknownName
from explorer.metadata.urn import Urn
from explorer.query.filters import Criterion, Filter

_Test = Callable[[list[str], Collection[str]], bool]

__all__ = ["FIELDS", "contracted", "matches", "select"]

FIELDS: dict[str, str] = {
    "_entityType": "type",
    "deprecated": "deprecated",
    "description": "description",
    "domains": "domain",
    "glossaryTerms": "terms",
    "hops": "hops",
    "name": "name",
    "origin": "origin",
    "owners": "owners",
    "platform": "platform",
    "queries": "queries",
    "removed": "removed",
    "tags": "tags",
    "typeNames": "kind",
    "urn": "urn",
    "users": "users",
}
"""The fields that a filter of a graph may name, and the node's attribute behind each."""


def select(graph: "nx.DiGraph", narrowed_by: Filter, *, bridged: bool = False) -> "nx.DiGraph":
    """Return a copy with the nodes that match a filter, and the edges between them. Pure.

    Owners, tags, terms and domains are known once details were read into the graph. With `bridged`
    the nodes left out are stepped over: a path through them becomes an edge with `over`, the number
    of them on the shortest such path. Raises `UnknownName` for a field
    that nodes do not have.
    """
    kept = {
        node
        for node, attributes in graph.nodes(data=True)
        if matches(node, attributes, narrowed_by)
    }
    return contracted(graph, kept) if bridged else graph.subgraph(kept).copy()


def contracted(graph: "nx.DiGraph", kept: Collection[str]) -> "nx.DiGraph":
    """Return a copy with the nodes `kept`, with an edge also where a path leads from one to the
    other through nodes that are not; such an edge has `over`, the fewest nodes stepped over.
    Pure."""
    found = nx.DiGraph(**graph.graph)
    inside = [node for node in graph if node in kept]
    found.add_nodes_from((node, dict(graph.nodes[node])) for node in inside)
    for node in inside:
        seen: set[str] = set()
        frontier, over = [node], 0
        while frontier:
            following = []
            for at in frontier:
                for below in graph.successors(at):
                    if below in seen:
                        continue
                    seen.add(below)
                    if below not in kept:
                        following.append(below)
                    elif over == 0:
                        found.add_edge(node, below, **_edge(graph, at, below))
                    elif below != node and not found.has_edge(node, below):
                        found.add_edge(node, below, over=over)
            frontier, over = following, over + 1
    return found


def matches(urn: str, attributes: dict[str, Any], narrowed_by: Filter) -> bool:
    """Return whether a node matches a filter; every node matches an empty one."""
    if not narrowed_by:
        return True
    return any(
        all(_meets(urn, attributes, criterion) != criterion.negated for criterion in group)
        for group in narrowed_by.any_of
    )


def _meets(urn: str, attributes: dict[str, Any], criterion: Criterion) -> bool:
    name = criterion.field.removesuffix(".keyword")
    if name not in FIELDS:
        raise UnknownName("field of a graph's nodes", name, FIELDS)
    held = urn if name == "urn" else attributes.get(FIELDS[name])
    values = [] if held is None else held if isinstance(held, list | tuple) else [held]
    if criterion.condition in ("EXISTS", "IS_NULL"):
        return (criterion.condition == "EXISTS") == any(value not in ("", None) for value in values)
    if not criterion.values:
        return True
    texts = [spelling for value in values for spelling in _spellings(value)]
    return _TESTS[criterion.condition](texts, criterion.values)


def _spellings(value: Any) -> Iterable[str]:
    """Yield a value as text, and the name in it where it is a URN."""
    if isinstance(value, bool):
        yield "true" if value else "false"
        return
    text = str(value)
    yield text
    label = Urn.label(text)
    if label != text:
        yield label


def _equal(held: list[str], values: Collection[str]) -> bool:
    known = {text.casefold() for text in held}
    # A node has `hive` as its platform where a filter has the URN.
    return any(one.casefold() in known or Urn.label(one).casefold() in known for one in values)


def _any(test: Callable[[str, str], bool]) -> _Test:
    def passes(held: list[str], values: Collection[str]) -> bool:
        return any(test(text.casefold(), one.casefold()) for text in held for one in values)

    return passes


def _compared(
    test: Callable[[float, float], bool],
) -> _Test:
    def passes(held: list[str], values: Collection[str]) -> bool:
        return any(test(_number(text), _number(one)) for text in held for one in values)

    return passes


def _between(held: list[str], values: Collection[str]) -> bool:
    low, high = (_number(one) for one in list(values)[:2])
    return any(low <= _number(text) <= high for text in held)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InvalidInput(f"{text!r} is no number to compare with") from None


_TESTS: dict[str, _Test] = {
    "EQUAL": _equal,
    "IEQUAL": _equal,
    "IN": _equal,
    "CONTAIN": _any(lambda text, one: one in text),
    "START_WITH": _any(str.startswith),
    "END_WITH": _any(str.endswith),
    "GREATER_THAN": _compared(lambda text, one: text > one),
    "GREATER_THAN_OR_EQUAL_TO": _compared(lambda text, one: text >= one),
    "LESS_THAN": _compared(lambda text, one: text < one),
    "LESS_THAN_OR_EQUAL_TO": _compared(lambda text, one: text <= one),
    "BETWEEN": _between,
}


def _edge(graph: "nx.DiGraph", source: str, target: str) -> dict[str, Any]:
    held = graph.get_edge_data(source, target)
    # The data of a graph with several edges between two nodes are by key.
    return dict(next(iter(held.values()))) if graph.is_multigraph() else dict(held)
