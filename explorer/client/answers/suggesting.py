"""Completions over several types of entities, each with what is called so."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, zip_longest
from typing import Any

from explorer.client.answers.finding import graphql_data, list_in
from explorer.client.answers.shape import Json, as_object, read_as, value_of
from explorer.client.records import Facet, FacetValue, Hit, Suggestion
from explorer.errors import InvalidUrn, ServerFault
from explorer.metadata.structured_properties import field_name, plain_value
from explorer.metadata.urn import Urn

__all__ = [
    "interleave",
    "pair_suggestions",
    "parse_autocomplete",
    "parse_properties",
    "parse_suggestions",
    "suggestions_from_hits",
]

_NAMES = ("name", "displayName", "fullName")


@read_as("autocomplete")
def parse_autocomplete(body: Any) -> tuple[tuple[str, ...], tuple[Urn, ...]]:
    """Endpoint 7: texts, and the URNs of what is called so where the server gives them."""
    value = value_of(body, "autocomplete")
    texts = list_in(value, "suggestions", "autocomplete")
    named = [entry.get("urn") for entry in value.get("entities") or () if isinstance(entry, dict)]
    return tuple(text for text in texts if isinstance(text, str)), Urn.parse_all(named)


@read_as("suggest")
def parse_suggestions(body: Any, types: Mapping[str, str]) -> list[list[Suggestion]]:
    """The answer of autoCompleteForMultiple, a list for each type of entity. `types` are the
    entity types by their GraphQL symbol."""
    answer = as_object(graphql_data(body).get("autoCompleteForMultiple"), "suggest")
    groups = answer.get("suggestions")
    if not isinstance(groups, list):
        raise ServerFault("the server's answer to suggest has no list of suggestions")
    return [_group(as_object(group, "suggest (a type)"), types) for group in groups]


@read_as("structured properties")
def parse_properties(body: Any) -> tuple[Facet, ...]:
    """The structured properties of a search over GraphQL, as facets with the values that they
    allow, none of which was counted."""
    found = as_object(graphql_data(body).get("searchAcrossEntities"), "structured properties")
    facets = []
    for result in found.get("searchResults") or ():
        told = as_object(result, "structured properties").get("entity") or {}
        definition = told.get("definition") or {}
        for urn in Urn.parse_all((told.get("urn"),)):
            label = definition.get("displayName") or definition.get("qualifiedName") or urn.name
            allowed = definition.get("allowedValues") or ()
            plain = (plain_value((one or {}).get("value")) for one in allowed)
            texts = [f"{one:.15g}" if isinstance(one, float) else one for one in plain]
            values = tuple(FacetValue(text, 0) for text in texts if text)
            facets.append(Facet(field_name(urn.name), label, values))
    return tuple(facets)


def pair_suggestions(
    texts: Sequence[str], urns: Sequence[Urn], entity_type: str
) -> list[Suggestion]:
    """Texts with the URNs that they are found in."""
    return _paired(texts, [(urn, frozenset((urn.name,))) for urn in urns], entity_type)


def suggestions_from_hits(hits: Iterable[Hit]) -> list[list[Suggestion]]:
    """What a search found, by the names it matched."""
    found: dict[str, list[Suggestion]] = {}
    for hit in hits:
        names = (match.value for match in hit.matched if match.field in _NAMES)
        entity_type = hit.urn.entity_type
        text = next(names, hit.urn.name)
        found.setdefault(entity_type, []).append(
            Suggestion(text, hit.urn, entity_type, hit.urn.platform)
        )
    return list(found.values())


def interleave(groups: Iterable[Sequence[Suggestion]], limit: int) -> tuple[Suggestion, ...]:
    """The first of every type, then the second of every type, and so on: nothing says that one
    type's names are better than another's."""
    rounds = zip_longest(*groups)
    mixed = (one for one in chain.from_iterable(rounds) if one is not None)
    return tuple(mixed)[:limit]


def _group(group: Json, types: Mapping[str, str]) -> list[Suggestion]:
    texts = [text for text in group.get("suggestions") or () if isinstance(text, str)]
    entities = []
    for entry in group.get("entities") or ():
        read = _entity(entry)
        if read is not None:
            entities.append(read)
    symbol = group.get("type")
    fallback = types.get(symbol, symbol.lower()) if isinstance(symbol, str) else ""
    return _paired(texts, entities, entities[0][0].entity_type if entities else fallback)


def _entity(entry: Any) -> tuple[Urn, frozenset[str]] | None:
    match entry:
        case {"urn": str(text)}:
            try:
                urn = Urn.parse(text)
            except InvalidUrn:
                return None
            inner = entry.get("properties")
            held = (entry, inner) if isinstance(inner, dict) else (entry,)
            names = {one[name] for one in held for name in _NAMES if isinstance(one.get(name), str)}
            return urn, frozenset((*names, urn.name))
    return None


def _paired(
    texts: Sequence[str], entities: Sequence[tuple[Urn, frozenset[str]]], entity_type: str
) -> list[Suggestion]:
    """Each text with the entity called so. Servers list entities in no order that can be relied
    on, so they are told by their names, then by their URNs; a last pair belongs together."""
    left = list(entities)
    found: dict[str, Urn] = {}
    for text in texts:
        said = text.lower()
        for urn, names in left:
            if said in {name.lower() for name in names}:
                found[text] = urn
                left.remove((urn, names))
                break
    for text in texts:
        for urn, names in left:
            if text not in found and text.lower() in str(urn).lower():
                found[text] = urn
                left.remove((urn, names))
                break
    if len(texts) == len(entities) and len(left) == 1:
        found |= {text: left[0][0] for text in texts if text not in found}
    paired = ((text, found.get(text)) for text in texts)
    return [
        Suggestion(text, urn, entity_type, urn.platform if urn else None) for text, urn in paired
    ]
