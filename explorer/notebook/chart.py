"""Charts of lines and bars, rendered as text, SVG, and Plotly figures."""

import sys
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time, timedelta
from html import escape
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from explorer.client.display import line
from explorer.errors import InvalidInput
from explorer.notebook.view import ShownTable, grid_parts
from explorer.views.chart import (
    Bar,
    Bars,
    Line,
    Lines,
    Panel,
    Unit,
    calendar_labels,
    compact,
    full_number,
    panel_rows,
    round_numbers,
)
from explorer.views.parts import Cell, Facts, Part, Picture, Say, Title

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
"""Six colours of the palette of Okabe and Ito, distinguishable with any colour vision."""


@dataclass(frozen=True, slots=True)
class Palette:
    """The colours of a chart: background, text and lines.

    No single colour has a contrast of 4.5 both on white and on the background of a dark notebook,
    so a chart has its own background.
    """

    ground: str
    text: str
    grid: str


LIGHT = Palette("#ffffff", "#4b5563", "rgba(128,128,128,0.25)")
DARK = Palette("#161a1d", "#c3cad1", "rgba(128,128,128,0.35)")


Zone = Literal["UTC", "local"]

_BAR_WIDTH = 24
_MOST_LISTED = 30
_NAME_LIMIT = 48
FIGURE_TYPE = "application/vnd.plotly.v1+json"
# No text is read as a formula. Not `responsive`: with it, plotly forgets the height of a figure in
# JupyterLab when the window changes size; without it, the width follows and the height stays.
FIGURE_CONFIG = {"displaylogo": False, "typesetMath": False}


class ShownFigure(ShownTable):
    """An object rendered as a figure where possible, else as a picture, as a table and text.

    A live notebook draws it with plotly; an exported one, one without a kernel or one that is not
    trusted shows a picture of the same; a terminal and a screen reader get text.
    """

    __slots__ = ()
    _config: ClassVar[Mapping[str, Any]] = FIGURE_CONFIG

    @abstractmethod
    def figure(self) -> "go.Figure":
        """Return it as a Plotly figure, which can be changed and shown."""

    def _repr_mimebundle_(
        self, include: Iterable[str] | None = None, exclude: Iterable[str] | None = None
    ) -> dict[str, Any]:
        makers: dict[str, Callable[[], Any]] = {
            "text/plain": self.__repr__,
            "text/html": self._repr_html_,
            FIGURE_TYPE: self._as_json,
        }
        mimetypes = set(makers if include is None else include) - set(exclude or ())
        return {mime: make() for mime, make in makers.items() if mime in mimetypes}

    def _display_(self) -> "go.Figure":
        # Called by marimo, which of a MIME bundle shows only the HTML, but shows a figure as
        # interactive.
        return self.figure()

    def _as_json(self) -> dict[str, Any]:
        import json

        figure: dict[str, Any] = json.loads(self.figure().to_json())
        return figure | {"config": dict(self._config)}


class ShownChart(ShownFigure):
    """An object whose figure is a chart."""

    __slots__ = ()

    @abstractmethod
    def chart(self, zone: Zone = "UTC") -> "PanelChart":
        """Return its chart, with times in UTC or in local time."""

    def figure(self, zone: Zone = "UTC") -> "go.Figure":
        """Return the chart as a Plotly figure, which can be changed and shown."""
        return draw_figure(self.chart(zone))

    def svg(self, zone: Zone = "UTC") -> str:
        """Return the chart as the text of an SVG file."""

        return draw_svg(self.chart(zone))


