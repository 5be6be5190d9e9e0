"""`catalog restore`"""

from pathlib import Path

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
  catalog restore /backups/catalog-2030-01-31 --data-dir /var/lib/catalog

\b
With URNs --json prints an object:
  dry_run   whether nothing was written
  restored  urn, was_removed, removed, written
  failed    urn, error

\b
With a BACKUP
  It is checked first. The catalog that is there is kept beside it under a
  dated name, to be removed by hand. Nobody may serve the catalog meanwhile.
  If this is killed, the directory holds the one catalog or the other, whole.
  Access tokens are taken from the backup only where the directory has none.
"""


@click.command(epilog=_EPILOG)
@changing.urns
@changing.dry_run
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@asks_a_catalog
def restore(target: Target, urns: tuple[str, ...], *, dry_run: bool, as_json: bool) -> None:
    """Bring back entities that were deleted with --soft, or go back to a backup.

    URN may be several, or - for those on standard input, one a line. One that fails loses no
    other. What was deleted with --hard is gone.

    A single argument that is no URN is a BACKUP that catalog backup made, or the catalog.db in
    one: it takes the place of this machine's own catalog, or of the one in --data-dir.
    """
    if len(urns) == 1 and urns[0] != "-" and not urns[0].startswith("urn:"):
        _restore_backup(target, Path(urns[0]), is_plain=not (dry_run or as_json))
        return
    from explorer.cli.write import removals

    removals.bring_back(target, urns, dry_run=dry_run, as_json=as_json)


def _restore_backup(target: Target, backup: Path, *, is_plain: bool) -> None:
    if not is_plain or target.url or target.profile or target.token or target.offline:
        raise click.UsageError(
            "a backup is restored to a directory: of the options give --data-dir"
        )
    from explorer import config
    from explorer.cli.output import note
    from explorer.server import data_directory

    directory = target.data_dir or config.data_dir()
    restored = data_directory.restore(directory, backup)
    note(f"{directory} holds the catalog of {backup} now: {restored.entities:,} entities")
    if restored.kept is not None:
        note(f"the catalog before is kept in {restored.kept}; remove it when it is not needed")
