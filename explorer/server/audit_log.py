"""The audit log: who changed what, and who was refused what; without tokens and without bodies.

A record is made once its request was answered and is kept by a thread, a moment later: on an
orderly stop none is lost, when the process is killed those of the last half second may be. It is
kept in the database where the catalog is in one, else in files of JSON lines in the data directory.
"""

import logging
import os
import threading
import time
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal, Protocol
from uuid import uuid4

import msgspec

from explorer.errors import CatalogError, StorageFault
from explorer.server.restli import RequestContext, decode

__all__ = ["AUDIT_FILE", "AuditFile", "AuditLog", "AuditRecord", "AuditSink", "read_records"]

AUDIT_FILE = "audit.jsonl"
Outcome = Literal["done", "refused", "failed"]

_REFUSED = (401, 403, 429)
_GATHER_SECONDS = 0.3
_AGAIN_SECONDS = 1.0
_STOP_SECONDS = 5.0
_TRIM_SECONDS = 24 * 3_600.0
_DAY_MILLIS = 86_400_000
_MOST_WAITING = 20_000
_MOST_URNS = 20
_LONGEST = 200
_LONGEST_URN = 1_000
_FILE_BYTES = 16 * 1024 * 1024
_log = logging.getLogger("explorer.server")


class AuditRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """One change, or one attempt that was refused.

    `action` is an endpoint, a mutation, or a path that is none. `credential` is how the caller was
    known, see `authentication.Access`. `client` is the address that the request came from, which
    may be a proxy's, and `forwarded_for` what the request says of those before it, which anybody
    may claim. `urns` are the first 20 entities that it names. Refusals of one kind, from one
    caller and within a moment, are one record with `times`.
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
"""When a record was made, in milliseconds since 1970, and the record as JSON."""


class AuditSink(Protocol):
    """Where records are kept. Every method raises `CatalogError` where that cannot be used."""

    def append_audit(self, batch: str, lines: Sequence[Line]) -> None:
        """Keep records; those of a batch that are there already are not kept twice."""

    def newest_audit(self) -> Iterator[bytes]:
        """Yield the records, the newest first."""

    def trim_audit(self, before_millis: int) -> None:
        """Drop records of before that time."""


class AuditFile:
    """Records as lines of a file in a directory, which begins anew at 16 MB. See `AuditSink`."""

    def __init__(self, directory: Path, most_bytes: int = _FILE_BYTES) -> None:
        self._path = directory / AUDIT_FILE
        self._most_bytes = most_bytes

    @property
    def place(self) -> str:
        """Where the records are, for people."""
        return str(self._path)

    def append_audit(self, batch: str, lines: Sequence[Line]) -> None:
        del batch
        try:
            with suppress(FileNotFoundError):
                if self._path.stat().st_size >= self._most_bytes:
                    self._path.rename(self._path.with_name(f"audit-{time.time_ns():020}.jsonl"))
            descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            with os.fdopen(descriptor, "ab") as file:
                file.write(b"".join(line + b"\n" for _, line in lines))
                file.flush()
                os.fsync(file.fileno())
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

    def _older(self) -> Iterator[Path]:
        return self._path.parent.glob("audit-*.jsonl")


def read_records(sink: AuditSink) -> Generator[AuditRecord]:
    """Yield the records of a log, the newest first; a line that was cut off is left out."""
    for line in sink.newest_audit():
        with suppress(msgspec.DecodeError):
            yield msgspec.json.decode(line, type=AuditRecord)


class AuditLog:
    """Keeps the records of a service, in a thread of its own; none older than `keep_days`.

    Of requests without a token, where one is needed, there is none: the access log has them.

    While the sink cannot be used up to 20,000 records wait; those beyond are counted and told in
    the log. What the sink did not take until the end goes into `spill`.
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
        """Queue the records of a request that was answered, if it is one that changes something
        or was refused."""
        endpoint = context.endpoint
        changes = context.changes
        is_one = endpoint is not None and endpoint.role != "reader"
        # Without a token a client learns that one is asked for: ours sends none before.
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

    def close(self) -> None:
        """Keep what is left, in `spill` where the sink does not take it within five seconds."""
        self._closing.set()
        self._has_records.set()
        self._thread.join()

    def _keep(self) -> None:
        is_told = False
        batch: tuple[str, list[Line]] | None = None
        ends: float | None = None
        while True:
            if batch is None:
                self._has_records.wait(_TRIM_SECONDS)
                # Many records, one write.
                self._closing.wait(_GATHER_SECONDS)
                self._has_records.clear()
                batch = self._take()
            if self._closing.is_set() and ends is None:
                ends = time.monotonic() + _STOP_SECONDS
            try:
                if batch[1]:
                    self._sink.append_audit(*batch)
                self._trim()
            except CatalogError as error:
                if not is_told:
                    _log.warning("the audit log is behind: %s", error)
                    is_told = True
                if ends is not None and time.monotonic() > ends:
                    self._leave([*batch[1], *self._take()[1]])
                    return
                time.sleep(0.1) if self._closing.is_set() else self._closing.wait(_AGAIN_SECONDS)
                continue
            batch, is_told = None, False
            if self._dropped:
                dropped, self._dropped = self._dropped, 0
                _log.error("%d records of the audit log were lost: too many waited", dropped)
            if self._closing.is_set() and not self._waiting:
                return

    def _take(self) -> tuple[str, list[Line]]:
        """Take what waits, each kind of refusal of a caller once."""
        kept: list[AuditRecord] = []
        refusals: dict[tuple[str | int | None, ...], int] = {}
        while self._waiting:
            record = self._waiting.popleft()
            if record.outcome == "refused":
                # Of those without a credential the paths are anybody's, and may be any number.
                action = record.action if record.credential else None
                kind = (record.credential, record.client, action, record.status)
                at = refusals.setdefault(kind, len(kept))
                if at < len(kept):
                    kept[at] = msgspec.structs.replace(kept[at], times=kept[at].times + 1)
                    continue
            kept.append(record)
        return str(uuid4()), [(one.time_millis, msgspec.json.encode(one)) for one in kept]

    def _trim(self) -> None:
        if self._keep_days is None or time.monotonic() < self._next_trim:
            return
        now_millis = time.time_ns() // 1_000_000
        self._sink.trim_audit(now_millis - self._keep_days * _DAY_MILLIS)
        self._next_trim = time.monotonic() + _TRIM_SECONDS

    def _leave(self, lines: list[Line]) -> None:
        """Put what the sink did not take into the file of this service."""
        if self._spill is None or not lines:
            return
        try:
            self._spill.append_audit("", lines)
        except CatalogError as error:
            _log.error("%d records of the audit log were lost: %s", len(lines), error)
        else:
            _log.warning(
                "%d records of the audit log, which could not be kept elsewhere, are in %s",
                len(lines),
                self._spill.place,
            )


