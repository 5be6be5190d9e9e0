"""Executing documents over a catalog, and errors in the shape that GraphQL clients read."""

import logging
from importlib import resources
from typing import Any

from graphql.error import GraphQLError
from graphql.execution import ExecutionResult, execute
from graphql.language import parse
from graphql.type import (
    GraphQLInterfaceType,
    GraphQLObjectType,
    GraphQLSchema,
    GraphQLUnionType,
)
from graphql.utilities import build_ast_schema

from explorer.errors import CatalogError
from explorer.metadata.registry import Registry
from explorer.server.catalog import Catalog
from explorer.server.failures import kind_of, status_of
from explorer.server.graphql.documents import Documents, Rejected
from explorer.server.graphql.names import entity_type_symbol
from explorer.server.graphql.nodes import Session
from explorer.server.graphql.resolvers import RESOLVERS, type_of

__all__ = ["Executor"]

_log = logging.getLogger("explorer.server")
# Each module answers for the fields that it names, by object type.
_RESOLVERS = (RESOLVERS,)
_CODES = {"BAD_REQUEST": 400, "UNAUTHORIZED": 403}


class Executor:
    """A schema with its documents. Making one takes a tenth of a second."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._schema = _schema(catalog.registry)
        self._documents = Documents(self._schema)

    async def run(
        self, query: str, variables: dict[str, Any], operation: str | None, actor: str
    ) -> dict[str, Any]:
        """The answer to one request: `data`, `errors` if there are any, `extensions`."""
        try:
            document = self._documents.read(query)
        except Rejected as rejected:
            errors = [
                _shape(error, 400, "BAD_REQUEST", rejected.classification)
                for error in rejected.errors
            ]
            return {"data": None, "errors": errors, "extensions": {}}
        result = execute(
            self._schema,
            document,
            context_value=Session(self._catalog, actor),
            variable_values=variables,
            operation_name=operation,
        )
        if not isinstance(result, ExecutionResult):
            result = await result
        answer: dict[str, Any] = {"data": result.data}
        if result.errors:
            answer["errors"] = [_failed(error) for error in result.errors]
        return answer | {"extensions": {}}


def _schema(registry: Registry) -> GraphQLSchema:
    """The schema of every file beside this module; a file may extend what another defines."""
    files = resources.files("explorer.server.graphql").joinpath("schema").iterdir()
    named = sorted((file.name, file.read_text("utf-8")) for file in files)
    text = "\n".join(part for name, part in named if name.endswith(".graphql"))
    symbols = sorted({entity_type_symbol(name) for name in registry.entities} | {"DATASET"})
    text = text.replace("  DATASET\n", "".join(f"  {symbol}\n" for symbol in symbols), 1)
    schema = build_ast_schema(parse(text), assume_valid_sdl=True)
    for name, kind in schema.type_map.items():
        if isinstance(kind, GraphQLObjectType):
            for resolvers in _RESOLVERS:
                for field, resolve in resolvers.get(name, {}).items():
                    kind.fields[field].resolve = resolve
        elif isinstance(kind, GraphQLInterfaceType | GraphQLUnionType):
            kind.resolve_type = type_of
    return schema


def _failed(error: GraphQLError) -> dict[str, Any]:
    cause = error.original_error
    if isinstance(cause, CatalogError):
        status = status_of(cause)
        kind = kind_of(status)
        return _shape(error, _CODES.get(kind, status), kind, "DataFetchingException")
    if cause is None or isinstance(cause, GraphQLError):
        return _shape(error, 400, "BAD_REQUEST", "ValidationError")
    _log.error("a GraphQL field failed", exc_info=cause)
    hidden = GraphQLError("the server failed; its log says why", error.nodes, path=error.path)
    return _shape(hidden, 500, "SERVER_ERROR", "DataFetchingException")


def _shape(error: GraphQLError, code: int, kind: str, classification: str) -> dict[str, Any]:
    shape: dict[str, Any] = {"message": error.message}
    if error.locations:
        shape["locations"] = [{"line": at.line, "column": at.column} for at in error.locations]
    if error.path:
        shape["path"] = error.path
    shape["extensions"] = {"code": code, "type": kind, "classification": classification}
    return shape
