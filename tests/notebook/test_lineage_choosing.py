"""Which entities of a lineage are drawn."""

from typing import Any

import networkx as nx

from explorer.notebook.widgets import lineage
from explorer.views.lineage import choose_nodes


def test_folding_a_node_keeps_what_hangs_on_the_root_otherwise() -> None:
    graph = nx.DiGraph([("r", "a"), ("r", "b"), ("a", "c"), ("b", "c"), ("a", "d"), ("d", "e")])

    def hidden(*folded: Any) -> set[str]:
        return set(graph) - set(choose_nodes(graph, ["r"], folded=folded).chosen)

    assert hidden(("a", "DOWNSTREAM")) == {"d", "e"}
    assert hidden(("a", "UPSTREAM")) == set()
    assert hidden(("r", "DOWNSTREAM")) == set("abcde")


def test_a_cycle_hides_nothing_that_is_downstream() -> None:
    graph = nx.DiGraph([("y", "r"), ("r", "w"), ("w", "y"), ("y", "z")])
    assert set(choose_nodes(graph, ["r"]).chosen) == set("rywz")


def test_no_more_than_its_limit_is_drawn_until_more_is_asked_for() -> None:
    graph = nx.DiGraph([("r", f"{at}") for at in range(400)])
    assert len(choose_nodes(graph, ["r"], hops=1).chosen) == 13
    assert len(choose_nodes(graph, ["r"], hops=1, most=20, neighbours=400).chosen) == 20


def test_further_than_asked_is_drawn_only_what_was_unfolded() -> None:
    graph = nx.DiGraph([("r", "a"), ("a", "b"), ("b", "c"), ("x", "a")])
    assert set(choose_nodes(graph, ["r"], hops=1).chosen) == set("ra")
    unfolded = choose_nodes(graph, ["r"], hops=1, expanded={("a", "DOWNSTREAM"): 50})
    assert set(unfolded.chosen) == set("rab")
    assert unfolded.hidden("a", "UPSTREAM") == 1


def test_a_saved_picture_sets_no_formula_of_a_name() -> None:
    graph = nx.DiGraph(root="r")
    graph.add_node("r", name="r", type="dataset")
    html = lineage.as_html(graph, "costs $5 <b> \\(x\\) $6")
    assert html.startswith('<div class="mathjax_ignore tex2jax_ignore"')
    assert "costs $5 &lt;b&gt; \\(x\\) $6" in html
