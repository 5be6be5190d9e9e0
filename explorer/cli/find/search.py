"""`catalog search`"""

import click

from explorer.cli.forms import Form, printed_as
from explorer.cli.parameters import WORDS
from explorer.cli.shell.completions import complete_filters, complete_types
from explorer.cli.target import Target, asks_a_catalog

__all__ = ["search"]

_MOST = 10_000

_EPILOG = """
\b
Examples
  catalog search orders
  catalog search orders --entity dataset --filter platform:snowflake
  catalog search --filter 'tags:(PII, GDPR) and not owners:*' --sort -rows
  catalog search --filter 'rows>1000 (name:fct_* or lastModified>=2026-01-01)'
  catalog search --filter 'type:dataset is:undocumented' --sort -use
  catalog search --filter 'owner:"Nina Weber" rows:1000..50000'
  catalog search fieldPaths:order_id --urns --count 1000 > urns.txt
  catalog search --filter tags:PII --json | jq -r '.hits[].name'
  catalog search revenue --entity chart --entity dashboard --csv > revenue.csv

\b
Filters
  name:orders  tags:(PII, GDPR)       is, or is one of
  name:ord*  name:*ers  name:*rde*    begins with, ends in, holds
  name=~Orders                        is, ignoring case
  rows>1000  rows:10..20              also >=, <, <=; dates read 2026-01-31
  tags:*  tags IS NULL                has a value, has none
  owner:nina  owner:"Nina Weber"      by the id or the name of an owner
  is:undocumented                     also documented, owned, unowned,
                                      deprecated, removed
  AND  OR  NOT  -  ( )                AND may be left out

When --filter is given several times, all must be met. A value with spaces or signs in it stands
in "double quotes". Fields are those of the model: platform, origin, tags, owners, glossaryTerms,
domains, typeNames, name and many more.
"""


@click.command(epilog=_EPILOG)
@click.argument("text", nargs=-1, type=WORDS)
@click.option(
    "--entity",
    "entities",
    type=WORDS,
    metavar="TYPE",
    multiple=True,
    shell_complete=complete_types,
    help="Of this type only: dataset, chart, dashboard, …; several may be given.",
)
@click.option(
    "--filter",
    "filters",
    type=WORDS,
    metavar="FILTER",
    multiple=True,
    shell_complete=complete_filters,
    help="Narrow the result, as in platform:hive; given several times, all must be met.",
)
@click.option(
    "--sort",
    "sorted_by",
    type=WORDS,
    metavar="FIELDS",
    default="",
    help="Not the best first but in this order: name, -rows for the largest first, -use for the "
    "most used.",
)
@click.option(
    "--count",
    type=click.IntRange(1, _MOST),
    default=20,
    show_default=True,
    help="How many at most.",
)
@click.option("--start", type=click.IntRange(0), default=0, help="How many to pass over.")
@click.option(
    "--why",
    "explains",
    is_flag=True,
    help="Show why each was found: its score, the fields that matched and what they weigh.",
)
@printed_as("urns", "json", "csv")
@asks_a_catalog
def search(
    target: Target,
    text: tuple[str, ...],
    entities: tuple[str, ...],
    filters: tuple[str, ...],
    sorted_by: str,
    count: int,
    start: int,
    shown_as: Form | None,
    *,
    explains: bool,
) -> None:
    """Find what matches TEXT, best first.

    TEXT is words, or a field and what it holds, platform:hive; without it everything matches.
    Words are looked for in names, descriptions, columns and tags; the table's last column
    says where they were found. A word that nothing has is corrected, and that is said.
    """
    from explorer.cli.find import hits
    from explorer.query import read_filter, read_sort
    from explorer.query.filters import Filter

    with target.open() as catalog:
        narrowed_by = Filter()
        for one in filters:
            narrowed_by = narrowed_by.narrowed_by(read_filter(one, catalog.registry))
        page = catalog.search(
            " ".join(text) or "*",
            entity=entities,
            narrowed_by=narrowed_by,
            sorted_by=read_sort(sorted_by, catalog.registry),
            start=start,
            count=count,
        )
        if shown_as == "urns":
            hits.print_urns(page)
            return
        summaries = catalog.summaries(hit.urn for hit in page)
    if shown_as == "json":
        hits.print_as_json(page, summaries)
    elif shown_as == "csv":
        hits.print_as_csv(page, summaries)
    elif explains:
        hits.print_reasons(page, summaries)
    else:
        hits.print_table(page, summaries)
