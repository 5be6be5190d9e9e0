"""Search by meaning: a vector for the text of each entity, and the entities nearest to a question.

Vectors are derived data, as the search index is. A thread makes them in the background, from the
documents of the index that changed according to the change log, and keeps them in a database file
beside the index; a document whose text did not change keeps its vector. Until there is a vector for
each document, nothing is found by meaning. A file that is damaged, or is of another format, model
or catalog, is made again; one that a killed process left continues where it was.

In memory a vector takes a byte for each dimension, and a bit for its sign: the signs find the
candidates, whose bytes are then compared. Among 100,000 vectors, which take 45 MB, that is 7 ms.
"""

import logging
import os
import sqlite3
import sys
import threading
import zlib
from collections.abc import Callable, Collection, Iterable, Sequence
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from explorer.errors import CatalogError, MissingExtra
from explorer.server.derived_database import (
    DATABASE_ERRORS,
    is_damage,
    open_database,
    remove_database,
)
from explorer.server.search.document import Document
from explorer.server.search.text_model import DIMENSIONS, TextModel, text_of
from explorer.server.store import Store, log_mark

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_log = logging.getLogger("explorer.server.search")

# Increment this when `text_of` or the content of the file changes.
_FORMAT = 1
_TABLES = """
CREATE TABLE state (catalog, offset, mark, model);
INSERT INTO state VALUES ('', 0, NULL, '');
CREATE TABLE vectors (urn TEXT PRIMARY KEY, text BLOB, vector BLOB, sum INTEGER) WITHOUT ROWID;
"""
_PUT = "INSERT OR REPLACE INTO vectors VALUES (?, ?, ?, ?)"
_AT_ONCE = 16
_PAUSE_SECONDS = 1.0
_RETRY_SECONDS = 5.0
_LOWER_PRIORITY = 10
# The number of vectors, those with the most similar signs, that are compared in full.
_CANDIDATES = 1_000
_ROOM = 1_024
_MOST = 127


