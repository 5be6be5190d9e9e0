"""Charts as data: lines over time and bars, their units, axes and gaps."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import MAXYEAR, MINYEAR, datetime, timedelta
from itertools import pairwise
from math import ceil, floor, log10
from statistics import median
from typing import Literal

Unit = Literal["number", "share", "bytes", "times"]

_PREFIXES = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e4, "k"))
_SIZES = ("B", "kB", "MB", "GB", "TB", "PB", "EB")
_STEPS = (1, 2, 2.5, 5, 10)
_ALMOST = 1e-9


def full_number(value: float, unit: Unit = "number") -> str:
    """Return a number in full. A small share that is not zero is `<0.1%`."""
    if unit == "share":
        return "<0.1%" if 0 < value < 0.0005 else f"{value:.1%}"
    if unit == "bytes":
        return _size(value)
    if unit == "times":
        return f"{value:,.1f}×"
    return f"{value:,.6g}" if value % 1 else f"{value:,.0f}"


def compact(value: float, unit: Unit = "number") -> str:
    """Return a number for an axis: short, but with enough digits to distinguish neighbouring
    labels."""
    if unit == "share":
        return f"{value * 100:.4g}%"
    if unit == "bytes":
        return _size(value)
    if unit == "times":
        return f"{value:.4g}×"
    size = abs(value)
    for least, prefix in _PREFIXES:
        if size >= least:
            return f"{value / (1e3 if prefix == 'k' else least):,.4g} {prefix}"
    return f"{value:,.4g}" if size % 1 else f"{value:,.0f}"


def round_numbers(low: float, high: float, most: int = 4) -> Sequence[float]:
    """Return about `most` evenly spaced round numbers, from at most `low` to at least `high`."""
    if not high > low:
        low, high = low - (abs(low) * 0.005 or 0.5), high + (abs(high) * 0.005 or 0.5)
    rough = (high - low) / max(most - 1, 1)
    size = 10.0 ** floor(log10(rough))
    step = next(size * factor for factor in _STEPS if size * factor >= rough * (1 - _ALMOST))
    first, last = floor(low / step + _ALMOST), ceil(high / step - _ALMOST)
    return [at * step for at in range(first, last + 1)]


def _size(value: float) -> str:
    size, at = abs(value), 0
    while size >= 1000 and at < len(_SIZES) - 1:
        size, at = size / 1000, at + 1
    return f"{'-' if value < 0 else ''}{size:.3g} {_SIZES[at]}"


_DAY = timedelta(days=1)
_HOURS = (1, 2, 3, 6, 12)
_MANY_DAYS = 4_000
_FEW_DAYS = 2


def calendar_labels(
    first: datetime, last: datetime, most: int, *, hours: bool = True
) -> Iterator[tuple[datetime, str]]:
    """Yield about `most` calendar boundaries between two times, with their labels.

    Boundaries are hours, days, Mondays, months or years. Both times have the same time zone, or
    none.
    """
    midnight = first.replace(hour=0, minute=0, second=0, microsecond=0)
    days = (last - midnight).days + 1
    if hours and days <= _FEW_DAYS:
        yield from _hours(midnight, first, last, most)
        return
    if days > _MANY_DAYS:
        years = range(first.year + 1, last.year + 1)
        for year in years[:: max(1, -(-len(years) // most))]:
            yield datetime(year, 1, 1, tzinfo=first.tzinfo), f"{year}"
        return
    every = [midnight + _DAY * at for at in range(days)]
    every = [day for day in every if first <= day <= last]
    mondays = [day for day in every if day.weekday() == 0]
    months = [day for day in every if day.day == 1]
    if len(every) <= most:
        chosen, form = every, ""
    elif len(mondays) <= most * 2:
        chosen, form = mondays, ""
    elif len(months) <= most * 3:
        chosen, form = months, "%b %Y"
    else:
        chosen, form = [day for day in months if day.month == 1], "%Y"
    for day in chosen[:: max(1, -(-len(chosen) // most))] or every[:1]:
        yield day, f"{day:{form}}" if form else f"{day:%b} {day.day}"


def _hours(
    midnight: datetime, first: datetime, last: datetime, most: int
) -> Iterator[tuple[datetime, str]]:
    if first == last:
        yield first, f"{first:%b} {first.day}, {first:%H:%M}"
        return
    hours = (last - first) / timedelta(hours=1)
    step = timedelta(
        hours=next((step_hours for step_hours in _HOURS if hours / step_hours <= most), 24)
    )
    at = midnight
    while at <= last:
        if at >= first:
            yield at, f"{at:%b} {at.day}" if at.hour == 0 else f"{at:%H:%M}"
        at += step


Point = tuple[datetime, float | None]
"""A number at a time, `None` if it was not measured."""

_GAP = 1.5
_LEAST_SPAN = 0.005
# The calendar's first and last year have no such day in every zone.
_ENDS = (MINYEAR, MAXYEAR)


@dataclass(frozen=True, slots=True)
class Line:
    """Numbers over time, oldest first; a missing number is a gap."""

    name: str
    points: tuple[Point, ...]

    @property
    def values(self) -> list[float]:
        """The measured values."""
        return [value for _, value in self.points if value is not None]


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines over the same period. The axis starts at zero, or with `from_nothing=False` at the
    smallest value. `note` is additional text beside the title."""

    title: str
    lines: tuple[Line, ...]
    unit: Unit = "number"
    from_nothing: bool = True
    note: str = ""

    @property
    def span(self) -> tuple[float, float] | None:
        """The values at the bottom and top of the axis, which always differ; `None` if nothing was
        measured."""
        values = [value for line in self.lines for value in line.values]
        if not values:
            return None
        low, high = min(values), max(values)
        if self.from_nothing:
            low, high = min(low, 0.0), max(high, 0.0)
            return low, high if high > low else low + 1
        # A minimum span, so that tiny changes do not look large.
        least = max(abs(low), abs(high)) * _LEAST_SPAN or 1.0
        if high - low >= least:
            return low, high
        middle = (low + high) / 2
        return middle - least / 2, middle + least / 2


