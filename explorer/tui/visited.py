"""Where the reader has been: entities as data, not a stack of screens."""

from explorer.metadata.urn import Urn

__all__ = ["History"]

_KEPT = 200


class History:
    """Entities visited, with a place in them; before the first of them lies the search."""

    def __init__(self) -> None:
        self._visited: list[Urn] = []
        self._at = -1

    def visit(self, urn: Urn) -> None:
        """Go on to an entity; what lay ahead is forgotten."""
        if self._at >= 0 and self._visited[self._at] == urn:
            return
        self._visited = [*self._visited[: self._at + 1], urn][-_KEPT:]
        self._at = len(self._visited) - 1

    def back(self) -> Urn | None:
        """The entity before; nothing is the search."""
        self._at = max(self._at - 1, -1)
        return self._visited[self._at] if self._at >= 0 else None

    def forward(self) -> Urn | None:
        """The entity after, or the last one again."""
        self._at = min(self._at + 1, len(self._visited) - 1)
        return self._visited[self._at] if self._at >= 0 else None