class VectorTable:
    """Vectors by URN, in memory. Thread-safe."""

    def __init__(self) -> None:
        import numpy as np

        self._lock = threading.Lock()
        self._urns: list[str] = []
        self._rows: dict[str, int] = {}
        self._bytes = np.empty((_ROOM, DIMENSIONS), np.int8)
        self._signs = np.empty((_ROOM, DIMENSIONS // 64), np.uint64)

    def __len__(self) -> int:
        return len(self._urns)

    def put(self, urn: str, vector: bytes) -> None:
        """Add or replace the vector of a URN, as `pack` makes it."""
        import numpy as np

        values = np.frombuffer(vector, np.int8)
        with self._lock:
            row = self._rows.setdefault(urn, len(self._urns))
            if row == len(self._urns):
                self._urns.append(urn)
                if row == len(self._bytes):
                    self._bytes = np.concatenate((self._bytes, np.empty_like(self._bytes)))
                    self._signs = np.concatenate((self._signs, np.empty_like(self._signs)))
            self._bytes[row] = values
            self._signs[row] = _signs(values)

    def remove(self, urn: str) -> None:
        """Remove the vector of a URN, if there is one; the last one takes its place."""
        with self._lock:
            row = self._rows.pop(urn, None)
            if row is None:
                return
            last = self._urns.pop()
            if last != urn:
                end = len(self._urns)
                self._urns[row], self._rows[last] = last, row
                self._bytes[row], self._signs[row] = self._bytes[end], self._signs[end]

    def nearest(
        self, vector: "NDArray[np.float32]", count: int, among: Collection[str] | None = None
    ) -> list[tuple[str, float]]:
        """Return the URNs of the vectors nearest to a given one of length 1, nearest first, each
        with the cosine of the angle between the two. With `among`, only these URNs are compared."""
        import numpy as np

        with self._lock:
            size = len(self._urns)
            if among is not None:
                rows_among = (self._rows[urn] for urn in among if urn in self._rows)
                rows = np.fromiter(rows_among, np.intp)
            elif size > _CANDIDATES:
                apart = np.bitwise_count(self._signs[:size] ^ _signs(vector)).sum(1, np.uint16)
                rows = np.argpartition(apart, _CANDIDATES)[:_CANDIDATES]
            else:
                rows = np.arange(size)
            values = self._bytes[rows].astype(np.float32)
            cosines = (values @ vector) / np.maximum(np.linalg.norm(values, axis=1), 1)
            urns = [self._urns[row] for row in rows]
        # Equally near ones are ordered by URN, so that pages are the same each time.
        in_order = sorted(zip(cosines.tolist(), urns, strict=True), key=lambda v: (-v[0], v[1]))
        return [(urn, cosine) for cosine, urn in in_order[:count]]


def _signs(values: "NDArray[np.int8 | np.float32]") -> "NDArray[np.uint64]":
    import numpy as np

    return np.packbits(values > 0).view(np.uint64)


def pack(vector: "NDArray[np.float32]") -> bytes:
    """Return a vector with one byte for each dimension."""
    import numpy as np

    packed: NDArray[np.int8] = np.rint(vector * (_MOST / np.abs(vector).max())).astype(np.int8)
    return packed.tobytes()


class _Row(NamedTuple):
    """A vector in the file, with the digest of the text from which it was made."""

    urn: str
    text: bytes
    vector: bytes

    @property
    def sum(self) -> int:
        """The checksum of the row."""
        return zlib.crc32(self.vector, zlib.crc32(self.text, zlib.crc32(self.urn.encode())))

    def has_sum(self, checksum: object) -> bool:
        """Return whether a checksum is that of the row; in a damaged row, values may have any
        type."""
        return all(map(isinstance, self, (str, bytes, bytes))) and self.sum == checksum


class MeaningIndex:
    """The vectors of all documents of a search index, kept up to date as it changes. Any thread may
    call it."""

    def __init__(self, file: Path | None, source: Store | None = None) -> None:
        """Prepare the index; `start` begins the work. `file` is the database of the vectors, or
        `None` for a temporary one; `source` is the store of the catalog."""
        self._file = file
        self._source = source
        self._database: sqlite3.Connection | None = None
        self._model: TextModel | None = None
        self._table: VectorTable | None = None
        self._read: Callable[[str], Document | None] = lambda _: None
        self._list: Callable[[], Iterable[str]] = tuple
        # The documents whose texts may have changed, and the offset of the change log that the
        # vectors reach once none is left.
        self._changed: set[str] = set()
        self._taken: list[str] = []
        self._seen = 0
        self._settled = 0
        self._is_listed = False
        self._is_closing = False
        self._has_failed = False
        self._lock = threading.Lock()
        self._news = threading.Condition(self._lock)
        self._thread: threading.Thread | None = None
        self.is_ready = False
        """Whether every document has had a vector at some time."""
        self.version = 0
        """A number that changes with the vectors, once they are ready."""

    def start(
        self, read: Callable[[str], Document | None], urns: Callable[[], Iterable[str]]
    ) -> None:
        """Start to make the vectors of a search index in the background. `read` returns the
        document of a URN, and `urns` the URNs of all documents; if they raise `CatalogError`, they
        are called again later."""
        self._read, self._list = read, urns
        self._thread = threading.Thread(target=self._serve, name="search-meaning", daemon=True)
        self._thread.start()

    def note(self, urns: Iterable[str], offset: int) -> None:
        """Note that documents changed, up to an offset of the change log; returns at once."""
        with self._news:
            self._changed.update(urns)
            self._seen = max(self._seen, offset)
            self._news.notify()

    @property
    def is_building(self) -> bool:
        """Whether the vectors are being made for the first time, and some of them exist."""
        return not self.is_ready and bool(self._table)

    def describe(self) -> dict[str, Any]:
        """Return the state of the search by meaning, `on`, `preparing` or `failed`, and the numbers
        of documents that have a vector and of those whose text may have changed."""
        state = "failed" if self._has_failed else "on" if self.is_ready else "preparing"
        vectors = 0 if self._table is None else len(self._table)
        with self._lock:
            unread = len(self._changed.union(self._taken))
        return {"state": state, "vectors": vectors, "unread": unread}

    def nearest(
        self, text: str, count: int, among: Collection[str] | None = None
    ) -> list[tuple[str, float]]:
        """Return the URNs of the documents nearest in meaning to a text, see `VectorTable.nearest`;
        none until there is a vector for every document."""
        if not self.is_ready or self._model is None or self._table is None:
            return []
        return self._table.nearest(self._model.embed(text), count, among)

    def close(self) -> None:
        """Stop making vectors, and close the database."""
        with self._news:
            self._is_closing = True
            self._news.notify()
        if self._thread is not None:
            self._thread.join()

    def _serve(self) -> None:
        _lower_priority()
        try:
            while not self._is_closing:
                pause = _PAUSE_SECONDS
                try:
                    self._bring_up_to_date()
                except MissingExtra:
                    raise
                except (CatalogError, OSError, *DATABASE_ERRORS) as error:
                    self._recover(error)
                    pause = _RETRY_SECONDS
                else:
                    with self._news:
                        while not (self._has_news or self._is_closing):
                            self._news.wait()
                with self._news:
                    # Changes within this time are read together.
                    self._news.wait_for(lambda: self._is_closing, pause)
        except MissingExtra as error:
            _log.warning("%s; until then words alone count", error)
            self._has_failed = True
        except Exception:  # noqa: BLE001 - the top level of this thread
            _log.exception("search by meaning failed; until the next start words alone count")
            self._has_failed, self.is_ready = True, False
        finally:
            if self._database is not None:
                self._database.close()

    @property
    def _has_news(self) -> bool:
        return bool(self._changed) or self._seen > self._settled

    def _recover(self, error: Exception) -> None:
        """After an error, log it, and remove the database if it is damaged."""
        if isinstance(error, CatalogError | OSError) or not is_damage(error):
            _log.info("vectors cannot be made now (%s); trying again", error)
            return
        _log.warning("%s is damaged (%s); its vectors are made again", self._file, error)
        if self._database is not None:
            self._database.close()
            self._database = None
        if self._file is not None:
            remove_database(self._file)
        self._is_listed = self.is_ready = False

    def _bring_up_to_date(self) -> None:
        """Make the vectors of all documents that changed."""
        if self._model is None:
            self._model = TextModel()
        if self._database is None:
            self._database = open_database(self._file, _TABLES, _FORMAT)
        if not self._is_listed:
            self._open(self._database, self._model)
        while urns := self._take():
            try:
                self._update(urns, self._database, self._model)
            except BaseException:
                self.note(urns, 0)
                raise
        if not self._is_closing:
            self._settle(self._database)

    def _open(self, database: sqlite3.Connection, model: TextModel) -> None:
        """Read the vectors of the file, and note the documents that changed since. A file of
        another catalog or model is emptied."""
        catalog = "" if self._source is None else self._source.catalog_id()
        state = catalog, model.id
        if database.execute("SELECT catalog, model FROM state").fetchone() != state:
            database.execute("DELETE FROM vectors")
            database.execute("UPDATE state SET catalog=?, model=?, offset=0, mark=NULL", state)
        offset, mark = database.execute("SELECT offset, mark FROM state").fetchone()
        if self._source is not None and _fits(self._source, offset, mark):
            self.note(self._source.changed_urns(offset), offset)
        else:
            # Listed before they are noted, for which writes of the index wait.
            urns = [*self._list()]
            urns += [str(urn) for (urn,) in database.execute("SELECT urn FROM vectors")]
            self.note(urns, 0)
        table, wrong = VectorTable(), []
        for *values, checksum in database.execute("SELECT * FROM vectors"):
            row = _Row(*values)
            if row.has_sum(checksum):
                table.put(row.urn, row.vector)
            else:
                wrong.append(row.urn)
        database.executemany("DELETE FROM vectors WHERE urn = ?", [(urn,) for urn in wrong])
        self.note(map(str, wrong), 0)
        self._table = table
        self._is_listed = True

    def _take(self) -> list[str]:
        """Return the URNs of some documents that changed, and remove them from the waiting ones;
        none when the index is closing."""
        with self._lock:
            self._taken = [] if self._is_closing else list(islice(self._changed, _AT_ONCE))
            self._changed.difference_update(self._taken)
            return self._taken

    def _update(self, urns: Sequence[str], database: sqlite3.Connection, model: TextModel) -> None:
        """Make the vectors of documents whose text changed, and remove those of documents without a
        text."""
        digests = dict(
            database.execute(
                "SELECT urn, text FROM json_each(?) JOIN vectors ON urn = value",
                (orjson.dumps(urns).decode(),),
            )
        )
        rows, removed_urns = [], []
        for urn in urns:
            document = self._read(urn)
            text = "" if document is None else text_of(document)
            digest = blake2b(text.encode("utf-8", "replace"), digest_size=16).digest()
            if not text:
                removed_urns.append(urn)
            elif digests.get(urn) != digest:
                rows.append(_Row(urn, digest, pack(model.embed(text))))
        removed_urns = [urn for urn in removed_urns if urn in digests]
        if not (rows or removed_urns):
            return
        database.execute("BEGIN IMMEDIATE")
        try:
            database.executemany(_PUT, [(*row, row.sum) for row in rows])
            database.executemany(
                "DELETE FROM vectors WHERE urn = ?", [(urn,) for urn in removed_urns]
            )
            database.execute("COMMIT")
        except BaseException:
            if database.in_transaction:
                database.execute("ROLLBACK")
            raise
        if self._table is not None:
            for row in rows:
                self._table.put(row.urn, row.vector)
            for urn in removed_urns:
                self._table.remove(urn)
        self.version += self.is_ready

    def _settle(self, database: sqlite3.Connection) -> None:
        """Mark the vectors as ready, and store in the file the offset of the change log that they
        reach."""
        with self._lock:
            offset = 0 if self._changed else self._seen
        if not self.is_ready:
            self.is_ready = True
            self.version += 1
        if offset and self._source is not None:
            state = offset, log_mark(self._source, offset)
            database.execute("UPDATE state SET offset=?, mark=?", state)
        self._settled = max(offset, self._settled)


def _fits(source: Store, offset: int, mark: str | None) -> bool:
    """Return whether vectors belong to a catalog, and its log still has all changes since."""
    has_changes = mark is not None and offset >= source.log_bounds().floor
    return has_changes and log_mark(source, offset) == mark


def _lower_priority() -> None:
    """Lower the priority of this thread, if the system has priorities of threads."""
    if sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _LOWER_PRIORITY)
