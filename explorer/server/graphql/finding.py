"""How searches, scrolls and completions are answered."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import orjson

from explorer.errors import InvalidInput
from explorer.metadata.registry import Registry
from explorer.metadata.structured_properties import PREFIX
from explorer.metadata.urn import Urn
from explorer.server.graphql.asking import (
    Given,
    page_bounds,
    read_query,
    read_types,
    wanted_filter,
)
from explorer.server.graphql.assembly import Resolvers
from explorer.server.graphql.fields import entity, entity_or_null
from explorer.server.graphql.names import entity_type_symbol
from explorer.server.graphql.nodes import Info
from explorer.server.graphql.shapes import symbols
from explorer.server.scrolling import begin_scroll, scroll_id
from explorer.server.search.document import build_document
from explorer.server.search.page import Facet, SearchHit, SearchPage, SearchQuery

__all__ = ["RESOLVERS", "found"]

_ENTITY_TYPE = "_entityType"
_FACET_VALUES = 20
# What is completed when nobody says for which kinds.
_COMPLETED = (
    "dataset",
    "chart",
    "dashboard",
    "dataFlow",
    "dataJob",
    "container",
    "domain",
    "glossaryTerm",
    "tag",
    "corpuser",
    "corpGroup",
    "dataProduct",
    "mlModel",
    "mlFeatureTable",
)


async def _search(_root: Any, info: Info, **given: Any) -> Given:
    known = symbols(info.context.catalog.registry)
    asked: Given = given["input"]
    return await _searched(info, asked, [known[asked["type"]]], known)


async def _search_across(_root: Any, info: Info, **given: Any) -> Given:
    known = symbols(info.context.catalog.registry)
    asked: Given = given["input"]
    return await _searched(info, asked, read_types(asked, known), known)


def _search_by_meaning(_root: Any, _info: Info, **_given: Any) -> Given:
    # Clients look for the first words and go on without it.
    raise InvalidInput(
        "Semantic search is not enabled: there are no embeddings here; use searchAcrossEntities"
    )


async def _searched(
    info: Info, asked: Given, types: Sequence[str], known: Mapping[str, str]
) -> Given:
    query = read_query(asked, known, types, info.context, facets=_asks(info, "facets"))
    return await found(info, query, asked.get("searchFlags") or {})


async def found(info: Info, query: SearchQuery, flags: Given) -> dict[str, Any]:
    """The answer to a search, as `SearchResults` has it."""
    page = await info.context.catalog.offload(info.context.catalog.index.search, query)
    return {"start": query.start, **await _results(info, page, flags)}


async def _scroll(_root: Any, info: Info, **given: Any) -> Given:
    known = symbols(info.context.catalog.registry)
    asked: Given = given["input"]
    types = read_types(asked, known)
    first = read_query(asked, known, types, info.context, facets=_asks(info, "facets"))
    query = begin_scroll(first, asked.get("scrollId"))
    page = await info.context.catalog.offload(info.context.catalog.index.search, query)
    results = await _results(info, page, asked.get("searchFlags") or {})
    return {"nextScrollId": scroll_id(query, page), **results}


async def _aggregate(_root: Any, info: Info, **given: Any) -> Given:
    known = symbols(info.context.catalog.registry)
    asked: Given = given["input"]
    types = read_types(asked, known)
    wanted = [name.removesuffix(".keyword") for name in asked.get("facets") or () if name]
    index = info.context.catalog.index
    own = tuple(name for name in wanted if name.startswith(PREFIX))
    query = replace(
        read_query({**asked, "count": 0}, known, types, info.context, facets=True),
        also_counted=own,
    )
    page = await info.context.catalog.offload(index.search, query)
    # A property may have been asked for by DataHub's spelling of its field.
    fields = index.vocabulary.known(tuple(sorted(types)) or None)
    meant = {one: name for name in own for one in index.vocabulary.meant_by(name, fields)}
    facets = _facets(info, page.facets, asked.get("searchFlags") or {}, wanted=tuple(meant))
    named = [{**one, "field": meant.get(one["field"], one["field"])} for one in facets]
    return {"facets": [one for one in named if not wanted or one["field"] in wanted]}


async def _results(info: Info, page: SearchPage, flags: Given) -> dict[str, Any]:
    extra = flags.get("fetchExtraFields") or []
    values = await _extra(info, page.hits, extra) if extra else {}
    shown = not flags.get("skipHighlighting")
    return {
        "count": len(page.hits),
        "total": page.total,
        "facets": _facets(info, page.facets, flags),
        "suggestions": _suggestions(page),
        "searchResults": [
            {
                "entity": hit.urn,
                "insights": [],
                "matchedFields": [
                    {"name": name, "value": value, "weight": weight}
                    for (name, value), weight in zip(hit.matched, hit.weights, strict=True)
                    if shown
                ],
                "extraProperties": values.get(hit.urn, []),
                "score": hit.score,
                "reason": hit.reason or None,
            }
            for hit in page.hits
        ],
    }


def _suggestions(page: SearchPage) -> list[dict[str, Any]]:
    """The text that was searched for in the place of a misspelt one, as DataHub's suggestions."""
    if page.corrected is None:
        return []
    return [{"text": page.corrected, "score": 1.0, "frequency": page.total}]


