"""One search carried out, over the index and what is pending: exact totals and pages.

Let B be what the index has of a step, R what of that is out of date and A what is newer, each in
the order of keys. The step is then B without R with A. R and A are small and known in full; B is
read from a key on. The position of a key follows from counting: those of B up to it, less those of
R, and those of A. So a page is found by coming near its position with keys picked at random, and
then reading on. Keys that were reached are remembered, which makes reading page after page cheap.
"""

from bisect import bisect_left, bisect_right, insort
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import tantivy

from explorer.metadata.names import natural_key
from explorer.server.cache import cached_short
from explorer.server.search.analysis import AnalysedDocument, needle
from explorer.server.search.evaluator import Evidence
from explorer.server.search.fields import Vocabulary
from explorer.server.search.index_result import LISTED_VALUES, IndexResult, Key
from explorer.server.search.layers import Pending
from explorer.server.search.query import size_bytes
from explorer.server.search.relevance import ResolvedSearch
from explorer.server.search.sort_keys import sort_key

__all__ = ["FoundDocument", "Plan"]

# So many documents are read over rather than come nearer.
_NEAR = 100
_SAMPLE = 32
_MOST_ROUNDS = 40
_MOST_ANCHORS = 2_000

# How many documents of the index come up to and with a key; the empty key is before them all.
_Anchor: TypeAlias = tuple[int, Key]
Place: TypeAlias = AnalysedDocument | tantivy.DocAddress


@dataclass(frozen=True, slots=True)
class FoundDocument:
    """A document of the result: in memory, or at an address in the index."""

    step: int
    key: Key
    place: Place


class Anchors:
    """Keys of one step of one index result whose position in the index is known."""

    def __init__(self) -> None:
        self._known: list[_Anchor] = []

    def add(self, position: int, key: Key) -> None:
        """Remember that so many documents of the index come up to and with a key."""
        if len(self._known) < _MOST_ANCHORS and (position, key) not in self._known:
            insort(self._known, (position, key))

    def all(self) -> list[_Anchor]:
        """What is remembered, in order."""
        return list(self._known)


class MergedResult:
    """The documents a search wants, of both layers."""

    def __init__(
        self,
        index_result: IndexResult,
        anchors: Sequence[Anchors],
        old: Sequence[Iterable[Key]],
        new: Sequence[Iterable[FoundDocument]],
    ) -> None:
        """`old` and `new` are, by step, what the index has no more and not yet."""
        self._index_result = index_result
        self._anchors = anchors
        self._old = [sorted(keys) for keys in old]
        self._new = [sorted(found, key=_key_of) for found in new]

    def total(self) -> int:
        """How many documents there are."""
        return (
            self._index_result.total()
            - sum(map(len, self._old))
            + sum(len(found) for found in self._new)
        )

    def page(self, start: int, count: int) -> list[FoundDocument]:
        """The documents from a position on, in order, `count` at most."""
        page: list[FoundDocument] = []
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

    def following(self, after: Key, count: int) -> list[FoundDocument]:
        """The documents that come after a key, in order, `count` at most; of a search that has one
        step only."""
        return self._from(0, 0, after, count, remember=False)

    def _size(self, step: int) -> int:
        return self._index_result.count(step) - len(self._old[step]) + len(self._new[step])

    def _window(self, step: int, start: int, count: int) -> list[FoundDocument]:
        position, key = self._come_near(step, start)
        skipped = start - self._position(step, position, key)
        return self._from(step, position, key, skipped + count)[skipped:]

    def _from(
        self, step: int, position: int, key: Key, needed: int, *, remember: bool = True
    ) -> list[FoundDocument]:
        """So many documents of a step that come after a key, which `position` of the index do not;
        the positions reached are remembered if that is known."""
        found: list[FoundDocument] = []
        while len(found) < needed:
            limit = needed - len(found)
            hits = self._index_result.read(step, key or None, limit)
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
    ) -> list[FoundDocument]:
        """What was read, without what is out of date, and what is newer up to the same end."""
        old, new = self._old[step], self._new[step]
        found = [FoundDocument(step, key, address) for key, address in hits if not _holds(old, key)]
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
            upper = (self._index_result.count(step), None)
        for _ in range(_MOST_ROUNDS):
            near = self._position(step, *lower)
            if start - near <= _NEAR or upper[0] - lower[0] <= _NEAR:
                break
            keys = self._index_result.sample(step, lower[1] or None, upper[1], _SAMPLE)
            if not keys:
                break
            far = self._size(step) if upper[1] is None else self._position(step, upper[0], upper[1])
            share = (start - near) / max(far - near, 1)
            key = keys[min(max(int(share * len(keys)) - 1, 0), len(keys) - 1)]
            position = lower[0] + self._index_result.between(step, lower[1] or None, key)
            anchors.add(position, key)
            if self._position(step, position, key) <= start:
                lower = (position, key)
            else:
                upper = (position, key)
        return lower


def _key_of(found: FoundDocument) -> Key:
    return found.key


def _holds(keys: list[Key], key: Key) -> bool:
    at = bisect_left(keys, key)
    return at < len(keys) and keys[at] == key


_FACET_VALUES = 100
_COUNT_BYTES = 150


@dataclass(frozen=True, slots=True)
class PendingMatches:
    """What pending changes do to one search: the documents that no longer stand for it in the
    index, and those that do now, each with its step."""

    old: tuple[tuple[int, AnalysedDocument], ...]
    new: tuple[tuple[int, AnalysedDocument], ...]


