"""What carries a request to a server; anything with these two methods may stand in."""

from typing import Protocol

from explorer.client.requests import Request
from explorer.errors import Unreachable

__all__ = ["NeverSent", "Transport"]


class Transport(Protocol):
    """What carries a request to a server."""

    async def send(self, request: Request) -> tuple[int, bytes]:
        """The status and body of the answer; raises `Unreachable` where none came."""
        ...

    async def close(self) -> None:
        """Hang up."""
        ...


class NeverSent(Unreachable):
    """Nobody listens there: the request never left, so any request may be tried again."""
