"""The journal: every save that was made from this machine, with what stood there before."""

import asyncio
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from explorer.client.journal import entries_with, undone_in
from explorer.metadata.urn import Urn
from explorer.tui.actions import bindings
from explorer.tui.content import join, said
from explorer.tui.session import TerminalSession
from explorer.tui.widgets.bars import KeyLine
from explorer.tui.widgets.differences import DifferenceRows
from explorer.tui.widgets.inputs import FilterLine
from explorer.tui.widgets.rows import Rows
from explorer.tui.widgets.table import TableRows
from explorer.views.journal import (
    SaveRecord,
    journal_page,
    journal_table,
    save_diff,
    save_records,
)
from explorer.views.table import Table

if TYPE_CHECKING:
    from collections.abc import Callable

    from explorer.client.journal import JournalEntry, JournalSave

__all__ = ["JournalScreen"]

_LOW: Final = 30
_PAUSE_SECONDS: Final = 0.1
_READING: Final = "reading the journal …"
_NOTHING: Final = "Nothing was saved from this machine yet."


class JournalRows(Rows):
    """The saves of the journal."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("journalrows")


class JournalScreen(ModalScreen[Urn]):
    """Lists saves, the newest first, above what the one under the cursor changed. Gives the entity
    whose page is to be opened, where one is.

    `undo` asks whether a save is to be undone, and does it; with True, the save is an undo itself.
    It calls back once something was written.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings("journal")
    CSS = """
    JournalScreen { background: $background; }
    JournalScreen > Vertical { height: 1fr; }
    JournalScreen #heading { height: 1; padding: 0 1; }
    JournalScreen TableRows { height: 1fr; }
    JournalScreen DifferenceRows { height: 12; padding: 0 1; border-top: solid $border-blurred; }
    JournalScreen.-low DifferenceRows { height: 7; }
    """

    def __init__(
        self,
        session: TerminalSession,
        undo: "Callable[[JournalSave, bool, Callable[[], object]], object]",
    ) -> None:
        super().__init__()
        self._session = session
        self._undo = undo
        self._rows = JournalRows()
        self._entries: list[JournalEntry] = []
        self._records: list[SaveRecord] = []
        self._shown: list[SaveRecord] = []

    def compose(self) -> ComposeResult:
        """Yield the heading, the line to filter it, the saves, what one changed, and the keys."""
        with Vertical():
            yield Static("", id="heading", markup=False)
            yield FilterLine("words of a name, a text, a label, or a day: 2030-01-31")
            yield TableRows(self._rows)
            yield DifferenceRows()
        yield KeyLine()

    def on_mount(self) -> None:
        """Read the journal."""
        self.set_focus(self._rows)
        self.query_one(TableRows).show(Table((), ()), empty=_READING)
        self._read()

    def on_resize(self) -> None:
        """Leave more room to the list on a low screen."""
        self.set_class(self.size.height < _LOW, "-low")

    def table(self) -> Table | None:
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
            self._undo(record.standing, record.state == "undo", self._read)

    def action_open(self) -> None:
        """Open the page of the entity that was written; of several, the first."""
        if self._record is not None:
            self.dismiss(self._record.entities[0])

    def action_text(self) -> None:
        """Turn to what was changed, to scroll it."""
        self.set_focus(self.query_one(DifferenceRows))

    def action_filter(self) -> None:
        """List only saves that have words."""
        self.query_one(FilterLine).ask()

    def action_reload(self) -> None:
        """Read the journal again."""
        self._read()

    def action_leave(self) -> None:
        """Clear the filter, then close."""
        line = self.query_one(FilterLine)
        if line.value:
            line.put_away()
            self._filter()
        else:
            self.dismiss(None)

    def action_close(self) -> None:
        """Close."""
        self.dismiss(None)

    @on(Rows.Chosen)
    def _choose(self, event: Rows.Chosen) -> None:
        event.stop()
        if self._record is not None:
            self.action_text()

    @on(Rows.Moved)
    def _move(self, event: Rows.Moved) -> None:
        event.stop()
        self._show_record()

    @on(DifferenceRows.Left)
    def _go_back(self, event: DifferenceRows.Left) -> None:
        event.stop()
        self.set_focus(self._rows)

    @on(Input.Changed)
    def _narrow(self, event: Input.Changed) -> None:
        event.stop()
        self._filter()

    @on(FilterLine.Left)
    def _end_filter(self, event: FilterLine.Left) -> None:
        event.stop()
        self.set_focus(self._rows)
        if not event.keep:
            self._filter()

    @property
    def _record(self) -> SaveRecord | None:
        at = self._rows.cursor
        return self._shown[at] if at < len(self._shown) else None

    @work(exclusive=True, group="journal")
    async def _read(self) -> None:
        with self._session.reporting("reading the journal"):
            catalog = await self._session.catalog()
            self._entries = list(await catalog.journal())
            self._records = await asyncio.to_thread(save_records, self._entries)
            await self._show()

    @work(exclusive=True, group="journal")
    async def _filter(self) -> None:
        await asyncio.sleep(_PAUSE_SECONDS)
        await self._show()

    async def _show(self) -> None:
        """List the saves that have the words, with the cursor on the same one where it is left."""
        record, words = self._record, self.query_one(FilterLine).value
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
        self._show_record()

    def _show_record(self) -> None:
        record = self._record
        rows = self.query_one(DifferenceRows)
        rows.show_lines(save_diff(record) if record is not None else ())
        self.refresh_bindings()


def _several(count: int) -> str:
    return "1 save" if count == 1 else f"{count:,} saves"
