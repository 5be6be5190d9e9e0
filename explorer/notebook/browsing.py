"""A folder of the catalog that shows itself and can be opened further."""

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING

from explorer.client.display import line
from explorer.client.records import BrowsePage
from explorer.errors import NotFound
from explorer.metadata.names import plural
from explorer.notebook.tabular import tabulated
from explorer.notebook.view import Cell, Grid, Part, Say, Table, Title

if TYPE_CHECKING:
    import pandas as pd

    from explorer.notebook.catalog import Catalog
    from explorer.notebook.entity import Entity

__all__ = ["Folder", "opened"]

_MOST_ROWS = 60
_FRAME = dict.fromkeys(("name", "kind"), "string") | {
    "count": "Int64",
    "urn": "string",
    "path": "string",
}


@dataclass(frozen=True, slots=True, repr=False)
class Folder(Table, BrowsePage):
    """A page of a folder: the folders below it, then the entities in it.

    `folder["name"]` opens what is called so on this page, a `Folder` or an `Entity`.
    """

    entity_type: str = "dataset"
    catalog: "Catalog" = field(compare=False, kw_only=True)

    def __getitem__(self, name: str) -> "Folder | Entity":
        """Open a folder or an entity of this page. One request for a folder, two for an entity.
        Raises `NotFound` where there is none of that name."""
        if any(name == one.name for one in self.folders):
            return self.catalog.browse(self._path_of(name), entity=self.entity_type)
        for one in self.entities:
            if name in (one.name, str(one.urn)):
                return self.catalog.entity(one.urn)
        more = "; there are more, next() reads them" if self.truncated else ""
        raise NotFound(f"{line(self.path)} holds nothing called {line(name, 100)!r} here{more}")

    def next(self) -> "Folder":
        """The page after this one; empty, and nothing is asked, after the last. One request."""
        if not self.truncated:
            return opened(
                BrowsePage(self.path, self.end, self.here, self.total, self.entries),
                self.entity_type,
                self.catalog,
            )
        return self.catalog.browse(self.path, entity=self.entity_type, start=self.end)

    def to_frame(self) -> "pd.DataFrame":
        """A row for each folder and entity of this page. No request.

        name, kind   string   kind is folder, or the entity's type
        count        Int64    entities in or below a folder
        urn, path    string   of an entity, of a folder
        """
        folders = [
            (one.name, "folder", one.count, None, self._path_of(one.name)) for one in self.folders
        ]
        entities = [
            (one.name, one.urn.entity_type, None, str(one.urn), None) for one in self.entities
        ]
        return tabulated([*folders, *entities], _FRAME)

    def parts(self) -> Iterator[Part]:
        """What it shows of itself, from top to bottom."""
        after = f"{self.total:,} {plural(self.entity_type)} in and below it"
        if self.start:
            after += f", after the first {self.start:,}"
        yield Title(self.path or "/", after if self.total else "nothing is filed here")
        rows = [
            (Cell(f"{one.name}/", tone="loud"), Cell("folder"), Cell(f"{one.count:,}"))
            for one in self.folders
        ]
        rows += [
            (Cell(one.name, detail=str(one.urn)), Cell(one.urn.entity_type), Cell(""))
            for one in self.entities
        ]
        if rows:
            yield Grid(("name", "kind", "holds"), rows[:_MOST_ROWS], frozenset({"holds"}))
        if len(rows) > _MOST_ROWS:
            yield Say(f"{_MOST_ROWS} of {len(rows):,} rows drawn; .to_frame() has them all")
        if self.truncated:
            yield Say("there are more; .next() reads them")

    def _path_of(self, name: str) -> str:
        return f"{self.path.rstrip('/')}/{name}"

    def _ipython_key_completions_(self) -> list[str]:
        names = (*(one.name for one in self.folders), *(one.name for one in self.entities))
        return [name for name in dict.fromkeys(names) if name == line(name)]


def opened(page: BrowsePage, entity_type: str, catalog: "Catalog") -> Folder:
    """The page, with what it was asked for and of whom."""
    held = {one.name: getattr(page, one.name) for one in fields(BrowsePage)}
    return Folder(**held, entity_type=entity_type, catalog=catalog)
