"""Every action of the terminal with its keys. Bindings, the key line, the help and the palette are
made from this list.

Actions are shown in the order of this list. An action with a short label is also shown on the key
line, where there is room.
"""

import re
from dataclasses import dataclass
from typing import Final

from textual.binding import Binding, BindingType

Scope = str
"""The name of the widget or screen that a group of keys belongs to, one of `SCOPES`."""


@dataclass(frozen=True, slots=True)
class Action:
    """An action with its keys: `name` is the method `action_<name>` of the widget or screen with
    that scope.

    With a `label` it is shown on the key line, with the keys in `shown` instead of the first key
    where that is set. An action without `help` is not listed; a neighbouring action describes it.
    `id_part` replaces the part of the ID that is made from the name. An action that `writes` is
    shown as disabled while the server is open read-only.
    """

    scope: Scope
    name: str
    keys: tuple[str, ...]
    help: str
    label: str = ""
    shown: str = ""
    id_part: str = ""
    writes: bool = False

    @property
    def id(self) -> str:
        """Return the ID of the action in a keymap: `entity.copy-urn`, `lineage.more`."""
        return f"{self.scope}.{self.id_part or _word_of(self.name)}"

    @property
    def key(self) -> str:
        """Return the first key as it is displayed."""
        return self.shown or readable(self.keys[0])


