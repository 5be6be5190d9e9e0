"""The review of a staged changeset."""

import asyncio
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal

from explorer.client.display import counted
from explorer.errors import CatalogError, Forbidden, InvalidInput, Unreachable
from explorer.sessions.base import READ_ONLY, Session, SessionState, action
from explorer.stewardship.api import AsyncStewardship
from explorer.stewardship.changeset import StagedOutcome, apply_staged, reopen_undone
from explorer.stewardship.drafts import Draft, Drafts
from explorer.stewardship.proposals import (
    OVERTAKEN,
    changeset_urn,
    server_key,
    sync_changeset,
    why_foreign,
    why_undecided,
)
from explorer.stewardship.staging import ReviewItem, StagedChangeset, StagedEdit
from explorer.views.stewardship import (
    edit_column,
    foreign_words,
    imported_sentence,
    undone_sentence,
)

if TYPE_CHECKING:
    from collections.abc import Container

    from explorer.client import AsyncCatalog
    from explorer.metadata.urn import Urn
    from explorer.stewardship.staging import ReviewState as ItemState

Decision = Literal["open", "accepted", "refused"]
Sync = Literal["local", "sent", "unsent", "unreached"]
"""Where the decisions are stored: in the file alone, on the server too, not all on the server yet,
or not all because the server could not be reached."""

UNDER_WAY: Final = "The changes are being written; wait until that is done."
OWN_TEXT: Final = "Your edited text for this change is not decided yet."
ALL_DECIDED: Final = "Everything is decided; the accepted changes can be written."
_DECIDES: Final = {"accept", "refuse", "reopen", "edit", "accept_all", "refuse_all"}
_WRITES: Final = _DECIDES | {"write", "import_here"}
# The pause before another request to a server that was not reached.
_RETRY_SECONDS: Final = 10.0


@dataclass(frozen=True, slots=True)
class ReviewState(SessionState):
    """The state of a review.

    `number` is the number of the selected edit, 0 for an empty changeset. `drafts` are the numbers
    of the undecided edits with a typed text. `foreign` is the mark of a changeset of another
    catalog, and `why_foreign` the reason for it; both are else empty. `outcome` is that of the last
    write.
    """

    items: tuple[ReviewItem, ...] = ()
    number: int = 0
    drafts: frozenset[int] = frozenset()
    sync: Sync = "local"
    unsent: int = 0
    foreign: str = ""
    why_foreign: str = ""
    why_undecided: str = ""
    outcome: StagedOutcome | None = None

    @property
    def item(self) -> ReviewItem | None:
        """The selected edit; None for an empty changeset."""
        return next((item for item in self.items if item.number == self.number), None)

    @property
    def counts(self) -> Mapping["ItemState", int]:
        """The number of edits in each state that occurs."""
        return Counter(item.state for item in self.items)


