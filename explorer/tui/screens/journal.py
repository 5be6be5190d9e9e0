"""The journal: every save made on this machine, with the previous values; and undo and redo of
saves, after showing what would change."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final

from rich.text import Text
from textual import on, work
from textual.app import App
from textual.binding import BindingType
from textual.widgets import Static

from explorer.client.editable import TextConflict
from explorer.client.journal import entries_with, undone_in
from explorer.metadata.fieldpath import FieldPath
from explorer.metadata.names import singular
from explorer.metadata.urn import Urn
from explorer.tui.actions import bindings
from explorer.tui.content import join, line, line_text
from explorer.tui.key_queue import LEADING
from explorer.tui.screens.labels.choice import describe_undo
from explorer.tui.session import TerminalSession
from explorer.tui.widgets.dialogs import ConfirmScreen, FilteredListScreen
from explorer.tui.widgets.differences import DifferenceRows
from explorer.tui.widgets.rows import Rows
from explorer.tui.widgets.table import TableRows
from explorer.views.journal import SaveRecord, journal_page, journal_table, save_diff, save_records

if TYPE_CHECKING:
    from explorer.client import Edit
    from explorer.client.journal import JournalEntry, JournalSave
    from explorer.views.table import Table

__all__ = ["JournalScreen", "UndoActions"]

_NOTHING: Final = "No saves from this machine yet."


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
        shown = {one.save.id for one in self._shown}
        entries = [one for one in reversed(self._entries) if (one.save or one.id) in shown]
        return journal_table(entries, undone_in(self._entries))

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
        find = partial(entries_with, self._entries, words)
        found = {one.save or one.id for one in await asyncio.to_thread(find)}
        self._shown = [one for one in self._records if one.save.id in found]
        page = await asyncio.to_thread(journal_page, self._shown, self._session.times.format)
        if not self.is_attached:
            return
        ids = [one.save.id for one in self._shown]
        cursor = ids.index(record.save.id) if record is not None and record.save.id in ids else 0
        empty = _NOTHING if not self._records else "No save matches; esc shows all."
        self.query_one(TableRows).show(page, cursor=cursor, empty=empty)
        count, total = len(self._shown), len(self._records)
        saves = f"{count:,} of {total:,} saves" if count < total else _several(total)
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


def _several(count: int) -> str:
    return "1 save" if count == 1 else f"{count:,} saves"


_SHOWN_AT_MOST = 8


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

    def undo(self) -> None:
        """Undo the last save, after showing it and its undo."""
        self._begin(again=False)

    def redo(self) -> None:
        """Redo what was undone last, after showing what that does."""
        self._begin(again=True)

    def undo_save(self, save: "JournalSave", *, again: bool, done: Callable[[], object]) -> None:
        """Undo a save, after showing what that does; with `again` the save is itself an undo. Calls
        `done` once that was written."""
        if not self._session.refuses_to_write():
            head = "Redo what this save undid" if again else "Undo this save"
            question = self._question(head, save)
            self._ask(question, save, again=again, force=False, done=done)

    def _begin(self, *, again: bool) -> None:
        if not self._session.refuses_to_write():
            work = self._find(again=again)
            self._app.run_worker(work, LEADING, "take-back", exclusive=True)

    async def _find(self, *, again: bool) -> None:
        with self._session.reporting("searching for the last save"):
            catalog = await self._session.catalog()
            save = await (catalog.last_undo() if again else catalog.last_save())
            if save is None:
                self._session.say(
                    "Nothing to redo: nothing was undone, or something was saved since."
                    if again
                    else "Nothing left to undo on this server."
                )
                return
            head = "Redo the save that was undone last" if again else "Undo the last save"
            question = self._question(head, save)
            self._ask(question, save, again=again, force=False, done=lambda: None)

    def _ask(
        self,
        question: Text,
        save: "JournalSave",
        *,
        again: bool,
        force: bool,
        done: Callable[[], object],
    ) -> None:
        def answered(does: bool | None) -> None:
            if does:
                work = self._write(save, again=again, force=force, done=done)
                self._app.run_worker(work, group="take-back", exclusive=True)

        self._app.push_screen(ConfirmScreen(question), answered)

    async def _write(
        self, save: "JournalSave", *, again: bool, force: bool, done: Callable[[], object]
    ) -> None:
        doing = "redoing the save" if again else "undoing the save"
        with self._session.reporting(doing):
            catalog = await self._session.catalog()
            try:
                made = await catalog.undo_save(save, force=force)
            except TextConflict as conflict:
                text = Text.assemble(
                    ("Somebody else changed it since; nothing was written.\n", "bold"),
                    ("now           ", "dim"),
                    line_text(conflict.theirs, missing="nothing"),
                    ("\nwould become  ", "dim"),
                    line_text(conflict.mine, "bold", missing="nothing"),
                    "\n\nReplace it anyway?",
                )
                self._ask(text, save, again=again, force=True, done=done)
                return
            await self._refresh(frozenset(edit.urn for edit in made))
            done()
            self._session.say(_outcome(made, again=again))

    def _question(self, head: str, save: "JournalSave") -> Text:
        edits = [edit for edit, _ in save.edits]
        when = self._session.times.format(round(save.at.timestamp() * 1000))
        head += f", {len(edits):,} edits?" if len(edits) > 1 else "?"
        text = Text.assemble((head, "bold"), (f"  saved {when}", "dim"))
        for edit in edits[:_SHOWN_AT_MOST]:
            text.append("\n").append_text(line_text(_describe_target(edit))).append("\n  ")
            text.append_text(describe_undo(edit))
        left = len(edits) - _SHOWN_AT_MOST
        if left > 0:
            text.append(f"\nand {left:,} more", "dim")
        return text


def _outcome(made: "Iterable[Edit]", *, again: bool) -> str:
    done = list(made)
    first = done[0]
    more = f" and {len(done) - 1:,} more" if len(done) > 1 else ""
    what = f"{line(_describe_target(first))}{more}"
    if again:
        return f"Redone: {what}. U undoes it."
    kept = [edit for edit in done if edit.what == "entity" and edit.after is not None]
    stays = f" {line(kept[0].urn.name)} stays, because others use it." if kept else ""
    return f"Undone: {what}.{stays} ^y redoes it."


def _describe_target(edit: "Edit") -> str:
    """Return what an edit changed; not cleaned for the screen."""
    what = singular(edit.urn.entity_type) if edit.what == "entity" else f"{edit.what} of"
    column = "" if edit.column is None else f"{FieldPath(edit.column).simple} of "
    return f"{what} {column}{Urn.label(str(edit.urn))}"
