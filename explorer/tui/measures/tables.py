"""What was measured, as tables for files: every number in full, moments in UTC."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Final

from explorer.metadata.aspects import FieldProfile
from explorer.metadata.fieldpath import FieldPath
from explorer.metadata.urn import Urn
from explorer.tui.measures.profiles import ColumnHistory, Profiled
from explorer.views.table import Row, Table
from explorer.views.usage import Usage

__all__ = ["of_column", "of_days", "of_profiles", "of_rows_over_time", "of_use", "of_values"]

_NUMBERS: Final = (
    "null_count",
    "null_proportion",
    "unique_count",
    "unique_proportion",
    "min",
    "max",
    "mean",
    "median",
)


def of_use(name: str, use: Usage, names: Mapping[Urn, str]) -> Table:
    """What was used, by whom, with which queries: each with how often, and a query with the number
    of days on which it was among the most asked."""

    def found() -> Iterator[Row]:
        for path, count in use.columns:
            yield "column", path, FieldPath(path).simple, count, None
        for user, count in use.users:
            urns = Urn.parse_all([user])
            yield "user", user, names.get(urns[0], urns[0].name) if urns else user, count, None
        for query, days in use.queries:
            yield "query", query, None, None, days

    columns = ("kind", "value", "name", use.measure, "days_among_top")
    return Table.of(f"{name} usage", columns, list(found()))


def of_days(name: str, use: Usage) -> Table:
    """The use by day of UTC, the newest first."""
    rows: list[Row] = [(day.day.isoformat(), day.count, day.users) for day in reversed(use.days)]
    return Table.of(f"{name} usage by day", ("day", use.measure, "users"), rows)


def of_profiles(name: str, data: Profiled) -> Table:
    """The columns as they were measured last, with what moved in the week before."""
    at = _moment(data.profiles[-1][0]) if data.profiles else None
    rows: list[Row] = [
        (
            one.path,
            FieldPath(one.path).simple,
            at,
            *_numbers(one.newest),
            tuple(one.newest.sample_values or ()),
            one.drift.words if one.drift else None,
        )
        for one in data.columns
    ]
    columns = ("path", "name", "measured", *_NUMBERS, "sample_values", "moved")
    return Table.of(f"{name} profile", columns, rows)


def of_rows_over_time(name: str, data: Profiled) -> Table:
    """The profiles, the newest first."""
    rows: list[Row] = [
        (_moment(at), one.row_count, one.column_count, one.size_in_bytes)
        for at, one in reversed(data.profiles)
    ]
    columns = ("measured", "rows", "columns", "size_in_bytes")
    return Table.of(f"{name} profile over time", columns, rows)


def of_column(name: str, column: ColumnHistory) -> Table:
    """One column at every moment at which it was measured, the newest first."""
    rows: list[Row] = [(_moment(at), *_numbers(field)) for at, field in reversed(column.points)]
    title = f"{name} {FieldPath(column.path).simple} profile over time"
    return Table.of(title, ("measured", *_NUMBERS), rows)


def of_values(name: str, column: ColumnHistory) -> Table:
    """The values of one column: those counted, the most frequent first, and those seen."""
    newest = column.newest
    counted = sorted(newest.distinct_value_frequencies or (), key=lambda one: -one.frequency)
    rows: list[Row] = [("value", one.value, one.frequency) for one in counted]
    rows += [("sample", value, None) for value in newest.sample_values or ()]
    title = f"{name} {FieldPath(column.path).simple} values"
    return Table.of(title, ("kind", "value", "frequency"), rows)


def _numbers(field: FieldProfile) -> Row:
    return tuple(getattr(field, name) for name in _NUMBERS)


def _moment(at: datetime) -> str:
    return at.astimezone(UTC).isoformat()
