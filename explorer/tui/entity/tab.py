"""What every way of looking at an entity has in common."""

from typing import TYPE_CHECKING, ClassVar

from textual.widget import Widget

if TYPE_CHECKING:
    from explorer.client.entity import Entity
    from explorer.tui.shell.tables import Table

__all__ = ["Tab"]


class Tab(Widget):
    """One way of looking at an entity, under a number of its page.

    `show_entity` is called with every entity that was read, and draws what is known without asking
    anybody. `read` asks the server for the rest: when the tab is first looked at, and for a tab
    that is `eager` right after the entity was read. What is drawn is for the entity shown last: an
    answer to an older one is thrown away.
    """

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
