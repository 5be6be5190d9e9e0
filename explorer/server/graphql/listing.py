"""How entities are answered that nobody searched for: by URN, in trees, and who asks."""

from typing import Any

from explorer.errors import InvalidUrn
from explorer.metadata.filters import Criterion, Filter
from explorer.metadata.urn import Urn
from explorer.server.graphql.asking import Given, page_bounds
from explorer.server.graphql.assembly import Resolvers
from explorer.server.graphql.fields import Value, entities
from explorer.server.graphql.finding import found
from explorer.server.graphql.nodes import Info, Node
from explorer.server.intake import UNKNOWN_ACTOR
from explorer.server.search.index import SearchQuery, SortBy

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
    catalog = info.context.catalog
    start, count = page_bounds(asked)
    sort = (SortBy("name"),)
    query = SearchQuery(text, (entity_type,), wanted, start, count, facets=False, sort=sort)
    page = await catalog.offload(catalog.index.search, query)
    return {
        "start": start,
        "count": len(page.hits),
        "total": page.total,
        "urns": [hit.urn for hit in page.hits],
    }


async def _in_domain(node: Node, info: Info, **given: Any) -> Value:
    asked: Given = given.get("input") or {}
    start, count = page_bounds(asked)
    wanted = Filter(((Criterion("domains", (str(node.urn),)),),))
    text = asked.get("query") or ""
    return await found(info, SearchQuery(text, None, wanted, start, count), {})


RESOLVERS: Resolvers = {
    "Query": {
        "entity": _entity,
        "entities": _entities,
        "entityExists": _exists,
        "me": _me,
        "listDomains": _domains,
        "getRootGlossaryTerms": _root_terms,
        "getRootGlossaryNodes": _root_nodes,
    },
    "Domain": {"entities": _in_domain},
    "ListDomainsResult": {"domains": entities("urns", "domain")},
    "GetRootGlossaryTermsResult": {"terms": entities("urns", "glossaryTerm")},
    "GetRootGlossaryNodesResult": {"nodes": entities("urns", "glossaryNode")},
}
