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
        "this page: every address, aspect, field, relationship and decision",
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
        "what the server is and can do",
        role="reader",
        gives="the flags and the release by which clients choose their calls; under "
        "catalogExplorer this server's own release, whether it holds the sample, how "
        "many entities, that edits in GraphQL take the condition ifCurrent, that filters "
        "take names in the place of URNs, that /stewardship is there, with its trend, that "
        "changesets are kept, and in signIn the issuer with which people sign in, if there is one",
        notes=(
            "Answered without a token.",
            "The release is that of the real service whose model and calls are served here.",
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
        "whether the server is up",
        role="reader",
        gives="nothing: 200 and an empty body",
        notes=(
            "Answered without a token.",
            "503 with a sentence when nothing can be written: the database is damaged, or "
            "the writer does not take a job in 5 seconds.",
            "A search index that is being made anew is no fault: only searches are "
            "answered with 503 and Retry-After until it is done.",
        ),
    )
    async def _health(self, _request: RestliRequest) -> Response:
        await self._catalog.prove_writer()
        return JsonResponse()

    @Endpoint(
        "GET",
        "/health/ready",
        "whether the server is to get requests",
        role="reader",
        standing="ours",
        gives="nothing: 200 and an empty body",
        notes=(
            "Answered without a token.",
            "503 with Retry-After and a sentence while searches lack what is stored: the index is "
            "being made, or is behind what other servers of the same database wrote; and while "
            "the database cannot be reached, or takes no writes.",
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
        "whether searches are answered, if only from what was known a while ago",
        role="reader",
        standing="ours",
        gives="nothing: 200 and an empty body",
        notes=(
            "Answered without a token.",
            "503 with Retry-After only while the search index is being made. While the database "
            "is away searches, suggestions, facets and numbers of entities are still answered, "
            "and x-catalog-age-seconds tells how long ago they are known to have lacked nothing; a "
            "caller who sends an x-catalog-offset beyond what the index has gets 503. For a "
            "proxy that has no server left whose /health/ready is 200.",
        ),
    )
    async def _searchable(self, _request: RestliRequest) -> Response:
        self._catalog.prove_searchable()
        return JsonResponse()

    @Endpoint(
        "GET",
        "/metrics",
        "what the server counts of itself",
        role="reader",
        standing="ours",
        gives="text as Prometheus reads it: requests by endpoint and status, how long they "
        "took, what is under way; the writer's queue and commits; the change log's and the "
        "search index's offsets, and how far searches are behind what others wrote; entities, "
        "size on disk, memory",
        notes=("Where tokens are in use it wants one, as a bearer.",),
    )
    async def _measured(self, _request: RestliRequest) -> Response:
        return Response(await self._metrics.text(), media_type=MEDIA_TYPE)
