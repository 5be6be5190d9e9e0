"""Reads the search parameters of a request: filter, sort and scroll id.

A scroll id is an opaque text that encodes where the previous page ended. It belongs to one search
and is rejected with another. The server stores nothing for it, so it never expires.
"""

import hashlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from explorer.errors import InvalidInput
from explorer.query.filters import Criterion, Filter
from explorer.server.catalog import CatalogEngine
from explorer.server.restli import Parameters
from explorer.server.search.fields import ENTITY_TYPE, URN, Vocabulary
from explorer.server.search.query import FoundPage, SearchQuery, SortBy
from explorer.server.store import Direction, Store

_DESCENDING = {None: False, "ASCENDING": False, "DESCENDING": True}


def read_sort(parameters: Parameters) -> tuple[SortBy, ...]:
    """Return the `sortCriteria` of a request, or its single `sort`; empty for sorting by relevance.

    Raises `InvalidInput` if they are malformed.
    """
    criteria = parameters.given.get("sortCriteria")
    if criteria is not None:
        return tuple(_criterion(item) for item in parameters.items("sortCriteria"))
    single = parameters.given.get("sort")
    return () if single is None else (_criterion(single),)


def _criterion(wire_criterion: Any) -> SortBy:
    match wire_criterion:
        case {"field": str(field)} if field:
            order = wire_criterion.get("order")
            if isinstance(order, str | None) and order in _DESCENDING:
                return SortBy(field.removesuffix(".keyword"), _DESCENDING[order])
            raise InvalidInput(
                f"the 'order' of a sort must be ASCENDING or DESCENDING, not {order!r}"
            )
    raise InvalidInput('a sort must be {"field": …, "order": "ASCENDING" or "DESCENDING"}')


_DIGEST = 9
_BY_URN = (SortBy("urn"),)


def begin_scroll(query: SearchQuery, token: str | None) -> SearchQuery:
    """Return the query for the page that follows a scroll id; `None` gives the first page.

    Pages are ordered by the sort of the query, or by URN if it has none, and contain only entities
    that match all words, because scripts change or delete the entities that they scroll through.
    Raises `InvalidInput` for a text that is not a scroll id of this search.
    """
    begun = replace(query, sort=query.sort or _BY_URN, loosens=False)
    if token is None:
        return begun
    return replace(begun, after=unpack_scroll_id(_question_text(begun), token))


def scroll_id(query: SearchQuery, page: FoundPage) -> str | None:
    """Return the scroll id for the page that follows, or `None` after the last page."""
    if page.last is None or len(page.hits) < query.count:
        return None
    return pack_scroll_id(_question_text(query), page.last)


def _question_text(query: SearchQuery) -> str:
    return repr(replace(query, start=0, count=0, facets=True, after=None))


def pack_scroll_id(request_key: str, place: str) -> str:
    """Return the scroll id for a place in the results of a request; `request_key` is a text that
    differs between requests."""
    return urlsafe_b64encode(_digest(request_key, place) + place.encode()).rstrip(b"=").decode()


def unpack_scroll_id(request_key: str, token: str) -> str:
    """Return the place that is encoded in a scroll id of this request.

    Raises `InvalidInput` for any other text.
    """
    try:
        raw = urlsafe_b64decode(token.encode() + b"=" * (-len(token) % 4))
        digest, place = raw[:_DIGEST], raw[_DIGEST:].decode()
    except ValueError:
        raise InvalidInput(
            "the scrollId is malformed; leave it out to start from the first page"
        ) from None
    if digest != _digest(request_key, place):
        raise InvalidInput(
            "the scrollId belongs to another search: send it with the same entities, input, "
            "filter and sort, or leave it out to start from the first page"
        )
    return place


def _digest(request_key: str, place: str) -> bytes:
    return hashlib.blake2b(f"{request_key}{place}".encode(), digest_size=_DIGEST).digest()


MAX_VALUES = 10_000

