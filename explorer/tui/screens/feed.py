"""The changes by others and by ingestion since the last visit, each with its difference."""

import asyncio
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final

from rich.text import Text
from textual import on, work
from textual.binding import BindingType
from textual.widgets import Static

from explorer.metadata.urn import Urn
from explorer.stewardship.api import AsyncStewardship
from explorer.stewardship.feed import ChangeFeed, FeedEntry
from explorer.tui.actions import bindings
from explorer.tui.content import join, line_text
from explorer.tui.screens.columns import ColumnsView
from explorer.tui.screens.entity.overview import OverviewTab
from explorer.tui.session import Changes, TerminalSession
from explorer.tui.widgets.dialogs import FilteredListScreen
from explorer.tui.widgets.differences import DifferenceRows
from explorer.tui.widgets.rows import Rows
from explorer.tui.widgets.table import TableRows
from explorer.views.feed import (
    entries_with,
    entry_diff,
    feed_counts,
    feed_page,
    feed_remarks,
    feed_table,
)
from explorer.views.table import Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from explorer.views.diff import Diff

__all__ = ["FeedPlace", "FeedScreen"]

_NARROW: Final = 100
_NOTHING: Final = "No changes since your last visit; b shows changes since an earlier visit."
_NOTHING_EARLIER: Final = "No changes since the earlier visit either."


@dataclass(frozen=True, slots=True)
class FeedPlace:
    """The page of an entry: the tab of an entity, and a column; with the entry, to return to it."""

    entry: FeedEntry

    @property
    def urn(self) -> Urn:
        """Return the entity."""
        return self.entry.urn

    @property
    def tab(self) -> str:
        """Return the name of the tab."""
        return OverviewTab.NAME if self.entry.path is None else ColumnsView.NAME

    @property
    def column(self) -> str | None:
        """Return the path of the column, None where there is none to go to."""
        return self.entry.place


