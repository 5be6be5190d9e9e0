"""One thing that can be done in the terminal, and the places where things can be done."""

import re
from dataclasses import dataclass
from typing import Final, Literal

__all__ = ["SCOPES", "Action", "Scope", "readable"]

Scope = Literal[
    "app",
    "list",
    "tree",
    "find",
    "results",
    "facets",
    "searches",
    "askscreen",
    "syntax",
    "entity",
    "overview",
    "relations",
    "narrowing",
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
    "folderfilter",
    "labels",
    "labelline",
    "labelrows",
    "deprecation",
    "aside",
    "question",
    "discard",
    "servers",
    "log",
    "export",
    "editor",
    "text",
    "alldone",
    "comparing",
    "conflict",
    "drafts",
    "links",
    "linkform",
    "palette",
    "jump",
]


@dataclass(frozen=True, slots=True)
class Action:
    """One thing that can be done: `name` is the method `action_<name>` of what has the scope.

    A `label` puts it on the key line, under the keys in `shown` where the first of them would not
    say it; one without `help` stands for others beside it and is not listed. `called` is its word
    in a keymap, where none can be made of the name. One that `writes` is shown as out of reach
    where nothing may be written.
    """

    scope: Scope
    name: str
    keys: tuple[str, ...]
    help: str
    label: str = ""
    shown: str = ""
    called: str = ""
    writes: bool = False

    @property
    def id(self) -> str:
        """What the action is called in a keymap: `entity.copy-urn`, `lineage.more`."""
        return f"{self.scope}.{self.called or _word_of(self.name)}"

    @property
    def key(self) -> str:
        """The first key, as people read it."""
        return self.shown or readable(self.keys[0])


SCOPES: dict[Scope, str] = {
    "app": "Everywhere",
    "find": "Search box",
    "results": "Results",
    "facets": "Facets",
    "searches": "List of searches",
    "askscreen": "Asked for a word",
    "syntax": "Page on syntax",
    "entity": "Entity",
    "overview": "Overview",
    "relations": "Relationships",
    "narrowing": "Filter line",
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
    "folderfilter": "Filter of a folder",
    "list": "In any list",
    "labels": "Labels",
    "labelline": "Line of a label",
    "labelrows": "List of labels",
    "deprecation": "Deprecation",
    "aside": "Hiding and restoring",
    "question": "Question",
    "discard": "Leaving what is not written",
    "servers": "Servers",
    "log": "Log",
    "export": "Writing to a file",
    "editor": "Editor",
    "text": "Text",
    "alldone": "After the last column",
    "comparing": "Before saving",
    "conflict": "Two texts",
    "drafts": "Drafts",
    "links": "Links",
    "linkform": "Line of a link",
    "palette": "Lists with a filter",
    "jump": "Jumping",
}

_NAMES = {
    "slash": "/",
    "exclamation_mark": "!",
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
    "plus": "+",
    "minus": "-",
    "equals_sign": "=",
    "underscore": "_",
}

# What an action is only asked to pass on says nothing of its own.
_PASSED_ON: Final = "ask"
_LETTERS: Final = re.compile(r"[A-Za-z0-9]+")


def readable(key: str) -> str:
    """A key as people read it."""
    return _NAMES.get(key, key.replace("ctrl+", "^"))


def _word_of(name: str) -> str:
    """A name as a word: `copy_urn` is `copy-urn`, `ask('more')` is `more`."""
    words = _LETTERS.findall(name)
    if len(words) > 1 and words[0] == _PASSED_ON:
        words = words[1:]
    return "-".join(words)
