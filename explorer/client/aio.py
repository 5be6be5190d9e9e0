"""The client: a catalog's server as an object with a method for everything one asks of it."""

from pathlib import Path
from types import TracebackType
from typing import Self

from explorer.client.connection import Connection
from explorer.client.parts import Editing, Finding, Reading, Relating, Writing
from explorer.client.transport import Transport

__all__ = ["AsyncCatalog"]


class AsyncCatalog(Finding, Reading, Relating, Writing, Editing):
    """A catalog, asked asynchronously.

    `url` names a server (`http://host:8080`); without one the environment's `CATALOG_URL` does,
    and without that the embedded catalog of this machine is found or started. Nothing is sent
    before the first question. A URN may be given as text wherever one is asked for.

    Every method raises `Unreachable` when no answer came, `NotSignedIn` and `Forbidden` as they
    say, `InvalidInput` when the server cannot use what it was given, `ServerFault` when it failed.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        token: str | None = None,
        data_dir: Path | None = None,
        timeout_seconds: float = 30.0,
        transport: Transport | None = None,
    ) -> None:
        connection = Connection(
            url,
            token=token,
            data_dir=data_dir,
            timeout_seconds=timeout_seconds,
            transport=transport,
        )
        super().__init__(connection)

    def __repr__(self) -> str:
        return f"AsyncCatalog({self.address!r})"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Hang up. The embedded catalog goes on for others, and away when nobody asks it."""
        await self._connection.close()

    @property
    def embedded(self) -> bool:
        """Whether this is the catalog of this machine rather than a named server."""
        return self._connection.embedded

    @property
    def address(self) -> str:
        """Where the server answers; empty before the embedded catalog was first asked."""
        return self._connection.address
