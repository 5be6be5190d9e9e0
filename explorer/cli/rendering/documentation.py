"""Render coverage, the worklist and the change feed; read, write and compare the files that
documentation is exchanged in: those of `catalog docs`, dbt projects and glossaries.
"""

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from rich.console import Console
from rich.text import Text

from explorer.cli.options import OutputFormat
from explorer.cli.output import (
    line_text,
    note,
    print_diff,
    print_exactly,
    print_json,
    print_table,
    results,
    show,
)
from explorer.client.display import counted, line
from explorer.errors import InvalidInput, NotFound, StorageFault
from explorer.files import replace_file
from explorer.metadata.fieldpath import FieldPath
from explorer.metadata.urn import Urn
from explorer.stewardship import (
    Applied,
    Change,
    ChangeFeed,
    Changeset,
    Count,
    Coverage,
    Entry,
    Row,
    format_of,
    read_rows,
    write_report,
    write_rows,
)
from explorer.stewardship.coverage import CoverageTrend, Part
from explorer.views import dbt as dbt_views
from explorer.views import stewardship as views
from explorer.views.feed import entries_with, feed_counts, feed_remarks, feed_table
from explorer.views.stewardship import glossary_sentences, glossary_table
from explorer.views.table import Table, to_objects

if TYPE_CHECKING:
    from explorer.sessions.changesets import ImportOutcome
    from explorer.stewardship import Format
    from explorer.stewardship.dbt import ProjectChanges, ProjectPlan, Unmatched
    from explorer.stewardship.glossary import GlossaryChange, GlossaryEntry, GlossaryOutcome

_STDIO = Path("-")


def format_for(file: Path | None, form: "Format | None") -> "Format":
    """Return the given format, or that of the file's extension.

    Raises `click.UsageError` if there is neither.
    """
    if form is not None:
        return form
    if file is None or file == _STDIO:
        raise click.UsageError("give the format with --format: there is no file name to tell it")
    return format_of(file)


def check_target(file: Path | None, form: "Format", *, overwrite: bool) -> None:
    """Check, before any request, that the export can be written and would not overwrite a file.

    Raises `InvalidInput` if the file exists, `StorageFault` if its directory does not, and
    `click.UsageError` for a workbook on a terminal.
    """
    if file is None or file == _STDIO:
        if form == "xlsx" and sys.stdout.isatty():
            raise click.UsageError("cannot print a workbook to a terminal; give --output FILE")
        return
    if file.exists() and not overwrite:
        raise InvalidInput(
            f"{line(str(file))} already exists and may have edits; give another file name, or "
            "--overwrite"
        )
    if not file.absolute().parent.is_dir():
        raise StorageFault(
            f"{line(str(file.absolute().parent))} is not a directory; create it first"
        )


def check_report(report: Path, file: Path) -> None:
    """Check that the report can be written and would not overwrite the imported file.

    Raises `click.UsageError` and `StorageFault`.
    """
    if file != _STDIO and report.exists() and report.samefile(file):
        raise click.UsageError("--report is the file to import; give another file name")
    if not report.absolute().parent.is_dir():
        raise StorageFault(
            f"{line(str(report.absolute().parent))} is not a directory; create it first"
        )


def read(file: Path, form: "Format | None") -> tuple[Entry, ...]:
    """Return the entries of a file, or of standard input for `-`.

    Raises `StorageFault` if the file cannot be read.
    """
    chosen = format_for(file, form)
    try:
        data = sys.stdin.buffer.read() if file == _STDIO else file.read_bytes()
    except OSError as error:
        raise StorageFault(f"cannot read {line(str(file))}: {error.strerror}") from error
    return read_rows(data, chosen)


def write(rows: Sequence[Row], file: Path | None, form: "Format", *, asked: int) -> None:
    """Write the export, and print the numbers of tables and columns to standard error.

    Raises `InvalidInput` if none of the datasets exists.
    """
    tables = sum(1 for row in rows if not row.column)
    if not tables:
        raise InvalidInput("none of these datasets is in the catalog; nothing was written")
    data = write_rows(rows, form)
    if file is not None and file != _STDIO:
        write_file(file, data)
    elif form == "xlsx":
        sys.stdout.buffer.write(data)
    else:
        print_exactly(data.decode())
    counts = f"{counted(tables, 'table')}, {len(rows) - tables:,} columns"
    where = f" in {line(str(file))}" if file is not None and file != _STDIO else ""
    note(Text(f"{counts}{where}"))
    if tables < asked:
        note(Text(f"{asked - tables:,} of the {asked:,} datasets are not in the catalog"))


