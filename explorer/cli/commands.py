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
        "get": "Show one entity: owners, what is wrong, description, columns, links.",
        "browse": "Walk the folders: those at PATH, and what lies in it.",
        "schema": "Show the columns of a dataset as a tree.",
        "usage": "Show how much something is used, day by day, and by whom.",
        "profile-stats": "Show what profiling measured of a dataset and its columns.",
        "history": "List what was changed of an entity, when and by whom.",
        "diff": "Show what differs between two versions of an aspect.",
    },
    "See what hangs together": {
        "lineage": "Show what an entity is made from, and what is made from it.",
        "impact": "Show what breaks downstream when an entity or a column goes.",
        "path": "Show every shortest way from SOURCE to TARGET.",
        "relationships": "Show what an entity points at, and what points at it.",
    },
    "Write": {
        "describe": "Write a description of a dataset, column or container.",
        "tag": "Show, put on and take off tags of entities and columns.",
        "term": "Show, put on and take off glossary terms, also of columns.",
        "own": "Show who owns entities, give and take ownership.",
        "domain": "Show the domain of entities, or put them into one.",
        "link": "Show, add and remove links to documents about an entity.",
        "deprecate": "Say that entities should no longer be used, and why.",
        "delete": "Take entities away: to be restored, or for good.",
        "restore": "Bring back entities that were deleted with --soft, or go back to a backup.",
        "undo": "Take back what the last save did, or the edit with this ID.",
        "redo": "Do again what the last undo took back.",
        "load": "Load metadata FILEs; - is standard input.",
        "export": "Write everything the catalog holds to FILE, or to standard output.",
    },
    "Care for documentation": {
        "coverage": "Show how much is documented: tables and columns apart.",
        "worklist": "Show what is worth documenting next, the most used first.",
        "docs": "Take descriptions out as files, and bring them in again.",
    },
    "Choose a server": {
        "profile": "Keep servers by name, and where their access tokens are.",
    },
    "Serve and keep": {
        "serve": "Serve a catalog to this machine or to a team.",
        "token": "Make, list and revoke the access tokens of a served catalog.",
        "backup": "Copy the catalog, as it is at one moment, to the new directory DEST.",
        "check": "Prove that a catalog on this machine's disk agrees with itself.",
        "reindex": "Make the search index anew from what is stored.",
        "sample": "A made-up company's catalog, to try things on.",
    },
    "In the shell": {
        "completion": "Print the script that makes a shell complete what is typed.",
    },
}
"""Under each heading, in the order shown: a command and its sentence."""

# Where the click command of each name is.
_HOMES: Final = {
    "search": "explorer.cli.find.search",
    "get": "explorer.cli.find.get",
    "browse": "explorer.cli.find.browse",
    "schema": "explorer.cli.find.schema",
    "usage": "explorer.cli.find.usage",
    "profile-stats": "explorer.cli.find.profile_stats",
    "history": "explorer.cli.find.history",
    "diff": "explorer.cli.find.diff",
    "lineage": "explorer.cli.flow.lineage",
    "impact": "explorer.cli.flow.impact",
    "path": "explorer.cli.flow.path",
    "relationships": "explorer.cli.flow.relationships",
    "describe": "explorer.cli.write.describe",
    "tag": "explorer.cli.write.tag",
    "term": "explorer.cli.write.term",
    "own": "explorer.cli.write.own",
    "domain": "explorer.cli.write.domain",
    "link": "explorer.cli.write.link",
    "deprecate": "explorer.cli.write.deprecate",
    "delete": "explorer.cli.write.delete",
    "restore": "explorer.cli.write.restore",
    "undo": "explorer.cli.write.undo",
    "redo": "explorer.cli.write.redo",
    "load": "explorer.cli.write.load",
    "export": "explorer.cli.write.export",
    "coverage": "explorer.cli.care.coverage",
    "worklist": "explorer.cli.care.worklist",
    "docs": "explorer.cli.care.docs",
    "profile": "explorer.cli.keep.profile",
    "serve": "explorer.cli.keep.serve",
    "token": "explorer.cli.keep.token",
    "backup": "explorer.cli.keep.backup",
    "check": "explorer.cli.keep.check",
    "reindex": "explorer.cli.keep.reindex",
    "sample": "explorer.cli.keep.sample",
    "completion": "explorer.cli.shell.completion",
}


class Commands(click.Group):
    """A group that imports a command's module only when that command is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Every command, by name."""
        return sorted({*super().list_commands(ctx), *_HOMES})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, imported now."""
        if cmd_name in _HOMES and cmd_name not in self.commands:
            module = import_module(_HOMES[cmd_name])
            self.add_command(getattr(module, cmd_name.replace("-", "_")))
        return super().get_command(ctx, cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands under their headings."""
        del ctx
        widest = max(map(len, _HOMES))
        for heading, commands in SECTIONS.items():
            with formatter.section(heading):
                rows = [(name.ljust(widest), sentence) for name, sentence in commands.items()]
                formatter.write_dl(rows)
