"""Read the tables in a folder or bucket: Parquet, CSV and JSON lines files, Delta and Iceberg.

Files are described by DuckDB, which reads the footers of Parquet files, and infers the types of
columns in the others from their first rows. Delta and Iceberg tables are described by their own
metadata.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Final, Literal

from explorer.errors import CatalogError, InvalidInput
from explorer.sources.datasets import BUCKET, FOLDER, DatasetWriter
from explorer.sources.duckdb_file import columns_of, import_duckdb, sample_rows
from explorer.sources.lake_tables import (
    METADATA,
    METADATA_HINT,
    LakeFormat,
    describe_delta,
    describe_iceberg,
    lake_format,
    newest_metadata,
)
from explorer.sources.profile import Profiler, Sample, interrupted_after
from explorer.sources.source import (
    ColumnDefinition,
    Inventory,
    Progress,
    SkippedPart,
    SourceOptions,
    TableDefinition,
)
from explorer.sources.storage import Bucket, LocalFiles, Storage, StoredFile

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
# Names that writers give to the files of one table.
_PART: Final = re.compile(
    r"(?:part|data|chunk|batch)[-_.]?\d[\w.-]*|\d+(?:[-_.]\d+)*|[0-9a-f]{8}-[0-9a-f-]{20,}[\w.-]*",
    re.IGNORECASE,
)
_READERS: Final[dict[Format | LakeFormat, str]] = {
    "parquet": "read_parquet($1, hive_partitioning = $2, union_by_name = true)",
    "csv": "read_csv($1, hive_partitioning = $2, union_by_name = true)",
    "json lines": (
        "read_json($1, format = 'newline_delimited', hive_partitioning = $2, union_by_name = true)"
    ),
}
# The lines after the first of a DuckDB error that say what is wrong with a CSV file.
_CSV_WORDS: Final = (
    *("Error when converting column", "Expected Number of Columns", "It was not possible"),
    "Value with unterminated quote",
)
_TRACEBACK: Final = re.compile(r"\A.*?Traceback \(.*?\n\w*Error: ", re.DOTALL)
_GLOB: Final = re.compile(r"[*?\[]")
# The number of files read to describe a CSV or JSON table; of Parquet tables all files are read.
_MOST_SNIFFED: Final = 20


def file_format(name: str) -> Format | None:
    """Return the format of a file by its suffix, or `None` if it is not supported. CSV and JSON
    lines files may be compressed."""
    suffixes = [one.lower() for one in PurePosixPath(name).suffixes[-2:]]
    if suffixes and suffixes[-1] in _COMPRESSED:
        suffixes.pop()
        found = _FORMATS.get(suffixes[-1]) if suffixes else None
        return None if found == "parquet" else found
    return _FORMATS.get(suffixes[-1]) if suffixes else None


@dataclass(slots=True)
class _Table:
    """The files of one table.

    `files` has their sizes in bytes by address; for a Delta table it has the folder, for an Iceberg
    table the metadata file. `keys` are the partition keys in order. `is_folder` is set if the table
    is a folder instead of a single file.
    """

    path: tuple[str, ...]
    format: Format | LakeFormat
    files: dict[str, int]
    keys: tuple[str, ...] = ()
    is_folder: bool = False


@dataclass(frozen=True, slots=True)
class FileFolder:
    """A source of the tables in a folder.

    Folders named `key=value` are partitions of the table that is the folder above. A folder with
    the log of a Delta table or the metadata of an Iceberg table is that table. A folder whose files
    are named like the parts of a data set is one table. Any other file is a table of its own.

    `path` is the path in `storage` of a folder, of a file, or of an Iceberg metadata file.
    """

    storage: Storage
    path: str
    options: SourceOptions

    @classmethod
    def of(cls, path: Path, options: SourceOptions) -> "FileFolder":
        """Return the source at a local path."""
        return cls(LocalFiles(), path.resolve().as_posix(), options)

    @classmethod
    def in_bucket(cls, location: str, options: SourceOptions) -> "FileFolder":
        """Return the source at the URL of a bucket, or of a folder or file in it. Raises
        `InvalidInput` and `MissingExtra` like `Bucket.parse`."""
        bucket, path = Bucket.parse(location)
        return cls(bucket, path, options)

    @property
    def kind(self) -> str:
        """DataHub's name for the platform: `file`, `s3`, `gcs` or `abs`."""
        return self.storage.platform

    @property
    def location(self) -> str:
        """The path or URL of the folder or file."""
        return self.storage.address(self.path)

    @property
    def default_name(self) -> str:
        """The folder's name, or the file's name up to the first dot; for an Iceberg metadata file
        the name of the table's folder."""
        if METADATA.fullmatch(self._name):
            return _iceberg_folder(self.path).rpartition("/")[2]
        return self._name.partition(".")[0] if file_format(self._name) else self._name

    @property
    def _name(self) -> str:
        return self.path.rpartition("/")[2]

    def read(self, progress: Progress) -> Inventory:
        """Return the tables with their columns, sizes and, where known, row counts.

        A table that cannot be read is listed as skipped. Raises `InvalidInput` if the folder or
        file does not exist, or is a file of another format, `Unreachable` if a bucket cannot be
        reached, and `MissingExtra` without duckdb.
        """
        duckdb = import_duckdb("reading files")
        is_bucket = isinstance(self.storage, Bucket)
        levels = (BUCKET, FOLDER) if is_bucket else (FOLDER,)
        writer = DatasetWriter(self.storage.platform, self.options, levels, "/")
        tables = self._tables(writer)
        profiler = Profiler(self.options, writer.inventory)
        with self.storage.connect() as connection:
            for done, table in enumerate(tables):
                progress("files", done, len(tables))
                try:
                    if table.format in ("delta", "iceberg"):
                        writer.add(self._lake_table(table, writer.inventory))
                        continue
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
                except (duckdb.Error, CatalogError, OSError, RuntimeError) as error:
                    reason = _reason(error)
                    name = writer.dataset(table.path).name
                    writer.inventory.skipped.append(SkippedPart("/".join(table.path), reason, name))
        progress("files", len(tables), len(tables))
        return writer.inventory

    def _tables(self, writer: DatasetWriter) -> list[_Table]:
        """Return the tables at the path. Finds them by name, without reading data."""
        size: int | None = None
        if isinstance(self.storage, Bucket):
            size = self.storage.size(self.path)
            path = tuple(self.path.split("/"))
        elif Path(self.path).is_dir():
            path = (self._name,)
        elif Path(self.path).is_file():
            path, size = (self._name,), Path(self.path).stat().st_size
        else:
            raise InvalidInput(f"there is no {self.path}")
        if size is None:
            return _Finder(self.storage, writer).find(self.path, path)
        if METADATA.fullmatch(self._name):
            folder = _iceberg_folder(self.path)
            table = tuple(folder.split("/")) if len(path) > 1 else (folder.rpartition("/")[2],)
            return [_Table(table, "iceberg", {self.path: size})]
        found = file_format(self._name)
        if found is None:
            raise InvalidInput(f"{self.location} is neither Parquet, CSV nor JSON lines")
        return [_Table(path, found, {self.storage.address(self.path): size})]

    def _lake_table(self, table: _Table, inventory: Inventory) -> TableDefinition:
        (place,) = table.files
        if table.format == "delta":
            return describe_delta(self.storage, place, table.path, self.options)
        found, reason = describe_iceberg(self.storage, place, table.path, self.options)
        if reason is not None:
            inventory.skipped.append(SkippedPart("/".join(table.path), reason))
        return found


