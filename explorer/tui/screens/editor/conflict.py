"""Dialogs of the editor: the changes of a save, and a conflict with a text that somebody else
saved."""

import asyncio
from dataclasses import dataclass
from typing import ClassVar, Literal

from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.widgets import Static

from explorer.tui.actions import bindings
from explorer.tui.content import line_text
from explorer.tui.widgets.bars import KeyLine
from explorer.tui.widgets.dialogs import OverlayScreen
from explorer.tui.widgets.differences import DifferenceRows
from explorer.views.diff import Diff, DiffLine, plain_lines, text_diff

__all__ = ["ComparisonAnswer", "ConflictScreen", "DescriptionConflict", "DifferenceScreen"]

ComparisonAnswer = Literal["save", "mine", "theirs", "back"]


class ComparisonScreen(OverlayScreen[ComparisonAnswer]):
    """Shows the difference of texts, and the choices."""

    # Scoped to the class itself, so that it holds for the screens made of it.
    DEFAULT_CSS = """
    ComparisonScreen { align: center middle; }
    ComparisonScreen > Vertical {
        width: 110; max-width: 96%; height: auto; max-height: 92%;
        background: $surface; border: round $primary; padding: 0 1;
    }
    ComparisonScreen #what { dock: top; height: auto; max-height: 4; }
    ComparisonScreen DifferenceRows { height: auto; max-height: 1fr; min-height: 4; }
    """

    def __init__(self, title: str) -> None:
        super().__init__()
        self._of = title

    def compose(self) -> ComposeResult:
        """Yield the heading, the difference, and the keys."""
        with Vertical():
            yield Static(self._question(), id="what", markup=False)
            yield DifferenceRows(has_list=False)
        yield KeyLine()

    def on_mount(self) -> None:
        """Compute the difference."""
        self.set_focus(self.query_one(DifferenceRows))
        self._compare()

    @work(exclusive=True)
    async def _compare(self) -> None:
        rows = self.query_one(DifferenceRows)
        rows.show_lines((), empty="comparing …")
        rows.show_lines(await asyncio.to_thread(self.lines))

    def lines(self) -> Diff:
        """Return the lines to show. The time grows with the size of the texts."""
        raise NotImplementedError

    def _question(self) -> Text:
        return line_text(self._of, "bold")

    def action_back(self) -> None:
        """Go back to the text without saving."""
        self.dismiss("back")


class DifferenceScreen(ComparisonScreen):
    """Compares the saved text with the typed one before saving."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("comparing")

    def __init__(self, title: str, saved: str, mine: str) -> None:
        super().__init__(title)
        self._saved, self._mine = saved, mine

    def lines(self) -> Diff:
        """Return the difference of the saved and the typed text."""
        return text_diff(self._saved, self._mine)

    def _question(self) -> Text:
        return Text.assemble(line_text(self._of, "bold"), "   − saved   + yours")

    def action_save(self) -> None:
        """Save the typed text."""
        self.dismiss("save")


@dataclass(frozen=True, slots=True)
class DescriptionConflict:
    """Three texts of one description: the `base` that the writer started from, what somebody else
    saved meanwhile, and the writer's own; `by` says who that was and when, as far as is known."""

    base: str
    theirs: str
    mine: str
    by: str = ""


class ConflictScreen(ComparisonScreen):
    """Shows the text that somebody else saved and the typed text, each compared with the text that
    both started from. Letters and the editor's keys for saving and using texts do nothing here:
    they may have been meant for the text."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("conflict")

    def __init__(self, title: str, conflict: DescriptionConflict) -> None:
        super().__init__(title)
        self._conflict = conflict

    def lines(self) -> Diff:
        """Return the three texts, each under its name."""
        one = self._conflict
        theirs = f"Theirs, saved by {one.by}" if one.by else "Theirs"
        return (
            _title("Before, when you started"),
            *(plain_lines(one.base) or (_NO_DESCRIPTION,)),
            DiffLine(""),
            _title(theirs),
            *_changes(one.base, one.theirs),
            DiffLine(""),
            _title("Yours"),
            *_changes(one.base, one.mine),
        )

    def _question(self) -> Text:
        return Text.assemble(
            "Not saved: somebody else changed ", line_text(self._of, "bold"), " meanwhile."
        )

    def action_take_mine(self) -> None:
        """Save the typed text instead of theirs."""
        self.dismiss("mine")

    def action_take_theirs(self) -> None:
        """Keep their text, and continue from it."""
        self.dismiss("theirs")


_NO_DESCRIPTION = DiffLine("no description", "note")


def _title(text: str) -> DiffLine:
    return DiffLine(text, "place", "")


def _changes(base: str, text: str) -> Diff:
    return text_diff(base, text) if text else (_NO_DESCRIPTION,)
