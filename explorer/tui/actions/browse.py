"""What can be done in the folders."""

from explorer.tui.actions.action import Action

__all__ = ["ACTIONS"]

ACTIONS: tuple[Action, ...] = (
    Action("tree", "filter", ("f",), "Filter this folder by name", "filter"),
    Action("tree", "unfilter", ("escape",), "Clear the filter", "show all"),
    Action("tree", "into", ("right", "l"), "Expand, or go into what is expanded", "expand", "→"),
    Action("tree", "turn", ("space",), "Expand or collapse"),
    Action("tree", "out", ("left", "h"), "Collapse, or go to the folder above"),
    Action("tree", "reload", ("r",), "Refresh this folder", "refresh"),
    Action("tree", "narrower", ("less_than_sign",), "Narrower folders", "width", "<>"),
    Action("tree", "wider", ("greater_than_sign",), "Wider folders"),
    Action("tree", "tab('overview')", ("1",), "Tabs of the open entity", "", "1–8"),
    *(
        Action("tree", f"tab('{name}')", (str(number),), "")
        for number, name in enumerate(
            ("columns", "lineage", "relations", "usage", "profile", "history", "raw"), 2
        )
    ),
    Action("folderfilter", "to_rows", ("enter", "down"), "To what was found", "to what was found"),
    Action("folderfilter", "leave", ("escape",), "Clear the filter", "show all"),
    Action("app", "reveal", ("full_stop",), "Show what is open in the folders, at each place"),
)
