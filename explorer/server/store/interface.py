"""The interface between the catalog and the engine that keeps it.

An engine knows nothing of the model: what a value means, which edges it declares and where an
entity is browsed is worked out above and handed in.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager
from hashlib import blake2b
from typing import Any, Literal, Protocol, TypeVar

import orjson
from msgspec import Struct, field

from explorer.errors import Busy, CatalogError, ServerFault, StorageFault

__all__ = [
    "Direction",
    "DocumentRange",
    "Job",
    "LogBounds",
    "LogEntry",
    "LogReader",
    "Neighbour",
    "Observer",
    "Placement",
    "Reader",
    "RunRow",
    "RunSummary",
    "Store",
    "StoreAway",
    "StoreFault",
    "StoreUnavailable",
    "StoredAspect",
    "StoredDocument",
    "StoredEdge",
    "StoredFolderPage",
    "TimeseriesDocument",
    "Transaction",
    "TransactionChanges",
    "Trimmed",
    "Write",
    "counted",
    "digest",
    "is_removed",
    "log_mark",
    "same_value",
    "seen_again",
    "version_of",
]


class StoreFault(ServerFault):
    """The engine failed at something that was not the caller's doing; the message says at what.
    What was to be written is not; it may be tried again."""


class StoreUnavailable(Busy):
    """The engine cannot be reached at the moment. What was to be written is not, unless the message
    says that this is not known."""


class StoreAway(StorageFault):
    """The engine cannot be opened because nothing answers where it is; it may come back."""


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


class Neighbour(Struct, frozen=True):
    """What an entity has edges of a relationship to or from, and the aspects that declare them,
    sorted."""

    urn: str
    relationship: str
    aspects: tuple[str, ...]


class RunSummary(Struct, frozen=True):
    """A run of ingestion: how many versions and documents are left of it, and when it last wrote
    one of them (milliseconds since 1970)."""

    run: str
    rows: int
    time_millis: int


class RunRow(Struct, frozen=True):
    """A version of an aspect, or a document of a timeseries aspect, that a run wrote.

    `at_millis` is the moment of a document and None for a version; `time_millis` is when the run
    wrote it, both in milliseconds since 1970. The version of a document is 0.
    """

    urn: str
    aspect: str
    version: int
    time_millis: int
    value: bytes
    system: bytes
    at_millis: int | None = None


class Write(Struct, frozen=True):
    """A versioned aspect to be written. `run` is the run id, nothing when no run was named;
    `content` is what the JSON of `value` holds, None where that is not at hand."""

    urn: str
    entity_type: str
    aspect: str
    value: bytes
    time_millis: int
    actor: str
    system: bytes
    run: str | None = None
    edges: tuple[StoredEdge, ...] = ()
    content: Any = None


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


class StoredDocument(Struct, frozen=True):
    """A document of a timeseries aspect; `system` is the system metadata as a JSON object."""

    aspect: str
    value: bytes
    system: bytes


class DocumentRange(Struct, frozen=True):
    """The documents of a timeseries aspect from one moment, which is included, to another, which is
    not; milliseconds since 1970."""

    aspect: str
    start_millis: int
    end_millis: int


class LogEntry(Struct, frozen=True):
    """One row of the change log: what was written or removed, and what stood there before.

    `digest` is that of the value as it was written, where it is known apart from the value.
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
    """The offset of the last row of the change log, 0 when nothing was ever written, and the one
    after which the log is whole, 0 unless rows were dropped."""

    floor: int
    head: int


class LogReader(Struct, frozen=True):
    """A service that derives something from the change log: what comes `after` an offset it still
    needs, as it said `silent_seconds` ago."""

    name: str
    after: int
    silent_seconds: float


class Trimmed(Struct, frozen=True):
    """How much of the past of some entities went.

    `after` is where to go on, None at the end. Of aspects that lost versions `since` has the latest
    moment at which one of those was superseded, in milliseconds since 1970.
    """

    gone: int
    after: int | None
    since: Mapping[str, int] = {}


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


class TransactionChanges(Struct):
    """What a transaction changed: the URNs whose versioned aspects did (`touched`), those that got
    or lost documents of a timeseries aspect, with its name (`measured`), those whose own aspects
    stay while what is derived from them is to be made anew (`stale`), and whether edges of lineage
    did (`rewired`)."""

    touched: set[str] = field(default_factory=set)
    measured: set[tuple[str, str]] = field(default_factory=set)
    stale: set[str] = field(default_factory=set)
    rewired: bool = False

    def __bool__(self) -> bool:
        return bool(self.touched or self.measured or self.stale)

    def add(self, other: "TransactionChanges") -> None:
        """Count what another job changed too."""
        self.touched |= other.touched
        self.measured |= other.measured
        self.stale |= other.stale
        self.rewired = self.rewired or other.rewired


