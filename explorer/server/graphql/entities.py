"""Resolvers for entities: by URN, in lists and trees, and for the fields of each entity type."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from explorer.errors import InvalidUrn
from explorer.metadata.urn import UNKNOWN_ACTOR, Urn
from explorer.query.filters import Criterion, Filter
from explorer.server.graphql.aspects import column_type, parents, property_value, record_of
from explorer.server.graphql.object_types import EDITABLE, GENERIC, SHAPES, symbols
from explorer.server.graphql.schema import (
    Resolvers,
    Value,
    described,
    elements,
    entities,
    entity_name,
    or_else,
    properties,
)
from explorer.server.graphql.search import (
    Given,
    page_bounds,
    read_query,
    read_types,
    search_results,
)
from explorer.server.graphql.session import Info, Node, Resolver
from explorer.server.search.query import SearchQuery, SortBy
from explorer.version import __version__

# The platform of documents without one: they were written in this catalog.
_HERE = "urn:li:dataPlatform:datahub"
_ANY_OF = {"parentDocuments": "parentDocument", "types": "typeNames", "domains": "domains"}


def _document_platform(node: Node, info: Info) -> Any:
    return info.context.refer(node.platform() or _HERE, info)


def _sub_type(node: Node, _info: Info) -> str | None:
    names = (node.aspect("subTypes") or {}).get("typeNames") or ()
    return next((name for name in names if isinstance(name, str)), None)


def _parent_document(value: Value, _info: Info) -> Value | None:
    parent: Value = value.get("parentDocument") or {}
    urns = Urn.parse_all((parent.get("document"),))
    return parent if any(urn.entity_type == "document" for urn in urns) else None


async def _resolve_relationships(node: Node, info: Info, **given: Any) -> Value:
    arguments = given["input"]
    start, count = page_bounds(arguments)
    criteria = [Criterion("relatedAssets", (str(node.urn),))]
    criteria += [
        Criterion(field, tuple(arguments[name]))
        for name, field in _ANY_OF.items()
        if arguments.get(name)
    ]
    if arguments.get("rootOnly"):
        criteria.append(Criterion("parentDocument", (), "IS_NULL"))
    if arguments.get("sourceType"):
        # A document without a source was written in this catalog, so it counts as NATIVE.
        criteria.append(
            Criterion("sourceType", ("EXTERNAL",), negated=arguments["sourceType"] == "NATIVE")
        )
    query = SearchQuery("", ("document",), Filter((tuple(criteria),)), start, count)
    results = await search_results(info, query, {})
    urns = [search_result["entity"] for search_result in results["searchResults"]]
    return {**results, "urns": urns}


# An editor has these privileges. Nobody has those below, because the service has no such features.
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
# The number of runs of a job that DataHub returns by default.
_RUNS = 20
_QUERIES_BY = {"source": "source", "datasetUrn": "entities"}
_NEWEST_FIRST = (SortBy("lastModifiedAt", descending=True),)


def _entity(_root: Any, info: Info, urn: str) -> Any:
    return info.context.find_entity(urn)


async def _entities(_root: Any, info: Info, urns: list[str], **given: Any) -> list[Node | None]:
    with_missing = given.get("checkForExistence") is False
    for urn in urns:
        info.context.catalog.intake.check_urn(Urn.parse(urn))
    nodes = await info.context.read(urns)
    return [node if node.exists or with_missing else None for node in nodes]


async def _exists(_root: Any, info: Info, urn: str) -> bool:
    catalog = info.context.catalog
    return str(Urn.parse(urn)) in await catalog.read_few(catalog.store.existing, [urn])


def _me(_root: Any, info: Info) -> Value:
    try:
        actor = Urn.parse(info.context.actor)
    except InvalidUrn:
        actor = Urn.parse(UNKNOWN_ACTOR)
    may_edit = info.context.access.has("editor")
    privileges = dict.fromkeys(_MAY, may_edit) | dict.fromkeys(_MAY_NOT, False)
    return {"corpUser": str(actor), "platformPrivileges": privileges}


async def _domains(_root: Any, info: Info, **given: Any) -> Value:
    arguments: Given = given["input"]
    parent = arguments.get("parentDomain")
    where = (
        Criterion("parentDomain", (parent,)) if parent else Criterion("parentDomain", (), "IS_NULL")
    )
    text = arguments.get("query") or ""
    # Without a parent, a text is searched for in all domains, not only in those at the top level.
    condition = Filter(((where,),)) if parent or text in ("", "*") else Filter()
    return await _tree(info, "domain", text, condition, arguments)


async def _root_terms(_root: Any, info: Info, **given: Any) -> Value:
    return await _tree(info, "glossaryTerm", "", _in_no_node(), given["input"])


async def _root_nodes(_root: Any, info: Info, **given: Any) -> Value:
    return await _tree(info, "glossaryNode", "", _in_no_node(), given["input"])


def _in_no_node() -> Filter:
    return Filter(((Criterion(_ROOT_ONLY, (), "IS_NULL"),),))


async def _tree(
    info: Info, entity_type: str, text: str, condition: Filter, arguments: Given
) -> Value:
    """Return a page of the entities at one place in a tree, sorted by name."""
    start, count = page_bounds(arguments)
    sort = (SortBy("name"),)
    return await _page(
        info, SearchQuery(text, (entity_type,), condition, start, count, facets=False, sort=sort)
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


async def _view_settings(_root: Any, info: Info) -> Value:
    (settings,) = await info.context.read([_GLOBAL_SETTINGS])
    views: Value = (settings.aspect("globalSettingsInfo") or {}).get("views") or {}
    return views


async def _queries(_root: Any, info: Info, **given: Any) -> Value:
    arguments: Given = given["input"]
    criteria = [
        Criterion(field, (arguments[name],))
        for name, field in _QUERIES_BY.items()
        if arguments.get(name) is not None
    ]
    query = await _list_query(info, "query", arguments, criteria)
    return await _page(info, query if query.sort else replace(query, sort=_NEWEST_FIRST))


async def _runs_of_job(node: Node, info: Info, **given: Any) -> Value:
    start, count = page_bounds(given, _RUNS)
    of_job = Filter(((Criterion("parentTemplate", (str(node.urn),)),),))
    sort = (SortBy("created", descending=True),)
    types = ("dataProcessInstance",)
    return await _page(info, SearchQuery("*", types, of_job, start, count, facets=False, sort=sort))


async def _ownership_types(_root: Any, info: Info, **given: Any) -> Value:
    query = await _list_query(info, "ownershipType", given["input"], ())
    return await _page(info, query if query.text else replace(query, sort=(SortBy("name"),)))


async def _in_domain(node: Node, info: Info, **given: Any) -> Value:
    member = Criterion("domains", (str(node.urn),))
    return await _members(info, given.get("input") or {}, Filter(((member,),)))


async def _in_product(node: Node, info: Info, **given: Any) -> Value:
    """Return a page of the assets of a data product: those that its own aspect lists, and those
    whose aspects name the product."""
    assets = (node.aspect("dataProductProperties") or {}).get("assets") or ()
    listed = tuple(
        str(urn) for urn in Urn.parse_all(asset.get("destinationUrn") for asset in assets)
    )
    says = Criterion("dataProduct", (str(node.urn),))
    groups = ((says,), (Criterion("urn", listed),)) if listed else ((says,),)
    return await _members(info, given.get("input") or {}, Filter(groups))


async def _members(info: Info, arguments: Given, members: Filter) -> Value:
    """Return a page of the entities that match both `members` and the search that the arguments
    describe."""
    names = symbols(info.context.catalog.registry)
    types = read_types(arguments, names)
    query = await read_query(arguments, names, types, info.context, facets=True)
    groups = tuple(
        (*group, *criteria) for group in members.any_of for criteria in query.filter.any_of or ((),)
    )
    return await search_results(
        info, replace(query, filter=Filter(groups)), arguments.get("searchFlags") or {}
    )


async def _list_query(
    info: Info, entity_type: str, arguments: Given, criteria: Sequence[Criterion]
) -> SearchQuery:
    """Return the search for entities of one type that an input describes, with these criteria
    added."""
    names = symbols(info.context.catalog.registry)
    query = await read_query(arguments, names, (entity_type,), info.context, facets=False)
    groups = tuple((*group, *criteria) for group in query.filter.any_of or ((),))
    return replace(query, filter=Filter(groups) if groups != ((),) else Filter())


def type_of(value: Any, _info: Info, _abstract: Any) -> str:
    """Return the object type of a value of an interface or a union."""
    if isinstance(value, Node):
        shape = SHAPES.get(value.urn.entity_type)
        return shape.object_type if shape else GENERIC
    return str(value["__typename"])


def _root(entity_type: str) -> Resolver:
    return lambda _root, info, urn: info.context.find_entity(urn, entity_type)


def _tag_name(node: Node, _info: Info) -> str:
    name: str = (node.aspect("tagProperties") or {}).get("name") or node.urn.name
    return name


def _inputs(value: Value, info: Info) -> list[Any]:
    """Return the datasets that a chart reads: from `inputEdges` or, if there are none, from the
    older field `inputs`."""
    edges = [edge.get("destinationUrn") for edge in value.get("inputEdges") or ()]
    older = [
        input_ if isinstance(input_, str) else next(iter(input_.values()), None)
        for input_ in value.get("inputs") or ()
    ]
    return list(entities("urns", "dataset")({"urns": edges or older}, info))


def _edges(edges: str, older: str, entity_type: str) -> Resolver:
    def resolve(value: Value, info: Info) -> list[Any]:
        urns = [edge.get("destinationUrn") for edge in value.get(edges) or ()]
        targets = {"urns": list(dict.fromkeys([*urns, *(value.get(older) or ())]))}
        return list(entities("urns", entity_type)(targets, info))

    return resolve


def _enum_or_text(value: Value, _info: Info) -> str | None:
    """Return a version as a string, even if it is stored as a record."""
    version = value.get("version")
    return version.get("versionTag") if isinstance(version, dict) else version


def _definition(node: Node, _info: Info) -> Value | None:
    aspect = node.aspect("propertyDefinition")
    return aspect and {
        "cardinality": "SINGLE",
        **aspect,
        "immutable": aspect.get("immutable") is True,
        "isFacet": (node.aspect("structuredPropertySettings") or {}).get("showInSearchFilters"),
    }


def _subjects(node: Node, _info: Info) -> list[Value] | None:
    aspect = node.aspect("querySubjects")
    if aspect is None:
        return None
    urns = Urn.parse_all(subject.get("entity") for subject in aspect.get("subjects") or ())
    return [
        {"dataset": urn.parts[0] if urn.entity_type == "schemaField" else str(urn)}
        | ({"schemaField": str(urn)} if urn.entity_type == "schemaField" else {})
        for urn in urns
    ]


_PARENT_NODES = parents("glossaryTermInfo.parentNode", "glossaryNodeInfo.parentNode")
_dataset_properties = properties("datasetProperties", "editableDatasetProperties")


def _description(node: Node, info: Info) -> str | None:
    dataset_properties: Value | None = _dataset_properties(node, info)
    return (dataset_properties or {}).get("description")


RESOLVERS: Resolvers = {
    "Query": {
        **{shape.query: _root(shape.entity_type) for shape in SHAPES.values()},
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
    GENERIC: {"name": entity_name},
    "Entity": {"relatedDocuments": _resolve_relationships},
    "Document": {
        "platform": _document_platform,
        "subType": _sub_type,
        "info": "documentInfo",
        "settings": "documentSettings",
        "parentDocuments": parents("documentInfo.parentDocument.document"),
    },
    "DocumentInfo": {
        "relatedAssets": elements("relatedAssets", "asset"),
        "relatedDocuments": elements("relatedDocuments", "document", "document"),
        "parentDocument": _parent_document,
    },
    "DocumentSettings": {"showInGlobalContext": or_else("showInGlobalContext", True)},
    "Dataset": {
        "properties": _dataset_properties,
        "description": _description,
        "editableProperties": EDITABLE["dataset"],
        "fineGrainedLineages": "upstreamLineage.fineGrainedLineages",
    },
    "DatasetProperties": {"created": "created.time", "createdActor": "created.actor"},
    "ViewProperties": {
        "logic": "viewLogic",
        "formattedLogic": "formattedViewLogic",
        "language": "viewLanguage",
    },
    "Container": described("containerProperties", "editableContainerProperties"),
    "Chart": {
        **described("chartInfo", EDITABLE["chart"], "title"),
        "tool": "dashboardTool",
        "query": "chartQuery",
    },
    "ChartProperties": {
        "inputs": _inputs,
        "created": "lastModified.created",
        "lastModified": "lastModified.lastModified",
    },
    "Dashboard": {
        **described("dashboardInfo", EDITABLE["dashboard"], "title"),
        "tool": "dashboardTool",
    },
    "DashboardProperties": {
        "charts": _edges("chartEdges", "charts", "chart"),
        "datasets": _edges("datasetEdges", "datasets", "dataset"),
        "created": "lastModified.created",
        "lastModified": "lastModified.lastModified",
    },
    "DataFlow": described("dataFlowInfo", EDITABLE["dataFlow"]),
    "DataJob": {
        **described("dataJobInfo", EDITABLE["dataJob"]),
        "dataFlow": "flow",
        "inputOutput": "dataJobInputOutput",
        "runs": _runs_of_job,
    },
    "DataJobInputOutput": {
        "inputDatasets": _edges("inputDatasetEdges", "inputDatasets", "dataset"),
        "outputDatasets": _edges("outputDatasetEdges", "outputDatasets", "dataset"),
        "inputDatajobs": _edges("inputDatajobEdges", "inputDatajobs", "dataJob"),
    },
    "DataPlatform": {
        "name": "platformName",
        "displayName": "dataPlatformInfo.displayName",
        "properties": "dataPlatformInfo",
    },
    "DataPlatformInstance": {
        "instanceId": "instance",
        "properties": properties("dataPlatformInstanceProperties"),
    },
    "CorpUser": {
        "properties": "corpUserInfo",
        "info": "corpUserInfo",
        "editableProperties": "corpUserEditableInfo",
        "editableInfo": "corpUserEditableInfo",
        "status": "corpUserStatus.status",
        "settings": "corpUserSettings",
    },
    "CorpUserProperties": {"manager": "managerUrn"},
    "CorpGroup": {
        "properties": "corpGroupInfo",
        "info": "corpGroupInfo",
        "editableProperties": "corpGroupEditableInfo",
    },
    "Tag": {
        "name": _tag_name,
        "description": "tagProperties.description",
        "properties": "tagProperties",
    },
    "GlossaryTerm": {
        "hierarchicalName": "name",
        "properties": properties("glossaryTermInfo"),
        "glossaryTermInfo": properties("glossaryTermInfo"),
        "parentNodes": _PARENT_NODES,
    },
    "GlossaryTermProperties": {"description": "definition"},
    "GlossaryNode": {
        "properties": properties("glossaryNodeInfo"),
        "parentNodes": _PARENT_NODES,
    },
    "GlossaryNodeProperties": {"description": "definition"},
    "Domain": {
        "properties": properties("domainProperties"),
        "parentDomains": parents("domainProperties.parentDomain"),
        "entities": _in_domain,
    },
    "DataProduct": {"properties": properties("dataProductProperties"), "entities": _in_product},
    "DataProductProperties": {"numAssets": lambda value, _info: len(value.get("assets") or ())},
    "MLModel": {
        **described("mlModelProperties", "editableMlModelProperties"),
        "description": "mlModelProperties.description",
    },
    "MLModelProperties": {"version": _enum_or_text},
    "MLModelGroup": {
        **described("mlModelGroupProperties", "editableMlModelGroupProperties"),
        "description": "mlModelGroupProperties.description",
    },
    "MLFeature": {
        **described("mlFeatureProperties", "editableMlFeatureProperties"),
        "description": "mlFeatureProperties.description",
        "dataType": "mlFeatureProperties.dataType",
    },
    "MLFeatureTable": {
        **described("mlFeatureTableProperties", "editableMlFeatureTableProperties"),
        "description": "mlFeatureTableProperties.description",
        "featureTableProperties": properties(
            "mlFeatureTableProperties", "editableMlFeatureTableProperties"
        ),
    },
    "MLPrimaryKey": {
        **described("mlPrimaryKeyProperties", "editableMlPrimaryKeyProperties"),
        "description": "mlPrimaryKeyProperties.description",
        "dataType": "mlPrimaryKeyProperties.dataType",
    },
    "Notebook": {
        "tool": "notebookTool",
        "info": "notebookInfo",
        "editableProperties": "editableNotebookProperties",
    },
    "StructuredPropertyEntity": {"definition": _definition},
    "AllowedValue": {"value": lambda allowed, _info: property_value(allowed.get("value"))},
    "OwnershipTypeEntity": {"info": "ownershipTypeInfo"},
    "DataProcessInstance": {
        "name": "dataProcessInstanceProperties.name",
        "created": "dataProcessInstanceProperties.created",
        "externalUrl": "dataProcessInstanceProperties.externalUrl",
        "properties": properties("dataProcessInstanceProperties"),
    },
    "QueryEntity": {"properties": "queryProperties", "subjects": _subjects},
    "Application": {"properties": properties("applicationProperties")},
    "BusinessAttribute": {"properties": properties("businessAttributeInfo")},
    "BusinessAttributeInfo": {
        "type": lambda value, _info: value.get("type") and column_type(record_of(value)),
        "tags": "globalTags",
    },
    "DataHubView": {
        "name": entity_name,
        "description": "dataHubViewInfo.description",
        "viewType": "dataHubViewInfo.type",
    },
}
