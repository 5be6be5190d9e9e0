"""Why a document was found: the fields and values that have what was asked for."""

import re
from collections.abc import Iterator, Mapping
from itertools import islice

from explorer.server.cache import cached_short
from explorer.server.search.analysed import as_text, join_names, values_of
from explorer.server.search.document import Document, Scalar
from explorer.server.search.fields import CALLED, DISPLAY, URN, Trait, Vocabulary
from explorer.server.search.forms import forms, readable
from explorer.server.search.matching import like
from explorer.server.search.query import And, Node, Or, Phrase, Reference, Value, Wildcard, Word
from explorer.server.search.text import fold, word_line

__all__ = ["Evidence"]

_MOST_A_FIELD = 3
_MOST = 20


class Evidence:
    """Tells why documents were found by a query: the fields with values that really have a word,
    phrase or value asked for.

    What is asked for by a range, by the mere presence of a field or by its absence shows no value.
    """

    def __init__(self, node: Node, vocabulary: Vocabulary) -> None:
        leaves = list(_asked(node))
        self._vocabulary = vocabulary
        self._compared: dict[str, list[Value]] = {}
        self._loose: dict[str, list[Value]] = {}
        for leaf in leaves:
            if isinstance(leaf, Value):
                compared = self._loose if leaf.loose else self._compared
                for name in CALLED if leaf.field == DISPLAY else (leaf.field,):
                    compared.setdefault(name, []).append(leaf)
        self._searched = [leaf for leaf in leaves if not isinstance(leaf, Value)]
        self._like = {leaf: like(leaf) for leaf in leaves if isinstance(leaf, Wildcard)}
        self._letters = tuple({part for leaf in self._searched for part in _letters(leaf)})
        self._refers = any(isinstance(leaf, Reference) for leaf in leaves)

    def of(self, document: Document) -> tuple[tuple[str, str], ...]:
        """The fields of a document with their values, heavier fields first; at most 3 values a
        field and 20 in all."""
        if not self._compared and not self._searched:
            # Everything was asked for: a page of a scroll need not look at each field.
            return ()
        weights = self._vocabulary.weights(document.entity_type) if self._searched else {}
        naming = self._vocabulary.naming(document.entity_type)
        candidates = [
            name
            for name, values in document.fields.items()
            if name in self._compared
            or (name in weights and (name in naming or self._may_have(values)))
            or (name == URN and self._refers)
        ]
        candidates.sort(key=lambda name: (-weights.get(name, 0), name))
        found: list[tuple[str, str]] = []
        for name in candidates:
            trait = self._vocabulary.trait(name)
            tests = self._compared.get(name, ())
            is_searched = name in weights or (name == URN and self._refers)
            hits = (
                (name, as_text(value))
                for value in values_of(document, name)
                if (is_searched and self._has_any(name, value, is_name=name in naming))
                or any(_compares(leaf, value, trait) for leaf in tests)
            )
            found += islice(hits, _MOST_A_FIELD)
        if len(found) < _MOST:
            found += self._loosely(document, set(found), weights)
        return tuple(found[:_MOST])

    def _loosely(
        self, document: Document, told: set[tuple[str, str]], weights: Mapping[str, float]
    ) -> Iterator[tuple[str, str]]:
        names = (name for name in document.fields if name in self._loose)
        for name in sorted(names, key=lambda one: (-weights.get(one, 0), one)):
            trait = self._vocabulary.trait(name)
            hits = (
                (name, as_text(value))
                for value in values_of(document, name)
                if any(_compares(leaf, value, trait) for leaf in self._loose[name])
            )
            yield from islice((hit for hit in hits if hit not in told), _MOST_A_FIELD)

    def _may_have(self, values: tuple[Scalar, ...]) -> bool:
        # Most fields have nothing of what is asked for: a look at the letters of all their values
        # is far cheaper than at the words of each.
        text = "\n".join([value for value in values if isinstance(value, str)])
        if not text.isascii():
            return True
        text = text.lower()
        return any(part in text for part in self._letters)

    def _has_any(self, name: str, value: Scalar, *, is_name: bool) -> bool:
        if not isinstance(value, str) or not (is_name or self._may_have((value,))):
            return False
        text = readable(self._vocabulary.trait(name), value)
        line = _name_line(text) if is_name else _line(text)
        for leaf in self._searched:
            match leaf:
                case Reference():
                    urn = fold(value)
                    if urn.startswith(leaf.urn) if name == URN else urn == leaf.urn:
                        return True
                case Phrase():
                    if any(f" {' '.join(words)} " in line for words in (leaf.words, leaf.wholes)):
                        return True
                case Wildcard():
                    if self._like[leaf](line):
                        return True
                case Word():
                    if any(f" {part}" in line for part in (*leaf.parts, leaf.whole)):
                        return True
        return False


# The same documents are found again while somebody types, and the same columns in many of them.
@cached_short(32 << 20, longest=1_000)
def _line(text: str) -> str:
    return word_line((text,))


@cached_short(4 << 20)
def _name_line(text: str) -> str:
    return word_line((text, *join_names((text,))))


def _letters(leaf: Word | Wildcard | Phrase | Reference) -> tuple[str, ...]:
    match leaf:
        case Word():
            return leaf.parts
        case Wildcard():
            return (max(re.split("[*?]", leaf.pattern), key=len),)
        case Phrase():
            return leaf.words
        case Reference():
            return (leaf.urn,)


def _asked(node: Node) -> Iterator[Word | Wildcard | Phrase | Reference | Value]:
    match node:
        case Word() | Wildcard() | Phrase() | Reference() | Value():
            yield node
        case And() | Or():
            for inner in node.nodes:
                yield from _asked(inner)
        case _:
            pass


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
