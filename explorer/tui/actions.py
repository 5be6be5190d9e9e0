"""Every action of the terminal, declared once: keys, key line, help and palette are made from it.

The order of the list is the order in which they are shown; a short label puts an action on the
key line, where there is room for it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from textual.binding import Binding, BindingType

__all__ = ["ACTIONS", "SCOPES", "Action", "Scope", "actions_of", "bindings", "readable"]

Scope = Literal[
    "app", "list", "tree", "find", "results", "facets", "entity", "schema", "editor", "text", "help"
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
    "tree": "Folders",
    "list": "In any list",
    "editor": "Editor",
    "text": "Text",
    "help": "Help",
}

ACTIONS: tuple[Action, ...] = (
    Action(
        "schema", "edit_column", ("e", "enter"), "Edit this column's description", "edit column"
    ),
    Action(
        "schema",
        "next_undocumented",
        ("u",),
        "Go to the next column without a description",
        "next undocumented",
    ),
    Action("schema", "fold", ("space", "left", "right"), "Fold or unfold a record", "fold"),
    Action("entity", "edit", ("E", "e"), "Edit the description of it all", "edit description"),
    Action("entity", "tab('overview')", ("1",), "Overview", "tabs", "1–4"),
    Action("entity", "tab('columns')", ("2",), "Columns"),
    Action("entity", "tab('relations')", ("4",), "Relationships"),
    Action("entity", "copy_urn", ("y",), "Copy the URN", "copy urn"),
    Action("entity", "reload", ("r",), "Read again from the server"),
    Action("results", "facets", ("f",), "Go to the facets, and back", "facets"),
    Action("results", "clear_facets", ("x",), "Take every facet off"),
    Action("results", "facet(1)", ("1",), "Narrow by the facet value with that number", "", "1–9"),
    *(Action("results", f"facet({n})", (str(n),), "") for n in range(2, 10)),
    Action("facets", "choose", ("enter", "space"), "Take a value on or off", "on, off"),
    Action("facets", "leave", ("escape", "f", "right", "l"), "Back to the results", "results"),
    Action("find", "complete", ("tab",), "Complete the name", "complete"),
    Action("find", "to_results", ("down", "enter"), "Go to the results", "results"),
    Action("find", "leave", ("escape",), "Leave the search box", "leave"),
    Action("list", "choose", ("enter",), "Open, or follow", "open"),
    Action("list", "down", ("down", "j"), "Down"),
    Action("list", "up", ("up", "k"), "Up"),
    Action("list", "page_down", ("pagedown",), "A screen down"),
    Action("list", "page_up", ("pageup",), "A screen up"),
    Action("list", "half_down", ("ctrl+d",), "Half a screen down"),
    Action("list", "half_up", ("ctrl+u",), "Half a screen up"),
    Action("list", "first", ("home", "g"), "To the first"),
    Action("list", "last", ("end", "G"), "To the last"),
    Action("tree", "cursor_down", ("down", "j"), "Down"),
    Action("tree", "cursor_up", ("up", "k"), "Up"),
    Action("tree", "into", ("right", "l"), "Unfold"),
    Action("tree", "out", ("left", "h"), "Fold, or up to the folder above"),
    Action("tree", "scroll_home", ("home", "g"), "To the first"),
    Action("tree", "scroll_end", ("end", "G"), "To the last"),
    Action("tree", "select_cursor", ("enter", "space"), "Open", "open", "⏎"),
    Action("app", "find", ("slash",), "Search", "search"),
    Action("app", "browse", ("b",), "Browse the folders, or fold them away", "browse"),
    Action("app", "go_back", ("left_square_bracket", "backspace"), "Back to what was open", "back"),
    Action("app", "go_forward", ("right_square_bracket",), "Forward again"),
    Action("app", "help", ("question_mark", "f1"), "The keys that work here"),
    Action("app", "quit", ("q",), "Quit", "quit"),
    Action("app", "leave_all", ("ctrl+q",), "Quit, from anywhere; what was typed is kept"),
    Action("app", "command_palette", ("colon", "ctrl+p"), "Everything, by name", "everything"),
    Action("editor", "save", ("ctrl+s",), "Save", "save"),
    Action(
        "editor",
        "save_and_next",
        ("ctrl+n",),
        "Save, and on to the next column without a description",
        "save, next undocumented",
    ),
    Action("editor", "leave", ("escape",), "Leave; what was typed is kept", "leave, keep draft"),
    Action("editor", "discard", ("ctrl+r",), "Back to the text that was saved", "revert"),
    Action("text", "indent", ("tab",), "Indent"),
    Action("text", "undo", ("ctrl+z",), "Undo"),
    Action("text", "redo", ("ctrl+y",), "Redo"),
    Action("help", "close", ("escape", "question_mark", "f1", "q"), "Close", "close"),
)

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
}


def actions_of(scope: Scope) -> Iterator[Action]:
    """The actions of a scope, in the order in which they are shown."""
    return (action for action in ACTIONS if action.scope == scope)


def bindings(scope: Scope) -> list[BindingType]:
    """The key bindings of a scope, for the widget or screen that has it."""
    return [
        Binding(
            ",".join(action.keys),
            action.name,
            action.label or action.help,
            show=bool(action.label),
            key_display=action.key,
            id=action.id,
            # The text of a search or a description takes any letter; quitting works everywhere.
            priority=action.name == "leave_all",
        )
        for action in actions_of(scope)
    ]


def readable(key: str) -> str:
    return _NAMES.get(key, key.replace("ctrl+", "^"))
