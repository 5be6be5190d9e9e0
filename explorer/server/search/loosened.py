"""Additional results for a search with few results: documents that have most of the words, or a
similar meaning.

A word counts the more the rarer it is, and more in a name than elsewhere; its frequency within a
document does not count. If the name of an entity consists of words of the text, that counts like
one more word.

Documents found by words and by meaning are merged by reciprocal rank: each of the two orders gives
a document 1 / (`_RANKS_ADDED` + its rank), which the order by words multiplies by the share of the
words that the document has.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from itertools import pairwise

import tantivy

from explorer.server.search.analysis import (
    analyse,
    chunks,
    is_minor,
    names_of,
    order_key,
    split,
)
from explorer.server.search.analysis import stem as stem_of
from explorer.server.search.document import Document
from explorer.server.search.evidence import like
from explorer.server.search.fields import Vocabulary
from explorer.server.search.layers import IndexPart
from explorer.server.search.query import Node, OptionalWords, Phrase, Stem, Wildcard, all_of
from explorer.server.search.result import FoundDocument, IndexResult
from explorer.server.search.terms import Terms, all_but, both, either

# If fewer results match everything, others are added.
FULL_PAGE = 20
MOST_LOOSENED = 100
# The number of documents whose names are compared too.
_MOST_COMPARED = 150
NAME_WEIGHT = 1.5
_STRONG_WEIGHT = 1.25
_MINOR = 0.7
# A document with less than this part of the best score is left out.
LEAST = 0.25
# Documents count as similar in meaning if the cosine of the nearest is at least `_LEAST_COSINE`,
# and that of each other one at least `_LEAST_OF_NEAREST` of the cosine of the nearest.
_MOST_ALIKE = 20
_READ_AT_ONCE = 30
_LEAST_COSINE = 0.3
_LEAST_OF_NEAREST = 0.5
_RANKS_ADDED = 5
# The part of its worth that a word has if it is only spelt nearly like the word typed.
_NEAREST = 0.5
_SHORTEST_PREFIX = 3
_MOST_WITH_PREFIX = 50


@dataclass(frozen=True, slots=True)
class WeighedWord:
    """A word, phrase or pattern of a search with its weight; `exact` is the phrase or pattern.
    `forms` are the alternatives of a word: the stems that a document has to have, and what they are
    worth."""

    word: str
    forms: tuple[tuple[frozenset[str], float], ...]
    exact: Phrase | Wildcard | None = None

    def worth_in(self, stems: frozenset[str], line: str) -> float:
        """Return the worth of the word for a document with these stems and this line of words; 0 if
        the document lacks the word."""
        match self.exact:
            case Phrase(words, joined_words):
                texts = (f" {' '.join(text)} " for text in (words, joined_words))
                return self.worth if any(text in line for text in texts) else 0.0
            case Wildcard():
                return self.worth if like(self.exact)(line) else 0.0
        return max((worth for form, worth in self.forms if form <= stems), default=0.0)

    @property
    def worth(self) -> float:
        """The highest worth of the word for a document; 0 if no document has it."""
        return max((worth for _, worth in self.forms), default=0.0)


@dataclass(frozen=True, slots=True)
class Loosened:
    """The documents that have most of the words, or a similar meaning, best first. `scores`, by
    URN, and `shares` are in the same order; a share, from 0 to 1, is roughly how much of the words
    the document has. `alike` has the URNs of the documents with a similar meaning."""

    words: tuple[WeighedWord, ...]
    documents: tuple[FoundDocument, ...]
    scores: dict[str, float]
    shares: tuple[float, ...] = ()
    alike: frozenset[str] = frozenset()

    def lacks(self, document: Document, vocabulary: Vocabulary) -> tuple[str, ...]:
        """Return the words that a document lacks."""
        line = analyse(vocabulary, document).words
        stems = frozenset(map(stem_of, line.split()))
        return tuple(word.word for word in self.words if not word.worth_in(stems, line))

    def is_by_meaning(self, urn: str, lacks: Sequence[str]) -> bool:
        """Return whether a document was found by its meaning alone."""
        return urn in self.alike and len(lacks) == len(self.words)

    def reason(self, urn: str, lacks: Sequence[str]) -> str:
        """Return in words why a document that lacks some words is in the result."""
        if self.is_by_meaning(urn, lacks):
            return "it means something alike, and has none of the words"
        has = [word.word for word in self.words if word.word not in lacks]
        alike = "; and it means something alike" if urn in self.alike else ""
        return f"it has {len(has)} of {len(self.words)} words: {', '.join(has)}{alike}"

    @property
    def node(self) -> Node:
        """The query whose values in a document are evidence for it."""
        phrases = [word.exact for word in self.words if word.exact is not None]
        single = [word for word in self.words if word.exact is None]
        stems = {stem for word in single for form, _ in word.forms for stem in form}
        return all_of((*phrases, *map(Stem, sorted(stems))))


class Frequencies:
    """How rare words are in the parts of a snapshot."""

    def __init__(self, parts: Sequence[IndexPart], terms: Terms) -> None:
        self._parts = parts
        self._terms = terms
        self._documents = self._count(tantivy.Query.all_query())
        self._counts: dict[str, int] = {}

    def count(self, stem: str) -> int:
        """Return how many documents have a word with a stem."""
        if stem not in self._counts:
            mark = self._terms.stem_mark(stem)
            query = tantivy.Query.term_query(self._terms.schema, "marks", mark)
            self._counts[stem] = self._count(query)
        return self._counts[stem]

    def _count(self, query: tantivy.Query) -> int:
        schema = self._terms.schema
        return sum(
            part.searcher.count(
                all_but(query, [tantivy.Query.term_set_query(schema, "urn", part.hidden)])
                if part.hidden
                else query
            )
            for part in self._parts
        )

    def rarity(self, stem: str) -> float:
        """Return the inverse document frequency of a stem; higher for a rarer one."""
        count = self.count(stem)
        return math.log(1 + (self._documents - count + 0.5) / (count + 0.5))

    def with_prefix(self, start: str) -> list[str]:
        """Return the stems that begin with a text, most frequent first."""
        mark = self._terms.stem_mark(start)
        counts: dict[str, int] = {}
        for part in self._parts:
            for term, count in part.searcher.terms_with_prefix("marks", mark):
                counts[term] = counts.get(term, 0) + count
        best = sorted(counts, key=lambda term: (-counts[term], term))[:_MOST_WITH_PREFIX]
        return [start + term.removeprefix(mark) for term in best]


def weigh(
    optional: OptionalWords,
    frequencies: Frequencies,
    expand: Callable[[str], Sequence[Node]],
    nearest: Callable[[str], str | None],
) -> tuple[WeighedWord, ...]:
    """Return the words of a text that count, with their forms in the catalog: words of the same
    stem, the word joined with its neighbour, and the expansions from `expand`; else words that
    begin with it; else the word spelt most like it, from `nearest`."""
    words = optional.weighed
    forms: dict[str, dict[frozenset[str], float]] = {word: {} for word in words}

    def add(word: str, *stems: str, worth: float = 1.0) -> None:
        rarity = max(map(frequencies.rarity, stems))
        forms[word].setdefault(frozenset(stems), worth * rarity)

    for word in words:
        if frequencies.count(stem_of(word)):
            add(word, stem_of(word))
        for node in expand(word):
            if isinstance(node, Phrase):
                add(word, *map(stem_of, node.words))
    for word, following in pairwise(words):
        joined = stem_of(word + following)
        if frequencies.count(joined):
            add(word, joined)
            add(following, joined)
    for word in (word for word in words if not forms[word]):
        if len(word) >= _SHORTEST_PREFIX:
            for stem in frequencies.with_prefix(word):
                add(word, stem)
        if not forms[word] and (near := nearest(word)) is not None:
            add(word, stem_of(near), worth=_NEAREST)
    phrases = [
        WeighedWord(
            f'"{" ".join(phrase.words)}"',
            ((frozenset(phrase.words), max(map(frequencies.rarity, map(stem_of, phrase.words)))),),
            phrase,
        )
        for phrase in optional.phrases
    ]
    return (*(WeighedWord(word, tuple(forms[word].items())) for word in words), *phrases)


def find_most(
    words: Sequence[WeighedWord],
    results: Sequence[IndexResult],
    terms: Terms,
    vocabulary: Vocabulary,
    step: int,
) -> Loosened | None:
    """Return the documents of results that have most of the words; `None` if none has any."""
    clauses = [_query(word, terms) for word in words if word.forms]
    if not clauses:
        return None
    stems = {stem for word in words for form, _ in word.forms for stem in form}
    bonus = name_worth(words)
    ranked: list[tuple[float, str, FoundDocument, str]] = []
    for part, result in enumerate(results):
        for score, address in result.best(either(clauses), _MOST_COMPARED):
            document = result.document(address)
            weight = _MINOR if is_minor(document) else 1.0
            more = bonus * named_by(names_of(vocabulary, document), stems)
            key = order_key(document)
            place = FoundDocument(step, key, address, part)
            ranked.append((round(weight * score + more, 4), key, place, document.urn))
    if not ranked:
        return None
    ranked.sort(key=lambda entry: (-entry[0], entry[1]))
    best = ranked[0][0]
    good = [entry for entry in ranked[:MOST_LOOSENED] if entry[0] >= best * LEAST]
    # Complete matches have scores of 1 and more.
    scores = {urn: score / (best + 1) for score, _, _, urn in good}
    # A word that no document has would be worth as much as the others on average.
    shares = tuple(min(1.0, score / (bonus * len(words))) for score, _, _, _ in good)
    return Loosened(tuple(words), tuple(place for _, _, place, _ in good), scores, shares)


def add_alike(
    loosened: Loosened | None,
    words: tuple[WeighedWord, ...],
    nearest: Sequence[tuple[str, float]],
    results: Sequence[IndexResult],
    step: int,
) -> Loosened | None:
    """Return the documents that have most of the words merged with those that have a similar
    meaning; `None` if there are none. `nearest` has the URNs of documents near in meaning, each
    with its cosine."""
    documents: dict[str, FoundDocument] = {}
    near: list[tuple[str, float]] = []
    for begin in range(0, len(nearest), _READ_AT_ONCE):
        part = nearest[begin : begin + _READ_AT_ONCE]
        if len(near) >= _MOST_ALIKE or part[0][1] < _LEAST_COSINE * _LEAST_OF_NEAREST:
            break
        documents |= _find_documents([urn for urn, _ in part], results, step)
        near += [(urn, cosine) for urn, cosine in part if urn in documents]
    near = near[:_MOST_ALIKE]
    if not near or near[0][1] < _LEAST_COSINE:
        return loosened
    least = near[0][1] * _LEAST_OF_NEAREST
    alike = [urn for urn, cosine in near if cosine >= least]
    gains: defaultdict[str, float] = defaultdict(float)
    for rank, urn in enumerate(alike, 1):
        gains[urn] += 1 / (_RANKS_ADDED + rank)
    if loosened is None:
        loosened = Loosened(words, (), {})
    by_words = zip(loosened.scores, loosened.documents, loosened.shares, strict=True)
    for rank, (urn, document, share) in enumerate(by_words, 1):
        gains[urn] += share / (_RANKS_ADDED + rank)
        documents[urn] = document
    in_order = sorted(gains, key=lambda urn: (-gains[urn], documents[urn].key))[:MOST_LOOSENED]
    return replace(
        loosened,
        documents=tuple(documents[urn] for urn in in_order),
        # Complete matches have scores of 1 and more.
        scores={urn: gains[urn] / (gains[in_order[0]] + 1) for urn in in_order},
        alike=frozenset(alike),
    )


def _find_documents(
    urns: Sequence[str], results: Sequence[IndexResult], step: int
) -> dict[str, FoundDocument]:
    """Return, by URN, those documents that are in the results."""
    documents: dict[str, FoundDocument] = {}
    for part, result in enumerate(results):
        for address in result.addresses(urns):
            document = result.document(address)
            place = FoundDocument(step, order_key(document), address, part)
            documents[document.urn] = place
    return documents


def _query(word: WeighedWord, terms: Terms) -> tantivy.Query:
    """Return the query for a word, whose score is that of its best form."""
    if isinstance(word.exact, Phrase):
        texts = {word.exact.words, word.exact.joined_words}
        queries = [
            tantivy.Query.phrase_query(terms.schema, "words", [*words])
            if len(words) > 1
            else tantivy.Query.term_query(terms.schema, "words", words[0])
            for words in texts
        ]
        return tantivy.Query.const_score_query(either(queries), word.forms[0][1])
    forms = [_form_query(form, worth, terms) for form, worth in word.forms]
    return forms[0] if len(forms) == 1 else tantivy.Query.disjunction_max_query(forms)


def _form_query(stems: frozenset[str], worth: float, terms: Terms) -> tantivy.Query:
    """Return the query for documents that have all of the stems; it scores those in names
    higher."""

    def scored(worth: float, rank: int | None) -> tantivy.Query:
        marks = (terms.stem_mark(stem, rank) for stem in sorted(stems))
        queries = [tantivy.Query.term_query(terms.schema, "marks", mark) for mark in marks]
        return tantivy.Query.const_score_query(both(queries), worth)

    weights = [NAME_WEIGHT, *[_STRONG_WEIGHT] * (terms.common - 1)]
    more = [scored(worth * (weight - 1), rank) for rank, weight in enumerate(weights)]
    return either([scored(worth, None), *more])


def name_worth(words: Sequence[WeighedWord]) -> float:
    """Return the worth of a name that consists of the words: the average worth of a word."""
    worths = [word.worth for word in words if word.forms]
    return sum(worths) / max(1, len(worths))


def named_by(names: Iterable[str], stems: AbstractSet[str]) -> float:
    """Return the share of the words of a name whose stems are among `stems`; the highest of several
    names."""
    best = 0.0
    for name in names:
        parts = {stem_of(part) for run in chunks(name.rpartition(".")[2]) for part in split(run)}
        if parts:
            best = max(best, len(parts & stems) / len(parts))
    return best
