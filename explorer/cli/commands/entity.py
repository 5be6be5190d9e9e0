"""`catalog get`, `schema`, `usage`, `profile-stats`, `history`, `blame` and `diff`: what is known
of one entity.
"""

import click

from explorer.cli.options import (
    WORDS,
    OutputFormat,
    Period,
    Target,
    catalog_options,
    format_options,
    period_options,
)
from explorer.cli.shell_completion import complete_aspects, complete_columns, complete_urns

__all__ = ["blame", "diff", "get", "history", "schema", "usage"]

_SCHEMA_EPILOG = """
\b
Examples
  catalog schema 'urn:li:dataset:(urn:li:dataPlatform:hive,db.orders,PROD)'
  catalog schema URN --undocumented
  catalog schema URN --tag PII --match email
  catalog schema URN --version 1
  catalog schema URN --csv | cut -d, -f1
  catalog search orders --urns | head -1 | catalog schema -

JSON and CSV have the exact path of each column as `path`, and as people write it as `name`.
"""


@click.command(epilog=_SCHEMA_EPILOG)
@click.argument("urn", type=WORDS, shell_complete=complete_urns)
@click.option("--undocumented", is_flag=True, help="Only columns that nobody described.")
@click.option(
    "--tag",
    "tags",
    type=WORDS,
    metavar="TAG",
    multiple=True,
    help="Only columns with this tag or glossary term: its name or URN.",
)
@click.option(
    "--match",
    type=WORDS,
    metavar="TEXT",
    help="Only columns with TEXT in the path or description, whatever the case.",
)
@click.option(
    "--version",
    type=click.IntRange(0),
    help="The schema as that version of it says; 0 is the latest, 1 the oldest.",
)
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

    With their types, keys, tags, glossary terms and descriptions; ✎ stands before a description
    that people wrote over what ingestion says.
    """
    from explorer.cli.options import read_existing, read_urn
    from explorer.cli.rendering import entity

    with target.open() as catalog:
        urn = read_urn(urn)
        if version:
            found = entity.read_version(catalog, urn, version)
        else:
            found = entity.checked(read_existing(catalog, urn))
    wanted = entity.Wanted(tags, match or "", undocumented=undocumented)
    entity.print_schema(found, wanted, shown_as, version=version or 0)


_USAGE_EPILOG = """
\b
Examples
  catalog usage 'urn:li:dataset:(urn:li:dataPlatform:hive,db.orders,PROD)'
  catalog usage URN --days 7
  catalog usage URN --from 2026-01-01 --to 2026-03-31 --csv > quarter.csv
  catalog usage URN --json | jq '.users[0]'

Days are those of UTC. A day with no line was not measured.
"""


@click.command(epilog=_USAGE_EPILOG)
@click.argument("urn", type=WORDS, shell_complete=complete_urns)
@period_options(30)
@click.option(
    "--top",
    type=click.IntRange(0),
    default=5,
    show_default=True,
    help="How many users and columns; JSON has them all.",
)
@format_options("json", "csv")
@catalog_options
def usage(
    target: Target, urn: str, period: Period, top: int, shown_as: OutputFormat | None
) -> None:
    """Show how much something is used, day by day, and by whom.

    Queries of a dataset, views of a chart or dashboard.
    """
    from explorer.cli.options import read_known_names, read_urn
    from explorer.cli.rendering import usage
    from explorer.metadata.urn import Urn
    from explorer.views.timeseries import usage_of

    with target.open() as catalog:
        urn = read_urn(urn)
        series = catalog.usage(urn, start=period.start, end=period.end)
        found = usage_of(series)
        users = Urn.parse_all(user for user, _ in found.users[:top])
        names = read_known_names(catalog, users) if shown_as is None else {}
    usage.print_usage(urn, found, names, period, top, shown_as)


_PROFILE_STATS_EPILOG = """
\b
Examples
  catalog profile-stats URN
  catalog profile-stats URN --column shipping.zip
  catalog profile-stats URN --days 30               (rows and size over time)
  catalog profile-stats URN --column amount --from 2026-01-01 --csv
  catalog profile-stats URN --json | jq '.columns[] | select(.nulls > 0)'

