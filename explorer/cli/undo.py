"""Entities deleted and restored, and edits listed, undone and redone."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import click
from rich.padding import Padding
from rich.text import Text

from explorer import config
from explorer.cli import output
from explorer.cli.edits import (
    EditRun,
    as_record,
    finish,
    given_urns,
    go_through,
    keep_journal,
    refuse_read_only,
    tell,
)
from explorer.cli.options import OutputFormat, Target
from explorer.cli.output import note, print_json, results, said, words
from explorer.client.display import line, moment
from explorer.client.editable import TextConflict
from explorer.client.journal import (
    JOURNAL,
    Journal,
    JournalEntry,
    JournalSave,
    entries_with,
    is_undone,
    last_save,
    last_undo,
    saves_of,
    standing_part,
    undone_in,
)
from explorer.client.records import Deletion, Edit, StatusChange
from explorer.errors import CatalogError, InvalidInput, NotFound
from explorer.metadata.urn import Urn
from explorer.views.journal import edit_place, held_words, journal_table

if TYPE_CHECKING:
    from explorer.client import Catalog

__all__ = ["hard_delete", "print_journal", "redo_edits", "restore", "soft_delete", "undo_edits"]

_SHORT: Final = 8


def print_journal(count: int, words: str, shown_as: OutputFormat | None) -> None:
    """Print the edits of saves that have all `words`, the newest first. Nothing is asked of any
    server."""
    everything = _journal()
    undone = undone_in(everything)
    entries = entries_with(everything, words)[::-1]
    table = journal_table(entries[:count], undone)
    match shown_as:
        case "json":
            records = output.as_objects(table)
            # Texts, lists and objects as they are, not as a table has them.
            for record, entry in zip(records, entries, strict=False):
                record["before"], record["after"] = entry.before, entry.after
            print_json(records)
        case "csv":
            output.print_csv(table)
        case _:
            _print_entries(entries[:count], undone)
    if not everything:
        note(Text("no edits were made from this machine"))
    else:
        note(Text(f"{min(count, len(entries)):,} of {len(entries):,} shown"))


def undo_edits(target: Target, edit_id: str | None, *, force: bool, as_json: bool) -> None:
    """Undo an edit or a save, by the beginning of its ID, or the last save to the server asked.

    Raises `NotFound` where there is none, `InvalidInput` for one that is undone already or of
    another server, and without `force` `TextConflict` where somebody changed it since.
    """
    refuse_read_only(target)
    with target.open() as catalog:
        entries = list(keep_journal(catalog))
        address = _address(catalog)
        save = last_save(entries, address) if edit_id is None else _chosen(entries, edit_id)
        if save is None:
            raise NotFound(f"nothing left to undo on {address}; catalog undo --list shows all")
        if save.server != address:
            raise InvalidInput(
                f"edit {save.id} was made to {save.server}, not to {address}; "
                "name that server with --url or --profile"
            )
        made = _undone(catalog, save, force=force)
    _tell(made, as_json=as_json)


def redo_edits(target: Target, *, force: bool, as_json: bool) -> None:
    """Do again what the last undo on the server asked took back.

    Raises `NotFound` where nothing was undone, and without `force` `TextConflict` where somebody
    changed it since.
    """
    refuse_read_only(target)
    with target.open() as catalog:
        entries, address = list(keep_journal(catalog)), _address(catalog)
        undo = last_undo(entries, address)
        if undo is None:
            raise NotFound(
                f"nothing was undone on {address} that could be done again, or something else was "
                "saved since; catalog undo --list shows all, and catalog undo ID undoes an undo too"
            )
        made = _undone(catalog, undo, force=force)
    _tell(made, as_json=as_json)


def _undone(catalog: "Catalog", save: JournalSave, *, force: bool) -> tuple[Edit, ...]:
    try:
        return catalog.undo_save(save, force=force)
    except TextConflict as conflict:
        note(Text(f"edit {save.id[:_SHORT]} left: "), said(conflict.base, missing="nothing"))
        note(Text("there is now: "), said(conflict.theirs, missing="nothing"))
        note(Text("would come back: "), said(conflict.mine, missing="nothing"))
        note(Text("nothing was written; --force writes over what is there now", "dim"))
        raise


def _tell(made: Sequence[Edit], *, as_json: bool) -> None:
    for edit in made:
        tell([edit])
    if as_json:
        records = [as_record(edit) for edit in made]
        print_json({**records[0], "edits": records})


def _journal() -> Sequence[JournalEntry]:
    path = config.state_dir() / JOURNAL
    return list(Journal(path)) if path.exists() else []


def _address(catalog: "Catalog") -> str:
    if not catalog.address:
        # The embedded catalog has one when it was found.
        catalog.abilities()
    return catalog.address


def _chosen(entries: Sequence[JournalEntry], edit_id: str) -> JournalSave:
    """Return the edit whose ID begins so, or all that is left of the save whose ID does."""
    undone = undone_in(entries)
    found = [JournalSave(entry.id, (entry,)) for entry in entries if entry.id.startswith(edit_id)]
    for save in saves_of(entries):
        if save.id.startswith(edit_id) and save.id not in {one.id for one in found}:
            found.append(standing_part(save, undone) or save)
    if not found:
        raise NotFound(
            f"no edit has an ID that begins with {edit_id}; catalog undo --list shows all"
        )
    if len(found) > 1:
        ids = ", ".join(save.id for save in found[:4])
        raise InvalidInput(f"{len(found):,} edits have an ID that begins with {edit_id}: {ids}")
    (chosen,) = found
    first = chosen.entries[0].id
    if is_undone(first, undone):
        raise InvalidInput(
            f"edit {first} is taken back already, by {' and '.join(undone[first])}; "
            "taking that back does the edit again"
        )
    return chosen


def _print_entries(entries: Sequence[JournalEntry], undone: Mapping[str, tuple[str, ...]]) -> None:
    console = results()
    sizes = Counter(entry.save for entry in entries)
    several_servers = len({entry.server for entry in entries}) > 1
    for entry in entries:
        edit = entry.edit
        state = ""
        is_over = bool(entry.undoes) or is_undone(entry.id, undone)
        if is_undone(entry.id, undone):
            state = "undone"
        elif entry.undoes:
            state = f"undoes {entry.undoes[0][:_SHORT]}"
        if sizes[entry.save] > 1:
            state = f"{state} save {entry.save[:_SHORT]}".strip()
        head = [
            Text(entry.id[:_SHORT], "bold"),
            Text(moment(round(entry.at.timestamp() * 1000))),
            Text(f"{entry.what} of ") + said(edit_place(edit.urn, edit.column), "bold"),
            Text(state, "italic"),
            Text(line(entry.server) if several_servers else "", "dim"),
        ]
        console.print(words(head))
        room = max((console.width - 7) // 2, 16)
        limit = room - 3 if entry.what == "description" else room * 2
        was, now = (held_words(entry.what, held, limit) for held in (edit.before, edit.after))
        change = Text(f"{was} → {now}", "dim" if is_over else "")
        console.print(Padding(change, (0, 0, 0, 2)))


_POINTS: Final = 1_000
_REFERENCES_SHOWN: Final = 5


@dataclass(frozen=True, slots=True)
class _Deletion:
    """What a deletion takes: how many versions and points, where that can be told; of points
    there may be more."""

    deletion: Deletion
    aspects: int
    versions: int | None
    points: int | None
    more_points: bool


def soft_delete(target: Target, words: Sequence[str], *, dry_run: bool, as_json: bool) -> None:
    """Take entities away from search and browsing."""
    _set_status(target, words, removed=True, dry_run=dry_run, as_json=as_json)


def restore(target: Target, words: Sequence[str], *, dry_run: bool, as_json: bool) -> None:
    """Bring back entities that were hidden."""
    _set_status(target, words, removed=False, dry_run=dry_run, as_json=as_json)


def hard_delete(
    target: Target, words: Sequence[str], *, asks: bool, dry_run: bool, as_json: bool
) -> None:
    """Delete entities for good; with `asks` says first what goes, and asks."""
    refuse_read_only(target)
    urns = given_urns(words)
    gone: list[dict[str, Any]] = []
    with target.open() as catalog:
        looked = EditRun()
        if asks or dry_run:
            going: list[_Deletion] = []
            looked = go_through(urns, lambda urn: _look(catalog, urn, going))
            if dry_run:
                gone = [_going_json(one) for one in going]
            elif going and looked.stopped is None and _agrees(going):
                urns = tuple(str(one.deletion.urn) for one in going)
            else:
                note(Text("nothing was deleted"))
                finish(looked)
                click.get_current_context().exit(1)
        if not dry_run:
            done = go_through(urns, lambda urn: _delete(catalog, urn, gone))
            looked.failed += done.failed
            looked.stopped = done.stopped
    _conclude("deleted", gone, looked, dry_run=dry_run, as_json=as_json)


def _set_status(
    target: Target, words: Sequence[str], *, removed: bool, dry_run: bool, as_json: bool
) -> None:
    from explorer.client.journal import one_save

    refuse_read_only(target)
    made: list[StatusChange] = []
    with target.open() as catalog:
        if not dry_run:
            keep_journal(catalog)
        act: Callable[..., StatusChange] = catalog.soft_delete if removed else catalog.restore

        def change(urn: str) -> None:
            made.append(act(urn, dry_run=dry_run))
            _tell_status(made[-1], dry_run=dry_run)

        with one_save():
            done = go_through(given_urns(words), change)
    records = [
        {
            "urn": str(one.urn),
            "was_removed": one.was_removed,
            "removed": one.removed,
            "written": one.written,
        }
        for one in made
    ]
    name = "deleted" if removed else "restored"
    _conclude(name, records, done, dry_run=dry_run, as_json=as_json)


def _tell_status(change: StatusChange, *, dry_run: bool) -> None:
    name = said(change.urn.name, "bold")
    if change.was_removed == change.removed:
        state = "is hidden already" if change.removed else "is not hidden"
        note(name, Text(f" {state}; nothing to do"))
    elif change.removed:
        verb = "would be hidden" if dry_run else "is hidden"
        note(name, Text(f" {verb}: in search and browsing → in neither; catalog restore undoes it"))
    else:
        verb = "would be back" if dry_run else "is back"
        note(name, Text(f" {verb}: hidden → in search and browsing"))


def _look(catalog: "Catalog", urn: str, going: list[_Deletion]) -> None:
    found = catalog.delete(urn, dry_run=True)
    entity = catalog.entity(urn)
    versions = _versions(catalog, found.urn, tuple(entity.aspects))
    points, more = _points(catalog, found.urn)
    going.append(_Deletion(found, len(entity.aspects), versions, points, more))
    _tell_going(going[-1])


def _versions(catalog: "Catalog", urn: Urn, aspects: Sequence[str]) -> int | None:
    """Return how many versions the aspects have together; nothing where that takes a request
    each."""
    if not catalog.abilities().versions:
        return None
    total = 0
    for aspect in aspects:
        try:
            found = catalog.versions(urn, aspect, count=1)
        except NotFound:
            # The key of an entity need not be stored.
            continue
        if found.total is None:
            return None
        total += found.total
    return total


def _points(catalog: "Catalog", urn: Urn) -> tuple[int | None, bool]:
    known = catalog.registry
    if urn.entity_type not in known.entities:
        return None, False
    total, more = 0, False
    for name in known.aspects_of(urn.entity_type):
        if known.aspects[name].timeseries:
            try:
                series = catalog.timeseries(urn, name, limit=_POINTS)
            except CatalogError:
                return None, False
            total += len(series.values)
            more = more or series.truncated
    return total, more


def _tell_going(going: _Deletion) -> None:
    found = going.deletion
    note(Text("would go for good: "), said(found.urn.name, "bold"))
    note(Text(f"  {line(str(found.urn))}", "dim"))
    note(Text(f"  {', '.join(_counted(going))}"))
    for one in (found.references or ())[:_REFERENCES_SHOWN]:
        note(Text("  pointed at by "), said(one.urn.name), Text(f" ({line(one.aspect)})", "dim"))
    left = (found.reference_count or 0) - _REFERENCES_SHOWN
    if left > 0:
        note(Text(f"  and by {left:,} more", "dim"))


def _counted(going: _Deletion) -> Iterator[str]:
    yield _several(going.aspects, "aspect")
    if going.versions is not None:
        yield _several(going.versions, "version")
    if going.points is None:
        yield "all points in time"
    else:
        yield f"{'at least ' if going.more_points else ''}{_several(going.points, 'point')} in time"
    count = going.deletion.reference_count
    if count is None:
        yield "what points at it cannot be told"
    else:
        yield f"{_several(count, 'reference')} to it"


def _several(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def _agrees(going: Sequence[_Deletion]) -> bool:
    what = "it" if len(going) == 1 else f"these {len(going):,}"
    return click.confirm(f"Delete {what} for good? This cannot be undone.", err=True)


def _delete(catalog: "Catalog", urn: str, gone: list[dict[str, Any]]) -> None:
    found = catalog.delete(urn)
    gone.append(_deletion_json(found, found.versions, found.points))
    counts = f"{_several(found.versions, 'version')}, {_several(found.points, 'point')} in time"
    note(Text("deleted "), said(found.urn.name, "bold"), Text(f" for good: {counts}"))
    if found.reference_count:
        left = _several(found.reference_count, "reference")
        note(Text(f"  pointed at by others as before: {left}", "dim"))


def _going_json(going: _Deletion) -> dict[str, Any]:
    return _deletion_json(going.deletion, going.versions, going.points)


def _deletion_json(found: Deletion, versions: int | None, points: int | None) -> dict[str, Any]:
    return {
        "urn": str(found.urn),
        "done": found.done,
        "versions": versions,
        "points": points,
        "references": found.reference_count,
        "referenced_by": [
            {"urn": str(one.urn), "aspect": one.aspect, "relationship": one.relationship}
            for one in found.references or ()
        ],
    }


def _conclude(
    name: str, records: list[dict[str, Any]], done: EditRun, *, dry_run: bool, as_json: bool
) -> None:
    if as_json:
        failed = [{"urn": urn, "error": reason} for urn, reason in done.failed]
        print_json({"dry_run": dry_run, name: records, "failed": failed})
    if dry_run:
        note(Text("nothing was written: this was a dry run"))
    finish(done)
