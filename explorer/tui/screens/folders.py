"""The rows of the folders: which folders are open, which pages of them were read, and the row of
each entry.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from explorer.client.folders import EntryPage, EntrySource, FixedSource, FolderEntry

__all__ = ["PAGE", "Branch", "Outline", "OutlineRow"]


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
        """Return whether every entry was read."""
        if self.total is None or self.note or self.stale:
            return False
        return all(number in self.pages for number in range(self.page_of(self.total - 1) + 1))

    @property
    def attached(self) -> bool:
        """Return whether it has rows: whether it and all folders above it are open."""
        if not self.unfolded:
            return False
        if self.above is None:
            return True
        return self.above.below.get(self.index) is self and self.above.attached

    def entry_at(self, index: int) -> FolderEntry | None:
        """Return an entry; None where its page was not read and it was never opened."""
        held = self.below.get(index)
        if held is not None:
            return held.entry
        if index < len(self.head):
            return self.head[index]
        number, at = divmod(index - len(self.head), PAGE)
        page = self.pages.get(number, ())
        return page[at] if at < len(page) else None

    def page_of(self, index: int) -> int:
        """Return the number of the page that holds an entry; the head is part of the first."""
        last = max(0, (self.total or 0) - 1)
        return max(0, min(index, last) - len(self.head)) // PAGE

    def known(self) -> Iterator[tuple[int, FolderEntry]]:
        """Yield the entries that were read, each with its index, in order."""
        yield from enumerate(self.head)
        for number in sorted(self.pages):
            yield from enumerate(self.pages[number], len(self.head) + number * PAGE)

    def lacks(self, number: int) -> bool:
        """Return whether a page has to be read when it comes into view."""
        there = number in self.pages and number not in self.stale
        return not (there or number in self.asked or number in self.failed)

    def take(self, number: int, portion: EntryPage) -> None:
        """Take a page that was read."""
        if portion.instead is not None:
            self.source = portion.instead
        if number == 0:
            if len(portion.head) != len(self.head):
                self._take_off(list(self.below))
            self.head = portion.head
        self.pages[number] = portion.entries
        self.stale.discard(number)
        self.failed.pop(number, None)
        self.note = f"{portion.note}, f finds among all" if portion.note else ""
        self.total = len(self.head) + portion.total
        for gone in [one for one in self.pages if one > self.page_of(self.total - 1)]:
            del self.pages[gone]
        if number == 0:
            self._hang(0, self.head)
        self._hang(len(self.head) + number * PAGE, portion.entries)
        self._take_off([index for index in self.below if index >= self.total])
        self.regrow()

    def fail(self, number: int, why: str) -> None:
        """Note why a page could not be read."""
        self.pages.pop(number, None)
        self.stale.discard(number)
        self.failed[number] = why

    def unfold(self, index: int, entry: FolderEntry) -> "Branch | None":
        """Open an entry and return its branch; None where it holds nothing."""
        if entry.below is None:
            return None
        branch = self.below.get(index)
        if branch is None:
            branch = self.below[index] = Branch(entry, entry.below, self, index)
        branch.unfolded = True
        branch.regrow()
        return branch

    def fold(self) -> None:
        """Close it; what is open below stays open for the next time."""
        self.unfolded = False
        self.regrow()

    def reload(self) -> None:
        """Mark everything as stale: it is read again when it comes into view."""
        self.turn += 1
        self.stale = set(self.pages)
        self.failed.clear()
        self.asked.clear()
        for branch in (*self.below.values(), *self.waiting.values()):
            branch.reload()

    def narrow(self, text: str) -> None:
        """Show only entries that have a text in their names; all again for an empty text."""
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
        """Count its rows and those of all folders above it again."""
        branch: Branch | None = self
        while branch is not None:
            branch.opened = sorted(at for at, one in branch.below.items() if one.unfolded)
            own = max(1, branch.total or 0) + bool(branch.note)
            branch.height = own + sum(branch.below[at].height for at in branch.opened)
            branch = branch.above

    def _hang(self, first: int, entries: tuple[FolderEntry, ...]) -> None:
        """Move open folders to the places that their entries have now."""
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
    """A folder as it was before it was narrowed."""

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
        """Return the source of the narrowed entries: those that were read, where these are all and
        none is a folder, else the server."""
        folders = any(one.urn is None and one.below and not one.heading for one in self.known)
        if self.complete and not folders:
            return FixedSource(self.known).narrowed(text, ())
        return self.source.narrowed(text, self.known)


_PAGES_KEPT = 12


@dataclass(frozen=True, slots=True)
class OutlineRow:
    """A row: the entry `index` of a folder, `depth` folders deep. The index is -1 for the row of a
    folder without entries, and the number of entries for the row of its note."""

    branch: Branch
    index: int
    depth: int

    @property
    def entry(self) -> FolderEntry | None:
        """Return the entry, None where it was not read."""
        return None if self.index < 0 else self.branch.entry_at(self.index)

    @property
    def unfolded(self) -> Branch | None:
        """Return the open folder below it, None for none."""
        held = self.branch.below.get(self.index)
        return held if held is not None and held.unfolded else None

    @property
    def why(self) -> str | None:
        """Return why its page could not be read, None where nothing failed."""
        return self.branch.failed.get(self.branch.page_of(self.index))


class Outline:
    """All rows below a root that has no row itself."""

    def __init__(self, source: EntrySource) -> None:
        self.root = Branch(FolderEntry("", below=source), source)
        self._seen: dict[tuple[Branch, int], None] = {}

    @property
    def height(self) -> int:
        """Return the number of rows."""
        return self.root.height

    def locate(self, row: int) -> OutlineRow:
        """Return what is in a row."""
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
        found: dict[tuple[Branch, int], None] = {}
        for row in range(max(0, first), min(last, self.height - 1) + 1):
            spot = self.locate(row)
            found[spot.branch, spot.branch.page_of(spot.index)] = None
        yield from found

    def narrowed(self) -> Iterator[Branch]:
        """Yield the folders that are narrowed."""
        yield from _narrowed(self.root)

    def forget(self, looked_at: list[tuple[Branch, int]]) -> None:
        """Drop the pages that were visible longest ago, beyond a limit."""
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
