"""What a document asks of the search, read from its inputs."""

from collections.abc import Mapping, Sequence
from typing import Any

from explorer.errors import InvalidInput
from explorer.query.filters import Criterion, Filter
from explorer.server.call import DEFAULT_PAGE, MAX_PAGE
from explorer.server.filters import (
    MAX_VALUES,
    check_size,
    expand_related,
    forgive_fields,
    forgive_query,
    leave_out_unlisted,
    read_filter,
)
from explorer.server.graphql.nodes import Session
from explorer.server.search.page import SearchQuery, SortBy

__all__ = ["Given", "page_bounds", "read_query", "read_types", "wanted_filter"]

Given = Mapping[str, Any]

_ENTITY_TYPE = "_entityType"


def read_query(
    asked: Given, known: Mapping[str, str], types: Sequence[str], session: Session, *, facets: bool
) -> SearchQuery:
    """Return the search that an input describes, in the session's dialect.

    Raises `InvalidInput` for a page that is none.
    """
    flags: Given = asked.get("searchFlags") or {}
    start, count = page_bounds(asked)
    query = SearchQuery(
        text=asked.get("query") or "",
        entity_types=tuple(types) or None,
        filter=wanted_filter(asked, known, types, session),
        start=start,
        count=count,
        facets=facets and not flags.get("skipAggregates"),
        include_removed=flags.get("includeSoftDeleted") is True,
        sort=_sort(asked.get("sortInput") or {}),
    )
    if session.dialect == "datahub":
        query = forgive_query(query, session.catalog.index.vocabulary)
    return leave_out_unlisted(query, session.catalog.index.vocabulary)


def read_types(asked: Given, known: Mapping[str, str]) -> list[str]:
    """The entity types that an input names; none mean all."""
    return [known[symbol] for symbol in dict.fromkeys(asked.get("types") or ())]


def page_bounds(asked: Given, count: int = DEFAULT_PAGE, name: str = "count") -> tuple[int, int]:
    """Where a page starts and how long it is. Raises `InvalidInput`."""
    start, length = asked.get("start") or 0, asked.get(name)
    length = count if length is None else length
    for what, value in (("start", start), (name, length)):
        if value < 0:
            raise InvalidInput(f"{what!r} must not be negative, it is {value}")
    if length > MAX_PAGE:
        raise InvalidInput(f"{name!r} is {length}, more than the {MAX_PAGE} that a page may have")
    return start, length


def wanted_filter(
    asked: Given,
    known: Mapping[str, str],
    types: Sequence[str],
    session: Session,
    others: Sequence[str] = (),
) -> Filter:
    """Return the filter that `orFilters`, `filters` and the view of `viewUrn` make together, entity
    types by their names, what is related by their URNs.

    In DataHub's dialect, fields that cannot be searched among the types and are none of `others`
    have no values, and a view that is not there lets everything through. Raises `InvalidInput`.
    """
    groups = [{"and": group.get("and") or []} for group in asked.get("orFilters") or ()]
    either = read_filter({"or": groups} if groups else None)
    every = read_filter({"criteria": list(asked.get("filters") or ())})
    wanted = _both(_both(either, every), _read_view(asked.get("viewUrn"), types, session))
    wanted = Filter(tuple(tuple(_named(one, known) for one in group) for group in wanted.any_of))
    check_size(wanted)
    rewrites = (asked.get("searchFlags") or {}).get("rewriteQuery") is not False
    wanted = expand_related(wanted, session.catalog.store, rewrites=rewrites)
    if session.dialect == "datahub":
        return forgive_fields(wanted, types, session.catalog.index.vocabulary, others)
    return wanted


def _both(one: Filter, other: Filter) -> Filter:
    """The filter that lets through what both do."""
    if not one.any_of or not other.any_of:
        return one if one.any_of else other
    if len(one.any_of) * len(other.any_of) > MAX_VALUES:
        raise InvalidInput(
            f"the filters make more than {MAX_VALUES:,} criteria together; ask for fewer "
            "alternatives"
        )
    return Filter(tuple((*left, *right) for left in one.any_of for right in other.any_of))


def _read_view(urn: str | None, types: Sequence[str], session: Session) -> Filter:
    """The filter that a saved view stands for; fields that the types do not have have no values."""
    if not urn:
        return Filter()
    info = session.node(urn).aspect("dataHubViewInfo")
    if info is None:
        if session.dialect == "datahub":
            return Filter()
        raise InvalidInput(f"{urn} is no view; say with orFilters what it would let through")
    definition = info.get("definition") or {}
    named = tuple(definition.get("entityTypes") or ())
    among = Filter(((Criterion(_ENTITY_TYPE, named),),)) if named else Filter()
    wanted = read_filter(definition.get("filter") or None)
    return _both(forgive_fields(wanted, types, session.catalog.index.vocabulary), among)


def _named(criterion: Criterion, known: Mapping[str, str]) -> Criterion:
    if criterion.field != _ENTITY_TYPE:
        return criterion
    values = tuple(known.get(value, value) for value in criterion.values)
    return Criterion(criterion.field, values, criterion.condition, criterion.negated)


def _sort(given: Given) -> tuple[SortBy, ...]:
    single = given.get("sortCriterion")
    criteria = given.get("sortCriteria") or ([single] if single else [])
    return tuple(SortBy(one["field"], one["sortOrder"] == "DESCENDING") for one in criteria)
