"""Impact: what is affected downstream when a table or a column changes, how much it is used, and by
whom."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal

from explorer.client.connection import gather_limited, in_chunks
from explorer.client.records import Flow, Timeseries
from explorer.client.responses import REFUSALS
from explorer.errors import InvalidAspect, InvalidInput, ServerFault
from explorer.graph.columns import certain_columns, columns_along
from explorer.graph.lineage import read_lineage
from explorer.graph.nodes import read_details
from explorer.metadata.aspects import DatasetUsageStatistics, read_aspect
from explorer.metadata.urn import Urn

if TYPE_CHECKING:
    import networkx as nx

    from explorer.client import AsyncCatalog

__all__ = [
    "Affected",
    "Certainty",
    "Grouping",
    "Impact",
    "QueryUsage",
    "find_impact",
    "impact_of",
    "read_usage",
]

_ASPECT = "datasetUsageStatistics"
_AT_ONCE = 16


@dataclass(frozen=True, slots=True)
class QueryUsage:
    """The number of queries of a dataset in some days, and the highest number of distinct users in
    a window.

    Users are not summed, because servers count them for each window and the same person would count
    several times.
    """

    queries: int
    users: int


def total_usage(series: Timeseries) -> QueryUsage | None:
    """Return the total of the windows of a series, `None` if there are none. No requests."""
    points = []
    for value in series.values:
        try:
            points.append(read_aspect(value, DatasetUsageStatistics))
        except (InvalidAspect, ServerFault):
            continue
    if not points:
        return None
    return QueryUsage(
        sum(point.total_sql_queries or 0 for point in points),
        max(point.unique_user_count or 0 for point in points),
    )


async def read_usage(
    catalog: "AsyncCatalog", urns: Iterable[str | Urn], *, days: int = 30
) -> Mapping[Urn, QueryUsage]:
    """Return the usage of the datasets among `urns` in the last days, without those never counted.

    One request for each dataset, several concurrently.
    """
    datasets = [urn for urn in map(Urn.parse, urns) if urn.entity_type == "dataset"]
    begin = datetime.now(UTC) - timedelta(days=days)
    found: dict[Urn, QueryUsage] = {}
    for chunk in in_chunks(datasets, _AT_ONCE):
        counts = await gather_limited((_one(catalog, urn, begin) for urn in chunk), _AT_ONCE)
        counted = zip(chunk, counts, strict=True)
        found |= {urn: usage for urn, usage in counted if usage is not None}
    return found


async def _one(catalog: "AsyncCatalog", urn: Urn, begin: datetime) -> QueryUsage | None:
    try:
        return total_usage(await catalog.timeseries(urn, _ASPECT, start=begin))
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
    """What is derived from a table, or from one of its columns: most used first, then nearest, then
    by URN.

    `truncated` says in words what was not reached, `uncounted` for which entities usage was not
    read. `nodes` are the attributes of the root and of all affected entities, as in
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
        for one in self.affected:
            for key in _keys(one, grouping):
                groups.setdefault(key, []).append(one)
        order = sorted(groups, key=lambda key: (not key, -len(groups[key]), key))
        return {key: tuple(groups[key]) for key in order}

    @property
    def queries(self) -> int:
        """The number of queries of all affected entities in the last 30 days, where counted."""
        return sum(one.queries or 0 for one in self.affected)


