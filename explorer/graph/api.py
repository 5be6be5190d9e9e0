"""AsyncGraphs and Graphs: lineage, impact, paths and relationships of a catalog as graphs."""

from typing import TYPE_CHECKING

from explorer.client.blocking_face import SharedThreadFace, blocking, of_catalog
from explorer.graph.columns import read_columns
from explorer.graph.impact import find_impact
from explorer.graph.lineage import read_lineage, walk
from explorer.graph.paths import find_common_ancestors, find_paths

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog, Catalog

__all__ = ["AsyncGraphs", "Graphs"]


class AsyncGraphs:
    """A catalog's relationships and lineage as networkx graphs.

    Nodes are URNs as text; the edges of lineage go the way that data flows, those of other
    relationships as they are declared. `graph.graph["truncated"]` of every graph, and `truncated`
    of every other result, says what a limit left out.
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
    """The blocking face of `AsyncGraphs`: `Graphs(catalog).impact(urn)`. It runs on the catalog's
    thread and ends when the catalog is closed."""

    def __init__(self, catalog: "Catalog") -> None:
        super().__init__(catalog)
        self._core = AsyncGraphs(catalog.core)

    @property
    def core(self) -> AsyncGraphs:
        """Return the asynchronous methods."""
        return self._core

    lineage = blocking(AsyncGraphs.lineage)
    columns = blocking(AsyncGraphs.columns)
    walk = blocking(AsyncGraphs.walk)
    impact = blocking(AsyncGraphs.impact)
    paths = blocking(AsyncGraphs.paths)
    common_ancestors = blocking(AsyncGraphs.common_ancestors)
