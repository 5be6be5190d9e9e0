"""The order being worked on: which element stands where in its layer, and what work is left."""

from collections.abc import Sequence

from explorer.graph.layout.crossings import count_crossings
from explorer.graph.layout.mesh import Mesh

__all__ = ["Arrangement"]


class Arrangement:
    """The layers of a mesh, each in some order, and the place of every element in it.

    Elements with a rank in `kept` were drawn before: in a layer they stay in the order of their
    ranks. `effort` is what may still be spent, about one unit for each edge looked at; it is
    counted, not timed, so that the same graph always comes out the same.
    """

    def __init__(self, mesh: Mesh, kept: Sequence[int | None], effort: int) -> None:
        self.mesh = mesh
        self.kept = kept
        self.effort = effort
        self.layers: list[list[int]] = [[] for _ in range(mesh.depth)]
        self.places = [0] * len(mesh.layer)
        self._count_cost = len(mesh.layer) + sum(map(len, mesh.after))

    def copy_layers(self) -> list[list[int]]:
        """The layers as they are now."""
        return [list(layer) for layer in self.layers]

    def arrange(self, layers: list[list[int]]) -> None:
        """Take these layers, kept elements put back in their order."""
        self.layers = layers
        for layer in layers:
            self.renew(layer)

    def renew(self, layer: list[int]) -> None:
        """After a layer was reordered: put kept elements back in their order, and number it."""
        kept = self.kept
        held = [(rank, element) for element in layer if (rank := kept[element]) is not None]
        if len(held) > 1:
            in_order = iter([element for _, element in sorted(held)])
            layer[:] = [element if kept[element] is None else next(in_order) for element in layer]
        places = self.places
        for at, element in enumerate(layer):
            places[element] = at

    def count(self) -> int:
        """How many edges cross."""
        self.effort -= self._count_cost
        return count_crossings(self.layers, self.mesh.after, self.places)