def same_value(stored: bytes, given: bytes) -> bool:
    """Whether two values are the same JSON, whatever the order of their keys."""
    if stored == given:
        return True
    if abs(len(stored) - len(given)) > max(len(stored), len(given)) // 2:
        return False
    return _canonical(stored) == _canonical(given)


def digest(value: bytes) -> bytes:
    """Return 8 bytes that stand for a value; values are taken to be equal when theirs are."""
    return blake2b(value, digest_size=8).digest()


def seen_again(stored: bytes, given: bytes) -> bytes:
    """The stored system metadata with the time and the run at which the value was seen again."""
    system, now = orjson.loads(stored), orjson.loads(given)
    system["lastObserved"] = now.get("lastObserved", system.get("lastObserved"))
    system["lastRunId"] = now.get("runId", system.get("lastRunId"))
    return orjson.dumps(system)


def is_removed(aspects: Iterable[StoredAspect]) -> bool:
    """Whether the `status` among the latest aspects of an entity is a soft deletion."""
    return any(
        one.name == "status"
        and b"true" in one.value
        and orjson.loads(one.value).get("removed") is True
        for one in aspects
    )


def version_of(system: bytes, superseded: int = 0) -> int:
    """The version that system metadata names, from 1 up; where it names none, one more than the
    number of values that were superseded."""
    named: Any = orjson.loads(system).get("version")
    return int(named) if isinstance(named, str) and named.isdecimal() else superseded + 1


def counted(system: bytes, version: int) -> bytes:
    """System metadata that names this version."""
    if b'"version"' not in system and system.startswith(b'{"') and system.endswith(b"}"):
        return b'%b,"version":"%d"}' % (system[:-1], version)
    return orjson.dumps(orjson.loads(system) | {"version": str(version)})


def _canonical(value: bytes) -> bytes:
    return orjson.dumps(orjson.loads(value), option=orjson.OPT_SORT_KEYS)


T = TypeVar("T")
Direction = Literal["INCOMING", "OUTGOING"]


