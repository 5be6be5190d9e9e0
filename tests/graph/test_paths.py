"""Ways between entities."""

from typing import Any

import networkx as nx
import pytest

from explorer.graph import common_ancestors, cycles, shortest_paths


def test_both_sides_of_a_diamond_are_ways(graphs: Any, named: Any) -> None:
    found = graphs.paths(named.table("raw"), named.table("mart"))
    assert found.direction == "downstream"
    assert found.hops == 2
    assert {way[1] for way in found.node_paths} == {named.table("left"), named.table("right")}
    assert found.truncated is None


def test_a_way_up_is_found_and_said_to_be_one(graphs: Any, named: Any) -> None:
    found = graphs.paths(named.table("mart"), named.table("raw"))
    assert found.direction == "upstream"
    assert found.node_paths[0][0] == named.table("mart")
    assert found.node_paths[0][-1] == named.table("raw")


def test_where_there_is_no_way_there_is_none(graphs: Any, named: Any) -> None:
    found = graphs.paths(named.table("one"), named.table("mart"))
    assert not found
    assert found.hops is None


@pytest.mark.parametrize("relationships", [None, ["DownstreamOf", "Consumes"]])
def test_where_the_search_stopped_it_is_said_how_far_it_went(
    graphs: Any, named: Any, relationships: list[str] | None
) -> None:
    ends = named.table("raw"), named.chart
    near = graphs.paths(*ends, hops=2, relationships=relationships)
    assert (near.hops, near.within) == (None, 2)
    assert near.truncated == "paths of more than 2 hops were not looked for"
    far = graphs.paths(*ends, hops=3, relationships=relationships)
    assert (far.hops, far.within, far.truncated) == (3, None, None)
    assert graphs.paths(named.table("one"), named.table("mart")).within is None


def test_ways_along_other_relationships_run_either_way(graphs: Any, named: Any) -> None:
    found = graphs.paths("urn:li:corpuser:ann", named.chart, relationships=["OwnedBy", "Consumes"])
    assert found.node_paths == (("urn:li:corpuser:ann", named.table("mart"), named.chart),)
    assert found.direction == "any"
    assert found.joined_by == (("OwnedBy", "Consumes"),)


def test_every_step_says_which_relationship_it_follows(graphs: Any, named: Any) -> None:
    down = graphs.paths(named.table("raw"), named.chart)
    assert down.joined_by == (("DownstreamOf", "DownstreamOf", "Consumes"),) * 2
    up = graphs.paths(named.table("copy"), named.table("raw"))
    assert up.direction == "upstream"
    assert up.joined_by == (("Produces", "Consumes"),)
    assert graphs.paths(named.table("one"), named.table("mart")).joined_by == ()


def test_budgets_hold_for_ways_of_either_kind(graphs: Any, named: Any) -> None:
    ends = named.table("raw"), named.chart
    assert "the walk stopped" in graphs.paths(*ends, budget_nodes=1).truncated
    names = ["DownstreamOf", "Consumes"]
    assert "1 entities" in graphs.paths(*ends, relationships=names, budget_nodes=1).truncated
    assert "0 seconds" in graphs.paths(*ends, relationships=names, budget_seconds=0).truncated


def test_there_are_no_more_ways_than_asked_for_and_it_is_said(graphs: Any, named: Any) -> None:
    found = graphs.paths(named.table("raw"), named.table("mart"), limit=1)
    assert len(found) == 1
    assert "there are more" in found.truncated


def test_a_thousand_diamonds_in_a_row_do_not_hang() -> None:
    graph = nx.DiGraph()
    for at in range(30):
        for side in ("l", "r"):
            graph.add_edge(f"n{at}", f"{side}{at}")
            graph.add_edge(f"{side}{at}", f"n{at + 1}")
    ways, more = shortest_paths(graph, "n0", "n30", limit=10)
    assert len(ways) == 10
    assert more


def test_what_two_tables_are_both_made_from(graphs: Any, named: Any) -> None:
    found, cut = graphs.common_ancestors(named.table("left"), named.table("right"))
    assert [(one.urn, one.hops, one.nearest) for one in found] == [
        (named.table("raw"), (1, 1), True)
    ]
    assert cut is None


def test_the_nearest_in_common_is_not_above_another() -> None:
    def upstream(*chain: Any) -> Any:
        graph = nx.DiGraph()
        for far, node in enumerate(chain):
            graph.add_node(node, hops=-far)
        nx.add_path(graph, reversed(chain))
        return graph

    found = common_ancestors(upstream("a", "mid", "top"), upstream("b", "mid", "top"))
    assert [(one.urn, one.nearest) for one in found] == [("mid", True), ("top", False)]


def test_round_trips_are_told_once_each() -> None:
    graph = nx.DiGraph([("b", "a"), ("a", "b"), ("c", "c"), ("a", "d")])
    assert cycles(graph) == (("c",), ("a", "b"))


def test_a_tangle_gives_no_more_round_trips_than_asked_for() -> None:
    graph = nx.complete_graph(12, create_using=nx.DiGraph)
    assert len(cycles(nx.relabel_nodes(graph, str), limit=5)) == 5


def test_the_shortest_round_trips_are_never_left_out_for_longer_ones() -> None:
    every = nx.complete_graph(12, create_using=nx.DiGraph)
    found = cycles(nx.relabel_nodes(every, {at: f"n{at:02}" for at in every}), limit=70)
    # 66 go to another and back; the rest over two others.
    assert [len(one) for one in found] == [2] * 66 + [3] * 4
    ring = nx.relabel_nodes(nx.cycle_graph(300, create_using=nx.DiGraph), str)
    assert [len(one) for one in cycles(ring)] == [300]
