"""`catalog link`"""

from typing import TYPE_CHECKING

import click

from explorer.cli.forms import Form, printed_as
from explorer.cli.parameters import WORDS
from explorer.cli.shell.completions import complete_urns
from explorer.cli.target import Target, asks_a_catalog
from explorer.cli.write import changing

if TYPE_CHECKING:
    from collections.abc import Iterator

    from explorer.cli.write.edits import Change
    from explorer.client import Catalog
    from explorer.client.records import Edit

__all__ = ["link"]

_EPILOG = """
\b
Examples
  catalog link URN                            (shows the links)
  catalog link URN add https://wiki.example.com/orders --label "All of it"
  catalog link URN remove https://wiki.example.com/orders
  catalog search orders --urns | catalog link - add https://x.org --label Wiki

With remove, --label takes away only the link of that label; without it all to the address go.

\b
With add or remove, --json prints an object:
  dry_run  whether nothing was written
  edits    urn, column, what, before, after, changed, at
  failed   urn, error
A link reads "URL LABEL" there.
"""


@click.command(epilog=_EPILOG)
@click.argument("urn", type=WORDS, shell_complete=complete_urns)
@click.argument("action", type=click.Choice(["add", "remove"]), required=False)
@click.argument("url_linked", metavar="[URL]", type=WORDS, required=False)
@click.option("--label", type=WORDS, help="What the link is called.")
@changing.dry_run
@printed_as("json", "csv")
@asks_a_catalog
def link(
    target: Target,
    urn: str,
    action: str | None,
    url_linked: str | None,
    label: str | None,
    *,
    dry_run: bool,
    shown_as: Form | None,
) -> None:
    """Show, add and remove links to documents about an entity.

    URN may be - for several on standard input, one a line. One that fails loses no other. Links
    that are not named stay.
    """
    changing.check_forms(shown_as, dry_run=dry_run, writes=action is not None)
    if action and url_linked is None:
        raise click.UsageError(f"{action} needs the URL of the link")
    if url_linked is not None and (not url_linked or any(map(str.isspace, url_linked))):
        raise click.UsageError(f"“{url_linked}” is no address; write spaces in it as %20")
    if action == "add" and label is None:
        raise click.UsageError("say with --label what the link is called")
    if action is None and label is not None:
        raise click.UsageError("--label goes with add and remove")
    if action is None or url_linked is None:
        _show(target, urn, shown_as)
        return
    from explorer.cli.write import edits

    change = _change(action, url_linked, label, dry_run=dry_run)
    edits.change_each(target, (urn,), change, dry_run=dry_run, as_json=shown_as == "json")


def _change(action: str, url: str, label: str | None, *, dry_run: bool) -> "Change":
    from explorer.cli.write.edits import planned
    from explorer.errors import NotFound

    def change(catalog: "Catalog", urn: str) -> "Iterator[Edit]":
        if not dry_run:
            if action == "add":
                yield catalog.add_link(urn, url, label or "")
            else:
                yield catalog.remove_link(urn, url, label)
            return
        before = tuple(f"{one.url} {one.description}" for one in catalog.links(urn))
        if action == "add":
            added = f"{url} {label}"
            yield planned(urn, "links", before, tuple(dict.fromkeys((*before, added))))
            return
        gone = f"{url} {label or ''}"
        after = tuple(
            one for one in before if one != gone and (label is not None or one.split(" ")[0] != url)
        )
        if after == before:
            raise NotFound(f"{urn} has no link to {url}{f' called “{label}”' if label else ''}")
        yield planned(urn, "links", before, after)

    return change


def _show(target: Target, urn: str, shown_as: Form | None) -> None:
    from explorer.cli import tables
    from explorer.cli.output import note
    from explorer.cli.write.edits import finish, given_urns, go_through

    urns = given_urns((urn,))
    rows: list[tuple[str, str, str, str | None, int | None]] = []
    with target.open() as catalog:

        def read(one: str) -> None:
            for found in catalog.links(one):
                stamp = found.create_stamp
                row = (one, found.description, found.url, stamp.actor or None, stamp.time or None)
                rows.append(row)

        done = go_through(urns, read)
    columns = [
        tables.Column("urn", audience="everyone" if len(urns) > 1 else "programs", folds=True),
        tables.Column("label", max_width=36, folds=True, style="bold"),
        tables.Column("url", folds=True),
        tables.Column("by", audience="programs"),
        tables.Column("at_millis", audience="programs"),
    ]
    table = tables.Table(columns, rows)
    match shown_as:
        case "csv":
            tables.print_csv(table)
        case "json":
            tables.print_json(table)
        case _ if rows:
            tables.print_table(table)
        case _ if not done.failed and done.stopped is None:
            note("no links")
    finish(done)
