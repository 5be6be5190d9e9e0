"""Lineage of entities: the nodes are the store's handles, the edges those marked as lineage."""

from collections.abc import Sequence

from explorer.server.store import Store
from explorer.server.store.lineage import KnownUrn

__all__ = ["Tables"]


class Tables:
    """The graph of entities: one query a hop, however many nodes the frontier has."""

    def __init__(self, store: Store, *, upstream: bool) -> None:
        self._store = store
        self._upstream = upstream

    def hop(self, frontier: Sequence[int], limit: int) -> list[tuple[int, int, str]]:
        """See `walk.Graph`."""
        return self._store.lineage_edges(frontier, upstream=self._upstream, limit=limit)

    def named(self, nodes: Sequence[int]) -> dict[int, KnownUrn]:
        """The entities behind the handles."""
        return {one.handle: one for one in self._store.known(nodes)}
