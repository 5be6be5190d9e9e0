"""Dates as people type them, and the milliseconds since 1970 that a server compares."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

__all__ = ["Span", "read_moment", "spell_moment"]

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)
_DAY_MILLIS: Final = 86_400_000
_DAYS = re.compile(r"(\d{4})(?:-(\d\d)(?:-(\d\d))?)?", re.ASCII)
_INSTANT = re.compile(
    r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?(?:[Zz]|[+-]\d\d:?\d\d)?", re.ASCII
)


@dataclass(frozen=True, slots=True)
class Span:
    """From the first to the last millisecond that a text stands for; an instant has one."""

    start_millis: int
    end_millis: int

    @property
    def is_instant(self) -> bool:
        """Whether it is one point in time, not a day or a month."""
        return self.start_millis == self.end_millis


def read_moment(text: str) -> Span | None:
    """The span of `2026`, `2026-01`, `2026-01-31` or `2026-01-31T10:00[:00[.000]][Z|+01:00]`;
    UTC where no offset is said. Nothing for what is no date."""
    try:
        if found := _DAYS.fullmatch(text):
            year, month, day = (int(part) if part else 0 for part in found.groups())
            last_month = month or 12
            last_day = day or _days_of(year, last_month)
            first = _millis(datetime(year, month or 1, day or 1, tzinfo=UTC))
            last = _millis(datetime(year, last_month, last_day, tzinfo=UTC))
            return Span(first, last + _DAY_MILLIS - 1)
        if _INSTANT.fullmatch(text):
            moment = datetime.fromisoformat(text)
            at = _millis(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
            return Span(at, at)
    except ValueError:
        return None
    return None


def _days_of(year: int, month: int) -> int:
    # Hardly anybody asks for a month, and what knows its days takes a while to be there.
    from calendar import monthrange

    return monthrange(year, month)[1]


def spell_moment(millis: int) -> tuple[str, ...]:
    """The texts that may stand for a point in time, the shortest first; none beyond the years
    1 to 9999."""
    try:
        moment = _EPOCH + timedelta(milliseconds=millis)
    except OverflowError:
        return ()
    plain = moment.replace(tzinfo=None)
    unit = "milliseconds" if millis % 1000 else "seconds"
    return (f"{plain.date()}", f"{plain.isoformat(timespec=unit)}Z")


def _millis(moment: datetime) -> int:
    return (moment - _EPOCH) // _MILLISECOND
