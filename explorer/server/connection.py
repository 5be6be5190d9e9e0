"""HTTP/1.1 connections with limits on size, time and number.

uvicorn's settings limit none of these for its httptools protocol: `limit_concurrency` answers 503
once a head was read, `h11_max_incomplete_event_size` is for the other parser, and
`timeout_keep_alive` begins after an answer.
"""

from asyncio import TimerHandle, Transport
from functools import partial
from typing import Any, Literal

from msgspec import Struct
from uvicorn.protocols.http.httptools_impl import (
    STATUS_LINE,
    HttpToolsProtocol,
    RequestResponseCycle,
)

from explorer.server.failures import error_body

__all__ = ["Connection", "Limits", "connection_factory"]

_LINGER_SECONDS = 2.0


class Limits(Struct, frozen=True):
    """What one connection may take, and how many there may be.

    `head_bytes` is the most for a request line with its headers, and for the trailers of a body.
    In every `body_seconds` a body, and in every `answer_seconds` the reader of an answer, has to
    move by `progress_bytes` or be complete. `ignored_bytes` of a body may follow its answer.
    """

    connections: int = 2_048
    head_bytes: int = 64 * 1024
    head_seconds: float = 15.0
    body_seconds: float = 60.0
    answer_seconds: float = 30.0
    progress_bytes: int = 16 * 1024
    ignored_bytes: int = 64 * 1024 * 1024


class _Waiting:
    """The connections of one server that wait for their next request, longest first: `unused` ones
    never completed a request head, `idle` ones did."""

    def __init__(self) -> None:
        self.unused: dict[Connection, None] = {}
        self.idle: dict[Connection, None] = {}

    def remove(self, connection: "Connection") -> None:
        """Forget a connection that is busy now, or closed."""
        self.unused.pop(connection, None)
        self.idle.pop(connection, None)

    def oldest(self) -> "Connection | None":
        """The connection to close for the sake of a new one."""
        return next(iter(self.unused), None) or next(iter(self.idle), None)


def connection_factory(limits: Limits) -> "partial[Connection]":
    """Return the protocol class of one server, for uvicorn's setting `http`."""
    return partial(Connection, limits, _Waiting())


