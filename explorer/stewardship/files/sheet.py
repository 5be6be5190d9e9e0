"""Rows as a table of cells: the header, and what each line under it says."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from explorer.errors import InvalidInput
from explorer.stewardship.documentation import Entry, Row, cell_of, text_in

__all__ = ["HEADER", "cells_of", "read_table", "tag_names"]

HEADER: Final = ("urn", "table", "column", "type", "ingested", "edited", "tags", "exported")
"""The names of the columns, in the order in which they are written."""

_NEEDED: Final = ("urn", "column", "edited")


def cells_of(row: Row) -> tuple[str, ...]:
    """The cells of a row under the header."""
    return (
        row.urn,
        row.table,
        row.column,
        row.type,
        row.ingested,
        cell_of(row.edited),
        " ".join(row.tags),
        row.exported,
    )


def tag_names(cell: str) -> tuple[str, ...]:
    """The URNs of tags out of their cell."""
    # Their names may hold spaces, but none is followed by the beginning of a URN.
    first, *others = cell.split(" urn:li:")
    return tuple(filter(None, (first, *(f"urn:li:{name}" for name in others))))


def read_table(lines: Iterable[tuple[str, Sequence[str]]]) -> Iterator[Entry]:
    """The entries of a table, given as places and cells, the header first.

    Columns may stand in any order and be joined by others; cells that a line lacks are empty, and
    lines without any text are passed over. Raises `InvalidInput` where the header lacks a column
    that every line needs, or names one twice.
    """
    numbered = iter(lines)
    at = _places(next(numbered, ("", ()))[1])
    for place, cells in numbered:
        if not any(cell.strip() for cell in cells):
            continue
        said = {name: cells[index] if index < len(cells) else "" for name, index in at.items()}
        edited, clears = text_in(said["edited"])
        row = Row(
            urn=said["urn"].strip(),
            table=said.get("table", ""),
            column=said["column"],
            type=said.get("type", ""),
            ingested=said.get("ingested", ""),
            edited=edited,
            tags=tag_names(said.get("tags", "")),
            exported=said.get("exported", "").strip(),
        )
        problem = None if row.urn else "the line names no table: its urn is empty"
        yield Entry(place, row, clears, problem)


def _places(header: Sequence[str]) -> dict[str, int]:
    names = [name.strip().lower() for name in header]
    missing = [name for name in _NEEDED if name not in names]
    if missing:
        raise InvalidInput(
            f"the first line of the file has no column named {' or '.join(missing)}; "
            "an exported file shows the form"
        )
    twice = next((name for name in HEADER if names.count(name) > 1), None)
    if twice:
        raise InvalidInput(f"the first line of the file has two columns named {twice}")
    return {name: names.index(name) for name in HEADER if name in names}
