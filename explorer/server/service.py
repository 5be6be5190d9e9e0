"""The service as an ASGI application: from a request to its endpoint, and errors to one shape."""

import logging

from explorer.errors import CatalogError
from explorer.server.call import Answer, Call, Receive, Scope, Send
from explorer.server.catalog import Catalog
from explorer.server.dialect import Dialect
from explorer.server.endpoint import Endpoints
from explorer.server.failures import Refusal, error_body, status_of
from explorer.server.graphql.route import GraphqlRoute
from explorer.server.routes.aspects import AspectRoutes
from explorer.server.routes.deletion import DeletionRoutes
from explorer.server.routes.discovery import DiscoveryRoutes
from explorer.server.routes.entities import EntityRoutes
from explorer.server.routes.relationships import RelationshipRoutes
from explorer.server.routes.status import StatusRoutes
from explorer.server.urls import raw_path

__all__ = ["Service"]

_log = logging.getLogger("explorer.server")

_PROTOCOL = (b"x-restli-protocol-version", b"2.0.0")
_IS_ERROR = (b"x-restli-error-response", b"true")
_DEPRECATED = (b"deprecation", b"true")


class Service:
    """Answers for one catalog, under a base path if one is given.

    `dialect` settles how answers are spelled; when it is None each caller decides.
    """

    def __init__(
        self, catalog: Catalog, *, base_path: str = "", dialect: Dialect | None = None
    ) -> None:
        self.catalog = catalog
        self._graphql = GraphqlRoute(catalog)
        self._base = f"/{base_path.strip('/')}" if base_path.strip("/") else ""
        self.endpoints = Endpoints(
            (
                *StatusRoutes(catalog).endpoints(),
                *AspectRoutes(catalog, dialect).endpoints(),
                *EntityRoutes(catalog, dialect).endpoints(),
                *DiscoveryRoutes(catalog, dialect).endpoints(),
                *RelationshipRoutes(catalog).endpoints(),
                *DeletionRoutes(catalog).endpoints(),
                *self._graphql.endpoints(),
            )
        )

    def warm_up(self) -> None:
        """Load, beside the event loop, what the first request of its kind would wait for."""
        self.catalog.start(self._graphql.ready)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request. Only HTTP is spoken; a server that asks for lifespan events gets none."""
        if scope["type"] != "http":
            raise NotImplementedError(f"{scope['type']} is not served")
        try:
            answer = await self._answer(scope, receive)
        except CatalogError as error:
            answer = _failed(error)
        except Exception:  # noqa: BLE001 - the outermost edge of every request
            _log.exception("%s %s failed", scope["method"], scope["path"])
            answer = _failed(Refusal(500, "the server failed; its log says why"))
        await answer.send(send)

    async def _answer(self, scope: Scope, receive: Receive) -> Answer:
        path = raw_path(scope.get("raw_path"), scope["path"])
        prefix = scope.get("root_path", "") + self._base
        if prefix:
            if not path.startswith(f"{prefix}/"):
                raise Refusal(404, f"there is nothing at {path[:200]}; paths begin with {prefix}")
            path = path[len(prefix) :]
        resource, rest = self.endpoints.locate(path)
        call = Call(scope, receive, resource, rest)
        endpoint = self.endpoints.find(call)
        answer = await endpoint.handler(call)
        answer.headers = (*answer.headers, _PROTOCOL)
        if endpoint.standing == "deprecated":
            answer.headers = (*answer.headers, _DEPRECATED)
        return answer


def _failed(error: CatalogError) -> Answer:
    status = status_of(error)
    if status >= 500 and not isinstance(error, Refusal):
        _log.error("%s", error)
    headers = error.headers if isinstance(error, Refusal) else ()
    return Answer(error_body(status, str(error)), status, (_PROTOCOL, _IS_ERROR, *headers))
