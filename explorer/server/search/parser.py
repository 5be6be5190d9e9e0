"""Parses search texts and filters into query nodes."""

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import groupby
from operator import itemgetter
from typing import Literal

import msgspec

from explorer.errors import InvalidInput
from explorer.query.fields import STATE, STATES, guide_to
from explorer.query.filters import Criterion, Filter
from explorer.query.filters import all_of as all_criteria
from explorer.query.tokens import Atom, FieldToken, Token, query_tokens
from explorer.server.search.analysis import (
    MAX_WORD,
    chunks,
    exact_urn,
    fold,
    in_words,
    needle,
    number,
    number_form,
    plain_letters,
    singulars,
    split,
    stem,
)
from explorer.server.search.fields import ENTITY_TYPE, Trait, Vocabulary
from explorer.server.search.query import (
    EVERYTHING,
    NOTHING,
    Expand,
    How,
    Names,
    Node,
    Not,
    NumberRange,
    OptionalWords,
    Phrase,
    PointedAt,
    Present,
    Stem,
    TextRange,
    Value,
    ValuePattern,
    Wildcard,
    Word,
    all_of,
    any_of,
)
from explorer.server.search.stop_words import stop_words


def comparison_node(trait: Trait, how: How, text: str, names: "Names | None" = None) -> Node:
    """Return the node for documents with a value of a field that matches a text by the comparison
    `how`.

    With `names`, a value that refers to an entity also matches by the name of that entity.
    """
    urn = None if trait.prose or how != "equal" else exact_urn(text)
    if urn is not None:
        return Value(trait.name, "exact", urn)
    search_text = needle(trait, text)
    if trait.mixed and how == "equal" and (as_number := number(trait, text)) is not None:
        return any_of(
            (Value(trait.name, how, search_text), Value(trait.name, how, number_form(as_number)))
        )
    if trait.derived:
        return derived_node(trait, Value(trait.name, how, search_text).matches)
    if not search_text and (folded := fold(text)).strip():
        # Prose is compared by its words, and literally with a text that has none.
        literally = Value(trait.name, "infix" if how == "words" else how, folded)
        return literally if trait.prose else NOTHING
    if not search_text and how in ("prefix", "suffix", "infix"):
        return Present(trait.name)
    value = Value(trait.name, how, search_text)
    if names is None or not trait.targets or not search_text or search_text.startswith("urn:li:"):
        return value
    urns = names(trait.targets, how, text)
    return any_of((value, *(Value(trait.name, "exact", exact_urn(urn) or urn) for urn in urns)))


def present(trait: Trait) -> Node:
    """Return the node for documents with any value of a field; all, for a derived field."""
    return EVERYTHING if trait.derived else Present(trait.name)


def derived_node(trait: Trait, test: Callable[[str], bool]) -> Node:
    """Return the node for documents whose derived field passes a test.

    A document for which the field is not true counts as false, even if its entity type does not
    have the field, so only true values are indexed.
    """
    true = Value(trait.name, "equal", "true")
    match test("true"), test("false"):
        case True, True:
            return EVERYTHING
        case True, False:
            return true
        case False, True:
            return Not(true)
        case _:
            return NOTHING


def filter_query(
    filter: Filter,
    vocabulary: Vocabulary,
    field_names: frozenset[str],
    names: Names | None = None,
) -> Node:
    """Return the node for a filter.

    `field_names` are the fields that can be filtered by; `names` finds entities by name, for values
    that refer to an entity by its name. Several values of a criterion are alternatives. A criterion
    without values matches everything, unless its condition takes none. Raises `UnknownName`, which
    names the searchable fields, for a field that cannot be searched, and `InvalidInput` for a bound
    that is not a number where numbers are compared.
    """
    groups = [
        all_of(tuple(_criterion(criterion, vocabulary, field_names, names) for criterion in group))
        for group in filter.any_of
    ]
    return any_of(tuple(groups)) if groups and EVERYTHING not in groups else EVERYTHING


