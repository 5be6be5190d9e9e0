"""The search index: a tantivy index on disk, and in-memory indexes for newer changes.

A change can be found as soon as `apply` has returned. A background thread writes the changes to the
index on disk, with the offset of the change log that they reach; after a crash the caller replays
the log from `committed_offset`. Reads never wait for a commit.

When tantivy fails, the checksums of its files decide what happens. If the files are damaged, the
index is suspended, and searches raise `Busy` until the owner has rebuilt it (`on_damage`, `renew`,
`resume`). If the files are intact, only the one search fails.
"""

import logging
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

import tantivy
from cachetools import LRUCache

from explorer.errors import Busy, CatalogError, InvalidInput, ServerFault
from explorer.metadata.registry import Registry
from explorer.query.filters import Filter
from explorer.server.search import IS_RENEWED
from explorer.server.search.analysis import (
    analyse,
    chunks,
    compose,
    join_names,
    names_of,
    split,
    urn_in_order,
    use_of,
    word_line,
)
from explorer.server.search.columns import SearchedTables, weigh_words
from explorer.server.search.document import (
    Document,
    FolderListing,
    FolderQuery,
    Indexed,
    list_folders,
)
from explorer.server.search.engine import EngineFailed
from explorer.server.search.entries import make_entry
from explorer.server.search.evidence import Evidence, has_name, has_word, name_query
from explorer.server.search.fields import Vocabulary
from explorer.server.search.layers import (
    STATE,
    IndexPart,
    IndexSnapshot,
    Layers,
    MemoryIndex,
)
from explorer.server.search.loosened import (
    FULL_PAGE,
    Frequencies,
    Loosened,
    WeighedWord,
    add_alike,
    find_most,
    weigh,
)
from explorer.server.search.meaning import MeaningIndex
from explorer.server.search.query import (
    Among,
    And,
    FacetCounts,
    FoundPage,
    How,
    NameCompletion,
    Node,
    Not,
    OptionalWords,
    Or,
    Phrase,
    PointedAt,
    Present,
    SearchHit,
    SearchQuery,
    SortBy,
    Word,
    all_of,
    any_of,
    size_bytes,
)
from explorer.server.search.relevance import ResolvedSearch, read_text, read_typed, reason
from explorer.server.search.result import FoundDocument, IndexResult, Plan, SortedIndexResult
from explorer.server.search.sort_keys import SortField, check_key, resolve_sort, urn_of
from explorer.server.search.terms import Terms, mark, read_document
from explorer.server.store import Store


def name_to_suggest(typed: Node, document: Document, vocabulary: Vocabulary) -> str:
    """Return the first name of a document that contains all words typed, else its display name."""
    nodes = typed.nodes if isinstance(typed, And) else (typed,)
    tests = [has_word(node, exact=False) for node in nodes if isinstance(node, Word)]
    for name in names_of(vocabulary, document):
        line = (word_line((name, *join_names((name,)))),)
        if all(test(line) for test in tests):
            return name
    return document.name


def _matching(
    parts: Iterable[IndexPart],
    terms: Terms,
    vocabulary: Vocabulary,
    search: ResolvedSearch,
    among: Sequence[str] | None = None,
) -> set[str]:
    """Return the URNs that a search finds, in no particular order.

    If `among` is given, only these URNs are searched.
    """
    unranked = replace(search, steps=(), sort=())
    results = (
        IndexResult(part.searcher, terms, vocabulary, unranked, part.hidden, among)
        for part in parts
    )
    return {urn_in_order(key) for result in results for key, _ in result.read_all(0)}


# Words shorter than `_SHORTEST` are not corrected: too many words are similar. An edit is a letter
# inserted, deleted or replaced, or two adjacent letters swapped; two edits are allowed from
# `_SHORTEST_OF_TWO` letters on.
_SHORTEST = 5
_SHORTEST_OF_TWO = 8
# The number of documents whose words are considered as corrections, the most used first.
_MOST_DOCUMENTS = 60
_RUN = re.compile(r"[^\W_]+")


