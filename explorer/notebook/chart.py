"""What a chart shows, said once and drawn three times: by plotly, as a picture and as text.

A chart holds a catalog's text as it is; whoever draws it cleans and escapes it.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import MAXYEAR, MINYEAR, UTC, datetime, timedelta
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING, Any, Literal

from explorer.client.display import line
from explorer.errors import InvalidInput
from explorer.notebook.amounts import Unit, written
from explorer.notebook.view import Cell, Facts, Grid, Part, Picture, Say, Table, Title

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

__all__ = [
    "Bar",
    "Bars",
    "Chart",
    "Charted",
    "Line",
    "Lines",
    "Panel",
    "Point",
    "Zone",
    "clock",
    "local_time",
    "sparkline",
    "with_gaps",
]

Zone = Literal["UTC", "local"]
Point = tuple[datetime, float | None]

_LEVELS = "▁▂▃▄▅▆▇█"
_MOST_LEVELS = 60
_BAR_WIDTH = 24
_MOST_LISTED = 30
_NAME_LIMIT = 48
_DAY = timedelta(days=1)
_GAP = 1.5
_LEAST_SPAN = 0.005
# The calendar's first and last year have no such day in every zone.
_ENDS = (MINYEAR, MAXYEAR)
_MIMETYPE = "application/vnd.plotly.v1+json"
# No text is read as a formula. Not `responsive`: with it, plotly forgets the height of a figure in
# JupyterLab when the window changes size; without it, the width follows and the height stays.
_CONFIG = {"displaylogo": False, "typesetMath": False}


@dataclass(frozen=True, slots=True)
class Line:
    """Numbers over time, oldest first; where one is missing there is a gap."""

    name: str
    points: tuple[Point, ...]

    @property
    def values(self) -> list[float]:
        """What was measured."""
        return [value for _, value in self.points if value is not None]


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines over the same time, from nothing up, or from the least up."""

    title: str
    lines: tuple[Line, ...]
    unit: Unit = "number"
    from_nothing: bool = True

    @property
    def span(self) -> tuple[float, float] | None:
        """The values at the bottom and the top of the axis, never the same; none where nothing
        was measured."""
        values = [value for one in self.lines for value in one.values]
        if not values:
            return None
        low, high = min(values), max(values)
        if self.from_nothing:
            low, high = min(low, 0.0), max(high, 0.0)
        # What hardly moves is not drawn as mountains.
        least = max(abs(low), abs(high)) * _LEAST_SPAN or 1.0
        if high - low >= least:
            return low, high
        middle = (low + high) / 2
        return middle - least / 2, middle + least / 2


@dataclass(frozen=True, slots=True)
class Bar:
    """A number of something; `told` is what there is to say of it besides."""

    name: str
    value: float
    told: str = ""


@dataclass(frozen=True, slots=True)
class Bars:
    """Numbers side by side, in the order given: below each other, or `upright` next to each other
    as those of a histogram stand. `rule` draws a line at a value."""

    title: str
    bars: tuple[Bar, ...]
    unit: Unit = "number"
    upright: bool = False
    rule: float | None = None


Panel = Lines | Bars


class Charted(Table):
    """Something shown as a chart wherever that can be, and as a table and a text elsewhere.

    A live notebook draws it with plotly; an exported one, one without a kernel or one that is not
    trusted shows a picture of the same numbers; a terminal and a screen reader get text.
    """

    __slots__ = ()

    @abstractmethod
    def chart(self, zone: Zone = "UTC") -> "Chart":
        """What it draws, with times in UTC or in the zone of this machine."""

    def figure(self, zone: Zone = "UTC") -> "go.Figure":
        """The chart as a plotly figure, to be changed and shown as any other."""
        from explorer.notebook import figures

        return figures.draw(self.chart(zone))

    def svg(self, zone: Zone = "UTC") -> str:
        """The chart as the text of an SVG file."""
        from explorer.notebook import picture

        return picture.draw(self.chart(zone))

    def _repr_mimebundle_(
        self, include: Iterable[str] | None = None, exclude: Iterable[str] | None = None
    ) -> dict[str, Any]:
        makers: dict[str, Callable[[], Any]] = {
            "text/plain": self.__repr__,
            "text/html": self._repr_html_,
            _MIMETYPE: self._as_json,
        }
        wanted = set(makers if include is None else include) - set(exclude or ())
        return {mime: make() for mime, make in makers.items() if mime in wanted}

    def _display_(self) -> "go.Figure":
        # Asked by marimo, which of a bundle shows the HTML alone; a figure it shows alive.
        return self.figure()

    def _as_json(self) -> dict[str, Any]:
        import json

        figure: dict[str, Any] = json.loads(self.figure().to_json())
        return figure | {"config": _CONFIG}


