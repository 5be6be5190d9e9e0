"""Texts as lines of the screen, in few pieces."""

from collections.abc import Iterable

from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.strip import Strip

__all__ = ["strip_of"]


def strip_of(line: Text, width: int, style: Style) -> Strip:
    """A text of one line in a width in cells, cut or filled, on a style."""
    text = line.copy()
    text.truncate(max(width, 1), overflow="ellipsis", pad=True)
    text.end = ""
    segments = text.render(_CONSOLE) if text.spans else [Segment(text.plain, _style_of(text))]
    strip = Strip(_joined(segments), width)
    return strip.apply_style(style).adjust_cell_length(width, style)


def _style_of(text: Text) -> Style:
    """The style of a text as a whole, which its own rendering leaves out where it has no spans."""
    return _CONSOLE.get_style(text.style, default=Style.null())


def _joined(segments: Iterable[Segment]) -> list[Segment]:
    """The same on screen in as few pieces as can be: every piece costs forty bytes on its way to
    the terminal, and blanks look alike in most styles."""
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


def _is_blank(text: str, style: Style | None, other: Style | None) -> bool:
    """Whether a text is nothing but its ground, and as much so in the other style."""
    return text.isspace() and _ground(style) == _ground(other)


def _ground(style: Style | None) -> tuple[object, ...]:
    if style is None:
        return _NO_GROUND
    lines = (style.underline, style.underline2, style.strike, style.overline, style.link)
    ink = style.color if style.reverse else None
    return (style.bgcolor, bool(style.reverse), ink, *(one or None for one in lines))


_CONSOLE = Console()
_NO_GROUND = _ground(Style.null())
