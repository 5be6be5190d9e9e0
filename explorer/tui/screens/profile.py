"""The profile tab: rows over time, the columns of the newest profile, and one column in full."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual.binding import BindingType
from textual.widgets import Static

from explorer.metadata.aspects import FieldProfile
from explorer.metadata.fieldpath import FieldPath
from explorer.tui.actions import bindings
from explorer.tui.content import counted, join, padded, said
from explorer.tui.screens.measurements import (
    MeasurementRow,
    SeriesTab,
    heading_row,
    ranked_row,
    text_row,
    whole,
)
from explorer.tui.session import TerminalSession
from explorer.tui.widgets.charts import ChartWidget, Plot, Point, sparkline
from explorer.tui.widgets.rows import Rows
from explorer.views.chart import compact, written
from explorer.views.profile import (
    ColumnHistory,
    Drift,
    Measure,
    Profiles,
    TableMeasures,
    column_profile_table,
    column_values_table,
    profile_table,
    read_profiles,
    row_counts_table,
)

if TYPE_CHECKING:
    from datetime import datetime

    from explorer.client import AsyncCatalog
    from explorer.client.entity import Entity
    from explorer.client.records import Timeseries
    from explorer.views.table import Table

__all__ = ["ProfileTab"]

_DRIFT_RULE = "! marks nulls ±5 points in a week, rows or distinct ±25% (±1 if 20 or fewer)"

_NAME_AT_LEAST = 14
_NAME_AT_MOST = 32
_SPARK = 12
_SPARK_NARROW = 6
_MOMENT = 20
# Small shares are drawn small.
_SHARE_AT_LEAST = 0.2
# Widths of the numbers, in the order in which they are given room.
_WIDTHS = {"nulls": 7, "distinct": 11, "min": 12, "max": 12, "mean": 10, "median": 10}
_NUMBERS = ("min", "max", "mean", "median")


class ColumnTable:
    """How the columns of a profile are drawn: name, numbers, and the nulls over time."""

    def __init__(self, columns: Sequence[ColumnHistory]) -> None:
        self._longest = max((len(FieldPath(one.path).simple) for one in columns), default=0)
        newest = [field for column in columns for _, field in column.points[-1:]]
        # What no column has takes no room.
        self._told = [
            name
            for name in _WIDTHS
            if name not in _NUMBERS or any(_text(field, name) for field in newest)
        ]

    def heading(self, width: int) -> Text:
        """The names of the table's columns."""
        name, spark_width, shown = self._layout(width)
        text = Text(f"   {'column':<{name}}")
        for one in shown:
            text.append(f" {one:>{_WIDTHS[one]}}")
        return text.append(f"  {'nulls trend' if spark_width == _SPARK else 'trend'}")

    def draw(self, column: ColumnHistory, width: int) -> Text:
        """A line for a column: a mark where something moved, its newest numbers, its nulls."""
        name, spark_width, shown = self._layout(width)
        text = Text().append(" ! " if column.drift else "   ", "bold")
        text.append_text(padded(said(FieldPath(column.path).simple), name))
        text.append_text(_cells(column.newest, shown)).append("  ")
        nulls = [field.null_proportion for _, field in column.points]
        return text.append(sparkline(nulls, spark_width, _SHARE_AT_LEAST), "dim")

    def heading_at(self, width: int) -> Text:
        """The names of the table's columns where a line is a moment."""
        text = Text(f"  {'measured':<{_MOMENT}}")
        for one in self._fitting(width - _MOMENT - 2):
            text.append(f" {one:>{_WIDTHS[one]}}")
        return text

    def draw_at(self, moment: str, field: FieldProfile, width: int) -> Text:
        """A line for what was measured of a column at a moment."""
        text = Text(f"  {moment:<{_MOMENT}}")
        return text.append_text(_cells(field, self._fitting(width - _MOMENT - 2)))

    def _layout(self, width: int) -> tuple[int, int, list[str]]:
        """The width of names and of the small charts, and which numbers there is room for."""
        drawn = _SPARK if width >= 70 else _SPARK_NARROW
        name = max(_NAME_AT_LEAST, min(self._longest, _NAME_AT_MOST, width // 3))
        shown = self._fitting(width - name - drawn - 6)
        left = width - name - drawn - 6 - sum(_WIDTHS[one] + 1 for one in shown)
        return min(name + max(left, 0), max(self._longest, _NAME_AT_LEAST)), drawn, shown

    def _fitting(self, room: int) -> list[str]:
        shown = []
        for name in self._told:
            room -= _WIDTHS[name] + 1
            if room < 0:
                break
            shown.append(name)
        return shown


share = partial(written, unit="share")
size_text = partial(written, unit="bytes")


def _cells(field: FieldProfile, shown: Sequence[str]) -> Text:
    text = Text()
    for name in shown:
        value = said(_text(field, name), missing="—")
        value.truncate(_WIDTHS[name], overflow="ellipsis")
        text.append(" " * (_WIDTHS[name] - value.cell_len + 1)).append_text(value)
    return text


def _text(field: FieldProfile, name: str) -> str:
    match name:
        case "nulls":
            if field.null_proportion is not None:
                return share(field.null_proportion)
            return "" if field.null_count is None else whole(field.null_count)
        case "distinct":
            return "" if field.unique_count is None else whole(field.unique_count)
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
    """Return the profiles of a series; what takes long is computed here, for a thread."""
    found = read_profiles(series)
    for column in found.columns:
        _ = column.drift
    return found


class ProfileTab(SeriesTab[Profiles]):
    """Rows over time above the columns; a column that is opened takes the place of both."""

    WHAT: ClassVar[str] = "profile"

    BINDINGS: ClassVar[list[BindingType]] = bindings("profile")
    has_detail: ClassVar[bool] = True

    def __init__(self, session: TerminalSession) -> None:
        super().__init__(session)
        self._open: str | None = None
        self._measure: Measure | None = None
        self._left = 0

    def show_entity(self, entity: "Entity", *, keep: bool) -> None:
        """Forget what was measured of another, and which column was open."""
        super().show_entity(entity, keep=keep)
        if not keep:
            self._open = None

    async def ask(self, catalog: "AsyncCatalog", entity: "Entity", days: int | None) -> Profiles:
        """The profiles: one request."""
        series = await catalog.profiles(entity.urn, days=days)
        return await asyncio.to_thread(_read, series)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Measures are those of a column that is open."""
        if action in ("measure", "close_column"):
            return self._open is not None
        return super().check_action(action, parameters)

    def action_measure(self) -> None:
        """Draw the next measure of the column."""
        column = self._column
        if column is not None and column.measures:
            at = column.measures.index(self._measure_of(column))
            self._measure = column.measures[(at + 1) % len(column.measures)]
            self._redraw()

    def action_close_column(self) -> None:
        """Back to all columns."""
        self._open = None
        self._redraw()
        self.query_one(Rows).move_to(self._left)
        self.refresh_bindings()

    def draw(self, data: Profiles) -> None:
        """Show the columns or the one that is open, with a chart or a table over time."""
        if not data.taken:
            self.say_nothing_measured("Nothing")
            return
        column = self._column
        chart = self.query_one(ChartWidget)
        chart.display = not self._as_table
        if column is None:
            self._draw_all(data, chart)
        else:
            self._draw_one(column, chart)

    def table(self) -> "Table | None":
        """What is shown: the columns or the values of one, or either over time."""
        held, column = self._held.get(self._days), self._column
        if self._entity is None or held is None:
            return None
        name = self._entity.name
        if column is not None:
            of_one = column_profile_table if self._as_table else column_values_table
            return of_one(name, column)
        of_all = row_counts_table if self._as_table else profile_table
        return of_all(name, held)

    @property
    def _column(self) -> ColumnHistory | None:
        held = self._held.get(self._days)
        columns = held.columns if held else ()
        return next((one for one in columns if one.path == self._open), None)

    def _draw_all(self, data: Profiles, chart: ChartWidget) -> None:
        at, newest = data.taken[-1]
        size, columns = newest.size_in_bytes, newest.column_count
        facts = [
            Text(f"{whole(newest.row_count)} rows", "bold"),
            self._moved(data.drift),
            *_cautions(data, newest),
            Text(f"measured {self.said_moment(at)}"),
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
                MeasurementRow(partial(table.draw, one), partial(self._open_column, one.path))
                for one in data.columns
            ]
            width = self.query_one(Rows).size.width - 1
            self.show_lines(
                lines or [text_row("No column was measured.")], heading=table.heading(width)
            )
        self._tell()

    def _draw_one(self, column: ColumnHistory, chart: ChartWidget) -> None:
        measure = self._measure_of(column)
        name = said(FieldPath(column.path).simple, "bold")
        drift = self._moved(column.drift)
        others = [one for one in column.measures if one != measure]
        remark = f"m: {', '.join(others)}" if others else ""
        self.show_totals(join([name, Text(_WORDS[measure], "bold"), drift, Text(remark, "dim")]))
        values = tuple(column.values(measure))
        write = share if measure == "nulls" else compact

        def read_out(index: int) -> Text:
            at, value = values[index]
            exact = share(value) if measure == "nulls" else f"{value:,.6g}"
            if measure == "distinct":
                exact = whole(value)
            before = values[index - 1][1] if index else None
            return join(
                [
                    Text(self.said_moment(at), "bold"),
                    Text(f"{exact} {_READ[measure]}", "bold"),
                    Text("" if before is None else _since(value - before, measure), "dim"),
                ]
            )

        nothing = "There is no number of it over time."
        chart.show(self._plot(values, write, measure), read_out, nothing)
        if self._as_table:
            table = ColumnTable([column])
            lines = [
                MeasurementRow(partial(table.draw_at, self.said_moment(at), field))
                for at, field in reversed(column.points)
            ]
            heading = table.heading_at(self.query_one(Rows).size.width - 1)
            self.show_lines(lines, heading=heading)
        else:
            self.show_lines(list(_values(column.newest)))
        self._tell()

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
        if not values:
            return None
        points = tuple(Point(at, value) for at, value in values)
        first, last = points[0].at, points[-1].at
        begin, end = self.first_moment(first), self.last_moment(last)
        shares = measure == "nulls"
        return Plot("line", points, begin, end, write, self.local, from_nothing=shares)

    def _read_rows(self, data: Profiles, index: int) -> Text:
        at, count = data.rows[index]
        since = _since(count - data.rows[index - 1][1], None) if index else ""
        return join(
            [
                Text(self.said_moment(at), "bold"),
                Text(f"{count:,} rows", "bold"),
                Text(since, "dim"),
            ]
        )

    def _show_rows_table(self, data: Profiles) -> None:
        lines = []
        for at, one in reversed(data.taken):
            size = "—" if one.size_in_bytes is None else size_text(one.size_in_bytes)
            text = f"  {self.said_moment(at):<20}  {whole(one.row_count):>16}"
            text += f"  {whole(one.column_count):>7}  {size:>9}"
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
        """The line below tells of the column under the cursor."""
        event.stop()
        self._tell()

    def _tell(self) -> None:
        held = self._held.get(self._days)
        column = self._column
        if held and column is None and not self._as_table and held.columns:
            cursor = self.query_one(Rows).cursor
            column = held.columns[min(cursor, len(held.columns) - 1)]
        detail = self.query_one(".detail", Static)
        told = self._told(column) if column else []
        told.append(Text(_DRIFT_RULE, "dim"))
        for text in told:
            width = detail.content_size.width or self.room.width - 2
            text.truncate(width, overflow="ellipsis")
        detail.update(Text("\n").join(told), layout=False)

    def _told(self, column: ColumnHistory) -> list[Text]:
        """All that the newest profile says of a column, and what moved, on two lines."""
        newest = column.newest
        numbers: list[tuple[str, str | None]] = [
            ("nulls", _of(newest.null_count, newest.null_proportion)),
            ("distinct", _of(newest.unique_count, newest.unique_proportion)),
            ("min", newest.min),
            ("max", newest.max),
            ("mean", newest.mean),
            ("median", newest.median),
        ]
        facts = [
            Text.assemble((f"{name} ", "dim"), said(value)) for name, value in numbers if value
        ]
        text = join([said(FieldPath(column.path).simple, "bold"), *facts])
        if column.drift:
            return [text, self._moved(column.drift)]
        samples = ", ".join(newest.sample_values or ())
        return [text, said(f"e.g. {samples}" if samples else "", "dim")]

    def _moved(self, drift: Drift | None) -> Text:
        if drift is None:
            return Text()
        return Text(f"! {drift.words} since {self.said_moment(drift.since)}", "bold")


def _cautions(data: Profiles, newest: TableMeasures) -> Iterator[Text]:
    """What a reader should know before the numbers are trusted."""
    drifting = sum(bool(column.drift) for column in data.columns)
    if drifting:
        yield Text(f"! {counted(drifting, 'column')} moved", "bold")
    if data.parts:
        yield Text(f"{counted(data.parts, 'profile')} of parts left out", "italic")
    elif newest.partial and newest.partition_spec is not None:
        yield said(f"of partition {newest.partition_spec.partition}", "italic")
    if data.limit is not None:
        yield Text(f"the newest {data.limit:,} only", "bold italic")


def _values(field: FieldProfile) -> Iterator[MeasurementRow]:
    """The values of a column: how often each is there, and some that were seen."""
    ranked = sorted(field.distinct_value_frequencies or (), key=lambda one: -one.frequency)
    if ranked:
        all_told = field.unique_count
        more = f" of {all_told:,}" if all_told is not None and all_told > len(ranked) else ""
        yield heading_row("Values", f"{len(ranked):,}{more} counted")
        most = ranked[0].frequency or 1
        for one in ranked:
            yield ranked_row(said(one.value, missing="(empty)"), one.frequency, most)
    if field.sample_values:
        yield heading_row("Samples", f"{len(field.sample_values):,}")
        for value in field.sample_values:
            yield text_row(Text("   ").append_text(said(value, missing="(empty)")))
    if not ranked and not field.sample_values:
        yield text_row("  Profiling kept no values of this column.")


def _since(by: float, measure: Measure | None) -> str:
    if measure == "nulls":
        moved = f"{by * 100:+.1f}"
        same = moved in ("+0.0", "-0.0")
        return "as the one before" if same else f"{moved} points since the one before"
    return "as the one before" if by == 0 else f"{by:+,.6g} since the one before"


def _of(count: int | None, proportion: float | None) -> str | None:
    if count is None:
        return None if proportion is None else share(proportion)
    return f"{count:,}" if proportion is None else f"{count:,} ({share(proportion)})"
