"""Texts that were propagated to columns: the source of each, and whether it still has that text.
They are refreshed, pinned and taken back."""

from collections.abc import Awaitable, Hashable, Sequence
from dataclasses import dataclass
from typing import Final

from explorer.client import AsyncCatalog
from explorer.sessions.base import READ_ONLY, action
from explorer.sessions.listing import NarrowedSession, NarrowedState
from explorer.stewardship.api import AsyncStewardship
from explorer.stewardship.provenance import PropagatedOutcome, PropagatedText
from explorer.views.stewardship import propagated_outcome, propagated_with

_WRITES: Final = ("pin", "refresh", "take_back")


@dataclass(frozen=True, slots=True)
class PropagatedState(NarrowedState[PropagatedText]):
    """The propagated texts."""

    @property
    def outdated(self) -> list[PropagatedText]:
        """Those listed of which the source has another text now."""
        return [text for text in self.listed if text.state == "outdated"]


class PropagatedSession(NarrowedSession[PropagatedState]):
    """The propagated texts, by table and column."""

    READING = "reading the propagated texts …"
    NONE = "No propagated texts."
    NO_MATCH = "No text matches."

    def __init__(self, catalog: AsyncCatalog) -> None:
        super().__init__(catalog, PropagatedState())
        self._steward = AsyncStewardship(catalog)

    async def read_rows(self) -> None:
        """Read the propagated texts."""
        await self.show(rows=await self._steward.propagated())

    def key_of(self, row: PropagatedText) -> Hashable:
        """Return what tells a row from the others."""
        return row.key

    def select(self, state: PropagatedState) -> Sequence[PropagatedText]:
        """Return the rows that match the words."""
        return propagated_with(state.rows, state.words)

    @action("Pin the text, so that it is never refreshed, or unpin it", in_turn=False)
    async def pin(self, text: PropagatedText) -> None:
        """Pin a text, or unpin one that is pinned."""
        is_pinned = not text.is_pinned
        pinning = self._steward.pin_propagated([text], is_pinned=is_pinned)
        await self._write("pinned" if is_pinned else "unpinned", pinning)

    @action("Write the current texts of their sources to all outdated ones", in_turn=False)
    async def refresh(self, texts: Sequence[PropagatedText]) -> None:
        """Write the current texts of their sources to columns."""
        me = await self.catalog.me()
        await self._write("refreshed", self._steward.refresh_propagated(texts, by=str(me or "")))

    @action("Take back propagated texts", in_turn=False)
    async def take_back(self, texts: Sequence[PropagatedText]) -> None:
        """Take back texts. Those that people wrote since are kept."""
        await self._write("taken back", self._steward.take_back_propagated(texts))

    def why_not(self, name: str) -> str:
        """Return why an action is not possible now; empty if it is."""
        state = self.state
        if name == "refresh" and not state.outdated:
            return "No text that is listed is outdated."
        if name in _WRITES and not state.listed:
            return state.instead
        return READ_ONLY if name in _WRITES and self.catalog.read_only else ""

    async def _write(self, done: str, writing: Awaitable[PropagatedOutcome]) -> None:
        outcome = await writing
        self.say(propagated_outcome(outcome, done), is_error=bool(outcome.failed), is_saved=True)
        if not self.is_closed:
            self.start(self.read())
