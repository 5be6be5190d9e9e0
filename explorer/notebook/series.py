"""How a dataset was used and what profiling measured of it, over time, showing themselves."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from explorer.client.display import moment
from explorer.client.records import Timeseries
from explorer.metadata.aspects import (
    DatasetProfile,
    DatasetUsageStatistics,
    FieldProfile,
    read_aspect,
)
from explorer.metadata.fieldpath import FieldPath
from explorer.notebook.view import Cell, Facts, Grid, Part, Say, Shown, Title

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

__all__ = ["Profile", "Usage", "Window"]

_BARS = "▁▂▃▄▅▆▇█"
_MOST_BARS = 60
_MOST_ROWS = 20


@dataclass(frozen=True, slots=True)
class Window:
    """Points of a series in the last `days`, or all; `newest_millis` is the last point's moment
    where there is none in that time."""

    series: Timeseries
    days: int | None
    newest_millis: int | None = None

    @property
    def words(self) -> str:
        """The time it covers, as people say it."""
        return "ever" if self.days is None else f"in the last {self.days:,} days"

    def gaps(self, what: str) -> Iterator[Part]:
        """What there is to say where nothing was found, or the server stopped."""
        if not self.series.values:
            yield Say(f"no {what} {self.words}")
            if self.newest_millis is not None:
                at = moment(self.newest_millis, utc=True)
                yield Say(f"the newest is of {at}; days=None gives all there is")
        elif self.series.truncated:
            yield Say(f"the server stopped at {len(self.series.values):,} points, the newest")


@dataclass(frozen=True, repr=False)
class Usage(Shown):
    """How a dataset was used, window by window, oldest first."""

    name: str
    window: Window

    @cached_property
    def points(self) -> tuple[DatasetUsageStatistics, ...]:
        """One for each window of time."""
        return tuple(
            read_aspect(value, DatasetUsageStatistics) for value in self.window.series.values
        )

    def __len__(self) -> int:
        return len(self.points)

    def to_frame(self) -> "pd.DataFrame":
        """A row for each window; see `explorer.frames.usage_frame`."""
        from explorer import frames

        return frames.usage_frame(self.window.series)

    def columns_to_frame(self) -> "pd.DataFrame":
        """A row for each window and column; see `explorer.frames.column_usage_frame`."""
        from explorer import frames

        return frames.column_usage_frame(self.window.series)

    def figure(self) -> "go.Figure":
        """Queries and users over time, as a plotly figure."""
        from explorer.notebook import figures

        return figures.usage(self.to_frame(), self.name, self.window.words)

    def parts(self) -> Iterator[Part]:
        """What it shows of itself, from top to bottom."""
        yield Title(f"Usage of {self.name}", self.window.words)
        yield from self.window.gaps("usage")
        if not self.points:
            return
        queries = [point.total_sql_queries or 0 for point in self.points]
        users = [point.unique_user_count or 0 for point in self.points]
        yield Facts(
            [
                ("queries", Cell(f"{sum(queries):,}  {sparkline(queries)}")),
                ("users", Cell(f"at most {max(users):,} at once  {sparkline(users)}")),
                ("time", Cell(_span([point.timestamp_millis for point in self.points]))),
            ]
        )
        counts: Counter[str] = Counter()
        for point in self.points:
            for used in point.field_counts:
                counts[used.field_path] += used.count
        if counts:
            rows = [
                (Cell(FieldPath(path).simple), Cell(f"{count:,}"))
                for path, count in counts.most_common(_MOST_ROWS)
            ]
            yield Grid(("column", "uses"), rows, frozenset({"uses"}))
            if len(counts) > len(rows):
                yield Say(f"{len(rows)} of {len(counts):,} columns; .columns_to_frame() has all")


@dataclass(frozen=True, repr=False)
class Profile(Shown):
    """What profiling measured of a dataset, profile by profile, oldest first."""

    name: str
    window: Window

    @cached_property
    def points(self) -> tuple[DatasetProfile, ...]:
        """One for each profile."""
        return tuple(read_aspect(value, DatasetProfile) for value in self.window.series.values)

    def __len__(self) -> int:
        return len(self.points)

    def to_frame(self) -> "pd.DataFrame":
        """A row for each profile; see `explorer.frames.profile_frame`."""
        from explorer import frames

        return frames.profile_frame(self.window.series)

    def columns_to_frame(self) -> "pd.DataFrame":
        """A row for each profile and column; see `explorer.frames.column_profile_frame`."""
        from explorer import frames

        return frames.column_profile_frame(self.window.series)

    def figure(self) -> "go.Figure":
        """Rows, and the share of nulls in the columns that have most, over time."""
        from explorer.notebook import figures

        return figures.profile(
            self.to_frame(), self.columns_to_frame(), self.name, self.window.words
        )

    def parts(self) -> Iterator[Part]:
        """What it shows of itself, from top to bottom."""
        yield Title(f"Profile of {self.name}", self.window.words)
        yield from self.window.gaps("profile")
        if not self.points:
            return
        last = self.points[-1]
        rows = [point.row_count or 0 for point in self.points]
        yield Facts(
            [
                ("rows", Cell(f"{_number(last.row_count)}  {sparkline(rows)}")),
                ("columns", Cell(_number(last.column_count))),
                ("time", Cell(_span([point.timestamp_millis for point in self.points]))),
            ]
        )
        measured = last.field_profiles or ()
        if measured:
            headers = ("column", "nulls", "distinct", "least", "most", "examples")
            shown = [_column(one) for one in measured[:_MOST_ROWS]]
            yield Grid(headers, shown, frozenset({"nulls", "distinct"}))
            if len(measured) > len(shown):
                yield Say(f"{len(shown)} of {len(measured):,} columns; .columns_to_frame() has all")


def sparkline(values: Sequence[float]) -> str:
    """The values as a line of bars from nothing to the greatest; the newest sixty."""
    shown = values[-_MOST_BARS:]
    top = max(shown, default=0)
    if top <= 0:
        return ""
    return "".join(_BARS[round(max(value, 0) / top * (len(_BARS) - 1))] for value in shown)


def _span(millis: Sequence[int]) -> str:
    first, last = moment(millis[0], utc=True), moment(millis[-1], utc=True)
    return f"{first} to {last}, {len(millis):,} points" if len(millis) > 1 else first


def _column(profile: FieldProfile) -> tuple[Cell, ...]:
    share = profile.null_proportion
    return (
        Cell(FieldPath(profile.field_path).simple),
        Cell(f"{share:.1%}" if share is not None else _number(profile.null_count)),
        Cell(_number(profile.unique_count)),
        Cell(profile.min or ""),
        Cell(profile.max or ""),
        Cell(", ".join((profile.sample_values or ())[:3])),
    )


def _number(value: int | None) -> str:
    return "—" if value is None else f"{value:,}"
