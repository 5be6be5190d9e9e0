"""Charts over time in braille dots and blocks, with a cursor; bars and sparklines as text."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, tzinfo
from itertools import pairwise
from typing import ClassVar, Literal

from rich.style import Style
from rich.text import Text
from textual import events
from textual.app import RenderResult
from textual.message import Message
from textual.widget import Widget

from explorer.views.chart import Line, Lines, calendar_labels, gaps_in

_LEVELS = " ▁▂▃▄▅▆▇█"
_BRAILLE = 0x2800
# The bit of each dot in a braille character, by column, and within it by row from the top.
_DOTS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))


def bar_text(share: float, width: int) -> str:
    """Return a horizontal bar that fills `share` (0 to 1) of `width` cells; any share above 0 is
    visible.

    It is flat, so that bars on adjacent lines stay separate.
    """
    halves = round(min(max(share, 0.0), 1.0) * width * 2)
    if share > 0 and not halves:
        halves = 1
    return ("━" * (halves // 2) + "╸" * (halves % 2)).ljust(width)


def sparkline(values: Sequence[float | None], width: int, least: float = 0) -> str:
    """Return values as a row of blocks, scaled from 0 to the greater of `least` and the greatest
    value; missing values are blank. With more values than cells, each cell shows the greatest of
    its values."""
    cells: list[float | None] = list(values)
    if len(cells) > width:
        cuts = [len(cells) * at // width for at in range(width + 1)]
        cells = [_greatest(cells[a:b]) for a, b in pairwise(cuts)]
    top = max([least, *(value for value in cells if value is not None)]) or 1
    blocks = (" " if cell is None else _LEVELS[max(1, round(cell / top * 8))] for cell in cells)
    return "".join(blocks).rjust(width)


def bar_lines(values: Sequence[float | None], width: int, height: int, top: float) -> list[str]:
    """Return vertical bars, one for each value, as lines of `width` cells from the top.

    A measured 0 is a thin line, a missing value is blank. With more values than cells, a cell has
    the greatest of its values.
    """
    wide = max(1, width // max(len(values), 1))
    tall: list[int | None] = [None] * width
    for at, value in enumerate(values):
        if value is None:
            continue
        level = max(1, round(value / top * height * 8))
        first = cell_of(at, len(values), width)
        for cell in range(first, min(first + max(1, wide - 1), width)):
            tall[cell] = max(tall[cell] or 0, level)
    return [
        "".join(
            " " if level is None else _LEVELS[max(0, min(8, level - below * 8))] for level in tall
        )
        for below in range(height - 1, -1, -1)
    ]


def braille_lines(
    points: Sequence[tuple[float, float]], breaks: frozenset[int], width: int, height: int
) -> list[str]:
    """Return a line through points (x and y from 0 to 1) in braille, as lines from the top.

    The points whose indices are in `breaks` are not connected to the previous one. If many points
    fall into one column of dots, the column is filled from the lowest to the highest.
    """
    columns, rows = width * 2, height * 4
    lowest, highest = [rows] * columns, [-1] * columns

    def mark(column: int, row: int) -> None:
        if row < lowest[column]:
            lowest[column] = row
        if row > highest[column]:
            highest[column] = row

    previous: tuple[int, int] | None = None
    for at, (across, up) in enumerate(points):
        dot = round(across * (columns - 1)), round(up * (rows - 1))
        mark(*dot)
        if previous is not None and at not in breaks:
            steps = max(dot[0] - previous[0], 1)
            before = previous[1]
            for step in range(1, steps + 1):
                row = round(previous[1] + (dot[1] - previous[1]) * step / steps)
                column = min(previous[0] + step, dot[0])
                mark(column, row)
                # Fill the column from the previous dot on, so that the line has no gaps.
                mark(column, before + (row > before) - (row < before))
                before = row
        previous = dot
    cells = [[0] * width for _ in range(height)]
    for column in range(columns):
        for row in range(lowest[column], highest[column] + 1):
            top = rows - 1 - row
            cells[top // 4][column // 2] |= _DOTS[column % 2][top % 4]
    return ["".join(chr(_BRAILLE + bits) if bits else " " for bits in row) for row in cells]


def cell_of(slot: int, slots: int, width: int) -> int:
    """Return the first cell of the slot with index `slot`, if `slots` lie side by side in `width`
    cells."""
    wide = width // slots if slots else 0
    return slot * wide if wide else slot * width // slots


def _greatest(values: Sequence[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)


_LABEL_ROOM = 8
# The lines of the description, the axis and its dates, and at least one of the plot.
_AROUND = 3

Form = Literal["bars", "line"]


@dataclass(frozen=True, slots=True)
class Point:
    """A measurement at a time; its value is None if nothing was measured."""

    at: datetime
    value: float


@dataclass(frozen=True, slots=True)
class Plot:
    """The data of a chart: points, oldest first, in the range from `first` to `last`.

    Bars have one point a day, in the days of `zone`, and start at 0. A line spans from the least to
    the greatest value, or with `from_nothing` from 0, and is broken where two measurements are more
    than 1.5 times the usual distance apart. `write` formats a value.
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
        """Return the values at the bottom and the top of the axis; they are never equal."""
        line = Line("", tuple((point.at, point.value) for point in self.points))
        from_nothing = self.form == "bars" or self.from_nothing
        return Lines("", (line,), from_nothing=from_nothing).span or (0.0, 1.0)

    @property
    def days(self) -> int:
        """Return the number of days in the range, including the first and the last."""
        return (self._day(self.last) - self._day(self.first)).days + 1

    def slot(self, at: datetime) -> int:
        """Return the number of days between the first day and a time."""
        return (self._day(at) - self._day(self.first)).days

    def cell(self, at: datetime, width: int) -> int:
        """Return the cell of a time in a plot of `width` cells; for a bar its first cell."""
        if self.form == "bars":
            return cell_of(self.slot(at), self.days, width)
        return min(max(round(self.share(at) * (width * 2 - 1)) // 2, 0), width - 1)

    def share(self, at: datetime) -> float:
        """Return the position of a time in the range: 0 at its start, 1 at its end."""
        duration = (self.last - self.first).total_seconds()
        return (at - self.first).total_seconds() / duration if duration else 0.5

    def ticks(self, width: int) -> Iterator[tuple[int, str]]:
        """Return the cells and labels of the dates on the axis."""
        first, last = (datetime.combine(self._day(at), time()) for at in (self.first, self.last))
        free = 0
        for day, name in calendar_labels(first, last, max(1, width // _LABEL_ROOM), hours=False):
            at = day.replace(tzinfo=self.zone or self.first.tzinfo)
            cell = self.cell(max(at, self.first), width)
            if cell >= free and cell + len(name) <= width:
                yield cell, name
                free = cell + len(name) + 1

    def _day(self, at: datetime) -> date:
        return at.astimezone(self.zone).date()


class ChartWidget(Widget):
    """A plot with a cursor on one of its points; a line above the plot describes that point.

    If there is no room for the plot, only that line is shown.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {"chart--shape", "chart--cursor", "chart--axis"}
    DEFAULT_CSS = """
    ChartWidget { height: 9; padding: 0 1; }
    ChartWidget > .chart--shape { color: $primary; }
    ChartWidget > .chart--cursor { color: $accent; text-style: bold; }
    ChartWidget > .chart--axis { color: $text-muted; }
    """

    @dataclass
    class PointChosen(Message):
        """The cursor moved to another point."""

        index: int

    def __init__(self) -> None:
        super().__init__()
        self.cursor = 0
        self._plot: Plot | None = None
        self._read_out: Callable[[int], Text] = lambda _: Text()
        self._empty = ""
        self._drawn: dict[tuple[int, int], tuple[list[str], list[tuple[int, str]]]] = {}

    def show(self, plot: Plot | None, read_out: Callable[[int], Text], empty: str = "") -> None:
        """Show a plot, with the cursor on its newest point, or where it was if the points are the
        same as before; `read_out` describes the point of an index, `empty` is shown if there are no
        points."""
        same = plot is not None and self._plot is not None and plot.points == self._plot.points
        self._plot, self._read_out, self._empty = plot, read_out, empty
        self._drawn.clear()
        if not same:
            self.cursor = max(len(plot.points) - 1, 0) if plot else 0
        self.refresh()

    def move(self, by: int) -> None:
        """Move the cursor by a number of points, at most to the first or last."""
        self._move_to(self.cursor + by)

    def _move_to(self, index: int) -> None:
        count = len(self._plot.points) if self._plot else 0
        target = max(0, min(index, count - 1))
        if target != self.cursor:
            self.cursor = target
            self.refresh()
            self.post_message(self.PointChosen(target))

    def on_click(self, event: events.Click) -> None:
        """Move the cursor to the point nearest to a click."""
        plot = self._plot
        if plot is None or not plot.points:
            return
        margin = _margin(plot)
        width = self.size.width - margin
        cell = event.get_content_offset_capture(self).x - margin
        cells = [plot.cell(point.at, width) for point in plot.points]
        self._move_to(min(range(len(cells)), key=lambda at: abs(cells[at] - cell)))

    def render(self) -> RenderResult:
        """Render the description of the point, the plot with the cursor, and the axis."""
        plot = self._plot
        if plot is None or not plot.points:
            return Text(self._empty, "dim italic")
        text = self._read_out(self.cursor)
        text.truncate(self.size.width, overflow="ellipsis")
        height = self.size.height - _AROUND
        margin = _margin(plot)
        width = self.size.width - margin
        if height < 1 or width < _LABEL_ROOM:
            return text
        shape = self._shape(plot, margin, width, height)
        return Text("\n", no_wrap=True).join(
            [text, *shape, *self._axis(plot, margin, width, height)]
        )

    def _plot_for(
        self, plot: Plot, width: int, height: int
    ) -> tuple[list[str], list[tuple[int, str]]]:
        """Return the plot and the dates, cached for a size, so that moving the cursor draws neither
        again."""
        if (width, height) not in self._drawn:
            self._drawn.clear()
            ticks = list(plot.ticks(width))
            self._drawn[width, height] = _draw(plot, width, height), ticks
        return self._drawn[width, height]

    def _shape(self, plot: Plot, margin: int, width: int, height: int) -> Iterator[Text]:
        """Yield the lines of the plot with labels and cursor."""
        shape, cursor, axis = self._styles
        at = plot.cell(plot.points[self.cursor].at, width)
        wide = _bar_width(plot, width)
        labels = _labels(plot, height)
        for row, plot_line in enumerate(self._plot_for(plot, width, height)[0]):
            text = Text(f"{labels.get(row, ''):>{margin - 2}} ┤"[:margin], axis)
            text.append(plot_line[:at], shape)
            under = plot_line[at : at + wide]
            blank = under.isspace()
            mark = "│".center(wide)[: len(under)]
            text.append(mark if blank else under, axis if blank else cursor)
            yield text.append(plot_line[at + wide :], shape)

    def _axis(self, plot: Plot, margin: int, width: int, height: int) -> Iterator[Text]:
        """Yield the horizontal axis, and its dates."""
        _, cursor, style = self._styles
        # Bars may be narrower than the widget; the axis ends with the last of them.
        wide = max(1, width // plot.days) * plot.days if plot.form == "bars" else width
        rule, names = ["─"] * min(wide, width), [" "] * width
        for cell, name in self._plot_for(plot, width, height)[1]:
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


def _draw(plot: Plot, width: int, height: int) -> list[str]:
    """Return the lines of the plot without axis and labels."""
    low, high = plot.span
    if plot.form == "bars":
        # A bar for each day; with more days than cells, each cell shows the greatest of its days.
        values: list[float | None] = [None] * min(plot.days, width)
        for point in plot.points:
            at = plot.slot(point.at) if plot.days <= width else plot.cell(point.at, width)
            values[at] = max(values[at] or 0, point.value)
        return bar_lines(values, width, height, high)
    begin = plot.first.timestamp()
    long = plot.last.timestamp() - begin
    places = [
        ((point.at.timestamp() - begin) / long if long else 0.5, (point.value - low) / (high - low))
        for point in plot.points
    ]
    return braille_lines(places, gaps_in([point.at for point in plot.points]), width, height)


def _margin(plot: Plot) -> int:
    """Return the width of the axis labels at the left."""
    low, high = plot.span
    middle = (low + high) / 2
    return max(len(plot.write(value)) for value in (low, middle, high)) + 2


def _labels(plot: Plot, height: int) -> dict[int, str]:
    """Return the labels of the vertical axis by row."""
    low, high = plot.span
    labels = {height - 1: plot.write(low), 0: plot.write(high)}
    if height >= 5 and height % 2:  # only an odd height has a middle line
        labels[height // 2] = plot.write((low + high) / 2)
    return labels


def _bar_width(plot: Plot, width: int) -> int:
    wide = max(1, width // plot.days) if plot.form == "bars" else 1
    return max(1, wide - 1)
