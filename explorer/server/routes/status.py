"""Endpoints for the abilities, the health and the metrics of the server, and for its OpenAPI
description and documentation page; and the metrics themselves, for Prometheus (text format
0.0.4)."""

import gzip
import math
import os
import platform
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from prometheus_client import (
    CONTENT_TYPE_PLAIN_0_0_4,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    Info,
    Metric,
    generate_latest,
)
from starlette.responses import Response

from explorer.errors import CatalogError
from explorer.server.catalog import CatalogEngine
from explorer.server.restli import Endpoint, JsonResponse, RequestContext, RestliRequest, Routes
from explorer.version import __version__

if TYPE_CHECKING:
    from graphql import GraphQLSchema

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
    """The OpenAPI description `/openapi.json` and the documentation page `/restli/docs`, made at
    the first request and kept in memory."""

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
        self._files: dict[str, dict[str, tuple[bytes, bytes]]] = {}

    @Endpoint(
        "GET",
        "/restli/docs",
        "this page: every endpoint, aspect, field, relationship and design decision",
        role="reader",
        media_type="text/html",
        gives="HTML",
        notes=("Answered without a token.",),
    )
    async def _page(self, request: RestliRequest) -> Response:
        return await self._send(request, "text/html")

    @Endpoint(
        "GET",
        "/openapi.json",
        "describe every endpoint in OpenAPI 3.1",
        role="reader",
        standing="ours",
        gives="the description that the documentation page shows",
        notes=("Answered without a token.",),
    )
    async def _description(self, request: RestliRequest) -> Response:
        return await self._send(request, "application/json")

    async def _send(self, request: RestliRequest, media_type: str) -> Response:
        base = request.scope.get("root_path", "")
        files = self._files.get(base)
        if files is None:
            files = await self._catalog.offload(self._make, base)
        content, packed = files[media_type]
        if "gzip" not in request.headers.get("accept-encoding", ""):
            return Response(content, headers=_HEADERS, media_type=media_type)
        return Response(
            packed, headers=_HEADERS | {"content-encoding": "gzip"}, media_type=media_type
        )

    def _make(self, base: str) -> dict[str, tuple[bytes, bytes]]:
        from explorer.server.documentation import describe, render_page

        with self._making:
            description = describe(self._endpoints(), self._schema(), self._catalog.registry, base)
            contents = {"application/json": description, "text/html": render_page(description)}
            files = self._files[base] = {
                media_type: (content, gzip.compress(content, mtime=0))
                for media_type, content in contents.items()
            }
        return files


# The release of DataHub whose model and calls this service supports. Clients choose calls by it:
# from 1.0.1 on the SDK writes over OpenAPI, from 1.4.0 on agents are offered tools that write.
_SPOKEN_VERSION = "v1.7.0.17"


class StatusRoutes(Routes):
    """The endpoints `/config`, `/metrics`, and those of the server's health."""

    def __init__(
        self, catalog: CatalogEngine, metrics: "Metrics", sign_in: Mapping[str, str] | None = None
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
        "catalogExplorer the release of this server, the id of the catalog, which stays when it is "
        "moved or restored from a backup, whether it holds the sample, the number "
        "of entities of the types that a search of all types lists, whether edits in GraphQL "
        "accept the condition ifCurrent, whether filters accept names in place of URNs, whether "
        "searchColumns is there, whether /stewardship and its trend are available, whether "
        "changesets are kept, what the catalog had and has lost, whether searches find by meaning "
        "and how far their vectors are (meaning), if that is on, and, in signIn, the issuer with "
        "which people sign in, if there is one",
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
                    **await self._catalog.read(self._catalog.describe),
                    **self._sign_in,
                },
            }
        )

    @Endpoint(
        "GET",
        "/health",
        "check whether the server is up",
        role="reader",
        gives="nothing: 200 and an empty body; a message if changes that the catalog had are lost",
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
        lost = "; ".join(map(str, self._catalog.losses))
        return JsonResponse({"message": lost}) if lost else JsonResponse()

    @Endpoint(
        "GET",
        "/health/live",
        "check whether the server runs",
        role="reader",
        standing="ours",
        gives="nothing: 200 and an empty body",
        notes=(
            "Answered without a token, and whatever the database and the search index do. Meant "
            "for what restarts a server that hangs; a restart does not bring back a database.",
        ),
    )
    async def _live(self, _request: RestliRequest) -> Response:
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
        await self._catalog.read(self._catalog.prove_caught_up)
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
        media_type="text/plain",
        gives="text in the Prometheus format: requests by endpoint and status, their duration, "
        "requests in progress; the writer's queue and commits; the offsets of the change log "
        "and the search index, and how far searches are behind the changes of other servers; "
        "number of entities, size on disk, memory",
        notes=("If tokens are in use, it needs one, as a bearer token.",),
    )
    async def _measure(self, _request: RestliRequest) -> Response:
        return Response(await self._metrics.text(), media_type=_MEDIA_TYPE)


_MEDIA_TYPE = CONTENT_TYPE_PLAIN_0_0_4

_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_LABELS = ("method", "resource", "action")
_MINUTE = 60.0
_STARTED_SECONDS = time.time()


