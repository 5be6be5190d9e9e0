"""Delete and restore entities; list, undo and redo edits."""

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
    go_through,
    keep_journal,
    print_effect,
    read_urn_arguments,
    refuse_read_only,
)
from explorer.cli.options import OutputFormat, Target
from explorer.cli.output import line_text, note, print_json, results, words
from explorer.client.display import counted, line, moment
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
    """Print the edits of saves that contain all `words`, newest first. Makes no requests."""
    everything = _journal()
    undone = undone_in(everything)
    entries = entries_with(everything, words)[::-1]
    table = journal_table(entries[:count], undone)
    match shown_as:
        case "json":
            records = output.as_objects(table)
            # In JSON these are texts, lists and objects, not the strings of the table.
            for record, entry in zip(records, entries, strict=False):
                record["before"], record["after"] = entry.before, entry.after
            print_json(records)
        case "csv":
            output.print_csv(table)
        case _:
            _print_entries(entries[:count], undone)
    if not everything:
        note(Text("no edits have been made from this machine"))
    else:
        note(Text(f"{min(count, len(entries)):,} of {len(entries):,} shown"))


def undo_edits(target: Target, edit_id: str | None, *, force: bool, as_json: bool) -> None:
    """Undo the edit or save whose ID begins with `edit_id`, or the last save on the target server.

    Raises `NotFound` if there is none, `InvalidInput` if it is already undone or was made on
    another server, and, without `force`, `TextConflict` if somebody changed the value since.
    """
    refuse_read_only(target)
    with target.open() as catalog:
        entries = list(keep_journal(catalog))
        address = _address(catalog)
        save = last_save(entries, address) if edit_id is None else _find_save(entries, edit_id)
        if save is None:
            raise NotFound(
                f"nothing left to undo on {address}; catalog undo --list shows all edits"
            )
        if save.server != address:
            raise InvalidInput(
                f"edit {save.id} was made on {save.server}, not on {address}; "
                "select that server with --url or --profile"
            )
        made = _undo_save(catalog, save, force=force)
    _report(made, as_json=as_json)


def redo_edits(target: Target, *, force: bool, as_json: bool) -> None:
    """Redo what the last undo on the target server reverted.

    Raises `NotFound` if there is nothing to redo, and, without `force`, `TextConflict` if somebody
    changed the value since.
    """
    refuse_read_only(target)
    with target.open() as catalog:
        entries, address = list(keep_journal(catalog)), _address(catalog)
        undo = last_undo(entries, address)
        if undo is None:
            raise NotFound(
                f"nothing to redo on {address}: nothing was undone, or something else was saved "
                "since; to undo an earlier undo, find its ID with catalog undo --list and run "
                "catalog undo ID"
            )
        made = _undo_save(catalog, undo, force=force)
    _report(made, as_json=as_json)


def _undo_save(catalog: "Catalog", save: JournalSave, *, force: bool) -> tuple[Edit, ...]:
    try:
        return catalog.undo_save(save, force=force)
    except TextConflict as conflict:
        note(
            Text(f"value after edit {save.id[:_SHORT]}: "),
            line_text(conflict.base, missing="nothing"),
        )
        note(Text("current value: "), line_text(conflict.theirs, missing="nothing"))
        note(Text("value to restore: "), line_text(conflict.mine, missing="nothing"))
        note(Text("nothing was written; --force overwrites the current value", "dim"))
        raise


def _report(made: Sequence[Edit], *, as_json: bool) -> None:
    for edit in made:
        print_effect([edit])
    if as_json:
        records = [as_record(edit) for edit in made]
        print_json({**records[0], "edits": records})


def _journal() -> Sequence[JournalEntry]:
    path = config.state_dir() / JOURNAL
    return list(Journal(path)) if path.exists() else []


def _address(catalog: "Catalog") -> str:
    if not catalog.address:
        # The address of the embedded catalog is known only after the first request.
        catalog.abilities()
    return catalog.address


