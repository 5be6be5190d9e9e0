"""Coverage, the worklist, and the changes and files of `catalog docs`."""

import os
import sys
import tempfile
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
    Table,
    as_objects,
    note,
    print_csv,
    print_diff,
    print_exactly,
    print_json,
    print_table,
    print_urns,
    results,
    said,
)
from explorer.client.display import line
from explorer.errors import InvalidInput, StorageFault
from explorer.stewardship import (
    Applied,
    Change,
    ChangeFeed,
    Changeset,
    Count,
    Coverage,
    Entry,
    Row,
    Worklist,
    format_of,
    read_rows,
    write_report,
    write_rows,
)
from explorer.stewardship.coverage import CoverageTrend, Part
from explorer.views import stewardship as views
from explorer.views.feed import entries_with, feed_counts, feed_page, feed_remarks, feed_table

if TYPE_CHECKING:
    from explorer.stewardship import Format

__all__ = [
    "CoverageGate",
    "FileOutcome",
    "check_report",
    "check_target",
    "format_for",
    "print_changes",
    "print_coverage",
    "print_feed",
    "print_outcome",
    "print_outcome_as_json",
    "print_trend",
    "print_worklist",
    "read",
    "replace_file",
    "say_counts",
    "say_how_many_undocumented",
    "tell",
    "write",
    "write_report_to",
]

_STDIO = Path("-")


def format_for(file: Path | None, form: "Format | None") -> "Format":
    """Return the format said, or the one that the file's name tells."""
    if form is not None:
        return form
    if file is None or file == _STDIO:
        raise click.UsageError("--format says what is read or written where no file's name does")
    return format_of(file)


def check_target(file: Path | None, form: "Format", *, overwrite: bool) -> None:
    """Raises before anything is asked where the export could not be kept, or would replace a file
    in which somebody may have written."""
    if file is None or file == _STDIO:
        if form == "xlsx" and sys.stdout.isatty():
            raise click.UsageError("a workbook is nothing for a terminal; name a file: --output")
        return
    if file.exists() and not overwrite:
        raise InvalidInput(
            f"{line(str(file))} is there already, and somebody may have written in it; name "
            "another file, or say --overwrite"
        )
    if not file.absolute().parent.is_dir():
        raise StorageFault(f"{line(str(file.absolute().parent))} is no directory; make it first")


def check_report(report: Path, file: Path) -> None:
    """Raises where the report would replace the file that is imported."""
    if file != _STDIO and report.exists() and report.samefile(file):
        raise click.UsageError("--report names the file that is imported; name another")
    if not report.absolute().parent.is_dir():
        raise StorageFault(f"{line(str(report.absolute().parent))} is no directory; make it first")


def read(file: Path, form: "Format | None") -> tuple[Entry, ...]:
    """Return what a file says, or standard input."""
    chosen = format_for(file, form)
    try:
        data = sys.stdin.buffer.read() if file == _STDIO else file.read_bytes()
    except OSError as error:
        raise StorageFault(f"{line(str(file))} cannot be read: {error.strerror}") from error
    return read_rows(data, chosen)


def write(rows: Sequence[Row], file: Path | None, form: "Format", *, asked: int) -> None:
    """The export, and what is in it. Raises `InvalidInput` where none of the datasets is there."""
    tables = sum(1 for row in rows if not row.column)
    if not tables:
        raise InvalidInput("none of these datasets is in this catalog; nothing was written")
    data = write_rows(rows, form)
    if file is not None and file != _STDIO:
        replace_file(file, data)
    elif form == "xlsx":
        sys.stdout.buffer.write(data)
    else:
        print_exactly(data.decode())
    counts = f"{tables:,} {_s(tables, 'table')}, {len(rows) - tables:,} columns"
    where = f" in {line(str(file))}" if file is not None and file != _STDIO else ""
    note(Text(f"{counts}{where}"))
    if tables < asked:
        note(Text(f"{asked - tables:,} of the {asked:,} datasets are not in this catalog"))


def write_report_to(report: Path, left: "Iterable[Change]") -> None:
    """The report of what was not applied."""
    replace_file(report, write_report(left))


def replace_file(file: Path, data: bytes) -> None:
    """Write a file in one step, so that nobody reads half of it. Raises `StorageFault`."""
    try:
        if file.exists() and not file.is_file():
            # A pipe or a device is written to, not replaced.
            file.write_bytes(data)
            return
        mode = file.stat().st_mode & 0o777 if file.exists() else 0o666 & ~_umask()
        descriptor, draft = tempfile.mkstemp(".part", f".{file.name[:60]}-", file.absolute().parent)
        try:
            with os.fdopen(descriptor, "wb") as held:
                held.write(data)
            Path(draft).chmod(mode)
            Path(draft).replace(file)
        except BaseException:
            Path(draft).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise StorageFault(f"{line(str(file))} cannot be written: {error.strerror}") from error


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _s(number: int, noun: str) -> str:
    return noun if number == 1 else f"{noun}s"


