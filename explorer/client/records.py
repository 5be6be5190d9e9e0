"""The immutable records that client methods return, the same for every kind of server, and the
differences between two values of an aspect."""

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from difflib import unified_diff
from typing import Any, Generic, Literal, TypeVar, overload

import msgspec
import orjson
from msgspec import structs

from explorer.errors import InvalidAspect, ServerFault
from explorer.metadata.aspects import (
    AuditStamp,
    DatasetProfile,
    DatasetUsageStatistics,
    FieldUsage,
    Operation,
    UserUsage,
    read_aspect,
)
from explorer.metadata.measurements import separate_windows
from explorer.metadata.urn import Urn

What = Literal[
    "description",
    "name",
    "parent",
    "links",
    "tags",
    "terms",
    "owners",
    "domain",
    "deprecation",
    "status",
    "path",
    "source",
    "entity",
]
Held = str | tuple[str, ...] | dict[str, Any] | None
"""The value that an edit replaces or writes; `Edit` describes its form for each kind of edit."""


@dataclass(frozen=True, slots=True)
class Edit:
    """One edit of an entity or of one of its columns: the value before and after, and the time
    (UTC).

    `what` decides the shape of `before` and `after`. `description` and `name`: the text, or `None`.
    `parent`: the URN of the parent glossary group or domain, or `None` at the top level. `tags`,
    `terms`, `domain`: URNs. `owners`: `<URN> <ownership type>` each. `links`: `<address> <label>`
    each. `deprecation`: an object with `note`, `decommissionTime` (milliseconds since 1970 UTC) and
    `replacement`, or `None` if not deprecated. `status`: `shown` or `hidden`. `path`, the field
    path under which texts and labels of a column are stored: an object with that path as its key,
    and the moved `description`, `tags` and `terms` as its value. `source`: where a column's
    description was propagated from, as the entry of its aspect `documentation`, or `None`.
    `entity`: the aspects that the entity was created with, by name, or `None` if it did not exist.
    """

    urn: Urn
    what: What
    before: Held
    after: Held
    at: datetime
    column: str | None = None

    @classmethod
    def now(
        cls, urn: Urn, what: What, before: Held, after: Held, column: str | None = None
    ) -> "Edit":
        """Return an edit with the current time."""
        return cls(urn, what, before, after, datetime.now(UTC), column)

    @property
    def changed(self) -> bool:
        """Whether the value after the edit differs from the value before it."""
        return self.before != self.after


@dataclass(frozen=True, slots=True)
class Match:
    """A field that matched the search and the value that matched.

    `weight` is the weight of the field in the score, if the server sends it. `column` is the field
    path of the column that has the value, if it is a column's.
    """

    field: str
    value: str
    weight: float | None = dataclasses.field(default=None, compare=False)
    column: str | None = dataclasses.field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class HitColumn:
    """A column found by a search: its table, its field path, its type in the source and its
    description, which may be `edited`."""

    table: Urn
    path: str
    native_type: str = ""
    description: str = ""
    edited: bool = False


@dataclass(frozen=True, slots=True)
class Hit:
    """One entity found by a search; in a search of columns, one column (`column`).

    `reason` explains its rank, `use` is the part of the score that comes from how much the entity
    is used, and `lacks` are the words of the search that it does not have, if the server sends
    them. An entity found `by_meaning` lacks all words.
    """

    urn: Urn
    matches: tuple[Match, ...] = ()
    score: float | None = None
    reason: str = dataclasses.field(default="", compare=False)
    use: float = dataclasses.field(default=0.0, compare=False)
    lacks: tuple[str, ...] = dataclasses.field(default=(), compare=False)
    by_meaning: bool = dataclasses.field(default=False, compare=False)
    column: HitColumn | None = dataclasses.field(default=None, compare=False)

    @property
    def entity_urn(self) -> Urn:
        """The URN of the entity to open; for a column that of its table."""
        return self.urn if self.column is None else self.column.table


@dataclass(frozen=True, slots=True)
class FacetValue:
    """A value of a facet and the number of entities in the whole result that have it."""

    value: str
    count: int

    @property
    def label(self) -> str:
        """The value as it is shown: the name in a URN, any other value unchanged."""
        return Urn.label(self.value)


