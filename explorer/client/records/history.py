"""What an aspect said earlier, and who made it say what it says."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from explorer.client.difference import Change
from explorer.metadata.aspects import AuditStamp
from explorer.metadata.urn import Urn

__all__ = ["AspectDiff", "ColumnChange", "Origin", "Version", "Versions"]

Origin = Literal["ingested", "edited"]


@dataclass(frozen=True, slots=True)
class Version:
    """One version of an aspect, as the server numbers it: 0 is the latest, 1 the oldest.

    `created` says who wrote it and when, `run_id` which run of ingestion; servers that keep no
    such thing of old versions leave them out.
    """

    number: int
    value: dict[str, Any]
    created: AuditStamp | None = None
    run_id: str | None = None


@dataclass(frozen=True, slots=True)
class Versions:
    """Versions of an aspect, newest first, from the `start`th on.

    `total` counts all there are, where that is known; `truncated` says whether there are more
    after these. `as_of` is set for what was kept from an earlier reading.
    """

    urn: Urn
    aspect: str
    versions: tuple[Version, ...] = ()
    start: int = 0
    total: int | None = None
    truncated: bool = False
    as_of: datetime | None = None

    def __len__(self) -> int:
        return len(self.versions)

    def __iter__(self) -> Iterator[Version]:
        return iter(self.versions)

    @property
    def shown(self) -> int:
        """How many versions these are."""
        return len(self.versions)


@dataclass(frozen=True, slots=True)
class AspectDiff:
    """What differs between two versions of an aspect."""

    urn: Urn
    aspect: str
    older: Version
    newer: Version
    changes: tuple[Change, ...] = ()

    def __len__(self) -> int:
        return len(self.changes)

    def __iter__(self) -> Iterator[Change]:
        return iter(self.changes)


@dataclass(frozen=True, slots=True)
class ColumnChange:
    """A change of a column's description, by ingestion or by people.

    `version` is the number of the version that brought it. `before` is None where the column had
    no text or the server keeps nothing older, `after` where it has none any more.
    """

    path: str
    origin: Origin
    before: str | None
    after: str | None
    version: int
    created: AuditStamp | None = None
    run_id: str | None = None
