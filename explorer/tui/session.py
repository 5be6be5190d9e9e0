"""What the screens share: the catalog they ask, and the one way in which trouble is told."""

import asyncio
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Protocol

from explorer import config
from explorer.errors import CatalogError, Unreachable, Unusable

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog

__all__ = ["Say", "Session"]


class Say(Protocol):
    """Shows one sentence to the reader."""

    def __call__(self, message: str, *, error: bool = False) -> None:
        """Show it, loudly when it is an error."""
        ...


class Session:
    """One run of the terminal against one server.

    `say` shows a sentence; `heard` is told after every question whether there was an answer.
    """

    def __init__(
        self,
        make: Callable[[], "AsyncCatalog"],
        say: Say,
        heard: Callable[[bool], None],
    ) -> None:
        self._make = make
        self._catalog: AsyncCatalog | None = None
        self._opening = asyncio.Lock()
        self._heard = heard
        self.say = say

    async def catalog(self) -> "AsyncCatalog":
        """The client, made when first asked for: its import is not paid before the first frame."""
        async with self._opening:
            if self._catalog is None:
                self._catalog = await asyncio.to_thread(self._make)
            return self._catalog

    @property
    def read_only(self) -> bool:
        """Whether nothing is written through this client."""
        return self._catalog is not None and self._catalog.read_only

    async def close(self) -> None:
        """Hang up."""
        if self._catalog is not None:
            await self._catalog.close()

    @contextmanager
    def reporting(self, doing: str) -> Iterator[None]:
        """Tell what went wrong in one sentence and go on; `doing` says what was being tried.

        This is the edge of every worker: an error of ours is shown in its own words, any other
        leaves its trace in the log file, which the sentence names.
        """
        try:
            yield
            self._heard(True)
        except CatalogError as error:
            self._heard(not isinstance(error, Unreachable | Unusable))
            self.say(f"{error}", error=True)
        except Exception:
            kept = _keep_trace(doing)
            self.say(f"Something went wrong while {doing}; {kept}", error=True)


def _keep_trace(doing: str) -> str:
    """Write the trace of the error at hand to the log file; says where it is."""
    path = config.state_dir() / "catalog-tui.log"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as log:
            log.write(f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC while {doing}\n")
            log.write(traceback.format_exc())
    except OSError as error:
        return f"its trace could not be kept in {path} ({error.strerror})"
    return f"the trace is in {path}"
