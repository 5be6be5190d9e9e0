"""The editor: a description in markdown, what it will look like, and what others wrote."""

import asyncio
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.screen import ModalScreen
from textual.widgets import Static, TextArea

from explorer.errors import Unusable
from explorer.tui.actions import bindings
from explorer.tui.content import said
from explorer.tui.editing.area import DescriptionArea
from explorer.tui.editing.beside import Beside
from explorer.tui.editing.comparing import Answer, ComparingScreen, ConflictScreen
from explorer.tui.editing.heading import heading
from explorer.tui.editing.keeping import Keeper
from explorer.tui.editing.outside import edit_outside
from explorer.tui.editing.preview import Preview
from explorer.tui.editing.subject import Subject
from explorer.tui.editing.suggestions import suggestions
from explorer.tui.inorder import LEADING
from explorer.tui.session import Session
from explorer.tui.shell.keyline import KeyLine

if TYPE_CHECKING:
    from explorer.client import TextConflict

__all__ = ["EditorScreen", "Left"]

_PAUSE_SECONDS = 0.3
_LONGEST_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class Left:
    """How the editor was left: at which text, whether any was saved, and what to say of it."""

    path: str | None
    saved: bool
    message: str = ""


class EditorScreen(ModalScreen[Left]):
    """Edits descriptions of one subject. What is typed is on disk at every pause; saving goes to
    the server and says so; a text that somebody else changed meanwhile is shown, not overwritten.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings("editor")
    CSS = """
    EditorScreen { background: $background; }
    EditorScreen Horizontal { height: 1fr; min-height: 4; }
    EditorScreen #title { height: 2; padding: 0 1; border-bottom: solid $border-blurred; }
    EditorScreen Horizontal > * {
        width: 1fr; height: 1fr; border: round $border-blurred; border-title-color: $text-muted;
        padding: 0 1;
    }
    EditorScreen DescriptionArea { background: $background; scrollbar-size-vertical: 1; }
    EditorScreen DescriptionArea:focus { border: round $primary; }
    EditorScreen.-narrow Preview { display: none; }
    EditorScreen.-looking Preview { display: block; }
    EditorScreen.-narrow.-looking DescriptionArea { display: none; }
    """

    def __init__(self, session: Session, subject: Subject, path: str | None) -> None:
        super().__init__()
        self._session = session
        self._subject = subject
        self._target = subject.target(path)
        self._start = self._target.text
        self._base = self._target.edited
        self._note = ""
        self._saved = False
        self._warned = False
        self._over = False
        self._burst_seconds = 0.0
        self._keeper = Keeper(session)
        # Until then nobody knows whether there is a draft, and none may be written over.
        self._opened = asyncio.Event()

    def compose(self) -> ComposeResult:
        """The title, the text beside its preview, what may be taken, the keys."""
        yield Static("", id="title", markup=False)
        with Horizontal():
            area = DescriptionArea(self._start)
            area.border_title = "edit"
            yield area
            shown = Preview()
            shown.border_title = "preview"
            yield shown
        yield Beside()
        yield KeyLine()

    def on_mount(self) -> None:
        """The keys to the text, at its end, as soon as it is known whether there is a draft."""
        area = self._area
        area.move_cursor(area.document.end)
        self.set_focus(area)
        self._open(self._target.path)

    @property
    def _area(self) -> DescriptionArea:
        return self.query_one(DescriptionArea)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Only what leads anywhere: to a column there is, a text that is offered, a server that is
        written to."""
        path = self._target.path
        match action, parameters:
            case "save" | "compare", _:
                return None if self._session.read_only else True
            case "look", _:
                return self.has_class("-narrow")
            case "save_and_next", _:
                return path is not None and not self._session.read_only
            case "move", (int(step),):
                return self._subject.beside(path, step) is not None
            case "take", (int(number),):
                return self.is_mounted and self.query_one(Beside).offer(number) is not None
        return True

    def action_save(self) -> None:
        """Save and leave."""
        self._save(onward=False)

    def action_save_and_next(self) -> None:
        """Save, and on to the next column without a description."""
        self._save(onward=True)

    def action_move(self, step: int) -> None:
        """To a column some steps further; what was typed stays as a draft."""
        path = self._subject.beside(self._target.path, step)
        if path is not None:
            self._move(path)

    def action_discard(self) -> None:
        """Back to the text that was there; the undo key takes it back again."""
        self._start, self._base, self._note = self._target.text, self._target.edited, ""
        self._area.replace_all(self._start)

    def action_take(self, number: int) -> None:
        """Take a text that stands below; the undo key takes it back again."""
        text = self.query_one(Beside).offer(number)
        if text is not None:
            self._area.replace_all(text)

    def action_look(self) -> None:
        """In a narrow terminal the text and what it looks like take turns."""
        looking = not self.has_class("-looking")
        self.set_class(looking, "-looking")
        if not looking:
            self.set_focus(self._area)
        self.call_after_refresh(self._show_preview)

    def action_compare(self) -> None:
        """What was there against what is typed."""

        def answered(answer: Answer | None) -> None:
            if answer == "save":
                self._save(onward=False)

        target = self._target
        self.app.push_screen(ComparingScreen(target.title, target.text, self._area.text), answered)

    def action_edit_outside(self) -> None:
        """Lend the terminal to the reader's own editor."""
        self._edit_outside()

    def action_leave(self) -> None:
        """Leave; a text that was changed stays as a draft."""
        self._leave()

    @on(DescriptionArea.Typed)
    def _typed(self) -> None:
        self.query_one(KeyLine).hush()

    @on(TextArea.Changed)
    def _changed(self) -> None:
        now = time.monotonic()
        if not self._burst_seconds:
            self._burst_seconds = now
        self._follow(max(0.0, min(_PAUSE_SECONDS, self._burst_seconds + _LONGEST_SECONDS - now)))

    @on(TextArea.SelectionChanged)
    def _show_place(self) -> None:
        area = self._area
        row, last = area.cursor_location[0], area.document.line_count - 1
        self.query_one(Preview).follow(row / last if last else 1.0)

    @work(exclusive=True, group="draft")
    async def _follow(self, pause_seconds: float) -> None:
        """At a pause, and every few seconds where there is none: keep and show what is typed."""
        await asyncio.sleep(pause_seconds)
        self._burst_seconds = 0.0
        if self._is_turning:
            return
        with self._session.reporting("keeping the draft"):
            await self._show_preview()
            # Meanwhile another text may have been turned to.
            if self._is_turning:
                return
            target, text = self._target, self._area.text
            await self._keep(text)
            if target is self._target:
                self._tell("" if text == self._start else "draft kept")

    async def _show_preview(self) -> None:
        await self.query_one(Preview).show_text(self._area.text)
        self._show_place()

    def _open(self, path: str | None, message: str = "") -> None:
        """Begin with another text, or the draft of it; what is typed meanwhile goes there."""
        self._opened.clear()
        self._area.wait()
        self._target = self._subject.target(path)
        self._open_draft(message)

    @work(group="open")
    async def _open_draft(self, message: str) -> None:
        area, target = self._area, self._target
        try:
            self._start, self._base, self._note = target.text, target.edited, ""
            draft = None
            with self._session.reporting("looking for a draft"):
                draft = await self._keeper.read(target)
            area.open_text(self._start)
            if draft is not None and draft.text != self._start:
                self._note = "This is your draft, not saved yet; ^r goes back to the text."
                if draft.base != self._base:
                    self._note += " That has changed since."
                self._base = draft.base
                area.replace_all(draft.text)
        finally:
            area.go_on()
            self._opened.set()
        ends = area.exact.line_ends()
        kept = f"It has {ends}, kept as they are." if ends else ""
        note = " ".join(filter(None, (self._note, kept)))
        self.query_one(Beside).show_target(target, note)
        self._tell()
        if message:
            self._say(message)
        self._ask()
        self.refresh_bindings()

    @work(exclusive=True, group="ask")
    async def _ask(self) -> None:
        """What others wrote of such a column, where the writer stays on it."""
        path = self._target.path
        await self._show_preview()
        await asyncio.sleep(_PAUSE_SECONDS)
        if path is None or path != self._target.path or self._over:
            return
        with self._session.reporting("looking for other texts"):
            catalog = await self._session.catalog()
            found = await suggestions(catalog, self._subject.entity, path)
            if path == self._target.path:
                self.query_one(Beside).add(found)
                self.refresh_bindings()

    @work(exclusive=True, group="save")
    async def _move(self, path: str) -> None:
        if not await self.keep_draft():
            return
        kept = f"Not saved: what you typed for {said(self._target.title).plain} is kept as a draft."
        self._open(path, kept if self._is_typed else "")

    @work(exclusive=True, group="save")
    async def _save(self, *, onward: bool, instead_of: str | None = None) -> None:
        from explorer.client import TextConflict

        seen = self._opened.is_set()
        await self._opened.wait()
        if self._note and not seen:
            self._say("Not saved: a draft was found. Look at it; ^s saves it.", error=True)
            return
        area, target = self._area, self._target
        text = area.text
        base = self._base if instead_of is None else instead_of
        area.wait()
        try:
            with self._session.reporting("saving"):
                # Before it is sent, for the answer may never come; saving does not depend on it.
                with self._session.reporting("keeping the draft"):
                    await self._keep(text)
                saved = text != self._start or instead_of is not None
                if saved:
                    self._say("saving …")
                    catalog = await self._session.catalog()
                    try:
                        await catalog.describe(
                            target.urn, text, column=target.path, instead_of=base
                        )
                    except TextConflict as conflict:
                        self._say("")
                        self._show_conflict(conflict, onward)
                        return
                    await self._keeper.drop(target)
                    self._subject.wrote(target.path, text)
                    self._saved = True
                self._go_on(saved, onward)
        finally:
            area.go_on()

    def _go_on(self, saved: bool, onward: bool) -> None:
        title = said(self._target.title).plain
        message = f"Saved {title}." if saved else ""
        following = self._subject.undocumented_after(self._target.path) if onward else None
        if following is not None:
            self._open(following, message)
            return
        if onward:
            message = f"{message} Every column of this one is documented.".strip()
        self._leave_with(message)

    @work(exclusive=True, group="save")
    async def _edit_outside(self) -> None:
        await self._opened.wait()
        with self._session.reporting("editing the text outside"):
            text = self._area.text
            with self._session.reporting("keeping the draft"):
                await self._keep(text)
            changed = edit_outside(self.app, text)
            self.app.refresh()
            self._area.replace_all(changed)

    @work(exclusive=True, group="save", name=LEADING)
    async def _leave(self) -> None:
        if await self.keep_draft():
            kept = f"Not saved; what you typed for {said(self._target.title).plain} is kept."
            self._leave_with(kept if self._is_typed else "")

    def _leave_with(self, message: str) -> None:
        # From here on nothing that still waits may write a draft again.
        self._over = True
        self.dismiss(Left(self._target.path, self._saved, message))

    @property
    def _is_turning(self) -> bool:
        """Whether the text is just saved or left, or another one is on its way."""
        return self._over or self._area.read_only

    @property
    def _is_typed(self) -> bool:
        return self._opened.is_set() and self._area.text != self._start

    async def keep_draft(self) -> bool:
        """Keep what is typed now; says whether it is safe to leave. Where a draft cannot be kept,
        asking a second time leaves all the same."""
        if not self._opened.is_set() and not self._area.has_waiting:
            return True
        await self._opened.wait()
        self._area.take_waiting()
        try:
            await self._keep(self._area.text)
        except Unusable as error:
            warned, self._warned = self._warned, True
            self._say(str(error), True)
            return warned
        return True

    async def _keep(self, text: str) -> None:
        if text == self._start:
            await self._keeper.drop(self._target)
        else:
            await self._keeper.keep(self._target, self._base, text)

    def _show_conflict(self, conflict: "TextConflict", onward: bool) -> None:
        theirs = conflict.theirs
        self.query_one(Beside).add_theirs(theirs)

        def answered(answer: Answer | None) -> None:
            if answer == "mine":
                self._save(onward=onward, instead_of=theirs)
            elif answer == "theirs":
                self._subject.wrote(self._target.path, theirs)
                self._target = self._subject.target(self._target.path)
                self._saved = True
                self.action_discard()
                self._tell()
            else:
                self._say("Not saved: your text is here, theirs is below.", True)

        self.app.push_screen(ConflictScreen(self._target.title, theirs, conflict.mine), answered)

    def _say(self, message: str, error: bool = False) -> None:
        self.query_one(KeyLine).say(message, error=error)

    def _tell(self, draft: str = "") -> None:
        """Say above the text what it is of, and how it stands."""
        place = self._subject.place(self._target.path)
        read_only, width = self._session.read_only, self.size.width - 2
        title = heading(self._target, place, draft, read_only=read_only, width=width)
        self.query_one("#title", Static).update(title)
