"""Both layers as one: what is written goes to memory, and from there into the index on disk."""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import count, islice
from pathlib import Path
from typing import TypeAlias

import tantivy

from explorer.errors import Unusable
from explorer.server.search.analysed import Analysed, analyse
from explorer.server.search.base import Base, Source
from explorer.server.search.document import Document
from explorer.server.search.engine import Searcher
from explorer.server.search.fields import Vocabulary
from explorer.server.search.overlay import Overlay, Pending
from explorer.server.search.terms import Terms, read_analysed, read_document

__all__ = ["Layers", "View"]

_log = logging.getLogger("explorer.server.search")

_DRAIN_DOCUMENTS = 1_000
_DRAIN_SECONDS = 1.0
_RETRY_SECONDS = 5.0
_AT_ONCE = 50
_PAGE = 1_000
_commits = count(1)


@dataclass(frozen=True, slots=True)
class View:
    """One moment of both layers: a state of the index, with the number of its commit, which no
    other state in this process has, and all that it lacks."""

    commit: int
    searcher: Searcher
    pending: tuple[Pending, ...]


@dataclass(frozen=True, slots=True)
class _Change:
    urn: str
    new: Analysed | None = None
    entry: tantivy.Document | None = None


# A change with its entry for the index, or an offset of the change log that was reached.
_Step: TypeAlias = tuple[Pending, tantivy.Document | None] | tuple[None, int]


