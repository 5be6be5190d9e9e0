"""Layered drawings of lineage, in pure Python, with the same coordinates for every front end.

Components are drawn separately and packed; nodes without edges are placed in a grid.

Of the nodes in ordered layers (`explorer.graph.layers`), `along` is the coordinate from layer to
layer, `across` the one within a layer.

On a grid of cells, edges are routed in channels between two layers. Edges that leave the same
element form a net, as do edges of elements that lead only to one common target: a net has source
rows, target rows, and one column in which edges change rows. One of the two is a single row, so any
two edges of a net have an end in common. Two nets that would touch in a column are given two
columns. A net that leaves a row turns off before another turns into the same row, so lines of
different nets only cross. If these constraints are cyclic, one of the nets makes a step on a row of
its own.
"""

from bisect import bisect_right
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import accumulate, pairwise
from math import ceil, inf, isfinite, isqrt
from operator import mul, sub
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from explorer.errors import InvalidInput
from explorer.graph.layers import (
    Mesh,
    Pair,
    assign_layers,
    make_mesh,
    order_layers,
    turn_back_edges,
)

if TYPE_CHECKING:
    import networkx as nx

N = TypeVar("N", bound=Hashable)

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


_FREE = Spacing()
_CELLS = Spacing(layer=4, node=1, edge=0)


def lay_out(
    graph: "nx.DiGraph | nx.MultiDiGraph",
    sizes: Mapping[N, Size] | Size,
    *,
    grid: bool = False,
    spacing: Spacing | None = None,
    previous: Layout[N] | None = None,
) -> Layout[N]:
    """Return the layered drawing of a networkx graph.

    `sizes` is one size for all nodes, or a mapping. Everything else is as in `lay_out_pairs`;
    routes are in the order of `graph.edges`.
    """
    if isinstance(sizes, Mapping):
        missing = next((node for node in graph.nodes if node not in sizes), None)
        if missing is not None:
            raise InvalidInput(f"no size is given for the node {missing!r}; give one for each")
        each = {node: sizes[node] for node in graph.nodes}
    else:
        each = dict.fromkeys(graph.nodes, sizes)
    return lay_out_pairs(
        each,
        graph.edges(),
        grid=grid,
        spacing=spacing,
        previous=previous,
    )


def lay_out_pairs(
    sizes: Mapping[N, Size],
    edges: Iterable[tuple[N, N]],
    *,
    grid: bool = False,
    spacing: Spacing | None = None,
    previous: Layout[N] | None = None,
) -> Layout[N]:
    """Return a layered drawing: edges lead from layer to layer, few of them cross, none passes
    through a box.

    `sizes` gives width and height of every node; its order decides between equal choices. `edges`
    may be parallel, loops, or close cycles. Layers follow each other to the right.

    Without `grid` any unit can be used, such as pixels. Lines begin and end at the sides of boxes
    and are straight between two layers, so that a front end may draw curves there. With `grid`,
    units are cells: all coordinates are integers, sizes are rounded up, a box takes the cells from
    `x` to `x + width - 1`, and a route runs along rows and columns from the cell next to its source
    to the one next to its target. Edges of one node share a line as long as they run together;
    other lines only cross, or meet before a common target.

    Nodes that are also in `previous` keep their order within a layer, if an edge connected them
    before. The same input always gives the same drawing.
    Raises `InvalidInput` for an edge of an unknown node, and for invalid sizes.
    """
    nodes = list(sizes)
    numbers = {node: number for number, node in enumerate(nodes)}
    measures = [_measure(node, sizes[node], grid) for node in nodes]
    edge_list = list(edges)
    pairs = [_pair(source, target, numbers) for source, target in edge_list]
    room = spacing or (_CELLS if grid else _FREE)
    if grid:
        room = Spacing(ceil(room.layer), ceil(room.node), ceil(room.edge))
    ranks = _ranks(previous, numbers) if previous else {}

    components = split_components(len(nodes), pairs)
    components.sort(
        key=lambda members: (min(ranks.get(member, inf) for member in members), members[0])
    )
    edges_of = _edges_by_component(components, pairs, len(nodes))
    joined = [at for at, _ in enumerate(components) if edges_of[at]]
    lone = [members[0] for at, members in enumerate(components) if not edges_of[at]]

    canvas = _Canvas(len(nodes), len(pairs))
    drawings = [
        _draw(components[at], edges_of[at], pairs, measures, room, grid, ranks) for at in joined
    ]
    gap = max(room.node, room.edge)
    corners = pack([(drawing.along, drawing.across) for drawing in drawings], gap)
    for at, drawing, corner in zip(joined, drawings, corners, strict=True):
        canvas.add(components[at], edges_of[at], drawing, corner)
    canvas.add_grid(lone, measures, room, gap)
    return canvas.finish(nodes, edge_list, measures)


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
# With more elements than this, fewer rounds are made: more gave no visible improvement.
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
    before, after = _repeat_by_weight(mesh.before, firm), _repeat_by_weight(mesh.after, firm)
    forward = _plan(before, layers, offsets)[1:]
    backward = _plan(after, layers, offsets)[-2::-1]
    steps = [*forward, *backward]
    best = list(places)
    climb = _Climb(mesh, firm)
    least = climb.measure(places)
    rounds = _ROUNDS if len(places) <= _MANY else _ROUNDS_OF_MANY
    for turn in range(rounds):
        if turn == rounds - 2:
            neighbours = [near + far for near, far in zip(before, after, strict=True)]
            plans = _plan(neighbours, layers, offsets)
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


