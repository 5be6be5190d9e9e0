"""What an entity's aspects said earlier, as a list that folds: aspects with their versions."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

from explorer.client.difference import Change, difference
from explorer.metadata.urn import Urn
from explorer.tui.content import line

if TYPE_CHECKING:
    from explorer.client.entity import AspectRead
    from explorer.client.records import Version, Versions
    from explorer.metadata.aspects import AuditStamp

__all__ = ["MARKS", "Place", "Step", "Track", "news", "run_of", "steps_of", "who"]

MARKS: Mapping[str, str] = {"added": "+", "removed": "-", "changed": "~"}
"""How the kind of a change is written."""

# Changed with every writing, and so no news while anything else is.
_NOISE = frozenset({"created", "hash", "lastModified"})
_NO_RUN = "no-run-id-provided"
# What holds the columns goes without saying.
_HOLDERS = frozenset({"editableSchemaFieldInfo", "fields"})
_NAMED = 3
_SHORT = 40


@dataclass(frozen=True, slots=True)
class Step:
    """A version of an aspect and what it changed of the one before it.

    `before` is None for the first version (`is_first`), and for one whose forerunner the server
    no longer keeps.
    """

    version: "Version"
    before: "Version | None"
    changes: tuple[Change, ...] = ()
    is_first: bool = False

    @property
    def summary(self) -> str:
        """What it changed, in a few words; not cleaned for the screen."""
        if self.is_first:
            return "first version"
        if self.before is None:
            return "the version before it is not kept"
        if not self.changes:
            return "nothing changed"
        told = [_told(change) for change in news(self.changes)]
        more = f", {len(told) - _NAMED:,} more" if len(told) > _NAMED else ""
        return ", ".join(told[:_NAMED]) + more


@dataclass(slots=True)
class Track:
    """One aspect: what is known of its versions, newest first.

    `oldest` is the last version that was read, where it is not among `steps` because the one
    before it is still to be read. `total` is None as long as it is not known.
    """

    aspect: str
    latest: "AspectRead"
    steps: list[Step] = field(default_factory=list)
    total: int | None = None
    oldest: "Version | None" = None
    asked: bool = False
    folded: bool = True

    @property
    def whole(self) -> bool:
        """Whether every version is there."""
        return self.asked and self.oldest is None

    @property
    def known(self) -> int:
        """How many versions were read."""
        return len(self.steps) + (self.oldest is not None)

    def take(self, page: "Versions", steps: Sequence[Step], oldest: "Version | None") -> None:
        """Go on with what a page of versions tells, as `steps_of` made it."""
        self.asked = True
        self.steps += steps
        self.oldest = oldest
        self.total = page.total if page.total is not None else self.total


@dataclass(frozen=True, slots=True)
class Place:
    """A row of the list: an aspect, one of its versions, or (`more`) those not read yet."""

    track: Track
    step: Step | None = None
    more: bool = False


def steps_of(track: Track, page: "Versions") -> tuple[list[Step], "Version | None"]:
    """What the versions of a further page changed, and the one still held back.

    Takes as long as the aspects are large: for a thread.
    """
    known = {step.version.number for step in track.steps}
    held = [track.oldest] if track.oldest else []
    known |= {version.number for version in held}
    versions = [*held, *(version for version in page if version.number not in known)]
    steps = [
        Step(newer, older, difference(older.value, newer.value))
        for newer, older in pairwise(versions)
    ]
    last = versions[-1] if versions else None
    if last is None or (page.truncated and len(page)):
        return steps, last
    # The latest has the number 0, the oldest 1; a sole version is both.
    first = last.number == 1 or (last.number == 0 and not track.steps and len(versions) == 1)
    changes = difference({}, last.value) if first else ()
    return [*steps, Step(last, None, changes, is_first=first)], None


def news(changes: Sequence[Change]) -> list[Change]:
    """The changes without those that come with any writing, unless there are no others."""
    return [one for one in changes if one.path[0] not in _NOISE] or list(changes)


def who(stamp: "AuditStamp | None") -> str:
    """Who wrote a version; not cleaned for the screen."""
    return Urn.label(stamp.actor) if stamp else ""


def run_of(run_id: str | None) -> str:
    """The run of ingestion that brought a version; empty where it was none."""
    return f"run {run_id}" if run_id and run_id != _NO_RUN else ""


def _told(change: Change) -> str:
    place = "/".join(_steps(change.path))
    value = change.after if change.kind == "added" else change.before
    if change.kind != "changed" and isinstance(value, str) and len(value) <= _SHORT:
        label = Urn.label(value)
        place = place if place.endswith(label) else f"{place}: {label}"
    return f"{MARKS[change.kind]} {place}"


def _steps(path: Sequence[str]) -> Iterator[str]:
    for step in path[1:] if len(path) > 1 and path[0] in _HOLDERS else path:
        yield line(Urn.label(step))
