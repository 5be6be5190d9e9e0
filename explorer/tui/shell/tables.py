"""What a screen shows as a table, and tables as files: CSV, JSON, Markdown and Parquet."""

import io
import json
import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol, runtime_checkable

from explorer.errors import InvalidInput, MissingExtra

__all__ = [
    "FORMS",
    "Cell",
    "Row",
    "Table",
    "Tabular",
    "check",
    "path_of",
    "put",
    "suggest_name",
    "write",
]

Cell = str | int | float | bool | Sequence[str] | None
"""What a place in a table holds; None is for what is not known."""

Row = Sequence[Cell]


@dataclass(frozen=True, slots=True)
class Table:
    """What is shown, under the names of its columns.

    Where more can be had than is shown, `total` says how many rows there are in all and `whole`
    reads all of them, a page at a time. `exact` is written as JSON in place of the rows.
    """

    title: str
    columns: tuple[str, ...]
    rows: Sequence[Row]
    total: int | None = None
    whole: Callable[[], AsyncIterator[Sequence[Row]]] | None = None
    exact: Any = None


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
    data = FORMS[path.suffix.lower()](table, rows)
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
        _check_pyarrow()


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


def _check_pyarrow() -> None:
    from importlib.util import find_spec

    if find_spec("pyarrow") is None:
        raise MissingExtra(
            "Parquet files need the package pyarrow", "parquet", ", or choose .csv, .json or .md"
        )


def _as_csv(table: Table, rows: Sequence[Row]) -> bytes:
    """As RFC 4180 has it, safe to open in a spreadsheet, with the mark by which it knows UTF-8."""
    import csv

    from explorer.stewardship.files.commas import defused

    def written(cell: Cell) -> Any:
        if isinstance(cell, str):
            return defused(cell)
        if isinstance(cell, bool):
            return "true" if cell else "false"
        return cell if cell is None or isinstance(cell, int | float) else _listed(cell)

    page = io.StringIO(newline="")
    writer = csv.writer(page)
    writer.writerow(map(defused, table.columns))
    writer.writerows([written(cell) for cell in row] for row in rows)
    return page.getvalue().encode("utf-8-sig", errors="backslashreplace")


def _as_json(table: Table, rows: Sequence[Row]) -> bytes:
    """A list with an object for each row."""
    found = table.exact
    if found is None:
        found = [dict(zip(table.columns, row, strict=True)) for row in rows]
    text = json.dumps(found, ensure_ascii=False, indent=2, default=list)
    return (text + "\n").encode(errors="backslashreplace")


def _as_markdown(table: Table, rows: Sequence[Row]) -> bytes:
    """A table under a heading; what would end a cell, or be read as HTML, is escaped."""

    def written(cell: Cell) -> str:
        match cell:
            case None:
                text = ""
            case bool():
                text = "yes" if cell else "no"
            case str() | int() | float():
                text = str(cell)
            case _:
                text = ", ".join(cell)
        text = text.replace("\\", "\\\\").replace("|", "\\|").replace("&", "&amp;")
        return "<br>".join(text.replace("<", "&lt;").splitlines())

    lines = [f"# {written(table.title)}", "", _in_bars(map(written, table.columns))]
    lines += [_in_bars("---" for _ in table.columns)]
    lines += [_in_bars(map(written, row)) for row in rows]
    return ("\n".join(lines) + "\n").encode(errors="backslashreplace")


def _as_parquet(table: Table, rows: Sequence[Row]) -> bytes:
    _check_pyarrow()
    import pandas as pd

    columns = {
        name: pd.Series([_plain(row[at]) for row in rows], dtype=_dtype([row[at] for row in rows]))
        for at, name in enumerate(table.columns)
    }
    held = io.BytesIO()
    pd.DataFrame(columns).to_parquet(held, index=False)
    return held.getvalue()


FORMS: Final[Mapping[str, Callable[[Table, Sequence[Row]], bytes]]] = {
    ".csv": _as_csv,
    ".json": _as_json,
    ".md": _as_markdown,
    ".parquet": _as_parquet,
}
"""How a file's name ends, and what makes its content."""


def _in_bars(cells: Any) -> str:
    return f"| {' | '.join(cells)} |"


def _listed(values: Sequence[str]) -> str:
    return json.dumps(list(values), ensure_ascii=False)


def _plain(cell: Cell) -> Any:
    return cell if cell is None or isinstance(cell, str | int | float) else list(cell)


def _dtype(cells: Sequence[Cell]) -> str:
    """pandas' type for the cells of a column: nullable, of what is there."""
    kinds = {type(cell) for cell in cells if cell is not None}
    if kinds <= {str}:
        return "string"
    if kinds == {bool}:
        return "boolean"
    if kinds == {int}:
        return "Int64"
    return "Float64" if kinds <= {int, float} else "object"
