"""`catalog redo`"""

import click

from explorer.cli.forms import Form, printed_as
from explorer.cli.target import Target, asks_a_catalog

__all__ = ["redo"]

_EPILOG = """
\b
Examples
  catalog undo && catalog redo
  catalog redo --json

What was undone is done again as long as nothing else was saved since. catalog undo --list shows
everything, and catalog undo with the ID of an undo does that edit again at any time.

\b
--json prints the first edit that was written: urn, column, what, before,
after, changed, at; and under edits all of them.
"""


@click.command(epilog=_EPILOG)
@click.option("--force", is_flag=True, help="Also where somebody changed it since.")
@printed_as("json")
@asks_a_catalog
def redo(target: Target, *, force: bool, shown_as: Form | None) -> None:
    """Do again what the last undo took back."""
    from explorer.cli.write import kept_edits

    kept_edits.do_again(target, force=force, as_json=shown_as == "json")
