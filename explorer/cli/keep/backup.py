"""`catalog backup`"""

from pathlib import Path

import click

from explorer.cli.parameters import kept_in

__all__ = ["backup"]

_EPILOG = """
\b
Examples
  catalog backup /backups/catalog-$(date +%F)
  catalog serve --data-dir /backups/catalog-2030-01-31 --port 0

To go back to a copy: catalog restore /backups/catalog-2030-01-31. To prove that it
is whole: catalog check --data-dir /backups/catalog-2030-01-31.
"""


@click.command(epilog=_EPILOG)
@click.argument("dest", type=click.Path(path_type=Path), metavar="DEST")
@kept_in
def backup(dest: Path, data_dir: Path | None) -> None:
    """Copy the catalog, as it is at one moment, to the new directory DEST.

    It may be served and written to meanwhile. Access tokens kept in its directory are copied too.
    """
    from explorer import config
    from explorer.cli.output import note
    from explorer.server.data_directory import back_up

    directory = data_dir or config.data_dir()
    size_bytes = back_up(directory, dest)
    note(f"{directory} is copied to {dest}: {size_bytes:,} bytes")
