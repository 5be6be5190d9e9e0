"""Comparing a documentation file with the catalog, and writing changes to the catalog."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

from msgspec import structs

from explorer.client.editable import (
    EditTarget,
    TextConflict,
    at_present_paths,
    deprecation_of,
    edit_target,
    held_text,
    stored_description,
)
from explorer.client.edits import SCHEMA
from explorer.client.entity import Entity
from explorer.client.journal import is_undone, one_save, undone_in
from explorer.client.records import Edit
from explorer.client.transport import REFUSALS
from explorer.errors import (
    CatalogError,
    Conflict,
    Forbidden,
    InvalidInput,
    InvalidUrn,
    NotFound,
    ReadOnly,
    StorageFault,
)
from explorer.metadata.fieldpath import ColumnPaths, FieldPath
from explorer.metadata.urn import Urn
from explorer.stewardship.documentation import (
    ASPECTS,
    Entry,
    Progress,
    Row,
    digest_of,
    mark_of,
    read_datasets,
    rows_of,
    split_mark,
)
from explorer.stewardship.proposals import (
    OVERTAKEN,
    Syncing,
    check_own,
    server_key,
    sync_changeset,
)
from explorer.stewardship.provenance import columns_version, note_source, propagated_source
from explorer.stewardship.staging import (
    ReviewItem,
    StagedChangeset,
    StagedEdit,
    StagedKind,
    TextSource,
    changeset_files,
    deprecation_in,
    deprecation_text,
    shared_copies,
)

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog
    from explorer.client.journal import JournalSave

Kind = Literal[
    "new",
    "changed",
    "cleared",
    "unchanged",
    "emptied",
    "conflict",
    "unknown table",
    "unknown column",
    "orphan",
    "duplicate",
    "unreadable",
]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
"""The kinds of changes, in the order in which they are shown.

`new`             a description where there was none
`changed`         another description
`cleared`         the description is removed, as the file asks for explicitly
`unchanged`       equal to the catalog's, or not edited in the file
`emptied`         an empty text for a description in the catalog; treated as no change
`conflict`        somebody else changed the description after the file was exported
`unknown table`   the catalog has no such dataset
`unknown column`  the dataset has no such column
`orphan`          the dataset no longer has the column, but still has its description
`duplicate`       another line is for the same table or column
`unreadable`      the line cannot be parsed
"""

_TO_APPLY: Final = frozenset({"new", "changed", "cleared"})
_NOTHING_TO_DO: Final = frozenset({"unchanged"})


@dataclass(frozen=True, slots=True)
class Change:
    """The change that one line of a file proposes for a table, or for the column with this field
    path.

    `base` is the description that the line started from, `None` if unknown; `theirs` the present
    one in the catalog, `None` if there is no such table or column; `mine` the one in the file.
    `why` explains the kind if necessary.
    """

    entry: Entry
    kind: Kind
    base: str | None = None
    theirs: str | None = None
    mine: str = ""
    why: str | None = None

    @property
    def urn(self) -> str:
        """The dataset's URN as in the file."""
        return self.entry.row.urn

    @property
    def column(self) -> str | None:
        """The column's field path; `None` for the table itself."""
        return self.entry.row.column or None

    @property
    def table(self) -> str:
        """The dataset's display name, if known."""
        return self.entry.row.table


