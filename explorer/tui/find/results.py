"""The results of a search: two lines an entity, marked where they matched."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual.binding import BindingType
from textual.message import Message

from explorer.client.display import line
from explorer.metadata.fieldpath import FieldPath
from explorer.metadata.urn import Urn
from explorer.tui.actions import bindings
from explorer.tui.content import join, marked, padded, preview, said
from explorer.tui.rows import Rows
from explorer.tui.words import singular

if TYPE_CHECKING:
    from explorer.client.entity import Entity
    from explorer.client.records import Hit, SearchPage

__all__ = ["Results"]

_ROWS_AHEAD = 10
_WIDE = 84
# Where these matched can be seen in the name above.
_NAMES = frozenset(
    ("name", "id", "title", "urn", "qualifiedName", "displayName", "fullName", "description")
)


# What people call the fields in which a search finds words.
_WHERE = {
    "fieldPaths": "column",
    "fieldDescriptions": "column text",
    "editedFieldDescriptions": "column text",
    "editedDescription": "description",
    "fieldTags": "column tag",
    "editedFieldTags": "column tag",
    "fieldGlossaryTerms": "column term",
    "editedFieldGlossaryTerms": "column term",
    "customProperties": "property",
    "glossaryTerms": "term",
}


class Results(Rows):
    """What was found, best first; further pages are asked for as the end comes near."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("results")

    @dataclass
    class Asked(Message):
        """A key asked for something that the view around the list does."""

        what: str

    def __init__(self) -> None:
        super().__init__(row_height=2)
        self.hits: list[Hit] = []
        self._known: dict[Urn, Entity] = {}
        self._total = 0
        self._query = ""

    def show_page(self, page: "SearchPage", known: Mapping[Urn, "Entity"], query: str) -> None:
        """Show a first page instead of what was there."""
        self.hits = list(page.hits)
        self._known = dict(known)
        self._total = page.total
        self._query = query
        self.show(
            len(self.hits),
            self._draw_hit,
            empty=f"Nothing found for «{line(query, 60)}»." if query else "Nothing here yet.",
        )

    def add_page(self, page: "SearchPage", known: Mapping[Urn, "Entity"]) -> None:
        """Show a further page below what is there."""
        seen = {hit.urn for hit in self.hits}
        self.hits.extend(hit for hit in page.hits if hit.urn not in seen)
        self._known.update(known)
        self._total = page.total if page.hits else len(self.hits)
        self.grow(len(self.hits))

    def urn_at(self, index: int) -> Urn | None:
        """The URN of a row."""
        return self.hits[index].urn if index < len(self.hits) else None

    def move_to(self, index: int) -> None:
        """Move the cursor, and ask for more when the end is near."""
        super().move_to(index)
        if self.count - self.cursor <= _ROWS_AHEAD and self.count < self._total:
            self.post_message(self.Asked("more"))

    def action_facets(self) -> None:
        """Go to the facets."""
        self.post_message(self.Asked("facets"))

    def action_clear_facets(self) -> None:
        """Take every facet off."""
        self.post_message(self.Asked("clear"))

    def action_facet(self, number: int) -> None:
        """Narrow by the facet value with that number."""
        self.post_message(self.Asked(str(number)))

    def _draw_hit(self, index: int, width: int) -> tuple[Text, Text]:
        hit = self.hits[index]
        entity = self._known.get(hit.urn)
        right = min(44 if width >= _WIDE else 26, width * 2 // 5)
        left = width - right - 2
        name = marked(said(entity.name if entity else hit.urn.name, "bold"), self._query)
        described = preview(entity.description if entity else "", "dim", "no description")
        first = Text(" ").append_text(padded(name, left)).append(" ")
        first.append_text(padded(self._kind(hit, entity), right))
        second = Text("   ").append_text(padded(marked(described, self._query), left - 2))
        second.append(" ").append_text(padded(self._why(hit), right))
        return first, second

    def _kind(self, hit: "Hit", entity: "Entity | None") -> Text:
        platform = (entity.platform if entity else hit.urn.platform) or ""
        kind = singular(entity.kind if entity else hit.urn.entity_type)
        text = join([said(kind), said(platform, "bold"), said(hit.urn.origin or "", "dim")])
        if entity and entity.deprecation:
            text = Text.assemble(("deprecated ", "bold"), text)
        return text

    def _why(self, hit: "Hit") -> Text:
        if not self._query or not hit.matched:
            return Text()
        if any(match.field in _NAMES for match in hit.matched):
            return Text()
        first = hit.matched[0]
        value = FieldPath(first.value).simple if first.field == "fieldPaths" else first.value
        where = said(f"{_WHERE.get(first.field, first.field)} ", "dim")
        found = marked(said(_around(Urn.label(value), self._query)), self._query)
        return Text.assemble(where, " ", found)


def _around(value: str, query: str) -> str:
    """The part of a long value that holds the first word of the query."""
    first = query.lower().split()[0].rpartition(":")[2]
    at = value.lower().find(first)
    return f"…{value[at - 8 :]}" if at > 12 else value
