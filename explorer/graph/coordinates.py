"""The coordinates of nodes in ordered layers, and the routes of edges between them.

`along` is the coordinate from layer to layer, `across` the one within a layer, for either direction
of the drawing.

On a grid of cells, edges are routed in channels between two layers. Edges that leave the same
element form a net, as do edges of elements that lead only to one common target: a net has source
rows, target rows, and one column in which edges change rows. One of the two is a single row, so any
two edges of a net have an end in common. Two nets that would touch in a column are given two
columns. A net that leaves a row turns off before another turns into the same row, so lines of
different nets only cross. If these constraints are cyclic, one of the nets makes a step on a row of
its own.
"""

from bisect import bisect_right
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import accumulate, pairwise
from math import inf
from operator import mul, sub
from typing import Generic, Literal, NamedTuple, TypeVar

from explorer.graph.layers import Mesh

__all__ = [
    "Bearings",
    "Box",
    "Direction",
    "Extent",
    "Layout",
    "Point",
    "Route",
    "Size",
    "Spacing",
    "draw_freely",
    "draw_loops",
    "draw_on_grid",
    "place_across",
]

N = TypeVar("N", bound=Hashable)

Direction = Literal["right", "down"]
Size = tuple[float, float]
"""Width and height."""
Point = tuple[float, float]
"""The x and y coordinates, from the top left corner; in internal functions along and across."""


@dataclass(frozen=True, slots=True)
class Spacing:
    """The minimum free space, in the unit of the sizes.

    layer   between two layers
    node    between two nodes of a layer
    edge    between an edge and what it passes
    """

    layer: float = 60
    node: float = 20
    edge: float = 10


@dataclass(frozen=True, slots=True)
class Box:
    """The position of a node: its top left corner, its size, its layer and its index in the
    layer."""

    x: float
    y: float
    width: float
    height: float
    layer: int
    order: int


@dataclass(frozen=True, slots=True)
class Route(Generic[N]):
    """The line of an edge, from its source to its target.

    `points` are the ends and the bends in between. `reversed` is true for an edge against the
    direction of the drawing, because it closes a cycle; its arrowhead is still at the last point.
    `edge` is the index of the edge as given.
    """

    source: N
    target: N
    points: tuple[Point, ...]
    reversed: bool
    edge: int


@dataclass(frozen=True, slots=True)
class Layout(Generic[N]):
    """A drawing of a graph, inside the rectangle from 0, 0 to `width`, `height`.

    positions   the box of every node, in the order in which the nodes were given
    routes      one for each edge, in the order in which the edges were given
    crossings   the number of edge crossings between layers; edges between the same two nodes count
                as one, and so do those drawn as one line
    layers      the nodes of each layer, by `Box.layer` and `Box.order`
    """

    positions: Mapping[N, Box]
    routes: tuple[Route[N], ...]
    width: float
    height: float
    crossings: int
    layers: tuple[tuple[N, ...], ...]


class Extent(NamedTuple):
    """The space of a node: its size, where its edges begin, and its loops.

    along, across   its size
    port            the distance from its upper side at which edges begin and end
    loops           the number of edges from the node to itself
    loop            how far each of these extends beyond the one inside it
    """

    along: float
    across: float
    port: float
    loops: int
    loop: float

    @property
    def reach(self) -> float:
        """The space that all its loops need beyond its end and above it."""
        return self.loops * self.loop


@dataclass(frozen=True, slots=True)
class Bearings:
    """A component whose elements have positions across, with the thickness of its layers."""

    mesh: Mesh
    extents: list[Extent]
    places: list[float]
    layers: list[list[int]]
    thickness: list[float]


_ROUNDS = 6
# For many elements, where more rounds gave no visible improvement.
_MANY = 100
_ROUNDS_OF_MANY = 3

_Plan = list[tuple[int, float, list[int], int]]


