"""The tabs that show measurements over time: their base, with totals, a chart and a list; the usage
tab (queries by day, columns, users and the queries themselves); and the profile tab (rows over
time, the columns of the newest profile, and one column in full).
"""

import asyncio
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.message import Message
from textual.widgets import Static

from explorer.client.display import counted
from explorer.errors import CatalogError
from explorer.metadata.aspects import FieldProfile
from explorer.metadata.fieldpath import FieldPath
from explorer.metadata.proposal import millis_of
from explorer.metadata.urn import Urn
from explorer.tui.actions import bindings
from explorer.tui.content import block, join, line_text, padded
from explorer.tui.session import TerminalSession
from explorer.tui.widgets.charts import ChartWidget, Plot, Point, bar_text, sparkline
from explorer.tui.widgets.rows import Rows
from explorer.tui.widgets.tabs import TRIES_AGAIN, View
from explorer.views.absence import LOADING, UNKNOWN
from explorer.views.chart import Panel, PanelRow, compact, full_number, panel_rows
from explorer.views.timeseries import (
    ColumnHistory,
    ColumnMeasures,
    Drift,
    Measure,
    Profiles,
    Usage,
    UsageDay,
    column_panels,
    column_profile_table,
    column_values_table,
    profile_table,
    read_profiles,
    row_counts_table,
    usage_by_day_table,
    usage_of,
    usage_panels,
    usage_table,
)

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog
    from explorer.client.entity import Entity
    from explorer.client.records import Timeseries
    from explorer.views.table import Table

_TIMES: tuple[int | None, ...] = (7, 30, 90, None)
_LEAST_FOR_CHART = 12
_LEAST_FOR_TOTALS = 4
_LEAST_FOR_RULE = 20
_CHART_MOST = 13
_NARROW = 84

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class MeasurementRow:
    """A row of the list below the chart: `draw` draws it, `choose` is called when it is chosen."""

    draw: Callable[[int], Text]
    choose: Callable[[], None] | None = None


def text_row(text: str | Text) -> MeasurementRow:
    """Return a row of text."""
    row = Text(text) if isinstance(text, str) else text
    return MeasurementRow(lambda _: row.copy())


def heading_row(title: str, remark: str) -> MeasurementRow:
    """Return a heading row with a title and a remark."""
    return text_row(Text.assemble(" ", (title, "bold"), (f"  {remark}", "dim")))


def panel_lines(
    panel: Panel, choose: Callable[[str], Callable[[], None] | None] = lambda _: None
) -> Iterator[MeasurementRow]:
    """Yield the rows of a panel, each with a name, a number, and a bar or a trend.

    `choose` returns, for the key of a row, the function that choosing the row calls.
    """
    rows = list(panel_rows(panel))
    digits = max((len(row.number) for row in rows), default=0)
    return (
        MeasurementRow(partial(_draw_row, row, max(digits, 4)), choose(row.key)) for row in rows
    )


