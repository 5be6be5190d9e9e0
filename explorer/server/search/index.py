"""The search index: a tantivy index on disk and, in front of it, what is newer in memory.

A change can be found as soon as `apply` returned. A thread of its own brings the changes into the
index on disk, with the offset of the change log that they are good for; after a crash the caller
replays the log from `committed_offset`. Reading never waits for a commit.
"""

import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from explorer.errors import ServerFault
from explorer.metadata.filters import Filter
from explorer.metadata.registry import Registry
from explorer.server.search.analysed import USED_MOST, Analysed, usage_step
from explorer.server.search.document import Document
from explorer.server.search.fields import Vocabulary
from explorer.server.search.folders import FolderQuery, Folders, listed
from explorer.server.search.layers import Layers, View
from explorer.server.search.listing import Listing
from explorer.server.search.merging import Found
from explorer.server.search.page import (
    Facet,
    SearchHit,
    SearchPage,
    SearchQuery,
    SortBy,
    Suggestion,
)
from explorer.server.search.plan import Plan
from explorer.server.search.sorted import Sorted
from explorer.server.search.sorting import check_key, urn_of
from explorer.server.search.suggestion import suggested_name
from explorer.server.search.wanted import Wanted, read_text, read_typed

__all__ = [
    "Facet",
    "SearchHit",
    "SearchIndex",
    "SearchPage",
    "SearchQuery",
    "SortBy",
    "Suggestion",
]

_PLANS = 64
_SUGGESTED_FROM = 2_000
_URNS_AT_ONCE = 20_000
# In a smaller index the facets are counted before another thread would have begun.
_BIG = 5_000

_Key = tuple[int, Wanted]


