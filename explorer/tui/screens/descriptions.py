"""The list of drafts."""

import asyncio
from typing import ClassVar

from rich.text import Text
from textual import on, work
from textual.binding import BindingType
from textual.widgets import Static

from explorer.metadata.proposal import millis_of
from explorer.stewardship.drafts import OPEN_ELSEWHERE, Draft, Drafts, StoredDraft
from explorer.tui.actions import bindings
from explorer.tui.content import join, line_text, padded, preview
from explorer.tui.session import TerminalSession
from explorer.tui.widgets.dialogs import ListScreen
from explorer.tui.widgets.rows import Rows
from explorer.views.drafts import (
    DISCARDED,
    NO_DRAFTS,
    count_sentence,
    place_words,
)


class DraftsScreen(ListScreen[StoredDraft]):
    """Lists the drafts for this server, newest first; returns the one to continue."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("drafts")

    def __init__(self, session: TerminalSession) -> None:
        super().__init__(session)
        self._stored: list[StoredDraft] = []
        self._removed: list[Draft] = []

    def on_mount(self) -> None:
        """Read the drafts."""
        self._read()

    @on(Rows.Chosen)
    def _handle_chosen(self) -> None:
        self.action_open()

    def action_open(self) -> None:
        """Continue the draft under the cursor."""
        stored = self._draft_to_take()
        if stored is not None:
            self.dismiss(stored)

    def action_remove(self) -> None:
        """Discard the draft under the cursor."""
        stored = self._draft_to_take()
        if stored is not None:
            self._removed.append(stored.draft)
            self._discard(stored)

    def action_restore(self) -> None:
        """Restore the last discarded draft."""
        if self._removed:
            self._bring_back(self._removed.pop())

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Allow actions on a draft only where there is one."""
        del parameters
        if action in ("open", "remove"):
            return bool(self._stored)
        return action != "restore" or bool(self._removed)

    def _draft_to_take(self) -> StoredDraft | None:
        """Return the draft under the cursor. If another program has it open, say so and return
        None."""
        draft = self.query_one(Rows).under_cursor(self._stored)
        if draft is not None and draft.open:
            self.say(OPEN_ELSEWHERE, error=True)
            return None
        return draft

    @work(exclusive=True, group="drafts")
    async def _read(self) -> None:
        await self._show()

    @work(group="drafts")
    async def _discard(self, stored: StoredDraft) -> None:
        drafts = await Drafts.at(self._session)
        await asyncio.to_thread(drafts.discard, stored)
        await self._show()
        self.say(f"{DISCARDED}; ^z restores it while this list is open.")

    @work(group="drafts")
    async def _bring_back(self, draft: Draft) -> None:
        restored = False
        with self._session.reporting("restoring the draft"):
            drafts = await Drafts.at(self._session)
            await asyncio.to_thread(drafts.restore, draft)
            restored = True
        if not restored:
            self._removed.append(draft)
        await self._show()

    async def _show(self) -> None:
        with self._session.reporting("looking for drafts"):
            drafts = await Drafts.at(self._session)
            self._stored = await asyncio.to_thread(drafts.all)
        rows = self.query_one(Rows)
        count = len(self._stored)
        rows.show(count, self._draw, cursor=rows.cursor, empty=NO_DRAFTS)
        self.query_one("#what", Static).update(Text(count_sentence(count), "bold"))
        self.refresh_bindings()

    def _draw(self, index: int, width: int) -> tuple[Text, Text]:
        stored = self._stored[index]
        draft = stored.draft
        moment = self._session.times.format(millis_of(stored.at))
        name, column = place_words(stored)
        of = join([line_text(name, "bold"), line_text(column)])
        state = Text("open elsewhere  " if stored.open else "", "reverse")
        room = max(width - len(moment) - state.cell_len - 4, 8)
        head = Text.assemble(" ", padded(of, room), " ", state, (moment, "dim"))
        return head, Text.assemble("   ", preview(draft.text, missing="no text"))
