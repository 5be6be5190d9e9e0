"""`catalog domain`"""

from typing import TYPE_CHECKING

import click

from explorer.cli.forms import Form, printed_as
from explorer.cli.parameters import WORDS
from explorer.cli.target import Target, asks_a_catalog
from explorer.cli.write import changing

if TYPE_CHECKING:
    from collections.abc import Iterator

    from explorer.cli.write.edits import Change
    from explorer.client import Catalog
    from explorer.client.records import Edit

__all__ = ["domain"]

_EPILOG = """
\b
Examples
  catalog domain URN                          (shows the domain)
  catalog domain URN finance
  catalog domain URN OTHER-URN urn:li:domain:finance
  catalog domain URN --none
  catalog search --filter 'name:fct_*' --urns | catalog domain - finance

A name that is no URN is an id: finance is urn:li:domain:finance.

\b
With NAME or --none, --json prints an object:
  dry_run  whether nothing was written
  edits    urn, column, what, before, after, changed, at
  failed   urn, error
"""

_DOMAIN = "urn:li:domain:"


@click.command(epilog=_EPILOG)
@click.argument("words", nargs=-1, required=True, type=WORDS, metavar="URN... [NAME]")
@click.option("--none", "out_of_all", is_flag=True, help="Take them out of any domain.")
@changing.dry_run
@printed_as("json", "csv", "urns")
@asks_a_catalog
def domain(
    target: Target,
    words: tuple[str, ...],
    *,
    out_of_all: bool,
    dry_run: bool,
    shown_as: Form | None,
) -> None:
    """Show the domain of entities, or put them into one.

    NAME comes last: a domain's id or URN. URN may be several, or - for those on standard input,
    one a line. One that fails loses no other.
    """
    last = words[-1]
    named = last.startswith(_DOMAIN) or not (last.startswith("urn:") or last == "-")
    urns = words[:-1] if named else words
    if not urns:
        raise click.UsageError(f"“{last}” is no URN of something that is in a domain")
    if named and out_of_all:
        raise click.UsageError(f"either “{last}” or --none; give one of them")
    changing.check_forms(shown_as, dry_run=dry_run, writes=named or out_of_all)
    from explorer.cli.write import edits, labels

    if named or out_of_all:
        change = _change(last if named else None, dry_run=dry_run)
        edits.change_each(target, urns, change, dry_run=dry_run, as_json=shown_as == "json")
    else:
        labels.show_labels(target, urns, "domain", None, shown_as)


def _change(name: str | None, *, dry_run: bool) -> "Change":
    from explorer.cli.reading import read_existing
    from explorer.cli.write.edits import planned
    from explorer.cli.write.labels import domains_of
    from explorer.client.editable import urns_of

    # What is wrong with the name is wrong for every entity.
    wanted = () if name is None else tuple(map(str, urns_of(name, "domain")))

    def change(catalog: "Catalog", urn: str) -> "Iterator[Edit]":
        if dry_run:
            before = domains_of(read_existing(catalog, urn))
            yield planned(urn, "domain", before, wanted)
        else:
            yield catalog.set_domain(urn, wanted[0] if wanted else None)

    return change