def place_across(
    mesh: Mesh,
    layers: Sequence[Sequence[int]],
    rooms: Sequence[Sequence[float]],
    whole: bool = False,
) -> list[float]:
    """Return the position across of each element, at which its edges begin and end.

    `rooms[layer][n]` is the minimum distance between elements n - 1 and n of the layer; the first
    has none. Minimizes the sum of the vertical lengths of edges, with the highest weights for edges
    between bends: each layer exactly, over a few passes in both directions, keeping the best. With
    `whole`, all positions are integers if the rooms are. O(edges * log edges) for each pass.
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
            # Nothing changed, so the same round would change nothing again.
            continue
        measured = climb.measure(places)
        if measured < least:
            best, least = list(places), measured
    return best


def _weighted(links: Sequence[Sequence[int]], firm: Sequence[int]) -> list[list[int]]:
    """Return each neighbour as often as the weight of its edge, the product of the weights of its
    ends."""
    return [
        [other for other in near for _ in range(firm[other])] * firm[element]
        for element, near in enumerate(links)
    ]


def _plan(
    links: Sequence[list[int]],
    layers: Sequence[Sequence[int]],
    offsets: Sequence[Sequence[float]],
) -> list[_Plan]:
    """Return for each layer its elements, their offsets from the first, and what they are pulled
    to."""
    # An element without neighbours is pulled to its own position, one with a single neighbour to
    # that of the neighbour.
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
    """Measures the weighted sum of the vertical lengths of all edges."""

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
    """Move the elements of one layer to where their edges are shortest, keeping order and
    distances.

    An isotonic regression: elements that would get too near each other are merged into a block,
    which is placed at the median of the positions its members are pulled to.
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
                # All values are equal, so they are inserted together.
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


class Net(NamedTuple):
    """The source rows and the target rows of edges; one of the two is a single row."""

    rows: tuple[int, ...]
    targets: tuple[int, ...]

    @property
    def bent(self) -> bool:
        """Whether any of its edges changes rows."""
        return self.rows != self.targets

    @property
    def leaving(self) -> tuple[int, ...]:
        """The rows that edges leave in the channel."""
        return self.rows if len(self.rows) == 1 else _without(self.rows, self.targets)

    @property
    def entered(self) -> tuple[int, ...]:
        """The rows that edges enter in the channel."""
        return self.targets if len(self.rows) > 1 else _without(self.targets, self.rows)


def _without(rows: Sequence[int], others: Sequence[int]) -> tuple[int, ...]:
    return tuple(row for row in rows if row not in others)


class EdgeColumns(NamedTuple):
    """The columns of a net, from 0. A net with a step changes to row `step`, then in column
    `second`."""

    column: int
    step: int | None = None
    second: int = 0

    def turns(self, row: int, target: int) -> list[tuple[int, int]]:
        """Return the column and row of each turn of an edge between two rows."""
        if row == target:
            return []
        if self.step is None:
            return [(self.column, row), (self.column, target)]
        return [
            (self.column, row),
            (self.column, self.step),
            (self.second, self.step),
            (self.second, target),
        ]


@dataclass(frozen=True, slots=True)
class Channel:
    """The tracks of the nets, in the order given, and the number of columns they need."""

    tracks: tuple[EdgeColumns, ...]
    columns: int


def assign_tracks(nets: Sequence[Net]) -> Channel:
    """Assign columns to the nets of one channel, of which no two have a source row in common.

    O(nets squared).
    """
    return _Assignment(nets).run()


