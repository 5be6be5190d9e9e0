"""Describe Delta and Iceberg tables from their log and metadata, without reading data.

Row counts, null counts, smallest and largest values are the statistics that the writers of the
files recorded. Values are included only if profiling is turned on, and those of text columns and of
columns that look personal only if the options allow values.
"""

import io
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Final, Literal

import orjson

from explorer.errors import InvalidFile, MissingExtra
from explorer.sources.profile import is_personal
from explorer.sources.source import ColumnDefinition, SourceOptions, TableDefinition, read_text
from explorer.sources.storage import Storage

__all__ = [
    "METADATA",
    "METADATA_HINT",
    "LakeFormat",
    "describe_delta",
    "describe_iceberg",
    "lake_format",
    "newest_metadata",
]

LakeFormat = Literal["delta", "iceberg"]

METADATA: Final = re.compile(r"v?(\d+)(-[^/]*)?(\.gz)?\.metadata\.json(\.gz)?")
"""The names of Iceberg metadata files; the first group is the version."""

METADATA_HINT: Final = "version-hint.text"
"""The file beside them that names the current version."""

_PYDANTIC: Final = re.compile(
    r"\d+ validation errors? for \w+\s*|\[type=.*|For further information visit \S+"
)
_DEEPEST: Final = 20
_KINDS: Final = {
    **dict.fromkeys(("byte", "short", "int", "integer", "long", "float", "double"), "Number"),
    **dict.fromkeys(("string", "uuid"), "String"),
    **dict.fromkeys(("binary", "fixed", "geometry", "geography"), "Bytes"),
    **dict.fromkeys(("time", "timestamp", "timestamptz", "timestamp_ntz"), "Time"),
    **dict.fromkeys(("timestamp_ns", "timestamptz_ns"), "Time"),
    **dict.fromkeys(("struct", "variant"), "Record"),
    **dict.fromkeys(("list", "array"), "Array"),
    "boolean": "Boolean",
    "date": "Date",
    "decimal": "Number",
    "map": "Map",
}


def lake_format(names: Iterable[str], metadata: Callable[[], Iterable[str]]) -> LakeFormat | None:
    """Return the format of the table in a folder with these names in it, or `None` if it is not a
    table. `metadata` returns the names in its folder `metadata`; it is called only if there is one.
    """
    there = set(names)
    if "_delta_log" in there:
        return "delta"
    if "metadata" in there and any(METADATA.fullmatch(one) for one in metadata()):
        return "iceberg"
    return None


def newest_metadata(names: Iterable[str], hint: str | None) -> str:
    """Return the current metadata file among the names in a folder `metadata`: the one that the
    hint names by version or file name, otherwise the one of the highest version."""
    found = {(int(match[1]), name): name for name in names if (match := METADATA.fullmatch(name))}
    wanted = (hint or "").strip()
    for (version, _), name in found.items():
        if wanted and wanted in (str(version), name):
            return name
    return found[max(found)]


def describe_delta(
    storage: Storage, folder: str, path: tuple[str, ...], options: SourceOptions
) -> TableDefinition:
    """Return the Delta table in a folder as its log describes it.

    Raises `MissingExtra` without deltalake, and `InvalidFile` if the log cannot be read.
    """
    try:
        from deltalake import DeltaTable
        from deltalake.exceptions import DeltaError
    except ModuleNotFoundError as error:
        raise MissingExtra(f"reading Delta tables needs {error.name}", "lake") from None
    try:
        table = DeltaTable(storage.address(folder))
        columns = list(_columns(orjson.loads(table.schema().to_json())["fields"]))
        metadata = table.metadata()
        partitions = list(metadata.partition_columns)
        actions: Any = table.get_add_actions(flatten=True)
        listed = {name: actions.column(name).to_pylist() for name in actions.column_names}
    except (DeltaError, OSError, ValueError, KeyError) as error:
        raise InvalidFile(f"its Delta log cannot be read: {_error_text(error)}") from error
    counts = [_optional_int(one) for one in listed.get("num_records", ())]
    deleted = listed.get("deletion_vector.cardinality", ())
    sizes = listed.get("size_bytes", ())
    statistics = _Statistics(options, counts)
    for column in columns:
        path_ = column.path
        if path_ in partitions:
            values = listed.get(f"partition.{path_}") or []
            nulls = [
                count if value is None else 0 for value, count in zip(values, counts, strict=False)
            ]
            statistics.add(column, nulls, values, values)
        elif f"null_count.{path_}" in listed:
            nothing: list[Any] = []
            statistics.add(
                column,
                listed[f"null_count.{path_}"],
                listed.get(f"min.{path_}", nothing),
                listed.get(f"max.{path_}", nothing),
            )
    keys = [listed.get(f"partition.{one}") or [] for one in partitions]
    return _definition(
        path,
        "delta",
        [_keyed(one, partitions) for one in columns],
        partitions,
        description=read_text(metadata.description),
        files=len(sizes),
        partitions=len(set(zip(*keys, strict=False))) if partitions else None,
        row_count=None
        if None in counts
        else sum(one or 0 for one in counts) - sum(one or 0 for one in deleted),
        size_bytes=sum(sizes),
        profiles=statistics.profiles,
    )


