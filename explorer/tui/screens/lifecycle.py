"""Deprecating an entity, and hiding it from search and browse or restoring it."""

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.widgets import Input, Static, TextArea

from explorer.client.display import counted, in_quotes, visible
from explorer.client.editable import deprecation_of
from explorer.errors import Conflict, InvalidInput, InvalidUrn
from explorer.metadata.urn import Urn
from explorer.sessions.labels import LabelTarget
from explorer.sessions.lineage import read_impact
from explorer.tui.actions import bindings
from explorer.tui.content import join, line_text
from explorer.tui.key_queue import LEADING
from explorer.tui.screens.relations import relationship_kinds
from explorer.tui.session import TerminalSession
from explorer.tui.widgets.bars import KeyLine
from explorer.tui.widgets.dialogs import FramedScreen
from explorer.tui.widgets.inputs import TypedLine

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog
    from explorer.client.entity import Entity
    from explorer.client.records import Edges
    from explorer.graph import Affected, Impact

_COUNTED = 1_000
_NAMED = 5


@dataclass(slots=True)
class _Found:
    """The references to an entity, as far as they were read."""

    edges: "Edges | None" = None
    impact: "Impact | None" = None


class HideScreen(FramedScreen[bool]):
    """Asks to hide an entity, or to restore a hidden one; `ctrl+s` confirms. Returns whether it was
    done."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("aside")
    CSS = """
    HideScreen > VerticalScroll { width: 84; }
    """

    def __init__(self, session: TerminalSession, place: LabelTarget, *, hides: bool) -> None:
        super().__init__()
        self._session = session
        self._place = place
        self._hides = hides
        self._found = _Found()
        self._ready = False
        self._is_writing = False

    def compose(self) -> ComposeResult:
        """Yield the explanation and the keys."""
        with VerticalScroll():
            yield Static("", id="said", markup=False)
        yield KeyLine()

    def on_mount(self) -> None:
        """Read the references."""
        self._show_text()
        self._read()

    def action_confirm(self) -> None:
        """Hide or restore it, once the references are shown."""
        if not self._ready:
            self.say("The references to it are still being read.")
        elif not self._is_writing:
            self._do()

    def action_leave(self) -> None:
        """Close without a change."""
        self.dismiss(False)

    @work(exclusive=True, group="aside")
    async def _read(self) -> None:
        urn = self._place.urn
        with self._session.reporting("reading the references to it"):
            catalog = await self._session.catalog()
            if self._hides:
                self._found.edges = await catalog.relationships(urn, "INCOMING", count=_COUNTED)
                self._show_text()
                self._found.impact = (await read_impact(catalog, urn)).impact
        # A failure to read the references is shown, but does not prevent hiding.
        self._ready = True
        self._show_text()
        if self._found.impact is not None:
            # What was said while it was being read is over; what went wrong stays.
            self.query_one(KeyLine).hush()

    @work(exclusive=True, group="aside", name=LEADING)
    async def _do(self) -> None:
        self._is_writing = True
        with self._session.reporting("writing"):
            self.say("writing …")
            catalog = await self._session.catalog()
            act = catalog.soft_delete if self._hides else catalog.restore
            await act(self._place.urn)
            self.dismiss(True)
        self._is_writing = False

    def _show_text(self) -> None:
        name = line_text(self._place.name, "bold")
        text = Text.assemble("Hide " if self._hides else "Restore ", name, "?\n\n")
        if self._hides:
            text.append(
                "It will be hidden from search and browse. Nothing is lost: its page still opens "
                "by its URN, and references to it stay.\n\n"
            )
            self._add_relations(text)
            text.append("\n\nTo restore it, press ^x on its page, or run\n", "dim")
            text.append_text(line_text(f"catalog restore '{self._place.urn}'", "dim"))
        else:
            text.append("It will be shown in search and browse again, with everything it had.")
        text.append("\n\n")
        text.append("^s", "bold").append(" hides it" if self._hides else " restores it")
        text.append(" · ").append("esc", "bold").append(" changes nothing")
        self.query_one("#said", Static).update(text)

    def _add_relations(self, text: Text) -> None:
        edges, impact = self._found.edges, self._found.impact
        unread = "could not be read" if self._ready else "reading …"
        text.append("references to it  ", "dim")
        text.append_text(
            _describe_edges(edges, self._place.urn) if edges else Text(unread, "italic")
        )
        text.append("\ndepends on it     ", "dim")
        text.append_text(_describe_impact(impact) if impact else Text(unread, "italic"))


def _describe_edges(edges: "Edges", of: Urn) -> Text:
    if not edges.total:
        return Text("nothing")
    kinds = relationship_kinds(edges.edges, edges.direction, of)
    names = ", ".join(f"{kind.words or kind.name} {len(kind.urns):,}" for kind in kinds)
    more = ", …" if edges.truncated else ""
    count = Text(f"{counted(edges.total, 'relationship')}: ")
    return count.append_text(line_text(f"{names}{more}", "dim"))


def _describe_impact(impact: "Impact") -> Text:
    if not impact.affected:
        return Text("nothing known")
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


DeprecationOutcome = Literal["nothing", "deprecated", "lifted"]
"""What a reader did: left, said that it should not be used, or that it may be."""

_ASPECT = "deprecation"


@dataclass(frozen=True, slots=True)
class DeprecationFields:
    """The fields of a deprecation; `day` and `replacement` may be empty."""

    is_so: bool = False
    note: str = ""
    day: str = ""
    replacement: str = ""
    millis: int | None = None

    @classmethod
    def of(cls, entity: "Entity") -> Self:
        """Return the fields of an entity."""
        return cls.of_stored(deprecation_of(entity.raw(_ASPECT) or {}))

    @classmethod
    def of_stored(cls, held: "Mapping[str, Any] | None") -> Self:
        """Return the fields of an edit's value, None for not deprecated."""
        if held is None:
            return cls()
        millis = held.get("decommissionTime")
        moment = millis if isinstance(millis, int) else None
        return cls(
            True,
            _text(held.get("note")),
            _day_of(moment),
            _text(held.get("replacement")),
            moment,
        )

    @property
    def value(self) -> dict[str, Any]:
        """Return the deprecation as an edit stores it; empty for not deprecated."""
        if not self.is_so:
            return {}
        parts = {"decommissionTime": self.millis, "replacement": self.replacement or None}
        return {"note": self.note} | {key: part for key, part in parts.items() if part is not None}

    def moment(self, day: str) -> datetime | None:
        """Return the start of the day in UTC, or the stored time if the day is unchanged."""
        if not day:
            return None
        if day == self.day and self.millis is not None:
            return datetime.fromtimestamp(self.millis / 1000, UTC)
        try:
            said_day = date.fromisoformat(day)
        except ValueError:
            raise InvalidInput(
                f"{in_quotes(day)} is not a date; write it as 2027-01-31, or leave it empty"
            ) from None
        return datetime(said_day.year, said_day.month, said_day.day, tzinfo=UTC)


