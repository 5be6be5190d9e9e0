"""A database, read through SQLAlchemy's inspector."""

import os
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from explorer.config.servers import forget_in_keyring, keep_in_keyring, read_from_keyring
from explorer.errors import CatalogError, InvalidInput, MissingExtra, Unreachable
from explorer.sources.profile import MOST_ROWS, SCALARS, Profiler, Sample, limit_time
from explorer.sources.source import (
    DATABASE,
    SCHEMA,
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
    WrongPassword,
    open_value,
    read_text,
)
from explorer.sources.sql_lineage import add_tables

if TYPE_CHECKING:
    from sqlalchemy import URL, Connection, Engine, Inspector
    from sqlalchemy.engine.interfaces import ReflectedColumn, TableKey
    from sqlalchemy.types import TypeEngine

PASSWORD_VARIABLE: Final = "CATALOG_SOURCE_PASSWORD"  # noqa: S105
"""The environment variable with the password of a database whose URL has none."""


_IN_KEYRING: Final = ("passwords", f"{PASSWORD_VARIABLE} or ${{NAME}} in the address")


# DataHub's platforms by SQLAlchemy's names of databases.
_PLATFORMS: Final = {
    "postgresql": "postgres",
    "awsathena": "athena",
    "cockroachdb": "cockroachdb",
    "db2": "db2",
    "ibm_db_sa": "db2",
    "teradatasql": "teradata",
}
# Databases whose schemas are databases, which have one level of containers.
_TWO_LEVELS: Final = frozenset({"mysql", "mariadb", "clickhouse", "hive", "sqlite", "teradatasql"})
_SYSTEM_SCHEMAS: Final = {
    "postgresql": ("information_schema", "pg_*"),
    "mysql": ("information_schema", "performance_schema", "mysql", "sys"),
    "mssql": ("INFORMATION_SCHEMA", "sys", "guest", "db_*"),
    "snowflake": ("INFORMATION_SCHEMA", "information_schema"),
    "trino": ("information_schema",),
    "clickhouse": ("INFORMATION_SCHEMA", "information_schema", "system"),
}
_CURRENT_DATABASE: Final = {
    "postgresql": "select current_database()",
    "mssql": "select db_name()",
    "snowflake": "select current_database()",
    "redshift": "select current_database()",
}
# Queries for the native types by schema, table and column. SQLAlchemy's reflection loses the names
# of types that it does not know.
_NATIVE_TYPES: Final = {
    "sqlite": (
        "select 'main', m.name, c.name, c.type from sqlite_master m, pragma_table_xinfo(m.name) c"
        " where m.type = 'table'"
    ),
    "postgresql": (
        "select n.nspname, t.relname, a.attname, format_type(a.atttypid, a.atttypmod)"
        " from pg_attribute a join pg_class t on t.oid = a.attrelid"
        " join pg_namespace n on n.oid = t.relnamespace"
        " where a.attnum > 0 and not a.attisdropped and t.relkind in ('r','p','v','m','f')"
        " and n.nspname not like 'pg\\_%' and n.nspname <> 'information_schema'"
    ),
}
# Queries for the number of rows and bytes by schema and table, from the database's statistics.
_STATISTICS: Final = {
    "postgresql": (
        "select n.nspname, t.relname, case when t.reltuples >= 0 then t.reltuples::bigint end,"
        " pg_total_relation_size(t.oid) from pg_class t join pg_namespace n on n.oid ="
        " t.relnamespace where t.relkind in ('r','m') and n.nspname not like 'pg\\_%'"
        " and n.nspname <> 'information_schema'"
    ),
    "mysql": (
        "select table_schema, table_name, table_rows, data_length + index_length"
        " from information_schema.tables where table_type = 'BASE TABLE'"
    ),
}
# Queries for what else is known of tables, by schema and table: a partition is told by its parent.
_PARTITIONED: Final = {
    "postgresql": (
        "select n.nspname, t.relname, t.relispartition, rn.nspname,"
        " case when t.relkind = 'p' then pg_get_partkeydef(t.oid) end,"
        " l.number, l.row_count, l.size,"
        " (select array_agg(a.attname::text) from pg_attribute a where a.attrelid = t.oid"
        " and a.attnum = any (k.partattrs)), s.srvname, f.ftoptions"
        " from pg_class t join pg_namespace n on n.oid = t.relnamespace"
        " left join pg_class r on r.oid = pg_partition_root(t.oid)"
        " left join lateral (select count(*) as number, sum(pg_total_relation_size(c.oid))::bigint"
        " as size, case when min(c.reltuples) >= 0 then sum(c.reltuples)::bigint end as row_count"
        " from pg_partition_tree(t.oid) p join pg_class c on c.oid = p.relid"
        " where p.isleaf and t.relkind = 'p') l on true"
        " left join pg_namespace rn on rn.oid = r.relnamespace"
        " left join pg_partitioned_table k on k.partrelid = t.oid"
        " left join pg_foreign_table f on f.ftrelid = t.oid"
        " left join pg_foreign_server s on s.oid = f.ftserver"
        " where t.relkind in ('r', 'p', 'f') and (t.relispartition or t.relkind <> 'r')"
        " and n.nspname not like 'pg\\_%' and n.nspname <> 'information_schema'"
    ),
}
_MOST_VALUES: Final = 100
# The rows of all tables are counted in an SQLite file of at most this size.
_COUNTED_BYTES: Final = 256 << 20
_REFUSED: Final = re.compile(
    r"password|authentication|access denied|login failed|not authorized|invalid credentials",
    re.IGNORECASE,
)
_VARIABLE: Final = re.compile(r"\$\{(\w+)\}")
_SECONDS: Final = 15
_SQLITE: Final = b"SQLite format 3\0"


