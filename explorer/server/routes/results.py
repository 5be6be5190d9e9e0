"""How a page of a search is answered."""

from typing import Any

from explorer.server.call import Parameters
from explorer.server.dialect import Dialect, search_hits
from explorer.server.filters import read_filter
from explorer.server.search.page import Facet, SearchPage, SearchQuery
from explorer.server.sorting import read_sort

__all__ = ["GIVES_RESULTS", "SORTING", "read_search", "search_value"]

GIVES_RESULTS = (
    "numEntities (of all found), pageSize, from, entities, and metadata with urns, the matches of "
    "each entity, an explanation of each (its score, how much of it comes from use, the reason of "
    "its place, the weights of the matched fields in their order), and the facets over the whole "
    "result, as searchResultMetadatas and aggregations (hasMore where a facet has more than the "
    "100 values given); metadata.corrected is what was searched for instead, where a word of the "
    "text is one that nothing has"
)
SORTING = (
    "A sorted result has entities without a value last, of several values the least one counts, "
    "and the URN decides between what is alike. Without a sort the best fit comes first."
)


def read_search(parameters: Parameters, text: str, entities: tuple[str, ...]) -> SearchQuery:
    """The search that an action's parameters ask for; raises `InvalidInput`."""
    return SearchQuery(
        text=text,
        entity_types=entities or None,
        filter=read_filter(parameters.given.get("filter")),
        start=parameters.start(),
        count=parameters.page("count"),
        sort=read_sort(parameters),
    )


def search_value(query: SearchQuery, page: SearchPage, dialect: Dialect) -> dict[str, Any]:
    """The `value` of a search's answer."""
    matched = [
        [{"name": field, "value": value} for field, value in hit.matched] for hit in page.hits
    ]
    hits = [(hit.urn, hit.score, fields) for hit, fields in zip(page.hits, matched, strict=True)]
    corrected = {} if page.corrected is None else {"corrected": page.corrected}
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
                }
                for hit in page.hits
            ],
            "searchResultMetadatas": [
                {"name": facet.name, "aggregations": dict(facet.counts)} for facet in page.facets
            ],
            "aggregations": [_aggregation(facet) for facet in page.facets],
            **corrected,
        },
    }


def _aggregation(facet: Facet) -> dict[str, Any]:
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
