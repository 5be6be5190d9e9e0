"""The lineage widget without a page: what it reads, what it draws, and what it does when told."""

import base64
import gc
import json
import threading
import time
import weakref
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import networkx as nx
import pytest

from explorer.client import Catalog
from explorer.errors import InvalidInput
from explorer.graph import Graphs
from explorer.graph.export import from_graphml
from explorer.metadata.proposal import Proposal
from explorer.metadata.urn import Urn
from explorer.notebook.widgets.lineage import LineageWidget
from explorer.views.lineage import MAX_DRAWN

ORDERS = "urn:li:dataset:(urn:li:dataPlatform:snowflake,analytics.marts.fct_orders,PROD)"
WAIT_SECONDS = 30
STAMP = {"time": 0, "actor": "urn:li:corpuser:jdoe"}
PAYLOAD = "<script>window.__xss = 1</script>\x1b[31m\u202e"


@pytest.fixture
def show(cat: Any) -> Iterator[Any]:
    """Makes widgets, waits until they are drawn, and closes them afterwards."""
    made = []

    def one(urn: Any = ORDERS, catalog: Any = cat, **options: Any) -> Any:
        made.append(LineageWidget(catalog, urn, **options))
        assert made[-1].wait(WAIT_SECONDS)
        return made[-1]

    yield one
    for widget in made:
        widget.close()


def table(name: Any) -> Any:
    return str(Urn.dataset("hive", name))


def link(cat: Any, name: Any, *upstream: Any) -> None:
    said = [{"dataset": table(one), "type": "COPY", "auditStamp": STAMP} for one in upstream]
    cat.ingest(Proposal(Urn.dataset("hive", name), "upstreamLineage", {"upstreams": said}))


def hear(widget: Any, kind: Any, **more: Any) -> None:
    """What the page would send."""
    widget._handle_message(widget, {"kind": kind, **more}, [])
    assert widget.wait(WAIT_SECONDS)


def boxes(widget: Any) -> Any:
    return {box["id"]: box for box in widget.picture["nodes"]}


def test_it_starts_with_the_neighbours_and_counts_what_is_left_out(cat: Any, show: Any) -> None:
    widget = show(hops=1)
    around = Graphs(cat).lineage(ORDERS, hops=1)
    drawn = boxes(widget)
    assert set(drawn) == set(around)
    assert drawn[ORDERS]["far"] == "the starting entity"
    assert drawn[ORDERS]["name"] == "fct_orders"
    assert drawn[ORDERS]["words"] == "Table · snowflake"
    assert drawn[ORDERS]["text"].startswith("Orders, one row an order, web shop")
    assert widget.selected == widget.root == ORDERS
    assert widget.said.startswith("fct_orders · upstream 1 hop · downstream 1 hop · ")
    assert not widget.problem
    whole = Graphs(cat).lineage(ORDERS, hops=2)
    for urn, box in drawn.items():
        if box["down"]["known"]:
            assert box["down"]["hidden"] == sum(one not in drawn for one in whole.succ[urn])
    assert any(box["up"]["hidden"] for box in drawn.values())


def test_boxes_do_not_overlap_and_every_line_joins_two(show: Any) -> None:
    picture = show(hops=2).picture
    spans = [(b["x"], b["y"], b["x"] + b["w"], b["y"] + b["h"]) for b in picture["nodes"]]
    for at, (left, top, right, bottom) in enumerate(spans):
        for a, b, c, d in spans[:at]:
            assert right <= a or c <= left or bottom <= b or d <= top
    known = {box["id"] for box in picture["nodes"]}
    assert {edge[end] for edge in picture["edges"] for end in "st"} <= known


def test_unfolding_draws_the_neighbours_and_folding_takes_them_off(show: Any) -> None:
    widget = show(hops=1)
    before = boxes(widget)
    urn, box = next((u, b) for u, b in before.items() if b["down"]["hidden"])
    hear(widget, "unfold", urn=urn, side="DOWNSTREAM")
    after = boxes(widget)
    assert len(after) == len(before) + box["down"]["hidden"]
    assert after[urn]["down"] == {"hidden": 0, "open": True, "known": True}
    # Names were read for what is new.
    assert all(widget.graph.nodes[one].get("kind") for one in set(after) - set(before))
    hear(widget, "fold", urn=ORDERS, side="DOWNSTREAM")
    hops = [box["hops"] for box in boxes(widget).values()]
    assert max(hops) == 0
    assert min(hops) < 0


