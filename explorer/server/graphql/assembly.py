"""The schema, put together: the files beside this module, what follows from the registry, and
who answers each field."""

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

from explorer.metadata.registry import Registry
from explorer.server.graphql.shapes import SHAPES, shape_fields, symbols

__all__ = ["Resolvers", "assemble"]

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
    files = resources.files("explorer.server.graphql").joinpath("schema").iterdir()
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
