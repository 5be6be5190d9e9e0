"""`catalog path`"""

from typing import Final

import click

from explorer.cli.forms import Form, printed_as
from explorer.cli.parameters import WORDS
from explorer.cli.target import Target, asks_a_catalog

__all__ = ["path"]

_MOST_HOPS: Final = 1_000
_SHOWN: Final = 20

_EPILOG = """
\b
Examples
  catalog path SOURCE TARGET
  catalog path SOURCE TARGET --urns | head -2
  catalog path SOURCE TARGET --json | jq '.ways | length'
  catalog path 'urn:li:corpuser:jdoe' URN --relationship OwnedBy

The ways follow lineage, downstream from SOURCE, or upstream where there is none downstream. With
--relationship they follow the relationships of those names instead, whichever way each was
declared; catalog relationships URN lists them.

The exit code is 1 when there is no way.
"""


@click.command(epilog=_EPILOG)
@click.argument("source", type=WORDS)
@click.argument("destination", metavar="TARGET", type=WORDS)
@click.option(
    "--relationship",
    "relationships",
    type=WORDS,
    metavar="NAME",
    multiple=True,
    help="Along this relationship instead of lineage; may be given several times.",
)
@click.option(
    "--hops",
    type=click.IntRange(1, _MOST_HOPS),
    help="How far to look.  [default: 50, and 4 along relationships]",
)
@click.option(
    "--limit",
    type=click.IntRange(1),
    default=_SHOWN,
    show_default=True,
    help="How many ways at most.",
)
@printed_as("json", "urns", urns="Print the URNs along the first way, one a line.")
@asks_a_catalog
def path(
    target: Target,
    source: str,
    destination: str,
    relationships: tuple[str, ...],
    hops: int | None,
    limit: int,
    shown_as: Form | None,
) -> None:
    """Show every shortest way from SOURCE to TARGET."""
    from explorer.cli.flow.ways import print_as_json, print_ways, read_ways, say_how_many
    from explorer.cli.tables import print_urns

    with target.open() as catalog:
        found = read_ways(catalog, source, destination, relationships, hops=hops, limit=limit)
    match shown_as:
        case "json":
            print_as_json(found)
        case "urns":
            print_urns(found.paths.ways[0] if found.paths.ways else ())
        case _:
            print_ways(found)
    say_how_many(found, relationships)
    if not found.paths.ways:
        raise click.exceptions.Exit(1)
