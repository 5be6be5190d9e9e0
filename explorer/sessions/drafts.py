"""The drafts on this machine: listed, discarded and restored."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from explorer.client import AsyncCatalog
from explorer.sessions.base import action
from explorer.sessions.listing import ListSession, ListState
from explorer.stewardship.drafts import Draft, Drafts, StoredDraft
from explorer.views.drafts import DISCARDED, NO_DRAFTS


@dataclass(frozen=True, slots=True)
class DraftsState(ListState[StoredDraft]):
    """The drafts, newest first, and the drafts that this session discarded."""

    discarded: tuple[Draft, ...] = ()


class DraftsSession(ListSession[DraftsState]):
    """The drafts stored in `find_drafts()`."""

    READING = "looking for drafts …"
    NONE = NO_DRAFTS

    def __init__(self, catalog: AsyncCatalog, find_drafts: Callable[[], Drafts]) -> None:
        super().__init__(catalog, DraftsState())
        self._find_drafts = find_drafts

    async def read_rows(self) -> None:
        """Read the drafts."""
        drafts = await asyncio.to_thread(lambda: self._find_drafts().all())
        self.put(drafts, rows=drafts)

    def key_of(self, row: StoredDraft) -> Path:
        """Return a key that identifies a row in the list."""
        return row.file

    @action("Discard the draft")
    async def discard(self, stored: StoredDraft) -> None:
        """Delete a draft. Raises what `Drafts.require` raises."""

        def discard() -> None:
            drafts = self._find_drafts()
            drafts.discard(drafts.require(stored))

        await asyncio.to_thread(discard)
        self.replace(discarded=(*self.state.discarded, stored.draft))
        await self.read()
        self.say(f"{DISCARDED}.")

    @action("Restore the draft that was discarded last")
    async def restore(self) -> None:
        """Store the last discarded draft again, and select it."""
        self.check("restore")
        *before, draft = self.state.discarded
        await asyncio.to_thread(lambda: self._find_drafts().restore(draft))
        self.replace(discarded=tuple(before))
        await self.read()
        self.look_at(0)

    def why_not(self, name: str) -> str:
        """Return why an action is not possible now; empty if it is possible."""
        if name == "restore" and not self.state.discarded:
            return "No draft was discarded here."
        return self.state.instead if name == "discard" and not self.state.listed else ""
