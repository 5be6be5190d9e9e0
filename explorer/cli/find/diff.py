"""`catalog diff`"""

import click

from explorer.cli.forms import Form, printed_as
from explorer.cli.parameters import WORDS
from explorer.cli.shell.completions import complete_aspects, complete_urns
from explorer.cli.target import Target, asks_a_catalog

__all__ = ["diff"]

_EPILOG = """
\b
Examples
  catalog diff URN --aspect schemaMetadata           (what the latest changed)
  catalog diff URN --aspect ownership --older 1      (all since the first)
  catalog diff URN --aspect ownership --older 3 --newer 4
  catalog diff URN --aspect schemaMetadata --json | jq -r '.changes[].place'

Version 0 is the latest, 1 the oldest; -1 is the one before the latest. The exit code is 0 whether
anything differs or not.
"""


@click.command(epilog=_EPILOG)
@click.argument("urn", type=WORDS, shell_complete=complete_urns)
@click.option(
    "--aspect",
    type=WORDS,
    metavar="NAME",
    required=True,
    shell_complete=complete_aspects,
    help="The aspect whose versions are compared.",
)
@click.option("--older", type=int, default=-1, show_default=True, help="The version before.")
@click.option("--newer", type=int, default=0, show_default=True, help="The version after.")
@printed_as("json")
@asks_a_catalog
def diff(
    target: Target, urn: str, aspect: str, older: int, newer: int, shown_as: Form | None
) -> None:
    """Show what differs between two versions of an aspect.

    Place by place: lines with - say what was, lines with + what is.
    """
    from explorer.cli.find import versions_page
    from explorer.cli.reading import read_urn

    with target.open() as catalog:
        found = catalog.diff(read_urn(urn), aspect, older, newer)
    versions_page.print_difference(found, shown_as)
