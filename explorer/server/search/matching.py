"""Whether one document answers a query, in plain Python: what every word of a query means.

Used for the documents in memory, about a microsecond each, and as the yardstick of the index on
disk, which must say the same. A query is made into functions first, since it is asked of many
documents.
"""

import re
from collections.abc import Callable, Iterable
from fnmatch import translate
from typing import TypeAlias

from explorer.server.search.analysed import Analysed
from explorer.server.search.forms import as_number
from explorer.server.search.query import (
    And,
    Below,
    Everything,
    Node,
    Not,
    NumberRange,
    Or,
    Phrase,
    Present,
    Reference,
    TextRange,
    Value,
    Wildcard,
    Word,
)
from explorer.server.search.text import fold

__all__ = ["Test", "has_word", "like", "test_of"]

Test: TypeAlias = Callable[[Analysed], bool]


def test_of(node: Node) -> Test:
    """The function that tells whether a document answers a query."""
    match node:
        case Word():
            return _word(node)
        case Wildcard():
            is_like = like(node)
            return lambda document: is_like(document.words)
        case And():
            return _joined(_and, map(test_of, node.nodes))
        case Or():
            return _joined(_or, map(test_of, node.nodes))
        case Not():
            inner = test_of(node.node)
            return lambda document: not inner(document)
        case Everything():
            return lambda _: True
        case Value():
            return _value(node)
        case Phrase():
            found = {f" {' '.join(words)} " for words in (node.words, node.wholes)}
            return lambda document: any(phrase in document.words for phrase in found)
        case Reference():
            return lambda document: _refers(document, node.urn)
        case Present():
            return lambda document: bool(document.values(node.field))
        case NumberRange():
            return _number_range(node)
        case TextRange():
            return lambda document: _has_text(node, document)
        case Below():
            return lambda document: node.folder in document.folders


def has_word(word: Word, *, exact: bool) -> Callable[[Iterable[str]], bool]:
    """The function that tells whether lines have a word, or, unless `exact`, one that begins with
    it. Of a word of several parts all are needed, in any of the lines, or the whole."""
    whole, parts = _needles(word, exact=exact)
    if not parts:
        return lambda lines: any(whole in line for line in lines)

    def test(lines: Iterable[str]) -> bool:
        lines = tuple(lines)
        return any(whole in line for line in lines) or all(
            any(part in line for line in lines) for part in parts
        )

    return test


def like(node: Wildcard) -> Callable[[str], bool]:
    """The function that tells whether a line of words has one that is like a pattern."""
    match = re.compile(translate(node.pattern)).match
    return lambda line: any(map(match, line.split()))


def _word(word: Word) -> Test:
    whole, parts = _needles(word, exact=False)
    if word.named:
        test = has_word(word, exact=False)
        return lambda document: test(document.lines[:1])
    if not parts:
        return lambda document: whole in document.words
    return lambda document: whole in document.words or all(part in document.words for part in parts)


def _needles(word: Word, *, exact: bool) -> tuple[str, tuple[str, ...]]:
    end = " " if exact else ""
    parts = tuple(f" {part}{end}" for part in word.parts) if len(word.parts) > 1 else ()
    return f" {word.whole}{end}", parts


def _joined(join: Callable[[Test, Test], Test], tests: Iterable[Test]) -> Test:
    """One test of many, in their order, by halves: however many there are, it is not deep."""
    left = list(tests)
    while len(left) > 1:
        pairs = [join(one, other) for one, other in zip(left[::2], left[1::2], strict=False)]
        left = pairs if len(left) % 2 == 0 else [*pairs, left[-1]]
    return left[0]


def _and(one: Test, other: Test) -> Test:
    return lambda document: one(document) and other(document)


def _or(one: Test, other: Test) -> Test:
    return lambda document: one(document) or other(document)


def _refers(document: Analysed, urn: str) -> bool:
    return fold(document.document.urn).startswith(urn) or any(
        fold(one) == urn for one in document.references
    )


def _value(node: Value) -> Test:
    field, text = node.field, node.text

    def candidates(document: Analysed) -> Iterable[str]:
        whole = document.vocabulary.trait(field).is_whole(text)
        return document.forms(field) if whole else document.bodies(field)

    match node.how:
        case "equal":
            return lambda document: text in candidates(document)
        case "prefix":
            return lambda document: any(one.startswith(text) for one in candidates(document))
        case "suffix":
            return lambda document: any(one.endswith(text) for one in document.bodies(field))
        case "infix":
            return lambda document: any(text in one for one in document.bodies(field))
        case "words":
            wanted = f" {text} "
            return lambda document: (
                bool(text) and any(wanted in f" {one} " for one in document.bodies(field))
            )


def _number_range(node: NumberRange) -> Test:
    def test(document: Analysed) -> bool:
        if document.vocabulary.trait(node.field).mixed:
            return any(node.holds(as_number(form)) for form in document.forms(node.field))
        values = document.values(node.field)
        return any(isinstance(value, float) and node.holds(value) for value in values)

    return test


def _has_text(node: TextRange, document: Analysed) -> bool:
    longest = document.vocabulary.trait(node.field).order_cut
    return any(node.holds(form[:longest]) for form in document.forms(node.field))