SCOPES: dict[Scope, str] = {
    "app": "Everywhere",
    "find": "Search box",
    "results": "Results",
    "facets": "Facets",
    "searches": "List of searches",
    "askscreen": "Text prompt",
    "syntax": "Search syntax",
    "entity": "Entity",
    "overview": "Overview",
    "relations": "Relationships",
    "narrowing": "Filter line",
    "schema": "Columns",
    "lineage": "Lineage",
    "impact": "Impact",
    "asking": "Input line",
    "profile": "Profile",
    "series": "Charts",
    "history": "History",
    "difference": "Difference",
    "restore": "Restoring a description",
    "raw": "Raw",
    "tree": "Folders",
    "list": "In any list",
    "labels": "Labels",
    "bulklabels": "Labels of marked items",
    "labelline": "Label input",
    "labelrows": "List of labels",
    "deprecation": "Deprecation",
    "bulkdeprecation": "Deprecation of marked items",
    "bulklinkrows": "List of links",
    "bulklinks": "Links of marked items",
    "aside": "Hiding and restoring",
    "question": "Confirmation",
    "discard": "Unsaved changes",
    "servers": "Servers",
    "sources": "Sources",
    "addsource": "Add a source",
    "log": "Log",
    "export": "Write to a file",
    "editor": "Editor",
    "text": "Text",
    "alldone": "After the last column",
    "worklistrows": "Entries of the worklist",
    "worklist": "Worklist",
    "coveragerows": "Groups of the coverage",
    "coverage": "Coverage",
    "reviewrows": "Changes to review",
    "review": "Review",
    "reviewtext": "Text of a change",
    "changesets": "Changesets",
    "dbtrows": "Changes of a dbt project",
    "dbt": "dbt project",
    "journalrows": "Saves in the journal",
    "journal": "Journal",
    "propagatedrows": "Entries of propagated texts",
    "propagated": "Propagated texts",
    "feedrows": "Changes in the list",
    "feed": "Changes since the last visit",
    "conceptrows": "Columns with the same name",
    "variantrows": "Texts of these columns",
    "concept": "Concept",
    "comparing": "Comparison",
    "conflict": "Conflict",
    "drafts": "Drafts",
    "links": "Links",
    "linkform": "Link form",
    "palette": "Lists with a filter",
    "jump": "Jump",
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

# `ask('more')` passes the action `more` on to a parent; the ID has only `more`.
_PASSED_ON: Final = "ask"
_LETTERS: Final = re.compile(r"[A-Za-z0-9]+")


def readable(key: str) -> str:
    """Return a key as it is displayed: `ctrl+s` as `^s`, `enter` as `⏎`."""
    return _NAMES.get(key, key.replace("ctrl+", "^"))


def _word_of(name: str) -> str:
    """Return an action's name as a word of a keymap: `copy_urn` is `copy-urn`, `ask('more')` is
    `more`."""
    words = _LETTERS.findall(name)
    if len(words) > 1 and words[0] == _PASSED_ON:
        words = words[1:]
    return "-".join(words)


_BROWSE: tuple[Action, ...] = (
    Action("tree", "filter", ("f",), "Filter this folder by name", "filter"),
    Action("tree", "unfilter", ("escape",), "Clear the filter", "show all"),
    Action("tree", "into", ("right", "l"), "Expand, or enter the expanded folder", "expand", "→"),
    Action("tree", "turn", ("space",), "Expand or collapse"),
    Action("tree", "out", ("left", "h"), "Collapse, or go to the parent folder"),
    Action("tree", "reload", ("r",), "Refresh this folder", "refresh"),
    Action("tree", "narrower", ("less_than_sign",), "Make the folders narrower", "width", "<>"),
    Action("tree", "wider", ("greater_than_sign",), "Make the folders wider"),
    Action("tree", "tab('overview')", ("1",), "Go to a tab of the open entity", "", "1–8"),
    *(
        Action("tree", f"tab('{name}')", (str(number),), "")
        for number, name in enumerate(
            ("columns", "lineage", "relations", "usage", "profile", "history", "raw"), 2
        )
    ),
    Action(
        "app",
        "reveal",
        ("full_stop",),
        "Show the open entity in the folders; again: its next place",
    ),
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
        "ask('carry_over')",
        ("M",),
        "Move what was written for an earlier type or case here (↷)",
        "move here",
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
    Action("schema", "ask('order')", ("s",), "Sort by use, or in schema order", "by use"),
    Action("schema", "ask('fold_all')", ("z",), "Expand or collapse every record"),
)


_CONNECTION: tuple[Action, ...] = (
    Action("app", "try_again", ("r",), "Retry what failed", "try again"),
    Action("app", "open_last", ("minus",), "Switch to the page opened before, and back"),
    Action("app", "servers", ("f3", "S"), "Switch server"),
    Action("app", "sources", ("A",), "Sources: add your own database, files or dbt project"),
    Action("app", "export", ("X",), "Write what is shown to a file: CSV, JSON, Markdown"),
    Action("app", "picture", ("f9",), "Save a screenshot to a file"),
    Action("app", "exchanges", ("ctrl+l",), "Log of requests to the server"),
    Action("servers", "token", ("t",), "Enter an access token for this server", "enter a token"),
    Action("servers", "offline", ("o",), "Open the offline copy; send no requests", "offline copy"),
    Action("servers", "read_only", ("R",), "Open it read-only", "read-only"),
    Action("servers", "address", ("a", "slash"), "Enter an address", "enter an address"),
    Action("servers", "sources", ("n",), "Add your own data to this catalog", "add a source"),
    Action("servers", "reload", ("r",), "Refresh"),
    Action("servers", "close", ("escape", "q", "f3"), "Close", "close"),
    Action("sources", "address", ("a", "slash"), "Enter an address", "enter an address"),
    Action(
        "sources",
        "remove",
        ("x",),
        "Remove the source and hide its datasets",
        "remove",
        writes=True,
    ),
    Action("sources", "reload", ("r",), "Refresh"),
    Action("sources", "close", ("escape", "q", "A"), "Close", "close"),
    Action(
        "addsource", "read", ("ctrl+r",), "Read the source and preview the changes", "preview", "⏎"
    ),
    Action(
        "addsource",
        "add",
        ("ctrl+s",),
        "Add its metadata to the catalog",
        "add to the catalog",
        "⏎",
        writes=True,
    ),
    Action(
        "addsource",
        "join_files",
        ("ctrl+t",),
        "Make one table of files that look like the parts of one",
        "files of one table",
    ),
    Action("addsource", "leave", ("escape",), "Stop reading or writing, or close", "stop, close"),
    Action("log", "copy_line", ("y",), "Copy the line", "copy"),
    Action("log", "close", ("escape", "q", "ctrl+l"), "Close", "close"),
    Action("export", "shown", ("ctrl+t",), "Write all rows, or only those shown", "all or shown"),
    Action("export", "close", ("escape",), "Cancel, or stop writing", "close"),
)


_EDITING: tuple[Action, ...] = (
    Action("editor", "save", ("ctrl+s",), "Save and close", "save"),
    Action(
        "editor",
        "save_and_next",
        ("ctrl+n",),
        "Save, and go to the next column without a description",
        "save, next undocumented",
    ),
    Action("editor", "look", ("ctrl+t",), "Switch between the text and its preview", "preview"),
    Action("editor", "compare", ("ctrl+d",), "Compare the saved text with yours", "diff"),
    Action("editor", "edit_outside", ("ctrl+e",), "Edit it in $VISUAL or $EDITOR", "$EDITOR"),
    Action(
        "editor",
        "move(-1)",
        ("f2",),
        "Go to the previous column; your text is kept as a draft",
        "previous, next column",
        "f2 f3",
        "column-before",
    ),
    Action("editor", "move(1)", ("f3",), "Go to the next column", id_part="column-after"),
    Action(
        "editor",
        "to_failed",
        ("ctrl+g",),
        "Go to the next text of this table that could not be saved",
        "go to unsaved",
    ),
    Action("editor", "discard", ("ctrl+r",), "Revert to the saved text", "revert"),
    Action("editor", "draft", ("f10",), "Ask the drafting command for a text", "draft"),
    Action(
        "editor", "leave", ("escape",), "Close; your text is kept as a draft", "close, keep draft"
    ),
    Action("editor", "take(1)", ("f5",), "Use the ingested text", id_part="take-1"),
    *(
        Action(
            "editor", f"take({number})", (f"f{number + 4}",), f"Use text {number} of the list below"
        )
        for number in range(2, 6)
    ),
    Action("alldone", "next_table", ("enter",), "Go to the next table", "next table"),
    Action("app", "drafts", ("f4",), "Drafts: texts that are not saved yet"),
    Action("app", "worklist", ("W",), "Worklist: what to document next"),
    Action("app", "coverage", ("C",), "Coverage: how much is documented, and what is missing"),
    Action("app", "changesets", ("V",), "Changesets: review and write changes; dbt projects"),
    Action("app", "journal", ("f8",), "Journal: saves made on this machine, to look up and undo"),
    Action("worklist", "filter", ("f", "slash"), "Filter by words and conditions", "filter"),
    Action("worklist", "mine", ("m",), "Show only what you own, or everything", "mine"),
    Action(
        "worklist", "propose", ("p",), "Propose descriptions from lineage, for review", "propose"
    ),
    Action("worklist", "open", ("o",), "Open the page of the table", "open table"),
    Action("worklist", "reload", ("r",), "Refresh"),
    Action("worklist", "leave", ("escape",), "Clear the filter, then close", "close"),
    Action("worklist", "close", ("q", "W"), "Close"),
    Action(
        "coverage",
        "turn(1)",
        ("right", "l", "tab"),
        "Group by the next of domain, folder, owner, platform, tag",
        "group by",
        "←→",
        "next",
    ),
    Action(
        "coverage",
        "turn(-1)",
        ("left", "h", "shift+tab"),
        "Group by the previous one",
        id_part="before",
    ),
    Action("coverage", "trend", ("t",), "Show the trend: of columns, then of tables", "trend"),
    Action("coverage", "filter", ("f", "slash"), "Filter by words and conditions", "filter"),
    Action("coverage", "reload", ("r",), "Refresh"),
    Action("coverage", "leave", ("escape",), "Clear the filter, then close", "close"),
    Action("coverage", "close", ("q", "C"), "Close"),
    Action("review", "accept", ("a",), "Accept, and go to the next", "accept"),
    Action("review", "refuse", ("x",), "Refuse, and go to the next", "refuse"),
    Action("review", "reopen", ("u",), "Undo the decision", "undecide"),
    Action("review", "accept_all", ("A",), "Accept all undecided changes", "accept all"),
    Action("review", "apply", ("ctrl+s",), "Write the accepted changes", "write", writes=True),
    Action(
        *(
            "review",
            "import_here",
            ("I",),
            "Import a changeset of another catalog to this one",
        ),
        "import",
        writes=True,
    ),
    Action("review", "open", ("o",), "Open the page of the table", "open table"),
    Action("review", "sync", ("r",), "Fetch colleagues' decisions on a shared changeset"),
    Action("review", "text", ("tab",), "Go to the difference; esc goes back"),
    Action("review", "leave", ("escape", "q", "V"), "Close; decisions are kept", "close"),
    Action("reviewtext", "accept", ("ctrl+s",), "Accept the edited text", "accept"),
    Action(
        "reviewtext", "leave", ("escape",), "Go back; the edited text is kept", "back, undecided"
    ),
    Action("changesets", "open", ("enter",), "Review the changeset", "review"),
    Action(
        "changesets",
        "next_agent",
        ("a",),
        "List only what one agent proposed, then another, then all",
        "agents",
    ),
    Action(
        "changesets",
        "take_in",
        ("i",),
        "Review a file: a changeset or descriptions",
        "review a file",
    ),
    Action(
        "changesets",
        "dbt_project",
        ("d",),
        "Open a dbt project: write its files, or import from them",
        "dbt project",
    ),
    Action(
        *("changesets", "share", ("s",), "Share it on the server, for others to review"),
        "share",
        writes=True,
    ),
    Action(
        *("changesets", "withdraw", ("x",), "Withdraw it from the server, after confirmation"),
        "withdraw",
        writes=True,
    ),
    Action(
        *("changesets", "discard", ("delete",), "Discard it on this machine, after confirmation"),
        *("discard", "del"),
    ),
    Action("changesets", "reload", ("r",), "Refresh"),
    Action("changesets", "leave", ("escape", "q", "V"), "Close", "close"),
    Action("dbt", "write", ("ctrl+s",), "Write the files, after confirmation", "write files"),
    Action(
        "dbt",
        "take_in",
        ("i",),
        "Import the project's texts into the catalog, after review",
        "import",
    ),
    Action("dbt", "tags", ("t",), "Include tags, or leave them out", "tags"),
    Action("dbt", "owners", ("O",), "Include owners, or leave them out", "owners"),
    Action("dbt", "conflicts", ("c",), "Replace conflicting texts, or leave them", "conflicts"),
    Action("dbt", "filter", ("f", "slash"), "Filter by words", "filter"),
    Action("dbt", "open", ("o",), "Open the page of the table"),
    Action("dbt", "text", ("tab",), "Go to the difference; esc goes back"),
    Action("dbt", "folder", ("d",), "Open another project", "project"),
    Action("dbt", "reload", ("r",), "Refresh the project and the catalog"),
    Action("dbt", "leave", ("escape",), "Clear the filter, then close", "close"),
    Action("dbt", "close", ("q",), "Close"),
    Action("journal", "filter", ("f", "slash"), "Filter by words", "filter"),
    Action("journal", "undo", ("u",), "Undo this save, after confirmation", "undo", writes=True),
    Action("journal", "open", ("o",), "Open the page of the changed entity", "open page"),
    Action("journal", "text", ("tab",), "Go to the difference; esc goes back"),
    Action("journal", "reload", ("r",), "Refresh"),
    Action("journal", "leave", ("escape",), "Clear the filter, then close", "close"),
    Action("journal", "close", ("q", "f8"), "Close"),
    Action("app", "propagated", ("P",), "Propagated texts: refresh, pin, take back"),
    Action("propagated", "filter", ("f", "slash"), "Filter by words", "filter"),
    Action(
        "propagated",
        "refresh",
        ("R",),
        "Update all listed outdated texts from their sources",
        "refresh outdated",
        writes=True,
    ),
    Action(
        "propagated",
        "pin",
        ("p",),
        "Pin the text so that it is never refreshed, or unpin it",
        "pin",
        writes=True,
    ),
    Action(
        "propagated",
        "remove",
        ("x",),
        "Take the text back",
        "take back",
        id_part="take-back",
        writes=True,
    ),
    Action(
        "propagated",
        "remove_all",
        ("A",),
        "Take back all listed texts",
        id_part="take-back-all",
        writes=True,
    ),
    Action("propagated", "open", ("o",), "Open the page of the table", "open page"),
    Action("propagated", "text", ("tab",), "Go to the difference; esc goes back"),
    Action("propagated", "reload", ("r",), "Refresh"),
    Action("propagated", "leave", ("escape",), "Clear the filter, then close", "close"),
    Action("propagated", "close", ("q", "P"), "Close"),
    Action("app", "feed", ("f5",), "Changes by others and by ingestion since your last visit"),
    Action("feed", "open", ("o",), "Open the page, at the column"),
    Action(
        "feed",
        "care",
        ("c",),
        "Show only changes that may make descriptions wrong, or all",
        "check",
    ),
    Action("feed", "filter", ("f", "slash"), "Filter by words", "filter"),
    Action("feed", "mark", ("m",), "Mark as read; closing the list does the same", "mark read"),
    Action(
        "feed",
        "earlier",
        ("b",),
        "Show changes since an earlier visit, or since the last",
        "earlier visit",
    ),
    Action("feed", "text", ("tab",), "Go to the difference; esc goes back"),
    Action("feed", "reload", ("r",), "Refresh"),
    Action(
        "feed", "leave", ("escape",), "Clear the filter, then close and mark all as read", "close"
    ),
    Action("feed", "close", ("q", "f5"), "Close, and mark all as read"),
    Action(
        "app",
        "govern",
        ("f12", "ctrl+n"),
        "Tags, glossary, domains, data products: create, rename, move",
        writes=True,
    ),
    Action("app", "concept", ("f7",), "Concept: columns with the same name, and their texts"),
    Action("worklist", "concept", ("c",), "Columns with this name, and their texts", "same name"),
    Action("conceptrows", "mark", ("space", "v"), "Mark a column, and go to the next", "mark"),
    Action("conceptrows", "choose", ("enter",), "Review the text for the marked columns"),
    Action("variantrows", "choose", ("enter", "space"), "Use this text", "use"),
    Action("concept", "stage", ("ctrl+s",), "Review the text for the marked columns", "review"),
    Action("concept", "variant(1)", ("1",), "Use the text with that number", "text", "1–9"),
    *(Action("concept", f"variant({n})", (str(n),), "") for n in range(2, 10)),
    Action("concept", "write", ("e",), "Write a text, starting from the chosen one", "write text"),
    Action(
        "concept",
        "mark_undocumented",
        ("u",),
        "Mark the columns without a text, or unmark them",
        "mark undocumented",
    ),
    Action("concept", "mark_all", ("A",), "Mark all columns, or unmark them", "mark all"),
    Action("concept", "turn", ("tab",), "Switch between the texts and the columns"),
    Action("concept", "label('tags')", ("t",), "Tags of the marked columns, reviewed first"),
    Action("concept", "label('terms')", ("T",), "Glossary terms, the same way"),
    Action("concept", "open", ("o",), "Open the page of the table", "open table"),
    Action("concept", "reload", ("r",), "Refresh"),
    Action("concept", "leave", ("escape",), "Unmark all, then close", "close"),
    Action("concept", "close", ("q",), "Close"),
    Action("entity", "links", ("L",), "Links to documents: add, change, remove"),
    Action("text", "indent", ("tab",), "Indent"),
    Action("text", "to_start", ("ctrl+home",), "Go to the start of the text"),
    Action("text", "to_end", ("ctrl+end",), "Go to the end of the text"),
    Action("text", "undo", ("ctrl+z",), "Undo the last typing; outside a text, the last save"),
    Action("text", "redo", ("ctrl+y", "ctrl+shift+z"), "Redo"),
    Action("comparing", "save", ("ctrl+s",), "Save your text", "save"),
    Action("comparing", "back", ("escape", "ctrl+d"), "Go back to the text", "back to the text"),
    Action("conflict", "take_mine", ("ctrl+o",), "Replace theirs with yours", "overwrite theirs"),
    Action(
        "conflict", "take_theirs", ("ctrl+r",), "Keep theirs, and continue from it", "keep theirs"
    ),
    Action(
        "conflict",
        "back",
        ("escape",),
        "Go back to your text; nothing is saved",
        "back, save nothing",
    ),
    Action("drafts", "open", ("enter",), "Continue writing", "continue writing"),
    Action("drafts", "remove", ("delete",), "Discard the draft", "discard", "del"),
    Action("drafts", "restore", ("ctrl+z",), "Restore the last discarded draft", "restore"),
    Action("drafts", "reload", ("r",), "Refresh"),
    Action("drafts", "leave", ("escape", "q"), "Close", "close"),
    Action("links", "follow", ("enter",), "Open the link's address", "open"),
    Action("links", "add", ("a",), "Add a link", "add"),
    Action("links", "change", ("e",), "Change the address or the name of a link", "change"),
    Action("links", "remove", ("delete",), "Remove a link", "remove", "del"),
    Action("links", "restore", ("ctrl+z",), "Restore the last removed link", "restore"),
    Action("links", "reload", ("r",), "Refresh"),
    Action("links", "leave", ("escape", "q"), "Close", "close"),
    Action("linkform", "submit", ("enter", "ctrl+s"), "Next field; after the last, save", "save"),
    Action("linkform", "leave", ("escape",), "Cancel", "cancel"),
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
        "Columns with this name or this term, and their texts",
        "same name",
    ),
    Action("entity", "copy_urn", ("y",), "Copy the URN", "copy URN"),
    Action("entity", "open_page", ("o",), "Open its page in the browser", "web page"),
    Action("entity", "zone", ("Z",), "Show times in UTC, or in local time"),
    Action("entity", "reload", ("r",), "Refresh"),
)


