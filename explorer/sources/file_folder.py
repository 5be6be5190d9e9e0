"""A folder of Parquet, CSV and JSON lines files, or one such file, described by DuckDB.

Of Parquet files the footers are read, of the others the first rows, from which the types of their
columns follow.
"""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from explorer.errors import InvalidInput
from explorer.sources.datasets import FOLDER, DatasetWriter
from explorer.sources.duckdb_file import columns_of, import_duckdb, sample_rows
from explorer.sources.profile import Profiler, Sample, interrupted_after
from explorer.sources.source import (
    ColumnDefinition,
    Inventory,
    Progress,
    SkippedPart,
    SourceOptions,
    TableDefinition,
)

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

__all__ = ["FileFolder", "file_format"]

Format = Literal["parquet", "csv", "json lines"]

_FORMATS: Final[dict[str, Format]] = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".tsv": "csv",
    ".jsonl": "json lines",
    ".ndjson": "json lines",
}
_COMPRESSED: Final = (".gz", ".zst")
_PARTITION: Final = re.compile(r"([^=/]+)=([^/]*)")
# Names that writers give to the parts of one table.
_PART: Final = re.compile(
    r"(?:part|data|chunk|batch)[-_.]?\d[\w.-]*|\d+(?:[-_.]\d+)*|[0-9a-f]{8}-[0-9a-f-]{20,}[\w.-]*",
    re.IGNORECASE,
)
_READERS: Final[dict[Format, str]] = {
    "parquet": "read_parquet($1, hive_partitioning = $2, union_by_name = true)",
    "csv": "read_csv($1, hive_partitioning = $2, union_by_name = true)",
    "json lines": (
        "read_json($1, format = 'newline_delimited', hive_partitioning = $2, union_by_name = true)"
    ),
}
# The lines below the first of an error of DuckDB that say what is wrong with a CSV file.
_CSV_WORDS: Final = (
    *("Error when converting column", "Expected Number of Columns", "It was not possible"),
    "Value with unterminated quote",
)
_GLOB: Final = re.compile(r"[*?\[]")
# So many files of a CSV or JSON table are looked into; of Parquet tables all are.
_MOST_SNIFFED: Final = 20


def file_format(path: Path) -> Format | None:
    """Return what a file holds by its ending, also of one that is compressed; None for others."""
    suffixes = [one.lower() for one in path.suffixes[-2:]]
    if suffixes and suffixes[-1] in _COMPRESSED:
        suffixes.pop()
        found = _FORMATS.get(suffixes[-1]) if suffixes else None
        return None if found == "parquet" else found
    return _FORMATS.get(suffixes[-1]) if suffixes else None


@dataclass(slots=True)
class _Table:
    """Files that are one table: its path, its files, and the keys of its partitions in order."""

    path: tuple[str, ...]
    format: Format
    files: list[Path]
    keys: tuple[str, ...] = ()
    is_folder: bool = False


@dataclass(frozen=True, slots=True)
class FileFolder:
    """A source of the tables in a folder. Folders `key=value` are partitions of the table in the
    folder above; files that are named as parts are one table; any other file is one of its own."""

    path: Path
    options: SourceOptions
    kind: str = "file"

    @property
    def location(self) -> str:
        """The folder or file."""
        return str(self.path.resolve())

    @property
    def default_name(self) -> str:
        """The folder's name, of a file its name without ending."""
        path = self.path.resolve()
        return path.name if path.is_dir() else path.name.partition(".")[0]

    def read(self, progress: Progress) -> Inventory:
        """Return the tables with their columns, sizes, and of Parquet the number of rows.

        Raises `InvalidInput` where the folder is gone. A file that cannot be read is among the
        skipped parts.
        """
        duckdb = import_duckdb("reading files")
        root = self.path.resolve()
        writer = DatasetWriter("file", self.options, (FOLDER,), "/")
        if root.is_file():
            found_format = file_format(root)
            if found_format is None:
                raise InvalidInput(f"{root} is neither Parquet, CSV nor JSON lines")
            tables = [_Table((root.name,), found_format, [root])]
        elif root.is_dir():
            tables = _Finder(root, writer).find()
        else:
            raise InvalidInput(f"there is no {self.path}")
        profiler = Profiler(self.options, writer.inventory)
        with duckdb.connect(":memory:") as connection:
            for done, table in enumerate(tables):
                progress("files", done, len(tables))
                try:
                    described = _described(connection, table)
                    try:
                        with interrupted_after(connection.interrupt):
                            sample = _sample(connection, table, described.row_count)
                            profiler.profile(described, sample)
                    except duckdb.Error as error:
                        reason = f"not profiled: {_reason(error)}"
                        skipped = SkippedPart("/".join(table.path), reason)
                        writer.inventory.skipped.append(skipped)
                    writer.add(described)
                except (duckdb.Error, OSError, RuntimeError) as error:
                    reason = _reason(error)
                    name = writer.dataset(table.path).name
                    writer.inventory.skipped.append(SkippedPart("/".join(table.path), reason, name))
        progress("files", len(tables), len(tables))
        return writer.inventory


