"""Resolvers for searches, scrolls, autocompletion and browsing."""

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import orjson

from explorer.errors import InvalidInput, NotFound
from explorer.metadata.browse_paths import split_path
from explorer.metadata.registry import Registry
from explorer.metadata.structured_properties import PREFIX
from explorer.metadata.urn import Urn
from explorer.query.filters import Criterion, Filter
from explorer.server.browse import browse_paths
from explorer.server.graphql.object_types import entity_type_symbol, symbols
from explorer.server.graphql.schema import Resolvers, Value
from explorer.server.graphql.session import GraphQLContext, Info
from explorer.server.projection import read_delimiter
from explorer.server.restli import DEFAULT_PAGE, MAX_PAGE
from explorer.server.search import SearchEngine
from explorer.server.search.document import build_document
from explorer.server.search.query import FacetCounts, FoundPage, SearchHit, SearchQuery, SortBy
from explorer.server.search_request import (
    MAX_VALUES,
    NESTED,
    begin_scroll,
    check_size,
    drop_unknown_fields,
    expand_related,
    ignore_unknown_fields,
    leave_out_unlisted,
    read_filter,
    scroll_id,
)

Given = Mapping[str, Any]

_ENTITY_TYPE = "_entityType"


async def read_query(
    arguments: Given,
    types_by_symbol: Mapping[str, str],
    types: Sequence[str],
    session: GraphQLContext,
    *,
    facets: bool,
) -> SearchQuery:
    """Return the search that an input describes, in the request's dialect.

    Raises `InvalidInput` for invalid page bounds or an invalid filter.
    """
    flags: Given = arguments.get("searchFlags") or {}
    start, count = page_bounds(arguments)
    query = SearchQuery(
        text=arguments.get("query") or "",
        entity_types=tuple(types) or None,
        filter=await input_filter(arguments, types_by_symbol, types, session),
        start=start,
        count=count,
        facets=facets and not flags.get("skipAggregates"),
        include_removed=flags.get("includeSoftDeleted") is True,
        sort=_sort(arguments.get("sortInput") or {}),
    )
    if session.dialect == "datahub":
        query = ignore_unknown_fields(query, session.catalog.index.vocabulary)
    return leave_out_unlisted(query, session.catalog.index.vocabulary)


def read_types(arguments: Given, types_by_symbol: Mapping[str, str]) -> list[str]:
    """Return the entity types that an input names; an empty list means all."""
    return [types_by_symbol[symbol] for symbol in dict.fromkeys(arguments.get("types") or ())]


def page_bounds(
    arguments: Given, count: int = DEFAULT_PAGE, name: str = "count"
) -> tuple[int, int]:
    """Return the start and the length of a page; `count` is the default length, `name` the argument
    that holds it. Raises `InvalidInput` if one is negative or the length exceeds the maximum."""
    start, length = arguments.get("start") or 0, arguments.get(name)
    length = count if length is None else length
    for what, value in (("start", start), (name, length)):
        if value < 0:
            raise InvalidInput(f"{what!r} must not be negative, it is {value}")
    if length > MAX_PAGE:
        raise InvalidInput(f"{name!r} is {length}, more than the {MAX_PAGE} that a page may have")
    return start, length


async def input_filter(
    arguments: Given,
    types_by_symbol: Mapping[str, str],
    types: Sequence[str],
    session: GraphQLContext,
    others: Sequence[str] = (),
) -> Filter:
    """Return the filter that combines `orFilters`, `filters` and the view of `viewUrn` with AND.

    Symbols of entity types are replaced by their names, and conditions on related entities by the
    URNs of these. In DataHub's dialect, fields that cannot be searched among the types and are not
    in `others` have no values, and a view that does not exist matches everything. Raises
    `InvalidInput` for a filter that is invalid or too large, and in the plain dialect for a view
    that does not exist.
    """
    groups = [{"and": group.get("and") or []} for group in arguments.get("orFilters") or ()]
    either = read_filter({"or": groups} if groups else None)
    every = read_filter({"criteria": list(arguments.get("filters") or ())})
    view = await _read_view(arguments.get("viewUrn"), types, session)
    matches = _both(_both(either, every), view)
    matches = Filter(
        tuple(
            tuple(_name_criterion(criterion, types_by_symbol) for criterion in group)
            for group in matches.any_of
        )
    )
    check_size(matches)
    rewrites = (arguments.get("searchFlags") or {}).get("rewriteQuery") is not False
    matches = await expand_related(matches, session.catalog, rewrites=rewrites)
    if session.dialect == "datahub":
        return drop_unknown_fields(matches, types, session.catalog.index.vocabulary, others)
    return matches


