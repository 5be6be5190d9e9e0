"""A search executed over the index on disk and those in memory, with exact totals and pages.

The documents of a step are those of all indexes, merged in the order of their keys. The indexes in
memory are small, so their documents of a step are read in full; the index on disk is read on from a
key. Counting gives the position of a key. A page is found by approaching its position with the keys
of random documents, and reading on from there. Positions that were reached are remembered, so
reading page after page is cheap. tantivy's own offsets take longer the larger they are: with 30,000
documents, 130 ms of processor time for the page at 2,000 and 720 ms for the page at 25,000,
compared with 12 and 15 ms here.
"""

from bisect import bisect_right, insort
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import tantivy

from explorer.metadata.names import natural_key
from explorer.server.cache import cached_short
from explorer.server.search.analysis import needle, urn_in_order, use_of
from explorer.server.search.document import Document
from explorer.server.search.evidence import Evidence
from explorer.server.search.fields import Vocabulary
from explorer.server.search.index_result import LISTED_VALUES, IndexResult, Key
from explorer.server.search.query import size_bytes
from explorer.server.search.relevance import ResolvedSearch
from explorer.server.search.sort_keys import urn_of

__all__ = ["FoundDocument", "Plan"]

# At most this many documents are skipped by reading them.
_NEAR = 100
_SAMPLE = 32
_MOST_ROUNDS = 40
_MOST_ANCHORS = 2_000

# The number of documents of the index on disk up to and including a key. The empty key is before
# all documents.
_Anchor: TypeAlias = tuple[int, Key]


@dataclass(frozen=True, slots=True)
class FoundDocument:
    """A document of a result: its address in the index of a part; part 0 is the index on disk."""

    step: int
    key: Key
    address: tantivy.DocAddress
    part: int = 0


class MergedResult:
    """The documents of all indexes that a search finds."""

    def __init__(self, results: Sequence[IndexResult], steps: int) -> None:
        """Merge results, the first of which is that of the index on disk."""
        self._results = results
        self._indexed, *self._others = results
        # For each step, the keys whose positions in the index on disk are known.
        self._anchors: list[list[_Anchor]] = [[] for _ in range(steps)]
        self._listed: dict[int, list[FoundDocument]] = {}

    def total(self) -> int:
        """Return the number of documents."""
        return sum(result.total() for result in self._results)

    def page(self, start: int, count: int) -> list[FoundDocument]:
        """Return the documents from position `start` on, in order, at most `count`."""
        page: list[FoundDocument] = []
        passed = 0
        for step in range(len(self._anchors)):
            # Most searches find all their documents in the first steps.
            if len(page) >= count or (step and passed >= self.total()):
                break
            if start and start >= self._size(step):
                start -= self._size(step)
            else:
                page += self._window(step, start, count - len(page))
                start = 0
            passed += self._size(step)
        return page

    def following(self, after: Key, count: int) -> list[FoundDocument]:
        """Return the documents that follow a key, in order, at most `count`.

        Only for a search with a single step.
        """
        return self._from(0, 0, after, count, remember=False)

    def _size(self, step: int) -> int:
        return sum(result.count(step) for result in self._results)

    def _new(self, step: int) -> list[FoundDocument]:
        """Return the documents of a step in the indexes in memory, in order."""
        if step not in self._listed:
            found = [
                FoundDocument(step, key, address, part)
                for part, result in enumerate(self._others, 1)
                for key, address in result.read_all(step)
            ]
            self._listed[step] = sorted(found, key=_key_of)
        return self._listed[step]

    def _window(self, step: int, start: int, count: int) -> list[FoundDocument]:
        position, key = self._come_near(step, start)
        skipped = start - self._position(step, position, key)
        return self._from(step, position, key, skipped + count)[skipped:]

    def _from(
        self, step: int, position: int, key: Key, needed: int, *, remember: bool = True
    ) -> list[FoundDocument]:
        """Return the documents of a step that follow a key, at most `needed`.

        `position` is the number of documents of the index on disk up to the key. The positions
        reached are remembered, unless it is unknown (`remember` is false).
        """
        found: list[FoundDocument] = []
        while len(found) < needed:
            limit = needed - len(found)
            hits = self._indexed.read(step, key or None, limit)
            is_end = len(hits) < limit
            end = None if is_end else hits[-1][0]
            found += self._put_together(step, key, end, hits)
            if end is None:
                break
            position, key = position + len(hits), end
            if remember:
                self._remember(step, position, key)
        return found[:needed]

    def _put_together(
        self, step: int, after: Key, end: Key | None, hits: list[tuple[Key, tantivy.DocAddress]]
    ) -> list[FoundDocument]:
        """Merge what was read from the index on disk with the other indexes, up to the same end."""
        new = self._new(step)
        found = [FoundDocument(step, key, address) for key, address in hits]
        begin = bisect_right(new, after, key=_key_of)
        newer = new[begin:] if end is None else new[begin : bisect_right(new, end, key=_key_of)]
        return sorted([*found, *newer], key=_key_of) if newer else found

    def _position(self, step: int, position: int, key: Key) -> int:
        """Return the position of a key in all indexes, from its position in the index on disk."""
        return position + bisect_right(self._new(step), key, key=_key_of)

    def _remember(self, step: int, position: int, key: Key) -> None:
        anchors = self._anchors[step]
        if len(anchors) < _MOST_ANCHORS and (position, key) not in anchors:
            insort(anchors, (position, key))

    def _come_near(self, step: int, start: int) -> _Anchor:
        """Return a key before a position, with few documents between them."""
        lower: _Anchor = (0, "")
        upper: tuple[int, Key | None] | None = None
        for position, key in list(self._anchors[step]):
            if self._position(step, position, key) > start:
                upper = (position, key)
                break
            lower = (position, key)
        if start - self._position(step, *lower) <= _NEAR:
            return lower
        if upper is None:
            upper = (self._indexed.count(step), None)
        for _ in range(_MOST_ROUNDS):
            near = self._position(step, *lower)
            if start - near <= _NEAR or upper[0] - lower[0] <= _NEAR:
                break
            keys = self._indexed.sample(step, lower[1] or None, upper[1], _SAMPLE)
            if not keys:
                break
            far = self._size(step) if upper[1] is None else self._position(step, upper[0], upper[1])
            share = (start - near) / max(far - near, 1)
            key = keys[min(max(int(share * len(keys)) - 1, 0), len(keys) - 1)]
            position = lower[0] + self._indexed.between(step, lower[1] or None, key)
            self._remember(step, position, key)
            if self._position(step, position, key) <= start:
                lower = (position, key)
            else:
                upper = (position, key)
        return lower


