"""The line at the top: which catalog this is, and whether it answers."""

from typing import TYPE_CHECKING

from rich.text import Text
from textual.app import RenderResult
from textual.widget import Widget

from explorer.tui.content import said

if TYPE_CHECKING:
    from explorer.client.records import ServerInfo

__all__ = ["Header"]


class Header(Widget):
    """One line: name, server, how much it holds, the way to help."""

    DEFAULT_CSS = """
    Header { height: 1; dock: top; background: $surface; color: $text; padding: 0 1; }
    """

    def __init__(self) -> None:
        super().__init__()
        self.silent = False
        self._server = Text("○ opening the catalog; the first time takes a moment …", "dim")

    def show(self, info: "ServerInfo", *, read_only: bool = False) -> None:
        """Tell what the server says of itself, and whether anything is written there."""
        parts = [Text("●", "bold green")]
        if info.sample:
            parts.append(Text("sample catalog", "bold"))
        parts.append(said("on this machine" if info.embedded else info.address))
        if read_only:
            parts.append(Text("read only", "bold reverse"))
        if info.entities is not None:
            things = "entity" if info.entities == 1 else "entities"
            parts.append(Text(f"{info.entities:,} {things}", "dim"))
        if info.product == "datahub":
            parts.append(said(f"DataHub {info.version}", "dim"))
        self.silent = False
        self._server = Text("  ").join(parts)
        self.refresh()

    def show_trouble(self) -> None:
        """Tell that the server does not answer."""
        self.silent = True
        self._server = Text("○ no answer from the catalog", "bold")
        self.refresh()

    def render(self) -> RenderResult:
        """The line, its right end kept for help."""
        text = Text.assemble(("catalog", "bold"), "  ", self._server, no_wrap=True)
        text.truncate(self.size.width - 8, overflow="ellipsis", pad=True)
        return text.append("  ? help", "dim")
