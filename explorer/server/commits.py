"""What goes through the writer, seen from outside: how much, how fast, and who wants to know.

It stands between the store and whatever is derived from it, so it is the same for every engine.
"""

import threading
from bisect import bisect_left
from collections.abc import Callable
from concurrent.futures import Future
from time import perf_counter
from typing import TypeVar

from explorer.server.store import Job, Observer, Transaction

__all__ = ["COMMIT_SECONDS", "GROUP_JOBS", "Commits", "Histogram"]

T = TypeVar("T")

COMMIT_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)
GROUP_JOBS = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0)


class Histogram:
    """How often a measure fell below each of some bounds. One thread at a time may observe."""

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def observe(self, measure: float) -> None:
        """Count one measure."""
        self.counts[bisect_left(self.bounds, measure)] += 1
        self.total += measure


class Commits:
    """Hands each commit on to what derives something from it, then tells those who follow.

    `listeners` are called in the writer's thread with the log's last offset; they must be quick
    and raise nothing.
    """

    def __init__(self, derived: Observer) -> None:
        self._derived = derived
        self._lock = threading.Lock()
        self._prepared_at = 0.0
        self._jobs_in_group = 0
        self._transaction: Transaction | None = None
        self.waiting = 0
        self.seconds = Histogram(COMMIT_SECONDS)
        self.group_jobs = Histogram(GROUP_JOBS)
        self.listeners: list[Callable[[int], None]] = []

    def counted(self, job: Job[T], queue: Callable[[Job[T]], Future[T]]) -> Future[T]:
        """Queue a job, and count it until it is settled."""

        def run(transaction: Transaction) -> T:
            if transaction is not self._transaction:
                self._transaction, self._jobs_in_group = transaction, 0
            self._jobs_in_group += 1
            return job(transaction)

        with self._lock:
            self.waiting += 1
        try:
            future = queue(run)
        except BaseException:
            self._settled()
            raise
        future.add_done_callback(self._settled)
        return future

    def prepare(self, transaction: Transaction) -> None:
        """Called inside the transaction, before the commit."""
        self._derived.prepare(transaction)
        self._prepared_at = perf_counter()

    def publish(self, offset: int) -> None:
        """Called after the commit. Who follows is told also when the derived part failed."""
        self.seconds.observe(perf_counter() - self._prepared_at)
        self.group_jobs.observe(self._jobs_in_group)
        self._transaction = None
        try:
            self._derived.publish(offset)
        finally:
            for listener in tuple(self.listeners):
                listener(offset)

    def _settled(self, _: object = None) -> None:
        with self._lock:
            self.waiting -= 1
