"""Impact, shortest paths, common ancestors and cycles; and `AsyncGraphs` and `Graphs`, which have a
method for each question about the relationships of a catalog.

An impact is the set of entities affected downstream when a table or a column changes, with how
much they are used, and by whom.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any, Literal

import networkx as nx

from explorer.client.blocking_face import SharedThreadFace, blocking, of_catalog
from explorer.client.connection import gather_limited, in_chunks
from explorer.client.records import Flow, Timeseries, usage_windows
from explorer.client.transport import REFUSALS
from explorer.errors import InvalidInput
from explorer.graph.lineage import (
    WalkLimits,
    certain_columns,
    columns_along,
    read_columns,
    read_lineage,
    walk,
)
from explorer.graph.nodes import read_details
from explorer.metadata.aspects import DatasetUsageStatistics
from explorer.metadata.urn import Urn

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog, Catalog

_ASPECT = "datasetUsageStatistics"
_AT_ONCE = 16


@dataclass(frozen=True, slots=True)
class QueryUsage:
    """The number of queries of a dataset over some days, and the highest number of distinct users
    in one window.

    Users are not summed, because servers count them for each window and the same person would be
    counted several times.
    """

    queries: int
    users: int


def total_usage(series: Timeseries) -> QueryUsage | None:
    """Return the total of the windows of a series, `None` if there are none. No requests."""
    windows = usage_windows(series.readable(DatasetUsageStatistics))
    if not windows:
        return None
    return QueryUsage(
        sum(window.total_sql_queries or 0 for window in windows),
        max(window.unique_user_count or 0 for window in windows),
    )


async def read_usage(
    catalog: "AsyncCatalog", urns: Iterable[str | Urn], *, days: int = 30
) -> Mapping[Urn, QueryUsage]:
    """Return the usage of the datasets among `urns` in the last days; datasets without usage counts
    are left out.

    One request for each dataset, several concurrently.
    """
    datasets = [urn for urn in map(Urn.parse, urns) if urn.entity_type == "dataset"]
    since = datetime.now(UTC) - timedelta(days=days)
    usages: dict[Urn, QueryUsage] = {}
    for chunk in in_chunks(datasets, _AT_ONCE):
        counts = await gather_limited((_usage_of(catalog, urn, since) for urn in chunk), _AT_ONCE)
        counted = zip(chunk, counts, strict=True)
        usages |= {urn: usage for urn, usage in counted if usage is not None}
    return usages


async def _usage_of(catalog: "AsyncCatalog", urn: Urn, since: datetime) -> QueryUsage | None:
    try:
        return total_usage(await catalog.timeseries(urn, _ASPECT, start=since))
    except REFUSALS:
        # The server has no usage statistics.
        return None


Certainty = Literal["said", "guessed", "table"]
Grouping = Literal["domain", "owner", "platform", "type"]

_EVERY_HOP = 50
_MOST_USAGE = 500
_DOWNSTREAM: Flow = "DOWNSTREAM"


@dataclass(frozen=True, slots=True)
class Affected:
    """An entity downstream.

    `columns` are those of its columns that are derived from the changed one, without types; empty
    for the impact of a whole table, and for entities without columns. `certainty` is "said" if
    column lineage was ingested on the whole path, "guessed" if part of the path is only a column of
    the same name, and "table" if it uses an affected table without ingested column lineage.
    `queries` and `users` are of the last 30 days, `None` if not counted. `kind` is the platform's
    name for this kind of entity (`View`), else its type.
    """

    urn: str
    name: str
    type: str
    platform: str | None
    hops: int
    owners: tuple[str, ...] = ()
    domain: str | None = None
    columns: tuple[str, ...] = ()
    certainty: Certainty = "said"
    queries: int | None = None
    users: int | None = None
    exists: bool = True
    removed: bool = False
    deprecated: bool = False
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Impact:
    """The entities derived from a table, or from one of its columns: most used first, then nearest,
    then by URN.

    `truncated` says in words what was not reached, `uncounted` for which entities usage was not
    read. `nodes` are the attributes of the root and of all affected entities, see
    `explorer.graph.nodes`.
    """

    root: str
    column: str | None
    affected: tuple[Affected, ...] = ()
    truncated: str | None = None
    uncounted: str | None = None
    nodes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, repr=False, compare=False)

    def __len__(self) -> int:
        return len(self.affected)

    def by(self, grouping: Grouping) -> dict[str, tuple[Affected, ...]]:
        """Return the affected entities by type, platform, owner or domain, largest group first.

        An entity with several owners is in each of their groups; those without are in the last
        group, "".
        """
        groups: dict[str, list[Affected]] = {}
        for entity in self.affected:
            for key in _keys(entity, grouping):
                groups.setdefault(key, []).append(entity)
        order = sorted(groups, key=lambda key: (not key, -len(groups[key]), key))
        return {key: tuple(groups[key]) for key in order}

    @property
    def queries(self) -> int:
        """The number of queries of all affected entities in the last 30 days, as far as counted."""
        return sum(entity.queries or 0 for entity in self.affected)


def impact_of(
    graph: "nx.DiGraph",
    *,
    columns: "nx.DiGraph | None" = None,
    usage: Mapping[Urn, QueryUsage] | None = None,
) -> Impact:
    """Return the impact in a downstream lineage graph. No requests.

    With the graph of one column, the entities that this column reaches are affected. An entity that
    uses an affected table without ingested column lineage may be affected: it and everything
    derived from it have the certainty "table".
    """
    root = graph.graph["root"]
    certain = _by_table(columns) if columns is not None else {}
    possible = _possible_urns(graph, columns, certain) if columns is not None else set()
    affected_entities = []
    for urn, attributes in graph.nodes(data=True):
        if urn == root:
            continue
        affected = _make_affected(urn, attributes, usage or {})
        if columns is not None:
            if urn in certain:
                certainty, names = certain[urn]
                affected = replace(affected, certainty=certainty, columns=names)
            elif urn in possible:
                affected = replace(affected, certainty="table")
            else:
                continue
        affected_entities.append(affected)
    affected_entities.sort(
        key=lambda entity: (-(entity.queries or 0), -(entity.users or 0), entity.hops, entity.urn)
    )
    return Impact(
        root,
        columns.graph["column"] if columns is not None else None,
        tuple(affected_entities),
        graph.graph["truncated"],
        nodes={
            urn: graph.nodes[urn] for urn in (root, *(entity.urn for entity in affected_entities))
        },
    )


async def find_impact(
    catalog: "AsyncCatalog",
    urn: str | Urn,
    column: str | None = None,
    *,
    hops: int = _EVERY_HOP,
    limit: int | None = None,
    with_usage: bool = True,
) -> Impact:
    """Return what is affected when an entity, or a column of a dataset, changes or is removed.

    One request if the server traverses lineage, one for each hundred entities, with a column one
    more for each hundred, and with usage one for each of the 500 nearest datasets. Raises
    `InvalidInput` for a column of an entity without columns, `UnknownName` for a column that does
    not exist.
    """
    start = Urn.parse(urn)
    if column is not None and start.entity_type != "dataset":
        raise InvalidInput(f"only datasets have columns, not a {start.entity_type}")
    graph = await read_lineage(catalog, start, _DOWNSTREAM, hops=hops, limit=limit)
    columns = None
    if column is not None:
        columns = await columns_along(catalog, graph, column)
    await read_details(catalog, graph)
    usage, uncounted = await _usage(catalog, graph) if with_usage else ({}, None)
    impact = impact_of(graph, columns=columns, usage=usage)
    cuts = [text for text in (impact.truncated, _hop_limit_sentence(graph, hops)) if text]
    return replace(impact, truncated="; ".join(cuts) or None, uncounted=uncounted)


def _hop_limit_sentence(graph: "nx.DiGraph", hops: int) -> str | None:
    """Return a sentence if the traversal reached the maximum number of hops, else `None`."""
    if hops < _EVERY_HOP or all(far < hops for _, far in graph.nodes.data("hops")):
        return None
    return f"{hops} hops were walked, there may be more behind them"


async def _usage(
    catalog: "AsyncCatalog", graph: "nx.DiGraph"
) -> tuple[Mapping[Urn, QueryUsage], str | None]:
    datasets = [
        urn
        for urn, attributes in sorted(graph.nodes(data=True), key=lambda node: node[1]["hops"])
        if attributes["type"] == "dataset" and attributes.get("exists", True)
    ]
    uncounted = None
    if len(datasets) > _MOST_USAGE:
        uncounted = f"the use of the {_MOST_USAGE} nearest of {len(datasets):,} datasets was read"
    return await read_usage(catalog, datasets[:_MOST_USAGE]), uncounted


def _by_table(columns: "nx.DiGraph") -> dict[str, tuple[Certainty, tuple[str, ...]]]:
    """Return, by entity, its certainty and its columns that were reached."""
    sure = certain_columns(columns)
    columns_by_entity: dict[str, tuple[set[str], bool]] = {}
    for node, attributes in columns.nodes(data=True):
        entity = attributes.get("dataset", node)
        names, certain = columns_by_entity.get(entity, (set(), False))
        if "column" in attributes:
            names.add(attributes["column"])
        columns_by_entity[entity] = names, certain or node in sure
    return {
        entity: ("said" if certain else "guessed", tuple(sorted(names)))
        for entity, (names, certain) in columns_by_entity.items()
    }


def _possible_urns(
    graph: "nx.DiGraph", columns: "nx.DiGraph", certain: Collection[str]
) -> set[str]:
    """Return the entities that use an affected table without ingested column lineage in between.

    They may do so directly or through entities without columns. Everything downstream of them is
    included.
    """
    ingested = {(up, down) for up, down in columns.graph["told"]}
    possible: set[str] = set()
    sources = [urn for urn in graph if urn in certain]
    while sources:
        source = sources.pop()
        visited, frontier = {source}, [source]
        while frontier:
            for below in graph.successors(frontier.pop()):
                if below in visited or (source in certain and (source, below) in ingested):
                    continue
                visited.add(below)
                is_new = below not in possible and below not in certain
                if is_new:
                    possible.add(below)
                if graph.nodes[below]["type"] != "dataset":
                    frontier.append(below)
                elif is_new:
                    sources.append(below)
    return possible


def _make_affected(
    urn: str, attributes: Mapping[str, Any], usage: Mapping[Urn, QueryUsage]
) -> Affected:
    query_usage = usage.get(Urn.parse(urn)) if attributes["type"] == "dataset" else None
    return Affected(
        urn,
        attributes["name"],
        attributes["type"],
        attributes.get("platform"),
        attributes["hops"],
        tuple(dict.fromkeys(attributes.get("owners", ()))),
        attributes.get("domain"),
        queries=query_usage.queries if query_usage else None,
        users=query_usage.users if query_usage else None,
        exists=attributes.get("exists", True),
        removed=attributes.get("removed", False),
        deprecated=attributes.get("deprecated", False),
        kind=attributes.get("kind") or attributes["type"],
    )


def _keys(entity: Affected, grouping: Grouping) -> Iterable[str]:
    match grouping:
        case "type":
            return (entity.type,)
        case "platform":
            return (entity.platform or "",)
        case "domain":
            return (entity.domain or "",)
        case "owner":
            return entity.owners or ("",)


_RELATED_HOPS = 4
_MOST_PATHS = 100


@dataclass(frozen=True, slots=True)
class Paths:
    """All shortest paths from `source` to `target`, each as its URNs, including both ends, sorted.

    Empty if there is no path. `direction` is that of the data along the paths: downstream from the
    source, or upstream; "any" for paths along other relationships, followed in either direction.
    `truncated` says in words what was left out: further paths, or unread parts of the graph;
    `within` is the maximum number of hops if there is no path of that length but the graph goes on.
    `joined_by` has for each path the relationships of its steps, one fewer than its URNs; several
    are joined by ", ", empty if the server does not name them.
    """

    source: str
    target: str
    direction: Literal["any", "downstream", "upstream"]
    node_paths: tuple[tuple[str, ...], ...] = ()
    truncated: str | None = None
    joined_by: tuple[tuple[str, ...], ...] = ()
    within: int | None = None

    def __len__(self) -> int:
        return len(self.node_paths)

    @property
    def hops(self) -> int | None:
        """The length of each path, `None` if there is none."""
        return len(self.node_paths[0]) - 1 if self.node_paths else None


@dataclass(frozen=True, slots=True)
class Ancestor:
    """An entity that two others are both derived from, and its distance from each.

    It is `nearest` if it is not upstream of another common ancestor.
    """

    urn: str
    hops: tuple[int, int]
    nearest: bool


def shortest_paths(
    graph: "nx.DiGraph", source: str, target: str, *, limit: int = _MOST_PATHS
) -> tuple[tuple[tuple[str, ...], ...], bool]:
    """Return all shortest paths along the edges, sorted, at most `limit`, and whether there are
    more.

    No requests.
    """
    if source not in graph or target not in graph:
        return (), False
    try:
        paths = list(islice(nx.all_shortest_paths(graph, source, target), limit + 1))
    except nx.NetworkXNoPath:
        return (), False
    return tuple(sorted(tuple(path) for path in paths[:limit])), len(paths) > limit


async def find_paths(
    catalog: "AsyncCatalog",
    source: str | Urn,
    target: str | Urn,
    *,
    relationships: Sequence[str] | None = None,
    hops: int | None = None,
    limit: int = _MOST_PATHS,
    budget_nodes: int | None = None,
    budget_seconds: float | None = None,
) -> Paths:
    """Return all shortest paths between two entities, at most `limit`.

    Paths follow lineage, downstream from the source or, if that does not reach the target,
    upstream; or the given relationships in either direction. `hops` is the maximum length: by
    default 50 along lineage, 4 along relationships. `budget_nodes` and `budget_seconds` limit each
    traversal; their defaults are those of `lineage` and `walk`. One or two requests along lineage
    if the server traverses it; one for each entity visited along relationships.
    """
    start, end = Urn.parse(source), Urn.parse(target)
    if relationships:
        usual = WalkLimits()
        budget = WalkLimits(
            usual.nodes if budget_nodes is None else budget_nodes,
            usual.seconds if budget_seconds is None else budget_seconds,
        )
        reach = hops or _RELATED_HOPS
        neighbourhood = await walk(catalog, start, relationships, "BOTH", hops=reach, budget=budget)
        view = neighbourhood.to_undirected(as_view=True)
        ways, has_more = shortest_paths(view, str(start), str(end), limit=limit)
        within = reach if not ways and _goes_on(neighbourhood, reach) else None
        cut = _join_reasons(neighbourhood.graph["truncated"], has_more, limit, within)
        return Paths(str(start), str(end), "any", ways, cut, _join_paths(view, ways), within)
    cuts: list[str] = []
    reach = hops or _EVERY_HOP
    goes_on = False
    flows: tuple[tuple[Flow, Literal["downstream", "upstream"]], ...] = (
        ("DOWNSTREAM", "downstream"),
        ("UPSTREAM", "upstream"),
    )
    for flow, direction in flows:
        graph = await read_lineage(
            catalog,
            start,
            flow,
            hops=reach,
            limit=budget_nodes,
            budget_seconds=budget_seconds,
        )
        view = graph if flow == "DOWNSTREAM" else graph.reverse(copy=False)
        ways, has_more = shortest_paths(view, str(start), str(end), limit=limit)
        if graph.graph["truncated"]:
            cuts.append(f"{direction}: {graph.graph['truncated']}")
        if ways:
            cut = _join_reasons("; ".join(cuts), has_more, limit)
            return Paths(str(start), str(end), direction, ways, cut, _join_paths(view, ways))
        goes_on = goes_on or _goes_on(graph, reach)
    within = reach if goes_on else None
    cut = _join_reasons("; ".join(cuts), False, limit, within)
    return Paths(str(start), str(end), "downstream", (), cut, within=within)


def _goes_on(graph: "nx.DiGraph", hops: int) -> bool:
    """Return whether a traversal reached its maximum number of hops."""
    return any(abs(far) >= hops for _, far in graph.nodes.data("hops"))


def _join_paths(graph: "nx.DiGraph", paths: Sequence[Sequence[str]]) -> tuple[tuple[str, ...], ...]:
    """Return the relationships of each step of each path."""
    return tuple(tuple(_reason(graph, *step) for step in pairwise(path)) for path in paths)


def _reason(graph: "nx.DiGraph", source: str, target: str) -> str:
    edge_data = graph.get_edge_data(source, target)
    edges = edge_data.values() if graph.is_multigraph() else (edge_data,)
    return ", ".join(sorted({edge["relationship"] for edge in edges} - {""}))


def common_ancestors(first: "nx.DiGraph", second: "nx.DiGraph") -> tuple[Ancestor, ...]:
    """Return the entities that two others are both derived from, given their upstream graphs.

    Nearest first by the sum of hops, then by URN. If one entity is upstream of the other, it is
    itself an ancestor, 0 hops from itself. No requests.
    """
    shared = first.nodes & second.nodes
    graph = nx.compose(first, second)
    rounds = {
        node: number
        for number, together in enumerate(nx.strongly_connected_components(graph))
        for node in together
    }
    # Checking direct successors is enough: entities between two shared ancestors are shared too.
    upper = {
        node
        for node in shared
        if any(
            below in shared and rounds[below] != rounds[node] for below in graph.successors(node)
        )
    }
    ancestors = [
        Ancestor(
            node,
            (abs(first.nodes[node]["hops"]), abs(second.nodes[node]["hops"])),
            node not in upper,
        )
        for node in shared
    ]
    return tuple(
        sorted(ancestors, key=lambda entity: (sum(entity.hops), max(entity.hops), entity.urn))
    )


async def find_common_ancestors(
    catalog: "AsyncCatalog",
    first: str | Urn,
    second: str | Urn,
    *,
    hops: int = _EVERY_HOP,
    limit: int | None = None,
) -> tuple[tuple[Ancestor, ...], str | None]:
    """Return the entities that two others are both derived from, and a sentence on what was not
    reached, `None` if everything was.

    Two requests if the server traverses lineage.
    """
    lineage = await read_lineage(catalog, first, "UPSTREAM", hops=hops, limit=limit)
    second_lineage = await read_lineage(catalog, second, "UPSTREAM", hops=hops, limit=limit)
    cuts = [cut for cut in (lineage.graph["truncated"], second_lineage.graph["truncated"]) if cut]
    return common_ancestors(lineage, second_lineage), "; ".join(dict.fromkeys(cuts)) or None


def cycles(graph: "nx.DiGraph", *, limit: int = 100) -> tuple[tuple[str, ...], ...]:
    """Return the cycles of a graph, shortest first, at most `limit`, each as its URNs, smallest
    first.

    No requests.
    """
    affected_entities = []
    for component in sorted(nx.strongly_connected_components(graph), key=min):
        if len(component) == 1 and not graph.has_edge(*(2 * tuple(component))):
            continue
        for cycle in _shortest_cycles(nx.DiGraph(graph.subgraph(component)), limit):
            at = cycle.index(min(cycle))
            affected_entities.append((*cycle[at:], *cycle[:at]))
    return tuple(sorted(affected_entities, key=lambda cycle: (len(cycle), cycle))[:limit])


def _shortest_cycles(graph: "nx.DiGraph", limit: int) -> list[list[str]]:
    """Return the shortest cycles of a graph, at most `limit`, in no particular order."""

    def within(hops: int) -> list[list[str]]:
        return list(islice(nx.simple_cycles(graph, length_bound=hops), limit))

    too_few, enough = 0, 1
    while len(within(enough)) < limit:
        too_few, enough = enough, 2 * enough
        if too_few >= len(graph):
            return within(too_few)
    # networkx yields them in no order of length, so the shorter ones are enumerated first.
    while enough - too_few > 1:
        middle = (too_few + enough) // 2
        if len(within(middle)) < limit:
            too_few = middle
        else:
            enough = middle
    shorter = within(too_few) if too_few else []
    longest = (
        cycle for cycle in nx.simple_cycles(graph, length_bound=enough) if len(cycle) == enough
    )
    return [*shorter, *islice(longest, limit - len(shorter))]


def _join_reasons(
    truncated: str | None, has_more: bool, limit: int, within: int | None = None
) -> str | None:
    parts = [
        truncated,
        f"{limit} ways are the limit, there are more" if has_more else None,
        f"paths of more than {within} hops were not looked for" if within else None,
    ]
    return "; ".join(part for part in parts if part) or None


class AsyncGraphs:
    """Methods that read a catalog's relationships and lineage as networkx graphs.

    Nodes are URNs as text. Edges of lineage point downstream, in the direction of the data; those
    of other relationships point from the entity that declares them. `graph.graph["truncated"]` of
    every graph, and `truncated` of every other result, says what was left out because of a limit.
    """

    def __init__(self, catalog: "AsyncCatalog") -> None:
        self._catalog = catalog

    lineage = of_catalog(read_lineage)
    columns = of_catalog(read_columns)
    walk = of_catalog(walk)
    impact = of_catalog(find_impact)
    paths = of_catalog(find_paths)
    common_ancestors = of_catalog(find_common_ancestors)


class Graphs(SharedThreadFace):
    """The blocking form of `AsyncGraphs`: `Graphs(catalog).impact(urn)`.

    It uses the catalog's thread, and can be used until the catalog is closed.
    """

    def __init__(self, catalog: "Catalog") -> None:
        super().__init__(catalog)
        self._core = AsyncGraphs(catalog.core)

    @property
    def core(self) -> AsyncGraphs:
        """The asynchronous object whose methods are run."""
        return self._core

    lineage = blocking(AsyncGraphs.lineage)
    columns = blocking(AsyncGraphs.columns)
    walk = blocking(AsyncGraphs.walk)
    impact = blocking(AsyncGraphs.impact)
    paths = blocking(AsyncGraphs.paths)
    common_ancestors = blocking(AsyncGraphs.common_ancestors)