def _draw_row(row: PanelRow, digits: int, width: int) -> Text:
    long = min(36, max(12, width * 2 // 5))
    text = Text("   ").append_text(padded(line_text(row.name), long))
    text.append(f" {row.number:>{digits}} ")
    room = max(width - long - digits - 6, 4)
    return text.append(row.trend[-room:] if row.share is None else bar_text(row.share, room))


class SeriesTab(Vertical, View, Generic[T]):
    """The base of tabs with measurements of the last days: a line of totals, a chart, and a list
    that has the focus.

    Left and right move the cursor of the chart; up and down move in the list. The measurements of
    each range are kept until the entity is read again.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings("series")
    DEFAULT_CSS = """
    SeriesTab > .totals { height: 1; padding: 0 1; }
    SeriesTab > .heading { height: 1; color: $text-muted; }
    SeriesTab > .detail { height: 3; padding: 0 1; border-top: solid $border-blurred; }
    """

    WHAT: ClassVar[str]
    """What is measured, as a phrase for messages."""

    def __init__(self, session: TerminalSession) -> None:
        super().__init__()
        self._session = session
        self._entity: Entity | None = None
        self._cached: dict[int | None, T] = {}
        self._days: int | None = 30
        self._as_table = False
        self._lines: Sequence[MeasurementRow] = ()

    def compose(self) -> ComposeResult:
        """Yield totals, chart, headings, the list, and the details."""
        yield Static("", classes="totals", markup=False)
        yield ChartWidget()
        yield Static("", classes="heading", markup=False)
        yield Rows()
        yield Static("", classes="detail", markup=False)

    @abstractmethod
    async def ask(self, catalog: "AsyncCatalog", entity: "Entity", days: int | None) -> T:
        """Read and return the measurements of the last `days`, or all if `days` is None."""

    @abstractmethod
    def draw(self, data: T) -> None:
        """Show the measurements."""

    def show_entity(self, entity: "Entity", *, keep: bool) -> None:
        """Clear the measurements of the previous entity."""
        self._entity = entity
        self._cached.clear()
        if not keep:
            self._say(LOADING.phrase)

    def focus_content(self) -> None:
        """Focus the list."""
        self.screen.set_focus(self.query_one(Rows))

    async def read(self, entity: "Entity") -> None:
        """Read the measurements of the chosen range, and show them."""
        days = self._days
        try:
            data = await self.ask(await self._session.catalog(), entity, days)
        except CatalogError:
            if entity is self._entity and days == self._days:
                self._say(TRIES_AGAIN)
            raise
        if entity is not self._entity:
            return
        self._cached[days] = data
        if days == self._days:
            self.draw(data)

    def action_earlier(self) -> None:
        """Move the chart's cursor to the previous measurement."""
        self.query_one(ChartWidget).move(-1)

    def action_later(self) -> None:
        """Move the chart's cursor to the next measurement."""
        self.query_one(ChartWidget).move(1)

    def action_shorter(self) -> None:
        """Show fewer days."""
        self._choose_range(_TIMES.index(self._days) - 1)

    def action_longer(self) -> None:
        """Show more days."""
        self._choose_range(_TIMES.index(self._days) + 1)

    def action_table(self) -> None:
        """Switch between the table and the chart."""
        self._as_table = not self._as_table
        self._redraw()

    def show_times(self) -> None:
        """Show times in the chosen zone."""
        self._redraw()

    def on_resize(self) -> None:
        """Fit the chart to the height; on a low screen it is one line."""
        height = self.size.height
        roomy = height >= _LEAST_FOR_CHART
        chart = min(_CHART_MOST, max(6, height * 2 // 5)) if roomy else 1
        self.query_one(".totals").display = height >= _LEAST_FOR_TOTALS
        self.query_one(ChartWidget).styles.height = chart
        detail = self.query_one(".detail")
        detail.display = roomy and self.has_detail
        # One line for the legend of the marks, and one for the border above.
        detail.styles.height = 4 if height >= _LEAST_FOR_RULE else 3
        # Redraw for the new width, once the widths of all parts are known.
        self.call_after_refresh(self._redraw)

    has_detail: ClassVar[bool] = False

    def show_lines(self, lines: Sequence[MeasurementRow], *, heading: Text | None = None) -> None:
        """Show a list below the chart. The cursor stays if the list has as many rows as before."""
        rows = self.query_one(Rows)
        cursor = rows.cursor if len(lines) == len(self._lines) else 0
        self._lines = lines
        # Without a heading, the list has its line, too.
        title = self.query_one(".heading", Static)
        title.display = heading is not None
        title.update(heading or "")
        rows.show(len(lines), lambda index, width: (lines[index].draw(width),), cursor=cursor)

    def show_totals(self, totals: Text) -> None:
        """Show the totals, and at the right the ranges to choose from."""
        width = self.query_one(".totals").content_size.width or self.room.width - 2
        times = Text()
        for days in _TIMES if width > _NARROW else (self._days,):
            name = "all" if days is None else str(days)
            chosen = days == self._days
            times.append(f"[{name}]" if chosen else f" {name} ", "bold" if chosen else "dim")
        times.append(" days", "dim")
        totals.truncate(max(width - times.cell_len - 1, 0), overflow="ellipsis", pad=True)
        self.query_one(".totals", Static).update(totals.append(" ").append_text(times))

    def show_nothing_measured(self, what: str) -> None:
        """Show that there are no measurements in the range."""
        if self._days is None:
            self._say(f"{what} was ever recorded for this entity.")
        else:
            self._say(f"{what} was recorded in the last {self._days} days; > shows more days.")

    @property
    def local(self) -> tzinfo | None:
        """Return the zone for times; None for local time."""
        return UTC if self._session.times.utc else None

    def format_moment(self, at: datetime) -> str:
        """Format a time in the chosen zone, followed by “UTC” if the zone is UTC."""
        return self._session.times.format(millis_of(at))

    def first_moment(self, of: datetime) -> datetime:
        """Return the start of the range, or of the measurements if they start earlier; without a
        limit, `of`, the time of the first measurement."""
        if self._days is None:
            return of
        today = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        return min(of, today - timedelta(days=self._days - 1))

    def last_moment(self, of: datetime) -> datetime:
        """Return the end of the range: now, or without a limit `of`, the time of the last
        measurement."""
        return of if self._days is None else max(of, datetime.now(UTC))

    @on(Rows.Chosen)
    def _choose(self, event: Rows.Chosen) -> None:
        event.stop()
        choose = self._lines[event.index].choose
        if choose is not None:
            choose()

    def _choose_range(self, at: int) -> None:
        if not 0 <= at < len(_TIMES):
            return
        self._days = _TIMES[at]
        if self._days in self._cached:
            self._redraw()
        else:
            self.show_totals(Text(LOADING.phrase, "dim italic"))
            self._read_again()

    @work(exclusive=True, group="series")
    async def _read_again(self) -> None:
        if self._entity is not None:
            doing = f"reading the {self.WHAT} of {self._entity.urn.name}"
            with self._session.reporting(doing):
                await self.read(self._entity)

    def _redraw(self) -> None:
        measurements = self._cached.get(self._days)
        if measurements is not None:
            self.draw(measurements)

    def _say(self, sentence: str) -> None:
        """Show a sentence in place of all content."""
        self._lines = ()
        self.show_totals(Text())
        self.query_one(ChartWidget).display = False
        self.query_one(".heading").display = False
        self.query_one(".detail", Static).update("")
        rows = self.query_one(Rows)
        rows.show(0, lambda *_: (), empty=sentence)


def format_count(value: float | None) -> str:
    """Return a number as a whole number with separators, or a mark if it is not known."""
    return UNKNOWN.mark if value is None else f"{value:,.0f}"


_NAMED_AT_MOST = 50
_QUERY_LINES_AT_MOST = 200


class UsageTab(SeriesTab[Usage]):
    """The usage tab: queries by day as bars, and below columns, users and queries, most used
    first."""

    WHAT: ClassVar[str] = "usage"

    @dataclass
    class ColumnChosen(Message):
        """Asks to show a used column under Columns."""

        path: str

    def __init__(self, session: TerminalSession) -> None:
        super().__init__(session)
        self._unfolded: set[str] = set()

    def show_entity(self, entity: "Entity", *, keep: bool) -> None:
        """Clear the measurements, and collapse all queries."""
        super().show_entity(entity, keep=keep)
        if not keep:
            self._unfolded.clear()

    async def ask(self, catalog: "AsyncCatalog", entity: "Entity", days: int | None) -> Usage:
        """Read the usage and the names of the users: two requests."""
        series = await catalog.usage(entity.urn, days=days)
        use = await asyncio.to_thread(usage_of, series)
        users = Urn.parse_all(user for user, _ in use.users[:_NAMED_AT_MOST])
        await self._session.read_names(users)
        return use

    def draw(self, use: Usage) -> None:
        """Show a chart above a list, or a table of days."""
        if not use.days:
            self.show_nothing_measured("No use")
            return
        chart = self.query_one(ChartWidget)
        chart.display = not self._as_table
        chart.show(self._plot(use), lambda index: self._read_out(use, index))
        self.show_totals(_totals(use))
        if self._as_table:
            self._show_table(use)
        else:
            self.show_lines(list(self._list(use)))

    def table(self) -> "Table | None":
        """Return the shown numbers as a table for a file: of columns, users and queries, or of
        days."""
        usage = self._cached.get(self._days)
        if self._entity is None or usage is None:
            return None
        name = self._entity.name
        return (
            usage_by_day_table(name, usage)
            if self._as_table
            else usage_table(name, usage, self._session.names)
        )

    def _plot(self, use: Usage) -> Plot:
        points = tuple(Point(day.at, day.count) for day in use.days)
        first, last = points[0].at, points[-1].at
        return Plot("bars", points, self.first_moment(first), self.last_moment(last), compact)

    def _read_out(self, use: Usage, index: int) -> Text:
        day = use.days[index]
        return join(
            [
                Text.assemble((f"{day.day:%a} {day.day}", "bold"), " ", self._zone(day)),
                Text(f"{day.count:,} {use.measure}", "bold"),
                Text("" if day.users is None else counted(day.users, "user")),
            ]
        )

    def _zone(self, day: UsageDay) -> Text:
        """Return the note that a day begins at midnight UTC, with the local time of that if it
        differs."""
        shift = day.at.astimezone().utcoffset()
        if self._session.times.utc or not shift:
            return Text("UTC", "dim")
        return Text(f"UTC, here from {day.at.astimezone():%a %H:%M}", "dim")

    def _show_table(self, use: Usage) -> None:
        """Show the usage of each day as a table."""
        most = max(day.count for day in use.days) or 1
        digits = max(len(f"{most:,}"), len(use.measure))

        def row(day: UsageDay) -> MeasurementRow:
            def draw(width: int) -> Text:
                users = format_count(day.users)
                start = f"  {day.day:%a} {day.day}  {day.count:>{digits},}  {users:>6}  "
                return Text(start).append(
                    bar_text(day.count / most, max(width - len(start) - 1, 4))
                )

            return MeasurementRow(draw)

        heading = Text(f"  {'day, UTC':<14}  {use.measure:>{digits}}  {'users':>6}")
        self.show_lines([row(day) for day in reversed(use.days)], heading=heading)

    def _list(self, use: Usage) -> Iterator[MeasurementRow]:
        """Yield the rows of columns, users and queries."""
        paths = {path for path, _ in use.columns}
        schema = self._entity.schema if self._entity else ()
        leaves = {column.path.simple for column in schema if not column.children}

        def choose(key: str) -> Callable[[], None] | None:
            return partial(self._open_column, key) if key in paths else None

        for panel in usage_panels(use, self._session.names, leaves):
            opens = leaves and any(row.key in paths for row in panel_rows(panel))
            yield heading_row(panel.title, f"{panel.note}{'; ⏎ opens the column' * bool(opens)}")
            yield from panel_lines(panel, choose)
        if use.queries:
            yield heading_row("Queries", f"{len(use.queries):,} among the most frequent of a day")
            for query, days in use.queries:
                yield from self._query(query, days)

    def _query(self, query: str, days: int) -> Iterator[MeasurementRow]:
        """Yield the rows of a query: its beginning, or all of it if it is expanded."""
        unfolded = query in self._unfolded
        lines = block(query).splitlines()[:_QUERY_LINES_AT_MOST]

        def draw(width: int) -> Text:
            days_text = f"  on {counted(days, 'day')}"
            fold = "▾" if unfolded else "▸"
            text = Text().append(f"   {fold} ", "dim")
            text.append_text(
                padded(line_text(query, "dim" if unfolded else ""), width - len(days_text) - 6)
            )
            return text.append(days_text, "dim")

        def toggle() -> None:
            self._unfolded ^= {query}
            rows = self.query_one(Rows)
            cursor = rows.cursor
            self._redraw()
            # Scroll to the end of the expanded query and back, so that it is visible.
            rows.move_to(cursor + len(lines) if query in self._unfolded else cursor)
            rows.move_to(cursor)

        yield MeasurementRow(draw, toggle)
        if unfolded:
            for text in lines:
                yield text_row(f"       {text}")

    def _open_column(self, path: str) -> None:
        self.post_message(self.ColumnChosen(path))


def _totals(use: Usage) -> Text:
    days = counted(len(use.days), "day")
    return join(
        [
            Text(f"{use.total:,} {use.measure}", "bold"),
            Text(f"by {counted(len(use.users), 'user')}" if use.users else ""),
            Text(f"on {days} measured", "dim"),
            Text("" if use.limit is None else f"the newest {use.limit:,} only", "bold italic"),
        ]
    )


_DRIFT_RULE = "! marks nulls ±5 points in a week, rows or distinct ±25% (±1 if 20 or fewer)"

_NAME_AT_LEAST = 14
_NAME_AT_MOST = 32
_SPARK = 12
_SPARK_NARROW = 6
_MOMENT = 20
# The full height of the sparkline of nulls is at least this share, so that small shares look small.
_SHARE_AT_LEAST = 0.2
# The widths of the numbers, the most important first.
_WIDTHS = {"nulls": 7, "distinct": 11, "min": 12, "max": 12, "mean": 10, "median": 10}
_NUMBERS = ("min", "max", "mean", "median")


class ColumnTable:
    """Draws the columns of a profile: name, numbers, and the nulls over time."""

    def __init__(self, columns: Sequence[ColumnHistory]) -> None:
        self._longest = max((len(FieldPath(column.path).simple) for column in columns), default=0)
        newest = [field for column in columns for _, field in column.points[-1:]]
        # Numbers that no column has take no room.
        self._shown_names = [
            name
            for name in _WIDTHS
            if name not in _NUMBERS or any(_text(field, name) for field in newest)
        ]

    def heading(self, width: int) -> Text:
        """Return the headings of the table."""
        name_width, spark_width, headings = self._layout(width)
        text = Text(f"   {'column':<{name_width}}")
        for heading in headings:
            text.append(f" {heading:>{_WIDTHS[heading]}}")
        return text.append(f"  {'nulls trend' if spark_width == _SPARK else 'trend'}")

    def draw(self, column: ColumnHistory, width: int) -> Text:
        """Return the line of a column: a mark if it drifted, its newest numbers, and its nulls over
        time."""
        name_width, spark_width, headings = self._layout(width)
        text = Text().append(" ! " if column.drift else "   ", "bold")
        text.append_text(padded(line_text(FieldPath(column.path).simple), name_width))
        text.append_text(_cells(column.newest, headings)).append("  ")
        nulls = [field.null_proportion for _, field in column.points]
        return text.append(sparkline(nulls, spark_width, _SHARE_AT_LEAST), "dim")

    def heading_at(self, width: int) -> Text:
        """Return the headings of the table that shows one column over time."""
        text = Text(f"  {'measured':<{_MOMENT}}")
        for heading in self._names_within(width - _MOMENT - 2):
            text.append(f" {heading:>{_WIDTHS[heading]}}")
        return text

    def draw_at(self, moment: str, field: FieldProfile, width: int) -> Text:
        """Return a line with the measurements of a column at one time."""
        text = Text(f"  {moment:<{_MOMENT}}")
        return text.append_text(_cells(field, self._names_within(width - _MOMENT - 2)))

    def _layout(self, width: int) -> tuple[int, int, list[str]]:
        """Return the widths of names and sparklines, and the numbers that fit."""
        spark_width = _SPARK if width >= 70 else _SPARK_NARROW
        name_width = max(_NAME_AT_LEAST, min(self._longest, _NAME_AT_MOST, width // 3))
        headings = self._names_within(width - name_width - spark_width - 6)
        spare = (
            width - name_width - spark_width - 6 - sum(_WIDTHS[heading] + 1 for heading in headings)
        )
        return (
            min(name_width + max(spare, 0), max(self._longest, _NAME_AT_LEAST)),
            spark_width,
            headings,
        )

    def _names_within(self, room: int) -> list[str]:
        names = []
        for name in self._shown_names:
            room -= _WIDTHS[name] + 1
            if room < 0:
                break
            names.append(name)
        return names


share = partial(full_number, unit="share")
size_text = partial(full_number, unit="bytes")


def _cells(field: FieldProfile, names: Sequence[str]) -> Text:
    text = Text()
    for name in names:
        value = line_text(_text(field, name), missing=UNKNOWN.mark)
        value.truncate(_WIDTHS[name], overflow="ellipsis")
        text.append(" " * (_WIDTHS[name] - value.cell_len + 1)).append_text(value)
    return text


def _text(field: FieldProfile, name: str) -> str:
    """Return a number of a column's profile as text."""
    match name:
        case "nulls":
            if field.null_proportion is not None:
                return share(field.null_proportion)
            return "" if field.null_count is None else format_count(field.null_count)
        case "distinct":
            return "" if field.unique_count is None else format_count(field.unique_count)
        case "min":
            return field.min or ""
        case "max":
            return field.max or ""
        case "mean":
            return field.mean or ""
        case _:
            return field.median or ""


_WORDS: dict[Measure, str] = {
    "nulls": "share of nulls",
    "distinct": "distinct values",
    "min": "least",
    "max": "greatest",
    "mean": "mean",
    "median": "median",
}
_READ: dict[Measure, str] = {**_WORDS, "nulls": "nulls"}


def _read(series: "Timeseries") -> Profiles:
    """Return the profiles of a series. Called in a thread, because it also computes everything that
    takes long."""
    profiles = read_profiles(series)
    for column in profiles.columns:
        _ = column.drift
    return profiles


class ProfileTab(SeriesTab[Profiles]):
    """The profile tab: rows over time above the columns; an opened column replaces both."""

    WHAT: ClassVar[str] = "profile"

    BINDINGS: ClassVar[list[BindingType]] = bindings("profile")
    has_detail: ClassVar[bool] = True

    def __init__(self, session: TerminalSession) -> None:
        super().__init__(session)
        self._open: str | None = None
        self._measure: Measure | None = None
        self._left = 0

    def show_entity(self, entity: "Entity", *, keep: bool) -> None:
        """Clear the measurements and the open column."""
        super().show_entity(entity, keep=keep)
        if not keep:
            self._open = None

    async def ask(self, catalog: "AsyncCatalog", entity: "Entity", days: int | None) -> Profiles:
        """Read the profiles: one request."""
        series = await catalog.profiles(entity.urn, days=days)
        return await asyncio.to_thread(_read, series)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Allow choosing a measure only for an open column."""
        if action in ("measure", "close_column"):
            return self._open is not None
        return super().check_action(action, parameters)

    def action_measure(self) -> None:
        """Show the next measure of the open column in the chart."""
        column = self._column
        if column is not None and column.measures:
            at = column.measures.index(self._measure_of(column))
            self._measure = column.measures[(at + 1) % len(column.measures)]
            self._redraw()

    def action_close_column(self) -> None:
        """Go back to all columns."""
        self._open = None
        self._redraw()
        self.query_one(Rows).move_to(self._left)
        self.refresh_bindings()

    def draw(self, data: Profiles) -> None:
        """Show all columns or the open one, with a chart or a table over time."""
        if not data.measurements:
            self.show_nothing_measured("Nothing")
            return
        column = self._column
        chart = self.query_one(ChartWidget)
        chart.display = not self._as_table
        if column is None:
            self._draw_all(data, chart)
        else:
            self._draw_one(column, chart)

    def table(self) -> "Table | None":
        """Return the shown columns, values or days as a table for a file."""
        profiles, column = self._cached.get(self._days), self._column
        if self._entity is None or profiles is None:
            return None
        name = self._entity.name
        if column is not None:
            of_one = column_profile_table if self._as_table else column_values_table
            return of_one(name, column)
        of_all = row_counts_table if self._as_table else profile_table
        return of_all(name, profiles)

    @property
    def _column(self) -> ColumnHistory | None:
        profiles = self._cached.get(self._days)
        columns = profiles.columns if profiles else ()
        return next((column for column in columns if column.path == self._open), None)

    def _draw_all(self, data: Profiles, chart: ChartWidget) -> None:
        """Show the rows over time, and all columns."""
        at, newest = data.measurements[-1]
        size, columns = newest.size_in_bytes, newest.column_count
        facts = [
            Text(f"{format_count(newest.row_count)} rows", "bold"),
            self._describe_drift(data.drift),
            *_cautions(data),
            Text(f"measured {self.format_moment(at)}"),
            Text("" if columns is None else counted(columns, "column"), "dim"),
            Text("" if size is None else size_text(size), "dim"),
        ]
        self.show_totals(join(facts))
        chart.show(
            self._plot(data.rows, compact),
            lambda index: self._read_rows(data, index),
            "The number of rows was not measured.",
        )
        if self._as_table:
            self._show_rows_table(data)
        else:
            table = ColumnTable(data.columns)
            lines = [
                MeasurementRow(partial(table.draw, column), partial(self._open_column, column.path))
                for column in data.columns
            ]
            width = self.query_one(Rows).size.width - 1
            self.show_lines(
                lines or [text_row("No column was measured.")], heading=table.heading(width)
            )
        self._show_details()

    def _draw_one(self, column: ColumnHistory, chart: ChartWidget) -> None:
        """Show one measure of a column over time, and the values of the column."""
        measure = self._measure_of(column)
        name = line_text(FieldPath(column.path).simple, "bold")
        drift = self._describe_drift(column.drift)
        other_measures = [candidate for candidate in column.measures if candidate != measure]
        remark = f"m: {', '.join(other_measures)}" if other_measures else ""
        self.show_totals(join([name, Text(_WORDS[measure], "bold"), drift, Text(remark, "dim")]))
        values = tuple(column.values(measure))
        write = share if measure == "nulls" else compact

        def read_out(index: int) -> Text:
            at, value = values[index]
            exact = share(value) if measure == "nulls" else f"{value:,.6g}"
            if measure == "distinct":
                exact = format_count(value)
            before = values[index - 1][1] if index else None
            return join(
                [
                    Text(self.format_moment(at), "bold"),
                    Text(f"{exact} {_READ[measure]}", "bold"),
                    Text("" if before is None else _change_words(value - before, measure), "dim"),
                ]
            )

        nothing = "There is no history of this measure."
        chart.show(self._plot(values, write, measure), read_out, nothing)
        if self._as_table:
            table = ColumnTable([column])
            lines = [
                MeasurementRow(partial(table.draw_at, self.format_moment(at), field))
                for at, field in reversed(column.points)
            ]
            heading = table.heading_at(self.query_one(Rows).size.width - 1)
            self.show_lines(lines, heading=heading)
        else:
            self.show_lines(list(_values(column.newest)))
        self._show_details()

    def _measure_of(self, column: ColumnHistory) -> Measure:
        if self._measure in column.measures and self._measure is not None:
            return self._measure
        return column.measures[0] if column.measures else "nulls"

    def _plot(
        self,
        values: "tuple[tuple[datetime, float], ...]",
        write: Callable[[float], str],
        measure: Measure | None = None,
    ) -> Plot | None:
        """Return the plot of values over time; None without any."""
        if not values:
            return None
        points = tuple(Point(at, value) for at, value in values)
        first, last = points[0].at, points[-1].at
        begin, end = self.first_moment(first), self.last_moment(last)
        shares = measure == "nulls"
        return Plot("line", points, begin, end, write, self.local, from_nothing=shares)

    def _read_rows(self, data: Profiles, index: int) -> Text:
        at, count = data.rows[index]
        since = _change_words(count - data.rows[index - 1][1], None) if index else ""
        return join(
            [
                Text(self.format_moment(at), "bold"),
                Text(f"{count:,} rows", "bold"),
                Text(since, "dim"),
            ]
        )

    def _show_rows_table(self, data: Profiles) -> None:
        lines = []
        for at, measures in reversed(data.measurements):
            bytes_count = measures.size_in_bytes
            size = UNKNOWN.mark if bytes_count is None else size_text(bytes_count)
            text = f"  {self.format_moment(at):<20}  {format_count(measures.row_count):>16}"
            text += f"  {format_count(measures.column_count):>7}  {size:>9}"
            lines.append(text_row(text))
        heading = Text(f"  {'measured':<20}  {'rows':>16}  {'columns':>7}  {'size':>9}")
        self.show_lines(lines, heading=heading)

    def _open_column(self, path: str) -> None:
        self._left = self.query_one(Rows).cursor
        self._open = path
        self._redraw()
        self.query_one(Rows).move_to(0)
        self.refresh_bindings()

    def on_rows_moved(self, event: Rows.Moved) -> None:
        """Update the details of the column under the cursor."""
        event.stop()
        self._show_details()

    def _show_details(self) -> None:
        """Show the details of the column under the cursor."""
        profiles = self._cached.get(self._days)
        column = self._column
        if profiles and column is None and not self._as_table and profiles.columns:
            cursor = self.query_one(Rows).cursor
            column = profiles.columns[min(cursor, len(profiles.columns) - 1)]
        detail = self.query_one(".detail", Static)
        texts = self._describe_column(column) if column else []
        texts.append(Text(_DRIFT_RULE, "dim"))
        for text in texts:
            width = detail.content_size.width or self.room.width - 2
            text.truncate(width, overflow="ellipsis")
        detail.update(Text("\n").join(texts), layout=False)

    def _describe_column(self, column: ColumnHistory) -> list[Text]:
        """Return two lines with a column's numbers in the newest profile, and its drift."""
        newest = column.newest
        numbers: list[tuple[str, str | None]] = [
            ("nulls", _share_words(newest.null_count, newest.null_proportion)),
            ("distinct", _share_words(newest.unique_count, newest.unique_proportion)),
            ("min", newest.min),
            ("max", newest.max),
            ("mean", newest.mean),
            ("median", newest.median),
        ]
        facts = [
            Text.assemble((f"{name} ", "dim"), line_text(value)) for name, value in numbers if value
        ]
        text = join([line_text(FieldPath(column.path).simple, "bold"), *facts])
        if column.drift:
            return [text, self._describe_drift(column.drift)]
        samples = ", ".join(newest.sample_values or ())
        return [text, line_text(f"e.g. {samples}" if samples else "", "dim")]

    def _describe_drift(self, drift: Drift | None) -> Text:
        if drift is None:
            return Text()
        return Text(f"! {drift.words} since {self.format_moment(drift.since)}", "bold")


def _cautions(data: Profiles) -> Iterator[Text]:
    """Yield the caveats about the numbers: partitions and limits."""
    drifting = sum(bool(column.drift) for column in data.columns)
    if drifting:
        yield Text(f"! {counted(drifting, 'column')} moved", "bold")
    if data.caution:
        yield line_text(data.caution, "italic")
    if data.limit is not None:
        yield Text(f"the newest {data.limit:,} only", "bold italic")


def _values(measures: ColumnMeasures) -> Iterator[MeasurementRow]:
    """Yield rows with the values of a column: frequencies, quantiles, histogram, and samples."""
    panels = column_panels(measures)
    for panel in panels:
        yield heading_row(panel.title, panel.note)
        yield from panel_lines(panel)
    if measures.sample_values:
        yield heading_row("Samples", f"{len(measures.sample_values):,}")
        for value in measures.sample_values:
            yield text_row(Text("   ").append_text(line_text(value, missing="(empty)")))
    if not panels and not measures.sample_values:
        yield text_row("  Profiling kept no values of this column.")


def _change_words(by: float, measure: Measure | None) -> str:
    if measure == "nulls":
        moved = f"{by * 100:+.1f}"
        same = moved in ("+0.0", "-0.0")
        return "as the one before" if same else f"{moved} points since the one before"
    return "as the one before" if by == 0 else f"{by:+,.6g} since the one before"


def _share_words(count: int | None, proportion: float | None) -> str | None:
    if count is None:
        return None if proportion is None else share(proportion)
    return f"{count:,}" if proportion is None else f"{count:,} ({share(proportion)})"