_PART_OF = "IsPartOf"
# Entity types that can be nested, or that group other entities.
_NESTED = frozenset({"container", "dataProduct", "domain", "glossaryNode", "glossaryTerm"})
_DEEPEST = 100
_SYSTEM = "system"


def read_filter(wire_filter: Any) -> Filter:
    """Parse a filter from its wire form; `None` gives the filter that matches everything.

    The untokenised twin of a field, `name.keyword`, stands for the field itself. A criterion on the
    values of a nested facet becomes one on each of its fields. Raises `InvalidInput`, see
    `Filter.from_wire` and `check_size`.
    """
    filter_ = Filter.from_wire(wire_filter)
    check_size(filter_)
    groups = [split for group in filter_.any_of for split in _split_nested(group)]
    if len(groups) > len(filter_.any_of):
        check_size(Filter(tuple(groups)))
    return Filter(
        tuple(
            tuple(
                replace(criterion, field=criterion.field.removesuffix(".keyword"))
                for criterion in group
            )
            for group in groups
        )
    )


NESTED = "\u241e"
"""The separator of the fields in the name of a nested facet, and of the parts of its values."""


def _split_nested(group: Sequence[Criterion]) -> list[tuple[Criterion, ...]]:
    groups: list[tuple[Criterion, ...]] = [()]
    for criterion in group:
        fields = criterion.field.split(NESTED)
        alternatives: list[tuple[Criterion, ...]] = [(criterion,)]
        if len(fields) > 1 and criterion.values and not criterion.negated:
            alternatives = [
                tuple(
                    replace(criterion, field=field, values=(part,))
                    for field, part in zip(fields, value.split(NESTED), strict=False)
                )
                for value in criterion.values
            ]
        if len(groups) * len(alternatives) > MAX_VALUES:
            raise InvalidInput(
                f"the values of nested facets make more than {MAX_VALUES:,} groups of criteria"
            )
        groups = [(*before, *added) for before in groups for added in alternatives]
    return groups


async def expand_related(
    search_filter: Filter, catalog: CatalogEngine, *, rewrites: bool = True
) -> Filter:
    """Return a filter with DESCENDANTS_INCL, ANCESTORS_INCL and RELATED_INCL replaced by EQUAL.

    With `rewrites`, the values are extended by the entities below them, above them, or both, as the
    condition says; this takes one query of the store per level. Raises `InvalidInput` if the filter
    then has too many values.
    """
    if any(
        criterion.condition.endswith("_INCL")
        for group in search_filter.any_of
        for criterion in group
    ):
        return await catalog.read_few(replace_related, search_filter, catalog.store, rewrites)
    return search_filter


def replace_related(search_filter: Filter, store: Store, rewrites: bool = True) -> Filter:
    """Return what `expand_related` returns, for a caller that reads the store itself."""

    def expand(criterion: Criterion) -> Criterion:
        if not criterion.condition.endswith("_INCL"):
            return criterion
        values = dict.fromkeys(criterion.values)
        if rewrites and criterion.condition != "ANCESTORS_INCL":
            values |= _relatives(values, lambda urns: _neighbours(store, urns, "INCOMING"))
        if rewrites and criterion.condition != "DESCENDANTS_INCL":
            values |= _relatives(values, lambda urns: _neighbours(store, urns, "OUTGOING"))
        return replace(criterion, values=tuple(values), condition="EQUAL")

    expanded_filter = Filter(tuple(tuple(map(expand, group)) for group in search_filter.any_of))
    check_size(expanded_filter)
    return expanded_filter


def _relatives(
    values: Mapping[str, None], step: Callable[[Sequence[str]], Iterable[str]]
) -> dict[str, None]:
    urns: dict[str, None] = {}
    frontier = [value for value in values if _is_nested(value)]
    for _ in range(_DEEPEST):
        near = dict.fromkeys(filter(_is_nested, step(frontier)))
        frontier = [urn for urn in near if urn not in urns and urn not in values]
        if not frontier:
            break
        urns |= dict.fromkeys(frontier)
    return urns


