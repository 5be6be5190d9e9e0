"""Lineage as a graph, whose edges go the way that data flows: from upstream to downstream.

The attributes of a graph, in `graph.graph`:

root         the URN it was walked from
direction    UPSTREAM, DOWNSTREAM or BOTH
hops         how far was walked
total        how many entities the server counted, where it counts
truncated    why the walk ended early, in words; None when it is complete

Its nodes are URNs, with the attributes that `explorer.graph.nodes` reads off them, and

hops         how far from the root; upstream of it negative; 0 is the root
exists       false for what is only pointed at; absent where the server does not say
removed      true for what is soft-deleted; absent where the server does not say
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

import networkx as nx

from explorer.client.connection import gather_limited
from explorer.client.records import Flow, Lineage
from explorer.graph.nodes import identity, read_details
from explorer.metadata.urn import Urn

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog

__all__ = ["Extent", "LineageGraph", "lineage_graph", "merged", "read_lineage"]

_LARGE = 5_000

Extent = Literal["BOTH", "DOWNSTREAM", "UPSTREAM"]


class LineageGraph(nx.DiGraph):
    """A `DiGraph` that a whole walk is put into at once.

    Tens of thousands of nodes are common, and the library's own way in costs twice as much for
    each as everything before it; so its documented dictionaries are filled directly.
    """

    def fill(self, lineage: Lineage) -> None:
        """Put a walk into the empty graph."""
        with _without_pauses(len(lineage.urns)):
            self._put(lineage)

    def _put(self, lineage: Lineage) -> None:
        urns = lineage.urns
        self._node.update(zip(urns, _nodes(lineage), strict=True))
        below: list[dict[str, dict[str, str]]] = [{} for _ in urns]
        above: list[dict[str, dict[str, str]]] = [{} for _ in urns]
        self._succ.update(zip(urns, below, strict=True))
        self._pred.update(zip(urns, above, strict=True))
        names = lineage.relationships
        for up, down, kind in zip(lineage.upstream, lineage.downstream, lineage.kinds, strict=True):
            target = urns[down]
            held = below[up].get(target)
            if held is None:
                # Both directions hold the same attributes, as the library has it.
                below[up][target] = above[down][urns[up]] = {"relationship": names[kind]}
            else:
                held["relationship"] = _joined(held["relationship"], names[kind])


@contextmanager
def _without_pauses(nodes: int) -> Iterator[None]:
    """Suspend the garbage collector while a large graph is filled: it would scan it repeatedly,
    which takes half of the time, and nothing in it is garbage."""
    if nodes < _LARGE or not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def lineage_graph(lineage: Lineage, *, multi: bool = False) -> "nx.DiGraph":
    """Return the graph of a walk. Pure.

    An edge's attribute `relationship` is the name of its relationship; several are joined by
    ", ". With `multi` it is a `MultiDiGraph` with an edge for each, under the relationship's name
    as its key.
    """
    facts = {
        "root": str(lineage.root),
        "direction": lineage.direction,
        "hops": lineage.hops,
        "total": lineage.total,
        "truncated": lineage.truncated,
    }
    if not multi:
        graph = LineageGraph(**facts)
        graph.fill(lineage)
        return graph
    several = nx.MultiDiGraph(**facts)
    several.add_nodes_from(zip(lineage.urns, _nodes(lineage), strict=True))
    several.add_edges_from(
        (up, down, name or None, {"relationship": name}) for up, down, name in lineage.pairs()
    )
    return several


def _nodes(lineage: Lineage) -> Iterator[dict[str, Any]]:
    """Yield the attributes of each of the walk's nodes, in their order."""
    sign = -1 if lineage.direction == "UPSTREAM" else 1
    missing, removed = lineage.missing, lineage.removed
    for place, (urn, degree) in enumerate(zip(lineage.urns, lineage.degrees, strict=True)):
        attributes = identity(urn)
        attributes["hops"] = sign * degree
        if missing is not None:
            attributes["exists"] = place not in missing
        if removed is not None:
            attributes["removed"] = place in removed
        yield attributes


def merged(upstream: "nx.DiGraph", downstream: "nx.DiGraph") -> "nx.DiGraph":
    """Return one graph of what lies on both sides of the same root. Pure.

    In a cycle an entity lies on both sides; it keeps the smaller number of hops, and the
    downstream one where they are equal.
    """
    graph = nx.compose(upstream, downstream)
    for node in upstream.nodes & downstream.nodes:
        above, below = upstream.nodes[node]["hops"], downstream.nodes[node]["hops"]
        graph.nodes[node]["hops"] = above if -above < below else below
    facts = (upstream.graph, downstream.graph)
    reasons = {attributes["truncated"]: None for attributes in facts if attributes["truncated"]}
    graph.graph.update(
        direction="BOTH",
        total=sum(attributes["total"] for attributes in facts),
        truncated="; ".join(reasons) or None,
    )
    return graph


async def read_lineage(
    catalog: "AsyncCatalog",
    urn: str | Urn,
    direction: Extent = "BOTH",
    *,
    hops: int = 3,
    limit: int | None = None,
    budget_seconds: float | None = None,
    with_details: bool = False,
    multi: bool = False,
) -> "nx.DiGraph":
    """Return the lineage around an entity as a graph.

    `limit` entities a direction and `budget_seconds` limit the walk; `graph.graph["truncated"]`
    says when a limit was reached. `with_details` reads owners, tags and texts of
    every node. One request a direction where the server walks, and one for a hundred nodes with
    details.
    """

    async def one_side(flow: Flow) -> Any:
        lineage = await catalog.lineage(
            urn, flow, hops=hops, limit=limit, budget_seconds=budget_seconds
        )
        return lineage_graph(lineage, multi=multi)

    if direction == "BOTH":
        above, below = await gather_limited((one_side("UPSTREAM"), one_side("DOWNSTREAM")), 2)
        graph = merged(above, below)
    else:
        graph = await one_side(direction)
    if with_details:
        await read_details(catalog, graph)
    return graph


def _joined(held: str, name: str) -> str:
    names = sorted({*held.split(", "), name} - {""})
    return ", ".join(names)
