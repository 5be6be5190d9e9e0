"""Endpoints that find entities: search, autocomplete, scrolling through results, and browsing
folders; also the files of the search index."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import orjson
from starlette.responses import Response

from explorer.errors import CatalogError
from explorer.metadata.browse_paths import PATH_ASPECTS, split_path
from explorer.metadata.urn import Urn
from explorer.query.filters import Filter
from explorer.server.browse import browse_paths
from explorer.server.catalog import CatalogEngine
from explorer.server.dialect import Dialect, search_hits
from explorer.server.projection import read_delimiter
from explorer.server.restli import (
    Endpoint,
    Parameter,
    Parameters,
    RestliRequest,
    Routes,
    ValueResponse,
)
from explorer.server.routes import (
    COUNT,
    ENTITIES,
    ENTITY,
    FILTER,
    INPUT,
    LIMIT,
    SORT,
    SORT_CRITERIA,
    START,
    URN,
)
from explorer.server.search.columns import (
    MOST_TABLES,
    SCHEMA_ASPECTS,
    has_column_text,
    matched_columns,
    rank_columns,
)
from explorer.server.search.query import FacetCounts, FoundPage, SearchQuery
from explorer.server.search_request import (
    begin_scroll,
    drop_unknown_fields,
    expand_related,
    ignore_unknown_fields,
    leave_out_unlisted,
    read_filter,
    read_sort,
    scroll_id,
)

# Searches are answered from the index; they do not wait for the store.
_COLUMNS_SECONDS = 0.5

GIVES_RESULTS = (
    "numEntities (the total), pageSize, from, entities, and metadata with urns, the matches of "
    "each entity, an explanation of each (its score, how much of it comes from usage, the reason "
    "for its position, the weights of the matched fields in order), and the facets of the whole "
    "result, as searchResultMetadatas and aggregations (hasMore if a facet has more than the 100 "
    "values returned); metadata.corrected is the text that was searched for instead, if a word "
    "of the query occurs nowhere; where few entities have all words of the query, those that have "
    "most follow, metadata.loosened has the number of the former (complete) and the words, and "
    "the explanation of each of the latter the words that it lacks, and whether it was found "
    "by meaning alone (byMeaning); where columns of a dataset match, its explanation has columns: "
    "the path of the column of each matched field, or null"
)
SORTING = (
    "In a sorted result, entities without a value come last; if an entity has several values, "
    "the lowest counts; ties are broken by URN. Without a sort, the best match comes first."
)


def read_search(parameters: Parameters, text: str, entities: tuple[str, ...]) -> SearchQuery:
    """Return the search that the parameters of an action describe.

    Raises `InvalidInput` if a parameter is invalid.
    """
    return SearchQuery(
        text=text,
        entity_types=entities or None,
        filter=read_filter(parameters.given.get("filter")),
        start=parameters.start(),
        count=parameters.page("count"),
        sort=read_sort(parameters),
    )


async def _entity_filter(
    catalog: CatalogEngine, request: RestliRequest, parameters: Parameters, entity: str
) -> Filter:
    """Return the filter in the parameters of an action, for entities of one type.

    For DataHub's callers, fields that cannot be searched count as having no values.
    """
    entity_filter = await expand_related(read_filter(parameters.given.get("filter")), catalog)
    if request.dialect == "datahub":
        return drop_unknown_fields(entity_filter, (entity,), catalog.index.vocabulary)
    return entity_filter


def search_value(
    query: SearchQuery,
    page: FoundPage,
    dialect: Dialect,
    columns: Mapping[str, Sequence[str | None]] = MappingProxyType({}),
) -> dict[str, Any]:
    """Return the `value` of a search response. `columns` has, by the URN of a hit, the column of
    each of its matches."""
    matched = [
        [{"name": field, "value": value} for field, value in hit.matched] for hit in page.hits
    ]
    hits = [(hit.urn, hit.score, fields) for hit, fields in zip(page.hits, matched, strict=True)]
    notes: dict[str, Any] = {} if page.corrected is None else {"corrected": page.corrected}
    if page.complete is not None:
        notes["loosened"] = {
            "complete": page.complete,
            "words": list(page.words),
            **({"byMeaning": True} if page.by_meaning else {}),
        }
    return {
        "numEntities": page.total,
        "pageSize": query.count,
        "from": query.start,
        "entities": search_hits(hits, dialect),
        "metadata": {
            "urns": [hit.urn for hit in page.hits],
            "matches": [{"matchedFields": fields} for fields in matched],
            "explanations": [
                {
                    "score": hit.score,
                    "use": hit.use,
                    "reason": hit.reason,
                    "weights": list(hit.weights),
                    **({"lacks": list(hit.lacks)} if hit.lacks else {}),
                    **({"columns": columns[hit.urn]} if hit.urn in columns else {}),
                    **({"byMeaning": True} if hit.by_meaning else {}),
                }
                for hit in page.hits
            ],
            "searchResultMetadatas": [
                {"name": facet.name, "aggregations": dict(facet.counts)} for facet in page.facets
            ],
            "aggregations": [_aggregation(facet) for facet in page.facets],
            **notes,
        },
    }


def _aggregation(facet: FacetCounts) -> dict[str, Any]:
    return {
        "name": facet.name,
        "displayName": facet.label,
        "hasMore": facet.has_more,
        "aggregations": dict(facet.counts),
        "filterValues": [
            {"value": value, "facetCount": count}
            | ({"entity": value} if value.startswith("urn:li:") else {})
            for value, count in facet.counts.items()
        ],
    }


class BrowsingRoutes(Routes):
    """The endpoints of `/entities` that browse folders."""

    @Endpoint(
        "POST",
        "/entities",
        "list the folders and entities at a path",
        role="reader",
        action="browse",
        parameters=(
            Parameter("path", "string", "folders separated by slashes; / is the root", "/prod"),
            ENTITY,
            START,
            LIMIT,
            FILTER,
        ),
        gives="numEntities (directly at the path), numGroups, numElements, pageSize, from, "
        "entities {name, urn}, groups {name, count}, and metadata with path, "
        "totalNumEntities (at the path and below) and the groups again",
        notes=(
            "Groups come before entities in a page. Soft-deleted entities are left out.",
            "A path that does not exist has empty lists.",
            "An entity is in the folders of its browsePaths and of its browsePathsV2, and without "
            "any where its URN suggests. A folder of browsePathsV2 that stands for an entity is "
            "named by its URN. A slash in the name of a folder is written \\/ in paths.",
        ),
    )
    async def _browse(self, request: RestliRequest) -> Response:
        parameters = await request.parameters()
        entity = self._catalog.registry.entity_name(parameters.text("entity"))
        path = parameters.text("path")
        start, limit = parameters.start(), parameters.page("limit")
        among = await _entity_filter(self._catalog, request, parameters, entity)
        page = await self._catalog.read(
            self._catalog.browse, entity, split_path(path), start, limit, among
        )
        groups = [{"name": name, "count": count} for name, count in page.groups]
        return ValueResponse(
            {
                "numEntities": page.total_entities,
                "numGroups": page.total_groups,
                "numElements": page.total_groups + page.total_entities,
                "pageSize": limit,
                "from": start,
                "entities": [{"name": name, "urn": urn} for name, urn in page.entities],
                "groups": groups,
                "metadata": {"path": path, "totalNumEntities": page.total_below, "groups": groups},
            }
        )

    @Endpoint(
        "POST",
        "/entities",
        "return the browse paths of an entity",
        role="reader",
        action="getBrowsePaths",
        parameters=(URN,),
        gives=(
            "the stored paths, or the path that the URN suggests; none for an entity that "
            "does not exist"
        ),
    )
    async def _paths(self, request: RestliRequest) -> Response:
        parameters = await request.parameters()
        urn = self._catalog.intake.read_urn(parameters.text("urn"))
        self._catalog.registry.entity(urn.entity_type)
        return ValueResponse(await self._catalog.read_few(self._paths_of, urn))

    def _paths_of(self, urn: Urn) -> list[str]:
        store = self._catalog.store
        if not store.existing([str(urn)]):
            return []
        stored = store.aspects([str(urn)], PATH_ASPECTS).get(str(urn), ())
        values = {aspect.name: orjson.loads(aspect.value) for aspect in stored}
        return browse_paths(urn, values, read_delimiter(store, urn.platform))


_FILTERED = (FILTER, SORT, SORT_CRITERIA)
_PAGED = (START, COUNT)
_SEARCHED = (
    "Soft-deleted entities are left out unless the filter has the field removed.",
    "A write is visible to every search that starts after it was answered.",
    "A page that ends beyond result 10000 is refused with 400; scrollAcrossEntities reads on.",
    SORTING,
)


class SearchRoutes(Routes):
    """The endpoints of `/entities` that search."""

    @Endpoint(
        "POST",
        "/entities",
        "search one entity type",
        role="reader",
        action="search",
        parameters=(INPUT, ENTITY, *_PAGED, *_FILTERED),
        gives=GIVES_RESULTS,
        notes=_SEARCHED,
    )
    async def _search(self, request: RestliRequest) -> Response:
        parameters = await request.parameters()
        entity = parameters.text("entity")
        return await self._find(
            request, read_search(parameters, parameters.text("input"), (entity,))
        )

    @Endpoint(
        "POST",
        "/entities",
        "search several entity types, or all of them",
        role="reader",
        action="searchAcrossEntities",
        parameters=(INPUT, ENTITIES, *_PAGED, *_FILTERED),
        gives=GIVES_RESULTS,
        notes=_SEARCHED,
    )
    async def _search_across(self, request: RestliRequest) -> Response:
        parameters = await request.parameters()
        entities = tuple(parameters.texts("entities") or ())
        return await self._find(
            request, read_search(parameters, parameters.text("input"), entities)
        )

    @Endpoint(
        "POST",
        "/entities",
        "list the entities of one type that match a filter",
        role="reader",
        action="filter",
        parameters=(ENTITY, *_PAGED, *_FILTERED),
        gives=GIVES_RESULTS,
        notes=_SEARCHED,
    )
    async def _filter(self, request: RestliRequest) -> Response:
        parameters = await request.parameters()
        return await self._find(request, read_search(parameters, "*", (parameters.text("entity"),)))

    @Endpoint(
        "POST",
        "/entities",
        "list the URNs of one type that match a filter",
        role="reader",
        action="list",
        parameters=(ENTITY, *_PAGED, *_FILTERED),
        gives="start, count, total, and entities: URNs",
        notes=_SEARCHED,
    )
    async def _list(self, request: RestliRequest) -> Response:
        parameters = await request.parameters()
        query = read_search(parameters, "*", (parameters.text("entity"),))
        page = await self._search_page(request, query)
        return ValueResponse(
            {
                "start": query.start,
                "count": len(page.hits),
                "total": page.total,
                "entities": [hit.urn for hit in page.hits],
            }
        )

    @Endpoint(
        "POST",
        "/entities",
        "go through all results of a search, page by page",
        role="reader",
        action="scrollAcrossEntities",
        parameters=(
            INPUT,
            ENTITIES,
            COUNT,
            *_FILTERED,
            Parameter.optional(
                "scrollId",
                "string",
                "the scrollId of the previous page; left out for the first page",
            ),
            Parameter.optional(
                "keepAlive", "string", "accepted and ignored: a scroll id does not expire", "5m"
            ),
        ),
        gives=f"{GIVES_RESULTS}; scrollId, null after the last page",
        notes=(
            "Pages are sorted by the given sort, or by URN. Entities that match from the first "
            "page to the last are returned exactly once, whatever is written meanwhile.",
            "A scroll id is valid only for the search that returned it.",
        ),
    )
    async def _scroll(self, request: RestliRequest) -> Response:
        parameters = await request.parameters()
        entities = tuple(parameters.texts("entities") or ())
        search = read_search(parameters, parameters.text("input"), entities)
        query = begin_scroll(search, parameters.optional_text("scrollId"))
        page = await self._search_page(request, query)
        value = search_value(query, page, request.dialect)
        return ValueResponse(value | {"scrollId": scroll_id(query, page)})

    @Endpoint(
        "POST",
        "/entities",
        "search the columns of datasets",
        role="reader",
        standing="ours",
        action="searchColumns",
        parameters=(INPUT, *_PAGED, FILTER),
        gives="as searchAcrossEntities, without facets: entities are columns (schemaField), with "
        "metadata.columns, which has for each its table, fieldPath, nativeDataType, description "
        "and whether that was edited, and metadata.tables, which has how many datasets match "
        "(total) and how many of them, the best, were looked through (read)",
        notes=(
            "A column is found by a word of its name, description, tags or terms; other words may "
            "be its dataset's. The filter is for datasets; conditions on columns, as "
            "fieldPaths and fieldTags, hold for the column.",
            "Words count by how rare they are and where they stand, as in other searches.",
        ),
    )
    async def _search_columns(self, request: RestliRequest) -> Response:
        parameters = await request.parameters()
        search = read_search(parameters, parameters.text("input"), ("dataset",))
        query = await self._listed(request, search)
        catalog = self._catalog
        tables = await catalog.offload(catalog.index.find_tables, query, MOST_TABLES)
        urns = [document.urn for document in tables.documents]
        stored = await catalog.read(catalog.store.aspects, urns, SCHEMA_ASPECTS)
        vocabulary = catalog.index.vocabulary
        ranking = await catalog.offload(
            rank_columns, tables, stored, vocabulary, query.start, query.count
        )
        value = search_value(query, ranking.page, request.dialect)
        value["metadata"] |= {
            "columns": [
                {
                    "table": column.table,
                    "fieldPath": column.path,
                    "nativeDataType": column.native_type,
                    "description": column.description,
                    "edited": column.edited,
                }
                for column in ranking.columns
            ],
            "tables": {"read": ranking.read_tables, "total": ranking.tables},
        }
        return ValueResponse(value)

    async def _find(self, request: RestliRequest, query: SearchQuery) -> Response:
        page = await self._search_page(request, query)
        columns = await self._columns_of(page)
        return ValueResponse(search_value(query, page, request.dialect, columns))

    async def _columns_of(self, page: FoundPage) -> Mapping[str, Sequence[str | None]]:
        """Return the column of each match of the hits, by URN. While the store cannot be read, only
        matches by name get one."""
        store, vocabulary = self._catalog.store, self._catalog.index.vocabulary
        urns = [hit.urn for hit in page.hits if has_column_text(hit, vocabulary)]

        def read_columns() -> Mapping[str, Sequence[str | None]]:
            return matched_columns(page.hits, store.aspects(urns, SCHEMA_ASPECTS), vocabulary)

        if urns and store.is_reachable:
            with suppress(CatalogError, TimeoutError):
                async with asyncio.timeout(_COLUMNS_SECONDS):
                    return await self._catalog.read(read_columns)
        return matched_columns(page.hits, {}, vocabulary)

    async def _search_page(self, request: RestliRequest, query: SearchQuery) -> FoundPage:
        query = await self._listed(request, query)
        return await self._catalog.offload(self._catalog.index.search, query)

    async def _listed(self, request: RestliRequest, query: SearchQuery) -> SearchQuery:
        """Return a query with entity types spelled as in the registry and related values expanded,
        without entities that should not be listed."""
        index, types = self._catalog.index, query.entity_types
        query = replace(
            query,
            entity_types=types and tuple(map(self._catalog.registry.entity_name, types)),
            filter=await expand_related(query.filter, self._catalog),
        )
        if request.dialect == "datahub":
            query = ignore_unknown_fields(query, index.vocabulary)
        return leave_out_unlisted(query, index.vocabulary)

    @Endpoint(
        "POST",
        "/entities",
        "suggest names that begin with a text",
        role="reader",
        action="autocomplete",
        parameters=(
            Parameter("query", "string", "the beginning of a name", "fct_us"),
            ENTITY,
            LIMIT,
            START,
            FILTER,
        ),
        gives=(
            "query, suggestions (texts) and entities: for each suggestion the URN of one "
            "entity with that name"
        ),
        notes=("No text is suggested twice, and soft-deleted entities are left out.",),
    )
    async def _autocomplete(self, request: RestliRequest) -> Response:
        parameters = await request.parameters()
        entity = self._catalog.registry.entity_name(parameters.text("entity"))
        text = parameters.text("query")
        suggestions = await self._catalog.offload(
            self._catalog.index.autocomplete,
            text,
            (entity,),
            await _entity_filter(self._catalog, request, parameters, entity),
            parameters.start(),
            parameters.page("limit"),
        )
        return ValueResponse(
            {
                "suggestions": [suggestion.text for suggestion in suggestions],
                "query": text,
                "entities": [{"urn": suggestion.urn} for suggestion in suggestions],
            }
        )
