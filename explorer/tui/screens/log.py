"""The request log: every request with its answer, newest first."""

from typing import ClassVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical, VerticalScroll
from textual.widgets import Static

from explorer.tui.actions import bindings
from explorer.tui.content import block, line_text, padded
from explorer.tui.session import KEPT, TerminalSession, request_line
from explorer.tui.widgets.bars import KeyLine
from explorer.tui.widgets.dialogs import OverlayScreen
from explorer.tui.widgets.rows import Rows

__all__ = ["LogScreen"]

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
    def _moved(self, event: Rows.Moved) -> None:
        event.stop()
        self._show_details()

    @on(Rows.Chosen)
    def _chosen(self, event: Rows.Chosen) -> None:
        event.stop()

    def action_copy_line(self) -> None:
        """Copy the request under the cursor as one line."""
        if self._shown:
            self.app.copy_to_clipboard(request_line(self._shown[self.query_one(Rows).cursor]))

    def _draw(self, index: int, width: int) -> tuple[Text]:
        one = self._shown[index]
        failed = one.status is None or one.status >= 300
        status = str(one.status) if one.status else "none"
        text = Text.assemble(
            f" {self._times.clock(one.began)} ",
            (f"{'✗' if failed else ' '} {status:<5}", "bold" if failed else ""),
            f"{one.seconds * 1000:>7,.0f} ms ",
        )
        if width >= _WIDE:
            text.append(f"{one.sized_bytes:>11,} B ", "dim")
        text.append(f" {one.method:<5}", "bold" if one.writes else "")
        return (text.append_text(padded(line_text(one.path), width - text.cell_len)),)

    def _show_details(self) -> None:
        if not self._shown:
            return
        one = self._shown[self.query_one(Rows).cursor]
        text = Text.assemble((f"{one.method} ", "bold"), line_text(one.path))
        answer = f"status {one.status}" if one.status else "no answer"
        text.append(f"\n{answer} after {one.seconds:.3f} s, {one.sized_bytes:,} bytes", "dim")
        if one.writes:
            text.append(" · writes", "dim")
        if one.failure:
            text.append(f"\n{block(one.failure, _MOST_SHOWN)}")
        self.query_one(Static).update(text)
        self.query_one(VerticalScroll).scroll_home(animate=False)
