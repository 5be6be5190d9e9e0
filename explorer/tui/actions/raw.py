"""What can be done with raw aspects."""

from explorer.tui.actions.action import Action

__all__ = ["ACTIONS"]

ACTIONS: tuple[Action, ...] = (
    Action("raw", "turn", ("space",), "Fold or unfold", "fold"),
    Action("raw", "unfold", ("right", "l"), "Unfold; into what is unfolded"),
    Action("raw", "fold", ("left", "h"), "Fold; up to what holds it"),
    Action("raw", "copy_aspect", ("y",), "Copy the aspect's JSON", "copy aspect"),
    Action("raw", "copy_value", ("Y",), "Copy the value under the cursor", "copy value"),
    Action("raw", "filter", ("f",), "Show only keys with a text in them", "filter keys"),
    Action("raw", "unfilter", ("escape",), "Show everything again"),
    Action("keyfilter", "to_rows", ("enter", "down"), "To what was found", "to the rows"),
    Action("keyfilter", "leave", ("escape",), "Show everything again", "show all"),
)
