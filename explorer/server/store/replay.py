"""A replay of the change log, to prove that the contents of a store follow from it."""

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
    """The digest of an aspect's last value.

    `by_run` is true if any of its versions named a run, which may have been rolled back.
    """

    value: bytes
    by_run: bool


class ReplayedPoint(Struct, frozen=True):
    """The digest of a document of a timeseries aspect.

    `sure` is false if documents of the aspect were removed later: the log does not say which ones.
    """

    aspect: str
    value: bytes
    sure: bool


class Replay:
    """A replay of a change log into a temporary file, so that it need not fit in memory.

    If the oldest entries of the log were dropped (`is_complete` is false), values that they wrote
    are unknown.
    """

    def __init__(self, registry: Registry, no_run: str) -> None:
        """`no_run` is the run id of writes that do not belong to a run."""
        self.is_complete = True
        self._no_run = no_run
        self._keys = {entity.key for entity in registry.entities.values()}
        self._timeseries = {name for name, aspect in registry.aspects.items() if aspect.timeseries}
        # For an empty name SQLite creates a temporary file, which it removes.
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
        """Apply an entry of the log; return what is wrong with it, `None` if nothing is."""
        if entry.aspect in self._timeseries:
            return self._play_point(entry)
        row = self._run(
            "SELECT value, by_run FROM aspects WHERE urn = ? AND aspect = ?",
            (entry.urn, entry.aspect),
        ).fetchone()
        problem = None
        known = self.is_complete or row is not None
        if known and (row[0] if row else None) != _digest(entry.previous):
            problem = (
                "the previous value that it records is not the one in the earlier rows of the log"
            )
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
        """Return the aspects that an entity must have."""
        rows = self._run("SELECT aspect, value, by_run FROM aspects WHERE urn = ?", (urn,))
        return {aspect: ReplayedAspect(value, bool(by_run)) for aspect, value, by_run in rows}

    def points(self, urn: str) -> list[ReplayedPoint]:
        """Return the documents that an entity must or may have."""
        rows = self._run("SELECT aspect, value, sure FROM points WHERE urn = ?", (urn,))
        return [ReplayedPoint(aspect, value, bool(sure)) for aspect, value, sure in rows]

    def settle(self, urn: str) -> None:
        """Note that an entity has been compared."""
        for table in ("aspects", "points"):
            self._run(f"DELETE FROM {table} WHERE urn = ?", (urn,))

    def left(self) -> Iterator[str]:
        """Yield the URNs of entities that must exist but were not compared, sorted."""
        rows = self._run(
            "SELECT urn FROM aspects UNION SELECT urn FROM points WHERE sure ORDER BY urn"
        )
        for (urn,) in rows:
            yield urn

    def _names_run(self, system: bytes) -> bool:
        try:
            run = orjson.loads(system).get("runId")
        except (orjson.JSONDecodeError, AttributeError):
            # Damaged; comparing the aspects reports it.
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
            if self.is_complete and not replaced.rowcount:
                problem = "the document that it replaced is not in the earlier rows of the log"
        self._run(
            "INSERT OR REPLACE INTO points VALUES (?, ?, ?, 1)",
            (entry.urn, entry.aspect, written),
        )
        return problem


def _digest(value: bytes | None) -> bytes | None:
    return None if value is None else digest(value)


def _written(entry: LogEntry) -> bytes | None:
    """Return the digest of the value that an entry wrote."""
    return entry.digest or _digest(entry.value)
