"""Completion of names, over one type of entity or several."""

from collections.abc import Sequence
from typing import Any

from explorer.client.requests.finding import entity_symbol, filter_of, graphql_input
from explorer.client.requests.request import Request, action
from explorer.metadata.filters import Filter

__all__ = ["autocomplete_request", "properties_request", "suggest_request"]

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


def autocomplete_request(text: str, entity: str, limit: int, narrowed_by: Filter) -> Request:
    """Endpoint 7."""
    body: dict[str, Any] = {"query": text, "entity": entity, "limit": limit}
    return action("/entities", "autocomplete", body | filter_of(narrowed_by))


def suggest_request(text: str, entities: Sequence[str], limit: int) -> Request:
    """Names that complete a text, over several entity types, or those the server thinks of."""
    asked: dict[str, Any] = {"query": text, "limit": limit}
    if entities:
        asked["types"] = [entity_symbol(name) for name in entities]
    return graphql_input(_SUGGEST, asked)


def properties_request(limit: int) -> Request:
    """The structured properties that are defined."""
    asked = {"types": [entity_symbol("structuredProperty")], "query": "*", "count": limit}
    return graphql_input(_PROPERTIES, asked)
