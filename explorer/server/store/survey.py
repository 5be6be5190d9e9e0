"""An optional capability of an engine: reading all that it stores, row by row, to check it.

Redundant data, which an engine stores for speed, is returned as it is stored and never recomputed.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Protocol

from msgspec import Struct

from explorer.server.store.interface import Reader, Store

__all__ = [
    "AspectRow",
    "BrowseFolderRow",
    "EdgeRow",
    "EntityRows",
    "LeafRow",
    "PlacementRow",
    "PointRow",
    "Survey",
    "SurveyedStore",
    "VersionRow",
]


class AspectRow(Struct, frozen=True):
    """The latest value of an aspect.

    `superseded` is the number of its newest older version, 0 if there is none; `run` is the run
    that it is stored under.
    """

    name: str
    value: bytes
    superseded: int
    system: bytes
    run: str | None


class VersionRow(Struct, frozen=True):
    """The number of an older version that is stored."""

    aspect: str
    version: int


class EdgeRow(Struct, frozen=True):
    """An edge; `target` is `None` if the row that it leads to is missing."""

    relationship: str
    target: str | None
    aspect: str
    flow: int


class PlacementRow(Struct, frozen=True):
    """A folder that lists the entity, and the name under which it does."""

    folder: int
    sort: str
    urn: str
    name: str


class LeafRow(Struct, frozen=True):
    """The last component of a browse path that ended in the entity."""

    folder: int
    leaf: str


class PointRow(Struct, frozen=True):
    """A document of a timeseries aspect."""

    aspect: str
    at_millis: int
    value: bytes


class EntityRows(Struct):
    """Everything that is stored about a URN; `urn` is `None` for rows whose entity has no row."""

    urn: str | None
    entity_type: str
    live: bool
    aspects: list[AspectRow]
    versions: list[VersionRow]
    edges: list[EdgeRow]
    placements: list[PlacementRow]
    leaves: list[LeafRow]
    points: list[PointRow]


class BrowseFolderRow(Struct, frozen=True):
    """A folder of the browse tree; the root of an entity type has the `parent` 0."""

    id: int
    type: str
    parent: int
    key: str
    entities: int


class Survey(Reader, Protocol):
    """A survey of a store at one moment. Iterators read as they go and keep nothing in memory."""

    def damage(self) -> list[str]:
        """Return what the engine finds wrong with its data; takes seconds for a large catalog."""

    def all_entity_rows(self) -> Iterator[EntityRows]:
        """Yield every URN with all that is stored about it, in the order they were first seen."""

    def folders(self) -> Iterator[BrowseFolderRow]:
        """Yield every folder; a parent may come after its children."""


class SurveyedStore(Store, Protocol):
    """A store that can also be read row by row."""

    def survey(self) -> AbstractContextManager[Survey]:
        """Return a survey of the store at one moment; writes continue meanwhile."""
