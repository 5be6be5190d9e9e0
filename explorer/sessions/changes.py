"""Changes: by other people and by ingestion since the last visit, and by the saves of this
machine."""

import asyncio
from collections.abc import Hashable, Sequence, Sized
from dataclasses import dataclass

from explorer.client import AsyncCatalog
from explorer.client.journal import JournalEntry
from explorer.sessions.base import action
from explorer.sessions.listing import NarrowedSession, NarrowedState
from explorer.stewardship.api import AsyncStewardship
from explorer.stewardship.feed import ChangeFeed, FeedEntry
from explorer.views.feed import entries_with
from explorer.views.journal import SaveRecord, save_records


@dataclass(frozen=True, slots=True)
class FeedState(NarrowedState[FeedEntry]):
    """The changes by others. With `is_care_only` only those are listed that may make descriptions
    wrong; with `is_earlier` those since the visit before the last one. `newer_count` is the number
    of changes made since the list was read."""

    feed: ChangeFeed | None = None
    is_care_only: bool = False
    is_earlier: bool = False
    is_marked: bool = False
    newer_count: int = 0


class FeedSession(NarrowedSession[FeedState]):
    """The changes since the last visit, grouped by entity, latest first. `at` is the key of the row
    selected first."""

    READING = "reading the changes …"
    NONE = "No changes since your last visit."
    NO_MATCH = "No change matches."

    def __init__(self, catalog: AsyncCatalog, at: FeedEntry | None = None) -> None:
        super().__init__(catalog, FeedState(), at)
        self._steward = AsyncStewardship(catalog)

    async def read_rows(self) -> None:
        """Read the changes."""
        feed = await self._steward.feed(earlier=self.state.is_earlier)
        await self.show(rows=feed.entries, feed=feed, newer_count=0, is_marked=False)

    def key_of(self, row: FeedEntry) -> Hashable:
        """Return a key that identifies a row in the list."""
        return row

    def select(self, state: FeedState) -> Sequence[FeedEntry]:
        """Return the rows that match the words; with `is_care_only` only those that may need
        care."""
        entries = entries_with(state.feed, state.words) if state.feed is not None else ()
        return [entry for entry in entries if entry.needs_care or not state.is_care_only]

    def why_none(self, state: FeedState) -> str:
        """Return the text shown in place of an empty list."""
        is_none = state.is_earlier and not state.rows
        return "No changes since the earlier visit either." if is_none else super().why_none(state)

    @action("List only changes that may make descriptions wrong, or all", in_turn=False)
    async def toggle_care(self) -> None:
        """Switch between all changes and only those that need care."""
        self.replace(is_care_only=not self.state.is_care_only)
        await self.list_again()

    @action(
        "Read the changes since the visit before the last one, or since the last one",
        in_turn=False,
        supersedes=("turn_back",),
    )
    async def turn_back(self) -> None:
        """Switch between the changes since the last visit and since the one before."""
        self.replace(is_earlier=not self.state.is_earlier)
        await self.read()

    @action("Mark all changes as read", in_turn=False)
    async def mark(self) -> None:
        """Mark all listed changes as read, and set `is_marked`; the list stays."""
        feed = self.state.feed
        if feed is not None:
            await self._steward.mark_read(feed)
            self.replace(is_marked=True)
            self.say("Marked as read; the next visit shows later changes only.")

    def follow(self, changes: Sized) -> None:
        """Count new changes; the list itself does not change, because somebody may be reading
        it."""
        self.replace(newer_count=self.state.newer_count + len(changes))

    def why_not(self, name: str) -> str:
        """Return why an action is not possible now; empty if it is possible."""
        if name == "mark" and self.state.feed is None:
            return self.state.instead
        if name == "mark" and self.state.is_marked:
            return "All changes are marked as read."
        return self.state.instead if name == "toggle_care" and not self.state.rows else ""


@dataclass(frozen=True, slots=True)
class JournalState(NarrowedState[SaveRecord]):
    """The saves of this machine, and the journal entries that they consist of."""

    entries: Sequence[JournalEntry] = ()


class JournalSession(NarrowedSession[JournalState]):
    """The saves of this machine's journal, newest first."""

    READING = "reading the journal …"
    NONE = "No saves from this machine yet."
    NO_MATCH = "No save matches."

    def __init__(self, catalog: AsyncCatalog) -> None:
        super().__init__(catalog, JournalState())

    async def read_rows(self) -> None:
        """Read the journal."""
        entries = await self.catalog.journal()
        records = await asyncio.to_thread(save_records, entries)
        await self.show(rows=records, entries=entries)

    def key_of(self, row: SaveRecord) -> Hashable:
        """Return a key that identifies a row in the list."""
        return row.save.id

    def select(self, state: JournalState) -> Sequence[SaveRecord]:
        """Return the rows that match the words."""
        return [record for record in state.rows if record.save.has(state.words)]
