"""What profiling measured of a dataset: of the whole, of each column over time, and what moved."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import MAXYEAR, MINYEAR, datetime, timedelta
from typing import TYPE_CHECKING, Literal, TypeVar, get_args

from explorer.metadata.aspects import Camel, DatasetProfile, FieldProfile

if TYPE_CHECKING:
    from explorer.client.records import Timeseries

__all__ = [
    "DRIFT_RULE",
    "MEASURES",
    "ColumnHistory",
    "Measure",
    "Moved",
    "Profiled",
    "read_profiles",
]

Measure = Literal["nulls", "distinct", "min", "max", "mean", "median"]
MEASURES: tuple[Measure, ...] = get_args(Measure)

DRIFT_RULE = "! marks nulls ±5 points in a week, rows or distinct ±25% (±1 if 20 or fewer)"
_P = TypeVar("_P")

_WEEK = timedelta(days=7)
_STILL = timedelta(days=2)
_NULL_POINTS = 0.05
_QUARTER = 0.25
_FEW = 20
_WHOLE = "FULL_TABLE_SNAPSHOT"


class _Partition(Camel, frozen=True):
    """Which part of a table was profiled."""

    partition: str = _WHOLE
    type: str = ""


class _Profile(DatasetProfile, frozen=True):
    """A profile with what is only shown here."""

    size_in_bytes: int | None = None
    partition_spec: _Partition | None = None

    @property
    def partial(self) -> bool:
        """Whether it is of a part of the table."""
        spec = self.partition_spec
        return spec is not None and spec.type != "FULL_TABLE" and spec.partition != _WHOLE


@dataclass(frozen=True, slots=True)
class Moved:
    """What is not as it was, in words, and the moment it is compared with."""

    words: str
    since: datetime


@dataclass(frozen=True, slots=True)
class ColumnHistory:
    """A column of the newest profile, in all profiles that have it, oldest first. `drift` is
    what moved since a week before, by the rule."""

    path: str
    points: tuple[tuple[datetime, FieldProfile], ...]
    drift: Moved | None

    @property
    def newest(self) -> FieldProfile:
        """What was measured last."""
        return self.points[-1][1]

    def values(self, measure: Measure) -> Iterator[tuple[datetime, float]]:
        """A measure over time, where it is a number: nulls as a share, 0 to 1."""
        for at, field in self.points:
            value = _number(field, measure)
            if value is not None:
                yield at, value

    @property
    def measures(self) -> tuple[Measure, ...]:
        """What can be drawn of it."""
        return tuple(one for one in MEASURES if any(True for _ in self.values(one)))


@dataclass(frozen=True, slots=True)
class Profiled:
    """The profiles of a time, oldest first, and the columns of the newest.

    Where there are profiles of the whole table those of parts are left out; `parts` is how many.
    `limit` is set where the server stopped there.
    """

    profiles: tuple[tuple[datetime, _Profile], ...]
    columns: tuple[ColumnHistory, ...]
    parts: int
    limit: int | None

    @property
    def newest(self) -> _Profile:
        """What was measured last."""
        return self.profiles[-1][1]

    @property
    def rows(self) -> tuple[tuple[datetime, int], ...]:
        """The number of rows where it was told."""
        return tuple((at, one.row_count) for at, one in self.profiles if one.row_count is not None)

    @property
    def drift(self) -> Moved | None:
        """How the number of rows moved since a week before, by the rule; or that it did not move
        for two days or longer, where it moved before."""
        if not self.rows:
            return None
        at, newest = self.rows[-1]
        before = _week_before(self.rows)
        if before is not None and _moved(before[1], newest) >= _QUARTER:
            return Moved(f"rows {before[1]:,} → {newest:,}", before[0])
        same = at
        for then, count in reversed(self.rows):
            if count != newest:
                return Moved("rows the same", same) if at - same >= _STILL else None
            same = then
        return None


def read_profiles(series: "Timeseries") -> Profiled:
    """The profiles of a series, by column too."""
    read = [(one.at, one) for one in series.records(_Profile)]
    # The calendar's first and last year have no such day in every zone.
    ends = (MINYEAR, MAXYEAR)
    known = [(at, one) for at, one in read if at is not None and at.year not in ends]
    entire = [(at, one) for at, one in known if not one.partial]
    kept = entire or known
    columns: dict[str, list[tuple[datetime, FieldProfile]]] = {}
    for at, profile in kept:
        for field in profile.field_profiles or ():
            columns.setdefault(field.field_path, []).append((at, field))
    newest = kept[-1][1].field_profiles or () if kept else ()
    histories = [
        ColumnHistory(path, tuple(columns[path]), _drift(columns[path]))
        for path in dict.fromkeys(field.field_path for field in newest)
    ]
    return Profiled(
        tuple(kept),
        tuple(histories),
        len(known) - len(kept),
        series.limit if series.truncated else None,
    )


def _number(field: FieldProfile, measure: Measure) -> float | None:
    if measure == "nulls":
        return field.null_proportion
    if measure == "distinct":
        return field.unique_count
    return field.number(measure)


def _drift(points: Sequence[tuple[datetime, FieldProfile]]) -> Moved | None:
    before = _week_before(points)
    if before is None:
        return None
    at, old = before
    new = points[-1][1]
    found = []
    was, now = old.null_proportion, new.null_proportion
    if was is not None and now is not None and abs(now - was) >= _NULL_POINTS:
        found.append(f"nulls {was:.1%} → {now:.1%}")
    few, many = old.unique_count, new.unique_count
    if few is not None and many is not None:
        any_counts = max(few, many) <= _FEW and few != many
        if any_counts or _moved(few, many) >= _QUARTER:
            found.append(f"distinct values {few:,} → {many:,}")
    return Moved(", ".join(found), at) if found else None


def _moved(before: int, after: int) -> float:
    return abs(after - before) / before if before else float(after != before)


def _week_before(points: Sequence[tuple[datetime, _P]]) -> tuple[datetime, _P] | None:
    """The newest point a week or more older than the last."""
    last = points[-1][0]
    return next((one for one in reversed(points) if last - one[0] >= _WEEK), None)
