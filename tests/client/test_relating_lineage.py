"""Lineage, whichever way the server allows: the same of the same graph."""

from collections.abc import Iterator
from typing import Any

import pytest

from explorer.client import AsyncCatalog
from explorer.client.http import HttpTransport
from explorer.errors import NotFound
from explorer.metadata import Proposal, Urn
from tests.client.conftest import Site

STAMP = {"time": 0, "actor": "urn:li:corpuser:x"}
WAYS = ("server", "graphql", "relationships")


def table(name: Any) -> Any:
    return Urn.dataset("hive", f"flow.{name}")


JOB = Urn.parse("urn:li:dataJob:(urn:li:dataFlow:(airflow,flow,PROD),copy)")
CHART = Urn.parse("urn:li:chart:(looker,flow)")
DASHBOARD = Urn.parse("urn:li:dashboard:(looker,flow)")
GHOST = table("ghost")


def made_of(*urns: Any) -> Any:
    return {
        "upstreams": [{"auditStamp": STAMP, "dataset": str(urn), "type": "COPY"} for urn in urns]
    }


def proposals() -> Iterator[Any]:
    """raw -> job -> clean -> wide -> chart -> dashboard; wide -> clean closes a cycle; a ghost
    flows into wide; side is made of raw and of wide, and soft-deleted."""
    about: dict[str, Any] = {
        "title": "t",
        "description": "",
        "lastModified": {"created": STAMP, "lastModified": STAMP},
    }
    jobs = {"inputDatasets": [str(table("raw"))], "outputDatasets": [str(table("clean"))]}
    yield Proposal(JOB, "dataJobInputOutput", jobs)
    yield Proposal(table("raw"), "datasetProperties", {"name": "raw"})
    yield Proposal(table("clean"), "upstreamLineage", made_of(table("wide")))
    # Its columns' edges bear the same name, and lead to columns: they are no lineage of tables.
    fine = {
        "upstreamType": "FIELD_SET",
        "upstreams": [f"urn:li:schemaField:({table('clean')},x)"],
        "downstreamType": "FIELD",
        "downstreams": [f"urn:li:schemaField:({table('wide')},x)"],
    }
    wide = made_of(table("clean"), GHOST) | {"fineGrainedLineages": [fine]}
    yield Proposal(table("wide"), "upstreamLineage", wide)
    yield Proposal(table("side"), "upstreamLineage", made_of(table("raw"), table("wide")))
    yield Proposal(table("side"), "status", {"removed": True})
    yield Proposal(
        table("side"), "ownership", {"owners": [{"owner": STAMP["actor"], "type": "NONE"}]}
    )
    yield Proposal(CHART, "chartInfo", about | {"inputs": [{"string": str(table("wide"))}]})
    yield Proposal(DASHBOARD, "dashboardInfo", about | {"charts": [str(CHART)]})


@pytest.fixture
def drawn(client: Any) -> Any:
    report = client.ingest_batch(proposals())
    assert not report.refused
    return client


def degrees(lineage: Any) -> Any:
    return {one.urn: one.degree for one in lineage.reached}


DOWNSTREAM = {
    str(JOB): 1,
    str(table("side")): 1,
    str(table("clean")): 2,
    str(table("wide")): 3,
    str(CHART): 4,
    str(DASHBOARD): 5,
}


@pytest.mark.parametrize("way", WAYS)
def test_every_way_reaches_the_same(drawn: Any, way: Any) -> None:
    found = drawn.lineage(table("raw"), hops=9, way=way)
    assert degrees(found) == DOWNSTREAM
    assert (found.total, found.truncated, found.way) == (6, None, way)
    assert [one.degree for one in found.reached] == [1, 1, 2, 3, 4, 5]
    assert found.urns[0] == str(table("raw"))
    types = {one.urn: one.types for one in found.reached}
    assert types[str(JOB)] == ("Consumes",)
    assert types[str(table("clean"))] == ("Produces",)
    assert types[str(DASHBOARD)] == ("Contains",)
    near = drawn.lineage(table("raw"), hops=2, way=way)
    assert degrees(near) == {urn: far for urn, far in DOWNSTREAM.items() if far < 3}
    up = drawn.lineage(DASHBOARD, "UPSTREAM", hops=9, way=way)
    assert degrees(up) == {
        str(CHART): 1,
        str(table("wide")): 2,
        str(table("clean")): 3,
        # Servers leave it out of GraphQL's lineage.
        **({} if way == "graphql" else {str(GHOST): 3}),
        str(JOB): 4,
        str(table("raw")): 5,
    }


