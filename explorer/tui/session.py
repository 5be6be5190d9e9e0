"""What the screens share: the catalog they ask, how it answers, and the one way in which trouble
is told."""

import asyncio
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal, Protocol

from explorer import config
from explorer.errors import CatalogError, NotSignedIn, Unreachable, Unusable
from explorer.metadata.registry import load_registry
from explorer.tui.content import line
from explorer.tui.exchanges import Exchanges
from explorer.tui.times import Times

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog

__all__ = ["Contact", "Say", "Session", "Standing", "Where", "sentence_of"]

Contact = Literal["opening", "ready", "kept", "silent", "refused"]
"""How the server was last heard: not asked yet; it answered; what was kept of it answered; it did
not answer; it wants to know who asks."""

_READ_ONLY = "Nothing is written here: the server was opened to be read only."

Where = Callable[[str], bool]
"""Shows a sentence where the answer would have stood; gives whether it is to be seen there."""


class Say(Protocol):
    """Shows one sentence to the reader."""

    def __call__(self, message: str, *, error: bool = False) -> None:
        """Show it, loudly when it is an error."""
        ...


@dataclass(frozen=True, slots=True)
class Standing:
    """How the server was last heard; `as_of` is the age of what was kept of it."""

    contact: Contact = "opening"
    as_of: datetime | None = None


