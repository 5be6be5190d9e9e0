"""What a file would change, beside the catalog's text, and writing changes into the catalog."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Final, Literal, get_args

from explorer.client.editable import TextConflict, deprecation_of
from explorer.client.entity import Entity
from explorer.client.journal import one_save
from explorer.client.records import Edit
from explorer.client.responses import REFUSALS
from explorer.errors import (
    CatalogError,
    Conflict,
    Forbidden,
    InvalidInput,
    InvalidUrn,
    ReadOnly,
    StorageFault,
)
from explorer.metadata.urn import Urn
from explorer.stewardship.documentation import (
    ASPECTS,
    Entry,
    Row,
    digest_of,
    read_datasets,
    rows_of,
)
from explorer.stewardship.proposals import OVERTAKEN, Syncing
from explorer.stewardship.provenance import columns_version, note_source, propagated_source
from explorer.stewardship.staging import (
    ReviewItem,
    StagedChangeset,
    StagedEdit,
    TextSource,
    deprecation_in,
    deprecation_text,
)

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog
    from explorer.stewardship.documentation import Progress

__all__ = [
    "KINDS",
    "Applied",
    "Change",
    "ChangeFailure",
    "Changeset",
    "Kind",
    "StagedOutcome",
    "apply_changes",
    "apply_staged",
    "compare",
    "read_changeset",
    "read_documentation",
    "stage_changes",
]

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
"""What can come of a line, in the order in which people want to hear of it.

`new`             a text where none was
`changed`         another text
`cleared`         no text any more, as the file asks for in so many words
`unchanged`       what the catalog holds already, or what nobody touched in the file
`emptied`         an empty text where the catalog holds one; taken for no change
`conflict`        somebody else wrote there since the file was made
`unknown table`   the catalog has no such dataset
`unknown column`  the dataset has no such column
`orphan`          it had one: a text of it is still kept
`duplicate`       another line speaks of the same
`unreadable`      the line makes no sense
"""

_TO_APPLY: Final = frozenset({"new", "changed", "cleared"})
_NOTHING_TO_DO: Final = frozenset({"unchanged"})


@dataclass(frozen=True, slots=True)
class Change:
    """What one line of a file proposes for a table, or for the column at the exact path `column`.

    `base` is the text that the line started from, None where it is not known; `theirs` what the
    catalog holds now, None for a place that does not exist; `mine` what the file says. `why` says
    more where the kind does not say all.
    """

    entry: Entry
    kind: Kind
    base: str | None = None
    theirs: str | None = None
    mine: str = ""
    why: str | None = None

    @property
    def urn(self) -> str:
        """The dataset's URN, as the file has it."""
        return self.entry.row.urn

    @property
    def column(self) -> str | None:
        """The column's path; None for the table itself."""
        return self.entry.row.column or None

    @property
    def table(self) -> str:
        """What people call the dataset, as far as known."""
        return self.entry.row.table


@dataclass(frozen=True)
class Changeset:
    """A change for every line of a file, in its order; none is left out."""

    changes: tuple[Change, ...]

    def __len__(self) -> int:
        return len(self.changes)

    def of(self, *kinds: Kind) -> tuple[Change, ...]:
        """Return the changes of these kinds."""
        return tuple(change for change in self.changes if change.kind in kinds)

    def to_apply(self, *, force_conflicts: bool = False) -> tuple[Change, ...]:
        """Return what would be written; the conflicts as well where that is wanted."""
        kinds = _TO_APPLY | {"conflict"} if force_conflicts else _TO_APPLY
        return tuple(change for change in self.changes if change.kind in kinds)

    @property
    def left(self) -> tuple[Change, ...]:
        """What is not applied unless by force, and is no mere repetition of what stands there."""
        passed = _TO_APPLY | _NOTHING_TO_DO
        return tuple(change for change in self.changes if change.kind not in passed)

    @property
    def by_others(self) -> tuple[Change, ...]:
        """The lines that nobody touched in the file, and of which the catalog holds another text by
        now."""
        return tuple(
            change
            for change in self.of("unchanged")
            if change.base is not None and _ends(change.base) != _ends(change.theirs or "")
        )

    def counts(self) -> dict[Kind, int]:
        """Return how many changes there are of each kind that there are any of."""
        found = Counter(change.kind for change in self.changes)
        return {kind: found[kind] for kind in KINDS if found[kind]}


