"""Assigning nodes to the layers of a drawing, and ordering each layer with few crossings.

The layers are ordered by barycentre (Sugiyama, Tagawa and Toda 1981): each is sorted by the mean
position of the neighbours in the layer before it, forwards and backwards in turn, and the order
with the fewest crossings is kept. Finally, neighbours in a layer are exchanged as long as that
removes crossings. No randomness and no clock is used, so results are reproducible.
"""

from bisect import bisect_right, insort
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

Pair = tuple[int, int]


def turn_back_edges(count: int, pairs: Sequence[Pair]) -> list[bool]:
    """Return for each pair whether it must be reversed, so that the graph has no cycle.

    A depth-first search from the nodes without predecessors, in the order given, then from the
    rest: an edge to a node on the current path closes a cycle and is reversed. Loops are ignored.
    O(nodes + pairs), without recursion.
    """
    out: list[list[tuple[int, int]]] = [[] for _ in range(count)]
    entered = [False] * count
    for number, (source, target) in enumerate(pairs):
        if source != target:
            out[source].append((number, target))
            entered[target] = True
    turned = [False] * len(pairs)
    unseen, walking, finished = 0, 1, 2
    state = [unseen] * count
    roots = [node for node in range(count) if not entered[node]]
    roots += [node for node in range(count) if entered[node]]
    for root in roots:
        if state[root] != unseen:
            continue
        state[root] = walking
        stack = [(root, iter(out[root]))]
        while stack:
            node, rest = stack[-1]
            step = next(rest, None)
            if step is None:
                state[node] = finished
                stack.pop()
                continue
            number, target = step
            if state[target] == walking:
                turned[number] = True
            elif state[target] == unseen:
                state[target] = walking
                stack.append((target, iter(out[target])))
    return turned


@dataclass(frozen=True, slots=True)
class Mesh:
    """The elements of a layered drawing: nodes 0 to `nodes` - 1, then the bends of long edges.

    layer    the layer of each element, from 0
    after    the elements in the next layer that each element leads to
    before   the elements in the previous layer that lead to each element
    chains   the elements of each pair, from the earlier layer to the later
    """

    nodes: int
    layer: list[int]
    after: list[list[int]]
    before: list[list[int]]
    chains: list[list[int]]

    @property
    def depth(self) -> int:
        """The number of layers."""
        return max(self.layer, default=-1) + 1


def make_mesh(
    layers: Sequence[int], pairs: Sequence[Pair], lanes: Sequence[int] | None = None
) -> Mesh:
    """Return the mesh with a bend in each layer that an edge passes.

    With `lanes`, one number for each pair, pairs that leave the same node with the same number
    share their bends as long as they run in parallel, so that they are drawn as one line.
    """
    layer = list(layers)
    after: list[list[int]] = [[] for _ in layer]
    before: list[list[int]] = [[] for _ in layer]
    chains: list[list[int]] = []
    shared: dict[tuple[int, int, int], int] = {}
    for number, (source, target) in enumerate(pairs):
        chain = [source]
        for at in range(layer[source] + 1, layer[target]):
            lane = (source, lanes[number] if lanes else ~number, at)
            bend = shared.get(lane)
            if bend is None:
                bend = shared[lane] = len(layer)
                layer.append(at)
                after.append([])
                before.append([chain[-1]])
                after[chain[-1]].append(bend)
            chain.append(bend)
        after[chain[-1]].append(target)
        before[target].append(chain[-1])
        chain.append(target)
        chains.append(chain)
    return Mesh(len(layers), layer, after, before, chains)


_ROUNDS = 5
_LARGEST_GROUP = 24