def test_every_way_gives_the_same_edges(drawn: Any) -> None:
    raw, wide, clean, side = map(table, ("raw", "wide", "clean", "side"))
    ways = {
        (str(raw), str(JOB), "Consumes"),
        (str(JOB), str(clean), "Produces"),
        (str(raw), str(side), "DownstreamOf"),
        (str(clean), str(wide), "DownstreamOf"),
        (str(wide), str(CHART), "Consumes"),
        (str(CHART), str(DASHBOARD), "Contains"),
    }
    # On no shortest way, and so in no path that GraphQL gives.
    others = {
        (str(wide), str(clean), "DownstreamOf"),
        (str(wide), str(side), "DownstreamOf"),
    }
    found = {way: drawn.lineage(raw, hops=9, way=way) for way in WAYS}
    pairs = {way: list(one.pairs()) for way, one in found.items()}
    assert all(len(one) == len(set(one)) for one in pairs.values())
    assert set(pairs["server"]) == set(pairs["relationships"]) == ways | others
    assert set(pairs["graphql"]) == ways
    edges = {(one.upstream, one.downstream, one.relationship) for one in found["server"].edges}
    assert edges == ways | others
    back = drawn.lineage(DASHBOARD, "UPSTREAM", hops=9, way="graphql")
    assert set(back.pairs()) == ways - {(str(raw), str(side), "DownstreamOf")}


def test_what_is_not_there_or_removed_is_marked_where_the_server_says(drawn: Any) -> None:
    for way in ("server", "graphql"):
        down = {one.urn: one for one in drawn.lineage(table("raw"), hops=9, way=way).reached}
        side = down[str(table("side"))]
        assert (side.exists, side.removed) == (True, True)
        up = {one.urn: one for one in drawn.lineage(table("wide"), "UPSTREAM", way=way).reached}
        if way == "server":
            ghost = up[str(GHOST)]
            assert (ghost.exists, ghost.removed) == (False, False)
        else:
            assert str(GHOST) not in up
        assert (up[str(table("clean"))].exists, up[str(table("clean"))].removed) == (True, False)
    for one in drawn.lineage(table("raw"), hops=9, way="relationships").reached:
        assert (one.exists, one.removed) == (None, None)


@pytest.mark.parametrize("way", WAYS)
def test_a_choice_of_types_and_platforms_walks_through_the_others(drawn: Any, way: Any) -> None:
    only = drawn.lineage(table("raw"), hops=9, entities=["dataset"], way=way)
    assert list(degrees(only)) == [str(table(one)) for one in ("side", "clean", "wide")]
    assert (only.total, len(only.urns)) == (3, 7)
    looker = drawn.lineage(table("raw"), hops=9, platforms=["urn:li:dataPlatform:looker"], way=way)
    assert list(degrees(looker)) == [str(CHART), str(DASHBOARD)]
    none = drawn.lineage(table("raw"), hops=9, entities=["tag"], platforms=["hive"], way=way)
    assert (none.total, list(none.reached)) == (0, [])


@pytest.mark.parametrize("way", WAYS)
def test_a_walk_that_is_cut_says_so(drawn: Any, way: Any) -> None:
    cut = drawn.lineage(table("raw"), hops=9, limit=3, way=way)
    assert sorted(degrees(cut).values()) == [1, 1, 2]
    assert cut.truncated == "the walk stopped after the nearest 3 entities"
    assert drawn.lineage(table("raw"), hops=9, limit=6, way=way).truncated is None
    if way != "graphql":
        late = drawn.lineage(table("raw"), hops=9, budget_seconds=0, way=way)
        assert late.truncated == "the walk stopped after 0 seconds"


