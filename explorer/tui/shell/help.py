"""The help screen: every key that works, made from the register of actions."""

from collections.abc import Iterable, Mapping
from typing import ClassVar

from explorer.tui.actions import SCOPES, Scope, actions_of, readable
from explorer.tui.shell.choosing import Choosing, Entry
from explorer.tui.shell.keymap import Keymap
from explorer.tui.shell.palette import Doable

__all__ = ["HelpScreen"]


class HelpScreen(Choosing):
    """The keys, those that work where the reader was first. Enter does what stands there."""

    TITLE_SHOWN: ClassVar[str] = "Keys"
    HEADINGS: ClassVar[bool] = True
    CLOSES_EMPTY: ClassVar[frozenset[str]] = frozenset("?q")

    def __init__(
        self, here: tuple[Scope, ...], keymap: Keymap, doable: Mapping[str, Doable]
    ) -> None:
        super().__init__()
        self._here = here
        self._keymap = keymap
        self._doable = doable

    def entries(self) -> Iterable[Entry]:
        """Every action that has a key, those of the nearest place first."""
        for scope in (*self._here, *(scope for scope in SCOPES if scope not in self._here)):
            here = "  here" if scope in self._here else ""
            for action in actions_of(scope):
                if action.help:
                    keys = " ".join(readable(key) for key in self._keymap.keys_of(action))
                    known = self._doable.get(action.id)
                    yield Entry(
                        action.help, keys, f"{SCOPES[scope]}{here}", do=known.do if known else None
                    )
