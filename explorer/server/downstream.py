"""How many entities are downstream of each entity, at any distance, computed for all at once.

Separate walks would visit most edges many times. Instead, which members of a block of entities a
node reaches is kept in the bits of one number, and these numbers are passed on against the edges,
to those upstream of the block only. A node that reaches more than `MOST_DOWNSTREAM` others passes
nothing on: everything upstream of it reaches more than that too.

A million datasets with two million edges take 10 seconds and 45 MB if most of them come from one
that is nearby; 200 seconds and 55 MB if they come from random ones, in twenty layers. The graph is
held in arrays, in which an edge takes 4 bytes; lists in a dict take ten times that.
"""

from array import array
from collections.abc import Callable, Iterable, Iterator
from heapq import heappop, heappush
from itertools import accumulate
from typing import NamedTuple, TypeAlias

__all__ = ["MOST_DOWNSTREAM", "count_downstream"]

MOST_DOWNSTREAM = 10_000
"""A dataset with more downstream entities is ranked as if it had this many."""

# The bits of one number; fewer with very many nodes, so that all numbers take at most 64 MB.
_BLOCK = 8_192
_LEAST_BLOCK = 256
_MOST_BITS = 8 * 64 * 1024 * 1024

_Ints: TypeAlias = "array[int]"


class _Edges(NamedTuple):
    """The edges of a graph by the node that they lead from: those of a node `at` are
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

    The edges are given some at a time, each time as two columns, from and to. Nodes are small
    numbers, such as the handles of a store: the result is indexed by them. It takes 4 bytes for
    each number up to the highest, and computing it about ten times that, and 12 bytes per edge. If
    `is_over` returns true, the counts are returned as far as they are.
    """
    near, far = array("i"), array("i")
    for sources, targets in edges:
        near.extend(sources)
        far.extend(targets)
    size = max(max(near, default=-1), max(far, default=-1)) + 1
    below = _sorted_edges(size, lambda: zip(near, far, strict=True))
    del near[:], far[:]
    group_of, sizes = _circles(size, below)

    def between_groups() -> Iterator[tuple[int, int]]:
        for node in range(size):
            group = group_of[node]
            for other in below.of(node):
                if group_of[other] != group:
                    yield group_of[other], group

    counts = _count_groups(sizes, _sorted_edges(len(sizes), between_groups), is_over)
    return array("i", (0 if group < 0 else max(0, counts[group] - 1) for group in group_of))


def _sorted_edges(size: int, edges: Callable[[], Iterable[tuple[int, int]]]) -> _Edges:
    """Return edges (from, to) between `size` nodes by node; `edges` is called twice."""
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

    `sizes` are the numbers of nodes of the groups, each of which comes after those that it reaches,
    and `above` are the edges to the groups that reach one directly.
    """
    most = MOST_DOWNSTREAM + 2
    counts = array("i", bytes(4 * len(sizes)))
    for begin, end in _blocks(sizes):
        if is_over():
            break
        reached: dict[int, int] = {}
        offset = 0
        for at in range(begin, end):
            reached[at] = ((1 << sizes[at]) - 1) << offset
            offset += sizes[at]
        # A heap: the numbers of a group are complete when those of lower groups were passed on.
        waiting = list(range(begin, end))
        while waiting:
            at = heappop(waiting)
            bits = reached.pop(at)
            if counts[at] == most:
                continue
            counts[at] += bits.bit_count()
            if counts[at] >= most:
                _mark_above(at, counts, above, most)
                continue
            for other in above.of(at):
                if counts[other] == most:
                    continue
                if other in reached:
                    reached[other] |= bits
                else:
                    reached[other] = bits
                    heappush(waiting, other)
    return counts


def _mark_above(at: int, counts: _Ints, above: _Edges, most: int) -> None:
    """Set the count of a group, and of all that reach it, to `most`."""
    counts[at] = most
    left = [at]
    while left:
        for other in above.of(left.pop()):
            if counts[other] != most:
                counts[other] = most
                left.append(other)


def _blocks(sizes: _Ints) -> Iterator[tuple[int, int]]:
    """Yield ranges of groups that have at most a block's number of nodes together, or one larger
    group."""
    block = max(_LEAST_BLOCK, min(_BLOCK, _MOST_BITS // max(1, len(sizes))))
    begin, held = 0, 0
    for at, size in enumerate(sizes):
        if held and held + size > block:
            yield begin, at
            begin, held = at, 0
        held += size
    if held:
        yield begin, len(sizes)


def _circles(size: int, below: _Edges) -> tuple[_Ints, _Ints]:
    """Return the strongly connected component of each node (-1 for a node without edges), and the
    sizes of these (Tarjan's algorithm). Each comes after those that it reaches."""
    starts, targets = below
    following = starts[:]
    # The order in which nodes were visited, from 1, and the lowest that is reached from each.
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
                other = targets[following[node]]
                following[node] += 1
                if not order[other]:
                    path.append(other)
                elif group_of[other] < 0:
                    lowest[node] = min(lowest[node], order[other])
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
