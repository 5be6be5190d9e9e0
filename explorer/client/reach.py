"""The way to one server: made when first needed, and anew when the embedded catalog moved."""

import asyncio
import os
from pathlib import Path
from urllib.parse import urlsplit

from explorer.client.address import UNIX, base_of
from explorer.client.transport import Transport
from explorer.errors import Unusable

__all__ = ["Reach", "proxy_of"]


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
        proxy = None if self.address.startswith(UNIX) else proxy_of(self.address)
        # In a thread: importing httpx and loading certificates take a while.
        return await asyncio.to_thread(_http, self.address, self._timeout_seconds, proxy)


def proxy_of(address: str) -> str | None:
    """The proxy that the environment names for an http or https address: `HTTP_PROXY`,
    `HTTPS_PROXY` or `ALL_PROXY`, in either case, except for the hosts in `NO_PROXY`."""
    if not any(name.lower().endswith("_proxy") for name in os.environ):
        return None
    from urllib.request import getproxies_environment, proxy_bypass

    parts = urlsplit(base_of(address))
    proxies = getproxies_environment()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    place = parts.netloc.rpartition("@")[2]
    if not proxy or proxy_bypass(place) or proxy_bypass(parts.hostname or ""):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


def _http(address: str, timeout_seconds: float, proxy: str | None) -> Transport:
    from explorer.client.http import HttpTransport

    return HttpTransport(address, timeout_seconds, proxy=proxy)
