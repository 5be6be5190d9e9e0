"""Answers kept on disk, so that what was read once can be read again without the server."""

import hashlib
import logging
import os
import sqlite3
import time
import zlib
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import Final, TypeVar

import orjson

from explorer.client.transport import Request

__all__ = ["AnswerCache"]

_FORMAT: Final = 1
_MAX_BYTES: Final = 64 << 20
_MAX_ANSWERS: Final = 20_000
_MAX_ANSWER_BYTES: Final = 4 << 20
_MAX_AGE_MICROS: Final = 30 * 24 * 3600 * 1_000_000
_BUSY_SECONDS: Final = 0.1
# What a row costs beside its body, and how much is left when the oldest have gone.
_ROW_BYTES: Final = 128
_LEFT: Final = 0.9

_SCHEMA: Final = f"""
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS answers (
  key BLOB NOT NULL UNIQUE, kept_micros INTEGER NOT NULL, used_micros INTEGER NOT NULL,
  size INTEGER NOT NULL, body BLOB NOT NULL
);
CREATE INDEX IF NOT EXISTS by_use ON answers (used_micros, size);
CREATE TABLE IF NOT EXISTS total (answers INTEGER NOT NULL, bytes INTEGER NOT NULL);
INSERT INTO total SELECT 0, 0 WHERE NOT EXISTS (SELECT * FROM total);
CREATE TRIGGER IF NOT EXISTS more AFTER INSERT ON answers BEGIN
  UPDATE total SET answers = answers + 1, bytes = bytes + new.size;
END;
CREATE TRIGGER IF NOT EXISTS other AFTER UPDATE OF size ON answers BEGIN
  UPDATE total SET bytes = bytes + new.size - old.size;
END;
CREATE TRIGGER IF NOT EXISTS fewer AFTER DELETE ON answers BEGIN
  UPDATE total SET answers = answers - 1, bytes = bytes - old.size;
END;
PRAGMA user_version = {_FORMAT};
COMMIT;
"""
_PUT: Final = """
INSERT INTO answers VALUES (?, ?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET
  kept_micros = excluded.kept_micros, used_micros = excluded.used_micros,
  size = excluded.size, body = excluded.body
"""
_OLDEST: Final = "SELECT rowid, size FROM answers ORDER BY used_micros"

_Given = TypeVar("_Given")
_logger = logging.getLogger("explorer.client")


class _OtherFormat(Exception):
    """The file is another release's."""


class AnswerCache:
    """The answers of one server, in a file of its own in `directory`, which is made when needed.

    An answer is found for the request that it answered and no other: the same method, path and
    body. An entity that was read among others is not found for the request that reads it alone.
    Headers, and so tokens, are neither looked at nor kept; who asks one server as several people
    gives each a `server` text of its own. Answers of writes are never kept.

    At most 64 MB, compressed, and 20,000 answers are kept, those last asked for longest ago going
    first; none over 4 MB, and none is given that is older than 30 days. Methods block for about a
    tenth of a millisecond, and as long as the disk takes when the oldest go. They raise nothing:
    without a usable disk nothing is kept and nothing found, what another process's writing keeps
    out for a tenth of a second is not kept, and a damaged file is begun anew. May be used from
    several threads, and the file from several processes.
    """

    def __init__(self, directory: Path, server: str) -> None:
        name = hashlib.sha256(server.encode(errors="surrogatepass")).hexdigest()[:24]
        self._path = directory / f"{name}.sqlite"
        self._lock = Lock()
        self._database: sqlite3.Connection | None = None
        self._closed = False

    def get(self, request: Request) -> tuple[bytes, datetime] | None:
        """The answer's body and when it was kept; nothing where none is kept."""
        key = _key(request)
        if key is None:
            return None
        found = self._use(lambda database: _read(database, key))
        if found is None:
            return None
        packed, kept_micros = found
        try:
            body = zlib.decompress(packed)
        except zlib.error:
            self._use(lambda database: _remove(database, key))
            return None
        return body, datetime.fromtimestamp(kept_micros / 1_000_000, UTC)

    def put(self, request: Request, body: bytes) -> None:
        """Keep an answer in place of the earlier one; that of a write, or a large one, is not."""
        key = _key(request)
        if key is None or len(body) > _MAX_ANSWER_BYTES:
            return
        packed = zlib.compress(body, 1)
        self._use(lambda database: _write(database, key, packed))

    def clear(self) -> None:
        """Forget every answer of this server, also for other processes."""
        self._use(_empty)

    def close(self) -> None:
        """Close the file; nothing is kept or found any more."""
        with self._lock:
            self._closed = True
            self._leave()

    def _use(self, ask: Callable[[sqlite3.Connection], _Given]) -> _Given | None:
        """What the file says; nothing where it cannot be used. A damaged one is begun anew."""
        with self._lock:
            for _ in range(2):
                if self._closed:
                    return None
                try:
                    if self._database is None:
                        self._database = _open(self._path)
                    return ask(self._database)
                except (sqlite3.Error, _OtherFormat, OSError) as error:
                    _logger.debug("%s: %s", self._path, error)
                    if not _is_damage(error):
                        # One that could not even be opened is not tried at every answer.
                        self._closed = self._database is None and not _is_busy(error)
                        return None
                    self._begin_anew()
        return None

    def _begin_anew(self) -> None:
        self._leave()
        for end in ("", "-wal", "-shm"):
            with suppress(OSError):
                self._path.with_name(self._path.name + end).unlink()

    def _leave(self) -> None:
        if self._database is not None:
            with suppress(sqlite3.Error):
                self._database.close()
            self._database = None


