"""Which catalog a command asks: a server by its address or profile, or this machine's own."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from explorer.errors import CatalogError

if TYPE_CHECKING:
    from explorer.client import Catalog

__all__ = ["Target", "asks_a_catalog", "complete_profiles"]

_NUMBERS: Final = {2: "two", 3: "three"}


def complete_profiles(
    _context: click.Context, _parameter: click.Parameter, begun: str
) -> list[str]:
    """The names of profiles that begin so, for the shell."""
    from explorer import config

    try:
        names = (config.EMBEDDED, *config.read_profiles().by_name)
    except CatalogError:
        return []
    return [name for name in names if name.startswith(begun)]


@dataclass(frozen=True, slots=True)
class Target:
    """What the command line says of the catalog; what it leaves out the environment says."""

    url: str | None
    data_dir: Path | None
    token: str | None = field(repr=False)
    profile: str | None = None
    offline: bool = False

    def open(self) -> "Catalog":
        """A client of it; nothing is sent yet.

        A token that a person is asked for is asked for here: later it would be on a thread of the
        client's, which an interrupt does not reach.
        """
        # Brings httpx, which neither --help nor a usage error should wait for.
        from rich.text import Text

        from explorer import config
        from explorer.cli.output import note
        from explorer.client import Catalog
        from explorer.client.display import line

        token = self.token
        if token is None:
            named = config.server(self.url, profile=self.profile, data_dir=self.data_dir)
            token = named.token() if named.token.asks else None
        catalog = Catalog(
            self.url,
            profile=self.profile,
            data_dir=self.data_dir,
            token=token,
            offline="only" if self.offline else "keep",
        )
        catalog.on_warning(lambda sentence: note(Text(f"warning: {line(sentence)}")))
        return catalog


def asks_a_catalog(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options that name a catalog; it gets them as its first argument."""

    @click.option(
        "--url",
        metavar="URL",
        help="The server to ask; without one, this machine's own catalog.  [env: CATALOG_URL]",
    )
    @click.option(
        "--profile",
        metavar="NAME",
        shell_complete=complete_profiles,
        help="The server to ask, by its profile: see catalog profile.  [env: CATALOG_PROFILE]",
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
    @click.option(
        "--offline",
        is_flag=True,
        help="Send nothing: show what was kept of earlier answers.",
    )
    @wraps(command)
    def with_target(
        *args: object,
        url: str | None,
        profile: str | None,
        data_dir: Path | None,
        asks_for_token: bool,
        offline: bool,
        **kwargs: object,
    ) -> None:
        given = {"--url": url, "--data-dir": data_dir, "--profile": profile}
        named = [option for option, value in given.items() if value]
        if len(named) > 1:
            raise click.UsageError(
                f"{' and '.join(named)} name {_NUMBERS[len(named)]} catalogs; give one of them"
            )
        token = click.prompt("Access token", hide_input=True, err=True) if asks_for_token else None
        command(Target(url, data_dir, token, profile, offline), *args, **kwargs)

    return with_target
