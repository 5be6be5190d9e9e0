"""The parts that the SQL engines share. Here are the connection that statements need, the
differences between the engines' SQL, and the writer; the modules have the statements that read and
change the tables.

Statements use the placeholders `?` and `:name`; collations and types are defined by the tables.

The writer is a thread that groups the jobs of concurrent callers into one commit. Jobs that are
queued during a commit share the next one, so a commit costs one flush to disk however many jobs it
contains.
"""

import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from typing import Any, Protocol, TypeVar

from msgspec import Struct

from explorer.errors import Misuse, ServerFault
from explorer.server.store import (
    Job,
    Observer,
    StoreUnavailable,
    Transaction,
    TransactionChanges,
)

COMPRESSED = ("value", "previous")
"""The columns whose values are stored compressed."""

Given = Sequence[Any] | Mapping[str, Any]
"""The values for the placeholders of a statement."""


class SqlRows(Protocol):
    """The result of a statement."""

    @property
    def rowcount(self) -> int: ...

    def fetchone(self) -> Any: ...

    def fetchall(self) -> list[Any]: ...

    def __iter__(self) -> Iterator[Any]: ...

    def close(self) -> object: ...


class SqlConnection(Protocol):
    """A connection to a database, used by one thread at a time."""

    def execute(self, statement: str, parameters: Given = (), /) -> SqlRows: ...

    def executemany(self, statement: str, rows: Iterable[Sequence[Any]], /) -> object: ...


class TableLayout(Struct, frozen=True):
    """A table whose rows are copied unchanged, in the order of its key.

    The key is the first `keys` columns. Only rows that meet the condition `where` are copied. No
    two rows have the same values in the columns `unique`.
    """

    name: str
    columns: tuple[str, ...]
    keys: int = 1
    where: str = "1 = 1"
    unique: tuple[str, ...] = ()

    def between(
        self, after: Sequence[Any] | None, through: Sequence[Any] | None
    ) -> tuple[str, str, tuple[Any, ...]]:
        """Return the key columns, and a condition for rows between two keys with its values.

        The key `after` is exclusive, `through` inclusive; `None` leaves the end open.
        """
        keys = ", ".join(f'"{column}"' for column in self.columns[: self.keys])
        marks = ", ".join("?" * self.keys)
        where = self.where
        for bound, relation in ((after, ">"), (through, "<=")):
            if bound is not None:
                where += f" AND ({keys}) {relation} ({marks})"
        return keys, where, (*(after or ()), *(through or ()))


class Dialect(Struct, frozen=True):
    """The differences between engines.

    - `compress` turns a value into its stored form.
    - `no_limit` is the value for LIMIT that means no limit.
    - `texts` is a relation `f` with one column `value`; its placeholder takes a JSON array.
    - `gathered` is an aggregate that returns a column as a JSON array.
    - `unindexed` is a format string for a column that keeps the engine from using an index on it.
    - `like` is the condition that a URN matches a pattern.
    - `seen_millis` and `removed` read the time of observation and the soft deletion from the JSON
      of a row.
    - `lineage`, `lineage_pairs` and `urns_of_handles` are statements for `SqlReads`.
    - `after_copy` are statements that make the tables ready for use after rows were copied to them.
    """

    compress: Callable[[bytes], bytes]
    no_limit: int | None
    texts: str
    gathered: str
    unindexed: str
    like: str
    seen_millis: str
    removed: str
    lineage: str
    lineage_pairs: str
    urns_of_handles: str
    after_copy: tuple[str, ...] = ()

    def limit(self, count: int) -> int | None:
        """Return the value for LIMIT; a count below 0 means no limit."""
        return self.no_limit if count < 0 else count


T = TypeVar("T")
_MAX_GROUP = 256
# A group with a job that failed runs twice. So many groups after it have savepoints from the start.
_MARKED_GROUPS = 100
_RESTART_SECONDS = 5.0
_log = logging.getLogger("explorer.server")


class WritingTransaction(Transaction, Protocol):
    """A transaction whose jobs end, or are undone, one by one."""

    def finish(self) -> None:
        """Write the rows that a job left in buffers."""

    def forget(self) -> None:
        """Discard buffers and caches after a job was undone."""


class WritingConnection(Protocol):
    """An engine's connection for writing, used only by the writer."""

    def check(self) -> None:
        """Raise the error with which every write is refused, if nothing can be written."""

    def begin(self) -> WritingTransaction:
        """Begin a transaction that sees all earlier writes."""

    def mark(self) -> None:
        """Begin a job of the transaction, with a savepoint."""

    def undo(self) -> None:
        """Roll back to the savepoint of the job."""

    def keep(self) -> None:
        """Release the savepoint of the job, whether it was rolled back or not."""

    def commit(self, offset: int | None, publish: Callable[[int], bool]) -> None:
        """Commit, then publish the offset of the last log entry.

        `offset` is `None` if there is nothing to publish. `publish` is called once the commit is on
        disk and returns whether the observer took the changes.
        """

    def roll_back(self) -> None:
        """Roll back the transaction, if there is one; errors of the engine are not raised."""

    @property
    def is_lost(self) -> bool:
        """Whether the engine has ended the transaction, which undid its jobs."""

    def may_repeat(self, error: Exception, attempts: int) -> bool:
        """Return whether to run the whole group again after this many attempts; may wait first."""

    def fails_all(self, error: Exception) -> bool:
        """Return whether this error means that no job can be written at present."""

    def as_fault(self, error: Exception) -> Exception:
        """Return the error to raise for an error of a job or of the engine."""

    def close(self) -> None:
        """Close the connection."""


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
    """The transaction ended, which undid its jobs, or nothing can be written at present."""


class _JobFailed(Exception):
    """A job failed that had no savepoint."""