class Plan:
    """A search over one state of the index, kept while pages of it are asked for. What the index
    has is counted once, what is pending anew each time."""

    def __init__(
        self,
        resolved: ResolvedSearch,
        index_result: IndexResult,
        facets: Sequence[str],
        vocabulary: Vocabulary,
    ) -> None:
        self.resolved = resolved
        self.index_result = index_result
        self.evidence = Evidence(resolved.asked, vocabulary)
        self._vocabulary = vocabulary
        self._facets = facets
        self._folders: dict[int, dict[str, tuple[int, int]]] = {}
        self._step_of = resolved.grader()
        self._anchors = [Anchors() for _ in range(resolved.last_step + 1)]

    def size_bytes(self) -> int:
        """Return about how much memory the plan takes, with what was counted for it so far."""
        counted = sum(map(len, self.__dict__.get("_indexed", {}).values()))
        folders = sum(map(len, self._folders.values()))
        return size_bytes(self.resolved.node) + _COUNT_BYTES * (counted + folders)

    def weigh(
        self, pending: Iterable[Pending], read: Callable[[str], AnalysedDocument | None]
    ) -> PendingMatches:
        """Which pending changes matter here; a few microseconds each."""
        old: list[tuple[int, AnalysedDocument]] = []
        new: list[tuple[int, AnalysedDocument]] = []
        for change in pending:
            for document, steps in ((change.old(read), old), (change.new, new)):
                if document is not None:
                    step = self._step_of(document)
                    if step is not None:
                        steps.append((step, document))
        return PendingMatches(tuple(old), tuple(new))

    def merged(self, weighed: PendingMatches) -> MergedResult:
        """The result of both layers."""
        old: list[list[str]] = [[] for _ in self._anchors]
        new: list[list[FoundDocument]] = [[] for _ in self._anchors]
        for step, document in weighed.old:
            old[step].append(self._key(document))
        for step, document in weighed.new:
            new[step].append(FoundDocument(step, self._key(document), document))
        return MergedResult(self.index_result, self._anchors, old, new)

    def _key(self, analysed: AnalysedDocument) -> str:
        fields = self.resolved.sorted_by
        if not fields:
            return analysed.key
        return sort_key(fields, analysed.document, self._vocabulary)

    def count_facets(self) -> None:
        """Count what the index has of the facets, for `facets` to go on with."""
        _ = self._indexed

    @cached_property
    def _indexed(self) -> dict[str, dict[str, int]]:
        return self.index_result.facets(self._facets)

    def facets(self, weighed: PendingMatches) -> dict[str, tuple[dict[str, int], bool]]:
        """The counts of every facet field that has any, most frequent values first, and whether
        there are more values than these."""
        change: Counter[tuple[str, str]] = Counter()
        for _, document in weighed.new:
            change.update(document.facets)
        for _, document in weighed.old:
            change.subtract(document.facets)
        changes: dict[str, dict[str, int]] = {}
        for (name, value), by in change.items():
            changes.setdefault(name, {})[value] = by
        found: dict[str, tuple[dict[str, int], bool]] = {}
        for name, indexed in self._indexed.items():
            counts = self._changed(name, indexed, changes[name]) if name in changes else indexed
            counts = self._together(name, counts)
            best = sorted(counts.items(), key=_by_count_and_name)
            if best:
                found[name] = dict(best[:_FACET_VALUES]), len(best) > _FACET_VALUES
        return found

    def _together(self, name: str, counts: dict[str, int]) -> dict[str, int]:
        """Counts of the values that a filter takes for one as one, under the most frequent."""
        trait = self._vocabulary.trait(name)
        found: dict[str, tuple[str, int]] = {}
        for value, count in sorted(counts.items(), key=lambda one: (-one[1], one[0])):
            key = needle(trait, value)
            shown, before = found.get(key, (value, 0))
            found[key] = (shown, before + count)
        return dict(found.values())

    def folders(self, weighed: PendingMatches, depth: int) -> dict[str, tuple[int, int]]:
        """The folders at a depth with what is below them, as `IndexResult.folders` tells it."""
        found = dict(self._indexed_folders(depth))
        for documents, by in ((weighed.new, 1), (weighed.old, -1)):
            for _, document in documents:
                if len(document.folders) > depth:
                    key = document.folders[depth]
                    count, deeper = found.get(key, (0, 0))
                    is_deeper = len(document.folders) > depth + 1
                    found[key] = (count + by, deeper + by * is_deeper)
        return found

    def _indexed_folders(self, depth: int) -> dict[str, tuple[int, int]]:
        if depth not in self._folders:
            self._folders[depth] = self.index_result.folders(depth)
        return self._folders[depth]

    def _changed(
        self, name: str, indexed: dict[str, int], change: dict[str, int]
    ) -> dict[str, int]:
        counts = dict(indexed)
        missing = [value for value in change if value not in counts]
        if missing and len(counts) >= LISTED_VALUES:
            # Values that changed may be in the index without being among its most frequent.
            counts |= self.index_result.counts_of({name: missing})[name]
        for value, by in change.items():
            counts[value] = counts.get(value, 0) + by
        return {value: count for value, count in counts.items() if count > 0}


def _by_count_and_name(counted: tuple[str, int]) -> tuple[int, str, str]:
    """Put the most frequent value first, values as frequent by name, s2 before s10."""
    value, count = counted
    return -count, _name_key(value), value


# The same values come with every page and every letter typed.
@cached_short(4 << 20)
def _name_key(value: str) -> str:
    return natural_key(value)
