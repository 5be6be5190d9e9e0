"""Which source a location is: by the scheme of a URL, or by what a file or folder holds."""

import re
from pathlib import Path
from typing import Final

from explorer.errors import InvalidInput, StorageFault
from explorer.sources.source import Source, SourceOptions

__all__ = ["open_source"]

_SCHEME: Final = re.compile(r"[a-z][a-z0-9+_.-]*://", re.IGNORECASE)
_SQLITE: Final = b"SQLite format 3\0"
# After a checksum of eight bytes.
_DUCKDB: Final = b"DUCK"


def open_source(location: str, options: SourceOptions, password: str | None = None) -> Source:
    """Return the source at a location; nothing of it is read but the beginning of a file.

    Raises `InvalidInput` where nothing is there, or nothing that is known, and `MissingExtra`
    where what reads it is not installed.
    """
    if _SCHEME.match(location):
        return _open_url(location, options, password)
    path = Path(location).expanduser()
    try:
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


def _open_url(location: str, options: SourceOptions, password: str | None) -> Source:
    scheme, _, rest = location.partition("://")
    if scheme.startswith(("duckdb", "sqlite")):
        # As SQLAlchemy writes them: three slashes before a relative path, four before another.
        path = rest.partition("?")[0].removeprefix("/")
        if not path:
            raise InvalidInput(f"{location} names no file; a database in memory cannot be added")
        return open_source(path, options)
    from explorer.sources.database import Database

    return Database(location, options, password)


def _open_folder(path: Path, options: SourceOptions) -> Source:
    # The target folder of a project is taken for the project.
    for folder in (path, path.resolve().parent):
        is_dbt = folder == path or (path / "manifest.json").is_file()
        if is_dbt and (folder / "dbt_project.yml").is_file():
            from explorer.sources.dbt_artifacts import DbtArtifacts

            return DbtArtifacts(folder, options)
    from explorer.sources.file_folder import FileFolder

    return FileFolder(path, options)


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
    from explorer.sources.file_folder import FileFolder, file_format

    if file_format(path):
        return FileFolder(path, options)
    raise InvalidInput(
        f"{path} is no file that is known; known are SQLite and DuckDB databases, Parquet, CSV and "
        "JSON lines"
    )
