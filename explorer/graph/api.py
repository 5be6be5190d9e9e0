"""AsyncGraphs and Graphs: lineage, impact, paths and relationships of a catalog as graphs."""

from collections.abc import Coroutine, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from explorer.client.blocking_face import BlockingFace, blocking
from explorer.client.records import Flow
from explorer.graph.columns import read_columns
from explorer.graph.impact import Impact, find_impact
from explorer.graph.lineage import Extent, read_lineage
from explorer.graph.paths import Ancestor, Paths, find_common_ancestors, find_paths
from explorer.graph.relationships import Side, WalkLimits, walk
from explorer.metadata.urn import Urn

if TYPE_CHECKING:
    import networkx as nx

    from explorer.client import AsyncCatalog, Catalog

__all__ = ["AsyncGraphs", "Graphs"]

_T = TypeVar("_T")


class AsyncGraphs:
    """A catalog's relationships and lineage as networkx graphs.

    Nodes are URNs as text; the edges of lineage go the way that data flows, those of other
    relationships as they are declared. `graph.graph["truncated"]` of every graph, and `truncated`
    of every other result, says what a limit left out.
    """

    def __init__(self, catalog: "AsyncCatalog") -> None:
        self._catalog = catalog

    async def lineage(
        self,
        urn: str | Urn,
        direction: Extent = "BOTH",
        *,
        hops: int = 3,
        limit: int | None = None,
        budget_seconds: float | None = None,
        with_details: bool = False,
        multi: bool = False,
    ) -> "nx.DiGraph":
        """See `explorer.graph.lineage.read_lineage`."""
        return await read_lineage(
            self._catalog,
            urn,
            direction,
            hops=hops,
            limit=limit,
            budget_seconds=budget_seconds,
            with_details=with_details,
            multi=multi,
        )

    async def columns(
        self,
        urn: str | Urn,
        column: str | None = None,
        direction: Flow = "DOWNSTREAM",
        *,
        hops: int = 3,
        limit: int | None = None,
    ) -> "nx.DiGraph":
        """See `explorer.graph.columns.read_columns`."""
        return await read_columns(self._catalog, urn, column, direction, hops=hops, limit=limit)

    async def walk(
        self,
        urn: str | Urn,
        relationships: Sequence[str] | None = None,
        direction: Side = "OUTGOING",
        *,
        hops: int = 1,
        budget: WalkLimits | None = None,
    ) -> "nx.MultiDiGraph":
        """See `explorer.graph.relationships.walk`."""
        return await walk(
            self._catalog, urn, relationships, direction, hops=hops, budget=budget or WalkLimits()
        )

    async def impact(
        self,
        urn: str | Urn,
        column: str | None = None,
        *,
        hops: int = 50,
        limit: int | None = None,
        with_usage: bool = True,
    ) -> Impact:
        """See `explorer.graph.impact.find_impact`."""
        return await find_impact(
            self._catalog, urn, column, hops=hops, limit=limit, with_usage=with_usage
        )

    async def paths(
        self,
        source: str | Urn,
        target: str | Urn,
        *,
        relationships: Sequence[str] | None = None,
        hops: int | None = None,
        limit: int = 100,
        budget_nodes: int | None = None,
        budget_seconds: float | None = None,
    ) -> Paths:
        """See `explorer.graph.paths.find_paths`."""
        return await find_paths(
            self._catalog,
            source,
            target,
            relationships=relationships,
            hops=hops,
            limit=limit,
            budget_nodes=budget_nodes,
            budget_seconds=budget_seconds,
        )

    async def common_ancestors(
        self, first: str | Urn, second: str | Urn, *, hops: int = 50, limit: int | None = None
    ) -> tuple[tuple[Ancestor, ...], str | None]:
        """See `explorer.graph.paths.find_common_ancestors`."""
        return await find_common_ancestors(self._catalog, first, second, hops=hops, limit=limit)


class Graphs(BlockingFace):
    """The blocking face of `AsyncGraphs`: `Graphs(catalog).impact(urn)`. It runs on the catalog's
    thread and ends when the catalog is closed."""

    def __init__(self, catalog: "Catalog") -> None:
        # No thread of its own is started.
        self._catalog = catalog
        self._core = AsyncGraphs(catalog.core)

    @property
    def core(self) -> AsyncGraphs:
        """Return the asynchronous methods."""
        return self._core

    def wait(self, work: Coroutine[Any, Any, _T]) -> _T:
        """See `BlockingFace.wait`."""
        return self._catalog.wait(work)

    lineage = blocking(AsyncGraphs.lineage)
    columns = blocking(AsyncGraphs.columns)
    walk = blocking(AsyncGraphs.walk)
    impact = blocking(AsyncGraphs.impact)
    paths = blocking(AsyncGraphs.paths)
    common_ancestors = blocking(AsyncGraphs.common_ancestors)
