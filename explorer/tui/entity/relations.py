"""What an entity is related to: every relationship by name, in both directions."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import on
from textual.message import Message

from explorer.metadata.urn import Urn
from explorer.tui.content import join, padded, said
from explorer.tui.entity.tab import Tab
from explorer.tui.rows import Rows
from explorer.tui.session import Session
from explorer.tui.words import singular

if TYPE_CHECKING:
    from explorer.client.entity import Entity
    from explorer.client.records import Direction

__all__ = ["RelationsView"]

_NAMED_AT_MOST = 500
_COLUMN = "schemaField"

# What a relationship says, read from this entity: (outgoing, incoming).
_WORDS = {
    "DownstreamOf": ("made from", "feeds"),
    "Consumes": ("reads", "read by"),
    "Produces": ("produces", "produced by"),
    "Contains": ("contains", "contained in"),
    "OwnedBy": ("owned by", "owns"),
    "TaggedWith": ("tagged", "tag of"),
    "TermedWith": ("means", "term of"),
    "DerivedFrom": ("derived from", "source of"),
    "ForeignKeyTo": ("foreign key to", "foreign key from"),
    "ForeignKeyToDataset": ("foreign key to", "foreign key from"),
    "IsPartOf": ("part of", "holds"),
    "IsRelatedTo": ("related to", "related to"),
    "IsA": ("is a", "kinds of it"),
    "HasA": ("has", "part of"),
    "SchemaFieldWithGlossaryTerm": ("columns mean", "term of columns in"),
    "EditableSchemaFieldWithGlossaryTerm": ("columns mean, by people", "term of columns in"),
    "IsMemberOfGroup": ("member of", "members"),
    "AssociatedWith": ("in domain", "domain of"),
    "SchemaFieldTaggedWith": ("columns tagged", "tag of columns in"),
    "EditableSchemaFieldTaggedWith": ("columns tagged by people", "tag of columns in, by people"),
}


@dataclass(frozen=True, slots=True)
class _Row:
    words: str = ""
    name: str = ""
    count: int = 0
    urn: Urn | None = None


class RelationsView(Rows, Tab):
    """Relationships as a list; choosing one follows it."""

    NAME: ClassVar[str] = "relations"
    KEY: ClassVar[str] = "4"
    TITLE: ClassVar[str] = "Relationships"
    SHORT: ClassVar[str] = "Rel"
    # What nobody stored is told apart by whether others name it.
    eager: ClassVar[bool] = True

    @dataclass
    class Opened(Message):
        """The entity on the other side was opened."""

        urn: Urn

    def __init__(self, session: Session) -> None:
        super().__init__()
        self.id = self.NAME
        self._session = session
        self._rows: list[_Row] = []
        self._known: Mapping[Urn, Entity] = {}
        self._of: Urn | None = None
        self.total = 0

    def tally(self) -> str:
        """How many there are."""
        return f"{self.total:,}"

    def show_entity(self, entity: "Entity", *, keep: bool) -> None:
        """Forget those of another entity."""
        self._of = entity.urn
        if not keep:
            self._rows, self.total = [], 0
            self.show(0, self._draw_row, empty="reading …")

    def focus_content(self) -> None:
        """The keys move in the list."""
        self.focus()

    async def read(self, entity: "Entity") -> None:
        """Read and show the relationships of an entity: two requests, and one for the names."""
        urn = entity.urn
        catalog = await self._session.catalog()
        outgoing, incoming = await asyncio.gather(
            catalog.relationships(urn, "OUTGOING"), catalog.relationships(urn, "INCOMING")
        )
        rows: list[_Row] = []
        for edges in (incoming, outgoing):
            for name, urns in edges.by_relationship().items():
                rows += _group(_words(name, edges.direction, urn), name, urns)
        related = [row.urn for row in rows if row.urn and row.urn.entity_type != _COLUMN]
        known = await catalog.summaries(related[:_NAMED_AT_MOST])
        if urn != self._of:
            return
        self._rows, self._known = rows, known
        self.total = outgoing.total + incoming.total
        self.show(len(rows), self._draw_row, cursor=1, empty="Nothing is related to this one.")

    @on(Rows.Chosen)
    def _choose(self, event: Rows.Chosen) -> None:
        event.stop()
        urn = self._rows[event.index].urn
        if urn is not None:
            self.post_message(self.Opened(_page_of(urn)))

    def _draw_row(self, index: int, width: int) -> tuple[Text]:
        row = self._rows[index]
        if row.urn is None:
            count = said(f"{row.name} · {row.count:,}", "dim")
            return (Text.assemble(" ", said(row.words, "bold"), " ", count),)
        if row.urn.entity_type == _COLUMN:
            holder = said(f"column of {_page_of(row.urn).name}", "dim")
            return (
                Text.assemble("     ", padded(said(row.urn.name), width // 2 - 7), "  ", holder),
            )
        entity = self._known.get(row.urn)
        missing = entity is None or not entity.exists
        kind = join(
            [
                said(singular(entity.kind if entity else row.urn.entity_type), "dim"),
                said(row.urn.platform or ""),
                Text("not in the catalog" if missing else "", "italic"),
            ]
        )
        right = min(44, width // 2)
        text = Text("     ").append_text(
            padded(said(entity.name if entity else row.urn.name), width - right - 7)
        )
        return (text.append("  ").append_text(kind),)


def _group(words: str, name: str, urns: Sequence[Urn]) -> list[_Row]:
    """One relationship's rows: whole entities first, columns under a heading of their own."""
    columns = [urn for urn in urns if urn.entity_type == _COLUMN]
    whole = [urn for urn in urns if urn.entity_type != _COLUMN]
    rows: list[_Row] = []
    for heading, some in ((words, whole), (f"{words} columns", columns)):
        if some:
            rows.append(_Row(heading, name, len(some)))
            rows += [_Row(urn=urn) for urn in some]
    return rows


def _page_of(urn: Urn) -> Urn:
    """The entity whose page shows another: a column is shown by what holds it."""
    holders = Urn.parse_all(urn.parts[:1]) if urn.entity_type == _COLUMN else ()
    return holders[0] if holders else urn


def _words(name: str, direction: "Direction", of: Urn) -> str:
    if name == "IsPartOf" and of.entity_type in ("corpuser", "corpGroup"):
        # The model has a group be part of its members; people say it the other way round.
        return "in groups" if direction == "INCOMING" else "members"
    outgoing, incoming = _WORDS.get(name, ("", "from"))
    return outgoing if direction == "OUTGOING" else incoming
