"""Executing documents over a catalog, and errors in the shape that GraphQL clients read."""

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from graphql.error import GraphQLError
from graphql.execution import ExecutionResult, execute

from explorer.errors import CatalogError
from explorer.server.catalog import Catalog
from explorer.server.failures import kind_of, status_of
from explorer.server.graphql import (
    aspects,
    browsing,
    changes,
    columns,
    entities,
    finding,
    lineage,
    listing,
    measures,
)
from explorer.server.graphql.assembly import assemble
from explorer.server.graphql.documents import Document, Documents, Rejected
from explorer.server.graphql.nodes import Session
from explorer.server.graphql.plain import PlainExecutor

__all__ = ["Executor"]

_log = logging.getLogger("explorer.server")
# Each module answers for the fields that it names, by object type; a later one may answer anew.
_RESOLVERS = (
    aspects.RESOLVERS,
    columns.RESOLVERS,
    entities.RESOLVERS,
    finding.RESOLVERS,
    listing.RESOLVERS,
    browsing.RESOLVERS,
    measures.RESOLVERS,
    changes.RESOLVERS,
    lineage.RESOLVERS,
)
_CODES = {"BAD_REQUEST": 400, "UNAUTHORIZED": 403}
# From here on, and for the schema, a document is executed beside the event loop, so that others
# are answered meanwhile.
_HEAVY = 5_000
_SCHEMAS_KEPT = 16
# A text of more characters is read beside the event loop: validating it may take seconds.
_LONG = 3_000


class Executor:
    """A schema with its documents. Making one takes a fifth of a second."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self.schema = assemble(catalog.registry, _RESOLVERS, entities.type_of)
        self._documents = Documents(self.schema)
        self._described: dict[str, dict[str, Any]] = {}
        self._heavy = ThreadPoolExecutor(1, thread_name_prefix="graphql-heavy")

    async def run(
        self, query: str, variables: dict[str, Any], operation: str | None, actor: str
    ) -> dict[str, Any]:
        """The answer to one request: `data`, `errors` if there are any, `extensions`.

        An answer that describes the schema is kept by the document's text.
        """
        described = self._described.get(query)
        if described is not None and operation is None:
            return described
        try:
            document = await self._document(query)
            cost = document.check_cost(variables)
        except Rejected as rejected:
            errors = [
                _shape(error, 400, "BAD_REQUEST", rejected.classification)
                for error in rejected.errors
            ]
            return {"data": None, "errors": errors, "extensions": {}}
        given = (document, variables, operation, actor)
        if document.only_reads and (cost > _HEAVY or document.is_introspection):
            loop = asyncio.get_running_loop()
            answer = await loop.run_in_executor(
                self._heavy, lambda: asyncio.run(self._answer(*given))
            )
        else:
            answer = await self._answer(*given)
        if document.is_introspection and operation is None and "errors" not in answer:
            if len(self._described) >= _SCHEMAS_KEPT:
                self._described.clear()
            self._described[query] = answer
        return answer

    async def _document(self, query: str) -> Document:
        document = self._documents.known(query)
        if document is None:
            if len(query) > _LONG:
                document = await self._catalog.offload(self._documents.read, query)
            else:
                document = self._documents.read(query)
            self._documents.keep(query, document)
        return document

    async def _answer(
        self, document: Document, variables: dict[str, Any], operation: str | None, actor: str
    ) -> dict[str, Any]:
        result = execute(
            self.schema,
            document.parsed,
            context_value=Session(self._catalog, actor),
            variable_values=variables,
            operation_name=operation,
            executor_class=PlainExecutor,
        )
        if not isinstance(result, ExecutionResult):
            result = await result
        answer: dict[str, Any] = {"data": result.data}
        if result.errors:
            answer["errors"] = [_failed(error) for error in result.errors]
        return answer | {"extensions": {}}


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
