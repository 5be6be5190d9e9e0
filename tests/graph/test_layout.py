"""Drawings of any graph: nothing overlaps, every line goes round the boxes, nothing depends on
chance."""

import os
import subprocess
import sys
from itertools import combinations, pairwise
from typing import Any

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from explorer.errors import InvalidInput
from explorer.graph.layers import Mesh, count_between, make_mesh, order_layers
from explorer.graph.layout import Layout, Spacing, lay_out, lay_out_pairs

_nodes = st.integers(1, 14)


@st.composite
def graphs(draw: Any, whole: bool = False) -> Any:
    count = draw(_nodes)
    measure = st.integers(1, 9) if whole else st.floats(1, 90)
    sizes = {f"n{at}": (draw(measure), draw(measure)) for at in range(count)}
    ends = st.integers(0, count - 1).map("n{}".format)
    edges = draw(st.lists(st.tuples(ends, ends), max_size=28))
    return sizes, edges


@settings(max_examples=30, deadline=None)
@given(graphs())
def test_a_free_drawing_is_sound(graph: Any) -> None:
    sizes, edges = graph
    layout = lay_out_pairs(sizes, edges)
    _check_boxes(layout, sizes, edges)
    for route in layout.routes:
        _check_border(layout.positions[route.source], route.points[0])
        _check_border(layout.positions[route.target], route.points[-1])
        for line in pairwise(route.points):
            for node, box in layout.positions.items():
                assert not _enters(box, *line), (route, node, box)


@settings(max_examples=40, deadline=None)
@given(graphs(whole=True))
def test_a_drawing_on_cells_is_sound(graph: Any) -> None:
    sizes, edges = graph
    layout = lay_out_pairs(sizes, edges, grid=True)
    _check_boxes(layout, sizes, edges)
    taken = {cell: node for node, box in layout.positions.items() for cell in _cells_of_box(box)}
    for route in layout.routes:
        cells = _cells(route)
        assert not taken.keys() & set(cells), route
        assert _touches(cells[0], layout.positions[route.source])
        assert _touches(cells[-1], layout.positions[route.target])
        for x, y in cells:
            assert 0 <= x < layout.width
            assert 0 <= y < layout.height


@settings(max_examples=40, deadline=None)
@given(graphs(whole=True))
def test_on_cells_only_edges_with_a_common_end_share_a_line(graph: Any) -> None:
    sizes, edges = graph
    layout = lay_out_pairs(sizes, edges, grid=True)
    users: dict[Any, list[Any]] = {}
    for route in layout.routes:
        for step in pairwise(_cells(route)):
            users.setdefault(frozenset(step), []).append(route)
    for routes in users.values():
        for one, other in combinations(routes, 2):
            assert {one.source, one.target} & {other.source, other.target}, (one, other)


@settings(max_examples=40, deadline=None)
@given(graphs(whole=True))
def test_on_cells_lines_without_a_common_end_never_turn_in_one_cell(graph: Any) -> None:
    sizes, edges = graph
    layout = lay_out_pairs(sizes, edges, grid=True)
    corners: dict[Any, list[Any]] = {}
    for route in layout.routes:
        for point in route.points[1:-1]:
            corners.setdefault(point, []).append(route)
    for route in layout.routes:
        for cell in _cells(route):
            for other in corners.get(cell, ()):
                assert {route.source, route.target} & {other.source, other.target}


def test_a_crowded_channel_has_no_line_shared_by_strangers() -> None:
    edges = [(f"a{at * 5 % 9}", f"b{at * at * 3 % 11}") for at in range(40)]
    edges += [(f"b{at % 11}", f"c{at * 7 % 10}") for at in range(40)]
    sizes = {node: (4, 1) for edge in edges for node in edge}
    users: dict[Any, list[Any]] = {}
    for route in lay_out_pairs(sizes, edges, grid=True).routes:
        for step in pairwise(_cells(route)):
            users.setdefault(frozenset(step), []).append(route)
    for routes in users.values():
        for one, other in combinations(routes, 2):
            assert {one.source, one.target} & {other.source, other.target}, (one, other)


