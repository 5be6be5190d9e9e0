"""The index on disk and the in-memory indexes of newer documents, combined.

A commit of the index on disk costs several disk flushes, so it happens in the background. Until
then the changed documents are in an in-memory index of the same schema, and their URNs are excluded
from searches of the index on disk. A query is translated once for each index, so both answer it in
the same way.

The in-memory index is committed by the first search after a change, because even that commit takes
some milliseconds: a bulk load causes one commit for each search that happens meanwhile, and while
nobody searches, nothing is added to the in-memory index.
"""

import logging
import math
import re
import threading
import time
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count, islice
from pathlib import Path
from typing import NamedTuple, TypeAlias

import msgspec
import tantivy

from explorer.errors import InUse, StorageFault, Unusable
from explorer.files import replace_file
from explorer.server.search.document import Document, Indexed
from explorer.server.search.engine import (
    EngineFailed,
    IndexWriter,
    Searcher,
    boundary,
    find_index_damage,
)
from explorer.server.search.entries import EntryWorker, make_entry
from explorer.server.search.fields import REMOVED, Vocabulary
from explorer.server.search.terms import FORMAT, Terms, is_term, read_document
from explorer.server.store import Store, StoreUnavailable, log_mark

STATE = "index.json"

# A larger index, which would delay the start by more than 0.2 s, is verified after the start.
_MOST_VERIFIED_BYTES = 200_000_000

_log = logging.getLogger("explorer.server.search")

_OURS = re.compile(r"[0-9a-f]{32}\.[\w.]+|meta\.json|\.managed\.json|\.tmp\w{6}|index\.json.*")


class _State(msgspec.Struct):
    """The state file of an index: its catalog, and how much of the change log it holds.

    `mark` is the digest of the last row of the change log that the index holds, empty if there is
    none; `check` is the checksum of the other values.
    """

    format: int
    vocabulary: str
    offset: int
    catalog: str
    mark: str
    check: int = 0

    def checksum(self) -> int:
        """Return the checksum of the other values."""
        values = (self.format, self.vocabulary, self.offset, self.catalog, self.mark)
        return zlib.crc32(repr(values).encode())


