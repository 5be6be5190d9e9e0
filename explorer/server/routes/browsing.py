"""Walking the folders that entities are found in."""

import orjson

from explorer.server.call import Answer, Call
from explorer.server.catalog import Catalog
from explorer.server.endpoint import Endpoint, parameter
from explorer.server.filters import expand_related, forgive_fields, read_filter
from explorer.server.paths import browse_paths, components
from explorer.server.projection import noted_delimiter
from explorer.server.routes.usage import ENTITY, FILTER, LIMIT, START, URN
from explorer.server.search.page import SearchQuery
from explorer.server.store import BrowsePage

__all__ = ["BrowsingRoutes"]


class BrowsingRoutes:
    """`/entities` where it browses"""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def endpoints(self) -> tuple[Endpoint, ...]:
        return (
            Endpoint(
                "POST",
                "/entities",
                self._browse,
                "folders and entities at a path",
                role="reader",
                action="browse",
                parameters=(
                    parameter("path", "string", "folders between slashes; / is the top", "/prod"),
                    ENTITY,
                    START,
                    LIMIT,
                    FILTER,
                ),
                gives=(
                    "numEntities (right here), numGroups, numElements, pageSize, from, entities "
                    "{name, urn}, groups {name, count}, and metadata with path, totalNumEntities "
                    "(here and below) and the groups again"
                ),
                notes=(
                    "Groups come before entities in a page. Soft-deleted entities are left out.",
                    "A path that nothing is at gives empty lists.",
                    "An entity without browse paths is found where its URN suggests.",
                ),
            ),
            Endpoint(
                "POST",
                "/entities",
                self._paths,
                "the paths at which an entity is found when browsing",
                role="reader",
                action="getBrowsePaths",
                parameters=(URN,),
                gives="the paths as stored, or the one that the URN suggests; none for no entity",
            ),
        )

    async def _browse(self, call: Call) -> Answer:
        parameters = await call.parameters()
        entity, path = parameters.text("entity"), parameters.text("path")
        self._catalog.registry.entity(entity)
        start, limit = parameters.start(), parameters.page("limit")
        narrowed_by = read_filter(parameters.given.get("filter"))
        narrowed_by = expand_related(narrowed_by, self._catalog.store)
        if call.dialect == "datahub":
            narrowed_by = forgive_fields(narrowed_by, (entity,), self._catalog.index.vocabulary)
        query = SearchQuery("*", (entity,), narrowed_by, 0, 0) if narrowed_by else None
        page = await self._catalog.offload(self._read, entity, path, start, limit, query)
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

    def _read(
        self, entity: str, path: str, start: int, limit: int, query: SearchQuery | None
    ) -> BrowsePage:
        store, folders = self._catalog.store, components(path)
        if query is None:
            return store.browse(entity, folders, start, limit)
        return store.browse_among(
            entity, folders, start, limit, self._catalog.index.found_urns(query)
        )

    async def _paths(self, call: Call) -> Answer:
        parameters = await call.parameters()
        urn = self._catalog.intake.read_urn(parameters.text("urn"))
        self._catalog.registry.entity(urn.entity_type)
        store = self._catalog.store
        found: list[str] = []
        if store.existing([str(urn)]):
            stored = store.aspect(str(urn), "browsePaths")
            value = orjson.loads(stored.value) if stored else {}
            delimiter = noted_delimiter(store.note, urn.platform)
            found = browse_paths(urn, value.get("paths"), delimiter)
        return Answer.of({"value": found})
