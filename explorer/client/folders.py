"""The folders of a catalog as one tree: entity types, folders, glossary groups, containers,
domains.

A source reads the entries of one folder page by page, from browse paths or by searching.
"""

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from explorer.client.pages import WINDOW
from explorer.client.records import Folder, Named
from explorer.errors import InvalidInput, NotFound, ServerFault
from explorer.metadata.browse_paths import below_path, split_path
from explorer.metadata.names import natural_key, plural, singular
from explorer.metadata.urn import Urn
from explorer.query.filters import Criterion, Filter

if TYPE_CHECKING:
    from explorer.client.catalog import AsyncCatalog
    from explorer.client.entity import Entity
    from explorer.client.records import BrowsePage
    from explorer.metadata.registry import Registry


@dataclass(frozen=True, slots=True)
class FolderEntry:
    """An entry of a folder: an entity type, a folder or an entity.

    `below` reads its own entries, `None` if it has none; `count` is the number of entities in and
    below it, `None` if the server does not report it. A `heading` is an entity type. `aside` is
    shown next to the name, to distinguish entries of the same name. `folder` is the name of a
    folder in paths, if that differs from `name`: the URN of the entity that the folder stands for.
    """

    name: str
    urn: Urn | None = None
    count: int | None = None
    below: "EntrySource | None" = None
    heading: bool = False
    aside: str = ""
    folder: str = ""

    @property
    def key(self) -> object:
        """A value that is unique in the folder: the URN, or the name of a folder in paths."""
        return self.folder or self.name if self.urn is None else self.urn


@dataclass(frozen=True, slots=True)
class EntryPage:
    """A page of a folder.

    `total` is the number of entries on all pages, except those of `head`, which come first and are
    on the first page only. `below` is the number of entities in and below the folder. `instead`, if
    set, is the source from which to read the other pages; `note` is shown after the last entry.
    """

    entries: tuple[FolderEntry, ...]
    total: int
    head: tuple[FolderEntry, ...] = ()
    instead: "EntrySource | None" = None
    note: str = ""
    below: int = 0


class EntrySource(Protocol):
    """Reads the entries of a folder."""

    @property
    def by_name(self) -> bool:
        """Whether the entities of all pages are sorted by name."""
        ...

    async def read(self, catalog: "AsyncCatalog", start: int, count: int) -> EntryPage:
        """Return at most `count` entries from position `start`."""
        ...

    def narrow(self, text: str, known: tuple[FolderEntry, ...]) -> "EntrySource":
        """Return a source of the entries that have a text in their names.

        `known` are the entries read so far.
        """
        ...


@dataclass(frozen=True, slots=True)
class FixedSource:
    """A source of entries that were already read. No request."""

    entries: tuple[FolderEntry, ...]
    by_name: bool = False

    async def read(self, catalog: "AsyncCatalog", start: int, count: int) -> EntryPage:
        """Return at most `count` entries from position `start`."""
        del catalog
        return EntryPage(self.entries[start : start + count], len(self.entries))

    def narrow(self, text: str, known: tuple[FolderEntry, ...]) -> "EntrySource":
        """Return a source of the entries that have the text in their names."""
        del known
        return FixedSource(tuple(entry for entry in self.entries if name_contains(entry, text)))


def name_contains(entry: FolderEntry, text: str) -> bool:
    """Return whether the name of an entry contains a text, ignoring case."""
    return text.casefold() in entry.name.casefold()


def natural_order(name: str) -> tuple[str, str]:
    """Return a sort key that orders s2 before s10, and distinguishes names that differ only in
    case."""
    return natural_key(name), name


NESTING: Mapping[str, tuple[str, ...]] = {
    "glossaryNode": ("parentNode",),
    "container": ("container",),
    "domain": ("parentDomain", "domains"),
}
"""The entity types that contain other entities, and the fields in which these refer to their
container.

Contained entities of the same type use the first field.
"""