def _repeat_by_weight(links: Sequence[Sequence[int]], firm: Sequence[int]) -> list[list[int]]:
    """Return each neighbour as often as the weight of its edge, the product of the weights of its
    ends."""
    return [
        [neighbour for neighbour in near for _ in range(firm[neighbour])] * firm[element]
        for element, near in enumerate(links)
    ]


def _plan(
    links: Sequence[list[int]],
    layers: Sequence[Sequence[int]],
    offsets: Sequence[Sequence[float]],
) -> list[_Plan]:
    """Return for each layer its elements, their offsets from the first one, and the elements that
    they are pulled to."""
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
        pairs = [
            (neighbour, element) for element, near in enumerate(mesh.before) for neighbour in near
        ]
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
        block_start = at
        if copies:
            stand = places[near[0]] - offset
            wish = [stand] * copies
        else:
            wish = sorted([places[neighbour] - offset for neighbour in near])
            stand = _median(wish, whole)
        while last > stand:
            pooled = wishes.pop()
            if copies and block_start == at:
                # All values are equal, so they are inserted together.
                rank = bisect_right(pooled, stand)
                pooled[rank:rank] = wish
            else:
                pooled += wish
                pooled.sort()
            wish = pooled
            block_start = begins.pop()
            stands.pop()
            stand = _median(wish, whole)
            last = stands[-1] if stands else -inf
        wishes.append(wish)
        stands.append(stand)
        begins.append(block_start)
        last = stand
    begins.append(len(plan))
    for stand, (block_start, end) in zip(stands, pairwise(begins), strict=True):
        for element, offset, _, _ in plan[block_start:end]:
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
        """The rows from which edges turn off in the channel."""
        return self.rows if len(self.rows) == 1 else _without(self.rows, self.targets)

    @property
    def entered(self) -> tuple[int, ...]:
        """The rows into which edges turn in the channel."""
        return self.targets if len(self.rows) > 1 else _without(self.targets, self.rows)


