"""How a dataset was used and what profiling measured of it, over time, showing themselves."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property, partial
from typing import TYPE_CHECKING

from explorer.client.display import moment
from explorer.client.records import Timeseries
from explorer.errors import InvalidInput
from explorer.metadata.aspects import DatasetProfile, DatasetUsageStatistics, FieldProfile
from explorer.metadata.fieldpath import FieldPath
from explorer.metadata.urn import Urn
from explorer.notebook import profile
from explorer.notebook.chart import PanelChart, ShownChart, Zone, sparkline
from explorer.notebook.profile import DriftChart
from explorer.notebook.view import ShownTable, grid_parts, table_parts, tabulated
from explorer.views import table as values
from explorer.views import usage
from explorer.views.chart import Bar, Bars, Line, Lines, with_gaps, written
from explorer.views.history import name_of
from explorer.views.parts import Cell, Facts, Part, Say, Title
from explorer.views.profile import Profiles, read_profiles
from explorer.views.table import TableColumn

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

    from explorer.notebook.entity import EntityPage
    from explorer.notebook.widgets.usage_controls import UsageControls

__all__ = [
    "ProfileChart",
    "TopQueries",
    "TopUsers",
    "UsageChart",
    "Window",
    "sparkline",
    "users_of",
]

_MOST_ROWS = 20
_MOST_USERS = 10
_MOST_QUERIES = 5


@dataclass(frozen=True, slots=True)
class Window:
    """Points of a series in the last `days`, or all; `newest_millis` is the last point's moment
    where there is none in that time."""

    series: Timeseries
    days: int | None
    newest_millis: int | None = None

    @property
    def words(self) -> str:
        """The time it covers, as people say it."""
        if self.days is None:
            return "ever"
        return "in the last day" if self.days == 1 else f"in the last {self.days:,} days"

    def gaps(self, what: str) -> Iterator[Part]:
        """What there is to say where nothing was found, or the server stopped."""
        if not self.series.values:
            yield Say(f"no {what} {self.words}")
            if self.newest_millis is not None:
                at = moment(self.newest_millis, utc=True)
                yield Say(f"the newest is of {at}; days=None gives all there is")
        elif self.series.truncated:
            yield Say(f"the server stopped at {len(self.series.values):,} points, the newest")


@dataclass(frozen=True, repr=False)
class UsageChart(ShownChart):
    """How a dataset was used, window by window, oldest first.

    It shows queries and users over time and the columns used most: as a plotly figure in a live
    notebook, as a picture and a table in one that is only read, as text in a terminal.
    """

    name: str
    window: Window
    names: Mapping[Urn, str] = field(default_factory=dict, compare=False)
    entity: "EntityPage | None" = field(default=None, compare=False)

    @cached_property
    def points(self) -> tuple[DatasetUsageStatistics, ...]:
        """One for each window of time."""
        return self.window.series.usage()

    def __len__(self) -> int:
        return len(self.points)

    def to_frame(self) -> "pd.DataFrame":
        """A row for each window; see `explorer.frames.usage_frame`."""
        from explorer import frames

        return frames.usage_frame(self.window.series)

    def columns_to_frame(self) -> "pd.DataFrame":
        """A row for each window and column; see `explorer.frames.column_usage_frame`."""
        from explorer import frames

        return frames.column_usage_frame(self.window.series)

    @cached_property
    def top_users(self) -> "TopUsers":
        """Who queried it in all that time, most first."""
        windows = Counter(
            used.user or used.user_email or ""
            for point in self.points
            for used in point.user_counts
        )
        rows = [
            (user, name_of(user, self.names) or "unknown", count, windows[user])
            for user, count in self._added_up.users
        ]
        rows.sort(key=lambda row: (-row[2], row[1]))
        return TopUsers(self.name, self.window.words, tuple(rows))

    @cached_property
    def top_queries(self) -> "TopQueries":
        """The queries that were among the most frequent in most windows of that time."""
        counts: Counter[str] = Counter()
        for point in self.points:
            counts.update(dict.fromkeys(point.top_sql_queries, 1))
        ranked = sorted(counts.items(), key=lambda one: -one[1])
        return TopQueries(self.name, self.window.words, tuple(ranked), len(self.points))

    def users_to_frame(self) -> "pd.DataFrame":
        """A row for each window and user; see `explorer.frames.user_usage_frame`."""
        from explorer import frames

        return frames.user_usage_frame(self.window.series, self.names)

    def queries_to_frame(self) -> "pd.DataFrame":
        """A row for each window and frequent query; see `explorer.frames.query_usage_frame`."""
        from explorer import frames

        return frames.query_usage_frame(self.window.series)

    def figure(self, zone: Zone = "UTC") -> "go.Figure":
        """Queries and users over time, as a plotly figure, in UTC or in this machine's zone."""
        return self.over_time(zone).figure()

    def over_time(self, zone: Zone = "UTC") -> PanelChart:
        """Queries above, users below, over the same time."""
        at = [(point.at, point) for point in self.points]
        known = [(when, point) for when, point in at if when is not None]
        queries = with_gaps([(when, point.total_sql_queries) for when, point in known])
        users = with_gaps([(when, point.unique_user_count) for when, point in known])
        panels = (
            Lines("queries", (Line("queries", queries),)),
            Lines("users", (Line("users", users),)),
        )
        title = f"Usage of {self.name}, {self.window.words}"
        empty = f"no usage {self.window.words}"
        return PanelChart(title, panels, self.to_frame, self._summed_up(zone), empty, zone)

    def by_column(self, most: int = _MOST_ROWS) -> PanelChart:
        """How often each column was used in all that time, the most used first, at most so many."""
        if most < 1:
            raise InvalidInput("the number of columns to draw is 1 or more")
        panel = self._columns(most)
        title = f"Use by column of {self.name}, {self.window.words}"
        empty = f"no use of a column {self.window.words}"
        note = f"{sum(count for _, count in self._uses):,} uses of {len(self._uses):,} columns"
        return PanelChart(title, (panel,), self._uses_frame, note, empty)

    def by_user(self, most: int = _MOST_ROWS) -> PanelChart:
        """How many queries each user made in all that time, the most first, at most so many."""
        if most < 1:
            raise InvalidInput("the number of users to draw is 1 or more")
        users = self.top_users
        title = f"Use by user of {self.name}, {self.window.words}"
        empty = f"no user is told {self.window.words}"
        note = f"{sum(count for _, _, count, _ in users.rows):,} queries of {len(users):,} users"
        return PanelChart(title, (users.panel(most),), users.to_frame, note, empty)

    def controls(self) -> "UsageControls":
        """The chart with controls beside it: the range of time, and what is measured. No request
        until another range is chosen."""
        from explorer.notebook.widgets.usage_controls import UsageControls

        return UsageControls(self)

    def chart(self, zone: Zone = "UTC") -> PanelChart:
        """What it shows: queries and users over time, the columns used most, and by whom."""
        whole = self.over_time(zone)
        if not self._uses and not self.top_users:
            return whole
        columns = (self._columns(_MOST_ROWS),) if self._uses else ()
        users = (self.top_users.panel(_MOST_USERS),) if self.top_users else ()
        panels = (*whole.panels, *columns, *users)
        return PanelChart(whole.title, panels, whole.frame, whole.note, whole.empty, zone)

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
        whole = self.over_time()
        yield whole.picture(list(whole.sparklines()))
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
    def _added_up(self) -> usage.Usage:
        return usage.usage_of(self.window.series)

    @property
    def _uses(self) -> tuple[tuple[str, int], ...]:
        return self._added_up.columns

    def _uses_frame(self) -> "pd.DataFrame":
        return tabulated(self._uses, {"path": "string", "uses": "Int64"})

    def _columns(self, most: int) -> Bars:
        shown = self._uses[:most]
        bars = tuple(Bar(FieldPath(path).simple, count) for path, count in shown)
        of = f"{len(shown)} of {len(self._uses):,} used columns"
        return Bars(f"uses, {of}" if len(shown) < len(self._uses) else "uses by column", bars)

    def _totals(self) -> tuple[str, str]:
        queries = self._added_up.total
        if self.top_users:
            return f"{queries:,}", f"{len(self.top_users):,}"
        told = [one.unique_user_count for one in self.points if one.unique_user_count is not None]
        return f"{queries:,}", f"at most {max(told):,} at once" if told else "not measured"

    def _summed_up(self, zone: Zone) -> str:
        if not self.points:
            return ""
        queries, users = self._totals()
        times = _span([point.timestamp_millis for point in self.points], zone)
        return f"{queries} queries · users: {users} · {times}"


