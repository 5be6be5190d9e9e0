"""Column lineage as a graph: which column is derived from which, as ingested or guessed by name.

Nodes are URNs of schema fields, and of charts and dashboards that list the columns they use. A
column's node has `type` "schemaField", `dataset` (URN), `column` (its path without types), `path`
(the exact field path), `name` (of the dataset), `hops`, and `exists` false if its dataset's schema
does not have it. An edge has `guess`: false if the column lineage was ingested, true if only
lineage between the tables is known and the columns have the same name. Edges may have `transform`,
`confidence` and `via` (URN of the job or query), if ingested.
"""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

import networkx as nx

from explorer.client.entity import Entity
from explorer.client.records import Flow
from explorer.errors import UnknownName
from explorer.graph.lineage import read_lineage
from explorer.graph.nodes import identity
from explorer.metadata.column_lineage import (
    ColumnPaths,
    column_edges,
    column_urn,
    split_column,
)
from explorer.metadata.fieldpath import FieldPath
from explorer.metadata.urn import Urn

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog

__all__ = [
    "COLUMN_ASPECTS",
    "certain_columns",
    "column_graph",
    "column_urn",
    "columns_along",
    "read_columns",
    "split_column",
]

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
        for up, down, attributes in _ingested_edges(entity):
            (source, above), (target, below) = _end(up, schemas), _end(down, schemas)
            ingested.add((above, below))
            for node in (source, target):
                _add_node(graph, node, schemas)
            graph.add_edge(source, target, guess=False, **attributes)
    graph.graph["told"] = sorted(map(list, ingested))
    for upper, lower, via in _connected(tables):
        if (upper, lower) in ingested:
            continue
        both = (schemas.get(upper, _NO_COLUMNS), schemas.get(lower, _NO_COLUMNS))
        for above, below in _alike(*both):
            source, target = column_urn(upper, above), column_urn(lower, below)
            for node in (source, target):
                _add_node(graph, node, schemas)
            graph.add_edge(source, target, guess=True, **({"via": via} if via else {}))
    return graph


async def read_columns(
    catalog: "AsyncCatalog",
    urn: str | Urn,
    column: str | None = None,
    direction: Flow = "DOWNSTREAM",
    *,
    hops: int = 3,
    limit: int | None = None,
) -> "nx.DiGraph":
    """Return the graph of the columns downstream or upstream of a column, up to `hops` tables away.

    It starts at the column with this path (exact, or without types if that is unambiguous), or at
    all columns of the dataset. The graph has the attributes of a lineage graph, and in
    `graph.graph["guesses"]` the number of guessed edges. One request if the server traverses
    lineage, and one for each hundred tables. Raises `UnknownName` for a column that does not exist.
    """
    tables = await read_lineage(catalog, urn, direction, hops=hops, limit=limit)
    return await columns_along(catalog, tables, column)


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
    whole = column_graph(tables, entities)
    known = _columns_of(entities[start]) if start in entities else _NO_COLUMNS
    roots = _roots(start, column, known, whole)
    way = whole if direction == "DOWNSTREAM" else whole.reverse(copy=False)
    sign = 1 if direction == "DOWNSTREAM" else -1
    # A path between columns has at most as many edges as there are tables.
    layers = islice(nx.bfs_layers(way, sorted(roots)), min(hops, max(len(tables), 1)) + 1)
    reached = {node: sign * far for far, layer in enumerate(layers) for node in layer}
    found = whole.subgraph(reached).copy()
    nx.set_node_attributes(found, reached, "hops")
    found.graph.update(tables.graph, root=str(start), column=column, roots=sorted(roots))
    found.graph["guesses"] = sum(1 for *_, guess in found.edges.data("guess") if guess)
    return found


def certain_columns(columns: "nx.DiGraph") -> set[str]:
    """Return the nodes that are connected to the graph's roots without guesses. No requests.

    Upstream nodes by paths to a root, downstream nodes by paths from a root; the roots are
    included.
    """
    known = [(up, down) for up, down, guess in columns.edges.data("guess") if not guess]
    ingested = columns.edge_subgraph(known)
    found = set(columns.graph["roots"])
    for root in found & ingested.nodes:
        above, below = nx.ancestors(ingested, root), nx.descendants(ingested, root)
        found = found | {node for node in above if columns.nodes[node]["hops"] < 0}
        found = found | {node for node in below if columns.nodes[node]["hops"] > 0}
    return found


def _roots(start: Urn, column: str | None, known: ColumnPaths, graph: "nx.DiGraph") -> set[str]:
    if column is None:
        prefix = column_urn(start, "").removesuffix(")")
        return {node for node in graph if node.startswith(prefix)}
    path = known.exact(column)
    root = column_urn(start, path)
    if path not in known.paths and root not in graph:
        raise UnknownName("column", column, known.paths)
    graph.add_node(root, **_column_attributes(root))
    return {root}


def _ingested_edges(entity: Entity) -> Iterator[tuple[str, str, dict[str, Any]]]:
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
    used = (entity.raw("inputFields") or {}).get("fields")
    for field in used if isinstance(used, list) else ():
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
        known = schemas.get(attributes["dataset"])
        if known is not None and known.paths and attributes["path"] not in known.paths:
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


def _connected(tables: "nx.DiGraph") -> Iterator[tuple[str, str, str | None]]:
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


def _alike(upper: ColumnPaths, lower: ColumnPaths) -> Iterator[tuple[str, str]]:
    """Yield pairs of paths for names that occur exactly once in both schemas."""
    for name, sources in upper.by_name.items():
        targets = lower.by_name.get(name, ())
        if len(sources) == 1 and len(targets) == 1:
            yield sources[0], targets[0]


def _columns_of(entity: Entity) -> ColumnPaths:
    return ColumnPaths.of_schema(entity.raw("schemaMetadata"))
