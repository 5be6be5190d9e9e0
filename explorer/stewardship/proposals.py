"""Staged changesets stored on a server, so that several people can review them together.

A changeset is an entity type of our own (`explorer/metadata/own_entities.json`). Its lines are
points of a timeseries aspect, identified by ids, so that sending a line twice stores it once.
Everybody works on a copy of the file on their own disk, so that decisions take effect at once;
`sync_changeset` exchanges the lines that one side lacks. Servers without this entity type, such as
DataHub's, cannot store changesets: there the file is passed on.
"""

import asyncio
import hashlib
import re
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

import msgspec

from explorer.client.connection import KnownCatalog
from explorer.client.transport import REFUSALS
from explorer.errors import (
    CatalogError,
    Forbidden,
    Gone,
    InvalidInput,
    NotFound,
    ReadOnly,
    StorageFault,
    Unreachable,
)
from explorer.metadata.proposal import Proposal, millis_of
from explorer.metadata.urn import Urn
from explorer.stewardship.staging import (
    STATES,
    Agent,
    ReviewState,
    SharedNote,
    StagedChangeset,
    shared_path,
)

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog
    from explorer.client.entity import Entity
    from explorer.stewardship.documentation import Progress

ENTITY: Final = "changeset"
OVERTAKEN: Final = "Somebody decided this meanwhile: look at it again."
_INFO: Final = "changesetInfo"
_PROGRESS: Final = "changesetProgress"
_NOTE: Final = "changesetNote"
_KEY: Final = "changesetKey"
_STATUS: Final = "status"
_ID: Final = re.compile(r"[0-9A-Za-z_-]{1,64}")
# A page has to have room for all lines with the same time; there are always fewer than this.
_PAGE: Final = 2_500
_GROUP: Final = 20
_GROUP_SECONDS: Final = 1.0
# Users who may not create tags have the role reader or proposer.
_MAY_EDIT: Final = "query { me { platformPrivileges { createTags } } }"
_READER: Final = (
    "Your token lacks the role editor: you can see what others decide, but cannot decide."
)
_NOT_SUPPORTED: Final = (
    "this server cannot store changesets (DataHub's servers cannot); pass on the file, which "
    "catalog docs review opens"
)


@dataclass(frozen=True, slots=True)
class SharedChangeset:
    """A changeset stored on the server.

    `counts` is the number of edits in each state that occurs, as of when somebody last sent
    decisions. `agent` is the agent that proposed it for the user, `None` for a person.
    """

    urn: Urn
    title: str
    proposed_by: str
    at: datetime
    edits: int
    counts: dict[ReviewState, int] = field(default_factory=dict)
    agent: Agent | None = None


@dataclass(frozen=True, slots=True)
class SyncOutcome:
    """The result of a sync: the numbers of decisions and outcomes sent and received.

    `overtaken` are the numbers of edits that others decided differently without having seen the
    decision here. `taken_back` is the number of notes that the server refused, for the reason
    `why`; they no longer count here either.
    """

    sent: int = 0
    received: int = 0
    overtaken: tuple[int, ...] = ()
    taken_back: int = 0
    why: str = ""


def changeset_urn(given: str | Urn) -> Urn:
    """Return the URN of a changeset given by its URN or id. Raises `InvalidInput` for anything
    else."""
    text = str(given)
    urn = Urn.parse(text) if text.startswith("urn:") else Urn(ENTITY, (text,))
    if urn.entity_type != ENTITY or not _ID.fullmatch(urn.name):
        raise InvalidInput(f"{text} is not a changeset; list them with catalog docs proposals")
    return urn


def server_key(catalog: "AsyncCatalog") -> str:
    """Return a key for the catalog, used in files and file names. No request."""
    identity = catalog.identity or catalog.address
    return hashlib.sha256(identity.encode()).hexdigest()[:16]


async def why_undecided(catalog: "AsyncCatalog") -> str:
    """Return a sentence that says why this client may not decide, share or apply changesets; empty
    if it may, and if the server does not say.

    One request, one more for the first call.
    """
    if catalog.read_only:
        return "This client is read-only: nothing can be decided here."
    if not (await catalog.abilities()).proposals:
        return ""
    try:
        me = (await catalog.graphql(_MAY_EDIT)).get("me")
    except REFUSALS:
        return ""
    privileges = me.get("platformPrivileges") if isinstance(me, dict) else None
    is_reader = isinstance(privileges, dict) and privileges.get("createTags") is False
    return _READER if is_reader else ""