class Session:
    """One run of the terminal against one server at a time.

    `say` shows a sentence; `heard` is told when a question begins, and when the standing changed.
    """

    def __init__(
        self,
        make: Callable[[], "AsyncCatalog"],
        say: Say,
        heard: Callable[[], None],
        *,
        server: str = "",
        exchanges: Exchanges | None = None,
    ) -> None:
        self._make = make
        self._catalog: AsyncCatalog | None = None
        self._opening = asyncio.Lock()
        self._heard = heard
        self._asked_at: dict[int, float] = {}
        self._numbers = 0
        self._unread: dict[Where, Callable[[], object]] = {}
        self._asked_again: set[Where] = set()
        self.server = server
        """What tells this server from others wherever something is remembered of it."""
        self.standing = Standing()
        # One that is still empty counts as false.
        self.exchanges = Exchanges() if exchanges is None else exchanges
        self.say = say
        self.times = Times()
        self.drafts: frozenset[tuple[str, str | None]] = frozenset()
        """Of what there are drafts that no other program edits: URN, and field path or None."""

    async def catalog(self) -> "AsyncCatalog":
        """The client, made when first asked for: its import is not paid before the first frame."""
        async with self._opening:
            if self._catalog is None:
                self._catalog = await asyncio.to_thread(self._open)
                self._catalog.watch(self.exchanges.note)
                self._catalog.on_warning(self._warn)
                await self._keep_journal(self._catalog)
            return self._catalog

    def _warn(self, sentence: str) -> None:
        self.say(f"{sentence[0].upper()}{sentence[1:]}.", error=True)

    async def _keep_journal(self, catalog: "AsyncCatalog") -> None:
        """Have the client write every edit down. Where that cannot be, it is said, and edits are
        made all the same."""
        from explorer.client.journal import JOURNAL

        if catalog.read_only:
            return
        try:
            await catalog.keep_journal(config.state_dir() / JOURNAL)
        except Unusable as error:
            self.say(f"Changes cannot be taken back: {error}", error=True)

    def _open(self) -> "AsyncCatalog":
        """Make the client in a thread, and read there what it reads from disk when first used."""
        catalog = self._make()
        load_registry()
        return catalog

    def note_drafts(self, drafts: frozenset[tuple[str, str | None]]) -> None:
        """Have the screens say of what there are drafts."""
        self.drafts = drafts
        self._heard()

    @property
    def read_only(self) -> bool:
        """Whether nothing is written through this client."""
        return self._catalog is not None and self._catalog.read_only

    def refuses_to_write(self) -> bool:
        """Whether nothing is written through this client; where it is so, that is said."""
        if self.read_only:
            self.say(_READ_ONLY, error=True)
        return self.read_only

    @property
    def waiting_seconds(self) -> float | None:
        """For how long the oldest open question has waited for its answer."""
        if not self._asked_at:
            return None
        return time.monotonic() - min(self._asked_at.values())

    async def switch(self, make: Callable[[], "AsyncCatalog"], server: str) -> None:
        """Turn to another server; what was asked of this one is forgotten."""
        async with self._opening:
            previous, self._catalog = self._catalog, None
            self._make, self.server = make, server
        self._unread.clear()
        self._asked_again.clear()
        self.drafts = frozenset()
        self._stand(Standing())
        if previous is not None:
            await previous.close()

    async def close(self) -> None:
        """Hang up."""
        if self._catalog is not None:
            await self._catalog.close()
        await self.exchanges.close()

    @property
    def has_unanswered(self) -> bool:
        """Whether there is something to be asked again."""
        return bool(self._unread)

    def ask_again(self) -> bool:
        """Ask everything again that was not answered; gives whether there was anything."""
        unread, self._unread = self._unread, {}
        for again in unread.values():
            again()
        return bool(unread)

    @contextmanager
    def reporting(
        self,
        doing: str,
        where: Where | None = None,
        again: Callable[[], object] | None = None,
    ) -> Iterator[None]:
        """Tell what went wrong in one sentence and go on; `doing` says what was being tried.

        `where` shows the sentence in the place of the answer, and where it is seen nothing else
        does; `again` asks for it once more: when the reader wants it, and when a server that was
        silent is heard again.

        This is the edge of every worker: an error of ours is shown in its own words, any other
        leaves its trace in the log file, which the sentence names.
        """
        number = self._numbers = self._numbers + 1
        heard = self.exchanges.heard
        self._asked_at[number] = time.monotonic()
        self._heard()
        try:
            yield
            self._answered(where, heard)
        except CatalogError as error:
            self._stand(self._standing_after(error))
            self._failed(sentence_of(error), where, again)
        except Exception:
            kept = _keep_trace(doing)
            self._failed(f"Something went wrong while {doing}; {kept}", where, again)
        finally:
            del self._asked_at[number]
            self._heard()

    def _answered(self, where: Where | None, heard: int) -> None:
        if where is not None:
            self._unread.pop(where, None)
            self._asked_again.discard(where)
        as_of = None if self._catalog is None else self._catalog.as_of
        if as_of is not None:
            self._stand(Standing("kept", as_of))
        elif self.exchanges.heard > heard:
            self._stand(Standing("ready"))

    def _failed(
        self, sentence: str, where: Where | None, again: Callable[[], object] | None
    ) -> None:
        can_try_again = again is not None and not self._is_offline
        is_told = where is not None and where(
            f"{sentence} r tries again." if can_try_again else sentence
        )
        if not is_told:
            self.say(sentence, error=True)
        if where is not None and again is not None:
            self._unread[where] = again

    @property
    def _is_offline(self) -> bool:
        return self._catalog is not None and self._catalog.is_offline

    def _standing_after(self, error: CatalogError) -> Standing:
        if isinstance(error, Unreachable) and self._is_offline:
            # Nobody was asked, so nobody is silent.
            return Standing("kept", self._catalog.as_of if self._catalog else None)
        if isinstance(error, Unreachable | Unusable):
            return Standing("silent")
        return Standing("refused") if isinstance(error, NotSignedIn) else self.standing

    def _stand(self, standing: Standing) -> None:
        before, self.standing = self.standing, standing
        if before == standing:
            return
        self._heard()
        if standing.contact == "ready" and before.contact in ("silent", "refused", "kept"):
            # By itself once only: what fails again waits until the reader asks for it.
            due = [one for one in self._unread if one not in self._asked_again]
            self._asked_again.update(due)
            for one in due:
                self._unread.pop(one)()


def sentence_of(error: CatalogError) -> str:
    """An error as a whole sentence that says what to do."""
    if isinstance(error, NotSignedIn) and error.status is not None:
        said = f" ({line(error.excerpt, 120)})" if error.excerpt else ""
        return (
            f"The server wants an access token, or another one{said}: press F3 to give one, set "
            "CATALOG_TOKEN, or keep one with “catalog profile add”."
        )
    said = str(error) or type(error).__name__
    if "://" in said.partition(" ")[0]:
        said = f"The server at {said}"
    return f"{said[0].upper()}{said[1:]}{'' if said[-1] in '.?!)…”' else '.'}"


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
