"""Read DuckDB files through DuckDB's own metadata functions, and tables in memory.

SQLAlchemy's dialect for DuckDB is not used, because it queries tables of PostgreSQL that DuckDB
lacks, and supports neither nested types nor comments.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self, cast

from explorer.errors import InUse, InvalidInput, MissingExtra
from explorer.sources.profile import MOST_ROWS, Profiler, Sample, limit_time
from explorer.sources.source import (
    ColumnDefinition,
    DatasetWriter,
    ForeignKeyDefinition,
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
from explorer.sources.sql_lineage import add_tables

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection, DuckDBPyRelation
    from duckdb.sqltypes import DuckDBPyType

_KINDS: Final = {
    **dict.fromkeys(("tinyint", "smallint", "integer", "bigint", "hugeint"), "Number"),
    **dict.fromkeys(("utinyint", "usmallint", "uinteger", "ubigint", "uhugeint"), "Number"),
    **dict.fromkeys(("float", "double", "decimal", "bignum", "varint"), "Number"),
    **dict.fromkeys(("varchar", "uuid", "json"), "String"),
    **dict.fromkeys(("blob", "bit"), "Bytes"),
    **dict.fromkeys(("list", "array"), "Array"),
    **dict.fromkeys(("struct", "variant"), "Record"),
    "boolean": "Boolean",
    "date": "Date",
    "enum": "Enum",
    "map": "Map",
    "union": "Union",
    "interval": "Time",
}
_DEEPEST: Final = 20
# DuckDB's message if this program has the file open in another mode.
_OTHER_CONFIGURATION: Final = "different configuration"


def import_duckdb(what: str) -> Any:
    """Return the `duckdb` module. Raises `MissingExtra` if it is not installed; the message says
    that `what` needs it."""
    try:
        import duckdb
    except ModuleNotFoundError as error:
        if error.name != "duckdb":
            raise
        raise MissingExtra(f"{what} needs duckdb", "sources") from None
    return duckdb


def columns_of(
    name: str, kind: "DuckDBPyType", *, is_nullable: bool = True, description: str | None = None
) -> Iterator[ColumnDefinition]:
    """Yield a column, followed by the fields of its structs with dotted paths."""
    yield ColumnDefinition(name, str(kind), _model_type(kind), is_nullable, description)
    yield from _nest(name, kind, 0)


def _nest(path: str, kind: "DuckDBPyType", depth: int) -> Iterator[ColumnDefinition]:
    if depth >= _DEEPEST:
        return
    if kind.id in ("list", "array"):
        # The fields of elements are listed below the list itself.
        yield from _nest(path, _children(kind)[0][1], depth + 1)
    elif kind.id == "struct":
        for field, inner in _children(kind):
            yield ColumnDefinition(
                f"{path}.{field}", str(inner), _model_type(inner), is_nested=True
            )
            yield from _nest(f"{path}.{field}", inner, depth + 1)


def _children(kind: "DuckDBPyType") -> "list[tuple[str, DuckDBPyType]]":
    return cast("list[tuple[str, DuckDBPyType]]", kind.children)


def _model_type(kind: "DuckDBPyType") -> str:
    name = str(kind.id)
    if name.startswith(("time", "timestamp")):
        return "Time"
    return _KINDS.get(name, "Null")


@dataclass(frozen=True, slots=True)
class DuckDbFile(Source):
    """A source of the tables and views in a DuckDB file, which is opened read-only."""

    path: Path
    options: SourceOptions
    kind: str = "duckdb"

    @classmethod
    def open(cls, location: Location, options: SourceOptions, password: str | None) -> Self | None:
        """Return the source of a DuckDB file. Raises `MissingExtra` without duckdb."""
        del password
        if location.path is None or not _is_duckdb(location):
            return None
        import_duckdb("reading DuckDB files")
        return cls(location.path, options)

    @classmethod
    def find(cls, file: Location, folder: Path) -> LocalSource | None:
        """Return a DuckDB file as a source to offer."""
        del folder
        return LocalSource(file.text, "a DuckDB database") if _is_duckdb(file) else None

    @property
    def location(self) -> str:
        """The absolute path of the file."""
        return str(self.path.resolve())

    @property
    def default_name(self) -> str:
        """The file's name without its suffix."""
        return self.path.stem

    def read(self, progress: Progress) -> Inventory:
        """Return the schemas, tables and views with their columns, comments, keys and row counts.

        Raises `InvalidInput` if the file is missing, damaged or of another version, `InUse` if
        another process has locked it, and `MissingExtra` without duckdb.
        """
        with self._connect() as connection:
            return _read_database(connection, self.options, progress)

    @contextmanager
    def _connect(self) -> "Iterator[DuckDBPyConnection]":
        duckdb = import_duckdb("reading DuckDB files")
        if not self.path.is_file():
            raise InvalidInput(f"there is no file {self.path}")
        try:
            with self._open() as connection:
                yield connection
        except duckdb.Error as error:
            reason = " ".join(str(error).split())
            if "could not set lock" in reason.lower():
                raise InUse(
                    f"{self.path} is written to by another process; try again when it has ended: "
                    f"{reason}"
                ) from error
            if _OTHER_CONFIGURATION in reason:
                raise InUse(
                    f"{self.path} is open in this program with settings of its own: add that "
                    "connection, as cat.add(connection)"
                ) from error
            raise InvalidInput(
                f"{self.path} cannot be read: {reason}; restore it from a copy, or install the "
                "version of duckdb that wrote it"
            ) from error

    def _open(self) -> "DuckDBPyConnection":
        """Open the file read-only or, if this program has it open already, in the mode in which it
        is open."""
        import duckdb

        try:
            return duckdb.connect(str(self.path), read_only=True)
        except duckdb.ConnectionException as error:
            if _OTHER_CONFIGURATION not in str(error):
                raise
            return duckdb.connect(str(self.path))


