"""The folders of a catalog as one tree: entity types, folders, groups, containers and domains.

A source reads the entries of one folder, a page at a time, from browse paths or by searching.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

from explorer.errors import InvalidInput, NotFound, ServerFault
from explorer.metadata.names import natural_key, plural, singular
from explorer.metadata.urn import Urn
from explorer.query.filters import Criterion, Filter

if TYPE_CHECKING:
    from explorer.client.catalog import AsyncCatalog
    from explorer.client.entity import Entity
    from explorer.client.records import BrowsePage
    from explorer.metadata.registry import Registry

__all__ = [
    "EntryPage",
    "EntrySource",
    "FixedSource",
    "FolderEntry",
    "FolderPath",
    "TypesSource",
    "natural_order",
    "paths_to",
]


@dataclass(frozen=True, slots=True)
class FolderEntry:
    """An entry of a folder: an entity type, a folder or an entity.

    `below` reads what it holds, None for what holds nothing; `count` is how many entities lie in
    and below it, None where the server does not say. A `heading` is an entity type. `aside` is
    shown beside the name and tells entries of one name apart.
    """

    name: str
    urn: Urn | None = None
    count: int | None = None
    below: "EntrySource | None" = None
    heading: bool = False
    aside: str = ""

    @property
    def key(self) -> object:
        """Return what no other entry of its folder has: the URN, or the name of a folder."""
        return self.name if self.urn is None else self.urn


@dataclass(frozen=True, slots=True)
class EntryPage:
    """A page of a folder.

    `total` counts the entries that all pages hold together, without those of `head`, which come
    before them and are given with the first page only. `instead` is the source to read further
    pages from, where it is another one; `note` is shown after the last entry.
    """

    entries: tuple[FolderEntry, ...]
    total: int
    head: tuple[FolderEntry, ...] = ()
    instead: "EntrySource | None" = None
    note: str = ""


class EntrySource(Protocol):
    """Reads the entries of a folder."""

    @property
    def by_name(self) -> bool:
        """Whether the entities of all pages are in the order of their names."""
        ...

    async def read(self, catalog: "AsyncCatalog", start: int, count: int) -> EntryPage:
        """Return the entries from `start` on, at most `count`."""
        ...

    def narrowed(self, text: str, known: tuple[FolderEntry, ...]) -> "EntrySource":
        """Return a source of the entries that have a text in their names; `known` are those that
        were read already."""
        ...


@dataclass(frozen=True, slots=True)
class FixedSource:
    """Entries that were read already. No request."""

    entries: tuple[FolderEntry, ...]
    by_name: bool = False

    async def read(self, catalog: "AsyncCatalog", start: int, count: int) -> EntryPage:
        """Return some of them."""
        del catalog
        return EntryPage(self.entries[start : start + count], len(self.entries))

    def narrowed(self, text: str, known: tuple[FolderEntry, ...]) -> "EntrySource":
        """Return those that have the text in their names."""
        del known
        return FixedSource(tuple(one for one in self.entries if name_contains(one, text)))


def name_contains(entry: FolderEntry, text: str) -> bool:
    """Return whether a text is part of the name of an entry, ignoring case."""
    return text.casefold() in entry.name.casefold()


def natural_order(name: str) -> tuple[str, str]:
    """Return a sort key that puts s2 before s10, and orders names that differ in case alone."""
    return natural_key(name), name


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
    """The entity types that the catalog has entities of, the most wanted first. One request."""

    by_name: bool = False

    async def read(self, catalog: "AsyncCatalog", start: int, count: int) -> EntryPage:
        """Return all of them, whatever `start` and `count` are."""
        del start, count
        counted = await catalog.counts()
        last = len(_FIRST)
        order = sorted(counted, key=lambda one: (_FIRST.index(one) if one in _FIRST else last, one))
        entries = tuple(
            FolderEntry(plural(one), None, counted[one], _top_of(one), heading=True)
            for one in order
        )
        return EntryPage(entries, len(entries))

    def narrowed(self, text: str, known: tuple[FolderEntry, ...]) -> EntrySource:
        """Return those of the known types; one page holds all."""
        return FixedSource(known).narrowed(text, ())


def _top_of(entity_type: str) -> EntrySource:
    if entity_type in NESTING:
        top = Criterion(NESTING[entity_type][0], condition="IS_NULL")
        return ListSource((entity_type,), Filter(((top,),)))
    return FolderSource(entity_type)


def below_path(path: str, name: str) -> str:
    """Return the path of a folder in a folder."""
    return f"{path.rstrip('/')}/{name}"


@dataclass(frozen=True, slots=True)
class FolderSource:
    """What lies at a browse path. One request a page.

    Entities of a type that nobody filed in folders are listed by searching. `repeating` is as in
    `BrowsePage`.
    """

    entity_type: str
    path: str = "/"
    by_name: bool = True
    repeating: bool = False

    async def read(self, catalog: "AsyncCatalog", start: int, count: int) -> EntryPage:
        """Return folders, then entities; in natural order where one page holds all."""
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

    def _portion(self, page: "BrowsePage", first: bool, count: int) -> EntryPage:
        folders = tuple(
            FolderEntry(
                one.name, None, one.count, replace(self, path=below_path(self.path, one.name))
            )
            for one in page.folders
        )
        entities = [FolderEntry(one.name, one.urn) for one in page.entities]
        unread = [FolderEntry(text) for text in page.unreadable]
        if page.entries <= count:
            entities.sort(key=lambda entry: natural_order(entry.name))
        if page.repeating:
            head = folders if first else ()
            known = replace(self, repeating=True)
            return EntryPage((*entities, *unread), page.here, head, known)
        return EntryPage((*folders, *entities, *unread), page.entries)

    async def _listed(self, catalog: "AsyncCatalog", count: int) -> EntryPage:
        source = ListSource((self.entity_type,))
        return replace(await source.read(catalog, 0, count), instead=source)

    def narrowed(self, text: str, known: tuple[FolderEntry, ...]) -> EntrySource:
        """Return what the server finds in and below; folders by their own name among those at
        hand."""
        called = tuple(one for one in known if one.urn is None and name_contains(one, text))
        return FoundInFolder(self, text, called)


@dataclass(frozen=True, slots=True)
class FoundInFolder:
    """What has a text in its name, in and below a browse path: the folders it lies in, then the
    entities right there. Two requests a page. `called` are folders that have it in their own name;
    `skipped` is how many folders the server counts before the entities."""

    folder: FolderSource
    text: str
    called: tuple[FolderEntry, ...] = ()
    by_name: bool = False
    skipped: int = 0

    async def read(self, catalog: "AsyncCatalog", start: int, count: int) -> EntryPage:
        """Return the folders with the first page, the entities by pages."""
        if start == 0:
            return await self._first(catalog, count)
        value = await self._ask(catalog, self.skipped + start, count)
        return EntryPage(await _entities(catalog, _urns(value)), value["total"])

    async def _first(self, catalog: "AsyncCatalog", count: int) -> EntryPage:
        value = await self._ask(catalog, 0, _GROUPS)
        groups = [(one["name"], one["count"]) for one in value["groups"]]
        counted = 0 if self.folder.repeating else len(groups)
        names = {name for name, _ in groups}
        found = tuple(
            FolderEntry(name, None, number, replace(self, folder=self._below(name), called=()))
            for name, number in groups
        )
        called = tuple(one for one in self.called if one.name not in names)
        entities = await _entities(catalog, _urns(value)[:count])
        if value["total"] <= count:
            entities = tuple(sorted(entities, key=lambda one: natural_order(one.name)))
        return EntryPage(
            entities, value["total"], (*found, *called), replace(self, skipped=counted)
        )

    def _below(self, name: str) -> FolderSource:
        return replace(self.folder, path=below_path(self.folder.path, name))

    async def _ask(self, catalog: "AsyncCatalog", start: int, count: int) -> dict[str, Any]:
        # Heavy to import, and wanted by few: not before somebody filters.
        from explorer.client.search import entity_symbol

        kind = self.folder.entity_type
        among = _called_so(catalog.registry, (kind,), self.text)
        fields = {
            "type": entity_symbol(kind),
            "path": [part for part in self.folder.path.split("/") if part],
            "start": start,
            "count": count,
            "orFilters": [{"and": [one.to_graphql() for one in group]} for group in among.any_of],
        }
        value = (await catalog.graphql(_BROWSE, {"input": fields})).get("browse")
        if not isinstance(value, dict) or not isinstance(value.get("total"), int):
            raise ServerFault("the server's answer to a filter in a folder has no total")
        return {"groups": (), "entities": ()} | value

    def narrowed(self, text: str, known: tuple[FolderEntry, ...]) -> EntrySource:
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

    async def read(self, catalog: "AsyncCatalog", start: int, count: int) -> EntryPage:
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
        entries += [FolderEntry(text) for text in page.unreadable]
        if page.total <= count or not self._sortable(catalog.registry):
            entries.sort(key=lambda entry: (entry.below is None, natural_order(entry.name)))
        if page.total <= WINDOW:
            return EntryPage(tuple(entries), page.total)
        note = f"{page.total - WINDOW:,} more: lists end at {WINDOW:,}"
        return EntryPage(tuple(entries), WINDOW, note=note)

    def _sortable(self, registry: "Registry") -> bool:
        return not self.types or all(_has(registry, one, "name") for one in self.types)

    def narrowed(self, text: str, known: tuple[FolderEntry, ...]) -> EntrySource:
        """Only what has the text in its name."""
        del known
        return _Narrowed(self, text)


@dataclass(frozen=True, slots=True)
class _Narrowed:
    """What has a text in its name, of a list."""

    whole: ListSource
    text: str
    by_name: bool = False

    async def read(self, catalog: "AsyncCatalog", start: int, count: int) -> EntryPage:
        """Return the same list, narrowed."""
        types = self.whole.types or catalog.registry.listed
        called = _called_so(catalog.registry, types, self.text)
        among = self.whole.among.any_of or ((),)
        both = Filter(tuple((*one, *other) for one in among for other in called.any_of))
        return await replace(self.whole, among=both).read(catalog, start, count)

    def narrowed(self, text: str, known: tuple[FolderEntry, ...]) -> EntrySource:
        """Another text."""
        return self.whole.narrowed(text, known)


async def _entities(catalog: "AsyncCatalog", urns: Iterable[Urn]) -> tuple[FolderEntry, ...]:
    """Entities by name; those that hold others can be unfolded."""
    listed = tuple(urns)
    known = await catalog.summaries(listed) if listed else {}
    return tuple(
        FolderEntry(known[urn].name if urn in known else urn.name, urn, None, _held_by(urn))
        for urn in listed
    )


def _held_by(urn: Urn) -> EntrySource | None:
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


_DEEPEST = 20
_HOLDERS = {
    "glossaryNode": ("glossaryNodeInfo", "parentNode"),
    "glossaryTerm": ("glossaryTermInfo", "parentNode"),
    "domain": ("domainProperties", "parentDomain"),
}


@dataclass(frozen=True, slots=True)
class FolderPath:
    """From the top to an entity: folders by name, groups and containers by URN. `own` says that
    the last folder may be the entity's own name."""

    steps: tuple[str | Urn, ...]
    urn: Urn
    name: str
    own: bool = False


