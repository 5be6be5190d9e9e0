"""The client: a catalog's server as an object with a method for everything one asks of it."""

from collections.abc import Callable
from datetime import datetime
from os import PathLike
from types import TracebackType
from typing import Any, Self

from explorer.client.connection import Connection
from explorer.client.exchange import Watching
from explorer.client.keeping import Offline
from explorer.client.parts.completing import CompletionMethods
from explorer.client.parts.following import ChangeLogMethods
from explorer.client.parts.history import HistoryMethods
from explorer.client.parts.stewardship import CoverageMethods
from explorer.client.parts.undoing import UndoMethods
from explorer.client.retry import Retry
from explorer.client.secret import Secret
from explorer.client.transport import Transport

__all__ = ["AsyncCatalog"]


class AsyncCatalog(
    CompletionMethods, CoverageMethods, HistoryMethods, UndoMethods, ChangeLogMethods
):
    """A catalog, asked asynchronously.

    `url` names a server (`http://host:8080`), `profile` one of the profiles, `data_dir` an
    embedded catalog; without any the environment and the current profile do, and without these
    the embedded catalog of this machine is found or started. Nothing is sent before the first
    question. A URN may be given as text wherever one is asked for.

    `token` is shown to the server as it asks for it. `timeout_seconds` bounds one answer from its
    first byte to its last, 30 unless the profile says otherwise; `retry` says how often what may
    be sent again is. With `read_only` nothing is ever written. `offline` says whether answers are
    kept, and given when the server gives none. `transport` carries the requests in place of the
    network.

    Every method raises `Unreachable` when no answer came (`TimedOut` when it took too long, `Busy`
    when the server asked for a pause), `NotSignedIn` and `Forbidden` as they say, `ReadOnly` for a
    write where nothing is written, `InvalidInput` when the server cannot use what it was given,
    `ServerFault` when it failed, and of those `Unreadable` when what it said makes no sense.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        profile: str | None = None,
        token: str | Secret | None = None,
        data_dir: str | PathLike[str] | None = None,
        timeout_seconds: float | None = None,
        read_only: bool | None = None,
        offline: Offline = "off",
        retry: Retry | None = None,
        transport: Transport | None = None,
    ) -> None:
        # In the variable's own place, so that no trace of this call shows it.
        token = Secret.of(token)
        connection = Connection(
            url,
            profile=profile,
            token=token,
            data_dir=data_dir,
            timeout_seconds=timeout_seconds,
            read_only=read_only,
            offline=offline,
            retry=retry,
            transport=transport,
        )
        super().__init__(connection)

    def __repr__(self) -> str:
        # Also of one that could not be made, in the trace that tells why.
        connection = getattr(self, "_connection", None)
        return f"AsyncCatalog({connection.address!r})" if connection else "AsyncCatalog()"

    def __getstate__(self) -> dict[str, Any]:
        # A pickle holds what opens the same catalog again; a token that was given is not in it.
        return self._connection.options()

    def __setstate__(self, options: dict[str, Any]) -> None:
        self.__init__(**options)  # type: ignore[misc]

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        # What was read with it is copied; the connection is shared.
        return self

    def __copy__(self) -> Self:
        return self

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

    def watch(self, told: Watching | None) -> None:
        """Have `told` called with every exchange as it ends, on the client's own thread; None
        ends that. A request that is tried again is told of each time.

        Example: `cat.watch(lambda exchange: print(exchange.seconds))`
        """
        self._connection.watching = told

    def on_warning(self, told: Callable[[str], None]) -> None:
        """Have `told` called, on the client's own thread, with each sentence of warning in place of
        `warnings.warn`: that a token goes over plain HTTP to another machine, which is told once,
        and that edits cannot be written down.

        Example: `cat.on_warning(print)`
        """
        self._connection.warned = told

    @property
    def embedded(self) -> bool:
        """Whether this is the catalog of this machine rather than a named server."""
        return self._connection.embedded

    @property
    def address(self) -> str:
        """Where the server answers; empty before the embedded catalog was first asked."""
        return self._connection.address

    @property
    def identity(self) -> str:
        """What tells this server from others wherever something is kept for it: equal for two
        clients only if they ask the same catalog. Empty for one in this process."""
        return self._connection.identity

    @property
    def read_only(self) -> bool:
        """Whether nothing is ever written here; every write is refused before it is sent."""
        return self._connection.read_only

    @property
    def is_offline(self) -> bool:
        """Whether only kept answers are given, and no server is asked: `offline="only"`."""
        return self._connection.is_offline

    @property
    def as_of(self) -> datetime | None:
        """How old what is shown may be: when the oldest of the kept answers was kept that were
        given since the server last answered. None when the last answer was the server's."""
        return self._connection.as_of
