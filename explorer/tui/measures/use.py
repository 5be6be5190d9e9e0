"""What was measured of the use of a dataset, chart or dashboard, added up by day and by what."""

from collections import Counter
from dataclasses import dataclass
from datetime import MAXYEAR, MINYEAR, UTC, date, datetime, time
from typing import TYPE_CHECKING

from explorer.metadata.aspects import FieldUsage
from explorer.metadata.aspects.moment import moment_of
from explorer.metadata.aspects.record import Camel

if TYPE_CHECKING:
    from explorer.client.records import Timeseries

__all__ = ["Day", "Use", "read_use"]


class _UserCount(Camel, frozen=True):
    """How often somebody used it; charts and dashboards count views."""

    user: str = ""
    count: int | None = None
    views_count: int | None = None


class _Window(Camel, frozen=True):
    """The use in one window of time, of whichever kind of thing."""

    timestamp_millis: int = 0
    unique_user_count: int | None = None
    total_sql_queries: int | None = None
    views_count: int | None = None
    user_counts: tuple[_UserCount, ...] = ()
    field_counts: tuple[FieldUsage, ...] = ()
    top_sql_queries: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Day:
    """A day of UTC that was measured. `users` is how many there were, at least."""

    day: date
    count: int
    users: int | None

    @property
    def at(self) -> datetime:
        """Its first moment."""
        return datetime.combine(self.day, time(), UTC)


@dataclass(frozen=True, slots=True)
class Use:
    """The use in a time. Days oldest first and only those measured; the rest most used first,
    as (what, how often), queries as (text, on how many days they were among the top)."""

    measure: str
    days: tuple[Day, ...]
    users: tuple[tuple[str, int], ...]
    columns: tuple[tuple[str, int], ...]
    queries: tuple[tuple[str, int], ...]
    limit: int | None

    @property
    def total(self) -> int:
        """How often it was used in all."""
        return sum(day.count for day in self.days)


def read_use(series: "Timeseries") -> Use:
    """The windows of a series added up. `limit` is set where the server stopped there."""
    counts: Counter[date] = Counter()
    told: dict[date, int] = {}
    named: dict[date, set[str]] = {}
    users: Counter[str] = Counter()
    columns: Counter[str] = Counter()
    asked: dict[str, set[date]] = {}
    for window in series.records(_Window):
        at = moment_of(window.timestamp_millis)
        if at is None or at.year in (MINYEAR, MAXYEAR):
            # There is no such day in every zone.
            continue
        day = at.date()
        told_count = window.total_sql_queries
        counts[day] += (window.views_count if told_count is None else told_count) or 0
        if window.unique_user_count is not None:
            told[day] = max(told.get(day, 0), window.unique_user_count)
        names = named.setdefault(day, set())
        for one in window.user_counts:
            names.add(one.user)
            users[one.user] += (one.views_count if one.count is None else one.count) or 0
        for used in window.field_counts:
            columns[used.field_path] += used.count
        for query in window.top_sql_queries:
            asked.setdefault(query, set()).add(day)
    days = tuple(
        Day(day, counts[day], max(told.get(day, 0), len(named[day])) or told.get(day))
        for day in sorted(counts)
    )
    return Use(
        "queries" if series.aspect.startswith("dataset") else "views",
        days,
        _ranked(users),
        _ranked(columns),
        _ranked(Counter({query: len(seen) for query, seen in asked.items()})),
        series.limit if series.truncated else None,
    )


def _ranked(counted: Counter[str]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(counted.items(), key=lambda one: (-one[1], one[0])))
