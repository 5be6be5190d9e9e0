"""Input lines: plain text, a filter above a list; and the cleaning of pasted names, URNs and
addresses."""

from dataclasses import dataclass
from typing import ClassVar
from urllib.parse import unquote

from rich.cells import cell_len
from rich.text import Text
from textual.binding import BindingType
from textual.geometry import Size
from textual.message import Message
from textual.reactive import Reactive, reactive
from textual.strip import Strip
from textual.widgets import Input

from explorer.client.display import visible
from explorer.errors import InvalidUrn
from explorer.metadata.urn import Urn
from explorer.tui.actions import bindings

LONGEST = 10_000
_URN_START = "urn:li:"
_URN_LONGEST = 4_000


def pasted_line(text: str) -> tuple[str, bool]:
    """Return a pasted text as one line, and whether it was cut. A single character is kept
    unchanged, because it may have been typed."""
    if text.splitlines() == [text] and len(text) == 1:
        return text, False
    is_cut = len(text) > LONGEST
    return " ".join(text[:LONGEST].split()), is_cut


def pasted_urn(text: str) -> Urn | None:
    """Return the URN in a text that is a URN or a web address that contains one; None for any other
    text."""
    candidate = text.strip().strip("\"'<>")
    if len(candidate) > _URN_LONGEST:
        return None
    is_address = candidate.startswith(("http://", "https://"))
    if is_address:
        # An address within an address is percent-encoded twice.
        candidate = unquote(unquote(candidate)) if "%25" in candidate else unquote(candidate)
    elif not candidate.lower().startswith((_URN_START, "urn%3a")):
        return None
    else:
        candidate = unquote(candidate) if candidate.lower().startswith("urn%3a") else candidate
    at = candidate.find(_URN_START)
    if at < 0:
        return None
    urn_text = candidate[at : _end(candidate, at)] if is_address else candidate[at:]
    try:
        return Urn.parse(urn_text)
    except InvalidUrn:
        return None


def _end(text: str, at: int) -> int:
    """Return the end of the URN that begins at position `at` of an address."""
    depth = 0
    for place in range(at, len(text)):
        char = text[place]
        if char == "(":
            depth += 1
        elif char == ")":
            depth -= 1
            if depth == 0:
                return place + 1
        elif depth == 0 and char in "/?#&":
            return place
    return len(text)


class FilterLine(Input):
    """A filter line that appears above a list. Every change filters the list, ⏎ keeps the filter
    and focuses the list, escape clears the filter."""

    DEFAULT_CSS = """
    FilterLine, FilterLine:focus { border: none; height: 1; padding: 0 1; background: $surface; }
    """
    BINDINGS: ClassVar[list[BindingType]] = bindings("narrowing")

    @dataclass
    class FilterClosed(Message):
        """The input was closed; without `keep` the filter is cleared."""

        line: "FilterLine"
        keep: bool

    def __init__(self, placeholder: str, *, select_on_focus: bool = True) -> None:
        super().__init__(placeholder=placeholder, select_on_focus=select_on_focus)
        self.cursor_blink = False
        self.display = False

    def ask(self) -> None:
        """Show the input with the previous text, and focus it."""
        self.display = True
        self.cursor_position = len(self.value)
        self.screen.set_focus(self)

    def put_away(self) -> None:
        """Hide the input and clear its text."""
        self.display = False
        with self.prevent(Input.Changed):
            self.value = ""

    def action_keep(self) -> None:
        """Keep the filter, and go to the list."""
        self.display = bool(self.value.strip())
        self.post_message(self.FilterClosed(self, keep=True))

    def action_leave(self) -> None:
        """Clear the filter, and go to the list."""
        self.put_away()
        self.post_message(self.FilterClosed(self, keep=False))


# Both would shift the text after them.
_BREAKING = str.maketrans({"\t": "␉", "\n": "␊"})
# The whole line is redrawn at every key, which would take seconds for a megabyte.
_SHOWN_AT_MOST = 5_000


class HintedLine(Input):
    """An input of one line without a frame, whose placeholder ends with a mark if it is cut."""

    DEFAULT_CSS = """
    HintedLine { border: none; height: 1; padding: 0 1; background: $panel; }
    HintedLine:focus { border: none; }
    """
    cursor_blink = reactive(False, init=False)

    def render_line(self, y: int) -> Strip:
        """Render the value or the placeholder."""
        placeholder, room = self.placeholder, self.scrollable_content_region.width
        if y or self.value or cell_len(placeholder) <= room:
            return super().render_line(y)
        text = Text(placeholder)
        text.truncate(max(room, 1), overflow="ellipsis")
        self.set_reactive(HintedLine.placeholder, text.plain)
        try:
            return super().render_line(y)
        finally:
            self.set_reactive(HintedLine.placeholder, placeholder)


class TypedLine(HintedLine):
    """An input for arbitrary values of any length: control characters are shown as marks, and text
    that is cut ends with a mark. The value itself is not changed."""

    # Not a layout property: the size is set by the style, so a typed letter causes no layout.
    virtual_size = Reactive(Size(0, 0))

    @property
    def _value(self) -> Text:
        text = Text(_format(self.value), no_wrap=True, overflow="ignore", end="")
        if self.highlighter is not None:
            text = self.highlighter(text)
        return text.append("…") if len(self.value) > _SHOWN_AT_MOST else text

    def _position_to_cell(self, position: int) -> int:
        return cell_len(_format(self.value[: min(position, _SHOWN_AT_MOST)]))


def _format(value: str) -> str:
    return visible(value[:_SHOWN_AT_MOST]).translate(_BREAKING)


class AskLine(TypedLine):
    """The input for a filter."""

    DEFAULT_CSS = """
    AskLine { display: none; background: $surface; }
    """
    BINDINGS: ClassVar[list[BindingType]] = bindings("asking")

    @dataclass
    class Cancelled(Message):
        """The input was cancelled."""

    def __init__(
        self, placeholder: str = "platform:snowflake, type:chart, tags:PII, hops<2 …"
    ) -> None:
        super().__init__(placeholder=placeholder)

    def ask(self, value: str) -> None:
        """Show the input and focus it."""
        self.display = True
        self.value = value
        self.cursor_position = len(value)
        self.screen.set_focus(self)

    def action_leave(self) -> None:
        """Cancel."""
        self.post_message(self.Cancelled())
