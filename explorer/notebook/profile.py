"""What profiling measured of columns: charts of one column, and how far two profiles differ."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import MAXYEAR, MINYEAR, datetime
from functools import cached_property, partial
from itertools import pairwise
from math import isfinite
from typing import TYPE_CHECKING, Literal

from explorer.client.display import line, moment
from explorer.errors import UnknownName
from explorer.metadata.aspects import Camel, DatasetProfile, FieldProfile
from explorer.metadata.fieldpath import FieldPath
from explorer.notebook.chart import (
    Bar,
    Bars,
    Chart,
    Charted,
    Line,
    Lines,
    Point,
    Unit,
    Zone,
    compact,
    with_gaps,
    written,
)
from explorer.notebook.view import Cell, Fold, Grid, Part, Say, Title, tabulated

if TYPE_CHECKING:
    import pandas as pd

    from explorer.client.records import Timeseries
    from explorer.metadata.aspects import ValueFrequency

__all__ = [
    "Drift",
    "Profiles",
    "frequencies",
    "histogram",
    "number",
    "quantiles",
    "read_profiles",
    "shares",
    "shares_frame",
]

_WHOLE = "FULL_TABLE_SNAPSHOT"
_ENDS = (MINYEAR, MAXYEAR)


class Quantile(Camel, frozen=True):
    """The value below which that part of the values lies; both as profiling wrote them."""

    quantile: str = ""
    value: str = ""


class Histogram(Camel, frozen=True):
    """How many values, or which part of them, lie between two boundaries next to each other."""

    boundaries: tuple[str, ...] = ()
    heights: tuple[float, ...] = ()


class ColumnMeasures(FieldProfile, frozen=True):
    """What was measured of a column."""

    quantiles: tuple[Quantile, ...] | None = None
    histogram: Histogram | None = None

    @property
    def name(self) -> str:
        """The path as people write it."""
        return FieldPath(self.field_path).simple


class _Partition(Camel, frozen=True):
    """Which part of a table was profiled."""

    partition: str = _WHOLE
    type: str = ""


class TableMeasures(DatasetProfile, frozen=True):
    """What was measured of a table, or of a part of it."""

    partition_spec: _Partition | None = None
    field_profiles: tuple[ColumnMeasures, ...] | None = None

    @property
    def partial(self) -> bool:
        """Whether it is of a part of the table."""
        spec = self.partition_spec
        return spec is not None and spec.type != "FULL_TABLE" and spec.partition != _WHOLE

    @property
    def columns(self) -> dict[str, ColumnMeasures]:
        """The columns measured, by path, in order."""
        return {one.field_path: one for one in self.field_profiles or ()}


@dataclass(frozen=True)
class Profiles:
    """The profiles of a time with their moments, oldest first.

    Where there are profiles of the whole table those of parts are left out; `parts` is how many.
    """

    taken: tuple[tuple[datetime, TableMeasures], ...]
    parts: int = 0

    @property
    def newest(self) -> TableMeasures | None:
        """What was measured last."""
        return self.taken[-1][1] if self.taken else None

    @cached_property
    def columns(self) -> dict[str, tuple[tuple[datetime, ColumnMeasures], ...]]:
        """What was measured of each column, by path, oldest first; the columns of the newest
        profile come first and in its order."""
        found: dict[str, list[tuple[datetime, ColumnMeasures]]] = {}
        for at, profile in reversed(self.taken):
            for one in profile.field_profiles or ():
                found.setdefault(one.field_path, []).append((at, one))
        return {path: tuple(reversed(points)) for path, points in found.items()}

    def path_of(self, column: str) -> str:
        """The path of a column given by it, or by the name that people write.

        Raises `UnknownName` for one that was never measured.
        """
        if column in self.columns:
            return column
        names = {FieldPath(path).simple: path for path in reversed(self.columns)}
        if column not in names:
            raise UnknownName("measured column", column, map(line, names))
        return names[column]


def read_profiles(series: "Timeseries") -> Profiles:
    """The profiles of a series whose moments stand on the calendar."""
    read = [(one.at, one) for one in series.records(TableMeasures)]
    known = [(at, one) for at, one in read if at is not None and at.year not in _ENDS]
    known.sort(key=lambda taken: taken[0])
    entire = [(at, one) for at, one in known if not one.partial]
    kept = entire or known
    return Profiles(tuple(kept), len(known) - len(kept))


def number(text: str | None) -> float | None:
    """A number that profiling wrote as text; nothing for `N/A`, a date, or one without an end."""
    # Python reads 1_000 as a number; no database writes one so.
    if text is None or "_" in text:
        return None
    try:
        found = float(text)
    except ValueError:
        return None
    return found if isfinite(found) else None


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
    return [(at, _percent(one, rows[at], share)) for at, one in profiles.columns[path]]


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


RULE = (
    "moved: nulls or shares of values by 5 points, anything else by 25%; "
    "distinct values by 1 where they are 20 or fewer; columns and values that came or went"
)
"""When a change counts, in words; for nulls, rows and distinct values as the terminal has it."""

_POINTS = 0.05
_QUARTER = 0.25
_FEW = 20
_MOST_SHOWN = 20
_LEAST_SHOWN = 0.05
_MOST_NAMED = 3
# A change of a hundred times is drawn as one of ten: else nothing else could be seen.
_LONGEST = 10.0
_FRAME = {"path": "string", "measure": "string", "before": "Float64", "after": "Float64"} | {
    "change": "Float64",
    "relative": "Float64",
    "score": "Float64",
    "moved": "bool",
    "words": "string",
}


@dataclass(frozen=True, slots=True)
class Move:
    """How one measure of a column, or of the whole table where `path` is empty, changed.

    `score` is how many times over the rule it changed, 1 and more where it `moved`. `words` say
    both numbers, or what came and went.
    """

    path: str
    measure: str
    before: float | None
    after: float | None
    score: float
    words: str

    @property
    def moved(self) -> bool:
        """Whether it changed as much as the rule asks."""
        return self.score >= 1

    @property
    def change(self) -> float | None:
        """After less before: of shares, in parts of 1."""
        if self.before is None or self.after is None:
            return None
        return self.after - self.before

    @property
    def relative(self) -> float | None:
        """The change as a part of what was before; None where that was nothing."""
        return self.change / abs(self.before) if self.change is not None and self.before else None

    @property
    def name(self) -> str:
        """What changed, as people write it."""
        return FieldPath(self.path).simple if self.path else "the table"


@dataclass(frozen=True, repr=False)
class Drift(Charted):
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
        found = [*_of_table(self.before[1], self.after[1])]
        old, new = self.before[1].columns, self.after[1].columns
        # A profile that measured no column says nothing of which there are.
        came_and_went = bool(old and new)
        for path in {**new, **old}:
            if path in old and path in new:
                found += _of_column(path, old[path], new[path])
            elif came_and_went:
                words = "came" if path in new else "went"
                found.append(Move(path, "column", None, None, _LONGEST, words))
        return tuple(
            sorted(found, key=lambda one: (-one.score, one.path, one.measure)),
        )

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

    def chart(self, zone: Zone = "UTC") -> Chart:
        """The changes that count as bars, by how many times over the rule they are; the longest
        stand for ten times and more."""
        shown = self.moved[:_MOST_SHOWN]
        bars = tuple(
            Bar(f"{one.name} · {one.measure}", min(one.score, _LONGEST), one.words) for one in shown
        )
        panel = Bars(f"{self._count()}, by how many times over the rule", bars, "times", rule=1)
        note = self._times(zone)
        return Chart(f"Drift of {self.name}", (panel,), self.to_frame, note, self._empty(), zone)

    def parts(self) -> Iterator[Part]:
        """What it shows of itself, from top to bottom."""
        yield Title(f"Drift of {self.name}", self._times("UTC"))
        shown = self.moved[:_MOST_SHOWN]
        if not shown:
            yield Say(self._empty())
        else:
            yield Say(self._count(), "plain")
            table = Grid(
                ("column", "measure", "change", "score"),
                [_row(one) for one in shown],
                frozenset({"score"}),
            )
            yield self.chart().picture()
            yield table
            if len(shown) < len(self):
                yield Say(f"{len(shown)} of {len(self):,} drawn; .to_frame() has them all")
        still = [one for one in self.moves if _LEAST_SHOWN <= one.score < 1][:_MOST_SHOWN]
        if still:
            headers = ("column", "measure", "change", "score")
            rows = [_row(one) for one in still]
            yield Fold("changed less", [Grid(headers, rows, frozenset({"score"}))])
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


def _of_table(old: TableMeasures, new: TableMeasures) -> Iterator[Move]:
    yield from _relative("", "rows", old.row_count, new.row_count)
    yield from _relative("", "size", old.size_in_bytes, new.size_in_bytes, "bytes")


def _of_column(path: str, old: ColumnMeasures, new: ColumnMeasures) -> Iterator[Move]:
    yield from _share(path, "nulls", old.null_proportion, new.null_proportion)
    few, many = old.unique_count, new.unique_count
    for move in _relative(path, "distinct", few, many):
        any_counts = few is not None and many is not None and max(few, many) <= _FEW
        score = max(move.score, float(few != many)) if any_counts else move.score
        yield Move(path, move.measure, move.before, move.after, score, move.words)
    for measure, told in _SUMMARIES.items():
        yield from _relative(path, measure, number(told(old)), number(told(new)))
    yield from _values(path, old, new)


_SUMMARIES: Mapping[str, Callable[[ColumnMeasures], str | None]] = {
    "mean": lambda one: one.mean,
    "median": lambda one: one.median,
    "stdev": lambda one: one.stdev,
    "min": lambda one: one.min,
    "max": lambda one: one.max,
}


def _share(path: str, measure: str, old: float | None, new: float | None) -> Iterator[Move]:
    if old is not None and new is not None:
        words = f"{written(old, 'share')} → {written(new, 'share')}"
        # To a millionth: what is 5 points on paper is a little less to a computer.
        score = round(abs(new - old) / _POINTS, 6)
        yield Move(path, measure, old, new, score, words)


def _relative(
    path: str, measure: str, old: float | None, new: float | None, unit: Unit = "number"
) -> Iterator[Move]:
    if old is not None and new is not None:
        part = abs(new - old) / abs(old) if old else float(old != new)
        words = f"{written(old, unit)} → {written(new, unit)}"
        yield Move(path, measure, float(old), float(new), round(part / _QUARTER, 6), words)


def _values(path: str, old: ColumnMeasures, new: ColumnMeasures) -> Iterator[Move]:
    """How far the shares of a column's values moved: half of all the changes together."""
    was, now = _shares(old.distinct_value_frequencies), _shares(new.distinct_value_frequencies)
    if not was or not now:
        return
    moved = sum(abs(now.get(value, 0) - was.get(value, 0)) for value in {**was, **now}) / 2
    told = []
    # Of a list of the most frequent alone one cannot say what is not in it, and where there are
    # many some always come and go.
    if max(len(was), len(now)) <= _FEW and _is_complete(old) and _is_complete(new):
        told += _named("came", [value for value in now if value not in was])
        told += _named("went", [value for value in was if value not in now])
    words = "; ".join((*told, f"{written(moved, 'share')} of the rows have another value"))
    score = round(moved / _POINTS, 6)
    yield Move(path, "values", None, None, max(score, 1.0) if told else score, words)


def _shares(counted: "tuple[ValueFrequency, ...] | None") -> dict[str, float]:
    total = sum(one.frequency for one in counted or ())
    return {one.value: one.frequency / total for one in counted or ()} if total > 0 else {}


def _is_complete(one: ColumnMeasures) -> bool:
    count = one.unique_count
    return count is not None and len(one.distinct_value_frequencies or ()) >= count


def _named(how: str, values: list[str]) -> list[str]:
    if not values:
        return []
    more = len(values) - _MOST_NAMED
    return [f"{how}: {', '.join(values[:_MOST_NAMED])}" + (f" and {more} more" if more > 0 else "")]