@dataclass(frozen=True, slots=True)
class Facet:
    """A field to filter a result by, with its values, most frequent first.

    `name` is the field, as filters name it; `label` is the name for people, such as `Sub Type` for
    `typeNames`. `has_more` is true if the server left out further values.
    """

    name: str
    label: str
    values: tuple[FacetValue, ...]
    has_more: bool = False

    @property
    def size(self) -> str:
        """The number of values as text, `7`, or `100+` if there are more."""
        return f"{len(self.values):,}{'+' if self.has_more else ''}"

    def with_added(self, chosen: Sequence[str], adding: "Facet") -> "Facet":
        """Return this facet with the chosen values first, then the values of `adding`.

        `adding` is the same facet, counted over the entities that the chosen values exclude, so it
        shows what each further value would add.
        """
        values = [value for value in self.values if value.value in chosen]
        return replace(self, values=(*values, *adding.values), has_more=adding.has_more)


@dataclass(frozen=True, slots=True)
class SearchPage:
    """A page of search results, best match first.

    `total` is the number of hits in the whole result, `len()` the number on this page.

    `unreadable` holds hits whose URN could not be parsed; they count for the position of the next
    page. `as_of` is when the answer was stored, if it comes from the cache, else `None`.
    `corrected` is the text that was searched instead, if a word of `text` occurs nowhere;
    `suggested` is another text that the server suggests but did not search. `complete` is the
    number of hits that have all `words` of the search, if they are followed by hits that have most
    of them, or with `by_meaning` by hits of similar meaning. `tables` is set in a search of
    columns: the number of tables that were looked through, best first, and the number that match.
    """

    text: str
    start: int
    total: int
    hits: tuple[Hit, ...] = ()
    facets: tuple[Facet, ...] = ()
    unreadable: tuple[str, ...] = ()
    as_of: datetime | None = None
    corrected: str | None = None
    suggested: str | None = None
    complete: int | None = None
    words: tuple[str, ...] = ()
    tables: tuple[int, int] | None = None
    by_meaning: bool = False

    def __len__(self) -> int:
        return len(self.hits)

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def only_complete(self) -> "SearchPage":
        """Return the page without hits that lack words of the search. Used where one result is
        chosen or all are changed."""
        if self.complete is None:
            return self
        hits = self.hits[: max(self.complete - self.start, 0)]
        return dataclasses.replace(self, hits=hits, total=self.complete, complete=None)

    @property
    def end(self) -> int:
        """The position at which the next page starts."""
        return self.start + len(self.hits) + len(self.unreadable)

    @property
    def truncated(self) -> bool:
        """Whether there are more hits after this page."""
        return self.end < self.total


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder below a browse path; `count` is the number of entities in and below it.

    `name` is the folder's name in paths. If it is the URN of an entity that the folder stands for,
    such as a container, `label` is the entity's name; it is empty for other folders.
    """

    name: str
    count: int
    label: str = ""

    @property
    def title(self) -> str:
        """The display name: the label if there is one."""
        return self.label or self.name


@dataclass(frozen=True, slots=True)
class Named:
    """An entity in a folder, with its display name."""

    urn: Urn
    name: str


@dataclass(frozen=True, slots=True)
class BrowsePage:
    """A page of a folder: its folders first, then its entities.

    `direct_count` is the number of entities in the folder itself, `total` the number in and below
    it, `entry_count` the number of folders and entities on all its pages, and `len()` the number on
    this page. `repeats_folders` is true for older servers, which repeat all folders on each page
    and count `start` in entities. For `unreadable` and `as_of` see `SearchPage`.
    """

    path: str
    start: int
    direct_count: int
    total: int
    entry_count: int
    folders: tuple[Folder, ...] = ()
    entities: tuple[Named, ...] = ()
    repeats_folders: bool = False
    unreadable: tuple[str, ...] = ()
    as_of: datetime | None = None

    def __len__(self) -> int:
        return len(self.folders) + len(self.entities)

    def __iter__(self) -> Iterator[Folder | Named]:
        yield from self.folders
        yield from self.entities

    @property
    def end(self) -> int:
        """The position at which the next page starts."""
        entities = len(self.entities) + len(self.unreadable)
        return self.start + entities + (0 if self.repeats_folders else len(self.folders))

    @property
    def truncated(self) -> bool:
        """Whether there are more entries after this page."""
        return self.end < (self.direct_count if self.repeats_folders else self.entry_count)


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A name that completes a typed text.

    `urn` is the entity of that name, if the server sends it.
    """

    text: str
    urn: Urn | None
    entity_type: str
    platform: str | None = None


@dataclass(frozen=True, slots=True)
class ChangeEvent:
    """One change of one aspect.

    `kind` is the change type (`UPSERT`, `DELETE`, …), `offset` the position in the change log, `at`
    when the change was stored (UTC). `value` is the new value and `previous` the one it replaced,
    as JSON; each is `None` if there is none, or if values were not requested. `run` is the id of
    the ingestion run that wrote it, empty if none did. Deleting an entity is recorded as a DELETE
    of its key aspect.
    """

    offset: int
    urn: Urn
    aspect: str
    kind: str
    value: dict[str, Any] | None
    previous: dict[str, Any] | None
    at: datetime
    actor: str
    run: str = ""