class Spelling:
    """A corrector of misspelt words that takes its corrections from the words of one snapshot."""

    def __init__(self, view: IndexSnapshot, terms: Terms, vocabulary: Vocabulary) -> None:
        self._view = view
        self._terms = terms
        self._vocabulary = vocabulary

    def correct(self, text: str, text_query: Node, is_found: Callable[[Word], bool]) -> str | None:
        """Return a text with its unknown words corrected.

        A word is unknown if `is_found` is false for it. Returns `None` if one of them cannot be
        corrected, or if nothing changes.
        """
        corrections: dict[str, str] = {}
        for word in dict.fromkeys(_words(text_query)):
            if not is_found(word):
                nearest_words = [self.nearest(part) for part in word.parts]
                if None in nearest_words:
                    return None
                corrections[word.text] = " ".join(filter(None, nearest_words))
        if not corrections:
            return None

        def correct_run(run: re.Match[str]) -> str:
            return corrections.get("".join(split_typed(run.group())), run.group())

        text = compose(text)
        changed = _RUN.sub(correct_run, text)
        return changed if changed != text else None

    def nearest(self, word: str) -> str | None:
        """Return a word itself if the snapshot has it, else the one that is spelt most like it."""
        if len(word) < _SHORTEST or not word.isalpha():
            return None if not self._has(word) else word
        if self._has(word):
            return word
        for most in range(1, 2 + (len(word) >= _SHORTEST_OF_TWO)):
            counts: dict[str, int] = {}
            for line_words in self._near(word, most):
                for line_word in line_words:
                    if abs(len(line_word) - len(word)) <= most and line_word.isalpha():
                        counts[line_word] = counts.get(line_word, 0) + 1
            near = [count for count in counts if distance(count, word, most) <= most]
            if near:
                return min(
                    near,
                    key=lambda term: (term[0] != word[0], -self._count(term), term),
                )
        return None

    def _near(self, word: str, most: int) -> Iterator[Iterable[str]]:
        """Yield the words of each document that may contain a word similar to this one."""
        query = tantivy.Query.fuzzy_term_query(
            self._terms.schema, "words", word, distance=most, transposition_cost_one=True
        )
        for part in self._view.parts:
            limit = max(1, min(_MOST_DOCUMENTS, part.searcher.num_docs))
            hits = part.searcher.search(
                query, limit, count=False, order_by_field="order", order=tantivy.Order.Asc
            ).hits
            for _, address in hits:
                document = read_document(part.searcher, address)
                yield analyse(self._vocabulary, document).words.split()

    def _has(self, word: str) -> bool:
        return self._count(word) > 0

    def _count(self, word: str) -> int:
        """Return about how many documents contain a word."""
        return sum(part.searcher.doc_freq("words", word) for part in self._view.parts)


def split_typed(run: str) -> tuple[str, ...]:
    """Return the words of a run of letters and digits as it was typed."""
    return tuple(part for chunk in chunks(run) for part in split(chunk))


def distance(word: str, other_word: str, most: int) -> int:
    """Return the edit distance of two words, or `most` + 1 where it is greater than `most`."""
    before: list[int] = []
    row = list(range(len(other_word) + 1))
    for at, char in enumerate(word, 1):
        older, before, row = before, row, [at]
        for to, target in enumerate(other_word, 1):
            cost = min(row[-1] + 1, before[to] + 1, before[to - 1] + (char != target))
            if at > 1 and to > 1 and char == other_word[to - 2] and word[at - 2] == target:
                cost = min(cost, older[to - 2] + 1)
            row.append(cost)
        if min(row) > most + 1:
            return most + 1
    return min(row[-1], most + 1)


def _words(node: Node) -> Iterator[Word]:
    """Yield the words of a query that are not negated."""
    match node:
        case Word():
            yield node
        case And() | Or():
            for inner in node.nodes:
                yield from _words(inner)
        case _:
            pass


_log = logging.getLogger("explorer.server.search")

