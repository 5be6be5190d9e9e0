"""The primary storage of a catalog: one narrow interface, and its engines.

Each engine is a subpackage and is imported where it is selected, in
`explorer.server.data_directory`. An engine knows nothing about the metadata model. The caller works
out what a value means, which edges it declares and where an entity is browsed, and passes the
result to the engine. `Survey` is an optional capability of an engine: reading all that it stores,
row by row, to check it.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager
from hashlib import blake2b
from typing import Any, Literal, Protocol, TypeVar

import orjson
from msgspec import Struct, field

from explorer.errors import Busy, CatalogError, ServerFault, StorageFault


class StoreFault(ServerFault):
    """The engine failed, and not because of the caller's input.

    The message names the operation. Nothing was written; the operation may be retried.
    """


class StoreUnavailable(Busy):
    """The engine cannot be reached at the moment.

    Nothing was written, unless the message says that this is not known.
    """


class StoreAway(StorageFault):
    """The engine cannot be opened because nothing answers at its address; it may answer later."""


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

    `flow` is the direction of lineage along the edge: 0 for no lineage, 1 from the target to the
    entity, 2 from the entity to the target.
    """

    relationship: str
    target: str
    flow: Literal[0, 1, 2] = 0


class Neighbour(Struct, frozen=True):
    """A URN that is connected with an entity by edges of one relationship.

    `aspects` are the names of the aspects that declare these edges, sorted.
    """

    urn: str
    relationship: str
    aspects: tuple[str, ...]


EdgeKey = tuple[int, str, int]
"""The place of an edge in a scroll: the handle of its end on this side, the relationship, and the
handle of its other end. Handles are numbered by when the store first saw the URN."""


class EntityEdge(Struct, frozen=True):
    """An edge between two URNs, which any number of aspects of its source declare.

    `flow` is the direction of lineage, with the numbers of `StoredEdge.flow`.
    """

    source: str
    relationship: str
    target: str
    flow: int
    key: EdgeKey


class RunSummary(Struct, frozen=True):
    """An ingestion run.

    `rows` counts the versions and documents of the run that are still stored; `time_millis` is when
    the run wrote the last of them, in milliseconds since 1970.
    """

    run: str
    rows: int
    time_millis: int


class RunRow(Struct, frozen=True):
    """A version of an aspect, or a document of a timeseries aspect, that a run wrote.

    `time_millis` is when the run wrote it; `at_millis` is the timestamp of a document and `None`
    for a version. Both are in milliseconds since 1970. The `version` of a document is 0.
    """

    urn: str
    aspect: str
    version: int
    time_millis: int
    value: bytes
    system: bytes
    at_millis: int | None = None


class Write(Struct, frozen=True):
    """A versioned aspect to be written.

    `run` is the run id, `None` if no run was named.
    """

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
    """A document of a timeseries aspect to be written.

    `series` is made of partition, granularity and message. A document replaces an earlier one of
    the same aspect with the same `at_millis` and `series`.
    """

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


class StoredDocument(Struct, frozen=True):
    """A document of a timeseries aspect; `system` is the system metadata as a JSON object."""

    aspect: str
    value: bytes
    system: bytes


class DocumentRange(Struct, frozen=True):
    """The documents of a timeseries aspect in a range of time.

    `start_millis` is inclusive and `end_millis` exclusive, in milliseconds since 1970.
    """

    aspect: str
    start_millis: int
    end_millis: int


class LogEntry(Struct, frozen=True):
    """An entry of the change log: the write or removal of an aspect, with the new and the previous
    value.

    `change` is `UPSERT` or `DELETE`. `digest` is the digest of the written value if the log stores
    one, otherwise `None`.
    """

    offset: int
    urn: str
    aspect: str
    change: str
    value: bytes | None
    previous: bytes | None
    time_millis: int
    actor: str
    system: bytes
    digest: bytes | None = None


class LogBounds(Struct, frozen=True):
    """The range of the change log.

    `head` is the offset of the last entry, 0 if nothing was ever written. The log is complete after
    the offset `floor`, which is 0 unless entries were dropped.
    """

    floor: int
    head: int


class LogReader(Struct, frozen=True):
    """A service that reads the change log to derive data from it.

    It still needs the entries after the offset `after`, as it reported `silent_seconds` ago.
    """

    name: str
    after: int
    silent_seconds: float


