"""The header at the top and the key line at the bottom, both with clickable text."""

import textwrap
from datetime import datetime
from typing import TYPE_CHECKING, Final

from rich.cells import cell_len
from rich.style import Style
from rich.text import Text
from textual import events
from textual.app import RenderResult
from textual.binding import ActiveBinding
from textual.dom import DOMNode
from textual.widget import Widget

from explorer.client.display import counted
from explorer.metadata.urn import Urn
from explorer.tui.actions import ACTIONS, Action, readable
from explorer.tui.content import block, line_text
from explorer.views.search import meaning_label

if TYPE_CHECKING:
    from explorer.client.records import ServerInfo
    from explorer.tui.session import ServerStatus, TerminalSession

PRESSED: Final = "pressed"
"""The key of the clickable action in the metadata of a style."""


def action_style(action: str) -> Style:
    """Return the style of a text that runs `action` on a click: a method of the text's widget or of
    an ancestor."""
    return Style(meta={PRESSED: action})


def action_owner(widget: Widget, action: str) -> DOMNode | None:
    """Return the owner of an action: the widget or its nearest ancestor with the method of the
    action."""
    name = f"action_{action.partition('(')[0]}"
    return next((node for node in widget.ancestors_with_self if hasattr(node, name)), None)


PATIENCE_SECONDS: Final = 1.0
"""How long a request takes before its waiting time is shown."""


class Header(Widget):
    """The header in one line: name, server status, address, number of entities, and the key for
    help."""

    DEFAULT_CSS = """
    Header { height: 1; dock: top; background: $surface; color: $text; padding: 0 1; }
    """

    def __init__(self, session: "TerminalSession") -> None:
        super().__init__()
        self._session = session
        self._server: Text | None = None
        self._drawn = Text()
        self._drafts_drawn = 0

    def show(self, info: "ServerInfo", *, read_only: bool = False) -> None:
        """Show the server's description, and whether it is open read-only."""
        parts = [Text("sample catalog", "bold")] if info.sample else []
        user = f" as {Urn.label(info.user)}" if info.user else ""
        parts.append(line_text(f"on this machine{user}" if info.embedded else info.address))
        if read_only:
            parts.append(Text("read-only", "bold reverse"))
        if info.entities is not None:
            parts.append(Text(counted(info.entities, "entity", "entities"), "dim"))
        if info.product == "datahub":
            parts.append(line_text(f"DataHub {info.version}", "dim"))
        if meaning := meaning_label(info):
            parts.append(Text(meaning, "dim"))
        self._server = Text("  ").join(parts)
        self.refresh()

    def forget(self) -> None:
        """Clear the description after a switch to another server."""
        self._server = None
        self.refresh()

    def fail(self, sentence: str) -> bool:
        """Redraw after the description could not be read; return whether the header shows why."""
        del sentence
        self.refresh()
        return self._session.standing.contact in ("kept", "silent")

    @property
    def has_server_info(self) -> bool:
        """Return whether the server's description was read."""
        return self._server is not None

    def look(self) -> None:
        """Redraw if the status, the waiting time or the number of drafts has changed."""
        if self._status_text() != self._drawn or len(self._session.drafts) != self._drafts_drawn:
            self.refresh()

    def _status_text(self) -> Text:
        waiting = format_waiting(self._session)
        standing = self._session.standing
        return waiting or _format_contact(standing, has_server_info=self.has_server_info)

    def render(self) -> RenderResult:
        """Render the line, with the help key at the right end."""
        state = self._drawn = self._status_text()
        text = Text.assemble(("catalog", "bold"), "  ", state, no_wrap=True)
        if self._server is not None:
            text.append("  ").append_text(self._server)
        drafts = self._drafts_text()
        text.truncate(self.size.width - 8 - drafts.cell_len, overflow="ellipsis", pad=True)
        text.append_text(drafts)
        return text.append("  ").append("? help", Style(dim=True) + action_style("help"))

    def _drafts_text(self) -> Text:
        count = self._drafts_drawn = len(self._session.drafts)
        if not count:
            return Text()
        style = Style(bold=True) + action_style("drafts")
        return Text("  ").append(f"{counted(count, 'draft')} F4", style)


def format_waiting(session: "TerminalSession") -> Text:
    """Return how long the oldest unanswered request has been waiting; empty in its first second."""
    waiting = session.waiting_seconds
    if waiting is None or waiting < PATIENCE_SECONDS:
        return Text()
    before = "no answer yet" if session.standing.contact == "silent" else "waiting"
    return Text(f"◌ {before}, {waiting:,.0f} s", "bold")


def _format_contact(standing: "ServerStatus", *, has_server_info: bool) -> Text:
    """Return the sign and words for the state of the connection."""
    match standing.contact:
        case "ready":
            return Text("●", "bold green") if has_server_info else Text("● ready", "bold green")
        case "kept":
            return Text(f"◐ offline copy{_age(standing.as_of)}", "bold")
        case "silent":
            return Text("○ no answer from the catalog", "bold")
        case "refused":
            return Text("○ needs an access token", "bold")
        case "opening":
            return Text("◌ opening the catalog; the first time takes a moment …", "dim")


def _age(as_of: datetime | None) -> str:
    if as_of is None:
        return ""
    then = as_of.astimezone()
    today = then.date() == datetime.now().astimezone().date()
    return f" as of {then:%H:%M}" if today else f" as of {then:%Y-%m-%d %H:%M}"


READ_ONLY = "-read-only"
"""The CSS class of the application while the server is open read-only."""

_GAP = "   "
_MESSAGE_LINES = 3
_MESSAGE_LIMIT = 2_000
_SMALL = 16


