"""The thread that writes: jobs that are queued while a commit is under way share the next.

A commit costs one flush to disk however many jobs it carries.
"""

import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from typing import Any, Protocol, TypeVar

from explorer.errors import Misuse, ServerFault
from explorer.server.store.interface import Job, Observer, TransactionChanges
from explorer.server.store.sql.transaction import SqlTransaction

__all__ = ["Writer", "WritingConnection"]

T = TypeVar("T")
_MAX_GROUP = 256
_log = logging.getLogger("explorer.server")


class WritingConnection(Protocol):
    """An engine's connection for the writer, which alone uses it."""

    def check(self) -> None:
        """Raise what every write is refused with, where nothing can be written."""

    def begin(self) -> SqlTransaction:
        """Begin a transaction that sees every write before it."""

    def mark(self) -> None:
        """Begin a job of the transaction."""

    def undo(self) -> None:
        """Undo the job."""

    def keep(self) -> None:
        """End the job, undone or not."""

    def commit(self, offset: int | None, publish: Callable[[int], bool]) -> None:
        """Commit, and once that is on disk publish the offset at which the log ends, if it grew;
        `publish` tells whether the observer took it."""

    def roll_back(self) -> None:
        """Undo the transaction if there is one. Raises nothing that the engine raises."""

    @property
    def is_lost(self) -> bool:
        """Whether the transaction ended by itself, and with it what its jobs did."""

    def may_repeat(self, error: Exception, attempts: int) -> bool:
        """Whether all of the group is to be done again after so many attempts; may wait before."""

    def fails_all(self, error: Exception) -> bool:
        """Whether no job can be done now, whichever it is."""

    def as_fault(self, error: Exception) -> Exception:
        """What an error, of a job or of the engine, is to whoever queued the job."""

    def close(self) -> None:
        """Let the connection go."""


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

    def __init__(self, connection: WritingConnection) -> None:
        self._connection = connection
        self._group: list[_Queued] = []
        self.has_died = False
        self.observer: Observer | None = None
        self._queue: SimpleQueue[_Queued | None] = SimpleQueue()
        self._closing = False
        self._gate = threading.Lock()
        self._thread = threading.Thread(target=self._serve, name="catalog-writer", daemon=True)
        self._thread.start()

    def observe(self, observer: Observer) -> None:
        """Name who prepares and publishes what is derived from each commit."""
        if self.observer is not None:
            raise Misuse("another application serves this store already; open one for each of them")
        self.observer = observer

    def queue(self, job: Job[T]) -> Future[T]:
        """Queue a job. Raises `Unusable` when the database is damaged, and `ServerFault` when the
        writer has died or the store is closing."""
        self._connection.check()
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

    def _commit(self, group: list[_Queued], attempts: int = 1) -> None:
        connection = self._connection
        try:
            connection.check()
            self._transact(group)
        except Exception as error:  # noqa: BLE001 - whatever a job did, the writer must live on
            connection.roll_back()
            cause = error.__cause__ if isinstance(error, _Lost) else error
            reason = cause if isinstance(cause, Exception) else error
            if connection.may_repeat(reason, attempts):
                self._commit(group, attempts + 1)
                return
            fault = connection.as_fault(reason)
            if len(group) > 1 and not connection.fails_all(reason):
                # One job may be to blame; alone, each gets its own commit and its own error.
                for queued in group:
                    self._commit([queued])
                return
            for queued in group:
                queued.error = queued.error or fault
        for queued in group:
            queued.settle()

    def _transact(self, group: list[_Queued]) -> None:
        """Run, commit and publish the jobs."""
        connection = self._connection
        transaction = connection.begin()
        changes = TransactionChanges()
        for queued in group:
            queued.error = None
            transaction.changes = TransactionChanges()
            connection.mark()
            try:
                queued.result = queued.job(transaction)
                transaction.finish()
            except Exception as error:
                # It belongs to whoever queued the job, unless the transaction went with it.
                queued.error = connection.as_fault(error)
                if connection.is_lost:
                    raise _Lost from error
                connection.undo()
                transaction.forget()
            else:
                changes.add(transaction.changes)
            connection.keep()
        transaction.changes = changes
        if changes and self.observer is not None:
            self.observer.prepare(transaction)
        transaction.finish()
        connection.commit(transaction.log_bounds().head if changes else None, self._publish)

    def _publish(self, offset: int) -> bool:
        """Have the observer publish a commit; whether it did."""
        if self.observer is not None:
            try:
                self.observer.publish(offset)
            except BaseException:  # noqa: BLE001 - the truth is on disk; the rest is tried again
                _log.exception("the search index did not take a change; it is tried again")
                return False
        return True


def _died() -> ServerFault:
    return ServerFault("the catalog's writer failed; the service has to be started again")
