"""The GraphQL object types of entities: symbols of their types, and fields derived from aspects."""

import re
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from explorer.metadata.registry import Registry

BUILT_IN_OWNERSHIP = "urn:li:ownershipType:__system__"
"""The prefix of the URNs of built-in ownership types, which exist whether stored or not."""

PARENT_FIELDS: Mapping[str, str] = {
    "glossaryTerm": "parentNode",
    "glossaryNode": "parentNode",
    "domain": "parentDomain",
}
"""The entity types that form trees, with the field that holds the URN of the parent."""

EDITABLE: Mapping[str, str] = {
    "dataset": "editableDatasetProperties",
    "chart": "editableChartProperties",
    "dashboard": "editableDashboardProperties",
    "dataFlow": "editableDataFlowProperties",
    "dataJob": "editableDataJobProperties",
}
"""The aspect with the edited description, for the entity types that have their own update
mutation."""

DESCRIBED: Mapping[str, tuple[str, str]] = {
    "container": ("editableContainerProperties", "description"),
    "domain": ("domainProperties", "description"),
    "glossaryTerm": ("glossaryTermInfo", "definition"),
    "glossaryNode": ("glossaryNodeInfo", "definition"),
    "tag": ("tagProperties", "description"),
    "corpGroup": ("corpGroupEditableInfo", "description"),
    "notebook": ("editableNotebookProperties", "description"),
    "mlModel": ("editableMlModelProperties", "description"),
    "mlModelGroup": ("editableMlModelGroupProperties", "description"),
    "mlFeature": ("editableMlFeatureProperties", "description"),
    "mlFeatureTable": ("editableMlFeatureTableProperties", "description"),
    "mlPrimaryKey": ("editableMlPrimaryKeyProperties", "description"),
    "dataProduct": ("dataProductProperties", "description"),
    "businessAttribute": ("businessAttributeInfo", "description"),
    "application": ("applicationProperties", "description"),
}
"""The aspect and the field that updateDescription sets, by entity type."""
_IRREGULAR = {
    "corpuser": "CORP_USER",
    "mlModel": "MLMODEL",
    "mlModelGroup": "MLMODEL_GROUP",
    "mlModelDeployment": "MLMODEL_DEPLOYMENT",
    "mlFeature": "MLFEATURE",
    "mlFeatureTable": "MLFEATURE_TABLE",
    "mlPrimaryKey": "MLPRIMARY_KEY",
}
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def entity_type_symbol(entity_type: str) -> str:
    """Return the GraphQL symbol of an entity type: `DATA_PLATFORM` for `dataPlatform`."""
    irregular = _IRREGULAR.get(entity_type)
    if irregular is not None:
        return irregular
    return _HUMP.sub("_", entity_type.replace("dataHub", "datahub")).upper()


def ownership_type(owner: Mapping[str, Any]) -> str:
    """Return the ownership type of an owner as a URN; owners in the older form have only `type`."""
    return owner.get("typeUrn") or f"{BUILT_IN_OWNERSHIP}{(owner.get('type') or 'NONE').lower()}"


def kind_of_owner(owner: Mapping[str, Any]) -> str:
    """Return the ownership type of an owner as people write it: a word (`DATA_STEWARD`) for a
    built-in type, the URN for any other."""
    kind = ownership_type(owner)
    word = kind.removeprefix(BUILT_IN_OWNERSHIP)
    return word.upper() if word != kind else kind


GENERIC = "GenericEntity"
# Some clients send symbols without this prefix.
_PREFIX = "DATAHUB_"


class Shape(Struct, frozen=True):
    """An entity type with an object type of its own; `query` is its field of `Query`."""

    entity_type: str
    object_type: str
    query: str


SHAPES: Mapping[str, Shape] = {
    shape.entity_type: shape
    for shape in (
        Shape("dataset", "Dataset", "dataset"),
        Shape("container", "Container", "container"),
        Shape("chart", "Chart", "chart"),
        Shape("dashboard", "Dashboard", "dashboard"),
        Shape("dataFlow", "DataFlow", "dataFlow"),
        Shape("dataJob", "DataJob", "dataJob"),
        Shape("corpuser", "CorpUser", "corpUser"),
        Shape("corpGroup", "CorpGroup", "corpGroup"),
        Shape("tag", "Tag", "tag"),
        Shape("glossaryTerm", "GlossaryTerm", "glossaryTerm"),
        Shape("glossaryNode", "GlossaryNode", "glossaryNode"),
        Shape("domain", "Domain", "domain"),
        Shape("dataPlatform", "DataPlatform", "dataPlatform"),
        Shape("dataPlatformInstance", "DataPlatformInstance", "dataPlatformInstance"),
        Shape("dataProduct", "DataProduct", "dataProduct"),
        Shape("mlModel", "MLModel", "mlModel"),
        Shape("mlModelGroup", "MLModelGroup", "mlModelGroup"),
        Shape("mlFeature", "MLFeature", "mlFeature"),
        Shape("mlFeatureTable", "MLFeatureTable", "mlFeatureTable"),
        Shape("mlPrimaryKey", "MLPrimaryKey", "mlPrimaryKey"),
        Shape("notebook", "Notebook", "notebook"),
        Shape("assertion", "Assertion", "assertion"),
        Shape("schemaField", "SchemaFieldEntity", "schemaField"),
        Shape("dataType", "DataTypeEntity", "dataType"),
        Shape("entityType", "EntityTypeEntity", "entityType"),
        Shape("structuredProperty", "StructuredPropertyEntity", "structuredProperty"),
        Shape("ownershipType", "OwnershipTypeEntity", "ownershipType"),
        Shape("dataProcessInstance", "DataProcessInstance", "dataProcessInstance"),
        Shape("query", "QueryEntity", "query"),
        Shape("document", "Document", "document"),
        Shape("incident", "Incident", "incident"),
        Shape("application", "Application", "application"),
        Shape("businessAttribute", "BusinessAttribute", "businessAttribute"),
        Shape("dataHubView", "DataHubView", "view"),
    )
}

