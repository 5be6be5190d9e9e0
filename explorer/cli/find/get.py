"""`catalog get`"""

import click

from explorer.cli.parameters import WORDS
from explorer.cli.shell.completions import complete_aspects, complete_urns
from explorer.cli.target import Target, asks_a_catalog

__all__ = ["get"]

_EPILOG = """
\b
Examples
  catalog get 'urn:li:dataset:(urn:li:dataPlatform:hive,db.orders,PROD)'
  catalog get URN --aspect ownership --aspect globalTags
  catalog get URN --aspect schemaMetadata --version 1
  catalog get URN --json | jq .aspects.upstreamLineage.value
  catalog search orders --urns | head -1 | catalog get -

Version 0 is the latest; the others count upwards from 1, the oldest.
"""


@click.command(epilog=_EPILOG)
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
@asks_a_catalog
def get(
    target: Target, urn: str, aspects: tuple[str, ...], version: int | None, *, as_json: bool
) -> None:
    """Show one entity: owners, what is wrong, description, columns, links.

    What ingestion says and what people wrote over it are both shown, and marked.
    """
    if version is not None and len(aspects) != 1:
        raise click.UsageError("--version needs exactly one --aspect")
    from explorer.cli.find.page import print_aspects, print_entity
    from explorer.cli.reading import chosen, named_by, read_existing, read_urn

    urn = read_urn(urn)
    with target.open() as catalog:
        if version is not None:
            read = catalog.aspect(urn, aspects[0], version)
            print_aspects(urn, [read], as_json=as_json)
            return
        entity = read_existing(catalog, urn)
        if aspects or as_json:
            print_aspects(entity.urn, chosen(entity, aspects), as_json=as_json)
            return
        names = named_by(catalog, entity)
        health = catalog.health(entity.urn)
    print_entity(entity, names, health)
