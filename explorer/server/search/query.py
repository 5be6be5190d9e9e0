"""The types of a search: the query, a tree of nodes with a sort and a page, and its results."""

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeAlias

from explorer.query.filters import Filter
from explorer.server.search.analysis import MAX_WORD


@dataclass(frozen=True, slots=True)
class SortBy:
    """A searchable field to sort by; the field `name` is the display name of an entity.

    Of several values the least counts. Entities without a value come last.
    """

    field: str
    descending: bool = False


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """A search for one page of entities.

    `text` is in the query language of `explorer.server.search.parser`; `entity_types` is `None` for
    all types. The page is at most `count` entities from position `start` on. Removed entities are
    excluded unless `include_removed` is set or the filter has a criterion on `removed`.

    With `loosens`, entities that have most of the words are added if few have all of them or the
    text is a question.

    `also_counted` names structured-property fields to be counted as facets even if their settings
    do not show them as facets.

    With `sort`, entities are ordered by these fields, then by URN, instead of best first. `after`
    is the `last` of a page of the same search; the page then follows it, and may be any number of
    results from the first. Without it, a page ends with result 10,000 at most.
    """

    text: str
    entity_types: tuple[str, ...] | None
    filter: Filter
    start: int
    count: int
    facets: bool = True
    include_removed: bool = False
    sort: tuple[SortBy, ...] = ()
    after: str | None = None
    also_counted: tuple[str, ...] = ()
    loosens: bool = True


@dataclass(frozen=True, slots=True)
class SearchHit:
    """An entity that a search found.

    `lacks` are the words typed that the entity does not have, if it was found by most of them;
    `by_meaning` is true if it has none of them and was found by its meaning. `score` is higher for
    better matches; scores of different queries cannot be compared. `matched` has fields with values
    that match the query, highest weight first, and `weights` the weight of each. `reason` explains
    in words the rank of an entity in a search by words. `use` is the part of the score that comes
    from usage, below 1.
    """

    urn: str
    score: float
    matched: tuple[tuple[str, str], ...]
    weights: tuple[float, ...] = ()
    reason: str = ""
    use: float = 0.0
    lacks: tuple[str, ...] = ()
    by_meaning: bool = False


@dataclass(frozen=True, slots=True)
class FacetCounts:
    """The number of entities of the whole result that have each value of a field.

    Most frequent values first, then by value; at most 100. `has_more` is true if there are more
    values.
    """

    name: str
    label: str
    counts: dict[str, int]
    has_more: bool = False


@dataclass(frozen=True, slots=True)
class FoundPage:
    """A page of the `total` entities found, in order, with the facets of all of them.

    `corrected` is the text that was searched for instead, if the text had a word that occurs
    nowhere. If entities follow that match only most of the words of the text or, with `by_meaning`,
    have a similar meaning, `complete` is the number of entities that match everything, and `words`
    are the words. `last` is the key of the last entity of a sorted search, for `after` of the next
    page. It stays valid while entities are added and removed: an entity that exists throughout is
    returned exactly once.
    """

    total: int
    hits: tuple[SearchHit, ...]
    facets: tuple[FacetCounts, ...]
    last: str | None = None
    corrected: str | None = None
    complete: int | None = None
    words: tuple[str, ...] = ()
    by_meaning: bool = False


@dataclass(frozen=True, slots=True)
class NameCompletion:
    """A name that completes the typed text, and the URN of an entity with this name."""

    text: str
    urn: str


How = Literal["equal", "prefix", "suffix", "infix", "words", "exact"]

Names: TypeAlias = Callable[[Sequence[str], How, str], Collection[str]]
"""A function that returns the URNs of entities by their names.

It takes the entity types, how names compare, and the text to compare them with.
"""


Expand: TypeAlias = "Callable[[str], Sequence[Node]]"
"""A function that returns the nodes of which a folded word is another name."""


@dataclass(frozen=True, slots=True)
class Everything:
    """Matches every document."""


@dataclass(frozen=True, slots=True)
class Word:
    """Matches documents that contain the word, or a word that begins with it.

    `parts` has several words if the word is split by case (`usersCreated`); then either all parts
    or the whole word has to match. With `names_only`, only the names of the entity are searched.
    """

    parts: tuple[str, ...]
    names_only: bool = False

    @property
    def text(self) -> str:
        """The word before it is split."""
        return "".join(self.parts)[:MAX_WORD]


