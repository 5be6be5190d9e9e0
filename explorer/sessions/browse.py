"""Browsing: the folders of a catalog as one list of rows, whose pages are read when they come into
view; and the search for an entity's row."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from explorer.client.folders import (
    EntryPage,
    EntrySource,
    FixedSource,
    FolderEntry,
    FolderPath,
    paths_to,
)
from explorer.errors import CatalogError
from explorer.metadata.names import natural_key
from explorer.metadata.urn import Urn
from explorer.sessions.base import Session, SessionState

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog

PAGE: Final = 200
_PAGES_KEPT: Final = 12
_FEW: Final = 3
_MOST_FOLDER_PAGES: Final = 25
_AT_ONCE: Final = 4

ReadPage = Callable[["Branch", int], Awaitable[object]]
"""Reads a page of a folder. Raises the error if it cannot be read."""


@dataclass(eq=False, slots=True)
class Branch:
    """A folder that was expanded at least once.

    `total` is the number of entries, None before the first response. `pages` holds the pages read,
    by number, which follow the entries of `head`; `stale` are the numbers of pages that are shown
    until they are read again, `requested` of those being read; `failed` holds the errors of pages
    that could not be read. A response to a request of an earlier `turn` is discarded. `waiting`
    holds the subfolders that were expanded, until the page that shows them is read again. `size` is
    the number of entries per page, `height` the number of rows below the folder's own.
    """

    entry: FolderEntry
    source: EntrySource
    above: "Branch | None" = None
    index: int = 0
    size: int = PAGE
    unfolded: bool = True
    total: int | None = None
    note: str = ""
    text: str = ""
    turn: int = 0
    height: int = 1
    head: tuple[FolderEntry, ...] = ()
    pages: dict[int, tuple[FolderEntry, ...]] = field(default_factory=dict)
    stale: set[int] = field(default_factory=set)
    requested: set[int] = field(default_factory=set)
    failed: dict[int, CatalogError] = field(default_factory=dict)
    below: dict[int, "Branch"] = field(default_factory=dict)
    waiting: dict[object, "Branch"] = field(default_factory=dict)
    opened: list[int] = field(default_factory=list)
    _unfiltered: "_UnfilteredFolder | None" = None

    @property
    def complete(self) -> bool:
        """Return whether all entries of the folder were read."""
        if self.total is None or self.note or self.stale:
            return False
        return all(number in self.pages for number in range(self.page_of(self.total - 1) + 1))

    @property
    def attached(self) -> bool:
        """Return whether the folder's entries have rows: it and all folders above it are open."""
        if not self.unfolded:
            return False
        if self.above is None:
            return True
        return self.above.below.get(self.index) is self and self.above.attached

    def entry_at(self, index: int) -> FolderEntry | None:
        """Return an entry; None if its page was not read and the entry was never opened."""
        branch = self.below.get(index)
        if branch is not None:
            return branch.entry
        if index < len(self.head):
            return self.head[index]
        number, at = divmod(index - len(self.head), self.size)
        page = self.pages.get(number, ())
        return page[at] if at < len(page) else None

    def page_of(self, index: int) -> int:
        """Return the number of the page that holds an entry; the entries of `head` belong to the
        first page."""
        last = max(0, (self.total or 0) - 1)
        return max(0, min(index, last) - len(self.head)) // self.size

    def loaded(self) -> Iterator[tuple[int, FolderEntry]]:
        """Yield the entries that were read, each with its index, in order."""
        yield from enumerate(self.head)
        for number in sorted(self.pages):
            yield from enumerate(self.pages[number], len(self.head) + number * self.size)

    def needs_page(self, number: int) -> bool:
        """Return whether a page has to be read when it comes into view."""
        is_loaded = number in self.pages and number not in self.stale
        return not (is_loaded or number in self.requested or number in self.failed)

    def take(self, number: int, portion: EntryPage) -> None:
        """Store a page that was read, and recount the rows."""
        if portion.instead is not None:
            self.source = portion.instead
        if number == 0:
            if len(portion.head) != len(self.head):
                self._detach(list(self.below))
            self.head = portion.head
        self.pages[number] = portion.entries
        self.stale.discard(number)
        self.failed.pop(number, None)
        self.note = portion.note
        self.total = len(self.head) + portion.total
        for page_after in [page for page in self.pages if page > self.page_of(self.total - 1)]:
            del self.pages[page_after]
        if number == 0:
            self._reattach(0, self.head)
        self._reattach(len(self.head) + number * self.size, portion.entries)
        self._detach([index for index in self.below if index >= self.total])
        self.regrow()

    def fail(self, number: int, error: CatalogError) -> None:
        """Record the error of a page that could not be read."""
        self.pages.pop(number, None)
        self.stale.discard(number)
        self.failed[number] = error

    def unfold(self, index: int, entry: FolderEntry) -> "Branch | None":
        """Expand an entry and return its branch; None if it is not a folder."""
        if entry.below is None:
            return None
        branch = self.below.get(index)
        if branch is None:
            branch = self.below[index] = Branch(entry, entry.below, self, index, self.size)
        branch.unfolded = True
        branch.regrow()
        return branch

    def fold(self) -> None:
        """Collapse an entry; folders expanded below it are remembered."""
        self.unfolded = False
        self.regrow()

    def reload(self) -> None:
        """Mark all pages as stale, so that they are read again when they become visible."""
        self.turn += 1
        self.stale = set(self.pages)
        self.failed.clear()
        self.requested.clear()
        for branch in (*self.below.values(), *self.waiting.values()):
            branch.reload()

    def narrow(self, text: str) -> None:
        """Filter entries by a text in their names; an empty text clears the filter."""
        if text == self.text:
            return
        if self._unfiltered is None:
            self._unfiltered = _UnfilteredFolder.of(self)
        folder = self._unfiltered
        self.text = text
        self.source = folder.narrow(text) if text else folder.source
        self.below, self.waiting = {}, {} if text else folder.unfolded
        self._unfiltered = folder if text else None
        self.turn += 1
        self.total, self.note, self.head = None, "", ()
        for pages in (self.pages, self.stale, self.requested, self.failed):
            pages.clear()
        self.regrow()

    def regrow(self) -> None:
        """Recount the rows of the folder and of all folders above it."""
        branch: Branch | None = self
        while branch is not None:
            branch.opened = sorted(at for at, branch in branch.below.items() if branch.unfolded)
            own = max(1, branch.total or 0) + bool(branch.note)
            branch.height = own + sum(branch.below[at].height for at in branch.opened)
            branch = branch.above

    def _reattach(self, first: int, entries: tuple[FolderEntry, ...]) -> None:
        """Move expanded folders to the new positions of their entries."""
        positions = {entry.key: at for at, entry in enumerate(entries, first)}
        moved = [at for at in range(first, first + len(entries)) if at in self.below]
        self._detach([at for at in moved if positions.get(self.below[at].entry.key) != at])
        for at, entry in enumerate(entries, first):
            back = self.waiting.pop(entry.key, None)
            if back is not None and entry.below is not None:
                back.index, self.below[at] = at, back
            if at in self.below:
                self.below[at].entry = entry

    def _detach(self, indexes: list[int]) -> None:
        for index in indexes:
            branch = self.below.pop(index)
            self.waiting[branch.entry.key] = branch


