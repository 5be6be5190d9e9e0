"""The lineage of entities and of columns as graphs, and the graph of the entities within some hops
along any relationships.

Edges of lineage point in the direction of the data, from upstream to downstream. Edges of other
relationships point from the entity that declares them, with the relationship's name as their key:
`graph["urn:li:dataset:…"]["urn:li:corpuser:jdoe"]["OwnedBy"]`. The attributes of a graph of
lineage, in `graph.graph`:

root         the URN at which it begins
direction    UPSTREAM, DOWNSTREAM or BOTH
hops         the maximum number of hops
total        the number of entities counted by the server, if it counts
truncated    why the traversal stopped early, in words; None if it is complete

Its nodes are URNs, with the attributes of `explorer.graph.nodes`, and

hops         the distance from the root, negative for upstream; 0 is the root
exists       false if it is only referenced; absent if the server does not say
removed      true if it is soft-deleted; absent if the server does not say

A graph of column lineage shows which column is derived from which, as ingested or guessed by name.
Its nodes are URNs of schema fields, and of charts and dashboards that list the columns they use. A
column's node has `type` "schemaField", `dataset` (URN), `column` (its path without types), `path`
(the exact field path), `name` (of the dataset), `hops`, and `exists` false if its dataset's schema
lacks it. An edge has `guess`: false if the column lineage was ingested, true if only lineage
between the tables is known and the columns have the same name. Edges may have `transform`,
`confidence` and `via` (URN of the job or query), if ingested.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal

import networkx as nx

from explorer.client.connection import gather_limited
from explorer.client.entity import Entity
from explorer.client.records import Direction, Edges, Flow, Lineage
from explorer.errors import InvalidInput, UnknownName
from explorer.graph.nodes import identity, read_details
from explorer.metadata.fieldpath import (
    ColumnPaths,
    FieldPath,
    column_edges,
    column_urn,
    split_column,
)
from explorer.metadata.urn import Urn

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog

Extent = Literal["BOTH", "DOWNSTREAM", "UPSTREAM"]


def lineage_graph(lineage: Lineage, *, multi: bool = False) -> "nx.DiGraph":
    """Return the graph of a lineage result. No requests.

    The attribute `relationship` of an edge is the name of its relationship; several are joined by
    ", ". With `multi` it is a `MultiDiGraph` with one edge for each relationship, with its name as
    key.
    """
    facts = {
        "root": str(lineage.root),
        "direction": lineage.direction,
        "hops": lineage.hops,
        "total": lineage.total,
        "truncated": lineage.truncated,
    }
    graph: nx.DiGraph = nx.MultiDiGraph(**facts) if multi else nx.DiGraph(**facts)
    graph.add_nodes_from(zip(lineage.urns, _nodes(lineage), strict=True))
    for up, down, name in lineage.pairs():
        if multi:
            graph.add_edge(up, down, name or None, relationship=name)
        elif graph.has_edge(up, down):
            edge = graph.edges[up, down]
            edge["relationship"] = _join(edge["relationship"], name)
        else:
            graph.add_edge(up, down, relationship=name)
    return graph


def _nodes(lineage: Lineage) -> Iterator[dict[str, Any]]:
    """Yield the attributes of each node, in order."""
    sign = -1 if lineage.direction == "UPSTREAM" else 1
    missing, removed = lineage.missing, lineage.removed
    for place, (urn, degree) in enumerate(zip(lineage.urns, lineage.degrees, strict=True)):
        attributes = identity(urn)
        attributes["hops"] = sign * degree
        if missing is not None:
            attributes["exists"] = place not in missing
        if removed is not None:
            attributes["removed"] = place in removed
        yield attributes


def merged(upstream: "nx.DiGraph", downstream: "nx.DiGraph") -> "nx.DiGraph":
    """Return the graph of the upstream and downstream lineage of one root. No requests.

    An entity in a cycle is on both sides; it keeps the smaller number of hops, the downstream one
    if they are equal.
    """
    graph = nx.compose(upstream, downstream)
    for node in upstream.nodes & downstream.nodes:
        above, below = upstream.nodes[node]["hops"], downstream.nodes[node]["hops"]
        graph.nodes[node]["hops"] = above if -above < below else below
    facts = (upstream.graph, downstream.graph)
    reasons = {attributes["truncated"]: None for attributes in facts if attributes["truncated"]}
    graph.graph.update(
        direction="BOTH",
        total=sum(attributes["total"] for attributes in facts),
        truncated="; ".join(reasons) or None,
    )
    if "roots" in upstream.graph:
        _describe_columns(graph, sorted({root for side in facts for root in side["roots"]}))
    return graph


async def read_lineage(
    catalog: "AsyncCatalog",
    urn: str | Urn,
    direction: Extent = "BOTH",
    *,
    hops: int = 3,
    limit: int | None = None,
    budget_seconds: float | None = None,
    with_details: bool = False,
    multi: bool = False,
) -> "nx.DiGraph":
    """Return the lineage of an entity as a graph.

    `limit` (entities for each direction) and `budget_seconds` limit the traversal;
    `graph.graph["truncated"]` says if a limit was reached. `with_details` reads owners, tags and
    descriptions of every node. One request for each direction if the server traverses lineage, and
    one for each hundred nodes with details.
    """

    async def one_side(flow: Flow) -> Any:
        lineage = await catalog.lineage(
            urn, flow, hops=hops, limit=limit, budget_seconds=budget_seconds
        )
        return lineage_graph(lineage, multi=multi)

    if direction == "BOTH":
        above, below = await gather_limited((one_side("UPSTREAM"), one_side("DOWNSTREAM")), 2)
        graph = merged(above, below)
    else:
        graph = await one_side(direction)
    if with_details:
        await read_details(catalog, graph)
    return graph


def _join(names_text: str, name: str) -> str:
    names = sorted({*names_text.split(", "), name} - {""})
    return ", ".join(names)


Side = Literal["BOTH", "INCOMING", "OUTGOING"]

_AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class WalkLimits:
    """The limits of a traversal: entities in the graph, and seconds."""

    nodes: int = 2_000
    seconds: float = 30.0


_USUAL = WalkLimits()


async def walk(
    catalog: "AsyncCatalog",
    urn: str | Urn,
    relationships: Sequence[str] | None = None,
    direction: Side = "OUTGOING",
    *,
    hops: int = 1,
    budget: WalkLimits = _USUAL,
) -> "nx.MultiDiGraph":
    """Return the entities up to `hops` relationships away, as a `MultiDiGraph`.

    Follows the given relationships, or all in the model. OUTGOING follows them from the entity that
    declares them, INCOMING in the opposite direction. Every node has `hops`, its distance from the
    start, and the attributes in its URN. `graph.graph["truncated"]` says what was left out if a
    limit was reached, or if a server returned fewer edges of an entity than it counted; `None` if
    the graph is complete. Equal answers give equal graphs, with edges in the same order. One
    request for each entity and direction, at most eight concurrently. Raises `InvalidInput` for
    less than one hop.
    """
    if hops < 1:
        raise InvalidInput(f"hops must be at least 1, not {hops}")
    start = Urn.parse(urn)
    sides: tuple[Direction, ...] = ("OUTGOING", "INCOMING") if direction == "BOTH" else (direction,)
    graph = nx.MultiDiGraph(root=str(start), direction=direction, hops=hops, truncated=None)
    graph.add_node(str(start), **identity(str(start)), hops=0)
    deadline = time.monotonic() + budget.seconds
    frontier = [start]
    cuts: dict[str, None] = {}
    for hop in range(1, hops + 1):
        following: list[Urn] = []
        for at in range(0, len(frontier), _AT_ONCE):
            if time.monotonic() > deadline:
                count = len(frontier) - at
                cuts[f"{budget.seconds:g} seconds were over, {count:,} entities not followed"] = (
                    None
                )
                break
            urns = frontier[at : at + _AT_ONCE]
            requests = [(urn, side) for urn in urns for side in sides]
            answers = await gather_limited(
                (catalog.relationships(urn, side, relationships) for urn, side in requests),
                _AT_ONCE,
            )
            for (source, side), edges in zip(requests, answers, strict=True):
                following += _add(graph, source, side, edges, hop, budget.nodes, cuts)
        frontier = following
        if not frontier:
            break
    graph.graph["truncated"] = "; ".join(cuts) or None
    return graph


def _add(
    graph: "nx.MultiDiGraph",
    source: Urn,
    side: Direction,
    edges: Edges,
    hop: int,
    most: int,
    cuts: dict[str, None],
) -> list[Urn]:
    """Add edges to the graph; return the entities that are new in it."""
    urns = []
    if len(edges.edges) < edges.total:
        graph.nodes[str(source)]["edges_left_out"] = edges.total - len(edges.edges)
        cuts["not every edge of every entity was given"] = None
    for edge in edges.edges:
        neighbour = str(edge.urn)
        if neighbour not in graph:
            if len(graph) >= most:
                cuts[f"{most:,} entities are the limit"] = None
                continue
            graph.add_node(neighbour, **identity(neighbour), hops=hop)
            urns.append(edge.urn)
        ends = (str(source), neighbour) if side == "OUTGOING" else (neighbour, str(source))
        graph.add_edge(*ends, key=edge.relationship, relationship=edge.relationship)
    return urns


_LINEAGE_ASPECTS = ("upstreamLineage", "dataJobInputOutput")
_NO_COLUMNS = ColumnPaths()

COLUMN_ASPECTS = (*_LINEAGE_ASPECTS, "schemaMetadata", "inputFields")
"""The aspects needed for column lineage."""


def column_graph(tables: "nx.DiGraph", entities: Mapping[Urn, Entity]) -> "nx.DiGraph":
    """Return the graph of all edges between columns of the tables in a lineage graph. No requests.

    `entities` are those of the graph with their `COLUMN_ASPECTS`. Two datasets without ingested
    column lineage, which are neighbours or connected by one job, get edges between columns of the
    same path (ignoring case), which are marked as guesses. `graph.graph["told"]` lists the pairs of
    datasets with ingested column lineage.
    """
    schemas = {str(urn): _columns_of(entity) for urn, entity in entities.items()}
    graph = nx.DiGraph()
    ingested: set[tuple[str, str]] = set()
    for entity in entities.values():
        for up, down, attributes in _read_column_edges(entity):
            (source, above), (target, below) = _end(up, schemas), _end(down, schemas)
            ingested.add((above, below))
            for node in (source, target):
                _add_node(graph, node, schemas)
            graph.add_edge(source, target, guess=False, **attributes)
    graph.graph["told"] = sorted(map(list, ingested))
    for upper, lower, via in _connections(tables):
        if (upper, lower) in ingested:
            continue
        column_paths = (schemas.get(upper, _NO_COLUMNS), schemas.get(lower, _NO_COLUMNS))
        for above, below in _same_columns(*column_paths):
            source, target = column_urn(upper, above), column_urn(lower, below)
            for node in (source, target):
                _add_node(graph, node, schemas)
            graph.add_edge(source, target, guess=True, **({"via": via} if via else {}))
    return graph


async def read_columns(
    catalog: "AsyncCatalog",
    urn: str | Urn,
    column: str | None = None,
    direction: Extent = "DOWNSTREAM",
    *,
    hops: int = 3,
    limit: int | None = None,
) -> "nx.DiGraph":
    """Return the graph of the columns downstream and upstream of a column, up to `hops` tables
    away.

    It starts at the column with this path (exact, or without types if that is unambiguous), or at
    all columns of the dataset. The graph has the attributes of a lineage graph, and in
    `graph.graph["guesses"]` the number of guessed edges. For each direction one request if the
    server traverses lineage, and one for each hundred tables. Raises `UnknownName` for a column
    that does not exist.
    """

    async def one_side(flow: Flow) -> Any:
        tables = await read_lineage(catalog, urn, flow, hops=hops, limit=limit)
        return await columns_along(catalog, tables, column)

    if direction == "BOTH":
        return merged(*await gather_limited((one_side("UPSTREAM"), one_side("DOWNSTREAM")), 2))
    return await one_side(direction)


async def read_columns_between(
    catalog: "AsyncCatalog", tables: "nx.DiGraph", source: str, target: str
) -> "nx.DiGraph":
    """Return the graph of the columns that flow along one edge of a lineage graph. If one end is a
    job, the columns of the tables that it connects are included. One request."""
    near = {source, target}
    if tables.nodes[source].get("type") == "dataJob":
        near.update(tables.pred[source])
    if tables.nodes[target].get("type") == "dataJob":
        near.update(tables.succ[target])
    columns = column_graph(
        tables.subgraph(near), await catalog.entities(Urn.parse_all(near), COLUMN_ASPECTS)
    )
    edges = [
        (up, down)
        for up, down in columns.edges
        if {columns.nodes[end].get("dataset", end) for end in (up, down)} <= near
    ]
    part: nx.DiGraph = columns.edge_subgraph(edges).copy()
    return part


async def columns_along(
    catalog: "AsyncCatalog", tables: "nx.DiGraph", column: str | None = None
) -> "nx.DiGraph":
    """Return the graph of `read_columns` for a lineage graph of one direction that was already
    read.

    One request for each hundred tables.
    """
    start, direction, hops = (
        Urn.parse(tables.graph["root"]),
        tables.graph["direction"],
        tables.graph["hops"],
    )
    entities = await catalog.entities(Urn.parse_all(tables.nodes), COLUMN_ASPECTS)
    graph = column_graph(tables, entities)
    paths = _columns_of(entities[start]) if start in entities else _NO_COLUMNS
    roots = _roots(start, column, paths, graph)
    walk_graph = graph if direction == "DOWNSTREAM" else graph.reverse(copy=False)
    sign = 1 if direction == "DOWNSTREAM" else -1
    # A path between columns has at most as many edges as there are tables.
    layers = islice(nx.bfs_layers(walk_graph, sorted(roots)), min(hops, max(len(tables), 1)) + 1)
    reached = {node: sign * far for far, layer in enumerate(layers) for node in layer}
    part = graph.subgraph(reached).copy()
    nx.set_node_attributes(part, reached, "hops")
    part.graph.update(tables.graph, root=str(start), column=column)
    _describe_columns(part, sorted(roots))
    return part


def _describe_columns(graph: "nx.DiGraph", roots: list[str]) -> None:
    guesses = sum(1 for *_, guess in graph.edges.data("guess") if guess)
    graph.graph.update(roots=roots, guesses=guesses)


def certain_columns(columns: "nx.DiGraph") -> set[str]:
    """Return the nodes that are connected to the graph's roots without guesses. No requests.

    Upstream nodes need a path to a root, downstream nodes a path from a root; the roots are
    included.
    """
    certain_edges = [(up, down) for up, down, guess in columns.edges.data("guess") if not guess]
    ingested = columns.edge_subgraph(certain_edges)
    roots = set(columns.graph["roots"])
    for root in roots & ingested.nodes:
        above, below = nx.ancestors(ingested, root), nx.descendants(ingested, root)
        roots = roots | {node for node in above if columns.nodes[node]["hops"] < 0}
        roots = roots | {node for node in below if columns.nodes[node]["hops"] > 0}
    return roots


def _roots(start: Urn, column: str | None, columns: ColumnPaths, graph: "nx.DiGraph") -> set[str]:
    if column is None:
        prefix = column_urn(start, "").removesuffix(")")
        return {node for node in graph if node.startswith(prefix)}
    path = columns.exact(column)
    root = column_urn(start, path)
    if path not in columns.paths and root not in graph:
        raise UnknownName("column", column, columns.paths)
    graph.add_node(root, **_column_attributes(root))
    # A column that uses a struct uses its fields, and one that uses a field uses part of the
    # struct.
    inner_prefix = f"{FieldPath(path).simple}."
    parts = {
        node
        for node, name in graph.nodes.data("column")
        if graph.nodes[node].get("dataset") == str(start)
        and (name.startswith(inner_prefix) or inner_prefix.startswith(f"{name}."))
    }
    return {root, *parts}


def _read_column_edges(entity: Entity) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield the edges between columns in an entity's aspects, with their attributes."""
    for name in _LINEAGE_ASPECTS:
        for edge in column_edges(entity.raw(name)):
            attributes = {
                key: edge.stated[field]
                for key, field in (
                    ("transform", "transformOperation"),
                    ("confidence", "confidenceScore"),
                    ("via", "query"),
                )
                if edge.stated.get(field) is not None
            }
            if entity.entity_type == "dataJob":
                attributes.setdefault("via", str(entity.urn))
            yield edge.upstream, edge.downstream, attributes
    input_fields = (entity.raw("inputFields") or {}).get("fields")
    for field in input_fields if isinstance(input_fields, list) else ():
        source = field.get("schemaFieldUrn") if isinstance(field, dict) else None
        if isinstance(source, str) and split_column(source):
            yield source, str(entity.urn), {}


