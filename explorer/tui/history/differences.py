"""What differs between two texts or two versions, as lines with marks, in a list that scrolls."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from rich.cells import cell_len
from rich.text import Text
from textual.binding import BindingType
from textual.message import Message

from explorer.client.difference import Change
from explorer.metadata.urn import Urn
from explorer.tui.actions import bindings
from explorer.tui.content import block, line
from explorer.tui.history.versions import MARKS, news
from explorer.tui.rows import Lines
from explorer.tui.wrapping import broken

if TYPE_CHECKING:
    from rich.style import Style

__all__ = ["DifferenceRows", "Line", "lines_between", "lines_of", "lines_of_text", "plain_lines"]

_Kind = Literal["head", "noise", "added", "removed", "same", "gap", "note"]

_STYLES: dict[_Kind, str] = {
    "head": "bold",
    "noise": "dim",
    "same": "",
    "gap": "dim",
    "note": "dim italic",
}
_KINDS: dict[str, _Kind] = {"+": "added", "-": "removed"}
# Beyond it the difference is cut, and the cut is said.
_LINES_LIMIT = 5_000
# What is compared line by line; more than that is shown as removed and added.
_COMPARED_LIMIT = 5_000


@dataclass(frozen=True, slots=True)
class Line:
    """One line: its text, without a line end, and what it is; not cleaned for the screen."""

    text: str
    kind: _Kind = "same"


def lines_of(changes: Sequence[Change]) -> list[Line]:
    """Every change: its mark and place, and below what stood and what stands there.

    What comes with any writing is last. Takes as long as the values are large: for a thread.
    """
    first = news(changes)
    told = {id(change) for change in first}
    found: list[Line] = []
    for change in (*first, *(one for one in changes if id(one) not in told)):
        if len(found) > _LINES_LIMIT:
            found.append(Line("… more changes than can be shown here", "note"))
            break
        if found:
            found.append(Line(""))
        place = " / ".join(line(Urn.label(step)) for step in change.path)
        kind: _Kind = "head" if id(change) in told else "noise"
        found.append(Line(f"{MARKS[change.kind]} {place}", kind))
        found += _body(change)
    return found


def lines_between(older: Mapping[str, object], newer: Mapping[str, object]) -> list[Line]:
    """Every difference between two values of an aspect, as `lines_of` tells changes."""
    from explorer.client.difference import difference

    return lines_of(difference(older, newer))


def lines_of_text(before: str | None, after: str | None) -> list[Line]:
    """What differs between two texts, line by line."""
    if (before or "") == (after or ""):
        return [Line("Nothing differs.", "note")]
    found = list(_body(Change((), "changed", before or "", after or "")))
    return found or [Line("Only the ends of lines differ.", "note")]


def plain_lines(text: str) -> list[Line]:
    """A text as it is."""
    return [Line(f"  {one}") for one in text.splitlines()]


class DifferenceRows(Lines):
    """Lines that are wrapped where they are too long; the keys scroll them. `beside` says that
    there is a list to go back to."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("difference")
    DEFAULT_CSS = """
    DifferenceRows > .differences--added { color: $text-success; }
    DifferenceRows > .differences--removed { color: $text-error; }
    """

    class Left(Message):
        """The reader goes back to the list beside it."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"differences--added", "differences--removed"}

    def __init__(self, *, beside: bool = True) -> None:
        super().__init__()
        self._beside = beside
        self._lines: Sequence[Line] = ()
        self._wrapped: list[Line] = []
        self._wrapped_at = 0

    def show_lines(self, lines: Sequence[Line], *, empty: str = "") -> None:
        """Show these from the top; `empty` is said when there are none."""
        self._lines = lines
        self.empty = empty
        self._wrap()
        self.scroll_to(y=0, animate=False, immediate=True)

    def action_leave(self) -> None:
        """Back to the list."""
        self.post_message(self.Left())

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Nothing here can be chosen."""
        del parameters
        return action != "choose" and (self._beside or action != "leave")

    def on_resize(self) -> None:
        """Wrap anew where the width has changed."""
        if self.scrollable_content_region.width != self._wrapped_at:
            self._wrap()
        super().on_resize()

    def _wrap(self) -> None:
        # With room left for the scroll bar, which comes once the lines are there.
        width = self._wrapped_at = self.scrollable_content_region.width
        self._wrapped = list(_wrapped(self._lines, max(width - 2, 8)))
        self.show(len(self._wrapped), self._draw_line, empty=self.empty)

    def _draw_line(self, index: int, width: int) -> tuple[Text]:
        del width
        one = self._wrapped[index]
        style: Style | str
        if one.kind in ("added", "removed"):
            style = self.get_component_rich_style(f"differences--{one.kind}", partial=True)
        else:
            style = _STYLES[one.kind]
        return (Text().append(f" {one.text}", style),)


def _body(change: Change) -> Iterator[Line]:
    rows = _compared(change)
    # The first head of a part says nothing that the place above did not.
    for at, text in enumerate(rows):
        if text.startswith("@@"):
            if at:
                yield Line("  ⋯", "gap")
        else:
            yield Line(f"{text[:1]} {text[1:]}", _KINDS.get(text[:1], "same"))
        if at > _LINES_LIMIT:
            yield Line(f"… {len(rows) - at:,} more lines", "note")
            return


def _compared(change: Change) -> Sequence[str]:
    before, after = change.before, change.after
    texts = (before, after)
    if all(isinstance(text, str) and text.count("\n") > _COMPARED_LIMIT for text in texts):
        gone = Change(change.path, "removed", before=before).lines()
        return (*gone, *Change(change.path, "added", after=after).lines())
    return change.lines()


def _wrapped(lines: Iterable[Line], width: int) -> Iterator[Line]:
    for one in lines:
        text = block(one.text)
        if cell_len(text) <= width:
            yield Line(text, one.kind)
            continue
        # What goes on stands under the text, not under its mark.
        mark = text[:2]
        for at, part in enumerate(broken(text[2:], width - 2)):
            yield Line(f"{mark if at == 0 else '  '}{part}", one.kind)
