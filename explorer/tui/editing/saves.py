"""Saves: texts on their way to the server, one after another in the order of the keys."""

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from explorer.errors import Unusable
from explorer.metadata.urn import Urn
from explorer.tui.content import said
from explorer.tui.editing.keeping import Keeper
from explorer.tui.editing.subject import Key, Target
from explorer.tui.session import Session

if TYPE_CHECKING:
    from textual.worker import WorkType

    from explorer.client import AsyncCatalog

__all__ = ["Failure", "Save", "Saves"]


@dataclass(frozen=True, slots=True)
class Save:
    """One text to be written, fixed when the key was pressed: which description it is of, the
    edited text that the writer started from, and the text."""

    target: Target
    base: str
    text: str

    @property
    def key(self) -> Key:
        """What the text is of; its draft has the same."""
        return self.target.key

    @property
    def title(self) -> str:
        """What it is of, in a sentence."""
        return said(self.target.title).plain


@dataclass(frozen=True, slots=True)
class Failure:
    """A save that the server did not acknowledge; its text is a draft. `reason` is a sentence, and
    `theirs` what somebody else saved meanwhile where that is the reason; the URN of the `author`
    and when it was `at` are given where the server says so.

    `held` is the edited text that the server held when it was last heard of, `base` the one that
    the writer started from, which a further save is to be instead of.
    """

    save: Save
    reason: str
    held: str
    base: str
    theirs: str | None = None
    author: str | None = None
    at: datetime | None = None


@dataclass(slots=True)
class _Waiting:
    save: Save
    kept: "asyncio.Task[None]"
    done: "asyncio.Future[Failure | None]"


@dataclass(slots=True)
class _Held:
    """What the server holds of a text, as far as is known: the edited text that was read or
    acknowledged last, the one that the writer started from, and those that were sent and never
    answered."""

    read: str
    base: str
    sent: set[str] = field(default_factory=set)


class Saves:
    """Writes texts to the server in the background, one at a time.

    A save is fixed when it is put here, and nothing that is pressed later changes or cancels it.
    Its draft is written before it is sent and goes away when the server has acknowledged that
    text. `told` is called with each save at its end, and with the failure where it failed.
    """

    def __init__(
        self,
        session: Session,
        keeper: Keeper,
        run: "Callable[[WorkType[None]], object]",
        told: Callable[[Save, Failure | None], None],
    ) -> None:
        self._session = session
        self._keeper = keeper
        self._run = run
        self._told = told
        self._waiting: deque[_Waiting] = deque()
        self._held: dict[Key, _Held] = {}
        self._is_running = False
        self.failed: dict[Key, Failure] = {}
        """The texts that were not saved and not given up since, the oldest first."""
        self.not_kept: dict[Key, Save] = {}
        """Those of which no draft could be written either."""

    def put(self, save: Save) -> "asyncio.Future[Failure | None]":
        """Put a save behind those that wait; the result says how it ended."""
        done: asyncio.Future[Failure | None] = asyncio.get_running_loop().create_future()
        held = self._held.setdefault(save.key, _Held(save.target.edited, save.base))
        if self.pending(save.key) is None and save.base not in held.sent:
            held.base = save.base
        self.failed.pop(save.key, None)
        # At once, so that a later draft of the same text is written after this one.
        self._waiting.append(_Waiting(save, asyncio.create_task(self._keep(save)), done))
        if not self._is_running:
            self._is_running = True
            self._run(self._work)
        return done

    def pending(self, key: Key) -> "asyncio.Future[Failure | None] | None":
        """The end of the last save of a text that is on its way; None where there is none."""
        found = [one.done for one in self._waiting if one.save.key == key]
        return found[-1] if found else None

    def base(self, key: Key) -> str | None:
        """The edited text that the writer of a text on its way started from; None for a text that
        is not on its way."""
        return None if self.pending(key) is None else self._held[key].base

    def pending_of(self, urn: Urn) -> list[Save]:
        """The saves of an entity that are on their way, in their order."""
        return [one.save for one in self._waiting if one.save.target.urn == urn]

    @property
    def titles(self) -> list[str]:
        """What is on its way, each once."""
        return list(dict.fromkeys(one.save.title for one in self._waiting))

    def forget(self, key: Key) -> None:
        """A text that was not saved is given up: its writer took another."""
        self.failed.pop(key, None)
        self.not_kept.pop(key, None)

    async def finish(self, seconds: float) -> int:
        """Wait until everything is written, but no longer than `seconds` once there are drafts of
        it; returns how many texts are still on their way."""
        if self._waiting:
            await asyncio.wait([one.kept for one in self._waiting])
            await asyncio.wait([one.done for one in self._waiting], timeout=seconds)
        return len(self._waiting)

    async def _keep(self, save: Save) -> None:
        with self._session.reporting("keeping the draft"):
            try:
                await self._keeper.keep(save.target, save.base, save.text)
            except Unusable:
                self.not_kept[save.key] = save
                raise
            self.not_kept.pop(save.key, None)

    async def _work(self) -> None:
        try:
            while self._waiting:
                one = self._waiting[0]
                # A save does not depend on its draft: where none can be written, that was told.
                await asyncio.wait([one.kept])
                failure = await self._write(one.save)
                self._waiting.popleft()
                self._note(one.save, failure)
                one.done.set_result(failure)
                self._told(one.save, failure)
        finally:
            self._is_running = False

    def _note(self, save: Save, failure: Failure | None) -> None:
        if failure is None:
            self.not_kept.pop(save.key, None)
            self._held[save.key] = _Held(save.text, save.text)
        elif failure.theirs is None:
            self._held[save.key].sent.add(save.text)
        else:
            self._held[save.key].read = failure.theirs
            self._held[save.key].sent.clear()
        if failure is not None and self.pending(save.key) is None:
            self.failed[save.key] = failure

    async def _write(self, save: Save) -> Failure | None:
        from explorer.client import TextConflict

        held = self._held[save.key]
        told: list[str] = []
        conflict: TextConflict | None = None

        def tell(sentence: str) -> bool:
            # Whoever is told of the failure says it.
            told.append(sentence)
            return True

        with self._session.reporting(f"saving {save.title}", tell):
            try:
                await self._describe(await self._session.catalog(), save, held)
            except TextConflict as found:
                conflict = found
        if conflict is not None:
            theirs, reason = conflict.theirs, "somebody else changed it meanwhile"
            author, at = conflict.author, conflict.at
            return Failure(save, reason, theirs, held.base, theirs, author, at)
        if told:
            return Failure(save, told[0], held.read, held.base)
        with self._session.reporting("removing the draft"):
            await self._keeper.drop(save.target, save.text)
        return None

    async def _describe(self, catalog: "AsyncCatalog", save: Save, held: _Held) -> None:
        """Write a text where the server holds the one that it started from, or another one of the
        same writer: an earlier save that did not arrive, or whose answer did not."""
        from explorer.client import TextConflict

        async def write(instead_of: str) -> None:
            target = save.target
            await catalog.describe(target.urn, save.text, column=target.path, instead_of=instead_of)

        try:
            await write(save.base)
        except TextConflict as conflict:
            if conflict.theirs not in {held.base, *held.sent}:
                raise
            await write(conflict.theirs)
