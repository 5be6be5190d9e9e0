"""Worklist and coverage: which tables and columns have descriptions, answered from a database of
the entries of all datasets.

An entry has the facts of a dataset that worklist and coverage need, and the number of entities
downstream of it. The database is derived data in a file of its own, which takes about 600 bytes
for a dataset of 15 columns.

The ledger keeps the database up to date. Nothing is counted before the first request. The first
count reads all datasets, and commits after every few hundred, so that it continues where it was
interrupted, also in the next process. From then on, datasets that change are recounted in the
background, and at the latest at the next request. A restarted service recounts the datasets that
changed since, according to the change log. If the entries are of another catalog, or rows of the
change log that they lack were dropped, everything is counted again.
"""

import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from heapq import heappop, heappush, nsmallest
from itertools import islice
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

import msgspec
import orjson
from msgspec import Struct

from explorer.errors import Busy, CatalogError, StorageFault
from explorer.server.coverage import FACT_ASPECTS, DatasetFacts, Lacking, read_facts
from explorer.server.derived_database import (
    DATABASE_ERRORS,
    is_damage,
    open_database,
    remove_database,
)
from explorer.server.failures import Progress
from explorer.server.lineage_graph import MOST_DOWNSTREAM, count_downstream
from explorer.server.store import Store, log_mark
from explorer.server.timeseries import read_use, use_from

Grouping = Literal["domain", "folder", "owner", "platform", "tag"]
GROUPINGS: tuple[Grouping, ...] = get_args(Grouping)

UseOf: TypeAlias = Callable[[str, tuple[Lacking, ...]], tuple[Lacking, ...]]
"""Returns the missing descriptions of a dataset with the use of another period."""

# Orders items by weight, then use, then downstream entities (each highest first), then by URN and
# position in the schema.
_Key: TypeAlias = tuple[int, int, int, str, int]


class UndescribedItem(Struct, frozen=True):
    """A column without a description, or a table if the path is empty.

    With `at_least`, the number of downstream entities is higher than `downstream`.
    """

    urn: str
    table: str
    platform: str
    lacking: Lacking
    downstream: int
    at_least: bool

    @property
    def key(self) -> _Key:
        """The sort key: the highest weight, (use + 1) × (downstream + 1), comes first."""
        return _key(self.lacking.use, self.downstream, self.urn, self.lacking.place)


def _key(use: int, downstream: int, urn: str, place: int) -> _Key:
    return -(use + 1) * (downstream + 1), -use, -downstream, urn, place


def _key_of(item: UndescribedItem) -> _Key:
    return item.key


class WorklistPage(Struct, frozen=True):
    """A page of a worklist, which has `total` items from `datasets` datasets."""

    datasets: int
    total: int
    items: list[UndescribedItem]


class CoverageCount(Struct):
    """How many of `total` tables or columns have a description (`documented`), how many one by
    people (`edited`), and how many one by ingestion (`ingested`)."""

    total: int = 0
    documented: int = 0
    edited: int = 0
    ingested: int = 0

    def add(self, counts: Sequence[int]) -> None:
        """Add other counts: (total, described, by people, by ingestion)."""
        self.total += counts[0]
        self.documented += counts[1]
        self.edited += counts[2]
        self.ingested += counts[3]


class CoverageGroup(Struct):
    """The counts of the datasets with the same `key`, such as a domain; the key is empty for those
    that have none."""

    key: str
    tables: CoverageCount
    columns: CoverageCount


class DescribedCoverage(Struct, frozen=True):
    """The counts over all datasets, and of each group, ordered by the number of undescribed
    columns, highest first, then by key."""

    tables: CoverageCount
    columns: CoverageCount
    groups: list[CoverageGroup]


class EntryState(Struct, frozen=True):
    """Which catalog the entries are of, and how far they were counted.

    They include everything in the change log of the catalog up to `offset`, whose digest is `mark`.
    If not `is_counted`, they cover only the datasets up to the URN `after`, as of that offset or
    later. There are `entries`, of which `datasets` are not soft-deleted; these lack `lacking`
    descriptions.
    """

    catalog: str = ""
    offset: int = 0
    mark: str | None = None
    after: str = ""
    is_counted: bool = False
    entries: int = 0
    datasets: int = 0
    lacking: int = 0