@dataclass(frozen=True)
class Changeset:
    """One change for each line of a file, in its order."""

    changes: tuple[Change, ...]

    def __len__(self) -> int:
        return len(self.changes)

    def of(self, *kinds: Kind) -> tuple[Change, ...]:
        """Return the changes of these kinds, in order."""
        return tuple(change for change in self.changes if change.kind in kinds)

    def to_apply(self, *, force_conflicts: bool = False) -> tuple[Change, ...]:
        """Return the changes that would be written, including conflicts if `force_conflicts`."""
        kinds = _TO_APPLY | {"conflict"} if force_conflicts else _TO_APPLY
        return tuple(change for change in self.changes if change.kind in kinds)

    @property
    def left_out(self) -> tuple[Change, ...]:
        """The changes that are not written, without the unchanged ones."""
        passed = _TO_APPLY | _NOTHING_TO_DO
        return tuple(change for change in self.changes if change.kind not in passed)

    @property
    def by_others(self) -> tuple[Change, ...]:
        """The lines not edited in the file for which the catalog now has another description."""
        return tuple(
            change
            for change in self.of("unchanged")
            if change.base is not None and _ends(change.base) != _ends(change.theirs or "")
        )

    def counts(self) -> dict[Kind, int]:
        """Return the number of changes of each kind that occurs."""
        counts = Counter(change.kind for change in self.changes)
        return {kind: counts[kind] for kind in KINDS if counts[kind]}


def compare(
    entries: Iterable[Entry],
    held: Mapping[Urn, Entity],
    *,
    clear_empty: bool = False,
    here: str | None = None,
) -> Changeset:
    """Compare a file's entries with the datasets as they are now. No requests.

    A line counts as edited if the digest of its text differs from the digest in the line. A line
    that was not edited changes nothing, whatever was written to the catalog since. But a line that
    was exported from another catalog than the one with the mark `here` counts as edited and as
    without a digest; so does a line without any mark if the catalog lacks its text. An edited line
    is a conflict if the catalog's description is not the one it started from; a line without a
    digest started from no description. Texts that differ only in line endings are equal, because
    spreadsheets change those. With `clear_empty` an empty text removes the description.
    """
    places = _Places(held, here)
    changes = [_change(entry, places, clear_empty=clear_empty) for entry in entries]
    return Changeset(tuple(_mark_duplicates(changes)))


class _Places:
    """The present descriptions of some datasets and their columns."""

    def __init__(self, entities: Mapping[Urn, Entity], here: str | None) -> None:
        self._entities = {str(urn): entity for urn, entity in entities.items() if entity.exists}
        self._texts: dict[str, dict[str, str]] = {}
        self._ingested: dict[tuple[str, str], str] = {}
        self._here = here

    def texts(self, urn: str) -> dict[str, str] | None:
        """Return the edited descriptions of a dataset by field path; `None` if there is no such
        dataset."""
        if urn not in self._entities:
            return None
        if urn not in self._texts:
            rows = list(rows_of(self._entities[urn]))
            self._texts[urn] = {row.column: row.edited for row in rows}
            self._ingested |= {(urn, row.column): row.ingested for row in rows}
        return self._texts[urn]

    def digest(self, row: Row) -> str:
        """Return the digest of the text that a row started from, empty if it did not start from a
        text of this catalog."""
        digest, mark = split_mark(row.exported)
        if self._here is None or mark == self._here or not row.edited:
            return digest
        is_lacking = not self._texts[row.urn][row.column]
        if is_lacking and _ends(row.edited) == _ends(self._ingested[row.urn, row.column]):
            return digest
        return "" if mark or is_lacking else digest

    def column(self, row: Row) -> str | None:
        """Return the present path of the column of a row, `None` if there is no such column.

        Paths must be equal, unless the type or case of the column changed since the row was
        exported.
        """
        texts = self.texts(row.urn) or {}
        if row.column in texts or not row.exported:
            return row.column if row.column in texts else None
        return ColumnPaths.of(texts).match(row.column)

    def is_orphan(self, urn: str, column: str) -> bool:
        """Return whether the dataset has a description for a column that it no longer has."""
        return any(lost.field_path == column for lost in self._entities[urn].schema.orphans)


