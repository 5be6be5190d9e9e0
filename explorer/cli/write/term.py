"""`catalog term`"""

import click

from explorer.cli.forms import Form, printed_as
from explorer.cli.parameters import WORDS
from explorer.cli.target import Target, asks_a_catalog
from explorer.cli.write import changing

__all__ = ["term"]

_EPILOG = """
\b
Examples
  catalog term URN                             (shows the terms)
  catalog term URN --add Revenue --remove Sales
  catalog term URN --column amount --add Revenue
  catalog search revenue --urns | catalog term - --add Revenue --dry-run
  catalog term URN --json | jq -r '.[].terms[]'

A name that is no URN is an id: Revenue is urn:li:glossaryTerm:Revenue. A term must exist before it
is put on.

\b
With --add or --remove, --json prints an object:
  dry_run  whether nothing was written
  edits    urn, column, what, before, after, changed, at
  failed   urn, error
"""


@click.command(epilog=_EPILOG)
@changing.urns
@click.option("--add", type=WORDS, metavar="TERM", multiple=True, help="Put this term on.")
@click.option("--remove", type=WORDS, metavar="TERM", multiple=True, help="Take this term off.")
@changing.of_column
@changing.dry_run
@printed_as("json", "csv", "urns")
@asks_a_catalog
def term(
    target: Target,
    urns: tuple[str, ...],
    add: tuple[str, ...],
    remove: tuple[str, ...],
    column: str | None,
    *,
    dry_run: bool,
    shown_as: Form | None,
) -> None:
    """Show, put on and take off glossary terms, also of columns.

    URN may be several, or - for those on standard input, one a line. One that fails loses no
    other. Terms that are not named stay.
    """
    changing.check_forms(shown_as, dry_run=dry_run, writes=bool(add or remove))
    from explorer.cli.write import labels

    if not (add or remove):
        labels.show_labels(target, urns, "terms", column, shown_as)
        return
    wanted = labels.Labels(
        "terms", [(name, None) for name in add], [(name, None) for name in remove], column
    )
    labels.change_labels(target, urns, wanted, dry_run=dry_run, as_json=shown_as == "json")
