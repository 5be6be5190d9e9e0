"""How much was documented on each day: worked out from the versions of aspects, and kept.

Nothing is read before somebody asks. The first time the versions of every dataset are read, in the
thread of whoever asks, for ten seconds at most: who comes then goes on where the last one ended.
What is kept of a dataset are the days on which its counts changed, some 200 bytes; from then on
only datasets that the change log names are read again. The log itself is not added up, for it may
be trimmed and holds every other change too. Where old versions are not kept, `retention` says from
when on none is missing.

The trend is of the datasets that there are now, grouped as they are now. On a day counts what was
stored at its end (UTC), the last version of each aspect that was written by then; a dataset that
was soft-deleted then is left out. What was deleted for good left no version, so it is in no day's
count.
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
from explorer.server.stewardship import (
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
    """What counts of a dataset from a day (since 1970, UTC) on: how many tables it is, 0 while it
    is soft-deleted, how many of these are described, how many columns it has and how many of them
    are described."""

    day: int
    tables: int
    tables_documented: int
    columns: int
    columns_documented: int


def coverage_days(versions: Iterable[StoredAspect]) -> tuple[CoverageDay, ...]:
    """Return the days on which the counts of a dataset changed, oldest first, out of all versions
    of `ASPECTS` that it has; some 30 µs for each version."""
    by_name: dict[str, list[tuple[int, StoredAspect]]] = {}
    for one in versions:
        # The latest has the number 0.
        order = one.version or 1 << 62
        by_name.setdefault(one.name, []).append((order, one))
    days = sorted({one.time_millis // DAY_MILLIS for held in by_name.values() for _, one in held})
    for held in by_name.values():
        held.sort(key=lambda one: one[0])
    counts = _Counts()
    found: list[CoverageDay] = []
    for day in days:
        for name, held in by_name.items():
            # Clocks may have been set back between two versions.
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
    """The counts of a dataset as its aspects are read one after the other; each version once."""

    def __init__(self) -> None:
        self._read: dict[str, int] = {}
        self._told: dict[str, bool] = {}
        self._removed = False
        self._schema = SchemaTexts()
        self._edited: frozenset[str] = frozenset()
        self._documented = 0

    def read(self, name: str, version: StoredAspect) -> None:
        """Take a version for the one that counts."""
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
                self._told[name] = has_text(_object(version.value).get("description"))
                return
        self._documented = self._schema.documented(self._edited)

    def of(self, day: int) -> CoverageDay:
        """Return the counts from a day on."""
        if self._removed:
            return CoverageDay(day, 0, 0, 0, 0)
        is_told = any(self._told.values())
        return CoverageDay(day, 1, int(is_told), self._schema.total, self._documented)


def _object(value: bytes) -> Mapping[str, object]:
    try:
        found = orjson.loads(value)
    except orjson.JSONDecodeError:
        return {}
    return found if isinstance(found, dict) else {}


class CoverageHistories:
    """The days on which the counts of every dataset changed. Any thread may call."""

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
        """What is known of each dataset by its URN, as it is stored now; for the length of a
        `with`, to be read only. Raises `Busy` when reading everything for the first time takes
        longer than that; who asks again goes on with it."""
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
            # What changes while it is read is read again.
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
            # Some of what changed since is not in the log any more.
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
        "what was documented is being read for the first time; try again soon",
        retry_after_seconds=_RETRY_AFTER_SECONDS,
    )


class CoverageSeries(Struct):
    """The counts at the end of each of some days, oldest first."""

    tables: list[int]
    tables_documented: list[int]
    columns: list[int]
    columns_documented: list[int]

    @property
    def left(self) -> int:
        """How many columns are not described on the last day."""
        return self.columns[-1] - self.columns_documented[-1]


class _Sum:
    """The changes of counts over some days."""

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
    """Return the counts at the end of each of some days, which are in order: of all datasets
    together, and by key. A dataset is given as its days of change and the keys that it counts
    under; some 3 µs for each day of change and key."""
    whole = _Sum(len(days))
    groups: dict[str, _Sum] = {}
    for history, keys in histories:
        whole.add(days, history)
        for key in keys:
            if key not in groups:
                groups[key] = _Sum(len(days))
            groups[key].add(days, history)
    return whole.series(), {key: one.series() for key, one in groups.items()}