def write_report_to(report: Path, changes: "Iterable[Change]") -> None:
    """Write the report of changes that were not applied."""
    write_file(report, write_report(changes))


def write_file(file: Path, data: bytes) -> None:
    """Write a file atomically; its mode is kept. Raises `StorageFault` if that fails."""
    try:
        replace_file(file, data, mode=None, is_synced=False)
    except OSError as error:
        raise StorageFault(f"cannot write {line(str(file))}: {error.strerror}") from error


@dataclass(frozen=True, slots=True)
class CoverageGate:
    """A minimum percentage for the coverage of tables and columns, or of `only` one of them."""

    coverage: Coverage
    fail_under: float
    only: Part | None = None

    @property
    def parts(self) -> tuple[Part, ...]:
        """The parts that are checked."""
        return (self.only,) if self.only else views.PARTS

    @property
    def reached(self) -> bool:
        """Whether every part reaches the percentage; False if there is nothing to count."""
        has_any = any(self.coverage.of(part).total for part in self.parts)
        return has_any and self.coverage.reaches(self.fail_under, self.parts)

    def print_missed_parts(self) -> bool:
        """Print the parts below the percentage, and return whether the gate is reached."""
        for part in self.parts:
            count = self.coverage.of(part)
            if not count.reaches(self.fail_under):
                note(
                    Text(
                        f"{part}: {views.percent_of(count)} documented, below {self.fail_under:g}%"
                    )
                )
        if not any(self.coverage.of(part).total for part in self.parts):
            note(Text("there is nothing to count"))
        return self.reached


def print_coverage(
    coverage: Coverage, gate: CoverageGate | None, shown_as: OutputFormat | None
) -> None:
    """Print coverage in the given format: one line per group, or one for tables and one for
    columns. JSON includes the gate."""
    if shown_as == "json":
        _print_coverage_as_json(coverage, gate)
    elif shown_as == "csv":
        show(views.coverage_table(coverage), shown_as)
    else:
        print_table(views.coverage_page(coverage))
        for part in views.PARTS if coverage.by else ():
            note(Text(f"{part}: {views.count_sentence(coverage.of(part))}"))


def print_trend(trend: CoverageTrend, shown_as: OutputFormat | None) -> None:
    """Print the trend in the given format. For people: one line per day with changes, newest first,
    or one per group; and the changes of the percentages to standard error."""
    if shown_as is not None:
        since = trend.since and trend.since.isoformat()
        fields = {name: getattr(trend, name) for name in ("by", "every", "datasets", "group_total")}
        show(views.trend_table(trend), shown_as, "days", since=since, **fields)
        return
    print_table(views.trend_page(trend))
    for sentence in views.trend_sentences(trend):
        note(Text(sentence))


def _print_coverage_as_json(coverage: Coverage, gate: CoverageGate | None) -> None:
    gate_as_json = gate and {
        "fail_under": gate.fail_under,
        "only": gate.only,
        "reached": gate.reached,
    }
    print_json(
        {
            **{part: _count_as_json(coverage.of(part)) for part in views.PARTS},
            "by": coverage.by,
            "groups": [
                {
                    "key": group.key,
                    "name": group.name,
                    **{part: _count_as_json(group.of(part)) for part in views.PARTS},
                }
                for group in coverage.groups
            ],
            "gate": gate_as_json,
        }
    )


def _count_as_json(count: Count) -> dict[str, Any]:
    return {field: getattr(count, field) for field in views.COUNTS}


def print_feed(feed: ChangeFeed, words: str, shown_as: OutputFormat | None, *, care: bool) -> None:
    """Print the entries of a feed that contain the words, with `care` only those that need
    attention, and totals to standard error."""
    entries = [entry for entry in entries_with(feed, words) if entry.needs_care or not care]
    show(
        feed_table(feed, entries),
        shown_as,
        "changes",
        since=feed.since.isoformat() if feed.since is not None else None,
        user=str(feed.user) if feed.user is not None else None,
        unread=feed.unread,
        more_entities=feed.more_entities,
        trimmed=feed.trimmed,
        replaced=feed.replaced,
    )
    chosen = f"{len(entries):,} of " if len(entries) < len(feed.entries) else ""
    note(Text(f"{chosen}{feed_counts(feed)}"))
    for remark in feed_remarks(feed):
        note(Text(remark))


