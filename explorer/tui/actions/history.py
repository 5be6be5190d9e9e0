"""What can be done with versions."""

from explorer.tui.actions.action import Action

__all__ = ["ACTIONS"]

ACTIONS: tuple[Action, ...] = (
    Action("history", "fold", ("space",), "Expand or collapse an aspect"),
    Action("history", "into", ("right", "l"), "Expand, or go to the text beside"),
    Action("history", "out", ("left", "h"), "Collapse, or back"),
    Action("history", "back", ("escape",), "Back to the list before", "back"),
    Action("history", "blame", ("b",), "Who described each column, and back", "who described what"),
    Action("history", "mark", ("v",), "Mark a version, to compare any other with it", "compare"),
    Action("history", "restore", ("R",), "Put an old description back", "restore", writes=True),
    Action("difference", "leave", ("escape", "left", "h"), "Back to the list", "back"),
    Action("restore", "confirm", ("ctrl+s",), "Put the old description back", "restore"),
    Action("restore", "cancel", ("escape",), "Cancel", "leave"),
)
