"""Walking along lineage breadth first, whatever the nodes are."""

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Generic, Literal, Protocol, TypeVar

__all__ = ["EVERY_HOP", "MOST", "Graph", "Limits", "Trace", "Truncation", "Walked", "walk"]

N = TypeVar("N", int, str)
Truncation = Literal["nodes", "edges", "time"]

EVERY_HOP = 2**31


@dataclass(frozen=True, slots=True)
class Limits:
    """How far a walk may go before it stops and says so; only `hops` is what was asked for."""

    hops: int = EVERY_HOP
    nodes: int = 40_000
    edges: int = 400_000
    seconds: float = 10.0


# The most that may be asked for.
MOST = Limits(nodes=250_000, edges=2_000_000, seconds=30.0)


class Graph(Protocol[N]):
    """Where a walk goes: one question a hop."""

    def hop(self, frontier: Sequence[N], limit: int) -> list[tuple[N, N, str]]:
        """The edges that lead on from the nodes, at most `limit`, as (from, to, relationship)."""


@dataclass(frozen=True, slots=True)
class Walked(Generic[N]):
    """What a walk reached.

    `degrees` holds the start (0) and every node reached with the length of the shortest way to
    it, nearer ones first, and equally near ones in the order of the nodes. `levels` holds, hop by
    hop, the edges that were found, also those back to nodes already known. `truncated` says which
    limit ended the walk before it was complete.
    """

    start: N
    degrees: dict[N, int]
    levels: list[list[tuple[N, N, str]]]
    truncated: Truncation | None

    def reached(self) -> list[N]:
        """Every node but the start."""
        return list(self.degrees)[1:]

    def edges(self) -> list[tuple[N, N, str]]:
        """Every edge between nodes that were reached, once, in the order found."""
        # An edge leads on from a node that was looked at once: it repeats within a level alone.
        found = [edge for level in self.levels for edge in dict.fromkeys(level)]
        if self.truncated == "nodes":
            return [edge for edge in found if edge[1] in self.degrees]
        return found

    def is_explored(self, node: N) -> bool:
        """Whether the edges that lead on from the node were looked at."""
        return self.degrees[node] < len(self.levels)

    def trace(self, wanted: Collection[N]) -> "Trace[N]":
        """The ways to some of the nodes; one pass over the edges."""
        trace = Trace(self.start, {node: {} for node in wanted})
        for degree in range(len(self.levels), 0, -1):
            for near, far, name in self.levels[degree - 1]:
                if far not in trace.parents or far == self.start:
                    continue
                trace.met.setdefault(far, set()).add(degree)
                if self.degrees[far] == degree:
                    trace.parents[far].setdefault(near, {})[name] = None
                    trace.parents.setdefault(near, {})
        return trace


@dataclass(slots=True)
class Trace(Generic[N]):
    """The shortest ways to some nodes. `parents` names those one step nearer, with the
    relationships that lead from them; `met` the degrees at which a node was met at all."""

    start: N
    parents: dict[N, dict[N, dict[str, None]]]
    met: dict[N, set[int]] = field(default_factory=dict)

    def relationships(self, node: N) -> list[str]:
        """By which relationships the node was reached, sorted."""
        return sorted({name for names in self.parents[node].values() for name in names})

    def paths(self, node: N, limit: int) -> list[tuple[N, ...]]:
        """The shortest paths from the start to the node, both included, at most `limit`."""
        found: list[tuple[N, ...]] = []
        # Paths are put together backwards, from the node.
        open_ends: list[list[N]] = [[node]]
        while open_ends and len(found) < limit:
            path = open_ends.pop()
            if path[-1] == self.start:
                found.append(tuple(reversed(path)))
            else:
                # Every parent leads to the start, so no more of them than paths can be of use.
                nearer = sorted(self.parents[path[-1]])[:limit]
                for parent in reversed(nearer):
                    longer = path.copy()
                    longer.append(parent)
                    open_ends.append(longer)
        return found


def walk(start: N, graph: Graph[N], limits: Limits) -> Walked[N]:
    """Go from a node hop by hop until there is nothing new, or a limit is met.

    A node is visited once, so cycles end. Every hop is one question to the graph. The time limit
    is looked at between hops.
    """
    degrees: dict[N, int] = {start: 0}
    levels: list[list[tuple[N, N, str]]] = []
    frontier = [start]
    deadline = time.monotonic() + limits.seconds
    room = limits.edges
    truncated: Truncation | None = None
    while frontier and len(levels) < limits.hops and truncated is None:
        if time.monotonic() >= deadline:
            truncated = "time"
            break
        found = graph.hop(frontier, room + 1)
        if len(found) > room:
            truncated = "edges"
            del found[room:]
        room -= len(found)
        levels.append(found)
        fresh = sorted({far for _, far, _ in found} - degrees.keys())
        if len(degrees) - 1 + len(fresh) > limits.nodes:
            truncated = "nodes"
            del fresh[limits.nodes + 1 - len(degrees) :]
        degrees.update(dict.fromkeys(fresh, len(levels)))
        frontier = fresh
    return Walked(start, degrees, levels, truncated)
