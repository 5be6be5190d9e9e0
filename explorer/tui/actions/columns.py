"""What can be done with the columns of a dataset."""

from explorer.tui.actions.action import Action

__all__ = ["ACTIONS"]

ACTIONS: tuple[Action, ...] = (
    Action(
        "schema",
        "edit_column",
        ("e", "enter"),
        "Edit this column's description",
        "edit column",
        writes=True,
    ),
    Action(
        "schema",
        "next_undocumented",
        ("u",),
        "Go to the next column without a description",
        "next undocumented",
    ),
    Action("schema", "fold", ("space", "left", "right"), "Expand or collapse a record", "collapse"),
    Action("schema", "filter", ("f",), "Filter by name, type, tag, or is:undocumented", "filter"),
    Action("schema", "mark", ("v",), "Mark or unmark a column, and go to the next", "mark"),
    Action("schema", "unfilter", ("escape",), "Unmark all, then clear the filter", "all columns"),
    Action("schema", "order", ("s",), "Most used first, or as in the schema", "by use"),
    Action("schema", "fold_all", ("z",), "Expand or collapse every record"),
)