_FIRST = (
    *("dataset", "dashboard", "chart", "dataFlow", "dataJob", "container", "domain"),
    *("glossaryNode", "glossaryTerm", "tag", "corpuser", "corpGroup"),
)
_NAMES = ("name", "displayName", "fullName", "title", "ldap")
_GROUPS = 1_000
_ENTRIES = 1_000
_ALL = Filter()
_BROWSE = """
query browse($input: BrowseInput!) {
  browse(input: $input) { total groups { name count } entities { urn } }
}
"""


@dataclass(frozen=True, slots=True)
class TypesSource:
    """The entity types that have entities in the catalog, most important first, except columns,
    which are shown in their tables. One request."""

    by_name: bool = False

    async def read(self, catalog: "AsyncCatalog", start: int, count: int) -> EntryPage:
        """Return all entity types on one page; `start` and `count` are ignored."""
        del start, count
        counted = await catalog.counts()
        counted.pop("schemaField", None)
        last = len(_FIRST)
        order = sorted(
            counted,
            key=lambda entity_type: (
                _FIRST.index(entity_type) if entity_type in _FIRST else last,
                entity_type,
            ),
        )
        entries = tuple(
            FolderEntry(
                plural(entity_type), None, counted[entity_type], _top_of(entity_type), heading=True
            )
            for entity_type in order
        )
        return EntryPage(entries, len(entries))

    def narrow(self, text: str, known: tuple[FolderEntry, ...]) -> EntrySource:
        """Return a source of the known types with the text in their names; one page has all of
        them."""
        return FixedSource(known).narrow(text, ())


def _top_of(entity_type: str) -> EntrySource:
    if entity_type in NESTING:
        top = Criterion(NESTING[entity_type][0], condition="IS_NULL")
        return ListSource((entity_type,), Filter(((top,),)))
    return FolderSource(entity_type)


async def folder_at(catalog: "AsyncCatalog", path: str, entity_type: str) -> str:
    """Return the path of a folder as the server knows it. In the given path, folders that stand for
    entities may have the names that are shown; these become URNs. One or two requests for each
    folder on the path."""
    folder_path = "/"
    for name in split_path(path):
        page = await catalog.browse(folder_path, entity=entity_type, count=_GROUPS)
        names = {folder.title: folder.name for folder in reversed(page.folders)}
        is_known = any(folder.name == name for folder in page.folders)
        folder_path = below_path(folder_path, name if is_known else names.get(name, name))
    return folder_path


@dataclass(frozen=True, slots=True)
class FolderSource:
    """The folders and entities at a browse path. One request for each page.

    If the type has no folders and `lists_all` is set, its entities are found by searching. See
    `BrowsePage` for `repeats_folders`.
    """

    entity_type: str
    path: str = "/"
    by_name: bool = True
    repeats_folders: bool = False
    lists_all: bool = True

    async def read(self, catalog: "AsyncCatalog", start: int, count: int) -> EntryPage:
        """Return folders, then entities; sorted in natural order if one page has all of them."""
        first = start == 0
        is_top = self.path == "/" and first and self.lists_all
        try:
            page = await catalog.browse(
                self.path, entity=self.entity_type, start=start, count=count
            )
        except (InvalidInput, NotFound, ServerFault):
            if is_top:
                return await self._read_list(catalog, count)
            raise
        if is_top and not page.entry_count:
            return await self._read_list(catalog, count)
        return self._portion(page, first, count)

    def _portion(self, page: "BrowsePage", first: bool, count: int) -> EntryPage:
        folders = [
            FolderEntry(
                folder.title,
                None,
                folder.count,
                replace(self, path=below_path(self.path, folder.name)),
                folder=folder.name,
            )
            for folder in page.folders
        ]
        entities = [FolderEntry(entity.name, entity.urn) for entity in page.entities]
        unread = [FolderEntry(text) for text in page.unreadable]
        if page.entry_count <= count:
            folders.sort(key=lambda entry: natural_order(entry.name))
            entities.sort(key=lambda entry: natural_order(entry.name))
        if page.repeats_folders:
            head = tuple(folders) if first else ()
            source = replace(self, repeats_folders=True)
            rest = (*entities, *unread)
            return EntryPage(rest, page.direct_count, head, source, below=page.total)
        return EntryPage((*folders, *entities, *unread), page.entry_count, below=page.total)

    async def _read_list(self, catalog: "AsyncCatalog", count: int) -> EntryPage:
        source = ListSource((self.entity_type,))
        return replace(await source.read(catalog, 0, count), instead=source)

    def narrow(self, text: str, known: tuple[FolderEntry, ...]) -> EntrySource:
        """Return a source of the entities that the server finds in and below the path, and of the
        known folders with the text in their names."""
        called = tuple(entry for entry in known if entry.urn is None and name_contains(entry, text))
        return FoundInFolder(self, text, called)


