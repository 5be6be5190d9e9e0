"""One question and its answer, as somebody who watches is told of it."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

__all__ = ["Exchange", "Watching"]


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request that was sent once, and what became of it.

    `path` is as it was sent, `sized_bytes` the length of the answer's body. Where no answer came
    `status` is None and `failure` says why; for a refusal `failure` holds the server's own words,
    whole. No token is in any of it.
    """

    method: str
    path: str
    began: datetime
    seconds: float
    status: int | None = None
    sized_bytes: int = 0
    failure: str = ""
    writes: bool = False

    @classmethod
    def since(cls, began: datetime, method: str, path: str, *, writes: bool) -> "Exchange":
        """One that ends now, without an answer yet."""
        seconds = (datetime.now(UTC) - began).total_seconds()
        return cls(method, path, began, seconds, writes=writes)


Watching = Callable[[Exchange], None]
"""Is told of every exchange as it ends; returns at once and raises nothing."""
