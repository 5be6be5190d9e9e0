"""What was changed, each change with its difference: by others and by ingestion since the last
visit, and by every save on this machine; and undo and redo of saves, after showing what would
change."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final

from rich.text import Text
from textual import on, work
from textual.app import App
from textual.binding import BindingType
from textual.widgets import Static

from explorer.client import journal
from explorer.client.display import counted
from explorer.client.editable import TextConflict
from explorer.metadata.urn import Urn
from explorer.sessions.undo import UndoQuestion, UndoSession
from explorer.stewardship.api import AsyncStewardship
from explorer.stewardship.feed import ChangeFeed, FeedEntry
from explorer.tui.actions import bindings
from explorer.tui.content import join, line, line_text
from explorer.tui.key_queue import LEADING
from explorer.tui.screens.columns import ColumnsView
from explorer.tui.screens.overview import OverviewTab
from explorer.tui.session import UNDO, Changes, TerminalSession
from explorer.tui.widgets.dialogs import ConfirmScreen, FilteredListScreen
from explorer.tui.widgets.rows import DifferenceRows, Rows, TableRows
from explorer.views.feed import (
    entries_with,
    entry_diff,
    feed_counts,
    feed_remarks,
    feed_table,
)
from explorer.views.journal import (
    SaveRecord,
    journal_page,
    journal_table,
    save_diff,
    save_records,
)
from explorer.views.table import Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from explorer.client.journal import JournalEntry, JournalSave
    from explorer.views.diff import Diff

_NARROW: Final = 100
_NO_CHANGES: Final = "No changes since your last visit; b shows changes since an earlier visit."
_NO_CHANGES_EARLIER: Final = "No changes since the earlier visit either."


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

    @work(exclusive=True, group="close", name=LEADING)
    async def action_close(self) -> None:
        """Mark all as read, and close."""
        await self._mark()
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
        if self.is_closed:
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
            self._feed, self._more, self._is_read = feed, 0, False
            await self.list_again()

    async def show_list(self) -> None:
        """List the changes that match the words, with the cursor on the same one if it is
        listed."""
        feed, entry = self._feed, self._entry or self._at
        if feed is None:
            return
        entries = await asyncio.to_thread(entries_with, feed, self.words)
        self._shown = [entry for entry in entries if entry.needs_care or not self._is_care]
        format_moment = self._session.times.format
        page = feed_table(feed, self._shown, format_moment, brief=self._is_brief)
        cursor = next((at for at, candidate in enumerate(self._shown) if candidate == entry), 0)
        nothing = _NO_CHANGES_EARLIER if self._is_earlier else _NO_CHANGES
        empty = nothing if not feed.entries else "No change matches; esc shows all."
        self.query_one(TableRows).show(page, cursor=cursor, empty=empty)
        self._draw_heading()
        self.show_row()

    def _draw_heading(self) -> None:
        if self.is_closed:
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
        if entry is self._entry:
            self.query_one(DifferenceRows).show_lines(lines)
            self.refresh_bindings()


_NO_SAVES: Final = "No saves from this machine yet."


class JournalRows(Rows):
    """The saves of the journal."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("journalrows")


class JournalScreen(FilteredListScreen[Urn]):
    """Lists saves, newest first, above the changes of the one under the cursor. Returns the entity
    to open, if any.

    `undo` undoes a save after confirmation; with True, the save is itself an undo. It calls back
    once something was written.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings("journal")
    CSS = """
    JournalScreen DifferenceRows { height: 12; }
    JournalScreen.-low DifferenceRows { height: 7; }
    """
    TITLE_TEXT = "Journal"
    HINT = "words of a name, a text, a label, or a day such as 2030-01-31"
    READING = "reading the journal …"

    def __init__(
        self,
        session: TerminalSession,
        undo: "Callable[[JournalSave, bool, Callable[[], object]], object]",
    ) -> None:
        super().__init__(session, JournalRows())
        self._undo = undo
        self._entries: list[JournalEntry] = []
        self._records: list[SaveRecord] = []
        self._shown: list[SaveRecord] = []

    def table(self) -> "Table | None":
        """Return the edits of the saves that are listed, the newest first, for a file."""
        if not self._shown:
            return None
        save_ids = {record.save.id for record in self._shown}
        entries = [
            entry for entry in reversed(self._entries) if (entry.save or entry.id) in save_ids
        ]
        return journal_table(entries, journal.undone_in(self._entries))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer what can be done with the save under the cursor."""
        del parameters
        record = self._record
        match action:
            case "undo":
                if record is None or record.standing is None:
                    return False
                return None if self._session.read_only else True
            case "open" | "text":
                return record is not None
            case "filter":
                return bool(self._records)
        return True

    def action_undo(self) -> None:
        """Undo the save under the cursor; if it is an undo, redo what it undid."""
        record = self._record
        if record is not None and record.standing is not None:
            self._undo(record.standing, record.state == "undo", self.read)

    def action_open(self) -> None:
        """Open the page of the first entity that was written."""
        if self._record is not None:
            self.dismiss(self._record.entities[0])

    @on(Rows.Chosen)
    def _choose(self, event: Rows.Chosen) -> None:
        event.stop()
        if self._record is not None:
            self.action_text()

    @property
    def _record(self) -> SaveRecord | None:
        return self._rows.under_cursor(self._shown)

    @work(exclusive=True, group="list")
    async def read(self) -> None:
        """Read the journal, and list its saves."""
        with self._session.reporting("reading the journal"):
            catalog = await self._session.catalog()
            self._entries = list(await catalog.journal())
            self._records = await asyncio.to_thread(save_records, self._entries)
            await self.list_again()

    async def show_list(self) -> None:
        """List the saves that match the words, with the cursor on the same one if it is listed."""
        record, words = self._record, self.words
        find = partial(journal.entries_with, self._entries, words)
        save_ids = {entry.save or entry.id for entry in await asyncio.to_thread(find)}
        self._shown = [record for record in self._records if record.save.id in save_ids]
        page = await asyncio.to_thread(journal_page, self._shown, self._session.times.format)
        ids = [record.save.id for record in self._shown]
        cursor = ids.index(record.save.id) if record is not None and record.save.id in ids else 0
        empty = _NO_SAVES if not self._records else "No save matches; esc shows all."
        self.query_one(TableRows).show(page, cursor=cursor, empty=empty)
        count, total = len(self._shown), len(self._records)
        saves = f"{count:,} of {total:,} saves" if count < total else counted(total, "save")
        heading = [
            Text("Journal", "bold"),
            Text(saves if total else ""),
            line_text(words, "italic"),
        ]
        self.query_one("#heading", Static).update(join(heading))
        self.show_row()

    def show_row(self) -> None:
        """Show what the save under the cursor changed."""
        record = self._record
        rows = self.query_one(DifferenceRows)
        rows.show_lines(save_diff(record) if record is not None else ())
        self.refresh_bindings()


