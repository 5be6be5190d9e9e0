"""Finding entities: search, autocomplete, browse."""

from typing import Any

from explorer.errors import InvalidInput
from explorer.server.call import Answer, Call, Parameters
from explorer.server.catalog import Catalog
from explorer.server.dialect import Dialect, dialect_of, search_hits
from explorer.server.endpoint import Endpoint
from explorer.server.filters import read_filter
from explorer.server.paths import components
from explorer.server.search.index import SearchQuery

__all__ = ["DiscoveryRoutes"]


class DiscoveryRoutes:
    """`/entities` where it finds"""

    def __init__(self, catalog: Catalog, dialect: Dialect | None) -> None:
        self._catalog = catalog
        self._dialect = dialect

    def endpoints(self) -> tuple[Endpoint, ...]:
        actions = (
            ("search", self._search, "search one entity type"),
            ("searchAcrossEntities", self._search_across, "search several entity types, or all"),
            ("autocomplete", self._autocomplete, "names that begin as typed"),
            ("browse", self._browse, "folders and entities at a path"),
        )
        return tuple(
            Endpoint("POST", "/entities", handler, summary, action=action)
            for action, handler, summary in actions
        )

    async def _search(self, call: Call) -> Answer:
        parameters = await call.parameters()
        entity = parameters.text("entity")
        return await self._found(call, parameters, (entity,))

    async def _search_across(self, call: Call) -> Answer:
        parameters = await call.parameters()
        return await self._found(call, parameters, tuple(parameters.texts("entities") or ()))

    async def _found(self, call: Call, parameters: Parameters, entities: tuple[str, ...]) -> Answer:
        dialect = dialect_of(call, self._dialect)
        for entity in entities:
            self._catalog.registry.entity(entity)
        if parameters.given.get("sort") is not None:
            raise InvalidInput("'sort' is not supported; results are ordered by how well they fit")
        start, count = parameters.start(), parameters.page("count")
        page = await self._catalog.offload(
            self._catalog.index.search,
            SearchQuery(
                text=parameters.text("input"),
                entity_types=entities or None,
                filter=read_filter(parameters.given.get("filter")),
                start=start,
                count=count,
            ),
        )
        matched = [
            [{"name": field, "value": value} for field, value in hit.matched] for hit in page.hits
        ]
        hits = [
            (hit.urn, hit.score, fields) for hit, fields in zip(page.hits, matched, strict=True)
        ]
        facets = [(facet.name, facet.label, dict(facet.counts)) for facet in page.facets]
        return Answer.of(
            {
                "value": {
                    "numEntities": page.total,
                    "pageSize": count,
                    "from": start,
                    "entities": search_hits(hits, dialect),
                    "metadata": {
                        "urns": [hit.urn for hit in page.hits],
                        "matches": [{"matchedFields": fields} for fields in matched],
                        "searchResultMetadatas": [
                            {"name": name, "aggregations": counts} for name, _, counts in facets
                        ],
                        "aggregations": [_aggregation(*facet) for facet in facets],
                    },
                }
            }
        )

    async def _autocomplete(self, call: Call) -> Answer:
        parameters = await call.parameters()
        entity = parameters.text("entity")
        self._catalog.registry.entity(entity)
        text = parameters.text("query")
        suggestions = await self._catalog.offload(
            self._catalog.index.autocomplete,
            text,
            (entity,),
            read_filter(parameters.given.get("filter")),
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

    async def _browse(self, call: Call) -> Answer:
        parameters = await call.parameters()
        entity, path = parameters.text("entity"), parameters.text("path")
        self._catalog.registry.entity(entity)
        start, limit = parameters.start(), parameters.page("limit")
        if parameters.given.get("filter"):
            raise InvalidInput("'filter' is not supported here; search with a browsePaths filter")
        page = await self._catalog.offload(
            self._catalog.store.browse, entity, components(path), start, limit
        )
        groups = [{"name": name, "count": count} for name, count in page.groups]
        return Answer.of(
            {
                "value": {
                    "numEntities": page.total_entities,
                    "numGroups": page.total_groups,
                    "numElements": page.total_groups + page.total_entities,
                    "pageSize": limit,
                    "from": start,
                    "entities": [{"name": name, "urn": urn} for name, urn in page.entities],
                    "groups": groups,
                    "metadata": {
                        "path": path,
                        "totalNumEntities": page.total_below,
                        "groups": groups,
                    },
                }
            }
        )


def _aggregation(name: str, label: str, counts: dict[str, int]) -> dict[str, Any]:
    return {
        "name": name,
        "displayName": label,
        "aggregations": counts,
        "filterValues": [
            {"value": value, "facetCount": count}
            | ({"entity": value} if value.startswith("urn:li:") else {})
            for value, count in counts.items()
        ],
    }
