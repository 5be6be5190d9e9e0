"""The descriptions of an entity and its columns, as read and as saved since; their drafts on disk,
and the list of these; and their saves to the server in the background."""

import asyncio
from collections import deque
from collections.abc import Callable, Container
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, ClassVar, ParamSpec, Protocol, TypeVar

from rich.text import Text
from textual import on, work
from textual.binding import BindingType
from textual.widgets import Static

from explorer.errors import Unusable
from explorer.metadata.fieldpath import FieldPath
from explorer.metadata.proposal import millis_of
from explorer.metadata.urn import Urn
from explorer.stewardship.drafts import Draft, Drafts, StoredDraft
from explorer.tui.actions import bindings
from explorer.tui.content import join, line_text, padded, preview
from explorer.tui.session import TerminalSession
from explorer.tui.widgets.dialogs import ListScreen
from explorer.tui.widgets.rows import Rows
from explorer.views.drafts import (
    DISCARDED,
    NO_DRAFTS,
    OPEN_ELSEWHERE,
    count_sentence,
    place_words,
)

if TYPE_CHECKING:
    from textual.worker import WorkType

    from explorer.client import AsyncCatalog
    from explorer.client.entity import Entity

__all__ = [
    "DescriptionQueue",
    "DescriptionTarget",
    "Descriptions",
    "DraftKeeper",
    "DraftsScreen",
    "Failure",
    "Key",
    "Save",
    "Saves",
]

Key = tuple[str, str | None]
"""Which description: the URN of its entity, and the field path of its column or None."""


class DescriptionQueue(Protocol):
    """Descriptions to be written one after another, of any number of entities."""

    def after(self, key: Key, but: Container[Key] = ()) -> Key | None:
        """Return the next description without those in `but` and those already written, from the
        top again after the last; None if there is no other."""
        ...

    @property
    def progress(self) -> str:
        """Return how much is left to write, in words."""
        ...

    def wrote(self, key: Key, text: str) -> None:
        """Record `text` as the description on the server."""
        ...


@dataclass(frozen=True, slots=True)
class DescriptionTarget:
    """One description: an entity's, or that of its column at the field path `path`.

    `edited` is the edited text exactly as stored, `ingested` the ingested text; each is empty if
    there is none.
    """

    urn: Urn
    name: str
    path: str | None
    column: str
    ingested: str
    edited: str

    @property
    def key(self) -> Key:
        """Return the key of the description."""
        return str(self.urn), self.path

    @property
    def text(self) -> str:
        """Return the effective text, with which editing starts."""
        return self.edited if self.edited.strip() else self.ingested

    @property
    def title(self) -> str:
        """Return its name for messages."""
        return self.column or self.name

    @property
    def full_title(self) -> str:
        """Return its name for messages elsewhere than on its page: `zip of orders`."""
        return f"{self.column} of {self.name}" if self.column else self.name


class Descriptions:
    """The descriptions of one entity, and the order of its columns in the editor."""

    def __init__(self, entity: "Entity") -> None:
        self.entity = entity
        self._written: dict[str | None, str] = {}
        self._order = [column.path.raw for column in entity.schema]

    def target(self, path: str | None) -> DescriptionTarget:
        """Return the current description."""
        from explorer.client.editable import column_text

        entity = self.entity
        if path is None:
            edited, ingested = _texts(entity)
            column = ""
        else:
            schema_column = entity.schema.column(path)
            column = schema_column.path.simple if schema_column else FieldPath(path).simple
            edited = column_text(entity.column_edits, path) or ""
            ingested = (schema_column.ingested or "") if schema_column else ""
        edited = self._written.get(path, edited)
        return DescriptionTarget(entity.urn, entity.name, path, column, ingested, edited)

    def wrote(self, path: str | None, text: str) -> None:
        """Record `text` as the edited text: it is on the server, or being saved."""
        self._written[path] = text

    def neighbour(self, path: str | None, step: int) -> str | None:
        """Return the column some steps away in schema order; None past the ends."""
        if path not in self._order:
            return None
        at = self._order.index(path) + step
        return self._order[at] if 0 <= at < len(self._order) else None

    def undocumented_after(self, path: str | None, but: Container[str] = ()) -> str | None:
        """Return the next column without a description that is not in `but`, from the top again
        after the last."""
        at = self._order.index(path) + 1 if path in self._order else 0
        ahead = [*self._order[at:], *self._order[: max(at - 1, 0)]]
        return next(
            (column for column in ahead if column not in but and not self._has_text(column)), None
        )

    @property
    def undocumented(self) -> list[str]:
        """Return the columns without a description, in schema order."""
        return [column for column in self._order if not self._has_text(column)]

    def place(self, path: str | None) -> str:
        """Return the position of a column, and how many columns lack a description, in words."""
        if path not in self._order:
            return ""
        missing = len(self.undocumented)
        wanting = f"{missing} undocumented" if missing else "all documented"
        return f"column {self._order.index(path) + 1} of {len(self._order)}, {wanting}"

    def _has_text(self, path: str) -> bool:
        column = self.entity.schema.column(path)
        ingested = column.ingested if column else None
        edited = self._written.get(path, (column.edited or "") if column else "")
        return bool(edited.strip() or (ingested or "").strip())


