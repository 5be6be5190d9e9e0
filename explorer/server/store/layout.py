"""The tables of the SQLite engine, and opening a file that holds them."""

import os
import secrets
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from explorer.errors import Unusable
from explorer.server.store.damage import SQLITE_ERRORS, is_damage
from explorer.server.store.migration import LAST_VERSIONS, MIGRATIONS, Migration, migrate

__all__ = [
    "FORMAT",
    "check_readable",
    "connect",
    "connect_read_only",
    "is_read_only",
    "open_file",
    "read_id",
    "renew_id",
]

FORMAT = 3

_TABLES = f"""
{LAST_VERSIONS};

CREATE TABLE meta (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

-- Every URN that is stored or pointed at; `live` when an entity stands behind it.
CREATE TABLE urns (
    id INTEGER PRIMARY KEY,
    urn TEXT NOT NULL UNIQUE,
    type TEXT NOT NULL,
    live INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX live_urns ON urns (type) WHERE live;

CREATE TABLE runs (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
);

CREATE TABLE aspects (
    id INTEGER PRIMARY KEY,
    entity INTEGER NOT NULL,
    name TEXT NOT NULL,
    value BLOB NOT NULL,
    superseded INTEGER NOT NULL DEFAULT 0,
    time_millis INTEGER NOT NULL,
    actor TEXT NOT NULL,
    system BLOB NOT NULL,
    run INTEGER,
    UNIQUE (entity, name)
);
CREATE INDEX aspects_by_run ON aspects (run) WHERE run IS NOT NULL;

CREATE TABLE versions (
    id INTEGER PRIMARY KEY,
    entity INTEGER NOT NULL,
    name TEXT NOT NULL,
    version INTEGER NOT NULL,
    value BLOB NOT NULL,
    time_millis INTEGER NOT NULL,
    actor TEXT NOT NULL,
    system BLOB NOT NULL,
    run INTEGER,
    UNIQUE (entity, name, version)
);
CREATE INDEX versions_by_run ON versions (run) WHERE run IS NOT NULL;

CREATE TABLE points (
    id INTEGER PRIMARY KEY,
    entity INTEGER NOT NULL,
    aspect TEXT NOT NULL,
    at_millis INTEGER NOT NULL,
    series TEXT NOT NULL,
    value BLOB NOT NULL,
    system BLOB NOT NULL,
    run INTEGER,
    UNIQUE (entity, aspect, at_millis, series)
);
CREATE INDEX points_by_run ON points (run) WHERE run IS NOT NULL;

CREATE TABLE edges (
    source INTEGER NOT NULL,
    type TEXT NOT NULL,
    target INTEGER NOT NULL,
    aspect TEXT NOT NULL,
    flow INTEGER NOT NULL,
    PRIMARY KEY (source, type, target, aspect)
) WITHOUT ROWID;
CREATE INDEX incoming ON edges (target, type, source);

-- Folders of the browse tree. `entities` counts what is found in or below one.
CREATE TABLE folders (
    id INTEGER PRIMARY KEY,
    type TEXT NOT NULL,
    parent INTEGER NOT NULL,
    key TEXT NOT NULL,
    name TEXT NOT NULL,
    entities INTEGER NOT NULL DEFAULT 0,
    UNIQUE (type, parent, key)
);
CREATE TABLE placements (
    folder INTEGER NOT NULL,
    sort TEXT NOT NULL,
    urn TEXT NOT NULL,
    entity INTEGER NOT NULL,
    name TEXT NOT NULL,
    PRIMARY KEY (folder, sort, urn)
) WITHOUT ROWID;
CREATE INDEX placed ON placements (entity, folder);
-- The last component of a path that ended in the entity itself.
CREATE TABLE leaves (
    folder INTEGER NOT NULL,
    leaf TEXT NOT NULL,
    entity INTEGER NOT NULL,
    PRIMARY KEY (folder, leaf, entity)
) WITHOUT ROWID;
CREATE INDEX leaves_of ON leaves (entity);

CREATE TABLE log (
    offset INTEGER PRIMARY KEY,
    urn TEXT NOT NULL,
    aspect TEXT NOT NULL,
    change TEXT NOT NULL,
    value BLOB,
    previous BLOB,
    time_millis INTEGER NOT NULL,
    actor TEXT NOT NULL,
    system BLOB NOT NULL
);
"""

_CACHE = f"cache_size = -{32 * 1024}"
_MMAP = f"mmap_size = {1 << 30}"


def connect(path: Path, *, reading: bool = False) -> sqlite3.Connection:
    """A connection of our own settings; any thread may use it, one at a time."""
    connection = sqlite3.connect(
        path, timeout=10.0, isolation_level=None, check_same_thread=False, cached_statements=256
    )
    settings = ["query_only = ON"] if reading else ["synchronous = FULL", _CACHE]
    try:
        for setting in (_MMAP, *settings):
            connection.execute(f"PRAGMA {setting}")
    except BaseException:
        connection.close()
        raise
    return connection


