"""Sweeps: every layer sorted by where its neighbours in the layer before, or after, stand."""

from collections.abc import Callable, Sequence
from operator import itemgetter

from explorer.graph.layout.arrangement import Arrangement

__all__ = ["Sweeper"]

_Getter = Callable[[Sequence[float]], tuple[float, ...]]

_ROUNDS = 16
# The rounds whose crossings are counted: others are hardly ever the best.
_COUNTED = (3, 11, 13, 15)
# The effort that every layer takes beside its edges.
_LAYER = 8


class Sweeper:
    """Sorts the layers of an arrangement; what is the same in every order is prepared once."""

    def __init__(self, arrangement: Arrangement) -> None:
        self._arrangement = arrangement
        self._keys = [0.0] * len(arrangement.places)
        layers = range(arrangement.depth)
        there = [_Sorting(arrangement, at, arrangement.before) for at in layers[1:]]
        back = [_Sorting(arrangement, at, arrangement.after) for at in layers[-2::-1]]
        self._round = [sorting for sorting in there + back if sorting.size > 1]

    def sweep(self) -> int:
        """Sort there and back for some rounds; the best order met is taken. Its crossings.

        Means and medians take turns: where one leaves elements level, the other tells them apart.
        """
        arrangement = self._arrangement
        best, least = list(arrangement.layers), arrangement.count()
        for turn in range(_ROUNDS if least else 0):
            # Elements that stand level change places every other round.
            swap = turn % 2 == 0
            for sorting in self._round:
                arrangement.put(sorting.at, sorting.sort(arrangement, self._keys, swap, not swap))
            if turn not in _COUNTED and arrangement.effort > 0:
                continue
            crossings = arrangement.count()
            if crossings < least:
                best, least = list(arrangement.layers), crossings
            if not least or arrangement.effort <= 0:
                break
        arrangement.arrange(best)
        return least


class _Sorting:
    """How one layer is sorted by its neighbours on one side."""

    def __init__(self, arrangement: Arrangement, at: int, links: Sequence[Sequence[int]]) -> None:
        self.at = at
        self._start, self._end = arrangement.starts[at : at + 2]
        self.size = self._end - self._start
        mine = range(self._start, self._end)
        firsts = [near[0] if (near := links[element]) else -1 for element in mine]
        self._firsts: _Getter = itemgetter(*firsts, -1)
        # Of two, mean and median are the same.
        self._pairs = [(element, *near) for element in mine if len(near := links[element]) == 2]
        self._more: list[tuple[int, _Getter, float]] = [
            (element, itemgetter(*near), 1 / len(near))
            for element in mine
            if len(near := links[element]) > 2
        ]
        self._linked = sum([bool(links[element]) for element in mine])
        self._cost = sum([len(links[element]) for element in mine])

    def sort(
        self, arrangement: Arrangement, keys: list[float], swap: bool, median: bool
    ) -> list[int]:
        """The layer sorted; elements without neighbours on that side stay where they are."""
        arrangement.effort -= self._cost + _LAYER
        layer, places = arrangement.layers[self.at], arrangement.places
        keys[self._start : self._end] = self._firsts(places)[:-1]
        for element, one, other in self._pairs:
            keys[element] = (places[one] + places[other]) / 2
        if median:
            for element, get, _ in self._more:
                near = sorted(get(places))
                half = len(near) // 2
                keys[element] = (near[half] + near[~half]) / 2
        else:
            for element, get, share in self._more:
                keys[element] = sum(get(places)) * share
        drawn = layer[::-1] if swap else list(layer)
        drawn.sort(key=keys.__getitem__)
        if self._linked < len(layer):
            rest = drawn[self._linked :]
            del drawn[self._linked :]
            if swap:
                rest.reverse()
            for element in rest:
                drawn.insert(int(places[element]), element)
        return drawn
