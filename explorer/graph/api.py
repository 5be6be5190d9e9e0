"""`AsyncGraphs` and `Graphs`: lineage, impact, paths and relationships of a catalog as graphs."""

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
