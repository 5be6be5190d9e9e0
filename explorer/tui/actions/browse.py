"""What can be done in the folders."""

from explorer.tui.actions.action import Action

__all__ = ["ACTIONS"]

ACTIONS: tuple[Action, ...] = (
    Action("tree", "filter", ("f",), "Narrow this folder to a part of a name", "filter"),
    Action("tree", "unfilter", ("escape",), "Show everything again", "show all"),
    Action("tree", "into", ("right", "l"), "Unfold; into what is unfolded", "unfold", "→"),
    Action("tree", "turn", ("space",), "Unfold or fold"),
    Action("tree", "out", ("left", "h"), "Fold, or up to the folder above"),
    Action("tree", "reload", ("r",), "Read this folder again from the server", "again"),
    Action("tree", "narrower", ("less_than_sign",), "Narrower folders", "width", "<>"),
    Action("tree", "wider", ("greater_than_sign",), "Wider folders"),
    Action("folderfilter", "to_rows", ("enter", "down"), "To what was found", "to what was found"),
    Action("folderfilter", "leave", ("escape",), "Show everything again", "show all"),
    Action("app", "reveal", ("full_stop",), "Show what is open in the folders, at each place"),
)
