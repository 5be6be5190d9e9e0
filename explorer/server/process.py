"""The server process: listening, HTTP/1.1 connections with limits, and shutdown.

uvicorn has no settings that limit the size, duration and number of requests that its httptools
protocol receives: `limit_concurrency` answers 503 only after a head has been read,
`h11_max_incomplete_event_size` applies to the other parser, and `timeout_keep_alive` starts only
after a response.
"""

import asyncio
import errno
import gc
import os
import signal
import socket
import threading
import time
from asyncio import TimerHandle, Transport
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Literal

import msgspec
import uvicorn
from msgspec import Struct
from uvicorn.protocols.http.httptools_impl import (
    STATUS_LINE,
    HttpToolsProtocol,
    RequestResponseCycle,
)

from explorer.errors import InUse, Misconfigured, ServerFault, StorageFault
from explorer.server.app import HAS_LEFT, Service
from explorer.server.failures import error_body

_LINGER_SECONDS = 2.0


class ConnectionLimits(Struct, frozen=True):
    """The limits of each connection, and the maximum number of connections.

    `head_bytes` is the maximum size of a request line with its headers, and of the trailers of a
    body. A head must be complete within `head_seconds`. Until a body is complete, at least
    `progress_bytes` of it must arrive in every `body_seconds`; until a response is complete, the
    client must read at least `progress_bytes` of it in every `answer_seconds`. Up to
    `ignored_bytes` of a body may arrive after its response.
    """

    connections: int = 2_048
    head_bytes: int = 64 * 1024
    head_seconds: float = 15.0
    body_seconds: float = 60.0
    answer_seconds: float = 30.0
    progress_bytes: int = 16 * 1024
    ignored_bytes: int = 64 * 1024 * 1024


class _WaitingConnections:
    """The connections of one server that wait for a request, longest waiting first.

    `unused` connections have never completed a request head, `idle` connections have.
    """

    def __init__(self) -> None:
        self.unused: dict[LimitedConnection, None] = {}
        self.idle: dict[LimitedConnection, None] = {}

    def remove(self, connection: "LimitedConnection") -> None:
        """Remove a connection that is now busy or closed."""
        self.unused.pop(connection, None)
        self.idle.pop(connection, None)

    def oldest(self) -> "LimitedConnection | None":
        """Return the connection to close to make room for a new one: the longest waiting unused
        one, else the longest waiting idle one, else `None`."""
        return next(iter(self.unused), None) or next(iter(self.idle), None)


def connection_factory(limits: ConnectionLimits) -> "partial[LimitedConnection]":
    """Return the protocol factory of one server, for uvicorn's setting `http`."""
    return partial(LimitedConnection, limits, _WaitingConnections())


class LimitedConnection(HttpToolsProtocol):
    """uvicorn's protocol with limits: a request that exceeds one is refused, and its connection
    closed.

    A head or trailers that are too large are answered with 431, a head or body that takes too long
    with 408. A client that does not read its response is disconnected. If there are more
    connections than allowed, the one that has waited longest for a request is closed, so that a new
    client can connect; if all are busy, the new one is closed.
    """

    def __init__(
        self, limits: ConnectionLimits, waiting: _WaitingConnections, **uvicorn: Any
    ) -> None:
        super().__init__(**uvicorn)
        self._limits = limits
        self._waiting = waiting
        self._part: Literal["between", "head", "body"] = "between"
        # The bytes of the head, or of the trailers, that is being received.
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
        # uvicorn does not cancel the keep-alive timer if the peer resets the connection.
        self._unset_keepalive_if_required()
        self._stop_read_timer()
        self._stop_write_timer()

    def data_received(self, data: bytes) -> None:
        limit = self._limits.head_bytes
        rest = memoryview(data)
        while rest and not self._is_refused:
            # Pass on at most what is still allowed, so that a head is refused exactly at the limit.
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
        self.scope["state"][HAS_LEFT] = self.transport.is_closing
        self._part = "head"

    def on_header(self, name: bytes, value: bytes) -> None:
        # Trailers are dropped: nothing reads them, and they must not be added to the headers.
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
                self._refuse(413, "the client kept sending the body after the response")

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
        """Refuse a request that arrives too slowly, unless the service has paused reading."""
        limits = self._limits
        if self.flow.read_paused or self._body_bytes >= limits.progress_bytes:
            self._start_read_timer()
        elif self._part == "body":
            self._refuse(
                408,
                f"less than {limits.progress_bytes // 1024} KB of the body arrived in "
                f"{limits.body_seconds:g} seconds",
            )
        elif self._part == "head" or self._incomplete_bytes:
            self._refuse(408, f"the headers took longer than {limits.head_seconds:g} seconds")
        else:
            # The client has not begun a request.
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
        """Disconnect a client that has read too little. Closing the connection instead would wait
        for the client indefinitely."""
        self._write_timer = None
        unsent = self.transport.get_write_buffer_size()
        if self._unsent_bytes - unsent < self._limits.progress_bytes:
            self.transport.abort()
        else:
            self._start_write_timer()

    def _refuse(self, status: int, message: str) -> None:
        """Send an error response to the request that is being received, unless another response is
        under way, and close the connection. Do nothing if it was refused already."""
        if self._is_refused:
            return
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
            # Tell the handler of the request that its client has disconnected.
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
        # If the connection were closed while more data arrives, a reset could discard the response
        # before the client reads it.
        self._waiting.unused[self] = None
        self.flow.resume_reading()
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self._read_timer = self.loop.call_later(_LINGER_SECONDS, self.transport.abort)


