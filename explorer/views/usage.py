"""How often a dataset, chart or dashboard was used: by day, user, column and query."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from typing import TYPE_CHECKING

from explorer.metadata.aspects import Camel, FieldUsage, moment_of
from explorer.metadata.fieldpath import FieldPath
from explorer.metadata.urn import Urn
from explorer.views.chart import on_calendar
from explorer.views.history import name_of
from explorer.views.table import Row, Table

if TYPE_CHECKING:
    from explorer.client.records import Timeseries

__all__ = ["Usage", "UsageDay", "usage_by_day_table", "usage_of", "usage_table"]


class _UserCount(Camel, frozen=True):
    """How often one user used it; charts and dashboards count views."""

    user: str = ""
    user_email: str | None = None
    count: int | None = None
    views_count: int | None = None


class _Window(Camel, frozen=True):
    """The usage in one window of time, of a dataset, chart or dashboard."""

    timestamp_millis: int = 0
    unique_user_count: int | None = None
    total_sql_queries: int | None = None
    views_count: int | None = None
    user_counts: tuple[_UserCount, ...] = ()
    field_counts: tuple[FieldUsage, ...] = ()
    top_sql_queries: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class UsageDay:
    """A measured day, in UTC. `users` is the smallest number of users there can have been."""

    day: date
    count: int
    users: int | None

    @property
    def at(self) -> datetime:
        """Return the day's first moment, in UTC."""
        return datetime.combine(self.day, time(), UTC)


@dataclass(frozen=True, slots=True)
class Usage:
    """The usage in a period, added up.

    `measure` is what was counted: "queries" of a dataset, "views" of a chart or dashboard. `days`
    are those that were measured, oldest first. The others are pairs, highest count first: a user's
    URN or a column's path with its uses, a query's text with the number of days on which it was
    among the most frequent. `limit` is set where the server stopped at that many points.
    """

    measure: str
    days: tuple[UsageDay, ...]
    users: tuple[tuple[str, int], ...]
    columns: tuple[tuple[str, int], ...]
    queries: tuple[tuple[str, int], ...]
    limit: int | None

    @property
    def total(self) -> int:
        """Return the sum of all days."""
        return sum(day.count for day in self.days)


def usage_of(series: "Timeseries") -> Usage:
    """Return the usage in a series of usage statistics."""
    counts: Counter[date] = Counter()
    told: dict[date, int] = {}
    named: dict[date, set[str]] = {}
    users: Counter[str] = Counter()
    columns: Counter[str] = Counter()
    asked: dict[str, set[date]] = {}
    for window in series.records(_Window):
        at = moment_of(window.timestamp_millis)
        if at is None or not on_calendar(at):
            continue
        day = at.date()
        told_count = window.total_sql_queries
        counts[day] += (window.views_count if told_count is None else told_count) or 0
        if window.unique_user_count is not None:
            told[day] = max(told.get(day, 0), window.unique_user_count)
        names = named.setdefault(day, set())
        for one in window.user_counts:
            user = one.user or one.user_email or ""
            names.add(user)
            users[user] += (one.views_count if one.count is None else one.count) or 0
        for used in window.field_counts:
            columns[used.field_path] += used.count
        for query in window.top_sql_queries:
            asked.setdefault(query, set()).add(day)
    days = tuple(
        UsageDay(day, counts[day], max(told.get(day, 0), len(named[day])) or told.get(day))
        for day in sorted(counts)
    )
    return Usage(
        "queries" if series.aspect.startswith("dataset") else "views",
        days,
        _ranked(users),
        _ranked(columns),
        _ranked(Counter({query: len(seen) for query, seen in asked.items()})),
        series.limit if series.truncated else None,
    )


def _ranked(counted: Counter[str]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(counted.items(), key=lambda one: (-one[1], one[0])))


def usage_table(name: str, use: Usage, names: Mapping[Urn, str]) -> Table:
    """Return what was used, by whom, with which queries: each with how often, and a query with the
    number of days on which it was among the most frequent."""

    def found() -> Iterator[Row]:
        for path, count in use.columns:
            yield "column", path, FieldPath(path).simple, count, None
        for user, count in use.users:
            yield "user", user, name_of(user, names), count, None
        for query, days in use.queries:
            yield "query", query, None, None, days

    columns = ("kind", "value", "name", use.measure, "days_among_top")
    return Table.of(f"{name} usage", columns, list(found()))


def usage_by_day_table(name: str, use: Usage) -> Table:
    """Return the use by day of UTC, the newest first."""
    rows: list[Row] = [(day.day.isoformat(), day.count, day.users) for day in reversed(use.days)]
    return Table.of(f"{name} usage by day", ("day", use.measure, "users"), rows)
