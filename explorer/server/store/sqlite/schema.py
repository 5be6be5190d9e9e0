"""The tables of the SQLite engine: opening a file, migrating an older one, finding damage, and the
stored form of values.

To change the tables, raise `FORMAT`, change the tables here, and add to `MIGRATIONS`, under the
number of the previous format, the function that converts such a file to the new one. A file is
migrated completely or not at all.

A stored value that begins with the byte 1 is compressed (raw deflate), with a dictionary of typical
aspects; any other one is the JSON itself, which begins with a bracket. The dictionary is part of
the format and is never changed: a value can only be read with the dictionary with which it was
written. A new dictionary needs another first byte.
"""

import logging
import os
import secrets
import sqlite3
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from explorer.errors import CatalogError, InvalidFile, StorageFault
from explorer.files import is_full
from explorer.metadata.names import natural_key
from explorer.server.store import LASTING_ID, digest

Migration = Callable[[sqlite3.Connection], None]
"""A function that changes the tables, with calls of `execute` only.

It runs inside a transaction, which it must not end.
"""

LAST_VERSIONS = """
-- The number of the last version of an aspect that was removed. It goes on from there when the
-- aspect is written again, so that a version which somebody has read never names another value.
CREATE TABLE last_versions (
    entity INTEGER NOT NULL,
    name TEXT NOT NULL,
    version INTEGER NOT NULL,
    PRIMARY KEY (entity, name)
) WITHOUT ROWID
"""


def _keep_last_versions(connection: sqlite3.Connection) -> None:
    """Create the table `last_versions`, and fill it with the removed aspects in the change log."""
    connection.execute(LAST_VERSIONS)
    connection.execute(
        "INSERT INTO last_versions "
        "SELECT u.id, l.aspect, "
        "max(CAST(json_extract(CAST(l.system AS TEXT), '$.version') AS INTEGER)) AS version "
        "FROM log l JOIN urns u ON u.urn = l.urn "
        "WHERE l.change = 'UPSERT' AND NOT EXISTS "
        "(SELECT 1 FROM aspects a WHERE a.entity = u.id AND a.name = l.aspect) "
        "GROUP BY u.id, l.aspect HAVING version IS NOT NULL"
    )


def _sort_placements(connection: sqlite3.Connection) -> None:
    """Sort the entities of each folder in the natural order of their names."""
    connection.create_function("natural_key", 1, natural_key, deterministic=True)
    connection.execute("UPDATE placements SET sort = natural_key(name)")


LOG = (
    """
-- What was changed. `change` is NULL where something was written. Then the value and its stamp are
-- in the row of `aspects`, `versions` or `points` whose id is the offset, until that row goes: just
-- before, they are copied here. `before` is the id of the row of `versions` that holds the value
-- before, until that is copied to `previous`. `digest` is that of the value.
CREATE TABLE log (
    offset INTEGER PRIMARY KEY,
    entity INTEGER NOT NULL,
    aspect TEXT NOT NULL,
    change TEXT,
    value BLOB,
    previous BLOB,
    before INTEGER,
    digest BLOB,
    time_millis INTEGER,
    actor TEXT,
    system BLOB
)
""",
    "CREATE INDEX log_before ON log (before) WHERE before IS NOT NULL",
)

# Subtracted from the ids of rows that the log does not refer to, so that none equals an offset.
_UNLOGGED = 1 << 40


