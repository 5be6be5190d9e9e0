"""How many entities are made from each, at any distance: for all of a catalog at once.

Walking from every entity by itself costs as much as all walks together have edges. Here every edge
is looked at once for some thousand entities at a time: what an entity reaches is a set of bits, the
union of what those right below it reach. Entities that are made from one another, in a circle,
reach the same and are one.
"""

from collections.abc import Iterable, Sequence

__all__ = ["count_downstream"]

# So many entities are bits of one number, which is 1 kB.
_BLOCK = 8_192


def count_downstream(edges: Iterable[tuple[int, int]]) -> dict[int, int]:
    """Return how many others each node reaches along edges (from, to); about 0.3 µs for each edge
    and 8,000 nodes, and 1 kB a node."""
    below: dict[int, list[int]] = {}
    for near, far in edges:
        if near != far:
            below.setdefault(near, []).append(far)
            below.setdefault(far, [])
    groups = _circles(below)
    group_of = {node: at for at, nodes in enumerate(groups) for node in nodes}
    # Groups come after all that they reach.
    further = [
        sorted({group_of[far] for node in nodes for far in below[node]} - {at})
        for at, nodes in enumerate(groups)
    ]
    sizes = list(map(len, groups))
    counts = [0] * len(groups)
    for begin, end in _blocks(sizes):
        reached = [0] * len(groups)
        offset = 0
        for at in range(begin, len(groups)):
            bits = 0
            if at < end:
                bits = ((1 << sizes[at]) - 1) << offset
                offset += sizes[at]
            for other in further[at]:
                bits |= reached[other]
            reached[at] = bits
            counts[at] += bits.bit_count()
    return {node: counts[at] - 1 for node, at in group_of.items()}


def _blocks(sizes: Sequence[int]) -> Iterable[tuple[int, int]]:
    """Stretches of groups of about so many nodes that one number holds them."""
    begin, held = 0, 0
    for at, size in enumerate(sizes):
        if held and held + size > _BLOCK:
            yield begin, at
            begin, held = at, 0
        held += size
    if held:
        yield begin, len(sizes)


def _circles(below: dict[int, list[int]]) -> list[list[int]]:
    """The nodes in groups that reach each other (Tarjan's algorithm), every group after those that
    it reaches."""
    order: dict[int, int] = {}
    lowest: dict[int, int] = {}
    stack: list[int] = []
    is_open: set[int] = set()
    groups: list[list[int]] = []
    for root, right_below in below.items():
        if root in order:
            continue
        order[root] = lowest[root] = len(order)
        stack.append(root)
        is_open.add(root)
        work = [(root, iter(right_below))]
        while work:
            node, rest = work[-1]
            for far in rest:
                if far not in order:
                    order[far] = lowest[far] = len(order)
                    stack.append(far)
                    is_open.add(far)
                    work.append((far, iter(below[far])))
                    break
                if far in is_open:
                    lowest[node] = min(lowest[node], order[far])
            else:
                work.pop()
                if work:
                    above = work[-1][0]
                    lowest[above] = min(lowest[above], lowest[node])
                if lowest[node] == order[node]:
                    group: list[int] = []
                    while not group or group[-1] != node:
                        group.append(stack.pop())
                        is_open.discard(group[-1])
                    groups.append(group)
    return groups
