"""The interface between the catalog and the engine that keeps it.

An engine knows nothing of the model: what a value means, which edges it declares and where an
entity is browsed is worked out above and handed in.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager
from typing import Any, Literal, Protocol, TypeVar

import orjson
from msgspec import Struct

from explorer.errors import ServerFault

__all__ = [
    "Direction",
    "Job",
    "KnownUrn",
    "LogEntry",
    "Observer",
    "Placement",
    "RunRow",
    "RunSummary",
    "Store",
    "StoreFault",
    "StoredAspect",
    "StoredEdge",
    "StoredFolderPage",
    "StoredReference",
    "TimeseriesDocument",
    "Transaction",
    "Write",
    "counted",
    "same_value",
    "seen_again",
    "version_of",
]


class StoreFault(ServerFault):
    """The engine failed at something that was not the caller's doing; the message says at what.
    What was to be written is not; it may be tried again."""


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


class StoredReference(Struct, frozen=True):
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


class TimeseriesDocument(Struct, frozen=True):
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


class StoredFolderPage(Struct, frozen=True):
    """What is found at a path: `groups` (name, entities below) come before `entities`
    (name, URN), and both are cut to the page asked for; the totals are of everything."""

    groups: tuple[tuple[str, int], ...]
    entities: tuple[tuple[str, str], ...]
    total_groups: int
    total_entities: int
    total_below: int


class KnownUrn(Struct, frozen=True):
    """A URN that is stored or pointed at; `exists` when an entity stands behind it."""

    handle: int
    urn: str
    entity_type: str
    exists: bool


def same_value(stored: bytes, given: bytes) -> bool:
    """Whether two values are the same JSON, whatever the order of their keys."""
    if stored == given:
        return True
    if abs(len(stored) - len(given)) > max(len(stored), len(given)) // 2:
        return False
    return _canonical(stored) == _canonical(given)


def seen_again(stored: bytes, given: bytes) -> bytes:
    """The stored system metadata, with when and by which run the value was last seen."""
    system, now = orjson.loads(stored), orjson.loads(given)
    system["lastObserved"] = now.get("lastObserved", system.get("lastObserved"))
    system["lastRunId"] = now.get("runId", system.get("lastRunId"))
    return orjson.dumps(system)


def version_of(system: bytes, superseded: int = 0) -> int:
    """The version that system metadata names, from 1 up; where it names none it is told by how
    many values were superseded."""
    named: Any = orjson.loads(system).get("version")
    return int(named) if isinstance(named, str) and named.isdecimal() else superseded + 1


def counted(system: bytes, version: int) -> bytes:
    """System metadata that names this version."""
    return orjson.dumps(orjson.loads(system) | {"version": str(version)})


def _canonical(value: bytes) -> bytes:
    return orjson.dumps(orjson.loads(value), option=orjson.OPT_SORT_KEYS)


T = TypeVar("T")
Direction = Literal["INCOMING", "OUTGOING"]


class Transaction(Protocol):
    """What a job of the writer may do. Everything it does is committed, or none of it.

    `touched` gathers the URNs whose versioned aspects changed, `measured` those that got points
    of a timeseries aspect, with its name, `stale` those whose own aspects stay while what is
    derived from them is to be made anew. `rewired` says that edges of lineage changed.
    """

    touched: set[str]
    measured: set[tuple[str, str]]
    stale: set[str]
    rewired: bool

    def exists(self, urn: str) -> bool:
        """Whether the entity has any aspect stored."""

    def latest(self, urn: str, aspect: str) -> StoredAspect | None:
        """The aspect as this transaction sees it."""

    def aspects(self, urn: str) -> list[StoredAspect]:
        """Every latest aspect of an entity."""

    def put(self, write: Write) -> bool:
        """Write an aspect, its version, edges and log row; whether the value changed.

        An identical value makes no version and no log row; only when it was seen, and by which
        run, is noted. The version that the system metadata names counts up by one with every value
        an aspect ever had, also over its removal and that of its entity.
        """

    def append(self, point: TimeseriesDocument) -> bool:
        """Write a document of a timeseries aspect and its log row; whether anything changed."""

    def remove(self, urn: str, aspect: str, time_millis: int, actor: str) -> int:
        """Remove a versioned aspect with all its versions; how many rows went."""

    def erase(self, urn: str, key_aspect: str, time_millis: int, actor: str) -> tuple[int, int]:
        """Remove an entity; how many versioned and timeseries rows went."""

    def remove_points(
        self,
        urn: str,
        aspect: str,
        bounds: tuple[int | None, int | None],
        time_millis: int,
        actor: str,
    ) -> int:
        """Remove documents of a timeseries aspect; how many went. `bounds` are milliseconds, both
        inclusive, an open end being None."""

    def points(
        self,
        urn: str,
        aspect: str,
        start_millis: int | None = None,
        end_millis: int | None = None,
        limit: int = -1,
    ) -> Iterator[tuple[bytes, bytes]]:
        """As `Store.points`."""

    def run_urns(self, run: str) -> list[str]:
        """The URNs of the entities that a run wrote any version or document of, sorted."""

    def written_by(self, run: str, urn: str) -> list[StoredAspect]:
        """Every version of every aspect of an entity that a run wrote, the latest first."""

    def points_of(self, run: str, urn: str) -> list[tuple[str, int, int]]:
        """The timeseries aspects of an entity that a run wrote documents of, how many, and when the
        run last saw one (milliseconds since 1970)."""

    def version_count(self, urn: str, aspect: str) -> int:
        """How many versions of an aspect there are, the latest among them."""

    def drop_version(self, urn: str, aspect: str, version: int) -> None:
        """Forget one superseded version."""

    def newest_superseded(self, urn: str, aspect: str) -> StoredAspect | None:
        """The version that would come back if the latest went."""

    def restore(
        self,
        urn: str,
        version: StoredAspect,
        edges: Sequence[StoredEdge],
        time_millis: int,
        actor: str,
    ) -> None:
        """Put a superseded version in the place of the latest, which is forgotten."""

    def remove_points_of(self, run: str, urn: str, time_millis: int, actor: str) -> None:
        """Remove the timeseries documents of an entity that a run wrote."""

    def references_to(self, urn: str) -> list[StoredReference]:
        """The aspects of any entity that declare an edge to a URN, by the entities' URNs."""

    def urns_starting_with(self, prefix: str) -> list[str]:
        """The URNs of stored entities that begin so, sorted."""

    def place(
        self, urn: str, entity_type: str, name: str, placements: Collection[Placement]
    ) -> None:
        """Make an entity found at these places when browsing, and at no other."""

    def trim_log(self, before_millis: int, through: int, most: int) -> int:
        """Drop rows from the beginning of the change log that are older than `before_millis`, none
        after the offset `through` and never the last, `most` at most; how many went."""

    def note(self, key: str) -> str | None:
        """A note kept about the catalog as a whole."""

    def set_note(self, key: str, value: str | None) -> None:
        """Keep a note, or drop it when there is no value."""


