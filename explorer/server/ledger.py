"""The stewardship ledger: which tables and columns have descriptions, for worklist and coverage.

Nothing is counted before the first request. The first count reads all datasets, and commits what it
has counted some hundred at a time, so that it continues where it was interrupted, in the next
process too. From then on, datasets that change are recounted in the background, and at the latest
at the next request. A restarted service recounts what changed since, according to the change log.
If the entries are of another catalog, or rows of the change log that they lack were dropped,
everything is counted again.
"""

import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from math import ceil
from pathlib import Path

from msgspec import Struct

from explorer.errors import Busy, CatalogError, StorageFault
from explorer.server.dataset_facts import ASPECTS, DatasetFacts, read_facts
from explorer.server.downstream import count_downstream
from explorer.server.stewardship import (
    DATABASE_ERRORS,
    DescribedCoverage,
    EntryDatabase,
    EntryState,
    Grouping,
    UseOf,
    WorklistPage,
    is_damage,
    remove_database,
)
from explorer.server.store import Store, log_mark
from explorer.server.timeseries import read_use, use_from

__all__ = ["PATIENCE_SECONDS", "Ledger"]

_log = logging.getLogger("explorer.server")

_AT_ONCE = 500
# Numbers of downstream entities that are compared and written at once.
_DOWNSTREAM_AT_ONCE = 5_000
_DATASET = "dataset"
_PREFIX = "urn:li:dataset:"
# Changes within this time are counted together.
_PAUSE_SECONDS = 1.0
_RETRY_SECONDS = 10.0
PATIENCE_SECONDS = 3.0
"""How long a request waits while everything is counted for the first time."""
_RETRY_AFTER_SECONDS = 2.0
# If it takes longer, downstream entities are recounted in the background only, and requests are
# answered with the previous numbers. It then takes at most a fifth of the time.
_LONG_SECONDS = 1.0
_LONG_PAUSES = 4


class _FirstCount(Struct):
    """How far the first count is: `done` of `total` datasets, and since when it has counted those
    after the first `before`. `has_all` says that only what is downstream of them is left."""

    total: int
    before: int
    done: int
    began: float
    has_all: bool = False

    @property
    def left_seconds(self) -> float | None:
        """The time until all datasets are counted, `None` if it is not known."""
        counted = self.done - self.before
        if self.has_all or not counted:
            return None
        return (time.monotonic() - self.began) / counted * max(0, self.total - self.done)

    def words(self) -> str:
        """Return how far it is, and when to try again."""
        left = self.left_seconds or 0.0
        again = "soon" if left < 60 else f"in about {ceil(left / 60)} minutes"
        if self.has_all:
            far = f"all {self.done:,} datasets were read, what is downstream of each comes last"
        else:
            far = f"{self.done:,} of {max(self.total, self.done):,} datasets"
        return f": {far}; try again {again}"


