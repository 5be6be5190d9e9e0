"""Lineage as a graph, whichever way it is walked."""

from typing import Any

import networkx as nx
import pytest

from explorer.graph import lineage_graph, merged
from explorer.metadata import Urn


def test_edges_go_the_way_that_data_flows(graphs: Any, named: Any) -> None:
    below = graphs.lineage(named.table("raw"), "DOWNSTREAM", hops=1)
    assert set(below.successors(named.table("raw"))) == {
        named.table("left"),
        named.table("right"),
        named.job,
    }
    above = graphs.lineage(named.table("left"), "UPSTREAM", hops=1)
    assert list(above.edges) == [(named.table("raw"), named.table("left"))]


def test_nodes_say_what_they_are_and_how_far(graphs: Any, named: Any) -> None:
    both = graphs.lineage(named.table("right"), hops=1)
    raw = both.nodes[named.table("raw")]
    assert raw["hops"] == -1
    assert raw["type"] == "dataset"
    assert (raw["platform"], raw["name"], raw["origin"]) == ("hive", "raw", "PROD")
    assert both.nodes[named.table("right")]["hops"] == 0
    assert both.nodes[named.table("mart")]["hops"] == 1
    assert both.graph["direction"] == "BOTH"
    assert both.graph["truncated"] is None


def test_what_is_only_pointed_at_is_there_and_marked(graphs: Any, named: Any) -> None:
    above = graphs.lineage(named.table("mart"), "UPSTREAM", hops=1)
    assert above.nodes[named.table("ghost")]["exists"] is False
    assert above.nodes[named.table("left")]["exists"] is True


def test_a_cycle_ends(graphs: Any, named: Any) -> None:
    round_trip = graphs.lineage(named.table("one"), hops=10)
    assert set(round_trip) == {named.table("one"), named.table("two")}
    assert round_trip.number_of_edges() == 2


def test_a_budget_that_is_used_up_is_said(graphs: Any, named: Any) -> None:
    cut = graphs.lineage(named.table("raw"), "DOWNSTREAM", hops=5, limit=2)
    assert cut.graph["truncated"]
    assert len(cut) <= 3


def test_details_are_read_when_asked_for(graphs: Any, named: Any) -> None:
    graph = graphs.lineage(named.table("raw"), "DOWNSTREAM", hops=3, with_details=True)
    assert graph.nodes[named.table("mart")]["owners"] == ["urn:li:corpuser:ann"]
    assert graph.nodes[named.chart]["name"] == "Orders by day"


def test_several_reasons_for_an_edge_are_all_kept(catalog: Any, named: Any) -> None:
    lineage = catalog.lineage(named.table("raw"), "DOWNSTREAM", hops=1)
    multi = lineage_graph(lineage, multi=True)
    assert isinstance(multi, nx.MultiDiGraph)
    assert multi.has_edge(named.table("raw"), named.table("left"), key="DownstreamOf")


def test_in_a_cycle_the_smaller_distance_counts() -> None:
    up, down = nx.DiGraph(total=1, truncated="a"), nx.DiGraph(total=1, truncated="a")
    up.add_node("x", hops=-1)
    down.add_node("x", hops=3)
    both = merged(up, down)
    assert both.nodes["x"]["hops"] == -1
    assert both.graph["truncated"] == "a"


def test_a_walk_follows_any_relationship_as_it_is_declared(graphs: Any, named: Any) -> None:
    owners = graphs.walk(named.table("mart"), ["OwnedBy"])
    assert list(owners.edges(keys=True)) == [
        (named.table("mart"), "urn:li:corpuser:ann", "OwnedBy")
    ]
    owned = graphs.walk("urn:li:corpuser:ann", ["OwnedBy"], "INCOMING")
    assert list(owned.edges) == [(named.table("mart"), "urn:li:corpuser:ann", "OwnedBy")]


def test_a_walk_of_everything_goes_round_in_no_circles(graphs: Any, named: Any) -> None:
    first = graphs.walk(named.table("one"), direction="BOTH", hops=6)
    assert named.table("two") in first
    assert first.graph["truncated"] is None
    again = graphs.walk(named.table("one"), direction="BOTH", hops=6)
    assert list(first.edges(keys=True)) == list(again.edges(keys=True))


def test_a_walk_says_when_it_was_cut_short(graphs: Any, named: Any) -> None:
    from explorer.graph import WalkLimits

    cut = graphs.walk(named.table("raw"), direction="BOTH", hops=4, budget=WalkLimits(nodes=2))
    assert len(cut) == 2
    assert "2 entities are the limit" in cut.graph["truncated"]
    late = graphs.walk(named.table("raw"), direction="BOTH", hops=4, budget=WalkLimits(seconds=0))
    assert "0 seconds were over" in late.graph["truncated"]


def test_a_walk_of_no_hops_is_refused(graphs: Any) -> None:
    from explorer.errors import InvalidInput

    with pytest.raises(InvalidInput, match="at least 1"):
        graphs.walk("urn:li:tag:x", hops=0)


@pytest.mark.parametrize(
    "urn",
    [
        "urn:li:dataset:(urn:li:dataPlatform:hive,a,b,PROD)",
        "urn:li:dataset:(urn:li:dataPlatform:hive,plain,PROD)",
        "urn:li:dataset:(urn:li:dataPlatform:s3,a(b)c,DEV)",
        "urn:li:chart:(looker,baz1)",
        "urn:li:tag:PII",
    ],
)
def test_what_is_read_off_a_urn_is_what_the_urn_says(urn: str) -> None:
    from explorer.graph.nodes import identity

    parsed = Urn.parse(urn)
    said = identity(urn)
    assert said["type"] == parsed.entity_type
    assert said["name"] == parsed.name
    assert said.get("platform") == parsed.platform
    assert said.get("origin") == parsed.origin
