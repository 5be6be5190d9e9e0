"""The line in which a label is typed, and the list of those that may be put on."""

from collections.abc import Callable
from typing import ClassVar, Literal

from rich.text import Text
from textual import events
from textual.binding import BindingType
from textual.message import Message

from explorer.tui.actions import bindings
from explorer.tui.content import padded, preview, said
from explorer.tui.labelling.choice import State
from explorer.tui.rows import Rows
from explorer.tui.typed import HintedLine

__all__ = ["LabelLine", "LabelRows", "draw_label"]

_MARKS: dict[State, tuple[str, str]] = {
    "on": (" ● ", "bold"),
    "off": (" ○ ", "dim"),
    "added": (" + ", "bold"),
    "removed": (" − ", "bold"),
    "fixed": (" ◆ ", "bold"),
}
_USES_WIDTH = 10
_ROOM_FOR_TEXT = 12

_Step = Literal["down", "up", "page_down", "page_up"]


class LabelLine(HintedLine):
    """The line above the list; up and down move in the list while it has the keys."""

    DEFAULT_CSS = """
    LabelLine, LabelLine:focus { border: none; height: 1; padding: 0 1; background: $panel; }
    """
    BINDINGS: ClassVar[list[BindingType]] = bindings("labelline")

    class Turned(Message):
        """What is under the list's cursor is to be put on or taken off."""

    class ToRows(Message):
        """The list is to have the keys."""

    def __init__(self, move: Callable[[_Step], None], placeholder: str) -> None:
        super().__init__(placeholder=placeholder)
        self.cursor_blink = False
        self._move = move

    def action_turn(self) -> None:
        """Put on or take off."""
        self.post_message(self.Turned())

    def on_key(self, event: events.Key) -> None:
        """A space while typing would begin anew puts on or takes off, as in the list."""
        if event.key == "space" and self.selected_text == self.value:
            event.stop()
            event.prevent_default()
            self.action_turn()

    def action_down(self) -> None:
        """A row down."""
        self._move("down")

    def action_up(self) -> None:
        """A row up."""
        self._move("up")

    def action_page_down(self) -> None:
        """A screen of rows down."""
        self._move("page_down")

    def action_page_up(self) -> None:
        """A screen of rows up."""
        self._move("page_up")

    def action_to_rows(self) -> None:
        """Into the list."""
        self.post_message(self.ToRows())


class LabelRows(Rows):
    """What may be put on, each with a mark."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("labelrows")

    class ToLine(Message):
        """The line is to have the keys."""

    def action_turn(self) -> None:
        """Put on or take off what is under the cursor."""
        self.action_choose()

    def action_to_line(self) -> None:
        """Back to typing."""
        self.post_message(self.ToLine())

    def move(self, step: _Step) -> None:
        """Move the cursor from outside."""
        match step:
            case "down":
                self.action_down()
            case "up":
                self.action_up()
            case "page_down":
                self.action_page_down()
            case "page_up":
                self.action_page_up()


def draw_label(state: State, name: str, about: str, used: str, width: int, name_width: int) -> Text:
    """A row: the mark, the name, on how many it is, what it is."""
    mark, style = _MARKS[state]
    room = min(name_width, max(width - 3 - _USES_WIDTH, 8))
    row = Text(mark, style)
    row.append_text(padded(said(name, "" if state == "off" else "bold"), room))
    left = width - 3 - room
    if left >= _USES_WIDTH:
        row.append(f"{used:>{_USES_WIDTH - 1}} ", "dim")
        left -= _USES_WIDTH
    if left >= _ROOM_FOR_TEXT:
        row.append("  ").append_text(padded(preview(about, "dim"), left - 2))
    return row
