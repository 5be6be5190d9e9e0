"""How each kind of entity is answered: by its URN, and in the fields of its own."""

from typing import Any

from explorer.metadata.urn import Urn
from explorer.server.graphql.aspects import parents, property_value
from explorer.server.graphql.assembly import Resolvers
from explorer.server.graphql.columns import column_type, record_of
from explorer.server.graphql.fields import (
    Resolver,
    Value,
    custom_properties,
    entities,
    entity,
    entity_or_null,
    flat,
    key,
    named,
    or_else,
    properties,
    renamed,
    stored,
)
from explorer.server.graphql.nodes import Info, Node
from explorer.server.graphql.shapes import GENERIC, SHAPES

__all__ = ["RESOLVERS", "type_of"]

_NEVER = {"time": 0, "actor": None}


def type_of(value: Any, _info: Info, _abstract: Any) -> str:
    """The object type of what stands behind an interface or a union."""
    if isinstance(value, Node):
        shape = SHAPES.get(value.urn.entity_type)
        return shape.object_type if shape else GENERIC
    return str(value["__typename"])


def _root(entity_type: str) -> Resolver:
    return lambda _root, info, urn: info.context.existing(urn, entity_type)


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
    """The datasets a chart reads: today's edges, else the older list of unions."""
    edges = [edge.get("destinationUrn") for edge in value.get("inputEdges") or ()]
    older = [
        one if isinstance(one, str) else next(iter(one.values()), None)
        for one in value.get("inputs") or ()
    ]
    return list(entities("urns", "dataset")({"urns": edges or older}, info))


def _edges(edges: str, older: str, entity_type: str) -> Resolver:
    def resolve(value: Value, info: Info) -> list[Any]:
        urns = [edge.get("destinationUrn") for edge in value.get(edges) or ()]
        given = {"urns": list(dict.fromkeys([*urns, *(value.get(older) or ())]))}
        return list(entities("urns", entity_type)(given, info))

    return resolve


def _stamp(field: str) -> Resolver:
    """One of the audit stamps that are kept together."""

    def resolve(value: Value, _info: Info) -> Any:
        return (value.get("lastModified") or {}).get(field) or _NEVER

    return resolve


def _time(field: str) -> Resolver:
    return lambda value, _info: value.get(field) or _NEVER


def _enum_or_text(value: Value, _info: Info) -> str | None:
    """A version, which is a record, as its text."""
    found = value.get("version")
    return found.get("versionTag") if isinstance(found, dict) else found


async def _parent_nodes(node: Node, info: Info) -> Value:
    aspect = "glossaryTermInfo" if node.urn.entity_type == "glossaryTerm" else "glossaryNodeInfo"
    found = await parents(node, info, aspect, "parentNode")
    return {"count": len(found), "nodes": found}


async def _parent_domains(node: Node, info: Info) -> Value:
    found = await parents(node, info, "domainProperties", "parentDomain")
    return {"count": len(found), "domains": found}


def _view(node: Node, _info: Info) -> Value | None:
    found = node.aspect("viewProperties")
    return found and {
        "materialized": found.get("materialized"),
        "logic": found.get("viewLogic"),
        "formattedLogic": found.get("formattedViewLogic"),
        "language": found.get("viewLanguage"),
    }


def _definition(node: Node, _info: Info) -> Value | None:
    found = node.aspect("propertyDefinition")
    return found and {
        "cardinality": "SINGLE",
        **found,
        "immutable": found.get("immutable") is True,
        "isFacet": (node.aspect("structuredPropertySettings") or {}).get("showInSearchFilters"),
    }


def _subjects(node: Node, _info: Info) -> list[Value] | None:
    found = node.aspect("querySubjects")
    if found is None:
        return None
    urns = Urn.parse_all(one.get("entity") for one in found.get("subjects") or ())
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
        "editableProperties": stored(edited),
    }


_CUSTOM: dict[str, Resolver] = {"customProperties": custom_properties}
_SOURCED: dict[str, Resolver] = {**_CUSTOM, "sources": entities("sources", "dataset")}

_dataset_properties = properties("datasetProperties", "editableDatasetProperties")


def _description(node: Node, info: Info) -> str | None:
    found: Value | None = _dataset_properties(node, info)
    return (found or {}).get("description")