def names_field(filter: Filter, field: str) -> bool:
    """Return whether any criterion of a filter is on a field."""
    return any(
        criterion.field.removesuffix(".keyword") == field
        for group in filter.any_of
        for criterion in group
    )


def _criterion(
    criterion: Criterion,
    vocabulary: Vocabulary,
    field_names: frozenset[str],
    names: Names | None,
) -> Node:
    fields = vocabulary.resolve(criterion.field, field_names)
    if criterion.condition in ("EXISTS", "IS_NULL"):
        has_value = any_of(tuple(present(vocabulary.trait(field)) for field in fields))
        absent = criterion.condition == "IS_NULL"
        return Not(has_value) if absent != criterion.negated else has_value
    if not criterion.values:
        return EVERYTHING
    node = any_of(
        tuple(
            test for field in fields for test in _tests(criterion, vocabulary.trait(field), names)
        )
    )
    return Not(node) if criterion.negated else node


def _tests(criterion: Criterion, trait: Trait, names: Names | None) -> list[Node]:
    if criterion.condition == "BETWEEN":
        if len(criterion.values) != 2:
            raise InvalidInput(f"BETWEEN on {criterion.field} takes two values, the lower first")
        return [_range(trait, *criterion.values)]
    return [_test(criterion, trait, value, names) for value in criterion.values]


def _range(trait: Trait, low: str | None, high: str | None, *, strict: bool = False) -> Node:
    if trait.nature in ("number", "date") or (trait.mixed and _are_numbers(trait, low, high)):
        return NumberRange(trait.name, _number(trait, low), _number(trait, high), strict)
    text_range = TextRange(trait.name, _text(trait, low), _text(trait, high), strict)
    return derived_node(trait, text_range.matches) if trait.derived else text_range


def _are_numbers(trait: Trait, *bounds: str | None) -> bool:
    return all(bound is None or number(trait, bound) is not None for bound in bounds)


def _number(trait: Trait, text: str | None) -> float | None:
    if text is None:
        return None
    parsed_number = number(trait, text)
    if parsed_number is None:
        meant = "a number" if trait.nature == "number" else "milliseconds since 1970, or a date"
        raise InvalidInput(f"{trait.name} is compared with {meant}, not with {text!r}")
    return parsed_number


def _text(trait: Trait, text: str | None) -> str | None:
    return None if text is None else needle(trait, text)[: trait.order_cut]


def _test(criterion: Criterion, trait: Trait, value: str, names: Names | None) -> Node:
    condition = criterion.condition
    is_strict = condition in ("GREATER_THAN", "LESS_THAN")
    if condition.startswith("GREATER_THAN"):
        return _range(trait, value, None, strict=is_strict)
    if condition.startswith("LESS_THAN"):
        return _range(trait, None, value, strict=is_strict)
    return comparison_node(trait, _HOW.get(condition, "equal"), value, names)


_Mode = Literal["whole", "wordless", "phrases", "conditions"]
_HOW: dict[str, How] = {"CONTAIN": "infix", "START_WITH": "prefix", "END_WITH": "suffix"}
# How a value is compared that has a star before it, and after it.
_HOW_WITH_STARS: dict[tuple[bool, bool], How] = {
    (True, True): "infix",
    (True, False): "suffix",
    (False, True): "prefix",
}
_MAX_TEXT = 4_000
_MAX_WORDS = 64
_MAX_DEPTH = 20
# Wildcards in one word. A pattern with more takes the engine long and hardly narrows the result.
_MAX_WILDCARDS = 8
# `?` in a pattern with stars, each of which doubles the size of the expression. If there are more,
# all are treated as stars.
_MAX_SINGLE = 3
_STRUCTURED = re.compile(r"\s*/q(?=\s|$)")
_PIECE = re.compile(r"(?:[^\W_]|[*?])+")
# The singular names, for fields with many values, that the instructions to agents use.
_SINGULAR = {
    "tag": "tags",
    "owner": "owners",
    "domain": "domains",
    "term": "glossaryTerms",
    "glossaryTerm": "glossaryTerms",
}


