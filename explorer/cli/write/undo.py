"""`catalog undo`"""

import click

from explorer.cli.forms import Form, printed_as
from explorer.cli.parameters import WORDS
from explorer.cli.target import Target, asks_a_catalog

__all__ = ["undo"]

_MOST = 10_000

_EPILOG = """
\b
Examples
  catalog undo                      (the last save not taken back yet)
  catalog redo                      (does again what was undone last)
  catalog undo --list
  catalog undo 3f2a
  catalog undo --list --json | jq '.[0].before'

Edits are kept on this machine, by the commands describe, tag, term, own, domain, link, deprecate,
delete --soft, restore and docs import, by the terminal and in notebooks. Without an ID, undo takes
back all that the last save did, wherever it was made: everything one command wrote, everything one
page of tags did. It is taken back only where the catalog still holds what it left, or with --force;
labels and links of others stay. Taking back is an edit too: catalog undo with its ID does the
first one again.

\b
--list --json prints a list, newest first: id, at (UTC), server, urn,
column, what, before, after, undone (whether it is taken back), undoes
(the IDs of what it takes back), save (the ID that the edits of one save
share, and which undo takes too).
--json alone prints the first edit that was written: urn, column, what,
before, after, changed, at; and under edits all of them.
"""


@click.command(epilog=_EPILOG)
@click.argument("edit_id", metavar="[ID]", type=WORDS, required=False)
@click.option("--list", "lists", is_flag=True, help="Show the edits, newest first.")
@click.option(
    "--count",
    type=click.IntRange(1, _MOST),
    default=20,
    show_default=True,
    help="With --list: how many at most.",
)
@click.option("--force", is_flag=True, help="Also where somebody changed it since.")
@printed_as("json", "csv")
@asks_a_catalog
def undo(
    target: Target,
    edit_id: str | None,
    count: int,
    *,
    lists: bool,
    force: bool,
    shown_as: Form | None,
) -> None:
    """Take back what the last save did, or the edit with this ID.

    ID is an edit's in the list, or that of a save, or the beginning of one.
    """
    if lists and edit_id:
        raise click.UsageError("either --list or an ID; give one of them")
    if lists and force:
        raise click.UsageError("--force writes, --list does not; give one of them")
    if shown_as == "csv" and not lists:
        raise click.UsageError("--csv goes with --list")
    from explorer.cli.write import kept_edits

    if lists:
        kept_edits.print_list(count, shown_as)
    else:
        kept_edits.take_back(target, edit_id, force=force, as_json=shown_as == "json")
