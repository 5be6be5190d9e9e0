"""Putting an old description back: what would change is shown, and nothing is done unasked."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Static

from explorer.errors import ReadOnly
from explorer.metadata.urn import Urn
from explorer.tui.actions import bindings
from explorer.tui.content import join, said
from explorer.tui.history.differences import DifferenceRows, lines_of_text
from explorer.tui.history.versions import who
from explorer.tui.inorder import LEADING
from explorer.tui.session import Session
from explorer.tui.shell.keyline import KeyLine

if TYPE_CHECKING:
    from explorer.client.entity import Entity
    from explorer.client.records import ColumnChange
    from explorer.metadata.aspects import AuditStamp
    from explorer.tui.history.versions import Place

__all__ = ["Old", "Outcome", "RestoreScreen", "old_of_change", "old_of_place"]

_NO_TEXT = "No description is in this one; b and ⏎ find the old texts of a column."
_AS_NOW = "That is the description as it is now."


@dataclass(frozen=True, slots=True)
class Old:
    """An old description: of an entity, or of the column at the field path `path`.

    `now` is the edited text that the reader sees beside it, empty where there is none; `written`
    is when and by whom the old one was.
    """

    urn: Urn
    name: str
    path: str | None
    column: str
    text: str
    now: str
    written: "AuditStamp | None"


@dataclass(frozen=True, slots=True)
class Outcome:
    """How the screen was left; `refused` is what was said where this connection only reads."""

    restored: bool = False
    refused: str = ""


def _old_text(entity: "Entity", aspect: str, value: dict[str, object]) -> str | None:
    """The description of an entity that one of its aspects holds; None where it holds none."""
    from explorer.client.editable import place_of
    from explorer.errors import InvalidInput

    try:
        place = place_of(entity.urn, None)
    except InvalidInput:
        return None
    if aspect == place.aspect:
        return place.text(value) or ""
    # What came in beside what people wrote: put back, it becomes what people wrote.
    ingested = value.get("description")
    is_beside = aspect.endswith(("Properties", "Info")) and not aspect.startswith("editable")
    return ingested if is_beside and isinstance(ingested, str) else None


def _text_now(entity: "Entity") -> str:
    """What people wrote of an entity, exactly as it is kept."""
    from explorer.client.editable import place_of

    place = place_of(entity.urn, None)
    return place.text(entity.raw(place.aspect) or {}) or ""


def old_of_place(entity: "Entity", place: "Place | None") -> Old | str:
    """The description of an entity that a version of an aspect holds, the latest of an aspect, or
    why there is none to put back."""
    step = place.step or next(iter(place.track.steps), None) if place is not None else None
    if place is None or step is None:
        return _NO_TEXT
    version = step.version
    text = _old_text(entity, place.track.aspect, version.value)
    if text is None:
        return _NO_TEXT
    now = _text_now(entity)
    if text == (now or entity.ingested_description):
        return _AS_NOW
    return Old(entity.urn, entity.name, None, "", text, now, version.created)


def old_of_change(entity: "Entity", path: str, change: "ColumnChange") -> Old | str:
    """The text that a change gave to a column, or why it is not one to put back."""
    column = entity.schema.column(path)
    if column is None:
        return "The schema no longer has this column, so nothing can be put back."
    text, now = change.after or "", column.edited or ""
    if text == (now or column.ingested or ""):
        return _AS_NOW
    if change.origin == "ingested" and not text:
        return "There is no text in this one to put back."
    return Old(entity.urn, entity.name, path, column.path.simple, text, now, change.created)


class RestoreScreen(ModalScreen[Outcome]):
    """Shows what putting an old description back would change, and does it when told to. A text
    that somebody wrote meanwhile is shown and not overwritten unasked."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("restore")
    CSS = """
    RestoreScreen { align: center middle; }
    RestoreScreen > Vertical {
        width: 100; max-width: 96%; height: 24; max-height: 92%;
        background: $surface; border: round $primary; padding: 0 1;
    }
    RestoreScreen #what { height: auto; max-height: 4; }
    RestoreScreen DifferenceRows { height: 1fr; }
    """

    def __init__(self, session: Session, old: Old) -> None:
        super().__init__()
        self._session = session
        self._old = old
        self._base = old.now

    def compose(self) -> ComposeResult:
        """What is to be done, what it changes, the keys."""
        with Vertical():
            yield Static("", id="what", markup=False)
            yield DifferenceRows(beside=False)
        yield KeyLine()

    def on_mount(self) -> None:
        """Show it, the keys on the text."""
        rows = self.query_one(DifferenceRows)
        self.set_focus(rows)
        self._show("Put the old description back?")

    def say(self, message: str, *, error: bool = False) -> None:
        """Show one sentence in place of the keys."""
        self.query_one(KeyLine).say(message, error=error)

    def action_confirm(self) -> None:
        """Put it back."""
        self._restore()

    def action_cancel(self) -> None:
        """Leave it as it is."""
        self.dismiss(Outcome())

    @work(exclusive=True, group="restore", name=LEADING)
    async def _restore(self) -> None:
        from explorer.client import TextConflict

        old = self._old
        self.say("putting it back …")
        with self._session.reporting("putting the old description back"):
            catalog = await self._session.catalog()
            try:
                await catalog.describe(old.urn, old.text, column=old.path, instead_of=self._base)
            except ReadOnly as error:
                self.dismiss(Outcome(refused=str(error)))
            except TextConflict as conflict:
                self._base = conflict.theirs
                self._show("Somebody wrote another text meanwhile. Put the old one in its place?")
                self.say("Nothing was written: the text has changed since you read it.", error=True)
            else:
                self.dismiss(Outcome(restored=True))

    def _show(self, question: str) -> None:
        old = self._old
        written = f"as of {self._session.times.when(old.written)} {who(old.written)}"
        of = join([said(old.name), said(old.column), said(written, "dim")])
        text = Text.assemble((question, "bold"), "\n", of)
        if not old.text:
            text.append("\nThere was no description then: what people wrote goes away.", "italic")
        self.query_one("#what", Static).update(text)
        lines = lines_of_text(self._base, old.text)
        self.query_one(DifferenceRows).show_lines(lines)