class DiskIndex:
    """A tantivy index with the offset of the change log up to which it is complete.

    It has one writer, in one process; any thread may read. `searcher` is the snapshot of the last
    commit.
    """

    def __init__(
        self, directory: Path | None, vocabulary: Vocabulary, source: Store | None
    ) -> None:
        """Open the index in a directory, and create it if there is none; `None` keeps it in memory.

        The index is discarded and created again, with offset 0, if it is damaged, of another format
        or vocabulary, of another catalog than `source`, or if it has changes that `source` does not
        have. The files of a large one are not read here, but by `verify`. Raises `Unusable` when
        another process has it open or the directory cannot be written.
        """
        self._directory = directory
        self._digest = vocabulary.digest
        self._source = source
        self.terms = Terms(vocabulary)
        self.offset = 0
        self.is_verified = True
        """Whether the files were compared with their checksums when the index was opened."""
        self._writer: IndexWriter | None
        try:
            self._index, self._writer = self._open()
            self.searcher = Searcher(self._index)
        except (OSError, EngineFailed) as error:
            raise StorageFault(f"cannot store the search index in {directory}: {error}") from error

    def put(self, urn: str, entry: tantivy.Document | None) -> None:
        """Replace the entries of a URN by one entry, or delete them, with the next commit.

        Raises `Unusable` when the index cannot be written; then everything put since the last
        commit is lost.
        """
        try:
            if self._writer is None:
                self._writer = self._new_writer(self._index)
            self._writer.replace(urn, entry)
        except (EngineFailed, OSError) as error:
            raise self._lost(error) from error

    def commit(self, offset: int) -> None:
        """Commit what was put, and open the new snapshot as `searcher`. Raises as `put`."""
        try:
            if self._writer is not None:
                self._writer.commit()
            self.searcher = Searcher(self._index)
            # Written after the commit: a crash in between leaves the offset too low, and replaying
            # changes is harmless.
            if self._note(offset):
                self.offset = offset
        except (EngineFailed, OSError) as error:
            raise self._lost(error) from error

    def find_damage(self) -> list[str]:
        """Return the problems of the files of the index; empty for an index in memory."""
        return [] if self._directory is None else find_index_damage(self._directory)

    def verify(self) -> list[str]:
        """Return the problems of the files of the index, or of the number of its documents."""
        if problems := self.find_damage():
            return problems
        try:
            problem = self._describe_miscount(self.searcher)
        except EngineFailed as error:
            problem = str(error)
        return [problem] if problem else []

    def close(self) -> None:
        """Wait for running merges and release the directory."""
        if self._writer is not None:
            try:
                self._writer.close()
            except EngineFailed:
                _log.exception(
                    "the search index in %s could not be closed properly", self._directory
                )
            self._writer = None

    def _lost(self, error: Exception) -> StorageFault:
        # A writer that has failed is unusable, and holds its lock until it is garbage-collected.
        self._writer = None
        place = self._directory or "memory"
        return StorageFault(f"cannot write the search index in {place}: {error}")

    def _open(self) -> tuple[tantivy.Index, IndexWriter]:
        if self._directory is None:
            index = self.terms.open(None)
            return index, self._new_writer(index)
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        state, problem = _read_state(self._directory, self._digest, self._source)
        if state is not None:
            try:
                index = self._open_verified(self._directory)
                writer = self._new_writer(index)
            except EngineFailed as error:
                problem = str(error)
            else:
                self.offset = state.offset
                return index, writer
        if problem:
            _log.warning("the search index in %s is being rebuilt: %s", self._directory, problem)
        _clear(self._directory)
        self.is_verified = True
        with boundary:
            index = self.terms.open(str(self._directory))
        return index, self._new_writer(index)

    def _open_verified(self, directory: Path) -> tantivy.Index:
        """Open the index, and verify it unless it is large. Raises `EngineFailed` when its files
        are damaged."""
        sizes = (path.stat().st_size for path in directory.iterdir() if path.is_file())
        self.is_verified = sum(sizes) <= _MOST_VERIFIED_BYTES
        if self.is_verified and (problems := find_index_damage(directory)):
            raise EngineFailed("; ".join(problems[:3]))
        with boundary:
            index = self.terms.open(str(directory))
        searcher = Searcher(index)
        if self.is_verified and (problem := self._describe_miscount(searcher)):
            raise EngineFailed(problem)
        return index

    def _describe_miscount(self, searcher: Searcher) -> str:
        """Return a sentence if the list of segments, which no checksum covers, has a wrong number
        of documents; else an empty string."""
        # The documents can be counted, because each has a value of `removed`.
        document_count = sum(
            searcher.count(
                tantivy.Query.term_query(self.terms.schema, "is", is_term(REMOVED, removed))
            )
            for removed in ("true", "false")
        )
        if document_count == searcher.num_docs:
            return ""
        return (
            f"it has {document_count} documents, but its list of segments says {searcher.num_docs}"
        )

    def _new_writer(self, index: tantivy.Index) -> IndexWriter:
        try:
            return IndexWriter(index)
        except EngineFailed as error:
            if "LockBusy" not in str(error):
                raise
            raise InUse(
                f"another process has the search index in {self._directory} open; stop it first"
            ) from error

    def _note(self, offset: int) -> bool:
        """Write the state file with an offset, and return true; false if the mark cannot be read
        now.

        The file then keeps its lower offset, and changes are replayed from there.
        """
        if self._directory is None:
            return True
        catalog, mark = "", ""
        if self._source is not None:
            try:
                catalog, mark = self._source.catalog_id(), log_mark(self._source, offset) or ""
            except StoreUnavailable:
                return False
        state = _State(FORMAT, self._digest, offset, catalog, mark)
        state.check = state.checksum()
        replace_file(self._directory / STATE, msgspec.json.encode(state))
        return True