@dataclass(frozen=True, slots=True)
class CoverageGate:
    """A share that tables and columns, or `only` one of them, must reach."""

    coverage: Coverage
    fail_under: float
    only: Part | None = None

    @property
    def parts(self) -> tuple[Part, ...]:
        """What is looked at."""
        return (self.only,) if self.only else views.PARTS

    @property
    def reached(self) -> bool:
        """Whether the build may go on; not where there is nothing to count."""
        counted = any(self.coverage.of(part).total for part in self.parts)
        return counted and self.coverage.reaches(self.fail_under, self.parts)

    def tell(self) -> bool:
        """Say what falls short; gives whether the gate is reached."""
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
    """Print a line for each group, or without groups one for tables and one for columns; in JSON
    also whether the gate is reached."""
    match shown_as:
        case "json":
            _print_coverage_as_json(coverage, gate)
        case "csv":
            print_csv(views.coverage_table(coverage))
        case _:
            print_table(views.coverage_page(coverage))
            for part in views.PARTS if coverage.by else ():
                note(Text(f"{part}: {views.count_sentence(coverage.of(part))}"))


def print_trend(trend: CoverageTrend, shown_as: OutputFormat | None) -> None:
    """Print a line for each day on which a count changed, newest first, or one for each group; then
    how the shares changed."""
    match shown_as:
        case "json":
            print_json(
                {
                    "since": trend.since and trend.since.isoformat(),
                    "by": trend.by,
                    "every": trend.every,
                    "datasets": trend.datasets,
                    "group_total": trend.group_total,
                    "days": as_objects(views.trend_table(trend)),
                }
            )
        case "csv":
            print_csv(views.trend_table(trend))
        case _:
            print_table(views.trend_page(trend))
            for sentence in views.trend_sentences(trend):
                note(Text(sentence))


def _print_coverage_as_json(coverage: Coverage, gate: CoverageGate | None) -> None:
    judged = gate and {
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
            "gate": judged,
        }
    )


def _count_as_json(count: Count) -> dict[str, Any]:
    return {field: getattr(count, field) for field in views.COUNTS}


def print_worklist(worklist: Worklist, shown_as: OutputFormat | None) -> None:
    """Print the items with what their place in the order comes from, or their datasets, each
    once; in JSON `total` counts what is undocumented in all."""
    match shown_as:
        case "json":
            items = as_objects(views.worklist_table(worklist))
            print_json({"days": worklist.days, "total": worklist.total, "items": items})
        case "csv":
            print_csv(views.worklist_table(worklist))
        case "urns":
            print_urns(dict.fromkeys(item.urn for item in worklist.items))
        case _ if worklist.items:
            print_table(views.worklist_page(worklist))
        case _:
            pass


def say_how_many_undocumented(worklist: Worklist) -> None:
    """Print how many of how many were shown."""
    more = "; --top shows more" if worklist.total and worklist.truncated else ""
    note(Text(f"{views.worklist_counts(worklist)}{more}"))


def print_feed(feed: ChangeFeed, words: str, shown_as: OutputFormat | None, *, care: bool) -> None:
    """Print the entries of a feed that have the words, and with `care` only those that written
    texts may not fit; how much that is goes to standard error."""
    entries = [one for one in entries_with(feed, words) if one.needs_care or not care]
    match shown_as:
        case "json":
            print_json(
                {
                    "since": feed.since.isoformat() if feed.since is not None else None,
                    "user": str(feed.user) if feed.user is not None else None,
                    "unread": feed.unread,
                    "more_entities": feed.more_entities,
                    "trimmed": feed.trimmed,
                    "replaced": feed.replaced,
                    "changes": as_objects(feed_table(feed, entries)),
                }
            )
        case "csv":
            print_csv(feed_table(feed, entries))
        case "urns":
            print_urns(dict.fromkeys(str(one.urn) for one in entries))
        case _ if entries:
            print_table(feed_page(feed, entries))
        case _:
            pass
    chosen = f"{len(entries):,} of " if len(entries) < len(feed.entries) else ""
    note(Text(f"{chosen}{feed_counts(feed)}"))
    for remark in feed_remarks(feed):
        note(Text(remark))


_UNTRIED: Final = "the work had ended before it was written"
_MOST_SHOWN: Final = 200
_MOST_LINES: Final = 30
# Told, but nothing that somebody has to see to.
_HARMLESS: Final = frozenset({"emptied"})


