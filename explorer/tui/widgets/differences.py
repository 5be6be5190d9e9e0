"""The widget that shows a diff."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from rich.text import Text
from textual.binding import BindingType
from textual.message import Message

from explorer.tui.actions import bindings
from explorer.tui.content import block
from explorer.tui.widgets.rows import TextRows, wrapped_parts
from explorer.views.diff import Diff, DiffLine, LineKind

if TYPE_CHECKING:
    from rich.style import Style

__all__ = ["DifferenceRows"]

_STYLES: dict[LineKind, str] = {
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

    class Left(Message):
        """Asks to go back to the list beside it."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"differences--added", "differences--removed"}

    def __init__(self, *, has_list: bool = True) -> None:
        super().__init__()
        self._has_list = has_list
        self._lines: Diff = ()
        self._wrapped: list[DiffLine] = []
        self._wrapped_at = 0

    def show_lines(self, lines: Diff, *, empty: str = "") -> None:
        """Show the lines from the top; `empty` is shown when there are none."""
        self._lines = lines
        self.empty = empty
        self._wrap()
        self.scroll_to(y=0, animate=False, immediate=True)

    def action_leave(self) -> None:
        """Go back to the list."""
        self.post_message(self.Left())

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
        self._wrapped = list(_wrapped(self._lines, max(width - 2, 8)))
        self.show(len(self._wrapped), self._draw_line, empty=self.empty)

    def _draw_line(self, index: int, width: int) -> tuple[Text]:
        del width
        one = self._wrapped[index]
        style: Style | str = _STYLES.get(one.kind, "")
        if one.kind in ("added", "removed"):
            style = self.get_component_rich_style(f"differences--{one.kind}", partial=True)
        text = Text(f" {one.mark} " if one.mark else " ", style)
        for segment, is_changed in one.segments():
            text.append(Text(segment, _CHANGED if is_changed else ""))
        return (text,)


def _wrapped(lines: Iterable[DiffLine], width: int) -> Iterator[DiffLine]:
    for one in lines:
        shown = one.cleaned(block)
        indent = 2 if shown.mark else 0
        if cell_len(shown.text) + indent <= width:
            yield shown
            continue
        # The rest of a line is indented like its text, not like its mark.
        start = 0
        for part in wrapped_parts(shown.text, width - indent):
            end = start + len(part)
            changed = tuple(
                (max(first, start) - start, min(last, end) - start)
                for first, last in shown.changed
                if first < end and last > start
            )
            mark = " " if start and shown.mark else shown.mark
            yield replace(shown, text=part, mark=mark, changed=changed)
            start = end
