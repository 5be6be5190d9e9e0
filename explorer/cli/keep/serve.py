"""`catalog serve`"""

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from explorer.cli.parameters import kept_in, registry_file, token_file

if TYPE_CHECKING:
    from explorer.server.access_log import LogFormat

__all__ = ["serve"]

_EPILOG = """
\b
Examples
  catalog serve
  catalog serve --port 9002 --data-dir /var/lib/catalog
  catalog serve --registry our-aspects.json --base-path /metadata
  CATALOG_URL=http://127.0.0.1:8080 catalog search orders

\b
For a team
  catalog token create nightly --actor ingestion
  catalog serve --host 0.0.0.0 --allow-host catalog.example.com

Once there are tokens every request needs one, but for /health, /config and /restli/docs.
Ingestion that writes to a DataHub server writes to this one as it is: give it this address.
Every option may also stand in the environment, as the name in brackets.
"""


class _Days(click.ParamType[int | None]):
    name = "days"

    def convert(
        self, value: str, param: click.Parameter | None, ctx: click.Context | None
    ) -> int | None:
        """Return the number of days; None for all."""
        if value == "all":
            return None
        if not (value.isascii() and value.isdecimal() and 0 < int(value[:6]) <= 36_500):
            self.fail(
                f"“{value}” is neither a number of days from 1 to 36500 nor all",
                param,
                ctx,
            )
        return int(value)


@click.command(epilog=_EPILOG)
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    envvar="CATALOG_HOST",
    show_envvar=True,
    help="The address to listen on.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=8080,
    show_default=True,
    envvar="CATALOG_PORT",
    show_envvar=True,
    help="The port to listen on; 0 takes any that is free.",
)
@click.option(
    "--base-path",
    default="",
    metavar="/PATH",
    envvar="CATALOG_BASE_PATH",
    show_envvar=True,
    help="A path before every address.",
)
@kept_in
@registry_file
@token_file
@click.option(
    "--allow-open",
    is_flag=True,
    help="Let others than this machine in without tokens: everybody may read and write.",
)
@click.option(
    "--allow-host",
    "allowed_hosts",
    multiple=True,
    metavar="NAME",
    envvar="CATALOG_ALLOW_HOST",
    show_envvar=True,
    help="A host name that requests may ask for, such as a proxy's; may be repeated. "
    "Needs tokens, or --allow-open.",
)
@click.option(
    "--log-format",
    type=click.Choice(["text", "json", "none"]),
    default="text",
    show_default=True,
    envvar="CATALOG_LOG_FORMAT",
    show_envvar=True,
    help="How each request is told on standard error.",
)
@click.option(
    "--keep-changes",
    type=_Days(),
    default="30",
    show_default=True,
    metavar="DAYS|all",
    envvar="CATALOG_KEEP_CHANGES",
    show_envvar=True,
    help=(
        "How long the change log keeps what was changed. The newest 10,000 changes, and what the "
        "search index or somebody who follows has not read, are always kept."
    ),
)
@click.option(
    "--dialect",
    type=click.Choice(["plain", "datahub", "auto"]),
    default="auto",
    show_default=True,
    envvar="CATALOG_DIALECT",
    show_envvar=True,
    help="What callers get where the specification and DataHub differ. auto: DataHub's clients get "
    "what DataHub gives, all others what the specification says (and what /restli/docs shows). "
    "datahub: everybody gets what DataHub gives; choose it for scripts written against a DataHub "
    "server. Of DataHub clients before 0.14, which do not say who they are, auto knows the reads "
    "and what an ingestion run writes.",
)
def serve(
    host: str,
    port: int,
    base_path: str,
    data_dir: Path | None,
    registry_file: Path | None,
    token_file: Path | None,
    allowed_hosts: tuple[str, ...],
    log_format: Literal["text", "json", "none"],
    keep_changes: int | None,
    dialect: Literal["plain", "datahub", "auto"],
    *,
    allow_open: bool,
) -> None:
    """Serve a catalog to this machine or to a team.

    Runs until it is interrupted, and then answers what is under way. Its address is written to
    standard output once it answers.
    """
    if base_path and not base_path.startswith("/"):
        raise click.BadParameter("a base path starts with /", param_hint="--base-path")
    from explorer import config, server

    directory = data_dir or config.data_dir()
    form: LogFormat | None = None if log_format == "none" else log_format

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
        dialect=None if dialect == "auto" else dialect,
        open_to_network=allow_open,
        token_file=token_file,
        allowed_hosts=allowed_hosts,
        log_format=form,
        keep_changes_days=keep_changes,
    )
