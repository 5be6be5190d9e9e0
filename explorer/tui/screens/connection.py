"""The connection to a server: the list of servers (profiles, the local catalog, and any address),
and the log of requests, each with its answer, newest first."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, Literal

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical, VerticalScroll
from textual.widgets import Input, Static

from explorer.errors import CatalogError
from explorer.sessions.listing import ListState
from explorer.sessions.servers import KnownServer, ServerSession
from explorer.tui.actions import bindings
from explorer.tui.content import block, join, line_text, padded
from explorer.tui.key_queue import LEADING
from explorer.tui.session import KEPT, Opening, TerminalSession, request_line, sentence_of
from explorer.tui.widgets.bars import KeyLine
from explorer.tui.widgets.dialogs import AddressListDialog, OverlayScreen
from explorer.tui.widgets.inputs import HintedLine
from explorer.tui.widgets.rows import Rows

_NAME = 18


class ServersScreen(AddressListDialog[Opening | Literal["sources"] | None, ListState[KnownServer]]):
    """Chooses a server; returns its `Opening`, “sources” to add a source to the open catalog, or
    None if it was cancelled."""

    CSS = """
    ServersScreen > Vertical { width: 92; }
    ServersScreen #token { display: none; }
    ServersScreen.-token #token { display: block; }
    ServersScreen.-token #address { display: none; }
    """
    BINDINGS: ClassVar[list[BindingType]] = bindings("servers")
    DOING = "reading the profiles"
    TITLE_SHOWN = "Servers"
    ADDRESS_HINT = "or an address, such as http://host:8080"
    _list: ServerSession | None = None

    def __init__(self, session: TerminalSession) -> None:
        super().__init__(session)
        self._shown = ListState(instead=ServerSession.READING)

    def lines(self) -> ComposeResult:
        """Yield the lines for an address and for a token."""
        yield from super().lines()
        hint = "the access token, not shown and not saved"
        yield HintedLine(id="token", placeholder=hint, password=True)

    async def open_session(self) -> ServerSession:
        """Return the session. It needs no open catalog, so that a server can be chosen when the
        current one fails."""
        return ServerSession(self._session.server)

    @contextmanager
    def reporting(self) -> Iterator[None]:
        """Return a context that shows an error of reading the list, without a change of the server
        status."""
        with self._session.reporting(self.DOING):
            try:
                yield
            except CatalogError as error:
                self.tell_failure(sentence_of(error))

    def draw_row(self, index: int, width: int) -> tuple[Text, Text]:
        """Return the two lines of a server: its name and address, and what is known of it."""
        server = self._shown.listed[index]
        is_open = server.identity == self._session.server
        first = Text.assemble(
            " ● " if is_open else "   ", padded(line_text(server.name, "bold"), _NAME)
        )
        first.append(" ").append_text(padded(line_text(server.place), width - _NAME - 4))
        marks = [
            Text("current" if is_open else "", "bold"),
            Text("read-only" if server.read_only else "", "bold"),
            Text("local" if server.is_embedded else "", "dim"),
            line_text(f"token: {server.token_from}" if server.token_from else "", "dim"),
            line_text(server.known_from, "dim"),
        ]
        return first, Text("   ").append_text(join(marks))

    def choose(self) -> None:
        """Open the server under the cursor; if it needs a token, ask for one first."""
        server = self._shown.current
        if server is not None and server.asks_for_token:
            self.action_token()
        else:
            self._open()

    def action_token(self) -> None:
        """Focus the line for a token for the server under the cursor."""
        if self._shown.current is not None:
            self.add_class("-token")
            self.set_focus(self.query_one("#token"))

    def action_offline(self) -> None:
        """Open the offline copy of the server under the cursor."""
        if self.is_possible("open_offline"):
            self._open(offline=True)

    def action_read_only(self) -> None:
        """Open the server under the cursor read-only."""
        self._open(read_only=True)

    def action_sources(self) -> None:
        """Add a source to the open catalog."""
        self.dismiss("sources")

    def action_close(self) -> object:
        """Go back from an input line to the list; from the list, close."""
        self.remove_class("-token")
        self.query_one("#token", Input).value = ""
        return super().action_close()

    @on(Input.Submitted, "#address")
    @work(exclusive=True, group="address", name=LEADING)
    async def _handle_address(self, event: Input.Submitted) -> None:
        event.stop()
        if event.value.strip() and self._list is not None:
            url = await self.do(self._list.take_address(event.value.strip()))
            if url is not None:
                self.dismiss(Opening(url=url))

    @on(Input.Submitted, "#token")
    @work(exclusive=True, group="token", name=LEADING)
    async def _handle_token(self, event: Input.Submitted) -> None:
        event.stop()
        event.input.value = ""
        if self._list is not None:
            token = await self.do(self._list.take_token(event.value))
            if token is not None:
                self._open(token=token)

    def _open(self, **options: Any) -> None:
        """Close with the `Opening` of the server under the cursor, with these options."""
        server = self._shown.current
        if server is not None:
            self.dismiss(Opening(profile=server.profile, **options))


_MOST_SHOWN = 20_000
_WIDE = 70


class LogScreen(OverlayScreen[None]):
    """Lists the requests, newest first, above the details of the request under the cursor."""

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
        # A copy, because new requests would move the list under the cursor.
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
        """Show the full request under the cursor, and its answer."""
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
