"""Lineage as a drawing: what is drawn, and how a cursor moves in it."""

from types import SimpleNamespace
from typing import Any, Literal

import networkx as nx
import pytest

from explorer.graph import Paths
from explorer.tui.screens.lineage_map import Minimap, draw, free_place, is_wanted, nearest
from explorer.views.lineage import SIDES, choose_nodes, edges_between, path_edges


def graph_of(*edges: Any, **said: Any) -> Any:
    graph = nx.DiGraph(edges)
    for node in graph:
        graph.nodes[node].update({"name": node, **said.get(node, {})})
    return graph


def drawn(
    hood: Any, *, height: int = 40, lit: Any = (), cursor: str = "", window: Any = None
) -> Any:
    drawing = draw(hood, 118, height)
    rows = drawing.window(
        *(window or (0, 0, drawing.width, drawing.height)), lit=set(lit), cursor=cursor, mark=""
    )
    return ["".join(text for text, _ in row) for row in rows]


DIAMOND = graph_of(("raw", "left"), ("raw", "right"), ("left", "mart"), ("right", "mart"))


def test_lines_have_round_corners_and_heads_that_point_at_names() -> None:
    text = "\n".join(drawn(choose_nodes(DIAMOND, ["mart"]), height=3))
    assert "▌mart▐" in text
    assert text.count("▶") == 3
    assert {"┬", "╰", "╯"} <= set(text)


def test_a_way_is_heavy_whatever_the_colours() -> None:
    hood = choose_nodes(DIAMOND, ["raw"])
    way = edges_between(hood.edges, "raw", "mart")
    assert way == set(DIAMOND.edges)
    assert edges_between(hood.edges, "mart", "raw") == way
    text = "".join(drawn(hood, lit=edges_between(hood.edges, "raw", "left")))
    assert "━" in text
    assert "─" in text
    assert "━" not in "".join(drawn(hood))
    # What leaves the way stays light.
    assert "━┯━" in text


@pytest.mark.parametrize(
    ("source", "target", "direction"), [("raw", "mart", "downstream"), ("mart", "raw", "upstream")]
)
def test_paths_are_drawn_along_the_edges_of_the_data(
    source: str, target: str, direction: Literal["downstream", "upstream"]
) -> None:
    ways = tuple((source, between, target) for between in ("left", "right"))
    along = path_edges(Paths(source, target, direction, ways))
    assert along == set(DIAMOND.edges)


def test_edges_that_only_stand_for_a_way_are_broken_lines() -> None:
    graph = graph_of(("raw", "mart"))
    graph.edges["raw", "mart"]["over"] = 2
    assert "┄" in "".join(drawn(choose_nodes(graph, ["raw"])))


def test_what_is_not_in_the_catalog_or_deleted_has_a_sign() -> None:
    graph = graph_of(("a", "b"), ("b", "c"), a={"exists": False}, c={"removed": True})
    text = "\n".join(drawn(choose_nodes(graph, ["b"])))
    assert "? a" in text
    assert "✗ c" in text


def test_a_platform_that_tells_two_of_one_name_apart_is_said_once() -> None:
    hive, kafka = (
        f"urn:li:dataset:(urn:li:dataPlatform:{one},a,PROD)" for one in ("hive", "kafka")
    )
    told = {one: {"name": "a", "kind": "Table", "type": "dataset"} for one in (hive, kafka)}
    told[hive]["platform"], told[kafka]["platform"] = "hive", "kafka"
    nodes = choose_nodes(graph_of((hive, kafka), **told), [kafka]).nodes
    assert [nodes[one].fact for one in (hive, kafka)] == ["hive · Table", "kafka · Table"]


def test_any_window_is_the_same_cut_of_the_whole() -> None:
    edges = [(f"a{at % 9}", f"b{at * 7 % 11}") for at in range(30)]
    edges += [(f"b{at % 11}", f"c{at * 5 % 13}") for at in range(30)]
    hood = choose_nodes(
        graph_of(*edges),
        ["b3"],
        expanded={(f"b{at}", side): 50 for at in range(11) for side in SIDES},
    )
    whole = drawn(hood)
    for left, top, width, height in ((-3, -2, 20, 5), (9, 4, 17, 6), (30, 1, 40, 90)):
        part = drawn(hood, window=(left, top, width, height))
        assert len(part) == height
        for at, row in enumerate(part):
            assert len(row) == width
            inside = range(max(left, 0), min(left + width, len(whole[0])))
            for x in inside if 0 <= top + at < len(whole) else ():
                there = row[x - left]
                # A name that is cut has the mark of it.
                assert there in (whole[top + at][x], "…")


