"""Database files of data that is derived from the store, and created again if they are damaged."""

import sqlite3
from pathlib import Path
from typing import Literal

_PAGE_BYTES = 8_192
_LOG_BYTES = 16 * 1024 * 1024
DATABASE_ERRORS = (sqlite3.Error, UnicodeDecodeError)


def is_damage(error: Exception) -> bool:
    """Return whether an error of a database, or of its content, means that its file is damaged."""
    if isinstance(error, sqlite3.Error):
        return type(error) is sqlite3.DatabaseError or "Could not decode to UTF-8" in str(error)
    return True


def remove_database(path: Path) -> None:
    """Remove the file of a database, with its write-ahead log. Raises `OSError`."""
    for suffix in ("", "-wal", "-shm"):
        path.with_name(f"{path.name}{suffix}").unlink(missing_ok=True)


def open_database(path: Path | None, tables: str, format_number: int) -> sqlite3.Connection:
    """Open a database file; `None` is a temporary one. A file that is damaged or of another format
    is replaced by an empty one with these `tables` (SQL).

    Raises `OSError` or `sqlite3.Error` if the file cannot be used at all.
    """
    if path is None:
        return _new_database("", tables, format_number)
    if path.exists():
        try:
            connection = _connect(path, format_number)
        except DATABASE_ERRORS as error:
            if not is_damage(error):
                raise
            connection = None
        if connection is not None:
            return connection
        remove_database(path)
    # A file created by SQLite would be readable by everybody on the machine.
    path.touch(mode=0o600)
    return _new_database(path, tables, format_number)


def _connect(path: Path, format_number: int) -> sqlite3.Connection | None:
    """Open a database file; return `None` if it has another format, or is truncated."""
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    try:
        (stored_format,) = connection.execute("PRAGMA user_version").fetchone()
        (page_bytes,) = connection.execute("PRAGMA page_size").fetchone()
        if stored_format == format_number and path.stat().st_size % page_bytes == 0:
            _set_up(connection)
            return connection
    except BaseException:
        connection.close()
        raise
    connection.close()
    return None


def _new_database(path: Path | Literal[""], tables: str, format_number: int) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    try:
        connection.execute(f"PRAGMA page_size = {_PAGE_BYTES}")
        _set_up(connection)
        connection.executescript(f"{tables}PRAGMA user_version = {format_number};")
    except BaseException:
        connection.close()
        raise
    return connection


def _set_up(connection: sqlite3.Connection) -> None:
    for setting in (
        "journal_mode = WAL",
        "synchronous = NORMAL",
        f"journal_size_limit = {_LOG_BYTES}",
    ):
        connection.execute(f"PRAGMA {setting}")
