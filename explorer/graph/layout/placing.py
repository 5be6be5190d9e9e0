"""Where elements stand across their layers: straight edges, and room between the boxes."""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate, pairwise
from math import inf
from operator import mul, sub

from explorer.graph.layout.mesh import Mesh

__all__ = ["place_across"]

_ROUNDS = 6
# Of many elements, where more no longer paid.
_MANY = 100
_ROUNDS_OF_MANY = 3

_Plan = list[tuple[int, float, list[int], int]]


def place_across(
    mesh: Mesh,
    layers: Sequence[Sequence[int]],
    rooms: Sequence[Sequence[float]],
    whole: bool = False,
) -> list[float]:
    """The place of each element across its layer, where its edges begin and end.

    `rooms[layer][n]` is the least distance of element n of the layer from the one before; the first
    has none. What is made small is the sum of how far edges climb, those between bends weighing
    most: layer by layer exactly, over a few rounds there and back, the best round kept. With
    `whole`, all places are whole numbers if the rooms are. O(edges * log edges) a round.
    """
    places: list[float] = [0] * len(mesh.layer)
    for layer, room in zip(layers, rooms, strict=True):
        stand: float = 0
        for element, apart in zip(layer, room, strict=True):
            stand += apart
            places[element] = stand
    offsets = [list(accumulate(room)) for room in rooms]
    # Edges weigh 1 between nodes, 4 between bends.
    firm = [1] * mesh.nodes + [2] * (len(places) - mesh.nodes)
    before, after = _weighted(mesh.before, firm), _weighted(mesh.after, firm)
    there = _plan(before, layers, offsets)[1:]
    back = _plan(after, layers, offsets)[-2::-1]
    steps = [*there, *back]
    best = list(places)
    climb = _Climb(mesh, firm)
    least = climb.measure(places)
    rounds = _ROUNDS if len(places) <= _MANY else _ROUNDS_OF_MANY
    for turn in range(rounds):
        if turn == rounds - 2:
            both = [near + far for near, far in zip(before, after, strict=True)]
            plans = _plan(both, layers, offsets)
            steps = [*plans[1:], *plans[-2::-1]]
            places = list(best)
        had = list(places)
        for plan in steps:
            _fit(plan, places, whole)
        if places == had:
            # Nor will it change in another round.
            continue
        measured = climb.measure(places)
        if measured < least:
            best, least = list(places), measured
    return best


def _weighted(links: Sequence[Sequence[int]], firm: Sequence[int]) -> list[list[int]]:
    """Each neighbour as often as its edge weighs: as firm as both its ends."""
    return [
        [other for other in near for _ in range(firm[other])] * firm[element]
        for element, near in enumerate(links)
    ]


def _plan(
    links: Sequence[list[int]],
    layers: Sequence[Sequence[int]],
    offsets: Sequence[Sequence[float]],
) -> list[_Plan]:
    """For each layer its elements, how far they are from the first, and what they hang on."""
    # An element without neighbours wishes to stay, one with a single one to be level with it.
    pulls = [near or [element] for element, near in enumerate(links)]
    copies = [len(near) if near.count(near[0]) == len(near) else 0 for near in pulls]
    return [
        [
            (element, offset, pulls[element], copies[element])
            for element, offset in zip(*layer, strict=True)
        ]
        for layer in zip(layers, offsets, strict=True)
    ]


class _Climb:
    """How far all edges climb."""

    def __init__(self, mesh: Mesh, firm: Sequence[int]) -> None:
        pairs = [(other, element) for element, near in enumerate(mesh.before) for other in near]
        self._starts = [start for start, _ in pairs]
        self._ends = [end for _, end in pairs]
        self._weights = [firm[start] * firm[end] for start, end in pairs]

    def measure(self, places: list[float]) -> float:
        ends = map(places.__getitem__, self._ends)
        climbs = map(abs, map(sub, ends, map(places.__getitem__, self._starts)))
        total: float = sum(map(mul, climbs, self._weights))
        return total


def _fit(plan: _Plan, places: list[float], whole: bool) -> None:
    """Move one layer to where its edges climb least, in its order and with its room.

    An isotonic regression: elements that would come too near each other are pooled into a block,
    and a block stands at the median of what its members wish for.
    """
    wishes: list[list[float]] = []
    stands: list[float] = []
    begins: list[int] = []
    last = -inf
    for at, (_, offset, near, copies) in enumerate(plan):
        begin = at
        if copies:
            stand = places[near[0]] - offset
            wish = [stand] * copies
        else:
            wish = sorted([places[other] - offset for other in near])
            stand = _median(wish, whole)
        while last > stand:
            pooled = wishes.pop()
            if copies and begin == at:
                # All the same, so they go in side by side.
                rank = bisect_right(pooled, stand)
                pooled[rank:rank] = wish
            else:
                pooled += wish
                pooled.sort()
            wish = pooled
            begin = begins.pop()
            stands.pop()
            stand = _median(wish, whole)
            last = stands[-1] if stands else -inf
        wishes.append(wish)
        stands.append(stand)
        begins.append(begin)
        last = stand
    begins.append(len(plan))
    for stand, (begin, end) in zip(stands, pairwise(begins), strict=True):
        for element, offset, _, _ in plan[begin:end]:
            places[element] = stand + offset


def _median(values: Sequence[float], whole: bool) -> float:
    half = len(values) >> 1
    middle = values[half] + values[~half]
    return middle // 2 if whole else middle / 2
