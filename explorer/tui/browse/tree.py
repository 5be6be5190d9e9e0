"""Browsing: entity types, their folders, the entities in them."""

import asyncio
from dataclasses import dataclass
from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.message import Message
from textual.widgets import Input, Static

from explorer.metadata.urn import Urn
from explorer.tui.actions import bindings
from explorer.tui.browse.branch import Branch
from explorer.tui.browse.finding import follow
from explorer.tui.browse.folders import Folders
from explorer.tui.browse.rows import FolderFilter, FolderRows
from explorer.tui.browse.ways import Way, ways_to
from explorer.tui.session import Session
from explorer.tui.shell.remembering import Remembered

__all__ = ["BrowseTree"]

_WIDTHS = (20, 24, 30, 36, 44, 54, 66, 80, 100)
_USUAL = 30
_LEAST_PAGE = 40


class BrowseTree(Folders):
    """The folders of the catalog: made wider, narrowed to a part of a name, unfolded down to what
    is shown on the page."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("tree")
    DEFAULT_CSS = """
    BrowseTree { width: 30; background: $background; border-right: solid $border-blurred; }
    BrowseTree:focus-within { border-right: solid $primary; }
    BrowseTree FolderRows { height: 1fr; }
    BrowseTree #place { height: 2; padding: 0 1; }
    BrowseTree FolderFilter {
        display: none; height: 1; border: none; padding: 0 1; background: $surface;
    }
    BrowseTree FolderFilter:focus { border: none; }
    BrowseTree.-filtering FolderFilter { display: block; }
    """ + "\n".join(f"BrowseTree.-width{one} {{ width: {one}; }}" for one in _WIDTHS)

    @dataclass
    class TabChosen(Message):
        """A tab of the entity that is open was chosen by its number."""

        name: str

    def __init__(self, session: Session, remembered: Remembered | None = None) -> None:
        super().__init__(session)
        self._remembered = remembered or Remembered()
        wide = self._remembered.tree_width
        self._width = wide if wide in _WIDTHS else _USUAL
        self.add_class(f"-width{self._width}")
        self._filtered: Branch | None = None
        self._left: dict[Branch, _Left] = {}
        self._ways: list[Way] = []
        self._way = 0

    def compose(self) -> ComposeResult:
        """The filter, the rows, and what is to be said of the row under the cursor."""
        line = FolderFilter(placeholder="part of a name", select_on_focus=False)
        line.cursor_blink = False
        yield line
        yield FolderRows(self._edge)
        yield Static("", id="place", markup=False)

    def mark(self, urn: Urn) -> None:
        """This entity is shown on the page."""
        if urn != self._shown:
            self._ways = []
        super().mark(urn)

    def action_tab(self, name: str) -> None:
        """Show a tab of the entity that is open."""
        self.post_message(self.TabChosen(name))

    def take_keys(self) -> None:
        """The keys move in the folders, from the next on."""
        # Folders that were folded away get their place now, or they could not take the focus.
        self.app.stylesheet.apply(self)
        self.screen.set_focus(self._rows)

    # How wide.

    def action_wider(self) -> None:
        """More room for the folders."""
        self._widen(1)

    def action_narrower(self) -> None:
        """Less room for the folders."""
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
        """A filter can be taken off where there is one."""
        del parameters
        return action != "unfilter" or any(self._outline.narrowed())

    def action_filter(self) -> None:
        """Narrow the folder under the cursor to what has a text in its name."""
        spot, rows = self._spot, self._rows
        left = _Left(spot.branch, spot.index, rows.cursor - rows.scroll_offset.y)
        with self._steady():
            if spot.entry is not None and spot.entry.urn is None:
                self._filtered = spot.branch.unfold(spot.index, spot.entry)
            else:
                self._filtered = spot.branch
        if self._filtered is None:
            return
        if not self._filtered.text:
            self._left[self._filtered] = left
        line = self.query_one(FolderFilter)
        self.add_class("-filtering")
        self.app.stylesheet.apply(line)
        with line.prevent(Input.Changed):
            line.value = self._filtered.text
        line.cursor_position = len(line.value)
        self.screen.set_focus(line)

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        if self._filtered is not None:
            self._narrow(self._filtered, event.value.strip())

    def _narrow(self, branch: Branch, text: str) -> None:
        with self._steady():
            branch.narrow(text)
        self.refresh_bindings()
        self._look()

    @on(FolderFilter.Left)
    def _leave_filter(self, event: FolderFilter.Left) -> None:
        event.stop()
        self.remove_class("-filtering")
        branch = self._filtered
        self._filtered = None
        self.take_keys()
        if branch is None or not branch.text:
            return
        if event.cleared:
            self._narrow(branch, "")
        elif branch.attached:
            self._rows.move_to(self._outline.row_of(branch, 0))

    def _came(self, branch: Branch, number: int) -> None:
        """With everything there again, the cursor goes back to where it was before the filter."""
        if number or branch.text or branch not in self._left:
            return
        left = self._left.pop(branch)
        if left.branch.attached and self._spot.branch is branch:
            row = self._outline.row_of(left.branch, left.index)
            self._rows.refit(self._outline.height, row, left.line)
            self._tell()

    def action_unfilter(self) -> None:
        """Clear the filter."""
        for branch in list(self._outline.narrowed()):
            self._narrow(branch, "")

    # Showing where an entity stands.

    def reveal(self) -> None:
        """Go to the entity that is shown on the page; again, to the next of its places."""
        self.take_keys()
        if self._shown is None:
            self._session.say("Nothing is open yet that could be shown in the folders.")
            return
        self._filling = True
        self._reveal(self._shown)

    @work(exclusive=True, group="reveal")
    async def _reveal(self, urn: Urn) -> None:
        with self._session.reporting(f"looking for {urn.name} in the folders"):
            catalog = await self._session.catalog()
            if not self._ways:
                self._ways, self._way = await ways_to(catalog, urn), -1
            self._way = (self._way + 1) % len(self._ways)
            way = self._ways[self._way]

            async def fetch(branch: Branch, number: int) -> None:
                await self._fetch(catalog, branch, number)

            found = await follow(catalog, self._outline, way, fetch)
            place = found.index
            if place is None:
                with self._steady():
                    found.branch.narrow(way.name)
                await fetch(found.branch, 0)
                known = found.branch.known()
                place = next((at for at, one in known if one.urn == urn), None)
            if not self._rows.size.height:
                # Folders that were hidden have no height, and so no line to show it on, before
                # the next layout.
                laid_out = asyncio.Event()
                self.call_after_refresh(laid_out.set)
                await laid_out.wait()
            self._show_at(found.branch, place)

    def _show_at(self, branch: Branch, place: int | None) -> None:
        rows = self._rows
        line = max(1, rows.size.height // 3)
        rows.refit(self._outline.height, self._outline.row_of(branch, place or 0), line)
        self._tell()
        self._look()
        if place is None:
            self._session.say("The server lists it in no folder.")
        elif len(self._ways) > 1:
            self._session.say(f"Place {self._way + 1} of {len(self._ways)}; . goes to the next.")


@dataclass(frozen=True, slots=True)
class _Left:
    """Where the cursor was: on which entry, and on which line of the screen."""

    branch: Branch
    index: int
    line: int
