"""The store on SQLite: a catalog in one file, with one writer that groups commits, and readers that
never wait for it; and operations on the file as a whole: check, copy while others write, compact,
replace."""

import logging
import math
import os
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from queue import Empty, LifoQueue
from typing import TypeVar, cast

from explorer.errors import CatalogError, InvalidFile, StorageFull
from explorer.files import is_full
from explorer.server.store import (
    Job,
    LogReader,
    Observer,
    Reader,
    StoreFault,
    StoreUnavailable,
)
from explorer.server.store.sql import Dialect, Writer
from explorer.server.store.sql.reads import SqlReads, SqlSnapshot, SqlSurvey
from explorer.server.store.sql.transaction import SqlTransaction, WriterCache
from explorer.server.store.sqlite.schema import (
    SQLITE_ERRORS,
    Damage,
    add_lineage_indexes,
    check_readable,
    compress,
    connect,
    connect_read_only,
    copy_database,
    find_damage,
    flush_directory,
    is_empty,
    open_file,
    read_id,
    renew_id,
)

T = TypeVar("T")
_RETRY_SECONDS = 5.0
_SILENT_SECONDS = 10.0
_LOCKED = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
# Operations that the system refuses temporarily: use of the disk, memory, or another open file.
_REFUSED = (
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_PROTOCOL,
)

_UNSAVED = "the change could not be saved"

_log = logging.getLogger("explorer.server")


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
    seen_millis="json_extract({0}.system, '$.lastObserved')",
    removed=_REMOVED,
    lineage=_LINEAGE,
    lineage_pairs=_LINEAGE_PAIRS,
    urns_of_handles=_KNOWN_URNS,
)


class _Faults:
    """Converts errors of SQLite to those of the catalog, and logs errors of the system, once every
    10 seconds."""

    def __init__(self, damage: Damage) -> None:
        self._damage = damage
        self._silent_until = -math.inf

    def of(self, error: Exception, what: str) -> CatalogError:
        """Return the error to raise for an error of SQLite; `what` is the operation that failed.
        Notes damage."""
        fault = self._damage.note(error) or _fault(error, what)
        is_logged = is_full(error) or _code_of(error) in _REFUSED
        if is_logged and time.monotonic() >= self._silent_until:
            self._silent_until = time.monotonic() + _SILENT_SECONDS
            if isinstance(fault, StorageFull):
                _log.error("the disk of %s is full, and changes are not saved", self._damage.path)
            else:
                _log.error("%s: %s", self._damage.path, error)
        return fault


class _WritingConnection:
    """See `sql.WritingConnection`."""

    def __init__(self, connection: sqlite3.Connection, damage: Damage, faults: _Faults) -> None:
        # What a savepoint may have to restore is kept in memory instead of a file.
        connection.execute("PRAGMA temp_store = MEMORY")
        self._connection = connection
        self._damage = damage
        self._faults = faults
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
        return self._faults.of(error, _UNSAVED) if isinstance(error, sqlite3.Error) else error


def _code_of(error: Exception) -> int:
    code: int = getattr(error, "sqlite_errorcode", 0)
    return code & 0xFF


def _fault(error: Exception, what: str) -> CatalogError:
    if is_full(error):
        return StorageFull(f"{what}: the disk of the catalog is full; make room there")
    code = _code_of(error)
    if code in _LOCKED:
        why = (
            "another program has locked the catalog against writes, as catalog migrate does "
            "while it switches over"
        )
    elif code in _REFUSED:
        why = f"{what}: {error}"
    else:
        return StoreFault(f"{what}: {error}")
    return StoreUnavailable(f"{why}; try again in a moment", retry_after_seconds=_RETRY_SECONDS)


class _Survey(SqlSurvey):
    def damage(self) -> list[str]:
        with self._reading() as connection:
            return find_damage(cast("sqlite3.Connection", connection))


class SqliteStore(SqlReads):
    """A catalog in one file. See `store.Store`; opening raises `Unusable`.

    With `read_only`, the file may be on read-only media, and nothing can be written.
    """

    _dialect = _DIALECT

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self._path = path
        self._connect = connect_read_only if read_only else partial(connect, reading=True)
        self._readers: LifoQueue[sqlite3.Connection] = LifoQueue()
        self._is_closed = False
        self._damage = Damage(path)
        self._faults = _Faults(self._damage)
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
            self._writer = Writer(_WritingConnection(connection, self._damage, self._faults))
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
        self._writer = Writer(_WritingConnection(connection, self._damage, self._faults))

    @property
    def problem(self) -> str | None:
        return self._damage.problem

    @property
    def has_died(self) -> bool:
        return self._writer.has_died

    @property
    def is_shared(self) -> bool:
        return False

    @property
    def is_local(self) -> bool:
        return True

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
                raise self._faults.of(error, _UNSAVED) from error
            yield
            connection.execute("ROLLBACK")

    @contextmanager
    def survey(self) -> Iterator[SqlSurvey]:
        """Return a survey of the store at one moment. See `store.SurveyedStore`."""
        with self._snapshot() as connection:
            yield _Survey(connection, _DIALECT)

    def hurry(self) -> None:
        """Do nothing: the engine keeps nobody waiting."""

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
        connection: sqlite3.Connection | None = None
        try:
            try:
                connection = self._readers.get_nowait()
            except Empty:
                connection = self._connect(self._path)
            yield connection
        except SQLITE_ERRORS as error:
            raise self._faults.of(error, "the catalog cannot be read") from error
        finally:
            if connection is not None:
                connection.close() if self._is_closed else self._readers.put(connection)


