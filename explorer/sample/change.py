"""One written aspect of the sample, before it becomes a proposal; and the stamps inside it."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from explorer.metadata import Urn

__all__ = ["Change", "Changes", "audit_stamp", "user"]


class Change(NamedTuple):
    """An aspect's value, and who wrote it where that was a person."""

    urn: Urn
    aspect: str
    value: dict[str, Any]
    actor: str | None = None


Changes = Iterator[Change]


def user(username: str) -> str:
    """The URN of a user, as text."""
    return f"urn:li:corpuser:{username}"


def audit_stamp(time_millis: int, actor: str) -> dict[str, Any]:
    """An audit stamp; `actor` is the URN of a user."""
    return {"time": time_millis, "actor": actor}