class Trimmed(Struct, frozen=True):
    """The result of `trim_versions` or `trim_documents`.

    `count` is the number of versions or documents that were removed, and `after` the argument for
    the next call, `None` at the end. `since` has the names of the aspects that lost versions, with
    the latest time at which one of those versions was superseded, in milliseconds since 1970.
    """

    count: int
    after: int | None
    since: Mapping[str, int] = {}


class Placement(Struct, frozen=True):
    """A place of an entity in the browse tree: its folder, as names from the root.

    `leaf` is the last component of the entity's browse path if that component is the entity itself.
    """

    folder: tuple[str, ...]
    leaf: str | None = None


class StoredFolderPage(Struct, frozen=True):
    """A page of the contents of a folder in the browse tree.

    `groups` are subfolders (name, number of entities below) and come before `entities` (name, URN);
    both are cut to the requested page. The totals count everything.
    """

    groups: tuple[tuple[str, int], ...]
    entities: tuple[tuple[str, str], ...]
    total_groups: int
    total_entities: int
    total_below: int


class TransactionChanges(Struct):
    """What a transaction changed.

    - `touched`: URNs whose versioned aspects changed.
    - `measured`: URNs that got or lost documents of a timeseries aspect, each with the aspect's
      name.
    - `stale`: URNs whose aspects are unchanged, but whose derived data must be computed again.
    - `rewired`: whether lineage edges changed.
    """

    touched: set[str] = field(default_factory=set)
    measured: set[tuple[str, str]] = field(default_factory=set)
    stale: set[str] = field(default_factory=set)
    rewired: bool = False

    def __bool__(self) -> bool:
        return bool(self.touched or self.measured or self.stale)

    def add(self, other: "TransactionChanges") -> None:
        """Add the changes of another job."""
        self.touched |= other.touched
        self.measured |= other.measured
        self.stale |= other.stale
        self.rewired = self.rewired or other.rewired


def same_value(stored: bytes, new_value: bytes) -> bool:
    """Return whether two values are the same JSON, whatever the order of their keys."""
    if stored == new_value:
        return True
    if abs(len(stored) - len(new_value)) > max(len(stored), len(new_value)) // 2:
        return False
    return _canonical(stored) == _canonical(new_value)


def digest(value: bytes) -> bytes:
    """Return the 8-byte digest of a value; values with equal digests are taken to be equal."""
    return blake2b(value, digest_size=8).digest()


def update_observation(stored: bytes, latest: bytes) -> bytes:
    """Return the stored system metadata, updated with the time, run and properties of the latest
    observation.

    `latest` is the system metadata of the write that repeated the stored value.
    """
    system, now = orjson.loads(stored), orjson.loads(latest)
    system["lastObserved"] = now.get("lastObserved", system.get("lastObserved"))
    system["lastRunId"] = now.get("runId", system.get("lastRunId"))
    if properties := now.get("properties"):
        system["properties"] = {**(system.get("properties") or {}), **properties}
    return orjson.dumps(system)


def is_removed(aspects: Iterable[StoredAspect]) -> bool:
    """Return whether the latest aspects of an entity contain a `status` that soft-deletes it."""
    return any(
        aspect.name == "status"
        and b"true" in aspect.value
        and orjson.loads(aspect.value).get("removed") is True
        for aspect in aspects
    )


def version_of(system: bytes, superseded: int = 0) -> int:
    """Return the version number in system metadata, 1 or higher.

    Without such a number, return `superseded`, the number of superseded values, plus one.
    """
    version: Any = orjson.loads(system).get("version")
    return int(version) if isinstance(version, str) and version.isdecimal() else superseded + 1


def set_version(system: bytes, version: int) -> bytes:
    """Return system metadata with its version number set to `version`."""
    if b'"version"' not in system and system.startswith(b'{"') and system.endswith(b"}"):
        return b'%b,"version":"%d"}' % (system[:-1], version)
    return orjson.dumps(orjson.loads(system) | {"version": str(version)})


def _canonical(value: bytes) -> bytes:
    return orjson.dumps(orjson.loads(value), option=orjson.OPT_SORT_KEYS)


T = TypeVar("T")
Direction = Literal["INCOMING", "OUTGOING"]