def open_engine(engine: "Engine", options: SourceOptions) -> "Database":
    """Return the source of the database that an engine of SQLAlchemy connects to."""
    database, file = engine.url.database or "", None
    if engine.dialect.name == "sqlite":
        path = database.removeprefix("file:").partition("?")[0]
        file = Path("memory") if path in ("", ":memory:") else Path(path).resolve()
    location = engine.url.render_as_string(hide_password=False)
    return Database(location, options, file=file, engine=engine)


class Database(Source):
    """A source that reads the tables and views of a database.

    `location` is an SQLAlchemy URL, in which `${NAME}` stands for an environment variable. A
    password in it is used but not shown. `password` was entered at a prompt; `file` is the path of
    an SQLite file. A given `engine` is used as it is and not disposed of.
    """

    def __init__(
        self,
        location: str,
        options: SourceOptions,
        password: str | None = None,
        *,
        file: Path | None = None,
        engine: "Engine | None" = None,
    ) -> None:
        self._sqlalchemy = _import_sqlalchemy()
        self._options = options
        self._file = file or Path()
        self._given = engine
        self._written = self._parse(location)
        self._url = self._parse(_VARIABLE.sub(_variable, location))
        password = password or (None if self._url.password else self._find_password())
        if password and self._dialect != "sqlite":
            self._url = self._url.set(password=password)

    @classmethod
    def open(
        cls, location: Location, options: SourceOptions, password: str | None
    ) -> "Database | None":
        """Return the source of an SQLite file, which is opened read-only, or of the database at any
        URL."""
        if location.start.startswith(_SQLITE) and location.path is not None:
            return Database("sqlite://", options, file=location.path.resolve())
        return Database(location.text, options, password) if location.scheme else None

    @classmethod
    def find(cls, file: Location, folder: Path) -> LocalSource | None:
        """Offer SQLite files."""
        del folder
        is_sqlite = file.start.startswith(_SQLITE)
        return LocalSource(file.text, "an SQLite database") if is_sqlite else None

    def _find_password(self) -> str | None:
        if self._dialect == "sqlite":
            return None
        password = os.environ.get(PASSWORD_VARIABLE) or None
        if password is None and self._options.keyring:
            password = read_from_keyring(self._account, _IN_KEYRING)
        return password

    @property
    def _account(self) -> str:
        """The name of the password's entry in the keyring, which depends on the location."""
        return f"source {self.location}"

    def keep_password(self) -> bool:
        """Store the password in the keyring if the options ask for it; return whether a password
        was stored. Raises as `read_from_keyring` does."""
        if not self._options.keyring or not self._url.password:
            return False
        keep_in_keyring(self._account, str(self._url.password), _IN_KEYRING)
        return True

    def forget_password(self) -> None:
        """Remove the password from the keyring if the options say that it is stored there."""
        if self._options.keyring:
            forget_in_keyring(self._account, _IN_KEYRING)

    @property
    def needs_password(self) -> bool:
        """Whether the database needs a sign-in; an SQLite file does not."""
        return self._dialect != "sqlite"

    @property
    def has_password(self) -> bool:
        """Whether a password is known, from the URL, the environment, the keyring or a prompt."""
        return bool(self._url.password)

    @property
    def kind(self) -> str:
        """DataHub's name for the platform."""
        return _PLATFORMS.get(self._dialect, self._dialect)

    @property
    def location(self) -> str:
        """The URL without secrets; a password given as `${NAME}` stays. For SQLite, the file's
        path."""
        if self._dialect == "sqlite":
            return str(self._file)
        url = self._written
        if url.password and not _VARIABLE.fullmatch(str(url.password)):
            url = self._sqlalchemy.URL.create(
                url.drivername, url.username, None, url.host, url.port, url.database, url.query
            )
        open_query: dict[str, tuple[str, ...]] = {}
        for name, value in url.query.items():
            values = (value,) if isinstance(value, str) else value
            texts = tuple(
                open_text for text in values if (open_text := open_value(name, text)) is not None
            )
            open_query |= {name: texts} if texts else {}
        location: str = url.set(query=open_query).render_as_string(hide_password=False)
        # References to variables are not secret and stay readable.
        return location.replace("%24%7B", "${").replace("%7D", "}")

    @property
    def contains_secret(self) -> bool:
        """Whether the given URL contains a secret that `location` leaves out."""
        return self._dialect != "sqlite" and self._parse(self.location) != self._written

    @property
    def default_name(self) -> str:
        """The database's name or, for a file, its name without the extension."""
        if self._dialect == "sqlite":
            return self._file.stem
        return (self._url.database or self._url.host or self.kind).rpartition("/")[2]

    @property
    def _dialect(self) -> str:
        return str(self._url.get_backend_name())

    def _parse(self, location: str) -> "URL":
        try:
            url: URL = self._sqlalchemy.make_url(location)
        except self._sqlalchemy.exc.ArgumentError:
            scheme = location.partition("://")[0]
            raise InvalidInput(
                f"the address of the {scheme} database cannot be read; it is written as "
                f"{scheme}://user@host:port/database"
            ) from None
        if "@" in (url.host or ""):
            # With two @, the text before the first is only a part of the password.
            raise InvalidInput(
                f"the address of the {url.drivername} database has two @: write the one in the "
                "user's name or password as %40"
            )
        return url

    def read(self, progress: Progress) -> Inventory:
        """Return the schemas, tables and views with their columns and keys.

        Raises `WrongPassword`, `Unreachable`, `MissingExtra` without SQLAlchemy, and `InvalidInput`
        if the driver is not installed or the database cannot be read.
        """
        with self._connect() as connection:
            return _Reader(connection, self.kind, self._options, self._file).read(progress)

    @contextmanager
    def _connect(self) -> "Iterator[Connection]":
        errors = self._sqlalchemy.exc
        engine = self._engine()
        try:
            with warnings.catch_warnings():
                # The warnings are about types that SQLAlchemy does not know.
                warnings.simplefilter("ignore", errors.SAWarning)
                with engine.connect() as connection:
                    yield connection
        except errors.OperationalError as error:
            raise self._failure(error) from error
        except (errors.SQLAlchemyError, NotImplementedError) as error:
            if self._dialect == "sqlite":
                raise self._failure(error) from error
            raise InvalidInput(f"{self.location} cannot be read: {_reason(error)}") from error
        finally:
            if self._given is None:
                engine.dispose()

    def _engine(self) -> "Engine":
        if self._given is not None:
            return self._given
        errors = self._sqlalchemy.exc
        url, arguments = self._url, {}
        if self._dialect == "sqlite":
            if not self._file.is_file():
                raise InvalidInput(f"there is no file {self._file}")
            url = url.set(
                database=f"file:{_quote(self._file)}", query={"mode": "ro", "uri": "true"}
            )
        elif self._dialect in ("postgresql", "mysql", "mariadb"):
            arguments = {"connect_timeout": _SECONDS}
        try:
            engine: Engine = self._sqlalchemy.create_engine(url, connect_args=arguments)
        except errors.NoSuchModuleError:
            raise InvalidInput(
                f"SQLAlchemy knows no database {url.drivername!r}: install the package that brings "
                f"it, such as {_DRIVERS.get(url.get_backend_name(), 'its SQLAlchemy dialect')}"
            ) from None
        except ModuleNotFoundError as error:
            package = _DRIVERS.get(self._dialect, error.name or "its driver")
            raise InvalidInput(
                f"the driver {error.name} for {self._dialect} is not installed: pip install "
                f"'{package}'{self._other_driver(package)}"
            ) from None
        return engine

    def _other_driver(self, package: str) -> str:
        """Return advice to use the recommended driver by naming it in the URL; empty if the URL
        does so, or if that driver is SQLAlchemy's default."""
        scheme = {"psycopg[binary]": "postgresql+psycopg", "pymysql": "mysql+pymysql"}.get(package)
        default = self._sqlalchemy.make_url(f"{self._dialect}://").get_dialect()
        if scheme is None or self._url.drivername == scheme or default.driver in scheme:
            return ""
        return f", and write the address as {scheme}://…"

    def _failure(self, error: Exception) -> CatalogError:
        reason = _reason(error)
        if self._dialect == "sqlite":
            todo = ""
            if "locked" in reason:
                todo = "; try again when the program that writes to it has finished"
            elif "not a database" in reason or "malformed" in reason:
                todo = "; it is damaged: restore it from a copy"
            return InvalidInput(f"{self._file} cannot be read: {reason}{todo}")
        if _REFUSED.search(reason):
            return WrongPassword(
                f"{self.location} refuses the sign-in: {reason}. Set {PASSWORD_VARIABLE}, or give "
                "the name of a variable in the address: user:${NAME}@host"
            )
        return Unreachable(
            f"{self.location} cannot be reached: {reason}. Nothing was written: check the host, "
            "the port and the database's name, and try again"
        )


