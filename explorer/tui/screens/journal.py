"""The journal: every save that was made from this machine, with what stood there before."""

import asyncio
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final

from rich.text import Text
from textual import on, work
from textual.binding import BindingType
from textual.widgets import Static

from explorer.client.journal import entries_with, undone_in
from explorer.metadata.urn import Urn
from explorer.tui.actions import bindings
from explorer.tui.content import join, said
from explorer.tui.screens.listing import FilteredListScreen
from explorer.tui.session import TerminalSession
from explorer.tui.widgets.differences import DifferenceRows
from explorer.tui.widgets.rows import Rows
from explorer.tui.widgets.table import TableRows
from explorer.views.journal import (
    SaveRecord,
    journal_page,
    journal_table,
    save_diff,
    save_records,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from explorer.client.journal import JournalEntry, JournalSave
    from explorer.views.table import Table

__all__ = ["JournalScreen"]

_NOTHING: Final = "Nothing was saved from this machine yet."


class JournalRows(Rows):
    """The saves of the journal."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("journalrows")


class JournalScreen(FilteredListScreen[Urn]):
    """Lists saves, the newest first, above what the one under the cursor changed. Gives the entity
    whose page is to be opened, where one is.

    `undo` asks whether a save is to be undone, and does it; with True, the save is an undo itself.
    It calls back once something was written.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings("journal")
    CSS = """
    JournalScreen DifferenceRows { height: 12; }
    JournalScreen.-low DifferenceRows { height: 7; }
    """
    TITLE_TEXT = "Journal"
    HINT = "words of a name, a text, a label, or a day: 2030-01-31"
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
        """Undo what the save under the cursor did; of an undo, do it again."""
        record = self._record
        if record is not None and record.standing is not None:
            self._undo(record.standing, record.state == "undo", self.read)

    def action_open(self) -> None:
        """Open the page of the entity that was written; of several, the first."""
        if self._record is not None:
            self.dismiss(self._record.entities[0])

    @on(Rows.Chosen)
    def _choose(self, event: Rows.Chosen) -> None:
        event.stop()
        if self._record is not None:
            self.action_text()

    @property
    def _record(self) -> SaveRecord | None:
        at = self._rows.cursor
        return self._shown[at] if at < len(self._shown) else None

    @work(exclusive=True, group="list")
    async def read(self) -> None:
        """Read the journal, and list its saves."""
        with self._session.reporting("reading the journal"):
            catalog = await self._session.catalog()
            self._entries = list(await catalog.journal())
            self._records = await asyncio.to_thread(save_records, self._entries)
            await self.list_again()

    async def show_list(self) -> None:
        """List the saves that have the words, with the cursor on the same one where it is left."""
        record, words = self._record, self.words
        find = partial(entries_with, self._entries, words)
        found = {one.save or one.id for one in await asyncio.to_thread(find)}
        self._shown = [one for one in self._records if one.save.id in found]
        page = await asyncio.to_thread(journal_page, self._shown, self._session.times.said)
        if not self.is_attached:
            return
        ids = [one.save.id for one in self._shown]
        cursor = ids.index(record.save.id) if record is not None and record.save.id in ids else 0
        empty = _NOTHING if not self._records else "No save has these words; esc shows all."
        self.query_one(TableRows).show(page, cursor=cursor, empty=empty)
        count, total = len(self._shown), len(self._records)
        saves = f"{count:,} of {total:,} saves" if count < total else _several(total)
        heading = [Text("Journal", "bold"), Text(saves if total else ""), said(words, "italic")]
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
