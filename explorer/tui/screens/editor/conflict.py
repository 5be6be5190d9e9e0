"""Dialogs of the editor: what a save changes, and a text that somebody else saved meanwhile."""

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
from explorer.tui.content import said
from explorer.tui.widgets.bars import KeyLine
from explorer.tui.widgets.dialogs import OverlayScreen
from explorer.tui.widgets.differences import DifferenceRows
from explorer.views.diff import Diff, DiffLine, plain_lines, text_diff

__all__ = ["ComparisonAnswer", "ConflictScreen", "DescriptionConflict", "DifferenceScreen"]

ComparisonAnswer = Literal["save", "mine", "theirs", "back"]


class ComparisonScreen(OverlayScreen[ComparisonAnswer]):
    """What differs between texts, and what can be done about it."""

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
        rows.show_lines(await asyncio.to_thread(self.lines))

    def lines(self) -> Diff:
        """Return what is shown. Takes as long as the texts are large."""
        raise NotImplementedError

    def _question(self) -> Text:
        return said(self._of, "bold")

    def action_back(self) -> None:
        """Back to the text, nothing done."""
        self.dismiss("back")


class DifferenceScreen(ComparisonScreen):
    """What was there against what was typed, before it is saved."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("comparing")

    def __init__(self, title: str, saved: str, mine: str) -> None:
        super().__init__(title)
        self._saved, self._mine = saved, mine

    def lines(self) -> Diff:
        """Return what was typed against what was there."""
        return text_diff(self._saved, self._mine)

    def _question(self) -> Text:
        return Text.assemble(said(self._of, "bold"), "   − saved   + yours")

    def action_save(self) -> None:
        """Save what was typed."""
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
    """What somebody else saved meanwhile, and what was typed, each against the text that both
    started from. Letters do nothing here, nor do the keys that save a text or take one: they may
    have been meant for the text."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("conflict")

    def __init__(self, title: str, conflict: DescriptionConflict) -> None:
        super().__init__(title)
        self._conflict = conflict

    def lines(self) -> Diff:
        """Return the three texts, each under its name."""
        one = self._conflict
        theirs = f"Theirs, saved by {one.by}" if one.by else "Theirs"
        return (
            _title("Before, when you began"),
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
            "Not saved: somebody else changed ", said(self._of, "bold"), " meanwhile."
        )

    def action_take_mine(self) -> None:
        """Save what was typed in the place of theirs."""
        self.dismiss("mine")

    def action_take_theirs(self) -> None:
        """Leave theirs, and go on from it."""
        self.dismiss("theirs")


_NO_DESCRIPTION = DiffLine("no description", "note")


def _title(text: str) -> DiffLine:
    return DiffLine(text, "place", "")


def _changes(base: str, text: str) -> Diff:
    return text_diff(base, text) if text else (_NO_DESCRIPTION,)
