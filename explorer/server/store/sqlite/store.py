"""The store on SQLite: one writer that groups commits, and readers that never wait for it."""

import sqlite3
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from queue import Empty, LifoQueue
from typing import TypeVar, cast

from explorer.server.store.interface import (
    Job,
    LogReader,
    Observer,
    Reader,
    StoreFault,
    StoreUnavailable,
)
from explorer.server.store.sql.dialect import Dialect
from explorer.server.store.sql.reads import SqlReads
from explorer.server.store.sql.survey import SqlSurvey
from explorer.server.store.sql.transaction import SqlSnapshot, SqlTransaction, WriterCache
from explorer.server.store.sqlite.compression import compress
from explorer.server.store.sqlite.schema import (
    SQLITE_ERRORS,
    Damage,
    add_lineage_indexes,
    check_readable,
    connect,
    connect_read_only,
    find_damage,
    open_file,
    read_id,
)
from explorer.server.store.writer import Writer

__all__ = ["SqliteStore"]

T = TypeVar("T")
_RETRY_SECONDS = 5.0


# Fetching a row as a tuple takes 1 µs or more; whole columns as JSON take a tenth of that per row.
_LINEAGE = """
SELECT json_group_array(near), json_group_array(far), json_group_array(type) FROM (
SELECT f.value AS near, e.source AS far, e.type AS type
FROM json_each(:frontier) f CROSS JOIN edges e INDEXED BY lineage_in ON e.target = f.value
WHERE e.flow > 0 AND e.flow = :in
UNION ALL
SELECT f.value, e.target, e.type
FROM json_each(:frontier) f CROSS JOIN edges e INDEXED BY lineage_out ON e.source = f.value
WHERE e.flow > 0 AND e.flow = :out
LIMIT :limit)
"""
_LINEAGE_PAIRS = """
SELECT json_group_array(CASE flow WHEN 1 THEN target ELSE source END),
       json_group_array(CASE flow WHEN 1 THEN source ELSE target END),
       (SELECT min(target) FROM edges INDEXED BY lineage_in WHERE flow > 0 AND target >= :end)
FROM edges INDEXED BY lineage_in WHERE flow > 0 AND target >= :begin AND target < :end
"""
_KNOWN_URNS = """
SELECT json_group_array(u.urn), json_group_array(u.live)
FROM json_each(?) f CROSS JOIN urns u ON u.id = f.value
"""
_REMOVED = """
WITH removed (id) AS MATERIALIZED (
    SELECT entity FROM aspects
    WHERE name = 'status' AND json_extract(expand(value), '$.removed') = 1
)
"""
_DIALECT = Dialect(
    compress=compress,
    no_limit=-1,
    texts="json_each(?) f",
    gathered="json_group_array({})",
    unindexed="+{}",
    like="u.urn LIKE :like",
    seen="json_extract({0}.system, '$.lastObserved')",
    removed=_REMOVED,
    lineage=_LINEAGE,
    lineage_pairs=_LINEAGE_PAIRS,
    urns_of_handles=_KNOWN_URNS,
)


class _WritingConnection:
    """See `writer.WritingConnection`."""

    def __init__(self, connection: sqlite3.Connection, damage: Damage) -> None:
        self._connection = connection
        self._damage = damage
        self._cache = WriterCache()
        self.check = damage.check
        self.close = connection.close

    def begin(self) -> SqlTransaction:
        self._connection.execute("BEGIN IMMEDIATE")
        self._cache.trim()
        return SqlTransaction(self._connection, _DIALECT, self._cache)

    def mark(self) -> None:
        self._connection.execute("SAVEPOINT job")

    def undo(self) -> None:
        self._connection.execute("ROLLBACK TO job")

    def keep(self) -> None:
        self._connection.execute("RELEASE job")

    def commit(self, offset: int | None, publish: Callable[[int], bool]) -> None:
        self._connection.execute("COMMIT")
        if offset is not None:
            publish(offset)

    def roll_back(self) -> None:
        self._cache.clear()
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")

    @property
    def is_lost(self) -> bool:
        return not self._connection.in_transaction or self._damage.problem is not None

    def may_repeat(self, error: Exception, attempts: int) -> bool:
        del error, attempts
        return False

    def fails_all(self, error: Exception) -> bool:
        return isinstance(self.as_fault(error), StoreUnavailable)

    def as_fault(self, error: Exception) -> Exception:
        # Only errors of SQLite concern the file; others are the job's own.
        if not isinstance(error, sqlite3.Error):
            return error
        return self._damage.note(error) or _fault(error)


