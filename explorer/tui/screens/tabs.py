"""The base of every tab of an entity's page, tabs that are made when first opened, and the line of
titles.

Most readers of an entity never look at its history or its raw aspects: what is shown of them is
made when the tab is first opened, and its module is imported in a thread by then. Until then a tab
knows its title and for which entities it has content.
"""

import asyncio
from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, ClassVar, Literal

from rich.text import Text
from textual.app import RenderResult
from textual.geometry import Size
from textual.widgets import ContentSwitcher

from explorer.metadata.registry import load_registry
from explorer.tui.key_queue import OPENING
from explorer.tui.session import TerminalSession
from explorer.tui.widgets.bars import action_style
from explorer.tui.widgets.rows import SizeAware

if TYPE_CHECKING:
    from textual.worker import WorkType

    from explorer.client.entity import Entity
    from explorer.views.table import Table

__all__ = [
    "LazyHistoryTab",
    "LazyLineageTab",
    "LazyProfileTab",
    "LazyRawTab",
    "LazyUsageTab",
    "Tab",
    "View",
    "titles",
]


class View(SizeAware):
    """A view of an entity.

    `show_entity` is called with every entity that was read, and draws what needs no request. `read`
    requests the rest. Responses for an entity that is no longer shown are discarded.
    """

    @property
    def room(self) -> Size:
        """Return the size that the page has for its tabs, known before the first layout of this
        one."""
        pages = (one for one in self.ancestors if isinstance(one, ContentSwitcher))
        return next((one.size for one in pages), self.app.size)

    def tally(self) -> str:
        """Return the count shown after the title; empty if there is none."""
        return ""

    def show_entity(self, entity: "Entity", *, keep: bool) -> None:
        """Draw what needs no request; `keep` means that it is the same entity, read again."""

    async def read(self, entity: "Entity") -> None:
        """Request the rest, and show it."""

    def show_times(self) -> None:
        """Show times in the chosen zone."""

    def table(self) -> "Table | None":
        """Return what is shown as a table for a file; None if it is not a list."""
        return None

    def focus_content(self) -> None:
        """Focus the content."""


class Tab(View):
    """A view that is a numbered tab of the page. It is read when it is first shown, or, if it is
    `eager`, right after the entity was read."""

    NAME: ClassVar[str]
    """What the tab is called in actions and as a widget's id."""
    KEY: ClassVar[str]
    """The number that shows it."""
    TITLE: ClassVar[str]
    SHORT: ClassVar[str]
    """The title where there is little room."""

    eager: ClassVar[bool] = False

    def offers(self, entity: "Entity") -> bool:
        """Return whether the entity has content for this tab."""
        del entity
        return True


_Gap = Literal["wide", "close", "none"]


def titles(tabs: Sequence[Tab], chosen: Tab, width: int) -> Text:
    """Return the titles with their numbers, the chosen one in full. In less room they are first set
    closer, then shortened one after another (the longest savings first), then reduced to numbers;
    text that is still cut ends with a mark."""
    short: set[Tab] = set()
    text = _titles(tabs, chosen, "wide", short)
    others = [tab for tab in tabs if tab is not chosen and tab.SHORT != tab.TITLE]
    others.sort(key=lambda tab: len(tab.SHORT) - len(tab.TITLE))
    while text.cell_len > width:
        text = _titles(tabs, chosen, "close", short)
        if not others:
            break
        short.add(others.pop(0))
    if text.cell_len > width:
        text = _titles(tabs, chosen, "none", short)
    text.truncate(width, overflow="ellipsis")
    return text


def _titles(tabs: Sequence[Tab], chosen: Tab, gap: _Gap, short: set[Tab]) -> Text:
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


_USED = ("dataset", "chart", "dashboard")
_PROFILED = ("dataset",)


