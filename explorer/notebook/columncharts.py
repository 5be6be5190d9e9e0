"""Charts of what profiling measured of single columns."""

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from explorer.client.display import moment
from explorer.metadata.fieldpath import FieldPath
from explorer.notebook.amounts import compact
from explorer.notebook.chart import Bar, Bars, Chart, Line, Lines, Point, with_gaps
from explorer.notebook.measured import ColumnMeasures, Profiles, number
from explorer.notebook.tabular import tabulated

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Share", "frequencies", "histogram", "quantiles", "shares", "shares_frame"]

Share = Literal["nulls", "unique values"]

_MOST_LINES = 6
_LONGEST_RANGE = 14


def shares(profiles: Profiles, share: Share, columns: Sequence[str]) -> Lines:
    """A share over time in the columns named; without names in those that have most nulls, or
    whose share of unique values moved furthest."""
    asked = list(dict.fromkeys(profiles.path_of(column) for column in columns))
    points = {path: _points(profiles, path, share) for path in asked or profiles.columns}
    title = f"share of {share}"
    if not asked:
        ranks = {path: _rank(found, share) for path, found in points.items()}
        # Columns without a null are all alike; one of them says so.
        some = [path for path in ranks if ranks[path] > 0] if share == "nulls" else list(ranks)
        asked = sorted(some, key=lambda path: -ranks[path])[:_MOST_LINES] or list(ranks)[:1]
        title += f", {len(asked)} of {len(points):,} columns"
    lines = tuple(Line(FieldPath(path).simple, with_gaps(points[path])) for path in asked)
    return Lines(title, lines, "share")


def shares_frame(panel: Lines) -> "pd.DataFrame":
    """A row for each line and measurement, at its moment: `column` and `share`, from 0 to 1."""
    import pandas as pd

    found = [
        (at, line.name, value)
        for line in panel.lines
        for at, value in line.points
        if value is not None
    ]
    frame = tabulated([row[1:] for row in found], {"column": "string", "share": "Float64"})
    times = pd.DatetimeIndex([row[0] for row in found], tz="UTC", name="time")
    return frame.set_index(times.as_unit("ms"))


def frequencies(profiles: Profiles, column: str, most: int) -> Chart:
    """How often each value is there, the most frequent first."""
    at, one = _newest(profiles, column, "distinct_value_frequencies")
    counted = sorted(one.distinct_value_frequencies or (), key=lambda each: -each.frequency)
    whole = max(one.unique_count or 0, len(counted))
    shown = counted[:most]
    bars = tuple(Bar(each.value or "(empty)", each.frequency) for each in shown)
    of = f"{len(shown):,} of {whole:,} values"

    rows = [(each.value, each.frequency) for each in counted]
    frame = partial(tabulated, rows, {"value": "string", "frequency": "Int64"})
    panel = Bars("frequency", bars)
    empty = "profiling counted no values of this column"
    return Chart(f"Values of {one.name}", (panel,), frame, f"{of}, {_at(at)}", empty)


def quantiles(profiles: Profiles, column: str) -> Chart:
    """The value below which each part of the values lies; those that are numbers are drawn."""
    at, one = _newest(profiles, column, "quantiles")
    found = one.quantiles or ()
    bars = tuple(
        Bar(_part(each.quantile), value)
        for each in found
        if (value := number(each.value)) is not None
    )

    rows = [(number(each.quantile), each.value) for each in found]
    frame = partial(tabulated, rows, {"quantile": "Float64", "value": "string"})
    empty = "profiling measured no quantiles of this column"
    if found and not bars:
        told = ", ".join(f"{_part(each.quantile)} {each.value}" for each in found)
        empty = f"its quantiles are no numbers: {told}"
    title = f"Quantiles of {one.name}"
    return Chart(title, (Bars("value below which a part lies", bars),), frame, _at(at), empty)


def histogram(profiles: Profiles, column: str) -> Chart:
    """How many values lie between each two boundaries."""
    at, one = _newest(profiles, column, "histogram")
    drawn = one.histogram
    ends = [_short(text) for text in drawn.boundaries] if drawn else []
    heights = list(drawn.heights) if drawn else []
    names = [f"{low} – {high}" for low, high in pairwise(ends)]
    # Some profilers name as many boundaries as there are bars.
    if len(names) != len(heights):
        names = ends if len(ends) == len(heights) else [f"{at + 1}" for at in range(len(heights))]
    bars = tuple(Bar(name, height) for name, height in zip(names, heights, strict=True))

    rows = list(zip(names, heights, strict=True))
    frame = partial(tabulated, rows, {"range": "string", "height": "Float64"})
    empty = "profiling drew no histogram of this column"
    panel = Bars("values in each range", bars, upright=True)
    return Chart(f"Histogram of {one.name}", (panel,), frame, _at(at), empty)


def _points(profiles: Profiles, path: str, share: Share) -> list[Point]:
    rows = {at: profile.row_count for at, profile in profiles.taken}
    return [(at, _share(one, rows[at], share)) for at, one in profiles.columns[path]]


def _share(one: ColumnMeasures, rows: int | None, share: Share) -> float | None:
    if share == "nulls":
        told, count = one.null_proportion, one.null_count
    else:
        told, count = one.unique_proportion, one.unique_count
    return told if told is not None or count is None or not rows else count / rows


def _rank(points: Sequence[Point], share: Share) -> float:
    values = [value for _, value in points if value is not None]
    if not values:
        return 0
    return max(values) if share == "nulls" else max(values) - min(values)


def _newest(
    profiles: Profiles,
    column: str,
    measure: Literal["distinct_value_frequencies", "quantiles", "histogram"],
) -> tuple[datetime, ColumnMeasures]:
    """The newest profile of the column that has the measure; else the newest of the column."""
    points = profiles.columns[profiles.path_of(column)]
    having = [point for point in points if getattr(point[1], measure)]
    return (having or points)[-1]


def _at(at: datetime) -> str:
    return f"measured {moment(round(at.timestamp() * 1000), utc=True)}"


def _part(quantile: str) -> str:
    part = number(quantile)
    return quantile if part is None else f"{part * 100:g}%"


def _short(text: str) -> str:
    value = number(text)
    return text[:_LONGEST_RANGE] if value is None else compact(value)
