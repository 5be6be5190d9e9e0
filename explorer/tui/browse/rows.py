"""The list in which the folders stand, and the line that narrows them."""

from collections.abc import Callable
from typing import ClassVar

from textual import events
from textual.binding import BindingType
from textual.geometry import Size
from textual.message import Message
from textual.widgets import Input

from explorer.tui.actions import bindings
from explorer.tui.rows import Rows

__all__ = ["FolderFilter", "FolderRows"]


class FolderRows(Rows):
    """Rows that come and go around the cursor; `edge` gives the row of the first or the last
    entry, seen from the cursor."""

    def __init__(self, edge: Callable[[bool], int]) -> None:
        super().__init__()
        self._edge = edge

    class Looked(Message):
        """Other rows are on screen."""

    def refit(self, count: int, cursor: int, line: int) -> None:
        """Show another number of rows, the cursor on one of them and on that line of the screen."""
        self.count = count
        self.cursor = max(0, min(cursor, count - 1))
        self.virtual_size = Size(0, count * self.row_height)
        self._scroll(max(0, self.cursor - line))
        self._follow()
        self.refresh()

    def action_first(self) -> None:
        """To the first entry of the folder; from there, to the first row."""
        self.move_to(self._edge(False))

    def action_last(self) -> None:
        """To the last entry of the folder; from there, to the last row."""
        self.move_to(self._edge(True))

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Tell whoever reads what is on screen."""
        super().watch_scroll_y(old_value, new_value)
        if round(old_value) != round(new_value):
            self.post_message(self.Looked())

    def on_resize(self, event: events.Resize | None = None) -> None:
        """Tell it of more room, too; the list's own part Textual has done besides."""
        del event
        self.post_message(self.Looked())


class FolderFilter(Input):
    """Takes a part of a name; the folder follows what is typed."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("folderfilter")

    class Left(Message):
        """On to the rows, or back to all of them."""

        def __init__(self, *, cleared: bool) -> None:
            super().__init__()
            self.cleared = cleared

    def action_to_rows(self) -> None:
        """To what was found."""
        self.post_message(self.Left(cleared=False))

    def action_leave(self) -> None:
        """Back to everything."""
        self.post_message(self.Left(cleared=True))