def test_names_as_wide_as_two_cells_a_character_keep_the_lines_in_place() -> None:
    graph = graph_of(("受注明細テーブル", "b"), ("a", "b"))
    from rich.cells import cell_len

    rows = drawn(choose_nodes(graph, ["b"]))
    assert len({cell_len(row) for row in rows}) == 1
    for left in range(6):
        assert {
            cell_len(row) for row in drawn(choose_nodes(graph, ["b"]), window=(left, 0, 9, 5))
        } == {9}


def test_hostile_names_are_cleaned() -> None:
    graph = graph_of(("a", "b"), a={"name": "x\x1b]0;owned\x07\ny\u202e[/red]"})
    text = "".join(drawn(choose_nodes(graph, ["b"])))
    assert not set(text) & set("\x1b\x07\n\u202e")
    assert "[/red]" in text


def test_of_many_neighbours_a_few_are_drawn_and_the_rest_counted() -> None:
    graph = graph_of(*((f"up{at:03}", "hub") for at in range(400)), ("hub", "below"))
    hood = choose_nodes(graph, ["hub"])
    [more] = [node for node in hood.nodes.values() if node.state == "more"]
    assert (more.owner, more.upstream) == ("hub", True)
    assert more.hidden + hood.count == hood.total == 402
    larger = choose_nodes(graph, ["hub"], expanded={("hub", "UPSTREAM"): 50})
    assert larger.count == hood.count + 50


def test_one_that_would_be_left_out_alone_is_drawn() -> None:
    graph = graph_of(*((f"up{at:03}", "hub") for at in range(13)))
    hood = choose_nodes(graph, ["hub"])
    assert hood.count == hood.total


def test_a_graph_of_thousands_is_drawn_up_to_a_limit_and_what_is_wanted() -> None:
    edges = [(f"n{(at - 1) // 5}", f"n{at}") for at in range(1, 3000)]
    hood = choose_nodes(graph_of(*edges), ["n0"], wanted=["n2999"])
    assert hood.count == 150
    assert "n2999" in hood.nodes
    assert hood.total == 3000


def test_cycles_and_loops_are_drawn() -> None:
    hood = choose_nodes(graph_of(("a", "b"), ("b", "a"), ("b", "b")), ["a"])
    text = "\n".join(drawn(hood))
    assert "▼" in text
    assert "◀" in text


def test_the_cursor_goes_along_lines_and_to_what_is_near() -> None:
    hood = choose_nodes(DIAMOND, ["raw"])
    drawing = draw(hood, 118, 40)

    def step(node: str, way: Any) -> str | None:
        return nearest(drawing.boxes, hood.edges, node, way)

    upper, lower = sorted(("left", "right"), key=lambda node: drawing.boxes[node].y)
    assert step("raw", "right") in ("left", "right")
    assert step(upper, "down") == lower
    assert step(lower, "up") == upper
    assert step(lower, "right") == "mart"
    assert step("mart", "right") is None
    assert step("mart", "left") in ("left", "right")


def test_an_overview_stands_where_no_box_is() -> None:
    def box(x: int, y: int) -> Any:
        return SimpleNamespace(x=x, y=y, width=20, height=1)

    window = (10, 5, 80, 24)
    assert free_place([], window) == (60, 17)
    assert free_place([box(75, 25)], window) == (60, 0)
    assert free_place([box(75, 25), box(75, 8)], window) == (0, 17)
    corners = [box(75, 25), box(75, 8), box(5, 25), box(12, 8)]
    assert free_place(corners, window) == (60, 13)
    everywhere = [box(x, y) for x in range(10, 90, 20) for y in range(5, 29)]
    assert free_place(everywhere, window) is None


def test_a_corner_shows_where_the_window_is_in_a_large_drawing() -> None:
    edges = [(f"n{(at - 1) // 12}", f"n{at}") for at in range(1, 2_000)]
    hood = choose_nodes(graph_of(*edges), ["n0"])
    drawing = draw(hood, 118, 30)
    whole = (drawing.width, drawing.height)
    assert is_wanted(whole, (118, 30))
    assert not is_wanted((140, 31), (118, 30))
    assert not is_wanted(whole, (50, 30))
    small = Minimap.of(drawing.boxes.values(), whole, 18, 5)
    top = small.small((0, 0, 118, 30), {"◉": drawing.boxes["n0"]})
    bottom = small.small((0, drawing.height - 30, 118, 30), {})
    assert [len(row) for row in top] == [18] * 5
    assert "◉" in "".join(map("".join, top))
    assert {"▓", "░"} & set(top[0])
    assert not {"▓", "░"} & set(top[4])
    assert {"▓", "░"} & set(bottom[4])
    assert "▪" in bottom[0]
