"""What was changed: by others and by ingestion since the last visit, and by every save on this
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
    """The changes by others: with `is_care_only` only those that may make descriptions wrong, with
    `is_earlier` since the visit before the last one. `newer_count` is how many were made since they
    were read."""

    feed: ChangeFeed | None = None
    is_care_only: bool = False
    is_earlier: bool = False
    is_marked: bool = False
    newer_count: int = 0


class FeedSession(NarrowedSession[FeedState]):
    """The changes since the last visit, by entity, the latest first. `at` is looked at first."""

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
        """Return what tells a row from the others."""
        return row

    def select(self, state: FeedState) -> Sequence[FeedEntry]:
        """Return the rows that match the words, and may need care if only those are listed."""
        entries = entries_with(state.feed, state.words) if state.feed is not None else ()
        return [entry for entry in entries if entry.needs_care or not state.is_care_only]

    def why_none(self, state: FeedState) -> str:
        """Return what is said where no row is listed."""
        is_none = state.is_earlier and not state.rows
        return "No changes since the earlier visit either." if is_none else super().why_none(state)

    @action("List only changes that may make descriptions wrong, or all", in_turn=False)
    async def toggle_care(self) -> None:
        """List only what needs care, or all."""
        self.replace(is_care_only=not self.state.is_care_only)
        await self.list_again()

    @action(
        "Read the changes since the visit before the last one, or since the last one",
        in_turn=False,
        supersedes=("turn_back",),
    )
    async def turn_back(self) -> None:
        """Read the changes since another visit."""
        self.replace(is_earlier=not self.state.is_earlier)
        await self.read()

    @action("Mark all changes as read", in_turn=False)
    async def mark(self) -> None:
        """Mark all that is listed as read; the list stays."""
        feed = self.state.feed
        if feed is not None:
            await self._steward.mark_read(feed)
            self.replace(is_marked=True)
            self.say("Marked as read; the next visit shows later changes only.")

    def follow(self, changes: Sized) -> None:
        """Note that there are new changes; the list stays, because it is being read."""
        self.replace(newer_count=self.state.newer_count + len(changes))

    def why_not(self, name: str) -> str:
        """Return why an action is not possible now; empty if it is."""
        if name == "mark" and self.state.feed is None:
            return self.state.instead
        if name == "mark" and self.state.is_marked:
            return "All changes are marked as read."
        return self.state.instead if name == "toggle_care" and not self.state.rows else ""


@dataclass(frozen=True, slots=True)
class JournalState(NarrowedState[SaveRecord]):
    """The saves of this machine, and the entries of the journal that they are made of."""

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
        """Return what tells a row from the others."""
        return row.save.id

    def select(self, state: JournalState) -> Sequence[SaveRecord]:
        """Return the rows that match the words."""
        return [record for record in state.rows if record.save.has(state.words)]
