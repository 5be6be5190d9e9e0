"""`catalog search`"""

import click

from explorer.cli.parameters import WORDS
from explorer.cli.target import Target, asks_a_catalog

__all__ = ["search"]

_MOST = 10_000

_EPILOG = """
\b
Examples
  catalog search orders
  catalog search orders --entity dataset --filter platform=snowflake
  catalog search fieldPaths:order_id --urns --count 1000 > urns.txt
  catalog search --filter tags=PII --json | jq -r '.hits[].name'

A filter given twice for the same field asks for either value; filters on different fields must
all be met. FIELD!=VALUE asks for anything else. Fields are those of the model: platform, origin,
tags, owners, glossaryTerms, domains, typeNames, name and many more.
"""


@click.command(epilog=_EPILOG)
@click.argument("text", nargs=-1, type=WORDS)
@click.option(
    "--entity", type=WORDS, metavar="TYPE", help="Of one type only: dataset, chart, dashboard, …"
)
@click.option(
    "--filter",
    "filters",
    type=WORDS,
    metavar="FIELD=VALUE",
    multiple=True,
    help="Narrow the result; may be given several times.",
)
@click.option(
    "--count",
    type=click.IntRange(1, _MOST),
    default=20,
    show_default=True,
    help="How many at most.",
)
@click.option("--start", type=click.IntRange(0), default=0, help="How many to pass over.")
@click.option("--urns", "shown_as", flag_value="urns", help="Print URNs only, one a line.")
@click.option("--json", "shown_as", flag_value="json", help="Print one JSON object.")
@asks_a_catalog
def search(
    target: Target,
    text: tuple[str, ...],
    entity: str | None,
    filters: tuple[str, ...],
    count: int,
    start: int,
    shown_as: str | None,
) -> None:
    """Find what matches TEXT, best first.

    TEXT is words, or a field and what it holds, platform:hive; without it everything matches.
    Words are looked for in names, descriptions, columns and tags; the table's last column
    says where they were found.
    """
    from explorer.cli import hits
    from explorer.cli.filters import read_filters

    with target.open() as catalog:
        page = catalog.search(
            " ".join(text) or "*",
            entity=entity,
            narrowed_by=read_filters(filters, catalog.registry),
            start=start,
            count=count,
        )
        if shown_as == "urns":
            hits.print_urns(page)
            return
        summaries = catalog.summaries(hit.urn for hit in page)
    if shown_as == "json":
        hits.print_as_json(page, summaries)
    else:
        hits.print_table(page, summaries)
