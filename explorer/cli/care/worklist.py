"""`catalog worklist`"""

import click

from explorer.cli.care.choosing import Choice, chooses_datasets, own_urn, require_any, watched
from explorer.cli.forms import Form, printed_as
from explorer.cli.parameters import WORDS
from explorer.cli.target import Target, asks_a_catalog

__all__ = ["worklist"]

_MOST_DAYS = 365

_EPILOG = """
\b
Examples
  catalog worklist
  catalog worklist --mine --top 10
  catalog worklist --owner 'Nina Weber'
  catalog worklist --filter 'platform:snowflake tags:PII'
  catalog worklist --top 20 --urns | catalog docs export - --output todo.xlsx
  catalog worklist --json | jq -r '.items[] | [.table, .column] | @tsv'

\b
The order
  The heaviest first, and the weight is (used + 1) x (downstream + 1); equal
  ones by used, by downstream, then by URN and as the schema has them.
  used        how often the column was used in the last days; where columns
              are not counted apart, the queries of its table
  downstream  how many entities are made from its table, however far away;
              10,000 at most

\b
--json prints an object:
  days, total  over how many days, and how many are undocumented in all
  items        urn, table, platform, column, type, weight, used, used_of,
               downstream, at_least

An item without a column is the table itself.
"""


@click.command(epilog=_EPILOG)
@chooses_datasets
@click.option(
    "--owner",
    "owners",
    type=WORDS,
    metavar="OWNER",
    multiple=True,
    help="Only what this person or group owns: a name, an id or a URN; several may be given.",
)
@click.option(
    "--mine",
    "is_mine",
    is_flag=True,
    help="Only what you own, by the user of this machine's catalog: see catalog profile.",
)
@click.option(
    "--top", type=click.IntRange(1), default=50, show_default=True, help="Only so many, the first."
)
@click.option(
    "--days",
    type=click.IntRange(1, _MOST_DAYS),
    default=30,
    show_default=True,
    help="Count the use of the last so many days.",
)
@printed_as("json", "csv", "urns", urns="Print the URNs of their datasets, each once.")
@asks_a_catalog
def worklist(
    target: Target,
    choice: Choice,
    owners: tuple[str, ...],
    is_mine: bool,
    top: int,
    days: int,
    shown_as: Form | None,
) -> None:
    """Show what is worth documenting next, the most used first.

    Undocumented tables and columns of the datasets named, or of those that a search finds or a
    folder holds; of all without. URN may be - for those on standard input, one a line.
    """
    from explorer.cli.care import worklist_page
    from explorer.stewardship import Stewardship

    with target.open() as catalog:
        mine = (own_urn(catalog),) if is_mine else ()
        meant = choice.selection(catalog, (*owners, *mine))
        with watched("measuring use and reach") as progress:
            found = Stewardship(catalog).worklist(**meant, top=top, days=days, progress=progress)
    if not choice.urns:
        require_any(found.datasets)
    match shown_as:
        case "json":
            worklist_page.print_as_json(found)
        case "csv":
            worklist_page.print_as_csv(found)
        case "urns":
            worklist_page.print_as_urns(found)
        case _:
            worklist_page.print_for_people(found)
    worklist_page.say_how_many(found)
