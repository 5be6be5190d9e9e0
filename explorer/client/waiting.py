"""The way from asynchronous methods to those of code that waits: scripts, notebooks, commands.

Every call runs on a loop of the client's own, in a thread of its own, so it works inside a
notebook, whose loop is always running, as well as outside one. A blocking face is a list of
methods, each made from its asynchronous twin with its parameters, types and documentation.
"""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from explorer.errors import Unusable

__all__ = ["Waiting", "iterated", "waited"]

_P = ParamSpec("_P")
_T = TypeVar("_T")

_GRACE_SECONDS = 2.0


class Waiting:
    """Something asynchronous, `core`, and the thread that runs it."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._loop.run_forever, name="catalog-client", daemon=True
        )
        self._thread.start()

    @property
    def core(self) -> Any:
        """What the methods are run on."""
        raise NotImplementedError

    def wait(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Run on the client's thread, and return or raise what comes of it.

        An interrupt of the waiting cancels the work, and waits for it to have hung up. Raises
        `Unusable` when the client is closed, before or meanwhile.
        """
        ended = threading.Event()
        tasks: list[asyncio.Task[_T]] = []

        def start() -> None:
            tasks.append(self._loop.create_task(work))
            tasks[0].add_done_callback(lambda _: ended.set())

        def stop() -> None:
            tasks[0].cancel()

        try:
            self._loop.call_soon_threadsafe(start)
        except RuntimeError:
            work.close()
            raise Unusable("this client is closed; make another one") from None
        try:
            ended.wait()
        except BaseException:
            self._loop.call_soon_threadsafe(stop)
            ended.wait(_GRACE_SECONDS)
            raise
        if tasks[0].cancelled():
            raise Unusable("the client was closed while it waited for an answer")
        return tasks[0].result()

    def _end(self) -> None:
        """End the thread; whoever still waits is told so, and waiting any more is an error."""

        async def finish() -> None:
            left = asyncio.all_tasks() - {asyncio.current_task()}
            for task in left:
                task.cancel()
            await asyncio.gather(*left, return_exceptions=True)
            await self._loop.shutdown_asyncgens()

        def begin() -> None:
            self._loop.create_task(finish()).add_done_callback(lambda _: self._loop.stop())

        self._loop.call_soon_threadsafe(begin)
        self._thread.join()
        self._loop.close()


def waited(
    method: Callable[Concatenate[Any, _P], Coroutine[Any, Any, _T]],
) -> Callable[Concatenate[Waiting, _P], _T]:
    """The blocking twin of an asynchronous method."""

    @wraps(method)
    def call(self: Waiting, /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        return self.wait(method(self.core, *args, **kwargs))

    return call


def iterated(
    method: Callable[Concatenate[Any, _P], AsyncIterator[_T]],
) -> Callable[Concatenate[Waiting, _P], Iterator[_T]]:
    """The blocking twin of a method that gives one thing after another. Leaving early ends it."""

    @wraps(method)
    def call(self: Waiting, /, *args: _P.args, **kwargs: _P.kwargs) -> Iterator[_T]:
        source = method(self.core, *args, **kwargs)
        try:
            while True:
                try:
                    yield self.wait(_next(source))
                except StopAsyncIteration:
                    return
        finally:
            close = getattr(source, "aclose", None)
            if close is not None:
                self.wait(close())

    return call


async def _next(source: AsyncIterator[_T]) -> _T:
    return await anext(source)
