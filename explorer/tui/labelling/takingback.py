"""The changes made in this run of the terminal, and taking the last one back."""

import asyncio
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from explorer import config
from explorer.client.journal import is_undone
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
        entries, journal = await self._entries(), self._journal
        if not entries or journal is None:
            return None
        undone = await asyncio.to_thread(journal.undone)
        # What took another back is no change to be taken back in its turn.
        undoing = {by for several in undone.values() for by in several}
        wanted = (one for one in reversed(entries) if one.urn == str(urn))
        return next(
            (one for one in wanted if one.id not in undoing and not is_undone(one.id, undone)), None
        )

    async def take_back(self, entry: "JournalEntry") -> "Edit":
        """Bring back what a change found; raises `TextConflict` where somebody changed it since."""
        catalog = await self._session.catalog()
        before = {one.id for one in await self._entries()}
        edit = await catalog.undo(entry)
        fresh = [
            one.id
            for one in await self._entries()
            if one.id not in before
            and (one.urn, one.what, one.column) == (entry.urn, entry.what, entry.column)
        ]
        if self._journal is not None:
            await asyncio.to_thread(self._journal.note_undone, entry.id, fresh)
        return edit

    async def _entries(self) -> "list[JournalEntry]":
        journal, catalog = self._journal, self._catalog
        if journal is None or catalog is None:
            return []
        found = await asyncio.to_thread(list, journal)
        return [one for one in found if one.at >= self._since and one.server == catalog.address]