@dataclass(frozen=True, slots=True)
class DuckDbConnection(Source):
    """A source of the tables and views in the database of an open connection, which stays open and
    unchanged. `name` is given for a database in memory, `path` for one in a file."""

    connection: "DuckDBPyConnection"
    options: SourceOptions
    name: str
    path: Path | None = None
    kind: str = "duckdb"

    @classmethod
    def of(
        cls, connection: "DuckDBPyConnection", name: str | None, options: SourceOptions
    ) -> "DuckDbConnection":
        """Return the source of a connection. Raises `InvalidInput` if it is closed, or to a
        database in memory without a name."""
        import duckdb

        query = "select path from duckdb_databases() where database_name = current_database()"
        try:
            ((path,),) = connection.cursor().execute(query).fetchall()
        except duckdb.Error as error:
            raise InvalidInput(f"the connection cannot be read: {error}") from error
        if path:
            return cls(connection, options, Path(path).stem, Path(path))
        if name is None:
            raise InvalidInput(
                "a connection to a database in memory needs a name: cat.add(…, name='scratch')"
            )
        return cls(connection, options, name)

    @property
    def location(self) -> str:
        """The path of the file, which later runs open, or `memory:` and the name."""
        return str(self.path.resolve()) if self.path else f"{IN_MEMORY}{self.name}"

    @property
    def default_name(self) -> str:
        """The given name, or the file's name without its suffix."""
        return self.name

    def read(self, progress: Progress) -> Inventory:
        """Return the inventory of the database; see `DuckDbFile.read`. Raises `InvalidInput` if the
        connection is closed."""
        duckdb = import_duckdb("reading a connection")
        database = None if self.path else self.name
        try:
            # A cursor does not discard the pending result of the connection.
            with self.connection.cursor() as cursor:
                return _read_database(cursor, self.options, progress, database)
        except duckdb.Error as error:
            raise InvalidInput(f"the connection cannot be read: {error}") from error