def assign_layers(count: int, pairs: Sequence[Pair]) -> list[int]:
    """Return the layer of each node, from 0, for pairs without cycles.

    First as early as the longest path to the node allows; then groups of nodes connected by edges
    of length one are moved as far as possible wherever that reduces the total length of edges.
    Rounds and groups are bounded, so the cost is O(nodes + pairs). On graphs of 500 nodes the total
    length is within one percent of the minimum.
    """
    after: list[list[int]] = [[] for _ in range(count)]
    before: list[list[int]] = [[] for _ in range(count)]
    for source, target in pairs:
        after[source].append(target)
        before[target].append(source)
    layers = _longest_paths(after, before)
    order = sorted(range(count), key=layers.__getitem__)
    leading = [len(near) - len(far) for near, far in zip(after, before, strict=True)]
    entering = [-more for more in leading]
    # Later nodes move first, so that earlier ones can use the freed space in the same round.
    pushing = [node for node in reversed(order) if leading[node] > 0]
    pulling = [node for node in order if entering[node] > 0]
    # A node that could not move is not tried again until another has moved.
    moves = 1
    stayed = [0] * count
    for _ in range(_ROUNDS):
        for node in pushing:
            if stayed[node] < moves:
                if _shift(node, layers, after, leading, 1):
                    moves += 1
                else:
                    stayed[node] = moves
        for node in pulling:
            if stayed[node] < moves:
                if _shift(node, layers, before, entering, -1):
                    moves += 1
                else:
                    stayed[node] = moves
    first = min(layers, default=0)
    return _without_gaps([layer - first for layer in layers])


def _longest_paths(after: list[list[int]], before: list[list[int]]) -> list[int]:
    waiting = [len(sources) for sources in before]
    layers = [0] * len(after)
    ready = deque(node for node, count in enumerate(waiting) if not count)
    while ready:
        node = ready.popleft()
        for target in after[node]:
            layers[target] = max(layers[target], layers[node] + 1)
            waiting[target] -= 1
            if not waiting[target]:
                ready.append(target)
    return layers


def _shift(
    node: int, layers: list[int], ahead: list[list[int]], balance: list[int], step: int
) -> bool:
    """Move the node, and the nodes it pushes, along `step` if that shortens edges; return whether
    it did.

    `balance` is for each node the number of edges along `step` minus the number against it.
    """
    # An edge inside the group counts once on each side, so it cancels out of the gain.
    gain = balance[node]
    group = {node}
    stack = [node]
    beyond: list[tuple[int, int]] = []
    while stack:
        member = stack.pop()
        layer = layers[member]
        for pushed in ahead[member]:
            far = (layers[pushed] - layer) * step - 1
            if far:
                # It may still join the group through another member; then it is no bound.
                beyond.append((far, pushed))
            elif pushed not in group:
                if len(group) == _LARGEST_GROUP:
                    return False
                group.add(pushed)
                stack.append(pushed)
                gain += balance[pushed]
    if gain <= 0:
        return False
    room = min((far for far, node in beyond if node not in group), default=0)
    if room <= 0:
        return False
    for member in group:
        layers[member] += room * step
    return True


def _without_gaps(layers: list[int]) -> list[int]:
    places = {layer: at for at, layer in enumerate(sorted(set(layers)))}
    return [places[layer] for layer in layers]


def count_between(ends: Sequence[int]) -> int:
    """Return the number of crossings of edges between two layers.

    `ends` are the positions of their far ends; the edges are sorted by their near end, then by
    their far end, so two of them cross if the later one ends before the earlier one.
    """
    sorted_ends: list[int] = []
    crossings = 0
    for count, end in enumerate(ends):
        crossings += count - bisect_right(sorted_ends, end)
        insort(sorted_ends, end)
    return crossings


_SWEEPS = 24
# Sweeps without an improvement after which others are hardly ever better.
_PATIENCE = 8
_EXCHANGES = 12


def order_layers(
    mesh: Mesh, kept: Sequence[int | None] | None = None
) -> tuple[list[list[int]], int]:
    """Return the elements of each layer in order, and the number of crossings.

    `kept` gives the ranks of elements in an earlier drawing: within a layer they stay in this
    order. O(edges * log edges) for each of at most 48 sweeps.
    """
    orders: list[tuple[int, int, list[list[int]]]] = []
    for number, elements in enumerate((_in_input_order(mesh), _along_the_edges(mesh))):
        order = _Order(mesh, kept or [None] * len(mesh.layer), elements)
        order.sweep()
        order.exchange()
        crossings = order.count()
        orders.append((crossings, number, order.layers))
        if not crossings:
            break
    crossings, _, layers = min(orders)
    return layers, crossings


def _in_input_order(mesh: Mesh) -> list[int]:
    """Return the nodes in the given order, each followed by the bends of the edges from it."""
    origin = list(range(len(mesh.layer)))
    for chain in mesh.chains:
        for bend in chain[1:-1]:
            origin[bend] = chain[0]
    return sorted(range(len(origin)), key=origin.__getitem__)


