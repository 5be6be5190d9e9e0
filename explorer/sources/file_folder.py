"""Read the tables in a folder or bucket: Parquet, CSV and JSON files, Delta and Iceberg.

Files are described by DuckDB, which reads the footers of Parquet files, and infers the types of
columns in the others from their first rows; files that it cannot read directly are copied first.
Delta and Iceberg tables are described from their log and metadata, without reading data: row
counts, null counts, smallest and largest values are the statistics that the writers of the files
recorded. Values are included only if profiling is turned on; values of text columns and of columns
that look personal only if the options allow values.
"""

import codecs
import io
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from decimal import Decimal
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final, Literal, Self, cast

import orjson

from explorer.client.display import counted
from explorer.encoding import check_encoding
from explorer.errors import CatalogError, InvalidFile, InvalidInput, MissingExtra
from explorer.sources.duckdb_file import columns_of, import_duckdb, sample_rows
from explorer.sources.profile import MOST_ROWS, Profiler, is_personal, limit_time
from explorer.sources.source import (
    BUCKET,
    FOLDER,
    ColumnDefinition,
    DatasetWriter,
    Inventory,
    LocalSource,
    Location,
    Progress,
    SkippedPart,
    Source,
    SourceOptions,
    TableDefinition,
    read_text,
)
from explorer.sources.storage import Bucket, LocalFiles, Storage, StoredFile
from explorer.sources.text_file import (
    DELIMITERS,
    TextCopy,
    TextFormat,
    copy_text,
    read_encoding,
    why_no_records,
)

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

Format = Literal["parquet", "csv", "json", "json lines"]
LakeFormat = Literal["delta", "iceberg"]

_FORMATS: Final[dict[str, Format]] = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".tsv": "csv",
    ".json": "json",
    ".jsonl": "json lines",
    ".ndjson": "json lines",
}
_COMPRESSED: Final = (".gz", ".zst")
_READ_FORMATS: Final = "Parquet, CSV and JSON are read"
_COMPRESSIONS: Final = (*_COMPRESSED, ".bz2", ".xz", ".lz4", ".zip")
# What other programs keep beside data, which is none itself.
_NO_DATA: Final = re.compile(
    r"\..*|_SUCCESS|_(?:common_)?metadata|_(?:delta_log|spark_metadata|temporary|committed.*|started.*)"
)
_PARTITION: Final = re.compile(r"([^=/]+)=([^/]*)")
# Names that writers give to the files of one table.
_PART: Final = re.compile(
    r"(?:part|data|chunk|batch)[-_.]?\d[\w.-]*|\d+(?:[-_.]\d+)*|[0-9a-f]{8}-[0-9a-f-]{20,}[\w.-]*",
    re.IGNORECASE,
)
_READERS: Final[dict[Format | LakeFormat, str]] = {
    "parquet": "read_parquet($1, hive_partitioning = $2, union_by_name = true)",
    "csv": "read_csv($1, hive_partitioning = $2, union_by_name = true)",
    "json": "read_json($1, hive_partitioning = $2, union_by_name = true)",
    "json lines": (
        "read_json($1, format = 'newline_delimited', hive_partitioning = $2, union_by_name = true)"
    ),
}
# The lines after the first of a DuckDB error that say what is wrong with a CSV file.
_CSV_WORDS: Final = (
    *("Error when converting column", "Expected Number of Columns", "It was not possible"),
    *("Value with unterminated quote", "Invalid unicode"),
)
_TRACEBACK: Final = re.compile(r"\A.*?Traceback \(.*?\n\w*Error: ", re.DOTALL)
_GLOB: Final = re.compile(r"[*?\[]")
# The number of files read to describe a CSV or JSON table; of Parquet tables all files are read.
_MOST_SNIFFED: Final = 20
# The rows of a copied file that are read to describe it, as many as DuckDB reads of others.
_SNIFFED_ROWS: Final = 20_480
# What DuckDB says of a CSV file that can be read once it is copied.
_NEEDS_COPY: Final = ("Expected Number of Columns", "unicode", "utf-8")
_MOST_NAMED: Final = 5
# The part of a name that counts: a date, a time or a number.
_COUNTER: Final = re.compile(r"\d+(?:[-_.T]\d+)*(?!.*\d)")


