"""The list of drafts."""

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import work
from textual.binding import BindingType

from explorer.metadata.proposal import millis_of
from explorer.sessions.base import Message
from explorer.sessions.drafts import DraftsSession, DraftsState
from explorer.stewardship.drafts import OPEN_ELSEWHERE, Drafts, StoredDraft
from explorer.tui.actions import bindings
from explorer.tui.content import join, line_text, padded, preview
from explorer.tui.session import TerminalSession
from explorer.tui.widgets.dialogs import SessionListDialog
from explorer.views.drafts import DISCARDED, count_sentence, place_words

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog


class DraftsScreen(SessionListDialog[StoredDraft, DraftsState]):
    """Lists the drafts for this server, newest first; returns the draft to continue."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("drafts")
    DOING = "looking for drafts"
    OFFERED: ClassVar[Mapping[str, str]] = {"remove": "discard", "restore": "restore"}
    _list: DraftsSession | None = None

    def __init__(self, session: TerminalSession) -> None:
        super().__init__(session)
        self._shown = DraftsState(instead=DraftsSession.READING)

    def begin(self, catalog: "AsyncCatalog") -> DraftsSession:
        """Create the session that reads this list."""
        return DraftsSession(catalog, partial(Drafts.of_session, self._session))

    def tell(self, message: Message) -> None:
        """Show the message of a new state, and how a discarded draft is restored."""
        if message.sentence == f"{DISCARDED}.":
            self.say(f"{DISCARDED}; ^z restores it while this list is open.")
        else:
            super().tell(message)

    def action_open(self) -> None:
        """Continue the draft under the cursor."""
        stored = self._shown.current
        if stored is not None and stored.open:
            self.say(OPEN_ELSEWHERE, error=True)
        elif stored is not None:
            self.dismiss(stored)

    @work(group="drafts")
    async def action_remove(self) -> None:
        """Discard the draft under the cursor."""
        if self._shown.current is not None:
            await self.act("discard", self._shown.current)

    @work(group="drafts")
    async def action_restore(self) -> None:
        """Restore the last discarded draft."""
        await self.act("restore")

    def heading(self, state: DraftsState) -> Text:
        """Return how many drafts there are."""
        return Text("" if state.is_reading else count_sentence(len(state.listed)), "bold")

    def draw_row(self, index: int, width: int) -> tuple[Text, Text]:
        """Return the two lines of a draft: what it describes and when it was stored; the beginning
        of its text."""
        stored = self._shown.listed[index]
        draft = stored.draft
        moment = self._session.times.format(millis_of(stored.at))
        name, column = place_words(stored)
        of = join([line_text(name, "bold"), line_text(column)])
        state = Text("open elsewhere  " if stored.open else "", "reverse")
        room = max(width - len(moment) - state.cell_len - 4, 8)
        head = Text.assemble(" ", padded(of, room), " ", state, (moment, "dim"))
        return head, Text.assemble("   ", preview(draft.text, missing="no text"))
