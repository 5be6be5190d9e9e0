"""A line to type in that shows what it holds, whoever wrote it."""

from rich.cells import cell_len
from rich.text import Text
from textual.geometry import Size
from textual.reactive import Reactive
from textual.strip import Strip
from textual.widgets import Input

from explorer.client.display import visible

__all__ = ["HintedLine", "TypedLine"]

# Both would move what stands behind them.
_BREAKING = str.maketrans({"\t": "␉", "\n": "␊"})
# All of a line is drawn anew with every key, which takes seconds where it is a megabyte.
_SHOWN_AT_MOST = 5_000


class HintedLine(Input):
    """A line to type in; what it says while it is empty ends in a mark where there is no room for
    all of it."""

    def render_line(self, y: int) -> Strip:
        """What is typed, or what could be."""
        whole, room = self.placeholder, self.scrollable_content_region.width
        if y or self.value or cell_len(whole) <= room:
            return super().render_line(y)
        shown = Text(whole)
        shown.truncate(max(room, 1), overflow="ellipsis")
        self.set_reactive(HintedLine.placeholder, shown.plain)
        try:
            return super().render_line(y)
        finally:
            self.set_reactive(HintedLine.placeholder, whole)


class TypedLine(HintedLine):
    """A line that may hold what is no text, and any amount of it: control characters stand as
    marks in their places, and what is too long ends in a mark. The value itself stays as it is."""

    # Its own size is given by the style: a letter more lays nothing out anew.
    virtual_size = Reactive(Size(0, 0))

    @property
    def _value(self) -> Text:
        shown = Text(_shown(self.value), no_wrap=True, overflow="ignore", end="")
        if self.highlighter is not None:
            shown = self.highlighter(shown)
        return shown.append("…") if len(self.value) > _SHOWN_AT_MOST else shown

    def _position_to_cell(self, position: int) -> int:
        return cell_len(_shown(self.value[: min(position, _SHOWN_AT_MOST)]))


def _shown(value: str) -> str:
    return visible(value[:_SHOWN_AT_MOST]).translate(_BREAKING)