@dataclass(frozen=True, slots=True)
class _UnfilteredFolder:
    """The unfiltered state of a folder while a filter is on."""

    source: EntrySource
    unfolded: dict[object, Branch]
    entries: tuple[FolderEntry, ...]
    complete: bool

    @classmethod
    def of(cls, branch: Branch) -> "_UnfilteredFolder":
        below = {branch.entry.key: branch for branch in branch.below.values()}
        entries = tuple(entry for _, entry in branch.loaded())
        return cls(branch.source, branch.waiting | below, entries, branch.complete)

    def narrow(self, text: str) -> EntrySource:
        """Return a source of the filtered entries: the entries read so far, if they are complete
        and none of them is a folder, else the server."""
        folders = any(
            entry.urn is None and entry.below and not entry.heading for entry in self.entries
        )
        if self.complete and not folders:
            return FixedSource(self.entries).narrow(text, ())
        return self.source.narrow(text, self.entries)


@dataclass(frozen=True, slots=True)
class OutlineRow:
    """A row: the entry at `index` of a folder, at the nesting `depth`. The index is -1 for the
    placeholder row of an empty folder, and the number of entries for the row of the folder's
    note."""

    branch: Branch
    index: int
    depth: int

    @property
    def entry(self) -> FolderEntry | None:
        """Return the entry of the row; None if it was not read."""
        return None if self.index < 0 else self.branch.entry_at(self.index)

    @property
    def unfolded(self) -> Branch | None:
        """Return the open folder that starts at this row; None if there is none."""
        branch = self.branch.below.get(self.index)
        return branch if branch is not None and branch.unfolded else None

    @property
    def error(self) -> CatalogError | None:
        """Return the error of the page that holds the row; None if it did not fail."""
        return self.branch.failed.get(self.branch.page_of(self.index))


