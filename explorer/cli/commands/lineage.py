"""`catalog lineage`, `impact`, `path` and `relationships`: how entities are connected."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

import click

from explorer.cli import options
from explorer.cli.options import (
    ENTITY,
    WORDS,
    OutputFormat,
    Target,
    budget_options,
    catalog_options,
    filter_option,
    format_options,
)
from explorer.cli.sections import EXPLORE
from explorer.errors import InvalidInput

if TYPE_CHECKING:
    from explorer.client import Catalog
    from explorer.client.records import Direction
    from explorer.graph import Extent
    from explorer.graph.analysis import Grouping
    from explorer.query.filters import Filter
    from explorer.views.lineage import ImpactView, SchemaChangesView

_IMPACT_SHOWN: Final = 50

_IMPACT_EPILOG = """
\b
Examples
  catalog impact 'urn:li:dataset:(urn:li:dataPlatform:hive,db.orders,PROD)'
  catalog impact orders --column order_id --by owner
  catalog impact URN --filter type:dashboard
  catalog impact URN --csv > affected.csv
  catalog impact URN --json | jq '.groups.owner'
  catalog impact URN --column email --fail-if-any --filter type:dashboard
  catalog impact --diff origin/main..HEAD
  catalog impact --diff origin/main..HEAD --markdown --fail-if-any
  catalog impact --print-workflow > .github/workflows/impact.yml

\b
Pull requests
  --diff finds the columns and tables that the commits drop, rename, retype
  or move in the dbt projects and other SQL files of the current Git
  repository, and shows what depends on them. Changed expressions, filters
  and joins are a class of their own, which does not count for
  --fail-if-any. Columns are parsed from the SQL. For a model
  whose template only dbt can render, they come from target/manifest.json,
  which dbt compile writes. SQL that cannot be parsed is listed, and counts
  as affected for --fail-if-any.

\b
The column “known”
  said               column lineage was ingested along the whole path
  guess: same name   part of the path is guessed from equal column names
  the table only     uses an affected table; its columns are not known

With --fail-if-any the exit code is 1 if anything is affected, or if not everything could be
checked. --filter limits what counts. Its fields are name, platform, origin, type, typeNames,
owners, tags, glossaryTerms, domains, description, deprecated, removed, hops, queries, users and
urn.