_DRIVERS: Final = {
    "postgresql": "psycopg[binary]",
    "mysql": "pymysql",
    "mariadb": "pymysql",
    "mssql": "pyodbc",
    "oracle": "oracledb",
    "snowflake": "snowflake-sqlalchemy",
    "bigquery": "sqlalchemy-bigquery",
    "redshift": "sqlalchemy-redshift",
    "trino": "trino[sqlalchemy]",
    "databricks": "databricks-sqlalchemy",
    "clickhouse": "clickhouse-sqlalchemy",
}


def _import_sqlalchemy() -> Any:
    try:
        import sqlalchemy
    except ModuleNotFoundError as error:
        if error.name != "sqlalchemy":
            raise
        raise MissingExtra("reading databases needs SQLAlchemy", "sources") from None
    return sqlalchemy


def _variable(reference: re.Match[str]) -> str:
    value = os.environ.get(reference[1])
    if value is None:
        raise InvalidInput(f"the address names the variable {reference[1]}, which is not set")
    from urllib.parse import quote_plus

    return quote_plus(value)


def _quote(path: Path) -> str:
    from urllib.parse import quote

    return quote(str(path))


def _reason(error: Exception) -> str:
    """Return the message of the driver on one line."""
    # It is followed by the statement, with a mark at the position of the error.
    own = str(getattr(error, "orig", None) or error).partition("\nLINE ")[0]
    return " ".join(own.split()).rstrip(".?") or type(error).__name__


