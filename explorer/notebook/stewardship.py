"""Caring for a catalog from a notebook: coverage, what to write next, and changes in bulk, each
showing itself and a DataFrame when asked."""

from collections.abc import Callable, Coroutine, Iterable, Iterator
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from explorer import stewardship
from explorer.client.records import LoadReport, RefusedChange
from explorer.errors import InvalidInput
from explorer.metadata.fieldpath import FieldPath
from explorer.notebook.progress import with_progress
from explorer.notebook.schema import described
from explorer.notebook.view import ShownTable, grid_parts, table_parts, tabulated, values_of
from explorer.stewardship.api import AsyncStewardship
from explorer.stewardship.changeset import KINDS
from explorer.views import stewardship as views
from explorer.views.parts import Cell, Part, Say, Title

if TYPE_CHECKING:
    import pandas as pd

    from explorer.notebook.catalog import NotebookCatalog
    from explorer.stewardship.documentation import Progress

__all__ = [
    "ChangesetTable",
    "CoverageTable",
    "Documentation",
    "LoadTable",
    "NotebookStewardship",
    "WorklistTable",
    "frame_entries",
    "loaded",
]

_P = ParamSpec("_P")
_S = TypeVar("_S")
_T = TypeVar("_T")

_LONGEST = 160
_COVERED = dict.fromkeys(("key", "name"), "string") | {
    f"{part}_{count}": "Float64" if count == "percent" else "int64"
    for part in views.PARTS
    for count in views.COUNTS
}
_LISTED = (
    dict.fromkeys(("urn", "table", "platform", "column", "path", "type"), "string")
    | {"use": "int64", "use_of": "string", "downstream": "int64"}
    | {"at_least": "bool", "weight": "int64"}
)
_WRITTEN = dict.fromkeys(
    ("urn", "table", "column", "path", "type", "ingested", "edited", "tags", "exported"), "string"
)
_REFUSED = {"position": "int64"} | dict.fromkeys(("urn", "aspect", "reason"), "string")


@dataclass(frozen=True, slots=True, repr=False)
class CoverageTable(ShownTable, stewardship.Coverage):
    """How much is documented, over all and by what it was grouped by."""

    def to_frame(self) -> "pd.DataFrame":
        """Return a row for each group, least documented columns first; without groups one for all.
        No request.

        key, name                              string    empty for what has none, and for all
        tables_total, … _documented, … _edited, … _ingested     int64
        columns_total, … _documented, … _edited, … _ingested    int64
        tables_percent, columns_percent        Float64   documented; missing for nothing to document
        """
        return tabulated([tuple(row) for row in views.coverage_table(self).rows], _COVERED)

    def parts(self) -> Iterator[Part]:
        yield Title("Coverage", f"by {self.by}" if self.by else "")
        if self.by:
            for part in views.PARTS:
                yield Say(f"{part}: {views.count_sentence(self.of(part))}")
        yield from table_parts(views.coverage_page(self))


@dataclass(frozen=True, slots=True, repr=False)
class WorklistTable(ShownTable, stewardship.Worklist):
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
        used = f", use of {self.days} days" if self.total else ""
        yield Title("To document", f"{views.worklist_counts(self)}{used}")
        if self.items:
            yield from table_parts(views.worklist_page(self))


@dataclass(frozen=True, repr=False)
class ChangesetTable(ShownTable, stewardship.Changeset):
    """What every line of a file would change."""

    def to_frame(self) -> "pd.DataFrame":
        """A row for each line, in the file's order, all of them text. No request.

        place, kind                 where it stands in the file, and what comes of it: see
                                    `explorer.stewardship.changeset.KINDS`
        urn, table, column          what it is about; `column` missing for the table itself
        base, theirs, mine          the text it started from, the catalog's, and the file's
        why                         more, where the kind does not say all
        """
        table = views.changes_table(self.changes)
        names = [column.name for column in table.columns]
        return tabulated([tuple(row) for row in table.rows], dict.fromkeys(names, "string"))

    def parts(self) -> Iterator[Part]:
        yield Title("Changes", " · ".join(views.change_counts(self)) or "none")
        changes = [one for kind in KINDS if kind != "unchanged" for one in self.of(kind)]
        headers = ("kind", "table", "column", "in the catalog", "here")
        yield from grid_parts(headers, changes, _change)


