"""Breadth-first walks along lineage, and lineage as lists of entities and edges.

An answer of tens of thousands of entities consists mostly of URNs. In the lists each URN occurs
once, and everything else refers to it by its index.
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
    "LineageLimits",
    "LineageLists",
    "Truncation",
    "WalkResult",
    "WalkedEntity",
    "list_lineage",
    "walk",
]

N = TypeVar("N", int, str)
Truncation = Literal["nodes", "edges", "time"]

EVERY_HOP = 2**31


@dataclass(frozen=True, slots=True)
class LineageLimits:
    """The limits of a walk. A walk that ends after `hops` is complete; a walk that any other limit
    ends is truncated."""

    hops: int = EVERY_HOP
    nodes: int = 40_000
    edges: int = 400_000
    seconds: float = 10.0


# The highest limits that a request may ask for.
MOST = LineageLimits(nodes=250_000, edges=2_000_000, seconds=30.0)


class WalkedEntity(Struct, frozen=True):
    """The URN of an entity. `exists` is false if it is only referenced."""

    urn: str
    entity_type: str
    exists: bool


class Graph(Protocol[N]):
    """A graph that can be walked; each hop of a walk is one call."""

    def hop(self, frontier: Sequence[N], limit: int) -> list[tuple[N, N, str]]:
        """Return the edges that lead on from the nodes as (from, to, relationship), at most
        `limit`."""


@dataclass(frozen=True, slots=True)
class WalkResult(Generic[N]):
    """The result of a walk.

    `degrees` maps the start (0) and every node reached to the length of the shortest path to it,
    nearest first, nodes at the same distance sorted. `levels` holds the edges that each hop found,
    including those that lead back to known nodes. `truncated` is the limit that ended the walk
    before it was complete, None if it is complete.
    """

    start: N
    degrees: dict[N, int]
    levels: list[list[tuple[N, N, str]]]
    truncated: Truncation | None

    def reached(self) -> list[N]:
        """Return every node but the start, nearest first."""
        return list(self.degrees)[1:]

    def edges(self) -> list[tuple[N, N, str]]:
        """Return every edge between reached nodes once, in the order found."""
        # Edges from a node are fetched in one hop only, so an edge repeats only within a level.
        found = [edge for level in self.levels for edge in dict.fromkeys(level)]
        if self.truncated == "nodes":
            return [edge for edge in found if edge[1] in self.degrees]
        return found

    def is_explored(self, node: N) -> bool:
        """Return whether the walk followed the edges that lead on from the node."""
        return self.degrees[node] < len(self.levels)

    def trace(self, wanted: Collection[N]) -> "Trace[N]":
        """Return the shortest paths to some of the nodes; takes one pass over the edges."""
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
    """The shortest paths to some nodes. `parents` maps each node to those one hop nearer to the
    start, with the relationships of the edges from them; `met` maps a node to every distance at
    which the walk met it."""

    start: N
    parents: dict[N, dict[N, dict[str, None]]]
    met: dict[N, set[int]] = field(default_factory=dict)

    def relationships(self, node: N) -> list[str]:
        """Return the relationships of the last edges of the shortest paths to the node, sorted."""
        return sorted({name for names in self.parents[node].values() for name in names})

    def paths(self, node: N, limit: int) -> list[tuple[N, ...]]:
        """Return the shortest paths from the start to the node, both included, at most `limit`."""
        found: list[tuple[N, ...]] = []
        # Paths are built backwards, from the node.
        open_ends: list[list[N]] = [[node]]
        while open_ends and len(found) < limit:
            path = open_ends.pop()
            if path[-1] == self.start:
                found.append(tuple(reversed(path)))
            else:
                # Every parent leads to the start, so `limit` of them are enough.
                nearer = sorted(self.parents[path[-1]])[:limit]
                for parent in reversed(nearer):
                    longer = path.copy()
                    longer.append(parent)
                    open_ends.append(longer)
        return found


def walk(start: N, graph: Graph[N], limits: LineageLimits) -> WalkResult[N]:
    """Walk from a node, hop by hop, until nothing new is found or a limit is reached.

    A node is visited once, so cycles end. Each hop is one call to the graph. The time limit is
    checked between hops.
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
    """The result of a walk as lists.

    `entities` holds the URNs of the start and of every entity reached, nearest first, and `degrees`
    the distance of each in hops. The edges are three lists of the same length: `upstream` and
    `downstream` hold the indexes of the edge's ends in `entities`, `relationships` the index of its
    name in `names`. `missing`, `removed` and `wanted` are indexes in `entities`: of entities that
    are only referenced, of soft-deleted ones, and of those that the filter accepted. `wanted` is
    None without a filter. `truncated` says in a few words why the result is incomplete.
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
        """The number of entities that the filter accepted, or of all reached without a filter."""
        return len(self.entities) - 1 if self.wanted is None else len(self.wanted)


def list_lineage(
    walked: WalkResult[N],
    named: dict[N, WalkedEntity],
    find_removed: Callable[[Sequence[str]], Collection[str]],
    *,
    upstream: bool,
    wanted: Sequence[N] | None,
    truncated: str | None,
) -> LineageLists:
    """Return a walk as lists; takes about 1 µs per edge, and the time of `find_removed`."""
    places = {node: at for at, node in enumerate(walked.degrees)}
    known = list(map(named.__getitem__, places))
    urns = [one.urn for one in known]
    edges = walked.edges()
    removed = find_removed(urns)
    # Mapped in C, without a Python loop over the edges: there may be two million.
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