@dataclass(slots=True)
class _Finder:
    """Finds the tables below a folder, by name."""

    root: Path
    writer: DatasetWriter
    tables: list[_Table] = field(default_factory=list)

    def find(self) -> list[_Table]:
        self._look(self.root, (self.root.name,))
        return sorted(self.tables, key=lambda one: one.path)

    def _look(self, folder: Path, path: tuple[str, ...]) -> None:
        try:
            entries = sorted(os.scandir(folder), key=lambda one: one.name)
        except OSError as error:
            prefix = self.writer.prefix(path)
            self._skip(path, f"cannot be read: {error.strerror}", prefix)
            return
        names = {one.name for one in entries}
        if "_delta_log" in names:
            self._skip(path, "it is a Delta table, which is not read")
            return
        if "metadata" in names and any((folder / "metadata").glob("*.metadata.json")):
            self._skip(path, "it is an Iceberg table, which is not read")
            return
        shown = [one for one in entries if not one.name.startswith((".", "_"))]
        folders = [one.name for one in shown if one.is_dir(follow_symlinks=False)]
        files = [folder / one.name for one in shown if one.is_file()]
        if any(_PARTITION.fullmatch(name) for name in folders):
            self._add_partitioned(folder, path)
            return
        data = [one for one in files if file_format(one)]
        formats = {file_format(one) for one in data}
        are_parts = len(data) > 1 and len(formats) == 1 and not folders and len(path) > 1
        if are_parts and all(_PART.fullmatch(one.name.partition(".")[0]) for one in data):
            self._add(path, data, is_folder=True)
        else:
            for one in data:
                self._add((*path, one.name), [one])
        for name in folders:
            self._look(folder / name, (*path, name))

    def _add_partitioned(self, folder: Path, path: tuple[str, ...]) -> None:
        files, keys = [], dict[str, None]()
        for directory, folders, names in os.walk(folder):
            folders[:] = sorted(one for one in folders if not one.startswith((".", "_")))
            for part in Path(directory).relative_to(folder).parts:
                if found := _PARTITION.fullmatch(part):
                    keys[found[1]] = None
            below = (Path(directory, name) for name in sorted(names) if name[0] not in "._")
            files += [one for one in below if file_format(one)]
        self._add(path, files, tuple(keys), is_folder=True)

    def _add(
        self,
        path: tuple[str, ...],
        files: list[Path],
        keys: tuple[str, ...] = (),
        *,
        is_folder: bool = False,
    ) -> None:
        formats = {found for one in files if (found := file_format(one))}
        if len(formats) != 1:
            reason = f"its files are {' and '.join(sorted(formats))}" if formats else "it is empty"
            self._skip(path, reason, self.writer.dataset(path).name)
            return
        self.tables.append(_Table(path, formats.pop(), files, keys, is_folder))

    def _skip(self, path: tuple[str, ...], reason: str, prefix: str | None = None) -> None:
        self.writer.inventory.skipped.append(SkippedPart("/".join(path), reason, prefix))


def _reason(error: Exception) -> str:
    """Return DuckDB's own words without the query, which it shows below; of a CSV file neither the
    row nor how DuckDB reads such files."""
    first, *rest = str(error).partition("\nLINE ")[0].splitlines() or [type(error).__name__]
    if "CSV" in first or "sniffing" in first:
        rest = [one for one in rest if one.startswith(_CSV_WORDS)]
    return " ".join(" ".join((first, *rest)).split())


def _sample(connection: "DuckDBPyConnection", table: _Table, row_count: int | None) -> Sample:
    files: list[Any] = [[str(one) for one in table.files], bool(table.keys)]
    relation = _READERS[table.format]
    return lambda names: sample_rows(connection, relation, names, row_count, files)


def _described(connection: "DuckDBPyConnection", table: _Table) -> TableDefinition:
    odd = next((one for one in table.files if _GLOB.search(str(one))), None)
    if odd is not None:
        raise OSError(f"its name has one of * ? [, which stand for other letters: {odd.name}")
    if not any(one.stat().st_size for one in table.files):
        raise OSError("it is empty")
    is_parquet = table.format == "parquet"
    read = table.files if is_parquet else table.files[:_MOST_SNIFFED]
    described = _rows(
        connection,
        f"describe select * from {_READERS[table.format]}",
        [[str(one) for one in read], bool(table.keys)],
    )
    properties: dict[str, str] = {"format": table.format}
    if table.is_folder:
        properties["files"] = str(len(table.files))
    if table.keys:
        properties["partitioned_by"] = ", ".join(table.keys)
    return TableDefinition(
        table.path,
        "Table" if table.is_folder else "File",
        list(_columns(described, table.keys)),
        row_count=_row_count(connection, table.files) if is_parquet else None,
        size_bytes=sum(one.stat().st_size for one in table.files),
        properties=properties,
    )


def _columns(described: Iterable[Sequence[Any]], keys: Sequence[str]) -> Iterator[ColumnDefinition]:
    import duckdb

    for name, kind, *_ in described:
        if name in keys:
            (column,) = columns_of(name, duckdb.sqltype(kind))
            yield ColumnDefinition(name, column.native_type, column.kind, is_partition_key=True)
        else:
            yield from columns_of(name, duckdb.sqltype(kind))


def _row_count(connection: "DuckDBPyConnection", files: Sequence[Path]) -> int:
    query = "select sum(num_rows) from parquet_file_metadata($1)"
    return int(_rows(connection, query, [[str(one) for one in files]])[0][0])


def _rows(connection: "DuckDBPyConnection", query: str, values: list[Any]) -> list[Any]:
    return list(connection.execute(query, values).fetchall())
