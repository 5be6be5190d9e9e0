"""Sifting: single elements moved past others of their layer while that takes crossings away.

How many crossings go when an element steps past another depends on where the ends of their edges
stand to each other. For every element of the neighbouring layers there is one large whole number,
its tilt, with a lane of bits for each element of the layer: how many of that one's edges end behind
it, less those that end before it. The tilts of all that an element is linked to add up, lane by
lane, to what it takes to step past each of the others.
"""

from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from struct import Struct

from explorer.graph.layout.arrangement import Arrangement

__all__ = ["Sifter"]

_ROUNDS = 30
# How far an element is tried from where it stands, chosen where more no longer paid.
_REACH = 8
_LANES = (("h", 16), ("i", 32), ("q", 64))
# Tilts take lanes by the product of two layers; where these are more, a layer is left as it was
# swept.
_MOST_LANES = 4_000_000


class Sifter:
    """Sifts the layers of an arrangement; what is the same in every order is prepared once."""

    def __init__(self, arrangement: Arrangement) -> None:
        self._arrangement = arrangement
        before, after = arrangement.before, arrangement.after
        self._around = [near + far for near, far in zip(before, after, strict=True)]
        self._rows = [self._row(at) for at in range(arrangement.depth)]
        bits = [bit for row in self._rows for bit in row.bits()]
        # Of each element, the lanes of those it leads to, and of those that lead to it.
        self._ahead = [sum([bits[other] for other in near]) for near in after]
        self._behind = [sum([bits[other] for other in near]) for near in before]
        self._tilts = [0] * len(bits)

    def _row(self, at: int) -> "_Row":
        starts = self._arrangement.starts
        start, end = starts[at : at + 2]
        bounds = starts[max(at - 1, 0) : at + 3]
        widest = max(far - near for near, far in pairwise(bounds))
        is_sifted = 1 < end - start <= _MOST_LANES // widest
        return _Row(end - start, max(map(len, self._around[start:end])), is_sifted)

    def sift(self, crossings: int, waiting: list[set[int]] | None = None) -> int:
        """Move elements both ways until no move helps or the effort is spent. The crossings left.

        `waiting` are the elements of each layer to begin with, all of them unless it is given.
        """
        arrangement = self._arrangement
        if waiting is None:
            waiting = [set(layer) for layer in arrangement.layers]
        order = list(range(arrangement.depth))
        for _ in range(_ROUNDS):
            if not any(waiting):
                break
            for at in order:
                if waiting[at] and arrangement.effort > 0:
                    crossings -= self._sift_layer(at, waiting)
            if arrangement.effort <= 0 or not crossings:
                break
            order.reverse()
        return crossings

    def _sift_layer(self, at: int, waiting: list[set[int]]) -> int:
        arrangement, row = self._arrangement, self._rows[at]
        layer = arrangement.layers[at]
        elements = [element for element in layer if element in waiting[at]]
        waiting[at] = set()
        if not row.is_sifted:
            return 0
        self._tilt(at)
        start = arrangement.starts[at]
        tilts, around, kept = self._tilts, self._around, arrangement.kept
        held, signs = arrangement.has_kept[at], row.signs
        lanes = [element - start for element in layer]
        gain = 0
        moved: list[int] = []
        for element in elements:
            here = lanes.index(element - start)
            low, high = max(here - _REACH, 0), here + _REACH + 1
            if held and kept[element] is not None:
                low, high = _free(lanes, here, low, high, kept, start)
            # A lane below zero borrows from the next; with its sign bit added, none does.
            tilt = sum([tilts[other] for other in around[element]], signs) ^ signs
            steps = row.unpack(tilt.to_bytes(row.length, "little"))
            # What is lost on the way up from the first place tried to each of the others.
            losses = list(accumulate(map(steps.__getitem__, lanes[low:high]), initial=0))
            least, at_first = min(losses), losses[here - low]
            if least < at_first:
                gain += at_first - least
                goal = low + losses.index(least)
                del lanes[here]
                lanes.insert(goal - (goal > here), element - start)
                moved.append(element)
        arrangement.effort -= _REACH * 2 * (len(elements) + 1)
        if moved:
            arrangement.put(at, [start + lane for lane in lanes])
            arrangement.add_near(waiting, at, moved)
        return gain

    def _tilt(self, at: int) -> None:
        """Make the tilts of the layers beside one, as seen from it."""
        arrangement, tilts = self._arrangement, self._tilts
        for beside, marks in ((at - 1, self._ahead), (at + 1, self._behind)):
            if not 0 <= beside < arrangement.depth:
                continue
            layer = arrangement.layers[beside]
            # Before the first element, all edges end behind.
            tilt = sum([marks[element] for element in layer])
            for element in layer:
                mark = marks[element]
                tilt -= mark
                tilts[element] = tilt
                tilt -= mark
            arrangement.effort -= len(layer)


class _Row:
    """Lanes for the elements of a layer in one whole number, wide enough for their edges.

    `unpack` reads what is in each lane from its `length` bytes; `signs` are the lanes' sign bits.
    """

    def __init__(self, size: int, most: int, is_sifted: bool) -> None:
        self.is_sifted = is_sifted
        self._size = size
        code, self._width = next(
            (code, width) for code, width in _LANES if 2 * most * most < 2 ** (width - 1)
        )
        self.unpack: Callable[[bytes], tuple[int, ...]] = Struct(f"<{size}{code}").unpack
        self.length = size * self._width // 8
        self.signs = sum(self.bits()) << self._width - 1

    def bits(self) -> list[int]:
        """One in each of the lanes; nothing where the layer is not sifted."""
        if not self.is_sifted:
            return [0] * self._size
        return [1 << lane * self._width for lane in range(self._size)]


def _free(
    lanes: Sequence[int], here: int, low: int, high: int, kept: Sequence[int | None], start: int
) -> tuple[int, int]:
    """How far an element can be tried without passing another that was drawn before, as it was."""
    for place in range(here - 1, low - 1, -1):
        if kept[start + lanes[place]] is not None:
            low = place + 1
            break
    for place in range(here + 1, min(high, len(lanes))):
        if kept[start + lanes[place]] is not None:
            high = place
            break
    return low, high