def parse(
    text: str,
    vocabulary: Vocabulary,
    field_names: frozenset[str],
    names: Names | None = None,
    expand: Expand = lambda _: (),
) -> tuple[Node, OptionalWords | None]:
    """Return the query node for a search text, and which of its words are optional. Never raises.

    `field_names` are the fields that can be searched; `names` finds entities by name, for values
    that refer to an entity by its name; `expand` returns the nodes of which a word is another name.
    """

    def is_field(name: str) -> bool:
        return name == STATE or bool(_fields_for(name, vocabulary, field_names))

    text = _STRUCTURED.sub("", text, count=1)[:_MAX_TEXT]

    def parser(mode: _Mode) -> _QueryParser:
        return _QueryParser(tokens, vocabulary, field_names, names, expand, mode)

    tokens = list(query_tokens(text, is_field))
    reader = parser("whole")
    node = reader.parse()
    if node is None and text.strip():
        # The text is not empty but has no searchable word: it finds nothing instead of everything.
        node = parser("wordless").parse() or NOTHING
    if reader.has_operators or not reader.optional:
        return node or EVERYTHING, None
    words = tuple(dict.fromkeys(part for parts in reader.optional for part in parts))
    left_out = stop_words(words)
    weighed = tuple(word for word in words if word not in left_out) or words
    optional = OptionalWords(EVERYTHING, words, weighed, reader.typed)
    if optional.is_question:
        required = parser("conditions").parse()
        optional = replace(optional, phrases=tuple(reader.phrases))
    else:
        required = parser("phrases").parse()
    return node or EVERYTHING, replace(optional, required=required or EVERYTHING)


def typed_words(text: str, *, named: bool) -> Node:
    """Return the node for documents that contain all words of a text, without query syntax.

    A text without a word matches nothing, unless it is empty or `*`.
    """
    words = [Word(split(chunk), named) for chunk in chunks(text[:_MAX_TEXT])[:_MAX_WORDS]]
    return all_of(tuple(words)) if words or text.strip() in ("", "*") else NOTHING


def _end_of_urn(text: str) -> str | None:
    """Return the part after the entity type if a text is the end of a longer URN: `hdfs,logs,PROD`
    for `urn:li:dataPlatform:hdfs,logs,PROD`; `None` for any other URN."""
    key = text.split(":", 3)[-1]
    return key if "," in key and not key.startswith("(") else None


def _fields_for(name: str, vocabulary: Vocabulary, field_names: frozenset[str]) -> tuple[str, ...]:
    return vocabulary.find_fields(name, field_names) or vocabulary.find_fields(
        _SINGULAR.get(name, ""), field_names
    )


