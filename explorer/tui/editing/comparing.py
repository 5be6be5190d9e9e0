"""Two texts side by side in one: what saving would change, and what somebody else wrote."""

import asyncio
from typing import ClassVar, Literal

from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Static

from explorer.tui.actions import bindings
from explorer.tui.content import said
from explorer.tui.history.differences import DifferenceRows, lines_of_text
from explorer.tui.shell.keyline import KeyLine

__all__ = ["Answer", "ComparingScreen", "ConflictScreen"]

Answer = Literal["save", "mine", "theirs", "back"]


class TwoTexts(ModalScreen[Answer]):
    """What differs between two texts, and what can be done about it."""

    # Scoped to the class itself, so that it holds for the screens made of it.
    DEFAULT_CSS = """
    TwoTexts { align: center middle; }
    TwoTexts > Vertical {
        width: 110; max-width: 96%; height: auto; max-height: 92%;
        background: $surface; border: round $primary; padding: 0 1;
    }
    TwoTexts #what { height: auto; max-height: 4; }
    TwoTexts DifferenceRows { height: auto; max-height: 1fr; min-height: 4; }
    """

    def __init__(self, title: str, before: str, after: str) -> None:
        super().__init__()
        self._of = title
        self._before = before
        self._after = after

    def compose(self) -> ComposeResult:
        """What is compared, how it differs, the keys."""
        with Vertical():
            yield Static(self._question(), id="what", markup=False)
            yield DifferenceRows(beside=False)
        yield KeyLine()

    def on_mount(self) -> None:
        """Find out what differs."""
        self.set_focus(self.query_one(DifferenceRows))
        self._compare()

    @work(exclusive=True)
    async def _compare(self) -> None:
        rows = self.query_one(DifferenceRows)
        rows.show_lines((), empty="comparing …")
        rows.show_lines(await asyncio.to_thread(lines_of_text, self._before, self._after))

    def _question(self) -> Text:
        return said(self._of, "bold")

    def action_back(self) -> None:
        """Back to the text, nothing done."""
        self.dismiss("back")


class ComparingScreen(TwoTexts):
    """What was there against what was typed, before it is saved."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("comparing")

    def _question(self) -> Text:
        return Text.assemble(said(self._of, "bold"), "   − saved   + yours")

    def action_save(self) -> None:
        """Save what was typed."""
        self.dismiss("save")


class ConflictScreen(TwoTexts):
    """What somebody else saved meanwhile against what was typed. Letters do nothing here: they may
    have been meant for the text."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("conflict")

    def _question(self) -> Text:
        return Text.assemble(
            "Not saved: somebody else changed ",
            said(self._of, "bold"),
            " meanwhile.\n− saved   + yours",
        )

    def action_take_mine(self) -> None:
        """Save what was typed in the place of theirs."""
        self.dismiss("mine")

    def action_take_theirs(self) -> None:
        """Leave theirs, and go on from it."""
        self.dismiss("theirs")
