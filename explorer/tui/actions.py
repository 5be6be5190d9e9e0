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
    Action("series", "earlier", ("left", "h"), "To the measurement before", "read out", "←→"),
    Action("series", "later", ("right", "l"), "To the measurement after"),
    Action("profile", "close_column", ("escape",), "Back to all columns", "all columns"),
    Action("profile", "measure", ("m",), "The next measure of the column", "measure"),
    Action("series", "shorter", ("less_than_sign", "comma"), "Fewer days", "days", "<>"),
    Action("series", "longer", ("greater_than_sign", "full_stop"), "More days"),
    Action("series", "table", ("t",), "The numbers as a table, or as a chart", "table"),
    Action("series", "zone", ("Z",), "Times in UTC, or in the zone of this machine", "utc"),
    Action("history", "fold", ("space",), "Fold or unfold an aspect"),
    Action("history", "into", ("right", "l"), "Unfold, or to the text beside"),
    Action("history", "out", ("left", "h"), "Fold, or back"),
    Action("history", "back", ("escape",), "Back to the list before", "back"),
    Action("history", "blame", ("b",), "Who described each column, and back", "who described what"),
    Action("history", "mark", ("v",), "Mark a version, to compare any other with it", "compare"),
    Action("history", "restore", ("R",), "Put an old description back", "put back"),
    Action("difference", "leave", ("escape", "left", "h"), "Back to the list", "back"),
    Action("restore", "confirm", ("y", "enter"), "Put the old description back", "put back"),
    Action("restore", "cancel", ("escape", "n", "q"), "Leave everything as it is", "leave"),
    Action("raw", "turn", ("space",), "Fold or unfold", "fold"),
    Action("raw", "unfold", ("right", "l"), "Unfold; into what is unfolded"),
    Action("raw", "fold", ("left", "h"), "Fold; up to what holds it"),
    Action("raw", "copy_aspect", ("y",), "Copy the aspect's JSON", "copy aspect"),
    Action("raw", "copy_value", ("Y",), "Copy the value under the cursor", "copy value"),
    Action("raw", "filter", ("f",), "Show only keys with a text in them", "filter keys"),
    Action("raw", "unfilter", ("escape",), "Show everything again"),
    Action("keyfilter", "to_rows", ("enter", "down"), "To what was found", "to the rows"),
    Action("keyfilter", "leave", ("escape",), "Show everything again", "show all"),
    Action("lineage", "ask('open')", ("enter",), "Open its page, or show what is left out", "open"),
    Action("lineage", "ask('more')", ("plus", "equals_sign"), "One hop further", "hops", "+ -"),
    Action("lineage", "ask('fewer')", ("minus",), "One hop less"),
    Action("lineage", "ask('upstream')", ("u",), "Upstream only", "up, down, both", "u d B"),
    Action("lineage", "ask('downstream')", ("d",), "Downstream only"),
    Action("lineage", "ask('both')", ("B",), "Upstream and downstream"),
    Action("lineage", "ask('impact')", ("x",), "What depends on it, most used first", "impact"),
    Action("lineage", "ask('filter')", ("f",), "Narrow to what passes a filter", "filter"),
    Action("lineage", "ask('expand')", ("space",), "Show neighbours left out, or not", "unfold"),
    Action("lineage", "mark", ("m",), "Mark it as the end of a way, or not", "mark"),
    Action("lineage", "ask('ways')", ("p",), "Every shortest way between it and the mark", "ways"),
    Action("lineage", "ask('column')", ("c",), "Lineage of the column under Columns", "column"),
    Action("lineage", "ask('write')", ("w",), "Write the lineage to a file", "write"),
    Action("lineage", "centre", ("z",), "Bring it to the middle", "centre"),
    Action("lineage", "root", ("home", "g"), "Back to the entity of this page"),
    Action("lineage", "ask('forget')", ("escape",), "Take off the ways, the filter, the column"),
    Action("lineage", "move('left')", ("left", "h"), "Left"),
    Action("lineage", "move('right')", ("right", "l"), "Right"),
    Action("lineage", "move('up')", ("up", "k"), "Up"),
    Action("lineage", "move('down')", ("down", "j"), "Down"),
    Action("lineage", "pan(1, 0)", ("pagedown", "J"), "Half a screen down"),
    Action("lineage", "pan(-1, 0)", ("pageup", "K"), "Half a screen up"),
    Action("lineage", "pan(0, 1)", ("L",), "Half a screen to the right"),
    Action("lineage", "pan(0, -1)", ("H",), "Half a screen to the left"),
    Action("impact", "leave", ("escape", "x"), "Back to the drawing", "drawing"),
    Action("asking", "submit", ("enter",), "Take it", "take"),
    Action("asking", "leave", ("escape",), "Leave, and change nothing", "leave"),
    Action("entity", "edit", ("E", "e"), "Edit the description of it all", "edit description"),
    Action("entity", "tab('overview')", ("1",), "Overview", "tabs", "1–8"),
    Action("entity", "tab('columns')", ("2",), "Columns"),
    Action("entity", "tab('lineage')", ("3",), "Lineage"),
    Action("entity", "tab('relations')", ("4",), "Relationships"),
    Action("entity", "tab('usage')", ("5",), "Usage"),
    Action("entity", "tab('profile')", ("6",), "Profile"),
    Action("entity", "tab('history')", ("7",), "History"),
    Action("entity", "tab('raw')", ("8",), "Raw"),
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
    "less_than_sign": "<",
    "greater_than_sign": ">",
    "comma": ",",
    "full_stop": ".",
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
