"""What somebody sees who starts the terminal for the first time."""

from typing import Final

from rich.text import Text
from textual.app import RenderResult
from textual.widget import Widget

__all__ = ["SEEN", "Welcome"]

SEEN: Final = "first find"
"""What the terminal remembers once an entity was opened: newcomers are greeted until then."""

_SMALL: Final = 20
_INTRODUCTION: Final = (
    "This is a catalog of data. Find a table or a dashboard, see what is in it, who uses it and\n"
    "what depends on it, and write down what nobody has described yet.",
    "Find a table, see what is in it and who uses it, describe what nobody has described yet.",
)
_SAMPLE: Final = (
    "What is here now is a sample: the warehouse of Tarnwood, a made-up shop for outdoor gear.\n"
    "Try: / then orders, then ⏎ twice."
)
_GAP: Final = "   "
_STEPS: Final = (("/", "type a name"), ("F6", "folders"), ("⏎", "open"), ("?", "every key"))


class Welcome(Widget):
    """A short introduction above the results. It goes with the first key."""

    DEFAULT_CSS = """
    Welcome {
        height: auto; margin: 0 1; padding: 0 1; border: round $primary;
        border-title-color: $text; border-title-style: bold;
    }
    Welcome.-small { border: none; margin: 0; }
    """

    def __init__(self, *, sample: bool) -> None:
        super().__init__()
        self._sample = sample
        self.border_title = "Welcome"

    def on_mount(self) -> None:
        """In a small terminal there is one line of it."""
        self.set_class(self.screen.size.height < _SMALL, "-small")

    def render(self) -> RenderResult:
        """What this is, what to press, and what is to be found."""
        steps = _packed(self.content_size.width)
        if self.screen.size.height < _SMALL:
            return steps
        wide = self.size.width > max(map(len, _INTRODUCTION[0].splitlines()))
        lines = [Text(_INTRODUCTION[not wide]), steps]
        if self._sample:
            lines.append(Text(_SAMPLE, "dim"))
        return Text("\n").join(lines)


def _packed(width: int) -> Text:
    """The steps, as many in a line as there is room for; none is broken."""
    packed, room = Text(), width
    for key, what in _STEPS:
        step = Text.assemble((key, "bold"), f" {what}")
        if packed.plain:
            fits = step.cell_len + len(_GAP) <= room
            packed.append(_GAP if fits else "\n")
            room = room - len(_GAP) if fits else width
        packed.append_text(step)
        room -= step.cell_len
    return packed
