"""What is downstream of each entity is counted as by walking from each of them."""

import random

import networkx as nx
import pytest

from explorer.server import lineage_graph
from explorer.server.lineage_graph import count_downstream


@pytest.mark.parametrize("block", [1, 16, 8_192])
@pytest.mark.parametrize("most", [3, 10_000])
def test_counts_are_those_of_walking_from_each_node_circles_and_blocks_included(
    block: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lineage_graph, "_BLOCK", block)
    monkeypatch.setattr(lineage_graph, "_LEAST_BLOCK", 1)
    monkeypatch.setattr(lineage_graph, "MOST_DOWNSTREAM", most)
    dice = random.Random(5)
    for _ in range(40):
        size = dice.randint(2, 80)
        edges = [(dice.randrange(size), dice.randrange(size)) for _ in range(dice.randint(1, 160))]
        graph = nx.DiGraph(edges)
        expected = {node: min(len(nx.descendants(graph, node)), most + 1) for node in graph}
        parts = [edges[at : at + 7] for at in range(0, len(edges), 7)]
        counts = count_downstream(
            ([near for near, _ in part], [far for _, far in part]) for part in parts
        )
        assert {node: counts[node] for node in graph} == expected
        assert sum(counts) == sum(expected.values())


def test_without_edges_nothing_is_counted() -> None:
    assert list(count_downstream([])) == []
    assert list(count_downstream([([], [])])) == []
    assert list(count_downstream([([2], [2])])) == [0, 0, 0]