def _along_the_edges(mesh: Mesh) -> list[int]:
    """Return the elements as a depth-first search against the edges visits them."""
    visited: dict[int, None] = {}
    for root, targets in enumerate(mesh.after):
        stack = [] if targets else [root]
        while stack:
            element = stack.pop()
            if element not in visited:
                visited[element] = None
                stack.extend(reversed(mesh.before[element]))
    return list(visited)


class _Order:
    """The order of the elements in each layer of a mesh, and the position of each element.

    Elements with a rank in `kept` stay in the order of their ranks within a layer.
    """

    def __init__(self, mesh: Mesh, kept: Sequence[int | None], elements: Sequence[int]) -> None:
        self._mesh, self._kept = mesh, kept
        self._places = [0] * len(mesh.layer)
        self.layers: list[list[int]] = [[] for _ in range(mesh.depth)]
        for element in elements:
            self.layers[mesh.layer[element]].append(element)
        for at, layer in enumerate(self.layers):
            self._put(at, layer)

    def count(self) -> int:
        """Return the number of crossings."""
        return sum(map(self._count_behind, range(len(self.layers) - 1)))

    def _count_behind(self, at: int) -> int:
        """Return the number of crossings between a layer and the next."""
        places, after = self._places, self._mesh.after
        return count_between(
            [
                place
                for element in self.layers[at]
                for place in sorted([places[target] for target in after[element]])
            ]
        )

    def sweep(self) -> None:
        """Sort the layers by their neighbours, forwards and backwards, and keep the best order."""
        best, least = self.layers[:], self.count()
        improved_at = 0
        for turn in range(_SWEEPS):
            if not least or turn - improved_at > _PATIENCE:
                break
            forwards = turn % 2 == 0
            # Elements with equal means change places in every other pair of sweeps.
            reverses_equals = turn % 4 > 1
            layers = range(len(self.layers))
            for at in layers[1:] if forwards else layers[-2::-1]:
                self._sort(at, forwards, reverses_equals)
            crossings = self.count()
            if crossings < least:
                best, least, improved_at = self.layers[:], crossings, turn
        for at, layer in enumerate(best):
            self._put(at, layer)

    def _sort(self, at: int, forwards: bool, reverses_equals: bool) -> None:
        """Sort a layer by the mean position of neighbours; elements without any keep theirs."""
        links = self._mesh.before if forwards else self._mesh.after
        places = self._places
        layer = self.layers[at]
        means = {
            element: sum([places[neighbour] for neighbour in near]) / len(near)
            for element in (reversed(layer) if reverses_equals else layer)
            if (near := links[element])
        }
        linked = iter(sorted(means, key=means.__getitem__))
        self._put(at, [next(linked) if element in means else element for element in layer])

    def exchange(self) -> None:
        """Exchange neighbours in a layer as long as that removes crossings."""
        for _ in range(_EXCHANGES):
            if not sum(map(self._exchange_in, range(len(self.layers)))):
                break

    def _exchange_in(self, at: int) -> bool:
        layer, places, ranks = list(self.layers[at]), self._places, self._kept
        sides = [
            [
                sorted([places[neighbour] for neighbour in links[element]])
                for links in (self._mesh.before, self._mesh.after)
            ]
            for element in layer
        ]
        improves = False
        for first, second in pairwise(range(len(layer))):
            if ranks[layer[first]] is not None and ranks[layer[second]] is not None:
                continue
            gain = 0
            for near, far in zip(sides[first], sides[second], strict=True):
                gain += _count_pair(near, far) - _count_pair(far, near)
            if gain > 0:
                improves = True
                layer[first], layer[second] = layer[second], layer[first]
                sides[first], sides[second] = sides[second], sides[first]
        if improves:
            self._put(at, layer)
        return improves

    def _put(self, at: int, layer: list[int]) -> None:
        """Set the order of a layer; elements with a rank in `kept` are put in the order of their
        ranks."""
        ranks = self._kept
        ranked = [(rank, element) for element in layer if (rank := ranks[element]) is not None]
        if len(ranked) > 1:
            in_order = iter(sorted(ranked))
            layer = [element if ranks[element] is None else next(in_order)[1] for element in layer]
        self.layers[at] = layer
        for place, element in enumerate(layer):
            self._places[element] = place


def _count_pair(first: Sequence[int], second: Sequence[int]) -> int:
    """Return the crossings of the edges of two neighbours, given the sorted positions of their
    ends."""
    crossings = before = 0
    for end in first:
        while before < len(second) and second[before] < end:
            before += 1
        crossings += before
    return crossings
