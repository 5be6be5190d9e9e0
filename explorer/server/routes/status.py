"""Endpoints for the abilities, the health and the metrics of the server, and for its documentation
page."""

import gzip
from collections.abc import Callable, Iterable, Mapping
from threading import Lock
from typing import TYPE_CHECKING

from starlette.responses import HTMLResponse, Response

from explorer.server.catalog import CatalogEngine
from explorer.server.metrics import MEDIA_TYPE, Metrics
from explorer.server.restli import Endpoint, JsonResponse, RestliRequest, Routes

if TYPE_CHECKING:
    from graphql import GraphQLSchema

__all__ = ["DocumentationRoutes", "StatusRoutes"]

# The page loads nothing from other servers, and sends requests only to this service.
_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "vary": "accept-encoding",
}


class DocumentationRoutes(Routes):
    """The documentation page `/restli/docs`, rendered at the first request and kept in memory."""

    def __init__(
        self,
        catalog: CatalogEngine,
        endpoints: Callable[[], Iterable[Endpoint]],
        schema: "Callable[[], GraphQLSchema]",
    ) -> None:
        super().__init__(catalog)
        self._endpoints = endpoints
        self._schema = schema
        self._making = Lock()
        self._made: dict[str, tuple[bytes, bytes]] = {}

    @Endpoint(
        "GET",
        "/restli/docs",
        "this page: every endpoint, aspect, field, relationship and design decision",
        role="reader",
        gives="HTML",
    )
    async def _page(self, request: RestliRequest) -> Response:
        base = request.scope.get("root_path", "")
        made = self._made.get(base)
        if made is None:
            made = await self._catalog.offload(self._make, base)
        page, packed = made
        if "gzip" in request.headers.get("accept-encoding", ""):
            return HTMLResponse(packed, headers={**_HEADERS, "content-encoding": "gzip"})
        return HTMLResponse(page, headers=_HEADERS)

    def _make(self, base: str) -> tuple[bytes, bytes]:
        from explorer.server.documentation import documentation_page

        with self._making:
            page = documentation_page(
                self._endpoints(), self._schema(), self._catalog.registry, base
            )
            made = self._made[base] = (page, gzip.compress(page, mtime=0))
        return made


# The release of DataHub whose model and calls are served. Clients choose their calls by it: from
# 1.0.1 on the SDK writes over OpenAPI, from 1.4.0 on agents are offered tools that write.
_SPOKEN_VERSION = "v1.7.0.17"


class StatusRoutes(Routes):
    """The endpoints `/config`, `/health`, `/health/ready`, `/health/search` and `/metrics`."""

    def __init__(
        self, catalog: CatalogEngine, metrics: Metrics, sign_in: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(catalog)
        self._sign_in = {} if sign_in is None else {"signIn": sign_in}
        self._metrics = metrics

    @Endpoint(
        "GET",
        "/config",
        "describe the server and its capabilities",
        role="reader",
        gives="the flags and the release by which clients choose their calls; under "
        "catalogExplorer the release of this server, whether it holds the sample, the number "
        "of entities of the types that a search of all types lists, whether edits in GraphQL "
        "accept the condition ifCurrent, whether filters accept names in place of URNs, whether "
        "/stewardship and its trend are available, whether changesets are kept and, in signIn, "
        "the issuer with which people sign in, if there is one",
        notes=(
            "Answered without a token.",
            (
                "The reported release is that of the DataHub release whose model and calls "
                "this server implements."
            ),
        ),
    )
    async def _config(self, _request: RestliRequest) -> Response:
        return JsonResponse(
            {
                "models": {},
                "patchCapable": True,
                "statefulIngestionCapable": True,
                "supportsImpactAnalysis": True,
                "timeZone": "GMT",
                "datasetUrnNameCasing": False,
                "retention": "true",
                "noCode": "true",
                "managedIngestion": {"enabled": False},
                "datahub": {"serverType": "prod", "serverEnv": "core"},
                "telemetry": {"enabledCli": False, "enabledIngestion": False},
                "versions": {
                    "acryldata/datahub": {"version": _SPOKEN_VERSION, "commit": "0000000"}
                },
                "catalogExplorer": {
                    **await self._catalog.offload(self._catalog.describe),
                    **self._sign_in,
                },
            }
        )

    @Endpoint(
        "GET",
        "/health",
        "check whether the server is up",
        role="reader",
        gives="nothing: 200 and an empty body",
        notes=(
            "Answered without a token.",
            "503 with a message if nothing can be written: the database is damaged, or the "
            "writer does not accept a job within 5 seconds.",
            "A search index that is being rebuilt does not count as a failure: only searches are "
            "answered with 503 and Retry-After until it is ready.",
        ),
    )
    async def _health(self, _request: RestliRequest) -> Response:
        await self._catalog.prove_writer()
        return JsonResponse()

    @Endpoint(
        "GET",
        "/health/ready",
        "check whether the server is ready for requests",
        role="reader",
        standing="ours",
        gives="nothing: 200 and an empty body",
        notes=(
            "Answered without a token.",
            "503 with Retry-After and a message while searches do not show everything that is "
            "stored, because the index is being built or is behind the changes of other servers "
            "on the same database, and while the database cannot be reached or accepts no writes.",
        ),
    )
    async def _ready(self, _request: RestliRequest) -> Response:
        if not self._catalog.store.can_write:
            await self._catalog.prove_writer()
        await self._catalog.offload(self._catalog.prove_caught_up)
        return JsonResponse()

    @Endpoint(
        "GET",
        "/health/search",
        "check whether searches are answered, even if the results may be out of date",
        role="reader",
        standing="ours",
        gives="nothing: 200 and an empty body",
        notes=(
            "Answered without a token.",
            "503 with Retry-After only while the search index is being built. While the database "
            "is unavailable, searches, suggestions, facets and counts of entities are still "
            "answered, and x-catalog-age-seconds gives the time since they were last known to be "
            "complete; a request whose x-catalog-offset is beyond the offset of the index gets "
            "503. Meant for a proxy that has no server left whose /health/ready is 200.",
        ),
    )
    async def _searchable(self, _request: RestliRequest) -> Response:
        self._catalog.prove_searchable()
        return JsonResponse()

    @Endpoint(
        "GET",
        "/metrics",
        "return the metrics of the server",
        role="reader",
        standing="ours",
        gives="text in the Prometheus format: requests by endpoint and status, their duration, "
        "requests in progress; the writer's queue and commits; the offsets of the change log "
        "and the search index, and how far searches are behind the changes of other servers; "
        "number of entities, size on disk, memory",
        notes=("If tokens are in use, it needs one, as a bearer token.",),
    )
    async def _measured(self, _request: RestliRequest) -> Response:
        return Response(await self._metrics.text(), media_type=MEDIA_TYPE)
