"""The parts of a view as plain text, for a terminal, a screen reader and a stored notebook."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest

from rich.cells import cell_len, set_cell_size

from explorer.client.display import block, line
from explorer.notebook.view import (
    Cell,
    Difference,
    Facts,
    Fold,
    Grid,
    Part,
    Picture,
    Prose,
    Say,
    Title,
)

__all__ = ["draw"]

_WIDTH = 100
_GAP = "  "
_NARROWEST = 8
_FIRST = 28


def draw(parts: Iterable[Part]) -> str:
    """The parts below each other, no line of a table wider than 100 cells."""
    return "\n".join(row.rstrip() for part in parts for row in _drawn(part))


def _drawn(part: Part) -> Iterator[str]:
    match part:
        case Title(text, after):
            yield _GAP.join(piece for piece in (line(text), line(after)) if piece)
        case Say(text):
            yield line(text)
        case Prose(label, text):
            yield f"{label}:"
            for row in block(text).strip("\n").split("\n"):
                yield _GAP + row
        case Facts(rows):
            width = max((cell_len(name) for name, _ in rows), default=0)
            for name, cell in rows:
                yield set_cell_size(name, width) + _GAP + _one_line(cell)
        case Grid():
            yield from _table(part)
        case Fold(label, inner):
            yield f"{label}:"
            for below in inner:
                for row in _drawn(below):
                    yield _GAP + row
        case Difference(lines):
            for row in lines:
                yield _GAP + row[:1] + block(row[1:]).replace("\n", " ")
        case Picture(instead=instead):
            for below in instead:
                yield from _drawn(below)


def _table(grid: Grid) -> Iterator[str]:
    rows = [[[_one_line(cell), *map(line, cell.below)] for cell in row] for row in grid.rows]
    columns = zip(*rows, strict=True) if rows else ([] for _ in grid.headers)
    widths = _fitted(
        [
            max(cell_len(text) for text in (header, *(text for cell in column for text in cell)))
            for header, column in zip(grid.headers, columns, strict=True)
        ]
    )
    right = [header in grid.numbers for header in grid.headers]
    yield _row(grid.headers, widths, right)
    for row in rows:
        for texts in zip_longest(*row, fillvalue=""):
            yield _row(texts, widths, right)


def _fitted(widths: list[int]) -> list[int]:
    """The widths with the widest columns made narrower until all fit; the first, which says what a
    row is about, is the last to go below 28 cells."""
    fitted = list(widths)
    room = _WIDTH - len(_GAP) * (len(widths) - 1)
    for spared in (_FIRST, 0):
        while sum(fitted) > room:
            asked = [fitted[0] if fitted[0] > spared else 0, *fitted[1:]]
            if max(asked) <= _NARROWEST:
                break
            fitted[asked.index(max(asked))] -= 1
    return fitted


def _row(texts: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    return _GAP.join(
        _cut(text, width).rjust(width) if to_right else set_cell_size(_cut(text, width), width)
        for text, width, to_right in zip(texts, widths, right, strict=True)
    )


def _cut(text: str, width: int) -> str:
    return text if cell_len(text) <= width else set_cell_size(text, width - 1).rstrip() + "…"


def _one_line(cell: Cell) -> str:
    text = "  " * cell.indent + " ".join(part for part in (cell.mark, line(cell.text)) if part)
    link = line(cell.link)
    return f"{text}  {link}" if link and link != line(cell.text) else text
