"""`catalog lineage`, `impact`, `path` and `relationships`: how entities hang together."""

from typing import TYPE_CHECKING, Final, Literal

import click

from explorer.cli.options import (
    WORDS,
    OutputFormat,
    Target,
    catalog_options,
    filter_option,
    format_options,
)
from explorer.cli.shell_completion import complete_urns

if TYPE_CHECKING:
    from explorer.cli.rendering.lineage import LineageReport, RelationshipSide, Sides
    from explorer.graph.impact import Grouping

__all__ = ["impact", "lineage", "path", "relationships"]

_IMPACT_SHOWN: Final = 50

_IMPACT_EPILOG = """
\b
Examples
  catalog impact 'urn:li:dataset:(urn:li:dataPlatform:hive,db.orders,PROD)'
  catalog impact URN --column order_id --by owner
  catalog impact URN --filter type:dashboard
  catalog impact URN --csv > affected.csv
  catalog impact URN --json | jq '.groups.owner'
  catalog impact URN --column email --fail-if-any --filter type:dashboard
  catalog impact --diff origin/main..HEAD
  catalog impact --diff origin/main..HEAD --markdown --fail-if-any
  catalog impact --print-workflow > .github/workflows/impact.yml

\b
Of a pull request
  --diff takes the columns and tables that the commits drop, rename or retype,
  in the dbt projects and other SQL files of the repository here, and shows
  what depends on them. Columns come from the SQL itself; of a model whose
  template only dbt can render, from target/manifest.json, which dbt compile
  writes. What is not understood is listed and not taken for harmless.

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


@click.command(epilog=_IMPACT_EPILOG)
@click.argument("urn", type=WORDS, shell_complete=complete_urns, required=False)
@click.option("--column", type=WORDS, metavar="PATH", help="When this column changes or goes.")
@click.option(
    "--by",
    "grouping",
    type=click.Choice(("type", "platform", "owner", "domain")),
    help="In groups, the largest first.",
)
@filter_option
@click.option("--no-usage", is_flag=True, help="Do not ask how much each is used; faster.")
@click.option(
    "--top",
    type=click.IntRange(1),
    help=f"Only so many, the first.  [default: {_IMPACT_SHOWN} in tables]",
)
@click.option("--fail-if-any", is_flag=True, help="Exit with 1 when something is affected.")
@click.option(
    "--diff",
    type=WORDS,
    metavar="BASE..HEAD",
    help="When these commits are merged, in place of URN.",
)
@click.option(
    "--dialect",
    type=WORDS,
    help="With --diff, whose SQL it is.  [default: what dbt's manifest says]",
)
@click.option("--markdown", is_flag=True, help="With --diff, print a comment for a pull request.")
@click.option(
    "--print-workflow",
    is_flag=True,
    help="Print a GitHub workflow that comments on pull requests, and ask nothing.",
)
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
    """Show what breaks downstream when an entity or a column goes.

    Up to 50 hops away, the most used first. URN may be that of a column.
    """
    from explorer.cli.output import print_exactly
    from explorer.cli.rendering import lineage
    from explorer.cli.rendering.lineage import column_asked, read_choice

    if print_workflow:
        print_exactly(lineage.WORKFLOW.read_text(encoding="utf-8"))
        return
    if diff is not None:
        if urn or column or grouping or top:
            raise click.UsageError("--diff stands in the place of URN, --column, --by and --top")
        if markdown and shown_as:
            raise click.UsageError(f"--markdown and --{shown_as} exclude each other; give one")
        with target.open() as catalog:
            changes = lineage.read_schema_changes(
                catalog,
                diff,
                dialect,
                narrowed_by=read_choice(filters, catalog.registry),
                with_usage=not no_usage,
            )
        if markdown:
            print_exactly(changes.markdown())
        else:
            lineage.print_schema_changes(changes, shown_as)
        if fail_if_any and changes.may_break:
            raise click.exceptions.Exit(1)
        return
    if urn is None:
        raise click.UsageError("give URN, or the commits of a pull request by --diff")
    if markdown or dialect:
        raise click.UsageError("--markdown and --dialect go with --diff")
    entity, path = column_asked(urn, column)
    if shown_as is None and top is None:
        top = _IMPACT_SHOWN
    with target.open() as catalog:
        narrowed_by = read_choice(filters, catalog.registry)
        found = lineage.read_impact(
            catalog, entity, path, narrowed_by=narrowed_by, with_usage=not no_usage
        )
    lineage.print_impact(found, grouping, top, shown_as)
    # Groups say for themselves what each leaves out.
    lineage.say_how_many_affected(found, None if grouping and not shown_as else top)
    if fail_if_any and lineage.may_break(found):
        raise click.exceptions.Exit(1)


_MOST_HOPS: Final = 1_000
_PATHS_SHOWN: Final = 20

_PATH_EPILOG = """
\b
Examples
  catalog path SOURCE TARGET
  catalog path SOURCE TARGET --urns | head -2
  catalog path SOURCE TARGET --json | jq '.ways | length'
  catalog path 'urn:li:corpuser:jdoe' URN --relationship OwnedBy

