"""A screen with a list that words narrow, above what differs in the row under the cursor."""

import asyncio
from typing import ClassVar, Final, Generic, TypeVar

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Input, Static

from explorer.tui.session import TerminalSession
from explorer.tui.widgets.bars import KeyLine
from explorer.tui.widgets.dialogs import OverlayScreen
from explorer.tui.widgets.differences import DifferenceRows
from explorer.tui.widgets.inputs import FilterLine
from explorer.tui.widgets.rows import Rows
from explorer.tui.widgets.table import TableRows
from explorer.views.table import Table

__all__ = ["FilteredListScreen"]

_LOW: Final = 30
_PAUSE_SECONDS: Final = 0.1
_Result = TypeVar("_Result")


class FilteredListScreen(OverlayScreen[_Result], Generic[_Result]):
    """A heading, the line for words, a list and what differs in one row of it, and the keys.

    A subclass reads what there is (`read`) and then calls `list_again`; it lists what has the words
    (`show_list`) and shows what differs in the row under the cursor (`show_row`).
    """

    DEFAULT_CSS = """
    FilteredListScreen { background: $background; }
    FilteredListScreen > Vertical { height: 1fr; }
    FilteredListScreen #heading { height: auto; max-height: 4; padding: 0 1; }
    FilteredListScreen TableRows { height: 1fr; }
    FilteredListScreen DifferenceRows {
        height: 10; padding: 0 1; border-top: solid $border-blurred;
    }
    FilteredListScreen.-low DifferenceRows { height: 6; }
    """
    TITLE_TEXT: ClassVar[str]
    HINT: ClassVar[str]
    READING: ClassVar[str]

    def __init__(self, session: TerminalSession, rows: Rows) -> None:
        super().__init__()
        self._session = session
        self._rows = rows
        # What is listed last has the words that were typed last.
        self._listing = asyncio.Lock()
        self._is_listed = False

    def compose(self) -> ComposeResult:
        """Yield the heading, the line to filter it, the list, what differs in a row, the keys."""
        with Vertical():
            yield Static(Text(self.TITLE_TEXT, "bold"), id="heading", markup=False)
            yield FilterLine(self.HINT)
            yield TableRows(self._rows)
            yield DifferenceRows()
        yield KeyLine()

    def on_mount(self) -> None:
        """Read what there is."""
        self.set_focus(self._rows)
        self.query_one(TableRows).show(Table((), ()), empty=self.READING)
        self.read()

    def on_resize(self) -> None:
        """Leave more room to the list on a low screen."""
        self.set_class(self.size.height < _LOW, "-low")

    def read(self) -> object:
        """Read what there is, and list it."""
        raise NotImplementedError

    async def show_list(self) -> None:
        """List what has the words."""
        raise NotImplementedError

    def show_row(self) -> object:
        """Show what differs in the row under the cursor."""
        raise NotImplementedError

    @property
    def words(self) -> str:
        """What the list is narrowed to."""
        return self.query_one(FilterLine).value

    def clear(self) -> bool:
        """Narrow the list no more; return whether it was narrowed."""
        line = self.query_one(FilterLine)
        narrowed = bool(line.value)
        line.put_away()
        return narrowed

    async def list_again(self) -> None:
        """List what has the words, after what is being listed."""
        self._is_listed = True
        async with self._listing:
            await self.show_list()

    @work(exclusive=True, group="narrow")
    async def narrow(self) -> None:
        """List what has the words once nothing was typed for a moment."""
        await asyncio.sleep(_PAUSE_SECONDS)
        # What is read for the first time is listed with the words.
        if self._is_listed:
            await self.list_again()

    def action_text(self) -> None:
        """Turn to what differs, to scroll it."""
        self.set_focus(self.query_one(DifferenceRows))

    def action_filter(self) -> None:
        """List only what has words."""
        self.query_one(FilterLine).ask()

    def action_reload(self) -> None:
        """Read again what there is."""
        self.read()

    def action_leave(self) -> None:
        """Clear the filter, then close."""
        if self.clear():
            self.narrow()
        else:
            self.action_close()

    def action_close(self) -> object:
        """Close."""
        return self.dismiss(None)

    @on(Rows.Moved)
    def _move(self, event: Rows.Moved) -> None:
        event.stop()
        self.show_row()

    @on(DifferenceRows.Left)
    def _go_back(self, event: DifferenceRows.Left) -> None:
        event.stop()
        self.set_focus(self._rows)

    @on(Input.Changed)
    def _narrow(self, event: Input.Changed) -> None:
        event.stop()
        self.narrow()

    @on(FilterLine.Left)
    def _end_filter(self, event: FilterLine.Left) -> None:
        event.stop()
        self.set_focus(self._rows)
        if not event.keep:
            self.narrow()