_FIND: tuple[Action, ...] = (
    Action("find", "enter", ("enter",), "Search, or open the chosen completion", "search"),
    Action("find", "take", ("tab",), "Accept the chosen completion, or the first", "complete"),
    Action("find", "choose(1)", ("down",), "Next completion, or go to the results", id_part="next"),
    Action("find", "choose(-1)", ("up",), "Previous completion; recent searches", id_part="before"),
    Action("find", "leave", ("escape",), "Close the completions, or the search box", "close"),
    Action("find", "syntax", ("f1",), "Search syntax (also ? in an empty box)", "syntax"),
    Action("find", "save", ("ctrl+s",), "Save this search under a name"),
    Action("find", "searches", ("ctrl+r",), "Saved and recent searches"),
    Action("results", "do('facets')", ("f",), "Go to the facets, and back", "facets"),
    Action("results", "do('condition')", ("c",), "Add a condition, step by step", "condition"),
    Action("results", "do('plain')", ("x",), "Clear all conditions", id_part="clear"),
    Action("results", "facet(1)", ("1",), "Filter by the facet value with that number", "", "1–9"),
    *(Action("results", f"facet({n})", (str(n),), "") for n in range(2, 10)),
    Action("results", "next_page", ("n",), "Next page", "page", "n p"),
    Action("results", "previous_page", ("p",), "Previous page"),
    Action(
        "results", "do('jump')", ("J",), "Go to a result or a page by its number", id_part="jump"
    ),
    Action("results", "do('order')", ("o",), "Choose the sort order", "sort", id_part="order"),
    Action(
        "results",
        "do('columns')",
        ("i",),
        "List the columns that have the words, or entities again",
        "columns",
    ),
    Action("results", "do('why')", ("w",), "Why this result matches, and why it ranks here", "why"),
    Action(
        "results", "mark", ("space", "v"), "Mark or unmark a result, and go to the next", "mark"
    ),
    Action("results", "unmark", ("escape",), "Unmark all results", "unmark"),
    Action(
        "results",
        "label('tags')",
        ("t",),
        "Tags of the marked results, reviewed first, or of this result",
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
    Action("results", "do('save')", ("s",), "Save this search under a name", "save"),
    Action("results", "do('searches')", ("S",), "Saved and recent searches", id_part="searches"),
    Action("results", "do('again')", ("r",), "Search again", id_part="again"),
    Action("facets", "choose", ("enter", "space"), "Add or remove the value", "add, remove"),
    Action("facets", "facet(1)", ("1",), "Add or remove the value with that number", "", "1–9"),
    *(Action("facets", f"facet({n})", (str(n),), "") for n in range(2, 10)),
    Action("facets", "do('condition')", ("c",), "Add a condition, step by step", "condition"),
    Action("facets", "do('plain')", ("x",), "Clear all conditions", id_part="clear"),
    Action("facets", "leave", ("escape", "f", "right", "l"), "Back to the results", "results"),
    Action("searches", "rename", ("f2",), "Rename a saved search", "rename"),
    Action("searches", "forget", ("f8",), "Remove a search from the list", "remove"),
    Action("askscreen", "leave", ("escape",), "Cancel", "cancel"),
    Action("syntax", "close", ("escape", "q", "f1", "question_mark"), "Close", "close"),
)


_HISTORY: tuple[Action, ...] = (
    Action("history", "ask('fold')", ("space",), "Expand or collapse an aspect"),
    Action("history", "ask('into')", ("right", "l"), "Expand, or go to the difference"),
    Action("history", "ask('out')", ("left", "h"), "Collapse, or go back"),
    Action("history", "ask('back')", ("escape",), "Go back to the previous list", "back"),
    Action(
        "history",
        "ask('blame')",
        ("b",),
        "Show who described each column, or the versions",
        "who described what",
    ),
    Action("history", "ask('mark')", ("v",), "Mark a version to compare others with it", "compare"),
    Action(
        "history", "ask('restore')", ("R",), "Restore an old description", "restore", writes=True
    ),
    Action("difference", "leave", ("escape", "left", "h"), "Go back to the list", "back"),
    Action("restore", "confirm", ("ctrl+s",), "Restore the old description", "restore"),
    Action("restore", "cancel", ("escape",), "Cancel", "cancel"),
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
        "Undo the last save of any page, after confirmation",
        writes=True,
    ),
    Action(
        "app",
        "do_again",
        ("ctrl+y", "ctrl+shift+z"),
        "Redo the save that was undone last",
        writes=True,
    ),
    Action(
        "bulklabels", "write", ("ctrl+s",), "Review the changes; nothing is written yet", "review"
    ),
    Action("labels", "write", ("ctrl+s",), "Save the changes", "save"),
    Action(
        "labelline",
        "turn",
        ("enter",),
        "Add or remove; space does the same while the line is empty",
        "add, remove",
    ),
    Action("labelline", "down", ("down",), "Down"),
    Action("labelline", "up", ("up",), "Up"),
    Action("labelline", "page_down", ("pagedown",), "Page down"),
    Action("labelline", "page_up", ("pageup",), "Page up"),
    Action("labelline", "to_rows", ("tab",), "Go to the list", "list"),
    Action("labelrows", "turn", ("space", "enter"), "Add or remove", "add, remove", "⎵"),
    Action("labelrows", "to_line", ("tab", "slash", "i"), "Go back to the input line", "type"),
    Action("labels", "kind", ("ctrl+t",), "Choose another ownership type", "ownership type"),
    Action("labels", "leave", ("escape",), "Cancel", "cancel"),
    Action(
        "bulkdeprecation",
        "write",
        ("ctrl+s",),
        "Review the changes; nothing is written yet",
        "review",
    ),
    Action(
        "bulkdeprecation", "lift", ("ctrl+r",), "Remove the deprecation from all", "undeprecate"
    ),
    Action("deprecation", "write", ("ctrl+s",), "Save the deprecation", "save"),
    Action("deprecation", "lift", ("ctrl+r",), "Remove the deprecation", "undeprecate"),
    Action("deprecation", "complete", ("ctrl+t",), "Complete the replacement", "complete"),
    Action("deprecation", "leave", ("escape",), "Cancel", "cancel"),
    Action(
        "bulklinks", "write", ("ctrl+s",), "Review the changes; nothing is written yet", "review"
    ),
    Action("bulklinks", "add", ("a",), "Add a link to all", "add"),
    Action(
        "bulklinkrows",
        "choose",
        ("enter", "space", "delete"),
        "Add the link to all, or remove it from all",
        "add, remove",
        "⎵",
    ),
    Action("bulklinks", "leave", ("escape",), "Cancel", "cancel"),
    Action("aside", "confirm", ("ctrl+s",), "Confirm", "confirm"),
    Action("aside", "leave", ("escape",), "Cancel", "cancel"),
    Action("question", "confirm", ("ctrl+s",), "Yes, confirm", "confirm"),
    Action("question", "cancel", ("escape",), "No, cancel", "cancel"),
    Action("discard", "confirm", ("delete",), "Discard the changes", "discard", "del"),
    Action("discard", "cancel", ("escape",), "Go back to the text", "keep editing"),
)


