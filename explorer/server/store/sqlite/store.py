"""The store on SQLite: one writer that groups commits, and readers that never wait for it.

A commit costs one flush to disk however many jobs it carries, so jobs that are queued while one is
under way share the next.
"""

import logging
import sqlite3
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import Future
from contextlib import closing, contextmanager
from functools import partial
from hashlib import blake2b
from pathlib import Path
from queue import Empty, LifoQueue, SimpleQueue
from typing import Any, TypeVar

from explorer.errors import CatalogError, ServerFault
from explorer.server.store.interface import (
    Direction,
    Job,
    KnownUrn,
    LogEntry,
    Observer,
    RunRow,
    RunSummary,
    StoredAspect,
    StoredFolderPage,
    StoreFault,
)
from explorer.server.store.sqlite import lineage
from explorer.server.store.sqlite.browse import browse, browse_among
from explorer.server.store.sqlite.schema import (
    SQLITE_ERRORS,
    Damage,
    check_readable,
    connect,
    connect_read_only,
    open_file,
    read_id,
)
from explorer.server.store.sqlite.survey import SqliteSurvey
from explorer.server.store.sqlite.transaction import SqliteTransaction, points_query

__all__ = ["SqliteStore"]

_LATEST = "a.name, 0, a.value, a.time_millis, a.actor, a.system"
_OLDER = "v.name, v.version, v.value, v.time_millis, v.actor, v.system"
_REMOVED = """
WITH removed (id) AS MATERIALIZED (
    SELECT entity FROM aspects WHERE name = 'status' AND json_extract(value, '$.removed') = 1
)
"""
_NOT_REMOVED = " AND t.entity NOT IN removed"


def read_versions(
    connection: sqlite3.Connection,
    urn: str,
    aspect: str,
    ends: tuple[int, int],
    start: int,
    count: int,
) -> tuple[int, list[StoredAspect]] | None:
    """The versions between two numbers, newest first, and how many there are in all.

    0 is the latest, 1 the oldest, negative numbers count back from the latest; either end may come
    first, and what is beyond the versions there are is left out. None when there is no such aspect.
    """
    row = connection.execute(
        f"SELECT a.entity, a.superseded, {_LATEST} "
        "FROM urns u JOIN aspects a ON a.entity = u.id WHERE u.urn = ? AND a.name = ?",
        (urn, aspect),
    ).fetchone()
    if row is None:
        return None
    entity, superseded, *latest = row
    low, high = sorted(end if end > 0 else superseded + 1 + end for end in ends)
    has_latest = low <= superseded + 1 <= high
    bounds = (entity, aspect, low, high)
    where = "FROM versions v WHERE v.entity = ? AND v.name = ? AND v.version BETWEEN ? AND ?"
    older: int = connection.execute(f"SELECT count(*) {where}", bounds).fetchone()[0]
    found = [StoredAspect(*latest)] if has_latest and start == 0 and count else []
    rows = connection.execute(
        f"SELECT {_OLDER} {where} ORDER BY v.version DESC LIMIT ? OFFSET ?",
        (*bounds, count - len(found), max(0, start - has_latest)),
    )
    found += [StoredAspect(*row) for row in rows]
    return older + has_latest, found


def read_urns(
    connection: sqlite3.Connection, entity_type: str, start: int, count: int
) -> tuple[int, list[str]]:
    """How many entities of a type are stored, and a page of their URNs, sorted."""
    total: int = connection.execute(
        "SELECT count(*) FROM urns WHERE type = ? AND live", (entity_type,)
    ).fetchone()[0]
    rows = connection.execute(
        # The unary plus keeps the engine on the index that has the order.
        "SELECT urn FROM urns WHERE urn >= ? AND urn < ? AND +type = ? AND +live "
        "ORDER BY urn LIMIT ? OFFSET ?",
        (f"urn:li:{entity_type}:", f"urn:li:{entity_type};", entity_type, count, start),
    )
    return total, [urn for (urn,) in rows]


def count_aspects(connection: sqlite3.Connection, aspect: str, like: str | None) -> int:
    """How many entities have an aspect, or documents of it if it is one over time. `like` is a
    pattern of their URNs, with % and _."""
    narrowed, given = "", [aspect]
    if like is not None:
        narrowed, given = " AND u.urn LIKE ?", [aspect, like]
    found: int = connection.execute(
        "SELECT (SELECT count(*) FROM aspects a JOIN urns u ON u.id = a.entity "
        f"WHERE a.name = ?{narrowed}) + (SELECT count(*) FROM points p "
        f"JOIN urns u ON u.id = p.entity WHERE p.aspect = ?{narrowed})",
        (*given, *given),
    ).fetchone()[0]
    return found


