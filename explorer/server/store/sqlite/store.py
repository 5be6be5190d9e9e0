"""The store on SQLite: one writer that groups commits, and readers that never wait for it.

A commit costs one flush to disk however many jobs it carries, so jobs that are queued while one is
under way share the next.
"""

import logging
import sqlite3
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from queue import Empty, LifoQueue, SimpleQueue
from typing import Any, TypeVar

from explorer.errors import CatalogError, Misuse, ServerFault
from explorer.server.store.interface import Job, Observer, Reader, StoreFault, TransactionChanges
from explorer.server.store.sqlite.reads import SqliteReads
from explorer.server.store.sqlite.schema import (
    SQLITE_ERRORS,
    Damage,
    add_lineage_indexes,
    check_readable,
    connect,
    connect_read_only,
    open_file,
    read_id,
)
from explorer.server.store.sqlite.survey import SqliteSurvey
from explorer.server.store.sqlite.transaction import SqliteSnapshot, SqliteTransaction, WriterCache

__all__ = ["SqliteStore"]

T = TypeVar("T")
_MAX_GROUP = 256
_log = logging.getLogger("explorer.server")


class _Queued:
    __slots__ = ("error", "future", "job", "result")

    def __init__(self, job: Job[Any], future: Future[Any]) -> None:
        self.job = job
        self.future = future
        self.result: Any = None
        self.error: BaseException | None = None

    def settle(self) -> None:
        if self.future.done():
            return
        if self.error is not None:
            self.future.set_exception(self.error)
        else:
            self.future.set_result(self.result)


class _Lost(Exception):
    """The transaction is gone, and with it what its jobs did."""


class Writer:
    """Owns the writing connection. Jobs of one group run in the order they were queued, each in
    a savepoint of its own, so that one that fails takes no other along.

    `has_died` once the thread ended by an error that nobody foresaw: then every waiting caller got
    one, and nothing can be written until the process is started again.
    """

    def __init__(self, connection: sqlite3.Connection, damage: Damage) -> None:
        self._connection = connection
        self._damage = damage
        self._group: list[_Queued] = []
        self._cache = WriterCache()
        self.has_died = False
        self._observer: Observer | None = None
        self._queue: SimpleQueue[_Queued | None] = SimpleQueue()
        self._closing = False
        self._gate = threading.Lock()
        self._thread = threading.Thread(target=self._serve, name="catalog-writer", daemon=True)
        self._thread.start()

    def observe(self, observer: Observer) -> None:
        """Name who prepares and publishes what is derived from each commit."""
        if self._observer is not None:
            raise Misuse("another application serves this store already; open one for each of them")
        self._observer = observer

    def queue(self, job: Job[T]) -> Future[T]:
        """Queue a job. Raises `Unusable` when the database is damaged, and `ServerFault` when the
        writer has died or the store is closing."""
        self._damage.check()
        future: Future[T] = Future()
        # A queued change is made whether its caller waits or not, so it cannot be cancelled.
        future.set_running_or_notify_cancel()
        with self._gate:
            if self.has_died:
                raise _died()
            if self._closing:
                raise ServerFault("the catalog is shutting down; try again in a moment")
            self._queue.put(_Queued(job, future))
        return future

    def close(self) -> None:
        """Commit what is queued, then let the connection go."""
        with self._gate:
            if not self._closing:
                self._closing = True
                self._queue.put(None)
        self._thread.join()
        self._connection.close()

    def _serve(self) -> None:
        try:
            self._serve_queue()
        except BaseException:  # noqa: BLE001 - the edge of this thread; the process ends
            _log.critical("the writer failed; the service has to be started again", exc_info=True)
            self._die()

    def _die(self) -> None:
        with self._gate:
            self.has_died = self._closing = True
        left: list[_Queued | None] = [*self._group]
        while True:
            try:
                left.append(self._queue.get_nowait())
            except Empty:
                break
        for queued in filter(None, left):
            queued.error = _died()
            queued.settle()

    def _serve_queue(self) -> None:
        while (first := self._queue.get()) is not None:
            group = self._group = [first]
            last = False
            while len(group) < _MAX_GROUP:
                try:
                    following = self._queue.get_nowait()
                except Empty:
                    break
                if following is None:
                    last = True
                    break
                group.append(following)
            self._commit(group)
            if last:
                return

    def _commit(self, group: list[_Queued]) -> None:
        try:
            self._damage.check()
            offset = self._transact(group)
        except Exception as error:  # noqa: BLE001 - whatever a job did, the writer must live on
            self._cache.clear()
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            self._note(error)
            if len(group) > 1:
                # One job may be to blame; alone, each gets its own commit and its own error.
                for queued in group:
                    self._commit([queued])
                return
            group[0].error = group[0].error or self._as_fault(error)
            group[0].settle()
            return
        if offset is not None and self._observer is not None:
            try:
                self._observer.publish(offset)
            except BaseException:  # noqa: BLE001 - the truth is on disk; the rest is tried again
                _log.exception("the search index did not take a change; it is tried again")
        for queued in group:
            queued.settle()

    def _transact(self, group: list[_Queued]) -> int | None:
        """Run and commit the jobs; the log's last offset if anything changed."""
        run = self._connection.execute
        run("BEGIN IMMEDIATE")
        self._cache.trim()
        transaction = SqliteTransaction(self._connection, self._cache)
        changes = TransactionChanges()
        for queued in group:
            queued.error = None
            transaction.changes = TransactionChanges()
            run("SAVEPOINT job")
            try:
                queued.result = queued.job(transaction)
                transaction.finish()
            except Exception as error:
                # It belongs to whoever queued the job, unless the transaction went with it.
                queued.error = self._as_fault(error)
                if not self._connection.in_transaction or self._damage.problem:
                    raise _Lost from error
                run("ROLLBACK TO job")
                transaction.forget()
            else:
                changes.add(transaction.changes)
            run("RELEASE job")
        transaction.changes = changes
        if changes and self._observer is not None:
            self._observer.prepare(transaction)
        transaction.finish()
        run("COMMIT")
        return transaction.log_bounds().head if changes else None

    def _note(self, error: Exception) -> CatalogError | None:
        # Of a job's own errors only those of SQLite speak of the file.
        return self._damage.note(error) if isinstance(error, sqlite3.Error) else None

    def _as_fault(self, error: Exception) -> Exception:
        if damaged := self._note(error):
            return damaged
        if isinstance(error, sqlite3.Error):
            return StoreFault(f"the change could not be kept: {error}")
        return error


