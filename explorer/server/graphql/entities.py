"""Resolvers for entities: by URN, in lists and trees, and for the fields of each entity type."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from explorer.errors import InvalidUrn
from explorer.metadata.urn import UNKNOWN_ACTOR, Urn
from explorer.query.filters import Criterion, Filter
from explorer.server.graphql.aspects import column_type, parents, property_value, record_of
from explorer.server.graphql.object_types import GENERIC, SHAPES, symbols
from explorer.server.graphql.schema import (
    Resolvers,
    Value,
    aspect_value,
    entities,
    entity_name,
    flat,
    key,
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


async def _parent_documents(node: Node, info: Info) -> Value:
    above = await parents(node, info, "documentInfo", "parentDocument.document")
    return {"count": len(above), "urns": [str(node.urn) for node in above]}


def _targets(field: str, key: str, *types: str) -> Resolver:
    """Return a resolver that gives the elements of the list `field` whose URN in `key` is of one of
    `types`, or of any known entity type if none are given."""

    def resolve(value: Value, info: Info) -> list[Value]:
        target_types = types or tuple(info.context.catalog.registry.entities)
        return [
            element
            for element in value.get(field) or ()
            if any(urn.entity_type in target_types for urn in Urn.parse_all((element.get(key),)))
        ]

    return resolve


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


DOCUMENT_RESOLVERS: Resolvers = {
    **{
        shape.object_type: {"relatedDocuments": _resolve_relationships} for shape in SHAPES.values()
    },
    GENERIC: {"relatedDocuments": _resolve_relationships},
    "Document": {
        "platform": _document_platform,
        "subType": _sub_type,
        "info": aspect_value("documentInfo"),
        "settings": aspect_value("documentSettings"),
        "parentDocuments": _parent_documents,
    },
    "DocumentInfo": {
        "contents": or_else("contents", {}),
        "created": or_else("created", {}),
        "lastModified": or_else("lastModified", {}),
        "relatedAssets": _targets("relatedAssets", "asset"),
        "relatedDocuments": _targets("relatedDocuments", "document", "document"),
        "parentDocument": _parent_document,
    },
    "DocumentSettings": {"showInGlobalContext": or_else("showInGlobalContext", True)},
}


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
# As many runs of a job as DataHub gives by default.
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
    may_edit = info.context.access.role != "reader"
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
    """Return a page of the assets of a data product: those that it lists, and those that name the
    product themselves."""
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


LIST_RESOLVERS: Resolvers = {
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
}


_NEVER = {"time": 0, "actor": None}


def type_of(value: Any, _info: Info, _abstract: Any) -> str:
    """Return the object type of a value of an interface or a union."""
    if isinstance(value, Node):
        shape = SHAPES.get(value.urn.entity_type)
        return shape.object_type if shape else GENERIC
    return str(value["__typename"])


def _root(entity_type: str) -> Resolver:
    return lambda _root, info, urn: info.context.find_entity(urn, entity_type)


def _platform(node: Node, info: Info) -> Any:
    urn = node.platform()
    return info.context.refer(urn, info) if urn else None


def _tag_name(node: Node, _info: Info) -> str:
    name: str = (node.aspect("tagProperties") or {}).get("name") or node.urn.name
    return name


def _flow(node: Node, info: Info) -> Any:
    return info.context.refer(node.part(0), info)


def _parent(node: Node, info: Info) -> Any:
    return info.context.refer(node.part(0), info)


def _inputs(value: Value, info: Info) -> list[Any]:
    """Return the datasets that a chart reads: from `inputEdges`, or if there are none, from the
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


def _stamp(field: str) -> Resolver:
    """Return a resolver for one of the audit stamps in `lastModified`."""

    def resolve(value: Value, _info: Info) -> Any:
        return (value.get("lastModified") or {}).get(field) or _NEVER

    return resolve


def _time(field: str) -> Resolver:
    return lambda value, _info: value.get(field) or _NEVER


def _enum_or_text(value: Value, _info: Info) -> str | None:
    """Return a version as a string, also if it is stored as a record."""
    version = value.get("version")
    return version.get("versionTag") if isinstance(version, dict) else version


