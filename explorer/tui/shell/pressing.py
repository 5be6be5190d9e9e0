"""Places in a text that do something when they are clicked or jumped to."""

from typing import Final

from rich.style import Style
from textual.dom import DOMNode
from textual.widget import Widget

__all__ = ["PRESSED", "owner_of", "pressed"]

PRESSED: Final = "pressed"
"""Under what a style keeps the action of its text."""


def pressed(action: str) -> Style:
    """The style of a text that does `action`, a method of the widget or of what holds it."""
    return Style(meta={PRESSED: action})


def owner_of(widget: Widget, action: str) -> DOMNode | None:
    """What has an action: the widget, or the nearest that holds it."""
    name = f"action_{action.partition('(')[0]}"
    return next((node for node in widget.ancestors_with_self if hasattr(node, name)), None)