def why_foreign(changeset: StagedChangeset, here: KnownCatalog, key: str) -> str:
    """Return a sentence that says why a changeset is not of a catalog with this `server_key`; empty
    if it is.

    If either has no id, as on DataHub's servers and in older files, a changeset belongs to a
    catalog with the same address, or where it is shared. A changeset that names no server belongs
    to every catalog. No request.
    """
    is_known = bool(here.id and changeset.catalog)
    if not is_known and (not changeset.server or changeset.is_shared_with(key)):
        return ""
    return changeset.made_on.why_not(here)


async def check_own(catalog: "AsyncCatalog", changeset: StagedChangeset) -> None:
    """Raise `InvalidInput` if a changeset was made for another catalog. Costs the request of
    `AsyncCatalog.abilities`."""
    why = why_foreign(changeset, await catalog.known_as(), server_key(catalog))
    if why:
        raise InvalidInput(
            f"this changeset is of another catalog: {why}; nothing was written. To use it here on "
            "purpose, import it: with I where the terminal reviews it, catalog docs review FILE "
            "--import, or import_changeset in Python"
        )


async def share_changeset(
    catalog: "AsyncCatalog", changeset: StagedChangeset, *, progress: "Progress | None" = None
) -> Urn:
    """Store a changeset on the server with all decisions and outcomes in its file; return its URN.

    It is visible to others once it is stored completely. Lines that the server has already are not
    sent again: sharing twice changes nothing, and sharing again completes an interrupted share. A
    changeset that was withdrawn is restored. One request for each 200 lines, and four more. Raises
    `InvalidInput` on a server that cannot store changesets, `Forbidden` for a token that may not
    write, and `StorageFault` if it is shared, but this cannot be recorded in its file.

    Example: `steward.share_changeset(steward.stage(edits, "Texts from upstream"))`
    """
    await _check_supported(catalog)
    await check_own(catalog, changeset)
    key, urn = server_key(catalog), changeset_urn(changeset.id)
    await asyncio.to_thread(changeset.read_again)
    entity = await _entity(catalog, urn)
    stored_ids = {note.id async for note in _notes(catalog, urn)} if entity.exists else set[str]()
    notes = changeset.notes()
    missing = [note for note in (*changeset.edit_notes(), *notes) if note.id not in stored_ids]
    await _send(catalog, _report_progress(_proposals(urn, missing), len(missing), progress))
    final_aspects = [(_INFO, _info(changeset)), (_PROGRESS, _progress(changeset))]
    if (entity.raw(_STATUS) or {}).get("removed") is True:
        final_aspects.append((_STATUS, {"removed": False}))
    changed = [(name, value) for name, value in final_aspects if entity.raw(name) != value]
    await _send(catalog, [Proposal(urn, name, value) for name, value in changed])
    try:
        changeset.note_sent(key, [note.id for note in notes])
        # Exchanges notes that others, or other programs here, added in the meantime.
        await sync_changeset(catalog, changeset)
    except StorageFault as error:
        raise StorageFault(
            f"the changeset {urn.name} is shared, but its file cannot note it: {error}; share it "
            "again once that is possible"
        ) from error
    return urn


async def shared_changesets(catalog: "AsyncCatalog") -> tuple[SharedChangeset, ...]:
    """Return the changesets stored on the server, newest first. Two requests, more for thousands.

    Raises `InvalidInput` on a server that cannot store changesets.

    Example: `steward.shared_changesets()[0].title`
    """
    await _check_supported(catalog)
    urns = [urn async for urn in catalog.urns(ENTITY)]
    entities = await catalog.entities(urns, (_INFO, _PROGRESS)) if urns else {}
    # A changeset without this aspect is still being shared.
    changesets = [
        _to_shared_changeset(urn, entity) for urn, entity in entities.items() if entity.raw(_INFO)
    ]
    return tuple(
        sorted(changesets, key=lambda changeset: (changeset.at, str(changeset.urn)), reverse=True)
    )


async def fetch_changeset(catalog: "AsyncCatalog", urn: str | Urn) -> StagedChangeset:
    """Download a changeset from the server into a file in the state directory, and return it.

    `urn` may be its id. Later changes are exchanged by `sync_changeset`. An existing copy is
    synced, or returned unchanged if the server cannot be reached. Three requests, more for
    thousands of lines. Raises `NotFound` for a changeset that the server does not have or that was
    withdrawn, `InvalidInput` on a server that cannot store changesets.

    Example: `steward.fetch_changeset("urn:li:changeset:8c1f0e2d5a6b7c80")`
    """
    key, target = server_key(catalog), changeset_urn(urn)
    path = shared_path(key, target.name)
    if await asyncio.to_thread(path.exists):
        changeset = await asyncio.to_thread(StagedChangeset.open, path)
        with suppress(Unreachable):
            await sync_changeset(catalog, changeset)
        return changeset
    return await _copy_changeset(catalog, target, path)


