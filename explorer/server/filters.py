"""Filters as they arrive: today's OR of ANDs, or the oldest flat list of criteria."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from explorer.errors import InvalidInput
from explorer.metadata.filters import Criterion, Filter
from explorer.server.search.fields import URN, Vocabulary
from explorer.server.search.page import SearchQuery

__all__ = ["MAX_VALUES", "check_size", "forgive_fields", "forgive_query", "read_filter"]

MAX_VALUES = 10_000


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