class _QueryParser:
    """A recursive-descent parser of tokens.

    Empty expressions (`()`) and those without a letter or digit (`💰`) are parsed as `None` and
    dropped. In the mode `wordless`, for a text that has nothing else, the latter match nothing; in
    the mode `phrases` words are dropped too, unless they are negated, and with `conditions` also
    phrases.
    """

    def __init__(
        self,
        tokens: list[Token],
        vocabulary: Vocabulary,
        field_names: frozenset[str],
        names: Names | None,
        expand: Expand,
        mode: _Mode,
    ) -> None:
        self._tokens = tokens
        self._vocabulary = vocabulary
        self._known = field_names
        self._names = names
        self._expand = expand
        self._mode = mode
        # The node for an expression without a searchable word; `None` leaves the expression out.
        self._wordless = NOTHING if mode == "wordless" else None
        # The words that are not negated, each in its parts, and the number of texts between spaces
        # that they are from.
        self.optional: list[tuple[str, ...]] = []
        self.phrases: list[Phrase] = []
        self.typed = 0
        self.has_operators = False
        self._at = 0
        self._depth = 0
        self._words_left = _MAX_WORDS
        self._is_negated = False

    def parse(self) -> Node | None:
        parts: list[Node] = []
        while self._peek() is not None:
            if (node := self._alternatives(None)) is not None:
                parts.append(node)
            # Skip an unmatched closing parenthesis.
            self._at += 1
        return all_of(tuple(parts)) if parts else None

    def _peek(self) -> Token | None:
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    def _alternatives(self, field: str | None) -> Node | None:
        nodes: list[Node] = []
        while True:
            node = self._together(field)
            if node is not None:
                nodes.append(node)
            if self._peek() != "or":
                return any_of(tuple(nodes)) if nodes else None
            self.has_operators = True
            self._at += 1

    def _together(self, field: str | None) -> Node | None:
        nodes: list[Node] = []
        while (ahead := self._peek()) not in (None, ")", "or"):
            if ahead == "and":
                self.has_operators = True
                self._at += 1
            elif (node := self._maybe_not(field)) is not None:
                nodes.append(node)
        return all_of(tuple(nodes)) if nodes else None

    def _maybe_not(self, field: str | None) -> Node | None:
        negated = False
        while self._peek() == "not":
            negated = not negated
            self._at += 1
        was_negated = self._is_negated
        self._is_negated = was_negated or negated
        node = self._one(field)
        self._is_negated = was_negated
        if not negated or node is None:
            return node
        return EVERYTHING if node == NOTHING else Not(node)

    def _one(self, field: str | None) -> Node | None:
        match self._peek():
            case "(":
                self._at += 1
                return self._group(field)
            case FieldToken(name):
                self._at += 1
                return self._field(name)
            case Atom() as text:
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
            case Atom() as text:
                self._at += 1
                return self._value(name, text)
            case _:
                return self._plain(Atom(name, 0, 0))

    def _value(self, name: str, wanted_text: Atom) -> Node | None:
        if self._words_left <= 0:
            return None
        self._words_left -= 1
        if name == STATE:
            return self._state(wanted_text)
        guide = guide_to(self._vocabulary.registry)
        is_plain = not (wanted_text.star_before or wanted_text.star_after)
        meant = guide.field_meant(name, (wanted_text.text,)) if is_plain else name
        if meant == ENTITY_TYPE != name:
            wanted_text = msgspec.structs.replace(
                wanted_text, text=guide.find_type(wanted_text.text) or wanted_text.text
            )
            return self._compare(ENTITY_TYPE, wanted_text)
        fields = _fields_for(meant, self._vocabulary, self._known)
        if not wanted_text.text:
            return any_of(tuple(present(self._vocabulary.trait(field)) for field in fields))
        return any_of(tuple(self._compare(field, wanted_text) for field in fields))

    def _state(self, text: Atom) -> Node | None:
        """Return the node for a state, `is:undocumented`; for an unknown one, its plain words."""
        state = STATES.get(text.text.casefold())
        if state is None:
            words = (self._plain(Atom(STATE, 0, 0)), self._plain(text))
            return all_of(tuple(word for word in words if word is not None))
        return filter_query(all_criteria(state), self._vocabulary, self._known)

    def _compare(self, field: str, search_text: Atom) -> Node:
        trait = self._vocabulary.trait(field)
        if search_text.wild:
            return _like(trait, search_text)
        stars = search_text.star_before, search_text.star_after
        how = _HOW_WITH_STARS.get(stars, "words" if trait.prose else "equal")
        return comparison_node(trait, how, search_text.text, self._names)

    def _plain(self, token: Atom) -> Node | None:
        if token.star_before and not token.text:
            return EVERYTHING
        if (urn := exact_urn(token.text)) and not token.quote:
            name = _end_of_urn(urn)
            if name is None:
                self._words_left -= 1
                return PointedAt(self._in_its_case(urn))
            token = msgspec.structs.replace(token, text=name, wild=())
        if (token.star_before or token.wild) and not token.quote:
            return self._wildcards(token)
        words_in_parts = [split(chunk) for chunk in chunks(token.text)][: max(self._words_left, 0)]
        self._words_left -= len(words_in_parts)
        if not words_in_parts:
            return self._wordless
        if token.star_after and not token.quote:
            return all_of(tuple(map(Word, words_in_parts)))
        if not token.quote:
            if not self._is_negated:
                self.optional += words_in_parts
                self.typed += 1
                if self._mode in ("phrases", "conditions"):
                    return None
            return all_of(tuple(map(self._word, words_in_parts)))
        phrase = _phrase(words_in_parts)
        if not self._is_negated:
            self.phrases.append(phrase)
            if self._mode == "conditions":
                return None
        return phrase

    def _in_its_case(self, urn: str) -> str:
        """Return a URN with its entity type in the registry's spelling."""
        entity_type, colon, key = urn.removeprefix("urn:li:").partition(":")
        types = self._vocabulary.registry.entities
        if colon and entity_type not in types:
            folded = entity_type.casefold()
            entity_type = next((name for name in types if name.casefold() == folded), entity_type)
        return f"urn:li:{entity_type}{colon}{key}"

    def _word(self, parts: tuple[str, ...]) -> Node:
        """Return the node for a word. Unless it is negated, words with its stem or that of its
        singular match too, and so does anything of which it is another name."""
        word = Word(parts)
        if self._is_negated:
            return word
        stems = all_of(tuple(Stem(stem(part)) for part in parts))
        more = (Stem(stem(text)) for text in singulars(word.text)) if len(parts) == 1 else ()
        return any_of((word, stems, *more, *self._expand(word.text)))

    def _wildcards(self, token: Atom) -> Node | None:
        """Return the node for all words of a text with wildcards."""
        text = "".join(
            char if char not in "*?" or at in token.wild else " "
            for at, char in enumerate(token.text)
        )
        text = "*" * token.star_before + text + "*" * token.star_after
        nodes: list[Node] = []
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
                nodes.append(Word(split(piece.removesuffix("*"))))
            elif wild <= _MAX_WILDCARDS and len(pattern) <= MAX_WORD:
                nodes.append(Wildcard(pattern))
            else:
                nodes.append(NOTHING)
        if nodes:
            # A name may have a question mark in it.
            if "?" in token.text and "*" not in text:
                return any_of((all_of(tuple(nodes)), _phrase(map(split, chunks(token.text)))))
            return all_of(tuple(nodes))
        # `***` means the same as `*`.
        is_any = "*" in text and set(text) <= {"*", "?"}
        return EVERYTHING if is_any and self._wordless else self._wordless


