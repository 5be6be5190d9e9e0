"""Plotly figures that sit well on a light page and on a dark one.

Backgrounds are transparent and texts mid-grey; colours are those of Okabe and Ito, which people
with any kind of colour vision tell apart, and lines differ in dash and mark as well.
"""

from collections.abc import Sequence
from html import escape
from typing import Any

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from explorer.client.display import line
from explorer.metadata.fieldpath import FieldPath

__all__ = ["COLOURS", "profile", "usage"]

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
_DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
_MARKS = ("circle", "square", "diamond", "cross", "triangle-up", "x")
_GREY = "#808080"
_GRID = "rgba(128,128,128,0.25)"
# A hover text wider than the plot makes the whole label disappear.
_LABEL_LIMIT = 48


def usage(frame: pd.DataFrame, name: str, when: str) -> go.Figure:
    """Queries above, users below, over the same time; `frame` as `explorer.frames.usage_frame`."""
    figure = _panels(("queries", "users"), f"Usage of {label(name)}, {when}")
    for row, column in enumerate(("queries", "users"), start=1):
        figure.add_trace(_line(frame[column], column, row - 1), row=row, col=1)
        figure.update_yaxes(rangemode="tozero", row=row, col=1)
    return _said_if_empty(figure, frame, f"no usage {when}")


def profile(frame: pd.DataFrame, columns: pd.DataFrame, name: str, when: str) -> go.Figure:
    """Rows above; below, the share of nulls in those columns that have most.

    Frames as `explorer.frames.profile_frame` and `column_profile_frame`.
    """
    figure = _panels(("rows", "share of nulls"), f"Profile of {label(name)}, {when}")
    figure.add_trace(_line(frame["rows"], "rows", 0), row=1, col=1)
    figure.update_traces(showlegend=False)
    for at, path in enumerate(_emptiest(columns)):
        series = columns.loc[columns["path"] == path, "null_proportion"]
        figure.add_trace(_line(series, label(FieldPath(path).simple), at), row=2, col=1)
    figure.update_yaxes(rangemode="tozero", row=1, col=1)
    figure.update_yaxes(rangemode="tozero", tickformat=".0%", row=2, col=1)
    figure.update_layout(showlegend=True)
    return _said_if_empty(figure, frame, f"no profile {when}")


def label(text: str) -> str:
    """A catalog's text for a figure: plotly reads some HTML in it, so none is left."""
    shown = line(text)
    cut = shown if len(shown) <= _LABEL_LIMIT else shown[: _LABEL_LIMIT - 1] + "…"
    return escape(cut, quote=False)


def _emptiest(columns: pd.DataFrame) -> Sequence[str]:
    greatest = columns.groupby("path")["null_proportion"].max().dropna()
    ordered = greatest[greatest > 0].sort_values(ascending=False, kind="stable")
    return [str(path) for path in ordered.index[: len(COLOURS)]]


def _line(series: "pd.Series[Any]", name: str, at: int) -> go.Scatter:
    # Plain lists: what the server does not say is a gap in the line.
    values = [None if pd.isna(value) else float(value) for value in series]
    return go.Scatter(
        x=list(series.index),
        y=values,
        name=name,
        mode="lines+markers",
        line={"color": COLOURS[at], "dash": _DASHES[at], "width": 2},
        marker={"symbol": _MARKS[at], "size": 6},
    )


def _panels(titles: Sequence[str], title: str) -> go.Figure:
    figure = make_subplots(
        rows=len(titles), cols=1, shared_xaxes=True, vertical_spacing=0.14, subplot_titles=titles
    )
    figure.update_layout(
        title={"text": title, "font": {"size": 15}},
        height=420,
        margin={"l": 60, "r": 20, "t": 70, "b": 40},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"color": _GREY},
        showlegend=False,
        hovermode="x unified",
    )
    figure.update_annotations(font={"size": 12, "color": _GREY})
    figure.update_xaxes(gridcolor=_GRID, zeroline=False, linecolor=_GRID)
    figure.update_yaxes(gridcolor=_GRID, zeroline=False, linecolor=_GRID)
    return figure


def _said_if_empty(figure: go.Figure, frame: pd.DataFrame, sentence: str) -> go.Figure:
    if frame.empty:
        figure.add_annotation(
            text=sentence, xref="paper", yref="paper", x=0.5, y=0.5, showarrow=False
        )
    return figure
