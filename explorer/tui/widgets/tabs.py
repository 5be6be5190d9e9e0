"""The base classes of the tabs of an entity's page, and the line of their titles."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Final, Literal

from rich.text import Text
from textual.geometry import Size
from textual.widgets import ContentSwitcher

from explorer.tui.widgets.bars import action_style
from explorer.tui.widgets.rows import SizeAware
from explorer.views.absence import refusal_sentence

if TYPE_CHECKING:
    from explorer.client.entity import Entity
    from explorer.views.table import Table


TRIES_AGAIN: Final = f"{refusal_sentence('This')}; r tries again."
"""The sentence shown in place of a tab that the server refused to read."""


class View(SizeAware):
    """A view of an entity.

    `show_entity` is called with every entity that was read, and draws everything that needs no
    request. `read` requests the rest. Responses for an entity that is no longer shown are
    discarded.
    """

    @property
    def room(self) -> Size:
        """Return the size available for a tab on the page, known even before the first layout of
        this tab."""
        pages = (ancestor for ancestor in self.ancestors if isinstance(ancestor, ContentSwitcher))
        return next((page.size for page in pages), self.app.size)

    def tally(self) -> str:
        """Return the count shown after the title; empty if there is none."""
        return ""

    def show_entity(self, entity: "Entity", *, keep: bool) -> None:
        """Draw everything that needs no request; `keep` means that the same entity was read
        again."""

    async def read(self, entity: "Entity") -> None:
        """Request the rest, and show it."""

    def show_times(self) -> None:
        """Show times in the chosen zone."""

    def table(self) -> "Table | None":
        """Return the shown list as a table for a file; None if the content is not a list."""
        return None

    def focus_content(self) -> None:
        """Focus the content."""


class Tab(View):
    """A view that is a numbered tab of the page. It is read when it is first shown, or, if it is
    `eager`, right after the entity was read."""

    NAME: ClassVar[str]
    """The name of the tab in actions, and its widget id."""
    KEY: ClassVar[str]
    """The number key that shows the tab."""
    TITLE: ClassVar[str]
    SHORT: ClassVar[str]
    """The title if there is little room."""

    eager: ClassVar[bool] = False

    def offers(self, entity: "Entity") -> bool:
        """Return whether the entity has content for this tab."""
        del entity
        return True


_Gap = Literal["wide", "close", "none"]


def titles(tabs: Sequence[Tab], chosen: Tab, width: int) -> Text:
    """Return the titles with their numbers, the title of the chosen tab in full. If there is less
    room, the gaps are reduced first, then titles are shortened one after another (the longest
    savings first), then reduced to numbers; text that is still cut ends with a mark."""
    short: set[Tab] = set()
    text = _titles(tabs, chosen, "wide", short)
    candidates = [tab for tab in tabs if tab is not chosen and tab.SHORT != tab.TITLE]
    candidates.sort(key=lambda tab: len(tab.SHORT) - len(tab.TITLE))
    while text.cell_len > width:
        text = _titles(tabs, chosen, "close", short)
        if not candidates:
            break
        short.add(candidates.pop(0))
    if text.cell_len > width:
        text = _titles(tabs, chosen, "none", short)
    text.truncate(width, overflow="ellipsis")
    return text


def _titles(tabs: Sequence[Tab], chosen: Tab, gap: _Gap, short: set[Tab]) -> Text:
    """Return the titles with a gap between them; the titles of tabs in `short` are shortened."""
    text = Text(no_wrap=True)
    for tab in tabs:
        if text.plain:
            text.append("  " if gap == "wide" else " ")
        start = len(text)
        if gap == "none" and tab is not chosen:
            text.append(tab.KEY, "dim")
            text.stylize(action_style(f"tab('{tab.NAME}')"), start)
            continue
        title = tab.SHORT if tab in short else tab.TITLE
        tally = tab.tally()
        text.append(f" {tab.KEY} " if gap != "none" else f"{tab.KEY} ", "dim")
        text.append(f"{title}·{tally}" if tally else title, _style(tab is chosen))
        text.stylize(action_style(f"tab('{tab.NAME}')"), start)
    return text


def _style(is_chosen: bool) -> str:
    return "bold underline" if is_chosen else ""
