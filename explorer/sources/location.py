"""The installed kinds of sources, and how the kind for a location is found.

A source is a class with the interface of `Source`, found by an entry point. Those of other packages
are in their metadata, those of this package in `_OWN`, since the metadata of a source checkout may
be out of date. They are imported when a location is opened.
"""

import os
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import EntryPoint, entry_points
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import parse_qsl, unquote, urlencode

from explorer.errors import CatalogError, InvalidInput, Misconfigured, StorageFault
from explorer.sources.duckdb_file import (
    IN_MEMORY,
    DuckDbConnection,
    InMemoryTable,
    import_duckdb,
)
from explorer.sources.source import (
    LocalSource,
    Location,
    Source,
    SourceOptions,
    open_value,
)

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection
    from sqlalchemy import Engine

GROUP: Final = "catalog_explorer.sources"
"""The group of the entry points that name sources."""

# The first of these that takes a location has it, the general ones last: any folder, any URL.
_OWN: Final = tuple(
    EntryPoint(value.partition(":")[0], f"explorer.sources.{value}", GROUP)
    for value in (
        "query_log:QueryLog",
        "dbt_artifacts:DbtArtifacts",
        "duckdb_file:DuckDbFile",
        "datahub_recipe:DataHubRecipe",
        "file_folder:FileFolder",
        "database:Database",
    )
)
_SCHEME: Final = re.compile(r"[a-z][a-z0-9+_.-]*://", re.IGNORECASE)
# The host, port and database of a URL without a user, up to its first parameter.
_PLACE: Final = re.compile(r"[^?:@]*(:\d+)?(/[^?]*)?\?[\w.-]+=")
_START_BYTES: Final = 16
_MOST_FILES: Final = 2_000
_SOCKETS: Final = ("/var/run/postgresql", "/tmp")  # noqa: S108 - where PostgreSQL listens
_MYSQL_SOCKETS: Final = ("/var/run/mysqld/mysqld.sock", "/tmp/mysql.sock")  # noqa: S108


def _load(entry_point: EntryPoint) -> type[Source]:
    """Return the source class that an entry point names. Raises `Misconfigured` if it is not one,
    or cannot be imported."""
    label = f"the source {entry_point.name} of the package {_package(entry_point)}"
    try:
        loaded = entry_point.load()
    except Exception as error:
        reason = " ".join(str(error).split())
        raise Misconfigured(
            f"{label} cannot be imported ({type(error).__name__}: {reason}): repair the package or "
            "uninstall it"
        ) from error
    if not (isinstance(loaded, type) and issubclass(loaded, Source)):
        raise Misconfigured(
            f"{label} is not one: {entry_point.value} has to be a class derived from "
            "explorer.sources.source.Source; update the package or uninstall it"
        )
    return loaded


def _package(entry_point: EntryPoint) -> str:
    return entry_point.dist.name if entry_point.dist else "catalog-explorer"


def _find_package(source: type[Source]) -> str | None:
    """Return the name of the package that a source class is from, or `None` for this package."""
    module = source.__module__.partition(".")[0]
    if module == __name__.partition(".")[0]:
        return None
    packages = (
        _package(entry_point)
        for entry_point in entry_points(group=GROUP)
        if entry_point.module.partition(".")[0] == module
    )
    return next(packages, module)


@contextmanager
def blame_package(source: Source | type[Source]) -> Iterator[None]:
    """Convert errors in a source of another package to `Misconfigured`, which names the package.
    `CatalogError` and errors of damaged files are raised unchanged."""
    try:
        yield
    except (CatalogError, OSError, EOFError, zlib.error):
        raise
    except Exception as error:
        kind = source if isinstance(source, type) else type(source)
        if (package := _find_package(kind)) is None:
            raise
        reason = " ".join(str(error).split())
        raise Misconfigured(
            f"the source {kind.__name__} of the package {package} failed with "
            f"{type(error).__name__}: {reason}; tell its authors, or uninstall the package"
        ) from error


def _load_others() -> list[tuple[EntryPoint, type[Source]]]:
    """Return the source classes of other packages, sorted by name. Raises the errors of `_load`."""
    points = sorted(entry_points(group=GROUP), key=lambda entry_point: entry_point.name)
    return [(entry_point, _load(entry_point)) for entry_point in points]


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
    sources = [*(source for _, source in _load_others()), *map(_load, _OWN)]
    of_folder: dict[str, LocalSource] = {}
    for path in islice(_files_near(folder), _MOST_FILES):
        if path == folder / "dbt_project.yml" or _is_own_store(path):
            continue
        try:
            file = _locate_path(path)
        except OSError:
            continue
        for source in sources:
            with blame_package(source):
                local = source.find(file, folder)
            if local is not None and local.location == str(folder):
                of_folder.setdefault(local.known_from, local)
            elif local is not None:
                yield local
            if local is not None:
                break
    yield from of_folder.values()
    yield from _local_servers()