def _texts(entity: "Entity") -> tuple[str, str]:
    """Return the edited and the ingested descriptions of an entity."""
    from explorer.client.editable import place_of

    aspect = place_of(entity.urn, None).aspect
    edited = place_of(entity.urn, None).text(entity.raw(aspect) or {}) or ""
    # Some entities have one text only, whoever wrote it.
    apart = "ditable" in aspect
    return edited, entity.ingested_description if apart else ""


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


_Given = ParamSpec("_Given")
_Gives = TypeVar("_Gives")

# One thread for all: of two texts of one draft the later is written last, also where a disk is
# so slow that somebody has typed on meanwhile.
_DISK = ThreadPoolExecutor(1, "drafts")


class DraftKeeper:
    """Reads and writes the drafts for a session's server, in the order of the calls. A call applies
    to the target and texts passed to it, whatever the editor shows since."""

    def __init__(self, session: TerminalSession) -> None:
        self._session = session
        self._drafts: Drafts | None = None

    async def read(self, target: DescriptionTarget) -> Draft | None:
        """Return the draft of a text, None if there is none."""
        drafts = await self._own()
        return await _in_turn(drafts.read, str(target.urn), target.path)

    async def take(self, stored: StoredDraft) -> bool:
        """Make a draft the one that `read` returns; return whether no other program has it."""
        return await _in_turn((await self._own()).take, stored)

    async def keep(self, target: DescriptionTarget, base: str, text: str) -> None:
        """Store a draft that started from `base`; raises `StorageFault` if that fails."""
        drafts = await self._own()
        names = (target.name, target.column, "terminal")
        draft = Draft(str(target.urn), target.path, base, text, *names)
        await _in_turn(drafts.keep, draft)

    async def drop(self, target: DescriptionTarget, text: str | None = None) -> None:
        """Delete the draft of a description; with `text`, only if the draft has that text."""
        drafts = await self._own()
        await _in_turn(drafts.drop, str(target.urn), target.path, text)

    async def _own(self) -> Drafts:
        if self._drafts is None:
            self._drafts = await Drafts.at(self._session)
        return self._drafts


async def _in_turn(
    work: Callable[_Given, _Gives], *given: _Given.args, **named: _Given.kwargs
) -> _Gives:
    return await asyncio.get_running_loop().run_in_executor(_DISK, partial(work, *given, **named))


@dataclass(frozen=True, slots=True)
class Save:
    """A save, fixed when the key was pressed: the description, the edited text that the writer
    started from, and the new text."""

    target: DescriptionTarget
    base: str
    text: str

    @property
    def key(self) -> Key:
        """Return the key of the description, which its draft has too."""
        return self.target.key

    @property
    def title(self) -> str:
        """Return the name of the description for messages."""
        return line_text(self.target.title).plain

    def title_on(self, urn: Urn | None) -> str:
        """Return its name for messages on the page of an entity, or on none: `zip of orders`."""
        target = self.target
        return line_text(target.title if target.urn == urn else target.full_title).plain


@dataclass(frozen=True, slots=True)
class Failure:
    """A save that the server did not acknowledge; its text is a draft. `reason` is a sentence, and
    `theirs` the text that somebody else saved, if that is the reason; with the URN of its `author`
    and its time `at`, if the server reports them.

    `server_text` is the last known edited text on the server, `base` the one that the writer
    started from, which a further save replaces.
    """

    save: Save
    reason: str
    server_text: str
    base: str
    theirs: str | None = None
    author: str | None = None
    at: datetime | None = None


@dataclass(slots=True)
class _PendingSave:
    save: Save
    draft_written: "asyncio.Task[None]"
    done: "asyncio.Future[Failure | None]"
    is_acknowledged: bool = False
    """The server has the text; what is left to do is to remove its draft."""


@dataclass(slots=True)
class _ServerText:
    """What is known of a text on the server: the edited text read or acknowledged last, the one
    that the writer started from, and those that were sent without a response."""

    present: str
    base: str
    sent: set[str] = field(default_factory=set)