def _both(left_filter: Filter, right_filter: Filter) -> Filter:
    """Return the filter for entities that match both filters."""
    if not left_filter.any_of or not right_filter.any_of:
        return left_filter if left_filter.any_of else right_filter
    if len(left_filter.any_of) * len(right_filter.any_of) > MAX_VALUES:
        raise InvalidInput(
            f"the filters make more than {MAX_VALUES:,} criteria together; ask for fewer "
            "alternatives"
        )
    return Filter(
        tuple(
            (*criteria, *right) for criteria in left_filter.any_of for right in right_filter.any_of
        )
    )


async def _read_view(urn: str | None, types: Sequence[str], session: GraphQLContext) -> Filter:
    """Return the filter of a saved view. Fields that cannot be searched among the entity types are
    treated as fields without values."""
    if not urn:
        return Filter()
    (view,) = await session.read([urn])
    info = view.aspect("dataHubViewInfo")
    if info is None:
        if session.dialect == "datahub":
            return Filter()
        raise InvalidInput(f"{urn} is not a stored view; give its criteria as orFilters instead")
    definition = info.get("definition") or {}
    entity_types = tuple(definition.get("entityTypes") or ())
    among = Filter(((Criterion(_ENTITY_TYPE, entity_types),),)) if entity_types else Filter()
    view_filter = read_filter(definition.get("filter") or None)
    return _both(drop_unknown_fields(view_filter, types, session.catalog.index.vocabulary), among)


def _name_criterion(criterion: Criterion, types_by_symbol: Mapping[str, str]) -> Criterion:
    if criterion.field != _ENTITY_TYPE:
        return criterion
    values = tuple(types_by_symbol.get(value, value) for value in criterion.values)
    return Criterion(criterion.field, values, criterion.condition, criterion.negated)


def _sort(given: Given) -> tuple[SortBy, ...]:
    single = given.get("sortCriterion")
    criteria = given.get("sortCriteria") or ([single] if single else [])
    return tuple(
        SortBy(criterion["field"], criterion["sortOrder"] == "DESCENDING") for criterion in criteria
    )


async def _browse(_root: Any, info: Info, **given: Any) -> Value:
    arguments: Given = given["input"]
    catalog = info.context.catalog
    types_by_symbol = symbols(catalog.registry)
    path = tuple(arguments.get("path") or ())
    start, count = page_bounds(arguments)
    entity_type = types_by_symbol[arguments["type"]]
    among = await input_filter(arguments, types_by_symbol, (entity_type,), info.context)
    page = await catalog.read(catalog.browse, entity_type, path, start, count, among)
    return {
        "urns": [urn for _, urn in page.entities],
        "groups": [{"name": name, "count": below} for name, below in page.groups],
        "start": start,
        "count": len(page.entities),
        "total": page.total_entities,
        "metadata": {"path": path, "totalNumEntities": page.total_below},
    }


async def _browse_v2(_root: Any, info: Info, **given: Any) -> Value:
    arguments: Given = given["input"]
    catalog = info.context.catalog
    types_by_symbol = symbols(catalog.registry)
    kind = arguments.get("type")
    types = [types_by_symbol[kind]] if kind else read_types(arguments, types_by_symbol)
    path = tuple(arguments.get("path") or ())
    start, count = page_bounds(arguments)
    text = arguments.get("query") or "*"
    among = await input_filter(arguments, types_by_symbol, types, info.context)
    page = await catalog.read(catalog.browse_v2, types, path, start, count, text, among)
    return {
        "groups": [
            {
                "name": group.name,
                "displayName": group.label,
                "entity": group.entity,
                "count": group.count,
                "hasSubGroups": group.has_subgroups,
            }
            for group in page.groups
        ],
        "start": start,
        "count": len(page.groups),
        "total": page.total,
        "metadata": {"path": path, "totalNumEntities": page.total_entities},
    }


