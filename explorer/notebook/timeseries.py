"""Usage and profiles of a dataset over time, which render themselves."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from datetime import time as clock_time
from functools import cached_property, partial
from typing import TYPE_CHECKING, Literal, Protocol

from explorer.client.display import counted, moment
from explorer.client.records import Timeseries
from explorer.client.timeseries import Moment, read_moment
from explorer.errors import InvalidInput
from explorer.metadata.aspects import (
    DatasetProfile,
    DatasetUsageStatistics,
    FieldProfile,
    read_measurement,
)
from explorer.metadata.fieldpath import FieldPath
from explorer.metadata.proposal import millis_of
from explorer.metadata.urn import Urn
from explorer.notebook.chart import PanelChart, ShownChart, Zone
from explorer.notebook.view import ShownTable, grid_parts, table_parts
from explorer.views import table as values
from explorer.views.absence import UNKNOWN
from explorer.views.chart import Bar, Bars, Line, Lines, Point, full_number, with_gaps
from explorer.views.history import name_of
from explorer.views.parts import Cell, Facts, Fold, Part, Say, Title
from explorer.views.table import TIME, TableColumn, attributes
from explorer.views.timeseries import (
    ColumnMeasures,
    Move,
    Profiles,
    TableMeasures,
    Usage,
    column_bars,
    column_profiles_table,
    column_usage_table,
    cut_sentence,
    frequency_bars,
    histogram_bars,
    moves_between,
    profiles_table,
    quantile_bars,
    quantile_name,
    query_usage_table,
    read_profiles,
    usage_of,
    usage_panels,
    usage_windows_table,
    user_bars,
    user_usage_table,
)

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

    from explorer.notebook.widgets.usage_controls import UsageControls

_MOST_ROWS = 20
_MOST_USERS = 10
_MOST_QUERIES = 5


@dataclass(frozen=True, slots=True)
class Window:
    """The points of a series in the last `days`, from `start` to `end`, or all; `newest_millis` is
    the time of the newest point if there is none in that range."""

    series: Timeseries
    days: int | None
    newest_millis: int | None = None
    start: datetime | None = None
    end: datetime | None = None

    @property
    def words(self) -> str:
        """Return the time range in words."""
        if self.start is not None or self.end is not None:
            ends = (("from", self.start), ("to", self.end))
            return " ".join(f"{word} {_day(at)}" for word, at in ends if at is not None)
        if self.days is None:
            return "ever"
        return "in the last day" if self.days == 1 else f"in the last {self.days:,} days"

    def gaps(self, what: str) -> Iterator[Part]:
        """Yield the remarks on missing or cut data."""
        if not self.series.values:
            yield Say(f"no {what} {self.words}")
            if self.newest_millis is not None:
                at = moment(self.newest_millis, utc=True)
                yield Say(f"the newest is from {at}; days=None returns all")
        elif cut := cut_sentence(self.series):
            yield Say(cut)


def _day(at: datetime) -> str:
    """Return a time in UTC as text; only the date if it is the beginning or the end of a day."""
    in_utc = at.astimezone(UTC)
    is_edge = in_utc.time() in (clock_time.min, clock_time.max)
    return f"{in_utc:%Y-%m-%d}" if is_edge else f"{in_utc:%Y-%m-%d %H:%M} UTC"


class UsageReader(Protocol):
    """An object from which the usage in another time range can be read: an entity."""

    def usage(
        self,
        days: int | None = 30,
        *,
        start: "Moment | None" = None,
        end: "Moment | None" = None,
    ) -> "UsageChart":
        """Return the usage in the last days, between two times, or all."""


@dataclass(frozen=True, repr=False)
class UsageChart(ShownChart):
    """The usage of a dataset in time windows, oldest first.

    It shows queries and users over time and the columns used most: as a plotly figure in a live
    notebook, as a picture and a table in a notebook without a kernel, as text in a terminal.
    """

    name: str
    window: Window
    names: Mapping[Urn, str] = field(default_factory=dict, compare=False)
    entity: "UsageReader | None" = field(default=None, compare=False)

    @cached_property
    def points(self) -> tuple[DatasetUsageStatistics, ...]:
        """Return a point for each time window."""
        return self.window.series.usage()

    def __len__(self) -> int:
        return len(self.points)

    def to_frame(self) -> "pd.DataFrame":
        """Return a row for each window; see `explorer.views.timeseries.usage_windows_table`."""
        return values.to_frame(usage_windows_table(self.window.series))

    def columns_to_frame(self) -> "pd.DataFrame":
        """Return a row for each window and column; see
        `explorer.views.timeseries.column_usage_table`."""
        return values.to_frame(column_usage_table(self.window.series))

    @cached_property
    def top_users(self) -> "TopUsers":
        """Return its users in the whole range, most queries first."""
        windows = Counter(
            used.user or used.user_email or ""
            for point in self.points
            for used in point.user_counts
        )
        rows = [
            (user, name_of(user, self.names) or UNKNOWN.phrase, count, windows[user])
            for user, count in self._sums.users
        ]
        rows.sort(key=lambda row: (-row[2], row[1]))
        return TopUsers(self.name, self.window.words, tuple(rows), cut_sentence(self.window.series))

    @cached_property
    def top_queries(self) -> "TopQueries":
        """Return the queries that were most often among the most frequent."""
        counts: Counter[str] = Counter()
        for point in self.points:
            counts.update(dict.fromkeys(point.top_sql_queries, 1))
        ranked = sorted(counts.items(), key=lambda query_count: -query_count[1])
        cut = cut_sentence(self.window.series)
        return TopQueries(self.name, self.window.words, tuple(ranked), len(self.points), cut)

    def users_to_frame(self) -> "pd.DataFrame":
        """Return a row for each window and user; see
        `explorer.views.timeseries.user_usage_table`."""
        return values.to_frame(user_usage_table(self.window.series, self.names))

    def queries_to_frame(self) -> "pd.DataFrame":
        """Return a row for each window and frequent query; see
        `explorer.views.timeseries.query_usage_table`."""
        return values.to_frame(query_usage_table(self.window.series))

    def figure(self, zone: Zone = "UTC") -> "go.Figure":
        """Return queries and users over time as a Plotly figure, in UTC or in local time."""
        return self.over_time(zone).figure()

    def over_time(self, zone: Zone = "UTC") -> PanelChart:
        """Return a chart of queries above users, over the same time."""
        at = [(point.at, point) for point in self.points]
        points = [(when, point) for when, point in at if when is not None]
        queries = with_gaps([(when, point.total_sql_queries) for when, point in points])
        users = with_gaps([(when, point.unique_user_count) for when, point in points])
        panels = (
            Lines("queries", (Line("queries", queries),)),
            Lines("users", (Line("users", users),)),
        )
        title = f"Usage of {self.name}, {self.window.words}"
        empty = f"no usage {self.window.words}"
        return PanelChart(title, panels, self.to_frame, self._describe_totals(zone), empty, zone)

    def by_column(self, most: int = _MOST_ROWS) -> PanelChart:
        """Return a chart of the use of each column in the whole range, most used first, up to a
        limit."""
        if most < 1:
            raise InvalidInput("the number of columns to draw must be at least 1")
        panel = column_bars(self._sums).first(most)
        title = f"Use by column of {self.name}, {self.window.words}"
        empty = f"no use of columns {self.window.words}"
        note = f"{sum(count for _, count in self._uses):,} uses of {len(self._uses):,} columns"
        return PanelChart(title, (panel,), self._uses_frame, note, empty)

    def by_user(self, most: int = _MOST_ROWS) -> PanelChart:
        """Return a chart of queries by user in the whole range, most first, up to a limit."""
        if most < 1:
            raise InvalidInput("the number of users to draw must be at least 1")
        users = self.top_users
        title = f"Use by user of {self.name}, {self.window.words}"
        empty = f"no users recorded {self.window.words}"
        note = f"{sum(count for _, _, count, _ in users.rows):,} queries of {len(users):,} users"
        panel = user_bars(self._sums, self.names).first(most)
        return PanelChart(title, (panel,), users.to_frame, note, empty)

    def controls(self) -> "UsageControls[UsageChart]":
        """Return the chart with controls for the time range and the measure. No request until
        another range is chosen."""
        from explorer.notebook.widgets.usage_controls import UsageControls

        if self.entity is None:
            raise InvalidInput("this usage was constructed by hand and has no catalog")
        window, read_usage = self.window, self.entity.usage
        if window.start is None and window.end is None:
            return UsageControls(self, read_usage, window.days)
        between = partial(read_usage, start=window.start, end=window.end)
        return UsageControls(self, read_usage, between=(window.words, between))

    def chart(self, zone: Zone = "UTC") -> PanelChart:
        """Return its chart: queries and users over time, the most used columns, and the users."""
        chart = self.over_time(zone)
        bars = [
            usage_panel.first(_MOST_ROWS) for usage_panel in usage_panels(self._sums, self.names)
        ]
        return replace(chart, panels=(*chart.panels, *bars))

    def parts(self) -> Iterator[Part]:
        yield Title(f"Usage of {self.name}", self.window.words)
        yield from self.window.gaps("usage")
        if not self.points:
            return
        queries, users = self._totals()
        yield Facts(
            [
                ("queries", Cell(queries)),
                ("users", Cell(users)),
                ("time", Cell(_span([point.timestamp_millis for point in self.points], "UTC"))),
            ]
        )
        chart = self.over_time()
        yield chart.picture(list(chart.sparklines()))
        if self._uses:
            rows = [(FieldPath(path).simple, count) for path, count in self._uses]
            table = values.Table.of("", ("column", "uses"), rows)
            yield from table_parts(table, _MOST_ROWS, "columns; .columns_to_frame() has all")
        if self.top_users:
            rest = "users; .top_users has all"
            yield from table_parts(self.top_users.table(), _MOST_USERS, rest)
        if self.top_queries:
            rest = "queries; .top_queries has all"
            yield from table_parts(self.top_queries.table(), _MOST_QUERIES, rest)

    @cached_property
    def _sums(self) -> Usage:
        return usage_of(self.window.series)

    @property
    def _uses(self) -> tuple[tuple[str, int], ...]:
        return self._sums.columns

    def _uses_frame(self) -> "pd.DataFrame":
        columns = (TableColumn("path"), TableColumn("uses", dtype="Int64"))
        cut = cut_sentence(self.window.series)
        return values.to_frame(values.Table(columns, self._uses, incomplete=cut))

    def _totals(self) -> tuple[str, str]:
        queries = self._sums.total
        if self.top_users:
            return f"{queries:,}", f"{len(self.top_users):,}"
        counts = [
            point.unique_user_count for point in self.points if point.unique_user_count is not None
        ]
        return f"{queries:,}", f"at most {max(counts):,} at once" if counts else "not measured"

    def _describe_totals(self, zone: Zone) -> str:
        if not self.points:
            return ""
        queries, users = self._totals()
        times = _span([point.timestamp_millis for point in self.points], zone)
        return f"{queries} queries · users: {users} · {times}"


@dataclass(frozen=True, repr=False)
class TopUsers(ShownTable):
    """The users of a dataset by number of queries: rows of user (a URN or an address), name, number
    of queries, and number of time windows."""

    name: str
    when: str
    rows: tuple[tuple[str, str, int, int], ...]
    incomplete: str = ""

    def __len__(self) -> int:
        return len(self.rows)

    def to_frame(self) -> "pd.DataFrame":
        """Return a row for each: `user` (a URN), `name`, `queries`, `windows`, most queries
        first."""
        return values.to_frame(self.table())

    def table(self) -> values.Table:
        """Return all of them as a table."""
        columns = (
            TableColumn("user", audience="programs", dtype="string"),
            TableColumn("name", "user", style="bold", dtype="string"),
            TableColumn("queries", dtype="int64"),
            TableColumn("windows", audience="programs", dtype="int64"),
        )
        return values.Table(columns, self.rows, incomplete=self.incomplete)

    def parts(self) -> Iterator[Part]:
        yield Title(f"Users of {self.name}", f"{len(self):,} {self.when}")
        yield from table_parts(self.table(), _MOST_ROWS)


@dataclass(frozen=True, repr=False)
class TopQueries(ShownTable):
    """Queries that were among the most frequent, with the number of time windows in which they
    were."""

    name: str
    when: str
    rows: tuple[tuple[str, int], ...]
    windows: int
    incomplete: str = ""

    def __len__(self) -> int:
        return len(self.rows)

    def to_frame(self) -> "pd.DataFrame":
        """Return a row for each, most often among the top first: `query`, its text, and
        `windows`."""
        return values.to_frame(self.table())

    def table(self) -> values.Table:
        """Return all of them as a table."""
        columns = (
            TableColumn("query", dtype="string"),
            TableColumn("windows", "times among the top", dtype="int64"),
        )
        return values.Table(columns, self.rows, incomplete=self.incomplete)

    def parts(self) -> Iterator[Part]:
        summary = f"{len(self):,} {self.when}" if self.rows else f"none {self.when}"
        yield Title(f"Frequent queries of {self.name}", summary)
        yield from table_parts(self.table(), _MOST_ROWS)


def users_of(window: Window) -> tuple[str, ...]:
    """Return the users in the points of `datasetUsageStatistics`, each once."""
    users = (
        user_count.user
        for point in window.series.usage()
        for user_count in point.user_counts
        if user_count.user
    )
    return tuple(dict.fromkeys(users))


@dataclass(frozen=True, repr=False)
class ProfileChart(ShownChart):
    """The profiles of a dataset, oldest first.

    It shows rows and nulls over time and the columns of the newest profile. If there are profiles
    of the whole table, charts leave out profiles of parts of it, and say so.
    """

    name: str
    window: Window

    @cached_property
    def points(self) -> tuple[DatasetProfile, ...]:
        """Return a point for each profile."""
        return self.window.series.profiles()

    def __len__(self) -> int:
        return len(self.points)

    def to_frame(self) -> "pd.DataFrame":
        """Return a row for each profile; see `explorer.views.timeseries.profiles_table`."""
        return values.to_frame(profiles_table(self.window.series))

    def columns_to_frame(self) -> "pd.DataFrame":
        """Return a row for each profile and column; see
        `explorer.views.timeseries.column_profiles_table`."""
        return values.to_frame(column_profiles_table(self.window.series))

    def chart(self, zone: Zone = "UTC") -> PanelChart:
        """Return a chart of the rows over time, with the share of nulls in the columns with most
        nulls below it."""
        nulls = shares(self._profiles_with_values, "nulls", ())
        panels = (self._rows(), *((nulls,) if nulls.lines else ()))
        return self._chart(f"Profile of {self.name}", panels, self.to_frame, zone)

    def sizes(self, zone: Zone = "UTC") -> PanelChart:
        """Return a chart of rows, columns and bytes over time, as far as measured."""
        measurements = self._profiles_with_values.measurements
        columns = with_gaps([(at, measures.column_count) for at, measures in measurements])
        size = with_gaps([(at, measures.size_in_bytes) for at, measures in measurements])
        panels = (
            self._rows(),
            Lines("columns", (Line("columns", columns),)),
            Lines("size", (Line("size", size),), "bytes", from_nothing=False),
        )
        measured = tuple(panel for panel in panels if panel.lines[0].values)
        title = f"Size of {self.name}"
        return self._chart(title, measured or panels[:1], self.to_frame, zone)

    def nulls(self, *columns: str, zone: Zone = "UTC") -> PanelChart:
        """Return a chart of the share of nulls over time, of some columns or of the six with most.

        Columns are named by their path, exact or in the short form. Raises `UnknownName` for a
        column that was not measured, like the other charts of columns.
        """
        panel = shares(self._profiles_with_values, "nulls", columns)
        frame = self._shares_frame(panel, columns)
        return self._chart(f"Nulls in {self.name}", (panel,), frame, zone)

    def unique(self, *columns: str, zone: Zone = "UTC") -> PanelChart:
        """Return a chart of the share of unique values over time, of some columns or of the six
        whose share changed most."""
        panel = shares(self._profiles_with_values, "unique values", columns)
        frame = self._shares_frame(panel, columns)
        return self._chart(f"Unique values in {self.name}", (panel,), frame, zone)

    def values(self, column: str, most: int = _MOST_ROWS) -> PanelChart:
        """Return a chart of a column's value frequencies as last measured, most frequent first, up
        to a limit."""
        if most < 1:
            raise InvalidInput("the number of values to draw must be at least 1")
        return frequencies(self._profiles_with_values, column, most)

    def quantiles(self, column: str) -> PanelChart:
        """Return a chart of a column's quantiles as last measured."""
        return quantiles(self._profiles_with_values, column)

    def histogram(self, column: str) -> PanelChart:
        """Return a column's histogram as last measured."""
        return histogram(self._profiles_with_values, column)

    def drift(
        self, days: int = 7, *, since: "Moment | None" = None, until: "Moment | None" = None
    ) -> "DriftChart":
        """Return the drift between two of these profiles, largest first. No request.

        The later profile is the newest, or the newest not after `until`. The earlier one is the
        newest that is `days` older, or not after `since`; if none is that old, the oldest. Times
        are given as for `Catalog.timeseries`. Raises `InvalidInput` for an invalid time.
        """
        end = None if until is None else read_moment(until, ends=True)
        begin = None if since is None else read_moment(since, ends=True)
        if days < 1:
            raise InvalidInput("the number of days between two profiles must be at least 1")
        measurements = [
            measurement
            for measurement in self._profiles_with_values.measurements
            if end is None or measurement[0] <= end
        ]
        if len(measurements) < 2:
            return DriftChart(self.name, None, None)
        later = measurements[-1]
        try:
            limit = later[0] - timedelta(days=days) if begin is None else begin
        except OverflowError:
            limit = measurements[0][0]
        older = [candidate for candidate in measurements[:-1] if candidate[0] <= limit]
        return DriftChart(self.name, (older or measurements)[-1 if older else 0], later)

    def parts(self) -> Iterator[Part]:
        yield Title(f"Profile of {self.name}", self.window.words)
        yield from self.window.gaps("profile")
        if not self.points:
            return
        last = self._profiles_with_values.newest or self.points[-1]
        yield Facts(
            [
                ("rows", Cell(_number(last.row_count))),
                ("columns", Cell(_number(last.column_count))),
                ("time", Cell(_span([point.timestamp_millis for point in self.points], "UTC"))),
            ]
        )
        if self._profiles_with_values.caution:
            yield Say(self._profiles_with_values.caution)
        chart = self.chart()
        yield chart.picture(list(chart.sparklines()))
        yield from grid_parts(
            ("column", "nulls", "distinct", "least", "most", "examples"),
            [column.newest for column in self._profiles_with_values.columns],
            _column,
            numbers=("nulls", "distinct"),
            most=_MOST_ROWS,
            rest="columns; .columns_to_frame() has all",
        )

    @cached_property
    def _profiles_with_values(self) -> Profiles:
        return read_profiles(self.window.series)

    def _shares_frame(self, panel: Lines, columns: Sequence[str]) -> "Callable[[], pd.DataFrame]":
        """Return a function that makes the DataFrame of a chart, which is marked as incomplete if
        points, or columns that were not named, are missing."""
        count = len(self._profiles_with_values.by_path)
        incomplete = cut_sentence(self.window.series)
        if not columns and len(panel.lines) < count:
            incomplete = "others are given by name"
        return partial(shares_frame, panel, incomplete)

    def _rows(self) -> Lines:
        points = with_gaps(
            [(at, profile.row_count) for at, profile in self._profiles_with_values.measurements]
        )
        return Lines("rows", (Line("rows", points),), from_nothing=False)

    def _chart(
        self,
        title: str,
        panels: "tuple[Lines, ...]",
        frame: Callable[[], "pd.DataFrame"],
        zone: Zone,
    ) -> PanelChart:
        millis = [point.timestamp_millis for point in self.points]
        remarks = (_span(millis, zone), self._profiles_with_values.caution)
        note = " · ".join(filter(None, remarks))
        empty = f"no profile {self.window.words}" if not self.points else "it was not measured"
        return PanelChart(f"{title}, {self.window.words}", panels, frame, note, empty, zone)


