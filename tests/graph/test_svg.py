"""Graphs as SVG pictures: boxes where the layout puts them, and nothing but text from names."""

from typing import Any
from xml.etree import ElementTree as ET

import networkx as nx
import pytest

from explorer.errors import InvalidInput
from explorer.graph.export import to_svg
from explorer.graph.pictures import COLOURS

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def graph() -> Any:
    made = nx.DiGraph(root="b")
    made.add_node("a", name="orders", type="dataset", platform="hive", hops=-1)
    made.add_node("b", name="daily", type="chart", kind="Bar chart", hops=0)
    made.add_node("c", name="gone", type="dataset", removed=True, hops=1)
    made.add_node("d", name="rumour", type="dataset", exists=False, hops=1)
    made.add_edges_from([("a", "b"), ("b", "c"), ("b", "d", {"guess": True})])
    return made


def texts(svg: Any) -> Any:
    return [one.text for one in ET.fromstring(svg).iter(f"{SVG}text")]


def test_a_box_says_name_type_platform_and_state(graph: Any) -> None:
    svg = to_svg(graph)
    assert sorted(texts(svg)) == sorted(
        [
            *("orders", "dataset · hive", "daily", "Bar chart", "gone", "dataset · removed"),
            *("rumour", "dataset · only named by others"),
        ]
    )
    assert svg.count('marker-end="url(#tip)"') == 3
    assert svg.count('stroke-dasharray="4 4"') == 1
    assert svg.count('stroke-width="2.5"') == 1
    assert COLOURS["chart"] in svg


def test_the_same_graph_gives_the_same_picture(graph: Any) -> None:
    assert to_svg(graph) == to_svg(graph.copy())


def test_the_nearest_are_drawn_and_the_cut_is_said(graph: Any) -> None:
    svg = to_svg(graph, most_nodes=2)
    assert {"daily", "orders"} < set(texts(svg))
    assert "gone" not in texts(svg)
    assert texts(svg)[-1] == "2 of 4 are drawn, the nearest"


def test_everything_lies_inside(graph: Any) -> None:
    page = ET.fromstring(to_svg(graph))
    width, height = float(page.attrib["width"]), float(page.attrib["height"])
    for group in page.iter(f"{SVG}g"):
        x, y = map(float, group.attrib["transform"][10:-1].split())
        box = group.find(f"{SVG}rect")
        assert box is not None
        assert 0 <= x <= x + float(box.attrib["width"]) <= width
        assert 0 <= y <= y + float(box.attrib["height"]) <= height


@pytest.mark.parametrize(
    "name",
    [
        "<script>alert(1)</script>",
        '"><image href="x"/>',
        "]]>&",
        "\ud800\ufffe\x00\x1b[31m",
        "注文" * 40,
    ],
)
def test_a_name_is_nothing_but_text(graph: Any, name: Any) -> None:
    graph.nodes["a"]["name"] = graph.nodes["a"]["platform"] = name
    graph.add_node(f"urn:{name}", name=name, type=name, hops=1)
    page = ET.fromstring(to_svg(graph).encode())
    assert {one.tag.removeprefix(SVG) for one in page.iter()} <= {
        *("svg", "defs", "marker", "path", "g", "title", "rect", "text")
    }
    shown = "".join(page.itertext())
    assert "\x1b" not in shown


def test_an_undirected_graph_is_refused_and_an_empty_one_drawn() -> None:
    with pytest.raises(InvalidInput, match="undirected"):
        to_svg(nx.Graph())
    assert texts(to_svg(nx.DiGraph())) == []
