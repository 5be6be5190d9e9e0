"""The comparison of a dbt project with the catalog, to be shown: the changes to its files, and
those that are left out, with the reasons."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from explorer.client.display import counted, has_words
from explorer.metadata.fieldpath import FieldPath
from explorer.metadata.urn import Urn
from explorer.views.diff import Diff, DiffLine, text_diff
from explorer.views.documentation import (
    MAX_SHOWN,
    FileOutcome,
    counts_note,
    cut_difference,
    outcome_report,
)
from explorer.views.parts import Report, ReportPart
from explorer.views.stewardship import WHOLE_TABLE, hidden_sentence
from explorer.views.table import Table, TableColumn, to_objects
from explorer.views.text import Piece, text_line

if TYPE_CHECKING:
    from explorer.stewardship.dbt import (
        FileUpdate,
        ProjectChanges,
        ProjectLabel,
        ProjectPlan,
        Property,
        Unmatched,
        Update,
        UpdateKind,
    )

ItemKind = Literal["not read", "ambiguous", "no dataset"]
"""The kinds of items that are not compared: a file that cannot be read, a resource that matches
several datasets, a resource without a dataset."""

_WRITTEN: Final = ("new", "changed")
_BOTH: Final = "in the project (-), in the catalog (+):"


@dataclass(frozen=True, slots=True)
class PlanItem:
    """A row of a plan: an update, an unreadable file, or a resource without a known dataset.

    `what` is the property that is updated. `candidates` are the datasets that match the resource.
    """

    kind: "UpdateKind | ItemKind"
    file: str
    resource: str = ""
    column: str | None = None
    what: "Property | None" = None
    why: str = ""
    update: "Update | None" = None
    candidates: tuple[str, ...] = ()

    @property
    def is_written(self) -> bool:
        """Whether this item is written when the files are written."""
        return self.kind in _WRITTEN

    @property
    def urn(self) -> str:
        """The URN of the dataset, or else of the first candidate; empty if there is none."""
        return self.update.urn if self.update is not None else next(iter(self.candidates), "")

    @property
    def key(self) -> tuple[str, ...]:
        """Identifies the item within a plan, independent of its kind."""
        return self.file, self.resource, self.column or "", self.what or ""


def plan_items(plan: "ProjectPlan") -> tuple[PlanItem, ...]:
    """Return the updates of a plan that are not `unchanged`, file by file, then `rest_items`."""
    updates: dict[str, list[PlanItem]] = {}
    for update in plan.updates:
        if update.kind != "unchanged":
            item = PlanItem(
                *(update.kind, update.file, update.resource, update.column, update.property),
                why=update.why or "",
                update=update,
            )
            updates.setdefault(update.file, []).append(item)
    by_file = tuple(item for items in updates.values() for item in items)
    return (*by_file, *rest_items(plan.unmatched, plan.problems))


def rest_items(
    unmatched: "Sequence[Unmatched]", problems: Sequence[tuple[str, str]]
) -> tuple[PlanItem, ...]:
    """Return unreadable files, resources with several candidates, and resources without a
    dataset."""
    unread = [PlanItem("not read", file, why=why) for file, why in problems]
    ordered = sorted(unmatched, key=lambda entry: not entry.candidates)
    without = [
        PlanItem(
            "ambiguous" if entry.candidates else "no dataset",
            entry.resource.file or entry.resource.code or "",
            f"{entry.resource.kind} {entry.resource.name}",
            why=entry.why,
            candidates=tuple(map(str, entry.candidates)),
        )
        for entry in ordered
    ]
    return (*unread, *without)


def items_with(items: Sequence[PlanItem], words: str) -> list[PlanItem]:
    """Return the items that contain all words in their kind, file, place, reason or texts, ignoring
    case."""
    return [item for item in items if has_words(words, _texts(item))]


def _texts(item: PlanItem) -> Iterator[str]:
    yield from (item.kind, item.file, item.resource, item.column or "", item.what or "", item.why)
    yield from (
        (item.update.before, item.update.after) if item.update is not None else item.candidates
    )


def _column(item: PlanItem) -> str:
    if item.update is None:
        return ""
    return item.column if item.column is not None else WHOLE_TABLE


def _change(item: PlanItem) -> str:
    """Return the new text in one line, or the reason why it is not written."""
    text = item.why if item.update is None or not item.is_written else item.update.after
    prefix = "" if item.what in (None, "description") else f"{item.what}: "
    return f"{prefix}{' '.join(text.split())}"


def plan_table(items: Sequence[PlanItem]) -> Table:
    """Return a table of items: kind, place, the change or the reason why there is none, and file.

    For programs `before` is the present text in the project, `after` the planned one. Items that
    are not compared have no property and no texts.
    """
    columns = (
        TableColumn("kind", "", audience="people", max_width=10),
        TableColumn("file", audience="programs"),
        TableColumn("resource", folds=True, style="bold"),
        TableColumn("column", audience="programs"),
        TableColumn("column", None, _column, "people", folds=True),
        TableColumn("change", None, _change, "people", folds=True),
        TableColumn("file", audience="people", max_width=40, style="dim"),
        TableColumn("property", None, lambda item: item.what, "programs"),
        TableColumn("kind", audience="programs"),
        TableColumn("before", None, lambda item: item.update and item.update.before, "programs"),
        TableColumn(
            "after", None, lambda item: item.update and _encodable(item.update.after), "programs"
        ),
        TableColumn("urn", None, lambda item: item.urn or None, "programs"),
        TableColumn("why", None, lambda item: item.why or None, "programs"),
    )
    return Table.from_records(items, columns, "dbt project")


def _encodable(text: str) -> str:
    return text.encode(errors="backslashreplace").decode()


def unmatched_table(unmatched: "Sequence[Unmatched]") -> Table:
    """Return a table for programs of the resources without a known dataset."""
    columns = (
        TableColumn("resource", read=lambda entry: entry.resource.name),
        TableColumn("kind", read=lambda entry: entry.resource.kind),
        TableColumn("why"),
        TableColumn("candidates", read=lambda entry: [str(urn) for urn in entry.candidates]),
    )
    return Table.from_records(unmatched, columns, "unmatched")


def unread_table(problems: Sequence[tuple[str, str]]) -> Table:
    """Return a table for programs of the files that cannot be read."""
    return Table.of("problems", ("file", "why"), problems)


def plan_counts(plan: "ProjectPlan") -> tuple[str, ...]:
    """Return the number of updates of each kind, in words."""
    return tuple(f"{count:,} {kind}" for kind, count in plan.counts().items())


def plan_sentence(plan: "ProjectPlan") -> str:
    """Return the number of changes and files: "3 changes in 2 files"."""
    changes, files = len(plan.writes), len(plan.files)
    return f"{counted(changes, 'change')} in {counted(files, 'file')}"


def files_sentences(plan: "ProjectPlan") -> tuple[str, ...]:
    """Return a sentence for each file: its number of changes, and whether it is new."""
    counts = Counter(write.file for write in plan.writes)

    def sentence(file: "FileUpdate") -> str:
        count = counts[file.name]
        suffix = ", a new file" if file.before is None else ""
        return f"{file.name}: {counted(count, 'change')}{suffix}"

    return tuple(map(sentence, plan.files))


def nothing_sentence(plan: "ProjectPlan") -> str:
    """Return a sentence on why there is nothing to write; empty if there is something."""
    if plan.files:
        return ""
    if not plan.updates:
        return "the catalog has no text of people for this project"
    return "there is nothing to write"


def is_ambiguous(unmatched: "Sequence[Unmatched]") -> bool:
    """Return whether a resource matches several datasets."""
    return any(entry.candidates for entry in unmatched)


def plan_summary(plan: "ProjectPlan") -> tuple[str, ...]:
    """Return the number of changes, or why there are none, and the number of updates of each
    kind."""
    return (nothing_sentence(plan) or plan_sentence(plan), *plan_counts(plan))


def no_match_sentence(
    resources: int, unmatched: "Sequence[Unmatched]", *, has_manifest: bool
) -> str:
    """Return a sentence if no resource of a project matches a dataset, with advice; empty
    otherwise."""
    if len(unmatched) < resources or is_ambiguous(unmatched):
        return ""
    if not resources:
        return "the project has no models, seeds, snapshots or sources"
    hint = "dbt parse writes target/manifest.json, which has their names, and "
    return (
        f"no dataset was found for the project's {counted(resources, 'resource')}; "
        f"{'' if has_manifest else hint}catalog add with the project's directory adds them"
    )


def item_place(item: PlanItem) -> str:
    """Return the resource of an item, its column, and the property unless it is the description."""
    place = " · ".join(filter(None, (item.resource, item.column)))
    return place if item.what in (None, "description") else f"{place}  {item.what}"


def update_diff(update: "Update") -> Diff:
    """Return the lines that an update changes; for an update that is not written, the reason and
    the differences."""
    lines = text_diff(update.before, update.after, context=1, exact=True)
    notes = [update.why or "", hidden_sentence(update.after)]
    if update.kind not in _WRITTEN:
        notes.append(_BOTH)
    return (*(DiffLine(note, "note", "") for note in notes if note), *lines)


def item_diff(item: PlanItem) -> Diff:
    """Return an item as lines: its place, and the change, or the reason why it is not written."""
    place = "  ".join(filter(None, (item.file, item_place(item))))
    first = DiffLine(place, "place", "")
    if item.update is not None:
        return (first, *update_diff(item.update))
    candidates = (DiffLine(urn, "same", " ") for urn in item.candidates)
    return (first, DiffLine(item.why, "note", ""), *candidates)


def import_remark(
    changes: "ProjectChanges", unknown: "Sequence[ProjectLabel]", *, force_conflicts: bool
) -> str:
    """Return a sentence on the parts of a project that are not imported; empty if all are."""
    counts = Counter(
        change.kind
        for change in changes.changeset.left_out
        if not (force_conflicts and change.kind == "conflict")
    )
    parts = [f"{count:,} {kind}" for kind, count in counts.items()]
    if unknown:
        names = ", ".join(dict.fromkeys(Urn.label(label.label) for label in unknown))
        parts.append(f"{counted(len(unknown), 'label')} that the catalog does not have ({names})")
    if changes.problems:
        parts.append(f"{counted(len(changes.problems), 'file')} that cannot be read")
    return f"Not taken in: {', '.join(parts)}." if parts else ""


def plan_report(plan: "ProjectPlan", project: str, *, dry_run: bool) -> Report:
    """Return a report on the changes of a project, as diffs for a dry run, followed by the changes
    that were not written, with the reasons."""
    items = [item for item in plan_items(plan) if item.update is not None]
    written_items = [item for item in items if item.is_written]
    other_items = [item for item in items if not item.is_written]
    remarks = [
        f"and {len(listed_items) - MAX_SHOWN:,} more{kind}; --json lists all"
        for listed_items, kind in ((written_items, ""), (other_items, " not written"))
        if len(listed_items) > MAX_SHOWN
    ]
    document = {
        "project": project,
        "dry_run": dry_run,
        "counts": plan.counts(),
        "updates": to_objects(plan_table(items)),
        "files": [{"file": file.name, "made": file.before is None} for file in plan.files],
        **unmatched_value(plan.unmatched, plan.problems),
    }
    parts = (
        *_plan_parts(written_items, "dim", has_diffs=dry_run),
        *_plan_parts(other_items, "bold", has_diffs=True),
    )
    notes = tuple(_plan_notes(plan, dry_run=dry_run))
    return Report(None, parts, document, notes=notes, remarks=remarks)


def _plan_parts(items: Sequence[PlanItem], style: str, *, has_diffs: bool) -> Iterator[ReportPart]:
    for item in items[:MAX_SHOWN]:
        place = (item_place(item), "bold")
        yield text_line((f"{item.file}  ", "dim"), place, (f"  {item.kind}", style))
        if has_diffs and item.update is not None:
            yield from cut_difference(update_diff(item.update))


def _plan_notes(plan: "ProjectPlan", *, dry_run: bool) -> Iterator[str]:
    yield from unmatched_notes(plan.unmatched, plan.problems)
    nothing = nothing_sentence(plan)
    yield ", ".join(plan_counts(plan)) or nothing
    for file in plan.files:
        if file.before is None:
            yield f"{'would be created' if dry_run else 'created'}: {file.name}"
    what = plan_sentence(plan)
    if nothing:
        yield "there is nothing to write"
    else:
        yield f"dry run of {what}: nothing was written" if dry_run else f"{what} written"


def unmatched_notes(
    unmatched: "Sequence[Unmatched]", problems: Sequence[tuple[str, str]]
) -> Iterator[str]:
    """Yield notes on the unreadable files and the resources that match several datasets, and the
    number of resources that match none."""
    absent = 0
    for item in rest_items(unmatched, problems):
        if item.kind == "no dataset":
            absent += 1
            continue
        what = f"not read: {item.file}" if item.kind == "not read" else item.resource
        yield f"{what}: {item.why}"
        yield from (f"  {urn}" for urn in item.candidates)
    if absent:
        yield f"{counted(absent, 'resource')} of the project without a dataset; --json lists all"


def unmatched_value(
    unmatched: "Sequence[Unmatched]", problems: Sequence[tuple[str, str]]
) -> dict[str, Any]:
    """Return the resources that match no single dataset, and the unreadable files, for JSON."""
    return {
        "unmatched": to_objects(unmatched_table(unmatched)),
        "problems": to_objects(unread_table(problems)),
    }


@dataclass(frozen=True, slots=True)
class DbtLabelOutcome:
    """The outcome of adding labels: the indexes of those added, and of those that failed, with the
    reasons."""

    labels: "tuple[ProjectLabel, ...]"
    added_indexes: frozenset[int] = frozenset()
    failed: tuple[tuple[int, str], ...] = ()


def import_report(
    outcome: FileOutcome, labels: DbtLabelOutcome, changes: "ProjectChanges", report: Path | None
) -> Report:
    """Return a report on the import of a project: its descriptions, then each tag and owner that
    was added, or in a dry run would be added."""
    failed = dict(labels.failed)
    document = {
        "labels": [
            {
                "urn": label.urn,
                "column": label.column,
                "property": label.property,
                "label": label.label,
                "added": at in labels.added_indexes,
                "error": failed.get(at),
            }
            for at, label in enumerate(labels.labels)
        ],
        **unmatched_value(changes.unmatched, changes.problems),
    }
    texts = outcome_report(outcome, report, document)
    lines = [
        text_line(
            *_label_place(label), f"  {label.property}  ", (f"+{Urn.label(label.label)}", "green")
        )
        for at, label in enumerate(labels.labels)
        if at not in failed and (outcome.dry_run or at in labels.added_indexes)
    ]
    refusals = [
        text_line("not written: ", *_label_place(label), f"  {label.property}: {failed[at]}")
        for at, label in enumerate(labels.labels)
        if at in failed
    ]
    totals = texts.notes
    if labels.labels and report is None and not outcome.to_apply:
        totals = (counts_note(outcome.changeset),)
    notes = (*refusals, *unmatched_notes(changes.unmatched, changes.problems), *totals)
    return replace(texts, parts=(*(texts.parts or ()), *lines), notes=notes)


def _label_place(label: "ProjectLabel") -> tuple[Piece, Piece]:
    column = "" if label.column is None else f" · {FieldPath(label.column).simple}"
    return (label.resource, "bold"), (column, "bold")
