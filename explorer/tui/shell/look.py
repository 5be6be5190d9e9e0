"""How the terminal looks and is steered for one reader: settings, themes and keys put together."""

from collections.abc import Sequence
from typing import Literal

from rich.terminal_theme import TerminalTheme
from textual.filter import LineFilter
from textual.theme import Theme

from explorer.tui.shell.keymap import read_keymap
from explorer.tui.shell.settings import Read, Settings
from explorer.tui.shell.themes import (
    CONTRAST,
    DARK,
    NICKNAMES,
    SIXTEEN,
    TITLES,
    Undimmed,
    colours_of,
    is_without_colour,
    own_themes,
    themes,
)

__all__ = ["Look"]

ThemeFrom = Literal["started with", "settings", "chosen"]


class Look:
    """What the settings say about colours and keys. `wanted` is the theme named at the start, which
    goes before the one in the settings, which goes before the one chosen last.

    `problems` has one sentence for everything that could not be used.
    """

    def __init__(self, read: Read | None = None, wanted: str = "") -> None:
        found = read or Read()
        own, theme_problems = own_themes(found.settings.themes, found.place)
        self.keymap, key_problems = read_keymap(found.settings.keys, found.place)
        self.themes: dict[str, Theme] = {**themes(), **own}
        self._undimmed = Undimmed()
        self._wanted, problems = "", list(found.problems)
        if wanted:
            self._wanted = self._named(wanted) or ""
            if not self._wanted:
                problems.append(f"no theme is called “{wanted}”; there are {self._names()}")
        self._set = self._named(found.settings.theme) or ""
        if found.settings.theme and not self._set:
            place = found.place("theme")
            problems.append(
                f"{place}: no theme is called “{found.settings.theme}”; there are {self._names()}"
            )
        self.settings: Settings = found.settings
        self.problems: tuple[str, ...] = (*problems, *theme_problems, *key_problems)

    def first(self, chosen: str | None) -> str:
        """The theme to start with, where `chosen` is the one chosen last."""
        if is_without_colour():
            return SIXTEEN
        known = chosen if chosen in self.themes else ""
        return self._wanted or self._set or known or DARK

    @property
    def is_theme_set(self) -> bool:
        """Whether the settings say which theme is started with."""
        return bool(self._set)

    def title(self, name: str) -> str:
        """What a theme is, in words."""
        return TITLES.get(name, "from the settings")

    def filters(self, theme: str) -> Sequence[LineFilter]:
        """What lines go through because of the theme."""
        strong = self.themes.get(theme)
        return [self._undimmed] if strong is not None and strong.name == CONTRAST else []

    def table(self, theme: Theme) -> TerminalTheme | None:
        """What the names of colours mean in a theme, where it says."""
        return colours_of(theme)

    def _named(self, name: str) -> str | None:
        full = NICKNAMES.get(name, name)
        return full if full in self.themes else None

    def _names(self) -> str:
        return ", ".join(self.themes)
