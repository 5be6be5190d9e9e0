"""The result of a search: in one index, step by step, in the order of keys; and in the index on
disk and those in memory together, with exact totals and pages.

A result can have a million documents, of which only a few are read. So a result is never listed in
full: a step can be counted, and read from its beginning or on from a key.

tantivy sorts documents by one column. Documents with equal values in it are sorted by the next
field: in Python if all of them were read, with another query if only some were. So reading on costs
a few queries for each sort field, wherever a page begins.

The documents of a step are those of all indexes, merged in the order of their keys. The indexes in
memory are small, so their documents of a step are read in full.
"""

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias, TypeVar

import tantivy

from explorer.metadata.names import natural_key
from explorer.server.search.analysis import (
    fold,
    identity,
    stem,
    values_of,
)
from explorer.server.search.document import MOST_FOLDERS, Document
from explorer.server.search.engine import Searcher, count_hits, is_too_wide
from explorer.server.search.evidence import Evidence, is_literal, meets
from explorer.server.search.fields import ENTITY_TYPE, REMOVED, URN, Vocabulary
from explorer.server.search.query import (
    Among,
    And,
    Below,
    Everything,
    Node,
    Not,
    NumberRange,
    Or,
    Phrase,
    PointedAt,
    Present,
    Stem,
    TextRange,
    Value,
    ValuePattern,
    Wildcard,
    Word,
    size_bytes,
)
from explorer.server.search.relevance import (
    HasWords,
    InFields,
    InName,
    NameBegins,
    NameIs,
    NameWritten,
    ResolvedSearch,
    Step,
)
from explorer.server.search.sort_keys import SortField, sort_code, sort_codes, sort_key
from explorer.server.search.terms import (
    MAX_NAME_START,
    MAX_START,
    MORE,
    Kind,
    Parts,
    Terms,
    all_but,
    at_least,
    both,
    either,
    exact_term,
    is_short,
    is_term,
    like,
    like_value,
    literal,
    mark,
    read_document,
    within,
)

_Query = tantivy.Query

# The number of documents that one query reads to compare their values with patterns, at about
# 0.1 ms each.
_MOST_COMPARED = 3_000


