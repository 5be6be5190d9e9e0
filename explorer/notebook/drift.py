"""What moved between two profiles of a table, ranked by how far."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING

from explorer.client.display import moment
from explorer.metadata.fieldpath import FieldPath
from explorer.notebook.amounts import Unit, written
from explorer.notebook.chart import Bar, Bars, Chart, Charted, Zone
from explorer.notebook.measured import ColumnMeasures, TableMeasures, number
from explorer.notebook.tabular import tabulated
from explorer.notebook.view import Cell, Fold, Grid, Part, Say, Title

if TYPE_CHECKING:
    import pandas as pd

    from explorer.metadata.aspects import ValueFrequency

__all__ = ["RULE", "Drift", "Move"]

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
