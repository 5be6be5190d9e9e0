"""Usage by day, user, column and query; profiles of a dataset and its columns over time, and their
changes."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from functools import cached_property, partial
from itertools import pairwise
from operator import attrgetter
from typing import TYPE_CHECKING, Final, Literal, TypeVar, get_args

from explorer.client.display import counted, line, moment
from explorer.errors import UnknownName
from explorer.metadata.aspects import (
    Camel,
    DatasetProfile,
    FieldProfile,
    FieldUsage,
    Summary,
    UsageWindow,
    moment_of,
    read_measurement,
)
from explorer.metadata.fieldpath import FieldPath
from explorer.metadata.measurements import comparable, separate_windows
from explorer.metadata.urn import Urn
from explorer.views.absence import UNKNOWN
from explorer.views.chart import Bar, Bars, Panel, Unit, compact, full_number, on_calendar
from explorer.views.history import name_of
from explorer.views.parts import Fitted, Report, ReportPart, Title
from explorer.views.table import (
    LIST,
    TIME,
    Audience,
    Cell,
    Row,
    Table,
    TableColumn,
    to_objects,
)
from explorer.views.text import TextLine, join_pieces, text_line

if TYPE_CHECKING:
    from explorer.client.records import Timeseries
    from explorer.metadata.aspects import ValueFrequency


class _UserCount(Camel, frozen=True):
    """The number of uses by one user, for charts and dashboards the number of views."""

    user: str = ""
    user_email: str | None = None
    count: int | None = None
    views_count: int | None = None


class _Window(UsageWindow, frozen=True):
    """The usage in one window of time, of a dataset, chart or dashboard."""

    unique_user_count: int | None = None
    total_sql_queries: int | None = None
    views_count: int | None = None
    user_counts: tuple[_UserCount, ...] = ()
    field_counts: tuple[FieldUsage, ...] = ()
    top_sql_queries: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class UsageDay:
    """A day with usage statistics, in UTC. `users` is the minimum number of distinct users."""

    day: date
    count: int
    users: int | None

    @property
    def at(self) -> datetime:
        """The start of the day, in UTC."""
        return datetime.combine(self.day, time(), UTC)


@dataclass(frozen=True, slots=True)
class Usage:
    """The usage in a period, in total.

    `measure` names the counted things: "queries" of a dataset, "views" of a chart or dashboard.
    `days` are the days with statistics, oldest first. The other fields hold pairs, highest count
    first: a user's URN or a column's path with its number of uses, or a query's text with the
    number of days on which it was among the most frequent. `limit` is set if the server stopped at
    that number of points.
    """

    measure: str
    days: tuple[UsageDay, ...]
    users: tuple[tuple[str, int], ...]
    columns: tuple[tuple[str, int], ...]
    queries: tuple[tuple[str, int], ...]
    limit: int | None

    @property
    def total(self) -> int:
        """The total of all days."""
        return sum(day.count for day in self.days)


def usage_of(series: "Timeseries") -> Usage:
    """Return the total usage in a series of usage statistics."""
    counts: Counter[date] = Counter()
    unique_users: dict[date, int] = {}
    users_by_day: dict[date, set[str]] = {}
    users: Counter[str] = Counter()
    columns: Counter[str] = Counter()
    days_by_query: dict[str, set[date]] = {}
    for window in _read_windows(series):
        at = moment_of(window.timestamp_millis)
        if at is None or not on_calendar(at):
            continue
        day = at.date()
        query_count = window.total_sql_queries
        counts[day] += (window.views_count if query_count is None else query_count) or 0
        if window.unique_user_count is not None:
            unique_users[day] = max(unique_users.get(day, 0), window.unique_user_count)
        names = users_by_day.setdefault(day, set())
        for user_count in window.user_counts:
            user = user_count.user or user_count.user_email or ""
            names.add(user)
            users[user] += (
                user_count.views_count if user_count.count is None else user_count.count
            ) or 0
        for used in window.field_counts:
            columns[used.field_path] += used.count
        for query in window.top_sql_queries:
            days_by_query.setdefault(query, set()).add(day)
    days = tuple(
        UsageDay(
            day,
            counts[day],
            max(unique_users.get(day, 0), len(users_by_day[day])) or unique_users.get(day),
        )
        for day in sorted(counts)
    )
    return Usage(
        "queries" if series.aspect.startswith("dataset") else "views",
        days,
        _rank(users),
        _rank(columns),
        _rank(Counter({query: len(days) for query, days in days_by_query.items()})),
        series.limit if series.truncated else None,
    )


def _read_windows(series: "Timeseries") -> list[_Window]:
    """Return the windows that can be added up. For charts and dashboards, points without a
    granularity count all views since creation, so they are left out if there are other points."""
    windows = series.records(_Window)
    if not series.aspect.startswith("dataset"):
        windows = tuple(window for window in windows if window.event_granularity) or windows
    return separate_windows(windows, attrgetter("span"))


def _rank(counted: Counter[str]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(counted.items(), key=lambda pair: (-pair[1], pair[0])))


def usage_panels(
    use: Usage, names: Mapping[Urn, str], columns: Collection[str] = ()
) -> tuple[Bars, ...]:
    """Return bars of the uses of each column and by each user, most used first; without those that
    were not recorded.

    `columns` are the simple paths of all columns; a note says how many of them were used.
    """
    return tuple(bars for bars in (column_bars(use, columns), user_bars(use, names)) if bars.bars)


def column_bars(use: Usage, columns: Collection[str] = ()) -> Bars:
    """Return how often each column was used, highest first; `columns` as for `usage_panels`."""
    used = [(FieldPath(path).simple, path, count) for path, count in use.columns]
    note = f"{len(used):,} used"
    if columns:
        used_names = {name for name, _, _ in used} & set(columns)
        note = f"{len(used_names):,} of {len(columns):,} used"
    bars = tuple(Bar(name, count, key=path) for name, path, count in used)
    return Bars("Columns", bars, note=note, measure="uses")


def user_bars(use: Usage, names: Mapping[Urn, str]) -> Bars:
    """Return the number of uses by each user, highest first."""
    bars = tuple(
        Bar(name_of(user, names) or UNKNOWN.phrase, count, key=user) for user, count in use.users
    )
    return Bars("Users", bars, note=f"{len(bars):,}", measure=use.measure)


def usage_table(name: str, use: Usage, names: Mapping[Urn, str]) -> Table:
    """Return a row for each column, user and frequent query, with its count.

    The count of a query is the number of days on which it was among the most frequent.
    """

    def usage_rows() -> Iterator[Row]:
        for path, count in use.columns:
            yield "column", path, FieldPath(path).simple, count, None
        for user, count in use.users:
            yield "user", user, name_of(user, names), count, None
        for query, days in use.queries:
            yield "query", query, None, None, days

    columns = ("kind", "value", "name", use.measure, "days_among_top")
    return Table.of(f"{name} usage", columns, list(usage_rows()))


def usage_by_day_table(name: str, use: Usage) -> Table:
    """Return the usage by day in UTC, newest first."""
    rows: list[Row] = [(day.day.isoformat(), day.count, day.users) for day in reversed(use.days)]
    return Table.of(f"{name} usage by day", ("day", use.measure, "users"), rows)


Measure = Literal["nulls", "distinct", "min", "max", "mean", "median"]
MEASURES: Final[tuple[Measure, ...]] = get_args(Measure)
"""The measures of a column that can be drawn over time."""

_WEEK = timedelta(days=7)
_STILL = timedelta(days=2)
_POINTS = 0.05
_QUARTER = 0.25
_FEW = 20
_MOST_NAMED = 3
# Longer bars are cut to this length, because one very large change would hide all others.
_LONGEST = 10.0
_T = TypeVar("_T")


class Quantile(Camel, frozen=True):
    """A quantile of a column and its value, both as text in the form that profiling wrote."""

    quantile: str = ""
    value: str = ""


class Histogram(Camel, frozen=True):
    """The number or share of values between each two adjacent boundaries."""

    boundaries: tuple[str, ...] = ()
    heights: tuple[float, ...] = ()


class ColumnMeasures(FieldProfile, frozen=True):
    """The profile of a column."""

    quantiles: tuple[Quantile, ...] | None = None
    histogram: Histogram | None = None

    @property
    def name(self) -> str:
        """The path without types."""
        return FieldPath(self.field_path).simple

    @property
    def frequencies(self) -> "Sequence[ValueFrequency]":
        """The counted values, most frequent first."""
        return sorted(self.distinct_value_frequencies or (), key=lambda entry: -entry.frequency)


class TableMeasures(DatasetProfile, frozen=True):
    """The profile of a table or of a part of it."""

    field_profiles: tuple[ColumnMeasures, ...] | None = None

    @property
    def columns(self) -> dict[str, ColumnMeasures]:
        """The profiled columns by path, in order."""
        return {
            field_profile.field_path: field_profile for field_profile in self.field_profiles or ()
        }


_Profile = TypeVar("_Profile", bound=DatasetProfile)


def comparable_profiles(profiles: Iterable[_Profile]) -> list[_Profile]:
    """Return the profiles that can be compared, oldest first: those of the whole table if there are
    any, else those of samples, or of one partition."""
    listed = sorted(profiles, key=attrgetter("timestamp_millis"))
    return comparable(listed, attrgetter("scope"), attrgetter("part"))


def newest_with_columns(profiles: Iterable[_Profile]) -> _Profile | None:
    """Return the last profile that measured columns, not only rows; `None` if there is none. The
    profiles are given oldest first."""
    newest = None
    for profile in profiles:
        if profile.field_profiles:
            newest = profile
    return newest


def needs_older(latest: "Timeseries") -> bool:
    """Return whether the latest profile, the only one in the series, does not suffice: it measured
    only a part of the table, or no columns. Older profiles then have to be read."""
    profiles = latest.profiles()
    return any(profile.scope != "table" or not profile.field_profiles for profile in profiles)


@dataclass(frozen=True, slots=True)
class Drift:
    """A notable change in words, and the time of the earlier measurement."""

    words: str
    since: datetime


@dataclass(frozen=True)
class ColumnHistory:
    """The profiles of a column, oldest first."""

    path: str
    points: tuple[tuple[datetime, ColumnMeasures], ...]

    @property
    def newest(self) -> ColumnMeasures:
        """The latest profile."""
        return self.points[-1][1]

    @cached_property
    def drift(self) -> Drift | None:
        """The change of nulls and distinct values in the last week, if notable."""
        before = _week_before(self.points)
        if before is None:
            return None
        moves = _of_counts(self.path, before[1], self.newest)
        words = [
            f"{_DRIFT_NAMES[move.measure]} {move.words}" for move in moves if move.is_over_threshold
        ]
        return Drift(", ".join(words), before[0]) if words else None

    def values(self, measure: Measure) -> Iterator[tuple[datetime, float]]:
        """Yield the numeric values of a measure over time; nulls are a share from 0 to 1."""
        for at, measures in self.points:
            value = _number(measures, measure)
            if value is not None:
                yield at, value

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The measures of the column that can be drawn."""
        return tuple(measure for measure in MEASURES if any(True for _ in self.values(measure)))


