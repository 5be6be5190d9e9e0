"""`catalog search` and `catalog browse`."""

import click

from explorer.cli.options import (
    WORDS,
    OutputFormat,
    Target,
    catalog_options,
    format_options,
    read_filters,
)
from explorer.cli.shell_completion import complete_filters, complete_paths, complete_types

__all__ = ["browse", "search"]

_MAX_DEPTH = 20
_ENTITIES = click.option(
    "--entity",
    "entities",
    type=WORDS,
    metavar="TYPE",
    multiple=True,
    shell_complete=complete_types,
    help="Only entities of this type: dataset, chart, dashboard, …; can be repeated.",
)

_BROWSE_EPILOG = """
\b
Examples
  catalog browse                                  (the folders at the top)
  catalog browse /prod/snowflake
  catalog browse /prod --tree 3
  catalog browse /prod/snowflake/raw/shop --urns --all | head
  catalog browse --entity chart --entity dashboard
  catalog browse /prod --tree 9 --csv > folders.csv

The number of a folder counts the entities in it and in all folders below it.
"""


@click.command(epilog=_BROWSE_EPILOG)
@click.argument("path", default="/", type=WORDS, shell_complete=complete_paths)
@_ENTITIES
@click.option(
    "--tree",
    "depth",
    type=click.IntRange(1, _MAX_DEPTH),
    metavar="DEPTH",
    help="Show the folders as a tree with this many levels.",
)
@click.option(
    "--count",
    type=click.IntRange(1),
    help="Maximum number of entries.  [default: those that fit the terminal, else 1,000]",
)
@click.option("--all", "everything", is_flag=True, help="Show all entries.")
@format_options("urns", "json", "csv")
@catalog_options
def browse(
    target: Target,
    path: str,
    entities: tuple[str, ...],
    depth: int | None,
    count: int | None,
    shown_as: OutputFormat | None,
    *,
    everything: bool,
) -> None:
    """List the folders and entities at PATH.

    Folders come first, then datasets, charts and other entities with their type and description.
    By default PATH is /, the top.
    """
    if count is not None and everything:
        raise click.UsageError("--count and --all cannot be combined; give only one of them")
    if depth is not None and (shown_as == "urns" or count is not None or everything):
        raise click.UsageError(
            "--tree shows only folders, and all of them; leave out --urns, --count and --all"
        )
    from explorer.cli.rendering import search

    wanted = None if everything else count
    if wanted is None and not everything:
        wanted = search.fitting(shown_as)
    with target.open() as catalog:
        if depth is not None:
            search.print_tree(search.read_tree(catalog, path, entities, depth), shown_as)
            return
        found = search.read_folder(catalog, path, entities, wanted)
        summaries = {} if shown_as == "urns" else catalog.summaries(found.urns)
    search.print_folder(found, summaries, shown_as)


_MAX_COUNT = 10_000

_SEARCH_EPILOG = """
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
  name:orders  tags:(PII, GDPR)       equals the value, or one of the values
  name:ord*  name:*ers  name:*rde*    starts with, ends with, contains
  name=~Orders                        equals, ignoring case
  rows>1000  rows:10..20              also >=, <, <=; dates are 2026-01-31
  tags:*  tags IS NULL                has a value, has no value
  owner:nina  owner:"Nina Weber"      ID or name of an owner
  is:undocumented                     also documented, owned, unowned,
                                      deprecated, removed
  AND  OR  NOT  -  ( )                AND can be omitted

If --filter is repeated, all filters must match. Put values with spaces or punctuation in "double
quotes". The fields are those of the metadata model: platform, origin, tags, owners, glossaryTerms,
domains, typeNames, name and many more.
"""


@click.command(epilog=_SEARCH_EPILOG)
@click.argument("text", nargs=-1, type=WORDS)
@_ENTITIES
@click.option(
    "--filter",
    "filters",
    type=WORDS,
    metavar="FILTER",
    multiple=True,
    shell_complete=complete_filters,
    help="Only entities that match, as in platform:hive; if repeated, all must match.",
)
@click.option(
    "--sort",
    type=WORDS,
    metavar="FIELDS",
    default="",
    help="Sort by these fields instead of by relevance: name, -rows for the most rows first, -use "
    "for the most used first.",
)
@click.option(
    "--count",
    type=click.IntRange(1, _MAX_COUNT),
    default=20,
    show_default=True,
    help="Maximum number of results.",
)
@click.option("--start", type=click.IntRange(0), default=0, help="Number of results to skip.")
@click.option(
    "--why",
    "explains",
    is_flag=True,
    help="Explain each result: its score, and the matched fields with their weights.",
)
@format_options("urns", "json", "csv")
@catalog_options
def search(
    target: Target,
    text: tuple[str, ...],
    entities: tuple[str, ...],
    filters: tuple[str, ...],
    sort: str,
    count: int,
    start: int,
    shown_as: OutputFormat | None,
    *,
    explains: bool,
) -> None:
    """Search the catalog for TEXT; the best matches come first.

    TEXT is words and conditions, as in orders platform:hive; conditions are written as in --filter.
    Without TEXT everything matches. Words are searched in names, descriptions, columns and tags;
    the last column of the table lists the fields that matched. If a word has no match, its spelling
    is corrected, with a message.
    """
    from explorer.cli.rendering import search
    from explorer.query import read_sort
    from explorer.query.fields import guide_to
    from explorer.query.search_text import SearchText

    with target.open() as catalog:
        query = SearchText.split(" ".join(text), guide_to(catalog.registry))
        page = catalog.search(
            query.words or "*",
            entity=entities,
            filter=query.filter(catalog.registry).and_(read_filters(filters, catalog)),
            sort=read_sort(sort, catalog.registry),
            start=start,
            count=count,
        )
        if shown_as == "urns":
            search.print_urns(page)
            return
        summaries = catalog.summaries(hit.urn for hit in page)
    if shown_as == "json":
        search.print_as_json(page, summaries)
    elif shown_as == "csv":
        search.print_as_csv(page, summaries)
    elif explains:
        search.print_reasons(page, summaries)
    else:
        search.print_table(page, summaries)
