"""How entities are answered that nobody searched for: by URN, in trees, and who asks."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from explorer import __version__
from explorer.errors import InvalidUrn
from explorer.metadata.urn import Urn
from explorer.query.filters import Criterion, Filter
from explorer.server.graphql.asking import Given, page_bounds, read_query, read_types
from explorer.server.graphql.assembly import Resolvers
from explorer.server.graphql.fields import Value, entities
from explorer.server.graphql.finding import found
from explorer.server.graphql.nodes import Info, Node
from explorer.server.graphql.shapes import symbols
from explorer.server.intake.change import UNKNOWN_ACTOR
from explorer.server.search.page import SearchQuery, SortBy

__all__ = ["RESOLVERS"]

# There are no roles: whoever gets in may do what there is to do, and nothing manages the rest.
_MAY = ("manageDomains", "createDomains", "manageGlossaries", "createTags", "manageTags")
_MAY_NOT = (
    "viewAnalytics",
    "managePolicies",
    "manageIdentities",
    "generatePersonalAccessTokens",
    "manageIngestion",
    "manageSecrets",
    "manageTokens",
    "manageTests",
)
_ROOT_ONLY = "parentNode"
_GLOBAL_SETTINGS = "urn:li:globalSettings:0"
_QUERIES_BY = {"source": "source", "datasetUrn": "entities"}
_NEWEST_FIRST = (SortBy("lastModifiedAt", descending=True),)


def _entity(_root: Any, info: Info, urn: str) -> Node | None:
    return info.context.existing(urn)


async def _entities(_root: Any, info: Info, urns: list[str], **given: Any) -> list[Node | None]:
    with_missing = given.get("checkForExistence") is False
    for urn in urns:
        info.context.catalog.intake.check_urn(Urn.parse(urn))
    nodes = await info.context.read(urns)
    return [node if node.exists or with_missing else None for node in nodes]


def _exists(_root: Any, info: Info, urn: str) -> bool:
    return str(Urn.parse(urn)) in info.context.catalog.store.existing([urn])


def _me(_root: Any, info: Info) -> Value:
    try:
        actor = Urn.parse(info.context.actor)
    except InvalidUrn:
        actor = Urn.parse(UNKNOWN_ACTOR)
    privileges = dict.fromkeys(_MAY, True) | dict.fromkeys(_MAY_NOT, False)
    return {"corpUser": info.context.node(actor), "platformPrivileges": privileges}


async def _domains(_root: Any, info: Info, **given: Any) -> Value:
    asked: Given = given["input"]
    parent = asked.get("parentDomain")
    where = (
        Criterion("parentDomain", (parent,)) if parent else Criterion("parentDomain", (), "IS_NULL")
    )
    text = asked.get("query") or ""
    # A text is looked for in every domain, wherever it is.
    wanted = Filter(((where,),)) if parent or text in ("", "*") else Filter()
    return await _tree(info, "domain", text, wanted, asked)


async def _root_terms(_root: Any, info: Info, **given: Any) -> Value:
    return await _tree(info, "glossaryTerm", "", _in_no_node(), given["input"])


async def _root_nodes(_root: Any, info: Info, **given: Any) -> Value:
    return await _tree(info, "glossaryNode", "", _in_no_node(), given["input"])


def _in_no_node() -> Filter:
    return Filter(((Criterion(_ROOT_ONLY, (), "IS_NULL"),),))


async def _tree(info: Info, entity_type: str, text: str, wanted: Filter, asked: Given) -> Value:
    """A page of what is at one place of a tree, by name."""
    start, count = page_bounds(asked)
    sort = (SortBy("name"),)
    return await _page(
        info, SearchQuery(text, (entity_type,), wanted, start, count, facets=False, sort=sort)
    )


async def _page(info: Info, query: SearchQuery) -> Value:
    page = await info.context.catalog.offload(info.context.catalog.index.search, query)
    return {
        "start": query.start,
        "count": len(page.hits),
        "total": page.total,
        "urns": [hit.urn for hit in page.hits],
    }


def _config(_root: Any, _info: Info) -> Value:
    return {
        "appVersion": __version__,
        "telemetryConfig": {"enableThirdPartyLogging": False},
        "semanticSearchConfig": {"enabled": False, "enabledEntities": []},
    }


def _view_settings(_root: Any, info: Info) -> Value:
    settings = info.context.node(_GLOBAL_SETTINGS).aspect("globalSettingsInfo") or {}
    views: Value = settings.get("views") or {}
    return views


async def _queries(_root: Any, info: Info, **given: Any) -> Value:
    asked: Given = given["input"]
    criteria = [
        Criterion(field, (asked[name],))
        for name, field in _QUERIES_BY.items()
        if asked.get(name) is not None
    ]
    query = _listed(info, "query", asked, criteria)
    return await _page(info, query if query.sort else replace(query, sort=_NEWEST_FIRST))


async def _ownership_types(_root: Any, info: Info, **given: Any) -> Value:
    query = _listed(info, "ownershipType", given["input"], ())
    return await _page(info, query if query.text else replace(query, sort=(SortBy("name"),)))


async def _in_domain(node: Node, info: Info, **given: Any) -> Value:
    member = Criterion("domains", (str(node.urn),))
    return await _members(info, given.get("input") or {}, Filter(((member,),)))


async def _in_product(node: Node, info: Info, **given: Any) -> Value:
    """What a data product lists as its own, and what says of itself to belong to it."""
    assets = (node.aspect("dataProductProperties") or {}).get("assets") or ()
    listed = tuple(str(urn) for urn in Urn.parse_all(one.get("destinationUrn") for one in assets))
    says = Criterion("dataProduct", (str(node.urn),))
    groups = ((says,), (Criterion("urn", listed),)) if listed else ((says,),)
    return await _members(info, given.get("input") or {}, Filter(groups))


async def _members(info: Info, asked: Given, members: Filter) -> Value:
    """A page of entities that one of the filter's groups lets through, and what else is asked."""
    known = symbols(info.context.catalog.registry)
    query = read_query(asked, known, read_types(asked, known), info.context, facets=True)
    groups = tuple(
        (*group, *others) for group in members.any_of for others in query.filter.any_of or ((),)
    )
    return await found(info, replace(query, filter=Filter(groups)), asked.get("searchFlags") or {})


