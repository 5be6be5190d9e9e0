"""Blocking methods made from asynchronous ones.

The asynchronous methods run on an event loop in a thread of its own, so blocking calls also work
inside a notebook, whose loop is always running. A blocking class lists its methods; each has the
parameters, types and documentation of its asynchronous counterpart.
"""

import asyncio
import os
import threading
import weakref
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from concurrent.futures import Future
from contextlib import suppress
from functools import wraps
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

from explorer.errors import Misuse

_P = ParamSpec("_P")
_T = TypeVar("_T")

_GRACE_SECONDS = 2.0
_HANDFUL = 100


class BlockingFace:
    """A thread with an event loop that runs the methods of an asynchronous object, `core`."""

    _run: "Callable[[Coroutine[Any, Any, Any]], Coroutine[Any, Any, Any]] | None" = None

    def __init__(self, close: Callable[[], Coroutine[Any, Any, None]] | None = None) -> None:
        """Start the thread that makes the requests.

        `close` is run when this object is garbage-collected without having been closed; it must not
        refer to this object.
        """
        self._loop = asyncio.new_event_loop()
        self._process = os.getpid()
        self._ending = asyncio.Event()
        self._waiters: set[threading.Event] = set()
        self._thread = threading.Thread(
            target=_run, args=(self._loop, self._ending), name="catalog-client", daemon=True
        )
        self._thread.start()
        self._dropped = weakref.finalize(self, _drop, self._loop, self._ending, close)
        self._dropped.atexit = False

    @property
    def core(self) -> Any:
        """The asynchronous object whose methods are run."""
        raise NotImplementedError

    def wait(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Run a coroutine on the client's thread, and return its result or raise its error.

        An interrupt cancels the coroutine and waits until it has ended. Raises `Misuse` when the
        client is closed, before or during the call, and where the wait would never end: on the
        client's own thread, and in a forked process.

        Example: `cat.wait(cat.core.info())`
        """
        why = self._hindrance()
        if why is not None:
            work.close()
            raise Misuse(why)
        ended = threading.Event()
        tasks: list[asyncio.Task[_T]] = []

        def start() -> None:
            if self._ending.is_set():
                ended.set()
                return
            tasks.append(self._loop.create_task(self._run(work) if self._run else work))
            tasks[0].add_done_callback(lambda _: ended.set())

        def stop() -> None:
            for task in tasks:
                task.cancel()

        # Added before the task is created, so that `_end` wakes it.
        self._waiters.add(ended)
        try:
            self._loop.call_soon_threadsafe(start)
            ended.wait()
        except RuntimeError:
            work.close()
            raise Misuse("this client is closed; create another one") from None
        except BaseException:
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(stop)
                ended.wait(_GRACE_SECONDS)
            raise
        finally:
            self._waiters.discard(ended)
        if not tasks or not tasks[0].done() or tasks[0].cancelled():
            work.close()
            raise Misuse("the client was closed before the answer came; create another one")
        return tasks[0].result()

    def begin(self, work: Coroutine[Any, Any, _T]) -> Future[_T]:
        """Run a coroutine on the client's thread without waiting for it, and return a future of its
        result. Coroutines start in the order of the calls. Raises `Misuse` when the client is
        closed, and in a forked process.

        Example: `cat.begin(cat.core.info()).result()`
        """
        if os.getpid() != self._process or self._loop.is_closed():
            work.close()
            raise Misuse("this client is closed, or of another process; create another one")
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def _hindrance(self) -> str | None:
        """Return the reason why a call cannot be waited for here, or `None`."""
        if os.getpid() != self._process:
            return "this client was created in another process; create another one here"
        if threading.current_thread() is self._thread:
            return (
                "a blocking call cannot be made on the client's own thread; an iterator over "
                "this client that is passed to one of its methods has to be a list: list(…)"
            )
        return None

    def leave(self, work: Coroutine[Any, Any, None]) -> None:
        """Run the coroutine that ends an iteration, and wait for it if waiting is possible.

        With a closed client the iteration has already ended. The garbage collector may end an
        iteration on any thread, including the client's own.
        """
        if threading.current_thread() is self._thread and os.getpid() == self._process:
            self._loop.create_task(work)
            return
        with suppress(Misuse):
            self.wait(work)

    def _end(self) -> None:
        """End the thread. Calls in progress, and later ones, raise `Misuse`."""
        if os.getpid() != self._process:
            return
        self._dropped.detach()
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._ending.set)
        self._thread.join()
        for ended in tuple(self._waiters):
            ended.set()


_FaceT = TypeVar("_FaceT", bound=BlockingFace)


def run_through(
    face: _FaceT, run: "Callable[[Coroutine[Any, Any, Any]], Coroutine[Any, Any, Any]]"
) -> _FaceT:
    """Return a blocking object for the same asynchronous one, whose calls are passed through `run`,
    which awaits or cancels them."""
    other = object.__new__(type(face))
    # The original is referenced, because its thread ends when it is garbage-collected.
    other.__dict__.update(vars(face), _run=run, _shared=face)
    return other


class SharedThreadFace(BlockingFace):
    """A blocking object that uses the thread of another one, `owner`, and works until the owner is
    closed."""

    def __init__(self, owner: BlockingFace) -> None:
        # Does not call the base constructor, which would start a thread.
        self._owner = owner

    def wait(self, work: Coroutine[Any, Any, _T]) -> _T:
        """See `BlockingFace.wait`."""
        return self._owner.wait(work)

    def begin(self, work: Coroutine[Any, Any, _T]) -> Future[_T]:
        """See `BlockingFace.begin`."""
        return self._owner.begin(work)


def _run(loop: asyncio.AbstractEventLoop, ending: asyncio.Event) -> None:
    """Run the loop until `ending` is set, then cancel the remaining tasks."""

    async def live() -> None:
        await ending.wait()
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await loop.shutdown_asyncgens()

    try:
        loop.run_until_complete(live())
    finally:
        loop.close()


def _drop(
    loop: asyncio.AbstractEventLoop,
    ending: asyncio.Event,
    close: Callable[[], Coroutine[Any, Any, None]] | None,
) -> None:
    """End the thread of an object that was garbage-collected, without waiting for it."""

    def begin() -> None:
        if close is None:
            ending.set()
        else:
            loop.create_task(close()).add_done_callback(lambda _: ending.set())

    with suppress(RuntimeError):
        loop.call_soon_threadsafe(begin)


def blocking(
    method: Callable[Concatenate[Any, _P], Coroutine[Any, Any, _T]],
) -> Callable[Concatenate[BlockingFace, _P], _T]:
    """Return the blocking counterpart of an asynchronous method."""

    @wraps(method)
    def call(self: BlockingFace, /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        return self.wait(method(self.core, *args, **kwargs))

    return call


def blocking_iterator(
    method: Callable[Concatenate[Any, _P], AsyncGenerator[_T, None]],
) -> Callable[Concatenate[BlockingFace, _P], Generator[_T, None, None]]:
    """Return the blocking counterpart of an asynchronous generator.

    Items that are already available are passed between threads together, at most 100; the caller
    gets each one as soon as it is available, and the next ones are fetched meanwhile. Leaving a
    loop early closes the generator.
    """

    @wraps(method)
    def call(
        self: BlockingFace, /, *args: _P.args, **kwargs: _P.kwargs
    ) -> Generator[_T, None, None]:
        ahead = _Drawn(method(self.core, *args, **kwargs))
        try:
            while ready := self.wait(ahead.some()):
                yield from ready
        finally:
            self.leave(ahead.end())

    return call


def of_catalog(
    function: Callable[Concatenate[Any, _P], Coroutine[Any, Any, _T]],
) -> Callable[Concatenate[Any, _P], Coroutine[Any, Any, _T]]:
    """Return a method that calls the function with the `_catalog` of its object as the first
    argument."""

    @wraps(function)
    async def call(self: Any, /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        return await function(self._catalog, *args, **kwargs)

    return call


def plain(
    method: Callable[Concatenate[Any, _P], _T],
) -> Callable[Concatenate[BlockingFace, _P], _T]:
    """Return the counterpart of a method that is not asynchronous."""

    @wraps(method)
    def call(self: BlockingFace, /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        return method(self.core, *args, **kwargs)

    return call


class _Drawn(Generic[_T]):
    """The items of an asynchronous generator, all of which are read by one task.

    It must be one task, because timeouts inside the generator belong to the task in which they
    began.
    """

    def __init__(self, source: AsyncGenerator[_T, None]) -> None:
        self._source = source
        self._ready: list[_T] = []
        self._wanted = False
        self._has_items = asyncio.Event()
        self._more = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def some(self) -> list[_T]:
        """Return the available items; an empty list after the last one. Raises the generator's
        error."""
        if self._task is None:
            self._task = asyncio.create_task(self._draw())
        if not self._ready and not self._task.done():
            self._wanted = True
            self._has_items.clear()
            self._more.set()
            try:
                # The first item sets the event, but the task continues until it has to wait.
                await self._has_items.wait()
            finally:
                self._wanted = False
        ready, self._ready = self._ready, []
        if not ready:
            await self._task
        return ready

    async def end(self) -> None:
        """Cancel the reading task, which closes the generator."""
        if self._task is not None:
            self._task.cancel()
            # An error raised meanwhile is dropped, because no one reads the items any more.
            await asyncio.gather(self._task, return_exceptions=True)

    async def _draw(self) -> None:
        try:
            async for entry in self._source:
                self._ready.append(entry)
                self._has_items.set()
                if not self._wanted or len(self._ready) >= _HANDFUL:
                    self._more.clear()
                    await self._more.wait()
        finally:
            self._has_items.set()
            await self._source.aclose()
