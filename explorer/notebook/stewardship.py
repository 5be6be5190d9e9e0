"""Caring for a catalog from a notebook: coverage, what to write next, and changes in bulk, each
showing itself and a DataFrame when asked."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from explorer import stewardship
from explorer.client.records import LoadReport
from explorer.metadata.fieldpath import FieldPath
from explorer.metadata.urn import Urn
from explorer.notebook.progress import with_progress
from explorer.notebook.schema import described
from explorer.notebook.view import Cell, Grid, Part, Say, Table, Title, tabulated
from explorer.query.filters import Filter
from explorer.stewardship.changeset import KINDS

if TYPE_CHECKING:
    import pandas as pd

    from explorer.notebook.catalog import Catalog
    from explorer.stewardship.documentation import Progress

__all__ = [
    "Changeset",
    "Coverage",
    "Documentation",
    "Loaded",
    "Stewardship",
    "Worklist",
    "loaded",
]

_MOST_ROWS = 60
_LONGEST = 160
_COUNTS = ("total", "documented", "edited", "ingested")
_COVERED = (
    dict.fromkeys(("key", "name"), "string")
    | {f"{part}_{count}": "int64" for part in ("tables", "columns") for count in _COUNTS}
    | dict.fromkeys(("tables_percent", "columns_percent"), "Float64")
)
_LISTED = (
    dict.fromkeys(("urn", "table", "platform", "column", "path", "type"), "string")
    | {"use": "int64", "use_of": "string", "downstream": "int64"}
    | {"at_least": "bool", "weight": "int64"}
)
_CHANGED = dict.fromkeys(("place", "urn", "table", "column", "kind"), "string") | dict.fromkeys(
    ("base", "theirs", "mine", "why"), "string"
)
_WRITTEN = dict.fromkeys(
    ("urn", "table", "column", "path", "type", "ingested", "edited", "tags"), "string"
)
_REFUSED = {"position": "int64"} | dict.fromkeys(("urn", "aspect", "reason"), "string")


@dataclass(frozen=True, slots=True, repr=False)
class Coverage(Table, stewardship.Coverage):
    """How much is documented, over all and by what it was grouped by."""

    def to_frame(self) -> "pd.DataFrame":
        """A row for each group, least documented columns first; without groups one for all. No
        request.

        key, name                              string    empty for what has none
        tables_total, … _documented, … _edited, … _ingested     int64
        columns_total, … _documented, … _edited, … _ingested    int64
        tables_percent, columns_percent        Float64   documented; missing for nothing to document
        """
        groups = self.groups or (stewardship.Group("", "all", self.tables, self.columns),)
        rows = [
            (
                *(group.key, group.name),
                *(getattr(group.tables, count) for count in _COUNTS),
                *(getattr(group.columns, count) for count in _COUNTS),
                *(group.tables.percent, group.columns.percent),
            )
            for group in groups
        ]
        return tabulated(rows, _COVERED)

    def parts(self) -> Iterator[Part]:
        """What it shows of itself, from top to bottom."""
        yield Title("Coverage", f"by {self.by}" if self.by else "")
        headers = ("", "documented", "of", "%", "edited", "ingested")
        counts = (("tables", self.tables), ("columns", self.columns))
        rows = [(Cell(name, tone="loud"), *_counted(count)) for name, count in counts]
        yield Grid(headers, rows, frozenset(headers[1:]))
        if self.groups:
            shown = self.groups[:_MOST_ROWS]
            named = (self.by or "", "tables", "% of tables", "columns", "% of columns", "missing")
            yield Grid(named, [_group(one) for one in shown], frozenset(named[1:]))
            yield from _rest(len(shown), len(self.groups))


@dataclass(frozen=True, slots=True, repr=False)
class Worklist(Table, stewardship.Worklist):
    """What nobody has documented, heaviest first."""

    def to_frame(self) -> "pd.DataFrame":
        """A row for each item listed, heaviest first. No request.

        urn, table, platform, type   string
        column, path                 string   as people write it, and exact; missing for a table
        use, downstream, weight      int64    use over the `days`; what the order goes by
        use_of                       string   column, table or none: what the use was counted of
        at_least                     bool     whether counting what is downstream was ended early
        """
        return tabulated([_item(item) for item in self.items], _LISTED)

    def parts(self) -> Iterator[Part]:
        """What it shows of itself, from top to bottom."""
        count = f"{len(self):,} of {self.total:,}" if self.truncated else f"{self.total:,}"
        yield Title("To document", f"{count}, use of {self.days} days" if self.total else "nothing")
        shown = self.items[:_MOST_ROWS]
        if shown:
            headers = ("table", "column", "type", "use", "downstream")
            yield Grid(headers, [_to_do(one) for one in shown], frozenset(headers[-2:]))
        yield from _rest(len(shown), len(self))


@dataclass(frozen=True, repr=False)
class Changeset(Table, stewardship.Changeset):
    """What every line of a file would change."""

    def to_frame(self) -> "pd.DataFrame":
        """A row for each line, in the file's order, all of them text. No request.

        place, urn, table, column   where it stands in the file, and what it speaks of; `column`
                                    missing for the table itself
        kind                        see `explorer.stewardship.changeset.KINDS`
        base, theirs, mine          the text it started from, the catalog's, and the file's
        why                         more, where the kind does not say all
        """
        rows = [
            (
                *(one.entry.place, one.urn, one.table, one.column, one.kind),
                *(one.base, one.theirs, one.mine, one.why),
            )
            for one in self.changes
        ]
        return tabulated(rows, _CHANGED)

    def parts(self) -> Iterator[Part]:
        """What it shows of itself, from top to bottom."""
        counts = " · ".join(f"{count:,} {kind}" for kind, count in self.counts().items())
        yield Title("Changes", counts or "none")
        told = [one for kind in KINDS if kind != "unchanged" for one in self.of(kind)]
        shown = told[:_MOST_ROWS]
        if shown:
            headers = ("kind", "table", "column", "in the catalog", "here")
            yield Grid(headers, [_change(one) for one in shown])
        yield from _rest(len(shown), len(told))


@dataclass(frozen=True, slots=True, repr=False)
class Loaded(Table, LoadReport):
    """What became of a list of changes."""

    def to_frame(self) -> "pd.DataFrame":
        """A row for each change that did not go in: its `position` among those given, from 0, its
        `urn` and `aspect`, and the `reason`. No request."""
        rows = [(one.position, str(one.urn), one.aspect, one.reason) for one in self.refused]
        return tabulated(rows, _REFUSED)

    def parts(self) -> Iterator[Part]:
        """What it shows of itself, from top to bottom."""
        refused = f", {len(self.refused):,} refused" if self.refused else ""
        yield Title("Load", f"{self.written:,} written{refused}")
        shown = self.refused[:_MOST_ROWS]
        if shown:
            rows = [
                (
                    Cell(f"{one.position:,}"),
                    Cell(one.urn.name, detail=str(one.urn), tone="loud"),
                    Cell(one.aspect),
                    Cell(one.reason),
                )
                for one in shown
            ]
            yield Grid(("position", "entity", "aspect", "reason"), rows, frozenset({"position"}))
        yield from _rest(len(shown), len(self.refused))


class Documentation(Table, tuple[stewardship.Row, ...]):
    """What is written of tables and their columns, a row for each."""

    def to_frame(self) -> "pd.DataFrame":
        """A row for each table, then for each of its columns, all of them text. No request.

        urn, table         of the table
        column, path       of a column: as people write it, and exact; missing for the table itself
        type               the column's, or the kind of table
        ingested, edited   both descriptions; missing where there is none
        tags               names, joined by ", "
        """
        rows = [
            (
                *(one.urn, one.table, FieldPath(one.column).simple if one.column else None),
                *(one.column or None, one.type, one.ingested or None, one.edited or None),
                ", ".join(one.tags) or None,
            )
            for one in self
        ]
        return tabulated(rows, _WRITTEN)

    def parts(self) -> Iterator[Part]:
        """What it shows of itself, from top to bottom."""
        tables = sum(not one.column for one in self)
        yield Title("Documentation", f"{tables:,} tables, {len(self) - tables:,} columns")
        shown = self[:_MOST_ROWS]
        if shown:
            yield Grid(("table", "column", "type", "description"), [_written(one) for one in shown])
        yield from _rest(len(shown), len(self))


class Stewardship(stewardship.Stewardship):
    """`explorer.stewardship.Stewardship`, whose answers show themselves and say how far they are
    while they are read; each may be interrupted."""

    def __init__(self, catalog: "Catalog") -> None:
        super().__init__(catalog)
        self._shown_in = catalog

    def __reduce__(self) -> tuple[object, ...]:
        return Stewardship, (self._shown_in,)

    def documentation(
        self,
        urns: Iterable[str | Urn] = (),
        *,
        text: str = "*",
        narrowed_by: Filter | str | None = None,
        folder: str | None = None,
        progress: "Progress | None" = None,
    ) -> Documentation:
        """See `explorer.stewardship.changeset.read_documentation`."""
        found = with_progress(
            self._shown_in,
            lambda tell: self.core.documentation(
                urns,
                text=text,
                narrowed_by=narrowed_by,
                folder=folder,
                progress=progress or tell,
            ),
            "reading what is written",
        )
        return Documentation(found)

    def coverage(
        self,
        urns: Iterable[str | Urn] = (),
        *,
        text: str = "*",
        narrowed_by: Filter | str | None = None,
        folder: str | None = None,
        by: stewardship.Grouping | None = None,
        progress: "Progress | None" = None,
    ) -> Coverage:
        """See `explorer.stewardship.coverage.read_coverage`."""
        found = with_progress(
            self._shown_in,
            lambda tell: self.core.coverage(
                urns,
                text=text,
                narrowed_by=narrowed_by,
                folder=folder,
                by=by,
                progress=progress or tell,
            ),
            "counting what is documented",
        )
        return Coverage(**_held(found))

    def worklist(
        self,
        urns: Iterable[str | Urn] = (),
        *,
        text: str = "*",
        narrowed_by: Filter | str | None = None,
        folder: str | None = None,
        top: int | None = None,
        days: int = 30,
        progress: "Progress | None" = None,
    ) -> Worklist:
        """See `explorer.stewardship.worklist.read_worklist`."""
        found = with_progress(
            self._shown_in,
            lambda tell: self.core.worklist(
                urns,
                text=text,
                narrowed_by=narrowed_by,
                folder=folder,
                top=top,
                days=days,
                progress=progress or tell,
            ),
            "looking for what to document",
        )
        return Worklist(**_held(found))

    def changeset(
        self,
        entries: Iterable[stewardship.Entry],
        *,
        clear_empty: bool = False,
        progress: "Progress | None" = None,
    ) -> Changeset:
        """See `explorer.stewardship.changeset.read_changeset`."""
        found = with_progress(
            self._shown_in,
            lambda tell: self.core.changeset(
                entries, clear_empty=clear_empty, progress=progress or tell
            ),
            "comparing",
        )
        return Changeset(**_held(found))


def loaded(report: LoadReport) -> Loaded:
    """The same, showing itself."""
    return Loaded(**_held(report))


def _held(record: Any) -> dict[str, Any]:
    return {one.name: getattr(record, one.name) for one in fields(record)}


def _counted(count: stewardship.Count) -> tuple[Cell, ...]:
    return (
        Cell(f"{count.documented:,}"),
        Cell(f"{count.total:,}"),
        Cell(_share(count)),
        Cell(f"{count.edited:,}"),
        Cell(f"{count.ingested:,}"),
    )


def _group(group: stewardship.Group) -> tuple[Cell, ...]:
    return (
        Cell(group.name, tone="loud") if group.name else Cell("none", tone="quiet"),
        Cell(f"{group.tables.total:,}"),
        Cell(_share(group.tables)),
        Cell(f"{group.columns.total:,}"),
        Cell(_share(group.columns)),
        Cell(f"{group.columns.undocumented:,}"),
    )


def _share(count: stewardship.Count) -> str:
    return "" if count.percent is None else f"{count.percent:.1f}"


def _item(item: stewardship.Item) -> tuple[Any, ...]:
    simple = item.column.simple if item.column else None
    path = item.column.raw if item.column else None
    return (
        *(item.urn, item.table, item.platform, simple, path, item.type),
        *(item.use, item.use_of, item.downstream, item.at_least, item.weight),
    )


def _to_do(item: stewardship.Item) -> tuple[Cell, ...]:
    whole = Cell("the table", tone="quiet")
    more = " or more" if item.at_least else ""
    return (
        Cell(item.table, detail=item.urn, tone="loud"),
        Cell(item.column.simple) if item.column else whole,
        Cell(item.type),
        Cell(f"{item.use:,}", detail="of the table" if item.use_of == "table" else ""),
        Cell(f"{item.downstream:,}{more}"),
    )


def _written(row: stewardship.Row) -> tuple[Cell, ...]:
    path = FieldPath(row.column).simple if row.column else ""
    return (
        Cell(row.table, detail=row.urn if not row.column else "", tone="loud"),
        Cell(path) if path else Cell("the table", tone="quiet"),
        Cell(row.type),
        described(row.ingested, row.edited),
    )


def _change(change: stewardship.Change) -> tuple[Cell, ...]:
    return (
        Cell(change.kind, detail=change.why or ""),
        Cell(change.table or change.urn, tone="loud"),
        Cell(change.column or ""),
        Cell(_short(change.theirs)),
        Cell(_short(change.mine)),
    )


def _short(text: str | None) -> str:
    told = text or ""
    return told if len(told) <= _LONGEST else f"{told[:_LONGEST]}…"


def _rest(drawn: int, there: int) -> Iterator[Part]:
    if drawn < there:
        yield Say(f"{drawn} of {there:,} drawn; .to_frame() has them all")
