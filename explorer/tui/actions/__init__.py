"""Every action of the terminal, declared once: keys, key line, help and palette are made from it.

Each area of the program declares its own; the order in which they stand here is the order in which
they are shown. A short label puts an action on the key line, where there is room for it.
"""

from collections.abc import Iterator

from textual.binding import Binding, BindingType

from explorer.tui.actions import (
    browse,
    columns,
    connection,
    editing,
    entity,
    find,
    history,
    labelling,
    lineage,
    lists,
    measures,
    overview,
    raw,
    shell,
)
from explorer.tui.actions.action import SCOPES, Action, Scope, readable

__all__ = ["ACTIONS", "SCOPES", "Action", "Scope", "actions_of", "bindings", "readable"]

ACTIONS: tuple[Action, ...] = (
    *columns.ACTIONS,
    *measures.ACTIONS,
    *history.ACTIONS,
    *raw.ACTIONS,
    *overview.ACTIONS,
    *lineage.ACTIONS,
    *labelling.ACTIONS,
    *entity.ACTIONS,
    *find.ACTIONS,
    *lists.ACTIONS,
    *browse.ACTIONS,
    *connection.ACTIONS,
    *shell.ACTIONS,
    *editing.ACTIONS,
)


def actions_of(scope: Scope) -> Iterator[Action]:
    """The actions of a scope, in the order in which they are shown."""
    return (action for action in ACTIONS if action.scope == scope)


def bindings(scope: Scope) -> list[BindingType]:
    """The key bindings of a scope, for the widget or screen that has it."""
    return [
        Binding(
            ",".join(action.keys),
            action.name,
            action.label or action.help,
            show=bool(action.label),
            key_display=action.key,
            id=action.id,
            # The text of a search or a description takes any letter; quitting works everywhere.
            priority=action.name == "leave_all",
        )
        for action in actions_of(scope)
    ]
