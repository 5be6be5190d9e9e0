"""Which catalog a command asks: a server named by its address, or this machine's own."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from explorer.client import Catalog

__all__ = ["Target", "asks_a_catalog"]


@dataclass(frozen=True, slots=True)
class Target:
    """What the command line says of the catalog; what it leaves out the environment says."""

    url: str | None
    data_dir: Path | None
    token: str | None

    def open(self) -> "Catalog":
        """A client of it; nothing is sent yet."""
        # Brings httpx, which neither --help nor a usage error should wait for.
        from explorer.client import Catalog

        return Catalog(self.url, data_dir=self.data_dir, token=self.token)


def asks_a_catalog(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options that name a catalog; it gets them as its first argument."""

    @click.option(
        "--url",
        metavar="URL",
        help="The server to ask; without one, this machine's own catalog.  [env: CATALOG_URL]",
    )
    @click.option(
        "--data-dir",
        type=click.Path(file_okay=False, path_type=Path),
        help="The directory of this machine's own catalog.  [env: CATALOG_DATA_DIR]",
    )
    @click.option(
        "--token",
        "asks_for_token",
        is_flag=True,
        help="Ask for an access token, unseen.  [env: CATALOG_TOKEN]",
    )
    @wraps(command)
    def with_target(
        *args: object,
        url: str | None,
        data_dir: Path | None,
        asks_for_token: bool,
        **kwargs: object,
    ) -> None:
        if url and data_dir:
            raise click.UsageError("--url and --data-dir name two catalogs; give one of them")
        token = click.prompt("Access token", hide_input=True, err=True) if asks_for_token else None
        command(Target(url, data_dir, token), *args, **kwargs)

    return with_target