@pytest.mark.parametrize("way", WAYS)
def test_what_nobody_knows_has_no_lineage(drawn: Any, way: Any) -> None:
    found = drawn.lineage(table("nobody"), hops=3, way=way)
    assert (found.total, list(found.reached), list(found.edges)) == (0, [], [])
    assert found.urns == [str(table("nobody"))]


def test_paths_are_given_where_the_server_gives_them(drawn: Any) -> None:
    found = drawn.lineage(table("raw"), hops=2, way="graphql")
    *_, last = found.reached
    assert last.paths == ((str(table("raw")), str(JOB), str(table("clean"))),)


def test_columns_flow_as_far_as_the_server_knows(client: Any) -> None:
    def column(name: Any, path: Any) -> str:
        return f"urn:li:schemaField:({table(name)},{path})"

    fine = {
        "upstreamType": "FIELD_SET",
        "upstreams": [column("columns.a", "x")],
        "downstreamType": "FIELD",
        "downstreams": [column("columns.b", "y")],
    }
    value = made_of(table("columns.a")) | {"fineGrainedLineages": [fine]}
    client.ingest(Proposal(table("columns.b"), "upstreamLineage", value))
    job = Urn.parse("urn:li:dataJob:(urn:li:dataFlow:(airflow,columns,PROD),copy)")
    carried = fine | {
        "upstreams": [column("columns.b", "y")],
        "downstreams": [column("columns.c", "y"), column("columns.c", "z")],
    }
    ends = {"inputDatasets": [str(table("columns.b"))], "outputDatasets": [str(table("columns.c"))]}
    client.ingest(Proposal(job, "dataJobInputOutput", ends | {"fineGrainedLineages": [carried]}))
    client.ingest(Proposal(table("columns.c"), "status", {"removed": False}))
    start, between = column("columns.a", "x"), column("columns.b", "y")
    last = [column("columns.c", "y"), column("columns.c", "z")]
    for way in ("server", "graphql"):
        found = client.lineage(start, hops=3, way=way)
        assert degrees(found) == {between: 1} | dict.fromkeys(last, 2)
        pairs = {(upper, lower) for upper, lower, _ in found.pairs()}
        assert pairs == {(start, between), *((between, one) for one in last)}
        assert degrees(client.lineage(start, hops=1, way=way)) == {between: 1}
    assert [one.paths for one in found.reached[1:]] == [((start, between, one),) for one in last]


class Foreign:
    """A server that has no more than some ways of giving lineage."""

    def __init__(self, transport: Any, *refused: Any) -> None:
        self._transport = transport
        self._refused = refused
        self.asked: list[str] = []

    async def send(self, request: Any) -> Any:
        self.asked.append(request.path.partition("?")[0])
        if any(part in request.path for part in self._refused):
            return 404, b'{"message": "no such resource"}'
        return await self._transport.send(request)

    async def close(self) -> None:
        await self._transport.close()


@pytest.mark.parametrize(
    ("refused", "way"),
    [
        ((), "server"),
        (("getLineage",), "graphql"),
        (("getLineage", "graphql"), "relationships"),
    ],
)
@pytest.mark.anyio
async def test_the_fastest_way_a_server_has_is_found_once(
    sites: dict[str, Site], refused: Any, way: str
) -> None:
    transport = Foreign(HttpTransport(sites["plain"].address), *refused)
    async with AsyncCatalog(transport=transport) as catalog:
        await catalog.ingest_batch(proposals())
        transport.asked.clear()
        found = await catalog.lineage(table("raw"), hops=2)
        assert (found.way, len(found.urns)) == (way, 4)
        tried = len(transport.asked)
        again = await catalog.lineage(table("raw"), hops=2)
        assert list(again.pairs()) == list(found.pairs())
        assert len(transport.asked) - tried == tried - len(refused)
        if refused:
            with pytest.raises(NotFound):
                await catalog.lineage(table("raw"), way="server")