def _read_state(
    directory: Path, vocabulary: str, source: Store | None
) -> tuple[_State | None, str]:
    """Return the state file of an index if the index can be used, else `None` and the reason.

    The reason is empty if there is no index, or if it is of another release or registry.
    """
    try:
        raw = (directory / STATE).read_bytes()
    except FileNotFoundError:
        return None, ""
    try:
        state = msgspec.json.decode(raw, type=_State)
    except msgspec.ValidationError:
        # Written by a release whose state file has fewer values.
        return None, ""
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None, f"{STATE} is damaged"
    if state.check != state.checksum():
        return None, f"{STATE} is damaged"
    if (state.format, state.vocabulary) != (FORMAT, vocabulary) or state.offset <= 0:
        return None, ""
    if source is not None and state.catalog != source.catalog_id():
        return None, "it was built from another catalog"
    if source is not None and state.mark != log_mark(source, state.offset):
        return None, "it has changes that the catalog does not have"
    return state, ""


def read_problems(directory: Path) -> list[str]:
    """Return the problems of the index files in a directory; empty if there is no index."""
    return find_index_damage(directory) if (directory / STATE).is_file() else []


def read_progress(directory: Path) -> tuple[str, int, str] | None:
    """Return the catalog id of the index in a directory, the offset of the change log up to which
    the index is complete, and the digest of that row; `None` if there is no index with changes, or
    its state file is damaged."""
    try:
        state = msgspec.json.decode((directory / STATE).read_bytes(), type=_State)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None
    if state.check != state.checksum() or state.offset <= 0:
        return None
    return state.catalog, state.offset, state.mark


def _clear(directory: Path) -> None:
    """Remove the files of an index, and no others."""
    for path in directory.iterdir():
        if _OURS.fullmatch(path.name) and path.is_file():
            path.unlink()


class MemoryIndex:
    """The changed documents that the index on disk lacks, and an in-memory index of them.

    In `documents`, `None` marks a removed document. The owner guards the object with two locks: one
    around `put`, `take` and `missing`, another around `add` and `commit`, so changes can be put
    while the index is committed.
    """

    def __init__(self, terms: Terms, vocabulary: Vocabulary) -> None:
        self.documents: dict[str, Indexed | None] = {}
        self.replacing: set[str] = set()
        """The URNs in `documents` that an older index may have too."""
        self.unmade: set[str] = set()
        """The URNs in `documents` whose entries are still to be made, and passed to `fill`."""
        self._taken: set[str] = set()
        self._terms = terms
        self._vocabulary = vocabulary
        # The documents not added yet, with the entries of some. An entry takes four times the
        # memory of its document, so beyond `_MOST_MISSING` only the documents are kept, and their
        # entries are made again.
        self._missing: dict[str, tantivy.Document | None] = {}
        self._has_failed = False
        self._is_committed = True
        self._opened: tuple[tantivy.Index, IndexWriter] | None = None
        self._searcher: Searcher | None = None

    def __len__(self) -> int:
        return len(self.documents)

    @property
    def missing(self) -> int:
        """The number of documents that are not yet added to the index."""
        return len(self._missing)

    def put(self, urn: str, document: Indexed | None, entry: tantivy.Document | None) -> None:
        """Record a change; it replaces earlier changes of the same document."""
        self.documents[urn] = document
        self._missing[urn] = entry if len(self._missing) < _MOST_MISSING else None
        if entry is None and document is not None:
            self.unmade.add(urn)
        else:
            self.unmade.discard(urn)

    def fill(self, urn: str, document: Indexed | None, entry: tantivy.Document | None) -> None:
        """Note the entry that was made of a document, unless that was replaced since."""
        if urn in self.unmade and self.documents[urn] is document:
            self.put(urn, document, entry)
            self.unmade.discard(urn)

    def take(self) -> dict[str, tantivy.Document | None]:
        """Return the entries put since the last call, to be passed to `add`; those that are still
        to be made are left for a later call."""
        if self._has_failed:
            self._opened = self._searcher = None
            self._taken.clear()
            self._missing, self._has_failed = dict.fromkeys(self.documents), False
        entries = {urn: entry for urn, entry in self._missing.items() if urn not in self.unmade}
        self._missing = dict.fromkeys(urn for urn in self._missing if urn in self.unmade)
        self._taken |= entries.keys()
        return entries

    @property
    def hidden(self) -> tuple[str, ...]:
        """The URNs that older indexes hide, once what was taken is added."""
        return tuple(self.replacing & self._taken)

    def add(self, entries: Mapping[str, tantivy.Document | None]) -> None:
        """Add entries that `take` returned to the index.

        Raises `EngineFailed`; then the next `take` returns all documents, for a new index.
        """
        if self._opened is None and not any(map(self.documents.get, entries)):
            return
        try:
            if self._opened is None:
                with boundary:
                    index = self._terms.open(None)
                self._opened = index, IndexWriter(index, _MEMORY_HEAP_BYTES)
            for urn, queued_entry in entries.items():
                entry, document = queued_entry, self.documents[urn]
                if entry is None and document is not None:
                    entry = make_entry(self._terms, self._vocabulary, document)
                self._opened[1].replace(urn, entry)
                self._is_committed = False
        except EngineFailed:
            self._has_failed = True
            raise

    def commit(self) -> Searcher | None:
        """Commit, and return a snapshot of all added documents, or `None` if there are none.

        Raises the errors of `add`.
        """
        if self._opened is None or self._is_committed:
            return self._searcher
        try:
            index, writer = self._opened
            writer.commit()
            self._searcher = Searcher(index)
        except EngineFailed:
            self._has_failed = True
            raise
        self._is_committed = True
        return self._searcher


