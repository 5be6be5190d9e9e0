"""Parts of a graph by what its nodes say."""

from typing import Any

import networkx as nx
import pytest

from explorer.errors import InvalidInput, UnknownName
from explorer.graph import contracted, select
from explorer.query import Criterion, Filter, all_of


@pytest.fixture
def graph() -> Any:
    made = nx.DiGraph(root="a")
    made.add_node("a", type="dataset", platform="hive", tags=["urn:li:tag:PII"], queries=10)
    made.add_node("job", type="dataJob", platform="airflow")
    made.add_node("b", type="dataset", platform="snowflake", tags=[], queries=2, removed=True)
    made.add_node("c", type="chart", platform="looker", name="Orders by day")
    made.add_edge("a", "job", relationship="Consumes")
    made.add_edge("job", "b", relationship="Produces")
    made.add_edge("b", "c", relationship="Consumes")
    return made


def kept(graph: Any, *criteria: Any) -> Any:
    return set(select(graph, all_of(*criteria)))


def test_every_kind_of_test_is_made(graph: Any) -> None:
    assert kept(graph, Criterion("_entityType", ("dataset",))) == {"a", "b"}
    assert kept(graph, Criterion("tags", ("urn:li:tag:PII",))) == {"a"}
    assert kept(graph, Criterion("tags", ("pii",))) == {"a"}
    assert kept(graph, Criterion("platform", ("urn:li:dataPlatform:hive",))) == {"a"}
    assert kept(graph, Criterion("queries", ("5",), "GREATER_THAN")) == {"a"}
    assert kept(graph, Criterion("queries", ("1", "5"), "BETWEEN")) == {"b"}
    assert kept(graph, Criterion("name", ("orders",), "START_WITH")) == {"c"}
    assert kept(graph, Criterion("removed", ("true",), negated=True)) == {"a", "job", "c"}
    assert kept(graph, Criterion("tags", (), "EXISTS")) == {"a"}
    assert kept(graph, Criterion("tags", (), "IS_NULL")) == {"job", "b", "c"}
    either = Filter(((Criterion("urn", ("a",)),), (Criterion("urn", ("c",)),)))
    assert set(select(graph, either)) == {"a", "c"}
    assert set(select(graph, Filter())) == set(graph)


def test_what_is_left_out_may_be_stepped_over(graph: Any) -> None:
    datasets = all_of(Criterion("_entityType", ("dataset", "chart")))
    apart = select(graph, datasets)
    assert list(apart.edges) == [("b", "c")]
    joined = select(graph, datasets, bridged=True)
    assert joined.edges["a", "b"] == {"over": 1}
    assert joined.edges["b", "c"] == {"relationship": "Consumes"}
    assert joined.graph["root"] == "a"


def test_the_shortest_way_over_counts_and_a_round_trip_ends() -> None:
    graph = nx.DiGraph([("a", "x"), ("x", "b"), ("a", "y"), ("y", "z"), ("z", "b"), ("x", "x")])
    assert dict(contracted(graph, {"a", "b"}).edges) == {("a", "b"): {"over": 1}}


def test_a_field_that_nodes_do_not_have_is_said_so(graph: Any) -> None:
    with pytest.raises(UnknownName, match="platfrom"):
        select(graph, all_of(Criterion("platfrom", ("hive",))))
    below = Criterion("platform", ("hive",), "DESCENDANTS_INCL")
    with pytest.raises(InvalidInput, match="below platform; search"):
        select(graph, all_of(below))