def read_runs(
    connection: sqlite3.Connection, start: int, count: int, *, with_removed: bool
) -> list[RunSummary]:
    """A page of the runs that something is left of, newest first."""
    begin, narrowed = ("", "") if with_removed else (_REMOVED, _NOT_REMOVED)
    kept = f"t WHERE t.run IS NOT NULL{narrowed} GROUP BY t.run"
    dated = "SELECT t.run, count(*) AS rows, max(t.time_millis) AS at FROM"
    parts = (
        f"{dated} aspects {kept}",
        f"{dated} versions {kept}",
        "SELECT n.run, n.rows, (SELECT json_extract(l.system, '$.lastObserved') FROM points l "
        "WHERE l.id = n.newest) FROM "
        f"(SELECT t.run, count(*) AS rows, max(t.id) AS newest FROM points {kept}) n",
    )
    rows = connection.execute(
        f"{begin} SELECT r.name, sum(f.rows), coalesce(max(f.at), 0) AS newest "
        f"FROM ({' UNION ALL '.join(parts)}) f JOIN runs r ON r.id = f.run "
        "GROUP BY r.id ORDER BY newest DESC, r.id DESC LIMIT ? OFFSET ?",
        (count, start),
    )
    return [RunSummary(*row) for row in rows]


def read_run(
    connection: sqlite3.Connection, run: str, start: int, count: int, *, with_removed: bool
) -> list[RunRow]:
    """A page of what is left of a run: versions of aspects and documents over time, by URN, then
    aspect, the latest first."""
    begin, narrowed = ("", "") if with_removed else (_REMOVED, _NOT_REMOVED)
    of_run = f"WHERE t.run = (SELECT id FROM runs WHERE name = :run){narrowed}"
    columns = "t.name, {version} AS version, t.time_millis AS at, t.value, t.actor, t.system"
    parts = (
        f"SELECT t.entity, {columns.format(version='0')}, 0 AS age FROM aspects t {of_run}",
        f"SELECT t.entity, {columns.format(version='t.version')}, -t.version FROM versions t "
        f"{of_run}",
        "SELECT t.entity, t.aspect, 0, coalesce(json_extract(t.system, '$.lastObserved'), 0), "
        f"t.value, '', t.system, -t.at_millis FROM points t {of_run}",
    )
    rows = connection.execute(
        f"{begin} SELECT u.urn, f.name, f.version, f.at, f.value, f.system "
        f"FROM ({' UNION ALL '.join(parts)}) f JOIN urns u ON u.id = f.entity "
        "ORDER BY u.urn, f.name, f.age = 0 DESC, f.age LIMIT :count OFFSET :start",
        {"run": run, "count": count, "start": start},
    )
    return [RunRow(*row) for row in rows]


T = TypeVar("T")
_MAX_GROUP = 256
_log = logging.getLogger("explorer.server")


class _Queued:
    __slots__ = ("error", "future", "job", "result")

    def __init__(self, job: Job[Any], future: Future[Any]) -> None:
        self.job = job
        self.future = future
        self.result: Any = None
        self.error: BaseException | None = None

    def settle(self) -> None:
        if self.future.done():
            return
        if self.error is not None:
            self.future.set_exception(self.error)
        else:
            self.future.set_result(self.result)


class _Lost(Exception):
    """The transaction is gone, and with it what its jobs did."""