@dataclass(frozen=True, slots=True)
class _Storage:
    """How the rows of a table are stored: in partitions, by the partition `keys`, or on another
    server. `is_partition` is set for a partition of a table in the schema `root`. The numbers of
    rows and bytes include all partitions."""

    is_partition: bool
    root: str | None
    keys: frozenset[str]
    properties: Mapping[str, str]
    row_count: int | None
    size_bytes: int | None


@dataclass(slots=True)
class _Reader:
    """Reads one database over a connection."""

    connection: "Connection"
    platform: str
    options: SourceOptions
    file: Path

    @property
    def dialect(self) -> str:
        return self.connection.dialect.name

    def read(self, progress: Progress) -> Inventory:
        from sqlalchemy import inspect

        is_two_levels = self.dialect in _TWO_LEVELS
        levels = (DATABASE,) if is_two_levels else (DATABASE, SCHEMA)
        writer = DatasetWriter(self.platform, self.options, levels)
        inspector = inspect(self.connection)
        above = () if is_two_levels else (self._database(),)
        native = self._native_types()
        storage = self._storage()
        statistics = self._statistics()
        tables: list[TableDefinition] = []
        done = 0
        failures: list[Exception] = []
        for schema, path in self._schemas(inspector, above):
            if path not in ((), above):
                writer.add_container(path)
            skipped = writer.inventory.skipped
            try:
                names = self._names(inspector, schema, storage)
            except self._errors() as error:
                self._undo(error)
                failures.append(error)
                prefix = writer.prefix(path)
                skipped.append(SkippedPart(".".join(path), _reason(error), prefix))
                continue
            progress("tables", done, done + len(names))
            for table in self._tables(inspector, schema, path, names, native, skipped):
                table.row_count, table.size_bytes = statistics(schema, table)
                self._add_storage(table, storage.get((schema or "", table.path[-1])))
                tables.append(table)
                done += 1
                progress("tables", done, done + len(names))
        if failures and not tables:
            # No schema can be read, so the error concerns the database.
            raise failures[0]
        self._profile(tables, writer.inventory, progress)
        add_tables(writer, tables, self.dialect)
        return writer.inventory

    def _profile(
        self, tables: Sequence[TableDefinition], inventory: Inventory, progress: Progress
    ) -> None:
        if not self.options.profile:
            return
        profiler = Profiler(self.options, inventory)
        driver: Any = self.connection.connection.driver_connection
        method_name = next(
            (method for method in ("interrupt", "cancel") if hasattr(driver, method)), None
        )
        interrupt: Callable[[], Any] = getattr(driver, method_name) if method_name else lambda: None
        for done, table in enumerate(tables, start=1):
            try:
                with limit_time(interrupt):
                    profiler.profile(table, self._sample(table))
            except self._errors() as error:
                self._undo(error)
                reason = f"not profiled: {_reason(error)}"
                if "denied" in reason:
                    reason += "; grant the user the right to select from it, or leave it out"
                inventory.skipped.append(SkippedPart(".".join(table.path), reason))
            progress("profiles", done, len(tables))

    def _sample(self, table: TableDefinition) -> Sample:
        """Return a function that yields rows of a table. Of a large table it yields the first rows,
        in PostgreSQL a random sample."""
        from sqlalchemy import Column as Selected
        from sqlalchemy import MetaData, Table, case, func, literal_column, select

        schema = None if self.dialect == "sqlite" else table.path[-2]
        rows = table.row_count or 0
        scalars = {column.path for column in table.columns or () if column.kind in SCALARS}

        def read(names: Sequence[str]) -> Iterator[Sequence[Any]]:
            source: Any = Table(
                table.path[-1], MetaData(), *(Selected(name) for name in names), schema=schema
            )
            if rows > 2 * MOST_ROWS and self.dialect == "postgresql":
                source = source.tablesample(
                    func.system(min(100, 120 * MOST_ROWS / rows)), seed=literal_column("42")
                )
            # Documents, lists and bytes can be large, so only whether they are null is read.
            selected = (
                column
                if column.name in scalars
                else case((column.is_not(None), 1)).label(column.name)
                for column in source.c
            )
            query = select(*selected).limit(MOST_ROWS + 1)
            streamed = self.connection.execution_options(stream_results=True, max_row_buffer=5_000)
            with streamed.execute(query) as result:
                for row in result:
                    yield tuple(row)

        return read

    def _errors(self) -> tuple[type[Exception], ...]:
        """Return the types of the errors raised if a part of the database cannot be read."""
        from sqlalchemy import exc

        return exc.SQLAlchemyError, NotImplementedError

    def _undo(self, error: Exception) -> None:
        """Roll back the transaction, which an error has made unusable. Raises the error if it has
        closed the connection."""
        if getattr(error, "connection_invalidated", False):
            raise error
        self.connection.rollback()

    def _database(self) -> str:
        query = _CURRENT_DATABASE.get(self.dialect)
        if query is not None:
            scalar = self.connection.exec_driver_sql(query).scalar()
            if scalar:
                return str(scalar)
        database = self.connection.engine.url.database
        return (database or self.connection.engine.url.host or self.platform).partition("/")[0]

    def _schemas(
        self, inspector: "Inspector", above: tuple[str, ...]
    ) -> Iterator[tuple[str | None, tuple[str, ...]]]:
        """Yield the schemas to read, each with the path of its container. System schemas, and those
        that the options do not select, are left out."""
        if self.dialect == "sqlite":
            yield None, (self.file.stem,)
            return
        system = _SYSTEM_SCHEMAS.get(self.dialect, ("information_schema",))
        database = self.connection.engine.url.database if self.dialect in _TWO_LEVELS else None
        for name in inspector.get_schema_names():
            if any(fnmatchcase(name, pattern) for pattern in system) or database not in (
                None,
                name,
            ):
                continue
            if self._is_chosen(name):
                yield name, (*above, name)

    def _is_chosen(self, schema: str) -> bool:
        patterns = self.options.schemas
        return not patterns or any(fnmatchcase(schema, pattern) for pattern in patterns)

    def _names(
        self,
        inspector: "Inspector",
        schema: str | None,
        storage: Mapping[tuple[str, str], _Storage],
    ) -> dict[str, str]:
        """Return the subtypes of the tables and views of a schema, sorted by name. Partitions are a
        part of their table, unless it is not read."""
        hidden = self._shadow_tables()
        subtypes = {
            name: "Table" for name in inspector.get_table_names(schema) if name not in hidden
        }
        # SQLAlchemy has this for PostgreSQL alone.
        foreign_names = getattr(inspector, "get_foreign_table_names", None)
        if foreign_names is not None:
            subtypes |= dict.fromkeys(foreign_names(schema), "Foreign Table")
        subtypes = {
            name: subtype
            for name, subtype in subtypes.items()
            if (stored := storage.get((schema or "", name))) is None
            or not stored.is_partition
            or not self._is_chosen(stored.root or "")
        }
        subtypes |= dict.fromkeys(inspector.get_view_names(schema), "View")
        with suppress(NotImplementedError):
            materialized = inspector.get_materialized_view_names(schema)
            subtypes |= dict.fromkeys(materialized, "Materialized View")
        return dict(sorted(subtypes.items()))

    def _shadow_tables(self) -> frozenset[str]:
        """Return SQLite's shadow tables, which store the content of virtual tables."""
        if self.dialect != "sqlite":
            return frozenset()
        query = "select name from pragma_table_list where type = 'shadow'"
        return frozenset(self.connection.exec_driver_sql(query).scalars())

    def _tables(
        self,
        inspector: "Inspector",
        schema: str | None,
        path: tuple[str, ...],
        names: Mapping[str, str],
        native: Mapping[tuple[str | None, str, str], str],
        skipped: list[SkippedPart],
    ) -> Iterator[TableDefinition]:
        details = _Details(inspector, schema)
        try:
            details.read_all()
        except self._errors() as error:
            # A table cannot be read, so each one is read on its own.
            self._undo(error)
            details.clear()
        for name, subtype in names.items():
            subject = ".".join((*path, name))
            if not details.is_complete:
                try:
                    details.read_one(name)
                except self._errors() as error:
                    self._undo(error)
                    reason = f"its columns cannot be read: {_reason(error)}"
                    skipped.append(SkippedPart(subject, reason))
            columns = details.columns(name)
            table = TableDefinition((*path, name), subtype)
            table.columns = None
            if columns is not None:
                table.columns = [
                    self._column(column, native.get((schema, name, column["name"])))
                    for column in columns
                ]
            table.description = details.comment(name)
            table.primary_key = details.primary_key(name)
            table.foreign_keys = tuple(details.foreign_keys(name, path))
            table.properties = details.properties(name)
            if subtype in ("View", "Materialized View"):
                table.is_materialized = subtype != "View"
                try:
                    definition = inspector.get_view_definition(name, schema)
                    table.definition = read_text(definition)
                except self._errors() as error:
                    self._undo(error)
                    skipped.append(SkippedPart(subject, f"no definition: {_reason(error)}"))
            yield table

    def _column(self, reflected: "ReflectedColumn", native: str | None) -> ColumnDefinition:
        kind = reflected["type"]
        return ColumnDefinition(
            reflected["name"],
            native if native is not None else _native_type(kind, self.connection),
            _model_type(kind),
            bool(reflected.get("nullable", True)),
            read_text(reflected.get("comment")),
        )

    def _native_types(self) -> dict[tuple[str | None, str, str], str]:
        query = _NATIVE_TYPES.get(self.dialect)
        if query is None:
            return {}
        try:
            rows = self.connection.exec_driver_sql(query.replace("%", self._percent)).all()
        except self._errors() as error:
            self._undo(error)
            return {}
        is_named = self.dialect != "sqlite"
        return {
            (schema if is_named else None, table, column): str(kind)
            for schema, table, column, kind in rows
        }

    def _storage(self) -> dict[tuple[str, str], _Storage]:
        """Return the storage of tables that are partitioned, partitions or foreign, by schema and
        name."""
        query = _PARTITIONED.get(self.dialect)
        if query is None:
            return {}
        try:
            rows = self.connection.exec_driver_sql(query.replace("%", self._percent)).all()
        except self._errors() as error:
            self._undo(error)
            return {}
        storage = {}
        for schema, name, is_partition, root, key, count, row_count, size, *more in rows:
            keys, server, options = more
            values = dict(option.partition("=")[::2] for option in options or ())
            remote = [values[part] for part in ("schema_name", "table_name") if part in values]
            properties = {
                "partitioned_by": key,
                "partitions": str(count) if key else None,
                "foreign_server": server,
                "foreign_table": ".".join(remote),
            }
            storage[schema, name] = _Storage(
                is_partition,
                root,
                frozenset(keys or ()),
                {label: text for label, text in properties.items() if text},
                _integer(row_count) if key else None,
                _integer(size) if key else None,
            )
        return storage

    def _add_storage(self, table: TableDefinition, storage: _Storage | None) -> None:
        if storage is None:
            return
        table.properties = {**storage.properties, **table.properties}
        if "partitioned_by" in storage.properties:
            table.row_count, table.size_bytes = storage.row_count, storage.size_bytes
        if table.columns is not None:
            table.columns = [
                replace(column, is_partition_key=column.path in storage.keys)
                for column in table.columns
            ]

    @property
    def _percent(self) -> str:
        """A percent sign as the driver expects it in a statement."""
        return "%%" if self.connection.dialect.paramstyle in ("format", "pyformat") else "%"

    def _statistics(
        self,
    ) -> "Callable[[str | None, TableDefinition], tuple[int | None, int | None]]":
        """Return a function that returns the number of rows and bytes of a table, each `None` if it
        is not known or too expensive to determine."""
        query = _STATISTICS.get("mysql" if self.dialect == "mariadb" else self.dialect)
        if query is not None:
            sizes: dict[tuple[str, str], tuple[int | None, int | None]] = {}
            try:
                rows = self.connection.exec_driver_sql(query.replace("%", self._percent)).all()
                sizes = {(row[0], row[1]): (_integer(row[2]), _integer(row[3])) for row in rows}
            except self._errors() as error:
                self._undo(error)
            return lambda schema, table: sizes.get((schema or "", table.path[-1]), (None, None))
        if (
            self.dialect == "sqlite"
            and self.file.is_file()
            and self.file.stat().st_size <= _COUNTED_BYTES
        ):
            return self._count
        return lambda _schema, _table: (None, None)

    def _count(self, _schema: str | None, table: TableDefinition) -> tuple[int | None, int | None]:
        if table.subtype != "Table":
            return None, None
        name = self.connection.dialect.identifier_preparer.quote_identifier(table.path[-1])
        try:
            return self.connection.exec_driver_sql(f"select count(*) from {name}").scalar(), None
        except self._errors():
            return None, None