class Outline:
    """All rows below a root that has no row itself."""

    def __init__(self, source: EntrySource, size: int = PAGE) -> None:
        self.root = Branch(FolderEntry("", below=source), source, size=size)
        self._seen: dict[tuple[Branch, int], None] = {}

    @property
    def height(self) -> int:
        """Return the number of rows."""
        return self.root.height

    def locate(self, row: int) -> OutlineRow:
        """Return the row at a position."""
        branch, depth = self.root, 0
        while True:
            before, into = 0, None
            for at in branch.opened:
                folder = branch.below[at]
                if row <= at + before:
                    break
                if row <= at + before + folder.height:
                    into = folder
                    break
                before += folder.height
            if into is None:
                return OutlineRow(branch, row - before if branch.total else -1, depth)
            row -= into.index + before + 1
            branch, depth = into, depth + 1

    def row_of(self, branch: Branch, index: int) -> int:
        """Return the row of an entry of an open folder."""
        row = max(0, index)
        for at in branch.opened:
            if at >= index:
                break
            row += branch.below[at].height
        if branch.above is None:
            return row
        return self.row_of(branch.above, branch.index) + 1 + row

    def pages(self, first: int, last: int) -> Iterator[tuple[Branch, int]]:
        """Yield the pages that hold the rows, each once, from the top; rows past the end hold
        none."""
        missing: dict[tuple[Branch, int], None] = {}
        for row in range(max(0, first), min(last, self.height - 1) + 1):
            spot = self.locate(row)
            missing[spot.branch, spot.branch.page_of(spot.index)] = None
        yield from missing

    def narrowed(self) -> Iterator[Branch]:
        """Yield the folders with a filter."""
        yield from _filter_branches(self.root)

    def forget(self, looked_at: list[tuple[Branch, int]]) -> None:
        """Drop the least recently visible pages if there are more than a limit."""
        for page in looked_at:
            self._seen.pop(page, None)
            self._seen[page] = None
        while len(self._seen) > max(_PAGES_KEPT, len(looked_at)):
            branch, number = next(iter(self._seen))
            del self._seen[branch, number]
            branch.pages.pop(number, None)
            branch.stale.discard(number)


def _filter_branches(branch: Branch) -> Iterator[Branch]:
    if branch.text:
        yield branch
    for at in branch.opened:
        yield from _filter_branches(branch.below[at])


@dataclass(frozen=True, slots=True)
class FolderLocation:
    """The row of an entity or, if it was not found, of the folder that should contain it."""

    branch: Branch
    index: int | None


