"""The lines below the table, of which only what changes is painted again."""

from rich.cells import cell_len
from rich.console import Console
from rich.style import Style
from rich.text import Text
from textual.app import RenderResult
from textual.geometry import Region
from textual.strip import Strip

from explorer.tui.sizing import SizeAware
from explorer.tui.strips import strip_of

__all__ = ["Detail"]


class Detail(SizeAware):
    """A text of some lines. Its height is given from outside, so that another text lays nothing
    out anew."""

    DEFAULT_CSS = """
    Detail { height: 5; padding: 0 2; border-top: solid $border-blurred; }
    """

    def __init__(self) -> None:
        super().__init__(id="column")
        self._text = Text()
        self._ground = Style.null()
        self._lines: list[Text] = []

    def show_text(self, text: Text) -> None:
        """Show another text."""
        self._text = text
        before, self._lines = self._lines, self._wrapped()
        for y in range(max(len(before), len(self._lines))):
            old = before[y] if y < len(before) else Text()
            new = self._lines[y] if y < len(self._lines) else Text()
            if (old, old.style) != (new, new.style):
                width = max(cell_len(old.plain), cell_len(new.plain))
                self.refresh(Region(0, y, width, 1))

    def on_resize(self) -> None:
        """The same text, in the new width."""
        self._lines = self._wrapped()
        self.refresh()

    def render(self) -> RenderResult:
        """As much of the text as there is room for."""
        return Text("\n", no_wrap=True).join(self._lines)

    def render_lines(self, crop: Region) -> list[Strip]:
        """Lines of it, on a ground that is the same for all."""
        self._ground = self.rich_style
        return super().render_lines(crop)

    def render_line(self, y: int) -> Strip:
        """One of the lines, by itself; where a part is selected, Textual marks it."""
        if self.text_selection is not None:
            return super().render_line(y)
        line = self._lines[y] if y < len(self._lines) else Text()
        return strip_of(line, self.size.width, self._ground).apply_offsets(0, y)

    def _wrapped(self) -> list[Text]:
        width, height = self.size
        return list(self._text.wrap(_CONSOLE, width))[:height] if width else []


_CONSOLE = Console()
