"""Following the change log as it grows: many readers, woken by commits, none buffered for.

A follower's backlog is the log itself. One that is slow is simply behind, and one that takes
nothing any more is let go.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from typing import Self

from explorer.server.commits import Commits
from explorer.server.store import LogEntry, Store

__all__ = ["Feed", "Follower"]

_TAIL_ENTRIES = 512
_TAIL_BYTES = 8 * 1024 * 1024


class Follower:
    """One who waits for the log to grow, in the event loop that made it."""

    __slots__ = ("_event", "_feed", "_is_told", "_loop", "at", "is_over")

    def __init__(self, feed: "Feed", after: int) -> None:
        self._feed = feed
        # How far it has read; what comes after it is kept for it.
        self.at = after
        self._loop = asyncio.get_running_loop()
        self._event = asyncio.Event()
        self._is_told = False
        self.is_over = False

    def __enter__(self) -> Self:
        self._feed.followers.add(self)
        if self._feed.is_over:
            self.end()
        return self

    def __exit__(self, *_: object) -> None:
        self._feed.followers.discard(self)

    async def news(self, timeout_seconds: float) -> bool:
        """Wait until something was committed since the last call, or it is over; false when
        nothing was in that time."""
        try:
            async with asyncio.timeout(timeout_seconds):
                await self._event.wait()
        except TimeoutError:
            return False
        self._event.clear()
        self._is_told = False
        return True

    def end(self) -> None:
        """Nothing more is to come; called in the follower's own loop."""
        self.is_over = True
        self._event.set()

    def tell(self) -> None:
        """Wake it up. Any thread may call; told twice is told once."""
        if self._is_told:
            return
        self._is_told = True
        self._in_loop(self._event.set)

    def end_soon(self) -> None:
        """As `end`, from any thread."""
        self._in_loop(self.end)

    def _in_loop(self, work: Callable[[], object]) -> None:
        try:
            self._loop.call_soon_threadsafe(work)
        except RuntimeError:
            # Its loop is closed, and it with it.
            self._feed.followers.discard(self)


class Feed:
    """The end of the change log, read once a commit for everybody who follows it."""

    def __init__(self, store: Store, commits: Commits) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._tail: deque[LogEntry] = deque()
        self._tail_bytes = 0
        self._told = 0
        self.followers: set[Follower] = set()
        self.is_over = False
        commits.listeners.append(self._tell)

    def follow(self, after: int) -> Follower:
        """A follower for the length of a `with`, that has read the log up to an offset."""
        return Follower(self, after)

    def read(self, after: int, limit: int) -> list[LogEntry]:
        """Rows of the log after an offset, as `Store.log`; the newest come from memory."""
        with self._lock:
            # One who begins past the tail's end would wait for others to read up to there.
            if self._tail and self._tail[0].offset - 1 <= after <= self._tail[-1].offset:
                if self._tail[-1].offset < self._told:
                    self._extend(self._tail[-1].offset, limit)
            else:
                head = self._store.log_head()
                if after < head - limit:
                    return self._store.log(after, limit)
                self._tail.clear()
                self._tail_bytes = 0
                self._extend(after, limit)
            # Cut from the front it may have lost what was asked for, when entries are large.
            if self._tail and after < self._tail[0].offset - 1:
                return self._store.log(after, limit)
            found = [entry for entry in self._tail if entry.offset > after]
        return found[:limit]

    def end(self) -> None:
        """Send every follower away; called when the service stops."""
        self.is_over = True
        for follower in tuple(self.followers):
            follower.end_soon()

    def _extend(self, after: int, limit: int) -> None:
        for entry in self._store.log(after, limit):
            self._tail.append(entry)
            self._tail_bytes += _weight(entry)
        while self._tail and (len(self._tail) > _TAIL_ENTRIES or self._tail_bytes > _TAIL_BYTES):
            self._tail_bytes -= _weight(self._tail.popleft())

    def _tell(self, offset: int) -> None:
        self._told = offset
        for follower in tuple(self.followers):
            follower.tell()


def _weight(entry: LogEntry) -> int:
    return len(entry.value or b"") + len(entry.previous or b"") + len(entry.system)
