"""A server that gives seven of anything at once, however many are asked for: nothing is lost."""

import re
from dataclasses import replace
from typing import Any

import pytest

from explorer.client import Catalog, Request
from explorer.client.http import HttpTransport
from explorer.client.lineage import parse_relationships
from explorer.metadata import Proposal, Urn
from tests.client.conftest import Site

MOST = 7
TAG = Urn.of("tag", "smallpages")
TABLES = [Urn.dataset("hive", f"smallpages.t{at:02}") for at in range(20)]
ROOT = TABLES[0]
NAMED = re.compile(r"(?<=[?&])(count|limit)=(\d+)")
SIZES = ("count", "limit", "pageSize")


class Stingy:
    """Carries requests to a real service, and asks it for no more than seven."""

    def __init__(self, address: Any) -> None:
        self._http = HttpTransport(address)
        self.sent = 0

    async def send(self, request: Request) -> Any:
        self.sent += 1
        path = NAMED.sub(lambda found: f"{found[1]}={min(MOST, int(found[2]))}", request.path)
        return await self._http.send(replace(request, path=path, body=cut(request.body)))

    async def close(self) -> None:
        await self._http.close()


def cut(body: Any) -> Any:
    if not isinstance(body, dict):
        return body
    return {
        name: min(MOST, value) if name in SIZES and isinstance(value, int) else cut(value)
        for name, value in body.items()
    }


@pytest.fixture(scope="module", autouse=True)
def _written(site: Site) -> None:
    proposals = []
    for at, urn in enumerate(TABLES):
        tags = {"tags": [{"tag": str(TAG)}]}
        proposals += [
            Proposal(urn, "datasetProperties", {"name": urn.name, "description": "smallpages"}),
            Proposal(urn, "globalTags", tags),
            Proposal(urn, "browsePaths", {"paths": [f"/smallpages/{urn.name}"]}),
            Proposal(
                ROOT,
                "datasetProperties",
                {"name": ROOT.name, "description": f"smallpages, draft {at}"},
            ),
            Proposal(
                ROOT,
                "operation",
                {
                    "timestampMillis": 1_000 + at,
                    "lastUpdatedTimestamp": 1_000 + at,
                    "operationType": "INSERT",
                },
            ),
        ]
        if urn != ROOT:
            stamp = {"time": 0, "actor": "urn:li:corpuser:x"}
            fed = [{"dataset": str(ROOT), "type": "COPY", "auditStamp": stamp}]
            proposals.append(Proposal(urn, "upstreamLineage", {"upstreams": fed}))
    proposals.append(Proposal(TABLES[-1], "status", {"removed": True}))
    with Catalog(site.address) as catalog:
        assert not catalog.ingest_batch(proposals).refused


READS = {
    "all hits": lambda c: c.hits("*", entity="dataset", filter="tags:smallpages"),
    "hits of a text": lambda c: c.hits("smallpages", entity="dataset"),
    "sorted hits": lambda c: c.hits("smallpages", entity="dataset", sort="-name"),
    "urns": lambda c: c.urns("dataset", filter="tags:smallpages"),
    "all urns": lambda c: c.urns("dataset", include_removed=True),
    "a folder": lambda c: c.folder("/smallpages"),
    "edges": lambda c: c.related(TAG, "INCOMING", ["TaggedWith"]),
    "versions": lambda c: c.every_version(ROOT, "datasetProperties"),
    "points": lambda c: c.every_point(ROOT, "operation"),
    "changes": lambda c: c.every_change(0, urns=[ROOT, *TABLES[1:5]]),
    "lineage by relationships": lambda c: c.lineage(ROOT, way="relationships").edges,
    "lineage by GraphQL": lambda c: c.lineage(ROOT, way="graphql").edges,
}


@pytest.mark.parametrize("read", READS.values(), ids=list(READS))
def test_everything_comes_once_from_a_server_that_gives_little_at_once(
    site: Site, read: Any
) -> None:
    stingy = Stingy(site.address)
    with Catalog(site.address) as full, Catalog(transport=stingy) as cut_short:
        whole, got = list(read(full)), list(read(cut_short))
    assert len(whole) > 2 * MOST
    assert stingy.sent >= 3
    assert [repr(one) for one in map(without_score, got)] == [
        repr(one) for one in map(without_score, whole)
    ]


def without_score(one: Any) -> Any:
    """A hit's score says how it did on its page."""
    return replace(one, score=None) if hasattr(one, "score") else one


def test_a_page_that_was_cut_says_so(site: Site) -> None:
    with Catalog(transport=Stingy(site.address)) as catalog:
        edges = catalog.relationships(TAG, "INCOMING", ["TaggedWith"], count=10)
        assert (len(edges.edges), edges.total > MOST, edges.truncated) == (MOST, True, True)
        page = catalog.search("smallpages", entity="dataset", count=10)
        assert (len(page), page.truncated) == (MOST, True)
        assert catalog.browse("/smallpages", count=10).truncated
        versions = catalog.versions(ROOT, "datasetProperties", count=10)
        assert (len(versions), versions.total, versions.truncated) == (MOST, 21, True)
        points = catalog.timeseries(ROOT, "operation", limit=10)
        assert (len(points.values), points.truncated) == (MOST, True)
        changes = catalog.changes(limit=10)
        assert (len(changes), changes.truncated) == (MOST, True)


def test_an_edge_to_what_is_no_urn_is_said_and_counts_for_the_next_page() -> None:
    entries = [{"type": "A", "entity": one} for one in ("urn:li:tag:a", "broken", "urn:li:tag:b")]
    page = parse_relationships({"total": 5, "relationships": entries}, "OUTGOING", ["A"], 1)
    assert (len(page.edges), page.unreadable, page.end, page.truncated) == (2, ("broken",), 4, True)
    last = parse_relationships({"total": 3, "relationships": entries}, "OUTGOING", ["A"])
    assert not last.truncated