def _change(entry: Entry, places: _Places, *, clear_empty: bool) -> Change:
    row = entry.row
    if entry.problem:
        return Change(entry, "unreadable", mine=row.edited, why=entry.problem)
    texts = places.texts(row.urn)
    if texts is None:
        return Change(entry, "unknown table", mine=row.edited, why="no such dataset")
    column = places.column(row)
    if column is None:
        if places.is_orphan(row.urn, row.column):
            return Change(entry, "orphan", mine=row.edited, why="the column is gone")
        why = "no such column; paths are exact"
        return Change(entry, "unknown column", mine=row.edited, why=why)
    if column != row.column:
        row = replace(row, column=column)
        entry = replace(entry, row=row)
    theirs, mine, digest = texts[column], stored_description(row.edited), places.digest(row)
    base = _base(entry, theirs, digest)
    draft = Change(entry, "unchanged", base, theirs, mine)
    untouched = bool(digest) and digest_of(row.edited) == digest and not entry.clears
    if untouched or _ends(mine) == _ends(theirs):
        return draft
    if not mine and not entry.clears and not clear_empty:
        return replace(draft, kind="emptied", why="an empty text changes nothing")
    if base is None:
        return replace(draft, kind="conflict", base=entry.base, why=_why(digest))
    if not mine:
        return replace(draft, kind="cleared")
    return replace(draft, kind="changed" if theirs else "new")


def _base(entry: Entry, present: str, digest: str) -> str | None:
    """Return the text that the line started from, if it is the catalog's text or that of the line;
    `None` otherwise."""
    if not digest:
        return present if entry.clears or not present else None
    if digest_of(present) == digest:
        return present
    return entry.row.edited if digest_of(entry.row.edited) == digest else None


def _why(digest: str) -> str:
    if not digest:
        return "the catalog has a text that is not in the file"
    return "somebody changed the text since this was read"


