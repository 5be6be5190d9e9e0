"""A large drawing made small: where there are boxes, where the window is, where the cursor."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from rich.cells import cell_len, set_cell_size

from explorer.tui.lineage.drawing import CURSOR, Ink, Span

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from explorer.graph.layout import Box

__all__ = ["CORNER", "Corner", "Overview", "Small", "corner_of", "cut", "framed"]

Small = list[list[str]]
Corner = Literal["bottom", "top"]

CORNER = (18, 5)
"""The cells of the one that stands in a corner of the window, its frame not counted."""
_BOX, _SEEN, _BOX_SEEN = "▪", "░", "▓"
# Below, an overview would hide what it is of.
_WINDOW_AT_LEAST = (60, 14)
# A drawing that reaches just over the edge needs none.
_LARGER = 1.5


@dataclass(frozen=True, slots=True)
class Overview:
    """The boxes of a drawing in few cells: counted once, whatever is moved afterwards."""

    width: int
    height: int
    across: float
    down: float
    boxes: frozenset[tuple[int, int]]

    @classmethod
    def of(
        cls, boxes: "Iterable[Box]", whole: tuple[int, int], width: int, height: int
    ) -> "Overview":
        """Of boxes in a drawing as large as `whole`, in so many cells."""
        across, down = max(whole[0] / width, 1), max(whole[1] / height, 1)
        cells = frozenset(
            (min(int(x / across), width - 1), min(int(box.y / down), height - 1))
            for box in boxes
            for x in (box.x, box.x + box.width / 2, box.x + box.width - 1)
        )
        return cls(width, height, across, down, cells)

    def cell(self, box: "Box") -> tuple[int, int]:
        """Where the middle of a box is."""
        x, y = (box.x + box.width / 2) / self.across, box.y / self.down
        return min(int(x), self.width - 1), min(int(y), self.height - 1)

    def small(
        self, window: tuple[int, int, int, int] | None, marks: "Mapping[str, Box | None]"
    ) -> Small:
        """The cells, row by row: with a window of the drawing (left, top, width, height) what is
        in it stands on a ground; `marks` are the signs of single boxes, the last over the rest."""
        rows = [[self._sign(x, y, window) for x in range(self.width)] for y in range(self.height)]
        for sign, box in marks.items():
            if box is not None:
                x, y = self.cell(box)
                rows[y][x] = sign
        return rows

    def _sign(self, x: int, y: int, window: tuple[int, int, int, int] | None) -> str:
        has_box = (x, y) in self.boxes
        if window is None:
            return _BOX if has_box else " "
        left, top, width, height = window
        across = left < (x + 1) * self.across and x * self.across < left + width
        is_seen = across and top < (y + 1) * self.down and y * self.down < top + height
        if has_box:
            return _BOX_SEEN if is_seen else _BOX
        return _SEEN if is_seen else " "


def corner_of(
    drawing: tuple[int, int], window: tuple[int, int], cursor: tuple[int, int]
) -> Corner | None:
    """In which corner at the right of a window an overview stands: not where the cursor (in cells
    of the window) is. None where the window shows most of the drawing, or is small itself."""
    width, height = window
    if width < _WINDOW_AT_LEAST[0] or height < _WINDOW_AT_LEAST[1]:
        return None
    if drawing[0] <= width * _LARGER and drawing[1] <= height * _LARGER:
        return None
    x, y = cursor
    hides = y > height - CORNER[1] - 4 and x > width - CORNER[0] - 40
    return "top" if hides else "bottom"


def framed(small: Small) -> list[str]:
    """The rows with a line around them."""
    line = "─" * len(small[0])
    return [f"╭{line}╮", *(f"│{''.join(row)}│" for row in small), f"╰{line}╯"]


def cut(row: list[Span], width: int) -> list[Span]:
    """The first cells of a row; a name that goes on behind what stands there ends in a mark."""
    kept: list[Span] = []
    for text, ink in row:
        wide = cell_len(text)
        if wide > width:
            is_name = ink & ~CURSOR not in (Ink.BLANK, Ink.LINE, Ink.WAY) and width > 0
            mark = "…" if is_name else ""
            kept.append((set_cell_size(text, width - len(mark)) + mark, ink))
            break
        kept.append((text, ink))
        width -= wide
    return kept