class Layers:
    """The index on disk and the changes it lacks. Any thread may call.

    `on_failure` is called, in whichever thread it happens, when the index on disk could not be
    written; the changes stay in memory and are tried again.
    """

    def __init__(
        self,
        directory: Path | None,
        vocabulary: Vocabulary,
        source: Source | None = None,
        on_failure: Callable[[], None] = lambda: None,
    ) -> None:
        self._vocabulary = vocabulary
        self._on_failure = on_failure
        self._base = Base(directory, vocabulary, source)
        self._overlay = Overlay()
        # What is to be written, and what was since the last commit, each with what the change log
        # reached.
        self._queued: deque[_Step] = deque()
        self._written: list[_Step] = []
        self._written_offset = self._base.offset
        self._commit = next(_commits)
        self._searcher = self._base.searcher
        self._waiting_since: float | None = None
        self._retry_at = 0.0
        self._is_closing = False
        # Held for moments only; `_writing` is held while the writer is used, commit and all.
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._writing = threading.Lock()
        self._drainer = threading.Thread(
            target=self._drain_when_due, name="search-drainer", daemon=True
        )
        self._drainer.start()

    @property
    def committed_offset(self) -> int:
        """Up to which offset of the change log the index on disk holds everything."""
        return self._base.offset

    @property
    def terms(self) -> Terms:
        """How documents are kept in the index."""
        return self._base.terms

    def apply(self, offset: int, documents: Iterable[Document], gone: Iterable[str]) -> None:
        """Add changes; they can be found when this returns. Waits for no commit."""
        left = iter(documents)
        while part := list(islice(left, _AT_ONCE)):
            self._queue([self._prepared(document) for document in part])
        self._queue([_Change(urn) for urn in gone], offset)

    def find_damage(self) -> list[str]:
        """Return what is wrong with the files of the index on disk, one sentence each."""
        return self._base.find_damage()

    def view(self) -> View:
        """Both layers as they are now."""
        with self._lock:
            return View(self._commit, self._searcher, self._overlay.listed())

    def read(self, view: View, urn: str) -> Analysed | None:
        """The document that the index has of a URN; about 0.1 ms."""
        query = tantivy.Query.term_query(self._base.terms.schema, "urn", urn)
        for _, address in view.searcher.search(query, 1, count=False).hits:
            return read_analysed(self._vocabulary, view.searcher, address)
        return None

    def holds(self, document: Document) -> bool:
        """Whether exactly this document is kept under its URN, and no other."""
        view = self.view()
        terms = self._base.terms
        for change in view.pending:
            if change.urn == document.urn:
                kept = [] if change.new is None else [change.new.document]
                break
        else:
            query = tantivy.Query.term_query(terms.schema, "urn", document.urn)
            hits = view.searcher.search(query, 2, count=False).hits
            kept = [read_document(view.searcher, address) for _, address in hits]
        return [terms.kept(one) for one in kept] == [terms.kept(document)]

    def urns(self) -> Iterator[str]:
        """The URN of every document of both layers."""
        view = self.view()
        changed = {change.urn for change in view.pending}
        yield from (change.urn for change in view.pending if change.new is not None)
        for begin in range(0, view.searcher.num_docs, _PAGE):
            hits = view.searcher.search(
                tantivy.Query.all_query(), _PAGE, count=False, offset=begin
            ).hits
            for _, address in hits:
                urn = read_document(view.searcher, address).urn
                if urn not in changed:
                    yield urn

    def drain(self) -> None:
        """Bring all that is pending into the index and commit. Raises `Unusable` when the index
        cannot be written; what was pending stays so."""
        with self._writing:
            try:
                self._write_queued()
                if not self._written and self._written_offset <= self._base.offset:
                    return
                self._base.commit(self._written_offset)
            except BaseException:
                self._requeue()
                raise
            with self._lock:
                self._overlay.settle(change for change, _ in self._written if change is not None)
                self._written.clear()
                self._commit = next(_commits)
                self._searcher = self._base.searcher
                self._waiting_since = time.monotonic() if len(self._overlay) else None

    def close(self) -> None:
        """Stop the drainer and let go of the directory. What is pending is not committed."""
        with self._changed:
            self._is_closing = True
            self._changed.notify()
        self._drainer.join()
        with self._writing:
            self._base.close()

    def _prepared(self, document: Document) -> "_Change":
        analysed = analyse(self._vocabulary, document)
        try:
            entry = self._base.terms.make(analysed)
        except (ValueError, TypeError):
            _log.exception("%s cannot be indexed and will not be found", document.urn)
            entry = None
        return _Change(document.urn, analysed, entry)

    def _queue(self, changes: list["_Change"], offset: int | None = None) -> None:
        with self._changed:
            for change in changes:
                pending = self._overlay.put(change.urn, change.new)
                self._queued.append((pending, change.entry))
            if offset is not None:
                self._queued.append((None, offset))
            self._note_waiting()
        # Whoever applies also writes, unless a commit is under way: handing every entry to another
        # thread makes both wait for the interpreter, entry by entry.
        if time.monotonic() >= self._retry_at and self._writing.acquire(blocking=False):
            try:
                self._write_queued()
            except Unusable:
                _log.exception("the search index cannot be written; trying again")
                self._requeue()
                self._on_failure()
            finally:
                self._writing.release()

    def _write_queued(self) -> None:
        """Hand what is queued to the writer, in order. `_writing` is held."""
        while True:
            with self._lock:
                if not self._queued:
                    return
                step = self._queued.popleft()
            self._written.append(step)
            match step:
                case Pending() as change, entry if not isinstance(entry, int):
                    self._base.put(change.urn, entry)
                case _, int() as offset:
                    self._written_offset = max(self._written_offset, offset)

    def _requeue(self) -> None:
        """After a failure: what was written since the last commit is to be written again."""
        with self._lock:
            self._queued.extendleft(reversed(self._written))
            self._written.clear()
            self._written_offset = self._base.offset
            self._retry_at = time.monotonic() + _RETRY_SECONDS

    def _note_waiting(self) -> None:
        if self._waiting_since is None and len(self._overlay):
            self._waiting_since = time.monotonic()
            self._changed.notify()
        elif len(self._overlay) >= _DRAIN_DOCUMENTS:
            self._changed.notify()

    def _drain_when_due(self) -> None:
        while self._wait_until_due():
            try:
                self.drain()
            except Exception:  # noqa: BLE001 - the thread goes on; what is pending stays in memory
                _log.exception("the search index cannot be written; trying again")
                self._on_failure()

    def _wait_until_due(self) -> bool:
        """Whether there is something to drain; false when there never will be again."""
        with self._changed:
            while not self._is_closing:
                due_in = self._due_in_seconds()
                if due_in is not None and due_in <= 0:
                    return True
                self._changed.wait(due_in)
            return False

    def _due_in_seconds(self) -> float | None:
        if self._waiting_since is None:
            return None
        now = time.monotonic()
        is_much = len(self._overlay) >= _DRAIN_DOCUMENTS
        due_at = self._waiting_since + (0 if is_much else _DRAIN_SECONDS)
        return max(due_at, self._retry_at) - now
