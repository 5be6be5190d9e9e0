"""Lineage in the terminal: how a reader walks in it, and what can be asked of it."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from textual.widgets import Input

from explorer.client import AsyncCatalog, Catalog
from explorer.metadata import Proposal, Urn
from explorer.tui.screens.entity import EntityView
from explorer.tui.screens.lineage_map import LineageMap
from tests.tui.conftest import OpenTerminal

pytestmark = pytest.mark.anyio

SALES = Urn.dataset("snowflake", "analytics.marts.fct_store_sales")
ORDERS = Urn.dataset("snowflake", "analytics.marts.fct_orders")


async def test_a_reader_walks_along_the_lineage_and_back(sample: Path, at: OpenTerminal) -> None:
    async with at(sample, urn=SALES, size=(160, 36)) as reader:
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


async def test_owners_and_domains_have_their_names_under_the_drawing_and_in_the_list(
    sample: Path, at: OpenTerminal
) -> None:
    async with at(sample, urn=SALES, size=(160, 36)) as reader:
        await reader.sees("documented")
        await reader.press("3")
        await reader.sees("owner Walter Tanner, Analytics Engineering")
        await reader.press("x")
        await reader.sees("owner Finance · domain Sales")


async def test_hops_and_directions_are_asked_for(sample: Path, at: OpenTerminal) -> None:
    async with at(sample, urn=SALES, size=(160, 36)) as reader:
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


@pytest.mark.nightly
async def test_a_filter_narrows_and_steps_over_what_is_left_out(
    sample: Path, at: OpenTerminal
) -> None:
    async with at(sample, urn=SALES, size=(160, 36)) as reader:
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


async def test_ways_between_a_mark_and_the_cursor_are_shown(sample: Path, at: OpenTerminal) -> None:
    async with at(sample, urn=SALES, size=(160, 36)) as reader:
        await reader.sees("documented")
        await reader.press("3")
        await reader.sees("all 8 shown")
        await reader.press("l", "l", "m")
        await reader.sees(
            "◆ marked", "2 hops downstream", "Marked Revenue and orders; p on another"
        )
        map_ = reader.app.query_one(LineageMap)
        assert map_.drawing is not None
        edges = set(map_.drawing.hood.edges)
        await reader.press("home", "h", "p")
        shown = await reader.sees("from the marked entity to", "3 hops upstream")
        assert "━" in shown
        assert set(map_.drawing.hood.edges) == edges
        await reader.press("home")
        assert "━" in reader.screen()
        await reader.press("escape")
        await reader.sees("all 8 shown")
        assert "━" not in reader.screen()


async def test_the_other_end_of_a_path_is_named(sample: Path, at: OpenTerminal) -> None:
    async with at(sample, urn=SALES, size=(160, 36)) as reader:
        await reader.sees("documented")
        await reader.press("3")
        await reader.sees("all 8 shown")
        await reader.press("p")
        await reader.sees("Paths from fct_store_sales to …", "Store sales by week")
        # Far from what is drawn, and found by the catalog.
        await reader.type("pos_nl")
        await reader.sees("Entities · Files · s3")
        await reader.press("enter")
        shown = await reader.sees("One path from fct_store_sales to pos_nl, 3 hops upstream")
        assert "━" in shown


async def test_lineage_opens_with_what_fits(sample: Path, at: OpenTerminal) -> None:
    async with at(sample, urn=ORDERS, size=(100, 30)) as reader:
        await reader.sees("documented")
        await reader.press("3")
        shown = await reader.sees("upstream 1 hop · downstream 1 hop · all 15 shown · + for 45")
        drawn = shown.splitlines()[7:-4]
        # Nothing goes on beyond the edges, and every name is there as a whole.
        assert not any(line[:1] in "─…" and line[:1] for line in drawn)
        assert not any(line[99:100] in "─…" and line[99:100] for line in drawn)
        assert "mart_customer_360" in shown
        await reader.press("plus")
        await reader.sees("upstream 2 hops · downstream 2 hops · all 45 shown")


class GatedLineage(AsyncCatalog):
    """Answers questions of lineage only once its gate is open."""

    def __init__(self, directory: Path) -> None:
        super().__init__(data_dir=directory)
        self.gate = asyncio.Event()

    async def lineage(self, *which: Any, **how: Any) -> Any:
        await self.gate.wait()
        return await super().lineage(*which, **how)


@pytest.mark.parametrize(
    ("keys", "shown"),
    [
        (("plus", "plus"), "upstream 3 hops · downstream 3 hops · all "),
        (("minus",), "upstream 1 hop · downstream 1 hop · all 15 shown"),
        (("u", "plus"), "· upstream 3 hops · all 30 shown"),
    ],
)
async def test_keys_before_the_first_answer_count_from_what_it_will_show(
    sample: Path, at: OpenTerminal, keys: tuple[str, ...], shown: str
) -> None:
    client = GatedLineage(sample)
    async with at(sample, urn=ORDERS, size=(100, 30), client=lambda: client) as reader:
        await reader.sees("documented")
        await reader.pilot.press("3")
        await reader.sees("reading the lineage")
        await reader.pilot.press(*keys)
        client.gate.set()
        await reader.sees(shown)


async def test_the_overview_covers_no_name(sample: Path, at: OpenTerminal) -> None:
    async with at(sample, urn=ORDERS) as reader:
        await reader.sees("documented")
        await reader.press("3")
        await reader.sees("all 15 shown")
        await reader.press("plus")
        await reader.sees("all 45 shown")
        for key in ("l", "j", "j", "j", "l", "j", "j", "h", "k", "L", "J"):
            await reader.press(key)
            map_ = reader.app.query_one(LineageMap)
            if "╭──────────────────╮" not in reader.screen():
                continue
            assert map_.drawing is not None
            left, top = map_._offset()
            size = map_.scrollable_content_region
            rows = [map_.render_line(y).text for y in range(size.height)]
            for node, box in map_.drawing.boxes.items():
                y, x = int(box.y) - top, int(box.x) - left
                if 0 <= y < size.height and x >= 0 and x + box.width <= size.width:
                    assert map_.drawing.hood.nodes[node].name[:11] in rows[y], node


async def test_what_depends_on_it_is_a_list_of_groups(sample: Path, at: OpenTerminal) -> None:
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
        assert reader.app.query_one(EntityView).urn != ORDERS


async def test_a_column_is_followed_alone(sample: Path, at: OpenTerminal) -> None:
    async with at(sample, urn=ORDERS) as reader:
        await reader.sees("documented")
        await reader.press("down", "down", "3")
        await reader.sees("▌fct_orders▐")
        await reader.press("c")
        shown = await reader.sees("fct_orders.customer_id ·", "▌customer_id▐", "stg_orders")
        assert "mart_ltv" not in shown
        await reader.press("c")
        await reader.sees("▌fct_orders▐")


@pytest.mark.nightly
async def test_the_lineage_is_written_in_every_form_and_replaces_no_file_unasked(
    sample: Path, at: OpenTerminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    async with at(sample, urn=SALES, size=(160, 36)) as reader:
        await reader.sees("documented")
        await reader.press("3")
        await reader.sees("all 8 shown")
        await reader.press("w")
        await reader.sees("Lineage of fct_store_sales, 8 in all", ".mmd .svg .dot")
        await reader.press("enter")
        await reader.sees("Wrote 8 of the lineage", "fct_store_sales-lineage.mmd")
        written = tmp_path / "fct_store_sales-lineage.mmd"
        assert "stg_pos_sales" in written.read_text()
        written.write_text("mine")
        await reader.press("w", "enter")
        await reader.sees("already exists")
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
        await reader.sees("must end in .mmd, .svg, .dot, .graphml, .csv")


async def test_a_large_drawing_has_an_overview_and_is_seen_whole_at_a_key(
    desk: Path, at: OpenTerminal
) -> None:
    root = Urn.dataset("hive", "wide.root")
    stamp = {"time": 0, "actor": "urn:li:corpuser:jdoe"}

    def below(name: Any, *ups: Any) -> Any:
        edges = [{"dataset": str(up), "type": "COPY", "auditStamp": stamp} for up in ups]
        return Proposal(name, "upstreamLineage", {"upstreams": edges})

    def named(*at: int) -> Urn:
        return Urn.dataset("hive", f"wide.t_{'_'.join(map(str, at))}")

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
        await reader.sees("all 11 shown · + for 111")
        await reader.press("plus")
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


async def test_a_hub_is_unfolded_by_a_key(desk: Path, at: OpenTerminal) -> None:
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


async def test_what_has_no_lineage_says_so(desk: Path, at: OpenTerminal) -> None:
    lone = Urn.dataset("hive", "lineage.lone")
    with Catalog(data_dir=desk) as catalog:
        catalog.ingest_batch([Proposal(lone, "datasetProperties", {"name": "lone"})])
    async with at(desk, urn=lone) as reader:
        await reader.sees("lone")
        await reader.press("3")
        await reader.sees("This entity has no known lineage")


async def test_an_entity_that_data_cannot_flow_through_has_no_lineage(
    sample: Path, at: OpenTerminal
) -> None:
    async with at(sample, urn=Urn.parse("urn:li:corpuser:jdoe")) as reader:
        shown = await reader.sees("Overview")
        assert "3 Lineage" not in shown