def test_a_wide_fan_is_cut_and_unfolds_by_the_plus(cat: Any, show: Any) -> None:
    for number in range(20):
        link(cat, f"fan.{number}", "fan.hub")
    widget = show(table("fan.hub"))
    assert len(boxes(widget)) == 13
    assert boxes(widget)[table("fan.hub")]["down"]["hidden"] == 8
    assert "8 more downstream" in boxes(widget)[table("fan.hub")]["spoken"]
    hear(widget, "unfold", urn=table("fan.hub"), side="DOWNSTREAM")
    assert len(boxes(widget)) == 21
    assert "all 21 shown" in widget.said


def test_a_large_graph_is_drawn_in_part_with_a_word_on_the_rest(cat: Any) -> None:
    pairs = [("r", f"a{at}") for at in range(13)]
    pairs += [(f"a{up}", f"b{up}.{at}") for up in range(13) for at in range(13)]
    graph = nx.DiGraph(root=table("r"), direction="DOWNSTREAM", hops=2, total=182, truncated=None)
    for up, down in pairs:
        graph.add_edge(table(up), table(down))
    for node in graph:
        far = 0 if node == table("r") else 1 if ",a" in node else 2
        graph.nodes[node].update(type="dataset", name=node, hops=far, description="", exists=True)
    widget = LineageWidget(cat, table("r"), hops=2, direction="DOWNSTREAM", graph=graph)
    try:
        assert widget.wait(WAIT_SECONDS)
        assert len(widget.picture["nodes"]) == MAX_DRAWN
        assert "150 of 183 shown" in widget.said
        assert widget.picture["more"]
        hear(widget, "more")
        assert len(widget.picture["nodes"]) == 183
        assert not widget.picture["more"]
    finally:
        widget.close()


def test_another_entity_becomes_the_start_and_back_returns(show: Any) -> None:
    widget = show(hops=1)
    other = next(urn for urn, box in boxes(widget).items() if (box["hops"] or 0) < 0)
    hear(widget, "root", urn=other)
    assert widget.root == widget.selected == other
    assert boxes(widget)[ORDERS]["hops"] == 1
    # What was read before is still there.
    assert ORDERS in widget.graph
    hear(widget, "back")
    assert widget.root == ORDERS
    assert not widget.picture["back"]


def test_hops_and_direction_are_read_anew(cat: Any, show: Any) -> None:
    widget = show(hops=1)
    hear(widget, "hops", hops=2)
    hear(widget, "direction", direction="UPSTREAM")
    assert set(boxes(widget)) == set(Graphs(cat).lineage(ORDERS, "UPSTREAM", hops=2))
    assert "downstream" not in widget.said


def test_a_filter_leaves_out_and_the_ways_over_it_are_marked(show: Any) -> None:
    widget = show(hops=2)
    assert any(entry["name"] == "View" for entry in widget.picture["types"])
    hear(widget, "narrow", type=["View"], platform=[])
    assert "View" not in {box["words"].split(" · ")[0] for box in boxes(widget).values()}
    assert any(edge["indirect"] for edge in widget.picture["edges"])
    (view,) = [entry for entry in widget.picture["types"] if entry["name"] == "View"]
    assert not view["on"]
    assert view["count"]
    hear(widget, "narrow", type=[], platform=[])
    assert not any(edge["indirect"] for edge in widget.picture["edges"])


def test_a_column_is_followed_and_an_edge_shows_its_columns(cat: Any, show: Any) -> None:
    widget = show(hops=1)
    hear(widget, "names", urn=ORDERS)
    names = widget.picture["names"]["columns"]
    assert names == [column.path.simple for column in cat.dataset(ORDERS).schema]
    hear(widget, "column", urn=ORDERS, column="order_id")
    assert boxes(widget)[ORDERS]["ports"] == ["order_id"]
    assert widget.picture["links"]
    assert widget.picture["about"] == "column order_id of fct_orders"
    edge = next(one for one in widget.picture["edges"] if one["t"] == ORDERS)
    hear(widget, "edge", source=edge["s"], target=edge["t"])
    assert {(one["s"], one["t"]) for one in widget.picture["links"]} == {(edge["s"], edge["t"])}
    hear(widget, "tables")
    assert not widget.picture["links"]
    assert not boxes(widget)[ORDERS]["ports"]
    hear(widget, "column", urn=ORDERS, column="no_such_column")
    assert "no_such_column" in widget.problem