_UNTRIED: Final = "not tried: an error stopped the import before"
_MAX_SHOWN: Final = 200
_MAX_LINES: Final = 30
# Reported, but no action is needed.
_HARMLESS: Final = frozenset({"emptied"})


@dataclass(frozen=True, slots=True)
class FileOutcome:
    """The outcome of an import: the changes in the file, those to apply, and those applied."""

    file: str
    changeset: Changeset
    applied: Applied
    to_apply: tuple[Change, ...]
    dry_run: bool

    @property
    def left(self) -> tuple[Change, ...]:
        """The changes that were not applied, in the order of the file, with the reasons."""
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
        return any(change.kind not in _HARMLESS for change in self.left)


def print_changes(
    changeset: Changeset, file: str = "", shown_as: OutputFormat | None = None
) -> None:
    """Print the changes in the given format; for people as diffs, followed by the lines that cannot
    be applied, with the reasons."""
    if shown_as is not None:
        show(_table(changeset), shown_as, "changes", file=file, counts=changeset.counts())
        return
    console = results()
    changes = changeset.to_apply()
    for change in islice(changes, _MAX_SHOWN):
        _print_change(console, change)
    if len(changes) > _MAX_SHOWN:
        note(Text(f"and {len(changes) - _MAX_SHOWN:,} more; --json lists all"))
    _print_left(console, changeset.left_out)


def print_outcome(outcome: FileOutcome) -> None:
    """Print one line per change that was written, and those that were not."""
    console = results()
    for change, edit in outcome.applied.done:
        verb = change.kind if edit.changed else "already there"
        console.print(line_text(verb), Text("  "), _place(change), sep="", soft_wrap=True)
    chosen_ids = {id(change) for change in outcome.to_apply}
    _print_left(
        console, [change for change in outcome.changeset.left_out if id(change) not in chosen_ids]
    )


def print_outcome_as_json(outcome: FileOutcome, more: Mapping[str, Any] | None = None) -> None:
    """Print the outcome as one JSON object, with the additional entries of `more`."""
    applied = outcome.applied
    print_json(
        {
            **_as_json(outcome.file, outcome.changeset),
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
            **(more or {}),
        }
    )


def print_counts(changeset: Changeset) -> None:
    """Print the number of lines of each kind to standard error."""
    note(Text(", ".join(views.change_counts(changeset)) or "the file has no lines"))


def print_outcome_totals(outcome: FileOutcome, *, report: Path | None) -> None:
    """Print failures and totals to standard error."""
    for failure in outcome.applied.failed:
        where = f"{failure.change.entry.place}: {failure.why}"
        note(Text(f"not written: {line(where)}"))
    print_counts(outcome.changeset)
    change_count = len(outcome.to_apply)
    changes = counted(change_count, "change")
    if not change_count:
        note(Text("there is nothing to write"))
    elif outcome.dry_run:
        note(Text(f"dry run of {changes}: nothing was written"))
    else:
        note(Text(f"{len(outcome.applied.done):,} of {changes} written"))
    if report is not None:
        note(Text(f"{len(outcome.left):,} not applied, listed in {line(str(report))}"))
    elif outcome.fails:
        note(Text("to save the lines that were not applied, give --report FILE"))


def _print_change(console: Console, change: Change) -> None:
    console.print(_place(change), Text(f"  {change.kind}", "dim"), sep="", soft_wrap=True)
    lines = views.change_diff(change)
    print_diff(lines[:_MAX_LINES], console, indent=2)
    if len(lines) > _MAX_LINES:
        console.print(Text(f"    … {len(lines) - _MAX_LINES:,} more lines", "dim"))


def _print_left(console: Console, changes: Sequence[Change]) -> None:
    for change in islice(changes, _MAX_SHOWN):
        parts = (line_text(change.entry.place), line_text(change.kind, "bold"), _place(change))
        console.print(Text("  ").join(parts), soft_wrap=True)
        if change.kind == "conflict":
            console.print(Text(f"  theirs  {line(change.theirs, 200)}", "red"), soft_wrap=True)
            console.print(Text(f"  mine    {line(change.mine, 200)}", "green"), soft_wrap=True)
        if change.why:
            console.print(Text("  "), line_text(change.why, "dim"), sep="", soft_wrap=True)
    if len(changes) > _MAX_SHOWN:
        note(Text(f"and {len(changes) - _MAX_SHOWN:,} more not applied; --report lists all"))


