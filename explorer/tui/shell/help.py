"""The help screen: every key that works, made from the register of actions."""

from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from explorer.tui.actions import SCOPES, Scope, actions_of, bindings, readable

__all__ = ["HelpScreen"]

_KEYS_WIDTH = 16


class HelpScreen(ModalScreen[None]):
    """The keys, those that work where the reader was first."""

    CSS = """
    HelpScreen { align: center middle; }
    HelpScreen > VerticalScroll {
        width: 78; max-width: 96%; height: auto; max-height: 90%;
        background: $surface; border: round $primary; padding: 0 2; border-title-color: $text;
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = bindings("help")

    def __init__(self, here: tuple[Scope, ...]) -> None:
        super().__init__()
        self._here = here

    def compose(self) -> ComposeResult:
        """One list, scrolled by the arrow keys."""
        with VerticalScroll() as scroll:
            scroll.border_title = "Keys"
            yield Static(self._text())

    def _text(self) -> Text:
        rest = [scope for scope in SCOPES if scope not in (*self._here, "help")]
        parts = []
        for scope in (*self._here, *rest):
            part = Text(f"\n{SCOPES[scope]}", "bold")
            if scope in self._here:
                part.append("  here", "dim")
            for action in actions_of(scope):
                if not action.help:
                    continue
                keys = " ".join(readable(key) for key in action.keys)
                part.append(f"\n  {keys:<{_KEYS_WIDTH}}", "bold")
                part.append(action.help)
            parts.append(part)
        return Text("\n").join(parts)

    def action_close(self) -> None:
        """Back to where the reader was."""
        self.dismiss()