def _fault(error: sqlite3.Error) -> StoreFault | StoreUnavailable:
    if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY:
        return StoreUnavailable(
            "another program has locked the catalog against writes, as catalog migrate does "
            "while it switches over; try again in a moment",
            retry_after_seconds=_RETRY_SECONDS,
        )
    return StoreFault(f"the change could not be saved: {error}")


class _Survey(SqlSurvey):
    def damage(self) -> list[str]:
        with self._reading() as connection:
            return find_damage(cast("sqlite3.Connection", connection))


class SqliteStore(SqlReads):
    """A catalog in one file. See `interface.Store`; opening raises `Unusable`.

    With `read_only`, the file may be on read-only media, and nothing can be written.
    """

    _dialect = _DIALECT

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self._path = path
        self._connect = connect_read_only if read_only else partial(connect, reading=True)
        self._readers: LifoQueue[sqlite3.Connection] = LifoQueue()
        self._is_closed = False
        self._damage = Damage(path)
        self._id = ""
        if read_only:
            connection = connect_read_only(path)
            try:
                check_readable(connection, path)
                with suppress(*SQLITE_ERRORS):
                    self._id = read_id(connection)
            except BaseException:
                connection.close()
                raise
            self._damage.problem = f"{path} is read-only: nothing can be written to it"
            self._writer = Writer(_WritingConnection(connection, self._damage))
            return
        connection = open_file(path)
        try:
            self._id = read_id(connection)
            add_lineage_indexes(connection)
        except SQLITE_ERRORS as error:
            # Damage does not prevent reading what is still readable.
            if self._damage.note(error) is None:
                connection.close()
                raise
        self._writer = Writer(_WritingConnection(connection, self._damage))

    @property
    def problem(self) -> str | None:
        return self._damage.problem

    @property
    def has_died(self) -> bool:
        return self._writer.has_died

    @property
    def is_shared(self) -> bool:
        return False

    def catalog_id(self) -> str:
        return self._id

    def observe(self, observer: Observer) -> None:
        self._writer.observe(observer)

    def follow(self, after: int, name: str, needed: Callable[[], int]) -> None:
        """Do nothing: no other service writes to the file."""

    def log_readers(self) -> list[LogReader]:
        return []

    @property
    def can_write(self) -> bool:
        return True

    def now_millis(self) -> int:
        return time.time_ns() // 1_000_000

    def lag_seconds(self) -> float:
        return 0.0

    @property
    def is_reachable(self) -> bool:
        return True

    def write(self, job: Job[T]) -> Future[T]:
        return self._writer.queue(job)

    def size_bytes(self) -> int:
        files = (self._path, self._path.with_name(f"{self._path.name}-wal"))
        return sum(file.stat().st_size for file in files if file.exists())

    @contextmanager
    def snapshot(self) -> Iterator[Reader]:
        with self._snapshot() as connection:
            yield SqlSnapshot(connection, _DIALECT)

    @contextmanager
    def pause_writes(self) -> Iterator[None]:
        with closing(connect(self._path)) as connection:
            try:
                connection.execute("BEGIN IMMEDIATE")
            except sqlite3.Error as error:
                raise _fault(error) from error
            yield
            connection.execute("ROLLBACK")

    @contextmanager
    def survey(self) -> Iterator[SqlSurvey]:
        """Return a survey of the store at one moment. See `survey.SurveyedStore`."""
        with self._snapshot() as connection:
            yield _Survey(connection, _DIALECT)

    def close(self) -> None:
        self._writer.close()
        self._is_closed = True
        while True:
            try:
                self._readers.get_nowait().close()
            except Empty:
                return

    @contextmanager
    def _snapshot(self) -> Iterator[sqlite3.Connection]:
        with self._reading() as connection:
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                connection.execute("COMMIT")

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        try:
            connection = self._readers.get_nowait()
        except Empty:
            connection = self._connect(self._path)
        try:
            yield connection
        except SQLITE_ERRORS as error:
            damaged = self._damage.note(error)
            raise damaged or StoreFault(f"the catalog cannot be read: {error}") from error
        finally:
            if self._is_closed:
                connection.close()
            else:
                self._readers.put(connection)
