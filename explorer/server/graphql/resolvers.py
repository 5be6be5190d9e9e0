"""How each field of the schema is answered. A field not named here is read off its parent by its
own name."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from explorer.errors import InvalidUrn
from explorer.metadata.urn import Urn
from explorer.server.graphql.edits import Edits
from explorer.server.graphql.names import entity_type_symbol
from explorer.server.graphql.nodes import Node, Session

if TYPE_CHECKING:
    from graphql import GraphQLResolveInfo

__all__ = ["RESOLVERS", "type_of"]

_Info: TypeAlias = "GraphQLResolveInfo[Session]"
_Aspect = Mapping[str, Any]
_Resolver = Callable[..., Any]

_TYPES = {
    "dataset": "Dataset",
    "container": "Container",
    "dataPlatform": "DataPlatform",
    "corpuser": "CorpUser",
    "corpGroup": "CorpGroup",
    "tag": "Tag",
    "glossaryTerm": "GlossaryTerm",
}
_OWNER_KINDS = frozenset(
    {
        "CUSTOM",
        "TECHNICAL_OWNER",
        "BUSINESS_OWNER",
        "DATA_STEWARD",
        "NONE",
        "DEVELOPER",
        "DATAOWNER",
        "DELEGATE",
        "PRODUCER",
        "CONSUMER",
        "STAKEHOLDER",
    }
)


def type_of(node: Node, _info: _Info, _abstract: Any) -> str | None:
    """The object type of an entity behind an interface or union."""
    return _TYPES.get(node.urn.entity_type)


def _dataset(_root: Any, info: _Info, urn: str) -> Node | None:
    return info.context.existing(urn, "dataset")


def _container(_root: Any, info: _Info, urn: str) -> Node | None:
    return info.context.existing(urn, "container")


async def _update_dataset(_root: Any, info: _Info, urn: str, **given: Any) -> Node:
    session, parsed, changes = info.context, Urn.parse(urn), given["input"]
    editable = changes.get("editableProperties")
    links = changes.get("institutionalMemory")
    await Edits(session.catalog, session.actor).update_dataset(
        parsed,
        editable["description"] if editable else None,
        links["elements"] if links else None,
    )
    session.forget(parsed)
    return session.node(parsed)


async def _update_description(_root: Any, info: _Info, **given: Any) -> bool:
    session, changes = info.context, given["input"]
    urn = Urn.parse(changes["resourceUrn"])
    await Edits(session.catalog, session.actor).update_description(
        urn, changes["description"], changes.get("subResource")
    )
    session.forget(urn)
    return True


async def _add_link(_root: Any, info: _Info, **given: Any) -> bool:
    session, link = info.context, given["input"]
    urn = Urn.parse(link["resourceUrn"])
    await Edits(session.catalog, session.actor).add_link(urn, link["linkUrl"], link["label"])
    session.forget(urn)
    return True


async def _remove_link(_root: Any, info: _Info, **given: Any) -> bool:
    session, link = info.context, given["input"]
    urn = Urn.parse(link["resourceUrn"])
    await Edits(session.catalog, session.actor).remove_link(urn, link["linkUrl"])
    session.forget(urn)
    return True


def _aspect(name: str) -> _Resolver:
    return lambda node, _info: node.aspect(name)


def _node_at(key: str) -> _Resolver:
    return lambda value, info: info.context.node(value[key])


def _origin(node: Node, _info: _Info) -> str | None:
    return node.urn.origin


def _dataset_platform(node: Node, info: _Info) -> Node:
    return info.context.node(node.urn.parts[0])


def _container_platform(node: Node, info: _Info) -> Node | None:
    instance = node.aspect("dataPlatformInstance")
    return info.context.node(instance["platform"]) if instance else None


def _parent_container(node: Node, info: _Info) -> Node | None:
    parent = node.aspect("container")
    return info.context.node(parent["container"]) if parent else None


def _described(properties: str, editable: str) -> _Resolver:
    """Properties as ingested; people's description stands in where ingestion gave none."""

    def resolve(node: Node, _info: _Info) -> _Aspect | None:
        stored = node.aspect(properties)
        edited = (node.aspect(editable) or {}).get("description")
        if stored is None and not edited:
            return None
        found = stored or {}
        return {
            **found,
            "name": found.get("name") or node.urn.name,
            "description": found.get("description") or edited or found.get("description"),
        }

    return resolve


def _custom_properties(value: _Aspect, _info: _Info) -> list[dict[str, str]]:
    return [
        {"key": key, "value": text} for key, text in (value.get("customProperties") or {}).items()
    ]


def _schema(node: Node, _info: _Info) -> _Aspect | None:
    schema = node.aspect("schemaMetadata")
    if schema is None:
        return None
    edited = {
        info["fieldPath"]: info.get("description")
        for info in (node.aspect("editableSchemaMetadata") or {}).get("editableSchemaFieldInfo", ())
    }
    fields = [_column(field, edited.get(field["fieldPath"])) for field in schema["fields"]]
    return {
        **schema,
        "name": schema["schemaName"],
        "platformUrn": schema["platform"],
        "fields": fields,
    }


