"""A large drawing made small: where there are boxes, where the window is, where the cursor."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.cells import cell_len

from explorer.tui.lineage.drawing import Span

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from explorer.graph.layout import Box

__all__ = ["CORNER", "Overview", "Small", "covered", "framed", "free_place", "is_wanted"]

Small = list[list[str]]

CORNER = (18, 5)
"""The cells of the one that stands at the edge of the window, its frame not counted."""
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


def is_wanted(drawing: tuple[int, int], window: tuple[int, int]) -> bool:
    """Whether a window shows so little of a drawing that an overview helps, and is not too small
    for one itself."""
    width, height = window
    if width < _WINDOW_AT_LEAST[0] or height < _WINDOW_AT_LEAST[1]:
        return False
    return drawing[0] > width * _LARGER or drawing[1] > height * _LARGER


def free_place(boxes: "Iterable[Box]", window: tuple[int, int, int, int]) -> tuple[int, int] | None:
    """The cell of a window (left, top, width, height) where the frame of an overview begins, so
    that it covers no box: in a corner, the lower right one first, or else along an edge. None where
    every place covers one."""
    left, top, width, height = window
    wide, high = CORNER[0] + 2, CORNER[1] + 2
    seen = [(int(box.x) - left, int(box.y) - top, int(box.width), int(box.height)) for box in boxes]
    seen = [
        (x, y, along, down)
        for x, y, along, down in seen
        if x < width and y < height and x + along > 0 and y + down > 0
    ]
    right, bottom = width - wide, height - high
    corners = [(right, bottom), (right, 0), (0, bottom), (0, 0)]
    edges = [(right, y) for y in range(bottom - 1, 0, -1)]
    edges += [(x, y) for y in (bottom, 0) for x in range(right - 1, 0, -1)]
    for at_x, at_y in (*corners, *edges):
        if not any(
            x < at_x + wide and at_x < x + along and y < at_y + high and at_y < y + down
            for x, y, along, down in seen
        ):
            return at_x, at_y
    return None


def framed(small: Small) -> list[str]:
    """The rows with a line around them."""
    line = "─" * len(small[0])
    return [f"╭{line}╮", *(f"│{''.join(row)}│" for row in small), f"╰{line}╯"]


def covered(row: list[Span], at: int, text: str, ink: int) -> list[Span]:
    """A row with a text over its cells from `at` on, where there are lines and blanks alone."""
    before, rest = _split(row, at)
    _, after = _split(rest, len(text))
    return [*before, (text, ink), *after]


def _split(row: list[Span], at: int) -> tuple[list[Span], list[Span]]:
    """The first `at` cells of a row, and the others; what is cut has one cell a character."""
    before: list[Span] = []
    for number, (text, ink) in enumerate(row):
        wide = cell_len(text)
        if wide > at:
            head: list[Span] = [(text[:at], ink)] if at else []
            return [*before, *head], [(text[at:], ink), *row[number + 1 :]]
        before.append((text, ink))
        at -= wide
    return before, []