def file_format(name: str) -> Format | None:
    """Return the format of a file by its suffix, or `None` if it is not supported. CSV and JSON
    files may be compressed."""
    suffixes = [suffix.lower() for suffix in PurePosixPath(name).suffixes[-2:]]
    if suffixes and suffixes[-1] in _COMPRESSED:
        suffixes.pop()
        format_ = _FORMATS.get(suffixes[-1]) if suffixes else None
        return None if format_ == "parquet" else format_
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
class FileFolder(Source):
    """A source of the tables in a folder.

    Folders named `key=value` are partitions; the folder that contains them is the table. A folder
    with the log of a Delta table or the metadata of an Iceberg table is that table. A folder whose
    files are named like the parts of a data set is one table, and so are files that match a pattern
    of the options. Any other file is a table of its own.

    `path` is the path in `storage` of a folder, of a file, or of an Iceberg metadata file.
    """

    storage: Storage
    path: str
    options: SourceOptions

    @classmethod
    def open(cls, location: Location, options: SourceOptions, password: str | None) -> Self | None:
        """Return the source of any folder, of a file of a known format, or at the URL of a bucket
        or of a folder or file in it. Raises `InvalidInput` and `MissingExtra` like
        `Bucket.parse`."""
        del password
        if options.encoding:
            check_encoding(options.encoding)
        if location.scheme in ("s3", "gs", "az"):
            return cls(*Bucket.parse(location.text), options)
        path = location.path
        if path is None:
            return None
        is_table = file_format(path.name) or METADATA.fullmatch(path.name)
        if not is_table and location.folder is None:
            return None
        return cls(LocalFiles(), path.resolve().as_posix(), options)

    @classmethod
    def find(cls, file: Location, folder: Path) -> LocalSource | None:
        """Return `folder` as a source to offer if `file` is a data file directly in it; files named
        `.json` do not count."""
        path = Path(file.text)
        # Most files named `.json` are not data.
        if path.parent != folder or path.suffix.lower() not in _FORMATS or path.suffix == ".json":
            return None
        return LocalSource(str(folder), "Parquet, CSV or JSON lines in this folder")

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
        with self.storage.connect() as connection:
            reader = _Reader(self.storage, self.options, writer.inventory, connection)
            for done, table in enumerate(tables):
                progress("files", done, len(tables))
                try:
                    if table.format in ("delta", "iceberg"):
                        writer.add(self._lake_table(table, writer.inventory))
                    elif (definition := reader.read(table)) is not None:
                        writer.add(definition)
                except (duckdb.Error, CatalogError, OSError, RuntimeError) as error:
                    reason = _reason(error)
                    name = writer.dataset(table.path).name
                    writer.inventory.skipped.append(SkippedPart("/".join(table.path), reason, name))
        reader.add_notes()
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
        format_ = file_format(self._name)
        if format_ is None:
            raise InvalidInput(f"{self.location} is left out: {_READ_FORMATS}")
        return [_Table(path, format_, {self.storage.address(self.path): size})]

    def _lake_table(self, table: _Table, inventory: Inventory) -> TableDefinition:
        (place,) = table.files
        if table.format == "delta":
            return describe_delta(self.storage, place, table.path, self.options)
        definition, reason = describe_iceberg(self.storage, place, table.path, self.options)
        if reason is not None:
            inventory.skipped.append(SkippedPart("/".join(table.path), reason))
        return definition


def _iceberg_folder(metadata: str) -> str:
    """Return the folder of an Iceberg table, given its metadata file: the parent of the folder
    `metadata`."""
    return metadata.rpartition("/")[0].rpartition("/")[0]