@dataclass(frozen=True, slots=True)
class Stem:
    """Matches documents that contain a word with this stem, see `analysis.stem`."""

    text: str


@dataclass(frozen=True, slots=True)
class Among:
    """Matches the entities with these URNs."""

    urns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Wildcard:
    """Matches documents with a word that matches a pattern: `*` for any characters, `?` for one.

    The pattern is folded.
    """

    pattern: str


@dataclass(frozen=True, slots=True)
class Phrase:
    """Matches documents with these whole words next to each other in one value.

    `joined_words` are the same words before they are split; matching these is enough. A phrase with
    `is_typed` false was expanded from a word that is another name for it.
    """

    words: tuple[str, ...]
    joined_words: tuple[str, ...]
    is_typed: bool = True


@dataclass(frozen=True, slots=True)
class PointedAt:
    """Matches the entities whose URN begins with a URN, and all that refer to this URN."""

    urn: str


@dataclass(frozen=True, slots=True)
class Value:
    """Matches documents with a value of a field that matches a folded text by the comparison `how`.

    With `words`, the text is whole consecutive words of prose; with `exact`, it is a whole URN, not
    folded (`analysis.exact_urn`).
    """

    field: str
    how: How
    text: str

    def matches(self, text: str) -> bool:
        """Return whether a folded text of the field, or with `exact` a whole URN, matches."""
        match self.how:
            case "equal" | "exact":
                return text == self.text
            case "prefix":
                return text.startswith(self.text)
            case "suffix":
                return text.endswith(self.text)
            case "infix":
                return self.text in text
            case "words":
                return bool(self.text) and f" {self.text} " in f" {text} "


@dataclass(frozen=True, slots=True)
class ValuePattern:
    """Matches documents with a value of a field that matches a pattern as a whole.

    The pattern is folded texts with a gap between each and the next: a `?` for each character that
    has to be there, then a `*` if any others may follow. Only the first and the last text may be
    empty.
    """

    field: str
    texts: tuple[str, ...]
    gaps: tuple[str, ...]

    def matches(self, text: str) -> bool:
        """Return whether a folded text of the field matches."""
        return _expression(self.texts, self.gaps).fullmatch(text) is not None

    def conditions(self) -> "tuple[Node, ...]":
        """Return nodes that every matching value meets: one for each text of the pattern, in any
        order, or one for any value."""
        first, *inner, last = self.texts
        values = [Value(self.field, "infix", text) for text in dict.fromkeys(inner)]
        # The longest texts narrow the result most.
        values = sorted(values, key=lambda value: -len(value.text))[:_MOST_CONDITIONS]
        if first:
            values.append(Value(self.field, "prefix", first))
        if last:
            values.append(Value(self.field, "suffix", last))
        return tuple(values) or (Present(self.field),)


_MOST_CONDITIONS = 8