def test_ordering_takes_crossings_away_and_says_how_many_are_left() -> None:
    mesh = make_mesh([0] * 20 + [1] * 20, [(at * 7 % 20, 20 + at * at % 19) for at in range(60)])
    layers, crossings = order_layers(mesh)
    before = _crossings(mesh, [list(range(20)), list(range(20, 40))])
    assert crossings == _crossings(mesh, layers) < before / 2
    assert [sorted(layer) for layer in layers] == [list(range(20)), list(range(20, 40))]


def test_ordering_leaves_what_was_drawn_before_in_its_order() -> None:
    mesh = make_mesh([0] * 4 + [1] * 4, [(0, 7), (1, 6), (2, 5), (3, 4)])
    kept: list[int | None] = [0, None, 2, 3, 4, None, 6, 7]
    layers, crossings = order_layers(mesh, kept)
    assert crossings == _crossings(mesh, layers)
    for layer in layers:
        ranks = [rank for element in layer if (rank := kept[element]) is not None]
        assert ranks == sorted(ranks)


def test_nets_that_ask_for_each_others_rows_step_aside() -> None:
    sizes = dict.fromkeys("abcdxy", (3, 1))
    before = lay_out_pairs(dict.fromkeys("abcd", (3, 1)), [("a", "c"), ("b", "d")], grid=True)
    edges = [("a", "d"), ("b", "c"), ("a", "x"), ("b", "x"), ("y", "c"), ("y", "d")]
    layout = lay_out_pairs(sizes, edges, grid=True, previous=before)
    cells = {route.edge: set(_cells(route)) for route in layout.routes}
    straight = set(pairwise(_cells(layout.routes[0]))) & set(pairwise(_cells(layout.routes[1])))
    assert not straight
    assert layout.crossings >= 1
    assert cells[0] & cells[1], "the two lines cross once"


