"""Staged changesets that a server keeps: colleagues see one queue and decide the same edits.

A changeset is an entity of its own (`explorer/metadata/own_entities.json`). Its lines are the
documents of a timeseries aspect, told apart by their ids, so that what is sent twice is there once.
Everybody works on a copy of the file on their own disk: what is decided is there at once, and
`sync_changeset` exchanges what one side has and the other lacks. Servers without such entities, as
DataHub's are, keep none: there the file is handed on.
"""

import asyncio
import hashlib
import re
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from explorer.client.responses import REFUSALS
from explorer.errors import (
    CatalogError,
    Forbidden,
    Gone,
    InvalidInput,
    NotFound,
    ReadOnly,
    Unreachable,
)
from explorer.metadata.proposal import Proposal
from explorer.metadata.urn import Urn
from explorer.stewardship.staging import (
    STATES,
    ReviewState,
    SharedNote,
    StagedChangeset,
    shared_path,
)

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog
    from explorer.client.entity import Entity
    from explorer.stewardship.documentation import Progress

__all__ = [
    "OVERTAKEN",
    "SharedChangeset",
    "SyncOutcome",
    "Syncing",
    "changeset_urn",
    "fetch_changeset",
    "server_key",
    "share_changeset",
    "shared_changesets",
    "sync_changeset",
    "why_undecided",
    "withdraw_changeset",
]

ENTITY: Final = "changeset"
OVERTAKEN: Final = "Somebody decided this meanwhile: look at it again."
_INFO: Final = "changesetInfo"
_PROGRESS: Final = "changesetProgress"
_NOTE: Final = "changesetNote"
_KEY: Final = "changesetKey"
_STATUS: Final = "status"
_ID: Final = re.compile(r"[0-9A-Za-z_-]{1,64}")
# More lines than ever have one time, which one page has to hold.
_PAGE: Final = 2_500
_GROUP: Final = 20
_GROUP_SECONDS: Final = 1.0
# Whoever may make no tag has the role reader.
_MAY_EDIT: Final = "query { me { platformPrivileges { createTags } } }"
_READER: Final = "Your token has the role reader: you see what others decide, and decide nothing."
_NOT_KEPT: Final = (
    "this server keeps no changesets, as DataHub's servers do not; hand on the file, which "
    "catalog docs review opens"
)


