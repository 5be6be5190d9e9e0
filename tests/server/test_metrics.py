"""What the service counts of itself, as Prometheus reads it."""

import re
from collections.abc import Callable

import httpx
import pytest

from explorer.server.app import Service
from explorer.server.catalog import CatalogEngine

_LINE = re.compile(r'([a-z_]+)(?:\{((?:[a-z_]+="[^"\n]*",?)*)\})? (-?[0-9.e+-]+|\+Inf)')


@pytest.fixture
def site(fresh: Callable[[], CatalogEngine], serve: Callable[[Service], str]) -> str:
    return serve(Service(fresh()))


def measured(site: str) -> dict[str, float]:
    answer = httpx.get(f"{site}/metrics", timeout=120)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    found: dict[str, float] = {}
    typed: set[str] = set()
    assert answer.text.endswith("\n")
    for line in answer.text.splitlines():
        if line.startswith("# TYPE "):
            typed.add(line.split()[2])
        elif not line.startswith("# HELP "):
            match = _LINE.fullmatch(line)
            assert match, line
            name = re.sub(r"_(bucket|sum|count)$", "", match[1])
            assert match[1] in typed or name in typed, line
            found[series(match[1], *re.findall(r'([a-z_]+)="([^"]*)"', match[2] or ""))] = float(
                match[3]
            )
    return found


def series(name: str, *labels: tuple[str, str]) -> str:
    """A series as it is named here: its labels by name, in whichever order they were given."""
    return f"{name} {dict(sorted(labels))}" if labels else name


def write(site: str, name: str) -> httpx.Response:
    proposal = {
        "entityType": "tag",
        "entityUrn": f"urn:li:tag:{name}",
        "changeType": "UPSERT",
        "aspectName": "tagProperties",
        "aspect": {"value": f'{{"name":"{name}"}}'},
    }
    return httpx.post(
        f"{site}/aspects?action=ingestProposal", json={"proposal": proposal}, timeout=120
    )


def test_requests_are_counted_by_endpoint_and_status(site: str) -> None:
    assert write(site, "a").status_code == 200
    assert (
        httpx.post(f"{site}/aspects?action=ingestProposal", json={}, timeout=120).status_code == 400
    )
    for path in ("/entitiesV2/urn%3Ali%3Atag%3Aa", "/entitiesV2/urn%3Ali%3Atag%3Ab", "/x", "/y/z"):
        httpx.get(f"{site}{path}", timeout=120)
    found = measured(site)
    requests = {
        name: value
        for name, value in found.items()
        if name.startswith("catalog_http_requests_total")
    }
    none = (("method", ""), ("resource", ""), ("action", ""))
    read = (("method", "GET"), ("resource", "/entitiesV2"), ("action", ""))
    written = (("method", "POST"), ("resource", "/aspects"), ("action", "ingestProposal"))
    assert requests == {
        series("catalog_http_requests_total", *place, ("status", status)): count
        for place, status, count in (
            (none, "404", 2),
            (read, "200", 2),
            (written, "200", 1),
            (written, "400", 1),
        )
    }
    assert found[series("catalog_http_request_seconds_count", *written)] == 2
    assert found[series("catalog_http_request_seconds_bucket", *written, ("le", "+Inf"))] == 2
    assert found[series("catalog_http_request_seconds_sum", *written)] > 0
    assert found["catalog_http_requests_in_flight"] == 1
    assert found["catalog_http_received_bytes_total"] > 100
    assert found["catalog_http_sent_bytes_total"] > 100


def test_buckets_add_up(site: str) -> None:
    for _ in range(5):
        httpx.get(f"{site}/config", timeout=120)
    found = measured(site)
    buckets = [
        value
        for name, value in found.items()
        if name.startswith("catalog_http_request_seconds_bucket") and "'/config'" in name
    ]
    assert buckets == sorted(buckets)
    assert buckets[-1] == 5


def test_the_catalog_and_the_process_are_measured(site: str) -> None:
    before = measured(site)
    write(site, "a")
    write(site, "b")
    after = measured(site)
    assert (before["catalog_entities"], after["catalog_entities"]) == (0, 2)
    assert (before["catalog_log_offset"], after["catalog_log_offset"]) == (0, 4)
    assert after["catalog_commit_seconds_count"] == 2
    assert after["catalog_commit_jobs_sum"] == 2
    assert after["catalog_write_queue_jobs"] == 0
    assert after["catalog_index_lag"] == 4 - after["catalog_index_offset"]
    assert after["catalog_store_bytes"] > 10_000
    assert after["process_resident_memory_bytes"] > 1_000_000
    assert after["process_start_time_seconds"] > 1_000_000_000
    assert sum("catalog_build_info" in name for name in after) == 1


def test_made_up_paths_make_no_new_series(site: str) -> None:
    httpx.get(f"{site}/first", timeout=120)
    series = len(measured(site))
    for n in range(20):
        httpx.request("GET" if n % 2 else "PROPFIND", f"{site}/n{n}?action=a{n}", timeout=120)
        httpx.post(f"{site}/entities?action=made-up-{n}", json={}, timeout=120)
    assert len(measured(site)) <= series + 40
    assert not [name for name in measured(site) if "made-up" in name or "/n1" in name]
