"""`catalog relationships`"""

from typing import TYPE_CHECKING

import click

from explorer.cli.forms import Form, printed_as
from explorer.cli.parameters import WORDS
from explorer.cli.shell.completions import complete_urns
from explorer.cli.target import Target, asks_a_catalog

if TYPE_CHECKING:
    from explorer.cli.flow.edges import Side

__all__ = ["relationships"]

_EPILOG = """
\b
Examples
  catalog relationships 'urn:li:tag:PII' --direction in
  catalog relationships URN --direction in --type OwnedBy --urns
  catalog relationships URN --json | jq .counts
  catalog relationships URN --csv > edges.csv

Outgoing are those that the entity declares itself, incoming those of others that name it.
"""


@click.command(epilog=_EPILOG)
@click.argument("urn", type=WORDS, shell_complete=complete_urns)
@click.option(
    "--direction",
    "side",
    type=click.Choice(("in", "out", "both")),
    default="both",
    show_default=True,
    help="Those that lead to it, those that it declares, or both.",
)
@click.option(
    "--type",
    "names",
    type=WORDS,
    metavar="NAME",
    multiple=True,
    help="Only of this name, as in OwnedBy; may be given several times.",
)
@click.option(
    "--limit",
    type=click.IntRange(1),
    help="So many under each name at most.  [default: 20 for people, else all]",
)
@printed_as("json", "csv", "urns")
@asks_a_catalog
def relationships(
    target: Target,
    urn: str,
    side: "Side",
    names: tuple[str, ...],
    limit: int | None,
    shown_as: Form | None,
) -> None:
    """Show what an entity points at, and what points at it."""
    from explorer.cli.flow import edges

    with target.open() as catalog:
        found = edges.read_edges(catalog, urn, side, names, limit=limit, whole=shown_as is not None)
    match shown_as:
        case "json":
            edges.print_as_json(found)
        case "csv":
            edges.print_as_csv(found)
        case "urns":
            edges.print_as_urns(found)
        case _:
            edges.print_for_people(found)
    edges.say_how_many(found)
