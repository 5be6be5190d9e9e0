"""The line of keys at the bottom: what can be done here, as much of it as fits."""

from rich.text import Text
from textual.app import RenderResult
from textual.widget import Widget

from explorer.tui.actions import ACTIONS, Action

__all__ = ["KeyLine"]

_GAP = "   "


class KeyLine(Widget):
    """The keys that work where the focus is, most telling first; what does not fit is left out
    whole. A message takes its place until the next key."""

    DEFAULT_CSS = """
    KeyLine { height: 1; dock: bottom; background: $surface; color: $text-muted; padding: 0 1; }
    KeyLine.-message { height: auto; max-height: 3; }
    KeyLine.-error { background: $error-muted; color: $text-error; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._message: str = ""

    def say(self, message: str, *, error: bool = False) -> None:
        """Show one sentence instead of the keys."""
        self._message = message
        self.set_class(error, "-error")
        self.set_class(bool(message), "-message")
        self.refresh(layout=True)

    def hush(self) -> None:
        """Show the keys again."""
        if self._message:
            self.say("")

    def render(self) -> RenderResult:
        """The message, or the keys that fit."""
        width = self.size.width - 2
        if self._message:
            return Text(self._message)
        parts = [Text.assemble((one.key, "bold"), f" {one.label}") for one in self._actions()]
        # The way to everything else stays, whatever has to go.
        last = parts[-1:] if len(parts) > 1 else []
        room = width - sum(part.cell_len + len(_GAP) for part in last)
        shown: list[Text] = []
        for part in parts[: len(parts) - len(last)]:
            if part.cell_len <= room:
                shown.append(part)
                room -= part.cell_len + len(_GAP)
        return Text(_GAP, no_wrap=True).join([*shown, *last])

    def _actions(self) -> list[Action]:
        """What can be done where the focus is and has a label, in the register's order."""
        active = {one.binding.id for one in self.screen.active_bindings.values() if one.enabled}
        return [action for action in ACTIONS if action.label and action.id in active]