@pytest.mark.parametrize(
    "edges",
    [
        pytest.param([(at // 2, at) for at in range(2, 32)], id="tree"),
        pytest.param([(at, at // 3) for at in range(3, 40)], id="tree that joins"),
        pytest.param([(0, 1), (0, 2), (1, 3), (2, 3)], id="diamond"),
        pytest.param([(0, 1), (1, 2), (2, 3), (0, 3), (0, 2), (1, 3)], id="long edges"),
        pytest.param([(0, 4), (1, 3), (2, 5), (5, 6), (3, 6), (4, 6)], id="matching"),
        pytest.param(
            [(0, 3), (1, 3), (1, 4), (2, 4), (2, 5), (3, 6), (4, 6), (5, 7)],
            id="zigzag",
        ),
    ],
)
def test_what_can_be_drawn_without_crossings_is(edges: Any) -> None:
    sizes = {node: (10, 4) for edge in edges for node in edge}
    shuffled = dict(sorted(sizes.items(), key=lambda item: item[0] * 7 % 11))
    assert lay_out_pairs(shuffled, edges).crossings == 0


def test_the_complete_two_sided_graph_has_its_known_crossings() -> None:
    edges = [(f"a{one}", f"b{two}") for one in range(4) for two in range(4)]
    sizes = {node: (10, 4) for edge in edges for node in edge}
    assert lay_out_pairs(sizes, edges).crossings == 36


def test_edges_are_as_short_as_they_can_be() -> None:
    edges = [("a", "b"), ("b", "c"), ("c", "d"), ("late", "d"), ("a", "early")]
    sizes = {node: (10, 4) for edge in edges for node in edge}
    layout = lay_out_pairs(sizes, edges)
    assert layout.positions["late"].layer == 2
    assert layout.positions["early"].layer == 1


def test_an_edge_that_closes_a_cycle_is_marked_and_still_ends_at_its_target() -> None:
    sizes = dict.fromkeys("abc", (10, 4))
    layout = lay_out_pairs(sizes, [("a", "b"), ("b", "c"), ("c", "a")])
    assert [route.reversed for route in layout.routes] == [False, False, True]
    last = layout.routes[2]
    assert last.points[0] == (layout.positions["c"].x, layout.positions["c"].y + 2)
    assert last.points[-1] == (layout.positions["a"].x + 10, layout.positions["a"].y + 2)


def test_parallel_edges_and_loops_have_lines_of_their_own() -> None:
    sizes = {"a": (40, 30), "b": (40, 30)}
    layout = lay_out_pairs(sizes, [("a", "b"), ("a", "b"), ("b", "a"), ("a", "a"), ("a", "a")])
    assert len({frozenset(route.points) for route in layout.routes}) == 5
    assert [route.reversed for route in layout.routes] == [False, False, True, False, False]


def test_components_do_not_mix_and_lone_nodes_stand_in_a_grid() -> None:
    sizes = {f"n{at}": (10, 4) for at in range(60)}
    edges = [("n0", "n1"), ("n1", "n2"), ("n3", "n4")]
    layout = lay_out_pairs(sizes, edges)
    lone = [layout.positions[f"n{at}"] for at in range(5, 60)]
    assert len({box.y for box in lone}) > 1
    assert len({box.x for box in lone}) > 1
    drawn = [layout.positions[f"n{at}"] for at in range(5)]
    assert max(box.y + box.height for box in drawn) < min(box.y for box in lone)
    assert layout.height < 30 * 24, "not one below the other"


@settings(max_examples=30, deadline=None)
@given(graphs(), st.data())
def test_what_was_drawn_keeps_its_order_when_more_is_shown(graph: Any, data: Any) -> None:
    sizes, edges = graph
    names = list(sizes)
    shown = data.draw(st.sets(st.sampled_from(names), min_size=1))
    some = {node: size for node, size in sizes.items() if node in shown}
    first = lay_out_pairs(some, [edge for edge in edges if shown.issuperset(edge)])
    second = lay_out_pairs(sizes, edges, previous=first)
    together = list(nx.connected_components(_undirected(some, edges)))
    for one, other in combinations(shown, 2):
        if not any({one, other} <= part for part in together):
            continue
        new, other_new = second.positions[one], second.positions[other]
        old, other_old = first.positions[one], first.positions[other]
        if new.layer == other_new.layer and old.layer == other_old.layer:
            assert (old.order < other_old.order) == (new.order < other_new.order)
            assert (old.y < other_old.y) == (new.y < other_new.y)


def test_a_drawing_does_not_depend_on_the_hash_seed() -> None:
    program = (
        "from explorer.graph.layout import lay_out_pairs\n"
        "names = [f'urn:{at}' for at in range(40)]\n"
        "edges = [(names[at * 7 % 40], names[at * at % 39 + 1]) for at in range(70)]\n"
        "for grid in (False, True):\n"
        "    print(lay_out_pairs(dict.fromkeys(names, (12, 3)), edges, grid=grid))\n"
    )
    answers = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(answers) == 1


def test_drawing_loads_neither_networkx_nor_numpy() -> None:
    program = "import sys, explorer, explorer.graph.layout; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert not {"networkx", "numpy", "pandas"} & set(done.stdout.split())


def test_a_networkx_graph_is_drawn_with_its_parallel_edges() -> None:
    graph = nx.MultiDiGraph([("a", "b"), ("a", "b"), ("b", "c")])
    layout: Layout[Any] = lay_out(graph, (40, 20))
    assert [(route.source, route.target) for route in layout.routes] == list(graph.edges())
    assert layout == lay_out(graph, dict.fromkeys(graph, (40, 20)))
    with pytest.raises(InvalidInput, match="'c'"):
        lay_out(graph, {"a": (1, 1), "b": (1, 1)})


def test_nothing_gives_an_empty_drawing() -> None:
    layout: Layout[str] = lay_out_pairs({}, [])
    assert (layout.width, layout.height, layout.layers, layout.routes) == (0, 0, (), ())


def test_gaps_are_those_asked_for() -> None:
    sizes = dict.fromkeys("abc", (10, 4))
    edges = [("a", "b"), ("a", "c")]
    layout = lay_out_pairs(sizes, edges, spacing=Spacing(layer=33, node=17, edge=5))
    a, b, c = (layout.positions[node] for node in "abc")
    assert b.x - (a.x + a.width) == 33
    assert c.y - (b.y + b.height) == 17


@pytest.mark.parametrize("size", [(0, 1), (1, -2), (float("nan"), 1), (1, float("inf"))])
def test_a_size_that_is_none_is_refused(size: Any) -> None:
    with pytest.raises(InvalidInput, match="above 0"):
        lay_out_pairs({"a": size}, [])


def test_an_edge_of_an_unknown_node_is_refused() -> None:
    with pytest.raises(InvalidInput, match="'b' has no size"):
        lay_out_pairs({"a": (1, 1)}, [("a", "b")])


def _check_boxes(layout: Any, sizes: Any, edges: Any) -> None:
    assert list(layout.positions) == list(sizes)
    assert [(route.source, route.target) for route in layout.routes] == edges
    for node, box in layout.positions.items():
        assert (box.width, box.height) == sizes[node]
        assert layout.layers[box.layer][box.order] == node
        assert 0 <= box.x <= box.x + box.width <= layout.width + 1e-6
        assert 0 <= box.y <= box.y + box.height <= layout.height + 1e-6
    for one, other in combinations(layout.positions.values(), 2):
        apart_along = one.x + one.width <= other.x or other.x + other.width <= one.x
        apart_across = one.y + one.height <= other.y or other.y + other.height <= one.y
        assert apart_along or apart_across, (one, other)
    for route in layout.routes:
        first, last = layout.positions[route.source], layout.positions[route.target]
        if route.source == route.target:
            assert not route.reversed
        elif route.reversed:
            assert first.layer > last.layer
        else:
            assert first.layer < last.layer
        for x, y in route.points:
            assert -1e-6 <= x <= layout.width + 1e-6
            assert -1e-6 <= y <= layout.height + 1e-6


def _check_border(box: Any, point: Any) -> None:
    x, y = point
    assert box.x - 1e-6 <= x <= box.x + box.width + 1e-6
    assert box.y - 1e-6 <= y <= box.y + box.height + 1e-6
    sides = (x - box.x, x - box.x - box.width, y - box.y, y - box.y - box.height)
    assert min(map(abs, sides)) < 1e-6


def _enters(box: Any, start: Any, end: Any) -> Any:
    """Whether a line passes through the inside of a box: clipped to it, something is left."""
    inset = 1e-6
    low, high = 0.0, 1.0
    for at, least, most in (
        (0, box.x + inset, box.x + box.width - inset),
        (1, box.y + inset, box.y + box.height - inset),
    ):
        change = end[at] - start[at]
        if change == 0:
            if not least < start[at] < most:
                return False
            continue
        near, far = sorted(((least - start[at]) / change, (most - start[at]) / change))
        low, high = max(low, near), min(high, far)
    return low < high


def _cells_of_box(box: Any) -> Any:
    return [(box.x + x, box.y + y) for x in range(box.width) for y in range(box.height)]


def _cells(route: Any) -> Any:
    cells = [route.points[0]]
    for (x, y), (far_x, far_y) in pairwise(route.points):
        assert (x == far_x) != (y == far_y), route
        step = ((far_x > x) - (far_x < x), (far_y > y) - (far_y < y))
        while cells[-1] != (far_x, far_y):
            cells.append((cells[-1][0] + step[0], cells[-1][1] + step[1]))
    return cells


def _touches(cell: Any, box: Any) -> Any:
    x, y = cell
    beside = x in (box.x - 1, box.x + box.width) and box.y <= y < box.y + box.height
    over = y in (box.y - 1, box.y + box.height) and box.x <= x < box.x + box.width
    return beside or over


def _undirected(nodes: Any, edges: Any) -> Any:
    graph = nx.Graph()
    graph.add_nodes_from(nodes)
    graph.add_edges_from(edge for edge in edges if set(edge) <= set(nodes))
    return graph


def _crossings(mesh: Mesh, layers: list[list[int]]) -> int:
    """Count the crossings of two layers by comparing each two edges."""
    places = {element: place for layer in layers for place, element in enumerate(layer)}
    edges = [
        (places[source], places[target]) for source in layers[0] for target in mesh.after[source]
    ]
    return sum(
        (one[0] - other[0]) * (one[1] - other[1]) < 0 for one, other in combinations(edges, 2)
    )


def test_crossings_are_counted() -> None:
    assert count_between([3, 1, 2, 0]) == 5


def test_edges_into_one_node_share_a_lane() -> None:
    edges = [(f"source{at}", "fact") for at in range(8)]
    layout = lay_out_pairs({node: (8, 1) for edge in edges for node in edge}, edges, grid=True)
    lanes = {
        x
        for route in layout.routes
        for (x, y), (other, down) in pairwise(route.points)
        if y != down
    }
    assert len(lanes) == 1
    boxes = layout.positions
    assert boxes["fact"].x - boxes["source0"].x - boxes["source0"].width == 4
