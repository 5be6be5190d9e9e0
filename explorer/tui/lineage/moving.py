"""Where the cursor goes from a box: along the lines where there are some, else to what is near."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Literal

from explorer.tui.lineage.neighbourhood import Edge

if TYPE_CHECKING:
    from explorer.graph.layout import Box

__all__ = ["Way", "box_at", "nearest"]

Way = Literal["left", "right", "up", "down"]

# A cell is about twice as high as it is wide.
_ROW = 2
_ASIDE = 4


def nearest(boxes: "Mapping[str, Box]", edges: Iterable[Edge], node: str, way: Way) -> str | None:
    """The box next to a node in a direction; nothing where there is none. Pure.

    To the left and right the nearest of those a line leads to, then the nearest of all; up and
    down the next in the same layer, then the nearest of all.
    """
    here = boxes.get(node)
    if here is None:
        return next(iter(boxes), None)
    ahead = [other for other, box in boxes.items() if _is_ahead(here, box, way)]
    if way in ("left", "right"):
        joined = {up if down == node else down for up, down in edges if node in (up, down)}
        preferred = [other for other in ahead if other in joined]
    else:
        preferred = [other for other in ahead if boxes[other].layer == here.layer]
    found = preferred or ahead
    return min(found, key=lambda other: _distance(here, boxes[other], way), default=None)


def box_at(boxes: "Mapping[str, Box]", x: int, y: int) -> str | None:
    """The node whose box holds a cell."""
    return next(
        (
            node
            for node, box in boxes.items()
            if box.x <= x < box.x + box.width and box.y <= y < box.y + box.height
        ),
        None,
    )


def _is_ahead(here: "Box", box: "Box", way: Way) -> bool:
    match way:
        case "left":
            return box.x + box.width <= here.x
        case "right":
            return box.x >= here.x + here.width
        case "up":
            return box.y + box.height <= here.y
        case "down":
            return box.y >= here.y + here.height


def _distance(here: "Box", box: "Box", way: Way) -> tuple[float, float, float]:
    rows = abs(box.y - here.y) * _ROW
    columns = max(box.x - here.x - here.width, here.x - box.x - box.width, 0)
    far = columns + rows * _ASIDE if way in ("left", "right") else rows + columns * _ASIDE
    return far, box.y, box.x