async def _browse_paths(_root: Any, info: Info, **given: Any) -> list[Value]:
    arguments: Given = given["input"]
    catalog = info.context.catalog
    entity_type = symbols(catalog.registry)[arguments["type"]]
    stored_node = info.context.find_entity(arguments["urn"], entity_type)
    node = await stored_node if isinstance(stored_node, Awaitable) else stored_node
    if node is None:
        raise NotFound(f"{arguments['urn']} does not exist.")
    delimiter = await catalog.read_few(read_delimiter, catalog.store, node.urn.platform)
    paths = browse_paths(node.urn, node.values(), delimiter)
    return [{"path": split_path(path)} for path in paths]


_FACET_VALUES = 20
# The entity types that autocompletion covers if the request names none.
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
    types_by_symbol = symbols(info.context.catalog.registry)
    arguments: Given = given["input"]
    return await _find_results(
        info, arguments, [types_by_symbol[arguments["type"]]], types_by_symbol
    )


async def _search_across(_root: Any, info: Info, **given: Any) -> Given:
    types_by_symbol = symbols(info.context.catalog.registry)
    arguments: Given = given["input"]
    return await _find_results(
        info, arguments, read_types(arguments, types_by_symbol), types_by_symbol
    )


def _search_by_meaning(_root: Any, _info: Info, **_given: Any) -> Given:
    # Clients recognise the first words of the message and continue without semantic search.
    raise InvalidInput(
        "Semantic search is not enabled: there are no embeddings here; use searchAcrossEntities"
    )


async def _find_results(
    info: Info, arguments: Given, types: Sequence[str], types_by_symbol: Mapping[str, str]
) -> Given:
    query = await read_query(
        arguments, types_by_symbol, types, info.context, facets=_asks(info, "facets")
    )
    return await search_results(info, query, arguments.get("searchFlags") or {})


async def search_results(info: Info, query: SearchQuery, flags: Given) -> dict[str, Any]:
    """Return the results of a search in the form of `SearchResults`."""
    page = await info.context.catalog.offload(info.context.catalog.index.search, query)
    return {"start": query.start, **await _results(info, page, flags)}


async def _scroll(_root: Any, info: Info, **given: Any) -> Given:
    types_by_symbol = symbols(info.context.catalog.registry)
    arguments: Given = given["input"]
    types = read_types(arguments, types_by_symbol)
    first = await read_query(
        arguments, types_by_symbol, types, info.context, facets=_asks(info, "facets")
    )
    query = begin_scroll(first, arguments.get("scrollId"))
    page = await info.context.catalog.offload(info.context.catalog.index.search, query)
    results = await _results(info, page, arguments.get("searchFlags") or {})
    return {"nextScrollId": scroll_id(query, page), **results}


