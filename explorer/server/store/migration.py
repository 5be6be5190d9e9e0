"""The migration of a catalog from the store of one engine to the store of another.

Table by table, every row is copied as it is stored: versions, stamps, documents, the change log
with its offsets. The position is stored in the target with each part, so that an interrupted copy
continues there.

The source stays in use meanwhile. Changes in parts that were already copied are found by comparing
source and target, part by part, until few differences are left; the rest is copied while writes to
the source are blocked. The change log alone would not suffice: it has no entry when a value is
written again unchanged, or when old data is trimmed.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, cast

import orjson
from msgspec import Struct

from explorer.errors import InvalidInput, StorageFault
from explorer.server.store import LASTING_ID, Store, StoreFault, Transaction, lasting_id
from explorer.server.store.sql import TableLayout

if TYPE_CHECKING:
    from explorer.server.store.sql.reads import SqlSnapshot
    from explorer.server.store.sql.transaction import SqlTransaction

NOTE = "migration"
"""The key of the note in a store that is being filled."""

_PART_ROWS = 2_000
# The comparison is repeated until at most this many rows differ, which are left for the pause, or
# until this many passes.
_FEW_ROWS = 2_000
_MOST_PASSES = 4
_STAMP = ("time_millis", "actor", "system")
_VERSION = ("value", *_STAMP, "run")
_TABLES = (
    TableLayout("urns", ("id", "urn", "type", "live"), unique=("urn",)),
    TableLayout("runs", ("id", "name"), unique=("name",)),
    TableLayout(
        "aspects",
        ("id", "entity", "name", *_VERSION, "superseded", "seen"),
        unique=("entity", "name"),
    ),
    TableLayout(
        "versions",
        ("id", "entity", "name", "version", *_VERSION),
        unique=("entity", "name", "version"),
    ),
    TableLayout(
        "points",
        ("id", "entity", "aspect", "at_millis", "series", "value", "system", "run"),
        unique=("entity", "aspect", "at_millis", "series"),
    ),
    TableLayout("last_versions", ("entity", "name", "version"), 2),
    TableLayout("edges", ("source", "type", "target", "aspect", "flow"), 4),
    TableLayout(
        "folders",
        ("id", "type", "parent", "key", "name", "entities"),
        unique=("type", "parent", "key"),
    ),
    TableLayout("placements", ("entity", "folder", "sort", "urn", "name"), 2),
    TableLayout("leaves", ("entity", "folder", "leaf"), 3),
    TableLayout(
        "log",
        ("offset", "entity", "aspect", "change", "value", "previous", "before", "digest", *_STAMP),
    ),
    # Only the notes are copied: each catalog has its own format and id.
    TableLayout(
        "meta",
        ("key", "value"),
        1,
        f"key LIKE 'note.%' AND key NOT IN ('note.{NOTE}', 'note.{LASTING_ID}')",
    ),
)


class CopiedTable(Struct, frozen=True):
    """The number of rows of a table, and a checksum of them in the order of their keys."""

    name: str
    rows: int
    checksum: str


def copy_catalog(
    source: Store,
    target: Store,
    advance: Callable[[int], object],
    pause: AbstractContextManager[object],
    switch: Callable[[], object],
) -> list[CopiedTable]:
    """Copy a store into an empty one, or continue an interrupted copy; return the copied tables.

    Others may write to the source until the context `pause` is entered, which must block those
    writes; nobody may write to the target. `advance` is called with the number of rows of each
    part. `switch` is called at the end, before the pause is over, when both stores are equal.

    Raises `InvalidInput` if the target holds another catalog, and `StorageFault` if the stores
    differ in the end.
    """
    begun = {"from": source.catalog_id()}
    noted = orjson.loads(target.note(NOTE) or "null")
    if noted is None and (target.log_bounds().head or target.count()):
        raise InvalidInput(
            "the target already holds a catalog; name an empty database or directory"
        )
    if noted is None or any(noted.get(name) != value for name, value in begun.items()):
        noted = {**begun, "table": 0, "after": None}
        begin = partial(_begin, orjson.dumps(noted).decode(), lasting_id(source))
        target.write(begin).result()
    for table in _TABLES[noted["table"] :]:
        while rows := _part(source, table, noted["after"]):
            after, noted["after"] = noted["after"], rows[-1][: table.keys]
            _copy(target, table, rows, after, orjson.dumps(noted).decode())
            advance(len(rows))
            if len(rows) < _PART_ROWS:
                # The end of the table, which other writers may keep moving.
                break
        noted |= {"table": noted["table"] + 1, "after": None}
    for _ in range(_MOST_PASSES):
        if sum(_follow(source, target, table)[0] for table in _TABLES) <= _FEW_ROWS:
            break
    with pause:
        tables = [_follow(source, target, table)[1] for table in _TABLES]
        copied = [_sum(target, table) for table in _TABLES]
        if wrong := [
            table.name
            for table, copied_table in zip(tables, copied, strict=True)
            if table != copied_table
        ]:
            target.write(partial(_note, "{}")).result()
            raise StorageFault(
                f"the copy differs from the source in {', '.join(wrong)}, which happens if the "
                "target was written to during the copy; stop the service that uses the target, "
                "and run the migration again: everything is copied again"
            )
        target.write(_end).result()
        switch()
    return copied


def _begin(noted: str, known_as: str, transaction: Transaction) -> None:
    tables = cast("SqlTransaction", transaction)
    for table in _TABLES:
        tables.empty(table)
    tables.set_note(NOTE, noted)
    tables.set_note(LASTING_ID, known_as)


def _copy(
    target: Store,
    table: TableLayout,
    rows: list[tuple[Any, ...]],
    after: Sequence[Any] | None,
    noted: str,
) -> None:
    """Write rows of a table to the target, with the note `noted`. They follow the key `after` in
    the source, or are the first ones."""

    def add(transaction: Transaction) -> None:
        tables = cast("SqlTransaction", transaction)
        tables.add_rows(table, rows)
        tables.set_note(NOTE, noted)

    def replace(transaction: Transaction) -> None:
        tables = cast("SqlTransaction", transaction)
        tables.replace_rows(table, rows, after, rows[-1][: table.keys])
        tables.set_note(NOTE, noted)

    try:
        target.write(add).result()
    except StoreFault:
        # A row that changed after its part was copied has another key now, and conflicts with its
        # old copy.
        target.write(replace).result()


def _follow(source: Store, target: Store, table: TableLayout) -> tuple[int, CopiedTable]:
    """Make a table of the target equal to the same table of the source, part by part.

    Returns how many rows were written, and the number and checksum of the rows in the source.
    """
    after: Sequence[Any] | None = None
    written_rows, summed = 0, _Sum(table.name)
    while True:
        rows = _part(source, table, after)
        is_last = len(rows) < _PART_ROWS
        through = None if is_last else rows[-1][: table.keys]
        with target.snapshot() as view:
            target_rows = cast("SqlSnapshot", view).rows_of(table, after, -1, through)
        summed.add(rows)
        if _comparable(rows) != _comparable(target_rows):
            written_rows += max(len(rows), 1)
            target.write(partial(_replace, table, rows, after, through)).result()
        if is_last:
            return written_rows, summed.total
        after = through


def _replace(
    table: TableLayout,
    rows: list[tuple[Any, ...]],
    after: Sequence[Any] | None,
    through: Sequence[Any] | None,
    transaction: Transaction,
) -> None:
    cast("SqlTransaction", transaction).replace_rows(table, rows, after, through)


def _note(noted: str, transaction: Transaction) -> None:
    transaction.set_note(NOTE, noted)


def _end(transaction: Transaction) -> None:
    tables = cast("SqlTransaction", transaction)
    tables.finish_copy()
    tables.set_note(NOTE, None)


class _Sum:
    """The number of rows of a table and their checksum, computed part by part."""

    def __init__(self, name: str) -> None:
        self._name, self._rows, self._sum = name, 0, blake2b(digest_size=16)

    def add(self, rows: list[tuple[Any, ...]]) -> None:
        self._rows += len(rows)
        for row in _comparable(rows):
            self._sum.update(repr(row).encode())

    @property
    def total(self) -> CopiedTable:
        return CopiedTable(self._name, self._rows, self._sum.hexdigest())


def _sum(store: Store, table: TableLayout) -> CopiedTable:
    summed = _Sum(table.name)
    after: Sequence[Any] | None = None
    while part := _part(store, table, after):
        after = part[-1][: table.keys]
        summed.add(part)
    return summed.total


def _comparable(rows: list[tuple[Any, ...]]) -> list[list[Any]]:
    """Return rows in a form that is the same for all engines: PostgreSQL replaces NUL by its
    symbol."""
    return [
        [
            value.replace("\0", "\u2400")
            if isinstance(value, str)
            else int(value)
            if isinstance(value, bool)
            else value
            for value in row
        ]
        for row in rows
    ]


def _part(store: Store, table: TableLayout, after: Sequence[Any] | None) -> list[tuple[Any, ...]]:
    with store.snapshot() as view:
        return cast("SqlSnapshot", view).rows_of(table, after, _PART_ROWS)
