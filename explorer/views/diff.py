"""The differences between two texts, or between two values of an aspect, as lines."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher, unified_diff
from itertools import groupby
from typing import Final, Literal

from explorer.client.display import block, line
from explorer.client.records import ChangeKind, ValueChange
from explorer.metadata.urn import Urn

CHANGE_MARKS: Final[Mapping[ChangeKind, str]] = {"added": "+", "removed": "-", "changed": "~"}
"""The mark for each kind of change."""

LineKind = Literal["place", "minor", "added", "removed", "same", "gap", "note"]
"""The kinds of lines in a diff.

`place` is the position of a change (`minor`: of a field that every write changes); `added`,
`removed` and `same` are lines of the values; `gap` stands for omitted lines; `note` is a remark.
"""

# Every write updates these fields, so they are left out if anything else changed.
_MINOR_FIELDS: Final = frozenset({"created", "hash", "lastModified"})
# Fields that hold the columns; left out of places, because the column's name suffices.
_COLUMN_FIELDS: Final = frozenset({"editableSchemaFieldInfo", "fields"})
_SUMMARY_CHANGES: Final = 3
_SUMMARY_VALUES: Final = 60
_MAX_LINES: Final = 5_000
# Texts with more lines are not compared line by line, because that takes quadratic time.
_MAX_COMPARED: Final = 5_000
_MAX_WORDS: Final = 400
_MAX_PAIRS: Final = 200
# Lines with less similarity count as two different lines.
_MIN_SIMILARITY: Final = 0.4
_WORDS: Final = re.compile(r"\w+|\s+|[^\w\s]")
_SIGNS: Final[Mapping[str, LineKind]] = {"+": "added", "-": "removed", " ": "same"}


@dataclass(frozen=True, slots=True)
class DiffLine:
    """A line of a diff, without line end; `text` is not cleaned for display.

    `mark` is the sign before it: +, -, ~, a space for unchanged lines, empty for a remark.
    `changed` are the ranges of characters that differ from the line's counterpart.
    """

    text: str
    kind: LineKind = "same"
    mark: str = " "
    changed: tuple[tuple[int, int], ...] = ()

    def segments(self) -> Iterator[tuple[str, bool]]:
        """Yield the text in pieces, each with whether it changed."""
        at = 0
        for start, end in self.changed:
            if at < start:
                yield self.text[at:start], False
            yield self.text[start:end], True
            at = end
        if at < len(self.text) or not self.changed:
            yield self.text[at:], False

    def cleaned(self, clean: Callable[[str], str]) -> "DiffLine":
        """Return the line with its text cleaned by `clean`, and its ranges adjusted."""
        if not self.changed:
            return replace(self, text=clean(self.text))
        text, changed = "", []
        for segment, is_changed in self.segments():
            start, text = len(text), text + clean(segment)
            if is_changed:
                changed.append((start, len(text)))
        return replace(self, text=text, changed=tuple(changed))

    def on_one_line(self) -> "DiffLine":
        """Return the line with control characters shown as marks, and line breaks as spaces."""
        return self.cleaned(lambda text: block(text).replace("\n", " "))


Diff = tuple[DiffLine, ...]
"""The lines of a diff, from top to bottom."""


def text_diff(
    before: str | None, after: str | None, *, context: int = 3, exact: bool = False
) -> Diff:
    """Return the differences between two texts, with `context` lines around each.

    Lines that differ only in their line ends are equal, unless `exact` is set, in which lines end
    with a newline and everything before it belongs to the line. Takes quadratic time in the number
    of lines: call it in a thread.
    """
    before, after = before or "", after or ""
    if before == after:
        return (_note("Nothing differs."),)
    if exact:
        old, new = (text.split("\n") if text else [] for text in (before, after))
        rows = list(unified_diff(old, new, n=context, lineterm=""))[2:]
    else:
        rows = list(_unify(ValueChange((), "changed", before, after), context))
    return tuple(_diff_lines(rows)) or (_note("Only the ends of lines differ."),)


def value_diff(
    changes: Sequence[ValueChange],
    *,
    max_changes: int | None = None,
    max_lines: int = _MAX_LINES,
) -> Diff:
    """Return each change: its position, then the old and the new value.

    Changes of fields that every write updates come last. At most `max_changes` changes are shown,
    with at most `max_lines` lines each and about 5,000 in total; a remark counts the rest. Takes
    quadratic time in the number of lines: call it in a thread.
    """
    significant = {id(change) for change in significant_changes(changes)}
    ordered = sorted(changes, key=lambda change: id(change) not in significant)
    lines: list[DiffLine] = []
    for number, change in enumerate(ordered):
        if len(lines) > _MAX_LINES or number == max_changes:
            lines.append(_note(f"… {len(ordered) - number:,} more changes"))
            break
        if lines:
            lines.append(DiffLine(""))
        place = " / ".join(line(Urn.label(step)) for step in change.path)
        kind: LineKind = "place" if id(change) in significant else "minor"
        lines.append(DiffLine(place, kind, CHANGE_MARKS[change.kind]))
        lines += _diff_lines(_unify(change), max_lines)
    return tuple(lines)


def plain_lines(text: str) -> Diff:
    """Return the lines of a text as unchanged lines."""
    return tuple(DiffLine(text_line) for text_line in text.splitlines())


def significant_changes(changes: Sequence[ValueChange]) -> Sequence[ValueChange]:
    """Return the changes without those of fields that every write updates, unless there are no
    others."""
    return [change for change in changes if change.path[0] not in _MINOR_FIELDS] or changes


def summary_of(changes: Sequence[ValueChange]) -> str:
    """Return the first three changes in a few words each, and the number of further changes."""
    significant = significant_changes(changes)
    parts = [_brief(change) for change in significant[:_SUMMARY_CHANGES]]
    more = len(significant) - len(parts)
    return ", ".join([*parts, f"{more:,} more"] if more else parts)


def _brief(change: ValueChange) -> str:
    is_of_column = len(change.path) > 1 and change.path[0] in _COLUMN_FIELDS
    shown_path = change.path[1:] if is_of_column else change.path
    steps = [line(Urn.label(step)) for step in shown_path]
    place = "/".join(steps)
    mark = CHANGE_MARKS[change.kind]
    before, after = (_short(value) for value in (change.before, change.after))
    if change.kind == "changed":
        is_short = before and after and len(before) + len(after) <= _SUMMARY_VALUES
        return f"{mark} {place}: {before} → {after}" if is_short else f"{mark} {place}"
    value = after or before
    return f"{mark} {place}: {value}" if value and value != steps[-1] else f"{mark} {place}"


def _short(value: object) -> str:
    """Return a short value as text, and an empty string for a long or structured one."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    text = line(Urn.label(str(value)), _SUMMARY_VALUES + 1)
    return text if len(text) <= _SUMMARY_VALUES else ""


