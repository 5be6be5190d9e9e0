"""What can be done with versions."""

from explorer.tui.actions.action import Action

__all__ = ["ACTIONS"]

ACTIONS: tuple[Action, ...] = (
    Action("history", "fold", ("space",), "Fold or unfold an aspect"),
    Action("history", "into", ("right", "l"), "Unfold, or to the text beside"),
    Action("history", "out", ("left", "h"), "Fold, or back"),
    Action("history", "back", ("escape",), "Back to the list before", "back"),
    Action("history", "blame", ("b",), "Who described each column, and back", "who described what"),
    Action("history", "mark", ("v",), "Mark a version, to compare any other with it", "compare"),
    Action("history", "restore", ("R",), "Put an old description back", "put back", writes=True),
    Action("difference", "leave", ("escape", "left", "h"), "Back to the list", "back"),
    Action("restore", "confirm", ("y", "enter"), "Put the old description back", "put back"),
    Action("restore", "cancel", ("escape", "n", "q"), "Leave everything as it is", "leave"),
)
