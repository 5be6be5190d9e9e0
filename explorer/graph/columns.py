"""Lineage of columns: which column is made from which, as ingested or guessed by name.

The nodes are URNs of schema fields, and of charts and dashboards that name the columns they use.
A column's node has `type` "schemaField", `dataset` (URN), `column` (its path, as people write
it), `path` (exact), `name` (of the dataset), `hops` and, where its dataset's schema lacks the
column, `exists` false. An edge has `guess`: false where lineage between columns was ingested, true
where only the tables are known to be connected and the columns have the same name; and, where
they were ingested, `transform`, `confidence` and `via` (URN of the job or query).
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
"""The aspects that column lineage is read from."""


def column_graph(tables: "nx.DiGraph", entities: Mapping[Urn, Entity]) -> "nx.DiGraph":
    """Return the graph of every edge between columns of the tables in a lineage graph. Pure.

    `entities` are those of the graph with their `COLUMN_ASPECTS`. Between two datasets that are
    neighbours, or have one job between them, and for which no column lineage was ingested,
    columns of equal path (ignoring case) are connected, and marked as a guess.
    `graph.graph["told"]` lists the pairs of datasets for which column lineage was ingested.
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
    """Return the graph of the columns that a column feeds, or is made from, up to `hops` tables
    away.

    It starts at the column with that path (exact, or as people write it where that is
    unambiguous), or at every column of the dataset. It has the attributes of a lineage graph, and
    in `graph.graph["guesses"]` how many of its edges are guesses. One request where the server
    walks, and one for a hundred tables. Raises `UnknownName` for a column that is not there.
    """
    tables = await read_lineage(catalog, urn, direction, hops=hops, limit=limit)
    return await columns_along(catalog, tables, column)


async def columns_along(
    catalog: "AsyncCatalog", tables: "nx.DiGraph", column: str | None = None
) -> "nx.DiGraph":
    """Return what `read_columns` does, along a lineage graph of one direction that was read
    before. One request for a hundred tables."""
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
    # No way between columns has more edges than there are tables in a row.
    layers = islice(nx.bfs_layers(way, sorted(roots)), min(hops, max(len(tables), 1)) + 1)
    reached = {node: sign * far for far, layer in enumerate(layers) for node in layer}
    found = whole.subgraph(reached).copy()
    nx.set_node_attributes(found, reached, "hops")
    found.graph.update(tables.graph, root=str(start), column=column, roots=sorted(roots))
    found.graph["guesses"] = sum(1 for *_, guess in found.edges.data("guess") if guess)
    return found


def certain_columns(columns: "nx.DiGraph") -> set[str]:
    """Return the nodes that ingested lineage connects with the graph's roots without a guess on
    the way, upstream ones by what they feed, downstream ones by what they are made from; the roots
    are among them. Pure."""
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
    """Return a node with its path as the schema has it, and the entity it belongs to."""
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
    """Yield pairs of neighbouring datasets, and those with one job between them with that job."""
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
    """Yield the columns whose name occurs once on each side, by path."""
    for name, sources in upper.by_name.items():
        targets = lower.by_name.get(name, ())
        if len(sources) == 1 and len(targets) == 1:
            yield sources[0], targets[0]


def _columns_of(entity: Entity) -> ColumnPaths:
    return ColumnPaths.of_schema(entity.raw("schemaMetadata"))