def _text(stored: Any) -> str:
    return stored if isinstance(stored, str) else ""


def _day_of(millis: int | None) -> str:
    if millis is None:
        return ""
    try:
        return datetime.fromtimestamp(millis / 1000, UTC).date().isoformat()
    except (ValueError, OverflowError, OSError):
        return ""


class NoteArea(TextArea):
    """The input for the note; control characters are shown as marks."""

    def get_line(self, line_index: int) -> Text:
        """Return a line as it is drawn."""
        line = super().get_line(line_index)
        line.plain = visible(line.plain)
        return line


class DeprecationScreen(FramedScreen[DeprecationOutcome]):
    """The dialog for note, date and replacement; returns what was done."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("deprecation")
    DEFAULT_CSS = """
    DeprecationScreen > VerticalScroll { width: 84; }
    DeprecationScreen #what { height: auto; max-height: 2; }
    DeprecationScreen .name { color: $text-muted; height: 1; }
    DeprecationScreen TextArea, DeprecationScreen TextArea:focus {
        border: none; height: 3; background: $panel; padding: 0 1;
    }
    DeprecationScreen #preview { height: auto; max-height: 4; padding: 1 0 0 0; }
    """

    def __init__(
        self, session: TerminalSession, place: LabelTarget, now: DeprecationFields
    ) -> None:
        super().__init__()
        self._session = session
        self._place = place
        self._base = now
        self._shown = now
        self._is_writing = False

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
        note = self.query_one(TextArea)
        self.set_focus(note)
        note.move_cursor(note.document.end)
        self._show_text()
        # In a low terminal not all of it is seen at once: the note is, first.
        self.call_after_refresh(self.query_one(VerticalScroll).scroll_home, animate=False)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Allow removing the deprecation only if there is one."""
        del parameters
        return action != "lift" or self._base.is_so

    def action_write(self) -> None:
        """Save the fields."""
        if self._base.is_so and not self._change:
            self.say("No changes yet; esc closes.")
        elif not self._is_writing:
            self._write()

    def action_lift(self) -> None:
        """Remove the deprecation after confirmation."""
        question = Text.assemble(
            "Remove the deprecation of ",
            line_text(self._place.name, "bold"),
            "?\nIts note is removed: ",
            line_text(self._base.note, "italic", missing="it has none"),
        )

        def lift() -> None:
            if not self._is_writing:
                self._lift()

        self.confirm(question, lift)

    def action_leave(self) -> None:
        """Close; ask first if something was typed."""
        if not self._change:
            self.dismiss("nothing")
            return
        question = Text("Close without saving the deprecation? The text you typed is lost.", "bold")
        self.confirm(question, partial(self.dismiss, "nothing"), discards=True)

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
        fields = self._shown
        return self._fields != (fields.note, fields.day, fields.replacement)

    def typed(self) -> tuple[str, datetime | None, Urn | None]:
        """Return the typed note, time of removal and replacement. Raises `InvalidInput` for an
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
        with self._session.reporting("writing the deprecation"):
            note, gone_from, replacement = self.typed()
            with self._writing():
                catalog = await self._session.catalog()
                async with self._reporting_conflicts(catalog):
                    await catalog.deprecate(
                        self._place.urn,
                        note,
                        decommission=gone_from,
                        replacement=replacement,
                        instead_of=self._base.value,
                    )
            self.dismiss("deprecated")

    @work(exclusive=True, group="write", name=LEADING)
    async def _lift(self) -> None:
        with self._session.reporting("removing the deprecation"), self._writing():
            catalog = await self._session.catalog()
            async with self._reporting_conflicts(catalog):
                await catalog.undeprecate(self._place.urn, instead_of=self._base.value)
            self.dismiss("lifted")

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Show that it is being written, and prevent a second write meanwhile."""
        self._is_writing = True
        self.say("writing …")
        try:
            yield
        finally:
            self._is_writing = False

    @asynccontextmanager
    async def _reporting_conflicts(self, catalog: "AsyncCatalog") -> AsyncIterator[None]:
        """Show the deprecation of somebody else if that is why nothing was written."""
        from explorer.client import TextConflict

        try:
            yield
        except TextConflict as conflict:
            self._base = DeprecationFields.of(await catalog.entity(self._place.urn, (_ASPECT,)))
            self._show_text()
            raise Conflict(
                "somebody else changed the deprecation meanwhile; nothing was written: "
                "save again to replace it with yours"
            ) from conflict

    @work(exclusive=True, group="complete")
    async def action_complete(self) -> None:
        """Complete the name of the replacement."""
        line = self.query_one("#replacement", Input)
        text = line.value.strip()
        if not text:
            self.say("Type the beginning of a name first.")
            return
        with self._session.reporting("looking for the replacement"):
            catalog = await self._session.catalog()
            own_type = self._place.urn.entity_type
            suggestions = await catalog.suggest(text, entities=(own_type,), limit=5)
            urns = [
                suggestion.urn
                for suggestion in suggestions
                if suggestion.urn not in (None, self._place.urn)
            ]
            if not urns:
                self.say(f"No {own_type} has a name that begins with this.", error=True)
                return
            line.value = str(urns[0])
            line.cursor_position = len(line.value)

    def _title(self) -> Text:
        state = "Deprecated" if self._base.is_so else "Deprecate"
        return join([Text(state, "bold"), line_text(self._place.name)])

    def _show_text(self) -> None:
        note, day, instead = self._fields
        base = self._base
        removal = Text(f"to be removed on {day}" if day else "")
        try:
            base.moment(day)
        except InvalidInput:
            removal = line_text(f"{in_quotes(day)} is not a date (YYYY-MM-DD)", "italic")
        text = Text("will show  ", "dim")
        if base.is_so and not self._change and base == self._shown:
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
        if base != self._shown:
            theirs = (
                line_text(base.note, missing="no note") if base.is_so else Text("not deprecated")
            )
            text.append("\nsomebody wrote  ", "bold").append_text(theirs)
        self.query_one("#preview", Static).update(text)
