"""JSON: one object with a list of rows."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

import orjson

from explorer.errors import InvalidInput
from explorer.stewardship.documentation import Entry, Row, cell_of, text_in

__all__ = ["read_json", "write_json"]

_FORM: Final = "catalog documentation"
_TEXTS: Final = ("urn", "table", "column", "type", "ingested", "exported")


def write_json(rows: Iterable[Row]) -> bytes:
    """`{"format": …, "version": 1, "rows": [{urn, table, column, type, ingested, edited, tags,
    exported}]}`; texts are empty where nothing is written."""
    value = {"format": _FORM, "version": 1, "rows": [_as_json(row) for row in rows]}
    return orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def read_json(data: bytes) -> Iterable[Entry]:
    """The entries of such a file, or of a bare list of rows; null is as good as an empty text."""
    try:
        value = orjson.loads(data.removeprefix(b"\xef\xbb\xbf"))
    except orjson.JSONDecodeError as error:
        raise InvalidInput(f"the file is no JSON: {error}") from None
    rows = value.get("rows") if isinstance(value, dict) else value
    if not isinstance(rows, list):
        raise InvalidInput("the file has no list of rows; an exported file shows the form")
    return _entries(rows)


def _entries(rows: list[Any]) -> Iterator[Entry]:
    for number, row in enumerate(rows, start=1):
        yield _entry(f"row {number}", row if isinstance(row, dict) else None)


def _entry(place: str, said: dict[str, Any] | None) -> Entry:
    nothing = Row("", "", "", "", "", "")
    if said is None:
        return Entry(place, nothing, problem="the row is no object")
    texts = {name: said.get(name) for name in (*_TEXTS, "edited")}
    wrong = [name for name, text in texts.items() if not isinstance(text, str | None)]
    known = {name: text if isinstance(text, str) else "" for name, text in texts.items()}
    edited, clears = text_in(known.pop("edited"))
    given = said.get("tags")
    tags = tuple(map(str, given)) if isinstance(given, list) else ()
    row = Row(**known, edited=edited, tags=tags)
    if wrong:
        return Entry(place, row, problem=f"{wrong[0]} is no text")
    if not row.urn:
        return Entry(place, row, problem="the row names no table: its urn is empty")
    return Entry(place, row, clears)


def _as_json(row: Row) -> dict[str, Any]:
    return {
        "urn": row.urn,
        "table": row.table,
        "column": row.column,
        "type": row.type,
        "ingested": row.ingested,
        "edited": cell_of(row.edited),
        "tags": list(row.tags),
        "exported": row.exported,
    }