class Reader(Protocol):
    """What is read of a catalog, as it is at one moment.

    Texts are sorted by their code points. Bounds and offsets of pages are 0 and up; a limit of -1
    stands for no limit. Raises `Unusable` where the kept data is found to be damaged, and
    `StoreFault` where the engine fails otherwise, `StoreUnavailable` where that passes by itself.
    """

    def aspect(self, urn: str, name: str, version: int = 0) -> StoredAspect | None:
        """One version of an aspect: 0 is the latest, 1 the oldest; negative ones count back from
        the newest superseded one, which is -1."""

    def aspects(
        self, urns: Sequence[str], names: Collection[str] | None = None
    ) -> dict[str, list[StoredAspect]]:
        """The latest aspects of many entities by URN, all or those of some names, in no particular
        order. One query for some hundred; an entity that has none is left out."""

    def versions(
        self, urn: str, name: str, ends: tuple[int, int], start: int, count: int
    ) -> tuple[int, list[StoredAspect]] | None:
        """How many versions of an aspect there are between two numbers, both inclusive and in any
        order, and a page of them, newest first. 0 is the latest, 1 the oldest, negative numbers
        count back from the latest; numbers beyond the versions there are do no harm. None when
        there is no such aspect."""

    def histories(
        self, urns: Sequence[str], names: Collection[str]
    ) -> dict[str, list[StoredAspect]]:
        """Every version of some aspects of many entities by URN, in no particular order. Two
        queries for some hundred; an entity that has none is left out."""

    def existing(self, urns: Sequence[str]) -> set[str]:
        """Which of the URNs are stored entities: those that have any aspect."""

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
        """The URNs of stored entities that meet every condition given, sorted.

        They are of a type, begin with a prefix, come after a URN; a run wrote a version or a
        document of theirs that is left; they have a document in a range, for which all documents'
        places are looked at, about 0.2 s a million.
        """

    def count(
        self,
        *,
        entity_type: str | None = None,
        aspect: str | None = None,
        urn_like: str | None = None,
    ) -> int:
        """How many entities are stored, of a type, and with an aspect; of a timeseries aspect, how
        many documents there are. `urn_like` is a pattern of their URNs: % stands for any text, _
        for any character, and letters of ASCII match without regard to case."""

    def runs(self, start: int, count: int, *, with_removed: bool) -> list[RunSummary]:
        """The runs that something is left of, newest first. What belongs to soft-deleted entities
        counts only `with_removed`. Looks at all that runs wrote."""

    def run_rows(
        self,
        run: str,
        start: int = 0,
        count: int = -1,
        *,
        urn: str | None = None,
        with_removed: bool = True,
    ) -> list[RunRow]:
        """What is left of a run, of one entity or all: by URN, then aspect, the latest first."""

    def documents(
        self,
        urn: str,
        aspect: str | None = None,
        start_millis: int | None = None,
        end_millis: int | None = None,
        limit: int = -1,
    ) -> Iterator[StoredDocument]:
        """Documents of one timeseries aspect of an entity, or of all by aspect, newest first; both
        ends are inclusive."""

    def edges(
        self,
        urns: Sequence[str],
        direction: Direction,
        types: Sequence[str] = (),
        start: int = 0,
        limit: int = -1,
    ) -> tuple[int, list[Neighbour]]:
        """How many neighbours the URNs have by edges of some relationships (all, where none is
        named), and a page of them, each once for a relationship. Ordered by relationship, then by
        when the neighbour was first seen. INCOMING edges are those that others declare."""

    def handles(self, urns: Sequence[str]) -> dict[str, int]:
        """The numbers by which the store knows URNs, good for as long as it is open; a URN that
        is neither stored nor pointed at has none."""

    def known_urns(self, handles: Sequence[int]) -> tuple[list[str], list[int]]:
        """The URNs behind handles, in the order of the handles, and for each 1 when an entity
        stands behind it, 0 when it is only pointed at. One query."""

    def lineage(
        self, frontier: Sequence[int], *, upstream: bool, limit: int = -1
    ) -> tuple[list[int], list[int], list[str]]:
        """The lineage edges that lead on from a frontier of handles: towards what data is made of,
        or what is made of it. Three columns, of where an edge leads from, where to, and its
        relationship; an edge that both sides declare comes twice. One query."""

    def lineage_pairs(self) -> tuple[list[int], list[int]]:
        """Every lineage edge there is, as two columns of handles: what data is made of, and what is
        made of it."""

    def browse(
        self,
        entity_type: str,
        path: tuple[str, ...],
        start: int,
        limit: int,
        among: Collection[str] | None = None,
    ) -> StoredFolderPage:
        """What is found at a path of folders, whose names compare without regard to case. With
        `among`, as if there were no other entities than those of these URNs; that looks at all
        below the path."""

    def log(self, after: int, limit: int) -> list[LogEntry]:
        """Rows of the change log after an offset, in order."""

    def log_bounds(self) -> LogBounds:
        """From where to where the change log goes."""

    def changed_urns(self, after: int) -> list[str]:
        """The URNs that the change log names after an offset, each once, in no particular order."""

    def note(self, key: str) -> str | None:
        """A note kept about the catalog as a whole."""


class Transaction(Reader, Protocol):
    """What a job of the writer may do. It reads what it wrote itself.

    `time_millis` (milliseconds since 1970) and `actor` say when something is removed, and by whom.
    """

    changes: TransactionChanges

    def put(self, write: Write) -> bool:
        """Write an aspect, its version, edges and log row; whether the value changed.

        An identical value makes no version and no log row; only when it was seen, and by which
        run, is noted. The version that the system metadata names counts up by one with every value
        an aspect ever had, also over its removal and that of its entity.
        """

    def contents(self, urn: str) -> Mapping[str, Any] | None:
        """What the aspects of an entity hold by their names, where this transaction made it and
        has all of them at hand; None otherwise. Nobody may change them."""

    def append(self, document: TimeseriesDocument) -> bool:
        """Write a document of a timeseries aspect and its log row; whether anything changed."""

    def remove_entity(
        self, urn: str, key_aspect: str, time_millis: int, actor: str
    ) -> tuple[int, int]:
        """Remove an entity with all it has, as one row of the log that names its key aspect; how
        many versions and how many documents went. What points at it stays."""

    def remove_aspect(self, urn: str, aspect: str, time_millis: int, actor: str) -> int:
        """Remove a versioned aspect with all its versions; how many of them went."""

    def remove_version(
        self,
        urn: str,
        aspect: str,
        version: int,
        edges: Sequence[StoredEdge],
        time_millis: int,
        actor: str,
    ) -> None:
        """Remove one version of an aspect that has it.

        In place of the latest (0) comes the newest superseded one, with `edges`, as a row of the
        log; where there is none the aspect is removed.
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
        """Remove documents of a timeseries aspect, all or those that a run wrote, as one row of the
        log; how many went. `bounds` are milliseconds, both inclusive, an open end being None."""

    def place(
        self, urn: str, entity_type: str, name: str, placements: Collection[Placement]
    ) -> None:
        """Make a stored entity found at these places when browsing, and at no other."""

    def set_note(self, key: str, value: str | None) -> None:
        """Keep a note, or drop it when there is no value."""

    def trim_log(self, before_millis: int, through: int, most: int) -> int:
        """Drop rows from the beginning of the change log that are older than `before_millis`, none
        after the offset `through` and never the last, `most` at most; how many went."""

    def trim_versions(self, keep: int, after: int, most: int) -> Trimmed:
        """Drop the older versions but the newest `keep`, 1 or more, of each aspect of the next
        `most` entities that have any. None goes that a row of the log tells of. `after` is 0 for
        the first entities, and then what the call before gave."""

    def trim_documents(self, before_millis: int, after: int, most: int) -> Trimmed:
        """Drop the documents of timeseries aspects that tell of a time before `before_millis`, of
        the next `most` entities that have any; otherwise as `trim_versions`. Of each aspect of an
        entity the newest stays, and the newest of those whose series has no name."""


Job = Callable[[Transaction], T]


class Observer(Protocol):
    """Who derives something from the truth: browse places, the search index."""

    def prepare(self, transaction: Transaction) -> None:
        """Called inside the transaction, after its jobs and before the commit, when they changed
        anything. The jobs fail with what it raises."""

    def follow(self, offset: int) -> None:
        """Called where others write to the store too: derive what they changed up to an offset of
        the log. Called again where it raises."""

    def publish(self, offset: int) -> None:
        """Called after such a commit, before the jobs' futures are resolved; `offset` is that of
        the log's last row. The commit stands whatever it raises."""