@dataclass(frozen=True, slots=True)
class FileOutcome:
    """What became of a file: what it would change, and of the `wanted` what was applied."""

    file: str
    changeset: Changeset
    applied: Applied
    wanted: tuple[Change, ...]
    dry_run: bool

    @property
    def left(self) -> tuple[Change, ...]:
        """Every line that changes something and was not applied, in the file's order, with what
        is known of why."""
        kept = {id(change) for change, _ in self.applied.done}
        if self.dry_run:
            kept = {id(change) for change in self.wanted}
        pending = {id(change) for change in (*self.wanted, *self.changeset.left)} - kept
        why = {id(failure.change): failure.why for failure in self.applied.failed}
        why |= {id(change): _UNTRIED for change in self.applied.untried}
        return tuple(
            replace(change, why=why.get(id(change), change.why))
            for change in self.changeset.changes
            if id(change) in pending
        )

    @property
    def fails(self) -> bool:
        """Whether something is left that somebody has to see to."""
        return any(change.kind not in _HARMLESS for change in self.left)


def print_changes(
    changeset: Changeset, file: str = "", shown_as: OutputFormat | None = None
) -> None:
    """Print each change but the unchanged; for people as a diff, and then each line that is left
    with the reason."""
    if shown_as == "json":
        print_json(_as_json(file, changeset))
        return
    if shown_as == "csv":
        print_csv(_table(changeset))
        return
    console = results()
    shown = changeset.to_apply()
    for change in islice(shown, _MOST_SHOWN):
        _print_change(console, change)
    if len(shown) > _MOST_SHOWN:
        note(Text(f"and {len(shown) - _MOST_SHOWN:,} more; --json has them all"))
    _print_left(console, changeset.left)


def print_outcome(outcome: FileOutcome) -> None:
    """What was written, a line for each, and what is left."""
    console = results()
    for change, edit in outcome.applied.done:
        verb = change.kind if edit.changed else "there already"
        console.print(said(verb), Text("  "), _place(change), sep="", soft_wrap=True)
    wanted = {id(change) for change in outcome.wanted}
    _print_left(console, [one for one in outcome.changeset.left if id(one) not in wanted])


def print_outcome_as_json(outcome: FileOutcome, more: Mapping[str, Any] | None = None) -> None:
    """The counts, the changes, and what became of them; and what `more` has."""
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


def say_counts(changeset: Changeset) -> None:
    """How many lines there are of each kind."""
    note(Text(", ".join(views.change_counts(changeset)) or "the file has no lines"))


def tell(outcome: FileOutcome, *, report: Path | None) -> None:
    """How it went, on standard error."""
    for failure in outcome.applied.failed:
        where = f"{failure.change.entry.place}: {failure.why}"
        note(Text(f"not written: {line(where)}"))
    say_counts(outcome.changeset)
    wanted = len(outcome.wanted)
    changes = f"{wanted:,} {'change' if wanted == 1 else 'changes'}"
    if not wanted:
        note(Text("there is nothing to write"))
    elif outcome.dry_run:
        note(Text(f"nothing was written: this was a dry run of {changes}"))
    else:
        note(Text(f"{len(outcome.applied.done):,} of {changes} written"))
    if report is not None:
        note(Text(f"not applied, and told in {line(str(report))}: {len(outcome.left):,}"))
    elif outcome.fails:
        note(Text("--report FILE writes down every line that was not applied"))


def _print_change(console: Console, change: Change) -> None:
    console.print(_place(change), Text(f"  {change.kind}", "dim"), sep="", soft_wrap=True)
    lines = views.change_diff(change)
    print_diff(lines[:_MOST_LINES], console, indent=2)
    if len(lines) > _MOST_LINES:
        console.print(Text(f"    … {len(lines) - _MOST_LINES:,} more lines", "dim"))


def _print_left(console: Console, left: Sequence[Change]) -> None:
    for change in islice(left, _MOST_SHOWN):
        parts = (said(change.entry.place), said(change.kind, "bold"), _place(change))
        console.print(Text("  ").join(parts), soft_wrap=True)
        if change.kind == "conflict":
            console.print(Text(f"  theirs  {line(change.theirs, 200)}", "red"), soft_wrap=True)
            console.print(Text(f"  mine    {line(change.mine, 200)}", "green"), soft_wrap=True)
        if change.why:
            console.print(Text("  "), said(change.why, "dim"), sep="", soft_wrap=True)
    if len(left) > _MOST_SHOWN:
        note(Text(f"and {len(left) - _MOST_SHOWN:,} more that fit nowhere; --report has them all"))


def _place(change: Change) -> Text:
    table, column = views.change_place(change)
    name = said(table, "bold")
    if column:
        name.append(f" · {line(column)}", "bold")
    return name


def _table(changeset: Changeset) -> Table:
    return views.changes_table(tuple(one for one in changeset.changes if one.kind != "unchanged"))


def _as_json(file: str, changeset: Changeset) -> dict[str, Any]:
    return {
        "file": file,
        "counts": changeset.counts(),
        "changes": as_objects(_table(changeset)),
    }
