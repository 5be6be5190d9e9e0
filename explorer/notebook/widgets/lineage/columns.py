"""Lineage of columns as it is drawn into the boxes of tables."""

import asyncio
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from explorer.graph.columns import COLUMN_ASPECTS, column_graph, read_columns
from explorer.graph.lineage import merged
from explorer.metadata.urn import Urn

if TYPE_CHECKING:
    import networkx as nx

    from explorer.client import AsyncCatalog
    from explorer.graph import Extent

__all__ = ["MOST_PORTS", "Columns", "Link", "Names", "read_between", "read_from", "read_names"]

MOST_PORTS = 12
"""How many columns are drawn in one box."""


@dataclass(frozen=True, slots=True)
class Link:
    """Data flows from a column to another; an end without a column is an entity as a whole."""

    source: str
    source_column: str
    target: str
    target_column: str
    guess: bool


@dataclass(frozen=True, slots=True)
class Columns:
    """A graph of columns seen from the entities drawn: the columns in each box, and the lines."""

    graph: "nx.DiGraph | None" = None
    about: str = ""

    def links(self, drawn: Collection[str]) -> tuple[Link, ...]:
        """The lines between columns of what is drawn, in the graph's order."""
        if self.graph is None:
            return ()
        return tuple(self._links(drawn))

    def ports(self, drawn: Collection[str]) -> Mapping[str, tuple[str, ...]]:
        """The columns that are drawn in each box, most to least connected where not all are."""
        found: dict[str, dict[str, int]] = {}
        for link in self.links(drawn):
            for node, column in (
                (link.source, link.source_column),
                (link.target, link.target_column),
            ):
                if column:
                    held = found.setdefault(node, {})
                    held[column] = held.get(column, 0) + 1
        return {
            node: tuple(sorted(held, key=lambda column: -held[column]))
            for node, held in found.items()
        }

    def _links(self, drawn: Collection[str]) -> Iterator[Link]:
        if self.graph is None:
            return
        nodes = self.graph.nodes
        for up, down, guess in self.graph.edges.data("guess"):
            above, below = nodes[up], nodes[down]
            source, target = above.get("dataset", up), below.get("dataset", down)
            if source in drawn and target in drawn and source != target:
                yield Link(
                    source, above.get("column", ""), target, below.get("column", ""), bool(guess)
                )


@dataclass(frozen=True, slots=True)
class Names:
    """The columns of one dataset, to choose one from."""

    urn: str = ""
    paths: tuple[str, ...] = field(default=())


async def read_names(catalog: "AsyncCatalog", urn: str) -> Names:
    """The columns of a dataset in the order of its schema. One request."""
    target = Urn.parse(urn)
    read = (await catalog.entities([target], ("schemaMetadata",))).get(target)
    columns = read.schema.columns if read is not None else ()
    return Names(urn, tuple(dict.fromkeys(column.path.simple for column in columns)))


async def read_from(
    catalog: "AsyncCatalog", urn: str, column: str, extent: "Extent", hops: int
) -> "nx.DiGraph":
    """What a column is made from and what it feeds. Costs what `read_columns` does, each way."""
    if extent != "BOTH":
        return await read_columns(catalog, urn, column, extent, hops=hops)
    upper, lower = await asyncio.gather(
        read_columns(catalog, urn, column, "UPSTREAM", hops=hops),
        read_columns(catalog, urn, column, "DOWNSTREAM", hops=hops),
    )
    return merged(upper, lower)


async def read_between(
    catalog: "AsyncCatalog", tables: "nx.DiGraph", source: str, target: str
) -> "nx.DiGraph":
    """The columns that flow along one edge between tables. Where one end is a job, those of the
    tables that it joins are among them. One request."""
    near = {source, target}
    if tables.nodes[source].get("type") == "dataJob":
        near.update(tables.pred[source])
    if tables.nodes[target].get("type") == "dataJob":
        near.update(tables.succ[target])
    entities = await catalog.entities(Urn.parse_all(near), COLUMN_ASPECTS)
    whole = column_graph(tables.subgraph(near), entities)
    ends = {source, target} if near == {source, target} else near
    kept = [
        (up, down)
        for up, down in whole.edges
        if {whole.nodes[end].get("dataset", end) for end in (up, down)} <= ends
    ]
    found: nx.DiGraph = whole.edge_subgraph(kept).copy()
    return found
