"""The import of documentation files, to be shown: the changes in a file, and the outcome."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from explorer.client.display import counted, line
from explorer.views import stewardship as views
from explorer.views.diff import Diff
from explorer.views.parts import Difference, Report, ReportPart
from explorer.views.table import Table, to_objects
from explorer.views.text import Piece, text_line

if TYPE_CHECKING:
    from explorer.stewardship import Applied, Change, Changeset

_UNTRIED: Final = "not tried: an error stopped the import before"
MAX_SHOWN: Final = 200
"""How many changes are listed at most."""

_MAX_LINES: Final = 30
# Reported, but no action is needed.
_HARMLESS: Final = frozenset({"emptied"})


@dataclass(frozen=True, slots=True)
class FileOutcome:
    """The outcome of an import: the changes in the file, those to apply, and those applied."""

    file: str
    changeset: "Changeset"
    applied: "Applied"
    to_apply: "tuple[Change, ...]"
    dry_run: bool

    @property
    def unapplied(self) -> "tuple[Change, ...]":
        """The changes that were not applied, with the reasons, in the order of the file."""
        done_ids = {id(change) for change, _ in self.applied.done}
        if self.dry_run:
            done_ids = {id(change) for change in self.to_apply}
        pending = {id(change) for change in (*self.to_apply, *self.changeset.left_out)} - done_ids
        why = {id(failure.change): failure.why for failure in self.applied.failed}
        why |= {id(change): _UNTRIED for change in self.applied.untried}
        return tuple(
            replace(change, why=why.get(id(change), change.why))
            for change in self.changeset.changes
            if id(change) in pending
        )

    @property
    def fails(self) -> bool:
        """Whether a change that needs action was not applied."""
        return any(change.kind not in _HARMLESS for change in self.unapplied)


def changes_report(changeset: "Changeset", file: str = "") -> Report:
    """Return a report on the changes in a file as diffs, followed by the lines that cannot be
    applied, with the reasons."""
    return Report(
        _changes_table(changeset),
        tuple(_change_parts(changeset)),
        {"file": file, "counts": changeset.counts()},
        "changes",
        notes=(counts_note(changeset),),
        remarks=tuple(_change_remarks(changeset)),
    )


def outcome_report(
    outcome: FileOutcome, report: Path | None, document: Mapping[str, Any] | None = None
) -> Report:
    """Return a report with a line for each change that was written, or for a dry run the changes;
    then those that were not written, and totals. JSON also has the entries of `document`."""
    changeset = outcome.changeset
    remarks: tuple[str, ...] = ()
    if outcome.dry_run:
        parts, remarks = tuple(_change_parts(changeset)), tuple(_change_remarks(changeset))
    else:
        chosen_ids = {id(change) for change in outcome.to_apply}
        left = [change for change in changeset.left_out if id(change) not in chosen_ids]
        written_lines = (
            text_line(change.kind if edit.changed else "already there", "  ", *_place(change))
            for change, edit in outcome.applied.done
        )
        parts, remarks = (*written_lines, *_left_parts(left)), tuple(_left_remarks(left))
    value = {**_outcome_value(outcome), **(document or {})}
    notes = tuple(_outcome_notes(outcome, report))
    return Report(parts=parts, document=value, notes=notes, remarks=remarks)


def counts_note(changeset: "Changeset") -> str:
    """Return the number of lines of each kind, in words."""
    return ", ".join(views.change_counts(changeset)) or "the file has no lines"


def cut_difference(lines: Diff) -> Iterator[ReportPart]:
    """Yield the first lines of a diff, and the number of the others."""
    yield Difference(lines[:_MAX_LINES])
    if len(lines) > _MAX_LINES:
        yield text_line((f"    … {len(lines) - _MAX_LINES:,} more lines", "dim"))


def _change_parts(changeset: "Changeset") -> Iterator[ReportPart]:
    for change in islice(changeset.to_apply(), MAX_SHOWN):
        yield text_line(*_place(change), (f"  {change.kind}", "dim"))
        yield from cut_difference(views.change_diff(change))
    yield from _left_parts(changeset.left_out)


def _change_remarks(changeset: "Changeset") -> Iterator[str]:
    more = len(changeset.to_apply()) - MAX_SHOWN
    if more > 0:
        yield f"and {more:,} more; --json lists all"
    yield from _left_remarks(changeset.left_out)


def _left_parts(changes: "Sequence[Change]") -> Iterator[ReportPart]:
    for change in islice(changes, MAX_SHOWN):
        kind = (change.kind, "bold")
        yield text_line(change.entry.place, "  ", kind, "  ", *_place(change))
        if change.kind == "conflict":
            yield text_line((f"  theirs  {line(change.theirs, 200)}", "red"))
            yield text_line((f"  mine    {line(change.mine, 200)}", "green"))
        if change.why:
            yield text_line("  ", (change.why, "dim"))


def _left_remarks(changes: "Sequence[Change]") -> Iterator[str]:
    if len(changes) > MAX_SHOWN:
        yield f"and {len(changes) - MAX_SHOWN:,} more not applied; --report lists all"


def _place(change: "Change") -> tuple[Piece, Piece]:
    table, column = views.change_place(change)
    return (table, "bold"), (f" · {column}" if column else "", "bold")


def _changes_table(changeset: "Changeset") -> Table:
    return views.changes_table(
        tuple(change for change in changeset.changes if change.kind != "unchanged")
    )


def _outcome_value(outcome: FileOutcome) -> dict[str, Any]:
    applied = outcome.applied
    return {
        "file": outcome.file,
        "counts": outcome.changeset.counts(),
        "changes": to_objects(_changes_table(outcome.changeset)),
        "dry_run": outcome.dry_run,
        "applied": [
            {
                "urn": change.urn,
                "column": change.column,
                "before": edit.before,
                "after": edit.after,
                "at": edit.at.isoformat(),
            }
            for change, edit in applied.done
        ],
        "failed": [
            {
                "place": failure.change.entry.place,
                "urn": failure.change.urn,
                "column": failure.change.column,
                "error": failure.why,
            }
            for failure in applied.failed
        ],
        "untried": len(applied.untried),
        "stopped": str(applied.ended_by) if applied.ended_by else None,
    }


def _outcome_notes(outcome: FileOutcome, report: Path | None) -> Iterator[str]:
    for failure in outcome.applied.failed:
        yield f"not written: {failure.change.entry.place}: {failure.why}"
    yield counts_note(outcome.changeset)
    changes = counted(len(outcome.to_apply), "change")
    if not outcome.to_apply:
        yield "there is nothing to write"
    elif outcome.dry_run:
        yield f"dry run of {changes}: nothing was written"
    else:
        yield f"{len(outcome.applied.done):,} of {changes} written"
    if report is not None:
        yield f"{len(outcome.unapplied):,} not applied, listed in {report}"
    elif outcome.fails:
        yield "to save the lines that were not applied, give --report FILE"