def find_file_damage(path: Path) -> list[str]:
    """Return the damage that SQLite finds in a file, at most 10 lines; takes seconds for a large
    one.

    Raises `Unusable` if a file on read-only media has its latest writes in a write-ahead log beside
    it.
    """
    if is_empty(path):
        return ["it is empty"]
    try:
        with closing(connect_read_only(path)) as connection:
            return find_damage(connection)
    except SQLITE_ERRORS as error:
        return [str(error)]


def back_up_file(source: Path, target: Path) -> None:
    """Copy a catalog at one moment, while others write to it.

    On return, the copy is on disk, is verified, and can be restored. Raises `StoreFault`,
    `Unusable` and `OSError`.
    """
    with _faults():
        with closing(connect_read_only(source)) as connection:
            check_readable(connection, source)
            copy_database(connection, target)
        _prove(target)


def compact_file(path: Path) -> tuple[int, int]:
    """Rewrite a catalog without the space of removed rows; return its size before and after.

    Sizes are in bytes. The caller must have locked the directory. While it runs, as much disk space
    is needed again. If the process ends at any moment, the catalog stays intact. Raises
    `StoreFault` and `Unusable`.
    """
    with _faults(), closing(open_file(path)) as connection:
        # Move the write-ahead log into the file first, so that its content is counted.
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        before = path.stat().st_size
        connection.execute("VACUUM")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return before, path.stat().st_size


def draft_restored_file(backup: Path, draft: Path) -> int:
    """Create from a backup the file that will become the catalog; return its number of entities.

    The new file gets its own id, so that a search index of another state of this catalog is not
    used with it. Raises `InvalidFile` if the backup is not a catalog or is damaged, `StoreFault`
    and `OSError`; the draft is then removed.
    """
    for suffix in ("", "-wal", "-shm"):
        draft.with_name(f"{draft.name}{suffix}").unlink(missing_ok=True)
    try:
        with _faults():
            with closing(connect_read_only(backup)) as source:
                _require_sound(source, backup)
                copy_database(source, draft)
            with closing(connect(draft)) as copy:
                renew_id(copy)
                count: int = copy.execute("SELECT count(*) FROM urns WHERE live").fetchone()[0]
            _prove(draft)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    return count


def _require_sound(source: sqlite3.Connection, backup: Path) -> None:
    check_readable(source, backup)
    if problems := find_damage(source):
        raise InvalidFile(f"the backup {backup} is damaged ({problems[0]}); name another one")


def replace_file(draft: Path, present: Path) -> Path | None:
    """Replace the present catalog by a draft, and keep the old file beside it under a dated name.

    Returns the path of the old file, `None` if there was none. If the process is killed at any
    moment, one of the two files has the catalog's name, complete. Raises `OSError`.
    """
    path = _set_aside(present)
    draft.replace(present)
    flush_directory(present.parent)
    return path


def _set_aside(present: Path) -> Path | None:
    """Give the present catalog a second, dated name; return its path, `None` if there is none."""
    if not present.exists():
        return None
    try:
        with closing(connect(present)) as connection:
            # Move the write-ahead log into the file. The log must be gone before another file gets
            # this name: SQLite would apply it to that file.
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    except SQLITE_ERRORS:
        # The file is damaged; the log is kept with it.
        pass
    stamp = datetime.now(UTC).strftime("%Y-%m-%dT%H-%M-%S.%f")
    path = present.with_name(f"{present.name}.replaced-{stamp}")
    log = present.with_name(f"{present.name}-wal")
    if log.exists() and log.stat().st_size:
        copy_file(log, path.with_name(f"{path.name}-wal"))
    try:
        os.link(present, path)
    except OSError:
        # The file system has no hard links.
        copy_file(present, path)
    flush_directory(present.parent)
    log.unlink(missing_ok=True)
    present.with_name(f"{present.name}-shm").unlink(missing_ok=True)
    return path


def copy_file(source: Path, target: Path) -> None:
    """Copy a file so that the target is either complete or absent."""
    draft = target.with_name(f"{target.name}.partial")
    shutil.copyfile(source, draft)
    draft.chmod(0o600)
    with draft.open("rb+") as file:
        os.fsync(file.fileno())
    draft.replace(target)


def _prove(copy: Path) -> None:
    with closing(connect(copy)) as connection:
        if problems := find_damage(connection, quick=True):
            raise StoreFault(f"the copy is damaged: {problems[0]}")


@contextmanager
def _faults() -> Iterator[None]:
    try:
        yield
    except SQLITE_ERRORS as error:
        raise StoreFault(str(error)) from error