@dataclass(frozen=True, slots=True)
class FoundInFolder:
    """The entities with a text in their name in and below a browse path.

    First the folders that contain such entities, then those directly at the path. Two requests for
    each page. `by_own_name` are folders with the text in their own name; `skipped` is the number of
    folders that the server counts before the entities.
    """

    folder: FolderSource
    text: str
    by_own_name: tuple[FolderEntry, ...] = ()
    by_name: bool = False
    skipped: int = 0

    async def read(self, catalog: "AsyncCatalog", start: int, count: int) -> EntryPage:
        """Return the folders with the first page, and the entities page by page."""
        if start == 0:
            return await self._first(catalog, count)
        value = await self._ask(catalog, self.skipped + start, count)
        return EntryPage(await _entities(catalog, _urns(value)), value["total"])

    async def _first(self, catalog: "AsyncCatalog", count: int) -> EntryPage:
        # Imported here, because it is slow to import; see `_ask`.
        from explorer.client.search import folder_labels

        value = await self._ask(catalog, 0, _GROUPS)
        groups = [(group["name"], group["count"]) for group in value["groups"]]
        counted = 0 if self.folder.repeats_folders else len(groups)
        labels = await folder_labels(catalog, (name for name, _ in groups))
        entries = tuple(
            FolderEntry(
                labels.get(name, name),
                None,
                number,
                replace(self, folder=self._below(name), by_own_name=()),
                folder=name,
            )
            for name, number in groups
        )
        names = {name for name, _ in groups}
        by_own_name = tuple(entry for entry in self.by_own_name if entry.key not in names)
        entities = await _entities(catalog, _urns(value)[:count])
        if value["total"] <= count:
            entities = tuple(sorted(entities, key=lambda entry: natural_order(entry.name)))
        return EntryPage(
            entities, value["total"], (*entries, *by_own_name), replace(self, skipped=counted)
        )

    def _below(self, name: str) -> FolderSource:
        return replace(self.folder, path=below_path(self.folder.path, name))

    async def _ask(self, catalog: "AsyncCatalog", start: int, count: int) -> dict[str, Any]:
        # Imported here, because it is slow to import and used only when somebody filters.
        from explorer.client.search import entity_symbol

        kind = self.folder.entity_type
        among = _name_filter(catalog.registry, (kind,), self.text)
        fields = {
            "type": entity_symbol(kind),
            "path": split_path(self.folder.path),
            "start": start,
            "count": count,
            "orFilters": [
                {"and": [criterion.to_graphql() for criterion in group]} for group in among.any_of
            ],
        }
        value = (await catalog.graphql(_BROWSE, {"input": fields})).get("browse")
        if not isinstance(value, dict) or not isinstance(value.get("total"), int):
            raise ServerFault("the server's answer to a filter in a folder has no total")
        return {"groups": (), "entities": ()} | value

    def narrow(self, text: str, known: tuple[FolderEntry, ...]) -> EntrySource:
        """Return a source for another text."""
        return self.folder.narrow(text, known)