class _Registry(CollectorRegistry):
    """A registry that leaves out the `_created` samples, the times at which series were created:
    every counter and histogram would have one."""

    def collect(self) -> Iterable[Metric]:
        for metric in super().collect():
            metric.samples = [
                sample for sample in metric.samples if not sample.name.endswith("_created")
            ]
            yield metric


class Metrics:
    """The metrics of one service: its requests, its catalog and its process."""

    def __init__(self, catalog: CatalogEngine) -> None:
        self._catalog = catalog
        self._registry = registry = _Registry()
        self._requests = Counter(
            "catalog_http_requests",
            "HTTP requests answered.",
            (*_LABELS, "status"),
            registry=registry,
        )
        self._seconds = Histogram(
            "catalog_http_request_seconds",
            "Duration of HTTP requests, in seconds.",
            _LABELS,
            registry=registry,
            buckets=_SECONDS,
        )
        self.in_flight = Gauge(
            "catalog_http_requests_in_flight", "HTTP requests in progress.", registry=registry
        )
        self._received = Counter(
            "catalog_http_received_bytes", "Bytes received in request bodies.", registry=registry
        )
        self._sent = Counter(
            "catalog_http_sent_bytes", "Bytes sent in response bodies.", registry=registry
        )
        commits, store, index = catalog.commits, catalog.store, catalog.index
        registry.register(commits.group_jobs)
        registry.register(commits.seconds)
        build = Info(
            "catalog_build", "Version of catalog-explorer and of Python.", registry=registry
        )
        build.info({"version": __version__, "python": platform.python_version()})
        measures: list[tuple[str, str, Callable[[], float]]] = [
            (
                "catalog_write_queue_jobs",
                "Writes that wait to be committed.",
                lambda: commits.waiting,
            ),
            (
                "catalog_log_offset",
                "Offset of the newest row of the change log.",
                lambda: store.log_bounds().head,
            ),
            (
                "catalog_index_offset",
                "Offset up to which the search index on disk has the change log.",
                lambda: index.committed_offset,
            ),
            (
                "catalog_index_lag",
                "Rows of the change log that the search index on disk does not have yet.",
                lambda: store.log_bounds().head - index.committed_offset,
            ),
            (
                "catalog_follow_lag_rows",
                (
                    "Changes by other services on the same database that searches here do "
                    "not show yet."
                ),
                lambda: catalog.lag()[0],
            ),
            (
                "catalog_follow_lag_seconds",
                (
                    "Seconds since searches here were last known to show all changes by "
                    "other services."
                ),
                lambda: catalog.lag()[1],
            ),
            (
                "catalog_services",
                "Services on the same database that reported within the last minute.",
                lambda: sum(reader.silent_seconds < _MINUTE for reader in store.log_readers()),
            ),
            (
                "catalog_log_needed_rows",
                ("Rows of the change log that a service on the same database has not read yet."),
                lambda: max(
                    (store.log_bounds().head - reader.after for reader in store.log_readers()),
                    default=0,
                ),
            ),
            ("catalog_entities", "Entities stored.", store.count),
            ("catalog_store_bytes", "Size of the store in bytes.", store.size_bytes),
            (
                "catalog_followers",
                "Clients that follow the change log.",
                lambda: len(catalog.feed.followers),
            ),
            (
                "process_start_time_seconds",
                "Start time of the process, in seconds since 1970-01-01 UTC.",
                lambda: _STARTED_SECONDS,
            ),
        ]
        if resident_bytes() is not None:
            measures.append(
                (
                    "process_resident_memory_bytes",
                    "Resident memory of the process, in bytes.",
                    lambda: resident_bytes() or 0,
                )
            )
        for name, text, measure in measures:
            Gauge(name, text, registry=registry).set_function(partial(_measure, measure))

    def count(self, context: RequestContext) -> None:
        """Count an answered request. The duration of a stream is not recorded, since its reader
        decides how long it lasts."""
        endpoint = context.endpoint
        if endpoint is None:
            # An unknown path or method is not a label: clients could make any number of series.
            place = ("", "", "")
        else:
            place = (endpoint.method, endpoint.path, endpoint.action or "")
        self._requests.labels(*place, str(context.status)).inc()
        seconds = self._seconds.labels(*place)
        if not context.is_streamed:
            seconds.observe(context.seconds)
        self._received.inc(context.received_bytes)
        self._sent.inc(context.sent_bytes)

    async def text(self) -> bytes:
        """Return all metrics in Prometheus's text format, with gauges measured now."""
        return await self._catalog.read(generate_latest, self._registry)


def _measure(measure: Callable[[], float]) -> float:
    """Return the measured value; NaN while the catalog cannot provide it."""
    try:
        return measure()
    except CatalogError:
        return math.nan


def resident_bytes() -> int | None:
    """Return the resident memory of this process in bytes, or its peak where there is no `/proc`.
    Return None if the system reports neither."""
    try:
        pages = Path("/proc/self/statm").read_text("ascii").split()[1]
    except OSError:
        return _most_resident_bytes()
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def _most_resident_bytes() -> int | None:
    """Return the peak resident memory in bytes; None without the module `resource`."""
    try:
        import resource
    except ImportError:
        return None
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024
