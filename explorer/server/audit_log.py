"""The audit log: who changed what, and whose requests were refused. It contains no tokens or
bodies.

Records are made once a request has been answered, and are written by a thread a moment later. None
are lost when the service is stopped; if the process is killed, those of the last half second may
be. They are kept in the database if the catalog is in one, else in JSON Lines files in the data
directory.
"""

import io
import logging
import os
import threading
import time
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Literal, Protocol
from uuid import uuid4

import msgspec

from explorer.errors import CatalogError, StorageFault
from explorer.server.restli import RequestContext, decode

AUDIT_FILE = "audit.jsonl"
Outcome = Literal["done", "refused", "failed"]

_REFUSED = (401, 403, 429)
_GATHER_SECONDS = 0.3
_AGAIN_SECONDS = 1.0
_STOP_SECONDS = 0.5
_TRIM_SECONDS = 24 * 3_600.0
_DAY_MILLIS = 86_400_000
_MOST_WAITING = 20_000
_MOST_URNS = 20
_LONGEST = 200
_LONGEST_URN = 1_000
_FILE_BYTES = 16 * 1024 * 1024
_log = logging.getLogger("explorer.server")


class AuditRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """One change, or one request that was refused.

    `action` is an endpoint, a GraphQL mutation, or the method and path if there is no such
    endpoint. `credential` identifies the caller's token, see `authentication.Access`. `client` is
    the address that the request came from, which may be that of a proxy; `forwarded_for` is the
    header `X-Forwarded-For`, which is not verified. `urns` are the first 20 entities that the
    request changed, after the runs that it names; if it changed nothing, the first 20 that it
    names. Refusals of the same kind and caller that are written together are one record,
    and `times` is their number.
    """

    time_millis: int
    outcome: Outcome
    status: int
    action: str
    actor: str | None = None
    credential: str | None = None
    client: str | None = None
    forwarded_for: str | None = None
    request_id: str = ""
    urns: tuple[str, ...] = ()
    times: int = 1


Line = tuple[int, bytes]
"""The time of a record, in milliseconds since 1970, and the record as JSON."""


class AuditSink(Protocol):
    """A place where records are stored. Every method raises `CatalogError` if it cannot be used."""

    def append_audit(self, batch: str, lines: Sequence[Line]) -> None:
        """Store records. A batch can be sent again after a failure: records of it that are stored
        already are not stored twice."""

    def newest_audit(self) -> Iterator[bytes]:
        """Yield the records as JSON, newest first."""

    def trim_audit(self, before_millis: int) -> None:
        """Drop the records from before a time."""

    def hurry(self) -> None:
        """Wait only a moment for the storage from now on, because the service stops."""


class AuditFile:
    """An `AuditSink` in a file in a directory, one record per line. At 16 MB the file is renamed
    and a new one is started. Batches are not recognised when they are sent again."""

    def __init__(self, directory: Path, most_bytes: int = _FILE_BYTES) -> None:
        self._path = directory / AUDIT_FILE
        self._most_bytes = most_bytes

    @property
    def place(self) -> str:
        """The path of the file, for messages."""
        return str(self._path)

    def append_audit(self, batch: str, lines: Sequence[Line]) -> None:
        del batch
        try:
            with suppress(FileNotFoundError):
                if self._path.stat().st_size >= self._most_bytes:
                    self._path.rename(self._path.with_name(f"audit-{time.time_ns():020}.jsonl"))
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
            with os.fdopen(descriptor, "rb+", buffering=0) as file:
                end = file.seek(0, os.SEEK_END)
                file.seek(max(end - 1, 0))
                # End the last line if a crash has cut it off, or the first record would become part
                # of it.
                line_end = b"" if file.read(1) in (b"", b"\n") else b"\n"
                try:
                    _write_all(file, line_end + b"".join(line + b"\n" for _, line in lines))
                    os.fsync(descriptor)
                except OSError:
                    # Remove what was written, because the whole batch is sent again.
                    file.truncate(end)
                    raise
        except OSError as error:
            raise StorageFault(
                f"the audit log {self._path} cannot be written: {error.strerror}"
            ) from error

    def newest_audit(self) -> Iterator[bytes]:
        try:
            for path in (self._path, *sorted(self._older(), reverse=True)):
                with suppress(FileNotFoundError):
                    yield from reversed(path.read_bytes().splitlines())
        except OSError as error:
            raise StorageFault(
                f"the audit log {self._path} cannot be read: {error.strerror}"
            ) from error

    def trim_audit(self, before_millis: int) -> None:
        try:
            for path in self._older():
                if path.stat().st_mtime_ns // 1_000_000 < before_millis:
                    path.unlink()
        except OSError as error:
            raise StorageFault(
                f"old parts of the audit log {self._path} cannot be removed: {error.strerror}"
            ) from error

    def hurry(self) -> None:
        """Do nothing: a file never makes the service wait."""

    def _older(self) -> Iterator[Path]:
        return self._path.parent.glob("audit-*.jsonl")


