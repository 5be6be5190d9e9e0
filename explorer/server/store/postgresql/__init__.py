"""The store on PostgreSQL: a catalog that several services share, with their access tokens and
audit log.

A writer locks one row for the duration of its transaction, so the write transactions of all
services run one after another: what a transaction has read stays true until it commits, and rows of
the log become visible in the order of their offsets, without a gap. A thread of each service
listens for the writes of the others.
"""

import logging
import math
import os
import random
import select
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import TypeVar
from uuid import UUID, uuid4

import psycopg
from psycopg import pq
from psycopg_pool import ConnectionPool, PoolTimeout

from explorer.errors import Busy, StorageFull
from explorer.server.authentication import Token
from explorer.server.store import (
    Job,
    LogReader,
    Observer,
    Reader,
    StoreUnavailable,
)
from explorer.server.store.postgresql.schema import (
    CHANNEL,
    Patience,
    PostgresConnection,
    Raw,
    as_fault,
    configure,
    connect,
    is_lost,
    network_settings,
    open_database,
    place_of,
    words_of,
)
from explorer.server.store.sql import Dialect, SqlConnection, Writer
from explorer.server.store.sql.reads import SqlReads, SqlSnapshot, SqlSurvey
from explorer.server.store.sql.transaction import SqlTransaction, WriterCache

T = TypeVar("T")
_READERS = 12
_WAIT_SECONDS = 2.0
_POLL_SECONDS = 2.0
_AGAIN_SECONDS = 0.5
_END_SECONDS = 0.5
_MOMENT_SECONDS = 0.1
_SURVEY_SECONDS = 60
_CLOCK_SECONDS = 10.0
_REPORT_SECONDS = 10.0
_SILENT_SECONDS = 10.0
_FORGOTTEN_DAYS = 7
_MOST_ATTEMPTS = 8
# To follow more log entries than this, a writer releases the lock, so that others can write.
_FOLLOWED_AT_ONCE = 50
_log = logging.getLogger("explorer.server")
# The pool would log every failed attempt. Callers get an error, and the listener logs the first.
logging.getLogger("psycopg.pool").setLevel(logging.ERROR)

_LINEAGE = """
SELECT coalesce(json_agg(near), '[]')::text, coalesce(json_agg(far), '[]')::text,
       coalesce(json_agg(type), '[]')::text FROM (
WITH f AS (SELECT value::bigint AS value FROM json_array_elements_text(CAST(:frontier AS json)))
SELECT f.value AS near, e.source AS far, e.type AS type
FROM f JOIN edges e ON e.target = f.value WHERE e.flow > 0 AND e.flow = :in
UNION ALL
SELECT f.value, e.target, e.type
FROM f JOIN edges e ON e.source = f.value WHERE e.flow > 0 AND e.flow = :out
LIMIT :limit) hop
"""
_LINEAGE_PAIRS = """
SELECT coalesce(json_agg(CASE flow WHEN 1 THEN target ELSE source END), '[]')::text,
       coalesce(json_agg(CASE flow WHEN 1 THEN source ELSE target END), '[]')::text,
       (SELECT min(target) FROM edges WHERE flow > 0 AND target >= :end)
FROM edges WHERE flow > 0 AND target >= :begin AND target < :end
"""
_KNOWN_URNS = """
SELECT coalesce(json_agg(u.urn ORDER BY f.place), '[]')::text,
       coalesce(json_agg(u.live::int ORDER BY f.place), '[]')::text
FROM json_array_elements_text(CAST(? AS json)) WITH ORDINALITY f (value, place)
JOIN urns u ON u.id = f.value::bigint
"""
# PostgreSQL text cannot contain NUL, not even one that is read from an escape in JSON.
_JSON = r"replace(convert_from({0}, 'UTF8'), '\u0000', '\u2400')::json"
_REMOVED = f"""
WITH removed (id) AS MATERIALIZED (
    SELECT entity FROM aspects
    WHERE name = 'status' AND {_JSON.format("value")} ->> 'removed' = 'true'
)
"""
_DIALECT = Dialect(
    compress=bytes,
    no_limit=None,
    texts="json_array_elements_text(CAST(? AS json)) f (value)",
    gathered="json_agg({})::text",
    unindexed="{}",
    like="u.urn ILIKE :like ESCAPE ''",
    seen_millis=f"({_JSON.format('{0}.system')} ->> 'lastObserved')::numeric::bigint",
    removed=_REMOVED,
    lineage=_LINEAGE,
    lineage_pairs=_LINEAGE_PAIRS,
    urns_of_handles=_KNOWN_URNS,
    after_copy=tuple(
        f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), greatest(1, max(id))) FROM {table}"
        for table in ("runs", "folders")
    ),
)
_COUNT = f"""
WITH noted AS (INSERT INTO commits (id) VALUES (%s)),
     old AS (DELETE FROM commits WHERE at < now() - interval '1 hour'),
     head AS (SELECT coalesce(max("offset"), 0) AS at FROM log),
     counted AS (UPDATE writing SET count = count + 1, head = head.at FROM head)
SELECT pg_notify('{CHANNEL}', current_schema())
""".encode()
_COMMITTED = b"SELECT EXISTS (SELECT 1 FROM commits WHERE id = %s)"
_TAKE_TURN = b"SELECT count, head FROM writing FOR UPDATE"
_SIZE = """
SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint FROM pg_class
WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'
"""
_NOW = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint"
_REPORT = b"""
INSERT INTO readers (name, after) VALUES (%s, %s)
ON CONFLICT (name) DO UPDATE SET after = excluded.after, at = now()
"""
_FORGET = f"DELETE FROM readers WHERE at < now() - interval '{_FORGOTTEN_DAYS} days'".encode()
_READERS_OF_LOG = f"""
SELECT name, after, extract(epoch FROM clock_timestamp() - at)::float8 FROM readers
WHERE at >= now() - interval '{_FORGOTTEN_DAYS} days'
"""
_KEPT = "the change could not be saved"
_UNREAD = "the catalog cannot be read"


