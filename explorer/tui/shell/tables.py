"""Tables of what a screen shows, written to files."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, runtime_checkable

from explorer.errors import InvalidInput
from explorer.views.table import FILE_FORMATS, Row, Table, require_parquet

__all__ = [
    "Tabular",
    "check",
    "path_of",
    "put",
    "suggest_name",
    "write",
]


@runtime_checkable
class Tabular(Protocol):
    """A widget whose content can be written to a file."""

    def table(self) -> Table | None:
        """What it shows; nothing while it shows no list."""
        ...


def suggest_name(title: str) -> str:
    """A file's name for a table, that any file system takes."""
    plain = "".join(char if char.isalnum() or char in "-_" else "-" for char in title)
    return f"{plain.strip('-')[:80] or 'catalog'}.csv"


def path_of(typed: str, forms: Sequence[str]) -> Path:
    """The file that somebody named; raises `InvalidInput` where its end says no known form."""
    path = Path(typed.strip()).expanduser()
    if path.suffix.lower() not in forms:
        raise InvalidInput(f"The file name must end in {', '.join(forms)}; “{path.name}” does not.")
    return path


def write(path: Path, table: Table, rows: Sequence[Row], *, replace: bool = False) -> Path:
    """Write rows of a table in the form that the file's name says; gives where it is.

    The file is whole or not there. Raises `InvalidInput` where there is one already, unless it may
    be replaced, where it cannot be written, and for Parquet where its writer is not installed.
    """
    data = FILE_FORMATS[path.suffix.lower()](table, rows)
    return put(path, data, replace=replace)


def put(path: Path, data: bytes, *, replace: bool) -> Path:
    """Write a file whole, or leave things as they were; see `write`."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with fresh.open("xb") as file:
            file.write(data)
        try:
            if replace:
                fresh.replace(path)
            else:
                _put_new(path, fresh, data)
        finally:
            fresh.unlink(missing_ok=True)
    except FileExistsError:
        raise _there_already(path) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InvalidInput(f"{path} cannot be written: {reason}.") from None
    return path.resolve()


def check(path: Path, *, replace: bool) -> None:
    """Raise before anything is read what `write` would raise for a file that is there already, and
    for Parquet."""
    if not replace and path.exists():
        raise _there_already(path)
    if path.suffix.lower() == ".parquet":
        require_parquet()


def _put_new(path: Path, fresh: Path, data: bytes) -> None:
    # Unlike a look before the leap, neither ever writes over what came in between.
    try:
        path.hardlink_to(fresh)
    except FileExistsError:
        raise
    except OSError:
        # Not every file system has links.
        with path.open("xb") as file:
            file.write(data)


def _there_already(path: Path) -> InvalidInput:
    return InvalidInput(f"{path} is there already; ⏎ again replaces it.")
