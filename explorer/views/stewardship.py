"""Coverage, the worklist and changesets as they are shown: tables for people and for programs.

Tables for people have the headings and words that every front end shows; those for programs have
every value under a stable name.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, overload

from explorer.client.display import hidden_count
from explorer.metadata.fieldpath import FieldPath
from explorer.metadata.urn import Urn
from explorer.views.diff import Diff, DiffLine, plain_lines, text_diff
from explorer.views.table import Row, Table, TableColumn

if TYPE_CHECKING:
    from explorer.stewardship.changeset import Change, Changeset
    from explorer.stewardship.coverage import Count, Coverage, Group, Part
    from explorer.stewardship.staging import (
        ReviewItem,
        ReviewState,
        StagedChangeset,
        StagedEdit,
        TextSource,
    )
    from explorer.stewardship.worklist import Item, Worklist

__all__ = [
    "COUNTS",
    "PARTS",
    "STATE_MARKS",
    "WHOLE_TABLE",
    "change_counts",
    "change_diff",
    "change_place",
    "changes_table",
    "count_sentence",
    "coverage_page",
    "coverage_table",
    "edit_column",
    "edit_sentence",
    "group_name",
    "item_people",
    "item_sentences",
    "others_diff",
    "percent_of",
    "review_counts",
    "review_diff",
    "review_page",
    "review_table",
    "source_sentence",
    "worklist_counts",
    "worklist_page",
    "worklist_table",
]

PARTS: "Final[tuple[Part, ...]]" = ("tables", "columns")
COUNTS: Final = ("total", "documented", "edited", "ingested", "percent")
"""What is counted of each part, by the names of the attributes of `Count`."""

WHOLE_TABLE: Final = "(the table itself)"
"""Stands in the place of a column where the table is meant."""


def percent_of(count: "Count") -> str:
    """Return the documented share in words: `62.5%`, `43.0%`."""
    return "none" if count.percent is None else f"{count.percent:.1f}%"


def count_sentence(count: "Count") -> str:
    """Return how much is documented, and by whom."""
    if not count.total:
        return "none"
    return (
        f"{count.documented:,} of {count.total:,} documented ({percent_of(count)}), "
        f"{count.edited:,} by people, {count.ingested:,} by ingestion"
    )


def group_name(group: "Group", by: str | None) -> str:
    """Return the name of a group; `(no owner)` for what belongs to none."""
    return group.name or f"(no {by})"


def coverage_page(coverage: "Coverage") -> Table:
    """Return the coverage for people: a row for each group, with how many of its columns miss a
    description, or without groups one for tables and one for columns."""
    if coverage.by is None:
        sums = (
            TableColumn("part", "", style="bold"),
            TableColumn("total"),
            TableColumn("documented"),
            TableColumn("percent", "%", decimals=1),
            TableColumn("edited", "by people"),
            TableColumn("ingested", "by ingestion"),
        )
        counts = ((part, coverage.of(part)) for part in PARTS)
        rows: list[Row] = [
            (part, one.total, one.documented, one.percent, one.edited, one.ingested)
            for part, one in counts
        ]
        return Table(sums, rows, "Coverage")
    columns = (
        TableColumn("name", coverage.by, folds=True, style="bold"),
        *(
            TableColumn(f"{part}_{field}", heading, decimals=1)
            for part in PARTS
            for field, heading in (("total", part), ("documented", "done"), ("percent", "%"))
        ),
        TableColumn("columns_undocumented", "missing"),
    )
    rows = []
    for group in coverage.groups:
        counted = (group.of(part) for part in PARTS)
        cells = (cell for one in counted for cell in (one.total, one.documented, one.percent))
        rows.append((group_name(group, coverage.by), *cells, group.columns.undocumented))
    return Table(columns, rows, f"Coverage by {coverage.by}")


def coverage_table(coverage: "Coverage") -> Table:
    """Return the coverage for programs: a row for each group, or without groups one without a key
    for everything."""
    names = ("key", "name", *(f"{part}_{field}" for part in PARTS for field in COUNTS))
    whole = ("", "", coverage.tables, coverage.columns)
    groups = [(one.key, one.name, one.tables, one.columns) for one in coverage.groups]
    rows: list[Row] = [
        (key, name, *(getattr(count, field) for count in counts for field in COUNTS))
        for key, name, *counts in (groups if coverage.by else [whole])
    ]
    return Table.of("coverage", names, rows)


def worklist_page(worklist: "Worklist") -> Table:
    """Return the worklist for people, with what the place of an item in the order comes from.
    Tables of one name are told apart: `orders (hive)`."""
    from explorer.graph.nodes import named_apart

    columns = (
        TableColumn("weight"),
        TableColumn("used"),
        TableColumn("used_of", "of", style="dim"),
        TableColumn("downstream"),
        TableColumn("urn", audience="programs"),
        TableColumn("table", folds=True, style="bold", detail="urn"),
        TableColumn("column", folds=True),
        TableColumn("type", max_width=12, style="dim"),
    )
    tables = named_apart((item.urn, {"name": item.table}) for item in worklist.items)
    rows = [_item_row(item, tables[item.urn]["name"]) for item in worklist.items]
    return Table(columns, rows, "To document", worklist.total)


def _item_row(item: "Item", table: str) -> Row:
    downstream = f"{item.downstream:,}+" if item.at_least else item.downstream
    column = item.column.simple if item.column else WHOLE_TABLE
    used_of = item.use_of if item.use else None
    return (
        *(item.weight, item.use, used_of, downstream),
        *(item.urn, table, column, item.type),
    )


def item_sentences(item: "Item", days: int) -> tuple[str, str]:
    """Return how much an item of the worklist was used in some days, and what is made from it."""
    used = f"used {item.use:,} times in {days} days" if item.use else "no use was measured"
    of_table = " (its table)" if item.use and item.use_of == "table" and item.column else ""
    at_least = "at least " if item.at_least else ""
    return f"{used}{of_table}", f"{at_least}{item.downstream:,} made from its table"


def worklist_table(worklist: "Worklist") -> Table:
    """Return the worklist for programs; `column` is the exact path, None for a table itself."""
    names = (
        *("urn", "table", "platform", "column", "type"),
        *("weight", "used", "used_of", "downstream", "at_least"),
    )
    rows: list[Row] = [
        (
            *(item.urn, item.table, item.platform, item.column.raw if item.column else None),
            *(item.type, item.weight, item.use, item.use_of, item.downstream, item.at_least),
        )
        for item in worklist.items
    ]
    return Table.of("worklist", names, rows)


def worklist_counts(worklist: "Worklist") -> str:
    """Return how many of how many undocumented tables and columns are listed."""
    if not worklist.total:
        return "everything here is documented"
    return f"{len(worklist):,} of {worklist.total:,} undocumented shown"


def changes_table(changes: "tuple[Change, ...]") -> Table:
    """Return a row for each change, all of them text: where it stands in the file, what comes of
    it, what it is about, the three texts, and more where the kind does not say all."""
    names = ("place", "kind", "urn", "table", "column", "base", "theirs", "mine", "why")
    rows: list[Row] = [
        (
            *(one.entry.place, one.kind, one.urn, one.table, one.column),
            *(one.base, one.theirs, one.mine, one.why),
        )
        for one in changes
    ]
    return Table.of("changes", names, rows)


def change_counts(changeset: "Changeset") -> tuple[str, ...]:
    """Return how many lines of a file there are of each kind."""
    return tuple(f"{count:,} {kind}" for kind, count in changeset.counts().items())


def change_place(change: "Change") -> tuple[str, str]:
    """Return what a change is about: the table, and the column as people write it, which is empty
    for the table itself."""
    column = FieldPath(change.column).simple if change.column is not None else ""
    return change.table or change.urn, column


def change_diff(change: "Change") -> Diff:
    """Return a change as lines: why it is not made, where it is not, and what it would write. Of a
    conflict also what somebody else wrote since, where the text it started from is known."""
    notes = [DiffLine(one, "note", "") for one in (change.why, _hidden(change.mine)) if one]
    if change.theirs is None:
        return (*notes, *(DiffLine(one.text, "note", "") for one in plain_lines(change.mine)))
    if change.kind != "conflict":
        return (*notes, *text_diff(change.theirs, change.mine, context=1, exact=True))
    theirs = _held_lines(change.theirs)
    if change.base is not None:
        theirs = text_diff(change.base, change.theirs, context=1, exact=True)
    return (
        *notes,
        DiffLine("what somebody else wrote:", "note", ""),
        *theirs,
        DiffLine("what it would become:", "note", ""),
        *text_diff(change.theirs, change.mine, context=1, exact=True),
    )


def others_diff(change: "Change") -> Diff:
    """Return what somebody else changed of a text that a file left as it was, as lines."""
    return text_diff(change.base or "", change.theirs or "", context=1, exact=True)


def _hidden(text: str) -> str:
    count = hidden_count(text)
    characters = "1 character" if count == 1 else f"{count:,} characters"
    return f"{characters} in it cannot be seen" if count else ""


def _held_lines(text: str) -> Diff:
    return tuple(plain_lines(text)) or (DiffLine("(no text any more)", "note", ""),)


STATE_MARKS: "Final[dict[ReviewState, str]]" = {
    "open": "·",
    "accepted": "✓",
    "refused": "✗",
    "applied": "●",
    "failed": "!",
}
"""What stands before a staged edit, beside the word for its state."""


def review_page(items: "Sequence[ReviewItem]") -> Table:
    """Return staged edits for people: what became of each, what it changes, and into what."""
    columns = (
        TableColumn("state", max_width=10),
        TableColumn("table", folds=True, style="bold"),
        TableColumn("column", folds=True),
        TableColumn("change", folds=True),
        TableColumn("from", max_width=34, style="dim"),
    )
    return Table(columns, _ReviewRows(items), "Changes to review")


class _ReviewRows(Sequence[Row]):
    """The rows of staged edits, each made when it is looked at: a list of thousands is shown again
    after every decision."""

    def __init__(self, items: "Sequence[ReviewItem]") -> None:
        self._items = items

    def __len__(self) -> int:
        return len(self._items)

    @overload
    def __getitem__(self, at: int) -> Row: ...

    @overload
    def __getitem__(self, at: slice) -> Sequence[Row]: ...

    def __getitem__(self, at: int | slice) -> Row | Sequence[Row]:
        if isinstance(at, slice):
            return _ReviewRows(self._items[at])
        item = self._items[at]
        return (
            f"{STATE_MARKS[item.state]} {item.state}",
            item.edit.name,
            edit_column(item.edit),
            edit_sentence(item.edit),
            item_source(item),
        )


def review_table(items: "Sequence[ReviewItem]") -> Table:
    """Return staged edits for programs, all of it text: labels are joined by a space, and owners,
    which hold one, by a comma. `theirs` is known where somebody wrote there meanwhile."""
    names = (
        *("number", "state", "urn", "table", "column", "what", "before", "text", "add", "remove"),
        *("theirs", "why", "decided_by", "source", "source_urn", "source_column"),
    )
    rows: list[Row] = []
    for item in items:
        edit = item.edit
        joint = ", " if edit.what == "owners" else " "
        first = edit.sources[0] if edit.sources else None
        known = (
            (first.found_by, first.urn, first.column) if first is not None else (None, None, None)
        )
        rows.append(
            (
                *(item.number, item.state, edit.urn, edit.name, edit.column, edit.what),
                *(edit.before, edit.text, joint.join(edit.add), joint.join(edit.remove)),
                *(item.theirs, item.why, item.decided_by, *known),
            )
        )
    return Table.of("review", names, rows)


def review_counts(changeset: "StagedChangeset") -> tuple[str, ...]:
    """Return how many staged edits there are of each state, in words."""
    return tuple(f"{count:,} {state}" for state, count in changeset.counts().items())


def edit_column(edit: "StagedEdit") -> str:
    """Return the column that a staged edit is about, as people write it."""
    return FieldPath(edit.column).simple if edit.column is not None else WHOLE_TABLE


def edit_sentence(edit: "StagedEdit") -> str:
    """Return what a staged edit writes, in one line."""
    if edit.what == "description":
        return " ".join(edit.text.split()) or "no description any more"
    named = [f"+{_label(one)}" for one in edit.add] + [f"−{_label(one)}" for one in edit.remove]
    return f"{edit.what}: {' '.join(named) or 'none'}"


def item_people(item: "ReviewItem", changeset: "StagedChangeset") -> str:
    """Return who proposed a staged edit, and who decided what of it, as far as that is known."""
    proposed = Urn.label(changeset.proposed_by) if changeset.proposed_by else ""
    decided = Urn.label(item.decided_by) if item.decided_by else ""
    verbs = {
        "refused": "refused",
        "accepted": "accepted",
        "applied": "accepted",
        "failed": "accepted",
    }
    known = [f"proposed by {proposed}" if proposed else ""]
    if item.is_changed:
        known.append(f"changed by {decided}" if decided else "changed since")
    if item.state in verbs and decided:
        known.append(f"{verbs[item.state]} by {decided}")
    return " · ".join(filter(None, known))


def item_source(item: "ReviewItem") -> str:
    """Return in a few words where a proposed text comes from; nothing where it is not known."""
    if item.is_changed:
        return f"changed by {Urn.label(item.decided_by)}"
    return _source_words(item.edit.sources[0]) if item.edit.sources else ""


def source_sentence(source: "TextSource", edit: "StagedEdit") -> str:
    """Return where the proposed text of an edit comes from, how sure that is, and how many columns
    have it. A column of another name is said to be one: it may have been renamed or computed."""
    agreeing = f"; {source.agreeing:,} columns have this text" if source.agreeing > 1 else ""
    whose = ".".join(filter(None, (source.table, _simple(source.column))))
    hops = "1 hop" if source.hops == 1 else f"{source.hops:,} hops"
    match source.found_by:
        case "lineage":
            found = f"from {whose}, {hops} upstream by the lineage of columns"
            if edit.column and FieldPath(edit.column).name != FieldPath(source.column).name:
                found += ", of another name"
        case "name":
            found = f"from {whose}, {hops} upstream; a guess, by the name of the column"
        case "elsewhere":
            found = f"from {whose}, which is of the same name; a guess"
        case "file":
            found = "from a file"
        case _:
            found = "drafted by a command"
    return f"{found}{agreeing}"


def review_diff(item: "ReviewItem") -> Diff:
    """Return a staged edit as lines: where its text comes from, what stands there, and what it
    would write."""
    edit = item.edit
    notes = [source_sentence(one, edit) for one in edit.sources]
    if hidden := _hidden(edit.text):
        notes.append(hidden)
    if item.why:
        notes.insert(0, f"not written: {item.why}")
    lines = [DiffLine(note, "note", "") for note in notes]
    if edit.what != "description":
        added = [DiffLine(_label(one), "added", "+") for one in edit.add]
        return (*lines, *added, *(DiffLine(_label(one), "removed", "-") for one in edit.remove))
    held = edit.before if item.theirs is None else item.theirs
    if item.theirs is not None:
        lines.append(DiffLine("somebody else wrote this meanwhile:", "place", ""))
        lines += _held_lines(item.theirs)
        lines.append(DiffLine("with the proposed text it becomes:", "place", ""))
    elif edit.shown and not edit.before:
        lines.append(DiffLine("the description that came with the metadata:", "place", ""))
        lines += plain_lines(edit.shown)
    return (*lines, *text_diff(held, edit.text))


def _source_words(source: "TextSource") -> str:
    where = ".".join(filter(None, (source.table, _simple(source.column))))
    match source.found_by:
        case "lineage":
            return where
        case "name" | "elsewhere":
            return f"{where}?"
        case "file":
            return "file"
        case _:
            return "command"


def _simple(column: str) -> str:
    return FieldPath(column).simple if column else ""


def _label(label: str) -> str:
    """Return a label without the kind of its URN; of an owner the kind of ownership too."""
    urn, _, ownership = label.partition(" ")
    name = Urn.label(urn)
    return f"{name} ({ownership.lower().replace('_', ' ')})" if ownership else name