_LINEAGE: tuple[Action, ...] = (
    Action(
        "lineage", "ask('open')", ("enter",), "Open its page, or show hidden neighbours", "open"
    ),
    Action("lineage", "ask('more')", ("plus", "equals_sign"), "One hop more", "hops", "+ -"),
    Action("lineage", "ask('fewer')", ("minus",), "One hop less"),
    Action("lineage", "ask('upstream')", ("u",), "Upstream only", "up, down, both", "u d B"),
    Action("lineage", "ask('downstream')", ("d",), "Downstream only"),
    Action("lineage", "ask('both')", ("B",), "Upstream and downstream"),
    Action(
        "lineage", "ask('impact')", ("x",), "Impact: what depends on it, most used first", "impact"
    ),
    Action("lineage", "ask('filter')", ("f",), "Filter the lineage", "filter"),
    Action(
        "lineage", "ask('expand')", ("space",), "Show or hide the neighbours left out", "expand"
    ),
    Action("lineage", "mark", ("m",), "Mark or unmark it as one end of a path", "mark"),
    Action(
        "lineage", "ask('ways')", ("p",), "Shortest paths to the marked or a named entity", "paths"
    ),
    Action(
        "lineage", "ask('column')", ("c",), "Lineage of the column chosen under Columns", "column"
    ),
    Action("lineage", "ask('write')", ("w",), "Write the lineage to a file", "write file"),
    Action("lineage", "centre", ("z",), "Centre the drawing on it", "centre"),
    Action("lineage", "fit", ("0",), "Fit a large drawing to the screen, or undo that", "fit"),
    Action("lineage", "root", ("home", "g"), "Go back to the entity of this page"),
    Action("lineage", "ask('forget')", ("escape",), "Clear the paths, the filter, the column"),
    Action("lineage", "move('left')", ("left", "h"), "Left"),
    Action("lineage", "move('right')", ("right", "l"), "Right"),
    Action("lineage", "move('up')", ("up", "k"), "Up"),
    Action("lineage", "move('down')", ("down", "j"), "Down"),
    Action("lineage", "pan(1, 0)", ("pagedown", "J"), "Half a screen down", id_part="pan-down"),
    Action("lineage", "pan(-1, 0)", ("pageup", "K"), "Half a screen up", id_part="pan-up"),
    Action("lineage", "pan(0, 1)", ("L",), "Half a screen to the right", id_part="pan-right"),
    Action("lineage", "pan(0, -1)", ("H",), "Half a screen to the left", id_part="pan-left"),
    Action("impact", "leave", ("escape", "x"), "Go back to the drawing", "drawing"),
    Action("asking", "submit", ("enter",), "Accept the input", "accept"),
    Action("asking", "leave", ("escape",), "Cancel", "cancel"),
)


