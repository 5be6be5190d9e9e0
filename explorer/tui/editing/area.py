"""Where a description is typed: its text exactly as it is, its markdown in colours."""

import re
from collections import deque
from collections.abc import Callable
from typing import ClassVar, Literal

from rich.text import Text
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.widgets import TextArea
from textual.widgets.text_area import DocumentNavigator, Edit, EditResult, Selection

from explorer.tui.actions import actions_of, bindings
from explorer.tui.editing.document import ExactDocument, folded
from explorer.tui.editing.highlighting import fenced, spans
from explorer.tui.editing.wrapped import QuickWrapped
from explorer.tui.shell.keyline import KeyLine

__all__ = ["DescriptionArea"]

_LINE_ENDS = re.compile(r"\r\n|\r|\n")


def _inherited() -> list[BindingType]:
    """The keys of any text area, but for those that mean something else in the editor."""
    taken = {key for scope in ("text", "editor") for one in actions_of(scope) for key in one.keys}
    kept: list[BindingType] = []
    for one in TextArea.BINDINGS:
        if isinstance(one, Binding):
            keys = [key for key in one.key.split(",") if key not in taken]
            if keys:
                kept.append(Binding(",".join(keys), one.action, one.description, show=False))
    return kept


class DescriptionArea(TextArea, inherit_bindings=False):
    """A text with its own line ends, in which what would drive the terminal is shown as a mark."""

    BINDINGS: ClassVar[list[BindingType]] = [*_inherited(), *bindings("text")]
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "area--heading",
        "area--strong",
        "area--emphasis",
        "area--code",
        "area--link",
        "area--mark",
        "area--quote",
    }
    DEFAULT_CSS = """
    DescriptionArea > .area--heading { color: $text-primary; text-style: bold; }
    DescriptionArea > .area--strong { text-style: bold; }
    DescriptionArea > .area--emphasis { text-style: italic; }
    DescriptionArea > .area--code { color: $text-accent; }
    DescriptionArea > .area--link { color: $text-primary; text-style: underline; }
    DescriptionArea > .area--mark { color: $text-muted; text-style: bold; }
    DescriptionArea > .area--quote { color: $text-muted; text-style: italic; }
    """

    class Typed(Message):
        """Somebody typed or pasted something."""

    def __init__(self, text: str) -> None:
        self._fenced: frozenset[int] | None = None
        self._state: Literal["open", "waits", "deaf"] = "open"
        self._held: deque[events.Key | events.Paste] = deque()
        self._is_catching_up = False
        self._give_up: Callable[[], None] | None = None
        super().__init__(soft_wrap=True)
        self.cursor_blink = False
        # It would look through the whole text at every move.
        self.match_cursor_bracket = False
        self._begin(text)

    @property
    def exact(self) -> ExactDocument:
        """What is edited, with its line ends."""
        document = self.document
        return document if isinstance(document, ExactDocument) else ExactDocument(document.text)

    def load_text(self, text: str) -> None:
        """Begin another text; what was done to the old one is forgotten."""
        super().load_text("")
        self._begin(text)

    def open_text(self, text: str) -> None:
        """Begin another text, the cursor at its end; what was done to the old one is forgotten."""
        self.load_text(text)
        self.move_cursor(self.document.end)

    def replace_all(self, text: str) -> None:
        """Put another text in the place of this one; the undo key takes it back."""
        if text != self.text:
            self.history.checkpoint()
            self.replace(text, self.document.start, self.document.end)
            self.move_cursor(self.document.end)

    def hold(self, give_up: Callable[[], None] | None = None) -> None:
        """Keep every key from now on, to be done in its order after `go_on`. Escape calls
        `give_up`, where there is one, and is kept with the others where there is none."""
        self._state, self._give_up = "waits", give_up

    def ignore(self) -> None:
        """Drop every key, and those that wait: there is no text for them."""
        self._state = "deaf"
        self._held.clear()

    @property
    def is_waiting(self) -> bool:
        """Whether keys wait, or would."""
        return self._state == "waits" or self._is_catching_up or bool(self._held)

    @property
    def has_held(self) -> bool:
        """Whether a key waits."""
        return bool(self._held)

    def drop_held(self) -> None:
        """Drop the keys that wait."""
        self._held.clear()

    async def go_on(self) -> None:
        """Do what was pressed meanwhile in its order, up to a key after which it has to wait."""
        self._state, self._give_up = "open", None
        if self._is_catching_up:
            return
        self._is_catching_up = True
        try:
            while self._held and self._state == "open":
                await self._do(self._held.popleft())
        finally:
            self._is_catching_up = False

    def undo(self) -> None:
        """Undo the newest edits that belong together."""
        self._aside_for(super().undo)

    def redo(self) -> None:
        """Do again what was undone last."""
        self._aside_for(super().redo)

    def _aside_for(self, change: Callable[[], None]) -> None:
        """Change the text by many edits at once, the cursor where there is always a place for it:
        it may be looked for in between, when its own is gone."""
        was, before = self.selection, self.exact.revision
        self._fenced = None
        self.set_reactive(TextArea.selection, Selection.cursor((0, 0)))
        change()
        if self.exact.revision == before:
            self.set_reactive(TextArea.selection, was)

    def action_indent(self) -> None:
        """Four spaces, as markdown counts them."""
        self._type("    ")

    def edit(self, edit: Edit) -> EditResult:
        """Do an edit."""
        self._fenced = None
        edit.text = folded(edit.text)
        return super().edit(edit)

    def action_delete_left(self) -> None:
        """Delete the character before the cursor, also where the line was only folded."""
        row, column = self.cursor_location
        if self.selection.is_empty and column == 0 and self.exact.is_folded_before(row):
            self.move_cursor((row - 1, len(self.document.get_line(row - 1))))
        super().action_delete_left()

    def action_delete_right(self) -> None:
        """Delete the character under the cursor, also where the line was only folded."""
        row, column = self.cursor_location
        at_end = column == len(self.document.get_line(row))
        if self.selection.is_empty and at_end and self.exact.is_folded_before(row + 1):
            self.move_cursor((row + 1, 0))
        super().action_delete_right()

    def get_line(self, line_index: int) -> Text:
        """A line as it is drawn."""
        line = super().get_line(line_index)
        if self._fenced is None:
            self._fenced = fenced(self.exact.lines)
        if line_index in self._fenced:
            line.stylize(self.get_component_rich_style("area--code", partial=True))
            return line
        for start, end, kind in spans(line.plain):
            line.stylize(self.get_component_rich_style(f"area--{kind}", partial=True), start, end)
        return line

    def _type(self, text: str) -> None:
        self.post_message(self.Typed())
        # Lines that are typed or pasted end as the others do.
        newline = self.document.newline
        exact = _LINE_ENDS.sub(lambda _: newline, text)
        done = self.replace(exact, *self.selection, maintain_selection_offset=False)
        self.move_cursor(done.end_location)

    async def on_key(self, event: events.Key) -> None:
        if self._state == "open" and not self._is_catching_up:
            if not await self._do(event):
                # Nothing of the editor: it goes on to whoever wants it.
                return
        elif event.key == "escape" and self._give_up is not None:
            self._give_up()
        elif self._state != "deaf":
            self._held.append(events.Key(event.key, event.character))
        event.stop()
        event.prevent_default()

    async def on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        if self._state == "open" and not self._is_catching_up:
            self._type(event.text)
        elif self._state != "deaf":
            self._held.append(events.Paste(event.text))

    async def _do(self, event: events.Key | events.Paste) -> bool:
        """Do what a key stands for; returns whether it stands for anything here.

        A key that does something is not left to bubble up: letters that came after it would be in
        the text before it is done.
        """
        if isinstance(event, events.Paste):
            self._type(event.text)
        elif event.key == "enter" or (event.is_printable and event.character):
            self._type("\n" if event.key == "enter" else event.character or "")
        else:
            bound = self.screen.active_bindings.get(event.key)
            if bound is None or bound.node not in (self, self.screen):
                return False
            for line in self.screen.query_children(KeyLine):
                line.hush()
            if bound.enabled:
                await self.app.run_action(bound.binding.action, bound.node)
        return True

    def _begin(self, text: str) -> None:
        """Put a text into the place of the document, which knows one line end only."""
        self._fenced = None
        document = ExactDocument(text)
        self.document = document
        self.wrapped_document = QuickWrapped(document, self.wrap_width, self.indent_width)
        self.navigator = DocumentNavigator(self.wrapped_document)
        self.virtual_size = Size(0, self.wrapped_document.height)
        self.refresh()