def _write_all(file: io.RawIOBase, data: bytes) -> None:
    while data:
        data = data[file.write(data) :]


def read_records(sink: AuditSink) -> Generator[AuditRecord]:
    """Yield the records of an audit log, newest first. Lines that cannot be decoded, such as one
    that a crash cut off, are skipped."""
    for line in sink.newest_audit():
        with suppress(msgspec.DecodeError):
            yield msgspec.json.decode(line, type=AuditRecord)


class AuditLog:
    """Writes the records of a service in a thread, and drops those older than `keep_days`.

    Requests that lack a required token have no record; they are in the access log. While the sink
    cannot be used, up to 20,000 records are queued; the number of records lost beyond that is
    logged. Records that the sink has not accepted when the service stops are written to `spill`.
    """

    def __init__(
        self, sink: AuditSink, spill: AuditFile | None = None, keep_days: int | None = None
    ) -> None:
        self._sink = sink
        self._spill = spill
        self._keep_days = keep_days
        self._next_trim = time.monotonic()
        self._waiting: deque[AuditRecord] = deque()
        self._dropped = 0
        self._has_records = threading.Event()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="audit-log", daemon=True)
        self._thread.start()

    def note(self, context: RequestContext) -> None:
        """Queue the records of a request that has been answered, if it changes something or was
        refused."""
        endpoint = context.endpoint
        changes = context.changes
        is_one = endpoint is not None and endpoint.role != "reader"
        # The answer to a request without a token tells the client that it needs one; many clients
        # send none before that.
        is_told = context.status == 401 and b"authorization" not in context.headers
        is_refused = context.status in _REFUSED and not is_told
        if not (changes or is_one or is_refused):
            return
        if len(self._waiting) >= _MOST_WAITING:
            self._dropped += 1
            return
        self._waiting.extend(_records(context))
        if not self._has_records.is_set():
            self._has_records.set()

    def hurry(self) -> None:
        """Wait only a moment for the sink from now on, because the service stops."""
        self._sink.hurry()

    def close(self) -> None:
        """Write the queued records, to `spill` if the sink does not accept them within half a
        second, and stop the thread."""
        self._closing.set()
        self.hurry()
        self._has_records.set()
        self._thread.join()

    def _keep(self) -> None:
        is_told = False
        batch: tuple[str, list[Line]] | None = None
        deadline: float | None = None
        while True:
            if batch is None:
                self._has_records.wait(_TRIM_SECONDS)
                # Wait a moment, to write several records at once.
                self._closing.wait(_GATHER_SECONDS)
                self._has_records.clear()
                batch = self._take()
            if self._closing.is_set() and deadline is None:
                deadline = time.monotonic() + _STOP_SECONDS
            try:
                if batch[1]:
                    self._sink.append_audit(*batch)
                self._trim()
            except CatalogError as error:
                if not is_told:
                    _log.warning("the audit log is behind: %s", error)
                    is_told = True
                if deadline is not None and time.monotonic() > deadline:
                    self._leave([*batch[1], *self._take()[1]])
                    return
                time.sleep(0.1) if self._closing.is_set() else self._closing.wait(_AGAIN_SECONDS)
                continue
            batch, is_told = None, False
            if self._dropped:
                dropped, self._dropped = self._dropped, 0
                _log.error(
                    "%d records of the audit log were lost: the queue of unwritten records was "
                    "full",
                    dropped,
                )
            if self._closing.is_set() and not self._waiting:
                return

    def _take(self) -> tuple[str, list[Line]]:
        """Remove the queued records and return them as a batch, with one record for each kind of
        refusal of a caller."""
        records: list[AuditRecord] = []
        refusals: dict[tuple[str | int | None, ...], int] = {}
        while self._waiting:
            record = self._waiting.popleft()
            if record.outcome == "refused":
                # A caller without a valid token can request any number of different paths, so these
                # are one kind.
                is_known = record.status != 401 and record.credential is not None
                action = record.action if is_known else None
                kind = (record.credential, record.client, action, record.status)
                at = refusals.setdefault(kind, len(records))
                if at < len(records):
                    records[at] = msgspec.structs.replace(records[at], times=records[at].times + 1)
                    continue
            records.append(record)
        return str(uuid4()), [
            (record.time_millis, msgspec.json.encode(record)) for record in records
        ]

    def _trim(self) -> None:
        if self._keep_days is None or time.monotonic() < self._next_trim:
            return
        now_millis = time.time_ns() // 1_000_000
        self._sink.trim_audit(now_millis - self._keep_days * _DAY_MILLIS)
        self._next_trim = time.monotonic() + _TRIM_SECONDS

    def _leave(self, lines: list[Line]) -> None:
        """Write the records that the sink did not accept to `spill`, the file of this service."""
        if self._spill is None or not lines:
            return
        try:
            self._spill.append_audit("", lines)
        except CatalogError as error:
            _log.error("%d records of the audit log were lost: %s", len(lines), error)
        else:
            _log.warning(
                "%d records of the audit log could not be written in the usual place and were "
                "written to %s",
                len(lines),
                self._spill.place,
            )


