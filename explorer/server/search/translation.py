"""Queries and steps of ranking in the terms of the index on disk."""

from collections.abc import Sequence

import tantivy

from explorer.server.search.clauses import all_but, at_least, both, either
from explorer.server.search.engine import Searcher
from explorer.server.search.fields import ENTITY_TYPE, URN, Vocabulary
from explorer.server.search.forms import as_number
from explorer.server.search.parts import Parts
from explorer.server.search.patterns import is_short, like, literal, within
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
from explorer.server.search.ranking import InFields, InName, NameBegins, NameIs, Step
from explorer.server.search.terms import MAX_NAME_START, MAX_START, Terms, is_term

__all__ = ["Translator"]

_Query = tantivy.Query


class Translator:
    """Translates for one state of the index: words that begin so are looked up in it. `careful` is
    for what failed otherwise, see `explorer.server.search.parts`."""

    def __init__(
        self,
        terms: Terms,
        vocabulary: Vocabulary,
        searcher: Searcher,
        *,
        careful: bool = False,
    ) -> None:
        self._terms = terms
        self._schema = terms.schema
        self._vocabulary = vocabulary
        self._searcher = searcher
        self._parts = Parts(terms.schema, searcher, careful=careful)
        self._known_words: dict[str, list[str]] = {}

    def query(self, node: Node) -> tantivy.Query:
        """The documents that answer a query."""
        match node:
            case Word():
                return self._word(("name",) if node.named else ("any",), node, exact=False)
            case Wildcard():
                return _Query.regex_query(self._schema, "any.words", like(node.pattern))
            case And():
                positive = [self.query(one) for one in node.nodes if not isinstance(one, Not)]
                negative = [self.query(one.node) for one in node.nodes if isinstance(one, Not)]
                return all_but(both(positive), negative)
            case Or():
                return either([self.query(one) for one in node.nodes])
            case Not():
                return all_but(_Query.all_query(), [self.query(node.node)])
            case Everything():
                return _Query.all_query()
            case Phrase():
                return either([self._phrase(words) for words in {node.words, node.wholes}])
            case Reference():
                named = self._value(Value(URN, "prefix", node.urn))
                return either([named, self._term("refers", node.urn)])
            case Present():
                return self._term("has", node.field)
            case Value():
                return self._value(node)
            case NumberRange():
                return self._number_range(node)
            case TextRange():
                return self._text_range(node)
            case Below():
                return self._term("under", node.folder)

    def step(self, step: Step) -> tantivy.Query:
        """The documents that meet a step, and maybe do not answer its query."""
        match step:
            case NameIs():
                names = [self._term("called", step.joined)] if step.joined else []
                return either([*names, *(self._is(URN, urn) for urn in step.urns)])
            case NameBegins():
                return self._name_begins(step.joined)
            case InName():
                found = [self._word(("name",), word, exact=step.exact) for word in step.words]
                return at_least(found, step.least)
            case InFields():
                return both([self._in_fields(word, step) for word in step.words])

    def may_have(self, step: Step) -> bool:
        """Whether any document may meet a step: looks at single terms, in microseconds."""
        match step:
            case NameIs():
                return bool(step.urns) or self._has("called", step.joined)
            case NameBegins() if len(step.joined) <= MAX_NAME_START:
                return self._has("calling", step.joined)
            case InName() if step.least == len(step.words):
                return all(
                    self._has("name.words", word.whole)
                    for word in step.words
                    if step.exact and len(word.parts) == 1
                )
        return True

    def type(self, entity_type: str) -> tantivy.Query:
        """The documents of an entity type."""
        return self._is(ENTITY_TYPE, entity_type.casefold().replace("_", ""))

    def _in_fields(self, word: Word, step: InFields) -> tantivy.Query:
        strong = self._terms.strong
        if step.ranks <= len(strong):
            return self._word(("name", *strong[: step.ranks]), word, exact=step.exact)
        parts = [self._common(part, exact=step.exact) for part in word.parts]
        if len(word.parts) == 1:
            return parts[0]
        return either([self._common(word.whole, exact=step.exact), both(parts)])

    def _common(self, text: str, *, exact: bool) -> tantivy.Query:
        """A word, but not one that only the fields below the common weight have."""
        if exact or len(text) <= MAX_START:
            return self._but_weak(text, "words" if exact else "starts")
        return either([self._but_weak(word, "words") for word in self._words_from(text)])

    def _but_weak(self, text: str, part: str) -> tantivy.Query:
        weak = self._term(f"weak.{part}", text)
        return all_but(self._term(f"any.{part}", text), [weak])

    def _word(self, fields: Sequence[str], word: Word, *, exact: bool) -> tantivy.Query:
        def one(text: str) -> tantivy.Query:
            return either([self._text(field, text, exact=exact) for field in fields])

        if len(word.parts) == 1:
            return one(word.whole)
        return either([one(word.whole), both([one(part) for part in word.parts])])

    def _text(self, field: str, text: str, *, exact: bool) -> tantivy.Query:
        if exact:
            return self._term(f"{field}.words", text)
        if len(text) <= MAX_START:
            return self._term(f"{field}.starts", text)
        return self._terms_of(f"{field}.words", self._words_from(text))

    def _words_from(self, start: str) -> list[str]:
        """The words of the index that begin with a text longer than the kept beginnings."""
        if start not in self._known_words:
            self._known_words[start] = self._with_prefix("any.words", start)
        return self._known_words[start]

    def _name_begins(self, start: str) -> tantivy.Query:
        if len(start) <= MAX_NAME_START:
            return self._term("calling", start)
        return self._terms_of("called", self._with_prefix("called", start))

    def _phrase(self, words: tuple[str, ...]) -> tantivy.Query:
        if len(words) == 1:
            return self._term("any.words", words[0])
        return _Query.phrase_query(self._schema, "any.words", [*words])

    def _value(self, node: Value) -> tantivy.Query:
        trait = self._vocabulary.trait(node.field)
        match node.how:
            case "equal" if trait.is_whole(node.text):
                return self._is(node.field, node.text)
            case "prefix" if trait.is_whole(node.text):
                return self._matching_terms(node)
            case _ if trait.nature == "text":
                return self._parts.query(self._terms.code(node.field), node.how, node.text)
            case _:
                return self._matching_terms(node)

    def _matching_terms(self, node: Value) -> tantivy.Query:
        """The documents with a form that has a part; for fields of few values, or beginnings."""
        prefix = is_term(node.field, "")
        text = literal(node.text)
        if is_short(node.text):
            before = "" if node.how == "prefix" else ".*"
            after = "" if node.how == "suffix" else ".*"
            expression = f"{prefix}{before}{text}{after}"
            return _Query.regex_query(self._schema, "is", expression)
        begin = prefix + node.text if node.how == "prefix" else prefix
        found = self._with_prefix("is", begin)
        if node.how == "suffix":
            found = [term for term in found if term.endswith(node.text)]
        elif node.how == "infix":
            found = [term for term in found if node.text in term]
        return self._terms_of("is", found)

    def _number_range(self, node: NumberRange) -> tantivy.Query:
        if self._vocabulary.trait(node.field).mixed:
            prefix = is_term(node.field, "")
            found = self._with_prefix("is", prefix)
            return self._terms_of(
                "is", [one for one in found if node.holds(as_number(one.removeprefix(prefix)))]
            )
        return _Query.range_query(
            self._schema,
            self._terms.number_column(node.field),
            tantivy.FieldType.Float,
            node.low,
            node.high,
            include_lower=node.low is None or not node.strict,
            include_upper=node.high is None or not node.strict,
        )

    def _text_range(self, node: TextRange) -> tantivy.Query:
        longest = self._vocabulary.trait(node.field).order_cut
        prefix = literal(is_term(node.field, ""))
        expressions = within(node.low, node.high, longest=longest, strict=node.strict)
        return either([_Query.regex_query(self._schema, "is", prefix + one) for one in expressions])

    def _has(self, name: str, text: str) -> bool:
        return self._searcher.doc_freq(name, text) > 0

    def _is(self, field: str, form: str) -> tantivy.Query:
        return self._term("is", is_term(field, form))

    def _term(self, name: str, text: str) -> tantivy.Query:
        return _Query.term_query(self._schema, name, text)

    def _terms_of(self, name: str, texts: list[str]) -> tantivy.Query:
        if len(texts) == 1:
            return self._term(name, texts[0])
        return _Query.term_set_query(self._schema, name, texts)

    def _with_prefix(self, name: str, start: str) -> list[str]:
        return [term for term, _ in self._searcher.terms_with_prefix(name, start)]
