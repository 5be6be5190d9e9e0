"""What can be done with usage and profiles."""

from explorer.tui.actions.action import Action

__all__ = ["ACTIONS"]

ACTIONS: tuple[Action, ...] = (
    Action("series", "earlier", ("left", "h"), "To the measurement before", "read out", "←→"),
    Action("series", "later", ("right", "l"), "To the measurement after"),
    Action("profile", "close_column", ("escape",), "Back to all columns", "all columns"),
    Action("profile", "measure", ("m",), "The next measure of the column", "measure"),
    Action("series", "shorter", ("less_than_sign", "comma"), "Fewer days", "days", "<>"),
    Action("series", "longer", ("greater_than_sign", "full_stop"), "More days"),
    Action("series", "table", ("t",), "The numbers as a table, or as a chart", "table"),
)
