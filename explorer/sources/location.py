"""Determine the source at a location, from the scheme of a URL or the content of a file or
folder."""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import parse_qsl, unquote, urlencode

from explorer.errors import InvalidInput, StorageFault
from explorer.sources.duckdb_file import IN_MEMORY, InMemoryTable, import_duckdb
from explorer.sources.source import Source, SourceOptions, open_value

if TYPE_CHECKING:
    from sqlalchemy import Engine

__all__ = ["LocalSource", "find_local_sources", "open_object", "open_source"]

_SCHEME: Final = re.compile(r"[a-z][a-z0-9+_.-]*://", re.IGNORECASE)
# The host, port and database of a URL without a user, up to its first parameter.
_PLACE: Final = re.compile(r"[^?:@]*(:\d+)?(/[^?]*)?\?[\w.-]+=")
_SQLITE: Final = b"SQLite format 3\0"
# A DuckDB file has this after a checksum of eight bytes.
_DUCKDB: Final = b"DUCK"
_MOST_FILES: Final = 2_000
_RECIPES: Final = (".dhub.yml", ".dhub.yaml")
_LAKE: Final = frozenset({".parquet", ".csv", ".tsv", ".jsonl", ".ndjson"})
_SOCKETS: Final = ("/var/run/postgresql", "/tmp")  # noqa: S108 - where PostgreSQL listens
_MYSQL_SOCKETS: Final = ("/var/run/mysqld/mysqld.sock", "/tmp/mysql.sock")  # noqa: S108


@dataclass(frozen=True, slots=True)
class LocalSource:
    """A source found on this machine: its location, how it was recognised, and the password found
    with it."""

    location: str
    known_from: str
    password: str | None = field(default=None, repr=False)


def find_local_sources(folder: Path) -> Iterator[LocalSource]:
    """Yield the sources that can be found from a folder: `DATABASE_URL`; a dbt project that
    contains the folder or is in it; database files and DataHub recipes in it and one level below;
    data files in it; and servers listening on this machine. Only the first bytes of files are
    read."""
    if (address := os.environ.get("DATABASE_URL", "")) and _SCHEME.match(address):
        yield _without_password(address)
    folder = folder.resolve()
    for project in (folder, *folder.parents):
        if (project / "dbt_project.yml").is_file():
            yield LocalSource(str(project), "a dbt project")
            break
    has_data = False
    for path in islice(_files_near(folder), _MOST_FILES):
        if path.name == "dbt_project.yml" and path.parent != folder:
            yield LocalSource(str(path.parent), "a dbt project")
        elif path.name.endswith(_RECIPES):
            yield LocalSource(str(path), "a recipe of DataHub")
        elif path.suffix.lower() in _LAKE:
            has_data = has_data or path.parent == folder
        elif (kind := _database_kind(path)) is not None and not _is_own_store(path):
            yield LocalSource(str(path), kind)
    if has_data:
        yield LocalSource(str(folder), "Parquet, CSV or JSON lines in this folder")
    yield from _local_servers()


def _without_password(address: str) -> LocalSource:
    """Return the source at a `DATABASE_URL` in SQLAlchemy's form, with the password apart. The
    password may contain characters that have a meaning in URLs."""
    scheme, _, rest = address.partition("://")
    head, mark, query = rest.partition("?")
    if "@" in query and "@" not in head and not _PLACE.match(rest):
        user, at, rest = rest.rpartition("@")
        head, mark, query = rest.partition("?")
        head = f"{user}{at}{head}"
    user, at, place = head.rpartition("@")
    name, _, password = user.partition(":")
    password = unquote(password)
    parameters = parse_qsl(query, keep_blank_values=True)
    open_parameters = [
        (key, open_text)
        for key, value in parameters
        if (open_text := open_value(key, value)) is not None
    ]
    if open_parameters != parameters:
        password = password or dict(parameters).get("password", "")
        query = urlencode(open_parameters)
    scheme = "postgresql" if scheme == "postgres" else scheme
    location = f"{scheme}://{name}{at}{place}{mark if query else ''}{query}"
    return LocalSource(location, "DATABASE_URL", password or None)


def _files_near(folder: Path) -> Iterator[Path]:
    """Yield the files in a folder and one level below, sorted by name; hidden files and folders in
    the folder itself are skipped."""
    try:
        paths = sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    except OSError:
        return
    yield from (path for path in paths if path.is_file())
    for below in paths:
        if below.is_dir():
            try:
                yield from sorted(path for path in below.iterdir() if path.is_file())
            except OSError:
                continue


