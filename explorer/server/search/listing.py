"""What the index on disk has of one search: step by step, in the order of their places.

A result can have a million documents, and only some are ever looked at. So nothing is listed in
full: a step is counted, read on from a key, or sampled.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

import tantivy

from explorer.server.search.analysed import order_key
from explorer.server.search.clauses import all_but, both, either
from explorer.server.search.document import Document
from explorer.server.search.engine import Searcher, counted, is_too_wide
from explorer.server.search.fields import ENTITY_TYPE, REMOVED, Vocabulary
from explorer.server.search.folders import MOST_FOLDERS
from explorer.server.search.ranking import covers
from explorer.server.search.terms import Terms, is_term, read_document
from explorer.server.search.translation import Translator
from explorer.server.search.wanted import Wanted

__all__ = ["LISTED_VALUES", "Key", "Listing"]

_ASCENDING = tantivy.Order.Asc
# More than are shown, since pending changes may bring the least of those shown below others.
LISTED_VALUES = 200
_VALUES_A_SEGMENT = 500

# A place in the order, as `explorer.server.search.analysed.order_key` makes it.
Key: TypeAlias = str

_T = TypeVar("_T")


class Listing:
    """The documents of one state of the index that a search wants. Any thread may read."""

    def __init__(
        self,
        searcher: Searcher,
        terms: Terms,
        vocabulary: Vocabulary,
        wanted: Wanted,
    ) -> None:
        self._searcher = searcher
        self._terms = terms
        self._vocabulary = vocabulary
        self._translator = Translator(terms, vocabulary, searcher)
        self._wanted = wanted
        self._query = self._everything()
        self._steps: dict[int, tantivy.Query] = {}
        self._counts: dict[int, int] = {}
        self._total: int | None = None

    def total(self) -> int:
        """How many documents there are."""
        if self._total is None:
            if len(self._counts) > self._wanted.last_step:
                self._total = sum(self._counts.values())
            else:
                self._total = self._count(lambda: self._query)
        return self._total

    def count(self, step: int) -> int:
        """How many documents a step has."""
        if step not in self._counts:
            has_any = self._may_have(step)
            self._counts[step] = self._count(lambda: self._step(step)) if has_any else 0
        return self._counts[step]

    def between(self, step: int, after: Key | None, to: Key) -> int:
        """How many documents of a step come after a key, and up to and with another."""
        span = self._span(after, to, to_is_in=True)
        return self._count(lambda: both([self._step(step), span]))

    def read(
        self, step: int, after: Key | None, limit: int
    ) -> list[tuple[Key, tantivy.DocAddress]]:
        """The documents of a step that come next after a key, in order."""
        if not self._may_have(step):
            self._counts[step] = 0
        if self._counts.get(step) == 0:
            return []
        span = [] if after is None else [self._span(after, None)]
        result = self._run(
            lambda: self._searcher.search(
                both([self._step(step), *span]),
                self._at_most(limit),
                count=after is None,
                order_by_field="order",
                order=_ASCENDING,
            )
        )
        if after is None:
            self._counts[step] = counted(result)
        return result.hits

    def _at_most(self, limit: int) -> int:
        """A limit that the index can be asked for: it makes room for as many before it looks."""
        return max(1, min(limit, self._searcher.num_docs))

    def sample(self, step: int, after: Key | None, before: Key | None, size: int) -> list[Key]:
        """The keys of documents of a step picked at random between two keys, in order."""
        span = [] if after is None and before is None else [self._span(after, before)]
        result = self._run(
            lambda: self._searcher.search(
                both([self._step(step), *span]), size, count=False, order_by_field="shuffle"
            )
        )
        return sorted(self._key(address) for _, address in result.hits)

    def document(self, address: tantivy.DocAddress) -> Document:
        """The document at an address; about 0.05 ms."""
        return read_document(self._searcher, address)

    def facets(self, names: Sequence[str]) -> dict[str, dict[str, int]]:
        """How many documents have each value of the fields, by field: the most frequent values.

        Exact up to 500 different values in a part of the index. Beyond them a count can be low by
        how often a value occurs in parts where 500 others are more frequent.
        """
        found = self._aggregate(
            {name: _terms(name, LISTED_VALUES, _VALUES_A_SEGMENT) for name in names}
        )
        counts = {name: _buckets(found[name]) for name in names}
        if ENTITY_TYPE in counts:
            # Every document has one type, and there are fewer than a facet shows.
            self._total = sum(counts[ENTITY_TYPE].values())
        return counts

    def counts_of(self, values: Mapping[str, list[str]]) -> dict[str, dict[str, int]]:
        """How many documents have each of these values of facet fields, by field."""
        wanted = {
            name: _terms(name, len(found), len(found), found)
            for name, found in values.items()
            if found
        }
        found = self._aggregate(wanted) if wanted else {}
        return {name: _buckets(found[name]) for name in wanted}

    def folders(self, depth: int) -> dict[str, tuple[int, int]]:
        """The folders at a depth, 0 the top: how many documents are in or below each, and how many
        of them in or below a folder of it."""
        terms = {
            "field": f"folders.{depth}",
            "size": MOST_FOLDERS,
            "segment_size": MOST_FOLDERS,
        }
        deeper = {"value_count": {"field": f"folders.{depth + 1}"}}
        wanted = {"here": {"terms": terms, "aggs": {"deeper": deeper}}}
        return {
            bucket["key"]: (bucket["doc_count"], int(bucket["deeper"]["value"]))
            for bucket in self._aggregate(wanted)["here"]["buckets"]
        }

    def _aggregate(self, wanted: dict[str, Any]) -> dict[str, Any]:
        return self._run(lambda: self._searcher.aggregate(self._query, wanted))

    def _key(self, address: tantivy.DocAddress) -> Key:
        return order_key(self.document(address))

    def _count(self, query: Callable[[], tantivy.Query]) -> int:
        return self._run(lambda: self._searcher.count(query()))

    def _run(self, work: Callable[[], _T]) -> _T:
        """Do work with the queries; once more with careful ones where they are too wide."""
        try:
            return work()
        except ValueError as error:
            if not is_too_wide(error):
                raise
        self._translator = Translator(self._terms, self._vocabulary, self._searcher, careful=True)
        self._query = self._everything()
        self._steps.clear()
        return work()

    def _everything(self) -> tantivy.Query:
        wanted, translate = self._wanted, self._translator
        query = translate.query(wanted.node)
        if wanted.types is not None:
            query = both([query, either([translate.type(one) for one in wanted.types])])
        if wanted.include_removed:
            return query
        removed = tantivy.Query.term_query(self._terms.schema, "is", is_term(REMOVED, "true"))
        return all_but(query, [removed])

    def _may_have(self, step: int) -> bool:
        steps = self._wanted.steps
        return step == len(steps) or self._translator.may_have(steps[step])

    def _step(self, step: int) -> tantivy.Query:
        """The documents of a step: those that meet it and none before it."""
        if step not in self._steps:
            before = self._wanted.steps[:step]
            # A step that lies within another one need not be left out as well.
            outer = [
                one
                for at, one in enumerate(before)
                if not any(covers(other, one) for other in before[at + 1 :])
            ]
            query = self._query
            if step < self._wanted.last_step:
                query = both([query, self._translator.step(self._wanted.steps[step])])
            self._steps[step] = all_but(query, [self._translator.step(one) for one in outer])
        return self._steps[step]

    def _span(self, after: Key | None, to: Key | None, *, to_is_in: bool = False) -> tantivy.Query:
        return self._terms.span(after, to, to_is_in=to_is_in)


def _terms(
    name: str, size: int, segment_size: int, only: list[str] | None = None
) -> dict[str, Any]:
    field = name.replace(".", "\\.")
    terms: dict[str, Any] = {
        "field": f"facet.{field}",
        "size": size,
        "segment_size": segment_size,
    }
    return {"terms": terms if only is None else terms | {"include": only}}


def _buckets(found: Mapping[str, Any]) -> dict[str, int]:
    return {bucket["key"]: bucket["doc_count"] for bucket in found["buckets"]}