def is_read_only(path: Path) -> bool:
    """Whether a catalog file lies where we may not write, as on read-only media."""
    return not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK))


def connect_read_only(path: Path) -> sqlite3.Connection:
    """A connection that writes nothing, also to a file on read-only media.

    Raises `Unusable` for a file on read-only media whose latest writes are in a log beside it, and
    `sqlite3.Error`.
    """
    if not is_read_only(path):
        return connect(path, reading=True)
    log = path.with_name(f"{path.name}-wal")
    if log.exists() and log.stat().st_size:
        raise Unusable(
            f"{path} cannot be written, and its latest changes are in {log.name} beside it: copy "
            "both to a directory that can be written"
        )
    # Nobody writes to it, so that it needs neither a lock nor the log.
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode=ro&immutable=1",
        uri=True,
        isolation_level=None,
        check_same_thread=False,
    )
    try:
        connection.execute("PRAGMA query_only = ON")
    except BaseException:
        connection.close()
        raise
    return connection


def check_readable(connection: sqlite3.Connection, path: Path, wanted: int = FORMAT) -> None:
    """Raise `Unusable` when a file is no catalog, or one of a newer release."""
    with _sentences(path):
        found = _find_format(connection, path)
    if found is None:
        raise Unusable(f"{path} is empty; name another file")
    _check_format(found, wanted, MIGRATIONS, path)


def open_file(
    path: Path, *, wanted: int = FORMAT, migrations: Mapping[int, Migration] = MIGRATIONS
) -> sqlite3.Connection:
    """The writer's connection to a catalog file, which is made when it is not there.

    One of an older format is first brought up to the one that is `wanted`; a copy of it as it was
    stays beside it, as `catalog.db.format-1`. The caller holds the directory. Raises `Unusable`
    when the file is no catalog, of a newer format, or cannot be written.
    """
    with _sentences(path):
        # What SQLite would make anybody on the machine could read.
        path.touch(mode=0o600, exist_ok=True)
        connection = connect(path)
        try:
            found = _find_format(connection, path)
            if found is not None:
                _check_format(found, wanted, migrations, path)
            _log_ahead(connection, path)
            if found is not None:
                migrate(connection, path, found, wanted, migrations)
            else:
                connection.executescript(
                    f"BEGIN IMMEDIATE;{_TABLES}"
                    f"INSERT INTO meta VALUES ('format', '{FORMAT}');COMMIT;"
                )
        except BaseException:
            connection.close()
            raise
    return connection


def read_id(connection: sqlite3.Connection) -> str:
    """The random id of a catalog, which is made when it has none. Raises `sqlite3.Error`."""
    row = connection.execute("SELECT value FROM meta WHERE key = 'id'").fetchone()
    return str(row[0]) if row else renew_id(connection)


def renew_id(connection: sqlite3.Connection) -> str:
    """Give a catalog a new random id, so that no index made before belongs to it."""
    found = secrets.token_hex(16)
    connection.execute("INSERT OR REPLACE INTO meta VALUES ('id', ?)", (found,))
    return found


@contextmanager
def _sentences(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, *SQLITE_ERRORS) as error:
        if is_damage(error):
            raise Unusable(
                f"{path} cannot be used as a catalog: it is damaged, or something else ({error}); "
                "run catalog check, and go back to a backup with catalog restore, or name another "
                "data directory"
            ) from error
        raise Unusable(
            f"{path} cannot be used as a catalog: {error}; name another data directory"
        ) from error


def _find_format(connection: sqlite3.Connection, path: Path) -> int | None:
    """The format of the catalog in a file; None when the file is empty."""
    tables = {
        name
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
    }
    if not tables:
        return None
    row = None
    if "meta" in tables:
        row = connection.execute("SELECT value FROM meta WHERE key = 'format'").fetchone()
    found = row[0] if row else None
    if found is None or not found.isdecimal():
        raise Unusable(f"{path} is a database of something else; name another data directory")
    return int(found)


def _check_format(found: int, wanted: int, migrations: Mapping[int, Migration], path: Path) -> None:
    if found > wanted:
        raise Unusable(
            f"{path} was written by a newer release (format {found}; this one reads {wanted}): "
            "upgrade catalog-explorer, or name another data directory"
        )
    if any(step not in migrations for step in range(found, wanted)):
        raise Unusable(
            f"{path} has the unknown format {found} (this release reads {wanted}); "
            "name another data directory"
        )


def _log_ahead(connection: sqlite3.Connection, path: Path) -> None:
    mode = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
    if mode != "wal":
        raise Unusable(
            f"the file system of {path} does not support write-ahead logging; "
            "name a data directory on a local disk"
        )
