"""Edges between entities, and lineage."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Generic, Literal, TypeVar, overload

from explorer.metadata.urn import Urn

__all__ = [
    "Direction",
    "Edge",
    "Edges",
    "Flow",
    "Lineage",
    "LineageEdge",
    "Reached",
    "Way",
]

Direction = Literal["INCOMING", "OUTGOING"]
Flow = Literal["DOWNSTREAM", "UPSTREAM"]
Way = Literal["graphql", "relationships", "server"]

_T = TypeVar("_T")


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
        """The URNs under each relationship's name, names sorted, URNs in the server's order."""
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


class _View(Sequence[_T], Generic[_T]):
    """A sequence whose items are made when they are looked at."""

    __slots__ = ("_make", "_size")

    def __init__(self, size: int, make: Callable[[int], _T]) -> None:
        self._size = size
        self._make = make

    def __len__(self) -> int:
        return self._size

    @overload
    def __getitem__(self, at: int) -> _T: ...

    @overload
    def __getitem__(self, at: slice) -> Sequence[_T]: ...

    def __getitem__(self, at: int | slice) -> _T | Sequence[_T]:
        if isinstance(at, slice):
            return tuple(self._make(one) for one in range(self._size)[at])
        return self._make(range(self._size)[at])

    def __iter__(self) -> Iterator[_T]:
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
        """The edges as (upstream URN, downstream URN, relationship): the fast way to all."""
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