class _FailureLog:
    """Logs the database's own messages for failures, which callers do not get.

    While the database is unreachable every request fails; that is logged once every 10 seconds.
    """

    def __init__(self) -> None:
        self._silent_until = -math.inf

    def log(self, what: str, error: psycopg.Error) -> None:
        """Log a failure of an operation, `what`, unless one of the same outage was logged within 10
        seconds."""
        now = time.monotonic()
        if isinstance(as_fault(error, what), Busy | StorageFull) and not _is_conflict(error):
            if now < self._silent_until:
                return
            self._silent_until = now + _SILENT_SECONDS
        _log.warning("%s: %s", what, words_of(error))


class _Follower:
    """The follower of the log, which reports the writes of other services to the observer, in
    order.

    It works in a thread that PostgreSQL wakes, and before each transaction of this service, whose
    own commits are published by the writer. `caught_up` is when the observer last knew the whole
    log, as `time.monotonic` time. `is_cut_off` is true while the thread cannot query the database,
    `is_refused` while it does not answer either: no other thread should wait for it then.
    """

    def __init__(self, address: str, patience: Patience) -> None:
        self._address = address
        self._patience = patience
        self.lock = threading.RLock()
        self.published: int | None = None
        self.caught_up = -math.inf
        self.is_cut_off = False
        self._has_logged_clock = False
        self.observer: Observer | None = None
        self._is_closing = False
        self._name = ""
        self._needed: Callable[[], int] | None = None
        self._reported_at = -math.inf
        self._thread: threading.Thread | None = None
        self._woken, self._wake = os.pipe()

    def begin(self, after: int, name: str, needed: Callable[[], int]) -> None:
        """Follow the log after an offset from now on; see `Store.follow`."""
        with self.lock:
            self._name, self._needed = name, needed
            self.published = max(after, self.published or 0)
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._listen, name="catalog-listener", daemon=True
                )
                self._thread.start()

    def tell(self, head: int, asked_at: float) -> None:
        """Report the log up to the offset `head` to the observer.

        `asked_at` is the `time.monotonic` time at which that was the end of the log. Errors of the
        observer are raised.
        """
        with self.lock:
            if self.published is None or self.observer is None:
                return
            if head > self.published:
                self.observer.follow(head)
                self.published = head
            self.caught_up = max(self.caught_up, asked_at)

    @property
    def is_refused(self) -> bool:
        return self._thread is not None and self._patience.is_silent

    def close(self) -> None:
        """End the thread. One that is connecting to a silent database ends by itself."""
        self._is_closing = True
        os.write(self._wake, b"x")
        if self._thread is not None:
            self._thread.join(_END_SECONDS)
            if self._thread.is_alive():
                return
        os.close(self._wake)
        os.close(self._woken)

    def _report(self, raw: Raw) -> None:
        """Store in the database the offset after which this service still needs the log, every 10
        seconds."""
        now = time.monotonic()
        if self._needed is not None and now >= self._reported_at + _REPORT_SECONDS:
            # During a switchover the database is read-only, so nobody trims the log either.
            with suppress(psycopg.errors.ReadOnlySqlTransaction):
                raw.execute(_REPORT, (self._name, self._needed()))
                raw.execute(_FORGET)
            self._reported_at = now

    def _compare_clocks(self, raw: Raw) -> None:
        """Log a warning, once, if this machine's clock differs from the database's by over 10 s."""
        (now,) = raw.execute(_NOW.encode()).fetchone() or (0,)
        ahead = time.time() - now / 1000
        if abs(ahead) > _CLOCK_SECONDS and not self._has_logged_clock:
            self._has_logged_clock = True
            _log.warning(
                "the clock of this machine is %.0f seconds %s that of the database, and so are "
                "the times stored with changes made here; correct the clock",
                abs(ahead),
                "ahead of" if ahead > 0 else "behind",
            )

    def _listen(self) -> None:
        self._patience.watch()
        while not self._is_closing:
            try:
                with connect(self._address, self._patience) as raw:
                    raw.execute(f"LISTEN {CHANNEL}".encode())
                    log = SqlSnapshot(PostgresConnection(raw), _DIALECT)
                    if self.is_cut_off:
                        _log.warning("the database can be reached again")
                    self._compare_clocks(raw)
                    while not self._is_closing:
                        monotonic = time.monotonic()
                        self.tell(log.log_bounds().head, monotonic)
                        self.is_cut_off = False
                        self._report(raw)
                        select.select([raw.fileno(), self._woken], [], [], _POLL_SECONDS)
                        list(raw.notifies(timeout=0))
            except (psycopg.Error, Busy) as error:
                if not self.is_cut_off:
                    _log.warning(
                        "notifications of changes by other services cannot be received: %s; "
                        "trying again",
                        error,
                    )
                self.is_cut_off = True
            except Exception:  # noqa: BLE001 - outermost frame; the thread retries
                _log.exception("the changes of other services could not be read; trying again")
            if not self._is_closing:
                select.select([self._woken], [], [], _AGAIN_SECONDS)