@dataclass(frozen=True, slots=True)
class ListSource:
    """The entities of some types (or of all) that match a filter, found by searching.

    Used for types without folders, and for the content of a glossary group, container or domain.
    Two requests for each page; servers count to 10,000.
    """

    types: tuple[str, ...] = ()
    among: Filter = _ALL
    by_name: bool = False

    async def read(self, catalog: "AsyncCatalog", start: int, count: int) -> EntryPage:
        """Return entities, sorted by name if the server supports it; those that contain others come
        first."""
        page = await catalog.search(
            "*",
            entity=self.types[0] if len(self.types) == 1 else self.types,
            filter=self.among,
            sort="name" if self._sortable(catalog.registry) else None,
            start=start,
            count=min(count, max(1, WINDOW - start)),
        )
        entries = list(await _entities(catalog, (hit.urn for hit in page)))
        if len(self.types) != 1:
            entries = [
                entry if entry.below else replace(entry, aside=_kind(entry.urn))
                for entry in entries
            ]
        entries += [FolderEntry(text) for text in page.unreadable]
        if page.total <= count or not self._sortable(catalog.registry):
            entries.sort(key=lambda entry: (entry.below is None, natural_order(entry.name)))
        if page.total <= WINDOW:
            return EntryPage(tuple(entries), page.total)
        note = f"{page.total - WINDOW:,} more: lists end at {WINDOW:,}"
        return EntryPage(tuple(entries), WINDOW, note=note)

    def _sortable(self, registry: "Registry") -> bool:
        return not self.types or all(_has(registry, type_, "name") for type_ in self.types)

    def narrow(self, text: str, known: tuple[FolderEntry, ...]) -> EntrySource:
        """Return a source of the entities that have the text in their names."""
        del known
        return _Narrowed(self, text)


@dataclass(frozen=True, slots=True)
class _Narrowed:
    """The entities of a `ListSource` that have a text in their names."""

    source: ListSource
    text: str
    by_name: bool = False

    async def read(self, catalog: "AsyncCatalog", start: int, count: int) -> EntryPage:
        """Return a page of the filtered list."""
        types = self.source.types or catalog.registry.listed
        condition = _name_filter(catalog.registry, types, self.text)
        among = self.source.among.any_of or ((),)
        combined = Filter(
            tuple(
                (*criteria, *text_criteria)
                for criteria in among
                for text_criteria in condition.any_of
            )
        )
        return await replace(self.source, among=combined).read(catalog, start, count)

    def narrow(self, text: str, known: tuple[FolderEntry, ...]) -> EntrySource:
        """Return a source for another text."""
        return self.source.narrow(text, known)


async def _entities(catalog: "AsyncCatalog", urns: Iterable[Urn]) -> tuple[FolderEntry, ...]:
    """Return entries for entities, with their names; entities that contain others can be
    expanded."""
    listed = tuple(urns)
    entities = await catalog.summaries(listed) if listed else {}
    return tuple(
        FolderEntry(
            entities[urn].name if urn in entities else urn.name, urn, None, _member_source(urn)
        )
        for urn in listed
    )


def _member_source(urn: Urn) -> EntrySource | None:
    fields = NESTING.get(urn.entity_type)
    if fields is None:
        return None
    types = ("glossaryNode", "glossaryTerm") if urn.entity_type == "glossaryNode" else ()
    return ListSource(types, Filter(tuple((Criterion(field, (str(urn),)),) for field in fields)))


def _kind(urn: Urn | None) -> str:
    return " ".join((singular(urn.entity_type), urn.platform or "")).strip() if urn else ""


def _urns(value: Mapping[str, Any]) -> list[Urn]:
    return list(Urn.parse_all(entity["urn"] for entity in value["entities"] if entity))


def _name_filter(registry: "Registry", types: Sequence[str], text: str) -> Filter:
    fields = [name for name in _NAMES if any(_has(registry, type_, name) for type_ in types)]
    return Filter(tuple((Criterion(field, (text,), "CONTAIN"),) for field in fields or ["name"]))