async def look_at_changeset(catalog: "AsyncCatalog", urn: str | Urn) -> StagedChangeset:
    """Return a changeset of the server as it is now, for reading only: its file is temporary and
    already deleted. Requests and errors as for the first call of `fetch_changeset`."""
    target = changeset_urn(urn)
    with TemporaryDirectory() as directory:
        return await _copy_changeset(catalog, target, Path(directory) / target.name)


async def _copy_changeset(catalog: "AsyncCatalog", target: Urn, path: Path) -> StagedChangeset:
    key = server_key(catalog)
    await _check_supported(catalog)
    offset, info, notes = await _read_changeset(catalog, target)
    edits = [note.line for note in notes if note.id.startswith("edit-")]
    if len(edits) < _number(info.get("edits")):
        raise NotFound(f"the changeset {target.name} is incomplete on the server; share it again")
    copy = partial(
        StagedChangeset.copy,
        changeset_id=target.name,
        title=str(info.get("title") or ""),
        server=str(info.get("server") or ""),
        proposed_by=str(info.get("proposedBy") or ""),
        at=_moment(info.get("atMillis")),
        version=_number(info.get("version")),
        held_by=key,
        catalog=(await catalog.abilities()).catalog_id,
        agent=_agent(info.get("agent")),
    )
    try:
        changeset = await asyncio.to_thread(copy, path, edits)
    except InvalidInput:
        if not await asyncio.to_thread(path.exists):
            raise
        # Another program created the file first.
        changeset = await asyncio.to_thread(StagedChangeset.open, path)
    changeset.take_in(key, notes)
    changeset.cursor = (key, offset)
    return changeset


async def sync_changeset(catalog: "AsyncCatalog", changeset: StagedChangeset) -> SyncOutcome:
    """Exchange the decisions and outcomes of a changeset with the server.

    Nothing is lost or duplicated on either side. Notes that the server refuses because of the
    token's role are dropped here. Up to three requests; for the first call as many as
    `fetch_changeset`. Raises `Unreachable` (unsent notes are sent next time), `NotFound` for a
    changeset that was withdrawn, and `InvalidInput` for one that is not shared.

    Example: `steward.sync_changeset(changeset).received`
    """
    key, urn = server_key(catalog), changeset_urn(changeset.id)
    if not changeset.is_shared_with(key):
        raise InvalidInput("this changeset is not shared; share it with catalog docs share")
    await check_own(catalog, changeset)
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
    """Withdraw a changeset, so that it is no longer listed on the server.

    Nothing is lost: sharing its file again, or undo, restores it. Two requests. Raises `NotFound`
    for a changeset that the server does not have, `Forbidden` for a token that may not write.

    Example: `steward.withdraw_changeset("urn:li:changeset:8c1f0e2d5a6b7c80")`
    """
    await _check_supported(catalog)
    await catalog.soft_delete(changeset_urn(urn))


class Syncing:
    """Sends the outcomes of a shared changeset in groups while it is being applied.

    Does nothing for a changeset that is not shared. Outcomes that cannot be sent are sent by the
    next sync.
    """

    def __init__(self, catalog: "AsyncCatalog", changeset: StagedChangeset) -> None:
        self._catalog, self._changeset = catalog, changeset
        self._is_shared = changeset.is_shared_with(server_key(catalog))
        self._noted, self._at = 0, monotonic()
        self._turn = asyncio.Lock()

    async def begin(self) -> None:
        """Receive the decisions of others.

        Raises what `sync_changeset` raises, and `Forbidden` for a token that may only read.
        """
        if self._is_shared:
            why = await why_undecided(self._catalog)
            if why:
                raise Forbidden(why)
            await sync_changeset(self._catalog, self._changeset)

    async def note(self) -> None:
        """Count an outcome that was recorded, and send the outcomes when enough have
        accumulated."""
        self._noted += 1
        is_due = self._noted >= _GROUP or monotonic() - self._at > _GROUP_SECONDS
        if self._is_shared and is_due and not self._turn.locked():
            await self.end()

    async def end(self) -> None:
        """Send the remaining outcomes. Never raises."""
        if not self._is_shared:
            return
        async with self._turn:
            self._noted = 0
            with suppress(CatalogError):
                await sync_changeset(self._catalog, self._changeset)
            self._at = monotonic()


