"""How many edges cross between two layers, counted in O(edges * log nodes)."""

from bisect import bisect_right
from collections.abc import Sequence

__all__ = ["count_between"]

# Up to so many edges, moving those that end later aside is cheaper than any tree.
_FEW = 4_000


def count_between(ends: Sequence[float], width: int) -> int:
    """Crossings among edges given by the places of their far ends, 0 to `width` - 1.

    The edges come sorted by their near end, then by their far end. Two of them cross when the later
    one ends before the earlier one: the ends are kept in order, or where they are many summed in an
    accumulator tree (Barth, Jünger and Mutzel 2002).
    """
    if len(ends) <= _FEW:
        met: list[float] = []
        crossings = 0
        for count, end in enumerate(ends):
            at = bisect_right(met, end)
            crossings += count - at
            met.insert(at, end)
        return crossings
    first = 1
    while first < width:
        first *= 2
    first -= 1
    tree = [0] * (2 * first + 1)
    total = 0
    for end in ends:
        at = int(end) + first
        tree[at] += 1
        while at > 0:
            if at & 1:
                total += tree[at + 1]
            at = (at - 1) >> 1
            tree[at] += 1
    return total