# Up to `_FEW` changes are committed to disk after `_DRAIN_FEW_SECONDS`: a search costs more the
# more documents are in memory, but a search during a commit waits for a processor. A bulk load
# commits every `_DRAIN_DOCUMENTS` documents or `_DRAIN_MANY_SECONDS`, and `_PAUSE_SECONDS` after
# its last change: each commit costs as much as indexing some hundred documents, and makes a segment
# that has to be merged later.
_FEW = 50
_DRAIN_DOCUMENTS = 2_000
_DRAIN_FEW_SECONDS = 5.0
_DRAIN_MANY_SECONDS = 10.0
_PAUSE_SECONDS = 1.0
_RETRY_SECONDS = 5.0
_AT_ONCE = 50
_PAGE = 1_000
_MEMORY_HEAP_BYTES = 15_000_000
# If more documents than this are missing from the in-memory index, a search drains them to disk
# instead of adding them.
_MOST_MISSING = 200
# For this long after a search, changes are added to the in-memory index as they arrive, before the
# next search needs them: one after 150 changes takes 50 ms, and 75 if it has to add them.
_SEARCHED_SECONDS = 5.0
# After `_BULK_AFTER` changes without a pause or a search between them, entries are made in another
# process. At most `_MOST_QUEUED` changes are queued for it; it gets them in chunks, and the rest
# after a pause. A few entries are made here.
_BULK_AFTER = 500
_MOST_QUEUED = 400
_CHUNK = 100
_CHUNK_SECONDS = 0.2
_FEW_ENTRIES = 2
_numbers = count(1)


@dataclass(frozen=True, slots=True)
class IndexPart:
    """A snapshot of one of the indexes, without the URNs in `hidden`, which a newer index has."""

    searcher: Searcher
    hidden: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class IndexSnapshot:
    """A snapshot of all indexes: the index on disk, then those in memory.

    `number` is unique within this process.
    """

    number: int
    parts: tuple[IndexPart, ...]


class _Held(threading.local):
    """The snapshot that a thread reads while it is in `one_view`."""

    depth = 0
    snapshot: IndexSnapshot | None = None


class _Change(NamedTuple):
    """The document that the index is to hold for a URN; `None` removes the URN.

    If only `entry` is `None`, it is made again from the document.
    """

    urn: str
    document: Indexed | None = None
    entry: tantivy.Document | None = None


# A change, or the offset of the change log that the changes before it reach.
_Step: TypeAlias = _Change | int