_DRIFT_NAMES: Final = {"nulls": "nulls", "distinct": "distinct values"}


def _number(measures: ColumnMeasures, measure: Measure) -> float | None:
    if measure == "nulls":
        return measures.null_proportion
    if measure == "distinct":
        return measures.unique_count
    return measures.number(measure)


@dataclass(frozen=True)
class Profiles:
    """The profiles in a period with their times, oldest first.

    These are profiles of the whole table if there are any, else of samples, or of the partition
    measured last; `parts` is the number of other profiles, which are left out. `limit` is set if
    the server stopped at that number of profiles.
    """

    measurements: tuple[tuple[datetime, TableMeasures], ...]
    parts: int = 0
    limit: int | None = None

    @property
    def newest(self) -> TableMeasures | None:
        """The latest profile."""
        return self.measurements[-1][1] if self.measurements else None

    @property
    def caution(self) -> str:
        """Which part of the table was profiled, and how many profiles of other parts were left out,
        in words; empty if all profiles are of the whole table."""
        part = self.newest.part if self.newest else ""
        others = f"{counted(self.parts, 'profile')} of parts left out" if self.parts else ""
        return ", ".join(filter(None, (f"of {part} only" if part else "", others)))

    @property
    def rows(self) -> tuple[tuple[datetime, int], ...]:
        """The number of rows over time, where measured."""
        return tuple(
            (at, measures.row_count)
            for at, measures in self.measurements
            if measures.row_count is not None
        )

    @property
    def drift(self) -> Drift | None:
        """The change of the number of rows in the last week, if notable.

        Also notable: the number has been the same for at least two days, after it used to change.
        """
        if not self.rows:
            return None
        at, newest = self.rows[-1]
        before = _week_before(self.rows)
        if before is not None:
            for move in _relative("", "rows", before[1], newest):
                if move.is_over_threshold:
                    return Drift(f"rows {move.words}", before[0])
        same = at
        for then, count in reversed(self.rows):
            if count != newest:
                return Drift("rows the same", same) if at - same >= _STILL else None
            same = then
        return None

    @cached_property
    def by_path(self) -> dict[str, ColumnHistory]:
        """Every profiled column by path; those of the latest profile first, in its order."""
        measures_by_path: dict[str, list[tuple[datetime, ColumnMeasures]]] = {}
        for at, profile in reversed(self.measurements):
            for field_profile in profile.field_profiles or ():
                measures_by_path.setdefault(field_profile.field_path, []).append(
                    (at, field_profile)
                )
        return {
            path: ColumnHistory(path, tuple(reversed(of))) for path, of in measures_by_path.items()
        }

    @cached_property
    def columns(self) -> tuple[ColumnHistory, ...]:
        """The columns of the latest profile that measured columns, not only rows."""
        newest = newest_with_columns(measures for _, measures in self.measurements)
        return tuple(self.by_path[path] for path in newest.columns) if newest else ()

    def path_of(self, column: str) -> str:
        """Return the path of a column given by path, with or without types.

        Raises `UnknownName` for one that was never profiled.
        """
        if column in self.by_path:
            return column
        names = {FieldPath(path).simple: path for path in reversed(self.by_path)}
        if column not in names:
            raise UnknownName("measured column", column, map(line, names))
        return names[column]


