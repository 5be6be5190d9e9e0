"""The folders as a list: read as they are looked at, unfolded and folded."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.text import Text
from textual import on, work
from textual.containers import Vertical
from textual.message import Message
from textual.widgets import Static

from explorer.metadata.urn import Urn
from explorer.tui.browse.branch import PAGE, Branch
from explorer.tui.browse.drawing import described, row
from explorer.tui.browse.outline import Outline, Spot
from explorer.tui.browse.rows import FolderRows
from explorer.tui.browse.sources import TypesSource
from explorer.tui.rows import Rows
from explorer.tui.session import Session

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog

__all__ = ["Folders"]

_AT_ONCE = 4
_TELLING_ROWS = 14


class Folders(Vertical):
    """Rows of folders, and below them what is to be told of one. What comes on screen is read, a
    page at a time; what was left long ago is forgotten."""

    @dataclass
    class Opened(Message):
        """An entity was opened."""

        urn: Urn

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session
        self._outline = Outline(TypesSource())
        self._shown: Urn | None = None
        self._filling = False
        self._under_way = 0

    def on_mount(self) -> None:
        """Rows are drawn from the outline, whatever it holds."""
        self._rows.show(self._outline.height, self._draw)

    @property
    def _rows(self) -> FolderRows:
        return self.query_one(FolderRows)

    @property
    def _spot(self) -> Spot:
        return self._outline.locate(self._rows.cursor)

    @property
    def settled(self) -> bool:
        """Whether everything on screen is at hand, or could not be had."""
        first, height = self._rows.scroll_offset.y, self._rows.size.height
        pages = self._outline.pages(first, first + height - 1)
        return not self._under_way and not any(one.lacks(number) for one, number in pages)

    def fill(self) -> None:
        """From now on read what is looked at, first of all the entity types."""
        self._filling = True
        self._look()

    def mark(self, urn: Urn) -> None:
        """This entity is shown on the page."""
        if urn != self._shown:
            self._shown = urn
            self._rows.refresh()

    def _draw(self, index: int, width: int) -> tuple[Text]:
        return (row(self._outline.locate(index), width, self._shown),)

    # Reading.

    @on(FolderRows.Looked)
    def _looked(self, event: FolderRows.Looked) -> None:
        event.stop()
        self._look()
        self._tell()

    def _look(self) -> None:
        """Ask for the pages on screen that are not there; with nothing to ask, for the next."""
        height = self._rows.size.height
        if not self._filling or not height:
            return
        first = self._rows.scroll_offset.y
        pages = list(self._outline.pages(first, first + height - 1))
        self._outline.forget(pages)
        for branch, number in pages:
            self._ask(branch, number)
        if not self._under_way:
            for branch, number in self._outline.pages(first + height, first + 2 * height):
                self._ask(branch, number)

    def _ask(self, branch: Branch, number: int) -> None:
        if self._under_way < _AT_ONCE and branch.lacks(number):
            branch.asked.add(number)
            self._under_way += 1
            self._read(branch, number)

    @work(group="browse")
    async def _read(self, branch: Branch, number: int) -> None:
        page = _Page(self, branch, number, branch.turn)
        where = branch.entry.name or "types"
        try:
            with self._session.reporting(f"reading the folder {where}", page, page.ask_again):
                await self._fetch(await self._session.catalog(), branch, number)
        finally:
            self._under_way -= 1
        self._look()

    async def _fetch(self, catalog: "AsyncCatalog", branch: Branch, number: int) -> None:
        """Bring a page to hand; an answer to what is not asked any more is thrown away."""
        turn = branch.turn
        portion = await branch.source.read(catalog, number * PAGE, PAGE)
        if turn != branch.turn:
            return
        with self._steady():
            begun = branch.total is not None
            branch.asked.discard(number)
            branch.take(number, portion)
            first = branch.entry_at(0)
            if branch.above is None and not begun and not branch.text and first is not None:
                branch.unfold(0, first)
        self._came(branch, number)

    def _came(self, branch: Branch, number: int) -> None:
        """A page is at hand."""

    def show_failure(self, branch: Branch, number: int, why: str) -> None:
        """Say in the rows of a page why they are not there."""
        with self._steady():
            branch.asked.discard(number)
            branch.fail(number, why)

    def ask_again(self, branch: Branch) -> None:
        """Ask again for what could not be read of a folder."""
        branch.failed.clear()
        self._rows.refresh()
        self._look()

    @contextmanager
    def _steady(self) -> Iterator[None]:
        """Whatever comes or goes, the cursor stays on its entry and on its line of the screen."""
        rows, spot = self._rows, self._spot
        branch, index = spot.branch, spot.index
        key = spot.entry.key if spot.entry else None
        line = rows.cursor - rows.scroll_offset.y
        yield
        while not branch.attached and branch.above is not None:
            branch, index, key = branch.above, branch.index, None
        now = branch.entry_at(index) if index >= 0 else None
        if key is not None and now is not None and now.key != key:
            index = next((at for at, one in branch.known() if one.key == key), index)
        last = max(0, (branch.total or 1) - 1 + bool(branch.note))
        place = self._outline.row_of(branch, max(0, min(index, last)))
        rows.refit(self._outline.height, place, line)
        self._tell()

    def _tell(self) -> None:
        if not self.size.height:
            # Not laid out yet: hiding the lines below now would give the rows a height that they
            # lose again with the next layout.
            return
        place = self.query_one("#place", Static)
        place.display = self.size.height >= _TELLING_ROWS
        if place.display:
            room = self._rows.scrollable_content_region.width
            place.update(described(self._spot, max(8, self.size.width - 3), room), layout=False)

    # Moving.

    @on(Rows.Moved)
    def _moved(self, event: Rows.Moved) -> None:
        event.stop()
        self._tell()

    @on(Rows.Chosen)
    def _chosen(self, event: Rows.Chosen) -> None:
        event.stop()
        spot = self._spot
        if spot.why is not None:
            self.ask_again(spot.branch)
        elif spot.entry is None:
            return
        elif spot.entry.urn is not None:
            self.post_message(self.Opened(spot.entry.urn))
        else:
            self.action_turn()

    def _edge(self, last: bool) -> int:
        branch = self._spot.branch
        index = max(0, (branch.total or 1) - 1) if last else 0
        place = self._outline.row_of(branch, index)
        if place != self._rows.cursor:
            return place
        return self._outline.height - 1 if last else 0

    def action_turn(self) -> None:
        """Unfold a folder, or fold it."""
        spot = self._spot
        if spot.unfolded is not None:
            self._fold(spot.unfolded)
        elif spot.entry is not None:
            self._unfold(spot)

    def action_into(self) -> None:
        """Unfold a folder; inside an unfolded one, go to its first entry."""
        spot = self._spot
        if spot.unfolded is not None:
            self._rows.action_down()
        else:
            self._unfold(spot)

    def action_out(self) -> None:
        """Fold a folder; from an entry, go up to its folder."""
        spot = self._spot
        if spot.unfolded is not None:
            self._fold(spot.unfolded)
        elif spot.branch.above is not None:
            above = spot.branch.above
            self._rows.move_to(self._outline.row_of(above, spot.branch.index))

    def _unfold(self, spot: Spot) -> None:
        if spot.entry is not None and spot.entry.below is not None:
            with self._steady():
                spot.branch.unfold(spot.index, spot.entry)
            self._look()

    def _fold(self, branch: Branch) -> None:
        with self._steady():
            branch.fold()
        self._look()

    def action_reload(self) -> None:
        """Read the folder under the cursor again, and how much there is in it."""
        spot = self._spot
        branch = spot.unfolded or spot.branch
        branch.reload()
        above = branch.above
        if above is not None:
            above.stale.update({above.page_of(branch.index)} & above.pages.keys())
        self._rows.refresh()
        self._look()
        self._session.say("Refreshing the folder.")


@dataclass(frozen=True, slots=True)
class _Page:
    """A page that is asked for, as the session knows it."""

    folders: Folders
    branch: Branch
    number: int
    turn: int

    def __call__(self, why: str) -> bool:
        """It could not be read; told in its rows and the lines below them."""
        if self.turn == self.branch.turn:
            self.folders.show_failure(self.branch, self.number, why)
        return True

    def ask_again(self) -> None:
        """Ask for it once more."""
        self.folders.ask_again(self.branch)