def _place(change: Change) -> Text:
    table, column = views.change_place(change)
    name = line_text(table, "bold")
    if column:
        name.append(f" · {line(column)}", "bold")
    return name


def _table(changeset: Changeset) -> Table:
    return views.changes_table(
        tuple(change for change in changeset.changes if change.kind != "unchanged")
    )


def _as_json(file: str, changeset: Changeset) -> dict[str, Any]:
    return {
        "file": file,
        "counts": changeset.counts(),
        "changes": to_objects(_table(changeset)),
    }


def require_dbt_matches(
    resources: int, unmatched: "Sequence[Unmatched]", *, has_manifest: bool
) -> None:
    """Raise `NotFound` if no resource of the project matches a dataset."""
    if why := dbt_views.no_match_sentence(resources, unmatched, has_manifest=has_manifest):
        raise NotFound(why)


def print_dbt_plan(plan: "ProjectPlan", *, dry_run: bool) -> None:
    """Print the changes of the project, as diffs for a dry run, and then those that were not
    written, with the reasons."""
    items = [plan_item for plan_item in dbt_views.plan_items(plan) if plan_item.update is not None]
    written_items = [item for item in items if item.is_written]
    _print_plan_items(written_items, "dim", "and {:,} more; --json lists all", diffs=dry_run)
    other_items = [item for item in items if not item.is_written]
    _print_plan_items(
        other_items, "bold", "and {:,} more not written; --json lists all", diffs=True
    )


def _print_plan_items(
    items: Sequence[dbt_views.PlanItem], style: str, more: str, *, diffs: bool
) -> None:
    console = results()
    for item in islice(items, _MAX_SHOWN):
        place = line_text(item.file, "dim").append("  ")
        place.append_text(line_text(dbt_views.item_place(item), "bold"))
        console.print(place, Text(f"  {item.kind}", style), sep="", soft_wrap=True)
        if diffs and item.update is not None:
            lines = dbt_views.update_diff(item.update)
            print_diff(lines[:_MAX_LINES], console, indent=2)
            if len(lines) > _MAX_LINES:
                console.print(Text(f"    … {len(lines) - _MAX_LINES:,} more lines", "dim"))
    if len(items) > _MAX_SHOWN:
        note(Text(more.format(len(items) - _MAX_SHOWN)))


def print_dbt_plan_totals(plan: "ProjectPlan", *, dry_run: bool) -> None:
    """Print the number of changes and the new files to standard error."""
    print_unmatched_resources(plan.unmatched, plan.problems)
    nothing = dbt_views.nothing_sentence(plan)
    note(Text(", ".join(dbt_views.plan_counts(plan)) or nothing))
    for file in plan.files:
        if file.before is None:
            note(Text(f"{'would be created' if dry_run else 'created'}: {line(file.name)}"))
    what = dbt_views.plan_sentence(plan)
    if nothing:
        note(Text("there is nothing to write"))
    else:
        note(Text(f"dry run of {what}: nothing was written" if dry_run else f"{what} written"))


def print_unmatched_resources(
    unmatched: "Sequence[Unmatched]", problems: Sequence[tuple[str, str]]
) -> None:
    """Print to standard error the files that cannot be read and the resources that do not match
    exactly one dataset; of those that match none, print only the number."""
    absent = 0
    for item in dbt_views.rest_items(unmatched, problems):
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


def print_dbt_plan_as_json(plan: "ProjectPlan", project: Path, *, dry_run: bool) -> None:
    """Print the plan as one JSON object."""
    items = [plan_item for plan_item in dbt_views.plan_items(plan) if plan_item.update is not None]
    print_json(
        {
            "project": str(project),
            "dry_run": dry_run,
            "counts": plan.counts(),
            "updates": to_objects(dbt_views.plan_table(items)),
            "files": [{"file": file.name, "made": file.before is None} for file in plan.files],
            **_match_failures_as_json(plan.unmatched, plan.problems),
        }
    )