async def paths_to(catalog: "AsyncCatalog", urn: Urn) -> list[FolderPath]:
    """Its browse paths first, then the groups, containers and domains it lies in. Two requests,
    and one for each of those."""
    entity = await catalog.entity(urn)
    name = entity.name
    found = []
    if urn.entity_type not in NESTING:
        top = plural(urn.entity_type)
        for path in await catalog.browse_paths(urn):
            folders = [part for part in path.split("/") if part]
            found.append(FolderPath((top, *folders), urn, name, own=bool(folders)))
        if not found:
            found.append(FolderPath((top,), urn, name))
    chain = await _chain(catalog, entity)
    if chain or urn.entity_type in NESTING:
        kind = chain[0].entity_type if chain else urn.entity_type
        found.append(FolderPath((plural(kind), *chain), urn, name))
    for domain in entity.domains if urn.entity_type not in NESTING else ():
        above = await _chain(catalog, await catalog.entity(domain))
        found.append(FolderPath((plural("domain"), *above, domain), urn, name))
    return found


async def _chain(catalog: "AsyncCatalog", entity: "Entity") -> tuple[Urn, ...]:
    """Return what holds an entity, from the top."""
    chain: list[Urn] = []
    holder = _holder(entity)
    while holder is not None and holder not in chain and len(chain) < _DEEPEST:
        chain.append(holder)
        holder = _holder(await catalog.entity(holder))
    return tuple(reversed(chain))


def _holder(entity: "Entity") -> Urn | None:
    aspect, field = _HOLDERS.get(entity.entity_type, ("container", "container"))
    held: Any = entity.aspects[aspect].value if aspect in entity.aspects else {}
    urns = list(Urn.parse_all([held[field]])) if isinstance(held.get(field), str) else []
    return urns[0] if urns else None