def _refer_log(connection: sqlite3.Connection) -> None:
    """Replace the values in the log by references to the rows that hold them.

    The rows of aspects, versions and documents get the offsets at which the log wrote them as ids.
    """
    run = connection.execute
    for name, work in (("compress", compress), ("digest", digest)):
        connection.create_function(name, 1, partial(_of_bytes, work), deterministic=True)
    for table in _VALUES:
        run(f"CREATE TEMP TABLE found_{table} (id INTEGER PRIMARY KEY, offset INTEGER UNIQUE)")
    run(
        "INSERT INTO found_aspects SELECT a.id, l.offset FROM (SELECT urn, aspect, "
        "max(offset) AS offset FROM log WHERE change = 'UPSERT' GROUP BY urn, aspect) n "
        "JOIN urns u ON u.urn = n.urn JOIN aspects a ON a.entity = u.id AND a.name = n.aspect "
        "JOIN log l ON l.offset = n.offset WHERE l.value = a.value"
    )
    run("CREATE TEMP TABLE found_before (offset INTEGER PRIMARY KEY, id INTEGER)")
    run("CREATE INDEX log_of ON log (urn, aspect)")
    _find_versions(connection)
    _find_points(connection)
    run("DROP INDEX log_of")
    for table, columns in _VALUES.items():
        _renumber(connection, table, columns)
    run("ALTER TABLE aspects ADD COLUMN seen BLOB")
    run("ALTER TABLE log RENAME TO old_log")
    for statement in LOG:
        run(statement)
    # A URN in the log may lack a row if another program changed the file.
    run(
        "INSERT OR IGNORE INTO urns (urn, type) SELECT DISTINCT l.urn, "
        "substr(l.urn, 8, instr(substr(l.urn, 8), ':') - 1) FROM old_log l"
    )
    # Time, actor and system metadata are NULL in the log where the value's row has the same.
    value_id = "coalesce(a.id, v.id, p.id)"
    stamped = (
        "l.time_millis IS coalesce(a.time_millis, v.time_millis) "
        "AND l.actor IS coalesce(a.actor, v.actor)"
    )
    run(
        "INSERT INTO log SELECT l.offset, u.id, l.aspect, nullif(l.change, 'UPSERT'), "
        f"CASE WHEN {value_id} IS NULL THEN compress(l.value) END, "
        "CASE WHEN b.id IS NULL THEN compress(l.previous) END, b.id, "
        "CASE WHEN l.change = 'UPSERT' THEN digest(l.value) END, "
        f"CASE WHEN {stamped} THEN NULL ELSE l.time_millis END, "
        f"CASE WHEN {stamped} THEN NULL ELSE l.actor END, "
        "CASE WHEN l.system IS coalesce(a.system, v.system, p.system) THEN NULL ELSE l.system END "
        "FROM old_log l JOIN urns u ON u.urn = l.urn LEFT JOIN aspects a ON a.id = l.offset "
        "LEFT JOIN versions v ON v.id = l.offset LEFT JOIN points p ON p.id = l.offset "
        "LEFT JOIN found_before b ON b.offset = l.offset ORDER BY l.offset"
    )
    run("DROP TABLE old_log")
    for table in (*_VALUES, "before"):
        run(f"DROP TABLE found_{table}")


_VALUES = {
    "aspects": "entity, name, value, superseded, time_millis, actor, system, run",
    "versions": "entity, name, version, value, time_millis, actor, system, run",
    "points": "entity, aspect, at_millis, series, value, system, run",
}
"""The tables that contain values, with their columns other than the id."""


def _of_bytes(work: Callable[[bytes], Any], value: Any) -> Any:
    """Return `work(value)` for bytes, and any other value unchanged."""
    return work(value) if isinstance(value, bytes) else value


def _find_versions(connection: sqlite3.Connection) -> None:
    """Find the offsets at which the log wrote older versions, and the rows that superseded them.

    The versions of an aspect are matched from the newest to the oldest.
    """
    run = connection.execute
    histories = "SELECT DISTINCT v.entity, u.urn, v.name FROM versions v JOIN urns u"
    for entity, urn, name in run(f"{histories} ON u.id = v.entity").fetchall():
        versions = run(
            "SELECT id, value FROM versions WHERE entity = ? AND name = ? ORDER BY version DESC",
            (entity, name),
        ).fetchall()
        rows = run(
            "SELECT offset, change, value, previous FROM log "
            "WHERE urn = ? AND aspect = ? ORDER BY offset DESC",
            (urn, name),
        )
        latest = run(
            "SELECT f.offset FROM aspects a JOIN found_aspects f ON f.id = a.id "
            "WHERE a.entity = ? AND a.name = ?",
            (entity, name),
        ).fetchone()
        offsets: list[tuple[int, int]] = []
        superseding: list[tuple[int, bytes | None]] = []
        for offset, change, value, previous in rows:
            if change != "UPSERT" or not versions:
                break
            superseding.append((offset, previous))
            if (latest is None or offset < latest[0]) and value == versions[0][1]:
                offsets.append((versions.pop(0)[0], offset))
                before = superseding[-2] if len(superseding) > 1 else None
                if before is not None and before[1] == value:
                    run("INSERT INTO found_before VALUES (?, ?)", (before[0], offset))
        connection.executemany("INSERT INTO found_versions VALUES (?, ?)", offsets)


