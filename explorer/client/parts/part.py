"""What every group of the client's methods stands on."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

from explorer.client.abilities import Abilities
from explorer.client.connection import Connection
from explorer.client.latest import Latest
from explorer.metadata.registry import Registry, load_registry

__all__ = ["Part", "in_chunks"]

_T = TypeVar("_T")


class Part:
    """A group of methods over one connection; `AsyncCatalog` is all of them together."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._latest = Latest()

    @property
    def registry(self) -> Registry:
        """The vocabulary this client knows."""
        return load_registry()

    async def abilities(self) -> Abilities:
        """What the server can do beside what every one does. One request, the first time."""
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
