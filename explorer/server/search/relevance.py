"""The relevance of a document for a search, in steps.

A step is a condition. Documents that meet the first step come first, then those that meet the
second, and so on.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from explorer.query.filters import Filter
from explorer.server.search.analysis import NAME_CUT
from explorer.server.search.document import folder_key
from explorer.server.search.fields import REMOVED, Vocabulary
from explorer.server.search.parser import filter_query, names_field, parse, typed_words
from explorer.server.search.query import (
    EVERYTHING,
    And,
    Below,
    Expand,
    Names,
    Node,
    OptionalWords,
    Or,
    Phrase,
    PointedAt,
    SortBy,
    Word,
    all_of,
)
from explorer.server.search.sort_keys import SortField, resolve_sort

_MOST_COUNTED = 4
_MOST_ALTERNATIVES = 8


@dataclass(frozen=True, slots=True)
class NameWritten:
    """A name, or the last part of a dotted one, is written like this text."""

    text: str


@dataclass(frozen=True, slots=True)
class HasWords:
    """At least `least` of the words are somewhere in the document, unchanged or by their stem."""

    words: tuple[Word, ...]
    least: int


@dataclass(frozen=True, slots=True)
class NameIs:
    """A name equals one of these texts, all joined to one word; or the URN is one of these."""

    joined: tuple[str, ...]
    urns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NameBegins:
    """A name begins with this text, both joined to one word."""

    joined: str


@dataclass(frozen=True, slots=True)
class InName:
    """At least `least` of the words are in the names, as whole words if `exact`."""

    words: tuple[Word, ...]
    least: int
    exact: bool


@dataclass(frozen=True, slots=True)
class InFields:
    """All words are in the names or in fields of the `ranks` highest weights.

    With `exact` they have to be whole words there.
    """

    words: tuple[Word, ...]
    ranks: int
    exact: bool


Step: TypeAlias = NameWritten | NameIs | NameBegins | HasWords | InName | InFields


def steps(
    query: Node, vocabulary: Vocabulary, text: str = "", *, named: bool = False
) -> tuple[Step, ...]:
    """Return the steps of a query, best first. Documents that meet no step come last.

    `text` is the text typed. With `named`, only names are searched.
    """
    words: dict[Word, None] = {}
    urns: dict[str, None] = {}
    _gather(query, words, urns)
    typed = tuple(words)
    name = "".join("".join(word.parts) for word in typed)[:NAME_CUT]
    ranking: list[Step] = []
    if typed and (name_typed := text.strip()[:NAME_CUT]):
        ranking.append(NameWritten(name_typed))
    if name or urns:
        names = {name, *_alternatives(query)} - {""}
        ranking.append(NameIs(tuple(sorted(names)), tuple(urns)))
    if not typed:
        return tuple(ranking)
    count = len(typed)
    if _alternatives(query):
        # For more than eight words, only some of the possible numbers have a step.
        numbers = range(count, 1, -1) if count <= _MOST_ALTERNATIVES else range(count, 1, -2)
        ranking += [HasWords(typed, least) for least in numbers]
    ranking += [
        NameBegins(name),
        InName(typed, count, exact=True),
        InName(typed, count, exact=False),
    ]
    if named:
        return tuple(ranking)
    fewer = range(count - 1, 0, -1) if count <= _MOST_COUNTED else (1,)
    ranking += [InName(typed, least, exact=False) for least in fewer]
    for ranks in range(1, len(vocabulary.strong) + 2):
        ranking += [InFields(typed, ranks, exact=True), InFields(typed, ranks, exact=False)]
    return tuple(ranking)


def reason(ranking: tuple[Step, ...], at: int, strong: tuple[float, ...]) -> str:
    """Return in words why a document is in a step; empty if no words were searched for.

    `strong` are the weights above the common one, highest first.
    """
    if not ranking:
        return ""
    if at == len(ranking):
        return "it matches the search by other means than the words of these fields"
    match ranking[at]:
        case NameWritten():
            return "a name is what was typed"
        case HasWords(words=words, least=least):
            return f"it has {least} of {len(words)} words typed"
        case NameIs(joined=joined):
            is_name = "a name is what was typed, but for case and signs"
            return is_name if joined else "it is what the URN names"
        case NameBegins():
            return "a name begins with what was typed"
        case InName(words=words, least=least, exact=exact):
            does = "is a word" if exact else "begins a word"
            many = "every word" if least == len(words) else f"{least} of {len(words)} words"
            return f"{many} typed {does} of a name"
        case InFields(ranks=ranks, exact=exact):
            does = "is a word" if exact else "begins a word"
            least_weight = f"{strong[ranks - 1]:g}" if ranks <= len(strong) else "1"
            return f"every word typed {does} of fields of weight {least_weight} or more"


def _gather(node: Node, words: dict[Word, None], urns: dict[str, None]) -> None:
    """Collect the words and URNs of a query in the order typed, without negated ones."""
    match node:
        case Word():
            words[Word(node.parts)] = None
        case Phrase(is_typed=True):
            for word in node.words:
                words[Word((word,))] = None
        case PointedAt():
            urns[node.urn] = None
        case And() | Or():
            for inner in node.nodes:
                _gather(inner, words, urns)
        case _:
            pass


def _alternatives(node: Node) -> list[str]:
    """Return the alternatives that a query offers, each joined to one word; forms of one word are
    no alternatives."""
    match node:
        case Or(nodes):
            texts: list[str] = []
            for inner in nodes:
                words: dict[Word, None] = {}
                _gather(inner, words, {})
                texts += ["".join(part for word in words for part in word.parts)[:NAME_CUT]]
            texts = list(filter(None, texts))
            return texts if len(texts) > 1 else []
        case And(nodes):
            return [text for inner in nodes for text in _alternatives(inner)]
        case _:
            return []


@dataclass(frozen=True, slots=True)
class ResolvedSearch:
    """A parsed and validated search.

    `text_query` is the query of the text, `node` everything that must match. `types` is `None` for
    all types. With `sort`, results are not ranked and there is a single step. `also_counted` are
    structured-property fields to count in addition to the facets. `optional` are the words that
    results may lack where few have all of them.
    """

    text_query: Node
    node: Node
    steps: tuple[Step, ...]
    types: tuple[str, ...] | None
    include_removed: bool
    sort: tuple[SortField, ...] = ()
    also_counted: tuple[str, ...] = ()
    optional: OptionalWords | None = None

    @property
    def last_step(self) -> int:
        """The number of the step for documents that match the query but meet no other step."""
        return len(self.steps)


def read_text(
    text: str,
    types: Sequence[str] | None,
    filter: Filter,
    vocabulary: Vocabulary,
    *,
    include_removed: bool,
    sort: Sequence[SortBy] = (),
    below: Sequence[str] = (),
    also_counted: Sequence[str] = (),
    names: Names | None = None,
    expand: Expand = lambda _: (),
) -> ResolvedSearch:
    """Resolve a search text in the query language.

    `below` is the path of a folder that all entities must be in or below; `names` finds entities by
    name, for values that refer to an entity by its name; `expand` returns the nodes of which a word
    is another name. Raises `UnknownName` if an entity type, or a field of the filter or the sort,
    does not exist.
    """
    entity_types, field_names = _types_in_search(types, vocabulary)
    words, optional = parse(text, vocabulary, field_names, names, expand)
    place = Below(folder_key(below)) if below else EVERYTHING
    narrowed = all_of((filter_query(filter, vocabulary, field_names, names), place))
    if optional is not None:
        optional = replace(optional, required=all_of((optional.required, narrowed)))
    return ResolvedSearch(
        words,
        all_of((words, narrowed)),
        () if sort else steps(words, vocabulary, text),
        entity_types,
        include_removed or names_field(filter, REMOVED),
        resolve_sort(sort, vocabulary, field_names) if sort else (),
        tuple(
            field for name in also_counted for field in vocabulary.find_fields(name, field_names)
        ),
        optional,
    )


def read_typed(
    text: str,
    types: Sequence[str] | None,
    filter: Filter,
    vocabulary: Vocabulary,
    names: Names | None = None,
) -> ResolvedSearch:
    """Resolve the beginning of a name: a search for entities whose names have all its words."""
    entity_types, field_names = _types_in_search(types, vocabulary)
    words = typed_words(text, named=True)
    return ResolvedSearch(
        words,
        all_of((words, filter_query(filter, vocabulary, field_names, names))),
        steps(words, vocabulary, named=True),
        entity_types,
        include_removed=False,
    )


def _types_in_search(
    types: Sequence[str] | None, vocabulary: Vocabulary
) -> tuple[tuple[str, ...] | None, frozenset[str]]:
    if not types:
        return None, vocabulary.known_fields(None)
    for entity_type in types:
        vocabulary.registry.entity(entity_type)
    entity_types = tuple(sorted(set(types)))
    return entity_types, vocabulary.known_fields(entity_types)
