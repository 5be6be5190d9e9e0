"""Everything that was typed and not saved, so that none of it is lost from sight."""

import asyncio
from typing import ClassVar

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Static

from explorer.stewardship.drafts import Draft, Drafts, Kept
from explorer.tui.actions import bindings
from explorer.tui.content import join, padded, preview, said
from explorer.tui.rows import Rows
from explorer.tui.session import Session
from explorer.tui.shell.keyline import KeyLine

__all__ = ["DraftsScreen"]


class DraftsScreen(ModalScreen[Draft]):
    """The drafts for this server, the newest first; gives the one to go on with."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("drafts")
    CSS = """
    DraftsScreen { align: center middle; }
    DraftsScreen > Vertical {
        width: 110; max-width: 96%; height: 24; max-height: 92%;
        background: $surface; border: round $primary; padding: 0 1;
    }
    DraftsScreen #what { height: 2; }
    DraftsScreen Rows { height: 1fr; }
    """

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session
        self._kept: list[Kept] = []
        self._removed: list[Draft] = []

    def compose(self) -> ComposeResult:
        """How many there are, which, the keys."""
        with Vertical():
            yield Static("", id="what", markup=False)
            yield Rows(row_height=2)
        yield KeyLine()

    def on_mount(self) -> None:
        """Look for them."""
        self.set_focus(self.query_one(Rows))
        self._read()

    @on(Rows.Chosen)
    def _chosen(self) -> None:
        self.action_open()

    def action_open(self) -> None:
        """Go on with the one under the cursor."""
        one = self._current
        if one is not None and one.open:
            self._say("Another program that runs edits this one: leave it there first.", True)
        elif one is not None:
            self.dismiss(one.draft)

    def action_remove(self) -> None:
        """Throw the one under the cursor away."""
        one = self._current
        if one is not None and one.open:
            self._say("Another program that runs edits this one: leave it there first.", True)
        elif one is not None:
            self._removed.append(one.draft)
            self._drop(one.draft)

    def action_restore(self) -> None:
        """Restore the draft discarded last."""
        if self._removed:
            self._bring_back(self._removed.pop())

    def action_leave(self) -> None:
        """Close."""
        self.dismiss(None)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Only where there is one to do it to."""
        del parameters
        if action in ("open", "remove"):
            return bool(self._kept)
        return action != "restore" or bool(self._removed)

    @property
    def _current(self) -> Kept | None:
        at = self.query_one(Rows).cursor
        return self._kept[at] if at < len(self._kept) else None

    @work(exclusive=True, group="drafts")
    async def _read(self) -> None:
        await self._show()

    @work(group="drafts")
    async def _drop(self, draft: Draft) -> None:
        drafts = await Drafts.at(self._session)
        await asyncio.to_thread(drafts.drop, draft.urn, draft.path)
        await self._show()
        self._say("Discarded; ^z restores it while this list is open.")

    @work(group="drafts")
    async def _bring_back(self, draft: Draft) -> None:
        with self._session.reporting("bringing the draft back"):
            drafts = await Drafts.at(self._session)
            await asyncio.to_thread(drafts.keep, draft)
        await self._show()

    async def _show(self) -> None:
        with self._session.reporting("looking for drafts"):
            drafts = await Drafts.at(self._session)
            self._kept = await asyncio.to_thread(drafts.all)
        rows = self.query_one(Rows)
        count = len(self._kept)
        rows.show(count, self._draw, cursor=rows.cursor, empty="No drafts: everything is saved.")
        words = "1 draft, not saved" if count == 1 else f"{count} drafts, not saved"
        self.query_one("#what", Static).update(Text(words if count else "No drafts", "bold"))
        self.refresh_bindings()

    def _draw(self, index: int, width: int) -> tuple[Text, Text]:
        one = self._kept[index]
        draft = one.draft
        moment = self._session.times.said(round(one.at.timestamp() * 1000))
        of = join([said(draft.name or draft.urn, "bold"), said(draft.column or draft.path or "")])
        state = Text("open elsewhere  " if one.open else "", "reverse")
        room = max(width - len(moment) - state.cell_len - 4, 8)
        head = Text.assemble(" ", padded(of, room), " ", state, (moment, "dim"))
        return head, Text.assemble("   ", preview(draft.text, missing="no text"))

    def say(self, message: str, *, error: bool = False) -> None:
        """Show one sentence in place of the keys."""
        self._say(message, error)

    def _say(self, message: str, error: bool = False) -> None:
        self.query_one(KeyLine).say(message, error=error)