_LISTS: tuple[Action, ...] = (
    Action(
        "worklistrows",
        "choose",
        ("enter", "e"),
        "Write the description, then go to the next",
        "write",
        writes=True,
    ),
    Action("reviewrows", "choose", ("enter", "e"), "Change the text, and accept it", "edit"),
    Action("feedrows", "choose", ("enter",), "Open the page, at the column", "open"),
    Action("propagatedrows", "choose", ("enter",), "Go to the difference", "difference"),
    Action("dbtrows", "choose", ("enter",), "Go to the difference", "difference"),
    Action("journalrows", "choose", ("enter",), "Go to the difference", "difference"),
    Action(
        "coveragerows",
        "choose",
        ("enter", "w"),
        "Show what is undocumented in the group",
        "undocumented",
    ),
    Action("list", "choose", ("enter",), "Open", "open"),
    Action("list", "down", ("down", "j"), "Down"),
    Action("list", "up", ("up", "k"), "Up"),
    Action("list", "page_down", ("pagedown",), "Page down"),
    Action("list", "page_up", ("pageup",), "Page up"),
    Action("list", "half_down", ("ctrl+d",), "Half a screen down"),
    Action("list", "half_up", ("ctrl+u",), "Half a screen up"),
    Action("list", "first", ("home", "g"), "Go to the first"),
    Action("list", "last", ("end", "G"), "Go to the last"),
)


