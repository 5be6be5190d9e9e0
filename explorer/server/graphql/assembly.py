"""The schema, put together: the files beside this module, what follows from the registry, and
who answers each field."""

from collections.abc import Callable, Iterable, Mapping
from importlib import resources
from typing import Any

from graphql.language import (
    DocumentNode,
    ObjectTypeDefinitionNode,
    ObjectTypeExtensionNode,
    parse,
)
from graphql.type import (
    GraphQLInterfaceType,
    GraphQLObjectType,
    GraphQLSchema,
    GraphQLUnionType,
)
from graphql.utilities import build_ast_schema

from explorer.metadata.registry import Registry
from explorer.server.graphql.shapes import SHAPES, shape_fields, symbols

__all__ = ["Resolvers", "assemble"]

# The one kind that the files name, where all that the registry has are to stand.
_PLACE = "  DATASET\n"

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
    return schema


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
