"""CSV (RFC 4180, UTF-8), safe to open in a spreadsheet and exact on the way back.

A cell that a spreadsheet would take for a formula gets an apostrophe before it. So does one that
already reads like a cell with such apostrophes; reading takes one away from exactly those, so that
an apostrophe that somebody wrote stays.
"""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from explorer.errors import InvalidInput
from explorer.stewardship.documentation import Entry, Row
from explorer.stewardship.files.sheet import HEADER, cells_of, read_table

__all__ = ["armed", "defused", "read_csv", "write_csv"]

# What spreadsheets read as the beginning of a formula, the full-width forms with it.
_BEGINNING: Final = r"(?:[\t\r\n]|\s*[=+\-@|%＝＋－＠])"
_FORMULA: Final = re.compile(f"'*{_BEGINNING}")
_DEFUSED: Final = re.compile(f"'+{_BEGINNING}")
_DELIMITERS: Final = ",;\t"
_LONGEST: Final = 2**31 - 1


def defused(cell: str) -> str:
    """The cell, with an apostrophe before it where a spreadsheet could run it."""
    return f"'{cell}" if _FORMULA.match(cell) else cell


def armed(cell: str) -> str:
    """The cell without the apostrophe that `defused` put before it."""
    return cell[1:] if _DEFUSED.match(cell) else cell


def write_csv(rows: Iterable[Row]) -> bytes:
    """A header and a line for each row; begins with the mark by which Excel knows UTF-8."""
    held = io.StringIO(newline="")
    writer = csv.writer(held)
    writer.writerow(HEADER)
    for row in rows:
        writer.writerow(map(defused, cells_of(row)))
    return held.getvalue().encode("utf-8-sig")


def read_csv(data: bytes) -> Iterable[Entry]:
    """The entries of a file that was exported, or edited and saved by a spreadsheet since: commas,
    semicolons or tabs between the cells, with or without the mark for UTF-8."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"the file is not UTF-8 (byte {error.start:,}); save it as “CSV UTF-8”"
        ) from None
    return read_table(_lines(text))


def _lines(text: str) -> Iterator[tuple[str, Sequence[str]]]:
    # The module's own limit is for the whole process; it is only ever raised.
    csv.field_size_limit(max(csv.field_size_limit(), _LONGEST))
    first = text.partition("\n")[0]
    delimiter = max(_DELIMITERS, key=first.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    while True:
        place = f"line {reader.line_num + 1}"
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise InvalidInput(f"{place} is no CSV: {error}") from None
        yield place, [armed(cell) for cell in cells]
