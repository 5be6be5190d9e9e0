"""Slips of the finger: the word of the catalog that was meant by one that it does not have."""

import re
from collections.abc import Callable, Iterable, Iterator

import tantivy

from explorer.server.search.analysed import Analysed
from explorer.server.search.layers import View
from explorer.server.search.query import And, Node, Or, Word
from explorer.server.search.terms import Terms, read_lines
from explorer.server.search.text import chunks, split

__all__ = ["Spelling", "typed_parts"]

# A shorter word has too many neighbours; one slip is a letter too many, one too few, another one,
# or two that changed places.
_SHORTEST = 5
_SHORTEST_OF_TWO = 8
# So many documents, the most used ones first, are looked at for words.
_MOST_DOCUMENTS = 60
_RUN = re.compile(r"[^\W_]+")


class Spelling:
    """Corrects words by those of one state of the index and of what is newer."""

    def __init__(self, view: View, terms: Terms) -> None:
        self._view = view
        self._terms = terms

    def corrected(self, text: str, asked: Node, is_found: Callable[[Word], bool]) -> str | None:
        """Return a text with the words in it that nothing has, `is_found` says which, corrected;
        None where one of them cannot be, or there is none."""
        corrections: dict[str, str] = {}
        for word in dict.fromkeys(_words(asked)):
            if not is_found(word):
                found = [self._nearest(part) for part in word.parts]
                if None in found:
                    return None
                corrections[word.whole] = " ".join(filter(None, found))
        if not corrections:
            return None

        def replaced(run: re.Match[str]) -> str:
            return corrections.get("".join(typed_parts(run.group())), run.group())

        changed = _RUN.sub(replaced, text)
        return changed if changed != text else None

    def _nearest(self, word: str) -> str | None:
        if len(word) < _SHORTEST or not word.isalpha():
            return None if not self._has(word) else word
        if self._has(word):
            return word
        for most in range(1, 2 + (len(word) >= _SHORTEST_OF_TWO)):
            counts: dict[str, int] = {}
            for line_words in self._near(word, most):
                for one in line_words:
                    if abs(len(one) - len(word)) <= most and one.isalpha():
                        counts[one] = counts.get(one, 0) + 1
            near = [one for one in counts if distance(one, word, most) <= most]
            if near:
                return min(near, key=lambda one: (one[0] != word[0], -self._count(one), one))
        return None

    def _near(self, word: str, most: int) -> Iterator[Iterable[str]]:
        """The words of documents that may have one near a word."""
        for change in self._view.pending:
            if change.new is not None:
                yield set(change.new.words.split())
        query = tantivy.Query.fuzzy_term_query(
            self._terms.schema, "any.words", word, distance=most, transposition_cost_one=True
        )
        limit = max(1, min(_MOST_DOCUMENTS, self._view.searcher.num_docs))
        hits = self._view.searcher.search(
            query, limit, count=False, order_by_field="order", order=tantivy.Order.Asc
        ).hits
        for _, address in hits:
            lines = read_lines(self._view.searcher, address)
            yield {one for line in lines for one in line.split()}

    def _has(self, word: str) -> bool:
        return self._count(word) > 0

    def _count(self, word: str) -> int:
        """About how many documents have a word."""
        pending = sum(_holds(change.new, word) for change in self._view.pending)
        return self._view.searcher.doc_freq("any.words", word) + pending


def typed_parts(run: str) -> tuple[str, ...]:
    """The words of a run of letters and digits as it was typed."""
    return tuple(part for chunk in chunks(run) for part in split(chunk))


def distance(one: str, other: str, most: int) -> int:
    """How many slips are between two words, as far as `most`; more than that is `most` + 1."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for at, char in enumerate(one, 1):
        older, before, row = before, row, [at]
        for to, target in enumerate(other, 1):
            cost = min(row[-1] + 1, before[to] + 1, before[to - 1] + (char != target))
            if at > 1 and to > 1 and char == other[to - 2] and one[at - 2] == target:
                cost = min(cost, older[to - 2] + 1)
            row.append(cost)
        if min(row) > most + 1:
            return most + 1
    return min(row[-1], most + 1)


def _holds(document: Analysed | None, word: str) -> bool:
    return document is not None and f" {word} " in document.words


def _words(node: Node) -> Iterator[Word]:
    """The words asked for; what is left out is not."""
    match node:
        case Word():
            yield node
        case And() | Or():
            for inner in node.nodes:
                yield from _words(inner)
        case _:
            pass
