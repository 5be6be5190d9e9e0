"""The on-disk cache of answers, which can be read without the server."""

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

_FORMAT: Final = 1
_MAX_BYTES: Final = 64 << 20
_MAX_ANSWERS: Final = 20_000
_MAX_ANSWER_BYTES: Final = 4 << 20
_MAX_AGE_MICROS: Final = 30 * 24 * 3600 * 1_000_000
_BUSY_SECONDS: Final = 0.1
# The size of a row without its body, and the fraction of the limits to which eviction reduces the
# cache.
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
    """The file was written by an incompatible release."""


class AnswerCache:
    """The answers of one server, in a SQLite file in `directory`, which is created if needed.

    An answer is found only for the same request: the same method, path and body. An entity that was
    read in a batch is not found for the request that reads it alone. Headers, and so tokens, are
    neither compared nor stored; for several users of one server, use a different `server` text for
    each. Answers to writes are never stored.

    At most 64 MB (compressed) and 20,000 answers are stored, and the least recently used are
    evicted first. No answer above 4 MB is stored, and none older than 30 days is returned. Methods
    block for about a tenth of a millisecond, and longer when they evict. They never raise: if the
    file cannot be used, nothing is stored or found; a write that has to wait for another process
    for a tenth of a second is skipped; a damaged file is replaced by a new one. The cache may be
    used from several threads, and its file from several processes.
    """

    def __init__(self, directory: Path, server: str) -> None:
        name = hashlib.sha256(server.encode(errors="surrogatepass")).hexdigest()[:24]
        self._path = directory / f"{name}.sqlite"
        self._lock = Lock()
        self._database: sqlite3.Connection | None = None
        self._closed = False

    def get(self, request: Request) -> tuple[bytes, datetime] | None:
        """Return the body of the answer and when it was stored, or `None` if none is stored."""
        key = _key(request)
        if key is None:
            return None
        use = self._use(lambda database: _read(database, key))
        if use is None:
            return None
        packed, kept_micros = use
        try:
            body = zlib.decompress(packed)
        except zlib.error:
            self._use(lambda database: _remove(database, key))
            return None
        return body, datetime.fromtimestamp(kept_micros / 1_000_000, UTC)

    def put(self, request: Request, body: bytes) -> None:
        """Store an answer, replacing an earlier one, unless it answers a write or is too large."""
        key = _key(request)
        if key is None or len(body) > _MAX_ANSWER_BYTES:
            return
        packed = zlib.compress(body, 1)
        self._use(lambda database: _write(database, key, packed))

    def clear(self) -> None:
        """Remove all answers of this server, also for other processes."""
        self._use(_empty)

    def close(self) -> None:
        """Close the file. From then on nothing is stored or found."""
        with self._lock:
            self._closed = True
            self._disconnect()

    def _use(self, ask: Callable[[sqlite3.Connection], _Given]) -> _Given | None:
        """Run a function on the database; return its result, or `None` if the file cannot be used.

        A damaged file is replaced by a new one.
        """
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
                        # A file that cannot be opened is not opened again for every answer.
                        self._closed = self._database is None and not _is_busy(error)
                        return None
                    self._recreate()
        return None

    def _recreate(self) -> None:
        self._disconnect()
        for end in ("", "-wal", "-shm"):
            with suppress(OSError):
                self._path.with_name(self._path.name + end).unlink()

    def _disconnect(self) -> None:
        if self._database is not None:
            with suppress(sqlite3.Error):
                self._database.close()
            self._database = None


def _key(request: Request) -> bytes | None:
    """Return the key of a request, or `None` if its answer is not stored."""
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
    # Created here, because SQLite would make it readable by others; its -wal and -shm files get the
    # same mode.
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    database = sqlite3.connect(
        path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
    )
    try:
        database.execute("PRAGMA journal_mode = WAL")
        # A power failure may lose the last seconds, but does not damage the file.
        database.execute("PRAGMA synchronous = NORMAL")
        database.execute("PRAGMA journal_size_limit = 4194304")
        _lay_out(database)
        # Storing an answer also sets its time of use.
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
    row: tuple[bytes, int] | None = database.execute(
        "SELECT body, kept_micros FROM answers WHERE key = ? AND kept_micros >= ?",
        (key, now_micros - _MAX_AGE_MICROS),
    ).fetchone()
    if row is not None:
        # The answer is valid even if its time of use cannot be recorded.
        with suppress(sqlite3.OperationalError):
            database.execute("UPDATE answers SET used_micros = ? WHERE key = ?", (now_micros, key))
    return row


def _write(database: sqlite3.Connection, key: bytes, packed: bytes) -> None:
    now_micros = _now_micros()
    with database:
        database.execute("BEGIN IMMEDIATE")
        size = len(packed) + _ROW_BYTES
        database.execute(_PUT, (key, now_micros, now_micros, size, packed))
        answers, total_bytes = database.execute("SELECT answers, bytes FROM total").fetchone()
        if answers > _MAX_ANSWERS or total_bytes > _MAX_BYTES:
            _evict(database, answers, total_bytes)


def _evict(database: sqlite3.Connection, answers: int, total_bytes: int) -> None:
    oldest: list[tuple[int]] = []
    for row, size in database.execute(_OLDEST):
        if answers <= _LEFT * _MAX_ANSWERS and total_bytes <= _LEFT * _MAX_BYTES:
            break
        oldest.append((row,))
        answers -= 1
        total_bytes -= size
    database.executemany("DELETE FROM answers WHERE rowid = ?", oldest)


def _remove(database: sqlite3.Connection, key: bytes) -> None:
    database.execute("DELETE FROM answers WHERE key = ?", (key,))


def _empty(database: sqlite3.Connection) -> None:
    database.execute("DELETE FROM answers")
    # Deleted rows stay in the file until it is rewritten.
    database.execute("VACUUM")
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _is_damage(error: Exception) -> bool:
    """Return whether the file itself is damaged, rather than the disk being full, read-only or
    busy."""
    if isinstance(error, sqlite3.Error):
        # SQLITE_ERROR means that a statement does not fit the tables, so the file is not ours.
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