P = ParamSpec("P")
T = TypeVar("T")
_PLANS_BYTES = 32 * 1024 * 1024
# A larger query is specific to one request, and planned each time.
_LARGEST_QUERY_BYTES = 64 * 1024
_RETRY_AFTER_SECONDS = 5.0
# The last result that a page by position may have, as in Elasticsearch (max_result_window).
_MOST_PAGED = 10_000
_SUGGESTED_FROM = 2_000
_URNS_AT_ONCE = 20_000
_MOST_NAMED = 1_000
# Below this, counting the facets takes less time than starting another thread.
_BIG = 5_000
_MOST_LOOSENED = 64
# If a search has more results, the documents nearest in meaning are looked for in the whole index.
_FEW_TO_COMPARE = 5_000
_NEAREST = 500
_MOST_EXPANDED = 3
_SHORTEST_PART = 3


@dataclass(frozen=True, slots=True)
class LoosenedPlan:
    """The additional results of a search, which have most of its words or a similar meaning, in
    `best`. `counted` is the plan of all results together; `evidence` finds the matching values of
    the additional ones."""

    best: Loosened
    counted: Plan
    evidence: Evidence


def _over_one_snapshot(
    read: Callable[Concatenate["SearchIndex", P], T],
) -> Callable[Concatenate["SearchIndex", P], T]:
    """Have a method read the same snapshot wherever it reads the index."""

    @wraps(read)
    def read_one(self: "SearchIndex", /, *args: P.args, **kwargs: P.kwargs) -> T:
        with self._layers.one_view():
            return read(self, *args, **kwargs)

    return read_one