def _find_save(entries: Sequence[JournalEntry], edit_id: str) -> JournalSave:
    """Return the edit whose ID begins with `edit_id`, or what is not yet undone of such a save.

    Raises `NotFound` if there is none, and `InvalidInput` if there are several or it is undone.
    """
    undone = undone_in(entries)
    found = [JournalSave(entry.id, (entry,)) for entry in entries if entry.id.startswith(edit_id)]
    for save in saves_of(entries):
        if save.id.startswith(edit_id) and save.id not in {one.id for one in found}:
            found.append(standing_part(save, undone) or save)
    if not found:
        raise NotFound(
            f"no edit has an ID that begins with {edit_id}; catalog undo --list shows all edits"
        )
    if len(found) > 1:
        ids = ", ".join(save.id for save in found[:4])
        raise InvalidInput(
            f"{len(found):,} edits have an ID that begins with {edit_id}: {ids}; "
            "give more of the ID"
        )
    (chosen,) = found
    first = chosen.entries[0].id
    if is_undone(first, undone):
        raise InvalidInput(
            f"edit {first} is already undone, by {' and '.join(undone[first])}; "
            "undo that to redo the edit"
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
            Text(f"{entry.what} of ") + line_text(edit_place(edit.urn, edit.column), "bold"),
            Text(state, "italic"),
            Text(line(entry.server) if several_servers else "", "dim"),
        ]
        console.print(words(head))
        room = max((console.width - 7) // 2, 16)
        limit = room - 3 if entry.what == "description" else room * 2
        was, now = (held_words(entry.what, held, limit) for held in (edit.before, edit.after))
        change = Text(f"{was} → {now}", "dim" if is_over else "")
        console.print(Padding(change, (0, 0, 0, 2)))


_MAX_POINTS: Final = 1_000
_REFERENCES_SHOWN: Final = 5


@dataclass(frozen=True, slots=True)
class _PlannedDeletion:
    """What a deletion removes. A number is None if the server does not return it; there may be
    more time series points than `points` if `more_points` is set."""

    deletion: Deletion
    aspects: int
    versions: int | None
    points: int | None
    more_points: bool


def soft_delete(target: Target, words: Sequence[str], *, dry_run: bool, as_json: bool) -> None:
    """Hide entities from search and browse, so that they can be restored."""
    _set_status(target, words, removed=True, dry_run=dry_run, as_json=as_json)


def restore(target: Target, words: Sequence[str], *, dry_run: bool, as_json: bool) -> None:
    """Restore entities that were soft-deleted."""
    _set_status(target, words, removed=False, dry_run=dry_run, as_json=as_json)


def hard_delete(
    target: Target, words: Sequence[str], *, asks: bool, dry_run: bool, as_json: bool
) -> None:
    """Delete entities permanently; with `asks`, show what will be deleted and ask first."""
    refuse_read_only(target)
    urns = read_urn_arguments(words)
    gone: list[dict[str, Any]] = []
    with target.open() as catalog:
        preview = EditRun()
        if asks or dry_run:
            planned: list[_PlannedDeletion] = []
            preview = go_through(urns, lambda urn: _plan_deletion(catalog, urn, planned))
            if dry_run:
                gone = [_planned_as_json(one) for one in planned]
            elif planned and preview.stopped is None and _confirm(planned):
                urns = tuple(str(one.deletion.urn) for one in planned)
            else:
                note(Text("nothing was deleted"))
                finish(preview)
                click.get_current_context().exit(1)
        if not dry_run:
            done = go_through(urns, lambda urn: _delete(catalog, urn, gone))
            preview.failed += done.failed
            preview.stopped = done.stopped
    _conclude("deleted", gone, preview, dry_run=dry_run, as_json=as_json)


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
            _print_status_change(made[-1], dry_run=dry_run)

        with one_save():
            done = go_through(read_urn_arguments(words), change)
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


def _print_status_change(change: StatusChange, *, dry_run: bool) -> None:
    name = line_text(change.urn.name, "bold")
    if change.was_removed == change.removed:
        state = "is already soft-deleted" if change.removed else "is not soft-deleted"
        note(name, Text(f" {state}; nothing to do"))
    elif change.removed:
        verb = "would be soft-deleted" if dry_run else "soft-deleted"
        note(name, Text(f" {verb}: hidden from search and browse; catalog restore restores it"))
    else:
        verb = "would be restored" if dry_run else "restored"
        note(name, Text(f" {verb}: visible in search and browse again"))


def _plan_deletion(catalog: "Catalog", urn: str, planned: list[_PlannedDeletion]) -> None:
    found = catalog.delete(urn, dry_run=True)
    entity = catalog.entity(urn)
    versions = _versions(catalog, found.urn, tuple(entity.aspects))
    points, more = _points(catalog, found.urn)
    planned.append(_PlannedDeletion(found, len(entity.aspects), versions, points, more))
    _print_planned(planned[-1])


def _versions(catalog: "Catalog", urn: Urn, aspects: Sequence[str]) -> int | None:
    """Return the total number of versions of the aspects, or None if the server does not tell."""
    if not catalog.abilities().versions:
        return None
    total = 0
    for aspect in aspects:
        try:
            found = catalog.versions(urn, aspect, count=1)
        except NotFound:
            # The key aspect of an entity is not always stored.
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
                series = catalog.timeseries(urn, name, limit=_MAX_POINTS)
            except CatalogError:
                return None, False
            total += len(series.values)
            more = more or series.truncated
    return total, more


def _print_planned(planned: _PlannedDeletion) -> None:
    found = planned.deletion
    note(Text("to be deleted permanently: "), line_text(found.urn.name, "bold"))
    note(Text(f"  {line(str(found.urn))}", "dim"))
    note(Text(f"  {', '.join(_counts(planned))}"))
    for one in (found.references or ())[:_REFERENCES_SHOWN]:
        note(
            Text("  referenced by "), line_text(one.urn.name), Text(f" ({line(one.aspect)})", "dim")
        )
    left = (found.reference_count or 0) - _REFERENCES_SHOWN
    if left > 0:
        note(Text(f"  and by {left:,} more", "dim"))


def _counts(planned: _PlannedDeletion) -> Iterator[str]:
    yield counted(planned.aspects, "aspect")
    if planned.versions is not None:
        yield counted(planned.versions, "version")
    if planned.points is None:
        yield "all time series points"
    else:
        at_least = "at least " if planned.more_points else ""
        yield f"{at_least}{counted(planned.points, 'time series point')}"
    count = planned.deletion.reference_count
    if count is None:
        yield "number of references unknown"
    else:
        yield f"{counted(count, 'reference')} to it"


def _confirm(planned: Sequence[_PlannedDeletion]) -> bool:
    what = "this entity" if len(planned) == 1 else f"these {len(planned):,} entities"
    return click.confirm(f"Delete {what} permanently? This cannot be undone.", err=True)


def _delete(catalog: "Catalog", urn: str, gone: list[dict[str, Any]]) -> None:
    found = catalog.delete(urn)
    gone.append(_deletion_as_json(found, found.versions, found.points))
    counts = ", ".join(
        (counted(found.versions, "version"), counted(found.points, "time series point"))
    )
    note(Text("deleted "), line_text(found.urn.name, "bold"), Text(f" permanently: {counts}"))
    if found.reference_count:
        left = counted(found.reference_count, "reference")
        note(Text(f"  {left} from other entities kept", "dim"))


def _planned_as_json(planned: _PlannedDeletion) -> dict[str, Any]:
    return _deletion_as_json(planned.deletion, planned.versions, planned.points)


def _deletion_as_json(found: Deletion, versions: int | None, points: int | None) -> dict[str, Any]:
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
        note(Text("dry run: nothing was written"))
    finish(done)
