"""The service as an ASGI application: Starlette's router and the middleware around it."""

import logging
from collections.abc import Callable, Mapping
from time import perf_counter

from starlette.middleware.exceptions import ExceptionMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route, Router
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from explorer.errors import Busy, StorageFull
from explorer.server.access_log import AccessLog
from explorer.server.audit_log import AuditLog
from explorer.server.authentication import Gate, Unauthorized
from explorer.server.catalog import AGE_HEADER, CatalogEngine, noting_writes
from explorer.server.dialect import Dialect, dialect_of
from explorer.server.failures import (
    RequestRefusal,
    as_catalog_error,
    error_body,
    headers_of,
    status_of,
)
from explorer.server.graphql import GraphqlRoute
from explorer.server.openlineage import Instances
from explorer.server.restli import (
    LOG_OFFSET,
    REQUEST_ID,
    JsonResponse,
    RequestContext,
    content_length,
    raw_path,
    routes,
)
from explorer.server.routes.aspects import AspectRoutes, VersionRoutes
from explorer.server.routes.changes import ChangeRoutes, ExportRoutes
from explorer.server.routes.entities import CountRoutes, DeletionRoutes, EntityRoutes
from explorer.server.routes.ingestion import IngestionRoutes, RunRoutes
from explorer.server.routes.lineage import LineageRoutes, RelationshipRoutes
from explorer.server.routes.openapi import EdgeScrollRoutes, EntityScrollRoutes, OpenApiRoutes
from explorer.server.routes.openlineage import OpenLineageRoutes
from explorer.server.routes.search import BrowsingRoutes, SearchRoutes
from explorer.server.routes.status import DocumentationRoutes, Metrics, StatusRoutes
from explorer.server.routes.stewardship import StewardshipRoutes
from explorer.server.routes.timeline import TimelineRoutes

_log = logging.getLogger("explorer.server")

HAS_LEFT = "has_left"
"""The key in the state of a scope under which a server may put a function that returns whether the
client has closed the connection; it is called from other threads."""

_LONGEST_OFFSET = 19
_LONGEST_ORIGIN = 200
_READING = ("GET", "HEAD", "OPTIONS")
_PROTOCOL = (b"x-restli-protocol-version", b"2.0.0")


class Service:
    """The ASGI application that serves one catalog, optionally under a base path.

    `dialect` is the dialect of requests that do not name one themselves; if it is `None`, it is
    detected for each request. `gate` decides who is admitted; without one, everybody is. `journal`
    logs every request, and `audit` records the requests that change something or are refused.
    `sign_in` is included in the response of `/config`, for clients that want to sign in.
    `instances` are the platform instances of datasets in events of OpenLineage. `agents` makes the
    application at `/mcp`, which calls this service.
    """

    def __init__(
        self,
        catalog: CatalogEngine,
        *,
        base_path: str = "",
        dialect: Dialect | None = None,
        gate: Gate | None = None,
        journal: AccessLog | None = None,
        audit: AuditLog | None = None,
        sign_in: Mapping[str, str] | None = None,
        instances: Instances | None = None,
        agents: Callable[[ASGIApp], ASGIApp] | None = None,
    ) -> None:
        self.catalog = catalog
        self.graphql = GraphqlRoute(catalog)
        metrics = Metrics(catalog)
        self.endpoints = (
            *StatusRoutes(catalog, metrics, sign_in).endpoints(),
            *ChangeRoutes(catalog).endpoints(),
            *ExportRoutes(catalog).endpoints(),
            *AspectRoutes(catalog).endpoints(),
            *EntityRoutes(catalog).endpoints(),
            *IngestionRoutes(catalog).endpoints(),
            *EntityScrollRoutes(catalog).endpoints(),
            *OpenApiRoutes(catalog).endpoints(),
            *EdgeScrollRoutes(catalog).endpoints(),
            *OpenLineageRoutes(catalog, instances).endpoints(),
            *VersionRoutes(catalog).endpoints(),
            *TimelineRoutes(catalog).endpoints(),
            *SearchRoutes(catalog).endpoints(),
            *BrowsingRoutes(catalog).endpoints(),
            *CountRoutes(catalog).endpoints(),
            *StewardshipRoutes(catalog).endpoints(),
            *RelationshipRoutes(catalog).endpoints(),
            *LineageRoutes(catalog).endpoints(),
            *DeletionRoutes(catalog).endpoints(),
            *RunRoutes(catalog).endpoints(),
            *self.graphql.endpoints(),
            *DocumentationRoutes(
                catalog, lambda: self.endpoints, lambda: self.graphql.ready().schema
            ).endpoints(),
        )
        paths = routes(self.endpoints)
        if agents is not None:
            paths.append(Route("/mcp{end:slashes}", agents(self)))
        app: ASGIApp = Router(paths, redirect_slashes=False, default=_NotFound(""))
        app = _Admission(app, gate or Gate(), dialect, catalog)
        base = base_path.strip("/")
        if base:
            app = Router(
                [Mount(f"/{base}", app)], redirect_slashes=False, default=_NotFound(f"/{base}")
            )
        app = ExceptionMiddleware(app, {Exception: _failure})
        self._app = _Observation(app, metrics, journal, audit, catalog)

    def stop(self) -> None:
        """End the streams of changes, which would otherwise last as long as their clients stay;
        other requests are completed, unless the store keeps them waiting."""
        self.catalog.feed.end()
        self.catalog.store.hurry()

    def warm_up(self) -> None:
        """Load, in a thread, the modules and the schema that the first GraphQL request would
        otherwise wait for."""
        self.catalog.start(self.graphql.ready)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)


