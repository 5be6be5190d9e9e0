"""The way to one server: made when first needed, and anew when the embedded catalog moved."""

import asyncio
from pathlib import Path

from explorer.client.address import UNIX
from explorer.client.transport import Transport
from explorer.errors import Unusable

__all__ = ["Reach"]


class Reach:
    """The transport in use. With `data_dir` the embedded catalog there is found, or started."""

    def __init__(
        self,
        address: str,
        data_dir: Path | None,
        timeout_seconds: float,
        transport: Transport | None,
    ) -> None:
        self.address = address
        self.embedded = data_dir is not None
        self._data_dir = data_dir
        self._timeout_seconds = timeout_seconds
        self._transport = transport
        self._opening = asyncio.Lock()
        self._closed = False

    async def open(self, instead_of: Transport | None = None) -> Transport:
        """The transport, made when there is none.

        `instead_of` names one that failed: the embedded catalog is then looked for anew, since it
        may have gone away and come back elsewhere. Raises what starting it raises, and `Unusable`
        once it was closed.
        """
        self._check_open()
        if self._transport is not None and instead_of is None:
            return self._transport
        async with self._opening:
            self._check_open()
            if self._transport is None or (self.embedded and self._transport is instead_of):
                await self._renew()
            if self._transport is None:
                self._transport = await self._made()
            return self._transport

    async def close(self) -> None:
        """Hang up; the embedded catalog goes on for others."""
        self._closed = True
        async with self._opening:
            if self._transport is not None:
                await self._transport.close()

    def _check_open(self) -> None:
        if self._closed:
            raise Unusable("this client is closed; make another one")

    async def _renew(self) -> None:
        if self._data_dir is None:
            return
        from explorer import instance

        found = (await asyncio.to_thread(instance.ensure, self._data_dir)).address
        if found != self.address and self._transport is not None:
            # Whoever still waits there waits for nothing.
            await self._transport.close()
            self._transport = None
        self.address = found

    async def _made(self) -> Transport:
        if self.address.startswith((UNIX, "http://")):
            from explorer.client.plain import PlainTransport

            return PlainTransport(self.address, self._timeout_seconds)
        # Beside the loop: the import and the certificates take a while.
        return await asyncio.to_thread(_encrypted, self.address, self._timeout_seconds)


def _encrypted(address: str, timeout_seconds: float) -> Transport:
    from explorer.client.http import HttpTransport

    return HttpTransport(address, timeout_seconds)