JSON and CSV have the numbers as profiling wrote them.
"""


@click.command("profile-stats", epilog=_PROFILE_STATS_EPILOG)
@click.argument("urn", type=WORDS, shell_complete=complete_urns)
@click.option(
    "--column",
    type=WORDS,
    metavar="PATH",
    shell_complete=complete_columns,
    help="What was measured of this column over time.",
)
@period_options(None)
@format_options("json", "csv")
@catalog_options
def profile_stats(
    target: Target, urn: str, column: str | None, period: Period, shown_as: OutputFormat | None
) -> None:
    """Show what profiling measured of a dataset and its columns.

    The newest profile; with --column or a period all profiles, a line each.
    """
    from explorer.cli.options import read_urn
    from explorer.cli.rendering import usage

    with target.open() as catalog:
        urn = read_urn(urn)
        newest = column is None and period == Period()
        series = usage.read_profiles(catalog, urn, period, newest=newest)
    if newest:
        usage.print_newest(urn, series, shown_as)
    elif column is None:
        usage.print_rows(urn, series, period, shown_as)
    else:
        usage.print_column(urn, series, column, period, shown_as)


_HISTORY_EPILOG = """
\b
Examples
  catalog history 'urn:li:dataset:(urn:li:dataPlatform:hive,db.orders,PROD)'
  catalog history URN --aspect ownership
  catalog history URN --column shipping.zip    (who described it, and how)
  catalog history URN --aspect status --json | jq '.versions[0].changes'

Version 0 is the latest, 1 the oldest. catalog diff shows what one changed.
"""


@click.command(epilog=_HISTORY_EPILOG)
@click.argument("urn", type=WORDS, shell_complete=complete_urns)
@click.option(
    "--aspect",
    "aspects",
    type=WORDS,
    metavar="NAME",
    multiple=True,
    shell_complete=complete_aspects,
    help="Of this aspect only; several may be given.",
)
@click.option(
    "--column",
    type=WORDS,
    metavar="PATH",
    shell_complete=complete_columns,
    help="What this column's description said, and who wrote it.",
)
@click.option(
    "--count",
    type=click.IntRange(1, 1_000),
    default=20,
    show_default=True,
    help="How many at most.",
)
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
    """List what was changed of an entity, when and by whom.

    Newest first, with what each version changed of the one before it. Without --aspect it reads
    every aspect that the entity has.
    """
    if column is not None and aspects:
        raise click.UsageError("--column and --aspect exclude each other; give one of them")
    from explorer.cli.options import read_urn
    from explorer.cli.rendering import entity

    with target.open() as catalog:
        urn = read_urn(urn)
        if column is not None:
            path, changes, names = entity.read_column(catalog, urn, column)
        else:
            found = entity.read_steps(catalog, urn, aspects, count)
    if column is not None:
        entity.print_column(urn, path, changes, names, count, shown_as)
    else:
        entity.print_steps(found, shown_as)


_BLAME_EPILOG = """
\b
Examples
  catalog blame 'urn:li:dataset:(urn:li:dataPlatform:hive,db.orders,PROD)'
  catalog blame URN --json | jq '.columns[] | select(.who == null) | .name'

