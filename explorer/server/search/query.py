"""What a search asks for, as a tree. Free text and filters both become one of these."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from explorer.server.search.text import MAX_WORD

__all__ = [
    "EVERYTHING",
    "NOTHING",
    "And",
    "Below",
    "Everything",
    "How",
    "Node",
    "Not",
    "NumberRange",
    "Or",
    "Phrase",
    "Present",
    "Reference",
    "TextRange",
    "Value",
    "Wildcard",
    "Word",
    "all_of",
    "any_of",
    "size_bytes",
]

How = Literal["equal", "prefix", "suffix", "infix", "words"]


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
class Reference:
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
    """The entity is in a folder or below it, see `explorer.server.search.folders`."""

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
    | Reference
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
        case Reference():
            return _NODE_BYTES + 4 * len(node.urn)
        case TextRange():
            return _NODE_BYTES + 4 * (len(node.low or "") + len(node.high or ""))
        case Below():
            return _NODE_BYTES + 4 * len(node.folder)
        case _:
            return _NODE_BYTES