class Reader(Protocol):
    """The methods that read a catalog.

    Text is sorted by code point. Offsets of pages are 0 or higher; a limit of -1 means no limit.
    Raises `Unusable` if the stored data turns out to be damaged, `StoreUnavailable` if the engine
    fails temporarily, `StorageFull` if its disk is full, and `StoreFault` if it fails otherwise.
    """

    def aspect(self, urn: str, name: str, version: int = 0) -> StoredAspect | None:
        """Return a version of an aspect, `None` if there is none.

        `version` 0 is the latest and 1 the oldest; negative numbers count back from the newest
        superseded version, which is -1.
        """

    def aspects(
        self, urns: Sequence[str], names: Collection[str] | None = None
    ) -> dict[str, list[StoredAspect]]:
        """Return the latest aspects of many entities by URN, in no particular order.

        `names` restricts the aspects; `None` returns all. An entity without any is left out. Costs
        one query for several hundred URNs.
        """

    def versions(
        self, urn: str, name: str, ends: tuple[int, int], start: int, count: int
    ) -> tuple[int, list[StoredAspect]] | None:
        """Return the number of versions of an aspect in a range, and a page of them, newest first.

        `ends` are the two version numbers that bound the range, both inclusive and in any order: 0
        is the latest, 1 the oldest, and negative numbers count back from the latest. They may lie
        outside the existing versions. Returns `None` if the aspect does not exist.
        """

    def histories(
        self, urns: Sequence[str], names: Collection[str]
    ) -> dict[str, list[StoredAspect]]:
        """Return all versions of some aspects of many entities by URN, in no particular order.

        An entity without any is left out. Costs two queries for several hundred URNs.
        """

    def existing(self, urns: Sequence[str]) -> set[str]:
        """Return the URNs among these that are stored entities, which have at least one aspect."""

    def measured(self, urns: Sequence[str]) -> set[str]:
        """Return the URNs among these that have documents of timeseries aspects."""

    def urns(
        self,
        *,
        entity_type: str | None = None,
        prefix: str = "",
        run: str | None = None,
        measured: DocumentRange | None = None,
        after: str = "",
        start: int = 0,
        limit: int = -1,
    ) -> list[str]:
        """Return the URNs of the stored entities that meet all given conditions, sorted.

        - `entity_type`: the entity is of this type.
        - `prefix`: the URN begins with this text.
        - `run`: a version or document of the entity that this run wrote is still stored.
        - `measured`: the entity has a document in this range. This scans the keys of all documents,
          which takes about 0.2 s per million.
        - `after`: the URN sorts after this one.
        """

    def count(
        self,
        *,
        entity_type: str | None = None,
        other_than: Collection[str] = (),
        aspect: str | None = None,
        urn_like: str | None = None,
    ) -> int:
        """Return the number of stored entities, optionally of a type, of types other than some, and
        with an aspect.

        For a timeseries aspect, return the number of its documents instead. `urn_like` is a pattern
        for the URNs: % stands for any text, _ for any character; ASCII letters match in either
        case.
        """

    def runs(self, start: int, count: int, *, with_removed: bool) -> list[RunSummary]:
        """Return the runs that have versions or documents still stored, newest first.

        Versions and documents of soft-deleted entities count only `with_removed`. Reads the rows of
        all runs.
        """

    def run_rows(
        self,
        run: str,
        start: int = 0,
        count: int = -1,
        *,
        urn: str | None = None,
        with_removed: bool = True,
    ) -> list[RunRow]:
        """Return the versions and documents of a run that are still stored, of one entity or of
        all.

        Ordered by URN, then by aspect, then the latest first.
        """

    def documents(
        self,
        urn: str,
        aspect: str | None = None,
        start_millis: int | None = None,
        end_millis: int | None = None,
        limit: int = -1,
    ) -> Iterator[StoredDocument]:
        """Yield the documents of a timeseries aspect of an entity, newest first.

        Without `aspect`, yield those of all timeseries aspects, ordered by aspect first. Both ends
        of the range are inclusive.
        """

    def edges(
        self,
        urns: Sequence[str],
        direction: Direction,
        types: Sequence[str] = (),
        start: int = 0,
        limit: int = -1,
    ) -> tuple[int, list[Neighbour]]:
        """Return the number of neighbours of some URNs, and a page of them.

        `types` are the names of relationships; none means all. A neighbour is listed once for each
        relationship. Ordered by relationship, then by when the store first saw the neighbour.
        INCOMING edges are those that other entities declare.
        """

    def scroll_edges(
        self,
        direction: Direction,
        urns: Sequence[str] | None = None,
        types: Sequence[str] = (),
        *,
        lineage: bool = False,
        after: EdgeKey | None = None,
        limit: int,
    ) -> list[EntityEdge]:
        """Return at most `limit` edges, in the order of their keys.

        The edges are those that the URNs declare (OUTGOING) or that point at them (INCOMING), of
        all URNs if `urns` is `None`. This side of an edge, which comes first in its key, is the
        source for OUTGOING and the target for INCOMING. `types` are the names of relationships;
        none means all. With `lineage`, only edges of lineage are returned.

        `after` is the key of the last edge of the previous page. An edge that exists throughout is
        returned exactly once, whatever is added and removed between pages.
        """

    def handles(self, urns: Sequence[str]) -> dict[str, int]:
        """Return the handles of URNs: the store's internal numbers, valid while it is open.

        A URN that is neither stored nor the target of an edge is left out.
        """

    def urns_of_handles(self, handles: Sequence[int]) -> tuple[list[str], list[int]]:
        """Return the URNs of handles, in the order of the handles, and whether each is stored.

        The second list has 1 for an entity, 0 for a URN that is only the target of edges. Costs one
        query.
        """

    def lineage(
        self, frontier: Sequence[int], *, upstream: bool, limit: int = -1
    ) -> tuple[list[int], list[int], list[str]]:
        """Return the lineage edges that lead upstream or downstream from a frontier of handles.

        The result is three columns: the handle in the frontier, the handle at the other end, and
        the relationship. An edge that both sides declare is listed twice. Costs one query.
        """

    def lineage_pairs(self) -> Iterator[tuple[list[int], list[int]]]:
        """Yield all lineage edges, some at a time, as two columns of handles: upstream and
        downstream.

        One query for the edges of every 50,000 handles.
        """

    def browse(
        self,
        entity_type: str,
        path: tuple[str, ...],
        start: int,
        limit: int,
        among: Collection[str] | None = None,
    ) -> StoredFolderPage:
        """Return a page of the contents of a folder; names of folders are case-insensitive.

        With `among`, only the entities of these URNs are listed and counted; this reads everything
        below the path.
        """

    def log(self, after: int, limit: int) -> list[LogEntry]:
        """Return at most `limit` entries of the change log after an offset, in order."""

    def log_bounds(self) -> LogBounds:
        """Return the range of the change log."""

    def changed_urns(self, after: int) -> list[str]:
        """Return the URNs in the change log after an offset, each once, in no particular order."""

    def note(self, key: str) -> str | None:
        """Return a note about the catalog as a whole, `None` if there is none."""


