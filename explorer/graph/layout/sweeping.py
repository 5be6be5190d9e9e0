"""Sweeps: every layer sorted by where its neighbours in the layer before, or after, stand."""

from collections.abc import Sequence
from typing import Literal

from explorer.graph.layout.arrangement import Arrangement

__all__ = ["Middle", "sweep"]

Middle = Literal["mean", "median"]

_ROUNDS = 8
_PATIENCE = 2


def sweep(arrangement: Arrangement, middle: Middle) -> int:
    """Sort there and back until it no longer helps; the best order met is taken. Its crossings."""
    best, least = arrangement.copy_layers(), arrangement.count()
    stale = 0
    mesh = arrangement.mesh
    last = mesh.depth - 1
    for turn in range(_ROUNDS):
        # Elements that stand level change places every other round.
        swap = turn % 2 == 0
        for at in range(1, last + 1):
            _sort(arrangement, at, mesh.before, middle, swap)
        for at in range(last - 1, -1, -1):
            _sort(arrangement, at, mesh.after, middle, swap)
        crossings = arrangement.count()
        stale += 1
        if crossings < least:
            best, least, stale = arrangement.copy_layers(), crossings, 0
        if not least or stale >= _PATIENCE or arrangement.effort <= 0:
            break
    arrangement.arrange(best)
    return least


def _sort(
    arrangement: Arrangement,
    at: int,
    links: Sequence[Sequence[int]],
    middle: Middle,
    swap: bool,
) -> None:
    """Sort one layer; elements without neighbours on that side stay where they are."""
    layer = arrangement.layers[at]
    places = arrangement.places
    arrangement.effort -= 2 * len(layer)
    keys: dict[int, float] = {}
    for element in layer:
        near = links[element]
        if len(near) == 1:
            keys[element] = places[near[0]]
        elif near and middle == "mean":
            keys[element] = sum([places[one] for one in near]) / len(near)
        elif near:
            stands = sorted([places[one] for one in near])
            half = len(stands) // 2
            keys[element] = (stands[half] + stands[~half]) / 2
    drawn = [element for element in layer if element in keys]
    if swap:
        drawn.reverse()
    drawn.sort(key=keys.__getitem__)
    if len(drawn) < len(layer):
        rest = iter(drawn)
        layer[:] = [next(rest) if element in keys else element for element in layer]
    else:
        layer[:] = drawn
    arrangement.renew(layer)
