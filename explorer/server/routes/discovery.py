"""Finding entities: search, autocomplete, going through all that a filter lets pass."""

from dataclasses import replace

from explorer.server.call import Answer, Call
from explorer.server.catalog import Catalog
from explorer.server.endpoint import Endpoint, parameter
from explorer.server.filters import (
    expand_related,
    forgive_fields,
    forgive_query,
    leave_out_unlisted,
    read_filter,
)
from explorer.server.routes.results import GIVES_RESULTS, SORTING, read_search, search_value
from explorer.server.routes.usage import (
    COUNT,
    ENTITIES,
    ENTITY,
    FILTER,
    INPUT,
    LIMIT,
    SORT,
    SORT_CRITERIA,
    START,
)
from explorer.server.scrolling import begin_scroll, scroll_id
from explorer.server.search.page import SearchPage, SearchQuery

__all__ = ["DiscoveryRoutes"]

_NARROWED = (FILTER, SORT, SORT_CRITERIA)
_PAGED = (START, COUNT)
_SEARCHED = (
    "Soft-deleted entities are left out unless the filter names removed.",
    "A write that was answered is found by the next search.",
    SORTING,
)


class DiscoveryRoutes:
    """`/entities` where it finds"""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def endpoints(self) -> tuple[Endpoint, ...]:
        return (
            Endpoint(
                "POST",
                "/entities",
                self._search,
                "search one entity type",
                role="reader",
                action="search",
                parameters=(INPUT, ENTITY, *_PAGED, *_NARROWED),
                gives=GIVES_RESULTS,
                notes=_SEARCHED,
            ),
            Endpoint(
                "POST",
                "/entities",
                self._search_across,
                "search several entity types, or all",
                role="reader",
                action="searchAcrossEntities",
                parameters=(INPUT, ENTITIES, *_PAGED, *_NARROWED),
                gives=GIVES_RESULTS,
                notes=_SEARCHED,
            ),
            Endpoint(
                "POST",
                "/entities",
                self._scroll,
                "go through all that a search finds, page by page",
                role="reader",
                action="scrollAcrossEntities",
                parameters=(
                    INPUT,
                    ENTITIES,
                    COUNT,
                    *_NARROWED,
                    parameter(
                        "scrollId",
                        "string",
                        "what the page before answered; nothing for the first",
                        required=False,
                    ),
                    parameter(
                        "keepAlive",
                        "string",
                        "taken and not needed: a scroll id does not expire",
                        "5m",
                        required=False,
                    ),
                ),
                gives=f"{GIVES_RESULTS}; scrollId, null when there is no more",
                notes=(
                    "Pages are in the order of the sort, or of URNs without one. What is there "
                    "from the first page to the last is met exactly once, whatever is written "
                    "meanwhile.",
                    "A scroll id belongs to its search: with another one it is refused.",
                ),
            ),
            Endpoint(
                "POST",
                "/entities",
                self._filter,
                "the entities of one type that a filter lets pass",
                role="reader",
                action="filter",
                parameters=(ENTITY, *_PAGED, *_NARROWED),
                gives=GIVES_RESULTS,
                notes=_SEARCHED,
            ),
            Endpoint(
                "POST",
                "/entities",
                self._list,
                "the URNs of one type that a filter lets pass",
                role="reader",
                action="list",
                parameters=(ENTITY, *_PAGED, *_NARROWED),
                gives="start, count, total, and entities: URNs",
                notes=_SEARCHED,
            ),
            Endpoint(
                "POST",
                "/entities",
                self._autocomplete,
                "names that begin as typed",
                role="reader",
                action="autocomplete",
                parameters=(
                    parameter("query", "string", "the beginning of a name", "fct_us"),
                    ENTITY,
                    LIMIT,
                    START,
                    FILTER,
                ),
                gives="query, suggestions: texts, entities: for each the URN of one called so",
                notes=("No text is suggested twice, and no soft-deleted entity.",),
            ),
        )

    async def _search(self, call: Call) -> Answer:
        parameters = await call.parameters()
        entity = parameters.text("entity")
        return await self._found(call, read_search(parameters, parameters.text("input"), (entity,)))

    async def _search_across(self, call: Call) -> Answer:
        parameters = await call.parameters()
        entities = tuple(parameters.texts("entities") or ())
        return await self._found(call, read_search(parameters, parameters.text("input"), entities))

    async def _filter(self, call: Call) -> Answer:
        parameters = await call.parameters()
        return await self._found(call, read_search(parameters, "*", (parameters.text("entity"),)))

    async def _list(self, call: Call) -> Answer:
        parameters = await call.parameters()
        query = read_search(parameters, "*", (parameters.text("entity"),))
        page = await self._asked(call, query)
        return Answer.of(
            {
                "value": {
                    "start": query.start,
                    "count": len(page.hits),
                    "total": page.total,
                    "entities": [hit.urn for hit in page.hits],
                }
            }
        )

    async def _scroll(self, call: Call) -> Answer:
        parameters = await call.parameters()
        entities = tuple(parameters.texts("entities") or ())
        asked = read_search(parameters, parameters.text("input"), entities)
        query = begin_scroll(asked, parameters.optional_text("scrollId"))
        page = await self._asked(call, query)
        value = search_value(query, page, call.dialect)
        return Answer.of({"value": value | {"scrollId": scroll_id(query, page)}})

    async def _found(self, call: Call, query: SearchQuery) -> Answer:
        page = await self._asked(call, query)
        return Answer.of({"value": search_value(query, page, call.dialect)})

    async def _asked(self, call: Call, query: SearchQuery) -> SearchPage:
        for entity in query.entity_types or ():
            self._catalog.registry.entity(entity)
        index = self._catalog.index
        query = replace(query, filter=expand_related(query.filter, self._catalog.store))
        if call.dialect == "datahub":
            query = forgive_query(query, index.vocabulary)
        query = leave_out_unlisted(query, index.vocabulary)
        return await self._catalog.offload(index.search, query)

    async def _autocomplete(self, call: Call) -> Answer:
        parameters = await call.parameters()
        entity = parameters.text("entity")
        self._catalog.registry.entity(entity)
        text = parameters.text("query")
        index = self._catalog.index
        narrowed_by = read_filter(parameters.given.get("filter"))
        narrowed_by = expand_related(narrowed_by, self._catalog.store)
        if call.dialect == "datahub":
            narrowed_by = forgive_fields(narrowed_by, (entity,), index.vocabulary)
        suggestions = await self._catalog.offload(
            index.autocomplete,
            text,
            (entity,),
            narrowed_by,
            parameters.start(),
            parameters.page("limit"),
        )
        return Answer.of(
            {
                "value": {
                    "suggestions": [suggestion.text for suggestion in suggestions],
                    "query": text,
                    "entities": [{"urn": suggestion.urn} for suggestion in suggestions],
                }
            }
        )