def read_profiles(series: "Timeseries") -> Profiles:
    """Return the profiles of a series, without those with invalid times."""
    records = [(record.at, record) for record in series.records(TableMeasures)]
    dated = [record for at, record in records if at is not None and on_calendar(at)]
    profiles = comparable_profiles(dated)
    measurements = tuple((profile.at, profile) for profile in profiles if profile.at)
    limit = series.limit if series.truncated else None
    return Profiles(measurements, len(dated) - len(profiles), limit)


_LONGEST_BOUNDARY = 14
# Heights that are shares add up to 1, except for their rounding.
_ROUNDED = 0.005


def frequency_bars(measures: ColumnMeasures) -> Bars:
    """Return how often the values of a column occur, most frequent first."""
    counted = measures.frequencies
    bars = tuple(Bar(each.value or "(empty)", each.frequency) for each in counted)
    unique_count = max(measures.unique_count or 0, len(counted))
    more = f" of {unique_count:,}" if unique_count > len(counted) else ""
    return Bars("Values", bars, note=f"{len(counted):,}{more} counted", measure="rows")


def quantile_bars(measures: ColumnMeasures) -> Bars:
    """Return the quantiles of a column that are numbers."""
    numbers = [(each.quantile, read_measurement(each.value)) for each in measures.quantiles or ()]
    bars = [Bar(quantile_name(name), value) for name, value in numbers if value is not None]
    note = "the value below which this share lies"
    return Bars("Quantiles", tuple(bars), note=note, measure="value")


