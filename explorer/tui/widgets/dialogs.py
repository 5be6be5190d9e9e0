"""What lies over the page: the base of all such screens, and dialogs that confirm a change, discard
what was typed, or ask for one line of text.
"""

from typing import ClassVar, Final, Generic, TypeVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from explorer.tui.actions import bindings
from explorer.tui.widgets.bars import KeyLine
from explorer.tui.widgets.inputs import TypedLine

__all__ = ["ConfirmScreen", "DiscardScreen", "OverlayScreen", "PromptScreen"]

_Result = TypeVar("_Result")
_HELP: Final[list[BindingType]] = [
    one for one in bindings("app") if isinstance(one, Binding) and one.id == "app.help"
]


class OverlayScreen(ModalScreen[_Result], Generic[_Result]):
    """A screen over the page. None of the keys of the page works there but the one for the help,
    which lists the keys of this screen first."""

    BINDINGS: ClassVar[list[BindingType]] = _HELP

    async def action_help(self) -> None:
        """Show the keys that work here."""
        await self.run_action("app.help")


class PromptScreen(OverlayScreen[str | None]):
    """Gives what was typed; nothing where it was left."""

    CSS = """
    PromptScreen { align: center middle; background: $background 60%; }
    PromptScreen:ansi { background: ansi_default; }
    PromptScreen > Vertical {
        width: 64; max-width: 96%; height: auto; background: $surface; border: round $primary;
        border-title-color: $text; padding: 0 1;
    }
    PromptScreen Input, PromptScreen Input:focus { border: none; height: 1; padding: 0; }
    PromptScreen Static { color: $text-muted; height: auto; }
    """
    BINDINGS: ClassVar[list[BindingType]] = bindings("askscreen")
    AUTO_FOCUS = "Input"

    def __init__(self, title: str, hint: str, value: str = "") -> None:
        super().__init__()
        self._title = title
        self._hint = hint
        self._value = value

    def compose(self) -> ComposeResult:
        """The line, and below it what to type."""
        with Vertical() as frame:
            frame.border_title = self._title
            box = TypedLine(self._value, select_on_focus=True)
            box.cursor_blink = False
            yield box
            yield Static(Text(f"{self._hint}   ⏎ take   esc leave"))
        yield KeyLine()

    @on(Input.Submitted)
    def _take(self, event: Input.Submitted) -> None:
        event.stop()
        self.dismiss(event.value.strip() or None)

    def action_leave(self) -> None:
        """Leave, and nothing is done."""
        self.dismiss(None)


class ConfirmScreen(OverlayScreen[bool]):
    """Says what would be done; `ctrl+s` does it, as it writes everywhere else. The text is literal
    and cleaned."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("question")
    # Scoped to the class itself, so that it holds for the screens made of it.
    DEFAULT_CSS = """
    ConfirmScreen { align: center middle; }
    ConfirmScreen > VerticalScroll {
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


class DiscardScreen(ConfirmScreen, inherit_bindings=False):
    """Asks whether what was typed or chosen is to be thrown away; `delete` does it."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings("discard"), *_HELP]
