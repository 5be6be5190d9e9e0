"""`catalog describe`"""

from dataclasses import replace

import click

from explorer.cli.parameters import WORDS
from explorer.cli.target import Target, asks_a_catalog

__all__ = ["describe"]

_EPILOG = """
\b
Examples
  catalog describe URN --text "One row an order, as it stands at midnight."
  catalog describe URN --column shipping.zip --text "Postal code as typed."
  catalog describe URN --text - < orders.md
  catalog describe URN                            (shows what is written now)

The text is markdown. From standard input one line end at the very end is left off, anything else
is stored as it is. --text "" takes a description back; what ingestion says then shows again.
"""


@click.command(epilog=_EPILOG)
@click.argument("urn", type=WORDS)
@click.option(
    "--column",
    type=WORDS,
    metavar="PATH",
    help="Of this column: its path as the schema has it, or a.b.c where that is unmistakable.",
)
@click.option("--text", type=WORDS, help="The description; - reads it from standard input.")
@click.option("--json", "as_json", is_flag=True, help="Print the description as a JSON object.")
@asks_a_catalog
def describe(
    target: Target, urn: str, column: str | None, text: str | None, *, as_json: bool
) -> None:
    """Write a description of a dataset, column or container.

    Without --text nothing is written: the description is shown.
    """
    from explorer.cli import descriptions

    written = descriptions.read_stdin() if text == "-" else text
    with target.open() as catalog:
        place = descriptions.find(catalog, urn, column)
        if written is not None:
            catalog.describe(urn, written, column=place.path)
            descriptions.say_written(place)
            place = replace(place, edited=written)
    if as_json:
        descriptions.print_as_json(place)
    elif written is None:
        descriptions.print_text(place)