def histogram_bars(measures: ColumnMeasures) -> Bars:
    """Return the number, or share, of a column's values between boundaries."""
    histogram = measures.histogram or Histogram()
    ends = [_short(text) for text in histogram.boundaries]
    names = [f"{low} – {high}" for low, high in pairwise(ends)]
    # Some profilers name as many boundaries as there are bars.
    if len(names) != len(histogram.heights):
        is_named = len(ends) == len(histogram.heights)
        names = ends if is_named else [f"{at}" for at in range(1, len(histogram.heights) + 1)]
    bars = tuple(Bar(name, height) for name, height in zip(names, histogram.heights, strict=True))
    if abs(sum(histogram.heights) - 1) < _ROUNDED:
        note = "share of the values in each range"
        return Bars("Histogram", bars, "share", upright=True, note=note, measure="share")
    note = "values in each range"
    return Bars("Histogram", bars, upright=True, note=note, measure="values")


def column_panels(measures: ColumnMeasures) -> tuple[Panel, ...]:
    """Return the measured panels of a column's values: their frequencies, quantiles and
    histogram."""
    return tuple(
        panel
        for panel in (frequency_bars(measures), quantile_bars(measures), histogram_bars(measures))
        if panel.bars
    )


def quantile_name(quantile: str) -> str:
    """Return a quantile in percent."""
    part = read_measurement(quantile)
    return quantile if part is None else f"{part * 100:g}%"


def _short(text: str) -> str:
    value = read_measurement(text)
    return text[:_LONGEST_BOUNDARY] if value is None else compact(value)


def _week_before(points: Sequence[tuple[datetime, _T]]) -> tuple[datetime, _T] | None:
    """Return the latest point that is at least a week older than the last point; `None` if there is
    none."""
    last = points[-1][0]
    return next((point for point in reversed(points) if last - point[0] >= _WEEK), None)


@dataclass(frozen=True, slots=True)
class Move:
    """A change of one measure of a column, or of the table if `path` is empty.

    `score` is its size relative to the threshold, at least 1 if it `is_over_threshold`. `words` has
    both numbers, or the columns or values added and removed.
    """

    path: str
    measure: str
    before: float | None
    after: float | None
    score: float
    words: str

    @property
    def is_over_threshold(self) -> bool:
        """Whether the change reaches the threshold."""
        return self.score >= 1

    @property
    def change(self) -> float | None:
        """The difference; for shares as a fraction of 1."""
        if self.before is None or self.after is None:
            return None
        return self.after - self.before

    @property
    def relative(self) -> float | None:
        """The change relative to the value before; `None` if that was 0."""
        return self.change / abs(self.before) if self.change is not None and self.before else None

    @property
    def name(self) -> str:
        """The column's path without types, or "the table"."""
        return FieldPath(self.path).simple if self.path else "the table"


def moves_between(before: TableMeasures, after: TableMeasures) -> tuple[Move, ...]:
    """Return all changes between two profiles, including small ones, largest first."""
    moves = [*_of_table(before, after)]
    old, new = before.columns, after.columns
    # A profile without columns does not show which columns exist.
    came_and_went = bool(old and new)
    for path in {**new, **old}:
        if path in old and path in new:
            moves += _of_column(path, old[path], new[path])
        elif came_and_went:
            words = "came" if path in new else "went"
            moves.append(Move(path, "column", None, None, _LONGEST, words))
    return tuple(sorted(moves, key=lambda move: (-move.score, move.path, move.measure)))


def _of_table(old: TableMeasures, new: TableMeasures) -> Iterator[Move]:
    yield from _relative("", "rows", old.row_count, new.row_count)
    yield from _relative("", "size", old.size_in_bytes, new.size_in_bytes, "bytes")


def _of_counts(path: str, old: ColumnMeasures, new: ColumnMeasures) -> Iterator[Move]:
    yield from _share(path, "nulls", old.null_proportion, new.null_proportion)
    few, many = old.unique_count, new.unique_count
    for move in _relative(path, "distinct", few, many):
        any_counts = few is not None and many is not None and max(few, many) <= _FEW
        score = max(move.score, float(few != many)) if any_counts else move.score
        yield replace(move, score=score)


def _of_column(path: str, old: ColumnMeasures, new: ColumnMeasures) -> Iterator[Move]:
    yield from _of_counts(path, old, new)
    for measure in _SUMMARIES:
        yield from _relative(path, measure, old.number(measure), new.number(measure))
    yield from _values(path, old, new)


_SUMMARIES: Final[tuple[Summary, ...]] = ("mean", "median", "stdev", "min", "max")