class Ledger:
    """The entries of all datasets, kept up to date as the catalog changes. Any thread may call it.

    `file` is the database file of the entries; without one it is temporary. It is derived data: if
    it is damaged, everything is counted again.
    """

    def __init__(self, store: Store, file: Path | None) -> None:
        self._store = store
        self._file = file
        self._database: EntryDatabase | None = None
        self._is_counted = False
        # The datasets to recount: those that changed, and those of which only the use aged.
        self._changed: set[str] = set()
        self._aged: set[str] = set()
        self._is_rewired = False
        self._downstream_seconds = 0.0
        # Offsets of the change log: the entries are complete up to the first, once nothing is left
        # to recount they are up to the second, which is the highest noted.
        self._offset = 0
        self._seen = 0
        self._first: _FirstCount | None = None
        self._is_listening = False
        self._is_closing = False
        self._ready = threading.Event()
        self._thread: threading.Thread | None = None
        # `_lock` is held briefly, `_using` while the database is used or facts are read.
        self._lock = threading.Lock()
        self._news = threading.Condition(self._lock)
        self._using = threading.RLock()
        self.before_read: Callable[[], object] = lambda: None

    def open(self) -> None:
        """Continue in the background with the entries of the file, if there is one."""
        if self._file is not None and self._file.exists():
            self._listen()

    def note(self, urns: Iterable[str], aged: Iterable[str], offset: int, *, rewired: bool) -> None:
        """Note a commit, to recount later; returns at once.

        `urns` are the entities that changed, `aged` those whose derived data is to be recomputed
        although their aspects did not change, and `rewired` says whether lineage changed.
        """
        if not self._is_listening:
            return
        with self._news:
            self._changed.update(urn for urn in urns if urn.startswith(_PREFIX))
            self._aged.update(urn for urn in aged if urn.startswith(_PREFIX))
            self._is_rewired = self._is_rewired or rewired
            self._seen = max(self._seen, offset)
            self._news.notify()

    @property
    def is_ready(self) -> bool:
        """Whether everything has been counted once. Asking starts counting in the background."""
        self._listen()
        return self._ready.is_set()

    @property
    def is_counting(self) -> bool:
        """Whether the first count is under way, and has got further since it began."""
        return self._first is not None

    def busy(self) -> Busy:
        """Return the error of a request during the first count, which says how far that is."""
        first = self._first
        left = first.left_seconds if first is not None else None
        return Busy(
            "documentation coverage is being counted for the first time"
            + (first.words() if first is not None else "; try again soon"),
            retry_after_seconds=max(_RETRY_AFTER_SECONDS, left or 0.0),
        )

    def rank(
        self, chosen: Collection[str] | None, start: int, count: int, use: UseOf | None = None
    ) -> WorklistPage:
        """Return a page of the worklist; see `EntryDatabase.rank`. Raises as `entries`."""
        with self.entries() as database:
            return database.rank(chosen, start, count, use)

    def cover(
        self, chosen: Collection[str] | None, by: Grouping | None = None
    ) -> DescribedCoverage:
        """Return how much is described; see `EntryDatabase.cover`. Raises as `entries`."""
        with self.entries() as database:
            return database.cover(chosen, by)

    @contextmanager
    def entries(self) -> Iterator[EntryDatabase]:
        """Give the entries of all datasets, up to date with the store, for reading.

        Other requests wait meanwhile. The first time takes minutes in a large catalog, later times
        milliseconds. Calls `before_read` first, and raises what that raises. Raises `Busy` if the
        first count is not done within `PATIENCE_SECONDS`; it then continues. Raises `StorageFault`
        if the database cannot be read or written.
        """
        self.before_read()
        self._listen()
        if not self._ready.wait(PATIENCE_SECONDS):
            raise self.busy()
        with self._using_database() as database:
            self._count_changed(database)
            if self._is_rewired and self._downstream_seconds <= _LONG_SECONDS:
                self._count_downstream()
            self._advance(database)
            yield database

    def close(self) -> None:
        """Stop counting, and close the database."""
        with self._news:
            self._is_closing = True
            self._news.notify()
        if self._thread is not None:
            self._thread.join()
        with self._using:
            if self._database is not None:
                self._database.close()
                self._database = None

    def _listen(self) -> None:
        with self._lock:
            if self._is_listening or self._is_closing:
                return
            self._is_listening = True
            self._thread = threading.Thread(target=self._serve, name="stewardship", daemon=True)
            self._thread.start()

    def _serve(self) -> None:
        """Count everything once, then recount what changes, until the ledger is closed."""
        while not self._is_closing:
            pause = _PAUSE_SECONDS
            try:
                self._bring_up_to_date()
                if self._is_counted:
                    self._ready.set()
                if self._downstream_seconds > _LONG_SECONDS:
                    pause += self._downstream_seconds * _LONG_PAUSES
            except CatalogError:
                _log.exception("documentation coverage could not be counted; trying again")
                pause = _RETRY_SECONDS
            else:
                with self._news:
                    while not (self._has_news or self._is_closing):
                        self._news.wait()
            self._wait(pause)

    @property
    def _has_news(self) -> bool:
        return bool(self._changed or self._aged or self._is_rewired or not self._is_counted)

    def _wait(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        with self._news:
            while not self._is_closing and (left := until - time.monotonic()) > 0:
                self._news.wait(left)

    def _bring_up_to_date(self) -> None:
        with self._using_database() as database:
            if not self._is_counted:
                self._count_all(database)
            self._count_changed(database, is_aged_too=True)
            if self._is_rewired and self._downstream_seconds <= _LONG_SECONDS:
                self._count_downstream()
        if self._is_rewired:
            self._count_downstream()
        with self._using_database() as database:
            self._advance(database)

    @contextmanager
    def _using_database(self) -> Iterator[EntryDatabase]:
        """Give the database to this thread alone. If it turns out to be damaged, everything is
        counted again, and `Busy` is raised; `StorageFault` for another error."""
        with self._using:
            try:
                if self._database is None:
                    self._database = self._open()
                yield self._database
            except DATABASE_ERRORS as error:
                if not is_damage(error):
                    raise StorageFault(f"{self._name} cannot be used: {error}") from error
                _log.warning("%s is damaged (%s); it is counted again", self._name, error)
                self._discard()
                raise self.busy() from error

    @property
    def _name(self) -> str:
        return str(self._file or "the temporary database of documentation coverage")

    def _open(self) -> EntryDatabase:
        if self._file is not None:
            try:
                return EntryDatabase(self._file)
            except (OSError, sqlite3.Error) as error:
                _log.warning(
                    "%s cannot be used: %s; documentation coverage is counted into a temporary "
                    "file, and again after the next start",
                    self._file,
                    error,
                )
        return EntryDatabase(None)

    def _discard(self) -> None:
        """Remove the database, and have the background count everything again."""
        self._ready.clear()
        if self._database is not None:
            self._database.close()
            self._database = None
        try:
            if self._file is not None:
                remove_database(self._file)
        except OSError as error:
            _log.warning("%s cannot be removed: %s", self._file, error)
        with self._news:
            self._is_counted = False
            self._news.notify()

    def _count_all(self, database: EntryDatabase) -> None:
        """Continue with the entries of the database, or begin anew if they do not fit, until all
        datasets are counted or the ledger is closed."""
        state = database.state
        head = self._store.log_bounds().head
        since: list[str] = []
        if self._fits(state):
            since = self._store.changed_urns(state.offset)
        else:
            database.restart(self._store.catalog_id(), head, log_mark(self._store, head))
            state = database.state
        with self._lock:
            self._changed.update(urn for urn in since if urn.startswith(_PREFIX))
            # Any of these changes may be to lineage.
            self._is_rewired = self._is_rewired or bool(since)
            self._seen = max(self._seen, head)
        self._offset = state.offset
        if not state.is_counted:
            try:
                self._count_first(database, state)
            finally:
                self._first = None
            if self._is_closing:
                return
        with self._lock:
            self._aged.update(database.aged(use_from()))
            self._is_counted = True

    def _fits(self, state: EntryState) -> bool:
        """Return whether entries are of this catalog, and all changes since are in its log."""
        return (
            state.catalog == self._store.catalog_id()
            and state.mark is not None
            and state.offset >= self._store.log_bounds().floor
            and log_mark(self._store, state.offset) == state.mark
        )

    def _count_first(self, database: EntryDatabase, state: EntryState) -> None:
        """Count the datasets after those that are counted, then what is downstream of all."""
        after = state.after
        total, done = self._store.count(entity_type=_DATASET), state.entries
        first = _FirstCount(total, done, done, time.monotonic())
        while chunk := self._store.urns(entity_type=_DATASET, after=after, limit=_AT_ONCE):
            if self._is_closing:
                return
            after = chunk[-1]
            database.put(self._read(chunk), after)
            first.done += len(chunk)
            # Set once there is progress: a count that keeps failing must not keep a service alive.
            self._first = first
        first.has_all = True
        self._count_downstream()
        if not self._is_closing:
            database.finish()

    def _read(self, urns: Sequence[str]) -> dict[str, DatasetFacts | None]:
        """Return the facts of datasets, `None` for those that are not stored."""
        begin = use_from()
        stored = self._store.aspects(urns, ASPECTS)
        found: dict[str, DatasetFacts | None] = {}
        for urn in urns:
            aspects = stored.get(urn)
            if aspects:
                use = read_use(urn, self._store, begin)
                found[urn] = read_facts(urn, {one.name: one.value for one in aspects}, use)
            else:
                found[urn] = None
        return found

    def _count_changed(self, database: EntryDatabase, *, is_aged_too: bool = False) -> None:
        """Recount the datasets that changed, and with `is_aged_too` those of which the use aged."""
        with self._lock:
            urns, self._changed = self._changed, set()
            if is_aged_too:
                urns, self._aged = urns | self._aged, set()
        left = sorted(urns)
        try:
            while left and not self._is_closing:
                # Lineage edges may have led to a new dataset before it was stored.
                if database.put(self._read(left[:_AT_ONCE])):
                    self._is_rewired = True
                del left[:_AT_ONCE]
        finally:
            with self._lock:
                self._changed.update(left)

    def _count_downstream(self) -> None:
        """Recount what is downstream of each dataset, and write what changed."""
        began = time.monotonic()
        with self._lock:
            self._is_rewired = False
        try:
            counts = count_downstream(self._store.lineage_pairs(), lambda: self._is_closing)
            after: str | None = ""
            while after is not None and not self._is_closing:
                with self._using_database() as database:
                    known = dict(database.downstream(after, _DOWNSTREAM_AT_ONCE))
                    handles = self._store.handles(list(known))
                    changed: dict[str, int] = {}
                    for urn, before in known.items():
                        handle = handles.get(urn, len(counts))
                        now = counts[handle] if handle < len(counts) else 0
                        if now != before:
                            changed[urn] = now
                    database.set_downstream(changed)
                after = max(known, default=None)
        except BaseException:
            with self._lock:
                self._is_rewired = True
            raise
        self._downstream_seconds = time.monotonic() - began

    def _advance(self, database: EntryDatabase) -> None:
        """Note how far the entries are complete, if nothing is left to recount."""
        with self._lock:
            offset = self._offset if self._has_news else max(self._offset, self._seen)
        if offset > self._offset:
            database.advance(offset, log_mark(self._store, offset))
            self._offset = offset
