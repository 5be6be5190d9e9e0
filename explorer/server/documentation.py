"""The OpenAPI description of the service, and the page that shows it."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

import orjson
from msgspec import to_builtins

from explorer.metadata.registry import Registry, read_type
from explorer.metadata.validation import required_fields
from explorer.server.authentication import OPEN_PATHS
from explorer.server.restli import EXAMPLE_URN, Endpoint, Parameter
from explorer.version import __version__

if TYPE_CHECKING:
    from graphql import GraphQLSchema

_FILES = Path(__file__).with_name("docs")
# The resources that most callers look for come first; the others are sorted by name.
_FIRST = ("/aspects", "/entitiesV2", "/entities", "/relationships")
_SHAPES = {"dataset": "urn:li:dataset:(<platform URN>,<name>,<origin>)"}
_ABOUT = (
    "Metadata of a catalog, in DataHub's wire format. Fields and symbols that are not in the "
    "schemas are accepted and kept."
)


def describe(
    endpoints: Iterable[Endpoint], schema: "GraphQLSchema", registry: Registry, base: str
) -> bytes:
    """Return the OpenAPI 3.1 description of the service as JSON; `base` precedes all addresses.

    An action of a resource is a path with its query. The schemas are the records of the registry.
    The fields `x-…` contain what OpenAPI cannot express: the entities and aspects, the fields of
    GraphQL, and the decisions where the specification is silent.
    """
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in sorted(endpoints, key=_order):
        paths.setdefault(_path(endpoint), {})[endpoint.method.lower()] = _operation(endpoint)
    schemas = {name: _record_schema(registry, name) for name in registry.records}
    description = {
        "openapi": "3.1.0",
        "info": {"title": "The catalog's interface", "version": __version__, "description": _ABOUT},
        "servers": [{"url": base or "/"}],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "responses": {"Error": _ERROR},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "x-entities": {
            name: {"urn": _shape(registry, name), "aspects": registry.aspects_of(name)}
            for name in registry.entities
        },
        "x-aspects": to_builtins(registry.aspects),
        "x-graphql": list(_graphql_fields(schema)),
        "x-decisions": _read_decisions(),
        "x-example": EXAMPLE_URN,
    }
    return orjson.dumps(description)


def render_page(description: bytes) -> bytes:
    """Return the documentation page, which shows a description, as UTF-8.

    The page sends requests only to the service that serves it.
    """
    files = {name: (_FILES / f"page.{name}").read_text("utf-8") for name in ("html", "css", "js")}
    # Escaped, so that no text in the description can end the element that contains it.
    text = description.decode().replace("<", "\\u003c")
    return Template(files["html"]).substitute(files, description=text).encode()


def _read_decisions() -> list[tuple[str, str]]:
    """Return each open point of the specification, with the decision of this service."""
    entries = (_FILES / "decisions.md").read_text("utf-8").split("\n## ")[1:]
    headed = (entry.partition("\n") for entry in entries)
    return [(about, " ".join(decided.split())) for about, _, decided in headed]


def _order(endpoint: Endpoint) -> tuple[Any, ...]:
    path = endpoint.path
    place = _FIRST.index(path) if path in _FIRST else len(_FIRST)
    return place, path.casefold(), endpoint.method, not endpoint.item, endpoint.action or ""


def _path(endpoint: Endpoint) -> str:
    keys = "".join(
        f"/{{{parameter.name}}}" for parameter in endpoint.parameters if parameter.place == "path"
    )
    return endpoint.path + keys + (f"?action={endpoint.action}" if endpoint.action else "")


def _operation(endpoint: Endpoint) -> dict[str, Any]:
    words = (endpoint.method.lower(), endpoint.path, "item" * endpoint.item, endpoint.action or "")
    operation: dict[str, Any] = {
        "operationId": re.sub(r"[^\w.]+", "-", "-".join(words)).strip("-"),
        "tags": [endpoint.path],
        "summary": endpoint.summary,
        "description": "\n\n".join(endpoint.notes),
        "deprecated": endpoint.standing == "deprecated",
        "x-standing": endpoint.standing,
        "security": [] if endpoint.path in OPEN_PATHS else [{"token": [endpoint.role]}],
        "parameters": [
            {"name": parameter.name, "in": parameter.place, "required": parameter.required}
            | _documented(parameter, "schema")
            for parameter in endpoint.parameters
            if parameter.place != "body"
        ],
        "responses": {
            "200": {"description": endpoint.gives, "content": {endpoint.media_type: {}}},
            "default": {"$ref": "#/components/responses/Error"},
        },
    }
    if endpoint.method in ("POST", "PATCH"):
        body = [parameter for parameter in endpoint.parameters if parameter.place == "body"]
        schema = {
            "type": "object",
            "properties": {parameter.name: _documented(parameter) for parameter in body},
            "required": [parameter.name for parameter in body if parameter.required],
        }
        example = {
            parameter.name: parameter.example for parameter in body if parameter.example is not None
        }
        content = {"application/json": {"schema": schema, "example": example}}
        operation["requestBody"] = {"content": content}
    return operation


def _documented(parameter: Parameter, key: str = "") -> dict[str, Any]:
    """Return the description, schema and example of a parameter; if `key` is given, the schema is
    under that key."""
    schema = _kind_schema(parameter.kind)
    example = parameter.example
    described = {"description": parameter.summary, **({key: schema} if key else schema)}
    if not key or example is None:
        return described
    is_element = schema.get("type") == "array" and not isinstance(example, list)
    return described | {"example": [example] if is_element else example}


_KINDS: dict[str, dict[str, Any]] = {
    **{kind: {"type": kind} for kind in ("string", "integer", "boolean", "object", "array")},
    "URN": {"type": "string", "title": "URN"},
    "time": {"type": "string", "format": "date-time"},
    "object or JSON string": {"type": ["object", "string"]},
    "*": {"const": "*"},
    "any": {},
}
"""The schema of each kind of parameter; all others are objects of that name."""


def _kind_schema(kind: str) -> dict[str, Any]:
    if kind.startswith("array of "):
        return {
            "type": "array",
            "items": _kind_schema(kind.removeprefix("array of ").removesuffix("s")),
        }
    return _KINDS.get(kind, {"type": "object", "title": kind})


_SCALARS: dict[str, dict[str, Any]] = {
    "string": {"type": "string"},
    "bytes": {"type": "string"},
    "boolean": {"type": "boolean"},
    "int": {"type": "integer", "format": "int32"},
    "long": {"type": "integer", "format": "int64"},
    "float": {"type": "number", "format": "float"},
    "double": {"type": "number", "format": "double"},
}


def _record_schema(registry: Registry, name: str) -> dict[str, Any]:
    record = registry.records[name]
    if record.symbols:
        return {"type": "string", "enum": record.symbols}
    return {
        "type": "object",
        "properties": {
            field_name: _type_schema(registry, field.base)
            for field_name, field in record.fields.items()
        },
        "required": required_fields(name, record),
    }


def _type_schema(registry: Registry, expression: str) -> dict[str, Any]:
    """Return the schema of a type expression of the registry."""
    kind, arguments = read_type(expression)
    inner = {
        argument: _type_schema(registry, argument) for argument in arguments * (kind != "name")
    }
    if kind == "array":
        return {"type": "array", "items": inner[arguments[0]]}
    if kind == "map":
        return {"type": "object", "additionalProperties": inner[arguments[0]]}
    if kind == "union":
        return {"type": "object", "properties": inner, "minProperties": 1, "maxProperties": 1}
    if expression in registry.records:
        return {"$ref": f"#/components/schemas/{expression}"}
    # Any value is accepted for a record that is not in the registry.
    return _SCALARS.get(expression, {"title": expression})


_ERROR = {
    "description": "what is wrong with the request, or with the service, in a sentence: 400 and "
    "422 for a mistake in the request, 401 without a valid token where tokens are in use, 403 for "
    "a token whose role is too low, 404 for what does not exist, 503 for what may be sent again",
    "content": {
        "application/json": {
            "schema": {
                "type": "object",
                "properties": {
                    "status": {"type": "integer"},
                    "message": {"type": "string"},
                    "exceptionClass": {"type": "string"},
                    "stackTrace": {"type": "string"},
                },
            }
        }
    },
}


def _shape(registry: Registry, entity: str) -> str:
    """Return the form of the URNs of an entity type."""
    fields = registry.key_fields(entity)
    parts = ",".join(f"<{field}>" for field in fields)
    shape = f"urn:li:{entity}:" + (f"({parts})" if len(fields) > 1 else parts)
    return _SHAPES.get(entity, shape)


def _graphql_fields(schema: "GraphQLSchema") -> Iterator[dict[str, Any]]:
    """Yield each query, then each mutation, sorted by name."""
    for kind, root in (("query", schema.query_type), ("mutation", schema.mutation_type)):
        for name, field in sorted(root.fields.items() if root else (), key=_lower_name):
            yield {
                "kind": kind,
                "name": name,
                "description": field.description,
                "arguments": [
                    (argument, str(definition.type), definition.description)
                    for argument, definition in field.args.items()
                ],
                "type": str(field.type),
                "deprecated": field.deprecation_reason,
            }


def _lower_name(item: tuple[str, Any]) -> str:
    return item[0].casefold()
