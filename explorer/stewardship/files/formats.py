"""Which format a file has, and what writes and reads it."""

from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import PurePath
from types import ModuleType
from typing import Final, Literal, get_args

from explorer.errors import InvalidInput
from explorer.stewardship.documentation import Entry, Row

__all__ = ["FORMATS", "Format", "format_of", "read_rows", "write_rows"]

Format = Literal["csv", "json", "md", "xlsx"]
FORMATS: Final[tuple[Format, ...]] = get_args(Format)
"""The formats, by the ending of a file's name."""

_MODULES: Final[dict[Format, str]] = {
    "csv": "commas",
    "json": "objects",
    "md": "markdown",
    "xlsx": "workbook",
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
    write: Callable[[Iterable[Row]], bytes] = _module(form).write
    return write(rows)


def read_rows(data: bytes, form: Format) -> tuple[Entry, ...]:
    """What a file says, line by line.

    Raises `InvalidInput` when it is no such file, or lacks what every line needs; a line that
    cannot be read is given with its problem.
    """
    read: Callable[[bytes], Iterable[Entry]] = _module(form).read
    return tuple(read(data))


def _module(form: Format) -> ModuleType:
    return import_module(f"explorer.stewardship.files.{_MODULES[form]}")
