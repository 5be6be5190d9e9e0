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

_DEEPEST = 20
_ENTITIES = click.option(
    "--entity",
    "entities",
    type=WORDS,
    metavar="TYPE",
    multiple=True,
    shell_complete=complete_types,
    help="Of this type only: dataset, chart, dashboard, …; several may be given.",
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

A folder's number counts what lies in it and in the folders below.
"""


@click.command(epilog=_BROWSE_EPILOG)
@click.argument("path", default="/", type=WORDS, shell_complete=complete_paths)
@_ENTITIES
@click.option(
    "--tree",
    "depth",
    type=click.IntRange(1, _DEEPEST),
    metavar="DEPTH",
    help="The folders as a tree, so many levels deep.",
)
@click.option(
    "--count",
    type=click.IntRange(1),
    help="How many at most; for people, as many as the terminal has lines.",
)
@click.option("--all", "everything", is_flag=True, help="All there are, however many.")
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
    """Walk the folders: those at PATH, and what lies in it.

    Folders come first, then datasets, charts and others with what they are and what is said of
    them. Without a PATH it begins at the top.
    """
    if count is not None and everything:
        raise click.UsageError("--count and --all exclude each other; give one of them")
    if depth is not None and (shown_as == "urns" or count is not None or everything):
        raise click.UsageError("--tree shows folders only, and all of them: leave out the other")
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


_MOST = 10_000

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
@format_options("urns", "json", "csv")
@catalog_options
def search(
    target: Target,
    text: tuple[str, ...],
    entities: tuple[str, ...],
    filters: tuple[str, ...],
    sorted_by: str,
    count: int,
    start: int,
    shown_as: OutputFormat | None,
    *,
    explains: bool,
) -> None:
    """Find what matches TEXT, best first.

    TEXT is words, or a field and what it holds, platform:hive; without it everything matches.
    Words are looked for in names, descriptions, columns and tags; the table's last column
    says where they were found. A word that nothing has is corrected, and that is said.
    """
    from explorer.cli.rendering import search
    from explorer.query import read_sort

    with target.open() as catalog:
        page = catalog.search(
            " ".join(text) or "*",
            entity=entities,
            narrowed_by=read_filters(filters, catalog),
            sorted_by=read_sort(sorted_by, catalog.registry),
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
