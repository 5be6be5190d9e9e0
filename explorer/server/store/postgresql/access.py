"""The access tokens and the audit log of a catalog in a database, shared by all its services."""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import psycopg

from explorer.server.authentication import Token
from explorer.server.store.postgresql.schema import (
    Raw,
    as_fault,
    connect,
    is_lost,
    open_database,
    place_of,
)

__all__ = ["PostgresAccess"]

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
        self._raw: Raw
        self._raw, _ = open_database(address)

    def tokens(self) -> tuple[Token, ...]:
        with self._connected("the access tokens cannot be read") as raw:
            return tuple(Token(*row) for row in raw.execute(_TOKENS))

    def uses(self) -> dict[str, int]:
        with self._connected("the times at which tokens were last used cannot be read") as raw:
            rows = raw.execute("SELECT id, used_millis FROM tokens WHERE used_millis IS NOT NULL")
            return dict(rows.fetchall())

    def version(self) -> int:
        with self._connected("the access tokens cannot be read") as raw:
            (found,) = raw.execute("SELECT max(change) FROM tokens").fetchone() or (None,)
            return found or 0

    def change(self, change: Callable[[tuple[Token, ...]], tuple[Token, ...]]) -> None:
        with (
            self._connected("the access tokens cannot be changed") as raw,
            raw.transaction(),
            raw.cursor() as cursor,
        ):
            # One change at a time, so that the numbers in `change` become visible in order.
            cursor.execute("LOCK TABLE tokens IN SHARE ROW EXCLUSIVE MODE")
            before = tuple(Token(*row) for row in cursor.execute(_TOKENS))
            after = change(before)
            kept = {token.id for token in after}
            gone = [token.id for token in before if token.id not in kept]
            cursor.execute("DELETE FROM tokens WHERE id = ANY(%s)", (gone,))
            for token in after:
                if token not in before:
                    fields = (token.created_millis, token.expires_millis, token.revoked_millis)
                    named = (token.name, token.actor, token.id, token.sha256)
                    cursor.execute(_KEEP_TOKEN, (*named, *fields, token.role))

    def note_uses(self, uses: Mapping[str, int]) -> None:
        with self._connected("the times at which tokens were last used cannot be saved") as raw:
            raw.cursor().executemany(
                "UPDATE tokens SET used_millis = greatest(used_millis, %s) WHERE id = %s",
                [(millis, token) for token, millis in uses.items()],
            )

    def append_audit(self, batch: str, lines: Sequence[tuple[int, bytes]]) -> None:
        with self._connected("the audit log cannot be written") as raw:
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
            self._connected("the audit log cannot be read") as raw,
            raw.transaction(),
            raw.cursor("audit") as cursor,
        ):
            cursor.execute("SELECT record FROM audit ORDER BY at_millis DESC, batch, place DESC")
            for (record,) in cursor:
                yield record.encode()

    def trim_audit(self, before_millis: int) -> None:
        with self._connected("old records of the audit log cannot be removed") as raw:
            raw.execute("DELETE FROM audit WHERE at_millis < %s", (before_millis,))

    def close(self) -> None:
        self._raw.close()

    @contextmanager
    def _connected(self, what: str) -> Iterator[Raw]:
        with self._lock:
            try:
                if is_lost(self._raw):
                    self._raw.close()
                    self._raw = connect(self._address, writing=True)
                yield self._raw
            except psycopg.Error as error:
                raise as_fault(error, what) from error