async def _extra(
    info: Info, hits: Sequence[SearchHit], fields: Sequence[str]
) -> dict[str, list[Given]]:
    """The values of searchable fields by URN, as JSON."""
    registry = info.context.catalog.registry
    nodes = await info.context.read(hit.urn for hit in hits)

    def read() -> dict[str, list[Given]]:
        return {str(node.urn): _values(registry, node.urn, node.values(), fields) for node in nodes}

    return await info.context.catalog.offload(read)


def _values(
    registry: Registry, urn: Urn, aspects: Mapping[str, Any], fields: Sequence[str]
) -> list[Given]:
    held = build_document(registry, urn, aspects).fields
    return [
        {"name": name, "value": _json(held[name])} for name in fields if held.get(name) is not None
    ]


def _json(values: Sequence[Any]) -> str:
    one = values[0] if len(values) == 1 else list(values)
    return orjson.dumps(one).decode()


def _facets(
    info: Info, facets: Sequence[Facet], flags: Given, wanted: Sequence[str] = ()
) -> list[dict[str, Any]]:
    """The facets as `FacetMetadata` has them; those of structured properties where the flags or
    `wanted` ask for them."""
    own = info.context.catalog.index.vocabulary.property_fields(None)
    if not flags.get("includeStructuredPropertyFacets"):
        facets = [one for one in facets if one.name not in own or one.name in wanted]
    most = flags.get("maxAggValues")
    most = _FACET_VALUES if most is None else most
    if most < 0:
        raise InvalidInput(f"'maxAggValues' must not be negative, it is {most}")
    return [
        {
            "field": facet.name,
            "displayName": facet.label,
            "entity": str(own[facet.name].urn) if facet.name in own else None,
            "aggregations": [
                {"value": _spoken(facet.name, value), "count": count, "entity": value}
                for value, count in list(facet.counts.items())[:most]
            ],
        }
        for facet in facets
    ]


def _spoken(field: str, value: str) -> str:
    return entity_type_symbol(value) if field == _ENTITY_TYPE else value


async def _complete(_root: Any, info: Info, **given: Any) -> Given:
    known = symbols(info.context.catalog.registry)
    asked: Given = given["input"]
    kind = asked.get("type")
    types = (known[kind],) if kind else ()
    return {"query": asked["query"], **await _completed(info, asked, types, known)}


async def _complete_each(_root: Any, info: Info, **given: Any) -> Given:
    known = symbols(info.context.catalog.registry)
    asked: Given = given["input"]
    registered = info.context.catalog.registry.entities
    types = read_types(asked, known) or [name for name in _COMPLETED if name in registered]
    answers = await asyncio.gather(
        *(_completed(info, asked, (entity_type,), known) for entity_type in types)
    )
    return {
        "query": asked["query"],
        "suggestions": [
            {"type": entity_type_symbol(entity_type), **answer}
            for entity_type, answer in zip(types, answers, strict=True)
            if answer["suggestions"]
        ],
    }


async def _completed(
    info: Info, asked: Given, types: tuple[str, ...], known: Mapping[str, str]
) -> dict[str, Any]:
    _, limit = page_bounds(asked, name="limit")
    wanted = wanted_filter(asked, known, types, info.context)
    complete = info.context.catalog.index.autocomplete
    names = await info.context.catalog.offload(complete, asked["query"], types, wanted, 0, limit)
    return {
        "suggestions": [one.text for one in names],
        "urns": [one.urn for one in names],
    }


def _suggested(value: Given, info: Info) -> Any:
    return info.context.refer_all(value["urns"], info)


def _asks(info: Info, field: str) -> bool:
    """Whether a document may ask for a field of what is being answered."""
    return any(
        getattr(getattr(selection, "name", None), "value", field) == field
        or selection.kind != "field"
        for node in info.field_nodes
        for selection in (node.selection_set.selections if node.selection_set else ())
    )


RESOLVERS: Resolvers = {
    "Query": {
        "search": _search,
        "searchAcrossEntities": _search_across,
        "semanticSearchAcrossEntities": _search_by_meaning,
        "scrollAcrossEntities": _scroll,
        "aggregateAcrossEntities": _aggregate,
        "autoComplete": _complete,
        "autoCompleteForMultiple": _complete_each,
    },
    "SearchResult": {"entity": entity("entity")},
    "MatchedField": {"entity": entity_or_null("value")},
    "FacetMetadata": {"entity": entity_or_null("entity")},
    "AggregationMetadata": {"entity": entity_or_null("entity")},
    "AutoCompleteResults": {"entities": _suggested},
    "AutoCompleteResultForEntity": {"entities": _suggested},
}
