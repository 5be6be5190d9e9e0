"""`catalog profile-stats`"""

import click

from explorer.cli.find.period import Period, asks_for_a_period
from explorer.cli.forms import Form, printed_as
from explorer.cli.parameters import WORDS
from explorer.cli.shell.completions import complete_columns, complete_urns
from explorer.cli.target import Target, asks_a_catalog

__all__ = ["profile_stats"]

_EPILOG = """
\b
Examples
  catalog profile-stats URN
  catalog profile-stats URN --column shipping.zip
  catalog profile-stats URN --days 30               (rows and size over time)
  catalog profile-stats URN --column amount --from 2026-01-01 --csv
  catalog profile-stats URN --json | jq '.columns[] | select(.nulls > 0)'

JSON and CSV have the numbers as profiling wrote them.
"""


@click.command("profile-stats", epilog=_EPILOG)
@click.argument("urn", type=WORDS, shell_complete=complete_urns)
@click.option(
    "--column",
    type=WORDS,
    metavar="PATH",
    shell_complete=complete_columns,
    help="What was measured of this column over time.",
)
@asks_for_a_period(None)
@printed_as("json", "csv")
@asks_a_catalog
def profile_stats(
    target: Target, urn: str, column: str | None, period: Period, shown_as: Form | None
) -> None:
    """Show what profiling measured of a dataset and its columns.

    The newest profile; with --column or a period all profiles, a line each.
    """
    from explorer.cli.find import profile_page
    from explorer.cli.reading import read_urn

    with target.open() as catalog:
        urn = read_urn(urn)
        newest = column is None and period == Period()
        series = profile_page.read_profiles(catalog, urn, period, newest=newest)
    if newest:
        profile_page.print_newest(urn, series, shown_as)
    elif column is None:
        profile_page.print_rows(urn, series, period, shown_as)
    else:
        profile_page.print_column(urn, series, column, period, shown_as)
