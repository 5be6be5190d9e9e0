"""One search carried out: over a state of the index, and over what is pending at the moment."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from explorer.metadata.names import natural_key
from explorer.server.cache import cached_short
from explorer.server.search.analysed import Analysed
from explorer.server.search.evidence import Evidence
from explorer.server.search.fields import Vocabulary
from explorer.server.search.forms import needle
from explorer.server.search.listing import LISTED_VALUES, Listing
from explorer.server.search.merging import Anchors, Found, Merged
from explorer.server.search.overlay import Pending
from explorer.server.search.query import size_bytes
from explorer.server.search.sorting import sort_key
from explorer.server.search.wanted import Wanted

__all__ = ["Plan", "Weighed"]


_FACET_VALUES = 100
_COUNT_BYTES = 150


@dataclass(frozen=True, slots=True)
class Weighed:
    """What pending changes do to one search: the documents that no longer stand for it in the
    index, and those that do now, each with its step."""

    old: tuple[tuple[int, Analysed], ...]
    new: tuple[tuple[int, Analysed], ...]


class Plan:
    """A search over one state of the index, kept while pages of it are asked for. What the index
    has is counted once, what is pending anew each time."""

    def __init__(
        self, wanted: Wanted, listing: Listing, facets: Sequence[str], vocabulary: Vocabulary
    ) -> None:
        self.wanted = wanted
        self.listing = listing
        self.evidence = Evidence(wanted.asked, vocabulary)
        self._vocabulary = vocabulary
        self._facets = facets
        self._folders: dict[int, dict[str, tuple[int, int]]] = {}
        self._step_of = wanted.grader()
        self._anchors = [Anchors() for _ in range(wanted.last_step + 1)]

    def size_bytes(self) -> int:
        """Return about how much memory the plan takes, with what was counted for it so far."""
        counted = sum(map(len, self.__dict__.get("_indexed", {}).values()))
        folders = sum(map(len, self._folders.values()))
        return size_bytes(self.wanted.node) + _COUNT_BYTES * (counted + folders)

    def weigh(self, pending: Iterable[Pending], read: Callable[[str], Analysed | None]) -> Weighed:
        """Which pending changes matter here; a few microseconds each."""
        old: list[tuple[int, Analysed]] = []
        new: list[tuple[int, Analysed]] = []
        for change in pending:
            for document, steps in ((change.old(read), old), (change.new, new)):
                if document is not None:
                    step = self._step_of(document)
                    if step is not None:
                        steps.append((step, document))
        return Weighed(tuple(old), tuple(new))

    def merged(self, weighed: Weighed) -> Merged:
        """The result of both layers."""
        old: list[list[str]] = [[] for _ in self._anchors]
        new: list[list[Found]] = [[] for _ in self._anchors]
        for step, document in weighed.old:
            old[step].append(self._key(document))
        for step, document in weighed.new:
            new[step].append(Found(step, self._key(document), document))
        return Merged(self.listing, self._anchors, old, new)

    def _key(self, analysed: Analysed) -> str:
        fields = self.wanted.sorted_by
        if not fields:
            return analysed.key
        return sort_key(fields, analysed.document, self._vocabulary)

    def count_facets(self) -> None:
        """Count what the index has of the facets, for `facets` to go on with."""
        _ = self._indexed

    @cached_property
    def _indexed(self) -> dict[str, dict[str, int]]:
        return self.listing.facets(self._facets)

    def facets(self, weighed: Weighed) -> dict[str, tuple[dict[str, int], bool]]:
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

    def folders(self, weighed: Weighed, depth: int) -> dict[str, tuple[int, int]]:
        """The folders at a depth with what is below them, as `Listing.folders` tells it."""
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
            self._folders[depth] = self.listing.folders(depth)
        return self._folders[depth]

    def _changed(
        self, name: str, indexed: dict[str, int], change: dict[str, int]
    ) -> dict[str, int]:
        counts = dict(indexed)
        missing = [value for value in change if value not in counts]
        if missing and len(counts) >= LISTED_VALUES:
            # Values that changed may be in the index without being among its most frequent.
            counts |= self.listing.counts_of({name: missing})[name]
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