def _has(registry: "Registry", entity_type: str, field: str) -> bool:
    if entity_type not in registry.entities:
        return False
    aspects = (registry.aspects.get(name) for name in registry.aspects_of(entity_type))
    return any(
        search_field.name == field for aspect in aspects if aspect for search_field in aspect.search
    )


_DEEPEST = 20
_HOLDERS = {
    "glossaryNode": ("glossaryNodeInfo", "parentNode"),
    "glossaryTerm": ("glossaryTermInfo", "parentNode"),
    "domain": ("domainProperties", "parentDomain"),
}


@dataclass(frozen=True, slots=True)
class FolderEntries:
    """The folders and entities at a path, each with its entity type.

    `total` is the number of entries at the path, and `below` the number of entities in it and in
    all folders below it.
    """

    path: str
    folders: tuple[tuple[str, Folder], ...] = ()
    entities: tuple[tuple[str, Named], ...] = ()
    total: int = 0
    below: int = 0

    @property
    def shown(self) -> int:
        """The number of entries in this record, which may be less than `total`."""
        return len(self.folders) + len(self.entities)

    @property
    def urns(self) -> list[Urn]:
        """The URNs of the entities, in order."""
        return [entry.urn for _, entry in self.entities]


@dataclass(frozen=True, slots=True)
class FolderTree:
    """A folder with its subfolders; `depth` counts from 1."""

    path: str
    name: str
    entity_type: str
    count: int
    depth: int
    below: "tuple[FolderTree, ...]" = ()

    def __iter__(self) -> "Iterator[FolderTree]":
        """Iterate over the folder and all folders below it."""
        yield self
        for tree in self.below:
            yield from tree


async def list_folder(
    catalog: "AsyncCatalog", path: str, types: Sequence[str] = (), limit: int | None = None
) -> FolderEntries:
    """Return the entries at a path of some types, or of all, at most `limit`, folders first.

    Types without folders are at the top only if they are named. One request for each type and
    each thousand entries. Raises `NotFound` if there is no such folder.
    """
    total = below = 0
    folders: list[tuple[str, Folder]] = []
    entities: list[tuple[str, Named]] = []
    path, pages = await _first_pages(catalog, path, types, limit)
    for kind, first, source in pages:
        total += first.total + len(first.head)
        below += first.below
        async for entry in _walk(catalog, first, source, limit):
            if entry.urn is not None:
                entities.append((kind, Named(entry.urn, entry.name)))
            elif entry.below is not None:
                name = entry.folder or entry.name
                folders.append((kind, Folder(name, entry.count or 0, entry.name)))
    shown = tuple(folders[:limit])
    room = None if limit is None else limit - len(shown)
    return FolderEntries(path, shown, tuple(entities[:room]), total, below)


async def read_folder_tree(
    catalog: "AsyncCatalog", path: str, types: Sequence[str], depth: int
) -> tuple[FolderTree, ...]:
    """Return the folders below a path, `depth` levels deep; otherwise like `list_folder`. One
    request for each folder."""
    trees: list[FolderTree] = []
    _, pages = await _first_pages(catalog, path, types, None)
    for _, first, source in pages:
        trees += await _trees(catalog, first, source, 1, depth)
    return tuple(trees)


async def _trees(
    catalog: "AsyncCatalog", first: EntryPage, source: EntrySource, depth: int, deepest: int
) -> list[FolderTree]:
    trees: list[FolderTree] = []
    async for entry in _walk(catalog, first, source, None):
        folder = entry.below
        if not isinstance(folder, FolderSource):
            break
        below: list[FolderTree] = []
        if depth < deepest:
            page = await folder.read(catalog, 0, _ENTRIES)
            below = await _trees(catalog, page, folder, depth + 1, deepest)
        kind, count = folder.entity_type, entry.count or 0
        trees.append(FolderTree(folder.path, entry.name, kind, count, depth, tuple(below)))
    return trees


_FirstPages: TypeAlias = list[tuple[str, EntryPage, EntrySource]]