class Translator:
    """Translates query nodes and steps into tantivy queries for one snapshot of an index.

    Long prefixes are expanded to the words of that snapshot. With `careful`, queries that were too
    wide for tantivy are split; see `explorer.server.search.terms`.
    """

    def __init__(
        self,
        terms: Terms,
        vocabulary: Vocabulary,
        searcher: Searcher,
        *,
        careful: bool = False,
    ) -> None:
        self._terms = terms
        self._schema = terms.schema
        self._vocabulary = vocabulary
        self._searcher = searcher
        self._careful = careful
        self._parts = Parts(terms.schema, searcher, careful=careful)
        self._left_to_compare = _MOST_COMPARED
        self._known_words: dict[str, list[str]] = {}
        self.listed_terms = 0
        """The number of terms listed in the queries made so far, to which prefixes were
        expanded."""

    def query(self, node: Node) -> tantivy.Query:
        """Return the tantivy query for the documents that match a node."""
        match node:
            case Word(names_only=True):
                return self._rank_query(1, node, exact=False)
            case Word():
                return self._either_form(node, self._in_any)
            case Stem():
                return self._term("marks", self._terms.stem_mark(node.text))
            case Among():
                return _Query.term_set_query(self._schema, "urn", [*node.urns])
            case Wildcard():
                return _Query.regex_query(self._schema, "words", like(node.pattern))
            case And():
                positive = [self.query(node) for node in node.nodes if not isinstance(node, Not)]
                negative = [self.query(node.node) for node in node.nodes if isinstance(node, Not)]
                return all_but(both(positive), negative)
            case Or():
                return either([self.query(node) for node in node.nodes])
            case Not():
                return all_but(_Query.all_query(), [self.query(node.node)])
            case Everything():
                return _Query.all_query()
            case Phrase():
                return either([self._phrase(words) for words in {node.words, node.joined_words}])
            case PointedAt():
                return either([self._prefix_query(node.urn), self._mark_query("refers", node.urn)])
            case Present():
                return self._mark_query("field", node.field)
            case Value():
                return self._value(node)
            case ValuePattern():
                return self._pattern(node)
            case NumberRange():
                return self._terms.number_between(
                    node.field, node.low, node.high, strict=node.strict
                )
            case TextRange():
                return self._text_range(node)
            case Below():
                return self._mark_query("folder", node.folder)

    def step(self, step: Step) -> tantivy.Query:
        """Return the tantivy query for the documents that meet a step.

        The query of the search itself is not part of it.
        """
        match step:
            case NameWritten():
                return self._mark_query("written", step.text)
            case HasWords():
                return at_least([self._word_or_stem(word) for word in step.words], step.least)
            case NameIs():
                names = [self._mark_query("name", name) for name in step.joined]
                urns = [self._value(Value(URN, "exact", urn)) for urn in step.urns]
                return either([*names, *urns])
            case NameBegins():
                return self._name_begins(step.joined)
            case InName():
                queries = [self._rank_query(1, word, exact=step.exact) for word in step.words]
                return at_least(queries, step.least)
            case InFields():
                return both([self._in_fields(word, step) for word in step.words])

    def _word_or_stem(self, word: Word) -> tantivy.Query:
        stems = both([self.query(Stem(stem(part))) for part in word.parts])
        return either([self.query(word), stems])

    def type(self, entity_type: str) -> tantivy.Query:
        """Return the tantivy query for the documents of an entity type."""
        return self._is(ENTITY_TYPE, entity_type.casefold().replace("_", ""))

    def _in_fields(self, word: Word, step: InFields) -> tantivy.Query:
        if step.ranks < self._terms.common:
            return self._rank_query(step.ranks + 1, word, exact=step.exact)
        return self._either_form(word, lambda text: self._in_common(text, exact=step.exact))

    def _rank_query(self, ranks: int, word: Word, *, exact: bool) -> tantivy.Query:
        """Return the query for a word of the first ranks."""
        terms = self._terms

        def one(text: str) -> tantivy.Query:
            if not exact and len(text) <= MAX_START:
                return either(
                    [self._term("marks", terms.start(rank, text)) for rank in range(ranks)]
                )
            words = [text] if exact else self._words_from(text)
            return either(
                [
                    self._terms_of("marks", [terms.word(rank, word) for word in words])
                    for rank in range(ranks)
                ]
            )

        return self._either_form(word, one)

    def _in_common(self, text: str, *, exact: bool) -> tantivy.Query:
        """Return the query for a word, except where only fields below the common weight have it."""
        terms = self._terms
        if not exact and len(text) <= MAX_START:
            weak = self._term("marks", terms.start(terms.weak, text))
            return all_but(self._in_any(text), [weak])
        return either(
            [
                all_but(
                    self._term("words", word), [self._term("marks", terms.word(terms.weak, word))]
                )
                for word in ([text] if exact else self._words_from(text))
            ]
        )

    def _in_any(self, text: str) -> tantivy.Query:
        """Return the query for the words of all ranks that begin with a text."""
        if len(text) <= MAX_START:
            return self._term("marks", self._terms.start(self._terms.common, text))
        return self._terms_of("words", self._words_from(text))

    def _either_form(self, word: Word, form_query: Callable[[str], tantivy.Query]) -> tantivy.Query:
        """Return the query for a word as a whole or by its parts. `form_query` makes the query for
        each text."""
        if len(word.parts) == 1:
            return form_query(word.text)
        return either([form_query(word.text), both([form_query(part) for part in word.parts])])

    def _words_from(self, start: str) -> list[str]:
        """Return the words of the index that begin with a text longer than the indexed prefixes."""
        if start not in self._known_words:
            self._known_words[start] = self._with_prefix("words", start)
        return self._known_words[start]

    def _name_begins(self, start: str) -> tantivy.Query:
        if len(start) <= MAX_NAME_START:
            return self._mark_query("prefix", start)
        return self._terms_of("marks", self._with_prefix("marks", mark("name", start)))

    def _phrase(self, words: tuple[str, ...]) -> tantivy.Query:
        if len(words) == 1:
            return self._term("words", words[0])
        return _Query.phrase_query(self._schema, "words", [*words])

    def _value(self, node: Value) -> tantivy.Query:
        trait = self._vocabulary.trait(node.field)
        match node.how:
            case "exact":
                queries = [self._term("is", exact_term(node.field, node.text))]
                if node.field == URN:
                    queries.append(self._term("urn", node.text))
                return either(queries)
            case "equal" if trait.is_single_term(node.text):
                return self._is(node.field, node.text)
            case "prefix" if trait.is_single_term(node.text):
                return self._matching_terms(node)
            case _ if trait.nature == "text":
                return self._parts.query(self._terms.code(node.field), node.how, node.text)
            case _:
                return self._matching_terms(node)

    def _matching_terms(self, node: Value) -> tantivy.Query:
        """Return the query for documents with a form that begins with, ends in or contains a text.

        For fields with few distinct values, and for prefixes shorter than the terms of the field.
        """
        prefix = is_term(node.field, "")
        text = literal(node.text)
        if is_short(node.text):
            before = "" if node.how == "prefix" else ".*"
            after = "" if node.how == "suffix" else ".*"
            expression = f"{prefix}{before}{text}{after}"
            return _Query.regex_query(self._schema, "is", expression)
        begin = prefix + node.text if node.how == "prefix" else prefix
        with_prefix = self._with_prefix("is", begin)
        if node.how == "suffix":
            with_prefix = [term for term in with_prefix if term.endswith(node.text)]
        elif node.how == "infix":
            with_prefix = [term for term in with_prefix if node.text in term]
        return self._terms_of("is", with_prefix)

    def _pattern(self, node: ValuePattern) -> tantivy.Query:
        """Return the query for documents with a value that matches a pattern.

        The terms of a field have most values as a whole. Of longer values, and for a pattern that
        tantivy cannot look for, the documents that may match are read.
        """
        trait = self._vocabulary.trait(node.field)
        prefix = literal(is_term(node.field, ""))
        candidates = [self.query(condition) for condition in node.conditions()]
        query = None
        if is_short("".join(node.texts)) and not is_literal(node, trait):
            # `ValueError`: the pattern has more states than tantivy allows.
            with suppress(ValueError):
                query = _Query.regex_query(self._schema, "is", prefix + like_value(node))
        if query is None:
            return self._comparison_query(node, both(candidates))
        if trait.nature != "text":
            return query
        longer = _Query.regex_query(self._schema, "is", f"{prefix}.*{MORE}")
        return either(
            [query, self._comparison_query(node, all_but(both([*candidates, longer]), [query]))]
        )

    def _comparison_query(self, node: ValuePattern, query: tantivy.Query) -> tantivy.Query:
        """Return the query for the documents of another query with a value that matches a pattern.

        Reads the documents. If there are more than may be read, the query is returned unchanged:
        then documents are found that have the texts of the pattern in another order too.
        """
        most = self._left_to_compare
        limit = max(1, min(most + 1, self._searcher.num_docs))
        try:
            hits = self._searcher.search(query, limit, count=False).hits
        except ValueError as error:
            if not is_too_wide(error) or self._careful:
                raise
            careful = Translator(self._terms, self._vocabulary, self._searcher, careful=True)
            careful._left_to_compare = most
            found_carefully = careful.query(node)
            self._left_to_compare = careful._left_to_compare
            return found_carefully
        if len(hits) > most:
            return query
        self._left_to_compare -= len(hits)
        trait = self._vocabulary.trait(node.field)
        documents = (read_document(self._searcher, address) for _, address in hits)
        urns = [
            document.urn
            for document in documents
            if any(meets(node, value, trait) for value in values_of(document, node.field))
        ]
        return self._terms_of("urn", urns) if urns else _Query.empty_query()

    def _text_range(self, node: TextRange) -> tantivy.Query:
        longest = self._vocabulary.trait(node.field).order_cut
        prefix = literal(is_term(node.field, ""))
        expressions = within(node.low, node.high, longest=longest, strict=node.strict)
        return either(
            [
                _Query.regex_query(self._schema, "is", prefix + expression)
                for expression in expressions
            ]
        )

    def _is(self, field: str, form: str) -> tantivy.Query:
        return self._term("is", is_term(field, form))

    def _mark_query(self, kind: Kind, text: str) -> tantivy.Query:
        return self._term("marks", mark(kind, text))

    def _term(self, name: str, text: str) -> tantivy.Query:
        return _Query.term_query(self._schema, name, text)

    def _terms_of(self, name: str, texts: list[str]) -> tantivy.Query:
        if len(texts) == 1:
            return self._term(name, texts[0])
        self.listed_terms += len(texts)
        return _Query.term_set_query(self._schema, name, texts)

    def _prefix_query(self, start: str) -> tantivy.Query:
        """Return the query for the entities whose URN begins with a text, in the same case."""
        if not start.isascii():
            return self._value(Value(URN, "prefix", fold(start)))
        if is_short(start):
            return _Query.regex_query(self._schema, "urn", f"{literal(start)}.*")
        return self._terms_of("urn", self._with_prefix("urn", start))

    def _with_prefix(self, name: str, start: str) -> list[str]:
        return [term for term, _ in self._searcher.terms_with_prefix(name, start)]