def _span(millis: Sequence[int], zone: Zone) -> str:
    if not millis:
        return ""
    first, last = (moment(at, utc=zone == "UTC") for at in (millis[0], millis[-1]))
    return f"{first} to {last}, {len(millis):,} points" if len(millis) > 1 else first


def _column(profile: FieldProfile) -> tuple[Cell, ...]:
    share = profile.null_proportion
    return (
        Cell(FieldPath(profile.field_path).simple),
        Cell(full_number(share, "share") if share is not None else _number(profile.null_count)),
        Cell(_number(profile.unique_count)),
        Cell(profile.min or ""),
        Cell(profile.max or ""),
        Cell(", ".join((profile.sample_values or ())[:3])),
    )


def _number(value: int | None) -> str:
    return UNKNOWN.mark if value is None else f"{value:,}"


Share = Literal["nulls", "unique values"]

_MOST_LINES = 6


def shares(profiles: Profiles, share: Share, columns: Sequence[str]) -> Lines:
    """Return a share over time of some columns; by default of those with most nulls, or whose share
    of unique values changed most."""
    paths = list(dict.fromkeys(profiles.path_of(column) for column in columns))
    points = {path: _points(profiles, path, share) for path in paths or profiles.by_path}
    title = f"share of {share}"
    if not paths:
        ranks = {path: _rank(point, share) for path, point in points.items()}
        # Columns without a null are all alike; one of them says so.
        some = [path for path in ranks if ranks[path] > 0] if share == "nulls" else list(ranks)
        paths = sorted(some, key=lambda path: -ranks[path])[:_MOST_LINES] or list(ranks)[:1]
        title += f", {len(paths)} of {len(points):,} columns"
    lines = tuple(Line(FieldPath(path).simple, with_gaps(points[path])) for path in paths)
    return Lines(title, lines, "share")


