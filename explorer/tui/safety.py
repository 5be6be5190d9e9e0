"""The last gate before the terminal: nothing that is drawn can drive it, whoever wrote it.

Text is cleaned where it comes from the client; a text that slipped past that is caught here, in
every line of every widget.
"""

from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

from explorer.client.display import visible

__all__ = ["ControlFilter"]

_WITHIN_A_LINE = str.maketrans("", "", "\t\n")


class ControlFilter(LineFilter):
    """Takes control, escape and bidirectional characters out. They have no width, so that what
    stands behind them stays where it was put."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """The segments of a line, made harmless."""
        del background
        if all(segment.text.isprintable() for segment in segments):
            return segments
        return [
            Segment(_harmless(segment.text), segment.style, segment.control) for segment in segments
        ]


def _harmless(text: str) -> str:
    # Whatever has a mark in its place is taken out.
    pairs = zip(text, visible(text), strict=True)
    return "".join(char for char, mark in pairs if char == mark).translate(_WITHIN_A_LINE)