def _records(context: RequestContext) -> Iterator[AuditRecord]:
    """Yield a record for each change of a request, or one for the request."""
    endpoint, access = context.endpoint, context.access
    peer = context.scope.get("client")
    forwarded = context.headers.get(b"x-forwarded-for", b"").decode("latin-1")[:_LONGEST]
    whole = AuditRecord(
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
        _shortened((*_urn_of_path(context), *context.urns)),
    )
    if not context.changes:
        yield whole
    for change in context.changes:
        status = change.status or context.status
        yield msgspec.structs.replace(
            whole,
            action=change.action,
            status=status,
            outcome=_outcome(status),
            urns=_shortened(change.urns),
        )


def _outcome(status: int) -> Outcome:
    if status in _REFUSED:
        return "refused"
    return "done" if status < 400 else "failed"


def _shortened(urns: Sequence[str]) -> tuple[str, ...]:
    return tuple(urn[:_LONGEST_URN] for urn in dict.fromkeys(urns))[:_MOST_URNS]


def _urn_of_path(context: RequestContext) -> tuple[str, ...]:
    key = context.scope.get("path_params", {}).get("key")
    if key is None:
        return ()
    with suppress(CatalogError):
        found = decode(key)
        at = found.find("urn:li:")
        return (found[at:],) if at >= 0 else ()
    return ()