_ASCENDING = tantivy.Order.Asc
# More values than a facet shows, because pending changes may move a shown value below others.
LISTED_VALUES = 200
# Approximate bytes for a term that a query lists: its text, and its part of tantivy's data.
_TERM_BYTES = 200

# The sort key of a document: `analysis.order_key`, or `sort_keys.sort_key` in a sorted search.
Key: TypeAlias = str

_T = TypeVar("_T")
_Hit: TypeAlias = tuple[Key, tantivy.DocAddress]


class IndexResult:
    """The documents of one index snapshot that a search finds. Thread-safe."""

    def __init__(
        self,
        searcher: Searcher,
        terms: Terms,
        vocabulary: Vocabulary,
        resolved: ResolvedSearch,
        hidden: Sequence[str] = (),
        among: Sequence[str] | None = None,
    ) -> None:
        """Prepare the query. URNs in `hidden` are not found; with `among`, only its URNs are."""
        self._searcher = searcher
        self._hidden = hidden
        self._among = among
        self._terms = terms
        self._vocabulary = vocabulary
        self._translator = Translator(terms, vocabulary, searcher)
        self._resolved = resolved
        self._query = self._everything()
        self._steps: dict[int, tantivy.Query] = {}
        self._counts: dict[int, int] = {}
        self._total: int | None = None

    @property
    def size_bytes(self) -> int:
        """Roughly how much memory the queries take."""
        return _TERM_BYTES * self._translator.listed_terms

    def total(self) -> int:
        """Return the number of documents."""
        if self._total is None:
            if len(self._counts) > self._resolved.last_step:
                self._total = sum(self._counts.values())
            else:
                self._total = self._count(lambda: self._query)
        return self._total

    def count(self, step: int) -> int:
        """Return the number of documents of a step."""
        if step not in self._counts:
            self._counts[step] = self._count(lambda: self._step(step))
        return self._counts[step]

    def read(self, step: int, after: Key | None, limit: int) -> list[_Hit]:
        """Return the documents of a step that follow a key, in order, at most `limit`."""

        def search() -> tantivy.SearchResult:
            query = self._step(step)
            if after is not None:
                query = both([query, self._terms.beyond(after)])
            return self._searcher.search(
                query, self._at_most(limit), order_by_field="order", order=_ASCENDING
            )

        result = self._run(search)
        if after is None:
            self._counts[step] = count_hits(result)
        return result.hits

    def read_all(self, step: int) -> list[_Hit]:
        """Return all documents of a step, in order; for small indexes, or with `among`."""
        return self.read(step, None, len(self._among or ()) or self._searcher.num_docs)

    def best(self, scored: tantivy.Query, limit: int) -> list[tuple[float, tantivy.DocAddress]]:
        """Return the documents of the result that another query scores highest, at most `limit`."""

        def search() -> list[Any]:
            query = both([_Query.const_score_query(self._query, 0.0), scored])
            most = self._at_most(limit)
            hits = self._searcher.search(query, most, count=False).hits
            if len(hits) == most and hits[0][0] == hits[-1][0]:
                # All are equally good: the first in order are taken.
                in_order = self._searcher.search(
                    query, most, count=False, order_by_field="order", order=_ASCENDING
                ).hits
                return [(hits[0][0], address) for _, address in in_order]
            return hits

        return self._run(search)

    def addresses(self, urns: Sequence[str]) -> list[tantivy.DocAddress]:
        """Return the addresses of the documents with these URNs that are in the result."""

        def search() -> list[tantivy.DocAddress]:
            query = both([self._query, _Query.term_set_query(self._terms.schema, "urn", [*urns])])
            hits = self._searcher.search(query, self._at_most(len(urns)), count=False).hits
            return [address for _, address in hits]

        return self._run(search) if urns else []

    def _at_most(self, limit: int) -> int:
        """Cap a limit at the size of the index: tantivy allocates space for all hits first."""
        return max(1, min(limit, self._searcher.num_docs))

    def document(self, address: tantivy.DocAddress) -> Document:
        """Return the document at an address; about 0.05 ms."""
        return read_document(self._searcher, address)

    def facets(
        self, names: Sequence[str], most: int = LISTED_VALUES, most_a_segment: int = 500
    ) -> dict[str, dict[str, int]]:
        """Return the most frequent values of each field, each with its number of documents.

        Exact for up to 500 distinct values in a segment of the index. With more, a count can be too
        low by the occurrences of the value in segments where 500 other values are more frequent.
        """
        if not self.total():
            # Aggregating every column takes about 4 ms even if there is nothing to count.
            return {name: {} for name in names}
        aggregate = self._aggregate({name: _terms(name, most, most_a_segment) for name in names})
        return {name: _buckets(aggregate[name]) for name in names}

    def counts_of(self, values: Mapping[str, list[str]]) -> dict[str, dict[str, int]]:
        """Return the number of documents with each of these values of facet fields, by field."""
        aggregations = {
            name: _terms(name, len(value), len(value), value)
            for name, value in values.items()
            if value
        }
        aggregates = self._aggregate(aggregations) if aggregations else {}
        return {name: _buckets(aggregates[name]) for name in aggregations}

    def folders(self, depth: int) -> dict[str, tuple[int, int]]:
        """Return the folders at a depth, 0 for the top level, by key.

        Each has the number of documents in or below it, and how many of them are in or below one of
        its subfolders.
        """
        terms = {
            "field": f"folders.{depth}",
            "size": MOST_FOLDERS,
            "segment_size": MOST_FOLDERS,
        }
        deeper = {"value_count": {"field": f"folders.{depth + 1}"}}
        aggregations = {"here": {"terms": terms, "aggs": {"deeper": deeper}}}
        return {
            bucket["key"]: (bucket["doc_count"], int(bucket["deeper"]["value"]))
            for bucket in self._aggregate(aggregations)["here"]["buckets"]
        }

    def _aggregate(self, aggregations: dict[str, Any]) -> dict[str, Any]:
        return self._run(lambda: self._searcher.aggregate(self._query, aggregations))

    def _count(self, query: Callable[[], tantivy.Query]) -> int:
        return self._run(lambda: self._searcher.count(query()))

    def _run(self, work: Callable[[], _T]) -> _T:
        """Run a search function; run it again with careful queries if a query was too wide."""
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
        resolved, translate = self._resolved, self._translator
        query = translate.query(resolved.node)
        if resolved.types is not None:
            query = both([query, either([translate.type(type_) for type_ in resolved.types])])
        schema = self._terms.schema
        if self._among is not None:
            query = both([query, _Query.term_set_query(schema, "urn", self._among)])
        queries: list[tantivy.Query] = []
        if not resolved.include_removed:
            queries.append(_Query.term_query(schema, "is", is_term(REMOVED, "true")))
        if self._hidden:
            queries.append(_Query.term_set_query(schema, "urn", self._hidden))
        return all_but(query, queries)

    def _step(self, step: int) -> tantivy.Query:
        """Return the query for the documents that meet a step and no earlier one."""
        if step not in self._steps:
            query = self._query
            if step < self._resolved.last_step:
                query = both([query, self._translator.step(self._resolved.steps[step])])
            earlier_steps = self._resolved.steps[:step]
            self._steps[step] = all_but(query, [*map(self._translator.step, earlier_steps)])
        return self._steps[step]


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