# Increment this when the content of the file changes.
_FORMAT = 5
# `undescribed` are the missing descriptions, as MessagePack. A column for several values is a JSON
# array, or empty.
_COLUMNS = (
    *("urn", "name", "platform", "removed", "lacking", "most_used", "oldest_millis"),
    *("tables_described", "tables_edited", "tables_ingested"),
    *("columns", "columns_described", "columns_edited", "columns_ingested"),
    *("owners", "domains", "tags", "folders", "undescribed"),
)
_TABLES = f"""
CREATE TABLE state ({", ".join(EntryState.__struct_fields__)});
INSERT INTO state VALUES ('', 0, NULL, '', 0, 0, 0, 0);
CREATE TABLE datasets (
    {", ".join(column for column in _COLUMNS if column != "urn")},
    downstream INTEGER NOT NULL DEFAULT 0,
    at_least INTEGER NOT NULL DEFAULT 0,
    urn TEXT PRIMARY KEY
) WITHOUT ROWID;
"""
_ORDER = "(most_used + 1) * (downstream + 1) DESC, most_used DESC, downstream DESC"
# Created once all datasets are counted: adding to them in the order of URNs would take longer.
_INDEXES = {
    "worklist": f"({_ORDER}) WHERE lacking > 0 AND NOT removed",
    "used": "(oldest_millis) WHERE oldest_millis > 0",
}
_PUT = (
    f"INSERT INTO datasets ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))}) "
    "ON CONFLICT (urn) DO UPDATE SET "
    + ", ".join(f"{column} = excluded.{column}" for column in _COLUMNS if column != "urn")
)
_COUNTS = ", ".join(
    f"coalesce(sum({column}), 0)"
    for column in (
        *("1", "tables_described", "tables_edited", "tables_ingested"),
        *("columns", "columns_described", "columns_edited", "columns_ingested"),
    )
)
_GROUPED: Mapping[Grouping, str] = {
    "domain": "domains",
    "folder": "folders",
    "owner": "owners",
    "platform": "platform",
    "tag": "tags",
}
_ALL = "datasets WHERE NOT removed"
_EVERY = "datasets WHERE TRUE"
_CHOSEN = "chosen CROSS JOIN datasets USING (urn) WHERE TRUE"
# Items that cannot be on the page are dropped once there are this many more than it needs.
_SPARE_ITEMS = 10_000
_ERRORS = (*DATABASE_ERRORS, msgspec.MsgspecError, orjson.JSONDecodeError)
"""The errors that methods of `EntryDatabase` raise."""

_encoder = msgspec.msgpack.Encoder()
_undescribed = msgspec.msgpack.Decoder(tuple[Lacking, ...])