@dataclass(frozen=True, slots=True)
class Bar:
    """A number with a name; `note` is additional text, and `key` identifies the named thing, such
    as a URN or the path of a column."""

    name: str
    value: float
    note: str = ""
    key: str = ""


@dataclass(frozen=True, slots=True)
class Bars:
    """Numbers as bars, in the order given: horizontal, or `upright` as in a histogram.

    `measure` is what the numbers count, such as `uses`. `rule` draws a line at a value. `note` is
    additional text beside the title.
    """

    title: str
    bars: tuple[Bar, ...]
    unit: Unit = "number"
    upright: bool = False
    rule: float | None = None
    note: str = ""
    measure: str = ""

    def first(self, most: int) -> "Bars":
        """Return the first bars; if these are not all, the note says how many there are."""
        if len(self.bars) <= most:
            return self
        note = f"{most:,} of {len(self.bars):,}"
        return replace(self, bars=self.bars[:most], note=note)


Panel = Lines | Bars


@dataclass(frozen=True, slots=True)
class PanelRow:
    """A line of a panel as text: a name, a number, and its length as a bar from 0 to 1, or how the
    values changed as a `trend` of blocks. `key` is that of the bar."""

    name: str
    number: str
    share: float | None = None
    trend: str = ""
    key: str = ""


def panel_rows(panel: Panel) -> Iterator[PanelRow]:
    """Yield a panel as text: a row for each bar, or for each line with its newest value."""
    if isinstance(panel, Bars):
        longest = max((abs(bar.value) for bar in panel.bars), default=0.0) or 1.0
        for bar in panel.bars:
            number = full_number(bar.value, panel.unit)
            yield PanelRow(bar.name, number, abs(bar.value) / longest, key=bar.key)
        return
    for line in panel.lines:
        values = line.values
        name = panel.title if len(panel.lines) == 1 else line.name
        number = full_number(values[-1], panel.unit) if values else "not measured"
        yield PanelRow(name, number, trend=sparkline([value for _, value in line.points]))


_LEVELS = "▁▂▃▄▅▆▇█"
_MOST_LEVELS = 60


def sparkline(values: Sequence[float | None]) -> str:
    """Return the newest sixty values as a line of bars, scaled from 0 to the greatest. Missing
    values are blank."""
    newest = values[-_MOST_LEVELS:]
    top = max((value for value in newest if value is not None), default=0)
    if top <= 0:
        return ""
    last = len(_LEVELS) - 1
    return "".join(
        " " if value is None else _LEVELS[round(max(value, 0) / top * last)] for value in newest
    )


def on_calendar(at: datetime) -> bool:
    """Return whether a time can be converted to every time zone."""
    return at.year not in _ENDS


def gaps_in(times: Sequence[datetime]) -> frozenset[int]:
    """Return the indexes of the times before which measurements are missing.

    Measurements are missing where the distance between two times is more than a day, and more than
    one and a half times the usual distance.
    """
    steps = [(after - before).total_seconds() for before, after in pairwise(times)]
    if not steps:
        return frozenset()
    usual = max(median(steps), _DAY.total_seconds())
    return frozenset(at for at, step in enumerate(steps, 1) if step > usual * _GAP)


def with_gaps(points: Iterable[Point]) -> tuple[Point, ...]:
    """Return the valid points, oldest first, with a gap between two where measurements are
    missing."""
    valid_points = sorted(
        (point for point in points if on_calendar(point[0])), key=lambda point: point[0]
    )
    gaps = gaps_in([at for at, _ in valid_points])
    with_breaks: list[Point] = []
    for place, point in enumerate(valid_points):
        if place in gaps:
            before = valid_points[place - 1][0]
            with_breaks.append((before + (point[0] - before) / 2, None))
        with_breaks.append(point)
    return tuple(with_breaks)
