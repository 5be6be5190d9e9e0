"""Lists of changes with their differences: the feed, of changes by others and by ingestion since
the last visit; and the journal, of saves on this machine. Also undo and redo of saves, after
showing what they would change."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Final

from rich.text import Text
from textual import work
from textual.app import App
from textual.binding import BindingType

from explorer.client import journal
from explorer.client.display import counted
from explorer.client.editable import TextConflict
from explorer.metadata.urn import Urn
from explorer.sessions.changes import FeedSession, FeedState, JournalSession, JournalState
from explorer.sessions.undo import UndoQuestion, UndoSession
from explorer.stewardship.feed import FeedEntry
from explorer.tui.actions import bindings
from explorer.tui.content import join, line, line_text
from explorer.tui.key_queue import LEADING
from explorer.tui.screens.columns import ColumnsView
from explorer.tui.screens.overview import OverviewTab
from explorer.tui.session import UNDO, Changes, TerminalSession
from explorer.tui.widgets.dialogs import ConfirmScreen, SessionListScreen
from explorer.tui.widgets.rows import Rows
from explorer.views.feed import (
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
)
from explorer.views.table import Table

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog
    from explorer.client.journal import JournalSave
    from explorer.views.diff import Diff

_NARROW: Final = 100


@dataclass(frozen=True, slots=True)
class FeedPlace:
    """The place of a feed entry: the entity, its tab, and the column; `entry` is the entry itself,
    to return to it."""

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
        """Return the path of the changed column; None if the entry is of no single column."""
        return self.entry.place


class FeedRows(Rows):
    """The changes."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("feedrows")


class FeedScreen(SessionListScreen[FeedPlace, FeedState]):
    """Lists changes by entity, the latest first, above the difference of the change under the
    cursor. Closing the screen marks all changes as read; opening an entry, whose place is then
    returned, does not.

    `at` is the entry opened last, where the cursor starts.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings("feed")
    DOING = "reading the changes"
    HINT = "words of a name, a text, a type, or the author"
    OFFERED: ClassVar[Mapping[str, str]] = {"care": "toggle_care", "mark": "mark"}
    _list: FeedSession | None = None

    def __init__(self, session: TerminalSession, at: FeedPlace | None = None) -> None:
        super().__init__(session, FeedRows())
        self._at = at.entry if at is not None else None
        self._shown = FeedState(instead=FeedSession.READING)
        self._is_brief = False

    def begin(self, catalog: "AsyncCatalog") -> FeedSession:
        """Create the session that reads this list."""
        return FeedSession(catalog, self._at)

    def on_resize(self) -> None:
        """Leave more room to the list on a low screen, and to the change on a narrow one."""
        super().on_resize()
        if self._is_brief != (self.size.width < _NARROW):
            self._is_brief = self.size.width < _NARROW
            self.draw_rows()

    def apply_changes(self, changes: Changes) -> None:
        """Show that there are new changes."""
        if self._list is not None:
            self._list.follow(changes)

    def table(self) -> Table | None:
        """Return the listed changes as a table for a file."""
        feed, listed = self._shown.feed, self._shown.listed
        return feed_table(feed, listed) if feed is not None and listed else None

    def rows_table(self, state: FeedState) -> Table:
        """Return the listed changes as a table."""
        format_moment = self._session.times.format
        if state.feed is None:
            return Table((), ())
        return feed_table(state.feed, state.listed, format_moment, brief=self._is_brief)

    def difference(self, row: FeedEntry) -> "Diff":
        """Return the difference of a change."""
        feed = self._shown.feed
        return entry_diff(row, feed, self._session.times.format) if feed is not None else ()

    def hint(self, state: FeedState) -> str:
        """Return what to do if there are no changes, as the end of a sentence."""
        is_none = not state.rows and not state.is_earlier
        return "b shows changes since an earlier visit" if is_none else super().hint(state)

    def heading(self, state: FeedState) -> Text:
        """Return the number of changes, since which visit, and what could not be read."""
        feed, total, count = state.feed, len(state.rows), len(state.listed)
        if feed is None:
            return Text("Changes", "bold")
        narrowed = f"{count:,} of {total:,} changes"
        heading = join(
            [
                Text("Changes", "bold"),
                Text(narrowed if count < total else feed_counts(feed)),
                line_text(state.words, "italic"),
                Text("only changes to check" if state.is_care_only else ""),
                Text("read" if state.is_marked else ""),
                Text("new changes: r reads them" if state.newer_count else "", "italic"),
            ]
        )
        remarks = " ".join(feed_remarks(feed, self._session.times.format))
        return heading.append(f"\n{remarks}", "dim")

    def choose(self) -> None:
        """Open the page of the changed entity."""
        self.action_open()

    def action_open(self) -> None:
        """Open the page of the changed entity, at the column."""
        if self._shown.current is not None:
            self.dismiss(FeedPlace(self._shown.current))

    async def action_care(self) -> None:
        """Switch between all changes and those that may make descriptions wrong."""
        await self.act("toggle_care")

    def action_earlier(self) -> None:
        """Switch between the changes since the last visit and those since the visit before."""
        self.read(FeedSession.turn_back)

    @work(exclusive=True, group="mark")
    async def action_mark(self) -> None:
        """Mark all listed changes as read; the list stays."""
        await self.act("mark")

    def clear(self) -> bool:
        """Clear the filters; return whether there were any."""
        was_care = self._shown.is_care_only
        if was_care and self._list is not None:
            self._list.replace(is_care_only=False)
        return super().clear() or was_care

    @work(exclusive=True, group="close", name=LEADING)
    async def action_close(self) -> None:
        """Mark all as read, and close."""
        if self._list is not None and self.why_not("mark") == "":
            with self._session.reporting("marking the changes as read"):
                await self._list.mark()
        self.dismiss(None)


class JournalRows(Rows):
    """The saves of the journal."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("journalrows")


