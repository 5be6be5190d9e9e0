"""The model of the folders: entries read page by page from browse paths and searches, and the rows
they make.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

from explorer.errors import InvalidInput, NotFound, ServerFault
from explorer.metadata.names import natural_key, plural, singular
from explorer.metadata.urn import Urn
from explorer.query.filters import Criterion, Filter

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog
    from explorer.client.entity import Entity
    from explorer.client.records import BrowsePage
    from explorer.metadata.registry import Registry

__all__ = [
    "PAGE",
    "Branch",
    "EntryPage",
    "FixedSource",
    "FolderEntry",
    "FolderPath",
    "Outline",
    "OutlineRow",
    "TypesSource",
    "natural_order",
    "paths_to",
]


@dataclass(frozen=True, slots=True)
class FolderEntry:
    """One row: a type, a folder or an entity. `below` is where to read what it holds, None for
    what holds nothing; `count` is how many entities lie in it, None where nobody said; `aside`
    tells it from others of its name."""

    name: str
    urn: Urn | None = None
    count: int | None = None
    below: "EntrySource | None" = None
    heading: bool = False
    aside: str = ""

    @property
    def key(self) -> object:
        """What tells it from every other of its folder."""
        return self.name if self.urn is None else self.urn


@dataclass(frozen=True, slots=True)
class EntryPage:
    """A page of a folder. `total` counts the entries that its pages hold together, without those
    of `head`, which come before them and are given with the first page only. `instead` is where
    to read on from, once that is known better; `note` is what is to be said after the last."""

    entries: tuple[FolderEntry, ...]
    total: int
    head: tuple[FolderEntry, ...] = ()
    instead: "EntrySource | None" = None
    note: str = ""


class EntrySource(Protocol):
    """Where the entries of a folder are read."""

    @property
    def by_name(self) -> bool:
        """Whether entities come in the order of their names, whatever the page."""
        ...

    async def read(self, catalog: "AsyncCatalog", start: int, count: int) -> EntryPage:
        """The entries from `start` on, at most `count`."""
        ...

    def narrowed(self, text: str, known: tuple[FolderEntry, ...]) -> "EntrySource":
        """The same folder, only what has a text in its name; `known` are entries at hand."""
        ...


@dataclass(frozen=True, slots=True)
class FixedSource:
    """Entries that are all at hand: nothing is asked."""

    entries: tuple[FolderEntry, ...]
    by_name: bool = False

    async def read(self, catalog: "AsyncCatalog", start: int, count: int) -> EntryPage:
        """A piece of them."""
        del catalog
        return EntryPage(self.entries[start : start + count], len(self.entries))

    def narrowed(self, text: str, known: tuple[FolderEntry, ...]) -> "EntrySource":
        """Those that have the text in their name."""
        del known
        return FixedSource(tuple(one for one in self.entries if name_contains(one, text)))


def name_contains(entry: FolderEntry, text: str) -> bool:
    """Whether a text is part of a name, whatever the case."""
    return text.casefold() in entry.name.casefold()


def natural_order(name: str) -> tuple[str, str]:
    """A key that puts s2 before s10, and names alike but for their case in one order."""
    return natural_key(name), name


PAGE = 200


@dataclass(eq=False, slots=True)
class Branch:
    """A folder that was unfolded once.

    `total` counts its entries, nothing before the first answer. `pages` hold those at hand by
    number, after the ones of `head`; `stale` ones are shown until they are read again, `asked` are
    on their way, `failed` say why they are not there. An answer to a question of an earlier `turn`
    is not for what is shown now. `waiting` keeps what was unfolded below, until the page that shows
    it is there again. `height` counts the rows below its own.
    """

    entry: FolderEntry
    source: EntrySource
    above: "Branch | None" = None
    index: int = 0
    unfolded: bool = True
    total: int | None = None
    note: str = ""
    text: str = ""
    turn: int = 0
    height: int = 1
    head: tuple[FolderEntry, ...] = ()
    pages: dict[int, tuple[FolderEntry, ...]] = field(default_factory=dict)
    stale: set[int] = field(default_factory=set)
    asked: set[int] = field(default_factory=set)
    failed: dict[int, str] = field(default_factory=dict)
    below: dict[int, "Branch"] = field(default_factory=dict)
    waiting: dict[object, "Branch"] = field(default_factory=dict)
    opened: list[int] = field(default_factory=list)
    _whole: "_Whole | None" = None

    @property
    def complete(self) -> bool:
        """Whether every entry is at hand."""
        if self.total is None or self.note or self.stale:
            return False
        return all(number in self.pages for number in range(self.page_of(self.total - 1) + 1))

    @property
    def attached(self) -> bool:
        """Whether it has rows: it, and all that hold it, are unfolded where they stand."""
        if not self.unfolded:
            return False
        if self.above is None:
            return True
        return self.above.below.get(self.index) is self and self.above.attached

    def entry_at(self, index: int) -> FolderEntry | None:
        """An entry, where its page is at hand; what was unfolded is known in any case."""
        held = self.below.get(index)
        if held is not None:
            return held.entry
        if index < len(self.head):
            return self.head[index]
        number, at = divmod(index - len(self.head), PAGE)
        page = self.pages.get(number, ())
        return page[at] if at < len(page) else None

    def page_of(self, index: int) -> int:
        """The page on which an entry stands; the head comes with the first."""
        last = max(0, (self.total or 0) - 1)
        return max(0, min(index, last) - len(self.head)) // PAGE

    def known(self) -> Iterator[tuple[int, FolderEntry]]:
        """What is at hand, with its index, from the first on."""
        yield from enumerate(self.head)
        for number in sorted(self.pages):
            yield from enumerate(self.pages[number], len(self.head) + number * PAGE)

    def lacks(self, number: int) -> bool:
        """Whether a page is to be asked for when it is looked at."""
        there = number in self.pages and number not in self.stale
        return not (there or number in self.asked or number in self.failed)

    def take(self, number: int, portion: EntryPage) -> None:
        """Keep a page that came."""
        if portion.instead is not None:
            self.source = portion.instead
        if number == 0:
            if len(portion.head) != len(self.head):
                self._take_off(list(self.below))
            self.head = portion.head
        self.pages[number] = portion.entries
        self.stale.discard(number)
        self.failed.pop(number, None)
        self.note = portion.note
        self.total = len(self.head) + portion.total
        for gone in [one for one in self.pages if one > self.page_of(self.total - 1)]:
            del self.pages[gone]
        if number == 0:
            self._hang(0, self.head)
        self._hang(len(self.head) + number * PAGE, portion.entries)
        self._take_off([index for index in self.below if index >= self.total])
        self.regrow()

    def fail(self, number: int, why: str) -> None:
        """Say why a page is not there."""
        self.pages.pop(number, None)
        self.stale.discard(number)
        self.failed[number] = why

    def unfold(self, index: int, entry: FolderEntry) -> "Branch | None":
        """Unfold what an entry holds; None where it holds nothing."""
        if entry.below is None:
            return None
        branch = self.below.get(index)
        if branch is None:
            branch = self.below[index] = Branch(entry, entry.below, self, index)
        branch.unfolded = True
        branch.regrow()
        return branch

    def fold(self) -> None:
        """Fold it; what is unfolded below stays so for the next time."""
        self.unfolded = False
        self.regrow()

    def reload(self) -> None:
        """Everything is read again when it is looked at, and until then shown as it was."""
        self.turn += 1
        self.stale = set(self.pages)
        self.failed.clear()
        self.asked.clear()
        for branch in (*self.below.values(), *self.waiting.values()):
            branch.reload()

    def narrow(self, text: str) -> None:
        """Show only what has a text in its name; everything again without one."""
        if text == self.text:
            return
        if self._whole is None:
            self._whole = _Whole.of(self)
        whole = self._whole
        self.text = text
        self.source = whole.narrowed(text) if text else whole.source
        self.below, self.waiting = {}, {} if text else whole.unfolded
        self._whole = whole if text else None
        self.turn += 1
        self.total, self.note, self.head = None, "", ()
        for held in (self.pages, self.stale, self.asked, self.failed):
            held.clear()
        self.regrow()

    def regrow(self) -> None:
        """Count its rows again, and those of all that hold it."""
        branch: Branch | None = self
        while branch is not None:
            branch.opened = sorted(at for at, one in branch.below.items() if one.unfolded)
            own = max(1, branch.total or 0) + bool(branch.note)
            branch.height = own + sum(branch.below[at].height for at in branch.opened)
            branch = branch.above

    def _hang(self, first: int, entries: tuple[FolderEntry, ...]) -> None:
        """Put what is unfolded where its entry stands now."""
        here = {entry.key: at for at, entry in enumerate(entries, first)}
        moved = [at for at in range(first, first + len(entries)) if at in self.below]
        self._take_off([at for at in moved if here.get(self.below[at].entry.key) != at])
        for at, entry in enumerate(entries, first):
            back = self.waiting.pop(entry.key, None)
            if back is not None and entry.below is not None:
                back.index, self.below[at] = at, back
            if at in self.below:
                self.below[at].entry = entry

    def _take_off(self, indexes: list[int]) -> None:
        for index in indexes:
            branch = self.below.pop(index)
            self.waiting[branch.entry.key] = branch


@dataclass(frozen=True, slots=True)
class _Whole:
    """A folder before it was narrowed."""

    source: EntrySource
    unfolded: dict[object, Branch]
    known: tuple[FolderEntry, ...]
    complete: bool

    @classmethod
    def of(cls, branch: Branch) -> "_Whole":
        below = {one.entry.key: one for one in branch.below.values()}
        known = tuple(entry for _, entry in branch.known())
        return cls(branch.source, branch.waiting | below, known, branch.complete)

    def narrowed(self, text: str) -> EntrySource:
        """What is all at hand needs no server, unless there are folders to look into."""
        folders = any(one.urn is None and one.below and not one.heading for one in self.known)
        if self.complete and not folders:
            return FixedSource(self.known).narrowed(text, ())
        return self.source.narrowed(text, self.known)


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

    async def read(self, catalog: "AsyncCatalog", start: int, count: int) -> EntryPage:
        """All of them, whatever is asked."""
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
        """Types are few: those at hand are all."""
        return FixedSource(known).narrowed(text, ())


def _top_of(entity_type: str) -> EntrySource:
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

    async def read(self, catalog: "AsyncCatalog", start: int, count: int) -> EntryPage:
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
        """What the server finds in and below; folders by their own name among those at hand."""
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
        """The folders with the first page, the entities by pages."""
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
        note = f"{page.total - WINDOW:,} more: lists end at {WINDOW:,}, f finds among all"
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
        """The same list, narrowed."""
        types = self.whole.types or tuple(catalog.registry.entities)
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
    """What holds an entity, from the top."""
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


_PAGES_KEPT = 12


@dataclass(frozen=True, slots=True)
class OutlineRow:
    """A row: the entry `index` of a folder, `depth` folders deep. At -1 stands what is to be said
    of a folder without entries, behind the last entry its note."""

    branch: Branch
    index: int
    depth: int

    @property
    def entry(self) -> FolderEntry | None:
        """What stands there, where it is known."""
        return None if self.index < 0 else self.branch.entry_at(self.index)

    @property
    def unfolded(self) -> Branch | None:
        """What is unfolded below it."""
        held = self.branch.below.get(self.index)
        return held if held is not None and held.unfolded else None

    @property
    def why(self) -> str | None:
        """Why nothing is known of it, where that failed."""
        return self.branch.failed.get(self.branch.page_of(self.index))


class Outline:
    """All rows, from a folder that has no row itself."""

    def __init__(self, source: EntrySource) -> None:
        self.root = Branch(FolderEntry("", below=source), source)
        self._seen: dict[tuple[Branch, int], None] = {}

    @property
    def height(self) -> int:
        """How many rows there are."""
        return self.root.height

    def locate(self, row: int) -> OutlineRow:
        """What stands in a row."""
        branch, depth = self.root, 0
        while True:
            before, into = 0, None
            for at in branch.opened:
                held = branch.below[at]
                if row <= at + before:
                    break
                if row <= at + before + held.height:
                    into = held
                    break
                before += held.height
            if into is None:
                return OutlineRow(branch, row - before if branch.total else -1, depth)
            row -= into.index + before + 1
            branch, depth = into, depth + 1

    def row_of(self, branch: Branch, index: int) -> int:
        """The row of an entry of a folder that is unfolded."""
        row = max(0, index)
        for at in branch.opened:
            if at >= index:
                break
            row += branch.below[at].height
        if branch.above is None:
            return row
        return self.row_of(branch.above, branch.index) + 1 + row

    def pages(self, first: int, last: int) -> Iterator[tuple[Branch, int]]:
        """The pages that rows stand on, each once, from the top; rows that there are not are left
        out."""
        found: dict[tuple[Branch, int], None] = {}
        for row in range(max(0, first), min(last, self.height - 1) + 1):
            spot = self.locate(row)
            found[spot.branch, spot.branch.page_of(spot.index)] = None
        yield from found

    def narrowed(self) -> Iterator[Branch]:
        """Folders that a filter narrows."""
        yield from _narrowed(self.root)

    def forget(self, looked_at: list[tuple[Branch, int]]) -> None:
        """Let go of the pages that were looked at longest ago, when there are many."""
        for page in looked_at:
            self._seen.pop(page, None)
            self._seen[page] = None
        while len(self._seen) > max(_PAGES_KEPT, len(looked_at)):
            branch, number = next(iter(self._seen))
            del self._seen[branch, number]
            branch.pages.pop(number, None)
            branch.stale.discard(number)


def _narrowed(branch: Branch) -> Iterator[Branch]:
    if branch.text:
        yield branch
    for at in branch.opened:
        yield from _narrowed(branch.below[at])