class Layers:
    """The index on disk and the changes it lacks. Thread-safe.

    `on_failure` is called, in the thread where it happens, when the index on disk could not be
    written; the changes stay in memory and are written again later.
    """

    def __init__(
        self,
        directory: Path | None,
        vocabulary: Vocabulary,
        source: Store | None = None,
        on_failure: Callable[[], None] = lambda: None,
    ) -> None:
        self._vocabulary = vocabulary
        self._on_failure = on_failure
        self._base = DiskIndex(directory, vocabulary, source)
        # The index of the changes since the last drain began, and that of the changes that a
        # running drain writes to disk.
        self._pending = MemoryIndex(self._base.terms, vocabulary)
        self._draining: MemoryIndex | None = None
        # The snapshot of the index on disk, without what a running drain writes.
        self._disk = self._base.searcher
        # The last snapshot, until something changes.
        self._snapshot: IndexSnapshot | None = None
        self._changes = 0
        self._held = _Held()
        self._viewed_at = -math.inf
        # The changes whose entries are to be made, those to be written, and those written since the
        # last commit, each with the offsets of the change log in between.
        self._queued: deque[_Step] = deque()
        self._made: list[_Step] = []
        self._written: list[_Step] = []
        self._failures = 0
        self._written_offset = self._base.offset
        self._waiting_since: float | None = None
        self._changed_at = 0.0
        self._retry_at = 0.0
        self._is_failing = False
        self._is_closing = False
        # How many changes came without a pause, and whether the maker is to make their entries.
        self._streak = 0
        self._is_deferred = False
        self._worker = EntryWorker(self._base.terms, vocabulary)
        # `_lock` is held for moments only, `_making` while entries are made. `_writing` is held
        # while the writer of the index on disk is used, and `_viewing` while the in-memory indexes
        # are, both also during commits.
        self._lock = threading.Lock()
        self._making = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._writing = threading.Lock()
        self._viewing = threading.Lock()
        self._threads = [
            threading.Thread(target=work, name=name, daemon=True)
            for name, work in (
                ("search-drainer", self._drain_when_due),
                ("search-maker", self._make_when_due),
            )
        ]
        for thread in self._threads:
            thread.start()

    @property
    def committed_offset(self) -> int:
        """The offset of the change log up to which the index on disk is complete."""
        return self._base.offset

    @property
    def is_verified(self) -> bool:
        """Whether the index on disk was verified when it was opened; else `verify` does it."""
        return self._base.is_verified

    def verify(self) -> list[str]:
        """Verify the index on disk, and return its problems. Nothing is written meanwhile, because
        a merge would give damaged data new checksums."""
        with self._writing:
            return self._base.verify()

    @property
    def terms(self) -> Terms:
        """The schema of the index."""
        return self._base.terms

    def apply(self, offset: int, documents: Iterable[Indexed], removed_urns: Iterable[str]) -> None:
        """Add changes. They can be found when this returns; it does not wait for a commit."""
        remaining = iter(documents)
        while part := list(islice(remaining, _AT_ONCE)):
            if self._is_bulk(len(part)):
                self._defer([_Change(document.urn, document) for document in part])
            else:
                self._queue([self._make_change(document) for document in part])
        self._queue([_Change(urn) for urn in removed_urns], offset)

    def find_damage(self) -> list[str]:
        """Return the problems of the files of the index on disk, one sentence each."""
        return self._base.find_damage()

    @contextmanager
    def one_view(self) -> Iterator[None]:
        """Have all calls of `view` by this thread return the same snapshot."""
        self._held.depth += 1
        try:
            yield
        finally:
            self._held.depth -= 1
            if not self._held.depth:
                self._held.snapshot = None

    @property
    def holds_view(self) -> bool:
        """Whether `view` returns this thread a snapshot that it has read before."""
        return self._held.snapshot is not None

    def view(self) -> IndexSnapshot:
        """Return a snapshot of everything that can be searched now.

        The first call after a change takes about 5 ms.
        """
        snapshot = self._held.snapshot or self._view_now()
        if self._held.depth:
            self._held.snapshot = snapshot
        return snapshot

    def _view_now(self) -> IndexSnapshot:
        with self._viewing:
            with self._lock:
                self._viewed_at = time.monotonic()
                is_late = sum(memory.missing for memory in self._memories) > _MOST_MISSING
            if is_late:
                self._catch_up()
            else:
                self._make_queued()
            with self._lock:
                if self._snapshot is not None:
                    return self._snapshot
                changes, disk = self._changes, self._disk
                memories = self._memories
                is_whole = not any(memory.unmade for memory in memories)
                batches = [memory.take() for memory in memories]
                hidden = [memory.hidden for memory in memories]
            parts: list[IndexPart] = []
            for at, (memory, entries) in enumerate(zip(memories, batches, strict=True)):
                memory.add(entries)
                if (searcher := memory.commit()) is not None:
                    parts.append(IndexPart(searcher, hidden[0] if at else ()))
            base = IndexPart(disk, tuple({urn for urns in hidden for urn in urns}))
            snapshot = IndexSnapshot(next(_numbers), (base, *parts))
            with self._lock:
                if changes == self._changes and is_whole:
                    self._snapshot = snapshot
            return snapshot

    @property
    def _memories(self) -> list[MemoryIndex]:
        """The indexes in memory, the newer one first. `_lock` is held."""
        return [memory for memory in (self._pending, self._draining) if memory is not None]

    def _catch_up(self) -> None:
        """Write to disk the documents that a bulk load added while nobody searched.

        Most of it has already been written, so this takes less time than an in-memory index of it.
        If the disk cannot be written, the in-memory index is made after all.
        """
        try:
            self.drain()
        except Unusable as error:
            self._note_failure(error)

    def document(self, urn: str) -> Document | None:
        """Return the document held for a URN, or `None`; about 0.1 ms."""
        documents = self._read_documents(urn)
        return documents[0] if documents else None

    def has_document(self, document: Document) -> bool:
        """Return whether the index has exactly this document, and no other, under its URN."""
        terms = self._base.terms
        return [
            terms.as_stored(store_document) for store_document in self._read_documents(document.urn)
        ] == [terms.as_stored(document)]

    def _read_documents(self, urn: str) -> list[Document]:
        with self._lock:
            for memory in self._memories:
                if urn in memory.documents:
                    pending = memory.documents[urn]
                    return [] if pending is None else [pending.build(self._vocabulary.registry)]
            searcher = self._disk
        query = tantivy.Query.term_query(self._base.terms.schema, "urn", urn)
        hits = searcher.search(query, 2, count=False).hits
        return [read_document(searcher, address) for _, address in hits]

    def urns(self) -> Iterator[str]:
        """Iterate over the URNs of the documents on disk and in memory."""
        with self._lock:
            changed: dict[str, Indexed | None] = {}
            for memory in reversed(self._memories):
                changed |= memory.documents
            searcher = self._disk
        yield from (urn for urn, document in changed.items() if document is not None)
        for begin in range(0, searcher.num_docs, _PAGE):
            hits = searcher.search(tantivy.Query.all_query(), _PAGE, count=False, offset=begin).hits
            for _, address in hits:
                urn = read_document(searcher, address).urn
                if urn not in changed:
                    yield urn

    def drain(self) -> None:
        """Write all pending changes to the index on disk and commit.

        Raises `Unusable` when the index cannot be written; the changes then stay pending.
        """
        with self._writing:
            with self._lock:
                if self._draining is None:
                    self._draining = self._pending
                    self._pending = MemoryIndex(self._base.terms, self._vocabulary)
            try:
                self._make_queued()
                self._write_made()
                if self._written or self._written_offset > self._base.offset:
                    self._base.commit(self._written_offset)
            except BaseException:
                self._requeue()
                raise
            with self._lock:
                # Changes that arrived since the drain began may have been written too.
                urns = {step.urn for step in self._written if isinstance(step, _Change)}
                self._pending.replacing |= urns & self._pending.documents.keys()
                self._written.clear()
                self._disk = self._base.searcher
                self._draining = None
                self._is_failing = False
                self._note_change()
                self._waiting_since = time.monotonic() if len(self._pending) else None
            self._write_or_requeue()

    def close(self) -> None:
        """Stop the drainer and release the directory. Pending changes are not committed."""
        with self._changed:
            self._is_closing = True
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()
        with self._writing:
            self._worker.close()
            self._base.close()

    def _make_change(self, document: Indexed) -> _Change:
        entry = make_entry(self._base.terms, self._vocabulary, document)
        return _Change(document.urn, None if entry is None else document, entry)

    def _is_bulk(self, count: int) -> bool:
        """Count changes that are about to be applied; return whether they are of a bulk load."""
        with self._lock:
            now = time.monotonic()
            if now - self._changed_at > _PAUSE_SECONDS:
                self._streak = 0
            self._streak += count
            is_bulk = self._streak > _BULK_AFTER and now >= self._retry_at
        return is_bulk and self._worker.is_useful

    def _defer(self, changes: list[_Change]) -> None:
        """Queue changes for the maker; wait, 5 seconds at most, while too many are queued."""
        with self._changed:
            self._add_queued(changes)
            self._is_deferred = True
            self._changed.notify_all()
            self._changed.wait_for(
                lambda: (
                    len(self._queued) < _MOST_QUEUED or not self._is_deferred or self._is_closing
                ),
                _RETRY_SECONDS,
            )

    def _queue(self, changes: list[_Change], offset: int | None = None) -> None:
        with self._changed:
            self._add_queued(changes)
            if offset is not None:
                self._queued.append(offset)
            if self._is_deferred:
                # Behind those of the maker.
                return
        self._pass_on()

    def _pass_on(self) -> None:
        """Add what is queued to the index in memory, if there are searches, and write it, unless a
        commit is running."""
        self._make_queued()
        if self._is_searched:
            self._prepare()
        # The thread that applies changes also writes them, unless a commit is running: if another
        # thread wrote them, both would wait for the interpreter lock at every entry.
        if time.monotonic() >= self._retry_at and self._writing.acquire(blocking=False):
            try:
                self._write_or_requeue()
            finally:
                self._writing.release()

    @property
    def _is_searched(self) -> bool:
        return time.monotonic() - self._viewed_at < _SEARCHED_SECONDS

    def _add_queued(self, changes: list[_Change]) -> None:
        """Add changes to those pending and to those to be written. `_lock` is held."""
        for change in changes:
            if self._is_older(change.urn):
                self._pending.replacing.add(change.urn)
            self._pending.put(*change)
            self._note_change()
        self._queued += changes
        self._changed_at = time.monotonic()
        self._note_waiting()

    def _write_or_requeue(self) -> None:
        """Write the changes whose entries are made, or queue them again if that fails. `_writing`
        is held."""
        try:
            self._write_made()
        except Unusable as error:
            self._note_failure(error)
            self._requeue()
            self._on_failure()

    def _note_failure(self, error: Unusable) -> None:
        """Log that the index cannot be written, once until it can be written again."""
        with self._lock:
            is_new, self._is_failing = not self._is_failing, True
        if is_new:
            _log.warning("%s; trying again until it can be written", error)

    def _is_older(self, urn: str) -> bool:
        """Return whether an index older than the pending changes may have a document of a URN.

        `_lock` is held.
        """
        if self._draining is not None and urn in self._draining.documents:
            return True
        try:
            return self._disk.doc_freq("urn", urn) > 0
        except EngineFailed:
            # The next search has the same failure and reports it.
            return True

    def _note_change(self) -> None:
        self._snapshot = None
        self._changes += 1

    def _prepare(self) -> None:
        """Add the pending changes to their in-memory index, for the next view.

        Does nothing while a view is being made.
        """
        if not self._viewing.acquire(blocking=False):
            return
        try:
            with self._lock:
                pending, entries = self._pending, self._pending.take()
            pending.add(entries)
        except EngineFailed:
            _log.exception("changes could not be indexed in memory; the next search tries again")
        finally:
            self._viewing.release()

    def _make_queued(self) -> None:
        """Make the entries of the changes that are queued now, in order; leave out changes that
        newer ones have replaced.

        Those that are queued meanwhile are left: during a load there would be no end of them.
        """
        with self._lock:
            remaining = len(self._queued)
        while remaining > 0:
            with self._making:
                with self._lock:
                    first = [*islice(self._queued, min(remaining, _CHUNK))]
                    steps = [step for step in first if not self._is_replaced(step)]
                    failures = self._failures
                entries = self._entries(steps)
                with self._changed:
                    if failures != self._failures:
                        # They were queued again, behind others.
                        remaining = len(self._queued)
                        continue
                    if not first:
                        # Another thread has made them.
                        return
                    for _ in first:
                        self._queued.popleft()
                    for step, entry in zip(steps, entries, strict=True):
                        if isinstance(step, int):
                            self._made.append(step)
                            continue
                        self._made.append(step._replace(entry=entry))
                        for memory in self._memories:
                            memory.fill(step.urn, step.document, entry)
                    self._is_deferred = self._is_deferred and bool(self._queued)
                    self._changed.notify_all()
            remaining -= len(first)

    def _is_replaced(self, step: _Step) -> bool:
        """Return whether a newer change of the same entity is queued. `_lock` is held."""
        return not isinstance(step, int) and all(
            memory.documents.get(step.urn, step.document) is not step.document
            for memory in self._memories
        )

    def _write_made(self) -> None:
        """Pass the changes whose entries are made to the writer, in order. `_writing` is held."""
        with self._changed:
            steps, self._made = self._made, []
            self._written += [
                step if isinstance(step, int) else step._replace(entry=None) for step in steps
            ]
            self._changed.notify_all()
        for step in steps:
            if isinstance(step, int):
                self._written_offset = max(self._written_offset, step)
            else:
                self._base.put(step.urn, step.entry)

    def _entries(self, steps: Sequence[_Step]) -> list[tantivy.Document | None]:
        """Return the entry of each step; `None` for an offset and for a URN that is removed."""
        entries: list[tantivy.Document | None] = []
        missing: list[tuple[int, Indexed]] = []
        for at, step in enumerate(steps):
            entry = None if isinstance(step, int) else step.entry
            entries.append(entry)
            if entry is None and not isinstance(step, int) and step.document is not None:
                missing.append((at, step.document))
        documents = [document for _, document in missing]
        if len(documents) > _FEW_ENTRIES:
            new_entries = self._worker.make(documents)
        else:
            new_entries = [
                make_entry(self.terms, self._vocabulary, document) for document in documents
            ]
        for (at, _), entry in zip(missing, new_entries, strict=True):
            entries[at] = entry
        return entries

    def _requeue(self) -> None:
        """Queue again, after a failure, everything that was written since the last commit."""
        with self._lock:
            self._queued.extendleft(reversed([*self._written, *self._made]))
            self._written.clear()
            self._made.clear()
            self._failures += 1
            self._written_offset = self._base.offset
            self._retry_at = time.monotonic() + _RETRY_SECONDS
            self._is_deferred = False
            self._changed.notify_all()

    def _note_waiting(self) -> None:
        if self._waiting_since is None and len(self._pending):
            self._waiting_since = time.monotonic()
            self._changed.notify_all()
        elif len(self._pending) >= _DRAIN_DOCUMENTS:
            self._changed.notify_all()

    def _drain_when_due(self) -> None:
        while self._wait_for_drain():
            try:
                self.drain()
            except Unusable as error:
                self._note_failure(error)
                self._on_failure()
            except Exception:  # noqa: BLE001 - the thread goes on; what is pending stays in memory
                _log.exception("the search index cannot be written; trying again")
                self._on_failure()

    def _wait_for_drain(self) -> bool:
        """Wait until a drain is due, and return whether it is; false when the index is closing."""
        with self._changed:
            while not self._is_closing:
                due_in = self._due_in_seconds()
                if due_in is not None and due_in <= 0:
                    return True
                self._changed.wait(due_in)
            return False

    def _make_when_due(self) -> None:
        while self._wait_for_changes():
            try:
                self._pass_on()
            except Exception:  # noqa: BLE001 - what is queued is left to the next drain
                _log.exception("changes could not be indexed; trying again")
                with self._writing:
                    self._requeue()

    def _wait_for_changes(self) -> bool:
        """Wait until entries have to be made, and return true; return false when the index is
        closing. Waits for more while nobody searches, and while too many are to be written."""
        with self._changed:
            while not self._is_closing:
                due_in = None
                if self._is_deferred and len(self._made) < _MOST_QUEUED:
                    due_in = self._changed_at + _CHUNK_SECONDS - time.monotonic()
                    if len(self._queued) >= _CHUNK or due_in <= 0 or self._is_searched:
                        return True
                self._changed.wait(due_in)
            return False

    def _due_in_seconds(self) -> float | None:
        if self._waiting_since is None:
            return None
        if len(self._pending) <= _FEW:
            due_at = self._waiting_since + _DRAIN_FEW_SECONDS
        elif len(self._pending) < _DRAIN_DOCUMENTS:
            quiet_at = self._changed_at + _PAUSE_SECONDS
            due_at = min(quiet_at, self._waiting_since + _DRAIN_MANY_SECONDS)
        else:
            due_at = self._waiting_since
        return max(due_at, self._retry_at) - time.monotonic()
