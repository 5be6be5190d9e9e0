"""What can be done here, found out from the keys that work here."""

from collections.abc import Callable, Iterator

from textual.app import SystemCommand
from textual.dom import DOMNode
from textual.screen import Screen

from explorer.tui.actions import ACTIONS, SCOPES, Scope

__all__ = ["commands_here", "scopes_here"]

# What everything can do is least worth saying.
_LAST: tuple[Scope, ...] = ("list", "app")
_NOT_LISTED = ("app.command_palette",)


def scopes_here(screen: Screen[object]) -> tuple[Scope, ...]:
    """Where the reader is, in the words of the register, the nearest first."""
    scopes = {action.id: action.scope for action in ACTIONS}
    found: dict[Scope, DOMNode] = {}
    for one in screen.active_bindings.values():
        scope = scopes.get(one.binding.id or "")
        if scope is not None:
            found.setdefault(scope, one.node)
    nodes = screen.focused.ancestors_with_self if screen.focused else [screen]
    depth = {node: at for at, node in enumerate(nodes)}

    def rank(scope: Scope) -> tuple[int, int]:
        last = _LAST.index(scope) + 1 if scope in _LAST else 0
        return last, depth.get(found[scope], len(depth))

    return tuple(sorted(found, key=rank))


def commands_here(screen: Screen[object]) -> Iterator[SystemCommand]:
    """Every action that can be done where the focus is, by name, but for moving in a list."""
    active = {one.binding.id: one for one in screen.active_bindings.values() if one.enabled}
    for scope in scopes_here(screen):
        for action in ACTIONS:
            if action.scope != scope or scope == "list" or not action.help:
                continue
            known = active.get(action.id)
            if known is None or action.id in _NOT_LISTED:
                continue
            title = f"{action.help}  ({action.key})"
            yield SystemCommand(title, SCOPES[scope], _doing(known.node, action.name))


def _doing(node: DOMNode, name: str) -> Callable[[], None]:
    """What runs an action on what has it, when the palette is gone again."""

    def act() -> None:
        node.app.call_later(node.app.run_action, name, node)

    return act