def shares_frame(panel: Lines, incomplete: str = "") -> "pd.DataFrame":
    """Return a row for each line and measurement, by time: `column` and `share`, from 0 to 1."""
    measurements = [
        (at, line.name, value)
        for line in panel.lines
        for at, value in line.points
        if value is not None
    ]
    columns = (
        TableColumn("time", audience="index", dtype=TIME),
        TableColumn("column"),
        TableColumn("share", dtype="Float64"),
    )
    table = values.Table(columns, measurements, panel.title, incomplete=incomplete)
    return values.to_frame(table)


def _frame_of(
    title: str, rows: Sequence[values.Row], total: int | None = None, **dtypes: str
) -> "Callable[[], pd.DataFrame]":
    columns = [TableColumn(name, dtype=dtype) for name, dtype in dtypes.items()]
    table = values.Table(columns, rows, title, total=total, total_of="values")
    return partial(values.to_frame, table)


def frequencies(profiles: Profiles, column: str, most: int) -> PanelChart:
    """Return a chart of value frequencies, most frequent first."""
    at, measures = _newest(profiles, column, "distinct_value_frequencies")
    panel = frequency_bars(measures)
    rows = [(each.value, each.frequency) for each in measures.frequencies]
    unique_count = max(measures.unique_count or 0, len(rows))
    bars = replace(panel, bars=panel.bars[:most])
    note = f"{len(bars.bars):,} of {unique_count:,} values, {_at(at)}"
    title = f"Values of {measures.name}"
    frame = _frame_of(title, rows, unique_count, value="string", frequency="Int64")
    empty = "profiling recorded no values of this column"
    return PanelChart(title, (bars,), frame, note, empty)


