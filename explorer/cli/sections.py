"""The sections of the help, each with the commands below one heading."""

from collections.abc import Callable
from importlib import import_module
from typing import Any, Final

import click

# The most used modules come first, since they are imported in turn to find a command.
_MODULES: Final = (
    *(".entities", ".edits", ".documentation", ".lineage", ".sources", ".maintenance"),
    *(".agents", ".profile", ".server", "..shell_completion"),
)


class Section:
    """The commands below one heading of the help: first the named ones in the given order, then the
    others."""

    def __init__(self, heading: str, *first: str) -> None:
        self.heading = heading
        self._first = first
        self._commands: dict[str, click.Command] = {}

    @property
    def commands(self) -> dict[str, click.Command]:
        """The commands added so far, by name, in the order of the help."""
        first = [name for name in self._first if name in self._commands]
        return {name: self._commands[name] for name in (*first, *self._commands)}

    def add(self, command: click.Command) -> click.Command:
        """Add a command, and return it."""
        self._commands[str(command.name)] = command
        return command

    def command(self, *args: Any, **kwargs: Any) -> Callable[[Callable[..., Any]], click.Command]:
        """Return a decorator that creates a command, like `click.command`, and adds it to the
        section."""
        return lambda function: self.add(click.command(*args, **kwargs)(function))

    def group(self, *args: Any, **kwargs: Any) -> Callable[[Callable[..., Any]], click.Group]:
        """Return a decorator that creates a group, like `click.group`, and adds it to the
        section."""

        def decorate(function: Callable[..., Any]) -> click.Group:
            group: click.Group = click.group(*args, **kwargs)(function)
            self.add(group)
            return group

        return decorate


FIND: Final = Section("Find and read", "search", "get", "browse")
EXPLORE: Final = Section("Explore lineage and relationships", "lineage")
BRING_IN: Final = Section("Bring in your own data")
EDIT: Final = Section("Edit", "describe")
MAINTAIN: Final = Section("Maintain documentation")
AGENTS: Final = Section("Let agents use the catalog", "mcp")
CONFIGURE: Final = Section("Configure servers", "login")
RUN: Final = Section("Run and maintain a catalog", "serve", "token", "audit")
SHELL: Final = Section("Shell")

_SECTIONS: Final = (FIND, EXPLORE, BRING_IN, EDIT, MAINTAIN, AGENTS, CONFIGURE, RUN, SHELL)


def sections() -> tuple[Section, ...]:
    """Return the sections with all commands, in the order of the help."""
    for module in _MODULES:
        import_module(module, "explorer.cli.commands")
    return _SECTIONS


def find_command(name: str) -> click.Command | None:
    """Return the command with a name, or None if there is none. Imports modules only until it is
    found."""
    for module in _MODULES:
        import_module(module, "explorer.cli.commands")
        for section in _SECTIONS:
            if name in section.commands:
                return section.commands[name]
    return None