def _read_database(
    connection: "DuckDBPyConnection",
    options: SourceOptions,
    progress: Progress,
    name: str | None = None,
) -> Inventory:
    """Return the inventory of a connection's current database, under `name` if it is given."""
    writer = DatasetWriter("duckdb", options)
    database = name or str(connection.execute("select current_database()").fetchall()[0][0])
    patterns = options.schemas
    schemas = connection.execute(
        "select schema_name, comment from duckdb_schemas()"
        " where database_name = current_database()"
        " and schema_name not in ('information_schema', 'pg_catalog') order by 1"
    ).fetchall()
    schemas_to_read = [
        (schema, comment)
        for schema, comment in schemas
        if not patterns or any(fnmatchcase(schema, pattern) for pattern in patterns)
    ]
    for schema, comment in schemas_to_read:
        writer.add_container((database,))
        writer.add_container((database, schema), read_text(comment))
    names = {schema for schema, _ in schemas_to_read}
    tables = [
        table
        for table in _tables(connection, database, writer.inventory.skipped)
        if table.path[1] in names
    ]
    profiler = Profiler(options, writer.inventory)
    for done, table in enumerate(tables, start=1):
        try:
            with limit_time(connection.interrupt):
                profiler.profile(table, _sample(connection, table))
        except import_duckdb("profiling").Error as error:
            reason = f"not profiled: {' '.join(str(error).split())}"
            writer.inventory.skipped.append(SkippedPart(".".join(table.path), reason))
        progress("tables", done, len(tables))
    attached = connection.execute(
        "select database_name from duckdb_databases()"
        " where not internal and database_name <> current_database() order by 1"
    ).fetchall()
    for (attached_name,) in attached:
        reason = "it is attached to the connection: add it on its own"
        writer.inventory.skipped.append(SkippedPart(attached_name, reason))
    add_tables(writer, tables, "duckdb")
    return writer.inventory


def _is_duckdb(file: Location) -> bool:
    # The magic bytes follow a checksum of eight bytes.
    return file.start[8:12] == b"DUCK"


def _sample(connection: "DuckDBPyConnection", table: TableDefinition) -> Sample:
    return lambda names: sample_rows(
        connection, ".".join(map(quote_name, table.path[1:])), names, table.row_count
    )


def quote_name(name: str) -> str:
    """Return a name in double quotes, as an identifier in DuckDB's SQL."""
    return '"' + name.replace('"', '""') + '"'


def sample_rows(
    connection: "DuckDBPyConnection",
    relation: str,
    names: Sequence[str],
    row_count: int | None,
    values: Sequence[Any] = (),
) -> Iterator[Sequence[Any]]:
    """Yield rows of a relation, at most one more than the profiler reads. If `row_count` is more
    than twice that number, the rows are a random sample, the same each time."""
    part = ""
    if row_count is not None and row_count > 2 * MOST_ROWS:
        share = 120 * MOST_ROWS / row_count
        part = f" using sample {share:.4f} percent (bernoulli, 42)"
    selection = ", ".join(map(quote_name, names))
    query = f"select {selection} from {relation}{part} limit {MOST_ROWS + 1}"
    cursor = connection.execute(query, list(values))
    while rows := cursor.fetchmany(_FETCHED):
        yield from rows


_FETCHED: Final = 5_000


@dataclass(frozen=True, slots=True)
class InMemoryTable(Source):
    """A source of one table in the memory of a program: a relation of DuckDB, or one that DuckDB
    creates from a data frame. `kind` is the name of its platform."""

    name: str
    relation: "DuckDBPyRelation"
    options: SourceOptions
    kind: str = "duckdb"
    row_count: int | None = None

    @property
    def location(self) -> str:
        """`memory:` and the table's name. The source cannot be opened again from it."""
        return f"{IN_MEMORY}{self.name}"

    @property
    def default_name(self) -> str:
        """The table's name."""
        return self.name

    def read(self, progress: Progress) -> Inventory:
        """Return the table with its columns. Its rows are read only for column profiles."""
        writer = DatasetWriter(self.kind, self.options, ())
        listed = zip(self.relation.columns, self.relation.types, strict=True)
        columns = [column for name, kind in listed for column in columns_of(name, kind)]
        table = TableDefinition((self.name,), "Table", columns, row_count=self.row_count)
        Profiler(self.options, writer.inventory).profile(table, self._rows)
        writer.add(table)
        progress("tables", 1, 1)
        return writer.inventory

    def _rows(self, names: Sequence[str]) -> Iterator[Sequence[Any]]:
        relation: Any = self.relation
        chosen = relation.project(", ".join(map(quote_name, names))).limit(MOST_ROWS + 1)
        yield from chosen.fetchall()


