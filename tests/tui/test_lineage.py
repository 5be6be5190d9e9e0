"""Lineage as a drawing: what is drawn, how a reader walks in it, and what can be asked of it."""

import networkx as nx
import pytest
from textual.widgets import Input

from explorer.client import Catalog
from explorer.metadata import Proposal, Urn
from explorer.tui.lineage.drawing import draw
from explorer.tui.lineage.moving import nearest
from explorer.tui.lineage.neighbourhood import choose, edges_between
from explorer.tui.lineage.overview import Overview, corner_of

anyio = pytest.mark.anyio

SALES = Urn.dataset("snowflake", "analytics.marts.fct_store_sales")
ORDERS = Urn.dataset("snowflake", "analytics.marts.fct_orders")


def graph_of(*edges, **said):
    graph = nx.DiGraph(edges)
    for node in graph:
        graph.nodes[node].update({"name": node, **said.get(node, {})})
    return graph


def drawn(hood, *, height=40, lit=(), cursor="", window=None):
    drawing = draw(hood, 118, height)
    rows = drawing.window(
        *(window or (0, 0, drawing.width, drawing.height)), lit=set(lit), cursor=cursor, mark=""
    )
    return ["".join(text for text, _ in row) for row in rows]


DIAMOND = graph_of(("raw", "left"), ("raw", "right"), ("left", "mart"), ("right", "mart"))


def test_lines_have_round_corners_and_heads_that_point_at_names():
    text = "\n".join(drawn(choose(DIAMOND, ["mart"]), height=3))
    assert "▌mart▐" in text
    assert text.count("▶") == 3
    assert {"┬", "╰", "╯"} <= set(text)


def test_a_way_is_heavy_whatever_the_colours():
    hood = choose(DIAMOND, ["raw"])
    way = edges_between(hood.edges, "raw", "mart")
    assert way == set(DIAMOND.edges)
    assert edges_between(hood.edges, "mart", "raw") == way
    text = "".join(drawn(hood, lit=edges_between(hood.edges, "raw", "left")))
    assert "━" in text
    assert "─" in text
    assert "━" not in "".join(drawn(hood))
    # What leaves the way stays light.
    assert "━┯━" in text


def test_edges_that_only_stand_for_a_way_are_broken_lines():
    graph = graph_of(("raw", "mart"))
    graph.edges["raw", "mart"]["over"] = 2
    assert "┄" in "".join(drawn(choose(graph, ["raw"])))


def test_what_is_not_in_the_catalog_or_deleted_has_a_sign():
    graph = graph_of(("a", "b"), ("b", "c"), a={"exists": False}, c={"removed": True})
    text = "\n".join(drawn(choose(graph, ["b"])))
    assert "? a" in text
    assert "✗ c" in text


def test_any_window_is_the_same_cut_of_the_whole():
    edges = [(f"a{at % 9}", f"b{at * 7 % 11}") for at in range(30)]
    edges += [(f"b{at % 11}", f"c{at * 5 % 13}") for at in range(30)]
    hood = choose(graph_of(*edges), ["b3"], expanded={f"b{at}": 50 for at in range(11)})
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


def test_names_as_wide_as_two_cells_a_character_keep_the_lines_in_place():
    graph = graph_of(("受注明細テーブル", "b"), ("a", "b"))
    from rich.cells import cell_len

    rows = drawn(choose(graph, ["b"]))
    assert len({cell_len(row) for row in rows}) == 1
    for left in range(6):
        assert {cell_len(row) for row in drawn(choose(graph, ["b"]), window=(left, 0, 9, 5))} == {9}


def test_hostile_names_are_cleaned():
    graph = graph_of(("a", "b"), a={"name": "x\x1b]0;owned\x07\ny\u202e[/red]"})
    text = "".join(drawn(choose(graph, ["b"])))
    assert not set(text) & set("\x1b\x07\n\u202e")
    assert "[/red]" in text


