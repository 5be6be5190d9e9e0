"""Search: the interface between the catalog and its search engine, and the engine that implements
it, a tantivy index on disk with in-memory indexes of newer changes (`index.SearchIndex`).

A search engine holds one document (`document.Document`) for each entity and answers the queries
below. The catalog builds the documents from the store. An index can always be rebuilt from the
store, so it need not be durable, but it has to report correctly how much of the change log it
holds.

Every engine meets these requirements:

- **Order of changes.** `apply` is called by one thread at a time, in the order of the change log. A
  document replaces everything that is held under its URN.
- **Changes are visible at once.** A search that starts after `apply` returned finds the change, and
  does not find the entity by any value that it no longer has. An engine that makes changes visible
  at intervals, as sharded engines do, keeps newer changes in a second index until then
  (`layers.Layers` does so with an in-memory index), or waits in `apply`.
- **A correct offset.** `committed_offset` is the offset of the change log up to which everything is
  stored so that it survives a crash. It may be too low, because changes can be applied again, but
  never too high. An engine whose index is of another catalog, another document format or another
  registry reports 0, and is filled again.
- **One snapshot.** A page, its total, its facets and the reasons of its hits come from the same
  snapshot. Pages that are read on with `after` return each entity that exists from the first page
  to the last exactly once.
- **The same results.** `parser` parses texts, and `relevance` defines the ranking: an engine
  translates the `query.Node` tree and the steps of a `ResolvedSearch`, and splits texts into words
  as `analysis` does. Totals and facets are exact within the limits that `FacetCounts` states.
  Within a step, entities are ordered by usage, highest first, then by URN. So a shard returns the
  keys of its first `start + count` hits, and these are merged, as `result.Plan` does for two
  indexes.
- **Errors.** `Busy` while the engine cannot answer for the moment, `ServerFault` for a single
  search that failed. No text that a user types raises an error.

Everything else is outside the engine: the registry and the vocabulary of fields, permissions, the
content of scroll ids, and how old results may be (`before_read`). To add an engine, write a class
with these methods, select it in `data_directory.open_catalog`, and name it in `ENGINES` of
`tests/server/search`, whose tests that take `index` or `filled` run over each engine.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

from explorer.query.filters import Filter
from explorer.server.search.document import Document, FolderListing, FolderQuery, Indexed
from explorer.server.search.fields import Vocabulary
from explorer.server.search.query import FoundPage, How, NameCompletion, SearchQuery
from explorer.server.search.relevance import ResolvedSearch

if TYPE_CHECKING:
    # The process that makes entries imports this package, and is to be small.
    from explorer.server.search.columns import SearchedTables
    from explorer.server.search.meaning import MeaningIndex

IS_RENEWED = "the search index is being rebuilt; try again in a moment"
"""The default message of searches while the index is suspended."""


class SearchEngine(Protocol):
    """A search engine: finds entities by text, filters and prefixes of names. Thread-safe.

    `on_damage` is called when the index is found to be damaged, in any thread, and not again until
    `resume`; it must return at once. Every method that reads calls `before_read` first and lets its
    errors through, and raises `Busy` while the engine `is_suspended`.
    """

    on_damage: Callable[[], None] | None
    before_read: Callable[[], object]
    is_suspended: bool
    meaning: "MeaningIndex | None"
    """The index for searches by meaning; `None` if these are off."""

    @property
    def committed_offset(self) -> int:
        """The offset of the change log up to which the index on disk is complete."""

    def apply(
        self, offset: int, documents: Iterable[Indexed], removed_urns: Iterable[str] = ()
    ) -> None:
        """Replace the documents of these URNs, and remove those of the URNs in `removed_urns`.

        `offset` is the offset of the change log up to which the index is complete with these
        changes. Searches see the changes when this returns; it does not wait for a commit. About
        0.1 ms per document.
        """

    def search(self, query: SearchQuery) -> FoundPage:
        """Return one page of the entities that a query finds, with the facets of the whole result.

        Entities are ordered best first, or as the query's sort says. No search text raises an
        error. Raises `UnknownName` if an entity type, or a field of the filter or the sort, does
        not exist, `InvalidInput` for a filter that compares a number with something else, for an
        `after` of another search and for a page beyond the first 10,000 without `after`, `Busy`
        while the index is suspended, and `ServerFault` when the engine fails on this search.
        """

    def document(self, urn: str) -> Document | None:
        """Return the document of an entity in the index, committed or not, or `None`.

        Raises the errors of `search`.
        """

    def find_tables(self, query: SearchQuery, most: int) -> "SearchedTables":
        """Return the first `most` datasets that a search finds, for `columns.rank_columns`. Raises
        the errors of `search`."""

    def find_urns(self, query: SearchQuery) -> set[str]:
        """Return the URNs of all entities that a query finds, on all its pages.

        About 1 µs per URN. Raises the errors of `search`.
        """

    def matching(self, urns: Sequence[str], searches: Sequence[ResolvedSearch]) -> list[set[str]]:
        """Return for each search those of the URNs that it finds.

        About 30 µs per URN. Raises the errors of `search`.
        """

    def matching_documents(
        self, documents: Iterable[Document], searches: Sequence[ResolvedSearch]
    ) -> list[set[str]]:
        """Return for each search the URNs of the documents that it finds.

        Only these documents are searched, in a temporary in-memory index, independently of the
        index of the engine. About 10 ms, and 0.3 ms per document.
        """

    def urns_with(self, field: str) -> set[str]:
        """Return the URNs of all entities that have a value in a field, removed entities included.

        The field need not be searchable. Raises the errors of `search`.
        """

    def names(self, types: Sequence[str], how: How, text: str) -> tuple[str, ...]:
        """Return the URNs of the entities whose name matches a text by the comparison `how`.

        A name equals the text, begins with it, ends in it or contains it; only entities of these
        types are searched. Where names are compared for equality, people and groups are found by
        whole words of their names. At most 1,000 URNs. Raises the errors of `search`.
        """

    def autocomplete(
        self,
        text: str,
        entity_types: Sequence[str],
        filter: Filter,
        start: int,
        limit: int,
    ) -> list[NameCompletion]:
        """Return names in which every word of a text begins a word, best first, without duplicates.

        Removed entities are not suggested. Only the 2,000 best entities are examined. Raises the
        errors of `search`.
        """

    @property
    def vocabulary(self) -> Vocabulary:
        """The searchable fields."""

    def folders(self, query: FolderQuery) -> FolderListing:
        """Return the folders directly below a path that contain entities of the query.

        They are ordered by id, at most 10,000; none where nothing is below the path. Raises the
        errors of `search`.
        """

    def folder_urn(self, query: FolderQuery, folder: str) -> str | None:
        """Return the URN of the entity behind a folder of `folders`, or `None` if it has none.

        Raises the errors of `search`.
        """

    def total(self, entity_types: Sequence[str] | None = None) -> int:
        """Return how many entities exist, of some types or of all, without removed ones."""

    def has_document(self, document: Document) -> bool:
        """Return whether the index has exactly this document, and no other, under its URN.

        About 0.2 ms. Raises the errors of `search`.
        """

    def urns(self) -> Iterator[str]:
        """Iterate over the URNs of all documents, one for each document, in no particular order.

        Raises the errors of `search`.
        """

    def flush(self) -> None:
        """Write all pending changes to the index on disk and commit.

        Raises `Unusable` when it cannot be written.
        """

    def suspend(self, reason: str = IS_RENEWED, retry_after_seconds: float = 0) -> None:
        """Refuse searches until `resume`; they raise `Busy` with this reason, a sentence, and the
        time after which to try again, at least 5 seconds."""

    def renew(self) -> None:
        """Discard the index and create an empty one, with `committed_offset` 0.

        It stays suspended until `resume`. Raises `Unusable` when the directory cannot be written.
        """

    def resume(self) -> None:
        """Allow searches again. To be called once the index is complete."""

    def verify(self) -> None:
        """Verify an index that was too large to be verified when it was opened, about 1 s per GB.

        If it is damaged, it is suspended, and `on_damage` is called. The first method that reads
        does this too, or waits for it.
        """

    def find_damage(self) -> list[str]:
        """Return the problems of the files of the index, one sentence each; see `engine`."""

    def close(self) -> None:
        """Release the directory. The caller has to apply changes again that were not flushed."""
