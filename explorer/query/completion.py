"""Completion of filters: fields, operators, values and keywords that can be typed next."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Final, Literal, Protocol, TypeAlias

from explorer.metadata.names import singular
from explorer.metadata.registry import Registry
from explorer.query.fields import ENTITY_TYPE, STATE, STATES, USE, FieldGuide, FilterField, guide_to
from explorer.query.filters import Condition, Criterion
from explorer.query.syntax import ParsePosition, Reading, spell_field, spell_values
from explorer.query.tokens import (
    FIELD,
    OPERATOR,
    FilterSyntax,
    is_bare,
    quote_value,
    scan_atom,
    skip_space,
)

_URN: Final = "urn:li:"
_NO_NAMES: Final[Mapping[str, str]] = {}
# Generated ids, such as UUIDs.
_OPAQUE = re.compile(r":([0-9a-f]{32}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})$")
_KEYWORDS: Final = {"AND": "both must hold", "OR": "either will do", "NOT": "leaves out"}
_OPERATORS: Final = {
    ":": "is",
    "!=": "is not",
    ">": "more than",
    ">=": "at least",
    "<": "less than",
    "<=": "at most",
    "=~": "is, whatever the case",
    "IN (": "is one of",
    "IS NULL": "has no value",
    "IS NOT NULL": "has a value",
}
_STATES: Final = FilterField(STATE, label="State", is_facet=True)
_ORDERED: Final = ("number", "date")
_FOR_EQUALS: Final = (":", "=", "==", "!=", "IN")

# The text to type for a value, the value, its label, and the number of entities that have it.
_Word: TypeAlias = tuple[str, str, str, int | None]


class FacetValueLike(Protocol):
    """A value of a facet, its label, and the number of entities that have it."""

    @property
    def value(self) -> str: ...
    @property
    def label(self) -> str: ...
    @property
    def count(self) -> int: ...


class FacetLike(Protocol):
    """A field and its values, as returned by a search."""

    @property
    def name(self) -> str: ...
    @property
    def label(self) -> str: ...
    @property
    def values(self) -> Sequence[FacetValueLike]: ...


@dataclass(frozen=True, slots=True)
class Completion:
    """A replacement `text` for the characters from `start` to `end`.

    `label` is the text to show, `hint` an explanation, `count` the number of entities with the
    value, if known.
    """

    text: str
    start: int
    end: int
    label: str
    kind: Literal["field", "operator", "value", "keyword"]
    hint: str = ""
    count: int | None = None

    def applied_to(self, text: str) -> str:
        """Return the text with the completion applied; the cursor belongs at `start +
        len(self.text)`."""
        return text[: self.start] + self.text + text[self.end :]


def complete(
    text: str,
    cursor: int,
    registry: Registry,
    facets: Sequence[FacetLike] = (),
    names: Mapping[str, str] = _NO_NAMES,
    *,
    limit: int = 50,
) -> tuple[Completion, ...]:
    """Return the completions at the cursor, best first, at most `limit`; none after a syntax error.

    Fields that begin with the typed text come before fields that contain it, and among these,
    fields with facets come first. Values are those of the given facets, in order, and the fixed
    values of a field. `names` has the names of URNs among them, and further URNs to offer, best
    first. No requests; fast enough for every key press.
    """
    return tuple(
        islice(_Offers(text, cursor, guide_to(registry), facets, names).completions(), limit)
    )


def value_at(text: str, cursor: int, registry: Registry) -> tuple[FilterField, str] | None:
    """Return the field whose value is being typed at the cursor, and the value so far, or
    `None`."""
    guide = guide_to(registry)
    typed = text[: max(0, min(cursor, len(text)))]
    reading = Reading(typed, guide, probing=True)
    # A value that is still missing is not an error here.
    with suppress(FilterSyntax):
        reading.parse()
    place = reading.place
    field = guide.field_for(place.field) if place.kind == "value" else None
    return (field, typed[place.start :].strip("*").lstrip("\"'")) if field else None


def _type_of(value: str) -> str:
    """Return the entity type of a URN; empty for any other value."""
    return value.removeprefix(_URN).partition(":")[0] if value.startswith(_URN) else ""


class _Offers:
    def __init__(
        self,
        text: str,
        cursor: int,
        guide: FieldGuide,
        facets: Sequence[FacetLike],
        names: Mapping[str, str],
    ) -> None:
        self._names = names
        self._text = text
        self._cursor = cursor = max(0, min(cursor, len(text)))
        self._typed = text[:cursor]
        self._guide = guide
        self._facets = {facet.name: facet for facet in facets}

    def completions(self) -> Iterator[Completion]:
        reading = Reading(self._typed, self._guide, probing=True)
        try:
            reading.parse()
        except FilterSyntax as error:
            place = reading.place
            if error.position < (place.field_start if place.kind == "operator" else place.start):
                return
        place = reading.place
        if place.kind == "term" and place.start == self._cursor:
            yield from self._terms(place.start, after_term=place.after_term)
        elif place.kind == "operator" and place.start == self._cursor:
            yield from self._terms(place.field_start, after_term=place.after_term)
            yield from self._operators(place)
        elif place.kind == "operator":
            yield from self._operators(place)
        elif place.kind == "value" and self._is_closed(place):
            yield from self._keywords("", self._cursor)
        elif place.kind == "value":
            yield from self._values(place)

    def _terms(self, start: int, *, after_term: bool) -> Iterator[Completion]:
        begun = self._typed[start:].casefold()
        if after_term:
            yield from self._keywords(begun, start)
        elif begun and "not".startswith(begun):
            yield self._keyword("NOT", start)
        yield from self._fields(begun, start)

    def _keywords(self, begun: str, start: int) -> Iterator[Completion]:
        for keyword in _KEYWORDS:
            if keyword.casefold().startswith(begun):
                yield self._keyword(keyword, start)

    def _keyword(self, keyword: str, start: int) -> Completion:
        end = self._word_end(start)
        after = "" if self._text[end : end + 1].isspace() else " "
        word = f"{self._gap(start)}{keyword}{after}"
        return Completion(word, start, end, keyword, "keyword", _KEYWORDS[keyword])

    def _fields(self, begun: str, start: int) -> Iterator[Completion]:
        end = self._word_end(start)
        follows = OPERATOR.match(self._text, skip_space(self._text, end))
        keys = self._facets.keys() - self._guide.fields.keys()
        fields = [
            _STATES,
            *self._guide.fields.values(),
            *(FilterField(name, label=self._facets[name].label) for name in sorted(keys)),
        ]
        ranked = []
        for field in fields:
            words = self._guide.words(field)
            if any(word.startswith(begun) for word in words):
                rank = 0
            elif any(begun in word for word in words):
                rank = 1
            else:
                continue
            has_facet = field.name in self._facets
            ranked.append((rank, not has_facet, not field.is_facet, field.name, field))
        for *_, field in sorted(ranked, key=lambda completion: completion[:4]):
            name = STATE if field is _STATES else spell_field(self._guide, field.name)
            hint = ", also ".join([field.label or field.nature, *self._guide.also(field.name)])
            word = f"{self._gap(start)}{name}{'' if follows else ':'}"
            label = name if field.name == USE else field.name
            yield Completion(word, start, end, label, "field", hint)

    def _operators(self, place: ParsePosition) -> Iterator[Completion]:
        field = self._guide.field_for(place.field)
        rest = self._text[self._cursor : self._cursor + 1]
        if field is None or (rest and not (rest.isspace() or rest == ")")):
            return
        nature = field.nature
        start = skip_space(self._typed, place.start)
        begun = " ".join(self._typed[start:].split()).casefold()
        is_glued = start == self._cursor == place.start
        for operator, hint in _OPERATORS.items():
            if operator[0] in "<>" and nature not in _ORDERED:
                continue
            if operator == "=~" and nature not in ("text", "urn"):
                continue
            if operator.casefold().startswith(begun):
                gap = " " if operator[0] == "I" and is_glued else ""
                yield Completion(
                    f"{gap}{operator}", start, self._cursor, operator, "operator", hint
                )

    def _values(self, place: ParsePosition) -> Iterator[Completion]:
        if place.operator not in _FOR_EQUALS:
            return
        typed = self._typed[place.start :]
        begun = typed.strip("*").lstrip("\"'").casefold()
        field = self._guide.field_for(place.field) or FilterField(place.field)
        if field.parents:
            begun = begun.removesuffix("/").removesuffix('"')
        end = self._value_end(place)
        after = self._text[end : end + 1]
        gap = " " if after and not (after.isspace() or after in "),") else ""
        words: set[str] = set()
        beginning: list[Completion] = []
        holding: list[Completion] = []
        above: list[Completion] = []
        for word, value, label, count in self._words(place.field):
            folded = (word.lstrip("\"'").casefold(), label.casefold(), value.casefold())
            if word in words or not any(begun in text for text in folded):
                continue
            words.add(word)
            if (value_type := _type_of(value)) in field.parents:
                above.append(
                    Completion(
                        f"{self._spell(field, value, self._names, 'DESCENDANTS_INCL')}/*{gap}",
                        place.start,
                        end,
                        f"{label}/*",
                        "value",
                        "and all that is part of it",
                    )
                )
                if value_type not in field.targets:
                    continue
            completion = Completion(f"{word}{gap}", place.start, end, label, "value", "", count)
            begins = any(text.startswith(begun) for text in folded)
            (beginning if begins else holding).append(completion)
        yield from beginning
        yield from holding
        yield from above

    def _words(self, name: str) -> Iterator[_Word]:
        """Yield the values that a field can have."""
        guide = self._guide
        if name == STATE and guide.field_for(name) is None:
            yield from (
                (word, word, word, self._count_of(criterion)) for word, criterion in STATES.items()
            )
            return
        if guide.field_meant(name, guide.entity_types[:1]) != name:
            yield from self._types()
        field = guide.field_for(name) or FilterField(name)
        if field.nature == "type":
            yield from self._types()
        else:
            yield from self._name_or_count(field)
        if field.nature == "boolean":
            for word in ("true", "false"):
                yield word, word, word, None

    def _name_or_count(self, field: FilterField) -> Iterator[_Word]:
        facet = self._facets.get(field.name)
        counted = {like.value: like for like in (facet.values if facet else ())}
        names = self._names if field.targets else {}
        for value in dict.fromkeys((*counted, *names)):
            like = counted.get(value)
            label = names.get(value) or (like.label if like else value)
            yield (
                self._spell(field, value, names),
                value,
                label,
                (like.count if like else 0) or None,
            )

    def _spell(
        self,
        field: FilterField,
        value: str,
        names: Mapping[str, str],
        condition: Condition = "EQUAL",
    ) -> str:
        """Return the text to type for a value: the id of a URN, or its name if the id is
        generated."""
        if value in names:
            if _OPAQUE.search(value):
                return quote_value(names[value])
            bare = value.removeprefix(_URN).partition(":")[2]
            if len(field.targets) > 1 and is_bare(bare):
                return bare
        return spell_values(self._guide, field, condition, (value,))[0]

    def _count_of(self, state: Criterion) -> int | None:
        """Return the number of entities in a state, if a facet has it."""
        facet = self._facets.get(state.field)
        counts = {like.value: like.count for like in (facet.values if facet else ())}
        return counts.get(state.values[0]) if state.values else None

    def _types(self) -> Iterable[_Word]:
        facet = self._facets.get(ENTITY_TYPE)
        counts = {
            self._guide.find_type(like.value): like.count
            for like in (facet.values if facet else ())
        }
        counted_names = [name for name in counts if name is not None]
        rest = [name for name in self._guide.entity_types if name not in counts]
        return [(name, name, singular(name), counts.get(name)) for name in (*counted_names, *rest)]

    def _is_closed(self, place: ParsePosition) -> bool:
        """Return whether the value before the cursor is in quotes and complete."""
        if place.in_list or place.start == self._cursor:
            return False
        try:
            atom = scan_atom(self._typed, place.start)
        except FilterSyntax:
            return False
        return bool(atom.quote) and atom.end == self._cursor

    def _value_end(self, place: ParsePosition) -> int:
        """Return the end of the value under the cursor; the cursor itself if none has been
        typed."""
        if place.start == self._cursor:
            return self._cursor
        try:
            Reading(self._text, self._guide, probing=True).parse()
            return max(self._cursor, scan_atom(self._text, place.start).end)
        except FilterSyntax:
            return self._cursor

    def _word_end(self, start: int) -> int:
        """Return the end of the word under the cursor; the cursor itself if none has been typed."""
        match = FIELD.match(self._text, start) if start < self._cursor else None
        return max(self._cursor, match.end()) if match else self._cursor

    def _gap(self, start: int) -> str:
        """Return the space needed between a new word and the text before it."""
        before = self._text[start - 1 : start] if start else ""
        return (
            "" if start < self._cursor or not before or before.isspace() or before in "(-" else " "
        )
