"""One question that is answered before anything is done. No letter answers it: letters may have
been meant for something else, and come here too late."""

from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from explorer.tui.actions import bindings
from explorer.tui.shell.keyline import KeyLine

__all__ = ["DiscardScreen", "QuestionScreen"]


class QuestionScreen(ModalScreen[bool]):
    """Says what would be done; `ctrl+s` does it, as it writes everywhere else. The text is literal
    and cleaned."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("question")
    # Scoped to the class itself, so that it holds for the screens made of it.
    DEFAULT_CSS = """
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


class DiscardScreen(QuestionScreen, inherit_bindings=False):
    """Asks whether what was typed or chosen is to be thrown away; `delete` does it."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("discard")
