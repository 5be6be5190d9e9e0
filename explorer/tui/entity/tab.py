"""What every way of looking at an entity has in common."""

from typing import TYPE_CHECKING, ClassVar

from textual.geometry import Size
from textual.widgets import ContentSwitcher

from explorer.tui.sizing import SizeAware

if TYPE_CHECKING:
    from explorer.client.entity import Entity
    from explorer.views.table import Table

__all__ = ["Tab", "View"]


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
