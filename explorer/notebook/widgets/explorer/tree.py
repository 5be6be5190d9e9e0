"""The folders of the catalog as a tree, read a page at a time as they are unfolded."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any

from explorer.client.display import line
from explorer.errors import InvalidInput, NotFound, ServerFault
from explorer.metadata.names import plural
from explorer.metadata.urn import Urn
from explorer.query.filters import Criterion, Filter, all_of

if TYPE_CHECKING:
    from explorer.notebook.catalog import Catalog

__all__ = ["Entry", "Portion", "Tree", "types_of"]

PAGE = 50

_NESTING: Mapping[str, tuple[str, ...]] = {
    "glossaryNode": ("parentNode",),
    "container": ("container",),
    "domain": ("parentDomain", "domains"),
}
"""Types whose entities hold others, with the fields in which those name what holds them."""
_FIRST = (
    *("dataset", "dashboard", "chart", "dataFlow", "dataJob", "container", "domain"),
    *("glossaryNode", "glossaryTerm", "tag", "corpuser", "corpGroup"),
)
_NAME = 120
_REFUSED = (InvalidInput, NotFound, ServerFault)


@dataclass(frozen=True, slots=True)
class Entry:
    """A type, a folder, or an entity. `read` gives what is in it, from a place on."""

    name: str
    urn: str = ""
    count: int | None = None
    read: "Callable[[Catalog, int], Portion] | None" = None


@dataclass(frozen=True, slots=True)
class Portion:
    """Entries of a folder, and where the next page starts; nothing after the last."""

    entries: tuple[Entry, ...]
    further: int | None = None


@dataclass(eq=False, slots=True)
class _Node:
    entry: Entry
    level: int
    above: "_Node | None" = None
    below: "list[str] | None" = None
    further: int | None = None
    is_open: bool = False
    note: str = ""


@dataclass(eq=False)
class Tree:
    """What was read of the folders, and which are unfolded. Asks nobody: it is given portions."""

    _nodes: dict[str, _Node] = field(default_factory=dict)
    _top: list[str] = field(default_factory=list)
    _numbers: "count[int]" = field(default_factory=count)

    @property
    def is_empty(self) -> bool:
        """Whether nothing was read yet."""
        return not self._top

    def plant(self, entries: tuple[Entry, ...]) -> None:
        """The topmost entries, in the place of all there was; the first is to be unfolded."""
        self._nodes.clear()
        self._top = [self._add(entry, 1, None) for entry in entries]

    @property
    def first(self) -> str:
        """The topmost node; "" where there is none."""
        return self._top[0] if self._top else ""

    def unfold(self, key: str) -> "Callable[[Catalog], Portion] | None":
        """Show what is in a folder; gives what reads it, where it was not read yet."""
        node = self._nodes.get(key)
        if node is None or node.entry.read is None:
            return None
        node.is_open = True
        return None if node.below is not None else self.reading(key)

    def reading(self, key: str) -> "Callable[[Catalog], Portion] | None":
        """What reads the next page of a folder; nothing after the last."""
        node = self._nodes.get(key)
        if node is None or node.entry.read is None:
            return None
        start = 0 if node.below is None else node.further
        if start is None:
            return None
        read, node.note = node.entry.read, "reading …"
        return lambda catalog: read(catalog, start)

    def fold(self, key: str) -> None:
        """Show a folder closed."""
        if key in self._nodes:
            self._nodes[key].is_open = False

    def take(self, key: str, portion: Portion) -> None:
        """A page of a folder has come."""
        node = self._nodes.get(key)
        if node is None:
            return
        new = [self._add(entry, node.level + 1, node) for entry in portion.entries]
        node.below = [*(node.below or ()), *new]
        node.further, node.note = portion.further, "" if node.below else "nothing in it"

    def fail(self, key: str, why: str) -> None:
        """A page of a folder did not come."""
        if key in self._nodes:
            self._nodes[key].note = f"{line(why, 200)} — unfold it again to try again"
            self._nodes[key].is_open = self._nodes[key].below is not None

    def name(self, key: str) -> str:
        """What a node is called."""
        node = self._nodes.get(key)
        return line(node.entry.name, _NAME) if node else ""

    def told(self) -> list[dict[str, Any]]:
        """The rows that are seen, from top to bottom, as the page draws them."""
        return list(self._rows(self._top))

    def _rows(self, keys: list[str]) -> Iterator[dict[str, Any]]:
        waiting = [(key, at, len(keys)) for at, key in reversed([*enumerate(keys, 1)])]
        while waiting:
            key, at, size = waiting.pop()
            if at == 0:
                yield self._more(key)
                continue
            node = self._nodes[key]
            yield {
                "key": key,
                "name": line(node.entry.name, _NAME),
                "urn": node.entry.urn,
                "count": node.entry.count,
                "level": node.level,
                "at": at,
                "of": size,
                "open": node.is_open if node.entry.read is not None else None,
                "note": node.note,
            }
            if not node.is_open or node.below is None:
                continue
            if node.further is not None:
                waiting.append((key, 0, 0))
            below = node.below
            waiting += [(one, n, len(below)) for n, one in reversed([*enumerate(below, 1)])]

    def _more(self, key: str) -> dict[str, Any]:
        node = self._nodes[key]
        read = len(node.below or ())
        of = f" of {node.entry.count:,}" if node.entry.count and node.entry.count > read else ""
        return {"more": key, "key": f"{key}+", "level": node.level + 1, "name": f"{read:,}{of}"}

    def _add(self, entry: Entry, level: int, above: "_Node | None") -> str:
        key = f"n{next(self._numbers)}"
        self._nodes[key] = _Node(entry, level, above)
        return key


def types_of(catalog: "Catalog") -> tuple[Entry, ...]:
    """The types that there are entities of, those people look for most first. One request."""
    counted = catalog.counts()
    last = len(_FIRST)
    order = sorted(counted, key=lambda one: (_FIRST.index(one) if one in _FIRST else last, one))
    return tuple(Entry(plural(one), "", counted[one], _top_of(one)) for one in order)


def _top_of(entity_type: str) -> "Callable[[Catalog, int], Portion]":
    if entity_type in _NESTING:
        top = Criterion(_NESTING[entity_type][0], condition="IS_NULL")
        return _listing((entity_type,), all_of(top))
    return _folder(entity_type, "/")


def _folder(entity_type: str, path: str) -> "Callable[[Catalog, int], Portion]":
    """What lies at a browse path: folders, then entities. Types that lie in no folder are listed.
    One request a page."""

    def read(catalog: "Catalog", start: int) -> Portion:
        listed = _listing((entity_type,), Filter())
        try:
            page = catalog.browse(path, entity=entity_type, start=start, count=PAGE)
        except _REFUSED:
            if path != "/":
                raise
            return listed(catalog, start)
        if path == "/" and not page.entries:
            return listed(catalog, start)
        folders = tuple(
            Entry(one.name, "", one.count, _folder(entity_type, f"{path.rstrip('/')}/{one.name}"))
            for one in (() if page.repeating and start else page.folders)
        )
        entities = (Entry(one.name, str(one.urn)) for one in page.entities)
        return Portion((*folders, *entities), page.end if page.truncated else None)

    return read


def _listing(types: tuple[str, ...], among: Filter) -> "Callable[[Catalog, int], Portion]":
    """What a search finds, by name. Two requests a page."""

    def read(catalog: "Catalog", start: int) -> Portion:
        page = catalog.search("*", entity=types, narrowed_by=among, start=start, count=PAGE)
        names = {urn: entity.name for urn, entity in page.summaries.items()}
        entries = tuple(
            Entry(names.get(hit.urn) or hit.urn.name, str(hit.urn), None, _held_by(hit.urn))
            for hit in page.hits
        )
        return Portion(entries, page.end if page.truncated else None)

    return read


def _held_by(urn: Urn) -> "Callable[[Catalog, int], Portion] | None":
    fields = _NESTING.get(urn.entity_type)
    if fields is None:
        return None
    types = ("glossaryNode", "glossaryTerm") if urn.entity_type == "glossaryNode" else ()
    return _listing(types, Filter(tuple((Criterion(one, (str(urn),)),) for one in fields)))
