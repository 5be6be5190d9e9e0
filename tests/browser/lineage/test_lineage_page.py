"""The lineage widget's page: what it draws, how it is walked, and what it asks the kernel for."""

import json
import random
import xml.etree.ElementTree as ET
from typing import Any

import networkx as nx
import pytest

from explorer.metadata.urn import Urn
from explorer.notebook.widgets.lineage import LineageWidget
from explorer.notebook.widgets.lineage_drawing import draw
from explorer.sessions.lineage import LineageQuery, LineageState
from explorer.views.lineage import choose_nodes
from tests.conftest import nightly

PAYLOADS = (
    "<script>window.__xss = 1</script>",
    '<img src="https://evil.example/x.png" onerror="window.__xss = 1">',
    "\"><svg onload='window.__xss = 1'>",
    "javascript:window.__xss=1",
    "${window.__xss = 1}",
)
SVG = "{http://www.w3.org/2000/svg}"


def table(name: Any) -> Any:
    return str(Urn.dataset("hive", name))


def state(graph: Any, shown: Any = None, hops: int = 1, columns: Any = None, **more: Any) -> Any:
    """What the kernel would tell of a graph, drawn whole unless `shown` names nodes."""
    root = graph.graph["root"]
    below = nx.single_source_shortest_path_length(graph, root)
    above = nx.single_source_shortest_path_length(graph.reverse(), root)
    for node in graph:
        graph.nodes[node]["hops"] = below.get(node, -above.get(node, 0))
    hood = choose_nodes(graph, [root], hops=0, wanted=list(graph) if shown is None else shown)
    told = LineageState(
        name="root",
        query=LineageQuery(Urn.parse(root), hops=hops),
        reading="over",
        full_graph=graph,
        hood=hood,
        columns=columns,
    )
    drawing = draw(told, lambda node, side: True, None)
    assert drawing is not None
    return {
        "picture": {**drawing.page_state, **more},
        "said": "root · all shown",
        "busy": "",
        "problem": "",
        "selected": root,
    }


