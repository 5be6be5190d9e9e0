"""Texts that were propagated to columns: the source of each, and whether it still has that text.
They can be refreshed, pinned and removed."""

from collections.abc import Awaitable, Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from explorer.client import AsyncCatalog
from explorer.errors import InvalidInput
from explorer.sessions.base import READ_ONLY, action
from explorer.sessions.listing import NarrowedSession, NarrowedState
from explorer.stewardship.api import AsyncStewardship
from explorer.stewardship.provenance import PropagatedOutcome, PropagatedText
from explorer.views.stewardship import propagated_sentence, propagated_with

_WRITES: Final = ("pin", "refresh", "take_back")


@dataclass(frozen=True, slots=True)
class PropagatedState(NarrowedState[PropagatedText]):
    """The propagated texts."""

    @property
    def outdated(self) -> list[PropagatedText]:
        """The listed texts whose source has another text now."""
        return [text for text in self.listed if text.state == "outdated"]


class PropagatedSession(NarrowedSession[PropagatedState]):
    """The propagated texts, by table and column: all, or those that the arguments select; see
    `read_propagated`."""

    READING = "reading the propagated texts …"
    NONE = "No propagated texts."
    NO_MATCH = "No text matches."

    def __init__(self, catalog: AsyncCatalog, **choice: Any) -> None:
        super().__init__(catalog, PropagatedState())
        self._steward = AsyncStewardship(catalog)
        self._choice = choice

    async def read_rows(self) -> None:
        """Read the propagated texts."""
        reading = self._steward.propagated(**self._choice, progress=self.tell_progress)
        await self.show(rows=await self.work("reading the texts", reading))

    def key_of(self, row: PropagatedText) -> Hashable:
        """Return a key that identifies a row in the list."""
        return row.key

    def select(self, state: PropagatedState) -> Sequence[PropagatedText]:
        """Return the rows that match the words."""
        return propagated_with(state.rows, state.words)

    @action("Pin texts, so that they are never refreshed, or unpin them")
    async def pin(
        self, texts: Sequence[PropagatedText], *, is_pinned: bool = True
    ) -> PropagatedOutcome:
        """Pin texts, or unpin them."""
        pin = partial(self._steward.pin_propagated, texts, is_pinned=is_pinned)
        return await self._write("pinned" if is_pinned else "unpinned", pin)

    @action("Write the current texts of their sources to all outdated ones")
    async def refresh(
        self, texts: Sequence[PropagatedText], *, dry_run: bool = False
    ) -> PropagatedOutcome:
        """Replace outdated texts by the current texts of their sources; other texts stay."""
        by = str(await self.catalog.me() or "")
        refresh = partial(self._steward.refresh_propagated, texts, by=by, dry_run=dry_run)
        return await self._write("refreshed", refresh, dry_run=dry_run)

    @action("Take back propagated texts")
    async def take_back(
        self, texts: Sequence[PropagatedText], *, dry_run: bool = False
    ) -> PropagatedOutcome:
        """Remove propagated texts from columns. Texts that people have written since are kept."""
        take_back = partial(self._steward.take_back_propagated, texts, dry_run=dry_run)
        return await self._write("taken back", take_back, dry_run=dry_run)

    def why_not(self, name: str) -> str:
        """Return why an action is not possible now; empty if it is possible."""
        state = self.state
        if name == "refresh" and not state.outdated:
            return "No text that is listed is outdated."
        if name in _WRITES and not state.listed:
            return state.instead
        return READ_ONLY if name in _WRITES and self.catalog.read_only else ""

    async def _write(
        self, verb: str, write: Callable[[], Awaitable[PropagatedOutcome]], *, dry_run: bool = False
    ) -> PropagatedOutcome:
        if self.catalog.read_only and not dry_run:
            raise InvalidInput(READ_ONLY)
        outcome = await write()
        sentence = propagated_sentence(outcome, verb, dry_run=dry_run)
        self.say(sentence, is_error=bool(outcome.failed), is_saved=not dry_run)
        if not (dry_run or self.is_closed):
            self.start(self.read())
        return outcome
