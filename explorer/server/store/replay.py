"""The change log played again, for whoever proves that what a store keeps follows from it."""

import sqlite3
from collections.abc import Iterator
from types import TracebackType
from typing import Self

import orjson
from msgspec import Struct

from explorer.metadata.registry import Registry
from explorer.server.store.interface import LogEntry, digest

__all__ = ["Replay", "ReplayedAspect", "ReplayedPoint"]

_TABLES = """
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
CREATE TABLE aspects (
    urn TEXT, aspect TEXT, value BLOB, by_run INTEGER, PRIMARY KEY (urn, aspect)
) WITHOUT ROWID;
CREATE TABLE points (
    urn TEXT, aspect TEXT, value BLOB, sure INTEGER, PRIMARY KEY (urn, aspect, value)
) WITHOUT ROWID;
BEGIN;
"""


class ReplayedAspect(Struct, frozen=True):
    """The digest of an aspect's last value; `by_run` when any version named a run, which may have
    been taken back."""

    value: bytes
    by_run: bool


class ReplayedPoint(Struct, frozen=True):
    """The digest of a document. It is not `sure` to be there when a removal followed, for the log
    does not say which documents went."""

    aspect: str
    value: bytes
    sure: bool


class Replay:
    """Plays a log into a scratch file that is gone with it, so that memory holds none of it.

    Of a log whose oldest rows were dropped (`whole` false) what they were about is not known.
    """

    def __init__(self, registry: Registry, no_run: str) -> None:
        """`no_run` is the run id of writes that belong to no run."""
        self.whole = True
        self._no_run = no_run
        self._keys = {entity.key for entity in registry.entities.values()}
        self._timeseries = {name for name, aspect in registry.aspects.items() if aspect.timeseries}
        # An empty name is a file of its own that SQLite removes.
        self._scratch = sqlite3.connect("", isolation_level=None)
        self._scratch.executescript(_TABLES)
        self._run = self._scratch.execute

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._scratch.close()

    def play(self, entry: LogEntry) -> str | None:
        """Take a row in; what is wrong with it, if anything."""
        if entry.aspect in self._timeseries:
            return self._play_point(entry)
        row = self._run(
            "SELECT value, by_run FROM aspects WHERE urn = ? AND aspect = ?",
            (entry.urn, entry.aspect),
        ).fetchone()
        problem = None
        known = self.whole or row is not None
        if known and (row[0] if row else None) != _digest(entry.previous):
            problem = "it says that another value stood there before than the log's own rows do"
        if entry.change == "DELETE":
            self._run("DELETE FROM aspects WHERE urn = ? AND aspect = ?", (entry.urn, entry.aspect))
            if entry.aspect in self._keys:
                for table in ("aspects", "points"):
                    self._run(f"DELETE FROM {table} WHERE urn = ?", (entry.urn,))
        elif (written := _written(entry)) is None:
            problem = "it has no value"
        else:
            by_run = bool(row and row[1]) or self._names_run(entry.system)
            self._run(
                "INSERT OR REPLACE INTO aspects VALUES (?, ?, ?, ?)",
                (entry.urn, entry.aspect, written, by_run),
            )
        return problem

    def aspects(self, urn: str) -> dict[str, ReplayedAspect]:
        """The aspects that an entity must have."""
        rows = self._run("SELECT aspect, value, by_run FROM aspects WHERE urn = ?", (urn,))
        return {aspect: ReplayedAspect(value, bool(by_run)) for aspect, value, by_run in rows}

    def points(self, urn: str) -> list[ReplayedPoint]:
        """The documents that an entity must have, or may."""
        rows = self._run("SELECT aspect, value, sure FROM points WHERE urn = ?", (urn,))
        return [ReplayedPoint(aspect, value, bool(sure)) for aspect, value, sure in rows]

    def settle(self, urn: str) -> None:
        """Note that an entity was compared."""
        for table in ("aspects", "points"):
            self._run(f"DELETE FROM {table} WHERE urn = ?", (urn,))

    def left(self) -> Iterator[str]:
        """The URNs of what must be there and was never compared."""
        rows = self._run(
            "SELECT urn FROM aspects UNION SELECT urn FROM points WHERE sure ORDER BY urn"
        )
        for (urn,) in rows:
            yield urn

    def _names_run(self, system: bytes) -> bool:
        try:
            run = orjson.loads(system).get("runId")
        except (orjson.JSONDecodeError, AttributeError):
            # Damaged; the comparison of the aspects reports it.
            return False
        return isinstance(run, str) and run != self._no_run

    def _play_point(self, entry: LogEntry) -> str | None:
        if entry.change == "DELETE":
            self._run(
                "UPDATE points SET sure = 0 WHERE urn = ? AND aspect = ?", (entry.urn, entry.aspect)
            )
            return None
        written = _written(entry)
        if written is None:
            return "it has no value"
        problem = None
        if entry.previous is not None:
            replaced = self._run(
                "DELETE FROM points WHERE urn = ? AND aspect = ? AND value = ?",
                (entry.urn, entry.aspect, _digest(entry.previous)),
            )
            if self.whole and not replaced.rowcount:
                problem = "it says that it replaced a document that the log's own rows lack"
        self._run(
            "INSERT OR REPLACE INTO points VALUES (?, ?, ?, 1)",
            (entry.urn, entry.aspect, written),
        )
        return problem


def _digest(value: bytes | None) -> bytes | None:
    return None if value is None else digest(value)


def _written(entry: LogEntry) -> bytes | None:
    """The digest of what a row wrote."""
    return entry.digest or _digest(entry.value)
