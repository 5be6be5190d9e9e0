"""What can be done with raw aspects."""

from explorer.tui.actions.action import Action

__all__ = ["ACTIONS"]

ACTIONS: tuple[Action, ...] = (
    Action("raw", "turn", ("space",), "Expand or collapse", "collapse"),
    Action("raw", "unfold", ("right", "l"), "Expand, or go into what is expanded"),
    Action("raw", "fold", ("left", "h"), "Collapse, or go to what holds it"),
    Action("raw", "copy_aspect", ("y",), "Copy the aspect's JSON", "copy aspect"),
    Action("raw", "copy_value", ("Y",), "Copy the value under the cursor", "copy value"),
    Action("raw", "filter", ("f",), "Show only keys with a text in them", "filter keys"),
    Action("raw", "unfilter", ("escape",), "Clear the filter"),
    Action("keyfilter", "to_rows", ("enter", "down"), "To what was found", "to the rows"),
    Action("keyfilter", "leave", ("escape",), "Clear the filter", "show all"),
)