def _iceberg_folder(metadata: str) -> str:
    """Return the folder of the table of an Iceberg metadata file: the parent of the file's own."""
    return metadata.rpartition("/")[0].rpartition("/")[0]


@dataclass(slots=True)
class _Finder:
    """Finds the tables below a folder by the names of files and folders."""

    storage: Storage
    writer: DatasetWriter
    tables: list[_Table] = field(default_factory=list)

    def find(self, folder: str, path: tuple[str, ...]) -> list[_Table]:
        self._look(folder, path, is_root=True)
        return sorted(self.tables, key=lambda one: one.path)

    def _look(self, folder: str, path: tuple[str, ...], *, is_root: bool = False) -> None:
        try:
            self._look_into(folder, path, is_root=is_root)
        except OSError as error:
            reason = f"cannot be read: {error.strerror or ' '.join(str(error).split())}"
            self._skip(path, reason, self.writer.dataset(path).name)

    def _look_into(self, folder: str, path: tuple[str, ...], *, is_root: bool) -> None:
        entries = self.storage.list(folder)
        names = [one.name for one in entries]
        metadata = f"{folder}/metadata"
        match lake_format(names, lambda: [one.name for one in self.storage.list(metadata)]):
            case "delta":
                self.tables.append(_Table(path, "delta", {folder: 0}, is_folder=True))
                return
            case "iceberg":
                found = [one.name for one in self.storage.list(metadata)]
                hint = None
                if METADATA_HINT in found:
                    hint = self.storage.read(f"{metadata}/{METADATA_HINT}").decode(errors="replace")
                file = f"{metadata}/{newest_metadata(found, hint)}"
                self.tables.append(_Table(path, "iceberg", {file: 0}, is_folder=True))
                return
        shown = [one for one in entries if not one.name.startswith((".", "_"))]
        folders = [one.name for one in shown if one.is_folder]
        if any(_PARTITION.fullmatch(name) for name in folders):
            self._add_partitioned(folder, path)
            return
        data = [one for one in shown if not one.is_folder and file_format(one.name)]
        formats = {file_format(one.name) for one in data}
        are_parts = len(data) > 1 and len(formats) == 1 and not folders and not is_root
        if are_parts and all(_PART.fullmatch(one.name.partition(".")[0]) for one in data):
            self._add(path, folder, data, is_folder=True)
        else:
            for one in data:
                self._add((*path, one.name), folder, [one])
        for name in folders:
            self._look(f"{folder}/{name}", (*path, name))

    def _add_partitioned(self, folder: str, path: tuple[str, ...]) -> None:
        files, keys = list[StoredFile](), dict[str, None]()
        for one in self.storage.walk(folder):
            *folders, name = one.name.split("/")
            if name.startswith((".", "_")) or any(part.startswith((".", "_")) for part in folders):
                continue
            keys |= {found[1]: None for part in folders if (found := _PARTITION.fullmatch(part))}
            if file_format(name):
                files.append(one)
        self._add(path, folder, files, tuple(keys), is_folder=True)

    def _add(
        self,
        path: tuple[str, ...],
        folder: str,
        files: Sequence[StoredFile],
        keys: tuple[str, ...] = (),
        *,
        is_folder: bool = False,
    ) -> None:
        formats = {found for one in files if (found := file_format(one.name))}
        if len(formats) != 1:
            reason = f"its files are {' and '.join(sorted(formats))}" if formats else "it is empty"
            self._skip(path, reason, self.writer.dataset(path).name)
            return
        sizes = {self.storage.address(f"{folder}/{one.name}"): one.size for one in files}
        self.tables.append(_Table(path, formats.pop(), sizes, keys, is_folder))

    def _skip(self, path: tuple[str, ...], reason: str, prefix: str | None = None) -> None:
        self.writer.inventory.skipped.append(SkippedPart("/".join(path), reason, prefix))


