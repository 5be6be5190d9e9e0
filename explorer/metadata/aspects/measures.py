"""Documents over time: how a dataset is used, and what profiling measured."""

from explorer.metadata.aspects.record import Camel

__all__ = [
    "DatasetProfile",
    "DatasetUsageStatistics",
    "FieldProfile",
    "FieldUsage",
    "ValueFrequency",
]


class FieldUsage(Camel, frozen=True):
    """How often a column was used."""

    field_path: str = ""
    count: int = 0


class DatasetUsageStatistics(Camel, frozen=True):
    """Use of a dataset in the window that starts at `timestamp_millis`."""

    timestamp_millis: int = 0
    unique_user_count: int | None = None
    total_sql_queries: int | None = None
    field_counts: tuple[FieldUsage, ...] = ()


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
    sample_values: tuple[str, ...] | None = None
    distinct_value_frequencies: tuple[ValueFrequency, ...] | None = None


class DatasetProfile(Camel, frozen=True):
    """What profiling measured of a dataset at `timestamp_millis`."""

    timestamp_millis: int = 0
    row_count: int | None = None
    column_count: int | None = None
    field_profiles: tuple[FieldProfile, ...] | None = None
