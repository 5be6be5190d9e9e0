"""The last gate before the terminal: nothing that is drawn can drive it, whoever wrote it.

Text is cleaned where it comes from the client; a text that slipped past that is caught here, in
every line of every widget, as marks instead of what it would have done.
"""

from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

from explorer.client.display import visible

__all__ = ["ControlFilter"]


class ControlFilter(LineFilter):
    """Shows control, escape and bidirectional characters as marks."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """The segments of a line, made harmless."""
        del background
        if all(segment.text.isprintable() for segment in segments):
            return segments
        return [
            Segment(visible(segment.text), segment.style, segment.control) for segment in segments
        ]
