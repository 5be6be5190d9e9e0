"""The sample's clock: days counted back from the one day it is made for."""

from dataclasses import dataclass
from datetime import date, timedelta

__all__ = ["DAY_MILLIS", "HISTORY_DAYS", "Days"]

DAY_MILLIS = 86_400_000
_EPOCH = date(1970, 1, 1).toordinal()

HISTORY_DAYS = 30
"""How many days of usage and profiles there are, the last one included."""


@dataclass(frozen=True, slots=True)
class Days:
    """Days before `today`, in UTC. Nothing in the sample is later than `today`'s first moment."""

    today: date

    def on(self, ago: int) -> date:
        """The day that many days before today."""
        return self.today - timedelta(days=ago)

    def millis(self, ago: int = 0) -> int:
        """The first moment of that day, in milliseconds since 1970."""
        return (self.today.toordinal() - _EPOCH - ago) * DAY_MILLIS

    def history(self) -> range:
        """The days of the history as days ago, oldest first: 29 … 0."""
        return range(HISTORY_DAYS - 1, -1, -1)
