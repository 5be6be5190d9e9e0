"""A line over the screen in which one thing is asked: a name, a number."""

from typing import ClassVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from explorer.tui.actions import bindings
from explorer.tui.shell.keyline import KeyLine
from explorer.tui.typed import TypedLine

__all__ = ["AskScreen"]


class AskScreen(ModalScreen[str | None]):
    """Gives what was typed; nothing where it was left."""

    CSS = """
    AskScreen { align: center middle; background: $background 60%; }
    AskScreen:ansi { background: ansi_default; }
    AskScreen > Vertical {
        width: 64; max-width: 96%; height: auto; background: $surface; border: round $primary;
        border-title-color: $text; padding: 0 1;
    }
    AskScreen Input, AskScreen Input:focus { border: none; height: 1; padding: 0; }
    AskScreen Static { color: $text-muted; height: auto; }
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