class Writer:
    """The thread that owns the writing connection.

    The jobs of a group run in the order in which they were queued, and their rows are written
    together. If one of them fails, the group runs again, each job in its own savepoint, so that the
    one does not undo the others; so do the next groups, because more jobs may fail. If nothing can
    be written at present, because the database does not answer or a table is locked, the group and
    all waiting jobs fail with that error, so that no caller waits for the engine more than once.

    `has_died` is true once an unexpected error ended the thread. Every waiting caller has then got
    an error, and nothing can be written until the process is restarted.
    """

    def __init__(self, connection: WritingConnection) -> None:
        self._connection = connection
        self._group: list[_Queued] = []
        # The number of the next groups whose jobs have savepoints.
        self._marked_groups = 0
        self.has_died = False
        self.observer: Observer | None = None
        self._queue: SimpleQueue[_Queued | None] = SimpleQueue()
        self._closing = False
        self._gate = threading.Lock()
        self._thread = threading.Thread(target=self._serve, name="catalog-writer", daemon=True)
        self._thread.start()

    def observe(self, observer: Observer) -> None:
        """Set the observer, which prepares and publishes the data derived from each commit.

        Raises `Misuse` if there is one already.
        """
        if self.observer is not None:
            raise Misuse(
                "this store is already in use by another application; open a separate store for "
                "each"
            )
        self.observer = observer

    def queue(self, job: Job[T]) -> Future[T]:
        """Queue a job; return a future of its result.

        Raises `Unusable` if the database is damaged, `ServerFault` if the writer has died, and
        `StoreUnavailable` if the store is closing.
        """
        self._connection.check()
        future: Future[T] = Future()
        # A queued job runs whether its caller waits or not, so it cannot be cancelled.
        future.set_running_or_notify_cancel()
        with self._gate:
            if self.has_died:
                raise _writer_error()
            if self._closing:
                raise StoreUnavailable(
                    "the catalog is shutting down; try again in a moment",
                    retry_after_seconds=_RESTART_SECONDS,
                )
            self._queue.put(_Queued(job, future))
        return future

    def close(self) -> None:
        """Commit the queued jobs, then close the connection."""
        with self._gate:
            if not self._closing:
                self._closing = True
                self._queue.put(None)
        self._thread.join()
        self._connection.close()

    def _serve(self) -> None:
        try:
            self._serve_queue()
        except BaseException:  # noqa: BLE001 - outermost frame; all waiting jobs fail
            _log.critical("the writer failed; restart the service", exc_info=True)
            self._die()

    def _die(self) -> None:
        with self._gate:
            self.has_died = self._closing = True
        for queued in (*self._group, *self._take_waiting()):
            queued.error = _writer_error()
            queued.settle()

    def _take_waiting(self) -> list[_Queued]:
        """Take all jobs out of the queue."""
        waiting: list[_Queued] = []
        while True:
            try:
                following = self._queue.get_nowait()
            except Empty:
                return waiting
            if following is None:
                # Nothing is queued after the end.
                self._queue.put(None)
                return waiting
            waiting.append(following)

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

    def _commit(self, group: list[_Queued], attempts: int = 1) -> None:
        connection = self._connection
        try:
            connection.check()
            self._transact(group)
        except _JobFailed:
            connection.roll_back()
            if len(group) > 1:
                self._marked_groups = _MARKED_GROUPS
                self._commit(group, attempts)
                return
        except Exception as error:  # noqa: BLE001 - the writer must survive any job
            connection.roll_back()
            cause = error.__cause__ if isinstance(error, _Lost) else error
            reason = cause if isinstance(cause, Exception) else error
            if connection.may_repeat(reason, attempts):
                self._commit(group, attempts + 1)
                return
            fault = connection.as_fault(reason)
            if connection.fails_all(reason):
                # Those in the queue have waited too, and would wait as long again, one after
                # another.
                group = [*group, *self._take_waiting()]
            elif len(group) > 1 and not isinstance(reason, StoreUnavailable):
                # One job may be the cause. Run alone, each gets its own commit and its own error.
                for queued in group:
                    self._commit([queued])
                return
            for queued in group:
                queued.error = queued.error or fault
        for queued in group:
            queued.settle()

    def _transact(self, group: list[_Queued]) -> None:
        """Run the jobs of a group, commit and publish."""
        connection = self._connection
        transaction = connection.begin()
        changes = TransactionChanges()
        has_marks = self._marked_groups > 0
        self._marked_groups -= has_marks
        for queued in group:
            queued.error = None
            transaction.changes = TransactionChanges()
            if has_marks:
                connection.mark()
            try:
                queued.result = queued.job(transaction)
                if has_marks:
                    transaction.finish()
            except Exception as error:
                # The caller of this job gets the error, unless the whole transaction has ended.
                queued.error = connection.as_fault(error)
                if connection.is_lost or connection.fails_all(error):
                    raise _Lost from error
                if not has_marks:
                    raise _JobFailed from error
                connection.undo()
                transaction.forget()
            else:
                changes.add(transaction.changes)
            if has_marks:
                connection.keep()
        transaction.changes = changes
        if changes and self.observer is not None:
            self.observer.prepare(transaction)
        transaction.finish()
        connection.commit(transaction.log_bounds().head if changes else None, self._publish)

    def _publish(self, offset: int) -> bool:
        """Let the observer publish a commit; return whether it succeeded."""
        if self.observer is not None:
            try:
                self.observer.publish(offset)
            except BaseException:  # noqa: BLE001 - the commit is on disk; publishing is retried
                _log.exception("a change could not be added to the search index; trying again")
                return False
        return True


def _writer_error() -> ServerFault:
    return ServerFault("the catalog's writer failed; restart the service")
