"""`catalog impact`"""

from typing import TYPE_CHECKING, Final

import click

from explorer.cli.forms import Form, printed_as
from explorer.cli.parameters import WORDS
from explorer.cli.shell.completions import complete_urns
from explorer.cli.target import Target, asks_a_catalog

if TYPE_CHECKING:
    from explorer.graph.impact import Grouping

__all__ = ["impact"]

_SHOWN: Final = 50

_EPILOG = """
\b
Examples
  catalog impact 'urn:li:dataset:(urn:li:dataPlatform:hive,db.orders,PROD)'
  catalog impact URN --column order_id --by owner
  catalog impact URN --filter type:dashboard
  catalog impact URN --csv > affected.csv
  catalog impact URN --json | jq '.groups.owner'
  catalog impact URN --column email --fail-if-any --filter type:dashboard

\b
What is known of a column
  said               lineage between columns was ingested all the way
  guess: same name   for a part of the way a same name is all there is
  the table only     it uses an affected table; nobody said which columns

With --fail-if-any the exit code is 1 when something is affected, or when not everything could be
looked at. --filter says what counts; it knows the fields name, platform, origin, type, typeNames,
owners, tags, glossaryTerms, domains, description, deprecated, removed, hops, queries, users and
urn.

Queries and users are of the last 30 days; users are the most in any one of the windows in which
they were counted.
"""


@click.command(epilog=_EPILOG)
@click.argument("urn", type=WORDS, shell_complete=complete_urns)
@click.option("--column", type=WORDS, metavar="PATH", help="When this column changes or goes.")
@click.option(
    "--by",
    "grouping",
    type=click.Choice(("type", "platform", "owner", "domain")),
    help="In groups, the largest first.",
)
@click.option(
    "--filter",
    "filters",
    type=WORDS,
    metavar="FILTER",
    multiple=True,
    help="Only what matches; given several times, all must be met.",
)
@click.option("--no-usage", is_flag=True, help="Do not ask how much each is used; faster.")
@click.option(
    "--top", type=click.IntRange(1), help=f"Only so many, the first.  [default: {_SHOWN} in tables]"
)
@click.option("--fail-if-any", is_flag=True, help="Exit with 1 when something is affected.")
@printed_as("json", "csv", "urns")
@asks_a_catalog
def impact(
    target: Target,
    urn: str,
    column: str | None,
    grouping: "Grouping | None",
    filters: tuple[str, ...],
    top: int | None,
    shown_as: Form | None,
    *,
    no_usage: bool,
    fail_if_any: bool,
) -> None:
    """Show what breaks downstream when an entity or a column goes.

    Up to 50 hops away, the most used first. URN may be that of a column.
    """
    from explorer.cli.flow import effects
    from explorer.cli.flow.flows import column_asked, read_choice
    from explorer.query.filters import Filter

    entity, path = column_asked(urn, column)
    if shown_as is None and top is None:
        top = _SHOWN
    with target.open() as catalog:
        narrowed_by = Filter()
        for one in filters:
            narrowed_by = narrowed_by.narrowed_by(read_choice(one, catalog.registry))
        found = effects.read_effects(
            catalog,
            entity,
            path,
            narrowed_by=narrowed_by,
            with_usage=not no_usage,
            most=None if grouping else top,
        )
    match shown_as:
        case "json":
            effects.print_as_json(found, top)
        case "csv":
            effects.print_as_csv(found, top)
        case "urns":
            effects.print_as_urns(found, top)
        case _:
            effects.print_for_people(found, grouping, top or _SHOWN)
    # Groups say for themselves what each leaves out.
    effects.say_how_many(found, None if grouping and not shown_as else top)
    if fail_if_any and effects.may_break(found):
        raise click.exceptions.Exit(1)
