"""Where layers and elements are, before any edge is routed.

`along` runs from layer to layer, `across` within a layer, whichever way the drawing goes.
"""

from dataclasses import dataclass
from typing import NamedTuple

from explorer.graph.layout.mesh import Mesh

__all__ = ["Bearings", "Extent"]


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