@dataclass(frozen=True, repr=False)
class TopUsers(ShownTable):
    """Who queried a dataset, most first: rows of who (a URN or an address), their name, how many
    queries, and in how many windows of time."""

    name: str
    when: str
    rows: tuple[tuple[str, str, int, int], ...]

    def __len__(self) -> int:
        return len(self.rows)

    def to_frame(self) -> "pd.DataFrame":
        """A row for each: `user` (a URN), `name`, `queries`, `windows`, most queries first."""
        return values.to_frame(self.table())

    def table(self) -> values.Table:
        """All of them."""
        columns = (
            TableColumn("user", audience="programs", dtype="string"),
            TableColumn("name", "user", style="bold", dtype="string"),
            TableColumn("queries", dtype="int64"),
            TableColumn("windows", audience="programs", dtype="int64"),
        )
        return values.Table(columns, self.rows)

    def panel(self, most: int) -> Bars:
        """The first of them as bars."""
        shown = self.rows[:most]
        of = f", {len(shown)} of {len(self):,} users" if len(shown) < len(self) else ""
        return Bars(f"queries by user{of}", tuple(Bar(name, count) for _, name, count, _ in shown))

    def parts(self) -> Iterator[Part]:
        yield Title(f"Users of {self.name}", f"{len(self):,} {self.when}")
        yield from table_parts(self.table(), _MOST_ROWS)