def _without(rows: Sequence[int], other_rows: Sequence[int]) -> tuple[int, ...]:
    return tuple(row for row in rows if row not in other_rows)


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
            for wait in sorted(waits):
                self.waiters[wait].append(number)
        self.busy = {row for net in nets for row in (*net.rows, *net.targets)}
        self.columns: list[list[tuple[int, int]]] = []
        self.first: list[int | None] = [None] * len(nets)
        self.steps: dict[int, int] = {}
        self.second: dict[int, int] = {}

    def run(self) -> Channel:
        pending = {number for number, bent in enumerate(self.bent) if bent}
        ready = [(self._turn(number), number) for number in pending if not self.waits[number]]
        heapify(ready)
        while pending:
            while ready:
                number = heappop(ready)[1]
                pending.discard(number)
                if number in self.steps:
                    self._end_step(number)
                    continue
                self.first[number] = self._take(self.left[number], self.bent[number])
                self._release(number, ready)
            if pending:
                number = self._find_circle(min(pending))
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
        path: list[int] = []
        while number not in path:
            path.append(number)
            number = min(self.waits[number])
        circle = path[path.index(number) :]
        return min(
            circle, key=lambda net: (len(self.left[net]) + len(self.bent[net]), self.left[net])
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
        for neighbour in near:
            climb = abs(places[element] - places[neighbour]) / _STEEPEST
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
        for element, successor in pairwise(chain):
            at = mesh.layer[element]
            channel, numbers = channels[at]
            beginning = starts[at] + bearings.thickness[at] + 1
            track = channel.tracks[numbers[element]]
            turns = track.turns(rows[element], rows[successor])
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
        Net(tuple(sorted(sources[at])), tuple(sorted({rows[target] for target in led[at]})))
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
    corners: list[Point] = []
    for point in points:
        if corners and corners[-1] == point:
            continue
        while len(corners) > 1 and _level(corners[-2], corners[-1], point):
            corners.pop()
        corners.append(point)
    return corners


def _level(first: Point, middle: Point, last: Point) -> bool:
    return first[1] == middle[1] == last[1] or first[0] == middle[0] == last[0]


def pack(sizes: Sequence[Size], gap: float) -> list[Point]:
    """Return the position of each drawing: in rows no longer than the longest drawing, in the order
    given."""
    longest = max((length for length, _ in sizes), default=0)
    corners: list[Point] = []
    along: float = 0
    across: float = 0
    reach: float = 0
    for length, height in sizes:
        if along and along + length > longest:
            along, across, reach = 0, across + reach + gap, 0
        corners.append((along, across))
        along += length + gap
        reach = max(reach, height)
    return corners


def arrange_in_grid(
    sizes: Sequence[Size], length: float, gap_along: float, gap_across: float
) -> list[tuple[int, int, float, float]]:
    """Return the column, row and corner of each node without edges, row by row.

    There are as many columns as fit into `length`, but at least enough to make the grid about
    square.
    """
    wide = max((size[0] for size in sizes), default=0) + gap_along
    high = max((size[1] for size in sizes), default=0) + gap_across
    fitting = int((length + gap_along) / wide) if wide else len(sizes)
    square = isqrt(int(len(sizes) * high / wide)) if wide else 1
    columns = max(1, fitting, square)
    return [
        (at % columns, at // columns, at % columns * wide, at // columns * high)
        for at in range(len(sizes))
    ]


def split_components(count: int, pairs: Sequence[Pair]) -> list[list[int]]:
    """Return the nodes of each connected component, in the order given."""
    near: list[list[int]] = [[] for _ in range(count)]
    for source, target in pairs:
        near[source].append(target)
        near[target].append(source)
    visited = [False] * count
    components: list[list[int]] = []
    for root in range(count):
        if visited[root]:
            continue
        visited[root] = True
        component = [root]
        for node in component:
            for neighbour in near[node]:
                if not visited[neighbour]:
                    visited[neighbour] = True
                    component.append(neighbour)
        components.append(sorted(component))
    return components


_PORT_SHARE = 0.8


@dataclass(frozen=True, slots=True)
class ComponentDrawing:
    """A component in the rectangle from 0, `top` to `along`, `top` + `across`.

    corners    the corner of each node
    ranks      the layer of each node and its index in it
    lines      the points of each edge, from its source to its target
    reversed   whether each edge is against the direction
    """

    along: float
    across: float
    top: float
    corners: list[Point]
    ranks: list[tuple[int, int]]
    lines: list[list[Point]]
    reversed: list[bool]
    crossings: int


def draw_component(
    sizes: Sequence[Size],
    edges: Sequence[Pair],
    spacing: Spacing,
    *,
    grid: bool,
    kept: Sequence[int | None],
) -> ComponentDrawing:
    """Draw a connected component. `sizes` are along and across; `kept` is as for `order_layers`."""
    turned = turn_back_edges(len(sizes), edges)
    # Edges between the same two nodes, in either direction, share one chain of the mesh.
    strands: dict[Pair, list[int]] = {}
    loops: dict[int, list[int]] = {}
    for number, (source, target) in enumerate(edges):
        if source == target:
            loops.setdefault(source, []).append(number)
        else:
            pair = (target, source) if turned[number] else (source, target)
            strands.setdefault(pair, []).append(number)
    pairs = list(strands)
    layers = assign_layers(len(sizes), pairs)
    lanes = [any(turned[number] for number in strand) for strand in strands.values()]
    mesh = make_mesh(layers, pairs, lanes if grid else None)
    order, crossings = order_layers(mesh, [*kept, *[None] * (len(mesh.layer) - len(kept))])
    extents = [
        _extent(size, len(loops.get(node, ())), spacing, grid) for node, size in enumerate(sizes)
    ]
    shifts = [
        _spread(len(strand), min(sizes[first][1], sizes[last][1]), spacing)
        for (first, last), strand in strands.items()
    ]
    bearings = _bear(mesh, order, extents, shifts, spacing, grid)
    if grid:
        starts, chains = draw_on_grid(bearings, int(spacing.layer), shifts)
    else:
        starts, chains = draw_freely(bearings, spacing.layer, shifts)
    lines: list[list[Point]] = [[] for _ in edges]
    for strand, chain in zip(strands.values(), chains, strict=True):
        for number, line in zip(strand, chain, strict=True):
            lines[number] = line[::-1] if turned[number] else line
    for node, numbers in loops.items():
        chain = draw_loops(bearings, node, starts[mesh.layer[node]], whole=grid)
        for at, number in enumerate(numbers):
            lines[number] = chain[min(at, len(chain) - 1)]
    corners: list[Point] = [
        (starts[mesh.layer[node]], bearings.places[node] - extent.port)
        for node, extent in enumerate(extents)
    ]
    # Lines may extend above the first box or below the last.
    ways = [along for line in lines for along, _ in line]
    rows = [across for line in lines for _, across in line]
    cell = 1 if grid else 0
    sides = list(zip(corners, sizes, strict=True))
    top = min([across for _, across in corners] + rows)
    bottom = max([across + size[1] for (_, across), size in sides] + [max(rows) + cell])
    end = max([along + size[0] for (along, _), size in sides] + [max(ways) + cell])
    ranks = {node: (at, 0) for node, at in enumerate(layers)}
    for at, layer in enumerate(order):
        nodes = [element for element in layer if element < mesh.nodes]
        ranks.update((node, (at, place)) for place, node in enumerate(nodes))
    return ComponentDrawing(
        end,
        bottom - top,
        top,
        corners,
        [ranks[node] for node in range(mesh.nodes)],
        lines,
        turned,
        crossings,
    )


def _extent(size: Size, loops: int, spacing: Spacing, grid: bool) -> Extent:
    along, across = size
    if grid:
        return Extent(along, across, (across - 1) // 2, min(loops, 1), 1)
    return Extent(along, across, across / 2, loops, spacing.edge)


def _spread(strands: int, room: float, spacing: Spacing) -> list[float]:
    """Return the offsets from the middle for parallel edges between two nodes."""
    if strands == 1:
        return [0.0]
    step = min(spacing.edge, room * _PORT_SHARE / strands)
    return [(number - (strands - 1) / 2) * step for number in range(strands)]


def _bear(
    mesh: Mesh,
    order: list[list[int]],
    extents: list[Extent],
    shifts: Sequence[Sequence[float]],
    spacing: Spacing,
    grid: bool,
) -> Bearings:
    """Return the position of every element, with space for its box, loops and parallel edges."""
    above: list[float] = [extent.port + extent.reach for extent in extents]
    below: list[float] = [extent.across - extent.port for extent in extents]
    bends = len(mesh.layer) - mesh.nodes
    above += [0] * bends
    below += [1 if grid else 0] * bends
    if not grid:
        for chain, beside in zip(mesh.chains, shifts, strict=True):
            for bend in chain[1:-1]:
                above[bend] = below[bend] = beside[-1]
    rooms: list[list[float]] = []
    for layer in order:
        rooms.append([0])
        for element, next_element in pairwise(layer):
            gap = spacing.node if max(element, next_element) < mesh.nodes else spacing.edge
            rooms[-1].append(below[element] + gap + above[next_element])
    thickness: list[float] = [0] * mesh.depth
    for node, extent in enumerate(extents):
        at = mesh.layer[node]
        thickness[at] = max(thickness[at], extent.along + extent.reach)
    places = place_across(mesh, order, rooms, whole=grid)
    return Bearings(mesh, extents, places, order, thickness)


class _Canvas:
    """Places components on one drawing, with coordinates along and across."""

    def __init__(self, nodes: int, edges: int) -> None:
        self.corners: list[Point] = [(0, 0)] * nodes
        self.ranks = [(0, 0)] * nodes
        self.lines: list[list[Point]] = [[] for _ in range(edges)]
        self.reversed = [False] * edges
        self.layers: list[list[int]] = []
        self.along: float = 0
        self.across: float = 0
        self.crossings = 0

    def add(
        self, members: Sequence[int], edges: Sequence[int], drawing: ComponentDrawing, corner: Point
    ) -> None:
        along, across = corner[0], corner[1] - drawing.top
        for node, (x, y) in zip(members, drawing.corners, strict=True):
            self.corners[node] = (x + along, y + across)
        for edge, line, turned in zip(edges, drawing.lines, drawing.reversed, strict=True):
            moved = [(x + along, y + across) for x, y in line] if along or across else line
            self.lines[edge] = moved
            self.reversed[edge] = turned
        ordered = sorted(zip(drawing.ranks, members, strict=True))
        for (layer, _), node in ordered:
            self._put(node, layer)
        self.along = max(self.along, along + drawing.along)
        self.across = max(self.across, corner[1] + drawing.across)
        self.crossings += drawing.crossings

    def add_grid(
        self, lone: Sequence[int], measures: Sequence[Size], room: Spacing, gap: float
    ) -> None:
        start = self.across + gap if self.across else 0
        cells = arrange_in_grid(
            [measures[node] for node in lone], self.along, room.layer, room.node
        )
        for node, (column, _, along, across) in zip(lone, cells, strict=True):
            self.corners[node] = (along, start + across)
            self._put(node, column)
            self.along = max(self.along, along + measures[node][0])
            self.across = max(self.across, start + across + measures[node][1])

    def _put(self, node: int, layer: int) -> None:
        while len(self.layers) <= layer:
            self.layers.append([])
        self.ranks[node] = (layer, len(self.layers[layer]))
        self.layers[layer].append(node)

    def finish(
        self,
        nodes: Sequence[N],
        edges: Sequence[tuple[N, N]],
        measures: Sequence[Size],
    ) -> Layout[N]:
        positions = {
            node: Box(*self.corners[at], *measures[at], *self.ranks[at])
            for at, node in enumerate(nodes)
        }
        routes = tuple(
            Route(source, target, tuple(line), self.reversed[at], at)
            for at, ((source, target), line) in enumerate(zip(edges, self.lines, strict=True))
        )
        layers = tuple(tuple(nodes[number] for number in layer) for layer in self.layers)
        return Layout(positions, routes, self.along, self.across, self.crossings, layers)


def _measure(node: N, size: Size, grid: bool) -> Size:
    """Return a node's size along and across."""
    width, height = size
    if not (isfinite(width) and isfinite(height) and width > 0 and height > 0):
        raise InvalidInput(
            f"the size of {node!r} is {width} by {height}; give finite numbers above 0"
        )
    return (ceil(width), ceil(height)) if grid else (width, height)


def _pair(source: N, target: N, numbers: Mapping[N, int]) -> Pair:
    for node in (source, target):
        if node not in numbers:
            raise InvalidInput(
                f"an edge leads from {source!r} to {target!r}, but {node!r} has no size; "
                "give one for every node"
            )
    return numbers[source], numbers[target]


def _ranks(previous: Layout[N], numbers: Mapping[N, int]) -> dict[int, int]:
    """Return the nodes that were in the previous drawing, ranked by their position across."""
    stood = sorted(
        (box.y + box.height / 2, box.x + box.width / 2, numbers[node])
        for node, box in previous.positions.items()
        if node in numbers
    )
    return {node: rank for rank, (_, _, node) in enumerate(stood)}


def _edges_by_component(
    components: Sequence[Sequence[int]], pairs: Sequence[Pair], count: int
) -> list[list[int]]:
    home = [0] * count
    for at, members in enumerate(components):
        for node in members:
            home[node] = at
    edges: list[list[int]] = [[] for _ in components]
    for number, (source, _) in enumerate(pairs):
        edges[home[source]].append(number)
    return edges


def _draw(
    members: Sequence[int],
    edges: Sequence[int],
    pairs: Sequence[Pair],
    measures: Sequence[Size],
    room: Spacing,
    grid: bool,
    ranks: Mapping[int, int],
) -> ComponentDrawing:
    local = {node: number for number, node in enumerate(members)}
    return draw_component(
        [measures[node] for node in members],
        [(local[pairs[edge][0]], local[pairs[edge][1]]) for edge in edges],
        room,
        grid=grid,
        kept=[ranks.get(node) for node in members],
    )