class EntryDatabase:
    """The entries of datasets, in a database file. One thread may use it at a time.

    A file that is damaged or has another format is replaced by an empty one; without a path, the
    file is a temporary one. Methods raise the errors in `_ERRORS`; a change that fails leaves the
    entries as they were.
    """

    def __init__(self, path: Path | None) -> None:
        """Raises `OSError` or `sqlite3.Error` if the file cannot be used at all."""
        self._connection = open_database(path, _TABLES, _FORMAT)
        self._connection.execute("CREATE TEMP TABLE chosen (urn PRIMARY KEY) WITHOUT ROWID")

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    @property
    def state(self) -> EntryState:
        """Return which catalog the entries are of, and how far they were counted."""
        row = self._connection.execute("SELECT * FROM state").fetchone()
        fields = zip(EntryState.__struct_fields__, row, strict=True)
        return msgspec.convert(dict(fields), EntryState, strict=False)

    def restart(self, catalog: str, offset: int, mark: str | None) -> None:
        """Remove all entries, and begin to count a catalog as of an offset of its change log."""
        with self._transaction() as connection:
            for name in _INDEXES:
                connection.execute(f"DROP INDEX IF EXISTS {name}")
            connection.execute("DELETE FROM datasets")
            connection.execute(
                "UPDATE state SET catalog = ?, offset = ?, mark = ?, after = '', is_counted = 0, "
                "entries = 0, datasets = 0, lacking = 0",
                (catalog, offset, mark),
            )

    def advance(self, offset: int, mark: str | None) -> None:
        """Record that the entries include everything up to an offset of the change log."""
        self._connection.execute("UPDATE state SET offset = ?, mark = ?", (offset, mark))

    def finish(self) -> None:
        """Record that all datasets are counted, and create the indexes."""
        for name, columns in _INDEXES.items():
            self._connection.execute(f"CREATE INDEX IF NOT EXISTS {name} ON datasets {columns}")
        self._connection.execute("UPDATE state SET is_counted = 1")

    def put(self, facts: Mapping[str, DatasetFacts | None], after: str | None = None) -> int:
        """Write the entries of datasets, and remove those without facts; return how many are new.

        With `after`, also record that all datasets up to this URN are counted.
        """
        urns = orjson.dumps(list(facts)).decode()
        stored_rows = "json_each(?) f CROSS JOIN datasets ON urn = f.value"
        with self._transaction() as connection:
            before = connection.execute(
                "SELECT count(*), coalesce(sum(NOT removed), 0), "
                f"coalesce(sum(lacking) FILTER (WHERE NOT removed), 0) FROM {stored_rows}",
                (urns,),
            ).fetchone()
            rows = [_row_of(urn, fact) for urn, fact in facts.items() if fact is not None]
            urn_rows = [(urn,) for urn, fact in facts.items() if fact is None]
            removed = 0
            if urn_rows:
                delete = "DELETE FROM datasets WHERE urn = ?"
                removed = connection.executemany(delete, urn_rows).rowcount
            connection.executemany(_PUT, rows)
            stored = [fact for fact in facts.values() if fact is not None and not fact.removed]
            lacking = sum(len(facts.lacking) for facts in stored)
            changes = (len(rows) - before[0], len(stored) - before[1], lacking - before[2])
            connection.execute(
                "UPDATE state SET entries = entries + ?, datasets = datasets + ?, "
                "lacking = lacking + ?, after = coalesce(?, after)",
                (*changes, after),
            )
        return int(changes[0] + removed)

    def find_aged(self, begin_millis: int) -> list[str]:
        """Return the datasets whose counted usage includes documents from before a time."""
        rows = self._connection.execute(
            "SELECT urn FROM datasets WHERE oldest_millis > 0 AND oldest_millis < ?",
            (begin_millis,),
        )
        return [urn for (urn,) in rows]

    def downstream(self, after: str, limit: int) -> list[tuple[str, int]]:
        """Return the number of downstream entities of each of the first `limit` datasets after a
        URN, ordered by URN; a number above `MOST_DOWNSTREAM` is given as `MOST_DOWNSTREAM` + 1."""
        return self._connection.execute(
            "SELECT urn, downstream + at_least FROM datasets WHERE urn > ? ORDER BY urn LIMIT ?",
            (after, limit),
        ).fetchall()

    def set_downstream(self, counts: Mapping[str, int]) -> None:
        """Write numbers of downstream entities by URN, as `downstream` returns them."""
        most = MOST_DOWNSTREAM
        rows = [(min(count, most), int(count > most), urn) for urn, count in counts.items()]
        with self._transaction() as connection:
            connection.executemany(
                "UPDATE datasets SET downstream = ?, at_least = ? WHERE urn = ?", rows
            )

    def rank(
        self, chosen: Collection[str] | None, start: int, count: int, use: UseOf | None = None
    ) -> WorklistPage:
        """Return a page of the worklist of the chosen datasets, or of all that are not
        soft-deleted.

        Takes about 10 µs for each dataset on the page or before it, and 2 µs for each chosen one.
        If `use` is given, it is called for every dataset with missing descriptions.
        """
        end = start + count
        with self._select(chosen) as table:
            if chosen is None:
                state = self.state
                datasets, total = state.datasets, state.lacking
            else:
                datasets, total = self._connection.execute(
                    f"SELECT count(*), coalesce(sum(lacking), 0) FROM {table}"
                ).fetchone()
            if use is None:
                order = f"SELECT urn, most_used, downstream FROM {table} AND lacking > 0"
                with closing(
                    self._connection.execute(f"{order} ORDER BY {_ORDER}, urn")
                ) as entries:
                    in_order = list(islice(self._in_order(entries, end), end))
            else:
                with closing(
                    self._connection.execute(f"SELECT urn FROM {table} AND lacking > 0")
                ) as entries:
                    items = (item for (urn,) in entries for item in self._items(urn, use))
                    in_order = nsmallest(end, items, key=_key_of)
        return WorklistPage(datasets, total, in_order[start:])

    def cover(
        self, chosen: Collection[str] | None, by: Grouping | None = None
    ) -> DescribedCoverage:
        """Return how much of the chosen datasets, or of all that are not soft-deleted, is
        described, with groups if `by` is given. Takes about 1 µs per dataset."""
        tables, columns = CoverageCount(), CoverageCount()
        groups: dict[str, CoverageGroup] = {}
        with self._select(chosen) as table:
            counts = self._connection.execute(f"SELECT {_COUNTS} FROM {table}").fetchone()
            tables.add(counts[:4])
            columns.add(counts[4:])
            grouped: Iterable[tuple[Any, ...]] = ()
            if by is not None:
                grouped = self._connection.execute(
                    f"SELECT {_GROUPED[by]}, {_COUNTS} FROM {table} GROUP BY {_GROUPED[by]}"
                )
            for keys, *counts in grouped:
                for key in _keys(keys, by):
                    if key not in groups:
                        groups[key] = CoverageGroup(key, CoverageCount(), CoverageCount())
                    groups[key].tables.add(counts[:4])
                    groups[key].columns.add(counts[4:])

        def undescribed_first(group: CoverageGroup) -> tuple[int, str]:
            return group.columns.documented - group.columns.total, group.key

        return DescribedCoverage(tables, columns, sorted(groups.values(), key=undescribed_first))

    def groups(
        self, chosen: Collection[str] | None, by: Grouping | None
    ) -> Iterator[tuple[str, Sequence[str]]]:
        """Yield the URN of each of the chosen datasets, or of all including soft-deleted ones, with
        the keys of its groups: one empty key if it is in none, no key if `by` is not given."""
        column = _GROUPED[by] if by else "''"
        with (
            self._select(chosen, _EVERY) as table,
            closing(self._connection.execute(f"SELECT urn, {column} FROM {table}")) as rows,
        ):
            for urn, keys in rows:
                yield urn, _keys(keys, by)

    @contextmanager
    def _select(self, chosen: Collection[str] | None, otherwise: str = _ALL) -> Iterator[str]:
        """Within the context, provide the chosen datasets as SQL to put after FROM. The SQL ends
        with a condition, to which others can be added with AND."""
        if chosen is None:
            yield otherwise
            return
        with self._transaction() as connection:
            connection.executemany(
                "INSERT OR IGNORE INTO chosen VALUES (?)", ((urn,) for urn in chosen)
            )
        try:
            yield _CHOSEN
        finally:
            self._connection.execute("DELETE FROM chosen")

    def _in_order(
        self, entries: Iterable[tuple[str, int, int]], count: int
    ) -> Iterator[UndescribedItem]:
        """Yield the first `count` items of datasets, in order. The datasets are given by descending
        highest use, each as (URN, highest use, downstream entities)."""
        # A heap. The number distinguishes items with equal keys: a path may be listed twice in a
        # schema.
        waiting: list[tuple[_Key, int, UndescribedItem]] = []
        number = 0
        for urn, use, downstream in entries:
            # No item of a dataset comes before the key of its highest use.
            first = _key(use, downstream, urn, 0)
            while waiting and waiting[0][0] < first:
                yield heappop(waiting)[2]
                count -= 1
            for item in self._items(urn):
                number += 1
                heappush(waiting, (item.key, number, item))
            if len(waiting) > 2 * count + _SPARE_ITEMS:
                waiting = nsmallest(count, waiting)
        while waiting:
            yield heappop(waiting)[2]

    def _items(self, urn: str, use: UseOf | None = None) -> list[UndescribedItem]:
        """Return the items of a dataset."""
        name, platform, downstream, at_least, packed = self._connection.execute(
            "SELECT name, platform, downstream, at_least, undescribed FROM datasets WHERE urn = ?",
            (urn,),
        ).fetchone()
        lacking = _undescribed.decode(packed)
        if use is not None:
            lacking = use(urn, lacking)
        return [
            UndescribedItem(urn, name, platform, lacking, downstream, bool(at_least))
            for lacking in lacking
        ]

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield self._connection
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise


