"""Completion of names, and of filters in the query language, while they are typed."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, zip_longest
from time import monotonic
from typing import TYPE_CHECKING, Any

from explorer.client.connection import Connection
from explorer.client.records import Facet, FacetValue, Hit, SearchPage, Suggestion
from explorer.client.search import (
    SearchMethods,
    SearchParameters,
    entity_symbol,
    entity_types_from,
    filter_from,
    filter_of,
    graphql_data,
    list_in,
    parse_search,
    search_request,
)
from explorer.client.transport import (
    REFUSALS,
    Json,
    Request,
    action,
    as_object,
    graphql_request,
    read_as,
    value_of,
)
from explorer.errors import InvalidUrn, ServerFault, Unreachable
from explorer.metadata.names import NAME_ASPECTS
from explorer.metadata.structured_properties import field_name, plain_value
from explorer.metadata.urn import Urn
from explorer.query.filters import Filter

if TYPE_CHECKING:
    from explorer.query import Completion
    from explorer.query.fields import FilterField

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


def autocomplete_request(text: str, entity: str, limit: int, filter: Filter) -> Request:
    """Return a request for the names of one entity type that complete a text."""
    body: dict[str, Any] = {"query": text, "entity": entity, "limit": limit}
    return action("/entities", "autocomplete", body | filter_of(filter))


def suggest_request(text: str, entities: Sequence[str], limit: int) -> Request:
    """Return a request for names that complete a text, of several entity types.

    Without entity types the server chooses them.
    """
    fields: dict[str, Any] = {"query": text, "limit": limit}
    if entities:
        fields["types"] = [entity_symbol(name) for name in entities]
    return graphql_request(_SUGGEST, {"input": fields})


def properties_request(limit: int) -> Request:
    """Return a request for the definitions of structured properties."""
    fields = {"types": [entity_symbol("structuredProperty")], "query": "*", "count": limit}
    return graphql_request(_PROPERTIES, {"input": fields})


_NAMES = ("name", "displayName", "fullName")


@read_as("autocomplete")
def parse_autocomplete(body: Any) -> tuple[tuple[str, ...], tuple[Urn, ...]]:
    """Parse completions: the texts, and the URNs of their entities if the server sends them."""
    value = value_of(body, "autocomplete")
    texts = list_in(value, "suggestions", "autocomplete")
    urns = [entry.get("urn") for entry in value.get("entities") or () if isinstance(entry, dict)]
    return tuple(text for text in texts if isinstance(text, str)), Urn.parse_all(urns)


@read_as("suggest")
def parse_suggestions(body: Any, types: Mapping[str, str]) -> list[list[Suggestion]]:
    """Parse an answer to `autoCompleteForMultiple`: a list of suggestions for each entity type.

    `types` maps GraphQL symbols to entity types.
    """
    answer = as_object(graphql_data(body).get("autoCompleteForMultiple"), "suggest")
    groups = answer.get("suggestions")
    if not isinstance(groups, list):
        raise ServerFault("the server's answer to suggest has no list of suggestions")
    return [_group(as_object(group, "suggest (a type)"), types) for group in groups]


@read_as("structured properties")
def parse_properties(body: Any) -> tuple[Facet, ...]:
    """Parse definitions of structured properties, as facets.

    Their values are the allowed values, with a count of 0.
    """
    page = as_object(graphql_data(body).get("searchAcrossEntities"), "structured properties")
    facets = []
    for result in page.get("searchResults") or ():
        entity = as_object(result, "structured properties").get("entity") or {}
        definition = entity.get("definition") or {}
        for urn in Urn.parse_all((entity.get("urn"),)):
            label = definition.get("displayName") or definition.get("qualifiedName") or urn.name
            allowed = definition.get("allowedValues") or ()
            plain = (plain_value((entry or {}).get("value")) for entry in allowed)
            texts = [f"{value:.15g}" if isinstance(value, float) else value for value in plain]
            values = tuple(FacetValue(text, 0) for text in texts if text)
            facets.append(Facet(field_name(urn.name), label, values))
    return tuple(facets)


def pair_suggestions(
    texts: Sequence[str], urns: Sequence[Urn], entity_type: str
) -> list[Suggestion]:
    """Return suggestions that pair each text with the URN of the entity of that name."""
    return _pair_names(texts, [(urn, frozenset((urn.name,))) for urn in urns], entity_type)


def suggestions_from_hits(hits: Iterable[Hit]) -> list[list[Suggestion]]:
    """Return search hits as suggestions, grouped by entity type, with the names that matched."""
    suggestions_by_type: dict[str, list[Suggestion]] = {}
    for hit in hits:
        names = (match.value for match in hit.matches if match.field in _NAMES)
        entity_type = hit.urn.entity_type
        text = next(names, hit.urn.name)
        suggestions_by_type.setdefault(entity_type, []).append(
            Suggestion(text, hit.urn, entity_type, hit.urn.platform)
        )
    return list(suggestions_by_type.values())


def interleave(groups: Iterable[Sequence[Suggestion]], limit: int) -> tuple[Suggestion, ...]:
    """Return the first suggestion of every type, then the second of every type, and so on.

    No type is ranked above another. At most `limit`.
    """
    rounds = zip_longest(*groups)
    mixed = (suggestion for suggestion in chain.from_iterable(rounds) if suggestion is not None)
    return tuple(mixed)[:limit]


def _group(group: Json, types: Mapping[str, str]) -> list[Suggestion]:
    texts = [text for text in group.get("suggestions") or () if isinstance(text, str)]
    entities = []
    for entry in group.get("entities") or ():
        entity = _entity(entry)
        if entity is not None:
            entities.append(entity)
    symbol = group.get("type")
    fallback = types.get(symbol, symbol.lower()) if isinstance(symbol, str) else ""
    return _pair_names(texts, entities, entities[0][0].entity_type if entities else fallback)


def _entity(entry: Any) -> tuple[Urn, frozenset[str]] | None:
    match entry:
        case {"urn": str(text)}:
            try:
                urn = Urn.parse(text)
            except InvalidUrn:
                return None
            inner = entry.get("properties")
            records = (entry, inner) if isinstance(inner, dict) else (entry,)
            names = {
                record[name]
                for record in records
                for name in _NAMES
                if isinstance(record.get(name), str)
            }
            return urn, frozenset((*names, urn.name))
    return None


def _pair_names(
    texts: Sequence[str], entities: Sequence[tuple[Urn, frozenset[str]]], entity_type: str
) -> list[Suggestion]:
    """Pair each text with the entity of that name.

    Servers list the entities in no reliable order, so they are matched by name, then by URN; if one
    text and one entity remain, they are paired.
    """
    unpaired = list(entities)
    urns: dict[str, Urn] = {}
    for text in texts:
        lowered = text.lower()
        for urn, names in unpaired:
            if lowered in {name.lower() for name in names}:
                urns[text] = urn
                unpaired.remove((urn, names))
                break
    for text in texts:
        for urn, names in unpaired:
            if text not in urns and text.lower() in str(urn).lower():
                urns[text] = urn
                unpaired.remove((urn, names))
                break
    if len(texts) == len(entities) and len(unpaired) == 1:
        urns |= {text: unpaired[0][0] for text in texts if text not in urns}
    paired = ((text, urns.get(text)) for text in texts)
    return [
        Suggestion(text, urn, entity_type, urn.platform if urn else None) for text, urn in paired
    ]


# The types that are completed one by one if the server cannot complete all in one request.
_COMPLETED = (
    "dataset",
    "chart",
    "dashboard",
    "dataJob",
    "dataFlow",
    "container",
    "glossaryTerm",
    "tag",
    "domain",
    "corpuser",
    "corpGroup",
)
_ENTITY_TYPE = "_entityType"
_PROPERTY = "structuredProperty"
_MOST_PROPERTIES = 500
_MOST_NAMED = 20
# People type the id of a platform, which is its name in lower case.
_IDS_ARE_NAMES = frozenset({"dataPlatform"})
# About the time that it takes to type a filter; counts of that age are still good enough.
_FACETS_KEPT_SECONDS = 10.0


class CompletionMethods(SearchMethods):
    """Methods that complete names and filters."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self._counting = asyncio.Lock()
        self._facet_names: dict[str, tuple[float, tuple[str, ...], dict[str, str]]] = {}
        self._counted_facets: dict[tuple[str, ...], tuple[float, tuple[Facet, ...]]] = {}
        self._defined: tuple[float, tuple[Facet, ...]] = (float("-inf"), ())

    async def autocomplete(
        self,
        text: str,
        *,
        entity: str = "dataset",
        filter: Filter | str | None = None,
        limit: int = 10,
        superseding: str | None = None,
    ) -> tuple[str, ...]:
        """Return names of one entity type that complete `text`, best first, at most `limit`. One
        request.

        A later call with the same `superseding` key cancels this one; see `search`.

        Example: `cat.autocomplete("ord", filter="platform:snowflake")`
        """
        adapted = await self._adapt_filter(filter_from(filter, self.registry))
        request = autocomplete_request(text, entity, limit, adapted)
        body = await self._latest.run(superseding, self._connection.send(request))
        return parse_autocomplete(body)[0]

    async def suggest(
        self,
        text: str,
        *,
        entities: Sequence[str] | None = None,
        limit: int = 10,
        superseding: str | None = None,
    ) -> tuple[Suggestion, ...]:
        """Return names that complete `text`, of all entity types or of those given, at most
        `limit`.

        The best of every type comes first, then the second best of every type, and so on. One
        request; on a server without GraphQL one for each type, and a search if none of them
        completes. A later call with the same `superseding` key cancels this one; see `search`.

        Example: `cat.suggest("ord", entities=["dataset", "chart"])`
        """
        work = self._fetch_suggestions(text, entity_types_from(entities, self.registry), limit)
        return await self._latest.run(superseding, work)

    async def complete_filter(
        self, text: str, cursor: int, *, entity: str | Sequence[str] | None = None
    ) -> "tuple[Completion, ...]":
        """Return completions at the cursor in a filter, best first.

        These are fields, operators, and the values of entities (of the given types, or of all
        types), most frequent first. People, groups and other entities are completed by name.

        Up to two requests, one more if structured properties may be defined, and two for a value
        that is an entity. Answers are reused for ten seconds. If there is no answer, no values are
        returned.

        Example: `cat.complete_filter("owner:ni", 8)`
        """
        from explorer.query import complete, value_at

        types = entity_types_from(entity, self.registry)
        facets = await self._facets_of(types)
        counted = {facet.name for facet in facets}
        defined = await self._properties(types, facets)
        facets += tuple(facet for facet in defined if facet.name not in counted)
        place = value_at(text, cursor, self.registry)
        names = await self._names_for(*place, facets) if place else {}
        return complete(text, cursor, self.registry, facets, names)

    async def _names_for(
        self, field: "FilterField", typed: str, facets: Sequence[Facet]
    ) -> dict[str, str]:
        """Return the names of the URNs that can be typed as a field's value.

        First the URNs whose names begin with the typed text, then those in the field's facet.
        """
        if _IDS_ARE_NAMES.issuperset(field.targets):
            return {}
        types = tuple(dict.fromkeys((*field.targets, *field.parents)))
        try:
            suggestions = (
                await self._fetch_suggestions(typed.removesuffix("/"), types, _MOST_NAMED)
                if typed
                else ()
            )
            counted = [
                value.value
                for facet in facets
                if facet.name == field.name
                for value in facet.values
            ]
            names = await self._names_of(field.name, tuple(counted))
        except (Unreachable, *REFUSALS):
            return {}
        names_by_urn = {
            str(suggestion.urn): suggestion.text
            for suggestion in suggestions
            if suggestion.urn is not None
        }
        return names_by_urn | names

    async def _names_of(self, field: str, urns: tuple[str, ...]) -> dict[str, str]:
        """Return the names of the URNs in a facet; they are cached as long as the facet."""
        since, cached_urns, names = self._facet_names.get(field, (float("-inf"), (), {}))
        if cached_urns != urns or monotonic() - since > _FACETS_KEPT_SECONDS:
            entities = await self.entities(Urn.parse_all(urns), NAME_ASPECTS)
            names = {str(urn): entity.name for urn, entity in entities.items() if entity.exists}
            self._facet_names[field] = (monotonic(), urns, names)
        return names

    async def _fetch_suggestions(
        self, text: str, types: Sequence[str], limit: int
    ) -> tuple[Suggestion, ...]:
        if self._supported.get("suggest", True):
            try:
                body = await self._connection.send(suggest_request(text, types, limit))
                entity_types = self.registry.entities
                symbols = {entity_symbol(entity): entity for entity in entity_types}
                suggestions_by_type = parse_suggestions(body, symbols)
            except REFUSALS:
                if self._supported.get("suggest"):
                    raise
            else:
                self._supported["suggest"] = True
                return interleave(suggestions_by_type, limit)
        groups = await self._complete_by_type(text, types or _COMPLETED, limit)
        if not groups:
            page = await self._search_text(f"{text}*", types, limit)
            groups = suggestions_from_hits(page.hits)
        if not types:
            # Without types, which the server may not have, a refusal means that it does not support
            # `suggest`.
            self._supported.setdefault("suggest", False)
        return interleave(groups, limit)

    async def _complete_by_type(
        self, text: str, types: Sequence[str], limit: int
    ) -> list[list[Suggestion]]:
        """Return the completions for each type, except the types that the server refuses."""
        each = await asyncio.gather(
            *(self._complete(text, entity, limit) for entity in types), return_exceptions=True
        )
        groups = []
        for group in each:
            if not isinstance(group, BaseException):
                groups.append(group)
            elif not isinstance(group, REFUSALS):
                raise group
        return groups

    async def _complete(self, text: str, entity: str, limit: int) -> list[Suggestion]:
        request = autocomplete_request(text, entity, limit, Filter())
        names, urns = parse_autocomplete(await self._connection.send(request))
        return pair_suggestions(names, urns, entity)

    async def _facets_of(self, types: tuple[str, ...]) -> tuple[Facet, ...]:
        async with self._counting:
            since, facets = self._counted_facets.get(types, (float("-inf"), ()))
            if monotonic() - since > _FACETS_KEPT_SECONDS:
                try:
                    facets = (await self._search_text("*", types, 0)).facets
                except Unreachable:
                    # Cached as well, so that not every key press waits for an unreachable server.
                    facets = ()
                self._counted_facets[types] = (monotonic(), facets)
            return facets

    async def _properties(self, types: Sequence[str], facets: Sequence[Facet]) -> tuple[Facet, ...]:
        """Return the defined structured properties, as facets with their allowed values.

        No request if the facet of entity types shows that there are none.
        """
        since, properties = self._defined
        if monotonic() - since > _FACETS_KEPT_SECONDS:
            has_any = bool(types) or any(
                value.value == _PROPERTY
                for facet in facets
                if facet.name == _ENTITY_TYPE
                for value in facet.values
            )
            properties = await self._request_properties() if facets and has_any else ()
            self._defined = (monotonic(), properties)
        return properties

    async def _request_properties(self) -> tuple[Facet, ...]:
        try:
            body = await self._connection.send(properties_request(_MOST_PROPERTIES))
            return parse_properties(body)
        except (*REFUSALS, Unreachable):
            return ()

    async def _search_text(self, text: str, types: Sequence[str], count: int) -> SearchPage:
        request = search_request(SearchParameters(text, types), 0, count)
        return parse_search(await self._connection.send(request), text)