Queries and users are those of the last 30 days. Users are counted per time window; the number is
that of the window with the most.
"""


@EXPLORE.command(epilog=_IMPACT_EPILOG)
@options.optional_entity
@click.option("--column", type=WORDS, metavar="PATH", help="Show the impact of this column only.")
@click.option(
    "--by",
    "grouping",
    type=click.Choice(("type", "platform", "owner", "domain")),
    help="Group the results, the largest group first.",
)
@filter_option
@click.option("--no-usage", is_flag=True, help="Do not fetch usage; this is faster.")
@click.option(
    "--top",
    type=click.IntRange(1),
    help=f"Maximum number of results.  [default: {_IMPACT_SHOWN} in tables, else all]",
)
@click.option("--fail-if-any", is_flag=True, help="Exit with 1 if anything is affected.")
@click.option(
    "--diff",
    type=WORDS,
    metavar="BASE..HEAD",
    help="Show the impact of these Git commits instead of that of URN.",
)
@click.option(
    "--dialect",
    type=WORDS,
    help="With --diff, the SQL dialect.  [default: that in dbt's manifest]",
)
@click.option(
    "--markdown", is_flag=True, help="With --diff, print Markdown for a pull request comment."
)
@click.option(
    "--print-workflow",
    is_flag=True,
    help="Print a GitHub workflow that comments on pull requests, and exit.",
)
@budget_options
@format_options("json", "csv", "urns")
@catalog_options
def impact(
    target: Target,
    urn: str | None,
    column: str | None,
    grouping: "Grouping | None",
    filters: tuple[str, ...],
    top: int | None,
    shown_as: OutputFormat | None,
    diff: str | None,
    dialect: str | None,
    *,
    no_usage: bool,
    fail_if_any: bool,
    markdown: bool,
    print_workflow: bool,
) -> None:
    """Show what is affected downstream when an entity or column changes.

    Follows up to 50 hops; the most used entities come first. URN can be that of a column.
    """
    from explorer.cli.output import print_exactly, show
    from explorer.sessions.lineage import read_choice
    from explorer.views.lineage import impact_report

    if print_workflow:
        print_exactly(_WORKFLOW.read_text(encoding="utf-8"))
        return
    if diff is not None:
        if urn or column or grouping or top:
            raise click.UsageError("--diff cannot be combined with URN, --column, --by or --top")
        if markdown and shown_as:
            raise click.UsageError(
                f"--markdown and --{shown_as} cannot be combined; give only one of them"
            )
        with target.open() as catalog:
            filter = read_choice(filters, catalog.registry)
            changes = read_schema_changes(
                catalog, diff, dialect, filter=filter, with_usage=not no_usage
            )
        if markdown:
            print_exactly(changes.markdown())
        else:
            show(changes.report(), shown_as)
        if fail_if_any and changes.may_break:
            raise click.exceptions.Exit(1)
        return
    if urn is None:
        raise click.UsageError("give a URN, or the commits of a pull request with --diff")
    if markdown or dialect:
        raise click.UsageError("--markdown and --dialect need --diff")
    if shown_as is None and top is None:
        top = _IMPACT_SHOWN
    with target.open() as catalog:
        entity, path = _column_target(options.read_urn(catalog, urn), column)
        filter = read_choice(filters, catalog.registry)
        view = _read_impact(catalog, entity, path, filter=filter, with_usage=not no_usage)
    show(impact_report(view, None if shown_as else grouping, top), shown_as)
    # If the traversal stopped early, it is not known whether nothing is affected.
    if fail_if_any and (view.impact.affected or view.impact.truncated):
        raise click.exceptions.Exit(1)


_WORKFLOW: Final = Path(__file__).with_name("impact-workflow.yml")
"""A GitHub workflow that comments on a pull request with its impact."""


def _column_target(urn: str, column: str | None) -> tuple[str, str | None]:
    """Return the URN of the entity and the path of the column; a column can be given by its URN.

    Raises `InvalidInput` if both the URN and `column` name a column.
    """
    from explorer.graph import split_column

    parts = split_column(urn)
    if parts is None:
        return urn, column
    if column is not None:
        raise InvalidInput("the URN already names a column; leave out --column")
    return parts


def _read_impact(
    catalog: "Catalog", urn: str, column: str | None, *, filter: "Filter", with_usage: bool
) -> "ImpactView":
    """Return the affected entities that match the filter. Raises `NotFound` if there is no such
    entity, and the errors of `find_impact`."""
    from explorer.sessions.lineage import read_existing, read_impact, require_entity

    reading = read_impact(catalog.core, urn, column, filter=filter, with_usage=with_usage)
    view = catalog.wait(read_existing(catalog.core, urn, reading))
    if not view.impact.affected:
        catalog.wait(require_entity(catalog.core, urn))
    return view


def read_schema_changes(
    catalog: "Catalog", revisions: str, dialect: str | None, *, filter: "Filter", with_usage: bool
) -> "SchemaChangesView":
    """Return the schema changes in commits of the current repository, with their impact.

    Raises the errors of `explorer.sources.schema_changes.read_changes`.
    """
    from explorer.sources.schema_changes import NamedDatasets, read_changes
    from explorer.views.lineage import ChangeImpact, SchemaChangesView

    datasets = NamedDatasets(catalog)
    schemas = read_changes(Path.cwd(), revisions, datasets, dialect)
    impacts = []
    for change in schemas.changes:
        if change.kind == "added":
            impacts.append(ChangeImpact(change))
            continue
        views, problem = [], "the catalog does not have this table"
        for entity in datasets.find(change.table, is_dbt=change.is_dbt):
            column = None
            if change.column is not None:
                lowered = change.column.casefold()
                paths = (column.path for column in entity.schema)
                column = next(
                    (path.raw for path in paths if path.simple.casefold() == lowered), None
                )
                if column is None:
                    problem = "the catalog has this table, but not this column"
                    continue
            urn = str(entity.urn)
            views.append(_read_impact(catalog, urn, column, filter=filter, with_usage=with_usage))
        impacts.append(ChangeImpact(change, tuple(views), None if views else problem))
    return SchemaChangesView.of(schemas, impacts)


_MAX_HOPS: Final = 1_000
_PATHS_SHOWN: Final = 20

_PATH_EPILOG = """
\b
Examples
  catalog path stg_orders fct_orders
  catalog path SOURCE TARGET --urns | head -2
  catalog path SOURCE TARGET --json | jq '.ways | length'
  catalog path 'urn:li:corpuser:jdoe' URN --relationship OwnedBy

