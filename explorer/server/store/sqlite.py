"""The store on SQLite: one writer, and readers that never wait for it."""

import sqlite3
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import Future
from contextlib import closing, contextmanager
from functools import partial
from hashlib import blake2b
from pathlib import Path
from queue import Empty, LifoQueue
from typing import TypeVar

from explorer.server.store import lineage
from explorer.server.store.census import (
    count_aspects,
    read_run,
    read_runs,
    read_urns,
    read_versions,
)
from explorer.server.store.damage import SQLITE_ERRORS, Damage
from explorer.server.store.engine import Direction, Job, Observer
from explorer.server.store.folders import browse, browse_among
from explorer.server.store.layout import (
    check_readable,
    connect,
    connect_read_only,
    open_file,
    read_id,
)
from explorer.server.store.records import (
    BrowsePage,
    LogEntry,
    RunRow,
    RunSummary,
    StoredAspect,
)
from explorer.server.store.survey import Survey
from explorer.server.store.transaction import SqliteTransaction, points_query
from explorer.server.store.writer import Writer

__all__ = ["SqliteStore"]

T = TypeVar("T")
_ASPECT = "a.name, 0, a.value, a.time_millis, a.actor, a.system"
_AT_ONCE = 500


class SqliteStore:
    """A catalog in one file. See `engine.Store`; opening raises `Unusable`.

    With `read_only` the file may lie on read-only media; nothing can be written.
    """

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self._path = path
        self._connect = connect_read_only if read_only else partial(connect, reading=True)
        self._readers: LifoQueue[sqlite3.Connection] = LifoQueue()
        self._damage = Damage(path)
        self._id = ""
        if read_only:
            connection = connect_read_only(path)
            try:
                check_readable(connection, path)
            except BaseException:
                connection.close()
                raise
            self._damage.problem = f"{path} is read only: nothing can be written to it"
            self._writer = Writer(connection, self._damage)
            return
        connection = open_file(path)
        try:
            self._id = read_id(connection)
            lineage.add_indexes(connection)
        except SQLITE_ERRORS as error:
            # What can be read is read all the same.
            if self._damage.note(error) is None:
                connection.close()
                raise
        self._writer = Writer(connection, self._damage)

    @property
    def problem(self) -> str | None:
        return self._damage.problem

    @property
    def has_died(self) -> bool:
        return self._writer.has_died

    def catalog_id(self) -> str:
        return self._id

    def log_mark(self, offset: int) -> str | None:
        # A connection of its own: the index also asks while the store is closing.
        try:
            with closing(self._connect(self._path)) as connection:
                row = connection.execute(
                    "SELECT offset, urn, aspect, change, time_millis, actor, system FROM log "
                    "WHERE offset = ?",
                    (offset,),
                ).fetchone()
        except SQLITE_ERRORS as error:
            self._damage.note(error)
            return None
        return blake2b(repr(row).encode(), digest_size=8).hexdigest() if row else None

    def observe(self, observer: Observer) -> None:
        self._writer.observe(observer)

    def write(self, job: Job[T]) -> Future[T]:
        return self._writer.queue(job)

    def aspect(self, urn: str, name: str, version: int = 0) -> StoredAspect | None:
        with self._reader() as connection:
            if version < 0:
                row = connection.execute(
                    "SELECT v.version FROM urns u JOIN versions v ON v.entity = u.id "
                    "WHERE u.urn = ? AND v.name = ? ORDER BY v.version DESC LIMIT 1 OFFSET ?",
                    (urn, name, -version - 1),
                ).fetchone()
                if row is None:
                    return None
                version = row[0]
            if version == 0:
                row = connection.execute(
                    f"SELECT {_ASPECT} FROM urns u JOIN aspects a ON a.entity = u.id "
                    "WHERE u.urn = ? AND a.name = ?",
                    (urn, name),
                ).fetchone()
            else:
                row = connection.execute(
                    "SELECT v.name, v.version, v.value, v.time_millis, v.actor, v.system "
                    "FROM urns u JOIN versions v ON v.entity = u.id "
                    "WHERE u.urn = ? AND v.name = ? AND v.version = ?",
                    (urn, name, version),
                ).fetchone()
        return StoredAspect(*row) if row else None

    def aspects(
        self, urns: Sequence[str], names: Collection[str] | None = None
    ) -> dict[str, list[StoredAspect]]:
        found: dict[str, list[StoredAspect]] = {}
        named = "" if names is None else f" AND a.name IN ({_marks(names)})"
        with self._reader() as connection:
            for begin in range(0, len(urns), _AT_ONCE):
                chunk = urns[begin : begin + _AT_ONCE]
                rows = connection.execute(
                    f"SELECT u.urn, {_ASPECT} FROM urns u JOIN aspects a ON a.entity = u.id "
                    f"WHERE u.urn IN ({_marks(chunk)}){named}",
                    (*chunk, *(names or ())),
                )
                for urn, *rest in rows:
                    found.setdefault(urn, []).append(StoredAspect(*rest))
        return found

    def versions(
        self, urn: str, name: str, ends: tuple[int, int], start: int, count: int
    ) -> tuple[int, list[StoredAspect]] | None:
        with self._snapshot() as connection:
            return read_versions(connection, urn, name, ends, start, count)

    def entity_urns(self, entity_type: str, start: int, count: int) -> tuple[int, list[str]]:
        with self._snapshot() as connection:
            return read_urns(connection, entity_type, start, count)

    def aspect_count(self, name: str, urn_like: str | None = None) -> int:
        with self._reader() as connection:
            return count_aspects(connection, name, urn_like)

    def runs(self, start: int, count: int, *, with_removed: bool) -> list[RunSummary]:
        with self._reader() as connection:
            return read_runs(connection, start, count, with_removed=with_removed)

    def run_rows(self, run: str, start: int, count: int, *, with_removed: bool) -> list[RunRow]:
        with self._reader() as connection:
            return read_run(connection, run, start, count, with_removed=with_removed)

    def existing(self, urns: Sequence[str]) -> set[str]:
        found: set[str] = set()
        with self._reader() as connection:
            for begin in range(0, len(urns), _AT_ONCE):
                chunk = urns[begin : begin + _AT_ONCE]
                rows = connection.execute(
                    f"SELECT urn FROM urns WHERE live AND urn IN ({_marks(chunk)})", chunk
                )
                found.update(urn for (urn,) in rows)
        return found

    def points(
        self,
        urn: str,
        aspect: str,
        start_millis: int | None = None,
        end_millis: int | None = None,
        limit: int = -1,
    ) -> Iterator[tuple[bytes, bytes]]:
        with self._reader() as connection:
            yield from connection.execute(
                *points_query(urn, aspect, start_millis, end_millis, limit)
            )

    def measured_between(self, aspect: str, start_millis: int, end_millis: int) -> list[str]:
        with self._reader() as connection:
            rows = connection.execute(
                # Through the index that has all three, so that no document is read.
                "SELECT u.urn FROM (SELECT DISTINCT entity FROM points "
                "WHERE aspect = ? AND at_millis >= ? AND at_millis < ?) p "
                "JOIN urns u ON u.id = p.entity ORDER BY u.urn",
                (aspect, start_millis, end_millis),
            )
            return [urn for (urn,) in rows]

    def relationships(
        self, urn: str, direction: Direction, types: Sequence[str], start: int, count: int
    ) -> tuple[int, list[tuple[str, str]]]:
        here, there = ("source", "target") if direction == "OUTGOING" else ("target", "source")
        named = f" AND e.type IN ({_marks(types)})" if types else ""
        edges = (
            f"SELECT DISTINCT e.type, e.{there} AS other FROM urns u "
            f"JOIN edges e ON e.{here} = u.id WHERE u.urn = ?{named}"
        )
        with self._reader() as connection:
            (total,) = connection.execute(
                f"SELECT count(*) FROM ({edges})", (urn, *types)
            ).fetchone()
            rows = connection.execute(
                f"SELECT o.urn, e.type FROM ({edges} ORDER BY e.type, e.{there} "
                "LIMIT ? OFFSET ?) e JOIN urns o ON o.id = e.other ORDER BY e.type, e.other",
                (urn, *types, count, start),
            ).fetchall()
        return total, rows

    def lineage_edges(
        self, frontier: Sequence[int], *, upstream: bool, limit: int
    ) -> list[tuple[int, int, str]]:
        with self._reader() as connection:
            return lineage.hop(connection, frontier, upstream=upstream, limit=limit)

    def lineage_columns(
        self, frontier: Sequence[int], *, upstream: bool, limit: int
    ) -> tuple[list[int], list[int], list[str]]:
        with self._reader() as connection:
            return lineage.hop_columns(connection, frontier, upstream=upstream, limit=limit)

    def lineage_pairs(self) -> tuple[list[int], list[int]]:
        with self._reader() as connection:
            return lineage.pairs(connection)

    def lineage_names(self, handles: Sequence[int]) -> tuple[list[str], list[int]]:
        with self._reader() as connection:
            return lineage.names(connection, handles)

    def handles(self, urns: Sequence[str]) -> dict[str, int]:
        with self._reader() as connection:
            return lineage.handles(connection, urns)

    def known(self, handles: Sequence[int]) -> list[lineage.KnownUrn]:
        with self._reader() as connection:
            return lineage.known(connection, handles)

    def sources(self, targets: Sequence[str], relationship: str) -> list[str]:
        with self._reader() as connection:
            return lineage.sources(connection, targets, relationship)

    def browse(self, entity_type: str, path: tuple[str, ...], start: int, limit: int) -> BrowsePage:
        with self._snapshot() as connection:
            return browse(connection, entity_type, path, start, limit)

    def browse_among(
        self, entity_type: str, path: tuple[str, ...], start: int, limit: int, among: set[str]
    ) -> BrowsePage:
        with self._snapshot() as connection:
            return browse_among(connection, entity_type, path, start, limit, among)

    def log(self, after: int, limit: int) -> list[LogEntry]:
        with self._reader() as connection:
            rows = connection.execute(
                "SELECT offset, urn, aspect, change, value, previous, time_millis, actor, system "
                "FROM log WHERE offset > ? ORDER BY offset LIMIT ?",
                (after, limit),
            )
            return [LogEntry(*row) for row in rows]

    def log_head(self) -> int:
        with self._reader() as connection:
            found: int = connection.execute("SELECT coalesce(max(offset), 0) FROM log").fetchone()[
                0
            ]
        return found

    def log_floor(self) -> int:
        with self._reader() as connection:
            found: int = connection.execute(
                "SELECT coalesce(min(offset), 1) - 1 FROM log"
            ).fetchone()[0]
        return found

    def changed_since(self, offset: int) -> list[str]:
        with self._reader() as connection:
            rows = connection.execute("SELECT DISTINCT urn FROM log WHERE offset > ?", (offset,))
            return [urn for (urn,) in rows]

    def entity_count(self) -> int:
        with self._reader() as connection:
            found: int = connection.execute("SELECT count(*) FROM urns WHERE live").fetchone()[0]
        return found

    def size_bytes(self) -> int:
        files = (self._path, self._path.with_name(f"{self._path.name}-wal"))
        return sum(file.stat().st_size for file in files if file.exists())

    def urns(self, after: str, limit: int, entity_type: str | None = None) -> list[str]:
        named = "" if entity_type is None else " AND type = ?"
        given = (after,) if entity_type is None else (after, entity_type)
        with self._reader() as connection:
            # The order of the column's index, and so no sorting; `live` must not choose another.
            rows = connection.execute(
                f"SELECT urn FROM urns WHERE urn > ? AND +live{named} ORDER BY urn LIMIT ?",
                (*given, limit),
            )
            return [urn for (urn,) in rows]

    def history(self, urn: str) -> Iterator[tuple[str, bytes, bytes]]:
        with self._reader() as connection:
            yield from connection.execute(
                "SELECT p.aspect, p.value, p.system FROM urns u JOIN points p ON p.entity = u.id "
                "WHERE u.urn = ? ORDER BY p.aspect, p.at_millis, p.series",
                (urn,),
            )

    def note(self, key: str) -> str | None:
        with self._reader() as connection:
            row = connection.execute(
                "SELECT value FROM meta WHERE key = ?", (f"note.{key}",)
            ).fetchone()
        return row[0] if row else None

    @contextmanager
    def reading(self) -> Iterator[SqliteTransaction]:
        with self._snapshot() as connection:
            yield SqliteTransaction(connection)

    @contextmanager
    def survey(self) -> Iterator[Survey]:
        """One moment of the store, row by row; writers go on meanwhile."""
        with self._reader() as connection:
            connection.execute("BEGIN")
            try:
                yield Survey(connection)
            finally:
                connection.execute("COMMIT")

    def close(self) -> None:
        self._writer.close()
        while True:
            try:
                self._readers.get_nowait().close()
            except Empty:
                return

    @contextmanager
    def _snapshot(self) -> Iterator[sqlite3.Connection]:
        """A reader that sees one moment of the store."""
        with self._reader() as connection:
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                connection.execute("COMMIT")

    @contextmanager
    def _reader(self) -> Iterator[sqlite3.Connection]:
        try:
            connection = self._readers.get_nowait()
        except Empty:
            connection = self._connect(self._path)
        try:
            yield connection
        except SQLITE_ERRORS as error:
            if damaged := self._damage.note(error):
                raise damaged from error
            raise
        finally:
            self._readers.put(connection)


def _marks(values: Collection[object]) -> str:
    return ",".join("?" * len(values))