class Writer:
    """Owns the writing connection. Jobs of one group run in the order they were queued, each in
    a savepoint of its own, so that one that fails takes no other along.

    `has_died` once the thread ended by an error that nobody foresaw: then every waiting caller got
    one, and nothing can be written until the process is started again.
    """

    def __init__(self, connection: sqlite3.Connection, damage: Damage) -> None:
        self._connection = connection
        self._damage = damage
        self._group: list[_Queued] = []
        self.has_died = False
        self._observer: Observer | None = None
        self._queue: SimpleQueue[_Queued | None] = SimpleQueue()
        self._closing = False
        self._gate = threading.Lock()
        self._thread = threading.Thread(target=self._serve, name="catalog-writer", daemon=True)
        self._thread.start()

    def observe(self, observer: Observer) -> None:
        """Name who prepares and publishes what is derived from each commit."""
        self._observer = observer

    def queue(self, job: Job[T]) -> Future[T]:
        """Queue a job. Raises `Unusable` when the database is damaged, and `ServerFault` when the
        writer has died or the store is closing."""
        self._damage.check()
        future: Future[T] = Future()
        # A queued change is made whether its caller waits or not, so it cannot be cancelled.
        future.set_running_or_notify_cancel()
        with self._gate:
            if self.has_died:
                raise _died()
            if self._closing:
                raise ServerFault("the catalog is shutting down; try again in a moment")
            self._queue.put(_Queued(job, future))
        return future

    def close(self) -> None:
        """Commit what is queued, then let the connection go."""
        with self._gate:
            if not self._closing:
                self._closing = True
                self._queue.put(None)
        self._thread.join()
        self._connection.close()

    def _serve(self) -> None:
        try:
            self._serve_queue()
        except BaseException:  # noqa: BLE001 - the edge of this thread; the process ends
            _log.critical("the writer failed; the service has to be started again", exc_info=True)
            self._die()

    def _die(self) -> None:
        with self._gate:
            self.has_died = self._closing = True
        left: list[_Queued | None] = [*self._group]
        while True:
            try:
                left.append(self._queue.get_nowait())
            except Empty:
                break
        for queued in filter(None, left):
            queued.error = _died()
            queued.settle()

    def _serve_queue(self) -> None:
        while (first := self._queue.get()) is not None:
            group = self._group = [first]
            last = False
            while len(group) < _MAX_GROUP:
                try:
                    following = self._queue.get_nowait()
                except Empty:
                    break
                if following is None:
                    last = True
                    break
                group.append(following)
            self._commit(group)
            if last:
                return

    def _commit(self, group: list[_Queued]) -> None:
        try:
            self._damage.check()
            offset = self._transact(group)
        except Exception as error:  # noqa: BLE001 - whatever a job did, the writer must live on
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            self._note(error)
            if len(group) > 1:
                # One job may be to blame; alone, each gets its own commit and its own error.
                for queued in group:
                    self._commit([queued])
                return
            group[0].error = group[0].error or self._as_fault(error)
            group[0].settle()
            return
        if offset is not None and self._observer is not None:
            try:
                self._observer.publish(offset)
            except BaseException:  # noqa: BLE001 - the truth is on disk; the rest is tried again
                _log.exception("the search index did not take a change; it is tried again")
        for queued in group:
            queued.settle()

    def _transact(self, group: list[_Queued]) -> int | None:
        """Run and commit the jobs; the log's last offset if anything changed."""
        run = self._connection.execute
        run("BEGIN IMMEDIATE")
        transaction = SqliteTransaction(self._connection)
        for queued in group:
            queued.error = None
            run("SAVEPOINT job")
            try:
                queued.result = queued.job(transaction)
            except Exception as error:
                # It belongs to whoever queued the job, unless the transaction went with it.
                queued.error = self._as_fault(error)
                if not self._connection.in_transaction or self._damage.problem:
                    raise _Lost from error
                run("ROLLBACK TO job")
                transaction.forget()
            run("RELEASE job")
        changed = bool(transaction.touched or transaction.measured or transaction.stale)
        if changed and self._observer is not None:
            self._observer.prepare(transaction)
        transaction.finish()
        run("COMMIT")
        return _head(run) if changed else None

    def _note(self, error: Exception) -> CatalogError | None:
        # Of a job's own errors only those of SQLite speak of the file.
        return self._damage.note(error) if isinstance(error, sqlite3.Error) else None

    def _as_fault(self, error: Exception) -> Exception:
        if damaged := self._note(error):
            return damaged
        if isinstance(error, sqlite3.Error):
            return StoreFault(f"the change could not be kept: {error}")
        return error


def _head(run: Callable[[str], sqlite3.Cursor]) -> int:
    found: int = run("SELECT coalesce(max(offset), 0) FROM log").fetchone()[0]
    return found


def _died() -> ServerFault:
    return ServerFault("the catalog's writer failed; the service has to be started again")


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

    def known(self, handles: Sequence[int]) -> list[KnownUrn]:
        with self._reader() as connection:
            return lineage.known(connection, handles)

    def sources(self, targets: Sequence[str], relationship: str) -> list[str]:
        with self._reader() as connection:
            return lineage.sources(connection, targets, relationship)

    def browse(
        self, entity_type: str, path: tuple[str, ...], start: int, limit: int
    ) -> StoredFolderPage:
        with self._snapshot() as connection:
            return browse(connection, entity_type, path, start, limit)

    def browse_among(
        self, entity_type: str, path: tuple[str, ...], start: int, limit: int, among: set[str]
    ) -> StoredFolderPage:
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
    def survey(self) -> Iterator[SqliteSurvey]:
        """One moment of the store, row by row; writers go on meanwhile."""
        with self._reader() as connection:
            connection.execute("BEGIN")
            try:
                yield SqliteSurvey(connection)
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
            damaged = self._damage.note(error)
            raise damaged or StoreFault(f"the catalog cannot be read: {error}") from error
        finally:
            self._readers.put(connection)


def _marks(values: Collection[object]) -> str:
    return ",".join("?" * len(values))
