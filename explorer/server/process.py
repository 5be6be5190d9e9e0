"""The process around the service: listening, stopping, and leaving when nobody asks any more."""

import asyncio
import errno
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import uvicorn

from explorer.errors import ServerFault, Unusable
from explorer.server.connection import Limits, connection_factory
from explorer.server.service import Service

__all__ = ["listen_on_socket", "listen_on_tcp", "run"]

_KEEP_ALIVE_SECONDS = 600
_STOP_SECONDS = 10
_WARM_UP_SECONDS = 1.0
_BACKLOG = 512
# Files that are open besides the connections: the store, the index, and what the system accepts
# at once before any of it is counted.
_OTHER_FILES = _BACKLOG + 256


def listen_on_tcp(host: str, port: int) -> socket.socket:
    """A bound socket; port 0 takes any that is free. Raises `Unusable`."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except socket.gaierror as error:
        raise Unusable(f"{host} is no address of this machine; name another host") from error
    except OverflowError as error:
        raise Unusable(f"{port} is no port; name one from 1 to 65535, or 0 for any") from error
    listener = socket.socket(family, kind, protocol)
    if os.name == "posix":
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(address)
        # A port in use is told when listening begins, not always at the bind.
        listener.listen(512)
    except OSError as error:
        listener.close()
        raise Unusable(_why_not_bound(host, port, error)) from error
    return listener


def listen_on_socket(path: Path) -> socket.socket:
    """A bound Unix socket that only we may connect to; one left by a killed service is replaced.

    Raises `Unusable`.
    """
    path.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listener.bind(str(path))
        path.chmod(0o600)
    except OSError as error:
        listener.close()
        raise Unusable(
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
    """Answer on a bound socket until a signal says stop, or nobody asked for `idle_seconds`.

    `ready` is called once requests are taken, `leaving` before they no longer are. What was under
    way is answered first. Signals are heard in the main thread only. Raises `ServerFault` when the
    writer of the store ended, so that a supervisor starts the process again.
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
    with asyncio.Runner(loop_factory=config.get_loop_factory()) as runner:
        runner.run(server.serve(sockets=[listener]))
    if service.catalog.store.has_died:
        raise ServerFault("the service ended because its writer failed; its log says why")


def _limits() -> Limits:
    """The limits of the connections; fewer of them where this process may open few files."""
    limits = Limits()
    try:
        import resource
    except ImportError:
        return limits
    wanted = limits.connections + _OTHER_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < most:
        soft = most
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return limits
    return msgspec.structs.replace(limits, connections=max(soft - _OTHER_FILES, 64))


class _Server(uvicorn.Server):
    """uvicorn with our ends: it tells when it begins and stops, and stops when idle."""

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
        self._asked = time.monotonic()
        self._answered = 0

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop on a signal and do not raise it again, so that what follows the run is done."""
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
        state = self.server_state
        if state.tasks or state.total_requests != self._answered:
            self._answered = state.total_requests
            self._asked = time.monotonic()
        elif self._idle_seconds is not None and time.monotonic() - self._asked > self._idle_seconds:
            return True
        return await super().on_tick(counter)


def _why_not_bound(host: str, port: int, error: OSError) -> str:
    match error.errno:
        case errno.EADDRINUSE:
            return f"port {port} of {host} is in use; name another with --port, or 0 for any"
        case errno.EACCES:
            return f"port {port} needs more rights; name one from 1024 up with --port"
        case errno.EADDRNOTAVAIL:
            return f"{host} is no address of this machine; name another host"
        case _:
            return f"cannot listen on {host}:{port}: {error.strerror or error}"
