"""What can be done in any list."""

from explorer.tui.actions.action import Action

__all__ = ["ACTIONS"]

ACTIONS: tuple[Action, ...] = (
    Action("list", "choose", ("enter",), "Open, or follow", "open"),
    Action("list", "down", ("down", "j"), "Down"),
    Action("list", "up", ("up", "k"), "Up"),
    Action("list", "page_down", ("pagedown",), "A screen down"),
    Action("list", "page_up", ("pageup",), "A screen up"),
    Action("list", "half_down", ("ctrl+d",), "Half a screen down"),
    Action("list", "half_up", ("ctrl+u",), "Half a screen up"),
    Action("list", "first", ("home", "g"), "To the first"),
    Action("list", "last", ("end", "G"), "To the last"),
)
