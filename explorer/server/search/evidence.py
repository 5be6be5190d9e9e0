"""Why a document was found: the fields and values that have what was asked for."""

from collections.abc import Iterator
from itertools import islice

from explorer.server.search.analysed import join_names, values_of
from explorer.server.search.document import Document, Scalar
from explorer.server.search.fields import CALLED, DISPLAY, URN, Trait, Vocabulary
from explorer.server.search.forms import bare_names, forms
from explorer.server.search.query import And, Node, Or, Phrase, Reference, Value, Word
from explorer.server.search.text import fold, word_line

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
    compared = [leaf for leaf in leaves if isinstance(leaf, Value)]
    searched = [leaf for leaf in leaves if not isinstance(leaf, Value)]
    letters = {part for leaf in searched for part in _letters(leaf)}
    weights = vocabulary.weights(document.entity_type)
    naming = vocabulary.naming(document.entity_type)
    fields = {*(weights if searched else ()), *(leaf.field for leaf in compared)}
    if DISPLAY in fields:
        fields = (fields - {DISPLAY}) | set(CALLED)
    if any(isinstance(leaf, Reference) for leaf in searched):
        fields.add(URN)
    found: list[tuple[str, str]] = []
    for name in sorted(fields, key=lambda name: (-weights.get(name, 0), name)):
        values = values_of(document, name)
        tests = [
            leaf
            for leaf in compared
            if leaf.field == name or (leaf.field == DISPLAY and name in CALLED)
        ]
        is_name = name in naming
        # Most fields have nothing of what is asked for: a look at the letters of all their values
        # is far cheaper than at the words of each.
        looked_into = (name in weights or name == URN) and (is_name or _may_have(letters, values))
        if not looked_into and not tests:
            continue
        trait = vocabulary.trait(name)
        hits = (
            (name, _shown(value))
            for value in values
            if (looked_into and _has_any(searched, name, value, is_name=is_name))
            or any(_compares(leaf, value, trait) for leaf in tests)
        )
        found += islice(hits, _MOST_A_FIELD)
    return tuple(found[:_MOST])


def _letters(leaf: Word | Phrase | Reference) -> tuple[str, ...]:
    match leaf:
        case Word():
            return leaf.parts
        case Phrase():
            return leaf.words
        case Reference():
            return (leaf.urn,)


def _may_have(letters: set[str], values: tuple[Scalar, ...]) -> bool:
    text = "\n".join([value for value in values if isinstance(value, str)]).lower()
    return bool(text) and (not text.isascii() or any(part in text for part in letters))


def _asked(node: Node) -> Iterator[Word | Phrase | Reference | Value]:
    match node:
        case Word() | Phrase() | Reference() | Value():
            yield node
        case And() | Or():
            for inner in node.nodes:
                yield from _asked(inner)
        case _:
            pass


def _has_any(
    leaves: list[Word | Phrase | Reference], name: str, value: Scalar, *, is_name: bool
) -> bool:
    if not isinstance(value, str):
        return False
    text = (bare_names(value) or (value,))[0]
    for leaf in leaves:
        match leaf:
            case Reference():
                urn = fold(value)
                if urn.startswith(leaf.urn) if name == URN else urn == leaf.urn:
                    return True
            case Phrase():
                if _has_phrase(leaf, text):
                    return True
            case Word():
                if _has_word(leaf, text):
                    return True
                if is_name and any(one.startswith(leaf.whole) for one in join_names((text,))):
                    return True
    return False


def _has_phrase(phrase: Phrase, text: str) -> bool:
    line = word_line((text,))
    return any(f" {' '.join(words)} " in line for words in (phrase.words, phrase.wholes))


def _has_word(word: Word, text: str) -> bool:
    line = word_line((text,))
    return any(f" {part}" in line for part in (*word.parts, word.whole))


def _compares(leaf: Value, value: Scalar, trait: Trait) -> bool:
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
