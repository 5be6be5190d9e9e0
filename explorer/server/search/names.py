"""Finding what is referred to by a name: the URNs that `owners:"Nina Weber"` stands for."""

from collections.abc import Callable, Collection, Sequence
from typing import TypeAlias

from explorer.server.search.analysed import join_names, names_of
from explorer.server.search.document import Document
from explorer.server.search.fields import DISPLAY, Trait, Vocabulary
from explorer.server.search.forms import needle
from explorer.server.search.matching import has_word
from explorer.server.search.query import NOTHING, How, Node, Value, Word, all_of
from explorer.server.search.text import chunks, split, word_line

__all__ = ["Names", "called", "is_called"]

Names: TypeAlias = Callable[[Sequence[str], How, str], Collection[str]]
"""Gives the URNs of the entities of some types whose name compares so with a text."""

# People are asked for by a part of their name; of anything else the whole name is meant.
_PEOPLE = frozenset({"corpuser", "corpGroup"})
_MOST_WORDS = 16


def called(types: Collection[str], how: How, text: str) -> Node:
    """The query for the entities of some types that may be called so; see `is_called`."""
    words = _words(types, how, text)
    if words is None:
        return Value(DISPLAY, how, needle(Trait(DISPLAY, "text"), text))
    return all_of(words) if words else NOTHING


def is_called(
    types: Collection[str], how: How, text: str, document: Document, vocabulary: Vocabulary
) -> bool:
    """Whether one of the entities that the query finds is called so: people and groups have every
    word of the text as a whole word of one of their names."""
    words = _words(types, how, text)
    if words is None:
        return True
    tests = [has_word(word, exact=True) for word in words]
    lines = [(word_line((name, *join_names((name,)))),) for name in names_of(vocabulary, document)]
    return any(all(test(line) for test in tests) for line in lines)


def _words(types: Collection[str], how: How, text: str) -> tuple[Word, ...] | None:
    """The words that names must have; None where names are compared as a whole."""
    if how != "equal" or _PEOPLE.isdisjoint(types):
        return None
    return tuple(Word(split(chunk), named=True) for chunk in chunks(text)[:_MOST_WORDS])
