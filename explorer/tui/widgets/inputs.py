"""Lines to type in: any text, a filter above a list, and pasted names, URNs and addresses."""

from dataclasses import dataclass
from typing import ClassVar
from urllib.parse import unquote

from rich.cells import cell_len
from rich.text import Text
from textual.binding import BindingType
from textual.geometry import Size
from textual.message import Message
from textual.reactive import Reactive
from textual.strip import Strip
from textual.widgets import Input

from explorer.client.display import visible
from explorer.errors import InvalidUrn
from explorer.metadata.urn import Urn
from explorer.tui.actions import bindings

__all__ = [
    "LONGEST",
    "AskLine",
    "FilterLine",
    "HintedLine",
    "TypedLine",
    "pasted_line",
    "pasted_urn",
]

LONGEST = 10_000
_BEGINS = "urn:li:"
_URN_LONGEST = 4_000


def pasted_line(text: str) -> tuple[str, bool]:
    """A pasted text as one line, and whether it had to be cut."""
    is_cut = len(text) > LONGEST
    return " ".join(text[:LONGEST].split()), is_cut


def pasted_urn(text: str) -> Urn | None:
    """The entity that a text names: by its URN alone, or by a web address that has one in it."""
    given = text.strip().strip("\"'<>")
    if len(given) > _URN_LONGEST:
        return None
    is_address = given.startswith(("http://", "https://"))
    if is_address:
        # Of an address within an address, its signs are spelled twice.
        given = unquote(unquote(given)) if "%25" in given else unquote(given)
    elif not given.lower().startswith((_BEGINS, "urn%3a")):
        return None
    else:
        given = unquote(given) if given.lower().startswith("urn%3a") else given
    at = given.find(_BEGINS)
    if at < 0:
        return None
    found = given[at : _end(given, at)] if is_address else given[at:]
    try:
        return Urn.parse(found)
    except InvalidUrn:
        return None


def _end(text: str, at: int) -> int:
    """Where the URN ends that begins at a place of an address."""
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
    """Comes up above a list and takes the keys; every change narrows, ⏎ keeps what is typed and
    goes to the list, escape takes it off."""

    DEFAULT_CSS = """
    FilterLine, FilterLine:focus { border: none; height: 1; padding: 0 1; background: $surface; }
    """
    BINDINGS: ClassVar[list[BindingType]] = bindings("narrowing")

    @dataclass
    class Left(Message):
        """The line was left; without `keep` nothing is narrowed any more."""

        line: "FilterLine"
        keep: bool

    def __init__(self, placeholder: str, *, select_on_focus: bool = True) -> None:
        super().__init__(placeholder=placeholder, select_on_focus=select_on_focus)
        self.cursor_blink = False
        self.display = False

    def ask(self) -> None:
        """Come up, with what was typed before."""
        self.display = True
        self.cursor_position = len(self.value)
        self.screen.set_focus(self)

    def put_away(self) -> None:
        """Be gone, and forget what was typed."""
        self.display = False
        with self.prevent(Input.Changed):
            self.value = ""

    def action_keep(self) -> None:
        """Keep what is typed, and go to the list."""
        self.display = bool(self.value.strip())
        self.post_message(self.Left(self, keep=True))

    def action_leave(self) -> None:
        """Take off what is typed, and go to the list."""
        self.put_away()
        self.post_message(self.Left(self, keep=False))


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


class AskLine(TypedLine):
    """The line in which a filter is typed."""

    DEFAULT_CSS = """
    AskLine { display: none; }
    AskLine, AskLine:focus { border: none; height: 1; padding: 0 1; background: $surface; }
    """
    BINDINGS: ClassVar[list[BindingType]] = bindings("asking")

    @dataclass
    class Left(Message):
        """The line was left without an answer."""

    def __init__(
        self, placeholder: str = "platform:snowflake, type:chart, tags:PII, hops<2 …"
    ) -> None:
        super().__init__(placeholder=placeholder)
        self.cursor_blink = False

    def ask(self, value: str) -> None:
        """Come up, and take the keys."""
        self.display = True
        self.value = value
        self.cursor_position = len(value)
        self.screen.set_focus(self)

    def action_leave(self) -> None:
        """Cancel."""
        self.post_message(self.Left())
