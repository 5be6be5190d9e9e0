"""What a layout is asked for and what it gives."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

__all__ = ["Box", "Direction", "Layout", "Point", "Route", "Size", "Spacing"]

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