class JournalScreen(SessionListScreen[Urn, JournalState]):
    """Lists saves, newest first, above the changes of the save under the cursor. Returns the entity
    to open, if any.

    `undo` undoes a save after confirmation. Its second argument says whether the save is itself an
    undo, its third is called once something was written.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings("journal")
    CSS = """
    JournalScreen DifferenceRows { height: 12; }
    JournalScreen.-low DifferenceRows { height: 7; }
    """
    DOING = "reading the journal"
    HINT = "words of a name, a text, a label, or a day such as 2030-01-31"

    def __init__(
        self,
        session: TerminalSession,
        undo: "Callable[[JournalSave, bool, Callable[[], object]], object]",
    ) -> None:
        super().__init__(session, JournalRows())
        self._undo = undo
        self._shown = JournalState(instead=JournalSession.READING)

    def begin(self, catalog: "AsyncCatalog") -> JournalSession:
        """Create the session that reads this list."""
        return JournalSession(catalog)

    def table(self) -> Table | None:
        """Return the edits of the listed saves, newest first, as a table for a file."""
        entries, listed = self._shown.entries, self._shown.listed
        save_ids = {record.save.id for record in listed}
        edits = [entry for entry in reversed(entries) if (entry.save or entry.id) in save_ids]
        return journal_table(edits, journal.undone_in(entries)) if listed else None

    def rows_table(self, state: JournalState) -> Table:
        """Return the listed saves as a table."""
        return journal_page(state.listed, self._session.times.format)

    def difference(self, row: SaveRecord) -> "Diff":
        """Return the difference that a save made."""
        return save_diff(row)

    def heading(self, state: JournalState) -> Text:
        """Return the number of saves."""
        count, total = len(state.listed), len(state.rows)
        saves = f"{count:,} of {total:,} saves" if count < total else counted(total, "save")
        counts = Text(saves if total else "")
        return join([Text("Journal", "bold"), counts, line_text(state.words, "italic")])

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Allow undo only for saves that are not undone."""
        if action != "undo":
            return super().check_action(action, parameters)
        if self._shown.current is None or self._shown.current.standing is None:
            return False
        return None if self._session.read_only else True

    def action_undo(self) -> None:
        """Undo the save under the cursor. If it is an undo, this redoes the earlier save."""
        record = self._shown.current
        if record is not None and record.standing is not None:
            self._undo(record.standing, record.state == "undo", self.read)

    def action_open(self) -> None:
        """Open the page of the first entity that was written."""
        if self._shown.current is not None:
            self.dismiss(self._shown.current.entities[0])


class UndoActions:
    """Undoes and redoes saves in the journal of this machine, after showing what would change.
    `refresh` is called with the entities that were written."""

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
        """Undo the last save, after showing what would change."""
        self._begin(UndoSession.ask_last)

    def redo(self) -> None:
        """Redo the save that was undone last, after showing what would change."""
        self._begin(UndoSession.ask_last_undo)

    def undo_save(self, save: "JournalSave", *, again: bool, done: Callable[[], object]) -> None:
        """Undo a save, after showing what would change. `again` says that the save is itself an
        undo. `done` is called once something was written."""
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
        """Look for the save to undo or redo, and ask whether to do it."""
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
        """Show the question, and write if it is confirmed."""

        def start_writing(does: bool | None) -> None:
            if does:
                work = self._write(undoing, question, done)
                # A worker group of its own, so that looking for the next save does not cancel this
                # undo.
                self._app.run_worker(work, LEADING, "taking-back")

        times = self._session.times
        self._app.push_screen(ConfirmScreen(_draw_question(question, times.format)), start_writing)

    async def _write(
        self, undoing: UndoSession, question: UndoQuestion, done: Callable[[], object]
    ) -> None:
        """Undo or redo a save, and show the result; if the text was changed meanwhile, ask
        again."""
        doing = "redoing the save" if question.is_redo else "undoing the save"

        def tell(sentence: str) -> bool:
            # The sentence includes how much was undone before the failure.
            self._session.say_saved(sentence, undo="", error=True)
            return True

        with self._session.reporting(doing, tell):
            try:
                outcome = await undoing.undo(question, force=question.conflict is not None)
            except TextConflict as conflict:
                self._ask(undoing, replace(question, conflict=conflict), done)
                return
            if outcome is None:
                # The next undo is of the save before this one.
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
    """Return the question of an undo or a redo, with the changes it would make."""
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
