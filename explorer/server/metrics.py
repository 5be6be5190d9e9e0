"""The service's metrics for Prometheus (text format 0.0.4)."""

import math
import os
import platform
import sys
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

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

from explorer import __version__
from explorer.errors import CatalogError
from explorer.server.catalog import CatalogEngine
from explorer.server.restli import RequestContext

__all__ = ["MEDIA_TYPE", "Metrics", "resident_bytes"]

MEDIA_TYPE = CONTENT_TYPE_PLAIN_0_0_4

_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_LABELS = ("method", "resource", "action")
_MINUTE = 60.0
_STARTED_SECONDS = time.time()


class _Registry(CollectorRegistry):
    """A registry that leaves out the `_created` samples, the times at which series were created:
    every counter and histogram would have one."""

    def collect(self) -> Iterable[Metric]:
        for metric in super().collect():
            metric.samples = [one for one in metric.samples if not one.name.endswith("_created")]
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
                lambda: sum(one.silent_seconds < _MINUTE for one in store.log_readers()),
            ),
            (
                "catalog_log_needed_rows",
                ("Rows of the change log that a service on the same database has not read yet."),
                lambda: max(
                    (store.log_bounds().head - one.after for one in store.log_readers()), default=0
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
            Gauge(name, text, registry=registry).set_function(partial(_measured, measure))

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
        return await self._catalog.offload(generate_latest, self._registry)


def _measured(measure: Callable[[], float]) -> float:
    """Return the measured value; NaN while the catalog cannot give it."""
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
