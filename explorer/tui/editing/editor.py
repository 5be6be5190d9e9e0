"""The editor: one description in markdown, what it will look like, and what came in with it."""

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static, TextArea

from explorer.client.display import visible
from explorer.errors import Unusable
from explorer.metadata.urn import Urn
from explorer.tui.actions import bindings
from explorer.tui.content import join, markdown, said
from explorer.tui.editing.drafts import Draft, Drafts
from explorer.tui.session import Session
from explorer.tui.shell.keyline import KeyLine

if TYPE_CHECKING:
    from explorer.client.entity import Entity

__all__ = ["EditorScreen", "Saved", "Target"]

_PAUSE_SECONDS = 0.3


@dataclass(frozen=True, slots=True)
class Target:
    """What is edited: the description of an entity or of one of its columns."""

    urn: Urn
    name: str
    path: str | None
    column: str
    ingested: str
    edited: str

    @classmethod
    def of(cls, entity: "Entity", path: str | None) -> "Target":
        """The target as the entity has it now."""
        if path is None:
            return cls(
                entity.urn,
                entity.name,
                None,
                "",
                entity.ingested_description,
                entity.edited_description,
            )
        column = entity.schema.column(path)
        return cls(
            entity.urn,
            entity.name,
            path,
            column.path.simple if column else path,
            (column.ingested or "") if column else "",
            (column.edited or "") if column else "",
        )

    @property
    def text(self) -> str:
        """The text that counts now."""
        return self.edited or self.ingested


@dataclass(frozen=True, slots=True)
class Saved:
    """How the editor was left: whether a text was saved, and whether to go on to the next."""

    path: str | None
    saved: bool
    onward: bool = False