_KEEP_ALIVE_SECONDS = 600
_STOP_SECONDS = 10
_WARM_UP_SECONDS = 1.0
_BACKLOG = 512
# File descriptors other than those of the counted connections: of the store, of the index, and of a
# full backlog of connections, which may be accepted at once before any of them is counted.
_OTHER_FILES = _BACKLOG + 256
# A full garbage collection, during which every request waits for 0.1 to 0.3 s, is made after a
# hundred times this number of new objects: once instead of five times while 1,500 datasets are
# loaded and searched.
_YOUNG_OBJECTS = 20_000


def listen_on_tcp(host: str, port: int) -> socket.socket:
    """Return a listening socket; port 0 selects any free port.

    Raises `InUse` if the port is in use, and `Misconfigured` if the host or port cannot be used.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except socket.gaierror as error:
        raise Misconfigured(
            f"{host} is not an address of this machine; name another host"
        ) from error
    except OverflowError as error:
        raise Misconfigured(
            f"{port} is not a port number; name one from 1 to 65535, or 0 for any"
        ) from error
    listener = socket.socket(family, kind, protocol)
    if os.name == "posix":
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(address)
        # For a port in use, the call that fails is not always `bind`; it may be `listen`.
        listener.listen(512)
    except OSError as error:
        listener.close()
        failure = InUse if error.errno == errno.EADDRINUSE else Misconfigured
        raise failure(_why_not_bound(host, port, error)) from error
    return listener


def listen_on_socket(path: Path) -> socket.socket:
    """Return a bound Unix socket that only this user may connect to.

    A socket file that a killed service left behind is replaced. Raises `StorageFault` if the socket
    cannot be bound.
    """
    path.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listener.bind(str(path))
        path.chmod(0o600)
    except OSError as error:
        listener.close()
        raise StorageFault(
            f"cannot listen at {path} ({error.strerror}); name another data directory"
        ) from error
    return listener


def run(
    service: Service,
    listener: socket.socket,
    *,
    ready: Callable[[], None],
    leaving: Callable[[], None],
    idle_seconds: float | None = None,
) -> None:
    """Serve on a bound socket until a signal arrives, or until there has been no request for
    `idle_seconds` and `CatalogEngine.is_preparing` is false.

    `ready` is called once connections are accepted, and `leaving` before the server stops accepting
    them. Requests under way are completed first. Signals are handled only in the main thread.

    Raises `ServerFault` if the writer of the store has died, so that a supervisor restarts the
    process.
    """
    config = uvicorn.Config(
        service,
        loop="auto",
        http=connection_factory(_limits()),  # type: ignore[arg-type]
        backlog=_BACKLOG,
        ws="none",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        date_header=False,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=_STOP_SECONDS,
    )
    server = _Server(config, service, ready, leaving, idle_seconds)
    gc.freeze()
    gc.set_threshold(_YOUNG_OBJECTS)
    with asyncio.Runner(loop_factory=config.get_loop_factory()) as runner:
        runner.run(server.serve(sockets=[listener]))
    if service.catalog.store.has_died:
        raise ServerFault("the service stopped because its writer failed; see its log")


def _limits() -> ConnectionLimits:
    """Return the limits, with fewer connections if the process may open only few files.

    The soft limit on open files is raised as far as necessary and possible.
    """
    limits = ConnectionLimits()
    try:
        import resource
    except ImportError:
        return limits
    needed = limits.connections + _OTHER_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    if soft != resource.RLIM_INFINITY and soft < most:
        soft = most
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return limits
    return msgspec.structs.replace(limits, connections=max(soft - _OTHER_FILES, 64))


class _Server(uvicorn.Server):
    """uvicorn's server, with callbacks at the start and the stop. It stops when idle, or when the
    writer of the store has died."""

    def __init__(
        self,
        config: uvicorn.Config,
        service: Service,
        ready: Callable[[], None],
        leaving: Callable[[], None],
        idle_seconds: float | None,
    ) -> None:
        super().__init__(config)
        self._service = service
        self._ready = ready
        self._leaving = leaving
        self._idle_seconds = idle_seconds
        self._total_requests = 0
        self._last_busy = time.monotonic()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop on a signal without raising it again, so that the code after `run` is executed."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        former = {
            number: signal.signal(number, self.handle_exit)
            for number in (signal.SIGINT, signal.SIGTERM)
        }
        try:
            yield
        finally:
            for number, handler in former.items():
                signal.signal(number, handler)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready()
        asyncio.get_running_loop().call_later(_WARM_UP_SECONDS, self._service.warm_up)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._leaving()
        self._service.stop()
        await super().shutdown(sockets)

    async def on_tick(self, counter: int) -> bool:
        if self._service.catalog.store.has_died:
            return True
        now, state = time.monotonic(), self.server_state
        if state.total_requests != self._total_requests:
            self._total_requests = state.total_requests
            self._last_busy = now
        elif state.tasks or self._service.catalog.is_preparing:
            self._last_busy = now
        if self._idle_seconds is not None and now - self._last_busy > self._idle_seconds:
            return True
        return await super().on_tick(counter)


def _why_not_bound(host: str, port: int, error: OSError) -> str:
    match error.errno:
        case errno.EADDRINUSE:
            return f"port {port} of {host} is in use; name another with --port, or 0 for any"
        case errno.EACCES:
            return f"port {port} needs more rights; name one from 1024 up with --port"
        case errno.EADDRNOTAVAIL:
            return f"{host} is not an address of this machine; name another host"
        case _:
            return f"cannot listen on {host}:{port}: {error.strerror or error}"
