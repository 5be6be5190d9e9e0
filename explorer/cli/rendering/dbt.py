"""Render the plans and outcomes of `catalog docs dbt-export` and `dbt-import`."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rich.text import Text

from explorer.cli.output import as_objects, line_text, note, print_diff, print_json, results
from explorer.client.display import counted, line
from explorer.client.responses import REFUSALS
from explorer.errors import Forbidden, NotFound
from explorer.metadata.fieldpath import FieldPath
from explorer.metadata.urn import Urn
from explorer.stewardship.dbt import ProjectChanges, ProjectLabel, ProjectPlan, Unmatched
from explorer.views import dbt as views

if TYPE_CHECKING:
    from explorer.client import Catalog

__all__ = [
    "LabelOutcome",
    "add_labels",
    "print_label_outcome",
    "print_plan",
    "print_plan_as_json",
    "print_plan_totals",
    "print_unmatched",
    "require_matches",
    "rest_as_json",
]

_MAX_SHOWN: Final = 200
_MAX_LINES: Final = 30


def require_matches(resources: int, unmatched: Sequence[Unmatched], *, has_manifest: bool) -> None:
    """Raise `NotFound` if no resource of the project matches a dataset."""
    if why := views.no_match_sentence(resources, unmatched, has_manifest=has_manifest):
        raise NotFound(why)


def print_plan(plan: ProjectPlan, *, dry_run: bool) -> None:
    """Print the changes of the project, as diffs for a dry run, and then those that were not
    written, with the reasons."""
    items = [one for one in views.plan_items(plan) if one.update is not None]
    written = [one for one in items if one.is_written]
    _print_items(written, "dim", "and {:,} more; --json lists all", diffs=dry_run)
    left = [one for one in items if not one.is_written]
    _print_items(left, "bold", "and {:,} more not written; --json lists all", diffs=True)


def _print_items(items: Sequence[views.PlanItem], style: str, more: str, *, diffs: bool) -> None:
    console = results()
    for item in islice(items, _MAX_SHOWN):
        place = line_text(item.file, "dim").append("  ")
        place.append_text(line_text(views.item_place(item), "bold"))
        console.print(place, Text(f"  {item.kind}", style), sep="", soft_wrap=True)
        if diffs and item.update is not None:
            lines = views.update_diff(item.update)
            print_diff(lines[:_MAX_LINES], console, indent=2)
            if len(lines) > _MAX_LINES:
                console.print(Text(f"    … {len(lines) - _MAX_LINES:,} more lines", "dim"))
    if len(items) > _MAX_SHOWN:
        note(Text(more.format(len(items) - _MAX_SHOWN)))


def print_plan_totals(plan: ProjectPlan, *, dry_run: bool) -> None:
    """Print the number of changes and the new files to standard error."""
    print_unmatched(plan.unmatched, plan.problems)
    nothing = views.nothing_sentence(plan)
    note(Text(", ".join(views.plan_counts(plan)) or nothing))
    for file in plan.files:
        if file.before is None:
            note(Text(f"{'would be created' if dry_run else 'created'}: {line(file.name)}"))
    what = views.plan_sentence(plan)
    if nothing:
        note(Text("there is nothing to write"))
    else:
        note(Text(f"dry run of {what}: nothing was written" if dry_run else f"{what} written"))


def print_unmatched(unmatched: Sequence[Unmatched], problems: Sequence[tuple[str, str]]) -> None:
    """Print to standard error the files that cannot be read and the resources that do not match
    exactly one dataset; of those that match none, print only the number."""
    absent = 0
    for item in views.rest_items(unmatched, problems):
        if item.kind == "no dataset":
            absent += 1
            continue
        what = f"not read: {line(item.file)}" if item.kind == "not read" else line(item.resource)
        note(Text(f"{what}: {line(item.why)}"))
        for urn in item.candidates:
            note(Text(f"  {line(urn)}"))
    if absent:
        note(
            Text(
                f"{counted(absent, 'resource')} of the project without a dataset; --json lists all"
            )
        )


def print_plan_as_json(plan: ProjectPlan, project: Path, *, dry_run: bool) -> None:
    """Print the plan as one JSON object."""
    items = [one for one in views.plan_items(plan) if one.update is not None]
    print_json(
        {
            "project": str(project),
            "dry_run": dry_run,
            "counts": plan.counts(),
            "updates": as_objects(views.plan_table(items)),
            "files": [{"file": one.name, "made": one.before is None} for one in plan.files],
            **_rest(plan.unmatched, plan.problems),
        }
    )


@dataclass(frozen=True, slots=True)
class LabelOutcome:
    """The outcome of adding labels: the indexes of those added, and of those that failed, with the
    reasons."""

    labels: tuple[ProjectLabel, ...]
    added: frozenset[int] = frozenset()
    failed: tuple[tuple[int, str], ...] = ()


def add_labels(catalog: "Catalog", labels: tuple[ProjectLabel, ...]) -> LabelOutcome:
    """Add the labels, with two requests each. If one is rejected, the others are still added; any
    other error is raised."""
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


def print_label_outcome(outcome: LabelOutcome, *, dry_run: bool, as_json: bool) -> None:
    """Print each tag and owner that was added, or would be, and failures to standard error."""
    failed = dict(outcome.failed)
    for at, one in enumerate(outcome.labels):
        place = line_text(one.resource, "bold")
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
    """Return the entries of an import's JSON object other than those of `print_outcome_as_json`."""
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
        "unmatched": as_objects(views.unmatched_table(unmatched)),
        "problems": as_objects(views.unread_table(problems)),
    }
