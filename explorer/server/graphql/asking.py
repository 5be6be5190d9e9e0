"""What a document asks of the search, read from its inputs."""

from collections.abc import Mapping, Sequence
from typing import Any

from explorer.errors import InvalidInput
from explorer.metadata.filters import Criterion, Filter
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
from explorer.server.search.index import SearchQuery, SortBy

__all__ = ["Given", "page_bounds", "read_query", "read_types", "wanted_filter"]

Given = Mapping[str, Any]

_ENTITY_TYPE = "_entityType"


def read_query(
    asked: Given, known: Mapping[str, str], types: Sequence[str], session: Session, *, facets: bool
) -> SearchQuery:
    """Return the search that an input describes, in the session's dialect.

    Raises `InvalidInput` for a page that is none.
    """
    if asked.get("viewUrn"):
        raise InvalidInput("there are no views here; say with orFilters what the view would")
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
    """Return the filter that `orFilters` and `filters` make together, entity types by their names,
    what is related by their URNs.

    In DataHub's dialect, fields that cannot be searched among the types and are none of `others`
    have no values. Raises `InvalidInput`.
    """
    groups = [{"and": group.get("and") or []} for group in asked.get("orFilters") or ()]
    either = read_filter({"or": groups} if groups else None)
    every = read_filter({"criteria": list(asked.get("filters") or ())})
    added = every.any_of[0] if every.any_of else ()
    if not either.any_of and not added:
        return Filter()
    if len(either.any_of) * len(added) > MAX_VALUES:
        raise InvalidInput(
            f"'filters' and 'orFilters' make more than {MAX_VALUES:,} criteria together; ask for "
            "fewer alternatives"
        )
    wanted = Filter(
        tuple(
            tuple(_named(one, known) for one in (*group, *added))
            for group in either.any_of or ((),)
        )
    )
    check_size(wanted)
    rewrites = (asked.get("searchFlags") or {}).get("rewriteQuery") is not False
    wanted = expand_related(wanted, session.catalog.store, rewrites=rewrites)
    if session.dialect == "datahub":
        return forgive_fields(wanted, types, session.catalog.index.vocabulary, others)
    return wanted


def _named(criterion: Criterion, known: Mapping[str, str]) -> Criterion:
    if criterion.field != _ENTITY_TYPE:
        return criterion
    values = tuple(known.get(value, value) for value in criterion.values)
    return Criterion(criterion.field, values, criterion.condition, criterion.negated)


def _sort(given: Given) -> tuple[SortBy, ...]:
    single = given.get("sortCriterion")
    criteria = given.get("sortCriteria") or ([single] if single else [])
    return tuple(SortBy(one["field"], one["sortOrder"] == "DESCENDING") for one in criteria)