def _share(path: str, measure: str, old: float | None, new: float | None) -> Iterator[Move]:
    if old is not None and new is not None:
        words = f"{full_number(old, 'share')} → {full_number(new, 'share')}"
        # Rounded, because floating point makes an exact 5 points slightly less.
        score = round(abs(new - old) / _POINTS, 6)
        yield Move(path, measure, old, new, score, words)


def _relative(
    path: str, measure: str, old: float | None, new: float | None, unit: Unit = "number"
) -> Iterator[Move]:
    if old is not None and new is not None:
        part = abs(new - old) / abs(old) if old else float(old != new)
        words = f"{full_number(old, unit)} → {full_number(new, unit)}"
        yield Move(path, measure, float(old), float(new), round(part / _QUARTER, 6), words)


def _values(path: str, old: ColumnMeasures, new: ColumnMeasures) -> Iterator[Move]:
    """Yield how far the shares of a column's values changed: half of the sum of all changes."""
    was, now = _shares(old.distinct_value_frequencies), _shares(new.distinct_value_frequencies)
    if not was or not now:
        return
    moved = sum(abs(now.get(value, 0) - was.get(value, 0)) for value in {**was, **now}) / 2
    came_and_went = []
    # A list of the most frequent values does not say which others there are, and of many values
    # some always come and go.
    if max(len(was), len(now)) <= _FEW and _is_complete(old) and _is_complete(new):
        came_and_went += _name_users("came", [value for value in now if value not in was])
        came_and_went += _name_users("went", [value for value in was if value not in now])
    words = "; ".join(
        (*came_and_went, f"{full_number(moved, 'share')} of the rows have another value")
    )
    score = round(moved / _POINTS, 6)
    yield Move(path, "values", None, None, max(score, 1.0) if came_and_went else score, words)


def _shares(counted: "tuple[ValueFrequency, ...] | None") -> dict[str, float]:
    total = sum(frequency.frequency for frequency in counted or ())
    return (
        {frequency.value: frequency.frequency / total for frequency in counted or ()}
        if total > 0
        else {}
    )


def _is_complete(measures: ColumnMeasures) -> bool:
    count = measures.unique_count
    return count is not None and len(measures.distinct_value_frequencies or ()) >= count


def _name_users(label: str, values: list[str]) -> list[str]:
    if not values:
        return []
    more = len(values) - _MOST_NAMED
    return [
        f"{label}: {', '.join(values[:_MOST_NAMED])}" + (f" and {more} more" if more > 0 else "")
    ]


_NUMBERS: Final = (
    "null_count",
    "null_proportion",
    "unique_count",
    "unique_proportion",
    "min",
    "max",
    "mean",
    "median",
)


def profile_table(name: str, data: Profiles) -> Table:
    """Return the columns of the latest profile, with notable changes in the week before."""
    at = data.measurements[-1][0] if data.measurements else None
    columns = (
        TableColumn("path"),
        TableColumn("name", read=lambda column: FieldPath(column.path).simple),
        TableColumn("measured", read=lambda _: at),
        *(TableColumn(name, read=attrgetter(f"newest.{name}")) for name in _NUMBERS),
        TableColumn("sample_values", read=lambda column: tuple(column.newest.sample_values or ())),
        TableColumn("moved", read=lambda column: column.drift and column.drift.words),
    )
    return Table.from_records(data.columns, columns, f"{name} profile")


def row_counts_table(name: str, data: Profiles) -> Table:
    """Return the profiles, newest first."""
    rows: list[Row] = [
        (at, measures.row_count, measures.column_count, measures.size_in_bytes)
        for at, measures in reversed(data.measurements)
    ]
    columns = ("measured", "rows", "columns", "size_in_bytes")
    return Table.of(f"{name} profile over time", columns, rows)


def column_profile_table(name: str, column: ColumnHistory) -> Table:
    """Return the profiles of one column, newest first."""
    rows: list[Row] = [(at, *_numbers(field)) for at, field in reversed(column.points)]
    title = f"{name} {FieldPath(column.path).simple} profile over time"
    return Table.of(title, ("measured", *_NUMBERS), rows)


def column_values_table(name: str, column: ColumnHistory) -> Table:
    """Return the values of one column: counted ones, most frequent first, then samples."""
    newest = column.newest
    rows: list[Row] = [
        ("value", frequency.value, frequency.frequency) for frequency in newest.frequencies
    ]
    rows += [("sample", value, None) for value in newest.sample_values or ()]
    title = f"{name} {FieldPath(column.path).simple} values"
    return Table.of(title, ("kind", "value", "frequency"), rows)


def _numbers(field: FieldProfile) -> Row:
    return tuple(getattr(field, name) for name in _NUMBERS)


_TIME: Final[TableColumn] = TableColumn(
    "time", None, lambda point: point.timestamp_millis, "index", dtype=TIME
)
_PART_TIME: Final = replace(_TIME, read=lambda part: part[0].timestamp_millis)


def _of_part(name: str, attribute: str = "", dtype: str = "string") -> TableColumn:
    read = attrgetter(attribute or name)
    return TableColumn(name, read=lambda part: read(part[1]), dtype=dtype)


def cut_sentence(series: "Timeseries") -> str:
    """Return a sentence that the server may have older points than the series; empty if it has
    none."""
    count = len(series.values)
    return f"the server returned only the newest {count:,} points" if series.truncated else ""


