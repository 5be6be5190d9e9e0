"""`catalog describe`"""

import click

from explorer.cli.parameters import WORDS
from explorer.cli.shell.completions import complete_urns
from explorer.cli.target import Target, asks_a_catalog

__all__ = ["describe"]

_EPILOG = """
\b
Examples
  catalog describe URN                            (shows what is written now)
  catalog describe URN --edit                     (in $VISUAL or $EDITOR)
  catalog describe URN --text "One row an order, as it stands at midnight."
  catalog describe URN --column shipping.zip --text "Postal code as typed."
  catalog describe URN --text - --dry-run < orders.md

The text is markdown. From standard input one line end at the very end is left off, anything else
is stored as it is. --text "" takes a description back; what ingestion says then shows again.

What was typed is never lost: where it cannot be written it is kept in a file, which is named.
What was written is taken back by catalog undo.

\b
--json prints one object: urn, column, description (the text that counts),
edited, ingested; where something was written also before, changed, dry_run.
"""


@click.command(epilog=_EPILOG)
@click.argument("urn", type=WORDS, shell_complete=complete_urns)
@click.option(
    "--column",
    type=WORDS,
    metavar="PATH",
    help="Of this column: its path as the schema has it, or a.b.c where that is unmistakable.",
)
@click.option("--text", type=WORDS, help="The description; - reads it from standard input.")
@click.option("--stdin", "from_stdin", is_flag=True, help="The same as --text -.")
@click.option("--edit", is_flag=True, help="Write it in your editor.")
@click.option(
    "--force", is_flag=True, help="With --edit: write over what somebody else wrote meanwhile."
)
@click.option("--dry-run", is_flag=True, help="Show what would change; write nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print the description as a JSON object.")
@asks_a_catalog
def describe(
    target: Target,
    urn: str,
    column: str | None,
    text: str | None,
    *,
    from_stdin: bool,
    edit: bool,
    force: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Write a description of a dataset, column or container.

    Without --text, --stdin or --edit nothing is written: the description is shown.
    """
    given = {"--text": text is not None, "--stdin": from_stdin, "--edit": edit}
    sources = [option for option, is_given in given.items() if is_given]
    if len(sources) > 1:
        raise click.UsageError(f"{' and '.join(sources)} exclude each other; give one of them")
    if (force or dry_run) and not sources:
        raise click.UsageError("there is nothing to write; give --text, --stdin or --edit")
    from explorer.cli.write import descriptions

    manner = descriptions.Manner(force=force, dry_run=dry_run, as_json=as_json)
    if edit:
        descriptions.write_from_editor(target, urn, column, manner)
    elif from_stdin or text == "-":
        descriptions.write_typed(target, urn, column, manner)
    elif text is not None:
        descriptions.write(target, urn, column, text, manner)
    else:
        descriptions.show(target, urn, column, as_json=as_json)
