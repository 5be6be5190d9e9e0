"""The folders: a tree of entity types, platforms, folders and entities with a filter."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar

from rich.text import Text
from textual import events, on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.geometry import Size
from textual.message import Message
from textual.widgets import Input, Static

from explorer.client.folders import TypesSource
from explorer.errors import CatalogError
from explorer.metadata.urn import Urn
from explorer.sessions.browse import Branch, BrowseSession, FolderLocation, Outline, OutlineRow
from explorer.tui.actions import bindings
from explorer.tui.content import line_text, padded
from explorer.tui.session import TerminalSession, sentence_of
from explorer.tui.state import TerminalState
from explorer.tui.widgets.inputs import FilterLine
from explorer.tui.widgets.rows import Rows
from explorer.views.absence import LOADING, REFUSED

_DIM = "dim"
_ASIDE = "dim italic"
_SEARCHES_ALL = ", f searches all"


def folder_row(spot: OutlineRow, width: int, shown: Urn | None) -> Text:
    """Return a row of `width` cells, with a mark if its entity is `shown`, the entity on the page.

    The name is cut first, so that the count is always complete.
    """
    entry = spot.entry
    indent = _indent(spot, width)
    marked = entry is not None and entry.urn is not None and entry.urn == shown
    start = Text.assemble(("●" if marked else " ", "bold"), " " * indent)
    if entry is None:
        return start.append_text(_absence_text(spot))
    below = spot.unfolded
    start.append("  " if entry.below is None else "▾ " if below else "▸ ")
    name = line_text(entry.name, "bold" if entry.heading or marked else "", "no name")
    end = Text(f" {entry.count:,}" if entry.count is not None else "", _DIM)
    if below is not None and below.text:
        total = LOADING.mark if below.total is None else f"{below.total:,}"
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


def _absence_text(spot: OutlineRow) -> Text:
    """Return the text of a row without an entry: why there is none."""
    branch = spot.branch
    if spot.error is not None:
        why = f"{REFUSED.phrase}: {sentence_of(spot.error)}"
        return Text("  ").append_text(line_text(why, "italic"))
    if branch.total is None:
        return Text(f"  {LOADING.phrase}", _ASIDE)
    if spot.index < 0:
        if branch.text:
            return Text("  ").append_text(line_text(f"no match for “{branch.text}”", _ASIDE))
        return Text("  empty" if branch.above else "  nothing here yet", _ASIDE)
    if spot.index >= branch.total:
        return Text(f"  {branch.note}{_SEARCHES_ALL}", _ASIDE)
    if branch.page_of(spot.index) in branch.pages:
        return Text("  no longer exists", _ASIDE)
    return Text(f"  {LOADING.mark}", _DIM)


def row_description(spot: OutlineRow, width: int, room: int) -> Text:
    """Return two lines of details on a row: its full name if that does not fit into `room` cells,
    else its folder; and its position in the folder."""
    branch, entry = spot.branch, spot.entry
    noun, nouns = ("type", "types") if branch.above is None else ("entry", "entries")
    total = branch.total or 0
    place = f"{spot.index + 1:,} of {total:,} {noun if total == 1 else nouns}" if total else ""
    if spot.error is not None:
        first = line_text(sentence_of(spot.error))
        first.truncate(width, overflow="ellipsis")
        return first.append(f"\n{place}{' · ' if place else ''}⏎ retries", _DIM)
    if branch.total is None:
        return Text()
    if not branch.total:
        empty = "load metadata with: catalog load FILE\nr refreshes"
        return Text("" if branch.above or branch.text else empty, _DIM)
    if spot.index >= branch.total:
        return Text(f"{branch.note}{_SEARCHES_ALL}", _DIM)
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
    """Return a text; if it is too long, its end after an ellipsis."""
    return text if text.cell_len <= width else Text("…", _DIM).append_text(text[-(width - 1) :])


class FolderRows(Rows):
    """A list whose rows are inserted and removed around the cursor. `edge` returns the row of the
    first (False) or the last (True) entry in the folder of the cursor."""

    def __init__(self, edge: Callable[[bool], int]) -> None:
        super().__init__()
        self._edge = edge

    class RowsChanged(Message):
        """Other rows became visible."""

    def refit(self, count: int, cursor: int, line: int) -> None:
        """Set the number of rows and the cursor's row, and scroll so that this row is on the given
        line of the list."""
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


_TELLING_ROWS = 14


_WIDTHS = (20, 24, 30, 36, 44, 54, 66, 80, 100)
_USUAL = 30
_LEAST_PAGE = 40


class BrowseTree(Vertical):
    """The folders of the catalog, which can be resized, filtered by name, and expanded down to the
    entity on the page. Visible rows are read a page at a time; below them are details of the row
    under the cursor."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("tree")
    DEFAULT_CSS = """
    BrowseTree { width: 30; background: $background; border-right: solid $border-blurred; }
    BrowseTree:focus-within { border-right: solid $primary; }
    BrowseTree FolderRows { height: 1fr; }
    BrowseTree #place { height: 2; padding: 0 1; }
    """ + "\n".join(f"BrowseTree.-width{width} {{ width: {width}; }}" for width in _WIDTHS)

    @dataclass
    class NodeOpened(Message):
        """An entity was opened."""

        urn: Urn

    @dataclass
    class TabChosen(Message):
        """A tab of the open entity was chosen by its number."""

        name: str

    def __init__(self, session: TerminalSession, remembered: TerminalState | None = None) -> None:
        super().__init__()
        self._session = session
        self._outline = Outline(TypesSource())
        self._browsing: BrowseSession | None = None
        self._shown: Urn | None = None
        self._filling = False
        self._remembered = remembered or TerminalState()
        wide = self._remembered.tree_width
        self._width = wide if wide in _WIDTHS else _USUAL
        self.add_class(f"-width{self._width}")
        self._filtered: Branch | None = None
        self._left: dict[Branch, _CursorPosition] = {}

    def compose(self) -> ComposeResult:
        """Yield the filter, the rows, and the details of the row under the cursor."""
        yield FilterLine("part of a name", select_on_focus=False)
        yield FolderRows(self._edge)
        yield Static("", id="place", markup=False)

    def on_mount(self) -> None:
        """Show the rows of the outline."""
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
        is_reading = self._browsing is not None and self._browsing.is_reading
        return not is_reading and not any(branch.needs_page(number) for branch, number in pages)

    def fill(self) -> None:
        """Start reading visible rows, beginning with the entity types."""
        self._filling = True
        self._request_pages()

    def refresh_folders(self) -> None:
        """Forget all rows, and read the visible ones again; others are read when they become
        visible."""
        self._outline.root.reload()
        self._rows.refresh()
        self._request_pages()

    def _draw(self, index: int, width: int) -> tuple[Text]:
        return (folder_row(self._outline.locate(index), width, self._shown),)

    # Reading.

    @on(FolderRows.RowsChanged)
    def _handle_rows_change(self, event: FolderRows.RowsChanged) -> None:
        event.stop()
        self._request_pages()
        self._show_row_details()

    async def _browse_session(self) -> BrowseSession:
        catalog = await self._session.catalog()
        if self._browsing is None:
            self._browsing = BrowseSession(catalog, self._outline, self._keeping_cursor)
        return self._browsing

    def _request_pages(self) -> None:
        """Request the visible pages that were not read; if all were, the next page."""
        height = self._rows.size.height
        if not self._filling or not height:
            return
        if self._browsing is None:
            if self._outline.root.needs_page(0):
                self._open_outline()
            return
        for branch, number in self._browsing.claim(self._rows.scroll_offset.y, height):
            self._read(branch, number)

    @work(exclusive=True, group="browse")
    async def _open_outline(self) -> None:
        """Open the catalog; an error is shown in place of the entity types."""
        root = self._outline.root
        page = _Page(self, root, 0, root.turn)
        with self._session.reporting("opening the catalog", page, page.retry):
            try:
                await self._browse_session()
            except CatalogError as error:
                with self._keeping_cursor():
                    root.fail(0, error)
                raise
        if self.query(FolderRows):
            self._request_pages()

    @work(group="browse")
    async def _read(self, branch: Branch, number: int) -> None:
        page = _Page(self, branch, number, branch.turn)
        where = branch.entry.name or "types"
        with self._session.reporting(f"reading the folder {where}", page, page.retry):
            await (await self._browse_session()).read_claimed(branch, number)
        if self.query(FolderRows):
            self._request_pages()

    def retry(self, branch: Branch) -> None:
        """Retry the pages of a folder that could not be read."""
        branch.failed.clear()
        self._rows.refresh()
        self._request_pages()

    @contextmanager
    def _keeping_cursor(self) -> Iterator[None]:
        """Keep the cursor on its entry and on its line of the screen while rows change."""
        # While the program ends, Textual removes the rows before it cancels the workers that read
        # them.
        if not self.query(FolderRows):
            yield
            return
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
        self._show_row_details()
        self._after_change()

    def _show_row_details(self) -> None:
        """Show the details of the row under the cursor below the rows."""
        if not self.size.height:
            # Before the first layout, hiding the details would change the height of the rows twice.
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
        self._show_row_details()

    @on(Rows.Chosen)
    def _handle_chosen(self, event: Rows.Chosen) -> None:
        """Expand or collapse a chosen folder, or open a chosen entity."""
        event.stop()
        spot = self._row_at_cursor
        if spot.error is not None:
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

    def mark(self, urn: Urn) -> None:
        """Mark the entity that is shown on the page."""
        if urn == self._shown:
            return
        self._shown = urn
        self._rows.refresh()
        if self._browsing is not None:
            self._browsing.forget_places()

    def action_tab(self, name: str) -> None:
        """Show a tab of the open entity."""
        self.post_message(self.TabChosen(name))

    def take_keys(self) -> None:
        """Focus the folders."""
        # Lay out folders that were hidden at once, because they could not take the focus otherwise.
        self.app.stylesheet.apply(self)
        self.screen.set_focus(self._rows)

    # Width.

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

    # Filtering.

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Allow clearing the filter only if there is one."""
        del parameters
        return action != "unfilter" or any(self._outline.narrowed())

    def action_filter(self) -> None:
        """Ask for a text, and show only entries of the folder under the cursor whose names contain
        it."""
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
        if branch is None:
            return
        if not branch.text:
            self._left.pop(branch, None)
        elif not event.keep:
            self._narrow(branch, "")
        elif branch.attached:
            self._rows.move_to(self._outline.row_of(branch, 0))

    def _after_change(self) -> None:
        """Move the cursor back to where it was before the filter, once all rows are shown again."""
        for branch in [*self._left]:
            if branch is self._filtered or branch.text or 0 not in branch.pages:
                continue
            position = self._left.pop(branch)
            if position.branch.attached and self._row_at_cursor.branch is branch:
                row = self._outline.row_of(position.branch, position.index)
                self._rows.refit(self._outline.height, row, position.line)
                self._show_row_details()

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
        """Find the next place of an entity in the folders, and go there."""
        with self._session.reporting(f"looking for {urn.name} in the folders"):
            browsing = await self._browse_session()
            before = browsing.state.message
            location = await browsing.reveal(urn)
            if not self._rows.size.height:
                # Folders that were hidden have no height before the next layout, so the row could
                # not be shown.
                laid_out = asyncio.Event()
                self.call_after_refresh(laid_out.set)
                await laid_out.wait()
            self._show_at(location)
            message = browsing.state.message
            if message is not None and message is not before:
                more = "; . shows the next." if location.index is not None else ""
                self._session.say(f"{message.sentence}{more}")

    def _show_at(self, location: FolderLocation) -> None:
        rows = self._rows
        line = max(1, rows.size.height // 3)
        row = self._outline.row_of(location.branch, location.index or 0)
        rows.refit(self._outline.height, row, line)
        self._show_row_details()
        self._request_pages()


@dataclass(frozen=True, slots=True)
class _Page:
    """Reports an error of reading a page of a folder in the rows of that page."""

    folders: BrowseTree
    branch: Branch
    number: int
    turn: int

    def __call__(self, why: str) -> bool:
        """Return whether the error is shown in the rows of the page, or the page is not needed any
        more."""
        del why
        return self.turn != self.branch.turn or self.number in self.branch.failed

    def retry(self) -> None:
        """Read the page again."""
        self.folders.retry(self.branch)


@dataclass(frozen=True, slots=True)
class _CursorPosition:
    """The position of the cursor: its entry, and its line on the screen."""

    branch: Branch
    index: int
    line: int