class Transaction(Reader, Protocol):
    """The operations available to a job of the writer, which reads its own writes.

    `time_millis` (milliseconds since 1970) and `actor` say when something is removed, and by whom.
    """

    changes: TransactionChanges

    def attempt(self, job: "Job[T]") -> T:
        """Run a part of a job, and return its result. If it raises a `CatalogError`, its changes
        are undone, the error is raised, and the job may continue."""

    def put(self, write: Write) -> bool:
        """Write an aspect with its version, edges and log entry; return whether the value changed.

        An identical value adds no version and no log entry; only the time and the run of its latest
        observation are stored. The version number in the system metadata increases by one with
        every value of the aspect, and continues after the aspect or its entity was removed. The
        time increases too: it is later than that of every earlier value, even if the clock was set
        back.
        """

    def append(self, document: TimeseriesDocument) -> bool:
        """Write a document of a timeseries aspect and its log entry; return whether its value is
        new. One that is written again unchanged belongs to the run that wrote it last, without a
        log entry."""

    def remove_entity(
        self, urn: str, key_aspect: str, time_millis: int, actor: str
    ) -> tuple[int, int]:
        """Remove an entity with all its data; return how many versions and documents were removed.

        One log entry is written, for the key aspect. Edges of other entities that point to it
        remain.
        """

    def remove_aspect(self, urn: str, aspect: str, time_millis: int, actor: str) -> int:
        """Remove a versioned aspect with all its versions; return how many were removed."""

    def remove_version(
        self,
        urn: str,
        aspect: str,
        version: int,
        edges: Sequence[StoredEdge],
        time_millis: int,
        actor: str,
    ) -> None:
        """Remove one version of an aspect; the version must exist.

        If it is the latest (0), the newest superseded version takes its place with `edges`, the
        time of the removal and its own actor, and a log entry is written. If there is no superseded
        version, the aspect is removed.
        """

    def remove_documents(
        self,
        urn: str,
        aspect: str,
        bounds: tuple[int | None, int | None],
        time_millis: int,
        actor: str,
        run: str | None = None,
    ) -> int:
        """Remove documents of a timeseries aspect; return how many were removed.

        One log entry is written. `bounds` are the first and the last timestamp in milliseconds,
        both inclusive, `None` for an open end. With `run`, only documents that this run wrote are
        removed.
        """

    def place(
        self, urn: str, entity_type: str, name: str, placements: Collection[Placement]
    ) -> None:
        """Set the places of a stored entity in the browse tree, replacing its present ones."""

    def set_note(self, key: str, value: str | None) -> None:
        """Store a note about the catalog, or remove it if `value` is `None`."""

    def trim_log(self, before_millis: int, through: int, most: int) -> int:
        """Remove entries from the beginning of the change log; return how many were removed.

        Entries are removed that are older than `before_millis` and not after the offset `through`:
        at most `most` of them, and never the last entry of the log.
        """

    def trim_versions(self, keep: int, after: int, most: int) -> Trimmed:
        """Remove all but the newest `keep` (1 or more) of the superseded versions of each aspect.

        Processes the next `most` entities that have superseded versions. A version that an entry of
        the change log refers to is kept. `after` is 0 for the first call, then the `after` of the
        previous result.
        """

    def trim_documents(self, before_millis: int, after: int, most: int) -> Trimmed:
        """Remove the documents of timeseries aspects with a timestamp before `before_millis`.

        Processes the next `most` entities that have documents; otherwise like `trim_versions`. Of
        each aspect of an entity, the newest document is kept, and the newest whose series is empty.
        """


