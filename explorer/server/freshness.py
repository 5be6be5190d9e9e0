"""The age of the search index, as it counts for one request.

If several services share a store, each has its own index, which follows the change log. A service
that cannot reach the database, or whose process was paused, does not know what others have written
since. Its search results then carry their age in the header `x-catalog-age-seconds`; a caller who
knows of a later change gets an error instead.
"""

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from explorer.errors import Busy

__all__ = ["AGE", "FRESH_SECONDS", "Behind", "Freshness"]

AGE = b"x-catalog-age-seconds"
"""The header with the age of the search results in an answer: the seconds since the index was last
known to be complete."""

FRESH_SECONDS = 5.0
"""An index that was known to be complete within this time counts as up to date. A service is
notified of changes at once, and also polls every 2 seconds."""

_RETRY_AFTER_SECONDS = 1.0


class Behind(Busy):
    """The search index lacks a change that the caller knows of; the caller should retry."""


class Freshness:
    """What one request requires of the search index, and the age of what it read. Thread-safe.

    `needed` is the offset of the change log that the caller knows of.
    """

    __slots__ = ("_as_of", "needed")

    def __init__(self) -> None:
        self.needed = 0
        self._as_of = math.inf

    @staticmethod
    def current() -> "Freshness | None":
        """Return the `Freshness` of the current request, or `None` outside of a request."""
        return _current.get()

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Make this the current `Freshness` within a context."""
        token = _current.set(self)
        try:
            yield
        finally:
            _current.reset(token)

    def note(self, followed: int, lag_seconds: float) -> None:
        """Record a read of the index, which is complete up to the offset `followed`.

        `lag_seconds` is the time since the index was last known to be complete. Raises `Behind` if
        the caller knows of a later change, or if the index was never known to be complete.
        """
        if followed < self.needed:
            raise Behind(
                f"the search index of this server has the changes up to offset {followed}, and "
                f"the request asks for those up to {self.needed}; try again in a moment",
                retry_after_seconds=_RETRY_AFTER_SECONDS,
            )
        if lag_seconds == math.inf:
            raise Behind(
                "the search index of this server has not been compared with the database yet; "
                "try again in a moment",
                retry_after_seconds=_RETRY_AFTER_SECONDS,
            )
        self._as_of = min(self._as_of, time.monotonic() - lag_seconds)

    def age_seconds(self) -> int | None:
        """Return the age of what was read of the index, or `None` if it is fresh or was not read.

        Call it when the response is sent, because the process may have been paused since the read.
        """
        age = time.monotonic() - self._as_of
        return math.ceil(age) if age > FRESH_SECONDS else None


_current: ContextVar[Freshness | None] = ContextVar("freshness", default=None)
