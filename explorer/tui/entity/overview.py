"""The first look at an entity: its texts, links and properties."""

from typing import TYPE_CHECKING, ClassVar

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import Static

from explorer.tui.content import markdown, said
from explorer.tui.entity.tab import Tab

if TYPE_CHECKING:
    from explorer.client.entity import Entity

__all__ = ["OverviewTab"]


class OverviewTab(VerticalScroll, Tab):
    """Both descriptions, each marked, with links, properties and the URN."""

    NAME: ClassVar[str] = "overview"
    KEY: ClassVar[str] = "1"
    TITLE: ClassVar[str] = "Overview"
    SHORT: ClassVar[str] = "Over"
    DEFAULT_CSS = """
    OverviewTab { padding: 0 2; scrollbar-size-vertical: 1; }
    """

    def __init__(self) -> None:
        super().__init__(id=self.NAME)

    def compose(self) -> ComposeResult:
        """The text."""
        yield Static("", id="text", markup=False)

    def clear(self) -> None:
        """Show nothing, until there is an entity."""
        self.query_one("#text", Static).update("")

    def show_entity(self, entity: "Entity", *, keep: bool) -> None:
        """Draw it, from the top when it is another one."""
        if not keep:
            self.scroll_home(animate=False)
        parts: list[RenderableType] = []
        edited, ingested = entity.edited_description, entity.ingested_description
        if edited:
            parts += [_heading("Description", "✎ edited"), markdown(edited)]
        if ingested or not edited:
            parts += [_heading("Description", "ingested" if ingested else ""), markdown(ingested)]
        if entity.links:
            parts.append(_heading("Links"))
            parts += [
                Text.assemble("• ", said(link.description or link.url), "  ", said(link.url, "dim"))
                for link in entity.links
            ]
        parts += _properties(entity)
        parts += [_heading("URN"), said(str(entity.urn), "dim")]
        self.query_one("#text", Static).update(Group(*parts))

    def focus_content(self) -> None:
        """The keys scroll the text."""
        self.focus()


def _heading(words: str, remark: str = "") -> RenderableType:
    text = Text(words, "bold")
    if remark:
        text.append(f"  {remark}", "dim")
    return Padding(text, (1, 0, 0, 0))


def _properties(entity: "Entity") -> list[RenderableType]:
    held = (entity.raw("datasetProperties") or {}).get("customProperties")
    if not isinstance(held, dict) or not held:
        return []
    rows = [
        Text.assemble(said(str(name), "dim"), "  ", said(str(value)))
        for name, value in sorted(held.items())
    ]
    return [_heading("Properties"), *rows]
