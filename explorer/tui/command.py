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
    epilog="Without a server's address the catalog of this machine is opened; on its first start "
    "it holds a sample. Servers get names with `catalog profile`. For scripts there is `catalog`.",
)
@click.argument("urn", required=False)
@click.option("--url", help="The server, http://host:8080.  [env: CATALOG_URL]")
@click.option(
    "--profile",
    metavar="NAME",
    help="The server, by the name of its profile.  [env: CATALOG_PROFILE]",
)
@click.option(
    "--data-dir",
    type=click.Path(path_type=Path, file_okay=False),
    help="Where the catalog of this machine lives.  [env: CATALOG_DATA_DIR]",
)
@click.option("--read-only", is_flag=True, help="Write nothing, whatever is pressed.")
@click.option("--search", "query", default="", metavar="TEXT", help="Search for TEXT first.")
@click.version_option(__version__, prog_name="catalog-tui")
def main(
    urn: str | None,
    url: str | None,
    profile: str | None,
    data_dir: Path | None,
    query: str,
    *,
    read_only: bool,
) -> None:
    """Explore and document a metadata catalog.

    With a URN, opens that entity:

    \b
      catalog-tui
      catalog-tui --search orders
      catalog-tui 'urn:li:dataset:(urn:li:dataPlatform:hive,fct_users_created,PROD)'
    """
    if sum(map(bool, (url, profile, data_dir))) > 1:
        raise click.UsageError("--url, --profile and --data-dir each name a catalog; give one")
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        _refuse("catalog-tui needs a terminal; in scripts and pipes use catalog.")
    if os.environ.get("TERM", "dumb") == "dumb":
        _refuse("this terminal (TERM=dumb) cannot show catalog-tui; use catalog.")

    from explorer import config
    from explorer.errors import CatalogError
    from explorer.metadata.urn import Urn

    try:
        first = Urn.parse(urn) if urn else None
        # Asked for before the screen is taken, where a person is to type it.
        named = config.server(url, profile=profile, data_dir=data_dir)
        token = named.token() if named.token.asks else None
    except CatalogError as error:
        _refuse(str(error))

    from explorer.client import AsyncCatalog
    from explorer.tui.app import CatalogApp

    CatalogApp(
        lambda: AsyncCatalog(
            url,
            profile=profile,
            data_dir=data_dir,
            token=token,
            # A profile that is read-only stays so.
            read_only=read_only or None,
            offline="fallback",
        ),
        urn=first,
        query=query,
    ).run()


def _refuse(sentence: str) -> None:
    click.echo(f"error: {sentence}", err=True)
    sys.exit(_NO_TERMINAL)