def _listed(
    info: Info, entity_type: str, asked: Given, criteria: Sequence[Criterion]
) -> SearchQuery:
    """The search for entities of one type that an input describes, with more criteria."""
    known = symbols(info.context.catalog.registry)
    query = read_query(asked, known, (entity_type,), info.context, facets=False)
    groups = tuple((*group, *criteria) for group in query.filter.any_of or ((),))
    return replace(query, filter=Filter(groups) if groups != ((),) else Filter())


RESOLVERS: Resolvers = {
    "Query": {
        "entity": _entity,
        "entities": _entities,
        "entityExists": _exists,
        "me": _me,
        "appConfig": _config,
        "globalViewsSettings": _view_settings,
        "listQueries": _queries,
        "listOwnershipTypes": _ownership_types,
        "listDomains": _domains,
        "getRootGlossaryTerms": _root_terms,
        "getRootGlossaryNodes": _root_nodes,
    },
    "Domain": {"entities": _in_domain},
    "DataProduct": {"entities": _in_product},
    "ListQueriesResult": {"queries": entities("urns", "query")},
    "ListOwnershipTypesResult": {"ownershipTypes": entities("urns", "ownershipType")},
    "ListDomainsResult": {"domains": entities("urns", "domain")},
    "GetRootGlossaryTermsResult": {"terms": entities("urns", "glossaryTerm")},
    "GetRootGlossaryNodesResult": {"nodes": entities("urns", "glossaryNode")},
}