@dataclass(slots=True)
class _Statistics:
    """Combines the statistics of the files of a table into a profile per column. `rows` has the row
    count of each file, `None` if it is not recorded."""

    options: SourceOptions
    rows: Sequence[int | None]
    profiles: list[dict[str, Any]] = field(default_factory=list)

    def add(
        self,
        column: ColumnDefinition,
        nulls: Sequence[Any],
        lowest: Sequence[Any],
        highest: Sequence[Any],
    ) -> None:
        """Add the profile of a column from the null counts, smallest and largest values of each
        file. A statistic that a file lacks is left out of the profile; files that have only nulls
        need no smallest and largest value."""
        profile: dict[str, Any] = {"fieldPath": column.path}
        known = [one for one in nulls if one is not None]
        total = sum(one or 0 for one in self.rows)
        if known and len(known) == len(self.rows):
            profile["nullCount"] = sum(known)
            if None not in self.rows and total:
                profile["nullProportion"] = round(sum(known) / total, 6)
        # A file in which all values are null has no smallest and largest value.
        empty = [
            one is not None and one == rows for one, rows in zip(nulls, self.rows, strict=False)
        ]
        low = [one for one in lowest if one is not None]
        high = [one for one in highest if one is not None]
        is_known = low and len(low) == len(high) == empty.count(False)
        if self.options.profile and is_known and self._may_be_shown(column, [*low, *high]):
            profile |= {"min": _text(min(low)), "max": _text(max(high))}
        if len(profile) > 1:
            self.profiles.append(profile)

    def _may_be_shown(self, column: ColumnDefinition, values: Sequence[Any]) -> bool:
        if column.kind not in ("Number", "Date", "Time", "String"):
            return False
        # Two values of a text column are too few to tell whether it is personal.
        return self.options.values or (column.kind != "String" and not is_personal(column, values))


def _definition(
    path: tuple[str, ...],
    table_format: LakeFormat,
    columns: Sequence[ColumnDefinition],
    partitioned_by: Sequence[str],
    *,
    description: str | None,
    files: int | None,
    partitions: int | None,
    row_count: int | None,
    size_bytes: int | None,
    profiles: Sequence[Mapping[str, Any]],
) -> TableDefinition:
    properties: dict[str, str] = {"format": table_format}
    if files is not None:
        properties["files"] = str(files)
    if partitioned_by:
        properties["partitioned_by"] = ", ".join(partitioned_by)
    if partitions is not None:
        properties["partitions"] = str(partitions)
    return TableDefinition(
        path,
        "Table",
        columns,
        description=description,
        row_count=row_count,
        size_bytes=size_bytes,
        field_profiles=profiles if row_count is not None else (),
        properties=properties,
    )


def _keyed(column: ColumnDefinition, keys: Sequence[str]) -> ColumnDefinition:
    return replace(column, is_partition_key=True) if column.path in keys else column


