"""A virtual list, which draws only the visible rows; a table, which is a list below a line of
headings; and a diff.

All tables and lists of the application use this widget: it has a row count and a function that
draws a visible row, so its cost does not depend on the number of rows.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Final, Self, TypeVar

from rich.cells import cell_len
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.geometry import Region, Size
from textual.message import Message
from textual.screen import Screen
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Static

from explorer.tui.actions import bindings
from explorer.tui.content import block, line, padded, without_start
from explorer.views.table import Cell, Table, TableColumn, cell_text

if TYPE_CHECKING:
    from explorer.views.diff import Diff, DiffLine, LineKind


def strip_of(line: Text, width: int, style: Style) -> Strip:
    """Return one line of text as a strip of a width in cells, cut or padded, in a style."""
    text = line.copy()
    text.truncate(max(width, 1), overflow="ellipsis", pad=True)
    text.end = ""
    segments = text.render(_CONSOLE) if text.spans else [Segment(text.plain, _style_of(text))]
    strip = Strip(_join_segments(segments), width)
    return strip.apply_style(style).adjust_cell_length(width, style)


def _style_of(text: Text) -> Style:
    """Return the base style of a text. (Rich ignores it when it renders a text without spans.)"""
    return _CONSOLE.get_style(text.style, default=Style.null())


def _join_segments(segments: Iterable[Segment]) -> list[Segment]:
    """Merge segments that look alike: each segment costs about forty bytes of output, and blanks
    look the same in most styles."""
    joined: list[Segment] = []
    for segment in segments:
        if not segment.text:
            continue
        if joined:
            text, style, _ = joined[-1]
            if style == segment.style or _is_blank(segment.text, segment.style, style):
                joined[-1] = Segment(text + segment.text, style)
                continue
            if _is_blank(text, style, segment.style):
                joined[-1] = Segment(text + segment.text, segment.style)
                continue
        joined.append(segment)
    return joined


def _is_blank(text: str, style: Style | None, other_style: Style | None) -> bool:
    """Return whether a text shows only its background, and would look the same in another style."""
    return text.isspace() and _ground(style) == _ground(other_style)


def _ground(style: Style | None) -> tuple[object, ...]:
    if style is None:
        return _NO_GROUND
    lines = (style.underline, style.underline2, style.strike, style.overline, style.link)
    ink = style.color if style.reverse else None
    return (style.bgcolor, bool(style.reverse), ink, *(line_style or None for line_style in lines))


_CONSOLE = Console()
_NO_GROUND = _ground(Style.null())


class SizeAware(Widget):
    """A widget whose `on_resize` runs whenever its size changed, the first layout included.

    Textual 8.2 sends `Resize` to the widgets that are new in its layout map. If a region is looked
    up between the mount and the layout, which setting the focus does, the widget is in the map
    before the layout begins and the event is never sent. So the size is compared after every
    layout.
    """

    _notified_size: Size | None = None

    def on_mount(self) -> None:
        """Compare the size after every layout of the screen."""
        self.screen.screen_layout_refresh_signal.subscribe(self, self._notice_size, immediate=True)

    def _notice_size(self, screen: Screen[object]) -> None:
        del screen
        if self.outer_size != self._notified_size:
            self._notified_size = self.outer_size
            # If Textual sent its own event, too, it merges the two.
            self.post_message(
                events.Resize(self.outer_size, self.virtual_size, self.container_size)
            )


def wrap_parts(line: str, width: int) -> Iterator[str]:
    """Wrap a line into parts of at most `width` cells, broken after spaces if there are any; joined
    they are the line. An empty line is one part."""
    width, at = max(width, 2), 0
    while True:
        end = at + width
        while cell_len(line[at:end]) > width:
            end -= max((cell_len(line[at:end]) - width) // 2, 1)
        if end < len(line):
            space = line.rfind(" ", at, end)
            # Not within the indent of a line.
            end = space + 1 if line[at : max(space, at)].strip() else end
        yield line[at:end]
        if end >= len(line):
            return
        at = end


DrawRow = Callable[[int, int], Sequence[Text]]
"""Called with a row's index and a width in cells; returns the lines of the row, as many as the row
height. Drawn rows are cached: after a change of their data, call `show`, `grow`, `refresh` or
`refresh_lines`."""

_KEPT_ROWS = 200

_Listed = TypeVar("_Listed")

MARK = "◆"
"""The sign before a marked row."""


class Rows(ScrollView, SizeAware, can_focus=True):
    """A list with a cursor. Its rows are set by `show`, and drawn when they become visible."""

    DEFAULT_CSS = """
    Rows { scrollbar-size-vertical: 1; }
    Rows > .rows--cursor { background: $surface-lighten-2; }
    Rows:focus > .rows--cursor { background: $primary-muted; }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {"rows--cursor"}
    BINDINGS: ClassVar[list[BindingType]] = bindings("list")
    has_cursor: ClassVar[bool] = True

    @dataclass
    class Moved(Message):
        """The cursor moved to another row."""

        rows: "Rows"
        index: int

        @property
        def control(self) -> "Rows":
            """Return the list whose cursor moved."""
            return self.rows

    @dataclass
    class Chosen(Message):
        """The row under the cursor was chosen."""

        rows: "Rows"
        index: int

        @property
        def control(self) -> "Rows":
            """Return the list whose row was chosen."""
            return self.rows

    def __init__(self, *, row_height: int = 1) -> None:
        # The cache of drawn rows, so that scrolling by a row draws only one; and the base style of
        # the widget.
        self._drawn: dict[tuple[int, int, Style], list[Strip]] = {}
        self._base = Style.null()
        super().__init__()
        self.row_height = row_height
        self.empty = ""
        self.count = 0
        self.cursor = 0
        self._draw: DrawRow | None = None

    def show(self, count: int, draw: DrawRow, *, cursor: int = 0, empty: str = "") -> None:
        """Show `count` rows drawn by `draw`, with the cursor on one of them; `empty` is shown if
        there are none."""
        self._draw = draw
        was_empty, self.count = not self.count, count
        self.empty = empty
        self.cursor = max(0, min(cursor, count - 1))
        self.virtual_size = Size(0, count * self.row_height)
        self._follow()
        self.refresh()
        if was_empty != (not count):
            self.refresh_bindings()

    @property
    def draw(self) -> DrawRow | None:
        """Return the function that draws a row, None if nothing is shown."""
        return self._draw

    def under_cursor(self, listed: Sequence[_Listed]) -> _Listed | None:
        """Return the item under the cursor, where `listed` has one item for each row; None if there
        is none."""
        return listed[self.cursor] if self.cursor < len(listed) else None

    def grow(self, count: int) -> None:
        """Increase the number of rows; the cursor stays."""
        self.count = count
        self.virtual_size = Size(0, count * self.row_height)
        self.refresh()

    def move_to(self, index: int) -> None:
        """Move the cursor to a row, or the nearest one, and scroll it into view."""
        target = max(0, min(index, self.count - 1))
        if target == self.cursor or not self.count:
            return
        previous, self.cursor = self.cursor, target
        # Without the scroll bar, which does not change.
        width = self.scrollable_content_region.width
        for row in (previous, target):
            y = row * self.row_height - self.scroll_offset.y
            self.refresh(Region(0, y, width, self.row_height))
        self._follow()
        self.post_moved()

    def post_moved(self) -> None:
        """Post the message that the cursor moved to another row."""
        self.post_message(self.Moved(self, self.cursor))

    def refresh(
        self,
        *regions: Region,
        repaint: bool = True,
        layout: bool = False,
        recompose: bool = False,
    ) -> Self:
        """Repaint; without regions also redraw all rows."""
        if not regions:
            self._drawn.clear()
        return super().refresh(*regions, repaint=repaint, layout=layout, recompose=recompose)

    def refresh_lines(self, y_start: int, line_count: int = 1) -> None:
        """Redraw some lines."""
        self._drawn.clear()
        super().refresh_lines(y_start, line_count)

    def render_lines(self, crop: Region) -> list[Strip]:
        """Render the visible lines on one common background. The widget has no border or padding,
        so cached lines are returned unchanged."""
        if not self.is_attached:
            # Textual may paint a list once more after it was removed and has lost its styles.
            return [Strip.blank(crop.width)] * crop.height
        self._base = self.rich_style
        if self.styles.gutter or self.opacity < 1:
            return super().render_lines(crop)
        _, ground = self.background_colors
        filters = self.get_line_filters()
        lines: list[Strip] = []
        for y in crop.line_range:
            line = self.render_line(y)
            for gate in filters:
                line = line.apply_filter(gate, ground)
            lines.append(line.crop(*crop.column_span))
        return lines

    def render_line(self, y: int) -> Strip:
        """Render one line."""
        width = self.scrollable_content_region.width
        row, part = divmod(y + self.scroll_offset.y, self.row_height)
        if self._draw is None or row >= self.count:
            message_lines = list(wrap_parts(self.empty, width - 4)) if self.count == 0 else []
            message = message_lines[y - 1] if 0 < y <= len(message_lines) else ""
            if not message:
                return self._widen(Strip.blank(width, self._base))
            return self._widen(strip_of(Text(f"  {message}", "dim italic"), width, self._base))
        style = self._base
        if row == self.cursor and self.has_cursor:
            style += self.get_component_rich_style("rows--cursor", partial=True)
        key = row, width, style
        strips = self._drawn.get(key)
        if strips is None:
            if len(self._drawn) >= _KEPT_ROWS:
                self._drawn.clear()
            lines = self._draw(row, width)
            strips = self._drawn[key] = [
                self._widen(strip_of(row_line, width, style)) for row_line in lines
            ]
        return strips[part] if part < len(strips) else self._widen(Strip.blank(width, style))

    def _widen(self, line: Strip) -> Strip:
        """Return a line extended to the width of the list, with its last cell under the scroll
        bar."""
        return line.adjust_cell_length(max(self.size.width, line.cell_length), self._base)

    def _follow(self) -> None:
        """Scroll the cursor into view."""
        height = self.scrollable_content_region.height
        if not height:
            return
        top, first = self.cursor * self.row_height, self.scroll_offset.y
        self._scroll(max(top + self.row_height - height, min(first, top)))

    def _scroll(self, first: int) -> None:
        """Scroll to a line."""
        # `force`, because new rows may be scrolled to before the scroll bar is shown.
        if first != self.scroll_offset.y:
            self.scroll_to(y=first, animate=False, immediate=True, force=True)

    def on_resize(self) -> None:
        """Scroll the cursor into view after a resize."""
        self._follow()

    @property
    def _page(self) -> int:
        return max(1, self.scrollable_content_region.height // self.row_height)

    def action_down(self) -> None:
        """Move one row down."""
        self.move_to(self.cursor + 1)

    def action_up(self) -> None:
        """Move one row up."""
        self.move_to(self.cursor - 1)

    def action_page_down(self) -> None:
        """Move one screen down."""
        self.move_to(self.cursor + self._page)

    def action_page_up(self) -> None:
        """Move one screen up."""
        self.move_to(self.cursor - self._page)

    def action_half_down(self) -> None:
        """Move half a screen down."""
        self.move_to(self.cursor + max(1, self._page // 2))

    def action_half_up(self) -> None:
        """Move half a screen up."""
        self.move_to(self.cursor - max(1, self._page // 2))

    def action_first(self) -> None:
        """Go to the first row."""
        self.move_to(0)

    def action_last(self) -> None:
        """Go to the last row."""
        self.move_to(self.count - 1)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Allow choosing a row only if there is one."""
        if action == "choose":
            return self.count > 0
        return super().check_action(action, parameters)

    def action_choose(self) -> None:
        """Choose the row under the cursor."""
        if self.count:
            self.post_message(self.Chosen(self, self.cursor))

    def on_click(self, event: events.Click) -> None:
        """Move the cursor to the clicked row; choose the row that is under the cursor already."""
        row = (event.y + self.scroll_offset.y) // self.row_height
        if row >= self.count:
            return
        if row == self.cursor:
            self.action_choose()
        else:
            self.move_to(row)


@dataclass
class ActionRequested(Message):
    """Asks the widget around a list to run an action."""

    action: str


class ActionRows(Rows):
    """A list with keys for actions of the widget around it; `offers(name)` returns whether an
    action is available."""

    def __init__(self, offers: Callable[[str], bool] = lambda _: True) -> None:
        super().__init__()
        self._offers = offers

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Return whether an action can be done now."""
        if action == "ask":
            return self._offers(str(parameters[0]))
        return super().check_action(action, parameters)

    def action_ask(self, action: str) -> None:
        """Run an action of the widget around the list."""
        self.post_message(ActionRequested(action))


class TextRows(Rows):
    """A scrollable text without a cursor; `cursor` is the top line."""

    has_cursor = False

    def move_to(self, index: int) -> None:
        """Scroll so that a line is as near to the top as possible."""
        self._scroll(max(0, min(index, self.count - self._page)))

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Record the top line after scrolling."""
        super().watch_scroll_y(old_value, new_value)
        self._follow()

    def on_click(self, event: events.Click) -> None:
        """Do nothing: no line can be chosen."""
        event.prevent_default()

    def _follow(self) -> None:
        self.cursor = self.scroll_offset.y


_MEASURED_ROWS: Final = 500
_GAP: Final = 2
_NARROWEST: Final = 18
"""The least width, in cells, to which a text column is cut before another column is left out."""


class TableRows(Vertical):
    """Shows a `Table`. Numbers are right-aligned; a column is as wide as its longest value in the
    first rows. If there is less room, texts are cut first, then dim columns are left out from the
    right."""

    DEFAULT_CSS = """
    TableRows > Static { height: 1; color: $text-muted; }
    TableRows > Rows { height: 1fr; }
    """

    def __init__(self, rows: Rows | None = None) -> None:
        super().__init__()
        self.rows = rows or Rows()
        """The list below the headings."""
        self._table = Table((), ())
        self._widths: dict[int, int] = {}
        self._measured_width = -1

    def compose(self) -> ComposeResult:
        """Yield the headings and the list."""
        yield Static("", markup=False)
        yield self.rows

    def show(self, table: Table, *, cursor: int = 0, empty: str = "") -> None:
        """Show a table with the cursor on one of its rows; `empty` is shown when it has none."""
        self._table = table
        self._measured_width = -1
        self.rows.show(len(table.rows), self._draw_row, cursor=cursor, empty=empty)
        # The scroll bar may appear or disappear with the new rows.
        self.call_after_refresh(self._show_headings)

    def table(self) -> Table | None:
        """Return the shown table, for a file; None if nothing is shown."""
        return self._table if self._table.rows else None

    def on_resize(self) -> None:
        """Draw the headings for the new width."""
        self.call_after_refresh(self._show_headings)

    def _show_headings(self) -> None:
        # As wide as the rows, without the scroll bar.
        width = self.rows.scrollable_content_region.width
        if width:
            columns = self._table.columns
            cells = [Text(column.title) for column in columns]
            self.query_one(Static).update(
                self._join_cells(cells, width) if self._table.rows else ""
            )

    def _draw_row(self, index: int, width: int) -> tuple[Text]:
        row = self._table.rows[index]
        cells = [
            Text(_format_cell(cell, column), column.style) if column.is_for("people") else Text()
            for cell, column in zip(row, self._table.columns, strict=True)
        ]
        return (self._join_cells(cells, width),)

    def _join_cells(self, cells: Sequence[Text], width: int) -> Text:
        """Return on one line the cells of the columns that fit."""
        if width != self._measured_width:
            self._measured_width = width
            self._widths = _column_widths(self._table, width)
        text = Text(" ")
        for at, room in self._widths.items():
            text.append("" if at == next(iter(self._widths)) else " " * _GAP)
            cell = cells[at]
            if _is_number(self._table, at):
                text.append(" " * max(room - cell.cell_len, 0))
                text.append_text(cell)
            else:
                from_start = self._table.columns[at].cut == "start"
                text.append_text(padded(without_start(cell, room) if from_start else cell, room))
        return text


def _format_cell(cell: Cell, column: TableColumn) -> str:
    return line(cell_text(cell, column))


def _is_number(table: Table, at: int) -> bool:
    """Return whether a column has numbers, judging by its first known value."""
    cells = (row[at] for row in table.rows[:_MEASURED_ROWS])
    first = next((cell for cell in cells if cell is not None), None)
    return isinstance(first, int | float) and not isinstance(first, bool)


def _column_widths(table: Table, width: int) -> dict[int, int]:
    """Return the width in cells of each shown column, by its index in the table."""
    widths = {}
    for at, column in enumerate(table.columns):
        if not column.is_for("people"):
            continue
        cells = (cell_len(_format_cell(row[at], column)) for row in table.rows[:_MEASURED_ROWS])
        natural = max(cell_len(column.title), max(cells, default=0))
        widths[at] = min(natural, column.max_width or natural)
    while True:
        room = width - 2 - _GAP * (len(widths) - 1)
        texts = [at for at in widths if table.columns[at].folds]
        fixed = sum(size for at, size in widths.items() if at not in texts)
        least = sum(min(widths[at], _NARROWEST) for at in texts)
        lesser = [at for at in widths if table.columns[at].style == "dim"]
        if fixed + least <= room or not lesser:
            return widths | _share_room({at: widths[at] for at in texts}, max(room - fixed, 0))
        del widths[lesser[-1]]


def _share_room(widths: dict[int, int], room: int) -> dict[int, int]:
    """Return the widths of columns in `room` cells: narrow ones get their full width, the others
    equal shares."""
    shares: dict[int, int] = {}
    rest = room
    for count, (at, size) in zip(
        range(len(widths), 0, -1), sorted(widths.items(), key=lambda entry: entry[1]), strict=True
    ):
        shares[at] = min(size, rest // count)
        rest -= shares[at]
    return shares


_STYLES: dict["LineKind", str] = {
    "place": "bold",
    "minor": "dim",
    "gap": "dim",
    "note": "dim italic",
}
_CHANGED = "bold underline"


class DifferenceRows(TextRows):
    """A scrollable diff; long lines are wrapped.

    `has_list` means that there is a list to go back to.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings("difference")
    DEFAULT_CSS = """
    DifferenceRows > .differences--added { color: $text-success; }
    DifferenceRows > .differences--removed { color: $text-error; }
    """

    class DifferenceClosed(Message):
        """Asks to go back to the list beside the diff."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"differences--added", "differences--removed"}

    def __init__(self, *, has_list: bool = True) -> None:
        super().__init__()
        self._has_list = has_list
        self._lines: Diff = ()
        self._wrapped: list[DiffLine] = []
        self._wrapped_at = 0

    def show_lines(self, lines: "Diff", *, empty: str = "") -> None:
        """Show the lines from the top; `empty` is shown when there are none."""
        self._lines = lines
        self.empty = empty
        self._wrap()
        self.scroll_to(y=0, animate=False, immediate=True)

    def action_leave(self) -> None:
        """Go back to the list."""
        self.post_message(self.DifferenceClosed())

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disable choosing: the lines are only for reading."""
        del parameters
        return action != "choose" and (self._has_list or action != "leave")

    def on_resize(self) -> None:
        """Wrap the lines again if the width has changed."""
        if self.scrollable_content_region.width != self._wrapped_at:
            self._wrap()
        super().on_resize()

    def _wrap(self) -> None:
        # Leave room for the scroll bar, which appears once there are lines.
        width = self._wrapped_at = self.scrollable_content_region.width
        self._wrapped = list(_wrap_lines(self._lines, max(width - 2, 8)))
        self.show(len(self._wrapped), self._draw_line, empty=self.empty)

    def _draw_line(self, index: int, width: int) -> tuple[Text]:
        del width
        diff_line = self._wrapped[index]
        style: Style | str = _STYLES.get(diff_line.kind, "")
        if diff_line.kind in ("added", "removed"):
            style = self.get_component_rich_style(f"differences--{diff_line.kind}", partial=True)
        text = Text(f" {diff_line.mark} " if diff_line.mark else " ", style)
        for segment, is_changed in diff_line.segments():
            text.append(Text(segment, _CHANGED if is_changed else ""))
        return (text,)


def _wrap_lines(lines: "Iterable[DiffLine]", width: int) -> "Iterator[DiffLine]":
    """Yield the lines of a diff, wrapped to a width."""
    for diff_line in lines:
        clean_line = diff_line.cleaned(block)
        indent = 2 if clean_line.mark else 0
        if cell_len(clean_line.text) + indent <= width:
            yield clean_line
            continue
        # Continuation lines are indented like the text of the line, after its mark.
        start = 0
        for part in wrap_parts(clean_line.text, width - indent):
            end = start + len(part)
            changed = tuple(
                (max(first, start) - start, min(last, end) - start)
                for first, last in clean_line.changed
                if first < end and last > start
            )
            mark = " " if start and clean_line.mark else clean_line.mark
            yield replace(clean_line, text=part, mark=mark, changed=changed)
            start = end