class _WritingConnection:
    """See `sql.WritingConnection`. The next transaction replaces a lost connection."""

    def __init__(
        self,
        address: str,
        raw: Raw,
        patience: Patience,
        follower: _Follower,
        failures: _FailureLog,
    ) -> None:
        self._address = address
        self._patience = patience
        self._failures = failures
        self._raw: Raw | None = raw
        self._follower = follower
        self._cache = WriterCache()
        # The number of write transactions of all services when the cache was last valid.
        self._count = -1
        self._is_aborted = False
        self.can_write = True

    def check(self) -> None:
        """Do nothing: only a write shows whether the database can be written to."""

    def begin(self) -> SqlTransaction:
        published, asked_at = self._follower.published, time.monotonic()
        count, head = self._take_turn()
        if published is not None and head > published + _FOLLOWED_AT_ONCE:
            self.roll_back()
            self._follower.tell(head, asked_at)
            asked_at = time.monotonic()
            count, head = self._take_turn()
        # The observer derives data from a transaction only after all transactions before it.
        self._follower.tell(head, asked_at)
        if count != self._count:
            self._cache.clear()
        self._count = count
        self._cache.trim()
        self._is_aborted = False
        self._connection = PostgresConnection(self._own)
        return SqlTransaction(self._connection, _DIALECT, self._cache)

    def mark(self) -> None:
        self._own.execute(b"SAVEPOINT job")

    def undo(self) -> None:
        self._own.execute(b"ROLLBACK TO job")

    def keep(self) -> None:
        self._own.execute(b"RELEASE job")

    def commit(self, offset: int | None, publish: Callable[[int], bool]) -> None:
        write_id = uuid4() if self._connection.has_written else None
        if write_id is not None:
            self._own.execute(_COUNT, (write_id,))
        # Locked, so that the listener does not take this commit for one of another service.
        with self._follower.lock:
            try:
                self._own.execute(b"COMMIT")
            except psycopg.OperationalError as error:
                if write_id is None or not self._was_committed(write_id, error):
                    raise
            if write_id is not None:
                self._count += 1
            if offset is not None and publish(offset) and self._follower.published is not None:
                self._follower.published = offset

    def roll_back(self) -> None:
        self._cache.clear()
        self._count = -1
        if self._raw is not None and not is_lost(self._raw):
            with suppress(psycopg.Error):
                self._raw.execute(b"ROLLBACK")

    @property
    def is_lost(self) -> bool:
        ended = (pq.TransactionStatus.IDLE, pq.TransactionStatus.UNKNOWN)
        return self._is_aborted or is_lost(self._raw) or self._own.info.transaction_status in ended

    def may_repeat(self, error: Exception, attempts: int) -> bool:
        if attempts >= _MOST_ATTEMPTS:
            return False
        if isinstance(error, psycopg.errors.ReadOnlySqlTransaction):
            # The server became a standby, or the connection leads to one. The next connection is
            # made to a server that accepts writes.
            self.can_write = False
            self.close()
            return attempts == 1
        if _is_conflict(error):
            time.sleep(random.uniform(0, 0.01) * attempts)  # noqa: S311 - not a secret
            return True
        # The connection was lost before the commit, so nothing was written.
        return (
            isinstance(error, psycopg.OperationalError)
            and self._raw is not None
            and attempts == 1
            and is_lost(self._raw)
        )

    def fails_all(self, error: Exception) -> bool:
        return isinstance(as_fault(error, _KEPT), StoreUnavailable)

    def as_fault(self, error: Exception) -> Exception:
        if not isinstance(error, psycopg.Error):
            return error
        self._failures.log(_KEPT, error)
        self._is_aborted = self._is_aborted or _is_conflict(error)
        return as_fault(error, _KEPT)

    def close(self) -> None:
        if self._raw is not None:
            # Later readers would wait for a new connection if the database is silent.
            with suppress(psycopg.Error):
                self._raw.execute(b"SELECT 1")
            self._raw.close()

    @property
    def _own(self) -> Raw:
        if self._raw is None:
            raise psycopg.OperationalError("the connection was lost")
        return self._raw

    def _take_turn(self) -> tuple[int, int]:
        """Begin a transaction once no other writer has one open.

        Returns the number of write transactions so far, and the last offset of the log. Opens a new
        connection if the present one is lost.
        """
        if is_lost(self._raw):
            self.close()
            self._raw, self.can_write = None, False
            if self._follower.is_refused:
                raise psycopg.OperationalError("the database does not answer")
            self._raw = connect(self._address, self._patience, writing=True)
        self._own.execute(b"BEGIN")
        count, head = self._own.execute(_TAKE_TURN).fetchone() or (0, 0)
        self.can_write = True
        return count, head

    def _was_committed(self, transaction_id: UUID, error: psycopg.OperationalError) -> bool:
        """Return whether a transaction, whose commit got no answer, was committed.

        Raises `StoreUnavailable` if the database does not answer this either.
        """
        try:
            # This waits for the lock, which the lost connection's transaction holds until it ends.
            self._take_turn()
            row = self._own.execute(_COMMITTED, (transaction_id,)).fetchone()
            (is_committed,) = row or (False,)
            self._own.execute(b"ROLLBACK")
        except psycopg.Error as again:
            _log.warning(
                "the outcome of a commit is unknown: %s; %s", words_of(error), words_of(again)
            )
            raise StoreUnavailable(
                "the connection to the database was lost during the commit, so it is unknown "
                "whether the change was saved; read it again to find out, or repeat the change",
                retry_after_seconds=2,
            ) from again
        return bool(is_committed)


