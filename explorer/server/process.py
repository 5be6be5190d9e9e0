"""The process around the service: listening, stopping, and leaving when nobody asks any more."""

import asyncio
import errno
import gc
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

import msgspec
import uvicorn

from explorer.errors import ServerFault, Unusable
from explorer.server.connection import Limits, connection_factory
from explorer.server.metrics import resident_bytes
from explorer.server.service import Service

__all__ = ["Heap", "listen_on_socket", "listen_on_tcp", "run"]

_KEEP_ALIVE_SECONDS = 600
_STOP_SECONDS = 10
_WARM_UP_SECONDS = 1.0
_BACKLOG = 512
# Files that are open besides the connections: the store, the index, and what the system accepts
# at once before any of it is counted.
_OTHER_FILES = _BACKLOG + 256
_LONGEST_COLLECTION_SECONDS = 0.03
_RECLAIM_SECONDS = 3600.0
_GROWTH_BYTES = 128_000_000
_TICKS_A_SECOND = 10
_QUIET_SECONDS = 5.0


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
    with Heap() as heap, asyncio.Runner(loop_factory=config.get_loop_factory()) as runner:
        server.heap = heap
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


class Heap:
    """Keeps the garbage collector's pauses short while many objects are alive, as a context.

    Python's full collections visit every object and hold up all threads meanwhile: 0.2 to 0.4
    seconds with 20,000 datasets in memory. What survives a collection that took longer than
    `longest_seconds` is frozen (`gc.freeze`), so that later collections do not visit it again.
    Garbage among the frozen objects stays until `reclaim`, which is due once an hour and when the
    process grew by `growth_bytes`: at the next quiet moment, and at twice the growth at once.
    """

    def __init__(
        self,
        longest_seconds: float = _LONGEST_COLLECTION_SECONDS,
        growth_bytes: int = _GROWTH_BYTES,
    ) -> None:
        self._longest_seconds = longest_seconds
        self._growth_bytes = growth_bytes
        self._began = 0.0
        self._reclaimed = time.monotonic()
        self._bytes_then = 0

    def __enter__(self) -> Self:
        gc.freeze()
        gc.callbacks.append(self._on_collection)
        self._bytes_then = resident_bytes() or 0
        return self

    def __exit__(self, *_: object) -> None:
        gc.callbacks.remove(self._on_collection)
        gc.unfreeze()

    def reclaim_when_due(self, *, quiet: bool) -> None:
        """Collect frozen garbage when it is due; `quiet` says that nobody waits for an answer."""
        grown = (resident_bytes() or 0) - self._bytes_then
        most = max(self._growth_bytes, self._bytes_then // 2)
        is_late = time.monotonic() - self._reclaimed > _RECLAIM_SECONDS
        if (quiet and is_late) or grown > most * (1 if quiet else 2):
            self.reclaim()

    def reclaim(self) -> None:
        """Collect all garbage, what is frozen included."""
        gc.unfreeze()
        gc.collect()
        gc.freeze()
        self._reclaimed = time.monotonic()
        self._bytes_then = resident_bytes() or 0

    def _on_collection(self, phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            self._began = time.perf_counter()
            return
        took = time.perf_counter() - self._began
        if info["generation"] == 2 and took > self._longest_seconds:
            gc.freeze()


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
        self.heap: Heap | None = None
        self._service = service
        self._ready = ready
        self._leaving = leaving
        self._idle_seconds = idle_seconds
        self._asked = time.monotonic()
        self._answered = 0
        self._requests = 0
        self._quiet_since = time.monotonic()

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
        if state.total_requests != self._requests:
            self._requests = state.total_requests
            self._quiet_since = time.monotonic()
        if self.heap is not None and counter % _TICKS_A_SECOND == 0:
            quiet = time.monotonic() - self._quiet_since > _QUIET_SECONDS
            self.heap.reclaim_when_due(quiet=quiet)
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