def _key(request: Request) -> bytes | None:
    """What tells a request from others; nothing for one whose answer is not kept."""
    if request.writes:
        return None
    try:
        body = (
            b"" if request.body is None else orjson.dumps(request.body, option=orjson.OPT_SORT_KEYS)
        )
    except orjson.JSONEncodeError:
        return None
    head = f"{request.method} {request.path}\n".encode(errors="surrogatepass")
    return hashlib.sha256(head + body).digest()


def _open(path: Path) -> sqlite3.Connection:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # Made here, since SQLite would make it readable by others; its companions follow its mode.
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    database = sqlite3.connect(
        path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
    )
    try:
        database.execute("PRAGMA journal_mode = WAL")
        # What the last seconds brought may be lost with the power; the file stays whole.
        database.execute("PRAGMA synchronous = NORMAL")
        database.execute("PRAGMA journal_size_limit = 4194304")
        _lay_out(database)
        # Whatever was used before that is as old itself.
        long_ago = _now_micros() - _MAX_AGE_MICROS
        database.execute("DELETE FROM answers WHERE used_micros < ?", (long_ago,))
    except BaseException:
        database.close()
        raise
    return database


def _lay_out(database: sqlite3.Connection) -> None:
    (number,) = database.execute("PRAGMA user_version").fetchone()
    if number not in (0, _FORMAT):
        raise _OtherFormat(f"its format is {number}")
    if number == 0:
        database.executescript(_SCHEMA)


def _read(database: sqlite3.Connection, key: bytes) -> tuple[bytes, int] | None:
    now_micros = _now_micros()
    found: tuple[bytes, int] | None = database.execute(
        "SELECT body, kept_micros FROM answers WHERE key = ? AND kept_micros >= ?",
        (key, now_micros - _MAX_AGE_MICROS),
    ).fetchone()
    if found is not None:
        # Whether or not that can be noted now, here is the answer.
        with suppress(sqlite3.OperationalError):
            database.execute("UPDATE answers SET used_micros = ? WHERE key = ?", (now_micros, key))
    return found


def _write(database: sqlite3.Connection, key: bytes, packed: bytes) -> None:
    now_micros = _now_micros()
    with database:
        database.execute("BEGIN IMMEDIATE")
        size = len(packed) + _ROW_BYTES
        database.execute(_PUT, (key, now_micros, now_micros, size, packed))
        answers, total_bytes = database.execute("SELECT answers, bytes FROM total").fetchone()
        if answers > _MAX_ANSWERS or total_bytes > _MAX_BYTES:
            _let_oldest_go(database, answers, total_bytes)


def _let_oldest_go(database: sqlite3.Connection, answers: int, total_bytes: int) -> None:
    gone: list[tuple[int]] = []
    for row, size in database.execute(_OLDEST):
        if answers <= _LEFT * _MAX_ANSWERS and total_bytes <= _LEFT * _MAX_BYTES:
            break
        gone.append((row,))
        answers -= 1
        total_bytes -= size
    database.executemany("DELETE FROM answers WHERE rowid = ?", gone)


def _remove(database: sqlite3.Connection, key: bytes) -> None:
    database.execute("DELETE FROM answers WHERE key = ?", (key,))


def _empty(database: sqlite3.Connection) -> None:
    database.execute("DELETE FROM answers")
    # What was deleted stands in the file until it is written anew.
    database.execute("VACUUM")
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _is_damage(error: Exception) -> bool:
    """Whether the file itself is bad, rather than the disk full, shut or busy."""
    if isinstance(error, sqlite3.Error):
        # Code 1 is a statement that does not fit the tables: they are not ours.
        code = _code(error)
        return code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR)
    return isinstance(error, _OtherFormat)


def _is_busy(error: Exception) -> bool:
    return isinstance(error, sqlite3.Error) and _code(error) in (
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
    )


def _code(error: sqlite3.Error) -> int:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def _now_micros() -> int:
    return time.time_ns() // 1_000
