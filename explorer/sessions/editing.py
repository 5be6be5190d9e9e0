"""Editing descriptions of entities and columns: a text is typed, kept as a draft, saved, and
compared with a text that somebody else saved meanwhile.

A typed text is on disk before anything is sent. A save carries the text that it replaces as its
precondition, and runs in the background while its writer goes on with another text.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Container, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from explorer.client.display import line
from explorer.client.editable import TextConflict, column_text, place_of, stored_description
from explorer.errors import CatalogError, InvalidInput, Unusable
from explorer.metadata.fieldpath import FieldPath
from explorer.metadata.urn import Urn
from explorer.sessions.base import Session, SessionState, action
from explorer.stewardship.drafts import Draft, Drafts, StoredDraft
from explorer.views.columns import schema_of

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog
    from explorer.client.entity import Entity

READ_ONLY: Final = "Nothing can be saved: this server is open read-only."

Key = tuple[str, str | None]
"""Identifies a description: the URN of its entity, and the field path of its column, or None."""


class DescriptionQueue(Protocol):
    """A queue of descriptions to write one after another, of any number of entities."""

    def after(self, key: Key, but: Container[Key] = ()) -> Key | None:
        """Return the next description, skipping those in `but` and those already written; after the
        last it starts again at the top. None if there is no other."""
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
        """Return the text with which editing starts: the edited one, or else the ingested one."""
        return self.edited if self.edited.strip() else self.ingested

    @property
    def title(self) -> str:
        """Return the name of the description for messages on its page."""
        return self.column or self.name

    @property
    def full_title(self) -> str:
        """Return the name of the description for messages outside its page: `zip of orders`."""
        return f"{self.column} of {self.name}" if self.column else self.name


class Descriptions:
    """The descriptions of one entity, and the order of its columns in the editor."""

    def __init__(self, entity: "Entity") -> None:
        self.entity = entity
        self._written: dict[str | None, str] = {}
        self._order = [column.path.raw for column in entity.schema]

    def target(self, path: str | None) -> DescriptionTarget:
        """Return the current description of a column, or with None of the entity."""
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
        """Record `text` as the edited text that is on the server or being saved."""
        self._written[path] = text

    def neighbour(self, path: str | None, step: int) -> str | None:
        """Return the column `step` places away in schema order; None past either end."""
        if path not in self._order:
            return None
        at = self._order.index(path) + step
        return self._order[at] if 0 <= at < len(self._order) else None

    def undocumented_after(self, path: str | None, but: Container[str] = ()) -> str | None:
        """Return the next column without a description that is not in `but`; after the last column
        it starts again at the top."""
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
    aspect = place_of(entity.urn, None).aspect
    edited = place_of(entity.urn, None).text(entity.raw(aspect) or {}) or ""
    # Some entity types have a single description, written by people and ingestion alike.
    has_ingested_text = "ditable" in aspect
    return edited, entity.ingested_description if has_ingested_text else ""


_T = TypeVar("_T")

# A single thread, so that two texts of one draft are written in order, even if the disk is so slow
# that the second was typed before the first was written.
_DISK = ThreadPoolExecutor(1, "drafts")


class TextDrafts:
    """Reads and writes the drafts of a catalog, in the order of the calls. A call uses the
    description and the texts passed to it, even if another text was opened since.

    `program` names the front end in which texts are typed, such as "terminal". `find` returns the
    drafts; it is called each time, because their directory changes once the catalog is known.
    """

    def __init__(self, program: str, find: Callable[[], Drafts]) -> None:
        self._program = program
        self._find = find
        self._kept: dict[Key, Draft] = {}

    @property
    def stored_drafts(self) -> dict[Key, Draft]:
        """Return the drafts that this object read or wrote last and has not deleted."""
        return dict(self._kept)

    async def read(self, target: DescriptionTarget) -> Draft | None:
        """Return the draft of a text, None if there is none."""

        def read(drafts: Drafts) -> Draft | None:
            self._kept.pop(target.key, None)
            draft = drafts.read(*target.key)
            if draft is not None:
                self._kept[target.key] = draft
            return draft

        return await self._run(read)

    async def keep(self, target: DescriptionTarget, base: str, text: str) -> None:
        """Store a draft that started from `base`; raises `StorageFault` if that fails."""
        draft = Draft(*target.key, base, text, target.name, target.column, self._program)

        def keep(drafts: Drafts) -> None:
            drafts.keep(draft)
            self._kept[target.key] = draft

        await self._run(keep)

    async def drop(self, target: DescriptionTarget, text: str | None = None) -> None:
        """Delete the draft of a description, unless another program has written one since; with
        `text`, only if the draft has that text."""

        def drop(drafts: Drafts) -> None:
            kept = self._kept.get(target.key)
            if kept is not None and text in (None, kept.text):
                drafts.drop(*target.key, kept.text)
                del self._kept[target.key]

        await self._run(drop)

    def forget(self, keys: Collection[Key]) -> None:
        """Forget drafts that were deleted elsewhere in this program."""
        for key in keys:
            self._kept.pop(key, None)

    async def take(self, stored: StoredDraft) -> bool:
        """Take over a draft, so that `read` returns it; return whether no other program has it
        open."""
        return await self._run(lambda drafts: drafts.take(stored))

    async def _run(self, work: Callable[[Drafts], _T]) -> _T:
        return await asyncio.get_running_loop().run_in_executor(_DISK, lambda: work(self._find()))


@dataclass(frozen=True, slots=True)
class Save:
    """A save, whose content never changes: the description, the edited text that the writer started
    from, and the new text."""

    target: DescriptionTarget
    base: str
    text: str

    @property
    def key(self) -> Key:
        """Return the key of the description, which is also that of its draft."""
        return self.target.key

    def title(self, urn: Urn | None) -> str:
        """Return the name of the description for the page of the entity `urn`; with None the full
        name: `zip of orders`."""
        target = self.target
        return line(target.title if target.urn == urn else target.full_title)


@dataclass(frozen=True, slots=True)
class Failure:
    """A save that the server did not acknowledge; its text is kept as a draft. `reason` is a
    sentence. If somebody else saved a text meanwhile, `their_text` is that text, `author` the URN
    of its author and `their_time` its time, if the server reports them.

    `server_text` is the last known edited text on the server, `base` the text that the writer
    started from, which the next save replaces.
    """

    save: Save
    reason: str
    server_text: str
    base: str
    their_text: str | None = None
    author: str | None = None
    their_time: datetime | None = None


def save_sentence(save: Save, failure: Failure | None, urn: Urn | None) -> str:
    """Return a sentence on how a save ended, for the page of the entity `urn`, or with None for any
    other place."""
    title = save.title(urn)
    return f"Saved {title}." if failure is None else f"Not saved: {title}. {failure.reason}"


@dataclass(slots=True)
class _PendingSave:
    save: Save
    draft_written: "asyncio.Task[None]"
    done: "asyncio.Future[Failure | None]"
    is_acknowledged: bool = False
    """Whether the server has the text, so that only its draft remains to be deleted."""


@dataclass(slots=True)
class _ServerText:
    """The known states of a text on the server: the edited text last read or acknowledged, the text
    that the writer started from, and the texts that were sent without a response."""

    present: str
    base: str
    sent: set[str] = field(default_factory=set)


Perform = Callable[[str, Coroutine[None, None, None]], Awaitable[str]]
"""Runs a task with a title such as “saving zip”, and returns the reason if it failed, else an empty
text."""


async def _perform(doing: str, work: Coroutine[None, None, None]) -> str:
    del doing
    try:
        await work
    except CatalogError as error:
        return str(error)
    return ""


class Saves:
    """Writes texts to the server in the background, one at a time.

    A save cannot be changed or cancelled once it is queued. Its draft is written before the
    request, and deleted when the server has acknowledged the text. Each of `listeners` is called
    when a save has ended, with the failure if it failed.
    """

    def __init__(
        self, catalog: "AsyncCatalog", drafts: TextDrafts, perform: Perform = _perform
    ) -> None:
        self._catalog = catalog
        self._drafts = drafts
        self._perform = perform
        self.listeners: list[Callable[[Save, Failure | None], None]] = []
        self._waiting: deque[_PendingSave] = deque()
        self._server_texts: dict[Key, _ServerText] = {}
        self._writing: asyncio.Task[None] | None = None
        self._saved: list[Save] = []
        self.failed: dict[Key, Failure] = {}
        """The failed saves of texts that were not abandoned since, oldest first."""
        self.without_draft: dict[Key, Save] = {}
        """The failed saves whose draft could not be written either."""

    def put(self, save: Save) -> "asyncio.Future[Failure | None]":
        """Queue a save, and return a future of its failure, or of None if it succeeds."""
        done: asyncio.Future[Failure | None] = asyncio.get_running_loop().create_future()
        text = self._server_texts.setdefault(save.key, _ServerText(save.target.edited, save.base))
        if self.pending(save.key) is None and save.base not in text.sent:
            text.base = save.base
        self.failed.pop(save.key, None)
        # Started here, so that a later draft of the same text is written after this one.
        self._waiting.append(_PendingSave(save, asyncio.create_task(self._keep(save)), done))
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write_all())
        return done

    def pending(self, key: Key) -> "asyncio.Future[Failure | None] | None":
        """Return the future of the last pending save of a text; None if there is none."""
        futures = [pending.done for pending in self._waiting if pending.save.key == key]
        return futures[-1] if futures else None

    def base(self, key: Key) -> str | None:
        """Return the edited text that the pending saves of a description started from; None if the
        server has acknowledged all of them."""
        of_key = [pending for pending in self._waiting if pending.save.key == key]
        return self._server_texts[key].base if of_key and not of_key[-1].is_acknowledged else None

    def is_pending_of(self, urn: Urn) -> bool:
        """Return whether there are pending saves of an entity."""
        return any(pending.save.target.urn == urn for pending in self._waiting)

    def titles(self, urn: Urn | None) -> list[str]:
        """Return the names of the descriptions with pending saves, without duplicates; see
        `Save.title`."""
        return list(dict.fromkeys(pending.save.title(urn) for pending in self._waiting))

    def forget(self, key: Key) -> None:
        """Forget a failed save, because its writer chose another text."""
        self.failed.pop(key, None)
        self.without_draft.pop(key, None)

    def descriptions(self, entity: "Entity") -> Descriptions:
        """Return the descriptions of an entity as read, updated with the pending saves and those
        made since."""
        subject = Descriptions(entity)
        for save in (*self._saved, *(pending.save for pending in self._waiting)):
            if save.target.urn == entity.urn:
                subject.wrote(save.target.path, save.text)
        return subject

    def saved_of(self, urn: Urn) -> list[Save]:
        """Return the saves of an entity that were not yet passed to `note_read`."""
        return [save for save in self._saved if save.target.urn == urn]

    def note_read(self, saves: Sequence[Save]) -> None:
        """Forget saves, because their entity was read after them."""
        self._saved = [save for save in self._saved if save not in saves]

    async def next_undocumented(self, urns: Sequence[Urn], after: Urn) -> Descriptions | None:
        """Return the descriptions of the next entity after `after` that has an undocumented column;
        after the last it starts again at the top. One request for each twenty entities, and one for
        the entity returned."""
        tables = [urn for urn in urns if urn.entity_type == "dataset"]
        at = tables.index(after) + 1 if after in tables else 0
        ahead = [urn for urn in (*tables[at:], *tables[:at]) if urn != after][:_MOST_LOOKED_AT]
        for start in range(0, len(ahead), _LOOKED_AT_ONCE):
            batch = ahead[start : start + _LOOKED_AT_ONCE]
            entities = await self._catalog.entities(batch, _DOCUMENTED_ASPECTS)
            for urn in batch:
                entity = entities.get(urn)
                if entity is None or entity.removed or schema_of(entity) is None:
                    continue
                if self.descriptions(entity).undocumented:
                    return self.descriptions(await self._catalog.entity(urn))
        return None

    async def finish(self, seconds: float) -> int:
        """Wait until everything is saved, at most `seconds` after the drafts were written; return
        the number of saves that are still pending."""
        if self._waiting:
            await asyncio.wait([pending.draft_written for pending in self._waiting])
            await asyncio.wait([pending.done for pending in self._waiting], timeout=seconds)
        return len(self._waiting)

    async def _keep(self, save: Save) -> None:
        async def keep() -> None:
            try:
                await self._drafts.keep(save.target, save.base, save.text)
            except Unusable:
                self.without_draft[save.key] = save
                raise
            self.without_draft.pop(save.key, None)

        await self._perform(_KEEPING, keep())

    async def _write_all(self) -> None:
        while self._waiting:
            pending = self._waiting[0]
            save = pending.save
            # A save does not depend on its draft: a failure to write one was already reported.
            await asyncio.wait([pending.draft_written])
            try:
                failure = await self._write(save)
            except Exception as error:  # noqa: BLE001 - passed to the waiting caller
                # A fault of this program ends only this save.
                self._waiting.popleft()
                pending.done.set_exception(error)
                continue
            if failure is None:
                # Recorded before the draft is deleted: a text stored meanwhile then counts as
                # saved, so its draft is not written again after the deletion.
                pending.is_acknowledged = True
                drop = self._drafts.drop(save.target, save.text)
                await self._perform("removing the draft", drop)
                self._saved.append(save)
            self._waiting.popleft()
            if failure is not None and self.pending(save.key) is None:
                self.failed[save.key] = failure
            pending.done.set_result(failure)
            for listener in tuple(self.listeners):
                listener(save, failure)

    async def _write(self, save: Save) -> Failure | None:
        """Write a text if the server holds the text that it started from, or one that the same
        writer sent earlier in a save that failed or got no response. Return the failure, if any."""
        key, text = save.key, self._server_texts[save.key]
        conflict: TextConflict | None = None

        async def write() -> None:
            nonlocal conflict
            conflict = await self._describe(save, save.base)
            if conflict is not None and conflict.theirs in {text.base, *text.sent}:
                conflict = await self._describe(save, conflict.theirs)

        reason = await self._perform(f"saving {save.title(save.target.urn)}", write())
        if conflict is not None:
            text.present = conflict.theirs
            text.sent.clear()
            reason, theirs = _CHANGED_MEANWHILE, conflict.theirs
            return Failure(save, reason, theirs, text.base, theirs, conflict.author, conflict.at)
        if reason:
            text.sent.add(save.text)
            return Failure(save, reason, text.present, text.base)
        self.without_draft.pop(key, None)
        self._server_texts[key] = _ServerText(save.text, save.text)
        return None

    async def _describe(self, save: Save, instead_of: str) -> TextConflict | None:
        target = save.target
        try:
            await self._catalog.describe(
                target.urn, save.text, column=target.path, instead_of=instead_of
            )
        except TextConflict as conflict:
            return conflict
        return None


_KEEPING: Final = "keeping the draft"
_CHANGED_MEANWHILE: Final = "Somebody else changed it meanwhile."
# The number of entities searched for the next undocumented table, and the number per request.
_MOST_LOOKED_AT: Final = 100
_LOOKED_AT_ONCE: Final = 20
_DOCUMENTED_ASPECTS: Final = ("schemaMetadata", "editableSchemaMetadata", "status")


@dataclass(frozen=True, slots=True)
class OpenText:
    """A text being edited: its description, the text last saved or sent (`start`), the edited text
    that a save replaces (`base`), and the typed text (`text`).

    `is_resumed` is true if the text comes from a stored draft, `is_overtaken` if somebody changed
    the description since the draft was begun.
    """

    target: DescriptionTarget
    start: str
    base: str
    text: str
    is_resumed: bool = False
    is_overtaken: bool = False

    @classmethod
    def of(cls, target: DescriptionTarget) -> "OpenText":
        """Return the present text of a description, opened for editing."""
        return cls(target, target.text, target.edited, target.text)

    def resume(self, base: str, text: str) -> "OpenText":
        """Return the text with a draft in place of the typed text; the draft was begun from the
        text `base`."""
        is_overtaken = base != self.base
        return replace(self, base=base, text=text, is_resumed=True, is_overtaken=is_overtaken)

    @property
    def is_typed(self) -> bool:
        """Return whether the typed text is not saved."""
        return self.text != self.start

    def remark(self, revert: str) -> str:
        """Return a remark on a resumed draft; empty for any other text. `revert` is the front end's
        name for `EditSession.revert`."""
        return resumed_remark(revert, is_overtaken=self.is_overtaken) if self.is_resumed else ""


def resumed_remark(revert: str, *, is_overtaken: bool) -> str:
    """Return a remark on a resumed draft; see `OpenText`."""
    sentence = f"This is your unsaved draft; {revert} reverts to the saved text."
    return f"{sentence} The saved text has changed since." if is_overtaken else sentence


@dataclass(frozen=True, slots=True)
class EditState(SessionState):
    """The texts that were opened, by the keys of their descriptions, and the key of the open one:
    None before the first is opened, and after the last is closed. `is_found` is true once it is
    known whether the open text has a draft."""

    key: Key | None = None
    texts: Mapping[Key, OpenText] = field(default_factory=lambda: MappingProxyType({}))
    is_found: bool = False


class EditSession(Session[EditState]):
    """Somebody writes descriptions, one after another. The typed text is stored on disk at every
    pause. A save passes the text as it is at that moment to `saves`, and another text can be opened
    at once.

    `queue`, if given, chooses the next description, which may be of another entity.
    """

    def __init__(
        self,
        catalog: "AsyncCatalog",
        drafts: TextDrafts,
        saves: Saves,
        queue: DescriptionQueue | None = None,
    ) -> None:
        super().__init__(catalog, EditState())
        self._drafts = drafts
        self.saves = saves
        self.queue = queue
        self.subject: Descriptions | None = None
        """The descriptions of the entity whose text is open."""
        self._passed: set[Key] = set()
        self._opening: object = None
        saves.listeners.append(self._note_end)

    def close(self) -> None:
        """Close the session; pending saves go on."""
        super().close()
        if self._note_end in self.saves.listeners:
            self.saves.listeners.remove(self._note_end)

    def why_not(self, name: str) -> str:
        """Return why an action is not possible now; empty if it is possible."""
        if name == "save" and self.catalog.read_only:
            return READ_ONLY
        return ""

    @property
    def text(self) -> OpenText:
        """Return the open text. Raises `InvalidInput` if none is open."""
        return self._text_of(self.state.key)

    def begin(self, subject: Descriptions, path: str | None) -> OpenText:
        """Open another text at once, as it is on the server, or as it was typed here without being
        saved; its stored draft is found by `resume`."""
        if self.subject is not subject:
            self.subject = subject
            if self.queue is None:
                self._passed.clear()
        text = OpenText.of(subject.target(path))
        key = text.target.key
        last = self.state.texts.get(key)
        if last is not None and last.is_typed:
            text = text.resume(last.base, last.text)
        self._opening = object()
        self._passed.add(key)
        self._put(text, key=key, is_found=False)
        return text

    async def resume(self) -> None:
        """Continue with the stored draft of the open text, if there is one: from an earlier run,
        from another program, or from a failed save."""
        opening, target = self._opening, self.text.target
        last, draft = self._drafts.stored_drafts.get(target.key), None
        try:
            draft = await self._drafts.read(target)
        finally:
            if opening is self._opening:
                failure = self.saves.failed.get(target.key)
                if draft is None and failure is not None:
                    # The disk was full when the draft should have been written.
                    draft = Draft(*target.key, failure.save.base, failure.save.text)
                text = self.text
                # The typed text may be newer than its stored draft.
                if draft is not None and not (text.is_resumed and draft == last):
                    text = OpenText.of(target)
                    if draft.text != text.start:
                        text = text.resume(draft.base, draft.text)
                self._put(text, is_found=True)
        is_saved = draft is not None and draft.text == self.state.texts[target.key].start
        if is_saved and opening is self._opening and self.saves.pending(target.key) is None:
            # The answer arrived after the session was closed.
            await self._drafts.drop(target)

    def is_kept(self, typed: str, key: Key) -> bool:
        """Return whether the text as typed is stored on disk."""
        text, draft = self._text_of(key), self._drafts.stored_drafts.get(key)
        if draft is None or self.saves.pending(key) is not None:
            return False
        return (draft.base, draft.text) == (text.base, typed) == (text.base, text.text)

    @action("Keep what is typed as a draft", in_turn=False)
    async def type(self, typed: str, key: Key | None = None) -> None:
        """Record the typed text of the open text, or of another opened one, and store it on disk.
        Raises `StorageFault` if it cannot be stored, and `InvalidInput` before `resume` has found
        out whether there is a draft, which would be overwritten."""
        text = self._text_of(key)
        if text.target.key == self.state.key and not self.state.is_found:
            raise InvalidInput("It is not known yet whether this text has a draft; try again.")
        self._put(replace(text, text=typed))
        base = self.saves.base(text.target.key)
        if typed != text.start or base is not None:
            await self._drafts.keep(text.target, text.base if base is None else base, typed)
        else:
            await self._drafts.drop(text.target)

    def put(
        self, typed: str, instead_of: str | None = None, key: Key | None = None
    ) -> "asyncio.Future[Failure | None] | None":
        """Queue a save of the typed text, and return the future of its failure, or that of the
        pending save if the text is already being saved. Return None if the text is unchanged.

        The save replaces only the text that it was begun from, or `instead_of`. A text of blanks
        counts as empty.
        """
        text, described = self._text_of(key), stored_description(typed)
        target = text.target
        if described == text.start and instead_of is None:
            self._put(replace(text, text=described))
            return self.saves.pending(target.key)
        base = text.base if instead_of is None else instead_of
        done = self.saves.put(Save(target, base, described))
        self._note_server_text(target, described)
        target = replace(target, edited=described)
        self._put(OpenText(target, described, described, described))
        return done

    @action("Save the text, in place of the one that it was begun from", in_turn=False)
    async def save(
        self, typed: str, instead_of: str | None = None, key: Key | None = None
    ) -> Failure | None:
        """Save a text, and return the failure, None if it was saved; see `put`."""
        done = self.put(typed, instead_of, key)
        if done is not None:
            # Shielded, because cancelling this wait must not cancel the save.
            await asyncio.wait([done])
        return None if done is None else done.result()

    def revert(self, key: Key | None = None) -> OpenText:
        """Revert to the saved text. The draft is deleted once `type` is called with that text."""
        target = self._text_of(key).target
        self.saves.forget(target.key)
        text = self._fresh(target)
        self._put(text)
        return text

    @action("Discard the draft", in_turn=False)
    async def discard(self, key: Key | None = None) -> None:
        """Revert to the saved text, and delete the draft."""
        await self.type(self.revert(key).text, key)

    def take_theirs(self, theirs: str, key: Key | None = None) -> OpenText:
        """Continue with the text that somebody else saved in place of the typed one."""
        text = self._text_of(key)
        self._note_server_text(text.target, theirs)
        self._put(replace(text, target=replace(text.target, edited=theirs)))
        return self.revert(key)

    def forget(self, keys: Collection[Key]) -> None:
        """Forget typed texts that were saved or discarded elsewhere in this program."""
        for key in keys:
            self.saves.forget(key)
        texts = {key: text for key, text in self.state.texts.items() if key not in keys}
        self.replace(texts=MappingProxyType(texts))

    @property
    def following(self) -> Key | None:
        """Return the next undocumented description that was not opened before."""
        target = self.text.target
        if self.queue is not None:
            return self.queue.after(target.key, self._passed)
        if self.subject is None:
            return None
        passed = {path for _, path in self._passed if path is not None}
        path = self.subject.undocumented_after(target.path, passed)
        return None if path is None else (target.key[0], path)

    @property
    def first_left_out(self) -> Key | None:
        """Return the first description that was opened and left empty."""
        if self.queue is not None:
            return self.queue.after(self.text.target.key)
        left_out = self.undocumented
        return (self.text.target.key[0], left_out[0]) if left_out else None

    def begin_again(self) -> None:
        """Treat all texts of the queue as not opened before."""
        if self.queue is not None:
            self._passed.clear()

    @property
    def undocumented(self) -> list[str]:
        """Return the columns of this table without a description, except those whose saves
        failed."""
        failed = self.unsaved_paths
        paths = self.subject.undocumented if self.subject is not None else []
        return [path for path in paths if path not in failed]

    @property
    def unsaved_paths(self) -> list[str]:
        """Return the columns of this table whose saves failed."""
        urn = self.text.target.key[0]
        return [path for of, path in self.saves.failed if of == urn and path]

    def _text_of(self, key: Key | None) -> OpenText:
        """Return an opened text, by default the open one."""
        key = self.state.key if key is None else key
        text = None if key is None else self.state.texts.get(key)
        if text is None:
            raise InvalidInput("this description is not open; open it first")
        return text

    def _note_server_text(self, target: DescriptionTarget, text: str) -> None:
        """Record an edited text that is on the server or being sent."""
        if self.subject is not None and self.subject.entity.urn == target.urn:
            self.subject.wrote(target.path, text)

    def _fresh(self, target: DescriptionTarget) -> OpenText:
        subject = self.subject
        if subject is not None and subject.entity.urn == target.urn:
            target = subject.target(target.path)
        return OpenText.of(target)

    def _put(self, text: OpenText, **changes: object) -> None:
        texts = MappingProxyType({**self.state.texts, text.target.key: text})
        self.replace(texts=texts, **changes)

    def _note_end(self, save: Save, failure: Failure | None) -> None:
        """Report how a save ended; after a failure the text counts as not saved."""
        text, urn = self.state.texts.get(save.key), save.target.urn
        if failure is not None and self.saves.pending(save.key) is None:
            self._note_server_text(save.target, failure.server_text)
            if text is not None:
                fresh = self._fresh(replace(save.target, edited=failure.server_text))
                text = replace(text, target=fresh.target, start=fresh.start, base=failure.base)
                self._put(text)
        is_here = self.subject is not None and self.subject.entity.urn == urn
        sentence = save_sentence(save, failure, urn if is_here else None)
        self.say(sentence, is_error=failure is not None, is_saved=failure is None)
