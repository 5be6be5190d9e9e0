"""The folders of a catalog and what lies in them: read, and shown as tables and trees."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from rich.text import Text

from explorer.cli import tables
from explorer.cli.forms import Form
from explorer.cli.output import EDITED, note, print_json, results, said
from explorer.cli.reading import counted
from explorer.client import Catalog
from explorer.client.display import line
from explorer.client.entity import Entity
from explorer.client.records import Folder, Named
from explorer.errors import NotFound
from explorer.metadata.urn import Urn

__all__ = ["Branch", "Place", "fitting", "print_place", "print_tree", "read_place", "read_tree"]

# Lines of a terminal that the table leaves to its heading, the totals and the next prompt.
_KEPT_LINES: Final = 4
_LEAST: Final = 10
_MOST_PIPED: Final = 1_000
_TREE: Final = tuple(map(tables.Column, ("path", "name", "type", "depth", "entities")))


@dataclass(frozen=True, slots=True)
class Place:
    """What lies at a path: folders and entities with their type, of `total` entries; `below`
    counts the entities in it and in all folders below."""

    path: str
    folders: list[tuple[str, Folder]] = field(default_factory=list)
    entities: list[tuple[str, Named]] = field(default_factory=list)
    total: int = 0
    below: int = 0

    @property
    def shown(self) -> int:
        """How many entries are held."""
        return len(self.folders) + len(self.entities)

    @property
    def urns(self) -> list[Urn]:
        """The URNs of the entities, in order."""
        return [named.urn for _, named in self.entities]


@dataclass(frozen=True, slots=True)
class Branch:
    """A folder with those below it."""

    path: str
    name: str
    entity_type: str
    count: int
    depth: int
    below: list["Branch"] = field(default_factory=list)


def fitting(shown_as: Form | None) -> int:
    """How many entries to show when nobody says: what fits the terminal, more into a pipe."""
    if shown_as is not None or not sys.stdout.isatty():
        return _MOST_PIPED
    return max(_LEAST, results().height - _KEPT_LINES)


def read_place(catalog: Catalog, path: str, entities: Sequence[str], count: int | None) -> Place:
    """What lies at a path, at most `count` entries, folders first. Raises `NotFound` where there
    is no such folder."""
    path = _whole(path)
    pages = _pages(catalog, path, entities)
    if not pages and path != "/":
        raise NotFound(f"there is no folder {path} here; catalog browse shows those at the top")
    found = Place(
        path,
        total=sum(entries for entries, _ in pages.values()),
        below=sum(total for _, total in pages.values()),
    )
    for entity in pages:
        for entry in catalog.folder(path, entity=entity, limit=count):
            if isinstance(entry, Folder):
                found.folders.append((entity, entry))
            else:
                found.entities.append((entity, entry))
    if count is not None:
        del found.folders[count:]
        del found.entities[count - len(found.folders) :]
    return found


def read_tree(catalog: Catalog, path: str, entities: Sequence[str], depth: int) -> list[Branch]:
    """The folders below a path, `depth` levels deep. A request for each folder that has some."""
    path = _whole(path)
    pages = _pages(catalog, path, entities)
    if not pages and path != "/":
        raise NotFound(f"there is no folder {path} here; catalog browse shows those at the top")
    return [branch for entity in pages for branch in _below(catalog, path, entity, 1, depth)]


def print_place(found: Place, summaries: Mapping[Urn, Entity], shown_as: Form | None) -> None:
    """What lies at a path, in one of the forms; totals go to standard error."""
    if shown_as == "urns":
        tables.print_urns(found.urns)
    elif shown_as == "json":
        print_json(_as_json(found, summaries))
    elif shown_as == "csv":
        tables.print_csv(_table(found, summaries))
    elif found.shown:
        tables.print_table(_table(found, summaries))
    _say_how_many(found, only_entities=shown_as == "urns")


def print_tree(branches: Sequence[Branch], shown_as: Form | None) -> None:
    """The folders, each with how many entities lie in and below it."""
    if shown_as == "json":
        print_json([_branch_as_json(branch) for branch in branches])
        return
    if shown_as == "csv":
        rows = [
            (one.path, one.name, one.entity_type, one.depth, one.count) for one in _all(branches)
        ]
        tables.print_csv(tables.Table(_TREE, rows))
        return
    console = results()
    types = {branch.entity_type for branch in branches}
    for text in _drawn(branches, "", several=len(types) > 1):
        text.no_wrap, text.overflow = True, "ellipsis"
        console.print(text)
    note(counted(sum(1 for _ in _all(branches)), "folder"))


def _whole(path: str) -> str:
    return "/" + path.strip("/")


def _pages(catalog: Catalog, path: str, entities: Sequence[str]) -> dict[str, tuple[int, int]]:
    """For each type that has anything at the path, how many entries and entities. At the top, a
    type that nobody filed in folders is shown only when it is named."""
    found = {}
    for entity in entities or catalog.counts():
        page = catalog.browse(path, entity=entity, count=1)
        entries = page.entries or len(page)
        filed = path != "/" or page.folders
        if entries and (entities or filed):
            found[entity] = (entries, page.total)
    return found


def _below(catalog: Catalog, path: str, entity: str, depth: int, deepest: int) -> list[Branch]:
    found = []
    for entry in catalog.folder(path, entity=entity):
        if not isinstance(entry, Folder):
            break
        whole = f"{path.rstrip('/')}/{entry.name}"
        below = _below(catalog, whole, entity, depth + 1, deepest) if depth < deepest else []
        found.append(Branch(whole, entry.name, entity, entry.count, depth, below))
    return found


def _table(found: Place, summaries: Mapping[Urn, Entity]) -> tables.Table:
    rows: list[list[tables.Cell]] = []
    base = found.path.rstrip("/")
    for entity, folder in found.folders:
        rows.append(
            [f"{base}/{folder.name}", None, entity, f"{folder.name}/", entity, folder.count, None]
        )
    for entity, named in found.entities:
        summary = summaries.get(named.urn)
        kind = summary.kind if summary else entity
        name = summary.name if summary else named.name
        rows.append([found.path, str(named.urn), entity, name, kind, None, _description(summary)])
    columns = (
        tables.Column("path", audience="programs"),
        tables.Column("urn", audience="programs"),
        tables.Column("type", audience="programs"),
        tables.Column("name", max_width=44, folds=True, style="bold"),
        tables.Column("kind", "type", max_width=16),
        tables.Column("entities", audience="everyone" if found.folders else "programs"),
        tables.Column(
            "description", audience="everyone" if found.entities else "programs", style="dim"
        ),
    )
    return tables.Table(columns, rows)


def _description(summary: Entity | None) -> str:
    if summary is None:
        return ""
    first = next(iter(summary.description.strip().splitlines()), "")
    return f"{EDITED} {first}" if summary.edited_description else first


def _as_json(found: Place, summaries: Mapping[Urn, Entity]) -> dict[str, Any]:
    base = found.path.rstrip("/")
    entities = []
    for entity, named in found.entities:
        summary = summaries.get(named.urn)
        entities.append(
            {
                "urn": str(named.urn),
                "name": summary.name if summary else named.name,
                "type": entity,
                "kind": summary.kind if summary else entity,
                "platform": summary.platform if summary else named.urn.platform,
                "description": summary.description if summary else "",
            }
        )
    return {
        "path": found.path,
        "total": found.total,
        "shown": found.shown,
        "entities_below": found.below,
        "folders": [
            {
                "path": f"{base}/{folder.name}",
                "name": folder.name,
                "type": entity,
                "entities": folder.count,
            }
            for entity, folder in found.folders
        ],
        "entities": entities,
    }


def _branch_as_json(branch: Branch) -> dict[str, Any]:
    return {
        "path": branch.path,
        "name": branch.name,
        "type": branch.entity_type,
        "entities": branch.count,
        "folders": [_branch_as_json(below) for below in branch.below],
    }


def _all(branches: Sequence[Branch]) -> Iterator[Branch]:
    for branch in branches:
        yield branch
        yield from _all(branch.below)


def _drawn(branches: Sequence[Branch], before: str, *, several: bool) -> Iterator[Text]:
    for at, branch in enumerate(branches):
        last = at == len(branches) - 1
        top = branch.depth == 1
        lead = "" if top else before + ("└── " if last else "├── ")
        count = f"  {branch.count:,}" + (f" · {branch.entity_type}" if several and top else "")
        yield Text(lead, "dim") + said(f"{branch.name}/", "bold") + Text(count, "dim")
        deeper = "" if top else before + ("    " if last else "│   ")
        yield from _drawn(branch.below, deeper, several=several)


def _entities(number: int) -> str:
    return "1 entity" if number == 1 else f"{number:,} entities"


def _say_how_many(found: Place, *, only_entities: bool) -> None:
    if not found.total:
        note("nothing is filed in folders here")
        return
    shown = (
        f"{found.shown:,}"
        if found.shown == found.total
        else (f"{found.shown:,} of {found.total:,}")
    )
    more = "" if found.shown == found.total else "; --all for the others"
    inside = f"; {_entities(found.below)} in and below {line(found.path)}"
    if only_entities and found.folders:
        inside = f"; {len(found.folders):,} of them folders, which have no URN{inside}"
    note(Text(f"{shown} shown{more}{inside}"))