def quantiles(profiles: Profiles, column: str) -> PanelChart:
    """Return a chart of quantiles; only numeric ones are drawn."""
    at, measures = _newest(profiles, column, "quantiles")
    panel, column_quantiles = quantile_bars(measures), measures.quantiles or ()
    rows = [(read_measurement(each.quantile), each.value) for each in column_quantiles]
    title = f"Quantiles of {measures.name}"
    frame = _frame_of(title, rows, quantile="Float64", value="string")
    empty = "profiling recorded no quantiles of this column"
    if column_quantiles and not panel.bars:
        listing = ", ".join(
            f"{quantile_name(each.quantile)} {each.value}" for each in column_quantiles
        )
        empty = f"its quantiles are not numbers: {listing}"
    return PanelChart(title, (panel,), frame, _at(at), empty)


def histogram(profiles: Profiles, column: str) -> PanelChart:
    """Return a chart of the number of values between boundaries."""
    at, measures = _newest(profiles, column, "histogram")
    panel = histogram_bars(measures)
    rows = [(bar.name, bar.value) for bar in panel.bars]
    title = f"Histogram of {measures.name}"
    frame = _frame_of(title, rows, range="string", height="Float64")
    empty = "profiling recorded no histogram of this column"
    return PanelChart(title, (panel,), frame, _at(at), empty)


