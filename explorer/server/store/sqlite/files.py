"""A catalog's file as a whole: checked, copied while others write, put in the place of another."""

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path

from explorer.errors import InvalidFile
from explorer.server.store.interface import StoreFault
from explorer.server.store.sqlite.schema import (
    SQLITE_ERRORS,
    check_readable,
    connect,
    connect_read_only,
    copy_database,
    find_damage,
    flush_directory,
    open_file,
    renew_id,
)

__all__ = [
    "back_up_file",
    "compact_file",
    "copy_whole",
    "draft_restored_file",
    "find_file_damage",
    "replace_file",
]


def find_file_damage(path: Path) -> list[str]:
    """Return what SQLite finds wrong with a file, 10 lines at most; seconds for a large one.

    Raises `Unusable` for a file on read-only media whose latest writes are in a log beside it.
    """
    try:
        with closing(connect_read_only(path)) as connection:
            return find_damage(connection)
    except SQLITE_ERRORS as error:
        return [str(error)]


def back_up_file(source: Path, target: Path) -> None:
    """Copy a catalog as it is at one moment, while others write to it; the copy is on disk and
    checked when this returns. Raises `StoreFault`, `Unusable` and `OSError`."""
    with _faults():
        with closing(connect_read_only(source)) as connection:
            copy_database(connection, target)
        _prove(target)


def compact_file(path: Path) -> tuple[int, int]:
    """Write a catalog anew without the room that removed rows left; how many bytes it took, and
    takes now. The caller holds the directory, and it needs as much room again meanwhile. Ended at
    any moment, the catalog is whole. Raises `StoreFault` and `Unusable`."""
    with _faults(), closing(open_file(path)) as connection:
        # The log beside it counts too: first into the file with it.
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        before = path.stat().st_size
        connection.execute("VACUUM")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return before, path.stat().st_size


def draft_restored_file(backup: Path, draft: Path) -> int:
    """Make of a backup the file that is to be the catalog, and return how many entities it holds.

    It has an id of its own, so that no search index made of another state of this catalog is taken
    for one of it. Raises `InvalidFile` for a backup that is none or is damaged, `StoreFault` and
    `OSError`; nothing is left under the draft's name then.
    """
    for suffix in ("", "-wal", "-shm"):
        draft.with_name(f"{draft.name}{suffix}").unlink(missing_ok=True)
    try:
        with _faults():
            with closing(connect_read_only(backup)) as source:
                _require_sound(source, backup)
                copy_database(source, draft)
            with closing(connect(draft)) as copy:
                renew_id(copy)
                count: int = copy.execute("SELECT count(*) FROM urns WHERE live").fetchone()[0]
            _prove(draft)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    return count


def _require_sound(source: sqlite3.Connection, backup: Path) -> None:
    check_readable(source, backup)
    if problems := find_damage(source):
        raise InvalidFile(f"the backup {backup} is damaged ({problems[0]}); name another one")


def replace_file(draft: Path, present: Path) -> Path | None:
    """Put a draft in the place of the present catalog, and return where that is kept beside it
    under a dated name; None where there was none.

    Killed at any moment, this leaves one of the two under the catalog's name, whole. Raises
    `OSError`.
    """
    kept = _set_aside(present)
    draft.replace(present)
    flush_directory(present.parent)
    return kept


def _set_aside(present: Path) -> Path | None:
    """Give the present catalog a second, dated name."""
    if not present.exists():
        return None
    try:
        with closing(connect(present)) as connection:
            # From the log into the file. The log must not be there any more when another file
            # takes this one's name: SQLite would apply it to that one.
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    except SQLITE_ERRORS:
        # It is damaged; then the log is kept with it.
        pass
    stamp = datetime.now(UTC).strftime("%Y-%m-%dT%H-%M-%S.%f")
    kept = present.with_name(f"{present.name}.replaced-{stamp}")
    log = present.with_name(f"{present.name}-wal")
    if log.exists() and log.stat().st_size:
        copy_whole(log, kept.with_name(f"{kept.name}-wal"))
    try:
        os.link(present, kept)
    except OSError:
        # A file system without links.
        copy_whole(present, kept)
    flush_directory(present.parent)
    log.unlink(missing_ok=True)
    present.with_name(f"{present.name}-shm").unlink(missing_ok=True)
    return kept


def copy_whole(source: Path, target: Path) -> None:
    """Copy a file so that it is there whole or not at all."""
    draft = target.with_name(f"{target.name}.partial")
    shutil.copyfile(source, draft)
    draft.chmod(0o600)
    with draft.open("rb+") as file:
        os.fsync(file.fileno())
    draft.replace(target)


def _prove(copy: Path) -> None:
    with closing(connect(copy)) as connection:
        if problems := find_damage(connection, quick=True):
            raise StoreFault(f"the copy is damaged: {problems[0]}")


@contextmanager
def _faults() -> Iterator[None]:
    try:
        yield
    except SQLITE_ERRORS as error:
        raise StoreFault(str(error)) from error
