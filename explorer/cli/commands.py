"""The commands by what they are for: each one's module is imported when it is asked for.

The sentence of each stands here too, so that the list of them all is shown without importing any.
"""

from importlib import import_module
from typing import Final

import click

__all__ = ["SECTIONS", "Commands"]

SECTIONS: Final[dict[str, dict[str, str]]] = {
    "Find and read": {
        "search": "Find what matches TEXT, best first.",
        "get": "Show one entity: owners, description, columns, links.",
    },
    "Write": {
        "describe": "Write a description of a dataset, column or container.",
        "load": "Load metadata FILEs; - is standard input.",
        "export": "Write everything the catalog holds to FILE, or to standard output.",
    },
    "Serve and keep": {
        "serve": "Serve a catalog to this machine or to a team.",
        "token": "Make, list and revoke the access tokens of a served catalog.",
        "backup": "Copy the catalog, as it is at one moment, to the new directory DEST.",
        "check": "Prove that a catalog on this machine's disk agrees with itself.",
        "reindex": "Make the search index anew from what is stored.",
        "sample": "A made-up company's catalog, to try things on.",
    },
}
"""Under each heading, in the order shown: a command, which is a click command of that name in
the module of that name, and its sentence."""

_NAMES: Final = frozenset(name for commands in SECTIONS.values() for name in commands)


class Commands(click.Group):
    """A group that imports a command's module only when that command is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Every command, by name."""
        return sorted({*super().list_commands(ctx), *_NAMES})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, imported now."""
        if cmd_name in _NAMES and cmd_name not in self.commands:
            module = import_module(f"explorer.cli.{cmd_name.replace('-', '_')}")
            self.add_command(getattr(module, cmd_name.replace("-", "_")))
        return super().get_command(ctx, cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands under their headings."""
        del ctx
        widest = max(map(len, _NAMES))
        for heading, commands in SECTIONS.items():
            with formatter.section(heading):
                rows = [(name.ljust(widest), sentence) for name, sentence in commands.items()]
                formatter.write_dl(rows)