def layered(count: Any, seed: int = 7) -> Any:
    """So many tables and charts in layers, the root in the middle one."""
    draws, names = random.Random(seed), [table(f"t{at}") for at in range(count)]
    wide = max(count // 6, 2)
    graph = nx.DiGraph(root=names[(count // wide // 2) * wide], truncated=None)
    for at, name in enumerate(names):
        kind = "chart" if at >= count - wide else "dataset"
        graph.add_node(name, type=kind, name=f"table_{at}", platform="hive", hops=0)
    for at in range(wide, count):
        above = names[(at // wide - 1) * wide : (at // wide) * wide]
        for one in draws.sample(above, min(2, len(above))):
            graph.add_edge(one, names[at])
    return graph


def small() -> Any:
    """a → root → b, c; c → d, which is not drawn."""
    graph = nx.DiGraph(root=table("root"), truncated=None)
    for name in ("a", "root", "b", "c", "d"):
        graph.add_node(table(name), type="dataset", name=name, platform="hive", hops=0)
    for up, down in (("a", "root"), ("root", "b"), ("root", "c"), ("c", "d")):
        graph.add_edge(table(up), table(down))
    graph.nodes[table("b")].update(exists=False)
    graph.nodes[table("a")].update(removed=True, type="chart", platform="looker")
    return graph


@pytest.fixture
def show(open_widget: Any) -> Any:
    def one(told: Any, **options: Any) -> Any:
        return open_widget(LineageWidget._esm, LineageWidget._css, told, **options)

    return one


@pytest.fixture
def tree(show: Any) -> Any:
    graph = small()
    return show(state(graph, [table(name) for name in ("a", "root", "b", "c")]))


def box(page: Any, name: Any) -> Any:
    return page.page.locator(f'.cx-node:has(text.cx-name:text-matches("(^|. ){name}$"))')


def current(page: Any) -> Any:
    return page.page.locator(".cx-node[aria-current]").get_attribute("aria-label").split(",")[0]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("count", [30, *nightly(500)])
def test_every_entity_and_line_is_drawn(show: Any, count: int, theme: str) -> None:
    graph = layered(count)
    page = show(state(graph), theme=theme)
    assert page.page.locator(".cx-node").count() == count
    assert page.page.locator("path.cx-edge").count() == graph.number_of_edges()
    page.picture(f"lineage-{count}-{theme}")
    page.page.get_by_role("button", name="Show the whole picture").click()
    stage = page.page.locator(".cx-stage").bounding_box()
    for at in (0, count - 1):
        held = page.page.locator(".cx-node").nth(at).bounding_box()
        assert stage["x"] <= held["x"] <= stage["x"] + stage["width"]
        assert stage["y"] <= held["y"] <= stage["y"] + stage["height"]
    # It is walked as a small one is.
    page.page.locator(".cx-node.cx-root").focus()
    before = current(page)
    page.page.keyboard.press("ArrowRight")
    assert current(page) != before
    page.picture(f"lineage-{count}-{theme}-walked")
    # From afar words give way to colour.
    assert page.page.locator(".cx-node .cx-name").first.is_visible() == (count == 30)


def test_what_is_read_later_is_in_view_until_the_reader_moves(show: Any) -> None:
    graph = nx.DiGraph([(table("a"), table("b")), (table("b"), table("c"))], root=table("a"))
    graph.graph["truncated"] = None
    for name in "abc":
        graph.nodes[table(name)].update(type="dataset", name=name, hops=0)
    page = show(state(graph))
    for name in "abc":
        graph.nodes[table(name)]["name"] = f"{name}_table_with_a_long_name_of_it"
    page.set(picture=state(graph)["picture"])
    stage = page.page.locator(".cx-stage").bounding_box()

    def is_inside(at: Any) -> Any:
        held = page.page.locator(".cx-node").nth(at).bounding_box()
        right = held["x"] + held["width"]
        return stage["x"] <= held["x"] and right <= stage["x"] + stage["width"]

    assert [is_inside(at) for at in range(3)] == [True, True, True]
    page.page.locator(".cx-node.cx-root").click()
    before = page.page.locator(".cx-node.cx-root").bounding_box()
    graph.add_node(table("d"), type="dataset", name="another_table_with_a_long_name", hops=0)
    graph.add_edge(table("c"), table("d"))
    page.set(picture=state(graph)["picture"])
    after = page.page.locator(".cx-node.cx-root").bounding_box()
    assert abs(after["x"] - before["x"]) < 1


def test_a_picture_that_goes_on_says_so_until_all_of_it_is_in_view(show: Any) -> None:
    beyond = "The picture goes on: drag it, or Fit shows all of it."
    page = show(state(layered(140))).page
    page.get_by_text(beyond).wait_for()
    usual = 420
    assert page.locator(".cx-stage").bounding_box()["height"] == usual * 1.5
    page.get_by_role("button", name="Show the whole picture").click()
    page.get_by_text(beyond).wait_for(state="hidden")
    page.get_by_role("button", name="Zoom in").click(click_count=8)
    page.get_by_text(beyond).wait_for()
    whole = show(state(small())).page
    assert whole.get_by_text(beyond).is_hidden()
    assert whole.locator(".cx-stage").bounding_box()["height"] == usual


def test_a_box_says_in_words_and_signs_what_it_is(tree: Any) -> None:
    assert box(tree, "a").locator(".cx-name").text_content() == "✗ a"
    assert box(tree, "a").locator(".cx-facts").text_content() == "chart · looker · removed"
    assert (
        box(tree, "b").locator(".cx-facts").text_content()
        == "dataset · hive · only named by others"
    )
    label = box(tree, "c").get_attribute("aria-label")
    assert label == "c, dataset · hive, 1 hop downstream, 1 more downstream"


def test_the_plus_asks_for_what_it_counts_and_the_minus_takes_it_off(tree: Any) -> None:
    plus = box(tree, "c").locator(".cx-badge")
    assert plus.text_content().endswith("+1")
    plus.click()
    assert {"kind": "unfold", "urn": table("c"), "side": "DOWNSTREAM"} in tree.sent
    tree.set(picture=state(small())["picture"])
    assert tree.page.locator(".cx-node").count() == 5
    box(tree, "c").locator(".cx-badge.cx-fold").click()
    assert tree.sent[-1] == {"kind": "fold", "urn": table("c"), "side": "DOWNSTREAM"}


def test_what_was_clicked_stays_where_it_was(tree: Any) -> None:
    before = box(tree, "c").bounding_box()
    box(tree, "c").locator(".cx-badge").click()
    tree.set(picture=state(small())["picture"])
    after = box(tree, "c").bounding_box()
    assert (after["x"], after["y"]) == pytest.approx((before["x"], before["y"]), abs=1)


def test_the_arrows_walk_along_the_lines_and_the_kernel_hears_where(tree: Any) -> None:
    page = tree.page
    page.keyboard.press("Tab")
    page.locator(".cx-node[tabindex='0']").focus()
    walked = [current(tree)]
    for key in ("ArrowLeft", "ArrowRight", "ArrowRight", "ArrowDown", "Home"):
        page.keyboard.press(key)
        walked.append(current(tree))
    assert walked[:3] == ["root", "a", "root"]
    assert set(walked[3:5]) == {"b", "c"}
    assert walked[5] == "root"
    assert page.locator(".cx-node[tabindex='0']").count() == 1
    page.keyboard.press("ArrowLeft")
    page.wait_for_function("(urn) => window.model.get('selected') === urn", arg=table("a"))
    assert page.evaluate("window.saved") >= 1


def test_keys_are_said_to_work_after_a_click(tree: Any) -> None:
    before = "(line) => getComputedStyle(line, '::before').content"
    keys = tree.page.locator(".cx-keys")
    tree.page.evaluate("document.activeElement.blur()")
    assert keys.evaluate(before) == '"click an entity, then: "'
    box(tree, "c").click()
    assert keys.evaluate(before) == "none"


def test_keys_ask_for_what_they_do_in_the_terminal(tree: Any) -> None:
    page = tree.page
    box(tree, "c").focus()
    for key in ("Space", "+", "u", "c", "Enter"):
        page.keyboard.press(key)
    assert tree.sent == [
        {"kind": "unfold", "urn": table("c"), "side": "DOWNSTREAM"},
        {"kind": "hops", "hops": 2},
        {"kind": "direction", "direction": "UPSTREAM"},
        {"kind": "names", "urn": table("c")},
        {"kind": "root", "urn": table("c")},
    ]
    box(tree, "b").dblclick()
    assert tree.sent[-1] == {"kind": "root", "urn": table("b")}


def test_the_way_up_and_down_from_where_one_is_stands_out(tree: Any) -> None:
    box(tree, "c").click()
    ways = tree.page.locator(".cx-node.cx-way .cx-name").all_text_contents()
    assert sorted(ways) == ["c", "root", "✗ a"]
    assert tree.page.locator("path.cx-edge.cx-way").count() == 2
    assert tree.page.locator(".cx-here strong").text_content() == "c"
    # What was selected in Python is shown as well.
    tree.set(selected=table("b"))
    assert current(tree) == "b"
    tree.set(selected="urn:li:dataset:not drawn")
    assert current(tree) == "b"


def test_search_finds_inside_the_graph_and_enter_goes_there(tree: Any) -> None:
    page = tree.page
    box(tree, "root").focus()
    page.keyboard.press("/")
    page.keyboard.type("looker")
    assert page.locator(".cx-node.cx-found").count() == 1
    assert page.locator(".cx-count").text_content() == "1 found"
    page.keyboard.press("Enter")
    assert current(tree) == "a"
    page.keyboard.press("Escape")
    assert page.locator(".cx-node.cx-found").count() == 0
    assert page.evaluate("document.activeElement.closest('.cx-node') !== null")
    assert tree.sent == []


def test_the_filter_sends_what_is_switched_off(tree: Any) -> None:
    page = tree.page
    page.get_by_text("Filter", exact=True).click()
    page.get_by_role("checkbox", name="chart").uncheck()
    assert tree.sent == [{"kind": "narrow", "type": ["chart"], "platform": []}]
    told = state(small())["picture"]
    told["types"][0]["on"] = False
    tree.set(picture=told)
    assert page.get_by_text("Filter (1 off)").is_visible()


def test_columns_are_chosen_and_drawn_into_the_boxes(show: Any) -> None:
    graph, columns = small(), nx.DiGraph()
    for name, path in (("root", "id"), ("c", "root_id"), ("b", "id")):
        columns.add_node((name, path), dataset=table(name), column=path)
    columns.add_edge(("root", "id"), ("c", "root_id"), guess=False)
    columns.add_edge(("root", "id"), ("b", "id"), guess=True)
    names = {"urn": table("root"), "columns": ["id", "other"]}
    page = show(state(graph, columns=columns, names=names, about="column id of root"))
    assert page.page.locator("path.cx-link").count() == 2
    assert page.page.locator("path.cx-link.cx-guess").count() == 1
    assert sorted(page.page.locator(".cx-port").all_text_contents()) == ["id", "id", "root_id"]
    page.picture("lineage-columns")
    page.page.get_by_label("Follow a column").select_option("other")
    page.page.get_by_role("button", name="Hide the columns").click()
    assert page.sent == [
        {"kind": "column", "urn": table("root"), "column": "other"},
        {"kind": "tables"},
    ]


def test_a_click_on_a_line_asks_for_its_columns(tree: Any) -> None:
    tree.page.locator("path.cx-wide").first.dispatch_event("click")
    (asked,) = tree.sent
    assert asked["kind"] == "edge"
    assert (asked["source"], asked["target"]) in {
        (one["s"], one["t"]) for one in tree.get("picture")["edges"]
    }


def test_it_zooms_pans_and_fits(tree: Any) -> None:
    page = tree.page
    first = box(tree, "root").bounding_box()
    page.get_by_role("button", name="Zoom out").click()
    assert box(tree, "root").bounding_box()["width"] < first["width"]
    stage = page.locator(".cx-stage").bounding_box()
    before = box(tree, "root").bounding_box()
    page.mouse.move(stage["x"] + 20, stage["y"] + 20)
    page.mouse.down()
    page.mouse.move(stage["x"] + 80, stage["y"] + 50)
    page.mouse.up()
    after = box(tree, "root").bounding_box()
    assert (after["x"] - before["x"], after["y"] - before["y"]) == pytest.approx((60, 30), abs=1)
    # The wheel is the notebook's until the drawing has the focus.
    page.mouse.wheel(0, 200)
    assert box(tree, "root").bounding_box()["width"] == pytest.approx(after["width"])
    page.locator(".cx-node.cx-root").focus()
    page.mouse.wheel(0, 200)
    page.wait_for_function(
        "(wide) => document.querySelector('.cx-node.cx-root').getBoundingClientRect().width < wide",
        arg=after["width"],
    )


def test_the_list_holds_what_the_drawing_does(tree: Any) -> None:
    tree.page.get_by_text("As a list").click()
    entries = tree.page.locator(".cx-aslist li")
    # The browser tells of an opened list a moment later.
    entries.nth(3).wait_for()
    assert entries.count() == 4
    entries.filter(has_text="1 more downstream").get_by_role("button").click()
    assert current(tree) == "c"


def test_pictures_and_graphml_are_saved(tree: Any) -> None:
    page = tree.page

    def saved(name: Any) -> Any:
        page.get_by_text("Export", exact=True).click()
        with page.expect_download() as download:
            page.get_by_role("button", name=name).click()
        return download.value

    svg = saved("Save the picture as SVG")
    assert svg.suggested_filename == "lineage-root.svg"
    drawn = ET.parse(svg.path()).getroot()
    assert drawn.tag == f"{SVG}svg"
    assert {"root", "b"} <= {
        "".join(text.itertext()).removeprefix("? ") for text in drawn.iter(f"{SVG}text")
    }
    assert "rgb" in next(drawn.iter(f"{SVG}rect")).attrib["fill"]
    png = saved("Save the picture as PNG")
    assert png.path().read_bytes().startswith(b"\x89PNG")
    # In a narrow cell the menu's button stands on a line of its own, and its menu within the cell.
    for width in (660, 600, 520):
        page.set_viewport_size({"width": width, "height": 760})
        page.get_by_text("Export", exact=True).click()
        menu = page.locator(".cx-menu", has_text="GraphML").bounding_box()
        assert menu["x"] >= page.locator(".catalog-lineage").bounding_box()["x"]
        page.get_by_text("Export", exact=True).click()
    page.get_by_text("Export", exact=True).click()
    page.get_by_role("button", name="GraphML").click()
    assert tree.sent == [{"kind": "graphml"}]
    with page.expect_download() as download:
        tree.tell({"kind": "graphml", "text": "<graphml/>"})
    assert download.value.path().read_text() == "<graphml/>"


@pytest.mark.parametrize("payload", PAYLOADS)
def test_a_catalogs_text_is_never_more_than_text(show: Any, payload: Any) -> None:
    graph = small()
    for node in graph:
        graph.nodes[node].update(name=payload, kind=payload, platform=payload, description=payload)
    graph.add_edge(table(f"x{payload}"), table("root"))
    told = state(graph, about=payload, names={"urn": table("root"), "columns": [payload]})
    told |= {"said": payload, "busy": payload, "problem": payload}
    page = show(told)
    page.page.get_by_text("As a list").click()
    page.page.locator("summary[aria-label^=Filter]").click()
    for at in range(page.page.locator(".cx-node").count()):
        page.page.locator(".cx-node").nth(at).focus()
    assert page.page.evaluate("window.__xss") is None
    assert page.page.locator(".catalog-lineage :is(script, img, iframe, a)").count() == 0
    assert payload in page.page.locator(".cx-here strong").text_content()


def test_what_is_read_and_what_went_wrong_is_said(tree: Any) -> None:
    tree.set(busy="reading the lineage of root …")
    assert "reading the lineage of root …" in tree.page.locator("[role=status]").text_content()
    tree.set(busy="", problem="the server did not answer")
    assert tree.page.get_by_role("alert").text_content() == "the server did not answer"
    assert not tree.page.get_by_role("button", name="Draw more").is_visible()
    tree.set(picture=tree.get("picture") | {"more": True})
    tree.page.get_by_role("button", name="Draw more").click()
    assert tree.sent == [{"kind": "more"}]


def test_everything_to_press_has_a_name(tree: Any) -> None:
    unnamed = tree.page.evaluate("""() => [...document.querySelectorAll(
        'button, select, input, summary, svg, .node')].filter((one) => !one.closest('[aria-hidden]')
        && !(one.getAttribute('aria-label') || one.textContent.trim() || one.labels?.length))
        .length""")
    assert unnamed == 0


def test_when_it_is_taken_off_the_page_nothing_is_left(tree: Any) -> None:
    assert tree.page.evaluate("window.listening()") > 0
    tree.page.evaluate("window.remove()")
    assert tree.page.evaluate("window.listening()") == 0
    assert tree.page.locator(".catalog-lineage").count() == 0


def test_before_anything_was_read_it_says_so(show: Any) -> None:
    page = show({"picture": {}, "said": "", "busy": "reading …", "problem": "", "selected": ""})
    assert page.page.locator(".cx-node").count() == 0
    page.set(**state(small()))
    assert page.page.locator(".cx-node").count() == 5
    assert json.dumps(page.sent) == "[]"


def test_no_class_is_one_that_an_application_may_style(show: Any) -> None:
    page = show(state(layered(30)))
    for _ in range(6):
        page.page.get_by_role("button", name="Zoom out").click()
    assert page.page.locator(".cx-far").count() == 1
    assert page.foreign_classes() == []


# In a reader's browser the font may be as wide as this one.
ROOM = """() => [...document.querySelectorAll('.cx-node')].flatMap((node) => {
  const box = node.querySelector('.cx-box').getBBox();
  return [...node.querySelectorAll('.cx-name, .cx-facts')].map((text) => {
    const inside = text.getBBox();
    return [text.textContent, box.x + box.width - inside.x - inside.width];
  });
})"""


def test_names_and_words_lie_inside_their_boxes(show: Any) -> None:
    graph = nx.DiGraph(root=table("root"), truncated=None)
    names = (
        *("root", "mart_customer_360", "mart_marketing_attribution", "Orders waiting to be packed"),
        *("MONTHLY_WEB_MARKETING_SUMMARY", "stg_shipments", "o" * 30, "ОТЧЁТ_ПО_ЗАКАЗАМ"),
    )
    for at, name in enumerate(names):
        graph.add_node(table(name), type="dataset", name=name, platform="snowflake", hops=at)
        graph.nodes[table(name)].update(removed=at == 1, exists=at != 2, deprecated=at == 3)
        graph.add_edge(table("root"), table(name))
    graph.remove_edge(table("root"), table("root"))
    page = show(state(graph))
    page.page.add_style_tag(content=".catalog-lineage { font-family: 'DejaVu Sans' !important; }")
    room = page.page.evaluate(ROOM)
    assert len(room) == 2 * len(names)
    assert [one for one in room if one[1] < 8] == []
    page.picture("lineage-names")


@pytest.mark.parametrize("theme", ["light", *nightly("dark", "night")])
def test_every_text_stands_out_from_its_ground(open_widget: Any, theme: str) -> None:
    told = state(small(), problem="")
    told["problem"] = "the server did not answer"
    widget = open_widget(LineageWidget._esm, LineageWidget._css, told, theme=theme)
    seen = widget.contrasts()
    assert {"? b", "Fit", "Filter"} <= {text for _, text in seen}
    assert [one for one in seen if one[0] < 4.5] == []
    widget.picture(f"lineage-contrast-{theme}")