def _table_of(series: "Timeseries", table: Table) -> Table:
    return replace(table, incomplete=cut_sentence(series))


def usage_windows_table(series: "Timeseries") -> Table:
    """Return a row for each window of `datasetUsageStatistics`; the index `time` is its start.

    queries   Int64   the number of queries that read the dataset
    users     Int64   the number of different users of these queries
    """
    columns = (
        _TIME,
        TableColumn("queries", read=lambda point: point.total_sql_queries, dtype="Int64"),
        TableColumn("users", read=lambda point: point.unique_user_count, dtype="Int64"),
    )
    return _table_of(series, Table.from_records(series.usage(), columns, "usage"))


def column_usage_table(series: "Timeseries") -> Table:
    """Return a row for each window of `datasetUsageStatistics` and each column used in it.

    path    string
    count   Int64   how often the column was used
    """
    columns = (_PART_TIME, _of_part("path", "field_path"), _of_part("count", dtype="Int64"))
    uses = [(point, use) for point in series.usage() for use in point.field_counts]
    return _table_of(series, Table.from_records(uses, columns, "usage of columns"))


def user_usage_table(series: "Timeseries", names: Mapping[Urn, str]) -> Table:
    """Return a row for each window of `datasetUsageStatistics` and each user with queries in it.

    user      string   a URN, or the email address if there is no URN
    name      string   from `names`, else from the URN, else as `user`
    queries   Int64
    """
    columns = (
        _PART_TIME,
        TableColumn("user", read=lambda part: part[2]),
        TableColumn("name", read=lambda part: part[2] and name_of(part[2], names)),
        _of_part("queries", "count", "Int64"),
    )
    uses = [
        (point, use, use.user or use.user_email)
        for point in series.usage()
        for use in point.user_counts
    ]
    return _table_of(series, Table.from_records(uses, columns, "usage by user"))


def query_usage_table(series: "Timeseries") -> Table:
    """Return a row for each window of `datasetUsageStatistics` and each of its most frequent
    queries. How frequent they are is not known.

    query   string   the text of the query
    """
    columns = (_PART_TIME, TableColumn("query", read=lambda part: part[1]))
    queries = [(point, text) for point in series.usage() for text in point.top_sql_queries]
    return _table_of(series, Table.from_records(queries, columns, "queries"))


def profiles_table(series: "Timeseries") -> Table:
    """Return a row for each profile in a series of `datasetProfile`.

    rows, columns, bytes   Int64    the size of the dataset, or of a part of it
    part                   string   the partition or sample that was measured; missing for the whole
    """
    columns = (
        _TIME,
        TableColumn("rows", read=lambda point: point.row_count, dtype="Int64"),
        TableColumn("columns", read=lambda point: point.column_count, dtype="Int64"),
        TableColumn("bytes", read=lambda point: point.size_in_bytes, dtype="Int64"),
        TableColumn("part", read=lambda point: point.part or None, dtype="string"),
    )
    return _table_of(series, Table.from_records(series.profiles(), columns, "profiles"))


def column_profiles_table(series: "Timeseries") -> Table:
    """Return a row for each profile in a series of `datasetProfile` and each column profiled in it.

    path                                  string
    part                                  string    as in `profiles_table`
    unique_count, null_count              Int64
    unique_proportion, null_proportion    Float64   from 0 to 1
    min, max, mean, median, stdev         Float64   missing if they are not finite numbers
    min_text, max_text                    string    as in the profile, such as dates and texts
    sample_values                         object    lists; missing where none were taken
    """

    def number(name: "Summary") -> TableColumn:
        return TableColumn(name, read=lambda part: part[1].number(name), dtype="Float64")

    columns = (
        _PART_TIME,
        _of_part("path", "field_path"),
        TableColumn("part", read=lambda part: part[0].part or None, dtype="string"),
        _of_part("unique_count", dtype="Int64"),
        _of_part("unique_proportion", dtype="Float64"),
        _of_part("null_count", dtype="Int64"),
        _of_part("null_proportion", dtype="Float64"),
        *(number("min"), number("max"), number("mean"), number("median"), number("stdev")),
        _of_part("min_text", "min"),
        _of_part("max_text", "max"),
        TableColumn("sample_values", read=lambda part: part[1].sample_values, dtype=LIST),
    )
    profiles = [
        (point, profile) for point in series.profiles() for profile in point.field_profiles or ()
    ]
    return _table_of(series, Table.from_records(profiles, columns, "profiles of columns"))


_Part = TypeVar("_Part")

_MEASURE_ATTRIBUTES: Final = {
    "nulls": "null_count",
    "null_proportion": "null_proportion",
    "distinct": "unique_count",
    "distinct_proportion": "unique_proportion",
    "min": "min",
    "max": "max",
    "mean": "mean",
    "median": "median",
    "stdev": "stdev",
    "samples": "sample_values",
}


def measures_table(points: "Iterable[TableMeasures]") -> Table:
    """Return a row for each profile, with the size of the measured table or part, for people and
    files."""
    listed = list(points)
    has_parts = any(point.part for point in listed)
    columns = (
        *_time_columns(lambda point: point),
        TableColumn("rows", read=lambda point: point.row_count),
        TableColumn("columns", read=lambda point: point.column_count),
        TableColumn("size", None, _size_words, "people"),
        TableColumn("size_bytes", None, lambda point: point.size_in_bytes, "files"),
        TableColumn("part", "of", lambda point: point.part, _audience_of_parts(has_parts)),
    )
    return Table.from_records(listed, columns, "profiles")