Paths follow lineage, downstream from SOURCE, or upstream if there is no path downstream. With
--relationship they follow these relationships instead, in either direction. To see the
relationships of an entity, use catalog relationships URN.

The exit code is 1 if there is no path.
"""


@EXPLORE.command(epilog=_PATH_EPILOG)
@click.argument("source", type=ENTITY)
@click.argument("destination", metavar="TARGET", type=ENTITY)
@click.option(
    "--relationship",
    "relationships",
    type=WORDS,
    metavar="NAME",
    multiple=True,
    help="Follow this relationship instead of lineage; can be repeated.",
)
@click.option(
    "--hops",
    type=click.IntRange(1, _MAX_HOPS),
    help="Maximum length of a path.  [default: 50, or 4 with --relationship]",
)
@click.option(
    "--limit",
    type=click.IntRange(1),
    default=_PATHS_SHOWN,
    show_default=True,
    help="Maximum number of paths.",
)
@budget_options
@format_options("json", "urns", urns="Print the URNs along the first path, one per line.")
@catalog_options
def path(
    target: Target,
    source: str,
    destination: str,
    relationships: tuple[str, ...],
    hops: int | None,
    limit: int,
    shown_as: OutputFormat | None,
) -> None:
    """Show every shortest path from SOURCE to TARGET."""
    from explorer.cli.output import show
    from explorer.sessions.lineage import check_relationships, read_paths, require_entity
    from explorer.views.lineage import paths_report

    with target.open() as catalog:
        check_relationships(relationships, catalog.registry)
        names = relationships or None
        reading = read_paths(
            catalog.core, source, destination, relationships=names, hops=hops, limit=limit
        )
        view = catalog.wait(reading)
        if not view.paths.node_paths:
            for end in (view.paths.source, view.paths.target):
                catalog.wait(require_entity(catalog.core, end))
    show(paths_report(view, relationships, _MAX_HOPS), shown_as)
    if not view.paths.node_paths:
        raise click.exceptions.Exit(1)


_DIRECTIONS: "Final[dict[str, tuple[Direction, ...]]]" = {
    "both": ("OUTGOING", "INCOMING"),
    "in": ("INCOMING",),
    "out": ("OUTGOING",),
}

_RELATIONSHIPS_EPILOG = """
\b
Examples
  catalog relationships 'urn:li:tag:PII' --direction in
  catalog relationships URN --direction in --type OwnedBy --urns
  catalog relationships URN --json | jq .counts
  catalog relationships URN --csv > edges.csv