@dataclass(frozen=True, slots=True)
class ChangePage:
    """A page of changes in the order of the change log.

    `next` is the offset to continue from, `head` the last offset in the log. A page may be short or
    empty although `next` is before `head`.
    """

    changes: tuple[ChangeEvent, ...]
    next: int
    head: int

    def __len__(self) -> int:
        return len(self.changes)

    def __iter__(self) -> Iterator[ChangeEvent]:
        return iter(self.changes)

    @property
    def truncated(self) -> bool:
        """Whether there are more changes after this page."""
        return self.next < self.head


@dataclass(frozen=True, slots=True)
class FailingAssertion:
    """An assertion whose latest completed run failed, or ended in an error (`is_error`).

    `rule` is the asserted rule in words, `actual` the value found instead, if recorded. `since` is
    the first failed run after the last one that passed, `last` the latest run. `since_or_earlier`
    is true if it may have failed even before the oldest run that was read.
    """

    urn: Urn
    rule: str
    actual: str = ""
    since: datetime | None = None
    last: datetime | None = None
    since_or_earlier: bool = False
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class OpenIncident:
    """An active incident. `stage` and `priority` are empty if they were not set."""

    urn: Urn
    title: str
    kind: str
    since: datetime | None = None
    stage: str = ""
    priority: str = ""


@dataclass(frozen=True, slots=True)
class Health:
    """The failing assertions and active incidents of one entity, those that have lasted longest
    first.

    `assertions` is the number of all its assertions, including the passing ones; `unread` the
    number whose runs were not read.
    """

    urn: Urn
    failing: tuple[FailingAssertion, ...] = ()
    incidents: tuple[OpenIncident, ...] = ()
    assertions: int = 0
    unread: int = 0

    @property
    def is_sound(self) -> bool:
        """Whether the entity has no failing assertion and no active incident."""
        return not (self.failing or self.incidents)

    def sentences(self) -> tuple[str, ...]:
        """Return a summary as sentences, without names and times: `1 of 3 assertions fails`."""
        sentences = []
        if self.failing:
            failing, of = len(self.failing), self.assertions
            what = "assertion" if of == 1 else "assertions"
            verb = "fails" if failing == 1 else "fail"
            sentences.append(f"{failing:,} of {of:,} {what} {verb}")
        if self.incidents:
            count = len(self.incidents)
            sentences.append(f"{count:,} active {'incident' if count == 1 else 'incidents'}")
        return tuple(sentences)


Origin = Literal["ingested", "edited"]


@dataclass(frozen=True, slots=True)
class Version:
    """One version of an aspect. As on the server, number 0 is the latest and 1 the oldest.

    `created` is who wrote it and when, `run_id` the ingestion run that wrote it. They are `None` if
    the server does not keep them for old versions.
    """

    number: int
    value: dict[str, Any]
    created: AuditStamp | None = None
    run_id: str | None = None


