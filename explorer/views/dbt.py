"""What is shown of a dbt project beside the catalog: what writing its files would change, what is
left and why, and what is not taken in of what the project says.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from explorer.metadata.urn import Urn
from explorer.views.diff import Diff, DiffLine, text_diff
from explorer.views.stewardship import WHOLE_TABLE, hidden_sentence
from explorer.views.table import Row, Table, TableColumn

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

__all__ = [
    "ItemKind",
    "PlanItem",
    "files_sentences",
    "import_remark",
    "is_ambiguous",
    "item_diff",
    "item_place",
    "items_with",
    "no_match_sentence",
    "nothing_sentence",
    "plan_counts",
    "plan_items",
    "plan_page",
    "plan_sentence",
    "plan_summary",
    "plan_table",
    "rest_items",
    "unmatched_table",
    "unread_table",
    "update_diff",
]

ItemKind = Literal["not read", "ambiguous", "no dataset"]
"""Of what is not compared at all: a file that cannot be read, a resource that could be several
datasets, one that is none."""

_WRITTEN: Final = ("new", "changed")
_BOTH: Final = "in the project (-), in the catalog (+):"


@dataclass(frozen=True, slots=True)
class PlanItem:
    """A row of what is shown of a plan: an update of `what` is said of a place, a file that cannot
    be read, or a resource whose dataset is not known, which has `candidates` where several could be
    meant."""

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
        """Whether writing the files writes it."""
        return self.kind in _WRITTEN

    @property
    def urn(self) -> str:
        """The dataset; the first that could be meant, and empty where there is none."""
        return self.update.urn if self.update is not None else next(iter(self.candidates), "")

    @property
    def key(self) -> tuple[str, ...]:
        """What tells it from others of the same plan, whatever comes of it."""
        return self.file, self.resource, self.column or "", self.what or ""


def plan_items(plan: "ProjectPlan") -> tuple[PlanItem, ...]:
    """Return what a plan changes and what it leaves, file by file, then `rest_items`."""
    updates: dict[str, list[PlanItem]] = {}
    for one in plan.updates:
        if one.kind != "unchanged":
            item = PlanItem(
                *(one.kind, one.file, one.resource, one.column, one.property),
                why=one.why or "",
                update=one,
            )
            updates.setdefault(one.file, []).append(item)
    by_file = tuple(item for items in updates.values() for item in items)
    return (*by_file, *rest_items(plan.unmatched, plan.problems))


def rest_items(
    unmatched: "Sequence[Unmatched]", problems: Sequence[tuple[str, str]]
) -> tuple[PlanItem, ...]:
    """Return the files that cannot be read, the resources that could be several datasets, and those
    that have none."""
    unread = [PlanItem("not read", file, why=why) for file, why in problems]
    ordered = sorted(unmatched, key=lambda one: not one.candidates)
    without = [
        PlanItem(
            "ambiguous" if one.candidates else "no dataset",
            one.resource.file or one.resource.code or "",
            f"{one.resource.kind} {one.resource.name}",
            why=one.why,
            candidates=tuple(map(str, one.candidates)),
        )
        for one in ordered
    ]
    return (*unread, *without)


def items_with(items: Sequence[PlanItem], words: str) -> Sequence[PlanItem]:
    """Return the items that have every word in their kind, file, place, reason or texts; upper and
    lower case are the same."""
    wanted = words.casefold().split()

    def has(one: PlanItem) -> bool:
        texts = (one.update.before, one.update.after) if one.update is not None else one.candidates
        parts = (one.kind, one.file, one.resource, one.column or "", one.what or "", one.why)
        searched = "\n".join((*parts, *texts)).casefold()
        return all(word in searched for word in wanted)

    return [one for one in items if has(one)] if wanted else items


def plan_page(items: Sequence[PlanItem]) -> Table:
    """Return items for people: what comes of each, where, what is written or why nothing is, and in
    which file."""
    columns = (
        TableColumn("kind", "", max_width=10),
        TableColumn("resource", folds=True, style="bold"),
        TableColumn("column", folds=True),
        TableColumn("change", folds=True),
        TableColumn("file", max_width=40, style="dim"),
    )
    rows: list[Row] = [
        (one.kind, one.resource, _column(one), _change(one), one.file) for one in items
    ]
    return Table(columns, rows, "Changes of a dbt project")


def _column(item: PlanItem) -> str:
    if item.update is None:
        return ""
    return item.column if item.column is not None else WHOLE_TABLE


def _change(item: PlanItem) -> str:
    """Return in one line what is written, or why nothing is."""
    text = item.why if item.update is None or not item.is_written else item.update.after
    named = "" if item.what in (None, "description") else f"{item.what}: "
    return f"{named}{' '.join(text.split())}"


def plan_table(items: Sequence[PlanItem]) -> Table:
    """Return items for programs; `before` is in the project now, `after` as planned. What is not
    compared has no property and no texts."""
    names = ("file", "resource", "column", "property", "kind", "before", "after", "urn", "why")
    rows: list[Row] = [
        (
            *(one.file, one.resource, one.column, one.what, one.kind),
            *((one.update.before, _encodable(one.update.after)) if one.update else (None, None)),
            *(one.urn or None, one.why or None),
        )
        for one in items
    ]
    return Table.of("dbt project", names, rows)


def _encodable(text: str) -> str:
    return text.encode(errors="backslashreplace").decode()


def unmatched_table(unmatched: "Sequence[Unmatched]") -> Table:
    """Return for programs the resources whose dataset is not known, a row each."""
    rows: list[Row] = [
        (one.resource.name, one.resource.kind, one.why, [str(urn) for urn in one.candidates])
        for one in unmatched
    ]
    return Table.of("unmatched", ("resource", "kind", "why", "candidates"), rows)


def unread_table(problems: Sequence[tuple[str, str]]) -> Table:
    """Return for programs the files that cannot be read, a row each."""
    return Table.of("problems", ("file", "why"), problems)


def plan_counts(plan: "ProjectPlan") -> tuple[str, ...]:
    """Return how many updates there are of each kind, in words."""
    return tuple(f"{count:,} {kind}" for kind, count in plan.counts().items())


def plan_sentence(plan: "ProjectPlan") -> str:
    """Return how much is written: "3 changes in 2 files"."""
    changes, files = len(plan.writes), len(plan.files)
    return f"{_counted(changes, 'change')} in {_counted(files, 'file')}"


def files_sentences(plan: "ProjectPlan") -> tuple[str, ...]:
    """Return for each file that is written how much of it changes, and which are made."""
    counts = Counter(one.file for one in plan.writes)

    def said(file: "FileUpdate") -> str:
        count = counts[file.name]
        made = ", a new file" if file.before is None else ""
        return f"{file.name}: {_counted(count, 'change')}{made}"

    return tuple(map(said, plan.files))


def nothing_sentence(plan: "ProjectPlan") -> str:
    """Return why there is nothing to write; empty where there is something."""
    if plan.files:
        return ""
    if not plan.updates:
        return "the catalog has no text of people for this project"
    return "there is nothing to write"


def is_ambiguous(unmatched: "Sequence[Unmatched]") -> bool:
    """Return whether a resource could be several datasets."""
    return any(one.candidates for one in unmatched)


def plan_summary(plan: "ProjectPlan") -> tuple[str, ...]:
    """Return how much is written, or why nothing is, and how many updates there are of each
    kind."""
    return (nothing_sentence(plan) or plan_sentence(plan), *plan_counts(plan))


def no_match_sentence(
    resources: int, unmatched: "Sequence[Unmatched]", *, has_manifest: bool
) -> str:
    """Return that no resource of a project has a dataset, and what helps; empty where one has, or
    could have."""
    if len(unmatched) < resources or is_ambiguous(unmatched):
        return ""
    if not resources:
        return "the project has no models, seeds, snapshots or sources"
    hint = "" if has_manifest else "; dbt parse writes target/manifest.json, which has their names"
    return f"none of the project's {_counted(resources, 'resource')} is one of the datasets{hint}"


def item_place(item: PlanItem) -> str:
    """Return what an item is about: the resource, its column, and the property but a
    description."""
    place = " · ".join(filter(None, (item.resource, item.column)))
    return place if item.what in (None, "description") else f"{place}  {item.what}"


def update_diff(update: "Update") -> Diff:
    """Return what writing changes of a text as lines; of one that is left why, and how the project
    and the catalog differ."""
    lines = text_diff(update.before, update.after, context=1, exact=True)
    notes = [update.why or "", hidden_sentence(update.after)]
    if update.kind not in _WRITTEN:
        notes.append(_BOTH)
    return (*(DiffLine(note, "note", "") for note in notes if note), *lines)


def item_diff(item: PlanItem) -> Diff:
    """Return an item as lines: its place, and what is written of it or why nothing is."""
    place = "  ".join(filter(None, (item.file, item_place(item))))
    first = DiffLine(place, "place", "")
    if item.update is not None:
        return (first, *update_diff(item.update))
    candidates = (DiffLine(urn, "same", " ") for urn in item.candidates)
    return (first, DiffLine(item.why, "note", ""), *candidates)


def import_remark(
    changes: "ProjectChanges", unknown: "Sequence[ProjectLabel]", *, force_conflicts: bool
) -> str:
    """Return in one sentence what of a project is not taken in; empty where all of it is."""
    left = Counter(
        one.kind
        for one in changes.changeset.left
        if not (force_conflicts and one.kind == "conflict")
    )
    parts = [f"{count:,} {kind}" for kind, count in left.items()]
    if unknown:
        names = ", ".join(dict.fromkeys(Urn.label(one.label) for one in unknown))
        parts.append(f"{_counted(len(unknown), 'label')} that the catalog does not have ({names})")
    if changes.problems:
        parts.append(f"{_counted(len(changes.problems), 'file')} that cannot be read")
    return f"Not taken in: {', '.join(parts)}." if parts else ""


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