class LazyTab(Tab, can_focus=True):
    """A placeholder for a view of the module `HOME`, which holds the focus until the module is
    imported."""

    HOME: ClassVar[str]
    DEFAULT_CSS = """
    LazyTab { height: 1fr; }
    """

    def __init__(self, session: TerminalSession) -> None:
        super().__init__(id=self.NAME)
        self._session = session
        self._entity: Entity | None = None
        self._view: View | None = None
        self._making = asyncio.Lock()

    @abstractmethod
    def make(self) -> View:
        """Return the view; its module is imported."""

    def tally(self) -> str:
        """Return the count of the view."""
        return self._view.tally() if self._view else ""

    def show_entity(self, entity: "Entity", *, keep: bool) -> None:
        """Have the view draw it, now or once it is imported."""
        self._entity = entity
        if self._view is not None:
            self._view.show_entity(entity, keep=keep)

    async def read(self, entity: "Entity") -> None:
        """Have the view request the rest."""
        view = await self._made()
        if entity is self._entity:
            await view.read(entity)

    def show_times(self) -> None:
        """Have the view show times in the chosen zone."""
        if self._view is not None:
            self._view.show_times()

    def table(self) -> "Table | None":
        """Return the table of the view."""
        return self._view.table() if self._view else None

    def focus_content(self) -> None:
        """Focus the view; keys pressed before it is imported are queued for it."""
        if self._view is not None:
            self._view.focus_content()
        else:
            self.screen.set_focus(self)
            leading: WorkType[None] = self._lead_on
            self.run_worker(leading, OPENING, "later", self.NAME)

    def render(self) -> RenderResult:
        """Render nothing until the view is there."""
        return ""

    async def _lead_on(self) -> None:
        with self._session.reporting(f"opening the {self.TITLE.lower()}"):
            view = await self._made()
            # Do not move the focus back if it moved elsewhere meanwhile.
            if self.has_focus:
                view.focus_content()

    async def _made(self) -> View:
        async with self._making:
            if self._view is None:
                await asyncio.to_thread(import_module, self.HOME)
                view = next(iter(self.query_children(View)), None) or self.make()
                if not view.is_attached:
                    await self.mount(view)
                if self._entity is not None:
                    view.show_entity(self._entity, keep=False)
                self._view = view
                self.can_focus = False
            return self._view


class LazyLineageTab(LazyTab):
    """The lineage tab; `column` returns the column chosen under Columns."""

    NAME = "lineage"
    KEY = "3"
    TITLE = "Lineage"
    SHORT = "Line"
    HOME = "explorer.tui.screens.lineage"

    def __init__(self, session: TerminalSession, column: Callable[[], str | None]) -> None:
        super().__init__(session)
        self._column = column

    def offers(self, entity: "Entity") -> bool:
        """Return whether the entity type has lineage."""
        return _has_lineage(entity.entity_type)

    def make(self) -> View:
        """Return the lineage tab."""
        from explorer.tui.screens.lineage import LineageTab

        return LineageTab(self._session, self._column)


class LazyUsageTab(LazyTab):
    """The usage tab."""

    NAME = "usage"
    KEY = "5"
    TITLE = "Usage"
    SHORT = "Use"
    HOME = "explorer.tui.screens.timeseries"

    def offers(self, entity: "Entity") -> bool:
        """Return whether the entity type has usage."""
        return entity.exists and entity.entity_type in _USED

    def make(self) -> View:
        """Return the tab."""
        from explorer.tui.screens.timeseries import UsageTab

        return UsageTab(self._session)


class LazyProfileTab(LazyTab):
    """The profile tab."""

    NAME = "profile"
    KEY = "6"
    TITLE = "Profile"
    SHORT = "Prof"
    HOME = "explorer.tui.screens.timeseries"

    def offers(self, entity: "Entity") -> bool:
        """Return whether the entity is a dataset: only datasets have profiles."""
        return entity.exists and entity.entity_type in _PROFILED

    def make(self) -> View:
        """Return the tab."""
        from explorer.tui.screens.timeseries import ProfileTab

        return ProfileTab(self._session)


class LazyHistoryTab(LazyTab):
    """The history tab."""

    NAME = "history"
    KEY = "7"
    TITLE = "History"
    SHORT = "Hist"
    HOME = "explorer.tui.screens.history"

    def offers(self, entity: "Entity") -> bool:
        """Return whether the entity has stored aspects."""
        return entity.exists

    def make(self) -> View:
        """Return the history tab."""
        from explorer.tui.screens.history import HistoryTab

        return HistoryTab(self._session)


class LazyRawTab(LazyTab):
    """The raw tab."""

    NAME = "raw"
    KEY = "8"
    TITLE = "Raw"
    SHORT = "Raw"
    HOME = "explorer.tui.screens.raw"

    def make(self) -> View:
        """Return the raw tab."""
        from explorer.tui.screens.raw import RawTab

        return RawTab(self._session)


@cache
def _has_lineage(entity_type: str) -> bool:
    registry = load_registry()
    known = registry.entities.get(entity_type)
    told = {
        name: [edge for edge in aspect.relationships if edge.lineage]
        for name, aspect in registry.aspects.items()
    }
    declares = known is not None and any(told.get(name) for name in known.aspects)
    return declares or any(entity_type in edge.to for edges in told.values() for edge in edges)
