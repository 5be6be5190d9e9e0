"""A list of any length, of which only what is on screen is ever drawn.

The terminal's tables and lists are all this one widget: a count, and a function that draws a row
when it comes into view. Ten million rows scroll as ten do.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.style import Style
from rich.text import Text
from textual import events
from textual.binding import BindingType
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from explorer.tui.actions import bindings

__all__ = ["DrawRow", "Rows"]

DrawRow = Callable[[int, int], Sequence[Text]]
"""Draws row `index` for a width in cells: its lines, as many as the list's rows are high."""


class Rows(ScrollView, can_focus=True):
    """A list with a cursor. What it shows is given by `show`, and drawn when needed."""

    DEFAULT_CSS = """
    Rows { scrollbar-size-vertical: 1; }
    Rows > .rows--cursor { background: $surface-lighten-2; }
    Rows:focus > .rows--cursor { background: $primary-muted; }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {"rows--cursor"}
    BINDINGS: ClassVar[list[BindingType]] = bindings("list")

    @dataclass
    class Moved(Message):
        """The cursor stands on another row."""

        rows: "Rows"
        index: int

        @property
        def control(self) -> "Rows":
            """The list whose cursor moved."""
            return self.rows

    @dataclass
    class Chosen(Message):
        """The row under the cursor was chosen."""

        rows: "Rows"
        index: int

        @property
        def control(self) -> "Rows":
            """The list of which a row was chosen."""
            return self.rows

    def __init__(self, *, row_height: int = 1) -> None:
        super().__init__()
        self.row_height = row_height
        self.empty = ""
        self.count = 0
        self.cursor = 0
        self._draw: DrawRow | None = None

    def show(self, count: int, draw: DrawRow, *, cursor: int = 0, empty: str = "") -> None:
        """Show `count` rows drawn by `draw`, the cursor on one of them; `empty` is said when
        there are none."""
        self._draw = draw
        self.count = count
        self.empty = empty
        self.cursor = max(0, min(cursor, count - 1))
        self.virtual_size = Size(0, count * self.row_height)
        self._follow()
        self.refresh()

    def grow(self, count: int) -> None:
        """Show more rows of the same, the cursor where it was."""
        self.count = count
        self.virtual_size = Size(0, count * self.row_height)
        self.refresh()

    def move_to(self, index: int) -> None:
        """Put the cursor on a row, as near as there is one, and bring it into view."""
        target = max(0, min(index, self.count - 1))
        if target == self.cursor or not self.count:
            return
        previous, self.cursor = self.cursor, target
        for row in (previous, target):
            self.refresh_lines(row * self.row_height, self.row_height)
        self._follow()
        self.post_message(self.Moved(self, target))

    def render_line(self, y: int) -> Strip:
        """One line of the screen."""
        width = self.scrollable_content_region.width
        row, part = divmod(y + self.scroll_offset.y, self.row_height)
        base = self.rich_style
        if self._draw is None or row >= self.count:
            said = self.empty if y == 1 and self.count == 0 else ""
            text = Text(f"  {said}", style=Style(dim=True, italic=True))
            return self._strip([text], 0, width, base)
        style = base
        if row == self.cursor:
            style = base + self.get_component_rich_style("rows--cursor", partial=True)
        return self._strip(self._draw(row, width), part, width, style)

    def _strip(self, lines: Sequence[Text], part: int, width: int, style: Style) -> Strip:
        text = lines[part].copy() if part < len(lines) else Text()
        text.truncate(max(width, 1), overflow="ellipsis", pad=True)
        text.end = ""
        strip = Strip(text.render(self.app.console), width)
        return strip.apply_style(style).adjust_cell_length(width, style)

    def _follow(self) -> None:
        if self.size.height == 0:
            return
        top = self.cursor * self.row_height
        bottom = top + self.row_height
        first = self.scroll_offset.y
        last = first + self.scrollable_content_region.height
        if top < first:
            self.scroll_to(y=top, animate=False, immediate=True)
        elif bottom > last:
            height = self.scrollable_content_region.height
            self.scroll_to(y=bottom - height, animate=False, immediate=True)

    def on_resize(self) -> None:
        """A list that was hidden, or had another height, brings its cursor into view."""
        self._follow()

    @property
    def _page(self) -> int:
        return max(1, self.scrollable_content_region.height // self.row_height)

    def action_down(self) -> None:
        """One row down."""
        self.move_to(self.cursor + 1)

    def action_up(self) -> None:
        """One row up."""
        self.move_to(self.cursor - 1)

    def action_page_down(self) -> None:
        """One screen down."""
        self.move_to(self.cursor + self._page)

    def action_page_up(self) -> None:
        """One screen up."""
        self.move_to(self.cursor - self._page)

    def action_half_down(self) -> None:
        """Half a screen down."""
        self.move_to(self.cursor + max(1, self._page // 2))

    def action_half_up(self) -> None:
        """Half a screen up."""
        self.move_to(self.cursor - max(1, self._page // 2))

    def action_first(self) -> None:
        """To the first row."""
        self.move_to(0)

    def action_last(self) -> None:
        """To the last row."""
        self.move_to(self.count - 1)

    def action_choose(self) -> None:
        """Choose the row under the cursor."""
        if self.count:
            self.post_message(self.Chosen(self, self.cursor))

    def on_click(self, event: events.Click) -> None:
        """A click puts the cursor on a row; on the row under the cursor it chooses it."""
        row = (event.y + self.scroll_offset.y) // self.row_height
        if row >= self.count:
            return
        if row == self.cursor:
            self.action_choose()
        else:
            self.move_to(row)
