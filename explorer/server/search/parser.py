"""Free text to a query.

    orders finance            both words; each is a whole word or the beginning of one, a plural
                              in a description also the singular
    fct_users                 both its words, as above
    "user orders"             these whole words side by side
    orders OR sales           either; AND binds closer and need not be written
    -staging, NOT staging     all but these
    (a OR b) c                grouped
    *                         everything, as is the empty text
    tags:PII                  exactly this value of a searchable field, whatever the case; a URN
                              may be said by its name, prose by some of its words
    name:"a b", name:a\\:b     a value with spaces or signs in it, quoted or escaped
    name:fct_* name:*orders   a value that begins, ends, or with both stars goes on
    tags:(PII OR GDPR)        several values
    owners:*                  any value
    *orders fct*day cust?mer  words with wildcards: any characters, or one
    name:fct_*_day            a value that begins and ends so, and has what is between other stars
    owner:"Nina Weber"        those that a person or group of that name owns; what refers to
                              anything else by its whole name
    is:undocumented           a state: documented, undocumented, owned, unowned, deprecated, removed
    urn:li:tag:PII            the entity of that URN, and those that point at it
    /q orders AND tag:PII     the same as without `/q`, which DataHub's clients begin with; a field
                              of many values may be said in the singular

Whatever is typed means something: a field that is none is plain words, a parenthesis without its
other half and an operator without its sides are passed over. The first 4,000 characters and 64
words count.
"""

import re
from collections.abc import Iterator

from explorer.query.fields import STATE, STATES
from explorer.query.filters import all_of as all_criteria
from explorer.server.search.comparison import compared, present
from explorer.server.search.criteria import filter_query
from explorer.server.search.fields import Vocabulary
from explorer.server.search.lexer import Field, Sign, Text, signs
from explorer.server.search.names import Names
from explorer.server.search.query import (
    EVERYTHING,
    NOTHING,
    How,
    Node,
    Not,
    Phrase,
    Reference,
    Value,
    Wildcard,
    Word,
    all_of,
    any_of,
)
from explorer.server.search.text import MAX_WORD, chunks, fold, plain_letters, singulars, split

__all__ = ["parse", "typed_words"]

_MAX_TEXT = 4_000
_MAX_WORDS = 64
# Each is looked for in every field that describes.
_MAX_PLURALS = 8
_MAX_DEPTH = 20
# Of one word. An expression of more takes the engine long, and means hardly more.
_MAX_WILDCARDS = 8
# Beside stars; each doubles the size of the expression. More of them are taken as stars.
_MAX_SINGLE = 3
_STRUCTURED = re.compile(r"\s*/q(?=\s|$)")
_PIECE = re.compile(r"(?:[^\W_]|[*?])+")
# What agents are taught to write, for the fields that hold many values.
_SINGULAR = {
    "tag": "tags",
    "owner": "owners",
    "domain": "domains",
    "term": "glossaryTerms",
    "glossaryTerm": "glossaryTerms",
}


def parse(
    text: str, vocabulary: Vocabulary, known: frozenset[str], names: Names | None = None
) -> Node:
    """The query that a text stands for; `known` are the fields that can be searched, `names` finds
    what is referred to by its name. Never raises."""

    def is_field(name: str) -> bool:
        return name == STATE or bool(_meant(name, vocabulary, known))

    text = _STRUCTURED.sub("", text, count=1)
    found = list(signs(text[:_MAX_TEXT], is_field))
    return _Parser(found, vocabulary, known, names).parse()


def typed_words(text: str, *, named: bool) -> Node:
    """A text of plain words without any signs: all of them."""
    words = [Word(split(chunk), named) for chunk in chunks(text[:_MAX_TEXT])[:_MAX_WORDS]]
    return all_of(tuple(words))


def _meant(name: str, vocabulary: Vocabulary, known: frozenset[str]) -> tuple[str, ...]:
    return vocabulary.meant_by(name, known) or vocabulary.meant_by(_SINGULAR.get(name, ""), known)


