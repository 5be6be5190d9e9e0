"""The wrapper around tantivy: its writer, its searchers, and the verification of index files.

Every call that reads or writes the files of an index goes through this module. tantivy is written
in Rust. On damaged files it raises `ValueError` or panics; a panic arrives as
`pyo3_runtime.PanicException`, a `BaseException`, which would end a thread that only handles errors.
This module raises both as `EngineFailed`.
"""

import json
import struct
import zlib
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, cast

import tantivy

_HEAP_BYTES = 64_000_000
_READ_BYTES = 1 << 20
_META = "meta.json"
# The list of the files that tantivy may delete when no commit needs them any more.
_MANAGED = ".managed.json"
# Every segment has one file of each of these kinds. It may also have a file of deleted documents.
_KINDS = ("fast", "fieldnorm", "idx", "pos", "store", "term")
# The end of a segment file: a JSON object with the CRC-32 of everything before it, the length of
# that object, and this number. tantivy's own `validate_checksum` reads the same; the Python binding
# does not offer that function.
_END = struct.Struct("<II")
_END_MARK = 1337
_MOST_FOOTER_BYTES = 10_000


class EngineFailed(Exception):
    """tantivy raised or panicked while it used the files of an index; they may be damaged."""


class _Boundary:
    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        is_panic = type(error).__module__ == "pyo3_runtime"
        if is_panic or (isinstance(error, ValueError | OSError) and not is_too_wide(error)):
            raise EngineFailed(str(error)) from error


class _CountedResult(Protocol):
    """The attribute of a result that tantivy's own type stubs lack."""

    count: int | None


def count_hits(result: tantivy.SearchResult) -> int:
    """Return how many documents a search found in all; 0 where they were not counted."""
    return cast("_CountedResult", result).count or 0


boundary = _Boundary()
"""A context manager that raises errors and panics of tantivy as `EngineFailed`.

The `ValueError` of a query that is too wide passes unchanged.
"""


class Searcher:
    """A snapshot of an index, readable from any thread.

    Every method raises `EngineFailed`, and `ValueError` for a query that is too wide
    (`is_too_wide`).
    """

    __slots__ = ("_searcher", "num_docs")

    def __init__(self, index: tantivy.Index) -> None:
        """Open the last commit of an index."""
        with boundary:
            index.reload()
            self._searcher = index.searcher()
            self.num_docs: int = self._searcher.num_docs

    def search(self, query: tantivy.Query, limit: int, **options: Any) -> tantivy.SearchResult:
        """Return the best documents of a query; `options` are those of tantivy's `search`."""
        with boundary:
            return self._searcher.search(query, limit, **options)

    def aggregate(self, query: tantivy.Query, aggregations: dict[str, Any]) -> dict[str, Any]:
        """Return aggregations over the documents of a query."""
        with boundary:
            return self._searcher.aggregate(query, aggregations)

    def doc(self, address: tantivy.DocAddress) -> tantivy.Document:
        """Return the stored fields of a document."""
        with boundary:
            return self._searcher.doc(address)

    def doc_freq(self, field: str, text: str) -> int:
        """Return the number of documents that contain a term."""
        with boundary:
            return self._searcher.doc_freq(field, text)

    def count(self, query: tantivy.Query) -> int:
        """Return the number of documents that a query finds."""
        return count_hits(self.search(query, 1))

    def terms_with_prefix(self, field: str, prefix: str) -> list[tuple[str, int]]:
        """Return the terms of a field that begin with a prefix, with their document counts."""
        with boundary:
            return self._searcher.terms_with_prefix(field, prefix)


class IndexWriter:
    """The writer of an index.

    Every method raises `EngineFailed`; after that the writer is unusable.
    """

    def __init__(self, index: tantivy.Index, heap_bytes: int = _HEAP_BYTES) -> None:
        with boundary:
            self._writer = index.writer(heap_bytes, 1)

    def replace(self, urn: str, entry: tantivy.Document | None) -> None:
        """Replace the entries of a URN by one entry, or delete them, with the next commit."""
        with boundary:
            self._writer.delete_documents_by_term("urn", urn)
            if entry is not None:
                self._writer.add_document(entry)

    def commit(self) -> None:
        """Commit: make the replaced entries durable."""
        with boundary:
            self._writer.commit()

    def close(self) -> None:
        """Wait for running merges and release the directory."""
        with boundary:
            self._writer.wait_merging_threads()


def is_too_wide(error: BaseException) -> bool:
    """Return whether a query failed because it expands to more terms than tantivy allows."""
    return isinstance(error, ValueError) and "max expansions" in str(error)


def find_index_damage(directory: Path) -> list[str]:
    """Return the problems of the index files in a directory, one sentence each.

    Reads every file of the last commit once, about 1 s per GB, and compares it with the checksum
    that tantivy wrote at its end. The index may be written to meanwhile.
    """
    while True:
        meta, problems = _damage(directory)
        if not problems or meta == _read_meta(directory):
            return problems
        # A commit or a merge removed files while they were read; read the newer state.


def _damage(directory: Path) -> tuple[bytes | None, list[str]]:
    meta = _read_meta(directory)
    if meta is None:
        return None, [f"{_META} cannot be read"]
    try:
        names = [name for segment in json.loads(meta)["segments"] for name in _files(segment)]
    except (ValueError, KeyError, TypeError, AttributeError):
        return meta, [f"{_META} is not what the search engine wrote"]
    problems = ((name, _problem(directory / name)) for name in names)
    return meta, [f"{name} {problem}" for name, problem in problems if problem]


def _read_meta(directory: Path) -> bytes | None:
    try:
        return (directory / _META).read_bytes()
    except OSError:
        return None


def _files(segment: dict[str, Any]) -> list[str]:
    stem = segment["segment_id"].replace("-", "")
    names = [f"{stem}.{kind}" for kind in _KINDS]
    if segment["deletes"] is not None:
        names.append(f"{stem}.{segment['deletes']['opstamp']}.del")
    return names


def _problem(path: Path) -> str | None:
    """Return a sentence about the damage of a segment file, or `None` if it is intact."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            if size < _END.size:
                return "is cut short"
            file.seek(size - _END.size)
            footer_bytes, mark = _END.unpack(file.read(_END.size))
            body_bytes = size - _END.size - footer_bytes
            if mark != _END_MARK or footer_bytes > _MOST_FOOTER_BYTES or body_bytes < 0:
                return "is cut short, or its end is damaged"
            file.seek(body_bytes)
            aggregations = json.loads(file.read(footer_bytes))["crc"]
            file.seek(0)
            crc = 0
            while body_bytes and (part := file.read(min(body_bytes, _READ_BYTES))):
                crc = zlib.crc32(part, crc)
                body_bytes -= len(part)
    except FileNotFoundError:
        return "is missing"
    except OSError as error:
        return f"cannot be read: {error.strerror or error}"
    except (ValueError, KeyError, TypeError):
        return "is cut short, or its end is damaged"
    return None if crc == aggregations else "does not match its checksum"
