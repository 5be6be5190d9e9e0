"""What one search wants, in both layers' terms: which documents, and in which steps of ranking."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from explorer.query.filters import Filter
from explorer.server.search.analysed import Analysed
from explorer.server.search.criteria import filter_query, names_field
from explorer.server.search.fields import REMOVED, Vocabulary
from explorer.server.search.folders import folder_key
from explorer.server.search.matching import test_of
from explorer.server.search.names import Names
from explorer.server.search.page import SortBy
from explorer.server.search.parser import parse, typed_words
from explorer.server.search.query import EVERYTHING, Below, Node, all_of
from explorer.server.search.ranking import Step, grader, steps
from explorer.server.search.sorting import SortField, read_sort

__all__ = ["Wanted", "read_text", "read_typed"]


@dataclass(frozen=True, slots=True)
class Wanted:
    """A query that was understood: `asked` is what was typed, `node` all that must hold. `types`
    None stands for all. What is in the order of `sorted_by` is not ranked and has one step.
    `also_counted` are fields of structured properties to count beside the facets."""

    asked: Node
    node: Node
    steps: tuple[Step, ...]
    types: tuple[str, ...] | None
    include_removed: bool
    sorted_by: tuple[SortField, ...] = ()
    also_counted: tuple[str, ...] = ()

    @property
    def last_step(self) -> int:
        """The step of what answers the query and meets no other."""
        return len(self.steps)

    def grader(self) -> Callable[[Analysed], int | None]:
        """The function that tells the step of a document; None for one that is not wanted."""
        answers, grade = test_of(self.node), grader(self.steps)

        def step_of(analysed: Analysed) -> int | None:
            document = analysed.document
            if document.removed and not self.include_removed:
                return None
            if self.types is not None and document.entity_type not in self.types:
                return None
            return grade(analysed) if answers(analysed) else None

        return step_of


def read_text(
    text: str,
    types: Sequence[str] | None,
    narrowed_by: Filter,
    vocabulary: Vocabulary,
    *,
    include_removed: bool,
    sort: Sequence[SortBy] = (),
    below: Sequence[str] = (),
    also_counted: Sequence[str] = (),
    names: Names | None = None,
) -> Wanted:
    """What a text in the query language wants. Raises `UnknownName` for an entity type or a
    field of the filter or the sort that is none. `below` is the path of a folder that all must be
    in or below, `names` finds what is referred to by its name."""
    kept, known = _known(types, vocabulary)
    words = parse(text, vocabulary, known, names)
    place = Below(folder_key(below)) if below else EVERYTHING
    return Wanted(
        words,
        all_of((words, filter_query(narrowed_by, vocabulary, known, names), place)),
        () if sort else steps(words, vocabulary),
        kept,
        include_removed or names_field(narrowed_by, REMOVED),
        read_sort(sort, vocabulary, known) if sort else (),
        tuple(one for name in also_counted for one in vocabulary.meant_by(name, known)),
    )


def read_typed(
    text: str,
    types: Sequence[str] | None,
    narrowed_by: Filter,
    vocabulary: Vocabulary,
    names: Names | None = None,
) -> Wanted:
    """What the beginning of a name wants: entities whose names have all of its words."""
    kept, known = _known(types, vocabulary)
    words = typed_words(text, named=True)
    return Wanted(
        words,
        all_of((words, filter_query(narrowed_by, vocabulary, known, names))),
        steps(words, vocabulary, named=True),
        kept,
        include_removed=False,
    )


def _known(
    types: Sequence[str] | None, vocabulary: Vocabulary
) -> tuple[tuple[str, ...] | None, frozenset[str]]:
    if not types:
        return None, vocabulary.known(None)
    for entity_type in types:
        vocabulary.registry.entity(entity_type)
    kept = tuple(sorted(set(types)))
    return kept, vocabulary.known(kept)
