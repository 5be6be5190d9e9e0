"""What was changed, as the change log tells it."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from explorer.metadata.urn import Urn

__all__ = ["ChangeEvent", "ChangePage"]


@dataclass(frozen=True, slots=True)
class ChangeEvent:
    """One change of one aspect. `kind` is the change type (`UPSERT`, `DELETE`, …), `offset` its
    place in the log, `at` when it was stored (UTC).

    `value` is what was written and `previous` what stood there before, as JSON; nothing where there
    was none, and where values were not asked for. A deleted entity is a DELETE of its key aspect.
    """

    offset: int
    urn: Urn
    aspect: str
    kind: str
    value: dict[str, Any] | None
    previous: dict[str, Any] | None
    at: datetime
    actor: str


@dataclass(frozen=True, slots=True)
class ChangePage:
    """Changes in the order of the log. `next` is the offset to go on from, `head` the last there
    was; a page may be short, or empty, while `next` is before `head`."""

    changes: tuple[ChangeEvent, ...]
    next: int
    head: int

    def __len__(self) -> int:
        return len(self.changes)

    def __iter__(self) -> Iterator[ChangeEvent]:
        return iter(self.changes)

    @property
    def shown(self) -> int:
        """How many changes are on this page."""
        return len(self.changes)

    @property
    def truncated(self) -> bool:
        """Whether there is more after this page."""
        return self.next < self.head
