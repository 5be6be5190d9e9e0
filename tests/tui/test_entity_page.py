"""The page of an entity: everything named on it is a way on, also out to the web."""

import sys
import webbrowser
from pathlib import Path
from typing import Any

import pytest

from explorer.client import Catalog
from explorer.client.records import ServerInfo
from explorer.metadata import Proposal, Urn
from explorer.tui import content
from explorer.tui.desktop import is_web, page_of
from explorer.tui.screens import overview
from explorer.tui.screens.entity import EntityView
from explorer.tui.screens.overview import OverviewTab
from explorer.tui.screens.relations import RelationsView
from tests.tui.conftest import OpenTerminal, Reader

pytestmark = pytest.mark.anyio

ORDERS = Urn.dataset("snowflake", "analytics.marts.fct_orders")
DASHBOARD = Urn.parse("urn:li:dashboard:(looker,dashboards.1)")
TEAM = Urn.parse("urn:li:corpGroup:team-analytics")
TAG = Urn.parse("urn:li:tag:Finance")


async def test_what_is_named_is_walked_and_opened_by_keys(sample: Path, at: OpenTerminal) -> None:
    async with at(sample, urn=TEAM) as reader:
        await reader.sees("Analytics Engineering", "admins", "Maya Smith", "team-analytics@")
        await reader.press("n", "enter")
        await reader.sees("Maya Smith   person", "In groups", "Analytics Engineering")
        await reader.press("n", "enter")
        await reader.sees("members", "Maya Smith")
        await reader.press("left_square_bracket")
        await reader.sees("Maya Smith   person")


async def test_the_page_fits_a_small_terminal_line_by_line(sample: Path, at: OpenTerminal) -> None:
    async with at(sample, urn=ORDERS, size=(40, 10)) as reader:
        await reader.sees("fct_orders  Table")
        await reader.settle()
        lines = reader.screen().splitlines()
        assert lines[1].startswith(" fct_orders")
        assert lines[2].split() == ["1", "2", "Columns·29", "3", "4", "5", "6", "7", "8"]
        assert "order_id" in "\n".join(lines[3:6])
        await reader.press("1")
        await reader.sees("1 Overview 2 3", "Orders, one row an order")


