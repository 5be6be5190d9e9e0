"""Where the reader has been: entities as data, not a stack of screens."""

from collections.abc import Iterable
from itertools import groupby

from explorer.metadata.urn import Urn

__all__ = ["History"]

_KEPT = 200


class History:
    """Entities visited, and between them the search, where every run begins.

    `before` were visited in an earlier run, oldest first: they lie before this run's search.
    """

    def __init__(self, before: Iterable[Urn] = (), last: Urn | None = None) -> None:
        earlier = list(before)[-_KEPT:]
        self._places: list[Urn | None] = [None, *earlier, None] if earlier else [None]
        self._at = len(self._places) - 1
        self._last = last
        self._here: Urn | None = None

    @property
    def visited(self) -> tuple[Urn, ...]:
        """Every entity one can go back or forward to, oldest first, none twice in a row."""
        entities = [place for place in self._places if place is not None]
        return tuple(urn for urn, _ in groupby(entities))

    def recent(self, count: int) -> list[Urn]:
        """The entities visited last, at most `count`, the latest first, each once."""
        return list(dict.fromkeys(reversed(self.visited)))[:count]

    @property
    def here(self) -> Urn | None:
        """The entity opened last in this run, or else in the one before."""
        return self._here or self._last

    def visit(self, urn: Urn) -> None:
        """Go on to an entity; what lay ahead is forgotten."""
        self._note(urn)
        if self._places[self._at] != urn:
            self._places = [*self._places[: self._at + 1], urn][-_KEPT:]
            self._at = len(self._places) - 1

    def back(self, *, from_search: bool = False) -> Urn | None:
        """The entity before; nothing is the search. Who left an entity for the search comes back
        to that one first."""
        if not (from_search and self._places[self._at] is not None):
            self._at = max(self._at - 1, 0)
        return self._stand()

    def forward(self) -> Urn | None:
        """The entity after, or the last one again; nothing is the search."""
        self._at = min(self._at + 1, len(self._places) - 1)
        return self._stand()

    def last(self, open_now: Urn | None) -> Urn | None:
        """The entity that was open last, or, while that is `open_now`, the one before it."""
        found = self._last if self.here == open_now else self.here
        if found is not None:
            self.visit(found)
        return found

    def _stand(self) -> Urn | None:
        place = self._places[self._at]
        if place is not None:
            self._note(place)
        return place

    def _note(self, urn: Urn) -> None:
        if self._here != urn:
            self._last, self._here = self._here or self._last, urn