@dataclass(slots=True)
class _Finder:
    """Finds the tables below a folder by the names of files and folders."""

    storage: Storage
    writer: DatasetWriter
    tables: list[_Table] = field(default_factory=list)
    _left_out: Counter[str] = field(default_factory=Counter)
    _used_patterns: set[str] = field(default_factory=set)

    def find(self, folder: str, path: tuple[str, ...]) -> list[_Table]:
        self._look(folder, path, is_root=True)
        if self._left_out:
            most_first = sorted(self._left_out.items(), key=lambda pair: (-pair[1], pair[0]))
            kinds = [f"{count:,} {kind}" for kind, count in most_first]
            files = counted(self._left_out.total(), "file")
            is_are = "is" if self._left_out.total() == 1 else "are"
            reason = f"{files} {is_are} left out ({', '.join(kinds)}): {_READ_FORMATS}"
            self._skip(path, reason)
        for pattern in self.writer.options.patterns:
            if pattern not in self._used_patterns:
                self._skip(path, f"no file has a name that matches the pattern {pattern}")
        return sorted(self.tables, key=lambda table: table.path)

    def _look(self, folder: str, path: tuple[str, ...], *, is_root: bool = False) -> None:
        try:
            self._look_into(folder, path, is_root=is_root)
        except OSError as error:
            reason = f"cannot be read: {error.strerror or ' '.join(str(error).split())}"
            self._skip(path, reason, self.writer.dataset(path).name)

    def _look_into(self, folder: str, path: tuple[str, ...], *, is_root: bool) -> None:
        entries = []
        for entry in self.storage.list(folder):
            if not entry.is_link:
                entries.append(entry)
            elif self._is_shown(entry.name):
                self._left_out["linked folder"] += 1
        names = [entry.name for entry in entries]
        metadata = f"{folder}/metadata"
        match lake_format(names, lambda: [file.name for file in self.storage.list(metadata)]):
            case "delta":
                self.tables.append(_Table(path, "delta", {folder: 0}, is_folder=True))
                return
            case "iceberg":
                metadata_names = [file.name for file in self.storage.list(metadata)]
                hint = None
                if METADATA_HINT in metadata_names:
                    hint = self.storage.read(f"{metadata}/{METADATA_HINT}").decode(errors="replace")
                file = f"{metadata}/{newest_metadata(metadata_names, hint)}"
                self.tables.append(_Table(path, "iceberg", {file: 0}, is_folder=True))
                return
        data = [file for file in entries if not file.is_folder and self._is_data(file.name)]
        folders = [file.name for file in entries if file.is_folder and self._is_shown(file.name)]
        partitions = [name for name in folders if _PARTITION.fullmatch(name)]
        if partitions:
            self._add_partitioned(folder, path, partitions)
        folders = [name for name in folders if name not in partitions]
        for pattern in self.writer.options.patterns:
            matched = [file for file in data if fnmatchcase(file.name, pattern)]
            if matched:
                self._used_patterns.add(pattern)
                name = _pattern_name(pattern)
                table = (*path, pattern if name in folders else name) if name else path
                self._add(table, folder, matched, is_folder=True)
                data = [file for file in data if file not in matched]
        formats = {file_format(file.name) for file in data}
        are_parts = len(data) > 1 and len(formats) == 1 and not (folders or partitions or is_root)
        if are_parts and all(_PART.fullmatch(file.name.partition(".")[0]) for file in data):
            self._add(path, folder, data, is_folder=True)
        else:
            for file_ in data:
                self._add((*path, file_.name), folder, [file_])
        for name in folders:
            self._look(f"{folder}/{name}", (*path, name))

    def _is_shown(self, name: str) -> bool:
        """Return whether a file or folder may contain data. Counts hidden ones as left out, unless
        programs usually create them beside data."""
        if not name.startswith((".", "_")):
            return True
        if not _NO_DATA.fullmatch(name):
            self._left_out["beginning with _"] += 1
        return False

    def _is_data(self, name: str) -> bool:
        """Return whether a file has a supported format. Counts other files as left out, by their
        suffix."""
        if not self._is_shown(name):
            return False
        if file_format(name) is None:
            suffixes = [suffix.lower() for suffix in PurePosixPath(name).suffixes[-2:]]
            kind = "".join(suffixes) if suffixes[-1:] and suffixes[-1] in _COMPRESSIONS else ""
            self._left_out[kind or "".join(suffixes[-1:]) or "without an ending"] += 1
            return False
        return True

    def _add_partitioned(self, folder: str, path: tuple[str, ...], partitions: list[str]) -> None:
        """Add the table whose partitions are in a folder or, if the partitions contain folders, a
        table for each of these."""
        files, keys = dict[tuple[str, ...], list[StoredFile]](), dict[str, None]()
        for partition in partitions:
            for file in self.storage.walk(f"{folder}/{partition}"):
                *folders, name = f"{partition}/{file.name}".split("/")
                if any(part.startswith((".", "_")) for part in folders) or not self._is_data(name):
                    continue
                keys |= {
                    match[1]: None for part in folders if (match := _PARTITION.fullmatch(part))
                }
                below = tuple(part for part in folders if not _PARTITION.fullmatch(part))
                files.setdefault(below, []).append(replace(file, name=f"{partition}/{file.name}"))
        if len(files) < 2:
            files = {(): [file for group in files.values() for file in group]}
        for below, group in files.items():
            self._add((*path, *below), folder, group, tuple(keys), is_folder=True)

    def _add(
        self,
        path: tuple[str, ...],
        folder: str,
        files: Sequence[StoredFile],
        keys: tuple[str, ...] = (),
        *,
        is_folder: bool = False,
    ) -> None:
        formats = {format_ for file in files if (format_ := file_format(file.name))}
        if len(formats) != 1:
            reason = f"its files are {' and '.join(sorted(formats))}" if formats else "it is empty"
            self._skip(path, reason, self.writer.dataset(path).name)
            return
        sizes = {self.storage.address(f"{folder}/{file.name}"): file.size for file in files}
        self.tables.append(_Table(path, formats.pop(), sizes, keys, is_folder))

    def _skip(self, path: tuple[str, ...], reason: str, prefix: str | None = None) -> None:
        self.writer.inventory.skipped.append(SkippedPart("/".join(path), reason, prefix))


