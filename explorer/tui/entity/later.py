"""Tabs that are not there before somebody looks at them.

Most readers of an entity never look at its history or its raw aspects, and what draws these is not
small: its code is read, beside the thread of the screen, when it is first wanted. Until then a tab
knows what it is called and for what entities there is something in it.
"""

import asyncio
from abc import abstractmethod
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, ClassVar

from textual.app import RenderResult

from explorer.metadata.registry import load_registry
from explorer.tui.entity.tab import Tab, View
from explorer.tui.inorder import LEADING
from explorer.tui.session import Session

if TYPE_CHECKING:
    from textual.worker import WorkType

    from explorer.client.entity import Entity
    from explorer.views.table import Table

__all__ = [
    "LaterHistory",
    "LaterLineage",
    "LaterProfile",
    "LaterRaw",
    "LaterTab",
    "LaterUsage",
]

_USED = ("dataset", "chart", "dashboard")
_PROFILED = ("dataset",)


class LaterTab(Tab, can_focus=True):
    """Stands for a view that lives in the module `HOME`, and has the keys until that is there."""

    HOME: ClassVar[str]
    DEFAULT_CSS = """
    LaterTab { height: 1fr; }
    """

    def __init__(self, session: Session) -> None:
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


class LaterLineage(LaterTab):
    """The lineage, of the chosen `column` where that is asked for."""

    NAME = "lineage"
    KEY = "3"
    TITLE = "Lineage"
    SHORT = "Line"
    HOME = "explorer.tui.lineage.tab"

    def __init__(self, session: Session, column: Callable[[], str | None]) -> None:
        super().__init__(session)
        self._column = column

    def offers(self, entity: "Entity") -> bool:
        """Whether data can flow from or to it."""
        return _has_lineage(entity.entity_type)

    def make(self) -> View:
        """The drawing, and what depends on it."""
        from explorer.tui.lineage.tab import LineageTab

        return LineageTab(self._session, self._column)


class LaterUsage(LaterTab):
    """Who uses it, how often."""

    NAME = "usage"
    KEY = "5"
    TITLE = "Usage"
    SHORT = "Use"
    HOME = "explorer.tui.measures.usage"

    def offers(self, entity: "Entity") -> bool:
        """Whether it is of a kind whose use is measured."""
        return entity.exists and entity.entity_type in _USED

    def make(self) -> View:
        """The chart and the lists."""
        from explorer.tui.measures.usage import UsageTab

        return UsageTab(self._session)


class LaterProfile(LaterTab):
    """What was measured of its rows and columns."""

    NAME = "profile"
    KEY = "6"
    TITLE = "Profile"
    SHORT = "Prof"
    HOME = "explorer.tui.measures.profile"

    def offers(self, entity: "Entity") -> bool:
        """Datasets are profiled, nothing else."""
        return entity.exists and entity.entity_type in _PROFILED

    def make(self) -> View:
        """The chart and the lists."""
        from explorer.tui.measures.profile import ProfileTab

        return ProfileTab(self._session)


class LaterHistory(LaterTab):
    """What was written of it, when and by whom."""

    NAME = "history"
    KEY = "7"
    TITLE = "History"
    SHORT = "Hist"
    HOME = "explorer.tui.history.tab"

    def offers(self, entity: "Entity") -> bool:
        """Whether anything was ever written of it."""
        return entity.exists

    def make(self) -> View:
        """The lists, and what differs."""
        from explorer.tui.history.tab import HistoryTab

        return HistoryTab(self._session)


class LaterRaw(LaterTab):
    """Its aspects, as they are stored."""

    NAME = "raw"
    KEY = "8"
    TITLE = "Raw"
    SHORT = "Raw"
    HOME = "explorer.tui.raw.tab"

    def make(self) -> View:
        """The tree."""
        from explorer.tui.raw.tab import RawTab

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