class Store(Reader, Protocol):
    """A catalog's truth. Each reading method sees one moment, and every write that was answered;
    writers and readers never wait for each other. Any thread may call.

    Once a method has found the kept data damaged, `problem` is a sentence that says so, every write
    raises it, and what can be read is read. `has_died` once the writer ended by an error that
    nobody foresaw; the process has to be started again.
    """

    @property
    def problem(self) -> str | None: ...

    @property
    def has_died(self) -> bool: ...

    @property
    def is_shared(self) -> bool:
        """Whether other services may write to the same store."""

    def catalog_id(self) -> str:
        """The random id of this catalog, by which an index knows that it was made from it."""

    def size_bytes(self) -> int:
        """How much room the store takes where it is kept."""

    def observe(self, observer: Observer) -> None:
        """Name the one observer; before the first write. Raises `Misuse` where there is one."""

    def follow(self, after: int, name: str, needed: Callable[[], int]) -> None:
        """Have the observer follow what others write to the same store after an offset of the log,
        until the store is closed. It follows all that was before a transaction before its jobs
        begin. Nothing happens where nobody else writes.

        The others are told by a `name` after which offset the log is still `needed` here, now and
        every 10 seconds.
        """

    def log_readers(self) -> list[LogReader]:
        """Every service that follows the log of this store, or did in the last days; none where
        nobody else writes."""

    @property
    def can_write(self) -> bool:
        """Whether a transaction that writes could be begun when that was last tried."""

    def now_millis(self) -> int:
        """The time by the clock that all who write to the store share, in milliseconds since
        1970."""

    def lag_seconds(self) -> float:
        """How long ago the observer is known to have followed all that there was; 0 where nobody
        else writes, and infinite until that is known for the first time."""

    @property
    def is_reachable(self) -> bool:
        """Whether what others write was heard when that was last tried."""

    def write(self, job: Job[T]) -> Future[T]:
        """Queue a job for the writer. Its future is resolved after the commit that made it
        durable, with what the job gave or the error it raised; a job that raised changed nothing.

        Jobs run one after another in the order in which they were queued. A job may be run again
        when another's failure took its transaction along. Raises `Unusable` when the kept data is
        damaged, `ServerFault` when the writer has died or the store is closed.
        """

    def pause_writes(self) -> AbstractContextManager[None]:
        """Within, nobody writes to the store, whichever process they are in: they wait 10 seconds,
        and are told to try again. Raises `StoreUnavailable` where somebody writes for long."""

    def snapshot(self) -> AbstractContextManager[Reader]:
        """The store as it is at one moment, for several reads; writers go on meanwhile."""

    def close(self) -> None:
        """Finish what is queued, refuse what comes, and let go of what is open. What is read
        afterwards opens it again for that time."""


def log_mark(store: Reader, offset: int) -> str | None:
    """Return a digest of a row of the change log, by which what was derived from the log up to
    there is known to be of this catalog. None when there is no such row or it cannot be read."""
    try:
        rows = store.log(offset - 1, 1)
    except CatalogError:
        return None
    if not rows or rows[0].offset != offset:
        return None
    row = rows[0]
    marked = (row.offset, row.urn, row.aspect, row.change, row.time_millis, row.actor, row.system)
    return blake2b(repr(marked).encode(), digest_size=8).hexdigest()
