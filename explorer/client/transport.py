"""What carries a request to a server; anything with `send` and `close` may stand in."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple, Protocol, runtime_checkable

from explorer.client.requests.request import Request
from explorer.errors import Unreachable

__all__ = ["Answer", "NeverSent", "Streamed", "Streaming", "Transport"]

_NONE: Mapping[str, str] = MappingProxyType({})


class Answer(NamedTuple):
    """A whole answer. The names of its headers are in lower case."""

    status: int
    body: bytes
    headers: Mapping[str, str] = _NONE


@dataclass(frozen=True, slots=True)
class Streamed:
    """An answer that is still coming: its pieces as they come, cut anywhere."""

    status: int
    headers: Mapping[str, str]
    pieces: AsyncIterator[bytes]


class Transport(Protocol):
    """What carries a request to a server."""

    async def send(self, request: Request) -> Answer | tuple[int, bytes]:
        """The answer, or no more than its status and body; raises `Unreachable` where none came."""
        ...

    async def close(self) -> None:
        """Hang up."""
        ...


@runtime_checkable
class Streaming(Protocol):
    """What a transport may be able to do beside."""

    def stream(self, request: Request) -> AbstractAsyncContextManager[Streamed]:
        """The answer as it comes; leaving the context hangs up. Raises `Unreachable`, also in the
        middle."""
        ...


class NeverSent(Unreachable):
    """Nobody listens there: the request never left, so any request may be tried again."""