def _is_conflict(error: BaseException) -> bool:
    conflicts = (psycopg.errors.SerializationFailure, psycopg.errors.DeadlockDetected)
    return isinstance(error, conflicts)


class PostgresStore(SqlReads):
    """A catalog in a PostgreSQL database, in the first schema of its `search_path`.

    See `store.Store`; opening raises `Unusable`. While the database cannot be reached, all
    methods raise `StoreUnavailable`; they work again as soon as it can.
    """

    _dialect = _DIALECT

    def __init__(self, address: str) -> None:
        self._address = address
        self.place = place_of(address)
        self._patience = Patience()
        raw, self._id = open_database(address, self._patience)
        self._pool = ConnectionPool[Raw](
            address,
            min_size=0,
            max_size=_READERS,
            timeout=_WAIT_SECONDS,
            reconnect_timeout=_WAIT_SECONDS,
            num_workers=1,
            connection_class=Raw,
            kwargs={"autocommit": True, **network_settings(address)},
            configure=lambda raw: configure(raw, self._patience),
            check=_check_socket,
            open=True,
        )
        self._is_closed = False
        self._failure: PoolTimeout | None = None
        self._failed_until = 0.0
        self._follower = _Follower(address, self._patience)
        self._failures = _FailureLog()
        self._writing = _WritingConnection(
            address, raw, self._patience, self._follower, self._failures
        )
        self._writer = Writer(self._writing)

    @property
    def problem(self) -> str | None:
        return None

    @property
    def has_died(self) -> bool:
        return self._writer.has_died

    @property
    def is_shared(self) -> bool:
        return True

    @property
    def is_local(self) -> bool:
        return False

    def catalog_id(self) -> str:
        return self._id

    def observe(self, observer: Observer) -> None:
        self._writer.observe(observer)
        self._follower.observer = observer

    def follow(self, after: int, name: str, needed: Callable[[], int]) -> None:
        self._follower.begin(after, name, needed)

    def log_readers(self) -> list[LogReader]:
        with self._reading() as connection:
            return [LogReader(*row) for row in connection.execute(_READERS_OF_LOG)]

    @property
    def can_write(self) -> bool:
        return self._writing.can_write

    def now_millis(self) -> int:
        with self._reading() as connection:
            return int(connection.execute(_NOW).fetchone()[0])

    def lag_seconds(self) -> float:
        return time.monotonic() - self._follower.caught_up

    @property
    def is_reachable(self) -> bool:
        return not self._follower.is_cut_off

    def write(self, job: Job[T]) -> Future[T]:
        return self._writer.queue(job)

    def size_bytes(self) -> int:
        with self._reading() as connection:
            return int(connection.execute(_SIZE).fetchone()[0])

    @contextmanager
    def snapshot(self) -> Iterator[Reader]:
        with self._snapshot() as connection:
            yield SqlSnapshot(connection, _DIALECT)

    @contextmanager
    def pause_writes(self) -> Iterator[None]:
        try:
            with connect(self._address, self._patience, writing=True) as raw:
                raw.execute(b"SET idle_in_transaction_session_timeout = 0")
                raw.execute(b"BEGIN")
                raw.execute(_TAKE_TURN)
                yield
                raw.execute(b"ROLLBACK")
        except psycopg.Error as error:
            raise as_fault(error, "the catalog cannot be locked against writes") from error

    @contextmanager
    def survey(self) -> Iterator[SqlSurvey]:
        """Return a survey of the store at one moment. See `store.SurveyedStore`."""
        with self._snapshot() as connection:
            # Statements that read whole tables take longer than those of requests may.
            connection.execute(f"SET LOCAL statement_timeout = '{_SURVEY_SECONDS}s'")
            yield SqlSurvey(connection, _DIALECT)

    def hurry(self) -> None:
        self._patience.hurry()

    def close(self) -> None:
        if self._is_closed:
            return
        self._writer.close()
        self._is_closed = True
        self._follower.close()
        self._pool.close(_MOMENT_SECONDS)

    @contextmanager
    def _snapshot(self) -> Iterator[SqlConnection]:
        with self._reading() as connection:
            connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            try:
                yield connection
            finally:
                connection.execute("COMMIT")

    @contextmanager
    def _reading(self) -> Iterator[SqlConnection]:
        is_back = self._follower.caught_up > self._failed_until - _AGAIN_SECONDS
        if self._failure is not None and time.monotonic() < self._failed_until and not is_back:
            # After a timeout, callers fail at once for a moment instead of each waiting as well.
            raise as_fault(self._failure, _UNREAD) from self._failure
        if self._follower.is_refused:
            raise as_fault(psycopg.OperationalError(), _UNREAD)
        try:
            with self._connect() as raw:
                self._failure = None
                yield PostgresConnection(raw)
        except PoolTimeout as error:
            self._failures.log(_UNREAD, error)
            self._failure, self._failed_until = error, time.monotonic() + _AGAIN_SECONDS
            raise as_fault(error, _UNREAD) from error
        except psycopg.Error as error:
            self._failures.log(_UNREAD, error)
            if self._patience.is_over:
                # Nobody needs to wait for a connection any more.
                self._pool.close(_MOMENT_SECONDS)
            raise as_fault(error, _UNREAD, reading=True) from error

    def _connect(self) -> AbstractContextManager[Raw]:
        if self._is_closed:
            return connect(self._address, self._patience)
        return self._pool.connection()