def _without_password(address: str) -> LocalSource:
    """Return the source at a `DATABASE_URL` in SQLAlchemy's form, with the password separated. The
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


def _is_own_store(path: Path) -> bool:
    """Return whether a database file belongs to the data directory of a local catalog."""
    is_named = path.name in ("catalog.db", "meaning.sqlite", "stewardship.sqlite")
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


def _locate(text: str) -> Location:
    """Return the file, folder or URL that a text names. Raises `InvalidInput` if there is no such
    file or folder."""
    if _SCHEME.match(text):
        scheme, _, rest = text.partition("://")
        if not scheme.lower().startswith(("duckdb", "sqlite")):
            return Location(text)
        # SQLAlchemy's form: three slashes before a relative path, four before an absolute one.
        path = Path(rest.partition("?")[0].removeprefix("/"))
        if path == Path():
            raise InvalidInput(f"{text} names no file; a database in memory cannot be added")
    else:
        path = Path(text).expanduser()
    if not path.exists():
        raise InvalidInput(
            f"there is no {path}: give a file, a folder, or the address of a database such as "
            "postgresql://user@host/database"
        )
    return _locate_path(path)


def _locate_path(path: Path) -> Location:
    if path.is_dir():
        return Location(str(path), path)
    with path.open("rb") as file:
        return Location(str(path), path, file.read(_START_BYTES))


def open_source(location: str, options: SourceOptions, password: str | None = None) -> Source:
    """Return the source at a location. The kinds of other packages are tried first, then those of
    this package in order. At most the beginning of a file is read, except for dbt's
    `manifest.json`. With a dialect in the options, a file or folder is read as a query log.

    Raises `InvalidInput` if nothing is there or its kind is unknown, `MissingExtra` if the package
    that reads it is not installed, and `Misconfigured` if the sources of two packages accept it, or
    if one cannot be imported or fails.
    """
    if location.startswith(IN_MEMORY):
        name = location.removeprefix(IN_MEMORY)
        raise InvalidInput(f"{name} lay in a notebook's memory: add it there again, as cat.add(…)")
    try:
        place = _locate(location)
        sources: dict[str, Source] = {}
        for entry_point, kind in _load_others():
            with blame_package(kind):
                source = kind.open(place, options, password)
            if source is not None:
                sources[f"{entry_point.name} of the package {_package(entry_point)}"] = source
        if len(sources) > 1:
            raise Misconfigured(
                f"{place.text} is taken by several sources, {' and '.join(sources)}: uninstall the "
                "package that is not to read it"
            )
        if place.file is not None and not place.start and options.dialect is None:
            raise InvalidInput(f"{place.text} is empty")
        opened = (_load(entry_point).open(place, options, password) for entry_point in _OWN)
        for source in chain(sources.values(), opened):
            if source is not None:
                return source
    except OSError as error:
        raise StorageFault(f"{location} cannot be read: {error.strerror}") from error
    if location.lower().endswith(".sql"):
        raise InvalidInput(f"{location} has SQL: give its --dialect, such as snowflake or postgres")
    raise InvalidInput(
        f"{location} is no file that is known; known are SQLite and DuckDB databases, Parquet, CSV "
        "and JSON, the metadata.json of an Iceberg table, dbt's manifest.json, recipes of "
        "DataHub, and what the packages of other sources read"
    )


def open_object(
    what: object, name: str | None, options: SourceOptions, password: str | None = None
) -> Source:
    """Return the source for a path or URL, an SQLAlchemy engine, a DuckDB connection or relation,
    or a pandas, Polars or Arrow data frame. Objects in memory need a name.

    Raises `InvalidInput` for anything else, and the errors of `open_source`.
    """
    if isinstance(what, str | Path):
        return open_source(str(what), options, password)
    package = type(what).__module__.lstrip("_").partition(".")[0]
    if package == "sqlalchemy" and hasattr(what, "connect") and hasattr(what, "url"):
        from explorer.sources.database import open_engine

        return open_engine(cast("Engine", what), options)
    if package == "duckdb" and type(what).__name__ == "DuckDBPyConnection":
        return DuckDbConnection.of(cast("DuckDBPyConnection", what), name, options)
    kinds = {"duckdb": "DuckDBPyRelation", "pandas": "DataFrame", "polars": "DataFrame"}
    kinds["pyarrow"] = "Table"
    if kinds.get(package) != type(what).__name__:
        raise InvalidInput(
            f"a {type(what).__name__} cannot be added: give a path, a URL, an engine of "
            "SQLAlchemy, a connection or relation of DuckDB or a data frame"
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
