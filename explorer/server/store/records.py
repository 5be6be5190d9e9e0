"""What goes into the store and comes out of it. Values of aspects are JSON as bytes throughout."""

from typing import Literal

from msgspec import Struct

__all__ = [
    "BrowsePage",
    "LogEntry",
    "Placement",
    "Point",
    "Reference",
    "RunRow",
    "RunSummary",
    "StoredAspect",
    "StoredEdge",
    "Write",
]


class StoredAspect(Struct, frozen=True):
    """One version of an aspect; `version` 0 is the latest, 1 the oldest.

    `system` is the system metadata as a JSON object.
    """

    name: str
    version: int
    value: bytes
    time_millis: int
    actor: str
    system: bytes


class StoredEdge(Struct, frozen=True):
    """An edge that an aspect declares, from its entity to `target`.

    `flow` tells how lineage runs along it: 0 none, 1 from the target to the entity, 2 from the
    entity to the target.
    """

    relationship: str
    target: str
    flow: Literal[0, 1, 2] = 0


class Reference(Struct, frozen=True):
    """That an aspect of an entity points at another."""

    urn: str
    aspect: str
    relationship: str


class RunSummary(Struct, frozen=True):
    """A run of ingestion: how many versions and documents are left of it, and when it last wrote
    one of them (milliseconds since 1970)."""

    run: str
    rows: int
    time_millis: int


class RunRow(Struct, frozen=True):
    """A version of an aspect, or a document over time, that a run wrote."""

    urn: str
    aspect: str
    version: int
    time_millis: int
    value: bytes
    system: bytes


class Write(Struct, frozen=True):
    """A versioned aspect to be written. `run` is the run id, nothing when no run was named."""

    urn: str
    entity_type: str
    aspect: str
    value: bytes
    time_millis: int
    actor: str
    system: bytes
    run: str | None = None
    edges: tuple[StoredEdge, ...] = ()


class Point(Struct, frozen=True):
    """One document of a timeseries aspect. A second one with the same `at_millis` and `series`
    (partition, granularity, message) takes the place of the first."""

    urn: str
    entity_type: str
    aspect: str
    at_millis: int
    series: str
    value: bytes
    time_millis: int
    actor: str
    system: bytes
    run: str | None = None


class LogEntry(Struct, frozen=True):
    """One row of the change log: what was written or removed, and what stood there before."""

    offset: int
    urn: str
    aspect: str
    change: str
    value: bytes | None
    previous: bytes | None
    time_millis: int
    actor: str
    system: bytes


class Placement(Struct, frozen=True):
    """Where an entity is found when browsing: its folder, from the root.

    `leaf` is the entity's own last component, when the path that put it here ended in one.
    """

    folder: tuple[str, ...]
    leaf: str | None = None


class BrowsePage(Struct, frozen=True):
    """What is found at a path: `groups` (name, entities below) come before `entities`
    (name, URN), and both are cut to the page asked for; the totals are of everything."""

    groups: tuple[tuple[str, int], ...]
    entities: tuple[tuple[str, str], ...]
    total_groups: int
    total_entities: int
    total_below: int
