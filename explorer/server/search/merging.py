"""One result out of two layers: exact totals and pages, however deep.

Let B be what the index has of a step, R what of that is out of date and A what is newer, each in
the order of keys. The step is then B without R with A. R and A are small and known in full; B is
read from a key on. The position of a key follows from counting: those of B up to it, less those of
R, and those of A. So a page is found by coming near its position with keys picked at random, and
then reading on. Keys that were reached are remembered, which makes reading page after page cheap.
"""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import tantivy

from explorer.server.search.analysed import Analysed
from explorer.server.search.listing import Key, Listing

__all__ = ["Anchors", "Found", "Merged"]

# So many documents are read over rather than come nearer.
_NEAR = 100
_SAMPLE = 32
_MOST_ROUNDS = 40
_MOST_ANCHORS = 2_000

# How many documents of the index come up to and with a key; the empty key is before them all.
_Anchor: TypeAlias = tuple[int, Key]
Place: TypeAlias = Analysed | tantivy.DocAddress


@dataclass(frozen=True, slots=True)
class Found:
    """A document of the result: in memory, or at an address in the index."""

    step: int
    key: Key
    place: Place


class Anchors:
    """Keys of one step of one listing whose position in the index is known."""

    def __init__(self) -> None:
        self._known: list[_Anchor] = []

    def add(self, position: int, key: Key) -> None:
        """Remember that so many documents of the index come up to and with a key."""
        if len(self._known) < _MOST_ANCHORS and (position, key) not in self._known:
            insort(self._known, (position, key))

    def all(self) -> list[_Anchor]:
        """What is remembered, in order."""
        return list(self._known)


class Merged:
    """The documents a search wants, of both layers."""

    def __init__(
        self,
        listing: Listing,
        anchors: Sequence[Anchors],
        old: Sequence[Iterable[Key]],
        new: Sequence[Iterable[Found]],
    ) -> None:
        """`old` and `new` are, by step, what the index has no more and not yet."""
        self._listing = listing
        self._anchors = anchors
        self._old = [sorted(keys) for keys in old]
        self._new = [sorted(found, key=_key_of) for found in new]

    def total(self) -> int:
        """How many documents there are."""
        return (
            self._listing.total()
            - sum(map(len, self._old))
            + sum(len(found) for found in self._new)
        )

    def page(self, start: int, count: int) -> list[Found]:
        """The documents from a position on, in order, `count` at most."""
        page: list[Found] = []
        for step in range(len(self._new)):
            if len(page) >= count:
                break
            if start:
                size = self._size(step)
                if start >= size:
                    start -= size
                    continue
            page += self._window(step, start, count - len(page))
            start = 0
        return page

    def following(self, after: Key, count: int) -> list[Found]:
        """The documents that come after a key, in order, `count` at most; of a search that has one
        step only."""
        return self._from(0, 0, after, count, remember=False)

    def _size(self, step: int) -> int:
        return self._listing.count(step) - len(self._old[step]) + len(self._new[step])

    def _window(self, step: int, start: int, count: int) -> list[Found]:
        position, key = self._come_near(step, start)
        skipped = start - self._position(step, position, key)
        return self._from(step, position, key, skipped + count)[skipped:]

    def _from(
        self, step: int, position: int, key: Key, needed: int, *, remember: bool = True
    ) -> list[Found]:
        """So many documents of a step that come after a key, which `position` of the index do not;
        the positions reached are remembered if that is known."""
        found: list[Found] = []
        while len(found) < needed:
            limit = needed - len(found)
            hits = self._listing.read(step, key or None, limit)
            is_end = len(hits) < limit
            end = None if is_end else hits[-1][0]
            found += self._put_together(step, key, end, hits)
            if end is None:
                break
            position, key = position + len(hits), end
            if remember:
                self._anchors[step].add(position, key)
        return found[:needed]

    def _put_together(
        self, step: int, after: Key, end: Key | None, hits: list[tuple[Key, tantivy.DocAddress]]
    ) -> list[Found]:
        """What was read, without what is out of date, and what is newer up to the same end."""
        old, new = self._old[step], self._new[step]
        found = [Found(step, key, address) for key, address in hits if not _holds(old, key)]
        begin = bisect_right(new, after, key=_key_of)
        newer = new[begin:] if end is None else new[begin : bisect_right(new, end, key=_key_of)]
        return sorted([*found, *newer], key=_key_of) if newer else found

    def _position(self, step: int, position: int, key: Key) -> int:
        """How many documents of the step come up to a key that `position` of the index do."""
        gone = bisect_right(self._old[step], key)
        return position - gone + bisect_right(self._new[step], key, key=_key_of)

    def _come_near(self, step: int, start: int) -> _Anchor:
        """A key with few documents between it and a position, none of them before it."""
        anchors = self._anchors[step]
        lower: _Anchor = (0, "")
        upper: tuple[int, Key | None] | None = None
        for position, key in anchors.all():
            if self._position(step, position, key) > start:
                upper = (position, key)
                break
            lower = (position, key)
        if start - self._position(step, *lower) <= _NEAR:
            return lower
        if upper is None:
            upper = (self._listing.count(step), None)
        for _ in range(_MOST_ROUNDS):
            near = self._position(step, *lower)
            if start - near <= _NEAR or upper[0] - lower[0] <= _NEAR:
                break
            keys = self._listing.sample(step, lower[1] or None, upper[1], _SAMPLE)
            if not keys:
                break
            far = self._size(step) if upper[1] is None else self._position(step, upper[0], upper[1])
            share = (start - near) / max(far - near, 1)
            key = keys[min(max(int(share * len(keys)) - 1, 0), len(keys) - 1)]
            position = lower[0] + self._listing.between(step, lower[1] or None, key)
            anchors.add(position, key)
            if self._position(step, position, key) <= start:
                lower = (position, key)
            else:
                upper = (position, key)
        return lower


def _key_of(found: Found) -> Key:
    return found.key


def _holds(keys: list[Key], key: Key) -> bool:
    at = bisect_left(keys, key)
    return at < len(keys) and keys[at] == key
