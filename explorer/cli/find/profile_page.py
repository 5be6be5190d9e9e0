"""What profiling measured: the newest profile column by column, or how one thing changed."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from rich.text import Text

from explorer.cli import tables
from explorer.cli.find.period import Period
from explorer.cli.forms import Form
from explorer.cli.output import note, print_json, results, said, words
from explorer.cli.reading import counted
from explorer.client import Catalog
from explorer.client.display import moment
from explorer.client.records import Timeseries
from explorer.errors import InvalidInput, UnknownName
from explorer.metadata.aspects import moment_of
from explorer.metadata.fieldpath import FieldPath
from explorer.metadata.urn import Urn

__all__ = ["print_column", "print_newest", "print_rows", "read_profiles"]

_ASPECT: Final = "datasetProfile"
_WIDE: Final = 130
_UNITS: Final = ("B", "kB", "MB", "GB", "TB", "PB")

# As the wire says it, and as it is called here.
_MEASURES: Final = {
    "nulls": "nullCount",
    "null_proportion": "nullProportion",
    "distinct": "uniqueCount",
    "distinct_proportion": "uniqueProportion",
    "min": "min",
    "max": "max",
    "mean": "mean",
    "median": "median",
    "stdev": "stdev",
    "samples": "sampleValues",
}
_TABLE: Final = {"rows": "rowCount", "columns": "columnCount", "size_bytes": "sizeInBytes"}


def read_profiles(catalog: Catalog, urn: str, period: Period, *, newest: bool) -> Timeseries:
    """The profiles of a period, oldest first, or the newest of all. One request."""
    kind = Urn.parse(urn).entity_type
    if kind != "dataset":
        raise InvalidInput(f"only a dataset is profiled, and this is a {kind}")
    if newest:
        return catalog.timeseries(urn, _ASPECT, latest=True)
    return catalog.profiles(urn, start=period.start, end=period.end)


def print_newest(urn: str, series: Timeseries, shown_as: Form | None) -> None:
    """The last profile: the table's numbers, then its columns'."""
    point: Mapping[str, Any] = series.values[-1] if series.values else {}
    fields = _fields(point)
    columns = [_column(field) for field in fields]
    if shown_as == "json":
        print_json({"urn": urn, **_whole(point), "columns": columns} if point else None)
    elif shown_as == "csv":
        names = ("path", *_MEASURES)
        rows = [[column[name] for name in names] for column in columns]
        tables.print_csv(tables.Table([tables.Column(name) for name in names], rows))
    elif point:
        _print_whole(point)
        _print_columns(columns)
    if not point:
        note("it was never profiled, or profiling did not tell")
    else:
        note(f"\n{counted(len(columns), 'column')} measured")


def print_rows(urn: str, series: Timeseries, period: Period, shown_as: Form | None) -> None:
    """Rows, columns and size, a line for each profile, newest first."""
    found = [_whole(point) for point in reversed(series.values)]
    names = ("measured_at", *_TABLE)
    if shown_as == "json":
        print_json({"urn": urn, "truncated": series.truncated, "profiles": found})
    elif shown_as == "csv":
        rows = [[one[name] for name in names] for one in found]
        tables.print_csv(tables.Table([tables.Column(name) for name in names], rows))
    elif found:
        shown = [
            (_when(point), one["rows"], one["columns"], _size(one["size_bytes"]))
            for point, one in zip(reversed(series.values), found, strict=True)
        ]
        columns = map(tables.Column, ("measured", "rows", "columns", "size"))
        tables.print_table(tables.Table(tuple(columns), shown))
    _say_how_many(series, len(found), period)


def print_column(
    urn: str, series: Timeseries, path: str, period: Period, shown_as: Form | None
) -> None:
    """What was measured of one column, a line for each profile, newest first."""
    found = []
    known: dict[str, None] = {}
    for point in reversed(series.values):
        fields = {str(field.get("fieldPath")): field for field in _fields(point)}
        known |= dict.fromkeys(fields)
        exact = path if path in fields else _named_so(path, fields)
        if exact is not None:
            found.append((point, _column(fields[exact])))
    if known and not found:
        raise UnknownName("column in these profiles", path, known)
    names = ("measured_at", "rows", *_MEASURES)
    rows = [{**_whole(point), **column} for point, column in found]
    if shown_as == "json":
        kept = ("measured_at", "timestamp_millis", "rows", "path", *_MEASURES)
        profiles = [{name: row[name] for name in kept} for row in rows]
        print_json({"urn": urn, "truncated": series.truncated, "profiles": profiles})
    elif shown_as == "csv":
        cells = [[row[name] for name in names] for row in rows]
        tables.print_csv(tables.Table([tables.Column(name) for name in names], cells))
    elif found:
        shown = [
            (_when(point), point.get("rowCount"), *(column[name] for name in _SHOWN))
            for point, column in found
        ]
        columns = [tables.Column("measured"), tables.Column("rows")]
        columns += [tables.Column(name, max_width=14) for name in _SHOWN]
        tables.print_table(tables.Table(columns, shown))
    _say_how_many(series, len(found), period)


_SHOWN: Final = ("nulls", "distinct", "min", "max", "mean", "median")


def _print_whole(point: Mapping[str, Any]) -> None:
    size = _size(point.get("sizeInBytes"))
    rows, columns = point.get("rowCount"), point.get("columnCount")
    results().print(
        words(
            [
                Text(f"measured {_when(point)}"),
                Text(f"{rows:,} rows" if isinstance(rows, int) else ""),
                Text(f"{columns:,} columns" if isinstance(columns, int) else ""),
                Text(size),
                said(_partition(point)),
            ]
        )
    )


def _print_columns(columns: Sequence[Mapping[str, Any]]) -> None:
    """A line for each column, and where there is no room for all of it a second one."""
    if not columns:
        return
    console = results()
    console.print()
    wide = console.width >= _WIDE
    shown: list[list[tables.Cell]] = []
    for column in columns:
        row: list[tables.Cell] = [
            FieldPath(column["path"]).simple,
            _share(column["nulls"], column["null_proportion"]),
            _share(column["distinct"], column["distinct_proportion"]),
        ]
        shown.append([*row, *(column[name] for name in _VALUES), _samples(column)])
    heads = [
        tables.Column("column", max_width=36, folds=True, style="bold"),
        tables.Column("nulls"),
        tables.Column("distinct"),
    ]
    if wide:
        heads += [tables.Column(name, max_width=14) for name in _VALUES]
        heads.append(tables.Column("samples", style="dim"))
        tables.print_table(tables.Table(heads, shown))
        return
    first = max(len(row[0]) if isinstance(row[0], str) else 0 for row in shown)
    first = max(len("column"), min(first, 36))
    console.print(Text(f"{'column':<{first}}  {'nulls':<16}  distinct", "bold"))
    for row, column in zip(shown, columns, strict=True):
        name = said(str(row[0]), "bold")
        name.truncate(first, overflow="ellipsis", pad=True)
        console.print(name + Text(f"  {row[1]:<16}  {row[2]}"), no_wrap=True, overflow="ellipsis")
        facts = [f"{label} {column[label]}" for label in _VALUES if column[label] is not None]
        samples = f"e.g. {_samples(column)}" if _samples(column) else ""
        below = words([said(fact, "dim") for fact in facts] + [said(samples, "dim")])
        if below:
            console.print(Text("  ") + below, no_wrap=True, overflow="ellipsis")


_VALUES: Final = ("min", "max", "mean", "median")


def _samples(column: Mapping[str, Any]) -> str:
    held = column["samples"]
    return ", ".join(map(str, held)) if isinstance(held, list) and held else ""


def _share(count: Any, proportion: Any) -> str:
    number = f"{count:,}" if isinstance(count, int) else ""
    share = f"{proportion:.1%}" if isinstance(proportion, int | float) else ""
    if number and share and count:
        return f"{number} ({share})"
    return number or share or "?"


def _fields(point: Mapping[str, Any]) -> list[dict[str, Any]]:
    held = point.get("fieldProfiles")
    found = [one for one in held if isinstance(one, dict)] if isinstance(held, list) else []
    return [one for one in found if isinstance(one.get("fieldPath"), str)]


def _column(field: Mapping[str, Any]) -> dict[str, Any]:
    return {"path": field["fieldPath"], **{name: field.get(key) for name, key in _MEASURES.items()}}


def _whole(point: Mapping[str, Any]) -> dict[str, Any]:
    at = moment_of(_millis(point))
    return {
        "measured_at": at.isoformat() if at else None,
        "timestamp_millis": point.get("timestampMillis"),
        **{name: point.get(key) for name, key in _TABLE.items()},
    }


def _named_so(path: str, fields: Mapping[str, Any]) -> str | None:
    same = [exact for exact in fields if FieldPath(exact).simple == path]
    return same[0] if len(same) == 1 else None


def _when(point: Mapping[str, Any]) -> str:
    return moment(_millis(point), utc=True).removesuffix(" UTC")


def _millis(point: Mapping[str, Any]) -> int:
    held = point.get("timestampMillis")
    return held if isinstance(held, int) else 0


def _partition(point: Mapping[str, Any]) -> str:
    held = point.get("partitionSpec")
    name = held.get("partition") if isinstance(held, dict) else None
    return f"partition {name}" if name and name != "FULL_TABLE_SNAPSHOT" else ""


def _size(count: Any) -> str:
    if not isinstance(count, int):
        return ""
    size = float(count)
    at = 0
    while size >= 1000 and at < len(_UNITS) - 1:
        size, at = size / 1000, at + 1
    return f"{size:.3g} {_UNITS[at]}"


def _say_how_many(series: Timeseries, shown: int, period: Period) -> None:
    if not shown:
        note(f"nothing was profiled {period.said}")
    else:
        note(f"{counted(shown, 'profile')} {period.said}, newest first; times are UTC")
    if series.truncated:
        note("there are more than the server gives at once; look at fewer days")
