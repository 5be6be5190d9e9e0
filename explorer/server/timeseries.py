"""Reading the documents of a timeseries aspect: within a range, filtered and sorted by their own
fields."""

import heapq
from collections.abc import Callable, Iterator
from itertools import islice
from operator import ge, gt, le, lt
from typing import Any

import orjson

from explorer.errors import InvalidInput
from explorer.metadata.registry import reach
from explorer.query.filters import Criterion, Filter
from explorer.server.search.page import SortBy
from explorer.server.store import Store

__all__ = ["Document", "read_documents"]

Document = tuple[dict[str, Any], bytes, bytes]
"""The value as an object, the value as stored, the system metadata as stored."""

_MOMENT = "timestampMillis"
_MAX_MILLIS = 2**62

_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "GREATER_THAN": gt,
    "GREATER_THAN_OR_EQUAL_TO": ge,
    "LESS_THAN": lt,
    "LESS_THAN_OR_EQUAL_TO": le,
}


def read_documents(
    store: Store,
    urn: str,
    aspect: str,
    bounds: tuple[int | None, int | None],
    limit: int,
    filtered_by: Filter,
    sort: SortBy | None = None,
) -> list[Document]:
    """Return at most `limit` documents of an aspect that pass a filter, the newest first or in the
    order of `sort`.

    `bounds` are milliseconds since 1970, both inclusive, None for an open end. The filter and the
    sort name fields of the documents (`partitionSpec.partition`, `fieldProfiles.*.fieldPath`).
    Documents without a value of the sorted field come last; of several values the least counts.
    Raises `InvalidInput` for a criterion that cannot be compared.
    """
    start, end = (None if bound is None else _clamp(bound) for bound in bounds)
    newest_first = sort is None or (sort.field == _MOMENT and sort.descending)
    # What a filter drops and where a sort puts a document is not known before it is read.
    known = limit if newest_first and not filtered_by else -1
    found: Iterator[Document] = (
        (orjson.loads(value), value, system)
        for value, system in store.points(urn, aspect, start, end, known)
    )
    if filtered_by:
        found = (one for one in found if _passes(one[0], filtered_by))
    if sort is None or newest_first:
        return list(islice(found, limit))
    if sort.descending:
        return heapq.nlargest(limit, found, key=lambda one: _place(one[0], sort.field, 1))
    return heapq.nsmallest(limit, found, key=lambda one: _place(one[0], sort.field, -1))


def _clamp(millis: int) -> int:
    return max(-_MAX_MILLIS, min(millis, _MAX_MILLIS))


def _place(document: dict[str, Any], field: str, present: int) -> tuple[int, int, Any]:
    """Return what a document is sorted by: `present` where it has a value, else 0."""
    values = [
        (present, 0, value) if isinstance(value, int | float) else (present, 1, _text(value))
        for value in reach(document, field)
    ]
    return min(values, default=(0, 0, 0))


def _passes(document: dict[str, Any], filtered_by: Filter) -> bool:
    return any(all(_meets(document, one) for one in group) for group in filtered_by.any_of)


def _meets(document: dict[str, Any], criterion: Criterion) -> bool:
    found = reach(document, criterion.field)
    return any(_holds(value, criterion) for value in found or [None]) != criterion.negated


def _holds(value: Any, criterion: Criterion) -> bool:
    """Return whether one value of a document meets a criterion, before it is negated; None stands
    for a document without a value."""
    asked = criterion.values
    if value is None or criterion.condition in ("EXISTS", "IS_NULL"):
        return (value is None) == (criterion.condition == "IS_NULL")
    match criterion.condition:
        case "EQUAL" | "IN" | "DESCENDANTS_INCL" | "ANCESTORS_INCL" | "RELATED_INCL":
            return any(_equal(value, one) for one in asked)
        case "IEQUAL":
            return any(_text(value).casefold() == one.casefold() for one in asked)
        case "CONTAIN":
            return any(one in _text(value) for one in asked)
        case "START_WITH":
            return _text(value).startswith(asked)
        case "END_WITH":
            return _text(value).endswith(asked)
        case "BETWEEN":
            if len(asked) != 2:
                raise InvalidInput(
                    f"BETWEEN on {criterion.field} takes two values, the lower first"
                )
            low, high = asked
            return _compare(ge, value, low, criterion) and _compare(le, value, high, criterion)
        case _:
            compare = _COMPARISONS[criterion.condition]
            return any(_compare(compare, value, one, criterion) for one in asked)


def _equal(value: Any, asked: str) -> bool:
    """Return whether a value is the one asked for: numbers by their value, objects by their JSON,
    texts as they are written."""
    if isinstance(value, str):
        return value == asked
    try:
        return bool(orjson.loads(asked) == value)
    except orjson.JSONDecodeError:
        return _text(value) == asked


def _compare(
    compare: Callable[[Any, Any], bool], value: Any, asked: str, criterion: Criterion
) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return compare(_text(value), asked)
    try:
        return compare(value, float(asked))
    except ValueError:
        raise InvalidInput(
            f"{criterion.field} is compared with a number, not with {asked!r:.60}"
        ) from None


def _text(value: Any) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()