def test_who_listens_is_told_where_the_reader_is_and_its_errors_are_shown(show: Any) -> None:
    widget = show(hops=1)
    heard: list[str] = []
    widget.on_select(heard.append)

    def fails(urn: str) -> None:
        raise KeyError(f"no {urn[:6]}")

    widget.on_select(fails)

    other = next(urn for urn in boxes(widget) if urn != ORDERS)
    widget.selected = other
    assert heard == [other]
    assert widget.problem == "KeyError: 'no urn:li'"
    assert widget.wait(WAIT_SECONDS)
    # Its neighbours were looked up, so that the picture can count them.
    assert boxes(widget)[other]["up"]["known"]
    assert boxes(widget)[other]["down"]["known"]


def test_everything_read_goes_out_as_graphml(show: Any) -> None:
    widget = show(hops=1)
    sent: list[Any] = []
    widget.send = sent.append
    hear(widget, "graphml")
    (message,) = sent
    assert message["kind"] == "graphml"
    back = from_graphml(message["text"])
    assert set(back.edges) == set(widget.graph.edges)


def test_the_lineage_of_an_entity_becomes_a_widget_without_reading_again(cat: Any) -> None:
    lineage = cat.dataset(ORDERS).lineage(hops=3)
    asked: list[Any] = []
    cat.watch(asked.append)
    widget = lineage.widget(hops=2)
    try:
        assert widget.wait(WAIT_SECONDS)
        assert asked == []
        assert {abs(box["hops"]) for box in boxes(widget).values()} == {0, 1, 2}
        assert set(widget.graph) == set(lineage.graph)
    finally:
        cat.watch(None)
        widget.close()


def test_it_begins_with_the_hops_of_the_lineage(cat: Any) -> None:
    for hops in (1, 2):
        with closing(cat.dataset(ORDERS).lineage(hops=hops).widget()) as widget:
            assert widget.wait(WAIT_SECONDS)
            assert widget.picture["hops"] == hops
            assert {abs(box["hops"]) for box in boxes(widget).values()} == {*range(hops + 1)}
    with closing(cat.dataset(ORDERS).lineage(hops=50).widget()) as widget:
        assert widget.wait(WAIT_SECONDS)
        assert widget.picture["hops"] == 20
    with closing(cat.dataset(ORDERS).lineage(2, column="net_amount").widget()) as widget:
        assert widget.wait(WAIT_SECONDS)
        assert widget.picture["hops"] == 2


def test_a_graph_of_its_own_may_be_changed_by_its_reader(show: Any) -> None:
    widget = show()
    widget.graph.clear()
    assert ORDERS in widget.graph


def test_a_saved_notebook_keeps_a_picture_and_a_tree(cat: Any) -> None:
    widget = LineageWidget(cat, ORDERS)
    try:
        # Nothing was waited for: showing it does that.
        data, _ = widget._repr_mimebundle_()
    finally:
        widget.wait(WAIT_SECONDS)
        widget.close()
    assert "application/vnd.jupyter.widget-view+json" in data
    html = ET.fromstring(data["text/html"].replace('height:auto">', 'height:auto"/>'))
    assert {element.tag for element in html.iter()} == {"div", "img"}
    image = html.find(".//img")
    assert image is not None
    kind, _, encoded = image.attrib["src"].partition(",")
    assert kind == "data:image/svg+xml;base64"
    assert "fct_orders" in base64.b64decode(encoded).decode()
    assert image.attrib["alt"].startswith("Lineage of")
    tree = data["text/plain"].splitlines()
    assert "  upstream" in tree
    assert "  downstream" in tree
    assert any(row.startswith("    ") for row in tree)


def test_hostile_names_are_text_everywhere(cat: Any, show: Any) -> None:
    urn = Urn.dataset("hive", "lineage.hostile")
    text = {"name": PAYLOAD, "description": PAYLOAD}
    cat.ingest(Proposal(urn, "datasetProperties", text))
    cat.ingest(Proposal(urn, "subTypes", {"typeNames": [PAYLOAD]}))
    link(cat, "lineage.hostile", "lineage.above")
    widget = show(urn)
    html, tree = widget._repr_mimebundle_()[0]["text/html"], repr(widget)
    assert "<script" not in html
    svg = base64.b64decode(html.split("base64,")[1].split('"')[0]).decode()
    assert "<script" not in svg
    state = json.dumps(widget.picture, ensure_ascii=False) + widget.said
    for shown in (html, svg, tree, state):
        assert "\x1b" not in shown
        assert "\u202e" not in shown
    assert "window.__xss" in tree