async def _parent_nodes(node: Node, info: Info) -> Value:
    aspect = "glossaryTermInfo" if node.urn.entity_type == "glossaryTerm" else "glossaryNodeInfo"
    nodes = await parents(node, info, aspect, "parentNode")
    return {"count": len(nodes), "urns": [str(node.urn) for node in nodes]}


async def _parent_domains(node: Node, info: Info) -> Value:
    nodes = await parents(node, info, "domainProperties", "parentDomain")
    return {"count": len(nodes), "urns": [str(node.urn) for node in nodes]}


def _view(node: Node, _info: Info) -> Value | None:
    aspect = node.aspect("viewProperties")
    return aspect and {
        "materialized": aspect.get("materialized"),
        "logic": aspect.get("viewLogic"),
        "formattedLogic": aspect.get("formattedViewLogic"),
        "language": aspect.get("viewLanguage"),
    }


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


def _ml(aspect: str, edited: str) -> dict[str, Resolver]:
    return {
        "name": key(1),
        "origin": key(2),
        "featureNamespace": key(0),
        "platform": _platform,
        "description": flat(aspect, "description"),
        "dataType": flat(aspect, "dataType"),
        "properties": properties(aspect, edited),
        "editableProperties": aspect_value(edited),
    }


_dataset_properties = properties("datasetProperties", "editableDatasetProperties")


def _description(node: Node, info: Info) -> str | None:
    dataset_properties: Value | None = _dataset_properties(node, info)
    return (dataset_properties or {}).get("description")


