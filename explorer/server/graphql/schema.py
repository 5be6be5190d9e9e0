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
    GraphQLOutputType,
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


def aspect_value(aspect: str) -> Resolver:
    """Return a resolver that gives an aspect of an entity unchanged."""
    return lambda node, _info: node.aspect(aspect)


def flat(aspect: str, field: str) -> Resolver:
    """Return a resolver that gives one field of an entity's aspect."""
    return lambda node, _info: (node.aspect(aspect) or {}).get(field)


def key(at: int) -> Resolver:
    """Return a resolver that gives one part of an entity's key."""
    return lambda node, _info: node.part(at)


def entity_name(node: Node, _info: Info) -> str:
    """Return the display name of an entity."""
    return display_name(node.urn, node.values())


def symbol(node: Node, _info: Info) -> str:
    """Return the symbol of an entity's type, such as `DATASET`."""
    return entity_type_symbol(node.urn.entity_type)


def or_else(field: str, default: Any) -> Resolver:
    """Return a resolver that gives a field of an aspect, or `default` if the aspect lacks it: for
    fields that are non-null in the schema."""

    def resolve(value: Value, _info: Info) -> Any:
        field_value = value.get(field)
        return default if field_value is None else field_value

    return resolve


def entity(field: str) -> Resolver:
    """Return a resolver that gives the entity named in `field`, which need not be stored; None if
    the field is missing."""

    def resolve(value: Value, info: Info) -> Any:
        text = value.get(field)
        return info.context.refer(text, info) if text else None

    return resolve


def entity_or_null(field: str) -> Resolver:
    """Return a resolver that gives the entity named in `field`; None if that is missing, no URN or
    of an unknown entity type."""

    def resolve(value: Value, info: Info) -> Any:
        text = value.get(field)
        for urn in Urn.parse_all((text,)):
            if urn.entity_type in info.context.catalog.registry.entities:
                return info.context.refer(str(urn), info)
        return None

    return resolve


def entities(field: str, entity_type: str | None = None) -> Resolver:
    """Return a resolver that gives the entities named in the list `field`: those of one entity
    type, or of any known type. Other elements are left out."""

    def resolve(value: Value, info: Info) -> list[Any]:
        entity_types = info.context.catalog.registry.entities
        urns = [
            str(urn)
            for urn in Urn.parse_all(value.get(field) or ())
            if (urn.entity_type == entity_type if entity_type else urn.entity_type in entity_types)
        ]
        return info.context.refer_all(urns, info)

    return resolve


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


def entries(field: str) -> Resolver:
    """Return a resolver that gives a map as a list of entries; empty if the aspect lacks it."""

    def resolve(value: Value, _info: Info) -> list[dict[str, str]]:
        texts_by_key = value.get(field) or {}
        return [{"key": key, "value": text} for key, text in texts_by_key.items()]

    return resolve


# The one value of `EntityType` in the schema files; the symbols of all entity types replace it.
_PLACE = "  DATASET\n"
# The length of the longest 64-bit integer, with its sign.
_LONG_DIGITS = 20

Resolvers = Mapping[str, Mapping[str, Callable[..., Any] | str]]
"""By object type and field the resolver; or the name under which the value of the type has the
field, see `_derive_resolver`."""

_ENTITY_TYPES: Mapping[str, str | None] = {
    "Entity": None,
    **{shape.object_type: shape.entity_type for shape in SHAPES.values()},
}
"""The entity type of each type of a field that is an entity; `None` if it may be any."""
_ENTRIES = "CustomPropertiesEntry"


def assemble(
    registry: Registry, resolvers: Iterable[Resolvers], type_of: Callable[..., Any]
) -> GraphQLSchema:
    """Return the schema for a registry.

    The later of two resolvers of a field is used; a field without one is read from its parent as
    `_derive_resolver` says. `type_of` returns the object type of a value of an interface or a
    union.
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
                resolver = by_field.get((name, field_name), field_name)
                if isinstance(resolver, str):
                    field.resolve = _derive_resolver(name, field_name, field.type, resolver)
                else:
                    field.resolve = resolver
        elif isinstance(kind, GraphQLInterfaceType | GraphQLUnionType):
            kind.resolve_type = type_of
    long = schema.type_map["Long"]
    if isinstance(long, GraphQLScalarType):
        long.coerce_input_value, long.coerce_input_literal = _long, _long_literal
    return schema


def _derive_resolver(
    object_type: str, field_name: str, kind: GraphQLOutputType, name: str
) -> Resolver | None:
    """Return the resolver of a field that a value has under a name; `None` if it is there under
    the field's own name, in the form of the answer.

    A field whose type is an entity holds its URN; a page holds those of its entities as `urns`. A
    field of entries holds a map.
    """
    named = get_named_type(kind).name
    nullable = get_nullable_type(kind)
    if named == _ENTRIES:
        return entries(name)
    if named in _ENTITY_TYPES and object_type not in _ENTITY_TYPES:
        if is_list_type(nullable):
            is_page = object_type.endswith(("Result", "Results"))
            return entities("urns" if is_page else name, _ENTITY_TYPES[named])
        return entity_or_null(name) if nullable is kind else entity(name)
    return None if name == field_name else lambda value, _info: value.get(name)


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
