"""What people's edits did."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from explorer.metadata.urn import Urn

__all__ = ["Edit", "Held", "What"]

What = Literal[
    "description",
    "links",
    "tags",
    "terms",
    "owners",
    "domain",
    "deprecation",
    "status",
    "entity",
]
Held = str | tuple[str, ...] | dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class Edit:
    """One edit of an entity, or of one of its columns: what stood there before, what stands there
    now, and when (UTC).

    A description is a text, or nothing where there was none. Tags, terms and domains are URNs,
    owners `<URN> <kind>`, links `<address> <label>`. A deprecation is `note`, `decommissionTime`
    (milliseconds since 1970 UTC) and `replacement`, or nothing for what is not deprecated. A status
    is `shown` or `hidden`. An entity is the aspects it was created with, by their names, or nothing
    where there was none.
    """

    urn: Urn
    what: What
    before: Held
    after: Held
    at: datetime
    column: str | None = None

    @property
    def changed(self) -> bool:
        """Whether anything was written."""
        return self.before != self.after
