"""The connection to a server: the list of servers (profiles, the local catalog, and any address),
and the log of requests, each with its answer, newest first."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical, VerticalScroll
from textual.widgets import Input, Static

from explorer import config
from explorer.client.transport import Secret
from explorer.errors import CatalogError
from explorer.tui.actions import bindings
from explorer.tui.content import block, join, line_text, padded
from explorer.tui.session import KEPT, Opening, TerminalSession, request_line, sentence_of
from explorer.tui.widgets.bars import KeyLine
from explorer.tui.widgets.dialogs import FramedScreen, OverlayScreen
from explorer.tui.widgets.inputs import HintedLine
from explorer.tui.widgets.rows import Rows

_NAME = 18


@dataclass(frozen=True, slots=True)
class KnownServer:
    """A server of the list: how to open it, its address, and where it is configured."""

    opening: Opening
    name: str
    place: str
    identity: str
    known_from: str = ""
    read_only: bool = False
    token_from: str = ""
    asks: bool = False
    embedded: bool = False


def list_servers() -> list[KnownServer]:
    """Return the profiles by name, the local catalog, and servers of the environment or of
    DataHub's settings. Reads small files; raises `Unusable` for a damaged one."""
    profiles = config.read_profiles()
    servers = [
        _describe_server(
            Opening(profile=name),
            f"a profile{', current' if name == profiles.current else ''}",
        )
        for name in profiles.by_name
    ]
    own = _describe_server(Opening(profile=config.EMBEDDED), "always available")
    meant = _describe_server(Opening(), "from the environment, or DataHub's settings")
    if meant.identity not in [server.identity for server in (*servers, own)]:
        servers.insert(0, meant)
    return [*servers, own]


def _describe_server(opening: Opening, known_from: str) -> KnownServer:
    server = opening.server_settings()
    place = server.url or str(server.data_dir or config.data_dir())
    source = server.token.source
    return KnownServer(
        opening,
        "this machine" if server.name == config.EMBEDDED else server.name,
        place,
        server.identity,
        known_from,
        server.read_only,
        "" if source == "none" else source,
        server.token.asks,
        server.url is None,
    )


class ServersScreen(FramedScreen[Opening | Literal["sources"] | None]):
    """Chooses a server; returns how to open it, or the request to add a source to the open one;
    None if it was cancelled."""

    CSS = """
    ServersScreen > Vertical { width: 92; max-width: 100%; max-height: 90%; padding: 0; }
    ServersScreen Rows { height: auto; max-height: 1fr; background: $surface; }
    ServersScreen #token { display: none; }
    ServersScreen.-token #token { display: block; }
    ServersScreen.-token #address { display: none; }
    """
    BINDINGS: ClassVar[list[BindingType]] = bindings("servers")

    def __init__(self, session: TerminalSession) -> None:
        super().__init__()
        self._session = session
        self._servers: list[KnownServer] = []
        self._wanted: Opening | None = None

    def compose(self) -> ComposeResult:
        """Yield the list and the input below it."""
        with Vertical() as frame:
            frame.border_title = "Servers"
            yield Rows(row_height=2)
            yield HintedLine(id="address", placeholder="or an address, such as http://host:8080")
            hint = "the access token, not shown and not saved"
            yield HintedLine(id="token", placeholder=hint, password=True)
        yield KeyLine()

    def on_mount(self) -> None:
        """Read the list."""
        self.query_one(Rows).styles.height = 2
        self.set_focus(self.query_one(Rows))
        self._read()

    @work(exclusive=True)
    async def _read(self) -> None:
        rows = self.query_one(Rows)
        try:
            self._servers = await asyncio.to_thread(list_servers)
        except CatalogError as error:
            rows.styles.height = 6
            rows.show(0, self._draw, empty=sentence_of(error))
            return
        at = [server.identity for server in self._servers]
        cursor = at.index(self._session.server) if self._session.server in at else 0
        rows.styles.height = 2 * len(self._servers)
        rows.show(len(self._servers), self._draw, cursor=cursor)

    def _draw(self, index: int, width: int) -> tuple[Text, Text]:
        server = self._servers[index]
        is_current = server.identity == self._session.server
        first = Text.assemble(
            " ● " if is_current else "   ", padded(line_text(server.name, "bold"), _NAME)
        )
        first.append(" ").append_text(padded(line_text(server.place), width - _NAME - 4))
        return first, Text("   ").append_text(join(list(self._marks(server, here=is_current))))

    @staticmethod
    def _marks(server: KnownServer, *, here: bool) -> Iterator[Text]:
        yield Text("current" if here else "", "bold")
        yield Text("read-only" if server.read_only else "", "bold")
        yield Text("local" if server.embedded else "", "dim")
        yield line_text(f"token: {server.token_from}" if server.token_from else "", "dim")
        yield line_text(server.known_from, "dim")

    @property
    def _current(self) -> KnownServer | None:
        return self.query_one(Rows).under_cursor(self._servers)

    @on(Rows.Chosen)
    def _handle_chosen(self, event: Rows.Chosen) -> None:
        event.stop()
        server = self._servers[event.index]
        if server.asks:
            self._ask_token(server.opening)
        else:
            self.dismiss(server.opening)

    def action_token(self) -> None:
        """Focus the input for a token for the server under the cursor."""
        if self._current is not None:
            self._ask_token(self._current.opening)

    def action_offline(self) -> None:
        """Open the offline copy of the server under the cursor."""
        server = self._current
        if server is not None and server.embedded:
            self.say("The local catalog is always available: it has no offline copy.", error=True)
        elif server is not None:
            self.dismiss(replace(server.opening, offline=True))

    def action_read_only(self) -> None:
        """Open the server under the cursor read-only."""
        if self._current is not None:
            self.dismiss(replace(self._current.opening, read_only=True))

    def action_address(self) -> None:
        """Focus the input for an address."""
        self.set_focus(self.query_one("#address"))

    def action_sources(self) -> None:
        """Add a source to the open catalog."""
        self.dismiss("sources")

    def action_close(self) -> None:
        """Go back from an input to the list; close from the list."""
        rows = self.query_one(Rows)
        if self.focused is rows:
            self.dismiss(None)
        else:
            self.remove_class("-token")
            self.query_one("#token", Input).value = ""
            self.set_focus(rows)

    @on(Input.Submitted, "#address")
    def _handle_address(self, event: Input.Submitted) -> None:
        event.stop()
        url = event.value.strip()
        if not url:
            return
        if "://" not in url:
            url = f"http://{url}"
        try:
            config.ConnectionProfile(url=url).checked()
        except CatalogError as error:
            self.say(sentence_of(error), error=True)
            return
        self.dismiss(Opening(url=url))

    @on(Input.Submitted, "#token")
    def _handle_token(self, event: Input.Submitted) -> None:
        event.stop()
        token = Secret.of(event.value)
        event.input.value = ""
        if token is None or self._wanted is None:
            self.say("A token cannot contain spaces; esc goes back.", error=True)
            return
        try:
            token.check()
        except CatalogError as error:
            self.say(sentence_of(error), error=True)
            return
        self.dismiss(replace(self._wanted, token=token))

    def _ask_token(self, opening: Opening) -> None:
        self._wanted = opening
        self.add_class("-token")
        self.set_focus(self.query_one("#token"))