Job = Callable[[Transaction], T]


class Observer(Protocol):
    """The observer of a store, which derives data from it: browse places, the search index."""

    def prepare(self, transaction: Transaction) -> None:
        """Called inside a transaction that changed anything, after its jobs, before the commit.

        An error that it raises makes the jobs fail.
        """

    def follow(self, offset: int) -> None:
        """Derive data from the changes of other services, up to an offset of the change log.

        Called only if the store is shared. Called again if it raises.
        """

    def publish(self, offset: int) -> None:
        """Called after the commit of a transaction that changed anything, before the jobs' futures
        are resolved.

        `offset` is that of the last entry of the change log. An error raised here does not undo the
        commit.
        """


class Store(Reader, Protocol):
    """The primary storage of a catalog.

    Each reading method sees one moment, including every write that was acknowledged. Readers and
    writers never wait for each other. All methods are thread-safe.

    When a method finds the stored data damaged, `problem` becomes a sentence that says so, every
    write raises it, and reads return what is still readable. `has_died` is true once an unexpected
    error ended the writer; the process must then be restarted.
    """

    @property
    def problem(self) -> str | None: ...

    @property
    def has_died(self) -> bool: ...

    @property
    def is_shared(self) -> bool:
        """Whether other services may write to the same store."""

    @property
    def is_local(self) -> bool:
        """Whether a few rows are read in microseconds, so that an event loop need not wait for
        them. Otherwise no event loop may read: a read may take as long as a network does."""

    def catalog_id(self) -> str:
        """Return the random id of this catalog; a search index stores the id of its catalog."""

    def size_bytes(self) -> int:
        """Return the size of the stored data in bytes."""

    def observe(self, observer: Observer) -> None:
        """Set the observer, before the first write. Raises `Misuse` if there is one already."""

    def follow(self, after: int, name: str, needed: Callable[[], int]) -> None:
        """Report the writes of other services to the observer, until the store is closed.

        The observer starts after the offset `after`, and gets all earlier transactions before the
        jobs of a transaction begin. Does nothing if the store is not shared.

        Now and every 10 seconds, the offset after which this service still needs the log, from
        `needed`, is published under `name` for the other services.
        """

    def log_readers(self) -> list[LogReader]:
        """Return the services that follow the log of this store, or did in the last days.

        Empty if the store is not shared.
        """

    @property
    def can_write(self) -> bool:
        """Whether the last attempt to begin a write transaction succeeded."""

    def now_millis(self) -> int:
        """Return the time in milliseconds since 1970, by the clock that all writers share."""

    def lag_seconds(self) -> float:
        """Return the seconds since the observer was last known to be up to date.

        0 if the store is not shared; infinite until the observer was up to date for the first time.
        """

    @property
    def is_reachable(self) -> bool:
        """Whether the last attempt to learn of other services' writes succeeded."""

    def write(self, job: Job[T]) -> Future[T]:
        """Queue a job for the writer; return a future of its result.

        The future is resolved after the commit that made the job durable, with the job's result or
        with the error it raised; a job that raised changed nothing. Jobs run one after another, in
        the order in which they were queued. A job may run again if the failure of another one ended
        their transaction.

        Raises `Unusable` if the stored data is damaged, and `ServerFault` if the writer has died or
        the store is closed.
        """

    def pause_writes(self) -> AbstractContextManager[None]:
        """Block all writes to the store within a context, from every process.

        Writers wait for 10 seconds and then fail with the advice to retry. Raises
        `StoreUnavailable` if another writer does not finish in time.
        """

    def snapshot(self) -> AbstractContextManager[Reader]:
        """Return a reader of the store at one moment; writes continue meanwhile."""

    def hurry(self) -> None:
        """Wait only a moment for each answer of the engine from now on, because the service stops.

        A call that gets no answer raises `StoreUnavailable`.
        """

    def close(self) -> None:
        """Finish the queued jobs, reject new ones and close all connections.

        A read after that opens a connection of its own and closes it again.
        """