The ways follow lineage, downstream from SOURCE, or upstream where there is none downstream. With
--relationship they follow the relationships of those names instead, whichever way each was
declared; catalog relationships URN lists them.

The exit code is 1 when there is no way.
"""


@click.command(epilog=_PATH_EPILOG)
@click.argument("source", type=WORDS)
@click.argument("destination", metavar="TARGET", type=WORDS)
@click.option(
    "--relationship",
    "relationships",
    type=WORDS,
    metavar="NAME",
    multiple=True,
    help="Along this relationship instead of lineage; may be given several times.",
)
@click.option(
    "--hops",
    type=click.IntRange(1, _MOST_HOPS),
    help="How far to look.  [default: 50, and 4 along relationships]",
)
@click.option(
    "--limit",
    type=click.IntRange(1),
    default=_PATHS_SHOWN,
    show_default=True,
    help="How many ways at most.",
)
@format_options("json", "urns", urns="Print the URNs along the first way, one a line.")
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
    """Show every shortest way from SOURCE to TARGET."""
    from explorer.cli.rendering import lineage

    with target.open() as catalog:
        found = lineage.read_paths(
            catalog, source, destination, relationships, hops=hops, limit=limit
        )
    lineage.print_paths(found, shown_as)
    lineage.say_how_many_paths(found, relationships)
    if not found.paths.ways:
        raise click.exceptions.Exit(1)


_RELATIONSHIPS_EPILOG = """
\b
Examples
  catalog relationships 'urn:li:tag:PII' --direction in
  catalog relationships URN --direction in --type OwnedBy --urns
  catalog relationships URN --json | jq .counts
  catalog relationships URN --csv > edges.csv

Outgoing are those that the entity declares itself, incoming those of others that name it.
"""


@click.command(epilog=_RELATIONSHIPS_EPILOG)
@click.argument("urn", type=WORDS, shell_complete=complete_urns)
@click.option(
    "--direction",
    "side",
    type=click.Choice(("in", "out", "both")),
    default="both",
    show_default=True,
    help="Those that lead to it, those that it declares, or both.",
)
@click.option(
    "--type",
    "names",
    type=WORDS,
    metavar="NAME",
    multiple=True,
    help="Only of this name, as in OwnedBy; may be given several times.",
)
@click.option(
    "--limit",
    type=click.IntRange(1),
    help="So many under each name at most.  [default: 20 for people, else all]",
)
@format_options("json", "csv", "urns")
@catalog_options
def relationships(
    target: Target,
    urn: str,
    side: "RelationshipSide",
    names: tuple[str, ...],
    limit: int | None,
    shown_as: OutputFormat | None,
) -> None:
    """Show what an entity points at, and what points at it."""
    from explorer.cli.rendering import lineage

    with target.open() as catalog:
        found = lineage.read_edges(
            catalog, urn, side, names, limit=limit, whole=shown_as is not None
        )
    lineage.print_relationships(found, shown_as)
    lineage.say_how_many_relationships(found)


Format = Literal["csv", "dot", "graphml", "json", "mermaid", "table", "tree", "urns"]

_LINEAGE_SHOWN: Final = 200
_FORMATS: Final = ("tree", "table", "mermaid", "dot", "graphml", "json", "csv")

_LINEAGE_EPILOG = """
\b
Examples
  catalog lineage 'urn:li:dataset:(urn:li:dataPlatform:hive,db.orders,PROD)'
  catalog lineage URN --up --hops 10
  catalog lineage URN --column order_id --down
  catalog lineage URN --filter 'type:dashboard owners:jdoe'
  catalog lineage URN --down --urns | xargs -n 1 catalog get
  catalog lineage URN --format mermaid >> README.md
  catalog lineage URN --format dot | dot -Tsvg > lineage.svg
  catalog lineage URN --json | jq -r '.nodes[] | select(.hops < 0).name'
  catalog lineage --sql load_orders.sql --dialect snowflake

\b
The tree
  ●  the entity: above it what it is made from, below it what is made from it
  ↑  ↓  met already: its own line is above or below
  ↺  a cycle: it leads back to an entity on the way to here
  …  there are more, not shown: see --hops and --limit

