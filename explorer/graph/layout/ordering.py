"""The order of elements within their layers, for few crossings.

Beginnings are swept and the best of them sifted; what effort is left goes into small and large
disturbances of it. Nothing is left to chance or to the clock.
"""

from collections.abc import Sequence

from explorer.graph.layout.arrangement import Arrangement, Layers
from explorer.graph.layout.beginnings import as_given, from_first, from_last
from explorer.graph.layout.mesh import Mesh
from explorer.graph.layout.sifting import Sifter
from explorer.graph.layout.sweeping import Sweeper

__all__ = ["order_layers"]

_BEGINNINGS = (as_given, from_last, from_first)
# Another beginning is swept when there is effort left for it and for sifting the best.
_SIFTED = 2.5
_PATIENCE = 16
_TURNED = 8
_STREWN = 3
_GOLDEN = (5**0.5 - 1) / 2
# Small graphs get more for each edge, up to so much: of a few crossings every one is seen.
_EFFORT_PER_EDGE, _MOST_EFFORT = 65, 1_000_000
_SMALL_PER_EDGE, _SMALL_EFFORT = 600, 20_000


def order_layers(
    mesh: Mesh, kept: Sequence[int | None] | None = None, effort: int | None = None
) -> tuple[list[list[int]], int]:
    """The elements of each layer in order, and how many edges cross.

    `kept` gives for elements that were drawn before their old rank: within a layer, they stay in
    the order of these. `effort` bounds the work, about one unit for each edge looked at, a quarter
    of a microsecond or so; without it, it grows with the edges up to a limit. With none at all, the
    elements still get an order.
    """
    if effort is None:
        edges = sum(map(len, mesh.after))
        small = min(_SMALL_PER_EDGE * edges, _SMALL_EFFORT)
        effort = min(_MOST_EFFORT, max(small, _EFFORT_PER_EDGE * edges))
    arrangement = Arrangement(mesh, kept or [None] * len(mesh.layer), effort)
    sweeper = Sweeper(arrangement)
    swept = _begin(arrangement, sweeper)
    least, _, best = swept[0]
    if least and arrangement.effort > 0:
        sifter = Sifter(arrangement)
        for begun, _, layers in swept:
            if not least or arrangement.effort <= 0:
                break
            arrangement.arrange(layers)
            crossings = sifter.sift(begun)
            if crossings < least:
                best, least = list(arrangement.layers), crossings
        best, least = _disturb(arrangement, sweeper, sifter, best, least)
    return arrangement.finish(best), least


def _begin(arrangement: Arrangement, sweeper: Sweeper) -> list[tuple[int, int, Layers]]:
    """Beginnings swept, those with the fewest crossings first."""
    swept: list[tuple[int, int, Layers]] = []
    for number, begin in enumerate(_BEGINNINGS):
        had = arrangement.effort
        arrangement.begin(begin(arrangement.mesh))
        crossings = sweeper.sweep()
        swept.append((crossings, number, list(arrangement.layers)))
        if not crossings or arrangement.effort < _SIFTED * (had - arrangement.effort):
            break
    return sorted(swept)


def _disturb(
    arrangement: Arrangement, sweeper: Sweeper, sifter: Sifter, best: Layers, least: int
) -> tuple[Layers, int]:
    """Turn a part of one layer round, or begin anew from strewn layers, while there is effort."""
    wide = [at for at, layer in enumerate(best) if len(layer) > 1]
    stale = turn = strewing = 0
    while least and arrangement.effort > 0 and stale < _PATIENCE:
        turn += 1
        arrangement.arrange(best)
        had = arrangement.effort
        if turn % _STREWN or had < strewing:
            at = wide[turn % len(wide)]
            layer = list(arrangement.layers[at])
            start = int(_scatter(turn) * (len(layer) - 1))
            end = start + 2 + int(_scatter(turn * turn) * _TURNED)
            layer[start:end] = reversed(layer[start:end])
            crossings = least - arrangement.count_around(at)
            arrangement.put(at, layer)
            crossings += arrangement.count_around(at)
            crossings = sifter.sift(crossings, arrangement.near(at, layer[start:end]))
        else:
            places = [_scatter((at + 1) * turn) for at in range(len(arrangement.places))]
            arrangement.arrange([sorted(layer, key=places.__getitem__) for layer in best])
            crossings = sifter.sift(sweeper.sweep())
            strewing = had - arrangement.effort
        stale += 1
        if crossings <= least:
            # Other orders that are as good lead on to better ones.
            stale = stale if crossings == least else 0
            best, least = list(arrangement.layers), crossings
    return best, least


def _scatter(number: int) -> float:
    """A number from 0 to 1 that lies far from those of its neighbours."""
    return number * _GOLDEN % 1
