"""What is asked of search, as a tree with an order and a page, and what it answers."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from explorer.query.filters import Filter
from explorer.server.search.analysis import MAX_WORD

__all__ = [
    "EVERYTHING",
    "NOTHING",
    "And",
    "Below",
    "Everything",
    "FacetCounts",
    "FoundPage",
    "How",
    "NameCompletion",
    "Names",
    "Node",
    "Not",
    "NumberRange",
    "Or",
    "Phrase",
    "PointedAt",
    "Present",
    "SearchHit",
    "SearchQuery",
    "SortBy",
    "TextRange",
    "Value",
    "Wildcard",
    "Word",
    "all_of",
    "any_of",
    "size_bytes",
]


@dataclass(frozen=True, slots=True)
class SortBy:
    """A searchable field to sort by; `name` is the name an entity is shown by. Of several values
    the least one counts, and entities without any come last."""

    field: str
    descending: bool = False


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """A search: `text` in the query language of `explorer.server.search.parser`, `entity_types`
    None for all, and the entries from `start` on, `count` at most. Removed entities are left out
    unless asked for, or asked about by a filter on `removed`.

    `also_counted` are fields of structured properties that are counted as facets even where their
    settings do not show them as such.

    With `sort` the entries are in the order of these fields, then of their URNs, instead of best
    first. `after` is the `last` of a page of the same search: the entries that follow it.
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


@dataclass(frozen=True, slots=True)
class SearchHit:
    """An entity found. `score` is higher for what fits better and says nothing across queries;
    `matched` are fields with values that have what was asked for, heavier fields first, `weights`
    what each weighs. `reason` says in words why it is where it is among what was found by words;
    `use` is the part of the score that comes from how much it is used, below 1."""

    urn: str
    score: float
    matched: tuple[tuple[str, str], ...]
    weights: tuple[float, ...] = ()
    reason: str = ""
    use: float = 0.0


@dataclass(frozen=True, slots=True)
class FacetCounts:
    """How many entities of the whole result have each value of a field: most frequent first, then
    by value, 100 at most; `has_more` says that there are others."""

    name: str
    label: str
    counts: dict[str, int]
    has_more: bool = False


@dataclass(frozen=True, slots=True)
class FoundPage:
    """The entities asked for, in order, of `total` in all; facets that any entity has.

    `corrected` is the text that was searched for in the place of one with a word that nothing has.
    `last` is the place of the last one in a sorted search, to be named as `after` for the next
    page. It stays good while entities come and go: what is there throughout is met exactly once.
    """

    total: int
    hits: tuple[SearchHit, ...]
    facets: tuple[FacetCounts, ...]
    last: str | None = None
    corrected: str | None = None


@dataclass(frozen=True, slots=True)
class NameCompletion:
    """A name that begins as typed, and an entity called so."""

    text: str
    urn: str


How = Literal["equal", "prefix", "suffix", "infix", "words"]

Names: TypeAlias = Callable[[Sequence[str], How, str], Collection[str]]
"""Gives the URNs of the entities of some types whose name compares so with a text."""


@dataclass(frozen=True, slots=True)
class Everything:
    """Every document."""


@dataclass(frozen=True, slots=True)
class Word:
    """A word typed: the document has it, or one that begins with it.

    `parts` are more than one where the case cuts the word (`usersCreated`); then either all the
    parts or the whole will do. `named` looks at the names of the entity only.
    """

    parts: tuple[str, ...]
    named: bool = False

    @property
    def whole(self) -> str:
        """The word uncut."""
        return "".join(self.parts)[:MAX_WORD]


@dataclass(frozen=True, slots=True)
class Wildcard:
    """A word typed with wildcards: the document has a word that is like the pattern, folded, in
    which `*` stands for any characters and `?` for one."""

    pattern: str


@dataclass(frozen=True, slots=True)
class Phrase:
    """Whole words side by side in one value; or the same words uncut, `wholes`."""

    words: tuple[str, ...]
    wholes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PointedAt:
    """A URN typed: the entity itself (its beginning is enough), and all that point at it."""

    urn: str


@dataclass(frozen=True, slots=True)
class Value:
    """A field has a value that compares so with a folded text.

    `words` are whole words of prose one after the other. A `loose` one stands for something else
    that was typed, and is told as evidence after all that was taken by the letter.
    """

    field: str
    how: How
    text: str
    loose: bool = False

    def holds(self, text: str) -> bool:
        """Whether a folded text of the field compares so."""
        match self.how:
            case "equal":
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
class Present:
    """A field has any value."""

    field: str


@dataclass(frozen=True, slots=True)
class NumberRange:
    """A field has a number within bounds. None leaves a side open; `strict` leaves the bounds
    themselves out."""

    field: str
    low: float | None
    high: float | None
    strict: bool = False


@dataclass(frozen=True, slots=True)
class TextRange:
    """A field has a form within bounds, folded texts, as far as its texts are put in order."""

    field: str
    low: str | None
    high: str | None
    strict: bool = False

    def holds(self, text: str) -> bool:
        """Whether a text is within the bounds."""
        if self.strict and text in (self.low, self.high):
            return False
        return (self.low is None or text >= self.low) and (self.high is None or text <= self.high)


@dataclass(frozen=True, slots=True)
class Below:
    """The entity is in a folder or below it, see `explorer.server.search.document`."""

    folder: str


@dataclass(frozen=True, slots=True)
class And:
    """What all of them ask for."""

    nodes: "tuple[Node, ...]"


@dataclass(frozen=True, slots=True)
class Or:
    """What any of them asks for."""

    nodes: "tuple[Node, ...]"


@dataclass(frozen=True, slots=True)
class Not:
    """All but what it asks for."""

    node: "Node"


Node: TypeAlias = (
    Everything
    | Word
    | Wildcard
    | Phrase
    | PointedAt
    | Value
    | Present
    | NumberRange
    | TextRange
    | Below
    | And
    | Or
    | Not
)

EVERYTHING = Everything()


NOTHING = Not(EVERYTHING)


def all_of(nodes: tuple[Node, ...]) -> Node:
    """The conjunction, as plain as it can be; of nothing, everything."""
    flat = (one for node in nodes for one in (node.nodes if isinstance(node, And) else (node,)))
    kept = tuple(dict.fromkeys(node for node in flat if node != EVERYTHING))
    if not kept:
        return EVERYTHING
    return kept[0] if len(kept) == 1 else And(kept)


def any_of(nodes: tuple[Node, ...]) -> Node:
    """The alternative, as plain as it can be. `nodes` holds at least one."""
    flat = (one for node in nodes for one in (node.nodes if isinstance(node, Or) else (node,)))
    kept = tuple(dict.fromkeys(flat))
    return kept[0] if len(kept) == 1 else Or(kept)


_NODE_BYTES = 400


def size_bytes(node: Node) -> int:
    """Return about how much memory a query takes, with what the engine makes of it."""
    match node:
        case And() | Or():
            return _NODE_BYTES + sum(map(size_bytes, node.nodes))
        case Not():
            return _NODE_BYTES + size_bytes(node.node)
        case Word():
            return _NODE_BYTES + 4 * sum(map(len, node.parts))
        case Phrase():
            return _NODE_BYTES + 4 * sum(map(len, (*node.words, *node.wholes)))
        case Value():
            return _NODE_BYTES + 4 * len(node.text)
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
