"""Moments on the screen: in the zone of this machine, or in UTC, the same on every screen."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from explorer.client.display import moment

if TYPE_CHECKING:
    from explorer.metadata.aspects import AuditStamp

__all__ = ["Times"]

_DAY = len("2026-01-31")


class Times:
    """Says moments in the zone that the reader chose."""

    def __init__(self) -> None:
        self.utc = False

    def turn(self) -> None:
        """To UTC, or back to the zone of this machine."""
        self.utc = not self.utc

    @property
    def zone(self) -> str:
        """The zone in words."""
        return "UTC" if self.utc else "the zone of this machine"

    def said(self, millis: int) -> str:
        """A moment given in milliseconds; in UTC that is said with it."""
        return moment(millis, utc=self.utc)

    def clock(self, at: datetime) -> str:
        """The time of day of a moment, with its seconds."""
        return f"{at.astimezone(UTC):%H:%M:%S} UTC" if self.utc else f"{at.astimezone():%H:%M:%S}"

    def day(self, millis: int) -> str:
        """The day of a moment."""
        told = moment(millis, utc=self.utc)
        return told[:_DAY] if told[:1].isdigit() else told

    def day_of(self, at: datetime) -> str:
        """The day of a moment given as a datetime."""
        return self.day(round(at.timestamp() * 1000))

    def when(self, stamp: "AuditStamp | None") -> str:
        """The moment of an audit stamp."""
        return self.said(stamp.time) if stamp and stamp.time > 0 else "time not known"
