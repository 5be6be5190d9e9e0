"""The days that are named on an axis of time."""

from collections.abc import Iterator
from datetime import datetime, timedelta

__all__ = ["days_named"]

_DAY = timedelta(days=1)
_HOURS = (1, 2, 3, 6, 12)
_MANY_DAYS = 4_000
_FEW_DAYS = 2


def days_named(first: datetime, last: datetime, most: int) -> Iterator[tuple[datetime, str]]:
    """At most about `most` moments on the calendar's own boundaries between two, and their names:
    hours, days, Mondays, months or years. Moments have no zone, or one and the same."""
    midnight = first.replace(hour=0, minute=0, second=0, microsecond=0)
    days = (last - midnight).days + 1
    if days <= _FEW_DAYS:
        yield from _hours(midnight, first, last, most)
        return
    if days > _MANY_DAYS:
        years = range(first.year + 1, last.year + 1)
        for year in years[:: max(1, -(-len(years) // most))]:
            yield datetime(year, 1, 1, tzinfo=first.tzinfo), f"{year}"
        return
    every = [midnight + _DAY * at for at in range(days)]
    every = [day for day in every if first <= day <= last]
    mondays = [day for day in every if day.weekday() == 0]
    months = [day for day in every if day.day == 1]
    if len(every) <= most:
        chosen, form = every, ""
    elif len(mondays) <= most * 2:
        chosen, form = mondays, ""
    elif len(months) <= most * 3:
        chosen, form = months, "%b %Y"
    else:
        chosen, form = [day for day in months if day.month == 1], "%Y"
    for day in chosen[:: max(1, -(-len(chosen) // most))]:
        yield day, f"{day:{form}}" if form else f"{day:%b} {day.day}"


def _hours(
    midnight: datetime, first: datetime, last: datetime, most: int
) -> Iterator[tuple[datetime, str]]:
    if first == last:
        yield first, f"{first:%b} {first.day}, {first:%H:%M}"
        return
    hours = (last - first) / timedelta(hours=1)
    step = timedelta(hours=next((one for one in _HOURS if hours / one <= most), 24))
    at = midnight
    while at <= last:
        if at >= first:
            yield at, f"{at:%b} {at.day}" if at.hour == 0 else f"{at:%H:%M}"
        at += step
