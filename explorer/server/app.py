"""The service as an ASGI application: from a request to its endpoint, and errors to one shape."""

import logging
from functools import partial

from explorer.errors import Busy, CatalogError
from explorer.server.access_log import AccessLog
from explorer.server.authentication import Gate
from explorer.server.catalog import Catalog
from explorer.server.dialect import Dialect, dialect_of
from explorer.server.failures import RequestRefusal, error_body, status_of
from explorer.server.graphql.route import GraphqlRoute
from explorer.server.http import (
    REQUEST_ID,
    Call,
    Endpoints,
    HttpAnswer,
    Receive,
    RequestContext,
    Scope,
    Send,
    Stream,
    content_length,
    raw_path,
)
from explorer.server.metrics import Metrics
from explorer.server.routes.aspects import AspectRoutes, VersionRoutes
from explorer.server.routes.changes import ChangeRoutes, ExportRoutes
from explorer.server.routes.entities import CountRoutes, DeletionRoutes, EntityRoutes
from explorer.server.routes.ingestion import IngestionRoutes, RunRoutes
from explorer.server.routes.lineage import LineageRoutes, RelationshipRoutes
from explorer.server.routes.openapi import OpenApiRoutes
from explorer.server.routes.search import BrowsingRoutes, SearchRoutes
from explorer.server.routes.status import DocumentationRoutes, StatusRoutes
from explorer.server.routes.stewardship import StewardshipRoutes

__all__ = ["Service"]

_log = logging.getLogger("explorer.server")

_PROTOCOL = (b"x-restli-protocol-version", b"2.0.0")
_IS_ERROR = (b"x-restli-error-response", b"true")
_DEPRECATED = (b"deprecation", b"true")


class Service:
    """Answers for one catalog, under a base path if one is given.

    `dialect` settles how answers are spelled; when it is None each caller decides. `gate` says who
    may come in, everybody without one. `journal` gets a line for every request.
    """

    def __init__(
        self,
        catalog: Catalog,
        *,
        base_path: str = "",
        dialect: Dialect | None = None,
        gate: Gate | None = None,
        journal: AccessLog | None = None,
    ) -> None:
        self.catalog = catalog
        self._dialect = dialect
        self._gate = gate or Gate()
        self._journal = journal
        self._metrics = Metrics(catalog)
        self.graphql = GraphqlRoute(catalog)
        self._base = f"/{base_path.strip('/')}" if base_path.strip("/") else ""
        self.endpoints = Endpoints(
            (
                *StatusRoutes(catalog, self._metrics).endpoints(),
                *ChangeRoutes(catalog).endpoints(),
                *ExportRoutes(catalog).endpoints(),
                *AspectRoutes(catalog).endpoints(),
                *EntityRoutes(catalog).endpoints(),
                *IngestionRoutes(catalog).endpoints(),
                *OpenApiRoutes(catalog).endpoints(),
                *VersionRoutes(catalog).endpoints(),
                *SearchRoutes(catalog).endpoints(),
                *BrowsingRoutes(catalog).endpoints(),
                *CountRoutes(catalog).endpoints(),
                *StewardshipRoutes(catalog).endpoints(),
                *RelationshipRoutes(catalog).endpoints(),
                *LineageRoutes(catalog).endpoints(),
                *DeletionRoutes(catalog).endpoints(),
                *RunRoutes(catalog).endpoints(),
                *self.graphql.endpoints(),
                *self._documentation().endpoints(),
            )
        )

    def stop(self) -> None:
        """End what would go on for as long as its caller stays; the rest is answered."""
        self.catalog.feed.end()

    def warm_up(self) -> None:
        """Load, beside the event loop, what the first request of its kind would wait for."""
        self.catalog.start(self.graphql.ready)

    def _documentation(self) -> DocumentationRoutes:
        return DocumentationRoutes(
            self.catalog,
            lambda: self.endpoints.all,
            lambda: self.graphql.ready().schema,
            self._base,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request. Only HTTP is spoken; a server that asks for lifespan events gets none."""
        if scope["type"] != "http":
            raise NotImplementedError(f"{scope['type']} is not served")
        visit = RequestContext(scope)
        self._metrics.in_flight += 1
        try:
            answer = await self._answered(visit, receive)
            visit.status = answer.status
            answer.headers = (*answer.headers, _PROTOCOL, (REQUEST_ID, visit.request_id))
            if isinstance(answer, Stream):
                await answer.send(visit.weighed(send))
            else:
                visit.sent_bytes = len(answer.body)
                await answer.send(send)
        finally:
            self._metrics.in_flight -= 1
            visit.end()
        self._metrics.count(visit, timed=not isinstance(answer, Stream))
        if self._journal is not None:
            self._journal.note(visit)

    async def _answered(self, visit: RequestContext, receive: Receive) -> HttpAnswer:
        try:
            return await self._answer(visit, receive)
        except CatalogError as error:
            return _failed(error)
        except Exception:  # noqa: BLE001 - the outermost edge of every request
            _log.exception("%s %s failed", visit.scope["method"], visit.scope["path"])
            return _failed(RequestRefusal(500, "the server failed; its log says why"))

    async def _answer(self, visit: RequestContext, receive: Receive) -> HttpAnswer:
        scope = visit.scope
        path = raw_path(scope.get("raw_path"), scope["path"])
        prefix = scope.get("root_path", "") + self._base
        if prefix:
            if not path.startswith(f"{prefix}/"):
                raise RequestRefusal(
                    404, f"there is nothing at {path[:200]}; paths begin with {prefix}"
                )
            path = path[len(prefix) :]
        visit.received_bytes = content_length(visit.headers)
        access = self._gate.admit(visit.headers, path)
        visit.actor = access.actor
        resource, rest = self.endpoints.locate(path)
        dialect = dialect_of(scope["method"], scope["query_string"], visit.headers, self._dialect)
        is_admitted = partial(self._admits, visit, path)
        call = Call(scope, receive, resource, rest, access, is_admitted, dialect)
        endpoint = visit.endpoint = self.endpoints.find(call)
        access.require(endpoint.role, endpoint.title)
        answer = await endpoint.handler(call)
        if endpoint.standing == "deprecated":
            answer.headers = (*answer.headers, _DEPRECATED)
        return answer

    def _admits(self, visit: RequestContext, path: str) -> bool:
        try:
            self._gate.admit(visit.headers, path)
        except RequestRefusal:
            return False
        return True


def _failed(error: CatalogError) -> HttpAnswer:
    status = status_of(error)
    if status >= 500 and not isinstance(error, RequestRefusal):
        _log.error("%s", error)
    headers = error.headers if isinstance(error, RequestRefusal) else ()
    if isinstance(error, Busy) and error.retry_after_seconds is not None:
        headers = ((b"retry-after", b"%d" % error.retry_after_seconds),)
    return HttpAnswer(error_body(status, str(error)), status, (_IS_ERROR, *headers))
