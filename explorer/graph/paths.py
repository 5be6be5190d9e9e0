"""Shortest paths between entities, common ancestors, and cycles."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Literal

import networkx as nx

from explorer.graph.lineage import WalkLimits, read_lineage, walk
from explorer.metadata.urn import Urn

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog
    from explorer.client.records import Flow

__all__ = [
    "Ancestor",
    "Paths",
    "common_ancestors",
    "cycles",
    "find_common_ancestors",
    "find_paths",
    "shortest_paths",
]

_EVERY_HOP = 50
_RELATED_HOPS = 4
_MOST_PATHS = 100


@dataclass(frozen=True, slots=True)
class Paths:
    """All shortest paths from `source` to `target`, each as its URNs, including both ends, sorted.

    Empty if there is no path. `direction` is that of the data along the paths: downstream from the
    source, or upstream; "any" for paths along other relationships, followed in either direction.
    `truncated` says in words what was left out: further paths, or unread parts of the graph;
    `within` is the maximum number of hops if there is no path of that length but the graph goes on.
    `joined_by` has for each path the relationships of its steps, one fewer than its URNs; several
    are joined by ", ", empty if the server does not name them.
    """

    source: str
    target: str
    direction: Literal["any", "downstream", "upstream"]
    node_paths: tuple[tuple[str, ...], ...] = ()
    truncated: str | None = None
    joined_by: tuple[tuple[str, ...], ...] = ()
    within: int | None = None

    def __len__(self) -> int:
        return len(self.node_paths)

    @property
    def hops(self) -> int | None:
        """The length of each path, `None` if there is none."""
        return len(self.node_paths[0]) - 1 if self.node_paths else None


@dataclass(frozen=True, slots=True)
class Ancestor:
    """An entity that two others are both derived from, and its distance from each.

    It is `nearest` if it is not upstream of another common ancestor.
    """

    urn: str
    hops: tuple[int, int]
    nearest: bool


def shortest_paths(
    graph: "nx.DiGraph", source: str, target: str, *, limit: int = _MOST_PATHS
) -> tuple[tuple[tuple[str, ...], ...], bool]:
    """Return all shortest paths along the edges, sorted, at most `limit`, and whether there are
    more.

    No requests.
    """
    if source not in graph or target not in graph:
        return (), False
    try:
        found = list(islice(nx.all_shortest_paths(graph, source, target), limit + 1))
    except nx.NetworkXNoPath:
        return (), False
    return tuple(sorted(tuple(way) for way in found[:limit])), len(found) > limit


async def find_paths(
    catalog: "AsyncCatalog",
    source: str | Urn,
    target: str | Urn,
    *,
    relationships: Sequence[str] | None = None,
    hops: int | None = None,
    limit: int = _MOST_PATHS,
    budget_nodes: int | None = None,
    budget_seconds: float | None = None,
) -> Paths:
    """Return all shortest paths between two entities, at most `limit`.

    Along lineage, downstream from the source or, if that does not reach the target, upstream; or
    along the given relationships in either direction. `hops` is the maximum length: by default 50
    along lineage, 4 along relationships. `budget_nodes` and `budget_seconds` limit each traversal;
    their defaults are those of `lineage` and `walk`. One or two requests along lineage if the
    server traverses it; one for each entity visited along relationships.
    """
    start, end = Urn.parse(source), Urn.parse(target)
    if relationships:
        usual = WalkLimits()
        budget = WalkLimits(
            usual.nodes if budget_nodes is None else budget_nodes,
            usual.seconds if budget_seconds is None else budget_seconds,
        )
        reach = hops or _RELATED_HOPS
        met = await walk(catalog, start, relationships, "BOTH", hops=reach, budget=budget)
        view = met.to_undirected(as_view=True)
        ways, more = shortest_paths(view, str(start), str(end), limit=limit)
        within = reach if not ways and _goes_on(met, reach) else None
        cut = _joined_reasons(met.graph["truncated"], more, limit, within)
        return Paths(str(start), str(end), "any", ways, cut, _joined(view, ways), within)
    cuts: list[str] = []
    reach = hops or _EVERY_HOP
    goes_on = False
    flows: tuple[tuple[Flow, Literal["downstream", "upstream"]], ...] = (
        ("DOWNSTREAM", "downstream"),
        ("UPSTREAM", "upstream"),
    )
    for flow, direction in flows:
        graph = await read_lineage(
            catalog,
            start,
            flow,
            hops=reach,
            limit=budget_nodes,
            budget_seconds=budget_seconds,
        )
        view = graph if flow == "DOWNSTREAM" else graph.reverse(copy=False)
        ways, more = shortest_paths(view, str(start), str(end), limit=limit)
        if graph.graph["truncated"]:
            cuts.append(f"{direction}: {graph.graph['truncated']}")
        if ways:
            cut = _joined_reasons("; ".join(cuts), more, limit)
            return Paths(str(start), str(end), direction, ways, cut, _joined(view, ways))
        goes_on = goes_on or _goes_on(graph, reach)
    within = reach if goes_on else None
    cut = _joined_reasons("; ".join(cuts), False, limit, within)
    return Paths(str(start), str(end), "downstream", (), cut, within=within)


def _goes_on(graph: "nx.DiGraph", hops: int) -> bool:
    """Return whether a traversal reached its maximum number of hops."""
    return any(abs(far) >= hops for _, far in graph.nodes.data("hops"))


def _joined(graph: "nx.DiGraph", ways: Sequence[Sequence[str]]) -> tuple[tuple[str, ...], ...]:
    """Return for each step of each path the relationships of its edge."""
    return tuple(tuple(_reason(graph, *step) for step in pairwise(way)) for way in ways)


def _reason(graph: "nx.DiGraph", here: str, there: str) -> str:
    held = graph.get_edge_data(here, there)
    edges = held.values() if graph.is_multigraph() else (held,)
    return ", ".join(sorted({edge["relationship"] for edge in edges} - {""}))


def common_ancestors(first: "nx.DiGraph", second: "nx.DiGraph") -> tuple[Ancestor, ...]:
    """Return the entities that two others are both derived from, given their upstream graphs.

    Nearest first by the sum of hops, then by URN. If one entity is upstream of the other, it is
    itself an ancestor, 0 hops from itself. No requests.
    """
    shared = first.nodes & second.nodes
    graph = nx.compose(first, second)
    rounds = {
        node: number
        for number, together in enumerate(nx.strongly_connected_components(graph))
        for node in together
    }
    # Checking direct successors is enough: entities between two shared ancestors are shared too.
    upper = {
        node
        for node in shared
        if any(
            below in shared and rounds[below] != rounds[node] for below in graph.successors(node)
        )
    }
    found = [
        Ancestor(
            node,
            (abs(first.nodes[node]["hops"]), abs(second.nodes[node]["hops"])),
            node not in upper,
        )
        for node in shared
    ]
    return tuple(sorted(found, key=lambda one: (sum(one.hops), max(one.hops), one.urn)))


async def find_common_ancestors(
    catalog: "AsyncCatalog",
    first: str | Urn,
    second: str | Urn,
    *,
    hops: int = _EVERY_HOP,
    limit: int | None = None,
) -> tuple[tuple[Ancestor, ...], str | None]:
    """Return the entities that two others are both derived from, and in words what was not reached.

    Two requests if the server traverses lineage.
    """
    one = await read_lineage(catalog, first, "UPSTREAM", hops=hops, limit=limit)
    other = await read_lineage(catalog, second, "UPSTREAM", hops=hops, limit=limit)
    cuts = [cut for cut in (one.graph["truncated"], other.graph["truncated"]) if cut]
    return common_ancestors(one, other), "; ".join(dict.fromkeys(cuts)) or None


def cycles(graph: "nx.DiGraph", *, limit: int = 100) -> tuple[tuple[str, ...], ...]:
    """Return the cycles of a graph, shortest first, at most `limit`, each as its URNs, smallest
    first.

    No requests.
    """
    found = []
    for component in sorted(nx.strongly_connected_components(graph), key=min):
        if len(component) == 1 and not graph.has_edge(*(2 * tuple(component))):
            continue
        for cycle in _shortest_cycles(nx.DiGraph(graph.subgraph(component)), limit):
            at = cycle.index(min(cycle))
            found.append((*cycle[at:], *cycle[:at]))
    return tuple(sorted(found, key=lambda one: (len(one), one))[:limit])


def _shortest_cycles(graph: "nx.DiGraph", limit: int) -> list[list[str]]:
    """Return the shortest cycles of a graph, at most `limit`, in no particular order."""

    def within(hops: int) -> list[list[str]]:
        return list(islice(nx.simple_cycles(graph, length_bound=hops), limit))

    too_few, enough = 0, 1
    while len(within(enough)) < limit:
        too_few, enough = enough, 2 * enough
        if too_few >= len(graph):
            return within(too_few)
    # networkx yields them in no order of length, so the shorter ones are enumerated first.
    while enough - too_few > 1:
        middle = (too_few + enough) // 2
        if len(within(middle)) < limit:
            too_few = middle
        else:
            enough = middle
    shorter = within(too_few) if too_few else []
    longest = (one for one in nx.simple_cycles(graph, length_bound=enough) if len(one) == enough)
    return [*shorter, *islice(longest, limit - len(shorter))]


def _joined_reasons(
    cut: str | None, more: bool, limit: int, within: int | None = None
) -> str | None:
    parts = [
        cut,
        f"{limit} ways are the limit, there are more" if more else None,
        f"paths of more than {within} hops were not looked for" if within else None,
    ]
    return "; ".join(part for part in parts if part) or None