def column_measures_table(
    parts: "Iterable[tuple[TableMeasures, ColumnMeasures]]", *, over_time: bool
) -> Table:
    """Return a row for each measured column, for people and files; with `over_time` the rows are
    measurements of one column at several times."""
    listed = list(parts)
    has_parts = any(point.part for point, _ in listed)
    measured = (
        *_time_columns(lambda part: part[0]),
        TableColumn("rows", read=lambda part: part[0].row_count),
        TableColumn("part", "of", lambda part: part[0].part, _audience_of_parts(has_parts)),
    )
    measures = [
        TableColumn(
            name,
            None,
            partial(_measure_of, attribute),
            "printed" if name in MEASURES else "files",
            max_width=14,
        )
        for name, attribute in _MEASURE_ATTRIBUTES.items()
    ]
    path = TableColumn(
        "path", None, lambda part: part[1].field_path, "objects" if over_time else "files"
    )
    columns = (*(measured if over_time else ()), path, *measures)
    return Table.from_records(listed, columns, "profiles of columns")


def _audience_of_parts(has_parts: bool) -> Audience:
    return "everyone" if has_parts else "programs"


def _measure_of(attribute: str, part: "tuple[TableMeasures, ColumnMeasures]") -> Cell:
    value: Cell = getattr(part[1], attribute)
    return value


def profile_time(point: "TableMeasures") -> str:
    """Return when a profile was measured, in UTC."""
    return moment(point.timestamp_millis, utc=True).removesuffix(" UTC")


def _size_words(point: "TableMeasures") -> str:
    return "" if point.size_in_bytes is None else full_number(point.size_in_bytes, "bytes")


def _time_columns(
    point_of: "Callable[[_Part], TableMeasures]",
) -> "tuple[TableColumn[_Part], ...]":
    return (
        TableColumn("measured", None, lambda part: profile_time(point_of(part)), "people"),
        TableColumn("measured_at", None, lambda part: point_of(part).at, "files"),
        TableColumn(
            "timestamp_millis", None, lambda part: point_of(part).timestamp_millis, "objects"
        ),
    )


_MOST_VALUES: Final = 30
_WIDE: Final = 130
_VALUE_MEASURES: Final = ("min", "max", "mean", "median")
_ONLY_SOME: Final = "the server returned only some of the {}; choose a shorter period to see all"


def newest_profile_report(urn: str, series: "Timeseries") -> Report:
    """Return a report on the latest profile: the measures of the table, then those of its columns
    from the latest profile that measured columns."""
    data = read_profiles(series)
    points = [measures for _, measures in data.measurements]
    point = data.newest
    if point is None:
        table = column_measures_table((), over_time=False)
        return Report(table, [], None, notes=("this dataset has no profile",))
    of_columns = newest_with_columns(points)
    parts = [(of_columns, field) for field in of_columns.columns.values()] if of_columns else []
    table = column_measures_table(parts, over_time=False)
    (document,) = to_objects(measures_table([point]))
    measured_at = of_columns.at.isoformat() if of_columns and of_columns.at else None
    document = {
        "urn": urn,
        **document,
        "columns_measured_at": measured_at,
        "columns": to_objects(table),
    }
    when = ""
    if of_columns is not None and of_columns is not point:
        when = f", last on {profile_time(of_columns)}"
    notes = ["", f"{counted(len(parts), 'column')} profiled{when}"]
    if data.parts:
        notes.append("catalog profile-stats with --days also lists the profiles of parts")
    shown_parts = _profile_parts(point, parts, data.caution)
    return Report(table, shown_parts, document, notes=tuple(notes))


def _profile_parts(
    point: TableMeasures,
    measures: "Sequence[tuple[TableMeasures, ColumnMeasures]]",
    caution: str,
) -> list[ReportPart]:
    rows, columns = point.row_count, point.column_count
    head = join_pieces(
        [
            f"measured {profile_time(point)}",
            "" if rows is None else f"{rows:,} rows",
            "" if columns is None else f"{columns:,} columns",
            _size_words(point),
            caution,
        ]
    )
    parts: list[ReportPart] = [text_line(*head, wraps=True)]
    if not measures:
        return parts

    def nulls(column: ColumnMeasures) -> str:
        return _count_and_share(column.null_count, column.null_proportion)

    def distinct(column: ColumnMeasures) -> str:
        return _count_and_share(column.unique_count, column.unique_proportion)

    name = TableColumn("column", read=_name_of, max_width=36, folds=True, style="bold")
    counts = (name, TableColumn("nulls", read=nulls), TableColumn("distinct", read=distinct))
    values = [TableColumn(measure, max_width=14) for measure in _VALUE_MEASURES]
    values.append(TableColumn("samples", read=_samples, style="dim"))
    below = TableColumn("values", None, _values_line, is_below=True)
    fields = [field for _, field in measures]
    wide = Table.from_records(fields, (*counts, *values))
    narrow = Table.from_records(fields, (*counts, below))
    return [*parts, TextLine(()), Fitted(_WIDE, [wide], [narrow])]