def _reason(error: Exception) -> str:
    """Return the message of an error on one line, without the query that DuckDB appends; for a CSV
    file also without the row in question and DuckDB's settings."""
    # An error that pyarrow raises inside DuckDB is preceded by a traceback.
    told = _TRACEBACK.sub("", str(error).partition("\nLINE ")[0])
    first, *rest = told.splitlines() or [type(error).__name__]
    if "CSV" in first or "sniffing" in first:
        rest = [one for one in rest if one.startswith(_CSV_WORDS)]
    return " ".join(" ".join((first, *rest)).split())


def _sample(connection: "DuckDBPyConnection", table: _Table, row_count: int | None) -> Sample:
    files: list[Any] = [list(table.files), bool(table.keys)]
    relation = _READERS[table.format]
    return lambda names: sample_rows(connection, relation, names, row_count, files)


def _described(connection: "DuckDBPyConnection", table: _Table) -> TableDefinition:
    odd = next((one for one in table.files if _GLOB.search(one)), None)
    if odd is not None:
        raise OSError(
            "its name contains one of the wildcards * ? [, so it cannot be read: "
            f"{odd.rpartition('/')[2]}"
        )
    if not any(table.files.values()):
        raise OSError("it is empty")
    is_parquet = table.format == "parquet"
    files = list(table.files)
    described = _rows(
        connection,
        f"describe select * from {_READERS[table.format]}",
        [files if is_parquet else files[:_MOST_SNIFFED], bool(table.keys)],
    )
    properties: dict[str, str] = {"format": table.format}
    if table.is_folder:
        properties["files"] = str(len(files))
    if table.keys:
        properties["partitioned_by"] = ", ".join(table.keys)
    return TableDefinition(
        table.path,
        "Table" if table.is_folder else "File",
        list(_columns(described, table.keys)),
        row_count=_row_count(connection, files) if is_parquet else None,
        size_bytes=sum(table.files.values()),
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


def _row_count(connection: "DuckDBPyConnection", files: Sequence[str]) -> int:
    query = "select sum(num_rows) from parquet_file_metadata($1)"
    return int(_rows(connection, query, [files])[0][0])


def _rows(connection: "DuckDBPyConnection", query: str, values: list[Any]) -> list[Any]:
    return list(connection.execute(query, values).fetchall())
