"""A document made ready to be searched: its words by how much they weigh, its names, its place.

What a document answers to a query is defined here, in plain Python, one document at a time. The
index on disk gives the same answers from its own structures (`explorer.server.search.terms`).
"""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

from explorer.metadata.structured_properties import PREFIX
from explorer.server.search import fields
from explorer.server.search.document import Document, Scalar
from explorer.server.search.fields import Vocabulary
from explorer.server.search.folders import folder_keys
from explorer.server.search.forms import bare_names, forms, needle, readable
from explorer.server.search.text import joined, word_line

__all__ = [
    "NAME_CUT",
    "USED_MOST",
    "Analysed",
    "analyse",
    "as_text",
    "facet_values",
    "join_names",
    "names_of",
    "order_key",
    "usage_step",
    "values_of",
]


def _called(document: Document) -> tuple[Scalar, ...]:
    found: dict[Scalar, None] = {document.name: None} if document.name else {}
    for name in fields.CALLED:
        found.update(dict.fromkeys(document.fields.get(name, ())))
    return tuple(found)


_VIRTUAL: dict[str, Callable[[Document], tuple[Scalar, ...]]] = {
    fields.URN: lambda document: (document.urn,),
    fields.ENTITY_TYPE: lambda document: (document.entity_type,),
    fields.REMOVED: lambda document: (document.removed,),
    fields.DISPLAY: _called,
    fields.USE: lambda document: (float(document.usage),),
}

NAME_CUT = 200
USED_MOST = 15

_MAX_FACET = 1_000


@dataclass(frozen=True)
class Analysed:
    """A document with what is asked of it prepared.

    lines         its words: those of its names, those of each weight above the common one (best
                  first), those of the common weight, those below it
    joined_names  its names as one word each, and the last part of a dotted name
    references    the URNs among what free text looks into
    """

    document: Document
    lines: tuple[str, ...]
    joined_names: tuple[str, ...]
    references: tuple[str, ...]
    vocabulary: Vocabulary

    @cached_property
    def words(self) -> str:
        """All lines as one; words of different lines are not side by side in it."""
        return "".join(self.lines)

    @cached_property
    def key(self) -> str:
        """Puts documents that fit equally well in order, see `order_key`."""
        return order_key(self.document)

    @cached_property
    def folders(self) -> tuple[str, ...]:
        """Every folder it is in or below, from the top."""
        return tuple(folder_keys([one for one, _ in self.document.folders]))

    @cached_property
    def facets(self) -> tuple[tuple[str, str], ...]:
        """Every facet field with every value that it counts; structured properties are counted
        whether they are shown as facets or not, for that may change."""
        own = [name for name in self.document.fields if name.startswith(PREFIX)]
        return tuple(
            (name, value)
            for name in (*self.vocabulary.facet_names, *own)
            for value in facet_values(self.document, name, self.vocabulary)
        )

    @cached_property
    def _forms(self) -> dict[str, tuple[tuple[str, ...], ...]]:
        return {}

    def each(self, name: str) -> tuple[tuple[str, ...], ...]:
        """The forms of each value of a field, see `explorer.server.search.forms`."""
        found = self._forms.get(name)
        if found is None:
            trait = self.vocabulary.trait(name)
            found = tuple([forms(trait, value) for value in self.values(name)])
            self._forms[name] = found
        return found

    def forms(self, name: str) -> Iterator[str]:
        """The folded texts that a field equals."""
        return chain.from_iterable(self.each(name))

    def bodies(self, name: str) -> Iterator[str]:
        """The folded texts that are looked into for a part of a field."""
        if self.vocabulary.trait(name).nature == "text":
            return (one[0] for one in self.each(name))
        return self.forms(name)

    def values(self, name: str) -> tuple[Scalar, ...]:
        """The values of a field as they are stored."""
        return values_of(self.document, name)


def analyse(vocabulary: Vocabulary, document: Document) -> Analysed:
    """Prepare a document; about 0.1 ms."""
    entity_type = document.entity_type
    strong = vocabulary.strong
    by_rank: list[list[str]] = [[] for _ in range(len(strong) + 2)]
    references: dict[str, None] = {}
    for name, values in document.fields.items():
        weight = vocabulary.weight(entity_type, name)
        if weight is None:
            continue
        rank = _rank(weight, strong)
        trait = vocabulary.trait(name)
        for value in values:
            if isinstance(value, str):
                if value.startswith("urn:li:"):
                    references[value] = None
                    by_rank[rank] += bare_names(value)[:1]
                else:
                    by_rank[rank].append(readable(trait, value))
    names = names_of(vocabulary, document)
    joined_names = join_names(names)
    return Analysed(
        document=document,
        lines=(word_line((*names, *joined_names)), *(word_line(values) for values in by_rank)),
        joined_names=joined_names,
        references=tuple(references),
        vocabulary=vocabulary,
    )


def values_of(document: Document, name: str) -> tuple[Scalar, ...]:
    """The values of a field of a document, those that every entity has among them."""
    if name in _VIRTUAL:
        return _VIRTUAL[name](document)
    return document.fields.get(name, ())


def order_key(document: Document) -> str:
    """What puts documents that fit equally well in order: more used first, then by URN.

    In hexadecimal, which keeps the order and can be named in a query of the index.
    """
    return f"{USED_MOST - usage_step(document.usage):x}{document.urn}".encode().hex()


def facet_values(document: Document, name: str, vocabulary: Vocabulary) -> tuple[str, ...]:
    """The values of a field as a facet counts them, each of those that a filter takes for one
    once; far too long ones are not counted."""
    found: dict[str, str] = {}
    for field in vocabulary.counted_for(name):
        for value in values_of(document, field):
            text = as_text(value)
            if len(text) <= _MAX_FACET:
                found.setdefault(needle(vocabulary.trait(name), text), text)
    return tuple(found.values())


def as_text(value: Scalar) -> str:
    """A value as text."""
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return value
        case _:
            return str(int(value)) if value.is_integer() else repr(value)


def names_of(vocabulary: Vocabulary, document: Document) -> tuple[str, ...]:
    """What an entity is called, as written: the name it is shown by, then those in its fields."""
    found = [document.name]
    for name in vocabulary.naming(document.entity_type):
        found += [value for value in document.fields.get(name, ()) if isinstance(value, str)]
    return tuple(dict.fromkeys(found))


def _rank(weight: float, strong: tuple[float, ...]) -> int:
    if weight > 1:
        return strong.index(weight)
    return len(strong) + (weight < 1)


def join_names(names: Iterable[str]) -> tuple[str, ...]:
    """Names as one word each, and the last parts of dotted names."""
    found: dict[str, None] = {}
    for name in names:
        found[joined(name)[:NAME_CUT]] = None
        if "." in name:
            found[joined(name.rpartition(".")[2])[:NAME_CUT]] = None
    found.pop("", None)
    return tuple(found)


def usage_step(usage: float) -> int:
    """Usage in doublings, at most 15, so that only a clear difference changes the order."""
    return min(int(math.log2(1 + usage)), USED_MOST) if usage > 0 else 0
