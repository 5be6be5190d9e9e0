"""`catalog sample`"""

from typing import TYPE_CHECKING

import click

from explorer.cli.target import Target, asks_a_catalog

if TYPE_CHECKING:
    from explorer.client.records import Rollback

__all__ = ["sample"]

_EPILOG = """
\b
Examples
  catalog sample load
  catalog search orders
  catalog sample remove
"""


@click.group(epilog=_EPILOG)
def sample() -> None:
    """A made-up company's catalog, to try things on.

    A new catalog of this machine's own holds it already. It goes in as one run of ingestion, and
    is taken out again without touching anything else.
    """


@sample.command("load")
@asks_a_catalog
def load_sample(target: Target) -> None:
    """Put the sample into the catalog.

    Use and profiles reach from thirty days ago to today.

    \b
    Example
      catalog sample load --url http://127.0.0.1:8080
    """
    from datetime import UTC, datetime

    from explorer.cli.write.loading import print_counts, tell_refusals
    from explorer.cli.write.sending import Outcome, progress, send
    from explorer.sample import sample_proposals

    outcome = Outcome("sample")
    with target.open() as catalog, progress() as begin:
        changes = list(sample_proposals(datetime.now(UTC).date()))
        send(catalog, changes, outcome, begin(outcome.source, len(changes)))
    print_counts([outcome])
    tell_refusals([outcome])
    if outcome.refusals:
        click.get_current_context().exit(1)


@sample.command()
@click.option("--yes", is_flag=True, help="Do not ask.")
@asks_a_catalog
def remove(target: Target, *, yes: bool) -> None:
    """Take the sample out again, with what was written over it.

    Says what will go, and asks.

    \b
    Example
      catalog sample remove --yes
    """
    import sys

    from explorer.sample import SAMPLE_RUN_ID

    if not (yes or (sys.stdin and sys.stdin.isatty())):
        raise click.UsageError("nobody is there to be asked; give --yes to remove the sample")
    with target.open() as catalog:
        going = catalog.roll_back(SAMPLE_RUN_ID, dry_run=True)
        if not going.aspects:
            click.echo("no sample in this catalog; nothing to remove", err=True)
            return
        if not yes:
            click.echo(f"to be removed: {_counted(going)}", err=True)
            if not click.confirm("Remove them?", err=True):
                click.echo("nothing was removed", err=True)
                click.get_current_context().exit(1)
        click.echo(f"removed {_counted(catalog.roll_back(SAMPLE_RUN_ID))}")


def _counted(rollback: "Rollback") -> str:
    counts = f"{rollback.aspects:,} aspects, {rollback.entities:,} entities"
    if rollback.touched:
        counts += f" ({rollback.touched:,} of them with what others wrote since)"
    return counts
