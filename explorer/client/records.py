"""Records that the client returns: immutable, the same whichever kind of server answered."""

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Generic, Literal, TypeVar, overload

import msgspec

from explorer.client.difference import ValueChange
from explorer.metadata.aspects import (
    AuditStamp,
    DatasetProfile,
    DatasetUsageStatistics,
    Operation,
    read_aspect,
)
from explorer.metadata.urn import Urn

__all__ = [
    "AspectDiff",
    "BrowsePage",
    "ChangeEvent",
    "ChangePage",
    "ColumnChange",
    "Deletion",
    "DescribedCount",
    "DescribedCounts",
    "DescribedGroup",
    "DescribedGroupTrend",
    "DescribedSeries",
    "DescribedTrend",
    "Direction",
    "Edge",
    "Edges",
    "Edit",
    "EntityReference",
    "Facet",
    "FacetValue",
    "FailingAssertion",
    "Flow",
    "Folder",
    "Health",
    "Held",
    "Hit",
    "Lineage",
    "LineageEdge",
    "LoadReport",
    "Match",
    "Measures",
    "Named",
    "OpenIncident",
    "Origin",
    "Reached",
    "RefusedChange",
    "Rollback",
    "Run",
    "SearchPage",
    "ServerInfo",
    "StatusChange",
    "Suggestion",
    "Timeseries",
    "Undescribed",
    "UndescribedPage",
    "Version",
    "Versions",
    "Way",
    "What",
]


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
    "entity",
]
Held = str | tuple[str, ...] | dict[str, Any] | None
"""The value of what an edit changes."""


@dataclass(frozen=True, slots=True)
class Edit:
    """One edit of an entity, or of one of its columns: what stood there before, what stands there
    now, and when (UTC).

    A description is a text, or nothing where there was none, and so is a name. A parent is the URN
    of the glossary group or domain above, or nothing at the top. Tags, terms and domains are URNs,
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

    @classmethod
    def now(
        cls, urn: Urn, what: What, before: Held, after: Held, column: str | None = None
    ) -> "Edit":
        """Return an edit of this moment."""
        return cls(urn, what, before, after, datetime.now(UTC), column)

    @property
    def changed(self) -> bool:
        """Whether anything was written."""
        return self.before != self.after


@dataclass(frozen=True, slots=True)
class Match:
    """A field that made an entity match, and the value that did; how much the field weighs, where
    the server says."""

    field: str
    value: str
    weight: float | None = dataclasses.field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Hit:
    """One entity found. `reason` says why it is where it is, `use` how much of the score comes
    from its use, where the server tells."""

    urn: Urn
    matched: tuple[Match, ...] = ()
    score: float | None = None
    reason: str = dataclasses.field(default="", compare=False)
    use: float = dataclasses.field(default=0.0, compare=False)


@dataclass(frozen=True, slots=True)
class FacetValue:
    """A value of a facet and how many entities of the whole result have it."""

    value: str
    count: int

    @property
    def label(self) -> str:
        """The value as people say it: the name of a URN, anything else as it is."""
        return Urn.label(self.value)


@dataclass(frozen=True, slots=True)
class Facet:
    """A field by which a result can be narrowed, its values most frequent first; `has_more` says
    that there are others, which the server does not give."""

    name: str
    label: str
    values: tuple[FacetValue, ...]
    has_more: bool = False

    @property
    def size(self) -> str:
        """How many values there are, `7`, or at least, `100+`."""
        return f"{len(self.values):,}{'+' if self.has_more else ''}"

    def beside(self, chosen: Sequence[str], adding: "Facet") -> "Facet":
        """Return the facet where some values are chosen already: these first, then what another one
        would add, which `adding` counted over all that the chosen ones leave out."""
        taken = [one for one in self.values if one.value in chosen]
        return replace(self, values=(*taken, *adding.values), has_more=adding.has_more)


@dataclass(frozen=True, slots=True)
class SearchPage:
    """A page of a search, best first. `total` counts the whole result, `len()` what is shown.

    `unreadable` holds what the server gave as a hit and is no URN; it counts where a page ends.
    `as_of` says when the answer was given, where it is one that was kept; nothing for a fresh one.
    `corrected` is the text that was searched for instead, where a word of `text` is one that
    nothing has; `suggested` one that the server proposes and did not search for.
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

    def __len__(self) -> int:
        return len(self.hits)

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    @property
    def shown(self) -> int:
        """How many hits are on this page."""
        return len(self.hits)

    @property
    def end(self) -> int:
        """Where the page after this one starts."""
        return self.start + len(self.hits) + len(self.unreadable)

    @property
    def truncated(self) -> bool:
        """Whether there is more after this page."""
        return self.end < self.total


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder below a browse path; `count` entities lie in or below it."""

    name: str
    count: int


@dataclass(frozen=True, slots=True)
class Named:
    """An entity in a folder."""

    urn: Urn
    name: str


@dataclass(frozen=True, slots=True)
class BrowsePage:
    """A page of a folder: the folders below it first, then the entities in it.

    `here` counts the entities in the folder itself, `total` those in and below it, `entries` the
    folders and entities that its pages hold together, `len()` those on this one. `repeating` says
    that the server, an older one, gives all folders on each page and counts `start` in entities.
    `unreadable` and `as_of` are as in `SearchPage`.
    """

    path: str
    start: int
    here: int
    total: int
    entries: int
    folders: tuple[Folder, ...] = ()
    entities: tuple[Named, ...] = ()
    repeating: bool = False
    unreadable: tuple[str, ...] = ()
    as_of: datetime | None = None

    def __len__(self) -> int:
        return len(self.folders) + len(self.entities)

    def __iter__(self) -> Iterator[Folder | Named]:
        yield from self.folders
        yield from self.entities

    @property
    def shown(self) -> int:
        """How many folders and entities are on this page."""
        return len(self)

    @property
    def end(self) -> int:
        """Where the page after this one starts."""
        entities = len(self.entities) + len(self.unreadable)
        return self.start + entities + (0 if self.repeating else len(self.folders))

    @property
    def truncated(self) -> bool:
        """Whether there is more after this page."""
        return self.end < (self.here if self.repeating else self.entries)


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A name that completes what was typed, and what is called so, where the server says."""

    text: str
    urn: Urn | None
    entity_type: str
    platform: str | None = None


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
        """Return what is wrong in words, without names and moments: `1 of 3 assertions fails`."""
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
    changes: tuple[ValueChange, ...] = ()

    def __len__(self) -> int:
        return len(self.changes)

    def __iter__(self) -> Iterator[ValueChange]:
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


