"""Usage statistics and profiles as records and tables, and the tab of a chart over a list that
shows them.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import MAXYEAR, MINYEAR, UTC, datetime, timedelta, tzinfo
from typing import TYPE_CHECKING, ClassVar, Final, Generic, Literal, TypeVar, get_args

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.widgets import Static

from explorer.errors import CatalogError
from explorer.metadata.aspects import Camel, DatasetProfile, FieldProfile
from explorer.metadata.fieldpath import FieldPath
from explorer.metadata.urn import Urn
from explorer.tui.actions import bindings
from explorer.tui.screens.entity.tabs import View
from explorer.tui.session import Session
from explorer.tui.widgets.charts import Chart
from explorer.tui.widgets.rows import Rows
from explorer.views.table import Row, Table
from explorer.views.usage import Usage

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog
    from explorer.client.entity import Entity
    from explorer.client.records import Timeseries

__all__ = [
    "DRIFT_RULE",
    "ColumnHistory",
    "Drift",
    "Measure",
    "MeasurementRow",
    "ProfileHistory",
    "SeriesTab",
    "column_profile_table",
    "column_values_table",
    "compact",
    "profile_table",
    "read_profiles",
    "row_counts_table",
    "usage_by_day_table",
    "usage_table",
    "whole",
]

Measure = Literal["nulls", "distinct", "min", "max", "mean", "median"]
MEASURES: tuple[Measure, ...] = get_args(Measure)

DRIFT_RULE = "! marks nulls ±5 points in a week, rows or distinct ±25% (±1 if 20 or fewer)"
_P = TypeVar("_P")

_WEEK = timedelta(days=7)
_STILL = timedelta(days=2)
_NULL_POINTS = 0.05
_QUARTER = 0.25
_FEW = 20
_WHOLE = "FULL_TABLE_SNAPSHOT"


class _Partition(Camel, frozen=True):
    """Which part of a table was profiled."""

    partition: str = _WHOLE
    type: str = ""


class _Profile(DatasetProfile, frozen=True):
    """A profile with what is only shown here."""

    size_in_bytes: int | None = None
    partition_spec: _Partition | None = None

    @property
    def partial(self) -> bool:
        """Whether it is of a part of the table."""
        spec = self.partition_spec
        return spec is not None and spec.type != "FULL_TABLE" and spec.partition != _WHOLE


@dataclass(frozen=True, slots=True)
class Drift:
    """What is not as it was, in words, and the moment it is compared with."""

    words: str
    since: datetime


@dataclass(frozen=True, slots=True)
class ColumnHistory:
    """A column of the newest profile, in all profiles that have it, oldest first. `drift` is
    what moved since a week before, by the rule."""

    path: str
    points: tuple[tuple[datetime, FieldProfile], ...]
    drift: Drift | None

    @property
    def newest(self) -> FieldProfile:
        """What was measured last."""
        return self.points[-1][1]

    def values(self, measure: Measure) -> Iterator[tuple[datetime, float]]:
        """A measure over time, where it is a number: nulls as a share, 0 to 1."""
        for at, field in self.points:
            value = _number(field, measure)
            if value is not None:
                yield at, value

    @property
    def measures(self) -> tuple[Measure, ...]:
        """What can be drawn of it."""
        return tuple(one for one in MEASURES if any(True for _ in self.values(one)))


@dataclass(frozen=True, slots=True)
class ProfileHistory:
    """The profiles of a time, oldest first, and the columns of the newest.

    Where there are profiles of the whole table those of parts are left out; `parts` is how many.
    `limit` is set where the server stopped there.
    """

    profiles: tuple[tuple[datetime, _Profile], ...]
    columns: tuple[ColumnHistory, ...]
    parts: int
    limit: int | None

    @property
    def newest(self) -> _Profile:
        """What was measured last."""
        return self.profiles[-1][1]

    @property
    def rows(self) -> tuple[tuple[datetime, int], ...]:
        """The number of rows where it was told."""
        return tuple((at, one.row_count) for at, one in self.profiles if one.row_count is not None)

    @property
    def drift(self) -> Drift | None:
        """How the number of rows moved since a week before, by the rule; or that it did not move
        for two days or longer, where it moved before."""
        if not self.rows:
            return None
        at, newest = self.rows[-1]
        before = _week_before(self.rows)
        if before is not None and _moved(before[1], newest) >= _QUARTER:
            return Drift(f"rows {before[1]:,} → {newest:,}", before[0])
        same = at
        for then, count in reversed(self.rows):
            if count != newest:
                return Drift("rows the same", same) if at - same >= _STILL else None
            same = then
        return None


def read_profiles(series: "Timeseries") -> ProfileHistory:
    """The profiles of a series, by column too."""
    read = [(one.at, one) for one in series.records(_Profile)]
    # The calendar's first and last year have no such day in every zone.
    ends = (MINYEAR, MAXYEAR)
    known = [(at, one) for at, one in read if at is not None and at.year not in ends]
    entire = [(at, one) for at, one in known if not one.partial]
    kept = entire or known
    columns: dict[str, list[tuple[datetime, FieldProfile]]] = {}
    for at, profile in kept:
        for field in profile.field_profiles or ():
            columns.setdefault(field.field_path, []).append((at, field))
    newest = kept[-1][1].field_profiles or () if kept else ()
    histories = [
        ColumnHistory(path, tuple(columns[path]), _drift(columns[path]))
        for path in dict.fromkeys(field.field_path for field in newest)
    ]
    return ProfileHistory(
        tuple(kept),
        tuple(histories),
        len(known) - len(kept),
        series.limit if series.truncated else None,
    )


def _number(field: FieldProfile, measure: Measure) -> float | None:
    if measure == "nulls":
        return field.null_proportion
    if measure == "distinct":
        return field.unique_count
    return field.number(measure)


def _drift(points: Sequence[tuple[datetime, FieldProfile]]) -> Drift | None:
    before = _week_before(points)
    if before is None:
        return None
    at, old = before
    new = points[-1][1]
    found = []
    was, now = old.null_proportion, new.null_proportion
    if was is not None and now is not None and abs(now - was) >= _NULL_POINTS:
        found.append(f"nulls {was:.1%} → {now:.1%}")
    few, many = old.unique_count, new.unique_count
    if few is not None and many is not None:
        any_counts = max(few, many) <= _FEW and few != many
        if any_counts or _moved(few, many) >= _QUARTER:
            found.append(f"distinct values {few:,} → {many:,}")
    return Drift(", ".join(found), at) if found else None


def _moved(before: int, after: int) -> float:
    return abs(after - before) / before if before else float(after != before)


def _week_before(points: Sequence[tuple[datetime, _P]]) -> tuple[datetime, _P] | None:
    """The newest point a week or more older than the last."""
    last = points[-1][0]
    return next((one for one in reversed(points) if last - one[0] >= _WEEK), None)


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


def usage_table(name: str, use: Usage, names: Mapping[Urn, str]) -> Table:
    """What was used, by whom, with which queries: each with how often, and a query with the number
    of days on which it was among the most asked."""

    def found() -> Iterator[Row]:
        for path, count in use.columns:
            yield "column", path, FieldPath(path).simple, count, None
        for user, count in use.users:
            urns = Urn.parse_all([user])
            yield "user", user, names.get(urns[0], urns[0].name) if urns else user, count, None
        for query, days in use.queries:
            yield "query", query, None, None, days

    columns = ("kind", "value", "name", use.measure, "days_among_top")
    return Table.of(f"{name} usage", columns, list(found()))


def usage_by_day_table(name: str, use: Usage) -> Table:
    """The use by day of UTC, the newest first."""
    rows: list[Row] = [(day.day.isoformat(), day.count, day.users) for day in reversed(use.days)]
    return Table.of(f"{name} usage by day", ("day", use.measure, "users"), rows)


def profile_table(name: str, data: ProfileHistory) -> Table:
    """The columns as they were measured last, with what moved in the week before."""
    at = _moment(data.profiles[-1][0]) if data.profiles else None
    rows: list[Row] = [
        (
            one.path,
            FieldPath(one.path).simple,
            at,
            *_numbers(one.newest),
            tuple(one.newest.sample_values or ()),
            one.drift.words if one.drift else None,
        )
        for one in data.columns
    ]
    columns = ("path", "name", "measured", *_NUMBERS, "sample_values", "moved")
    return Table.of(f"{name} profile", columns, rows)


def row_counts_table(name: str, data: ProfileHistory) -> Table:
    """The profiles, the newest first."""
    rows: list[Row] = [
        (_moment(at), one.row_count, one.column_count, one.size_in_bytes)
        for at, one in reversed(data.profiles)
    ]
    columns = ("measured", "rows", "columns", "size_in_bytes")
    return Table.of(f"{name} profile over time", columns, rows)


def column_profile_table(name: str, column: ColumnHistory) -> Table:
    """One column at every moment at which it was measured, the newest first."""
    rows: list[Row] = [(_moment(at), *_numbers(field)) for at, field in reversed(column.points)]
    title = f"{name} {FieldPath(column.path).simple} profile over time"
    return Table.of(title, ("measured", *_NUMBERS), rows)


def column_values_table(name: str, column: ColumnHistory) -> Table:
    """The values of one column: those counted, the most frequent first, and those seen."""
    newest = column.newest
    counted = sorted(newest.distinct_value_frequencies or (), key=lambda one: -one.frequency)
    rows: list[Row] = [("value", one.value, one.frequency) for one in counted]
    rows += [("sample", value, None) for value in newest.sample_values or ()]
    title = f"{name} {FieldPath(column.path).simple} values"
    return Table.of(title, ("kind", "value", "frequency"), rows)


def _numbers(field: FieldProfile) -> Row:
    return tuple(getattr(field, name) for name in _NUMBERS)


def _moment(at: datetime) -> str:
    return at.astimezone(UTC).isoformat()


_TIMES: tuple[int | None, ...] = (7, 30, 90, None)
_LEAST_FOR_CHART = 12
_LEAST_FOR_TOTALS = 4
_LEAST_FOR_RULE = 20
_CHART_MOST = 13
_NARROW = 84
_READING = "reading …"
_PREFIXES = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e4, "k"))

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class MeasurementRow:
    """A row of the list below the chart: how it is drawn, and what choosing it does."""

    draw: Callable[[int], Text]
    choose: Callable[[], None] | None = None


class SeriesTab(Vertical, View, Generic[T]):
    """Measurements in the last days: a line of totals, a chart, and a list with the keys.

    Left and right move the chart's cursor while up and down move in the list. A time once asked
    for is kept until the entity is read again.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings("series")
    DEFAULT_CSS = """
    SeriesTab > .totals { height: 1; padding: 0 1; }
    SeriesTab > .heading { height: 1; color: $text-muted; }
    SeriesTab > .detail { height: 3; padding: 0 1; border-top: solid $border-blurred; }
    """

    WHAT: ClassVar[str]
    """What was measured, in a sentence."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session
        self._entity: Entity | None = None
        self._held: dict[int | None, T] = {}
        self._days: int | None = 30
        self._as_table = False
        self._lines: Sequence[MeasurementRow] = ()

    def compose(self) -> ComposeResult:
        """Totals, chart, what the list's columns are called, the list, and the row looked at."""
        yield Static("", classes="totals", markup=False)
        yield Chart()
        yield Static("", classes="heading", markup=False)
        yield Rows()
        yield Static("", classes="detail", markup=False)

    @abstractmethod
    async def ask(self, catalog: "AsyncCatalog", entity: "Entity", days: int | None) -> T:
        """What was measured in the last `days`, or ever."""

    @abstractmethod
    def draw(self, data: T) -> None:
        """Show what was measured."""

    def show_entity(self, entity: "Entity", *, keep: bool) -> None:
        """Forget what was measured of another entity, or before."""
        self._entity = entity
        self._held.clear()
        if not keep:
            self._say(_READING)

    def focus_content(self) -> None:
        """Give the list the keys."""
        self.screen.set_focus(self.query_one(Rows))

    async def read(self, entity: "Entity") -> None:
        """Ask for the time looked at and show it."""
        days = self._days
        try:
            data = await self.ask(await self._session.catalog(), entity, days)
        except CatalogError:
            if entity is self._entity and days == self._days:
                self._say("It could not be read; r tries again.")
            raise
        if entity is not self._entity:
            return
        self._held[days] = data
        if days == self._days:
            self.draw(data)

    def action_earlier(self) -> None:
        """The chart's cursor to the measurement before."""
        self.query_one(Chart).move(-1)

    def action_later(self) -> None:
        """The chart's cursor to the measurement after."""
        self.query_one(Chart).move(1)

    def action_shorter(self) -> None:
        """Look at a shorter time."""
        self._look_at(_TIMES.index(self._days) - 1)

    def action_longer(self) -> None:
        """Look at a longer time."""
        self._look_at(_TIMES.index(self._days) + 1)

    def action_table(self) -> None:
        """The same numbers as a table, or as a chart again."""
        self._as_table = not self._as_table
        self._redraw()

    def show_times(self) -> None:
        """Say times in the zone that was turned to."""
        self._redraw()

    def on_resize(self) -> None:
        """The chart takes its share of the height, and where there is little it is a line."""
        height = self.size.height
        roomy = height >= _LEAST_FOR_CHART
        chart = min(_CHART_MOST, max(6, height * 2 // 5)) if roomy else 1
        self.query_one(".totals").display = height >= _LEAST_FOR_TOTALS
        self.query_one(Chart).styles.height = chart
        detail = self.query_one(".detail")
        detail.display = roomy and self.has_detail
        # A line of its own for the rule of what is marked, and the border above.
        detail.styles.height = 4 if height >= _LEAST_FOR_RULE else 3
        # What there is room for changes with the width, once that of all parts is known.
        self.call_after_refresh(self._redraw)

    has_detail: ClassVar[bool] = False

    def show_lines(self, lines: Sequence[MeasurementRow], *, heading: Text | None = None) -> None:
        """Show a list below the chart, from its top unless it is the same again."""
        rows = self.query_one(Rows)
        cursor = rows.cursor if len(lines) == len(self._lines) else 0
        self._lines = lines
        # A list without a detail line or headings has the room for itself.
        title = self.query_one(".heading", Static)
        title.display = heading is not None
        title.update(heading or "")
        rows.show(len(lines), lambda index, width: (lines[index].draw(width),), cursor=cursor)

    def show_totals(self, totals: Text) -> None:
        """Say the totals, and at the right which time is looked at."""
        width = self.query_one(".totals").content_size.width or self.room.width - 2
        times = Text()
        for days in _TIMES if width > _NARROW else (self._days,):
            name = "all" if days is None else str(days)
            chosen = days == self._days
            times.append(f"[{name}]" if chosen else f" {name} ", "bold" if chosen else "dim")
        times.append(" days", "dim")
        totals.truncate(max(width - times.cell_len - 1, 0), overflow="ellipsis", pad=True)
        self.query_one(".totals", Static).update(totals.append(" ").append_text(times))

    def say_nothing_measured(self, what: str) -> None:
        """Say that there is nothing in the time looked at."""
        if self._days is None:
            self._say(f"{what} was ever measured of this one.")
        else:
            self._say(f"{what} was measured in the last {self._days} days; > looks further back.")

    @property
    def local(self) -> tzinfo | None:
        """The zone in which times are said; nothing for that of this machine."""
        return UTC if self._session.times.utc else None

    def said_moment(self, at: datetime) -> str:
        """A moment in the zone looked at; in UTC that is said with it."""
        return self._session.times.said(round(at.timestamp() * 1000))

    def first_moment(self, of: datetime) -> datetime:
        """Where the time looked at begins; all of it begins with the first measurement, `of`."""
        if self._days is None:
            return of
        today = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        return min(of, today - timedelta(days=self._days - 1))

    def last_moment(self, of: datetime) -> datetime:
        """Where the time looked at ends: today, or with all of it the last measurement, `of`."""
        return of if self._days is None else max(of, datetime.now(UTC))

    @on(Rows.Chosen)
    def _choose(self, event: Rows.Chosen) -> None:
        event.stop()
        choose = self._lines[event.index].choose
        if choose is not None:
            choose()

    def _look_at(self, at: int) -> None:
        if not 0 <= at < len(_TIMES):
            return
        self._days = _TIMES[at]
        if self._days in self._held:
            self._redraw()
        else:
            self.show_totals(Text(_READING, "dim italic"))
            self._read_again()

    @work(exclusive=True, group="series")
    async def _read_again(self) -> None:
        if self._entity is not None:
            doing = f"reading the {self.WHAT} of {self._entity.urn.name}"
            with self._session.reporting(doing):
                await self.read(self._entity)

    def _redraw(self) -> None:
        held = self._held.get(self._days)
        if held is not None:
            self.draw(held)

    def _say(self, sentence: str) -> None:
        """Show nothing but a sentence."""
        self._lines = ()
        self.show_totals(Text())
        self.query_one(Chart).display = False
        self.query_one(".heading").display = False
        self.query_one(".detail", Static).update("")
        rows = self.query_one(Rows)
        rows.show(0, lambda *_: (), empty=sentence)


def whole(value: float | None) -> str:
    """A whole number, or that it is not known."""
    return "—" if value is None else f"{value:,.0f}"


def compact(value: float) -> str:
    """A number for an axis: short, with as many digits as neighbours on an axis differ by."""
    size = abs(value)
    for unit, prefix in _PREFIXES:
        if size >= unit:
            return f"{value / (1e3 if prefix == 'k' else unit):,.4g} {prefix}"
    return f"{value:,.4g}" if size % 1 else f"{value:,.0f}"
