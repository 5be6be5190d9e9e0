"""Working offline: what a server answered is kept, and given when it does not answer."""

import asyncio
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, get_args

from explorer import config
from explorer.client.requests.request import Request
from explorer.errors import InvalidInput

if TYPE_CHECKING:
    from explorer.client.cache import Kept

__all__ = ["Keeping", "Offline", "Reply", "check_offline"]

Offline = Literal["off", "keep", "fallback", "only"]
"""Whether answers are kept and used: `off` neither; `keep` keeps them; `fallback` keeps them, and
gives them when the server does not answer; `only` gives what is kept and asks nobody."""


def check_offline(mode: object) -> None:
    """Raise `InvalidInput` for what is none of `Offline`, naming them."""
    if mode not in get_args(Offline):
        known = ", ".join(map(repr, get_args(Offline)))
        raise InvalidInput(f"offline is one of {known}, not {mode!r}")


@dataclass(frozen=True, slots=True)
class Reply:
    """What was answered: JSON, or None for an empty answer. `as_of` is None for an answer of the
    server's, and when it was kept for one that was kept."""

    body: Any
    as_of: datetime | None = None


class Keeping:
    """The kept answers of one server, and how old those are that were given."""

    def __init__(self, mode: Offline, server: str) -> None:
        self._mode = mode
        self._server = server
        self._kept: Kept | None = None
        self._opening = asyncio.Lock()
        self._under_way: set[asyncio.Task[None]] = set()
        self.as_of: datetime | None = None

    @property
    def is_offline(self) -> bool:
        """Whether nothing goes over the network."""
        return self._mode == "only"

    @property
    def falls_back(self) -> bool:
        """Whether a kept answer stands in for one that does not come."""
        return self._mode == "fallback"

    async def find(self, request: Request) -> tuple[bytes, datetime] | None:
        """The kept answer, and when it was given; notes its age."""
        if request.writes or self._mode == "off":
            return None
        found = await asyncio.to_thread((await self._open()).get, request)
        if found is not None:
            self.as_of = found[1] if self.as_of is None else min(self.as_of, found[1])
        return found

    def answered(self, request: Request, body: bytes) -> None:
        """Told of an answer of the server's: keeps it in the background, failing nobody."""
        self.as_of = None
        if self._mode == "off" or request.writes:
            return
        task = asyncio.create_task(self._keep(request, body))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def close(self) -> None:
        """End, once what is under way is kept."""
        if self._under_way:
            await asyncio.wait(set(self._under_way))
        if self._kept is not None:
            await asyncio.to_thread(self._kept.close)
            self._kept = None

    async def _keep(self, request: Request, body: bytes) -> None:
        await asyncio.to_thread((await self._open()).put, request, body)

    async def _open(self) -> "Kept":
        async with self._opening:
            if self._kept is None:
                from explorer.client.cache import Kept

                self._kept = await asyncio.to_thread(Kept, config.cache_dir(), self._server)
            return self._kept
