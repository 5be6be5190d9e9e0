"""The command line of `catalog-tui`."""

import gc
import os
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from explorer.version import __version__

if TYPE_CHECKING:
    from explorer.tui.session import Opening

_NO_TERMINAL = 2
_REFUSED = 1


def _print_keys(context: click.Context, _option: click.Parameter, wanted: bool) -> None:
    """Print every action with its keys according to the settings, and exit."""
    if wanted:
        from explorer.tui.settings import key_lines, read_keymap, read_settings

        settings = read_settings()
        keymap, problems = read_keymap(settings.settings.keys, settings.place)
        _print(context, key_lines(keymap), (*settings.problems, *problems))


def _print_settings(context: click.Context, _option: click.Parameter, wanted: bool) -> None:
    """Print the current settings, and exit."""
    if wanted:
        from explorer.tui.screens.palette import config_lines
        from explorer.tui.settings import read_keymap, read_settings

        settings = read_settings()
        keymap, problems = read_keymap(settings.settings.keys, settings.place)
        _print(context, config_lines(settings.settings, keymap), (*settings.problems, *problems))


def _print(context: click.Context, lines: Iterable[str], problems: Iterable[str]) -> None:
    for line in lines:
        click.echo(line)
    for problem in problems:
        click.echo(f"error: {problem}", err=True)
    context.exit()


@click.command(
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Without a server's address the catalog of this machine is opened; on its first start "
    "it holds a sample. Servers get names with `catalog profile`. For scripts there is `catalog`.",
)
@click.argument("urn", required=False, metavar="[URN|TEXT]")
@click.option("--url", help="The server, http://host:8080.  [env: CATALOG_URL]")
@click.option(
    "--profile",
    metavar="NAME",
    help="The server, by the name of its profile.  [env: CATALOG_PROFILE]",
)
@click.option(
    "--data-dir",
    type=click.Path(path_type=Path, file_okay=False),
    help="The directory of the local catalog.  [env: CATALOG_DATA_DIR]",
)
@click.option(
    "--read-only", is_flag=True, help="Open the server read-only: no key writes anything."
)
@click.option(
    "--offline", is_flag=True, help="Show the offline copy of the server; send no requests."
)
@click.option("--last", is_flag=True, help="Open the page that was open last.")
@click.option(
    "--log",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Append every request to the server to a file.",
)
@click.option("--serve", is_flag=True, help="Serve the app to a browser; needs the extra serve.")
@click.option(
    "--host", default="127.0.0.1", show_default=True, help="With --serve: the address to listen on."
)
@click.option(
    "--port", default=8000, show_default=True, help="With --serve: the port to listen on."
)
@click.option("--search", "query", default="", metavar="TEXT", help="Search for TEXT first.")
@click.option(
    "--review",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    metavar="FILE",
    help="Review a changeset, or what a file of descriptions would change.",
)
@click.option("--theme", default="", metavar="NAME", help="The theme, such as light or ansi.")
@click.option(
    "--keys",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_keys,
    help="Print every key, and exit.",
)
@click.option(
    "--config-help",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_settings,
    help="Print the settings with their allowed values, and exit.",
)
@click.version_option(__version__, prog_name="catalog-tui")
def main(
    urn: str | None,
    url: str | None,
    profile: str | None,
    data_dir: Path | None,
    query: str,
    log: Path | None,
    theme: str,
    review: Path | None,
    *,
    read_only: bool,
    offline: bool,
    last: bool,
    serve: bool,
    host: str,
    port: int,
) -> None:
    """Explore and document a metadata catalog.

    With a URN, opens that entity; any other text is searched for, as with --search:

    \b
      catalog-tui
      catalog-tui orders
      catalog-tui 'urn:li:dataset:(urn:li:dataPlatform:hive,fct_users_created,PROD)'
    """
    if sum(map(bool, (url, profile, data_dir))) > 1:
        raise click.UsageError("--url, --profile and --data-dir each name a catalog; give one")
    if urn and not urn.startswith("urn:"):
        if query:
            raise click.UsageError(f"“{urn}” and --search are both searched for; give one")
        query, urn = urn, None
    if not serve and not _in_browser():
        _check_terminal()
    # Nothing becomes garbage before the first frame, which takes 1.66 times as long as that of an
    # empty Textual application, with collections 1.87 times (`tests/benchmarks/start.py`).
    gc.disable()

    from explorer.client.transport import Secret
    from explorer.errors import CatalogError
    from explorer.metadata.urn import Urn
    from explorer.tui.session import Opening, RequestLog
    from explorer.tui.state import TerminalState

    try:
        first = Urn.parse(urn) if urn else None
        # Asks for a missing token, before the application takes over the screen.
        opening = Opening(url, profile, data_dir, read_only=read_only, offline=offline)
        settings = opening.server_settings()
        if settings.token.asks and not offline:
            opening = replace(opening, token=Secret.of(settings.token()))
        if log is not None:
            RequestLog.check(log)
    except CatalogError as error:
        _refuse(str(error))

    if serve:
        _serve(opening, host, port)
        return

    from explorer.tui.app import CatalogApp
    from explorer.tui.settings import Appearance, read_settings

    look = Appearance(read_settings(), theme)
    if look.settings.editor:
        os.environ["VISUAL"] = look.settings.editor
    app = CatalogApp(
        opening.maker(),
        urn=first,
        query=query,
        last=last,
        review=review,
        server=settings.identity,
        remembered=TerminalState.of_user(),
        exchanges=RequestLog(log),
        look=look,
        on_mounted=gc.enable,
    )
    app.run(mouse=look.settings.mouse)
    if app.return_code:
        sys.exit(app.return_code)


def _refuse(sentence: str) -> None:
    click.echo(f"error: {sentence}", err=True)
    sys.exit(_NO_TERMINAL)


def _in_browser() -> bool:
    """Return whether the program was started by the server for browsers."""
    return os.environ.get("TEXTUAL_DRIVER", "").endswith(":WebDriver")


def _check_terminal() -> None:
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        _refuse("catalog-tui needs a terminal; in scripts and pipes use catalog.")
    if os.environ.get("TERM", "dumb") == "dumb":
        _refuse("this terminal (TERM=dumb) cannot show catalog-tui; use catalog.")


def _serve(opening: "Opening", host: str, port: int) -> None:
    """Serve the program to browsers; each page starts a process with the same arguments."""
    try:
        from explorer.tui.web_server import CatalogServer
    except ModuleNotFoundError:
        from explorer.errors import MissingExtra

        missing = MissingExtra("--serve needs the package textual-serve", "serve")
        click.echo(f"error: {missing}", err=True)
        sys.exit(_REFUSED)
    if opening.token is not None:
        # The token was typed here; the processes of the pages have no terminal to ask in.
        os.environ["CATALOG_TOKEN"] = opening.token.header.partition(" ")[2]
    own = {"--serve", "--host", "--port"}
    arguments, rest = [], iter(sys.argv[1:])
    for argument in rest:
        name, _, value = argument.partition("=")
        if name not in own:
            arguments.append(argument)
        elif name != "--serve" and not value:
            next(rest, None)
    try:
        CatalogServer(arguments, host, port).run()
    except OSError as error:
        _refuse(f"port {port} of {host} cannot be used: {error.strerror or error}")