With --filter what does not match is stepped over, and how many were is said. It knows the fields
name, platform, origin, type, typeNames, owners, tags, glossaryTerms, domains, description,
deprecated, removed, hops and urn. --json is node-link JSON, as networkx and D3 read it; --csv is
a line for each edge.

\b
With --sql
  Nothing is written. Tables are those of the platform in the catalog, and
  those that the script makes. A statement that is not understood is listed
  with the reason; the command then ends with 1. --json is a list with an
  object for each statement: line, text, target (urn or name), upstreams,
  columns (of each the columns it is made from: urn, column), problem.
"""


@click.command(epilog=_LINEAGE_EPILOG)
@click.argument("urn", type=WORDS, shell_complete=complete_urns, required=False)
@click.option(
    "--sql",
    "script",
    type=click.Path(dir_okay=False, allow_dash=True),
    metavar="FILE",
    help="Of the statements in this file instead, to the column; - is standard input.",
)
@click.option("--dialect", type=WORDS, help="With --sql: postgres, snowflake, bigquery, duckdb, …")
@click.option("--up", "sides", flag_value="up", help="Only what it is made from.")
@click.option("--down", "sides", flag_value="down", help="Only what is made from it.")
@click.option("--both", "sides", flag_value="both", default="both", help="Both, as without.")
@click.option(
    "--hops",
    type=click.IntRange(1, _MOST_HOPS),
    default=3,
    show_default=True,
    help="How far to go.",
)
@click.option("--column", type=WORDS, metavar="PATH", help="Of this column, and to columns.")
@filter_option
@click.option(
    "--limit",
    type=click.IntRange(1),
    help=f"Only so many, the nearest.  [default: {_LINEAGE_SHOWN} in trees and tables, else all]",
)
@click.option(
    "--format", "written_as", type=click.Choice(_FORMATS), help="What to print.  [default: tree]"
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
    sides: "Sides",
    hops: int,
    column: str | None,
    filters: tuple[str, ...],
    limit: int | None,
    written_as: Format | None,
    shown_as: OutputFormat | None,
) -> None:
    """Show what an entity is made from, and what is made from it.

    URN may be that of a column. Columns are connected where the catalog says so; where it only
    says so of their tables, columns of the same name are taken to be, and marked as a guess.
    """
    if shown_as and written_as:
        raise click.UsageError(f"--{shown_as} and --format exclude each other; give one of them")
    from explorer.cli.rendering import lineage
    from explorer.cli.rendering.lineage import column_asked, read_choice, read_lineage

    if script is not None or dialect is not None:
        _show_script(target, urn, script, dialect, as_json="json" in (shown_as, written_as))
        return
    if urn is None:
        raise click.UsageError("give a URN, or a file with --sql and --dialect")
    form: Format = shown_as or written_as or "tree"
    for_people = form in ("tree", "table")
    entity, path = column_asked(urn, column)
    with target.open() as catalog:
        narrowed_by = read_choice(filters, catalog.registry)
        found = read_lineage(
            catalog,
            entity,
            path,
            sides,
            hops=hops,
            # What lies one step further is counted.
            looking_on=form == "tree" and not filters,
            narrowed_by=narrowed_by,
            limit=limit or (_LINEAGE_SHOWN if for_people else None),
        )
    _print(found, form)
    lineage.say_how_many(found)


def _show_script(
    target: Target, urn: str | None, script: str | None, dialect: str | None, *, as_json: bool
) -> None:
    if script is None or dialect is None or urn is not None:
        raise click.UsageError("--sql FILE and --dialect NAME go together, and without a URN")
    from explorer.cli.rendering import script_lineage
    from explorer.sources.script_lineage import find_tables, read_script

    sql = script_lineage.read_script_file(script)
    with target.open() as catalog:
        known = find_tables(catalog, sql, dialect)
    found = list(read_script(sql, dialect, known.tables))
    if as_json:
        script_lineage.print_as_json(found, known)
    else:
        script_lineage.print_statements(found, known)
    if script_lineage.tell_problems(found):
        click.get_current_context().exit(1)


def _print(found: "LineageReport", form: Format) -> None:
    from explorer.cli.output import print_exactly, print_urns
    from explorer.cli.rendering import lineage

    match form:
        case "tree":
            lineage.print_tree(found)
        case "table":
            lineage.print_as_table(found)
        case "urns":
            print_urns(found.shown)
        case _:
            from explorer.graph import export

            write = {
                "csv": export.to_csv,
                "dot": export.to_dot,
                "graphml": export.to_graphml,
                "json": export.to_node_link,
                "mermaid": export.to_mermaid,
            }[form]
            text = write(found.part())
            print_exactly(text)
            if form in ("dot", "mermaid"):
                lineage.say_cut(text)
