"""Browsing: entity types, their folders, the entities in them; read as they are unfolded."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import on, work
from textual.binding import BindingType
from textual.message import Message
from textual.widgets import Tree
from textual.widgets.tree import TreeNode

from explorer.metadata.urn import Urn
from explorer.tui.actions import bindings
from explorer.tui.content import said
from explorer.tui.session import Session
from explorer.tui.words import plural

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog
    from explorer.client.records import Facet

__all__ = ["BrowseTree"]

_PAGE = 200
_FIRST = (
    "dataset",
    "dashboard",
    "chart",
    "dataFlow",
    "dataJob",
    "container",
    "domain",
    "glossaryNode",
    "glossaryTerm",
    "tag",
    "corpuser",
    "corpGroup",
)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a node of the tree stands: a folder of an entity type, an entity, or the rest of a
    folder that is yet to be read from `start` on."""

    entity_type: str
    path: str = "/"
    urn: Urn | None = None
    start: int = 0
    listed: bool = False


class BrowseTree(Tree[_Place]):
    """The folders of the catalog. A folder is read when it is unfolded, in pages."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("tree")
    DEFAULT_CSS = """
    BrowseTree { width: 30; background: $background; padding: 0 1 0 0; scrollbar-size-vertical: 1;
                 border-right: solid $border-blurred; }
    BrowseTree:focus { border-right: solid $primary; }
    """

    @dataclass
    class Opened(Message):
        """An entity was opened."""

        urn: Urn

    def __init__(self, session: Session) -> None:
        super().__init__("catalog")
        self._session = session
        self.show_root = False
        self.guide_depth = 2
        self.auto_expand = False

    def fill(self) -> None:
        """Read the entity types and how many there are of each."""
        self._read_types()

    def action_into(self) -> None:
        """Unfold a folder; inside an unfolded one, go to its first entry."""
        node = self.cursor_node
        if node is None:
            return
        if node.allow_expand and not node.is_expanded:
            node.expand()
        else:
            self.action_cursor_down()

    def action_out(self) -> None:
        """Fold a folder; from an entry, go up to its folder."""
        node = self.cursor_node
        if node is None:
            return
        if node.is_expanded:
            node.collapse()
        elif node.parent is not None and node.parent is not self.root:
            self.move_cursor(node.parent)

    @on(Tree.NodeExpanded)
    def _unfolded(self, event: Tree.NodeExpanded[_Place]) -> None:
        event.stop()
        if event.node.data is not None and not event.node.children:
            event.node.add_leaf(Text("reading …", "dim italic"))
            self._read(event.node, event.node.data)

    @on(Tree.NodeSelected)
    def _selected(self, event: Tree.NodeSelected[_Place]) -> None:
        event.stop()
        place = event.node.data
        if place is None:
            return
        if place.urn is not None:
            self.post_message(self.Opened(place.urn))
        elif event.node.allow_expand:
            event.node.toggle()
        elif event.node.parent is not None:
            parent = event.node.parent
            event.node.remove()
            self._read(parent, place)

    @work(group="browse")
    async def _read_types(self) -> None:
        with self._session.reporting("reading the folders"):
            catalog = await self._session.catalog()
            page = await catalog.search("*", count=1)
            types = next((one for one in page.facets if one.name == "_entityType"), None)
            self.root.remove_children()
            for name, count in _in_order(types, catalog):
                label = Text.assemble((plural(name), "bold"), (f" {count:,}", "dim"))
                self.root.add(label, _Place(name))
            if self.root.children:
                first = self.root.children[0]
                first.expand()
                self.move_cursor(first)
            else:
                self.root.add_leaf(Text("nothing here yet", "dim italic"))

    @work(group="browse")
    async def _read(self, node: TreeNode[_Place], place: _Place) -> None:
        with self._session.reporting(f"reading the folder {place.path}"):
            catalog = await self._session.catalog()
            fresh = place.start == 0
            if not place.listed:
                page = await catalog.browse(
                    place.path, entity=place.entity_type, start=place.start, count=_PAGE
                )
                if fresh:
                    node.remove_children()
                for folder in page.folders:
                    label = said(folder.name).append(f" {folder.count:,}", "dim")
                    below = f"{place.path.rstrip('/')}/{folder.name}"
                    node.add(label, _Place(place.entity_type, below))
                for named in page.entities:
                    node.add_leaf(said(named.name), _Place(place.entity_type, urn=named.urn))
                if page.folders or page.entities or place.path != "/":
                    read = place.start + len(page.folders) + len(page.entities)
                    self._add_rest(node, place, read, page.entries)
                    return
            await self._list(catalog, node, place)

    async def _list(self, catalog: "AsyncCatalog", node: TreeNode[_Place], place: _Place) -> None:
        """Entities that lie in no folder, by name."""
        page = await catalog.search("*", entity=place.entity_type, start=place.start, count=_PAGE)
        known = await catalog.summaries(hit.urn for hit in page)
        if place.start == 0:
            node.remove_children()
        names = [
            (known[hit.urn].name if hit.urn in known else hit.urn.name, hit.urn) for hit in page
        ]
        for name, urn in sorted(names, key=lambda pair: pair[0].lower()):
            node.add_leaf(said(name), _Place(place.entity_type, urn=urn))
        listed = _Place(place.entity_type, place.path, listed=True)
        self._add_rest(node, listed, place.start + len(page.hits), page.total)

    def _add_rest(self, node: TreeNode[_Place], place: _Place, read: int, total: int) -> None:
        if read < total:
            rest = _Place(place.entity_type, place.path, start=read, listed=place.listed)
            node.add_leaf(Text(f"… {total - read:,} more", "italic"), rest)
        if not node.children:
            node.add_leaf(Text("empty", "dim italic"))


def _in_order(types: "Facet | None", catalog: "AsyncCatalog") -> list[tuple[str, int]]:
    """Entity types with their counts, those people look for most first."""
    spelled = {name.upper(): name for name in catalog.registry.entities}
    spelled |= {name.replace("_", ""): known for name, known in spelled.items()}
    found = [
        (spelled.get(one.value.upper().replace("_", ""), one.value), one.count)
        for one in (types.values if types else ())
    ]
    last = len(_FIRST)
    return sorted(
        found, key=lambda pair: (_FIRST.index(pair[0]) if pair[0] in _FIRST else last, pair[0])
    )
