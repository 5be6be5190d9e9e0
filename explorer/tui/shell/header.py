"""The line at the top: which catalog this is, and whether it answers."""

from datetime import datetime
from typing import TYPE_CHECKING

from rich.style import Style
from rich.text import Text
from textual.app import RenderResult
from textual.widget import Widget

from explorer.metadata.urn import Urn
from explorer.tui.content import said
from explorer.tui.shell.pressing import pressed

if TYPE_CHECKING:
    from textual.timer import Timer

    from explorer.client.records import ServerInfo
    from explorer.tui.session import Session, Standing

__all__ = ["Header"]

# An answer that comes sooner was not waited for.
_PATIENCE_SECONDS = 1.0


class Header(Widget):
    """One line: name, how the server was last heard, which it is, how much it holds, the way to
    help. While an answer is waited for the time that takes is shown; else no clock runs."""

    DEFAULT_CSS = """
    Header { height: 1; dock: top; background: $surface; color: $text; padding: 0 1; }
    """

    def __init__(self, session: "Session") -> None:
        super().__init__()
        self._session = session
        self._server: Text | None = None
        self._clock: Timer | None = None
        self._drawn = Text()
        self._drafts_drawn = 0

    def show(self, info: "ServerInfo", *, read_only: bool = False) -> None:
        """Tell what the server says of itself, and whether anything is written there."""
        parts = [Text("sample catalog", "bold")] if info.sample else []
        user = f" as {Urn.label(info.user)}" if info.user else ""
        parts.append(said(f"on this machine{user}" if info.embedded else info.address))
        if read_only:
            parts.append(Text("read only", "bold reverse"))
        if info.entities is not None:
            things = "entity" if info.entities == 1 else "entities"
            parts.append(Text(f"{info.entities:,} {things}", "dim"))
        if info.product == "datahub":
            parts.append(said(f"DataHub {info.version}", "dim"))
        self._server = Text("  ").join(parts)
        self.refresh()

    def forget(self) -> None:
        """Another server is turned to, of which nothing is known yet."""
        self._server = None
        self.refresh()

    def fail(self, sentence: str) -> bool:
        """The server could not tell of itself; gives whether this line tells enough of why."""
        del sentence
        self.refresh()
        return self._session.standing.contact in ("kept", "silent")

    @property
    def knows_server(self) -> bool:
        """Whether the server has told of itself."""
        return self._server is not None

    def look(self) -> None:
        """A question began, or the standing changed."""
        if self._state() != self._drawn or len(self._session.drafts) != self._drafts_drawn:
            self.refresh()
        if self._clock is None and self._session.waiting_seconds is not None:
            self._clock = self.set_timer(_PATIENCE_SECONDS, self._tick)

    def _tick(self) -> None:
        self._clock = None
        self.look()

    def _state(self) -> Text:
        waiting = self._session.waiting_seconds
        return _told(self._session.standing, waiting, known=self.knows_server)

    def render(self) -> RenderResult:
        """The line, its right end kept for help."""
        state = self._drawn = self._state()
        text = Text.assemble(("catalog", "bold"), "  ", state, no_wrap=True)
        if self._server is not None:
            text.append("  ").append_text(self._server)
        drafts = self._drafts()
        text.truncate(self.size.width - 8 - drafts.cell_len, overflow="ellipsis", pad=True)
        text.append_text(drafts)
        return text.append("  ").append("? help", Style(dim=True) + pressed("help"))

    def _drafts(self) -> Text:
        count = self._drafts_drawn = len(self._session.drafts)
        if not count:
            return Text()
        words = "1 draft F4" if count == 1 else f"{count:,} drafts F4"
        return Text("  ").append(words, Style(bold=True) + pressed("drafts"))


def _told(standing: "Standing", waiting: float | None, *, known: bool) -> Text:
    if waiting is not None and waiting >= _PATIENCE_SECONDS:
        before = "no answer so far" if standing.contact == "silent" else "waiting"
        return Text(f"◌ {before}, {waiting:,.0f} s", "bold")
    match standing.contact:
        case "ready":
            return Text("●", "bold green") if known else Text("● ready", "bold green")
        case "kept":
            return Text(f"◐ offline copy{_age(standing.as_of)}", "bold")
        case "silent":
            return Text("○ no answer from the catalog", "bold")
        case "refused":
            return Text("○ wants an access token", "bold")
        case "opening":
            return Text("◌ opening the catalog; the first time takes a moment …", "dim")


def _age(as_of: datetime | None) -> str:
    if as_of is None:
        return ""
    then = as_of.astimezone()
    today = then.date() == datetime.now().astimezone().date()
    return f" as of {then:%H:%M}" if today else f" as of {then:%Y-%m-%d %H:%M}"
