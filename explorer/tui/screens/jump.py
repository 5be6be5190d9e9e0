"""Jump labels: a letter over everything that takes the focus or can be pressed."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar

from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.geometry import Offset
from textual.screen import ModalScreen, Screen
from textual.widget import Widget
from textual.widgets import Static

from explorer.tui.actions import bindings
from explorer.tui.widgets.bars import PRESSED, KeyLine, action_owner

__all__ = ["JumpScreen", "JumpTarget", "targets_in"]

_LETTERS = "asdfghjklweruiopzxcvbnmtyq"
# Lines such as the titles of tabs; longer texts are read, not pressed.
_LINES_SEARCHED = 3


@dataclass(frozen=True, slots=True)
class JumpTarget:
    """A place on the screen, and the function that goes there."""

    at: Offset
    go: Callable[[], None]


class JumpScreen(ModalScreen[None]):
    """Letters over the screen below. Any other key closes it."""

    CSS = """
    JumpScreen > .letter {
        position: absolute; width: 3; height: 1; background: $accent; color: $background;
        text-style: bold;
    }
    JumpScreen:ansi > .letter { background: ansi_default; color: ansi_default;
                                text-style: bold reverse; }
    """
    BINDINGS: ClassVar[list[BindingType]] = bindings("jump")

    def __init__(self, targets: list[JumpTarget]) -> None:
        super().__init__(classes="-clear")
        self._targets = dict(zip(_LETTERS, targets, strict=False))

    def compose(self) -> ComposeResult:
        """Yield the letters at their targets."""
        for letter, target in self._targets.items():
            mark = Static(Text(f" {letter} "), classes="letter", markup=False)
            mark.styles.offset = (target.at.x, target.at.y)
            yield mark
        yield KeyLine()

    def take(self, event: events.Key) -> bool:
        """Go to the target of a letter; return whether it has one."""
        target = self._targets.get(event.character or "")
        self.dismiss()
        if target is not None:
            target.go()
        return target is not None

    def on_key(self, event: events.Key) -> None:
        """Go to the target of the letter, or cancel."""
        event.stop()
        event.prevent_default()
        self.take(event)

    def on_click(self) -> None:
        """Cancel."""
        self.dismiss()

    def action_leave(self) -> None:
        """Cancel."""
        self.dismiss()


def targets_in(screen: Screen[object]) -> list[JumpTarget]:
    """Return the jump targets from the top left to the bottom right."""
    found = [target for widget in _seen(screen) for target in _targets(screen, widget)]
    return sorted(found, key=lambda target: (target.at.y, target.at.x))


def _seen(screen: Screen[object]) -> Iterator[Widget]:
    for widget in screen.walk_children(Widget):
        if widget.is_on_screen and widget.region.area:
            yield widget


def _targets(screen: Screen[object], widget: Widget) -> Iterator[JumpTarget]:
    if widget.focusable:
        yield JumpTarget(widget.region.offset, _focusing(screen, widget))
    elif not widget.children and widget.region.height <= _LINES_SEARCHED:
        yield from _pressed(screen, widget)


def _pressed(screen: Screen[object], widget: Widget) -> Iterator[JumpTarget]:
    """Return the places in a text with an action, each action once."""
    known: set[str] = set()
    for y in range(widget.region.y, widget.region.bottom):
        for x in range(widget.region.x, widget.region.right):
            action = screen.get_style_at(x, y).meta.get(PRESSED)
            if isinstance(action, str) and action not in known:
                known.add(action)
                yield JumpTarget(Offset(x, y), _pressing(widget, action))


def _focusing(screen: Screen[object], widget: Widget) -> Callable[[], None]:
    def go() -> None:
        screen.set_focus(widget)

    return go


def _pressing(widget: Widget, action: str) -> Callable[[], None]:
    def go() -> None:
        owner = action_owner(widget, action)
        widget.app.call_later(widget.app.run_action, action, owner or widget)

    return go
