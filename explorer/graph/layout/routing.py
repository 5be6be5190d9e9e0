"""Edges as lines with bends, and as lines along the cells of a grid."""

from collections.abc import Sequence
from itertools import pairwise

from explorer.graph.layout.bearings import Bearings
from explorer.graph.layout.channels import Channel, Net, assign_tracks
from explorer.graph.layout.records import Point

__all__ = ["Lines", "draw_freely", "draw_loops", "draw_on_grid"]

Lines = tuple[list[float], list[list[list[Point]]]]
"""Where each layer begins, and for each chain the points of each of its edges."""

_STEEPEST = 4
_WIDEST = 3


def draw_freely(bearings: Bearings, gap: float, shifts: Sequence[Sequence[float]]) -> Lines:
    """Straight lines between the layers, level beside every box they pass.

    `shifts` holds for each chain how far each of its edges lies beside its elements. Between layers
    that edges cross steeply there is up to three times the `gap`.
    """
    mesh, places = bearings.mesh, bearings.places
    gaps = [gap] * (mesh.depth - 1)
    for element, near in enumerate(mesh.after):
        for other in near:
            climb = abs(places[element] - places[other]) / _STEEPEST
            at = mesh.layer[element]
            gaps[at] = max(gaps[at], min(climb, _WIDEST * gap))
    starts = _stack(bearings.thickness, gaps)
    lines: list[list[list[Point]]] = []
    for chain, beside in zip(mesh.chains, shifts, strict=True):
        lines.append([])
        for shift in beside:
            points: list[Point] = []
            for element in chain:
                start = starts[mesh.layer[element]]
                place = places[element] + shift
                if element != chain[0]:
                    points.append((start, place))
                else:
                    points.append((start + bearings.extents[element].along, place))
                if element != chain[-1]:
                    points.append((start + bearings.thickness[mesh.layer[element]], place))
            lines[-1].append(_without_idle(points))
    return starts, lines


def draw_on_grid(bearings: Bearings, gap: int, shifts: Sequence[Sequence[float]]) -> Lines:
    """Lines along rows and columns of cells, from the cell behind a box to the cell before one.

    Every channel is as wide as its columns ask for, and `gap` at least.
    """
    mesh = bearings.mesh
    rows = [int(place) for place in bearings.places]
    channels = [_channel(bearings, rows, at) for at in range(mesh.depth - 1)]
    gaps: list[float] = [max(gap, channel.columns + 2) for channel, _ in channels]
    starts = _stack(bearings.thickness, gaps)
    lines: list[list[list[Point]]] = []
    for chain, beside in zip(mesh.chains, shifts, strict=True):
        first, last = chain[0], chain[-1]
        start = starts[mesh.layer[first]]
        points: list[Point] = [(start + bearings.extents[first].along, rows[first])]
        for element, other in pairwise(chain):
            at = mesh.layer[element]
            channel, numbers = channels[at]
            beginning = starts[at] + bearings.thickness[at] + 1
            track = channel.tracks[numbers[element]]
            turns = track.turns(rows[element], rows[other])
            points.extend((beginning + column, row) for column, row in turns)
        points.append((starts[mesh.layer[last]] - 1, rows[last]))
        lines.append([points for _ in beside])
    return starts, lines


def draw_loops(bearings: Bearings, node: int, start: float, *, whole: bool) -> list[list[Point]]:
    """The loops of a node whose layer begins at `start`: out at its end, in at its upper side."""
    extent = bearings.extents[node]
    port = bearings.places[node]
    top = port - extent.port
    end = start + extent.along
    if whole:
        # On a grid all loops are one line, through the cells that touch the box.
        middle = start + (extent.along - 1) // 2
        return [[(end, port), (end, top - 1), (middle, top - 1)]]
    lines: list[list[Point]] = []
    for number in range(1, extent.loops + 1):
        far = number * extent.loop
        turn = end - extent.along * number / (extent.loops + 1)
        over = top - far
        lines.append([(end, port), (end + far, port), (end + far, over), (turn, over), (turn, top)])
    return lines


def _channel(bearings: Bearings, rows: Sequence[int], at: int) -> tuple[Channel, dict[int, int]]:
    """The channel behind a layer, and which of its nets each element has. Elements that lead to
    one and the same alone have one between them."""
    after = bearings.mesh.after
    numbers: dict[int, int] = {}
    joined: dict[int, int] = {}
    sources: list[list[int]] = []
    for element in bearings.layers[at]:
        near = set(after[element])
        if not near:
            continue
        number = joined.setdefault(min(near), len(sources)) if len(near) == 1 else len(sources)
        if number == len(sources):
            sources.append([])
        sources[number].append(rows[element])
        numbers[element] = number
    led = {numbers[element]: after[element] for element in numbers}
    nets = [
        Net(tuple(sorted(sources[at])), tuple(sorted({rows[other] for other in led[at]})))
        for at in range(len(sources))
    ]
    return assign_tracks(nets), numbers


def _stack(thickness: Sequence[float], gaps: Sequence[float]) -> list[float]:
    starts: list[float] = [0]
    for thick, gap in zip(thickness, gaps, strict=False):
        starts.append(starts[-1] + thick + gap)
    return starts


def _without_idle(points: Sequence[Point]) -> list[Point]:
    """Without points that repeat the one before or lie on the way between their neighbours."""
    kept: list[Point] = []
    for point in points:
        if kept and kept[-1] == point:
            continue
        while len(kept) > 1 and _level(kept[-2], kept[-1], point):
            kept.pop()
        kept.append(point)
    return kept


def _level(first: Point, middle: Point, last: Point) -> bool:
    return first[1] == middle[1] == last[1] or first[0] == middle[0] == last[0]
