"""The command line of `catalog-tui`."""

import gc
import os
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from explorer import __version__

if TYPE_CHECKING:
    from explorer.tui.session import Opening

__all__ = ["freeze_heap", "main"]

_NO_TERMINAL = 2
_REFUSED = 1
# After how many new objects the newest are looked through, and how often all of them.
_LOOKED_THROUGH = 700, 10, 2


def _print_keys(context: click.Context, _option: click.Parameter, wanted: bool) -> None:
    """Every key, as the reader has set it, instead of the terminal."""
    if wanted:
        from explorer.tui.settings import key_lines, read_keymap, read_settings

        read = read_settings()
        keymap, problems = read_keymap(read.settings.keys, read.place)
        _print(context, key_lines(keymap), (*read.problems, *problems))


def _print_settings(context: click.Context, _option: click.Parameter, wanted: bool) -> None:
    """The settings as they stand, instead of the terminal."""
    if wanted:
        from explorer.tui.screens.palette import config_lines
        from explorer.tui.settings import read_keymap, read_settings

        read = read_settings()
        keymap, problems = read_keymap(read.settings.keys, read.place)
        _print(context, config_lines(read.settings, keymap), (*read.problems, *problems))


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
@click.option("--offline", is_flag=True, help="Ask nobody; show what was kept of the server.")
@click.option("--last", is_flag=True, help="Open what was open last.")
@click.option(
    "--log",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write what is asked of the server to the end of a file.",
)
@click.option("--serve", is_flag=True, help="Show it in a browser instead; needs the extra serve.")
@click.option("--host", default="127.0.0.1", show_default=True, help="With --serve: where from.")
@click.option("--port", default=8000, show_default=True, help="With --serve: the port.")
@click.option("--search", "query", default="", metavar="TEXT", help="Search for TEXT first.")
@click.option(
    "--review",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    metavar="FILE",
    help="Review a changeset, or what a file of descriptions would change.",
)
@click.option("--theme", default="", metavar="NAME", help="The colours, such as light or ansi.")
@click.option(
    "--keys",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_keys,
    help="Print every key, and leave.",
)
@click.option(
    "--config-help",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_settings,
    help="Print the settings and what they may be, and leave.",
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

    With a URN, opens that entity:

    \b
      catalog-tui
      catalog-tui --search orders
      catalog-tui 'urn:li:dataset:(urn:li:dataPlatform:hive,fct_users_created,PROD)'
    """
    if sum(map(bool, (url, profile, data_dir))) > 1:
        raise click.UsageError("--url, --profile and --data-dir each name a catalog; give one")
    if not serve and not _in_browser():
        _check_terminal()
    # What is there from the start stays: it is not to be looked through for what could go, neither
    # now nor while somebody types.
    gc.disable()

    from explorer.client.transport import Secret
    from explorer.errors import CatalogError
    from explorer.metadata.urn import Urn
    from explorer.tui.session import Opening, RequestLog
    from explorer.tui.state import TerminalState

    try:
        first = Urn.parse(urn) if urn else None
        # Asked for before the screen is taken, where a person is to type it.
        opening = Opening(url, profile, data_dir, read_only=read_only, offline=offline)
        named = opening.found()
        if named.token.asks and not offline:
            opening = replace(opening, token=Secret.of(named.token()))
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
        server=named.identity,
        remembered=TerminalState.of_user(),
        exchanges=RequestLog(log),
        look=look,
        furnished=freeze_heap,
    )
    app.run(mouse=look.settings.mouse)
    if app.return_code:
        sys.exit(app.return_code)


def freeze_heap() -> None:
    """Enable the garbage collector for what is created from now on: objects of the start are
    frozen (`gc.freeze`), which leaves little to visit and makes full collections short."""
    if not gc.isenabled():
        gc.freeze()
        gc.set_threshold(*_LOOKED_THROUGH)
        gc.enable()


def _refuse(sentence: str) -> None:
    click.echo(f"error: {sentence}", err=True)
    sys.exit(_NO_TERMINAL)


def _in_browser() -> bool:
    """Whether the program was started to be shown in a browser."""
    return os.environ.get("TEXTUAL_DRIVER", "").endswith(":WebDriver")


def _check_terminal() -> None:
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        _refuse("catalog-tui needs a terminal; in scripts and pipes use catalog.")
    if os.environ.get("TERM", "dumb") == "dumb":
        _refuse("this terminal (TERM=dumb) cannot show catalog-tui; use catalog.")


def _serve(opening: "Opening", host: str, port: int) -> None:
    """Show the program in a browser; each page starts it with the same arguments."""
    try:
        from explorer.tui.web_server import CatalogServer
    except ModuleNotFoundError:
        from explorer.errors import MissingExtra

        missing = MissingExtra("a browser is served by the package textual-serve", "serve")
        click.echo(f"error: {missing}", err=True)
        sys.exit(_REFUSED)
    if opening.token is not None:
        # It was typed here, where there is a terminal; the processes of the pages have none.
        os.environ["CATALOG_TOKEN"] = opening.token.header.partition(" ")[2]
    own = {"--serve", "--host", "--port"}
    arguments, rest = [], iter(sys.argv[1:])
    for one in rest:
        name, _, value = one.partition("=")
        if name not in own:
            arguments.append(one)
        elif name != "--serve" and not value:
            next(rest, None)
    try:
        CatalogServer(arguments, host, port).run()
    except OSError as error:
        _refuse(f"port {port} of {host} cannot be had: {error.strerror or error}")