Outgoing relationships are declared by the entity itself; incoming ones are declared by other
entities that refer to it.
"""


@EXPLORE.command(epilog=_RELATIONSHIPS_EPILOG)
@options.entity
@click.option(
    "--direction",
    "side",
    type=click.Choice(("in", "out", "both")),
    default="both",
    show_default=True,
    help="Show incoming relationships, outgoing ones, or both.",
)
@click.option(
    "--type",
    "names",
    type=WORDS,
    metavar="NAME",
    multiple=True,
    help="Only relationships with this name, as in OwnedBy; can be repeated.",
)
@click.option(
    "--limit",
    type=click.IntRange(1),
    help="Maximum number of entities per relationship.  [default: 20; all in JSON, CSV and URNs]",
)
@budget_options
@format_options("json", "csv", "urns")
@catalog_options
def relationships(
    target: Target,
    urn: str,
    side: str,
    names: tuple[str, ...],
    limit: int | None,
    shown_as: OutputFormat | None,
) -> None:
    """List the incoming and outgoing relationships of an entity."""
    from explorer.cli.output import show
    from explorer.sessions.lineage import read_relationships
    from explorer.views.lineage import relationships_report

    with target.open() as catalog:
        urn = options.read_urn(catalog, urn)
        reading = read_relationships(
            *(catalog.core, urn, _DIRECTIONS[side], names),
            limit=limit,
            read_all=shown_as is not None,
        )
        related = catalog.wait(reading)
    show(relationships_report(related), shown_as)


Format = Literal["csv", "dot", "graphml", "json", "mermaid", "table", "tree", "urns"]

_LINEAGE_SHOWN: Final = 200
_FORMATS: Final = ("tree", "table", "mermaid", "dot", "graphml", "json", "csv")

_LINEAGE_EPILOG = """
\b
Examples
  catalog lineage 'urn:li:dataset:(urn:li:dataPlatform:hive,db.orders,PROD)'
  catalog lineage orders --up --hops 10   (by name)
  catalog lineage URN --column order_id --down
  catalog lineage URN --filter 'type:dashboard owners:jdoe'
  catalog lineage URN --down --urns | xargs -n 1 catalog get
  catalog lineage URN --format mermaid >> README.md
  catalog lineage URN --format dot | dot -Tsvg > lineage.svg
  catalog lineage URN --json | jq -r '.nodes[] | select(.hops < 0).name'
  catalog lineage --sql load_orders.sql --dialect snowflake

\b
The tree
  ●  the entity; its upstream is above this line, its downstream below it
  ↑  ↓  shown once already, on a line above or below
  ↺  a cycle: leads back to an entity on the path to this line
  …  more entities that are not shown; see --hops and --limit

With --filter, lineage continues through entities that do not match, and their number is shown.
The fields are name, platform, origin, type, typeNames, owners, tags, glossaryTerms, domains,
description, deprecated, removed, hops and urn. --json is node-link JSON, which networkx and D3
read; --csv has one line per edge.

\b
SQL scripts
  --sql shows the lineage of a script and writes nothing to the catalog. Its
  tables are looked up in the catalog, on the platform of the dialect, and
  among those that the script creates. Statements that cannot be parsed are
  listed with the reason, and the exit code is 1. --json prints a list with
  an object for each statement: line, text, target (urn or name), upstreams,
  columns (and for each the columns it is made from: urn, column), problem.
