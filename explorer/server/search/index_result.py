"""The result of a search in one index, step by step, in the order of keys.

A result can have a million documents, of which only a few are read. So a result is never listed in
full: a step can be counted, read on from a key, or sampled.

tantivy sorts documents by one column. Documents with equal values in it are sorted by the next
field: in Python if all of them were read, with another query if only some were. So reading on costs
a few queries for each sort field, wherever a page begins.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeAlias, TypeVar

import tantivy

from explorer.server.search.analysis import order_key, values_of
from explorer.server.search.document import MOST_FOLDERS, Document
from explorer.server.search.engine import Searcher, counted, is_too_wide
from explorer.server.search.evidence import is_literal, meets
from explorer.server.search.fields import ENTITY_TYPE, REMOVED, URN, Vocabulary
from explorer.server.search.query import (
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
    TextRange,
    Value,
    ValuePattern,
    Wildcard,
    Word,
)
from explorer.server.search.relevance import (
    InFields,
    InName,
    NameBegins,
    NameIs,
    ResolvedSearch,
    Step,
    covers,
)
from explorer.server.search.sort_keys import SortField, sort_code, sort_codes, sort_key
from explorer.server.search.terms import (
    MAX_NAME_START,
    MAX_START,
    MORE,
    Parts,
    Terms,
    all_but,
    at_least,
    both,
    either,
    is_short,
    is_term,
    like,
    like_value,
    literal,
    read_document,
    within,
)

__all__ = ["LISTED_VALUES", "IndexResult", "Key", "SortedIndexResult"]

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

    def query(self, node: Node) -> tantivy.Query:
        """Return the tantivy query for the documents that match a node."""
        match node:
            case Word():
                return self._word(("name",) if node.named else ("any",), node, exact=False)
            case Wildcard():
                return _Query.regex_query(self._schema, "any.words", like(node.pattern))
            case And():
                positive = [self.query(one) for one in node.nodes if not isinstance(one, Not)]
                negative = [self.query(one.node) for one in node.nodes if isinstance(one, Not)]
                return all_but(both(positive), negative)
            case Or():
                return either([self.query(one) for one in node.nodes])
            case Not():
                return all_but(_Query.all_query(), [self.query(node.node)])
            case Everything():
                return _Query.all_query()
            case Phrase():
                return either([self._phrase(words) for words in {node.words, node.joined_words}])
            case PointedAt():
                named = self._value(Value(URN, "prefix", node.urn))
                return either([named, self._term("refers", node.urn)])
            case Present():
                return self._term("has", node.field)
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
                return self._term("under", node.folder)

    def step(self, step: Step) -> tantivy.Query:
        """Return the tantivy query for the documents that meet a step.

        The query of the search itself is not part of it.
        """
        match step:
            case NameIs():
                names = [self._term("called", step.joined)] if step.joined else []
                return either([*names, *(self._is(URN, urn) for urn in step.urns)])
            case NameBegins():
                return self._name_begins(step.joined)
            case InName():
                found = [self._word(("name",), word, exact=step.exact) for word in step.words]
                return at_least(found, step.least)
            case InFields():
                return both([self._in_fields(word, step) for word in step.words])

    def may_have(self, step: Step) -> bool:
        """Return whether any document may meet a step; looks up single terms, in microseconds."""
        match step:
            case NameIs():
                return bool(step.urns) or self._has("called", step.joined)
            case NameBegins() if len(step.joined) <= MAX_NAME_START:
                return self._has("calling", step.joined)
            case InName() if step.least == len(step.words):
                return all(
                    self._has("name.words", word.text)
                    for word in step.words
                    if step.exact and len(word.parts) == 1
                )
        return True

    def type(self, entity_type: str) -> tantivy.Query:
        """Return the tantivy query for the documents of an entity type."""
        return self._is(ENTITY_TYPE, entity_type.casefold().replace("_", ""))

    def _in_fields(self, word: Word, step: InFields) -> tantivy.Query:
        strong = self._terms.strong
        if step.ranks <= len(strong):
            return self._word(("name", *strong[: step.ranks]), word, exact=step.exact)
        parts = [self._common(part, exact=step.exact) for part in word.parts]
        if len(word.parts) == 1:
            return parts[0]
        return either([self._common(word.text, exact=step.exact), both(parts)])

    def _common(self, text: str, *, exact: bool) -> tantivy.Query:
        """Return the query for a word, except where only fields below the common weight have it."""
        if exact or len(text) <= MAX_START:
            return self._but_weak(text, "words" if exact else "starts")
        return either([self._but_weak(word, "words") for word in self._words_from(text)])

    def _but_weak(self, text: str, part: str) -> tantivy.Query:
        weak = self._term(f"weak.{part}", text)
        return all_but(self._term(f"any.{part}", text), [weak])

    def _word(self, fields: Sequence[str], word: Word, *, exact: bool) -> tantivy.Query:
        def one(text: str) -> tantivy.Query:
            return either([self._text(field, text, exact=exact) for field in fields])

        if len(word.parts) == 1:
            return one(word.text)
        return either([one(word.text), both([one(part) for part in word.parts])])

    def _text(self, field: str, text: str, *, exact: bool) -> tantivy.Query:
        if exact:
            return self._term(f"{field}.words", text)
        if len(text) <= MAX_START:
            return self._term(f"{field}.starts", text)
        return self._terms_of(f"{field}.words", self._words_from(text))

    def _words_from(self, start: str) -> list[str]:
        """Return the words of the index that begin with a text longer than the indexed prefixes."""
        if start not in self._known_words:
            self._known_words[start] = self._with_prefix("any.words", start)
        return self._known_words[start]

    def _name_begins(self, start: str) -> tantivy.Query:
        if len(start) <= MAX_NAME_START:
            return self._term("calling", start)
        return self._terms_of("called", self._with_prefix("called", start))

    def _phrase(self, words: tuple[str, ...]) -> tantivy.Query:
        if len(words) == 1:
            return self._term("any.words", words[0])
        return _Query.phrase_query(self._schema, "any.words", [*words])

    def _value(self, node: Value) -> tantivy.Query:
        trait = self._vocabulary.trait(node.field)
        match node.how:
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
        found = self._with_prefix("is", begin)
        if node.how == "suffix":
            found = [term for term in found if term.endswith(node.text)]
        elif node.how == "infix":
            found = [term for term in found if node.text in term]
        return self._terms_of("is", found)

    def _pattern(self, node: ValuePattern) -> tantivy.Query:
        """Return the query for documents with a value that matches a pattern.

        The terms of a field have most values as a whole. Of longer values, and for a pattern that
        tantivy cannot look for, the documents that may match are read.
        """
        trait = self._vocabulary.trait(node.field)
        prefix = literal(is_term(node.field, ""))
        candidates = [self.query(one) for one in node.conditions()]
        whole = None
        if is_short("".join(node.texts)) and not is_literal(node, trait):
            # `ValueError`: the pattern has more states than tantivy allows.
            with suppress(ValueError):
                whole = _Query.regex_query(self._schema, "is", prefix + like_value(node))
        if whole is None:
            return self._compared(node, both(candidates))
        if trait.nature != "text":
            return whole
        longer = _Query.regex_query(self._schema, "is", f"{prefix}.*{MORE}")
        return either([whole, self._compared(node, all_but(both([*candidates, longer]), [whole]))])

    def _compared(self, node: ValuePattern, query: tantivy.Query) -> tantivy.Query:
        """Return the query for those documents of a query that have a value that matches a pattern.

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
        found = [
            document.urn
            for document in documents
            if any(meets(node, value, trait) for value in values_of(document, node.field))
        ]
        return self._terms_of("urn", found) if found else _Query.empty_query()

    def _text_range(self, node: TextRange) -> tantivy.Query:
        longest = self._vocabulary.trait(node.field).order_cut
        prefix = literal(is_term(node.field, ""))
        expressions = within(node.low, node.high, longest=longest, strict=node.strict)
        return either([_Query.regex_query(self._schema, "is", prefix + one) for one in expressions])

    def _has(self, name: str, text: str) -> bool:
        return self._searcher.doc_freq(name, text) > 0

    def _is(self, field: str, form: str) -> tantivy.Query:
        return self._term("is", is_term(field, form))

    def _term(self, name: str, text: str) -> tantivy.Query:
        return _Query.term_query(self._schema, name, text)

    def _terms_of(self, name: str, texts: list[str]) -> tantivy.Query:
        if len(texts) == 1:
            return self._term(name, texts[0])
        return _Query.term_set_query(self._schema, name, texts)

    def _with_prefix(self, name: str, start: str) -> list[str]:
        return [term for term, _ in self._searcher.terms_with_prefix(name, start)]


