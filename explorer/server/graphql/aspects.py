"""Resolvers for the aspects that many entity types have, and for the columns of a dataset."""

from typing import TYPE_CHECKING, Any, cast

import orjson

from explorer.metadata.fieldpath import earlier_paths, written_entries
from explorer.metadata.proposal import NO_RUN
from explorer.metadata.urn import Urn
from explorer.server.browse import derive_path
from explorer.server.cache import cache_short
from explorer.server.graphql.schema import (
    Resolvers,
    Value,
    description_text,
    elements,
    entities,
    entity,
    entries,
    reader,
    symbol,
)
from explorer.server.graphql.session import Info, Node, Resolver
from explorer.server.projection import read_delimiter
from explorer.server.search.document import BROWSE_PATHS
from explorer.server.store import StoredAspect

if TYPE_CHECKING:
    from graphql.type import GraphQLEnumType

_TYPES = frozenset(
    {
        "BOOLEAN",
        "FIXED",
        "STRING",
        "BYTES",
        "NUMBER",
        "DATE",
        "TIME",
        "ENUM",
        "NULL",
        "MAP",
        "ARRAY",
        "UNION",
        "STRUCT",
    }
)
# The fields that hold the text of the schema in the records of platform schemas.
_TEXTS = ("rawSchema", "tableSchema", "documentSchema", "schema")


def _schema(node: Node, info: Info, version: int | None = None) -> Any:
    """Return the columns of a dataset, now or in an older version of its schema; for the latter an
    awaitable."""
    if version:
        return _older_schema(node, info, version)
    return _schema_value(node, info, node.aspect("schemaMetadata"))


async def _older_schema(node: Node, info: Info, version: int) -> Value | None:
    catalog = info.context.catalog
    aspect = await catalog.read_few(catalog.store.aspect, str(node.urn), "schemaMetadata", version)
    return _schema_value(node, info, orjson.loads(aspect.value) if aspect else None, version)


def _schema_value(node: Node, info: Info, schema: Value | None, version: int = 0) -> Value | None:
    about = str(node.urn)
    if schema is None:
        return None
    aspect = node.aspect("editableSchemaMetadata") or {}
    edited = {
        annotation.get("fieldPath"): annotation.get("description")
        for annotation in aspect.get("editableSchemaFieldInfo") or ()
    }
    columns = [field.get("fieldPath") or "" for field in schema.get("fields") or ()]
    for path, earlier in earlier_paths(columns, written_entries(aspect)).items():
        edited[path] = edited[earlier] or edited.get(path)
    return {
        **schema,
        "aspectVersion": version,
        "datasetUrn": about,
        "platformUrn": schema.get("platform") or Urn.parse(about).parts[0],
        "fields": [
            _column(about, field, edited.get(field.get("fieldPath")), info)
            for field in schema.get("fields") or ()
        ],
    }


def _column(about: str, field: dict[str, Any], edited: str | None, info: Info) -> dict[str, Any]:
    return {
        **field,
        "datasetUrn": about,
        "isPartOfKey": field.get("isPartOfKey") is True,
        "description": description_text(field.get("description"), edited, info),
        "type": column_type(record_of(field)),
    }


def record_of(field: dict[str, Any]) -> str:
    """Return the name of the record that is a column's type, "" if the column has no type."""
    return next(iter((field.get("type") or {}).get("type") or {}), "")


@cache_short(1 << 20)
def column_type(record: str) -> str:
    """Return the symbol for the record that is a column's type: `STRING` for `….StringType`."""
    word = record.rpartition(".")[2].removesuffix("Type").upper()
    word = "STRUCT" if word == "RECORD" else word
    # A record of a newer model has no symbol; clients can still show the native type.
    return word if word in _TYPES else "NULL"


def _column_entity(field: Value, info: Info) -> Any:
    urn = Urn.of("schemaField", field["datasetUrn"], field.get("fieldPath") or "")
    for parsed in Urn.parse_all((str(urn),)):
        return info.context.refer(str(parsed), info)
    return None


def _platform_schema(schema: Value, _info: Info) -> Value | None:
    for record, value in (schema.get("platformSchema") or {}).items():
        if record.endswith("KeyValueSchema"):
            return {"__typename": "KeyValueSchema", **value}
        for text in _TEXTS:
            if isinstance(value.get(text), str):
                return {"__typename": "TableSchema", "schema": value[text]}
    return None


