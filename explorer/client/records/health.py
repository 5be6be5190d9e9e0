"""What is wrong with an entity: assertions about it that fail, and incidents that are open."""

from dataclasses import dataclass
from datetime import datetime

from explorer.metadata.urn import Urn

__all__ = ["FailingAssertion", "Health", "OpenIncident"]


@dataclass(frozen=True, slots=True)
class FailingAssertion:
    """An assertion whose newest completed run failed, or ended in an error (`is_error`).

    `rule` says what it asserts, `found` what was found instead where the run tells. `since` is the
    first of the runs that failed without one in between that passed, `last` the newest run; with
    `since_or_earlier` it may have failed before the oldest run that was read.
    """

    urn: Urn
    rule: str
    found: str = ""
    since: datetime | None = None
    last: datetime | None = None
    since_or_earlier: bool = False
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class OpenIncident:
    """An incident that is active. `stage` and `priority` are empty where nobody said them."""

    urn: Urn
    title: str
    kind: str
    since: datetime | None = None
    stage: str = ""
    priority: str = ""


@dataclass(frozen=True, slots=True)
class Health:
    """What is wrong with one entity, those that are wrong longest first. `assertions` counts all
    that are about it, the passing too; `unread` those whose runs were not read."""

    urn: Urn
    failing: tuple[FailingAssertion, ...] = ()
    incidents: tuple[OpenIncident, ...] = ()
    assertions: int = 0
    unread: int = 0

    @property
    def is_sound(self) -> bool:
        """Whether nothing is known to be wrong."""
        return not (self.failing or self.incidents)

    def sentences(self) -> tuple[str, ...]:
        """What is wrong in words, without names and moments: `1 of 3 assertions fails`."""
        found = []
        if self.failing:
            failing, of = len(self.failing), self.assertions
            what = "assertion" if of == 1 else "assertions"
            verb = "fails" if failing == 1 else "fail"
            found.append(f"{failing:,} of {of:,} {what} {verb}")
        if self.incidents:
            count = len(self.incidents)
            found.append(f"{count:,} active {'incident' if count == 1 else 'incidents'}")
        return tuple(found)