@dataclass(frozen=True, slots=True)
class Versions:
    """Versions of an aspect, newest first, starting at position `start`.

    `total` is the number of all versions, or `None` if unknown; `truncated` is true if there are
    more after these. `as_of` is set if they come from the cache.
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


ChangeKind = Literal["added", "removed", "changed"]


@dataclass(frozen=True, slots=True)
class ValueChange:
    """One position at which two values differ.

    `path` leads to it: the names of fields, and for an element of an array the values that identify
    it, one step for each of its keys. `before` is `None` for an added value, `after` for a removed
    one.
    """

    path: tuple[str, ...]
    kind: ChangeKind
    before: Any = None
    after: Any = None

    @property
    def place(self) -> str:
        """The path as a JSON pointer: `/fields/id/description`."""
        return "".join(f"/{step.replace('~', '~0').replace('/', '~1')}" for step in self.path)

    def lines(self, context: int = 3) -> tuple[str, ...]:
        """Return the change as the lines of a unified diff without its header, without line ends.

        `context` unchanged lines are shown around each difference. Texts are compared line by line,
        other values as indented JSON.
        """
        diff = unified_diff(_lines(self.before), _lines(self.after), n=context, lineterm="")
        return tuple(diff)[2:]


@dataclass(frozen=True, slots=True)
class AspectDiff:
    """The differences between two versions of an aspect."""

    urn: Urn
    aspect: str
    older: Version
    newer: Version
    changes: tuple[ValueChange, ...] = ()

    def __len__(self) -> int:
        return len(self.changes)

    def __iter__(self) -> Iterator[ValueChange]:
        return iter(self.changes)


@dataclass(frozen=True, slots=True)
class ColumnChange:
    """A change of a column's description, by ingestion or by people.

    `version` is the number of the version that made the change. `before` is `None` if the column
    had no description or the server keeps no older version, `after` is `None` if the description
    was removed.
    """

    path: str
    origin: Origin
    before: str | None
    after: str | None
    version: int
    created: AuditStamp | None = None
    run_id: str | None = None


_Record = TypeVar("_Record", bound=msgspec.Struct)


@dataclass(frozen=True, slots=True)
class ServerInfo:
    """The product, version and address of a server.

    `entities` is the number of entities it holds, if it says so. `user` is the URN that edits of
    the local catalog are attributed to; empty for other servers. `meaning` says whether searches
    find by meaning: not yet while texts are being read, and not at all if the language model
    failed; `texts_read` is the number of texts read, `texts_unread` about how many are still to be
    read.
    """

    address: str
    product: Literal["catalog", "datahub"]
    version: str
    embedded: bool = False
    sample: bool = False
    entities: int | None = None
    user: str = ""
    meaning: Literal["off", "preparing", "on", "failed"] = "off"
    texts_read: int = 0
    texts_unread: int = 0


@dataclass(frozen=True, slots=True)
class Measures:
    """The size and use of a dataset; a field is `None` if it was not measured.

    `rows` is from its latest profile, `queries` and `users` are of the last 30 days, `changed` is
    when the dataset or its rows last changed.
    """

    rows: int | None = None
    queries: int | None = None
    users: int | None = None
    changed: datetime | None = None


@dataclass(frozen=True, slots=True)
class Timeseries:
    """Points of a timeseries aspect, oldest first.

    If there are `limit` points, the server may have more. `as_of` is set if they come from the
    cache. `systems` has the system metadata of each point, empty where the server sends none.
    """

    aspect: str
    limit: int
    values: tuple[dict[str, Any], ...] = ()
    as_of: datetime | None = None
    systems: tuple[dict[str, Any], ...] = ()

    @property
    def truncated(self) -> bool:
        """Whether the number of points has reached the limit, so that there may be more."""
        return len(self.values) >= self.limit

    def records(self, kind: type[_Record]) -> tuple[_Record, ...]:
        """Return the points as typed records. Raises `ServerFault` if one does not fit the type."""
        return tuple(read_aspect(value, kind) for value in self.values)

    def readable(self, kind: type[_Record]) -> Iterator[_Record]:
        """Yield the points that fit a type, as typed records."""
        for value in self.values:
            with suppress(InvalidAspect, ServerFault):
                yield read_aspect(value, kind)

    def usage(self) -> tuple[DatasetUsageStatistics, ...]:
        """Return the points as usage statistics that can be added up: see `usage_windows`."""
        return usage_windows(self.records(DatasetUsageStatistics))

    def profiles(self) -> tuple[DatasetProfile, ...]:
        """Return the points as dataset profiles."""
        return self.records(DatasetProfile)

    def operations(self) -> tuple[Operation, ...]:
        """Return the points as operations on the dataset's rows."""
        return self.records(Operation)


def usage_windows(
    points: Iterable[DatasetUsageStatistics],
) -> tuple[DatasetUsageStatistics, ...]:
    """Return the windows of usage that can be added up, in order.

    Counts of several sources in one window are added. Where windows of different lengths overlap,
    only one length is kept: days, if there are any.
    """
    parts_by_span: dict[tuple[int, int], list[DatasetUsageStatistics]] = {}
    for point in separate_windows(points, lambda point: point.span):
        parts_by_span.setdefault(point.span, []).append(point)
    return tuple(
        parts[0] if len(parts) == 1 else _add_windows(parts) for parts in parts_by_span.values()
    )


def _add_windows(parts: Sequence[DatasetUsageStatistics]) -> DatasetUsageStatistics:
    columns = Counter[str]()
    users: dict[str, UserUsage] = {}
    for part in parts:
        for column_usage in part.field_counts:
            columns[column_usage.field_path] += column_usage.count
        for user_usage in part.user_counts:
            key = user_usage.user or user_usage.user_email or ""
            before = users.get(key)
            users[key] = (
                structs.replace(user_usage, count=user_usage.count + before.count)
                if before
                else user_usage
            )
    texts = dict.fromkeys(text for part in parts for text in part.top_sql_queries)
    counts = [part.total_sql_queries for part in parts if part.total_sql_queries is not None]
    user_counts = [part.unique_user_count for part in parts if part.unique_user_count is not None]
    return structs.replace(
        parts[0],
        total_sql_queries=sum(counts) if counts else None,
        unique_user_count=max(len(users), *user_counts) if user_counts else None,
        field_counts=tuple(FieldUsage(path, count) for path, count in columns.items()),
        user_counts=tuple(users.values()),
        top_sql_queries=tuple(texts),
    )


