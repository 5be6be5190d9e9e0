"""Two who wrote in the same place."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from explorer.client.records import Held, What
from explorer.errors import Conflict
from explorer.metadata.aspects import AuditStamp
from explorer.metadata.urn import Urn

__all__ = ["Expectation", "TextConflict", "held_text"]


class TextConflict(Conflict):
    """What the server holds is not what the change was made from; nothing was written.

    `base` is what the change started from, `theirs` what the server holds now, `mine` what was to
    be written. All three are empty where there was nothing. `author`, `at` (UTC) and `version` are
    those of the aspect that holds it now; None where the server does not say.
    """

    author: str | None = None
    at: datetime | None = None
    version: str | None = None

    def __init__(self, place: str, base: str, theirs: str, mine: str) -> None:
        self.base = base
        self.theirs = theirs
        self.mine = mine
        super().__init__(
            f"{place} was changed by somebody else meanwhile; look at both and write again"
        )


@dataclass(frozen=True, slots=True)
class Expectation:
    """What a writer saw of the one thing that an edit changes, and what the edit makes of it.

    The edit is made only while the server holds what was seen. Where it holds what the edit makes
    already, there is no conflict and nothing to do: so an edit whose answer got lost can be made
    again. `versioned` says whether the server counts the versions of the aspect.
    """

    urn: Urn
    what: What
    seen: Held
    mine: Held
    column: str | None = None
    versioned: bool = False

    def check(self, now: Held, stamp: AuditStamp | None = None) -> None:
        """Raise `TextConflict` where the server holds something else than is expected; `stamp` says
        who wrote that and when."""
        if _comparable(now) not in (_comparable(self.seen), _comparable(self.mine)):
            raise self.conflict(now, stamp)

    def conflict(self, now: Held, stamp: AuditStamp | None = None) -> TextConflict:
        """The error for what is there now."""
        where = str(self.urn) if self.column is None else f"{self.column} of {self.urn}"
        texts = (held_text(held) for held in (self.seen, now, self.mine))
        error = TextConflict(f"the {self.what} of {where}", *texts)
        if stamp is not None and stamp.time > 0:
            error.author, error.at = stamp.actor, stamp.at
        return error

    def conflict_told(self, current: Mapping[str, Any]) -> TextConflict:
        """The error for what the server said is there now."""
        value = current.get("value")
        error = self.conflict(tuple(map(str, value)) if isinstance(value, list) else value)
        author, version, at_millis = (current.get(key) for key in ("actor", "version", "time"))
        error.author = author if isinstance(author, str) else None
        error.version = version if isinstance(version, str) else None
        if isinstance(at_millis, int):
            error.at = datetime.fromtimestamp(at_millis / 1000, UTC)
        return error

    def to_wire(self) -> dict[str, Any]:
        """The condition as our service takes it in the `extensions` of a GraphQL request."""
        column = {} if self.column is None else {"column": self.column}
        return {"urn": str(self.urn), "what": self.what, "value": self.seen} | column


def _comparable(held: Held) -> object:
    """The same for values that say the same: no order among labels, one form of nothing."""
    return frozenset(held) if isinstance(held, tuple) and held else held or None


def held_text(held: Held) -> str:
    """Return what an edit holds as one text: labels with commas, a deprecation's note."""
    match held:
        case str():
            return held
        case tuple():
            return ", ".join(held)
        case dict():
            return str(held.get("note", ""))
        case _:
            return ""