class DescriptionArea(TextArea):
    """The text as it is, except that what would drive the terminal is shown as a mark."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("text")

    def action_indent(self) -> None:
        """Four spaces, as markdown counts them."""
        self.insert("    ")

    def get_line(self, line_index: int) -> Text:
        """A line as it is drawn."""
        line = super().get_line(line_index)
        line.plain = visible(line.plain)
        return line


class EditorScreen(ModalScreen[Saved]):
    """Edits one description. What is typed is on disk at every pause; saving goes to the server
    and says so; a text that somebody else changed meanwhile is shown, not overwritten."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("editor")
    CSS = """
    EditorScreen { background: $background; }
    EditorScreen Horizontal { height: 1fr; }
    EditorScreen #title { height: 2; padding: 0 1; border-bottom: solid $border-blurred; }
    EditorScreen TextArea {
        width: 1fr; height: 1fr; border: round $border-blurred; background: $background;
    }
    EditorScreen TextArea:focus { border: round $primary; }
    EditorScreen #preview {
        width: 1fr; height: 1fr; border: round $border-blurred; padding: 0 1;
        scrollbar-size-vertical: 1; border-title-color: $text-muted;
    }
    EditorScreen #state { height: auto; max-height: 6; padding: 0 1; color: $text-muted; }
    EditorScreen.-narrow #preview { display: none; }
    """

    def __init__(self, session: Session, target: Target, *, columns: bool) -> None:
        super().__init__()
        self._session = session
        self._target = target
        self._columns = columns
        self._base = target.text
        self._overwrite: str | None = None
        self._warned = False
        self._over = False
        self._drafts: Drafts | None = None

    def compose(self) -> ComposeResult:
        """The title, the text beside its preview, what came in, the keys."""
        yield Static(self._title(), id="title", markup=False)
        with Horizontal():
            area = DescriptionArea(self._base, soft_wrap=True)
            area.cursor_blink = False
            area.border_title = "edit"
            yield area
            with VerticalScroll(id="preview") as preview:
                preview.border_title = "preview"
                preview.can_focus = False
                yield Static(markdown(self._base), id="shown", markup=False)
        yield Static("", id="state", markup=False)
        yield KeyLine()

    def on_mount(self) -> None:
        """Start at the end of the text, with the draft if there is one."""
        area = self.query_one(TextArea)
        area.move_cursor(area.document.end)
        area.focus()
        self._tell()
        self._find_draft()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """There is a next column only where columns are edited."""
        del parameters
        return self._columns or action != "save_and_next"

    def action_save(self) -> None:
        """Save and leave."""
        self._save(onward=False)

    def action_save_and_next(self) -> None:
        """Save, and on to the next column without a description."""
        self._save(onward=True)

    def action_discard(self) -> None:
        """Back to the text the editor started from; the undo key takes it back again."""
        area = self.query_one(TextArea)
        area.replace(self._base, area.document.start, area.document.end)

    def action_leave(self) -> None:
        """Leave; a text that was changed stays as a draft."""
        self._leave()

    @on(TextArea.Changed)
    def _changed(self) -> None:
        self.query_one(KeyLine).hush()
        self._follow()

    @work(exclusive=True, group="draft")
    async def _follow(self) -> None:
        await asyncio.sleep(_PAUSE_SECONDS)
        if self._over:
            return
        with self._session.reporting("keeping the draft"):
            text = self.query_one(TextArea).text
            self.query_one("#shown", Static).update(markdown(text))
            await self._keep(text)
            self._tell("" if text == self._base else "draft kept")

    @work
    async def _find_draft(self) -> None:
        with self._session.reporting("looking for a draft"):
            drafts = await self._own_drafts()
            target = self._target
            draft = await asyncio.to_thread(drafts.read, str(target.urn), target.path)
            area = self.query_one(TextArea)
            if draft is None or draft.text == self._base or area.text != self._base:
                return
            area.replace(draft.text, area.document.start, area.document.end)
            area.move_cursor(area.document.end)
            self.query_one("#shown", Static).update(markdown(draft.text))
            changed = " The saved text has changed since." if draft.base != self._base else ""
            sentence = f"This is your draft, not saved yet; ^r goes back to the text.{changed}"
            # After the change of the text has been seen, for that takes messages away.
            self.call_after_refresh(self._say, sentence)

    @work(exclusive=True, group="save")
    async def _save(self, *, onward: bool) -> None:
        text = self.query_one(TextArea).text
        target = self._target
        with self._session.reporting("saving"):
            try:
                # Before it is sent, for the answer may never come; saving does not depend on it.
                with self._session.reporting("keeping the draft"):
                    await self._keep(text)
                if text == self._base:
                    self._leave_with(Saved(target.path, saved=False, onward=onward))
                    return
                self._say("saving …")
                catalog = await self._session.catalog()
                theirs = Target.of(await catalog.entity(target.urn), target.path).text
                if theirs not in (self._base, self._overwrite):
                    self._show_theirs(theirs)
                    return
                await catalog.describe(target.urn, text, column=target.path)
                drafts = await self._own_drafts()
                self._over = True
                await asyncio.to_thread(drafts.drop, str(target.urn), target.path)
                self._leave_with(Saved(target.path, saved=True, onward=onward))
            finally:
                self._tell()

    @work(exclusive=True, group="save")
    async def _leave(self) -> None:
        if await self.keep_draft():
            self._leave_with(Saved(self._target.path, saved=False))

    def _leave_with(self, how: Saved) -> None:
        # From here on nothing that still waits may write a draft again.
        self._over = True
        self.dismiss(how)

    async def keep_draft(self) -> bool:
        """Keep what is typed now; says whether it is safe to leave. Where a draft cannot be kept,
        asking a second time leaves all the same."""
        try:
            await self._keep(self.query_one(TextArea).text)
        except Unusable as error:
            warned, self._warned = self._warned, True
            self._say(str(error), True)
            return warned
        return True

    async def _keep(self, text: str) -> None:
        drafts = await self._own_drafts()
        target = self._target
        if text.strip() == self._base.strip():
            await asyncio.to_thread(drafts.drop, str(target.urn), target.path)
            return
        draft = Draft(str(target.urn), target.path, self._base, text)
        await asyncio.to_thread(drafts.keep, draft)

    async def _own_drafts(self) -> Drafts:
        if self._drafts is None:
            catalog = await self._session.catalog()
            self._drafts = Drafts.of("embedded" if catalog.embedded else catalog.address)
        return self._drafts

    def _show_theirs(self, theirs: str) -> None:
        self._overwrite = theirs
        text = Text("Somebody saved another text meanwhile:\n", "bold")
        text.append_text(said(theirs, missing="no description"))
        self.query_one("#state", Static).update(text)
        self._say("Not saved: the text has changed since. ^s again puts yours in its place.", True)

    def say(self, message: str, *, error: bool = False) -> None:
        """Show one sentence in place of the keys."""
        self._say(message, error)

    def _say(self, message: str, error: bool = False) -> None:
        self.query_one(KeyLine).say(message, error=error)

    def _title(self) -> Text:
        target = self._target
        return join([said(target.name), said(target.column, "bold") if target.path else Text()])

    def _tell(self, draft: str = "") -> None:
        if self._overwrite is not None:
            return
        target = self._target
        text = Text("ingested: ", "dim")
        text.append_text(said(target.ingested, missing="no description"))
        if draft:
            text.append(f"   {draft}", "italic dim")
        self.query_one("#state", Static).update(text)
