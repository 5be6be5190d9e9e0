"""The ways in which entries are read from the server: types, browse paths, and lists by search."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from explorer.errors import InvalidInput, NotFound, ServerFault
from explorer.metadata.names import plural, singular
from explorer.metadata.urn import Urn
from explorer.query.filters import Criterion, Filter
from explorer.tui.browse.entries import Entry, Kept, Portion, Source, named_like, naturally

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog
    from explorer.client.records import BrowsePage
    from explorer.metadata.registry import Registry

__all__ = ["NESTING", "FolderSource", "FoundInFolder", "ListSource", "TypesSource", "below_path"]

NESTING: Mapping[str, tuple[str, ...]] = {
    "glossaryNode": ("parentNode",),
    "container": ("container",),
    "domain": ("parentDomain", "domains"),
}
"""Types whose entities hold others, with the fields in which those name what holds them; by the
first of them they hold one another."""

WINDOW = 10_000
"""How far into a result servers can be asked to count."""

_FIRST = (
    *("dataset", "dashboard", "chart", "dataFlow", "dataJob", "container", "domain"),
    *("glossaryNode", "glossaryTerm", "tag", "corpuser", "corpGroup"),
)
_NAMES = ("name", "displayName", "fullName", "title", "ldap")
_GROUPS = 1_000
_ALL = Filter()
_BROWSE = """
query browse($input: BrowseInput!) {
  browse(input: $input) { total groups { name count } entities { urn } }
}
"""


@dataclass(frozen=True, slots=True)
class TypesSource:
    """The types that there are entities of, those people look for most first. One request."""

    by_name: bool = False

    async def read(self, catalog: "AsyncCatalog", start: int, count: int) -> Portion:
        """All of them, whatever is asked."""
        del start, count
        counted = await catalog.counts()
        last = len(_FIRST)
        order = sorted(counted, key=lambda one: (_FIRST.index(one) if one in _FIRST else last, one))
        entries = tuple(
            Entry(plural(one), None, counted[one], _top_of(one), heading=True) for one in order
        )
        return Portion(entries, len(entries))

    def narrowed(self, text: str, known: tuple[Entry, ...]) -> Source:
        """Types are few: those at hand are all."""
        return Kept(known).narrowed(text, ())


def _top_of(entity_type: str) -> Source:
    if entity_type in NESTING:
        top = Criterion(NESTING[entity_type][0], condition="IS_NULL")
        return ListSource((entity_type,), Filter(((top,),)))
    return FolderSource(entity_type)


def below_path(path: str, name: str) -> str:
    """The path of a folder in a folder."""
    return f"{path.rstrip('/')}/{name}"


@dataclass(frozen=True, slots=True)
class FolderSource:
    """A browse path. One request a page. Types that lie in no folder are listed by search;
    `repeating` is what is known of the server, as `BrowsePage` says it."""

    entity_type: str
    path: str = "/"
    by_name: bool = True
    repeating: bool = False

    async def read(self, catalog: "AsyncCatalog", start: int, count: int) -> Portion:
        """Folders, then entities; those of a folder that one page holds in natural order."""
        first = start == 0
        try:
            page = await catalog.browse(
                self.path, entity=self.entity_type, start=start, count=count
            )
        except (InvalidInput, NotFound, ServerFault):
            if self.path == "/" and first:
                return await self._listed(catalog, count)
            raise
        if self.path == "/" and first and not page.entries:
            return await self._listed(catalog, count)
        return self._portion(page, first, count)

    def _portion(self, page: "BrowsePage", first: bool, count: int) -> Portion:
        folders = tuple(
            Entry(one.name, None, one.count, replace(self, path=below_path(self.path, one.name)))
            for one in page.folders
        )
        entities = [Entry(one.name, one.urn) for one in page.entities]
        unread = [Entry(text) for text in page.unreadable]
        if page.entries <= count:
            entities.sort(key=lambda entry: naturally(entry.name))
        if page.repeating:
            head = folders if first else ()
            known = replace(self, repeating=True)
            return Portion((*entities, *unread), page.here, head, known)
        return Portion((*folders, *entities, *unread), page.entries)

    async def _listed(self, catalog: "AsyncCatalog", count: int) -> Portion:
        source = ListSource((self.entity_type,))
        return replace(await source.read(catalog, 0, count), instead=source)

    def narrowed(self, text: str, known: tuple[Entry, ...]) -> Source:
        """What the server finds in and below; folders by their own name among those at hand."""
        called = tuple(one for one in known if one.urn is None and named_like(one, text))
        return FoundInFolder(self, text, called)


@dataclass(frozen=True, slots=True)
class FoundInFolder:
    """What has a text in its name, in and below a browse path: the folders it lies in, then the
    entities right there. Two requests a page. `called` are folders that have it in their own name;
    `skipped` is how many folders the server counts before the entities."""

    folder: FolderSource
    text: str
    called: tuple[Entry, ...] = ()
    by_name: bool = False
    skipped: int = 0

    async def read(self, catalog: "AsyncCatalog", start: int, count: int) -> Portion:
        """The folders with the first page, the entities by pages."""
        if start == 0:
            return await self._first(catalog, count)
        value = await self._ask(catalog, self.skipped + start, count)
        return Portion(await _entities(catalog, _urns(value)), value["total"])

    async def _first(self, catalog: "AsyncCatalog", count: int) -> Portion:
        value = await self._ask(catalog, 0, _GROUPS)
        groups = [(one["name"], one["count"]) for one in value["groups"]]
        counted = 0 if self.folder.repeating else len(groups)
        names = {name for name, _ in groups}
        found = tuple(
            Entry(name, None, number, replace(self, folder=self._below(name), called=()))
            for name, number in groups
        )
        called = tuple(one for one in self.called if one.name not in names)
        entities = await _entities(catalog, _urns(value)[:count])
        if value["total"] <= count:
            entities = tuple(sorted(entities, key=lambda one: naturally(one.name)))
        return Portion(entities, value["total"], (*found, *called), replace(self, skipped=counted))

    def _below(self, name: str) -> FolderSource:
        return replace(self.folder, path=below_path(self.folder.path, name))

    async def _ask(self, catalog: "AsyncCatalog", start: int, count: int) -> dict[str, Any]:
        # Heavy to import, and wanted by few: not before somebody filters.
        from explorer.client.search import entity_symbol

        kind = self.folder.entity_type
        among = _called_so(catalog.registry, (kind,), self.text)
        asked = {
            "type": entity_symbol(kind),
            "path": [part for part in self.folder.path.split("/") if part],
            "start": start,
            "count": count,
            "orFilters": [{"and": [one.to_graphql() for one in group]} for group in among.any_of],
        }
        value = (await catalog.graphql(_BROWSE, {"input": asked})).get("browse")
        if not isinstance(value, dict) or not isinstance(value.get("total"), int):
            raise ServerFault("the server's answer to a filter in a folder has no total")
        return {"groups": (), "entities": ()} | value

    def narrowed(self, text: str, known: tuple[Entry, ...]) -> Source:
        """Another text."""
        return self.folder.narrowed(text, known)


@dataclass(frozen=True, slots=True)
class ListSource:
    """What a search for everything of some types (all, where none is named) finds: for types that
    lie in no folder, and for what lies in a group, a container or a domain. Two requests a page;
    servers count to 10,000."""

    types: tuple[str, ...] = ()
    among: Filter = _ALL
    by_name: bool = False

    async def read(self, catalog: "AsyncCatalog", start: int, count: int) -> Portion:
        """By name where the server can sort them so; what holds others before what does not."""
        page = await catalog.search(
            "*",
            entity=self.types[0] if len(self.types) == 1 else self.types,
            narrowed_by=self.among,
            sorted_by="name" if self._sortable(catalog.registry) else None,
            start=start,
            count=min(count, max(1, WINDOW - start)),
        )
        entries = list(await _entities(catalog, (hit.urn for hit in page)))
        if len(self.types) != 1:
            entries = [one if one.below else replace(one, aside=_kind(one.urn)) for one in entries]
        entries += [Entry(text) for text in page.unreadable]
        if page.total <= count or not self._sortable(catalog.registry):
            entries.sort(key=lambda entry: (entry.below is None, naturally(entry.name)))
        if page.total <= WINDOW:
            return Portion(tuple(entries), page.total)
        note = f"{page.total - WINDOW:,} more: lists end at {WINDOW:,}, f finds among all"
        return Portion(tuple(entries), WINDOW, note=note)

    def _sortable(self, registry: "Registry") -> bool:
        return not self.types or all(_has(registry, one, "name") for one in self.types)

    def narrowed(self, text: str, known: tuple[Entry, ...]) -> Source:
        """Only what has the text in its name."""
        del known
        return _Narrowed(self, text)


@dataclass(frozen=True, slots=True)
class _Narrowed:
    """What has a text in its name, of a list."""

    whole: ListSource
    text: str
    by_name: bool = False

    async def read(self, catalog: "AsyncCatalog", start: int, count: int) -> Portion:
        """The same list, narrowed."""
        types = self.whole.types or tuple(catalog.registry.entities)
        called = _called_so(catalog.registry, types, self.text)
        among = self.whole.among.any_of or ((),)
        both = Filter(tuple((*one, *other) for one in among for other in called.any_of))
        return await replace(self.whole, among=both).read(catalog, start, count)

    def narrowed(self, text: str, known: tuple[Entry, ...]) -> Source:
        """Another text."""
        return self.whole.narrowed(text, known)


async def _entities(catalog: "AsyncCatalog", urns: Iterable[Urn]) -> tuple[Entry, ...]:
    """Entities by name; those that hold others can be unfolded."""
    listed = tuple(urns)
    known = await catalog.summaries(listed) if listed else {}
    return tuple(
        Entry(known[urn].name if urn in known else urn.name, urn, None, _held_by(urn))
        for urn in listed
    )


def _held_by(urn: Urn) -> Source | None:
    fields = NESTING.get(urn.entity_type)
    if fields is None:
        return None
    types = ("glossaryNode", "glossaryTerm") if urn.entity_type == "glossaryNode" else ()
    return ListSource(types, Filter(tuple((Criterion(one, (str(urn),)),) for one in fields)))


def _kind(urn: Urn | None) -> str:
    return " ".join((singular(urn.entity_type), urn.platform or "")).strip() if urn else ""


def _urns(value: Mapping[str, Any]) -> list[Urn]:
    return list(Urn.parse_all(one["urn"] for one in value["entities"] if one))


def _called_so(registry: "Registry", types: Sequence[str], text: str) -> Filter:
    fields = [name for name in _NAMES if any(_has(registry, one, name) for one in types)]
    return Filter(tuple((Criterion(one, (text,), "CONTAIN"),) for one in fields or ["name"]))


def _has(registry: "Registry", entity_type: str, field: str) -> bool:
    if entity_type not in registry.entities:
        return False
    aspects = (registry.aspects.get(name) for name in registry.aspects_of(entity_type))
    return any(one.name == field for aspect in aspects if aspect for one in aspect.search)
