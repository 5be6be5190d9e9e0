"""What the service counts of itself, and the text that Prometheus reads (exposition 0.0.4)."""

import os
import platform
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from explorer import __version__
from explorer.server.catalog import Catalog
from explorer.server.changelog import LatencyHistogram
from explorer.server.restli import RequestContext

__all__ = ["MEDIA_TYPE", "Metrics", "resident_bytes"]

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_STARTED_SECONDS = time.time()

_Labels = dict[str, str]
_Place = tuple[str, str, str]
_NOWHERE: _Place = ("", "", "")


class _Series:
    """What is counted of one endpoint."""

    __slots__ = ("seconds", "statuses")

    def __init__(self) -> None:
        self.statuses: dict[int, int] = {}
        self.seconds = LatencyHistogram(_SECONDS)


class Metrics:
    """Counts requests in the event loop, where nothing needs a lock: about a microsecond each."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._series: dict[_Place, _Series] = {}
        self.in_flight = 0
        self._received_bytes = 0
        self._sent_bytes = 0

    def count(self, context: RequestContext) -> None:
        """Count a request that was answered; how long a stream lasts is its reader's choice."""
        endpoint = context.endpoint
        if endpoint is None:
            # Neither the path nor a made-up method becomes a label: anybody could make any number.
            place = _NOWHERE
        else:
            place = (endpoint.method, endpoint.path, endpoint.action or "")
        series = self._series.get(place)
        if series is None:
            series = self._series[place] = _Series()
        series.statuses[context.status] = series.statuses.get(context.status, 0) + 1
        if not context.is_streamed:
            series.seconds.observe(context.seconds)
        self._received_bytes += context.received_bytes
        self._sent_bytes += context.sent_bytes

    async def text(self) -> bytes:
        """Everything that is counted, and what the catalog and the process measure now."""
        lines = [*self._requests()]
        lines.extend(await self._catalog.offload(lambda: [*self._measures()]))
        return "\n".join([*lines, ""]).encode()

    def _requests(self) -> Iterator[str]:
        counts: list[tuple[_Labels, float]] = []
        seconds: list[tuple[_Labels, LatencyHistogram]] = []
        for (method, resource, action), series in sorted(self._series.items()):
            labels = {"method": method, "resource": resource, "action": action}
            seconds.append((labels, series.seconds))
            for status, count in sorted(series.statuses.items()):
                counts.append(({**labels, "status": str(status)}, count))
        yield from _metric("catalog_http_requests_total", "counter", "Requests answered.", counts)
        yield from _histogram("catalog_http_request_seconds", "How long answers took.", seconds)
        yield from _one(
            "catalog_http_requests_in_flight", "Requests being answered.", self.in_flight
        )
        yield from _one(
            "catalog_http_received_bytes_total",
            "Bytes of request bodies.",
            self._received_bytes,
            "counter",
        )
        yield from _one(
            "catalog_http_sent_bytes_total", "Bytes of answers.", self._sent_bytes, "counter"
        )

    def _measures(self) -> Iterator[str]:
        catalog = self._catalog
        commits, store = catalog.commits, catalog.store
        head, indexed = store.log_head(), catalog.index.committed_offset
        yield from _one("catalog_write_queue_jobs", "Writes not yet committed.", commits.waiting)
        yield from _histogram(
            "catalog_commit_jobs", "Writes that shared a commit.", [({}, commits.group_jobs)]
        )
        yield from _histogram(
            "catalog_commit_seconds", "How long commits took.", [({}, commits.seconds)]
        )
        yield from _one("catalog_log_offset", "Last offset of the change log.", head)
        yield from _one(
            "catalog_index_offset", "Offset that the search index on disk is good for.", indexed
        )
        yield from _one(
            "catalog_index_lag", "Changes that the search index on disk lacks.", head - indexed
        )
        yield from _one("catalog_entities", "Entities stored.", store.entity_count())
        yield from _one("catalog_store_bytes", "Size of the store on disk.", store.size_bytes())
        yield from _one(
            "catalog_followers", "Who follows the change log.", len(catalog.feed.followers)
        )
        yield from _metric(
            "catalog_build_info",
            "gauge",
            "The release that runs.",
            [({"version": __version__, "python": platform.python_version()}, 1)],
        )
        yield from _one(
            "process_start_time_seconds", "When the process began, since 1970.", _STARTED_SECONDS
        )
        resident = resident_bytes()
        if resident is not None:
            yield from _one("process_resident_memory_bytes", "Memory in use.", resident)


def _one(name: str, help_text: str, value: float, kind: str = "gauge") -> Iterator[str]:
    return _metric(name, kind, help_text, [({}, value)])


def _metric(
    name: str, kind: str, help_text: str, samples: Iterable[tuple[_Labels, float]]
) -> Iterator[str]:
    yield f"# HELP {name} {help_text}"
    yield f"# TYPE {name} {kind}"
    for labels, value in samples:
        yield f"{name}{_written(labels)} {value}"


def _histogram(
    name: str, help_text: str, samples: Iterable[tuple[_Labels, LatencyHistogram]]
) -> Iterator[str]:
    yield f"# HELP {name} {help_text}"
    yield f"# TYPE {name} histogram"
    for labels, histogram in samples:
        below = 0
        counts = tuple(histogram.counts)
        for bound, count in zip((*map(str, histogram.bounds), "+Inf"), counts, strict=True):
            below += count
            yield f"{name}_bucket{_written({**labels, 'le': bound})} {below}"
        yield f"{name}_sum{_written(labels)} {histogram.total}"
        yield f"{name}_count{_written(labels)} {below}"


def _written(labels: _Labels) -> str:
    if not labels:
        return ""
    pairs = ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items())
    return f"{{{pairs}}}"


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def resident_bytes() -> int | None:
    """Return how much memory of this process is in use; None where the system does not say."""
    try:
        pages = Path("/proc/self/statm").read_text("ascii").split()[1]
    except OSError:
        return _most_resident_bytes()
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def _most_resident_bytes() -> int | None:
    """The most that ever was in use, where no more can be known."""
    try:
        import resource
    except ImportError:
        return None
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024
