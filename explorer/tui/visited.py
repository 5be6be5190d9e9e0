"""Where the reader has been: entities as data, not a stack of screens."""

from collections.abc import Iterable

from explorer.metadata.urn import Urn

__all__ = ["History"]

_KEPT = 200


class History:
    """Entities visited, with a place in them; before the first of them lies the search.

    `before` were visited in an earlier run, oldest first: the way back begins with the last.
    """

    def __init__(self, before: Iterable[Urn] = (), last: Urn | None = None) -> None:
        self._visited = list(before)[-_KEPT:]
        # Behind the last: nothing is open yet.
        self._at = len(self._visited)
        self._last = last
        self._here: Urn | None = None

    @property
    def visited(self) -> tuple[Urn, ...]:
        """Every entity one can go back or forward to, oldest first."""
        return tuple(self._visited)

    @property
    def here(self) -> Urn | None:
        """The entity opened last in this run, or else in the one before."""
        return self._here or self._last

    def visit(self, urn: Urn) -> None:
        """Go on to an entity; what lay ahead is forgotten."""
        self._note(urn)
        at = min(self._at, len(self._visited) - 1)
        if at >= 0 and self._visited[at] == urn:
            self._at = at
            return
        self._visited = [*self._visited[: self._at + 1], urn][-_KEPT:]
        self._at = len(self._visited) - 1

    def back(self) -> Urn | None:
        """The entity before; nothing is the search."""
        self._at = max(self._at - 1, -1)
        return self._stand()

    def forward(self) -> Urn | None:
        """The entity after, or the last one again."""
        self._at = min(self._at + 1, len(self._visited) - 1)
        return self._stand()

    def last(self, open_now: Urn | None) -> Urn | None:
        """The entity that was open last, or, while that is `open_now`, the one before it."""
        found = self._last if self.here == open_now else self.here
        if found is not None:
            self.visit(found)
        return found

    def _stand(self) -> Urn | None:
        if self._at < 0:
            return None
        self._note(self._visited[self._at])
        return self._visited[self._at]

    def _note(self, urn: Urn) -> None:
        if self._here != urn:
            self._last, self._here = self._here or self._last, urn