@dataclass(frozen=True, repr=False)
class PanelChart(ShownChart):
    """A chart of one or more panels below each other.

    `note` is shown beside the title, `empty` instead of the panels if there is nothing to draw.
    `frame` returns the DataFrame of the numbers drawn.
    """

    title: str
    panels: tuple[Panel, ...]
    frame: Callable[[], "pd.DataFrame"]
    note: str = ""
    empty: str = "no measurements"
    zone: Zone = "UTC"

    @property
    def is_empty(self) -> bool:
        """Return whether there is no number to draw."""
        return not any(
            panel.bars if isinstance(panel, Bars) else any(series.values for series in panel.lines)
            for panel in self.panels
        )

    def chart(self, zone: Zone | None = None) -> "PanelChart":
        """Return the chart, in another zone if one is given."""
        return self if zone is None else replace(self, zone=zone)

    def figure(self, zone: Zone | None = None) -> "go.Figure":
        """Return the chart as a Plotly figure, which can be changed and shown."""
        return super().figure(zone or self.zone)

    def svg(self, zone: Zone | None = None) -> str:
        """Return the chart as the text of an SVG file."""
        return super().svg(zone or self.zone)

    def to_frame(self) -> "pd.DataFrame":
        """Return the numbers of the chart."""
        return self.frame()

    def parts(self) -> Iterator[Part]:
        yield Title(self.title, self.note)
        if self.is_empty:
            yield Say(self.empty)
            return
        listed = list(self._list_points())
        yield self.picture(listed, listed)

    def picture(self, instead: Sequence[Part] = (), listed: Sequence[Part] = ()) -> Picture:
        """Return the chart as a part of a page; `instead` is the text alternative, `listed` is
        shown collapsed below it."""
        titles = "; ".join(panel.title for panel in self.panels)
        return Picture(self.svg(), f"{self.title}: {titles}", instead, listed)

    def sparklines(self) -> Iterator[Part]:
        """Return the lines over time as text: name, newest number, sparkline."""
        rows = [
            # The names of facts are rendered as trusted text; these names come from the catalog.
            (line(row.name, _NAME_LIMIT), Cell(f"{row.number}  {row.trend}".rstrip()))
            for panel in self.panels
            if not isinstance(panel, Bars)
            for row in panel_rows(panel)
        ]
        if rows:
            yield Facts(rows)

    def _list_points(self) -> Iterator[Part]:
        yield from self.sparklines()
        for panel in self.panels:
            if isinstance(panel, Bars) and panel.bars:
                yield from _table(panel)


def local_time(at: datetime, zone: Zone) -> datetime:
    """Return a time as a naive datetime in a zone."""
    if zone not in ("UTC", "local"):
        raise InvalidInput(f"there is no time zone {zone!r}; it is UTC or local")
    return (at.astimezone(UTC) if zone == "UTC" else at.astimezone()).replace(tzinfo=None)


def clock(zone: Zone) -> str:
    """Return the name of the zone."""
    return "UTC" if zone == "UTC" else f"local time, {datetime.now().astimezone():%Z}"


def _heading(panel: Panel) -> str:
    measure = f", {panel.measure}" if isinstance(panel, Bars) and panel.measure else ""
    return f"{panel.title}{measure} · {panel.note}" if panel.note else f"{panel.title}{measure}"


def _table(panel: Bars) -> Iterator[Part]:
    top = max((abs(bar.value) for bar in panel.bars), default=0.0) or 1.0
    has_notes = any(bar.note for bar in panel.bars[:_MOST_LISTED])

    def cells(bar: Bar) -> Sequence[Cell]:
        blocks = "█" * round(abs(bar.value) / top * _BAR_WIDTH)
        texts = (
            bar.name,
            full_number(bar.value, panel.unit),
            *([bar.note] if has_notes else ()),
            blocks,
        )
        return [Cell(text) for text in texts]

    heads = (panel.title, panel.measure) if panel.measure else ("", panel.title)
    headers = (*heads, *(("what",) if has_notes else ()), " ")
    rest = "listed; .to_frame() has them all"
    yield from grid_parts(
        headers, panel.bars, cells, numbers=(heads[1],), most=_MOST_LISTED, rest=rest
    )


_WIDTH = 680
_SIDE = 10
_LEFT, _RIGHT, _TOP, _FOOT = 64.0, 16.0, 8.0, 4.0
_PLOT_HEIGHT, _CAPTION, _AXIS, _BETWEEN = 110.0, 26.0, 20.0, 10.0
_BAR, _BAR_ROOM, _NAMES, _NUMBERS = 12.0, 18.0, 220.0, 110.0
_LEGEND = 18.0
_LABEL_LIMIT, _LEGEND_LIMIT, _TOLD_LIMIT = 32, 24, 96
_DASHES = ("", "7 4", "2 3", "7 3 2 3", "12 4", "12 3 2 3")
_MOST_MARKED = 120
_MOST_BARS = 40
_LABEL_WIDTH = 74
_FONT = "system-ui,-apple-system,'Segoe UI','DejaVu Sans',sans-serif"
_FAINT = 'stroke="currentColor" stroke-opacity="0.3"'
# A browser uses the colour scheme of the page that shows the picture, or that of the system; either
# way, the picture has its own background.
_DARK_STYLE = (
    "<style>@media (prefers-color-scheme:dark){"
    f".catalog-chart{{fill:{DARK.text};color:{DARK.text}}}"
    f".catalog-chart>path:first-of-type{{fill:{DARK.ground}}}}}</style>"
)