@dataclass(frozen=True, slots=True)
class SharedChangeset:
    """A changeset that the server keeps. `counts` are its edits by their states when somebody last
    sent what they decided, without states that none is in."""

    urn: Urn
    title: str
    proposed_by: str
    at: datetime
    edits: int
    counts: dict[ReviewState, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SyncOutcome:
    """What was exchanged: how many notes were sent, and how many came.

    `overtaken` are the numbers of the edits that others decided otherwise, who had not seen what
    was decided here. `taken_back` counts the notes that the server refused because of `why`; they
    do not count here either.
    """

    sent: int = 0
    received: int = 0
    overtaken: tuple[int, ...] = ()
    taken_back: int = 0
    why: str = ""


def changeset_urn(given: str | Urn) -> Urn:
    """Return the URN of a changeset, given it or its id alone. Raises `InvalidInput` for what is
    neither."""
    text = str(given)
    urn = Urn.parse(text) if text.startswith("urn:") else Urn(ENTITY, (text,))
    if urn.entity_type != ENTITY or not _ID.fullmatch(urn.name):
        raise InvalidInput(f"{text} is no changeset; catalog docs proposals lists them")
    return urn


def server_key(catalog: "AsyncCatalog") -> str:
    """Return what tells the catalog from others, in files and names of files. No request."""
    known = catalog.identity or catalog.address
    return hashlib.sha256(known.encode()).hexdigest()[:16]


async def why_undecided(catalog: "AsyncCatalog") -> str:
    """Return why nothing may be decided, shared or applied with this client, as a sentence; empty
    where it may, or where the server does not say. One request, one more the first time."""
    if catalog.read_only:
        return "This client is read-only: nothing can be decided here."
    if not (await catalog.abilities()).proposals:
        return ""
    try:
        found = (await catalog.graphql(_MAY_EDIT)).get("me")
    except REFUSALS:
        return ""
    privileges = found.get("platformPrivileges") if isinstance(found, dict) else None
    is_reader = isinstance(privileges, dict) and privileges.get("createTags") is False
    return _READER if is_reader else ""


async def share_changeset(
    catalog: "AsyncCatalog", changeset: StagedChangeset, *, progress: "Progress | None" = None
) -> Urn:
    """Have the server keep a changeset, with all that was noted in its file; return its URN.

    It is in the queue once all of it is stored. What is there is not sent again: sharing twice
    changes nothing, and sharing again completes what was interrupted. One that was withdrawn is
    back. A request for each 200 lines, and four more. Raises `InvalidInput` on a server that keeps
    none, `Forbidden` for a token that may not write.

    Example: `steward.share_changeset(steward.stage(edits, "Texts from upstream"))`
    """
    await _check_kept(catalog)
    key, urn = server_key(catalog), changeset_urn(changeset.id)
    await asyncio.to_thread(changeset.read_again)
    entity = await _entity(catalog, urn)
    known = {one.id async for one in _notes(catalog, urn)} if entity.exists else set[str]()
    notes = changeset.notes()
    missing = [note for note in (*changeset.edit_notes(), *notes) if note.id not in known]
    await _send(catalog, _counted(_proposals(urn, missing), len(missing), progress))
    ends = [(_INFO, _info(changeset)), (_PROGRESS, _progress(changeset))]
    if (entity.raw(_STATUS) or {}).get("removed") is True:
        ends.append((_STATUS, {"removed": False}))
    changed = [(name, value) for name, value in ends if entity.raw(name) != value]
    await _send(catalog, [Proposal(urn, name, value) for name, value in changed])
    changeset.note_sent(key, [note.id for note in notes])
    # What others noted, or what was noted here meanwhile.
    await sync_changeset(catalog, changeset)
    return urn


async def shared_changesets(catalog: "AsyncCatalog") -> tuple[SharedChangeset, ...]:
    """Return the changesets that the server keeps, the newest first. Two requests, more for
    thousands. Raises `InvalidInput` on a server that keeps none.

    Example: `steward.shared_changesets()[0].title`
    """
    await _check_kept(catalog)
    urns = [urn async for urn in catalog.urns(ENTITY)]
    entities = await catalog.entities(urns, (_INFO, _PROGRESS)) if urns else {}
    # One without its description is still being shared.
    found = [_shared(urn, one) for urn, one in entities.items() if one.raw(_INFO)]
    return tuple(sorted(found, key=lambda one: (one.at, str(one.urn)), reverse=True))


async def fetch_changeset(catalog: "AsyncCatalog", urn: str | Urn) -> StagedChangeset:
    """Return a changeset that the server keeps as a file in the state directory, with what is
    noted by now; `sync_changeset` exchanges what is noted later. `urn` may be its id.

    The copy that is there already is brought up to date, or given as it is where the server is not
    reached. Three requests, more for thousands of lines. Raises `NotFound` for one that the server
    does not have or that was withdrawn, `InvalidInput` on a server that keeps none.

    Example: `steward.fetch_changeset("urn:li:changeset:8c1f0e2d5a6b7c80")`
    """
    key, target = server_key(catalog), changeset_urn(urn)
    path = shared_path(key, target.name)
    if await asyncio.to_thread(path.exists):
        changeset = await asyncio.to_thread(StagedChangeset.open, path)
        with suppress(Unreachable):
            await sync_changeset(catalog, changeset)
        return changeset
    await _check_kept(catalog)
    offset, info, notes = await _read_whole(catalog, target)
    edits = [note.line for note in notes if note.id.startswith("edit-")]
    if len(edits) < _number(info.get("edits")):
        raise NotFound(f"the changeset {target.name} is not whole on the server; share it again")
    copy = partial(
        StagedChangeset.copy,
        changeset_id=target.name,
        title=str(info.get("title") or ""),
        server=str(info.get("server") or ""),
        proposed_by=str(info.get("proposedBy") or ""),
        at=_moment(info.get("atMillis")),
        version=_number(info.get("version")),
        held_by=key,
    )
    try:
        changeset = await asyncio.to_thread(copy, path, edits)
    except InvalidInput:
        if not await asyncio.to_thread(path.exists):
            raise
        # Another program was quicker.
        changeset = await asyncio.to_thread(StagedChangeset.open, path)
    changeset.take_in(key, notes)
    changeset.cursor = (key, offset)
    return changeset


async def sync_changeset(catalog: "AsyncCatalog", changeset: StagedChangeset) -> SyncOutcome:
    """Take in what others noted in a changeset that the server keeps, and send what was noted here;
    nothing is lost on either side, and nothing is there twice.

    What a server refuses because of the token's role is taken back here. Up to three requests; the
    first time as many as `fetch_changeset`. Raises `Unreachable`, with what was noted here still to
    be sent, `NotFound` for one that was withdrawn, and `InvalidInput` for one that is not shared.

    Example: `steward.sync_changeset(changeset).received`
    """
    key, urn = server_key(catalog), changeset_urn(changeset.id)
    if not changeset.is_shared_with(key):
        raise InvalidInput("this changeset is not shared; catalog docs share does it")
    changeset.read_again()
    try:
        offset, notes = await _read_news(catalog, changeset, key, urn)
    except NotFound:
        changeset.cursor = None
        raise
    received, overtaken = changeset.take_in(key, notes)
    changeset.cursor = (key, offset)
    unsent = changeset.unsent(key)
    if not unsent or catalog.read_only:
        return SyncOutcome(0, received, overtaken)
    progress = Proposal(urn, _PROGRESS, _progress(changeset))
    ids = [note.id for note in unsent]
    try:
        await _send(catalog, [*_proposals(urn, unsent), progress])
    except ReadOnly:
        raise
    except Forbidden as error:
        changeset.drop(ids)
        return SyncOutcome(0, received, overtaken, len(ids), str(error))
    changeset.note_sent(key, ids)
    return SyncOutcome(len(ids), received, overtaken)


async def withdraw_changeset(catalog: "AsyncCatalog", urn: str | Urn) -> None:
    """Take a changeset out of the queue. Nothing of it is lost: sharing its file again, or undo,
    brings it back. Two requests. Raises `NotFound` for one that the server does not have,
    `Forbidden` for a token that may not write.

    Example: `steward.withdraw_changeset("urn:li:changeset:8c1f0e2d5a6b7c80")`
    """
    await _check_kept(catalog)
    await catalog.soft_delete(changeset_urn(urn))


class Syncing:
    """Sends the outcomes of a changeset that the server keeps, a few at a time, while it is being
    applied; does nothing for any other. What cannot be sent then is sent with the next sync."""

    def __init__(self, catalog: "AsyncCatalog", changeset: StagedChangeset) -> None:
        self._catalog, self._changeset = catalog, changeset
        self._is_shared = changeset.is_shared_with(server_key(catalog))
        self._noted, self._at = 0, monotonic()
        self._turn = asyncio.Lock()

    async def begin(self) -> None:
        """Take in what others decided. Raises what `sync_changeset` raises, and `Forbidden` for a
        token that may only read."""
        if self._is_shared:
            why = await why_undecided(self._catalog)
            if why:
                raise Forbidden(why)
            await sync_changeset(self._catalog, self._changeset)

    async def note(self) -> None:
        """Count an outcome that was noted, and send those that are due."""
        self._noted += 1
        is_due = self._noted >= _GROUP or monotonic() - self._at > _GROUP_SECONDS
        if self._is_shared and is_due and not self._turn.locked():
            await self.end()

    async def end(self) -> None:
        """Send what is left, as far as the server takes it."""
        if not self._is_shared:
            return
        async with self._turn:
            self._noted = 0
            with suppress(CatalogError):
                await sync_changeset(self._catalog, self._changeset)
            self._at = monotonic()


async def _check_kept(catalog: "AsyncCatalog") -> None:
    if not (await catalog.abilities()).proposals:
        raise InvalidInput(_NOT_KEPT)


async def _entity(catalog: "AsyncCatalog", urn: Urn) -> "Entity":
    return await catalog.entity(urn, (_KEY, _INFO, _PROGRESS, _STATUS))


async def _read_whole(
    catalog: "AsyncCatalog", urn: Urn
) -> tuple[int, dict[str, Any], list[SharedNote]]:
    """Return the offset of the change log up to which this holds, what the changeset is about, and
    all its lines. Raises `NotFound`."""
    offset = (await catalog.changes(limit=0)).head
    entity = await _entity(catalog, urn)
    info = entity.raw(_INFO)
    if not info:
        raise NotFound(f"the server has no changeset {urn.name}; catalog docs proposals lists them")
    if (entity.raw(_STATUS) or {}).get("removed") is True:
        raise _withdrawn(urn)
    return offset, dict(info), [note async for note in _notes(catalog, urn)]


async def _read_news(
    catalog: "AsyncCatalog", changeset: StagedChangeset, key: str, urn: Urn
) -> tuple[int, list[SharedNote]]:
    """Return the lines that this object may not have taken in yet, and up to where in the change
    log these are all."""
    if changeset.cursor is not None and changeset.cursor[0] == key:
        with suppress(Gone):
            return await _read_changes(catalog, urn, changeset.cursor[1])
    await _check_kept(catalog)
    offset, _, notes = await _read_whole(catalog, urn)
    return offset, notes


async def _read_changes(
    catalog: "AsyncCatalog", urn: Urn, after: int
) -> tuple[int, list[SharedNote]]:
    notes: list[SharedNote] = []
    while True:
        page = await catalog.changes(
            after, limit=500, urns=[urn], aspects=(_NOTE, _STATUS, _KEY, _INFO)
        )
        for change in page:
            is_gone = change.aspect == _STATUS and (change.value or {}).get("removed") is True
            if is_gone or change.kind == "DELETE":
                raise _withdrawn(urn)
            if change.aspect == _NOTE and change.value is not None:
                notes += _note_of(change.value)
        if not page.truncated or page.next <= after:
            return page.next, notes
        after = page.next


def _withdrawn(urn: Urn) -> NotFound:
    return NotFound(
        f"the changeset {urn.name} was withdrawn; sharing its file again brings it back"
    )


async def _notes(catalog: "AsyncCatalog", urn: Urn) -> AsyncIterator[SharedNote]:
    async for point in catalog.every_point(urn, _NOTE, page_size=_PAGE):
        for note in _note_of(point):
            yield note


def _note_of(point: dict[str, Any]) -> Iterator[SharedNote]:
    name, at_millis, line = (point.get(one) for one in ("messageId", "timestampMillis", "line"))
    if isinstance(name, str) and name and isinstance(at_millis, int) and isinstance(line, str):
        yield SharedNote(name, at_millis, line)


def _proposals(urn: Urn, notes: Iterable[SharedNote]) -> Iterator[Proposal]:
    for note in notes:
        value = {"timestampMillis": note.at_millis, "messageId": note.id, "line": note.line}
        yield Proposal(urn, _NOTE, value)


def _counted(
    proposals: Iterable[Proposal], total: int, progress: "Progress | None"
) -> Iterator[Proposal]:
    for number, proposal in enumerate(proposals, 1):
        yield proposal
        if progress is not None:
            progress(number, total)


async def _send(catalog: "AsyncCatalog", proposals: "Iterable[Proposal]") -> None:
    """Write them all. Raises as `ingest_batch`, and `InvalidInput` where the server refuses one."""
    report = await catalog.ingest_batch(proposals)
    if report.refused:
        raise InvalidInput(f"the server does not take this changeset: {report.refused[0].reason}")


def _info(changeset: StagedChangeset) -> dict[str, Any]:
    return {
        "title": changeset.title,
        "server": changeset.server,
        "proposedBy": changeset.proposed_by,
        "atMillis": round(changeset.at.timestamp() * 1000),
        "format": changeset.format,
        "version": changeset.version,
        "edits": len(changeset.items),
    }


def _progress(changeset: StagedChangeset) -> dict[str, int]:
    counts = changeset.counts()
    return {state: counts.get(state, 0) for state in STATES}


def _shared(urn: Urn, entity: "Entity") -> SharedChangeset:
    info, counted = entity.raw(_INFO) or {}, entity.raw(_PROGRESS) or {}
    edits = _number(info.get("edits"))
    counts = {state: _number(counted.get(state)) for state in STATES} if counted else {}
    return SharedChangeset(
        urn,
        str(info.get("title") or ""),
        str(info.get("proposedBy") or ""),
        _moment(info.get("atMillis")),
        edits,
        {state: count for state, count in counts.items() if count} or {"open": edits},
    )


def _number(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _moment(millis: Any) -> datetime:
    try:
        return datetime.fromtimestamp(_number(millis) / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return datetime.fromtimestamp(0, UTC)
