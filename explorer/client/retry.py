"""How often, and for how long, a request is tried."""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from explorer.errors import InvalidInput

__all__ = ["Retry", "asked_pause_seconds"]

_FARTHEST_SECONDS = 86_400.0


@dataclass(frozen=True, slots=True)
class Retry:
    """A request is sent `tries` times at most, and never after `total_seconds`.

    The pause between two tries begins at `first_pause_seconds` and doubles; up to half of it is
    left to chance, so that many clients do not come back at once. A server that names a pause is
    given that one, or is not asked again when it is longer than what is left.
    """

    tries: int = 5
    total_seconds: float = 30.0
    first_pause_seconds: float = 0.1

    def __post_init__(self) -> None:
        if self.tries < 1 or self.total_seconds <= 0 or self.first_pause_seconds < 0:
            raise InvalidInput(
                "a retry policy has at least one try, a total above 0 seconds and no negative pause"
            )

    def pause_seconds(self, tried: int, asked: float | None = None) -> float:
        """How long to wait after `tried` tries; `asked` is what the server wants at least."""
        pause = self.first_pause_seconds * 2.0 ** (tried - 1)
        # Chance, not secrecy.
        pause *= random.uniform(0.5, 1.0)  # noqa: S311 - no secret
        return pause if asked is None else max(pause, asked)


def asked_pause_seconds(headers: Mapping[str, str]) -> float | None:
    """What `Retry-After` asks for, in seconds or until a date; None where it says nothing.

    A date that has passed is 0, anything beyond a day is a day.
    """
    text = headers.get("retry-after", "").strip()
    if not text:
        return None
    if text.isascii() and text.isdecimal():
        return min(float(text[:12]), _FARTHEST_SECONDS)
    # Hardly any server names a date, and what reads one is large.
    from email.utils import parsedate_to_datetime

    try:
        until = parsedate_to_datetime(text)
    except ValueError:
        return None
    if until.tzinfo is None:
        until = until.replace(tzinfo=UTC)
    left = (until - datetime.now(UTC)).total_seconds()
    return min(max(left, 0.0), _FARTHEST_SECONDS)