def _row_of(urn: str, facts: DatasetFacts) -> tuple[Any, ...]:
    """Return the row of a dataset: a value for each of `_COLUMNS`."""
    return (
        urn,
        facts.name,
        facts.platform,
        facts.removed,
        len(facts.lacking),
        max((lacking.use for lacking in facts.lacking), default=0),
        facts.oldest_millis or 0,
        *facts.table[1:],
        *facts.columns,
        *map(_array, (facts.owners, facts.domains, facts.tags, facts.folders)),
        _encoder.encode(facts.lacking),
    )


def _array(keys: Sequence[str]) -> str:
    return orjson.dumps(keys).decode() if keys else ""


def _keys(stored: str, grouping: Grouping | None) -> Sequence[str]:
    """Return the keys of the groups in the stored value of their column."""
    if grouping is None:
        return ()
    if grouping == "platform" or not stored:
        return (stored,)
    group_keys: list[str] = orjson.loads(stored)
    return group_keys


_log = logging.getLogger("explorer.server")

_AT_ONCE = 500
# How many numbers of downstream entities are compared and written at once.
_DOWNSTREAM_AT_ONCE = 5_000
_DATASET = "dataset"
_PREFIX = "urn:li:dataset:"
# Datasets that change within this time are recounted together.
_PAUSE_SECONDS = 1.0
_RETRY_SECONDS = 10.0
PATIENCE_SECONDS = 3.0
"""How long a request waits while everything is counted for the first time."""
_RETRY_AFTER_SECONDS = 2.0
# If it takes longer, downstream entities are recounted in the background only, and requests are
# answered with the previous numbers. It then takes at most a fifth of the time.
_LONG_SECONDS = 1.0
_LONG_PAUSES = 4


