"""`catalog history`"""

import click

from explorer.cli.forms import Form, printed_as
from explorer.cli.parameters import WORDS
from explorer.cli.shell.completions import complete_aspects, complete_columns, complete_urns
from explorer.cli.target import Target, asks_a_catalog

__all__ = ["history"]

_EPILOG = """
\b
Examples
  catalog history 'urn:li:dataset:(urn:li:dataPlatform:hive,db.orders,PROD)'
  catalog history URN --aspect ownership
  catalog history URN --column shipping.zip    (who described it, and how)
  catalog history URN --aspect status --json | jq '.versions[0].changes'

Version 0 is the latest, 1 the oldest. catalog diff shows what one changed.
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
@printed_as("json", "csv")
@asks_a_catalog
def history(
    target: Target,
    urn: str,
    aspects: tuple[str, ...],
    column: str | None,
    count: int,
    shown_as: Form | None,
) -> None:
    """List what was changed of an entity, when and by whom.

    Newest first, with what each version changed of the one before it. Without --aspect it reads
    every aspect that the entity has.
    """
    if column is not None and aspects:
        raise click.UsageError("--column and --aspect exclude each other; give one of them")
    from explorer.cli.find import versions_page
    from explorer.cli.reading import read_urn

    with target.open() as catalog:
        urn = read_urn(urn)
        if column is not None:
            path, changes = versions_page.read_column(catalog, urn, column)
        else:
            found = versions_page.read_steps(catalog, urn, aspects, count)
    if column is not None:
        versions_page.print_column(urn, path, changes, count, shown_as)
    else:
        versions_page.print_steps(found, shown_as)
