"""What every group of the client's methods stands on."""

import asyncio
from collections.abc import Coroutine, Iterable, Iterator
from itertools import islice
from typing import Any, TypeVar

from explorer.client.abilities import Abilities
from explorer.client.connection import Connection
from explorer.client.latest import Latest
from explorer.metadata.registry import Registry, load_registry

__all__ = ["CatalogMethods", "in_chunks", "together"]

_T = TypeVar("_T")


class CatalogMethods:
    """A group of methods over one connection; `AsyncCatalog` is all of them together."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._latest = Latest()

    @property
    def registry(self) -> Registry:
        """The vocabulary this client knows."""
        return load_registry()

    async def abilities(self) -> Abilities:
        """What the server can do beside what every one does. One request, the first time.

        Example: `cat.abilities()`
        """
        return await self._connection.abilities()

    async def _offers(self, type_name: str, field: str) -> bool:
        """Whether a type of the server's GraphQL schema (`Mutation`, `Query`, `Dataset`) has a
        field; yes where the server does not tell. One request a type, the first time."""
        return await self._connection.offers(type_name, field)


def in_chunks(items: Iterable[_T], size: int) -> Iterator[list[_T]]:
    """The items in order, `size` at a time; the last list may be shorter."""
    source = iter(items)
    while chunk := list(islice(source, size)):
        yield chunk


async def together(work: Iterable[Coroutine[Any, Any, _T]], at_once: int) -> list[_T]:
    """What all of it gives, in order, so many at a time. The first failure ends the rest, which is
    over when this raises."""
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
        # Those that never had their turn.
        for part in parts:
            part.close()
    return [task.result() for task in tasks]
