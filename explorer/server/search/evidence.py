"""Explains why documents were found: the values that match the query."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from fnmatch import translate
from itertools import islice

from explorer.server.search.analysis import (
    as_text,
    chunks,
    exact_urn,
    fold,
    fold_value,
    forms,
    join_names,
    names_of,
    needle,
    readable,
    split,
    stem,
    values_of,
    word_line,
)
from explorer.server.search.document import Document, Scalar
from explorer.server.search.fields import DISPLAY, GIVEN_NAMES, URN, Trait, Vocabulary
from explorer.server.search.query import (
    NOTHING,
    And,
    How,
    Node,
    Or,
    Phrase,
    PointedAt,
    Stem,
    Value,
    ValuePattern,
    Wildcard,
    Word,
    all_of,
)


def has_word(word: Word, *, exact: bool) -> Callable[[Iterable[str]], bool]:
    """Return a function that tests whether lines from `word_line` contain a word.

    Unless `exact`, a word that begins with it is enough. A word of several parts is contained if
    all parts are, in any of the lines, or if the unsplit word is.
    """
    joined_word, parts = _needles(word, exact=exact)
    if not parts:
        return lambda lines: any(joined_word in line for line in lines)

    def test(lines: Iterable[str]) -> bool:
        lines = tuple(lines)
        return any(joined_word in line for line in lines) or all(
            any(part in line for line in lines) for part in parts
        )

    return test


def like(node: Wildcard) -> Callable[[str], bool]:
    """Return a function that tests whether any word of a line matches a pattern."""
    match = re.compile(translate(node.pattern)).match
    return lambda line: any(map(match, line.split()))


def _needles(word: Word, *, exact: bool) -> tuple[str, tuple[str, ...]]:
    end = " " if exact else ""
    parts = tuple(f" {part}{end}" for part in word.parts) if len(word.parts) > 1 else ()
    return f" {word.text}{end}", parts


# People are searched for by parts of their names, anything else by its whole name.
_PEOPLE = frozenset({"corpuser", "corpGroup"})
_MOST_WORDS = 16


def name_query(types: Collection[str], how: How, text: str) -> Node:
    """Return the query for entities of some types that may have a name; see `has_name`."""
    words = _words(types, how, text)
    if words is None:
        return Value(DISPLAY, how, needle(Trait(DISPLAY, "text"), text))
    return all_of(words) if words else NOTHING


def has_name(
    types: Collection[str], how: How, text: str, document: Document, vocabulary: Vocabulary
) -> bool:
    """Return whether an entity found by the query of `name_query` has the name.

    Where names are compared for equality, people and groups need every word of the text as a whole
    word of one of their names; other entities found always have it.
    """
    words = _words(types, how, text)
    if words is None:
        return True
    tests = [has_word(word, exact=True) for word in words]
    lines = [(word_line((name, *join_names((name,)))),) for name in names_of(vocabulary, document)]
    return any(all(test(line) for test in tests) for line in lines)


def _words(types: Collection[str], how: How, text: str) -> tuple[Word, ...] | None:
    """Return the words that names must contain; `None` where names are compared as a whole."""
    if how != "equal" or _PEOPLE.isdisjoint(types):
        return None
    return tuple(Word(split(chunk), names_only=True) for chunk in chunks(text)[:_MOST_WORDS])


_MOST_A_FIELD = 3
_MOST = 20


class Evidence:
    """Finds the fields with values that contain a word, phrase or value of a query; those that
    contain only another form of a word come last.

    Ranges, and tests for whether a field has a value, have no matching values.
    """

    def __init__(self, node: Node, vocabulary: Vocabulary) -> None:
        leaves = list(leaf_nodes(node))
        self._vocabulary = vocabulary
        self._compared: dict[str, list[Value | ValuePattern]] = {}
        for leaf in leaves:
            if isinstance(leaf, Value | ValuePattern):
                for name in (*GIVEN_NAMES, "id") if leaf.field == DISPLAY else (leaf.field,):
                    self._compared.setdefault(name, []).append(leaf)
        self._stems = {leaf.text for leaf in leaves if isinstance(leaf, Stem)}
        # The last letter of a stem may not be in the word: `categori` of `category`.
        self._begins = tuple(text[:-1] or text for text in self._stems)
        self._searched = [
            leaf for leaf in leaves if not isinstance(leaf, Value | ValuePattern | Stem)
        ]
        self._like = {leaf: like(leaf) for leaf in leaves if isinstance(leaf, Wildcard)}
        self._letters = tuple({part for leaf in self._searched for part in _letters(leaf)})
        self._refers = any(isinstance(leaf, PointedAt) for leaf in leaves)

    def of(self, document: Document) -> tuple[tuple[str, str], ...]:
        """Return the matching fields of a document with their values, highest weight first.

        At most 3 values per field, and 20 in all.
        """
        if not self._compared and not self._searched and not self._stems:
            return ()
        weights = self._weights(document) if self._searched or self._stems else {}
        naming = self._vocabulary.naming(document.entity_type)
        candidates = [
            name
            for name, values in document.fields.items()
            if name in self._compared
            or (name in weights and (name in naming or _may_have(values, self._letters)))
            or (name == URN and self._refers)
        ]
        candidates.sort(key=lambda name: (-weights.get(name, 0), name))
        matches: list[tuple[str, str]] = []
        for name in candidates:
            trait = self._vocabulary.trait(name)
            tests = self._compared.get(name, ())
            is_searched = name in weights or (name == URN and self._refers)
            hits = (
                (name, as_text(value))
                for value in values_of(document, name)
                if (is_searched and self._has_any(name, value, is_name=name in naming))
                or _meets_any(tests, value, trait)
            )
            matches += islice(hits, _MOST_A_FIELD)
        if len(matches) < _MOST:
            matches += self._find_stems(document, set(matches), weights)
        return tuple(matches[:_MOST])

    def weights(self, document: Document, matched: Iterable[tuple[str, str]]) -> tuple[float, ...]:
        """Return the weights of matching fields, in their order.

        The weight is 0 for a field that free-text search does not use.
        """
        entity_type = document.entity_type
        return tuple(self._vocabulary.weight(entity_type, name) or 0.0 for name, _ in matched)

    def _weights(self, document: Document) -> dict[str, float]:
        """Return the fields of a document that free-text search uses, with their weights."""
        entity_type = document.entity_type
        weights = {name: self._vocabulary.weight(entity_type, name) for name in document.fields}
        return {name: weight for name, weight in weights.items() if weight is not None}

    def _find_stems(
        self, document: Document, listed: set[tuple[str, str]], weights: Mapping[str, float]
    ) -> Iterator[tuple[str, str]]:
        names = (name for name in document.fields if _may_have(document.fields[name], self._begins))
        for name in sorted(
            (name for name in names if name in weights), key=lambda field: (-weights[field], field)
        ):
            trait = self._vocabulary.trait(name)
            hits = (
                (name, as_text(value))
                for value in values_of(document, name)
                if isinstance(value, str)
                and not self._stems.isdisjoint(
                    map(stem, word_line((readable(trait, value),)).split())
                )
            )
            yield from islice((hit for hit in hits if hit not in listed), _MOST_A_FIELD)

    def _has_stem(self, text: str) -> bool:
        return not self._stems.isdisjoint(map(stem, word_line((text,)).split()))

    def _has_any(self, name: str, value: Scalar, *, is_name: bool) -> bool:
        if not isinstance(value, str) or not (is_name or _may_have((value,), self._letters)):
            return False
        text = readable(self._vocabulary.trait(name), value)
        line = word_line((text, *join_names((text,))) if is_name else (text,))
        for leaf in self._searched:
            match leaf:
                case PointedAt():
                    urn = exact_urn(value) or ""
                    if urn.startswith(leaf.urn) if name == URN else urn == leaf.urn:
                        return True
                case Phrase():
                    if any(
                        f" {' '.join(words)} " in line for words in (leaf.words, leaf.joined_words)
                    ):
                        return True
                case Wildcard():
                    if self._like[leaf](line):
                        return True
                case Word():
                    if any(f" {part}" in line for part in (*leaf.parts, leaf.text)):
                        return True
        return False


def _may_have(values: tuple[Scalar, ...], parts: tuple[str, ...]) -> bool:
    """Return whether values may have words with one of these parts."""
    # Most fields contain nothing of the query. Looking for its letters in all values of a field is
    # far cheaper than splitting each value into words: a page of 50 takes 6 ms, without 9.
    text = "\n".join([value for value in values if isinstance(value, str)])
    if not text.isascii():
        return True
    text = text.lower()
    return any(part in text for part in parts)


def _letters(leaf: Word | Wildcard | Phrase | PointedAt) -> tuple[str, ...]:
    match leaf:
        case Word():
            return leaf.parts
        case Wildcard():
            return (max(re.split("[*?]", leaf.pattern), key=len),)
        case Phrase():
            return leaf.words
        case PointedAt():
            return (fold(leaf.urn),)


def leaf_nodes(
    node: Node,
) -> Iterator[Word | Stem | Wildcard | Phrase | PointedAt | Value | ValuePattern]:
    """Yield the words, texts and values of a query that are not negated."""
    match node:
        case Word() | Stem() | Wildcard() | Phrase() | PointedAt() | Value() | ValuePattern():
            yield node
        case And() | Or():
            for inner in node.nodes:
                yield from leaf_nodes(inner)
        case _:
            pass


def _meets_any(leaves: Iterable[Value | ValuePattern], value: Scalar, trait: Trait) -> bool:
    """Return whether a form of a value matches one of the leaves."""
    return any(meets(leaf, value, trait) for leaf in leaves)


def meets(leaf: Value | ValuePattern, value: Scalar, trait: Trait) -> bool:
    """Return whether any form of a value matches a leaf."""
    if isinstance(leaf, Value) and leaf.how == "exact":
        return isinstance(value, str) and exact_urn(value) == leaf.text
    if isinstance(value, str) and is_literal(leaf, trait):
        return leaf.matches(fold(value))
    return any(map(leaf.matches, forms(trait, value, fold_value(value))))


def is_literal(leaf: Value | ValuePattern, trait: Trait) -> bool:
    """Return whether a leaf compares prose literally instead of by words, because its text has no
    words."""
    text = leaf.text if isinstance(leaf, Value) else "".join(leaf.texts)
    return trait.prose and bool(text) and not any(map(str.isalnum, text))
