"""A dataset's columns that show themselves, and can be narrowed."""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from explorer.client import schema as read
from explorer.client.display import line
from explorer.errors import UnknownName
from explorer.notebook.results import EDITED
from explorer.notebook.view import Cell, Facts, Grid, Part, Prose, Say, Shown, Table, Title

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Column", "Schema", "shown_schema"]

_MOST_ROWS = 60


@dataclass(frozen=True, slots=True, repr=False)
class Column(Shown, read.Column):
    """One column, which shows itself."""

    def parts(self) -> Iterator[Part]:
        """What it shows of itself, from top to bottom."""
        types = dict.fromkeys(one for one in (self.type, self.native_type) if one)
        said = (*types, "key" * self.is_key, "may be null" * self.nullable)
        yield Title(self.path.simple, " · ".join(filter(None, said)))
        rows = [
            (title, Cell(", ".join(urn.name for urn in urns)))
            for title, urns in (("tags", self.tags), ("terms", self.terms))
            if urns
        ]
        if rows:
            yield Facts(rows)
        original, written = (self.ingested or "").strip(), (self.edited or "").strip()
        if written:
            yield Prose(f"{EDITED} description, edited", written)
        if original:
            yield Prose("description, from ingestion", original)
        if not self.documented:
            yield Say("no description")


@dataclass(frozen=True, repr=False)
class Schema(Table, read.Schema):
    """The columns of a dataset, every parent before its children.

    `whole` is how many the dataset has, more than there are here after `filter`.
    """

    whole: int | None = None

    def __getitem__(self, path: str) -> read.Column:
        """The column of that path, exact or as people write it. Raises `UnknownName`."""
        found = self.column(path)
        if found is not None:
            return found
        named = [one for one in self.columns if path in (one.path.simple, one.name)]
        if len(named) != 1:
            raise UnknownName("column", path, (line(one.path.simple) for one in self.columns))
        return named[0]

    def _ipython_key_completions_(self) -> list[str]:
        return [one.path.simple for one in self.columns if one.path.simple == line(one.path.simple)]

    def filter(
        self,
        text: str = "",
        *,
        type_name: str | None = None,
        documented: bool | None = None,
        tag: str | None = None,
    ) -> "Schema":
        """The columns that meet all that is asked, in the same order.

        `text` is looked for in path and description, without regard to case; `type_name`
        is the catalog's word or the platform's, `string`; `tag` is the name of a tag.
        """
        wanted = text.casefold()
        found = tuple(
            column
            for column in self.columns
            if (wanted in column.path.simple.casefold() or wanted in column.description.casefold())
            and (type_name is None or type_name in (column.type, column.native_type))
            and (documented is None or documented == column.documented)
            and (tag is None or tag in {urn.name for urn in column.tags})
        )
        return Schema(self.name, found, self.orphans, self.whole or len(self.columns))

    def to_frame(self) -> "pd.DataFrame":
        """A row for each column; see `explorer.frames.schema_frame`."""
        from explorer import frames

        return frames.schema_frame(self)

    def parts(self) -> Iterator[Part]:
        """What it shows of itself, from top to bottom."""
        yield Title("Schema", self._count())
        if not self.columns:
            return
        shown = self.columns[:_MOST_ROWS]
        yield Grid(("column", "type", "key", "description"), [self._row(one) for one in shown])
        if len(shown) < len(self.columns):
            yield Say(f"{len(shown)} of {len(self.columns):,} rows drawn; .to_frame() has them all")
        for orphan in self.orphans:
            yield Say(f"edited, but no longer a column: {orphan.field_path}")

    def _count(self) -> str:
        if not self.columns:
            return "no column is like that" if self.whole else "no columns"
        of = f" of {self.whole:,}" if self.whole and self.whole > len(self) else ""
        return f"{len(self):,}{of} columns, {self.documented:,} documented"

    def _row(self, column: read.Column) -> tuple[Cell, ...]:
        # Without its parents around it a column is told by its path.
        name = column.path.simple if self.whole else column.name
        tags = ", ".join(urn.name for urn in (*column.tags, *column.terms))
        return (
            Cell(name, indent=0 if self.whole else column.depth, detail=tags, tone="loud"),
            Cell(column.type or column.native_type),
            Cell("key" if column.is_key else ""),
            described(column.ingested, column.edited),
        )


def shown_schema(schema: read.Schema) -> Schema:
    """The schema whose columns, too, show themselves."""
    names = [one.name for one in fields(read.Column)]
    columns = (Column(*(getattr(one, name) for name in names)) for one in schema.columns)
    return Schema(schema.name, tuple(columns), schema.orphans)


def described(ingested: str | None, edited: str | None) -> Cell:
    """A description in one cell: the edited text marked, the ingested one below it."""
    original, written = (ingested or "").strip(), (edited or "").strip()
    if not written:
        return Cell(original, markdown=True) if original else Cell("no description", tone="quiet")
    below = (f"from ingestion: {original}",) if original and original != written else ()
    return Cell(written, EDITED, below, markdown=True)
