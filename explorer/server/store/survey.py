"""An optional capability of an engine: everything that it keeps, row by row and as it stands, for
whoever proves that its parts agree.

What an engine keeps twice for speed is given as it is kept; nothing is worked out here.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Protocol

from msgspec import Struct

from explorer.server.store.interface import Reader, Store

__all__ = [
    "Holding",
    "KeptAspect",
    "KeptEdge",
    "KeptFolder",
    "KeptLeaf",
    "KeptPlacement",
    "KeptPoint",
    "KeptVersion",
    "Survey",
    "SurveyedStore",
]


class KeptAspect(Struct, frozen=True):
    """The latest value of an aspect; `superseded` is the number of its newest older version, 0
    when there is none, `run` the run it is filed under."""

    name: str
    value: bytes
    superseded: int
    system: bytes
    run: str | None


class KeptVersion(Struct, frozen=True):
    """That an older version is kept."""

    aspect: str
    version: int


class KeptEdge(Struct, frozen=True):
    """An edge; `target` is None when the row it leads to is missing."""

    relationship: str
    target: str | None
    aspect: str
    flow: int


class KeptPlacement(Struct, frozen=True):
    """A folder that lists the entity, under a name."""

    folder: int
    sort: str
    urn: str
    name: str


class KeptLeaf(Struct, frozen=True):
    """The last component of a path that ended in the entity."""

    folder: int
    leaf: str


class KeptPoint(Struct, frozen=True):
    """A document of a timeseries aspect."""

    aspect: str
    at_millis: int
    value: bytes


class Holding(Struct):
    """Everything kept about one URN. `urn` is None for rows whose entity has no row."""

    urn: str | None
    entity_type: str
    live: bool
    aspects: list[KeptAspect]
    versions: list[KeptVersion]
    edges: list[KeptEdge]
    placements: list[KeptPlacement]
    leaves: list[KeptLeaf]
    points: list[KeptPoint]


class KeptFolder(Struct, frozen=True):
    """A folder of the browse tree; `parent` 0 is above the root of a type."""

    id: int
    type: str
    parent: int
    key: str
    entities: int


class Survey(Reader, Protocol):
    """One moment of a store. What is iterated is read on the way, and none of it is kept."""

    def damage(self) -> list[str]:
        """What the engine itself finds wrong with what it keeps; seconds for a large catalog."""

    def holdings(self) -> Iterator[Holding]:
        """Every URN with all that is kept about it, in the order in which they were first seen."""

    def folders(self) -> Iterator[KeptFolder]:
        """Every folder, parents not always first."""


class SurveyedStore(Store, Protocol):
    """A store that can also be read row by row."""

    def survey(self) -> AbstractContextManager[Survey]:
        """One moment of the store; writers go on meanwhile."""