class Ledger:
    """The entries of all datasets, kept up to date as the catalog changes. Any thread may call it.

    `file` is the database file of the entries; without one it is temporary. It is derived data: if
    it is damaged, everything is counted again.
    """

    def __init__(self, store: Store, file: Path | None) -> None:
        self._store = store
        self._file = file
        self._database: EntryDatabase | None = None
        self._is_counted = False
        # The datasets to recount: those that changed, and those of which only the use aged.
        self._changed: set[str] = set()
        self._aged: set[str] = set()
        self._is_rewired = False
        self._downstream_seconds = 0.0
        # Offsets of the change log: the entries are complete up to the first, once nothing is left
        # to recount they are up to the second, which is the highest noted.
        self._offset = 0
        self._seen = 0
        self._first: Progress | None = None
        self._is_listening = False
        self._is_closing = False
        self._ready = threading.Event()
        self._thread: threading.Thread | None = None
        # `_lock` is held briefly, `_using` while the database is used or facts are read.
        self._lock = threading.Lock()
        self._news = threading.Condition(self._lock)
        self._using = threading.RLock()
        self.before_read: Callable[[], object] = lambda: None

    def open(self) -> None:
        """Use the entries in the file, if it exists, and bring them up to date in the
        background."""
        if self._file is not None and self._file.exists():
            self._listen()

    def note(self, urns: Iterable[str], aged: Iterable[str], offset: int, *, rewired: bool) -> None:
        """Record which entities a commit changed, to recount them later; returns at once.

        `urns` are the entities that changed, `aged` those whose derived data is to be recomputed
        although their aspects did not change, and `rewired` says whether lineage changed.
        """
        if not self._is_listening:
            return
        with self._news:
            self._changed.update(urn for urn in urns if urn.startswith(_PREFIX))
            self._aged.update(urn for urn in aged if urn.startswith(_PREFIX))
            self._is_rewired = self._is_rewired or rewired
            self._seen = max(self._seen, offset)
            self._news.notify()

    @property
    def is_ready(self) -> bool:
        """Whether everything has been counted once. Reading this starts the count in the
        background."""
        self._listen()
        return self._ready.is_set()

    @property
    def is_counting(self) -> bool:
        """Whether the first count is under way, and has made progress since it began."""
        return self._first is not None

    def busy(self) -> Busy:
        """Return the error for a request during the first count, which reports its progress."""
        first = self._first
        return Busy(
            "documentation coverage is being counted for the first time"
            + ("; try again soon" if first is None else f": {first.words()}"),
            retry_after_seconds=max(_RETRY_AFTER_SECONDS, first.left_seconds if first else 0.0),
        )

    def rank(
        self, chosen: Collection[str] | None, start: int, count: int, use: UseOf | None = None
    ) -> WorklistPage:
        """Return a page of the worklist; see `EntryDatabase.rank`. Raises as `entries`."""
        with self.entries() as database:
            return database.rank(chosen, start, count, use)

    def cover(
        self, chosen: Collection[str] | None, by: Grouping | None = None
    ) -> DescribedCoverage:
        """Return how much is described; see `EntryDatabase.cover`. Raises as `entries`."""
        with self.entries() as database:
            return database.cover(chosen, by)

    @contextmanager
    def entries(self) -> Iterator[EntryDatabase]:
        """Provide the entries of all datasets, up to date with the store, for reading in a `with`.

        Other requests wait meanwhile. The first time takes minutes in a large catalog, later times
        milliseconds. Calls `before_read` first, and raises its errors. Raises `Busy` if the
        first count is not done within `PATIENCE_SECONDS`; the count then continues. Raises
        `StorageFault` if the database cannot be read or written.
        """
        self.before_read()
        self._listen()
        if not self._ready.wait(PATIENCE_SECONDS):
            raise self.busy()
        with self._using_database() as database:
            self._count_changed(database)
            if self._is_rewired and self._downstream_seconds <= _LONG_SECONDS:
                self._count_downstream()
            self._advance(database)
            yield database

    def close(self) -> None:
        """Stop counting, and close the database."""
        with self._news:
            self._is_closing = True
            self._news.notify()
        if self._thread is not None:
            self._thread.join()
        with self._using:
            if self._database is not None:
                self._database.close()
                self._database = None

    def _listen(self) -> None:
        with self._lock:
            if self._is_listening or self._is_closing:
                return
            self._is_listening = True
            self._thread = threading.Thread(target=self._serve, name="stewardship", daemon=True)
            self._thread.start()

    def _serve(self) -> None:
        """Count everything once, then recount datasets that change, until the ledger is closed."""
        while not self._is_closing:
            pause = _PAUSE_SECONDS
            try:
                self._bring_up_to_date()
                if self._is_counted:
                    self._ready.set()
                if self._downstream_seconds > _LONG_SECONDS:
                    pause += self._downstream_seconds * _LONG_PAUSES
            except CatalogError:
                _log.exception("documentation coverage could not be counted; trying again")
                pause = _RETRY_SECONDS
            else:
                with self._news:
                    while not (self._has_news or self._is_closing):
                        self._news.wait()
            self._wait(pause)

    @property
    def _has_news(self) -> bool:
        return bool(self._changed or self._aged or self._is_rewired or not self._is_counted)

    def _wait(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        with self._news:
            while not self._is_closing and (seconds_to_wait := until - time.monotonic()) > 0:
                self._news.wait(seconds_to_wait)

    def _bring_up_to_date(self) -> None:
        with self._using_database() as database:
            if not self._is_counted:
                self._count_all(database)
            self._count_changed(database, is_aged_too=True)
            if self._is_rewired and self._downstream_seconds <= _LONG_SECONDS:
                self._count_downstream()
        if self._is_rewired:
            self._count_downstream()
        with self._using_database() as database:
            self._advance(database)

    @contextmanager
    def _using_database(self) -> Iterator[EntryDatabase]:
        """Provide the database to this thread alone. If it turns out to be damaged, everything is
        counted again, and `Busy` is raised; `StorageFault` for another error."""
        with self._using:
            try:
                if self._database is None:
                    self._database = self._open()
                yield self._database
            except _ERRORS as error:
                if not is_damage(error):
                    raise StorageFault(f"{self._name} cannot be used: {error}") from error
                _log.warning("%s is damaged (%s); it is counted again", self._name, error)
                self._discard()
                raise self.busy() from error

    @property
    def _name(self) -> str:
        return str(self._file or "the temporary database of documentation coverage")

    def _open(self) -> EntryDatabase:
        if self._file is not None:
            try:
                return EntryDatabase(self._file)
            except (OSError, sqlite3.Error) as error:
                _log.warning(
                    "%s cannot be used: %s; documentation coverage is counted into a temporary "
                    "file, and again after the next start",
                    self._file,
                    error,
                )
        return EntryDatabase(None)

    def _discard(self) -> None:
        """Remove the database, and make the background thread count everything again."""
        self._ready.clear()
        if self._database is not None:
            self._database.close()
            self._database = None
        try:
            if self._file is not None:
                remove_database(self._file)
        except OSError as error:
            _log.warning("%s cannot be removed: %s", self._file, error)
        with self._news:
            self._is_counted = False
            self._news.notify()

    def _count_all(self, database: EntryDatabase) -> None:
        """Continue with the entries of the database, or begin anew if they do not fit, until all
        datasets are counted or the ledger is closed."""
        state = database.state
        head = self._store.log_bounds().head
        since: list[str] = []
        if self._fits(state):
            since = self._store.changed_urns(state.offset)
        else:
            database.restart(self._store.catalog_id(), head, log_mark(self._store, head))
            state = database.state
        with self._lock:
            self._changed.update(urn for urn in since if urn.startswith(_PREFIX))
            # Any of these changes may affect lineage.
            self._is_rewired = self._is_rewired or bool(since)
            self._seen = max(self._seen, head)
        self._offset = state.offset
        if not state.is_counted:
            try:
                self._count_first(database, state)
            finally:
                self._first = None
            if self._is_closing:
                return
        with self._lock:
            self._aged.update(database.find_aged(use_from()))
            self._is_counted = True

    def _fits(self, state: EntryState) -> bool:
        """Return whether entries are of this catalog, and its log has all changes since they were
        counted."""
        return (
            state.catalog == self._store.catalog_id()
            and state.mark is not None
            and state.offset >= self._store.log_bounds().floor
            and log_mark(self._store, state.offset) == state.mark
        )

    def _count_first(self, database: EntryDatabase, state: EntryState) -> None:
        """Count the datasets that are not counted yet, then the entities downstream of each
        dataset."""
        after = state.after
        first = Progress("datasets", self._store.count(entity_type=_DATASET), state.entries)
        while chunk := self._store.urns(entity_type=_DATASET, after=after, limit=_AT_ONCE):
            if self._is_closing:
                return
            after = chunk[-1]
            database.put(self._read(chunk), after)
            first.done += len(chunk)
            # Set only once there is progress: a count that keeps failing must not keep the service
            # running.
            self._first = first
        first.remainder = "what is downstream of each comes last"
        self._count_downstream()
        if not self._is_closing:
            database.finish()

    def _read(self, urns: Sequence[str]) -> dict[str, DatasetFacts | None]:
        """Return the facts of datasets, `None` for those that are not stored."""
        since_millis = use_from()
        stored = self._store.aspects(urns, FACT_ASPECTS)
        facts_by_urn: dict[str, DatasetFacts | None] = {}
        for urn in urns:
            aspects = stored.get(urn)
            if aspects:
                use = read_use(urn, self._store, since_millis)
                facts_by_urn[urn] = read_facts(
                    urn, {aspect.name: aspect.value for aspect in aspects}, use
                )
            else:
                facts_by_urn[urn] = None
        return facts_by_urn

    def _count_changed(self, database: EntryDatabase, *, is_aged_too: bool = False) -> None:
        """Recount the datasets that changed; with `is_aged_too` also those whose counted usage is
        out of date."""
        with self._lock:
            urns, self._changed = self._changed, set()
            if is_aged_too:
                urns, self._aged = urns | self._aged, set()
        waiting = sorted(urns)
        try:
            while waiting and not self._is_closing:
                # Lineage edges may have led to a new dataset before it was stored.
                if database.put(self._read(waiting[:_AT_ONCE])):
                    self._is_rewired = True
                del waiting[:_AT_ONCE]
        finally:
            with self._lock:
                self._changed.update(waiting)

    def _count_downstream(self) -> None:
        """Recount the entities downstream of each dataset, and write the numbers that changed."""
        began = time.monotonic()
        with self._lock:
            self._is_rewired = False
        try:
            counts = count_downstream(self._store.lineage_pairs(), lambda: self._is_closing)
            after: str | None = ""
            while after is not None and not self._is_closing:
                with self._using_database() as database:
                    counts_before = dict(database.downstream(after, _DOWNSTREAM_AT_ONCE))
                    handles = self._store.handles(list(counts_before))
                    changed: dict[str, int] = {}
                    for urn, before in counts_before.items():
                        handle = handles.get(urn, len(counts))
                        now = counts[handle] if handle < len(counts) else 0
                        if now != before:
                            changed[urn] = now
                    database.set_downstream(changed)
                after = max(counts_before, default=None)
        except BaseException:
            with self._lock:
                self._is_rewired = True
            raise
        self._downstream_seconds = time.monotonic() - began

    def _advance(self, database: EntryDatabase) -> None:
        """Record how far the entries are complete, if nothing is left to recount."""
        with self._lock:
            offset = self._offset if self._has_news else max(self._offset, self._seen)
        if offset > self._offset:
            database.advance(offset, log_mark(self._store, offset))
            self._offset = offset