def _name_of(column: ColumnMeasures) -> str:
    return column.name


def _samples(column: ColumnMeasures) -> str:
    return ", ".join(column.sample_values or ())


def _values_line(column: ColumnMeasures) -> TextLine:
    facts = [
        (f"{name} {value}", "dim")
        for name in _VALUE_MEASURES
        if (value := getattr(column, name)) is not None
    ]
    samples = f"e.g. {_samples(column)}" if column.sample_values else ""
    return text_line(*join_pieces([*facts, (samples, "dim")]))


def _count_and_share(count: int | None, proportion: float | None) -> str:
    number = "" if count is None else f"{count:,}"
    share = "" if proportion is None else full_number(proportion, "share")
    return f"{number} ({share})" if number and share and count else number or share or "?"


def profiles_report(urn: str, series: "Timeseries", phrase: str) -> Report:
    """Return a report on the rows, columns and size in each profile, newest first; `phrase` names
    the period."""
    table = measures_table(series.records(TableMeasures)[::-1])
    return _series_report(urn, series, table, phrase)


def column_profile_report(urn: str, series: "Timeseries", path: str, phrase: str) -> Report:
    """Return a report on the measures of a column in each profile, newest first, and on its values
    in the newest profile. Raises `UnknownName` if no profile has the column."""
    measures: list[tuple[TableMeasures, ColumnMeasures]] = []
    paths: dict[str, None] = {}
    for point in series.records(TableMeasures)[::-1]:
        paths |= dict.fromkeys(point.columns)
        same = [exact for exact in point.columns if FieldPath(exact).simple == path]
        exact = path if path in point.columns else same[0] if len(same) == 1 else None
        if exact is not None:
            measures.append((point, point.columns[exact]))
    if paths and not measures:
        raise UnknownName("column in these profiles", path, paths)
    table = column_measures_table(measures, over_time=True)
    panels: Iterable[Panel] = ()
    if measures:
        newest = comparable_profiles(point for point, _ in measures)[-1]
        panels = column_panels(next(column for point, column in measures if point is newest))
    return _series_report(urn, series, table, phrase, panels)


def _series_report(
    urn: str, series: "Timeseries", table: Table, phrase: str, panels: Iterable[Panel] = ()
) -> Report:
    count = len(table.rows)
    note = f"{counted(count, 'profile')}{phrase}, newest first; times are UTC"
    notes = (
        note if count else f"no profiles{phrase}",
        *((_ONLY_SOME.format("profiles"),) if series.truncated else ()),
    )
    document = {"urn": urn, "truncated": series.truncated}
    return Report(
        table, [table, *_first_rows(panels, _MOST_VALUES)], document, "profiles", notes=notes
    )


def _first_rows(panels: Iterable[Panel], top: int) -> Iterator[Panel]:
    """Yield the panels with at most `top` bars each, without empty panels."""
    for panel in panels:
        first = panel.first(top) if isinstance(panel, Bars) else panel
        if not isinstance(first, Bars) or first.bars:
            yield first


def usage_report(urn: str, use: Usage, names: Mapping[Urn, str], phrase: str, top: int) -> Report:
    """Return a report on the usage by day, and the `top` columns, users and queries; `phrase` names
    the period."""
    days: Sequence[TableColumn[UsageDay]] = (
        TableColumn("date", "day", lambda day: f"{day.day}"),
        TableColumn(use.measure, read=lambda day: day.count),
        TableColumn("users"),
        TableColumn("bar", "", lambda day: day.count, "people", is_bar=True),
    )
    table = Table.from_records(use.days, days)
    document = {
        "urn": urn,
        "measure": use.measure,
        "total": use.total,
        "truncated": use.limit is not None,
        "days": [
            {"date": f"{day.day}", "count": day.count, "users": day.users} for day in use.days
        ],
        "users": [{"user": user, "count": count} for user, count in use.users],
        "columns": [{"path": path, "count": count} for path, count in use.columns],
        "queries": [{"query": query, "days": count} for query, count in use.queries],
    }
    if not use.days:
        return Report(table, [], document, notes=(f"no usage data{phrase}",))
    parts: list[ReportPart] = [table, *_first_rows(usage_panels(use, names), top)]
    queries = use.queries[:top]
    if queries:
        title = "Queries, by number of days on which they were frequent"
        more = (
            f"{len(queries):,} of {len(use.queries):,}" if len(queries) < len(use.queries) else ""
        )
        columns = (TableColumn("query", max_width=50), TableColumn("days"))
        rows = [(text_line("  ", query), days) for query, days in queries]
        parts += [Title(title, more), Table(columns, rows, is_list=True)]
    total = counted(use.total, _SINGULAR[use.measure], use.measure)
    day_count = counted(len(use.days), "measured day")
    notes = ["", f"{total} on {day_count}{phrase}, {use.total / len(use.days):,.1f} per day"]
    if use.limit is not None:
        notes.append(_ONLY_SOME.format("data"))
    return Report(table, parts, document, notes=notes)


_SINGULAR: Final = {"queries": "query", "views": "view"}