class _Assignment:
    """Assigns columns to nets from the left, each net as soon as those it waits for have theirs."""

    def __init__(self, nets: Sequence[Net]) -> None:
        self.left = [net.leaving if net.bent else () for net in nets]
        self.bent = [net.entered if net.bent else () for net in nets]
        rows = {row: number for number, leaving in enumerate(self.left) for row in leaving}
        self.waits = [
            {rows[target] for target in targets if target in rows} for targets in self.bent
        ]
        self.waiters: list[list[int]] = [[] for _ in nets]
        for number, waits in enumerate(self.waits):
            for other in sorted(waits):
                self.waiters[other].append(number)
        self.busy = {row for net in nets for row in (*net.rows, *net.targets)}
        self.columns: list[list[tuple[int, int]]] = []
        self.first: list[int | None] = [None] * len(nets)
        self.steps: dict[int, int] = {}
        self.second: dict[int, int] = {}

    def run(self) -> Channel:
        left = {number for number, bent in enumerate(self.bent) if bent}
        ready = [(self._turn(number), number) for number in left if not self.waits[number]]
        heapify(ready)
        while left:
            while ready:
                number = heappop(ready)[1]
                left.discard(number)
                if number in self.steps:
                    self._end_step(number)
                    continue
                self.first[number] = self._take(self.left[number], self.bent[number])
                self._release(number, ready)
            if left:
                number = self._find_circle(min(left))
                self._begin_step(number)
                self._release(number, ready)
        tracks = [
            EdgeColumns(column or 0, self.steps.get(number), self.second.get(number, 0))
            for number, column in enumerate(self.first)
        ]
        return Channel(tuple(tracks), len(self.columns))

    def _turn(self, number: int) -> tuple[bool, int]:
        """Return the sort key of a net: rising nets first, from the top, then falling ones from the
        bottom."""
        rows, targets = self.left[number], self.bent[number]
        falling = sum(targets) * len(rows) > sum(rows) * len(targets)
        return falling, -max(rows) if falling else min(rows)

    def _release(self, number: int, ready: list[tuple[tuple[bool, int], int]]) -> None:
        for waiter in self.waiters[number]:
            self.waits[waiter].discard(number)
            if not self.waits[waiter]:
                heappush(ready, (self._turn(waiter), waiter))

    def _take(self, rows: Sequence[int], targets: Sequence[int]) -> int:
        """Take the first column after the last one in which any of these rows is occupied."""
        low, high = min(*rows, *targets), max(*rows, *targets)
        at = len(self.columns)
        while at and all(
            high < other_low or other_high < low for other_low, other_high in self.columns[at - 1]
        ):
            at -= 1
        if at == len(self.columns):
            self.columns.append([])
        self.columns[at].append((low, high))
        return at

    def _find_circle(self, number: int) -> int:
        """Return the smallest net in the cycle of waiting nets that is reached from a net."""
        seen: list[int] = []
        while number not in seen:
            seen.append(number)
            number = min(self.waits[number])
        circle = seen[seen.index(number) :]
        return min(
            circle, key=lambda one: (len(self.left[one]) + len(self.bent[one]), self.left[one])
        )

    def _begin_step(self, number: int) -> None:
        rows, targets = self.left[number], self.bent[number]
        middle = (rows[len(rows) // 2] + targets[len(targets) // 2]) // 2
        step = next(
            free
            for away in range(len(self.busy) + 1)
            for free in (middle + away, middle - away)
            if free not in self.busy
        )
        self.busy.add(step)
        self.steps[number] = step
        self.first[number] = self._take(rows, (step,))

    def _end_step(self, number: int) -> None:
        self.second[number] = self._take((self.steps[number],), self.bent[number])


Lines = tuple[list[float], list[list[list[Point]]]]
"""The start of each layer, and for each chain the points of each of its edges."""

_STEEPEST = 4
_WIDEST = 3


def draw_freely(bearings: Bearings, gap: float, shifts: Sequence[Sequence[float]]) -> Lines:
    """Draw straight lines between layers, which are horizontal beside every box they pass.

    `shifts` has for each chain the offsets of its edges from its elements. Layers between which
    edges are steep are up to three times `gap` apart.
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
    """Draw lines along rows and columns of cells, from the cell after one box to the cell before
    another.

    Each channel is as wide as its columns require, and at least `gap`.
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
    """Return the loops of a node whose layer begins at `start`, from its end to its upper side."""
    extent = bearings.extents[node]
    port = bearings.places[node]
    top = port - extent.port
    end = start + extent.along
    if whole:
        # On a grid all loops share one line, through the cells next to the box.
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
    """Return the channel after a layer, and the index of each element's net.

    Elements that lead only to the same one target share a net.
    """
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
    """Remove points that repeat the one before or are on the line between their neighbours."""
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