def _integer(value: Any) -> int | None:
    return None if value is None else int(value)


class _Details:
    """Columns, keys and comments of the tables of one schema: read with a query or two for all of
    them, or table by table."""

    def __init__(self, inspector: "Inspector", schema: str | None) -> None:
        self._inspector = inspector
        self._schema = schema
        self.clear()

    def clear(self) -> None:
        """Discard everything read so far."""
        self._columns: dict[str, Sequence[ReflectedColumn]] = {}
        self._primary: dict[str, Any] = {}
        self._foreign: dict[str, Any] = {}
        self._comments: dict[str, Any] = {}
        self._checks: dict[str, Any] = {}
        self.is_complete = False

    def read_all(self) -> None:
        """Read all tables. Raises SQLAlchemy's errors if one cannot be read."""
        from sqlalchemy.engine.reflection import ObjectKind

        inspector, schema = self._inspector, self._schema
        self._columns = _by_name(inspector.get_multi_columns(schema, kind=ObjectKind.ANY))
        self._primary = _by_name(inspector.get_multi_pk_constraint(schema))
        self._foreign = _by_name(inspector.get_multi_foreign_keys(schema))
        with suppress(NotImplementedError):
            comments = inspector.get_multi_table_comment(schema, kind=ObjectKind.ANY)
            self._comments = _by_name(comments)
        with suppress(NotImplementedError):
            self._checks = _by_name(inspector.get_multi_check_constraints(schema))
        self.is_complete = True

    def read_one(self, name: str) -> None:
        """Read one table. Raises SQLAlchemy's errors."""
        inspector, schema = self._inspector, self._schema
        self._columns[name] = inspector.get_columns(name, schema)
        self._primary[name] = inspector.get_pk_constraint(name, schema)
        self._foreign[name] = inspector.get_foreign_keys(name, schema)
        with suppress(NotImplementedError):
            self._comments[name] = inspector.get_table_comment(name, schema)
        with suppress(NotImplementedError):
            self._checks[name] = inspector.get_check_constraints(name, schema)

    def columns(self, name: str) -> "Sequence[ReflectedColumn] | None":
        """Return the columns of a table, or `None` if they could not be read."""
        return self._columns.get(name)

    def comment(self, name: str) -> str | None:
        """Return the comment on a table."""
        return read_text((self._comments.get(name) or {}).get("text"))

    def primary_key(self, name: str) -> tuple[str, ...]:
        """Return the columns of a table's primary key."""
        return tuple((self._primary.get(name) or {}).get("constrained_columns") or ())

    def properties(self, name: str) -> dict[str, str]:
        """Return properties of a table: the conditions on its rows, the expressions of generated
        columns, and the values of its columns' enums."""
        from sqlalchemy import Enum

        properties = {
            f"check.{check.get('name') or number}": str(check["sqltext"])
            for number, check in enumerate(self._checks.get(name) or (), start=1)
        }
        for column in self._columns.get(name) or ():
            if computed := column.get("computed"):
                text = _cut_expression(str(computed["sqltext"]))
                properties[f"generated.{column['name']}"] = text
            kind = column["type"]
            # Of an enum without a name, the values are in its type.
            if isinstance(kind, Enum) and kind.name:
                values = ", ".join(kind.enums[:_MOST_VALUES])
                more = len(kind.enums) - _MOST_VALUES
                properties[f"enum.{kind.name}"] = values + (f" and {more:,} more" * (more > 0))
        return properties

    def foreign_keys(self, name: str, path: tuple[str, ...]) -> Iterator[ForeignKeyDefinition]:
        """Yield the foreign keys of a table; `path` is the path of its container."""
        for key in self._foreign.get(name) or ():
            columns = tuple(key["constrained_columns"])
            referred_columns = tuple(key["referred_columns"])
            schema = key.get("referred_schema") or path[-1]
            table = (*path[:-1], schema, key["referred_table"])
            # SQLite omits the referred columns if they are the primary key.
            referred_columns = referred_columns or self.primary_key(key["referred_table"])
            key_name = key.get("name") or f"{name}_{'_'.join(columns)}_fkey"
            yield ForeignKeyDefinition(key_name, columns, table, referred_columns)


