"""What a text will look like, beside it: drawn away from the keys, and scrolled along."""

import asyncio
from functools import partial
from typing import TYPE_CHECKING

from rich.text import Text

from explorer.tui.content import markdown
from explorer.tui.rows import Lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.segment import Segment
    from textual.worker import WorkType

__all__ = ["Preview"]


class Preview(Lines, can_focus=False):
    """Markdown as it is meant to look, cut to what can be drawn quickly."""

    def __init__(self) -> None:
        super().__init__()
        self._lines: Sequence[Text] = ()
        self._text = ""
        self._share = 1.0

    async def show_text(self, text: str) -> None:
        """Show another text."""
        self._text = text
        width = self.scrollable_content_region.width
        if width > 0:
            lines = await asyncio.to_thread(_rendered, text, width)
            if text == self._text:
                self._lines = lines
                self.show(len(lines), lambda at, _: (self._lines[at],))
                self.follow(self._share)

    def follow(self, share: float) -> None:
        """Show the part that lies so far down in the text, 0 its top and 1 its end."""
        self._share = share
        room = self.scrollable_content_region.height
        top = round(share * self.count - room / 2)
        top = max(0, min(top, self.count - room))
        if top != self.scroll_offset.y:
            self.scroll_to(y=top, animate=False, immediate=True)

    def on_resize(self) -> None:
        """Draw it anew at the width there is now."""
        super().on_resize()
        # Given as it is, for it may be told to end before it has begun.
        drawing: WorkType[None] = partial(self.show_text, self._text)
        self.run_worker(drawing, exclusive=True, group="preview")


def _rendered(text: str, width: int) -> list[Text]:
    """The lines of a rendered text."""
    from io import StringIO

    from rich.console import Console

    console = Console(file=StringIO(), width=width, force_terminal=True, color_system="truecolor")
    return [_line(segments) for segments in console.render_lines(markdown(text), pad=False)]


def _line(segments: "Sequence[Segment]") -> Text:
    return Text.assemble(*((one.text, one.style or "") for one in segments if not one.control))
