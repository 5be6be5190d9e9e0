"""Moments as the wire has them, milliseconds since 1970, and as dates."""

from datetime import UTC, datetime, timedelta

__all__ = ["moment_of"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def moment_of(millis: int) -> datetime | None:
    """The aware UTC moment; nothing where the calendar ends before it, years 1 to 9999."""
    try:
        return _EPOCH + timedelta(milliseconds=millis)
    except OverflowError:
        return None
