"""Components put beside and below each other, and lone nodes in a grid."""

from collections.abc import Sequence
from math import isqrt

from explorer.graph.layout.records import Point, Size

__all__ = ["arrange_in_grid", "pack"]


def pack(sizes: Sequence[Size], gap: float) -> list[Point]:
    """Where each drawing begins: in rows no longer than the longest of them, in the order given."""
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
    """Column, row and corner of each lone node, row by row.

    As many columns as fit into `length`, but never fewer than make the grid about square.
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