async def _check_supported(catalog: "AsyncCatalog") -> None:
    if not (await catalog.abilities()).proposals:
        raise InvalidInput(_NOT_SUPPORTED)


async def _entity(catalog: "AsyncCatalog", urn: Urn) -> "Entity":
    return await catalog.entity(urn, (_KEY, _INFO, _PROGRESS, _STATUS))


async def _read_changeset(
    catalog: "AsyncCatalog", urn: Urn
) -> tuple[int, dict[str, Any], list[SharedNote]]:
    """Return the change log offset, the properties of the changeset and all its lines.

    Changes up to that offset are included. Raises `NotFound`.
    """
    offset = (await catalog.changes(limit=0)).head
    entity = await _entity(catalog, urn)
    info = entity.raw(_INFO)
    if not info:
        raise NotFound(
            f"the server has no changeset {urn.name}; list them with catalog docs proposals"
        )
    if (entity.raw(_STATUS) or {}).get("removed") is True:
        raise _withdrawn_error(urn)
    return offset, dict(info), [note async for note in _notes(catalog, urn)]


async def _read_news(
    catalog: "AsyncCatalog", changeset: StagedChangeset, key: str, urn: Urn
) -> tuple[int, list[SharedNote]]:
    """Return a change log offset, and the lines up to it that this changeset may not have yet."""
    if changeset.cursor is not None and changeset.cursor[0] == key:
        with suppress(Gone):
            return await _read_changes(catalog, urn, changeset.cursor[1])
    await _check_supported(catalog)
    offset, _, notes = await _read_changeset(catalog, urn)
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
                raise _withdrawn_error(urn)
            if change.aspect == _NOTE and change.value is not None:
                notes += _note_of(change.value)
        if not page.truncated or page.next <= after:
            return page.next, notes
        after = page.next


def _withdrawn_error(urn: Urn) -> NotFound:
    return NotFound(f"the changeset {urn.name} was withdrawn; share its file again to restore it")


async def _notes(catalog: "AsyncCatalog", urn: Urn) -> AsyncIterator[SharedNote]:
    async for point in catalog.every_point(urn, _NOTE, page_size=_PAGE):
        for note in _note_of(point):
            yield note


def _note_of(point: dict[str, Any]) -> Iterator[SharedNote]:
    name, at_millis, line = (point.get(key) for key in ("messageId", "timestampMillis", "line"))
    if isinstance(name, str) and name and isinstance(at_millis, int) and isinstance(line, str):
        yield SharedNote(name, at_millis, line)


def _proposals(urn: Urn, notes: Iterable[SharedNote]) -> Iterator[Proposal]:
    for note in notes:
        value = {"timestampMillis": note.at_millis, "messageId": note.id, "line": note.line}
        yield Proposal(urn, _NOTE, value)


def _report_progress(
    proposals: Iterable[Proposal], total: int, progress: "Progress | None"
) -> Iterator[Proposal]:
    for number, proposal in enumerate(proposals, 1):
        yield proposal
        if progress is not None:
            progress(number, total)


async def _send(catalog: "AsyncCatalog", proposals: "Iterable[Proposal]") -> None:
    """Write all proposals. Raises as `ingest_batch`, and `InvalidInput` if the server refuses
    one."""
    report = await catalog.ingest_batch(proposals)
    if report.refused:
        raise InvalidInput(f"the server refuses this changeset: {report.refused[0].reason}")


def _agent(value: Any) -> Agent | None:
    try:
        return msgspec.convert(value, Agent | None)
    except msgspec.ValidationError:
        return None


def _info(changeset: StagedChangeset) -> dict[str, Any]:
    agent = {} if changeset.agent is None else {"agent": msgspec.to_builtins(changeset.agent)}
    return agent | {
        "title": changeset.title,
        "server": changeset.server,
        "proposedBy": changeset.proposed_by,
        "atMillis": millis_of(changeset.at),
        "format": changeset.format,
        "version": changeset.version,
        "edits": len(changeset.items),
    }


def _progress(changeset: StagedChangeset) -> dict[str, int]:
    counts = changeset.counts()
    return {state: counts.get(state, 0) for state in STATES}


def _to_shared_changeset(urn: Urn, entity: "Entity") -> SharedChangeset:
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
        _agent(info.get("agent")),
    )


def _number(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _moment(millis: Any) -> datetime:
    try:
        return datetime.fromtimestamp(_number(millis) / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return datetime.fromtimestamp(0, UTC)
