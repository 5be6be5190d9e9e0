"""Walking along lineage breadth first, and lineage as lists of entities and edges.

An answer of tens of thousands of entities is mostly names. In the lists each URN is written once,
every edge is the places of its ends, and an entity has its URN, its degree and two short lists.
"""

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Generic, Literal, Protocol, TypeVar

from msgspec import Struct

__all__ = [
    "EVERY_HOP",
    "MOST",
    "Graph",
    "KnownUrn",
    "LineageLimits",
    "LineageLists",
    "Truncation",
    "WalkResult",
    "list_lineage",
    "walk",
]

N = TypeVar("N", int, str)
Truncation = Literal["nodes", "edges", "time"]

EVERY_HOP = 2**31


@dataclass(frozen=True, slots=True)
class LineageLimits:
    """How far a walk may go before it stops and says so; only `hops` is what was asked for."""

    hops: int = EVERY_HOP
    nodes: int = 40_000
    edges: int = 400_000
    seconds: float = 10.0


# The most that may be asked for.
MOST = LineageLimits(nodes=250_000, edges=2_000_000, seconds=30.0)


class KnownUrn(Struct, frozen=True):
    """A URN that is stored or pointed at; `exists` when an entity stands behind it."""

    urn: str
    entity_type: str
    exists: bool


class Graph(Protocol[N]):
    """Where a walk goes: one question a hop."""

    def hop(self, frontier: Sequence[N], limit: int) -> list[tuple[N, N, str]]:
        """The edges that lead on from the nodes, at most `limit`, as (from, to, relationship)."""


@dataclass(frozen=True, slots=True)
class WalkResult(Generic[N]):
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


def walk(start: N, graph: Graph[N], limits: LineageLimits) -> WalkResult[N]:
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
    return WalkResult(start, degrees, levels, truncated)


@dataclass(frozen=True, slots=True)
class LineageLists:
    """What a walk reached.

    `entities` holds the start and then every entity reached, nearest first, `degrees` how far away
    each is. An edge is one place in `upstream`, `downstream` and `relationships`: the first two
    are the places of its ends in `entities`, the third that of its name in `names`. `missing` are
    the places of the entities that are only pointed at, `removed` of those soft-deleted, `wanted`
    of those that a narrowing took, nothing where there was none.
    """

    entities: list[str]
    degrees: list[int]
    upstream: list[int]
    downstream: list[int]
    relationships: list[int]
    names: list[str]
    missing: list[int]
    removed: list[int]
    wanted: list[int] | None = None
    truncated: str | None = None

    @property
    def total(self) -> int:
        """How many entities were asked for and found."""
        return len(self.entities) - 1 if self.wanted is None else len(self.wanted)


def list_lineage(
    walked: WalkResult[N],
    named: dict[N, KnownUrn],
    find_removed: Callable[[Sequence[str]], Collection[str]],
    *,
    upstream: bool,
    wanted: Sequence[N] | None,
    truncated: str | None,
) -> LineageLists:
    """Put a walk into lists; about 1 µs an edge, and what `find_removed` takes."""
    places = {node: at for at, node in enumerate(walked.degrees)}
    known = list(map(named.__getitem__, places))
    urns = [one.urn for one in known]
    edges = walked.edges()
    removed = find_removed(urns)
    # No step of the interpreter for each edge: there may be two million.
    near = list(map(places.__getitem__, map(itemgetter(0), edges)))
    far = list(map(places.__getitem__, map(itemgetter(1), edges)))
    kinds: list[str] = list(map(itemgetter(2), edges))
    names = sorted(set(kinds))
    kind_places = {name: at for at, name in enumerate(names)}
    return LineageLists(
        entities=urns,
        degrees=list(walked.degrees.values()),
        upstream=far if upstream else near,
        downstream=near if upstream else far,
        relationships=list(map(kind_places.__getitem__, kinds)),
        names=names,
        missing=[at for at, one in enumerate(known) if not one.exists],
        removed=[at for at, urn in enumerate(urns) if urn in removed] if removed else [],
        wanted=None if wanted is None else [places[node] for node in wanted],
        truncated=truncated,
    )