_MEASUREMENTS: tuple[Action, ...] = (
    Action(
        "series", "earlier", ("left", "h"), "Go to the previous measurement", "read values", "←→"
    ),
    Action("series", "later", ("right", "l"), "Go to the next measurement"),
    Action("profile", "close_column", ("escape",), "Go back to all columns", "all columns"),
    Action("profile", "measure", ("m",), "Show the next measure of the column", "measure"),
    Action("series", "shorter", ("less_than_sign", "comma"), "Fewer days", "days", "<>"),
    Action("series", "longer", ("greater_than_sign", "full_stop"), "More days"),
    Action("series", "table", ("t",), "Show the numbers as a table, or as a chart", "table"),
)


_OVERVIEW: tuple[Action, ...] = (
    Action("overview", "next_mention", ("n", "tab"), "Go to the next reference", "next reference"),
    Action("overview", "previous_mention", ("p", "N", "shift+tab"), "Go to the previous reference"),
    Action(
        "overview", "whole", ("w",), "Show a long text completely, as Markdown source", "whole text"
    ),
    Action(
        "relations",
        "ask('fold')",
        ("space", "left", "right"),
        "Expand or collapse a group",
        "collapse",
    ),
    Action("relations", "ask('filter')", ("f",), "Filter by name, type or relationship", "filter"),
    Action("relations", "ask('unfilter')", ("escape",), "Clear the filter", "all"),
    Action("narrowing", "keep", ("enter", "down"), "Go to the filtered list", "to the list"),
    Action("narrowing", "leave", ("escape",), "Clear the filter", "all"),
)