def _key_of(found: FoundDocument) -> Key:
    return found.key


_FACET_VALUES = 100
_COUNT_BYTES = 150
# Values of a facet field that are counted in an index in memory, which has fewer documents.
_MOST_NEWER = 10_000


class Plan:
    """A search over one snapshot of the indexes, cached while its pages are read."""

    def __init__(
        self,
        resolved: ResolvedSearch,
        results: Sequence[IndexResult],
        facets: Sequence[str],
        vocabulary: Vocabulary,
    ) -> None:
        """Prepare a search. The first of the `results` is that of the index on disk."""
        self.resolved = resolved
        self.merged = MergedResult(results, resolved.last_step + 1)
        self.evidence = Evidence(resolved.asked, vocabulary)
        self._results = results
        self._indexed, *self._others = results
        self._vocabulary = vocabulary
        self._facets = facets
        self._folders: dict[int, dict[str, tuple[int, int]]] = {}

    def size_bytes(self) -> int:
        """Return roughly how much memory the plan takes, with what was counted for it so far."""
        counted = sum(map(len, self.__dict__.get("_counted", {}).values()))
        folders = sum(map(len, self._folders.values()))
        return size_bytes(self.resolved.node) + _COUNT_BYTES * (counted + folders)

    def document(self, found: FoundDocument) -> Document:
        """Return a document that was found; about 0.05 ms."""
        return self._results[found.part].document(found.address)

    def urns(self, found: Sequence[FoundDocument]) -> list[str]:
        """Return the URNs of the documents found, which their keys contain."""
        fields = self.resolved.sort
        return [urn_of(fields, one.key) if fields else urn_in_order(one.key) for one in found]

    def uses(self, found: Sequence[FoundDocument]) -> list[float]:
        """Return for each document found the part of its score that comes from usage."""
        uses = [0.0] * len(found)
        for part, result in enumerate(self._results):
            at = [place for place, one in enumerate(found) if one.part == part]
            usages = result.usages([found[place].address for place in at]) if at else []
            for place, usage in zip(at, usages, strict=True):
                uses[place] = use_of(usage)
        return uses

    def count_facets(self) -> None:
        """Count the facets in advance, so that `facets` does not have to."""
        _ = self._counted

    @cached_property
    def _counted(self) -> dict[str, dict[str, int]]:
        counts = self._indexed.facets(self._facets)
        for result in self._others:
            newer = result.facets(self._facets, _MOST_NEWER, _MOST_NEWER)
            for name, found in newer.items():
                if found:
                    counts[name] = self._added(name, counts[name], found)
        return counts

    def facets(self) -> dict[str, tuple[dict[str, int], bool]]:
        """Return the counts of every facet field that has any, most frequent values first.

        Each comes with whether there are more values than these.
        """
        found: dict[str, tuple[dict[str, int], bool]] = {}
        for name, counted in self._counted.items():
            best = sorted(self._together(name, counted).items(), key=_by_count_and_name)
            if best:
                found[name] = dict(best[:_FACET_VALUES]), len(best) > _FACET_VALUES
        return found

    def _together(self, name: str, counts: dict[str, int]) -> dict[str, int]:
        """Merge counts of values that a filter does not distinguish, under the most frequent."""
        trait = self._vocabulary.trait(name)
        found: dict[str, tuple[str, int]] = {}
        for value, count in sorted(counts.items(), key=lambda one: (-one[1], one[0])):
            key = needle(trait, value)
            shown, before = found.get(key, (value, 0))
            found[key] = (shown, before + count)
        return dict(found.values())

    def folders(self, depth: int) -> dict[str, tuple[int, int]]:
        """Return the folders at a depth with their counts, as `IndexResult.folders` does."""
        if depth not in self._folders:
            found: dict[str, tuple[int, int]] = {}
            for result in self._results:
                for key, (count, deeper) in result.folders(depth).items():
                    before = found.get(key, (0, 0))
                    found[key] = (before[0] + count, before[1] + deeper)
            self._folders[depth] = found
        return self._folders[depth]

    def _added(self, name: str, indexed: dict[str, int], newer: dict[str, int]) -> dict[str, int]:
        counts = dict(indexed)
        missing = [value for value in newer if value not in counts]
        if missing and len(counts) >= LISTED_VALUES:
            # The index on disk may have these values, but not among its most frequent.
            counts |= self._indexed.counts_of({name: missing})[name]
        for value, count in newer.items():
            counts[value] = counts.get(value, 0) + count
        return counts


def _by_count_and_name(counted: tuple[str, int]) -> tuple[int, str, str]:
    """Return a key that sorts by count, highest first, then by name, s2 before s10."""
    value, count = counted
    return -count, _name_key(value), value


# The same values occur on every page, and in every search while somebody types.
@cached_short(4 << 20)
def _name_key(value: str) -> str:
    return natural_key(value)
