"""The changes made in this run of the terminal, and taking the last one back."""

import asyncio
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from explorer import config
from explorer.errors import Unusable
from explorer.metadata.urn import Urn
from explorer.tui.session import Session

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog
    from explorer.client.journal import Journal, JournalEntry
    from explorer.client.records import Edit

__all__ = ["Changes"]

# The journal of `catalog undo`, which knows of these changes too.
_JOURNAL = "journal.jsonl"


class Changes:
    """What was changed since the terminal was started, as the client's journal has it."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._since = datetime.now(UTC)
        self._catalog: AsyncCatalog | None = None
        self._journal: Journal | None = None
        self._passed: set[str] = set()

    async def keep(self, catalog: "AsyncCatalog") -> None:
        """Have the client write every edit down from now on. Where that cannot be, it is said,
        and edits are made all the same."""
        if catalog is self._catalog:
            return
        self._catalog, self._journal = catalog, None
        if catalog.read_only:
            return
        try:
            self._journal = await catalog.keep_journal(config.state_dir() / _JOURNAL)
        except Unusable as error:
            self._session.say(f"Changes cannot be taken back: {error}", error=True)

    async def last(self, urn: Urn) -> "JournalEntry | None":
        """The last change of an entity that was not taken back yet."""
        entries = await self._entries()
        wanted = (one for one in reversed(entries) if one.urn == str(urn))
        return next((one for one in wanted if one.id not in self._passed), None)

    async def take_back(self, entry: "JournalEntry") -> "Edit":
        """Bring back what a change found; raises `TextConflict` where somebody changed it since."""
        catalog = await self._session.catalog()
        before = {one.id for one in await self._entries()}
        edit = await catalog.undo(entry)
        # What took it back is no change to be taken back in its turn.
        fresh = {
            one.id
            for one in await self._entries()
            if (one.urn, one.what, one.column) == (entry.urn, entry.what, entry.column)
        }
        self._passed |= (fresh - before) | {entry.id}
        return edit

    async def _entries(self) -> "list[JournalEntry]":
        journal, catalog = self._journal, self._catalog
        if journal is None or catalog is None:
            return []
        found = await asyncio.to_thread(list, journal)
        return [one for one in found if one.at >= self._since and one.server == catalog.address]
