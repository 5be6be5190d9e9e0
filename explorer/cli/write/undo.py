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
  catalog undo                      (the last edit not taken back yet)
  catalog undo --list
  catalog undo 3f2a
  catalog undo --list --json | jq '.[0].before'

Edits are kept on this machine, by the commands describe, tag, term, own, domain, link and
deprecate. One is taken back only where the catalog still holds what it left; labels and links of
others stay. Taking back is an edit too: catalog undo with its ID does the first one again.

\b
--list --json prints a list, newest first: id, at (UTC), server, urn,
column, what, before, after, undone (whether it is taken back), undoes (ID).
--json alone prints what was written: urn, column, what, before, after,
changed, at.
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
@printed_as("json", "csv")
@asks_a_catalog
def undo(
    target: Target, edit_id: str | None, count: int, *, lists: bool, shown_as: Form | None
) -> None:
    """Take an edit back that was made from this machine.

    ID is the edit's in the list, or its beginning; without it the last edit is taken back.
    """
    if lists and edit_id:
        raise click.UsageError("either --list or an ID; give one of them")
    if shown_as == "csv" and not lists:
        raise click.UsageError("--csv goes with --list")
    from explorer.cli.write import kept_edits

    if lists:
        kept_edits.print_list(count, shown_as)
    else:
        kept_edits.take_back(target, edit_id, as_json=shown_as == "json")