Direction = Literal["INCOMING", "OUTGOING"]
Flow = Literal["DOWNSTREAM", "UPSTREAM"]
Way = Literal["graphql", "relationships", "server"]

_Item = TypeVar("_Item")


@dataclass(frozen=True, slots=True)
class Edge:
    """A relationship of an entity to another one, `urn`."""

    relationship: str
    urn: Urn


@dataclass(frozen=True, slots=True)
class Edges:
    """Relationships of one entity in one direction, starting at position `start`.

    `total` is the number of all of them. `as_of` is when they were read from the server, if they
    come from the cache. `unreadable` holds entities whose URN could not be parsed; they count for
    the position of the next page.
    """

    direction: Direction
    total: int
    edges: tuple[Edge, ...] = ()
    start: int = 0
    as_of: datetime | None = None
    unreadable: tuple[str, ...] = ()

    @property
    def end(self) -> int:
        """The position at which the next page starts."""
        return self.start + len(self.edges) + len(self.unreadable)

    @property
    def truncated(self) -> bool:
        """Whether there are more edges after these."""
        return self.end < self.total

    def by_relationship(self) -> dict[str, tuple[Urn, ...]]:
        """Return the URNs by relationship name; names are sorted, URNs in the server's order."""
        grouped: dict[str, list[Urn]] = {}
        for edge in self.edges:
            grouped.setdefault(edge.relationship, []).append(edge.urn)
        return {name: tuple(grouped[name]) for name in sorted(grouped)}


@dataclass(frozen=True, slots=True)
class Reached:
    """An entity reached by lineage, with its URN as the server sent it.

    `degree` is the number of hops on a shortest path; `types` are the relationships of the last
    hops of the shortest paths, sorted, as far as known. `exists` is false for an entity that is
    referenced but not stored, `removed` true for one that is soft-deleted; both are `None` if the
    server does not say. `paths` are shortest paths from the root to the entity, both included, if
    the server sent any.
    """

    urn: str
    degree: int
    types: tuple[str, ...]
    exists: bool | None = None
    removed: bool | None = None
    paths: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class LineageEdge:
    """A lineage edge: data flows from `upstream` to `downstream`.

    `relationship` is the name of the relationship behind the edge, empty if unknown.
    """

    upstream: str
    downstream: str
    relationship: str


class _View(Sequence[_Item], Generic[_Item]):
    """A sequence whose items are created when they are accessed."""

    __slots__ = ("_make", "_size")

    def __init__(self, size: int, make: Callable[[int], _Item]) -> None:
        self._size = size
        self._make = make

    def __len__(self) -> int:
        return self._size

    @overload
    def __getitem__(self, at: int) -> _Item: ...

    @overload
    def __getitem__(self, at: slice) -> Sequence[_Item]: ...

    def __getitem__(self, at: int | slice) -> _Item | Sequence[_Item]:
        if isinstance(at, slice):
            return tuple(self._make(index) for index in range(self._size)[at])
        return self._make(range(self._size)[at])

    def __iter__(self) -> Iterator[_Item]:
        return map(self._make, range(self._size))

    def __repr__(self) -> str:
        return f"<{self._size} items>"