async def _first_pages(
    catalog: "AsyncCatalog", path: str, types: Sequence[str], limit: int | None
) -> tuple[str, _FirstPages]:
    """Return the path of a folder as the server knows it (see `folder_at`), and the types that have
    entries there, each with its first page and the source of the other pages."""
    path = f"/{path.strip('/')}"
    kinds = types or tuple(await catalog.counts())
    pages = await _pages_at(catalog, path, kinds, limit, is_named=bool(types))
    if pages or path == "/":
        return path, pages
    for kind in kinds:
        path_in_catalog = await folder_at(catalog, path, kind)
        if pages := await _pages_at(catalog, path_in_catalog, kinds, limit, is_named=True):
            return path_in_catalog, pages
    raise NotFound(f"there is no folder {path}; those at the top are in the folder /")


async def _pages_at(
    catalog: "AsyncCatalog", path: str, kinds: Sequence[str], limit: int | None, *, is_named: bool
) -> _FirstPages:
    pages: _FirstPages = []
    for kind in kinds:
        source = FolderSource(kind, path, lists_all=False)
        page = await source.read(catalog, 0, _page_size(limit))
        entries = (*page.head, *page.entries)
        has_folders = path != "/" or any(entry.below is not None for entry in entries)
        if entries and (is_named or has_folders):
            pages.append((kind, page, page.instead or source))
    return pages


async def _walk(
    catalog: "AsyncCatalog", page: EntryPage, source: EntrySource, limit: int | None
) -> AsyncIterator[FolderEntry]:
    """Yield the entries of a page and of the following pages, at most `limit`."""
    start = count = 0
    while True:
        for entry in (*page.head, *page.entries):
            if count == limit:
                return
            yield entry
            count += 1
        start += _page_size(limit)
        if start >= page.total or not page.entries:
            return
        page = await source.read(catalog, start, _page_size(limit))


def _page_size(limit: int | None) -> int:
    return _ENTRIES if limit is None else min(limit, _ENTRIES)


@dataclass(frozen=True, slots=True)
class FolderPath:
    """A path from the top of the tree to an entity: folders by their names in paths,
    groups and containers by URN.

    `own` is true if the last folder may be the entity's own name.
    """

    steps: tuple[str | Urn, ...]
    urn: Urn
    name: str
    own: bool = False


async def paths_to(catalog: "AsyncCatalog", urn: Urn) -> list[FolderPath]:
    """Return the paths to an entity: its browse paths, then its groups, containers and domains.

    Two requests, and one for each of these ancestors.
    """
    entity = await catalog.entity(urn)
    name = entity.name
    paths = []
    if urn.entity_type not in NESTING:
        top = plural(urn.entity_type)
        for path in await catalog.browse_paths(urn):
            folders = split_path(path)
            paths.append(FolderPath((top, *folders), urn, name, own=bool(folders)))
        if not paths:
            paths.append(FolderPath((top,), urn, name))
    chain = await _chain(catalog, entity)
    if chain or urn.entity_type in NESTING:
        kind = chain[0].entity_type if chain else urn.entity_type
        paths.append(FolderPath((plural(kind), *chain), urn, name))
    for domain in entity.domains if urn.entity_type not in NESTING else ():
        above = await _chain(catalog, await catalog.entity(domain))
        paths.append(FolderPath((plural("domain"), *above, domain), urn, name))
    return paths


async def _chain(catalog: "AsyncCatalog", entity: "Entity") -> tuple[Urn, ...]:
    """Return the ancestors of an entity, from the top."""
    chain: list[Urn] = []
    holder = _holder(entity)
    while holder is not None and holder not in chain and len(chain) < _DEEPEST:
        chain.append(holder)
        holder = _holder(await catalog.entity(holder))
    return tuple(reversed(chain))


def _holder(entity: "Entity") -> Urn | None:
    aspect, field = _HOLDERS.get(entity.entity_type, ("container", "container"))
    value: Any = entity.aspects[aspect].value if aspect in entity.aspects else {}
    urns = list(Urn.parse_all([value[field]])) if isinstance(value.get(field), str) else []
    return urns[0] if urns else None