async def test_times_turn_to_utc_and_back_on_the_whole_page(
    sample: Path, at: OpenTerminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    import time

    monkeypatch.setenv("TZ", "Pacific/Auckland")
    time.tzset()
    try:
        async with at(sample, urn=DASHBOARD) as reader:
            local = await reader.sees("Revenue and orders", "modified")
            assert "UTC" not in local
            await reader.press("Z")
            assert "00:00 UTC by Jeppe Larsen" in await reader.sees("Times are shown in UTC.")
            await reader.press("Z")
            await reader.sees("in local time")
            await reader.press("j")
            assert "UTC" not in reader.screen()
    finally:
        monkeypatch.undo()
        time.tzset()


async def test_an_address_is_opened_in_the_browser_that_the_reader_has(
    sample: Path, at: OpenTerminal, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    heard = tmp_path / "heard"
    script = tmp_path / "browse"
    script.write_text(
        f"#!{sys.executable}\nimport sys, pathlib\n"
        f"print('noise on the screen')\npathlib.Path({str(heard)!r}).write_text(sys.argv[1])\n"
    )
    script.chmod(0o700)
    for name in ("SSH_CONNECTION", "SSH_CLIENT", "SSH_TTY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("BROWSER", f"{script} %s &")
    monkeypatch.setattr(webbrowser, "_tryorder", None)
    monkeypatch.setattr(webbrowser, "_browsers", {})
    async with at(sample, urn=DASHBOARD) as reader:
        await reader.sees("↗ https://looker.tarnwood.example/dashboards/1")
        for _ in range(30):
            await reader.press("n")
            if "looker.tarnwood.example" in _under_the_cursor(reader):
                break
        await reader.press("enter")
        await reader.sees("Opened https://looker.tarnwood.example/dashboards/1")
    assert heard.read_text() == "https://looker.tarnwood.example/dashboards/1"


async def test_where_no_browser_can_be_seen_the_address_is_copied(
    sample: Path, at: OpenTerminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSH_CONNECTION", "10.0.0.1 1 10.0.0.2 22")
    async with at(sample, urn=ORDERS) as reader:
        await reader.sees("documented")
        await reader.press("1", "n", "enter")
        await reader.sees("Copied https://wiki.tarnwood.example/data/orders")
        assert reader.app.clipboard == "https://wiki.tarnwood.example/data/orders"
        await reader.press("o")
        await reader.sees("This server has no web page for it; y copies the URN.")


def _under_the_cursor(reader: Reader) -> Any:
    overview = reader.app.query_one(OverviewTab)
    return overview._lines[overview.cursor].text.plain


@pytest.mark.parametrize(
    ("address", "page"),
    [
        ("http://localhost:8080", "http://localhost:9002/dataset/"),
        ("https://data.example.com/api/gms", "https://data.example.com/dataset/"),
        ("https://data.example.com/base/api/gms/", "https://data.example.com/base/dataset/"),
        ("https://gms.example.com", "https://gms.example.com/dataset/"),
    ],
)
async def test_the_page_of_an_entity_lies_where_datahub_has_it(address: str, page: str) -> None:
    found = page_of(ORDERS, ServerInfo(address, "datahub", "v1"))
    assert found == page + ORDERS.encoded
    assert is_web(found)
    user = page_of(Urn.parse("urn:li:corpuser:jdoe"), ServerInfo(address, "datahub", "v1"))
    assert user is not None
    assert user.endswith("/user/urn%3Ali%3Acorpuser%3Ajdoe")


async def test_other_servers_and_odd_addresses_have_no_page() -> None:
    assert page_of(ORDERS, ServerInfo("http://localhost:8080", "catalog", "1")) is None
    assert page_of(ORDERS, ServerInfo("unix:/run/x.sock", "datahub", "1")) is None
    for url in ("file:///etc/passwd", "javascript:alert(1)", "http://", "https://a b", "http://[x"):
        assert not is_web(url)
    assert not is_web("https://a.example/\x1b]0;x")
    assert not is_web("https://a.example/\u202e")


@pytest.mark.paints
async def test_relationships_are_narrowed_folded_and_followed(
    sample: Path, at: OpenTerminal
) -> None:
    async with at(sample, urn=TAG) as reader:
        await reader.press("4")
        shown = await reader.sees("tag of ← TaggedWith", "fct_orders")
        assert "SchemaFieldTaggedWith" in shown
        await reader.press("up", "space")
        folded = await reader.sees("▸ ")
        assert folded.count("Table") < shown.count("Table")
        await reader.press("space", "f")
        await reader.type("type:dashboard rev")
        narrowed = await reader.sees("Revenue and orders", " of ")
        assert "fct_orders" not in narrowed
        await reader.press("enter", "enter")
        await reader.sees("Revenue and orders   dashboard")


async def test_more_relationships_than_a_page_are_read_on_demand(
    sample: Path, at: OpenTerminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("explorer.tui.screens.relations._PAGE", 3)
    async with at(sample, urn=TAG) as reader:
        await reader.press("4")
        first = await reader.sees("⏎ reads more:", ", of the 3 read")
        left = int(first.split("reads more: ")[1].split()[0].replace(",", ""))
        for _ in range(20):
            if "⏎ reads more:" not in reader.screen():
                break
            await reader.press("G", "enter")
        await reader.press("g")
        whole = await reader.sees("TaggedWith")
        assert ", of the" not in whole
        assert reader.app.query_one(RelationsView).total >= left + 3


async def test_a_huge_description_opens_at_once_and_is_read_on_to_its_end(
    desk: Path, at: OpenTerminal
) -> None:
    urn = Urn.dataset("hive", "long.text")
    text = "# Head\n\n" + "A *word* and another.\n\n" * 45_000 + "THE END"
    with Catalog(data_dir=desk) as catalog:
        catalog.ingest(Proposal(urn, "datasetProperties", {"description": text}))
    async with at(desk, urn=urn) as reader:
        await reader.sees("Head", "A word and another.")
        await reader.press("w")
        await reader.sees("A *word* and another.")
        for _ in range(100):
            await reader.press("G")
            if len(reader.app.query_one(OverviewTab)._lines) > 80_000:
                break
        await reader.press("G", "pageup")
        await reader.sees("URN")
        lines = reader.app.query_one(OverviewTab)._lines
        assert any("THE END" in line.text.plain for line in lines)


async def test_what_fits_of_a_long_description_is_shown_before_the_rest_is_rendered(
    desk: Path, at: OpenTerminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    urn = Urn.dataset("hive", "page.long_description")
    with Catalog(data_dir=desk) as catalog:
        words = "First words.\n\n" + "- an item of a list\n" * 800 + "\nLast words.\n"
        catalog.put(urn, "datasetProperties", {"name": "long_description", "description": words})
    rendered: list[int] = []
    longest_when_shown: list[int] = []
    render, show = content.markdown, OverviewTab.show

    def noted(text: str | None, missing: str) -> Any:
        rendered.append(len(text or ""))
        return render(text, missing)

    def shown(self: OverviewTab, count: int, *given: Any, **more: Any) -> None:
        if count:
            longest_when_shown.append(max(rendered, default=0))
        show(self, count, *given, **more)

    monkeypatch.setattr(overview, "markdown", noted)
    monkeypatch.setattr(OverviewTab, "show", shown)
    async with at(desk, urn=urn) as reader:
        await reader.sees("First words.", "an item of a list")
        await reader.until(lambda: longest_when_shown[-1] == len(words))
        await reader.press("end")
        await reader.sees("an item of a list", "Last words.")
        await reader.settle()
        times = rendered.count(len(words))
        # What was rendered is there when the page is laid out once more.
        shown_before = len(longest_when_shown)
        reader.app.query_one(OverviewTab).show_times()
        await reader.until(lambda: len(longest_when_shown) > shown_before)
        await reader.settle()
    assert 0 < longest_when_shown[0] < len(words) / 2
    assert rendered.count(len(words)) == times


async def test_what_is_hidden_or_deprecated_says_so_loudly(desk: Path, at: OpenTerminal) -> None:
    urn = Urn.dataset("hive", "odd")
    with Catalog(data_dir=desk) as catalog:
        catalog.ingest(Proposal(urn, "datasetProperties", {"name": "odd"}))
        catalog.ingest(Proposal(urn, "status", {"removed": True}))
        catalog.ingest(
            Proposal(
                urn,
                "deprecation",
                {"deprecated": True, "note": "Use another", "actor": "urn:li:corpuser:jdoe"},
            )
        )
    async with at(desk, urn=urn, size=(80, 24)) as reader:
        await reader.sees("SOFT-DELETED", "DEPRECATED", "Use another", "Deprecated")


async def test_a_page_that_is_being_taken_away_says_nothing_more(
    sample: Path, at: OpenTerminal
) -> None:
    async with at(sample, urn=ORDERS) as reader:
        await reader.sees("documented")
        page = reader.app.screen.query_one(EntityView)
        await page.query_one("#failed").remove()
        page.fail("usage", "It could not be read.")
        assert page.is_attached


INVENTORY = Urn.dataset("snowflake", "analytics.marts.mart_inventory_health")


async def test_a_failing_assertion_and_an_incident_stand_on_the_page_of_their_table(
    sample: Path, at: OpenTerminal
) -> None:
    async with at(sample, urn=INVENTORY) as reader:
        await reader.sees(
            "1 of 2 assertions fails",
            "1 active incident",
            "1 lists them: Stock cover lies betw",
        )
        await reader.press("1")
        await reader.sees("41 unexpected, 48,310 rows", "failing since", "active since", "high")
        await reader.press("n", "enter")
        # The way to the assertion itself.
        shown = await reader.sees("assertion", "BETWEEN", "stock_cover_weeks", "104")
        assert "… min value: value" in shown
        assert "… max value: value" in shown
        await reader.press("4")
        await reader.sees("checks → Asserts", "checks columns → Asserts")
        await reader.press("left_square_bracket", "1")
        await reader.sees("failing since", "active since")
        await reader.press("n", "n", "enter")
        await reader.sees("incident", "several years", "ACTIVE")


async def test_where_there_is_one_line_what_is_wrong_comes_first(
    sample: Path, at: OpenTerminal
) -> None:
    async with at(sample, urn=INVENTORY, size=(60, 10)) as reader:
        await reader.sees("FAILING INCIDENT mart_inventory_health")
