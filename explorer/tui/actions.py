"""Every action of the terminal with its keys, declared once: bindings, key line, help and palette
are made from this list.

The order in which actions stand here is the order in which they are shown. A short label puts an
action on the key line, where there is room for it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from textual.binding import Binding, BindingType

__all__ = ["ACTIONS", "SCOPES", "Action", "Scope", "actions_of", "bindings", "readable"]

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
    "labels",
    "bulklabels",
    "labelline",
    "labelrows",
    "deprecation",
    "bulkdeprecation",
    "bulklinkrows",
    "bulklinks",
    "aside",
    "question",
    "discard",
    "servers",
    "sources",
    "addsource",
    "log",
    "export",
    "editor",
    "text",
    "alldone",
    "worklistrows",
    "worklist",
    "coveragerows",
    "coverage",
    "reviewrows",
    "review",
    "reviewtext",
    "changesets",
    "dbtrows",
    "dbt",
    "journalrows",
    "journal",
    "propagatedrows",
    "propagated",
    "feedrows",
    "feed",
    "conceptrows",
    "variantrows",
    "concept",
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
    "tree": "Folders",
    "list": "In any list",
    "labels": "Labels",
    "bulklabels": "Labels of what is marked",
    "labelline": "Line of a label",
    "labelrows": "List of labels",
    "deprecation": "Deprecation",
    "bulkdeprecation": "Deprecation of what is marked",
    "bulklinkrows": "List of links",
    "bulklinks": "Links of what is marked",
    "aside": "Hiding and restoring",
    "question": "Question",
    "discard": "Leaving what is not written",
    "servers": "Servers",
    "sources": "Sources",
    "addsource": "Form of a source",
    "log": "Log",
    "export": "Writing to a file",
    "editor": "Editor",
    "text": "Text",
    "alldone": "After the last column",
    "worklistrows": "List of what is undocumented",
    "worklist": "Worklist",
    "coveragerows": "List of groups",
    "coverage": "Coverage",
    "reviewrows": "List of changes to review",
    "review": "Review",
    "reviewtext": "Text of a change",
    "changesets": "Changesets",
    "dbtrows": "List of changes of a dbt project",
    "dbt": "dbt project",
    "journalrows": "List of saves",
    "journal": "Journal",
    "propagatedrows": "List of propagated texts",
    "propagated": "Propagated texts",
    "feedrows": "List of changes",
    "feed": "Changes since the last visit",
    "conceptrows": "Columns of one name",
    "variantrows": "Texts of one name",
    "concept": "Concept",
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


_BROWSE: tuple[Action, ...] = (
    Action("tree", "filter", ("f",), "Filter this folder by name", "filter"),
    Action("tree", "unfilter", ("escape",), "Clear the filter", "show all"),
    Action("tree", "into", ("right", "l"), "Expand, or go into what is expanded", "expand", "→"),
    Action("tree", "turn", ("space",), "Expand or collapse"),
    Action("tree", "out", ("left", "h"), "Collapse, or go to the folder above"),
    Action("tree", "reload", ("r",), "Refresh this folder", "refresh"),
    Action("tree", "narrower", ("less_than_sign",), "Narrower folders", "width", "<>"),
    Action("tree", "wider", ("greater_than_sign",), "Wider folders"),
    Action("tree", "tab('overview')", ("1",), "Tabs of the open entity", "", "1–8"),
    *(
        Action("tree", f"tab('{name}')", (str(number),), "")
        for number, name in enumerate(
            ("columns", "lineage", "relations", "usage", "profile", "history", "raw"), 2
        )
    ),
    Action("app", "reveal", ("full_stop",), "Show what is open in the folders, at each place"),
)


_COLUMNS: tuple[Action, ...] = (
    Action(
        "schema",
        "ask('edit_column')",
        ("e", "enter"),
        "Edit this column's description",
        "edit column",
        writes=True,
    ),
    Action(
        "schema",
        "ask('next_undocumented')",
        ("u",),
        "Go to the next column without a description",
        "next undocumented",
    ),
    Action(
        "schema",
        "ask('fold')",
        ("space", "left", "right"),
        "Expand or collapse a record",
        "collapse",
    ),
    Action(
        "schema", "ask('filter')", ("f",), "Filter by name, type, tag, or is:undocumented", "filter"
    ),
    Action("schema", "ask('mark')", ("v",), "Mark or unmark a column, and go to the next", "mark"),
    Action(
        "schema", "ask('unfilter')", ("escape",), "Unmark all, then clear the filter", "all columns"
    ),
    Action("schema", "ask('order')", ("s",), "Most used first, or as in the schema", "by use"),
    Action("schema", "ask('fold_all')", ("z",), "Expand or collapse every record"),
)


_CONNECTION: tuple[Action, ...] = (
    Action("app", "try_again", ("r",), "Retry what failed", "try again"),
    Action("app", "open_last", ("minus",), "Last opened, and back again"),
    Action("app", "servers", ("f3", "S"), "Switch server"),
    Action("app", "sources", ("A",), "Sources: add your own database, files or dbt project"),
    Action("app", "export", ("X",), "Write what is shown to a file: CSV, JSON, Markdown"),
    Action("app", "picture", ("f9",), "Write a picture of the screen to a file"),
    Action("app", "exchanges", ("ctrl+l",), "Log: what was asked of the server"),
    Action("servers", "token", ("t",), "Give an access token for it", "give a token"),
    Action("servers", "offline", ("o",), "Open what was kept of it, asking nobody", "offline copy"),
    Action("servers", "read_only", ("R",), "Open it to be read only", "read only"),
    Action("servers", "address", ("a", "slash"), "Type an address", "type an address"),
    Action("servers", "sources", ("n",), "Add your own data to this catalog", "add a source"),
    Action("servers", "close", ("escape", "q", "f3"), "Close", "close"),
    Action("sources", "address", ("a", "slash"), "Type an address", "type an address"),
    Action("sources", "remove", ("x",), "Remove it with what it brought", "remove", writes=True),
    Action("sources", "close", ("escape", "q", "A"), "Close", "close"),
    Action("addsource", "read", ("ctrl+r",), "Read it: what it would bring", "read it", "⏎"),
    Action("addsource", "add", ("ctrl+s",), "Bring it in", "bring it in", "⏎", writes=True),
    Action("addsource", "leave", ("escape",), "Stop what is under way, or leave", "stop, leave"),
    Action("log", "copy_line", ("y",), "Copy the line", "copy"),
    Action("log", "close", ("escape", "q", "ctrl+l"), "Close", "close"),
    Action("export", "shown", ("ctrl+t",), "All there are, or only those shown", "all, or shown"),
    Action("export", "close", ("escape",), "Write nothing, or stop writing", "close"),
)


_EDITING: tuple[Action, ...] = (
    Action("editor", "save", ("ctrl+s",), "Save and leave", "save"),
    Action(
        "editor",
        "save_and_next",
        ("ctrl+n",),
        "Save, and on to the next column without a description",
        "save, next undocumented",
    ),
    Action("editor", "compare", ("ctrl+d",), "Compare the saved text with yours", "diff"),
    Action("editor", "edit_outside", ("ctrl+e",), "Edit it in $VISUAL or $EDITOR", "$EDITOR"),
    Action(
        "editor",
        "move(-1)",
        ("f2",),
        "To the column before; what was typed is kept as a draft",
        "column before, after",
        "f2 f3",
        "column-before",
    ),
    Action("editor", "move(1)", ("f3",), "To the column after", called="column-after"),
    Action(
        "editor",
        "to_failed",
        ("ctrl+g",),
        "To the next text of this table that could not be saved",
        "not saved: go there",
    ),
    Action("editor", "look", ("ctrl+t",), "The text, or what it looks like", "preview"),
    Action("editor", "discard", ("ctrl+r",), "Back to the text that was saved", "revert"),
    Action("editor", "draft", ("f10",), "Have the drafting command suggest a text", "draft"),
    Action("editor", "leave", ("escape",), "Leave; what was typed is kept", "leave, keep draft"),
    Action("editor", "take(1)", ("f5",), "Take the ingested text", called="take-1"),
    *(
        Action("editor", f"take({number})", (f"f{number + 4}",), f"Take text {number} from below")
        for number in range(2, 6)
    ),
    Action("alldone", "next_table", ("enter",), "On to the next table", "next table"),
    Action("app", "drafts", ("f4",), "Drafts: what was typed and not saved"),
    Action("app", "worklist", ("W",), "Worklist: what is worth documenting next"),
    Action("app", "coverage", ("C",), "Coverage: how much is documented, and where it is missing"),
    Action("app", "changesets", ("V",), "Changesets: review, then write; files of a dbt project"),
    Action("app", "journal", ("f8",), "Journal: what was saved from here, to look up and undo"),
    Action("worklist", "filter", ("f", "slash"), "Narrow by words and conditions", "filter"),
    Action("worklist", "mine", ("m",), "Only what you own, or all", "mine"),
    Action("worklist", "propose", ("p",), "Propose texts from lineage, to review", "propose"),
    Action("worklist", "open", ("o",), "Open the page of the table", "open table"),
    Action("worklist", "reload", ("r",), "Read the list again"),
    Action("worklist", "leave", ("escape",), "Clear the filter, then close", "close"),
    Action("worklist", "close", ("q", "W"), "Close"),
    Action(
        "coverage",
        "turn(1)",
        ("right", "l", "tab"),
        "Group by the next: domain, folder, owner, platform, tag",
        "group by",
        "←→",
        "next",
    ),
    Action(
        "coverage",
        "turn(-1)",
        ("left", "h", "shift+tab"),
        "Group by the one before",
        called="before",
    ),
    Action("coverage", "trend", ("t",), "How it changed: columns, then tables", "trend"),
    Action("coverage", "filter", ("f", "slash"), "Narrow by words and conditions", "filter"),
    Action("coverage", "reload", ("r",), "Count again"),
    Action("coverage", "leave", ("escape",), "Clear the filter, then close", "close"),
    Action("coverage", "close", ("q", "C"), "Close"),
    Action("review", "accept", ("a",), "Accept, and go on to the next", "accept"),
    Action("review", "refuse", ("x",), "Refuse, and go on to the next", "refuse"),
    Action("review", "reopen", ("u",), "Take the decision back", "undecide"),
    Action("review", "accept_all", ("A",), "Accept all that are open", "all"),
    Action("review", "apply", ("ctrl+s",), "Write what was accepted", "write", writes=True),
    Action("review", "open", ("o",), "Open the page of the table", "open table"),
    Action("review", "sync", ("r",), "Fetch what colleagues decided, of a shared changeset"),
    Action("review", "text", ("tab",), "To the difference, and back with esc"),
    Action("review", "leave", ("escape", "q", "V"), "Close; what was decided stays", "close"),
    Action("reviewtext", "accept", ("ctrl+s",), "Accept the text as it stands", "accept"),
    Action(
        "reviewtext", "leave", ("escape",), "Go back; what was typed is kept", "back, undecided"
    ),
    Action("changesets", "open", ("enter",), "Review it", "review"),
    Action("changesets", "take_in", ("i",), "Review a file: a changeset or descriptions", "a file"),
    Action(
        "changesets",
        "dbt_project",
        ("d",),
        "Write the files of a dbt project, or take in what they say",
        "a dbt project",
    ),
    Action(
        *("changesets", "share", ("s",), "Share it: the server keeps it, for all to review"),
        "share",
        writes=True,
    ),
    Action(
        *("changesets", "withdraw", ("x",), "Take it out of what the server keeps, once confirmed"),
        "withdraw",
        writes=True,
    ),
    Action("changesets", "reload", ("r",), "Look for changesets again"),
    Action("changesets", "leave", ("escape", "q", "V"), "Close", "close"),
    Action("dbt", "write", ("ctrl+s",), "Write the files, once confirmed", "write files"),
    Action("dbt", "take_in", ("i",), "Review what the project says, for the catalog", "take in"),
    Action("dbt", "tags", ("t",), "With tags, or without", "tags"),
    Action("dbt", "owners", ("O",), "With owners, or without", "owners"),
    Action("dbt", "conflicts", ("c",), "Replace texts that conflict, or leave them", "conflicts"),
    Action("dbt", "filter", ("f", "slash"), "Only changes that have words", "filter"),
    Action("dbt", "open", ("o",), "Open the page of the table"),
    Action("dbt", "text", ("tab",), "To what differs, and back with esc"),
    Action("dbt", "folder", ("d",), "Another project", "project"),
    Action("dbt", "reload", ("r",), "Read the project and the catalog again"),
    Action("dbt", "leave", ("escape",), "Clear the filter, then close", "close"),
    Action("dbt", "close", ("q",), "Close"),
    Action("journal", "filter", ("f", "slash"), "Only saves that have words", "filter"),
    Action("journal", "undo", ("u",), "Undo this save, once confirmed", "undo", writes=True),
    Action("journal", "open", ("o",), "Open the page of what was written", "open page"),
    Action("journal", "text", ("tab",), "To what was changed, and back with esc"),
    Action("journal", "reload", ("r",), "Read the journal again"),
    Action("journal", "leave", ("escape",), "Clear the filter, then close", "close"),
    Action("journal", "close", ("q", "f8"), "Close"),
    Action("app", "propagated", ("P",), "Propagated texts: refresh, pin, take back"),
    Action("propagated", "filter", ("f", "slash"), "Only texts that have words", "filter"),
    Action(
        "propagated",
        "refresh",
        ("R",),
        "Write what the sources say now into all listed that are outdated",
        "refresh outdated",
        writes=True,
    ),
    Action("propagated", "pin", ("p",), "Pin it, or no more: never refreshed", "pin", writes=True),
    Action("propagated", "take_back", ("x",), "Take it back", "take back", writes=True),
    Action("propagated", "take_back_all", ("A",), "Take back all listed", writes=True),
    Action("propagated", "open", ("o",), "Open the page of the table", "open page"),
    Action("propagated", "text", ("tab",), "To what differs, and back with esc"),
    Action("propagated", "reload", ("r",), "Read the list again"),
    Action("propagated", "leave", ("escape",), "Clear the filter, then close", "close"),
    Action("propagated", "close", ("q", "P"), "Close"),
    Action("app", "feed", ("f5",), "Changes of others and of ingestion since the last visit"),
    Action("feed", "open", ("o",), "Open the page, at the column"),
    Action("feed", "care", ("c",), "Only what written texts may not fit any more, or all", "care"),
    Action("feed", "filter", ("f", "slash"), "Only changes that have words", "filter"),
    Action("feed", "mark", ("m",), "Mark as read; closing does too", "mark read"),
    Action("feed", "earlier", ("b",), "Since the visit before, or the last", "visit before"),
    Action("feed", "text", ("tab",), "To what was changed, and back with esc"),
    Action("feed", "reload", ("r",), "Read the changes again"),
    Action("feed", "leave", ("escape",), "Clear the filter, then close: all is read", "close"),
    Action("feed", "close", ("q", "f5"), "Close: all is read"),
    Action(
        "app",
        "govern",
        ("f12", "ctrl+n"),
        "Tags, glossary, domains, data products: make, rename, move",
        writes=True,
    ),
    Action("app", "concept", ("f7",), "Concept: columns of one name, and the texts they have"),
    Action("worklist", "concept", ("c",), "Columns of this name, and their texts", "same name"),
    Action("conceptrows", "mark", ("space", "v"), "Mark a column, and go to the next", "mark"),
    Action("conceptrows", "choose", ("enter",), "Review the text for what is marked"),
    Action("variantrows", "choose", ("enter", "space"), "Take this text", "take"),
    Action("concept", "stage", ("ctrl+s",), "Review the text for what is marked", "review"),
    Action("concept", "variant(1)", ("1",), "Take the text with that number", "text", "1–9"),
    *(Action("concept", f"variant({n})", (str(n),), "") for n in range(2, 10)),
    Action("concept", "write", ("e",), "Write a text, from the one taken", "write text"),
    Action(
        "concept",
        "mark_undocumented",
        ("u",),
        "Mark the columns without a text, or unmark them",
        "mark those without",
    ),
    Action("concept", "mark_all", ("A",), "Mark all columns, or unmark them", "all"),
    Action("concept", "turn", ("tab",), "To the texts, and back to the columns"),
    Action("concept", "label('tags')", ("t",), "Tags of what is marked; reviewed first"),
    Action("concept", "label('terms')", ("T",), "Glossary terms, the same way"),
    Action("concept", "open", ("o",), "Open the page of the table", "open table"),
    Action("concept", "reload", ("r",), "Read the columns again"),
    Action("concept", "leave", ("escape",), "Unmark all, then close", "close"),
    Action("concept", "close", ("q",), "Close"),
    Action("entity", "links", ("L",), "Links to documents: add, change, remove"),
    Action("text", "indent", ("tab",), "Indent"),
    Action("text", "undo", ("ctrl+z",), "Undo what was typed last; outside of a text, the save"),
    Action("text", "redo", ("ctrl+y", "ctrl+shift+z"), "Redo it"),
    Action("comparing", "save", ("ctrl+s",), "Save what was typed", "save"),
    Action("comparing", "back", ("escape", "ctrl+d"), "Back to the text", "back to the text"),
    Action("conflict", "take_mine", ("ctrl+o",), "Replace theirs with yours", "overwrite theirs"),
    Action(
        "conflict", "take_theirs", ("ctrl+r",), "Keep theirs and continue from it", "keep theirs"
    ),
    Action("conflict", "back", ("escape",), "Back to your text, nothing saved", "back, keep both"),
    Action("drafts", "open", ("enter",), "Go on writing", "go on writing"),
    Action("drafts", "remove", ("delete",), "Discard the draft", "discard", "del"),
    Action("drafts", "restore", ("ctrl+z",), "Restore the draft discarded last", "restore"),
    Action("drafts", "leave", ("escape", "q"), "Close", "close"),
    Action("links", "follow", ("enter",), "Open the link's address", "open"),
    Action("links", "add", ("a",), "Add a link", "add"),
    Action("links", "change", ("e",), "Change the address or the name of a link", "change"),
    Action("links", "remove", ("delete",), "Remove a link", "remove", "del"),
    Action("links", "restore", ("ctrl+z",), "Restore the link removed last", "restore"),
    Action("links", "leave", ("escape", "q"), "Close", "close"),
    Action("linkform", "submit", ("enter", "ctrl+s"), "Next field; after the last, save", "save"),
    Action("linkform", "leave", ("escape",), "Cancel", "leave"),
)


_ENTITY: tuple[Action, ...] = (
    Action(
        "entity",
        "edit",
        ("E", "e"),
        "Edit the description of this entity",
        "edit description",
        writes=True,
    ),
    Action("entity", "tab('overview')", ("1",), "Overview", "tabs", "1–8"),
    Action("entity", "tab('columns')", ("2",), "Columns"),
    Action("entity", "tab('lineage')", ("3",), "Lineage"),
    Action("entity", "tab('relations')", ("4",), "Relationships"),
    Action("entity", "tab('usage')", ("5",), "Usage"),
    Action("entity", "tab('profile')", ("6",), "Profile"),
    Action("entity", "tab('history')", ("7",), "History"),
    Action("entity", "tab('raw')", ("8",), "Raw"),
    Action(
        "entity",
        "concept",
        ("c",),
        "Columns of this name, or with this term, and the texts they have",
        "same name",
    ),
    Action("entity", "copy_urn", ("y",), "Copy the URN", "copy urn"),
    Action("entity", "open_page", ("o",), "Open its page in the browser", "web page"),
    Action("entity", "zone", ("Z",), "Times in UTC, or in the zone of this machine"),
    Action("entity", "reload", ("r",), "Refresh"),
)


_FIND: tuple[Action, ...] = (
    Action("find", "enter", ("enter",), "Search, or open what is chosen", "search"),
    Action("find", "take", ("tab",), "Take the completion chosen, or the first", "complete"),
    Action("find", "choose(1)", ("down",), "Next completion, or to the results", called="next"),
    Action("find", "choose(-1)", ("up",), "Previous completion; recent searches", called="before"),
    Action("find", "leave", ("escape",), "Close the completions, or leave", "leave"),
    Action("find", "syntax", ("f1",), "Search syntax (also ? in an empty box)", "syntax"),
    Action("find", "save", ("ctrl+s",), "Save this search under a name"),
    Action("find", "searches", ("ctrl+r",), "Saved and recent searches"),
    Action("results", "do('facets')", ("f",), "Go to the facets, and back", "facets"),
    Action("results", "do('condition')", ("c",), "Add a condition, step by step", "condition"),
    Action("results", "do('plain')", ("x",), "Clear all conditions", called="clear"),
    Action("results", "facet(1)", ("1",), "Filter by the facet value with that number", "", "1–9"),
    *(Action("results", f"facet({n})", (str(n),), "") for n in range(2, 10)),
    Action("results", "next_page", ("n",), "Next page", "page", "n p"),
    Action("results", "previous_page", ("p",), "Previous page"),
    Action("results", "do('jump')", ("J",), "To a result, or a page, by its number", called="jump"),
    Action("results", "do('order')", ("o",), "Choose the order", "order", called="order"),
    Action("results", "do('why')", ("w",), "Why it was found, and why it ranks here", "why"),
    Action(
        "results", "mark", ("space", "v"), "Mark or unmark a result, and go to the next", "mark"
    ),
    Action("results", "unmark", ("escape",), "Unmark all results", "unmark"),
    Action(
        "results",
        "label('tags')",
        ("t",),
        "Tags of what is marked, or of this result; reviewed first",
        writes=True,
    ),
    Action("results", "label('terms')", ("m", "T"), "Glossary terms, the same way", writes=True),
    Action("results", "label('owners')", ("O",), "Owners, the same way", writes=True),
    Action("results", "label('domain')", ("D",), "Domain, the same way", writes=True),
    Action(
        "results",
        "label('deprecation')",
        ("exclamation_mark",),
        "Deprecate, or undo that, the same way",
        writes=True,
    ),
    Action("results", "label('links')", ("L",), "Links to documents, the same way", writes=True),
    Action("results", "do('save')", ("s",), "Save this search under a name", "save search"),
    Action("results", "do('searches')", ("S",), "Saved and recent searches", called="searches"),
    Action("results", "do('again')", ("r",), "Search again", called="again"),
    Action("facets", "choose", ("enter", "space"), "Add or remove a value", "add, remove"),
    Action("facets", "leave", ("escape", "f", "right", "l"), "Back to the results", "results"),
    Action("searches", "rename", ("f2",), "Rename a saved search", "rename"),
    Action("searches", "forget", ("f8",), "Forget a search", "forget"),
    Action("askscreen", "leave", ("escape",), "Cancel", "leave"),
    Action("syntax", "close", ("escape", "q", "f1", "question_mark"), "Close", "close"),
)


_HISTORY: tuple[Action, ...] = (
    Action("history", "ask('fold')", ("space",), "Expand or collapse an aspect"),
    Action("history", "ask('into')", ("right", "l"), "Expand, or go to the text beside"),
    Action("history", "ask('out')", ("left", "h"), "Collapse, or back"),
    Action("history", "ask('back')", ("escape",), "Back to the list before", "back"),
    Action(
        "history",
        "ask('blame')",
        ("b",),
        "Who described each column, and back",
        "who described what",
    ),
    Action(
        "history", "ask('mark')", ("v",), "Mark a version, to compare any other with it", "compare"
    ),
    Action(
        "history", "ask('restore')", ("R",), "Put an old description back", "restore", writes=True
    ),
    Action("difference", "leave", ("escape", "left", "h"), "Back to the list", "back"),
    Action("restore", "confirm", ("ctrl+s",), "Put the old description back", "restore"),
    Action("restore", "cancel", ("escape",), "Cancel", "leave"),
)


_LABELS: tuple[Action, ...] = (
    Action(
        "schema",
        "label('tags')",
        ("t",),
        "Tags of this column, or of those marked",
        "tag, term",
        "t T",
        writes=True,
    ),
    Action(
        "schema",
        "label('terms')",
        ("T",),
        "Glossary terms, the same way",
        writes=True,
    ),
    Action(
        "entity",
        "label('tags')",
        ("t", "ctrl+t"),
        "Tags of this entity",
        "tags, owners …",
        "t T O D",
        writes=True,
    ),
    Action("entity", "label('terms')", ("m", "T"), "Glossary terms of this entity", writes=True),
    Action("entity", "label('owners')", ("O",), "Owners", writes=True),
    Action("entity", "label('domain')", ("D",), "Domain", writes=True),
    Action("entity", "deprecate", ("exclamation_mark",), "Deprecate, or undo that", writes=True),
    Action(
        "entity",
        "set_aside",
        ("ctrl+x", "delete"),
        "Hide from search and browse, or restore",
        writes=True,
    ),
    Action(
        "app",
        "take_back",
        ("U", "ctrl+z"),
        "Undo the last save, wherever it was made; it is shown first",
        writes=True,
    ),
    Action("app", "do_again", ("ctrl+y", "ctrl+shift+z"), "Redo what was undone", writes=True),
    Action("bulklabels", "write", ("ctrl+s",), "Review the changes; nothing is written", "review"),
    Action("labels", "write", ("ctrl+s",), "Save the changes", "save"),
    Action(
        "labelline",
        "turn",
        ("enter",),
        "Add or remove; space does too while nothing is typed",
        "add, remove",
    ),
    Action("labelline", "down", ("down",), "Down"),
    Action("labelline", "up", ("up",), "Up"),
    Action("labelline", "page_down", ("pagedown",), "A screen down"),
    Action("labelline", "page_up", ("pageup",), "A screen up"),
    Action("labelline", "to_rows", ("tab",), "Into the list", "list"),
    Action("labelrows", "turn", ("space", "enter"), "Add or remove", "add, remove", "⎵"),
    Action("labelrows", "to_line", ("tab", "slash", "i"), "Back to typing", "type"),
    Action("labels", "kind", ("ctrl+t",), "Another kind of ownership", "kind of ownership"),
    Action("labels", "leave", ("escape",), "Cancel", "leave"),
    Action(
        "bulkdeprecation", "write", ("ctrl+s",), "Review the changes; nothing is written", "review"
    ),
    Action("bulkdeprecation", "lift", ("ctrl+r",), "All may be used again", "take back"),
    Action("deprecation", "write", ("ctrl+s",), "Save the deprecation", "save"),
    Action("deprecation", "lift", ("ctrl+r",), "It may be used again", "take back"),
    Action("deprecation", "complete", ("ctrl+t",), "Complete the replacement", "complete"),
    Action("deprecation", "leave", ("escape",), "Cancel", "leave"),
    Action("bulklinks", "write", ("ctrl+s",), "Review the changes; nothing is written", "review"),
    Action("bulklinks", "add", ("a",), "Add a link to all", "add"),
    Action(
        "bulklinkrows",
        "choose",
        ("enter", "space", "delete"),
        "Put it on all, or take it off",
        "on, off",
        "⎵",
    ),
    Action("bulklinks", "leave", ("escape",), "Cancel", "leave"),
    Action("aside", "confirm", ("ctrl+s",), "Do it", "do it"),
    Action("aside", "leave", ("escape",), "Cancel", "leave"),
    Action("question", "confirm", ("ctrl+s",), "Yes, do it", "do it"),
    Action("question", "cancel", ("escape",), "No, cancel", "leave"),
    Action("discard", "confirm", ("delete",), "Cancel", "discard", "del"),
    Action("discard", "cancel", ("escape",), "Back to what was typed", "go on"),
)


_LINEAGE: tuple[Action, ...] = (
    Action("lineage", "ask('open')", ("enter",), "Open its page, or show what is left out", "open"),
    Action("lineage", "ask('more')", ("plus", "equals_sign"), "One hop further", "hops", "+ -"),
    Action("lineage", "ask('fewer')", ("minus",), "One hop less"),
    Action("lineage", "ask('upstream')", ("u",), "Upstream only", "up, down, both", "u d B"),
    Action("lineage", "ask('downstream')", ("d",), "Downstream only"),
    Action("lineage", "ask('both')", ("B",), "Upstream and downstream"),
    Action("lineage", "ask('impact')", ("x",), "What depends on it, most used first", "impact"),
    Action("lineage", "ask('filter')", ("f",), "Filter the lineage", "filter"),
    Action("lineage", "ask('expand')", ("space",), "Show neighbours left out, or not", "expand"),
    Action("lineage", "mark", ("m",), "Mark it as one end of a path, or not", "mark"),
    Action("lineage", "ask('ways')", ("p",), "Shortest paths to the mark, or to a name", "paths"),
    Action("lineage", "ask('column')", ("c",), "Lineage of the column under Columns", "column"),
    Action("lineage", "ask('write')", ("w",), "Write the lineage to a file", "write file"),
    Action("lineage", "centre", ("z",), "Bring it to the middle", "centre"),
    Action("lineage", "fit", ("0",), "All of a large drawing at once, or not", "fit"),
    Action("lineage", "root", ("home", "g"), "Back to the entity of this page"),
    Action("lineage", "ask('forget')", ("escape",), "Clear the paths, the filter, the column"),
    Action("lineage", "move('left')", ("left", "h"), "Left"),
    Action("lineage", "move('right')", ("right", "l"), "Right"),
    Action("lineage", "move('up')", ("up", "k"), "Up"),
    Action("lineage", "move('down')", ("down", "j"), "Down"),
    Action("lineage", "pan(1, 0)", ("pagedown", "J"), "Half a screen down", called="pan-down"),
    Action("lineage", "pan(-1, 0)", ("pageup", "K"), "Half a screen up", called="pan-up"),
    Action("lineage", "pan(0, 1)", ("L",), "Half a screen to the right", called="pan-right"),
    Action("lineage", "pan(0, -1)", ("H",), "Half a screen to the left", called="pan-left"),
    Action("impact", "leave", ("escape", "x"), "Back to the drawing", "drawing"),
    Action("asking", "submit", ("enter",), "Take it", "take"),
    Action("asking", "leave", ("escape",), "Cancel", "leave"),
)


_LISTS: tuple[Action, ...] = (
    Action(
        "worklistrows",
        "choose",
        ("enter", "e"),
        "Write the description, then the next",
        "write",
        writes=True,
    ),
    Action("reviewrows", "choose", ("enter", "e"), "Change the text, and accept it", "edit"),
    Action("feedrows", "choose", ("enter",), "Open the page, at the column", "open"),
    Action("propagatedrows", "choose", ("enter",), "To what differs", "what differs"),
    Action("dbtrows", "choose", ("enter",), "To what differs", "what differs"),
    Action("journalrows", "choose", ("enter",), "To what was changed", "what changed"),
    Action("coveragerows", "choose", ("enter", "w"), "What is missing there", "what is missing"),
    Action("list", "choose", ("enter",), "Open, or follow", "open"),
    Action("list", "down", ("down", "j"), "Down"),
    Action("list", "up", ("up", "k"), "Up"),
    Action("list", "page_down", ("pagedown",), "A screen down"),
    Action("list", "page_up", ("pageup",), "A screen up"),
    Action("list", "half_down", ("ctrl+d",), "Half a screen down"),
    Action("list", "half_up", ("ctrl+u",), "Half a screen up"),
    Action("list", "first", ("home", "g"), "To the first"),
    Action("list", "last", ("end", "G"), "To the last"),
)


_MEASUREMENTS: tuple[Action, ...] = (
    Action("series", "earlier", ("left", "h"), "To the measurement before", "read out", "←→"),
    Action("series", "later", ("right", "l"), "To the measurement after"),
    Action("profile", "close_column", ("escape",), "Back to all columns", "all columns"),
    Action("profile", "measure", ("m",), "The next measure of the column", "measure"),
    Action("series", "shorter", ("less_than_sign", "comma"), "Fewer days", "days", "<>"),
    Action("series", "longer", ("greater_than_sign", "full_stop"), "More days"),
    Action("series", "table", ("t",), "The numbers as a table, or as a chart", "table"),
)


_OVERVIEW: tuple[Action, ...] = (
    Action("overview", "next_mention", ("n", "tab"), "To the next reference", "next reference"),
    Action("overview", "previous_mention", ("p", "N", "shift+tab"), "To the reference before"),
    Action("overview", "whole", ("w",), "All of a long text, as it is written", "whole text"),
    Action(
        "relations",
        "ask('fold')",
        ("space", "left", "right"),
        "Expand or collapse a kind",
        "collapse",
    ),
    Action("relations", "ask('filter')", ("f",), "Filter by name, type or relationship", "filter"),
    Action("relations", "ask('unfilter')", ("escape",), "Clear the filter", "all"),
    Action("narrowing", "keep", ("enter", "down"), "To what passes", "to the list"),
    Action("narrowing", "leave", ("escape",), "Clear the filter", "all"),
)


_RAW: tuple[Action, ...] = (
    Action("raw", "ask('turn')", ("space",), "Expand or collapse", "collapse"),
    Action("raw", "ask('unfold')", ("right", "l"), "Expand, or go into what is expanded"),
    Action("raw", "ask('fold')", ("left", "h"), "Collapse, or go to what holds it"),
    Action("raw", "ask('copy_aspect')", ("y",), "Copy the aspect's JSON", "copy aspect"),
    Action("raw", "ask('copy_value')", ("Y",), "Copy the value under the cursor", "copy value"),
    Action("raw", "ask('filter')", ("f",), "Show only keys with a text in them", "filter keys"),
    Action("raw", "ask('unfilter')", ("escape",), "Clear the filter"),
)


_EVERYWHERE: tuple[Action, ...] = (
    Action("app", "find", ("slash",), "Search", "search"),
    Action("app", "browse", ("b",), "Show the folders, or hide them", "browse"),
    Action("app", "folders", ("f6",), "Go to the folders, and back to the page"),
    Action("app", "go_back", ("left_square_bracket", "backspace"), "Back to what was open", "back"),
    Action("app", "go_forward", ("right_square_bracket",), "Forward again"),
    Action("app", "help", ("question_mark", "f1"), "The keys that work here"),
    Action("app", "quit", ("q",), "Quit", "quit"),
    Action("app", "leave_all", ("ctrl+q",), "Quit, from anywhere; what was typed is kept"),
    Action("app", "command_palette", ("colon", "ctrl+p"), "Everything, by name", "everything"),
    Action("app", "jump", ("ctrl+o",), "Jump: a letter over everything one can go to"),
    Action("app", "zoom", ("f10",), "The pane fills the screen, and back"),
    Action(
        "app",
        "change_theme",
        ("f2",),
        "Choose the colours: light, dark, strong contrast …",
        called="theme",
    ),
    Action("app", "settings", ("ctrl+k",), "Keys and settings"),
    Action("app", "welcome", ("ctrl+g",), "The introduction for newcomers"),
    Action("palette", "close", ("escape", "f1", "ctrl+p"), "Close", "close"),
    Action("palette", "choose", ("enter",), "Do it", "do it"),
    Action("palette", "move(1)", ("down", "ctrl+n"), "Down", called="down"),
    Action("palette", "move(-1)", ("up",), "Up", called="up"),
    Action("palette", "page(1)", ("pagedown",), "A screen down", called="page-down"),
    Action("palette", "page(-1)", ("pageup",), "A screen up", called="page-up"),
    Action("jump", "leave", ("escape", "ctrl+o"), "Cancel", "leave"),
)


ACTIONS: tuple[Action, ...] = (
    *_COLUMNS,
    *_MEASUREMENTS,
    *_HISTORY,
    *_RAW,
    *_OVERVIEW,
    *_LINEAGE,
    *_LABELS,
    *_ENTITY,
    *_FIND,
    *_LISTS,
    *_BROWSE,
    *_CONNECTION,
    *_EVERYWHERE,
    *_EDITING,
)


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