class ReviewSession(Session[ReviewState]):
    """The review of a staged changeset: edits are accepted, changed or refused, then written.

    Each decision is written to the changeset's file at once. If the changeset is stored on the
    server too, decisions are exchanged with it in the background, including those of colleagues.
    """

    def __init__(self, catalog: "AsyncCatalog", changeset: StagedChangeset) -> None:
        self._user = ""
        # The key of the server that stores the changeset; empty for a changeset that is only in its
        # file.
        self._server = ""
        self._is_sync_due = self._is_unreached = False
        self._exchanging = asyncio.Lock()
        self._texts: dict[tuple[str, str | None], str] = {}
        self._hold(changeset)
        super().__init__(catalog, ReviewState(items=changeset.items, number=self._first()))

    def _hold(self, changeset: StagedChangeset) -> None:
        self.changeset = changeset
        self._drafts = Drafts.of_changeset(changeset.id)

    def _first(self) -> int:
        """Return the number of the first undecided edit, or else of the first edit; 0 if there is
        none."""
        first = self.changeset.next_open() or next(iter(self.changeset.items), None)
        return first.number if first is not None else 0

    async def open(self) -> None:
        """Prepare the review: find out who the user is and whether the changeset belongs to this
        catalog, receive the decisions of colleagues, and make edits that were undone since
        undecided again.

        A changeset in a file can be reviewed even if the server cannot be reached. Raises as
        `reopen_undone`.
        """
        with suppress(Unreachable):
            await self._meet_catalog()
        try:
            with self.telling():
                reopened = await reopen_undone(self.catalog, self.changeset)
        finally:
            self._sync_soon()
        if reopened:
            self._show(number=self._first())
            self.say(undone_sentence(reopened))

    async def _meet_catalog(self) -> None:
        catalog, key = self.catalog, server_key(self.catalog)
        if why := why_foreign(self.changeset, await catalog.known_as(), key):
            self.replace(foreign=foreign_words(self.changeset), why_foreign=why)
        elif self.changeset.is_shared_with(key):
            self._server = key
            self._show(why_undecided=await why_undecided(catalog))
        self._user = str(await catalog.me() or "")

    async def read_drafts(self) -> None:
        """Read the typed texts of undecided edits, except those that another running program
        edits."""
        self._texts = await asyncio.to_thread(self._read_texts)
        self._show()

    def _read_texts(self) -> dict[tuple[str, str | None], str]:
        return {(d.draft.urn, d.draft.path): d.draft.text for d in reversed(self._drafts.free())}

    def look_at(self, number: int) -> None:
        """Select an edit."""
        if number != self.state.number:
            self.replace(number=number)

    async def draft(self, number: int) -> str | None:
        """Return the typed text of an edit; None if there is none, or another program edits it."""
        edit = self.changeset.item(number).edit
        draft = await asyncio.to_thread(self._drafts.read, edit.urn, edit.column)
        return draft.text if draft is not None else None

    async def type(self, number: int, text: str) -> None:
        """Store the typed text of an edit on disk; if it equals the text of the edit, delete the
        stored one."""
        edit = self.changeset.item(number).edit
        if text == edit.text:
            await self.discard_draft(number)
            return
        async with self._turn:
            with self.telling():
                await self._keep_draft(edit, text)

    async def _keep_draft(self, edit: StagedEdit, text: str) -> None:
        draft = Draft(edit.urn, edit.column, edit.text, text, edit.name)
        await asyncio.to_thread(self._drafts.keep, draft)
        self._texts[edit.urn, edit.column] = text
        self._show()

    async def discard_draft(self, number: int) -> None:
        """Delete the typed text of an edit."""
        edit = self.changeset.item(number).edit
        async with self._turn:
            await self._drop_draft(edit)

    async def _drop_draft(self, edit: StagedEdit) -> None:
        await asyncio.to_thread(self._drafts.drop, edit.urn, edit.column)
        self._texts.pop((edit.urn, edit.column), None)
        self._show()

    @action("Accept the change, and go to the next undecided one")
    async def accept(self, seen: ReviewItem, text: str | None = None) -> None:
        """Accept an edit as it was seen, or with another text, and select the next undecided edit.

        This also confirms a value that somebody else wrote meanwhile and that `seen` shows. Raises
        `InvalidInput` if the edit is no longer as it was seen, or has a typed text and `text` is
        not given.
        """
        self._check_item("accept", seen)
        if text is None and seen.number in self.state.drafts:
            raise InvalidInput(OWN_TEXT)
        await self._decide(seen, "accepted", text)
        self._go_on(seen.number)

    @action("Refuse the change, and go to the next undecided one")
    async def refuse(self, seen: ReviewItem) -> None:
        """Refuse an edit, and select the next undecided one. Raises `InvalidInput` if the edit is
        no longer as it was seen."""
        self._check_item("refuse", seen)
        await self._decide(seen, "refused")
        self._go_on(seen.number)

    @action("Take the decision back")
    async def reopen(self, seen: ReviewItem) -> None:
        """Make an edit undecided. Raises `InvalidInput` if it is no longer as it was seen."""
        self._check_item("reopen", seen)
        await self._decide(seen, "open")

    @action("Change the text, undecided")
    async def leave(self, seen: ReviewItem, text: str) -> None:
        """Give an edit another text, and leave it undecided. Raises `InvalidInput` if it is no
        longer as it was seen."""
        self._check_item("edit", seen)
        await self._decide(seen, "open", text)
        self._go_on(seen.number)

    async def _decide(self, seen: ReviewItem, state: Decision, text: str | None = None) -> None:
        try:
            await self._record(seen, state, text)
        except CatalogError:
            if text is not None:
                # The text is not in the changeset's file, so it is kept as a draft.
                await self._keep_draft(seen.edit, text)
            raise
        if text is not None:
            await self._drop_draft(seen.edit)
        self._show()
        self._sync_soon()

    async def _record(self, seen: ReviewItem, state: Decision, text: str | None) -> None:
        before = seen.theirs if state == "accepted" else None
        await asyncio.to_thread(self.changeset.read_again)
        now = self.changeset.item(seen.number)
        if text is None and (now.state, now.edit) == (state, seen.edit):
            return
        if (now.state, now.edit, now.theirs) != (seen.state, seen.edit, seen.theirs):
            self._show(number=seen.number)
            raise InvalidInput(OVERTAKEN)
        decide = partial(self.changeset.decide, text=text, before=before)
        await asyncio.to_thread(decide, seen.number, state, self._user)

    def _go_on(self, number: int) -> None:
        following = self.changeset.next_open(number)
        if following is not None:
            self._show(number=following.number)
        else:
            self.say(ALL_DECIDED)

    @action("Accept all undecided changes")
    async def accept_all(self, seen: int) -> int:
        """Accept all undecided edits, and return their number. Raises `InvalidInput` if it is not
        `seen`, the number that the user was shown."""
        return await self._decide_all("accepted", seen)

    @action("Refuse all undecided changes")
    async def refuse_all(self, seen: int) -> int:
        """Refuse all undecided edits; see `accept_all`."""
        return await self._decide_all("refused", seen)

    async def _decide_all(self, state: Literal["accepted", "refused"], seen: int) -> int:
        self.check("accept_all" if state == "accepted" else "refuse_all")
        await self._check_count("open", "undecided", seen)
        decided = await asyncio.to_thread(self.changeset.decide_open, state, self._user)
        self._show()
        self.say(f"{state.capitalize()}: {decided:,}.")
        self._sync_soon()
        return decided

    async def _check_count(self, state: "ItemState", word: str, seen: int) -> None:
        await asyncio.to_thread(self.changeset.read_again)
        now = len(self.changeset.of(state))
        if now != seen:
            self._show()
            raise InvalidInput(f"Meanwhile {now:,} are {word}, not {seen:,}: check the list again.")

    @action("Write the accepted changes to the catalog")
    async def write(self, seen: int) -> StagedOutcome:
        """Write the accepted edits, if their number is `seen`, the one that the user was shown.

        The outcome is stored in the state, also if it ended early; `ended_by` is then the message.
        A single undo reverts all of the edits. Raises `InvalidInput` if another number is accepted,
        or the edits belong to another catalog.
        """
        self.check("write")
        await self._check_count("accepted", "accepted", seen)
        writing = apply_staged(self.catalog, self.changeset, self.tell_progress)
        try:
            outcome = await self.work("writing", writing, seen)
        finally:
            self._show()
            self._sync_soon()
        failed = self.changeset.of("failed")
        self._show(outcome=outcome, number=failed[0].number if failed else self.state.number)
        if outcome.ended_by is not None:
            counts = f"{outcome.applied:,} written, {outcome.untried:,} not written yet"
            self.say(f"{counts}: {outcome.ended_by}", is_error=True)
            return outcome
        refused = f"; {outcome.failed:,} failed, see the reasons" if outcome.failed else ""
        sentence = f"Written: {counted(outcome.applied, 'change')}{refused}."
        self.say(sentence, is_error=bool(outcome.failed), is_saved=bool(outcome.applied))
        return outcome

    @action("Import the changes of another catalog into this one")
    async def import_here(self) -> None:
        """Copy the edits of another catalog's changeset into a new changeset of this catalog, and
        review the new one."""
        self.check("import_here")
        self._hold(await AsyncStewardship(self.catalog).import_changeset(self.changeset))
        self._show(foreign="", why_foreign="", number=self._first())
        self.say(imported_sentence(self.changeset))

    @action("Receive the decisions of others, and send those made here")
    async def sync(self) -> None:
        """Read decisions that other programs wrote to the file, and exchange decisions with the
        server.

        Raises `Forbidden` if the server refuses decisions made here, which are then dropped; other
        results of the exchange are shown in the state.
        """
        await asyncio.to_thread(self.changeset.read_again)
        self._show()
        if self._server:
            await self._exchange()

    def follow(self, changed: "Container[Urn]") -> None:
        """Receive decisions if the changeset is among the entities that changed on the server."""
        if self._server and changeset_urn(self.changeset.id) in changed:
            self._sync_soon()

    def _sync_soon(self) -> None:
        """Exchange decisions in the background, after the exchange that is running."""
        was_due, self._is_sync_due = self._is_sync_due, bool(self._server)
        if self._is_sync_due and not was_due and self.state.work is None and not self.is_closed:
            self.start(self._exchange_due())

    async def _exchange_due(self) -> None:
        async with self._exchanging:
            if self._is_sync_due and self.state.work is None:
                self._is_sync_due = False
                await self._exchange()

    async def _exchange(self) -> None:
        self._is_unreached = False
        try:
            outcome = await sync_changeset(self.catalog, self.changeset)
        except Unreachable:
            self._is_unreached = True
            self.later(_RETRY_SECONDS, self._sync_soon)
            return
        finally:
            self._show()
        for number in outcome.overtaken:
            edit = self.changeset.item(number).edit
            self.say(f"{edit.name} · {edit_column(edit)}: {OVERTAKEN}", is_error=True)
        if outcome.taken_back:
            raise Forbidden(outcome.why)

    def why_not(self, name: str, item: ReviewItem | None = None) -> str:
        """Return why an action is not possible now with an edit, by default the selected one; empty
        if it is possible."""
        state = self.state
        if name in _WRITES and state.work is not None:
            return UNDER_WAY
        if name in _DECIDES and state.why_undecided:
            return state.why_undecided
        counts = state.counts
        match name:
            case "write" if self.catalog.read_only:
                return READ_ONLY
            case "write" if state.foreign:
                return f"It is {state.foreign}: import it first."
            case "write" if not counts.get("accepted"):
                return "Nothing is accepted."
            case "accept_all" | "refuse_all" if not counts.get("open"):
                return "Nothing is undecided."
            case "import_here" if not state.foreign:
                return "It is of this catalog."
            case "sync" if state.sync == "local":
                return "It is not shared."
            case "accept" | "refuse" | "reopen" | "edit":
                return self._why_not_item(name, item or state.item)
        return ""

    def _why_not_item(self, name: str, item: ReviewItem | None) -> str:
        if item is None:
            return "There is nothing to review."
        if item.state == "applied":
            return "It is written; undo takes it back."
        if name == "edit" and item.edit.what != "description":
            return "Only texts are edited."
        return "It is undecided." if name == "reopen" and item.state == "open" else ""

    def _check_item(self, name: str, item: ReviewItem) -> None:
        if why := self.why_not(name, item):
            raise InvalidInput(why)

    def _show(self, **changes: Any) -> None:
        """Update the state from the changeset and the drafts, and replace other fields of it."""
        changeset = self.changeset
        unsent = len(changeset.unsent(self._server)) if self._server else 0
        sync: Sync = "sent" if self._server else "local"
        if unsent:
            sync = "unreached" if self._is_unreached else "unsent"
        texts = self._texts
        drafts = frozenset(
            item.number
            for item in changeset.items
            if texts and item.edit.what == "description" and item.edit.place[:2] in texts
        )
        self.replace(items=changeset.items, drafts=drafts, sync=sync, unsent=unsent, **changes)
