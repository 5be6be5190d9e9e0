"""Lineage as a graph, and the entities within some hops along any relationships as a graph.

Edges of lineage point in the direction of the data, from upstream to downstream. Edges of other
relationships point from the entity that declares them, with the relationship's name as their key:
`graph["urn:li:dataset:…"]["urn:li:corpuser:jdoe"]["OwnedBy"]`. The attributes of a graph of
lineage, in `graph.graph`:

root         the URN at which it begins
direction    UPSTREAM, DOWNSTREAM or BOTH
hops         the maximum number of hops
total        the number of entities counted by the server, if it counts
truncated    why the traversal stopped early, in words; None if it is complete

Its nodes are URNs, with the attributes of `explorer.graph.nodes`, and

hops         the distance from the root, negative for upstream; 0 is the root
exists       false if it is only referenced; absent if the server does not say
removed      true if it is soft-deleted; absent if the server does not say
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
    """A `DiGraph` that can be filled with a whole lineage result at once.

    Tens of thousands of nodes are common, and adding each with networkx's methods takes twice as
    long as everything before; so its documented dictionaries are filled directly.
    """

    def fill(self, lineage: Lineage) -> None:
        """Add a lineage result to the empty graph."""
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
                # Both dictionaries share the attributes, as in networkx itself.
                below[up][target] = above[down][urns[up]] = {"relationship": names[kind]}
            else:
                held["relationship"] = _joined(held["relationship"], names[kind])


@contextmanager
def _without_pauses(nodes: int) -> Iterator[None]:
    """Suspend the garbage collector while a large graph is filled.

    It would scan the graph repeatedly, which takes half of the time, and nothing in it is garbage.
    """
    if nodes < _LARGE or not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def lineage_graph(lineage: Lineage, *, multi: bool = False) -> "nx.DiGraph":
    """Return the graph of a lineage result. No requests.

    The attribute `relationship` of an edge is the name of its relationship; several are joined by
    ", ". With `multi` it is a `MultiDiGraph` with one edge for each relationship, with its name as
    key.
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
    """Yield the attributes of each node, in order."""
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
    """Return the graph of the upstream and downstream lineage of one root. No requests.

    An entity in a cycle is on both sides; it keeps the smaller number of hops, the downstream one
    if they are equal.
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
    """Return the lineage of an entity as a graph.

    `limit` (entities for each direction) and `budget_seconds` limit the traversal;
    `graph.graph["truncated"]` says if a limit was reached. `with_details` reads owners, tags and
    descriptions of every node. One request for each direction if the server traverses lineage, and
    one for each hundred nodes with details.
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
    """The limits of a traversal: entities in the graph, and seconds."""

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
    """Return the entities up to `hops` relationships away, as a `MultiDiGraph`.

    Follows the given relationships, or all in the model. OUTGOING follows them from the entity that
    declares them, INCOMING in the opposite direction. Every node has `hops`, its distance from the
    start, and the attributes in its URN. `graph.graph["truncated"]` says what was left out if a
    limit was reached, or if a server returned fewer edges of an entity than it counted; `None` if
    the graph is complete. Equal answers give equal graphs, with edges in the same order. One
    request for each entity and direction, at most eight concurrently. Raises `InvalidInput` for
    less than one hop.
    """
    if hops < 1:
        raise InvalidInput(f"hops must be at least 1, not {hops}")
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