"""


@EXPLORE.command(epilog=_LINEAGE_EPILOG)
@options.optional_entity
@click.option(
    "--sql",
    "script",
    type=click.Path(dir_okay=False, allow_dash=True),
    metavar="FILE",
    help="Show the column lineage of this SQL file instead; - reads standard input.",
)
@click.option("--dialect", type=WORDS, help="With --sql: postgres, snowflake, bigquery, duckdb, …")
@click.option("--up", "sides", flag_value="up", help="Only upstream lineage.")
@click.option("--down", "sides", flag_value="down", help="Only downstream lineage.")
@click.option(
    "--both",
    "sides",
    flag_value="both",
    default="both",
    help="Upstream and downstream lineage; the default.",
)
@click.option(
    "--hops",
    type=click.IntRange(1, _MAX_HOPS),
    default=3,
    show_default=True,
    help="Maximum distance in hops.",
)
@click.option(
    "--column", type=WORDS, metavar="PATH", help="Show the column lineage of this column."
)
@filter_option
@click.option(
    "--limit",
    type=click.IntRange(1),
    help="Maximum number of entities, the nearest first.  "
    f"[default: {_LINEAGE_SHOWN} in trees and tables, else all]",
)
@click.option(
    "--format", "written_as", type=click.Choice(_FORMATS), help="Output format.  [default: tree]"
)
@format_options(
    "json",
    "csv",
    "urns",
    json="Short for --format json.",
    csv="Short for --format csv.",
)
@catalog_options
def lineage(
    target: Target,
    urn: str | None,
    script: str | None,
    dialect: str | None,
    sides: str,
    hops: int,
    column: str | None,
    filters: tuple[str, ...],
    limit: int | None,
    written_as: Format | None,
    shown_as: OutputFormat | None,
) -> None:
    """Show the upstream and downstream lineage of an entity.

    URN can be that of a column. Where the catalog has no column lineage between two tables, their
    columns with the same name are assumed to be connected, and marked as a guess.
    """
    if shown_as and written_as:
        raise click.UsageError(
            f"--{shown_as} and --format cannot be combined; give only one of them"
        )
    from explorer.cli.output import print_exactly, show, show_notes
    from explorer.metadata.urn import Urn
    from explorer.sessions.lineage import LineageQuery, read_choice, read_nearest
    from explorer.views.lineage import lineage_report

    if script is not None or dialect is not None:
        _show_script(target, urn, script, dialect, as_json="json" in (shown_as, written_as))
        return
    if urn is None:
        raise click.UsageError("give a URN, or a file with --sql and --dialect")
    form: Format = shown_as or written_as or "tree"
    for_people = form in ("tree", "table")
    with target.open() as catalog:
        entity, path = _column_target(options.read_urn(catalog, urn), column)
        reading = read_nearest(
            catalog.core,
            LineageQuery(Urn.parse(entity), _EXTENTS[sides], hops, path),
            # The tree shows how many entities lie one hop further.
            with_next_hop=form == "tree" and not filters,
            filter=read_choice(filters, catalog.registry),
            limit=limit or (_LINEAGE_SHOWN if for_people else None),
        )
        listing = catalog.wait(reading)
    report = lineage_report(listing, as_tree=form == "tree")
    if for_people or form == "urns":
        show(report, "urns" if form == "urns" else None)
        return
    from explorer.graph import export

    write = {
        "csv": export.to_csv,
        "dot": export.to_dot,
        "graphml": export.to_graphml,
        "json": export.to_node_link,
        "mermaid": export.to_mermaid,
    }[form]
    text = write(listing.drawn_graph())
    print_exactly(text)
    if form in ("dot", "mermaid"):
        # A comment at the top of a diagram says that it was cut.
        _, _, cut = "\n".join(text.split("\n", 2)[:2]).partition("cut: ")
        truncated = f"the diagram is truncated: {cut}; --limit draws only the nearest"
        show_notes([truncated] if cut else ())
    show_notes(report.notes)


_EXTENTS: "Final[dict[str, Extent]]" = {"both": "BOTH", "down": "DOWNSTREAM", "up": "UPSTREAM"}


def _show_script(
    target: Target, urn: str | None, script: str | None, dialect: str | None, *, as_json: bool
) -> None:
    if script is None or dialect is None or urn is not None:
        raise click.UsageError("--sql and --dialect must be given together, and without a URN")
    from explorer.cli.output import show
    from explorer.sources.script_lineage import find_tables, read_script
    from explorer.views.lineage import script_report

    sql = _read_script_file(script)
    with target.open() as catalog:
        tables = find_tables(catalog, sql, dialect)
    statements = list(read_script(sql, dialect, tables.tables))
    show(script_report(statements, tables), "json" if as_json else None)
    if any(statement.problem is not None for statement in statements):
        click.get_current_context().exit(1)


def _read_script_file(name: str) -> str:
    """Return the text of a file, or of standard input for `-`. Raises `InvalidInput` if it cannot
    be read or is not UTF-8."""
    try:
        data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
        return data.decode("utf-8-sig")
    except OSError as error:
        raise InvalidInput(f"cannot read {name}: {error.strerror}") from error
    except UnicodeDecodeError:
        raise InvalidInput(f"{name} is not UTF-8") from None