@dataclass(frozen=True, slots=True)
class Lineage:
    """The entities and edges that a traversal of lineage reached.

    They are stored in columns, because a result may have tens of thousands of entities; `reached`
    and `edges` create records when accessed.

    `urns` holds the root and then all entities reached, nearest first; `degrees` the number of hops
    of each. Edges are in three lists: `upstream` and `downstream` are indexes into `urns`, `kinds`
    is an index into `relationships`. `missing` and `removed` are the indexes in `urns` of entities
    that are referenced but not stored, and of those that are soft-deleted; `None` if the server
    does not say. `chosen` are the indexes of the entities that were asked for, `None` if these are
    all; `total` is their number. `paths` are shortest paths by the index of the entity they end at,
    if the server sent any.

    `truncated` is a short reason why the traversal stopped early, `None` if it is complete. `way`
    says who traversed: the server in one request (`server`), its GraphQL (`graphql`), or the client
    hop by hop (`relationships`). GraphQL returns only the edges on shortest paths; a traversal by
    relationships does not know which entities are missing or removed. `as_of` is when the result
    was read from the server, if it comes from the cache.
    """

    root: Urn
    direction: Flow
    hops: int
    total: int
    way: Way
    urns: Sequence[str]
    degrees: Sequence[int]
    upstream: Sequence[int] = ()
    downstream: Sequence[int] = ()
    kinds: Sequence[int] = ()
    relationships: Sequence[str] = ()
    missing: frozenset[int] | None = None
    removed: frozenset[int] | None = None
    chosen: Sequence[int] | None = None
    paths: Mapping[int, tuple[tuple[str, ...], ...]] = field(default_factory=dict)
    truncated: str | None = None
    as_of: datetime | None = None

    @property
    def reached(self) -> Sequence[Reached]:
        """The entities that were asked for, nearest first, without the root."""
        chosen = range(1, len(self.urns)) if self.chosen is None else self.chosen
        types = self._types()
        return _View(len(chosen), lambda at: self._at(chosen[at], types))

    @property
    def edges(self) -> Sequence[LineageEdge]:
        """All edges that were traversed, also those to entities that were not asked for; no
        duplicates."""
        return _View(len(self.kinds), self._edge)

    def pairs(self) -> Iterator[tuple[str, str, str]]:
        """Return the edges as tuples (upstream URN, downstream URN, relationship).

        Faster than `edges` for reading all of them.
        """
        return zip(
            map(self.urns.__getitem__, self.upstream),
            map(self.urns.__getitem__, self.downstream),
            map(self.relationships.__getitem__, self.kinds),
            strict=True,
        )

    def _at(self, place: int, types: Mapping[int, tuple[str, ...]]) -> Reached:
        return Reached(
            urn=self.urns[place],
            degree=self.degrees[place],
            types=types.get(place, ()),
            exists=None if self.missing is None else place not in self.missing,
            removed=None if self.removed is None else place in self.removed,
            paths=self.paths.get(place, ()),
        )

    def _edge(self, at: int) -> LineageEdge:
        return LineageEdge(
            self.urns[self.upstream[at]],
            self.urns[self.downstream[at]],
            self.relationships[self.kinds[at]],
        )

    def _types(self) -> dict[int, tuple[str, ...]]:
        """Return the relationships of the last hops of the shortest paths, by the index of the
        entity."""
        near_indexes, far_indexes = self.upstream, self.downstream
        if self.direction == "UPSTREAM":
            near_indexes, far_indexes = far_indexes, near_indexes
        names_by_index: dict[int, set[str]] = {}
        for from_index, to_index, kind in zip(near_indexes, far_indexes, self.kinds, strict=True):
            name = self.relationships[kind]
            if name and self.degrees[to_index] == self.degrees[from_index] + 1:
                names_by_index.setdefault(to_index, set()).add(name)
        return {place: tuple(sorted(names)) for place, names in names_by_index.items()}


class Undescribed(msgspec.Struct, frozen=True, rename="camel"):
    """A column without a description, or a table if `column` is `None`.

    `used` is a number of uses; `used_of` says whether it counts uses of the `column` or of the
    `table`, or is unknown (`none`).
    """

    urn: str
    table: str
    type: str
    place: int
    used: int
    used_of: str
    downstream: int
    at_least: bool = False
    platform: str | None = None
    column: str | None = None


class UndescribedPage(msgspec.Struct, frozen=True):
    """A page of undescribed tables and columns, most important first.

    `datasets` is the number of datasets searched, `total` the number of items on all pages.
    """

    datasets: int
    total: int
    items: tuple[Undescribed, ...] = ()


class DescribedCount(msgspec.Struct, frozen=True):
    """How many of `total` tables or columns have a description (`documented`).

    `edited` counts those described by people, `ingested` those described by ingestion; some are
    counted in both.
    """

    total: int
    documented: int
    edited: int
    ingested: int


class DescribedGroup(msgspec.Struct, frozen=True):
    """The counts for one group of datasets."""

    key: str
    name: str
    tables: DescribedCount
    columns: DescribedCount


class DescribedCounts(msgspec.Struct, frozen=True):
    """The number of described tables and columns in a set of datasets; `datasets` is its size."""

    datasets: int
    tables: DescribedCount
    columns: DescribedCount
    groups: tuple[DescribedGroup, ...] = ()


class DescribedSeries(msgspec.Struct, frozen=True):
    """How many of `total` tables or columns had a description, with one number for each day."""

    total: tuple[int, ...]
    documented: tuple[int, ...]


class DescribedGroupTrend(msgspec.Struct, frozen=True):
    """The counts for one group of datasets, with one number for each day."""

    key: str
    name: str
    tables: DescribedSeries
    columns: DescribedSeries