def print_dbt_label_outcome(outcome: "ImportOutcome", *, dry_run: bool, as_json: bool) -> None:
    """Print each tag and owner that was added, or would be, and failures to standard error."""
    failed = dict(outcome.failed)
    for at, label in enumerate(outcome.labels):
        place = line_text(label.resource, "bold")
        if label.column is not None:
            place.append(f" · {line(FieldPath(label.column).simple)}", "bold")
        if at in failed:
            note(Text("not written: "), place, Text(f"  {label.property}: {line(failed[at])}"))
        elif not as_json and (dry_run or at in outcome.added):
            name = line(Urn.label(label.label))
            results().print(
                place,
                Text(f"  {label.property}  "),
                Text(f"+{name}", "green"),
                sep="",
                soft_wrap=True,
            )


def dbt_rest_as_json(changes: "ProjectChanges", labels: "ImportOutcome") -> dict[str, Any]:
    """Return the entries of an import's JSON object other than those of `print_outcome_as_json`."""
    failed = dict(labels.failed)
    return {
        "labels": [
            {
                "urn": label.urn,
                "column": label.column,
                "property": label.property,
                "label": label.label,
                "added": at in labels.added,
                "error": failed.get(at),
            }
            for at, label in enumerate(labels.labels)
        ],
        **_match_failures_as_json(changes.unmatched, changes.problems),
    }


def _match_failures_as_json(
    unmatched: "Sequence[Unmatched]", problems: Sequence[tuple[str, str]]
) -> dict[str, Any]:
    return {
        "unmatched": to_objects(dbt_views.unmatched_table(unmatched)),
        "problems": to_objects(dbt_views.unread_table(problems)),
    }


def check_glossary_target(file: Path | None, *, overwrite: bool) -> None:
    """Raise `InvalidInput` if the file exists and `overwrite` is not set."""
    if file is not None and file != _STDIO and file.exists() and not overwrite:
        raise InvalidInput(f"{line(str(file))} already exists; give another name, or --overwrite")


def read_glossary(file: Path) -> "tuple[GlossaryEntry, ...]":
    """Return the entries of a file, or of standard input for `-`.

    Raises `StorageFault` if the file cannot be read, and `InvalidInput` if it is invalid.
    """
    from explorer.stewardship.glossary import parse_glossary

    try:
        data = sys.stdin.buffer.read() if file == _STDIO else file.read_bytes()
        return parse_glossary(data.decode())
    except OSError as error:
        raise StorageFault(f"cannot read {line(str(file))}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{line(str(file))} is not UTF-8 text: {error}") from None
    except InvalidInput as error:
        raise InvalidInput(f"{line(str(file))}: {error}") from error


def write_glossary_file(entries: "Sequence[GlossaryEntry]", file: Path | None) -> None:
    """Write the file, and print the numbers of terms and groups to standard error."""
    from explorer.stewardship.glossary import write_glossary

    text = write_glossary(entries)
    terms = sum(1 for entry in entries if entry.is_term)
    if file is None or file == _STDIO:
        print_exactly(text)
    else:
        write_file(file, text.encode())
    where = f" in {line(str(file))}" if file not in (None, _STDIO) else ""
    note(Text(f"{counted(terms, 'term')}, {counted(len(entries) - terms, 'group')}{where}"))


def print_glossary_changes(
    changes: "Sequence[GlossaryChange]", shown_as: OutputFormat | None
) -> None:
    """Print the changes in the given format, and totals to standard error."""
    show(glossary_table(changes), shown_as)
    if shown_as is None:
        for sentence in glossary_sentences(changes):
            note(Text(sentence))


def print_glossary_outcome(
    changes: "Sequence[GlossaryChange]",
    outcome: "GlossaryOutcome",
    shown_as: OutputFormat | None,
    *,
    dry_run: bool,
) -> None:
    """Print the changes that were made, or with `dry_run` would be made, and failures."""
    if shown_as == "json":
        failed = [
            {"urn": str(change.entry.urn), "what": change.what, "error": why}
            for change, why in outcome.failed
        ]
        listed = to_objects(glossary_table(changes))
        print_json({"dry_run": dry_run, "changes": listed, "failed": failed})
    else:
        print_glossary_changes(changes, None)
    for change, why in outcome.failed:
        note(Text(f"error: {change.what} of {line(str(change.entry.urn))}: {line(why)}"))
    if dry_run:
        note(Text("dry run: nothing was written"))
