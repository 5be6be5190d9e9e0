"""How well a document fits: in steps, each better than all that follow.

    0       a name is what was typed
    1       a name begins with it
    2, 3    every word typed is a word of a name; begins one
    …       all words but one, but two, … begin words of a name
    …       every word is found in fields above the common weight, from the heaviest on: as a whole
            word, then as a beginning
    …       the same for fields of the common weight
    last    it answers all the same

Within a step the more used come first, in doublings, then the URN decides. So the order is total,
the same in every layer, and can be told: nothing depends on how many other documents there are.
A query without free words has one step.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from explorer.server.search.analysed import NAME_CUT, Analysed
from explorer.server.search.fields import Vocabulary
from explorer.server.search.matching import Test, has_word
from explorer.server.search.query import And, Node, Or, Phrase, Reference, Word
from explorer.server.search.text import fold

__all__ = [
    "InFields",
    "InName",
    "NameBegins",
    "NameIs",
    "Step",
    "covers",
    "grader",
    "reason",
    "steps",
]

_MOST_COUNTED = 4


@dataclass(frozen=True, slots=True)
class NameIs:
    """A name is this, both as one word; or the URN is one of these."""

    joined: str
    urns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NameBegins:
    """A name begins with this, both as one word."""

    joined: str


@dataclass(frozen=True, slots=True)
class InName:
    """At least `least` of the words are in the names, as whole words if `exact`."""

    words: tuple[Word, ...]
    least: int
    exact: bool


@dataclass(frozen=True, slots=True)
class InFields:
    """All words are in the names or the fields of the first `ranks` weights."""

    words: tuple[Word, ...]
    ranks: int
    exact: bool


Step: TypeAlias = NameIs | NameBegins | InName | InFields


def steps(query: Node, vocabulary: Vocabulary, *, named: bool = False) -> tuple[Step, ...]:
    """The steps of a query, best first; what meets none of them comes last.

    With `named` only names count.
    """
    words: dict[Word, None] = {}
    urns: dict[str, None] = {}
    _gather(query, words, urns)
    typed = tuple(words)
    name = "".join("".join(word.parts) for word in typed)[:NAME_CUT]
    found: list[Step] = []
    if name or urns:
        found.append(NameIs(name, tuple(urns)))
    if not typed:
        return tuple(found)
    count = len(typed)
    found += [NameBegins(name), InName(typed, count, exact=True), InName(typed, count, exact=False)]
    if named:
        return tuple(found)
    fewer = range(count - 1, 0, -1) if count <= _MOST_COUNTED else (1,)
    found += [InName(typed, least, exact=False) for least in fewer]
    for ranks in range(1, len(vocabulary.strong) + 2):
        found += [InFields(typed, ranks, exact=True), InFields(typed, ranks, exact=False)]
    return tuple(found)


def grader(found: tuple[Step, ...]) -> Callable[[Analysed], int]:
    """The function that tells the first step a document meets; the number of steps for none."""
    tests = [_test_of(step) for step in found]

    def grade(document: Analysed) -> int:
        for at, test in enumerate(tests):
            if test(document):
                return at
        return len(tests)

    return grade


def reason(found: tuple[Step, ...], at: int, strong: tuple[float, ...]) -> str:
    """Return why a document is in a step, in words; `strong` are the weights above the common one,
    best first. Empty where no words were searched for."""
    if not found:
        return ""
    if at == len(found):
        return "it answers the search in another way than by words of these fields"
    match found[at]:
        case NameIs(joined=joined):
            return "a name is what was typed" if joined else "it is what the URN names"
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


def covers(wide: Step, narrow: Step) -> bool:
    """Whether what meets `narrow` surely meets `wide`."""
    match wide, narrow:
        case NameBegins(), NameIs(urns=urns):
            return not urns
        case InName(), InName():
            return wide.least <= narrow.least and not (wide.exact and not narrow.exact)
        case InFields(), InFields():
            return wide.ranks >= narrow.ranks and not (wide.exact and not narrow.exact)
        case InFields(), InName():
            whole = narrow.least == len(narrow.words)
            return whole and not (wide.exact and not narrow.exact)
    return False


def _test_of(step: Step) -> Test:
    match step:
        case NameIs():
            return lambda document: (
                step.joined in document.joined_names
                or (bool(step.urns) and fold(document.document.urn) in step.urns)
            )
        case NameBegins():
            return lambda document: any(
                name.startswith(step.joined) for name in document.joined_names
            )
        case InName():
            named = [has_word(word, exact=step.exact) for word in step.words]
            return lambda document: sum(test(document.lines[:1]) for test in named) >= step.least
        case InFields():
            found = [has_word(word, exact=step.exact) for word in step.words]
            end = 1 + step.ranks
            return lambda document: all(test(document.lines[:end]) for test in found)


def _gather(node: Node, words: dict[Word, None], urns: dict[str, None]) -> None:
    """The words asked for, in the order typed; what is negated is not asked for."""
    match node:
        case Word():
            words[Word(node.parts)] = None
        case Phrase():
            for word in node.words:
                words[Word((word,))] = None
        case Reference():
            urns[node.urn] = None
        case And() | Or():
            for inner in node.nodes:
                _gather(inner, words, urns)
        case _:
            pass
