"""What can be done in the folders."""

from explorer.tui.actions.action import Action

__all__ = ["ACTIONS"]

ACTIONS: tuple[Action, ...] = (
    Action("tree", "cursor_down", ("down", "j"), "Down"),
    Action("tree", "cursor_up", ("up", "k"), "Up"),
    Action("tree", "into", ("right", "l"), "Unfold"),
    Action("tree", "out", ("left", "h"), "Fold, or up to the folder above"),
    Action("tree", "scroll_home", ("home", "g"), "To the first"),
    Action("tree", "scroll_end", ("end", "G"), "To the last"),
    Action("tree", "select_cursor", ("enter", "space"), "Open", "open", "⏎"),
)
