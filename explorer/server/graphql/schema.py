"""The schema put together from its files and the registry, and resolvers that many fields share."""

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
)
from graphql.utilities import build_ast_schema

from explorer.metadata.names import display_name
from explorer.metadata.registry import Registry
from explorer.metadata.urn import Urn
from explorer.server.graphql.object_types import SHAPES, entity_type_symbol, shape_fields, symbols
from explorer.server.graphql.session import Info, Node

__all__ = [
    "Resolver",
    "Resolvers",
    "Value",
    "assemble",
    "entities",
    "entity",
    "entity_or_null",
    "entries",
    "flat",
    "key",
    "named",
    "or_else",
    "properties",
    "renamed",
    "shown_text",
    "stored",
    "symbol",
]

Value = Mapping[str, Any]
Resolver = Callable[..., Any]


def stored(aspect: str) -> Resolver:
    """An aspect of an entity, as it is."""
    return lambda node, _info: node.aspect(aspect)


def flat(aspect: str, field: str) -> Resolver:
    """One field of an aspect."""
    return lambda node, _info: (node.aspect(aspect) or {}).get(field)


def key(at: int) -> Resolver:
    """One part of an entity's key."""
    return lambda node, _info: node.part(at)


def named(node: Node, _info: Info) -> str:
    """The name to show an entity by."""
    return display_name(node.urn, node.values())


def symbol(node: Node, _info: Info) -> str:
    """The kind of an entity."""
    return entity_type_symbol(node.urn.entity_type)


def renamed(field: str) -> Resolver:
    """A field that the aspect has under another name."""
    return lambda value, _info: value.get(field)


def or_else(field: str, default: Any) -> Resolver:
    """A field that the schema promises, though an aspect may lack it."""

    def resolve(value: Value, _info: Info) -> Any:
        found = value.get(field)
        return default if found is None else found

    return resolve


def entity(field: str) -> Resolver:
    """The entity that a field names; it need not be stored. None where the field is missing."""

    def resolve(value: Value, info: Info) -> Any:
        text = value.get(field)
        return info.context.refer(text, info) if text else None

    return resolve


def entity_or_null(field: str) -> Resolver:
    """The entity that a field names, where it names one of a kind that there is."""

    def resolve(value: Value, info: Info) -> Any:
        text = value.get(field)
        for urn in Urn.parse_all((text,)):
            if urn.entity_type in info.context.catalog.registry.entities:
                return info.context.refer(str(urn), info)
        return None

    return resolve


def entities(field: str, entity_type: str | None = None) -> Resolver:
    """The entities that a list names, of one type or of any that there is."""

    def resolve(value: Value, info: Info) -> list[Any]:
        known = info.context.catalog.registry.entities
        urns = [
            str(urn)
            for urn in Urn.parse_all(value.get(field) or ())
            if (urn.entity_type == entity_type if entity_type else urn.entity_type in known)
        ]
        return info.context.refer_all(urns, info)

    return resolve


def properties(aspect: str, edited: str | None = None, name: str = "name") -> Resolver:
    """Properties as ingested. The description is what people wrote, where they wrote one, for
    plain callers, who have no other field for it; for DataHub's, only where ingestion gave none.

    `name` is what the aspect calls the name; the one in the URN stands in for it.
    """

    def resolve(node: Node, info: Info) -> Value | None:
        found = node.aspect(aspect)
        written = (node.aspect(edited) or {}).get("description") if edited else None
        if found is None:
            if not written:
                return None
            found = {}
        return {
            **found,
            "name": found.get(name) or node.urn.name,
            "description": shown_text(found.get("description"), written, info),
        }

    return resolve


def shown_text(ingested: str | None, written: str | None, info: Info) -> str | None:
    """Return which of two descriptions is shown first in the request's dialect."""
    if info.context.dialect == "plain":
        return written or ingested or written
    return ingested or written or ingested


def entries(field: str) -> Resolver:
    """A map of texts as a list of entries; empty where there is none."""

    def resolve(value: Value, _info: Info) -> list[dict[str, str]]:
        found = value.get(field) or {}
        return [{"key": key, "value": text} for key, text in found.items()]

    return resolve


# The one kind that the files name, where all that the registry has are to stand.
_PLACE = "  DATASET\n"
# Of the longest integer of 64 bits, with its sign.
_LONG_DIGITS = 20

Resolvers = Mapping[str, Mapping[str, Callable[..., Any]]]


def assemble(
    registry: Registry, resolvers: Iterable[Resolvers], type_of: Callable[..., Any]
) -> GraphQLSchema:
    """The schema for a registry. `resolvers` answer for the fields they name, by object type;
    any other field is read off its parent by its own name."""
    kinds = "".join(f"  {symbol}\n" for symbol in sorted(symbols(registry)))
    written = parse(_written().replace(_PLACE, kinds, 1))
    added = parse(_derived(registry, written))
    document = DocumentNode(definitions=(*written.definitions, *added.definitions))
    schema = build_ast_schema(document, assume_valid_sdl=True)
    tables = tuple(resolvers)
    for name, kind in schema.type_map.items():
        if isinstance(kind, GraphQLObjectType):
            for table in tables:
                for field, resolve in table.get(name, {}).items():
                    if field in kind.fields:
                        kind.fields[field].resolve = resolve
        elif isinstance(kind, GraphQLInterfaceType | GraphQLUnionType):
            kind.resolve_type = type_of
    long = schema.type_map["Long"]
    if isinstance(long, GraphQLScalarType):
        long.coerce_input_value, long.coerce_input_literal = _long, _long_literal
    return schema


def _long(given: Any) -> int:
    """An integer of 64 bits as an input has it; a float without a fraction will do."""
    if isinstance(given, float) and given.is_integer():
        given = int(given)
    if type(given) is not int or not -(2**63) <= given < 2**63:
        raise GraphQLError(f"Long cannot represent {str(given)[:40]!r}: an integer of 64 bits")
    return given


def _long_literal(given: ValueNode) -> int:
    if not isinstance(given, IntValueNode) or len(given.value) > _LONG_DIGITS:
        raise GraphQLError("Long takes an integer of 64 bits", given)
    return _long(int(given.value))


def _written() -> str:
    """Every file of the schema; a file may extend what another defines."""
    files = resources.files("explorer.server.graphql").joinpath("sdl").iterdir()
    named = sorted((file.name, file.read_text("utf-8")) for file in files)
    return "\n".join(text for name, text in named if name.endswith(".graphql"))


def _derived(registry: Registry, written: DocumentNode) -> str:
    """Extensions: what the types have in common by their aspects, and a root field by kind."""
    own: dict[str, set[str]] = {}
    for definition in written.definitions:
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
