"""`catalog coverage`"""

from typing import TYPE_CHECKING

import click

from explorer.cli.care.choosing import Choice, chooses_datasets, require_any, watched
from explorer.cli.forms import Form, printed_as
from explorer.cli.target import Target, asks_a_catalog

if TYPE_CHECKING:
    from explorer.stewardship.coverage import Grouping, Part

__all__ = ["coverage"]

_EPILOG = """
\b
Examples
  catalog coverage
  catalog coverage --by owner
  catalog coverage --folder /prod/snowflake --by folder
  catalog coverage --filter platform:snowflake --fail-under 80
  catalog coverage --filter tags:PII --only columns --fail-under 100
  catalog coverage --by domain --csv > coverage.csv

\b
What counts
  Documented is what ingestion or people say something about; white space
  says nothing. What has several owners, tags or folders counts under each of
  them. Percentages are cut, not rounded: 100 means all.

\b
For a build
  With --fail-under the exit code is 1 when tables or columns are less
  documented than that, or when there is nothing to count. --only looks at
  one of the two.

\b
--json prints an object:
  tables, columns  total, documented, edited, ingested, percent
  by, groups       key, name, tables, columns; null and empty without --by
  gate             fail_under, only, reached; null without --fail-under
"""


@click.command(epilog=_EPILOG)
@chooses_datasets
@click.option(
    "--by",
    "grouping",
    type=click.Choice(("platform", "owner", "domain", "folder", "tag")),
    help="In groups, those with the most left to write first.",
)
@click.option(
    "--fail-under",
    type=click.FloatRange(0, 100),
    metavar="PERCENT",
    help="Exit with 1 when less than this is documented.",
)
@click.option(
    "--only", type=click.Choice(("columns", "tables")), help="What --fail-under is about."
)
@printed_as("json", "csv")
@asks_a_catalog
def coverage(
    target: Target,
    choice: Choice,
    grouping: "Grouping | None",
    fail_under: float | None,
    only: "Part | None",
    shown_as: Form | None,
) -> None:
    """Show how much is documented: tables and columns apart.

    Of the datasets named, or of those that a search finds or a folder holds; of all without.
    URN may be - for those on standard input, one a line.
    """
    if only and fail_under is None:
        raise click.UsageError("--only goes with --fail-under")
    from explorer.cli.care import coverage_page
    from explorer.stewardship import Stewardship

    with target.open() as catalog:
        meant = choice.selection(catalog)
        with watched("reading") as progress:
            found = Stewardship(catalog).coverage(**meant, by=grouping, progress=progress)
    if not choice.urns:
        require_any(found.tables.total)
    gate = coverage_page.Gate(found, fail_under, only) if fail_under is not None else None
    match shown_as:
        case "json":
            coverage_page.print_as_json(found, gate)
        case "csv":
            coverage_page.print_as_csv(found)
        case _:
            coverage_page.print_for_people(found)
    if gate is not None and not gate.tell():
        click.get_current_context().exit(1)