def _cut_expression(text: str) -> str:
    """Return an expression up to the parenthesis that ends it: for SQLite, SQLAlchemy returns the
    rest of the line as well."""
    depth = 0
    for at, character in enumerate(text):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if depth < 0:
            return text[:at]
    return text


def _by_name(values_by_key: "Mapping[TableKey, Any]") -> dict[str, Any]:
    return {name: value for (_, name), value in values_by_key.items()}


def _native_type(kind: "TypeEngine[Any]", connection: "Connection") -> str:
    from sqlalchemy import exc, types

    if isinstance(kind, types.NullType):
        return ""
    try:
        return str(kind.compile(connection.dialect))
    except (exc.SQLAlchemyError, AttributeError, TypeError):
        return str(kind)


def _model_type(kind: "TypeEngine[Any]") -> str:
    """Return the catalog model's type for one of SQLAlchemy's types."""
    from sqlalchemy import types

    inner = getattr(kind, "data_type", None)
    if isinstance(inner, types.TypeEngine):
        # The type is a domain of PostgreSQL.
        return _model_type(inner)
    for base, name in (
        (types.Enum, "Enum"),
        (types.Boolean, "Boolean"),
        (types.Integer, "Number"),
        (types.Numeric, "Number"),
        # Not a subclass of `Numeric` since SQLAlchemy 2.1.
        (types.Float, "Number"),
        (types.ARRAY, "Array"),
        (types.String, "String"),
        (types.DateTime, "Time"),
        (types.Date, "Date"),
        (types.Time, "Time"),
        (types.Interval, "Time"),
        (types.JSON, "Record"),
        (types.Uuid, "String"),
    ):
        if isinstance(kind, base):
            return name
    if isinstance(kind, types.TypeDecorator):
        return _model_type(kind.impl_instance)
    # Types of binary data have no public class in common.
    if _python_type(kind) is bytes:
        return "Bytes"
    return _NAMED_TYPES.get(type(kind).__name__.upper(), "Null")


