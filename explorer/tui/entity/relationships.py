"""The relationships of an entity as rows: kinds as headings, which fold, and what is under them."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from explorer.metadata.urn import Urn

if TYPE_CHECKING:
    from explorer.client.records import Direction, Edge

__all__ = ["COLUMN", "Kind", "Row", "kinds_of", "page_of_urn", "rows_of"]

COLUMN = "schemaField"

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
class Kind:
    """One relationship in one direction: what it says, its name, and who is on the other side;
    columns stand apart from whole entities."""

    words: str
    name: str
    direction: "Direction"
    urns: tuple[Urn, ...]

    @property
    def id(self) -> str:
        """Tells it from the others of an entity."""
        return f"{self.direction} {self.name} {self.words}"


@dataclass(frozen=True, slots=True)
class Row:
    """A heading with how many of its kind pass, or one of those; without either, there is more to
    be read."""

    kind: Kind | None = None
    urn: Urn | None = None
    passing: int = 0


def kinds_of(edges: "Sequence[Edge]", direction: "Direction", of: Urn) -> Iterator[Kind]:
    """The kinds of an entity's edges in one direction, by name, each in the server's order."""
    grouped: dict[str, list[Urn]] = {}
    for edge in edges:
        grouped.setdefault(edge.relationship, []).append(edge.urn)
    for name in sorted(grouped):
        words = _words(name, direction, of)
        columns = tuple(urn for urn in grouped[name] if urn.entity_type == COLUMN)
        whole = tuple(urn for urn in grouped[name] if urn.entity_type != COLUMN)
        for heading, urns in ((words, whole), (f"{words} columns", columns)):
            if urns:
                yield Kind(heading, name, direction, urns)


def rows_of(
    kinds: Sequence[Kind], folded: Collection[str], passes: Callable[[Kind, Urn], bool] | None
) -> list[Row]:
    """The rows of the kinds: with `passes` only what does, and no fold hides it."""
    rows: list[Row] = []
    for kind in kinds:
        urns = kind.urns if passes is None else [urn for urn in kind.urns if passes(kind, urn)]
        if not urns:
            continue
        rows.append(Row(kind, passing=len(urns)))
        if passes is not None or kind.id not in folded:
            rows += [Row(kind, urn) for urn in urns]
    return rows


def page_of_urn(urn: Urn) -> Urn:
    """The entity whose page shows another: a column is shown by what holds it."""
    holders = Urn.parse_all(urn.parts[:1]) if urn.entity_type == COLUMN else ()
    return holders[0] if holders else urn


def _words(name: str, direction: "Direction", of: Urn) -> str:
    if name == "IsPartOf" and of.entity_type in ("corpuser", "corpGroup"):
        # The model has a group be part of its members; people say it the other way round.
        return "in groups" if direction == "INCOMING" else "members"
    outgoing, incoming = _WORDS.get(name, ("", "from"))
    return outgoing if direction == "OUTGOING" else incoming
