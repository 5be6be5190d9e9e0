"""Charts as plotly figures that are read on a light page and on a dark one.

A figure has a light ground, and a dark one where the default template of plotly is dark
(`plotly.io.templates.default = "plotly_dark"`): a kernel is not told the theme of the page. Colours
are those of Okabe and Ito, which people with any kind of colour vision tell apart, and lines differ
in dash and mark as well.
"""

from html import escape

import plotly.graph_objects as go
import plotly.io as pio
from plotly.subplots import make_subplots

from explorer.client.display import line
from explorer.notebook.chart import COLOURS, DARK, LIGHT, Palette, PanelChart, clock, local_time
from explorer.views.chart import Bars, Line, Lines, Unit, written

__all__ = ["COLOURS", "draw", "label"]

_DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
_MARKS = ("circle", "square", "diamond", "cross", "triangle-up", "x")
# A hover text wider than the plot makes the whole label disappear.
_LABEL_LIMIT = 48
_TICK_LIMIT = 32
_TITLE_LIMIT = 120
_MOST_MARKED = 120
_FORMATS: dict[Unit, dict[str, str]] = {
    "number": {"tickformat": "~s"},
    "share": {"tickformat": "~%", "hoverformat": ".2%"},
    "bytes": {"tickformat": "~s", "ticksuffix": "B"},
    "times": {"ticksuffix": "×"},
}
# How days and hours are written however far one zooms in.
_CALENDAR = [
    {"dtickrange": [None, 86_399_999], "value": "%H:%M\n%b %-d"},
    {"dtickrange": [86_400_000, "M1"], "value": "%b %-d\n%Y"},
    {"dtickrange": ["M1", "M12"], "value": "%b %Y"},
    {"dtickrange": ["M12", None], "value": "%Y"},
]
_TITLE_ROOM, _FOOT, _LINES_HEIGHT, _BAR_HEIGHT, _BETWEEN = 90, 48, 150, 20, 58


def draw(chart: PanelChart) -> go.Figure:
    """A figure with the panels of a chart below each other; times share an axis."""
    palette = DARK if "dark" in str(pio.templates.default) else LIGHT
    heights = [_height(panel) for panel in chart.panels]
    inside = sum(heights) + _BETWEEN * (len(heights) - 1)
    figure = make_subplots(
        rows=len(chart.panels),
        cols=1,
        shared_xaxes=all(isinstance(panel, Lines) for panel in chart.panels),
        vertical_spacing=_BETWEEN / inside if len(heights) > 1 else 0,
        row_heights=heights,
        subplot_titles=[label(panel.title) for panel in chart.panels],
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
        height=inside + _TITLE_ROOM + _FOOT,
        margin={"l": 64, "r": 24, "t": _TITLE_ROOM, "b": _FOOT},
        paper_bgcolor=palette.ground,
        plot_bgcolor=palette.ground,
        font={"color": palette.text},
        showlegend=any(isinstance(one, Lines) and len(one.lines) > 1 for one in chart.panels),
        hoverlabel={"namelength": _LABEL_LIMIT},
        modebar={"bgcolor": palette.ground, "color": palette.text, "activecolor": COLOURS[4]},
        # One hover for all lines at a moment; bars are hovered one by one.
        hovermode="closest" if any(isinstance(one, Bars) for one in chart.panels) else "x unified",
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


def label(text: str, limit: int = _LABEL_LIMIT) -> str:
    """A catalog's text for a figure: plotly reads some HTML in it, and formulas between dollars,
    so none is left."""
    shown = line(text)
    cut = shown if len(shown) <= limit else shown[: limit - 1] + "…"
    return escape(cut, quote=False).replace("$", "&#36;")


def _add_lines(figure: go.Figure, panel: Lines, row: int, chart: PanelChart) -> None:
    for at, one in enumerate(panel.lines):
        # A single line is told from that of the panel above by its colour too.
        look = (at if len(panel.lines) > 1 else row - 1) % len(COLOURS)
        figure.add_trace(_line(one, look, chart), row=row, col=1)
        figure.data[-1].showlegend = len(panel.lines) > 1
        if len(chart.panels) > 1 and len(panel.lines) > 1:
            # Beside its own panel, for another one has lines of the same colours.
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
    )
    if row == len(chart.panels) or not isinstance(chart.panels[row], Lines):
        figure.update_xaxes(title={"text": clock(chart.zone), "font": {"size": 11}}, row=row, col=1)


def _still(panel: Lines) -> list[float] | None:
    """The range of an axis whose values hardly move; plotly finds any other."""
    values = [value for one in panel.lines for value in one.values]
    span = panel.span
    if span is None or panel.from_nothing or (min(values), max(values)) == span:
        return None
    return list(span)


def _line(one: Line, look: int, chart: PanelChart) -> go.Scatter:
    many = len(one.points) > _MOST_MARKED
    # Plotly leaves out any zone: what is drawn is the clock's time in the zone asked for. Plain
    # lists, and None where the server says nothing: a gap in the line.
    return go.Scatter(
        x=[local_time(at, chart.zone).isoformat() for at, _ in one.points],
        y=[None if value is None else float(value) for _, value in one.points],
        name=label(one.name),
        mode="lines" if many else "lines+markers",
        connectgaps=False,
        line={"color": COLOURS[look], "dash": _DASHES[look], "width": 2},
        marker={"symbol": _MARKS[look], "size": 6, "color": COLOURS[look]},
    )


def _add_bars(figure: go.Figure, panel: Bars, row: int, palette: Palette) -> None:
    # Numbers for places, since two names may be cut to the same and one may look like a date.
    places = list(range(len(panel.bars)))
    names = [label(bar.name, _TICK_LIMIT) for bar in panel.bars]
    values = [float(bar.value) for bar in panel.bars]
    told = [_hover(bar.name, bar.told or written(bar.value, panel.unit)) for bar in panel.bars]
    upright = panel.upright
    figure.add_trace(
        go.Bar(
            x=places if upright else values,
            y=values if upright else places,
            orientation="v" if upright else "h",
            name=label(panel.title),
            marker={"color": COLOURS[(row - 1) % len(COLOURS)]},
            hovertext=told,
            hovertemplate="%{hovertext}<extra></extra>",
            showlegend=False,
        ),
        row=row,
        col=1,
    )
    named = {"tickmode": "array", "tickvals": places, "ticktext": names, "showgrid": False}
    numbers = {"rangemode": "tozero", **_FORMATS[panel.unit]}
    figure.update_xaxes(row=row, col=1, **(named if upright else numbers))
    figure.update_yaxes(
        row=row, col=1, **(numbers if upright else named | {"autorange": "reversed"})
    )
    if panel.rule is not None and panel.bars:
        rule = {"line": {"color": palette.text, "dash": "dot", "width": 1}, "row": row, "col": 1}
        if upright:
            figure.add_hline(y=panel.rule, **rule)
        else:
            figure.add_vline(x=panel.rule, **rule)


def _hover(name: str, told: str) -> str:
    return f"{label(name)}<br>{label(told)}"


def _height(panel: Lines | Bars) -> int:
    if isinstance(panel, Lines) or panel.upright:
        return _LINES_HEIGHT
    return max(_BAR_HEIGHT * len(panel.bars), 3 * _BAR_HEIGHT)
