"""Choosing the colours: each theme is put on as the cursor comes to it."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import ClassVar

from explorer.tui.shell.choosing import Choosing, Entry
from explorer.tui.shell.look import Look

__all__ = ["ColoursScreen"]


class ColoursScreen(Choosing):
    """The themes. Enter keeps the one that is seen, escape goes back to the one before."""

    TITLE_SHOWN: ClassVar[str] = "Colours"
    # The page behind is what the colours are tried on.
    GROUND: ClassVar[str] = "-clear"

    def __init__(self, look: Look, now: str, keep: Callable[[str], None]) -> None:
        super().__init__()
        self._look = look
        self._before = now
        self._keep = keep

    def entries(self) -> Iterable[Entry]:
        """Every theme with what it is for."""
        for name in self._look.themes:
            yield Entry(self._look.title(name), name, do=partial(self._keep, name))

    def start_at(self) -> int:
        """The theme that is on."""
        names = list(self._look.themes)
        return names.index(self._before) if self._before in names else 0

    def looked_at(self, entry: Entry) -> None:
        """Put the theme on."""
        self.app.theme = entry.keys

    def action_close(self) -> None:
        """Back to the colours from before."""
        self.app.theme = self._before
        super().action_close()
