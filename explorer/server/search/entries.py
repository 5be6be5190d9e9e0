"""Entries of the search index, made from documents.

Python runs on one processor. `EntryWorker` makes the entries of a bulk load in another process, so
that it uses two: that process is sent the stored aspects of entities, builds their documents, and
answers with the values of their entries. It holds no state but the registry: it is started by the
first bulk load, ends after 30 seconds without work, and ends with this process, whose end of their
socket is closed then. If it fails, entries are made in this process.
"""

import logging
import math
import os
import pickle
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeAlias

import msgspec
import orjson
import tantivy

from explorer.errors import CatalogError
from explorer.server.search.analysis import analyse
from explorer.server.search.document import EntityState, Indexed, StoredValues
from explorer.server.search.fields import Vocabulary
from explorer.server.search.terms import Terms

_IDLE_SECONDS = 30.0
# A chunk takes a fraction of a second; a process that needs longer is stopped or swapped out.
_ANSWER_SECONDS = 60.0
_OFF_SECONDS = 300.0
_STOP_SECONDS = 5.0
_LENGTH = struct.Struct(">I")
_COMMAND = (sys.executable, "-P", "-m", "explorer.server.search.entries")

_log = logging.getLogger("explorer.server.search")
_encoder = msgspec.msgpack.Encoder()
# An `EntityState`, with its values as JSON.
_SentState: TypeAlias = tuple[str, dict[str, bytes], Mapping[str, Any], float]
_states = msgspec.msgpack.Decoder(list[_SentState])
_values = msgspec.msgpack.Decoder(list[dict[str, Any] | None])


def make_entry(terms: Terms, vocabulary: Vocabulary, document: Indexed) -> tantivy.Document | None:
    """Return the entry of a document; log the error and return `None` if it cannot be indexed."""
    try:
        return terms.make(analyse(vocabulary, document.build(vocabulary.registry)))
    except (ValueError, TypeError, CatalogError):
        _log.exception("%s cannot be indexed and will not be found", document.urn)
        return None


class EntryWorker:
    """Makes entries in another process. Not thread-safe; the caller holds a lock."""

    def __init__(self, terms: Terms, vocabulary: Vocabulary) -> None:
        self._terms = terms
        self._vocabulary = vocabulary
        self._process: subprocess.Popen[bytes] | None = None
        self._messages: _Messages | None = None
        self._off_until = 0.0 if (os.cpu_count() or 1) > 1 else math.inf

    @property
    def is_useful(self) -> bool:
        """Whether there is a second processor, and the process did not fail lately."""
        return time.monotonic() >= self._off_until

    def make(self, documents: Sequence[Indexed]) -> list[tantivy.Document | None]:
        """Return the entries of documents, in order; `None` for one that cannot be indexed, after
        logging the error."""
        sent = {at: sent for at, document in enumerate(documents) if (sent := _to_send(document))}
        values_by_place = dict(zip(sent, self._values_from_process([*sent.values()]), strict=True))
        return [
            self._terms.entry(values)
            if (values := values_by_place.get(at)) is not None
            else make_entry(self._terms, self._vocabulary, document)
            for at, document in enumerate(documents)
        ]

    def close(self) -> None:
        """End the process, if it runs."""
        process, messages, self._process, self._messages = self._process, self._messages, None, None
        if messages is not None:
            messages.close()
        if process is not None:
            try:
                process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _values_from_process(self, states: Sequence[_SentState]) -> Sequence[dict[str, Any] | None]:
        """Return the values of entries as the other process made them, `None` for one that is to be
        made here."""
        entries = [None] * len(states)
        if not states or not self.is_useful:
            return entries
        try:
            body = _encoder.encode(states)
        except (ValueError, OverflowError):
            # One of them has text that cannot be encoded.
            return entries
        try:
            values = _values.decode(self._exchange(body))
        except (OSError, EOFError, msgspec.MsgspecError) as error:
            self._off_until = time.monotonic() + _OFF_SECONDS
            _log.warning(
                "index entries cannot be built in another process (%s); for %.0f minutes they "
                "are built in this one",
                str(error) or type(error).__name__,
                _OFF_SECONDS / 60,
            )
            self.close()
            return entries
        return values if len(values) == len(states) else entries

    def _exchange(self, body: bytes) -> bytes:
        """Send a message and return its answer. A process that ended, as it does when it has no
        work, is started again. Raises `OSError` and `EOFError`."""
        if self._messages is not None:
            try:
                return self._messages.ask(body)
            except (OSError, EOFError):
                self.close()
        here, there = socket.socketpair()
        self._messages = _Messages(here, _ANSWER_SECONDS)
        with there:
            # Not in the process group of a terminal: ctrl+c there is for the service alone.
            self._process = subprocess.Popen(  # noqa: S603 - this very interpreter
                _COMMAND, stdin=there.fileno(), stdout=subprocess.DEVNULL, start_new_session=True
            )
        self._messages.send(pickle.dumps(self._vocabulary.registry))
        return self._messages.ask(body)


def _to_send(document: Indexed) -> _SentState | None:
    """Return what is sent of a document; `None` if it is not built from stored values."""
    if isinstance(document, EntityState) and isinstance(document.values, StoredValues):
        return (document.urn, document.values.json_by_name, document.derived, document.usage)
    return None


class _Messages:
    """Messages to and from the process at the other end of a socket. All methods raise `EOFError`
    when that has closed its end, and `OSError` when it does not send or read for too long."""

    def __init__(self, end: socket.socket, most_seconds: float) -> None:
        end.settimeout(most_seconds)
        self._end = end
        self._received = end.makefile("rb")

    def send(self, body: bytes) -> None:
        """Send a message."""
        self._end.sendall(_LENGTH.pack(len(body)))
        self._end.sendall(body)

    def receive(self) -> bytes:
        """Return the next message."""
        (length,) = _LENGTH.unpack(self._read(_LENGTH.size))
        return self._read(length)

    def ask(self, body: bytes) -> bytes:
        """Send a message and return the next one, its answer."""
        self.send(body)
        return self.receive()

    def close(self) -> None:
        """Close this end."""
        self._received.close()
        self._end.close()

    def _read(self, length: int) -> bytes:
        body = self._received.read(length)
        if len(body) < length:
            raise EOFError("it ended")
        return body


def main() -> None:
    """Answer messages of the states of entities with the values of their entries until the other
    end of standard input, a socket, is closed."""
    with suppress(EOFError, OSError):
        messages = _Messages(socket.socket(fileno=sys.stdin.fileno()), _IDLE_SECONDS)
        vocabulary = Vocabulary(pickle.loads(messages.receive()))  # noqa: S301 - sent by the parent
        terms = Terms(vocabulary)
        while True:
            states = _states.decode(messages.receive())
            messages.send(_encoder.encode([_make(terms, vocabulary, state) for state in states]))


def _make(terms: Terms, vocabulary: Vocabulary, state: _SentState) -> dict[str, Any] | None:
    """Return the values of an entry; `None` for one that has to be made, and its error logged, by
    the service."""
    urn, json_by_name, derived, usage = state
    try:
        values = {name: orjson.loads(text) for name, text in json_by_name.items()}
        document = EntityState(urn, values, derived, usage).build(vocabulary.registry)
        return terms.values(analyse(vocabulary, document))
    except (ValueError, TypeError, CatalogError):
        return None


if __name__ == "__main__":
    main()
