"""The keys of the history tab's list."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from textual.binding import BindingType
from textual.message import Message

from explorer.tui.actions import bindings
from explorer.tui.rows import Rows

__all__ = ["HistoryRows"]


class HistoryRows(Rows):
    """The list at the left; `able` says which of its actions can be done now."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("history")

    @dataclass
    class Asked(Message):
        """A key asked for something that the tab around the list does."""

        what: str

    def __init__(self, able: Callable[[str], bool]) -> None:
        super().__init__()
        self._able = able

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Only what can be done with what is shown."""
        del parameters
        return self._able(action)

    def action_fold(self) -> None:
        """Expand or collapse an aspect."""
        self.post_message(self.Asked("fold"))

    def action_into(self) -> None:
        """Expand, or go to the text beside."""
        self.post_message(self.Asked("into"))

    def action_out(self) -> None:
        """Fold, or back."""
        self.post_message(self.Asked("out"))

    def action_back(self) -> None:
        """Back to the list before."""
        self.post_message(self.Asked("back"))

    def action_mark(self) -> None:
        """Mark a version to compare with."""
        self.post_message(self.Asked("mark"))

    def action_blame(self) -> None:
        """Who described each column."""
        self.post_message(self.Asked("blame"))

    def action_restore(self) -> None:
        """Put an old description back."""
        self.post_message(self.Asked("restore"))