class SearchIndex:
    """Finds entities by text, filters and the beginnings of names. Any thread may call."""

    def __init__(self, directory: Path | None, registry: Registry) -> None:
        """Open the index in a directory, or make it; in memory without one.

        One of another format, or a damaged one, is thrown away and made anew with
        `committed_offset` 0. Raises `Unusable` when another process has it open or the directory
        cannot be written.
        """
        self._vocabulary = Vocabulary(registry)
        self._layers = Layers(directory, self._vocabulary)
        self._plans: OrderedDict[_Key, Plan] = OrderedDict()
        self._plans_lock = threading.Lock()
        self._counters = ThreadPoolExecutor(2, thread_name_prefix="search-facets")

    @property
    def committed_offset(self) -> int:
        """The offset of the change log up to which the index on disk holds everything."""
        return self._layers.committed_offset

    def apply(self, offset: int, documents: Iterable[Document], gone: Iterable[str] = ()) -> None:
        """Put documents in the place of those of the same URN, and drop the URNs that are gone.

        `offset` is that of the change log up to which this brings the index. Searches see the
        change when this returns; no commit is waited for. About 0.1 ms a document.
        """
        self._layers.apply(offset, documents, gone)

    def search(self, query: SearchQuery) -> SearchPage:
        """One page of what a query finds, best first or as it says, with the counts over the whole
        result.

        Never raises for a text. Raises `UnknownName` for an entity type or a field of the filter
        or the sort that is none, `InvalidInput` for a filter that compares a number with something
        else and for an `after` of another search, and `ServerFault` when the index on disk cannot
        be read.
        """
        types = query.entity_types or None
        wanted = read_text(
            query.text,
            types,
            query.filter,
            self._vocabulary,
            include_removed=query.include_removed,
            sort=query.sort,
        )
        if query.after is not None:
            check_key(wanted.sorted_by, query.after)
        try:
            return self._searched(query, wanted)
        except ValueError as error:
            raise ServerFault(f"the search index cannot be read: {error}") from error

    def document(self, urn: str) -> Document | None:
        """What the index holds of an entity, whichever layer has it."""
        view = self._layers.view()
        for change in view.pending:
            if change.urn == urn:
                return change.new.document if change.new else None
        found = self._layers.read(view, urn)
        return found.document if found else None

    def found_urns(self, query: SearchQuery) -> set[str]:
        """The URNs of all that a query finds, wherever its page is; about 1 µs each. Raises as
        `search`."""
        wanted = read_text(
            query.text,
            query.entity_types or None,
            query.filter,
            self._vocabulary,
            include_removed=query.include_removed,
            sort=(SortBy("urn"),),
        )
        try:
            view = self._layers.view()
            plan = self._plan(wanted, view)
            merged = plan.merged(plan.weigh(view.pending, partial(self._layers.read, view)))
            found: set[str] = set()
            after = ""
            while page := merged.following(after, _URNS_AT_ONCE):
                found.update(urn_of(one.key) for one in page)
                after = page[-1].key
        except ValueError as error:
            raise ServerFault(f"the search index cannot be read: {error}") from error
        return found

    def autocomplete(
        self,
        text: str,
        entity_types: Sequence[str],
        filter: Filter,  # noqa: A002, the name that requests on the wire have for it
        start: int,
        limit: int,
    ) -> list[Suggestion]:
        """Names in which every word of a text begins a word, best first, none twice.

        Removed entities are not suggested. Looks at the 2,000 best entities. Raises as `search`.
        """
        wanted = read_typed(text, entity_types or None, filter, self._vocabulary)
        try:
            return self._suggested(wanted, start + limit)[start:]
        except ValueError as error:
            raise ServerFault(f"the search index cannot be read: {error}") from error

    def folders(self, query: FolderQuery) -> Folders:
        """The folders at a path that hold what a query finds, in the order of their ids, 10,000 at
        most; none where nothing is below it. Raises as `search`."""
        wanted = self._wanted_below(query, query.path)
        try:
            view = self._layers.view()
            plan = self._plan(wanted, view)
            weighed = plan.weigh(view.pending, partial(self._layers.read, view))
            found = plan.folders(weighed, len(query.path))
            return Folders(plan.merged(weighed).total(), tuple(listed(found)))
        except ValueError as error:
            raise ServerFault(f"the search index cannot be read: {error}") from error

    def folder_urn(self, query: FolderQuery, folder: str) -> str | None:
        """The URN of the entity behind one of the folders of `folders`, if anybody named it. Raises
        as `search`."""
        path = (*query.path, folder)
        wanted = self._wanted_below(query, path)
        try:
            view = self._layers.view()
            plan = self._plan(wanted, view)
            merged = plan.merged(plan.weigh(view.pending, partial(self._layers.read, view)))
            for found in merged.page(0, 1):
                return self._document(found, plan).folders[len(path) - 1][1] or None
        except ValueError as error:
            raise ServerFault(f"the search index cannot be read: {error}") from error
        return None

    def total(self, entity_types: Sequence[str] | None = None) -> int:
        """How many entities there are, of some types or of all; the removed do not count."""
        wanted = read_text(
            "", entity_types or None, Filter(), self._vocabulary, include_removed=False
        )
        try:
            view = self._layers.view()
            plan = self._plan(wanted, view)
            return plan.merged(plan.weigh(view.pending, partial(self._layers.read, view))).total()
        except ValueError as error:
            raise ServerFault(f"the search index cannot be read: {error}") from error

    def holds(self, document: Document) -> bool:
        """Whether exactly this is held under its URN, once; about 0.2 ms."""
        return self._layers.holds(document)

    def urns(self) -> Iterator[str]:
        """The URN of every document held, in no order; once for each document."""
        yield from self._layers.urns()

    def flush(self) -> None:
        """Bring all that is pending into the index on disk and commit. Raises `Unusable` when it
        cannot be written."""
        self._layers.drain()

    def close(self) -> None:
        """Let go of the directory. What was not flushed is for the caller to replay."""
        self._layers.close()
        self._counters.shutdown()

    def _wanted_below(self, query: FolderQuery, path: tuple[str, ...]) -> Wanted:
        return read_text(
            query.text,
            query.entity_types or None,
            query.filter,
            self._vocabulary,
            include_removed=False,
            below=path,
        )

    def _searched(self, query: SearchQuery, wanted: Wanted) -> SearchPage:
        view = self._layers.view()
        plan = self._plan(wanted, view)
        if query.facets and view.searcher.num_docs >= _BIG:
            # Counting lets other threads run: let it go on beside the search for the page.
            counting = self._counters.submit(plan.count_facets)
        else:
            counting = None
        weighed = plan.weigh(view.pending, partial(self._layers.read, view))
        merged = plan.merged(weighed)
        if query.after is None:
            found = merged.page(max(query.start, 0), max(query.count, 0))
        else:
            found = merged.following(query.after, max(query.count, 0))
        hits = tuple(self._hit(one, plan) for one in found)
        if counting is not None:
            counting.result()
        facets = plan.facets(weighed) if query.facets else {}
        last = found[-1].key if found and wanted.sorted_by else None
        return SearchPage(merged.total(), hits, self._labelled(facets, wanted), last)

    def _suggested(self, wanted: Wanted, count: int) -> list[Suggestion]:
        view = self._layers.view()
        plan = self._plan(wanted, view)
        merged = plan.merged(plan.weigh(view.pending, partial(self._layers.read, view)))
        found: dict[str, Suggestion] = {}
        start, size = 0, min(count + 10, _SUGGESTED_FROM)
        while len(found) < count and start < _SUGGESTED_FROM:
            page = merged.page(start, size)
            for one in page:
                document = self._document(one, plan)
                name = suggested_name(wanted.asked, document, self._vocabulary)
                found.setdefault(name, Suggestion(name, document.urn))
            if len(page) < size:
                break
            start += size
            size = min(size * 4, 500)
        return list(found.values())[:count]

    def _plan(self, wanted: Wanted, view: View) -> Plan:
        key = (view.commit, wanted)
        with self._plans_lock:
            plan = self._plans.get(key)
            if plan is not None:
                self._plans.move_to_end(key)
                return plan
        layers = self._layers
        kind = Sorted if wanted.sorted_by else Listing
        listing = kind(view.searcher, layers.terms, self._vocabulary, wanted)
        facets = tuple(self._vocabulary.facets(wanted.types))
        plan = Plan(wanted, listing, facets, self._vocabulary)
        with self._plans_lock:
            for old in [one for one in self._plans if one[0] != view.commit]:
                del self._plans[old]
            self._plans[key] = plan
            while len(self._plans) > _PLANS:
                self._plans.popitem(last=False)
        return plan

    def _hit(self, found: Found, plan: Plan) -> SearchHit:
        document = self._document(found, plan)
        wanted = plan.wanted
        used = usage_step(document.usage) / (USED_MOST + 1)
        score = 1.0 + wanted.last_step - found.step + used
        return SearchHit(document.urn, score, plan.evidence.of(document))

    def _document(self, found: Found, plan: Plan) -> Document:
        if isinstance(found.place, Analysed):
            return found.place.document
        return plan.listing.document(found.place)

    def _labelled(self, counts: dict[str, dict[str, int]], wanted: Wanted) -> tuple[Facet, ...]:
        labels = self._vocabulary.facets(wanted.types)
        return tuple(Facet(name, labels[name], found) for name, found in counts.items())