_MOST_SHOWN = 20_000
_WIDE = 70


class LogScreen(OverlayScreen[None]):
    """Lists the requests, above the details of the one under the cursor."""

    CSS = """
    LogScreen > Vertical {
        height: 1fr; background: $background; border: round $primary; border-title-color: $text;
    }
    LogScreen Rows { height: 2fr; background: $background; }
    LogScreen VerticalScroll {
        height: 1fr; border-top: solid $border-blurred; padding: 0 1; background: $background;
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = bindings("log")

    def __init__(self, session: TerminalSession) -> None:
        super().__init__()
        self._exchanges = session.exchanges
        self._times = session.times
        # New requests would move the list under the cursor.
        self._shown = [session.exchanges[at] for at in range(len(session.exchanges))]

    def compose(self) -> ComposeResult:
        """Yield the list and the details."""
        with Vertical() as frame:
            some = f", the last {KEPT}" if self._exchanges.count > KEPT else ""
            frame.border_title = f"Requests to the server: {self._exchanges.count:,}{some}"
            yield Rows()
            with VerticalScroll(can_focus=False):
                yield Static("", markup=False)
        yield KeyLine()

    def on_mount(self) -> None:
        """Show the newest request."""
        rows = self.query_one(Rows)
        rows.show(len(self._shown), self._draw, empty="No requests yet.")
        self.set_focus(rows)
        self._show_details()

    @on(Rows.Moved)
    def _handle_move(self, event: Rows.Moved) -> None:
        event.stop()
        self._show_details()

    @on(Rows.Chosen)
    def _handle_chosen(self, event: Rows.Chosen) -> None:
        event.stop()

    def action_copy_line(self) -> None:
        """Copy the request under the cursor as one line."""
        if self._shown:
            self.app.copy_to_clipboard(request_line(self._shown[self.query_one(Rows).cursor]))

    def _draw(self, index: int, width: int) -> tuple[Text]:
        exchange = self._shown[index]
        failed = exchange.status is None or exchange.status >= 300
        status = str(exchange.status) if exchange.status else "none"
        text = Text.assemble(
            f" {self._times.clock(exchange.began)} ",
            (f"{'✗' if failed else ' '} {status:<5}", "bold" if failed else ""),
            f"{exchange.seconds * 1000:>7,.0f} ms ",
        )
        if width >= _WIDE:
            text.append(f"{exchange.sized_bytes:>11,} B ", "dim")
        text.append(f" {exchange.method:<5}", "bold" if exchange.writes else "")
        return (text.append_text(padded(line_text(exchange.path), width - text.cell_len)),)

    def _show_details(self) -> None:
        if not self._shown:
            return
        exchange = self._shown[self.query_one(Rows).cursor]
        text = Text.assemble((f"{exchange.method} ", "bold"), line_text(exchange.path))
        answer = f"status {exchange.status}" if exchange.status else "no answer"
        text.append(
            f"\n{answer} after {exchange.seconds:.3f} s, {exchange.sized_bytes:,} bytes", "dim"
        )
        if exchange.writes:
            text.append(" · writes", "dim")
        if exchange.failure:
            text.append(f"\n{block(exchange.failure, _MOST_SHOWN)}")
        self.query_one(Static).update(text)
        self.query_one(VerticalScroll).scroll_home(animate=False)
