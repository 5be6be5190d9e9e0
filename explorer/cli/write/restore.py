"""`catalog restore`"""

import click

from explorer.cli.target import Target, asks_a_catalog
from explorer.cli.write import changing

__all__ = ["restore"]

_EPILOG = """
\b
Examples
  catalog restore URN
  catalog restore URN OTHER-URN --dry-run
  catalog search --filter removed:true --urns | catalog restore -

\b
--json prints an object:
  dry_run   whether nothing was written
  restored  urn, was_removed, removed, written
  failed    urn, error
"""


@click.command(epilog=_EPILOG)
@changing.urns
@changing.dry_run
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@asks_a_catalog
def restore(target: Target, urns: tuple[str, ...], *, dry_run: bool, as_json: bool) -> None:
    """Bring back entities that were deleted with --soft.

    URN may be several, or - for those on standard input, one a line. One that fails loses no
    other. What was deleted with --hard is gone.
    """
    from explorer.cli.write import removals

    removals.bring_back(target, urns, dry_run=dry_run, as_json=as_json)
