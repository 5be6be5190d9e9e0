"""The options that the commands for tags, terms, owners and domains have in common."""

import click

from explorer.cli.parameters import WORDS
from explorer.cli.shell.completions import complete_urns

__all__ = ["check_forms", "dry_run", "of_column", "urns"]

urns = click.argument(
    "urns", nargs=-1, required=True, type=WORDS, metavar="URN...", shell_complete=complete_urns
)
"""The entities; `-` stands for those on standard input."""

of_column = click.option(
    "--column",
    type=WORDS,
    metavar="PATH",
    help="Of this column: its path as the schema has it, or a.b.c where that is unmistakable.",
)
"""A column instead of the entity itself."""

dry_run = click.option("--dry-run", is_flag=True, help="Say what would change; write nothing.")
"""Nothing is written."""


def check_forms(shown_as: str | None, *, dry_run: bool, writes: bool) -> None:
    """Raises a usage error for what goes with showing alone, or with writing alone."""
    if writes and shown_as in ("csv", "urns"):
        raise click.UsageError(f"--{shown_as} shows what is there; a change is told by --json")
    if dry_run and not writes:
        raise click.UsageError("--dry-run needs something to be changed")
