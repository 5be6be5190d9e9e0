"""`catalog schema`"""

import click

from explorer.cli.forms import Form, printed_as
from explorer.cli.parameters import WORDS
from explorer.cli.shell.completions import complete_urns
from explorer.cli.target import Target, asks_a_catalog

__all__ = ["schema"]

_EPILOG = """
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


@click.command(epilog=_EPILOG)
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
@printed_as("json", "csv")
@asks_a_catalog
def schema(
    target: Target,
    urn: str,
    tags: tuple[str, ...],
    match: str | None,
    version: int | None,
    shown_as: Form | None,
    *,
    undocumented: bool,
) -> None:
    """Show the columns of a dataset as a tree.

    With their types, keys, tags, glossary terms and descriptions; ✎ stands before a description
    that people wrote over what ingestion says.
    """
    from explorer.cli.find import schema_page
    from explorer.cli.reading import read_existing, read_urn

    with target.open() as catalog:
        urn = read_urn(urn)
        if version:
            found = schema_page.read_version(catalog, urn, version)
        else:
            found = schema_page.checked(read_existing(catalog, urn))
    wanted = schema_page.Wanted(tags, match or "", undocumented=undocumented)
    schema_page.print_schema(found, wanted, shown_as, version=version or 0)
