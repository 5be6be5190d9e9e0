"""What profiling measured of columns: charts of one column, and how far two profiles differ."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from explorer.client.display import moment
from explorer.metadata.aspects import measured_number
from explorer.metadata.fieldpath import FieldPath
from explorer.notebook.chart import PanelChart, ShownChart, Zone
from explorer.notebook.view import grid_parts, tabulated
from explorer.views.chart import Bar, Bars, Line, Lines, Point, compact, with_gaps, written
from explorer.views.parts import Cell, Fold, Part, Say, Title
from explorer.views.profile import (
    ColumnMeasures,
    Move,
    Profiles,
    TableMeasures,
    moves_between,
)

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["DriftChart", "frequencies", "histogram", "quantiles", "shares", "shares_frame"]

Share = Literal["nulls", "unique values"]

_MOST_LINES = 6
_LONGEST_RANGE = 14


def shares(profiles: Profiles, share: Share, columns: Sequence[str]) -> Lines:
    """A share over time in the columns named; without names in those that have most nulls, or
    whose share of unique values moved furthest."""
    asked = list(dict.fromkeys(profiles.path_of(column) for column in columns))
    points = {path: _points(profiles, path, share) for path in asked or profiles.by_path}
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


def frequencies(profiles: Profiles, column: str, most: int) -> PanelChart:
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
    return PanelChart(f"Values of {one.name}", (panel,), frame, f"{of}, {_at(at)}", empty)


def quantiles(profiles: Profiles, column: str) -> PanelChart:
    """The value below which each part of the values lies; those that are numbers are drawn."""
    at, one = _newest(profiles, column, "quantiles")
    found = one.quantiles or ()
    bars = tuple(
        Bar(_part(each.quantile), value)
        for each in found
        if (value := measured_number(each.value)) is not None
    )

    rows = [(measured_number(each.quantile), each.value) for each in found]
    frame = partial(tabulated, rows, {"quantile": "Float64", "value": "string"})
    empty = "profiling measured no quantiles of this column"
    if found and not bars:
        told = ", ".join(f"{_part(each.quantile)} {each.value}" for each in found)
        empty = f"its quantiles are no numbers: {told}"
    title = f"Quantiles of {one.name}"
    return PanelChart(title, (Bars("value below which a part lies", bars),), frame, _at(at), empty)


def histogram(profiles: Profiles, column: str) -> PanelChart:
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
    return PanelChart(f"Histogram of {one.name}", (panel,), frame, _at(at), empty)


def _points(profiles: Profiles, path: str, share: Share) -> list[Point]:
    rows = {at: profile.row_count for at, profile in profiles.taken}
    return [(at, _percent(one, rows[at], share)) for at, one in profiles.by_path[path].points]


def _percent(one: ColumnMeasures, rows: int | None, share: Share) -> float | None:
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
    points = profiles.by_path[profiles.path_of(column)].points
    having = [point for point in points if getattr(point[1], measure)]
    return (having or points)[-1]


def _at(at: datetime) -> str:
    return f"measured {moment(round(at.timestamp() * 1000), utc=True)}"


def _part(quantile: str) -> str:
    part = measured_number(quantile)
    return quantile if part is None else f"{part * 100:g}%"


def _short(text: str) -> str:
    value = measured_number(text)
    return text[:_LONGEST_RANGE] if value is None else compact(value)


RULE = (
    "moved: nulls or shares of values by 5 points, anything else by 25%; "
    "distinct values by 1 where they are 20 or fewer; columns and values that came or went"
)
"""When a change counts, in words; for nulls, rows and distinct values as the terminal has it."""

_MOST_SHOWN = 20
_LEAST_SHOWN = 0.05
_HEADERS = ("column", "measure", "change", "score")
# A longer bar would leave no room for the others.
_LONGEST = 10.0
_FRAME = {"path": "string", "measure": "string", "before": "Float64", "after": "Float64"} | {
    "change": "Float64",
    "relative": "Float64",
    "score": "Float64",
    "moved": "bool",
    "words": "string",
}


@dataclass(frozen=True, repr=False)
class DriftChart(ShownChart):
    """What changed between a profile and a later one: iterable, what changed furthest first.

    `len()` is how many measures moved by the rule. Two profiles are needed; with fewer it is
    empty and says so.
    """

    name: str
    before: tuple[datetime, TableMeasures] | None
    after: tuple[datetime, TableMeasures] | None

    @cached_property
    def moves(self) -> tuple[Move, ...]:
        """Every change, those too small to count among them, furthest first."""
        if self.before is None or self.after is None:
            return ()
        return moves_between(self.before[1], self.after[1])

    @property
    def moved(self) -> tuple[Move, ...]:
        """The changes that count, furthest first."""
        return tuple(one for one in self.moves if one.moved)

    @property
    def columns(self) -> tuple[str, ...]:
        """The paths of the columns that moved, furthest first."""
        return tuple(dict.fromkeys(one.path for one in self.moved if one.path))

    def __len__(self) -> int:
        return len(self.moved)

    def __iter__(self) -> Iterator[Move]:
        return iter(self.moved)

    def to_frame(self) -> "pd.DataFrame":
        """A row for each change, those too small to count too, furthest first. No request.

        path            string    of the column; empty for the whole table
        measure         string    nulls, distinct, mean, …; `column` for one that came or went
        before, after   Float64   shares from 0 to 1
        change          Float64   after less before
        relative        Float64   change as a part of before
        score           Float64   how many times over the rule
        moved           bool      whether it counts
        words           string
        """
        rows = [
            (
                one.path,
                one.measure,
                one.before,
                one.after,
                one.change,
                one.relative,
                one.score,
                one.moved,
                one.words,
            )
            for one in self.moves
        ]
        return tabulated(rows, _FRAME)

    def chart(self, zone: Zone = "UTC") -> PanelChart:
        """The changes that count as bars, by how many times over the rule they are; the longest
        stand for ten times and more."""
        shown = self.moved[:_MOST_SHOWN]
        bars = tuple(
            Bar(
                f"{one.name} · {one.measure}",
                min(one.score, _LONGEST),
                one.words,
            )
            for one in shown
        )
        panel = Bars(f"{self._count()}, by how many times over the rule", bars, "times", rule=1)
        note = self._times(zone)
        return PanelChart(
            f"Drift of {self.name}", (panel,), self.to_frame, note, self._empty(), zone
        )

    def parts(self) -> Iterator[Part]:
        yield Title(f"Drift of {self.name}", self._times("UTC"))
        if not self.moved:
            yield Say(self._empty())
        else:
            yield Say(self._count(), "plain")
            yield self.chart().picture()
            yield from grid_parts(_HEADERS, self.moved, _row, numbers=("score",), most=_MOST_SHOWN)
        still = [one for one in self.moves if _LEAST_SHOWN <= one.score < 1][:_MOST_SHOWN]
        if still:
            rows = list(grid_parts(_HEADERS, still, _row, numbers=("score",)))
            yield Fold("changed less", rows)
        if self.after is not None and self.before is not None:
            yield Say(RULE)

    def _count(self) -> str:
        many = len(self)
        return f"{many:,} {'measure' if many == 1 else 'measures'} moved"

    def _empty(self) -> str:
        if self.before is None or self.after is None:
            return "there are no two profiles to compare"
        return "nothing moved"

    def _times(self, zone: Zone) -> str:
        if self.before is None or self.after is None:
            return ""
        ends = (self.before[0], self.after[0])
        return " → ".join(moment(round(at.timestamp() * 1000), utc=zone == "UTC") for at in ends)


def _row(one: Move) -> tuple[Cell, ...]:
    return (
        Cell(one.name, tone="loud"),
        Cell(one.measure),
        Cell(one.words),
        Cell(written(one.score, "times")),
    )
