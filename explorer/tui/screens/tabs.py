"""Tabs of an entity's page that are created when they are first opened.

Most users never look at the history or the raw aspects of an entity. So the view of such a tab is
created, and its module imported in a thread, when the tab is first opened. Until then the tab only
knows its title and which entities it is for.
"""

import asyncio
from abc import abstractmethod
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, ClassVar

from textual.app import RenderResult

from explorer.metadata.registry import load_registry
from explorer.tui.key_queue import OPENING
from explorer.tui.session import TerminalSession
from explorer.tui.widgets.tabs import Tab, View

if TYPE_CHECKING:
    from textual.worker import WorkType

    from explorer.client.entity import Entity
    from explorer.views.table import Table

_USED = ("dataset", "chart", "dashboard")
_PROFILED = ("dataset",)


class LazyTab(Tab, can_focus=True):
    """A placeholder for a view in the module `HOME`. It has the focus until the module is
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
        """Create the view. Called once its module is imported."""

    def tally(self) -> str:
        """Return the count of the view."""
        return self._view.tally() if self._view else ""

    def show_entity(self, entity: "Entity", *, keep: bool) -> None:
        """Have the view show an entity, now or once its module is imported."""
        self._entity = entity
        if self._view is not None:
            self._view.show_entity(entity, keep=keep)

    async def read(self, entity: "Entity") -> None:
        """Import and create the view if needed, and have it read the entity."""
        view = await self._make_view()
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
            leading: WorkType[None] = self._focus_view_when_ready
            self.run_worker(leading, OPENING, "later", self.NAME)

    def render(self) -> RenderResult:
        """Render nothing until the view is there."""
        return ""

    async def _focus_view_when_ready(self) -> None:
        with self._session.reporting(f"opening the {self.TITLE.lower()}"):
            view = await self._make_view()
            # Take the focus only if it has not moved elsewhere meanwhile.
            if self.has_focus:
                view.focus_content()

    async def _make_view(self) -> View:
        """Return the view; import and create it first if needed."""
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
        """Create the lineage tab."""
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
        """Create the history tab."""
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
        """Create the raw tab."""
        from explorer.tui.screens.raw import RawTab

        return RawTab(self._session)


@cache
def _has_lineage(entity_type: str) -> bool:
    registry = load_registry()
    definition = registry.entities.get(entity_type)
    lineage_by_aspect = {
        name: [edge for edge in aspect.relationships if edge.lineage]
        for name, aspect in registry.aspects.items()
    }
    declares = definition is not None and any(
        lineage_by_aspect.get(name) for name in definition.aspects
    )
    return declares or any(
        entity_type in edge.to for edges in lineage_by_aspect.values() for edge in edges
    )