def _find_points(connection: sqlite3.Connection) -> None:
    """Find the offsets at which the log wrote the documents of timeseries aspects."""
    run = connection.execute
    series = "SELECT DISTINCT p.entity, u.urn, p.aspect FROM points p JOIN urns u"
    for entity, urn, aspect in run(f"{series} ON u.id = p.entity").fetchall():
        rows = run(
            "SELECT value, offset FROM log "
            "WHERE urn = ? AND aspect = ? AND change = 'UPSERT' ORDER BY offset",
            (urn, aspect),
        )
        offsets = dict(rows.fetchall())
        points = run(
            "SELECT id, value FROM points WHERE entity = ? AND aspect = ?", (entity, aspect)
        ).fetchall()
        connection.executemany(
            "INSERT INTO found_points VALUES (?, ?)",
            [(row, offsets.pop(value)) for row, value in points if value in offsets],
        )


def _renumber(connection: sqlite3.Connection, table: str, columns: str) -> None:
    """Create a table anew, with the offsets found before as ids."""
    run = connection.execute
    definitions = run(
        "SELECT type, name, sql FROM sqlite_master WHERE tbl_name = ? AND sql IS NOT NULL "
        "ORDER BY type DESC",
        (table,),
    ).fetchall()
    for kind, name, _ in definitions:
        if kind == "index":
            run(f"DROP INDEX {name}")
    run(f"ALTER TABLE {table} RENAME TO old_{table}")
    run(definitions[0][2])
    old_columns = columns.replace("value", "compress(value)")
    run(
        f"INSERT INTO {table} (id, {columns}) "
        f"SELECT coalesce(f.offset, o.id - {_UNLOGGED}) AS at, {old_columns} FROM old_{table} o "
        f"LEFT JOIN found_{table} f ON f.id = o.id ORDER BY at"
    )
    run(f"DROP TABLE old_{table}")
    for kind, _, statement in definitions:
        if kind == "index":
            run(statement)


MIGRATIONS: Mapping[int, Migration] = MappingProxyType(
    {1: _keep_last_versions, 2: _sort_placements, 3: _refer_log}
)
"""The migrations, by the format from which each leads to the next one."""

_log = logging.getLogger("explorer.server")


def migrate(
    connection: sqlite3.Connection,
    path: Path,
    file_format: int,
    target: int,
    migrations: Mapping[int, Migration],
) -> None:
    """Apply all migrations from `file_format` to `target`, in one transaction.

    First, a copy of the file is written beside it. Nothing is done if the formats are the same.
    Raises `Unusable` if a migration fails; the file is then unchanged.
    """
    if file_format == target:
        return
    copy_path = path.with_name(f"{path.name}.format-{file_format}")
    _log.warning(
        "%s is being upgraded from format %d to %d; a copy is kept in %s",
        path,
        file_format,
        target,
        copy_path,
    )
    try:
        copy_database(connection, copy_path)
    except OSError as error:
        raise StorageFault(
            f"{path} was not upgraded to this release's format, because a copy of it could not be "
            f"saved in {copy_path}: {error.strerror or error}; free some space there"
        ) from error
    connection.execute("BEGIN IMMEDIATE")
    try:
        for step in range(file_format, target):
            migrations[step](connection)
        connection.execute("UPDATE meta SET value = ? WHERE key = 'format'", (str(target),))
        connection.execute("COMMIT")
    except sqlite3.Error as error:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise InvalidFile(
            f"{path} cannot be upgraded from format {file_format} to {target}: {error}; it was not "
            "changed, and the release that wrote it can still use it"
        ) from error


