"""`catalog-tui`: the catalog in the terminal."""

import os
import sys
from pathlib import Path

import click

from explorer import __version__

__all__ = ["main"]

_NO_TERMINAL = 2


@click.command(
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Without --url the catalog of this machine is opened; on its first start it holds a "
    "sample. For scripts there is `catalog`.",
)
@click.argument("urn", required=False)
@click.option("--url", envvar="CATALOG_URL", help="The server, http://host:8080.")
@click.option(
    "--data-dir",
    envvar="CATALOG_DATA_DIR",
    type=click.Path(path_type=Path, file_okay=False),
    help="Where the catalog of this machine lives.",
)
@click.option("--search", "query", default="", metavar="TEXT", help="Search for TEXT first.")
@click.version_option(__version__, prog_name="catalog-tui")
def main(urn: str | None, url: str | None, data_dir: Path | None, query: str) -> None:
    """Explore and document a metadata catalog.

    With a URN, opens that entity:

    \b
      catalog-tui
      catalog-tui --search orders
      catalog-tui 'urn:li:dataset:(urn:li:dataPlatform:hive,fct_users_created,PROD)'
    """
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        _refuse("catalog-tui needs a terminal; in scripts and pipes use catalog.")
    if os.environ.get("TERM", "dumb") == "dumb":
        _refuse("this terminal (TERM=dumb) cannot show catalog-tui; use catalog.")

    from explorer.errors import InvalidInput
    from explorer.metadata.urn import Urn

    try:
        first = Urn.parse(urn) if urn else None
    except InvalidInput as error:
        _refuse(str(error))

    from explorer.client import AsyncCatalog
    from explorer.tui.app import CatalogApp

    CatalogApp(
        lambda: AsyncCatalog(url, data_dir=None if url else data_dir), urn=first, query=query
    ).run()


def _refuse(sentence: str) -> None:
    click.echo(f"error: {sentence}", err=True)
    sys.exit(_NO_TERMINAL)