def _python_type(kind: "TypeEngine[Any]") -> type | None:
    """Return the Python type of a column's values, or `None` if SQLAlchemy does not define one."""
    try:
        return kind.python_type
    except NotImplementedError:
        return None


# Types of individual databases that are not subclasses of SQLAlchemy's generic ones. The model
# has no type for ranges, for values of any type, and for geometries.
_NAMED_TYPES: Final = {
    **dict.fromkeys(("MONEY", "SMALLMONEY", "YEAR", "NUMBER", "DECFLOAT"), "Number"),
    **dict.fromkeys(("INET", "INET4", "INET6", "CIDR", "MACADDR", "MACADDR8"), "String"),
    **dict.fromkeys(("OID", "REGCLASS", "REGCONFIG", "ROWID"), "String"),
    **dict.fromkeys(("UUID", "UNIQUEIDENTIFIER"), "String"),
    **dict.fromkeys(("CITEXT", "JSONPATH", "SET", "TSQUERY", "XML"), "String"),
    **dict.fromkeys(("BIT", "BYTEA", "BINARY", "VARBINARY", "TSVECTOR"), "Bytes"),
    **dict.fromkeys(("INTERVAL", "TIMESTAMP", "TIMESTAMPTZ"), "Time"),
    **dict.fromkeys(("TIMESTAMP_LTZ", "TIMESTAMP_NTZ", "TIMESTAMP_TZ"), "Time"),
    **dict.fromkeys(("ARRAY", "VECTOR"), "Array"),
    **dict.fromkeys(("HSTORE", "JSONB", "STRUCT", "VARIANT", "OBJECT", "MAP"), "Record"),
}
