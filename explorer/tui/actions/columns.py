"""What can be done with the columns of a dataset."""

from explorer.tui.actions.action import Action

__all__ = ["ACTIONS"]

ACTIONS: tuple[Action, ...] = (
    Action(
        "schema", "edit_column", ("e", "enter"), "Edit this column's description", "edit column"
    ),
    Action(
        "schema",
        "next_undocumented",
        ("u",),
        "Go to the next column without a description",
        "next undocumented",
    ),
    Action("schema", "fold", ("space", "left", "right"), "Fold or unfold a record", "fold"),
)
