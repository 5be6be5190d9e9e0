"""`catalog delete`"""

import sys

import click

from explorer.cli.target import Target, asks_a_catalog
from explorer.cli.write import changing

__all__ = ["delete"]

_EPILOG = """
\b
Examples
  catalog delete URN --soft                       (see catalog restore)
  catalog delete URN --hard --dry-run             (says what would go)
  catalog delete URN --hard
  catalog search tmp_ --urns | catalog delete - --hard --yes

What points at an entity goes on doing so after it is gone.

\b
--json prints an object:
  dry_run  whether nothing was deleted
  deleted  softly: urn, was_removed, removed, written
           for good: urn, done, versions, points, references (how many),
           referenced_by (urn, aspect, relationship); null for what the
           server does not tell
  failed   urn, error
"""


@click.command(epilog=_EPILOG)
@changing.urns
@click.option("--soft", is_flag=True, help="Hide it from search and browsing; it can be restored.")
@click.option("--hard", is_flag=True, help="Delete it for good; it cannot be restored.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--dry-run", is_flag=True, help="Say what would go; delete nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@asks_a_catalog
def delete(
    target: Target,
    urns: tuple[str, ...],
    *,
    soft: bool,
    hard: bool,
    yes: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Take entities away: to be restored, or for good.

    URN may be several, or - for those on standard input, one a line. One that fails loses no
    other. --hard says what goes, and asks.
    """
    if soft == hard:
        raise click.UsageError(
            "say how: --soft hides an entity and can be undone, --hard deletes it for good"
        )
    asks = hard and not (yes or dry_run)
    if asks and ("-" in urns or not (sys.stdin and sys.stdin.isatty())):
        raise click.UsageError("nobody is there to be asked; give --yes to delete for good")
    from explorer.cli.write import removals

    if soft:
        removals.hide(target, urns, dry_run=dry_run, as_json=as_json)
    else:
        removals.destroy(target, urns, asks=asks, dry_run=dry_run, as_json=as_json)
