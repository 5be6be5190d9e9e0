"""Lineage as a graph: breadth-first walks, their results as lists of entities and edges, and the
number of entities downstream of each.

An answer of tens of thousands of entities consists mostly of URNs. In the lists each URN occurs
once, and everything else refers to it by its index.

The number of entities downstream of each, at any distance, is computed for all at once: separate
walks would visit most edges many times. Instead, the bits of one number for each node record which
members of a block of entities it reaches, and these numbers are passed on against the edges, only
to the nodes upstream of the block. A node that reaches more than `MOST_DOWNSTREAM` others passes
nothing on: everything upstream of it reaches more than that too.

A million datasets with two million edges take 10 seconds and 45 MB if most of them come from one
that is nearby; 200 seconds and 55 MB if they come from random ones, in twenty layers. The graph is
held in arrays, in which an edge takes 4 bytes; lists in a dict take ten times that.
"""

import time
from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import accumulate
from operator import itemgetter
from typing import Generic, Literal, NamedTuple, Protocol, TypeAlias, TypeVar

from msgspec import Struct

N = TypeVar("N", int, str)
Truncation = Literal["nodes", "edges", "time"]

EVERY_HOP = 2**31


@dataclass(frozen=True, slots=True)
class LineageLimits:
    """The limits of a walk. A walk that stops after `hops` is complete; a walk stopped by any other
    limit is truncated."""

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

    def reached_nodes(self) -> list[N]:
        """Return every node but the start, nearest first."""
        return list(self.degrees)[1:]

    def edges(self) -> list[tuple[N, N, str]]:
        """Return every edge between reached nodes once, in the order found."""
        # Edges from a node are fetched in one hop only, so an edge repeats only within a level.
        edges = [edge for level in self.levels for edge in dict.fromkeys(level)]
        if self.truncated == "nodes":
            return [edge for edge in edges if edge[1] in self.degrees]
        return edges

    def is_explored(self, node: N) -> bool:
        """Return whether the walk followed the edges that lead on from the node."""
        return self.degrees[node] < len(self.levels)

    def trace(self, nodes: Collection[N]) -> "Trace[N]":
        """Return the shortest paths to some of the nodes; takes one pass over the edges."""
        trace = Trace(self.start, {node: {} for node in nodes})
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
        paths: list[tuple[N, ...]] = []
        # Paths are built backwards, from the node.
        open_ends: list[list[N]] = [[node]]
        while open_ends and len(paths) < limit:
            path = open_ends.pop()
            if path[-1] == self.start:
                paths.append(tuple(reversed(path)))
            else:
                # Every parent leads to the start, so `limit` of them are enough.
                nearer = sorted(self.parents[path[-1]])[:limit]
                for parent in reversed(nearer):
                    longer = path.copy()
                    longer.append(parent)
                    open_ends.append(longer)
        return paths


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
        hop = graph.hop(frontier, room + 1)
        if len(hop) > room:
            truncated = "edges"
            del hop[room:]
        room -= len(hop)
        levels.append(hop)
        fresh = sorted({far for _, far, _ in hop} - degrees.keys())
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
    name in `names`. `missing` and `removed` are indexes in `entities`: of entities that are only
    referenced, and of soft-deleted ones. `truncated` says in a few words why the result is
    incomplete.
    """

    entities: list[str]
    degrees: list[int]
    upstream: list[int]
    downstream: list[int]
    relationships: list[int]
    names: list[str]
    missing: list[int]
    removed: list[int]
    truncated: str | None = None


def list_lineage(
    walked: WalkResult[N],
    entities_by_node: dict[N, WalkedEntity],
    find_removed: Callable[[Sequence[str]], Collection[str]],
    *,
    upstream: bool,
    truncated: str | None,
) -> LineageLists:
    """Return a walk as lists; takes about 1 µs per edge, and the time of `find_removed`."""
    places = {node: at for at, node in enumerate(walked.degrees)}
    entities = list(map(entities_by_node.__getitem__, places))
    urns = [entity.urn for entity in entities]
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
        missing=[at for at, entity in enumerate(entities) if not entity.exists],
        removed=[at for at, urn in enumerate(urns) if urn in removed] if removed else [],
        truncated=truncated,
    )


MOST_DOWNSTREAM = 10_000
"""A dataset with more downstream entities is ranked as if it had this many."""

# The number of bits of one number; fewer if there are very many nodes, so that all numbers together
# take at most 64 MB.
_BLOCK = 8_192
_LEAST_BLOCK = 256
_MOST_BITS = 8 * 64 * 1024 * 1024

_Ints: TypeAlias = "array[int]"


class _Edges(NamedTuple):
    """The edges of a graph, grouped by the node that they leave: those of a node `at` are
    `targets[starts[at] : starts[at + 1]]`."""

    starts: _Ints
    targets: _Ints

    def of(self, at: int) -> _Ints:
        return self.targets[self.starts[at] : self.starts[at + 1]]


def count_downstream(
    edges: Iterable[tuple[Iterable[int], Iterable[int]]],
    is_over: Callable[[], bool] = lambda: False,
) -> "array[int]":
    """Return how many other nodes each node reaches along edges, `MOST_DOWNSTREAM` + 1 at most.

    The edges are given in parts, each as two columns, from and to. Nodes are small numbers, such as
    the handles of a store: the result is indexed by them. It takes 4 bytes for each number up to
    the highest; computing it takes about ten times that, and 12 bytes per edge. If `is_over`
    returns true, the counts computed so far are returned.
    """
    near, far = array("i"), array("i")
    for sources, targets in edges:
        near.extend(sources)
        far.extend(targets)
    size = max(max(near, default=-1), max(far, default=-1)) + 1
    below = _sort_edges(size, lambda: zip(near, far, strict=True))
    del near[:], far[:]
    group_of, sizes = _circles(size, below)

    def group_edges() -> Iterator[tuple[int, int]]:
        for node in range(size):
            group = group_of[node]
            for neighbour in below.of(node):
                if group_of[neighbour] != group:
                    yield group_of[neighbour], group

    counts = _count_groups(sizes, _sort_edges(len(sizes), group_edges), is_over)
    return array("i", (0 if group < 0 else max(0, counts[group] - 1) for group in group_of))


def _sort_edges(size: int, edges: Callable[[], Iterable[tuple[int, int]]]) -> _Edges:
    """Return edges (from, to) between `size` nodes, grouped by node; `edges` is called twice."""
    starts = array("i", bytes(4 * (size + 1)))
    for near, _ in edges():
        starts[near + 1] += 1
    starts = array("i", accumulate(starts))
    at = starts[:]
    targets = array("i", bytes(4 * starts[-1]))
    for near, far in edges():
        targets[at[near]] = far
        at[near] += 1
    return _Edges(starts, targets)


def _count_groups(sizes: _Ints, above: _Edges, is_over: Callable[[], bool]) -> _Ints:
    """Return how many nodes each group reaches, itself included, `MOST_DOWNSTREAM` + 2 at most.

    `sizes` are the numbers of nodes of the groups, ordered so that each group comes after those
    that it reaches; `above` are the edges from each group to those that reach it directly.
    """
    most = MOST_DOWNSTREAM + 2
    counts = array("i", bytes(4 * len(sizes)))
    for start, end in _blocks(sizes):
        if is_over():
            break
        reached: dict[int, int] = {}
        offset = 0
        for at in range(start, end):
            reached[at] = ((1 << sizes[at]) - 1) << offset
            offset += sizes[at]
        # A heap: the number of a group is complete once all lower groups have passed theirs on.
        waiting = list(range(start, end))
        while waiting:
            at = heappop(waiting)
            bits = reached.pop(at)
            if counts[at] == most:
                continue
            counts[at] += bits.bit_count()
            if counts[at] >= most:
                _mark_above(at, counts, above, most)
                continue
            for higher in above.of(at):
                if counts[higher] == most:
                    continue
                if higher in reached:
                    reached[higher] |= bits
                else:
                    reached[higher] = bits
                    heappush(waiting, higher)
    return counts


def _mark_above(at: int, counts: _Ints, above: _Edges, most: int) -> None:
    """Set the count of a group, and of all groups that reach it, to `most`."""
    counts[at] = most
    pending = [at]
    while pending:
        for higher in above.of(pending.pop()):
            if counts[higher] != most:
                counts[higher] = most
                pending.append(higher)


def _blocks(sizes: _Ints) -> Iterator[tuple[int, int]]:
    """Yield ranges of groups that together have at most a block's number of nodes, or consist of
    one larger group."""
    block = max(_LEAST_BLOCK, min(_BLOCK, _MOST_BITS // max(1, len(sizes))))
    start, node_count = 0, 0
    for at, size in enumerate(sizes):
        if node_count and node_count + size > block:
            yield start, at
            start, node_count = at, 0
        node_count += size
    if node_count:
        yield start, len(sizes)


def _circles(size: int, below: _Edges) -> tuple[_Ints, _Ints]:
    """Return the number of the strongly connected component of each node (-1 for a node without
    edges), and the sizes of the components (Tarjan's algorithm). Each component comes after those
    that it reaches."""
    starts, targets = below
    following = starts[:]
    # The position of each node in the order of visits, from 1, and the lowest position reached from
    # it.
    order, lowest = array("i", bytes(4 * size)), array("i", bytes(4 * size))
    group_of = array("i", [-1]) * size
    sizes = array("i")
    stack, path = array("i"), array("i")
    visited = 0
    for root in range(size):
        if order[root] or starts[root] == starts[root + 1]:
            continue
        path.append(root)
        while path:
            node = path[-1]
            if not order[node]:
                visited += 1
                order[node] = lowest[node] = visited
                stack.append(node)
            if following[node] < starts[node + 1]:
                target = targets[following[node]]
                following[node] += 1
                if not order[target]:
                    path.append(target)
                elif group_of[target] < 0:
                    lowest[node] = min(lowest[node], order[target])
                continue
            path.pop()
            if path:
                lowest[path[-1]] = min(lowest[path[-1]], lowest[node])
            if lowest[node] == order[node]:
                before = len(stack)
                while group_of[node] < 0:
                    group_of[stack.pop()] = len(sizes)
                sizes.append(before - len(stack))
    return group_of, sizes
