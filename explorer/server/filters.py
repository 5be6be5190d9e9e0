"""Filters as they arrive: today's OR of ANDs, or the oldest flat list of criteria."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from explorer.errors import InvalidInput
from explorer.query.filters import Criterion, Filter
from explorer.server.search.criteria import names_field
from explorer.server.search.fields import ENTITY_TYPE, URN, Vocabulary
from explorer.server.search.page import SearchQuery
from explorer.server.store import Store

__all__ = [
    "MAX_VALUES",
    "check_size",
    "expand_related",
    "forgive_fields",
    "forgive_query",
    "leave_out_unlisted",
    "read_filter",
]

MAX_VALUES = 10_000

_PART_OF = "IsPartOf"
# What is part of one another, and by what entities are grouped.
_NESTED = frozenset({"container", "dataProduct", "domain", "glossaryNode", "glossaryTerm"})
_DEEPEST = 100
_UNLISTED = ("dataPlatform", "ownershipType")
_SYSTEM = "system"


def read_filter(given: Any) -> Filter:
    """A filter from its wire form; nothing gives the filter that lets all pass.

    Callers may name the untokenised twin of a field, `name.keyword`: the field itself is meant.
    Raises `InvalidInput`, see `Filter.from_wire` and `check_size`.
    """
    read = Filter.from_wire(given)
    check_size(read)
    return Filter(
        tuple(
            tuple(replace(one, field=one.field.removesuffix(".keyword")) for one in group)
            for group in read.any_of
        )
    )


def expand_related(asked: Filter, store: Store, *, rewrites: bool = True) -> Filter:
    """Return a filter in which DESCENDANTS_INCL, ANCESTORS_INCL and RELATED_INCL are EQUAL to the
    values and, if it `rewrites`, to the entities that are part of them or that they are part of.

    One query a level, and one for each entity upwards. Raises `InvalidInput` when that are more
    values than a filter may have.
    """
    if not any(one.condition.endswith("_INCL") for group in asked.any_of for one in group):
        return asked

    def expanded(one: Criterion) -> Criterion:
        if not one.condition.endswith("_INCL"):
            return one
        values = dict.fromkeys(one.values)
        if rewrites and one.condition != "ANCESTORS_INCL":
            values |= _related(values, lambda urns: store.sources(urns, _PART_OF))
        if rewrites and one.condition != "DESCENDANTS_INCL":
            values |= _related(values, lambda urns: _above(store, urns))
        return replace(one, values=tuple(values), condition="EQUAL")

    found = Filter(tuple(tuple(map(expanded, group)) for group in asked.any_of))
    check_size(found)
    return found


def _related(
    values: Mapping[str, None], step: Callable[[Sequence[str]], Iterable[str]]
) -> dict[str, None]:
    found: dict[str, None] = {}
    frontier = [value for value in values if _is_nested(value)]
    for _ in range(_DEEPEST):
        near = dict.fromkeys(filter(_is_nested, step(frontier)))
        frontier = [urn for urn in near if urn not in found and urn not in values]
        if not frontier:
            break
        found |= dict.fromkeys(frontier)
    return found


def _above(store: Store, urns: Sequence[str]) -> Iterator[str]:
    for urn in urns:
        _, edges = store.relationships(urn, "OUTGOING", [_PART_OF], 0, _DEEPEST)
        yield from (target for target, _ in edges)


def _is_nested(urn: str) -> bool:
    return urn.startswith("urn:li:") and urn.split(":", 3)[2] in _NESTED


def leave_out_unlisted(query: SearchQuery, vocabulary: Vocabulary) -> SearchQuery:
    """Return a search of all entity types without those that only describe what others name, data
    platforms and ownership types, and without the system's own users. They stay where the filter
    asks for types or URNs."""
    asked = query.filter
    if query.entity_types or names_field(asked, ENTITY_TYPE) or names_field(asked, URN):
        return query
    listed = [Criterion(ENTITY_TYPE, _UNLISTED, negated=True)]
    if vocabulary.meant_by(_SYSTEM, vocabulary.known(None)):
        listed.append(Criterion(_SYSTEM, ("true",), negated=True))
    groups = asked.any_of or ((),)
    return replace(query, filter=Filter(tuple((*group, *listed) for group in groups)))


def check_size(asked: Filter) -> None:
    """Raise `InvalidInput` for a filter of more than 10,000 values; a criterion without values
    counts as one."""
    count = sum(len(one.values) or 1 for group in asked.any_of for one in group)
    if count > MAX_VALUES:
        raise InvalidInput(
            f"the filter has {count:,} values, at most {MAX_VALUES:,} are taken in one request; "
            "ask in several"
        )


def forgive_query(query: SearchQuery, vocabulary: Vocabulary) -> SearchQuery:
    """Return a search in which fields that cannot be searched have no values, as in DataHub's:
    a filter finds nothing by them, and sorts by them are left out."""
    known = _known(query.entity_types, vocabulary)
    return replace(
        query,
        filter=forgive_fields(query.filter, query.entity_types, vocabulary),
        sort=tuple(
            one
            for one in query.sort
            if (meant := vocabulary.meant_by(one.field, known))
            and not vocabulary.trait(meant[0]).mixed
        ),
    )


def forgive_fields(
    asked: Filter,
    entity_types: Sequence[str] | None,
    vocabulary: Vocabulary,
    others: Sequence[str] = (),
) -> Filter:
    """Return a filter in which fields that cannot be searched among the entity types have no
    values. `others` are fields that are no searchable ones and stay."""
    known = _known(entity_types, vocabulary)

    def forgiven(one: Criterion) -> Criterion:
        if one.field in others or vocabulary.meant_by(one.field, known):
            return one
        # Every entity has a URN, so these let nothing pass, or everything.
        missing = one.condition == "IS_NULL" or (not one.values and one.condition != "EXISTS")
        return Criterion(URN, (), "EXISTS" if missing else "IS_NULL", one.negated)

    return Filter(tuple(tuple(map(forgiven, group)) for group in asked.any_of))


def _known(entity_types: Sequence[str] | None, vocabulary: Vocabulary) -> frozenset[str]:
    kept = (name for name in entity_types or () if name in vocabulary.registry.entities)
    return vocabulary.known(tuple(sorted(set(kept))) or None)