def _end(urn: str, schemas: Mapping[str, ColumnPaths]) -> tuple[str, str]:
    """Return a node with the path as in the schema, and the entity it belongs to."""
    parts = split_column(urn)
    if parts is None:
        return urn, urn
    dataset, path = parts
    return column_urn(dataset, schemas.get(dataset, _NO_COLUMNS).exact(path)), dataset


def _add_node(graph: "nx.DiGraph", node: str, schemas: Mapping[str, ColumnPaths]) -> None:
    if node in graph:
        return
    attributes = _column_attributes(node)
    if "path" in attributes:
        paths = schemas.get(attributes["dataset"])
        if paths is not None and paths.paths and attributes["path"] not in paths.paths:
            attributes["exists"] = False
    graph.add_node(node, **attributes)


def _column_attributes(node: str) -> dict[str, Any]:
    parts = split_column(node)
    if parts is None:
        return identity(node)
    dataset, path = parts
    return {
        **identity(dataset),
        "type": "schemaField",
        "dataset": dataset,
        "path": path,
        "column": FieldPath(path).simple,
    }


def _connections(tables: "nx.DiGraph") -> Iterator[tuple[str, str, str | None]]:
    """Yield pairs of neighbouring datasets, and pairs connected by one job, with that job."""
    kinds = dict(tables.nodes.data("type"))
    for upper in tables:
        if kinds[upper] != "dataset":
            continue
        for below in tables.successors(upper):
            if kinds[below] == "dataset":
                yield upper, below, None
            elif kinds[below] == "dataJob":
                for lower in tables.successors(below):
                    if kinds[lower] == "dataset" and lower != upper:
                        yield upper, lower, below


def _same_columns(upper: ColumnPaths, lower: ColumnPaths) -> Iterator[tuple[str, str]]:
    """Yield pairs of paths for names that occur exactly once in both schemas."""
    for name, sources in upper.by_name.items():
        targets = lower.by_name.get(name, ())
        if len(sources) == 1 and len(targets) == 1:
            yield sources[0], targets[0]


def _columns_of(entity: Entity) -> ColumnPaths:
    return ColumnPaths.of_schema(entity.raw("schemaMetadata"))
