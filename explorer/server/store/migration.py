"""Bringing a catalog file of an older format up to this release's, all of it or nothing.

To change the tables: raise `layout.FORMAT`, change the tables there, and add here, under the number
of the format before, the function that turns such a file into the new one.
"""

import logging
import os
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from types import MappingProxyType

from explorer.errors import Unusable
from explorer.metadata.names import natural_key

__all__ = [
    "LAST_VERSIONS",
    "MIGRATIONS",
    "Migration",
    "copy_database",
    "flush_directory",
    "migrate",
]

Migration = Callable[[sqlite3.Connection], None]
"""Changes the tables, by single `execute`s: it runs inside a transaction that it must not end."""

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
    """Make the table, with the aspects that are gone as far as the change log knows of them."""
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
    """Have the entities of a folder in the order in which people expect names."""
    connection.create_function("natural_key", 1, natural_key, deterministic=True)
    connection.execute("UPDATE placements SET sort = natural_key(name)")


MIGRATIONS: Mapping[int, Migration] = MappingProxyType(
    {1: _keep_last_versions, 2: _sort_placements}
)
"""By the format that each starts from, to the next one."""

_log = logging.getLogger("explorer.server")


def migrate(
    connection: sqlite3.Connection,
    path: Path,
    found: int,
    wanted: int,
    migrations: Mapping[int, Migration],
) -> None:
    """Take every step from the format found to the one wanted, in one transaction.

    A copy of the file as it was is made first, beside it. Nothing is done when the formats are
    the same. Raises `Unusable`, with the file as it was, when a step fails.
    """
    if found == wanted:
        return
    kept = path.with_name(f"{path.name}.format-{found}")
    _log.warning(
        "%s is brought from format %d to %d; a copy stays in %s", path, found, wanted, kept
    )
    try:
        copy_database(connection, kept)
    except OSError as error:
        raise Unusable(
            f"{path} is not brought to this release's format, for no copy of it can be kept in "
            f"{kept}: {error.strerror or error}; make room for it"
        ) from error
    connection.execute("BEGIN IMMEDIATE")
    try:
        for step in range(found, wanted):
            migrations[step](connection)
        connection.execute("UPDATE meta SET value = ? WHERE key = 'format'", (str(wanted),))
        connection.execute("COMMIT")
    except sqlite3.Error as error:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise Unusable(
            f"{path} cannot be brought from format {found} to {wanted}: {error}; "
            "it is as it was, for the release that wrote it"
        ) from error


def copy_database(source: sqlite3.Connection, target: Path) -> None:
    """A copy of one moment of a database, on disk when this returns; in place of what was there.

    Writers of the source go on meanwhile. Raises `sqlite3.Error` and `OSError`, and leaves nothing
    half done under the target's name.
    """
    draft = target.with_name(f"{target.name}.partial")
    draft.unlink(missing_ok=True)
    try:
        os.close(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        with closing(sqlite3.connect(draft)) as copy:
            # In one step: in several, a write in between would begin it anew each time.
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
    """Make the names in a directory durable, where the system can."""
    if os.name != "posix":
        return
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