def compare(
    entries: Iterable[Entry], held: Mapping[Urn, Entity], *, clear_empty: bool = False
) -> Changeset:
    """Return the changes that a file's entries amount to against the datasets as they are now.
    Pure.

    A text counts as touched when it is not the one whose digest stands in its line. One that was
    not touched changes nothing, whatever has been written in the catalog since. One that was, is a
    conflict where the catalog's text is not the one it started from; a line without a digest
    started from no text. Texts that differ in nothing but the ends of their lines are the same, for
    spreadsheets write other ones. With `clear_empty` an empty text is taken at its word.
    """
    places = _Places(held)
    changes = [_change(entry, places, clear_empty=clear_empty) for entry in entries]
    return Changeset(tuple(_each_once(changes)))


class _Places:
    """What is written now in every place of some datasets."""

    def __init__(self, held: Mapping[Urn, Entity]) -> None:
        self._held = {str(urn): entity for urn, entity in held.items() if entity.exists}
        self._texts: dict[str, dict[str, str]] = {}

    def texts(self, urn: str) -> dict[str, str] | None:
        """Return the edited texts of a dataset by column; None where there is no such dataset."""
        if urn not in self._held:
            return None
        if urn not in self._texts:
            self._texts[urn] = {row.column: row.edited for row in rows_of(self._held[urn])}
        return self._texts[urn]

    def is_orphan(self, urn: str, column: str) -> bool:
        """Return whether a text is kept of a column that the dataset has no more."""
        return any(lost.field_path == column for lost in self._held[urn].schema.orphans)


def _change(entry: Entry, places: _Places, *, clear_empty: bool) -> Change:
    row = entry.row
    if entry.problem:
        return Change(entry, "unreadable", mine=row.edited, why=entry.problem)
    texts = places.texts(row.urn)
    if texts is None:
        return Change(entry, "unknown table", mine=row.edited, why="no such dataset")
    if row.column not in texts:
        if places.is_orphan(row.urn, row.column):
            return Change(entry, "orphan", mine=row.edited, why="the column is gone")
        why = "no such column; paths are exact"
        return Change(entry, "unknown column", mine=row.edited, why=why)
    theirs, mine = texts[row.column], row.edited
    base = _base(entry, theirs)
    draft = Change(entry, "unchanged", base, theirs, mine)
    untouched = bool(row.exported) and digest_of(mine) == row.exported and not entry.clears
    if untouched or _ends(mine) == _ends(theirs):
        return draft
    if not mine and not entry.clears and not clear_empty:
        return replace(draft, kind="emptied", why="an empty text changes nothing")
    if base is None:
        return replace(draft, kind="conflict", base=entry.base, why=_why(row.exported))
    if not mine:
        return replace(draft, kind="cleared")
    return replace(draft, kind="changed" if theirs else "new")


def _base(entry: Entry, theirs: str) -> str | None:
    """Return what the line started from, where that is what the catalog holds, or what it says
    now."""
    row = entry.row
    if not row.exported:
        return theirs if entry.clears or not theirs else None
    if digest_of(theirs) == row.exported:
        return theirs
    return row.edited if digest_of(row.edited) == row.exported else None


def _why(exported: str) -> str:
    if not exported:
        return "the catalog holds a text, which the file does not know of"
    return "somebody wrote there since this was read"


