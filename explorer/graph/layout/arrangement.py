"""The order being worked on: which element stands where in its layer, and what work is left."""

from collections.abc import Sequence
from itertools import accumulate
from math import inf

from explorer.graph.layout.crossings import count_between
from explorer.graph.layout.mesh import Mesh

__all__ = ["Arrangement", "Layers"]

Layers = list[list[int]]
"""The elements of each layer. Layers are replaced, never changed, so a copy shares them."""


class Arrangement:
    """The layers of a mesh, each in some order, and the place of every element in it.

    Its elements are numbered anew, layer by layer: those of a layer are `starts[layer]` and what
    follows. Elements that were drawn before (with a rank in `kept`, by the mesh's numbers) stay
    within a layer in the order of their ranks. `effort` is what may still be spent, about one unit
    for each edge looked at; it is counted, not timed, so that the same graph always comes out the
    same. Places are floats, as the means they are compared with.
    """

    def __init__(self, mesh: Mesh, kept: Sequence[int | None], effort: int) -> None:
        self.mesh = mesh
        self.effort = effort
        self.depth = mesh.depth
        members: Layers = [[] for _ in range(self.depth)]
        for element, at in enumerate(mesh.layer):
            members[at].append(element)
        self._elements = [element for layer in members for element in layer]
        self._numbers = [0] * len(self._elements)
        for number, element in enumerate(self._elements):
            self._numbers[element] = number
        self.starts = list(accumulate(map(len, members), initial=0))
        self.before = self._renumber(mesh.before)
        self.after = self._renumber(mesh.after)
        self.kept = [kept[element] for element in self._elements]
        self.has_kept = [
            len(layer) - sum(kept[element] is None for element in layer) > 1 for layer in members
        ]
        self.places = [*[0.0] * len(self._elements), inf]
        self.rungs = [float(place) for place in range(max(map(len, members), default=0))]
        self.layers: Layers = [[] for _ in members]

    def _renumber(self, links: Sequence[Sequence[int]]) -> list[list[int]]:
        numbers = self._numbers
        return [[numbers[other] for other in links[element]] for element in self._elements]

    def begin(self, layers: Sequence[Sequence[int]]) -> None:
        """Take these layers of the mesh."""
        self.arrange([[self._numbers[element] for element in layer] for layer in layers])

    def finish(self, layers: Layers) -> list[list[int]]:
        """Layers of an arrangement as layers of the mesh."""
        return [[self._elements[number] for number in layer] for layer in layers]

    def arrange(self, layers: Layers) -> None:
        """Take these layers, kept elements put back in their order."""
        self.layers = list(layers)
        for at, layer in enumerate(layers):
            self.put(at, layer)

    def put(self, at: int, layer: list[int]) -> None:
        """Take this order of one layer, kept elements put back in theirs."""
        if self.has_kept[at]:
            layer = self._settle(layer)
        self.layers[at] = layer
        places = self.places
        for element, place in zip(layer, self.rungs, strict=False):
            places[element] = place

    def _settle(self, layer: list[int]) -> list[int]:
        kept = self.kept
        held = [(rank, element) for element in layer if (rank := kept[element]) is not None]
        in_order = iter([element for _, element in sorted(held)])
        return [element if kept[element] is None else next(in_order) for element in layer]

    def count(self) -> int:
        """How many edges cross."""
        return sum([self.count_behind(at) for at in range(self.depth - 1)])

    def count_behind(self, at: int) -> int:
        """How many edges cross between a layer and the next."""
        after, places = self.after, self.places
        ends: list[float] = []
        for element in self.layers[at]:
            targets = after[element]
            if len(targets) == 1:
                ends.append(places[targets[0]])
            elif targets:
                ends += sorted([places[target] for target in targets])
        self.effort -= len(ends)
        return count_between(ends, len(self.layers[at + 1]))

    def count_around(self, at: int) -> int:
        """How many edges cross on both sides of a layer."""
        return sum([self.count_behind(one) for one in (at - 1, at) if 0 <= one < self.depth - 1])

    def near(self, at: int, elements: Sequence[int]) -> list[set[int]]:
        """For each layer, what these elements of a layer are linked to."""
        near: list[set[int]] = [set() for _ in self.layers]
        self.add_near(near, at, elements)
        return near

    def add_near(self, near: Sequence[set[int]], at: int, elements: Sequence[int]) -> None:
        """Add to each layer's what these elements of a layer are linked to."""
        for element in elements:
            if at:
                near[at - 1].update(self.before[element])
            if at + 1 < self.depth:
                near[at + 1].update(self.after[element])
