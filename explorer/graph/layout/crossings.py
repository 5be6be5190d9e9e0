"""How many edges cross between two layers, counted in O(edges * log nodes)."""

from bisect import bisect_right
from collections.abc import Sequence

__all__ = ["count_between", "count_crossings"]

# Up to so many edges, moving those that end later aside is cheaper than any tree.
_FEW = 4_000


def count_between(ends: Sequence[int], width: int) -> int:
    """Crossings among edges given by the places of their far ends, 0 to `width` - 1.

    The edges come sorted by their near end, then by their far end. Two of them cross when the later
    one ends before the earlier one: the ends are kept in order, or where they are many summed in an
    accumulator tree (Barth, Jünger and Mutzel 2002).
    """
    if len(ends) <= _FEW:
        met: list[int] = []
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
        at = end + first
        tree[at] += 1
        while at > 0:
            if at & 1:
                total += tree[at + 1]
            at = (at - 1) >> 1
            tree[at] += 1
    return total


def count_crossings(
    layers: Sequence[Sequence[int]], after: Sequence[Sequence[int]], places: Sequence[int]
) -> int:
    """Crossings between all neighbouring layers.

    `after` holds for each element those it leads to in the next layer, `places` the place of each
    element in its own layer.
    """
    total = 0
    for at in range(len(layers) - 1):
        ends: list[int] = []
        for element in layers[at]:
            targets = after[element]
            if len(targets) == 1:
                ends.append(places[targets[0]])
            elif targets:
                ends.extend(sorted([places[target] for target in targets]))
        total += count_between(ends, len(layers[at + 1]))
    return total