_ASCENDING = tantivy.Order.Asc
# More values than a facet shows, because pending changes may move a shown value below others.
LISTED_VALUES = 200

# The sort key of a document: `analysis.order_key`, or `sort_keys.sort_key` in a sorted search.
Key: TypeAlias = str

_T = TypeVar("_T")


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
            has_any = self._total != 0 and self._may_have(step)
            self._counts[step] = self._count(lambda: self._step(step)) if has_any else 0
        return self._counts[step]

    def between(self, step: int, after: Key | None, to: Key) -> int:
        """Return the number of documents of a step after one key, up to and including another."""
        span = self._span(after, to, to_is_in=True)
        return self._count(lambda: both([self._step(step), span]))

    def read(
        self, step: int, after: Key | None, limit: int
    ) -> list[tuple[Key, tantivy.DocAddress]]:
        """Return the documents of a step that follow a key, in order, at most `limit`."""
        if self._total == 0 or not self._may_have(step):
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

    def read_all(self, step: int) -> list[tuple[Key, tantivy.DocAddress]]:
        """Return all documents of a step, in order; for small indexes, or with `among`."""
        return self.read(step, None, len(self._among or ()) or self._searcher.num_docs)

    def _at_most(self, limit: int) -> int:
        """Cap a limit at the size of the index: tantivy allocates space for all hits first."""
        return max(1, min(limit, self._searcher.num_docs))

    def sample(self, step: int, after: Key | None, before: Key | None, size: int) -> list[Key]:
        """Return the keys of random documents of a step, between two keys, in order."""
        span = [] if after is None and before is None else [self._span(after, before)]
        result = self._run(
            lambda: self._searcher.search(
                both([self._step(step), *span]), size, count=False, order_by_field="shuffle"
            )
        )
        return sorted(self._key(address) for _, address in result.hits)

    def document(self, address: tantivy.DocAddress) -> Document:
        """Return the document at an address; about 0.05 ms."""
        return read_document(self._searcher, address)

    def usages(self, addresses: Sequence[tantivy.DocAddress]) -> list[float]:
        """Return how often the documents at these addresses are used, from a column."""
        return self._searcher.values("used", addresses)

    def facets(
        self, names: Sequence[str], most: int = LISTED_VALUES, most_a_segment: int = 500
    ) -> dict[str, dict[str, int]]:
        """Return the most frequent values of each field, each with its number of documents.

        Exact for up to 500 distinct values in a segment of the index. With more, a count can be too
        low by the occurrences of the value in segments where 500 other values are more frequent.
        """
        if self.total() == 0:
            # Aggregating every column takes about 4 ms even if there is nothing to count.
            return {name: {} for name in names}
        found = self._aggregate({name: _terms(name, most, most_a_segment) for name in names})
        counts = {name: _buckets(found[name]) for name in names}
        if ENTITY_TYPE in counts:
            # Every document has exactly one type, and there are fewer types than values counted.
            self._total = sum(counts[ENTITY_TYPE].values())
        return counts

    def counts_of(self, values: Mapping[str, list[str]]) -> dict[str, dict[str, int]]:
        """Return the number of documents with each of these values of facet fields, by field."""
        aggregations = {
            name: _terms(name, len(found), len(found), found)
            for name, found in values.items()
            if found
        }
        found = self._aggregate(aggregations) if aggregations else {}
        return {name: _buckets(found[name]) for name in aggregations}

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

    def _key(self, address: tantivy.DocAddress) -> Key:
        return order_key(self.document(address))

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
            query = both([query, either([translate.type(one) for one in resolved.types])])
        schema = self._terms.schema
        if self._among is not None:
            query = both([query, _Query.term_set_query(schema, "urn", self._among)])
        others: list[tantivy.Query] = []
        if not resolved.include_removed:
            others.append(_Query.term_query(schema, "is", is_term(REMOVED, "true")))
        if self._hidden:
            others.append(_Query.term_set_query(schema, "urn", self._hidden))
        return all_but(query, others)

    def _may_have(self, step: int) -> bool:
        steps = self._resolved.steps
        return step == len(steps) or self._translator.may_have(steps[step])

    def _step(self, step: int) -> tantivy.Query:
        """Return the query for the documents of a step: those that meet it and no earlier step."""
        if step not in self._steps:
            before = self._resolved.steps[:step]
            # A step that is covered by another step need not be excluded as well.
            outer = [
                one
                for at, one in enumerate(before)
                if not any(covers(other, one) for other in before[at + 1 :])
            ]
            query = self._query
            if step < self._resolved.last_step:
                query = both([query, self._translator.step(self._resolved.steps[step])])
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


