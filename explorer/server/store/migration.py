"""A catalog copied from the store of one engine to that of another, table by table.

What goes over is every row as it is kept: versions, stamps, documents, the change log with its
offsets. How far it came is noted in the target with each part, so that one that was interrupted
goes on there; and whatever was not copied is found by comparing the two when it is done.
"""

from collections.abc import Callable, Sequence
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, cast

import orjson
from msgspec import Struct

from explorer.errors import InvalidInput, StorageFault
from explorer.server.store.interface import Store, Transaction, log_mark
from explorer.server.store.sql.dialect import TableLayout

if TYPE_CHECKING:
    from explorer.server.store.sql.transaction import SqlSnapshot, SqlTransaction

__all__ = ["NOTE", "CopiedTable", "copy_catalog"]

NOTE = "migration"
"""The note of a store that is being filled."""

_PART_ROWS = 2_000
_STAMP = ("time_millis", "actor", "system")
_VERSION = ("value", *_STAMP, "run")
_TABLES = (
    TableLayout("urns", ("id", "urn", "type", "live")),
    TableLayout("runs", ("id", "name")),
    TableLayout("aspects", ("id", "entity", "name", *_VERSION, "superseded", "seen")),
    TableLayout("versions", ("id", "entity", "name", "version", *_VERSION)),
    TableLayout(
        "points", ("id", "entity", "aspect", "at_millis", "series", "value", "system", "run")
    ),
    TableLayout("last_versions", ("entity", "name", "version"), 2),
    TableLayout("edges", ("source", "type", "target", "aspect", "flow"), 4),
    TableLayout("folders", ("id", "type", "parent", "key", "name", "entities")),
    TableLayout("placements", ("entity", "folder", "sort", "urn", "name"), 2),
    TableLayout("leaves", ("entity", "folder", "leaf"), 3),
    TableLayout(
        "log",
        ("offset", "entity", "aspect", "change", "value", "previous", "before", "digest", *_STAMP),
    ),
    # What the service noted; the format and the id of a catalog are its own.
    TableLayout("meta", ("key", "value"), 1, f"key LIKE 'note.%' AND key <> 'note.{NOTE}'"),
)


class CopiedTable(Struct, frozen=True):
    """How many rows of a table there are, and a checksum of them in the order of their keys."""

    name: str
    rows: int
    checksum: str


def copy_catalog(
    source: Store, target: Store, advance: Callable[[int], object]
) -> list[CopiedTable]:
    """Copy all that a store holds into an empty one, or go on with that; what is there now.

    Nobody may write to either meanwhile. `advance` is called with the number of rows of each part.
    It begins again where the source was written to since it began. Raises `InvalidInput` where the
    target holds another catalog, and `StorageFault` where the two differ in the end.
    """
    head = source.log_bounds().head
    begun = {"from": source.catalog_id(), "head": head, "mark": log_mark(source, head)}
    noted = orjson.loads(target.note(NOTE) or "null")
    if noted is None and (target.log_bounds().head or target.count()):
        raise InvalidInput(
            "the target holds a catalog already; name an empty database or directory"
        )
    if noted is None or any(noted.get(name) != value for name, value in begun.items()):
        noted = {**begun, "table": 0, "after": None}
        target.write(partial(_begin, orjson.dumps(noted).decode())).result()
    for table in _TABLES[noted["table"] :]:
        while rows := _part(source, table, noted["after"]):
            noted["after"] = rows[-1][: table.keys]
            target.write(partial(_add, table, rows, orjson.dumps(noted).decode())).result()
            advance(len(rows))
        noted |= {"table": noted["table"] + 1, "after": None}
    kept, copied = _sums(source), _sums(target)
    if wrong := [one.name for one, other in zip(kept, copied, strict=True) if one != other]:
        target.write(partial(_note, "{}")).result()
        raise StorageFault(
            f"the copy differs in {', '.join(wrong)}, as when one of the two was written to "
            "meanwhile; stop what serves them, and migrate again: all is copied anew"
        )
    target.write(_end).result()
    return copied


def _begin(noted: str, transaction: Transaction) -> None:
    tables = cast("SqlTransaction", transaction)
    for table in _TABLES:
        tables.empty(table)
    tables.set_note(NOTE, noted)


def _add(
    table: TableLayout, rows: list[tuple[Any, ...]], noted: str, transaction: Transaction
) -> None:
    tables = cast("SqlTransaction", transaction)
    tables.add_rows(table, rows)
    tables.set_note(NOTE, noted)


def _note(noted: str, transaction: Transaction) -> None:
    transaction.set_note(NOTE, noted)


def _end(transaction: Transaction) -> None:
    tables = cast("SqlTransaction", transaction)
    tables.finish_copy()
    tables.set_note(NOTE, None)


def _sums(store: Store) -> list[CopiedTable]:
    found = []
    for table in _TABLES:
        rows, sum_of = 0, blake2b(digest_size=16)
        after: Sequence[Any] | None = None
        while part := _part(store, table, after):
            after = part[-1][: table.keys]
            rows += len(part)
            for row in part:
                sum_of.update(repr([_comparable(value) for value in row]).encode())
        found.append(CopiedTable(table.name, rows, sum_of.hexdigest()))
    return found


def _comparable(value: Any) -> Any:
    """What is the same in every engine: PostgreSQL has a sign in the place of NUL."""
    if isinstance(value, str):
        return value.replace("\0", "\u2400")
    return int(value) if isinstance(value, bool) else value


def _part(store: Store, table: TableLayout, after: Sequence[Any] | None) -> list[tuple[Any, ...]]:
    with store.snapshot() as view:
        return cast("SqlSnapshot", view).rows_of(table, after, _PART_ROWS)
