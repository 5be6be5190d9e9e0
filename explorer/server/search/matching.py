"""Whether one document answers a query, in plain Python: what every word of a query means.

Used for the documents in memory, a few microseconds each, and as the yardstick of the index on
disk, which must say the same.
"""

import math
from collections.abc import Iterable

from explorer.server.search.analysed import Analysed
from explorer.server.search.query import (
    And,
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
    Word,
)
from explorer.server.search.text import fold

__all__ = ["has_word", "matches"]


def matches(node: Node, document: Analysed) -> bool:
    """Whether a document answers a query."""
    match node:
        case Word():
            return has_word(document.lines[:1] if node.named else document.lines, node, exact=False)
        case And():
            return all(matches(inner, document) for inner in node.nodes)
        case Or():
            return any(matches(inner, document) for inner in node.nodes)
        case Not():
            return not matches(node.node, document)
        case Everything():
            return True
        case Value():
            return _has_value(node, document)
        case Phrase():
            phrases = [f" {' '.join(words)} " for words in (node.words, node.wholes)]
            return any(phrase in line for line in document.lines for phrase in phrases)
        case Reference():
            return fold(document.document.urn).startswith(node.urn) or any(
                fold(urn) == node.urn for urn in document.references
            )
        case Present():
            return bool(document.values(node.field))
        case NumberRange():
            return _has_number(node, document)
        case TextRange():
            return _has_text(node, document)


def has_word(lines: Iterable[str], word: Word, *, exact: bool) -> bool:
    """Whether the lines have a word, or, unless `exact`, one that begins with it.

    Of a word of several parts all are needed, in any of the lines, or the whole.
    """
    lines = tuple(lines)
    end = " " if exact else ""
    if any(f" {word.whole}{end}" in line for line in lines):
        return True
    return len(word.parts) > 1 and all(
        any(f" {part}{end}" in line for line in lines) for part in word.parts
    )


def _has_value(node: Value, document: Analysed) -> bool:
    text = node.text
    match node.how:
        case "equal":
            return _equals(node, document)
        case "prefix":
            whole = document.vocabulary.trait(node.field).is_whole(text)
            found = document.forms(node.field) if whole else document.bodies(node.field)
            return any(one.startswith(text) for one in found)
        case "suffix":
            return any(body.endswith(text) for body in document.bodies(node.field))
        case "infix":
            return any(text in body for body in document.bodies(node.field))
        case "words":
            wanted = f" {text} "
            return bool(text) and any(wanted in f" {body} " for body in document.bodies(node.field))


def _equals(node: Value, document: Analysed) -> bool:
    whole = document.vocabulary.trait(node.field).is_whole(node.text)
    return node.text in (document.forms if whole else document.bodies)(node.field)


def _has_number(node: NumberRange, document: Analysed) -> bool:
    low = -math.inf if node.low is None else node.low
    high = math.inf if node.high is None else node.high
    numbers = [value for value in document.values(node.field) if isinstance(value, float)]
    if node.strict:
        return any(low < value < high for value in numbers)
    return any(low <= value <= high for value in numbers)


def _has_text(node: TextRange, document: Analysed) -> bool:
    longest = document.vocabulary.trait(node.field).order_cut
    return any(node.holds(form[:longest]) for form in document.forms(node.field))
