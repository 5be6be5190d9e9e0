"""The line in which a list is narrowed while one types."""

from dataclasses import dataclass
from typing import ClassVar

from textual.binding import BindingType
from textual.message import Message
from textual.widgets import Input

from explorer.tui.actions import bindings

__all__ = ["FilterLine"]


class FilterLine(Input):
    """Comes up above a list and takes the keys; every change narrows, ⏎ keeps what is typed and
    goes to the list, escape takes it off."""

    DEFAULT_CSS = """
    FilterLine { display: none; }
    FilterLine, FilterLine:focus { border: none; height: 1; padding: 0 1; background: $surface; }
    """
    BINDINGS: ClassVar[list[BindingType]] = bindings("narrowing")

    @dataclass
    class Left(Message):
        """The line was left; without `keep` nothing is narrowed any more."""

        line: "FilterLine"
        keep: bool

    def __init__(self, placeholder: str) -> None:
        super().__init__(placeholder=placeholder)
        self.cursor_blink = False

    def ask(self) -> None:
        """Come up, with what was typed before."""
        self.display = True
        self.cursor_position = len(self.value)
        self.screen.set_focus(self)

    def put_away(self) -> None:
        """Be gone, and forget what was typed."""
        self.display = False
        with self.prevent(Input.Changed):
            self.value = ""

    def action_keep(self) -> None:
        """Keep what is typed, and go to the list."""
        self.display = bool(self.value.strip())
        self.post_message(self.Left(self, keep=True))

    def action_leave(self) -> None:
        """Take off what is typed, and go to the list."""
        self.put_away()
        self.post_message(self.Left(self, keep=False))
