"""How the folders that entities are found in are answered."""

from typing import Any

from explorer.errors import NotFound
from explorer.query.filters import Filter
from explorer.server.catalog import Catalog
from explorer.server.graphql.asking import Given, page_bounds, read_types, wanted_filter
from explorer.server.graphql.assembly import Resolvers
from explorer.server.graphql.fields import Value, entities, entity_or_null
from explorer.server.graphql.nodes import Info
from explorer.server.graphql.shapes import symbols
from explorer.server.paths import browse_paths, components
from explorer.server.projection import noted_delimiter
from explorer.server.search.page import SearchQuery
from explorer.server.store import BrowsePage

__all__ = ["RESOLVERS"]


async def _browse(_root: Any, info: Info, **given: Any) -> Value:
    asked: Given = given["input"]
    catalog = info.context.catalog
    known = symbols(catalog.registry)
    path = tuple(asked.get("path") or ())
    start, count = page_bounds(asked)
    entity_type = known[asked["type"]]
    among = wanted_filter(asked, known, (entity_type,), info.context)
    place = (entity_type, path, start, count)
    page = await catalog.offload(_page, catalog, place, among)
    return {
        "urns": [urn for _, urn in page.entities],
        "groups": [{"name": name, "count": below} for name, below in page.groups],
        "start": start,
        "count": len(page.entities),
        "total": page.total_entities,
        "metadata": {"path": path, "totalNumEntities": page.total_below},
    }


def _page(
    catalog: Catalog, place: tuple[str, tuple[str, ...], int, int], among: Filter
) -> BrowsePage:
    if not among:
        return catalog.store.browse(*place)
    query = SearchQuery("*", (place[0],), among, 0, 0)
    return catalog.store.browse_among(*place, catalog.index.found_urns(query))


async def _browse_v2(_root: Any, info: Info, **given: Any) -> Value:
    asked: Given = given["input"]
    catalog = info.context.catalog
    known = symbols(catalog.registry)
    kind = asked.get("type")
    types = [known[kind]] if kind else read_types(asked, known)
    path = tuple(asked.get("path") or ())
    start, count = page_bounds(asked)
    text = asked.get("query") or "*"
    among = wanted_filter(asked, known, types, info.context)
    page = await catalog.offload(catalog.browse_v2, types, path, start, count, text, among)
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


def _browse_paths(_root: Any, info: Info, **given: Any) -> list[Value]:
    asked: Given = given["input"]
    catalog = info.context.catalog
    node = info.context.existing(asked["urn"], symbols(catalog.registry)[asked["type"]])
    if node is None:
        raise NotFound(f"{asked['urn']} does not exist.")
    stored = (node.aspect("browsePaths") or {}).get("paths")
    delimiter = noted_delimiter(catalog.store.note, node.urn.platform)
    return [{"path": components(path)} for path in browse_paths(node.urn, stored, delimiter)]


RESOLVERS: Resolvers = {
    "Query": {"browse": _browse, "browseV2": _browse_v2, "browsePaths": _browse_paths},
    "BrowseResults": {"entities": entities("urns")},
    "BrowseResultGroupV2": {"entity": entity_or_null("entity")},
}