_Record = TypeVar("_Record", bound=msgspec.Struct)


@dataclass(frozen=True, slots=True)
class ServerInfo:
    """What a server says of itself. `entities` is the number it holds, where it says so; `user` is
    the URN of whom changes are by on the catalog of this machine, else empty."""

    address: str
    product: Literal["catalog", "datahub"]
    version: str
    embedded: bool = False
    sample: bool = False
    entities: int | None = None
    user: str = ""


@dataclass(frozen=True, slots=True)
class Measures:
    """Size and use of a dataset, None for what is not measured: `rows` of its newest profile,
    `queries` and `users` of the last 30 days, `changed`, when it or its rows changed last."""

    rows: int | None = None
    queries: int | None = None
    users: int | None = None
    changed: datetime | None = None


@dataclass(frozen=True, slots=True)
class Timeseries:
    """Points of a timeseries aspect, oldest first. At `limit` points there may be more.

    `as_of` is set for what was kept from an earlier reading.
    """

    aspect: str
    limit: int
    values: tuple[dict[str, Any], ...] = ()
    as_of: datetime | None = None

    @property
    def shown(self) -> int:
        """How many points these are; servers do not say how many there are in all."""
        return len(self.values)

    @property
    def truncated(self) -> bool:
        """Whether the server stopped at its limit."""
        return len(self.values) >= self.limit

    def records(self, kind: type[_Record]) -> tuple[_Record, ...]:
        """Return the points as typed records. Raises `ServerFault` for one of another shape."""
        return tuple(read_aspect(value, kind) for value in self.values)

    def usage(self) -> tuple[DatasetUsageStatistics, ...]:
        """Return the points as windows of use."""
        return self.records(DatasetUsageStatistics)

    def profiles(self) -> tuple[DatasetProfile, ...]:
        """Return the points as profiles."""
        return self.records(DatasetProfile)

    def operations(self) -> tuple[Operation, ...]:
        """Return the points as things done to a dataset's rows."""
        return self.records(Operation)


