"""The object types of GraphQL: which kind of entity has which, and the fields that follow from
the aspects a kind carries."""

from collections.abc import Mapping

from msgspec import Struct

from explorer.metadata.registry import Registry
from explorer.server.graphql.names import entity_type_symbol

__all__ = ["GENERIC", "SHAPES", "Shape", "common_fields", "shape_fields", "symbols"]

GENERIC = "GenericEntity"
# Some clients say the symbols of the service's own kinds without it.
_PREFIX = "DATAHUB_"


class Shape(Struct, frozen=True):
    """A kind of entity with an object type of its own; `query` is its field of the root."""

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
    )
}

_ALWAYS = {
    "urn": "String!",
    "type": "EntityType!",
    "exists": "Boolean",
    "lastIngested": "Long",
    "aspects(input: AspectParams)": "[RawAspect!]",
}
# The fields of an entity that carries the aspect.
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
}


def shape_fields(registry: Registry) -> dict[str, dict[str, str]]:
    """The fields that every object type has beside its own, with their types; of the kinds that
    have no object type of their own, all together under `GENERIC`."""
    found: dict[str, dict[str, str]] = {GENERIC: dict(_ALWAYS)}
    for entity_type in registry.entities:
        shape = SHAPES.get(entity_type)
        name = shape.object_type if shape else GENERIC
        found.setdefault(name, {}).update(common_fields(registry, entity_type))
    # A registry of other entities still reads the documents made for these.
    for shape in SHAPES.values():
        found.setdefault(shape.object_type, dict(_ALWAYS))
    return found


def common_fields(registry: Registry, entity_type: str) -> dict[str, str]:
    """The fields of an entity type that follow from the aspects it carries."""
    fields = dict(_ALWAYS)
    for aspect in registry.aspects_of(entity_type):
        fields.update(_BY_ASPECT.get(aspect, {}))
    return fields


def symbols(registry: Registry) -> dict[str, str]:
    """Every symbol of `EntityType` with the entity type it means; some types have two."""
    found = {entity_type_symbol(name): name for name in SHAPES}
    found |= {entity_type_symbol(name): name for name in registry.entities}
    for symbol, name in list(found.items()):
        if symbol.startswith(_PREFIX):
            found.setdefault(symbol.removeprefix(_PREFIX), name)
    return found
