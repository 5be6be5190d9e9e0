"""The index on disk: made from the change log, and thrown away whenever it cannot be trusted."""

import logging
import os
import re
from pathlib import Path

import msgspec
import tantivy

from explorer.errors import Unusable
from explorer.server.search.fields import REMOVED, Vocabulary
from explorer.server.search.terms import FORMAT, Terms, is_term

__all__ = ["Base"]

_log = logging.getLogger("explorer.server.search")

_STATE = "index.json"
_OURS = re.compile(r"[0-9a-f]{32}\.[\w.]+|meta\.json|\.managed\.json|index\.json.*")
_HEAP_BYTES = 64_000_000


class _State(msgspec.Struct):
    format: int
    vocabulary: str
    offset: int


class Base:
    """A tantivy index with the offset of the change log up to which it holds everything.

    One writer, in one process; reading is for any thread. `searcher` is the state of the last
    commit.
    """

    def __init__(self, directory: Path | None, vocabulary: Vocabulary) -> None:
        """Open or make the index in a directory; in memory without one.

        One of another format or vocabulary, or a damaged one, is made anew, with offset 0. Raises
        `Unusable` when another process has it open or the directory cannot be written.
        """
        self._directory = directory
        self._digest = vocabulary.digest
        self.terms = Terms(vocabulary)
        self.offset = 0
        self._writer: tantivy.IndexWriter | None
        try:
            self._index, self._writer = self._open()
        except OSError as error:
            raise Unusable(f"cannot keep the search index in {directory}: {error}") from error
        self._index.reload()
        self.searcher: tantivy.Searcher = self._index.searcher()

    def put(self, urn: str, entry: tantivy.Document | None) -> None:
        """Put an entry in the place of what there is of its URN, or nothing, with the next commit.

        Raises `Unusable` when the index cannot be written; then all since the last commit is lost.
        """
        try:
            if self._writer is None:
                self._writer = self._new_writer(self._index)
            self._writer.delete_documents_by_term("urn", urn)
            if entry is not None:
                self._writer.add_document(entry)
        except (ValueError, OSError) as error:
            raise self._lost(error) from error

    def commit(self, offset: int) -> None:
        """Make what was put durable, and the state of `searcher`. Raises as `put`."""
        try:
            if self._writer is not None:
                self._writer.commit()
            self._index.reload()
            self.searcher = self._index.searcher()
            self.settle(offset)
        except (ValueError, OSError) as error:
            raise self._lost(error) from error

    def settle(self, offset: int) -> None:
        """Note that everything up to an offset is in the index already."""
        # After the commit: a crash in between leaves an offset too low, and replaying is harmless.
        self._note(offset)
        self.offset = offset

    def close(self) -> None:
        """Let running merges end and give the directory free."""
        if self._writer is not None:
            self._writer.wait_merging_threads()
            self._writer = None

    def _lost(self, error: Exception) -> Unusable:
        # A writer that failed once is of no use any more, and holds its lock until it is gone.
        self._writer = None
        place = self._directory or "memory"
        return Unusable(f"cannot write the search index in {place}: {error}")

    def _open(self) -> tuple[tantivy.Index, tantivy.IndexWriter]:
        if self._directory is None:
            index = self.terms.open(None)
            return index, self._new_writer(index)
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        state = self._read_state()
        if state is not None:
            try:
                index = self.terms.open(str(self._directory))
                self._prove(index)
                writer = self._new_writer(index)
            except ValueError as error:
                _log.warning("the search index is damaged and made anew: %s", error)
            else:
                self.offset = state.offset
                return index, writer
        _clear(self._directory)
        index = self.terms.open(str(self._directory))
        return index, self._new_writer(index)

    def _read_state(self) -> _State | None:
        """What was noted of the index, if it is one that we can go on with."""
        if self._directory is None or not tantivy.Index.exists(str(self._directory)):
            return None
        try:
            state = msgspec.json.decode((self._directory / _STATE).read_bytes(), type=_State)
        except (FileNotFoundError, msgspec.DecodeError):
            return None
        if state.format != FORMAT or state.vocabulary != self._digest or state.offset < 0:
            return None
        return state

    def _prove(self, index: tantivy.Index) -> None:
        """Touch every kind of file; raises `ValueError` for one that is missing or cut short."""
        index.reload()
        searcher = index.searcher()
        schema = self.terms.schema
        for name, term in (("is", is_term(REMOVED, "false")), ("any.words", "a"), ("urn", "")):
            query = tantivy.Query.term_query(schema, name, term)
            for _, address in searcher.search(query, 1).hits:
                searcher.doc(address)

    def _new_writer(self, index: tantivy.Index) -> tantivy.IndexWriter:
        try:
            return index.writer(_HEAP_BYTES, 1)
        except ValueError as error:
            if "LockBusy" not in str(error):
                raise
            raise Unusable(
                f"another process has the search index in {self._directory} open; stop it first"
            ) from error

    def _note(self, offset: int) -> None:
        if self._directory is None:
            return
        state = msgspec.json.encode(_State(FORMAT, self._digest, offset))
        draft = self._directory / f"{_STATE}.new"
        with draft.open("wb") as file:
            file.write(state)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(self._directory / _STATE)


def _clear(directory: Path) -> None:
    """Remove the files of an index, and no others."""
    for path in directory.iterdir():
        if _OURS.fullmatch(path.name) and path.is_file():
            path.unlink()