class DescribedTrend(msgspec.Struct, frozen=True, rename="camel"):
    """The number of described tables and columns at the end of each day, oldest first.

    `days` are the starts of the days in UTC, in milliseconds since 1970; the numbers of the last
    day are the current ones. `datasets` is the current number of datasets, `since_millis` the first
    day with data, `group_total` the number of all groups, of which the first are in `groups`.
    """

    datasets: int
    days: tuple[int, ...]
    tables: DescribedSeries
    columns: DescribedSeries
    since_millis: int | None = None
    groups: tuple[DescribedGroupTrend, ...] = ()
    group_total: int = 0


@dataclass(frozen=True, slots=True)
class RefusedChange:
    """A change that was not written, and why. `position` is its index in the list given, from 0."""

    position: int
    urn: Urn
    aspect: str
    reason: str


@dataclass(frozen=True, slots=True)
class LoadReport:
    """The result of writing a list of changes: the number of written changes, and the refused
    ones."""

    written_count: int = 0
    refused: tuple[RefusedChange, ...] = ()


@dataclass(frozen=True, slots=True)
class Rollback:
    """The effect of rolling back a run, done or planned.

    `aspects` is the number of aspects reset to their earlier value, `entities` the number of
    entities deleted with all their aspects, `changed_since` the number of those entities that
    others have written to since.
    """

    aspects: int
    entities: int
    changed_since: int = 0


@dataclass(frozen=True, slots=True)
class Run:
    """An ingestion run: when it last wrote, and how many of its versions and points are still
    stored."""

    run_id: str
    at: datetime
    rows: int


@dataclass(frozen=True, slots=True)
class StatusChange:
    """Whether an entity was soft-deleted before, and whether it is now.

    In a dry run `removed` is the state that would result. `is_changed` is true if the state
    changed.
    """

    urn: Urn
    was_removed: bool
    removed: bool
    is_changed: bool


@dataclass(frozen=True, slots=True)
class EntityReference:
    """An entity that refers to another one: in which of its aspects, and by which relationship."""

    urn: Urn
    aspect: str
    relationship: str


@dataclass(frozen=True, slots=True)
class MovedContents:
    """The entities moved out of a glossary group or domain, and the one they were moved to; `above`
    is `None` for the top level."""

    urns: tuple[Urn, ...]
    above: Urn | None = None


@dataclass(frozen=True, slots=True)
class Deletion:
    """The result of permanently deleting an entity; `is_deleted` is false for a dry run.

    `versions` and `points` are the numbers of deleted versions and points. `reference_count` is the
    number of entities that refer to this one, `references` lists at most 100 of them; both are
    `None` if the server cannot tell.
    """

    urn: Urn
    is_deleted: bool
    versions: int = 0
    points: int = 0
    reference_count: int | None = None
    references: tuple[EntityReference, ...] | None = None


# Elements of an array are identified by the first of these keys that all of them have.
_NATURAL: tuple[tuple[str, ...], ...] = (
    ("fieldPath",),
    ("owner", "type"),
    ("tag",),
    ("urn",),
    ("url",),
    ("dataset",),
    ("destinationUrn",),
    ("propertyUrn",),
    ("id",),
    ("key",),
    ("name",),
    ("value",),
)
# Deeper than any aspect is nested; values below are compared as a whole.
_MAX_DEPTH = 64


def difference(
    before: Mapping[str, Any] | None,
    after: Mapping[str, Any] | None,
    *,
    keys: Mapping[str, Sequence[str]] | None = None,
) -> tuple[ValueChange, ...]:
    """Return the changes from `before` to `after`, field by field; empty if they are equal.

    Fields are in the order of their names; elements of an array in the order of `after`, then the
    removed ones. Elements are matched by the fields that identify them (a column's `fieldPath`, an
    owner's URN and type), so moving an element is not a change. `keys` gives these fields, by the
    array's field name, if the common keys do not apply. Elements without keys are matched by their
    whole value. Null counts as absent.
    """
    return tuple(_Comparison(keys or {}).members(before or {}, after or {}, ()))