@dataclass(frozen=True, slots=True, repr=False)
class LoadTable(ShownTable, LoadReport):
    """What became of a list of changes."""

    def to_frame(self) -> "pd.DataFrame":
        """A row for each change that did not go in: its `position` among those given, from 0, its
        `urn` and `aspect`, and the `reason`. No request."""
        rows = [(one.position, str(one.urn), one.aspect, one.reason) for one in self.refused]
        return tabulated(rows, _REFUSED)

    def parts(self) -> Iterator[Part]:
        refused = f", {len(self.refused):,} refused" if self.refused else ""
        yield Title("Load", f"{self.written:,} written{refused}")
        headers = ("position", "entity", "aspect", "reason")
        yield from grid_parts(headers, self.refused, _refusal, numbers=("position",))


class Documentation(ShownTable, tuple[stewardship.Row, ...]):
    """What is written of tables and their columns, a row for each."""

    def to_frame(self) -> "pd.DataFrame":
        """A row for each table, then for each of its columns, all of them text. No request.

        urn, table         of the table
        column, path       of a column: as people write it, and exact; missing for the table itself
        type               the column's, or the kind of table
        ingested, edited   both descriptions; missing where there is none
        tags               names, joined by ", "
        exported           a fingerprint of `edited`, by which `changeset` knows what was changed
        """
        rows = [
            (
                *(one.urn, one.table, FieldPath(one.column).simple if one.column else None),
                *(one.column or None, one.type, one.ingested or None, one.edited or None),
                *(", ".join(one.tags) or None, one.exported),
            )
            for one in self
        ]
        return tabulated(rows, _WRITTEN)

    def parts(self) -> Iterator[Part]:
        tables = sum(not one.column for one in self)
        yield Title("Documentation", f"{tables:,} tables, {len(self) - tables:,} columns")
        headers = ("table", "column", "type", "description")
        yield from grid_parts(headers, self, _written)


_Shows = Callable[["NotebookStewardship", _T], _S]


def _shown(
    method: Callable[Concatenate[AsyncStewardship, _P], Coroutine[Any, Any, _T]], what: str
) -> "Callable[[_Shows[_T, _S]], Callable[Concatenate[NotebookStewardship, _P], _S]]":
    """Decorate what makes of an answer the object that shows it: the method is waited for, with a
    bar that says `what`, and has the parameters and the documentation of `method`."""

    def decorate(
        show: "_Shows[_T, _S]",
    ) -> "Callable[Concatenate[NotebookStewardship, _P], _S]":
        @wraps(method)
        def call(self: "NotebookStewardship", /, *args: _P.args, **kwargs: _P.kwargs) -> _S:
            def work(tell: "Progress") -> Coroutine[Any, Any, _T]:
                kwargs["progress"] = kwargs.get("progress") or tell
                return method(self.core, *args, **kwargs)

            return show(self, with_progress(self._shown_in, work, what))

        return call

    return decorate


