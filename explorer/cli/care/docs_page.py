"""What a file would change, and what became of it: as a diff, as CSV, as JSON."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import islice
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.text import Text

from explorer.cli.output import note, print_json, results, said
from explorer.cli.tables import Column, Table, as_objects, print_csv
from explorer.client.display import line, visible
from explorer.metadata.fieldpath import FieldPath
from explorer.stewardship import Applied, Change, Changeset

__all__ = [
    "Outcome",
    "print_changes",
    "print_changes_as_csv",
    "print_changes_as_json",
    "print_outcome",
    "print_outcome_as_json",
    "say_counts",
    "tell",
]

_COLUMNS: Final = tuple(
    map(Column, ("place", "kind", "urn", "table", "column", "base", "theirs", "mine", "why"))
)
_UNTRIED: Final = "the work had ended before it was written"
_MOST_SHOWN: Final = 200
_MOST_LINES: Final = 30
_STYLES: Final = {"-": "red", "+": "green"}
# Told, but nothing that somebody has to see to.
_HARMLESS: Final = frozenset({"emptied"})


@dataclass(frozen=True, slots=True)
class Outcome:
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


def print_changes(changeset: Changeset) -> None:
    """Each change as a diff, then each line that is left, with the reason."""
    console = results()
    shown = changeset.to_apply()
    for change in islice(shown, _MOST_SHOWN):
        _print_change(console, change)
    if len(shown) > _MOST_SHOWN:
        note(Text(f"and {len(shown) - _MOST_SHOWN:,} more; --json has them all"))
    _print_left(console, changeset.left)


def print_changes_as_csv(changeset: Changeset) -> None:
    """A line for each change, all but the unchanged."""
    print_csv(_table(changeset))


def print_changes_as_json(file: str, changeset: Changeset) -> None:
    """The counts, and each change but the unchanged."""
    print_json(_as_json(file, changeset))


def print_outcome(outcome: Outcome) -> None:
    """What was written, a line for each, and what is left."""
    console = results()
    for change, edit in outcome.applied.done:
        verb = change.kind if edit.changed else "there already"
        console.print(said(verb), Text("  "), _place(change), sep="", soft_wrap=True)
    wanted = {id(change) for change in outcome.wanted}
    _print_left(console, [one for one in outcome.changeset.left if id(one) not in wanted])


def print_outcome_as_json(outcome: Outcome) -> None:
    """The counts, the changes, and what became of them."""
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
        }
    )


def say_counts(changeset: Changeset) -> None:
    """How many lines there are of each kind."""
    counts = [f"{number:,} {kind}" for kind, number in changeset.counts().items()]
    note(Text(", ".join(counts) or "the file has no lines"))


def tell(outcome: Outcome, *, report: Path | None) -> None:
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
    lines = list(_diff(change.theirs or "", change.mine))
    for sign, text in lines[:_MOST_LINES]:
        console.print(Text(f"  {sign} {text}", _STYLES.get(sign, "dim")), soft_wrap=True)
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
    name = said(change.table or change.urn, "bold")
    if change.column is not None:
        name.append(f" · {line(FieldPath(change.column).simple)}", "bold")
    return name


def _diff(before: str, after: str) -> Iterator[tuple[str, str]]:
    """Lines that went, came, and one around them that stayed."""
    old, new = (_lines(text) for text in (before, after))
    for group in SequenceMatcher(None, old, new, autojunk=False).get_grouped_opcodes(1):
        for tag, old_from, old_to, new_from, new_to in group:
            if tag == "equal":
                yield from ((" ", text) for text in old[old_from:old_to])
                continue
            yield from (("-", text) for text in old[old_from:old_to])
            yield from (("+", text) for text in new[new_from:new_to])


def _lines(text: str) -> list[str]:
    return [visible(one) for one in text.split("\n")] if text else []


def _table(changeset: Changeset) -> Table:
    rows = [
        (
            change.entry.place,
            change.kind,
            change.urn,
            change.table,
            change.column,
            change.base,
            change.theirs,
            change.mine,
            change.why,
        )
        for change in changeset.changes
        if change.kind != "unchanged"
    ]
    return Table(_COLUMNS, rows)


def _as_json(file: str, changeset: Changeset) -> dict[str, Any]:
    return {
        "file": file,
        "counts": changeset.counts(),
        "changes": as_objects(_table(changeset)),
    }