catalog history URN --column PATH shows what else a column's description said.
"""


@click.command(epilog=_BLAME_EPILOG)
@click.argument("urn", type=WORDS, shell_complete=complete_urns)
@format_options("json", "csv")
@catalog_options
def blame(target: Target, urn: str, shown_as: OutputFormat | None) -> None:
    """Show who gave each column its description, and when.

    In the order of the schema: what people wrote where they wrote any, else what was ingested.
    """
    from explorer.cli.options import read_actor_names, read_existing, read_urn
    from explorer.cli.rendering import entity

    with target.open() as catalog:
        dataset = entity.checked(read_existing(catalog, read_urn(urn)))
        blamed = catalog.blame(dataset.urn)
        names = read_actor_names(catalog, (one.created for one in blamed.values()))
    entity.print_blame(dataset, blamed, names, shown_as)


_DIFF_EPILOG = """
\b
Examples
  catalog diff URN --aspect schemaMetadata           (what the latest changed)
  catalog diff URN --aspect ownership --older 1      (all since the first)
  catalog diff URN --aspect ownership --older 3 --newer 4
  catalog diff URN --aspect schemaMetadata --json | jq -r '.changes[].place'

Version 0 is the latest, 1 the oldest; -1 is the one before the latest. The exit code is 0 whether
anything differs or not.
"""


@click.command(epilog=_DIFF_EPILOG)
@click.argument("urn", type=WORDS, shell_complete=complete_urns)
@click.option(
    "--aspect",
    type=WORDS,
    metavar="NAME",
    required=True,
    shell_complete=complete_aspects,
    help="The aspect whose versions are compared.",
)
@click.option("--older", type=int, default=-1, show_default=True, help="The version before.")
@click.option("--newer", type=int, default=0, show_default=True, help="The version after.")
@format_options("json")
@catalog_options
def diff(
    target: Target, urn: str, aspect: str, older: int, newer: int, shown_as: OutputFormat | None
) -> None:
    """Show what differs between two versions of an aspect.

    Place by place: lines with - say what was, lines with + what is.
    """
    from explorer.cli.options import read_urn
    from explorer.cli.rendering import entity

    with target.open() as catalog:
        found, names = entity.read_difference(catalog, read_urn(urn), aspect, older, newer)
    entity.print_difference(found, names, shown_as)


_GET_EPILOG = """
\b
Examples
  catalog get 'urn:li:dataset:(urn:li:dataPlatform:hive,db.orders,PROD)'
  catalog get URN --aspect ownership --aspect globalTags
  catalog get URN --aspect schemaMetadata --version 1
  catalog get URN --json | jq .aspects.upstreamLineage.value
  catalog search orders --urns | head -1 | catalog get -

Version 0 is the latest; the others count upwards from 1, the oldest.
"""


@click.command(epilog=_GET_EPILOG)
@click.argument("urn", type=WORDS, shell_complete=complete_urns)
@click.option(
    "--aspect",
    "aspects",
    type=WORDS,
    metavar="NAME",
    multiple=True,
    shell_complete=complete_aspects,
    help="This aspect as it is stored.",
)
@click.option("--version", type=click.IntRange(0), help="That version of the one aspect named.")
@click.option("--json", "as_json", is_flag=True, help="Print the raw aspects as one JSON object.")
@catalog_options
def get(
    target: Target, urn: str, aspects: tuple[str, ...], version: int | None, *, as_json: bool
) -> None:
    """Show one entity: owners, what is wrong, description, columns, links.

    What ingestion says and what people wrote over it are both shown, and marked.
    """
    if version is not None and len(aspects) != 1:
        raise click.UsageError("--version needs exactly one --aspect")
    from explorer.cli.options import (
        aspects_named,
        read_actor_names,
        read_existing,
        read_names,
        read_urn,
    )
    from explorer.cli.rendering.entity import print_aspects, print_entity

    urn = read_urn(urn)
    with target.open() as catalog:
        if version is not None:
            read = catalog.aspect(urn, aspects[0], version)
            names = read_actor_names(catalog, () if as_json else [read.created])
            print_aspects(urn, [read], names, as_json=as_json)
            return
        entity = read_existing(catalog, urn)
        if aspects or as_json:
            found = aspects_named(entity, aspects)
            stamps = () if as_json else [one.created for one in found]
            names = read_actor_names(catalog, stamps)
            print_aspects(entity.urn, found, names, as_json=as_json)
            return
        names = read_names(catalog, entity)
        health = catalog.health(entity.urn)
    print_entity(entity, names, health)