@dataclass(frozen=True, repr=False)
class Chart(Charted):
    """A chart of one or more panels below each other.

    `note` is what there is to know beside the title, `empty` is said where there is nothing to
    draw. `frame` makes the DataFrame of the numbers drawn.
    """

    title: str
    panels: tuple[Panel, ...]
    frame: Callable[[], "pd.DataFrame"]
    note: str = ""
    empty: str = "nothing was measured"
    zone: Zone = "UTC"

    @property
    def is_empty(self) -> bool:
        """Whether there is no number to draw."""
        return not any(
            panel.bars if isinstance(panel, Bars) else any(one.values for one in panel.lines)
            for panel in self.panels
        )

    def chart(self, zone: Zone | None = None) -> "Chart":
        """Itself, in another zone where one is named."""
        return self if zone is None else replace(self, zone=zone)

    def figure(self, zone: Zone | None = None) -> "go.Figure":
        """The chart as a plotly figure, to be changed and shown as any other."""
        return super().figure(zone or self.zone)

    def svg(self, zone: Zone | None = None) -> str:
        """The chart as the text of an SVG file."""
        return super().svg(zone or self.zone)

    def to_frame(self) -> "pd.DataFrame":
        """The numbers it is drawn from."""
        return self.frame()

    def parts(self) -> Iterator[Part]:
        """What it shows of itself, from top to bottom."""
        yield Title(self.title, self.note)
        if self.is_empty:
            yield Say(self.empty)
            return
        listed = list(self._listed())
        yield self.picture(listed, listed)

    def picture(self, instead: Sequence[Part] = (), listed: Sequence[Part] = ()) -> Picture:
        """It as a part of something shown; `instead` is for those who see no pictures, `listed`
        stands folded away below it."""
        said = "; ".join(panel.title for panel in self.panels)
        return Picture(self.svg(), f"{self.title}: {said}", instead, listed)

    def sparklines(self) -> Iterator[Part]:
        """Each line as a line of text: its name, its newest number, its shape."""
        rows = []
        for panel in self.panels:
            if isinstance(panel, Lines):
                for one in panel.lines:
                    # The names of facts are taken as ours; these are not.
                    name = panel.title if len(panel.lines) == 1 else line(one.name, _NAME_LIMIT)
                    rows.append((name, Cell(_told(one, panel.unit))))
        if rows:
            yield Facts(rows)

    def _listed(self) -> Iterator[Part]:
        yield from self.sparklines()
        for panel in self.panels:
            if isinstance(panel, Bars) and panel.bars:
                yield from _table(panel)


def with_gaps(points: Iterable[Point]) -> tuple[Point, ...]:
    """The points that stand on the calendar, in order, with a gap where measurements are missing:
    where two are further apart than half as much again as usual, and than a day."""
    known = sorted(
        (point for point in points if point[0].year not in _ENDS), key=lambda point: point[0]
    )
    steps = [after[0] - before[0] for before, after in pairwise(known)]
    if not steps:
        return tuple(known)
    usual = max(timedelta(seconds=median(step.total_seconds() for step in steps)), _DAY)
    found = known[:1]
    for step, point in zip(steps, known[1:], strict=True):
        if step > usual * _GAP:
            found.append((found[-1][0] + step / 2, None))
        found.append(point)
    return tuple(found)


def local_time(at: datetime, zone: Zone) -> datetime:
    """The moment as the clock in that zone shows it, without a zone."""
    if zone not in ("UTC", "local"):
        raise InvalidInput(f"no zone {zone!r}; it is UTC or local")
    return (at.astimezone(UTC) if zone == "UTC" else at.astimezone()).replace(tzinfo=None)


def clock(zone: Zone) -> str:
    """The zone in words."""
    return "UTC" if zone == "UTC" else f"local time, {datetime.now().astimezone():%Z}"


def sparkline(values: Sequence[float | None]) -> str:
    """The values as a line of bars from nothing to the greatest; the newest sixty. Blank where one
    is missing."""
    shown = values[-_MOST_LEVELS:]
    top = max((value for value in shown if value is not None), default=0)
    if top <= 0:
        return ""
    last = len(_LEVELS) - 1
    return "".join(
        " " if value is None else _LEVELS[round(max(value, 0) / top * last)] for value in shown
    )


def _told(one: Line, unit: Unit) -> str:
    values = one.values
    if not values:
        return "not measured"
    newest = written(values[-1], unit)
    return f"{newest}  {sparkline([value for _, value in one.points])}".rstrip()


def _table(panel: Bars) -> Iterator[Part]:
    shown = panel.bars[:_MOST_LISTED]
    top = max((abs(bar.value) for bar in panel.bars), default=0.0) or 1.0
    told = any(bar.told for bar in shown)
    rows = []
    for bar in shown:
        row = [Cell(bar.name), Cell(written(bar.value, panel.unit))]
        row += [Cell(bar.told)] if told else []
        rows.append([*row, Cell("█" * round(abs(bar.value) / top * _BAR_WIDTH))])
    headers = ("", panel.title, *(("what",) if told else ()), " ")
    yield Grid(headers, rows, frozenset({panel.title}))
    if len(shown) < len(panel.bars):
        yield Say(f"{len(shown)} of {len(panel.bars):,} listed; .to_frame() has them all")
