"""The base class of the client's methods, and running many requests at a time."""

import asyncio
from collections.abc import Coroutine, Iterable, Iterator
from itertools import islice
from typing import Any, TypeVar

from explorer.client.connection import Abilities, Connection
from explorer.errors import Superseded
from explorer.metadata.registry import Registry, load_registry

__all__ = ["CatalogMethods", "LatestOnly", "gather_limited", "in_chunks"]

_T = TypeVar("_T")


class LatestOnly:
    """Requests in progress, one for each key: a newer one cancels the older. Used from one event
    loop."""

    def __init__(self) -> None:
        self._running: dict[str, asyncio.Task[Any]] = {}

    async def run(self, key: str | None, work: Coroutine[Any, Any, _T]) -> _T:
        """Return the result of a coroutine, unless another one starts under the same key first.

        The other one cancels this request, and `Superseded` is raised here, in whichever order the
        answers come. Without a key nothing is superseded.
        """
        if key is None:
            return await work
        task = asyncio.ensure_future(work)
        older = self._running.get(key)
        self._running[key] = task
        if older is not None:
            older.cancel()
        try:
            await asyncio.wait((task,))
        except asyncio.CancelledError:
            # Awaited, so that its slot and connection are free when this returns.
            task.cancel()
            await asyncio.wait((task,))
            raise
        finally:
            is_last = self._running.get(key) is task
            if is_last:
                del self._running[key]
        if not is_last:
            if not task.cancelled():
                # Retrieved, or asyncio would report an error that concerns no one any more.
                task.exception()
            raise Superseded("a later question took this one's place; nothing is to be done")
        return task.result()


class CatalogMethods:
    """A group of methods over one connection; `AsyncCatalog` is all of them together."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._latest = LatestOnly()

    @property
    def registry(self) -> Registry:
        """The vocabulary this client knows."""
        return load_registry()

    async def abilities(self) -> Abilities:
        """Return the optional capabilities of the server. One request, the first time.

        Example: `cat.abilities()`
        """
        return await self._connection.abilities()

    async def _offers(self, type_name: str, field: str) -> bool:
        """Return whether a type of the server's GraphQL schema (`Mutation`, `Query`, `Dataset`) has
        a field; true where the server does not tell. One request a type, the first time."""
        return await self._connection.offers(type_name, field)


def in_chunks(items: Iterable[_T], size: int) -> Iterator[list[_T]]:
    """Yield the items in order in lists of `size`; the last may be shorter."""
    source = iter(items)
    while chunk := list(islice(source, size)):
        yield chunk


async def gather_limited(work: Iterable[Coroutine[Any, Any, _T]], at_once: int) -> list[_T]:
    """Run coroutines, `at_once` at a time, and return their results in order. The first failure
    cancels the rest, which have ended when this raises."""
    turns = asyncio.Semaphore(at_once)

    async def one(part: Coroutine[Any, Any, _T]) -> _T:
        async with turns:
            return await part

    parts = list(work)
    if len(parts) == 1:
        return [await parts[0]]
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(part)) for part in parts]
    except BaseExceptionGroup as failures:
        raise failures.exceptions[0] from None
    finally:
        # Those that never started.
        for part in parts:
            part.close()
    return [task.result() for task in tasks]
