"""The coordinates of nodes in ordered layers, and the routes of edges between them.

`along` runs from layer to layer, `across` within a layer, whichever way the drawing goes.

Routing in a channel between two layers, on a grid of cells.

Edges that leave one element form a net, and so do those of elements that lead to one and the same
and nowhere else: rows it comes from, rows it goes to, and one column where it changes between them.
One of the two is a single row, so that any two edges of a net have an end in common. Two nets that
would meet in a column get two. A net that leaves a row turns off before another that enters the
same row turns in, so lines of different nets only ever cross. Where nets ask this of each other in
a circle, one of them makes a step on a row of its own.
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
"""Along and down, from the top left corner."""


@dataclass(frozen=True, slots=True)
class Spacing:
    """The least room left free, in the unit of the sizes.

    layer   between two layers
    node    between two nodes of a layer
    edge    between an edge and what it passes
    """

    layer: float = 60
    node: float = 20
    edge: float = 10


@dataclass(frozen=True, slots=True)
class Box:
    """Where a node is: its top left corner, its size, its layer and its place in the layer."""

    x: float
    y: float
    width: float
    height: float
    layer: int
    order: int


@dataclass(frozen=True, slots=True)
class Route(Generic[N]):
    """How an edge is drawn, from its source to its target.

    `points` are the ends and the bends between them. `reversed` says that the edge leads against
    the direction of the drawing, because it closes a cycle; its arrow still belongs to the last
    point. `edge` counts the edges as they were given, from 0.
    """

    source: N
    target: N
    points: tuple[Point, ...]
    reversed: bool
    edge: int


@dataclass(frozen=True, slots=True)
class Layout(Generic[N]):
    """A drawing of a graph inside 0, 0 and `width`, `height`.

    positions   the box of every node, in the order the nodes were given
    routes      one for each edge, in the order the edges were given
    crossings   how often two edges cross between two layers; edges of the same two nodes count as
                one, and so do those drawn as one line
    layers      the nodes of each layer, by `Box.layer` and `Box.order`
    """

    positions: Mapping[N, Box]
    routes: tuple[Route[N], ...]
    width: float
    height: float
    crossings: int
    layers: tuple[tuple[N, ...], ...]


class Extent(NamedTuple):
    """The room of a node: its size, where its edges begin, and its loops.

    along, across   its size
    port            how far below its upper side edges begin and end
    loops           how many edges lead back to it
    loop            how far each of these reaches beyond the one inside it
    """

    along: float
    across: float
    port: float
    loops: int
    loop: float

    @property
    def reach(self) -> float:
        """What all its loops take beyond its end and above it."""
        return self.loops * self.loop


@dataclass(frozen=True, slots=True)
class Bearings:
    """A component whose elements have their places across, and whose layers are this thick."""

    mesh: Mesh
    extents: list[Extent]
    places: list[float]
    layers: list[list[int]]
    thickness: list[float]


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
    """Return the place of each element across its layer, where its edges begin and end.

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
    """Return each neighbour as often as its edge weighs: as firm as both its ends."""
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


class Net(NamedTuple):
    """The rows that edges come from, and the rows they lead to: one of either or both."""

    rows: tuple[int, ...]
    targets: tuple[int, ...]

    @property
    def bent(self) -> bool:
        """Whether any of its edges changes its row."""
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
    """The columns of a net, from 0. A net with a step changes to row `step`, then to `second`."""

    column: int
    step: int | None = None
    second: int = 0

    def turns(self, row: int, target: int) -> list[tuple[int, int]]:
        """Column and row of each turn of an edge between two rows."""
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
    """The track of each net, in the order given, and how many columns they take."""

    tracks: tuple[EdgeColumns, ...]
    columns: int


def assign_tracks(nets: Sequence[Net]) -> Channel:
    """Columns for the nets of one channel; no two come from the same row. O(nets squared)."""
    return _Assignment(nets).run()


class _Assignment:
    """Nets put into columns from the left, each as soon as those it waits for have theirs."""

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
        """Whose turn it is: rising nets from the top, then falling ones from the bottom."""
        rows, targets = self.left[number], self.bent[number]
        falling = sum(targets) * len(rows) > sum(rows) * len(targets)
        return falling, -max(rows) if falling else min(rows)

    def _release(self, number: int, ready: list[tuple[tuple[bool, int], int]]) -> None:
        for waiter in self.waiters[number]:
            self.waits[waiter].discard(number)
            if not self.waits[waiter]:
                heappush(ready, (self._turn(waiter), waiter))

    def _take(self, rows: Sequence[int], targets: Sequence[int]) -> int:
        """Return the column after the last one in which the rows are taken."""
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
        """From a net that cannot go on to one that waits for itself; the smallest such one."""
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
    """Return the loops of a node whose layer begins at `start`: out at its end, in at its upper
    side."""
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
    """Return the channel behind a layer, and which of its nets each element has. Elements that lead
    to one and the same alone have one between them."""
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