def _database_kind(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            start = file.read(16)
    except OSError:
        return None
    if start.startswith(_SQLITE):
        return "an SQLite database"
    return "a DuckDB database" if start[8:12] == _DUCKDB else None


def _is_own_store(path: Path) -> bool:
    """Return whether a database file is one of the data directory of a local catalog."""
    is_named = path.name in ("catalog.db", "stewardship.sqlite")
    return is_named and (path.parent / "search" / "index.json").is_file()


def _local_servers() -> Iterator[LocalSource]:
    name = os.environ.get("PGDATABASE") or "postgres"
    for place in _SOCKETS:
        try:
            ports = sorted(path.name.rpartition(".")[2] for path in Path(place).glob(".s.PGSQL.*"))
        except OSError:
            continue
        for port in ports:
            if port.isdigit():
                address = f"postgresql+psycopg:///{name}?host={place}&port={port}"
                yield LocalSource(address, "PostgreSQL on this machine")
    for socket in _MYSQL_SOCKETS:
        if Path(socket).is_socket():
            address = f"mysql+pymysql://root@localhost/?unix_socket={socket}"
            yield LocalSource(address, "MySQL on this machine")


def open_source(location: str, options: SourceOptions, password: str | None = None) -> Source:
    """Return the source at a location; at most the beginning of a file is read, except for dbt's
    `manifest.json`. With a dialect in the options, a file or folder is a query log.

    Raises `InvalidInput` if there is nothing there or it is of no known kind, and `MissingExtra` if
    the package that reads it is not installed.
    """
    if location.startswith(IN_MEMORY):
        name = location.removeprefix(IN_MEMORY)
        raise InvalidInput(f"{name} lay in a notebook's memory: add it there again, as cat.add(…)")
    if _SCHEME.match(location):
        return _open_url(location, options, password)
    path = Path(location).expanduser()
    try:
        if options.dialect is not None and path.exists():
            from explorer.sources.query_log import QueryLog

            return QueryLog(path, options)
        if path.is_dir():
            return _open_folder(path, options)
        if not path.exists():
            raise InvalidInput(
                f"there is no {location}: give a file, a folder, or the address of a database such "
                "as postgresql://user@host/database"
            )
        return _open_file(path, options)
    except OSError as error:
        raise StorageFault(f"{path} cannot be read: {error.strerror}") from error


def open_object(what: object, name: str | None, options: SourceOptions) -> Source:
    """Return the source for a path or URL, an SQLAlchemy engine, a DuckDB relation, or a pandas,
    Polars or Arrow data frame. Relations and data frames need a name.

    Raises `InvalidInput` for anything else, and the errors of `open_source`.
    """
    if isinstance(what, str | Path):
        return open_source(str(what), options)
    package = type(what).__module__.lstrip("_").partition(".")[0]
    if package == "sqlalchemy" and hasattr(what, "connect") and hasattr(what, "url"):
        from explorer.sources.database import open_engine

        return open_engine(cast("Engine", what), options)
    kinds = {"duckdb": "DuckDBPyRelation", "pandas": "DataFrame", "polars": "DataFrame"}
    kinds["pyarrow"] = "Table"
    if kinds.get(package) != type(what).__name__:
        raise InvalidInput(
            f"a {type(what).__name__} cannot be added: give a path, a URL, an engine of "
            "SQLAlchemy, a relation of DuckDB or a data frame"
        )
    if name is None:
        raise InvalidInput(f"a {type(what).__name__} needs a name: cat.add(…, name='orders')")
    duckdb = import_duckdb("adding a data frame")
    frame: Any = what
    if package == "duckdb":
        return InMemoryTable(name, frame, options, package)
    if package == "pandas":
        relation = duckdb.from_df(frame.rename(columns=str))
    else:
        relation = duckdb.from_arrow(frame.to_arrow() if package == "polars" else frame)
    return InMemoryTable(name, relation, options, package, len(frame))


def _open_url(location: str, options: SourceOptions, password: str | None) -> Source:
    scheme, _, rest = location.partition("://")
    if scheme.startswith(("duckdb", "sqlite")):
        # SQLAlchemy's form: three slashes before a relative path, four before an absolute one.
        path = rest.partition("?")[0].removeprefix("/")
        if not path:
            raise InvalidInput(f"{location} names no file; a database in memory cannot be added")
        return open_source(path, options)
    if scheme.lower() in ("s3", "gs", "az"):
        from explorer.sources.file_folder import FileFolder

        return FileFolder.in_bucket(location, options)
    from explorer.sources.database import Database

    return Database(location, options, password)


def _open_folder(path: Path, options: SourceOptions) -> Source:
    from explorer.sources.dbt_artifacts import DbtArtifacts
    from explorer.sources.file_folder import FileFolder, file_format

    if (path / "dbt_project.yml").is_file():
        return DbtArtifacts(path, options)
    if (source := DbtArtifacts.of_manifest(path / "manifest.json", options)) is not None:
        return source
    paths = sorted(path.glob("*_manifest.json"))
    if paths and not any(file_format(path.name) for path in path.iterdir()):
        projects = [
            artifacts
            for artifacts in (DbtArtifacts.of_manifest(at, options) for at in paths)
            if artifacts
        ]
        if len(projects) > 1:
            raise InvalidInput(
                f"{path} has the manifests of {len(projects)} dbt projects: give the path of one, "
                f"such as {projects[0].location}"
            )
        if projects:
            return projects[0]
    return FileFolder.of(path, options)


def _open_file(path: Path, options: SourceOptions) -> Source:
    with path.open("rb") as file:
        start = file.read(16)
    if start.startswith(_SQLITE):
        from explorer.sources.database import sqlite_file

        return sqlite_file(path, options)
    if start[8:12] == _DUCKDB:
        from explorer.sources.duckdb_file import DuckDbFile, import_duckdb

        import_duckdb("reading DuckDB files")
        return DuckDbFile(path, options)
    if not start:
        raise InvalidInput(f"{path} is empty")
    from explorer.sources.file_folder import METADATA, FileFolder, file_format

    if file_format(path.name) or METADATA.fullmatch(path.name):
        return FileFolder.of(path, options)
    from explorer.sources.dbt_artifacts import DbtArtifacts

    if (source := DbtArtifacts.of_manifest(path, options)) is not None:
        return source
    if path.suffix.lower() in (".yml", ".yaml", ".json"):
        from explorer.sources.datahub_recipe import DataHubRecipe, read_recipe

        if read_recipe(path) is not None:
            return DataHubRecipe(path, options)
    if path.suffix.lower() == ".sql":
        raise InvalidInput(f"{path} has SQL: give its --dialect, such as snowflake or postgres")
    raise InvalidInput(
        f"{path} is no file that is known; known are SQLite and DuckDB databases, Parquet, CSV and "
        "JSON lines, the metadata.json of an Iceberg table, dbt's manifest.json, and recipes of "
        "DataHub"
    )