class NotebookStewardship(stewardship.Stewardship):
    """`explorer.stewardship.Stewardship`, whose answers show themselves and say how far they are
    while they are read; each may be interrupted."""

    def __init__(self, catalog: "NotebookCatalog") -> None:
        super().__init__(catalog)
        self._shown_in = catalog

    def __reduce__(self) -> tuple[object, ...]:
        return NotebookStewardship, (self._shown_in,)

    @_shown(AsyncStewardship.documentation, "reading what is written")
    def documentation(self, found: tuple[stewardship.Row, ...]) -> Documentation:
        return Documentation(found)

    @_shown(AsyncStewardship.coverage, "counting what is documented")
    def coverage(self, found: stewardship.Coverage) -> CoverageTable:
        return CoverageTable(**values_of(found))

    @_shown(AsyncStewardship.worklist, "looking for what to document")
    def worklist(self, found: stewardship.Worklist) -> WorklistTable:
        return WorklistTable(**values_of(found))

    def changeset(
        self,
        entries: "Iterable[stewardship.Entry] | pd.DataFrame",
        *,
        clear_empty: bool = False,
        progress: "Progress | None" = None,
    ) -> ChangesetTable:
        """Return what entries would change, compared with the catalog as it is now, as
        `explorer.stewardship.changeset.read_changeset`.

        They may be a DataFrame: the one that `documentation` gives, with other texts under
        `edited`. Of its columns `urn`, `path` (or `column`) and `edited` are needed, `exported`
        tells what was changed since, and any others may be there. Rows may be left out. Raises
        `InvalidInput` where a needed one is missing.
        """
        import pandas as pd

        lines = frame_entries(entries) if isinstance(entries, pd.DataFrame) else entries
        return self._compared(lines, clear_empty=clear_empty, progress=progress)

    @_shown(AsyncStewardship.changeset, "comparing")
    def _compared(self, found: stewardship.Changeset) -> ChangesetTable:
        return ChangesetTable(**values_of(found))


def frame_entries(frame: "pd.DataFrame") -> list[stewardship.Entry]:
    """Return the rows of a data frame as entries to be compared; see
    `NotebookStewardship.changeset`. Each is named after its label in the index."""
    path = "path" if "path" in frame.columns else "column"
    missing = [name for name in ("urn", path, "edited") if name not in frame.columns]
    if missing:
        raise InvalidInput(
            f"the data frame has no column named {' or '.join(missing)}; documentation().df has"
        )
    texts = frame.astype("object").where(frame.notna(), "")
    entries = []
    for label, row in zip(frame.index, texts.to_dict("records"), strict=True):
        text = {name: str(value) for name, value in row.items()}
        line = stewardship.Row(
            urn=text["urn"],
            table=text.get("table", ""),
            column=text[path],
            type=text.get("type", ""),
            ingested=text.get("ingested", ""),
            edited=text["edited"],
            exported=text.get("exported", ""),
        )
        entries.append(stewardship.Entry(f"row {label}", line))
    return entries


def loaded(report: LoadReport) -> LoadTable:
    """The same, showing itself."""
    return LoadTable(**values_of(report))


def _item(item: stewardship.Item) -> tuple[Any, ...]:
    simple = item.column.simple if item.column else None
    path = item.column.raw if item.column else None
    return (
        *(item.urn, item.table, item.platform, simple, path, item.type),
        *(item.use, item.use_of, item.downstream, item.at_least, item.weight),
    )


def _written(row: stewardship.Row) -> tuple[Cell, ...]:
    path = FieldPath(row.column).simple if row.column else ""
    return (
        Cell(row.table, detail=row.urn if not row.column else "", tone="loud"),
        Cell(path) if path else Cell(views.WHOLE_TABLE, tone="quiet"),
        Cell(row.type),
        described(row.ingested, row.edited),
    )


def _refusal(one: RefusedChange) -> tuple[Cell, ...]:
    return (
        Cell(f"{one.position:,}"),
        Cell(one.urn.name, detail=str(one.urn), tone="loud"),
        Cell(one.aspect),
        Cell(one.reason),
    )


def _change(change: stewardship.Change) -> tuple[Cell, ...]:
    table, column = views.change_place(change)
    return (
        Cell(change.kind, detail=change.why or ""),
        Cell(table, tone="loud"),
        Cell(column),
        Cell(_short(change.theirs)),
        Cell(_short(change.mine)),
    )


def _short(text: str | None) -> str:
    return f"{text[:_LONGEST]}…" if text and len(text) > _LONGEST else text or ""
