"""`catalog lineage`"""

from typing import TYPE_CHECKING, Final, Literal

import click

from explorer.cli.forms import Form, printed_as
from explorer.cli.parameters import WORDS
from explorer.cli.shell.completions import complete_urns
from explorer.cli.target import Target, asks_a_catalog

if TYPE_CHECKING:
    from explorer.cli.flow.flows import Flows, Sides

__all__ = ["lineage"]

Format = Literal["csv", "dot", "graphml", "json", "mermaid", "table", "tree", "urns"]

_MOST_HOPS: Final = 1_000
_SHOWN: Final = 200
_FORMATS: Final = ("tree", "table", "mermaid", "dot", "graphml", "json", "csv")

_EPILOG = """
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
"""


@click.command(epilog=_EPILOG)
@click.argument("urn", type=WORDS, shell_complete=complete_urns)
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
@click.option(
    "--filter",
    "filters",
    type=WORDS,
    metavar="FILTER",
    multiple=True,
    help="Only what matches; given several times, all must be met.",
)
@click.option(
    "--limit",
    type=click.IntRange(1),
    help=f"Only so many, the nearest.  [default: {_SHOWN} in trees and tables, else all]",
)
@click.option(
    "--format", "written_as", type=click.Choice(_FORMATS), help="What to print.  [default: tree]"
)
@printed_as(
    "json",
    "csv",
    "urns",
    json="Short for --format json.",
    csv="Short for --format csv.",
)
@asks_a_catalog
def lineage(
    target: Target,
    urn: str,
    sides: "Sides",
    hops: int,
    column: str | None,
    filters: tuple[str, ...],
    limit: int | None,
    written_as: Format | None,
    shown_as: Form | None,
) -> None:
    """Show what an entity is made from, and what is made from it.

    URN may be that of a column. Columns are connected where the catalog says so; where it only
    says so of their tables, columns of the same name are taken to be, and marked as a guess.
    """
    if shown_as and written_as:
        raise click.UsageError(f"--{shown_as} and --format exclude each other; give one of them")
    from explorer.cli.flow import flow_page
    from explorer.cli.flow.flows import column_asked, read_choice, read_flows
    from explorer.query.filters import Filter

    form: Format = shown_as or written_as or "tree"
    for_people = form in ("tree", "table")
    entity, path = column_asked(urn, column)
    with target.open() as catalog:
        narrowed_by = Filter()
        for one in filters:
            narrowed_by = narrowed_by.narrowed_by(read_choice(one, catalog.registry))
        found = read_flows(
            catalog,
            entity,
            path,
            sides,
            hops=hops,
            # What lies one step further is counted.
            looking_on=form == "tree" and not filters,
            narrowed_by=narrowed_by,
            limit=limit or (_SHOWN if for_people else None),
        )
    _print(found, form)
    flow_page.say_how_many(found)


def _print(found: "Flows", form: Format) -> None:
    from explorer.cli.flow import flow_page
    from explorer.cli.tables import print_exactly, print_urns

    match form:
        case "tree":
            flow_page.print_tree(found)
        case "table":
            flow_page.print_as_table(found)
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
                flow_page.say_cut(text)
