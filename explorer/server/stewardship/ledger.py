"""The facts of every dataset, counted once and kept: in memory, and in a file of the data directory
that the next start goes on with.

Nothing is counted before somebody asks. From then on the datasets that change are counted anew in
the background, and at the latest when somebody asks; a start reads the file and what the change log
has since. The file is derived: one of another format, of another catalog or damaged, is made anew.
"""

import logging
import os
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from explorer.errors import Busy, CatalogError
from explorer.server.measures import read_use, use_from
from explorer.server.stewardship.facts import ASPECTS, Facts, read_facts
from explorer.server.stewardship.reach import count_downstream
from explorer.server.store import Store

__all__ = ["PATIENCE_SECONDS", "Entry", "Ledger"]

_log = logging.getLogger("explorer.server")

# Raise it when what is kept changes.
_FORMAT = 1
_AT_ONCE = 500
_PREFIX = "urn:li:dataset:"
_DATASET = "dataset"
# What changes in this time is counted together.
_PAUSE_SECONDS = 1.0
_RETRY_SECONDS = 10.0
PATIENCE_SECONDS = 10.0
"""So long somebody who asks first waits."""
_RETRY_AFTER_SECONDS = 2.0


class Entry(msgspec.Struct, gc=False, array_like=True):
    """A dataset: how much of it is not described, the most that any of that is used, whether it is
    soft-deleted, when the first of its counted use was (0 for none), how many entities are made
    from it, and its facts, packed."""

    lacking: int
    most_used: int
    removed: bool
    oldest_millis: int
    downstream: int
    packed: bytes

    @property
    def facts(self) -> Facts:
        """The facts; about 4 µs."""
        return _facts.decode(self.packed)


class _File(msgspec.Struct, array_like=True):
    format: int
    catalog: str
    offset: int
    mark: str
    entries: dict[str, Entry]


_facts = msgspec.msgpack.Decoder(Facts)
_file = msgspec.msgpack.Decoder(_File)
_encoder = msgspec.msgpack.Encoder()