def copy_database(source: sqlite3.Connection, target: Path) -> None:
    """Copy a database at one moment, replacing the target; the copy is on disk on return.

    Writes to the source continue meanwhile. Raises `sqlite3.Error` and `OSError`; no incomplete
    copy is left under the target's name.
    """
    draft = target.with_name(f"{target.name}.partial")
    draft.unlink(missing_ok=True)
    try:
        os.close(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        with closing(sqlite3.connect(draft)) as copy:
            # In one step: with several, a write in between would restart the copy each time.
            source.backup(copy, pages=-1)
        descriptor = os.open(draft, os.O_RDWR)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        draft.replace(target)
        flush_directory(target.parent)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def flush_directory(directory: Path) -> None:
    """Make the names in a directory durable, if the system supports that."""
    if os.name != "posix":
        return
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


# `sqlite3` decodes SQLite's messages, and one about a damaged file may quote any bytes of it.
SQLITE_ERRORS = (sqlite3.Error, UnicodeDecodeError)
"""The errors that calls of `sqlite3` raise."""

_PRIMARY = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
# Without the errors for a full disk or a limit: such a write is rolled back and may be retried.
# After a failed flush, it is unknown what is on the disk.
_EXTENDED = {
    sqlite3.SQLITE_IOERR_READ,
    sqlite3.SQLITE_IOERR_SHORT_READ,
    sqlite3.SQLITE_IOERR_FSYNC,
    sqlite3.SQLITE_IOERR_DIR_FSYNC,
    sqlite3.SQLITE_IOERR_CORRUPTFS,
    sqlite3.SQLITE_IOERR_DATA,
}


class Damage:
    """The damage found in a database file, if any; thread-safe.

    Once damage is found, nothing is written to the file, and reads return what is still readable.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.problem: str | None = None

    def check(self) -> None:
        """Raise `InvalidFile` if the file is known to be damaged."""
        if self.problem is not None:
            raise InvalidFile(self.problem)

    def note(self, error: BaseException) -> CatalogError | None:
        """Record an error that means damage, and return the error to raise for it; return `None`
        for any other error."""
        if not is_damage(error):
            return None
        if self.problem is None:
            self.problem = (
                f"the catalog's database {self.path.name} is damaged ({error}), and no more "
                "writes are accepted; stop the service, run catalog check, and go back to a "
                "backup with catalog restore"
            )
            _log.critical(
                "%s is damaged; the service is read-only from now on: %s", self.path, error
            )
        return InvalidFile(self.problem)


def is_damage(error: BaseException) -> bool:
    """Return whether an error of `sqlite3` means that the file does not hold what was written."""
    if isinstance(error, UnicodeDecodeError):
        return True
    if not isinstance(error, sqlite3.Error):
        return False
    code = getattr(error, "sqlite_errorcode", None)
    if code is None:
        # Raised by the Python module for text from SQLite that it cannot decode.
        return "Could not decode to UTF-8" in str(error)
    return code & 0xFF in _PRIMARY or code in _EXTENDED


def find_damage(connection: sqlite3.Connection, *, quick: bool = False) -> list[str]:
    """Return the damage that SQLite finds in a file, at most 10 lines; takes seconds for a large
    one.

    `quick` skips the comparison of the indexes with the rows of their tables.
    """
    check = "quick_check" if quick else "integrity_check"
    try:
        problems = [str(line) for (line,) in connection.execute(f"PRAGMA {check}(10)")]
    except SQLITE_ERRORS as error:
        if not is_damage(error):
            raise
        return [str(error)]
    return [] if problems == ["ok"] else problems


FORMAT = 4

_TABLES = f"""
{LAST_VERSIONS};
{";".join(LOG)};

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

-- In this table and the next two, `id` is the offset of the row of the log that wrote the value;
-- one below 0 was written before the log, or before it named its rows. Values as `compression` has
-- them.
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
    -- The system metadata since the value was written again as it is; NULL before.
    seen BLOB,
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
"""

# The size of a page; a file of one page has no tables, or has them in its write-ahead log.
_PAGE_BYTES = 4_096
_CACHE = f"cache_size = -{32 * 1024}"
_MMAP = f"mmap_size = {1 << 30}"


def connect(path: Path, *, reading: bool = False) -> sqlite3.Connection:
    """Open a connection with the settings of this engine; one thread may use it at a time."""
    connection = sqlite3.connect(
        path, timeout=10.0, isolation_level=None, check_same_thread=False, cached_statements=256
    )
    settings = ["query_only = ON"] if reading else ["synchronous = FULL", _CACHE]
    try:
        connection.create_function("expand", 1, expand, deterministic=True)
        for setting in (_MMAP, *settings):
            connection.execute(f"PRAGMA {setting}")
    except BaseException:
        connection.close()
        raise
    return connection


def is_read_only(path: Path) -> bool:
    """Return whether a catalog file or its directory cannot be written, as on read-only media."""
    return not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK))


def is_empty(path: Path) -> bool:
    """Return whether there is no catalog file, or nothing was written to it. Raises `Unusable` in
    the same cases as `connect_read_only`."""
    # SQLite deletes the write-ahead log of a file of 0 bytes, in which something may be left.
    size = path.stat().st_size if path.is_file() else 0
    if not 0 < size <= _PAGE_BYTES:
        return not size
    try:
        with closing(connect_read_only(path)) as connection:
            return connection.execute("SELECT 1 FROM sqlite_master").fetchone() is None
    except SQLITE_ERRORS:
        return False


def connect_read_only(path: Path) -> sqlite3.Connection:
    """Open a connection that writes nothing; the file may be on read-only media.

    Raises `sqlite3.Error`, and `Unusable` if a file on read-only media has its latest writes in a
    write-ahead log beside it.
    """
    if not is_read_only(path):
        return connect(path, reading=True)
    log = path.with_name(f"{path.name}-wal")
    if log.exists() and log.stat().st_size:
        raise StorageFault(
            f"{path} cannot be written, and its latest changes are in {log.name} beside it: copy "
            "both to a directory that can be written"
        )
    # Nobody writes to the file, so neither locks nor the write-ahead log are needed.
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode=ro&immutable=1",
        uri=True,
        isolation_level=None,
        check_same_thread=False,
    )
    try:
        connection.create_function("expand", 1, expand, deterministic=True)
        connection.execute("PRAGMA query_only = ON")
    except BaseException:
        connection.close()
        raise
    return connection


def check_readable(connection: sqlite3.Connection, path: Path) -> None:
    """Raise `InvalidFile` if a file is not a catalog, or one of a newer release."""
    with _sentences(path):
        file_format = _find_format(connection, path)
    if file_format is None:
        raise InvalidFile(f"{path} is empty; name another file")
    _check_format(file_format, FORMAT, MIGRATIONS, path)


def open_file(
    path: Path, *, target: int = FORMAT, migrations: Mapping[int, Migration] = MIGRATIONS
) -> sqlite3.Connection:
    """Open the writer's connection to a catalog file, creating the file if it does not exist.

    A file of an older format is first migrated to the format `target`; a copy of the old one stays
    beside it, as `catalog.db.format-1`. The caller must have locked the directory. Raises
    `Unusable` if the file is not a catalog, has a newer format, or cannot be written.
    """
    with _sentences(path):
        # A file created by SQLite would be readable by everybody on the machine.
        path.touch(mode=0o600, exist_ok=True)
        connection = connect(path)
        try:
            file_format = _find_format(connection, path)
            if file_format is not None:
                _check_format(file_format, target, migrations, path)
            _log_ahead(connection, path)
            if file_format is not None:
                migrate(connection, path, file_format, target, migrations)
            else:
                connection.executescript(
                    f"BEGIN IMMEDIATE;{_TABLES}"
                    f"INSERT INTO meta VALUES ('format', '{FORMAT}'), "
                    f"('id', '{secrets.token_hex(16)}');COMMIT;"
                )
        except BaseException:
            connection.close()
            raise
    return connection


def add_lineage_indexes(connection: sqlite3.Connection) -> None:
    """Create the indexes that cover the query for a hop of lineage, if they are missing.

    With them, the query does not read an entity's other edges (owners, tags, children). Creating
    them takes two seconds per million edges.
    """
    for name, columns in (("lineage_in", "target, source"), ("lineage_out", "source, target")):
        connection.execute(
            f"CREATE INDEX IF NOT EXISTS {name} ON edges ({columns}, flow, type) WHERE flow > 0"
        )


def read_id(connection: sqlite3.Connection) -> str:
    """Return the random id of a catalog, creating it if there is none. Raises `sqlite3.Error`."""
    row = connection.execute("SELECT value FROM meta WHERE key = 'id'").fetchone()
    return str(row[0]) if row else renew_id(connection)


def renew_id(connection: sqlite3.Connection) -> str:
    """Give a catalog a new random id, so that no existing index belongs to it; return the id.

    Clients continue to identify the catalog by its first id: see `store.lasting_id`.
    """
    identity = secrets.token_hex(16)
    connection.execute(
        "INSERT OR IGNORE INTO meta SELECT ?, value FROM meta WHERE key = 'id'",
        (f"note.{LASTING_ID}",),
    )
    connection.execute("INSERT OR REPLACE INTO meta VALUES ('id', ?)", (identity,))
    return identity


@contextmanager
def _sentences(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, *SQLITE_ERRORS) as error:
        if is_damage(error):
            raise InvalidFile(
                f"{path} cannot be used as a catalog: it is damaged or is not a catalog "
                f"({error}); run catalog check, and go back to a backup with catalog restore, or "
                "name another data directory"
            ) from error
        what = "name another data directory"
        if is_full(error):
            what = f"make room there, or {what}"
        elif isinstance(error, PermissionError):
            what = f"give it to the user that the service runs as, or {what}"
        why = getattr(error, "strerror", None) or error
        raise StorageFault(f"{path} cannot be used as a catalog: {why}; {what}") from error


def _find_format(connection: sqlite3.Connection, path: Path) -> int | None:
    """Return the format of the catalog in a file; `None` if the file is empty."""
    tables = {
        name
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
    }
    if not tables:
        return None
    # Triggers and views run with the rights of the user who writes.
    triggers_and_views = "SELECT type, name FROM sqlite_master WHERE type IN ('trigger', 'view')"
    for kind, name in connection.execute(triggers_and_views):
        raise InvalidFile(
            f"{path} has the {kind} {name}, which no catalog has, and which could change what is "
            f"written; name a copy without it or, if you trust the rest of the file, drop the "
            f"{kind} with SQLite's own command line, and then run catalog check"
        )
    row = None
    if "meta" in tables:
        row = connection.execute("SELECT value FROM meta WHERE key = 'format'").fetchone()
    format_text = row[0] if row else None
    if format_text is None or not format_text.isdecimal():
        raise InvalidFile(
            f"{path} is a database of another application; name another data directory"
        )
    return int(format_text)


def _check_format(
    file_format: int, target: int, migrations: Mapping[int, Migration], path: Path
) -> None:
    if file_format > target:
        raise InvalidFile(
            f"{path} was written by a newer release (format {file_format}; this one reads "
            f"{target}): upgrade catalog-explorer, or name another data directory"
        )
    if any(step not in migrations for step in range(file_format, target)):
        raise InvalidFile(
            f"{path} has the unknown format {file_format} (this release reads {target}); "
            "name another data directory"
        )


def _log_ahead(connection: sqlite3.Connection, path: Path) -> None:
    mode = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
    if mode != "wal":
        raise StorageFault(
            f"the file system of {path} does not support write-ahead logging; "
            "name a data directory on a local disk"
        )


_MARK = b"\1"
# Shorter values are not compressed, so most values that people write are readable with other
# programs.
_LEAST_BYTES = 256
_RAW = -15
# A window of 8 kB needs a fifth of the memory of the usual 32 kB, which halves the time for a
# schema. Level 3 compresses it 6 % smaller than level 1 in 5 % more time.
_WRITTEN = (3, zlib.DEFLATED, -13, 6)

_DICTIONARY = (
    b'{"upstreams":[{"auditStamp":{"time":0,"actor":"urn:li:corpuser:unknown"},"created":{"time":'
    b'0,"actor":"urn:li:corpuser:datahub"},"dataset":"urn:li:dataset:(urn:li:dataPlatform:",PROD)"'
    b',"type":"TRANSFORMED"}],"fineGrainedLineages":[{"confidenceScore":1.0,"downstreamType":"FIEL'
    b'D","downstreams":["urn:li:schemaField:(urn:li:dataset:(urn:li:dataPlatform:"],"upstreamType"'
    b':"FIELD_SET","transformOperation":"","upstreams":["urn:li:schemaField:(urn:li:dataset:(urn:l'
    b'i:dataPlatform:"]}]{"owners":[{"owner":"urn:li:corpuser:","type":"TECHNICAL_OWNER"},{"owner"'
    b':"urn:li:corpGroup:","type":"BUSINESS_OWNER"}],"ownerTypes":{},"lastModified":{"time":0,"act'
    b'or":"urn:li:corpuser:unknown"}}{"customProperties":{},"externalUrl":"https://","name":"","qu'
    b'alifiedName":"","description":"","tags":[],"timestampMillis":0,"eventGranularity":{"unit":"D'
    b'AY","multiple":1},"partitionSpec":{"type":"FULL_TABLE","partition":"FULL_TABLE_SNAPSHOT"},"r'
    b'owCount":0,"columnCount":0,"fieldProfiles":[{"fieldPath":"","uniqueCount":0,"uniqueProportio'
    b'n":0.0,"nullCount":0,"nullProportion":0.0,"min":"","max":"","mean":"","median":"","stdev":""'
    b',"sampleValues":[""]}],"totalSqlQueries":0,"uniqueUserCount":0,"userCounts":[{"user":"urn:li'
    b':corpuser:","count":0}],"fieldCounts":[{"fieldPath":"","count":0}],"topSqlQueries":["SELECT '
    b'FROM WHERE"]}{"editableSchemaFieldInfo":[{"fieldPath":"","description":"","globalTags":{"tag'
    b's":[{"tag":"urn:li:tag:"}]},"glossaryTerms":{"terms":[{"urn":"urn:li:glossaryTerm:"}],"audit'
    b'Stamp":{"time":0,"actor":"urn:li:corpuser:"}}}]}{"schemaName":"","platform":"urn:li:dataPlat'
    b'form:","version":0,"hash":"","platformSchema":{"com.linkedin.schema.OtherSchema":{"rawSchema'
    b'":""}},"com.linkedin.schema.MySqlDDL":{"tableSchema":""}"primaryKeys":[],"foreignKeys":[],"f'
    b'ields":[{"fieldPath":"[version=2.0].[type=struct].[type=string].","jsonPath":null,"nullable"'
    b':false,"label":null,"description":"","type":{"type":{"com.linkedin.schema.ArrayType":{"neste'
    b'dType":["string"]}}},"com.linkedin.schema.RecordType":{}"com.linkedin.schema.EnumType":{}"co'
    b'm.linkedin.schema.BytesType":{}"com.linkedin.schema.DateType":{}}},"nativeDataType":"TIMESTA'
    b'MP_NTZ(9)","recursive":false,"isPartOfKey":true},{"fieldPath":"","nullable":true,"descriptio'
    b'n":"","type":{"type":{"com.linkedin.schema.BooleanType":{}}},"nativeDataType":"BOOLEAN","rec'
    b'ursive":false,"isPartOfKey":false},{"fieldPath":"","nullable":true,"description":"","type":{'
    b'"type":{"com.linkedin.schema.TimeType":{}}},"nativeDataType":"timestamp","recursive":false,"'
    b'isPartOfKey":false},{"fieldPath":"","nullable":true,"description":"","type":{"type":{"com.li'
    b'nkedin.schema.NumberType":{}}},"nativeDataType":"NUMBER(38,0)","recursive":false,"isPartOfKe'
    b'y":false},{"fieldPath":"","nullable":true,"description":"","type":{"type":{"com.linkedin.sch'
    b'ema.StringType":{}}},"nativeDataType":"varchar(255)","recursive":false,"isPartOfKey":false},'
)
# A copy of it knows the dictionary already.
_PRESSING = zlib.compressobj(*_WRITTEN, zdict=_DICTIONARY)


def compress(value: bytes) -> bytes:
    """Return the stored form of a value; a schema of 15 columns shrinks from 2.3 kB to 0.5 kB."""
    if len(value) < _LEAST_BYTES:
        return value
    pressing = _PRESSING.copy()
    short = _MARK + pressing.compress(value) + pressing.flush()
    return short if len(short) < len(value) else value


def expand(stored: Any) -> Any:
    """Return the value of a stored form; a damaged one is returned unchanged, and is not JSON."""
    if not isinstance(stored, bytes) or not stored.startswith(_MARK):
        return stored
    expanding = zlib.decompressobj(_RAW, _DICTIONARY)
    try:
        value = expanding.decompress(stored[1:])
    except zlib.error:
        return stored
    return value if expanding.eof else stored