def impact_of(
    graph: "nx.DiGraph",
    *,
    columns: "nx.DiGraph | None" = None,
    usage: Mapping[Urn, QueryUsage] | None = None,
) -> Impact:
    """Return the impact in a downstream lineage graph. No requests.

    With the graph of one column, the entities that this column reaches are affected. An entity that
    uses an affected table without ingested column lineage may be affected: it, and everything
    derived from it, has the certainty "table".
    """
    root = graph.graph["root"]
    certain = _by_table(columns) if columns is not None else {}
    possible = _possibly(graph, columns, certain) if columns is not None else set()
    found = []
    for urn, attributes in graph.nodes(data=True):
        if urn == root:
            continue
        one = _affected(urn, attributes, usage or {})
        if columns is not None:
            if urn in certain:
                certainty, names = certain[urn]
                one = replace(one, certainty=certainty, columns=names)
            elif urn in possible:
                one = replace(one, certainty="table")
            else:
                continue
        found.append(one)
    found.sort(key=lambda one: (-(one.queries or 0), -(one.users or 0), one.hops, one.urn))
    return Impact(
        root,
        columns.graph["column"] if columns is not None else None,
        tuple(found),
        graph.graph["truncated"],
        nodes={urn: graph.nodes[urn] for urn in (root, *(one.urn for one in found))},
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
    usage, cut = await _usage(catalog, graph) if with_usage else ({}, None)
    impact = impact_of(graph, columns=columns, usage=usage)
    cuts = [one for one in (impact.truncated, _unfinished(graph, hops)) if one]
    return replace(impact, truncated="; ".join(cuts) or None, uncounted=cut)


def _unfinished(graph: "nx.DiGraph", hops: int) -> str | None:
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
    cut = None
    if len(datasets) > _MOST_USAGE:
        cut = f"the use of the {_MOST_USAGE} nearest of {len(datasets):,} datasets was read"
    return await read_usage(catalog, datasets[:_MOST_USAGE]), cut


def _by_table(columns: "nx.DiGraph") -> dict[str, tuple[Certainty, tuple[str, ...]]]:
    """Return for each entity its certainty, and its columns that were reached."""
    sure = certain_columns(columns)
    found: dict[str, tuple[set[str], bool]] = {}
    for node, attributes in columns.nodes(data=True):
        entity = attributes.get("dataset", node)
        names, certain = found.get(entity, (set(), False))
        if "column" in attributes:
            names.add(attributes["column"])
        found[entity] = names, certain or node in sure
    return {
        entity: ("said" if certain else "guessed", tuple(sorted(names)))
        for entity, (names, certain) in found.items()
    }


def _possibly(graph: "nx.DiGraph", columns: "nx.DiGraph", certain: Collection[str]) -> set[str]:
    """Return the entities that use an affected table without ingested column lineage in between.

    They may do so directly or through entities without columns. Everything downstream of them is
    included.
    """
    ingested = {(up, down) for up, down in columns.graph["told"]}
    found: set[str] = set()
    sources = [urn for urn in graph if urn in certain]
    while sources:
        source = sources.pop()
        seen, frontier = {source}, [source]
        while frontier:
            for below in graph.successors(frontier.pop()):
                if below in seen or (source in certain and (source, below) in ingested):
                    continue
                seen.add(below)
                is_new = below not in found and below not in certain
                if is_new:
                    found.add(below)
                if graph.nodes[below]["type"] != "dataset":
                    frontier.append(below)
                elif is_new:
                    sources.append(below)
    return found


def _affected(urn: str, attributes: Mapping[str, Any], usage: Mapping[Urn, QueryUsage]) -> Affected:
    used = usage.get(Urn.parse(urn)) if attributes["type"] == "dataset" else None
    return Affected(
        urn,
        attributes["name"],
        attributes["type"],
        attributes.get("platform"),
        attributes["hops"],
        tuple(dict.fromkeys(attributes.get("owners", ()))),
        attributes.get("domain"),
        queries=used.queries if used else None,
        users=used.users if used else None,
        exists=attributes.get("exists", True),
        removed=attributes.get("removed", False),
        deprecated=attributes.get("deprecated", False),
        kind=attributes.get("kind") or attributes["type"],
    )


def _keys(one: Affected, grouping: Grouping) -> Iterable[str]:
    match grouping:
        case "type":
            return (one.type,)
        case "platform":
            return (one.platform or "",)
        case "domain":
            return (one.domain or "",)
        case "owner":
            return one.owners or ("",)
