"""The change log as it grows: metrics of commits, and followers that are woken by them.

A follower that is slow reads what it missed from the log itself: nothing is buffered for it, and
one that stops reading is disconnected. Commits are measured between the store and the data derived
from it, so the metrics are the same for every storage engine.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from time import perf_counter
from typing import Self, TypeVar

from prometheus_client import Histogram

from explorer.server.store import Job, LogEntry, Observer, Store, Transaction

T = TypeVar("T")

_COMMIT_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)
_GROUP_JOBS = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0)


class Commits:
    """The observer of the store. It passes each commit to the observer `derived`, and then calls
    the `listeners` with the last offset of the change log.

    Listeners are called in the thread of the writer, or in the one that follows what other services
    write. They must be fast and must not raise.
    """

    def __init__(self, store: Store, derived: Observer) -> None:
        self._store = store
        self._derived = derived
        self._lock = threading.Lock()
        self._prepared_at = 0.0
        self._jobs_in_group = 0
        self._transaction: Transaction | None = None
        self.waiting = 0
        self.seconds = Histogram(
            "catalog_commit_seconds",
            "Duration of commits, in seconds.",
            registry=None,
            buckets=_COMMIT_SECONDS,
        )
        self.group_jobs = Histogram(
            "catalog_commit_jobs",
            "Number of writes in one commit.",
            registry=None,
            buckets=_GROUP_JOBS,
        )
        self.listeners: list[Callable[[int], None]] = []
        store.observe(self)

    def write(self, job: Job[T]) -> Future[T]:
        """Queue a job as `Store.write` does, and count it as waiting until its future is
        resolved."""

        def run(transaction: Transaction) -> T:
            if transaction is not self._transaction:
                self._transaction, self._jobs_in_group = transaction, 0
            self._jobs_in_group += 1
            return job(transaction)

        with self._lock:
            self.waiting += 1
        try:
            future = self._store.write(run)
        except BaseException:
            self._settle()
            raise
        future.add_done_callback(self._settle)
        return future

    def prepare(self, transaction: Transaction) -> None:
        """Prepare the derived data; called inside the transaction, before the commit."""
        self._derived.prepare(transaction)
        self._prepared_at = perf_counter()

    def follow(self, offset: int) -> None:
        """Update the derived data; called when other services have written up to an offset.

        The listeners are called even if that fails.
        """
        try:
            self._derived.follow(offset)
        finally:
            self._announce(offset)

    def publish(self, offset: int) -> None:
        """Publish the derived data and measure the commit; called after the commit.

        The listeners are called even if publishing fails.
        """
        self.seconds.observe(perf_counter() - self._prepared_at)
        self.group_jobs.observe(self._jobs_in_group)
        self._transaction = None
        try:
            self._derived.publish(offset)
        finally:
            self._announce(offset)

    def _announce(self, offset: int) -> None:
        for listener in tuple(self.listeners):
            listener(offset)

    def _settle(self, _: object = None) -> None:
        with self._lock:
            self.waiting -= 1


_TAIL_ENTRIES = 512
_TAIL_BYTES = 8 * 1024 * 1024


class Follower:
    """A context manager that waits for the change log to grow, in the event loop in which it was
    created."""

    __slots__ = ("_event", "_feed", "_is_woken", "_loop", "at", "is_over")

    def __init__(self, feed: "Feed", after: int) -> None:
        self._feed = feed
        # The offset up to which this follower has read; rows after it are kept.
        self.at = after
        self._loop = asyncio.get_running_loop()
        self._event = asyncio.Event()
        self._is_woken = False
        self.is_over = False

    def __enter__(self) -> Self:
        self._feed.followers.add(self)
        if self._feed.is_over:
            self.end()
        return self

    def __exit__(self, *_: object) -> None:
        self._feed.followers.discard(self)

    async def news(self, timeout_seconds: float) -> bool:
        """Wait until something has been committed since the last call, or the follower is ended.

        Return false if neither happens within `timeout_seconds`.
        """
        try:
            async with asyncio.timeout(timeout_seconds):
                await self._event.wait()
        except TimeoutError:
            return False
        self._event.clear()
        self._is_woken = False
        return True

    def end(self) -> None:
        """End the follower; must be called in its own event loop."""
        self.is_over = True
        self._event.set()

    def wake(self) -> None:
        """Make `news` return. Any thread may call this; several calls before `news` returns count
        as one."""
        if self._is_woken:
            return
        self._is_woken = True
        self._in_loop(self._event.set)

    def end_soon(self) -> None:
        """End the follower, from any thread."""
        self._in_loop(self.end)

    def _in_loop(self, work: Callable[[], object]) -> None:
        try:
            self._loop.call_soon_threadsafe(work)
        except RuntimeError:
            # The event loop is closed, so nobody uses the follower any more.
            self._feed.followers.discard(self)


class Feed:
    """The newest rows of the change log, read once per commit for all followers.

    With eight followers, a bulk load takes a tenth less processor time than if each read the log.
    """

    def __init__(self, store: Store, commits: Commits) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._tail: deque[LogEntry] = deque()
        self._tail_bytes = 0
        self._head = 0
        self.followers: set[Follower] = set()
        self.is_over = False
        commits.listeners.append(self._wake)

    def follow(self, after: int) -> Follower:
        """Return a follower, to be used in a `with`, that has read the log up to an offset."""
        return Follower(self, after)

    def read(self, after: int, limit: int) -> list[LogEntry]:
        """Return rows of the log after an offset, as `Reader.log` does; the newest are kept in
        memory."""
        with self._lock:
            # A reader past the end of the tail is not served from it, because it would wait until
            # others have read up to there.
            if self._tail and self._tail[0].offset - 1 <= after <= self._tail[-1].offset:
                if self._tail[-1].offset < self._head:
                    self._extend(self._tail[-1].offset, limit)
            else:
                head = self._store.log_bounds().head
                if after < head - limit:
                    return self._store.log(after, limit)
                self._tail.clear()
                self._tail_bytes = 0
                self._extend(after, limit)
            # If the entries are large, the oldest were dropped, perhaps also some that are needed
            # here.
            if self._tail and after < self._tail[0].offset - 1:
                return self._store.log(after, limit)
            entries = [entry for entry in self._tail if entry.offset > after]
        return entries[:limit]

    def end(self) -> None:
        """End all followers; called when the service stops."""
        self.is_over = True
        for follower in tuple(self.followers):
            follower.end_soon()

    def _extend(self, after: int, limit: int) -> None:
        for entry in self._store.log(after, limit):
            self._tail.append(entry)
            self._tail_bytes += _weight(entry)
        while self._tail and (len(self._tail) > _TAIL_ENTRIES or self._tail_bytes > _TAIL_BYTES):
            self._tail_bytes -= _weight(self._tail.popleft())

    def _wake(self, offset: int) -> None:
        self._head = offset
        for follower in tuple(self.followers):
            follower.wake()


def _weight(entry: LogEntry) -> int:
    return len(entry.value or b"") + len(entry.previous or b"") + len(entry.system)
