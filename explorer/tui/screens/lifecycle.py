"""The dialogs that deprecate an entity, and that hide it from search and browse or restore it."""

from datetime import datetime
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.widgets import Input, Static, TextArea

from explorer.client.display import counted, in_quotes, visible
from explorer.errors import InvalidInput, InvalidUrn
from explorer.metadata.urn import Urn
from explorer.sessions.lifecycle import DeprecationFields, LifecycleSession, LifecycleState
from explorer.tui.actions import bindings
from explorer.tui.content import join, line_text
from explorer.tui.key_queue import LEADING
from explorer.tui.screens.relations import relationship_kinds
from explorer.tui.session import TerminalSession
from explorer.tui.widgets.bars import KeyLine
from explorer.tui.widgets.dialogs import FramedScreen, SessionScreen
from explorer.tui.widgets.inputs import TypedLine
from explorer.views.absence import NONE, reason_unread

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from explorer.client.records import Edges, Edit
    from explorer.graph import Affected, Impact

_NAMED = 5


class HideScreen(FramedScreen[LifecycleSession], SessionScreen[LifecycleSession, LifecycleState]):
    """Asks to hide an entity, or to restore a hidden one; `ctrl+s` confirms. Returns the session if
    the entity was hidden or restored."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("aside")
    DOING = "hiding or restoring it"
    CSS = """
    HideScreen > VerticalScroll { width: 84; }
    """

    def __init__(
        self, session: TerminalSession, lifecycle: LifecycleSession, *, hides: bool
    ) -> None:
        super().__init__()
        self._session = session
        self._lifecycle = lifecycle
        self._shown = lifecycle.state
        self._hides = hides

    def compose(self) -> ComposeResult:
        """Yield the explanation and the keys."""
        with VerticalScroll():
            yield Static("", id="said", markup=False)
        yield KeyLine()

    def on_mount(self) -> None:
        """Read the references to the entity."""
        self.follow(self._lifecycle)
        self._show_text()
        if self._hides:
            self._read()

    def action_confirm(self) -> None:
        """Hide or restore the entity, once the references are shown."""
        if self._hides and not self._shown.is_read:
            self.say("The references to it are still being read.")
        elif self._shown.work is None:
            self._do()

    def action_leave(self) -> None:
        """Close without a change."""
        self.dismiss()

    @work(exclusive=True, group="aside")
    async def _read(self) -> None:
        # A failure to read the references is shown, but does not prevent hiding.
        await self.do(self._lifecycle.read_references())
        if self._shown.impact is not None:
            # Remove the progress message; an error stays.
            self.query_one(KeyLine).hush()

    @work(exclusive=True, group="aside", name=LEADING)
    async def _do(self) -> None:
        if await self.do(self._lifecycle.hide() if self._hides else self._lifecycle.restore()):
            self.dismiss(self._lifecycle)

    def draw_state(self, before: LifecycleState, state: LifecycleState) -> None:
        """Show the references, and whether a write is under way."""
        self._show_text()
        if state.work is not None and before.work is None:
            self.say(str(state.work))

    def _show_text(self) -> None:
        """Show the question, and what refers to the entity."""
        name = line_text(self._lifecycle.name, "bold")
        text = Text.assemble("Hide " if self._hides else "Restore ", name, "?\n\n")
        if self._hides:
            text.append(
                "It will be hidden from search and browse. Nothing is lost: its page still opens "
                "by its URN, and references to it stay.\n\n"
            )
            self._add_relations(text)
            text.append("\n\nTo restore it, press ^x on its page, or run\n", "dim")
            text.append_text(line_text(f"catalog restore '{self._lifecycle.urn}'", "dim"))
        else:
            text.append("It will be shown in search and browse again, with everything it had.")
        text.append("\n\n")
        text.append("^s", "bold").append(" hides it" if self._hides else " restores it")
        text.append(" · ").append("esc", "bold").append(" changes nothing")
        self.query_one("#said", Static).update(text)

    def _add_relations(self, text: Text) -> None:
        state = self._shown
        edges, impact = state.edges, state.impact
        reason = Text(reason_unread(is_loading=not state.is_read).phrase, "italic")
        text.append("references to it  ", "dim")
        text.append_text(reason if edges is None else _describe_edges(edges, self._lifecycle.urn))
        text.append("\ndepends on it     ", "dim")
        text.append_text(reason if impact is None else _describe_impact(impact))


def _describe_edges(edges: "Edges", of: Urn) -> Text:
    if not edges.total:
        return Text(NONE.phrase)
    kinds = relationship_kinds(edges.edges, edges.direction, of)
    names = ", ".join(f"{kind.words or kind.name} {len(kind.urns):,}" for kind in kinds)
    more = ", …" if edges.truncated else ""
    count = Text(f"{counted(edges.total, 'relationship')}: ")
    return count.append_text(line_text(f"{names}{more}", "dim"))


def _describe_impact(impact: "Impact") -> Text:
    """Return a summary of what depends on the entity."""
    if not impact.affected:
        return Text(NONE.phrase)
    text = Text(f"{len(impact):,}", "bold").append(" downstream, the most used: ")
    for at, dependents in enumerate(impact.affected[:_NAMED]):
        text.append(", " if at else "").append_text(_describe_dependents(dependents))
    more = len(impact) - _NAMED
    if more > 0:
        text.append(f" and {more:,} more")
    if impact.truncated:
        text.append_text(line_text(f" ({impact.truncated})", "italic"))
    return text


def _describe_dependents(affected: "Affected") -> Text:
    text = line_text(affected.name, "bold")
    if affected.queries:
        text.append(f" ({counted(affected.queries, 'query', 'queries')} in 30 days)", "dim")
    return text


class NoteArea(TextArea):
    """The input for the note; control characters are shown as marks."""

    def get_line(self, line_index: int) -> Text:
        """Return a line as it is drawn."""
        line = super().get_line(line_index)
        line.plain = visible(line.plain)
        return line


class DeprecationScreen(
    FramedScreen[LifecycleSession], SessionScreen[LifecycleSession, LifecycleState]
):
    """The dialog for note, date and replacement; returns the session if anything was done."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("deprecation")
    DOING = "writing the deprecation"
    DEFAULT_CSS = """
    DeprecationScreen > VerticalScroll { width: 84; }
    DeprecationScreen #what { height: auto; max-height: 2; }
    DeprecationScreen .name { color: $text-muted; height: 1; }
    DeprecationScreen TextArea, DeprecationScreen TextArea:focus {
        border: none; height: 3; background: $panel; padding: 0 1;
    }
    DeprecationScreen #preview { height: auto; max-height: 4; padding: 1 0 0 0; }
    """

    def __init__(self, session: TerminalSession, lifecycle: LifecycleSession) -> None:
        super().__init__()
        self._session = session
        self._lifecycle = lifecycle
        self._shown = lifecycle.state
        self._first = self._base

    @property
    def _base(self) -> DeprecationFields:
        """Return the stored note, date and replacement, as far as they were read."""
        return self._shown.deprecation

    def compose(self) -> ComposeResult:
        """Yield the heading, the three fields, the preview, and the keys."""
        now = self._base
        with VerticalScroll() as scroll:
            scroll.can_focus = False
            yield Static(self._title(), id="what", markup=False)
            yield Static("Reason", classes="name")
            note = NoteArea(now.note, soft_wrap=True, tab_behavior="focus")
            note.cursor_blink = False
            yield note
            yield Static("Removal date (YYYY-MM-DD)", classes="name")
            yield TypedLine(now.day, id="day")
            yield Static("Replacement: a URN, or a name completed with ^t", classes="name")
            yield TypedLine(now.replacement, id="replacement")
            yield Static("", id="preview", markup=False)
        yield KeyLine()

    def on_mount(self) -> None:
        """Focus the note."""
        self.follow(self._lifecycle)
        note = self.query_one(TextArea)
        self.set_focus(note)
        note.move_cursor(note.document.end)
        self._show_text()
        # In a low terminal, scroll to the top, so that the note is visible.
        self.call_after_refresh(self.query_one(VerticalScroll).scroll_home, animate=False)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Allow removing the deprecation only if there is one."""
        del parameters
        return action != "lift" or self._base.is_so

    def action_write(self) -> None:
        """Save the fields."""
        if self._base.is_so and not self._change:
            self.say("No changes yet; esc closes.")
        elif self._shown.work is None:
            self._write()

    def action_lift(self) -> None:
        """Remove the deprecation after confirmation."""
        question = Text.assemble(
            "Remove the deprecation of ",
            line_text(self._lifecycle.name, "bold"),
            "?\nIts note is removed: ",
            line_text(self._base.note, "italic", missing="it has none"),
        )

        def lift() -> None:
            if self._shown.work is None:
                self._lift()

        self.confirm(question, lift)

    def action_leave(self) -> None:
        """Close; if something was typed, ask first."""
        if not self._change:
            self.dismiss()
            return
        question = Text("Close without saving the deprecation? The text you typed is lost.", "bold")
        self.confirm(question, self.dismiss, discards=True)

    @on(TextArea.Changed)
    @on(Input.Changed)
    def _handle_input(self) -> None:
        self.query_one(KeyLine).hush()
        self._show_text()

    @property
    def _fields(self) -> tuple[str, str, str]:
        note = self.query_one(TextArea).text
        day = self.query_one("#day", Input).value.strip()
        return note, day, self.query_one("#replacement", Input).value.strip()

    @property
    def _change(self) -> bool:
        fields = self._first
        return self._fields != (fields.note, fields.day, fields.replacement)

    def typed(self) -> tuple[str, datetime | None, Urn | None]:
        """Return the typed note, time of removal and replacement. Raise `InvalidInput` for an
        invalid date or URN."""
        note, day, instead = self._fields
        try:
            replacement = Urn.parse(instead) if instead else None
        except InvalidUrn as error:
            raise InvalidInput(
                f"{in_quotes(instead)} is not a URN; ^t searches for the name"
            ) from error
        return note, self._base.moment(day), replacement

    @work(exclusive=True, group="write", name=LEADING)
    async def _write(self) -> None:
        with self._session.reporting(self.DOING):
            note, gone_from, replacement = self.typed()
            base = self._base
            doing = self._lifecycle.deprecate(note, gone_from, replacement, instead_of=base)
            await self._end(doing)

    @work(exclusive=True, group="write", name=LEADING)
    async def _lift(self) -> None:
        await self._end(self._lifecycle.lift(instead_of=self._base))

    async def _end(self, doing: "Awaitable[Edit]") -> None:
        if await self.do(doing) is not None:
            self.dismiss(self._lifecycle)

    def draw_state(self, before: LifecycleState, state: LifecycleState) -> None:
        """Show the stored fields, and whether a write is under way."""
        self._show_text()
        if state.work is not None and before.work is None:
            self.say(str(state.work))

    @work(exclusive=True, group="complete")
    async def action_complete(self) -> None:
        """Replace the typed beginning of a name with the URN of the first entity that matches."""
        line = self.query_one("#replacement", Input)
        text = line.value.strip()
        if not text:
            self.say("Type the beginning of a name first.")
            return
        with self._session.reporting("looking for the replacement"):
            catalog = self._lifecycle.catalog
            own_type = self._lifecycle.urn.entity_type
            suggestions = await catalog.suggest(text, entities=(own_type,), limit=5)
            urns = [
                suggestion.urn
                for suggestion in suggestions
                if suggestion.urn not in (None, self._lifecycle.urn)
            ]
            if not urns:
                self.say(f"No {own_type} has a name that begins with this.", error=True)
                return
            line.value = str(urns[0])
            line.cursor_position = len(line.value)

    def _title(self) -> Text:
        state = "Deprecated" if self._base.is_so else "Deprecate"
        return join([Text(state, "bold"), line_text(self._lifecycle.name)])

    def _show_text(self) -> None:
        """Show what the typed deprecation would change."""
        note, day, instead = self._fields
        base = self._base
        removal = Text(f"to be removed on {day}" if day else "")
        try:
            base.moment(day)
        except InvalidInput:
            removal = line_text(f"{in_quotes(day)} is not a date (YYYY-MM-DD)", "italic")
        text = Text("will show  ", "dim")
        if base.is_so and not self._change and base == self._first:
            text = Text("says  ", "dim")
        text.append_text(
            join(
                [
                    Text("deprecated", "bold"),
                    line_text(note),
                    removal,
                    line_text(f"use {Urn.label(instead)}" if instead else ""),
                ]
            )
        )
        if base != self._first:
            theirs = (
                line_text(base.note, missing="no note") if base.is_so else Text("not deprecated")
            )
            text.append("\nsomebody wrote  ", "bold").append_text(theirs)
        self.query_one("#preview", Static).update(text)
