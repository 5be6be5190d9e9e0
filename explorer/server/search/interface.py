"""The interface between the catalog and the engine that searches it.

An engine holds one document for each entity (`document.Document`), made by the catalog out of the
store, and answers the questions below. It is derived: whatever it loses is made again from the
store, so it need not be safe, only honest about how far it has come.

What an engine has to keep:

- **Order of changes.** `apply` is called by one thread at a time, in the order of the change log.
  A document takes the place of all that was held under its URN.
- **Visible at once.** A search that begins after `apply` returned finds the change, and finds an
  entity by nothing that it had before. An engine that makes changes visible in intervals, as those
  that shard do, keeps what is newer beside it until then (`layers.Layers` does so with an index in
  memory), or waits in `apply`.
- **An honest offset.** `committed_offset` says up to which offset of the change log everything is
  held where it survives a crash. It may be too low, for changes can be applied again; never too
  high. An engine that holds something of another catalog, another form of documents or another
  registry says 0, and is filled anew.
- **One moment.** A page, its total, its facets and the reasons of its hits are of one moment. Pages
  that go on with `after` meet everything once that is there from the first to the last.
- **The same answers.** Texts are read by `parser`, and what fits how well is said by `relevance`:
  an engine translates the tree of `query.Node` and the steps of a `ResolvedSearch`, and cuts
  texts into words as `analysis` does. Totals and facets are exact up to what `FacetCounts` says.
  Within a step the more used comes first, then the lesser URN. So a shard answers with the keys of
  its first `start + count` hits, and these are merged, as `plan.Plan` does for two indexes.
- **Failures.** `Busy` while it cannot answer for now, `ServerFault` for one search that failed;
  nothing raises for a text that people typed.

Everything else stays above: the registry and the vocabulary of fields, permissions, what scroll ids
hold, how old an answer may be (`before_read`). To add an engine, write a class with these methods,
choose it in `data_directory.open_catalog`, and name it in `ENGINES` of `tests/server/search`, whose
tests that take `index` or `filled` run over each.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Protocol

from explorer.query.filters import Filter
from explorer.server.search.document import Document, FolderListing, FolderQuery
from explorer.server.search.fields import Vocabulary
from explorer.server.search.query import FoundPage, How, NameCompletion, SearchQuery
from explorer.server.search.relevance import ResolvedSearch

__all__ = ["IS_RENEWED", "SearchEngine"]

IS_RENEWED = "the search index is being made anew; try again in a moment"
"""What searches are told meanwhile."""


class SearchEngine(Protocol):
    """Finds entities by text, filters and the beginnings of names. Any thread may call.

    `on_damage` is called, in any thread and once until `resume`, when what is held was found to be
    damaged; it must return at once. Everything that reads raises `Busy` while the engine
    `is_suspended`, and what `before_read`, which is called first, raises.
    """

    on_damage: Callable[[], None] | None
    before_read: Callable[[], object]
    is_suspended: bool

    @property
    def committed_offset(self) -> int:
        """The offset of the change log up to which the index on disk holds everything."""

    def apply(self, offset: int, documents: Iterable[Document], gone: Iterable[str] = ()) -> None:
        """Put documents in the place of those of the same URN, and drop the URNs that are gone.

        `offset` is that of the change log up to which this brings the index. Searches see the
        change when this returns; no commit is waited for. About 0.1 ms a document.
        """

    def search(self, query: SearchQuery) -> FoundPage:
        """One page of what a query finds, best first or as it says, with the counts over the whole
        result.

        Never raises for a text. Raises `UnknownName` for an entity type or a field of the filter
        or the sort that is none, `InvalidInput` for a filter that compares a number with something
        else and for an `after` of another search, `Busy` while the index is suspended, and
        `ServerFault` when the engine fails on this search.
        """

    def document(self, urn: str) -> Document | None:
        """What the index holds of an entity, whichever layer has it. Raises as `search`."""

    def found_urns(self, query: SearchQuery) -> set[str]:
        """The URNs of all that a query finds, wherever its page is; about 1 µs each. Raises as
        `search`."""

    def matching(self, urns: Sequence[str], searches: Sequence[ResolvedSearch]) -> list[set[str]]:
        """Which of some URNs each search finds; about 30 µs each. Raises as `search`."""

    def matching_documents(
        self, documents: Iterable[Document], searches: Sequence[ResolvedSearch]
    ) -> list[set[str]]:
        """The URNs of the documents that each search finds, whatever the index has. They are put
        into one in memory for it; about 10 ms, and 0.3 ms a document."""

    def urns_with(self, field: str) -> set[str]:
        """The URNs of all that have a value in a field, the removed too, whether the field can be
        searched or not. Raises as `search`."""

    def names(self, types: Sequence[str], how: How, text: str) -> tuple[str, ...]:
        """The URNs of the entities of some types whose name is, begins with, ends in or holds a
        text; people and groups by whole words of their names. At most 1,000. Raises as `search`."""

    def autocomplete(
        self,
        text: str,
        entity_types: Sequence[str],
        filter: Filter,  # noqa: A002, its name on the wire
        start: int,
        limit: int,
    ) -> list[NameCompletion]:
        """Names in which every word of a text begins a word, best first, none twice.

        Removed entities are not suggested. Looks at the 2,000 best entities. Raises as `search`.
        """

    @property
    def vocabulary(self) -> Vocabulary:
        """The searchable fields."""

    def folders(self, query: FolderQuery) -> FolderListing:
        """The folders at a path that hold what a query finds, in the order of their ids, 10,000 at
        most; none where nothing is below it. Raises as `search`."""

    def folder_urn(self, query: FolderQuery, folder: str) -> str | None:
        """The URN of the entity behind one of the folders of `folders`, if anybody named it. Raises
        as `search`."""

    def total(self, entity_types: Sequence[str] | None = None) -> int:
        """How many entities there are, of some types or of all; the removed do not count."""

    def holds(self, document: Document) -> bool:
        """Whether exactly this is held under its URN, once; about 0.2 ms. Raises as `search`."""

    def urns(self) -> Iterator[str]:
        """The URN of every document held, in no order; once for each document. Raises as
        `search`."""

    def flush(self) -> None:
        """Bring all that is pending into the index on disk and commit. Raises `Unusable` when it
        cannot be written."""

    def copy_files(self) -> Path | None:
        """Flush, and return a new directory with the files that make an index of the same kind, as
        it is then, which the caller removes; None where an engine keeps no files of its own. Raises
        as `search` and `flush`, and `OSError`."""

    def suspend(self, reason: str = IS_RENEWED) -> None:
        """Let nothing be searched until `resume`; searches are told the reason, a sentence."""

    def renew(self) -> None:
        """Throw the index away and begin an empty one, with `committed_offset` 0, which stays
        suspended. Raises `Unusable` when the directory cannot be written."""

    def resume(self) -> None:
        """Let the index be searched: it holds what it should."""

    def find_damage(self) -> list[str]:
        """Return what is wrong with the files of the index, one sentence each; see `engine`."""

    def close(self) -> None:
        """Let go of the directory. What was not flushed is for the caller to replay."""
