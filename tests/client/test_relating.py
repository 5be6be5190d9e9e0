"""Edges of an entity: page by page, named or not."""

import asyncio
from typing import Any

import orjson
import pytest

from explorer.client import AsyncCatalog
from explorer.client.http import HttpTransport
from explorer.client.lineage import parse_relationships
from explorer.client.records import Edge, Edges
from explorer.errors import Forbidden, InvalidInput
from explorer.metadata import Proposal, Urn
from tests.client.conftest import Site

ORDERS = Urn.dataset("hive", "relating.orders")
OWNERS = [f"urn:li:corpuser:relating{at}" for at in range(5)]
TAGS = [f"urn:li:tag:relating{at}" for at in range(3)]


@pytest.fixture
def written(client: Any) -> Any:
    owners = [{"owner": urn, "type": "NONE"} for urn in OWNERS]
    client.ingest(Proposal(ORDERS, "ownership", {"owners": owners}))
    client.ingest(Proposal(ORDERS, "globalTags", {"tags": [{"tag": urn} for urn in TAGS]}))
    return client


class WithoutNames:
    """An old server: relationships are URNs alone, and perhaps a total."""

    def __init__(self, address: Any, *, total: Any) -> None:
        self._http = HttpTransport(address)
        self._total = total
        self.asked: list[str] = []

    async def send(self, request: Any) -> Any:
        self.asked.append(request.path)
        status, body, *_ = await self._http.send(request)
        answer = orjson.loads(body)
        kept = {"entities": [one["entity"] for one in answer["relationships"]]}
        if self._total:
            kept |= {"start": answer["start"], "total": answer["total"]}
        return status, orjson.dumps(kept)

    async def close(self) -> None:
        await self._http.close()


def urns(edges: Any) -> Any:
    return [str(edge.urn) for edge in edges]


def test_a_page_of_edges_says_whether_more_follow(written: Any) -> None:
    whole = written.relationships(ORDERS, "OUTGOING", ["OwnedBy", "TaggedWith"])
    assert (whole.total, whole.truncated, len(whole.edges)) == (8, False, 8)
    part = written.relationships(ORDERS, "OUTGOING", ["OwnedBy", "TaggedWith"], start=2, count=3)
    assert (part.total, part.truncated, part.start) == (8, True, 2)
    assert part.edges == whole.edges[2:5]
    last = written.relationships(ORDERS, "OUTGOING", ["OwnedBy", "TaggedWith"], start=5, count=3)
    assert not last.truncated


def test_every_edge_is_given_however_small_the_pages(written: Any) -> None:
    whole = written.relationships(ORDERS, "OUTGOING").edges
    assert tuple(written.related(ORDERS, "OUTGOING", page_size=2)) == whole
    assert urns(written.related(TAGS[0], "INCOMING", ["TaggedWith"])) == [str(ORDERS)]
    assert list(written.related(ORDERS, "OUTGOING", ["Nothing"])) == []
    assert list(written.related("urn:li:nothing:x", "OUTGOING")) == []


@pytest.mark.parametrize("total", [True, False])
@pytest.mark.anyio
async def test_edges_without_names_are_asked_for_name_by_name(
    sites: dict[str, Site], total: bool
) -> None:
    transport = WithoutNames(sites["plain"].address, total=total)
    plain = AsyncCatalog(sites["plain"].address)
    async with AsyncCatalog(transport=transport) as old:
        await plain.ingest(
            Proposal(ORDERS, "ownership", {"owners": [{"owner": OWNERS[0], "type": "NONE"}]})
        )
        tags = {"tags": [{"tag": urn} for urn in TAGS]}
        await plain.ingest(Proposal(ORDERS, "globalTags", tags))
        wanted = ["OwnedBy", "TaggedWith"]
        found = await old.relationships(ORDERS, "OUTGOING", wanted)
        assert found.total == 4
        assert found.by_relationship() == {
            "OwnedBy": (Urn.parse(OWNERS[0]),),
            "TaggedWith": tuple(map(Urn.parse, TAGS)),
        }
        assert len(transport.asked) == 3
        again = await old.relationships(ORDERS, "OUTGOING", wanted, start=1, count=2)
        # What the server cannot do is remembered: a request a name, and no other.
        assert len(transport.asked) == 5
        assert (again.total, again.edges, again.truncated) == (4, found.edges[1:3], True)
        assert [edge async for edge in old.related(ORDERS, "OUTGOING", wanted)] == [*found.edges]
    await plain.close()


def test_answers_of_every_shape_are_read() -> None:
    named = (Edge("OwnedBy", Urn.parse(OWNERS[0])),)
    openapi = {
        "start": 0,
        "count": 1,
        "total": 9,
        "entities": [{"urn": OWNERS[0], "relationshipType": "OwnedBy"}],
    }
    assert parse_relationships(openapi, "OUTGOING", []) == Edges("OUTGOING", 9, named)
    bare = parse_relationships({"entities": OWNERS}, "OUTGOING", ["OwnedBy"], 1, 2)
    assert (bare.total, urns(bare.edges), bare.truncated) == (5, OWNERS[1:3], True)
    broken = {"total": 3, "relationships": [{"entity": "no urn"}, {"entity": None}, {}]}
    assert parse_relationships(broken, "OUTGOING", ["A"]).edges == ()


def test_a_question_about_lineage_that_cannot_be_answered_is_refused(client: Any) -> None:
    with pytest.raises(InvalidInput, match="hops must be at least 1, not 0"):
        client.lineage(ORDERS, hops=0)
    with pytest.raises(InvalidInput, match="dataset"):
        client.lineage(ORDERS, entities=["datset"])
    with pytest.raises(InvalidInput, match="at least 0, not -1"):
        client.lineage(ORDERS, budget_seconds=-1)
    with pytest.raises(InvalidInput, match="DOWNSTREAM"):
        client.lineage(ORDERS, "INCOMING")


class Wide:
    """A server of relationships alone, of which one table feeds many others."""

    def __init__(self, fails_at: Any = None) -> None:
        self.asked = 0
        self.fails_at = fails_at

    async def send(self, request: Any) -> Any:
        if request.path == "/config":
            return 200, b'{"noCode": "true"}'
        self.asked += 1
        if self.asked == self.fails_at:
            return 403, b'{"message": "no further"}'
        await asyncio.sleep(0.01)
        names = [f"t{at}" for at in range(200)] if "root" in request.path else []
        edges = [{"type": "DownstreamOf", "entity": str(Urn.dataset("hive", n))} for n in names]
        return 200, orjson.dumps({"total": len(edges), "relationships": edges})

    async def close(self) -> None:
        pass


def test_a_walk_ends_with_its_time_also_in_the_middle_of_a_hop() -> None:
    wide = Wide()

    async def work() -> Any:
        async with AsyncCatalog(transport=wide) as catalog:
            return await catalog.lineage(
                Urn.dataset("hive", "root"), hops=2, way="relationships", budget_seconds=0.05
            )

    assert asyncio.run(work()).truncated
    assert wide.asked < 201


def test_a_walk_that_failed_asks_no_further() -> None:
    wide = Wide(fails_at=20)

    async def work() -> Any:
        async with AsyncCatalog(transport=wide) as catalog:
            with pytest.raises(Forbidden):
                await catalog.lineage(Urn.dataset("hive", "root"), hops=2, way="relationships")
            return len(asyncio.all_tasks())

    assert asyncio.run(work()) == 1