Place = tuple[float, float]


def draw_svg(chart: PanelChart) -> str:
    """Return the panels of a chart as SVG, one below the other; a sentence if it is empty."""
    pieces: list[str] = []
    top = _TOP
    if chart.is_empty:
        pieces.append(_text(0, top + 14, chart.empty, _TOLD_LIMIT))
        top += 24
    else:
        for panel in chart.panels:
            panel_pieces, top = (
                _bars(panel, top) if isinstance(panel, Bars) else _lines(panel, top, chart)
            )
            pieces += panel_pieces
            top += _BETWEEN
    width, height = _WIDTH + 2 * _SIDE, top + _FOOT
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="catalog-chart" width="{width}" '
        f'height="{height:.0f}" viewBox="{-_SIDE} 0 {width} {height:.0f}" font-family="{_FONT}" '
        f'font-size="11" fill="{LIGHT.text}" color="{LIGHT.text}">{_DARK_STYLE}'
        f'<path d="M{-_SIDE} 0h{width}v{height:.0f}h{-width}z" fill="{LIGHT.ground}"/>'
        f"{''.join(pieces)}</svg>"
    )


def _lines(panel: Lines, top: float, chart: PanelChart) -> tuple[list[str], float]:
    """Return the SVG of a panel, and its lower end."""
    pieces = [_text(0, top + 12, _heading(panel), _TOLD_LIMIT, weight=600)]
    span = panel.span
    top += _CAPTION
    if span is None:
        return [*pieces, _text(_LEFT, top + 14, "not measured")], top + _CAPTION
    if len(panel.lines) > 1:
        legend_pieces, top = _legend(panel, top)
        pieces += legend_pieces
    numbers = round_numbers(*span)
    bottom = top + _PLOT_HEIGHT
    moments = [[local_time(at, chart.zone) for at, _ in series.points] for series in panel.lines]
    first = min(times[0] for times in moments if times)
    last = max(times[-1] for times in moments if times)
    seconds = (last - first).total_seconds()
    wide = _WIDTH - _LEFT - _RIGHT

    def across(at: datetime) -> float:
        return _LEFT + (wide * (at - first).total_seconds() / seconds if seconds else wide / 2)

    def down(value: float) -> float:
        return bottom - _PLOT_HEIGHT * (value - numbers[0]) / (numbers[-1] - numbers[0])

    for number in numbers:
        y = down(number)
        pieces.append(f'<path d="M{_LEFT:g} {y:.1f}H{_WIDTH - _RIGHT:g}" {_FAINT}/>')
        pieces.append(_text(_LEFT - 6, y + 4, compact(number, panel.unit), anchor="end"))
    for day, name in calendar_labels(first, last, int(wide // _LABEL_WIDTH)):
        x = across(day)
        pieces.append(f'<path d="M{x:.1f} {bottom:.1f}v4" {_FAINT}/>')
        pieces.append(_text(x, bottom + 15, name, anchor="middle"))
    pieces.append(_text(0, bottom + 15, clock(chart.zone).partition(",")[0]))
    for at, (curve, times) in enumerate(zip(panel.lines, moments, strict=True)):
        look = at if len(panel.lines) > 1 else chart.panels.index(panel)
        places = [
            None if value is None else (across(moment), down(value))
            for moment, (_, value) in zip(times, curve.points, strict=True)
        ]
        pieces += _line(places, look % len(COLOURS))
    return pieces, bottom + _AXIS


def _line(places: Sequence[Place | None], look: int) -> list[str]:
    colour, dash = COLOURS[look], _DASHES[look]
    path, pen = [], "M"
    for place in _thin(places):
        if place is None:
            pen = "M"
            continue
        path.append(f"{pen}{place[0]:.1f} {place[1]:.1f}")
        pen = "L"
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    pieces = [
        f'<path d="{"".join(path)}" fill="none" stroke="{colour}" stroke-width="1.8" '
        f'stroke-linejoin="round"{dashes}/>'
    ]
    if len(places) <= _MOST_MARKED:
        marks = "".join(_mark(x, y, look) for x, y in filter(None, places))
        pieces.append(f'<path d="{marks}" fill="{colour}"/>')
    return pieces


def _thin(places: Sequence[Place | None]) -> Sequence[Place | None]:
    """Reduce many points to the first, highest, lowest and last of each horizontal pixel."""
    if len(places) <= 2 * _WIDTH:
        return places
    points: list[Place | None] = []
    pixel: list[Place] = []
    for place in [*places, None]:
        if pixel and (place is None or int(place[0]) != int(pixel[0][0])):
            ends = {0, len(pixel) - 1}
            ends.add(min(range(len(pixel)), key=lambda at: pixel[at][1]))
            ends.add(max(range(len(pixel)), key=lambda at: pixel[at][1]))
            points += [pixel[at] for at in sorted(ends)]
            pixel = []
        if place is None:
            points.append(None)
        else:
            pixel.append(place)
    return points


def _mark(x: float, y: float, look: int) -> str:
    """Return an SVG path of a point: a circle, square, diamond, cross, triangle or x."""
    match look:
        case 0:
            return f"M{x - 2.4:.1f} {y:.1f}a2.4 2.4 0 1 0 4.8 0a2.4 2.4 0 1 0 -4.8 0z"
        case 1:
            return f"M{x - 2.2:.1f} {y - 2.2:.1f}h4.4v4.4h-4.4z"
        case 2:
            return f"M{x:.1f} {y - 3.1:.1f}l3.1 3.1l-3.1 3.1l-3.1 -3.1z"
        case 3:
            return f"M{x - 1:.1f} {y - 3:.1f}h2v2h2v2h-2v2h-2v-2h-2v-2h2z"
        case 4:
            return f"M{x:.1f} {y - 3:.1f}l3 5.4h-6z"
        case _:
            return (
                f"M{x - 3:.1f} {y - 2:.1f}l1 -1l2 2l2 -2l1 1l-2 2l2 2l-1 1l-2 -2l-2 2l-1 -1l2 -2z"
            )


def _legend(panel: Lines, top: float) -> tuple[list[str], float]:
    pieces = []
    x = _LEFT
    for at, series in enumerate(panel.lines):
        name = _cut(series.name, _LEGEND_LIMIT)
        wide = 34 + 6.4 * len(name)
        if x > _LEFT and x + wide > _WIDTH:
            x, top = _LEFT, top + _LEGEND
        look = at % len(COLOURS)
        pieces += _line([(x, top + 6), (x + 11, top + 6), (x + 22, top + 6)], look)
        pieces.append(_text(x + 28, top + 10, name))
        x += wide
    return pieces, top + _LEGEND + 4


def _bars(panel: Bars, top: float) -> tuple[list[str], float]:
    pieces = [_text(0, top + 12, _heading(panel), _TOLD_LIMIT, weight=600)]
    top += _CAPTION
    bars = panel.bars[:_MOST_BARS]
    if not bars:
        return [*pieces, _text(_LEFT, top + 14, "nothing to compare")], top + _CAPTION
    bar_pieces, bottom = _upright(panel, bars, top) if panel.upright else _flat(panel, bars, top)
    if len(bars) < len(panel.bars):
        bar_pieces.append(_text(0, bottom + 12, f"{len(bars)} of {len(panel.bars):,} are drawn"))
        bottom += _CAPTION
    return pieces + bar_pieces, bottom


def _flat(panel: Bars, bars: Sequence[Bar], top: float) -> tuple[list[str], float]:
    """Return horizontal bars, to the right of 0, or to the left for negative values."""
    values = [*(bar.value for bar in bars), panel.rule or 0.0]
    low, high = min(0.0, *values), max(0.0, *values)
    wide = _WIDTH - _NAMES - _NUMBERS
    each = wide / ((high - low) or 1)
    zero = _NAMES + each * -low
    colour = COLOURS[0]
    bottom = top + _BAR_ROOM * len(bars)
    pieces = [f'<path d="M{zero:.1f} {top:.1f}V{bottom:.1f}" {_FAINT}/>']
    for at, bar in enumerate(bars):
        y = top + _BAR_ROOM * at + (_BAR_ROOM - _BAR) / 2
        long = abs(bar.value) * each
        x = zero - long if bar.value < 0 else zero
        pieces += [
            _text(_NAMES - 8, y + 10, bar.name, anchor="end"),
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{long:.1f}" height="{_BAR:g}" fill="{colour}"/>',
            _text(max(x + long, zero) + 6, y + 10, full_number(bar.value, panel.unit)),
        ]
    if panel.rule is not None:
        x = zero + panel.rule * each
        pieces.append(
            f'<path d="M{x:.1f} {top:.1f}V{bottom:.1f}" stroke="currentColor" '
            'stroke-dasharray="2 3"/>'
        )
    return pieces, bottom


def _upright(panel: Bars, bars: Sequence[Bar], top: float) -> tuple[list[str], float]:
    """Return vertical bars."""
    numbers = round_numbers(min(0.0, *(bar.value for bar in bars)), max(bar.value for bar in bars))
    bottom = top + _PLOT_HEIGHT

    def down(value: float) -> float:
        return bottom - _PLOT_HEIGHT * (value - numbers[0]) / (numbers[-1] - numbers[0])

    pieces = []
    for number in numbers:
        y = down(number)
        pieces.append(f'<path d="M{_LEFT:g} {y:.1f}H{_WIDTH - _RIGHT:g}" {_FAINT}/>')
        pieces.append(_text(_LEFT - 6, y + 4, compact(number, panel.unit), anchor="end"))
    wide = (_WIDTH - _LEFT - _RIGHT) / len(bars)
    every = max(1, -(-_LABEL_WIDTH // int(wide or 1)))
    for at, bar in enumerate(bars):
        x = _LEFT + wide * at
        y, zero = down(max(bar.value, 0.0)), down(min(bar.value, 0.0))
        pieces.append(
            f'<rect x="{x + 0.5:.1f}" y="{y:.1f}" width="{max(wide - 1, 0.5):.1f}" '
            f'height="{zero - y:.1f}" fill="{COLOURS[0]}"/>'
        )
        if at % every == 0:
            pieces.append(_text(x + wide / 2, bottom + 15, bar.name, 14, anchor="middle"))
    return pieces, bottom + _AXIS


def _text(
    x: float,
    y: float,
    text: str,
    limit: int = _LABEL_LIMIT,
    *,
    anchor: str = "start",
    weight: int = 400,
) -> str:
    bold = f' font-weight="{weight}"' if weight != 400 else ""
    to = f' text-anchor="{anchor}"' if anchor != "start" else ""
    return f'<text x="{x:.1f}" y="{y:.1f}"{to}{bold}>{escape(_cut(text, limit))}</text>'


def _cut(text: str, limit: int) -> str:
    # XML excludes U+FFFE, U+FFFF and lone surrogates.
    sound = line(text).encode(errors="replace").decode()
    sound = sound.replace("\ufffe", "\ufffd").replace("\uffff", "\ufffd")
    return sound if len(sound) <= limit else sound[: limit - 1] + "…"


_PLOTLY_DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
_MARKS = ("circle", "square", "diamond", "cross", "triangle-up", "x")
# A hover text wider than the plot makes the whole label disappear.
_HOVER_LIMIT = 48
_TICK_LIMIT = 32
_TITLE_LIMIT = 120
_FORMATS: dict[Unit, dict[str, str]] = {
    "number": {"tickformat": "~s"},
    "share": {"tickformat": "~%", "hoverformat": ".2%"},
    "bytes": {"tickformat": "~s", "ticksuffix": "B"},
    "times": {"ticksuffix": "×"},
}
# The formats of days and hours at each zoom level.
_CALENDAR = [
    {"dtickrange": [None, 86_399_999], "value": "%H:%M\n%b %-d"},
    {"dtickrange": [86_400_000, "M1"], "value": "%b %-d\n%Y"},
    {"dtickrange": ["M1", "M12"], "value": "%b %Y"},
    {"dtickrange": ["M12", None], "value": "%Y"},
]
_FIGURE_HEAD, _FIGURE_FOOT, _LINES_HEIGHT, _BAR_HEIGHT, _FIGURE_BETWEEN = 90, 48, 150, 20, 58


def draw_figure(chart: PanelChart) -> "go.Figure":
    """Return a Plotly figure with the panels of a chart, one below the other, on a common time
    axis.

    Its background is light, but dark on a dark page of marimo, or if plotly's default template is
    dark (`plotly.io.templates.default = "plotly_dark"`), because Jupyter does not tell a kernel the
    theme of the page. Lines differ in dash and marker as well as in colour.
    """
    import plotly.io as pio
    from plotly.subplots import make_subplots

    is_dark = "dark" in str(pio.templates.default) or _marimo_theme() == "dark"
    palette = DARK if is_dark else LIGHT
    heights = [_height(panel) for panel in chart.panels]
    inside = sum(heights) + _FIGURE_BETWEEN * (len(heights) - 1)
    figure = make_subplots(
        rows=len(chart.panels),
        cols=1,
        shared_xaxes=all(isinstance(panel, Lines) for panel in chart.panels),
        vertical_spacing=_FIGURE_BETWEEN / inside if len(heights) > 1 else 0,
        row_heights=heights,
        subplot_titles=[label(_heading(panel), _TITLE_LIMIT) for panel in chart.panels],
    )
    note = label(chart.note, _TITLE_LIMIT)
    figure.update_layout(
        template="none",
        title={
            "text": label(chart.title, _TITLE_LIMIT),
            "font": {"size": 15},
            "subtitle": {"text": note, "font": {"size": 12, "color": palette.text}},
            "x": 0,
            "xref": "paper",
            "y": 1,
            "yref": "container",
            "yanchor": "top",
            "pad": {"t": 12},
        },
        height=inside + _FIGURE_HEAD + _FIGURE_FOOT,
        margin={"l": 64, "r": 24, "t": _FIGURE_HEAD, "b": _FIGURE_FOOT},
        paper_bgcolor=palette.ground,
        plot_bgcolor=palette.ground,
        font={"color": palette.text},
        showlegend=any(isinstance(panel, Lines) and len(panel.lines) > 1 for panel in chart.panels),
        hoverlabel={"namelength": _HOVER_LIMIT},
        modebar={"bgcolor": palette.ground, "color": palette.text, "activecolor": COLOURS[4]},
        # One hover label for all lines at a moment; each bar has its own.
        hovermode="closest"
        if any(isinstance(panel, Bars) for panel in chart.panels)
        else "x unified",
    )
    figure.update_annotations(
        font={"size": 12, "color": palette.text}, x=0, xanchor="left", align="left", yshift=2
    )
    figure.update_xaxes(
        gridcolor=palette.grid, zeroline=False, linecolor=palette.grid, automargin=True
    )
    figure.update_yaxes(
        gridcolor=palette.grid, zeroline=False, linecolor=palette.grid, automargin=True
    )
    for row, panel in enumerate(chart.panels, start=1):
        if isinstance(panel, Bars):
            _add_bars(figure, panel, row, palette)
        else:
            _add_lines(figure, panel, row, chart)
    if chart.is_empty:
        # Plotly invents numbers for an axis on which nothing lies.
        figure.update_xaxes(visible=False)
        figure.update_yaxes(visible=False)
        figure.add_annotation(
            text=label(chart.empty, _TITLE_LIMIT),
            xref="paper",
            yref="paper",
            x=0.5,
            y=0.5,
            showarrow=False,
        )
    return figure


def _marimo_theme() -> str:
    """Return the theme of marimo's page, empty elsewhere."""
    marimo = sys.modules.get("marimo")
    if marimo is None or not marimo.running_in_notebook():
        return ""
    return str(marimo.app_meta().theme)


def label(text: str, limit: int = _HOVER_LIMIT) -> str:
    """Return a catalog's text without HTML and formulas, which Plotly would interpret."""
    single_line = line(text)
    cut = single_line if len(single_line) <= limit else single_line[: limit - 1] + "…"
    return escape(cut, quote=False).replace("$", "&#36;")


def _add_lines(figure: "go.Figure", panel: Lines, row: int, chart: PanelChart) -> None:
    for at, series in enumerate(panel.lines):
        # A single line has another colour than the one of the panel above.
        look = (at if len(panel.lines) > 1 else row - 1) % len(COLOURS)
        figure.add_trace(_trace(series, look, chart), row=row, col=1)
        figure.data[-1].showlegend = len(panel.lines) > 1
        if len(chart.panels) > 1 and len(panel.lines) > 1:
            # The legend is beside its own panel, because lines of another panel may have the same
            # colours.
            figure.data[-1].legend = f"legend{row}"
            axis = next(figure.select_yaxes(row=row, col=1))
            figure.update_layout({f"legend{row}": {"y": axis.domain[1], "yanchor": "top"}})
    figure.update_yaxes(
        rangemode="tozero" if panel.from_nothing else "normal",
        range=_still(panel),
        row=row,
        col=1,
        **_FORMATS[panel.unit],
    )
    figure.update_xaxes(
        type="date",
        tickformatstops=_CALENDAR,
        hoverformat="%a %Y-%m-%d %H:%M",
        ticklabelmode="instant",
        row=row,
        col=1,
        **_only_moment(panel, chart),
    )
    if row == len(chart.panels) or not isinstance(chart.panels[row], Lines):
        figure.update_xaxes(title={"text": clock(chart.zone), "font": {"size": 11}}, row=row, col=1)


def _only_moment(panel: Lines, chart: PanelChart) -> dict[str, Any]:
    """Return axis settings for a panel whose numbers are all of one moment: that moment as the
    label, with a day before and after it; empty for other panels. Plotly would label
    milliseconds."""
    moments = {local_time(at, chart.zone) for series in panel.lines for at, _ in series.points}
    if len(moments) != 1:
        return {}
    (at,) = moments
    form = "%Y-%m-%d" if at.time() == time() else "%Y-%m-%d %H:%M"
    around = [(at + days).isoformat() for days in (timedelta(-1), timedelta(1))]
    return {"range": around, "tickvals": [at.isoformat()], "ticktext": [f"{at:{form}}"]}


def _still(panel: Lines) -> list[float] | None:
    """Return an axis range for nearly constant values; None to let Plotly choose."""
    values = [value for series in panel.lines for value in series.values]
    span = panel.span
    if span is None or panel.from_nothing or (min(values), max(values)) == span:
        return None
    return list(span)


def _trace(curve: Line, look: int, chart: PanelChart) -> "go.Scatter":
    import plotly.graph_objects as go

    many = len(curve.points) > _MOST_MARKED
    # Plotly ignores time zones, so times are drawn as local clock times of `zone`. Plain lists,
    # with None for missing numbers: a gap in the line.
    return go.Scatter(
        x=[local_time(at, chart.zone).isoformat() for at, _ in curve.points],
        y=[None if value is None else float(value) for _, value in curve.points],
        name=label(curve.name),
        mode="lines" if many else "lines+markers",
        connectgaps=False,
        line={"color": COLOURS[look], "dash": _PLOTLY_DASHES[look], "width": 2},
        marker={"symbol": _MARKS[look], "size": 6, "color": COLOURS[look]},
    )


def _add_bars(figure: "go.Figure", panel: Bars, row: int, palette: Palette) -> None:
    import plotly.graph_objects as go

    # Bars are placed by number, since two names may be cut to the same text, and one may look like
    # a date.
    places = list(range(len(panel.bars)))
    names = [label(bar.name, _TICK_LIMIT) for bar in panel.bars]
    values = [float(bar.value) for bar in panel.bars]
    hover_texts = [
        _hover(bar.name, bar.note or full_number(bar.value, panel.unit)) for bar in panel.bars
    ]
    upright = panel.upright
    figure.add_trace(
        go.Bar(
            x=places if upright else values,
            y=values if upright else places,
            orientation="v" if upright else "h",
            name=label(panel.title),
            marker={"color": COLOURS[(row - 1) % len(COLOURS)]},
            hovertext=hover_texts,
            hovertemplate="%{hovertext}<extra></extra>",
            showlegend=False,
        ),
        row=row,
        col=1,
    )
    name_axis = {"tickmode": "array", "tickvals": places, "ticktext": names, "showgrid": False}
    numbers = {"rangemode": "tozero", **_FORMATS[panel.unit]}
    figure.update_xaxes(row=row, col=1, **(name_axis if upright else numbers))
    figure.update_yaxes(
        row=row, col=1, **(numbers if upright else name_axis | {"autorange": "reversed"})
    )
    if panel.rule is not None and panel.bars:
        rule = {"line": {"color": palette.text, "dash": "dot", "width": 1}, "row": row, "col": 1}
        if upright:
            figure.add_hline(y=panel.rule, **rule)
        else:
            figure.add_vline(x=panel.rule, **rule)


def _hover(name: str, text: str) -> str:
    return f"{label(name)}<br>{label(text)}"


def _height(panel: Lines | Bars) -> int:
    if isinstance(panel, Lines) or panel.upright:
        return _LINES_HEIGHT
    return max(_BAR_HEIGHT * len(panel.bars), 3 * _BAR_HEIGHT)
