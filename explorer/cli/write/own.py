"""`catalog own`"""

import re

import click

from explorer.cli.forms import Form, printed_as
from explorer.cli.parameters import WORDS
from explorer.cli.target import Target, asks_a_catalog
from explorer.cli.write import changing

__all__ = ["own"]

_EPILOG = """
\b
Examples
  catalog own URN                             (shows the owners)
  catalog own URN --add jdoe --add ann:DATA_STEWARD
  catalog own URN --add urn:li:corpGroup:finance:BUSINESS_OWNER
  catalog own URN --remove jdoe               (in every kind of ownership)
  catalog search --filter owners:jdoe --urns | catalog own - --remove jdoe

A name that is no URN is a user's id: jdoe is urn:li:corpuser:jdoe. The kind of ownership after it
is a word (TECHNICAL_OWNER unless said) or the URN of an ownership type.

\b
With --add or --remove, --json prints an object:
  dry_run  whether nothing was written
  edits    urn, column, what, before, after, changed, at
  failed   urn, error
An owner reads "URN KIND" there.
"""

_OWN_KIND = ":urn:li:ownershipType:"
_WORD = re.compile(r"[A-Za-z][A-Za-z_]*")
_URN_PARTS = 4


@click.command(epilog=_EPILOG)
@changing.urns
@click.option(
    "--add", type=WORDS, metavar="WHO[:KIND]", multiple=True, help="Make this one an owner."
)
@click.option(
    "--remove", type=WORDS, metavar="WHO[:KIND]", multiple=True, help="Take ownership away."
)
@changing.dry_run
@printed_as("json", "csv", "urns")
@asks_a_catalog
def own(
    target: Target,
    urns: tuple[str, ...],
    add: tuple[str, ...],
    remove: tuple[str, ...],
    *,
    dry_run: bool,
    shown_as: Form | None,
) -> None:
    """Show who owns entities, give and take ownership.

    URN may be several, or - for those on standard input, one a line. One that fails loses no
    other. Owners that are not named stay.
    """
    changing.check_forms(shown_as, dry_run=dry_run, writes=bool(add or remove))
    from explorer.cli.write import labels

    if not (add or remove):
        labels.show_labels(target, urns, "owners", None, shown_as)
        return
    wanted = labels.Labels("owners", [*map(_owner, add)], [*map(_owner, remove)])
    labels.change_labels(target, urns, wanted, dry_run=dry_run, as_json=shown_as == "json")


def _owner(text: str) -> tuple[str, str | None]:
    """The owner and the kind of ownership that a word names."""
    who, between, kind = text.rpartition(_OWN_KIND)
    if between:
        return who, f"{between.removeprefix(':')}{kind}"
    who, _, kind = text.rpartition(":")
    if not who or not _WORD.fullmatch(kind):
        return text, None
    # In a URN only capitals after the id are a kind: an id may have colons of its own.
    if who.startswith("urn:") and (who.count(":") + 1 < _URN_PARTS or kind != kind.upper()):
        return text, None
    return who, kind.upper()