def test_of_many_neighbours_a_few_are_drawn_and_the_rest_counted():
    graph = graph_of(*((f"up{at:03}", "hub") for at in range(400)), ("hub", "below"))
    hood = choose(graph, ["hub"])
    [more] = [node for node in hood.nodes.values() if node.state == "more"]
    assert (more.owner, more.upstream) == ("hub", True)
    assert more.hidden + hood.shown == hood.total == 402
    larger = choose(graph, ["hub"], expanded={"hub": 50})
    assert larger.shown == hood.shown + 50


def test_one_that_would_be_left_out_alone_is_drawn():
    graph = graph_of(*((f"up{at:03}", "hub") for at in range(13)))
    hood = choose(graph, ["hub"])
    assert hood.shown == hood.total


def test_a_graph_of_thousands_is_drawn_up_to_a_limit_and_what_is_wanted():
    edges = [(f"n{(at - 1) // 5}", f"n{at}") for at in range(1, 3000)]
    hood = choose(graph_of(*edges), ["n0"], wanted=["n2999"])
    assert hood.shown == 150
    assert "n2999" in hood.nodes
    assert hood.total == 3000


def test_cycles_and_loops_are_drawn():
    hood = choose(graph_of(("a", "b"), ("b", "a"), ("b", "b")), ["a"])
    text = "\n".join(drawn(hood))
    assert "▼" in text
    assert "◀" in text


def test_the_cursor_goes_along_lines_and_to_what_is_near():
    hood = choose(DIAMOND, ["raw"])
    drawing = draw(hood, 118, 40)
    step = lambda node, way: nearest(drawing.boxes, hood.edges, node, way)  # noqa: E731
    upper, lower = sorted(("left", "right"), key=lambda node: drawing.boxes[node].y)
    assert step("raw", "right") in ("left", "right")
    assert step(upper, "down") == lower
    assert step(lower, "up") == upper
    assert step(lower, "right") == "mart"
    assert step("mart", "right") is None
    assert step("mart", "left") in ("left", "right")


@anyio
async def test_a_reader_walks_along_the_lineage_and_back(sample, at):
    async with at(sample, urn=SALES) as reader:
        await reader.sees("documented")
        await reader.press("3")
        shown = await reader.sees("▌fct_store_sales", "stg_fx_rates", "all 8 shown", "▶")
        assert "upstream 2 hops · downstream 2 hops" in shown
        await reader.press("l")
        await reader.sees("[Store sales by week]", "━", "1 hop downstream")
        await reader.press("h", "left")
        await reader.press("enter")
        entity = await reader.sees("documented")
        assert "fct_store_sales   " not in entity
        await reader.press("left_square_bracket")
        await reader.sees("▌fct_store_sales", "all 8 shown")


@anyio
async def test_hops_and_directions_are_asked_for(sample, at):
    async with at(sample, urn=SALES) as reader:
        await reader.sees("documented")
        await reader.press("3")
        await reader.sees("all 8 shown")
        await reader.press("plus")
        await reader.sees("upstream 3 hops · downstream 3 hops · all 15 shown")
        await reader.press("minus", "minus")
        await reader.sees("upstream 1 hop · downstream 1 hop · all 5 shown")
        await reader.press("minus")
        await reader.sees("upstream 1 hop · downstream 1 hop · all 5 shown")
        await reader.press("u")
        shown = await reader.sees("upstream 1 hop · all 4 shown")
        assert "downstream" not in shown.splitlines()[6]
        await reader.press("d")
        await reader.sees("downstream 1 hop · all 2 shown")
        await reader.press("B")
        await reader.sees("all 5 shown")


@anyio
async def test_a_filter_narrows_and_steps_over_what_is_left_out(sample, at):
    async with at(sample, urn=SALES) as reader:
        await reader.sees("documented")
        await reader.press("3", "f")
        await reader.type("entity:(")
        await reader.press("enter")
        await reader.sees("at the end")
        for _ in range(8):
            await reader.pilot.press("backspace")
        await reader.type("entity:dashboard")
        await reader.press("enter")
        shown = await reader.sees(
            "entity:dashboard", "all 2 shown · only", "┄", "Revenue and orders"
        )
        assert "stg_pos_sales" not in shown
        await reader.press("escape")
        await reader.sees("all 8 shown", "stg_pos_sales")
        for text, seen in (
            ("type:chart", "Store sales by week"),
            ("platform:snowflake", "stg_pos_sales"),
            ("tags:*", "fct_store_sales"),
        ):
            await reader.press("f")
            await reader.type(text)
            await reader.press("enter")
            await reader.sees(" shown · only", f" {text}", seen)
            shown = reader.screen()
            if text != "platform:snowflake":
                assert "stg_pos_sales" not in shown
            await reader.press("escape")
            await reader.sees("all 8 shown")