def _note(text: str) -> DiffLine:
    return DiffLine(text, "note", "")


def _diff_lines(rows: Sequence[str], max_lines: int = _MAX_LINES) -> Iterator[DiffLine]:
    """Yield the lines of a unified diff without the two lines that name the files."""
    # The header of the first hunk is omitted, because the change's position is shown instead.
    rows = rows[1:] if rows and rows[0].startswith("@@") else rows
    lines = [
        DiffLine("⋯", "gap") if row.startswith("@@") else DiffLine(row[1:], _SIGNS[row[0]], row[0])
        for row in rows[:max_lines]
    ]
    yield from _with_words(lines)
    if len(rows) > max_lines:
        yield _note(f"… {len(rows) - max_lines:,} more lines")


def _unify(change: ValueChange, context: int = 3) -> Sequence[str]:
    before, after = change.before, change.after
    if all(isinstance(text, str) and text.count("\n") > _MAX_COMPARED for text in (before, after)):
        removed = ValueChange(change.path, "removed", before=before).lines()
        return (*removed, *ValueChange(change.path, "added", after=after).lines()[1:])
    return change.lines(context)


def _with_words(lines: Iterable[DiffLine]) -> Iterator[DiffLine]:
    """Yield the lines, with the changed words marked in each removed line that an added one
    replaces."""
    removed: list[DiffLine] = []
    for kind, group in groupby(lines, lambda diff_line: diff_line.kind):
        run = list(group)
        if kind == "added":
            pairs = min(len(removed), len(run), _MAX_PAIRS)
            for at in range(pairs):
                removed[at], run[at] = _pair_words(removed[at], run[at])
        yield from removed
        removed = run if kind == "removed" else []
        if kind != "removed":
            yield from run
    yield from removed


def _pair_words(old: DiffLine, new: DiffLine) -> tuple[DiffLine, DiffLine]:
    before, after = _WORDS.findall(old.text), _WORDS.findall(new.text)
    if max(len(before), len(after)) > _MAX_WORDS:
        return old, new
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    if matcher.ratio() < _MIN_SIMILARITY:
        return old, new
    edits = [edit for edit in matcher.get_opcodes() if edit[0] != "equal"]
    return (
        replace(old, changed=_ranges(before, [edit[1:3] for edit in edits])),
        replace(new, changed=_ranges(after, [edit[3:5] for edit in edits])),
    )


def _ranges(words: Sequence[str], edits: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Return ranges of words as ranges of characters, without empty ranges."""
    starts = [0]
    for word in words:
        starts.append(starts[-1] + len(word))
    return tuple((starts[first], starts[last]) for first, last in edits if first < last)
