"""Edges between entities, with types or without, and lineage."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from explorer.client.answers.shape import Json, as_object, read_as, value_of
from explorer.client.records import Direction, Edge, Edges, Flow, Lineage, Way
from explorer.errors import InvalidUrn, ServerFault
from explorer.metadata.urn import Urn

__all__ = [
    "LineageMap",
    "LineagePage",
    "add_lineage_page",
    "choose_reached",
    "parse_lineage",
    "parse_lineage_page",
    "parse_relationships",
    "type_of",
]

_PLATFORM = "urn:li:dataPlatform:"
_COLUMN = "schemaField"


@read_as("relationships")
def parse_relationships(
    body: Any, direction: Direction, types: Sequence[str], start: int = 0, count: int | None = None
) -> Edges:
    """Endpoint 10: with types where the server gives them, else those asked for; the name is
    empty where several were. What is no URN is left out and said."""
    answer = as_object(body, "relationships")
    name = types[0] if len(types) == 1 else ""
    listed = answer.get("relationships")
    if isinstance(listed, list):
        pairs = [(entry.get("type") or name, entry.get("entity")) for entry in listed]
    else:
        pairs = [
            (entry.get("relationshipType") or name, entry.get("urn"))
            if isinstance(entry, dict)
            else (name, entry)
            for entry in answer.get("entities") or ()
        ]
    total = answer.get("total")
    if total is None:
        # A server that says no total gives all there is.
        total, pairs = len(pairs), pairs[start : None if count is None else start + count]
    edges, unreadable = [], []
    for named, text in pairs:
        found = Urn.parse_all((text,))
        edges += [Edge(named, urn) for urn in found]
        unreadable += [] if found else [str(text)]
    return Edges(direction, int(total), tuple(edges), start, unreadable=tuple(unreadable))


@read_as("lineage")
def parse_lineage(body: Any, root: Urn, direction: Flow, hops: int) -> Lineage | None:
    """Lineage in this package's own form; nothing for the answer of another server."""
    value = value_of(body, "lineage")
    if "names" not in value:
        return None
    if not _is_whole(value):
        raise ServerFault("the server's answer to lineage names what it does not hold")
    try:
        return Lineage(
            root,
            direction,
            hops,
            int(value["total"]),
            "server",
            urns=value["entities"],
            degrees=value["degrees"],
            upstream=value["upstream"],
            downstream=value["downstream"],
            kinds=value["types"],
            relationships=value["names"],
            missing=frozenset(value["missing"]),
            removed=frozenset(value["removed"]),
            truncated=value.get("truncated"),
        )
    except (KeyError, TypeError) as error:
        raise ServerFault("the server's answer to lineage is not of the shape expected") from error


def _is_whole(value: Json) -> bool:
    """Whether its lists are of one length each, and name places that there are."""
    urns, names = value["entities"], value["names"]
    ends = (value["upstream"], value["downstream"], value["types"])
    if not all(isinstance(one, list) for one in (urns, names, value["degrees"], *ends)):
        return False
    return len(value["degrees"]) == len(urns) and all(
        len(places) == len(ends[0])
        and (not places or 0 <= min(places) <= max(places) < len(things))
        for places, things in zip(ends, (urns, urns, names), strict=True)
    )


@dataclass(slots=True)
class LineageMap:
    """Lineage while it is gathered: entities and edges are added, none twice."""

    root: Urn
    direction: Flow
    places: dict[str, int] = field(default_factory=dict)
    degrees: list[int] = field(default_factory=list)
    edges: dict[tuple[int, int, str], None] = field(default_factory=dict)
    missing: set[int] = field(default_factory=set)
    removed: set[int] = field(default_factory=set)
    paths: dict[int, tuple[tuple[str, ...], ...]] = field(default_factory=dict)
    as_of: datetime | None = None

    def __post_init__(self) -> None:
        self.add(str(self.root), 0)

    def add(self, urn: str, degree: int) -> int:
        """The place of an entity, which it gets when it is new."""
        place = self.places.setdefault(urn, len(self.degrees))
        if place == len(self.degrees):
            self.degrees.append(degree)
        elif degree < self.degrees[place]:
            # It was passed on a longer way before.
            self.degrees[place] = degree
        return place

    def join(self, near: str, far: str, relationship: str) -> None:
        """Add the edge from an entity that was reached to one further on, both known."""
        here, there = self.places[near], self.places[far]
        ends = (there, here) if self.direction == "UPSTREAM" else (here, there)
        self.edges[*ends, relationship] = None

    def drawn(self, hops: int, way: Way, *, marked: bool, truncated: str | None) -> Lineage:
        """The lineage as gathered, nearest first, equally near ones in the order added. `marked`
        says that it is known what is missing and what is removed."""
        names = sorted({name for _, _, name in self.edges})
        kinds = {name: at for at, name in enumerate(names)}
        order = sorted(range(len(self.degrees)), key=self.degrees.__getitem__)
        moved = {old: new for new, old in enumerate(order)}
        urns = list(self.places)
        return Lineage(
            self.root,
            self.direction,
            hops,
            len(urns) - 1,
            way,
            urns=[urns[old] for old in order],
            degrees=[self.degrees[old] for old in order],
            upstream=[moved[one] for one, _, _ in self.edges],
            downstream=[moved[one] for _, one, _ in self.edges],
            kinds=[kinds[name] for _, _, name in self.edges],
            relationships=names,
            missing=frozenset(moved[one] for one in self.missing) if marked else None,
            removed=frozenset(moved[one] for one in self.removed) if marked else None,
            paths={moved[old]: paths for old, paths in self.paths.items()},
            truncated=truncated,
            as_of=self.as_of,
        )


