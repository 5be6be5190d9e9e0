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
    Action("editor", "compare", ("ctrl+d",), "What was there against what is typed", "diff"),
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
    Action("editor", "look", ("ctrl+t",), "The text, or what it looks like", "preview"),
    Action("editor", "discard", ("ctrl+r",), "Back to the text that was saved", "revert"),
    Action("editor", "leave", ("escape",), "Leave; what was typed is kept", "leave, keep draft"),
    *(
        Action("editor", f"take({number})", (f"f{number + 4}",), f"Take text {number} from below")
        for number in range(1, 6)
    ),
    Action("app", "drafts", ("f4",), "Drafts: what was typed and not saved"),
    Action("entity", "links", ("L",), "Links to documents: add, change, take away"),
    Action("text", "indent", ("tab",), "Indent"),
    Action("text", "undo", ("ctrl+z",), "Undo"),
    Action("text", "redo", ("ctrl+y",), "Redo"),
    Action("comparing", "save", ("ctrl+s",), "Save what was typed", "save"),
    Action("comparing", "back", ("escape", "ctrl+d"), "Back to the text", "back to the text"),
    Action("conflict", "take_mine", ("f5",), "Save yours in the place of theirs", "save yours"),
    Action("conflict", "take_theirs", ("f6",), "Keep theirs, and go on from it", "keep theirs"),
    Action("conflict", "back", ("escape",), "Back to your text, nothing saved", "back, keep both"),
    Action("drafts", "open", ("enter",), "Go on writing", "go on writing"),
    Action("drafts", "remove", ("x", "delete"), "Throw the draft away", "throw away"),
    Action("drafts", "restore", ("z",), "Bring the one thrown away last back", "bring back"),
    Action("drafts", "leave", ("escape", "q"), "Close", "close"),
    Action("links", "follow", ("enter",), "Open the link's address", "open"),
    Action("links", "add", ("a",), "Add a link", "add"),
    Action("links", "change", ("e",), "Change the address or the name of a link", "change"),
    Action("links", "remove", ("x", "delete"), "Take a link away", "take away"),
    Action("links", "restore", ("z",), "Put the one taken away last back", "put back"),
    Action("links", "leave", ("escape", "q"), "Close", "close"),
    Action("linkform", "submit", ("enter", "ctrl+s"), "Next field, and then save", "save"),
    Action("linkform", "leave", ("escape",), "Leave, and change nothing", "leave"),
)
