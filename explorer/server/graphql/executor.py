"""Executing documents over a catalog, and errors in the shape that GraphQL clients read."""

import asyncio
import logging
import math
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import orjson
from graphql.error import GraphQLError
from graphql.execution import ExecutionResult, execute

from explorer.errors import CatalogError
from explorer.server.authentication import Access
from explorer.server.cache import ByteCache
from explorer.server.catalog import Catalog
from explorer.server.dialect import Dialect
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
    properties,
)
from explorer.server.graphql.assembly import assemble
from explorer.server.graphql.documents import Document, Documents, Rejected
from explorer.server.graphql.nodes import Budget, Session
from explorer.server.graphql.plain import PlainExecutor
from explorer.server.graphql.precondition import Changed, read_if_current

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
    properties.RESOLVERS,
    lineage.RESOLVERS,
)
_CODES = {"BAD_REQUEST": 400, "UNAUTHORIZED": 403}
# From here on, and for the schema, a document is executed beside the event loop, so that others
# are answered meanwhile.
_HEAVY = 5_000
# Each may be a search; more than these in one document would fill the queue of the readers.
_MANY_ROOT_FIELDS = 20
_SCHEMAS_BYTES = 4 * 1024 * 1024
_LARGEST_SCHEMA_BYTES = 1024 * 1024
# A text of more characters may take a second to validate; shorter ones do not wait for it.
_LONG = 3_000


class Executor:
    """A schema with its documents. Making one takes a fifth of a second."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self.schema = assemble(catalog.registry, _RESOLVERS, entities.type_of)
        changes.guard(self.schema)
        self._documents = Documents(self.schema)
        self._described: ByteCache[str, bytes] = ByteCache(_SCHEMAS_BYTES, _LARGEST_SCHEMA_BYTES)
        self._heavy = ThreadPoolExecutor(1, thread_name_prefix="graphql-heavy")
        self._reader = ThreadPoolExecutor(1, thread_name_prefix="graphql-documents")
        self._long_reader = ThreadPoolExecutor(1, thread_name_prefix="graphql-long-documents")

    async def run(
        self,
        query: str,
        variables: dict[str, Any],
        operation: str | None,
        access: Access,
        extensions: Any = None,
        dialect: Dialect = "plain",
    ) -> bytes:
        """Return the answer to one request as JSON: `data`, `errors` if there are any,
        `extensions`.

        `extensions` are the request's, of which `ifCurrent` is read. An answer that describes the
        schema is kept by the document's text. Raises `InvalidInput` for a condition that cannot be
        read.
        """
        if_current = read_if_current(extensions)
        described = self._described.get(query)
        if described is not None and operation is None:
            return described
        try:
            document = await self._document(query)
            # What edits is measured before it begins, and so is the schema, whose size is known.
            # What reads is ended when it has taken too much, see `Budget`.
            if document.is_introspection or not document.only_reads:
                document.check_cost(variables)
            cost = document.cost(variables)
            if if_current is not None:
                document.check_one_edit()
        except Rejected as rejected:
            errors = [
                _shape(error, 400, "BAD_REQUEST", rejected.classification)
                for error in rejected.errors
            ]
            return orjson.dumps({"data": None, "errors": errors, "extensions": {}})
        # An edit that was begun is brought to its end.
        budget = Budget() if document.only_reads else Budget(math.inf, math.inf, math.inf)
        session = Session(self._catalog, access, if_current, dialect, budget)
        given = (document, variables, operation, session)
        is_heavy = cost > _HEAVY or document.root_fields > _MANY_ROOT_FIELDS
        if document.only_reads and (is_heavy or document.is_introspection):
            loop = asyncio.get_running_loop()
            answer = await loop.run_in_executor(
                self._heavy, lambda: asyncio.run(self._answer_here(*given))
            )
        else:
            answer = await self._answer(*given)
        body = orjson.dumps(answer)
        if document.is_introspection and operation is None and "errors" not in answer:
            self._described.put(query, body, len(body) + 4 * len(query))
        return body

    async def _document(self, query: str) -> Document:
        document = self._documents.known(query)
        if document is None:
            reader = self._long_reader if len(query) > _LONG else self._reader
            loop = asyncio.get_running_loop()
            document = await loop.run_in_executor(reader, self._documents.read, query)
        return document

    async def _answer_here(
        self, document: Document, variables: dict[str, Any], operation: str | None, session: Session
    ) -> dict[str, Any]:
        """As `_answer`, all in the thread that calls, which takes none from the readers."""
        with self._catalog.inline():
            return await self._answer(document, variables, operation, session)

    async def _answer(
        self, document: Document, variables: dict[str, Any], operation: str | None, session: Session
    ) -> dict[str, Any]:
        result = execute(
            self.schema,
            document.parsed,
            context_value=session,
            variable_values=variables,
            operation_name=operation,
            executor_class=PlainExecutor,
        )
        if not isinstance(result, ExecutionResult):
            result = await result
        if (exceeded := session.budget.exceeded) is not None:
            error = GraphQLError(str(exceeded))
            shape = _shape(error, 400, "BAD_REQUEST", "ExecutionAborted")
            return {"data": None, "errors": [shape], "extensions": {}}
        answer: dict[str, Any] = {"data": result.data}
        if result.errors:
            answer["errors"] = [_failed(error) for error in result.errors]
        return answer | {"extensions": {}}


def _failed(error: GraphQLError) -> dict[str, Any]:
    cause = error.original_error
    if isinstance(cause, CatalogError):
        status = status_of(cause)
        kind = kind_of(status)
        shape = _shape(error, _CODES.get(kind, status), kind, "DataFetchingException")
        if isinstance(cause, Changed):
            shape["extensions"]["current"] = cause.current
        return shape
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