def _reason(error: Exception) -> str:
    """Return the message of an error on one line, without the query that DuckDB appends; for a CSV
    file also without the row in question and DuckDB's settings."""
    # An error that pyarrow raises inside DuckDB is preceded by a traceback.
    message = _TRACEBACK.sub("", str(error).partition("\nLINE ")[0])
    first, *lines = message.splitlines() or [type(error).__name__]
    if "CSV" in first or "sniffing" in first:
        lines = [line for line in lines if line.startswith(_CSV_WORDS)]
    return " ".join(" ".join((first, *lines)).split())


def _pattern_name(pattern: str) -> str:
    """Return a pattern without wildcards and suffixes: `orders` for `orders_*.parquet`."""
    stem = pattern.partition(".")[0]
    return "_".join(filter(None, (part.strip("-_ ") for part in re.split(r"[*?]+|\[.*?\]", stem))))


@dataclass(slots=True)
class _Reader:
    """Describes and profiles tables of files, and collects notes about them.

    `_encodings` has the tables by encoding, `_no_records` the JSON files that are not tables, by
    the content that they have instead, `_alike` the columns of files whose names differ only in a
    date or number, by folder and pattern, and `_differing` the columns in which the files of a
    table differ.
    """

    storage: Storage
    options: SourceOptions
    inventory: Inventory
    connection: "DuckDBPyConnection"
    _profiler: Profiler = field(init=False)
    _encodings: dict[str, list[str]] = field(default_factory=dict)
    _no_records: dict[str, list[str]] = field(default_factory=dict)
    _alike: dict[tuple[str, str], list[frozenset[str]]] = field(default_factory=dict)
    _names: dict[str, list[str]] = field(default_factory=dict)
    _differing: dict[str, list[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._profiler = Profiler(self.options, self.inventory)

    def read(self, table: _Table) -> TableDefinition | None:
        """Return a table, or `None` for a JSON file that does not contain records. Raises DuckDB's
        errors, `InvalidFile` and `OSError` if it cannot be read."""
        odd = next((file for file in table.files if _GLOB.search(file)), None)
        if odd is not None:
            raise OSError(
                "its name contains one of the wildcards * ? [, so it cannot be read: "
                f"{odd.rpartition('/')[2]}"
            )
        if not any(table.files.values()):
            raise OSError("it is empty")
        definition: TableDefinition | None
        if table.format == "parquet":
            files = list(table.files)
            definition = self._describe(table, files)
            definition.row_count = _row_count(self.connection, files)
            self._profile(table, definition, files)
        else:
            definition = self._read_text(table)
        if definition is not None and not table.is_folder:
            self._note_name(table, definition)
        return definition

    def _read_text(self, table: _Table) -> TableDefinition | None:
        first_files = list(table.files)[:_MOST_SNIFFED]
        encoding = self.options.encoding
        encodings = [encoding or read_encoding(self.storage, file) for file in first_files]
        if table.format == "json" and len(table.files) == 1:
            instead = why_no_records(self.storage, first_files[0], encodings[0])
            if instead is not None:
                self._no_records.setdefault(instead, []).append("/".join(table.path))
                return None
        # DuckDB takes a byte order mark for a part of JSON.
        plain = ("utf-8", "utf-8-sig") if table.format == "csv" else ("utf-8",)
        if all(codecs.lookup(name).name in plain for name in encodings):
            definition = self._read_plain(table, first_files)
            if definition is not None:
                return definition
        with TemporaryDirectory("-catalog") as folder:
            return self._read_copies(table, Path(folder))

    def _read_plain(self, table: _Table, first_files: list[str]) -> TableDefinition | None:
        """Return a table of CSV or JSON files, or `None` if they have to be copied."""
        import duckdb

        try:
            definition = self._describe(table, first_files)
            if table.format == "csv" and _is_misread(definition):
                return None
            self._profile(table, definition, list(table.files))
        except duckdb.Error as error:
            if table.format == "csv" and any(words in str(error) for words in _NEEDS_COPY):
                return None
            raise
        return definition

    def _read_copies(self, table: _Table, folder: Path) -> TableDefinition:
        is_profiled = self.options.profile
        most_rows = MOST_ROWS + 1 if is_profiled else _SNIFFED_ROWS
        copies: list[TextCopy] = []
        for number, file in enumerate(table.files):
            is_enough = not is_profiled or sum(copy.rows for copy in copies) > MOST_ROWS
            if number >= _MOST_SNIFFED and is_enough:
                break
            format_ = cast("TextFormat", table.format)
            copies.append(
                copy_text(self.storage, file, format_, folder, most_rows, self.options.encoding)
            )
        name = "/".join(table.path)
        encodings = sorted({copy.encoding for copy in copies})
        ragged = sum(copy.ragged for copy in copies)
        # What DuckDB reads well itself is read from where it is.
        is_same = encodings == ["utf-8"] and not ragged
        files = list(table.files) if is_same else [str(copy.path) for copy in copies]
        definition = self._describe(table, files[:_MOST_SNIFFED])
        if encodings != ["utf-8"]:
            self._encodings.setdefault(" and ".join(encodings), []).append(name)
            definition.properties = {**definition.properties, "encoding": ", ".join(encodings)}
        if ragged:
            is_whole = len(copies) == len(table.files) and all(copy.is_whole for copy in copies)
            rows = sum(copy.rows for copy in copies)
            self.inventory.notes.append(
                f"{name}: {ragged:,} of its {'' if is_whole else 'first '}{counted(rows, 'row')} "
                "have more or fewer fields than its header"
            )
        self._profile(table, definition, files)
        return definition

    def _describe(self, table: _Table, files: list[str]) -> TableDefinition:
        properties: dict[str, str] = {"format": table.format}
        if table.is_folder:
            properties["files"] = str(len(table.files))
        if table.keys:
            properties["partitioned_by"] = ", ".join(table.keys)
        definition = TableDefinition(
            table.path,
            "Table" if table.is_folder else "File",
            list(_describe_columns(self._columns(table, files), table.keys)),
            size_bytes=sum(table.files.values()),
            properties=properties,
        )
        if len(files) > 1:
            self._differing["/".join(table.path)] = self._find_differing(table, definition, files)
        return definition

    def _columns(self, table: _Table, files: list[str]) -> list[Any]:
        query = f"describe select * from {_READERS[table.format]}"
        return _rows(self.connection, query, [files, bool(table.keys)])

    def _find_differing(
        self, table: _Table, definition: TableDefinition, files: list[str]
    ) -> list[str]:
        """Return the columns that some of the files lack or, for Parquet files, have with another
        type."""
        if table.format == "parquet":
            query = "select name, count(distinct file_name), count(distinct type) "
            rows = _rows(self.connection, f"{query} from parquet_schema($1) group by 1", [files])
            same = {name for name, count, types in rows if count == len(files) and types < 2}
        else:
            columns_by_file = ({row[0] for row in self._columns(table, [file])} for file in files)
            same = set.intersection(*columns_by_file)
        return [name for name in definition.names if name not in same and name not in table.keys]

    def _profile(self, table: _Table, definition: TableDefinition, files: list[str]) -> None:
        """Profile a table. A failure is listed as skipped; if a copy of the files could be
        profiled, it is raised instead."""
        import duckdb

        relation, values = _READERS[table.format], [files, bool(table.keys)]
        count = definition.row_count
        try:
            with limit_time(self.connection.interrupt):
                self._profiler.profile(
                    definition,
                    lambda names: sample_rows(self.connection, relation, names, count, values),
                )
        except duckdb.Error as error:
            is_original = files == list(table.files)
            if is_original and any(words in str(error) for words in _NEEDS_COPY):
                raise
            reason = f"not profiled: {_reason(error)}"
            self.inventory.skipped.append(SkippedPart("/".join(table.path), reason))

    def _note_name(self, table: _Table, definition: TableDefinition) -> None:
        """Record the name and the columns of a file, to compare them with those of others."""
        parent, name = "/".join(table.path[:-1]), table.path[-1]
        self._names.setdefault(parent, []).append(name)
        suffixes = PurePosixPath(name).suffixes
        ending = "".join(suffixes[-2 if suffixes[-1].lower() in _COMPRESSED else -1 :])
        pattern = _COUNTER.sub("*", name.removesuffix(ending)) + ending
        # The types of the columns of other files are taken from their rows.
        columns = frozenset(
            f"{column.path} {column.native_type if table.format == 'parquet' else ''}"
            for column in definition.columns or ()
        )
        if "*" in pattern:
            self._alike.setdefault((parent, pattern), []).append(columns)

    def add_notes(self) -> None:
        """Add notes about the tables to the inventory: their encodings, files that are left out,
        columns that differ, and files that are probably one table."""
        notes = self.inventory.notes
        for encoding, names in self._encodings.items():
            notes.append(f"{_listed(names)}: read as {encoding}")
        for name, columns in self._differing.items():
            if columns:
                notes.append(f"{name}: its files differ in {_listed(columns)}")
        for instead, names in self._no_records.items():
            files = counted(len(names), "JSON file")
            reason = f"left out: {instead}" + (f" ({files})" if len(names) > 1 else "")
            self.inventory.skipped.append(SkippedPart(_listed(names), reason))
        for (parent, pattern), columns_by_file in self._alike.items():
            count = len(columns_by_file)
            if count < 2:
                continue
            matches = sum(fnmatchcase(name, pattern) for name in self._names[parent])
            exact = pattern.replace("*", "[0-9]*") if matches > count else pattern
            if len(set(columns_by_file)) == 1:
                self.inventory.patterns.append(exact)
                notes.append(
                    f"{parent}: {count:,} files have the same columns and names like {exact}: "
                    "they become one table with the pattern (--pattern)"
                )
            elif len(set(columns_by_file)) < count:
                notes.append(
                    f"{parent}: {count:,} files have names like {exact}, but different columns: "
                    "they stay tables of their own"
                )


def _listed(names: Sequence[str]) -> str:
    """Return names as a phrase; if there are many, only the first."""
    more = len(names) - _MOST_NAMED
    return f"{', '.join(names[:_MOST_NAMED])}{f' and {more:,} more' if more > 0 else ''}"


def _is_misread(definition: TableDefinition) -> bool:
    """Return whether DuckDB may not have found the header of a CSV file, because its rows are
    ragged."""
    return any(
        column.path == "column0" or any(delimiter in column.path for delimiter in DELIMITERS)
        for column in definition.columns or ()
        if not column.is_partition_key
    )


def _describe_columns(
    described: Iterable[Sequence[Any]], keys: Sequence[str]
) -> Iterator[ColumnDefinition]:
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
    unique_names = set(names)
    if "_delta_log" in unique_names:
        return "delta"
    if "metadata" in unique_names and any(METADATA.fullmatch(name) for name in metadata()):
        return "iceberg"
    return None


def newest_metadata(names: Iterable[str], hint: str | None) -> str:
    """Return the current metadata file among the names in a folder `metadata`: the one that the
    hint names by version or file name, otherwise the one with the highest version."""
    names_by_version = {
        (int(match[1]), name): name for name in names if (match := METADATA.fullmatch(name))
    }
    hint_text = (hint or "").strip()
    for (version, _), name in names_by_version.items():
        if hint_text and hint_text in (str(version), name):
            return name
    return names_by_version[max(names_by_version)]


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
        columns = list(_lake_columns(orjson.loads(table.schema().to_json())["fields"]))
        metadata = table.metadata()
        partitions = list(metadata.partition_columns)
        actions: Any = table.get_add_actions(flatten=True)
        values_by_name = {name: actions.column(name).to_pylist() for name in actions.column_names}
    except (DeltaError, OSError, ValueError, KeyError) as error:
        raise InvalidFile(f"its Delta log cannot be read: {_lake_error(error)}") from error
    counts = [_optional_int(count) for count in values_by_name.get("num_records", ())]
    deleted = values_by_name.get("deletion_vector.cardinality", ())
    sizes = values_by_name.get("size_bytes", ())
    statistics = _Statistics(options, counts)
    for column in columns:
        path_ = column.path
        if path_ in partitions:
            values = values_by_name.get(f"partition.{path_}") or []
            nulls = [
                count if value is None else 0 for value, count in zip(values, counts, strict=False)
            ]
            statistics.add(column, nulls, values, values)
        elif f"null_count.{path_}" in values_by_name:
            nothing: list[Any] = []
            statistics.add(
                column,
                values_by_name[f"null_count.{path_}"],
                values_by_name.get(f"min.{path_}", nothing),
                values_by_name.get(f"max.{path_}", nothing),
            )
    keys = [values_by_name.get(f"partition.{partition}") or [] for partition in partitions]
    return _lake_definition(
        path,
        "delta",
        [_mark_key(column, partitions) for column in columns],
        partitions,
        description=read_text(metadata.description),
        files=len(sizes),
        partitions=len(set(zip(*keys, strict=False))) if partitions else None,
        row_count=None
        if None in counts
        else sum(count or 0 for count in counts) - sum(deletions or 0 for deletions in deleted),
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
        null_counts = [null for null in nulls if null is not None]
        total = sum(row or 0 for row in self.rows)
        if null_counts and len(null_counts) == len(self.rows):
            profile["nullCount"] = sum(null_counts)
            if None not in self.rows and total:
                profile["nullProportion"] = round(sum(null_counts) / total, 6)
        # A file in which all values are null has no smallest and largest value.
        empty = [
            null is not None and null == rows for null, rows in zip(nulls, self.rows, strict=False)
        ]
        low = [bound for bound in lowest if bound is not None]
        high = [bound for bound in highest if bound is not None]
        is_known = low and len(low) == len(high) == empty.count(False)
        if self.options.profile and is_known and self._may_be_shown(column, [*low, *high]):
            profile |= {"min": _lake_text(min(low)), "max": _lake_text(max(high))}
        if len(profile) > 1:
            self.profiles.append(profile)

    def _may_be_shown(self, column: ColumnDefinition, values: Sequence[Any]) -> bool:
        if column.kind not in ("Number", "Date", "Time", "String"):
            return False
        # Two values of a text column are too few to tell whether it is personal.
        return self.options.values or (column.kind != "String" and not is_personal(column, values))


def _lake_definition(
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


def _mark_key(column: ColumnDefinition, keys: Sequence[str]) -> ColumnDefinition:
    return replace(column, is_partition_key=True) if column.path in keys else column


def _lake_columns(
    fields: Iterable[Mapping[str, Any]], above: str = "", depth: int = 0
) -> Iterator[ColumnDefinition]:
    """Yield the columns of a Delta or Iceberg schema in JSON, each followed by the fields of its
    structs."""
    if depth > _DEEPEST:
        return
    for struct_field in fields:
        path, kind = f"{above}{struct_field['name']}", struct_field["type"]
        is_nullable = (
            struct_field["nullable"]
            if "nullable" in struct_field
            else not struct_field.get("required")
        )
        comment = struct_field.get("doc") or (struct_field.get("metadata") or {}).get("comment")
        yield ColumnDefinition(
            path,
            _format_type(kind),
            _model_type(kind),
            bool(is_nullable),
            read_text(comment),
            is_nested=bool(above),
        )
        yield from _lake_columns(_lake_fields(kind), f"{path}.", depth + 1)


def _lake_fields(kind: Any) -> Sequence[Mapping[str, Any]]:
    """Return the fields of a struct or of a list of structs; empty for other types."""
    while isinstance(kind, Mapping) and kind.get("type") in ("list", "array"):
        kind = kind.get("element", kind.get("elementType"))
    fields = kind.get("fields") if isinstance(kind, Mapping) else None
    return fields or ()


def _format_type(kind: Any) -> str:
    """Return a type as SQL text, such as `array<struct<x: int>>`."""
    if not isinstance(kind, Mapping):
        return str(kind)
    match kind.get("type"):
        case "struct":
            inner = (
                f"{struct_field['name']}: {_format_type(struct_field['type'])}"
                for struct_field in kind.get("fields") or ()
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


def _lake_text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.10g}"
    return value.isoformat() if isinstance(value, date | datetime) else str(value)[:200]


def _lake_error(error: Exception) -> str:
    """Return the message of a library's error on one line, at most 300 characters, without links to
    its documentation."""
    message = " ".join(_PYDANTIC.sub("", str(error)).split())
    return message[:300] or type(error).__name__


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
        raise InvalidFile(f"its Iceberg metadata cannot be read: {_lake_error(error)}") from error
    schema, spec = metadata.schema(), metadata.spec()
    columns = list(_lake_columns(orjson.loads(schema.model_dump_json())["fields"]))
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
    keys = {
        partition_field.source_id: str(partition_field.transform) for partition_field in spec.fields
    }
    names = {schema_field.field_id: schema_field.name for schema_field in schema.fields}
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
            reason = f"no statistics: its manifests cannot be read: {_lake_error(error)}"
    statistics = _Statistics(options, [file.record_count for file in files])
    for column in columns if files and rows is not None else ():
        _add_bounds(statistics, column, schema, files)
    identity = [names[source] for source in keys if names.get(source) in partitioned_by]
    table = _lake_definition(
        path,
        "iceberg",
        [_mark_key(column, identity) for column in columns],
        partitioned_by,
        description=read_text(metadata.properties.get("comment")),
        files=_number(summary, "total-data-files") if snapshot else 0,
        partitions=len({tuple(file.partition) for file in files}) if files and keys else None,
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
        schema_field = schema.find_field(column.path)
    except ValueError:
        # A field of a struct in a list: pyiceberg has `element` in its path.
        return
    if not isinstance(schema_field.field_type, PrimitiveType):
        return
    number = schema_field.field_id

    def bound(bounds_by_id: Mapping[int, bytes] | None) -> Any:
        text = (bounds_by_id or {}).get(number)
        try:
            return None if text is None else from_bytes(schema_field.field_type, text)
        except (ValueError, OverflowError):
            return None

    nulls = [(file.null_value_counts or {}).get(number) for file in files]
    bounds = [
        [bound(getattr(file, name)) for file in files] for name in ("lower_bounds", "upper_bounds")
    ]
    low, high = ([_readable(value, column) for value in values] for values in bounds)
    statistics.add(column, nulls, low, high)


def _readable(value: Any, column: ColumnDefinition) -> Any:
    """Return a bound of a date or timestamp column, which is stored as a number since 1970, as a
    date or datetime; other values are returned unchanged."""
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

    class LocalInput:
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

        def new_input(self, location: str) -> LocalInput:
            return LocalInput(location)

    files, snapshot = Files(), metadata.current_snapshot()
    assert snapshot is not None  # noqa: S101 - the caller has looked
    return [
        entry.data_file
        for manifest in snapshot.manifests(files)
        for entry in manifest.fetch_manifest_entry(files)
        if entry.data_file.content == DataFileContent.DATA
    ]
