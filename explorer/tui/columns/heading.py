"""The line over the table of columns."""

from textual.app import RenderResult
from textual.widget import Widget

from explorer.tui.columns.drawing import Drawing

__all__ = ["Heading"]


class Heading(Widget):
    """The names of the table's columns over them, and at the right how far its text goes."""

    DEFAULT_CSS = """
    Heading { height: 1; color: $text-muted; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._tally = ""
        self._drawing = Drawing()

    def show(self, tally: str, drawing: Drawing) -> None:
        """Say at the right how much of the schema is documented, or passes a filter."""
        self._tally = tally
        self._drawing = drawing
        self.refresh()

    def render(self) -> RenderResult:
        """The names at the widths of the rows below, whose last cell is the scroll bar's."""
        text = self._drawing.heading(self.size.width - 1)
        text.truncate(max(self.size.width - len(self._tally) - 2, 0), overflow="ellipsis", pad=True)
        text = text.append(f" {self._tally} ")
        text.truncate(self.size.width, overflow="ellipsis")
        return text