RESOLVERS: Resolvers = {
    "Query": {shape.query: _root(shape.entity_type) for shape in SHAPES.values()},
    GENERIC: {"name": entity_name},
    "Dataset": {
        "name": key(1),
        "origin": key(2),
        "platform": _platform,
        "properties": _dataset_properties,
        "description": _description,
        "editableProperties": aspect_value("editableDatasetProperties"),
        "viewProperties": _view,
        "fineGrainedLineages": flat("upstreamLineage", "fineGrainedLineages"),
    },
    "DatasetProperties": {
        "created": lambda value, _info: (value.get("created") or {}).get("time"),
        "createdActor": lambda value, _info: (value.get("created") or {}).get("actor"),
        "lastModified": _time("lastModified"),
    },
    "Container": {
        "platform": _platform,
        "properties": properties("containerProperties", "editableContainerProperties"),
        "editableProperties": aspect_value("editableContainerProperties"),
    },
    "Chart": {
        "tool": key(0),
        "chartId": key(1),
        "platform": _platform,
        "properties": properties("chartInfo", "editableChartProperties", "title"),
        "editableProperties": aspect_value("editableChartProperties"),
        "query": aspect_value("chartQuery"),
    },
    "ChartProperties": {
        "inputs": _inputs,
        "created": _stamp("created"),
        "lastModified": _stamp("lastModified"),
    },
    "Dashboard": {
        "tool": key(0),
        "dashboardId": key(1),
        "platform": _platform,
        "properties": properties("dashboardInfo", "editableDashboardProperties", "title"),
        "editableProperties": aspect_value("editableDashboardProperties"),
    },
    "DashboardProperties": {
        "charts": _edges("chartEdges", "charts", "chart"),
        "datasets": _edges("datasetEdges", "datasets", "dataset"),
        "created": _stamp("created"),
        "lastModified": _stamp("lastModified"),
    },
    "DataFlow": {
        "orchestrator": key(0),
        "flowId": key(1),
        "cluster": key(2),
        "platform": _platform,
        "properties": properties("dataFlowInfo", "editableDataFlowProperties"),
        "editableProperties": aspect_value("editableDataFlowProperties"),
        "versionInfo": aspect_value("versionInfo"),
    },
    "DataJob": {
        "jobId": key(1),
        "dataFlow": _flow,
        "platform": _platform,
        "properties": properties("dataJobInfo", "editableDataJobProperties"),
        "editableProperties": aspect_value("editableDataJobProperties"),
        "inputOutput": aspect_value("dataJobInputOutput"),
        "versionInfo": aspect_value("versionInfo"),
        "runs": _runs_of_job,
    },
    "DataJobInputOutput": {
        "inputDatasets": _edges("inputDatasetEdges", "inputDatasets", "dataset"),
        "outputDatasets": _edges("outputDatasetEdges", "outputDatasets", "dataset"),
        "inputDatajobs": _edges("inputDatajobEdges", "inputDatajobs", "dataJob"),
    },
    "DataPlatform": {
        "name": key(0),
        "displayName": flat("dataPlatformInfo", "displayName"),
        "properties": aspect_value("dataPlatformInfo"),
    },
    "DataPlatformInstance": {
        "platform": _parent,
        "instanceId": key(1),
        "properties": properties("dataPlatformInstanceProperties"),
    },
    "CorpUser": {
        "username": key(0),
        "properties": aspect_value("corpUserInfo"),
        "info": aspect_value("corpUserInfo"),
        "editableProperties": aspect_value("corpUserEditableInfo"),
        "editableInfo": aspect_value("corpUserEditableInfo"),
        "status": flat("corpUserStatus", "status"),
        "settings": aspect_value("corpUserSettings"),
    },
    "CorpUserProperties": {
        "active": or_else("active", False),
        "manager": "managerUrn",
    },
    "CorpGroup": {
        "name": key(0),
        "properties": aspect_value("corpGroupInfo"),
        "info": aspect_value("corpGroupInfo"),
        "editableProperties": aspect_value("corpGroupEditableInfo"),
    },
    "Tag": {
        "name": _tag_name,
        "description": flat("tagProperties", "description"),
        "properties": aspect_value("tagProperties"),
    },
    "GlossaryTerm": {
        "name": key(0),
        "hierarchicalName": key(0),
        "properties": properties("glossaryTermInfo"),
        "glossaryTermInfo": properties("glossaryTermInfo"),
        "parentNodes": _parent_nodes,
    },
    "GlossaryTermProperties": {"description": "definition"},
    "GlossaryNode": {
        "properties": properties("glossaryNodeInfo"),
        "parentNodes": _parent_nodes,
    },
    "GlossaryNodeProperties": {"description": "definition"},
    "Domain": {
        "id": key(0),
        "properties": properties("domainProperties"),
        "parentDomains": _parent_domains,
    },
    "DataProduct": {"properties": properties("dataProductProperties")},
    "DataProductProperties": {"numAssets": lambda value, _info: len(value.get("assets") or ())},
    "MLModel": _ml("mlModelProperties", "editableMlModelProperties"),
    "MLModelProperties": {"version": _enum_or_text},
    "MLModelGroup": _ml("mlModelGroupProperties", "editableMlModelGroupProperties"),
    "MLFeature": _ml("mlFeatureProperties", "editableMlFeatureProperties"),
    "MLFeatureTable": {
        **_ml("mlFeatureTableProperties", "editableMlFeatureTableProperties"),
        "featureTableProperties": properties(
            "mlFeatureTableProperties", "editableMlFeatureTableProperties"
        ),
    },
    "MLPrimaryKey": _ml("mlPrimaryKeyProperties", "editableMlPrimaryKeyProperties"),
    "Notebook": {
        "tool": key(0),
        "notebookId": key(1),
        "platform": _platform,
        "info": aspect_value("notebookInfo"),
        "editableProperties": aspect_value("editableNotebookProperties"),
    },
    "Assertion": {"platform": _platform},
    "SchemaFieldEntity": {"parent": _parent, "fieldPath": key(1)},
    "StructuredPropertyEntity": {"definition": _definition},
    "AllowedValue": {"value": lambda allowed, _info: property_value(allowed.get("value"))},
    "OwnershipTypeEntity": {"info": aspect_value("ownershipTypeInfo")},
    "DataProcessInstance": {
        "name": flat("dataProcessInstanceProperties", "name"),
        "created": flat("dataProcessInstanceProperties", "created"),
        "externalUrl": flat("dataProcessInstanceProperties", "externalUrl"),
        "properties": properties("dataProcessInstanceProperties"),
        "platform": _platform,
    },
    "QueryEntity": {
        "platform": _platform,
        "properties": aspect_value("queryProperties"),
        "subjects": _subjects,
    },
    "Application": {"properties": properties("applicationProperties")},
    "BusinessAttribute": {"properties": properties("businessAttributeInfo")},
    "BusinessAttributeInfo": {
        "type": lambda value, _info: value.get("type") and column_type(record_of(value)),
        "tags": "globalTags",
    },
    "DataHubView": {
        "name": entity_name,
        "description": flat("dataHubViewInfo", "description"),
        "viewType": flat("dataHubViewInfo", "type"),
    },
}
