"""One question that is answered with yes or no before anything is done."""

from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from explorer.tui.actions import bindings
from explorer.tui.shell.keyline import KeyLine

__all__ = ["QuestionScreen"]


class QuestionScreen(ModalScreen[bool]):
    """Says what would be done; only `y` does it. The text is literal and cleaned."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("question")
    CSS = """
    QuestionScreen { align: center middle; }
    QuestionScreen > VerticalScroll {
        width: 76; max-width: 96%; height: auto; max-height: 80%;
        background: $surface; border: round $primary; padding: 0 1; scrollbar-size-vertical: 1;
    }
    """

    def __init__(self, question: Text) -> None:
        super().__init__()
        self._question = question

    def compose(self) -> ComposeResult:
        """The question, the keys."""
        with VerticalScroll():
            yield Static(self._question, markup=False)
        yield KeyLine()

    def action_confirm(self) -> None:
        """Yes."""
        self.dismiss(True)

    def action_cancel(self) -> None:
        """No."""
        self.dismiss(False)