async def _aggregate(_root: Any, info: Info, **given: Any) -> Given:
    types_by_symbol = symbols(info.context.catalog.registry)
    arguments: Given = given["input"]
    types = read_types(arguments, types_by_symbol)
    facet_names = [name.removesuffix(".keyword") for name in arguments.get("facets") or () if name]
    index = info.context.catalog.index
    paths = {
        name: [_LEGACY_FACETS.get(field, field) for field in name.split(NESTED)]
        for name in facet_names
    }
    own = tuple(
        dict.fromkeys(
            field for path in paths.values() for field in path if field.startswith(PREFIX)
        )
    )
    query = replace(
        await read_query(
            {**arguments, "count": 0}, types_by_symbol, types, info.context, facets=True
        ),
        also_counted=own,
    )
    page = await info.context.catalog.offload(index.search, query)
    # The request may name a structured property's field in DataHub's spelling; the answer repeats
    # that name.
    fields = index.vocabulary.known_fields(tuple(sorted(types)) or None)
    names_by_field = {
        field: name for name in own for field in index.vocabulary.find_fields(name, fields)
    }
    facets = _facets(
        info, page.facets, arguments.get("searchFlags") or {}, property_names=tuple(names_by_field)
    )
    facet_rows = {
        name: {**facet, "field": name}
        for facet in facets
        for name in [names_by_field.get(facet["field"], facet["field"])]
    }
    if not facet_names:
        return {"facets": list(facet_rows.values())}
    most = (arguments.get("searchFlags") or {}).get("maxAggValues") or _FACET_VALUES
    for name, path in paths.items():
        if len(path) > 1:
            counts = await info.context.catalog.offload(_count_nested, index, query, path, most)
            facet_rows[name] = {
                "field": name,
                "displayName": name,
                "entity": None,
                "aggregations": [
                    {"value": value, "count": count, "entity": None}
                    for value, count in list(counts.items())[:most]
                ],
            }
        elif path[0] in facet_rows:
            facet_rows[name] = {**facet_rows[path[0]], "field": name}
    return {"facets": [row for name, row in facet_rows.items() if name in facet_names]}


# The name by which older clients ask for the facet of entity types.
_LEGACY_FACETS = {"entity": _ENTITY_TYPE}


def _count_nested(
    index: SearchEngine, query: SearchQuery, path: Sequence[str], most: int
) -> dict[str, int]:
    """Return the number of results with each combination of values of several facets, most frequent
    first. Takes a search for each of the first `most` values, or combinations, of all facets but
    the last."""
    field, *below = path
    facets = {facet.name: facet.counts for facet in index.search(query).facets}
    counts: dict[str, int] = {}
    for value, count in list(facets.get(field, {}).items())[:most]:
        text = _facet_value(field, value)
        if not below:
            counts[text] = count
            continue
        of_value = _both(query.filter, Filter(((Criterion(field, (value,)),),)))
        nested = _count_nested(index, replace(query, filter=of_value), below, most)
        counts |= {f"{text}{NESTED}{rest}": count for rest, count in nested.items()}
    return dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))


async def _results(info: Info, page: FoundPage, flags: Given) -> dict[str, Any]:
    extra = flags.get("fetchExtraFields") or []
    values = await _extra(info, page.hits, extra) if extra else {}
    highlights = not flags.get("skipHighlighting")
    return {
        "count": len(page.hits),
        "total": page.total,
        "facets": _facets(info, page.facets, flags),
        "suggestions": _suggestions(page),
        "loosened": None
        if page.complete is None
        else {
            "complete": page.complete,
            "words": list(page.words),
            "byMeaning": page.by_meaning,
        },
        "searchResults": [
            {
                "entity": hit.urn,
                "insights": [],
                "matchedFields": [
                    {"name": name, "value": value, "weight": weight}
                    for (name, value), weight in zip(hit.matched, hit.weights, strict=True)
                    if highlights
                ],
                "extraProperties": values.get(hit.urn, []),
                "score": hit.score,
                "reason": hit.reason or None,
                "lacks": list(hit.lacks),
                "byMeaning": hit.by_meaning,
            }
            for hit in page.hits
        ],
    }


def _suggestions(page: FoundPage) -> list[dict[str, Any]]:
    """Return the corrected text of a search, if it was corrected, in the form of DataHub's
    suggestions."""
    if page.corrected is None:
        return []
    return [{"text": page.corrected, "score": 1.0, "frequency": page.total}]


async def _extra(
    info: Info, hits: Sequence[SearchHit], fields: Sequence[str]
) -> dict[str, list[Given]]:
    """Return the values of searchable fields by URN, each encoded as JSON."""
    registry = info.context.catalog.registry
    nodes = await info.context.read(hit.urn for hit in hits)

    def read() -> dict[str, list[Given]]:
        return {str(node.urn): _values(registry, node.urn, node.values(), fields) for node in nodes}

    return await info.context.catalog.offload(read)


