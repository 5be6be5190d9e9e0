"""What depends on an entity, as a list: the largest group first, in each the most used first."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual.binding import BindingType
from textual.message import Message

from explorer.errors import CatalogError
from explorer.metadata.names import plural
from explorer.metadata.urn import Urn
from explorer.tui.actions import bindings
from explorer.tui.content import join, padded, said
from explorer.tui.lineage.reading import open_graphs
from explorer.tui.lineage.telling import label_name
from explorer.tui.rows import Rows

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog
    from explorer.graph import Affected, Impact

__all__ = ["ImpactRows"]

_OWNERS = 2
_WIDE = 100
_FACTS = 44


class ImpactRows(Rows):
    """Everything downstream, grouped by its type."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("impact")

    @dataclass
    class Left(Message):
        """The reader goes back to the drawing."""

    def __init__(self) -> None:
        super().__init__()
        self._rows: list[str | Affected] = []
        self._counts: dict[str, int] = {}
        self._names: Mapping[str, str] = {}
        self.impact: Impact | None = None
        """What is listed."""

    def say(self, sentence: str) -> None:
        """Show a sentence instead of a list."""
        self._rows, self.impact = [], None
        self.show(0, self._draw_row, empty=sentence)

    async def read(self, catalog: "AsyncCatalog", urn: Urn, column: str | None) -> "Impact":
        """Ask what depends on an entity, or a column of it: see `find_impact` for the requests."""
        try:
            return await (await open_graphs(catalog)).impact(urn, column)
        except CatalogError:
            self.say("What depends on it was not read; x tries again from the drawing.")
            raise

    def show_impact(self, impact: "Impact", names: Mapping[str, str]) -> None:
        """Show what was found; `names` are those of owners by URN."""
        self.impact, self._names = impact, names
        groups = impact.by("type")
        self._counts = {kind: len(some) for kind, some in groups.items()}
        self._rows = []
        for kind, some in groups.items():
            self._rows += [kind, *some]
        self.show(
            len(self._rows), self._draw_row, cursor=1, empty="Nothing is known to be made from it."
        )

    @property
    def affected(self) -> "Affected | None":
        """The entity under the cursor."""
        row = self._rows[self.cursor] if self.cursor < len(self._rows) else ""
        return None if isinstance(row, str) else row

    def action_leave(self) -> None:
        """Back to the drawing."""
        self.post_message(self.Left())

    def _draw_row(self, index: int, width: int) -> tuple[Text]:
        row = self._rows[index]
        if isinstance(row, str):
            count = said(f"· {self._counts[row]:,}", "dim")
            return (Text.assemble(" ", said(plural(row), "bold"), " ", count),)
        used = [
            Text(f"{row.queries:,} queries" if row.queries is not None else ""),
            Text(f"{row.users:,} people" if row.users else "", "dim"),
        ]
        facts = [
            said(row.platform or "", "dim"),
            Text(f"{row.hops} hop{'s' if row.hops != 1 else ''}", "dim"),
            *used,
            Text("not in the catalog" if not row.exists else "", "italic"),
            Text("soft-deleted" if row.removed else "", "italic"),
            Text("deprecated" if row.deprecated else "", "italic"),
        ]
        if width >= _WIDE:
            owners = ", ".join(label_name(one, self._names) for one in row.owners[:_OWNERS])
            rest = len(row.owners) - _OWNERS
            facts.append(said(f"{owners} +{rest}" if rest > 0 else owners, "dim"))
        told = join(facts)
        right = min(max(width // 2, _FACTS), width - 20)
        text = Text("     ").append_text(padded(said(row.name), width - right - 8))
        return (text.append("  ").append_text(padded(told, right)),)
