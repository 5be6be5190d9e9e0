"""Bars, lines and sparklines as text, of blocks and braille dots."""

from collections.abc import Sequence
from itertools import pairwise

__all__ = ["bar", "bars", "cell_of", "line", "spark"]

_LEVELS = " ▁▂▃▄▅▆▇█"
_BRAILLE = 0x2800
# The bits of a braille character's dots, by column and by row from the top.
_DOTS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))


def bar(share: float, width: int) -> str:
    """A bar of `share`, 0 to 1, of a width in cells; what is not nothing is seen.

    It is flat, so that bars below each other stay apart.
    """
    halves = round(min(max(share, 0.0), 1.0) * width * 2)
    if share > 0 and not halves:
        halves = 1
    return ("━" * (halves // 2) + "╸" * (halves % 2)).ljust(width)


def spark(values: Sequence[float | None], width: int, least: float = 0) -> str:
    """Values as a row of blocks, from nothing to the greatest or `least`; blank where there is
    none. Of more values than cells each cell shows its greatest."""
    shown: list[float | None] = list(values)
    if len(shown) > width:
        cuts = [len(shown) * at // width for at in range(width + 1)]
        shown = [_greatest(shown[a:b]) for a, b in pairwise(cuts)]
    top = max([least, *(value for value in shown if value is not None)]) or 1
    drawn = (" " if one is None else _LEVELS[max(1, round(one / top * 8))] for one in shown)
    return "".join(drawn).rjust(width)


def bars(values: Sequence[float | None], width: int, height: int, top: float) -> list[str]:
    """Bars from the bottom, one for each value, in lines of `width` cells from the top.

    A measured nothing is a thin line, what was not measured is blank. Where there are more values
    than cells, a cell has the greatest of its values.
    """
    wide = max(1, width // max(len(values), 1))
    tall: list[int | None] = [None] * width
    for at, value in enumerate(values):
        if value is None:
            continue
        level = max(1, round(value / top * height * 8))
        first = cell_of(at, len(values), width)
        for cell in range(first, min(first + max(1, wide - 1), width)):
            tall[cell] = max(tall[cell] or 0, level)
    return [
        "".join(
            " " if level is None else _LEVELS[max(0, min(8, level - below * 8))] for level in tall
        )
        for below in range(height - 1, -1, -1)
    ]


def line(
    points: Sequence[tuple[float, float]], breaks: frozenset[int], width: int, height: int
) -> list[str]:
    """A line through points, each across and up 0 to 1, in braille, in lines from the top.

    No line is drawn to the points whose numbers are in `breaks` from the one before. Where many
    fall into a column of dots, all from the lowest to the highest is filled.
    """
    columns, rows = width * 2, height * 4
    lowest, highest = [rows] * columns, [-1] * columns

    def mark(column: int, row: int) -> None:
        if row < lowest[column]:
            lowest[column] = row
        if row > highest[column]:
            highest[column] = row

    previous: tuple[int, int] | None = None
    for at, (across, up) in enumerate(points):
        here = round(across * (columns - 1)), round(up * (rows - 1))
        mark(*here)
        if previous is not None and at not in breaks:
            steps = max(here[0] - previous[0], 1)
            before = previous[1]
            for step in range(1, steps + 1):
                row = round(previous[1] + (here[1] - previous[1]) * step / steps)
                column = min(previous[0] + step, here[0])
                mark(column, row)
                # Up or down from the dot before, so that the line has no holes.
                mark(column, before + (row > before) - (row < before))
                before = row
        previous = here
    cells = [[0] * width for _ in range(height)]
    for column in range(columns):
        for row in range(lowest[column], highest[column] + 1):
            top = rows - 1 - row
            cells[top // 4][column // 2] |= _DOTS[column % 2][top % 4]
    return ["".join(chr(_BRAILLE + bits) if bits else " " for bits in row) for row in cells]


def cell_of(slot: int, slots: int, width: int) -> int:
    """The first cell, of `width`, of one of so many places side by side."""
    wide = width // slots if slots else 0
    return slot * wide if wide else slot * width // slots


def _greatest(values: Sequence[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)