_DEEPEST = 20
OWNERS = ("corpuser", "corpGroup")
"""The entity types of owners and assignees."""


def _raw(node: Node, _info: Info, **given: Any) -> list[dict[str, str]]:
    arguments = given.get("input") or {}
    names = arguments.get("aspectNames")
    if arguments.get("autoRenderOnly"):
        return []
    return [
        {"aspectName": name, "payload": aspect.value.decode()}
        for name, aspect in sorted(node.stored.items())
        if names is None or name in names
    ]


def _ingestion_time(node: Node, _info: Info) -> int | None:
    times = [
        system.get("lastObserved") or 0
        for system in (orjson.loads(aspect.system) for aspect in node.stored.values())
        if NO_RUN not in (system.get("runId"), None)
        or system.get("lastRunId") not in (None, NO_RUN)
    ]
    return max(times, default=None)


def _resolve_associations(aspect: str, field: str) -> Resolver:
    """Return a resolver that gives an aspect with a list of associations in `field`. Each of them
    gets the URN of the entity as `associatedUrn`."""

    def resolve(node: Node, _info: Info) -> Value | None:
        stored_value = node.aspect(aspect)
        if stored_value is None:
            return None
        about = str(node.urn)
        return {
            **stored_value,
            field: [
                {**association, "associatedUrn": about}
                for association in stored_value.get(field) or ()
            ],
        }

    return resolve


def _domain(node: Node, _info: Info) -> Value | None:
    for urn in Urn.parse_all((node.aspect("domains") or {}).get("domains") or ()):
        if urn.entity_type == "domain":
            return {"domain": str(urn), "associatedUrn": str(node.urn)}
    return None


def _deprecation(node: Node, _info: Info) -> Value | None:
    return node.aspect("deprecation") or node.aspect("datasetDeprecation")


def parents(*paths: str) -> Resolver:
    """Return a resolver that gives the ancestors of an entity as a page; see `read_parents`."""

    async def resolve(node: Node, info: Info) -> Value:
        above = await read_parents(node, info, *paths)
        return {"count": len(above), "urns": [str(node.urn) for node in above]}

    return resolve


async def read_parents(node: Node, info: Info, *paths: str) -> list[Node]:
    """Return the ancestors of an entity, nearest first. The parent of an entity is the URN at the
    first of `paths` that it has. The list ends before an entity that is not stored or that is
    already in it, and has at most 20 entities."""
    above: list[Node] = []
    readers = [reader(path) for path in paths]
    while len(above) < _DEEPEST:
        urns = Urn.parse_all(read(node) for read in readers)[:1]
        if not urns:
            break
        (node,) = await info.context.read(str(urn) for urn in urns)
        if not node.exists or node in above:
            break
        above.append(node)
    return above


async def _browse_path_v2(node: Node, info: Info) -> Value | None:
    """Return the path at which browseV2 shows an entity: the stored one, else its containers, else
    the folders of its browse path."""
    session = info.context
    values, registry = node.values(), session.catalog.registry
    if (stored := values.get(BROWSE_PATHS)) is not None:
        return stored
    # Read the containers now, together with those of the other entities at this level of the
    # document.
    await read_parents(node, info, "container.container")

    def aspect_of(urn: str, name: str) -> StoredAspect | None:
        return session.node(urn).stored.get(name)

    def read() -> Value | None:
        delimiter = read_delimiter(session.catalog.store, node.urn.platform)
        return derive_path(registry, node.urn, values, delimiter, aspect_of)

    return await session.catalog.read_few(read)


def _browse_paths(node: Node, _info: Info) -> list[Value] | None:
    aspect = node.aspect("browsePaths")
    if aspect is None:
        return None
    return [
        {"path": [part for part in path.split("/") if part]} for path in aspect.get("paths") or ()
    ]


def _business_attributes(node: Node, _info: Info) -> Value | None:
    aspect = node.aspect("businessAttributes")
    business_attribute = (aspect or {}).get("businessAttribute")
    return aspect and {
        "businessAttribute": business_attribute
        and {**business_attribute, "associatedUrn": str(node.urn)}
    }


