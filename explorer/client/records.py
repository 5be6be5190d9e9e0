"""What the client gives: immutable records, whichever kind of server answered."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from explorer.metadata.urn import Urn

__all__ = [
    "BrowsePage",
    "Direction",
    "Edge",
    "Edges",
    "Facet",
    "FacetValue",
    "Folder",
    "Hit",
    "LoadReport",
    "Match",
    "Named",
    "Rollback",
    "SearchPage",
    "ServerInfo",
    "Timeseries",
]

Direction = Literal["INCOMING", "OUTGOING"]


@dataclass(frozen=True, slots=True)
class ServerInfo:
    """What a server says of itself. `entities` is the number it holds, where it says so."""

    address: str
    product: Literal["catalog", "datahub"]
    version: str
    embedded: bool = False
    sample: bool = False
    entities: int | None = None


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


@dataclass(frozen=True, slots=True)
class Edge:
    """One edge of an entity, to the entity on its other side."""

    relationship: str
    urn: Urn


@dataclass(frozen=True, slots=True)
class Edges:
    """Edges of one entity in one direction; `total` counts them all."""

    direction: Direction
    total: int
    edges: tuple[Edge, ...] = ()

    def by_relationship(self) -> dict[str, tuple[Urn, ...]]:
        """The URNs under each relationship's name, names sorted, URNs in the server's order."""
        grouped: dict[str, list[Urn]] = {}
        for edge in self.edges:
            grouped.setdefault(edge.relationship, []).append(edge.urn)
        return {name: tuple(grouped[name]) for name in sorted(grouped)}


@dataclass(frozen=True, slots=True)
class Timeseries:
    """Points of a timeseries aspect, oldest first. At `limit` points there may be more."""

    aspect: str
    limit: int
    values: tuple[dict[str, Any], ...] = ()

    @property
    def truncated(self) -> bool:
        """Whether the server stopped at its limit."""
        return len(self.values) >= self.limit


@dataclass(frozen=True, slots=True)
class LoadReport:
    """What became of a list of changes: how many went in, and which did not and why."""

    written: int = 0
    refused: tuple[tuple[str, str], ...] = field(default=())


@dataclass(frozen=True, slots=True)
class Rollback:
    """What undoing a run did, or would do: aspects taken back, entities taken out with all they
    have, and how many of these others have written to since."""

    aspects: int
    entities: int
    touched: int = 0