@dataclass(frozen=True, repr=False)
class TopQueries(ShownTable):
    """Queries that were among the most frequent, and in how many of the `windows` of time."""

    name: str
    when: str
    rows: tuple[tuple[str, int], ...]
    windows: int

    def __len__(self) -> int:
        return len(self.rows)

    def to_frame(self) -> "pd.DataFrame":
        """A row for each, most often among the top first: `query`, its text, and `windows`."""
        return values.to_frame(self.table())

    def table(self) -> values.Table:
        """All of them."""
        columns = (
            TableColumn("query", dtype="string"),
            TableColumn("windows", "times among the top", dtype="int64"),
        )
        return values.Table(columns, self.rows)

    def parts(self) -> Iterator[Part]:
        said = f"{len(self):,} {self.when}" if self.rows else f"none {self.when}"
        yield Title(f"Frequent queries of {self.name}", said)
        yield from table_parts(self.table(), _MOST_ROWS)


def users_of(window: Window) -> tuple[str, ...]:
    """Who is named in the points of a window of `datasetUsageStatistics`, each once."""
    users = (one.user for point in window.series.usage() for one in point.user_counts if one.user)
    return tuple(dict.fromkeys(users))


@dataclass(frozen=True, repr=False)
class ProfileChart(ShownChart):
    """What profiling measured of a dataset, profile by profile, oldest first.

    It shows rows and nulls over time and the columns of the newest profile. Charts leave profiles
    of parts of the table out where there are any of the whole, and say so.
    """

    name: str
    window: Window

    @cached_property
    def points(self) -> tuple[DatasetProfile, ...]:
        """One for each profile."""
        return self.window.series.profiles()

    def __len__(self) -> int:
        return len(self.points)

    def to_frame(self) -> "pd.DataFrame":
        """A row for each profile; see `explorer.frames.profile_frame`."""
        from explorer import frames

        return frames.profile_frame(self.window.series)

    def columns_to_frame(self) -> "pd.DataFrame":
        """A row for each profile and column; see `explorer.frames.column_profile_frame`."""
        from explorer import frames

        return frames.column_profile_frame(self.window.series)

    def chart(self, zone: Zone = "UTC") -> PanelChart:
        """Rows above; below, the share of nulls in those columns that have most."""
        nulls = profile.shares(self._measured, "nulls", ())
        panels = (self._rows(), *((nulls,) if nulls.lines else ()))
        return self._chart(f"Profile of {self.name}", panels, self.to_frame, zone)

    def sizes(self, zone: Zone = "UTC") -> PanelChart:
        """Rows, columns and bytes over time, those that were measured."""
        taken = self._measured.taken
        columns = with_gaps([(at, one.column_count) for at, one in taken])
        size = with_gaps([(at, one.size_in_bytes) for at, one in taken])
        panels = (
            self._rows(),
            Lines("columns", (Line("columns", columns),)),
            Lines("size", (Line("size", size),), "bytes", from_nothing=False),
        )
        measured = tuple(panel for panel in panels if panel.lines[0].values)
        title = f"Size of {self.name}"
        return self._chart(title, measured or panels[:1], self.to_frame, zone)

    def nulls(self, *columns: str, zone: Zone = "UTC") -> PanelChart:
        """The share of nulls over time, in the columns named or the six that have most.

        Columns are named by their path, whole or as people write it. Raises `UnknownName` for one
        that was not measured; so do the other charts of columns.
        """
        panel = profile.shares(self._measured, "nulls", columns)
        frame = partial(profile.shares_frame, panel)
        return self._chart(f"Nulls in {self.name}", (panel,), frame, zone)

    def unique(self, *columns: str, zone: Zone = "UTC") -> PanelChart:
        """The share of unique values over time, in the columns named or the six whose share moved
        furthest."""
        panel = profile.shares(self._measured, "unique values", columns)
        frame = partial(profile.shares_frame, panel)
        return self._chart(f"Unique values in {self.name}", (panel,), frame, zone)

    def values(self, column: str, most: int = _MOST_ROWS) -> PanelChart:
        """How often each value of a column is there, the most frequent first, at most so many, as
        it was measured last."""
        if most < 1:
            raise InvalidInput("the number of values to draw is 1 or more")
        return profile.frequencies(self._measured, column, most)

    def quantiles(self, column: str) -> PanelChart:
        """The quantiles of a column as they were measured last."""
        return profile.quantiles(self._measured, column)

    def histogram(self, column: str) -> PanelChart:
        """How many values of a column lie between each two boundaries, as measured last."""
        return profile.histogram(self._measured, column)

    def drift(
        self, days: int = 7, *, since: datetime | None = None, until: datetime | None = None
    ) -> DriftChart:
        """What moved between two of these profiles, ranked. No request.

        The later is the newest, or the newest not after `until`. The earlier is the newest that is
        so many days older, or not after `since`; where none is so old, the oldest there is.
        Moments are aware ones. Raises `InvalidInput` for others.
        """
        for given in (since, until):
            if given is not None and given.tzinfo is None:
                raise InvalidInput("a moment needs a time zone: datetime(…, tzinfo=UTC)")
        if days < 1:
            raise InvalidInput("the number of days between two profiles is 1 or more")
        taken = [one for one in self._measured.taken if until is None or one[0] <= until]
        if len(taken) < 2:
            return DriftChart(self.name, None, None)
        later = taken[-1]
        try:
            limit = later[0] - timedelta(days=days) if since is None else since
        except OverflowError:
            limit = taken[0][0]
        older = [one for one in taken[:-1] if one[0] <= limit]
        return DriftChart(self.name, (older or taken)[-1 if older else 0], later)

    def parts(self) -> Iterator[Part]:
        yield Title(f"Profile of {self.name}", self.window.words)
        yield from self.window.gaps("profile")
        if not self.points:
            return
        last = self._measured.newest or self.points[-1]
        yield Facts(
            [
                ("rows", Cell(_number(last.row_count))),
                ("columns", Cell(_number(last.column_count))),
                ("time", Cell(_span([point.timestamp_millis for point in self.points], "UTC"))),
            ]
        )
        if self._left_out:
            yield Say(self._left_out)
        whole = self.chart()
        yield whole.picture(list(whole.sparklines()))
        yield from grid_parts(
            ("column", "nulls", "distinct", "least", "most", "examples"),
            last.field_profiles or (),
            _column,
            numbers=("nulls", "distinct"),
            most=_MOST_ROWS,
            rest="columns; .columns_to_frame() has all",
        )

    @cached_property
    def _measured(self) -> Profiles:
        return read_profiles(self.window.series)

    @property
    def _left_out(self) -> str:
        parts = self._measured.parts
        return (
            f"{parts:,} {'profile' if parts == 1 else 'profiles'} of parts left out"
            if parts
            else ""
        )

    def _rows(self) -> Lines:
        points = with_gaps([(at, one.row_count) for at, one in self._measured.taken])
        return Lines("rows", (Line("rows", points),), from_nothing=False)

    def _chart(
        self,
        title: str,
        panels: "tuple[Lines, ...]",
        frame: Callable[[], "pd.DataFrame"],
        zone: Zone,
    ) -> PanelChart:
        millis = [point.timestamp_millis for point in self.points]
        note = " · ".join(said for said in (_span(millis, zone), self._left_out) if said)
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
        Cell(written(share, "share") if share is not None else _number(profile.null_count)),
        Cell(_number(profile.unique_count)),
        Cell(profile.min or ""),
        Cell(profile.max or ""),
        Cell(", ".join((profile.sample_values or ())[:3])),
    )


def _number(value: int | None) -> str:
    return "—" if value is None else f"{value:,}"