class Saves:
    """Writes texts to the server in the background, one at a time.

    A save is fixed when it is queued: later keys neither change nor cancel it. Its draft is written
    before the request and removed when the server has acknowledged the text. `on_done` is called at
    the end of each save, with the failure if it failed.
    """

    def __init__(
        self,
        session: TerminalSession,
        keeper: DraftKeeper,
        run: "Callable[[WorkType[None]], object]",
        on_done: Callable[[Save, Failure | None], None],
    ) -> None:
        self._session = session
        self._keeper = keeper
        self._run = run
        self._on_done = on_done
        self._waiting: deque[_PendingSave] = deque()
        self._server_texts: dict[Key, _ServerText] = {}
        self._is_running = False
        self.failed: dict[Key, Failure] = {}
        """The texts that were not saved and not given up since, the oldest first."""
        self.without_draft: dict[Key, Save] = {}
        """Those of which no draft could be written either."""

    def put(self, save: Save) -> "asyncio.Future[Failure | None]":
        """Queue a save; the future returns its failure, or None."""
        done: asyncio.Future[Failure | None] = asyncio.get_running_loop().create_future()
        text = self._server_texts.setdefault(save.key, _ServerText(save.target.edited, save.base))
        if self.pending(save.key) is None and save.base not in text.sent:
            text.base = save.base
        self.failed.pop(save.key, None)
        # At once, so that a later draft of the same text is written after this one.
        self._waiting.append(_PendingSave(save, asyncio.create_task(self._keep(save)), done))
        if not self._is_running:
            self._is_running = True
            self._run(self._work)
        return done

    def pending(self, key: Key) -> "asyncio.Future[Failure | None] | None":
        """Return the future of the last pending save of a text; None if there is none."""
        futures = [save.done for save in self._waiting if save.save.key == key]
        return futures[-1] if futures else None

    def base(self, key: Key) -> str | None:
        """Return the edited text from which the pending saves of a text started; None if the server
        has acknowledged all of them."""
        of_key = [save for save in self._waiting if save.save.key == key]
        return self._server_texts[key].base if of_key and not of_key[-1].is_acknowledged else None

    def pending_of(self, urn: Urn) -> list[Save]:
        """Return the pending saves of an entity, in order."""
        return [save.save for save in self._waiting if save.save.target.urn == urn]

    def titles_on(self, urn: Urn | None) -> list[str]:
        """Return the names of the pending saves, each once; see `Save.title_on`."""
        return list(dict.fromkeys(save.save.title_on(urn) for save in self._waiting))

    def forget(self, key: Key) -> None:
        """Forget a failed save, because its writer chose another text."""
        self.failed.pop(key, None)
        self.without_draft.pop(key, None)

    async def finish(self, seconds: float) -> int:
        """Wait until everything is saved, at most `seconds` once the drafts are written; return the
        number of pending saves."""
        if self._waiting:
            await asyncio.wait([save.draft_written for save in self._waiting])
            await asyncio.wait([save.done for save in self._waiting], timeout=seconds)
        return len(self._waiting)

    async def _keep(self, save: Save) -> None:
        with self._session.reporting("keeping the draft"):
            try:
                await self._keeper.keep(save.target, save.base, save.text)
            except Unusable:
                self.without_draft[save.key] = save
                raise
            self.without_draft.pop(save.key, None)

    async def _work(self) -> None:
        try:
            while self._waiting:
                save = self._waiting[0]
                # A save does not depend on its draft: where none can be written, that was told.
                await asyncio.wait([save.draft_written])
                failure = await self._write(save.save)
                self._note(save.save, failure)
                if failure is None:
                    # Before the draft goes: whoever keeps a text meanwhile is to know that the
                    # server has it, and not to write its draft again behind the removal.
                    save.is_acknowledged = True
                    with self._session.reporting("removing the draft"):
                        await self._keeper.drop(save.save.target, save.save.text)
                self._waiting.popleft()
                if failure is not None and self.pending(save.save.key) is None:
                    self.failed[save.save.key] = failure
                save.done.set_result(failure)
                self._on_done(save.save, failure)
        finally:
            self._is_running = False

    def _note(self, save: Save, failure: Failure | None) -> None:
        if failure is None:
            self.without_draft.pop(save.key, None)
            self._server_texts[save.key] = _ServerText(save.text, save.text)
        elif failure.theirs is None:
            self._server_texts[save.key].sent.add(save.text)
        else:
            self._server_texts[save.key].present = failure.theirs
            self._server_texts[save.key].sent.clear()

    async def _write(self, save: Save) -> Failure | None:
        from explorer.client import TextConflict

        text = self._server_texts[save.key]
        sentences: list[str] = []
        conflict: TextConflict | None = None

        def tell(sentence: str) -> bool:
            # `on_done` shows the failure.
            sentences.append(sentence)
            return True

        with self._session.reporting(f"saving {save.title}", tell):
            try:
                await self._describe(await self._session.catalog(), save, text)
            except TextConflict as found:
                conflict = found
        if conflict is not None:
            theirs, reason = conflict.theirs, "Somebody else changed it meanwhile."
            author, at = conflict.author, conflict.at
            return Failure(save, reason, theirs, text.base, theirs, author, at)
        if sentences:
            return Failure(save, sentences[0], text.present, text.base)
        return None

    async def _describe(
        self, catalog: "AsyncCatalog", save: Save, server_text: _ServerText
    ) -> None:
        """Write a text if the server has the one that it started from, or another one of the same
        writer: an earlier save that was lost, or whose response was."""
        from explorer.client import TextConflict

        async def write(instead_of: str) -> None:
            target = save.target
            await catalog.describe(target.urn, save.text, column=target.path, instead_of=instead_of)

        try:
            await write(save.base)
        except TextConflict as conflict:
            if conflict.theirs not in {server_text.base, *server_text.sent}:
                raise
            await write(conflict.theirs)
