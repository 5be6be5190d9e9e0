"""`catalog serve`"""

from ipaddress import ip_address
from pathlib import Path

import click

__all__ = ["serve"]

_EPILOG = """
\b
Examples
  catalog serve
  catalog serve --port 9002 --data-dir /var/lib/catalog
  catalog serve --registry our-aspects.json --base-path /metadata
  CATALOG_URL=http://127.0.0.1:8080 catalog search orders

Ingestion that writes to a DataHub server writes to this one as it is: give it this address.
"""


@click.command(epilog=_EPILOG)
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", type=click.IntRange(0, 65_535), default=8080, show_default=True)
@click.option(
    "--data-dir",
    type=click.Path(file_okay=False, path_type=Path),
    help="Where the catalog is kept.  [env: CATALOG_DATA_DIR]",
)
@click.option(
    "--registry",
    "registry_file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A file with entities and aspects of your own, added to those that ship.",
)
@click.option("--base-path", default="", metavar="/PATH", help="A path before every address.")
@click.option(
    "--allow-open",
    is_flag=True,
    help="Listen on more than this machine, though everybody may read and write.",
)
def serve(
    host: str,
    port: int,
    data_dir: Path | None,
    registry_file: Path | None,
    base_path: str,
    *,
    allow_open: bool,
) -> None:
    """Serve a catalog to this machine or to a team.

    Runs until it is interrupted. Its address is written to standard output once it answers.
    """
    if base_path and not base_path.startswith("/"):
        raise click.BadParameter("a base path starts with /", param_hint="--base-path")
    if not (allow_open or _is_loopback(host)):
        raise click.UsageError(
            f"on {host} everybody who reaches this machine may read and write the catalog; "
            "if that is meant, give --allow-open"
        )
    from explorer import config, server

    directory = data_dir or config.data_dir()

    def announce(address: str) -> None:
        click.echo(f"serving the catalog in {directory}; ctrl+c ends it", err=True)
        click.echo(address)

    server.serve(
        host=host,
        port=port,
        data_dir=directory,
        registry_file=registry_file,
        base_path=base_path,
        announce=announce,
        # What is asked of the host was asked above.
        open_to_network=True,
    )


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