_ALWAYS = {
    "urn": "String!",
    "type": "EntityType!",
    "exists": "Boolean",
    "lastIngested": "Long",
    "aspects(input: AspectParams)": "[RawAspect!]",
    "relationships(input: RelationshipsInput!)": "EntityRelationshipsResult",
}
# The fields of entities that have the aspect.
_BY_ASPECT: Mapping[str, Mapping[str, str]] = {
    "institutionalMemory": {"institutionalMemory": "InstitutionalMemory"},
    "status": {"status": "Status"},
    "ownership": {"ownership": "Ownership"},
    "globalTags": {
        "tags": "GlobalTags",
        "globalTags": 'GlobalTags @deprecated(reason: "Use tags")',
    },
    "glossaryTerms": {"glossaryTerms": "GlossaryTerms"},
    "domains": {"domain": "DomainAssociation"},
    "deprecation": {"deprecation": "Deprecation"},
    "container": {"container": "Container", "parentContainers": "ParentContainersResult"},
    "dataPlatformInstance": {"dataPlatformInstance": "DataPlatformInstance"},
    "subTypes": {"subTypes": "SubTypes"},
    "browsePaths": {"browsePaths": "[BrowsePath!]"},
    "browsePathsV2": {"browsePathV2": "BrowsePathV2"},
    "structuredProperties": {"structuredProperties": "StructuredProperties"},
    "siblings": {"siblings": "SiblingProperties"},
    "embed": {"embed": "Embed"},
    "displayProperties": {"displayProperties": "DisplayProperties"},
    "documentation": {"documentation": "Documentation"},
    "businessAttributes": {"businessAttributes": "BusinessAttributes"},
}
# The fields of entities that can be the target of the relationship.
_BY_RELATIONSHIP: Mapping[str, Mapping[str, str]] = {
    "IncidentOn": {
        "incidents(state: IncidentState, stage: IncidentStage, priority: IncidentPriority, "
        "assigneeUrns: [String!], start: Int, count: Int)": "EntityIncidentsResult",
        "health": "[Health!]",
    },
    "RelatedAsset": {
        "relatedDocuments(input: RelatedDocumentsInput!)": "RelatedDocumentsResult",
    },
}


def shape_fields(registry: Registry) -> dict[str, dict[str, str]]:
    """Return the additional fields of each object type with their types: those derived from its
    aspects, and from the relationships that may point at it. Entity types without an object type of
    their own share those under `GENERIC`."""
    fields_by_type: dict[str, dict[str, str]] = {GENERIC: dict(_ALWAYS)}
    for entity_type in registry.entities:
        fields = fields_by_type.setdefault(_type_name(entity_type), dict(_ALWAYS))
        for aspect in registry.aspects_of(entity_type):
            fields.update(_BY_ASPECT.get(aspect, {}))
    for declared in registry.aspects.values():
        for relationship in declared.relationships:
            added = _BY_RELATIONSHIP.get(relationship.name, {})
            for entity_type in relationship.to if added else ():
                fields_by_type.setdefault(_type_name(entity_type), dict(_ALWAYS)).update(added)
    # GraphQL documents that select these types must be valid even if the registry lacks some.
    for shape in SHAPES.values():
        fields_by_type.setdefault(shape.object_type, dict(_ALWAYS))
    return fields_by_type


def _type_name(entity_type: str) -> str:
    shape = SHAPES.get(entity_type)
    return shape.object_type if shape else GENERIC


def symbols(registry: Registry) -> dict[str, str]:
    """Return every symbol of `EntityType` with its entity type; some types have two symbols."""
    types_by_symbol = {entity_type_symbol(name): name for name in SHAPES}
    types_by_symbol |= {entity_type_symbol(name): name for name in registry.entities}
    for symbol, name in list(types_by_symbol.items()):
        if symbol.startswith(_PREFIX):
            types_by_symbol.setdefault(symbol.removeprefix(_PREFIX), name)
    return types_by_symbol