def _values(
    registry: Registry, urn: Urn, aspects: Mapping[str, Any], fields: Sequence[str]
) -> list[Given]:
    values_by_field = build_document(registry, urn, aspects).fields
    return [
        {"name": name, "value": _json(values_by_field[name])}
        for name in fields
        if values_by_field.get(name) is not None
    ]


def _json(values: Sequence[Any]) -> str:
    content = values[0] if len(values) == 1 else list(values)
    return orjson.dumps(content).decode()


def _facets(
    info: Info, facets: Sequence[FacetCounts], flags: Given, property_names: Sequence[str] = ()
) -> list[dict[str, Any]]:
    """Return facets in the form of `FacetMetadata`; those of structured properties only if the
    flags or `property_names` ask for them."""
    own = info.context.catalog.index.vocabulary.property_fields(None)
    if not flags.get("includeStructuredPropertyFacets"):
        facets = [
            facet for facet in facets if facet.name not in own or facet.name in property_names
        ]
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
                {"value": _facet_value(facet.name, value), "count": count, "entity": value}
                for value, count in list(facet.counts.items())[:most]
            ],
        }
        for facet in facets
    ]


def _facet_value(field: str, value: str) -> str:
    return entity_type_symbol(value) if field == _ENTITY_TYPE else value


async def _complete(_root: Any, info: Info, **given: Any) -> Given:
    types_by_symbol = symbols(info.context.catalog.registry)
    arguments: Given = given["input"]
    kind = arguments.get("type")
    types = (types_by_symbol[kind],) if kind else ()
    return {
        "query": arguments["query"],
        **await _find_completions(info, arguments, types, types_by_symbol),
    }


async def _complete_each(_root: Any, info: Info, **given: Any) -> Given:
    types_by_symbol = symbols(info.context.catalog.registry)
    arguments: Given = given["input"]
    registered = info.context.catalog.registry.entities
    types = read_types(arguments, types_by_symbol) or [
        name for name in _COMPLETED if name in registered
    ]
    answers = await asyncio.gather(
        *(
            _find_completions(info, arguments, (entity_type,), types_by_symbol)
            for entity_type in types
        )
    )
    return {
        "query": arguments["query"],
        "suggestions": [
            {"type": entity_type_symbol(entity_type), **answer}
            for entity_type, answer in zip(types, answers, strict=True)
            if answer["suggestions"]
        ],
    }


async def _find_completions(
    info: Info, arguments: Given, types: tuple[str, ...], types_by_symbol: Mapping[str, str]
) -> dict[str, Any]:
    _, limit = page_bounds(arguments, name="limit")
    matches = await input_filter(arguments, types_by_symbol, types, info.context)
    complete = info.context.catalog.index.autocomplete
    names = await info.context.catalog.offload(
        complete, arguments["query"], types, matches, 0, limit
    )
    return {
        "suggestions": [name.text for name in names],
        "urns": [name.urn for name in names],
    }


def _suggest(value: Given, info: Info) -> Any:
    return info.context.refer_all(value["urns"], info)


def _asks(info: Info, field: str) -> bool:
    """Return whether a document may select `field` of the object being resolved. True if it selects
    any fragment there, because fragments are not examined."""
    return any(
        getattr(getattr(selection, "name", None), "value", field) == field
        or selection.kind != "field"
        for node in info.field_nodes
        for selection in (node.selection_set.selections if node.selection_set else ())
    )


RESOLVERS: Resolvers = {
    "Query": {
        "browse": _browse,
        "browseV2": _browse_v2,
        "browsePaths": _browse_paths,
        "search": _search,
        "searchAcrossEntities": _search_across,
        "semanticSearchAcrossEntities": _search_by_meaning,
        "scrollAcrossEntities": _scroll,
        "aggregateAcrossEntities": _aggregate,
        "autoComplete": _complete,
        "autoCompleteForMultiple": _complete_each,
    },
    "MatchedField": {"entity": "value"},
    "AutoCompleteResults": {"entities": _suggest},
    "AutoCompleteResultForEntity": {"entities": _suggest},
}