@anyio
async def test_ways_between_a_mark_and_the_cursor_are_shown(sample, at):
    async with at(sample, urn=SALES) as reader:
        await reader.sees("documented")
        await reader.press("3", "p")
        await reader.sees("Mark one end with m")
        await reader.press("l", "l", "m")
        await reader.sees("◆ marked", "2 hops downstream")
        await reader.press("home", "h", "p")
        shown = await reader.sees("from the mark to", "3 hops upstream")
        assert "━" in shown
        await reader.press("home")
        assert "━" in reader.screen()
        await reader.press("escape")
        await reader.sees("all 8 shown")
        assert "━" not in reader.screen()


@anyio
async def test_what_depends_on_it_is_a_list_of_groups(sample, at):
    async with at(sample, urn=ORDERS) as reader:
        await reader.sees("documented")
        await reader.press("3")
        await reader.sees("▌fct_orders▐")
        await reader.press("x")
        shown = await reader.sees("what depends on fct_orders ·", "datasets · ", "queries", "hops")
        assert "▌fct_orders▐" not in shown
        await reader.press("escape")
        await reader.sees("▌fct_orders▐")
        await reader.press("x")
        await reader.sees("datasets · ")
        await reader.press("enter")
        await reader.settle()
        assert reader.app.query_one("EntityView").urn != ORDERS


@anyio
async def test_a_column_is_followed_alone(sample, at):
    async with at(sample, urn=ORDERS) as reader:
        await reader.sees("documented")
        await reader.press("down", "down", "3")
        await reader.sees("▌fct_orders▐")
        await reader.press("c")
        shown = await reader.sees("fct_orders.customer_id ·", "▌customer_id▐", "stg_orders")
        assert "mart_ltv" not in shown
        await reader.press("c")
        await reader.sees("▌fct_orders▐")


