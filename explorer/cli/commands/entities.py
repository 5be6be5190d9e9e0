"""Commands that find and show entities: `catalog search` and `browse`; `get`, `schema`, `usage`,
`profile-stats`, `history`, `blame` and `diff`, which show one entity.
"""

from typing import TYPE_CHECKING

import click

from explorer.cli import options
from explorer.cli.options import (
    WORDS,
    OutputFormat,
    Period,
    Target,
    budget_options,
    catalog_options,
    format_options,
    period_options,
    read_filters,
)
from explorer.cli.sections import FIND
from explorer.cli.shell_completion import (
    complete_aspects,
    complete_columns,
    complete_filters,
    complete_paths,
    complete_types,
)
from explorer.errors import InvalidInput

if TYPE_CHECKING:
    from explorer.client import Catalog
    from explorer.client.entity import Entity
    from explorer.client.records import Timeseries

_ENTITIES = click.option(
    "--entity",
    "entities",
    type=WORDS,
    metavar="TYPE",
    multiple=True,
    shell_complete=complete_types,
    help="Only entities of this type: dataset, chart, dashboard, …; can be repeated.",
)

_MAX_RESULTS = 10_000

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
  catalog search --columns customer email
  catalog search revenue --entity chart --entity dashboard --csv > revenue.csv

