"""Lineage as lists: every entity once, every edge as the places of its ends.

An answer of tens of thousands of entities is mostly names. Here each URN is written once, and
nothing is told of an entity that its URN, its degree and two short lists do not tell.
"""

import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import TypeVar

from explorer.server.lineage.walk import Limits, Truncation, Walked
from explorer.server.store import Store
from explorer.server.store.lineage import KnownUrn

__all__ = ["LineageLists", "list_lineage", "list_tables"]

N = TypeVar("N", int, str)


@dataclass(frozen=True, slots=True)
class LineageLists:
    """What a walk reached.

    `entities` holds the start and then every entity reached, nearest first, `degrees` how far away
    each is. An edge is one place in `upstream`, `downstream` and `relationships`: the first two
    are the places of its ends in `entities`, the third that of its name in `names`. `missing` are
    the places of the entities that are only pointed at, `removed` of those soft-deleted, `wanted`
    of those that a narrowing took, nothing where there was none.
    """

    entities: list[str]
    degrees: list[int]
    upstream: list[int]
    downstream: list[int]
    relationships: list[int]
    names: list[str]
    missing: list[int]
    removed: list[int]
    wanted: list[int] | None = None
    truncated: str | None = None

    @property
    def total(self) -> int:
        """How many entities were asked for and found."""
        return len(self.entities) - 1 if self.wanted is None else len(self.wanted)


def list_lineage(
    walked: Walked[N],
    named: dict[N, KnownUrn],
    find_removed: Callable[[Sequence[str]], Collection[str]],
    *,
    upstream: bool,
    wanted: Sequence[N] | None,
    truncated: str | None,
) -> LineageLists:
    """Put a walk into lists; under 1 µs an edge, and what `find_removed` takes."""
    places = {node: at for at, node in enumerate(walked.degrees)}
    known = list(map(named.__getitem__, places))
    return _listed(
        places,
        list(walked.degrees.values()),
        [one.urn for one in known],
        [one.exists for one in known],
        walked.edges(),
        find_removed,
        upstream=upstream,
        wanted=None if wanted is None else [places[node] for node in wanted],
        truncated=truncated,
    )


def list_tables(
    store: Store,
    start: int,
    limits: Limits,
    find_removed: Callable[[Sequence[str]], Collection[str]],
    why: Callable[[Truncation | None], str | None],
    *,
    upstream: bool,
) -> LineageLists:
    """Walk and list at once, a column at a time: the lists of `walk` and `list_lineage` for
    entities where nothing is narrowed, three times as fast."""
    places, degrees, frontier = {start: 0}, [0], [start]
    edges: dict[tuple[int, int, str], None] = {}
    hops, room = 0, limits.edges
    truncated: Truncation | None = None
    deadline = time.monotonic() + limits.seconds
    while frontier and hops < limits.hops and truncated is None:
        if time.monotonic() >= deadline:
            truncated = "time"
            break
        near, far, kinds = store.lineage_columns(frontier, upstream=upstream, limit=room + 1)
        hops += 1
        if len(near) > room:
            truncated = "edges"
            del near[room:], far[room:], kinds[room:]
        room -= len(near)
        frontier = sorted(set(far) - places.keys())
        if len(places) - 1 + len(frontier) > limits.nodes:
            truncated = "nodes"
            del frontier[limits.nodes + 1 - len(places) :]
        places.update(zip(frontier, range(len(places), len(places) + len(frontier)), strict=True))
        degrees += [hops] * len(frontier)
        edges.update(dict.fromkeys(zip(near, far, kinds, strict=True)))
    kept: Iterable[tuple[int, int, str]] = edges
    if truncated == "nodes":
        kept = [edge for edge in edges if edge[1] in places]
    urns, exists = store.lineage_names(list(places))
    return _listed(
        places,
        degrees,
        urns,
        exists,
        list(kept),
        find_removed,
        upstream=upstream,
        wanted=None,
        truncated=why(truncated),
    )


def _listed(
    places: dict[N, int],
    degrees: list[int],
    urns: list[str],
    exists: Sequence[int],
    edges: Sequence[tuple[N, N, str]],
    find_removed: Callable[[Sequence[str]], Collection[str]],
    *,
    upstream: bool,
    wanted: list[int] | None,
    truncated: str | None,
) -> LineageLists:
    removed = find_removed(urns)
    # No step of the interpreter for each edge: there may be two million.
    near = list(map(places.__getitem__, map(itemgetter(0), edges)))
    far = list(map(places.__getitem__, map(itemgetter(1), edges)))
    kinds: list[str] = list(map(itemgetter(2), edges))
    names = sorted(set(kinds))
    kind_places = {name: at for at, name in enumerate(names)}
    return LineageLists(
        entities=urns,
        degrees=degrees,
        upstream=far if upstream else near,
        downstream=near if upstream else far,
        relationships=list(map(kind_places.__getitem__, kinds)),
        names=names,
        missing=[at for at, is_there in enumerate(exists) if not is_there],
        removed=[at for at, urn in enumerate(urns) if urn in removed] if removed else [],
        wanted=wanted,
        truncated=truncated,
    )
