"""The base of every tab of an entity's page, tabs that are imported when first opened, and the line
of titles.

Most readers of an entity never look at its history or its raw aspects: their modules are imported
in a thread when the tab is first opened. Until then a tab knows its title and for which entities it
has content.
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
from explorer.tui.key_queue import LEADING
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
    """What is shown of an entity in one way.

    `show_entity` is called with every entity that was read, and draws what is known without asking
    anybody. `read` asks the server for the rest. What is drawn is for the entity shown last: an
    answer to an older one is thrown away.
    """

    @property
    def room(self) -> Size:
        """The cells that the page has for its tabs, known before this one was ever laid out."""
        pages = (one for one in self.ancestors if isinstance(one, ContentSwitcher))
        return next((one.size for one in pages), self.app.size)

    def tally(self) -> str:
        """How much there is, shown behind the title; empty where it is not counted."""
        return ""

    def show_entity(self, entity: "Entity", *, keep: bool) -> None:
        """Draw what is known at once; `keep` means it is the same entity, read again."""

    async def read(self, entity: "Entity") -> None:
        """Ask for what is shown beside what is known at once, and show it."""

    def show_times(self) -> None:
        """Say moments in the zone that was turned to."""

    def table(self) -> "Table | None":
        """What is shown, for a file; nothing where it is no list."""
        return None

    def focus_content(self) -> None:
        """Give the keys to what is shown."""


class Tab(View):
    """A view under a number of the page. It is read when it is first looked at, or, where it is
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
        """Whether there is anything to look at in this way."""
        del entity
        return True


_Gap = Literal["wide", "close", "none"]


def titles(tabs: Sequence[Tab], chosen: Tab, width: int) -> Text:
    """The titles by their numbers, the chosen one in full. Where there is less room they stand
    closer, then one after another is short, beginning with what saves most, then there are the
    numbers alone; what is still cut ends in a mark."""
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
    """Stands for a view that lives in the module `HOME`, and has the keys until that is there."""

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
        """The view; what it lives in was imported."""

    def tally(self) -> str:
        """What the view counts."""
        return self._view.tally() if self._view else ""

    def show_entity(self, entity: "Entity", *, keep: bool) -> None:
        """Have the view draw it, now or when it is there."""
        self._entity = entity
        if self._view is not None:
            self._view.show_entity(entity, keep=keep)

    async def read(self, entity: "Entity") -> None:
        """Have the view ask for the rest."""
        view = await self._made()
        if entity is self._entity:
            await view.read(entity)

    def show_times(self) -> None:
        """Have the view say moments in the zone that was turned to."""
        if self._view is not None:
            self._view.show_times()

    def table(self) -> "Table | None":
        """What the view shows."""
        return self._view.table() if self._view else None

    def focus_content(self) -> None:
        """Give the view the keys; those that are pressed before it is there wait for it."""
        if self._view is not None:
            self._view.focus_content()
        else:
            self.screen.set_focus(self)
            leading: WorkType[None] = self._lead_on
            self.run_worker(leading, LEADING, "later", self.NAME)

    def render(self) -> RenderResult:
        """Nothing, as long as there is no view."""
        return ""

    async def _lead_on(self) -> None:
        with self._session.reporting(f"opening the {self.TITLE.lower()}"):
            view = await self._made()
            # Who has gone elsewhere meanwhile is not called back.
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
    """The lineage, of the chosen `column` where that is asked for."""

    NAME = "lineage"
    KEY = "3"
    TITLE = "Lineage"
    SHORT = "Line"
    HOME = "explorer.tui.screens.lineage.tab"

    def __init__(self, session: TerminalSession, column: Callable[[], str | None]) -> None:
        super().__init__(session)
        self._column = column

    def offers(self, entity: "Entity") -> bool:
        """Whether data can flow from or to it."""
        return _has_lineage(entity.entity_type)

    def make(self) -> View:
        """The drawing, and what depends on it."""
        from explorer.tui.screens.lineage.tab import LineageTab

        return LineageTab(self._session, self._column)


class LazyUsageTab(LazyTab):
    """Who uses it, how often."""

    NAME = "usage"
    KEY = "5"
    TITLE = "Usage"
    SHORT = "Use"
    HOME = "explorer.tui.screens.timeseries"

    def offers(self, entity: "Entity") -> bool:
        """Whether it is of a kind whose use is measured."""
        return entity.exists and entity.entity_type in _USED

    def make(self) -> View:
        """The chart and the lists."""
        from explorer.tui.screens.timeseries import UsageTab

        return UsageTab(self._session)


class LazyProfileTab(LazyTab):
    """What was measured of its rows and columns."""

    NAME = "profile"
    KEY = "6"
    TITLE = "Profile"
    SHORT = "Prof"
    HOME = "explorer.tui.screens.timeseries"

    def offers(self, entity: "Entity") -> bool:
        """Datasets are profiled, nothing else."""
        return entity.exists and entity.entity_type in _PROFILED

    def make(self) -> View:
        """The chart and the lists."""
        from explorer.tui.screens.timeseries import ProfileTab

        return ProfileTab(self._session)


class LazyHistoryTab(LazyTab):
    """What was written of it, when and by whom."""

    NAME = "history"
    KEY = "7"
    TITLE = "History"
    SHORT = "Hist"
    HOME = "explorer.tui.screens.history"

    def offers(self, entity: "Entity") -> bool:
        """Whether anything was ever written of it."""
        return entity.exists

    def make(self) -> View:
        """The lists, and what differs."""
        from explorer.tui.screens.history import HistoryTab

        return HistoryTab(self._session)


class LazyRawTab(LazyTab):
    """Its aspects, as they are stored."""

    NAME = "raw"
    KEY = "8"
    TITLE = "Raw"
    SHORT = "Raw"
    HOME = "explorer.tui.screens.raw"

    def make(self) -> View:
        """The tree."""
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