RESOLVERS: Resolvers = {
    "Query": {shape.query: _root(shape.entity_type) for shape in SHAPES.values()},
    GENERIC: {"name": named},
    "Dataset": {
        "name": key(1),
        "origin": key(2),
        "platform": _platform,
        "properties": _dataset_properties,
        "description": _description,
        "editableProperties": stored("editableDatasetProperties"),
        "viewProperties": _view,
        "fineGrainedLineages": flat("upstreamLineage", "fineGrainedLineages"),
    },
    "DatasetProperties": {
        **_CUSTOM,
        "created": lambda value, _info: (value.get("created") or {}).get("time"),
        "createdActor": lambda value, _info: (value.get("created") or {}).get("actor"),
        "lastModified": _time("lastModified"),
    },
    "Container": {
        "platform": _platform,
        "properties": properties("containerProperties", "editableContainerProperties"),
        "editableProperties": stored("editableContainerProperties"),
    },
    "ContainerProperties": _CUSTOM,
    "Chart": {
        "tool": key(0),
        "chartId": key(1),
        "platform": _platform,
        "properties": properties("chartInfo", "editableChartProperties", "title"),
        "editableProperties": stored("editableChartProperties"),
        "query": stored("chartQuery"),
    },
    "ChartProperties": {
        **_CUSTOM,
        "inputs": _inputs,
        "created": _stamp("created"),
        "lastModified": _stamp("lastModified"),
    },
    "Dashboard": {
        "tool": key(0),
        "dashboardId": key(1),
        "platform": _platform,
        "properties": properties("dashboardInfo", "editableDashboardProperties", "title"),
        "editableProperties": stored("editableDashboardProperties"),
    },
    "DashboardProperties": {
        **_CUSTOM,
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
        "editableProperties": stored("editableDataFlowProperties"),
        "versionInfo": stored("versionInfo"),
    },
    "DataFlowProperties": _CUSTOM,
    "DataJob": {
        "jobId": key(1),
        "dataFlow": _flow,
        "platform": _platform,
        "properties": properties("dataJobInfo", "editableDataJobProperties"),
        "editableProperties": stored("editableDataJobProperties"),
        "inputOutput": stored("dataJobInputOutput"),
        "versionInfo": stored("versionInfo"),
    },
    "DataJobProperties": _CUSTOM,
    "DataJobInputOutput": {
        "inputDatasets": _edges("inputDatasetEdges", "inputDatasets", "dataset"),
        "outputDatasets": _edges("outputDatasetEdges", "outputDatasets", "dataset"),
        "inputDatajobs": _edges("inputDatajobEdges", "inputDatajobs", "dataJob"),
    },
    "DataPlatform": {
        "name": key(0),
        "displayName": flat("dataPlatformInfo", "displayName"),
        "properties": stored("dataPlatformInfo"),
    },
    "DataPlatformInstance": {
        "platform": _parent,
        "instanceId": key(1),
        "properties": properties("dataPlatformInstanceProperties"),
    },
    "DataPlatformInstanceProperties": _CUSTOM,
    "CorpUser": {
        "username": key(0),
        "properties": stored("corpUserInfo"),
        "info": stored("corpUserInfo"),
        "editableProperties": stored("corpUserEditableInfo"),
        "editableInfo": stored("corpUserEditableInfo"),
        "status": flat("corpUserStatus", "status"),
        "settings": stored("corpUserSettings"),
    },
    "CorpUserViewsSettings": {"defaultView": entity_or_null("defaultView")},
    "CorpGroupProperties": {
        "admins": entities("admins", "corpuser"),
        "members": entities("members", "corpuser"),
    },
    "CorpUserProperties": {
        **_CUSTOM,
        "active": or_else("active", False),
        "manager": entity_or_null("managerUrn"),
    },
    "CorpGroup": {
        "name": key(0),
        "properties": stored("corpGroupInfo"),
        "info": stored("corpGroupInfo"),
        "editableProperties": stored("corpGroupEditableInfo"),
    },
    "Tag": {
        "name": _tag_name,
        "description": flat("tagProperties", "description"),
        "properties": stored("tagProperties"),
    },
    "GlossaryTerm": {
        "name": key(0),
        "hierarchicalName": key(0),
        "properties": properties("glossaryTermInfo"),
        "glossaryTermInfo": properties("glossaryTermInfo"),
        "parentNodes": _parent_nodes,
    },
    "GlossaryTermProperties": {**_CUSTOM, "description": renamed("definition")},
    "GlossaryNode": {
        "properties": properties("glossaryNodeInfo"),
        "parentNodes": _parent_nodes,
    },
    "GlossaryNodeProperties": {**_CUSTOM, "description": renamed("definition")},
    "Domain": {
        "id": key(0),
        "properties": properties("domainProperties"),
        "parentDomains": _parent_domains,
    },
    "DomainProperties": _CUSTOM,
    "DataProduct": {"properties": properties("dataProductProperties")},
    "DataProductProperties": {
        **_CUSTOM,
        "numAssets": lambda value, _info: len(value.get("assets") or ()),
    },
    "MLModel": _ml("mlModelProperties", "editableMlModelProperties"),
    "MLModelProperties": {
        **_CUSTOM,
        "version": _enum_or_text,
        "groups": entities("groups", "mlModelGroup"),
    },
    "MLModelGroup": _ml("mlModelGroupProperties", "editableMlModelGroupProperties"),
    "MLModelGroupProperties": _CUSTOM,
    "MLFeature": _ml("mlFeatureProperties", "editableMlFeatureProperties"),
    "MLFeatureProperties": _SOURCED,
    "MLFeatureTable": {
        **_ml("mlFeatureTableProperties", "editableMlFeatureTableProperties"),
        "featureTableProperties": properties(
            "mlFeatureTableProperties", "editableMlFeatureTableProperties"
        ),
    },
    "MLFeatureTableProperties": {
        **_CUSTOM,
        "mlFeatures": entities("mlFeatures", "mlFeature"),
        "mlPrimaryKeys": entities("mlPrimaryKeys", "mlPrimaryKey"),
    },
    "MLPrimaryKey": _ml("mlPrimaryKeyProperties", "editableMlPrimaryKeyProperties"),
    "MLPrimaryKeyProperties": _SOURCED,
    "Notebook": {
        "tool": key(0),
        "notebookId": key(1),
        "platform": _platform,
        "info": stored("notebookInfo"),
        "editableProperties": stored("editableNotebookProperties"),
    },
    "NotebookInfo": _CUSTOM,
    "Assertion": {"platform": _platform},
    "SchemaFieldEntity": {"parent": _parent, "fieldPath": key(1)},
    "StructuredPropertyEntity": {"definition": _definition},
    "StructuredPropertyDefinition": {
        "valueType": entity("valueType"),
        "entityTypes": entities("entityTypes"),
    },
    "AllowedValue": {"value": lambda allowed, _info: property_value(allowed.get("value"))},
    "OwnershipTypeEntity": {"info": stored("ownershipTypeInfo")},
    "DataProcessInstance": {
        "name": flat("dataProcessInstanceProperties", "name"),
        "created": flat("dataProcessInstanceProperties", "created"),
        "externalUrl": flat("dataProcessInstanceProperties", "externalUrl"),
        "properties": properties("dataProcessInstanceProperties"),
        "platform": _platform,
    },
    "DataProcessInstanceProperties": _CUSTOM,
    "QueryEntity": {
        "platform": _platform,
        "properties": stored("queryProperties"),
        "subjects": _subjects,
    },
    "QueryProperties": {"origin": entity_or_null("origin")},
    "QuerySubject": {
        "dataset": entity_or_null("dataset"),
        "schemaField": entity_or_null("schemaField"),
    },
    "Application": {"properties": properties("applicationProperties")},
    "ApplicationProperties": _CUSTOM,
    "BusinessAttribute": {"properties": properties("businessAttributeInfo")},
    "BusinessAttributeInfo": {
        **_CUSTOM,
        "type": lambda value, _info: value.get("type") and column_type(record_of(value)),
        "tags": renamed("globalTags"),
    },
    "DataHubView": {
        "name": named,
        "description": flat("dataHubViewInfo", "description"),
        "viewType": flat("dataHubViewInfo", "type"),
    },
}
