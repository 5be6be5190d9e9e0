"""Read and render daily usage and profiling statistics."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from rich.cells import cell_len
from rich.text import Text

from explorer.cli import output
from explorer.cli.options import OutputFormat, Period
from explorer.cli.output import line_text, note, print_json, results, words
from explorer.client import Catalog
from explorer.client.display import counted, line, moment
from explorer.client.records import Timeseries
from explorer.errors import InvalidInput, UnknownName
from explorer.metadata.fieldpath import FieldPath
from explorer.metadata.urn import Urn
from explorer.views.chart import Bars, Panel, panel_rows, written
from explorer.views.timeseries import (
    ColumnMeasures,
    TableMeasures,
    Usage,
    column_panels,
    usage_panels,
)

__all__ = ["print_column", "print_newest", "print_rows", "print_usage", "read_profiles"]

_ASPECT: Final = "datasetProfile"
_WIDE: Final = 130

# Column names in the output, with the attributes of the records that they show.
_MEASURES: Final = {
    "nulls": "null_count",
    "null_proportion": "null_proportion",
    "distinct": "unique_count",
    "distinct_proportion": "unique_proportion",
    "min": "min",
    "max": "max",
    "mean": "mean",
    "median": "median",
    "stdev": "stdev",
    "samples": "sample_values",
}
_TABLE: Final = {"rows": "row_count", "columns": "column_count", "size_bytes": "size_in_bytes"}


def read_profiles(catalog: Catalog, urn: str, period: Period, *, newest: bool) -> Timeseries:
    """Return the profiles of a period, oldest first, or only the latest profile; if that has no
    columns, all profiles. Makes one request, or two.

    Raises `InvalidInput` if the entity is not a dataset.
    """
    kind = Urn.parse(urn).entity_type
    if kind != "dataset":
        raise InvalidInput(f"only datasets have profiles; {urn} has the type {kind}")
    if newest:
        latest = catalog.timeseries(urn, _ASPECT, latest=True)
        if not latest.values or any(one.field_profiles for one in latest.records(TableMeasures)):
            return latest
        return catalog.profiles(urn)
    return catalog.profiles(urn, start=period.start, end=period.end)


def print_newest(urn: str, series: Timeseries, shown_as: OutputFormat | None) -> None:
    """Print the latest profile: the statistics of the table, then those of its columns, from the
    latest profile that has columns."""
    points = series.records(TableMeasures)[::-1]
    point = points[0] if points else None
    of_columns = next((one for one in points if one.field_profiles), None)
    fields = (of_columns.field_profiles or ()) if of_columns else ()
    columns = [_column_as_dict(field) for field in fields]
    if shown_as == "json":
        measured = of_columns.at if of_columns else None
        at = {"columns_measured_at": measured.isoformat() if measured else None}
        value = {"urn": urn, **_table_as_dict(point), **at, "columns": columns} if point else None
        print_json(value)
    elif shown_as == "csv":
        _print_csv(("path", *_MEASURES), columns)
    elif point:
        _print_summary(point)
        _print_columns(columns)
    if not point:
        note("this dataset has no profile")
    else:
        is_older = of_columns is not None and of_columns is not point
        when = f", last on {_when(of_columns)}" if of_columns and is_older else ""
        note(f"\n{counted(len(columns), 'column')} profiled{when}")


def print_rows(urn: str, series: Timeseries, period: Period, shown_as: OutputFormat | None) -> None:
    """Print the rows, columns and size of each profile, newest first."""
    points = series.records(TableMeasures)[::-1]
    found = [_table_as_dict(point) for point in points]
    if shown_as == "json":
        print_json({"urn": urn, "truncated": series.truncated, "profiles": found})
    elif shown_as == "csv":
        _print_csv(("measured_at", *_TABLE), found)
    elif found:
        rows = [
            (_when(point), point.row_count, point.column_count, _size(point.size_in_bytes))
            for point in points
        ]
        output.print_table(output.StyledTable.of(("measured", "rows", "columns", "size"), rows))
    _print_totals(series, len(found), period)


def print_column(
    urn: str, series: Timeseries, path: str, period: Period, shown_as: OutputFormat | None
) -> None:
    """Print the statistics of one column in each profile, newest first, then what the newest says
    of its values.

    Raises `UnknownName` if no profile has the column.
    """
    found = []
    known: dict[str, None] = {}
    for point in series.records(TableMeasures)[::-1]:
        known |= dict.fromkeys(point.columns)
        exact = path if path in point.columns else _find_by_simple_path(path, point.columns)
        if exact is not None:
            found.append((point, point.columns[exact]))
    if known and not found:
        raise UnknownName("column in these profiles", path, known)
    rows = [{**_table_as_dict(point), **_column_as_dict(column)} for point, column in found]
    if shown_as == "json":
        kept = ("measured_at", "timestamp_millis", "rows", "path", *_MEASURES)
        profiles = [{name: row[name] for name in kept} for row in rows]
        print_json({"urn": urn, "truncated": series.truncated, "profiles": profiles})
    elif shown_as == "csv":
        _print_csv(("measured_at", "rows", *_MEASURES), rows)
    elif found:
        shown = [
            (_when(point), point.row_count, *(row[name] for name in _SHOWN))
            for (point, _), row in zip(found, rows, strict=True)
        ]
        columns = [output.TableColumn("measured"), output.TableColumn("rows")]
        columns += [output.TableColumn(name, max_width=14) for name in _SHOWN]
        output.print_table(output.StyledTable(columns, shown))
        for panel in column_panels(found[0][1]):
            _print_panel(panel, _MOST_VALUES)
    _print_totals(series, len(found), period)


def _print_panel(panel: Panel, top: int | None = None) -> None:
    """Print the rows of a panel below its title, the first `top` of them."""
    if top is not None and isinstance(panel, Bars):
        panel = panel.first(top)
    rows = list(panel_rows(panel))
    if not rows:
        return
    console = results()
    console.print()
    console.print(Text(panel.title, "bold") + Text(f"  {panel.note}".rstrip(), "dim"))
    first = min(max(cell_len(line(row.name)) for row in rows), _MAX_NAME)
    digits = max(len(row.number) for row in rows)
    room = max(_MIN_BAR, min(_MAX_BAR, console.width - first - digits - 8))
    for row in rows:
        name = line_text(row.name)
        name.truncate(first, overflow="ellipsis", pad=True)
        text = Text("  ") + name + Text(f"  {row.number:>{digits}}  ")
        drawn = row.trend if row.share is None else _bar(row.share, room)
        console.print(text.append(drawn, "cyan"), no_wrap=True, overflow="crop")


def _print_csv(names: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> None:
    cells = [[row[name] for name in names] for row in rows]
    output.print_csv(output.StyledTable.of(names, cells))


_SHOWN: Final = ("nulls", "distinct", "min", "max", "mean", "median")


def _print_summary(point: TableMeasures) -> None:
    rows, columns, partition = point.row_count, point.column_count, point.partition
    results().print(
        words(
            [
                Text(f"measured {_when(point)}"),
                Text("" if rows is None else f"{rows:,} rows"),
                Text("" if columns is None else f"{columns:,} columns"),
                Text(_size(point.size_in_bytes)),
                line_text(f"partition {partition}" if partition else ""),
            ]
        )
    )


def _print_columns(columns: Sequence[Mapping[str, Any]]) -> None:
    """Print one line per column, or two on a narrow terminal."""
    if not columns:
        return
    console = results()
    console.print()
    wide = console.width >= _WIDE
    shown: list[list[output.Cell]] = []
    for column in columns:
        row: list[output.Cell] = [
            FieldPath(column["path"]).simple,
            _share(column["nulls"], column["null_proportion"]),
            _share(column["distinct"], column["distinct_proportion"]),
        ]
        shown.append([*row, *(column[name] for name in _VALUES), _samples(column)])
    heads = [
        output.TableColumn("column", max_width=36, folds=True, style="bold"),
        output.TableColumn("nulls"),
        output.TableColumn("distinct"),
    ]
    if wide:
        heads += [output.TableColumn(name, max_width=14) for name in _VALUES]
        heads.append(output.TableColumn("samples", style="dim"))
        output.print_table(output.StyledTable(heads, shown))
        return
    first = max(len(row[0]) if isinstance(row[0], str) else 0 for row in shown)
    first = max(len("column"), min(first, 36))
    console.print(Text(f"{'column':<{first}}  {'nulls':<16}  distinct", "bold"))
    for row, column in zip(shown, columns, strict=True):
        name = line_text(str(row[0]), "bold")
        name.truncate(first, overflow="ellipsis", pad=True)
        console.print(name + Text(f"  {row[1]:<16}  {row[2]}"), no_wrap=True, overflow="ellipsis")
        facts = [f"{label} {column[label]}" for label in _VALUES if column[label] is not None]
        samples = f"e.g. {_samples(column)}" if _samples(column) else ""
        below = words([line_text(fact, "dim") for fact in facts] + [line_text(samples, "dim")])
        if below:
            console.print(Text("  ") + below, no_wrap=True, overflow="ellipsis")


_VALUES: Final = ("min", "max", "mean", "median")


def _samples(column: Mapping[str, Any]) -> str:
    return ", ".join(column["samples"] or ())


def _share(count: int | None, proportion: float | None) -> str:
    number = "" if count is None else f"{count:,}"
    share = "" if proportion is None else written(proportion, "share")
    if number and share and count:
        return f"{number} ({share})"
    return number or share or "?"


def _column_as_dict(one: ColumnMeasures) -> dict[str, Any]:
    measures = {name: getattr(one, attribute) for name, attribute in _MEASURES.items()}
    return {"path": one.field_path, **measures}


def _table_as_dict(point: TableMeasures) -> dict[str, Any]:
    return {
        "measured_at": point.at.isoformat() if point.at else None,
        "timestamp_millis": point.timestamp_millis,
        **{name: getattr(point, attribute) for name, attribute in _TABLE.items()},
    }


def _find_by_simple_path(path: str, fields: Mapping[str, Any]) -> str | None:
    same = [exact for exact in fields if FieldPath(exact).simple == path]
    return same[0] if len(same) == 1 else None


def _when(point: TableMeasures) -> str:
    return moment(point.timestamp_millis, utc=True).removesuffix(" UTC")


def _size(count: int | None) -> str:
    return "" if count is None else written(count, "bytes")


def _print_totals(series: Timeseries, shown: int, period: Period) -> None:
    if not shown:
        note(f"no profiles{period.phrase}")
    else:
        note(f"{counted(shown, 'profile')}{period.phrase}, newest first; times are UTC")
    if series.truncated:
        note("the server returned only some of the profiles; choose a shorter period to see all")


_EIGHTHS: Final = " ▏▎▍▌▋▊▉█"
_MIN_BAR: Final = 10
_MAX_BAR: Final = 60
_MAX_NAME: Final = 36
_MOST_VALUES: Final = 30


def print_usage(
    urn: str,
    found: Usage,
    names: Mapping[Urn, str],
    period: Period,
    top: int,
    shown_as: OutputFormat | None,
) -> None:
    """Print usage in the given format, and totals to standard error."""
    if shown_as == "json":
        print_json(_as_json(urn, found))
    elif shown_as == "csv":
        rows = [(f"{day.day}", day.count, day.users) for day in found.days]
        output.print_csv(output.StyledTable.of(("date", found.measure, "users"), rows))
    elif found.days:
        _print_days(found)
        for panel in usage_panels(found, names):
            _print_panel(panel, top)
        _print_top("Queries, by number of days on which they were frequent", found.queries, top)
    _print_usage_totals(found, period)


def _print_days(found: Usage) -> None:
    console = results()
    most = max(day.count for day in found.days)
    digits = max(len(f"{most:,}"), len(found.measure))
    room = max(_MIN_BAR, min(_MAX_BAR, console.width - 10 - digits - 5 - 6))
    console.print(Text(f"{'day':<10}  {found.measure:>{digits}}  users", "bold"))
    for day in found.days:
        users = "" if day.users is None else f"{day.users:,}"
        text = Text(f"{day.day}  {day.count:>{digits},}  {users:>5}  ")
        text.append(_bar(day.count / most if most else 0, room), "cyan")
        console.print(text, no_wrap=True, overflow="crop")


def _print_top(title: str, ranked: Sequence[tuple[str, int]], top: int) -> None:
    shown = ranked[:top]
    if not shown:
        return
    console = results()
    console.print()
    more = f"  {len(shown):,} of {len(ranked):,}" if len(shown) < len(ranked) else ""
    console.print(Text(title, "bold") + Text(more, "dim"))
    columns = (output.TableColumn("name", max_width=50), output.TableColumn("count"))
    rows = [(Text("  ") + line_text(name), count) for name, count in shown]
    output.print_table(output.StyledTable(columns, rows), headings=False)


def _bar(share: float, room: int) -> str:
    eighths = round(share * room * 8)
    if share and not eighths:
        eighths = 1
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()


def _as_json(urn: str, found: Usage) -> dict[str, Any]:
    return {
        "urn": urn,
        "measure": found.measure,
        "total": found.total,
        "truncated": found.limit is not None,
        "days": [
            {"date": f"{day.day}", "count": day.count, "users": day.users} for day in found.days
        ],
        "users": [{"user": user, "count": count} for user, count in found.users],
        "columns": [{"path": path, "count": count} for path, count in found.columns],
        "queries": [{"query": query, "days": count} for query, count in found.queries],
    }


def _print_usage_totals(found: Usage, period: Period) -> None:
    if not found.days:
        note(f"no usage data{period.phrase}")
        return
    days = counted(len(found.days), "measured day")
    per_day = found.total / len(found.days)
    note(f"\n{found.total:,} {found.measure} on {days}{period.phrase}, {per_day:,.1f} per day")
    if found.limit is not None:
        note("the server returned only some of the data; choose a shorter period to see all")
