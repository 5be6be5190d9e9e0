"""The folders: a tree of entity types, platforms, folders and entities with a filter, and its
model: open folders, pages read, and the row of each entry."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import events, on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.geometry import Size
from textual.message import Message
from textual.widgets import Input, Static

from explorer.client.folders import (
    EntryPage,
    EntrySource,
    FixedSource,
    FolderEntry,
    FolderPath,
    TypesSource,
    paths_to,
)
from explorer.metadata.names import natural_key
from explorer.metadata.urn import Urn
from explorer.tui.actions import bindings
from explorer.tui.content import line_text, padded
from explorer.tui.session import TerminalSession
from explorer.tui.state import TerminalState
from explorer.tui.widgets.inputs import FilterLine
from explorer.tui.widgets.rows import Rows

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog

__all__ = ["PAGE", "Branch", "BrowseTree", "FolderRows", "Outline", "OutlineRow"]

PAGE = 200


@dataclass(eq=False, slots=True)
class Branch:
    """A folder that was expanded at least once.

    `total` is the number of its entries, None before the first response. `pages` has the pages
    read, by number, after the entries of `head`; `stale` pages are shown until they are read again,
    `requested` pages are being read, `failed` has the error of pages that could not be read. A
    response to a request of an earlier `turn` is discarded. `waiting` has the folders that were
    expanded below, until the page that shows them is read again. `height` is the number of rows
    below its own.
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
    requested: set[int] = field(default_factory=set)
    failed: dict[int, str] = field(default_factory=dict)
    below: dict[int, "Branch"] = field(default_factory=dict)
    waiting: dict[object, "Branch"] = field(default_factory=dict)
    opened: list[int] = field(default_factory=list)
    _unfiltered: "_UnfilteredFolder | None" = None

    @property
    def complete(self) -> bool:
        """Return whether every entry was read."""
        if self.total is None or self.note or self.stale:
            return False
        return all(number in self.pages for number in range(self.page_of(self.total - 1) + 1))

    @property
    def attached(self) -> bool:
        """Return whether it has rows, that is, whether it and all folders above it are open."""
        if not self.unfolded:
            return False
        if self.above is None:
            return True
        return self.above.below.get(self.index) is self and self.above.attached

    def entry_at(self, index: int) -> FolderEntry | None:
        """Return an entry; None where its page was not read and it was never opened."""
        branch = self.below.get(index)
        if branch is not None:
            return branch.entry
        if index < len(self.head):
            return self.head[index]
        number, at = divmod(index - len(self.head), PAGE)
        page = self.pages.get(number, ())
        return page[at] if at < len(page) else None

    def page_of(self, index: int) -> int:
        """Return the number of the page that holds an entry; the head is part of the first."""
        last = max(0, (self.total or 0) - 1)
        return max(0, min(index, last) - len(self.head)) // PAGE

    def loaded(self) -> Iterator[tuple[int, FolderEntry]]:
        """Yield the entries that were read, each with its index, in order."""
        yield from enumerate(self.head)
        for number in sorted(self.pages):
            yield from enumerate(self.pages[number], len(self.head) + number * PAGE)

    def needs_page(self, number: int) -> bool:
        """Return whether a page has to be read when it comes into view."""
        is_loaded = number in self.pages and number not in self.stale
        return not (is_loaded or number in self.requested or number in self.failed)

    def take(self, number: int, portion: EntryPage) -> None:
        """Take a page that was read."""
        if portion.instead is not None:
            self.source = portion.instead
        if number == 0:
            if len(portion.head) != len(self.head):
                self._detach(list(self.below))
            self.head = portion.head
        self.pages[number] = portion.entries
        self.stale.discard(number)
        self.failed.pop(number, None)
        self.note = f"{portion.note}, f searches all" if portion.note else ""
        self.total = len(self.head) + portion.total
        for page_after in [page for page in self.pages if page > self.page_of(self.total - 1)]:
            del self.pages[page_after]
        if number == 0:
            self._reattach(0, self.head)
        self._reattach(len(self.head) + number * PAGE, portion.entries)
        self._detach([index for index in self.below if index >= self.total])
        self.regrow()

    def fail(self, number: int, why: str) -> None:
        """Note why a page could not be read."""
        self.pages.pop(number, None)
        self.stale.discard(number)
        self.failed[number] = why

    def unfold(self, index: int, entry: FolderEntry) -> "Branch | None":
        """Expand an entry and return its branch; None if it is not a folder."""
        if entry.below is None:
            return None
        branch = self.below.get(index)
        if branch is None:
            branch = self.below[index] = Branch(entry, entry.below, self, index)
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
        """Recount its rows and those of all folders above it."""
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
        """Return where filtered entries come from: the entries read, if they are complete and none
        is a folder, else the server."""
        folders = any(
            entry.urn is None and entry.below and not entry.heading for entry in self.entries
        )
        if self.complete and not folders:
            return FixedSource(self.entries).narrow(text, ())
        return self.source.narrow(text, self.entries)


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
        branch = self.branch.below.get(self.index)
        return branch if branch is not None and branch.unfolded else None

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
        """Drop the pages beyond a limit that were visible longest ago."""
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


