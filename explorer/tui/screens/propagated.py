"""Texts that were propagated to columns: the source of each, and whether it still has that text;
texts can be refreshed, pinned and taken back."""

import asyncio
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final

from rich.text import Text
from textual import on, work
from textual.binding import BindingType
from textual.widgets import Static

from explorer.metadata.urn import Urn
from explorer.stewardship.api import AsyncStewardship
from explorer.tui.actions import bindings
from explorer.tui.content import join, line_text
from explorer.tui.session import TerminalSession
from explorer.tui.widgets.dialogs import FilteredListScreen
from explorer.tui.widgets.differences import DifferenceRows
from explorer.tui.widgets.rows import Rows
from explorer.tui.widgets.table import TableRows
from explorer.views.stewardship import (
    propagated_counts,
    propagated_diff,
    propagated_outcome,
    propagated_page,
    propagated_table,
    propagated_with,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from explorer.stewardship.provenance import PropagatedOutcome, PropagatedText
    from explorer.views.table import Table

__all__ = ["PropagatedScreen"]

_NOTHING: Final = "No propagated texts; p in the worklist proposes some."
_NOT_LISTED: Final = "No text matches; esc shows all."


class PropagatedRows(Rows):
    """The propagated texts."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("propagatedrows")


class PropagatedScreen(FilteredListScreen[Urn]):
    """Lists propagated texts by table and column, above the difference between the one under the
    cursor and its source. Returns the dataset to open, if any."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("propagated")
    TITLE_TEXT = "Propagated texts"
    HINT = "words of a table, a column, a text, or a state such as outdated"
    READING = "reading the propagated texts …"

    def __init__(self, session: TerminalSession) -> None:
        super().__init__(session, PropagatedRows())
        self._texts: Sequence[PropagatedText] = ()
        self._shown: Sequence[PropagatedText] = ()

    def table(self) -> "Table | None":
        """Return the texts that are listed, for a file."""
        return propagated_table(self._shown) if self._shown else None

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer what there is something for."""
        del parameters
        match action:
            case "open" | "text":
                return self._text is not None
            case "pin" | "take_back":
                return self._writing(self._text is not None)
            case "refresh":
                return self._writing(bool(self._outdated))
            case "take_back_all":
                return self._writing(bool(self._shown))
            case "filter":
                return bool(self._texts)
        return True

    def _writing(self, is_offered: bool) -> bool | None:
        return None if is_offered and self._session.read_only else is_offered

    def action_open(self) -> None:
        """Open the page of the table."""
        if self._text is not None:
            self.dismiss(Urn.parse(self._text.urn))

    def action_pin(self) -> None:
        """Pin the text, so that it is never refreshed, or unpin it."""
        text = self._text
        if text is None:
            return
        is_pinned = not text.is_pinned

        async def write(steward: AsyncStewardship) -> "PropagatedOutcome":
            return await steward.pin_propagated([text], is_pinned=is_pinned)

        self._write("pinning the text", "pinned" if is_pinned else "unpinned", write)

    def action_refresh(self) -> None:
        """Update all listed outdated texts from their sources."""
        texts = self._outdated
        if not texts:
            return

        async def write(steward: AsyncStewardship) -> "PropagatedOutcome":
            me = await steward.catalog.me()
            return await steward.refresh_propagated(texts, by=str(me or ""))

        question = f"Write the current texts of their sources to {_columns(len(texts))}?"
        self._ask(question, "refreshing the texts", "refreshed", write)

    def action_take_back(self) -> None:
        """Take back the text under the cursor."""
        if self._text is not None:
            self._ask_to_take_back([self._text])

    def action_take_back_all(self) -> None:
        """Take back all texts that are listed."""
        self._ask_to_take_back(self._shown)

    def _ask_to_take_back(self, texts: "Sequence[PropagatedText]") -> None:
        async def write(steward: AsyncStewardship) -> "PropagatedOutcome":
            return await steward.take_back_propagated(texts)

        question = f"Take back the propagated text of {_columns(len(texts))}?"
        if any(one.state == "changed" for one in texts):
            question += " Texts that people wrote since are kept."
        self._ask(question, "taking back the texts", "taken back", write)

    def _ask(
        self,
        question: str,
        doing: str,
        done: str,
        write: "Callable[[AsyncStewardship], Awaitable[PropagatedOutcome]]",
    ) -> None:
        self.confirm(Text(question, "bold"), partial(self._write, doing, done, write))

    @work(group="write")
    async def _write(
        self,
        doing: str,
        done: str,
        write: "Callable[[AsyncStewardship], Awaitable[PropagatedOutcome]]",
    ) -> None:
        if self._session.refuses_to_write():
            return
        with self._session.reporting(doing):
            outcome = await write(AsyncStewardship(await self._session.catalog()))
            self._session.say(propagated_outcome(outcome, done), error=bool(outcome.failed))
            if self.is_attached:
                self.read()

    @on(Rows.Chosen)
    def _choose(self, event: Rows.Chosen) -> None:
        event.stop()
        self.action_text()

    @property
    def _text(self) -> "PropagatedText | None":
        return self._rows.under_cursor(self._shown)

    @property
    def _outdated(self) -> "list[PropagatedText]":
        return [one for one in self._shown if one.state == "outdated"]

    @work(exclusive=True, group="list")
    async def read(self) -> None:
        """Read the propagated texts, and list them."""
        with self._session.reporting("reading the propagated texts"):
            steward = AsyncStewardship(await self._session.catalog())
            self._texts = await steward.propagated()
            await self.list_again()

    async def show_list(self) -> None:
        """List the texts that match the words, with the cursor on the same one if it is listed."""
        text = self._text
        self._shown = await asyncio.to_thread(propagated_with, self._texts, self.words)
        page = await asyncio.to_thread(propagated_page, self._shown)
        if not self.is_attached:
            return
        keys = [one.key for one in self._shown]
        cursor = keys.index(text.key) if text is not None and text.key in keys else 0
        empty = _NOT_LISTED if self._texts else _NOTHING
        self.query_one(TableRows).show(page, cursor=cursor, empty=empty)
        counts = propagated_counts(self._shown, len(self._texts))
        heading = [Text(self.TITLE_TEXT, "bold"), Text(counts), line_text(self.words, "italic")]
        self.query_one("#heading", Static).update(join(heading))
        self.show_row()

    def show_row(self) -> None:
        """Show the difference between the text under the cursor and its source."""
        text = self._text
        self.query_one(DifferenceRows).show_lines(propagated_diff(text) if text else ())
        self.refresh_bindings()


def _columns(count: int) -> str:
    return "1 column" if count == 1 else f"{count:,} columns"