def _points(profiles: Profiles, path: str, share: Share) -> list[Point]:
    rows = {at: profile.row_count for at, profile in profiles.measurements}
    return [
        (at, _percent(measures, rows[at], share)) for at, measures in profiles.by_path[path].points
    ]


def _percent(measures: ColumnMeasures, rows: int | None, share: Share) -> float | None:
    if share == "nulls":
        proportion, count = measures.null_proportion, measures.null_count
    else:
        proportion, count = measures.unique_proportion, measures.unique_count
    return proportion if proportion is not None or count is None or not rows else count / rows


def _rank(points: Sequence[Point], share: Share) -> float:
    values = [value for _, value in points if value is not None]
    if not values:
        return 0
    return max(values) if share == "nulls" else max(values) - min(values)


def _newest(
    profiles: Profiles,
    column: str,
    measure: Literal["distinct_value_frequencies", "quantiles", "histogram"],
) -> tuple[datetime, ColumnMeasures]:
    """Return the column's newest profile with the measure, else its newest profile."""
    points = profiles.by_path[profiles.path_of(column)].points
    having = [point for point in points if getattr(point[1], measure)]
    return (having or points)[-1]


def _at(at: datetime) -> str:
    return f"measured {moment(millis_of(at), utc=True)}"


RULE = (
    "moved: nulls or shares of values by 5 points, anything else by 25%; "
    "distinct values by 1 where they are 20 or fewer; columns and values that came or went"
)
"""When a change counts, in words; for nulls, rows and distinct values as the terminal has it."""