def _ends(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _mark_duplicates(changes: Sequence[Change]) -> Iterable[Change]:
    """Yield the changes; if several are for one place, only one applies, or none if they differ."""
    wishes: dict[tuple[str, str | None], list[Change]] = {}
    for change in changes:
        if change.kind in _TO_APPLY or change.kind == "conflict":
            wishes.setdefault((change.urn, change.column), []).append(change)
    for change in changes:
        rivals = wishes.get((change.urn, change.column), [])
        if len(rivals) < 2 or not any(change is rival for rival in rivals):
            yield change
        elif len({rival.mine for rival in rivals}) > 1:
            places = ", ".join(rival.entry.place for rival in rivals if rival is not change)
            yield replace(change, kind="duplicate", why=f"{places} has another text")
        elif change is rivals[0]:
            yield change
        else:
            yield replace(
                change, kind="duplicate", why=f"{rivals[0].entry.place} has the same text"
            )


_AT_ONCE = 6
_EPOCH: Final = datetime.fromtimestamp(0, UTC)
_REFUSALS = (*REFUSALS, TextConflict)


@dataclass(frozen=True, slots=True)
class ChangeFailure:
    """A change that was not written, and the reason.

    `theirs` is the text that somebody else wrote in the meantime, `None` if there is another
    reason.
    """

    change: Change
    why: str
    theirs: str | None = None


@dataclass(frozen=True, slots=True)
class Applied:
    """The result of writing changes.

    `done` were written, in order, with their edits; `failed` were refused; `untried` were not
    attempted or not answered, because of `ended_by`. `warnings` are `Catalog.save_warnings`.
    """

    done: tuple[tuple[Change, Edit], ...] = ()
    failed: tuple[ChangeFailure, ...] = ()
    untried: tuple[Change, ...] = ()
    ended_by: CatalogError | None = None
    warnings: tuple[str, ...] = ()


async def apply_changes(
    catalog: "AsyncCatalog", changes: Iterable[Change], progress: Progress | None = None
) -> Applied:
    """Write changes to the catalog, as returned by `Changeset.to_apply`. Never raises.

    Each change is written separately: those of one table one after another, several tables
    concurrently. A change that is refused, for instance because the text was changed since the
    comparison, does not stop the others. An error that concerns all, such as an unreachable server
    or a refused token, ends the work, and the rest is untried. Two requests for each change,
    without retries: comparing the file again shows the remaining changes. All changes are one save,
    which one undo reverses.
    """
    work = list(changes)
    done: dict[int, Edit] = {}

    async def write(at: int) -> None:
        done[at] = await _write(catalog, work[at])

    with one_save():
        outcome = await _write_each([change.urn for change in work], write, progress)
    failed = outcome.failed
    return Applied(
        tuple((change, done[at]) for at, change in enumerate(work) if at in done),
        tuple(
            ChangeFailure(change, str(failed[at]), _conflicting_text(failed[at]))
            for at, change in enumerate(work)
            if at in failed
        ),
        tuple(change for at, change in enumerate(work) if at not in done and at not in failed),
        outcome.ended_by,
        catalog.save_warnings,
    )


def stage_changes(changes: Iterable[Change]) -> tuple[StagedEdit, ...]:
    """Return the changes of a file as edits to stage, without those that cannot be written or
    change nothing.

    A conflict keeps the text that the line started from, so that it is still a conflict when
    applied.
    """
    kinds = _TO_APPLY | {"conflict"}
    return tuple(
        StagedEdit(
            change.urn,
            change.table or change.urn,
            change.column,
            before=change.base or "",
            text=change.mine,
            ingested=change.entry.row.ingested,
            sources=(TextSource("file"),),
        )
        for change in changes
        if change.kind in kinds
    )


@dataclass(frozen=True, slots=True)
class StagedOutcome:
    """The result of applying the accepted edits of a changeset.

    `applied`, `failed` (refused by the server) and `untried` are numbers of edits; `ended_by` is
    the error that ended the work early. `present` of the applied edits were in the catalog already:
    nothing was written for them, and undo leaves them.
    """

    applied: int = 0
    failed: int = 0
    untried: int = 0
    ended_by: CatalogError | None = None
    present: int = 0


async def apply_staged(
    catalog: "AsyncCatalog", changeset: StagedChangeset, progress: Progress | None = None
) -> StagedOutcome:
    """Write the accepted edits of a staged changeset, and record the outcome of each in its file.

    Works like `apply_changes`. An edit whose value was changed by somebody since it was proposed is
    not written, and the present value is recorded with it; this is checked for descriptions,
    domains, deprecations, and links to the same address. Other labels are added and removed
    whatever other labels exist. An edit that is already in the catalog counts as applied, so that a
    changeset can be continued after the program was killed. All edits are one save, including those
    of an interrupted apply; edits accepted after an apply are a separate save. A changeset
    stored on the server is synced before, during and after, so that decisions and outcomes of
    others count (`explorer.stewardship.proposals`).

    For a propagated description that was accepted unchanged, the catalog stores its source
    (`explorer.stewardship.provenance`); if the server refuses the source, the outcome says so. If
    an outcome cannot be written to the file, the work ends, and edits already written count as
    applied. Raises only `StorageFault`, before anything is written.
    """
    syncing = Syncing(catalog, changeset)
    try:
        await check_own(catalog, changeset)
        await syncing.begin()
    except StorageFault:
        raise
    except CatalogError as error:
        return StagedOutcome(untried=len(changeset.of("accepted")), ended_by=error)
    items = changeset.of("accepted")
    actor = str(await _user(catalog) or "") if any(map(_is_propagated, items)) else ""

    present: set[int] = set()
    unnoted: list[StorageFault] = []
    save_id = changeset.save_id()

    async def note(number: int, state: Literal["applied", "failed"], **why: Any) -> None:
        try:
            await asyncio.to_thread(partial(changeset.note_outcome, number, state, **why))
        except StorageFault as error:
            unnoted.append(error)
        await syncing.note()

    async def write(at: int) -> None:
        if unnoted:
            raise unnoted[0]
        item = changeset.item(items[at].number)
        if item.state == "applied":
            return
        if item.state != "accepted":
            raise InvalidInput(OVERTAKEN)
        saving = one_save(
            save_id,
            changeset=changeset.id,
            proposed_by=changeset.proposer,
            approved_by=item.decided_by,
        )
        try:
            with saving:
                changed, remark = await _write_item(catalog, item, actor)
        except (Forbidden, *_REFUSALS) as error:
            await note(item.number, "failed", why=str(error), theirs=_conflicting_text(error))
            raise
        if not changed:
            present.add(at)
        await note(item.number, "applied", why=remark)

    try:
        outcome = await _write_each([item.edit.urn for item in items], write, progress)
    finally:
        await syncing.end()
    done, failed, ended_by = outcome.done, len(outcome.failed), outcome.ended_by
    if unnoted:
        ended_by = StorageFault(
            f"{done:,} of {len(items):,} edits are written, but the changeset cannot note it: "
            f"{unnoted[0]}; apply it again once that is possible: nothing is written twice"
        )
    return StagedOutcome(done, failed, len(items) - done - failed, ended_by, len(present))


async def reopen_undone(catalog: "AsyncCatalog", changeset: StagedChangeset) -> int:
    """Make applied edits that were undone since undecided again, and return their number.

    Undos are found in the journal of this machine, so only edits that were applied and undone here
    are found. Other people receive this with the next sync. A read-only client changes nothing. No
    request. Raises `StorageFault` if the file cannot be written or the journal cannot be read.
    """
    applied = () if catalog.read_only else changeset.of("applied")
    if not applied:
        return 0
    entries = await catalog.journal()
    saves = await asyncio.to_thread(changeset.save_ids)
    ids_by_place: dict[tuple[str, str, str], list[str]] = {}
    for entry in entries:
        if entry.save in saves:
            ids_by_place.setdefault(_place(entry.urn, entry.column, entry.what), []).append(
                entry.id
            )
    undone = undone_in(entries)
    ids_by_number: dict[int, list[str]] = {}
    for item in applied:
        # If an edit was undone and applied again, only the later entries count.
        ids = set(ids_by_place.get(_place(*item.edit.place), ())) - changeset.entries_undone(
            item.number
        )
        if ids and all(is_undone(id_, undone) for id_ in ids):
            ids_by_number[item.number] = sorted(ids)
    if ids_by_number:
        await asyncio.to_thread(changeset.note_undone, ids_by_number)
    return len(ids_by_number)


def _place(urn: str, column: str | None, what: str) -> tuple[str, str, str]:
    """Return a key for the place that an edit changed: the entity, the column and the property. It
    stays the same if the type or case of the column changes."""
    return urn, FieldPath(column or "").simple.casefold(), what


async def reopen_changeset_of(catalog: "AsyncCatalog", save: "JournalSave") -> int:
    """Make the edits that a save wrote, and that were undone since, undecided again; return their
    number.

    Changesets are looked for among the files of this machine's state directory; one that is stored
    on the server is synced, so that others see the change. Undone edits in other changesets are
    found when those are opened (`reopen_undone`). Raises only `StorageFault`.
    """
    if not any(entry.proposed_by or entry.approved_by for entry in save.entries):
        return 0
    key, saves = server_key(catalog), {entry.save for entry in save.entries}
    count = 0
    for changeset in await asyncio.to_thread(_changesets_with, saves, key):
        count += await reopen_undone(catalog, changeset)
        if changeset.is_shared_with(key):
            # Notes that cannot be sent now are sent when the changeset is opened.
            with suppress(CatalogError):
                await sync_changeset(catalog, changeset)
    return count


def _changesets_with(saves: Collection[str], key: str) -> list[StagedChangeset]:
    """Return the changesets on this machine that have an edit written by one of these saves."""
    changesets: list[StagedChangeset] = []
    for path in (*changeset_files(), *shared_copies(key)):
        with suppress(InvalidInput, StorageFault):
            changeset = StagedChangeset.open(path)
            if not changeset.save_ids().isdisjoint(saves):
                changesets.append(changeset)
    return changesets


async def read_conflicts(
    catalog: "AsyncCatalog", edits: Sequence[StagedEdit]
) -> dict[tuple[str, str | None, StagedKind], tuple[str, str | None]]:
    """Return, by place, the edits made for another catalog that cannot be written here unchanged:
    the reason, and the present text if the edit was written against another text.

    Only descriptions are compared here; other edits are checked when they are written.
    Costs the requests of `AsyncCatalog.entities`.
    """
    targets = {
        edit.place: edit_target(Urn.parse(edit.urn), edit.what, edit.column) for edit in edits
    }
    targets_by_kind: dict[str, list[EditTarget]] = {}
    for target in targets.values():
        targets_by_kind.setdefault(target.urn.entity_type, []).append(target)
    entities: dict[Urn, Entity] = {}
    for kind in targets_by_kind.values():
        aspects = dict.fromkeys((*(target.aspect for target in kind), SCHEMA))
        entities |= await catalog.entities([target.urn for target in kind], tuple(aspects))
    reasons_by_place: dict[tuple[str, str | None, StagedKind], tuple[str, str | None]] = {}
    for edit in edits:
        target, entity = targets[edit.place], entities.get(targets[edit.place].urn)
        if entity is None or not entity.exists:
            reasons_by_place[edit.place] = "this catalog does not have it", None
        elif edit.what == "description":
            value = entity.raw(target.aspect) or {}
            if edit.column is not None:
                paths = [schema_column.path.raw for schema_column in entity.schema]
                column = ColumnPaths.of(paths).match(edit.column) or edit.column
                target = edit_target(target.urn, edit.what, column)
                value = at_present_paths(value, paths)
            now = held_text(target.read(value))
            if _ends(now) not in (_ends(edit.before), _ends(edit.text)):
                reasons_by_place[edit.place] = "this catalog has another text", now
    return reasons_by_place


def _conflicting_text(error: CatalogError) -> str | None:
    return error.theirs if isinstance(error, TextConflict) else None


def _is_propagated(item: ReviewItem) -> bool:
    """Return whether the text to write was propagated from a source and not changed by a
    reviewer."""
    return not item.is_changed and propagated_source(item.edit) is not None


async def _user(catalog: "AsyncCatalog") -> Urn | None:
    try:
        return await catalog.me()
    except REFUSALS:
        return None


async def _write_item(catalog: "AsyncCatalog", item: ReviewItem, actor: str) -> tuple[bool, str]:
    """Write an edit, and its source if its text was propagated; return whether anything changed,
    and a remark or an empty string.

    If the type or case of its column changed since it was proposed, the present path is used.
    """
    try:
        return await _write_edit(catalog, item, item.edit, actor)
    except NotFound:
        edit = await _of_present_column(catalog, item.edit)
        if edit is None:
            raise
        return await _write_edit(catalog, item, edit, actor)


async def _of_present_column(catalog: "AsyncCatalog", edit: StagedEdit) -> StagedEdit | None:
    """Return an edit with the present path of its column, or `None` if the path is unchanged or
    there is no such column."""
    if edit.column is None:
        return None
    entity = await catalog.entity(edit.urn, ("schemaMetadata",))
    path = ColumnPaths.of(column.path.raw for column in entity.schema).match(edit.column)
    return None if path in (None, edit.column) else structs.replace(edit, column=path)


async def _write_edit(
    catalog: "AsyncCatalog", item: ReviewItem, edit: StagedEdit, actor: str
) -> tuple[bool, str]:
    source = propagated_source(edit)
    if source is None or not _is_propagated(item):
        return await _write_staged(catalog, edit), ""
    version = await columns_version(catalog, edit.urn)
    changed = await _write_staged(catalog, edit)
    try:
        await note_source(catalog, edit, source, version, actor)
    except (Forbidden, Conflict, *REFUSALS) as error:
        return changed, f"the server does not store where the text came from: {error}"
    return changed, ""


async def _write_staged(catalog: "AsyncCatalog", edit: StagedEdit) -> bool:
    """Write an edit; return whether anything changed, which is always true for deprecations and
    links."""
    urn, column = edit.urn, edit.column
    edits: list[Edit] = []
    match edit.what:
        case "description":
            edits.append(
                await catalog.describe(urn, edit.text, column=column, instead_of=edit.before)
            )
        case "domain":
            domains = tuple(edit.before.split(", ")) if edit.before else ()
            domain = edit.add[0] if edit.add else None
            edits.append(await catalog.set_domain(urn, domain, instead_of=domains))
        case "owners":
            for ownership, owners in _by_ownership(edit.remove).items():
                edits.append(await catalog.remove_owners(urn, owners, ownership=ownership))
            for ownership, owners in _by_ownership(edit.add).items():
                edits.append(await catalog.add_owners(urn, owners, ownership=ownership))
        case "tags" | "terms":
            is_tags = edit.what == "tags"
            remove = catalog.remove_tags if is_tags else catalog.remove_terms
            add = catalog.add_tags if is_tags else catalog.add_terms
            for tag in edit.creates:
                # Somebody else may have created it in the meantime, or may be doing so now.
                await catalog.create(tag, "tagProperties", {"name": Urn.parse(tag).name})
            if edit.remove:
                edits.append(await remove(urn, edit.remove, column=column))
            if edit.add:
                edits.append(await add(urn, edit.add, column=column))
        case "deprecation":
            await _write_deprecation(catalog, edit)
            return True
        case "links":
            await _write_links(catalog, edit)
            return True
    return any(edit.changed for edit in edits)


async def _write_deprecation(catalog: "AsyncCatalog", edit: StagedEdit) -> None:
    before, deprecation = deprecation_in(edit.before) or {}, deprecation_in(edit.text)
    try:
        if deprecation is None:
            await catalog.undeprecate(edit.urn, instead_of=before)
            return
        gone_millis = deprecation.get("decommissionTime")
        await catalog.deprecate(
            edit.urn,
            str(deprecation.get("note") or ""),
            decommission=None
            if gone_millis is None
            else _EPOCH + timedelta(milliseconds=gone_millis),
            replacement=deprecation.get("replacement"),
            instead_of=before,
        )
    except TextConflict as conflict:
        # The conflict contains only the note, and the dates may have changed as well.
        entity = await catalog.entity(edit.urn, ("deprecation",))
        present = deprecation_text(deprecation_of(entity.raw("deprecation") or {}))
        raise TextConflict(conflict.place, edit.before, present, edit.text) from conflict


async def _write_links(catalog: "AsyncCatalog", edit: StagedEdit) -> None:
    """Add links, then remove others, so that none is lost if this is interrupted.

    Raises `TextConflict` if somebody changed links to the same addresses; other links are ignored.
    """
    present_links = [f"{link.url} {link.description}" for link in await catalog.links(edit.urn)]
    before = set(edit.before.split("\n")) if edit.before else set[str]()
    stays = before.difference(edit.remove)
    addresses = {link.partition(" ")[0] for link in (*edit.add, *edit.remove)}
    now = [link for link in present_links if link.partition(" ")[0] in addresses]
    # Some of the links may already have been written by an earlier attempt.
    if not stays <= {*now} <= {*before, *edit.add}:
        place = f"the links of {edit.urn}"
        raise TextConflict(place, edit.before, "\n".join(now), "\n".join((*stays, *edit.add)))
    for link in edit.add:
        if link not in now:
            url, _, label = link.partition(" ")
            await catalog.add_link(edit.urn, url, label)
    remaining_links = {f"{link.url} {link.description}" for link in await catalog.links(edit.urn)}
    for link in edit.remove:
        # A server may have replaced a link to the same address by an added one.
        if link in remaining_links:
            url, _, label = link.partition(" ")
            await catalog.remove_link(edit.urn, url, label)


def _by_ownership(labels: Iterable[str]) -> dict[str, list[str]]:
    """Group owners by ownership type, from labels of the form `URN TYPE`."""
    owners_by_type: dict[str, list[str]] = {}
    for label in labels:
        owner, _, ownership = label.rpartition(" ")
        owners_by_type.setdefault(ownership, []).append(owner)
    return owners_by_type


@dataclass(slots=True)
class _Outcome:
    """The number of edits written, the errors of refused ones by position, and the error that ended
    the work."""

    done: int = 0
    failed: dict[int, CatalogError] = field(default_factory=dict)
    ended_by: CatalogError | None = None


async def _write_each(
    urns: Sequence[str], write: Callable[[int], Awaitable[None]], progress: Progress | None
) -> _Outcome:
    """Write edits by position; `urns` are the entities they belong to.

    Edits of one entity are written one after another, several entities concurrently. A refusal
    concerns a single edit; an error that concerns all ends the work.
    """
    outcome = _Outcome()
    lanes: dict[str, list[int]] = {}
    for at, urn in enumerate(urns):
        lanes.setdefault(urn, []).append(at)
    turns = asyncio.Semaphore(_AT_ONCE)

    async def go_along(lane: list[int]) -> None:
        for at in lane:
            async with turns:
                if outcome.ended_by is not None:
                    return
                try:
                    await write(at)
                    outcome.done += 1
                except ReadOnly as error:
                    outcome.ended_by = error
                    return
                except (Forbidden, *_REFUSALS) as error:
                    # Permissions may differ from table to table.
                    outcome.failed[at] = error
                except CatalogError as error:
                    outcome.ended_by = error
                    return
            if progress is not None:
                progress(outcome.done + len(outcome.failed), len(urns))

    tasks = [asyncio.create_task(go_along(lane)) for lane in lanes.values()]
    try:
        await asyncio.gather(*tasks)
    except asyncio.CancelledError:
        # An edit that is stored by now is still written to the journal, unless the client is closed
        # before: see `EditMethods._to_its_end`.
        await asyncio.gather(*tasks, return_exceptions=True)
        raise
    return outcome


async def _write(catalog: "AsyncCatalog", change: Change) -> Edit:
    return await catalog.describe(
        change.urn, change.mine, column=change.column, instead_of=change.theirs or ""
    )


async def read_documentation(
    catalog: "AsyncCatalog", urns: Sequence[Urn], progress: Progress | None = None
) -> tuple[Row, ...]:
    """Return the rows of the datasets among `urns` that exist, in order.

    Costs the requests of `AsyncCatalog.entities`.
    """
    rows: list[Row] = []
    mark = mark_of(await catalog.known_as())
    async for entity in read_datasets(catalog, urns, ASPECTS, progress):
        rows.extend(replace(row, exported=f"{row.exported}:{mark}") for row in rows_of(entity))
    return tuple(rows)


async def read_changeset(
    catalog: "AsyncCatalog",
    entries: Iterable[Entry],
    *,
    clear_empty: bool = False,
    progress: Progress | None = None,
) -> Changeset:
    """Compare a file's entries with the present catalog; see `compare`.

    Costs the requests of `AsyncCatalog.entities` for the datasets in the file.
    """
    lines = tuple(entries)
    urns = dict.fromkeys(filter(None, (_dataset(line.row.urn) for line in lines)))
    entities = {
        entity.urn: entity
        async for entity in read_datasets(catalog, tuple(urns), ASPECTS, progress)
    }
    here = mark_of(await catalog.known_as())
    return compare(lines, entities, clear_empty=clear_empty, here=here)


def _dataset(urn: str) -> Urn | None:
    try:
        parsed = Urn.parse(urn)
    except InvalidUrn:
        return None
    return parsed if parsed.entity_type == "dataset" else None