_Hit = tuple[Key, tantivy.DocAddress]


class SortedIndexResult(IndexResult):
    """An index result with one step, ordered by the sort fields of its search."""

    def between(self, step: int, after: Key | None, to: Key) -> int:
        def query() -> tantivy.Query:
            return all_but(self._after(step, after), [self._beyond(to)])

        return self._count(query)

    def read(self, step: int, after: Key | None, limit: int) -> list[_Hit]:
        if limit <= 0:
            return []
        fields = self._resolved.sort
        return self._run(lambda: self._ordered(self._after(step, after), fields, "", limit))

    def sample(self, step: int, after: Key | None, before: Key | None, size: int) -> list[Key]:
        def search() -> tantivy.SearchResult:
            query = self._after(step, after)
            if before is not None:
                query = all_but(query, [self._beyond(before)])
            return self._searcher.search(query, size, count=False, order_by_field="shuffle")

        keys = {self._key(address) for _, address in self._run(search).hits}
        return sorted(keys - {before})

    def _key(self, address: tantivy.DocAddress) -> Key:
        return sort_key(self._resolved.sort, self.document(address), self._vocabulary)

    def _after(self, step: int, after: Key | None) -> tantivy.Query:
        query = self._step(step)
        return query if after is None else both([query, self._beyond(after)])

    def _ordered(
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
            return self._valued(query, field, rest, begun, limit)
        there = self._there(field)
        found: list[_Hit] = []
        for is_there in (False, True) if field.missing_first else (True, False):
            left = limit - len(found)
            if left and is_there:
                found += self._valued(both([query, there]), field, rest, begun, left)
            elif left:
                without = all_but(query, [there])
                found += self._ordered(without, rest, begun + field.part(None), left)
        return found

    def _valued(
        self,
        query: tantivy.Query,
        field: SortField,
        rest: Sequence[SortField],
        begun: Key,
        limit: int,
    ) -> list[_Hit]:
        """Do the same as `_ordered` for documents that all have a value of the first field."""
        hits = self._by_column(query, field, limit)
        cut = hits[-1][0] if len(hits) == limit else None
        found: list[_Hit] = []
        same: list[tantivy.DocAddress] = []
        for at, (code, address) in enumerate(hits):
            if code == cut:
                break
            same.append(address)
            if at + 1 == len(hits) or hits[at + 1][0] != code:
                found += self._by_hand(same, rest, begun + field.part(code))
                same = []
        if cut is not None:
            alike = both([query, self._terms.sorted_as(field.name, cut)])
            found += self._ordered(alike, rest, begun + field.part(cut), limit - len(found))
        return found

    def _by_hand(
        self, addresses: list[tantivy.DocAddress], rest: Sequence[SortField], begun: Key
    ) -> list[_Hit]:
        found = [
            (begun + sort_key(rest, self.document(address), self._vocabulary), address)
            for address in addresses
        ]
        return sorted(found, key=_key_of)

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
        """Do the same as `_by_column` for a field without a sortable column.

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
        found = 0
        for bucket in buckets:
            last, found = bucket["key"], found + bucket["doc_count"]
            if found >= limit:
                break
        else:
            last = None
        if last is None:
            return self._coded(query, field, limit)
        alike = self._terms.sorted_as(field.name, last)
        beyond = self._terms.sorted_beyond(field.name, last, descending=field.descending)
        hits = self._coded(all_but(query, [alike, beyond]), field, limit)
        same = self._searcher.search(both([query, alike]), limit - len(hits), count=False).hits
        return [*hits, *((last, address) for _, address in same)]

    def _coded(
        self, query: tantivy.Query, field: SortField, limit: int
    ) -> list[tuple[str, tantivy.DocAddress]]:
        """Return all documents of a query, at most `limit`, ordered by their values of a field."""
        trait = self._vocabulary.trait(field.name)
        hits = self._searcher.search(both([query, self._there(field)]), limit, count=False).hits
        coded = [(sort_code(trait, self.document(address)) or "", address) for _, address in hits]
        return sorted(coded, key=lambda one: one[0], reverse=field.descending)

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
        found = [self._terms.sorted_beyond(field.name, code, descending=field.descending)]
        if further is not None:
            found.append(both([self._terms.sorted_as(field.name, code), further]))
        if not field.is_always_there and not field.missing_first:
            found.append(all_but(_Query.all_query(), [self._there(field)]))
        return either(found)

    def _there(self, field: SortField) -> tantivy.Query:
        return _Query.exists_query(self._terms.sort_column(field.name))


def _key_of(hit: _Hit) -> Key:
    return hit[0]