class KeyLine(Widget):
    """The keys that work at the focus, most important first; entries that do not fit are left out.
    While the server is open read-only, actions that write are dim, after “read-only”. A message
    replaces the keys until the next key. A click on an entry runs its action. On a screen that
    covers the header, the right end shows how long a request has been waiting."""

    DEFAULT_CSS = """
    KeyLine { height: 1; dock: bottom; background: $surface; color: $text-muted; padding: 0 1; }
    KeyLine.-message { height: auto; max-height: 3; }
    KeyLine.-error { background: $error-muted; color: $text-error; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._message: str = ""
        self._waiting = Text()
        self._shown: list[tuple[int, int, Action]] = []

    def on_mount(self) -> None:
        """Update the keys when the available actions have changed."""
        self.screen.bindings_updated_signal.subscribe(self, lambda _: self.refresh(), True)

    def say(self, message: str, *, error: bool = False) -> None:
        """Show one sentence instead of the keys."""
        self._message = block(message, _MESSAGE_LIMIT)
        self.set_class(error, "-error")
        self.set_class(bool(message), "-message")
        self.refresh(layout=True)

    def hush(self) -> None:
        """Show the keys again."""
        if self._message:
            self.say("")

    def show_waiting(self, waiting: Text) -> None:
        """Show at the right end how long a request has been waiting (see `format_waiting`)."""
        if waiting != self._waiting:
            self._waiting = waiting
            self.refresh()

    def render(self) -> RenderResult:
        """Render the message, or the keys that fit."""
        width = self.size.width
        if self._message:
            return self._wrap_message(max(width, 1))
        if not self._waiting:
            return self._render_keys(width)
        keys = self._render_keys(width - self._waiting.cell_len - len(_GAP))
        keys.truncate(width - self._waiting.cell_len, overflow="ellipsis", pad=True)
        return keys.append_text(self._waiting)

    def _render_keys(self, width: int) -> Text:
        """Return the keys that fit into a width, the least important left out."""
        active = self._active()
        actions = [action for action in ACTIONS if action.label and action.id in active]
        refused = [action for action in actions if self._is_refused(action, active[action.id])]
        actions = [action for action in actions if action not in refused]
        parts = [
            Text.assemble((_key(action, active[action.id]), "bold"), f" {action.label}")
            for action in actions
        ]
        # The keys that lead to all other keys are always shown.
        last = parts[-1:] if len(parts) > 1 else []
        room = width - sum(part.cell_len + len(_GAP) for part in last)
        text = _format_refused(refused, active, width // 2)
        room -= text.cell_len
        self._shown = []
        line = Text(no_wrap=True)
        for action, part in zip(actions, parts, strict=True):
            if part in last or part.cell_len <= room:
                line.append(_GAP if line.plain else "")
                at = line.cell_len
                line.append_text(part)
                self._shown.append((at, at + part.cell_len, action))
                room -= 0 if part in last else part.cell_len + len(_GAP)
        return line.append_text(text)

    def _is_refused(self, action: Action, bound: list[ActiveBinding]) -> bool:
        """Return whether an action is disabled because the server is open read-only."""
        return not bound[0].enabled or (action.writes and self.app.has_class(READ_ONLY))

    def _wrap_message(self, width: int) -> Text:
        """Return the message wrapped to a width, ending with a mark if it is cut."""
        lines = 2 if self.screen.size.height < _SMALL else _MESSAGE_LINES
        wrapped = textwrap.wrap(self._message, width, max_lines=lines, placeholder=" …")
        return Text("\n".join(wrapped))

    @property
    def is_telling(self) -> bool:
        """Return whether a message is shown instead of the keys."""
        return bool(self._message)

    async def on_click(self, event: events.Click) -> None:
        """Run the action of the clicked entry; remove a message."""
        if self._message:
            self.hush()
            return
        inside = event.get_content_offset(self)
        if inside is None:
            return
        active = self._active()
        for start, end, action in self._shown:
            bound = active.get(action.id)
            if bound and bound[0].enabled and start <= inside.x < end:
                await self.app.run_action(action.name, bound[0].node)

    def _active(self) -> dict[str, list[ActiveBinding]]:
        """Return the available actions at the focus, each with its keys."""
        active: dict[str, list[ActiveBinding]] = {}
        for active_binding in self.screen.active_bindings.values():
            if active_binding.binding.id and not self._is_typed(active_binding):
                active.setdefault(active_binding.binding.id, []).append(active_binding)
        return active

    def _is_typed(self, binding: ActiveBinding) -> bool:
        """Return whether the focused input takes a key as a character. Textual itself does not know
        the characters of all key names."""
        focused, letter = self.screen.focused, readable(binding.binding.key)
        if focused is None or binding.node is focused or len(letter) > 1 or not letter.isascii():
            return False
        return focused.check_consume_key(binding.binding.key, letter)


def _key(action: Action, bound: list[ActiveBinding]) -> str:
    """Return the key to show for an action: its first key, or, if that is a letter and letters are
    typed here, another one."""
    keys = {binding.binding.key: binding for binding in bound}
    is_letter = len(readable(action.keys[0])) == 1 and readable(action.keys[0]).isascii()
    does = action.keys[0] in keys if is_letter else keys.keys() & set(action.keys)
    return action.key if does else readable(next(iter(keys)))


def _format_refused(
    refused: list[Action], active: dict[str, list[ActiveBinding]], room: int
) -> Text:
    """Return the actions that are disabled by read-only, as many as fit, with the reason."""
    text = Text("", "dim")
    for action in refused:
        before = ", " if text.plain else f"{_GAP}read-only: "
        part = f"{before}{_key(action, active[action.id])} {action.label}"
        if text.cell_len + cell_len(part) > room:
            break
        text.append(part)
    return text
