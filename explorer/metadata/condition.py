"""Conditions of a write: it is done only while what it was made from still stands."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from explorer.errors import InvalidInput

__all__ = ["CONDITION_HEADERS", "Condition", "read_condition"]

CONDITION_HEADERS = (
    "If-Version-Match",
    "If-Modified-Since",
    "If-Unmodified-Since",
    "If-None-Match",
)
"""The headers that say a condition, on a proposal or on the request that carries one."""


@dataclass(frozen=True, slots=True)
class Condition:
    """What must hold of the stored aspect.

    `version` is the one its system metadata names, -1 for an aspect that is not there. `none` asks
    that what is to be created is not there yet.
    """

    version: int | None = None
    modified_since_millis: int | None = None
    unmodified_since_millis: int | None = None
    none: bool = False


def read_condition(headers: Mapping[str, Any]) -> Condition | None:
    """The condition that headers say, whatever the case of their names; None where they say none.

    Raises `InvalidInput` for one that cannot be read.
    """
    given = {str(name).lower(): value for name, value in headers.items() if value is not None}
    version, modified, unmodified, none = (given.get(name.lower()) for name in CONDITION_HEADERS)
    if version is None and modified is None and unmodified is None and none is None:
        return None
    if none is not None and none != "*":
        raise InvalidInput(f"If-None-Match takes * only, not {none!r:.60}")
    return Condition(
        None if version is None else _version(version),
        None if modified is None else _millis("If-Modified-Since", modified),
        None if unmodified is None else _millis("If-Unmodified-Since", unmodified),
        none is not None,
    )


def _version(given: Any) -> int:
    text = given.strip() if isinstance(given, str) else given
    try:
        if isinstance(text, int | str) and not isinstance(text, bool) and len(str(text)) < 20:
            return int(text)
    except ValueError:
        pass
    raise InvalidInput(
        f"If-Version-Match is the version of an aspect's systemMetadata, or -1; not {given!r:.60}"
    )


def _millis(name: str, given: Any) -> int:
    """Milliseconds since 1970 of an ISO 8601 time, or of the form that HTTP dates have; a time
    without a zone is UTC."""
    if isinstance(given, str):
        for read in (datetime.fromisoformat, parsedate_to_datetime):
            try:
                at = read(given.strip())
                zoned = at if at.tzinfo else at.replace(tzinfo=UTC)
                return int(zoned.timestamp() * 1000)
            except (ValueError, OverflowError):
                continue
    raise InvalidInput(
        f"{name} is a time as ISO 8601 has it, 2024-05-01T12:00:00Z; not {given!r:.60}"
    )