class FeedRows(Rows):
    """The changes."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("feedrows")


class FeedScreen(FilteredListScreen[FeedPlace]):
    """Lists changes by entity, the latest first, above the difference of the one under the cursor.
    Closing it marks all as read; opening an entry, which it returns, does not.

    `at` is the entry opened last, where the cursor starts.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings("feed")
    TITLE_TEXT = "Changes"
    HINT = "words of a name, a text, a type, or the author"
    READING = "reading the changes …"

    def __init__(self, session: TerminalSession, at: FeedPlace | None = None) -> None:
        super().__init__(session, FeedRows())
        self._at = at.entry if at is not None else None
        self._feed: ChangeFeed | None = None
        self._shown: Sequence[FeedEntry] = ()
        self._is_care = False
        self._is_earlier = False
        self._is_read = False
        self._is_brief = False
        self._more = 0

    def on_resize(self) -> None:
        """Leave more room to the list on a low screen, and to the change on a narrow one."""
        super().on_resize()
        if self._is_brief != (self.size.width < _NARROW):
            self._is_brief = self.size.width < _NARROW
            self.narrow()

    def apply_changes(self, changes: Changes) -> None:
        """Show that there are new changes; the list stays, because it is being read."""
        self._more += len(changes)
        self._draw_heading()

    def table(self) -> Table | None:
        """Return the changes that are listed, for a file."""
        if self._feed is None or not self._shown:
            return None
        return feed_table(self._feed, self._shown)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer what there is something for."""
        del parameters
        has_entries = self._feed is not None and bool(self._feed.entries)
        match action:
            case "open" | "text":
                return self._entry is not None
            case "filter" | "care":
                return has_entries
            case "mark":
                return self._feed is not None and not self._is_read
        return True

    def action_open(self) -> None:
        """Open the page of the changed entity, at the column."""
        if self._entry is not None:
            self.dismiss(FeedPlace(self._entry))

    def action_care(self) -> None:
        """List only changes that may make descriptions wrong, or all."""
        self._is_care = not self._is_care
        self.narrow()

    def action_earlier(self) -> None:
        """Read the changes since the visit before the last one, or since the last."""
        self._is_earlier = not self._is_earlier
        self.read()

    @work(exclusive=True, group="mark")
    async def action_mark(self) -> None:
        """Mark all listed changes as read; the list stays."""
        if await self._mark():
            self._draw_heading()
            self.refresh_bindings()
            self._session.say("Marked as read; the next visit shows later changes only.")

    async def _mark(self) -> bool:
        feed = self._feed
        with self._session.reporting("marking the changes as read"):
            if feed is not None and not self._is_read:
                await AsyncStewardship(await self._session.catalog()).mark_read(feed)
                self._is_read = True
            return True
        return False

    def clear(self) -> bool:
        """Clear the filters; return whether there were any."""
        narrowed, self._is_care = self._is_care, False
        return super().clear() or narrowed

    @work(exclusive=True, group="close")
    async def action_close(self) -> None:
        """Mark all as read, and close."""
        await self._mark()
        if self.is_attached:
            self.dismiss(None)

    @on(Rows.Chosen)
    def _choose(self, event: Rows.Chosen) -> None:
        event.stop()
        self.action_open()

    @property
    def _entry(self) -> FeedEntry | None:
        return self._rows.under_cursor(self._shown)

    def _show_failure(self, sentence: str) -> bool:
        """Show in place of the list why it could not be read."""
        if not self.is_attached:
            return False
        self._feed, self._shown = None, ()
        self.query_one(TableRows).show(Table((), ()), empty=sentence)
        self._draw_heading()
        self.show_row()
        return True

    @work(exclusive=True, group="list")
    async def read(self) -> None:
        """Read the changes, and list them."""
        doing = "reading the changes"
        with self._session.reporting(doing, self._show_failure, self.action_reload):
            steward = AsyncStewardship(await self._session.catalog())
            feed = await steward.feed(earlier=self._is_earlier)
            if not self.is_attached:
                return
            self._feed, self._more, self._is_read = feed, 0, False
            await self.list_again()

    async def show_list(self) -> None:
        """List the changes that match the words, with the cursor on the same one if it is
        listed."""
        feed, entry = self._feed, self._entry or self._at
        if feed is None:
            return
        found = await asyncio.to_thread(entries_with, feed, self.words)
        self._shown = [one for one in found if one.needs_care or not self._is_care]
        draw = partial(feed_page, feed, self._shown, self._session.times.format)
        page = await asyncio.to_thread(partial(draw, brief=self._is_brief))
        if not self.is_attached:
            return
        cursor = next((at for at, one in enumerate(self._shown) if one == entry), 0)
        nothing = _NOTHING_EARLIER if self._is_earlier else _NOTHING
        empty = nothing if not feed.entries else "No change matches; esc shows all."
        self.query_one(TableRows).show(page, cursor=cursor, empty=empty)
        self._draw_heading()
        self.show_row()

    def _draw_heading(self) -> None:
        if not self.is_attached:
            return
        feed = self._feed
        parts = [Text("Changes", "bold")]
        if feed is not None:
            total, count = len(feed.entries), len(self._shown)
            narrowed = f"{count:,} of {total:,} changes"
            parts.append(Text(narrowed if count < total else feed_counts(feed)))
            parts.append(line_text(self.words, "italic"))
            parts += [Text("only changes to check" if self._is_care else "")]
            parts.append(Text("read" if self._is_read else ""))
            parts.append(Text("new changes: r reads them" if self._more else "", "italic"))
        heading = join(parts)
        if feed is not None:
            remarks = " ".join(feed_remarks(feed, self._session.times.format))
            heading.append(f"\n{remarks}", "dim")
        self.query_one("#heading", Static).update(heading)

    @work(exclusive=True, group="difference")
    async def show_row(self) -> None:
        """Show what differs; long texts are compared in a thread."""
        entry, feed = self._entry, self._feed
        lines: Diff = ()
        if entry is not None and feed is not None:
            lines = await asyncio.to_thread(entry_diff, entry, feed, self._session.times.format)
        if self.is_attached and entry is self._entry:
            self.query_one(DifferenceRows).show_lines(lines)
            self.refresh_bindings()
