"""Lineage as a graph, and the entities within some hops along any relationships as one.

The edges of lineage go the way that data flows: from upstream to downstream. Those of other
relationships go from the entity that declares one to that which it points at, under the
relationship's name as their key: `graph["urn:li:dataset:…"]["urn:li:corpuser:jdoe"]["OwnedBy"]`.

The attributes of a graph of lineage, in `graph.graph`:

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
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import networkx as nx

from explorer.client.connection import gather_limited
from explorer.client.records import Direction, Edges, Flow, Lineage
from explorer.errors import InvalidInput
from explorer.graph.nodes import identity, read_details
from explorer.metadata.urn import Urn

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog

__all__ = ["Extent", "Side", "WalkLimits", "lineage_graph", "merged", "read_lineage", "walk"]

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


Side = Literal["BOTH", "INCOMING", "OUTGOING"]

_AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class WalkLimits:
    """The limits of a walk: entities in its graph, and seconds."""

    nodes: int = 2_000
    seconds: float = 30.0


_USUAL = WalkLimits()


async def walk(
    catalog: "AsyncCatalog",
    urn: str | Urn,
    relationships: Sequence[str] | None = None,
    direction: Side = "OUTGOING",
    *,
    hops: int = 1,
    budget: WalkLimits = _USUAL,
) -> "nx.MultiDiGraph":
    """Return the entities that relationships lead to, up to `hops` away, as a `MultiDiGraph`.

    It follows the relationships named, or all that the model has. OUTGOING follows edges as they
    are declared, INCOMING against that. Every node has `hops`, its distance from the start, and
    the attributes in its URN. `graph.graph["truncated"]` says what was left out when a limit was
    reached, or when a server returned fewer edges of an entity than it counted; None when the graph
    is complete. Equal responses give equal graphs, edges in the same order.

    One request for an entity and direction, at most eight at once. Raises `InvalidInput` for
    less than one hop.
    """
    if hops < 1:
        raise InvalidInput(f"a walk goes at least one hop, not {hops}")
    start = Urn.parse(urn)
    sides: tuple[Direction, ...] = ("OUTGOING", "INCOMING") if direction == "BOTH" else (direction,)
    graph = nx.MultiDiGraph(root=str(start), direction=direction, hops=hops, truncated=None)
    graph.add_node(str(start), **identity(str(start)), hops=0)
    deadline = time.monotonic() + budget.seconds
    frontier = [start]
    cuts: dict[str, None] = {}
    for hop in range(1, hops + 1):
        following: list[Urn] = []
        for at in range(0, len(frontier), _AT_ONCE):
            if time.monotonic() > deadline:
                left = len(frontier) - at
                cuts[f"{budget.seconds:g} seconds were over, {left:,} entities not followed"] = None
                break
            here = frontier[at : at + _AT_ONCE]
            requests = [(one, side) for one in here for side in sides]
            answers = await gather_limited(
                (catalog.relationships(one, side, relationships) for one, side in requests),
                _AT_ONCE,
            )
            for (one, side), edges in zip(requests, answers, strict=True):
                following += _add(graph, one, side, edges, hop, budget.nodes, cuts)
        frontier = following
        if not frontier:
            break
    graph.graph["truncated"] = "; ".join(cuts) or None
    return graph


def _add(
    graph: "nx.MultiDiGraph",
    source: Urn,
    side: Direction,
    edges: Edges,
    hop: int,
    most: int,
    cuts: dict[str, None],
) -> list[Urn]:
    """Add edges to the graph; return the entities that are new in it."""
    found = []
    if len(edges.edges) < edges.total:
        graph.nodes[str(source)]["edges_left_out"] = edges.total - len(edges.edges)
        cuts["not every edge of every entity was given"] = None
    for edge in edges.edges:
        other = str(edge.urn)
        if other not in graph:
            if len(graph) >= most:
                cuts[f"{most:,} entities are the limit"] = None
                continue
            graph.add_node(other, **identity(other), hops=hop)
            found.append(edge.urn)
        ends = (str(source), other) if side == "OUTGOING" else (other, str(source))
        graph.add_edge(*ends, key=edge.relationship, relationship=edge.relationship)
    return found
