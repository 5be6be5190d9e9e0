"""Search, completion and browsing."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from explorer.client.requests.request import Request, action
from explorer.errors import InvalidInput
from explorer.metadata.addresses import GRAPHQL_PATH
from explorer.metadata.filters import Criterion, Filter
from explorer.metadata.urn import Urn

__all__ = [
    "Sorting",
    "autocomplete",
    "browse",
    "browse_paths",
    "counts",
    "entity_symbol",
    "list_urns",
    "scroll",
    "scroll_graphql",
    "search",
    "suggest",
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

_PROPERTIES = """
query searchAcrossEntities($input: SearchAcrossEntitiesInput!) {
  searchAcrossEntities(input: $input) {
    searchResults {
      entity {
        urn
        ... on StructuredPropertyEntity {
          definition {
            qualifiedName
            displayName
            allowedValues {
              value {
                ... on StringValue { stringValue }
                ... on NumberValue { numberValue }
              }
            }
          }
        }
      }
    }
  }
}
"""

_SUGGEST = """
query autoCompleteForMultiple($input: AutoCompleteMultipleInput!) {
  autoCompleteForMultiple(input: $input) {
    query
    suggestions {
      type
      suggestions
      entities {
        urn
        ... on Dataset { name properties { name } }
        ... on Chart { properties { name } }
        ... on Dashboard { properties { name } }
        ... on DataFlow { properties { name } }
        ... on DataJob { properties { name } }
        ... on Container { properties { name } }
        ... on Domain { properties { name } }
        ... on GlossaryTerm { properties { name } }
        ... on Tag { properties { name } }
        ... on CorpUser { properties { displayName fullName } }
        ... on CorpGroup { properties { displayName } }
      }
    }
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


def search(
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
        body | _narrowing(narrowed_by) | _sorting(sorted_by),
    )


def scroll(
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
        "/entities", "scrollAcrossEntities", body | _narrowing(narrowed_by) | _sorting(sorted_by)
    )


def scroll_graphql(
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
            {"and": [_criterion(criterion) for criterion in group]} for group in narrowed_by.any_of
        ]
    if sorted_by:
        asked["sortInput"] = {
            "sortCriteria": [{"field": one.field, "sortOrder": _way(one)} for one in sorted_by]
        }
    return _graphql(_SCROLL, asked)


def list_urns(entity: str, start: int, count: int) -> Request:
    """The URNs of one type, the removed among them."""
    return action("/entities", "listUrns", {"entity": entity, "start": start, "count": count})


def autocomplete(text: str, entity: str, limit: int, narrowed_by: Filter) -> Request:
    """Endpoint 7."""
    body: dict[str, Any] = {"query": text, "entity": entity, "limit": limit}
    return action("/entities", "autocomplete", body | _narrowing(narrowed_by))


def suggest(text: str, entities: Sequence[str], limit: int) -> Request:
    """Names that complete a text, over several entity types, or those the server thinks of."""
    asked: dict[str, Any] = {"query": text, "limit": limit}
    if entities:
        asked["types"] = [entity_symbol(name) for name in entities]
    return _graphql(_SUGGEST, asked)


def properties(limit: int) -> Request:
    """The structured properties that are defined."""
    asked = {"types": [entity_symbol("structuredProperty")], "query": "*", "count": limit}
    return _graphql(_PROPERTIES, asked)


def browse(path: str, entity: str, start: int, limit: int) -> Request:
    """Endpoint 5."""
    body = {"path": path, "entity": entity, "start": start, "limit": limit}
    return action("/entities", "browse", body)


def browse_paths(urn: Urn) -> Request:
    """Where an entity is found when browsing."""
    return action("/entities", "getBrowsePaths", {"urn": str(urn)})


def counts(entities: Sequence[str]) -> Request:
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


def _graphql(query: str, asked: Mapping[str, Any]) -> Request:
    return Request("POST", GRAPHQL_PATH, {"query": query, "variables": {"input": dict(asked)}})


def _narrowing(narrowed_by: Filter) -> dict[str, Any]:
    return {"filter": narrowed_by.to_wire()} if narrowed_by else {}


def _sorting(sorted_by: Sequence[Sorting]) -> dict[str, Any]:
    criteria = [{"field": one.field, "order": _way(one)} for one in sorted_by]
    if not criteria:
        return {}
    # Older servers know one field only: they sort by the first.
    return {"sort": criteria[0]} | ({"sortCriteria": criteria} if len(criteria) > 1 else {})


def _way(sorting: Sorting) -> str:
    return "DESCENDING" if sorting.descending else "ASCENDING"


def _criterion(criterion: Criterion) -> dict[str, Any]:
    values = list(criterion.values)
    if criterion.field == "_entityType":
        values = [value if value.isupper() else entity_symbol(value) for value in values]
    wire: dict[str, Any] = {
        "field": criterion.field,
        "values": values,
        "condition": criterion.condition,
    }
    return wire | ({"negated": True} if criterion.negated else {})
