"""Search, completion and browsing."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from explorer.client.requests.request import GRAPHQL_PATH, Request, action
from explorer.errors import InvalidInput
from explorer.metadata.filters import Criterion, Filter
from explorer.metadata.urn import Urn

__all__ = [
    "Sorting",
    "browse_paths_request",
    "browse_request",
    "counts_request",
    "entity_symbol",
    "list_urns_request",
    "scroll_graphql_request",
    "scroll_request",
    "search_request",
    "with_removed",
]

_KEEP_ALIVE = "5m"

_SCROLL = """
query scrollAcrossEntities($input: ScrollAcrossEntitiesInput!) {
  scrollAcrossEntities(input: $input) {
    nextScrollId
    count
    total
    searchResults { entity { urn } matchedFields { name value } }
  }
}
"""


# Symbols of GraphQL's EntityType that are not simply the name in capitals.
_SYMBOLS = {"corpuser": "CORP_USER"}
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


class Sorting(Protocol):
    """A field to sort by, and the way."""

    @property
    def field(self) -> str: ...

    @property
    def descending(self) -> bool: ...


def search_request(
    text: str,
    entity: str | Sequence[str] | None,
    start: int,
    count: int,
    narrowed_by: Filter,
    sorted_by: Sequence[Sorting] = (),
) -> Request:
    """Endpoint 6 for the one type named, its twin over several types, or over all. Raises
    `InvalidInput` for a text that is none."""
    if not isinstance(text, str):
        raise InvalidInput(f"search takes a text, not {text!r}; '*' or '' finds everything")
    body: dict[str, Any] = {"input": text or "*", "start": start, "count": count}
    one = isinstance(entity, str) and bool(entity)
    if entity:
        body |= {"entity": entity} if one else {"entities": list(entity)}
    return action(
        "/entities",
        "search" if one else "searchAcrossEntities",
        body | filter_of(narrowed_by) | _sort_of(sorted_by),
    )


def scroll_request(
    text: str,
    entities: Sequence[str],
    count: int,
    narrowed_by: Filter,
    sorted_by: Sequence[Sorting],
    scroll_id: str | None,
) -> Request:
    """A page of a whole result, from where the page before ended."""
    body: dict[str, Any] = {"input": text or "*", "count": count, "keepAlive": _KEEP_ALIVE}
    if entities:
        body["entities"] = list(entities)
    if scroll_id is not None:
        body["scrollId"] = scroll_id
    return action(
        "/entities", "scrollAcrossEntities", body | filter_of(narrowed_by) | _sort_of(sorted_by)
    )


def scroll_graphql_request(
    text: str,
    entities: Sequence[str],
    count: int,
    narrowed_by: Filter,
    sorted_by: Sequence[Sorting],
    scroll_id: str | None,
) -> Request:
    """The same through GraphQL, without what costs the server more than the hits."""
    asked: dict[str, Any] = {
        "query": text or "*",
        "count": count,
        "keepAlive": _KEEP_ALIVE,
        "searchFlags": {"skipAggregates": True},
    }
    if scroll_id is not None:
        asked["scrollId"] = scroll_id
    if entities:
        asked["types"] = [entity_symbol(name) for name in entities]
    if narrowed_by:
        asked["orFilters"] = [
            {"and": [_wire_criterion(criterion) for criterion in group]}
            for group in narrowed_by.any_of
        ]
    if sorted_by:
        asked["sortInput"] = {
            "sortCriteria": [
                {"field": one.field, "sortOrder": _sort_order(one)} for one in sorted_by
            ]
        }
    return graphql_input(_SCROLL, asked)


def list_urns_request(entity: str, start: int, count: int) -> Request:
    """The URNs of one type, the removed among them."""
    return action("/entities", "listUrns", {"entity": entity, "start": start, "count": count})


def browse_request(path: str, entity: str, start: int, limit: int) -> Request:
    """Endpoint 5."""
    body = {"path": path, "entity": entity, "start": start, "limit": limit}
    return action("/entities", "browse", body)


def browse_paths_request(urn: Urn) -> Request:
    """Where an entity is found when browsing."""
    return action("/entities", "getBrowsePaths", {"urn": str(urn)})


def counts_request(entities: Sequence[str]) -> Request:
    """How many entities of each type there are."""
    return action("/entities", "batchGetTotalEntityCount", {"entities": list(entities)})


def entity_symbol(entity: str) -> str:
    """An entity type as GraphQL's EntityType has it: `DATA_PLATFORM` for `dataPlatform`."""
    if entity in _SYMBOLS:
        return _SYMBOLS[entity]
    name = entity.replace("dataHub", "datahub")
    if name.startswith("ml"):
        return f"ML{_HUMP.sub('_', name[2:])}".upper()
    return _HUMP.sub("_", name).upper()


def with_removed(narrowed_by: Filter) -> Filter:
    """A filter that lets the same pass, soft-deleted or not: servers leave the soft-deleted out
    unless a filter speaks of them."""
    removed = Criterion("removed", ("true",))
    either = (removed, Criterion("removed", ("true",), negated=True))
    if any(one.field == "removed" for group in narrowed_by.any_of for one in group):
        return narrowed_by
    groups = narrowed_by.any_of if narrowed_by else ((),)
    return Filter(tuple((*group, one) for group in groups for one in either))


def graphql_input(query: str, asked: Mapping[str, Any]) -> Request:
    return Request("POST", GRAPHQL_PATH, {"query": query, "variables": {"input": dict(asked)}})


def filter_of(narrowed_by: Filter) -> dict[str, Any]:
    return {"filter": narrowed_by.to_wire()} if narrowed_by else {}


def _sort_of(sorted_by: Sequence[Sorting]) -> dict[str, Any]:
    criteria = [{"field": one.field, "order": _sort_order(one)} for one in sorted_by]
    if not criteria:
        return {}
    # Older servers know one field only: they sort by the first.
    return {"sort": criteria[0]} | ({"sortCriteria": criteria} if len(criteria) > 1 else {})


def _sort_order(sorting: Sorting) -> str:
    return "DESCENDING" if sorting.descending else "ASCENDING"


def _wire_criterion(criterion: Criterion) -> dict[str, Any]:
    values = list(criterion.values)
    if criterion.field == "_entityType":
        values = [value if value.isupper() else entity_symbol(value) for value in values]
    wire: dict[str, Any] = {
        "field": criterion.field,
        "values": values,
        "condition": criterion.condition,
    }
    return wire | ({"negated": True} if criterion.negated else {})
