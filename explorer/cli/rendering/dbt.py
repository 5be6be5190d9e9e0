"""What `catalog docs dbt-export` and `dbt-import` say of a project."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rich.text import Text

from explorer.cli.options import counted
from explorer.cli.output import note, print_diff, print_json, results, said
from explorer.client.display import line
from explorer.client.responses import REFUSALS
from explorer.errors import Forbidden, NotFound
from explorer.metadata.fieldpath import FieldPath
from explorer.metadata.urn import Urn
from explorer.stewardship.dbt import ProjectChanges, ProjectLabel, ProjectPlan, Unmatched, Update
from explorer.views.diff import text_diff

if TYPE_CHECKING:
    from explorer.client import Catalog

__all__ = [
    "LabelOutcome",
    "add_labels",
    "is_ambiguous",
    "print_plan",
    "print_plan_as_json",
    "require_matches",
    "rest_as_json",
    "tell_labels",
    "tell_plan",
    "tell_rest",
]

_MOST_SHOWN: Final = 200
_MOST_LINES: Final = 30


def require_matches(resources: int, unmatched: Sequence[Unmatched], *, has_manifest: bool) -> None:
    """Raise `NotFound` where no resource of a project has a dataset."""
    if len(unmatched) < resources or is_ambiguous(unmatched):
        return
    hint = "" if has_manifest else "; dbt parse writes target/manifest.json, which has their names"
    raise NotFound(
        f"none of the project's {counted(resources, 'resource')} is one of these datasets{hint}"
    )


def is_ambiguous(unmatched: Sequence[Unmatched]) -> bool:
    """Return whether a resource could be several datasets."""
    return any(one.candidates for one in unmatched)


def print_plan(plan: ProjectPlan, *, dry_run: bool) -> None:
    """Print each change of the project, as a diff where nothing was written yet, and then what is
    left with the reason."""
    console = results()
    for update in islice(plan.writes, _MOST_SHOWN):
        console.print(_place(update), Text(f"  {update.kind}", "dim"), sep="", soft_wrap=True)
        if dry_run:
            lines = text_diff(update.before, update.after, context=1, exact=True)
            print_diff(lines[:_MOST_LINES], console, indent=2)
            if len(lines) > _MOST_LINES:
                console.print(Text(f"    … {len(lines) - _MOST_LINES:,} more lines", "dim"))
    if len(plan.writes) > _MOST_SHOWN:
        note(Text(f"and {len(plan.writes) - _MOST_SHOWN:,} more; --json has them all"))
    for update in islice(plan.left, _MOST_SHOWN):
        console.print(_place(update), Text(f"  {update.kind}", "bold"), sep="", soft_wrap=True)
        if update.kind in ("conflict", "template"):
            console.print(Text(f"  project  {line(update.before, 200)}", "red"), soft_wrap=True)
            console.print(Text(f"  catalog  {line(update.after, 200)}", "green"), soft_wrap=True)
        if update.why:
            console.print(Text("  "), said(update.why, "dim"), sep="", soft_wrap=True)
    if len(plan.left) > _MOST_SHOWN:
        note(Text(f"and {len(plan.left) - _MOST_SHOWN:,} more are left; --json has them all"))


def _place(update: Update) -> Text:
    place = said(update.file, "dim")
    place.append("  ")
    place.append_text(said(update.resource, "bold"))
    if update.column is not None:
        place.append(f" · {line(update.column)}", "bold")
    if update.property != "description":
        place.append(f"  {update.property}")
    return place


def tell_plan(plan: ProjectPlan, *, dry_run: bool) -> None:
    """Say on standard error how much there is to write, in which files."""
    tell_rest(plan.unmatched, plan.problems)
    counts = ", ".join(f"{count:,} {kind}" for kind, count in plan.counts().items())
    note(Text(counts or "the catalog has no text of people for this project"))
    for file in plan.files:
        if file.before is None:
            note(Text(f"{'would be made' if dry_run else 'made'}: {line(file.name)}"))
    if not plan.files:
        note(Text("there is nothing to write"))
        return
    what = f"{counted(len(plan.writes), 'change')} in {counted(len(plan.files), 'file')}"
    note(
        Text(f"nothing was written: this was a dry run of {what}" if dry_run else f"{what} written")
    )


def tell_rest(unmatched: Sequence[Unmatched], problems: Sequence[tuple[str, str]]) -> None:
    """Say on standard error which files cannot be read and which resources have no dataset; of
    those that are not in the catalog only how many."""
    for file, why in problems:
        note(Text(f"not read: {line(file)}: {line(why)}"))
    absent = 0
    for one in unmatched:
        if not one.candidates:
            absent += 1
            continue
        note(Text(f"{one.resource.kind} {line(one.resource.name)}: {line(one.why)}"))
        for urn in one.candidates:
            note(Text(f"  {line(str(urn))}"))
    if absent:
        note(
            Text(f"{counted(absent, 'resource')} of the project without a dataset; --json has them")
        )


def print_plan_as_json(plan: ProjectPlan, project: Path, *, dry_run: bool) -> None:
    """Print the plan as one object."""
    print_json(
        {
            "project": str(project),
            "dry_run": dry_run,
            "counts": plan.counts(),
            "updates": [
                {
                    "file": one.file,
                    "resource": one.resource,
                    "column": one.column,
                    "property": one.property,
                    "kind": one.kind,
                    "before": one.before,
                    "after": _encodable(one.after),
                    "urn": one.urn,
                    "why": one.why,
                }
                for one in plan.updates
                if one.kind != "unchanged"
            ],
            "files": [{"file": one.name, "made": one.before is None} for one in plan.files],
            **_rest(plan.unmatched, plan.problems),
        }
    )


@dataclass(frozen=True, slots=True)
class LabelOutcome:
    """What became of labels to add: the numbers of those that were, and why others were not."""

    labels: tuple[ProjectLabel, ...]
    added: frozenset[int] = frozenset()
    failed: tuple[tuple[int, str], ...] = ()


def add_labels(catalog: "Catalog", labels: tuple[ProjectLabel, ...]) -> LabelOutcome:
    """Add the labels, two requests for each. One that is refused stops no other; raises where the
    server is gone."""
    added: set[int] = set()
    failed: list[tuple[int, str]] = []
    for at, one in enumerate(labels):
        try:
            if one.property == "tags":
                catalog.add_tags(one.urn, [one.label], column=one.column)
            else:
                catalog.add_owners(one.urn, [one.label])
            added.add(at)
        except (Forbidden, *REFUSALS) as error:
            failed.append((at, str(error)))
    return LabelOutcome(labels, frozenset(added), tuple(failed))


def tell_labels(outcome: LabelOutcome, *, dry_run: bool, as_json: bool) -> None:
    """Print each tag and owner that was added, or would be, and on standard error what failed."""
    failed = dict(outcome.failed)
    for at, one in enumerate(outcome.labels):
        place = said(one.resource, "bold")
        if one.column is not None:
            place.append(f" · {line(FieldPath(one.column).simple)}", "bold")
        if at in failed:
            note(Text("not written: "), place, Text(f"  {one.property}: {line(failed[at])}"))
        elif not as_json and (dry_run or at in outcome.added):
            name = line(Urn.label(one.label))
            results().print(
                place,
                Text(f"  {one.property}  "),
                Text(f"+{name}", "green"),
                sep="",
                soft_wrap=True,
            )


def rest_as_json(changes: ProjectChanges, labels: LabelOutcome) -> dict[str, Any]:
    """Return what an import says beside its changes."""
    failed = dict(labels.failed)
    return {
        "labels": [
            {
                "urn": one.urn,
                "column": one.column,
                "property": one.property,
                "label": one.label,
                "added": at in labels.added,
                "error": failed.get(at),
            }
            for at, one in enumerate(labels.labels)
        ],
        **_rest(changes.unmatched, changes.problems),
    }


def _rest(unmatched: Sequence[Unmatched], problems: Sequence[tuple[str, str]]) -> dict[str, Any]:
    return {
        "unmatched": [
            {
                "resource": one.resource.name,
                "kind": one.resource.kind,
                "why": one.why,
                "candidates": [str(urn) for urn in one.candidates],
            }
            for one in unmatched
        ],
        "problems": [{"file": file, "why": why} for file, why in problems],
    }


def _encodable(text: str) -> str:
    return text.encode(errors="backslashreplace").decode()
