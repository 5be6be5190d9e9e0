"""XLSX, through openpyxl: every cell a text, never a formula, whatever it holds.

Characters that a workbook cannot hold are written as workbooks write them, `_x000D_`, which Excel
and LibreOffice show as the characters they stand for. A text too long for a cell goes on in the
cells of further columns, `edited (2)`.
"""

import io
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime, time
from typing import TYPE_CHECKING, Any, Final
from zipfile import BadZipFile

from explorer.errors import InvalidInput, MissingExtra
from explorer.stewardship.documentation import Entry, Row
from explorer.stewardship.files.commas import defused
from explorer.stewardship.files.sheet import HEADER, cells_of, read_table

if TYPE_CHECKING:
    from types import ModuleType

__all__ = ["read_xlsx", "write_xlsx"]

_MOST_ROWS: Final = 1_048_575
_MOST_UNITS: Final = 32_767
_TITLE: Final = "documentation"
_HEADING: Final = "documentation heading"
_BODY: Final = "documentation text"
_WIDTHS: Final = dict(zip(HEADER, (48, 28, 28, 16, 48, 64, 28, 26), strict=True))
_UNHELD: Final = re.compile(r"[\x00-\x08\x0b-\x1f\ufffe\uffff]|_(?=x[0-9A-Fa-f]{4}_)")
# Halves of surrogate pairs are no characters.
_ESCAPE: Final = re.compile(r"_x((?![dD][89a-fA-F])[0-9A-Fa-f]{4})_")
_CONTINUED: Final = re.compile(r"(.*\S)\s*\((\d+)\)")


def write_xlsx(rows: Iterable[Row]) -> bytes:
    """One sheet, its header fixed in sight."""
    openpyxl = _openpyxl()
    table = [[_pieces(cell) for cell in cells_of(row)] for row in rows]
    if len(table) > _MOST_ROWS:
        raise InvalidInput(
            f"{len(table):,} rows are more than a sheet holds ({_MOST_ROWS:,}); write CSV or JSON, "
            "or choose fewer tables"
        )
    widths = [max((len(cells[at]) for cells in table), default=1) for at in range(len(HEADER))]
    book = openpyxl.Workbook(write_only=True)
    _add_styles(openpyxl, book)
    sheet = book.create_sheet(_TITLE)
    sheet.freeze_panes = "A2"
    names = [
        _name(name, part)
        for name, width in zip(HEADER, widths, strict=True)
        for part in range(width)
    ]
    for at, name in enumerate(names, start=1):
        letter = openpyxl.utils.get_column_letter(at)
        sheet.column_dimensions[letter].width = _WIDTHS[name.partition(" ")[0]]
    sheet.append([_cell(openpyxl, sheet, name, heads=True) for name in names])
    for cells in table:
        pieces = [
            piece
            for parts, width in zip(cells, widths, strict=True)
            for piece in (*parts, *[""] * (width - len(parts)))
        ]
        sheet.append([_cell(openpyxl, sheet, piece) for piece in pieces])
    held = io.BytesIO()
    book.save(held)
    return held.getvalue()


def read_xlsx(data: bytes) -> Iterable[Entry]:
    """The entries of the first sheet. A number, a date or a formula that somebody put into a cell
    counts as the text that is seen there."""
    openpyxl = _openpyxl()
    try:
        book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True)
    except (BadZipFile, KeyError, ValueError, openpyxl.utils.exceptions.InvalidFileException):
        raise InvalidInput("the file is no XLSX workbook, or it is damaged") from None
    if not book.worksheets:
        raise InvalidInput("the workbook has no sheet")
    return read_table(_lines(book.worksheets[0]))


def _lines(sheet: Any) -> Iterator[tuple[str, Sequence[str]]]:
    rows = sheet.iter_rows(values_only=True)
    header = [_text(value) for value in next(rows, ())]
    homes = [_home(name) for name in header]
    names = [name for at, name in enumerate(header) if homes[at] == (name, 1)]
    yield "row 1", names
    for number, values in enumerate(rows, start=2):
        parts: dict[str, dict[int, str]] = {name: {} for name in names}
        for (name, part), value in zip(homes, values, strict=False):
            if name in parts:
                parts[name].setdefault(part, _text(value))
        yield (
            f"row {number}",
            ["".join(parts[name][at] for at in sorted(parts[name])) for name in names],
        )


def _name(name: str, part: int) -> str:
    return f"{name} ({part + 1})" if part else name


def _home(name: str) -> tuple[str, int]:
    """The column that a header's name belongs to, and which part of it."""
    found = _CONTINUED.fullmatch(name)
    if found and found[1].lower() in HEADER and int(found[2]) > 1:
        return found[1], int(found[2])
    return name, 1


def _cell(openpyxl: "ModuleType", sheet: Any, text: str, *, heads: bool = False) -> Any:
    # A cell without a text is left out of the file.
    if not text:
        return None
    cell = openpyxl.cell.WriteOnlyCell(sheet, text)
    cell.data_type = "s"
    cell.style = _HEADING if heads else _BODY
    if defused(text) != text:
        cell.quotePrefix = True
    return cell


def _add_styles(openpyxl: "ModuleType", book: Any) -> None:
    """Named ones: giving each cell a style of its own takes three times as long."""
    for name in (_HEADING, _BODY):
        style = openpyxl.styles.NamedStyle(name)
        # What is typed into a cell later is a text as well, a leading sign of equality included.
        style.number_format = "@"
        style.font = openpyxl.styles.Font(bold=name == _HEADING)
        style.alignment = openpyxl.styles.Alignment(vertical="top", wrap_text=name == _BODY)
        book.add_named_style(style)


def _pieces(text: str) -> list[str]:
    """The text in cells, one of them unless it is too long for it."""
    written = _UNHELD.sub(_escaped, text)
    if len(written) <= _MOST_UNITS and len(written.encode("utf-16-le")) <= 2 * _MOST_UNITS:
        return [written]
    half = min(len(text) // 2, _MOST_UNITS)
    return [*_pieces(text[:half]), *_pieces(text[half:])]


def _escaped(found: re.Match[str]) -> str:
    return f"_x{ord(found[0]):04X}_"


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return _ESCAPE.sub(lambda found: chr(int(found[1], 16)), value)
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    return str(value)


def _openpyxl() -> "ModuleType":
    try:
        import openpyxl
        import openpyxl.cell
        import openpyxl.styles
        import openpyxl.utils
        import openpyxl.utils.exceptions
    except ImportError as error:
        raise MissingExtra(
            "XLSX files need the package openpyxl", "files", ", or choose CSV, JSON or Markdown"
        ) from error
    found: ModuleType = openpyxl
    return found
