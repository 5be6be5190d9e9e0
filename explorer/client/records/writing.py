"""What became of changes."""

from dataclasses import dataclass
from datetime import datetime

from explorer.metadata.urn import Urn

__all__ = [
    "Deletion",
    "LoadReport",
    "Reference",
    "RefusedChange",
    "Rollback",
    "Run",
    "StatusChange",
]


@dataclass(frozen=True, slots=True)
class RefusedChange:
    """A change that did not go in, and why. `position` is its place among those given, from 0."""

    position: int
    urn: Urn
    aspect: str
    reason: str


@dataclass(frozen=True, slots=True)
class LoadReport:
    """What became of a list of changes: how many went in, and which did not, in their order."""

    written: int = 0
    refused: tuple[RefusedChange, ...] = ()


@dataclass(frozen=True, slots=True)
class Rollback:
    """What undoing a run did, or would do: aspects taken back, entities taken out with all they
    have, and how many of these others have written to since."""

    aspects: int
    entities: int
    touched: int = 0


@dataclass(frozen=True, slots=True)
class Run:
    """A run of ingestion: when it last wrote, and how many versions and points are left of it."""

    run_id: str
    at: datetime
    rows: int


@dataclass(frozen=True, slots=True)
class StatusChange:
    """Whether an entity was taken away from search before, and whether it is now.

    With a dry run `removed` is what it would be. `written` says that something changed.
    """

    urn: Urn
    was_removed: bool
    removed: bool
    written: bool


@dataclass(frozen=True, slots=True)
class Reference:
    """An entity that points at another, through which of its aspects and by which relationship."""

    urn: Urn
    aspect: str
    relationship: str


@dataclass(frozen=True, slots=True)
class Deletion:
    """What deleting an entity for good did; nothing yet where it was a dry run, `done` says so.

    `versions` and `points` count what went. `reference_count` counts what points at the entity,
    `references` are a hundred of them at most; both are nothing where the server cannot tell.
    """

    urn: Urn
    done: bool
    versions: int = 0
    points: int = 0
    reference_count: int | None = None
    references: tuple[Reference, ...] | None = None