def _buckets(aggregate: Mapping[str, Any]) -> dict[str, int]:
    return {bucket["key"]: bucket["doc_count"] for bucket in aggregate["buckets"]}


class SortedIndexResult(IndexResult):
    """An index result with one step, ordered by the sort fields of its search."""

    def read(self, step: int, after: Key | None, limit: int) -> list[_Hit]:
        if limit <= 0:
            return []
        fields = self._resolved.sort
        return self._run(lambda: self._read_in_order(self._after(step, after), fields, "", limit))

    def _after(self, step: int, after: Key | None) -> tantivy.Query:
        query = self._step(step)
        return query if after is None else both([query, self._beyond(after)])

    def _read_in_order(
        self, query: tantivy.Query, fields: Sequence[SortField], begun: Key, limit: int
    ) -> list[_Hit]:
        """Return the first documents of a query in the order of the fields.

        `begun` is the part of their keys for the fields before these.
        """
        field, *rest = fields
        if not rest:
            hits = self._by_column(query, field, limit)
            return [(begun + field.part(code), address) for code, address in hits]
        if field.is_always_there:
            return self._read_with_values(query, field, rest, begun, limit)
        has_value = self._there(field)
        hits_in_order: list[_Hit] = []
        for is_there in (False, True) if field.missing_first else (True, False):
            room = limit - len(hits_in_order)
            if room and is_there:
                hits_in_order += self._read_with_values(
                    both([query, has_value]), field, rest, begun, room
                )
            elif room:
                without = all_but(query, [has_value])
                hits_in_order += self._read_in_order(without, rest, begun + field.part(None), room)
        return hits_in_order

    def _read_with_values(
        self,
        query: tantivy.Query,
        field: SortField,
        rest: Sequence[SortField],
        begun: Key,
        limit: int,
    ) -> list[_Hit]:
        """Return the first documents of a query, all of which have a value of `field`, ordered by
        it and then by `rest`."""
        hits = self._by_column(query, field, limit)
        cut = hits[-1][0] if len(hits) == limit else None
        hits_in_order: list[_Hit] = []
        same: list[tantivy.DocAddress] = []
        for at, (code, address) in enumerate(hits):
            if code == cut:
                break
            same.append(address)
            if at + 1 == len(hits) or hits[at + 1][0] != code:
                hits_in_order += self._by_hand(same, rest, begun + field.part(code))
                same = []
        if cut is not None:
            alike = both([query, self._terms.with_sort_code(field.name, cut)])
            hits_in_order += self._read_in_order(
                alike, rest, begun + field.part(cut), limit - len(hits_in_order)
            )
        return hits_in_order

    def _by_hand(
        self, addresses: list[tantivy.DocAddress], rest: Sequence[SortField], begun: Key
    ) -> list[_Hit]:
        hits = [
            (begun + sort_key(rest, self.document(address), self._vocabulary), address)
            for address in addresses
        ]
        return sorted(hits, key=_key_of)

    def _by_column(
        self, query: tantivy.Query, field: SortField, limit: int
    ) -> list[tuple[str, tantivy.DocAddress]]:
        if not self._terms.has_sort_column(field.name):
            return self._by_values(query, field, limit)
        return self._searcher.search(
            query,
            self._at_most(limit),
            count=False,
            order_by_field=self._terms.sort_column(field.name),
            order=tantivy.Order.Desc if field.descending else tantivy.Order.Asc,
        ).hits

    def _by_values(
        self, query: tantivy.Query, field: SortField, limit: int
    ) -> list[tuple[str, tantivy.DocAddress]]:
        """Return the first documents of a query, ordered by a field without a sortable column.

        Counts its first values in order, then reads the documents that have them.
        """
        limit = self._at_most(limit)
        terms = {
            "field": self._terms.sort_column(field.name),
            "size": limit,
            "segment_size": limit,
            "order": {"_key": "desc" if field.descending else "asc"},
        }
        buckets = self._searcher.aggregate(query, {"codes": {"terms": terms}})["codes"]["buckets"]
        total = 0
        for bucket in buckets:
            last, total = bucket["key"], total + bucket["doc_count"]
            if total >= limit:
                break
        else:
            last = None
        if last is None:
            return self._read_by_code(query, field, limit)
        alike = self._terms.with_sort_code(field.name, last)
        beyond = self._terms.beyond_sort_code(field.name, last, descending=field.descending)
        hits = self._read_by_code(all_but(query, [alike, beyond]), field, limit)
        same = self._searcher.search(both([query, alike]), limit - len(hits), count=False).hits
        return [*hits, *((last, address) for _, address in same)]

    def _read_by_code(
        self, query: tantivy.Query, field: SortField, limit: int
    ) -> list[tuple[str, tantivy.DocAddress]]:
        """Return all documents of a query, at most `limit`, ordered by their values of a field."""
        trait = self._vocabulary.trait(field.name)
        hits = self._searcher.search(both([query, self._there(field)]), limit, count=False).hits
        coded = [(sort_code(trait, self.document(address)) or "", address) for _, address in hits]
        return sorted(coded, key=lambda hit: hit[0], reverse=field.descending)

    def _beyond(self, key: Key) -> tantivy.Query:
        """Return the query for the documents that come after a key."""
        fields = self._resolved.sort
        return self._past(fields, sort_codes(fields, key))

    def _past(self, fields: Sequence[SortField], codes: Sequence[str | None]) -> tantivy.Query:
        field, code = fields[0], codes[0]
        further = self._past(fields[1:], codes[1:]) if len(fields) > 1 else None
        if code is None:
            lacking = all_but(_Query.all_query(), [self._there(field)])
            alike = [] if further is None else [both([lacking, further])]
            return either([self._there(field), *alike] if field.missing_first else alike)
        queries = [self._terms.beyond_sort_code(field.name, code, descending=field.descending)]
        if further is not None:
            queries.append(both([self._terms.with_sort_code(field.name, code), further]))
        if not field.is_always_there and not field.missing_first:
            queries.append(all_but(_Query.all_query(), [self._there(field)]))
        return either(queries)

    def _there(self, field: SortField) -> tantivy.Query:
        return _Query.exists_query(self._terms.sort_column(field.name))