def _columns(
    fields: Iterable[Mapping[str, Any]], above: str = "", depth: int = 0
) -> Iterator[ColumnDefinition]:
    """Yield the columns of a Delta or Iceberg schema in JSON, each followed by the fields of its
    structs."""
    if depth > _DEEPEST:
        return
    for one in fields:
        path, kind = f"{above}{one['name']}", one["type"]
        is_nullable = one["nullable"] if "nullable" in one else not one.get("required")
        comment = one.get("doc") or (one.get("metadata") or {}).get("comment")
        yield ColumnDefinition(
            path,
            _format_type(kind),
            _model_type(kind),
            bool(is_nullable),
            read_text(comment),
            is_nested=bool(above),
        )
        yield from _columns(_fields(kind), f"{path}.", depth + 1)


def _fields(kind: Any) -> Sequence[Mapping[str, Any]]:
    """Return the fields of a struct or of a list of structs; empty for other types."""
    while isinstance(kind, Mapping) and kind.get("type") in ("list", "array"):
        kind = kind.get("element", kind.get("elementType"))
    found = kind.get("fields") if isinstance(kind, Mapping) else None
    return found or ()


def _format_type(kind: Any) -> str:
    """Return a type as SQL text, such as `array<struct<x: int>>`."""
    if not isinstance(kind, Mapping):
        return str(kind)
    match kind.get("type"):
        case "struct":
            inner = (
                f"{one['name']}: {_format_type(one['type'])}" for one in kind.get("fields") or ()
            )
            return f"struct<{', '.join(inner)}>"
        case "map":
            key, value = kind.get("key", kind.get("keyType")), kind.get("value")
            return f"map<{_format_type(key)}, {_format_type(value or kind.get('valueType'))}>"
        case name:
            return f"{name}<{_format_type(kind.get('element', kind.get('elementType')))}>"


def _model_type(kind: Any) -> str:
    name = str(kind.get("type") if isinstance(kind, Mapping) else kind)
    return _KINDS.get(re.split(r"[(\[<]", name, maxsplit=1)[0], "Null")


def _optional_int(value: Any) -> int | None:
    return None if value is None else int(value)


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.10g}"
    return value.isoformat() if isinstance(value, date | datetime) else str(value)[:200]


def _error_text(error: Exception) -> str:
    """Return the message of a library's error on one line, at most 300 characters, without links to
    its documentation."""
    said = " ".join(_PYDANTIC.sub("", str(error)).split())
    return said[:300] or type(error).__name__


def describe_iceberg(
    storage: Storage, file: str, path: tuple[str, ...], options: SourceOptions
) -> tuple[TableDefinition, str | None]:
    """Return the Iceberg table that a metadata file describes, and the reason if its statistics
    cannot be read.

    The row count and the size come from the metadata file itself. The other statistics come from
    the manifests, which are read only from below the table's folder, even if the table was moved.
    Raises `MissingExtra` without pyiceberg, and `InvalidFile` if the metadata cannot be read.
    """
    try:
        from pyiceberg.exceptions import ValidationError
        from pyiceberg.serializers import Compressor, FromByteStream
    except ModuleNotFoundError as error:
        raise MissingExtra(f"reading Iceberg tables needs {error.name}", "lake") from None
    try:
        metadata: Any = FromByteStream.table_metadata(
            io.BytesIO(storage.read(file)), compression=Compressor.get_compressor(file)
        )
    except (ValidationError, ValueError, OSError, EOFError, zlib.error, KeyError) as error:
        raise InvalidFile(f"its Iceberg metadata cannot be read: {_error_text(error)}") from error
    schema, spec = metadata.schema(), metadata.spec()
    columns = list(_columns(orjson.loads(schema.model_dump_json())["fields"]))
    snapshot = metadata.current_snapshot()
    summary: Mapping[str, Any] = {}
    if snapshot is not None and snapshot.summary is not None:
        summary = snapshot.summary.additional_properties
    rows, reason = _number(summary, "total-records"), None
    if snapshot is None:
        rows = 0
    elif rows is not None:
        # The number of rows that an equality delete removes is not known.
        is_exact = not _number(summary, "total-equality-deletes")
        rows = rows - (_number(summary, "total-position-deletes") or 0) if is_exact else None
    keys = {one.source_id: str(one.transform) for one in spec.fields}
    names = {one.field_id: one.name for one in schema.fields}
    partitioned_by = [
        names[source] if transform == "identity" else f"{transform}({names[source]})"
        for source, transform in keys.items()
        if source in names
    ]
    files: list[Any] = []
    if snapshot is not None:
        folder = file.rpartition("/")[0].rpartition("/")[0]
        try:
            files = _data_files(storage, metadata, folder)
        except Exception as error:  # noqa: BLE001 - a damaged manifest raises anything
            reason = f"no statistics: its manifests cannot be read: {_error_text(error)}"
    statistics = _Statistics(options, [one.record_count for one in files])
    for column in columns if files and rows is not None else ():
        _add_bounds(statistics, column, schema, files)
    identity = [names[source] for source in keys if names.get(source) in partitioned_by]
    table = _definition(
        path,
        "iceberg",
        [_keyed(one, identity) for one in columns],
        partitioned_by,
        description=read_text(metadata.properties.get("comment")),
        files=_number(summary, "total-data-files") if snapshot else 0,
        partitions=len({tuple(one.partition) for one in files}) if files and keys else None,
        row_count=rows,
        size_bytes=_number(summary, "total-files-size") if snapshot else 0,
        profiles=statistics.profiles,
    )
    return table, reason


