"""A pane that fills the screen, and goes back to its place."""

from textual.screen import Screen
from textual.widget import Widget

from explorer.tui.entity.tab import Tab
from explorer.tui.find.facets import Facets
from explorer.tui.rows import Rows

__all__ = ["ZOOMED", "keep_zoom", "turn_zoom"]

ZOOMED = """
Screen.-maximized-view > #body { layout: vertical; }
.-maximized { width: 100% !important; height: 1fr !important; max-height: 100%; margin: 0; }
"""

_FOUND = "found"


def turn_zoom(screen: Screen[object]) -> bool:
    """The pane with the focus fills the screen, or goes back; gives whether one fills it."""
    if screen.maximized is not None:
        screen.minimize()
    else:
        pane = _pane(screen.focused)
        screen.maximized = pane
        if pane is not None and screen.focused is not None:
            screen.focused.refresh(layout=True)
    return screen.maximized is not None


def keep_zoom(screen: Screen[object]) -> None:
    """A pane that the focus has left goes back to its place."""
    pane, focused = screen.maximized, screen.focused
    if pane is not None and (focused is None or pane not in focused.ancestors_with_self):
        screen.minimize()


def _pane(focused: Widget | None) -> Widget | None:
    """What is read as one pane: a tab of an entity, the results, the facets, the folders."""
    if focused is None:
        return None
    for node in focused.ancestors_with_self:
        if isinstance(node, Tab | Facets):
            return node
        if isinstance(node, Widget) and node.id == _FOUND:
            return node
    return focused if isinstance(focused, Rows) or focused.allow_maximize else None