class AspectRow(Struct, frozen=True):
    """The latest value of an aspect.

    `superseded` is the number of its newest older version, 0 if there is none; `run` is the run of
    its latest observation.
    """

    name: str
    value: bytes
    superseded: int
    system: bytes
    run: str | None


class VersionRow(Struct, frozen=True):
    """The number of an older version that is stored."""

    aspect: str
    version: int


class EdgeRow(Struct, frozen=True):
    """An edge; `target` is `None` if the row that it leads to is missing."""

    relationship: str
    target: str | None
    aspect: str
    flow: int


class PlacementRow(Struct, frozen=True):
    """A folder that lists the entity, and the entity's name in it."""

    folder: int
    sort: str
    urn: str
    name: str


class LeafRow(Struct, frozen=True):
    """The last component of a browse path that ended in the entity."""

    folder: int
    leaf: str


class PointRow(Struct, frozen=True):
    """A document of a timeseries aspect."""

    aspect: str
    at_millis: int
    value: bytes


class EntityRows(Struct):
    """Everything that is stored about a URN; `urn` is `None` for rows whose entity has no row."""

    urn: str | None
    entity_type: str
    live: bool
    aspects: list[AspectRow]
    versions: list[VersionRow]
    edges: list[EdgeRow]
    placements: list[PlacementRow]
    leaves: list[LeafRow]
    points: list[PointRow]


class BrowseFolderRow(Struct, frozen=True):
    """A folder of the browse tree; the root of an entity type has the `parent` 0."""

    id: int
    type: str
    parent: int
    key: str
    entities: int


class Survey(Reader, Protocol):
    """A survey of a store at one moment. Iterators read as they go and keep nothing in memory.

    Redundant data, which an engine stores for speed, is returned as it is stored and never
    recomputed.
    """

    def damage(self) -> list[str]:
        """Return the damage that the engine finds in its data; takes seconds for a large
        catalog."""

    def all_entity_rows(self) -> Iterator[EntityRows]:
        """Yield every URN with all that is stored about it, in the order they were first seen."""

    def folders(self) -> Iterator[BrowseFolderRow]:
        """Yield every folder; a parent may come after its children."""


class SurveyedStore(Store, Protocol):
    """A store that can also be read row by row."""

    def survey(self) -> AbstractContextManager[Survey]:
        """Return a survey of the store at one moment; writes continue meanwhile."""


LASTING_ID = "id"
"""The key of the note with the first id of a catalog that has been given another since."""


def lasting_id(store: Store) -> str:
    """Return the random id that a catalog keeps when it is restored from a backup or moved to
    another store; clients distinguish catalogs by it."""
    return store.note(LASTING_ID) or store.catalog_id()


def read_object(value: bytes | None) -> dict[str, Any]:
    """Return a stored value as a JSON object; an empty one if it is missing or damaged."""
    try:
        parsed_object = orjson.loads(value) if value else {}
    except orjson.JSONDecodeError:
        return {}
    return parsed_object if isinstance(parsed_object, dict) else {}


def log_mark(store: Reader, offset: int) -> str | None:
    """Return a digest of an entry of the change log, `None` if it does not exist or is unreadable.

    The digest is stored with data derived from the log up to that offset, to verify that the data
    belongs to this catalog. Raises `StoreUnavailable`.
    """
    try:
        rows = store.log(offset - 1, 1)
    except StoreUnavailable:
        raise
    except CatalogError:
        return None
    if not rows or rows[0].offset != offset:
        return None
    row = rows[0]
    marked = (row.offset, row.urn, row.aspect, row.change, row.time_millis, row.actor, row.system)
    return blake2b(repr(marked).encode(), digest_size=8).hexdigest()
