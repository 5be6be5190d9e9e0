"""The line under the drawing in which something is typed."""

from dataclasses import dataclass
from typing import ClassVar

from textual.binding import BindingType
from textual.message import Message

from explorer.tui.actions import bindings
from explorer.tui.typed import TypedLine

__all__ = ["AskLine"]


class AskLine(TypedLine):
    """The line in which a filter is typed."""

    DEFAULT_CSS = """
    AskLine { display: none; }
    AskLine, AskLine:focus { border: none; height: 1; padding: 0 1; background: $surface; }
    """
    BINDINGS: ClassVar[list[BindingType]] = bindings("asking")

    @dataclass
    class Left(Message):
        """The line was left without an answer."""

    def __init__(self) -> None:
        super().__init__(placeholder="platform:snowflake, type:chart, tags:PII, hops<2 …")
        self.cursor_blink = False

    def ask(self, value: str) -> None:
        """Come up, and take the keys."""
        self.display = True
        self.value = value
        self.cursor_position = len(value)
        self.screen.set_focus(self)

    def action_leave(self) -> None:
        """Cancel."""
        self.post_message(self.Left())