class SearchIndex:
    """The search engine on tantivy; see `search.SearchEngine`."""

    def __init__(
        self,
        directory: Path | None,
        registry: Registry,
        source: Store | None = None,
        meaning: MeaningIndex | None = None,
    ) -> None:
        """Open the index in a directory, and create it if there is none; `None` keeps it in memory.
        With `meaning`, documents are also found by meaning; it is closed with the index.

        An index of another format, of another catalog than `source`, or a damaged one, is discarded
        and created again, with `committed_offset` 0. Raises `Unusable` when another process has it
        open or the directory cannot be written.
        """
        self._directory = directory
        self._source = source
        self._vocabulary = Vocabulary(registry)
        self._layers = self._open_layers()
        self._judging = threading.Lock()
        self._is_verified = self._layers.is_verified
        self.on_damage: Callable[[], None] | None = None
        self.before_read: Callable[[], object] = lambda: None
        self.is_suspended = False
        self._reason = IS_RENEWED
        self._retry_after_seconds = _RETRY_AFTER_SECONDS
        self._plans: LRUCache[ResolvedSearch, Plan] = LRUCache(_PLANS_BYTES, Plan.size_bytes)
        # The keys are a search and the version of the vectors.
        self._loosened: LRUCache[tuple[ResolvedSearch, int], LoosenedPlan | None]
        self._loosened = LRUCache(_MOST_LOOSENED)
        self._planned_for = (-1, -1)
        self._plans_lock = threading.Lock()
        self._counters = ThreadPoolExecutor(2, thread_name_prefix="search-facets")
        self.meaning = meaning
        if meaning is not None:
            meaning.start(self.document, self.urns)

    @property
    def committed_offset(self) -> int:
        return self._layers.committed_offset

    def verify(self) -> None:
        with self._judging:
            if self._is_verified:
                return
            if not self.is_suspended:
                self._suspend_for(self._layers.verify())
            self._is_verified = True

    def apply(
        self, offset: int, documents: Iterable[Indexed], removed_urns: Iterable[str] = ()
    ) -> None:
        if self.meaning is None:
            self._layers.apply(offset, documents, removed_urns)
            return
        urns = [*removed_urns]

        def listed() -> Iterator[Indexed]:
            for document in documents:
                urns.append(document.urn)
                yield document

        self._layers.apply(offset, listed(), tuple(urns))
        self.meaning.note(urns, offset)

    @_over_one_snapshot
    def search(self, query: SearchQuery) -> FoundPage:
        resolved = self._resolve(query)
        if query.after is not None:
            check_key(resolved.sort, query.after)
        elif (end := query.start + query.count) > _MOST_PAGED:
            raise InvalidInput(
                f"the page ends at result {end}, and pages by position end at {_MOST_PAGED}; to "
                "read on, scroll (scrollAcrossEntities, in REST or GraphQL), or narrow the search"
            )
        with self._reading() as layers:
            page = self._search(query, resolved, layers)
            is_question = resolved.optional is not None and resolved.optional.is_question
            is_found = page.complete if page.complete is not None else page.total
            corrected = None
            if not is_found and not is_question:
                corrected = self._correct(query, resolved, layers)
        if corrected is None:
            return page
        corrected_query = replace(query, text=corrected)
        with self._reading() as layers:
            corrected_page = self._search(corrected_query, self._resolve(corrected_query), layers)
        is_found = corrected_page.complete != 0 and corrected_page.total
        return replace(corrected_page, corrected=corrected) if is_found else page

    def document(self, urn: str) -> Document | None:
        with self._reading() as layers:
            return layers.document(urn)

    @_over_one_snapshot
    def find_tables(self, query: SearchQuery, most: int) -> SearchedTables:
        query = replace(query, entity_types=("dataset",), start=0, count=0, facets=False, sort=())
        page = self.search(query)
        corrected = page.corrected
        query = replace(query, text=corrected or query.text)
        resolved = self._resolve(query)
        with self._reading() as layers:
            view = layers.view()
            plan = self._plan(resolved, view, layers)
            loosened = self._loosen(plan, view, layers)
            places = plan.merged.page(0, most)
            total = plan.merged.total()
            if loosened is not None:
                total = loosened.counted.merged.total()
                places += loosened.best.documents[: most - len(places)]
            optional = resolved.optional
            spelling = Spelling(view, layers.terms, self._vocabulary)
            frequencies = Frequencies(view.parts, layers.terms)

            def weigh_asked(optional_words: OptionalWords) -> tuple[WeighedWord, ...]:
                return weigh(optional_words, frequencies, self._expand, spelling.nearest)

            return SearchedTables(
                tuple(map(plan.document, places)),
                total,
                resolved.node,
                weigh_words(resolved.text_query, optional, weigh_asked),
                optional.words if optional is not None else (),
                optional is not None,
                optional is not None and optional.is_question,
                corrected,
            )

    @_over_one_snapshot
    def find_urns(self, query: SearchQuery) -> set[str]:
        return self._urns(self._resolve(replace(query, sort=(SortBy("urn"),))))

    def matching(self, urns: Sequence[str], searches: Sequence[ResolvedSearch]) -> list[set[str]]:
        with self._reading() as layers:
            parts = layers.view().parts
            return [
                _matching(parts, layers.terms, self._vocabulary, search, urns)
                for search in searches
            ]

    def matching_documents(
        self, documents: Iterable[Document], searches: Sequence[ResolvedSearch]
    ) -> list[set[str]]:
        terms = self._layers.terms
        memory = MemoryIndex(terms, self._vocabulary)
        for document in documents:
            entry = make_entry(terms, self._vocabulary, document)
            memory.put(document.urn, document, entry)
        memory.add(memory.take())
        searcher = memory.commit()
        parts = [] if searcher is None else [IndexPart(searcher)]
        return [_matching(parts, terms, self._vocabulary, search) for search in searches]

    def urns_with(self, field: str) -> set[str]:
        in_order = resolve_sort((SortBy("urn"),), self._vocabulary, frozenset({"urn"}))
        present = Present(field)
        return self._urns(
            ResolvedSearch(present, present, (), None, include_removed=True, sort=in_order)
        )

    def _urns(self, resolved: ResolvedSearch) -> set[str]:
        with self._reading() as layers:
            merged = self._plan(resolved, layers.view(), layers).merged
            urns: set[str] = set()
            after = ""
            while page := merged.following(after, _URNS_AT_ONCE):
                urns.update(urn_of(resolved.sort, document.key) for document in page)
                after = page[-1].key
        return urns

    def names(self, types: Sequence[str], how: How, text: str) -> tuple[str, ...]:
        entity_types = tuple(
            sorted(type_ for type_ in types if type_ in self._vocabulary.registry.entities)
        )
        node = name_query(entity_types, how, text)
        resolved = ResolvedSearch(
            node, node, (), entity_types, include_removed=True, sort=(SortField("urn"),)
        )
        with self._reading() as layers:
            plan = self._plan(resolved, layers.view(), layers)
            documents = map(plan.document, plan.merged.page(0, _MOST_NAMED))
            return tuple(
                document.urn
                for document in documents
                if has_name(entity_types, how, text, document, self._vocabulary)
            )

    @_over_one_snapshot
    def autocomplete(
        self,
        text: str,
        entity_types: Sequence[str],
        filter: Filter,
        start: int,
        limit: int,
    ) -> list[NameCompletion]:
        resolved = read_typed(text, entity_types or None, filter, self._vocabulary, self.names)
        with self._reading() as layers:
            return self._suggest(resolved, start + limit, layers)[start:]

    @property
    def vocabulary(self) -> Vocabulary:
        return self._vocabulary

    @_over_one_snapshot
    def folders(self, query: FolderQuery) -> FolderListing:
        resolved = self._resolve_below(query, query.path)
        with self._reading() as layers:
            view = layers.view()
            plan = self._plan(resolved, view, layers)
            folders = plan.folders(len(query.path))
            self._keep(plan, view)
            return FolderListing(plan.merged.total(), tuple(list_folders(folders)))

    @_over_one_snapshot
    def folder_urn(self, query: FolderQuery, folder: str) -> str | None:
        path = (*query.path, folder)
        resolved = self._resolve_below(query, path)
        with self._reading() as layers:
            plan = self._plan(resolved, layers.view(), layers)
            for document in plan.merged.page(0, 1):
                return plan.document(document).folders[len(path) - 1][1] or None
        return None

    def total(self, entity_types: Sequence[str] | None = None) -> int:
        resolved = read_text(
            "", entity_types or None, Filter(), self._vocabulary, include_removed=False
        )
        with self._reading() as layers:
            return self._plan(resolved, layers.view(), layers).merged.total()

    def has_document(self, document: Document) -> bool:
        with self._reading() as layers:
            return layers.has_document(document)

    def urns(self) -> Iterator[str]:
        with self._reading() as layers:
            yield from layers.urns()

    def flush(self) -> None:
        self._layers.drain()

    def suspend(self, reason: str = IS_RENEWED, retry_after_seconds: float = 0) -> None:
        self.is_suspended = True
        self._reason = reason
        self._retry_after_seconds = max(retry_after_seconds, _RETRY_AFTER_SECONDS)

    def renew(self) -> None:
        self.is_suspended = True
        self._layers.close()
        if self._directory is not None:
            (self._directory / STATE).unlink(missing_ok=True)
        self._layers = self._open_layers()
        self._is_verified = self._layers.is_verified

    def resume(self) -> None:
        self.is_suspended = False

    def find_damage(self) -> list[str]:
        return self._layers.find_damage()

    def close(self) -> None:
        if self.meaning is not None:
            self.meaning.close()
        self._layers.close()
        self._counters.shutdown()

    def _open_layers(self) -> Layers:
        return Layers(self._directory, self._vocabulary, self._source, self._examine)

    @contextmanager
    def _reading(self) -> Iterator[Layers]:
        """Provide the layers for reading, and convert errors of tantivy into `CatalogError`."""
        if not self._is_verified:
            self.verify()
        if self.is_suspended:
            raise self._busy()
        layers = self._layers
        if not layers.holds_view:
            self.before_read()
        try:
            yield layers
        except EngineFailed as error:
            raise self._judge(error, layers) from error
        except ValueError as error:
            raise ServerFault(f"the search index cannot be read: {error}") from error

    def _judge(self, error: EngineFailed, layers: Layers) -> CatalogError:
        """Return the error to raise after a failure of the engine.

        `Busy` if the index was damaged and is now suspended, or if it was replaced meanwhile;
        `ServerFault` if its files are intact.
        """
        with self._judging:
            if layers is self._layers and not self.is_suspended:
                self._suspend_for(self._layers.find_damage())
        if layers is not self._layers or self.is_suspended:
            return self._busy()
        return ServerFault(
            f"the search engine failed ({error}) although its index is intact: this is a bug; "
            "report it together with the search"
        )

    def _busy(self) -> Busy:
        return Busy(self._reason, retry_after_seconds=self._retry_after_seconds)

    def _examine(self) -> None:
        """After a failed write, check for damage in a thread, if `on_damage` is set."""

        def examine() -> None:
            with self._judging:
                if not self.is_suspended:
                    self._suspend_for(self._layers.find_damage())

        if self.on_damage is not None:
            threading.Thread(target=examine, name="search-examination", daemon=True).start()

    def _suspend_for(self, problems: list[str]) -> None:
        """Suspend the index and have it rebuilt if there are problems."""
        if not problems:
            return
        self.is_suspended = True
        _log.error(
            "the search index in %s is damaged: %s; searches are refused until it is rebuilt",
            self._directory,
            "; ".join(problems[:3]),
        )
        if self.on_damage is not None:
            self.on_damage()

    def _resolve_below(self, query: FolderQuery, path: tuple[str, ...]) -> ResolvedSearch:
        return read_text(
            query.text,
            query.entity_types or None,
            query.filter,
            self._vocabulary,
            include_removed=False,
            below=path,
            names=self.names,
            expand=self._expand,
        )

    def _resolve(self, query: SearchQuery) -> ResolvedSearch:
        return read_text(
            query.text,
            query.entity_types or None,
            query.filter,
            self._vocabulary,
            include_removed=query.include_removed,
            sort=query.sort,
            also_counted=query.also_counted,
            names=self.names,
            expand=self._expand,
        )

    def _correct(self, query: SearchQuery, resolved: ResolvedSearch, layers: Layers) -> str | None:
        """Return the corrected text of a search that finds nothing, or `None`."""
        view = layers.view()

        def is_found(word: Word) -> bool:
            alone = ResolvedSearch(word, word, (), None, include_removed=True)
            return self._plan(alone, view, layers).merged.total() > 0

        return Spelling(view, layers.terms, self._vocabulary).correct(
            query.text, resolved.text_query, is_found
        )

    def _search(self, query: SearchQuery, resolved: ResolvedSearch, layers: Layers) -> FoundPage:
        view = layers.view()
        plan = self._plan(resolved, view, layers)
        loosened = self._loosen(plan, view, layers) if query.loosens else None
        counted = plan if loosened is None else loosened.counted
        if query.facets and view.parts[0].searcher.num_docs >= _BIG:
            # Other threads can run while facets are counted, so it runs in parallel with the search
            # for the page: with 100,000 documents one of two terms takes 7.5 ms, and 10 without.
            counting = self._counters.submit(counted.count_facets)
        else:
            counting = None
        start, count = max(query.start, 0), max(query.count, 0)
        if query.after is not None:
            documents = counted.merged.following(query.after, count)
        elif loosened is None or resolved.sort:
            documents = counted.merged.page(start, count)
        else:
            documents = plan.merged.page(start, count)
            begin = max(start - plan.merged.total(), 0)
            documents += loosened.best.documents[begin : begin + count - len(documents)]
        hits = tuple(self._hit(document, plan, loosened) for document in documents)
        if counting is not None:
            counting.result()
        facets = counted.facets() if query.facets else {}
        if query.facets:
            self._keep(plan, view)
        last = documents[-1].key if documents and resolved.sort else None
        page = FoundPage(counted.merged.total(), hits, self._label(facets, resolved), last)
        if loosened is None or resolved.optional is None:
            return page
        return replace(
            page,
            complete=plan.merged.total(),
            words=resolved.optional.words,
            by_meaning=bool(loosened.best.alike),
        )

    def _loosen(self, plan: Plan, view: IndexSnapshot, layers: Layers) -> LoosenedPlan | None:
        """Return the additional results, which have most of the words of a search or a similar
        meaning, if it is a question or less than a page of results has all words; else `None`."""
        resolved, optional = plan.resolved, plan.resolved.optional
        if optional is None:
            return None
        if not optional.is_question:
            total = plan.merged.total()
            if total >= FULL_PAGE or (total and optional.typed == 1):
                return None
        cached = resolved, self.meaning.version if self.meaning is not None else 0
        with self._plans_lock:
            if cached in self._loosened:
                return self._loosened[cached]
        spelling = Spelling(view, layers.terms, self._vocabulary)
        frequencies = Frequencies(view.parts, layers.terms)
        words = weigh(optional, frequencies, self._expand, spelling.nearest)
        incomplete = all_of((optional.required, Not(resolved.node)))
        unranked = replace(resolved, node=incomplete, steps=(), sort=(), optional=None)
        results, step = self._results(unranked, view, layers), resolved.last_step + 1
        best = find_most(words, results, layers.terms, self._vocabulary, step)
        if words and self.meaning is not None:
            best = add_alike(best, words, self._nearest(optional, results), results, step)
        loosened = None
        if best is not None:
            most = Among(tuple(best.scores))
            node = any_of((resolved.node, most))
            counted = self._make_plan(replace(resolved, node=node, optional=None), view, layers)
            loosened = LoosenedPlan(best, counted, Evidence(best.node, self._vocabulary))
        with self._plans_lock:
            if self._planned_for == (view.number, self._vocabulary.generation):
                self._loosened[cached] = loosened
        return loosened

    def _nearest(
        self, optional: OptionalWords, results: Sequence[IndexResult]
    ) -> list[tuple[str, float]]:
        """Return the URNs of the documents nearest in meaning to the words typed, each with its
        cosine. If there are few results, only these are compared."""
        if self.meaning is None or not self.meaning.is_ready:
            return []
        quoted = (word for phrase in optional.phrases for word in phrase.words)
        among = None
        if 0 < sum(result.total() for result in results) <= _FEW_TO_COMPARE:
            hits = (hit for result in results for hit in result.read(0, None, _FEW_TO_COMPARE))
            among = [urn_in_order(key) for key, _ in hits]
        # The question mark makes the model read the words as a question.
        question = f"{' '.join((*optional.words, *quoted))}?"
        return self.meaning.nearest(question, _NEAREST, among)

    def _expand(self, word: str) -> tuple[Node, ...]:
        """Return the nodes for the two words that a word may consist of, and for the glossary terms
        of which it is another name."""
        nodes: list[Node] = []
        with self._reading() as layers:
            parts = layers.view().parts

            def is_known(text: str) -> bool:
                return any(part.searcher.doc_freq("words", text) for part in parts)

            for at in range(_SHORTEST_PART, len(word) - _SHORTEST_PART + 1):
                halves = word[:at], word[at:]
                if all(map(is_known, halves)):
                    nodes.append(Phrase(halves, halves, is_typed=False))
            for part in parts:
                query = tantivy.Query.term_query(layers.terms.schema, "marks", mark("other", word))
                for _, address in part.searcher.search(query, _MOST_EXPANDED, count=False).hits:
                    document = read_document(part.searcher, address)
                    if document.removed or document.urn in part.hidden:
                        continue
                    runs = chunks(document.name)
                    words = tuple(word for run in runs for word in split(run))
                    nodes.append(Phrase(words, tuple(map(str.casefold, runs)), is_typed=False))
                    nodes.append(PointedAt(document.urn))
        return tuple(nodes)

    def _suggest(
        self, resolved: ResolvedSearch, count: int, layers: Layers
    ) -> list[NameCompletion]:
        plan = self._plan(resolved, layers.view(), layers)
        completions: dict[str, NameCompletion] = {}
        # A few more than needed are read, because some entities of a page may have the same name.
        start, size = 0, min(count + 3, _SUGGESTED_FROM)
        while len(completions) < count and start < _SUGGESTED_FROM:
            page = plan.merged.page(start, size)
            for hit in page:
                document = plan.document(hit)
                name = name_to_suggest(resolved.text_query, document, self._vocabulary)
                completions.setdefault(compose(name), NameCompletion(name, document.urn))
            if len(page) < size:
                break
            start += size
            size = min(size * 4, 500)
        return list(completions.values())[:count]

    def _plan(self, resolved: ResolvedSearch, view: IndexSnapshot, layers: Layers) -> Plan:
        """Return the plan of a search over one snapshot, from the cache if it is there."""
        state = (view.number, self._vocabulary.generation)
        with self._plans_lock:
            if self._planned_for != state:
                # The counts of cached plans are those of an earlier snapshot.
                self._plans.clear()
                self._loosened.clear()
                self._planned_for = state
            plan = self._plans.get(resolved)
        if plan is None:
            plan = self._make_plan(resolved, view, layers)
            self._keep(plan, view)
        return plan

    def _make_plan(self, resolved: ResolvedSearch, view: IndexSnapshot, layers: Layers) -> Plan:
        results = self._results(resolved, view, layers)
        facets = (*self._vocabulary.facets(resolved.types), *resolved.also_counted)
        return Plan(resolved, results, tuple(dict.fromkeys(facets)), self._vocabulary)

    def _results(
        self, resolved: ResolvedSearch, view: IndexSnapshot, layers: Layers
    ) -> list[IndexResult]:
        kind = SortedIndexResult if resolved.sort else IndexResult
        return [
            kind(part.searcher, layers.terms, self._vocabulary, resolved, part.hidden)
            for part in view.parts
        ]

    def _keep(self, plan: Plan, view: IndexSnapshot) -> None:
        """Cache a plan, or update the size of a cached one."""
        if size_bytes(plan.resolved.node) > _LARGEST_QUERY_BYTES:
            return
        # `ValueError`: a plan that is larger than the whole cache.
        with self._plans_lock, suppress(ValueError):
            if self._planned_for == (view.number, self._vocabulary.generation):
                self._plans[plan.resolved] = plan

    def _hit(
        self, found: FoundDocument, plan: Plan, loosened: LoosenedPlan | None = None
    ) -> SearchHit:
        resolved, document = plan.resolved, plan.document(found)
        use = use_of(document.usage)
        if loosened is not None and document.urn in loosened.best.scores:
            matched = loosened.evidence.of(document)
            lacks = loosened.best.lacks(document, self._vocabulary)
            urn = document.urn
            return SearchHit(
                urn,
                loosened.best.scores[urn],
                matched,
                loosened.evidence.weights(document, matched),
                loosened.best.reason(urn, lacks),
                use,
                lacks,
                loosened.best.is_by_meaning(urn, lacks),
            )
        matched = plan.evidence.of(document)
        return SearchHit(
            document.urn,
            1.0 + resolved.last_step - found.step + use,
            matched,
            plan.evidence.weights(document, matched),
            reason(resolved.steps, found.step, self._vocabulary.strong),
            use,
        )

    def _label(
        self, counts: dict[str, tuple[dict[str, int], bool]], resolved: ResolvedSearch
    ) -> tuple[FacetCounts, ...]:
        labels = dict(self._vocabulary.facets(resolved.types))
        for name, property_field in self._vocabulary.property_fields(resolved.types).items():
            labels.setdefault(name, property_field.label)
        return tuple(
            FacetCounts(name, labels.get(name, name), value_counts, has_more)
            for name, (value_counts, has_more) in counts.items()
        )