class Ledger:
    """Any thread may call. `file` is where it is kept; in memory alone without one."""

    def __init__(self, store: Store, file: Path | None) -> None:
        self._store = store
        self._file = file
        self._entries: dict[str, Entry] = {}
        self._is_counted = False
        # What is to be counted anew: what changed, and what is only used less by now.
        self._changed: set[str] = set()
        self._aged: set[str] = set()
        self._is_rewired = False
        # All that the change log has up to the first is in the entries, when nothing is left.
        self._offset = 0
        self._seen = 0
        self._is_listening = False
        self._is_closing = False
        self._ready = threading.Event()
        self._is_saved = False
        self._thread: threading.Thread | None = None
        # `_lock` is held for moments, `_counting` while facts are read.
        self._lock = threading.Lock()
        self._news = threading.Condition(self._lock)
        self._counting = threading.RLock()

    def open(self) -> None:
        """Go on with what is kept, in the background, if anything is."""
        if self._file is not None and self._file.exists():
            self._listen()

    def note(self, urns: Iterable[str], aged: Iterable[str], offset: int, *, rewired: bool) -> None:
        """Take note of a commit: of the entities that changed, those that are `aged`, derived anew
        while what is stored of them stayed, and whether lineage changed. Returns at once."""
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
        """Whether everything was counted once; it is being counted from now on."""
        self._listen()
        return self._ready.is_set()

    @contextmanager
    def entries(self) -> Iterator[dict[str, Entry]]:
        """Every dataset by its URN, as it is stored now; for the length of a `with`, to be read
        only. Seconds the first time in a large catalog, else milliseconds. Raises `Busy` when that
        first time takes longer than 10 seconds, and goes on counting."""
        self._listen()
        if not self._ready.wait(PATIENCE_SECONDS):
            error = Busy("what is documented is being counted for the first time; try again soon")
            error.retry_after_seconds = _RETRY_AFTER_SECONDS
            raise error
        with self._counting:
            self._bring_up_to_date()
            yield self._entries

    def close(self) -> None:
        """Keep what was counted for the next start."""
        with self._news:
            self._is_closing = True
            self._news.notify()
        if self._thread is not None:
            self._thread.join()
        with self._counting:
            if self._is_counted and not self._is_saved:
                self._save()

    def _listen(self) -> None:
        with self._lock:
            if self._is_listening or self._is_closing:
                return
            self._is_listening = True
            self._thread = threading.Thread(target=self._serve, name="stewardship", daemon=True)
            self._thread.start()

    def _serve(self) -> None:
        """Count what changes while nobody asks."""
        while not self._is_closing:
            try:
                with self._counting:
                    self._bring_up_to_date(is_aged_too=True)
                if self._is_counted:
                    self._ready.set()
            except CatalogError:
                _log.exception("what is documented cannot be counted; trying again")
                self._wait(_RETRY_SECONDS)
            with self._news:
                while not (self._changed or self._aged or self._is_rewired or self._is_closing):
                    self._news.wait()
            self._wait(_PAUSE_SECONDS)

    def _wait(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        with self._news:
            while not self._is_closing and (left := until - time.monotonic()) > 0:
                self._news.wait(left)

    def _bring_up_to_date(self, *, is_aged_too: bool = False) -> None:
        """`_counting` is held."""
        if not self._is_counted:
            self._begin()
        while not self._is_closing:
            with self._lock:
                urns, self._changed = self._changed, set()
                if is_aged_too:
                    urns, self._aged = urns | self._aged, set()
                is_rewired, self._is_rewired = self._is_rewired, False
                seen = self._seen
            if not urns and not is_rewired:
                with self._lock:
                    self._offset = max(self._offset, seen)
                return
            try:
                self._count(sorted(urns))
                if is_rewired:
                    self._count_downstream()
            except BaseException:
                with self._lock:
                    self._changed |= urns
                    self._is_rewired = self._is_rewired or is_rewired
                raise
            self._is_saved = False

    def _begin(self) -> None:
        kept = self._read()
        head = self._store.log_head()
        if kept is not None:
            self._entries = kept.entries
            since = self._store.changed_since(kept.offset)
            begin = _use_from()
            old = [urn for urn, one in kept.entries.items() if 0 < one.oldest_millis < begin]
            with self._lock:
                self._changed.update(urn for urn in since if urn.startswith(_PREFIX))
                self._aged.update(old)
                # Any change may be one of lineage.
                self._is_rewired = self._is_rewired or bool(since)
            self._offset = kept.offset
            self._is_saved = not since
        else:
            self._entries = {}
            after = _PREFIX
            while chunk := self._store.urns(after, _AT_ONCE, _DATASET):
                if self._is_closing:
                    return
                self._count(chunk)
                after = chunk[-1]
            self._offset = head
            with self._lock:
                self._is_rewired = True
        with self._lock:
            self._seen = max(self._seen, head)
        self._is_counted = True

    def _count(self, urns: Sequence[str]) -> None:
        begin = _use_from()
        for at in range(0, len(urns), _AT_ONCE):
            chunk = urns[at : at + _AT_ONCE]
            stored = self._store.aspects(chunk, ASPECTS)
            for urn in chunk:
                aspects = stored.get(urn)
                if not aspects:
                    self._entries.pop(urn, None)
                    continue
                use = read_use(urn, self._store.points, begin)
                facts = read_facts(urn, {one.name: one.value for one in aspects}, use)
                before = self._entries.get(urn)
                self._entries[urn] = Entry(
                    len(facts.lacking),
                    max((one.use for one in facts.lacking), default=0),
                    facts.removed,
                    facts.oldest_millis or 0,
                    before.downstream if before else 0,
                    _encoder.encode(facts),
                )
                if before is None:
                    # It may have been pointed at before it was stored.
                    self._is_rewired = True

    def _count_downstream(self) -> None:
        upstream, downstream = self._store.lineage_pairs()
        counts = count_downstream(zip(upstream, downstream, strict=True))
        handles = list(counts)
        names, _ = self._store.lineage_names(handles)
        for entry in self._entries.values():
            entry.downstream = 0
        for handle, urn in zip(handles, names, strict=True):
            found = self._entries.get(urn)
            if found is not None:
                found.downstream = counts[handle]

    def _read(self) -> _File | None:
        """What is kept of this catalog as it was, or nothing."""
        try:
            kept = _file.decode(self._file.read_bytes()) if self._file else None
        except (OSError, msgspec.MsgspecError):
            return None
        if kept is None or kept.format != _FORMAT or kept.catalog != self._store.catalog_id():
            return None
        if kept.offset < self._store.log_floor():
            return None
        return kept if self._store.log_mark(kept.offset) == kept.mark else None

    def _save(self) -> None:
        file, mark = self._file, self._store.log_mark(self._offset)
        if file is None or mark is None:
            return
        kept = _File(_FORMAT, self._store.catalog_id(), self._offset, mark, self._entries)
        draft = file.with_name(f"{file.name}.new")
        try:
            draft.touch(mode=0o600)
            with draft.open("wb") as opened:
                opened.write(_encoder.encode(kept))
                opened.flush()
                os.fsync(opened.fileno())
            draft.replace(file)
        except OSError as error:
            _log.warning("%s cannot be written: %s; it is counted anew when asked for", file, error)


def _use_from() -> int:
    return use_from(time.time_ns() // 1_000_000)
