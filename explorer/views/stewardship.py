"""Coverage, the worklist and changesets as they are shown: tables for people and for programs.

Tables for people have the headings and words that every front end shows; those for programs have
every value under a stable name.
"""

from typing import TYPE_CHECKING, Final

from explorer.metadata.fieldpath import FieldPath
from explorer.views.table import Row, Table, TableColumn

if TYPE_CHECKING:
    from explorer.stewardship.changeset import Change, Changeset
    from explorer.stewardship.coverage import Count, Coverage, Group, Part
    from explorer.stewardship.worklist import Item, Worklist

__all__ = [
    "COUNTS",
    "PARTS",
    "WHOLE_TABLE",
    "change_counts",
    "change_place",
    "changes_table",
    "count_sentence",
    "coverage_page",
    "coverage_table",
    "group_name",
    "percent_of",
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
    """Return the documented share in words: `62.5%`."""
    return "none" if count.percent is None else f"{count.percent:g}%"


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
            TableColumn("percent", "%"),
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
            TableColumn(f"{part}_{field}", heading)
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