def _records(context: RequestContext) -> Iterator[AuditRecord]:
    """Yield a record for each change of a request, or one for the whole request if it has none."""
    endpoint, access = context.endpoint, context.access
    peer = context.scope.get("client")
    forwarded = context.headers.get(b"x-forwarded-for", b"").decode("latin-1")[:_LONGEST]
    record = AuditRecord(
        time.time_ns() // 1_000_000,
        _outcome(context.status),
        context.status,
        endpoint.title
        if endpoint is not None
        else f"{context.scope['method'][:16]} {context.scope['path'][:_LONGEST]}",
        access.actor,
        access.credential or None,
        peer[0] if peer else None,
        forwarded or None,
        context.request_id.decode("latin-1"),
        _shorten(_urns_of(context)),
    )
    if not context.changes:
        yield record
    for change in context.changes:
        status = change.status or context.status
        yield msgspec.structs.replace(
            record,
            action=change.action,
            status=status,
            outcome=_outcome(status),
            urns=_shorten(change.urns),
        )


def _outcome(status: int) -> Outcome:
    if status in _REFUSED:
        return "refused"
    return "done" if status < 400 else "failed"


def _shorten(urns: Sequence[str]) -> tuple[str, ...]:
    return tuple(urn[:_LONGEST_URN] for urn in dict.fromkeys(urns))[:_MOST_URNS]


def _urns_of(context: RequestContext) -> Sequence[str]:
    """Return the entities that a request changed, after the runs that it names; if it changed none,
    those that it names. Otherwise named entities are left out, because a request can name any."""
    if not context.written:
        return (*_urn_of_path(context), *context.urns)
    runs = (name for name in context.urns if not name.startswith("urn:"))
    return (*islice(runs, _MOST_URNS // 2), *context.written)


def _urn_of_path(context: RequestContext) -> tuple[str, ...]:
    key = context.scope.get("path_params", {}).get("key")
    if key is None:
        return ()
    with suppress(CatalogError):
        decoded = decode(key)
        at = decoded.find("urn:li:")
        return (decoded[at:],) if at >= 0 else ()
    return ()