def _key_of(hit: _Hit) -> Key:
    return hit[0]


_FIRST_STEPS = 3


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
        """Prepare to merge results, the first of which is from the index on disk."""
        self._results = results
        self._indexed, *self._others = results
        self._steps = steps
        self._listed: dict[int, list[FoundDocument]] = {}
        # The step and the position in it at which the last page ended, and the key before that.
        self._page_end: tuple[int, int, Key] | None = None

    def total(self) -> int:
        """Return the number of documents."""
        return sum(result.total() for result in self._results)

    def page(self, start: int, count: int) -> list[FoundDocument]:
        """Return the documents from position `start` on, in order, at most `count`."""
        page: list[FoundDocument] = []
        passed = 0
        for step in range(self._steps):
            if len(page) >= count:
                break
            # Most searches either fill the page in the first steps, or have no more documents. With
            # 100,000 documents one with few hits takes 2 ms, and 12 if it reads every step.
            if step >= _FIRST_STEPS and passed >= self.total():
                break
            if start and start >= self._size(step):
                start -= self._size(step)
            else:
                page += self._window(step, start, count - len(page))
                start = 0
            if len(page) < count:
                passed += self._size(step)
        return page

    def following(self, after: Key, count: int) -> list[FoundDocument]:
        """Return the documents that follow a key, in order, at most `count`.

        Only for a search with a single step.
        """
        return self._read(0, after or None, count)

    def _size(self, step: int) -> int:
        return sum(result.count(step) for result in self._results)

    def _new(self, step: int) -> list[FoundDocument]:
        """Return the documents of a step in the indexes in memory, in order."""
        if step not in self._listed:
            documents = [
                FoundDocument(step, key, address, part)
                for part, result in enumerate(self._others, 1)
                for key, address in result.read_all(step)
            ]
            self._listed[step] = sorted(documents, key=_key_of_document)
        return self._listed[step]

    def _window(self, step: int, start: int, count: int) -> list[FoundDocument]:
        """Return the documents of a step from a position on, in order, at most `count`.

        The page that follows the last one is read on from its end. With 100,000 documents that
        takes 5 ms at 8,000, and reading them all from the beginning 580 ms.
        """
        end = self._page_end
        if end is not None and end[:2] == (step, start):
            documents = self._read(step, end[2], count)
        else:
            documents = self._read(step, None, start + count)[start:]
        if documents:
            self._page_end = step, start + len(documents), documents[-1].key
        return documents

    def _read(self, step: int, after: Key | None, count: int) -> list[FoundDocument]:
        """Return the documents of a step that follow a key, in order, at most `count`."""
        hits = self._indexed.read(step, after, count)
        documents = [FoundDocument(step, key, address) for key, address in hits]
        new = self._new(step)
        newer = new[bisect_right(new, after or "", key=_key_of_document) :]
        if newer:
            documents = sorted([*documents, *newer], key=_key_of_document)
        return documents[:count]


