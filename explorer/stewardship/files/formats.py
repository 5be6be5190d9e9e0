"""Which format a file has, and what writes and reads it."""

from collections.abc import Callable, Iterable
from pathlib import PurePath
from typing import Final, Literal, get_args

from explorer.errors import InvalidInput
from explorer.stewardship.documentation import Entry, Row
from explorer.stewardship.files.commas import read_csv, write_csv
from explorer.stewardship.files.markdown import read_markdown, write_markdown
from explorer.stewardship.files.objects import read_json, write_json
from explorer.stewardship.files.workbook import read_xlsx, write_xlsx

__all__ = ["FORMATS", "Format", "format_of", "read_rows", "write_rows"]

Format = Literal["csv", "json", "md", "xlsx"]
FORMATS: Final[tuple[Format, ...]] = get_args(Format)
"""The formats, by the ending of a file's name."""

_WRITERS: Final[dict[Format, Callable[[Iterable[Row]], bytes]]] = {
    "csv": write_csv,
    "json": write_json,
    "md": write_markdown,
    "xlsx": write_xlsx,
}
_READERS: Final[dict[Format, Callable[[bytes], Iterable[Entry]]]] = {
    "csv": read_csv,
    "json": read_json,
    "md": read_markdown,
    "xlsx": read_xlsx,
}
_OTHER_ENDINGS: Final[dict[str, Format]] = {"markdown": "md"}


def format_of(name: str | PurePath) -> Format:
    """The format that the ending of a file's name tells; raises `InvalidInput` for another."""
    ending = PurePath(name).suffix[1:].lower()
    for known in FORMATS:
        if ending == known:
            return known
    if ending in _OTHER_ENDINGS:
        return _OTHER_ENDINGS[ending]
    endings = ", ".join(f".{known}" for known in FORMATS)
    raise InvalidInput(f"{name} does not tell its format; end its name in one of {endings}")


def write_rows(rows: Iterable[Row], form: Format) -> bytes:
    """A file with these rows, in their order, with every text in it exact.

    Raises `Unusable` for XLSX where openpyxl is not installed, `InvalidInput` for more rows than a
    sheet has.
    """
    return _WRITERS[form](rows)


def read_rows(data: bytes, form: Format) -> tuple[Entry, ...]:
    """What a file says, line by line.

    Raises `InvalidInput` when it is no such file, or lacks what every line needs; a line that
    cannot be read is given with its problem.
    """
    return tuple(_READERS[form](data))
