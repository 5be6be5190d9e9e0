"""The trend of coverage: how much was documented on each day, computed from versions of aspects.

Nothing is read before the first request. The first request reads the versions of every dataset, in
the caller's thread and for at most ten seconds; the next request continues where it stopped. For
each dataset the days on which its counts changed are cached, some 200 bytes. From then on only
datasets that the change log names are read again. The counts are not computed from the change log
itself, because it may be trimmed and holds every other change too. If old versions are not kept,
`retention.complete_since` says since when none is missing.

The trend covers the datasets that exist now, grouped as they are now. The counts of a day are those
at its end (UTC), taken from the last version of each aspect written by then. Datasets that were
soft-deleted at that time are left out. A hard-deleted dataset leaves no versions, so it is counted
on no day.
"""

import threading
import time
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import accumulate
from typing import Final, NamedTuple

import orjson
from msgspec import Struct

from explorer.errors import Busy
from explorer.server.dataset_facts import (
    SchemaTexts,
    has_text,
    read_edited_texts,
    read_schema_texts,
)
from explorer.server.store import Store, StoredAspect

__all__ = [
    "ASPECTS",
    "DAY_MILLIS",
    "CoverageDay",
    "CoverageHistories",
    "CoverageSeries",
    "coverage_days",
    "series_of",
]

DAY_MILLIS: Final = 86_400_000
ASPECTS: Final = (
    "datasetKey",
    "datasetProperties",
    "editableDatasetProperties",
    "schemaMetadata",
    "editableSchemaMetadata",
    "status",
)
PATIENCE_SECONDS: Final = 10.0
_RETRY_AFTER_SECONDS: Final = 0.5
_AT_ONCE: Final = 200
_DATASET: Final = "dataset"
_PREFIX: Final = "urn:li:dataset:"


class CoverageDay(NamedTuple):
    """The counts of a dataset from a day on, in days since 1970 (UTC): tables (1, or 0 while it is
    soft-deleted), tables that are documented, columns, and columns that are documented."""

    day: int
    tables: int
    tables_documented: int
    columns: int
    columns_documented: int


