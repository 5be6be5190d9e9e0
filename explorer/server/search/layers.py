"""Both layers as one: what is written goes to memory, and from there into the index on disk."""

import logging
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import tantivy

from explorer.errors import Unusable
from explorer.server.search.analysed import Analysed, analyse
from explorer.server.search.base import Base
from explorer.server.search.document import Document
from explorer.server.search.fields import Vocabulary
from explorer.server.search.overlay import Overlay, Pending
from explorer.server.search.terms import Terms, read_stored

__all__ = ["Layers", "View"]

_log = logging.getLogger("explorer.server.search")

_DRAIN_DOCUMENTS = 1_000
_DRAIN_SECONDS = 1.0
_RETRY_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class View:
    """One moment of both layers: a state of the index, with the number of its commit, and all
    that it lacks."""

    commit: int
    searcher: tantivy.Searcher
    pending: tuple[Pending, ...]


class Layers:
    """The index on disk and the changes it lacks. Any thread may call."""

    def __init__(self, directory: Path | None, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._base = Base(directory, vocabulary)
        self._overlay = Overlay()
        self._offset = self._base.offset
        self._commit = 0
        self._searcher = self._base.searcher
        self._waiting_since: float | None = None
        self._retry_at = 0.0
        self._is_closing = False
        # Held for moments only; the drain lock is held for a whole drain, commit and all.
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._drain_lock = threading.Lock()
        self._drainer = threading.Thread(
            target=self._drain_when_due, name="search-drainer", daemon=True
        )
        self._drainer.start()

    @property
    def committed_offset(self) -> int:
        """Up to which offset of the change log the index on disk holds everything."""
        return self._base.offset

    @property
    def index(self) -> tantivy.Index:
        """The index on disk."""
        return self._base.index

    @property
    def terms(self) -> Terms:
        """How documents are kept in the index."""
        return self._base.terms

    def apply(self, offset: int, documents: Iterable[Document], gone: Iterable[str]) -> None:
        """Add changes; they can be found when this returns. Waits for no commit."""
        changes = [self._pending(document) for document in documents]
        with self._changed:
            for change in changes:
                self._overlay.put(change)
            for urn in gone:
                self._overlay.put(Pending(urn))
            self._offset = max(self._offset, offset)
            if self._waiting_since is None and len(self._overlay):
                self._waiting_since = time.monotonic()
                self._changed.notify()
            elif len(self._overlay) >= _DRAIN_DOCUMENTS:
                self._changed.notify()

    def view(self) -> View:
        """Both layers as they are now."""
        with self._lock:
            return View(self._commit, self._searcher, self._overlay.listed())

    def read(self, view: View, urn: str) -> Analysed | None:
        """The document that the index has of a URN; about 0.2 ms."""
        query = tantivy.Query.term_query(self._base.terms.schema, "urn", urn)
        for _, address in view.searcher.search(query, 1, count=False).hits:
            return analyse(self._vocabulary, read_stored(view.searcher, address))
        return None

    def drain(self) -> None:
        """Bring all that is pending into the index and commit. Raises `Unusable` when the index
        cannot be written; what was pending stays so."""
        with self._drain_lock:
            with self._lock:
                batch, offset = self._overlay.listed(), self._offset
            if not batch:
                if offset > self._base.offset:
                    self._base.settle(offset)
                return
            self._base.write(((change.urn, change.entry) for change in batch), offset)
            with self._lock:
                self._overlay.settle(batch)
                self._commit += 1
                self._searcher = self._base.searcher
                self._waiting_since = time.monotonic() if len(self._overlay) else None

    def close(self) -> None:
        """Stop the drainer and let go of the directory. What is pending is not committed."""
        with self._changed:
            self._is_closing = True
            self._changed.notify()
        self._drainer.join()
        with self._drain_lock:
            self._base.close()

    def _pending(self, document: Document) -> Pending:
        analysed = analyse(self._vocabulary, document)
        try:
            entry = self._base.terms.make(analysed)
        except (ValueError, TypeError):
            _log.exception("%s cannot be indexed and will not be found", document.urn)
            entry = None
        return Pending(document.urn, analysed, entry)

    def _drain_when_due(self) -> None:
        while self._wait_until_due():
            try:
                self.drain()
            except Unusable:
                _log.exception("the search index cannot be written; trying again")
                self._retry_at = time.monotonic() + _RETRY_SECONDS

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
