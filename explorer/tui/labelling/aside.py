"""Hiding an entity from search and browse, and bringing it back: what happens is said first."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from explorer.metadata.urn import Urn
from explorer.tui.actions import bindings
from explorer.tui.content import said
from explorer.tui.entity.relationships import kinds_of
from explorer.tui.inorder import LEADING
from explorer.tui.labelling.place import Place
from explorer.tui.lineage.reading import open_graphs
from explorer.tui.session import Session
from explorer.tui.shell.keyline import KeyLine

if TYPE_CHECKING:
    from explorer.client.records import Edges
    from explorer.graph import Affected, Impact

__all__ = ["AsideScreen"]

_COUNTED = 1_000
_NAMED = 5


@dataclass(slots=True)
class _Found:
    """What is known so far of what points at an entity."""

    edges: "Edges | None" = None
    impact: "Impact | None" = None


class AsideScreen(ModalScreen[bool]):
    """Hides an entity that is shown, or restores one that is hidden, when `ctrl+s` is pressed;
    gives whether that was done."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("aside")
    CSS = """
    AsideScreen { align: center middle; }
    AsideScreen > VerticalScroll {
        width: 84; max-width: 96%; height: auto; max-height: 92%;
        background: $surface; border: round $primary; padding: 0 1; scrollbar-size-vertical: 1;
    }
    """

    def __init__(self, session: Session, place: Place, *, hides: bool) -> None:
        super().__init__()
        self._session = session
        self._place = place
        self._hides = hides
        self._found = _Found()
        self._ready = False
        self._is_writing = False

    def compose(self) -> ComposeResult:
        """What happens; the keys."""
        with VerticalScroll():
            yield Static("", id="said", markup=False)
        yield KeyLine()

    def on_mount(self) -> None:
        """Find out what happens."""
        self._tell()
        self._read()

    def say(self, message: str, *, error: bool = False) -> None:
        """Show one sentence in place of the keys."""
        self.query_one(KeyLine).say(message, error=error)

    def action_confirm(self) -> None:
        """Do it, once it is said what happens."""
        if not self._ready:
            self.say("What points at it is still being read.")
        elif not self._is_writing:
            self._do()

    def action_leave(self) -> None:
        """Leave it as it is."""
        self.dismiss(False)

    @work(exclusive=True, group="aside")
    async def _read(self) -> None:
        urn = self._place.urn
        with self._session.reporting("reading what points at it"):
            catalog = await self._session.catalog()
            if self._hides:
                self._found.edges = await catalog.relationships(urn, "INCOMING", count=_COUNTED)
                self._tell()
                self._found.impact = await (await open_graphs(catalog)).impact(urn, None)
        # Where it could not be told, that is said, and does not keep from doing it.
        self._ready = True
        self._tell()
        if self._found.impact is not None:
            # What was said while it was being read is over; what went wrong stays.
            self.query_one(KeyLine).hush()

    @work(exclusive=True, group="aside", name=LEADING)
    async def _do(self) -> None:
        self._is_writing = True
        with self._session.reporting("writing"):
            self.say("writing …")
            catalog = await self._session.catalog()
            act = catalog.soft_delete if self._hides else catalog.restore
            await act(self._place.urn)
            self.dismiss(True)
        self._is_writing = False

    def _tell(self) -> None:
        name = said(self._place.name, "bold")
        text = Text.assemble("Hide " if self._hides else "Restore ", name, "?\n\n")
        if self._hides:
            text.append(
                "It goes away from search and browse. Nothing of it is lost: its page opens by its "
                "URN, and what points at it goes on doing so.\n\n"
            )
            self._tell_relations(text)
            text.append("\n\nTo restore it, press ^x on its page, or run\n", "dim")
            text.append_text(said(f"catalog restore '{self._place.urn}'", "dim"))
        else:
            text.append("It is found again by search and browse, with everything it had.")
        text.append("\n\n")
        text.append("^s", "bold").append(" hides it" if self._hides else " restores it")
        text.append(" · ").append("esc", "bold").append(" leaves everything as it is")
        self.query_one("#said", Static).update(text)

    def _tell_relations(self, text: Text) -> None:
        edges, impact = self._found.edges, self._found.impact
        unread = "could not be read" if self._ready else "reading …"
        text.append("points at it   ", "dim")
        text.append_text(_told_edges(edges, self._place.urn) if edges else Text(unread, "italic"))
        text.append("\nmade from it   ", "dim")
        text.append_text(_told_impact(impact) if impact else Text(unread, "italic"))


def _told_edges(edges: "Edges", of: Urn) -> Text:
    if not edges.total:
        return Text("nothing")
    kinds = kinds_of(edges.edges, edges.direction, of)
    names = ", ".join(f"{kind.words or kind.name} {len(kind.urns):,}" for kind in kinds)
    more = ", …" if edges.truncated else ""
    noun = "relationship" if edges.total == 1 else "relationships"
    return Text(f"{edges.total:,} {noun}: ").append_text(said(f"{names}{more}", "dim"))


def _told_impact(impact: "Impact") -> Text:
    if not impact.affected:
        return Text("nothing is known to be")
    text = Text(f"{len(impact):,}", "bold").append(" downstream, the most used: ")
    for at, one in enumerate(impact.affected[:_NAMED]):
        text.append(", " if at else "").append_text(_told_affected(one))
    left = len(impact) - _NAMED
    if left > 0:
        text.append(f" and {left:,} more")
    if impact.truncated:
        text.append_text(said(f" ({impact.truncated})", "italic"))
    return text


def _told_affected(one: "Affected") -> Text:
    text = said(one.name, "bold")
    if one.queries:
        text.append(f" ({one.queries:,} queries in 30 days)", "dim")
    return text
