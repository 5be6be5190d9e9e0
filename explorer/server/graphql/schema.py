"""The schema, assembled from its files and the registry, and resolvers that many fields share."""

from collections.abc import Callable, Iterable, Mapping
from importlib import resources
from typing import Any

from graphql.error import GraphQLError
from graphql.language import (
    DocumentNode,
    IntValueNode,
    ObjectTypeDefinitionNode,
    ObjectTypeExtensionNode,
    ValueNode,
    parse,
)
from graphql.type import (
    GraphQLInterfaceType,
    GraphQLObjectType,
    GraphQLScalarType,
    GraphQLSchema,
    GraphQLUnionType,
    get_named_type,
    get_nullable_type,
    is_list_type,
)
from graphql.utilities import build_ast_schema

from explorer.metadata.names import display_name
from explorer.metadata.registry import Registry
from explorer.metadata.urn import Urn
from explorer.server.graphql.object_types import SHAPES, entity_type_symbol, shape_fields, symbols
from explorer.server.graphql.session import Info, Node, Resolver

Value = Mapping[str, Any]


def reader(path: str) -> Callable[[Any], Any]:
    """Return a function that reads the value at a path in an entity or a record. A path is names
    joined by `.`; for an entity, the first one is an aspect or a part of the key."""
    first, *inner = path.split(".")

    def read(value: Any) -> Any:
        value = value.get(first)
        for name in inner:
            value = value.get(name) if isinstance(value, Mapping) else None
        return value

    return read


def entity_name(node: Node, _info: Info) -> str:
    """Return the display name of an entity."""
    return display_name(node.urn, node.values())


def symbol(node: Node, _info: Info) -> str:
    """Return the symbol of an entity's type, such as `DATASET`."""
    return entity_type_symbol(node.urn.entity_type)


def or_else(path: str, default: Any) -> Resolver:
    """Return a resolver that gives the value at a path, or `default` if there is none."""
    read = reader(path)

    def resolve(value: Any, _info: Info) -> Any:
        stored = read(value)
        return default if stored is None else stored

    return resolve


def entity(path: str) -> Resolver:
    """Return a resolver that gives the entity whose URN is at a path, stored or not; None if there
    is no value."""
    read = reader(path)

    def resolve(value: Any, info: Info) -> Any:
        text = read(value)
        return info.context.refer(text, info) if text else None

    return resolve


def entity_or_null(path: str) -> Resolver:
    """Return a resolver that gives the entity whose URN is at a path; None if there is no value, or
    if it is not a URN of a known entity type."""
    read = reader(path)

    def resolve(value: Any, info: Info) -> Any:
        for urn in Urn.parse_all((read(value),)):
            if urn.entity_type in info.context.catalog.registry.entities:
                return info.context.refer(str(urn), info)
        return None

    return resolve


def entities(path: str, entity_type: str | None = None) -> Resolver:
    """Return a resolver that gives the entities whose URNs are in the list at a path: those of
    `entity_type`, or of any known type without it. Other elements are left out."""
    read = reader(path)

    def resolve(value: Any, info: Info) -> list[Any]:
        entity_types = info.context.catalog.registry.entities
        urns = [
            str(urn)
            for urn in Urn.parse_all(read(value) or ())
            if (urn.entity_type == entity_type if entity_type else urn.entity_type in entity_types)
        ]
        return info.context.refer_all(urns, info)

    return resolve


def elements(field: str, key: str, *types: str) -> Resolver:
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


def columns(urns: Iterable[Any]) -> list[Value]:
    """Return the columns among some URNs, each as the URN of its dataset and its path."""
    return [
        {"urn": urn.parts[0], "path": urn.name}
        for urn in Urn.parse_all(urns)
        if urn.entity_type == "schemaField"
    ]


def properties(aspect: str, edited: str | None = None, name: str = "name") -> Resolver:
    """Return a resolver that gives an aspect of properties as ingested, with a name and a
    description.

    In the plain dialect the description is the one in the aspect `edited` if there is one, because
    plain callers read no other field for it; in DataHub's only if there is no ingested one. `name`
    is the aspect's field with the name; if it is empty, the name in the URN is used.
    """

    def resolve(node: Node, info: Info) -> Value | None:
        fields = node.aspect(aspect)
        edited_text = (node.aspect(edited) or {}).get("description") if edited else None
        if fields is None:
            if not edited_text:
                return None
            fields = {}
        return {
            **fields,
            "name": fields.get(name) or node.urn.name,
            "description": description_text(fields.get("description"), edited_text, info),
        }

    return resolve


def description_text(ingested: str | None, edited: str | None, info: Info) -> str | None:
    """Return the description to show in the request's dialect: in the plain one the edited text if
    there is one, in DataHub's the ingested text if there is one."""
    if info.context.dialect == "plain":
        return edited or ingested or edited
    return ingested or edited or ingested


def described(aspect: str, edited: str, name: str = "name") -> dict[str, Resolver | str]:
    """Return the resolvers of the ingested and the edited properties of an entity; see
    `properties`."""
    return {"properties": properties(aspect, edited, name), "editableProperties": edited}


def entries(path: str) -> Resolver:
    """Return a resolver that gives the map at a path as a list of entries; empty if there is
    none."""
    read = reader(path)

    def resolve(value: Any, _info: Info) -> list[dict[str, str]]:
        texts_by_key = read(value) or {}
        return [{"key": key, "value": text} for key, text in texts_by_key.items()]

    return resolve


