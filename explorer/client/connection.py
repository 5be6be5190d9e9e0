"""One server, connected to when first needed: named by its address, or the embedded catalog."""

import asyncio
from pathlib import Path
from typing import Any

import orjson

from explorer import config
from explorer.client import failures
from explorer.client.requests import Request
from explorer.client.transport import NeverSent, Transport
from explorer.errors import ServerFault, Unreachable

__all__ = ["Connection"]

_MAX_AT_ONCE = 8


class Connection:
    """Carries requests to one server and gives back what it answered, as JSON.

    With no address the embedded catalog is found, or started; when it went away because nobody
    used it for a while, it is started again and the request is sent to it.
    """

    def __init__(
        self,
        address: str | None = None,
        *,
        token: str | None = None,
        data_dir: Path | None = None,
        timeout_seconds: float = 30.0,
        transport: Transport | None = None,
    ) -> None:
        named = address or (None if data_dir or transport else config.server_url())
        self._data_dir = None if named or transport else (data_dir or config.data_dir())
        self._token = token or config.token()
        self._timeout_seconds = timeout_seconds
        self._transport = transport
        self._opening = asyncio.Lock()
        self._turns = asyncio.Semaphore(_MAX_AT_ONCE)
        self.address = named or ("in process" if transport else "")

    @property
    def embedded(self) -> bool:
        """Whether this is the catalog of this machine, started when needed."""
        return self._data_dir is not None

    async def send(self, request: Request) -> Any:
        """The answer's JSON, nothing for an empty one.

        Tries once more where that is safe: when the request never left, or when sending it twice
        does what sending it once does. Raises the error that says what to do.
        """
        async with self._turns:
            transport = await self._open()
            try:
                status, body = await transport.send(request)
            except Unreachable as error:
                if not (isinstance(error, NeverSent) or request.repeatable):
                    raise
                transport = await self._open(instead_of=transport)
                status, body = await transport.send(request)
        if not 200 <= status < 300:
            raise failures.from_answer(status, body)
        if not body:
            return None
        try:
            return orjson.loads(body)
        except orjson.JSONDecodeError as error:
            raise ServerFault(f"{self.address} answered with something that is not JSON") from error

    async def close(self) -> None:
        """Hang up; the embedded catalog goes on for others."""
        if self._transport is not None:
            await self._transport.close()

    async def _open(self, instead_of: Transport | None = None) -> Transport:
        """The transport in use, made when there is none.

        `instead_of` names one that failed: the embedded catalog is then looked for anew, since it
        may have gone away and come back elsewhere.
        """
        async with self._opening:
            if instead_of is not None and self._transport is instead_of and self.embedded:
                self._transport = None
                await instead_of.close()
            if self._transport is None:
                if self._data_dir is not None:
                    self.address = await _find(self._data_dir)
                self._transport = await asyncio.to_thread(self._over_http)
            return self._transport

    def _over_http(self) -> Transport:
        from explorer.client.http import HttpTransport

        return HttpTransport(self.address, self._token, self._timeout_seconds)


async def _find(data_dir: Path) -> str:
    from explorer import instance

    return (await asyncio.to_thread(instance.ensure, data_dir)).address