Direction = Literal["INCOMING", "OUTGOING"]
Flow = Literal["DOWNSTREAM", "UPSTREAM"]
Way = Literal["graphql", "relationships", "server"]

_Item = TypeVar("_Item")


@dataclass(frozen=True, slots=True)
class Edge:
    """One edge of an entity, to the entity on its other side."""

    relationship: str
    urn: Urn


@dataclass(frozen=True, slots=True)
class Edges:
    """Edges of one entity in one direction, from the `start`-th on; `total` counts them all.

    `as_of` is when they were read from the server, where they come from a copy. `unreadable` holds
    what the server gave as an entity and is no URN; it counts where the next page begins.
    """

    direction: Direction
    total: int
    edges: tuple[Edge, ...] = ()
    start: int = 0
    as_of: datetime | None = None
    unreadable: tuple[str, ...] = ()

    @property
    def shown(self) -> int:
        """How many edges these are."""
        return len(self.edges)

    @property
    def end(self) -> int:
        """The place after the last of these, where the next page begins."""
        return self.start + len(self.edges) + len(self.unreadable)

    @property
    def truncated(self) -> bool:
        """Whether more edges follow these."""
        return self.end < self.total

    def by_relationship(self) -> dict[str, tuple[Urn, ...]]:
        """Return the URNs under each relationship's name, names sorted, URNs in the server's
        order."""
        grouped: dict[str, list[Urn]] = {}
        for edge in self.edges:
            grouped.setdefault(edge.relationship, []).append(edge.urn)
        return {name: tuple(grouped[name]) for name in sorted(grouped)}


@dataclass(frozen=True, slots=True)
class Reached:
    """An entity that lineage leads to, its URN as the server gave it.

    `degree` is the length of the shortest way, in hops; `types` are the relationships at the end
    of the shortest ways, sorted, as far as they are known. `exists` is false for one that is only
    pointed at, `removed` true for one that is soft-deleted, both None where the server does not
    say. `paths` are shortest ways from the root to it, both included, where the server gave any.
    """

    urn: str
    degree: int
    types: tuple[str, ...]
    exists: bool | None = None
    removed: bool | None = None
    paths: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class LineageEdge:
    """Data flows from `upstream` to `downstream`, because of a relationship of that name, which
    is empty where it is not known."""

    upstream: str
    downstream: str
    relationship: str


class _View(Sequence[_Item], Generic[_Item]):
    """A sequence whose items are made when they are looked at."""

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
            return tuple(self._make(one) for one in range(self._size)[at])
        return self._make(range(self._size)[at])

    def __iter__(self) -> Iterator[_Item]:
        return map(self._make, range(self._size))

    def __repr__(self) -> str:
        return f"<{self._size} items>"