@dataclass(frozen=True, slots=True)
class BrowseState(SessionState):
    """The folders. The `outline` is modified in place, because it may have a million rows;
    `revision` counts the modifications."""

    outline: Outline = field(kw_only=True)
    revision: int = 0


class BrowseSession(Session[BrowseState]):
    """Reads the folders of a catalog into an outline. Rows change only inside the context `around`,
    in which a front end can keep its cursor on the same entry."""

    def __init__(
        self,
        catalog: "AsyncCatalog",
        outline: Outline,
        around: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        self._outline, self._around = outline, around
        self._reads_running = 0
        self._places: tuple[Urn, list[FolderPath], int] | None = None
        super().__init__(catalog, BrowseState(outline=outline))

    @property
    def is_reading(self) -> bool:
        """Return whether pages are being read."""
        return self._reads_running > 0

    def claim(self, first: int, height: int) -> list[tuple[Branch, int]]:
        """Return the pages to read now, a few at a time: those that hold the visible rows, else
        those that hold the next rows. Drops the least recently visible pages."""
        pages = list(self._outline.pages(first, first + height - 1))
        self._outline.forget(pages)
        claimed = [page for page in pages if self._claim(*page)]
        if not self.is_reading:
            following = self._outline.pages(first + height, first + 2 * height)
            claimed = [page for page in following if self._claim(*page)]
        return claimed

    def _claim(self, branch: Branch, number: int) -> bool:
        is_claimed = self._reads_running < _AT_ONCE and branch.needs_page(number)
        if is_claimed:
            branch.requested.add(number)
            self._reads_running += 1
        return is_claimed

    async def read_claimed(self, branch: Branch, number: int) -> bool:
        """Read a page that `claim` returned; see `read`."""
        try:
            return await self.read(branch, number)
        finally:
            self._reads_running -= 1

    async def read(self, branch: Branch, number: int) -> bool:
        """Read a page and return whether it was stored; it is discarded if the folder was reloaded
        or filtered meanwhile. An error is recorded in the folder, and raised."""
        turn = branch.turn
        branch.requested.add(number)
        await self.note_change()
        try:
            portion = await branch.source.read(self.catalog, number * branch.size, branch.size)
        except asyncio.CancelledError:
            branch.requested.discard(number)
            raise
        except CatalogError as error:
            if turn == branch.turn:
                with self._changing():
                    branch.requested.discard(number)
                    branch.fail(number, error)
            raise
        if turn != branch.turn:
            return False
        with self._changing():
            is_first = branch.total is None
            branch.requested.discard(number)
            branch.take(number, portion)
            first = branch.entry_at(0)
            if branch.above is None and is_first and not branch.text and first is not None:
                branch.unfold(0, first)
        return True

    async def unfold(self, row: OutlineRow) -> Branch | None:
        """Expand the folder in a row; return the folder if its entries have to be read or read
        again."""
        with self._changing():
            branch = row.branch.unfold(row.index, row.entry) if row.entry is not None else None
            if branch is not None:
                branch.failed.clear()
        return branch if branch is not None and branch.total is None else None

    async def fold(self, row: OutlineRow) -> None:
        """Collapse the folder in a row; folders expanded below it are remembered."""
        with self._changing():
            if row.unfolded is not None:
                row.unfolded.fold()

    async def note_change(self) -> None:
        """Count a modification of the outline, and call the subscribers."""
        self.replace(revision=self.state.revision + 1)

    async def reveal(self, urn: Urn) -> FolderLocation:
        """Expand the folders above an entity, and return its row. If the entity is in several
        folders, each call shows the next place."""
        if self._places is None or self._places[0] != urn:
            self._places = urn, await paths_to(self.catalog, urn), -1
        _, paths, at = self._places
        at = (at + 1) % len(paths)
        self._places = urn, paths, at
        location = await _unfold_to(self.catalog, self._outline, paths[at], self.read)
        if location.index is None:
            branch = location.branch
            with self._changing():
                branch.narrow(paths[at].name)
            await self.read(branch, 0)
            places = (place for place, entry in branch.loaded() if entry.urn == urn)
            location = FolderLocation(branch, next(places, None))
        if location.index is None:
            self.say("The server lists it in no folder.")
        elif len(paths) > 1:
            self.say(f"Place {at + 1} of {len(paths)}")
        return location

    def forget_places(self) -> None:
        """Forget the remembered places of entities; the next `reveal` looks them up again."""
        self._places = None

    @contextmanager
    def _changing(self) -> Iterator[None]:
        with self._around():
            yield
        self.replace(revision=self.state.revision + 1)


async def _unfold_to(
    catalog: "AsyncCatalog", outline: Outline, path: FolderPath, read: ReadPage
) -> FolderLocation:
    """Expand the folders above an entity, and return its row."""
    branch = outline.root
    branches: list[Branch] = []
    for step in path.steps:
        branch.narrow("")
        at = await _find(catalog, branch, step, str(step), read)
        entry = branch.entry_at(at) if at is not None else None
        below = branch.unfold(at, entry) if at is not None and entry is not None else None
        if below is None:
            break
        branches.append(branch)
        branch = below
    branch.narrow("")
    at = await _find(catalog, branch, path.urn, path.name, read)
    if at is None and path.own and branches and len(branches) == len(path.steps):
        # A folder with the name of the entity: the entity may be next to it.
        parent = branches[-1]
        at_parent = await _find(catalog, parent, path.urn, path.name, read)
        if at_parent is not None:
            return FolderLocation(parent, at_parent)
    return FolderLocation(branch, at)


async def _find(
    catalog: "AsyncCatalog", branch: Branch, target: str | Urn, name: str, read: ReadPage
) -> int | None:
    """Return the index of the folder with a name, or of an entity; None if it is not found."""
    at = _at_hand(branch, target)
    if at is not None:
        return at
    if branch.total is None or 0 not in branch.pages:
        await read(branch, 0)
    pages = branch.page_of((branch.total or 0) - 1) + 1
    folders = isinstance(target, str)
    for number in range(min(pages, _MOST_FOLDER_PAGES if folders else pages)):
        if not folders and pages > _FEW and number:
            break
        if number not in branch.pages:
            await read(branch, number)
        at = _at_hand(branch, target)
        entries = branch.pages.get(number, ())
        if at is not None or (folders and entries and entries[-1].urn is not None):
            return at
    if folders or pages <= _FEW or not branch.source.by_name:
        return None
    # Our service sorts s2 before s10; other servers compare character by character.
    for key in (natural_key, str.casefold):
        await read(branch, await _page_with(catalog, branch, target, name, pages, key))
        at = _at_hand(branch, target)
        if at is not None:
            return at
    return None


def _at_hand(branch: Branch, target: str | Urn) -> int | None:
    if isinstance(target, str):
        text = target.casefold()
        matches = (
            at
            for at, entry in branch.loaded()
            if not entry.urn and str(entry.key).casefold() == text
        )
        return next(matches, None)
    return next((at for at, entry in branch.loaded() if entry.urn == target), None)


async def _page_with(
    catalog: "AsyncCatalog",
    branch: Branch,
    target: str | Urn,
    name: str,
    pages: int,
    key: Callable[[str], str],
) -> int:
    """Return the number of the page on which a name belongs in the sort order, by binary search:
    one small request for each step."""
    sought = (key(name), str(target))
    low, high = 0, pages - 1
    while low < high:
        middle = (low + high + 1) // 2
        portion = await branch.source.read(catalog, middle * branch.size, 1)
        first = next(iter(portion.entries), None)
        before = first is not None and (
            first.urn is None or (key(first.name), str(first.urn)) <= sought
        )
        low, high = (middle, high) if before else (low, middle - 1)
    return low