Job = Callable[[Transaction], T]


class Observer(Protocol):
    """Who derives something from the truth: browse places, the search index."""

    def prepare(self, transaction: Transaction) -> None:
        """Called inside the transaction, after its jobs and before the commit."""

    def publish(self, offset: int) -> None:
        """Called after the commit, before anybody is told; `offset` is the log's last."""


class Store(Protocol):
    """A catalog's truth. Reads see every write that was answered; any thread may call.

    A method that finds the kept data damaged raises `Unusable`. From then on `problem` is a
    sentence that says so, every write raises it, and what can be read is read. `has_died` once the
    writer ended by an error that nobody foresaw; the process has to be started again.
    """

    @property
    def problem(self) -> str | None: ...

    @property
    def has_died(self) -> bool: ...

    def catalog_id(self) -> str:
        """The random id of this catalog, by which an index knows that it was made from it."""

    def log_mark(self, offset: int) -> str | None:
        """A digest of a row of the change log; None when there is no such row or it cannot be
        read."""

    def observe(self, observer: Observer) -> None:
        """Name the one observer; before the first write."""

    def write(self, job: Job[T]) -> Future[T]:
        """Queue a job for the writer. Its future is resolved after the commit that made it
        durable, with what the job gave or the error it raised; a job that raised changed nothing.
        A job may be run again when another's failure took its transaction along."""

    def reading(self) -> AbstractContextManager[Transaction]:
        """The store as it is at one moment, through the reading methods of a transaction; writers
        go on meanwhile."""

    def aspect(self, urn: str, name: str, version: int = 0) -> StoredAspect | None:
        """One version of an aspect; negative versions count back from the newest superseded."""

    def aspects(
        self, urns: Sequence[str], names: Collection[str] | None = None
    ) -> dict[str, list[StoredAspect]]:
        """The latest aspects of many entities, by URN, in one query; an entity that does not
        exist is left out."""

    def versions(
        self, urn: str, name: str, ends: tuple[int, int], start: int, count: int
    ) -> tuple[int, list[StoredAspect]] | None:
        """How many versions of an aspect there are between two numbers, both inclusive, and a page
        of them, newest first. 0 is the latest, 1 the oldest, negative numbers count back from the
        latest; numbers beyond the versions there are do no harm. None when there is no such
        aspect."""

    def entity_urns(self, entity_type: str, start: int, count: int) -> tuple[int, list[str]]:
        """How many entities of a type are stored, and a page of their URNs, sorted."""

    def aspect_count(self, name: str, urn_like: str | None = None) -> int:
        """How many entities have an aspect, or how many documents of it there are if it is one
        over time. `urn_like` is a pattern of their URNs: % stands for any text, _ for any
        character."""

    def runs(self, start: int, count: int, *, with_removed: bool) -> list[RunSummary]:
        """The runs that something is left of, newest first. What belongs to soft-deleted entities
        counts only `with_removed`. Looks at all that runs wrote."""

    def run_rows(self, run: str, start: int, count: int, *, with_removed: bool) -> list[RunRow]:
        """What is left of a run, by URN, then aspect, the latest first."""

    def existing(self, urns: Sequence[str]) -> set[str]:
        """Which of the URNs are stored entities."""

    def points(
        self,
        urn: str,
        aspect: str,
        start_millis: int | None = None,
        end_millis: int | None = None,
        limit: int = -1,
    ) -> Iterator[tuple[bytes, bytes]]:
        """Documents of a timeseries aspect with their system metadata, newest first, both ends
        inclusive."""

    def measured_between(self, aspect: str, start_millis: int, end_millis: int) -> list[str]:
        """The URNs of the entities with documents of a timeseries aspect between two moments, the
        first included; looks at every document's place, about 0.2 s a million."""

    def relationships(
        self, urn: str, direction: Direction, types: Sequence[str], start: int, count: int
    ) -> tuple[int, list[tuple[str, str]]]:
        """How many edges there are, and a page of them as (other URN, relationship). No types
        mean all. Ordered by relationship, then by when the other side was first seen."""

    def lineage_edges(
        self, frontier: Sequence[int], *, upstream: bool, limit: int
    ) -> list[tuple[int, int, str]]:
        """The lineage edges that lead on from a frontier of handles, at most `limit`, as (from,
        to, relationship): towards what data is made of, or what is made of it. One query."""

    def lineage_columns(
        self, frontier: Sequence[int], *, upstream: bool, limit: int
    ) -> tuple[list[int], list[int], list[str]]:
        """What `lineage_edges` gives, as three columns; several times faster for many edges."""

    def lineage_pairs(self) -> tuple[list[int], list[int]]:
        """Every lineage edge there is, as two columns of handles: what data is made of, and what is
        made of it."""

    def lineage_names(self, handles: Sequence[int]) -> tuple[list[str], list[int]]:
        """The URNs behind handles, in the order of the handles, and 1 for each that is stored,
        0 for one that is only pointed at. One query."""

    def handles(self, urns: Sequence[str]) -> dict[str, int]:
        """The numbers by which the store knows URNs, good for as long as it is open; a URN that
        is neither stored nor pointed at has none."""

    def known(self, handles: Sequence[int]) -> list[KnownUrn]:
        """The URNs behind handles, in one query."""

    def sources(self, targets: Sequence[str], relationship: str) -> list[str]:
        """The URNs whose edges of a relationship lead to any of the targets, in one query."""

    def browse(
        self, entity_type: str, path: tuple[str, ...], start: int, limit: int
    ) -> StoredFolderPage:
        """What is found at a path of folders."""

    def browse_among(
        self, entity_type: str, path: tuple[str, ...], start: int, limit: int, among: set[str]
    ) -> StoredFolderPage:
        """As `browse`, as if there were no other entities than those of these URNs."""

    def log(self, after: int, limit: int) -> list[LogEntry]:
        """Rows of the change log after an offset, in order."""

    def log_head(self) -> int:
        """The offset of the last row of the change log; 0 when nothing was ever written."""

    def log_floor(self) -> int:
        """The offset after which the change log is whole: 0 unless rows were dropped."""

    def changed_since(self, offset: int) -> list[str]:
        """The URNs that the change log names after an offset."""

    def entity_count(self) -> int:
        """How many entities are stored."""

    def size_bytes(self) -> int:
        """How much room the store takes where it is kept."""

    def urns(self, after: str, limit: int, entity_type: str | None = None) -> list[str]:
        """The URNs of stored entities that come after one, sorted by their code points."""

    def history(self, urn: str) -> Iterator[tuple[str, bytes, bytes]]:
        """Every document of every timeseries aspect of an entity: the aspect, the document and its
        system metadata, by aspect, oldest first."""

    def note(self, key: str) -> str | None:
        """A note kept about the catalog as a whole."""

    def close(self) -> None:
        """Finish what is queued and let go of the files."""