class UndoActions:
    """Undoes and redoes saves of this machine's journal, after showing what that does. `refresh` is
    called with the entities that were written."""

    def __init__(
        self,
        app: App[None],
        session: TerminalSession,
        refresh: Callable[[frozenset[Urn]], Awaitable[object]],
    ) -> None:
        self._app = app
        self._session = session
        self._refresh = refresh
        self._undoing: UndoSession | None = None

    def undo(self) -> None:
        """Undo the last save, after showing it and its undo."""
        self._begin(UndoSession.ask_last)

    def redo(self) -> None:
        """Redo what was undone last, after showing what that does."""
        self._begin(UndoSession.ask_last_undo)

    def undo_save(self, save: "JournalSave", *, again: bool, done: Callable[[], object]) -> None:
        """Undo a save, after showing what that does; with `again` the save is itself an undo. Calls
        `done` once that was written."""
        self._begin(lambda undoing: undoing.ask(save, is_redo=again), done)

    def _begin(
        self,
        ask: "Callable[[UndoSession], Awaitable[UndoQuestion | None]]",
        done: Callable[[], object] = lambda: None,
    ) -> None:
        if not self._session.refuses_to_write():
            work = self._find(ask, done)
            self._app.run_worker(work, LEADING, "take-back", exclusive=True)

    async def _find(
        self,
        ask: "Callable[[UndoSession], Awaitable[UndoQuestion | None]]",
        done: Callable[[], object],
    ) -> None:
        with self._session.reporting("searching for the save"):
            catalog = await self._session.catalog()
            if self._undoing is None or self._undoing.catalog is not catalog:
                self._undoing = UndoSession(catalog)
            undoing = self._undoing
            question = await ask(undoing)
            if question is not None:
                self._ask(undoing, question, done)
            else:
                self._session.say(_last_sentence(undoing))

    def _ask(
        self, undoing: UndoSession, question: UndoQuestion, done: Callable[[], object]
    ) -> None:
        def start_writing(does: bool | None) -> None:
            if does:
                work = self._write(undoing, question, done)
                # A group of its own: looking for the next save does not end this one's undo.
                self._app.run_worker(work, LEADING, "taking-back")

        times = self._session.times
        self._app.push_screen(ConfirmScreen(_draw_question(question, times.format)), start_writing)

    async def _write(
        self, undoing: UndoSession, question: UndoQuestion, done: Callable[[], object]
    ) -> None:
        doing = "redoing the save" if question.is_redo else "undoing the save"

        def tell(sentence: str) -> bool:
            # With how much of it was undone before.
            self._session.say_saved(sentence, undo="", error=True)
            return True

        with self._session.reporting(doing, tell):
            try:
                outcome = await undoing.undo(question, force=question.conflict is not None)
            except TextConflict as conflict:
                self._ask(undoing, replace(question, conflict=conflict), done)
                return
            if outcome is None:
                # The next time it is the turn of the save before.
                message = undoing.state.message
                key = "^y" if question.is_redo else "U"
                self._session.say(
                    f"{message.sentence if message else ''} {key} goes on.", error=True
                )
                return
            await self._refresh(frozenset(edit.urn for edit in outcome.edits))
            done()
            self._session.say_saved(
                str(outcome), undo=UNDO if question.is_redo else "^y redoes it."
            )


def _last_sentence(undoing: UndoSession) -> str:
    message = undoing.state.message
    return line(message.sentence) if message is not None else ""


def _draw_question(question: UndoQuestion, format_moment: Callable[[int], str]) -> Text:
    if question.conflict is not None:
        return Text.assemble(
            ("Somebody else changed it since; nothing was written.\n", "bold"),
            ("now           ", "dim"),
            line_text(question.conflict.theirs, missing="nothing"),
            ("\nwould become  ", "dim"),
            line_text(question.conflict.mine, "bold", missing="nothing"),
            "\n\nReplace it anyway?",
        )
    preview = question.preview(format_moment)
    text = Text.assemble((preview.question, "bold"), "  ", line_text(preview.origin, "dim"))
    for value in preview.values:
        text.append("\n").append_text(line_text(value.title)).append("\n  ")
        if value.before:
            text.append_text(line_text(value.before)).append("\nbecomes ", "dim")
        text.append_text(line_text(value.after, "bold"))
    if preview.remaining:
        text.append(f"\nand {preview.remaining:,} more", "dim")
    return text
