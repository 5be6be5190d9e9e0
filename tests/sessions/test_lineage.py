"""Walking lineage without a screen: what is read, drawn, followed, and what happens when the server
is slow, silent, or asked for something else meanwhile."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import networkx as nx
import pytest

from explorer.client import AsyncCatalog, Catalog
from explorer.errors import CatalogError, InvalidInput, Superseded
from explorer.metadata import Proposal, Urn
from explorer.sessions.lineage import LineageQuery, LineageSession
from explorer.views.lineage import LineageNode
from tests.conftest import schema_metadata, serving_catalog

pytestmark = pytest.mark.anyio

STAMP = {"time": 0, "actor": "urn:li:corpuser:jdoe"}


def urn(name: str) -> Urn:
    return Urn.dataset("hive", f"walk.{name}")


def made_from(name: str, *upstream: str, **columns: str) -> Iterator[Proposal]:
    """A table that is made from others; each column from the one of the first that it names."""
    edges = [{"dataset": str(urn(up)), "type": "COPY", "auditStamp": STAMP} for up in upstream]
    fine = [
        {
            "upstreamType": "FIELD_SET",
            "downstreamType": "FIELD",
            "upstreams": [f"urn:li:schemaField:({urn(upstream[0])},{source})"],
            "downstreams": [f"urn:li:schemaField:({urn(name)},{column})"],
        }
        for column, source in columns.items()
        if source
    ]
    value = {"upstreams": edges, "fineGrainedLineages": fine}
    yield Proposal(urn(name), "upstreamLineage", value)
    yield Proposal(urn(name), "schemaMetadata", schema_metadata(dict.fromkeys(columns, "")))


def warehouse() -> Iterator[Proposal]:
    """raw → staged → orders → mart → board, other → mart, and twenty that are made from hub."""
    yield Proposal(urn("raw"), "schemaMetadata", schema_metadata({"id": "", "body": ""}))
    yield from made_from("staged", "raw", id="id")
    yield from made_from("orders", "staged", number="id")
    yield from made_from("mart", "orders", "other", number="number")
    yield from made_from("board", "mart")
    for at in range(20):
        yield from made_from(f"fan{at:02}", "hub")
    owner = {"owner": "urn:li:corpuser:ann", "type": "DATAOWNER"}
    yield Proposal(urn("mart"), "ownership", {"owners": [owner], "lastModified": STAMP})
    yield Proposal(
        Urn.parse("urn:li:corpuser:ann"), "corpUserInfo", {"displayName": "Ann", "active": True}
    )


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving_catalog(tmp_path_factory.mktemp("walk")) as place, Catalog(place) as client:
        report = client.ingest_batch(warehouse())
        assert not report.refused, report
        yield place


class GatedCatalog(AsyncCatalog):
    """Answers what it holds only while its gate is open, and fails while it is broken."""

    def __init__(self, address: str) -> None:
        super().__init__(address)
        self.gate, self.count, self.is_broken = asyncio.Event(), 0, False
        self.held = {"UPSTREAM", "DOWNSTREAM"}
        self.gate.set()
        self.is_asked = asyncio.Event()

    async def lineage(self, urn: Any, direction: Any = None, **how: Any) -> Any:
        self.count += 1
        self.is_asked.set()
        if direction in self.held:
            await self.gate.wait()
        if self.is_broken:
            raise CatalogError("the server does not answer")
        return await super().lineage(urn, direction, **how)


@pytest.fixture
async def catalog(address: str) -> AsyncIterator[GatedCatalog]:
    client = GatedCatalog(address)
    yield client
    await client.close()


async def begun(catalog: AsyncCatalog, name: str = "orders", **how: Any) -> LineageSession:
    explores = how.pop("explores", False)
    session = LineageSession(catalog, explores=explores)
    session.begin(LineageQuery(urn(name), **how), name)
    await session.read()
    return session


def drawn(session: LineageSession) -> set[str]:
    """The short names of what is drawn."""
    assert session.state.hood is not None
    return {Urn.parse(node).name.removeprefix("walk.") for node in session.state.hood.graph}


async def test_what_is_not_read_yet_unknown_and_refused_are_told_apart(catalog: Any) -> None:
    session = LineageSession(catalog)
    session.begin(LineageQuery(urn("orders")), "orders")
    assert (session.state.reading, session.state.hood) == ("under way", None)
    catalog.is_broken = True
    with pytest.raises(CatalogError):
        await session.read()
    assert session.state.reading == "failed"
    assert session.state.message is not None
    assert session.state.message.sentence == "the server does not answer"
    catalog.is_broken = False
    await session.read()
    assert session.state.is_current
    alone = await begun(catalog, "nobody")
    assert drawn(alone) == {"nobody"}
    assert alone.state.is_current


async def test_hops_and_directions_are_read_and_names_are_known(catalog: Any) -> None:
    session = await begun(catalog, hops=1)
    assert drawn(session) == {"staged", "orders", "mart"}
    await session.widen(1)
    assert drawn(session) == {"raw", "staged", "orders", "mart", "board"}
    assert session.state.label_names == {"urn:li:corpuser:ann": "Ann"}
    await session.turn("UPSTREAM")
    assert drawn(session) == {"raw", "staged", "orders"}
    await session.widen(-9)
    assert session.state.query == LineageQuery(urn("orders"), "UPSTREAM", 1)
    before = session.state
    with pytest.raises(InvalidInput, match="1 to 20"):
        await session.ask(LineageQuery(urn("orders"), hops=21))
    assert session.state.query == before.query
    assert session.state.hood is before.hood


async def test_a_question_takes_the_place_of_the_one_before(catalog: Any) -> None:
    session = await begun(catalog, hops=1)
    catalog.gate.clear()
    asked = [asyncio.create_task(session.widen(1)) for _ in range(3)]
    await asyncio.sleep(0)
    catalog.gate.set()
    ends = await asyncio.gather(*asked, return_exceptions=True)
    assert [type(end) for end in ends] == [Superseded, Superseded, type(None)]
    # No key is lost: each counts from the one before.
    assert session.state.query is not None
    assert session.state.query.hops == 4
    assert session.state.message is None
    assert session.state.is_current


async def test_it_opens_with_what_fits_and_counts_hops_from_that(catalog: Any) -> None:
    async def fits(hood: Any) -> bool:
        return len(hood.graph) < 5

    session = LineageSession(catalog)
    session.begin(LineageQuery(urn("orders")), "orders", fits)
    await session.read()
    assert drawn(session) == {"staged", "orders", "mart"}
    assert session.state.further_count == 5


@pytest.mark.parametrize(
    ("acts", "extent", "hops"),
    [
        ("+", "BOTH", 2),
        ("++", "BOTH", 3),
        ("+-", "BOTH", 1),
        ("-", "BOTH", 1),
        ("u", "UPSTREAM", 2),
        ("u+", "UPSTREAM", 3),
    ],
)
async def test_what_is_asked_before_the_first_answer_counts_from_what_it_shows(
    catalog: Any, acts: str, extent: Any, hops: int
) -> None:
    async def fits(hood: Any) -> bool:
        return len(hood.graph) < 5

    session = LineageSession(catalog)
    session.begin(LineageQuery(urn("orders")), "orders", fits)
    catalog.gate.clear()
    asked = [asyncio.create_task(session.read())]
    for act in acts:
        await asyncio.sleep(0)
        doing = session.turn("UPSTREAM") if act == "u" else session.widen(1 if act == "+" else -1)
        asked.append(asyncio.create_task(doing))
    await asyncio.sleep(0)
    catalog.gate.set()
    await asyncio.gather(*asked, return_exceptions=True)
    assert session.state.query == LineageQuery(urn("orders"), extent, hops)
    assert session.state.is_current


async def test_a_filter_steps_over_and_a_wrong_one_changes_nothing(catalog: Any) -> None:
    session = await begun(catalog)
    await session.narrow('name:"walk.board"')
    assert drawn(session) == {"orders", "board"}
    assert session.state.hood is not None
    assert session.state.hood.indirect == {(str(urn("orders")), str(urn("board")))}
    with pytest.raises(InvalidInput):
        await session.narrow("name:(")
    assert session.state.filter == 'name:"walk.board"'
    await session.narrow("")
    assert len(drawn(session)) == 5


async def test_paths_are_drawn_and_forgotten_and_none_is_said(catalog: Any) -> None:
    session = await begun(catalog, hops=1)
    end = LineageNode(str(urn("raw")), "raw")
    await session.show_paths(str(urn("mart")), end, "from mart to")
    assert session.state.message is not None
    assert session.state.message.sentence == "One path from mart to walk.raw, 3 hops upstream."
    assert "raw" in drawn(session)
    assert session.state.current_node == end.id
    await session.forget_paths()
    assert drawn(session) == {"staged", "orders", "mart"}
    await session.show_paths(str(urn("mart")), LineageNode(str(urn("hub")), "hub"), "from mart to")
    assert session.state.message.sentence == "No lineage path leads from mart to walk.hub."
    assert not session.state.path_edges


async def test_a_column_is_followed_alone_and_its_table_again(catalog: Any) -> None:
    session = await begun(catalog, hops=3)
    await session.follow("number")
    assert session.state.hood is not None
    names = [node.name for node in session.state.hood.nodes.values()]
    assert sorted(names) == ["id", "id", "number", "number"]
    await session.show_paths(
        next(node for node in session.state.hood.nodes if "raw" in node),
        next(node for node in session.state.hood.nodes.values() if "mart" in node.id),
        "from raw to",
    )
    assert len(session.state.path_edges) == 3
    await session.follow(None)
    assert len(drawn(session)) == 5


async def test_more_neighbours_are_shown_and_the_usual_number_again(catalog: Any) -> None:
    session = await begun(catalog, "hub")
    hub = str(urn("hub"))
    assert session.state.hood is not None
    assert (session.state.hood.hidden(hub, "DOWNSTREAM"), session.state.hood.count) == (8, 13)
    await session.toggle(hub)
    assert len(drawn(session)) == 21
    await session.toggle(hub)
    assert len(drawn(session)) == 13
    await session.toggle(str(urn("fan00")))
    assert session.state.message is not None
    assert session.state.message.sentence == "Nothing around walk.fan00 is hidden."


async def test_impact_waits_for_no_drawing(catalog: Any) -> None:
    session = LineageSession(catalog)
    session.begin(LineageQuery(urn("orders")), "orders")
    catalog.held = {"UPSTREAM"}
    catalog.gate.clear()
    reading = asyncio.create_task(session.read())
    await catalog.is_asked.wait()
    await session.list_impact(urn("orders"), "number", "orders")
    assert not reading.done()
    assert session.state.impact is not None
    assert [affected.urn for affected in session.state.impact.impact.affected] == [
        str(urn("mart")),
        str(urn("board")),
    ]
    catalog.gate.set()
    await reading


async def test_who_explores_keeps_what_was_read_and_goes_back(catalog: Any) -> None:
    session = await begun(catalog, explores=True, hops=1)
    orders, mart = str(urn("orders")), str(urn("mart"))
    assert drawn(session) == {"staged", "orders", "mart"}
    assert session.state.hood is not None
    assert session.state.hood.hidden(mart, "DOWNSTREAM") == 1
    await session.unfold(mart, "DOWNSTREAM")
    assert "board" in drawn(session)
    assert not session.knows(mart, "UPSTREAM")
    await session.look_at(mart)
    assert session.knows(mart, "UPSTREAM")
    assert session.state.hood.hidden(mart, "UPSTREAM") == 1
    await session.fold(orders, "DOWNSTREAM")
    assert drawn(session) == {"staged", "orders"}
    assert session.state.current_node == orders
    await session.reach(2)
    assert drawn(session) == {"raw", "staged", "orders", "mart", "board"}
    await session.leave_out({"platform": ["hive"]})
    assert drawn(session) == {"orders"}
    await session.turn_to(urn("board"))
    assert drawn(session) == {"board"}
    await session.leave_out({})
    assert session.state.full_graph is not None
    assert orders in session.state.full_graph
    assert session.state.full_graph.nodes[orders]["hops"] == -2
    catalog.is_broken = True
    with pytest.raises(CatalogError):
        await session.turn_to(urn("raw"))
    assert session.state.query == LineageQuery(urn("board"), hops=2)
    with pytest.raises(CatalogError):
        await session.go_back()
    assert session.state.query == LineageQuery(urn("board"), hops=2)
    assert session.state.back == (urn("orders"),)
    catalog.is_broken = False
    await session.go_back()
    assert not session.state.back
    assert session.state.current_node == orders


async def test_columns_are_drawn_in_the_boxes_of_tables(catalog: Any) -> None:
    session = await begun(catalog, explores=True)
    await session.offer_columns(urn("orders"))
    assert session.state.choices.paths == ("number",)
    await session.follow_column(urn("orders"), "number")
    assert session.state.columns is not None
    assert len(session.state.columns) == 4
    await session.follow_edge(str(urn("raw")), str(urn("staged")))
    assert session.state.columns_of == "columns from walk.raw to walk.staged"
    before = session.state
    with pytest.raises(CatalogError, match="numbre"):
        await session.follow_column(urn("orders"), "numbre")
    assert session.state.columns is before.columns
    await session.forget_columns()
    assert session.state.columns is None


async def test_two_who_walk_the_same_graph_do_not_meet(catalog: Any) -> None:
    first, second = await asyncio.gather(begun(catalog), begun(catalog))
    await asyncio.gather(first.turn("UPSTREAM"), second.narrow('name:"walk.board"'))
    assert drawn(first) == {"raw", "staged", "orders"}
    assert drawn(second) == {"orders", "board"}


async def test_what_was_seen_is_not_changed_by_what_is_read_later(catalog: Any) -> None:
    session = await begun(catalog, explores=True, hops=1)
    known = session.state.full_graph
    assert known is not None
    nodes = {node: dict(attributes) for node, attributes in known.nodes.items()}
    await session.unfold(str(urn("mart")), "DOWNSTREAM")
    await session.look_at(str(urn("board")))
    assert {node: dict(attributes) for node, attributes in known.nodes.items()} == nodes


async def test_a_graph_that_was_read_before_is_not_read_again(catalog: Any) -> None:
    first = await begun(catalog, explores=True)
    graph = first.state.full_graph
    assert isinstance(graph, nx.DiGraph)
    session = LineageSession(catalog, explores=True)
    graph.graph.update(hops=3, direction="BOTH")
    session.begin(LineageQuery(urn("orders")), "orders")
    count = catalog.count
    await session.take(graph)
    assert drawn(session) == drawn(first)
    assert catalog.count == count