def test_no_token_is_in_what_a_notebook_saves(cat: Any, show: Any) -> None:
    with Catalog(cat.address, token="s3cr3t-token") as signed_in:
        widget = show(catalog=signed_in)
        saved = repr(widget) + str(widget.get_state()) + str(widget._repr_mimebundle_())
        assert "s3cr3t" not in saved


def test_an_entity_without_lineage_stands_alone(show: Any) -> None:
    urn = table("nobody.knows.it")
    widget = show(urn)
    assert list(boxes(widget)) == [urn]
    assert "upstream: nothing" in repr(widget)
    assert "all 1 shown" in widget.said


def test_what_goes_wrong_is_said_in_the_widget(show: Any) -> None:
    with Catalog("http://127.0.0.1:9", timeout_seconds=1) as nowhere:
        widget = show(catalog=nowhere)
        assert "127.0.0.1" in widget.problem
        assert not widget.busy
        assert widget.problem in repr(widget)
        data, _ = widget._repr_mimebundle_()
        assert "text/html" not in data


def test_a_client_that_is_closed_is_said_to_be(cat: Any, show: Any) -> None:
    client = Catalog(cat.address)
    client.close()
    assert "closed" in show(catalog=client).problem


def test_bad_input_is_refused_in_words(cat: Any, show: Any) -> None:
    with pytest.raises(InvalidInput, match="hops"):
        LineageWidget(cat, ORDERS, hops=0)
    with pytest.raises(InvalidInput):
        LineageWidget(cat, "no urn")
    widget = show()
    hear(widget, "root", urn="no urn")
    assert "no urn" in widget.problem
    before = widget.picture
    message: Any
    for message in (None, [], {"kind": "unfold"}, {"kind": "hops", "hops": "many"}, {"kind": "?"}):
        widget._handle_message(widget, message, [])
    assert widget.wait(WAIT_SECONDS)
    assert widget.picture == before


def test_a_question_takes_the_place_of_the_one_before(cat: Any) -> None:
    others = [str(urn) for urn in cat.search("orders", entity="dataset", count=6).urns]
    widget = LineageWidget(cat, ORDERS)
    try:
        for urn in others:
            widget.turn_to(urn)
        assert widget.wait(WAIT_SECONDS)
        assert widget.root == others[-1]
        assert widget.selected == others[-1]
        assert not widget.problem
    finally:
        widget.close()


def test_a_forgotten_widget_is_gone(cat: Any) -> None:
    kept = []
    for _ in range(10):
        widget = LineageWidget(cat, ORDERS)
        widget._repr_mimebundle_()
        widget.close()
        assert widget.wait(WAIT_SECONDS)
        kept.append(weakref.ref(widget))
    del widget
    deadline = time.monotonic() + WAIT_SECONDS
    while [one for one in kept if one() is not None]:
        assert time.monotonic() < deadline
        gc.collect()


def test_closing_hangs_up_and_nothing_is_drawn_afterwards(cat: Any) -> None:
    widget = LineageWidget(cat, ORDERS, hops=5)
    widget.close()
    assert widget.wait(WAIT_SECONDS)
    before = widget.picture
    widget.turn_to(table("fan.hub"))
    assert widget.wait(WAIT_SECONDS)
    assert widget.picture == before
    assert cat.exists(ORDERS)


def test_from_other_threads_at_once_it_stays_whole(show: Any) -> None:
    widget = show(hops=1)
    urns = list(boxes(widget))

    def press(urn: Any) -> None:
        for side in ("UPSTREAM", "DOWNSTREAM"):
            widget._handle_message(widget, {"kind": "unfold", "urn": urn, "side": side}, [])
        widget.selected = urn

    threads = [threading.Thread(target=press, args=(urn,)) for urn in urns]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert widget.wait(WAIT_SECONDS)
    assert set(urns) < set(boxes(widget))
    assert not widget.problem