# The one value of `EntityType` in the schema files; the symbols of all entity types replace it.
_PLACE = "  DATASET\n"
# The length of the longest 64-bit integer, with its sign.
_LONG_DIGITS = 20

Resolvers = Mapping[str, Mapping[str, Callable[..., Any] | str]]
"""The resolvers by object type and field. A text in place of a resolver is the path of the field's
data, see `_derive_resolver`. Resolvers of `Entity` apply to all object types of entities."""

_ENTITY = "Entity"
_ENTITY_TYPES: Mapping[str, str | None] = {
    _ENTITY: None,
    **{shape.object_type: shape.entity_type for shape in SHAPES.values()},
}
"""The entity type of each GraphQL type that stands for an entity; `None` for any entity type."""
_ENTRIES, _COLUMN = "CustomPropertiesEntry", "SchemaFieldRef"


def assemble(
    registry: Registry, resolvers: Iterable[Resolvers], type_of: Callable[..., Any]
) -> GraphQLSchema:
    """Return the schema for a registry.

    A field without a resolver is read from its parent as `_derive_resolver` says. `type_of` returns
    the object type of a value of an interface or a union.
    """
    kinds = "".join(f"  {symbol}\n" for symbol in sorted(symbols(registry)))
    base_document = parse(_read_schema_text().replace(_PLACE, kinds, 1))
    added = parse(_derive_extensions(registry, base_document))
    document = DocumentNode(definitions=(*base_document.definitions, *added.definitions))
    schema = build_ast_schema(document, assume_valid_sdl=True)
    by_field = {
        (name, field): resolver
        for table in resolvers
        for name, fields in table.items()
        for field, resolver in fields.items()
    }
    for name, kind in schema.type_map.items():
        if isinstance(kind, GraphQLObjectType) and not name.startswith("__"):
            for field_name, field in kind.fields.items():
                resolver = by_field.get((name, field_name))
                if resolver is None and kind.interfaces:
                    resolver = by_field.get((_ENTITY, field_name))
                if resolver is None or isinstance(resolver, str):
                    resolver = _derive_resolver(kind, field_name, resolver or field_name)
                field.resolve = resolver
        elif isinstance(kind, GraphQLInterfaceType | GraphQLUnionType):
            kind.resolve_type = type_of
    long = schema.type_map["Long"]
    if isinstance(long, GraphQLScalarType):
        long.coerce_input_value, long.coerce_input_literal = _long, _long_literal
    return schema


def _derive_resolver(object_type: GraphQLObjectType, field_name: str, path: str) -> Resolver | None:
    """Return the resolver of a field whose data is at a path in a value of an object type; `None`
    if the data is under the field's own name, in the form of the answer.

    The data of a field whose type is an entity is its URN; a page has the URNs of its entities in
    `urns`. The data of a list of entries is a map, and that of a list of columns their URNs.
    """
    kind = object_type.fields[field_name].type
    named = get_named_type(kind).name
    nullable = get_nullable_type(kind)
    read = reader(path)
    if named == _ENTRIES:
        return entries(path)
    if named == _COLUMN:
        return lambda value, _info: columns(read(value) or ())
    if named in _ENTITY_TYPES:
        if is_list_type(nullable):
            is_page = object_type.name.endswith(("Result", "Results"))
            return entities("urns" if is_page else path, _ENTITY_TYPES[named])
        return entity_or_null(path) if nullable is kind else entity(path)
    if path == field_name and not object_type.interfaces:
        return None
    return lambda value, _info: read(value)


def _long(number: Any) -> int:
    """Return the 64-bit integer of an input; a float without a fraction is accepted. Raises
    `GraphQLError` for anything else."""
    if isinstance(number, float) and number.is_integer():
        number = int(number)
    if type(number) is not int or not -(2**63) <= number < 2**63:
        raise GraphQLError(f"Long cannot represent {str(number)[:40]!r}: an integer of 64 bits")
    return number


def _long_literal(literal: ValueNode) -> int:
    if not isinstance(literal, IntValueNode) or len(literal.value) > _LONG_DIGITS:
        raise GraphQLError("Long takes an integer of 64 bits", literal)
    return _long(int(literal.value))


def _read_schema_text() -> str:
    """Return the text of all schema files together; a file may extend types of another."""
    files = resources.files("explorer.server.graphql").joinpath("sdl").iterdir()
    named_texts = sorted((file.name, file.read_text("utf-8")) for file in files)
    return "\n".join(text for name, text in named_texts if name.endswith(".graphql"))


def _derive_extensions(registry: Registry, base_document: DocumentNode) -> str:
    """Return extensions of the schema: the fields that object types have because of their aspects,
    and one root field for each object type of an entity."""
    own: dict[str, set[str]] = {}
    for definition in base_document.definitions:
        if isinstance(definition, ObjectTypeDefinitionNode | ObjectTypeExtensionNode):
            fields = own.setdefault(definition.name.value, set())
            fields |= {field.name.value for field in definition.fields or ()}
    parts = [
        _extension(name, fields, own.get(name, set()))
        for name, fields in shape_fields(registry).items()
    ]
    roots = {f"{shape.query}(urn: String!)": shape.object_type for shape in SHAPES.values()}
    return "\n".join([*parts, _extension("Query", roots, own["Query"])])


def _extension(name: str, fields: Mapping[str, str], own: set[str]) -> str:
    lines = [
        f"  {field}: {kind}" for field, kind in fields.items() if field.partition("(")[0] not in own
    ]
    return "\n".join([f"extend type {name} {{", *lines, "}"]) if lines else ""