@dataclass(frozen=True, slots=True)
class LineagePage:
    """A page of lineage as GraphQL gives it; `next_id` names the page that follows."""

    results: Sequence[Json]
    next_id: str | None
    as_of: datetime | None = None


@read_as("lineage")
def parse_lineage_page(data: Mapping[str, Any], as_of: datetime | None = None) -> LineagePage:
    """The page that a GraphQL answer's data hold."""
    found = as_object(data.get("scrollAcrossLineage"), "lineage")
    return LineagePage(found.get("searchResults") or (), found.get("nextScrollId"), as_of)


@read_as("lineage")
def add_lineage_page(
    page: LineagePage,
    into: LineageMap,
    hops: int,
    most: int,
    name_edge: Callable[[str, str], str],
) -> bool:
    """Add what a page tells, up to `most` entities without the root; whether all had room.

    The edges are those on the ways that the server gave. `name_edge` gives the name of one from
    the types of what is upstream and of what is downstream. DataHub gives what the columns that a
    column leads to belong to: the columns are read from the ways then.
    """
    of_columns = into.root.entity_type == _COLUMN
    for result in page.results:
        entity, degree = result["entity"], int(result["degree"])
        if degree > hops:
            continue
        ways = tuple(
            tuple(node["urn"] for node in path["path"] if node)
            for path in result.get("paths") or ()
            if path
        )
        ends: dict[str, list[tuple[str, ...]]] = {entity["urn"]: list(ways)}
        if of_columns:
            ways = tuple(dict.fromkeys(_columns_of(way) for way in ways))
            ends = {}
            for way in ways:
                if 1 < len(way) <= hops + 1:
                    ends.setdefault(way[-1], []).append(way)
        for urn, led in ends.items():
            if urn not in into.places and len(into.degrees) > most:
                return False
            place = into.add(urn, min(len(way) - 1 for way in led) if of_columns else degree)
            # What carries data between columns, a job, says nothing of the column that it ends in.
            if not of_columns or _belongs(urn, entity["urn"]):
                if entity.get("exists") is False:
                    into.missing.add(place)
                if (entity.get("status") or {}).get("removed") is True:
                    into.removed.add(place)
                into.paths[place] = tuple(led)
        for near, far, at in _lineage_steps(ways):
            # An entity that is passed and not listed on its own has a place all the same.
            into.add(near, at)
            into.add(far, at + 1)
            flow = (far, near) if into.direction == "UPSTREAM" else (near, far)
            into.join(near, far, name_edge(*map(type_of, flow)))
    return True


def _columns_of(way: Sequence[str]) -> tuple[str, ...]:
    return tuple(urn for urn in way if type_of(urn) == _COLUMN)


def _belongs(column: str, urn: str) -> bool:
    return column == urn or column.startswith(f"urn:li:{_COLUMN}:({urn},")


def choose_reached(
    lineage: Lineage, types: Iterable[str], platforms: Iterable[str]
) -> list[int] | None:
    """The places of the entities of some types and platforms; None where neither is named."""
    wanted_types, wanted = frozenset(types), {one.removeprefix(_PLATFORM) for one in platforms}
    if not wanted_types and not wanted:
        return None
    # A key begins with what tells the platform; reading every URN would take longest.
    verdicts: dict[str, bool] = {}
    chosen = []
    for place, urn in enumerate(lineage.urns):
        beginning = urn.partition(",")[0]
        verdict = verdicts.get(beginning)
        if verdict is None:
            verdict = not wanted_types or type_of(urn) in wanted_types
            if verdict and wanted:
                verdict = _platform_of(urn) in wanted
            verdicts[beginning] = verdict
        if verdict and place:
            chosen.append(place)
    return chosen


def type_of(urn: str) -> str:
    """The entity type in a URN's text, which need not be well formed otherwise."""
    return urn.removeprefix("urn:li:").partition(":")[0]


def _platform_of(urn: str) -> str | None:
    try:
        return Urn.parse(urn).platform
    except InvalidUrn:
        return None


def _lineage_steps(ways: Sequence[Sequence[str]]) -> Iterator[tuple[str, str, int]]:
    for way in ways:
        for at in range(len(way) - 1):
            yield way[at], way[at + 1], at
