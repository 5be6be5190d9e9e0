"""Which entities of a lineage are drawn, and how far each is from where it starts."""

import threading
from typing import Any

import networkx as nx
import pytest

from explorer.errors import InvalidInput
from explorer.notebook.widgets import lineage, lineage_drawing
from explorer.notebook.widgets.lineage_drawing import KnownLineage
from explorer.views.lineage import MAX_DRAWN


def test_folding_a_node_keeps_what_hangs_on_the_root_otherwise() -> None:
    graph = nx.DiGraph([("r", "a"), ("r", "b"), ("a", "c"), ("b", "c"), ("a", "d"), ("d", "e")])
    graph.graph["root"] = "r"
    assert lineage_drawing.nodes_to_fold(graph, set("rabcde"), "a", "DOWNSTREAM") == {"d", "e"}
    assert lineage_drawing.nodes_to_fold(graph, set("rabcde"), "a", "UPSTREAM") == set()
    assert lineage_drawing.nodes_to_fold(graph, set("rabcde"), "r", "DOWNSTREAM") == set("abcde")


def test_no_more_than_its_limit_is_drawn_until_more_is_asked_for() -> None:
    graph = nx.DiGraph([("r", f"{at}") for at in range(400)], root="r")
    first = lineage_drawing.first(graph, "BOTH", 1, MAX_DRAWN)
    assert len(first) == 13
    more = lineage_drawing.nodes_to_unfold(graph, first, "r", "DOWNSTREAM", 20)
    assert len(first) + len(more) == 20


def test_how_far_it_is_from_the_root_is_told_of_what_is_above_and_below_alone() -> None:
    held = KnownLineage("r")
    read = nx.DiGraph([("a", "r"), ("r", "b"), ("a", "x")], root="r", truncated=None)
    nx.set_node_attributes(read, {"a": -1, "r": 0, "b": 1, "x": 0}, "hops")
    held.absorb(read, "BOTH", 1)
    assert dict(held.graph.nodes.data("hops")) == {"a": -1, "r": 0, "b": 1, "x": None}
    held.turn_to("a")
    assert dict(held.graph.nodes.data("hops")) == {"a": 0, "r": 1, "b": 2, "x": 1}


def test_no_one_waits_while_a_picture_is_laid_out(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = lineage_drawing.LineageWidgetState("r", 1, "BOTH")
    seen.take(nx.DiGraph([("a", "r"), ("r", "b")], truncated=None), "r", "BOTH", 2)
    draw, asked = lineage_drawing.draw, []

    def slowly(*given: Any) -> Any:
        asking = threading.Thread(target=lambda: asked.extend(seen.copy()))
        asking.start()
        asking.join(120)
        return draw(*given)

    monkeypatch.setattr(lineage_drawing, "draw", slowly)
    said, told = seen.lay_out()
    assert set(asked) == {"a", "r", "b"}
    assert len(told["nodes"]) == 3
    assert said.endswith("all 3 shown")


def test_more_hops_than_are_ever_drawn_are_refused() -> None:
    seen = lineage_drawing.LineageWidgetState("r", 1, "BOTH")
    with pytest.raises(InvalidInput, match="1 to 20"):
        seen.set_reach(21, None)
    assert seen.reach == (1, "BOTH")


def test_a_saved_picture_sets_no_formula_of_a_name() -> None:
    graph = nx.DiGraph(root="r")
    graph.add_node("r", name="r", type="dataset")
    html = lineage.as_html(graph, "costs $5 <b> \\(x\\) $6")
    assert html.startswith('<div class="mathjax_ignore tex2jax_ignore"')
    assert "costs $5 &lt;b&gt; \\(x\\) $6" in html
