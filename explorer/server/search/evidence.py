"""Why a document was found: the fields and values that have what was asked for."""

from collections.abc import Iterator

from explorer.server.search.analysed import NAME_CUT, values_of
from explorer.server.search.document import Document, Scalar
from explorer.server.search.fields import DISPLAY, URN, Vocabulary
from explorer.server.search.forms import bare_names, forms
from explorer.server.search.matching import has_word
from explorer.server.search.query import And, Node, Or, Phrase, Reference, Value, Word
from explorer.server.search.text import fold, joined, word_line

__all__ = ["matched"]

_MOST_A_FIELD = 3
_MOST = 20


def matched(node: Node, document: Document, vocabulary: Vocabulary) -> tuple[tuple[str, str], ...]:
    """The fields with their values that really have a word, phrase or value asked for.

    Heavier fields first; at most 3 values a field and 20 in all. What is asked for by a range, by
    the mere presence of a field or by its absence shows no value.
    """
    leaves = list(_asked(node))
    if not leaves:
        return ()
    weights = vocabulary.weights(document.entity_type)
    named = {leaf.field for leaf in leaves if isinstance(leaf, Value)}
    searched = sorted({*weights, *named} - {DISPLAY}, key=lambda name: -weights.get(name, 0))
    if any(isinstance(leaf, Reference) for leaf in leaves):
        searched.append(URN)
    found: list[tuple[str, str]] = []
    for name in dict.fromkeys(searched):
        hits = [
            (name, _shown(value))
            for value in values_of(document, name)
            if any(_has(leaf, name, value, name in weights, vocabulary) for leaf in leaves)
        ]
        found += hits[:_MOST_A_FIELD]
    return tuple(found[:_MOST])


def _asked(node: Node) -> Iterator[Word | Phrase | Reference | Value]:
    match node:
        case Word() | Phrase() | Reference() | Value():
            yield node
        case And() | Or():
            for inner in node.nodes:
                yield from _asked(inner)
        case _:
            pass


def _has(
    leaf: Word | Phrase | Reference | Value,
    name: str,
    value: Scalar,
    is_searched: bool,
    vocabulary: Vocabulary,
) -> bool:
    if isinstance(leaf, Value):
        return leaf.field == name and _compares(leaf, name, value, vocabulary)
    if not isinstance(value, str) or not (is_searched or name == URN):
        return False
    if isinstance(leaf, Reference):
        return fold(value).startswith(leaf.urn) if name == URN else fold(value) == leaf.urn
    text = (bare_names(value) or (value,))[0]
    if isinstance(leaf, Phrase):
        line = word_line((text,))
        return any(f" {' '.join(words)} " in line for words in (leaf.words, leaf.wholes))
    return _has_word(leaf, text)


def _has_word(word: Word, text: str) -> bool:
    # Most values have nothing of the word: a look at the letters is far cheaper than the words.
    if text.isascii() and not any(part in text.lower() for part in word.parts):
        return _begins_joined(word, text)
    line = (word_line((text,)),)
    parts = (*word.parts, word.whole)
    return any(has_word(line, Word((part,)), exact=False) for part in parts) or (
        _begins_joined(word, text)
    )


def _begins_joined(word: Word, text: str) -> bool:
    names = (text, text.rpartition(".")[2]) if len(text) <= NAME_CUT else ()
    return any(joined(name).startswith(word.whole) for name in names)


def _compares(leaf: Value, name: str, value: Scalar, vocabulary: Vocabulary) -> bool:
    trait = vocabulary.trait(name)
    texts = forms(trait, value)
    match leaf.how:
        case "equal":
            return leaf.text in texts
        case "prefix":
            return any(text.startswith(leaf.text) for text in texts)
        case "suffix":
            return any(text.endswith(leaf.text) for text in texts)
        case "infix":
            return any(leaf.text in text for text in texts)
        case "words":
            return any(f" {leaf.text} " in f" {text} " for text in texts)


def _shown(value: Scalar) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return value
        case _:
            return str(int(value)) if value.is_integer() else repr(value)
