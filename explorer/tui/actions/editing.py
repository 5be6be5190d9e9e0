"""What can be done while writing."""

from explorer.tui.actions.action import Action

__all__ = ["ACTIONS"]

ACTIONS: tuple[Action, ...] = (
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
    Action("editor", "leave", ("escape",), "Leave; what was typed is kept", "leave, keep draft"),
    Action("editor", "take(1)", ("f5",), "Take the ingested text", called="take-1"),
    *(
        Action("editor", f"take({number})", (f"f{number + 4}",), f"Take text {number} from below")
        for number in range(2, 6)
    ),
    Action("alldone", "next_table", ("enter",), "On to the next table", "next table"),
    Action("app", "drafts", ("f4",), "Drafts: what was typed and not saved"),
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