IN_MEMORY: Final = "memory:"
"""The prefix of the locations of tables in memory."""

_Key = tuple[str, str]


def _tables(
    connection: "DuckDBPyConnection", database: str, skipped: list[SkippedPart]
) -> list[TableDefinition]:
    """Return the tables and views, ordered by schema and name. Makes four queries, whatever the
    number of tables."""
    duckdb = import_duckdb("reading DuckDB files")

    def rows(query: str) -> list[Any]:
        return list(connection.execute(query).fetchall())

    condition = "where database_name = current_database()"
    definitions: dict[_Key, TableDefinition] = {}
    for schema, name, comment, count in rows(
        f"select schema_name, table_name, comment, estimated_size from duckdb_tables() {condition}"
        " and not internal and not temporary"
    ):
        path = (database, schema, name)
        definitions[schema, name] = TableDefinition(
            path, description=read_text(comment), row_count=int(count)
        )
    for schema, name, comment, sql in rows(
        f"select schema_name, view_name, comment, sql from duckdb_views() {condition}"
        " and not internal and not temporary"
    ):
        definitions[schema, name] = TableDefinition(
            (database, schema, name),
            "View",
            description=read_text(comment),
            definition=read_text(sql),
        )
    columns: defaultdict[_Key, list[ColumnDefinition]] = defaultdict(list)
    for schema, table, name, comment, is_nullable, native_type in rows(
        "select schema_name, table_name, column_name, comment, is_nullable, data_type"
        f" from duckdb_columns() {condition} and not internal order by table_oid, column_index"
    ):
        try:
            kind = duckdb.sqltype(native_type)
        except duckdb.Error:
            # The type is a named enum.
            columns[schema, table].append(
                ColumnDefinition(name, native_type, "Enum", bool(is_nullable), read_text(comment))
            )
            continue
        columns[schema, table] += columns_of(
            name, kind, is_nullable=bool(is_nullable), description=read_text(comment)
        )
    for key, table in definitions.items():
        table.columns = columns[key]
        if table.definition and not columns[key]:
            # DuckDB lists no columns for a view whose tables no longer exist.
            table.columns = None
            skipped.append(SkippedPart(".".join(table.path), "its columns cannot be read"))
    _add_keys(definitions, rows, condition)
    return [definitions[key] for key in sorted(definitions)]


def _add_keys(tables: Mapping[_Key, TableDefinition], rows: Any, condition: str) -> None:
    for schema, name, kind, key_columns, referenced_name, referenced_columns, label, text in rows(
        "select schema_name, table_name, constraint_type, constraint_column_names,"
        " referenced_table, referenced_column_names, constraint_name, expression"
        f" from duckdb_constraints() {condition} order by table_oid, constraint_index"
    ):
        table = tables.get((schema, name))
        if table is None:
            continue
        if kind == "CHECK":
            table.properties = {**table.properties, f"check.{label}": text}
        elif kind == "PRIMARY KEY":
            table.primary_key = tuple(key_columns)
        elif kind == "FOREIGN KEY":
            # DuckDB has no foreign keys across schemas.
            referenced_path = (*table.path[:-1], referenced_name)
            key = ForeignKeyDefinition(
                label, tuple(key_columns), referenced_path, tuple(referenced_columns)
            )
            table.foreign_keys = (*table.foreign_keys, key)