\b
Filters
  name:orders  tags:(PII, GDPR)       equals the value, or one of the values
  name:ord*  name:*ers  name:*rde*    starts with, ends with, contains
  name=~Orders                        equals, ignoring case
  domain:Finance/*                    it and its sub-domains; containers
                                      and groups of terms likewise
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


@FIND.command(epilog=_SEARCH_EPILOG)
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
    help="Sort by these fields instead of by relevance: name, usage for the most used first, "
    "rows for the most rows, -updated or 'updated desc' for the last changed.",
)
@click.option(
    "--count",
    type=click.IntRange(1, _MAX_RESULTS),
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
@click.option(
    "--columns", is_flag=True, help="List columns, with their tables, instead of entities."
)
@budget_options
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
    columns: bool,
) -> None:
    """Search the catalog for TEXT; the best matches come first.

    TEXT is words and conditions, as in orders platform:hive; conditions are written as in --filter.
    Without TEXT everything matches. Words are searched in names, descriptions, columns and tags;
    the last column of the table lists the fields that matched. If a word has no match, its spelling
    is corrected, with a message. Where few have all words, those that have most follow, except with
    --urns. A URN among the words finds the entity and all that refer to it.

    With --columns the results are columns of the datasets that are found: those that have a word of
    TEXT in their name, description, tags or terms.
    """
    from explorer.cli.output import note, show
    from explorer.sessions.search import NO_NAMES, Query, find, read_entities
    from explorer.views.search import search_report

    with target.open() as catalog:
        query = Query(
            " ".join(text), read_filters(filters, catalog), sort, entities, columns=columns
        )
        page = catalog.wait(find(catalog.core, query, start, count))
        summaries = {} if shown_as == "urns" else catalog.wait(read_entities(catalog.core, page))
    if summaries is None:
        note(f"warning: {NO_NAMES}")
    only_urns = shown_as == "urns"
    show(search_report(page, summaries or {}, explains=explains, only_urns=only_urns), shown_as)


_MAX_DEPTH = 20

_BROWSE_EPILOG = """
\b
Examples
  catalog browse                                  (the folders at the top)
  catalog browse /prod/snowflake
  catalog browse /prod --tree 3
  catalog browse /prod/snowflake/raw/shop --urns --all | head
  catalog browse --entity chart --entity dashboard
  catalog browse /prod --tree 9 --csv > folders.csv

The number of a folder counts the entities in it and in all folders below it. A slash in the name
of a folder is written \\/.
"""


@FIND.command(epilog=_BROWSE_EPILOG)
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
@budget_options
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
    from explorer.cli.output import page_size, show
    from explorer.client.folders import list_folder, read_folder_tree
    from explorer.views.search import folder_report, folder_tree_report

    if not everything:
        count = count or page_size(shown_as)
    with target.open() as catalog:
        if depth is not None:
            trees = catalog.wait(read_folder_tree(catalog.core, path, entities, depth))
            show(folder_tree_report(trees), shown_as)
            return
        listing = catalog.wait(list_folder(catalog.core, path, entities, count))
        only_urns = shown_as == "urns"
        summaries = {} if only_urns else catalog.summaries(listing.urns)
    show(folder_report(listing, summaries, only_urns=only_urns), shown_as)


_GET_EPILOG = """
\b
Examples
  catalog get 'urn:li:dataset:(urn:li:dataPlatform:hive,db.orders,PROD)'
  catalog get URN --aspect ownership --aspect globalTags
  catalog get URN --aspect schemaMetadata --version 1
  catalog get URN --json | jq .aspects.upstreamLineage.value
  catalog search orders --urns | head -1 | catalog get -

Version 0 is the latest; the others are numbered from 1, the oldest.
"""


@FIND.command(epilog=_GET_EPILOG)
@options.entity
@click.option(
    "--aspect",
    "aspects",
    type=WORDS,
    metavar="NAME",
    multiple=True,
    shell_complete=complete_aspects,
    help="Show this aspect as it is stored; can be repeated.",
)
@click.option(
    "--version", type=click.IntRange(0), help="Show this version of the aspect given by --aspect."
)
@click.option("--json", "as_json", is_flag=True, help="Print the raw aspects as one JSON object.")
@catalog_options
def get(
    target: Target, urn: str, aspects: tuple[str, ...], version: int | None, *, as_json: bool
) -> None:
    """Show one entity: health, owners, description, columns and links.

    Ingested descriptions and those edited in the catalog are both shown and marked.
    """
    if version is not None and len(aspects) != 1:
        raise click.UsageError("--version needs exactly one --aspect")
    from explorer.cli.options import (
        find_aspects,
        read_actor_names,
        read_existing,
        read_names,
        read_urn,
    )
    from explorer.cli.output import show
    from explorer.views.entity import aspects_report, entity_report

    with target.open() as catalog:
        urn = read_urn(catalog, urn)
        if version is not None:
            chosen_aspects = [catalog.aspect(urn, aspects[0], version)]
        else:
            entity = read_existing(catalog, urn)
            urn = str(entity.urn)
            chosen_aspects = find_aspects(entity, aspects)
        if aspects or as_json:
            stamps = () if as_json else [aspect.created for aspect in chosen_aspects]
            names = read_actor_names(catalog, stamps)
            report = aspects_report(urn, chosen_aspects, names)
        else:
            report = entity_report(entity, read_names(catalog, entity), catalog.health(urn))
    show(report, "json" if as_json else None)


_SCHEMA_EPILOG = """
\b
Examples
  catalog schema 'urn:li:dataset:(urn:li:dataPlatform:hive,db.orders,PROD)'
  catalog schema orders --undocumented   (by name)
  catalog schema URN --tag PII --match email
  catalog schema URN --version 1
  catalog schema URN --csv | cut -d, -f1
  catalog search orders --urns | head -1 | catalog schema -
  catalog search --columns customer email --urns | head -1 | catalog schema -

In JSON and CSV, `path` is the exact field path of a column and `name` its simple form, a.b.c.
"""


@FIND.command(epilog=_SCHEMA_EPILOG)
@options.entity
@click.option("--undocumented", is_flag=True, help="Only columns without a description.")
@click.option(
    "--tag",
    "tags",
    type=WORDS,
    metavar="TAG",
    multiple=True,
    help="Only columns with this tag or glossary term, given by name or URN; can be repeated.",
)
@click.option(
    "--match",
    type=WORDS,
    metavar="TEXT",
    help="Only columns with TEXT in their path or description, ignoring case.",
)
@click.option(
    "--version",
    type=click.IntRange(0),
    help="Show this version of the schema; 0 is the latest, 1 the oldest.",
)
@budget_options
@format_options("json", "csv")
@catalog_options
def schema(
    target: Target,
    urn: str,
    tags: tuple[str, ...],
    match: str | None,
    version: int | None,
    shown_as: OutputFormat | None,
    *,
    undocumented: bool,
) -> None:
    """Show the columns of a dataset as a tree.

    Shows the type, key, tags, glossary terms and description of each column. ✎ marks descriptions
    that were edited in the catalog and replace the ingested ones. The URN of a column, as search
    --columns prints it, shows that column alone.
    """
    from explorer.cli.options import read_existing, read_label_names, read_urn
    from explorer.cli.output import show
    from explorer.client.entity import Entity
    from explorer.metadata.urn import Urn
    from explorer.views.columns import schema_report, select_columns

    with target.open() as catalog:
        urn, path = _split_column(read_urn(catalog, urn))
        if version:
            aspect = catalog.aspect(urn, _SCHEMA_ASPECT, version)
            dataset = Entity(Urn.parse(urn), {_SCHEMA_ASPECT: aspect}, aspect.as_of)
        else:
            dataset = read_existing(catalog, urn)
        _require_dataset(dataset)
        # Output for programs has URNs instead of names.
        names = read_label_names(catalog, dataset.schema) if tags or shown_as is None else {}
    columns = select_columns(
        dataset.schema, names, tags=tags, text=match or "", path=path, undocumented=undocumented
    )
    show(schema_report(dataset, columns, names, version=version or 0), shown_as)


_SCHEMA_ASPECT = "schemaMetadata"


def _split_column(text: str) -> tuple[str, str]:
    """Split the URN of a column into the URN of its dataset and the field path; for another URN the
    path is empty."""
    from explorer.metadata.urn import Urn

    urn = Urn.parse(text)
    if urn.entity_type != "schemaField" or len(urn.parts) < len(("dataset", "path")):
        return text, ""
    return urn.parts[0], urn.parts[1]


def _require_dataset(entity: "Entity") -> None:
    if entity.entity_type != "dataset":
        raise InvalidInput(
            f"only datasets have columns; {entity.urn} has the type {entity.entity_type}"
        )


_USAGE_EPILOG = """
\b
Examples
  catalog usage 'urn:li:dataset:(urn:li:dataPlatform:hive,db.orders,PROD)'
  catalog usage orders --days 7         (by name)
  catalog usage URN --from 2026-01-01 --to 2026-03-31 --csv > quarter.csv
  catalog usage URN --json | jq '.users[0]'

Days are in UTC. Days without measurements are left out.
"""


@FIND.command(epilog=_USAGE_EPILOG)
@options.entity
@period_options(30)
@click.option(
    "--top",
    type=click.IntRange(0),
    default=5,
    show_default=True,
    help="Number of users, columns and queries to list; JSON always has all of them.",
)
@budget_options
@format_options("json", "csv")
@catalog_options
def usage(
    target: Target, urn: str, period: Period, top: int, shown_as: OutputFormat | None
) -> None:
    """Show daily usage of an entity, and who uses it.

    Counts the queries of a dataset, and the views of a chart or dashboard.
    """
    from explorer.cli.options import read_urn, try_read_names
    from explorer.cli.output import show
    from explorer.metadata.urn import Urn
    from explorer.views.timeseries import usage_of, usage_report

    with target.open() as catalog:
        urn = read_urn(catalog, urn)
        series = catalog.usage(urn, start=period.start, end=period.end)
        counts = usage_of(series)
        users = Urn.parse_all(user for user, _ in counts.users[:top])
        names = try_read_names(catalog, users) if shown_as is None else {}
    show(usage_report(urn, counts, names, period.phrase, top), shown_as)


_PROFILE_STATS_EPILOG = """
\b
Examples
  catalog profile-stats URN
  catalog profile-stats URN --column shipping.zip
  catalog profile-stats URN --days 30               (rows and size over time)
  catalog profile-stats URN --column amount --from 2026-01-01 --csv
  catalog profile-stats URN --json | jq '.columns[] | select(.nulls > 0)'

JSON and CSV have the values exactly as they were profiled.
"""


@FIND.command("profile-stats", epilog=_PROFILE_STATS_EPILOG)
@options.entity
@click.option(
    "--column",
    type=WORDS,
    metavar="PATH",
    shell_complete=complete_columns,
    help="Show the statistics of this column over time.",
)
@period_options(None)
@budget_options
@format_options("json", "csv")
@catalog_options
def profile_stats(
    target: Target, urn: str, column: str | None, period: Period, shown_as: OutputFormat | None
) -> None:
    """Show the profiling statistics of a dataset and its columns.

    By default it shows the latest profile; with --column or a period, all profiles, one per line.
    """
    from explorer.cli.options import read_urn
    from explorer.cli.output import show
    from explorer.views import timeseries as views

    with target.open() as catalog:
        urn = read_urn(catalog, urn)
        newest = column is None and period == Period()
        series = _read_profiles(catalog, urn, period, newest=newest)
    if newest:
        report = views.newest_profile_report(urn, series)
    elif column is None:
        report = views.profiles_report(urn, series, period.phrase)
    else:
        report = views.column_profile_report(urn, series, column, period.phrase)
    show(report, shown_as)


def _read_profiles(catalog: "Catalog", urn: str, period: Period, *, newest: bool) -> "Timeseries":
    """Return the profiles of a period, oldest first, or, with `newest`, only the latest profile,
    unless it has no columns or covers only a part of the table. Makes one request, or two.

    Raises `InvalidInput` if the entity is not a dataset.
    """
    from explorer.metadata.urn import Urn
    from explorer.views.timeseries import needs_older

    kind = Urn.parse(urn).entity_type
    if kind != "dataset":
        raise InvalidInput(f"only datasets have profiles; {urn} has the type {kind}")
    if newest:
        latest = catalog.timeseries(urn, "datasetProfile", latest=True)
        return catalog.profiles(urn) if needs_older(latest) else latest
    return catalog.profiles(urn, start=period.start, end=period.end)


_HISTORY_EPILOG = """
\b
Examples
  catalog history 'urn:li:dataset:(urn:li:dataPlatform:hive,db.orders,PROD)'
  catalog history orders --aspect ownership
  catalog history URN --column shipping.zip    (changes of its description)
  catalog history URN --aspect status --json | jq '.versions[0].changes'

Version 0 is the latest, 1 the oldest. To compare two versions, use catalog diff.
"""


@FIND.command(epilog=_HISTORY_EPILOG)
@options.entity
@click.option(
    "--aspect",
    "aspects",
    type=WORDS,
    metavar="NAME",
    multiple=True,
    shell_complete=complete_aspects,
    help="Only changes of this aspect; can be repeated.",
)
@click.option(
    "--column",
    type=WORDS,
    metavar="PATH",
    shell_complete=complete_columns,
    help="Show the changes of this column's description, and their authors.",
)
@click.option(
    "--count",
    type=click.IntRange(1, 1_000),
    default=20,
    show_default=True,
    help="Maximum number of changes.",
)
@budget_options
@format_options("json", "csv")
@catalog_options
def history(
    target: Target,
    urn: str,
    aspects: tuple[str, ...],
    column: str | None,
    count: int,
    shown_as: OutputFormat | None,
) -> None:
    """List the changes to an entity, with date and author.

    The newest change comes first. Each line summarizes the differences to the previous version of
    that aspect. By default all aspects of the entity are included.
    """
    if column is not None and aspects:
        raise click.UsageError("--column and --aspect cannot be combined; give only one of them")
    from explorer.cli.options import (
        column_at,
        find_aspects,
        read_actor_names,
        read_existing,
        read_urn,
    )
    from explorer.cli.output import show
    from explorer.views.history import (
        AspectHistory,
        VersionStep,
        column_changes_report,
        steps_report,
    )

    with target.open() as catalog:
        urn = read_urn(catalog, urn)
        entity = read_existing(catalog, urn)
        if column is not None:
            path = column_at(entity, column).path.raw
            changes = catalog.column_history(urn, path)
            names = read_actor_names(catalog, (change.created for change in changes))
            show(column_changes_report(urn, path, changes, names, count), shown_as)
            return
        steps: list[VersionStep] = []
        totals: list[int | None] = []
        for aspect in find_aspects(entity, tuple(dict.fromkeys(aspects))):
            if aspects or not aspect.name.endswith("Key"):
                # One more version is needed to compute what the oldest one shown changed.
                page = catalog.versions(urn, aspect.name, count=count + 1)
                versions = AspectHistory(aspect.name).with_page(page)
                steps += versions.steps[:count]
                totals.append(versions.total)
        steps.sort(key=lambda step: step.millis, reverse=True)
        del steps[count:]
        names = read_actor_names(catalog, (step.version.created for step in steps))
    total = None if None in totals else sum(filter(None, totals))
    show(steps_report(entity.urn, steps, total, names), shown_as)


_BLAME_EPILOG = """
\b
Examples
  catalog blame 'urn:li:dataset:(urn:li:dataPlatform:hive,db.orders,PROD)'
  catalog blame URN --json | jq '.columns[] | select(.who == null) | .name'

To see earlier descriptions of a column, use catalog history URN --column PATH.
"""


@FIND.command(epilog=_BLAME_EPILOG)
@options.entity
@budget_options
@format_options("json", "csv")
@catalog_options
def blame(target: Target, urn: str, shown_as: OutputFormat | None) -> None:
    """Show who wrote each column's description, and when.

    Columns are in schema order. If a description was edited in the catalog, the edit counts;
    otherwise the ingestion that wrote it.
    """
    from explorer.cli.options import read_actor_names, read_existing, read_urn
    from explorer.cli.output import show
    from explorer.views.history import blame_report

    with target.open() as catalog:
        dataset = read_existing(catalog, read_urn(catalog, urn))
        _require_dataset(dataset)
        blamed = catalog.blame(dataset.urn)
        names = read_actor_names(catalog, (change.created for change in blamed.values()))
    show(blame_report(dataset, blamed, names), shown_as)


_DIFF_EPILOG = """
\b
Examples
  catalog diff URN --aspect schemaMetadata           (the latest change)
  catalog diff URN --aspect ownership --older 1      (all changes so far)
  catalog diff URN --aspect ownership --older 3 --newer 4
  catalog diff URN --aspect schemaMetadata --json | jq -r '.changes[].place'

Version 0 is the latest, 1 the oldest, -1 the one before the latest. The exit code is 0 whether or
not the versions differ.
"""


@FIND.command(epilog=_DIFF_EPILOG)
@options.entity
@click.option(
    "--aspect",
    type=WORDS,
    metavar="NAME",
    required=True,
    shell_complete=complete_aspects,
    help="The aspect to compare.",
)
@click.option("--older", type=int, default=-1, show_default=True, help="The older version.")
@click.option("--newer", type=int, default=0, show_default=True, help="The newer version.")
@format_options("json")
@catalog_options
def diff(
    target: Target, urn: str, aspect: str, older: int, newer: int, shown_as: OutputFormat | None
) -> None:
    """Show the differences between two versions of an aspect.

    For each place that differs, lines with - are the older value and lines with + the newer one.
    """
    from explorer.cli.options import read_actor_names, read_urn
    from explorer.cli.output import show
    from explorer.views.history import difference_report

    with target.open() as catalog:
        difference = catalog.diff(read_urn(catalog, urn), aspect, older, newer)
        stamps = (difference.older.created, difference.newer.created)
        names = read_actor_names(catalog, stamps)
    show(difference_report(difference, names), shown_as)