def _phrase(words_in_parts: Iterable[tuple[str, ...]]) -> Phrase:
    """Return the node for adjacent words, each given as its parts."""
    words = tuple(words_in_parts)
    parts = tuple(part for word in words for part in word)
    return Phrase(parts, tuple(Word(word).text for word in words))


def _like(trait: Trait, search_text: Atom) -> Node:
    """Return the node for documents with a value of a field that matches a text with wildcards."""
    is_symbols = trait.prose and not in_words(fold(search_text.text))
    typed: list[tuple[str, bool]] = [
        *[("*", True)] * search_text.star_before,
        *((char, at in search_text.wild) for at, char in enumerate(search_text.text)),
        *[("*", True)] * search_text.star_after,
    ]
    texts, gaps = [""], list[str]()
    for is_wild, run in groupby(typed, key=itemgetter(1)):
        characters = "".join(char for char, _ in run)
        if not is_wild:
            texts[-1] = fold(characters) if is_symbols else needle(trait, characters)
        elif gaps and not texts[-1]:
            # The text before consists of symbols, which are ignored beside words of prose.
            gaps[-1] += characters
        else:
            gaps.append(characters)
            texts.append("")
    exact = ("?" * gap.count("?") + "*" * ("*" in gap) for gap in gaps)
    node = ValuePattern(trait.name, tuple(texts), tuple(exact))
    if trait.derived:
        return derived_node(trait, node.matches)
    return present(trait) if node.texts == ("", "") and node.gaps == ("*",) else node