def _column(field: dict[str, Any], edited: str | None) -> dict[str, Any]:
    return {
        **field,
        "nullable": field.get("nullable") is True,
        "recursive": field.get("recursive") is True,
        "isPartOfKey": field.get("isPartOfKey") is True,
        "description": field.get("description") or edited or field.get("description"),
        "type": _column_type(field),
    }


def _column_type(field: _Aspect) -> str:
    ((record, _),) = field["type"]["type"].items()
    word = str(record).rpartition(".")[2].removesuffix("Type").upper()
    return "STRUCT" if word == "RECORD" else word


def _owners(value: _Aspect, _info: _Info) -> list[Any]:
    return [
        owner
        for owner in value["owners"]
        if Urn.parse(owner["owner"]).entity_type in ("corpuser", "corpGroup")
    ]


def _owner_kind(owner: _Aspect, _info: _Info) -> str | None:
    kind: str = owner["type"]
    return kind if kind in _OWNER_KINDS else None


def _last_modified(value: _Aspect, _info: _Info) -> Any:
    return value.get("lastModified") or {"time": 0, "actor": None}


def _author(element: _Aspect, info: _Info) -> Node:
    actor: str = element["createStamp"]["actor"]
    try:
        return info.context.node(actor)
    except InvalidUrn:
        # Actors are any text; one that is no URN is a user's name.
        return info.context.node(Urn.of("corpuser", actor or "unknown"))


def _display_name(node: Node, _info: _Info) -> str:
    return node.urn.name


def _tag_name(node: Node, _info: _Info) -> str:
    name: str = (node.aspect("tagProperties") or {}).get("name") or node.urn.name
    return name


_ENTITY: dict[str, _Resolver] = {
    "urn": lambda node, _info: str(node.urn),
    "type": lambda node, _info: entity_type_symbol(node.urn.entity_type),
}
_DESCRIBED: dict[str, _Resolver] = {
    **_ENTITY,
    "exists": lambda node, _info: node.exists,
    "institutionalMemory": _aspect("institutionalMemory"),
    "status": _aspect("status"),
    "ownership": _aspect("ownership"),
    "tags": _aspect("globalTags"),
    "glossaryTerms": _aspect("glossaryTerms"),
    "container": _parent_container,
}
_TAGGED: dict[str, _Resolver] = {"tags": lambda value, _info: value.get("globalTags")}

RESOLVERS: dict[str, dict[str, _Resolver]] = {
    "Query": {"dataset": _dataset, "container": _container},
    "Mutation": {
        "updateDataset": _update_dataset,
        "updateDescription": _update_description,
        "addLink": _add_link,
        "removeLink": _remove_link,
    },
    "Dataset": {
        **_DESCRIBED,
        "name": _display_name,
        "origin": _origin,
        "platform": _dataset_platform,
        "properties": _described("datasetProperties", "editableDatasetProperties"),
        "editableProperties": _aspect("editableDatasetProperties"),
        "schemaMetadata": _schema,
        "editableSchemaMetadata": _aspect("editableSchemaMetadata"),
    },
    "Container": {
        **_DESCRIBED,
        "platform": _container_platform,
        "properties": _described("containerProperties", "editableContainerProperties"),
        "editableProperties": _aspect("editableContainerProperties"),
    },
    "DataPlatform": {
        **_ENTITY,
        "name": _display_name,
        "properties": _aspect("dataPlatformInfo"),
    },
    "DatasetProperties": {"customProperties": _custom_properties},
    "ContainerProperties": {"customProperties": _custom_properties},
    "SchemaField": _TAGGED,
    "EditableSchemaFieldInfo": _TAGGED,
    "InstitutionalMemoryMetadata": {
        "label": lambda element, _info: element["description"],
        "author": _author,
        "created": lambda element, _info: element["createStamp"],
    },
    "Status": {"removed": lambda status, _info: status.get("removed") is True},
    "Ownership": {"owners": _owners, "lastModified": _last_modified},
    "Owner": {"owner": _node_at("owner"), "type": _owner_kind},
    "CorpUser": {
        **_ENTITY,
        "username": _display_name,
        "properties": _aspect("corpUserInfo"),
    },
    "CorpGroup": {**_ENTITY, "name": _display_name, "properties": _aspect("corpGroupInfo")},
    "Tag": {**_ENTITY, "name": _tag_name, "properties": _aspect("tagProperties")},
    "TagAssociation": {"tag": _node_at("tag")},
    "GlossaryTerm": {
        **_ENTITY,
        "name": _display_name,
        "properties": _aspect("glossaryTermInfo"),
    },
    "GlossaryTermAssociation": {"term": _node_at("urn")},
    "GlossaryTermProperties": {"description": lambda value, _info: value.get("definition")},
}