_DIM = "dim"
_ASIDE = "dim italic"


def folder_row(spot: OutlineRow, width: int, shown: Urn | None) -> Text:
    """Return a row `width` cells wide, with a mark if its entity is the `shown` one.

    The name is cut first, so that the count is always complete.
    """
    entry = spot.entry
    indent = _indent(spot, width)
    marked = entry is not None and entry.urn is not None and entry.urn == shown
    start = Text.assemble(("●" if marked else " ", "bold"), " " * indent)
    if entry is None:
        return start.append_text(_instead(spot))
    below = spot.unfolded
    start.append("  " if entry.below is None else "▾ " if below else "▸ ")
    name = line_text(entry.name, "bold" if entry.heading or marked else "", "no name")
    end = Text(f" {entry.count:,}" if entry.count is not None else "", _DIM)
    if below is not None and below.text:
        total = "…" if below.total is None else f"{below.total:,}"
        end = Text.assemble(" ", line_text(f"“{below.text}”", "italic"), (f" {total}", _DIM))
        end.truncate(max(8, width // 2), overflow="ellipsis")
    room = width - start.cell_len - end.cell_len
    if name.cell_len > room:
        name = padded(name, max(4, room))
    elif entry.aside and name.cell_len + len(entry.aside) < room:
        end = Text.assemble(end, " ", line_text(entry.aside, _DIM))
    return start.append_text(name).append_text(end)


def _indent(spot: OutlineRow, width: int) -> int:
    return min(2 * spot.depth, max(0, width // 3))


def _instead(spot: OutlineRow) -> Text:
    """Return the text of a row without an entry."""
    branch = spot.branch
    if spot.why is not None:
        return Text("  ").append_text(line_text(f"could not be read: {spot.why}", "italic"))
    if branch.total is None:
        return Text("  reading …", _ASIDE)
    if spot.index < 0:
        if branch.text:
            return Text("  ").append_text(line_text(f"no match for “{branch.text}”", _ASIDE))
        return Text("  empty" if branch.above else "  nothing here yet", _ASIDE)
    if spot.index >= branch.total:
        return Text(f"  {branch.note}", _ASIDE)
    if branch.page_of(spot.index) in branch.pages:
        return Text("  no longer exists", _ASIDE)
    return Text("  …", _DIM)


def row_description(spot: OutlineRow, width: int, room: int) -> Text:
    """Return two lines on a row: its whole name where it does not fit into `room` cells, else its
    folder; and its position in the folder."""
    branch, entry = spot.branch, spot.entry
    noun, nouns = ("type", "types") if branch.above is None else ("entry", "entries")
    total = branch.total or 0
    place = f"{spot.index + 1:,} of {total:,} {noun if total == 1 else nouns}" if total else ""
    if spot.why is not None:
        first = line_text(spot.why)
        first.truncate(width, overflow="ellipsis")
        return first.append(f"\n{place}{' · ' if place else ''}⏎ retries", _DIM)
    if branch.total is None:
        return Text()
    if not branch.total:
        empty = "load metadata with: catalog load FILE\nr refreshes"
        return Text("" if branch.above or branch.text else empty, _DIM)
    if spot.index >= branch.total:
        return Text(branch.note, _DIM)
    names = []
    above = branch
    while above.above is not None:
        names.append(above.entry.name)
        above = above.above
    text = line_text(" / ".join(reversed(names)), _DIM)
    cut = entry is not None and len(entry.name) + _indent(spot, room) + 3 > room
    first = line_text(entry.name) if entry is not None and cut else _ending(text, width)
    if entry is not None and cut and entry.aside:
        first.append_text(line_text(f" {entry.aside}", _DIM))
    noun, nouns = ("type", "types") if branch.above is None else ("entry", "entries")
    first.truncate(width, overflow="ellipsis")
    return first.append(
        f"\n{spot.index + 1:,} of {branch.total:,} {noun if branch.total == 1 else nouns}", _DIM
    )


def _ending(text: Text, width: int) -> Text:
    """Return the end of a text that is too long."""
    return text if text.cell_len <= width else Text("…", _DIM).append_text(text[-(width - 1) :])


class FolderRows(Rows):
    """Rows that are inserted and removed around the cursor; `edge` returns the row of the first or
    the last entry of the cursor's folder."""

    def __init__(self, edge: Callable[[bool], int]) -> None:
        super().__init__()
        self._edge = edge

    class RowsChanged(Message):
        """Other rows became visible."""

    def refit(self, count: int, cursor: int, line: int) -> None:
        """Set the number of rows, with the cursor on one of them and on a given line of the
        screen."""
        self.count = count
        self.cursor = max(0, min(cursor, count - 1))
        self.virtual_size = Size(0, count * self.row_height)
        self._scroll(max(0, self.cursor - line))
        self._follow()
        self.refresh()

    def action_first(self) -> None:
        """Go to the first entry of the folder; from there, to the first row."""
        self.move_to(self._edge(False))

    def action_last(self) -> None:
        """Go to the last entry of the folder; from there, to the last row."""
        self.move_to(self._edge(True))

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Announce that other rows became visible."""
        super().watch_scroll_y(old_value, new_value)
        if round(old_value) != round(new_value):
            self.post_message(self.RowsChanged())

    def on_resize(self, event: events.Resize | None = None) -> None:
        """Announce new visible rows after a resize; Textual calls the base class's handler too."""
        del event
        self.post_message(self.RowsChanged())


_AT_ONCE = 4
_TELLING_ROWS = 14


class Folders(Vertical):
    """The rows of the folders, and below them details of the row under the cursor. Visible rows are
    read a page at a time; pages that were visible longest ago are dropped."""

    @dataclass
    class NodeOpened(Message):
        """An entity was opened."""

        urn: Urn

    def __init__(self, session: TerminalSession) -> None:
        super().__init__()
        self._session = session
        self._outline = Outline(TypesSource())
        self._shown: Urn | None = None
        self._filling = False
        self._reads_running = 0

    def on_mount(self) -> None:
        """Draw rows from the outline."""
        self._rows.show(self._outline.height, self._draw)

    @property
    def _rows(self) -> FolderRows:
        return self.query_one(FolderRows)

    @property
    def _row_at_cursor(self) -> OutlineRow:
        return self._outline.locate(self._rows.cursor)

    @property
    def settled(self) -> bool:
        """Return whether all visible rows were read, or failed to be read."""
        first, height = self._rows.scroll_offset.y, self._rows.size.height
        pages = self._outline.pages(first, first + height - 1)
        return not self._reads_running and not any(
            branch.needs_page(number) for branch, number in pages
        )

    def fill(self) -> None:
        """Start reading visible rows, beginning with the entity types."""
        self._filling = True
        self._request_pages()

    def refresh_folders(self) -> None:
        """Read the visible rows and their counts again, and others when they become visible."""
        self._outline.root.reload()
        self._rows.refresh()
        self._request_pages()

    def mark(self, urn: Urn) -> None:
        """Mark the entity that is shown on the page."""
        if urn != self._shown:
            self._shown = urn
            self._rows.refresh()

    def _draw(self, index: int, width: int) -> tuple[Text]:
        return (folder_row(self._outline.locate(index), width, self._shown),)

    # Reading.

    @on(FolderRows.RowsChanged)
    def _handle_rows_change(self, event: FolderRows.RowsChanged) -> None:
        event.stop()
        self._request_pages()
        self._show_place()

    def _request_pages(self) -> None:
        """Request visible pages that were not read; if there are none, the next page."""
        height = self._rows.size.height
        if not self._filling or not height:
            return
        first = self._rows.scroll_offset.y
        pages = list(self._outline.pages(first, first + height - 1))
        self._outline.forget(pages)
        for branch, number in pages:
            self._request_page(branch, number)
        if not self._reads_running:
            for branch, number in self._outline.pages(first + height, first + 2 * height):
                self._request_page(branch, number)

    def _request_page(self, branch: Branch, number: int) -> None:
        if self._reads_running < _AT_ONCE and branch.needs_page(number):
            branch.requested.add(number)
            self._reads_running += 1
            self._read(branch, number)

    @work(group="browse")
    async def _read(self, branch: Branch, number: int) -> None:
        page = _Page(self, branch, number, branch.turn)
        where = branch.entry.name or "types"
        try:
            with self._session.reporting(f"reading the folder {where}", page, page.retry):
                await self._fetch(await self._session.catalog(), branch, number)
        finally:
            self._reads_running -= 1
        if self.query(FolderRows):
            self._request_pages()

    async def _fetch(self, catalog: "AsyncCatalog", branch: Branch, number: int) -> None:
        """Read a page; a response that is no longer wanted is discarded."""
        turn = branch.turn
        portion = await branch.source.read(catalog, number * PAGE, PAGE)
        # While the program ends, Textual removes the rows before it cancels this worker.
        if turn != branch.turn or not self.query(FolderRows):
            return
        with self._keeping_cursor():
            begun = branch.total is not None
            branch.requested.discard(number)
            branch.take(number, portion)
            first = branch.entry_at(0)
            if branch.above is None and not begun and not branch.text and first is not None:
                branch.unfold(0, first)
        self._after_page_read(branch, number)

    def _after_page_read(self, branch: Branch, number: int) -> None:
        """Show a page that was read."""

    def show_failure(self, branch: Branch, number: int, why: str) -> None:
        """Show in the rows of a page why it could not be read."""
        if not self.query(FolderRows):
            return
        with self._keeping_cursor():
            branch.requested.discard(number)
            branch.fail(number, why)

    def retry(self, branch: Branch) -> None:
        """Retry the pages of a folder that could not be read."""
        branch.failed.clear()
        self._rows.refresh()
        self._request_pages()

    @contextmanager
    def _keeping_cursor(self) -> Iterator[None]:
        """Keep the cursor on its entry and on its line of the screen while rows change."""
        rows, spot = self._rows, self._row_at_cursor
        branch, index = spot.branch, spot.index
        key = spot.entry.key if spot.entry else None
        line = rows.cursor - rows.scroll_offset.y
        yield
        while not branch.attached and branch.above is not None:
            branch, index, key = branch.above, branch.index, None
        now = branch.entry_at(index) if index >= 0 else None
        if key is not None and now is not None and now.key != key:
            index = next((at for at, entry in branch.loaded() if entry.key == key), index)
        last = max(0, (branch.total or 1) - 1 + bool(branch.note))
        place = self._outline.row_of(branch, max(0, min(index, last)))
        rows.refit(self._outline.height, place, line)
        self._show_place()

    def _show_place(self) -> None:
        if not self.size.height:
            # Not laid out yet: hiding the lines below now would give the rows a height that they
            # lose again with the next layout.
            return
        place = self.query_one("#place", Static)
        place.display = self.size.height >= _TELLING_ROWS
        if place.display:
            room = self._rows.scrollable_content_region.width
            place.update(
                row_description(self._row_at_cursor, max(8, self.size.width - 3), room),
                layout=False,
            )

    # Moving.

    @on(Rows.Moved)
    def _handle_move(self, event: Rows.Moved) -> None:
        event.stop()
        self._show_place()

    @on(Rows.Chosen)
    def _handle_chosen(self, event: Rows.Chosen) -> None:
        event.stop()
        spot = self._row_at_cursor
        if spot.why is not None:
            self.retry(spot.branch)
        elif spot.entry is None:
            return
        elif spot.entry.urn is not None:
            self.post_message(self.NodeOpened(spot.entry.urn))
        else:
            self.action_turn()

    def _edge(self, last: bool) -> int:
        branch = self._row_at_cursor.branch
        index = max(0, (branch.total or 1) - 1) if last else 0
        place = self._outline.row_of(branch, index)
        if place != self._rows.cursor:
            return place
        return self._outline.height - 1 if last else 0

    def action_turn(self) -> None:
        """Expand or collapse a folder."""
        spot = self._row_at_cursor
        if spot.unfolded is not None:
            self._fold(spot.unfolded)
        elif spot.entry is not None:
            self._unfold(spot)

    def action_into(self) -> None:
        """Expand a folder; if it is expanded, go to its first entry."""
        spot = self._row_at_cursor
        if spot.unfolded is not None:
            self._rows.action_down()
        else:
            self._unfold(spot)

    def action_out(self) -> None:
        """Collapse a folder; from an entry, go up to its folder."""
        spot = self._row_at_cursor
        if spot.unfolded is not None:
            self._fold(spot.unfolded)
        elif spot.branch.above is not None:
            above = spot.branch.above
            self._rows.move_to(self._outline.row_of(above, spot.branch.index))

    def _unfold(self, spot: OutlineRow) -> None:
        if spot.entry is not None and spot.entry.below is not None:
            with self._keeping_cursor():
                spot.branch.unfold(spot.index, spot.entry)
            self._request_pages()

    def _fold(self, branch: Branch) -> None:
        with self._keeping_cursor():
            branch.fold()
        self._request_pages()

    def action_reload(self) -> None:
        """Read the folder under the cursor again, with its count."""
        spot = self._row_at_cursor
        branch = spot.unfolded or spot.branch
        branch.reload()
        above = branch.above
        if above is not None:
            above.stale.update({above.page_of(branch.index)} & above.pages.keys())
        self._rows.refresh()
        self._request_pages()
        self._session.say("Refreshing the folder.")


@dataclass(frozen=True, slots=True)
class _Page:
    """The error place of a page that is being read."""

    folders: Folders
    branch: Branch
    number: int
    turn: int

    def __call__(self, why: str) -> bool:
        """Show the error in the rows of the page and in the lines below the list."""
        if self.turn == self.branch.turn:
            self.folders.show_failure(self.branch, self.number, why)
        return True

    def retry(self) -> None:
        """Read the page again."""
        self.folders.retry(self.branch)


_FEW = 3
_MOST_FOLDER_PAGES = 25

Fetch = Callable[[Branch, int], Awaitable[None]]
"""Brings a page of a folder to hand; raises what went wrong."""


@dataclass(frozen=True, slots=True)
class FolderLocation:
    """The row of an entity, or of the folder that should contain it."""

    branch: Branch
    index: int | None


async def unfold_to(
    catalog: "AsyncCatalog", outline: Outline, path: FolderPath, fetch: Fetch
) -> FolderLocation:
    """Expand the folders above an entity, and return its row."""
    branch = outline.root
    branches: list[Branch] = []
    for step in path.steps:
        branch.narrow("")
        at = await _find(catalog, branch, step, str(step), fetch)
        entry = branch.entry_at(at) if at is not None else None
        below = branch.unfold(at, entry) if at is not None and entry is not None else None
        if below is None:
            break
        branches.append(branch)
        branch = below
    branch.narrow("")
    at = await _find(catalog, branch, path.urn, path.name, fetch)
    if at is None and path.own and branches and len(branches) == len(path.steps):
        # A folder that is called as the entity is: it may stand beside it.
        above = branches[-1]
        beside = await _find(catalog, above, path.urn, path.name, fetch)
        if beside is not None:
            return FolderLocation(above, beside)
    return FolderLocation(branch, at)


async def _find(
    catalog: "AsyncCatalog", branch: Branch, wanted: str | Urn, name: str, fetch: Fetch
) -> int | None:
    """Return the index of a folder by its name, or of an entity."""
    at = _at_hand(branch, wanted)
    if at is not None:
        return at
    if branch.total is None or 0 not in branch.pages:
        await fetch(branch, 0)
    pages = branch.page_of((branch.total or 0) - 1) + 1
    folders = isinstance(wanted, str)
    for number in range(min(pages, _MOST_FOLDER_PAGES if folders else pages)):
        if not folders and pages > _FEW and number:
            break
        if number not in branch.pages:
            await fetch(branch, number)
        at = _at_hand(branch, wanted)
        entries = branch.pages.get(number, ())
        if at is not None or (folders and entries and entries[-1].urn is not None):
            return at
    if folders or pages <= _FEW or not branch.source.by_name:
        return None
    # Ours puts s2 before s10; other servers compare letter by letter.
    for key in (natural_key, str.casefold):
        await fetch(branch, await _page_with(catalog, branch, wanted, name, pages, key))
        at = _at_hand(branch, wanted)
        if at is not None:
            return at
    return None


def _at_hand(branch: Branch, target: str | Urn) -> int | None:
    if isinstance(target, str):
        text = target.casefold()
        matches = (
            at for at, entry in branch.loaded() if not entry.urn and entry.name.casefold() == text
        )
        return next(matches, None)
    return next((at for at, entry in branch.loaded() if entry.urn == target), None)


async def _page_with(
    catalog: "AsyncCatalog",
    branch: Branch,
    wanted: str | Urn,
    name: str,
    pages: int,
    key: Callable[[str], str],
) -> int:
    """Return the page on which a name belongs in the sort order, by binary search: one small
    request for each step."""
    sought = (key(name), str(wanted))
    low, high = 0, pages - 1
    while low < high:
        middle = (low + high + 1) // 2
        portion = await branch.source.read(catalog, middle * PAGE, 1)
        first = next(iter(portion.entries), None)
        before = first is not None and (
            first.urn is None or (key(first.name), str(first.urn)) <= sought
        )
        low, high = (middle, high) if before else (low, middle - 1)
    return low


_WIDTHS = (20, 24, 30, 36, 44, 54, 66, 80, 100)
_USUAL = 30
_LEAST_PAGE = 40


class BrowseTree(Folders):
    """The folders of the catalog: resized, filtered by name, and expanded down to the entity on the
    page."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("tree")
    DEFAULT_CSS = """
    BrowseTree { width: 30; background: $background; border-right: solid $border-blurred; }
    BrowseTree:focus-within { border-right: solid $primary; }
    BrowseTree FolderRows { height: 1fr; }
    BrowseTree #place { height: 2; padding: 0 1; }
    """ + "\n".join(f"BrowseTree.-width{width} {{ width: {width}; }}" for width in _WIDTHS)

    @dataclass
    class TabChosen(Message):
        """A tab of the open entity was chosen by its number."""

        name: str

    def __init__(self, session: TerminalSession, remembered: TerminalState | None = None) -> None:
        super().__init__(session)
        self._remembered = remembered or TerminalState()
        wide = self._remembered.tree_width
        self._width = wide if wide in _WIDTHS else _USUAL
        self.add_class(f"-width{self._width}")
        self._filtered: Branch | None = None
        self._left: dict[Branch, _CursorPosition] = {}
        self._locations: list[FolderPath] = []
        self._location_at = 0

    def compose(self) -> ComposeResult:
        """Yield the filter, the rows, and the details of the row under the cursor."""
        yield FilterLine("part of a name", select_on_focus=False)
        yield FolderRows(self._edge)
        yield Static("", id="place", markup=False)

    def mark(self, urn: Urn) -> None:
        """Mark the entity that is shown on the page."""
        if urn != self._shown:
            self._locations = []
        super().mark(urn)

    def action_tab(self, name: str) -> None:
        """Show a tab of the open entity."""
        self.post_message(self.TabChosen(name))

    def take_keys(self) -> None:
        """Focus the folders."""
        # Folders that were folded away get their place now, or they could not take the focus.
        self.app.stylesheet.apply(self)
        self.screen.set_focus(self._rows)

    # How wide.

    def action_wider(self) -> None:
        """Make the folders wider."""
        self._widen(1)

    def action_narrower(self) -> None:
        """Make the folders narrower."""
        self._widen(-1)

    def _widen(self, by: int) -> None:
        at = _WIDTHS.index(self._width) + by
        if 0 <= at < len(_WIDTHS) and _WIDTHS[at] <= max(_USUAL, self.app.size.width - _LEAST_PAGE):
            self.remove_class(f"-width{self._width}")
            self._width = _WIDTHS[at]
            self._remembered.set("tree_width", self._width)
            self.add_class(f"-width{self._width}")

    # Narrowing.

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Allow clearing the filter only where there is one."""
        del parameters
        return action != "unfilter" or any(self._outline.narrowed())

    def action_filter(self) -> None:
        """Filter the folder under the cursor by a text in names."""
        spot, rows = self._row_at_cursor, self._rows
        position = _CursorPosition(spot.branch, spot.index, rows.cursor - rows.scroll_offset.y)
        with self._keeping_cursor():
            if spot.entry is not None and spot.entry.urn is None:
                self._filtered = spot.branch.unfold(spot.index, spot.entry)
            else:
                self._filtered = spot.branch
        if self._filtered is None:
            return
        if not self._filtered.text:
            self._left[self._filtered] = position
        line = self.query_one(FilterLine)
        with line.prevent(Input.Changed):
            line.value = self._filtered.text
        line.ask()

    @on(Input.Changed)
    def _handle_input(self, event: Input.Changed) -> None:
        event.stop()
        if self._filtered is not None:
            self._narrow(self._filtered, event.value.strip())

    def _narrow(self, branch: Branch, text: str) -> None:
        with self._keeping_cursor():
            branch.narrow(text)
        self.refresh_bindings()
        self._request_pages()

    @on(FilterLine.FilterClosed)
    def _leave_filter(self, event: FilterLine.FilterClosed) -> None:
        event.stop()
        event.line.put_away()
        branch = self._filtered
        self._filtered = None
        self.take_keys()
        if branch is None or not branch.text:
            return
        if not event.keep:
            self._narrow(branch, "")
        elif branch.attached:
            self._rows.move_to(self._outline.row_of(branch, 0))

    def _after_page_read(self, branch: Branch, number: int) -> None:
        """Move the cursor back to where it was before the filter, once all rows are shown again."""
        if number or branch.text or branch not in self._left:
            return
        position = self._left.pop(branch)
        if position.branch.attached and self._row_at_cursor.branch is branch:
            row = self._outline.row_of(position.branch, position.index)
            self._rows.refit(self._outline.height, row, position.line)
            self._show_place()

    def action_unfilter(self) -> None:
        """Clear the filter."""
        for branch in list(self._outline.narrowed()):
            self._narrow(branch, "")

    # Reveal an entity in the folders.

    def reveal(self) -> None:
        """Go to the entity shown on the page; again, to its next place."""
        self.take_keys()
        if self._shown is None:
            self._session.say("Open an entity first to show it in the folders.")
            return
        self._filling = True
        self._reveal(self._shown)

    @work(exclusive=True, group="reveal")
    async def _reveal(self, urn: Urn) -> None:
        with self._session.reporting(f"looking for {urn.name} in the folders"):
            catalog = await self._session.catalog()
            if not self._locations:
                self._locations, self._location_at = await paths_to(catalog, urn), -1
            self._location_at = (self._location_at + 1) % len(self._locations)
            location = self._locations[self._location_at]

            async def fetch(branch: Branch, number: int) -> None:
                await self._fetch(catalog, branch, number)

            spot = await unfold_to(catalog, self._outline, location, fetch)
            place = spot.index
            if place is None:
                with self._keeping_cursor():
                    spot.branch.narrow(location.name)
                await fetch(spot.branch, 0)
                entries = spot.branch.loaded()
                place = next((at for at, entry in entries if entry.urn == urn), None)
            if not self._rows.size.height:
                # Folders that were hidden have no height, and so no line to show it on, before
                # the next layout.
                laid_out = asyncio.Event()
                self.call_after_refresh(laid_out.set)
                await laid_out.wait()
            self._show_at(spot.branch, place)

    def _show_at(self, branch: Branch, place: int | None) -> None:
        rows = self._rows
        line = max(1, rows.size.height // 3)
        rows.refit(self._outline.height, self._outline.row_of(branch, place or 0), line)
        self._show_place()
        self._request_pages()
        if place is None:
            self._session.say("The server lists it in no folder.")
        elif len(self._locations) > 1:
            self._session.say(
                f"Place {self._location_at + 1} of {len(self._locations)}; . shows the next."
            )


@dataclass(frozen=True, slots=True)
class _CursorPosition:
    """The position of the cursor: its entry, and its line on the screen."""

    branch: Branch
    index: int
    line: int
