"""Damage of the database file: which errors of SQLite mean it, and what follows."""

import logging
import sqlite3
from pathlib import Path

from explorer.errors import CatalogError, Unusable

__all__ = ["SQLITE_ERRORS", "Damage", "find_damage", "is_damage"]

_log = logging.getLogger("explorer.server")

# The module decodes SQLite's messages, and those about a damaged file may quote any bytes of it.
SQLITE_ERRORS = (sqlite3.Error, UnicodeDecodeError)
"""What calls of sqlite3 raise."""

_PRIMARY = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
# Not what a full disk or a limit gives: such a write is taken back and may be tried again. After a
# flush that failed nobody knows what is on the disk.
_EXTENDED = {
    sqlite3.SQLITE_IOERR_READ,
    sqlite3.SQLITE_IOERR_SHORT_READ,
    sqlite3.SQLITE_IOERR_FSYNC,
    sqlite3.SQLITE_IOERR_DIR_FSYNC,
    sqlite3.SQLITE_IOERR_CORRUPTFS,
    sqlite3.SQLITE_IOERR_DATA,
}


class Damage:
    """Whether a database file was found to be damaged. From then on nothing is written to it, and
    what can be read is read. Any thread may call."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.problem: str | None = None

    def check(self) -> None:
        """Raise `Unusable` when the file is known to be damaged."""
        if self.problem is not None:
            raise Unusable(self.problem)

    def note(self, error: BaseException) -> CatalogError | None:
        """Note an error that means damage; what to raise for it, nothing for any other error."""
        if not is_damage(error):
            return None
        if self.problem is None:
            self.problem = (
                f"the catalog's database {self._path.name} is damaged ({error}): nothing is "
                "written any more; stop the service, run catalog check, and go back to a backup "
                "with catalog restore"
            )
            _log.critical(
                "%s is damaged; the service only reads from now on: %s", self._path, error
            )
        return Unusable(self.problem)


def is_damage(error: BaseException) -> bool:
    """Whether an error, raised by sqlite3, means that the file does not hold what was written."""
    if isinstance(error, UnicodeDecodeError):
        return True
    if not isinstance(error, sqlite3.Error):
        return False
    code = getattr(error, "sqlite_errorcode", None)
    if code is None:
        # Raised by the Python module, for a text that SQLite gave.
        return "Could not decode to UTF-8" in str(error)
    return code & 0xFF in _PRIMARY or code in _EXTENDED


def find_damage(connection: sqlite3.Connection, *, quick: bool = False) -> list[str]:
    """Return what SQLite finds wrong with a file, 10 lines at most; seconds for a large one.

    `quick` does not compare the indexes of the tables with their rows.
    """
    check = "quick_check" if quick else "integrity_check"
    try:
        found = [str(line) for (line,) in connection.execute(f"PRAGMA {check}(10)")]
    except SQLITE_ERRORS as error:
        if not is_damage(error):
            raise
        return [str(error)]
    return [] if found == ["ok"] else found
