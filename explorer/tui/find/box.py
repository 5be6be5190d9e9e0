"""The line in which a search is typed."""

from typing import ClassVar, Protocol

from rich.highlighter import Highlighter
from rich.text import Text
from textual import events
from textual.binding import BindingType

from explorer.query import FilterSyntax
from explorer.tui.actions import bindings
from explorer.tui.find.pasted import one_line
from explorer.tui.typed import TypedLine

__all__ = ["BoxKeys", "SearchBox"]


class BoxKeys(Protocol):
    """What the keys of the box do, done by what is around it. Called at once and not told by
    messages: the next key is on its way already."""

    def enter(self) -> None:
        """Search, or open what is chosen."""
        ...

    def take(self) -> None:
        """Take a completion."""
        ...

    def choose(self, rows: int) -> None:
        """Go through the completions, or on to the results."""
        ...

    def leave_box(self) -> None:
        """Close the completions, or leave."""
        ...

    def explain_syntax(self) -> None:
        """Show what can be typed."""
        ...

    def save_search(self) -> None:
        """Keep the search under a name."""
        ...

    def show_searches(self) -> None:
        """Show the searches that are kept."""
        ...

    def pasted(self, text: str, *, is_cut: bool, into_empty: bool) -> bool:
        """Look at what was pasted; says whether that was all there is to do with it."""
        ...


class _Faults(Highlighter):
    """Underlines what is wrong with a filter."""

    def __init__(self) -> None:
        self.fault: FilterSyntax | None = None

    def highlight(self, text: Text) -> None:
        """Mark the place, as long as the text is the one with the fault."""
        if self.fault is not None and text.plain.startswith(self.fault.text):
            place = self.fault.position
            text.stylize("underline reverse", place, place + self.fault.length)


class SearchBox(TypedLine):
    """One line of words and conditions."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("find")

    def __init__(self, keys: BoxKeys) -> None:
        self._faults = _Faults()
        super().__init__(
            placeholder="a name, a word, platform:snowflake, tags:PII …   ? explains",
            highlighter=self._faults,
        )
        self.cursor_blink = False
        self._does = keys

    def mark(self, fault: FilterSyntax | None) -> None:
        """Mark the place of what is wrong, or nothing."""
        if fault is not self._faults.fault:
            self._faults.fault = fault
            self.refresh()

    def action_enter(self) -> None:
        """Search, or open what is chosen."""
        self._does.enter()

    def action_take(self) -> None:
        """Take the completion."""
        self._does.take()

    def action_choose(self, rows: int) -> None:
        """Through the completions, or on to the results."""
        self._does.choose(rows)

    def action_leave(self) -> None:
        """Out of the box."""
        self._does.leave_box()

    def action_syntax(self) -> None:
        """What can be typed."""
        self._does.explain_syntax()

    def action_save(self) -> None:
        """Keep the search under a name."""
        self._does.save_search()

    def action_searches(self) -> None:
        """The searches that are kept."""
        self._does.show_searches()

    def on_key(self, event: events.Key) -> None:
        """In an empty box a question mark is a question."""
        if event.key == "question_mark" and not self.value:
            event.stop()
            event.prevent_default()
            self._does.explain_syntax()

    def _on_paste(self, event: events.Paste) -> None:
        """One line of what was pasted goes in; a URN is gone to."""
        event.stop()
        # Else the line as Textual would take it goes in as well.
        event.prevent_default()
        line, is_cut = one_line(event.text)
        is_replaced = not self.value or len(self.selected_text) == len(self.value)
        if line and not self._does.pasted(line, is_cut=is_cut, into_empty=is_replaced):
            self.replace(line, *self.selection)
