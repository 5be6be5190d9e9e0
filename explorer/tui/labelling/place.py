"""What is labelled: an entity, or one of its columns; and what the server has there."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from explorer.metadata.urn import Urn
from explorer.tui.labelling.choice import Choice, Kind

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog
    from explorer.client.entity import Entity

__all__ = ["Place", "choice_of", "read_choice"]

_COLUMN_ASPECTS = ("schemaMetadata", "editableSchemaMetadata")


@dataclass(frozen=True, slots=True)
class Place:
    """An entity, or its column at the field path `path`, by the names people know them by."""

    urn: Urn
    name: str
    path: str | None = None
    column: str = ""

    @classmethod
    def of(cls, entity: "Entity", path: str | None) -> "Place":
        """The place as the entity has it."""
        if path is None:
            return cls(entity.urn, entity.name)
        column = entity.schema.column(path)
        return cls(entity.urn, entity.name, path, column.path.simple if column else path)

    @property
    def called(self) -> str:
        """Its name in a sentence; not cleaned for the screen."""
        return self.name if self.path is None else f"{self.column} of {self.name}"


def choice_of(entity: "Entity", kind: Kind, path: str | None) -> Choice:
    """What an entity, or its column, has of a kind of label."""
    from explorer.client.editable import OWNERS, TAGS, TERMS

    if kind == "domain":
        return Choice(tuple(map(str, entity.domains)), single=True)
    shelf = {"tags": TAGS, "terms": TERMS, "owners": OWNERS}[kind]
    there = shelf.labels(entity.raw(shelf.home(path)) or {}, path)
    column = entity.schema.column(path) if path is not None else None
    both = (column.tags if kind == "tags" else column.terms) if column else ()
    return Choice(there, tuple(str(one) for one in both if str(one) not in there))


async def read_choice(catalog: "AsyncCatalog", place: Place, kind: Kind) -> Choice:
    """The same as the server has it now. One request."""
    aspects = {
        "tags": "globalTags",
        "terms": "glossaryTerms",
        "owners": "ownership",
        "domain": "domains",
    }
    wanted = (aspects[kind],) if place.path is None else _COLUMN_ASPECTS
    return choice_of(await catalog.entity(place.urn, wanted), kind, place.path)
