"""What profiling measured, read with more than the client's records hold."""

from dataclasses import dataclass
from datetime import MAXYEAR, MINYEAR, datetime
from functools import cached_property
from math import isfinite
from typing import TYPE_CHECKING

from explorer.client.display import line
from explorer.errors import UnknownName
from explorer.metadata.aspects import Camel, DatasetProfile, FieldProfile
from explorer.metadata.fieldpath import FieldPath

if TYPE_CHECKING:
    from explorer.client.records import Timeseries

__all__ = ["ColumnMeasures", "Profiles", "TableMeasures", "number", "read_profiles"]

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