@lru_cache(maxsize=64)
def _expression(texts: tuple[str, ...], gaps: tuple[str, ...]) -> re.Pattern[str]:
    """Return the regular expression of a pattern."""
    parts = [re.escape(texts[0])]
    for gap, text in zip(gaps, texts[1:], strict=True):
        part = f".{{{gap.count('?')}}}{re.escape(text)}"
        if gap.endswith("*"):
            parts.append(part)
        else:
            parts[-1] += part
    if len(parts) == 1:
        return re.compile(parts[0], re.DOTALL)
    first, *inner, last = parts
    # The first place where a part fits is the best, so the search never goes back to it.
    return re.compile(f"{first}{''.join(f'(?>.*?{part})' for part in inner)}.*{last}", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Present:
    """Matches documents that have any value of a field."""

    field: str


@dataclass(frozen=True, slots=True)
class NumberRange:
    """Matches documents with a number in a field within bounds.

    `None` leaves a side open; `strict` excludes the bounds.
    """

    field: str
    low: float | None
    high: float | None
    strict: bool = False


@dataclass(frozen=True, slots=True)
class TextRange:
    """Matches documents with a form of a field within bounds, which are folded texts.

    Texts are compared by as many characters as decide their order (`Trait.order_cut`). `None`
    leaves a side open; `strict` excludes the bounds.
    """

    field: str
    low: str | None
    high: str | None
    strict: bool = False

    def matches(self, text: str) -> bool:
        """Return whether a text is within the bounds."""
        if self.strict and text in (self.low, self.high):
            return False
        return (self.low is None or text >= self.low) and (self.high is None or text <= self.high)


@dataclass(frozen=True, slots=True)
class Below:
    """Matches entities in a folder or below it; see `explorer.server.search.document`."""

    folder: str


@dataclass(frozen=True, slots=True)
class And:
    """Matches documents that match all nodes."""

    nodes: "tuple[Node, ...]"


@dataclass(frozen=True, slots=True)
class Or:
    """Matches documents that match any of the nodes."""

    nodes: "tuple[Node, ...]"


@dataclass(frozen=True, slots=True)
class Not:
    """Matches documents that do not match the node."""

    node: "Node"


Node: TypeAlias = (
    Everything
    | Word
    | Stem
    | Among
    | Wildcard
    | Phrase
    | PointedAt
    | Value
    | ValuePattern
    | Present
    | NumberRange
    | TextRange
    | Below
    | And
    | Or
    | Not
)

EVERYTHING = Everything()

_WORDS_OF_QUESTION = 5


@dataclass(frozen=True, slots=True)
class OptionalWords:
    """The words of a text that may be missing where few documents have all of them.

    `required` is the rest of the text: conditions, negated words, and phrases, except those of a
    question, which are `phrases`. `words` are the words typed; those in `weighed` count. `typed` is
    the number of texts between spaces from which they come.
    """

    required: Node
    words: tuple[str, ...]
    weighed: tuple[str, ...]
    typed: int
    phrases: "tuple[Phrase, ...]" = ()

    @property
    def is_question(self) -> bool:
        """Whether the text is a question rather than a few words of a name."""
        has_stop_words = self.typed > 1 and len(self.weighed) < len(self.words)
        return has_stop_words or self.typed >= _WORDS_OF_QUESTION


NOTHING = Not(EVERYTHING)


def all_of(nodes: tuple[Node, ...]) -> Node:
    """Return the conjunction of nodes, simplified; `EVERYTHING` if there are none."""
    flat = (child for node in nodes for child in (node.nodes if isinstance(node, And) else (node,)))
    children = tuple(dict.fromkeys(node for node in flat if node != EVERYTHING))
    if not children:
        return EVERYTHING
    return children[0] if len(children) == 1 else And(children)


def any_of(nodes: tuple[Node, ...]) -> Node:
    """Return the disjunction of nodes, simplified. There must be at least one."""
    flat = (child for node in nodes for child in (node.nodes if isinstance(node, Or) else (node,)))
    children = tuple(dict.fromkeys(flat))
    return children[0] if len(children) == 1 else Or(children)


_NODE_BYTES = 400


def size_bytes(node: Node) -> int:
    """Return roughly how much memory a query takes, including the engine's own form of it."""
    match node:
        case And() | Or():
            return _NODE_BYTES + sum(map(size_bytes, node.nodes))
        case Not():
            return _NODE_BYTES + size_bytes(node.node)
        case Word():
            return _NODE_BYTES + 4 * sum(map(len, node.parts))
        case Phrase():
            return _NODE_BYTES + 4 * sum(map(len, (*node.words, *node.joined_words)))
        case Value():
            return _NODE_BYTES + 4 * len(node.text)
        case ValuePattern():
            return _NODE_BYTES + 4 * sum(map(len, (*node.texts, *node.gaps)))
        case Stem():
            return _NODE_BYTES + 4 * len(node.text)
        case Among():
            return _NODE_BYTES + 4 * sum(map(len, node.urns))
        case Wildcard():
            return _NODE_BYTES + 4 * len(node.pattern)
        case PointedAt():
            return _NODE_BYTES + 4 * len(node.urn)
        case TextRange():
            return _NODE_BYTES + 4 * (len(node.low or "") + len(node.high or ""))
        case Below():
            return _NODE_BYTES + 4 * len(node.folder)
        case _:
            return _NODE_BYTES
