"""What is written of tables and columns, a row for each, and what a file says of it."""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass

from explorer.client.entity import Entity
from explorer.metadata.urn import Urn

__all__ = ["ASPECTS", "CLEAR", "Entry", "Row", "cell_of", "digest_of", "rows_of", "text_in"]

ASPECTS = (
    "datasetKey",
    "datasetProperties",
    "editableDatasetProperties",
    "schemaMetadata",
    "editableSchemaMetadata",
    "subTypes",
    "globalTags",
    "status",
)
"""The aspects that rows are made from."""

CLEAR = "!clear"
"""What a file says in place of a text to have the text taken back."""

_MARKS = re.compile(r"'*" + re.escape(CLEAR))
_DIGEST_BYTES = 10
_DIGEST_FORM = "v1:"


@dataclass(frozen=True, slots=True)
class Row:
    """What is written of a column, or of a table itself, whose `column` is empty.

    `column` is the exact field path. `ingested` and `edited` are empty where nothing is written;
    `edited` is what a file may change. `exported` is the digest of the edited text as it was when
    the row was made; empty in a file that was not exported.
    """

    urn: str
    table: str
    column: str
    type: str
    ingested: str
    edited: str
    tags: tuple[str, ...] = ()
    exported: str = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of a file: its row as it stands there, or the `problem` that makes it unreadable.

    `place` says where, as people find it in the file. `clears` is true where the file asks for the
    text to be taken back; the row's `edited` is empty then.
    """

    place: str
    row: Row
    clears: bool = False
    problem: str | None = None


def digest_of(text: str) -> str:
    """A short text that is another for every other text; never one that a spreadsheet takes for a
    number, a date or a formula."""
    told = hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=_DIGEST_BYTES)
    return _DIGEST_FORM + told.hexdigest()


def rows_of(entity: Entity) -> Iterator[Row]:
    """The row of a dataset itself, then one for each column, in the schema's order; a path that
    the schema lists twice has one. Pure.

    Raises `ServerFault` when an aspect has another shape than its record.
    """
    urn, table = str(entity.urn), entity.name
    # Raw: white space alone is a text too where it is compared and changed.
    held = (entity.raw("editableDatasetProperties") or {}).get("description")
    edited = held if isinstance(held, str) else ""
    yield Row(
        urn,
        table,
        "",
        entity.kind,
        entity.ingested_description,
        edited,
        _names(entity.tags),
        digest_of(edited),
    )
    passed: set[str] = set()
    for column in entity.schema:
        path = column.path.raw
        if path in passed:
            continue
        passed.add(path)
        edited = column.edited or ""
        yield Row(
            urn,
            table,
            path,
            column.native_type or column.type,
            column.ingested or "",
            edited,
            _names(column.tags),
            digest_of(edited),
        )


def cell_of(text: str) -> str:
    """A text as a file holds it: one that reads like the sign for clearing gets an apostrophe."""
    return f"'{text}" if _MARKS.fullmatch(text) else text


def text_in(cell: str) -> tuple[str, bool]:
    """The text that a file means, and whether it asks for the text to be taken back; the inverse
    of `cell_of`."""
    if cell == CLEAR:
        return "", True
    return (cell[1:] if _MARKS.fullmatch(cell) else cell), False


def _names(urns: tuple[Urn, ...]) -> tuple[str, ...]:
    return tuple(map(str, urns))