def _died() -> ServerFault:
    return ServerFault("the catalog's writer failed; the service has to be started again")


class SqliteStore(SqliteReads):
    """A catalog in one file. See `interface.Store`; opening raises `Unusable`.

    With `read_only` the file may lie on read-only media; nothing can be written.
    """

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
            except BaseException:
                connection.close()
                raise
            self._damage.problem = f"{path} is read only: nothing can be written to it"
            self._writer = Writer(connection, self._damage)
            return
        connection = open_file(path)
        try:
            self._id = read_id(connection)
            add_lineage_indexes(connection)
        except SQLITE_ERRORS as error:
            # What can be read is read all the same.
            if self._damage.note(error) is None:
                connection.close()
                raise
        self._writer = Writer(connection, self._damage)

    @property
    def problem(self) -> str | None:
        return self._damage.problem

    @property
    def has_died(self) -> bool:
        return self._writer.has_died

    def catalog_id(self) -> str:
        return self._id

    def observe(self, observer: Observer) -> None:
        self._writer.observe(observer)

    def write(self, job: Job[T]) -> Future[T]:
        return self._writer.queue(job)

    def size_bytes(self) -> int:
        files = (self._path, self._path.with_name(f"{self._path.name}-wal"))
        return sum(file.stat().st_size for file in files if file.exists())

    @contextmanager
    def snapshot(self) -> Iterator[Reader]:
        with self._snapshot() as connection:
            yield SqliteSnapshot(connection)

    @contextmanager
    def survey(self) -> Iterator[SqliteSurvey]:
        """One moment of the store, row by row. See `survey.SurveyedStore`."""
        with self._snapshot() as connection:
            yield SqliteSurvey(connection)

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