def property_value(value: Any) -> Value | None:
    """Return the value of a structured property as `NumberValue` or `StringValue`; None if there is
    none, or if it is a boolean. It is stored bare, or in an object whose key is its type."""
    if isinstance(value, dict):
        value = next(iter(value.values()), None)
    match value:
        case bool() | None:
            return None
        case int() | float():
            return {"__typename": "NumberValue", "numberValue": value}
        case _:
            return {"__typename": "StringValue", "stringValue": str(value)}


def _values(entry: Value, _info: Info) -> list[Value | None]:
    return [property_value(value) for value in entry.get("values") or ()]


def _value_entities(entry: Value, info: Info) -> list[Any]:
    texts = [value.get("stringValue") for value in _values(entry, info) if value]
    return list(entities("texts")({"texts": texts}, info))


def _ownership_type(owner: Value, info: Info) -> str | None:
    kind, symbols = owner.get("type"), cast("GraphQLEnumType", info.return_type).values
    return kind if kind in symbols else None


def _author(element: Value, info: Info) -> Any:
    actor: str = (element.get("createStamp") or {}).get("actor") or ""
    for urn in Urn.parse_all((actor,)):
        return info.context.refer(str(urn), info)
    # An actor may be any text; if it is not a URN, it is treated as a user name.
    return info.context.refer(str(Urn.of("corpuser", actor or "unknown")), info)


def _platform(node: Node, info: Info) -> Any:
    urn = node.platform()
    return info.context.refer(urn, info) if urn else None


_OF_EVERY_ENTITY: dict[str, Resolver | str] = {
    "urn": lambda node, _info: str(node.urn),
    "type": symbol,
    "exists": lambda node, _info: node.exists,
    "lastIngested": _ingestion_time,
    "aspects": _raw,
    "institutionalMemory": _resolve_associations("institutionalMemory", "elements"),
    "ownership": _resolve_associations("ownership", "owners"),
    "tags": _resolve_associations("globalTags", "tags"),
    "globalTags": _resolve_associations("globalTags", "tags"),
    "glossaryTerms": _resolve_associations("glossaryTerms", "terms"),
    "domain": _domain,
    "deprecation": _deprecation,
    "container": "container.container",
    "parentContainers": parents("container.container"),
    "platform": _platform,
    "dataPlatformInstance": "dataPlatformInstance.instance",
    "browsePaths": _browse_paths,
    "browsePathV2": _browse_path_v2,
    "structuredProperties": _resolve_associations("structuredProperties", "properties"),
    "businessAttributes": _business_attributes,
}

RESOLVERS: Resolvers = {
    "Entity": _OF_EVERY_ENTITY,
    "Dataset": {"schemaMetadata": _schema},
    "SchemaMetadata": {
        "name": "schemaName",
        "createdAt": "created.time",
        "platformSchema": _platform_schema,
    },
    "SchemaField": {"tags": "globalTags", "schemaFieldEntity": _column_entity},
    "EditableSchemaFieldInfo": {"tags": "globalTags"},
    "Deprecation": {"actorEntity": "actor"},
    "InstitutionalMemoryMetadata": {
        "label": "description",
        "author": _author,
        "actor": "createStamp.actor",
        "created": "createStamp",
    },
    "Ownership": {"owners": elements("owners", "owner", *OWNERS)},
    "Owner": {
        "owner": entity("owner"),
        "type": _ownership_type,
        "ownershipType": "typeUrn",
    },
    "GlobalTags": {"tags": elements("tags", "tag", "tag")},
    "GlossaryTerms": {"terms": elements("terms", "urn", "glossaryTerm")},
    "GlossaryTermAssociation": {"term": "urn"},
    "BrowsePathEntry": {"name": "id", "entity": "urn"},
    "SiblingProperties": {"isPrimary": "primary"},
    "MetadataAttribution": {"sourceDetail": entries("sourceDetail")},
    "BusinessAttributeAssociation": {"businessAttribute": "businessAttributeUrn"},
    "StructuredPropertiesEntry": {
        "structuredProperty": "propertyUrn",
        "values": _values,
        "valueEntities": _value_entities,
    },
}
