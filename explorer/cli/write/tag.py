"""`catalog tag`"""

import click

from explorer.cli.forms import Form, printed_as
from explorer.cli.parameters import WORDS
from explorer.cli.target import Target, asks_a_catalog
from explorer.cli.write import changing

__all__ = ["tag"]

_EPILOG = """
\b
Examples
  catalog tag URN                             (shows the tags)
  catalog tag URN --add PII --remove Old
  catalog tag URN --column customer.email --add PII
  catalog search email --urns | catalog tag - --add PII --dry-run
  catalog tag URN --json | jq -r '.[].tags[]'

A name that is no URN is an id: PII is urn:li:tag:PII. A tag must exist before it is put on.

\b
With --add or --remove, --json prints an object:
  dry_run  whether nothing was written
  edits    urn, column, what, before, after, changed, at
  failed   urn, error
"""


@click.command(epilog=_EPILOG)
@changing.urns
@click.option("--add", type=WORDS, metavar="TAG", multiple=True, help="Put this tag on.")
@click.option("--remove", type=WORDS, metavar="TAG", multiple=True, help="Take this tag off.")
@changing.of_column
@changing.dry_run
@printed_as("json", "csv", "urns")
@asks_a_catalog
def tag(
    target: Target,
    urns: tuple[str, ...],
    add: tuple[str, ...],
    remove: tuple[str, ...],
    column: str | None,
    *,
    dry_run: bool,
    shown_as: Form | None,
) -> None:
    """Show, put on and take off tags of entities and columns.

    URN may be several, or - for those on standard input, one a line. One that fails loses no
    other. Tags that are not named stay.
    """
    changing.check_forms(shown_as, dry_run=dry_run, writes=bool(add or remove))
    from explorer.cli.write import labels

    if not (add or remove):
        labels.show_labels(target, urns, "tags", column, shown_as)
        return
    wanted = labels.Labels(
        "tags", [(name, None) for name in add], [(name, None) for name in remove], column
    )
    labels.change_labels(target, urns, wanted, dry_run=dry_run, as_json=shown_as == "json")