def _number(summary: Mapping[str, Any], name: str) -> int | None:
    text = str(summary.get(name) or "")
    return int(text) if text.isdigit() else None


def _add_bounds(
    statistics: _Statistics, column: ColumnDefinition, schema: Any, files: Sequence[Any]
) -> None:
    from pyiceberg.conversions import from_bytes
    from pyiceberg.types import PrimitiveType

    try:
        found = schema.find_field(column.path)
    except ValueError:
        # A field of a struct in a list: pyiceberg has `element` in its path.
        return
    if not isinstance(found.field_type, PrimitiveType):
        return
    number = found.field_id

    def bound(one: Mapping[int, bytes] | None) -> Any:
        held = (one or {}).get(number)
        try:
            return None if held is None else from_bytes(found.field_type, held)
        except (ValueError, OverflowError):
            return None

    nulls = [(one.null_value_counts or {}).get(number) for one in files]
    bounds = [
        [bound(getattr(one, name)) for one in files] for name in ("lower_bounds", "upper_bounds")
    ]
    low, high = ([_readable(one, column) for one in values] for values in bounds)
    statistics.add(column, nulls, low, high)


def _readable(value: Any, column: ColumnDefinition) -> Any:
    """Return a bound of a date or timestamp column, which is a number since 1970, as a date or
    datetime; other values are returned unchanged."""
    from pyiceberg.utils.datetime import days_to_date, micros_to_timestamp, micros_to_timestamptz

    if not isinstance(value, int) or isinstance(value, Decimal):
        return value
    if column.native_type == "date":
        return days_to_date(value)
    if column.native_type == "timestamp":
        return micros_to_timestamp(value)
    return micros_to_timestamptz(value) if column.native_type == "timestamptz" else value


def _data_files(storage: Storage, metadata: Any, folder: str) -> list[Any]:
    """Return the data files of the current snapshot. Raises `OSError` for a manifest that is
    outside the table's folder."""
    from pyiceberg.manifest import DataFileContent

    base = metadata.location.rstrip("/")

    class Below:
        """An input file of pyiceberg below the table's folder."""

        def __init__(self, location: str) -> None:
            self.location = location

        def open(self, *_: Any, **__: Any) -> io.BytesIO:
            below = self.location.removeprefix(f"{base}/")
            if below == self.location or ".." in below.split("/"):
                raise OSError(f"{self.location} is not in the table's folder, {base}")
            return io.BytesIO(storage.read(f"{folder}/{below}"))

    class Files:
        """A file system of pyiceberg with only the files below the table's folder."""

        def new_input(self, location: str) -> Below:
            return Below(location)

    files, snapshot = Files(), metadata.current_snapshot()
    assert snapshot is not None  # noqa: S101 - the caller has looked
    return [
        entry.data_file
        for manifest in snapshot.manifests(files)
        for entry in manifest.fetch_manifest_entry(files)
        if entry.data_file.content == DataFileContent.DATA
    ]