def _neighbours(store: Store, urns: Sequence[str], direction: Direction) -> list[str]:
    _, neighbours = store.edges(urns, direction, (_PART_OF,))
    return [neighbour.urn for neighbour in neighbours]


def _is_nested(urn: str) -> bool:
    return urn.startswith("urn:li:") and urn.split(":", 3)[2] in _NESTED


def leave_out_unlisted(query: SearchQuery, vocabulary: Vocabulary) -> SearchQuery:
    """Return a search of all entity types without the entities that should not be listed: those of
    the types in `Vocabulary.unlisted`, and the system's own users.

    Alternatives of the filter that require certain URNs keep everything, and those that require
    certain entity types keep all types.
    """
    if query.entity_types:
        return query
    types = Criterion(ENTITY_TYPE, vocabulary.unlisted, negated=True)
    users = Criterion(_SYSTEM, ("true",), negated=True)
    has_users = vocabulary.find_fields(_SYSTEM, vocabulary.known_fields(None))

    def exclude_unlisted(group: tuple[Criterion, ...]) -> tuple[Criterion, ...]:
        required = {
            criterion.field.removesuffix(".keyword")
            for criterion in group
            if criterion.values and not criterion.negated
        }
        if URN in required:
            return group
        left_out = () if ENTITY_TYPE in required else (types,)
        return (*group, *left_out, *((users,) if has_users else ()))

    groups = query.filter.any_of or ((),)
    return replace(query, filter=Filter(tuple(map(exclude_unlisted, groups))))


def check_size(search_filter: Filter) -> None:
    """Raise `InvalidInput` for a filter of more than 10,000 values.

    A criterion without values counts as one value.
    """
    count = sum(len(criterion.values) or 1 for group in search_filter.any_of for criterion in group)
    if count > MAX_VALUES:
        raise InvalidInput(
            f"the filter has {count:,} values, and one request may have at most {MAX_VALUES:,}; "
            "split it into several requests"
        )


def ignore_unknown_fields(query: SearchQuery, vocabulary: Vocabulary) -> SearchQuery:
    """Return a query in which unknown fields have no values, as DataHub treats them.

    A filter finds nothing by such a field. Sorts by unknown fields and by structured properties are
    ignored.
    """
    field_names = _field_names(query.entity_types, vocabulary)
    return replace(
        query,
        filter=drop_unknown_fields(query.filter, query.entity_types, vocabulary),
        sort=tuple(
            sort_by
            for sort_by in query.sort
            if (meant := vocabulary.find_fields(sort_by.field, field_names))
            and not vocabulary.trait(meant[0]).mixed
        ),
    )


def drop_unknown_fields(
    search_filter: Filter,
    entity_types: Sequence[str] | None,
    vocabulary: Vocabulary,
    other_names: Sequence[str] = (),
) -> Filter:
    """Return a filter in which fields that cannot be searched have no values.

    Fields that the entity types have, and those in `other_names`, are unchanged.
    """
    field_names = _field_names(entity_types, vocabulary)

    def without_values(criterion: Criterion) -> Criterion:
        if criterion.field in other_names or vocabulary.find_fields(criterion.field, field_names):
            return criterion
        # Every entity has a URN, so these criteria match nothing, or everything.
        missing = criterion.condition == "IS_NULL" or (
            not criterion.values and criterion.condition != "EXISTS"
        )
        return Criterion(URN, (), "EXISTS" if missing else "IS_NULL", criterion.negated)

    return Filter(tuple(tuple(map(without_values, group)) for group in search_filter.any_of))


def _field_names(entity_types: Sequence[str] | None, vocabulary: Vocabulary) -> frozenset[str]:
    names = (name for name in entity_types or () if name in vocabulary.registry.entities)
    return vocabulary.known_fields(tuple(sorted(set(names))) or None)
