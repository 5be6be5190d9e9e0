"""The index on disk: made from the change log, and thrown away whenever it cannot be trusted."""

import logging
import os
import re
import zlib
from pathlib import Path
from typing import Protocol

import msgspec
import tantivy

from explorer.errors import Unusable
from explorer.server.search.engine import EngineFailed, Searcher, Writer, boundary, find_damage
from explorer.server.search.fields import REMOVED, Vocabulary
from explorer.server.search.terms import FORMAT, Terms, is_term

__all__ = ["STATE", "Base", "Source", "read_problems"]

STATE = "index.json"

_log = logging.getLogger("explorer.server.search")

_OURS = re.compile(r"[0-9a-f]{32}\.[\w.]+|meta\.json|\.managed\.json|\.tmp\w{6}|index\.json.*")


class Source(Protocol):
    """The catalog that an index is made from."""

    def catalog_id(self) -> str:
        """Return the random id of this catalog; no other has the same."""

    def log_mark(self, offset: int) -> str | None:
        """Return a digest of a row of the change log; None when there is no such row."""


class _State(msgspec.Struct):
    """Which catalog and which of its changes the index holds. `mark` is the digest of the last
    row of the change log that is in it, empty when it has none; `check` that of the other values.
    """

    format: int
    vocabulary: str
    offset: int
    catalog: str
    mark: str
    check: int = 0

    def checked(self) -> int:
        """Return the checksum of the other values."""
        values = (self.format, self.vocabulary, self.offset, self.catalog, self.mark)
        return zlib.crc32(repr(values).encode())


class Base:
    """A tantivy index with the offset of the change log up to which it holds everything.

    One writer, in one process; reading is for any thread. `searcher` is the state of the last
    commit.
    """

    def __init__(
        self, directory: Path | None, vocabulary: Vocabulary, source: Source | None
    ) -> None:
        """Open or make the index in a directory; in memory without one.

        One of another format or vocabulary, of another catalog than `source` or of changes that
        it does not have, or a damaged one, is made anew, with offset 0. Raises `Unusable` when
        another process has it open or the directory cannot be written.
        """
        self._directory = directory
        self._digest = vocabulary.digest
        self._source = source
        self.terms = Terms(vocabulary)
        self.offset = 0
        self._writer: Writer | None
        try:
            self._index, self._writer = self._open()
            self.searcher = Searcher(self._index)
        except (OSError, EngineFailed) as error:
            raise Unusable(f"cannot keep the search index in {directory}: {error}") from error

    def put(self, urn: str, entry: tantivy.Document | None) -> None:
        """Put an entry in the place of what there is of its URN, or nothing, with the next commit.

        Raises `Unusable` when the index cannot be written; then all since the last commit is lost.
        """
        try:
            if self._writer is None:
                self._writer = self._new_writer(self._index)
            self._writer.replace(urn, entry)
        except (EngineFailed, OSError) as error:
            raise self._lost(error) from error

    def commit(self, offset: int) -> None:
        """Make what was put durable, and the state of `searcher`. Raises as `put`."""
        try:
            if self._writer is not None:
                self._writer.commit()
            self.searcher = Searcher(self._index)
            self.settle(offset)
        except (EngineFailed, OSError) as error:
            raise self._lost(error) from error

    def settle(self, offset: int) -> None:
        """Note that everything up to an offset is in the index already."""
        # After the commit: a crash in between leaves an offset too low, and replaying is harmless.
        self._note(offset)
        self.offset = offset

    def find_damage(self) -> list[str]:
        """Return what is wrong with the files of the index; nothing for one in memory."""
        return [] if self._directory is None else find_damage(self._directory)

    def close(self) -> None:
        """Let running merges end and give the directory free."""
        if self._writer is not None:
            try:
                self._writer.close()
            except EngineFailed:
                _log.exception("the search index in %s was not closed well", self._directory)
            self._writer = None

    def _lost(self, error: Exception) -> Unusable:
        # A writer that failed once is of no use any more, and holds its lock until it is gone.
        self._writer = None
        place = self._directory or "memory"
        return Unusable(f"cannot write the search index in {place}: {error}")

    def _open(self) -> tuple[tantivy.Index, Writer]:
        if self._directory is None:
            index = self.terms.open(None)
            return index, self._new_writer(index)
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        state, problem = self._read_state(self._directory)
        if state is not None:
            try:
                index = self._open_proven(self._directory)
                writer = self._new_writer(index)
            except EngineFailed as error:
                problem = str(error)
            else:
                self.offset = state.offset
                return index, writer
        if problem:
            _log.warning("the search index in %s is made anew: %s", self._directory, problem)
        _clear(self._directory)
        with boundary:
            index = self.terms.open(str(self._directory))
        return index, self._new_writer(index)

    def _read_state(self, directory: Path) -> tuple[_State | None, str]:
        """What was noted of the index if it is one to go on with, else why not; an empty reason
        when there is none, or one of another release or registry."""
        try:
            raw = (directory / STATE).read_bytes()
        except FileNotFoundError:
            return None, ""
        try:
            state = msgspec.json.decode(raw, type=_State)
        except msgspec.ValidationError:
            # Of a release that noted less.
            return None, ""
        except (msgspec.DecodeError, UnicodeDecodeError):
            return None, f"{STATE} is damaged"
        if state.check != state.checked():
            return None, f"{STATE} is damaged"
        if (state.format, state.vocabulary) != (FORMAT, self._digest) or state.offset <= 0:
            return None, ""
        source = self._source
        if source is not None and state.catalog != source.catalog_id():
            return None, "it was made from another catalog"
        if source is not None and state.mark != source.log_mark(state.offset):
            return None, "it has changes that the catalog does not have"
        return state, ""

    def _open_proven(self, directory: Path) -> tantivy.Index:
        """Open the index; raises `EngineFailed` when its files are not what was written."""
        if problems := find_damage(directory):
            raise EngineFailed("; ".join(problems[:3]))
        with boundary:
            index = self.terms.open(str(directory))
        searcher = Searcher(index)
        # The checksums do not cover the list of segments with how many documents each has. Every
        # document says whether it is removed.
        said = sum(
            searcher.count(
                tantivy.Query.term_query(self.terms.schema, "is", is_term(REMOVED, removed))
            )
            for removed in ("true", "false")
        )
        if said != searcher.num_docs:
            raise EngineFailed(f"it has {said} documents, and {searcher.num_docs} are noted")
        return index

    def _new_writer(self, index: tantivy.Index) -> Writer:
        try:
            return Writer(index)
        except EngineFailed as error:
            if "LockBusy" not in str(error):
                raise
            raise Unusable(
                f"another process has the search index in {self._directory} open; stop it first"
            ) from error

    def _note(self, offset: int) -> None:
        if self._directory is None:
            return
        catalog, mark = "", ""
        if self._source is not None:
            catalog, mark = self._source.catalog_id(), self._source.log_mark(offset) or ""
        state = _State(FORMAT, self._digest, offset, catalog, mark)
        state.check = state.checked()
        draft = self._directory / f"{STATE}.new"
        with draft.open("wb") as file:
            file.write(msgspec.json.encode(state))
            file.flush()
            os.fsync(file.fileno())
        draft.replace(self._directory / STATE)


def read_problems(directory: Path) -> list[str]:
    """Return what is wrong with the files of the index in a directory; nothing where none is."""
    return find_damage(directory) if (directory / STATE).is_file() else []


def _clear(directory: Path) -> None:
    """Remove the files of an index, and no others."""
    for path in directory.iterdir():
        if _OURS.fullmatch(path.name) and path.is_file():
            path.unlink()