@dataclass(frozen=True, slots=True)
class Lineage:
    """What a walk along lineage reached, in columns: tens of thousands of entities are a few
    lists, and `reached` and `edges` make records of them only when looked at.

    `urns` holds the root and then everything walked to, nearest first, `degrees` how many hops
    away each is. An edge is a place in three lists: `upstream` and `downstream` say where in
    `urns` its ends stand, `kinds` where in `relationships` its name. `missing` and `removed` are
    the places in `urns` of what is only pointed at and of what is soft-deleted; None where the
    server does not say. `chosen` are the places of the entities that were asked for, None when
    that is all of them; `total` counts them. `paths` are shortest ways by the place of their end,
    where the server gave them.

    `truncated` says in a few words why the walk ended early; None when it is complete. `way` is
    how it was walked: by the server in one request, by its GraphQL, or by its relationships hop
    by hop. What GraphQL gives is the edges on the shortest ways alone, and what relationships
    give says neither what is missing nor what is removed. `as_of` is when it was read from the
    server, where it comes from a copy.
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
        """The entities asked for, nearest first, without the root."""
        chosen = range(1, len(self.urns)) if self.chosen is None else self.chosen
        types = self._types()
        return _View(len(chosen), lambda at: self._at(chosen[at], types))

    @property
    def edges(self) -> Sequence[LineageEdge]:
        """Every edge that was walked, whatever was asked for, none twice."""
        return _View(len(self.kinds), self._edge)

    def pairs(self) -> Iterator[tuple[str, str, str]]:
        """Return the edges as (upstream URN, downstream URN, relationship): the fast way to all."""
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
        """By which relationships each place is reached by the shortest ways."""
        near, far = self.upstream, self.downstream
        if self.direction == "UPSTREAM":
            near, far = far, near
        found: dict[int, set[str]] = {}
        for here, there, kind in zip(near, far, self.kinds, strict=True):
            name = self.relationships[kind]
            if name and self.degrees[there] == self.degrees[here] + 1:
                found.setdefault(there, set()).add(name)
        return {place: tuple(sorted(names)) for place, names in found.items()}


class Undescribed(msgspec.Struct, frozen=True, rename="camel"):
    """A column, or a table where `column` is None, that nobody described. `used_of` says what
    `used` counts: `column`, `table` or `none`."""

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
    """A page of what nobody described in `datasets`, of `total` in all, the heaviest first."""

    datasets: int
    total: int
    items: tuple[Undescribed, ...] = ()


class DescribedCount(msgspec.Struct, frozen=True):
    """How many of `total` are described, by people (`edited`), by ingestion, or by both."""

    total: int
    documented: int
    edited: int
    ingested: int


class DescribedGroup(msgspec.Struct, frozen=True):
    """The counts of the datasets under one key."""

    key: str
    name: str
    tables: DescribedCount
    columns: DescribedCount


class DescribedCounts(msgspec.Struct, frozen=True):
    """How much of `datasets` is described."""

    datasets: int
    tables: DescribedCount
    columns: DescribedCount
    groups: tuple[DescribedGroup, ...] = ()


class DescribedSeries(msgspec.Struct, frozen=True):
    """How many of `total` were described, a number for each day."""

    total: tuple[int, ...]
    documented: tuple[int, ...]


class DescribedGroupTrend(msgspec.Struct, frozen=True):
    """The counts of the datasets under one key, day by day."""

    key: str
    name: str
    tables: DescribedSeries
    columns: DescribedSeries


class DescribedTrend(msgspec.Struct, frozen=True, rename="camel"):
    """How much of `datasets` was described at the end of each of `days`, oldest first, each by its
    first moment in UTC (milliseconds since 1970); the last is as it is now. `since_millis` is the
    first day of which anything is known, `group_total` how many groups there are: the first are
    listed."""

    datasets: int
    days: tuple[int, ...]
    tables: DescribedSeries
    columns: DescribedSeries
    since_millis: int | None = None
    groups: tuple[DescribedGroupTrend, ...] = ()
    group_total: int = 0


@dataclass(frozen=True, slots=True)
class RefusedChange:
    """A change that did not go in, and why. `position` is its place among those given, from 0."""

    position: int
    urn: Urn
    aspect: str
    reason: str


@dataclass(frozen=True, slots=True)
class LoadReport:
    """What became of a list of changes: how many went in, and which did not, in their order."""

    written: int = 0
    refused: tuple[RefusedChange, ...] = ()


@dataclass(frozen=True, slots=True)
class Rollback:
    """What undoing a run did, or would do: aspects taken back, entities taken out with all they
    have, and how many of these others have written to since."""

    aspects: int
    entities: int
    touched: int = 0


@dataclass(frozen=True, slots=True)
class Run:
    """A run of ingestion: when it last wrote, and how many versions and points are left of it."""

    run_id: str
    at: datetime
    rows: int


@dataclass(frozen=True, slots=True)
class StatusChange:
    """Whether an entity was taken away from search before, and whether it is now.

    With a dry run `removed` is what it would be. `written` says that something changed.
    """

    urn: Urn
    was_removed: bool
    removed: bool
    written: bool


@dataclass(frozen=True, slots=True)
class EntityReference:
    """An entity that points at another, through which of its aspects and by which relationship."""

    urn: Urn
    aspect: str
    relationship: str


@dataclass(frozen=True, slots=True)
class Deletion:
    """What deleting an entity for good did; nothing yet where it was a dry run, `done` says so.

    `versions` and `points` count what went. `reference_count` counts what points at the entity,
    `references` are a hundred of them at most; both are nothing where the server cannot tell.
    """

    urn: Urn
    done: bool
    versions: int = 0
    points: int = 0
    reference_count: int | None = None
    references: tuple[EntityReference, ...] | None = None
