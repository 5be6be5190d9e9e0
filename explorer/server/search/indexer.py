"""Entries of the search index, made from documents, and the process that writes them to disk.

Python runs on one processor. During a bulk load an `Indexer` writes the index on disk in another
process, so that the load uses two: of about 1.6 ms that a dataset of 15 columns takes there and in
the service, 0.7 are spent there. That process holds no state but what it was sent since its last
commit. It is started by a bulk load, ended by `Layers` after some seconds without work, and ends
with the service, because its standard input is closed then. If it fails, the service writes what
was sent since the last commit again, by itself.
"""

import logging
import os
import pickle
import struct
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, NamedTuple

import msgspec
import tantivy

from explorer.server.search.analysis import analyse
from explorer.server.search.document import Document
from explorer.server.search.engine import IndexWriter, boundary
from explorer.server.search.fields import Vocabulary
from explorer.server.search.terms import Terms

# A chunk or a commit takes a fraction of a second; a process that needs longer is stopped or
# swapped out.
_ANSWER_SECONDS = 60.0
_LENGTH = struct.Struct(">I")
_COMMIT, _DONE = b"", b"\n"
_COMMAND = (sys.executable, "-P", "-m", "explorer.server.search.indexer")

_log = logging.getLogger("explorer.server.search")
_encoder = msgspec.msgpack.Encoder()
_changes = msgspec.msgpack.Decoder(list[tuple[str, Document | None]])


class IndexChange(NamedTuple):
    """The document that the index is to hold for a URN; `None` removes the URN.

    If only `entry` is `None`, it is made again from the document.
    """

    urn: str
    document: Document | None = None
    entry: tantivy.Document | None = None


class IndexerLost(Exception):
    """The process has ended, and with it all that it was sent since its last commit."""


def make_entry(
    terms: Terms, vocabulary: Vocabulary, document: Document | None
) -> tantivy.Document | None:
    """Return the entry of a document; log the error and return `None` if it cannot be indexed."""
    if document is None:
        return None
    try:
        return terms.make(analyse(vocabulary, document))
    except (ValueError, TypeError):
        _log.exception("%s cannot be indexed and will not be found", document.urn)
        return None


class Indexer:
    """A process that writes the index in a directory, and holds the lock of its writer. Not
    thread-safe; the caller holds a lock."""

    def __init__(self, vocabulary: Vocabulary, directory: Path) -> None:
        """Start the process. Raises `IndexerLost`."""
        try:
            # Not in the process group of a terminal: ctrl+c there is for the service alone.
            self._process = subprocess.Popen(  # noqa: S603 - this very interpreter
                _COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
            )
        except OSError as error:
            raise IndexerLost(str(error)) from error
        self.pid = self._process.pid
        self._exchange(pickle.dumps((vocabulary.registry, str(directory))))

    def put(self, changes: Sequence[IndexChange]) -> None:
        """Have documents replaced, or removed, with the next commit. Waits while the process has
        more than it can take. Raises `IndexerLost`."""
        if changes:
            self._exchange(_encode(changes))

    def commit(self) -> None:
        """Commit what was put. Raises `IndexerLost`."""
        self._exchange(_COMMIT, is_answered=True)

    def close(self) -> None:
        """End the process. What was put since its last commit is lost."""
        self._process.kill()
        with self._process, suppress(OSError):
            # What is left in the buffer cannot be sent.
            _pipe(self._process.stdin).close()

    def _exchange(self, body: bytes, *, is_answered: bool = False) -> None:
        """Send a message, and wait for its answer if it has one."""
        # Ends the wait for a process that does not read or answer: its pipes are closed then.
        deadline = threading.Timer(_ANSWER_SECONDS, self._process.kill)
        deadline.daemon = True
        deadline.start()
        try:
            _send(_pipe(self._process.stdin), body)
            if is_answered:
                _read(_pipe(self._process.stdout), len(_DONE))
        except (OSError, EOFError) as error:
            self.close()
            raise IndexerLost(str(error)) from error
        finally:
            deadline.cancel()


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    if pipe is None:
        raise EOFError("it has no pipes")
    return pipe


def _encode(changes: Sequence[IndexChange]) -> bytes:
    try:
        return _encoder.encode([(urn, document) for urn, document, _ in changes])
    except ValueError:
        # One of them has text that cannot be encoded.
        return _encoder.encode([(change.urn, _encodable(change)) for change in changes])


def _encodable(change: IndexChange) -> Document | None:
    """Return the document of a change; log the error and return `None` if it cannot be sent."""
    try:
        _encoder.encode(change.document)
    except ValueError:
        _log.exception("%s cannot be indexed and will not be found", change.urn)
        return None
    return change.document


def _send(target: IO[bytes], body: bytes) -> None:
    target.write(_LENGTH.pack(len(body)))
    target.write(body)
    target.flush()


def _receive(source: IO[bytes]) -> bytes:
    """Return the next message. Raises `EOFError` if there is none."""
    (length,) = _LENGTH.unpack(_read(source, _LENGTH.size))
    return _read(source, length)


def _read(source: IO[bytes], length: int) -> bytes:
    body = source.read(length)
    if len(body) < length:
        raise EOFError("it ended")
    return body


def main() -> None:
    """Write the index that the first message names, as later ones say, until standard input
    ends."""
    source, target = sys.stdin.buffer, sys.stdout.buffer
    # What a library prints is no answer.
    sys.stdout = sys.stderr
    try:
        registry, directory = pickle.loads(_receive(source))  # noqa: S301 - sent by the parent
        vocabulary = Vocabulary(registry)
        terms = Terms(vocabulary)
        with boundary:
            index = terms.open(directory)
        writer = IndexWriter(index)
        while True:
            body = _receive(source)
            if body == _COMMIT:
                writer.commit()
                target.write(_DONE)
                target.flush()
                continue
            for urn, document in _changes.decode(body):
                writer.replace(urn, make_entry(terms, vocabulary, document))
    except (EOFError, BrokenPipeError):
        # Merges may be left unfinished: the next writer begins them again.
        os._exit(0)


if __name__ == "__main__":
    main()