@anyio
async def test_the_lineage_is_written_in_every_form_and_replaces_no_file_unasked(
    sample, at, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    async with at(sample, urn=SALES) as reader:
        await reader.sees("documented")
        await reader.press("3")
        await reader.sees("all 8 shown")
        await reader.press("w")
        await reader.sees("Lineage of fct_store_sales, 8 in all", ".mmd .svg .dot .graphml")
        await reader.press("enter")
        await reader.sees("Wrote 8 of the lineage", "fct_store_sales-lineage.mmd")
        written = tmp_path / "fct_store_sales-lineage.mmd"
        assert "stg_pos_sales" in written.read_text()
        written.write_text("mine")
        await reader.press("w", "enter")
        await reader.sees("is there already")
        assert written.read_text() == "mine"
        await reader.press("enter")
        await reader.sees("Wrote 8 of the lineage")
        assert "stg_pos_sales" in written.read_text()
        for name, word in (
            ("it.svg", "<svg"),
            ("it.dot", "digraph"),
            ("it.graphml", "<graphml"),
            ("it.csv", ","),
        ):
            await reader.press("w")
            reader.app.screen.query_one(Input).value = name
            await reader.press("enter")
            await reader.sees("Wrote 8 of the lineage", name)
            text = (tmp_path / name).read_text()
            assert word in text
            assert "stg_pos_sales" in text
        await reader.press("w")
        reader.app.screen.query_one(Input).value = "it.xyz"
        await reader.press("enter")
        await reader.sees("ends in .mmd, .svg, .dot, .graphml, .csv")


def test_a_corner_shows_where_the_window_is_in_a_large_drawing():
    edges = [(f"n{(at - 1) // 12}", f"n{at}") for at in range(1, 2_000)]
    hood = choose(graph_of(*edges), ["n0"])
    drawing = draw(hood, 118, 30)
    whole = (drawing.width, drawing.height)
    assert corner_of(whole, (118, 30), (0, 0)) == "bottom"
    assert corner_of(whole, (118, 30), (100, 28)) == "top"
    assert corner_of((140, 31), (118, 30), (0, 0)) is None
    assert corner_of(whole, (50, 30), (0, 0)) is None
    small = Overview.of(drawing.boxes.values(), whole, 18, 5)
    top = small.small((0, 0, 118, 30), {"◉": drawing.boxes["n0"]})
    bottom = small.small((0, drawing.height - 30, 118, 30), {})
    assert [len(row) for row in top] == [18] * 5
    assert "◉" in "".join(map("".join, top))
    assert {"▓", "░"} & set(top[0])
    assert not {"▓", "░"} & set(top[4])
    assert {"▓", "░"} & set(bottom[4])
    assert "▪" in bottom[0]


@anyio
async def test_a_large_drawing_has_an_overview_and_is_seen_whole_at_a_key(desk, at):
    root = Urn.dataset("hive", "wide.root")
    stamp = {"time": 0, "actor": "urn:li:corpuser:jdoe"}

    def below(name, *ups):
        edges = [{"dataset": str(up), "type": "COPY", "auditStamp": stamp} for up in ups]
        return Proposal(name, "upstreamLineage", {"upstreams": edges})

    named = lambda *at: Urn.dataset("hive", f"wide.t_{'_'.join(map(str, at))}")  # noqa: E731
    first = [named(one) for one in range(10)]
    with Catalog(data_dir=desk) as catalog:
        catalog.ingest_batch(
            [
                below(root, *first),
                *(
                    below(one, *(named(at, other) for other in range(10)))
                    for at, one in enumerate(first)
                ),
            ]
        )
    async with at(desk, urn=root) as reader:
        await reader.sees("root")
        await reader.press("3")
        shown = await reader.sees("all 111 shown", "╭──────────────────╮", "◉")
        assert {"▓", "░", "▪"} <= set(shown)
        before = shown.splitlines()
        await reader.press("J", "J")
        assert reader.screen().splitlines() != before
        await reader.press("0")
        shown = reader.screen()
        assert "╭──────" not in shown
        assert "◉" in shown
        assert shown.count("▪") > 30
        # The cursor moves there as well, and leads back.
        await reader.press("h", "0")
        shown = await reader.sees("╭──────────────────╮", "[wide.t_")
        await reader.pilot.resize_terminal(80, 24)
        await reader.settle()
        assert "wide.t_" in reader.screen()


@anyio
async def test_a_hub_is_unfolded_by_a_key(desk, at):
    hub = Urn.dataset("hive", "lineage.hub")
    with Catalog(data_dir=desk) as catalog:
        stamp = {"time": 0, "actor": "urn:li:corpuser:jdoe"}
        ups = [Urn.dataset("hive", f"lineage.part_{at:02}") for at in range(30)]
        edges = [{"dataset": str(up), "type": "COPY", "auditStamp": stamp} for up in ups]
        catalog.ingest_batch([Proposal(hub, "upstreamLineage", {"upstreams": edges})])
    async with at(desk, urn=hub) as reader:
        await reader.sees("hub")
        await reader.press("3")
        await reader.sees("+18 more", "13 of 31 shown")
        await reader.press("space")
        shown = await reader.sees("all 31 shown")
        assert "more" not in shown.splitlines()[20]
        assert "? " in shown
        await reader.press("space")
        await reader.sees("+18 more")


@anyio
async def test_what_has_no_lineage_says_so(desk, at):
    lone = Urn.dataset("hive", "lineage.lone")
    with Catalog(data_dir=desk) as catalog:
        catalog.ingest_batch([Proposal(lone, "datasetProperties", {"name": "lone"})])
    async with at(desk, urn=lone) as reader:
        await reader.sees("lone")
        await reader.press("3")
        await reader.sees("No lineage is known of this one")


@anyio
async def test_an_entity_that_data_cannot_flow_through_has_no_lineage(sample, at):
    async with at(sample, urn=Urn.parse("urn:li:corpuser:jdoe")) as reader:
        shown = await reader.sees("Overview")
        assert "3 Lineage" not in shown