class _Parser:
    """Descends into the signs; what says nothing (`---`, `()`) is None and left out."""

    def __init__(
        self,
        found: list[Sign],
        vocabulary: Vocabulary,
        known: frozenset[str],
        names: Names | None,
    ) -> None:
        self._signs = found
        self._vocabulary = vocabulary
        self._known = known
        self._names = names
        self._at = 0
        self._depth = 0
        self._words_left = _MAX_WORDS
        self._plurals_left = _MAX_PLURALS
        self._texts = tuple(name for name in vocabulary.descriptions if name in known)

    def parse(self) -> Node:
        parts: list[Node] = []
        while self._peek() is not None:
            if (node := self._alternatives(None)) is not None:
                parts.append(node)
            # A closing parenthesis that nothing opened.
            self._at += 1
        return all_of(tuple(parts))

    def _peek(self) -> Sign | None:
        return self._signs[self._at] if self._at < len(self._signs) else None

    def _alternatives(self, field: str | None) -> Node | None:
        nodes: list[Node] = []
        while True:
            node = self._together(field)
            if node is not None:
                nodes.append(node)
            if self._peek() != "or":
                return any_of(tuple(nodes)) if nodes else None
            self._at += 1

    def _together(self, field: str | None) -> Node | None:
        nodes: list[Node] = []
        while (sign := self._peek()) not in (None, ")", "or"):
            if sign == "and":
                self._at += 1
            elif (node := self._maybe_not(field)) is not None:
                nodes.append(node)
        return all_of(tuple(nodes)) if nodes else None

    def _maybe_not(self, field: str | None) -> Node | None:
        negated = False
        while self._peek() == "not":
            negated = not negated
            self._at += 1
        # What is not wanted is taken by the word.
        left = self._plurals_left
        self._plurals_left = 0 if negated else left
        node = self._one(field)
        self._plurals_left = left if negated else self._plurals_left
        return Not(node) if negated and node is not None else node

    def _one(self, field: str | None) -> Node | None:
        match self._peek():
            case "(":
                self._at += 1
                return self._group(field)
            case Field(name):
                self._at += 1
                return self._field(name)
            case Text() as text:
                self._at += 1
                return self._value(field, text) if field else self._plain(text)
            case _:
                return None

    def _group(self, field: str | None) -> Node | None:
        if self._depth >= _MAX_DEPTH:
            return None
        self._depth += 1
        node = self._alternatives(field)
        self._depth -= 1
        if self._peek() == ")":
            self._at += 1
        return node

    def _field(self, name: str) -> Node | None:
        match self._peek():
            case "(":
                self._at += 1
                return self._group(name)
            case Text() as text:
                self._at += 1
                return self._value(name, text)
            case _:
                return self._plain(Text(name))

    def _value(self, name: str, given: Text) -> Node | None:
        if self._words_left <= 0:
            return None
        self._words_left -= 1
        if name == STATE:
            return self._state(given)
        fields = _meant(name, self._vocabulary, self._known)
        if not given.text:
            return any_of(tuple(present(self._vocabulary.trait(field)) for field in fields))
        return any_of(tuple(self._compared(field, given) for field in fields))

    def _state(self, given: Text) -> Node | None:
        """The documents of a state, `is:undocumented`; for one that is none, the plain words."""
        state = STATES.get(given.text.casefold())
        if state is None:
            words = (self._plain(Text(STATE)), self._plain(given))
            return all_of(tuple(word for word in words if word is not None))
        return filter_query(all_criteria(state), self._vocabulary, self._known)

    def _compared(self, field: str, given: Text) -> Node:
        trait = self._vocabulary.trait(field)
        if given.wild:
            return all_of(tuple(compared(trait, how, text) for how, text in _parts(given) if text))
        match given.star_before, given.star_after:
            case True, True:
                return compared(trait, "infix", given.text, self._names)
            case True, False:
                return compared(trait, "suffix", given.text, self._names)
            case False, True:
                return compared(trait, "prefix", given.text, self._names)
            case _:
                return compared(trait, "words" if trait.prose else "equal", given.text, self._names)

    def _plain(self, given: Text) -> Node | None:
        if given.star_before and not given.text:
            return EVERYTHING
        if given.text.startswith("urn:li:") and not given.quoted:
            self._words_left -= 1
            return Reference(fold(given.text))
        if (given.star_before or given.wild) and not given.quoted:
            return self._wildcards(given)
        found = [split(chunk) for chunk in chunks(given.text)][: max(self._words_left, 0)]
        self._words_left -= len(found)
        if not found:
            return None
        if not given.quoted:
            return all_of(tuple(map(self._word, found)))
        words = tuple(part for parts in found for part in parts)
        return Phrase(words, tuple(Word(parts).whole for parts in found))

    def _word(self, parts: tuple[str, ...]) -> Node:
        """A word typed; a plural finds its singular too, where entities are described."""
        word = Word(parts)
        meant = singulars(parts[0]) if len(parts) == 1 and self._plurals_left > 0 else ()
        if not meant:
            return word
        self._plurals_left -= 1
        texts = (Value(name, "words", one, loose=True) for one in meant for name in self._texts)
        return any_of((word, *texts))

    def _wildcards(self, given: Text) -> Node | None:
        """All the words of a text that has wildcards; those that are nothing else ask nothing."""
        text = "".join(
            char if char not in "*?" or at in given.wild else " "
            for at, char in enumerate(given.text)
        )
        text = "*" * given.star_before + text + "*" * given.star_after
        found: list[Node] = []
        for piece in _PIECE.findall(plain_letters(text)):
            pattern = fold(piece)
            if "*" in pattern and pattern.count("?") > _MAX_SINGLE:
                pattern = pattern.replace("?", "*")
            pattern = re.sub(r"\*+", "*", pattern)
            wild = pattern.count("*") + pattern.count("?")
            if wild == len(pattern) or self._words_left <= 0:
                continue
            self._words_left -= 1
            if not wild or (wild == 1 and pattern.endswith("*")):
                found.append(Word(split(piece.removesuffix("*"))))
            elif wild <= _MAX_WILDCARDS and len(pattern) <= MAX_WORD:
                found.append(Wildcard(pattern))
            else:
                found.append(NOTHING)
        return all_of(tuple(found)) if found else None


def _parts(given: Text) -> Iterator[tuple[How, str]]:
    """What a value has before, between and after its wildcards."""
    bounds = (-1, *given.wild, len(given.text))
    for at in range(len(bounds) - 1):
        text = given.text[bounds[at] + 1 : bounds[at + 1]]
        if at == 0 and not given.star_before:
            yield "prefix", text
        elif at == len(given.wild) and not given.star_after:
            yield "suffix", text
        else:
            yield "infix", text
