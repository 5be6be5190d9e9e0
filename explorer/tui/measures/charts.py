"""Charts of numbers over time, drawn with braille dots and blocks, with a cursor that reads out."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from itertools import pairwise
from statistics import median
from typing import ClassVar, Literal

from rich.style import Style
from rich.text import Text
from textual import events
from textual.app import RenderResult
from textual.message import Message
from textual.widget import Widget

from explorer.tui.measures.shapes import bars, cell_of, line

__all__ = ["Chart", "Plot", "Point"]

_DAY = timedelta(days=1)
_GAP = 1.5
_LABEL_ROOM = 8
_LEAST_SPAN = 0.005
_MANY_DAYS = 4_000
# The read-out, the axis and its dates: without a line more there is no room for a shape.
_AROUND = 3

Form = Literal["bars", "line"]


@dataclass(frozen=True, slots=True)
class Point:
    """What was measured at a moment; there is none where nothing was measured."""

    at: datetime
    value: float


@dataclass(frozen=True, slots=True)
class Plot:
    """What a chart shows: points, oldest first, in the time from `first` to `last`.

    Bars stand on the days of `zone`, one point a day, and begin at nothing. A line spans from the
    least to the most, or `from_nothing`, and is broken where measurements are missing: where two
    are further apart than half as much again as usual. `write` says a value.
    """

    form: Form
    points: tuple[Point, ...]
    first: datetime
    last: datetime
    write: Callable[[float], str]
    zone: tzinfo | None = UTC
    from_nothing: bool = False

    @property
    def span(self) -> tuple[float, float]:
        """The values at the bottom and the top of the axis, never the same."""
        values = [point.value for point in self.points]
        low, high = min(values, default=0.0), max(values, default=0.0)
        if self.form == "bars" or self.from_nothing:
            low = min(low, 0.0)
            return low, high if high > low else low + 1
        # What hardly moves is not drawn as mountains.
        least = abs(high) * _LEAST_SPAN or 1.0
        middle = (low + high) / 2
        return (low, high) if high - low >= least else (middle - least / 2, middle + least / 2)

    @property
    def days(self) -> int:
        """How many days the time has, the first and the last among them."""
        return (self._day(self.last) - self._day(self.first)).days + 1

    def slot(self, at: datetime) -> int:
        """How many days after the first a moment is."""
        return (self._day(at) - self._day(self.first)).days

    def cell(self, at: datetime, width: int) -> int:
        """The cell, of `width`, that a moment stands in; for a bar its first."""
        if self.form == "bars":
            return cell_of(self.slot(at), self.days, width)
        return min(max(round(self.share(at) * (width * 2 - 1)) // 2, 0), width - 1)

    def share(self, at: datetime) -> float:
        """How far between first and last a moment is, 0 to 1."""
        whole = (self.last - self.first).total_seconds()
        return (at - self.first).total_seconds() / whole if whole else 0.5

    def ticks(self, width: int) -> Iterator[tuple[int, str]]:
        """The cells of the dates that are named on the axis, and their names."""
        first = self._day(self.first)
        free = 0
        for day, name in _dates(first, self.days, max(1, width // _LABEL_ROOM)):
            at = datetime.combine(day, time(), self.zone or self.first.tzinfo)
            cell = self.cell(max(at, self.first), width)
            if cell >= free and cell + len(name) <= width:
                yield cell, name
                free = cell + len(name) + 1

    def _day(self, at: datetime) -> date:
        return at.astimezone(self.zone).date()


class Chart(Widget):
    """A plot with a cursor on one of its points; the line above reads it out.

    Where there is no room for a shape only the reading is shown.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {"chart--shape", "chart--cursor", "chart--axis"}
    DEFAULT_CSS = """
    Chart { height: 9; padding: 0 1; }
    Chart > .chart--shape { color: $primary; }
    Chart > .chart--cursor { color: $accent; text-style: bold; }
    Chart > .chart--axis { color: $text-muted; }
    """

    @dataclass
    class Moved(Message):
        """The cursor stands on another point."""

        index: int

    def __init__(self) -> None:
        super().__init__()
        self.cursor = 0
        self._plot: Plot | None = None
        self._read_out: Callable[[int], Text] = lambda _: Text()
        self._empty = ""
        self._drawn: dict[tuple[int, int], tuple[list[str], list[tuple[int, str]]]] = {}

    def show(self, plot: Plot | None, read_out: Callable[[int], Text], empty: str = "") -> None:
        """Show a plot, the cursor on its newest point; `read_out` says a point, `empty` what is
        said without one."""
        self._plot, self._read_out, self._empty = plot, read_out, empty
        self._drawn.clear()
        self.cursor = max(len(plot.points) - 1, 0) if plot else 0
        self.refresh()

    def move(self, by: int) -> None:
        """Move the cursor by so many points, as far as there are any."""
        self._move_to(self.cursor + by)

    def _move_to(self, index: int) -> None:
        count = len(self._plot.points) if self._plot else 0
        target = max(0, min(index, count - 1))
        if target != self.cursor:
            self.cursor = target
            self.refresh()
            self.post_message(self.Moved(target))

    def on_click(self, event: events.Click) -> None:
        """A click puts the cursor on the nearest point."""
        plot = self._plot
        if plot is None or not plot.points:
            return
        margin = _margin(plot)
        width = self.size.width - margin
        cell = event.get_content_offset_capture(self).x - margin
        cells = [plot.cell(point.at, width) for point in plot.points]
        self._move_to(min(range(len(cells)), key=lambda at: abs(cells[at] - cell)))

    def render(self) -> RenderResult:
        """The reading, the shape with the cursor in it, and the axis."""
        plot = self._plot
        if plot is None or not plot.points:
            return Text(self._empty, "dim italic")
        said = self._read_out(self.cursor)
        said.truncate(self.size.width, overflow="ellipsis")
        height = self.size.height - _AROUND
        margin = _margin(plot)
        width = self.size.width - margin
        if height < 1 or width < _LABEL_ROOM:
            return said
        shape = self._shape(plot, margin, width, height)
        return Text("\n", no_wrap=True).join(
            [said, *shape, *self._axis(plot, margin, width, height)]
        )

    def _kept(self, plot: Plot, width: int, height: int) -> tuple[list[str], list[tuple[int, str]]]:
        """Shape and dates, drawn once for a size: moving the cursor draws neither anew."""
        if (width, height) not in self._drawn:
            self._drawn.clear()
            ticks = list(plot.ticks(width))
            self._drawn[width, height] = _drawn(plot, width, height), ticks
        return self._drawn[width, height]

    def _shape(self, plot: Plot, margin: int, width: int, height: int) -> Iterator[Text]:
        shape, cursor, axis = self._styles
        at = plot.cell(plot.points[self.cursor].at, width)
        wide = _bar_width(plot, width)
        labels = _labels(plot, height)
        for row, drawn in enumerate(self._kept(plot, width, height)[0]):
            text = Text(f"{labels.get(row, ''):>{margin - 2}} ┤"[:margin], axis)
            text.append(drawn[:at], shape)
            under = drawn[at : at + wide]
            blank = under.isspace()
            mark = "│".center(wide)[: len(under)]
            text.append(mark if blank else under, axis if blank else cursor)
            yield text.append(drawn[at + wide :], shape)

    def _axis(self, plot: Plot, margin: int, width: int, height: int) -> Iterator[Text]:
        _, cursor, style = self._styles
        # Where no day is there is no axis: what is beyond was not looked at.
        wide = max(1, width // plot.days) * plot.days if plot.form == "bars" else width
        rule, names = ["─"] * min(wide, width), [" "] * width
        for cell, name in self._kept(plot, width, height)[1]:
            rule[cell : cell + 1] = "┬"
            names[cell : cell + len(name)] = name
        at = plot.cell(plot.points[self.cursor].at, width)
        at = min(at + "│".center(_bar_width(plot, width)).index("│"), width - 1)
        line_below = Text(" " * (margin - 1) + "└", style)
        line_below.append("".join(rule[:at]), style).append("▲", cursor)
        yield line_below.append("".join(rule[at + 1 :]), style)
        yield Text(" " * margin + "".join(names), style)

    @property
    def _styles(self) -> tuple[Style, Style, Style]:
        return (
            self.get_component_rich_style("chart--shape", partial=True),
            self.get_component_rich_style("chart--cursor", partial=True),
            self.get_component_rich_style("chart--axis", partial=True),
        )


def _drawn(plot: Plot, width: int, height: int) -> list[str]:
    low, high = plot.span
    if plot.form == "bars":
        # A bar for each day, or where there are more days than cells the greatest day of a cell.
        values: list[float | None] = [None] * min(plot.days, width)
        for point in plot.points:
            at = plot.slot(point.at) if plot.days <= width else plot.cell(point.at, width)
            values[at] = max(values[at] or 0, point.value)
        return bars(values, width, height, high)
    begin = plot.first.timestamp()
    long = plot.last.timestamp() - begin
    places = [
        ((one.at.timestamp() - begin) / long if long else 0.5, (one.value - low) / (high - low))
        for one in plot.points
    ]
    return line(places, _breaks(plot.points), width, height)


def _breaks(points: Sequence[Point]) -> frozenset[int]:
    """The points before which measurements are missing."""
    steps = [after - before for before, after in pairwise(one.at.timestamp() for one in points)]
    if not steps:
        return frozenset()
    usual = max(median(steps), _DAY.total_seconds())
    return frozenset(at for at, step in enumerate(steps, 1) if step > usual * _GAP)


def _margin(plot: Plot) -> int:
    low, high = plot.span
    middle = (low + high) / 2
    return max(len(plot.write(value)) for value in (low, middle, high)) + 2


def _labels(plot: Plot, height: int) -> dict[int, str]:
    low, high = plot.span
    labels = {height - 1: plot.write(low), 0: plot.write(high)}
    if height >= 5 and height % 2:  # an even height has no line in the middle
        labels[height // 2] = plot.write((low + high) / 2)
    return labels


def _bar_width(plot: Plot, width: int) -> int:
    wide = max(1, width // plot.days) if plot.form == "bars" else 1
    return max(1, wide - 1)


def _dates(first: date, days: int, most: int) -> Iterator[tuple[date, str]]:
    """At most about `most` dates on the calendar's own boundaries: days, Mondays, months, years."""
    if days > _MANY_DAYS:
        years = [date(year, 1, 1) for year in range(first.year + 1, first.year + days // 366 + 1)]
        yield from ((day, f"{day.year}") for day in years[:: max(1, -(-len(years) // most))])
        return
    every = [first + timedelta(days=at) for at in range(days)]
    mondays = [day for day in every if day.weekday() == 0]
    months = [day for day in every if day.day == 1]
    if days <= most:
        chosen, form = every, "%b %-d"
    elif len(mondays) <= most * 3:
        chosen, form = mondays, "%b %-d"
    elif len(months) <= most * 3:
        chosen, form = months, "%b %Y"
    else:
        chosen, form = [day for day in months if day.month == 1], "%Y"
    # As many as have room, the same distance apart.
    step = max(1, -(-len(chosen) // most))
    yield from ((day, _named(day, form)) for day in chosen[::step] or every[:1])


def _named(day: date, form: str) -> str:
    return f"{day:%b} {day.day}" if form == "%b %-d" else f"{day:{form}}"
