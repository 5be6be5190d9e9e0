"""The order of elements within their layers, for few crossings.

Several beginnings are swept and sifted and the best is kept; what effort is left goes into small
and large disturbances of it. Nothing is left to chance or to the clock.
"""

from collections.abc import Callable, Sequence

from explorer.graph.layout.arrangement import Arrangement
from explorer.graph.layout.beginnings import as_given, from_first, from_last
from explorer.graph.layout.mesh import Mesh
from explorer.graph.layout.sifting import sift
from explorer.graph.layout.sweeping import Middle, sweep

__all__ = ["order_layers"]

_Layers = list[list[int]]

_BEGINNINGS: tuple[tuple[Callable[[Mesh], _Layers], Middle], ...] = (
    (as_given, "mean"),
    (from_first, "median"),
    (from_last, "mean"),
    (as_given, "median"),
    (from_first, "mean"),
    (from_last, "median"),
)
_PATIENCE = 16
_TURNED = 8
_GOLDEN = (5**0.5 - 1) / 2
_LEAST_EFFORT, _MOST_EFFORT, _EFFORT_PER_EDGE = 20_000, 350_000, 110


def order_layers(
    mesh: Mesh, kept: Sequence[int | None] | None = None, effort: int | None = None
) -> tuple[_Layers, int]:
    """The elements of each layer in order, and how many edges cross.

    `kept` gives for elements that were drawn before their old rank: within a layer, they stay in
    the order of these. `effort` bounds the work, about one unit for each edge looked at, a
    microsecond or so; without it, it grows with the edges up to a limit. With none at all, the
    elements still get an order.
    """
    if effort is None:
        edges = sum(map(len, mesh.after))
        effort = min(_MOST_EFFORT, max(_LEAST_EFFORT, _EFFORT_PER_EDGE * edges))
    arrangement = Arrangement(mesh, kept or [None] * len(mesh.layer), effort)
    swept = _begin(arrangement)
    best, least = swept[0][2], swept[0][0]
    for number, (_, _, layers) in enumerate(swept):
        if not least or arrangement.effort <= 0:
            break
        arrangement.arrange(layers)
        crossings = sift(arrangement)
        if not number or crossings < least:
            best, least = arrangement.copy_layers(), crossings
    return _disturb(arrangement, best, least)


def _begin(arrangement: Arrangement) -> list[tuple[int, int, _Layers]]:
    """Beginnings swept, those with the fewest crossings first, for about half of the effort."""
    reserve = arrangement.effort // 2
    swept: list[tuple[int, int, _Layers]] = []
    for number, (begin, middle) in enumerate(_BEGINNINGS):
        arrangement.arrange(begin(arrangement.mesh))
        crossings = sweep(arrangement, middle)
        swept.append((crossings, number, arrangement.copy_layers()))
        if not crossings or arrangement.effort <= reserve:
            break
    return sorted(swept)


def _disturb(arrangement: Arrangement, best: _Layers, least: int) -> tuple[_Layers, int]:
    """Turn a part of one layer round, or begin anew from strewn layers, while there is effort."""
    stale = turn = 0
    while least and arrangement.effort > 0 and stale < _PATIENCE:
        turn += 1
        layers = [list(layer) for layer in best]
        if turn % 2:
            layer = layers[turn // 2 % len(layers)]
            start = int(_scatter(turn) * len(layer))
            end = start + 2 + int(_scatter(turn * turn) * _TURNED)
            layer[start:end] = reversed(layer[start:end])
            arrangement.arrange(layers)
        else:
            places = [_scatter((at + 1) * turn) for at in range(len(arrangement.places))]
            for layer in layers:
                layer.sort(key=places.__getitem__)
            arrangement.arrange(layers)
            sweep(arrangement, "mean" if turn % 4 else "median")
        crossings = sift(arrangement)
        stale += 1
        if crossings < least:
            best, least, stale = arrangement.copy_layers(), crossings, 0
    return best, least


def _scatter(number: int) -> float:
    """A number from 0 to 1 that lies far from those of its neighbours."""
    return number * _GOLDEN % 1
