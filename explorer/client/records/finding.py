"""What search, completion and browsing give."""

from collections.abc import Iterator
from dataclasses import dataclass

from explorer.metadata.urn import Urn

__all__ = ["BrowsePage", "Facet", "FacetValue", "Folder", "Hit", "Match", "Named", "SearchPage"]


@dataclass(frozen=True, slots=True)
class Match:
    """A field that made an entity match, and the value that did."""

    field: str
    value: str


@dataclass(frozen=True, slots=True)
class Hit:
    """One entity found."""

    urn: Urn
    matched: tuple[Match, ...] = ()
    score: float | None = None


@dataclass(frozen=True, slots=True)
class FacetValue:
    """A value of a facet and how many entities of the whole result have it."""

    value: str
    count: int

    @property
    def label(self) -> str:
        """The value as people say it: the name of a URN, anything else as it is."""
        return Urn.label(self.value)


@dataclass(frozen=True, slots=True)
class Facet:
    """A field by which a result can be narrowed, its values most frequent first."""

    name: str
    label: str
    values: tuple[FacetValue, ...]


@dataclass(frozen=True, slots=True)
class SearchPage:
    """A page of a search, best first. `total` counts the whole result."""

    text: str
    start: int
    total: int
    hits: tuple[Hit, ...] = ()
    facets: tuple[Facet, ...] = ()

    def __len__(self) -> int:
        return len(self.hits)

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    @property
    def truncated(self) -> bool:
        """Whether there is more after this page."""
        return self.start + len(self.hits) < self.total


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder below a browse path; `count` entities lie in or below it."""

    name: str
    count: int


@dataclass(frozen=True, slots=True)
class Named:
    """An entity in a folder."""

    urn: Urn
    name: str


@dataclass(frozen=True, slots=True)
class BrowsePage:
    """A page of a folder: the folders below it first, then the entities in it.

    `here` counts the entities in the folder itself, `total` those in and below it, `entries` the
    folders and entities that its pages hold together.
    """

    path: str
    start: int
    here: int
    total: int
    entries: int
    folders: tuple[Folder, ...] = ()
    entities: tuple[Named, ...] = ()