class _Observation:
    """Middleware that creates the context of each request, counts the request and logs it.

    It replaces the decoded path in the scope by the path as it was sent, which the router matches.
    Every response gets headers with the protocol version and the request id; if several services
    share the store, also with the offset of the change log and the age of the search results.
    """

    def __init__(
        self,
        app: ASGIApp,
        metrics: Metrics,
        journal: AccessLog | None,
        audit: AuditLog | None,
        catalog: CatalogEngine,
    ) -> None:
        self._audit = audit
        self._app = app
        self._catalog = catalog
        self._metrics = metrics
        self._journal = journal

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        scope["path"] = raw_path(scope.get("raw_path"), scope["path"])
        context = RequestContext(scope)
        state = scope.setdefault("state", {})
        state["context"] = context

        async def observe(message: Message) -> None:
            if message["type"] == "http.response.start":
                context.status = message["status"]
                own_headers = [_PROTOCOL, (REQUEST_ID, context.request_id)]
                if self._catalog.store.is_shared:
                    own_headers.append((LOG_OFFSET, b"%d" % self._catalog.followed))
                    age = context.freshness.age_seconds()
                    if age is not None:
                        own_headers.append((AGE_HEADER, b"%d" % age))
                message["headers"] = [*message["headers"], *own_headers]
            else:
                context.sent_bytes += len(message.get("body", b""))
                context.is_streamed = context.is_streamed or message.get("more_body", False)
            await send(message)

        self._metrics.in_flight.inc()
        try:
            with (
                context.freshness.make_current(),
                noting_writes(state.get(HAS_LEFT)) as context.written,
            ):
                await self._app(scope, receive, observe)
        finally:
            self._metrics.in_flight.dec()
            context.seconds = perf_counter() - context.started
        self._metrics.count(context)
        if self._audit is not None:
            self._audit.note(context)
        if self._journal is not None:
            self._journal.note(context)


class _Admission:
    """Middleware that authenticates each request and determines its dialect.

    If several services share the store, a request may name an offset of the change log. It then
    waits until the search index has reached that offset, see `CatalogEngine.wait_for`; if the index
    does not reach it in time, searches of the request are refused, see `Freshness`.
    """

    def __init__(
        self, app: ASGIApp, gate: Gate, dialect: Dialect | None, catalog: CatalogEngine
    ) -> None:
        self._app = app
        self._catalog = catalog
        self._gate = gate
        self._dialect = dialect

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            context: RequestContext = scope["state"]["context"]
            headers, path = context.headers, _path_in_service(scope)
            context.received_bytes = content_length(headers)
            _check_names_one_host(scope)
            await self._gate.prepare(headers)
            try:
                context.access = self._gate.admit(headers, path)
            except Unauthorized as error:
                context.access = error.access
                raise
            self._gate.count(context.access)
            _check_origin(scope["method"], headers)
            context.is_admitted = lambda: self._gate.admits(headers, path)
            context.dialect = dialect_of(
                scope["method"], scope["query_string"], headers, self._dialect
            )
            if self._catalog.store.is_shared:
                offset = headers.get(LOG_OFFSET, b"")
                if offset.isdigit() and len(offset) < _LONGEST_OFFSET:
                    context.freshness.needed = int(offset)
                await self._catalog.wait_for(context.freshness.needed)
        await self._app(scope, receive, send)


def _check_names_one_host(scope: Scope) -> None:
    """Raise `RequestRefusal` (400) if a request has several `Host` headers: a proxy may use another
    of them than this service (RFC 9112, 3.2)."""
    if sum(name == b"host" for name, _ in scope["headers"]) > 1:
        raise RequestRefusal(400, "the request has several Host headers")


def _check_origin(method: str, headers: Mapping[bytes, bytes]) -> None:
    """Raise `RequestRefusal` (403) if a browser sent a request that may change something for a page
    of another site."""
    origin = headers.get(b"origin")
    if origin is None or method in _READING:
        return
    if origin.partition(b"://")[2] != headers.get(b"host"):
        origin_text = origin.decode("latin-1")[:_LONGEST_ORIGIN]
        raise RequestRefusal(403, f"requests from pages of {origin_text} are not accepted")


def _path_in_service(scope: Scope) -> str:
    path: str = scope["path"]
    return path.removeprefix(scope.get("root_path", ""))


class _NotFound:
    """An ASGI application that refuses every request with 404.

    `base` is the base path that the request's path lacks, if there is one.
    """

    def __init__(self, base: str) -> None:
        self._base = base

    async def __call__(self, scope: Scope, _receive: Receive, _send: Send) -> None:
        prefix = scope.get("root_path", "") + self._base
        hint = f"; paths begin with {prefix}" if self._base else ""
        raise RequestRefusal(404, f"there is nothing at {_path_in_service(scope)[:200]}{hint}")


async def _failure(request: Request, error: Exception) -> Response:
    """Return the response to a request that raised an error; log the error if it is the
    server's."""
    catalog_error = as_catalog_error(error)
    if catalog_error is not error:
        _log.error("%s %s failed", request.method, request.scope["path"], exc_info=error)
    elif isinstance(error, Busy | StorageFull):
        # The access log contains the status. While a database is unreachable, every request ends
        # like this, and the store logs it once.
        _log.info("%s", error)
    elif status_of(catalog_error) >= 500:
        _log.error("%s", error)
    headers = {"x-restli-error-response": "true", **headers_of(catalog_error)}
    status = status_of(catalog_error)
    return JsonResponse(error_body(status, str(catalog_error)), status, headers)