class Connection(HttpToolsProtocol):
    """uvicorn's protocol, which refuses what is over the limits and closes the connection.

    A head or trailers that are too large get 431, a head or body that takes too long 408. A reader
    that takes nothing of its answer is disconnected. With more connections than allowed the one
    that has waited longest without a request is closed, so that a new client always gets in.
    """

    def __init__(self, limits: Limits, waiting: _Waiting, **uvicorn: Any) -> None:
        super().__init__(**uvicorn)
        self._limits = limits
        self._waiting = waiting
        self._part: Literal["between", "head", "body"] = "between"
        # Bytes in a row that were no body and completed nothing: of a head, or of trailers.
        self._incomplete_bytes = 0
        self._has_progress = False
        self._body_bytes = 0
        self._ignored_bytes = 0
        self._read_timer: TimerHandle | None = None
        self._write_timer: TimerHandle | None = None
        self._unsent_bytes = 0
        self._is_refused = False

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > self._limits.connections:
            oldest = self._waiting.oldest()
            if oldest is None:
                transport.abort()
                return
            self._waiting.remove(oldest)
            oldest.transport.abort()
        self._waiting.unused[self] = None
        self._read_timer = self.loop.call_later(self._limits.head_seconds, self._check_reading)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._waiting.remove(self)
        # uvicorn leaves this one to run when the peer reset the connection.
        self._unset_keepalive_if_required()
        self._stop_read_timer()
        self._stop_write_timer()

    def data_received(self, data: bytes) -> None:
        limit = self._limits.head_bytes
        rest = memoryview(data)
        while rest and not self._is_refused:
            # No more than what is still allowed, so that a head is refused at its exact size.
            piece = rest[: limit - self._incomplete_bytes]
            rest = rest[len(piece) :]
            self._has_progress = False
            super().data_received(piece)  # type: ignore[arg-type]
            self._incomplete_bytes = (
                0 if self._has_progress else self._incomplete_bytes + len(piece)
            )
            if self._incomplete_bytes >= limit:
                what = "trailers are" if self._part == "body" else "request line and headers are"
                self._refuse(431, f"the {what} larger than {limit // 1024} KB")
        if self._is_refused:
            return
        if self._part == "between" and not self._incomplete_bytes:
            self._stop_read_timer()
        elif self._read_timer is None:
            self._start_read_timer()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._part = "head"

    def on_header(self, name: bytes, value: bytes) -> None:
        # Trailers are not kept: nothing here reads them, and they are no headers.
        if self._part == "head":
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        super().on_headers_complete()
        self._has_progress = True
        self._part = "body"
        self._waiting.remove(self)
        self._stop_read_timer()

    def on_body(self, body: bytes) -> None:
        self._has_progress = True
        self._body_bytes += len(body)
        super().on_body(body)
        if self.cycle.response_complete:
            self._ignored_bytes += len(body)
            if self._ignored_bytes > self._limits.ignored_bytes:
                self._refuse(413, "the body goes on after its answer")

    def on_message_complete(self) -> None:
        self._has_progress = True
        self._part = "between"
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.transport.is_closing():
            self._start_write_timer()
        elif self.cycle.response_complete:
            self._waiting.idle[self] = None

    def pause_writing(self) -> None:
        super().pause_writing()
        self._start_write_timer()

    def resume_writing(self) -> None:
        super().resume_writing()
        if not self.transport.is_closing():
            self._stop_write_timer()

    def timeout_keep_alive_handler(self) -> None:
        super().timeout_keep_alive_handler()
        self._start_write_timer()

    def send_400_response(self, msg: str) -> None:
        self._refuse(400, msg)

    def _start_read_timer(self) -> None:
        in_body = self._part == "body"
        seconds = self._limits.body_seconds if in_body else self._limits.head_seconds
        self._body_bytes = 0
        self._read_timer = self.loop.call_later(seconds, self._check_reading)

    def _stop_read_timer(self) -> None:
        if self._read_timer is not None:
            self._read_timer.cancel()
            self._read_timer = None

    def _check_reading(self) -> None:
        """Refuse a request that is too slow, unless it is the service that does not read."""
        limits = self._limits
        if self.flow.read_paused or self._body_bytes >= limits.progress_bytes:
            self._start_read_timer()
        elif self._part == "body":
            self._refuse(
                408,
                f"less than {limits.progress_bytes // 1024} KB of the body came "
                f"in {limits.body_seconds:g} seconds",
            )
        elif self._part == "head" or self._incomplete_bytes:
            self._refuse(408, f"the headers took longer than {limits.head_seconds:g} seconds")
        else:
            # Nothing was ever asked.
            self.transport.close()

    def _start_write_timer(self) -> None:
        if self._write_timer is None:
            self._unsent_bytes = self.transport.get_write_buffer_size()
            self._write_timer = self.loop.call_later(
                self._limits.answer_seconds, self._check_writing
            )

    def _stop_write_timer(self) -> None:
        if self._write_timer is not None:
            self._write_timer.cancel()
            self._write_timer = None

    def _check_writing(self) -> None:
        """Disconnect a reader that took too little; closing would wait for it without end."""
        self._write_timer = None
        unsent = self.transport.get_write_buffer_size()
        if self._unsent_bytes - unsent < self._limits.progress_bytes:
            self.transport.abort()
        else:
            self._start_write_timer()

    def _refuse(self, status: int, message: str) -> None:
        """Answer the request that is being received, if nothing else is under way, and close."""
        self._is_refused = True
        self._stop_read_timer()
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is None:
            may_answer = True
        elif self._part == "body":
            may_answer = not (cycle.response_started or self.pipeline)
        else:
            may_answer = cycle.response_complete
        if cycle is not None and not cycle.response_complete:
            # The request's handler is told that its caller is gone.
            cycle.disconnected = True
            cycle.message_event.set()
            self.flow.resume_writing()
        if not may_answer:
            self.transport.abort()
            return
        body = error_body(status, message)
        self.transport.write(
            b"%bcontent-type: application/json\r\ncontent-length: %d\r\n"
            b"x-restli-error-response: true\r\nconnection: close\r\n\r\n%b"
            % (STATUS_LINE[status], len(body), body)
        )
        # Closed at once, while more comes in, the answer would be lost to a reset.
        self._waiting.unused[self] = None
        self.flow.resume_reading()
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self._read_timer = self.loop.call_later(_LINGER_SECONDS, self.transport.abort)
