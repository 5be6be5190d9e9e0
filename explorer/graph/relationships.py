"""The entities within some hops along any relationships, as a graph.

An edge goes from the entity that declares it to the one it points at, under the relationship's
name as its key: `graph["urn:li:dataset:…"]["urn:li:corpuser:jdoe"]["OwnedBy"]`.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import networkx as nx

from explorer.client.connection import gather_limited
from explorer.client.records import Direction, Edges
from explorer.errors import InvalidInput
from explorer.graph.nodes import identity
from explorer.metadata.urn import Urn

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog

__all__ = ["Side", "WalkLimits", "walk"]

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
