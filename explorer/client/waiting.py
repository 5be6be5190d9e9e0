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

__all__ = ["Waiting", "iterated", "waited"]

_P = ParamSpec("_P")
_T = TypeVar("_T")


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
        """Run on the client's thread, and return or raise what comes of it. An interrupt of the
        waiting cancels the work."""
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def _end(self) -> None:
        """End the thread; waiting any more is an error."""
        self._loop.call_soon_threadsafe(self._loop.stop)
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