_MOST_SHOWN = 20
_LEAST_SHOWN = 0.05
_HEADERS = ("column", "measure", "change", "score")
# A longer bar would leave no room for the others.
_LONGEST = 10.0
_MOVES = (
    *attributes("path", "measure"),
    *attributes("before", "after", "change", "relative", "score", dtype="Float64"),
    TableColumn("moved", read=lambda move: move.is_over_threshold, dtype="bool"),
    TableColumn("words"),
)


@dataclass(frozen=True, repr=False)
class DriftChart(ShownChart):
    """The changes between a profile and a later one: iterates over changes, largest first.

    `len()` is the number of changes above the threshold. With fewer than two profiles it is empty,
    and says so.
    """

    name: str
    before: tuple[datetime, TableMeasures] | None
    after: tuple[datetime, TableMeasures] | None

    @cached_property
    def moves(self) -> tuple[Move, ...]:
        """Return every change, including those below the threshold, largest first."""
        if self.before is None or self.after is None:
            return ()
        return moves_between(self.before[1], self.after[1])

    @property
    def moved(self) -> tuple[Move, ...]:
        """Return the changes above the threshold, largest first."""
        return tuple(move for move in self.moves if move.is_over_threshold)

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the paths of the columns that drifted, largest change first."""
        return tuple(dict.fromkeys(move.path for move in self.moved if move.path))

    def __len__(self) -> int:
        return len(self.moved)

    def __iter__(self) -> Iterator[Move]:
        return iter(self.moved)

    def to_frame(self) -> "pd.DataFrame":
        """Return a row for each change, including those below the threshold, largest first. No
        request.

        path            string    of the column; empty for the whole table
        measure         string    nulls, distinct, mean, …; `column` for one that came or went
        before, after   Float64   shares from 0 to 1
        change          Float64   after minus before
        relative        Float64   change divided by before
        score           Float64   change as a multiple of the threshold
        moved           bool      whether it is above the threshold
        words           string
        """
        return values.to_frame(values.Table.from_records(self.moves, _MOVES))

    def chart(self, zone: Zone = "UTC") -> PanelChart:
        """Return the changes above the threshold as bars of their multiple of it; the longest bars
        mean ten times or more."""
        moves = self.moved[:_MOST_SHOWN]
        bars = tuple(
            Bar(
                f"{move.name} · {move.measure}",
                min(move.score, _LONGEST),
                move.words,
            )
            for move in moves
        )
        panel = Bars(f"{self._count()}, by the multiple of the threshold", bars, "times", rule=1)
        note = self._times(zone)
        return PanelChart(
            f"Drift of {self.name}", (panel,), self.to_frame, note, self._empty(), zone
        )

    def parts(self) -> Iterator[Part]:
        yield Title(f"Drift of {self.name}", self._times("UTC"))
        if not self.moved:
            yield Say(self._empty())
        else:
            yield Say(self._count(), "plain")
            yield self.chart().picture()
            yield from grid_parts(_HEADERS, self.moved, _row, numbers=("score",), most=_MOST_SHOWN)
        still = [move for move in self.moves if _LEAST_SHOWN <= move.score < 1][:_MOST_SHOWN]
        if still:
            rows = list(grid_parts(_HEADERS, still, _row, numbers=("score",)))
            yield Fold("changed less", rows)
        if self.after is not None and self.before is not None:
            yield Say(RULE)

    def _count(self) -> str:
        many = len(self)
        return f"{counted(many, 'measure')} moved"

    def _empty(self) -> str:
        if self.before is None or self.after is None:
            return "there are no two profiles to compare"
        return "nothing moved"

    def _times(self, zone: Zone) -> str:
        if self.before is None or self.after is None:
            return ""
        ends = (self.before[0], self.after[0])
        return " → ".join(moment(millis_of(at), utc=zone == "UTC") for at in ends)


def _row(move: Move) -> tuple[Cell, ...]:
    return (
        Cell(move.name, tone="loud"),
        Cell(move.measure),
        Cell(move.words),
        Cell(full_number(move.score, "times")),
    )