def _key_of_document(document: FoundDocument) -> Key:
    return document.key


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
        """Prepare a search. The first of the `results` is from the index on disk."""
        self.resolved = resolved
        self.merged = MergedResult(results, resolved.last_step + 1)
        self.evidence = Evidence(resolved.text_query, vocabulary)
        self._results = results
        self._indexed, *self._others = results
        self._vocabulary = vocabulary
        self._facets = facets
        self._folders: dict[int, dict[str, tuple[int, int]]] = {}

    def size_bytes(self) -> int:
        """Return roughly how much memory the plan takes, including the counts made so far."""
        counted = sum(map(len, self.__dict__.get("_counted", {}).values()))
        folders = sum(map(len, self._folders.values()))
        queries = sum(result.size_bytes for result in self._results)
        return size_bytes(self.resolved.node) + queries + _COUNT_BYTES * (counted + folders)

    def document(self, document: FoundDocument) -> Document:
        """Return a document that was found; about 0.05 ms."""
        return self._results[document.part].document(document.address)

    def count_facets(self) -> None:
        """Count the facets in advance, so that `facets` does not have to."""
        _ = self._facet_counts

    @cached_property
    def _facet_counts(self) -> dict[str, dict[str, int]]:
        counts = self._indexed.facets(self._facets)
        for result in self._others:
            newer = result.facets(self._facets, _MOST_NEWER, _MOST_NEWER)
            for name, value_counts in newer.items():
                if value_counts:
                    counts[name] = self._add_counts(name, counts[name], value_counts)
        return counts

    def facets(self) -> dict[str, tuple[dict[str, int], bool]]:
        """Return the counts of the values of every facet field that has any, most frequent first.

        Each comes with whether there are more values than these.
        """
        counts_by_field: dict[str, tuple[dict[str, int], bool]] = {}
        for name, counts in self._facet_counts.items():
            best = sorted(self._together(name, counts).items(), key=_by_count_and_name)
            if best:
                counts_by_field[name] = dict(best[:_FACET_VALUES]), len(best) > _FACET_VALUES
        return counts_by_field

    def _together(self, name: str, counts: dict[str, int]) -> dict[str, int]:
        """Merge counts of values that a filter does not distinguish, under the most frequent."""
        trait = self._vocabulary.trait(name)
        merged_counts: dict[str, tuple[str, int]] = {}
        for value, count in sorted(counts.items(), key=lambda entry: (-entry[1], entry[0])):
            key = identity(trait, value)
            label, before = merged_counts.get(key, (value, 0))
            merged_counts[key] = (label, before + count)
        return dict(merged_counts.values())

    def folders(self, depth: int) -> dict[str, tuple[int, int]]:
        """Return the folders at a depth by key, with their counts in all indexes; see
        `IndexResult.folders`."""
        if depth not in self._folders:
            counts_by_folder: dict[str, tuple[int, int]] = {}
            for result in self._results:
                for key, (count, deeper) in result.folders(depth).items():
                    before = counts_by_folder.get(key, (0, 0))
                    counts_by_folder[key] = (before[0] + count, before[1] + deeper)
            self._folders[depth] = counts_by_folder
        return self._folders[depth]

    def _add_counts(
        self, name: str, indexed: dict[str, int], newer: dict[str, int]
    ) -> dict[str, int]:
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
    return -count, natural_key(value), value