def _ends(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _each_once(changes: Sequence[Change]) -> Iterable[Change]:
    """Yield the changes; of those for one place one counts, or none where they disagree."""
    wishes: dict[tuple[str, str | None], list[Change]] = {}
    for change in changes:
        if change.kind in _TO_APPLY or change.kind == "conflict":
            wishes.setdefault((change.urn, change.column), []).append(change)
    for change in changes:
        rivals = wishes.get((change.urn, change.column), [])
        if len(rivals) < 2 or not any(change is rival for rival in rivals):
            yield change
        elif len({rival.mine for rival in rivals}) > 1:
            others = ", ".join(rival.entry.place for rival in rivals if rival is not change)
            yield replace(change, kind="duplicate", why=f"{others} says another text")
        elif change is rivals[0]:
            yield change
        else:
            yield replace(change, kind="duplicate", why=f"{rivals[0].entry.place} says the same")


_AT_ONCE = 6
_EPOCH: Final = datetime.fromtimestamp(0, UTC)
_REFUSALS = (*REFUSALS, TextConflict)


@dataclass(frozen=True, slots=True)
class ChangeFailure:
    """A change that was not written, the sentence that says why, and the text that somebody else
    wrote there meanwhile, None where that is not the reason."""

    change: Change
    why: str
    theirs: str | None = None


@dataclass(frozen=True, slots=True)
class Applied:
    """What became of changes: `done` were written, in their order, with the edits that did it;
    `failed` were refused; `untried` were not come to, or their answer did not come, because of what
    `ended_by` tells."""

    done: tuple[tuple[Change, Edit], ...] = ()
    failed: tuple[ChangeFailure, ...] = ()
    untried: tuple[Change, ...] = ()
    ended_by: CatalogError | None = None


async def apply_changes(
    catalog: "AsyncCatalog", changes: Iterable[Change], progress: "Progress | None" = None
) -> Applied:
    """Write the changes, as `Changeset.to_apply` gives them.

    Each goes by itself, the columns of one table one after the other, a few tables at once. One
    that is refused stops nothing: a text that was changed since it was compared is such a one. What
    concerns them all, such as a server that is gone or a token that is refused, ends the work, and
    the rest is untried. Two requests for each change, and nothing is sent twice: comparing the same
    file anew finds just what is left. All of it is one save, which undo takes back at once. Raises
    nothing of its own.
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
            ChangeFailure(change, str(failed[at]), _theirs(failed[at]))
            for at, change in enumerate(work)
            if at in failed
        ),
        tuple(change for at, change in enumerate(work) if at not in done and at not in failed),
        outcome.ended_by,
    )


def stage_changes(changes: Iterable[Change]) -> tuple[StagedEdit, ...]:
    """Return what a file would change as edits to be staged; of a conflict the text that the line
    started from, so that it is one still. What fits nowhere or changes nothing is left out."""
    kinds = _TO_APPLY | {"conflict"}
    return tuple(
        StagedEdit(
            change.urn,
            change.table or change.urn,
            change.column,
            before=change.base or "",
            text=change.mine,
            shown=change.entry.row.ingested,
            sources=(TextSource("file"),),
        )
        for change in changes
        if change.kind in kinds
    )


@dataclass(frozen=True, slots=True)
class StagedOutcome:
    """What became of the accepted edits of a staged changeset: how many were `applied`, how many
    the server refused, how many were not come to, and what ended the work early."""

    applied: int = 0
    failed: int = 0
    untried: int = 0
    ended_by: CatalogError | None = None


async def apply_staged(
    catalog: "AsyncCatalog", changeset: StagedChangeset, progress: "Progress | None" = None
) -> StagedOutcome:
    """Write the accepted edits of a staged changeset, as `apply_changes` does, and note in its
    file what became of each.

    What somebody changed since it was proposed is not written, and what is there now is noted
    beside it: a description, a domain, a deprecation, the links to one address. Other labels are
    added and removed whatever else is there. What stands there already counts as applied, so that
    a changeset whose program was killed goes on where it was. All that is ever applied of it is one
    save. One that the server keeps is synced before, while and after it is applied, so that what a
    colleague decides or writes meanwhile counts (`explorer.stewardship.proposals`).

    Of a text that was propagated and accepted as it is, the catalog keeps where it came from
    (`explorer.stewardship.provenance`); where the server refuses that, the outcome says so. Raises
    `StorageFault` where the file cannot be written, and nothing else of its own.
    """
    syncing = Syncing(catalog, changeset)
    try:
        await syncing.begin()
    except StorageFault:
        raise
    except CatalogError as error:
        return StagedOutcome(untried=len(changeset.of("accepted")), ended_by=error)
    items = changeset.of("accepted")
    by = str(await _user(catalog) or "") if any(map(_is_propagated, items)) else ""

    async def write(at: int) -> None:
        item = changeset.item(items[at].number)
        if item.state == "applied":
            return
        if item.state != "accepted":
            raise InvalidInput(OVERTAKEN)
        approved = item.decided_by
        try:
            with one_save(changeset.id, proposed_by=changeset.proposed_by, approved_by=approved):
                remark = await _write_item(catalog, item, by)
        except (Forbidden, *_REFUSALS) as error:
            note = partial(changeset.note_outcome, why=str(error), theirs=_theirs(error))
            await asyncio.to_thread(note, item.number, "failed")
            await syncing.note()
            raise
        await asyncio.to_thread(changeset.note_outcome, item.number, "applied", why=remark)
        await syncing.note()

    try:
        outcome = await _write_each([item.edit.urn for item in items], write, progress)
    finally:
        await syncing.end()
    if isinstance(outcome.ended_by, StorageFault):
        raise outcome.ended_by
    done, failed = outcome.done, len(outcome.failed)
    return StagedOutcome(done, failed, len(items) - done - failed, outcome.ended_by)


def _theirs(error: CatalogError) -> str | None:
    return error.theirs if isinstance(error, TextConflict) else None


def _is_propagated(item: ReviewItem) -> bool:
    """Return whether what is written is what a source says, and not what a reviewer made of it."""
    return not item.is_changed and propagated_source(item.edit) is not None


async def _user(catalog: "AsyncCatalog") -> Urn | None:
    try:
        return await catalog.me()
    except REFUSALS:
        return None


async def _write_item(catalog: "AsyncCatalog", item: ReviewItem, by: str) -> str:
    """Write an edit, and where its text was propagated from; return what is to be remarked of
    it."""
    edit, source = item.edit, propagated_source(item.edit)
    if source is None or not _is_propagated(item):
        await _write_staged(catalog, edit)
        return ""
    version = await columns_version(catalog, edit.urn)
    await _write_staged(catalog, edit)
    try:
        await note_source(catalog, edit, source, version, by)
    except (Forbidden, Conflict, *REFUSALS) as error:
        return f"the server does not keep where it came from: {error}"
    return ""


async def _write_staged(catalog: "AsyncCatalog", edit: StagedEdit) -> None:
    urn, column = edit.urn, edit.column
    match edit.what:
        case "description":
            await catalog.describe(urn, edit.text, column=column, instead_of=edit.before)
        case "domain":
            seen = tuple(edit.before.split(", ")) if edit.before else ()
            domain = edit.add[0] if edit.add else None
            await catalog.set_domain(urn, domain, instead_of=seen)
        case "owners":
            for ownership, owners in _by_ownership(edit.remove).items():
                await catalog.remove_owners(urn, owners, ownership=ownership)
            for ownership, owners in _by_ownership(edit.add).items():
                await catalog.add_owners(urn, owners, ownership=ownership)
        case "tags" | "terms":
            is_tags = edit.what == "tags"
            remove = catalog.remove_tags if is_tags else catalog.remove_terms
            add = catalog.add_tags if is_tags else catalog.add_terms
            for tag in edit.creates:
                # Somebody may have made it meanwhile, or makes it now.
                await catalog.create(tag, "tagProperties", {"name": Urn.parse(tag).name})
            if edit.remove:
                await remove(urn, edit.remove, column=column)
            if edit.add:
                await add(urn, edit.add, column=column)
        case "deprecation":
            await _write_deprecation(catalog, edit)
        case "links":
            await _write_links(catalog, edit)


async def _write_deprecation(catalog: "AsyncCatalog", edit: StagedEdit) -> None:
    seen, wanted = deprecation_in(edit.before) or {}, deprecation_in(edit.text)
    try:
        if wanted is None:
            await catalog.undeprecate(edit.urn, instead_of=seen)
            return
        gone_millis = wanted.get("decommissionTime")
        await catalog.deprecate(
            edit.urn,
            str(wanted.get("note") or ""),
            decommission=None
            if gone_millis is None
            else _EPOCH + timedelta(milliseconds=gone_millis),
            replacement=wanted.get("replacement"),
            instead_of=seen,
        )
    except TextConflict as conflict:
        # It says no more than the note, and dates may have been changed.
        entity = await catalog.entity(edit.urn, ("deprecation",))
        theirs = deprecation_text(deprecation_of(entity.raw("deprecation") or {}))
        raise TextConflict(conflict.place, edit.before, theirs, edit.text) from conflict


async def _write_links(catalog: "AsyncCatalog", edit: StagedEdit) -> None:
    """Add links, then remove others, so that none is lost on the way. Raises `TextConflict` where
    somebody changed links to the same addresses; others do not matter."""
    held = [f"{link.url} {link.description}" for link in await catalog.links(edit.urn)]
    seen = set(edit.before.split("\n")) if edit.before else set[str]()
    stays = seen.difference(edit.remove)
    addresses = {link.partition(" ")[0] for link in (*edit.add, *edit.remove)}
    now = [link for link in held if link.partition(" ")[0] in addresses]
    # A part of it may be written already.
    if not stays <= {*now} <= {*seen, *edit.add}:
        place = f"the links of {edit.urn}"
        raise TextConflict(place, edit.before, "\n".join(now), "\n".join((*stays, *edit.add)))
    for link in edit.add:
        if link not in now:
            url, _, label = link.partition(" ")
            await catalog.add_link(edit.urn, url, label)
    left = {f"{link.url} {link.description}" for link in await catalog.links(edit.urn)}
    for link in edit.remove:
        # A server may have put an added one in the place of another to the same address.
        if link in left:
            url, _, label = link.partition(" ")
            await catalog.remove_link(edit.urn, url, label)


def _by_ownership(labels: Iterable[str]) -> dict[str, list[str]]:
    """Return owners by the kind of their ownership, out of labels `URN KIND`."""
    found: dict[str, list[str]] = {}
    for label in labels:
        owner, _, ownership = label.rpartition(" ")
        found.setdefault(ownership, []).append(owner)
    return found


@dataclass(slots=True)
class _Outcome:
    """How many edits were written, why others were refused, by their place in the order, and what
    ended the work."""

    done: int = 0
    failed: dict[int, CatalogError] = field(default_factory=dict)
    ended_by: CatalogError | None = None


async def _write_each(
    urns: Sequence[str], write: Callable[[int], Awaitable[None]], progress: "Progress | None"
) -> _Outcome:
    """Write edits by their places in the order, given whose each is: those of one entity one after
    the other, a few entities at once. A refusal concerns one edit; what concerns them all ends the
    work."""
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
                    # Rights may be given table by table.
                    outcome.failed[at] = error
                except CatalogError as error:
                    outcome.ended_by = error
                    return
            if progress is not None:
                progress(outcome.done + len(outcome.failed), len(urns))

    await asyncio.gather(*(go_along(lane) for lane in lanes.values()))
    return outcome


async def _write(catalog: "AsyncCatalog", change: Change) -> Edit:
    return await catalog.describe(
        change.urn, change.mine, column=change.column, instead_of=change.theirs or ""
    )


async def read_documentation(
    catalog: "AsyncCatalog", urns: Sequence[Urn], progress: "Progress | None" = None
) -> tuple[Row, ...]:
    """Return the rows of the datasets among `urns` that exist, in their order; costs what
    `AsyncCatalog.entities` costs."""
    found: list[Row] = []
    async for entity in read_datasets(catalog, urns, ASPECTS, progress):
        found.extend(rows_of(entity))
    return tuple(found)


async def read_changeset(
    catalog: "AsyncCatalog",
    entries: Iterable[Entry],
    *,
    clear_empty: bool = False,
    progress: "Progress | None" = None,
) -> Changeset:
    """Return what a file's entries would change, compared as `compare` says with the catalog as it
    is now; costs what `AsyncCatalog.entities` of the datasets named costs."""
    lines = tuple(entries)
    urns = dict.fromkeys(filter(None, (_dataset(line.row.urn) for line in lines)))
    held = {
        entity.urn: entity
        async for entity in read_datasets(catalog, tuple(urns), ASPECTS, progress)
    }
    return compare(lines, held, clear_empty=clear_empty)


def _dataset(urn: str) -> Urn | None:
    try:
        parsed = Urn.parse(urn)
    except InvalidUrn:
        return None
    return parsed if parsed.entity_type == "dataset" else None