class _Comparison:
    def __init__(self, keys: Mapping[str, Sequence[str]]) -> None:
        self._keys = keys

    def members(
        self, before: Mapping[str, Any], after: Mapping[str, Any], path: tuple[str, ...]
    ) -> Iterable[ValueChange]:
        for name in sorted(before.keys() | after.keys()):
            yield from self.values(before.get(name), after.get(name), (*path, name), name)

    def values(
        self, before: Any, after: Any, path: tuple[str, ...], array: str
    ) -> Iterable[ValueChange]:
        if before is None and after is None:
            return
        if before is None:
            yield ValueChange(path, "added", after=after)
        elif after is None:
            yield ValueChange(path, "removed", before=before)
        elif isinstance(before, dict) and isinstance(after, dict) and len(path) < _MAX_DEPTH:
            yield from self.members(before, after, path)
        elif isinstance(before, list) and isinstance(after, list) and len(path) < _MAX_DEPTH:
            yield from self._elements(before, after, path, array)
        elif not _same(before, after):
            yield ValueChange(path, "changed", before, after)

    def _elements(
        self, before: list[Any], after: list[Any], path: tuple[str, ...], array: str
    ) -> Iterable[ValueChange]:
        keys = tuple(self._keys.get(array, ())) or _natural_keys(before, after)
        old, new = _group(before, keys), _group(after, keys)
        for led, elements in new.items():
            yield from self._alike(old.pop(led, []), elements, (*path, *led), array)
        for led, elements in old.items():
            yield from self._alike(elements, [], (*path, *led), array)

    def _alike(
        self, before: list[Any], after: list[Any], path: tuple[str, ...], array: str
    ) -> Iterable[ValueChange]:
        """Compare elements of an array that have the same identity, or none.

        Elements present on both sides are left out; the others are paired in order as changed, as
        long as there are some on both sides.
        """
        if len(before) > 1 or len(after) > 1:
            before, after = _without_common(before, after)
        for at in range(max(len(before), len(after))):
            old = before[at] if at < len(before) else None
            new = after[at] if at < len(after) else None
            yield from self.values(old, new, path, array)


def _natural_keys(before: list[Any], after: list[Any]) -> tuple[str, ...]:
    elements = [*before, *after]
    if not all(isinstance(element, dict) for element in elements):
        return ()
    for keys in _NATURAL:
        if all(isinstance(element.get(key), str) for element in elements for key in keys):
            return keys
    return ()


def _group(elements: list[Any], keys: tuple[str, ...]) -> dict[tuple[str, ...], list[Any]]:
    """Group the elements by their identifying values, in order; scalars by themselves."""
    groups: dict[tuple[str, ...], list[Any]] = {}
    for element in elements:
        groups.setdefault(_identity_of(element, keys), []).append(element)
    return groups


def _identity_of(element: Any, keys: tuple[str, ...]) -> tuple[str, ...]:
    if isinstance(element, str):
        return (element,)
    if isinstance(element, dict):
        return tuple(_text(element.get(key)) for key in keys) if keys else ("-",)
    return ("-",) if isinstance(element, list) else (_text(element),)


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else _json(value).decode()


def _without_common(before: list[Any], after: list[Any]) -> tuple[list[Any], list[Any]]:
    counts: dict[bytes, int] = {}
    for element in after:
        mark = _json(element)
        counts[mark] = counts.get(mark, 0) + 1
    only_before = []
    for element in before:
        mark = _json(element)
        if counts.get(mark, 0):
            counts[mark] -= 1
        else:
            only_before.append(element)
    only_after = []
    for element in reversed(after):
        mark = _json(element)
        if counts[mark]:
            counts[mark] -= 1
            only_after.append(element)
    return only_before, only_after[::-1]


def _same(before: Any, after: Any) -> bool:
    if isinstance(before, str) or isinstance(after, str):
        return bool(before == after)
    # True and 1 are the same to Python, not to JSON.
    return _json(before) == _json(after)


def _json(value: Any) -> bytes:
    """Return a serialization that is the same for equal values."""
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except orjson.JSONEncodeError:
        # Nested too deeply, or a number beyond 64 bits.
        return _serialize_deep(value).encode(errors="surrogatepass")


def _serialize_deep(value: Any) -> str:
    """Return a serialization that works at any depth, but is slower."""
    parts: list[str] = []
    waiting: list[Any] = [value]
    while waiting:
        match waiting.pop():
            case dict() as members:
                parts.append("{")
                waiting.append(_Mark("}"))
                for name in sorted(members, key=str):
                    waiting += [members[name], _Mark(f"{name!r}:")]
            case list() as elements:
                parts.append("[")
                waiting.append(_Mark("]"))
                waiting.extend(reversed(elements))
            case _Mark() as mark:
                parts.append(mark.text)
            case other:
                parts.append(f"{other!r},")
    return "".join(parts)


@dataclass(frozen=True, slots=True)
class _Mark:
    text: str


def _lines(value: Any) -> list[str]:
    if value is None:
        return []
    if isinstance(value, str):
        return value.splitlines()
    try:
        return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode().splitlines()
    except orjson.JSONEncodeError:
        return _serialize_deep(value).splitlines()
