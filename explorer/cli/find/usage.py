"""`catalog usage`"""

import click

from explorer.cli.find.period import Period, asks_for_a_period
from explorer.cli.forms import Form, printed_as
from explorer.cli.parameters import WORDS
from explorer.cli.shell.completions import complete_urns
from explorer.cli.target import Target, asks_a_catalog

__all__ = ["usage"]

_EPILOG = """
\b
Examples
  catalog usage 'urn:li:dataset:(urn:li:dataPlatform:hive,db.orders,PROD)'
  catalog usage URN --days 7
  catalog usage URN --from 2026-01-01 --to 2026-03-31 --csv > quarter.csv
  catalog usage URN --json | jq '.users[0]'

Days are those of UTC. A day with no line was not measured.
"""


@click.command(epilog=_EPILOG)
@click.argument("urn", type=WORDS, shell_complete=complete_urns)
@asks_for_a_period(30)
@click.option(
    "--top",
    type=click.IntRange(0),
    default=5,
    show_default=True,
    help="How many users and columns; JSON has them all.",
)
@printed_as("json", "csv")
@asks_a_catalog
def usage(target: Target, urn: str, period: Period, top: int, shown_as: Form | None) -> None:
    """Show how much something is used, day by day, and by whom.

    Queries of a dataset, views of a chart or dashboard.
    """
    from explorer.cli.find import usage_page
    from explorer.cli.reading import read_urn
    from explorer.views.usage import usage_of

    with target.open() as catalog:
        urn = read_urn(urn)
        series = catalog.usage(urn, start=period.start, end=period.end)
        found = usage_of(series)
        names = usage_page.named(catalog, found, top) if shown_as is None else {}
    usage_page.print_usage(urn, found, names, period, top, shown_as)
