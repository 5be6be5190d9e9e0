"""Documents over time: how a dataset is used, and what profiling measured."""

from datetime import datetime
from math import isfinite
from typing import Literal

from explorer.metadata.aspects.moment import moment_of
from explorer.metadata.aspects.record import Camel

__all__ = [
    "DatasetProfile",
    "DatasetUsageStatistics",
    "FieldProfile",
    "FieldUsage",
    "Operation",
    "UserUsage",
    "ValueFrequency",
]

Summary = Literal["min", "max", "mean", "median", "stdev"]


class FieldUsage(Camel, frozen=True):
    """How often a column was used."""

    field_path: str = ""
    count: int = 0


class UserUsage(Camel, frozen=True):
    """How often somebody, a URN, queried a dataset."""

    user: str | None = None
    count: int = 0
    user_email: str | None = None


class DatasetUsageStatistics(Camel, frozen=True):
    """Use of a dataset in the window that starts at `timestamp_millis`."""

    timestamp_millis: int = 0
    unique_user_count: int | None = None
    total_sql_queries: int | None = None
    field_counts: tuple[FieldUsage, ...] = ()
    user_counts: tuple[UserUsage, ...] = ()
    top_sql_queries: tuple[str, ...] = ()

    @property
    def at(self) -> datetime | None:
        """When the window starts, as an aware UTC moment."""
        return moment_of(self.timestamp_millis)


class ValueFrequency(Camel, frozen=True):
    """How often a value occurs in a column."""

    value: str = ""
    frequency: int = 0


class FieldProfile(Camel, frozen=True):
    """What profiling measured of one column."""

    field_path: str = ""
    unique_count: int | None = None
    unique_proportion: float | None = None
    null_count: int | None = None
    null_proportion: float | None = None
    min: str | None = None
    max: str | None = None
    mean: str | None = None
    median: str | None = None
    stdev: str | None = None
    sample_values: tuple[str, ...] | None = None
    distinct_value_frequencies: tuple[ValueFrequency, ...] | None = None

    def number(self, summary: Summary) -> float | None:
        """A summary as a number; nothing for one that is no finite number, `N/A` or a date."""
        return _number(getattr(self, summary))


class DatasetProfile(Camel, frozen=True):
    """What profiling measured of a dataset at `timestamp_millis`."""

    timestamp_millis: int = 0
    row_count: int | None = None
    column_count: int | None = None
    size_in_bytes: int | None = None
    field_profiles: tuple[FieldProfile, ...] | None = None

    @property
    def at(self) -> datetime | None:
        """When it was measured, as an aware UTC moment."""
        return moment_of(self.timestamp_millis)


class Operation(Camel, frozen=True):
    """Something that was done to a dataset's rows, told at `timestamp_millis`, done at
    `last_updated_timestamp` (milliseconds too)."""

    timestamp_millis: int = 0
    operation_type: str = ""
    custom_operation_type: str | None = None
    actor: str | None = None
    num_affected_rows: int | None = None
    affected_datasets: tuple[str, ...] | None = None
    last_updated_timestamp: int = 0

    @property
    def at(self) -> datetime | None:
        """When it was told, as an aware UTC moment."""
        return moment_of(self.timestamp_millis)


def _number(text: str | None) -> float | None:
    # Python reads 1_000 as a number; no database writes one so.
    if text is None or "_" in text:
        return None
    try:
        number = float(text)
    except ValueError:
        return None
    return number if isfinite(number) else None