_RAW: tuple[Action, ...] = (
    Action("raw", "ask('turn')", ("space",), "Expand or collapse", "collapse"),
    Action("raw", "ask('unfold')", ("right", "l"), "Expand, or go to the first value inside"),
    Action("raw", "ask('fold')", ("left", "h"), "Collapse, or go to the parent"),
    Action("raw", "ask('copy_aspect')", ("y",), "Copy the aspect's JSON", "copy aspect"),
    Action("raw", "ask('copy_value')", ("Y",), "Copy the value under the cursor", "copy value"),
    Action("raw", "ask('filter')", ("f",), "Filter the keys by a text", "filter keys"),
    Action("raw", "ask('unfilter')", ("escape",), "Clear the filter"),
)


_EVERYWHERE: tuple[Action, ...] = (
    Action("app", "find", ("slash",), "Search", "search"),
    Action("app", "browse", ("b",), "Show or hide the folders", "browse"),
    Action("app", "folders", ("f6",), "Go to the folders, and back to the page"),
    Action("app", "go_back", ("left_square_bracket", "backspace"), "Go back", "back"),
    Action("app", "go_forward", ("right_square_bracket",), "Go forward"),
    Action("app", "help", ("question_mark", "f1"), "Show the keys that work here"),
    Action("app", "quit", ("q",), "Quit", "quit"),
    Action("app", "leave_all", ("ctrl+q",), "Quit from anywhere; typed texts are kept as drafts"),
    Action(
        "app",
        "command_palette",
        ("colon", "ctrl+p"),
        "Command palette: actions, pages and searches by name",
        "commands",
    ),
    Action("app", "jump", ("ctrl+o",), "Jump: show a letter on every place to go to"),
    Action("app", "zoom", ("f10",), "Maximize the pane, or restore it"),
    Action(
        "app",
        "change_theme",
        ("f2",),
        "Choose a theme: light, dark, high contrast …",
        id_part="theme",
    ),
    Action("app", "settings", ("ctrl+k",), "Keys and settings"),
    Action("app", "welcome", ("ctrl+g",), "Show the introduction for new users"),
    Action("palette", "close", ("escape", "f1", "ctrl+p"), "Close", "close"),
    Action("palette", "choose", ("enter",), "Choose the entry", "choose"),
    Action("palette", "move(1)", ("down", "ctrl+n"), "Down", id_part="down"),
    Action("palette", "move(-1)", ("up",), "Up", id_part="up"),
    Action("palette", "page(1)", ("pagedown",), "Page down", id_part="page-down"),
    Action("palette", "page(-1)", ("pageup",), "Page up", id_part="page-up"),
    Action("jump", "leave", ("escape", "ctrl+o"), "Cancel", "cancel"),
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


_BY_SCOPE: dict[Scope, list[Action]] = {scope: [] for scope in SCOPES}
for _action in ACTIONS:
    _BY_SCOPE[_action.scope].append(_action)


def actions_of(scope: Scope) -> list[Action]:
    """Return the actions of a scope, in the order in which they are shown."""
    return _BY_SCOPE[scope]


def bindings(scope: Scope, *names: str) -> list[BindingType]:
    """Return the key bindings of a scope, for its widget or screen; with `names` only those of the
    named actions."""
    return [
        Binding(
            ",".join(action.keys),
            action.name,
            action.label or action.help,
            show=bool(action.label),
            key_display=action.key,
            id=action.id,
            # Letters are typed into the text of a search or a description; quitting works
            # everywhere.
            priority=action.name == "leave_all",
        )
        for action in actions_of(scope)
        if not names or action.name in names
    ]
