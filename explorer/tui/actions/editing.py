"""What can be done while writing."""

from explorer.tui.actions.action import Action

__all__ = ["ACTIONS"]

ACTIONS: tuple[Action, ...] = (
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
)
