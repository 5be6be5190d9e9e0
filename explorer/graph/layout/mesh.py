"""A layered graph whose edges all lead to the very next layer."""

from collections.abc import Sequence
from dataclasses import dataclass

from explorer.graph.layout.cycles import Pair

__all__ = ["Mesh", "make_mesh"]


@dataclass(frozen=True, slots=True)
class Mesh:
    """Elements of a layered drawing: nodes 0 to `nodes` - 1, then the bends of long edges.

    layer    of each element, from 0
    after    of each element, those it leads to in the next layer
    before   of each element, those that lead to it from the layer before
    chains   for each pair its elements, from the earlier layer to the later
    """

    nodes: int
    layer: list[int]
    after: list[list[int]]
    before: list[list[int]]
    chains: list[list[int]]

    @property
    def depth(self) -> int:
        """How many layers there are."""
        return max(self.layer, default=-1) + 1


def make_mesh(
    layers: Sequence[int], pairs: Sequence[Pair], lanes: Sequence[int] | None = None
) -> Mesh:
    """Bends put into every edge that is longer than one layer.

    With `lanes`, one number for each pair, pairs that leave the same node with the same number
    share their bends for as long as they run side by side, so that a fan reads as one line.
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
