"""Columns that render themselves: those of a dataset, of two datasets side by side, and of many."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from explorer.client import entity as read
from explorer.client.display import line
from explorer.client.entity import Entity
from explorer.errors import InvalidInput, UnknownName
from explorer.metadata.urn import Urn
from explorer.notebook.progress import each, with_progress
from explorer.notebook.view import Shown, ShownTable, grid_parts, values_of
from explorer.views.absence import NONE
from explorer.views.columns import (
    ColumnKnowledge,
    column_row,
    columns_table,
    earlier_words,
    found_columns_table,
)
from explorer.views.parts import Cell, Facts, Fold, Part, Prose, Say, Title
from explorer.views.table import Table, attributes, to_frame
from explorer.views.text import EDITED

if TYPE_CHECKING:
    import pandas as pd

    from explorer.client import Catalog
    from explorer.query.filters import Filter

# The aspects with the name, the kind and the columns of a dataset.
_ASPECTS = (
    *("datasetKey", "datasetProperties", "schemaMetadata", "editableSchemaMetadata"),
    *("subTypes", "dataPlatformInstance"),
)
_DIFFERENCES: "tuple[_Comparison, ...]" = ("only here", "only there", "different", "same")
_COMPARED = (
    *attributes("column", "difference", "what", "type", "type_there"),
    *attributes("nullable", "nullable_there", dtype="boolean"),
    *attributes("description", "description_there"),
)


@dataclass(frozen=True, slots=True, repr=False)
class ColumnPage(Shown, read.Column):
    """A column that renders itself; `names` are the names of its tags and terms."""

    names: Mapping[Urn, str] = field(default_factory=dict, compare=False)

    def parts(self) -> Iterator[Part]:
        types = dict.fromkeys(type_name for type_name in (self.type, self.native_type) if type_name)
        facts = (*types, "key" * self.is_key, "nullable" * self.nullable)
        yield Title(self.path.simple, " · ".join(filter(None, facts)))
        rows = [
            (title, Cell(", ".join(self.names.get(urn) or urn.name for urn in urns)))
            for title, urns in (("tags", self.tags), ("terms", self.terms))
            if urns
        ]
        if rows:
            yield Facts(rows)
        if earlier := earlier_note(self):
            yield Say(earlier)
        original, edited = (self.ingested or "").strip(), (self.edited or "").strip()
        if edited:
            yield Prose(edited, label=f"{EDITED} description, edited")
        if original:
            yield Prose(original, label="description, from ingestion")
        if not self.documented:
            yield Say("no description")


@dataclass(frozen=True, repr=False)
class SchemaTable(ShownTable, read.Schema):
    """The columns of a dataset, every parent before its children.

    `total` is the number of columns of the dataset, which is larger than that of the table after
    `filter`; `names` are the names of the columns' tags and terms.
    """

    total: int | None = None
    names: Mapping[Urn, str] = field(default_factory=dict, compare=False)

    def __getitem__(self, path: str) -> read.Column:
        """Return the column at a path, exact or in its short form. Raises `UnknownName`."""
        if not isinstance(path, str):
            raise InvalidInput(f"give the path of a column, not {path!r:.60}")
        column = self.column(path)
        if column is not None:
            return column
        columns = [column for column in self.columns if path in (column.path.simple, column.name)]
        if len(columns) != 1:
            raise UnknownName("column", path, (line(column.path.simple) for column in self.columns))
        return columns[0]

    def _ipython_key_completions_(self) -> list[str]:
        return [
            column.path.simple
            for column in self.columns
            if column.path.simple == line(column.path.simple)
        ]

    def filter(
        self,
        text: str = "",
        *,
        type_name: str | None = None,
        documented: bool | None = None,
        tag: str | None = None,
    ) -> "SchemaTable":
        """Return the columns that match all conditions, in the same order.

        `text` is searched for in path and description, ignoring case; `type_name` is the catalog's
        or the platform's name of a type, such as `string`; `tag` is the name or the id of a tag.
        """
        folded = text.casefold()
        columns = tuple(
            column
            for column in self.columns
            if (folded in column.path.simple.casefold() or folded in column.description.casefold())
            and (type_name is None or type_name in (column.type, column.native_type))
            and (documented is None or documented == column.documented)
            and (tag is None or any(tag in (urn.name, self.names.get(urn)) for urn in column.tags))
        )
        total = self.total or len(self.columns)
        return SchemaTable(self.name, columns, self.orphans, total, self.names)

    def compare(self, other: "SchemaTable") -> "SchemaComparison":
        """Compare these columns with those of another dataset; see `EntityPage.compare`."""
        return SchemaComparison(self, other, (self.name, other.name))

    def to_frame(self) -> "pd.DataFrame":
        """Return a row for each column; see `explorer.views.columns.columns_table`."""
        return to_frame(columns_table("", self.columns, self.names))

    def parts(self) -> Iterator[Part]:
        yield Title("Schema", self._count())
        headers = ("column", "type", "key", "description")
        yield from grid_parts(headers, self.columns, self._row)
        for orphan in self.orphans:
            yield Say(f"edited, but no longer in the schema: {orphan.field_path}")

    def _count(self) -> str:
        if not self.columns:
            return "no column matches" if self.total else "no columns"
        of = f" of {self.total:,}" if self.total and self.total > len(self) else ""
        return f"{len(self):,}{of} columns, {self.documented:,} documented"

    def _row(self, column: read.Column) -> tuple[Cell, ...]:
        row = column_row(column, ColumnKnowledge(names=self.names), flat=bool(self.total))
        labels = ", ".join((*row.tags, *row.terms))
        return (
            Cell(row.label, indent=row.indent, detail=labels, tone="loud"),
            Cell(row.type),
            Cell("key" if column.is_key else ""),
            description_cell(column.ingested, column.edited, earlier_note(column)),
        )


_Comparison = Literal["same", "different", "only here", "only there"]
_Pair = tuple[_Comparison, read.Column | None, read.Column | None]


@dataclass(frozen=True, repr=False)
class SchemaComparison(ShownTable):
    """The columns of two datasets side by side, matched by path without regard to case: first those
    that only one has, then those that differ, then equal ones."""

    left: SchemaTable
    right: SchemaTable
    names: tuple[str, str]

    @cached_property
    def pairs(self) -> tuple[_Pair, ...]:
        """Return for each column how it differs, and the column in either dataset."""
        columns = {column.path.simple.casefold(): column for column in self.left.columns}
        right = {column.path.simple.casefold(): column for column in self.right.columns}
        comparisons = [
            (_compare(columns.get(key), right.get(key)), key) for key in {**columns, **right}
        ]
        # Sorted keeps the order of the schemas within each kind.
        comparisons.sort(key=lambda comparison: _DIFFERENCES.index(comparison[0]))
        return tuple((kind, columns.get(key), right.get(key)) for kind, key in comparisons)

    def __len__(self) -> int:
        return sum(kind != "same" for kind, *_ in self.pairs)

    def to_frame(self) -> "pd.DataFrame":
        """Return a row for each column of either dataset. No request.

        column                              string    its path in the short form
        difference                          string    only here, only there, different or same
        what                                string    what differs: type, nullable, key, description
        type, type_there                    string    as the platform says it
        nullable, nullable_there            boolean
        description, description_there      string    the edited ones, if any
        """
        rows = [
            (
                _present(column, right).path.simple,
                kind,
                ", ".join(_unlike(column, right)) or None,
                *(_type(column), _type(right)),
                *(column.nullable if column else None for column in (column, right)),
                *((column.description or None) if column else None for column in (column, right)),
            )
            for kind, column, right in self.pairs
        ]
        return to_frame(Table(_COMPARED, rows))

    def parts(self) -> Iterator[Part]:
        names = self.names
        counts = Counter(kind for kind, *_ in self.pairs)
        summary = " · ".join(f"{counts[kind]:,} {kind}" for kind in _DIFFERENCES if counts[kind])
        yield Title(f"{names[0]} and {names[1]}", summary or "no columns")
        headers = ("column", "", f"in {names[0]}", f"in {names[1]}", "what differs")
        unlike = [pair for pair in self.pairs if pair[0] != "same"]
        yield from grid_parts(headers, unlike, _side_by_side)
        alike = [column.path.simple for kind, column, _ in self.pairs if kind == "same" and column]
        if alike:
            yield Fold("the same in both", [Say(", ".join(alike), "plain")])


@dataclass(frozen=True, slots=True, repr=False)
class ColumnsTable(ShownTable):
    """Columns with one name in many datasets: iterates over (URN of the dataset, column).

    `tables_total` is the number of tables that may have such a column, `tables_read` the number of
    them that were read; `names` are the names of the columns' tags and terms.
    """

    name: str
    matches: tuple[tuple[Entity, read.Column], ...]
    tables_read: int = 0
    tables_total: int = 0
    names: Mapping[Urn, str] = field(default_factory=dict, compare=False)

    @property
    def truncated(self) -> bool:
        """Whether there are tables that were not read."""
        return self.tables_read < self.tables_total

    def __len__(self) -> int:
        return len(self.matches)

    def __iter__(self) -> Iterator[tuple[Urn, read.Column]]:
        return ((entity.urn, column) for entity, column in self.matches)

    def to_frame(self) -> "pd.DataFrame":
        """Return a row for each column found, datasets in search order. No request.

        urn, table, platform   string   of the dataset
        column, path           string   in the short form, and exact
        type, native_type      string
        nullable, key          bool
        description            string   the edited one, if any, else ingested
        edited                 bool     whether the description is edited
        tags, terms            object   lists of names
        tag_urns, term_urns    object   lists

        If some tables were not read, `attrs["total"]` of the frame is the number of tables.
        """
        table = replace(found_columns_table(self.matches, self.names), title=self._title())
        if self.truncated:
            cut = f"{self._tables()}; a larger limit reads the others"
            table = replace(table, total=self.tables_total, incomplete=cut, total_of="tables")
        return to_frame(table)

    def _title(self) -> str:
        return f"Columns named {self.name}"

    def _tables(self) -> str:
        return f"{self.tables_read:,} of {self.tables_total:,} tables read"

    def parts(self) -> Iterator[Part]:
        tables = len({entity.urn for entity, _ in self.matches})
        count = f"{len(self):,} in {tables:,} tables" if self.matches else "no column has this name"
        cut = self._tables() if self.truncated else ""
        yield Title(self._title(), ", ".join(filter(None, (count, cut))))
        if self.matches:
            types = Counter(column.native_type or column.type for _, column in self.matches)
            yield Say(" · ".join(f"{many:,} {kind}" for kind, many in types.most_common(8)))
        headers = ("table", "platform", "column", "type", "description")
        yield from grid_parts(headers, self.matches, _match_row)
        if self.truncated:
            yield Say("a larger limit reads the other tables")


def _match_row(match: tuple[Entity, read.Column]) -> tuple[Cell, ...]:
    entity, column = match
    return (
        Cell(entity.name, detail=str(entity.urn), tone="loud"),
        Cell(entity.platform or ""),
        Cell(column.path.simple),
        Cell(column.native_type or column.type),
        description_cell(column.ingested, column.edited, earlier_note(column)),
    )


def read_columns_named(
    catalog: "Catalog", name: str, filter: "Filter | str | None", limit: int
) -> ColumnsTable:
    """Read the columns with a name in all datasets; see `Catalog.columns`."""
    from explorer.client.search import filter_from
    from explorer.query.filters import Criterion, all_of

    pattern = name.strip().casefold()
    if not pattern:
        raise InvalidInput("give the name of a column, or a part of it with *")
    # The text that every matching path contains: the server searches for it, and the whole pattern
    # is checked here.
    literal = max(re.split(r"[*?\[\]]+", pattern), key=len)
    combined = filter_from(filter, catalog.registry)
    if literal:
        combined = combined.and_(all_of(Criterion("fieldPaths", (literal,), "CONTAIN")))
    pages = catalog.hits("*", entity="dataset", filter=combined, limit=limit)
    with pages:
        urns = [hit.urn for hit in each(pages, f"reading tables with {line(name, 40)}")]
    entities = with_progress(
        catalog, lambda _: catalog.core.entities(urns, _ASPECTS), "reading their columns"
    )
    matches = [
        (entity, column)
        for entity in (entities[urn] for urn in urns if urn in entities)
        for column in schema_table(entity.schema).columns
        if _fits(column, pattern)
    ]
    labels = {urn: None for _, column in matches for urn in (*column.tags, *column.terms)}
    return ColumnsTable(
        name,
        tuple(matches),
        len(urns),
        max(len(urns), pages.total or 0),
        {urn: entity.name for urn, entity in catalog.summaries(labels).items()},
    )


def _fits(column: read.Column, pattern: str) -> bool:
    path = column.path.simple.casefold()
    last = path.rpartition(".")[2]
    return any(
        candidate == pattern or fnmatchcase(candidate, pattern) for candidate in (path, last)
    )


def _compare(left: read.Column | None, right: read.Column | None) -> _Comparison:
    if right is None:
        return "only here"
    if left is None:
        return "only there"
    return "different" if _unlike(left, right) else "same"


def _unlike(left: read.Column | None, right: read.Column | None) -> list[str]:
    """Return the differing attributes of two columns; empty if only one exists."""
    if left is None or right is None:
        return []
    types = _type(left) != _type(right)
    descriptions = left.description.strip() != right.description.strip()
    flags = (types, left.nullable != right.nullable, left.is_key != right.is_key, descriptions)
    words = ("type", "nullable", "key", "description")
    return [word for word, differs in zip(words, flags, strict=True) if differs]


def _present(left: read.Column | None, right: read.Column | None) -> read.Column:
    column = left or right
    if column is None:
        raise AssertionError("a pair has a column")
    return column


def _type(column: read.Column | None) -> str | None:
    return (column.native_type or column.type or None) if column else None


def _side_by_side(pair: _Pair) -> tuple[Cell, ...]:
    kind, column, right = pair
    sides = (
        Cell(NONE.mark, tone="quiet")
        if column is None
        else Cell(_type(column) or "", detail="" if column.nullable else "not nullable")
        for column in (column, right)
    )
    return (
        Cell(_present(column, right).path.simple, tone="loud"),
        Cell(kind, tone="quiet"),
        *sides,
        Cell(", ".join(_unlike(column, right))),
    )


def schema_table(schema: read.Schema, names: Mapping[Urn, str] | None = None) -> SchemaTable:
    """Return a schema whose columns render themselves; `names` are those of their tags and
    terms."""
    names_by_urn = names or {}
    columns = (ColumnPage(**values_of(column), names=names_by_urn) for column in schema.columns)
    return SchemaTable(schema.name, tuple(columns), schema.orphans, names=names_by_urn)


def earlier_note(column: read.Column) -> str:
    """Return the note of `earlier_words`, and how to move the earlier texts and labels to the
    column."""
    words = earlier_words(column)
    return f"{words}; carry_over() of the dataset moves it here" if words else ""


def description_cell(ingested: str | None, edited: str | None, earlier: str = "") -> Cell:
    """Return a description in one cell: the edited text marked, with the ingested one below, and
    the note of `earlier_note`."""
    original, edited_text = (ingested or "").strip(), (edited or "").strip()
    below = (earlier,) if earlier else ()
    if not edited_text and original:
        return Cell(original, below=below, markdown=True)
    if not edited_text:
        return Cell("no description", below=below, tone="quiet")
    if original and original != edited_text:
        below = (*below, f"from ingestion: {original}")
    return Cell(edited_text, EDITED, below, markdown=True)