def _check_socket(raw: Raw) -> None:
    """Raise `psycopg.OperationalError` if the database ended an idle connection.

    Only the socket is checked, because a round trip would cost as much as most statements.
    """
    ready, _, _ = select.select([raw.fileno()], [], [], 0)
    if ready:
        raw.execute(b"")


_TOKENS = b"""
SELECT name, actor, id, sha256, created_millis, expires_millis, revoked_millis, role
FROM tokens ORDER BY created_millis, change
"""
_KEEP_TOKEN = b"""
INSERT INTO tokens (name, actor, id, sha256, created_millis, expires_millis, revoked_millis, role)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s)
ON CONFLICT (id) DO UPDATE
SET revoked_millis = excluded.revoked_millis, change = nextval('token_changes')
"""


class PostgresAccess:
    """The tokens and the audit log of a catalog in a database.

    See `authentication.SharedTokens` and `audit_log.AuditSink`. It has a connection of its own,
    which is opened again if it was lost.

    Opening creates the tables if there are none, and raises `Unusable` if the database cannot be
    used. All other methods raise `StoreUnavailable` while it cannot be reached.
    """

    def __init__(self, address: str) -> None:
        self._address = address
        self.place = place_of(address)
        self._lock = threading.Lock()
        self._patience = Patience()
        self._raw: Raw
        self._raw, _ = open_database(address, self._patience)

    def tokens(self) -> tuple[Token, ...]:
        with self._connect("the access tokens cannot be read") as raw:
            return tuple(Token(*row) for row in raw.execute(_TOKENS))

    def uses(self) -> dict[str, int]:
        with self._connect("the times at which tokens were last used cannot be read") as raw:
            rows = raw.execute("SELECT id, used_millis FROM tokens WHERE used_millis IS NOT NULL")
            return dict(rows.fetchall())

    def version(self) -> int:
        with self._connect("the access tokens cannot be read") as raw:
            (newest_change,) = raw.execute("SELECT max(change) FROM tokens").fetchone() or (None,)
            return newest_change or 0

    def change(self, change: Callable[[tuple[Token, ...]], tuple[Token, ...]]) -> None:
        with (
            self._connect("the access tokens cannot be changed") as raw,
            raw.transaction(),
            raw.cursor() as cursor,
        ):
            # One change at a time, so that the numbers in `change` become visible in order.
            cursor.execute("LOCK TABLE tokens IN SHARE ROW EXCLUSIVE MODE")
            before = tuple(Token(*row) for row in cursor.execute(_TOKENS))
            after = change(before)
            ids_after = {token.id for token in after}
            removed_ids = [token.id for token in before if token.id not in ids_after]
            cursor.execute("DELETE FROM tokens WHERE id = ANY(%s)", (removed_ids,))
            for token in after:
                if token not in before:
                    times = (token.created_millis, token.expires_millis, token.revoked_millis)
                    identity = (token.name, token.actor, token.id, token.sha256)
                    cursor.execute(_KEEP_TOKEN, (*identity, *times, token.role))

    def note_uses(self, uses: Mapping[str, int]) -> None:
        with self._connect("the times at which tokens were last used cannot be saved") as raw:
            raw.cursor().executemany(
                "UPDATE tokens SET used_millis = greatest(used_millis, %s) WHERE id = %s",
                [(millis, token) for token, millis in uses.items()],
            )

    def append_audit(self, batch: str, lines: Sequence[tuple[int, bytes]]) -> None:
        with self._connect("the audit log cannot be written") as raw:
            raw.cursor().executemany(
                "INSERT INTO audit (batch, place, at_millis, record) VALUES (%s, %s, %s, %s) "
                "ON CONFLICT DO NOTHING",
                [
                    (batch, place, at_millis, line.decode())
                    for place, (at_millis, line) in enumerate(lines)
                ],
            )

    def newest_audit(self) -> Iterator[bytes]:
        with (
            self._connect("the audit log cannot be read") as raw,
            raw.transaction(),
            raw.cursor("audit") as cursor,
        ):
            cursor.execute("SELECT record FROM audit ORDER BY at_millis DESC, batch, place DESC")
            for (record,) in cursor:
                yield record.encode()

    def trim_audit(self, before_millis: int) -> None:
        with self._connect("old records of the audit log cannot be removed") as raw:
            raw.execute("DELETE FROM audit WHERE at_millis < %s", (before_millis,))

    def hurry(self) -> None:
        self._patience.hurry()

    def close(self) -> None:
        self._raw.close()

    @contextmanager
    def _connect(self, what: str) -> Iterator[Raw]:
        with self._lock:
            try:
                if is_lost(self._raw):
                    self._raw.close()
                    self._raw = connect(self._address, self._patience, writing=True)
                yield self._raw
            except psycopg.Error as error:
                raise as_fault(error, what) from error
