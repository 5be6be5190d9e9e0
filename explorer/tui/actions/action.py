"""One thing that can be done in the terminal, and the places where things can be done."""

from dataclasses import dataclass
from typing import Literal

__all__ = ["SCOPES", "Action", "Scope", "readable"]

Scope = Literal[
    "app",
    "list",
    "tree",
    "find",
    "results",
    "facets",
    "entity",
    "schema",
    "lineage",
    "impact",
    "asking",
    "profile",
    "series",
    "history",
    "difference",
    "restore",
    "raw",
    "keyfilter",
    "editor",
    "text",
    "help",
]


@dataclass(frozen=True, slots=True)
class Action:
    """One thing that can be done: `name` is the method `action_<name>` of what has the scope."""

    scope: Scope
    name: str
    keys: tuple[str, ...]
    help: str
    label: str = ""
    shown: str = ""

    @property
    def id(self) -> str:
        """What the action is called in a keymap."""
        return f"{self.scope}.{self.name}"

    @property
    def key(self) -> str:
        """The first key, as people read it."""
        return self.shown or readable(self.keys[0])


SCOPES: dict[Scope, str] = {
    "app": "Everywhere",
    "find": "Search box",
    "results": "Results",
    "facets": "Facets",
    "entity": "Entity",
    "schema": "Columns",
    "lineage": "Lineage",
    "impact": "What depends on it",
    "asking": "Line",
    "profile": "Profile",
    "series": "Over time",
    "history": "History",
    "difference": "What was changed",
    "restore": "Putting back",
    "raw": "Raw",
    "keyfilter": "Filter by key",
    "tree": "Folders",
    "list": "In any list",
    "editor": "Editor",
    "text": "Text",
    "help": "Help",
}

_NAMES = {
    "slash": "/",
    "colon": ":",
    "question_mark": "?",
    "left_square_bracket": "[",
    "right_square_bracket": "]",
    "enter": "⏎",
    "tab": "⇥",
    "escape": "esc",
    "pagedown": "pgdn",
    "pageup": "pgup",
    "down": "↓",
    "up": "↑",
    "left": "←",
    "right": "→",
    "less_than_sign": "<",
    "greater_than_sign": ">",
    "comma": ",",
    "full_stop": ".",
}


def readable(key: str) -> str:
    """A key as people read it."""
    return _NAMES.get(key, key.replace("ctrl+", "^"))