def coverage_days(versions: Iterable[StoredAspect]) -> tuple[CoverageDay, ...]:
    """Return the days on which the counts of a dataset changed, oldest first, from all its versions
    of `ASPECTS`; about 30 µs per version."""
    by_name: dict[str, list[tuple[int, StoredAspect]]] = {}
    for one in versions:
        # The latest version has the number 0; it is sorted last.
        order = one.version or 1 << 62
        by_name.setdefault(one.name, []).append((order, one))
    days = sorted({one.time_millis // DAY_MILLIS for held in by_name.values() for _, one in held})
    for held in by_name.values():
        held.sort(key=lambda one: one[0])
    counts = _Counts()
    found: list[CoverageDay] = []
    for day in days:
        for name, held in by_name.items():
            # Searched from the latest version: times may decrease where a clock was set back.
            latest = next(
                (one for _, one in reversed(held) if one.time_millis // DAY_MILLIS <= day), None
            )
            if latest is not None:
                counts.read(name, latest)
        now = counts.of(day)
        if not found or found[-1][1:] != now[1:]:
            found.append(now)
    return tuple(found)


class _Counts:
    """The counts of a dataset, updated as versions of its aspects are read."""

    def __init__(self) -> None:
        self._read: dict[str, int] = {}
        self._described_in: dict[str, bool] = {}
        self._removed = False
        self._schema = SchemaTexts()
        self._edited: frozenset[str] = frozenset()
        self._documented = 0

    def read(self, name: str, version: StoredAspect) -> None:
        """Use a version of an aspect for the counts. Does nothing if it is the one in use."""
        if self._read.get(name) == version.version:
            return
        self._read[name] = version.version
        match name:
            case "schemaMetadata":
                self._schema = read_schema_texts(version.value)
            case "editableSchemaMetadata":
                self._edited = read_edited_texts(version.value)
            case "status":
                self._removed = _object(version.value).get("removed") is True
                return
            case _:
                self._described_in[name] = has_text(_object(version.value).get("description"))
                return
        self._documented = self._schema.documented(self._edited)

    def of(self, day: int) -> CoverageDay:
        """Return the current counts as those from a day on."""
        if self._removed:
            return CoverageDay(day, 0, 0, 0, 0)
        is_described = any(self._described_in.values())
        return CoverageDay(day, 1, int(is_described), self._schema.total, self._documented)


def _object(value: bytes) -> Mapping[str, object]:
    try:
        found = orjson.loads(value)
    except orjson.JSONDecodeError:
        return {}
    return found if isinstance(found, dict) else {}


class CoverageHistories:
    """The days on which the counts of every dataset changed. Thread-safe."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._days: dict[str, tuple[CoverageDay, ...]] = {}
        self._after: str | None = ""
        self._offset = 0
        self._lock = threading.Lock()

    @contextmanager
    def days(
        self, patience_seconds: float = PATIENCE_SECONDS
    ) -> Iterator[Mapping[str, tuple[CoverageDay, ...]]]:
        """Yield the days of each dataset by URN, up to date with the store. The mapping must not be
        changed, nor used after the `with` block.

        Raises `Busy` if the first read of all datasets, or waiting for another thread, takes longer
        than `patience_seconds`; the next call continues the read.
        """
        end = time.monotonic() + patience_seconds
        if not self._lock.acquire(timeout=patience_seconds):
            raise _busy()
        try:
            self._read_first(end)
            self._bring_up_to_date(end)
            yield self._days
        finally:
            self._lock.release()

    def _read_first(self, end: float) -> None:
        if self._after == "":
            # The offset from before the read: what changes meanwhile is read again.
            self._days, self._offset = {}, self._store.log_bounds().head
        while self._after is not None:
            urns = self._store.urns(entity_type=_DATASET, after=self._after, limit=_AT_ONCE)
            self._read(urns)
            self._after = urns[-1] if urns else None
            if self._after is not None and time.monotonic() > end:
                raise _busy()

    def _bring_up_to_date(self, end: float) -> None:
        bounds = self._store.log_bounds()
        if bounds.floor > self._offset:
            # The log was trimmed beyond this offset, so some changes are unknown: read everything.
            self._after = ""
            self._read_first(end)
            bounds = self._store.log_bounds()
        if bounds.head == self._offset:
            return
        changed = self._store.changed_urns(self._offset)
        datasets = sorted(urn for urn in changed if urn.startswith(_PREFIX))
        for at in range(0, len(datasets), _AT_ONCE):
            self._read(datasets[at : at + _AT_ONCE])
        self._offset = bounds.head

    def _read(self, urns: Sequence[str]) -> None:
        found = self._store.histories(urns, ASPECTS)
        for urn in urns:
            if urn in found:
                self._days[urn] = coverage_days(found[urn])
            else:
                self._days.pop(urn, None)


def _busy() -> Busy:
    return Busy(
        "the history of documentation coverage is being computed for the first time; try again "
        "soon",
        retry_after_seconds=_RETRY_AFTER_SECONDS,
    )


class CoverageSeries(Struct):
    """The counts at the end of each day of a series, oldest first."""

    tables: list[int]
    tables_documented: list[int]
    columns: list[int]
    columns_documented: list[int]

    @property
    def left(self) -> int:
        """The number of columns that are not documented on the last day."""
        return self.columns[-1] - self.columns_documented[-1]


class _Sum:
    """The changes of the four counts on each day of a series, summed over datasets."""

    def __init__(self, days: int) -> None:
        self.changes = [[0] * days for _ in range(4)]

    def add(self, days: Sequence[int], history: Sequence[CoverageDay]) -> None:
        before: tuple[int, ...] = (0, 0, 0, 0)
        for point in history:
            at = bisect_left(days, point.day)
            if at == len(days):
                return
            now = point[1:]
            for held, one, other in zip(self.changes, now, before, strict=True):
                held[at] += one - other
            before = now

    def series(self) -> CoverageSeries:
        return CoverageSeries(*(list(accumulate(one)) for one in self.changes))


def series_of(
    histories: Iterable[tuple[Sequence[CoverageDay], Iterable[str]]], days: Sequence[int]
) -> tuple[CoverageSeries, dict[str, CoverageSeries]]:
    """Return the counts at the end of each of `days`, which are sorted: of all datasets together,
    and by key. Each dataset is given as the days on which its counts changed and the keys that it
    counts under. Takes about 3 µs per change and key."""
    whole = _Sum(len(days))
    groups: dict[str, _Sum] = {}
    for history, keys in histories:
        whole.add(days, history)
        for key in keys:
            if key not in groups:
                groups[key] = _Sum(len(days))
            groups[key].add(days, history)
    return whole.series(), {key: one.series() for key, one in groups.items()}
