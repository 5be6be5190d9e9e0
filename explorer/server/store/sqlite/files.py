"""Operations on a catalog's file as a whole: check, copy while others write, compact, replace."""

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
    "copy_file",
    "draft_restored_file",
    "find_file_damage",
    "replace_file",
]


def find_file_damage(path: Path) -> list[str]:
    """Return what SQLite finds wrong with a file, at most 10 lines; takes seconds for a large one.

    Raises `Unusable` if a file on read-only media has its latest writes in a write-ahead log beside
    it.
    """
    try:
        with closing(connect_read_only(path)) as connection:
            return find_damage(connection)
    except SQLITE_ERRORS as error:
        return [str(error)]


def back_up_file(source: Path, target: Path) -> None:
    """Copy a catalog at one moment, while others write to it.

    On return, the copy is on disk and verified. Raises `StoreFault`, `Unusable` and `OSError`.
    """
    with _faults():
        with closing(connect_read_only(source)) as connection:
            copy_database(connection, target)
        _prove(target)


def compact_file(path: Path) -> tuple[int, int]:
    """Rewrite a catalog without the space of removed rows; return its size before and after.

    Sizes are in bytes. The caller must have locked the directory. While it runs, as much disk space
    is needed again. If the process ends at any moment, the catalog stays intact. Raises
    `StoreFault` and `Unusable`.
    """
    with _faults(), closing(open_file(path)) as connection:
        # Move the write-ahead log into the file first, so that its content is counted.
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        before = path.stat().st_size
        connection.execute("VACUUM")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return before, path.stat().st_size


def draft_restored_file(backup: Path, draft: Path) -> int:
    """Create from a backup the file that will become the catalog; return its number of entities.

    The new file gets its own id, so that no search index of another state of this catalog is taken
    to be its own. Raises `InvalidFile` if the backup is not a catalog or is damaged, `StoreFault`
    and `OSError`; the draft is then removed.
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
    """Replace the present catalog by a draft, and keep the old file beside it under a dated name.

    Returns the path of the old file, `None` if there was none. If the process is killed at any
    moment, one of the two files has the catalog's name, complete. Raises `OSError`.
    """
    kept = _set_aside(present)
    draft.replace(present)
    flush_directory(present.parent)
    return kept


def _set_aside(present: Path) -> Path | None:
    """Give the present catalog a second, dated name; return its path, `None` if there is none."""
    if not present.exists():
        return None
    try:
        with closing(connect(present)) as connection:
            # Move the write-ahead log into the file. The log must be gone before another file gets
            # this name: SQLite would apply it to that file.
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    except SQLITE_ERRORS:
        # The file is damaged; the log is kept with it.
        pass
    stamp = datetime.now(UTC).strftime("%Y-%m-%dT%H-%M-%S.%f")
    kept = present.with_name(f"{present.name}.replaced-{stamp}")
    log = present.with_name(f"{present.name}-wal")
    if log.exists() and log.stat().st_size:
        copy_file(log, kept.with_name(f"{kept.name}-wal"))
    try:
        os.link(present, kept)
    except OSError:
        # The file system has no hard links.
        copy_file(present, kept)
    flush_directory(present.parent)
    log.unlink(missing_ok=True)
    present.with_name(f"{present.name}-shm").unlink(missing_ok=True)
    return kept


def copy_file(source: Path, target: Path) -> None:
    """Copy a file so that the target is either complete or absent."""
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
