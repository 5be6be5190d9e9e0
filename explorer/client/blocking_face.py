"""Blocking methods made of asynchronous ones, which run on a loop in a thread of its own.

Every call runs on a loop of the client's own, in a thread of its own, so it works inside a
notebook, whose loop is always running, as well as outside one. A blocking face is a list of
methods, each made from its asynchronous twin with its parameters, types and documentation.
"""

import asyncio
import os
import threading
import weakref
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import suppress
from functools import wraps
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

from explorer.errors import Misuse

__all__ = ["BlockingFace", "blocking", "blocking_iterator", "plain"]

_P = ParamSpec("_P")
_T = TypeVar("_T")

_GRACE_SECONDS = 2.0
_HANDFUL = 100


class BlockingFace:
    """Something asynchronous, `core`, and the thread that runs it."""

    def __init__(self, close: Callable[[], Coroutine[Any, Any, None]] | None = None) -> None:
        """`close` is run for one that is dropped and was never closed; it may not know it."""
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
        """What the methods are run on."""
        raise NotImplementedError

    def wait(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Run on the client's thread, and return or raise what comes of it.

        An interrupt of the waiting cancels the work, and waits for it to have hung up. Raises
        `Misuse` when the client is closed, before or meanwhile, and where waiting would never
        end: on the client's own thread, and in a process that was forked off.

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
            tasks.append(self._loop.create_task(work))
            tasks[0].add_done_callback(lambda _: ended.set())

        def stop() -> None:
            for task in tasks:
                task.cancel()

        # Known before it is begun, so that whoever ends the thread wakes it.
        self._waiters.add(ended)
        try:
            self._loop.call_soon_threadsafe(start)
            ended.wait()
        except RuntimeError:
            work.close()
            raise Misuse("this client is closed; make another one") from None
        except BaseException:
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(stop)
                ended.wait(_GRACE_SECONDS)
            raise
        finally:
            self._waiters.discard(ended)
        if not tasks or not tasks[0].done() or tasks[0].cancelled():
            work.close()
            raise Misuse("the client was closed while it waited for an answer")
        return tasks[0].result()

    def _hindrance(self) -> str | None:
        """Why nothing can be waited for here."""
        if os.getpid() != self._process:
            return "this client belongs to the process that made it; make another one here"
        if threading.current_thread() is self._thread:
            return (
                "the client's own thread cannot wait for itself; take everything out of the "
                "client first, as with list(…), and give it that"
            )
        return None

    def leave(self, work: Coroutine[Any, Any, None]) -> None:
        """Wait for what ends an iteration, where that is possible. With a closed client it has
        ended already; and the garbage collector may end it on any thread, the client's own too."""
        if threading.current_thread() is self._thread and os.getpid() == self._process:
            self._loop.create_task(work)
            return
        with suppress(Misuse):
            self.wait(work)

    def _end(self) -> None:
        """End the thread; whoever still waits is told so, and waiting any more is an error."""
        if os.getpid() != self._process:
            return
        self._dropped.detach()
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._ending.set)
        self._thread.join()
        for ended in tuple(self._waiters):
            ended.set()


def _run(loop: asyncio.AbstractEventLoop, ending: asyncio.Event) -> None:
    """What the thread does."""

    async def live() -> None:
        await ending.wait()
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
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
    """End the thread of one that nobody has any more; waits for nothing."""

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
    """The blocking twin of an asynchronous method."""

    @wraps(method)
    def call(self: BlockingFace, /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        return self.wait(method(self.core, *args, **kwargs))

    return call


def blocking_iterator(
    method: Callable[Concatenate[Any, _P], AsyncIterator[_T]],
) -> Callable[Concatenate[BlockingFace, _P], Iterator[_T]]:
    """The blocking twin of a method that gives one thing after another. Leaving early ends it.

    What is there already is handed over together, up to a hundred, and what is not is waited for:
    each thing is given as soon as it has come. While one is used, the next is asked for.
    """

    @wraps(method)
    def call(self: BlockingFace, /, *args: _P.args, **kwargs: _P.kwargs) -> Iterator[_T]:
        drawn = _Drawn(method(self.core, *args, **kwargs))
        try:
            while ready := self.wait(drawn.some()):
                yield from ready
        finally:
            self.leave(drawn.end())

    return call


def plain(
    method: Callable[Concatenate[Any, _P], _T],
) -> Callable[Concatenate[BlockingFace, _P], _T]:
    """Return the twin of a method that is not asynchronous."""

    @wraps(method)
    def call(self: BlockingFace, /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        return method(self.core, *args, **kwargs)

    return call


class _Drawn(Generic[_T]):
    """What an asynchronous iterator gives, drawn by a task of its own from first to last, for
    time limits inside it belong to the task that they began in."""

    def __init__(self, source: AsyncIterator[_T]) -> None:
        self._source = source
        self._ready: list[_T] = []
        self._wanted = False
        self._came = asyncio.Event()
        self._more = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def some(self) -> list[_T]:
        """The next few, at least one; none after the last. Raises what the source raised."""
        if self._task is None:
            self._task = asyncio.create_task(self._draw())
        if not self._ready and not self._task.done():
            self._wanted = True
            self._came.clear()
            self._more.set()
            try:
                # The first that comes wakes this up, but only once the task waits for something:
                # until then it goes on to draw.
                await self._came.wait()
            finally:
                self._wanted = False
        ready, self._ready = self._ready, []
        if not ready:
            await self._task
        return ready

    async def end(self) -> None:
        """Call off what is being waited for, and close the source."""
        if self._task is not None:
            self._task.cancel()
            # Also what it failed with meanwhile, which nobody wants to know any more.
            await asyncio.gather(self._task, return_exceptions=True)

    async def _draw(self) -> None:
        try:
            async for one in self._source:
                self._ready.append(one)
                self._came.set()
                if not self._wanted or len(self._ready) >= _HANDFUL:
                    self._more.clear()
                    await self._more.wait()
        finally:
            self._came.set()
            close = getattr(self._source, "aclose", None)
            if close is not None:
                await close()
